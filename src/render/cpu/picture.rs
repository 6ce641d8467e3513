//! A picture by the processor's threads, from the background to the bytes. [`super::CpuRenderer`] renders
//! whole pictures with it. A window whose driver has no graphics processor renders frame by frame with it:
//! shaders would run on the same threads there, but read volumes a quarter as fast.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;

use super::composite::{Marched, Places};
use super::contents::Contents;
use super::cursor_rows::CursorRows;
use super::floor_rows::Floor;
use super::line_pixels::{LinePixels, paint};
use super::march::{Medium, PACKET, Row, in_rays, march};
use super::shaded_smoke::{OccupiedBricks, ShadedSmoke, at_least_four};
use super::slab_relay::Relay;
#[cfg(feature = "viewer")]
use crate::look::Look;
use crate::render::background::Background;
use crate::render::camera::{Axes, FAR};
use crate::render::denoise::{Traced, brightness};
use crate::render::floor::FloorLight;
use crate::render::flow::{self, Flow};
use crate::render::lamp::Lamp;
#[cfg(feature = "viewer")]
use crate::render::preshaded::Cells;
use crate::render::quantity::{Quantity, THICKNESS};
use crate::render::scene::Scenery;
use crate::render::slice::{self, Plane, Slice};
use crate::render::{Mode, Quality, View, lines, medium, noise};
use crate::simd::Token;
use crate::snapshot::SnapshotSlab;

/// Rows of pixels of one task.
const BAND: usize = 8;

/// One of several frames of the same view.
#[derive(Clone, Copy)]
pub(in crate::render) struct Frame {
    /// Number of the frame, which selects its offsets.
    pub number: u32,
    /// Weight in the accumulation buffer.
    pub weight: f32,
    /// Shift of the rays within their pixels, from the middle \[pixels\].
    pub shift: [f32; 2],
}

/// Integration along the rays.
#[derive(Clone, Copy)]
pub(in crate::render) enum Integrator<'a> {
    /// In packets, through the pre-shaded volume.
    Packets,
    /// In packets on several ranks, of which this one has a slab. The first gets the picture.
    Slabs(&'a SnapshotSlab),
    /// By a function for each row of the picture.
    Rows {
        march: &'a RowFn<'a>,
        /// Function that replaces the radiance of floor and solids.
        surfaces: Option<&'a SurfaceFn<'a>>,
        /// Function that is called before each frame.
        prepare: Option<&'a FrameFn<'a>>,
    },
}

/// A function that fills in radiance and transmittance of the smoke, from the axes, the frame's number, the
/// row from the bottom, and the length of each ray.
pub(in crate::render) type RowFn<'a> = dyn Fn(&Axes, u32, usize, &[f32], &mut [[f32; 4]]) + Sync + 'a;

/// A function that replaces the radiance of surfaces, with the share of the background beside them, from the
/// axes, the frame's number and the row from the bottom.
pub(in crate::render) type SurfaceFn<'a> = dyn Fn(&Axes, u32, usize, &mut [[f32; 4]]) + Sync + 'a;

/// A function of the axes without the frame's shift, and the frame's number.
pub(in crate::render) type FrameFn<'a> = dyn Fn(&Axes, u32) + Sync + 'a;

/// The buffers of a picture, reused from one to the next.
pub(in crate::render) struct Picture {
    token: Token,
    smoke: ShadedSmoke,
    outline: Outline,
    size: [u32; 2],
    /// The current frame: radiance and the visible share of the background, rows from the bottom.
    frame: Vec<[f32; 4]>,
    /// The accumulation buffer: the mean of the last frames of the same view.
    accumulated: Vec<[f32; 4]>,
    /// Length of each pixel's ray up to a surface \[m\].
    t_max: Vec<f32>,
    marched: Vec<[f32; 4]>,
    marched_t_max: Vec<f32>,
    bytes: Vec<[u8; 4]>,
    /// Sums of the squared brightness of all frames, while they are gathered.
    squares: Option<Vec<f32>>,
    /// Passes since the last call of [`Picture::times`], and their times \[ms\].
    times: Vec<(&'static str, f64)>,
    /// Flag that ends a picture early: while it is set, rays are skipped.
    stop: Option<Arc<AtomicBool>>,
}

/// The edges of the box, behind the smoke and before it, traced once for each camera.
#[derive(Default)]
struct Outline {
    of: Option<(Axes, [f32; 3], [u32; 2])>,
    sides: [LinePixels; 2],
}

/// Inputs of all passes of a frame.
struct Pass<'a> {
    contents: &'a Contents<'a>,
    view: &'a View<'a>,
    quality: Quality,
    medium: medium::Medium,
    /// Axes of the camera, and of this frame's shifted rays.
    steady: Axes,
    axes: Axes,
}

