//! The box that solids stand in.

use crate::grid::{GHOST, Layout};

/// Grid and sides of the box. Besides the solids, the voxels depend only on these.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Positions of values in memory.
    pub layout: Layout,
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Periodic axes.
    pub periodic: [bool; 3],
    /// Sides of the box that are walls.
    pub walls: [[bool; 2]; 3],
}

impl Frame {
    /// Whether a position is that of a cell in the box.
    pub fn holds(&self, at: usize) -> bool {
        let layout = self.layout;
        let index = [at % layout.row, at % layout.plane / layout.row, at / layout.plane];
        (0..3).all(|a| (GHOST..GHOST + layout.dims.array()[a]).contains(&index[a]))
    }
}
