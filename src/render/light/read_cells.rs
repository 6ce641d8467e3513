//! Means over cells of smoke as eyes read it, and the smoke of cubes from them.
//!
//! The mean of a quadratic B-spline over a cell is a cubic one at its middle: (ρ₋₁ + 4 ρ₀ + ρ₁) / 6 along each axis, with sharpened
//! densities ρ; that of linear interpolation is (ρ₋₁ + 6 ρ₀ + ρ₁) / 8. A flat edge between cells has a sixth or an eighth of a cell's smoke
//! beyond it, and light that lies flat on it meets most of its first collisions there.

use std::ops::Range;

use rayon::prelude::*;

use super::sharpened::Sharpened;
use super::{LightVolume, Points};
use crate::simd::{Simd, each_level};

/// Share of the smoke of a cell in each of those beside it: of splines, and of linear interpolation.
const OF_SPLINES: f32 = 1.0 / 6.0;
const OF_LINES: f32 = 1.0 / 8.0;

impl LightVolume {
    /// Computes means over the cells around points of smoke as eyes read it: by splines with fine light, which needs a point for each
    /// cell, else linearly.
    pub(super) fn fill_means_as_read(&self, out: &mut Vec<f32>) {
        let field = self.on_points(&self.density);
        if self.fine {
            let sharpened = Sharpened::new(field.dims, self.density.clone()).whole();
            return means(Points { values: &sharpened, ..field }, &self.spans, OF_SPLINES, out);
        }
        means(field, &self.spans, OF_LINES * self.mixture.cell() / self.spacing, out);
    }

    /// Sums these means up to those over cubes.
    pub(super) fn add_up_in_cubes(&mut self) {
        let (samples, dims) = (self.cube_samples(), self.mixture.dims);
        let in_cube = samples.in_cube(self.mixture.h);
        let mut cubes = std::mem::take(&mut self.smoke_in_cubes);
        cubes.clear();
        cubes.resize(dims.cells(), 0.0);
        let (values, spans, all) =
            (self.densities_in_cubes(&samples), samples.spans(&self.spans), samples.dims);
        let share = 1.0 / in_cube.pow(3) as f32;
        cubes.par_chunks_mut(dims.nx).enumerate().with_min_len(64).for_each(|(row, cubes)| {
            let [first_y, first_z] = [row % dims.ny, row / dims.ny].map(|n| 1 + n * in_cube);
            for k in first_z..(first_z + in_cube).min(all.nz - 1) {
                for j in first_y..(first_y + in_cube).min(all.ny - 1) {
                    let span = &spans[j + k * all.ny];
                    if span.is_empty() {
                        continue;
                    }
                    let row = &values[all.index(1, j, k)..][..all.nx - 2];
                    let cubes_before = span.start.saturating_sub(1) / in_cube;
                    let filled = &row[cubes_before * in_cube..span.end.min(row.len())];
                    for (cube, of_cube) in cubes[cubes_before..].iter_mut().zip(filled.chunks(in_cube)) {
                        *cube += share * of_cube.iter().sum::<f32>();
                    }
                }
            }
        });
        self.smoke_in_cubes = cubes;
    }
}

/// Means of values with those beside them, which have a share of `side` along each axis. The outermost layer repeats the one beside it.
fn means(field: Points, spans: &[Range<usize>], side: f32, out: &mut Vec<f32>) {
    let dims = field.dims;
    out.resize(dims.cells(), 0.0);
    let rows = out.par_chunks_mut(dims.nx).enumerate().with_min_len(64);
    rows.for_each_init(Vec::new, |across: &mut Vec<f32>, (row, means)| {
        if spans[row].is_empty() {
            means.fill(0.0);
            return;
        }
        let (j, k) = ((row % dims.ny).clamp(1, dims.ny - 2), (row / dims.ny).clamp(1, dims.nz - 2));
        across.resize(dims.nx, 0.0);
        let beside = |n: usize| &field.values[dims.index(0, j + n % 3 - 1, k + n / 3 - 1)..][..dims.nx];
        mean_of_rows(std::array::from_fn(beside), side, across, means);
        (means[0], means[dims.nx - 1]) = (means[1], means[dims.nx - 2]);
    });
}

each_level! {
    fn mean_of_rows(rows: [&[f32]; 9], side: f32, across: &mut [f32], out: &mut [f32]) = mean_kernel;
}

#[inline(always)]
fn mean_kernel<S: Simd>(_: S, rows: [&[f32]; 9], side: f32, across: &mut [f32], out: &mut [f32]) {
    let count = across.len();
    let weights = [side, 1.0 - 2.0 * side, side];
    across.fill(0.0);
    for (n, row) in rows.into_iter().enumerate() {
        let weight = weights[n % 3] * weights[n / 3];
        let row = &row[..count];
        for i in 0..count {
            across[i] += weight * row[i];
        }
    }
    let (low, middle, high) = (&across[..count - 2], &across[1..count - 1], &across[2..]);
    let out = &mut out[1..count - 1];
    for i in 0..out.len() {
        out[i] = side * (low[i] + high[i]) + weights[1] * middle[i];
    }
}
