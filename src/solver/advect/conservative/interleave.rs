//! Interleaving: eight lines of cells of four scalars, as one array for each scalar and back; the same for velocities and volumes.
#![allow(unsafe_code)]

use super::parabola::ACROSS;
use fearless_simd::prelude::*;

use crate::simd::vectors::{Eight, any, deinterleave, either, f32x8, transposed};
use crate::simd::{Simd, each_level, fetch_ahead};
use crate::solver::storage::row_passes::Shared;

/// Location of the lines: cell i of line l is at `at` + l `across` + i `along`.
#[derive(Clone, Copy)]
pub struct LineLayout {
    pub at: usize,
    pub across: usize,
    pub along: usize,
    /// Number of lines, up to [`ACROSS`]; missing lines read as 0.
    pub count: usize,
}

/// Occupancy found by [`load`].
#[derive(Clone, Copy)]
pub struct Found {
    /// Range of cells outside which all scalars are 0.
    pub range: [usize; 2],
    /// True for each scalar with a value other than 0.
    pub holds: [bool; 4],
}

impl LineLayout {
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

    /// Whether the lines are as many as fit, and neighbours in memory.
    #[inline(always)]
    fn is_row(&self) -> bool {
        self.across == 1 && self.count == ACROSS
    }

    /// Cell i of lines that [are neighbours](Self::is_row).
    ///
    /// # Safety
    /// As [`Shared::part`].
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn row<'a>(&self, scalars: &'a Shared<'_, f32>, i: usize) -> &'a mut [[f32; 4]; ACROSS] {
        // SAFETY: by the contract of this function.
        let part = unsafe { scalars.part(4 * (self.at + i * self.along), 4 * ACROSS) };
        part.as_chunks_mut().0.first_chunk_mut().expect("eight cells")
    }

    /// Cells of the lines from `first` on, `n` of each, if cells of a line are neighbours and no line is missing.
    ///
    /// # Safety
    /// As [`Shared::part`].
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn rows<'a>(
        &self,
        scalars: &'a Shared<'_, f32>,
        [first, n]: [usize; 2],
    ) -> Option<[&'a mut [[f32; 4]]; ACROSS]> {
        if self.along != 1 || self.count != ACROSS {
            return None;
        }
        let mut rows: [&mut [[f32; 4]]; ACROSS] = Default::default();
        for (l, row) in rows.iter_mut().enumerate() {
            // SAFETY: by the contract of this function.
            let part = unsafe { scalars.part(4 * (self.at + l * self.across + first), 4 * n) };
            *row = part.as_chunks_mut().0;
        }
        Some(rows)
    }

    /// Cell i of each line. Lines beyond `count` use the cells of `padding`.
    ///
    /// # Safety
    /// As [`Shared::part`].
    #[inline(always)]
    unsafe fn cells<'a>(
        &self,
        scalars: &'a Shared<'_, f32>,
        i: usize,
        padding: &'a mut [[f32; 4]; ACROSS],
    ) -> [&'a mut [f32; 4]; ACROSS] {
        let mut cells = padding.each_mut();
        for (l, cell) in cells.iter_mut().enumerate().take(self.count) {
            // SAFETY: by the contract of this function.
            *cell = unsafe { self.cell(scalars, l, i) };
        }
        cells
    }
}

each_level! {
    /// Loads cells `range` of the lines into `out`, from its first element on. With `prefetches` the next lines are prefetched.
    ///
    /// # Safety
    /// No part of `scalars` that overlaps these cells may be alive, on this thread or another.
    pub unsafe fn load(
        scalars: &Shared<'_, f32>,
        place: LineLayout,
        range: [usize; 2],
        prefetches: bool,
        out: [&mut [Eight]; 4],
        found: &mut Found,
    ) = load_kernel;
}

