//! Regions filled at one instant, for example at the start of a scene.

use super::cover::{Cover, Grid};
use super::region::Region;
use super::source_noise::{Noise, Pattern};
use super::{drive, for_cells};
use crate::grid::Faces;
use crate::solver::invalid_value::InvalidValue;

/// A region to be filled with smoke, heat and motion. Its old contents are replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// Region to fill.
    pub region: Region,
    /// Red, green, blue \[-\] and temperature excess \[K\]; `None` keeps the old value.
    pub scalars: [Option<f32>; 4],
    /// Velocity \[m/s\]; `None` keeps the old one.
    pub velocity: Option<[f32; 3]>,
    /// Noise on smoke and heat; even if absent.
    pub noise: Option<Noise>,
}

impl Fill {
    /// The first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidValue> {
        let finite = |what, values: &[f32]| InvalidValue::unless_finite("fill", what, values);
        self.region
            .problem()
            .or_else(|| self.noise.and_then(|noise| noise.problem()))
            .or_else(|| finite("contents", &self.scalars.map(Option::unwrap_or_default)))
            .or_else(|| finite("velocity", &self.velocity.unwrap_or_default()))
    }
}

/// Fills the region of `fill` on the grids of smoke and of air; cells at its surface get their share. No value exceeds `limit`.
pub fn fill(
    [smoke, air]: &[Grid; 2],
    fill: &Fill,
    limit: f32,
    scalars: &mut [[f32; 4]],
    velocity: &mut Faces,
) {
    let pattern = fill.noise.map(|noise| Pattern::new(noise, smoke));
    let noise = pattern.as_ref().map(|pattern| (pattern, 0.0));
    for_cells(smoke, &Cover::cells(smoke, &fill.region), noise, scalars, |cell, shares, factor| {
        for c in 0..4 {
            if let Some(value) = fill.scalars[c] {
                let kept = (1.0 - shares[3]) * cell[c];
                cell[c] = (kept + factor * shares[c] * value).clamp(-limit, limit);
            }
        }
    });
    if let Some(target) = fill.velocity {
        drive(air, &Cover::faces(air, &fill.region), (target, 1.0), velocity);
    }
}
