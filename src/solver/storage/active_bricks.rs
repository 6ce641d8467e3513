//! Bricks of 8³ cells that contain smoke or heat. Passes over the scalars skip empty bricks (Kenwright: only
//! the active cells).

use std::ops::Range;

use crate::grid::{Dims, Layout};
use crate::simd::{Simd, each_level};

/// Cells along an edge of a brick.
pub const EDGE: usize = 8;

/// Occupied bricks of a box.
pub struct Bricks {
    layout: Layout,
    /// Bricks along x, y, z.
    count: Dims,
    /// For each plane of cells and each brick in it: whether its cells in that plane are occupied.
    pub planes: Vec<u8>,
    /// Whether `planes` is up to date. If not, every brick may be occupied.
    known: bool,
    /// As `planes`, of the scalars since the flow moved on.
    pub counted: Vec<u8>,
    /// Sums of the scalars, while they and `counted` are up to date.
    sums: Option<[f64; 4]>,
    /// Number of times that the scalars may have changed.
    changes: u64,
    /// For each brick: whether it may be occupied now, or after the step.
    reached: Vec<u8>,
    scratch: Vec<u8>,
}

/// Sides of the box through which smoke may come in.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Sides that give smoke or heat to the neighbouring air, lower and upper of each axis.
    pub feeding: [[bool; 2]; 3],
    /// Axes whose two sides are one.
    pub periodic: [bool; 3],
}

impl Bricks {
    /// Makes the bricks of a box of `layout`, all possibly occupied.
    pub fn new(layout: Layout) -> Self {
        let [nx, ny, nz] = layout.dims.array().map(|n| n.div_ceil(EDGE));
        let count = Dims { nx, ny, nz };
        let bricks = vec![1; count.cells()];
        let planes = vec![1; nx * ny * layout.dims.nz];
        let (reached, scratch) = (bricks.clone(), bricks);
        Self {
            layout,
            count,
            planes,
            known: false,
            counted: Vec::new(),
            sums: None,
            changes: 0,
            reached,
            scratch,
        }
    }

    /// Bricks in a plane of cells.
    pub fn in_plane(&self) -> usize {
        self.count.nx * self.count.ny
    }

    /// Bricks along x.
    pub fn in_row(&self) -> usize {
        self.count.nx
    }

    /// For each brick, x fastest, whether it is occupied; `None` if that is unknown.
    pub fn occupied(&self) -> Option<Vec<u8>> {
        self.known.then(|| {
            let mut held = vec![0; self.reached.len()];
            self.mark_occupied(&mut held);
            held
        })
    }

    /// Whether it is known which bricks are occupied.
    pub fn are_known(&self) -> bool {
        self.known
    }

    /// Sets the entry of each brick that has an occupied plane.
    fn mark_occupied(&self, bricks: &mut [u8]) {
        let in_plane = self.in_plane();
        for (k, plane) in self.planes.chunks_exact(in_plane).enumerate() {
            let bricks = &mut bricks[k / EDGE * in_plane..][..in_plane];
            bricks.iter_mut().zip(plane).for_each(|(brick, held)| *brick |= held);
        }
    }

    /// Declares `planes` up to date with the scalars. Until the flow moves on, no other brick is occupied.
    pub fn learn(&mut self) {
        self.known = true;
        self.reset_reached();
    }

    /// Declares `counted` up to date with the scalars, whose sums these are.
    pub fn count(&mut self, sums: [f64; 4]) {
        self.sums = Some(sums);
    }

    /// Declares the counted bricks up to date, and returns the counted sums; `None` if the scalars have changed since they were counted.
    pub fn learn_counted(&mut self) -> Option<[f64; 4]> {
        let sums = self.sums.take()?;
        std::mem::swap(&mut self.planes, &mut self.counted);
        self.learn();
        Some(sums)
    }

    /// A number that differs from an earlier one if the scalars may have changed since.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Outdates all that was computed from the scalars.
    fn note_change(&mut self) {
        self.sums = None;
        self.changes += 1;
    }

    /// Resets the reached bricks to the occupied ones.
    fn reset_reached(&mut self) {
        let mut held = std::mem::take(&mut self.reached);
        held.fill(0);
        self.mark_occupied(&mut held);
        self.reached = held;
    }

    /// Marks `planes` as outdated: the scalars were changed anywhere.
    pub fn forget(&mut self) {
        self.known = false;
        self.note_change();
        self.reached.fill(1);
    }

