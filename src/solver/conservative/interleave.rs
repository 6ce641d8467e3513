//! Cells of four scalars, eight lines of them side by side, taken apart into scalars and put together again.
#![allow(unsafe_code)]

use super::parabola::ACROSS;
use crate::solver::row_passes::Shared;
use crate::solver::simd::dispatch;

/// Where lines are: cell i of line l is at `at` + l `across` + i `along`.
#[derive(Clone, Copy)]
pub struct Place {
    pub at: usize,
    pub across: usize,
    pub along: usize,
    /// Lines that there are, up to [`ACROSS`]; what is read of others is 0.
    pub count: usize,
}

/// What [`load`] has found.
#[derive(Clone, Copy)]
pub struct Found {
    /// The cells outside which all is 0.
    pub range: [usize; 2],
    /// Whether any value of a scalar is not.
    pub holds: [bool; 4],
}

impl Place {
    /// Cell i of line l.
    ///
    /// # Safety
    /// As [`Shared::part`].
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn cell<'a>(&self, scalars: &'a Shared<'_, f32>, l: usize, i: usize) -> &'a mut [f32; 4] {
        // SAFETY: by the contract of this function.
        let cell = unsafe { scalars.part(4 * (self.at + l * self.across + i * self.along), 4) };
        cell.first_chunk_mut().expect("four values")
    }
}

dispatch! {
    /// Cells `range` of lines to `out`, which begins with the first of them.
    ///
    /// No other thread may have them.
    pub fn load(scalars: &Shared<'_, f32>, place: Place, range: [usize; 2], out: [&mut [f32]; 4], found: &mut Found)
        = load_kernel;
}

#[inline(always)]
fn load_kernel<const FMA: bool>(
    scalars: &Shared<'_, f32>,
    place: Place,
    range: [usize; 2],
    out: [&mut [f32]; 4],
    found: &mut Found,
) {
    let [a, b, c, d] = out.map(|out| out.as_chunks_mut::<ACROSS>().0);
    let (mut held, mut first, mut end) = ([0u32; 4], range[1], range[0]);
    let all = a.iter_mut().zip(b).zip(c).zip(d);
    for (i, (((a, b), c), d)) in (range[0]..range[1]).zip(all) {
        let mut cells = [[0.0; 4]; ACROSS];
        for (l, cell) in cells.iter_mut().enumerate().take(place.count) {
            // SAFETY: a line belongs to one task of a pass, which holds one cell of it at a time.
            *cell = unsafe { *place.cell(scalars, l, i) };
        }
        let lines = apart::<FMA>(&cells);
        [*a, *b, *c, *d] = lines;
        let mut bits = [0; 4];
        for cell in cells {
            for c in 0..4 {
                bits[c] |= cell[c].to_bits();
            }
        }
        for c in 0..4 {
            held[c] |= bits[c];
        }
        if bits != [0; 4] {
            first = first.min(i);
            end = i + 1;
        }
    }
    *found = Found { range: [first, end], holds: held.map(|bits| bits != 0) };
}

dispatch! {
    /// The inverse of [`load`].
    pub fn store(scalars: &Shared<'_, f32>, place: Place, range: [usize; 2], from: [&[f32]; 4]) = store_kernel;
}

#[inline(always)]
fn store_kernel<const FMA: bool>(
    scalars: &Shared<'_, f32>,
    place: Place,
    range: [usize; 2],
    from: [&[f32]; 4],
) {
    let [a, b, c, d] = from.map(|from| from.as_chunks::<ACROSS>().0);
    let all = a.iter().zip(b).zip(c).zip(d);
    for (i, (((a, b), c), d)) in (range[0]..range[1]).zip(all) {
        let cells = together::<FMA>([a, b, c, d]);
        for (l, cell) in cells.iter().enumerate().take(place.count) {
            // SAFETY: as above.
            unsafe { *place.cell(scalars, l, i) = *cell };
        }
    }
}

/// Cells to scalars.
#[inline(always)]
fn apart<const FMA: bool>(cells: &[[f32; 4]; ACROSS]) -> [[f32; ACROSS]; 4] {
    #[cfg(target_arch = "x86_64")]
    if FMA {
        use std::arch::x86_64::*;
        // SAFETY: kernels fuse on this architecture only where there is AVX2; eight values are read and written where they are.
        return unsafe {
            let pair = |l: usize| {
                _mm256_set_m128(_mm_loadu_ps(cells[l + 4].as_ptr()), _mm_loadu_ps(cells[l].as_ptr()))
            };
            let turned = fours([pair(0), pair(1), pair(2), pair(3)]);
            let mut out = [[0.0; ACROSS]; 4];
            for c in 0..4 {
                _mm256_storeu_ps(out[c].as_mut_ptr(), turned[c]);
            }
            out
        };
    }
    [0, 1, 2, 3].map(|c| cells.map(|cell| cell[c]))
}

/// Scalars to cells.
#[inline(always)]
fn together<const FMA: bool>(lines: [&[f32; ACROSS]; 4]) -> [[f32; 4]; ACROSS] {
    let mut cells = [[0.0; 4]; ACROSS];
    #[cfg(target_arch = "x86_64")]
    if FMA {
        use std::arch::x86_64::*;
        // SAFETY: as above.
        unsafe {
            let turned = fours(lines.map(|line| _mm256_loadu_ps(line.as_ptr())));
            for l in 0..4 {
                _mm_storeu_ps(cells[l].as_mut_ptr(), _mm256_castps256_ps128(turned[l]));
                _mm_storeu_ps(cells[l + 4].as_mut_ptr(), _mm256_extractf128_ps::<1>(turned[l]));
            }
        }
        return cells;
    }
    for (l, cell) in cells.iter_mut().enumerate() {
        *cell = lines.map(|line| line[l]);
    }
    cells
}

/// Transposes both squares of four by four values.
///
/// # Safety
/// The machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn fours([a, b, c, d]: [std::arch::x86_64::__m256; 4]) -> [std::arch::x86_64::__m256; 4] {
    use std::arch::x86_64::*;
    // SAFETY: by the contract of this function.
    unsafe {
        let (p, q) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (r, s) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let [p, q, r, s] = [p, q, r, s].map(|x| _mm256_castps_pd(x));
        [
            _mm256_unpacklo_pd(p, r),
            _mm256_unpackhi_pd(p, r),
            _mm256_unpacklo_pd(q, s),
            _mm256_unpackhi_pd(q, s),
        ]
        .map(|x| _mm256_castpd_ps(x))
    }
}

dispatch! {
    /// Rows `pitch` apart side by side, as many as [`ACROSS`].
    pub fn turn(rows: &[f32], pitch: usize, out: &mut [f32]) = turn_kernel;
}

#[inline(always)]
fn turn_kernel<const FMA: bool>(rows: &[f32], pitch: usize, out: &mut [f32]) {
    let rows: [&[f32]; ACROSS] = std::array::from_fn(|l| &rows[l * pitch..][..pitch]);
    for (i, out) in out.as_chunks_mut::<ACROSS>().0.iter_mut().enumerate() {
        for l in 0..ACROSS {
            out[l] = rows[l][i];
        }
    }
}
