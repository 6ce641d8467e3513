//! Helpers shared by the AVX-512 kernels: sixteen cells or sample points at a time, one in each lane.
//!
//! All are inlined into functions that enable the instructions, because a call would pass its registers
//! through memory. They are unsafe to call where the instructions are not enabled. There are no closures:
//! they may not be inlined.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::arch::x86_64::*;

use super::LANES;

/// Sixteen cells of four values, four cells in a register.
pub type Cells = [__m512; 4];

/// Returns `x` in all lanes.
#[inline(always)]
pub unsafe fn number(x: f32) -> __m512 {
    _mm512_set1_ps(x)
}

/// Loads four consecutive cells of four values.
#[inline(always)]
pub unsafe fn load_four(cells: &[[f32; 4]], from: usize) -> __m512 {
    let cells: &[[f32; 4]; 4] = cells[from..].first_chunk().expect("four cells");
    _mm512_loadu_ps(cells.as_ptr().cast())
}

/// Loads sixteen consecutive cells.
#[inline(always)]
pub unsafe fn load_cells(cells: &[[f32; 4]]) -> Cells {
    [load_four(cells, 0), load_four(cells, 4), load_four(cells, 8), load_four(cells, 12)]
}

/// Stores sixteen consecutive cells.
#[inline(always)]
pub unsafe fn store_cells(out: &mut [[f32; 4]; LANES], cells: Cells) {
    for (out, four) in out.as_chunks_mut::<4>().0.iter_mut().zip(cells) {
        _mm512_storeu_ps(out.as_mut_ptr().cast(), four);
    }
}

/// Interleaves registers: the low and the high halves of each four lanes of `a` and `b`.
#[inline(always)]
unsafe fn pairs(a: __m512, b: __m512) -> [__m512; 2] {
    let (a, b) = (_mm512_castps_pd(a), _mm512_castps_pd(b));
    [_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b))]
}

/// Transposes each 4 × 4 square of a, b, c and d: register n of the result holds lane 4i + n of each at 4i.
///
/// Of sixteen cells these are the values one by one, in [the order of fours](sample_points).
#[inline(always)]
pub unsafe fn squares([a, b, c, d]: Cells) -> Cells {
    let [ac, bd] = [_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)];
    let [ec, fd] = [_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d)];
    let ([zero, one], [two, three]) = (pairs(ac, ec), pairs(bd, fd));
    [zero, one, two, three]
}

/// As [`squares`] for three registers; the last lane of each four repeats the one before it.
#[inline(always)]
pub unsafe fn squares_of_three([a, b, c]: [__m512; 3]) -> Cells {
    let [low, high] = [_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)];
    [
        _mm512_shuffle_ps::<0b00_00_01_00>(low, c),
        _mm512_shuffle_ps::<0b01_01_11_10>(low, c),
        _mm512_shuffle_ps::<0b10_10_01_00>(high, c),
        _mm512_shuffle_ps::<0b11_11_11_10>(high, c),
    ]
}

/// Transposes the quarters of four registers: register i holds quarter i of each.
#[inline(always)]
pub unsafe fn quarters([a, b, c, d]: Cells) -> Cells {
    let ab = [_mm512_shuffle_f32x4::<0b10_00_10_00>(a, b), _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b)];
    let cd = [_mm512_shuffle_f32x4::<0b10_00_10_00>(c, d), _mm512_shuffle_f32x4::<0b11_01_11_01>(c, d)];
    [
        _mm512_shuffle_f32x4::<0b10_00_10_00>(ab[0], cd[0]),
        _mm512_shuffle_f32x4::<0b10_00_10_00>(ab[1], cd[1]),
        _mm512_shuffle_f32x4::<0b11_01_11_01>(ab[0], cd[0]),
        _mm512_shuffle_f32x4::<0b11_01_11_01>(ab[1], cd[1]),
    ]
}

/// Interleaves sixteen values of each of three fields, and 0.
#[inline(always)]
pub unsafe fn interleave_three([x, y, z]: [__m512; 3]) -> Cells {
    quarters(squares([x, y, z, _mm512_setzero_ps()]))
}

/// Coordinates of sixteen sample points along x, the first at `origin`, in the order of fours: lane 4i + n is
/// point 4n + i. So the values of the n-th run of four points lie in lanes n of all quarters.
#[inline(always)]
pub unsafe fn sample_points([x, y, z]: [f32; 3]) -> [__m512; 3] {
    let along =
        _mm512_setr_ps(0.0, 4.0, 8.0, 12.0, 1.0, 5.0, 9.0, 13.0, 2.0, 6.0, 10.0, 14.0, 3.0, 7.0, 11.0, 15.0);
    [_mm512_add_ps(number(x), along), number(y), number(z)]
}

/// Lanes whose position continues that of the first lane of their run, in the order of fours.
#[inline(always)]
pub unsafe fn adjacent_lanes(at: __m512i) -> __mmask16 {
    let first = _mm512_shuffle_i32x4::<0>(at, at);
    let along = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    _mm512_cmpeq_epi32_mask(at, _mm512_add_epi32(first, along))
}

/// One bit for each run whose four lanes are all set.
#[inline(always)]
pub unsafe fn whole_runs(lanes: __mmask16) -> u32 {
    let lanes = u32::from(lanes);
    lanes & lanes >> 4 & lanes >> 8 & lanes >> 12
}

/// Spreads the value of each point of run `n` over the four lanes of the point.
#[inline(always)]
pub unsafe fn over_run(values: __m512, n: usize) -> __m512 {
    match n {
        0 => _mm512_permute_ps::<0b00_00_00_00>(values),
        1 => _mm512_permute_ps::<0b01_01_01_01>(values),
        2 => _mm512_permute_ps::<0b10_10_10_10>(values),
        _ => _mm512_permute_ps::<0b11_11_11_11>(values),
    }
}

/// Loads sixteen consecutive values.
#[inline(always)]
pub unsafe fn load_values(values: &[f32], from: usize) -> __m512 {
    let values: &[f32; LANES] = values[from..].first_chunk().expect("sixteen values");
    _mm512_loadu_ps(values.as_ptr())
}

/// The range of cells that can be written sixteen at a time from the beginning of a cache line on. Empty
/// where no cell begins a cache line.
pub fn whole_lines(cells: &[[f32; 4]]) -> (usize, usize) {
    let (bytes, cell) = (cells.as_ptr().cast::<u8>().align_offset(64), size_of::<[f32; 4]>());
    let first = if bytes.is_multiple_of(cell) { (bytes / cell).min(cells.len()) } else { cells.len() };
    (first, cells.len() - (cells.len() - first) % LANES)
}

/// Stores sixteen cells with streaming stores if they begin at a cache line: the line is not read before it
/// is overwritten. For cells that are next read after the whole pass and after [`fence`](super::fence).
#[inline(always)]
pub unsafe fn stream_cells(out: &mut [[f32; 4]; LANES], cells: Cells) {
    if !out.as_ptr().addr().is_multiple_of(64) {
        return store_cells(out, cells);
    }
    for (out, four) in out.as_chunks_mut::<4>().0.iter_mut().zip(cells) {
        _mm512_stream_ps(out.as_mut_ptr().cast(), four);
    }
}
