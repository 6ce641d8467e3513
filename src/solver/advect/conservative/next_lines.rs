//! Prefetching of the next lines during a sweep.
//!
//! The kernel prefetches one cache line of each array with each cell, so memory transfers overlap with arithmetic. Prefetching in bursts,
//! while lines are loaded, is slower (PERFORMANCE.md). The hardware prefetcher stops at page boundaries.

use crate::simd::prefetch;
use crate::simd::vectors::EIGHT;
use crate::solver::storage::row_passes::Shared;

/// Values in a cache line.
const LINE: usize = 16;

/// Addresses of the next eight lines of cells.
#[derive(Clone, Copy)]
pub struct NextLines {
    /// Addresses prefetched with the first cell: two of scalars, one of a velocity.
    first: [*const f32; 3],
    /// Strides from cell to cell \[values\].
    strides: [usize; 3],
}

impl NextLines {
    /// For lines that start at index `at`, with stride `along` between cells and `across` between lines. Prefetching starts at cell
    /// `first` of each line; `velocity` is the component along the lines.
    pub fn after(
        scalars: &Shared<'_, f32>,
        velocity: &[f32],
        [at, across, along]: [usize; 3],
        first: usize,
    ) -> Self {
        let from = at + EIGHT * across;
        // Along x the next eight rows are contiguous in memory. Along y and z eight neighbours may straddle
        // two cache lines. The first came with the lines before, so the address of the last value is
        // prefetched.
        let ([scalar, face], stride) = match across {
            1 => ([4 * (from + first * along) + LINE - 1, from + first * along + EIGHT - 1], along),
            _ => ([4 * from, from], EIGHT),
        };
        let velocity = velocity.as_ptr().wrapping_add(face);
        let first = [scalars.address(scalar), scalars.address(scalar + LINE), velocity];
        Self { first, strides: [4 * stride, 4 * stride, stride] }
    }

    /// Disables the prefetches that are not `wanted`: they repeat one address, so the kernel needs no branch.
    pub fn only(mut self, wanted: [bool; 3]) -> Self {
        for n in 0..3 {
            if !wanted[n] {
                (self.first[n], self.strides[n]) = (self.first[2], 0);
            }
        }
        self
    }

    /// Prefetches the cache lines of cell i, counted from the first of the sweep.
    #[inline(always)]
    pub fn prefetch(&self, i: usize) {
        prefetch(self.first[0].wrapping_add(i * self.strides[0]));
        prefetch(self.first[1].wrapping_add(i * self.strides[1]));
        prefetch(self.first[2].wrapping_add(i * self.strides[2]));
    }
}
