//! Isolated cells: fine cells that a thin solid cuts off from the coarse cell they lie in.
//!
//! ```text
//!       coarse A      coarse B
//!     ┌─────┬─────┬─────┬─────┐
//!     │  a  ┃  b  │  c  │  d  │      ┃ a plate closes the faces between a and b.
//!     ├─────╂─────┼─────┼─────┤      A stands for its part a. The cells b are isolated: from b
//!     │  a  ┃  b  │  c  │  d  │      no path inside A leads to a. They belong to B, across
//!     └─────┴─────┴─────┴─────┘      their widest face.
//! ```
//!
//! For the coarse grid the plate stands one fine cell aside, between A and B, but does not leak. Without this a plate
//! between the two cells of a pair doubles the iterations.
//!
//! Several ranks each search in their planes and send the isolated cells that they find to all others. There
//! are only as many as cells of thin solids.

use super::coarsen::distance;
use super::kernels::Row;
use super::{Level, WEIGHTS, children};
use crate::solver::project::red_black::Halves;
use crate::solver::storage::row_passes::{leave_room, refill};

/// The isolated cells of a grid: they share a coarse cell with others but have no path to them inside it.
/// Each belongs to a neighbouring coarse cell instead.
#[derive(Default)]
pub struct IsolatedCells {
    /// One bit for each cell, x fastest; empty if there are none.
    bits: Vec<u64>,
    /// The cells, x fastest, and the coarse cell each belongs to.
    parents: Vec<(usize, Option<[usize; 3]>)>,
    /// Red isolated cells, row by row.
    red: Vec<IsolatedCell>,
    rows: Vec<u32>,
    /// Scratch of the search: all isolated cells.
    cells: Vec<[usize; 3]>,
}

/// A red isolated cell.
#[derive(Clone, Copy)]
pub struct IsolatedCell {
    /// Its slot in the row.
    pub slot: u32,
    /// Colour and position of the coarse cell it belongs to.
    pub parent: Option<(usize, usize)>,
}

impl IsolatedCells {
    /// Makes an empty set for a grid of `n` cells.
    pub fn new(n: [usize; 3]) -> Self {
        let bits = Vec::with_capacity(n.iter().product::<usize>().div_ceil(64));
        Self { bits, rows: Vec::with_capacity(n[1] * n[2] + 1), ..Self::default() }
    }

    /// Whether there are none on any rank.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    fn contains(&self, cell: usize) -> bool {
        !self.bits.is_empty() && self.bits[cell / 64] >> (cell % 64) & 1 == 1
    }

    /// Returns the coarse cell a cell belongs to.
    pub(super) fn parent(&self, n: [usize; 3], at: [usize; 3]) -> Option<[usize; 3]> {
        let cell = at[0] + n[0] * (at[1] + n[1] * at[2]);
        if !self.contains(cell) {
            return Some([0, 1, 2].map(|axis| if n[axis] > 1 { at[axis] / 2 } else { 0 }));
        }
        self.parents
            .binary_search_by_key(&cell, |parent| parent.0)
            .ok()
            .and_then(|found| self.parents[found].1)
    }

    /// The red ones of row (j, k).
    #[inline(always)]
    pub fn of_row(&self, row: usize) -> &[IsolatedCell] {
        match self.rows.get(row..row + 2) {
            Some(&[from, to]) => &self.red[from as usize..to as usize],
            _ => &[],
        }
    }
}

impl Level {
    /// Finds coarse cells that a thin solid cuts in two. Such a cell stands for its larger part, or for the
    /// part with the first cell if both are equal. The cells of the other part are isolated and belong to a
    /// neighbouring coarse cell.
    pub fn find_isolated_cells(&mut self, coarse: &Self) {
        let n = self.board.n;
        let mut cells = std::mem::take(&mut self.isolated_cells.cells);
        cells.clear();
        let [low, high] = coarse.setup_planes();
        for k in low..high {
            for j in 0..coarse.board.n[1] {
                for i in self.unusual(j, k).into_iter().flatten() {
                    self.cut_off([i, j, k], &mut cells);
                }
            }
        }
        coarse.setup_ranks.join_lists(&mut cells);
        leave_room(&mut cells);
        let index = |[i, j, k]: [usize; 3]| i + n[0] * (j + n[1] * k);
        cells.sort_unstable_by_key(|&at| index(at));
        self.mark(&cells);
        self.find_parents(&cells);
        self.list_red(&cells, coarse);
        self.isolated_cells.cells = cells;
    }

