//! Gains of lines through their ends: what walls and inflows give to a field while it diffuses.
//!
//! They are the fluxes of the scheme itself, summed over both stages of its lines. So their sum over all ends is the change of the field's
//! sum, at any length of a step. The slope of the field after the step says something else: forces, decay and the projection have acted
//! on the values beside the wall, and the slope depends on how much of them a single step brings.

use super::{Diffusion, LineBoundary, axis_order};
use crate::grid::other_axes;
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes::Shared;

/// Most values of a line.
const MOST: usize = 4;

/// Sums over lines, for each axis, end and value.
pub type Gains = [[[f64; MOST]; 2]; 3];

/// Gains of the lines of a field.
#[derive(Default)]
pub(super) struct EndGains {
    /// Sums since [`Diffusion::begin`].
    pub total: Gains,
    /// Axes along which the first and the last line count half.
    halves: [[bool; 2]; 3],
    /// Ends that hold a value, in the present pass.
    held: [bool; 2],
    /// Gains through each of these ends, N for each line.
    lines: [Vec<f32>; 2],
    /// Sums over the rows of lines of this rank, N for each end.
    rows: Vec<f64>,
}

impl Diffusion {
    /// Sums over the lines since [`begin`](Self::begin).
    pub fn gains(&self) -> Gains {
        self.gains.total
    }
}

impl EndGains {
    /// Begins to sum, see [`Diffusion::begin`].
    pub fn begin(&mut self, halves: [[bool; 2]; 3]) {
        (self.total, self.halves) = (Gains::default(), halves);
    }

    /// Prepares for a pass of lines along `axis` within `range`.
    pub fn prepare<const N: usize>(&mut self, axis: usize, range: [[isize; 2]; 3], ends: &LineBoundary<N>) {
        self.held = match ends {
            LineBoundary::Line(ends) => ends.map(|end| end.sign != [1.0; N]),
            LineBoundary::Ring => [false; 2],
        };
        let count = range.map(|[first, end]| (end - first).max(0) as usize);
        for end in (0..2).filter(|&end| self.held[end]) {
            self.lines[end].resize(axis_order::across::<N>(axis, count), 0.0);
        }
    }

    /// The gains of each line, while a pass runs.
    pub fn share(&mut self) -> [Option<Shared<'_, f32>>; 2] {
        let [low, high] = &mut self.lines;
        [self.held[0].then(|| Shared::new(low)), self.held[1].then(|| Shared::new(high))]
    }

    /// Adds up the gains of a pass: `own` is the part of `range` whose lines this rank has solved.
    pub fn collect<const N: usize>(
        &mut self,
        ranks: &Ranks,
        axis: usize,
        [own, range]: [[[isize; 2]; 3]; 2],
    ) {
        if self.held == [false; 2] {
            return;
        }
        let [wide, other] = other_axes(axis);
        let count = range.map(|[first, end]| (end - first).max(0) as usize);
        self.rows.clear();
        for row in own[other][0]..own[other][1] {
            let row = (row - range[other][0]) as usize;
            for end in 0..2 {
                let mut sum = [0.0; N];
                if self.held[end] {
                    let lines = &self.lines[end][row * count[wide] * N..][..count[wide] * N];
                    for (n, gains) in lines.as_chunks::<N>().0.iter().enumerate() {
                        let weight = self.weight(wide, n, count[wide]);
                        (0..N).for_each(|c| sum[c] += weight * f64::from(gains[c]));
                    }
                }
                let weight = self.weight(other, row, count[other]);
                self.rows.extend(sum.map(|sum| weight * sum));
            }
        }
        ranks.join_lists(&mut self.rows);
        for row in self.rows.chunks_exact(2 * N) {
            for (sums, gains) in self.total[axis].iter_mut().zip(row.chunks_exact(N)) {
                sums.iter_mut().zip(gains).for_each(|(sum, gain)| *sum += gain);
            }
        }
    }

    /// Weight of line `n` of `count` along `axis`.
    pub fn weight(&self, axis: usize, n: usize, count: usize) -> f64 {
        let [first, last] = self.halves[axis];
        if first && n == 0 || last && n + 1 == count { 0.5 } else { 1.0 }
    }
}
