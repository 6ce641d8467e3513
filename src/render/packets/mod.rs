//! Pictures by the processor's threads, rays side by side in vectors: for OpenGL without a graphics processor, whose
//! shaders would run on the same threads, but read volumes a quarter as fast.
//!
//! The model and the steps are those of the shaders and of [`super::oracle`]. What it draws is smoke, floor, solids,
//! the box's edges and the cursor; other views are left to OpenGL.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod composite;
mod floor;
mod lanes;
mod march;
mod marks;
mod tone;

use std::time::Instant;

use half::f16;
use nalgebra::Vector3;
use rayon::prelude::*;

use super::camera::Axes;
use super::cells::{Cells, Written};
use super::cursor;
use super::floor::FloorLight;
use super::light::LightVolume;
use super::medium::Medium;
use super::scene::{FAR, Scenery, background};
use super::volume::Volume;
use super::{Cursor, Mode, Quality, View, bricks, noise};
use crate::grid::Dims;
use crate::look::Look;
use crate::snapshot::Bricks;

use composite::{Marched, Places};
use floor::Floor;
use lanes::Texels;
pub(super) use march::able;
use march::{PACKET, Row, Smoke, march};
use marks::{Marks, paint};

/// Rows of pixels that are worked on at a time.
const BAND: usize = 8;

/// What a picture is made of, and the picture.
#[derive(Default)]
pub(super) struct Packets {
    smoke: Shaded,
    /// The light volume at full precision, for solids.
    light: Option<Volume>,
    marks: Marks,
    size: [u32; 2],
    /// The last picture: radiance and the share of the background that is seen, rows from the bottom.
    fresh: Vec<[f32; 4]>,
    /// The mean of the last pictures of the same thing.
    mean: Vec<[f32; 4]>,
    /// How far each pixel's ray is free \[m\].
    reach: Vec<f32>,
    marched: Vec<[f32; 4]>,
    marched_reach: Vec<f32>,
    bytes: Vec<[u8; 4]>,
    /// What was done since [`Packets::times`] was asked last, and how long it took \[ms\].
    times: Vec<(&'static str, f64)>,
}

/// Smoke that knows what it sends to an eye.
#[derive(Default)]
struct Shaded {
    dims: Option<Dims>,
    h: f32,
    texels: Vec<[f16; 4]>,
    written: Written,
    /// For which look and eye; `None` if the smoke or its light has changed since.
    of: Option<(Look, [f32; 3])>,
    filled: Vec<f32>,
    bricks: [usize; 3],
    bounds: [[f32; 3]; 2],
}

/// What the smoke is drawn with.
#[derive(Clone, Copy)]
pub(super) struct Lit<'a> {
    pub cells: &'a Cells,
    pub light: &'a LightVolume,
    pub floor: &'a FloorLight,
}

/// One of several pictures of the same thing.
#[derive(Clone, Copy)]
pub(super) struct Take {
    /// Which offsets.
    pub number: u32,
    /// Its share in the mean.
    pub weight: f32,
    /// Where in its pixel a ray looks, from the middle \[pixels\].
    pub shift: [f32; 2],
}

/// One picture of a view.
struct Shot<'a> {
    view: &'a View<'a>,
    medium: Medium,
    axes: Axes,
    extent: [f32; 3],
    lit: Lit<'a>,
}

/// Whether pictures like this can be drawn on this machine.
pub(super) fn draws(mode: Mode, quality: Quality, dims: Dims) -> bool {
    able() && mode == Mode::Smoke && !quality.cubic && quality.bricks && dims.array().iter().all(|&n| n >= 2)
}

impl Packets {
    /// Takes over the shape of a snapshot.
    pub fn take(&mut self, dims: Dims, h: f32, maxima: &Bricks) {
        self.smoke.take(dims, h, maxima);
    }

    /// The light has changed.
    pub fn forget_light(&mut self) {
        (self.smoke.of, self.light) = (None, None);
    }

