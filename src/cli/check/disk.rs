//! Estimates of the space of a run on the disk, and of the memory of its parts.

use crate::cli::frames::Frames;
use crate::field::Field;
use crate::grid::Layout;
use crate::scene::{Scene, memory};
use crate::solver::{Integrator, Projection, Solver};

// Measured at frame 24 of plume, colors, fog, text and sphere, with pictures of 640x480; rounded up.

/// Bytes per pixel of a PNG (0.31 to 0.63).
const PNG: f64 = 0.7;

/// Bytes per pixel of an EXR: four half floats and depth, compressed (2.9 to 3.6).
const EXR: f64 = 4.0;

/// Bytes per pixel and frame of an MP4 (0.0036 and 0.0047: plume and colors, 48 frames).
const MP4: f64 = 0.006;

/// Share of the values' size that remains in an npz: of the velocity, and of smoke and heat (0.07 to 0.3).
const NPZ: [f64; 2] = [1.05, 0.3];

/// Share of the box that smoke fills, for the lower estimate of a VDB file: 1.4 bytes a cell (0.6 to 1.6; fog, which is
/// full, has 11).
const FILLED: f64 = 0.1;

/// Share of the half floats' size that remains in a VDB file (0.76 in fog, 0.9 in text).
const VDB: f64 = 0.9;

/// Estimated bytes of a file of each kind, for one frame.
pub struct Disk {
    /// Name of the format, as in `--format` or as an extension, and its bytes.
    pub per_frame: [(&'static str, u64); 6],
    /// Bytes of OpenVDB if smoke fills the whole box; `per_frame` assumes a tenth of it.
    pub vdb_full: u64,
    /// Bytes of the checkpoint, of which there is one.
    pub checkpoint: u64,
}

impl Disk {
    /// Estimates the files of `scene`, with the fields that a run writes by default.
    pub fn of(scene: &Scene) -> Self {
        let (dims, smoke) = (scene.config.dims, scene.config.smoke_dims());
        let cells = smoke.cells() as f64;
        let pixels = scene.size.map(f64::from).iter().product::<f64>();
        let values =
            |field: &Field| field.shape(field.grid(&scene.config).0).iter().product::<usize>() as f64;
        let kept = |field: &Field| {
            let [air, smoke] = NPZ;
            values(field) * 4.0 * if matches!(field, Field::U | Field::V | Field::W) { air } else { smoke }
        };
        // Density, three colours, temperature, and three components of the velocity.
        let channels = 8.0;
        let vdb_full = cells * channels * 2.0 * VDB;
        let per_frame = [
            ("png", pixels * PNG),
            ("exr", pixels * EXR),
            ("mp4", pixels * MP4),
            ("npz", Field::STORED.iter().map(kept).sum()),
            ("vti", cells * channels * 4.0),
            ("vdb", vdb_full * FILLED),
        ];
        // The velocity, the fields of the integrator, the pressure that a solve starts from, and the swirls.
        let fields = 3
            + if scene.config.integrator == Integrator::Trapezoid { 4 } else { 0 }
            + pressure(scene)
            + swirls(scene);
        Self {
            per_frame: per_frame.map(|(name, bytes)| (name, bytes as u64)),
            vdb_full: vdb_full as u64,
            checkpoint: ((Layout::new(dims).size() * fields + Layout::new(smoke).size() * 4)
                * size_of::<f32>()) as u64,
        }
    }

    /// Estimates the files of all `frames`.
    pub fn of_frames(&self, frames: Frames) -> [(&'static str, u64); 6] {
        self.per_frame.map(|(name, bytes)| (name, bytes * u64::from(frames.count())))
    }
}

/// Returns the number of pressure fields that the projection of `scene` keeps from one step to the next.
fn pressure(scene: &Scene) -> usize {
    match scene.config.projection {
        Projection::Auto if scene.solids.is_empty() => 0,
        Projection::Direct => 0,
        _ => 1,
    }
}

/// Returns the floats per cell that turbulence keeps from one step to the next, where it acts.
fn swirls(scene: &Scene) -> usize {
    if Solver::turbulence_memory(&scene.config, &scene.params.turbulence) > 0 { 8 } else { 0 }
}

/// Estimated memory \[bytes\].
pub struct Memory {
    /// The solver and the snapshots.
    pub simulation: u64,
    /// A picture being rendered.
    pub picture: u64,
    /// A volume being encoded for a VDB file, if smoke fills the whole box.
    pub volume: u64,
    /// Memory that this process may use, if the system tells.
    pub available: Option<u64>,
}

impl Memory {
    /// Estimates the memory of `scene`.
    pub fn of(scene: &Scene) -> Self {
        let picture = memory::picture(scene.size);
        Self {
            simulation: scene.memory() - picture,
            picture,
            volume: Disk::of(scene).vdb_full,
            available: memory::machine(),
        }
    }
}
