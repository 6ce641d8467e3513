//! One grid of the multigrid: the cut-cell Laplacian and red-black Gauss–Seidel relaxation on it.
//!
//! (A φ)_c = Σ_faces w (φ_c − φ_neighbour). On the finest grid w is the open fraction of a face (Batty, Bertails &
//! Bridson 2007); 2 on an open side, where p = 0 lies half a cell away, with φ = 0 in the ghost; 0 on a wall. A cell
//! with no open face is no unknown: its φ stays 0.
//!
//! Away from solids all faces along an axis have one weight. Each row knows the span of slots where that does not hold,
//! so that most of the grid is relaxed without reading any weights.

use rayon::prelude::*;

use super::checker::{Board, Halves};
use super::transform::Ends;
use crate::solver::simd::{dispatch, fma};
use crate::solver::sweep::PerThread;

/// Cells below which a pass is not worth splitting over threads.
const SERIAL: usize = 20_000;

/// A set of rows (j, k) of faces, 0 ≤ j ≤ n_y, 0 ≤ k ≤ n_z.
struct Rows {
    pitch: usize,
    has: Vec<bool>,
}

impl Rows {
    fn new(n: [usize; 3], all: bool) -> Self {
        Self { pitch: n[1] + 1, has: vec![all; (n[1] + 1) * (n[2] + 1)] }
    }

    fn contains(&self, [j, k]: [usize; 2]) -> bool {
        self.has[j + self.pitch * k]
    }

    fn insert(&mut self, [j, k]: [usize; 2]) {
        self.has[j + self.pitch * k] = true;
    }

    fn add(&mut self, other: &Self) {
        self.has.iter_mut().zip(&other.has).for_each(|(has, other)| *has |= other);
    }

    /// The rows of a grid half as fine that depend on these, and those beside them.
    fn halved(&self, n: [usize; 3], coarse: [usize; 3]) -> Self {
        let mut rows = Self::new(coarse, false);
        let half = |x: usize, axis: usize| if n[axis] > 1 { x / 2 } else { x };
        for (at, _) in self.has.iter().enumerate().filter(|(_, has)| **has) {
            let (j, k) = (at % self.pitch, at / self.pitch);
            for (j, k) in (0..3).flat_map(|a| (0..3).map(move |b| (j + a, k + b))) {
                let row = [
                    half(j.saturating_sub(1), 1).min(coarse[1]),
                    half(k.saturating_sub(1), 2).min(coarse[2]),
                ];
                rows.insert(row);
            }
        }
        rows
    }
}

/// Cells that share a coarse cell with others but no path to them inside it, and belong to a neighbouring one instead.
#[derive(Default)]
struct Orphans {
    /// One bit for each cell, x fastest; empty if there are none.
    bits: Vec<u64>,
    /// The cells, x fastest, and the coarse cell each belongs to.
    homes: Vec<(usize, Option<[usize; 3]>)>,
    /// The red ones, row by row, and where each row's begin.
    red: Vec<Orphan>,
    rows: Vec<u32>,
}

/// A red orphan.
#[derive(Clone, Copy)]
struct Orphan {
    slot: u32,
    /// Colour and position of the coarse cell it belongs to.
    home: Option<(usize, usize)>,
}

impl Orphans {
    fn contains(&self, cell: usize) -> bool {
        !self.bits.is_empty() && self.bits[cell / 64] >> (cell % 64) & 1 == 1
    }

    /// The coarse cell a cell belongs to.
    fn home(&self, n: [usize; 3], at: [usize; 3]) -> Option<[usize; 3]> {
        let cell = at[0] + n[0] * (at[1] + n[1] * at[2]);
        if !self.contains(cell) {
            return Some([0, 1, 2].map(|axis| if n[axis] > 1 { at[axis] / 2 } else { 0 }));
        }
        self.homes.binary_search_by_key(&cell, |home| home.0).ok().and_then(|found| self.homes[found].1)
    }

    /// The red ones of row (j, k).
    #[inline(always)]
    fn of_row(&self, row: usize) -> &[Orphan] {
        match self.rows.get(row..row + 2) {
            Some(&[from, to]) => &self.red[from as usize..to as usize],
            _ => &[],
        }
    }
}

/// What an end of an axis does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Nothing crosses.
    Wall,
    /// Pressure 0 on the side.
    Rest,
    /// The other end of the axis.
    Around,
}

impl Beyond {
    /// What an axis does at its low or high end.
    pub fn end(ends: Ends, high: bool) -> Self {
        match (ends, high) {
            (Ends::Periodic, _) => Self::Around,
            (Ends::Open, _) | (Ends::ClosedOpen, true) | (Ends::OpenClosed, false) => Self::Rest,
            _ => Self::Wall,
        }
    }
}

