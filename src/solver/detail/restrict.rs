//! Between cells and their finer cells: means of scalars, and displacements in between.

use crate::grid::{GHOST, Layout};
use crate::simd::{Simd, each_level};
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::row_passes;

/// Writes the means of the `fine` scalars over each cell; finer cells without any, as those inside solids, count as 0. Ghosts are not
/// filled.
pub fn means(
    coarse: Layout,
    fine: Layout,
    finer: usize,
    (scalars, bricks): (&[[f32; 4]], &Bricks),
    out: &mut [[f32; 4]],
) {
    let [nx, ny, nz] = coarse.dims.array();
    row_passes::rows(coarse, out, [[0, ny as isize], [0, nz as isize]], |j, k, row| {
        let row = &mut row[GHOST..GHOST + nx];
        let (j, k) = (j as usize * finer, k as usize * finer);
        if finer == 2 {
            // Four rows of one row of bricks.
            let span = bricks.span(j, k);
            let (first, end) = (span.start / 2, span.end.div_ceil(2));
            let of = |j: usize, k: usize| &scalars[fine.start(j, k) + 2 * first..][..2 * (end - first)];
            row[..first].fill([0.0; 4]);
            row[end..].fill([0.0; 4]);
            halve([of(j, k), of(j + 1, k), of(j, k + 1), of(j + 1, k + 1)], &mut row[first..end]);
            return;
        }
        row.fill([0.0; 4]);
        let mut held = [nx, 0];
        for (j, k) in (k..k + finer).flat_map(|k| (j..j + finer).map(move |j| (j, k))) {
            let span = bricks.span(j, k);
            let (first, end) = (span.start / finer, span.end.div_ceil(finer));
            if first < end {
                held = [held[0].min(first), held[1].max(end)];
                let from = &scalars[fine.start(j, k) + finer * first..][..finer * (end - first)];
                match finer {
                    3 => add_3(from, &mut row[first..end]),
                    _ => add_4(from, &mut row[first..end]),
                }
            }
        }
        let share = 1.0 / finer.pow(3) as f32;
        if held[0] < held[1] {
            row[held[0]..held[1]].as_flattened_mut().iter_mut().for_each(|value| *value *= share);
        }
    });
}

each_level! {
    /// Means over 2×2×2 finer cells, from the four rows of these.
    fn halve(rows: [&[[f32; 4]]; 4], out: &mut [[f32; 4]]) = halve_kernel;
}

#[inline(always)]
fn halve_kernel<S: Simd>(_: S, rows: [&[[f32; 4]]; 4], out: &mut [[f32; 4]]) {
    let [a, b, c, d] = rows.map(|row| row.as_chunks::<2>().0);
    let n = out.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for i in 0..n {
        let mut sums = [0.0f32; 8];
        for (l, sum) in sums.iter_mut().enumerate() {
            let (cell, value) = (l / 4, l % 4);
            *sum = (a[i][cell][value] + b[i][cell][value]) + (c[i][cell][value] + d[i][cell][value]);
        }
        for (value, out) in out[i].iter_mut().enumerate() {
            *out = 0.125 * (sums[value] + sums[4 + value]);
        }
    }
}

each_level! { fn add_3(from: &[[f32; 4]], out: &mut [[f32; 4]]) = add_kernel, 3; }
each_level! { fn add_4(from: &[[f32; 4]], out: &mut [[f32; 4]]) = add_kernel, 4; }

#[inline(always)]
fn add_kernel<S: Simd, const N: usize>(_: S, from: &[[f32; 4]], out: &mut [[f32; 4]]) {
    for (from, out) in from.as_chunks::<N>().0.iter().zip(out) {
        for cell in from {
            for c in 0..4 {
                out[c] += cell[c];
            }
        }
    }
}

/// Interpolates displacements in cells, linearly between centres, to displacements in finer cells. `from` has a layer of ghosts.
pub fn interpolate(
    coarse: Layout,
    fine: Layout,
    finer: usize,
    from: &[[f32; 4]],
    out: &mut [[f32; 4]],
    halt: &Halt,
) {
    let [nx, ny, nz] = fine.dims.array();
    row_passes::rows(fine, out, [[0, ny as isize], [0, nz as isize]], |j, k, row| {
        if halt.is_raised() {
            return;
        }
        let row = &mut row[GHOST..GHOST + nx];
        let scale = finer as f32;
        let put = |i: usize, value: [f32; 4]| row[i] = value.map(|x| scale * x);
        interpolate_row(coarse, finer, from, [j as usize, k as usize], put, nx);
    });
}

/// Calls `put(i, value)` for the `count` finer cells of row `at` = (j, k), with values linear between the centres of cells.
pub fn interpolate_row(
    coarse: Layout,
    finer: usize,
    from: &[[f32; 4]],
    at: [usize; 2],
    mut put: impl FnMut(usize, [f32; 4]),
    count: usize,
) {
    // The cell before a part and the share of the next.
    let place = |index: usize| {
        let x = (index as f32 + 0.5) / finer as f32 - 0.5;
        (x.floor() as isize, x - x.floor())
    };
    let [(j, y), (k, z)] = at.map(place);
    let places = [0, coarse.row, coarse.plane, coarse.row + coarse.plane];
    let share = [(1.0 - y) * (1.0 - z), y * (1.0 - z), (1.0 - y) * z, y * z];
    let column = |i: isize| {
        let first = coarse.at(i, j, k);
        let mut sum = [0.0f32; 4];
        for (place, share) in places.into_iter().zip(share) {
            (0..4).for_each(|c| sum[c] += share * from[first + place][c]);
        }
        sum
    };
    let (mut first, mut ends) = (-1, [column(-1), column(0)]);
    for index in 0..count {
        let (i, x) = place(index);
        if i != first {
            (first, ends) = (i, [ends[1], column(i + 1)]);
        }
        put(index, [0, 1, 2, 3].map(|c| ends[0][c] + x * (ends[1][c] - ends[0][c])));
    }
}
