//! The renderer on the processor's threads, without OpenGL: the same model and the same steps as the shaders.
//!
//! Rays march in **packets**, one float of a vector for each ray: sixteen with AVX-512, eight with AVX2 and
//! on every other processor ([`march`], written once over the trait [`packets::Packets`]). They read the
//! smoke at its cells and the light volume towards the eye ([`crate::render::preshaded`],
//! [`crate::render::light`]). Two other integrators share the rest of a picture with them: a scalar march for
//! tests ([`CpuRenderer::set_reference`]), and a path tracer, the reference that the light volume
//! approximates ([`Scattering::Traced`]).
//!
//! All run on the rayon pool of the caller and give the same picture for any number of threads.
//!
//! [`Scattering::Traced`]: crate::look::Scattering::Traced

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod composite;
mod contents;
mod cursor_rows;
mod floor_rows;
mod line_pixels;
mod march;
mod packets;
mod paths;
mod picture;
mod portable;
mod reference;
mod shaded_smoke;
mod slab_relay;
#[cfg(test)]
mod slab_tests;
mod spline_taps;
#[cfg(test)]
mod tests;
mod texels;

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rayon::prelude::*;

use super::camera::Axes;
use super::lit_smoke::LitSmoke;
use super::medium::Medium;
use super::noise;
use super::sampled_volume::Volume;
use super::stage::Stage;
use super::{Image, LinearImage, Mode, Quality, Ranges, RenderError, View};
use crate::grid::Dims;
use crate::look::{Look, Scattering};
use crate::simd::{Token, token};
use crate::snapshot::{Part, Snapshot, SnapshotSlab};

#[cfg(feature = "viewer")]
pub(super) use composite::FEW_WEIGHTS;
pub(super) use contents::Contents;
#[cfg(feature = "viewer")]
pub(super) use march::LEAST;
use paths::TracedGlow;
#[cfg(feature = "viewer")]
pub(super) use picture::Frame;
pub(super) use picture::{Integrator, Picture};
use reference::Smoke;
#[cfg(feature = "viewer")]
pub(super) use reference::halves;

/// Greatest number of pixels along a side of a picture.
pub(super) const MOST_PIXELS: u32 = 16384;

/// Traced paths of a pixel through one point of a lens, and most points of it.
const PATHS_OF_A_POINT: u32 = 4;
const MOST_POINTS: u32 = 512;

/// Renders snapshots on the processor's threads.
pub struct CpuRenderer {
    lit: LitSmoke,
    ranges: Ranges,
    picture: Picture,
    quality: Quality,
    /// Whether single rays are marched, in scalar code.
    reference: bool,
    /// Number of scatterings after which a traced path ends.
    orders: u32,
    /// Flag that ends the tracing of a picture.
    cancel: Option<&'static AtomicBool>,
}

/// Fails if the snapshot or its view cannot be rendered.
fn check(snapshot: &Snapshot, view: &View, size: [u32; 2]) -> Result<(), RenderError> {
    view.check(size, MOST_PIXELS)?;
    snapshot.problem().map_or(Ok(()), |problem| Err(RenderError::from(problem)))?;
    // A slice without velocity is rendered empty.
    let is_slice = matches!(view.mode, Mode::Slice(_));
    let lacks = view.mode.needs_velocity() && !is_slice && snapshot.velocity.is_empty();
    if lacks { Err(RenderError::NoVelocity) } else { Ok(()) }
}

impl Default for CpuRenderer {
    fn default() -> Self {
        Self::with_token(token())
    }
}

impl CpuRenderer {
    /// Makes a renderer for pictures of full quality.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a renderer as [`CpuRenderer::new`] does, with the instructions of `token`.
    fn with_token(token: Token) -> Self {
        Self {
            lit: LitSmoke::default(),
            ranges: Ranges::default(),
            picture: Picture::new(token),
            quality: Quality::FINAL,
            reference: false,
            orders: u32::MAX,
            cancel: None,
        }
    }

