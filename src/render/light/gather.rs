//! Densities at the points of the light volume, means over as much of the snapshot's cells as a point stands for, and
//! the smoke in its cubes.

use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::Mixture;
use crate::grid::Dims;
use crate::simd::{Simd, each_level, greatest};
use crate::snapshot::{BRICK, Part, Snapshot};

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

/// Scratch memory of [`gather`].
#[derive(Clone, Debug, Default)]
pub(super) struct Planes {
    /// For each layer of cells in z that is at hand, the points of its x and y.
    points: Vec<f32>,
    /// For each layer of cells in z, its share in the cubes around it.
    cubes: Vec<[f32; 3]>,
}

/// The sum of the three colours at the points, and the colours in the cubes of `mixture`.
pub(super) fn gather(
    part: &Part,
    mixture: &mut Mixture,
    points: Dims,
    scratch: &mut Planes,
    out: &mut Vec<f32>,
) {
    let (cells, snapshot) = (part.whole.dims, part.planes);
    let plane = points.nx * points.ny;
    let in_x = Narrowing::new(&shares(points.nx - 2, cells.nx));
    let in_y = of_cells(&shares(points.ny - 2, cells.ny), cells.ny);
    let in_z = shares(points.nz - 2, cells.nz);
    // A layer of points belongs to the rank that has the first plane of its cells.
    let layer = |k: usize| if k == 0 { 0 } else { in_z.partition_point(|share| share.first < k) };
    let own = part.own();
    let layers = layer(own[0])..if own[1] == cells.nz { in_z.len() } else { layer(own[1]) };
    let read = in_z[layers.clone()].iter().map(|share| share.first + share.weights.len()).max();
    let wanted = own[0]..own[1].max(read.unwrap_or(0));
    let (edge, cubes) = (mixture.edge, mixture.dims);
    let Planes { points: planes, cubes: sums } = scratch;
    planes.clear();
    planes.resize(plane * snapshot.dims.nz, 0.0);
    sums.clear();
    sums.resize(cubes.nx * cubes.ny * cells.nz, [0.0; 3]);
    let first = part.first;
    let sums_at_hand = &mut sums[cubes.nx * cubes.ny * first..][..cubes.nx * cubes.ny * snapshot.dims.nz];
    let pairs = planes.par_chunks_mut(plane).zip(sums_at_hand.par_chunks_mut(cubes.nx * cubes.ny));
    let pairs = pairs.enumerate().filter(|(k, _)| wanted.contains(&(first + k)));
    pairs.for_each_init(
        || Rows::new(cells.nx, points.ny),
        |rows, (k, (plane, sums))| {
            let mut reached = 0..0;
            for (j, shares) in in_y.iter().enumerate() {
                let Some(filled) = rows.load(snapshot, j, k) else { continue };
                rows.add_to_cubes(&filled, edge, &mut sums[j / edge * cubes.nx..][..cubes.nx]);
                rows.add_to_points(&filled, shares);
                if let (Some((first, _)), Some((last, _))) = (shares.first(), shares.last()) {
                    reached = if reached.is_empty() { *first..last + 1 } else { reached.start..last + 1 };
                }
            }
            for j in reached {
                let means = &mut rows.means[j * cells.nx..][..cells.nx];
                in_x.narrow(means, &mut plane[j * points.nx..][..points.nx]);
                means.fill(0.0);
            }
        },
    );
    mixture.add_planes(part, sums);
    out.clear();
    out.resize(points.cells(), 0.0);
    let of_rank = &mut out[layers.start * plane..layers.end * plane];
    of_rank.par_chunks_mut(plane).zip(&in_z[layers]).for_each(|(out, share)| {
        share.mean_of_rows(first, planes, out);
    });
    part.gather(out, |k| layer(k) * plane);
}

impl Share {
    fn new(first: usize, weights: impl Iterator<Item = f32>) -> Self {
        let weights: Vec<f32> = weights.collect();
        let sum: f32 = weights.iter().sum();
        Self { first, weights: weights.iter().map(|w| w / sum).collect() }
    }

    /// The mean of whole rows, as long as `out`, of `rows`, which begin with row `start`.
    fn mean_of_rows(&self, start: usize, rows: &[f32], out: &mut [f32]) {
        for (n, weight) in self.weights.iter().enumerate() {
            let row = &rows[(self.first + n - start) * out.len()..][..out.len()];
            out.iter_mut().zip(row).for_each(|(out, x)| *out += weight * x);
        }
    }
}

