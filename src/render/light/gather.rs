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

/// Which cells a point is the mean of, along one axis, beside those beyond the box, which are empty: for points in the middle of `count`
/// parts of `between` cells each, with one more at either end that is the same as the one beside it.
fn shares(count: usize, between: usize, cells: usize) -> Vec<Range<usize>> {
    let share = |point: usize| {
        let part = point.clamp(1, count) - 1;
        part * between..((part + 1) * between).min(cells)
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

/// The sum of the three colours at the points, so many cells apart, and the colours in the cubes of `mixture`.
pub(super) fn gather(
    part: &Part,
    mixture: &mut Mixture,
    (points, between): (Dims, usize),
    scratch: &mut Planes,
    out: &mut Vec<f32>,
) {
    let (cells, snapshot) = (part.whole.dims, part.planes);
    let plane = points.nx * points.ny;
    let weight = 1.0 / between as f32;
    let in_x = Narrowing { points: shares(points.nx - 2, between, cells.nx), weight };
    let in_y = of_cells(&shares(points.ny - 2, between, cells.ny), cells.ny);
    let in_z = shares(points.nz - 2, between, cells.nz);
    // A layer of points belongs to the rank that has the first plane of its cells.
    let layer = |k: usize| if k == 0 { 0 } else { in_z.partition_point(|share| share.start < k) };
    let own = part.own();
    let layers = layer(own[0])..if own[1] == cells.nz { in_z.len() } else { layer(own[1]) };
    let read = in_z[layers.clone()].iter().map(|share| share.end).max();
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
            for (j, points) in in_y.iter().enumerate() {
                let Some(filled) = rows.load(snapshot, j, k) else { continue };
                rows.add_to_cubes(&filled, edge, &mut sums[j / edge * cubes.nx..][..cubes.nx]);
                rows.add_to_points(&filled, points, weight);
                if let (Some(first), Some(last)) = (points.first(), points.last()) {
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
        for row in share.clone() {
            let row = &planes[(row - first) * plane..][..plane];
            out.iter_mut().zip(row).for_each(|(out, x)| *out += weight * x);
        }
    });
    part.gather(out, |k| layer(k) * plane);
}

/// For each of `count` cells the points that it has a share in.
fn of_cells(shares: &[Range<usize>], count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new(); count];
    for (point, share) in shares.iter().enumerate() {
        share.clone().for_each(|cell| all[cell].push(point));
    }
    all
}

/// Means over the cells of a row.
struct Narrowing {
    points: Vec<Range<usize>>,
    weight: f32,
}

impl Narrowing {
    fn narrow(&self, row: &[f32], out: &mut [f32]) {
        for (out, cells) in out.iter_mut().zip(&self.points) {
            *out += row[cells.clone()].iter().fold(0.0, |sum, x| sum + self.weight * x);
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

    /// Adds the sum of their colours to rows of points.
    fn add_to_points(&mut self, filled: &Range<usize>, points: &[usize], weight: f32) {
        let sums = &mut self.sums[..filled.len()];
        add_colors(&self.cells[..filled.len()], sums);
        let nx = self.cells.len();
        for point in points {
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