impl Integrator<'_> {
    fn slab(&self) -> Option<&SnapshotSlab> {
        if let Self::Slabs(slab) = self { Some(slab) } else { None }
    }
}

impl Picture {
    /// Makes the buffers; rays march with the instructions of `token`.
    pub fn new(token: Token) -> Self {
        Self {
            token,
            smoke: ShadedSmoke::default(),
            outline: Outline::default(),
            size: [0; 2],
            frame: Vec::new(),
            accumulated: Vec::new(),
            t_max: Vec::new(),
            marched: Vec::new(),
            marched_t_max: Vec::new(),
            bytes: Vec::new(),
            squares: None,
            times: Vec::new(),
            stop: None,
        }
    }

    /// Sets a flag that ends a picture early.
    #[cfg(feature = "viewer")]
    pub fn set_stop(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    /// Marks the snapshot and its light as changed.
    pub fn invalidate(&mut self) {
        self.smoke.invalidate();
    }

    /// Marks the light as changed.
    #[cfg(feature = "viewer")]
    pub fn invalidate_light(&mut self) {
        self.smoke.invalidate_light();
    }

    /// Shades the cells of a whole snapshot for a picture without splines, ahead of its light.
    #[cfg(feature = "viewer")]
    pub fn shade_ahead(&mut self, cells: &Cells, look: &Look) {
        self.smoke.shade_cells(cells, cells.dims_of_box(), look, false);
    }

    /// Renders the number of frames of the quality into the accumulation buffer.
    pub fn render(
        &mut self,
        contents: &Contents,
        view: &View,
        quality: Quality,
        size: [u32; 2],
        integrator: Integrator,
    ) {
        for (n, number) in quality.frames().enumerate() {
            let frame = Frame { number, weight: 1.0 / (n + 1) as f32, shift: quality.shift(number) };
            self.render_frame(contents, view, quality, size, frame, integrator);
        }
    }

    /// Renders as [`Picture::render`] does by a noisy integrator, and removes its noise. The quality must
    /// have two passes or more.
    pub fn render_denoised(
        &mut self,
        contents: &Contents,
        view: &View,
        quality: Quality,
        size: [u32; 2],
        integrator: Integrator,
    ) {
        self.render(contents, view, quality, size, Integrator::Packets);
        let guide = std::mem::take(&mut self.accumulated);
        self.squares = Some(Vec::new());
        self.render(contents, view, quality, size, integrator);
        let squares = self.squares.take().expect("gathered");
        let frames = quality.passes as f32;
        let variance = |(mean, squares): (&[f32; 4], f32)| {
            (squares / frames - brightness(*mean).powi(2)).max(0.0) / (frames - 1.0).max(1.0)
        };
        let variance: Vec<f32> = self.accumulated.iter().zip(squares).map(variance).collect();
        let depth = self.depths_of_solids(view, size);
        let (mean, size) = (&*self.accumulated, size.map(|n| n as usize));
        let smooth = Traced { size, mean, variance: &variance, guide: &guide, depth: &depth }.smooth();
        self.accumulated = smooth;
    }

    /// Returns the length of each pixel's ray up to a solid \[m\], [`FAR`] without one. The floor is left
    /// out, because all its edges show in its brightness, and it fades out before the horizon.
    fn depths_of_solids(&self, view: &View, size: [u32; 2]) -> Vec<f32> {
        let axes = Axes::of(view.camera, size[0] as f32 / size[1] as f32);
        let depth = |(n, &t): (usize, &f32)| {
            let ray = axes.ray_through_pixel(size, [n as u32 % size[0], n as u32 / size[0]]);
            let height = ray.origin.y + t * ray.direction.y;
            if height.abs() < 1e-3 * t { FAR } else { t }
        };
        self.t_max.iter().enumerate().map(depth).collect()
    }

    /// Renders a frame and adds it to the accumulation buffer.
    pub fn render_frame(
        &mut self,
        contents: &Contents,
        view: &View,
        quality: Quality,
        size: [u32; 2],
        frame: Frame,
        integrator: Integrator,
    ) {
        let extent = contents.extent();
        let steady = Axes::of(view.camera, size[0] as f32 / size[1] as f32);
        let lens = steady.through_lens(view.camera, frame.number);
        let pass = Pass {
            contents,
            view,
            quality,
            medium: medium::Medium::of(view.look, extent),
            steady,
            axes: lens.shifted(frame.shift, size),
        };
        self.size = size;
        let is_first = integrator.slab().is_none_or(|slab| slab.comm().rank() == 0);
        self.outline.update(&lens, view.look.outline && is_first, extent, size);
        let divide = if let Integrator::Rows { .. } = integrator { 1 } else { quality.divide.max(1) };
        let rays = size.map(|n| n.div_ceil(divide));
        if let Integrator::Rows { prepare: Some(prepare), .. } = integrator {
            prepare(&lens, frame.number);
        }
        // Surfaces end the rays of all ranks.
        if is_first || !contents.light.solids().is_empty() {
            self.time("scene", |picture| picture.render_scenery(&pass, frame.number, integrator));
        }
        let window = self.time("march", |picture| picture.march(&pass, rays, frame.number, integrator));
        if !is_first {
            return;
        }
        self.time("composite", |picture| {
            picture.composite(&pass, rays, window);
            picture.accumulate(frame.weight);
        });
    }

    fn time<T>(&mut self, name: &'static str, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let done = work(self);
        self.times.push((name, start.elapsed().as_secs_f64() * 1e3));
        done
    }

    /// Returns the passes since the last call, and their times \[ms\].
    #[cfg(feature = "viewer")]
    pub fn times(&mut self) -> Vec<(&'static str, f64)> {
        std::mem::take(&mut self.times)
    }

    /// Renders floor, solids and lines behind the smoke, and computes the length of each ray.
    fn render_scenery(&mut self, pass: &Pass, number: u32, integrator: Integrator) {
        let (light, look) = (pass.contents.light, pass.view.look);
        let scenery = (!light.solids().is_empty()).then(|| Scenery {
            light,
            medium: &pass.medium,
            look,
            solids: light.solids(),
            frame: number,
            splines: pass.quality.splines,
        });
        // Invisible smoke casts no shadow.
        let open = FloorLight::open(&pass.medium);
        let floor_light = if pass.view.mode.shows_smoke() { pass.contents.floor } else { &open };
        let floor = look.floor.map(|albedo| {
            Floor::new(floor_light, Lamp::sun(look), albedo, &pass.contents.stage, (light, number))
        });
        let (size, width) = (self.size, self.size[0] as usize);
        self.frame.resize(width * size[1] as usize, [0.0; 4]);
        self.t_max.resize(width * size[1] as usize, FAR);
        let [behind, _] = &self.outline.sides;
        let rows = self.frame.par_chunks_mut(width).zip(self.t_max.par_chunks_mut(width));
        rows.enumerate().with_min_len(BAND).for_each(|(y, (pixels, t_max))| {
            match &floor {
                Some(floor) => floor.row(&pass.axes, size, y as u32, pixels, t_max),
                None => {
                    pixels.fill([0.0, 0.0, 0.0, 1.0]);
                    t_max.fill(FAR);
                }
            }
            if let Some(scenery) = &scenery {
                scenery.row_of_solids(&pass.axes, size, y as u32, pixels, t_max);
            }
            if let Integrator::Rows { surfaces: Some(trace), .. } = integrator {
                trace(&pass.axes, number, y, pixels);
            }
            behind.paint(y, pixels, t_max);
        });
    }

    /// Marches all rays through the volume, in rows of whole packets. Returns the part of the picture that
    /// the volume covers, as shares.
    fn march(
        &mut self,
        pass: &Pass,
        rays: [u32; 2],
        number: u32,
        integrator: Integrator,
    ) -> Option<[[f32; 2]; 2]> {
        let (contents, view) = (pass.contents, pass.view);
        let smoke = view.mode.shows_smoke();
        if !smoke && (view.mode.glowing().is_none() || contents.velocity.is_empty()) {
            return None;
        }
        let stride = (rays[0] as usize).next_multiple_of(PACKET);
        self.marched.resize(stride * rays[1] as usize, [0.0; 4]);
        self.marched_t_max.resize(stride * rays[1] as usize, FAR);
        let (t_max, size) = (&self.t_max, self.size);
        let solids = !contents.light.solids().is_empty();
        let rows = self.marched.par_chunks_mut(stride).zip(self.marched_t_max.par_chunks_mut(stride));
        if let (Integrator::Rows { march, .. }, true) = (integrator, smoke) {
            let width = size[0] as usize;
            rows.enumerate().for_each(|(y, (out, _))| {
                march(&pass.axes, number, y, &t_max[y * width..][..width], &mut out[..width]);
            });
            return Some([[0.0; 2], [1.0; 2]]);
        }
        let dt = contents.h / pass.quality.samples(view.look, contents.dims, contents.h);
        let (mut padding, one) = (<[Vec<_>; 3]>::default(), OccupiedBricks::one(contents));
        let volume = match view.mode.glowing() {
            Some(quantity) => {
                let texels = at_least_four(contents.dims, contents.velocity, &mut padding[0]);
                let [_, top] = contents.ranges.range(quantity);
                let longest = contents.extent().into_iter().fold(0.0, f32::max);
                let thickness = THICKNESS / longest;
                let medium = Medium::Flow { vorticity: quantity == Quantity::Vorticity, top, thickness };
                one.volume(contents, texels, medium, dt)
            }
            None => {
                self.smoke.shade(contents, view.look, pass.steady.eye.into(), pass.quality);
                let extinction = view.mode.smoke_share() * pass.medium.extinction;
                self.smoke.volume(contents, extinction, dt, &mut padding)
            }
        };
        if volume.bounds[0][0] > volume.bounds[1][0] {
            return None;
        }
        let window = pass.axes.window(volume.bounds[0], volume.bounds[1])?;
        let [lo, hi] = in_rays(window, rays);
        let (token, shift) = (self.token, noise::frame_shift(number));
        if let Integrator::Slabs(slab) = integrator {
            let free = |y: usize, free: &mut [f32]| match solids {
                true => copy_t_max(t_max, size, rays, y, free),
                false => free.fill(FAR),
            };
            let relay = Relay { slab, axes: &pass.axes, rays, window: [lo, hi], shift, token };
            self.marched.fill([0.0, 0.0, 0.0, 1.0]);
            let free_rows = self.marched_t_max.par_chunks_mut(stride).enumerate();
            free_rows.for_each(|(y, row)| free(y, row));
            relay.march(&volume, &self.marched_t_max, stride, &mut self.marched);
            return Some(window);
        }
        let stop = self.stop.as_deref();
        rows.enumerate().with_min_len(2).for_each(|(y, (out, free))| {
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return;
            }
            if solids {
                copy_t_max(t_max, size, rays, y, free);
            } else {
                // The floor is a side of the box: it ends no ray inside.
                free.fill(FAR);
            }
            out.fill([0.0, 0.0, 0.0, 1.0]);
            if !(lo[1]..hi[1]).contains(&y) {
                return;
            }
            let row = Row {
                axes: &pass.axes,
                size: rays,
                y: y as u32,
                x: lo[0] as u32..hi[0] as u32,
                noise: noise::row(y),
                shift,
                t_max: &free[lo[0]..],
            };
            march(token, &volume, &row, &mut out[lo[0]..]);
        });
        Some(window)
    }

