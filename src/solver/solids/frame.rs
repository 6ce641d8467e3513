//! The box that solids stand in.

use crate::grid::{GHOST, Layout};
use crate::solver::sides::GhostRules;

/// Grid and sides of the box. Besides the solids, the voxels depend only on these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Positions of values in memory.
    pub layout: Layout,
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Periodic axes.
    pub periodic: [bool; 3],
    /// Sides of the box that are walls.
    pub walls: [[bool; 2]; 3],
    /// The planes of cells in which solids are looked for, ascending; with several ranks the slab and the planes beside it.
    pub parts: [[usize; 2]; 3],
}

impl Frame {
    /// The box of `walls` with cells of this edge, in which solids are looked for up to `window` planes beside the slab.
    pub fn new(walls: &GhostRules, h: f32, window: usize) -> Self {
        let mut parts = [[0; 2]; 3];
        let layout = walls.layout();
        for (part, known) in parts.iter_mut().zip(walls.ranks().known(layout.dims.nz, [window; 2])) {
            *part = known;
        }
        Self { layout, h, periodic: walls.periodic(), walls: walls.solid_sides(), parts }
    }

    /// Whether solids are looked for in any of the planes of cells `from..to`.
    pub fn reaches(&self, [from, to]: [usize; 2]) -> bool {
        self.parts.iter().any(|part| part[0].max(from) < part[1].min(to))
    }

    /// The planes in which solids are looked for, as half-open ranges with the ghosts of the box beside them.
    pub fn planes(&self) -> impl Iterator<Item = [isize; 2]> {
        let (g, nz) = (GHOST as isize, self.layout.dims.nz as isize);
        self.parts.into_iter().filter(|part| part[0] < part[1]).map(move |part| {
            let [from, to] = part.map(|k| k as isize);
            [if from == 0 { -g } else { from }, if to == nz { nz + g } else { to }]
        })
    }

    /// Whether a position is in a plane that this rank computes.
    pub fn is_own(&self, at: u32) -> bool {
        self.layout.own().contains(&(at as usize))
    }

    /// Whether a position is that of a cell in the box.
    pub fn holds(&self, at: usize) -> bool {
        let layout = self.layout;
        let index = [at % layout.row, at % layout.plane / layout.row, at / layout.plane];
        (0..3).all(|a| (GHOST..GHOST + layout.dims.array()[a]).contains(&index[a]))
    }
}