    /// Draws a picture and takes it into the mean.
    pub fn draw(&mut self, lit: Lit, view: &View, quality: Quality, size: [u32; 2], take: Take) {
        let extent = self.smoke.extent();
        let steady = Axes::of(view.camera, size[0] as f32 / size[1] as f32);
        let medium = Medium::of(view.look, extent);
        self.smoke.shade(&lit, view.look, &medium, view.camera.position);
        self.marks.update(&steady, view.look.outline, extent, size);
        let shot = Shot { view, medium, axes: steady.shifted(take.shift, size), extent, lit };
        self.size = size;
        let rays = size.map(|n| n.div_ceil(quality.divide.max(1)));
        self.time("scene", |all| all.draw_behind(&shot));
        self.time("march", |all| all.march(&shot, quality, rays, take.number));
        self.time("composite", |all| {
            all.composite(&shot, rays);
            all.average(take.weight);
        });
    }

    fn time(&mut self, name: &'static str, work: impl FnOnce(&mut Self)) {
        let start = Instant::now();
        work(self);
        self.times.push((name, start.elapsed().as_secs_f64() * 1e3));
    }

    /// What was done since it was asked last, and how long it took \[ms\].
    pub fn times(&mut self) -> Vec<(&'static str, f64)> {
        std::mem::take(&mut self.times)
    }

    /// What is behind the smoke, and how far rays are free.
    fn draw_behind(&mut self, shot: &Shot) {
        let solids = shot.lit.light.solids();
        if !solids.is_empty() && self.light.is_none() {
            self.light = Some(Volume::of_light(shot.lit.light));
        }
        let scenery = self.light.as_ref().filter(|_| !solids.is_empty()).map(|light| shot.scenery(light));
        let look = shot.view.look;
        let floor = look.floor.map(|albedo| Floor::new(shot.lit.floor, &shot.medium, albedo, shot.extent));
        let (size, width) = (self.size, self.size[0] as usize);
        self.fresh.resize(width * size[1] as usize, [0.0; 4]);
        self.reach.resize(width * size[1] as usize, FAR);
        let marks = &self.marks;
        let rows = self.fresh.par_chunks_mut(width).zip(self.reach.par_chunks_mut(width));
        rows.enumerate().with_min_len(BAND).for_each(|(y, (pixels, reach))| {
            match &floor {
                Some(floor) => floor.row(&shot.axes, size, y as u32, pixels, reach),
                None => {
                    pixels.fill([0.0, 0.0, 0.0, 1.0]);
                    reach.fill(FAR);
                }
            }
            if let Some(scenery) = &scenery {
                scenery.row_of_solids(&shot.axes, size, y as u32, pixels, reach);
            }
            marks.behind(y, pixels, reach);
        });
    }

    /// All rays through the smoke, in rows of whole packets.
    fn march(&mut self, shot: &Shot, quality: Quality, rays: [u32; 2], number: u32) {
        let stride = (rays[0] as usize).next_multiple_of(PACKET);
        let solids = !shot.lit.light.solids().is_empty();
        self.marched.resize(stride * rays[1] as usize, [0.0; 4]);
        self.marched_reach.resize(stride * rays[1] as usize, FAR);
        let look = shot.view.look;
        let smoke = self.smoke.marched(look.extinction.max(0.0), quality.samples(look));
        let window = shot.axes.window(smoke.bounds[0], smoke.bounds[1]).map(|window| in_rays(window, rays));
        let (reach, size, shift) = (&self.reach, self.size, noise::frame_shift(number));
        let rows = self.marched.par_chunks_mut(stride).zip(self.marched_reach.par_chunks_mut(stride));
        rows.enumerate().with_min_len(2).for_each(|(y, (out, free))| {
            if solids {
                copy_reach(reach, size, rays, y, free);
            }
            out.fill([0.0, 0.0, 0.0, 1.0]);
            let Some([lo, hi]) = window.filter(|[lo, hi]| (lo[1]..hi[1]).contains(&y)) else { return };
            let row = Row {
                axes: &shot.axes,
                size: rays,
                y: y as u32,
                x: lo[0] as u32..hi[0] as u32,
                noise: noise_row(y),
                shift,
                reach: &free[lo[0]..],
            };
            march(&smoke, &row, &mut out[lo[0]..]);
        });
    }

