//! One grid of the multigrid: the cut-cell Laplacian and its red-black Gauss–Seidel relaxation.
//!
//! (A φ)_c = Σ_faces w (φ_c − φ_neighbour). On the finest grid w is the open fraction of a face (Batty,
//! Bertails & Bridson 2007). On an open side, where p = 0 lies half a cell away, w = 2 with φ = 0 in the
//! ghost. On a wall w = 0. A cell without an open face is no unknown: its φ stays 0.
//!
//! Away from solids all faces along an axis have the same, usual weight. Each row stores the span of slots
//! with other weights, so most of the grid is relaxed without reading any weights.
//!
//! With several ranks each relaxes its slab and brings a plane of the other colour from its neighbours before every half sweep. Coarse
//! grids of few cells are whole: every rank has and relaxes all planes, with the same bytes, and none waits for another.

use rayon::prelude::*;

use super::boundary::AxisBoundary;
use super::boundary::PressureBoundary::{self, Dirichlet, Neumann, Periodic};
use super::red_black::{Board, Halves};
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes::PerThread;

mod coarsen;
mod isolated_cells;
mod kernels;
mod periodic_seams;
mod rows;
mod transfer;

use isolated_cells::IsolatedCells;
pub use kernels::{dot_row, fold};
use rows::Rows;

/// Number of cells below which a pass is not worth splitting over threads.
const SERIAL: usize = 20_000;

/// Number of cells up to which every rank has a coarse grid whole: exchanges would take longer than the cells.
const WHOLE: usize = 2048;

/// Planes beside a slab whose weights are known. An isolated cell may belong to the coarse cell above or
/// below it, and so may its neighbours. So its faces contribute to coarse faces up to two coarse planes away.
const WEIGHTS: [usize; 2] = [4, 8];

/// Planes beside a slab whose diagonals and spans are known. The owner of a coarse plane restricts the
/// residual of all fine cells in it, and of the isolated cells that belong to it.
const DIAGONALS: [usize; 2] = [2, 3];

/// Weights, their diagonal, and the spans of unusual weights.
pub struct Level {
    pub board: Board,
    beyond: [AxisBoundary; 3],
    /// Weight of a face inside, by axis.
    inner: [f32; 3],
    /// Weight of a face on a side, by axis: low, high.
    side: [[f32; 2]; 3],
    /// Weight of the low face of each cell, by axis; index n holds the high side.
    weights: [Halves; 3],
    /// 1 / Σ w; 0 where nothing is open.
    inverse: Halves,
    /// For each row, j fastest, the slots a..b with weights other than `inner` and `side`.
    spans: Vec<[u32; 2]>,
    /// Rows of faces, j fastest, whose weights may differ from `inner` and `side`.
    special: Rows,
    /// Rows of faces whose weights may have changed since the last [`finish`](Self::finish).
    changed: Rows,
    /// Scratch: rows of faces being updated.
    dirty: Rows,
    /// Cells that belong to another coarse cell than the one they lie in; see [`Self::find_isolated_cells`].
    isolated_cells: IsolatedCells,
    /// Two rows of slots for each thread.
    rows: PerThread<[Vec<f32>; 2]>,
    threads: usize,
    /// The ranks that compute the weights and the right-hand side, each of its planes.
    setup_ranks: Ranks,
    /// The ranks that relax it; alone if it is whole.
    relax_ranks: Ranks,
}

impl Level {
    /// Makes the finest grid, without solids, for a pool of `threads` on each of the `ranks`.
    pub fn finest(n: [usize; 3], beyond: [AxisBoundary; 3], threads: usize, ranks: &Ranks) -> Self {
        let weight = |b: PressureBoundary| match b {
            Neumann => 0.0,
            Dirichlet => 2.0,
            Periodic => 1.0,
        };
        let side = beyond.map(|ends| ends.map(weight));
        let mut level = Self::empty(n, beyond, [1.0; 3], side, threads, [ranks.clone(), ranks.clone()]);
        for axis in 0..3 {
            level.fill(axis, |_| true, |level, at| level.usual(axis, at));
        }
        level.share_weights();
        level.finish();
        level
    }

    fn empty(
        n: [usize; 3],
        beyond: [AxisBoundary; 3],
        mut inner: [f32; 3],
        mut side: [[f32; 2]; 3],
        threads: usize,
        [setup_ranks, relax_ranks]: [Ranks; 2],
    ) -> Self {
        let board = Board::new(n);
        for axis in (0..3).filter(|&axis| n[axis] == 1) {
            // A cell that is its own neighbour has no gradient.
            if beyond[axis][0] == Periodic {
                side[axis] = [0.0; 2];
            }
            if side[axis][0] == side[axis][1] {
                inner[axis] = side[axis][0];
            }
        }
        Self {
            rows: PerThread::new(threads, || [vec![0.0; board.slots], vec![0.0; board.slots]]),
            special: Rows::new(n, false),
            changed: Rows::new(n, true),
            dirty: Rows::new(n, false),
            isolated_cells: IsolatedCells::new(n),
            threads,
            setup_ranks,
            relax_ranks,
            board,
            beyond,
            inner,
            side,
            weights: [board.field(), board.field(), board.field()],
            inverse: board.field(),
            spans: vec![[0; 2]; n[1] * n[2]],
        }
    }

