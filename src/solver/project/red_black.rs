//! Fields of the multigrid: the two colours of a checkerboard, each in a separate array.
//!
//! A cell is red if i + j + k is even. All its neighbours are black. Each colour is updated from the other alone:
//! threads share nothing they write, and rows have no gaps. Let o be the first i of a colour in a row, 0 or 1:
//!
//! ```text
//!     slot m holds i = 2m + o;      its neighbours along x are slots m − 1 + o and m + o of the other colour,
//!                                   those along y and z are slot m of the other colour in the next row.
//! ```
//!
//! Both cells of slot m lie in cell m of the grid half as fine. One layer of ghosts surrounds the box.

use std::ops::Range;

use crate::solver::storage::ranks::Planes;

/// The two colours of a field: red, black.
pub type Halves = [Vec<f32>; 2];

/// Positions of cells in [`Halves`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Cells along each axis.
    pub n: [usize; 3],
    /// Slots in a row without ghosts: n_x / 2, rounded up.
    pub slots: usize,
    /// Distance to the next row.
    pub pitch: usize,
    /// Distance to the next plane.
    pub plane: usize,
}

impl Board {
    /// Makes the board of a box of `n` cells.
    pub fn new(n: [usize; 3]) -> Self {
        let slots = n[0].div_ceil(2);
        let pitch = slots + 2;
        Self { n, slots, pitch, plane: pitch * (n[1] + 2) }
    }

    /// Values of one colour, ghosts included.
    pub fn size(self) -> usize {
        self.plane * (self.n[2] + 2)
    }

    /// Returns a field of zeros.
    pub fn field(self) -> Halves {
        [vec![0.0; self.size()], vec![0.0; self.size()]]
    }

    /// Position of slot 0 of row (j, k), −1 ≤ j ≤ n_y, −1 ≤ k ≤ n_z.
    pub fn row(self, j: isize, k: isize) -> usize {
        (1 + (j + 1) * self.pitch as isize + (k + 1) * self.plane as isize) as usize
    }

    /// The first i of `color` in row (j, k): 0 or 1.
    pub fn first(self, color: usize, j: isize, k: isize) -> usize {
        ((j + k) & 1) as usize ^ color
    }

    /// Colour and position of cell (i, j, k), ghosts included.
    pub fn at(self, i: isize, j: isize, k: isize) -> (usize, usize) {
        let color = ((i + j + k) & 1) as usize;
        (color, (self.row(j, k) as isize + (i >> 1)) as usize)
    }

    /// Splits a row of n_x cells into its two colours: `red[m]`, `black[m]` = row[2m + o]. Slots beyond the box get 0.
    pub fn split(self, row: &[f32], j: isize, k: isize, [red, black]: [&mut [f32]; 2]) {
        let [even, odd] = if self.first(0, j, k) == 0 { [red, black] } else { [black, red] };
        let (pairs, last) = row[..self.n[0]].as_chunks::<2>();
        let whole = even.iter_mut().zip(odd.iter_mut()).zip(pairs);
        whole.for_each(|((even, odd), pair)| [*even, *odd] = *pair);
        if let [last] = last {
            (even[self.slots - 1], odd[self.slots - 1]) = (*last, 0.0);
        }
    }

    /// The reverse of [`split`](Self::split).
    pub fn merge(self, [red, black]: [&[f32]; 2], j: isize, k: isize, row: &mut [f32]) {
        let [even, odd] = if self.first(0, j, k) == 0 { [red, black] } else { [black, red] };
        let (pairs, last) = row[..self.n[0]].as_chunks_mut::<2>();
        let whole = pairs.iter_mut().zip(even).zip(odd);
        whole.for_each(|((pair, even), odd)| *pair = [*even, *odd]);
        if let [last] = last {
            *last = even[self.slots - 1];
        }
    }

    /// The planes of one colour.
    pub fn planes(self) -> Planes {
        Planes { plane: self.plane, ghosts: 1 }
    }

    /// Positions of the planes of cells `from..to`.
    pub fn inside(self, [from, to]: [usize; 2]) -> Range<usize> {
        (from + 1) * self.plane..(to + 1) * self.plane
    }

    /// Positions of the planes of cells `from..to`; the ghosts before the first and after the last plane of the box belong to them.
    pub fn span(self, [from, to]: [usize; 2]) -> Range<usize> {
        let low = if from == 0 { 0 } else { from + 1 };
        let high = if to == self.n[2] { to + 2 } else { to + 1 };
        low * self.plane..high * self.plane
    }