/// # Safety
/// As [`load`].
#[inline(always)]
unsafe fn load_kernel<S: Simd>(
    s: S,
    scalars: &Shared<'_, f32>,
    place: LineLayout,
    range: [usize; 2],
    prefetches: bool,
    [a, b, c, d]: [&mut [Eight]; 4],
    found: &mut Found,
) {
    let n = range[1] - range[0];
    let (a, b, c, d) = (&mut a[..n], &mut b[..n], &mut c[..n], &mut d[..n]);
    let zero = s.splat_f32x8(0.0);
    let mut nonzero = [zero; 4];
    let mut padding = [[0.0; 4]; ACROSS];
    // SAFETY: by the contract of this function.
    let rows = unsafe { place.rows(scalars, [range[0], n]) };
    if place.is_row() {
        for i in 0..n {
            // SAFETY: by the contract of this function; the cells of the previous iteration are no longer
            // borrowed.
            let cells = unsafe { place.row(scalars, range[0] + i) };
            if prefetches {
                fetch_ahead(&cells[0], 4 * ACROSS);
                fetch_ahead(&cells[0], 6 * ACROSS);
            }
            let values = deinterleave(s, cells.each_ref());
            keep(values, [&mut a[i], &mut b[i], &mut c[i], &mut d[i]], &mut nonzero);
        }
    } else if let Some(rows) = rows {
        let [p, q, r, t, u, v, w, x] = &rows;
        for i in 0..n {
            if prefetches {
                // Two of the next eight lines with each cell: four cells fill a cache line, so each cache line is
                // prefetched once.
                let (next, l) = (4 * ACROSS * place.across, i % 4 * 2);
                fetch_ahead(&rows[l][i], next);
                fetch_ahead(&rows[l + 1][i], next);
            }
            let values = deinterleave(s, [&p[i], &q[i], &r[i], &t[i], &u[i], &v[i], &w[i], &x[i]]);
            keep(values, [&mut a[i], &mut b[i], &mut c[i], &mut d[i]], &mut nonzero);
        }
    } else {
        for i in 0..n {
            // SAFETY: as above.
            let cells = unsafe { place.cells(scalars, range[0] + i, &mut padding) };
            let values = deinterleave(s, cells.each_ref().map(|cell| &**cell));
            keep(values, [&mut a[i], &mut b[i], &mut c[i], &mut d[i]], &mut nonzero);
        }
    }
    let (a, b, c, d) = (&*a, &*b, &*c, &*d);
    let holds = [any(nonzero[0]), any(nonzero[1]), any(nonzero[2]), any(nonzero[3])];
    let (mut first, mut end) = (n, 0);
    if holds != [false; 4] {
        // Both searches end at once if the first and the last cell are occupied.
        (first, end) = (0, n);
        while !holds_any(s, [&a[first], &b[first], &c[first], &d[first]]) {
            first += 1;
        }
        while !holds_any(s, [&a[end - 1], &b[end - 1], &c[end - 1], &d[end - 1]]) {
            end -= 1;
        }
    }
    *found = Found { range: [range[0] + first, range[0] + end], holds };
}

/// Stores a cell of each line, and collects the bits of all cells.
#[inline(always)]
fn keep<S: Simd>(values: [f32x8<S>; 4], out: [&mut Eight; 4], nonzero: &mut [f32x8<S>; 4]) {
    for c in 0..4 {
        out[c].store(values[c]);
        nonzero[c] = either(nonzero[c], values[c]);
    }
}

#[inline(always)]
fn holds_any<S: Simd>(s: S, [a, b, c, d]: [&Eight; 4]) -> bool {
    any(either(either(a.load(s), b.load(s)), either(c.load(s), d.load(s))))
}

