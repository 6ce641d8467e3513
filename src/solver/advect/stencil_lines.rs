//! The lines of a stencil of 4×4×4 nodes, checked once for all sixteen.
#![allow(unsafe_code)]

use crate::solver::sides::SampleBounds;

/// Sixteen lines along x of `LINE` values each: four rows of four planes. A check of each line costs the cubic kernels a tenth.
#[derive(Clone, Copy)]
pub struct StencilLines<'a, T, const LINE: usize> {
    /// From the first value of the first line to the last value of the last line.
    values: &'a [T],
    row: usize,
    plane: usize,
}

impl<'a, T, const LINE: usize> StencilLines<'a, T, LINE> {
    /// The lines of the stencil whose second node along each axis is at position `at`, if all of them lie in `field`.
    #[inline(always)]
    pub fn around(field: &'a [T], at: usize, bounds: &SampleBounds) -> Option<Self> {
        let &SampleBounds { row, plane, .. } = bounds;
        let first = at.checked_sub(1 + row + plane)?;
        let values = field.get(first..first + 3 * (row + plane) + LINE)?;
        Some(Self { values, row, plane })
    }

    /// Line `j` of plane `k`, both from 0 to 3.
    #[inline(always)]
    pub fn line(self, j: usize, k: usize) -> &'a [T; LINE] {
        assert!(j < 4 && k < 4, "a stencil has four lines in each of four planes");
        let first = j * self.row + k * self.plane;
        // SAFETY: `values` has 3 (row + plane) + LINE values, and j and k are at most 3.
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
            let lines = StencilLines::<_, 11>::around(&field, at, &bounds).unwrap();
            for [j, k] in [[0, 0], [3, 0], [1, 2], [3, 3]] {
                let first = at - before + j * bounds.row + k * bounds.plane;
                assert_eq!(*lines.line(j, k), std::array::from_fn(|i| first + i));
            }
        }
        assert!(StencilLines::<_, 11>::around(&field, before - 1, &bounds).is_none());
        assert!(StencilLines::<_, 11>::around(&field, last + 1, &bounds).is_none());
    }
}