    /// Limits the number of scatterings of traced paths. With 1 they are the reference of
    /// [`Scattering::Single`]. By default there is no limit.
    pub fn set_orders(&mut self, most: u32) {
        self.orders = most.max(1);
    }

    /// Ends a traced picture early when `cancel` is set. [`render`](Self::render) then returns the unfinished
    /// picture and no error, so check [`is_cancelled`](Self::is_cancelled) afterwards. Pictures without
    /// traced paths are finished. A flag that is made at run time can be leaked:
    /// `Box::leak(Box::new(AtomicBool::new(false)))`.
    pub fn set_cancel(&mut self, cancel: &'static AtomicBool) {
        self.cancel = Some(cancel);
    }

    /// Returns whether traced pictures end early now.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Sets the quality of the pictures. Traced paths begin at every pixel, whatever its divisor is.
    pub fn set_quality(&mut self, quality: Quality) {
        self.quality = quality;
    }

    /// Sets whether single rays are marched, in slow scalar code that tests compare packets and shaders with.
    #[doc(hidden)]
    pub fn set_reference(&mut self, reference: bool) {
        self.reference = reference;
    }

    /// Renders `snapshot`. With path tracing, `progress` gets the finished share.
    ///
    /// # Errors
    /// If the snapshot, its view or the size of the picture is invalid.
    pub fn render(
        &mut self,
        snapshot: &Snapshot,
        view: &View,
        size: [u32; 2],
        progress: &(impl Fn(f32) + Sync),
    ) -> Result<Image, RenderError> {
        check(snapshot, view, size)?;
        Ok(Stage::of(snapshot).localize(view, |view| {
            self.accumulate(snapshot, view, size, progress);
            self.present(&Part::of(snapshot), view, size)
        }))
    }

    /// Renders as [`CpuRenderer::render`] does, before background and tone map.
    ///
    /// # Errors
    /// If the snapshot, its view or the size of the picture is invalid.
    pub fn render_linear(
        &mut self,
        snapshot: &Snapshot,
        view: &View,
        size: [u32; 2],
        progress: &(impl Fn(f32) + Sync),
    ) -> Result<LinearImage, RenderError> {
        check(snapshot, view, size)?;
        Ok(Stage::of(snapshot).localize(view, |view| {
            self.accumulate(snapshot, view, size, progress);
            self.linear(&Part::of(snapshot), view, size)
        }))
    }

    /// Returns the numbers of planes below and above the slab of a rank that its part of a picture reads, for
    /// a box of `dims` cells of smoke.
    pub fn halo(&mut self, look: &Look, dims: Dims) -> [usize; 2] {
        // A pair of steps begins in the slab. A sample reads cells on either side of it, which are sharpened
        // by their neighbours.
        let near = if self.quality.splines { 3 } else { 2 };
        // Steps are the longest in thin smoke.
        let far = (1.0 / self.quality.samples(look, dims, 0.0)).ceil() as usize + near;
        self.lit.light.set_scale(look.light_scale);
        [far, far.max(self.lit.light.cells_above(dims))]
    }

    /// Renders the smoke of several ranks. Each calls this with its slab, captured with the planes of
    /// [`CpuRenderer::halo`]. The first rank gets the picture, with the bytes of one process.
    ///
    /// # Errors
    /// If the view or the size of the picture is invalid.
    ///
    /// # Panics
    /// If the look asks for path tracing.
    pub fn render_slabs(
        &mut self,
        slab: &SnapshotSlab,
        view: &View,
        size: [u32; 2],
    ) -> Result<Option<Image>, RenderError> {
        view.check(size, MOST_PIXELS)?;
        Ok(Stage::of(slab.whole()).localize(view, |view| {
            self.accumulate_slabs(slab, view, size);
            (slab.comm().rank() == 0).then(|| self.present(&slab.part(), view, size))
        }))
    }