    /// The planes of cells that this rank relaxes.
    pub fn own(&self) -> [usize; 2] {
        self.relax_ranks.slab(self.board.n[2])
    }

    /// The planes of cells whose weights and right-hand side this rank computes.
    fn setup_planes(&self) -> [usize; 2] {
        self.setup_ranks.slab(self.board.n[2])
    }

    /// The ranks that relax it.
    pub fn ranks(&self) -> &Ranks {
        &self.relax_ranks
    }

    /// Brings the planes of one colour that a pass reads beside this slab.
    fn exchange(&self, half: &mut [f32], halo: [usize; 2]) {
        self.relax_ranks.exchange(self.board.planes(), [half], halo);
    }

    /// Brings to this rank the planes of `field` that other ranks have computed: those within `halo`, or all
    /// if this rank has the whole grid.
    fn share(&self, field: &mut Halves, halo: [usize; 2]) {
        let nz = self.board.n[2];
        let halo = if self.relax_ranks.is_alone() { [nz; 2] } else { halo };
        let [red, black] = field;
        self.setup_ranks.exchange(self.board.planes(), [red, black], halo);
    }

    /// Brings the weights beside the slab, and the record of changed rows.
    pub fn share_weights(&mut self) {
        if self.setup_ranks.is_alone() {
            return;
        }
        let mut weights = std::mem::take(&mut self.weights);
        weights.iter_mut().for_each(|weights| self.share(weights, WEIGHTS));
        self.weights = weights;
        self.special.gather(&self.setup_ranks);
        self.changed.gather(&self.setup_ranks);
    }

    fn periodic(&self) -> [bool; 3] {
        self.beyond.map(|ends| ends[0] == Periodic)
    }

    /// Whether any axis is periodic.
    pub fn is_periodic_at_all(&self) -> bool {
        self.periodic().contains(&true)
    }

    /// Whether cells of one colour are neighbours, around a periodic axis with an odd number of cells.
    pub fn meets_itself(&self) -> bool {
        (0..3).any(|axis| self.is_periodic(axis) && !self.board.n[axis].is_multiple_of(2))
    }

    /// Opens all faces inside.
    pub fn open(&mut self) {
        let special = std::mem::take(&mut self.special);
        for axis in 0..3 {
            self.fill(axis, |row| special.contains(row), |level, at| level.usual(axis, at));
        }
        self.changed.add(&special);
        self.special = special;
        self.special.clear();
    }

    /// The weight of a face without a solid near it.
    fn usual(&self, axis: usize, at: [usize; 3]) -> f32 {
        match at[axis] {
            0 => self.side[axis][0],
            i if i == self.board.n[axis] => self.side[axis][1],
            _ => self.inner[axis],
        }
    }

    /// Sets the weights of an axis in the chosen rows of faces of this rank's planes.
    fn fill(
        &mut self,
        axis: usize,
        chosen: impl Fn([usize; 2]) -> bool + Sync,
        value: impl Fn(&Self, [usize; 3]) -> f32 + Sync,
    ) {
        let board = self.board;
        let mut halves = std::mem::take(&mut self.weights[axis]);
        let [red, black] = &mut halves;
        let most = [0, 1, 2].map(|a| board.n[a] + usize::from(a == axis));
        let [low, high] = self.setup_planes();
        let high = if high == board.n[2] { most[2] } else { high };
        let part = (low + 1) * board.plane..(high + 1) * board.plane;
        let planes = red[part.clone()].par_chunks_mut(board.plane);
        let planes = planes.zip(black[part].par_chunks_mut(board.plane));
        let level = &*self;
        planes.enumerate().for_each(|(k, (red, black))| {
            let k = low + k;
            for j in (0..most[1]).filter(|&j| chosen([j, k])) {
                let row = board.row(j as isize, -1);
                for i in 0..most[0] {
                    let half = if (i + j + k) & 1 == 0 { &mut *red } else { &mut *black };
                    half[row + i / 2] = value(level, [i, j, k]);
                }
            }
        });
        self.weights[axis] = halves;
    }

    /// Sets the weight of the face below cell `at`; on a periodic axis also of its twin at the far end.
    pub fn set(&mut self, axis: usize, at: [usize; 3], weight: f32) {
        let n = self.board.n[axis];
        self.put(axis, at, weight);
        self.special.insert([at[1], at[2]]);
        self.changed.insert([at[1], at[2]]);
        if self.beyond[axis][0] == Periodic && (at[axis] == 0 || at[axis] == n) {
            let mut twin = at;
            twin[axis] = n - at[axis];
            self.put(axis, twin, weight);
            self.special.insert([twin[1], twin[2]]);
            self.changed.insert([twin[1], twin[2]]);
        }
    }

