//! The renderer on CPU threads: no GL, the same model as the shaders step for step.
//!
//! It is what tests compare the shaders with, what `render` falls back to where there is no GL, and with
//! [`Scattering::Traced`] it follows light paths to the truth that the octaves approximate. Runs on the
//! rayon pool of the caller; the same picture for any number of threads.
//!
//! [`Scattering::Traced`]: crate::look::Scattering::Traced

mod paths;

use std::ops::Range;

use half::f16;
use nalgebra::Matrix4;
use rayon::prelude::*;

use super::bricks;
use super::camera::{Axes, Ray};
use super::cells::{Cells, Region};
use super::cursor;
use super::field::Field;
use super::floor::FloorLight;
use super::flow::Flow;
use super::light::LightVolume;
use super::lines::{self, Line};
use super::march::{Marched, Smoke, halves};
use super::medium::Medium;
use super::scene::{Behind, Scenery, background};
use super::slice::{self, Plane, Ranges, Slice};
use super::volume::Volume;
use super::{Cursor, Image, LinearImage, Mode, Quality, Quantity, Shading, View, noise, tone};
use crate::look::Scattering;
use crate::snapshot::{Bricks, Snapshot};

/// Renders snapshots on the CPU.
#[derive(Debug, Default)]
pub struct Oracle {
    light: LightVolume,
    quality: Quality,
}

/// The rays of one picture.
struct Rays<'a> {
    axes: &'a Axes,
    /// For lines, which are smooth by themselves.
    steady: &'a Axes,
    /// Pixels of the picture.
    size: [u32; 2],
}

/// One pixel before the background is put behind it.
#[derive(Clone, Copy, Debug)]
struct Pixel {
    radiance: [f32; 3],
    clear: f32,
    depth: f32,
}

impl Oracle {
    /// A renderer for pictures of full quality.
    pub fn new() -> Self {
        Self::default()
    }

    /// How much work goes into the pictures. They are always marched at full size.
    pub fn set_quality(&mut self, quality: Quality) {
        self.quality = quality;
    }

    /// A picture of `snapshot`. With path tracing, `progress` is told the share that is done.
    pub fn render(
        &mut self,
        snapshot: &Snapshot,
        view: &View,
        size: [u32; 2],
        progress: &(impl Fn(f32) + Sync),
    ) -> Image {
        let pixels = self.pixels(snapshot, view, size, progress);
        let [width, height] = size;
        let mut rgba = vec![0; 4 * pixels.len()];
        let rows = rgba.par_chunks_exact_mut(4 * width as usize).enumerate();
        rows.for_each(|(row, bytes)| {
            let y = height - 1 - row as u32;
            let behind = background(view.look, (y as f32 + 0.5) / height as f32);
            for x in 0..width {
                let pixel = pixels[(x + width * y) as usize];
                let radiance = std::array::from_fn(|c| pixel.radiance[c] + pixel.clear * behind[c]);
                let [r, g, b] = tone::to_bytes(radiance, view.look.exposure, noise::offset(x, y, 0));
                bytes[4 * x as usize..][..4].copy_from_slice(&[r, g, b, 255]);
            }
        });
        Image { width, height, rgba }
    }

    /// As [`Oracle::render`], before background and tone map.
    pub fn render_linear(
        &mut self,
        snapshot: &Snapshot,
        view: &View,
        size: [u32; 2],
        progress: &(impl Fn(f32) + Sync),
    ) -> LinearImage {
        let pixels = self.pixels(snapshot, view, size, progress);
        let [width, height] = size;
        let from_top = || pixels.chunks_exact(width as usize).rev().flatten();
        let rgba = from_top().map(|p| [p.radiance[0], p.radiance[1], p.radiance[2], 1.0 - p.clear]);
        LinearImage { width, height, rgba: rgba.collect(), depth: from_top().map(|p| p.depth).collect() }
    }