    /// Marks cells `xs` of row (j, k) as possibly occupied, before or after [`dilate`](Self::dilate).
    pub fn touch(&mut self, xs: Range<usize>, j: usize, k: usize) {
        if !xs.is_empty() {
            self.note_change();
            let (row, bricks) = (self.row(j, k), xs.start / EDGE..xs.end.div_ceil(EDGE));
            self.reached[row][bricks.clone()].fill(1);
            let row = k * self.in_plane() + j / EDGE * self.count.nx;
            self.planes[row..][bricks].fill(1);
        }
    }

    /// The bricks that row (j, k) passes through.
    fn row(&self, j: usize, k: usize) -> Range<usize> {
        let Dims { nx, ny, .. } = self.count;
        let first = (k / EDGE * ny + j / EDGE) * nx;
        first..first + nx
    }

    /// The part of row (j, k) outside which all cells are empty.
    pub fn span(&self, j: usize, k: usize) -> Range<usize> {
        let row = &self.reached[self.row(j, k)];
        match (row.iter().position(|&on| on != 0), row.iter().rposition(|&on| on != 0)) {
            (Some(first), Some(last)) => first * EDGE..((last + 1) * EDGE).min(self.layout.dims.nx),
            _ => 0..0,
        }
    }

    /// The range along `axis` (y or z) outside which the cells `xs` are empty, in the plane across the other
    /// of these two axes with index `other`.
    pub fn span_along(&self, axis: usize, xs: [usize; 2], other: usize) -> Range<usize> {
        let Dims { nx, ny, .. } = self.count;
        let (stride, start) =
            if axis == 1 { (nx, other / EDGE * nx * ny) } else { (nx * ny, other / EDGE * nx) };
        let columns = xs[0] / EDGE..xs[1].div_ceil(EDGE);
        let holds = |b: usize| self.reached[start + b * stride..][columns.clone()].iter().any(|&on| on != 0);
        let count = self.count.array()[axis];
        let Some(first) = (0..count).find(|&b| holds(b)) else { return 0..0 };
        let last = (first..count).rev().find(|&b| holds(b)).unwrap_or(first);
        first * EDGE..((last + 1) * EDGE).min(self.layout.dims.array()[axis])
    }

    /// The share of the possibly occupied bricks that the box `cells` touches.
    pub fn share_within(&self, cells: [[usize; 2]; 3]) -> f32 {
        let bricks = cells.map(|[first, end]| [first / EDGE, end.div_ceil(EDGE)]);
        let (mut all, mut within) = (0, 0);
        for (n, _) in self.reached.iter().enumerate().filter(|(_, on)| **on != 0) {
            let brick = self.count.place(n);
            all += 1;
            within += usize::from((0..3).all(|a| (bricks[a][0]..bricks[a][1]).contains(&brick[a])));
        }
        within as f32 / all.max(1) as f32
    }

    /// Finds the bricks that may be occupied after the flow has moved by up to `cells`.
    pub fn dilate(&mut self, Surroundings { feeding, periodic }: Surroundings, cells: f32) {
        self.note_change();
        if !self.known {
            self.reached.fill(1);
            return;
        }
        self.reset_reached();
        self.mark_feeding_sides(feeding);
        let far = bricks_across(cells);
        for axis in 0..3 {
            dilate_along(&self.reached, &mut self.scratch, self.count.array(), axis, far, periodic[axis]);
            std::mem::swap(&mut self.reached, &mut self.scratch);
        }
    }

    /// Whether [`dilate`](Self::dilate) finds the same bricks for both numbers of cells, wherever the smoke
    /// is.
    pub fn reach_same_bricks(&self, one: f32, other: f32) -> bool {
        !self.known || bricks_across(one) == bricks_across(other)
    }

    /// Marks the bricks beside sides through which smoke may enter at any time.
    fn mark_feeding_sides(&mut self, feeding: [[bool; 2]; 3]) {
        let count = self.count.array();
        for (n, brick) in self.reached.iter_mut().enumerate() {
            let index = self.count.place(n);
            let fed =
                |a: usize| (index[a] == 0 && feeding[a][0]) || (index[a] + 1 == count[a] && feeding[a][1]);
            *brick |= u8::from(fed(0) || fed(1) || fed(2));
        }
    }