/// For each of `count` cells the points that it has a share in, and its weight there.
fn of_cells(shares: &[Share], count: usize) -> Vec<Vec<(usize, f32)>> {
    let mut all = vec![Vec::new(); count];
    for (point, share) in shares.iter().enumerate() {
        for (cell, weight) in all[share.first..].iter_mut().zip(&share.weights) {
            cell.push((point, *weight));
        }
    }
    all
}

/// Means over the cells of a row, tap by tap.
struct Narrowing {
    /// For each tap the cell that each point reads, and its weight, 0 where a point has fewer taps.
    taps: Vec<Vec<(u32, f32)>>,
}

impl Narrowing {
    fn new(shares: &[Share]) -> Self {
        let most = shares.iter().map(|share| share.weights.len()).max().unwrap_or(0);
        let tap = |n: usize, share: &Share| match share.weights.get(n) {
            Some(weight) => ((share.first + n) as u32, *weight),
            None => (share.first as u32, 0.0),
        };
        Self { taps: (0..most).map(|n| shares.iter().map(|share| tap(n, share)).collect()).collect() }
    }

    fn narrow(&self, row: &[f32], out: &mut [f32]) {
        for tap in &self.taps {
            out.iter_mut().zip(tap).for_each(|(out, (cell, weight))| *out += weight * row[*cell as usize]);
        }
    }
}

/// A row of cells as floats, and rows of them on their way to the points of a plane.
struct Rows {
    cells: Vec<[f32; 4]>,
    sums: Vec<f32>,
    /// The mean over y for each row of points.
    means: Vec<f32>,
}

impl Rows {
    fn new(nx: usize, points: usize) -> Self {
        Self { cells: vec![[0.0; 4]; nx], sums: vec![0.0; nx], means: vec![0.0; nx * points] }
    }

    /// Loads the cells of a row that may hold something, and returns which; `None` where the bricks say that none does.
    fn load(&mut self, snapshot: &Snapshot, j: usize, k: usize) -> Option<Range<usize>> {
        let filled = filled(snapshot, j, k)?;
        let cells = &snapshot.smoke[snapshot.dims.index(0, j, k)..][filled.clone()];
        cells.as_flattened().convert_to_f32_slice(self.cells[..filled.len()].as_flattened_mut());
        Some(filled)
    }

    /// Adds their colours to cubes of some edge.
    fn add_to_cubes(&self, filled: &Range<usize>, edge: usize, cubes: &mut [[f32; 3]]) {
        let share = 1.0 / (edge * edge * edge) as f32;
        let mut start = filled.start;
        while start < filled.end {
            let end = ((start / edge + 1) * edge).min(filled.end);
            let mut sum = [0.0_f32; 4];
            for cell in &self.cells[start - filled.start..end - filled.start] {
                (0..4).for_each(|c| sum[c] += greatest(cell[c], 0.0));
            }
            let cube = &mut cubes[start / edge];
            (0..3).for_each(|c| cube[c] += share * sum[c]);
            start = end;
        }
    }

    /// Adds the sum of their colours to rows of points, each with a weight.
    fn add_to_points(&mut self, filled: &Range<usize>, shares: &[(usize, f32)]) {
        let sums = &mut self.sums[..filled.len()];
        add_colors(&self.cells[..filled.len()], sums);
        let nx = self.cells.len();
        for (point, weight) in shares {
            let means = &mut self.means[point * nx..][filled.clone()];
            means.iter_mut().zip(&*sums).for_each(|(mean, sum)| *mean += weight * sum);
        }
    }
}

each_level! {
    /// The sum of three colours, not below 0.
    fn add_colors(cells: &[[f32; 4]], out: &mut [f32]) = add_colors_kernel;
}

#[inline(always)]
fn add_colors_kernel<S: Simd>(_: S, cells: &[[f32; 4]], out: &mut [f32]) {
    for (cell, out) in cells.iter().zip(out) {
        *out = greatest(cell[0] + cell[1] + cell[2], 0.0);
    }
}

/// The cells of a row that may hold something; `None` where the bricks say that none does.
fn filled(snapshot: &Snapshot, j: usize, k: usize) -> Option<Range<usize>> {
    let bricks = &snapshot.bricks;
    let first = bricks.dims.index(0, j / BRICK, k / BRICK);
    let full = |max: &[f16; 4]| max[..3].iter().any(|&x| x > f16::ZERO);
    let row = &bricks.max[first..][..bricks.dims.nx];
    let (start, end) = (row.iter().position(full)?, row.iter().rposition(full)?);
    Some(start * BRICK..((end + 1) * BRICK).min(snapshot.dims.nx))
}
