//! Intensities in the 26 directions to the neighbours of a cell.
//!
//! Blocks of smoke have an intensity in each direction. Between the directions, those to the corner, the edge and the face of a cube next to
//! a direction are interpolated. So a flat face has the intensity of a Lambertian surface.

use crate::render::exp::exp;
use crate::simd::{Simd, each_level};

/// Directions to the neighbours of a cell, one of them to the cell itself, and the room for them in whole vectors.
pub(super) const DIRECTIONS: usize = 27;
pub(super) const SLOTS: usize = 32;
/// Number of the direction to the cell itself.
pub(super) const ITSELF: usize = DIRECTIONS / 2;
/// Shares of the length of a step to a face, an edge and a corner along each axis.
pub(super) const UNITS: [f32; 3] = [1.0, std::f32::consts::FRAC_1_SQRT_2, 0.577_350_26];

/// A value for each direction.
pub(super) type Slots = [f32; SLOTS];

/// Share of the light of even smoke that leaves it along a way of an optical depth.
pub(super) fn leaving(depth: f32) -> f32 {
    if depth < 1e-3 { 1.0 } else { (1.0 - exp(-depth)) / depth }
}

each_level! {
    /// Takes from each direction what smoke of an optical depth hides, whose extinction has a tint.
    pub(super) fn fade(towards: &mut [Slots; 3], depth: &Slots, tint: &[f32; 3]) = fade_kernel;
}

#[inline(always)]
fn fade_kernel<S: Simd>(_: S, towards: &mut [Slots; 3], depth: &Slots, tint: &[f32; 3]) {
    for (towards, tint) in towards.iter_mut().zip(tint) {
        for n in 0..SLOTS {
            towards[n] *= exp(-depth[n] * tint);
        }
    }
}

/// Intensities of three colours in a direction.
pub(super) fn in_direction(towards: &[Slots; 3], unit: [f32; 3]) -> [f32; 3] {
    let mut axes = [0, 1, 2];
    axes.sort_by(|&a, &b| unit[b].abs().total_cmp(&unit[a].abs()));
    let [most, middle, least] = axes.map(|a| unit[a].abs());
    // The direction as a sum of a face's, an edge's and a corner's, each of length 1.
    let weights = [most - middle, (middle - least) * std::f32::consts::SQRT_2, least * 3.0_f32.sqrt()];
    let sum: f32 = weights.iter().sum();
    let (mut direction, mut sent) = (ITSELF, [0.0; 3]);
    for (a, weight) in axes.into_iter().zip(weights) {
        let stride = [1, 3, 9][a];
        direction = if unit[a] < 0.0 { direction - stride } else { direction + stride };
        (0..3).for_each(|c| sent[c] += weight / sum * towards[c][direction]);
    }
    sent
}

/// Number of axes along which a direction leads.
pub(super) const fn axes_of(direction: usize) -> usize {
    (direction % 3 != 1) as usize + (direction / 3 % 3 != 1) as usize + (direction / 9 != 1) as usize
}

/// The step of a direction along each axis: −1, 0 or 1.
pub(super) fn step_of(direction: usize) -> [isize; 3] {
    [direction % 3, direction / 3 % 3, direction / 9].map(|n| n as isize - 1)
}

/// Unit vector of a direction other than that to the cell itself.
pub(super) fn unit_of(direction: usize) -> [f32; 3] {
    let unit = UNITS[axes_of(direction) - 1];
    step_of(direction).map(|step| step as f32 * unit)
}
