//! The windows of [`super::together`] in AVX-512: 4 cells × 4 values of a line in one register.
//!
//! Lane 4x + c of a line is component c of its value x. Coordinates, fractions and weights of the three feet lie in one
//! register too, lane 4c + axis.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::Row;
use super::together::Staggered;
use crate::grid::GHOST;
use crate::solver::sides::Reach;
use crate::solver::trace::RUN;

/// The reach of four feet, lane 4 · foot + axis.
struct Lanes {
    low: __m512,
    high: __m512,
    last: __m512,
    period: __m512,
    per_period: __m512,
    strides: __m512i,
}

/// Where the windows of a run of places begin, and the fractions of a cell above.
struct Windows {
    at: [[u32; 16]; RUN],
    fraction: [__m512; RUN],
}

#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
fn load(values: &[f32; 16]) -> __m512 {
    // SAFETY: sixteen values are there.
    unsafe { _mm512_loadu_ps(values.as_ptr()) }
}

#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
fn lanes(feet: [&Reach; 4]) -> Lanes {
    let spread = |of: &dyn Fn(&Reach) -> [f32; 3]| {
        let mut lanes = [0.0; 16];
        for (foot, reach) in feet.iter().enumerate() {
            lanes[4 * foot..][..3].copy_from_slice(&of(reach));
        }
        lanes
    };
    let [row, plane] = [feet[0].row as i32, feet[0].plane as i32];
    Lanes {
        low: load(&spread(&|r| r.low)),
        high: load(&spread(&|r| r.high)),
        last: load(&spread(&|r| r.last)),
        period: load(&spread(&|r| r.period)),
        per_period: load(&spread(&|r| r.per_period)),
        strides: _mm512_setr_epi32(1, row, plane, 0, 1, row, plane, 0, 1, row, plane, 0, 1, row, plane, 0),
    }
}

impl Lanes {
    /// Positions below four feet at coordinates `x`, each in the first lane of its four, and the fractions above.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
    fn locate(&self, x: __m512) -> (__m512i, __m512) {
        let turns = _mm512_roundscale_ps::<0x09>(_mm512_mul_ps(_mm512_sub_ps(x, self.low), self.per_period));
        let x = _mm512_sub_ps(x, _mm512_mul_ps(self.period, turns));
        let x = _mm512_min_ps(_mm512_max_ps(x, self.low), self.high);
        let base = _mm512_min_ps(_mm512_roundscale_ps::<0x09>(x), self.last);
        let index = _mm512_add_epi32(_mm512_cvtps_epi32(base), _mm512_set1_epi32(GHOST as i32));
        let offsets = _mm512_mullo_epi32(index, self.strides);
        let pairs = _mm512_add_epi32(offsets, _mm512_shuffle_epi32::<0b10_11_00_01>(offsets));
        (_mm512_add_epi32(pairs, _mm512_shuffle_epi32::<0b01_00_11_10>(pairs)), _mm512_sub_ps(x, base))
    }
}

/// Catmull–Rom weights, as in [`super::cubic::catmull_rom`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
fn catmull_rom(t: __m512) -> [__m512; 4] {
    let number = |x: f32| _mm512_set1_ps(x);
    let half = _mm512_mul_ps(number(0.5), t);
    let square = _mm512_mul_ps(half, t);
    [
        _mm512_mul_ps(half, _mm512_fmadd_ps(_mm512_sub_ps(number(2.0), t), t, number(-1.0))),
        _mm512_fmadd_ps(square, _mm512_fmadd_ps(number(3.0), t, number(-5.0)), number(1.0)),
        _mm512_mul_ps(half, _mm512_fmadd_ps(_mm512_fmadd_ps(number(-3.0), t, number(4.0)), t, number(1.0))),
        _mm512_mul_ps(square, _mm512_sub_ps(t, number(1.0))),
    ]
}

/// Weights of a window: along x by lane of a line, along y and z by line.
struct Weights {
    x: __m512,
    y: [__m512; 4],
    z: [__m512; 4],
}

