//! Closed regions of air: the whole of a closed box, or air enclosed by a solid.
//!
//! ```text
//!     row j + 2   aaaaaaaaaa        # solid; a, b: runs of connected cells along x
//!     row j + 1   aaa####aaa
//!     row j       aa##bb##aa        the two runs b share an open face: one region
//!     row j − 1   aa#bbbb#aa        a touches an open side, so p is fixed there
//!     row j − 2   aaa####aaa        b is closed: p is free up to a constant
//! ```
//!
//! In a closed region the pressure is known up to a constant, so A is singular there. The system has a solution only
//! if the right-hand side has no mean in each of them; [`EnclosedRegions::remove_means`] subtracts it. The search joins
//! runs of connected cells along x with those of the neighbouring rows (union–find). With several ranks each finds the runs of
//! its slab, and all join the runs of the whole box: these are about as many as its rows.

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::boundary::PressureBoundary::Dirichlet;
use super::level::{Level, fold};
use super::red_black::{Board, Halves};
use crate::simd::{Simd, each_level};
use crate::solver::storage::row_passes::{leave_room, refill};

/// A run of connected cells in one row.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Run {
    row: [u32; 2],
    from: u32,
    to: u32,
    region: u32,
    /// 1 if a cell of it lies at an open side.
    open: u32,
}

/// All closed regions of air.
#[derive(Default)]
pub struct EnclosedRegions {
    /// Runs, ordered by plane, row and start.
    runs: Vec<Run>,
    /// Index of the first run of each plane, and the number of runs at the end.
    planes: Vec<usize>,
    /// Number of cells of each region.
    cells: Vec<u64>,
    sums: Vec<f64>,
    means: Vec<f64>,
    work: Work,
}

/// Memory for the search: all runs, open or not.
#[derive(Default)]
struct Work {
    runs: Vec<Run>,
    /// Index of the first run of each row, j fastest, and the number of runs at the end.
    rows: Vec<usize>,
    /// Pairs of runs in neighbouring rows that share an open face.
    pairs: Vec<[u32; 2]>,
    /// Union–find: the parent of each run, and whether its region leads outside.
    parent: Vec<u32>,
    open: Vec<bool>,
    /// Number of the region of each root.
    number: Vec<u32>,
}

impl EnclosedRegions {
    /// Finds the closed regions of the finest grid.
    pub fn find(&mut self, level: &Level) {
        let mut search = Search { level, work: &mut self.work };
        search.find_runs();
        search.find_pairs();
        search.join_pairs();
        self.number(level);
    }

    /// Numbers the closed regions and keeps their runs.
    fn number(&mut self, level: &Level) {
        let Self { runs, planes, cells, sums, means, work } = self;
        let mut search = Search { level, work };
        runs.clear();
        planes.clear();
        cells.clear();
        let [_, ny, nz] = level.board.n;
        planes.push(0);
        let count = search.work.runs.len();
        refill(&mut search.work.number, std::iter::repeat_n(u32::MAX, count));
        for k in 0..nz {
            for run in search.work.rows[ny * k]..search.work.rows[ny * (k + 1)] {
                let root = search.root(run);
                if search.work.open[root] {
                    continue;
                }
                let number = &mut search.work.number[root];
                if *number == u32::MAX {
                    *number = cells.len() as u32;
                    cells.push(0);
                }
                let found = Run { region: *number, ..search.work.runs[run] };
                cells[found.region as usize] += u64::from(found.to - found.from);
                runs.push(found);
            }
            planes.push(runs.len());
        }
        leave_room(runs);
        leave_room(cells);
        refill(sums, std::iter::repeat_n(0.0, runs.len()));
        refill(means, std::iter::repeat_n(0.0, cells.len()));
    }

