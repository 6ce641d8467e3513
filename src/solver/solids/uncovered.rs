//! Values of cells that a solid has just left.
//!
//! A field that is kept from step to step has no value where a solid was. The cells that a solid leaves take
//! the mean of their neighbours in the air, layer by layer:
//!
//! ```text
//!     p p p # #        p p p 1 2        # solid, p known
//!     p p # # #   →    p p 1 2 #        1, 2 filled in the first and the second pass
//! ```
//!
//! A mean moves with the neighbours: where the pressure is known only up to a constant, the constant does not matter. Each
//! pass reads only what was known before it, so the order of the cells does not matter either.

use super::frame::Frame;
use super::voxels::{CLOSED, SOLID};
use crate::grid::GHOST;
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes::leave_room;

/// Mark in the flags of the step's beginning: the cell was solid and has a value now.
const FILLED: u8 = 1 << 7;

/// Finds and fills the cells that solids have left in this step.
#[derive(Default)]
pub struct Uncovered {
    /// Positions of the cells that were inside solids when the step began.
    pub were_inside: Vec<u32>,
    /// Those of them that are in the air and have no value yet.
    waiting: Vec<u32>,
    /// Values found in this pass.
    found: Vec<(u32, f32)>,
}

impl Uncovered {
    /// Fills `field` in all cells that `before` has as solid and `after` has not. `before` is marked. Cells without a way
    /// to known ones through open faces become 0.
    pub fn fill(
        &mut self,
        frame: &Frame,
        ranks: &Ranks,
        before: &mut [u8],
        after: &mut [u8],
        field: &mut [f32],
    ) {
        let Self { were_inside, waiting, found } = self;
        waiting.clear();
        let own = were_inside.iter().filter(|&&at| frame.is_own(at));
        waiting.extend(own.filter(|&&at| after[at as usize] & SOLID == 0));
        leave_room(waiting);
        ranks.exchange(frame.layout, [after], [0, 1]);
        while ranks.any(!waiting.is_empty()) {
            ranks.exchange(frame.layout, [before], [1; 2]);
            ranks.exchange(frame.layout, [field], [1; 2]);
            found.clear();
            for &at in &*waiting {
                if let Some(mean) = mean_around(frame, before, after, field, at as usize) {
                    found.push((at, mean));
                }
            }
            leave_room(found);
            if !ranks.any(!found.is_empty()) {
                waiting.iter().for_each(|&at| field[at as usize] = 0.0);
                return;
            }
            for &(at, mean) in &*found {
                field[at as usize] = mean;
                before[at as usize] |= FILLED;
            }
            waiting.retain(|&at| before[at as usize] & FILLED == 0);
        }
    }
}

/// Mean of the known values beyond the open faces of a cell.
fn mean_around(frame: &Frame, before: &[u8], after: &[u8], field: &[f32], at: usize) -> Option<f32> {
    let layout = frame.layout;
    let index = [at % layout.row, at % layout.plane / layout.row, at / layout.plane];
    let (mut sums, mut count) = ([0.0f32; 3], 0);
    for axis in 0..3 {
        let (stride, n) = (layout.strides()[axis], layout.dims.array()[axis]);
        let [first, last] = [index[axis] == GHOST, index[axis] == GHOST + n - 1];
        let sides = [
            (at, first, at.wrapping_sub(stride), at + (n - 1) * stride),
            (at + stride, last, at + stride, at.wrapping_sub((n - 1) * stride)),
        ];
        for (face, is_outermost, next, across) in sides {
            if after[face] & CLOSED << axis != 0 || is_outermost && !frame.periodic[axis] {
                continue;
            }
            let neighbour = if is_outermost { across } else { next };
            if before[neighbour] & (SOLID | FILLED) != SOLID {
                sums[axis] += field[neighbour];
                count += 1;
            }
        }
    }
    (count > 0).then(|| (sums[0] + sums[1] + sums[2]) / count as f32)
}
