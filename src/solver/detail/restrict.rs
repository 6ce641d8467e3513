//! Between cells and their finer cells: means of scalars, and displacements in between.

use crate::grid::{GHOST, Layout};
use rayon::prelude::*;

use crate::simd::{AHEAD, Simd, each_level, fetch_ahead};
use crate::solver::sides::GhostRules;
use crate::solver::storage::active_bricks::{self, Bricks, EDGE};
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

/// As [`means`] over 2×2×2 finer cells. Counts the finer scalars and their bricks too, since it reads all of them. `sums` is scratch for
/// each plane of cells.
pub fn means_and_contents(
    [(coarse, walls), (fine, finer_walls)]: [(Layout, &GhostRules); 2],
    (scalars, bricks): (&[[f32; 4]], &mut Bricks),
    out: &mut [[f32; 4]],
    sums: &mut Vec<[f64; 4]>,
) {
    let (in_plane, in_row) = (bricks.in_plane(), bricks.in_row());
    let mut held = std::mem::take(&mut bricks.counted);
    held.resize(fine.dims.nz * in_plane, 0);
    sums.resize(coarse.dims.nz, [0.0; 4]);
    let [low, high] = coarse.cell_planes();
    let planes = out[(GHOST + low) * coarse.plane..].par_chunks_mut(coarse.plane);
    let counts = sums[low..high].par_iter_mut().zip(held[2 * low * in_plane..].par_chunks_mut(2 * in_plane));
    planes.zip(counts).enumerate().for_each(|(k, (plane, (sum, held)))| {
        let k = 2 * (low + k);
        *sum = [0.0; 4];
        held.fill(0);
        for (j, row) in plane.chunks_exact_mut(coarse.row).skip(GHOST).take(coarse.dims.ny).enumerate() {
            let row = &mut row[GHOST..GHOST + coarse.dims.nx];
            // Four rows of one row of bricks.
            let (j, span) = (2 * j, bricks.span(2 * j, k));
            let of = |j: usize, k: usize| &scalars[fine.start(j, k) + span.start..][..span.len()];
            let rows = [of(j, k), of(j + 1, k), of(j, k + 1), of(j + 1, k + 1)];
            let (first, end) = (span.start / 2, span.end.div_ceil(2));
            row[..first].fill([0.0; 4]);
            row[end..].fill([0.0; 4]);
            let mut of_row = [0.0; 4];
            halve(rows, &mut row[first..end], &mut of_row);
            (0..4).for_each(|c| sum[c] += f64::from(of_row[c]));
            let first = j / EDGE * in_row + span.start / EDGE;
            for (n, row) in rows.into_iter().enumerate() {
                let held = &mut held[n / 2 * in_plane + first..][..span.len().div_ceil(EDGE)];
                active_bricks::held_row(row, held);
            }
        }
    });
    walls.ranks().gather(sums, 1);
    finer_walls.ranks().gather(&mut held, in_plane);
    bricks.counted = held;
    bricks.count(sums.iter().fold([0.0; 4], |all, plane| [0, 1, 2, 3].map(|c| all[c] + plane[c])));
}

each_level! {
    /// Means over 2×2×2 finer cells, from the four rows of these, and the sums of all.
    fn halve(rows: [&[[f32; 4]]; 4], out: &mut [[f32; 4]], all: &mut [f32; 4]) = halve_kernel;
}

#[inline(always)]
fn halve_kernel<S: Simd>(_: S, rows: [&[[f32; 4]]; 4], out: &mut [[f32; 4]], all: &mut [f32; 4]) {
    let [a, b, c, d] = rows.map(|row| row.as_chunks::<2>().0);
    let n = out.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    let mut total = [0.0f32; 8];
    for i in 0..n {
        for row in [a, b, c, d] {
            fetch_ahead(&row[i..], AHEAD / 2);
        }
        let mut sums = [0.0f32; 8];
        for (l, sum) in sums.iter_mut().enumerate() {
            let (cell, value) = (l / 4, l % 4);
            *sum = (a[i][cell][value] + b[i][cell][value]) + (c[i][cell][value] + d[i][cell][value]);
        }
        for (value, out) in out[i].iter_mut().enumerate() {
            *out = 0.125 * (sums[value] + sums[4 + value]);
        }
        for (total, sum) in total.iter_mut().zip(sums) {
            *total += sum;
        }
    }
    *all = [0, 1, 2, 3].map(|value| total[value] + total[4 + value]);
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