    fn put(&mut self, axis: usize, at: [usize; 3], weight: f32) {
        let (color, at) = self.board.at(at[0] as isize, at[1] as isize, at[2] as isize);
        self.weights[axis][color][at] = weight;
    }

    /// The weight of a face.
    pub fn weight(&self, axis: usize, at: [usize; 3]) -> f32 {
        let (color, at) = self.board.at(at[0] as isize, at[1] as isize, at[2] as isize);
        self.weights[axis][color][at]
    }

    /// Boundary condition at an end of an axis.
    pub fn beyond(&self, axis: usize, high: bool) -> PressureBoundary {
        self.beyond[axis][usize::from(high)]
    }

    /// Whether all cells of a row have their usual weights.
    pub fn is_usual_row(&self, [j, k]: [usize; 2]) -> bool {
        let [from, to] = self.spans[j + self.board.n[1] * k];
        from == to
    }

    /// Whether a cell has an open face.
    pub fn is_unknown(&self, at: [usize; 3]) -> bool {
        let (color, at) = self.board.at(at[0] as isize, at[1] as isize, at[2] as isize);
        self.inverse[color][at] > 0.0
    }

    /// Whether an end of an axis leads to the other end.
    pub fn is_periodic(&self, axis: usize) -> bool {
        self.beyond[axis][0] == Periodic
    }

    /// Clears the record of changed rows.
    pub fn forget_changes(&mut self) {
        self.changed.clear();
    }

    /// Computes the diagonal and the spans from the weights.
    pub fn finish(&mut self) {
        let Self { board, inner, side, weights, inverse, spans, changed, relax_ranks, .. } = self;
        let board = *board;
        let view = Weights { board, inner, side, weights };
        for [low, high] in relax_ranks.known(board.n[2], DIAGONALS) {
            let [red, black] = &mut *inverse;
            let part = (low + 1) * board.plane..(high + 1) * board.plane;
            let planes = red[part.clone()]
                .par_chunks_mut(board.plane)
                .zip(black[part].par_chunks_mut(board.plane))
                .zip(spans[low * board.n[1]..high * board.n[1]].par_chunks_mut(board.n[1]));
            planes.enumerate().for_each(|(k, ((red, black), spans))| {
                let k = low + k;
                let is_changed =
                    |j: usize| [[j, k], [j + 1, k], [j, k + 1]].iter().any(|row| changed.contains(*row));
                for (j, span) in spans.iter_mut().enumerate().filter(|(j, _)| is_changed(*j)) {
                    let at = board.row(j as isize, -1);
                    let [red, black] = [&mut red[at..][..board.slots], &mut black[at..][..board.slots]];
                    *span = view.finish_row([j, k], [red, black]);
                }
            });
        }
    }
}

struct Weights<'a> {
    board: Board,
    inner: &'a [f32; 3],
    side: &'a [[f32; 2]; 3],
    weights: &'a [Halves; 3],
}

impl Weights<'_> {
    /// The six weights of a cell: low and high of each axis.
    fn weights_of(&self, at: [usize; 3]) -> [[f32; 2]; 3] {
        [0, 1, 2].map(|axis| {
            [0, 1].map(|high| {
                let mut at = at;
                at[axis] += high;
                let (color, at) = self.board.at(at[0] as isize, at[1] as isize, at[2] as isize);
                self.weights[axis][color][at]
            })
        })
    }

    /// Whether the row kernels know the weights of this cell without reading them.
    fn is_usual(&self, at: [usize; 3], weights: &[[f32; 2]; 3]) -> bool {
        let n = self.board.n;
        let usual = |axis: usize, high: usize| {
            let is_side = at[axis] + high == 0 || at[axis] + high == n[axis];
            let w = if is_side { self.side[axis][high] } else { self.inner[axis] };
            weights[axis][high] == w && (axis == 0 || w == self.inner[axis])
        };
        n[0] > 2 && (0..3).all(|axis| usual(axis, 0) && usual(axis, 1))
    }

    fn finish_row(&self, [j, k]: [usize; 2], inverse: [&mut [f32]; 2]) -> [u32; 2] {
        let mut span: Option<[u32; 2]> = None;
        for i in 0..self.board.n[0] {
            let weights = self.weights_of([i, j, k]);
            let sum: f32 = weights.iter().flatten().sum();
            inverse[(i + j + k) & 1][i / 2] = if sum > 0.0 { 1.0 / sum } else { 0.0 };
            if !self.is_usual([i, j, k], &weights) {
                let slot = (i / 2) as u32;
                span = Some([span.map_or(slot, |s| s[0]), slot + 1]);
            }
        }
        span.unwrap_or_default()
    }
}

/// The one or two fine cells along an axis of `n` that make up coarse cell `at`.
#[inline(always)]
fn children(at: usize, n: usize) -> std::ops::Range<usize> {
    2 * at..(2 * at + 2).min(n)
}