/// Weights, their diagonal, and where they are not the usual ones.
pub struct Level {
    pub board: Board,
    beyond: [[Beyond; 2]; 3],
    /// Weight of a face inside, by axis.
    inner: [f32; 3],
    /// Weight of a face on a side, by axis: low, high.
    side: [[f32; 2]; 3],
    /// Weight of the low face of each cell, by axis; those beyond n are the high sides.
    weights: [Halves; 3],
    /// 1 / Σ w; 0 where nothing is open.
    inverse: Halves,
    /// For each row, j fastest, the slots a..b with other weights than `inner` and `side`.
    spans: Vec<[u32; 2]>,
    /// Rows of faces, j fastest, whose weights may be others than `inner` and `side`.
    special: Rows,
    /// Rows of faces whose weights may have changed since the last [`finish`](Self::finish).
    changed: Rows,
    /// Cells whose coarse cell is not the one they lie in; see [`Self::find_orphans`].
    orphans: Orphans,
    /// Two rows of slots for each thread.
    rows: PerThread<[Vec<f32>; 2]>,
    threads: usize,
}

impl Level {
    /// The finest grid, without solids, for a pool of `threads`.
    pub fn finest(n: [usize; 3], beyond: [[Beyond; 2]; 3], threads: usize) -> Self {
        let weight = |b: Beyond| match b {
            Beyond::Wall => 0.0,
            Beyond::Rest => 2.0,
            Beyond::Around => 1.0,
        };
        let mut level = Self::empty(n, beyond, [1.0; 3], beyond.map(|ends| ends.map(weight)), threads);
        for axis in 0..3 {
            level.fill(axis, |_| true, |level, at| level.usual(axis, at));
        }
        level.finish();
        level
    }

