//! Memory layout of fields.
//!
//! One layout serves every field: the cells of the box with [`GHOST`] layers around them, x fastest. A face
//! has the index of the cell above it, so the row of cells and u-faces along x reads
//!
//! ```text
//!     cell      -2    -1     0     1          n-1     n    n+1
//!   face u   -2    -1     0     1     2   n-1     n     n+1
//!   |  ghosts      |      inside               |   ghosts       |
//! ```
//!
//! Face 0 and face n are the sides of the box. The ghosts are filled from the boundary conditions before a field is
//! sampled, so interpolation near a side uses the same code as inside.

use super::Dims;

/// Layers of ghost cells around the box, as many as a four-point interpolation needs.
pub const GHOST: usize = 2;

/// The two other axes, in order.
pub(crate) fn other_axes(axis: usize) -> [usize; 2] {
    [[1, 2], [0, 2], [0, 1]][axis]
}

/// The two axes after this one, in the cycle x, y, z, x.
pub(crate) fn next_axes(axis: usize) -> [usize; 2] {
    [(axis + 1) % 3, (axis + 2) % 3]
}

/// Shape and strides of a field with its ghosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Shape of the box without ghosts.
    pub dims: Dims,
    /// Distance from (i, j, k) to (i, j+1, k).
    pub row: usize,
    /// Distance from (i, j, k) to (i, j, k+1).
    pub plane: usize,
    /// The planes along z that passes compute, ghosts included, as a half-open range.
    planes: [isize; 2],
}

impl Layout {
    /// The layout of fields over `dims`.
    pub fn new(dims: Dims) -> Self {
        let (row, g) = (dims.nx + 2 * GHOST, GHOST as isize);
        Self { dims, row, plane: row * (dims.ny + 2 * GHOST), planes: [-g, dims.nz as isize + g] }
    }

    /// The same layout, of which passes compute the planes of cells `from..to` alone. The first slab of a box has the ghosts below
    /// it too, the last slab those above.
    pub fn slab(self, [from, to]: [usize; 2]) -> Self {
        let (g, nz) = (GHOST as isize, self.dims.nz);
        assert!(from < to && to <= nz, "no slab {from}..{to} of {nz} planes");
        let low = if from == 0 { -g } else { from as isize };
        let high = if to == nz { nz as isize + g } else { to as isize };
        Self { planes: [low, high], ..self }
    }

    /// The same layout, of which passes compute these planes, counted from −GHOST.
    pub fn on_planes(self, planes: [isize; 2]) -> Self {
        Self { planes, ..self }
    }

    /// The planes that passes compute, −GHOST ≤ k < nz + GHOST, as a half-open range.
    pub fn planes(self) -> [isize; 2] {
        self.planes
    }

    /// The planes of cells among [`planes`](Self::planes).
    pub fn cell_planes(self) -> [usize; 2] {
        self.planes.map(|k| k.clamp(0, self.dims.nz as isize) as usize)
    }

    /// The part of the planes `ks` that passes compute, as a half-open range that may be empty.
    pub fn within(self, [from, to]: [isize; 2]) -> [isize; 2] {
        let from = from.max(self.planes[0]);
        [from, to.min(self.planes[1]).max(from)]
    }

    /// Positions of all values in the planes `ks`.
    pub fn span(self, [from, to]: [isize; 2]) -> std::ops::Range<usize> {
        let first = |k: isize| (k + GHOST as isize) as usize * self.plane;
        first(from)..first(to)
    }

    /// Positions of all values that passes compute.
    pub fn own(self) -> std::ops::Range<usize> {
        self.span(self.planes)
    }

    /// Number of values, ghosts included.
    pub fn size(self) -> usize {
        self.plane * (self.dims.nz + 2 * GHOST)
    }

    /// Rows along x, ghosts included.
    pub fn rows(self) -> usize {
        (self.dims.ny + 2 * GHOST) * (self.dims.nz + 2 * GHOST)
    }

    /// Distances to the next value along x, y, z.
    pub fn strides(self) -> [usize; 3] {
        [1, self.row, self.plane]
    }

    /// Position of (i, j, k); −GHOST ≤ i < n + GHOST.
    pub fn at(self, i: isize, j: isize, k: isize) -> usize {
        let g = GHOST as isize;
        ((i + g) + (j + g) * self.row as isize + (k + g) * self.plane as isize) as usize
    }

    /// Position of the first cell inside in row (j, k).
    pub fn start(self, j: usize, k: usize) -> usize {
        self.at(0, j as isize, k as isize)
    }

    /// Indices (j, k) of a row counted with ghosts.
    pub fn row_at(self, row: usize) -> [isize; 2] {
        let (g, rows) = (GHOST as isize, self.dims.ny + 2 * GHOST);
        [(row % rows) as isize - g, (row / rows) as isize - g]
    }
}

/// The three components of a vector on the faces, each in the same [`Layout`].
pub type Faces = [Vec<f32>; 3];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_positions_agree() {
        let layout = Layout::new(Dims::new([3, 4, 5]).unwrap());
        assert_eq!(layout.at(-2, -2, -2), 0);
        assert_eq!(layout.at(4, 5, 6), layout.size() - 1);
        for row in 0..layout.rows() {
            let [j, k] = layout.row_at(row);
            assert_eq!(layout.at(-2, j, k), row * layout.row);
        }
        assert_eq!(layout.own(), 0..layout.size());
    }

    #[test]
    fn slabs_share_the_planes_of_a_box() {
        let layout = Layout::new(Dims::new([3, 4, 5]).unwrap());
        let slabs = [[0, 2], [2, 3], [3, 5]].map(|planes| layout.slab(planes));
        assert_eq!(slabs.map(Layout::planes), [[-2, 2], [2, 3], [3, 7]]);
        assert_eq!(slabs.map(Layout::cell_planes), [[0, 2], [2, 3], [3, 5]]);
        assert_eq!(slabs[1].within([-1, 6]), [2, 3]);
        assert_eq!(slabs[0].within([4, 6]), [4, 4]);
        assert_eq!(slabs[2].own().end, layout.size());
    }
}
