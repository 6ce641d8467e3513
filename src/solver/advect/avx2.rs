//! The stencils of four scalars in AVX2: half a line, 2 cells × 4 values, in one register.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{Curve, Row};
use crate::solver::advect::trace::{Departures, RUN, locate};
use crate::solver::sides::SampleBounds;

/// [`Curve::weights`] of each lane.
#[target_feature(enable = "avx2,fma")]
fn weights(curve: Curve, t: __m256) -> [__m256; 4] {
    let s = _mm256_sub_ps(_mm256_set1_ps(1.0), t);
    let product = _mm256_mul_ps(t, s);
    let (level, slope) = (_mm256_set1_ps(curve.level), _mm256_set1_ps(curve.slope));
    let first = _mm256_mul_ps(product, _mm256_fmadd_ps(slope, s, level));
    let last = _mm256_mul_ps(product, _mm256_fmadd_ps(slope, t, level));
    let twice = _mm256_set1_ps(-2.0);
    [
        first,
        _mm256_add_ps(_mm256_fmadd_ps(twice, first, s), last),
        _mm256_add_ps(_mm256_fmadd_ps(twice, last, t), first),
        last,
    ]
}

/// Weights of the nodes of a stencil along x, y and z, for each of the four values.
struct Weights {
    x: [__m128; 4],
    y: [__m128; 4],
    z: [__m128; 4],
}

/// Returns the limited values of the stencil whose second value is at `at`.
#[target_feature(enable = "avx2,fma")]
fn stencil(field: &[[f32; 4]], at: usize, row: usize, plane: usize, weights: &Weights) -> __m128 {
    let before = 1 + row + plane;
    assert!(at >= before && at + 2 * before < field.len(), "a stencil outside the field");
    let mut next = field[at - before..].as_ptr().cast::<f32>();
    let both = |four: __m128| _mm256_broadcast_ps(&four);
    let (mut sum, mut low, mut high) = (
        [_mm256_setzero_ps(); 2],
        [_mm256_set1_ps(f32::INFINITY); 2],
        [_mm256_set1_ps(f32::NEG_INFINITY); 2],
    );
    for z in 0..4 {
        let mut slice = [_mm256_setzero_ps(); 2];
        for y in 0..4 {
            // SAFETY: by the check above, all sixteen lines of four times four values lie in the field.
            let line = unsafe { [_mm256_loadu_ps(next), _mm256_loadu_ps(next.wrapping_add(8))] };
            next = next.wrapping_add(4 * row);
            let weight = both(weights.y[y]);
            for half in 0..2 {
                slice[half] = _mm256_fmadd_ps(weight, line[half], slice[half]);
                if (1..3).contains(&z) && (1..3).contains(&y) {
                    low[half] = _mm256_min_ps(line[half], low[half]);
                    high[half] = _mm256_max_ps(line[half], high[half]);
                }
            }
        }
        next = next.wrapping_add(4 * (plane - 4 * row));
        let weight = both(weights.z[z]);
        for half in 0..2 {
            sum[half] = _mm256_fmadd_ps(weight, slice[half], sum[half]);
        }
    }
    let pair = |a: __m128, b: __m128| _mm256_set_m128(b, a);
    let first = _mm256_mul_ps(pair(weights.x[0], weights.x[1]), sum[0]);
    let second = _mm256_mul_ps(pair(weights.x[2], weights.x[3]), sum[1]);
    let halves = _mm256_add_ps(first, second);
    let value = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
    // The inner two of the four along x.
    let low = _mm_min_ps(_mm256_castps256_ps128(low[1]), _mm256_extractf128_ps::<1>(low[0]));
    let high = _mm_max_ps(_mm256_castps256_ps128(high[1]), _mm256_extractf128_ps::<1>(high[0]));
    _mm_min_ps(_mm_max_ps(value, low), high)
}

/// See [`super::interleaved_cubic::cubic_row`].
#[target_feature(enable = "avx2,fma")]
pub fn scalar_row(curve: Curve, row: Row, bounds: &SampleBounds, field: &[[f32; 4]], out: &mut [[f32; 4]]) {
    let mut departures = Departures::default();
    for (run, out) in out.chunks_mut(RUN).enumerate() {
        let from = run * RUN;
        let origin = [row.origin[0] + from as f32, row.origin[1], row.origin[2]];
        locate(bounds, origin, &row.back[from..][..out.len()], &mut departures);
        for (t, out) in out.iter_mut().enumerate() {
            let weights = even_weights(curve, [0, 1, 2].map(|axis| departures.fraction[axis][t]));
            let value = stencil(field, departures.at[t] as usize, bounds.row, bounds.plane, &weights);
            // SAFETY: `out` holds four values.
            unsafe { _mm_storeu_ps(out.as_mut_ptr(), value) };
        }
    }
}

/// Weights of one departure point, the same for all four values.
#[target_feature(enable = "avx2,fma")]
fn even_weights(curve: Curve, [x, y, z]: [f32; 3]) -> Weights {
    let w = weights(curve, _mm256_setr_ps(x, y, z, z, x, y, z, z));
    Weights {
        x: w.map(|w| _mm_permute_ps::<0b00_00_00_00>(_mm256_castps256_ps128(w))),
        y: w.map(|w| _mm_permute_ps::<0b01_01_01_01>(_mm256_castps256_ps128(w))),
        z: w.map(|w| _mm_permute_ps::<0b10_10_10_10>(_mm256_castps256_ps128(w))),
    }
}
