//! Timing of pictures.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Offscreen;
use crate::grid::Dims;
use crate::look::{Camera, Look};
use crate::render::{Mode, Quality, RenderError, View, procedural};

/// Times of one picture \[ms\], the least of several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// Cells along each axis of the snapshot's cube, a tenth of it smoke.
    pub cells: usize,
    /// Size of the picture \[px\].
    pub size: [u32; 2],
    /// Divisor of the size for the march.
    pub divide: u32,
    /// Upload of textures, and densities of the light volume.
    pub upload: f64,
    /// The light volume under a new sun.
    pub light: f64,
    /// All passes with an unchanged light volume.
    pub draw: f64,
    /// Each pass by the driver's own timer, if it has one.
    pub passes: BTreeMap<&'static str, f64>,
    /// A new snapshot on the screen: everything.
    pub all: f64,
}

/// Times pictures of a procedural plume, `repeats` of each kind, at full and at half size. Also returns the
/// name of the driver.
pub fn measure(cells: usize, size: [u32; 2], repeats: u32) -> Result<(String, Vec<Timing>), RenderError> {
    let dims = Dims { nx: cells, ny: cells, nz: cells };
    let mut snapshot = procedural::plume(dims, 1.0 / cells as f32, procedural::Tint::Sectors);
    snapshot.velocity.clear();
    let mut gl = Offscreen::new(size[0], size[1])?;
    let camera = Camera::framing(snapshot.extent());
    let mut rows = Vec::new();
    for quality in [Quality::FINAL, Quality::INTERACTIVE] {
        gl.set_quality(quality);
        gl.renderer().time_passes();
        let mut look = Look::default();
        let picture = |gl: &mut Offscreen, look: &Look| {
            gl.draw(&View { look, camera: &camera, cursor: None, mode: Mode::Smoke })?;
            gl.finish();
            Ok(())
        };
        gl.renderer().upload(&snapshot, Mode::Smoke)?;
        picture(&mut gl, &look)?;
        let upload = least(repeats, || {
            gl.renderer().upload(&snapshot, Mode::Smoke)?;
            gl.finish();
            Ok(())
        })?;
        gl.renderer().pass_times();
        let mut passes = BTreeMap::new();
        let draw = least(repeats, || {
            gl.renderer().forget_passes();
            picture(&mut gl, &look)?;
            for (name, took) in gl.renderer().pass_times() {
                let least = passes.entry(name).or_insert(took);
                *least = took.min(*least);
            }
            Ok(())
        })?;
        let lit = least(repeats, || {
            // A new sun each time, so that no result is reused.
            look.sun_direction[0] += 1e-4;
            picture(&mut gl, &look)
        })?;
        let all = least(repeats, || {
            gl.renderer().upload(&snapshot, Mode::Smoke)?;
            picture(&mut gl, &look)
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
    Ok((gl.driver(), rows))
}

/// Least time of `repeats` runs \[ms\].
fn least(repeats: u32, mut run: impl FnMut() -> Result<(), RenderError>) -> Result<f64, RenderError> {
    let mut least = Duration::MAX;
    for _ in 0..repeats.max(1) {
        let start = Instant::now();
        run()?;
        least = least.min(start.elapsed());
    }
    Ok(least.as_secs_f64() * 1e3)
}