    /// The smoke over what is behind it, and the edges before it.
    fn composite(&mut self, shot: &Shot, rays: [u32; 2]) {
        let (width, solids) = (self.size[0] as usize, !shot.lit.light.solids().is_empty());
        let marched = Marched {
            size: rays.map(|n| n as usize),
            stride: (rays[0] as usize).next_multiple_of(PACKET),
            rays: &self.marched,
            reach: solids.then_some(&*self.marched_reach),
        };
        let places = [0, 1].map(|a| Places::new(self.size[a] as usize, rays[a] as usize));
        let [lo, hi] = match shot.axes.window(self.smoke.bounds[0], self.smoke.bounds[1]) {
            // Interpolation reaches beyond the window of the smoke.
            Some(window) if self.smoke.bounds[0][0] <= self.smoke.bounds[1][0] => {
                let [lo, hi] = in_rays(window, self.size);
                let around = (self.size[0] / rays[0].max(1)) as usize + 1;
                let top = self.size.map(|n| n as usize);
                [lo.map(|n| n.saturating_sub(around)), [0, 1].map(|a| (hi[a] + around).min(top[a]))]
            }
            _ => [[0; 2]; 2],
        };
        let marks = &self.marks;
        let rows = self.fresh.par_chunks_mut(width).zip(self.reach.par_chunks(width));
        rows.enumerate().with_min_len(BAND).for_each(|(y, (pixels, reach))| {
            if (lo[1]..hi[1]).contains(&y) {
                marched.over(&places, [lo[0], y], &mut pixels[lo[0]..hi[0]], &reach[lo[0]..hi[0]]);
            }
            marks.before(y, pixels, reach);
        });
    }

    fn average(&mut self, weight: f32) {
        if weight >= 1.0 || self.mean.len() != self.fresh.len() {
            return std::mem::swap(&mut self.mean, &mut self.fresh);
        }
        let rows = self.mean.par_chunks_mut(1 << 14).zip(self.fresh.par_chunks(1 << 14));
        rows.for_each(|(mean, fresh)| {
            for (mean, fresh) in mean.as_flattened_mut().iter_mut().zip(fresh.as_flattened()) {
                *mean += weight * (fresh - *mean);
            }
        });
    }

    /// The bytes of the mean with background and cursor, rows from the bottom.
    pub fn present(&mut self, view: &View, quality: Quality) -> &[[u8; 4]] {
        self.time("present", |all| all.tone(view, quality));
        &self.bytes
    }

    fn tone(&mut self, view: &View, quality: Quality) {
        let (width, [_, height]) = (self.size[0] as usize, self.size);
        let axes = Axes::of(view.camera, width as f32 / height as f32);
        let smoke = self.smoke.marched(view.look.extinction.max(0.0), quality.samples(view.look));
        let ball = view.cursor.map(|cursor| Ball {
            cursor,
            axes: &axes,
            size: self.size,
            smoke: &smoke,
            floor: view.look.floor.is_some(),
        });
        self.bytes.resize(self.mean.len(), [0; 4]);
        let rows = self.bytes.par_chunks_mut(width).zip(self.mean.par_chunks(width));
        rows.zip(self.reach.par_chunks(width)).enumerate().with_min_len(BAND).for_each(
            |(y, ((bytes, pixels), reach))| {
                let painted = ball.as_ref().and_then(|ball| ball.over(y as u32, pixels, reach));
                let behind = background(view.look, (y as f32 + 0.5) / height as f32);
                let exposure = view.look.exposure.exp2();
                let tone = tone::Tone { background: behind, exposure, noise: noise_row(y) };
                tone::row(&tone, painted.as_deref().unwrap_or(pixels), bytes);
            },
        );
    }

