//! Shapes of sources, fills and forces, and their noise: from the tables of the file to regions of space.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use super::memory::Budget;
use super::scene_error::{Problem, six_digits};
use super::scene_text::Text;
use super::value::{List, Number, Vector, Whole, tables};
use crate::foreign;
use crate::parameter::RegionKind;
use crate::solver::{self, Card, CardError, Cloud, Config, Form, Mesh, Region, Solid};
use crate::volume::Volume;

type Result<T> = std::result::Result<T, Box<Problem>>;

tables! {
    pub enum Shape: RegionKind {
        Sphere(Sphere),
        Box(Block),
        Disc(Disc),
        Mesh(Body),
        Text(Letters),
        Image(Picture),
        Volume(Grid),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sphere {
    center: Spanned<Vector>,
    radius: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    center: Spanned<Vector>,
    size: List<Number, 3>,
    rotation: Option<Vector>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disc {
    center: Spanned<Vector>,
    radius: Number,
    axis: Option<Spanned<Vector>>,
    thickness: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    file: Spanned<String>,
    position: Spanned<Vector>,
    rotation: Option<Vector>,
    scale: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Letters {
    string: Spanned<String>,
    center: Spanned<Vector>,
    height: Number,
    depth: Number,
    rotation: Option<Vector>,
    font: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    file: Spanned<String>,
    center: Spanned<Vector>,
    width: Number,
    depth: Number,
    rotation: Option<Vector>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    file: Spanned<String>,
    center: Option<Spanned<Vector>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    scale: Number,
    strength: Option<Number>,
    speed: Option<Number>,
    seed: Option<Whole>,
}

/// Converts the noise of the file.
pub fn noise(read: &Noise) -> solver::Noise {
    solver::Noise {
        strength: read.strength.map_or(1.0, Number::get),
        scale: read.scale.get(),
        speed: read.speed.map_or(1.0, Number::get),
        seed: read.seed.map_or(0, |seed| seed.get() as u32),
    }
}

/// Least volume that a shape must cover to be visible \[cells\].
const LEAST: f64 = 0.25;

/// Context in which the tables of a scene are resolved.
#[derive(Clone, Copy)]
pub struct SceneContext<'a> {
    pub text: &'a Text,
    /// Folder of the scene's files.
    pub folder: &'a Path,
    pub config: &'a Config,
    /// Memory budget for the pixels and weights of shapes.
    pub budget: &'a Budget,
}

impl SceneContext<'_> {
    /// Resolves the shape at `key` to a region, which must cover part of the box or of the air to which it may come, and fit into memory.
    /// With `drives` the region also has weights of faces.
    pub fn region(&self, read: &Spanned<Shape>, key: &str, drives: bool) -> Result<Region> {
        self.region_in(read, key, drives, |region| region.box_around(self.config))
    }

    /// As [`region`](Self::region), of a shape that must cover part of the box at the start.
    pub fn region_at_start(&self, read: &Spanned<Shape>, key: &str, drives: bool) -> Result<Region> {
        self.region_in(read, key, drives, |_| self.config.clone())
    }

    fn region_in(
        &self,
        read: &Spanned<Shape>,
        key: &str,
        drives: bool,
        config: impl Fn(&Region) -> Config,
    ) -> Result<Region> {
        let (region, span, name) = match read.get_ref() {
            Shape::Sphere(sphere) => {
                let region = Region::sphere(sphere.center.get_ref().get(), sphere.radius.get());
                (region, sphere.center.span(), "sphere.center")
            }
            Shape::Box(block) => (self.block(block), block.center.span(), "box.center"),
            Shape::Disc(disc) => (self.disc(disc, key)?, disc.center.span(), "disc.center"),
            Shape::Mesh(body) => (self.mesh(body, key)?, body.position.span(), "mesh.position"),
            Shape::Text(letters) => (self.letters(letters, key)?, letters.center.span(), "text.center"),
            Shape::Image(picture) => (self.picture(picture, key)?, picture.center.span(), "image.center"),
            Shape::Volume(grid) => {
                let span = grid.center.as_ref().map_or(grid.file.span(), Spanned::span);
                (self.volume(grid, key)?, span, "volume.center")
            }
        };
        let config = config(&region);
        self.check_in(&region, &config)
            .map_err(|message| self.text.problem(span, format!("{key}.{name}: {message}")))?;
        self.budget
            .take(region.memory(&config, drives), "the shape")
            .map_err(|message| self.text.problem(read.span(), format!("{key}: {message}")))?;
        Ok(region)
    }

    /// Fails if a region covers no part of the box, and none of the air to which it may come: that is a mistake.
    pub fn check(&self, region: &Region) -> std::result::Result<(), String> {
        self.check_in(region, &region.box_around(self.config))
    }

    fn check_in(&self, region: &Region, config: &Config) -> std::result::Result<(), String> {
        let extent = self.config.dims.array().map(|n| n as f32 * self.config.h);
        match region.covered(config, LEAST) {
            0.0 => Err(format!(
                "the shape lies outside the box, which spans [0, 0, 0] to {:?} metres; move it in",
                extent.map(six_digits)
            )),
            cells if cells < LEAST => {
                Err(format!("the shape covers only {cells:.2} of a cell of the box; make it larger"))
            }
            _ => Ok(()),
        }
    }

    fn block(&self, read: &Block) -> Region {
        let form = Form::Body(solver::Shape::Box { size: read.size.get() });
        turned(form, read.center.get_ref(), read.rotation)
    }

    fn disc(&self, read: &Disc, key: &str) -> Result<Region> {
        let axis = read.axis.as_ref().map_or([0.0, 1.0, 0.0], |axis| axis.get_ref().get());
        if axis == [0.0; 3] {
            let span = read.axis.as_ref().map_or(0..0, Spanned::span);
            return Err(self.text.problem(span, format!("{key}.disc.axis: [0, 0, 0] has no direction")));
        }
        let thickness = read.thickness.map_or(self.config.h, Number::get);
        Ok(Region::disc(read.center.get_ref().get(), read.radius.get(), axis, thickness))
    }

    fn mesh(&self, read: &Body, key: &str) -> Result<Region> {
        let mesh = Mesh::load(&self.text.file(&read.file, self.folder))
            .map_err(|error| self.text.problem(read.file.span(), format!("{key}.mesh.file: {error}")))?;
        let form = Form::Body(solver::Shape::Mesh(Arc::new(mesh)));
        let scale = read.scale.map_or(1.0, Number::get);
        Ok(Region { scale, ..turned(form, read.position.get_ref(), read.rotation) })
    }

    fn letters(&self, read: &Letters, key: &str) -> Result<Region> {
        let font = read.font.as_ref().map(|file| self.font(file, key)).transpose()?;
        let (height, depth) = (read.height.get(), read.depth.get());
        // Four pixels along a cell, as many as the sub-cells of a cover.
        let pixel = 0.25 * self.config.h;
        let card = Card::text(read.string.get_ref(), height, depth, font.as_deref(), pixel);
        let card = card.map_err(|error| {
            let (name, span) = match (&error, &read.font) {
                (CardError::Font(_), Some(file)) => ("font", file.span()),
                _ => ("string", read.string.span()),
            };
            self.text.problem(span, format!("{key}.text.{name}: {error}"))
        })?;
        Ok(turned(Form::Card(Arc::new(card)), read.center.get_ref(), read.rotation))
    }

    fn font(&self, file: &Spanned<String>, key: &str) -> Result<Vec<u8>> {
        let path = self.text.file(file, self.folder);
        foreign::read(&path, foreign::FONT).map_err(|error| {
            let message = format!("{key}.text.font: cannot read {}: {error}", path.display());
            self.text.problem(file.span(), message)
        })
    }

    /// Resolves the density of an OpenVDB file, interpolated to the cells of the box.
    fn volume(&self, read: &Grid, key: &str) -> Result<Region> {
        let path = self.text.file(&read.file, self.folder);
        let wrong = |what: String| {
            let message = format!("{key}.volume.file: cannot read {}: {what}", path.display());
            self.text.problem(read.file.span(), message)
        };
        let (dims, h) = (self.config.dims, self.config.h);
        let bytes = foreign::read(&path, foreign::VOLUME).map_err(|error| wrong(error.to_string()))?;
        let shares = Volume::read(&bytes).and_then(|volume| volume.density(dims, h)).map_err(wrong)?;
        let held: f64 = shares.iter().map(|share| f64::from(share.clamp(0.0, 1.0))).sum();
        let cloud = Cloud::new(dims, h, shares).filter(|_| held >= LEAST).ok_or_else(|| {
            let extent = dims.array().map(|n| six_digits(n as f32 * h));
            wrong(format!(
                "its `density` fills {held:.2} cells of the box, [0, 0, 0] to {extent:?} metres, before it is \
                 moved to a center; move it there in the file"
            ))
        })?;
        let middle = cloud.size().map(|x| 0.5 * x);
        let center = read.center.as_ref().map_or(middle, |center| center.get_ref().get());
        Ok(Region::new(Form::Cloud(Arc::new(cloud)), center))
    }

    fn picture(&self, read: &Picture, key: &str) -> Result<Region> {
        let path = self.text.file(&read.file, self.folder);
        let card = Card::image(&path, read.width.get(), read.depth.get())
            .map_err(|error| self.text.problem(read.file.span(), format!("{key}.image.file: {error}")))?;
        Ok(turned(Form::Card(Arc::new(card)), read.center.get_ref(), read.rotation))
    }
}

fn turned(form: Form, position: &Vector, degrees: Option<Vector>) -> Region {
    let mut region = Region::new(form, position.get());
    if let Some(degrees) = degrees {
        region.rotation = Solid::turn(degrees.get());
    }
    region
}