    /// Number of closed regions.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.cells.len()
    }

    /// Subtracts from each closed region its mean.
    pub fn remove_means(&mut self, level: &Level, field: &mut Halves) {
        if self.cells.is_empty() {
            return;
        }
        let Self { runs, planes, cells, sums, means, .. } = self;
        let (board, ranks, [low, high]) = (level.board, level.ranks(), level.own());
        let own = planes[low]..planes[high];
        let halves = [field[0].as_slice(), field[1].as_slice()];
        let of_slab = sums[own.clone()].par_chunks_mut(256).zip(runs[own].par_chunks(256));
        of_slab.for_each(|(sums, runs)| {
            for (sum, run) in sums.iter_mut().zip(runs) {
                *sum = [0, 1].map(|color| sum_of(&halves[color][run.slots(board, color)])).iter().sum();
            }
        });
        ranks.gather_from(sums, |plane| planes[plane]);
        means.fill(0.0);
        runs.iter().zip(&*sums).for_each(|(run, sum)| means[run.region as usize] += sum);
        means.iter_mut().zip(cells).for_each(|(mean, cells)| *mean /= *cells as f64);
        let inside = board.inside([low, high]);
        for (color, half) in field.iter_mut().enumerate() {
            half[inside.clone()].par_chunks_mut(board.plane).enumerate().for_each(|(k, plane)| {
                let k = low + k;
                for run in &runs[planes[k]..planes[k + 1]] {
                    let slots = run.slots(board, color);
                    let slots = slots.start - (k + 1) * board.plane..slots.end - (k + 1) * board.plane;
                    let mean = means[run.region as usize] as f32;
                    plane[slots].iter_mut().for_each(|value| *value -= mean);
                }
            });
        }
    }
}

fn sum_of(values: &[f32]) -> f64 {
    let mut sum = 0.0;
    add_up(values, &mut sum);
    f64::from(sum)
}

each_level! { fn add_up(values: &[f32], sum: &mut f32) = add_up_kernel; }

#[inline(always)]
fn add_up_kernel<S: Simd>(_: S, values: &[f32], sum: &mut f32) {
    let (chunks, rest) = values.as_chunks::<16>();
    let mut sums = [0.0f32; 16];
    for chunk in chunks {
        for l in 0..16 {
            sums[l] += chunk[l];
        }
    }
    rest.iter().enumerate().for_each(|(l, value)| sums[l] += value);
    *sum = fold(sums);
}

impl Run {
    /// Slots of one colour in the run.
    fn slots(&self, board: Board, color: usize) -> std::ops::Range<usize> {
        let [j, k] = self.row.map(|x| x as isize);
        let first = board.first(color, j, k);
        let slot = |i: u32| (i as usize + 1 - first) / 2;
        let at = board.row(j, k);
        at + slot(self.from)..at + slot(self.to)
    }
}

struct Search<'a> {
    level: &'a Level,
    work: &'a mut Work,
}

