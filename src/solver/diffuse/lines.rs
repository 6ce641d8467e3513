//! The lines of a field, many side by side.

use super::{WIDTH, Wide};
use crate::grid::Layout;
use crate::solver::sweep::Shared;

/// The lines of a field along one axis, in groups of [`WIDTH`] floats that lie side by side.
pub struct Lines {
    layout: Layout,
    axis: usize,
    /// First index and count along x, y, z.
    first: [isize; 3],
    count: [usize; 3],
    /// Values of the line.
    pub length: usize,
    /// Values at each point.
    values: usize,
}

impl Lines {
    /// The lines along `axis` within `range`, with as many `values` at each point.
    pub fn new(layout: Layout, axis: usize, range: [[isize; 2]; 3], values: usize) -> Self {
        let count = range.map(|[lo, hi]| (hi - lo).max(0) as usize);
        Self { layout, axis, first: range.map(|r| r[0]), count, length: count[axis], values }
    }

    /// The axis across which a group extends: x, or y for lines along x; and the one left over.
    fn across(&self) -> [usize; 2] {
        match self.axis {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        }
    }

    fn per_group(&self) -> usize {
        WIDTH / self.values
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        let [wide, other] = self.across();
        if self.length == 0 { 0 } else { self.count[wide].div_ceil(self.per_group()) * self.count[other] }
    }

    /// Position of the first value of the group's first line, in floats, and its number of lines.
    fn locate(&self, group: usize) -> (usize, usize) {
        let [wide, other] = self.across();
        let across = self.count[wide].div_ceil(self.per_group());
        let from = (group % across) * self.per_group();
        let mut at = self.first;
        at[wide] += from as isize;
        at[other] += (group / across) as isize;
        (self.layout.at(at[0], at[1], at[2]) * self.values, self.per_group().min(self.count[wide] - from))
    }

    /// The group, the place along the line and the first lane of the point at `at`; none outside the range.
    pub fn place(&self, at: [isize; 3]) -> Option<[usize; 3]> {
        let from = [0, 1, 2].map(|a| at[a] - self.first[a]);
        if (0..3).any(|a| !(0..self.count[a] as isize).contains(&from[a])) {
            return None;
        }
        let [wide, other] = self.across().map(|a| from[a] as usize);
        let across = self.count[self.across()[0]].div_ceil(self.per_group());
        let group = other * across + wide / self.per_group();
        Some([group, from[self.axis] as usize, wide % self.per_group() * self.values])
    }

    /// Calls `f(i, lane, floats)` for each contiguous piece of the group.
    #[allow(unsafe_code)]
    fn pieces(&self, group: usize, field: &Shared<f32>, mut f: impl FnMut(usize, usize, &mut [f32])) {
        let (at, lines) = self.locate(group);
        let n = self.values;
        let stride = self.layout.strides()[self.axis] * n;
        let (row, pieces, width) =
            if self.axis == 0 { (self.layout.row * n, lines, n) } else { (0, 1, lines * n) };
        for i in 0..self.length {
            for piece in 0..pieces {
                // SAFETY: groups share no line, and no two pieces are alive at once.
                f(i, piece * n, unsafe { field.part(at + i * stride + piece * row, width) });
            }
        }
    }

    /// Copies a group out of the field.
    pub fn read(&self, group: usize, field: &Shared<f32>, to: &mut [Wide]) {
        self.pieces(group, field, |i, lane, floats| to[i][lane..lane + floats.len()].copy_from_slice(floats));
    }

    /// Copies a group back.
    pub fn write(&self, group: usize, field: &Shared<f32>, from: &[Wide]) {
        self.pieces(group, field, |i, lane, floats| {
            floats.copy_from_slice(&from[i][lane..lane + floats.len()])
        });
    }
}