each_level! {
    /// The inverse of [`load`].
    ///
    /// # Safety
    /// As [`load`].
    pub unsafe fn store(scalars: &Shared<'_, f32>, place: LineLayout, range: [usize; 2], from: [&[Eight]; 4]) = store_kernel;
}

/// # Safety
/// As [`load`].
#[inline(always)]
unsafe fn store_kernel<S: Simd>(
    s: S,
    scalars: &Shared<'_, f32>,
    place: LineLayout,
    range: [usize; 2],
    [a, b, c, d]: [&[Eight]; 4],
) {
    let n = range[1] - range[0];
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    let mut padding = [[0.0; 4]; ACROSS];
    // SAFETY: by the contract of `load`.
    let rows = unsafe { place.rows(scalars, [range[0], n]) };
    if place.is_row() {
        for i in 0..n {
            let values = [a[i].load(s), b[i].load(s), c[i].load(s), d[i].load(s)];
            // SAFETY: as for `load`.
            let cells = unsafe { place.row(scalars, range[0] + i) };
            s.interleave(values, cells.each_mut());
        }
    } else if let Some([p, q, r, t, u, v, w, x]) = rows {
        for i in 0..n {
            let values = [a[i].load(s), b[i].load(s), c[i].load(s), d[i].load(s)];
            let cells =
                [&mut p[i], &mut q[i], &mut r[i], &mut t[i], &mut u[i], &mut v[i], &mut w[i], &mut x[i]];
            s.interleave(values, cells);
        }
    } else {
        for i in 0..n {
            let values = [a[i].load(s), b[i].load(s), c[i].load(s), d[i].load(s)];
            // SAFETY: as for `load`.
            s.interleave(values, unsafe { place.cells(scalars, range[0] + i, &mut padding) });
        }
    }
}

each_level! {
    /// Interleaves rows times `factor`: `rows` = start of the first row, distance between rows, number of rows. Missing rows are 0.
    pub fn turn(field: &[f32], rows: [usize; 3], factor: f32, out: &mut [Eight]) = turn_kernel;
}

#[inline(always)]
fn turn_kernel<S: Simd>(s: S, field: &[f32], [at, pitch, count]: [usize; 3], factor: f32, out: &mut [Eight]) {
    const NONE: [f32; ACROSS] = [0.0; ACROSS];
    let n = out.len();
    let by = s.splat_f32x8(factor);
    let full = n - n % ACROSS;
    for from in (0..full).step_by(ACROSS) {
        let mut rows = [&NONE; ACROSS];
        for (l, row) in rows.iter_mut().enumerate().take(count) {
            *row = field[at + l * pitch + from..].first_chunk().expect("inside the row");
        }
        let turned = transposed(
            s,
            [
                f32x8::load_array_ref(s, rows[0]),
                f32x8::load_array_ref(s, rows[1]),
                f32x8::load_array_ref(s, rows[2]),
                f32x8::load_array_ref(s, rows[3]),
                f32x8::load_array_ref(s, rows[4]),
                f32x8::load_array_ref(s, rows[5]),
                f32x8::load_array_ref(s, rows[6]),
                f32x8::load_array_ref(s, rows[7]),
            ],
        );
        for (out, values) in out[from..from + ACROSS].iter_mut().zip(turned) {
            out.store(by * values);
        }
    }
    for (i, out) in out.iter_mut().enumerate().skip(full) {
        *out = Eight(NONE);
        for l in 0..count {
            out.0[l] = factor * field[at + l * pitch + i];
        }
    }
}

each_level! {
    /// Copies neighbouring values times `factor`: `columns` = start, distance between elements of `out`, number of neighbours. Others
    /// are 0.
    pub fn gather(field: &[f32], columns: [usize; 3], factor: f32, out: &mut [Eight]) = gather_kernel;
}

#[inline(always)]
fn gather_kernel<S: Simd>(
    s: S,
    field: &[f32],
    [at, along, count]: [usize; 3],
    factor: f32,
    out: &mut [Eight],
) {
    let by = s.splat_f32x8(factor);
    for (i, out) in out.iter_mut().enumerate() {
        let from = &field[at + i * along..][..count];
        if let Some(values) = from.first_chunk() {
            out.store(by * f32x8::load_array_ref(s, values));
        } else {
            *out = Eight([0.0; ACROSS]);
            out.0[..count].iter_mut().zip(from).for_each(|(out, value)| *out = factor * value);
        }
    }
}

each_level! {
    /// Volumes 1 + `factor` · (low − high) of cells between two faces, with `columns` as for [`gather`].
    pub fn gather_volumes(field: [&[f32]; 2], columns: [usize; 3], factor: f32, out: &mut [Eight]) = volumes_kernel;
}

#[inline(always)]
fn volumes_kernel<S: Simd>(
    s: S,
    [low, high]: [&[f32]; 2],
    [at, along, count]: [usize; 3],
    factor: f32,
    out: &mut [Eight],
) {
    let (one, by) = (s.splat_f32x8(1.0), s.splat_f32x8(factor));
    for (i, out) in out.iter_mut().enumerate() {
        let (low, high) = (&low[at + i * along..][..count], &high[at + i * along..][..count]);
        fetch_ahead(low, 2 * ACROSS);
        if let (Some(low), Some(high)) = (low.first_chunk(), high.first_chunk()) {
            out.store(by.mul_add(f32x8::load_array_ref(s, low) - f32x8::load_array_ref(s, high), one));
        } else {
            *out = Eight([1.0; ACROSS]);
            for (out, (low, high)) in out.0.iter_mut().zip(low.iter().zip(high)) {
                *out = 1.0 + factor * (low - high);
            }
        }
    }
}

each_level! {
    /// Volumes before a sweep that makes them 1, from the volumes that cross the faces.
    pub fn volumes_before(crossing: &[Eight], out: &mut [Eight]) = before_kernel;
}

#[inline(always)]
fn before_kernel<S: Simd>(s: S, crossing: &[Eight], out: &mut [Eight]) {
    let one = s.splat_f32x8(1.0);
    for ((low, high), out) in crossing.iter().zip(&crossing[1..]).zip(out) {
        out.store(one + (high.load(s) - low.load(s)));
    }
}
