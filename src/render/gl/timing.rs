//! Timing of pictures.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use std::sync::Arc;

use super::picture_thread::Painter;
use super::{Offscreen, PictureRequest};
use crate::grid::Dims;
use crate::look::{Camera, Look};
use crate::render::{Mode, Quality, RenderError, View, procedural};

/// Times of one picture \[ms\], the least of several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// Cells along each axis of the snapshot's cube, a tenth of it smoke.
    pub cells: usize,
    /// Size of the picture \[px\].
    pub size: [u32; 2],
    /// Divisor of the size for the march.
    pub divide: u32,
    /// Time of the upload of textures and of the densities of the light volume.
    pub upload: f64,
    /// Time of the light volume under a new sun.
    pub light: f64,
    /// Time of all passes with an unchanged light volume.
    pub draw: f64,
    /// Time of each pass by the driver's timer, if it has one.
    pub passes: BTreeMap<&'static str, f64>,
    /// Total time of a new snapshot on the screen.
    pub all: f64,
}

/// The renderer of a window on this machine.
enum Timed {
    Driver(Box<Offscreen>),
    /// Threads, where the driver has no graphics processor.
    Threads(Box<Painter>),
}

impl Timed {
    fn upload(&mut self, request: &PictureRequest) -> Result<(), RenderError> {
        match self {
            Self::Threads(painter) => in_pool(|| painter.gather(request)),
            Self::Driver(gl) => {
                gl.set_quality(request.quality);
                gl.renderer().upload(&request.snapshot, request.mode)?;
                gl.finish();
            }
        }
        Ok(())
    }

    fn draw(&mut self, request: &PictureRequest) -> Result<(), RenderError> {
        match self {
            Self::Threads(painter) => in_pool(|| painter.render(request)),
            Self::Driver(gl) => {
                let PictureRequest { look, camera, cursor, mode, .. } = request;
                gl.draw(&View { look, camera, cursor: *cursor, mode: *mode })?;
                gl.finish();
            }
        }
        Ok(())
    }

    fn forget_passes(&mut self) {
        match self {
            Self::Threads(painter) => painter.forget_average(),
            Self::Driver(gl) => gl.renderer().forget_passes(),
        }
    }

    fn pass_times(&mut self) -> BTreeMap<&'static str, f64> {
        match self {
            Self::Threads(painter) => painter.picture.times().into_iter().collect(),
            Self::Driver(gl) => gl.renderer().pass_times(),
        }
    }
}

/// Times pictures of a procedural plume in a box of one metre, `repeats` of each kind, at full and at half size. Also returns the
/// name of the driver.
pub fn measure(
    cells: usize,
    size: [u32; 2],
    repeats: u32,
    (look, camera): (&Look, &Camera),
) -> Result<(String, Vec<Timing>), RenderError> {
    let dims = Dims { nx: cells, ny: cells, nz: cells };
    let mut snapshot = procedural::plume(dims, 1.0 / cells as f32, procedural::Tint::Sectors);
    snapshot.velocity.clear();
    let mut gl = Offscreen::new(size[0], size[1])?;
    let driver = gl.driver();
    gl.renderer().time_passes();
    let by_threads = gl.draws_on_processor();
    let mut timed = if by_threads { Timed::Threads(Box::default()) } else { Timed::Driver(Box::new(gl)) };
    let mut request = PictureRequest {
        camera: *camera,
        snapshot: Arc::new(snapshot),
        beside: false,
        look: look.clone(),
        cursor: None,
        mode: Mode::Smoke,
        quality: Quality::FINAL,
        size,
        refine: true,
        tag: [0; 3],
    };
    let mut rows = Vec::new();
    for quality in [Quality::FINAL, Quality::INTERACTIVE] {
        (request.quality, request.look) = (quality, look.clone());
        timed.upload(&request)?;
        timed.draw(&request)?;
        let upload = least(repeats, || timed.upload(&request))?;
        timed.pass_times();
        let mut passes = BTreeMap::new();
        let draw = least(repeats, || {
            timed.forget_passes();
            timed.draw(&request)?;
            for (name, took) in timed.pass_times() {
                let least = passes.entry(name).or_insert(took);
                *least = took.min(*least);
            }
            Ok(())
        })?;
        let lit = least(repeats, || {
            // A new sun each time, so that no result is reused.
            request.look.sun_direction[0] += 1e-4;
            timed.draw(&request)
        })?;

        let all = least(repeats, || {
            timed.upload(&request)?;
            timed.draw(&request)
        })?;

        rows.push(Timing {
            cells,
            size,
            divide: quality.divide,
            upload,
            light: (lit - draw).max(0.0),
            draw,
            passes,
            all,
        });
    }
    Ok((driver, rows))
}

/// Runs work on the threads of the global pool, as a window runs it on the threads of its pictures.
fn in_pool(work: impl FnOnce() + Send) {
    rayon::scope(|_| work());
}

/// Returns the least time of `repeats` runs \[ms\].
fn least(repeats: u32, mut run: impl FnMut() -> Result<(), RenderError>) -> Result<f64, RenderError> {
    let mut least = Duration::MAX;
    for _ in 0..repeats.max(1) {
        let start = Instant::now();
        run()?;
        least = least.min(start.elapsed());
    }
    Ok(least.as_secs_f64() * 1e3)
}