    /// Calls `f(range of cells, whether they may be occupied)` for the runs of cells of row (j, k), in order.
    pub fn runs(&self, j: usize, k: usize, mut f: impl FnMut(Range<usize>, bool)) {
        let row = &self.reached[self.row(j, k)];
        let mut first = 0;
        for run in row.chunk_by(|a, b| a == b) {
            let end = first + run.len();
            f(first * EDGE..(end * EDGE).min(self.layout.dims.nx), run[0] != 0);
            first = end;
        }
    }
}

/// Bricks that smoke may cross along an axis when it moves by up to `cells`.
fn bricks_across(cells: f32) -> usize {
    // The stencil of a departure point extends two cells further.
    (cells.max(0.0).ceil().min(1e9) as usize + 2).div_ceil(EDGE)
}

/// Dilates along one axis: sets `to` where `from` is set within `far` bricks.
fn dilate_along(from: &[u8], to: &mut [u8], count: [usize; 3], axis: usize, far: usize, periodic: bool) {
    let stride = [1, count[0], count[0] * count[1]][axis];
    let n = count[axis];
    for (at, to) in to.iter_mut().enumerate() {
        let i = at / stride % n;
        let first = at - i * stride;
        *to = if periodic {
            u8::from(
                (0..(2 * far + 1).min(n)).any(|d| from[first + (i + n * far + d - far) % n * stride] != 0),
            )
        } else {
            let near = i.saturating_sub(far)..=(i + far).min(n - 1);
            u8::from(near.into_iter().any(|i| from[first + i * stride] != 0))
        };
    }
}

each_level! {
    /// Sets the entry in `held` of each brick of a row of cells that has a value other than zero.
    pub fn held_row(row: &[[f32; 4]], held: &mut [u8]) = held_row_kernel;
}

#[inline(always)]
fn held_row_kernel<S: Simd>(_: S, row: &[[f32; 4]], held: &mut [u8]) {
    for (cells, held) in row.chunks(EDGE).zip(held) {
        if *held != 0 {
            continue;
        }
        let mut bits = [0u32; 4];
        for cell in cells {
            for c in 0..4 {
                bits[c] |= cell[c].to_bits() << 1;
            }
        }
        *held = u8::from((bits[0] | bits[1]) | (bits[2] | bits[3]) != 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;

    fn reached(is_periodic: bool, smoke: [usize; 3], cells: f32) -> Vec<[usize; 3]> {
        let layout = Layout::new(Dims::new([40, 17, 24]).unwrap());
        let mut bricks = Bricks::new(layout);
        bricks.planes.fill(0);
        let [x, y, z] = smoke;
        let at = z * bricks.in_plane() + y / EDGE * bricks.in_row() + x / EDGE;
        bricks.planes[at] = 1;
        bricks.learn();
        bricks.dilate(
            Surroundings { feeding: Default::default(), periodic: [is_periodic, false, false] },
            cells,
        );
        let on = bricks.reached.iter().enumerate().filter(|(_, on)| **on != 0);
        on.map(|(at, _)| [at % 5, at / 5 % 3, at / 15]).collect()
    }

    #[test]
    fn smoke_reaches_the_bricks_around_it() {
        assert_eq!(reached(false, [20, 9, 20], 1.0).len(), 3 * 3 * 2);
        assert_eq!(reached(false, [0, 0, 0], 6.0).len(), 2 * 2 * 2);
        assert_eq!(reached(false, [0, 0, 0], 6.5).len(), 3 * 3 * 3);
        let around = reached(true, [0, 0, 0], 1.0);
        assert_eq!(around.len(), 3 * 2 * 2);
        assert!(around.contains(&[4, 1, 1]) && around.contains(&[1, 0, 0]) && !around.contains(&[2, 0, 0]));
        assert_eq!(reached(true, [20, 0, 0], 1e30).len(), 45);
    }

    #[test]
    fn only_bricks_that_hold_smoke_are_occupied_until_it_moves() {
        let mut bricks = Bricks::new(Layout::new(Dims::new([40, 17, 24]).unwrap()));
        bricks.planes.fill(0);
        bricks.planes[2] = 1;
        bricks.learn();
        assert_eq!((bricks.span(0, 0), bricks.span(8, 0)), (16..24, 0..0));
    }

    #[test]
    fn rows_are_divided_into_runs() {
        let layout = Layout::new(Dims::new([20, 8, 8]).unwrap());
        let mut bricks = Bricks::new(layout);
        bricks.reached = vec![0, 1, 1];
        let mut runs = vec![];
        bricks.runs(3, 5, |range, on| runs.push((range, on)));
        assert_eq!(runs, [(0..8, false), (8..20, true)]);
    }
}
