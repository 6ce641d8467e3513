//! Densities at nodes: means over cells or over finer nodes, weighted by tents.

use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::Nodes;
use crate::grid::Dims;
use crate::snapshot::{BRICK, Snapshot};

/// Values of which a node is the mean along one axis: first value and weights of a tent. It extends by one
/// node spacing to either side.
struct Tent {
    first: usize,
    weights: Vec<f32>,
}

/// Tents for `nodes` nodes spread from the first to the last border of `cells` cells.
fn tents(nodes: usize, cells: usize) -> Vec<Tent> {
    let spacing = cells as f32 / (nodes - 1) as f32;
    let tent = |node: usize| {
        let middle = node as f32 * spacing;
        let first = (middle - spacing).floor().max(0.0) as usize;
        let last = ((middle + spacing).ceil() as usize).min(cells);
        let weight = |cell: usize| (1.0 - (cell as f32 + 0.5 - middle).abs() / spacing).max(0.0);
        Tent::new(first, (first..last).map(weight))
    };
    (0..nodes).map(tent).collect()
}

/// Sum of the three colours at the nodes. `planes` is scratch: for each layer of cells in z, the nodes in x
/// and y.
pub(super) fn gather_density(snapshot: &Snapshot, nodes: Dims, planes: &mut Vec<f32>, out: &mut Vec<f32>) {
    let cells = snapshot.dims;
    let plane = nodes.nx * nodes.ny;
    let (in_x, in_y) = (tents(nodes.nx, cells.nx), tents(nodes.ny, cells.ny));
    planes.clear();
    planes.resize(plane * cells.nz, 0.0);
    planes.par_chunks_mut(plane).enumerate().for_each(|(k, plane)| {
        let (mut rows, mut narrowed) = (RowSums::new(cells.nx), Vec::new());
        for j in 0..cells.ny {
            let Some((filled, row)) = rows.of(snapshot, j, k) else { continue };
            let reached = reached(&in_x, &filled);
            narrowed.clear();
            narrowed.extend(in_x[reached.clone()].iter().map(|tent| tent.mean(row)));
            for (node_j, tent) in in_y.iter().enumerate() {
                let Some(weight) = j.checked_sub(tent.first).and_then(|n| tent.weights.get(n)) else {
                    continue;
                };
                let out = &mut plane[node_j * nodes.nx..][reached.clone()];
                out.iter_mut().zip(&narrowed).for_each(|(out, x)| *out += weight * x);
            }
        }
    });
    let in_z = tents(nodes.nz, cells.nz);
    out.clear();
    out.resize(nodes.cells(), 0.0);
    out.par_chunks_mut(plane).zip(&in_z).for_each(|(out, tent)| {
        tent.mean_of_rows(planes, out);
    });
}

impl Tent {
    fn new(first: usize, weights: impl Iterator<Item = f32>) -> Self {
        let weights: Vec<f32> = weights.collect();
        let sum: f32 = weights.iter().sum();
        Self { first, weights: weights.iter().map(|w| w / sum).collect() }
    }

    fn mean(&self, row: &[f32]) -> f32 {
        self.weights.iter().zip(&row[self.first..]).map(|(w, x)| w * x).sum()
    }

    /// Mean of whole rows of `rows`, each as long as `out`.
    fn mean_of_rows(&self, rows: &[f32], out: &mut [f32]) {
        for (n, weight) in self.weights.iter().enumerate() {
            let row = &rows[(self.first + n) * out.len()..][..out.len()];
            out.iter_mut().zip(row).for_each(|(out, x)| *out += weight * x);
        }
    }
}

/// Converts rows of half floats to rows of total density.
struct RowSums {
    floats: Vec<f32>,
    sums: Vec<f32>,
}

impl RowSums {
    fn new(nx: usize) -> Self {
        Self { floats: vec![0.0; 4 * nx], sums: vec![0.0; nx] }
    }

    /// The row and its cells that may be occupied; `None` if its bricks are empty.
    fn of(&mut self, snapshot: &Snapshot, j: usize, k: usize) -> Option<(Range<usize>, &[f32])> {
        let bricks = &snapshot.bricks;
        let first = bricks.dims.index(0, j / BRICK, k / BRICK);
        let full = |max: &[f16; 4]| max[..3].iter().any(|&x| x > f16::ZERO);
        let row = &bricks.max[first..][..bricks.dims.nx];
        let (start, end) = (row.iter().position(full)?, row.iter().rposition(full)?);
        let filled = start * BRICK..((end + 1) * BRICK).min(snapshot.dims.nx);
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

/// Nodes whose tents touch any of some values; both in order.
fn reached(tents: &[Tent], values: &Range<usize>) -> Range<usize> {
    let start = tents.partition_point(|tent| tent.first + tent.weights.len() <= values.start);
    let end = tents.partition_point(|tent| tent.first < values.end);
    start..end.max(start)
}

/// Coarsens the nodes of `fine` to `dims`, one axis at a time: each is the mean of the nodes around it.
pub(super) fn coarsen(fine: Nodes, dims: Dims, pass: &mut [Vec<f32>; 2], out: &mut Vec<f32>) {
    let from = fine.dims;
    let [xs, ys, zs] = std::array::from_fn(|a| node_tents(dims.array()[a], from.array()[a]));
    let [in_x, in_xy] = pass;
    in_x.clear();
    in_x.extend(fine.values.chunks_exact(from.nx).flat_map(|row| xs.iter().map(|tent| tent.mean(row))));
    in_xy.clear();
    in_xy.resize(dims.nx * dims.ny * from.nz, 0.0);
    for (plane, out) in in_x.chunks_exact(dims.nx * from.ny).zip(in_xy.chunks_exact_mut(dims.nx * dims.ny)) {
        ys.iter().zip(out.chunks_exact_mut(dims.nx)).for_each(|(tent, out)| tent.mean_of_rows(plane, out));
    }
    out.clear();
    out.resize(dims.cells(), 0.0);
    zs.iter()
        .zip(out.chunks_exact_mut(dims.nx * dims.ny))
        .for_each(|(tent, out)| tent.mean_of_rows(in_xy, out));
}

/// Tents that make `coarse` nodes of `fine` ones; the first and the last keep their positions.
fn node_tents(coarse: usize, fine: usize) -> Vec<Tent> {
    let spacing = (fine - 1) as f32 / (coarse - 1) as f32;
    let tent = |node: usize| {
        let middle = node as f32 * spacing;
        let first = (middle - spacing).ceil().max(0.0) as usize;
        let last = ((middle + spacing).floor() as usize).min(fine - 1);
        Tent::new(first, (first..=last).map(|n| (1.0 - (n as f32 - middle).abs() / spacing).max(0.0)))
    };
    (0..coarse).map(tent).collect()
}