    /// Composites the volume over the background, then a slice, then the lines in front of them.
    fn composite(&mut self, pass: &Pass, rays: [u32; 2], window: Option<[[f32; 2]; 2]>) {
        let size = self.size;
        let (width, solids) = (size[0] as usize, !pass.contents.light.solids().is_empty());
        let marched = Marched {
            size: rays.map(|n| n as usize),
            stride: (rays[0] as usize).next_multiple_of(PACKET),
            rays: &self.marched,
            t_max: solids.then_some(&*self.marched_t_max),
        };
        let places = [0, 1].map(|a| Places::new(size[a] as usize, rays[a] as usize));
        let [lo, hi] = window.map_or([[0; 2]; 2], |window| {
            // Interpolation reads beyond the window of the volume.
            let [lo, hi] = in_rays(window, size);
            let around = (size[0] / rays[0].max(1)) as usize + 1;
            [lo.map(|n| n.saturating_sub(around)), [0, 1].map(|a| (hi[a] + around).min(size[a] as usize))]
        });
        let slice = pass.slice();
        let lines = pass.lines(size);
        let [_, before] = &self.outline.sides;
        let rows = self.frame.par_chunks_mut(width).zip(self.t_max.par_chunks(width));
        rows.enumerate().with_min_len(BAND).for_each(|(y, (pixels, t_max))| {
            if (lo[1]..hi[1]).contains(&y) {
                marched.over(&places, [lo[0], y], &mut pixels[lo[0]..hi[0]], &t_max[lo[0]..hi[0]]);
            }
            if let Some(plane) = &slice {
                for (x, pixel) in pixels.iter_mut().enumerate() {
                    let ray = pass.axes.ray_through_pixel(size, [x as u32, y as u32]);
                    if let Some(tint) = plane.tint(&ray, t_max[x]) {
                        paint(pixel, tint);
                    }
                }
            }
            if let Some(lines) = &lines {
                lines.paint(y, pixels, t_max);
            }
            before.paint(y, pixels, t_max);
        });
    }