impl Search<'_> {
    fn find_runs(&mut self) {
        let Work { runs, rows, parent, open, .. } = &mut *self.work;
        let [_, ny, nz] = self.level.board.n;
        let [low, high] = self.level.own();
        runs.clear();
        for (k, j) in (low..high).flat_map(|k| (0..ny).map(move |j| (k, j))) {
            runs_of_row(self.level, [j, k], runs);
        }
        runs.iter_mut().for_each(|run| run.open = leads_outside(self.level, run).into());
        self.level.ranks().join_lists(runs);
        leave_room(runs);
        // First run of each row.
        rows.clear();
        for (at, run) in runs.iter().enumerate() {
            let [j, k] = run.row.map(|x| x as usize);
            rows.resize((j + ny * k + 1).max(rows.len()), at);
        }
        rows.resize(ny * nz + 1, runs.len());
        refill(parent, 0..runs.len() as u32);
        refill(open, runs.iter().map(|run| run.open != 0));
    }

    fn root(&mut self, run: usize) -> usize {
        let mut at = run as u32;
        while self.work.parent[at as usize] != at {
            let up = self.work.parent[self.work.parent[at as usize] as usize];
            self.work.parent[at as usize] = up;
            at = up;
        }
        at as usize
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.work.parent[high] = low as u32;
        self.work.open[low] |= self.work.open[high];
    }

    /// Joins the runs that open faces connect.
    fn join_pairs(&mut self) {
        let mut pairs = std::mem::take(&mut self.work.pairs);
        self.level.ranks().join_lists(&mut pairs);
        leave_room(&mut pairs);
        pairs.iter().for_each(|pair| self.join(pair[0] as usize, pair[1] as usize));
        self.work.pairs = pairs;
    }

    fn find_pairs(&mut self) {
        let [nx, ny, nz] = self.level.board.n;
        let [low, high] = self.level.own();
        self.work.pairs.clear();
        for k in low..high {
            for j in 0..ny {
                if j > 0 || self.level.is_periodic(1) {
                    self.find_neighbours(1, [j, k], [if j > 0 { j - 1 } else { ny - 1 }, k]);
                }
                if k > 0 || self.level.is_periodic(2) {
                    self.find_neighbours(2, [j, k], [j, if k > 0 { k - 1 } else { nz - 1 }]);
                }
                let runs = self.work.rows[j + ny * k]..self.work.rows[j + ny * k + 1];
                if self.level.is_periodic(0) && !runs.is_empty() {
                    let (first, last) = (runs.start, runs.end - 1);
                    let touch = self.work.runs[first].from == 0 && self.work.runs[last].to == nx as u32;
                    if touch && self.level.weight(0, [0, j, k]) > 0.0 {
                        self.work.pairs.push([first as u32, last as u32]);
                    }
                }
            }
        }
    }

    /// Finds the runs of row `here` that open faces join with those of the row below it along `axis`.
    fn find_neighbours(&mut self, axis: usize, here: [usize; 2], below: [usize; 2]) {
        let ny = self.level.board.n[1];
        let range = |row: [usize; 2]| {
            [self.work.rows[row[0] + ny * row[1]], self.work.rows[row[0] + ny * row[1] + 1]]
        };
        let ([mut a, end_a], [mut b, end_b]) = (range(here), range(below));
        while a < end_a && b < end_b {
            let (from, to) = (
                self.work.runs[a].from.max(self.work.runs[b].from),
                self.work.runs[a].to.min(self.work.runs[b].to),
            );
            let open = |i: u32| self.level.weight(axis, [i as usize, here[0], here[1]]) > 0.0;
            if from < to && (from..to).any(open) {
                self.work.pairs.push([a as u32, b as u32]);
            }
            if self.work.runs[a].to < self.work.runs[b].to { a += 1 } else { b += 1 }
        }
    }
}

fn runs_of_row(level: &Level, [j, k]: [usize; 2], runs: &mut Vec<Run>) {
    let nx = level.board.n[0] as u32;
    let run = |from: u32, to: u32| Run { row: [j as u32, k as u32], from, to, region: 0, open: 0 };
    if level.is_usual_row([j, k]) {
        runs.push(run(0, nx));
        return;
    }
    let mut from = None;
    for i in 0..nx {
        let at = [i as usize, j, k];
        let alive = level.is_unknown(at);
        let joined = alive && i > 0 && level.weight(0, at) > 0.0;
        if let Some(start) = from.filter(|_| !joined) {
            runs.push(run(start, i));
            from = None;
        }
        from = from.or(alive.then_some(i));
    }
    runs.extend(from.map(|start| run(start, nx)));
}

/// Whether a cell of the run lies at an open side.
fn leads_outside(level: &Level, run: &Run) -> bool {
    let [j, k] = run.row.map(|x| x as usize);
    let n = level.board.n;
    let open = |axis: usize, high: bool, at: [usize; 3]| {
        level.beyond(axis, high) == Dirichlet && {
            let mut face = at;
            face[axis] += usize::from(high);
            level.weight(axis, face) > 0.0
        }
    };
    let ends = [([run.from as usize, j, k], false), ([run.to as usize - 1, j, k], true)];
    let along =
        ends.iter().any(|&(at, high)| (at[0] == if high { n[0] - 1 } else { 0 }) && open(0, high, at));
    let beside = [(1, j), (2, k)].iter().any(|&(axis, index)| {
        [(false, 0), (true, n[axis] - 1)].iter().any(|&(high, edge)| {
            index == edge
                && level.beyond(axis, high) == Dirichlet
                && (run.from..run.to).any(|i| open(axis, high, [i as usize, j, k]))
        })
    });
    along || beside
}
