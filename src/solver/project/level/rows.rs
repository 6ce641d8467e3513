//! Sets of rows, which record the weights that may have changed.

use crate::solver::storage::ranks::Ranks;

/// A set of rows (j, k) of faces, 0 ≤ j ≤ n_y, 0 ≤ k ≤ n_z.
#[derive(Default)]
pub struct Rows {
    pitch: usize,
    /// 1 for each row in the set.
    has: Vec<u8>,
}

impl Rows {
    /// All rows of faces of a grid, or none.
    pub fn new(n: [usize; 3], all: bool) -> Self {
        Self { pitch: n[1] + 1, has: vec![u8::from(all); (n[1] + 1) * (n[2] + 1)] }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.has.fill(0);
    }

    /// Whether row (j, k) is in the set.
    pub fn contains(&self, [j, k]: [usize; 2]) -> bool {
        self.has[j + self.pitch * k] != 0
    }

    /// Inserts a row.
    pub fn insert(&mut self, [j, k]: [usize; 2]) {
        self.has[j + self.pitch * k] = 1;
    }

    /// Inserts all rows of another set.
    pub fn add(&mut self, other: &Self) {
        self.has.iter_mut().zip(&other.has).for_each(|(has, other)| *has |= other);
    }

    /// Makes the sets of all ranks one: each knows those of its planes.
    pub fn gather(&mut self, ranks: &Ranks) {
        ranks.gather(&mut self.has, self.pitch);
    }

    /// Inserts the rows of this grid that depend on `fine` rows of a grid of `n` cells, twice as fine, and
    /// their neighbours.
    pub fn add_halved(&mut self, fine: &Self, n: [usize; 3], coarse: [usize; 3]) {
        let half = |x: usize, axis: usize| if n[axis] > 1 { x / 2 } else { x };
        for (at, _) in fine.has.iter().enumerate().filter(|(_, has)| **has != 0) {
            let (j, k) = (at % fine.pitch, at / fine.pitch);
            for (j, k) in (0..3).flat_map(|a| (0..3).map(move |b| (j + a, k + b))) {
                let row = [
                    half(j.saturating_sub(1), 1).min(coarse[1]),
                    half(k.saturating_sub(1), 2).min(coarse[2]),
                ];
                self.insert(row);
            }
        }
    }
}