/// The limited values in the window whose second value is at `at`.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
fn window(field: &[[f32; 4]], at: usize, row: usize, plane: usize, weights: &Weights) -> __m128 {
    let before = 1 + row + plane;
    assert!(at >= before && at + 2 * before < field.len(), "a window outside the field");
    let mut next = field[at - before..].as_ptr().cast::<f32>();
    let mut sum = _mm512_setzero_ps();
    let (mut low, mut high) = (_mm512_set1_ps(f32::INFINITY), _mm512_set1_ps(f32::NEG_INFINITY));
    for z in 0..4 {
        let mut slice = _mm512_setzero_ps();
        for y in 0..4 {
            // SAFETY: by the check above, all sixteen lines of four times four values lie in the field.
            let line = unsafe { _mm512_loadu_ps(next) };
            next = next.wrapping_add(4 * row);
            slice = _mm512_fmadd_ps(weights.y[y], line, slice);
            if (1..3).contains(&z) && (1..3).contains(&y) {
                low = _mm512_min_ps(line, low);
                high = _mm512_max_ps(line, high);
            }
        }
        next = next.wrapping_add(4 * (plane - 4 * row));
        sum = _mm512_fmadd_ps(weights.z[z], slice, sum);
    }
    let products = _mm512_mul_ps(weights.x, sum);
    let halves = _mm256_add_ps(_mm512_castps512_ps256(products), _mm512_extractf32x8_ps::<1>(products));
    let value = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
    let low = _mm_min_ps(_mm512_extractf32x4_ps::<2>(low), _mm512_extractf32x4_ps::<1>(low));
    let high = _mm_max_ps(_mm512_extractf32x4_ps::<2>(high), _mm512_extractf32x4_ps::<1>(high));
    _mm_min_ps(_mm_max_ps(value, low), high)
}

/// See [`super::together::velocity`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn velocity_row(
    field: &Staggered,
    at: usize,
    jk: [isize; 2],
    reaches: &[Reach; 3],
    [u, v, w]: [&mut [f32]; 3],
) {
    let [a, b, c] = reaches;
    let lanes = lanes([a, b, c, c]);
    let (row, plane) = (a.row, a.plane);
    let mut windows = Windows { at: [[0; 16]; RUN], fraction: [_mm512_setzero_ps(); RUN] };
    for from in (0..u.len()).step_by(RUN) {
        let n = RUN.min(u.len() - from);
        find_feet(
            field.back,
            at + from,
            [from as f32, jk[0] as f32, jk[1] as f32],
            &lanes,
            [row, plane],
            &mut windows,
            n,
        );
        let [u, v, w] = [&mut u[from..][..n], &mut v[from..][..n], &mut w[from..][..n]];
        for t in 0..n {
            let weights = staggered_weights(windows.fraction[t]);
            let feet = &windows.at[t];
            let [foot_u, foot_v, foot_w] = [feet[0], feet[4], feet[8]];
            let value = |foot: u32| window(field.woven, foot as usize, row, plane, &weights);
            let of_u = value(foot_u);
            let of_v = if foot_v == foot_u { of_u } else { value(foot_v) };
            let of_w = if foot_w == foot_u {
                of_u
            } else if foot_w == foot_v {
                of_v
            } else {
                value(foot_w)
            };
            u[t] = _mm_cvtss_f32(of_u);
            v[t] = _mm_cvtss_f32(_mm_movehdup_ps(of_v));
            w[t] = _mm_cvtss_f32(_mm_movehl_ps(of_w, of_w));
        }
    }
}

/// The feet of the three faces of each of `n` cells from position `at` on; `origin` are the coordinates of the first.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
fn find_feet(
    back: &[[f32; 4]],
    at: usize,
    origin: [f32; 3],
    lanes: &Lanes,
    [row, plane]: [usize; 2],
    windows: &mut Windows,
    n: usize,
) {
    let here = &back[at..][..n];
    let behind = [&back[at - 1..][..n], &back[at - row..][..n], &back[at - plane..][..n]];
    let one = |cell: &[f32; 4]| {
        // SAFETY: four values are there.
        unsafe { _mm_loadu_ps(cell.as_ptr()) }
    };
    let half = _mm512_set1_ps(0.5);
    for t in 0..n {
        let low = _mm512_castps128_ps512(one(&behind[0][t]));
        let low = _mm512_insertf32x4::<1>(low, one(&behind[1][t]));
        let low = _mm512_insertf32x4::<2>(low, one(&behind[2][t]));
        let low = _mm512_insertf32x4::<3>(low, one(&behind[2][t]));
        let mean = _mm512_mul_ps(half, _mm512_add_ps(low, _mm512_broadcast_f32x4(one(&here[t]))));
        let start = _mm512_broadcast_f32x4(_mm_setr_ps(origin[0] + t as f32, origin[1], origin[2], 0.0));
        let (at, fraction) = lanes.locate(_mm512_sub_ps(start, mean));
        // SAFETY: sixteen values are there.
        unsafe { _mm512_storeu_si512(windows.at[t].as_mut_ptr().cast(), at) };
        windows.fraction[t] = fraction;
    }
}

