//! Prefetching with the cells of a sweep.
//!
//! A sweep computes for long on what it has loaded. It asks for one line of the cache with each cell, so that memory works meanwhile: all
//! at once they would wait for each other, and the hardware's prefetcher stops at the end of each page.

use crate::simd::fetch;
use crate::simd::vectors::EIGHT;
use crate::solver::storage::row_passes::Shared;

/// Values in a line of the cache.
const LINE: usize = 16;

/// The lines after those that are swept.
#[derive(Clone, Copy)]
pub struct Ahead {
    /// Lines of the cache that are fetched with the first cell: two of scalars, one of a velocity.
    lines: [*const f32; 3],
    /// Their distances from cell to cell \[values\].
    steps: [usize; 3],
}

impl Ahead {
    /// For the eight lines after those that begin with the cell `at`, from their cell `first` on. The next cell is `along` behind, the
    /// next line `across`; `velocity` is the one along the lines.
    pub fn of(
        scalars: &Shared<'_, f32>,
        velocity: &[f32],
        [at, across, along]: [usize; 3],
        first: usize,
    ) -> Self {
        let from = at + EIGHT * across;
        // Rows follow each other in memory. Across them, the last values are fetched: lines of the cache may begin among the others.
        let ([scalar, face], step) = match across {
            1 => ([4 * (from + first * along) + LINE - 1, from + first * along + EIGHT - 1], along),
            _ => ([4 * from, from], EIGHT),
        };
        let velocity = velocity.as_ptr().wrapping_add(face);
        let lines = [scalars.address(scalar), scalars.address(scalar + LINE), velocity];
        Self { lines, steps: [4 * step, 4 * step, step] }
    }

    /// Fetches these of the lines only.
    pub fn only(mut self, wanted: [bool; 3]) -> Self {
        for n in 0..3 {
            if !wanted[n] {
                (self.lines[n], self.steps[n]) = (self.lines[2], 0);
            }
        }
        self
    }

    /// Prefetches with cell i of the sweep.
    #[inline(always)]
    pub fn fetch(&self, i: usize) {
        fetch(self.lines[0].wrapping_add(i * self.steps[0]));
        fetch(self.lines[1].wrapping_add(i * self.steps[1]));
        fetch(self.lines[2].wrapping_add(i * self.steps[2]));
    }
}