    /// Radiance and alpha, and distance, of each pixel of the mean, rows from the top.
    pub fn linear(&self) -> (Vec<[f32; 4]>, Vec<f32>) {
        let width = self.size[0] as usize;
        let pixels =
            self.mean.chunks_exact(width).rev().flatten().map(|&[r, g, b, clear]| [r, g, b, 1.0 - clear]);
        (pixels.collect(), self.reach.chunks_exact(width).rev().flatten().copied().collect())
    }
}

impl Shaded {
    fn take(&mut self, dims: Dims, h: f32, maxima: &Bricks) {
        if self.dims != Some(dims) {
            self.texels = vec![[f16::ZERO; 4]; dims.cells()];
            self.written = Written::default();
        }
        (self.dims, self.h, self.of) = (Some(dims), h, None);
        self.bricks = maxima.dims.array();
        self.bounds = bricks::occupied(maxima, h);
        self.filled.clear();
        self.filled.extend(maxima.max.iter().map(|max| f32::from(u8::from(!bricks::empty(max)))));
    }

    fn extent(&self) -> [f32; 3] {
        self.dims.map_or([1.0; 3], |dims| dims.array().map(|n| n as f32 * self.h))
    }

    fn shade(&mut self, lit: &Lit, look: &Look, medium: &Medium, eye: [f32; 3]) {
        if self.of.as_ref().is_none_or(|(of, from)| of != look || *from != eye) {
            lit.cells.shade_over(lit.light, medium, eye, &mut self.texels, &mut self.written);
            self.of = Some((look.clone(), eye));
        }
    }

    fn marched(&self, extinction: f32, samples: f32) -> Smoke<'_> {
        Smoke {
            texels: Texels::new(self.dims.map_or([0; 3], |dims| dims.array()), &self.texels),
            filled: &self.filled,
            bricks: self.bricks,
            brick: crate::snapshot::BRICK as f32 * self.h,
            extent: self.extent(),
            bounds: self.bounds,
            h: self.h,
            dt: self.h / samples,
            extinction,
        }
    }
}

impl<'a> Shot<'a> {
    fn scenery(&'a self, light: &'a Volume) -> Scenery<'a> {
        Scenery {
            extent: self.extent,
            light,
            floor_light: self.lit.floor,
            medium: &self.medium,
            look: self.view.look,
            solids: self.lit.light.solids(),
            spacing: self.lit.light.spacing,
        }
    }
}

/// The cursor over a picture.
struct Ball<'a> {
    cursor: Cursor,
    axes: &'a Axes,
    size: [u32; 2],
    smoke: &'a Smoke<'a>,
    /// Whether there is a floor.
    floor: bool,
}

/// What a cursor is made of.
#[derive(Clone, Copy)]
enum Part {
    Ring,
    Ball,
}