    fn accumulate(&mut self, weight: f32) {
        if let Some(squares) = &mut self.squares {
            squares.resize(self.frame.len(), 0.0);
            squares.iter_mut().zip(&self.frame).for_each(|(sum, pixel)| *sum += brightness(*pixel).powi(2));
        }
        if weight >= 1.0 || self.accumulated.len() != self.frame.len() {
            return std::mem::swap(&mut self.accumulated, &mut self.frame);
        }
        let rows = self.accumulated.par_chunks_mut(1 << 14).zip(self.frame.par_chunks(1 << 14));
        rows.for_each(|(mean, frame)| {
            for (mean, frame) in mean.as_flattened_mut().iter_mut().zip(frame.as_flattened()) {
                *mean += weight * (frame - *mean);
            }
        });
    }

    /// Converts the accumulation buffer with cursor and background to bytes.
    pub fn present(&mut self, contents: &Contents, view: &View, quality: Quality) {
        self.time("present", |picture| {
            let mut bytes = std::mem::take(&mut picture.bytes);
            bytes.resize(picture.accumulated.len(), [0; 4]);
            let background = Background::new(view, picture.size, quality.frames());
            picture.rows_with_cursor(contents, view, quality, &mut bytes, |y, pixels, bytes| {
                background.row(y, pixels, bytes);
            });
            picture.bytes = bytes;
        });
    }

