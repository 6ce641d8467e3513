//! The lines of a stencil along x, checked once for all of them.
#![allow(unsafe_code)]

use crate::solver::sides::SampleBounds;

/// Lines along x of `LINE` values each: `LINES` rows in each of `LINES` planes. A check of each line would cost the cubic kernels a tenth.
#[derive(Clone, Copy)]
pub struct StencilLines<'a, T, const LINES: usize, const LINE: usize> {
    /// From the first value of the first line to the last value of the last line.
    values: &'a [T],
    row: usize,
    plane: usize,
}

impl<'a, T, const LINES: usize, const LINE: usize> StencilLines<'a, T, LINES, LINE> {
    /// The lines of a stencil whose first line begins at position `first`; `None` unless all of them lie in
    /// `field`.
    #[inline(always)]
    pub fn from(field: &'a [T], first: usize, bounds: &SampleBounds) -> Option<Self> {
        let &SampleBounds { row, plane, .. } = bounds;
        let values = field.get(first..first + (LINES - 1) * (row + plane) + LINE)?;
        Some(Self { values, row, plane })
    }

    /// The lines of the stencil whose second node along each axis is at position `at`; `None` unless all of
    /// them lie in `field`.
    #[inline(always)]
    pub fn around(field: &'a [T], at: usize, bounds: &SampleBounds) -> Option<Self> {
        Self::from(field, at.checked_sub(1 + bounds.row + bounds.plane)?, bounds)
    }

    /// Line `j` of plane `k`, both less than `LINES`.
    #[inline(always)]
    pub fn line(self, j: usize, k: usize) -> &'a [T; LINE] {
        assert!(j < LINES && k < LINES, "a line outside the stencil");
        let first = j * self.row + k * self.plane;
        // SAFETY: `values` has (LINES - 1) (row + plane) + LINE values, and j and k are at most LINES - 1.
        unsafe { self.values.get_unchecked(first..first + LINE).first_chunk().unwrap_unchecked() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Dims, Layout};
    use crate::solver::BoundaryCondition;
    use crate::solver::sides::GhostRules;

    #[test]
    fn lines_have_the_values_of_the_field_and_end_with_it() {
        let layout = Layout::new(Dims::new([5, 3, 4]).unwrap());
        let walls = GhostRules::new(layout, [[BoundaryCondition::Closed; 2]; 3], Default::default());
        let bounds = walls.sample_bounds(None);
        let field: Vec<usize> = (0..layout.size()).collect();
        let before = 1 + bounds.row + bounds.plane;
        let last = field.len() - 2 * (bounds.row + bounds.plane) - 10;
        for at in [before, before + 3, last] {
            let lines = StencilLines::<_, 4, 11>::around(&field, at, &bounds).unwrap();
            for [j, k] in [[0, 0], [3, 0], [1, 2], [3, 3]] {
                let first = at - before + j * bounds.row + k * bounds.plane;
                assert_eq!(*lines.line(j, k), std::array::from_fn(|i| first + i));
            }
        }
        let short = StencilLines::<_, 2, 3>::from(&field, before, &bounds).unwrap();
        assert_eq!(*short.line(1, 1), std::array::from_fn(|i| before + bounds.row + bounds.plane + i));
        assert!(StencilLines::<_, 4, 11>::around(&field, before - 1, &bounds).is_none());
        assert!(StencilLines::<_, 4, 11>::around(&field, last + 1, &bounds).is_none());
    }
}