/// Weights of three feet, lane 4c + axis of `fraction`, for lanes 4x + c of a line.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
fn staggered_weights(fraction: __m512) -> Weights {
    let w = catmull_rom(fraction);
    let pick = |axis: i32| {
        let [a, b, c, d] = [axis, 4 + axis, 8 + axis, 12 + axis];
        _mm512_setr_epi32(a, b, c, d, a, b, c, d, a, b, c, d, a, b, c, d)
    };
    let (px, py, pz) = (pick(0), pick(1), pick(2));
    let x = [0, 1, 2, 3].map(|n| _mm512_permutexvar_ps(px, w[n]));
    Weights {
        x: by_line(x),
        y: [0, 1, 2, 3].map(|n| _mm512_permutexvar_ps(py, w[n])),
        z: [0, 1, 2, 3].map(|n| _mm512_permutexvar_ps(pz, w[n])),
    }
}

/// The first four lanes of the first register, the next of the second, and so on.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
fn by_line([a, b, c, d]: [__m512; 4]) -> __m512 {
    let low = _mm512_mask_blend_ps(0x00f0, a, b);
    let high = _mm512_mask_blend_ps(0xf000, c, d);
    _mm512_mask_blend_ps(0xff00, low, high)
}

/// See [`super::together::cubic_row`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn scalar_row(row: Row, reach: &Reach, field: &[[f32; 4]], out: &mut [[f32; 4]]) {
    let lanes = lanes([reach; 4]);
    let back = &row.back[..out.len()];
    for (group, (out, back)) in out.chunks_mut(4).zip(back.chunks(4)).enumerate() {
        let (at, fraction) = lanes.locate(places(&row, group * 4, back));
        let (mut feet, mut of_node) = ([0u32; 16], [[0.0f32; 16]; 4]);
        // SAFETY: sixteen values are there, and again for each node.
        unsafe {
            _mm512_storeu_si512(feet.as_mut_ptr().cast(), at);
            for (stored, weights) in of_node.iter_mut().zip(catmull_rom(fraction)) {
                _mm512_storeu_ps(stored.as_mut_ptr(), weights);
            }
        }
        for (t, out) in out.iter_mut().enumerate() {
            let weights = even_weights(&of_node, 4 * t);
            let value = window(field, feet[4 * t] as usize, reach.row, reach.plane, &weights);
            // SAFETY: four values are there.
            unsafe { _mm_storeu_ps(out.as_mut_ptr(), value) };
        }
    }
}

/// Coordinates of the feet of up to four cells, the first at place `from` of the row.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
fn places(row: &Row, from: usize, back: &[[f32; 4]]) -> __m512 {
    // One load: a copy in parts could not be forwarded to it, and the processor would wait.
    let way = match back.first_chunk::<4>() {
        Some(four) => load(bytemuck::cast_ref(four)),
        None => back.iter().rev().fold(_mm512_setzero_ps(), |way, cell| {
            // SAFETY: four values are there.
            let cell = unsafe { _mm_loadu_ps(cell.as_ptr()) };
            let moved = _mm512_shuffle_f32x4::<0b10_01_00_00>(way, way);
            _mm512_insertf32x4::<0>(moved, cell)
        }),
    };
    let [x, y, z] = row.origin;
    let first = _mm512_broadcast_f32x4(_mm_setr_ps(x + from as f32, y, z, 0.0));
    let number =
        _mm512_setr_ps(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0);
    _mm512_sub_ps(_mm512_add_ps(first, number), way)
}

/// Weights of the foot whose weights for each node begin at lane `first`, for all four values.
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
fn even_weights(of_node: &[[f32; 16]; 4], first: usize) -> Weights {
    let along = |axis: usize| [0, 1, 2, 3].map(|n| _mm512_set1_ps(of_node[n][first + axis]));
    Weights { x: by_line(along(0)), y: along(1), z: along(2) }
}
