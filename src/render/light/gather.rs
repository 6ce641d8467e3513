//! Densities at the points of the light volume, means over as much of the snapshot's cells as a point stands for, and
//! the smoke in its cubes.

use std::ops::Range;

use half::f16;
use rayon::prelude::*;

use super::Mixture;
use crate::grid::Dims;
use crate::simd::halves::widen;
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
    let in_x = Narrowing { points: shares(points.nx - 2, between, cells.nx), between, weight };
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
    let occupied = occupied(snapshot);
    pairs.for_each_init(
        || Rows::new(cells.nx, points.ny, edge),
        |rows, (k, (plane, sums))| {
            let (mut reached, mut along) = (0..0, 0..0);
            for (j, points) in in_y.iter().enumerate() {
                if let Some(filled) = rows.load(snapshot, &occupied, [j, k]) {
                    rows.add(&filled, points, weight);
                    along = around(along, &filled);
                    if let (Some(first), Some(last)) = (points.first(), points.last()) {
                        reached = around(reached, &(*first..last + 1));
                    }
                }
                if (j + 1) % edge == 0 || j + 1 == cells.ny {
                    rows.add_to_cubes(edge, &mut sums[j / edge * cubes.nx..][..cubes.nx]);
                }
            }
            for j in reached {
                let means = &mut rows.means[j * cells.nx..][..cells.nx];
                in_x.narrow(means, &along, &mut plane[j * points.nx..][..points.nx]);
                means[along.clone()].fill(0.0);
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
    between: usize,
    weight: f32,
}

impl Narrowing {
    /// Adds the means over a row that is 0 but in a range of cells.
    fn narrow(&self, row: &[f32], filled: &Range<usize>, out: &mut [f32]) {
        let first = self.points.partition_point(|cells| cells.end <= filled.start);
        let end = self.points.partition_point(|cells| cells.start < filled.end);
        // Points in the box whose two cells lie in it.
        let (from, to) = (first.max(1), end.min(row.len() / 2 + 1));
        let pairs = if self.between == 2 && from < to { from..to } else { first..first };
        if !pairs.is_empty() {
            add_pairs(row[2 * (from - 1)..].as_chunks().0, self.weight, &mut out[pairs.clone()]);
        }
        for n in (first..pairs.start).chain(pairs.end..end) {
            out[n] += row[self.points[n].clone()].iter().fold(0.0, |sum, x| sum + self.weight * x);
        }
    }
}

/// A row of cells as floats, and rows of them on their way to the points of a plane.
struct Rows {
    cells: Vec<[f32; 4]>,
    /// Sum of the three colours of each cell.
    sums: Vec<f32>,
    /// Sums of cells over the rows of a row of cubes, in whole cubes, and the range of those with smoke.
    columns: Vec<[f32; 4]>,
    reached: Range<usize>,
    /// The mean over y for each row of points.
    means: Vec<f32>,
}

impl Rows {
    fn new(nx: usize, points: usize, edge: usize) -> Self {
        Self {
            cells: vec![[0.0; 4]; nx],
            sums: vec![0.0; nx],
            columns: vec![[0.0; 4]; nx.next_multiple_of(edge)],
            reached: 0..0,
            means: vec![0.0; nx * points],
        }
    }

    /// Loads the cells of a row that may hold something, and returns which; `None` where the bricks say that none does.
    fn load(
        &mut self,
        snapshot: &Snapshot,
        occupied: &[Option<Range<usize>>],
        [j, k]: [usize; 2],
    ) -> Option<Range<usize>> {
        let filled = occupied[j / BRICK + k / BRICK * snapshot.bricks.dims.ny].clone()?;
        let cells = &snapshot.smoke[snapshot.dims.index(0, j, k)..][filled.clone()];
        widen(cells.as_flattened(), self.cells[..filled.len()].as_flattened_mut());
        Some(filled)
    }

    /// Adds the columns to cubes of some edge, and clears them.
    fn add_to_cubes(&mut self, edge: usize, cubes: &mut [[f32; 3]]) {
        let reached = std::mem::take(&mut self.reached);
        let share = 1.0 / (edge * edge * edge) as f32;
        let columns = &mut self.columns[reached.start / edge * edge..reached.end.next_multiple_of(edge)];
        for (cube, columns) in cubes[reached.start / edge..].iter_mut().zip(columns.chunks_exact(edge)) {
            let mut sum = [0.0_f32; 4];
            for column in columns {
                (0..4).for_each(|c| sum[c] += column[c]);
            }
            (0..3).for_each(|c| cube[c] += share * sum[c]);
        }
        columns.fill([0.0; 4]);
    }

    /// Adds the cells to the columns, and the sum of their colours to rows of points.
    fn add(&mut self, filled: &Range<usize>, points: &[usize], weight: f32) {
        self.reached = around(self.reached.clone(), filled);
        let sums = &mut self.sums[..filled.len()];
        add_colors(&self.cells[..filled.len()], &mut self.columns[filled.clone()], sums);
        let nx = self.cells.len();
        for point in points {
            let means = &mut self.means[point * nx..][filled.clone()];
            means.iter_mut().zip(&*sums).for_each(|(mean, sum)| *mean += weight * sum);
        }
    }
}

each_level! {
    /// Computes the sum of three colours, not below 0, and adds the cells, not below 0, to `columns`.
    fn add_colors(cells: &[[f32; 4]], columns: &mut [[f32; 4]], out: &mut [f32]) = add_colors_kernel;
}

#[inline(always)]
fn add_colors_kernel<S: Simd>(_: S, cells: &[[f32; 4]], columns: &mut [[f32; 4]], out: &mut [f32]) {
    for (cell, out) in cells.iter().zip(out) {
        *out = greatest(cell[0] + cell[1] + cell[2], 0.0);
    }
    let columns = columns.as_flattened_mut().iter_mut();
    columns.zip(cells.as_flattened()).for_each(|(column, x)| *column += greatest(*x, 0.0));
}

each_level! {
    /// Adds the weighted sums of pairs.
    fn add_pairs(pairs: &[[f32; 2]], weight: f32, out: &mut [f32]) = add_pairs_kernel;
}

#[inline(always)]
fn add_pairs_kernel<S: Simd>(_: S, pairs: &[[f32; 2]], weight: f32, out: &mut [f32]) {
    let pairs = &pairs[..out.len()];
    for i in 0..out.len() {
        out[i] += weight * pairs[i][0] + weight * pairs[i][1];
    }
}

/// The range around two, of which the first may be empty.
fn around(a: Range<usize>, b: &Range<usize>) -> Range<usize> {
    if a.is_empty() { b.clone() } else { a.start.min(b.start)..a.end.max(b.end) }
}

/// The cells that may hold something in the rows through each row of bricks; `None` where the bricks say that none does.
fn occupied(snapshot: &Snapshot) -> Vec<Option<Range<usize>>> {
    let full = |max: &[f16; 4]| max[..3].iter().any(|&x| x > f16::ZERO);
    let cells = |row: &[[f16; 4]]| {
        let (start, end) = (row.iter().position(full)?, row.iter().rposition(full)?);
        Some(start * BRICK..((end + 1) * BRICK).min(snapshot.dims.nx))
    };
    snapshot.bricks.max.chunks_exact(snapshot.bricks.dims.nx).map(cells).collect()
}