    fn empty(
        n: [usize; 3],
        beyond: [[Beyond; 2]; 3],
        mut inner: [f32; 3],
        mut side: [[f32; 2]; 3],
        threads: usize,
    ) -> Self {
        let board = Board::new(n);
        for axis in (0..3).filter(|&axis| n[axis] == 1) {
            // A cell that is its own neighbour feels no gradient.
            if beyond[axis][0] == Beyond::Around {
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
            orphans: Orphans::default(),
            threads,
            board,
            beyond,
            inner,
            side,
            weights: [board.field(), board.field(), board.field()],
            inverse: board.field(),
            spans: vec![[0; 2]; n[1] * n[2]],
        }
    }

    /// The grid half as fine, its weights not yet set. An axis of one cell stays.
    pub fn coarser(&self) -> Self {
        let n = self.board.n;
        let halved = |axis: usize| if n[axis] > 1 { 2.0 } else { 1.0 };
        let scale = [0, 1, 2].map(|axis| {
            let area = (0..3).filter(|&other| other != axis).map(halved).product::<f32>();
            area / halved(axis)
        });
        let inner = [0, 1, 2].map(|axis| self.inner[axis] * scale[axis]);
        let side = [0, 1, 2].map(|axis| self.side[axis].map(|w| w * scale[axis]));
        Self::empty(n.map(|n| n.div_ceil(2)), self.beyond, inner, side, self.threads)
    }

    fn periodic(&self) -> [bool; 3] {
        self.beyond.map(|ends| ends[0] == Beyond::Around)
    }

    /// Whether any axis is periodic.
    pub fn is_periodic_at_all(&self) -> bool {
        self.periodic().contains(&true)
    }

    /// Zeros the cells of a colour that are no unknowns.
    pub fn mask(&self, color: usize, half: &mut [f32]) {
        let inverse = &self.inverse[color];
        self.planes(half, |k, out| {
            let at = (k + 1) * self.board.plane;
            mask_plane(&inverse[at..][..out.len()], out);
        });
    }

    /// Whether cells of one colour are neighbours, around a periodic axis with an odd number of cells.
    pub fn meets_itself(&self) -> bool {
        (0..3).any(|axis| self.is_periodic(axis) && !self.board.n[axis].is_multiple_of(2))
    }

    /// Opens all faces inside.
    pub fn open(&mut self) {
        let special = std::mem::replace(&mut self.special, Rows::new(self.board.n, false));
        for axis in 0..3 {
            self.fill(axis, |row| special.contains(row), |level, at| level.usual(axis, at));
        }
        self.changed.add(&special);
    }

    /// The weight of a face where no solid is near.
    fn usual(&self, axis: usize, at: [usize; 3]) -> f32 {
        match at[axis] {
            0 => self.side[axis][0],
            i if i == self.board.n[axis] => self.side[axis][1],
            _ => self.inner[axis],
        }
    }

    /// Sets the weights of an axis in the chosen rows of faces.
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
        let planes = red[board.plane..].par_chunks_mut(board.plane);
        let planes = planes.zip(black[board.plane..].par_chunks_mut(board.plane)).take(most[2]);
        let level = &*self;
        planes.enumerate().for_each(|(k, (red, black))| {
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

    /// Sets the weight of one face, counted as the cell above it; on a periodic axis also of its twin at the far end.
    pub fn set(&mut self, axis: usize, at: [usize; 3], weight: f32) {
        let n = self.board.n[axis];
        self.put(axis, at, weight);
        self.special.insert([at[1], at[2]]);
        self.changed.insert([at[1], at[2]]);
        if self.beyond[axis][0] == Beyond::Around && (at[axis] == 0 || at[axis] == n) {
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

    /// What an end of an axis does.
    pub fn beyond(&self, axis: usize, high: bool) -> Beyond {
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
        self.beyond[axis][0] == Beyond::Around
    }

    /// Looks for coarse cells that a thin solid cuts in two. Such a cell stands for its larger part (the one that holds
    /// the first cell, if they are equal); the others are orphans and belong to a coarse cell beside them. For the coarse
    /// grid the solid thus stands one fine cell aside, but does not leak. Without this a plate between the two cells of a
    /// pair doubles the iterations.
    pub fn find_orphans(&mut self, coarse: &Self) {
        let n = self.board.n;
        let mut cells = Vec::new();
        for k in 0..coarse.board.n[2] {
            for j in 0..coarse.board.n[1] {
                for i in self.unusual(j, k).into_iter().flatten() {
                    self.cut_off([i, j, k], &mut cells);
                }
            }
        }
        self.orphans = Orphans::default();
        if cells.is_empty() {
            return;
        }
        let index = |[i, j, k]: [usize; 3]| i + n[0] * (j + n[1] * k);
        cells.sort_unstable_by_key(|&at| index(at));
        self.orphans.bits = vec![0; n.iter().product::<usize>().div_ceil(64)];
        for cell in cells.iter().map(|&at| index(at)) {
            self.orphans.bits[cell / 64] |= 1 << (cell % 64);
        }
        let homes = cells.iter().map(|&at| (index(at), self.nearest_home(at))).collect();
        self.orphans.homes = homes;
        let is_red = |at: &&[usize; 3]| (at[0] + at[1] + at[2]).is_multiple_of(2);
        let red: Vec<[usize; 3]> = cells.iter().filter(is_red).copied().collect();
        let place = |at: [usize; 3]| coarse.board.at(at[0] as isize, at[1] as isize, at[2] as isize);
        let orphan =
            |at: &[usize; 3]| Orphan { slot: (at[0] / 2) as u32, home: self.orphans.home(n, *at).map(place) };
        self.orphans.red = red.iter().map(orphan).collect();
        let first = |row: usize| red.partition_point(|at| at[1] + n[1] * at[2] < row) as u32;
        self.orphans.rows = (0..=n[1] * n[2]).map(first).collect();
    }

    /// The coarse cell of the neighbour an orphan has the widest face to.
    fn nearest_home(&self, at: [usize; 3]) -> Option<[usize; 3]> {
        let n = self.board.n;
        let neighbours = self.neighbours(at).filter(|&(_, next, weight)| {
            weight > 0.0 && !self.orphans.contains(next[0] + n[0] * (next[1] + n[1] * next[2]))
        });
        let widest = neighbours.reduce(|a, b| if b.2 > a.2 { b } else { a })?;
        self.orphans.home(n, widest.1)
    }

    /// The axis and the cell beyond each face of a cell, and the face's weight; none beyond walls and open sides.
    fn neighbours(&self, at: [usize; 3]) -> impl Iterator<Item = (usize, [usize; 3], f32)> {
        let n = self.board.n;
        (0..6).filter_map(move |face| {
            let (axis, high) = (face / 2, face % 2);
            let is_end = at[axis] + high == 0 || at[axis] + high == n[axis];
            if is_end && !self.is_periodic(axis) {
                return None;
            }
            let (mut of, mut next) = (at, at);
            of[axis] += high;
            next[axis] = (at[axis] + n[axis] + 2 * high - 1) % n[axis];
            Some((axis, next, self.weight(axis, of)))
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

    /// The children of a coarse cell that are cut off from its larger part. Child c lies at bit a of c along axis a.
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

    /// Takes the weights from a grid twice as fine: half the sum of the four faces that make up a coarse one, since
    /// cell centres are twice as far apart. Where the last cell of an axis holds one fine cell they are nearer.
    ///
    /// Only rows near those that have changed are done anew. To be called before `fine` [forgets](Self::forget_changes) them.
    pub fn coarsen(&mut self, fine: &Self) {
        let (board, from) = (self.board, fine.board);
        let mut rows = fine.changed.halved(from.n, board.n);
        rows.add(&self.special);
        self.special.add(&rows);
        self.changed.add(&rows);
        let [split_x, split_y, split_z] = from.n.map(|n| n > 1);
        for axis in 0..3 {
            let split = [split_x, split_y, split_z][axis];
            let distance = |at: usize| distance(from.n[axis], at, split, fine.is_periodic(axis));
            let fine_weights = &fine.weights[axis];
            let own_neighbour = board.n[axis] == 1 && fine.is_periodic(axis);
            let value = |_: &Self, at: [usize; 3]| {
                if own_neighbour {
                    return 0.0;
                }
                let along = |a: usize| {
                    let first = if from.n[a] > 1 { 2 * at[a] } else { at[a] };
                    let first = first.min(from.n[a]);
                    let count = if a == axis || from.n[a] == 1 { 1 } else { 2 };
                    first..(first + count).min(from.n[a] + usize::from(a == axis))
                };
                let mut sum = 0.0;
                for k in along(2) {
                    for j in along(1) {
                        for i in along(0) {
                            if !fine.meets_orphan(axis, [i, j, k]) {
                                let (color, at) = from.at(i as isize, j as isize, k as isize);
                                sum += fine_weights[color][at];
                            }
                        }
                    }
                }
                sum / distance(at[axis])
            };
            self.fill(axis, |row| rows.contains(row), value);
        }
        self.join_orphans(fine);
    }

    /// Whether a face leads to an orphan.
    fn meets_orphan(&self, axis: usize, face: [usize; 3]) -> bool {
        if self.orphans.bits.is_empty() {
            return false;
        }
        let n = self.board.n;
        let (mut below, mut above) = (face, face);
        below[axis] = (face[axis] + n[axis] - 1) % n[axis];
        above[axis] %= n[axis];
        [below, above].iter().any(|at| self.orphans.contains(at[0] + n[0] * (at[1] + n[1] * at[2])))
    }

    /// Adds what the faces of orphans contribute to the weights between the coarse cells they belong to.
    fn join_orphans(&mut self, fine: &Self) {
        let (n, coarse) = (fine.board.n, self.board.n);
        for &(cell, home) in &fine.orphans.homes {
            let Some(home) = home else { continue };
            let at = [cell % n[0], cell / n[0] % n[1], cell / (n[0] * n[1])];
            for (_, next, weight) in fine.neighbours(at) {
                let beyond = next[0] + n[0] * (next[1] + n[1] * next[2]);
                let seen = fine.orphans.contains(beyond) && beyond < cell;
                let Some(other) = fine.orphans.home(n, next).filter(|_| !seen) else { continue };
                let Some((axis, face)) = face_between(coarse, home, other) else { continue };
                if face[axis] > 0 {
                    let old = self.weight(axis, face);
                    self.set(axis, face, old + weight / distance(n[axis], face[axis], n[axis] > 1, false));
                }
            }
        }
    }

    /// Takes all changes as known.
    pub fn forget_changes(&mut self) {
        self.changed = Rows::new(self.board.n, false);
    }

    /// Works out the diagonal and the spans once the weights are set.
    pub fn finish(&mut self) {
        let Self { board, inner, side, weights, inverse, spans, changed, .. } = self;
        let board = *board;
        let view = Weights { board, inner, side, weights };
        let [red, black] = inverse;
        let inside = board.plane..(board.n[2] + 1) * board.plane;
        let planes = red[inside.clone()]
            .par_chunks_mut(board.plane)
            .zip(black[inside].par_chunks_mut(board.plane))
            .zip(spans.par_chunks_mut(board.n[1]));
        planes.enumerate().for_each(|(k, ((red, black), spans))| {
            let is_changed =
                |j: usize| [[j, k], [j + 1, k], [j, k + 1]].iter().any(|row| changed.contains(*row));
            for (j, span) in spans.iter_mut().enumerate().filter(|(j, _)| is_changed(*j)) {
                let at = board.row(j as isize, -1);
                let [red, black] = [&mut red[at..][..board.slots], &mut black[at..][..board.slots]];
                *span = view.finish_row([j, k], [red, black]);
            }
        });
    }

    fn in_parallel(&self) -> bool {
        self.board.n.iter().product::<usize>() > SERIAL
    }

    /// Calls `f(k, plane)` for each plane inside of one colour.
    fn planes(&self, half: &mut [f32], f: impl Fn(usize, &mut [f32]) + Sync) {
        let Board { plane, n, .. } = self.board;
        let inside = &mut half[plane..(n[2] + 1) * plane];
        if self.in_parallel() {
            inside.par_chunks_mut(plane).enumerate().for_each(|(k, plane)| f(k, plane));
        } else {
            inside.chunks_mut(plane).enumerate().for_each(|(k, plane)| f(k, plane));
        }
    }

    /// Relaxes one colour: φ = (rhs + Σ w φ_neighbour) / Σ w.
    pub fn relax(&self, color: usize, rhs: &Halves, phi: &mut Halves) {
        self.board.wrap(self.periodic(), 1 - color, phi);
        let [red, black] = phi;
        let (own, other) = if color == 0 { (red, &*black) } else { (black, &*red) };
        self.planes(own, |k, out| relax_plane(self, color, k, &rhs[color], other, out));
    }

    /// [`relax`](Self::relax) of the red cells when all φ are 0.
    pub fn relax_red_from_zero(&self, rhs: &Halves, phi: &mut Halves) {
        let red = &rhs[0];
        self.planes(&mut phi[0], |k, out| {
            let at = (k + 1) * self.board.plane;
            scale_plane(&red[at..][..out.len()], &self.inverse[0][at..][..out.len()], out);
        });
    }

    /// `out` = A φ, and Σ φ A φ. The ghosts of `out` are left.
    pub fn apply(&self, phi: &mut Halves, out: &mut Halves, partials: &mut [f64]) -> f64 {
        for color in [0, 1] {
            self.board.wrap(self.periodic(), color, phi);
        }
        let [red, black] = phi.each_ref().map(|half| half.as_slice());
        let Board { plane, n, .. } = self.board;
        let inside = plane..(n[2] + 1) * plane;
        let [out_red, out_black] = out;
        let planes = out_red[inside.clone()]
            .par_chunks_mut(plane)
            .zip(out_black[inside].par_chunks_mut(plane))
            .zip(partials.par_iter_mut());
        planes.enumerate().for_each(|(k, ((out_red, out_black), partial))| {
            *partial = 0.0;
            apply_plane(self, 0, k, red, black, out_red, partial);
            apply_plane(self, 1, k, black, red, out_black, partial);
        });
        partials.iter().sum()
    }

    /// The coarse right-hand side: sums over 2³ cells of what is left in the red ones. The black ones, relaxed last,
    /// have nothing left.
    pub fn restrict_red(&self, rhs: &Halves, phi: &mut Halves, coarse: &Self, out: &mut Halves) {
        self.board.wrap(self.periodic(), 1, phi);
        let phi = &*phi;
        let to = coarse.board;
        let [red, black] = out;
        let inside = to.plane..(to.n[2] + 1) * to.plane;
        let (red, black) = (&mut red[inside.clone()], &mut black[inside]);
        let each = |(k, (red, black)): (usize, (&mut [f32], &mut [f32]))| {
            restrict_plane(self, to, k, &rhs[0], [&phi[0], &phi[1]], red, black);
        };
        if self.in_parallel() {
            red.par_chunks_mut(to.plane).zip(black.par_chunks_mut(to.plane)).enumerate().for_each(each);
        } else {
            red.chunks_mut(to.plane).zip(black.chunks_mut(to.plane)).enumerate().for_each(each);
        }
        self.bring_orphans_home(&rhs[0], phi, out);
    }

    /// Adds what is left in orphans to the coarse cells they belong to.
    fn bring_orphans_home(&self, rhs: &[f32], phi: &Halves, out: &mut Halves) {
        if self.orphans.red.is_empty() {
            return;
        }
        let ny = self.board.n[1];
        for row in 0..ny * self.board.n[2] {
            for orphan in self.orphans.of_row(row) {
                let Some((color, to)) = orphan.home else { continue };
                out[color][to] += self.left_in(0, [row % ny, row / ny], orphan.slot as usize, rhs, phi);
            }
        }
    }

    /// rhs − A φ in one cell.
    fn left_in(&self, color: usize, jk: [usize; 2], slot: usize, rhs: &[f32], phi: &Halves) -> f32 {
        let row = Row::<false>::new(self, color, jk, &phi[1 - color]);
        let (own, rhs) = (phi[color][row.at + slot], rhs[row.at + slot]);
        let faces = row.weights(slot, 1).into_iter().zip(row.neighbours(slot, 1));
        rhs - faces.map(|(w, n)| w[0] * (own - n[0])).sum::<f32>()
    }

    /// Adds the coarse solution to the red cells. The black ones are relaxed next, and would lose it.
    pub fn prolong_to_red(&self, coarse: &Self, correction: &Halves, phi: &mut Halves) {
        let from = coarse.board;
        self.planes(&mut phi[0], |k, out| {
            prolong_plane(self, from, k, [&correction[0], &correction[1]], out);
        });
    }
}

/// Distance in fine cells between the centres a coarse face lies between (or from a centre to the side).
fn distance(fine: usize, at: usize, split: bool, periodic: bool) -> f32 {
    let coarse = fine.div_ceil(2);
    let odd = !fine.is_multiple_of(2);
    match (split, at) {
        (false, _) => 1.0,
        (true, at) if periodic && odd && (at == 0 || at == coarse) => 1.5,
        (true, at) if odd && at == coarse => 1.0,
        (true, at) if odd && at + 1 == coarse => 1.5,
        _ => 2.0,
    }
}

/// The axis and the face between two cells that share one.
fn face_between(n: [usize; 3], a: [usize; 3], b: [usize; 3]) -> Option<(usize, [usize; 3])> {
    let apart: Vec<usize> = (0..3).filter(|&axis| a[axis] != b[axis]).collect();
    let &[axis] = apart.as_slice() else { return None };
    let (low, high) = if a[axis] < b[axis] { (a, b) } else { (b, a) };
    match high[axis] - low[axis] {
        1 => Some((axis, high)),
        d if d + 1 == n[axis] => Some((axis, low)),
        _ => None,
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
    fn of(&self, at: [usize; 3]) -> [[f32; 2]; 3] {
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
            let weights = self.of([i, j, k]);
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

/// What one value of a row is made of: N rows read at the same slot, `L` slots at a time.
trait RowOp<const N: usize> {
    fn eval<const L: usize>(&self, x: [&[f32; L]; N]) -> [f32; L];
}

/// Slots handled at once.
const LANES: usize = 8;

/// `out[m]` = op of `x[..][m]`. Whole chunks are loaded before one is stored, so that no check for overlap is needed.
#[inline(always)]
fn map_row<const N: usize>(op: &impl RowOp<N>, x: [&[f32]; N], out: &mut [f32]) {
    let x = x.map(|x| &x[..out.len()]);
    let (chunks, tail) = out.as_chunks_mut::<LANES>();
    let whole = x.map(|x| &x.as_chunks::<LANES>().0[..chunks.len()]);
    for (c, out) in chunks.iter_mut().enumerate() {
        *out = op.eval(whole.map(|x| &x[c]));
    }
    let rest = x.map(|x| &x[chunks.len() * LANES..][..tail.len()].as_chunks::<1>().0[..tail.len()]);
    for (t, out) in tail.iter_mut().enumerate() {
        [*out] = op.eval(rest.map(|x| &x[t]));
    }
}

/// One row of one colour.
struct Row<'a, const FMA: bool> {
    level: &'a Level,
    /// Position of slot 0.
    at: usize,
    /// The first i of the colour, 0 or 1.
    first: usize,
    color: usize,
    other: &'a [f32],
}

impl<'a, const FMA: bool> Row<'a, FMA> {
    #[inline(always)]
    fn new(level: &'a Level, color: usize, [j, k]: [usize; 2], other: &'a [f32]) -> Self {
        let (j, k) = (j as isize, k as isize);
        let (at, first) = (level.board.row(j, k), level.board.first(color, j, k));
        Self { level, at, first, color, other }
    }

    /// Neighbours at x low, x high, y low, y high, z low, z high.
    #[inline(always)]
    fn neighbours(&self, from: usize, count: usize) -> [&'a [f32]; 6] {
        let Board { pitch, plane, .. } = self.level.board;
        let at = self.at + from;
        let places = [at + self.first - 1, at + self.first, at - pitch, at + pitch, at - plane, at + plane];
        places.map(|at| &self.other[at..][..count])
    }

    /// Weights of the faces to them.
    #[inline(always)]
    fn weights(&self, from: usize, count: usize) -> [&'a [f32]; 6] {
        let Level { board: Board { pitch, plane, .. }, weights: [x, y, z], .. } = self.level;
        let (at, own, other) = (self.at + from, self.color, 1 - self.color);
        [
            &x[own][at..][..count],
            &x[other][at + self.first..][..count],
            &y[own][at..][..count],
            &y[other][at + pitch..][..count],
            &z[own][at..][..count],
            &z[other][at + plane..][..count],
        ]
    }

    /// The slots where the weights are the usual ones, before and after the span.
    #[inline(always)]
    fn usual(&self, span: [usize; 2]) -> [[usize; 2]; 2] {
        [[0, span[0]], [span[1], self.level.board.slots]]
    }

    /// The slots of the row's ends outside `span`, with what the sides add to the diagonal there; none for a slot
    /// beyond the box.
    #[inline(always)]
    fn ends(&self, span: [usize; 2]) -> [Option<(usize, Option<f32>)>; 2] {
        let (n, slots) = (self.level.board.n[0], self.level.board.slots);
        let excess = |high: usize| Some(self.level.side[0][high] - self.level.inner[0]);
        let last = slots - 1;
        let usual = |slot: usize| !(span[0]..span[1]).contains(&slot);
        let low = (self.first == 0 && usual(0)).then_some((0, excess(0)));
        let high = match 2 * last + self.first {
            i if i + 1 == n => Some((last, excess(1))),
            i if i == n => Some((last, None)),
            _ => None,
        };
        [low, high.filter(|_| usual(last))]
    }

    fn diagonal(&self) -> f32 {
        2.0 * self.level.inner.iter().sum::<f32>()
    }
}

/// (rhs + Σ_axis w_axis (low + high)) · inverse
struct RelaxUsual<const FMA: bool> {
    weights: [f32; 3],
    inverse: f32,
}

impl<const FMA: bool> RowOp<7> for RelaxUsual<FMA> {
    #[inline(always)]
    fn eval<const L: usize>(&self, [rhs, xl, xh, yl, yh, zl, zh]: [&[f32; L]; 7]) -> [f32; L] {
        let [wx, wy, wz] = self.weights;
        std::array::from_fn(|l| {
            let x = fma::<FMA>(wx, xl[l] + xh[l], rhs[l]);
            let y = fma::<FMA>(wy, yl[l] + yh[l], x);
            fma::<FMA>(wz, zl[l] + zh[l], y) * self.inverse
        })
    }
}

/// (rhs + Σ w φ) · inverse
struct Relax<const FMA: bool>;

impl<const FMA: bool> RowOp<14> for Relax<FMA> {
    #[inline(always)]
    fn eval<const L: usize>(&self, x: [&[f32; L]; 14]) -> [f32; L] {
        let [rhs, inverse, w0, w1, w2, w3, w4, w5, n0, n1, n2, n3, n4, n5] = x;
        std::array::from_fn(|l| {
            let f = |w: &[f32; L], n: &[f32; L], sum: f32| fma::<FMA>(w[l], n[l], sum);
            let sum = f(w1, n1, f(w0, n0, rhs[l]));
            f(w5, n5, f(w4, n4, f(w3, n3, f(w2, n2, sum)))) * inverse[l]
        })
    }
}

dispatch! {
    fn relax_plane(level: &Level, color: usize, k: usize, rhs: &[f32], other: &[f32], out: &mut [f32]) =
        relax_plane_kernel;
}

#[inline(always)]
fn relax_plane_kernel<const FMA: bool>(
    level: &Level,
    color: usize,
    k: usize,
    rhs: &[f32],
    other: &[f32],
    out: &mut [f32],
) {
    let Board { n, slots, plane, .. } = level.board;
    for j in 0..n[1] {
        let row = Row::<FMA>::new(level, color, [j, k], other);
        let span = level.spans[j + n[1] * k].map(|s| s as usize);
        let out = &mut out[row.at - (k + 1) * plane..][..slots];
        let usual = RelaxUsual::<FMA> { weights: level.inner, inverse: 1.0 / row.diagonal() };
        for [from, to] in row.usual(span) {
            if from < to {
                let [xl, xh, yl, yh, zl, zh] = row.neighbours(from, to - from);
                let rhs = &rhs[row.at + from..][..to - from];
                map_row(&usual, [rhs, xl, xh, yl, yh, zl, zh], &mut out[from..to]);
            }
        }
        for (slot, excess) in row.ends(span).into_iter().flatten() {
            out[slot] *= excess.map_or(0.0, |e| row.diagonal() / (row.diagonal() + e));
        }
        let [from, to] = span;
        if from < to {
            let rhs = &rhs[row.at + from..][..to - from];
            let inverse = &level.inverse[color][row.at + from..][..to - from];
            let [n0, n1, n2, n3, n4, n5] = row.neighbours(from, to - from);
            let [w0, w1, w2, w3, w4, w5] = row.weights(from, to - from);
            let x = [rhs, inverse, w0, w1, w2, w3, w4, w5, n0, n1, n2, n3, n4, n5];
            map_row(&Relax::<FMA>, x, &mut out[from..to]);
        }
    }
}

/// diagonal · φ − Σ_axis w_axis (low + high)
struct ApplyUsual<const FMA: bool> {
    weights: [f32; 3],
    diagonal: f32,
}

impl<const FMA: bool> RowOp<7> for ApplyUsual<FMA> {
    #[inline(always)]
    fn eval<const L: usize>(&self, [phi, xl, xh, yl, yh, zl, zh]: [&[f32; L]; 7]) -> [f32; L] {
        let [wx, wy, wz] = self.weights;
        std::array::from_fn(|l| {
            let x = fma::<FMA>(-wx, xl[l] + xh[l], self.diagonal * phi[l]);
            let y = fma::<FMA>(-wy, yl[l] + yh[l], x);
            fma::<FMA>(-wz, zl[l] + zh[l], y)
        })
    }
}

/// Σ w (φ_own − φ) in cells that are unknowns, else 0.
struct Apply<const FMA: bool>;

impl<const FMA: bool> RowOp<14> for Apply<FMA> {
    #[inline(always)]
    fn eval<const L: usize>(&self, x: [&[f32; L]; 14]) -> [f32; L] {
        let [phi, inverse, w0, w1, w2, w3, w4, w5, n0, n1, n2, n3, n4, n5] = x;
        std::array::from_fn(|l| {
            let f = |w: &[f32; L], n: &[f32; L], sum: f32| fma::<FMA>(w[l], phi[l] - n[l], sum);
            let sum = f(w2, n2, f(w1, n1, f(w0, n0, 0.0)));
            let sum = f(w5, n5, f(w4, n4, f(w3, n3, sum)));
            if inverse[l] > 0.0 { sum } else { 0.0 }
        })
    }
}

/// A φ of one row into `out`.
#[inline(always)]
fn apply_row<const FMA: bool>(row: &Row<FMA>, span: [usize; 2], own: &[f32], out: &mut [f32]) {
    let level = row.level;
    let usual = ApplyUsual::<FMA> { weights: level.inner, diagonal: row.diagonal() };
    for [from, to] in row.usual(span) {
        if from < to {
            let [xl, xh, yl, yh, zl, zh] = row.neighbours(from, to - from);
            let phi = &own[row.at + from..][..to - from];
            map_row(&usual, [phi, xl, xh, yl, yh, zl, zh], &mut out[from..to]);
        }
    }
    for (slot, excess) in row.ends(span).into_iter().flatten() {
        out[slot] = excess.map_or(0.0, |e| out[slot] + e * own[row.at + slot]);
    }
    let [from, to] = span;
    if from < to {
        let phi = &own[row.at + from..][..to - from];
        let inverse = &level.inverse[row.color][row.at + from..][..to - from];
        let [n0, n1, n2, n3, n4, n5] = row.neighbours(from, to - from);
        let [w0, w1, w2, w3, w4, w5] = row.weights(from, to - from);
        let x = [phi, inverse, w0, w1, w2, w3, w4, w5, n0, n1, n2, n3, n4, n5];
        map_row(&Apply::<FMA>, x, &mut out[from..to]);
    }
}

dispatch! {
    fn apply_plane(
        level: &Level, color: usize, k: usize, own: &[f32], other: &[f32], out: &mut [f32], dot: &mut f64,
    ) = apply_plane_kernel;
}

#[inline(always)]
fn apply_plane_kernel<const FMA: bool>(
    level: &Level,
    color: usize,
    k: usize,
    own: &[f32],
    other: &[f32],
    out: &mut [f32],
    dot: &mut f64,
) {
    let Board { n, slots, plane, .. } = level.board;
    for j in 0..n[1] {
        let row = Row::<FMA>::new(level, color, [j, k], other);
        let span = level.spans[j + n[1] * k].map(|s| s as usize);
        let out = &mut out[row.at - (k + 1) * plane..][..slots];
        apply_row(&row, span, own, out);
        *dot += f64::from(dot_row::<FMA>(&own[row.at..][..slots], out));
    }
}

/// Σ a b over a row, in a fixed order.
#[inline(always)]
pub fn dot_row<const FMA: bool>(a: &[f32], b: &[f32]) -> f32 {
    const L: usize = 2 * LANES;
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<L>(), b.as_chunks::<L>());
    let mut sums = [0.0f32; L];
    for (a, b) in a.iter().zip(b) {
        for l in 0..L {
            sums[l] = fma::<FMA>(a[l], b[l], sums[l]);
        }
    }
    for (l, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
        sums[l] = fma::<FMA>(*a, *b, sums[l]);
    }
    fold(sums)
}

/// A sum of lanes in a fixed order.
#[inline(always)]
pub fn fold<const L: usize>(mut sums: [f32; L]) -> f32 {
    let mut width = L / 2;
    while width > 0 {
        for l in 0..width {
            sums[l] += sums[l + width];
        }
        width /= 2;
    }
    sums[0]
}

dispatch! { fn mask_plane(inverse: &[f32], out: &mut [f32]) = mask_plane_kernel; }

#[inline(always)]
fn mask_plane_kernel<const FMA: bool>(inverse: &[f32], out: &mut [f32]) {
    for (out, inverse) in out.iter_mut().zip(inverse) {
        *out = if *inverse > 0.0 { *out } else { 0.0 };
    }
}

dispatch! { fn scale_plane(rhs: &[f32], inverse: &[f32], out: &mut [f32]) = scale_plane_kernel; }

#[inline(always)]
fn scale_plane_kernel<const FMA: bool>(rhs: &[f32], inverse: &[f32], out: &mut [f32]) {
    for ((out, rhs), inverse) in out.iter_mut().zip(rhs).zip(inverse) {
        *out = rhs * inverse;
    }
}

dispatch! {
    fn restrict_plane(
        fine: &Level, to: Board, k: usize, rhs: &[f32], phi: [&[f32]; 2], red: &mut [f32], black: &mut [f32],
    ) = restrict_plane_kernel;
}

#[inline(always)]
fn restrict_plane_kernel<const FMA: bool>(
    fine: &Level,
    to: Board,
    k: usize,
    rhs: &[f32],
    phi: [&[f32]; 2],
    red: &mut [f32],
    black: &mut [f32],
) {
    let from = fine.board;
    let mut mine = fine.rows.mine();
    let [sum, left] = mine.each_mut().map(|row| row.as_mut_slice());
    for j in 0..to.n[1] {
        sum.fill(0.0);
        for fine_k in children(k, from.n[2]) {
            for fine_j in children(j, from.n[1]) {
                let row = Row::<FMA>::new(fine, 0, [fine_j, fine_k], phi[1]);
                let span = fine.spans[fine_j + from.n[1] * fine_k].map(|s| s as usize);
                apply_row(&row, span, phi[0], left);
                let rhs = &rhs[row.at..][..from.slots];
                for ((left, rhs), sum) in left.iter_mut().zip(rhs).zip(&mut *sum) {
                    *left = rhs - *left;
                    *sum += *left;
                }
                for orphan in fine.orphans.of_row(fine_j + from.n[1] * fine_k) {
                    sum[orphan.slot as usize] -= left[orphan.slot as usize];
                }
            }
        }
        let at = to.row(j as isize, -1);
        let colors = [&mut red[at..][..to.slots], &mut black[at..][..to.slots]];
        to.split(sum, j as isize, k as isize, colors);
    }
}

/// The one or two fine cells along an axis of `n` that make up coarse cell `at`.
#[inline(always)]
fn children(at: usize, n: usize) -> std::ops::Range<usize> {
    2 * at..(2 * at + 2).min(n)
}

dispatch! {
    fn prolong_plane(fine: &Level, from: Board, k: usize, coarse: [&[f32]; 2], out: &mut [f32]) =
        prolong_plane_kernel;
}

#[inline(always)]
fn prolong_plane_kernel<const FMA: bool>(
    fine: &Level,
    from: Board,
    k: usize,
    coarse: [&[f32]; 2],
    out: &mut [f32],
) {
    let board = fine.board;
    let mut mine = fine.rows.mine();
    let row = &mut mine[0];
    for j in 0..board.n[1] {
        let (coarse_j, coarse_k) = ((j / 2) as isize, (k / 2) as isize);
        let at = from.row(coarse_j, coarse_k);
        if j % 2 == 0 {
            from.merge(coarse.map(|c| &c[at..][..from.slots]), coarse_j, coarse_k, row);
        }
        let out = &mut out[board.row(j as isize, -1)..][..board.slots];
        for (out, row) in out.iter_mut().zip(&*row) {
            *out += row;
        }
        for &Orphan { slot, home } in fine.orphans.of_row(j + board.n[1] * k) {
            out[slot as usize] += home.map_or(0.0, |(color, at)| coarse[color][at]) - row[slot as usize];
        }
    }
}
