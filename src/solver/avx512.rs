//! What the kernels for AVX-512 share: sixteen cells or places at a time, one in each lane.
//!
//! All is inlined into functions that enable the instructions, since a call would pass its registers through memory; and unsafe
//! to call where they are not enabled. No closures, which may not be inlined.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::arch::x86_64::*;

use super::sides::Reach;
use super::simd::LANES;
use crate::grid::GHOST;

/// Sixteen cells of four values, four cells in a register.
pub type Cells = [__m512; 4];

/// In all lanes.
#[inline(always)]
pub unsafe fn number(x: f32) -> __m512 {
    _mm512_set1_ps(x)
}

/// Four times four values in a row.
#[inline(always)]
pub unsafe fn load_four(cells: &[[f32; 4]], from: usize) -> __m512 {
    let cells: &[[f32; 4]; 4] = cells[from..].first_chunk().expect("four cells");
    _mm512_loadu_ps(cells.as_ptr().cast())
}

/// Sixteen cells in a row.
#[inline(always)]
pub unsafe fn load_cells(cells: &[[f32; 4]]) -> Cells {
    [load_four(cells, 0), load_four(cells, 4), load_four(cells, 8), load_four(cells, 12)]
}

/// Puts sixteen cells in a row.
#[inline(always)]
pub unsafe fn store_cells(out: &mut [[f32; 4]; LANES], cells: Cells) {
    for (out, four) in out.as_chunks_mut::<4>().0.iter_mut().zip(cells) {
        _mm512_storeu_ps(out.as_mut_ptr().cast(), four);
    }
}

/// The first three of the four values of sixteen cells, each in a register of its own.
#[inline(always)]
pub unsafe fn apart(cells: Cells) -> [__m512; 3] {
    let xy = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    let zz = _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 2, 6, 10, 14, 18, 22, 26, 30);
    let [a, b, c, d] = cells;
    let (low, high) = (_mm512_permutex2var_ps(a, xy, b), _mm512_permutex2var_ps(c, xy, d));
    let (low_z, high_z) = (_mm512_permutex2var_ps(a, zz, b), _mm512_permutex2var_ps(c, zz, d));
    [
        _mm512_shuffle_f32x4::<0b01_00_01_00>(low, high),
        _mm512_shuffle_f32x4::<0b11_10_11_10>(low, high),
        _mm512_shuffle_f32x4::<0b01_00_01_00>(low_z, high_z),
    ]
}

/// Coordinates of sixteen places along x, the first at `origin`.
#[inline(always)]
pub unsafe fn places([x, y, z]: [f32; 3]) -> [__m512; 3] {
    let along =
        _mm512_setr_ps(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0);
    [_mm512_add_ps(number(x), along), number(y), number(z)]
}

/// Positions below the feet at coordinates `x`, and the fractions above, as `trace::locate` finds them. Not `AROUND`: no axis
/// is periodic.
#[inline(always)]
pub unsafe fn locate<const AROUND: bool>(reach: &Reach, x: [__m512; 3]) -> (__m512i, [__m512; 3]) {
    let strides = [1, reach.row as i32, reach.plane as i32];
    let mut at = _mm512_set1_epi32(GHOST as i32 * strides.iter().sum::<i32>());
    let mut fraction = x;
    for axis in 0..3 {
        let (low, mut x) = (number(reach.low[axis]), x[axis]);
        if AROUND {
            let turns = _mm512_mul_ps(_mm512_sub_ps(x, low), number(reach.per_period[axis]));
            let turns = _mm512_roundscale_ps::<0x09>(turns);
            x = _mm512_sub_ps(x, _mm512_mul_ps(number(reach.period[axis]), turns));
        }
        let x = _mm512_min_ps(_mm512_max_ps(x, low), number(reach.high[axis]));
        let below = _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x);
        let below = _mm512_min_epi32(below, _mm512_set1_epi32(reach.last[axis] as i32));
        fraction[axis] = _mm512_sub_ps(x, _mm512_cvtepi32_ps(below));
        at = _mm512_add_epi32(at, _mm512_mullo_epi32(below, _mm512_set1_epi32(strides[axis])));
    }
    (at, fraction)
}