    /// All pixels, rows from the bottom.
    fn pixels(
        &mut self,
        snapshot: &Snapshot,
        view: &View,
        size: [u32; 2],
        progress: &(impl Fn(f32) + Sync),
    ) -> Vec<Pixel> {
        self.light.bake(snapshot, view.look);
        let axes = Axes::of(view.camera, size[0] as f32 / size[1] as f32);
        let medium = Medium::of(view.look, snapshot.extent());
        let light = Volume::of_light(&self.light);
        let mut floor_light = FloorLight::default();
        // Smoke that is not shown casts no shadow.
        if view.mode.shows_smoke() {
            floor_light.cast(&self.light, medium.sun_direction);
        }
        let scenery = Scenery {
            extent: snapshot.extent(),
            light: &light,
            floor_light: &floor_light,
            medium: &medium,
            look: view.look,
            solids: self.light.solids(),
            spacing: self.light.spacing,
        };
        let smoke = smoke(snapshot, view, &medium);
        let wide = bricks::widened(&snapshot.bricks);
        let shaded = self.shaded(snapshot, view, &medium);
        let march = self.marcher(snapshot, view, [&smoke, &light], shaded.as_ref(), &medium, &wide);
        let passes = self.quality.passes.max(1);
        if !self.quality.edges || scenery.solids.is_empty() {
            let rays = Rays { axes: &axes, steady: &axes, size };
            return self.expose(&scenery, &march, view, &rays, 0..passes, progress);
        }
        let one = |n: u32| {
            let progress = |part: f32| progress((n as f32 + part) / passes as f32);
            let shifted = axes.shifted(noise::sub_pixel(n, passes), size);
            let rays = Rays { axes: &shifted, steady: &axes, size };
            self.expose(&scenery, &march, view, &rays, n..n + 1, &progress)
        };
        let mut mean = one(0);
        for n in 1..passes {
            let weight = 1.0 / (n + 1) as f32;
            mean.iter_mut().zip(one(n)).for_each(|(mean, pixel)| mean.approach(&pixel, weight));
        }
        mean
    }

    /// One picture, the mean of the `frames` of its march.
    fn expose(
        &self,
        scenery: &Scenery,
        march: &Smoke,
        view: &View,
        rays: &Rays,
        frames: Range<u32>,
        progress: &(impl Fn(f32) + Sync),
    ) -> Vec<Pixel> {
        let Rays { axes, steady, size } = *rays;
        let snapshot = march.snapshot;
        let mut behind = over_pixels(size, |x, y| scenery.behind(&ray_of(axes, size, x, y)));
        let [back, front] = if view.look.outline {
            lines::box_edges(snapshot.extent(), axes.eye.into(), lines::OUTLINE)
        } else {
            [Vec::new(), Vec::new()]
        };
        let clip = steady.clip_from_world(1e-3);
        // A line is hidden by what the ray meets before it.
        let slant = |at: usize| {
            let (x, y) = (at % size[0] as usize, at / size[0] as usize);
            steady.slant([(x as f32 + 0.5) / size[0] as f32, (y as f32 + 0.5) / size[1] as f32])
        };
        paint_lines(&back, &clip, lines::WIDTH, size, |at, tint, depth| {
            if lines::seen(depth * slant(at), behind[at].reach) {
                behind[at].paint(tint);
            }
        });
        let shares = self.along_rays(march, view, rays, &behind, frames, progress);
        let mut pixels: Vec<Pixel> = behind.iter().zip(&shares).map(|(b, s)| Pixel::over(b, s)).collect();
        if let Mode::Slice(slice) = view.mode {
            paint_slice(slice, snapshot, march.smoke, axes, size, &mut pixels, &behind);
        }
        if let Some(quantity) = view.mode.glowing().filter(|_| !snapshot.velocity.is_empty()) {
            paint_legend(Ranges::of(snapshot).range(quantity), quantity, size, &mut pixels);
        }
        let flow = flow_lines(snapshot, view.mode, steady, size);
        for lines in [flow, front] {
            paint_lines(&lines, &clip, lines::WIDTH, size, |at, tint, depth| {
                if lines::seen(depth * slant(at), behind[at].reach) {
                    pixels[at].paint(tint);
                }
            });
        }
        if let Some(cursor) = view.cursor {
            let over = (axes, view.look.floor.is_some());
            paint_cursor(&cursor, march, over, size, &mut pixels, &behind);
        }
        pixels
    }

    /// The smoke with the light it sends to the eye, if it is to be worked out at the cells.
    fn shaded(&self, snapshot: &Snapshot, view: &View, medium: &Medium) -> Option<Volume> {
        let marched = view.mode.shows_smoke() || view.cursor.is_some();
        let traced = view.look.scattering == Scattering::Traced;
        if !marched || traced || self.quality.shading == Shading::Rays {
            return None;
        }
        let (mut cells, region) = (Cells::default(), Region::all(snapshot.dims));
        cells.gather(snapshot);
        let mut texels = vec![[f16::ZERO; 4]; region.cells()];
        cells.shade(&self.light, medium, view.camera.position, region, &mut texels);
        Some(Volume::at_centres(snapshot, &texels))
    }

