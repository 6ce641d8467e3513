//! Means over cells of smoke as splines read it.
//!
//! The mean of a quadratic B-spline over a cell is a cubic one at its middle: (ρ₋₁ + 4 ρ₀ + ρ₁) / 6 along each axis, with sharpened
//! densities ρ. A flat edge between cells has a sixth of a cell's smoke beyond it, and light that lies flat on it meets most of
//! its first collisions there.

use rayon::prelude::*;

use super::Points;
use super::sharpened::Sharpened;
use crate::simd::{Simd, each_level};

/// Weights of a cell and of those beside it.
const MIDDLE: f32 = 4.0 / 6.0;
const SIDE: f32 = 1.0 / 6.0;

/// Means over the cells around points, 0 in the outermost layer.
pub(super) fn spline_means(field: Points) -> Vec<f32> {
    let dims = field.dims;
    let sharpened = Sharpened::new(dims, field.values.to_vec()).whole();
    let mut means = vec![0.0; dims.cells()];
    let inner = |n: usize, count: usize| (1..count - 1).contains(&n);
    let rows = means.par_chunks_mut(dims.nx).enumerate().with_min_len(64);
    rows.for_each_init(Vec::new, |across: &mut Vec<f32>, (row, means)| {
        let (j, k) = (row % dims.ny, row / dims.ny);
        if !inner(j, dims.ny) || !inner(k, dims.nz) {
            return;
        }
        across.resize(dims.nx, 0.0);
        let beside = |n: usize| &sharpened[dims.index(0, j + n % 3 - 1, k + n / 3 - 1)..][..dims.nx];
        mean_of_rows(std::array::from_fn(beside), across, means);
    });
    means
}

each_level! {
    fn mean_of_rows(rows: [&[f32]; 9], across: &mut [f32], out: &mut [f32]) = mean_kernel;
}

#[inline(always)]
fn mean_kernel<S: Simd>(_: S, rows: [&[f32]; 9], across: &mut [f32], out: &mut [f32]) {
    let count = across.len();
    across.fill(0.0);
    for (n, row) in rows.into_iter().enumerate() {
        let weight = [SIDE, MIDDLE, SIDE][n % 3] * [SIDE, MIDDLE, SIDE][n / 3];
        let row = &row[..count];
        for i in 0..count {
            across[i] += weight * row[i];
        }
    }
    let (low, middle, high) = (&across[..count - 2], &across[1..count - 1], &across[2..]);
    let out = &mut out[1..count - 1];
    for i in 0..out.len() {
        out[i] = SIDE * (low[i] + high[i]) + MIDDLE * middle[i];
    }
}