    /// Returns the bytes of the last [`Picture::present`], rows from the bottom.
    pub fn bytes(&self) -> &[[u8; 4]] {
        &self.bytes
    }

    /// Returns radiance and alpha of each pixel with the cursor, and the length of its ray \[m\], rows from
    /// the top.
    pub fn linear(
        &mut self,
        contents: &Contents,
        view: &View,
        quality: Quality,
    ) -> (Vec<[f32; 4]>, Vec<f32>) {
        let width = self.size[0] as usize;
        let mut pixels = vec![[0.0; 4]; self.accumulated.len()];
        self.rows_with_cursor(contents, view, quality, &mut pixels, |_, pixels, out| {
            for (&[r, g, b, clear], out) in pixels.iter().zip(out) {
                *out = [r, g, b, 1.0 - clear];
            }
        });
        let from_top = pixels.chunks_exact(width).rev().flatten().copied();
        // Parallel rays start behind the camera.
        let back = Axes::of(view.camera, 1.0).back;
        let depth = |&t_max: &f32| if t_max < FAR { t_max - back } else { FAR };
        (from_top.collect(), self.t_max.chunks_exact(width).rev().flatten().map(depth).collect())
    }

    /// Calls `finish` with each row of the accumulation buffer, with the cursor over it, and its part of
    /// `out`.
    fn rows_with_cursor<T: Send>(
        &mut self,
        contents: &Contents,
        view: &View,
        quality: Quality,
        out: &mut [T],
        finish: impl Fn(usize, &[[f32; 4]], &mut [T]) + Sync,
    ) {
        let (width, size, mut padding) = (self.size[0] as usize, self.size, <[Vec<_>; 3]>::default());
        let axes = Axes::of(view.camera, width as f32 / size[1] as f32);
        if view.cursor.is_some() {
            self.smoke.shade(contents, view.look, axes.eye.into(), quality);
        }
        let (extinction, dt) = (
            view.look.extinction.max(0.0),
            contents.h / quality.samples(view.look, contents.dims, contents.h),
        );
        let cursor = view.cursor.map(|cursor| CursorRows {
            cursor,
            axes: &axes,
            size,
            smoke: self.smoke.volume(contents, extinction, dt, &mut padding),
            stage: &contents.stage,
            floor: view.look.floor.is_some(),
            token: self.token,
        });
        let rows = out.par_chunks_mut(width).zip(self.accumulated.par_chunks(width));
        rows.zip(self.t_max.par_chunks(width)).enumerate().with_min_len(BAND).for_each(
            |(y, ((out, pixels), t_max))| {
                let painted = cursor.as_ref().and_then(|cursor| cursor.over(y as u32, pixels, t_max));
                finish(y, painted.as_deref().unwrap_or(pixels), out);
            },
        );
    }
}