    /// Renders as [`CpuRenderer::render_slabs`] does, before background and tone map.
    ///
    /// # Errors
    /// If the view or the size of the picture is invalid.
    pub fn render_slabs_linear(
        &mut self,
        slab: &SnapshotSlab,
        view: &View,
        size: [u32; 2],
    ) -> Result<Option<LinearImage>, RenderError> {
        view.check(size, MOST_PIXELS)?;
        Ok(Stage::of(slab.whole()).localize(view, |view| {
            self.accumulate_slabs(slab, view, size);
            (slab.comm().rank() == 0).then(|| self.linear(&slab.part(), view, size))
        }))
    }

    /// Converts the accumulation buffer to bytes.
    fn present(&mut self, part: &Part, view: &View, [width, height]: [u32; 2]) -> Image {
        let contents = Contents::of(part, &mut self.lit, self.quality, self.ranges);
        self.picture.present(&contents, view, self.quality);
        let rows = self.picture.bytes().chunks_exact(width as usize).rev();
        Image { width, height, rgba: rows.flatten().flatten().copied().collect() }
    }

    /// Returns the accumulation buffer.
    fn linear(&mut self, part: &Part, view: &View, [width, height]: [u32; 2]) -> LinearImage {
        let contents = Contents::of(part, &mut self.lit, self.quality, self.ranges);
        let (rgba, depth) = self.picture.linear(&contents, view, self.quality);
        LinearImage { width, height, rgba, depth }
    }

    /// Renders this rank's part of all frames of a picture. The first rank gets the whole picture.
    fn accumulate_slabs(&mut self, slab: &SnapshotSlab, view: &View, size: [u32; 2]) {
        let is_shown = view.mode == Mode::Smoke && view.cursor.is_none();
        assert!(is_shown && view.look.scattering != Scattering::Traced, "no picture of slabs");
        let part = slab.part();
        self.lit.light.set_scale(view.look.light_scale);
        self.lit.gather(&part, self.quality);
        // Surfaces end the rays of all ranks. Without solids only the first rank needs the floor.
        let floor = slab.comm().rank() == 0 || !self.lit.light.solids().is_empty();
        self.lit.illuminate_part(view.look, &part, floor);
        self.picture.invalidate();
        let contents = Contents::of(&part, &mut self.lit, self.quality, self.ranges);
        self.picture.render(&contents, view, self.quality, size, Integrator::Slabs(slab));
    }

