//! Kernels over a strip of cells, as loops that the compiler vectorises.

use crate::render::medium::{MOST, Medium};
use crate::simd::{Simd, each_level, greatest, least};

/// Cells of a strip.
pub(super) const CHUNK: usize = 32;

/// One number for each cell of a strip.
pub(super) type Lane = [f32; CHUNK];

/// Adjacent cells along x.
pub(super) struct Strip {
    /// The three densities and the temperature excess.
    pub smoke: [Lane; 4],
    /// Visible share of the smoke near the sides.
    pub shown: Lane,
}

impl Default for Strip {
    fn default() -> Self {
        Self { smoke: [[0.0; CHUNK]; 4], shown: [0.0; CHUNK] }
    }
}

each_level! {
    /// Computes ρ ω and ρ of each cell.
    pub(super) fn scattering(strip: &Strip, medium: &Medium, out: &mut [Lane; 4]) = scattering_kernel;
}

#[inline(always)]
fn scattering_kernel<S: Simd>(_: S, strip: &Strip, medium: &Medium, out: &mut [Lane; 4]) {
    let (smoke, density) = positive(strip);
    out[3] = density;
    for c in 0..3 {
        for i in 0..CHUNK {
            let mixed = smoke[0][i] * medium.colors[0][c]
                + smoke[1][i] * medium.colors[1][c]
                + smoke[2][i] * medium.colors[2][c];
            out[c][i] = least(mixed, MOST);
        }
    }
}

each_level! {
    /// Computes ρ times the radiance of opaque smoke for each cell, and 0 in the last component.
    pub(super) fn glow(strip: &Strip, medium: &Medium, out: &mut [Lane; 4]) = glow_kernel;
}

#[inline(always)]
fn glow_kernel<S: Simd>(_: S, strip: &Strip, medium: &Medium, out: &mut [Lane; 4]) {
    let (_, density) = positive(strip);
    for c in 0..3 {
        for i in 0..CHUNK {
            out[c][i] = least(density[i] * medium.glowing_in(c, strip.smoke[3][i]), MOST);
        }
    }
    out[3] = [0.0; CHUNK];
}

/// Returns the densities, clamped to 0 from below and times the visible share, and their sum.
#[inline(always)]
fn positive(strip: &Strip) -> ([Lane; 3], Lane) {
    let (mut smoke, mut density) = ([[0.0; CHUNK]; 3], [0.0; CHUNK]);
    for c in 0..3 {
        for i in 0..CHUNK {
            smoke[c][i] = greatest(strip.smoke[c][i], 0.0) * strip.shown[i];
            density[i] += smoke[c][i];
        }
    }
    (smoke, density)
}
