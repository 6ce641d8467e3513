//! Periodic seams: around a periodic axis with an odd number of cells, first and last layer have the same colour.
//!
//! ```text
//!     i       0   1   2   3   4 │ 0        n = 5: cells 4 and 0 are neighbours,
//!     colour  R   B   R   B   R │ R        and both are red
//! ```
//!
//! Two such cells, relaxed together, overshoot each other. If solids leave them no other neighbours, their difference
//! only changes its sign: the cycle does not see it, and conjugate gradients cannot make up for it. The cure has two
//! parts:
//!
//! - Relaxation: the last layer of a seam is relaxed once more, cell by cell.
//! - Transfer: elsewhere only red cells take part ([`transfer`](super::transfer)). In the two layers of a seam the black
//!   cells do too.

use super::{DIAGONALS, Level};
use crate::solver::project::red_black::Halves;

impl Level {
    /// Relaxes the last layers of one colour around odd periodic axes, cell by cell. On the way down it runs
    /// after the others, on the way up `before` them and in reverse order, so the cycle stays symmetric.
    pub fn relax_periodic_seams(&self, color: usize, before: bool, rhs: &Halves, phi: &mut Halves) {
        for step in 0..3 {
            let axis = if before { 2 - step } else { step };
            if self.is_periodic_seam(axis) {
                self.relax_last_layer(axis, color, before, rhs, phi);
            }
        }
    }

    /// Adds the residual of the black cells of the first and last layers to the coarse right-hand side.
    pub(super) fn restrict_periodic_seams(
        &self,
        rhs: &Halves,
        phi: &Halves,
        coarse: &Self,
        out: &mut Halves,
    ) {
        let part = coarse.board.inside(coarse.setup_planes());
        self.each_black_seam_cell(coarse, DIAGONALS, |at, (color, parent)| {
            if !part.contains(&parent) {
                return;
            }
            let (own, here) = self.place(at);
            out[color][parent] +=
                rhs[own][here] + self.around(at, phi) - phi[own][here] / self.inverse[own][here];
        });
    }

    /// Adds the coarse solution to the black cells of the first and last layers.
    pub(super) fn prolong_periodic_seams(&self, coarse: &Self, correction: &Halves, phi: &mut Halves) {
        self.each_black_seam_cell(coarse, [0; 2], |at, (color, parent)| {
            let (own, here) = self.place(at);
            phi[own][here] += correction[color][parent];
        });
    }

    /// Calls `f` once for each black unknown in the first and last layers, within the slab and the planes
    /// beside it. `f` gets the cell, and the colour and position of its coarse cell.
    fn each_black_seam_cell(
        &self,
        coarse: &Self,
        halo: [usize; 2],
        mut f: impl FnMut([usize; 3], (usize, usize)),
    ) {
        let n = self.board.n;
        let alone = self.relax_ranks.is_alone();
        let known: Vec<_> = self.relax_ranks.known(n[2], halo).filter(|_| !alone).collect();
        let is_known = |k: usize| alone || known.iter().any(|&[low, high]| (low..high).contains(&k));
        let lies_in = |at: [usize; 3], axis: usize| {
            self.is_periodic_seam(axis) && (at[axis] == 0 || at[axis] == n[axis] - 1)
        };
        for axis in (0..3).filter(|&axis| self.is_periodic_seam(axis)) {
            let [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
            for place in 0..2 * n[b] * n[c] {
                let mut at = [place % 2 * (n[axis] - 1); 3];
                (at[b], at[c]) = (place / 2 % n[b], place / 2 / n[b]);
                let is_black = at.iter().sum::<usize>() & 1 == 1;
                if !is_black
                    || !is_known(at[2])
                    || !self.is_unknown(at)
                    || (0..axis).any(|axis| lies_in(at, axis))
                {
                    continue;
                }
                if let Some(parent) = self.isolated_cells.parent(n, at) {
                    f(at, coarse.place(parent));
                }
            }
        }
    }

    /// Colour and position of a cell.
    fn place(&self, at: [usize; 3]) -> (usize, usize) {
        let [i, j, k] = at.map(|x| x as isize);
        self.board.at(i, j, k)
    }

    /// Σ w φ_neighbour of a cell. Walls and open sides add 0.
    fn around(&self, at: [usize; 3], phi: &Halves) -> f32 {
        let of = |(_, next, weight): (usize, [usize; 3], f32)| {
            let (color, beside) = self.place(next);
            weight * phi[color][beside]
        };
        self.neighbours(at).map(of).sum()
    }

    /// Whether a colour meets itself around an axis.
    fn is_periodic_seam(&self, axis: usize) -> bool {
        let n = self.board.n[axis];
        self.is_periodic(axis) && n > 1 && !n.is_multiple_of(2)
    }

    /// Two cells of one layer are neighbours only around another odd axis. The one relaxed later reads the
    /// one relaxed earlier. So the last plane, a neighbour of the first, is relaxed after all others, or
    /// before them if `backwards`.
    fn relax_last_layer(&self, axis: usize, color: usize, backwards: bool, rhs: &Halves, phi: &mut Halves) {
        let (n, [low, high]) = (self.board.n, self.own());
        let parts = [[low, high.min(n[2] - 1)], [low.max(n[2] - 1), high]];
        for part in if backwards { [parts[1], parts[0]] } else { parts } {
            let [red, black] = &mut *phi;
            self.relax_ranks.exchange(self.board.planes(), [red, black], [1; 2]);
            self.relax_planes(axis, color, backwards, part, rhs, phi);
        }
    }

    fn relax_planes(
        &self,
        axis: usize,
        color: usize,
        backwards: bool,
        [low, high]: [usize; 2],
        rhs: &Halves,
        phi: &mut Halves,
    ) {
        let n = self.board.n;
        let [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
        let count = n[b] * n[c];
        for step in 0..count {
            let place = if backwards { count - 1 - step } else { step };
            let mut at = [n[axis] - 1; 3];
            (at[b], at[c]) = (place % n[b], place / n[b]);
            if at.iter().sum::<usize>() & 1 == color && (low..high).contains(&at[2]) {
                self.relax_cell(at, rhs, phi);
            }
        }
    }

    /// φ = (rhs + Σ w φ_neighbour) / Σ w of one cell.
    fn relax_cell(&self, at: [usize; 3], rhs: &Halves, phi: &mut Halves) {
        let (color, here) = self.place(at);
        phi[color][here] = (rhs[color][here] + self.around(at, phi)) * self.inverse[color][here];
    }
}