    fn marcher<'a>(
        &self,
        snapshot: &'a Snapshot,
        view: &View,
        [smoke, light]: [&'a Volume; 2],
        shaded: Option<&'a Volume>,
        medium: &'a Medium,
        wide: &'a Bricks,
    ) -> Smoke<'a> {
        let samples = self.quality.samples(view.look);
        let cubic = self.quality.cubic;
        let bricks = self.quality.bricks.then_some(if cubic { wide } else { &snapshot.bricks });
        Smoke {
            snapshot,
            extinction: view.mode.smoke_share() * medium.extinction,
            smoke,
            light,
            shaded,
            medium,
            dt: snapshot.h / samples,
            halves: halves(samples),
            bricks,
            cubic,
        }
    }

    /// What the volume adds to each pixel, averaged over the passes.
    fn along_rays(
        &self,
        smoke: &Smoke,
        view: &View,
        rays: &Rays,
        behind: &[Behind],
        frames: Range<u32>,
        progress: &(impl Fn(f32) + Sync),
    ) -> Vec<Marched> {
        let Rays { axes, size, .. } = *rays;
        let reach = |x: u32, y: u32| behind[(x + size[0] * y) as usize].reach;
        let ray = |x: u32, y: u32| ray_of(axes, size, x, y);
        if !view.mode.shows_smoke() && !matches!(view.mode, Mode::Speed | Mode::Vorticity) {
            return vec![Marched { radiance: [0.0; 3], through: 1.0 }; behind.len()];
        }
        if view.mode.shows_smoke() && view.look.scattering == Scattering::Traced {
            let tracer = paths::Tracer::new(smoke, self.light.solids(), view.look);
            let each = view.look.paths.div_ceil(self.quality.passes.max(1)).max(1);
            let paths = each * frames.start..each * frames.end;
            return tracer.picture(size, paths, progress, |x, y| (ray(x, y), reach(x, y)));
        }
        let field = Field::of(smoke.snapshot, view.mode, smoke.dt);
        let one = |x: u32, y: u32, frame: u32| {
            let offset = noise::offset(x, y, frame);
            match &field {
                None => smoke.march(&ray(x, y), reach(x, y), offset),
                Some(field) => field.march(&ray(x, y), reach(x, y), offset),
            }
        };
        over_pixels(size, |x, y| Marched::mean(frames.clone().map(|frame| one(x, y, frame))))
    }
}

/// The smoke as a march along the rays reads it.
fn smoke(snapshot: &Snapshot, view: &View, medium: &Medium) -> Volume {
    if !view.mode.shows_smoke() || medium.glow[0] <= 0.0 {
        return Volume::at_centres(snapshot, &snapshot.smoke);
    }
    let mut cells = Cells::default();
    cells.gather(snapshot);
    let mut texels = vec![[f16::ZERO; 4]; snapshot.dims.cells()];
    cells.smoulder(medium, &mut texels);
    Volume::at_centres(snapshot, &texels)
}

impl Marched {
    fn mean(all: impl ExactSizeIterator<Item = Self>) -> Self {
        let weight = 1.0 / all.len() as f32;
        let mut mean = Self { radiance: [0.0; 3], through: 0.0 };
        for one in all {
            for c in 0..3 {
                mean.radiance[c] += weight * one.radiance[c];
            }
            mean.through += weight * one.through;
        }
        mean
    }
}

impl Pixel {
    fn over(behind: &Behind, smoke: &Marched) -> Self {
        Self {
            radiance: std::array::from_fn(|c| smoke.radiance[c] + smoke.through * behind.radiance[c]),
            clear: smoke.through * behind.clear,
            depth: behind.reach,
        }
    }

    fn paint(&mut self, tint: [f32; 4]) {
        paint(&mut self.radiance, &mut self.clear, tint);
    }

    /// Moves by `weight` towards another; the depth becomes that of the other.
    fn approach(&mut self, other: &Self, weight: f32) {
        for c in 0..3 {
            self.radiance[c] += weight * (other.radiance[c] - self.radiance[c]);
        }
        self.clear += weight * (other.clear - self.clear);
        self.depth = other.depth;
    }
}

impl Behind {
    fn paint(&mut self, tint: [f32; 4]) {
        paint(&mut self.radiance, &mut self.clear, tint);
    }
}

