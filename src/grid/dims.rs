//! The shape of a box of cells.

use thiserror::Error;

/// Number of cells along x, y (up) and z. Each is at least 1; an axis of one cell makes the run
/// two-dimensional.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dims {
    /// Cells along x.
    pub nx: usize,
    /// Cells along y, the vertical.
    pub ny: usize,
    /// Cells along z.
    pub nz: usize,
}

/// An invalid shape of a box.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GridError {
    /// An axis without cells.
    #[error("a grid of {0:?} cells is empty; every axis needs at least 1")]
    Empty([usize; 3]),
    /// More cells than an index can count or a machine can hold.
    #[error("a grid of {0:?} cells is too large; the limit is {1} cells in all")]
    TooLarge([usize; 3], usize),
}

impl Dims {
    /// Largest number of cells: 2³¹ (a 1290³ box).
    pub const MAX_CELLS: usize = 1 << 31;

    /// Checks a shape.
    pub fn new(cells: [usize; 3]) -> Result<Self, GridError> {
        if cells.contains(&0) {
            return Err(GridError::Empty(cells));
        }
        let total = cells.iter().try_fold(1usize, |all, &n| all.checked_mul(n));
        if total.is_none_or(|n| n > Self::MAX_CELLS) {
            return Err(GridError::TooLarge(cells, Self::MAX_CELLS));
        }
        let [nx, ny, nz] = cells;
        Ok(Self { nx, ny, nz })
    }

    /// Total number of cells.
    pub fn cells(self) -> usize {
        self.nx * self.ny * self.nz
    }

    /// Cells along each axis.
    pub fn array(self) -> [usize; 3] {
        [self.nx, self.ny, self.nz]
    }

    /// Position of cell (i, j, k) in a dense array, x fastest.
    pub fn index(self, i: usize, j: usize, k: usize) -> usize {
        i + self.nx * (j + self.ny * k)
    }

    /// Indices of the cell at a position in a dense array, the inverse of [`Dims::index`].
    pub fn place(self, n: usize) -> [usize; 3] {
        [n % self.nx, n / self.nx % self.ny, n / (self.nx * self.ny)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_boxes_are_refused() {
        assert_eq!(Dims::new([4, 0, 4]), Err(GridError::Empty([4, 0, 4])));
        assert!(Dims::new([usize::MAX, 2, 2]).is_err());
        assert_eq!(Dims::new([2, 3, 4]).unwrap().cells(), 24);
    }

    #[test]
    fn place_is_the_inverse_of_index() {
        let dims = Dims::new([2, 3, 4]).unwrap();
        for n in 0..dims.cells() {
            let [i, j, k] = dims.place(n);
            assert_eq!(dims.index(i, j, k), n);
        }
        assert_eq!(dims.place(dims.cells() - 1), [1, 2, 3]);
    }
}
