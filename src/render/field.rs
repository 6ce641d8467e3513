//! The magnitude of a flow field as a glowing volume. `shaders/field.frag` is the same.

use half::f16;
use rayon::prelude::*;

use super::Mode;
use super::camera::Ray;
use super::colormap;
use super::march::{LEAST, Lattice, Marched};
use super::volume::Volume;
use crate::snapshot::Snapshot;

/// Extinction of the strongest flow times the longest side of the box.
pub(super) const THICKNESS: f32 = 24.0;

/// Largest speed \[m/s\] and vorticity \[1/s\] of a snapshot; zeros if it carries no velocity.
pub(super) fn tops(snapshot: &Snapshot) -> [f32; 2] {
    let top = |value: fn(&[f16; 4]) -> f32| {
        snapshot.velocity.par_iter().with_min_len(4096).map(value).reduce(|| 0.0, f32::max)
    };
    [top(|v| v[..3].iter().map(|x| x.to_f32().powi(2)).sum()).sqrt(), top(|v| v[3].to_f32())]
}

/// A field ready to be marched through.
pub(super) struct Field {
    velocity: Volume,
    vorticity: bool,
    top: f32,
    thickness: f32,
    extent: [f32; 3],
    dt: f32,
}

impl Field {
    /// The field that `mode` shows, if it shows one and the snapshot has it.
    pub fn of(snapshot: &Snapshot, mode: Mode, dt: f32) -> Option<Self> {
        if !matches!(mode, Mode::Speed | Mode::Vorticity) || snapshot.velocity.is_empty() {
            return None;
        }
        let vorticity = mode == Mode::Vorticity;
        let extent = snapshot.extent();
        Some(Self {
            velocity: Volume::at_centres(snapshot, &snapshot.velocity),
            vorticity,
            top: tops(snapshot)[usize::from(vorticity)].max(1e-6),
            thickness: THICKNESS / extent.into_iter().fold(0.0, f32::max),
            extent,
            dt,
        })
    }

    pub fn march(&self, ray: &Ray, reach: f32, offset: f32) -> Marched {
        let lattice = Lattice::new(ray, self.extent, reach, offset, self.dt);
        let mut out = Marched { radiance: [0.0; 3], through: 1.0 };
        let mut n = 0.0;
        while let Some([a, b]) = lattice.step(n) {
            if out.through <= LEAST {
                break;
            }
            let v = self.velocity.sample(ray.at(0.5 * (a + b)).coords.into());
            let speed = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
            let x = if self.vorticity { v[3] } else { speed } / self.top;
            let passes = (-self.thickness * x * x * (b - a)).exp();
            let color = colormap::linear(x);
            for c in 0..3 {
                out.radiance[c] += out.through * (1.0 - passes) * color[c];
            }
            out.through *= passes;
            n += 1.0;
        }
        out
    }
}
