//! The smallest scales of the velocity: their energy a², their squared gradient, and the means of both.

use fearless_simd::f32x4;
use fearless_simd::prelude::*;
use rayon::prelude::*;

use crate::grid::Layout;
use crate::simd::{Simd, each_level, greatest};
use crate::solver::solids::{Obstacles, SOLID};

/// Lanes of sums over a row.
const LANES: usize = 8;

each_level! { pub fn measure(layout: Layout, centers: &[[f32; 4]], at: usize, out: &mut [[f32; 4]]) = measure_kernel; }

/// For each cell of a row: the squared speed of the velocity minus its mean over 3³ cells, and the squared
/// gradient of the velocity, per cell. In a flow without divergence the mean of the latter is that of the
/// squared strain 2 S:S.
#[inline(always)]
fn measure_kernel<S: Simd>(s: S, layout: Layout, centers: &[[f32; 4]], at: usize, out: &mut [[f32; 4]]) {
    let rows = neighbors(layout, centers, at, out.len());
    let half = f32x4::splat(s, 0.5);
    let mut columns = [weighted_sum(s, &rows, 0), weighted_sum(s, &rows, 1)];
    for (i, out) in out.iter_mut().enumerate() {
        let [low, middle] = columns;
        let high = weighted_sum(s, &rows, i + 2);
        let removed = load(s, &rows[4][i + 1]) - binomial_mean(s, [low, middle, high]);
        columns = [middle, high];
        let ends = [
            [&rows[4][i], &rows[4][i + 2]],
            [&rows[3][i + 1], &rows[5][i + 1]],
            [&rows[1][i + 1], &rows[7][i + 1]],
        ];
        let mut slopes = f32x4::splat(s, 0.0);
        for [low, high] in ends {
            let slope = half * (load(s, high) - load(s, low));
            slopes = slope.mul_add(slope, slopes);
        }
        let (sharp, slopes): ([f32; 4], [f32; 4]) = ((removed * removed).into(), slopes.into());
        *out = [sharp[0] + sharp[1] + sharp[2], slopes[0] + slopes[1] + slopes[2], 0.0, 0.0];
    }
}

#[inline(always)]
pub fn load<S: Simd>(s: S, cell: &[f32; 4]) -> f32x4<S> {
    f32x4::load_array_ref(s, cell)
}

/// The nine rows around that at `at`, each with one cell more at both ends.
#[inline(always)]
fn neighbors(layout: Layout, cells: &[[f32; 4]], at: usize, n: usize) -> [&[[f32; 4]]; 9] {
    std::array::from_fn(
        #[inline(always)]
        |r| {
            let first = at + (r % 3) * layout.row + (r / 3) * layout.plane - layout.row - layout.plane - 1;
            &cells[first..][..n + 2]
        },
    )
}

/// Binomial mean over nine rows.
#[inline(always)]
fn weighted_sum<S: Simd>(s: S, rows: &[&[[f32; 4]]; 9], i: usize) -> f32x4<S> {
    const SHARES: [f32; 3] = [0.25, 0.5, 0.25];
    let mut sum = f32x4::splat(s, 0.0);
    for (r, row) in rows.iter().enumerate() {
        sum = f32x4::splat(s, SHARES[r % 3] * SHARES[r / 3]).mul_add(load(s, &row[i]), sum);
    }
    sum
}

/// Binomial mean over 3³ cells from three of nine rows each.
#[inline(always)]
fn binomial_mean<S: Simd>(s: S, [low, middle, high]: [f32x4<S>; 3]) -> f32x4<S> {
    f32x4::splat(s, 0.25) * (low + high) + f32x4::splat(s, 0.5) * middle
}

each_level! { pub fn smooth(layout: Layout, cells: &[[f32; 4]], at: usize, out: &mut [[f32; 4]]) = smooth_kernel; }

/// Writes the binomial mean over 3³ cells around each cell of a row. Sums of columns serve three cells each.
#[inline(always)]
fn smooth_kernel<S: Simd>(s: S, layout: Layout, cells: &[[f32; 4]], at: usize, out: &mut [[f32; 4]]) {
    let rows = neighbors(layout, cells, at, out.len());
    let mut columns = [weighted_sum(s, &rows, 0), weighted_sum(s, &rows, 1)];
    for (i, out) in out.iter_mut().enumerate() {
        let [low, middle] = columns;
        let high = weighted_sum(s, &rows, i + 2);
        binomial_mean(s, [low, middle, high]).store_array(out);
        columns = [middle, high];
    }
}

/// Marks the cells of solids, and those beside faces that are not wholly open.
pub fn mark(layout: Layout, obstacles: &Obstacles, cells: &mut [[f32; 4]]) {
    let voxels = &obstacles.voxels;
    let (own, flags) = (layout.own(), &voxels.flags);
    cells[own.clone()]
        .par_iter_mut()
        .zip(&flags[own])
        .filter(|(_, flags)| **flags & SOLID != 0)
        .for_each(|(cell, _)| cell[2] = 1.0);
    for (cuts, stride) in voxels.cuts.faces.iter().zip(layout.strides()) {
        for cut in cuts {
            let at = cut.at as usize;
            cells[at][2] = 1.0;
            cells[at - stride][2] = 1.0;
        }
    }
}

each_level! { pub fn add_up(cells: &[[f32; 4]], sum: &mut [f64; 3]) = add_up_kernel; }

/// Adds the energies of cells, and these times the squared gradients; keeps the greatest energy.
#[inline(always)]
fn add_up_kernel<S: Simd>(s: S, cells: &[[f32; 4]], sum: &mut [f64; 3]) {
    let (mut energy, mut strained, mut most) = ([0.0f32; LANES], [0.0f32; LANES], [0.0f32; LANES]);
    for chunk in cells.chunks(LANES) {
        for (l, cell) in chunk.iter().enumerate() {
            energy[l] += cell[0];
            strained[l] = s.fma(cell[0], cell[1], strained[l]);
            most[l] = greatest(cell[0], most[l]);
        }
    }
    let add = |lanes: [f32; LANES]| lanes.iter().map(|&x| f64::from(x)).sum::<f64>();
    let most = most.into_iter().fold(0.0, f32::max);
    *sum = [sum[0] + add(energy), sum[1] + add(strained), sum[2].max(most.into())];
}