    /// Sets the bits of the isolated cells.
    fn mark(&mut self, cells: &[[usize; 3]]) {
        let n = self.board.n;
        let words = if cells.is_empty() { 0 } else { n.iter().product::<usize>().div_ceil(64) };
        let bits = &mut self.isolated_cells.bits;
        bits.clear();
        bits.resize(words, 0);
        for cell in cells.iter().map(|&[i, j, k]| i + n[0] * (j + n[1] * k)) {
            bits[cell / 64] |= 1 << (cell % 64);
        }
    }

    /// Finds the coarse cell of each isolated cell.
    fn find_parents(&mut self, cells: &[[usize; 3]]) {
        let n = self.board.n;
        let mut parents = std::mem::take(&mut self.isolated_cells.parents);
        let parent = |&[i, j, k]: &[usize; 3]| (i + n[0] * (j + n[1] * k), self.nearest_parent([i, j, k]));
        let [low, high] = self.own();
        let own = cells.iter().filter(|cell| (low..high).contains(&cell[2]));
        refill(&mut parents, own.map(parent));
        if !self.relax_ranks.is_alone() {
            const NONE: usize = usize::MAX;
            let mut list: Vec<[usize; 4]> = (parents.iter())
                .map(|&(cell, parent)| parent.map_or([cell, NONE, 0, 0], |[i, j, k]| [cell, i, j, k]))
                .collect();
            self.relax_ranks.join_lists(&mut list);
            let parent = |[cell, i, j, k]: [usize; 4]| (cell, (i != NONE).then_some([i, j, k]));
            refill(&mut parents, list.into_iter().map(parent));
        }
        self.isolated_cells.parents = parents;
    }

    /// Lists the red isolated cells by rows.
    fn list_red(&mut self, cells: &[[usize; 3]], coarse: &Self) {
        let n = self.board.n;
        let (mut red, mut rows) =
            (std::mem::take(&mut self.isolated_cells.red), std::mem::take(&mut self.isolated_cells.rows));
        let place = |at: [usize; 3]| coarse.board.at(at[0] as isize, at[1] as isize, at[2] as isize);
        let is_red = |at: &&[usize; 3]| (at[0] + at[1] + at[2]).is_multiple_of(2);
        red.clear();
        rows.clear();
        for at in cells.iter().filter(is_red) {
            // First isolated cell of this row, and of the skipped rows before it.
            rows.resize(at[1] + n[1] * at[2] + 1, red.len() as u32);
            red.push(IsolatedCell {
                slot: (at[0] / 2) as u32,
                parent: self.isolated_cells.parent(n, *at).map(place),
            });
        }
        if !cells.is_empty() {
            rows.resize(n[1] * n[2] + 1, red.len() as u32);
        }
        leave_room(&mut red);
        (self.isolated_cells.red, self.isolated_cells.rows) = (red, rows);
    }

    /// Returns the coarse cell of the neighbour across the widest face.
    fn nearest_parent(&self, at: [usize; 3]) -> Option<[usize; 3]> {
        let n = self.board.n;
        let neighbours = self.neighbours(at).filter(|&(_, next, weight)| {
            weight > 0.0 && !self.isolated_cells.contains(next[0] + n[0] * (next[1] + n[1] * next[2]))
        });
        let widest = neighbours.reduce(|a, b| if b.2 > a.2 { b } else { a })?;
        self.isolated_cells.parent(n, widest.1)
    }

    /// Yields the axis, the neighbour and the weight of each face of a cell. Walls and open sides have no
    /// neighbour.
    pub(super) fn neighbours(&self, at: [usize; 3]) -> impl Iterator<Item = (usize, [usize; 3], f32)> {
        let n = self.board.n;
        (0..6).filter_map(move |n_face| {
            let (axis, high) = (n_face / 2, n_face % 2);
            let is_end = at[axis] + high == 0 || at[axis] + high == n[axis];
            if is_end && !self.is_periodic(axis) {
                return None;
            }
            let (mut face, mut next) = (at, at);
            face[axis] += high;
            next[axis] = (at[axis] + n[axis] + 2 * high - 1) % n[axis];
            Some((axis, next, self.weight(axis, face)))
        })
    }

    /// Coarse cells of a row in which any fine cell has unusual weights.
    fn unusual(&self, j: usize, k: usize) -> Option<std::ops::Range<usize>> {
        let [_, ny, nz] = self.board.n;
        let rows = children(k, nz).flat_map(|k| children(j, ny).map(move |j| j + ny * k));
        let spans = rows.map(|row| self.spans[row]).filter(|[from, to]| from < to);
        let span = spans.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
        Some(span[0] as usize..span[1] as usize)
    }

