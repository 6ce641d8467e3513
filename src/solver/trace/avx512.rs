//! The traces in AVX-512: sixteen cells at a time, with the bits of the plain code.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::arch::x86_64::*;

use super::Row;
use crate::solver::avx512::{Cells, apart, load_cells, locate, number, places, store_cells};
use crate::solver::sides::Reach;
use crate::solver::simd::LANES;

/// See [`super::trace_kernel`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
pub fn trace_row<const ORDER: usize>(row: Row, reach: &Reach, out: &mut [[f32; 4]]) {
    for (block, out) in out.chunks_mut(LANES).enumerate() {
        let from = block * LANES;
        let origin = [from as f32, row.jk[0], row.jk[1]];
        let mut whole = [[0.0; 4]; LANES];
        // SAFETY: the caller knows that the instructions are there.
        unsafe {
            let first = load_cells(&row.centers[row.at + from..][..LANES]);
            let cells = if reach.period == [0.0; 3] {
                displacements::<ORDER, false>(row, reach, origin, first)
            } else {
                displacements::<ORDER, true>(row, reach, origin, first)
            };
            match out.first_chunk_mut() {
                Some(out) => store_cells(out, cells),
                None => {
                    store_cells(&mut whole, cells);
                    out.copy_from_slice(&whole[..out.len()]);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn displacements<const ORDER: usize, const AROUND: bool>(
    Row { centers, steps, .. }: Row,
    reach: &Reach,
    origin: [f32; 3],
    first: Cells,
) -> Cells {
    let mut velocity = sample_back::<AROUND>(centers, reach, origin, first, 0.5 * steps);
    if ORDER == 3 {
        let third = sample_back::<AROUND>(centers, reach, origin, velocity, 0.75 * steps);
        for n in 0..4 {
            let (first, second) =
                (_mm512_mul_ps(number(2.0), first[n]), _mm512_mul_ps(number(3.0), velocity[n]));
            let sum = _mm512_add_ps(_mm512_add_ps(first, second), _mm512_mul_ps(number(4.0), third[n]));
            velocity[n] = _mm512_mul_ps(sum, number(1.0 / 9.0));
        }
    }
    for four in &mut velocity {
        *four = _mm512_mul_ps(number(steps), *four);
    }
    velocity
}

/// See [`super::sample_back`].
#[inline(always)]
unsafe fn sample_back<const AROUND: bool>(
    centers: &[[f32; 4]],
    reach: &Reach,
    origin: [f32; 3],
    velocity: Cells,
    steps: f32,
) -> Cells {
    let ([x, y, z], start) = (apart(velocity), places(origin));
    let steps = number(steps);
    let foot = [
        _mm512_sub_ps(start[0], _mm512_mul_ps(steps, x)),
        _mm512_sub_ps(start[1], _mm512_mul_ps(steps, y)),
        _mm512_sub_ps(start[2], _mm512_mul_ps(steps, z)),
    ];
    let (below, fraction) = locate::<AROUND>(reach, foot);
    let mut at = [0u32; LANES];
    _mm512_storeu_si512(at.as_mut_ptr().cast(), below);
    let mut out = velocity;
    for (n, (out, at)) in out.iter_mut().zip(at.as_chunks::<4>().0).enumerate() {
        *out = linear(centers, at, reach, fraction, 4 * n);
    }
    out
}

/// Trilinear samples at four feet, whose fractions lie in the lanes from `first` on.
#[inline(always)]
unsafe fn linear(
    field: &[[f32; 4]],
    at: &[u32; 4],
    reach: &Reach,
    [fx, fy, fz]: [__m512; 3],
    first: usize,
) -> __m512 {
    let lane = first as i32;
    let (a, b, c, d) = (lane, lane + 1, lane + 2, lane + 3);
    let front = _mm512_setr_epi32(a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b);
    let back = _mm512_setr_epi32(c, c, c, c, c, c, c, c, d, d, d, d, d, d, d, d);
    let [y0, y1] = [_mm512_permutexvar_ps(front, fy), _mm512_permutexvar_ps(back, fy)];
    let [z0, z1] = [_mm512_permutexvar_ps(front, fz), _mm512_permutexvar_ps(back, fz)];
    let ab = two_edges(field, [at[0], at[1]], reach, y0, z0);
    let cd = two_edges(field, [at[2], at[3]], reach, y1, z1);
    let low = _mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd);
    let high = _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd);
    let x = _mm512_permutexvar_ps(_mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d), fx);
    lerp(x, low, high)
}

/// The two ends of the edges along x on which two feet lie, interpolated along z and y.
#[inline(always)]
unsafe fn two_edges(field: &[[f32; 4]], at: [u32; 2], reach: &Reach, y: __m512, z: __m512) -> __m512 {
    let (row, plane) = (4 * reach.row, 4 * reach.plane);
    let [a, b] = [corner(field, at[0], reach), corner(field, at[1], reach)];
    let near = lerp(z, edges(a, b), edges(a.add(plane), b.add(plane)));
    let far = lerp(z, edges(a.add(row), b.add(row)), edges(a.add(row + plane), b.add(row + plane)));
    lerp(y, near, far)
}

/// The first of the eight values around a foot, all of which are in the field.
#[inline(always)]
unsafe fn corner(field: &[[f32; 4]], at: u32, reach: &Reach) -> *const f32 {
    let at = at as usize;
    assert!(at + 2 + reach.row + reach.plane <= field.len(), "a foot outside the field");
    field[at..].as_ptr().cast()
}

/// Two values at `a`, and two at `b`.
#[inline(always)]
unsafe fn edges(a: *const f32, b: *const f32) -> __m512 {
    _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm256_loadu_ps(a)), _mm256_loadu_ps(b))
}

#[inline(always)]
unsafe fn lerp(t: __m512, low: __m512, high: __m512) -> __m512 {
    _mm512_fmadd_ps(t, _mm512_sub_ps(high, low), low)
}