impl Ball<'_> {
    /// The row with the cursor over it, if it touches it: first its ring, then the ball.
    fn over(&self, y: u32, pixels: &[[f32; 4]], reach: &[f32]) -> Option<Vec<[f32; 4]>> {
        let window = self.columns(y)?;
        let soft = cursor::softness(&self.cursor, self.axes, self.size);
        let mut painted = pixels.to_vec();
        for part in [Part::Ring, Part::Ball] {
            let mut fronts = vec![0.0; pixels.len().next_multiple_of(PACKET)];
            let mut tints = vec![None; pixels.len()];
            for x in window.clone() {
                let at = [x as f32 + 0.5, y as f32 + 0.5];
                let ray = self.axes.ray([0, 1].map(|a| at[a] / self.size[a] as f32));
                tints[x] = match part {
                    Part::Ball => cursor::ball(&self.cursor, &ray, soft, reach[x]),
                    Part::Ring if self.floor => cursor::ring(&self.cursor, &ray, reach[x], self.smoke.extent),
                    Part::Ring => None,
                };
                fronts[x] = tints[x].map_or(0.0, |tint: cursor::Tint| tint.away);
            }
            if tints.iter().any(Option::is_some) {
                let clear = self.clear(y, window.clone(), &fronts);
                for (n, tint) in tints.iter().enumerate().filter_map(|(n, tint)| Some((n, tint.as_ref()?))) {
                    paint(&mut painted[n], tint.through(clear[n][3]));
                }
            }
        }
        Some(painted)
    }

    /// The pixels of a row that it may touch: those of the box around ball and ring.
    fn columns(&self, y: u32) -> Option<std::ops::Range<usize>> {
        let around = |r: f32| Vector3::repeat(r * 1.1);
        let (center, radius) = (Vector3::from(self.cursor.center), self.cursor.radius);
        let mut all: Option<std::ops::Range<usize>> = None;
        let ring = (center - around(radius), center + around(radius));
        let ring = ([ring.0.x, -0.01 * radius, ring.0.z], [ring.1.x, 0.01 * radius, ring.1.z]);
        let ball = ((center - around(radius)).into(), (center + around(radius)).into());
        for (lo, hi) in [ball, ring] {
            let Some([lo, hi]) = self.axes.window(lo, hi).map(|window| in_rays(window, self.size)) else {
                continue;
            };
            if (lo[1]..hi[1]).contains(&(y as usize)) {
                let span = lo[0]..hi[0];
                all = Some(all.map_or(span.clone(), |all| all.start.min(span.start)..all.end.max(span.end)));
            }
        }
        all
    }

    /// What the smoke lets through from the eye to the cursor, along the rays of a row.
    fn clear(&self, y: u32, window: std::ops::Range<usize>, fronts: &[f32]) -> Vec<[f32; 4]> {
        const EVEN: [f32; noise::TILE] = [0.5; noise::TILE];
        let start = window.start / PACKET * PACKET;
        let mut out = vec![[1.0; 4]; fronts.len()];
        let row = Row {
            axes: self.axes,
            size: self.size,
            y,
            x: start as u32..window.end as u32,
            noise: &EVEN,
            shift: 0.0,
            reach: &fronts[start..],
        };
        march(self.smoke, &row, &mut out[start..]);
        out
    }
}

/// The part of a picture of so many rays that lies in a window: its lower left, at a whole packet, and its upper right.
fn in_rays([lo, hi]: [[f32; 2]; 2], rays: [u32; 2]) -> [[usize; 2]; 2] {
    let down = |a: usize| ((lo[a] * rays[a] as f32) as usize).saturating_sub(2);
    let up = |a: usize| ((hi[a] * rays[a] as f32).ceil() as usize + 2).min(rays[a] as usize);
    [[down(0) / PACKET * PACKET, down(1)], [up(0), up(1)]]
}

fn noise_row(y: usize) -> &'static [f32; noise::TILE] {
    noise::tile()[y % noise::TILE * noise::TILE..].first_chunk().expect("a row of the tile")
}

/// How far the rays of row `y` of a march are free: that of the pixel each goes through, as in `shaders/reach.glsl`.
fn copy_reach(reach: &[f32], size: [u32; 2], rays: [u32; 2], y: usize, out: &mut [f32]) {
    let pixel = |n: usize, a: usize| {
        let at = (n as f32 + 0.5) * size[a] as f32 / rays[a] as f32;
        at.min(size[a] as f32 - 1.0) as usize
    };
    let row = &reach[pixel(y, 1) * size[0] as usize..][..size[0] as usize];
    out.iter_mut().enumerate().for_each(|(x, out)| *out = row[pixel(x, 0)]);
}