    /// Finds the children of a coarse cell that are cut off from its larger part. Child c lies at bit a of c
    /// along axis a.
    fn cut_off(&self, coarse: [usize; 3], out: &mut Vec<[usize; 3]>) {
        let n = self.board.n;
        let at = |child: usize| [0, 1, 2].map(|axis| 2 * coarse[axis] + (child >> axis & 1));
        let alive = |child: &usize| {
            let at = at(*child);
            (0..3).all(|axis| at[axis] < n[axis]) && self.is_unknown(at)
        };
        let mut part: [usize; 8] = std::array::from_fn(|child| child);
        for _ in 0..3 {
            for (child, axis) in (0..8).flat_map(|child| (0..3).map(move |axis| (child, axis))) {
                let next = child | 1 << axis;
                if next != child && alive(&next) && self.weight(axis, at(next)) > 0.0 {
                    let least = part[child].min(part[next]);
                    (part[child], part[next]) = (least, least);
                }
            }
        }
        let size = |of: usize| (0..8).filter(alive).filter(|&child| part[child] == of).count();
        let largest = (0..8).rev().max_by_key(|&of| size(of)).unwrap_or(0);
        out.extend((0..8).filter(alive).filter(|&child| part[child] != largest).map(at));
    }

    /// Whether a face leads to an isolated cell.
    pub(super) fn meets_isolated_cell(&self, axis: usize, face: [usize; 3]) -> bool {
        if self.isolated_cells.bits.is_empty() {
            return false;
        }
        let n = self.board.n;
        let (mut below, mut above) = (face, face);
        below[axis] = (face[axis] + n[axis] - 1) % n[axis];
        above[axis] %= n[axis];
        [below, above].iter().any(|at| self.isolated_cells.contains(at[0] + n[0] * (at[1] + n[1] * at[2])))
    }

    /// Adds the faces of isolated cells to the weights between the coarse cells they belong to.
    pub(super) fn join_isolated_cells(&mut self, fine: &Self) {
        let (n, coarse) = (fine.board.n, self.board.n);
        let [low, high] = self.setup_planes();
        for &(cell, parent) in &fine.isolated_cells.parents {
            let Some(parent) = parent else { continue };
            let at = [cell % n[0], cell / n[0] % n[1], cell / (n[0] * n[1])];
            // Cells farther away have no coarse face of this rank.
            if !fine.relax_ranks.knows(at[2], n[2], [WEIGHTS[0], WEIGHTS[1] - 1]) {
                continue;
            }
            for (_, next, weight) in fine.neighbours(at) {
                let beyond = next[0] + n[0] * (next[1] + n[1] * next[2]);
                let seen = fine.isolated_cells.contains(beyond) && beyond < cell;
                let Some(other) = fine.isolated_cells.parent(n, next).filter(|_| !seen) else { continue };
                let Some((axis, face)) = face_between(coarse, parent, other) else { continue };
                if face[axis] > 0 && (low..high).contains(&face[2]) {
                    let old = self.weight(axis, face);
                    self.set(axis, face, old + weight / distance(n[axis], face[axis], n[axis] > 1, false));
                }
            }
        }
    }

    /// Adds the residual of isolated cells to the coarse cells they belong to, in this rank's planes of the `coarse` grid.
    pub(super) fn assign_isolated_cells(&self, rhs: &[f32], phi: &Halves, coarse: &Self, out: &mut Halves) {
        if self.isolated_cells.red.is_empty() {
            return;
        }
        let (ny, own) = (self.board.n[1], coarse.board.inside(coarse.setup_planes()));
        for row in 0..ny * self.board.n[2] {
            for isolated_cell in self.isolated_cells.of_row(row) {
                let Some((color, to)) = isolated_cell.parent.filter(|(_, to)| own.contains(to)) else {
                    continue;
                };
                out[color][to] +=
                    self.residual_in(0, [row % ny, row / ny], isolated_cell.slot as usize, rhs, phi);
            }
        }
    }

    /// rhs − A φ in one cell.
    fn residual_in(&self, color: usize, jk: [usize; 2], slot: usize, rhs: &[f32], phi: &Halves) -> f32 {
        let row = Row::new(self, color, jk, &phi[1 - color]);
        let (own, rhs) = (phi[color][row.at + slot], rhs[row.at + slot]);
        let faces = row.weights(slot, 1).into_iter().zip(row.neighbours(slot, 1));
        rhs - faces.map(|(w, n)| w[0] * (own - n[0])).sum::<f32>()
    }
}

/// The axis and the face between two cells that share one.
fn face_between(n: [usize; 3], a: [usize; 3], b: [usize; 3]) -> Option<(usize, [usize; 3])> {
    let mut apart = (0..3).filter(|&axis| a[axis] != b[axis]);
    let (Some(axis), None) = (apart.next(), apart.next()) else { return None };
    let (low, high) = if a[axis] < b[axis] { (a, b) } else { (b, a) };
    match high[axis] - low[axis] {
        1 => Some((axis, high)),
        d if d + 1 == n[axis] => Some((axis, low)),
        _ => None,
    }
}
