//! The lines of a field, interleaved in groups.

use super::{WIDTH, Wide};
use crate::grid::Layout;
use crate::simd::LANES;
use crate::simd::transpose::transpose;
use crate::solver::storage::row_passes::Shared;

/// The lines of a field along one axis, in groups of [`WIDTH`] interleaved floats.
pub struct Lines<const N: usize> {
    layout: Layout,
    axis: usize,
    /// First index and count along x, y, z.
    first: [isize; 3],
    count: [usize; 3],
    /// Points of a line, with N values each.
    pub length: usize,
}

impl<const N: usize> Lines<N> {
    /// The lines along `axis` within `range`.
    pub fn new(layout: Layout, axis: usize, range: [[isize; 2]; 3]) -> Self {
        let count = range.map(|[lo, hi]| (hi - lo).max(0) as usize);
        Self { layout, axis, first: range.map(|r| r[0]), count, length: count[axis] }
    }

    /// The axis across which a group extends (x, or y for lines along x), and the remaining axis.
    fn across(&self) -> [usize; 2] {
        match self.axis {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        }
    }

    fn per_group(&self) -> usize {
        WIDTH / N
    }

    /// Number of groups.
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
        (self.layout.at(at[0], at[1], at[2]) * N, self.per_group().min(self.count[wide] - from))
    }

    /// The group, the index along the line and the first lane of the point at `at`; none outside the range.
    pub fn place(&self, at: [isize; 3]) -> Option<[usize; 3]> {
        let from = [0, 1, 2].map(|a| at[a] - self.first[a]);
        if (0..3).any(|a| !(0..self.count[a] as isize).contains(&from[a])) {
            return None;
        }
        let [wide, other] = self.across().map(|a| from[a] as usize);
        let across = self.count[self.across()[0]].div_ceil(self.per_group());
        let group = other * across + wide / self.per_group();
        Some([group, from[self.axis] as usize, wide % self.per_group() * N])
    }

    /// Returns the rows of the field that hold a group, up to the end of the last one, and their number.
    ///
    /// # Safety
    /// For lines along x only. The previous result for a group must be dropped before the next call for it.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    unsafe fn rows<'a>(&self, group: usize, field: &'a Shared<f32>) -> (&'a mut [f32], usize) {
        let (at, lines) = self.locate(group);
        // SAFETY: whole rows, of which each belongs to one group.
        (unsafe { field.part(at, (lines - 1) * self.pitch() + self.length * N) }, lines)
    }

    /// Returns the adjacent floats of a group at one index of its lines.
    ///
    /// # Safety
    /// For lines along y or z only. The previous result for a group and index must be dropped before the next
    /// call for them.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    unsafe fn points<'a>(&self, group: usize, i: usize, field: &'a Shared<f32>) -> &'a mut [f32] {
        let (at, lines) = self.locate(group);
        let stride = self.layout.strides()[self.axis] * N;
        // SAFETY: groups share no line.
        unsafe { field.part(at + i * stride, lines * N) }
    }

    /// Distance between rows \[floats\].
    fn pitch(&self) -> usize {
        self.layout.row * N
    }

    /// Offsets of index i of a line along x: in the rows, and in the lanes.
    fn corner(&self, line: usize, i: usize) -> (usize, usize) {
        (line * self.pitch() + i * N, i * WIDTH + line * N)
    }

    /// Corners of the squares of sixteen points of sixteen lines that cover a group. None where they do not
    /// fit.
    fn squares(&self, lines: usize) -> impl Iterator<Item = (usize, usize)> {
        let fit = N == 1 && lines.min(self.length) >= LANES;
        let lines = sixteens(if fit { lines } else { 0 });
        lines.flat_map(move |line| sixteens(self.length).map(move |i| self.corner(line, i)))
    }

    /// Corners of all points of a group that squares do not cover.
    fn singles(&self, lines: usize) -> impl Iterator<Item = (usize, usize)> {
        let lines = if self.squares(lines).next().is_some() { 0 } else { lines };
        (0..lines).flat_map(move |line| (0..self.length).map(move |i| self.corner(line, i)))
    }

    /// Copies a group out of the field.
    ///
    /// # Safety
    /// No two threads may read or write the same group of a field at once.
    #[allow(unsafe_code)]
    pub unsafe fn read(&self, group: usize, field: &Shared<f32>, to: &mut [Wide]) {
        if self.axis == 0 {
            // SAFETY: the caller keeps others from the group, and no other part of it is alive here.
            let (rows, lines) = unsafe { self.rows(group, field) };
            let to = to.as_flattened_mut();
            self.squares(lines).for_each(|(a, b)| transpose(&rows[a..], self.pitch(), &mut to[b..], WIDTH));
            self.singles(lines).for_each(|(a, b)| to[b..][..N].copy_from_slice(&rows[a..][..N]));
            return;
        }
        for (i, to) in to.iter_mut().enumerate() {
            // SAFETY: the caller keeps others from the group, and no other part of it is alive here.
            let floats = unsafe { self.points(group, i, field) };
            match <&Wide>::try_from(&*floats) {
                Ok(all) => *to = *all,
                Err(_) => to[..floats.len()].copy_from_slice(floats),
            }
        }
    }

    /// Copies the values beyond the low (0) or the high end of a group's lines.
    ///
    /// # Safety
    /// As for [`read`](Self::read): they lie beside the group, and no other group's lines hold them.
    #[allow(unsafe_code)]
    pub unsafe fn read_beyond(&self, group: usize, field: &Shared<f32>, end: usize, to: &mut Wide) {
        let ((at, lines), strides) = (self.locate(group), self.layout.strides());
        let beyond =
            if end == 0 { at - strides[self.axis] * N } else { at + self.length * strides[self.axis] * N };
        let next = strides[self.across()[0]] * N;
        for line in 0..lines {
            // SAFETY: a line's ghost belongs to it alone.
            let ghost = unsafe { field.part(beyond + line * next, N) };
            to[line * N..][..N].copy_from_slice(ghost);
        }
    }

    /// Copies the values of a group's lines from a plane across the lines: N values for each line within `range`, those of the lower of
    /// the other two axes beside each other.
    pub fn read_across(&self, group: usize, plane: &[f32], range: [[isize; 2]; 3], to: &mut Wide) {
        let (at, lines) = self.locate_across(group, range);
        to[..lines * N].copy_from_slice(&plane[at * N..][..lines * N]);
    }

    /// Copies a value of each lane of a group into such a plane.
    ///
    /// # Safety
    /// No two threads may write the same group of a plane at once.
    #[allow(unsafe_code)]
    pub unsafe fn write_across(
        &self,
        group: usize,
        plane: &Shared<f32>,
        range: [[isize; 2]; 3],
        from: &Wide,
    ) {
        let (at, lines) = self.locate_across(group, range);
        // SAFETY: groups share no line, and the caller keeps others from this one.
        unsafe { plane.part(at * N, lines * N) }.copy_from_slice(&from[..lines * N]);
    }

    /// The first line of a group in a plane across all lines within `range`, and its number of lines.
    fn locate_across(&self, group: usize, range: [[isize; 2]; 3]) -> (usize, usize) {
        let [wide, other] = self.across();
        let groups = self.count[wide].div_ceil(self.per_group());
        let from = (group % groups) * self.per_group();
        let lines = self.per_group().min(self.count[wide] - from);
        let skipped = |axis: usize| (self.first[axis] - range[axis][0]) as usize;
        let row = group / groups + skipped(other);
        (row * (range[wide][1] - range[wide][0]) as usize + from + skipped(wide), lines)
    }

    /// Copies a group back.
    ///
    /// # Safety
    /// No two threads may read or write the same group of a field at once.
    #[allow(unsafe_code)]
    pub unsafe fn write(&self, group: usize, field: &Shared<f32>, from: &[Wide]) {
        if self.axis == 0 {
            // SAFETY: the caller keeps others from the group, and no other part of it is alive here.
            let (rows, lines) = unsafe { self.rows(group, field) };
            let from = from.as_flattened();
            self.squares(lines).for_each(|(a, b)| transpose(&from[b..], WIDTH, &mut rows[a..], self.pitch()));
            self.singles(lines).for_each(|(a, b)| rows[a..][..N].copy_from_slice(&from[b..][..N]));
            return;
        }
        for (i, from) in from.iter().enumerate() {
            // SAFETY: the caller keeps others from the group, and no other part of it is alive here.
            let floats = unsafe { self.points(group, i, field) };
            match <&mut Wide>::try_from(&mut *floats) {
                Ok(all) => *all = *from,
                Err(_) => floats.copy_from_slice(&from[..floats.len()]),
            }
        }
    }
}

/// Beginnings of runs of sixteen that cover `n`; the last one overlaps the one before it.
fn sixteens(n: usize) -> impl Iterator<Item = usize> {
    let last = (!n.is_multiple_of(LANES)).then(|| n - LANES);
    (0..n / LANES).map(|piece| piece * LANES).chain(last)
}