    /// Fills the ghosts of `color` beyond the ends of periodic axes from the opposite end, those across x and y in the planes `ks`. Around
    /// an odd number of cells a colour meets itself.
    pub fn wrap(self, periodic: [bool; 3], color: usize, field: &mut Halves, ks: [usize; 2]) {
        for axis in (0..2).filter(|&axis| periodic[axis]) {
            let n = self.n[axis] as isize;
            for [ghost, from] in [[-1, n - 1], [n, 0]] {
                for k in ks[0] as isize..ks[1] as isize {
                    if axis == 0 {
                        self.wrap_x(ghost, from, k, color, field);
                    } else {
                        self.wrap_row([ghost, k], [from, k], color, field);
                    }
                }
            }
        }
        let n = self.n[2] as isize;
        for (at_end, [ghost, from]) in [(ks[0] == 0, [-1, n - 1]), (ks[1] == self.n[2], [n, 0])] {
            for j in (0..self.n[1] as isize).filter(|_| periodic[2] && at_end) {
                self.wrap_row([j, ghost], [j, from], color, field);
            }
        }
    }

    fn wrap_x(self, ghost: isize, from: isize, k: isize, color: usize, field: &mut Halves) {
        for j in 0..self.n[1] as isize {
            let (of, to) = self.at(ghost, j, k);
            if of == color {
                let (source, at) = self.at(from, j, k);
                field[of][to] = field[source][at];
            }
        }
    }

    /// Fills a row of ghosts from the row of cells at the opposite end.
    fn wrap_row(self, ghost: [isize; 2], from: [isize; 2], color: usize, field: &mut Halves) {
        // Rows an odd number of cells apart have their colours exchanged.
        let apart = (from[0] + from[1]) - (ghost[0] + ghost[1]);
        let source = color ^ (apart & 1) as usize;
        let [to, at] = [ghost, from].map(|[j, k]| self.row(j, k));
        for slot in 0..self.slots {
            field[color][to + slot] = field[source][at + slot];
        }
    }

    /// Zeros all ghosts of the planes `ks`, and those beyond the ends of the box beside them.
    pub fn clear_ghosts(self, field: &mut Halves, ks: [usize; 2]) {
        let n = self.n.map(|n| n as isize);
        let low = if ks[0] == 0 { -1 } else { ks[0] as isize };
        let high = if ks[1] == self.n[2] { n[2] + 1 } else { ks[1] as isize };
        for half in field {
            for k in low..high {
                for j in -1..=n[1] {
                    let row = &mut half[self.row(j, k) - 1..][..self.pitch];
                    let outside = j < 0 || k < 0 || j == n[1] || k == n[2];
                    if outside {
                        row.fill(0.0);
                    }
                    (row[0], row[self.pitch - 1]) = (0.0, 0.0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_the_documented_slots() {
        let board = Board::new([7, 4, 3]);
        for (i, j, k) in [(0, 0, 0), (3, 1, 2), (6, 2, 1), (5, 3, 0)] {
            let (color, at) = board.at(i, j, k);
            let o = board.first(color, j, k);
            let slot = (i as usize - o) / 2;
            assert_eq!(at, board.row(j, k) + slot);
            assert_eq!(board.at(i - 1, j, k), (1 - color, board.row(j, k) + slot + o - 1));
            assert_eq!(board.at(i + 1, j, k), (1 - color, board.row(j, k) + slot + o));
            assert_eq!(board.at(i, j + 1, k), (1 - color, at + board.pitch));
            assert_eq!(board.at(i, j, k - 1), (1 - color, at - board.plane));
        }
    }

    #[test]
    fn merge_is_the_inverse_of_split() {
        for n in [1, 2, 5, 8] {
            let board = Board::new([n, 2, 2]);
            let row: Vec<f32> = (0..n).map(|i| i as f32 + 1.0).collect();
            for (j, k) in [(0, 0), (1, 0)] {
                let [mut red, mut black] = [vec![9.0; board.slots], vec![9.0; board.slots]];
                board.split(&row, j, k, [&mut red, &mut black]);
                let mut back = vec![0.0; n];
                board.merge([&red, &black], j, k, &mut back);
                assert_eq!(back, row);
                let sum: f32 = red.iter().chain(&black).sum();
                assert_eq!(sum, row.iter().sum::<f32>(), "slots beyond the box are zero");
            }
        }
    }
}