    /// Renders all frames of a picture into its accumulation buffer.
    fn accumulate(
        &mut self,
        snapshot: &Snapshot,
        view: &View,
        size: [u32; 2],
        progress: &(impl Fn(f32) + Sync),
    ) {
        let part = Part::of(snapshot);
        self.lit.light.set_scale(view.look.light_scale);
        self.lit.gather(&part, self.quality);
        self.lit.illuminate(view.look);
        self.picture.invalidate();
        if view.mode != Mode::Smoke {
            self.ranges = Ranges::of(snapshot);
        }
        let contents = Contents::of(&part, &mut self.lit, self.quality, self.ranges);
        let traced = view.look.scattering == Scattering::Traced;
        if !view.mode.shows_smoke() || !traced && !self.reference {
            return self.picture.render(&contents, view, self.quality, size, Integrator::Packets);
        }
        let mut texels = Vec::new();
        let medium = Medium::of(view.look, snapshot.extent());
        let eye = Axes::of(view.camera, 1.0).eye.into();
        contents.light.towards(eye, &medium, self.quality.splines, &mut texels);
        let volume = Volume::of_light(contents.light, &texels);
        let smoke = Smoke::new(snapshot, contents.cells, &volume, view, &self.quality);
        let picture = &mut self.picture;
        if !traced {
            let rows = |axes: &Axes, frame: u32, y: usize, t_max: &[f32], out: &mut [[f32; 4]]| {
                for (x, out) in out.iter_mut().enumerate() {
                    let pixel = [x as u32, y as u32];
                    let offset = noise::offset(pixel[0], pixel[1], frame);
                    *out = smoke.march(&axes.ray_through_pixel(size, pixel), t_max[x], offset);
                }
            };
            let integrator = Integrator::Rows { march: &rows, surfaces: None, prepare: None };
            return picture.render(&contents, view, self.quality, size, integrator);
        }
        let denoise = view.look.denoise;
        // The denoiser estimates the noise from the differences of several frames.
        let fewest = if denoise { 4 } else { 1 };
        // Each frame has one point of the lens: without a noise goal there are as many as paths allow. The denoiser renders a guide for each.
        let is_open = view.camera.lens.aperture > 0.0 && self.quality.all == 0;
        let of_lens = if is_open && !denoise && view.look.noise == 0.0 {
            (view.look.paths / PATHS_OF_A_POINT).min(MOST_POINTS)
        } else {
            1
        };
        let passes = self.quality.passes.max(fewest).max(of_lens);
        let quality = Quality { passes, ..self.quality };
        // The mean of several frames has less noise than each frame.
        let noise = view.look.noise * (passes as f32).sqrt();
        let tracer = paths::Tracer::new(&smoke, contents.light.solids(), view.look, self.orders, noise);
        let tracer = tracer.with_cancel(self.cancel);
        let paths = view.look.paths.div_ceil(passes).max(1);
        let done = AtomicU32::new(0);
        // Glow of the current frame.
        let glow = RwLock::new(None::<TracedGlow>);
        let surfaces = |axes: &Axes, frame: u32, y: usize, pixels: &mut [[f32; 4]]| {
            let glow = glow.read().unwrap();
            let ray = |x: usize| axes.ray_through_pixel(size, [x as u32, y as u32]);
            let surface = |(x, pixel): (usize, &[f32; 4])| {
                let ray = (pixel[3] < 1.0).then(|| ray(x))?;
                Some((ray, tracer.first_surface(&ray)?))
            };
            let surfaces: Vec<_> = pixels.par_iter().enumerate().with_min_len(16).map(surface).collect();
            let path = |x: usize, n: u32| {
                let Some((ray, surface)) = &surfaces[x] else { return [0.0; 4] };
                let [r, g, b] = tracer.surface_path([x as u32, y as u32], (ray, *surface), glow.as_ref(), n);
                [r, g, b, 0.0]
            };
            let paths = paths * frame..paths * (frame + 1);
            let means = tracer.row_means(paths, pixels.len(), |x| surfaces[x].is_some(), path);
            for (pixel, mean) in pixels.iter_mut().zip(means).filter(|(pixel, _)| pixel[3] < 1.0) {
                let shown = 1.0 - pixel[3];
                (0..3).for_each(|c| pixel[c] = shown * mean[c]);
            }
        };
        let rows = |axes: &Axes, frame: u32, y: usize, t_max: &[f32], out: &mut [[f32; 4]]| {
            let glow = glow.read().unwrap();
            let path = |x: usize, n: u32| {
                let pixel = [x as u32, y as u32];
                let ray = axes.ray_through_pixel(size, pixel);
                tracer.smoke_path(pixel, &ray, t_max[x], glow.as_ref(), n)
            };
            let paths = paths * frame..paths * (frame + 1);
            out.copy_from_slice(&tracer.row_means(paths, out.len(), |_| true, path));
            if let Some(glow) = &*glow {
                for (out, light) in out.iter_mut().zip(&glow.splats[y * size[0] as usize..]) {
                    (0..3).for_each(|c| out[c] += light[c]);
                }
            }
            let rows = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(rows as f32 / (passes * size[1]) as f32);
        };
        // A box over the pixel weighs traced glow, so its axes need no shift.
        let prepare = |axes: &Axes, frame: u32| {
            *glow.write().unwrap() = tracer.trace_glow(axes, size, frame, paths);
        };
        let integrator =
            Integrator::Rows { march: &rows, surfaces: Some(&surfaces), prepare: Some(&prepare) };
        if denoise {
            return picture.render_denoised(&contents, view, quality, size, integrator);
        }
        picture.render(&contents, view, quality, size, integrator);
    }
}
