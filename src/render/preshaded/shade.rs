//! Shading of a strip of cells, as loops that vectorise.

use crate::render::exp::exp;
use crate::render::medium::{MOST, Medium, OCTAVE_SCALES, OCTAVES, henyey_greenstein};
use crate::solver::simd::{dispatch, greatest, least};

/// Cells of a strip.
pub(super) const CHUNK: usize = 32;

/// One number for each cell of a strip.
pub(super) type Lane = [f32; CHUNK];

/// Adjacent cells along x.
pub(super) struct Strip {
    /// The three densities and the temperature excess.
    pub smoke: [Lane; 4],
    /// Optical depth to sun, sky and ground.
    pub depth: [Lane; 3],
    /// Share of the smoke that the sides leave.
    pub shown: Lane,
    /// Vector from the eye to the first cell \[m\].
    pub from_eye: [f32; 3],
    /// Edge of a cell \[m\].
    pub h: f32,
}

impl Default for Strip {
    fn default() -> Self {
        let zeros = [0.0; CHUNK];
        Self { smoke: [zeros; 4], depth: [zeros; 3], shown: zeros, from_eye: [1.0; 3], h: 1.0 }
    }
}

dispatch! {
    /// Computes ρ J and ρ of each cell.
    pub(super) fn shade(strip: &Strip, medium: &Medium, out: &mut [Lane; 4]) = shade_cells;
}

#[inline(always)]
fn shade_cells<const FMA: bool>(strip: &Strip, medium: &Medium, out: &mut [Lane; 4]) {
    let (smoke, density) = positive(strip);
    let phase = phases(strip, medium);
    let (mut third, mut enclosed) = ([[0.0; CHUNK]; 3], [0.0; CHUNK]);
    for n in 0..3 {
        for i in 0..CHUNK {
            third[n][i] = exp(-0.25 * strip.depth[n][i]);
        }
    }
    for i in 0..CHUNK {
        enclosed[i] = Medium::enclosed([third[0][i], third[1][i], third[2][i]]);
        out[3][i] = density[i] * strip.shown[i];
    }
    for c in 0..3 {
        for i in 0..CHUNK {
            let mixed: f32 = smoke[0][i] * medium.colors[0][c]
                + smoke[1][i] * medium.colors[1][c]
                + smoke[2][i] * medium.colors[2][c];
            let third = [third[0][i], third[1][i], third[2][i]];
            let phase = [phase[0][i], phase[1][i], phase[2][i]];
            let sent = medium.sent(c, mixed / greatest(density[i], 1e-8), third, enclosed[i], phase);
            out[c][i] = least(out[3][i] * sent, MOST);
        }
    }
    if medium.glow[0] > 0.0 {
        for c in 0..3 {
            for i in 0..CHUNK {
                let glow = medium.glowing_in(c, strip.smoke[3][i]);
                out[c][i] = least(out[c][i] + out[3][i] * glow, MOST);
            }
        }
    }
}

/// Densities clamped to 0 from below, and their sum.
#[inline(always)]
fn positive(strip: &Strip) -> ([Lane; 3], Lane) {
    let (mut smoke, mut density) = ([[0.0; CHUNK]; 3], [0.0; CHUNK]);
    for c in 0..3 {
        for i in 0..CHUNK {
            smoke[c][i] = greatest(strip.smoke[c][i], 0.0);
            density[i] += smoke[c][i];
        }
    }
    (smoke, density)
}

/// The phase function of each octave at each cell.
#[inline(always)]
fn phases(strip: &Strip, medium: &Medium) -> [Lane; OCTAVES] {
    let ([x, y, z], [sx, sy, sz]) = (strip.from_eye, medium.sun_direction);
    let (far, along) = (y * y + z * z + 1e-20, y * sy + z * sz);
    let mut cosine = [0.0; CHUNK];
    for i in 0..CHUNK {
        let x = x + i as f32 * strip.h;
        cosine[i] = (x * sx + along) / (x * x + far).sqrt();
    }
    let mut phase = [[0.0; CHUNK]; OCTAVES];
    for n in 0..OCTAVES {
        let [first, second] = [medium.lobes[0] * OCTAVE_SCALES[n], medium.lobes[1] * OCTAVE_SCALES[n]];
        for i in 0..CHUNK {
            phase[n][i] = henyey_greenstein(first, cosine[i]);
        }
        if medium.second_share > 0.0 {
            for i in 0..CHUNK {
                let other = henyey_greenstein(second, cosine[i]);
                phase[n][i] += (other - phase[n][i]) * medium.second_share;
            }
        }
    }
    phase
}
