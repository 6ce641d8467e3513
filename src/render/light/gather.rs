//! Densities at the points of the light volume: means over as much of the snapshot's cells as a point stands for.

use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use crate::grid::Dims;
use crate::snapshot::{BRICK, Snapshot};

/// Which cells a point is the mean of, along one axis: the first and their weights.
struct Share {
    first: usize,
    weights: Vec<f32>,
}

/// Shares for points in the middle of `count` equal parts of `cells` cells, with one more at either end that is the same as
/// the one beside it.
fn shares(count: usize, cells: usize) -> Vec<Share> {
    let spacing = cells as f32 / count as f32;
    let share = |point: usize| {
        let part = point.clamp(1, count) - 1;
        let (start, end) = (part as f32 * spacing, (part + 1) as f32 * spacing);
        let first = (start + 1e-3).floor() as usize;
        let last = ((end - 1e-3).ceil() as usize).min(cells);
        let overlap = |cell: usize| (end.min(cell as f32 + 1.0) - start.max(cell as f32)).max(0.0);
        Share::new(first, (first..last).map(overlap))
    };
    (0..count + 2).map(share).collect()
}

/// The sum of the three colours at the points. `planes` holds, for each layer of cells in z, the points of its x and y.
pub(super) fn gather_density(snapshot: &Snapshot, points: Dims, planes: &mut Vec<f32>, out: &mut Vec<f32>) {
    let cells = snapshot.dims;
    let plane = points.nx * points.ny;
    let (in_x, in_y) = (shares(points.nx - 2, cells.nx), shares(points.ny - 2, cells.ny));
    planes.clear();
    planes.resize(plane * cells.nz, 0.0);
    planes.par_chunks_mut(plane).enumerate().for_each(|(k, plane)| {
        let (mut rows, mut narrowed) = (RowSums::new(cells.nx), Vec::new());
        for j in 0..cells.ny {
            let Some((filled, row)) = rows.of(snapshot, j, k) else { continue };
            let reached = reached(&in_x, &filled);
            narrowed.clear();
            narrowed.extend(in_x[reached.clone()].iter().map(|share| share.mean(row)));
            for (point_j, share) in in_y.iter().enumerate() {
                let Some(weight) = j.checked_sub(share.first).and_then(|n| share.weights.get(n)) else {
                    continue;
                };
                let out = &mut plane[point_j * points.nx..][reached.clone()];
                out.iter_mut().zip(&narrowed).for_each(|(out, x)| *out += weight * x);
            }
        }
    });
    let in_z = shares(points.nz - 2, cells.nz);
    out.clear();
    out.resize(points.cells(), 0.0);
    out.par_chunks_mut(plane).zip(&in_z).for_each(|(out, share)| {
        share.mean_of_rows(planes, out);
    });
}

impl Share {
    fn new(first: usize, weights: impl Iterator<Item = f32>) -> Self {
        let weights: Vec<f32> = weights.collect();
        let sum: f32 = weights.iter().sum();
        Self { first, weights: weights.iter().map(|w| w / sum).collect() }
    }

    fn mean(&self, row: &[f32]) -> f32 {
        self.weights.iter().zip(&row[self.first..]).map(|(w, x)| w * x).sum()
    }

    /// The mean of whole rows, as long as `out`, of `rows`.
    fn mean_of_rows(&self, rows: &[f32], out: &mut [f32]) {
        for (n, weight) in self.weights.iter().enumerate() {
            let row = &rows[(self.first + n) * out.len()..][..out.len()];
            out.iter_mut().zip(row).for_each(|(out, x)| *out += weight * x);
        }
    }
}

/// Turns rows of half floats into rows of total density.
struct RowSums {
    floats: Vec<f32>,
    sums: Vec<f32>,
}

impl RowSums {
    fn new(nx: usize) -> Self {
        Self { floats: vec![0.0; 4 * nx], sums: vec![0.0; nx] }
    }

    /// The row and the cells of it that may hold something; `None` where the bricks say that none does.
    fn of(&mut self, snapshot: &Snapshot, j: usize, k: usize) -> Option<(Range<usize>, &[f32])> {
        let filled = filled(snapshot, j, k)?;
        let cells = &snapshot.smoke[snapshot.dims.index(0, j, k)..][filled.clone()];
        let floats = &mut self.floats[..4 * filled.len()];
        cells.as_flattened().convert_to_f32_slice(floats);
        self.sums.fill(0.0);
        for (sum, cell) in self.sums[filled.clone()].iter_mut().zip(floats.chunks_exact(4)) {
            *sum = (cell[0] + cell[1] + cell[2]).max(0.0);
        }
        Some((filled, &self.sums))
    }
}

/// The cells of a row that may hold something; `None` where the bricks say that none does.
pub(super) fn filled(snapshot: &Snapshot, j: usize, k: usize) -> Option<Range<usize>> {
    let bricks = &snapshot.bricks;
    let first = bricks.dims.index(0, j / BRICK, k / BRICK);
    let full = |max: &[f16; 4]| max[..3].iter().any(|&x| x > f16::ZERO);
    let row = &bricks.max[first..][..bricks.dims.nx];
    let (start, end) = (row.iter().position(full)?, row.iter().rposition(full)?);
    Some(start * BRICK..((end + 1) * BRICK).min(snapshot.dims.nx))
}

/// The points whose shares reach any of some cells; both in order.
fn reached(shares: &[Share], cells: &Range<usize>) -> Range<usize> {
    let start = shares.partition_point(|share| share.first + share.weights.len() <= cells.start);
    let end = shares.partition_point(|share| share.first < cells.end);
    start..end.max(start)
}
