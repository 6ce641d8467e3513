//! Weights of a coarse grid, from the grid twice as fine.

use super::{Level, WHOLE};
use crate::solver::storage::ranks::Ranks;

impl Level {
    /// Makes the grid half as fine, without weights. An axis of one cell keeps its length.
    pub fn coarser(&self) -> Self {
        let n = self.board.n;
        let halved = |axis: usize| if n[axis] > 1 { 2.0 } else { 1.0 };
        let scale = [0, 1, 2].map(|axis| {
            let area = (0..3).filter(|&other| other != axis).map(halved).product::<f32>();
            area / halved(axis)
        });
        let inner = [0, 1, 2].map(|axis| self.inner[axis] * scale[axis]);
        let side = [0, 1, 2].map(|axis| self.side[axis].map(|w| w * scale[axis]));
        let coarse = n.map(|n| n.div_ceil(2));
        let setup_ranks = self.setup_ranks.coarser();
        let few = coarse.iter().product::<usize>() <= WHOLE || setup_ranks.thinnest(coarse[2]) == 0;
        let relax_ranks =
            if few || self.relax_ranks.is_alone() { Ranks::default() } else { setup_ranks.clone() };
        // Once every rank has all planes, each makes the coarser grids from them.
        let setup_ranks = if self.relax_ranks.is_alone() { Ranks::default() } else { setup_ranks };
        Self::empty(coarse, self.beyond, inner, side, self.threads, [setup_ranks, relax_ranks])
    }

    /// Computes the weights from a grid twice as fine: half the sum of the four fine faces of each coarse
    /// face, because cell centres are twice as far apart. Where the last coarse cell of an axis holds one
    /// fine cell its centre is nearer.
    ///
    /// Only rows near changed ones are recomputed. Call it before `fine` [forgets](Self::forget_changes) its
    /// changes.
    pub fn coarsen(&mut self, fine: &Self) {
        let (board, from) = (self.board, fine.board);
        // Formerly special rows may have to become usual again.
        let mut rows = std::mem::take(&mut self.dirty);
        rows.clear();
        rows.add_halved(&fine.changed, from.n, board.n);
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
                            if !fine.meets_isolated_cell(axis, [i, j, k]) {
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
        self.dirty = rows;
        self.join_isolated_cells(fine);
        self.share_weights();
    }
}

/// Distance in fine cells between the two centres beside a coarse face, or from a centre to the side.
pub(super) fn distance(fine: usize, at: usize, split: bool, periodic: bool) -> f32 {
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