impl Pass<'_> {
    /// Returns the plane of a slice.
    fn slice(&self) -> Option<Plane<'_>> {
        let Mode::Slice(slice) = self.view.mode else { return None };
        let Contents { dims, h, smoke, velocity, .. } = *self.contents;
        let range = self.range(slice)?;
        Some(Plane { slice, range, dims, h, smoke, velocity })
    }

    /// Returns the ends of a slice's colour scale; `None` if the snapshot does not have the quantity.
    fn range(&self, slice: Slice) -> Option<[f32; 2]> {
        let is_available = !slice.quantity.needs_velocity() || !self.contents.velocity.is_empty();
        is_available.then(|| slice.range.unwrap_or_else(|| self.contents.ranges.range(slice.quantity)))
    }

    /// Traces legend, arrows and streamlines.
    fn lines(&self, size: [u32; 2]) -> Option<LinePixels> {
        let (mode, ranges) = (self.view.mode, &self.contents.ranges);
        let legend = match mode {
            Mode::Slice(slice) => self.range(slice).map(|range| (range, slice.quantity)),
            _ => mode
                .glowing()
                .filter(|_| !self.contents.velocity.is_empty())
                .map(|quantity| (ranges.range(quantity), quantity)),
        };
        let screen = legend.map(|(range, quantity)| {
            let [bar, marks] = slice::legend(range, quantity.unit(), size);
            [(bar, slice::BAR), (marks, lines::WIDTH)]
        });
        let flow = Flow::new(self.contents.dims, self.contents.h, self.contents.velocity, ranges);
        let world = flow::lines(&flow, mode, &self.steady, size);
        let any = screen.is_some() || !world.is_empty();
        any.then(|| LinePixels::trace(&world, screen.as_ref().map_or(&[], |s| s), &self.steady, size))
    }
}

impl Outline {
    /// Updates the edges for the camera.
    fn update(&mut self, axes: &Axes, shown: bool, extent: [f32; 3], size: [u32; 2]) {
        if !shown {
            return *self = Self::default();
        }
        let key = (*axes, extent, size);
        if self.of.as_ref() != Some(&key) {
            let edges = lines::box_edges(extent, axes.eye.into(), lines::OUTLINE);
            self.sides = edges.map(|lines| LinePixels::trace(&lines, &[], axes, size));
            self.of = Some(key);
        }
    }
}

/// Copies the ray lengths of row `y` of a march from the pixels it passes through, as in
/// `shaders/t_max.glsl`.
fn copy_t_max(t_max: &[f32], size: [u32; 2], rays: [u32; 2], y: usize, out: &mut [f32]) {
    let pixel = |n: usize, a: usize| {
        let at = (n as f32 + 0.5) * size[a] as f32 / rays[a] as f32;
        at.min(size[a] as f32 - 1.0) as usize
    };
    let row = &t_max[pixel(y, 1) * size[0] as usize..][..size[0] as usize];
    out.iter_mut().enumerate().for_each(|(x, out)| *out = row[pixel(x, 0)]);
}