/// Puts a colour with alpha over what is there.
fn paint(radiance: &mut [f32; 3], clear: &mut f32, [r, g, b, alpha]: [f32; 4]) {
    for (radiance, tint) in radiance.iter_mut().zip([r, g, b]) {
        *radiance += (tint - *radiance) * alpha;
    }
    *clear *= 1.0 - alpha;
}

fn flow_lines(snapshot: &Snapshot, mode: Mode, axes: &Axes, size: [u32; 2]) -> Vec<Line> {
    if !matches!(mode, Mode::Velocity | Mode::Streamlines) {
        return Vec::new();
    }
    let mut flow = Flow::default();
    flow.take(snapshot);
    if mode == Mode::Velocity { flow.arrows(axes, size) } else { flow.streamlines() }
}

/// The plane of a slice and its legend.
fn paint_slice(
    slice: Slice,
    snapshot: &Snapshot,
    smoke: &Volume,
    axes: &Axes,
    size: [u32; 2],
    pixels: &mut [Pixel],
    behind: &[Behind],
) {
    let has_flow = !snapshot.velocity.is_empty();
    if slice.quantity.needs_velocity() && !has_flow {
        return;
    }
    let flow = slice.quantity.needs_velocity().then(|| Volume::at_centres(snapshot, &snapshot.velocity));
    let range = slice.range.unwrap_or_else(|| Ranges::of(snapshot).range(slice.quantity));
    let plane = Plane { slice, range, extent: snapshot.extent(), smoke, flow: flow.as_ref() };
    pixels.par_iter_mut().zip(behind).enumerate().for_each(|(n, (pixel, behind))| {
        let ray = ray_of(axes, size, n as u32 % size[0], n as u32 / size[0]);
        if let Some(tint) = plane.tint(&ray, behind.reach) {
            pixel.paint(tint);
        }
    });
    paint_legend(range, slice.quantity, size, pixels);
}

/// What the colours of a quantity mean.
fn paint_legend(range: [f32; 2], quantity: Quantity, size: [u32; 2], pixels: &mut [Pixel]) {
    let [bar, marks] = slice::legend(range, quantity.unit(), size);
    let screen = Matrix4::identity();
    paint_lines(&bar, &screen, slice::BAR, size, |at, tint, _| pixels[at].paint(tint));
    paint_lines(&marks, &screen, lines::WIDTH, size, |at, tint, _| pixels[at].paint(tint));
}

fn paint_lines(
    all: &[Line],
    clip: &Matrix4<f32>,
    width: f32,
    size: [u32; 2],
    mut paint: impl FnMut(usize, [f32; 4], f32),
) {
    for line in all {
        line.trace(clip, width, size, |[x, y], tint, depth| paint((x + size[0] * y) as usize, tint, depth));
    }
}

/// The cursor: first its ring on the floor, then the ball.
fn paint_cursor(
    cursor: &Cursor,
    smoke: &Smoke,
    (axes, floor): (&Axes, bool),
    size: [u32; 2],
    pixels: &mut [Pixel],
    behind: &[Behind],
) {
    let rows = pixels.par_chunks_exact_mut(size[0] as usize).zip(behind.par_chunks_exact(size[0] as usize));
    let soft = cursor::softness(cursor, axes, size);
    let extent = smoke.snapshot.extent();
    rows.enumerate().for_each(|(y, (pixels, behind))| {
        for x in 0..size[0] as usize {
            let (ray, reach) = (ray_of(axes, size, x as u32, y as u32), behind[x].reach);
            let ring = cursor::ring(cursor, &ray, reach, extent).filter(|_| floor);
            for tint in ring.into_iter().chain(cursor::ball(cursor, &ray, soft, reach)) {
                pixels[x].paint(tint.through(smoke.clear_to(&ray, tint.away)));
            }
        }
    });
}

fn ray_of(axes: &Axes, size: [u32; 2], x: u32, y: u32) -> Ray {
    axes.ray([(x as f32 + 0.5) / size[0] as f32, (y as f32 + 0.5) / size[1] as f32])
}

/// `value` at every pixel, rows from the bottom.
fn over_pixels<T: Send>(size: [u32; 2], value: impl Fn(u32, u32) -> T + Sync) -> Vec<T> {
    let pixels = (size[0] as usize) * (size[1] as usize);
    let at = |n: usize| value(n as u32 % size[0], n as u32 / size[0]);
    (0..pixels).into_par_iter().with_min_len(64).map(at).collect()
}
