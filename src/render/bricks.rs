//! Bricks of a snapshot with smoke in them.

use half::f16;

use crate::snapshot::{BRICK, Bricks};

/// Returns whether a brick has no smoke.
pub(super) fn empty(max: &[f16; 4]) -> bool {
    max[..3].iter().all(|&x| x <= f16::ZERO)
}

/// Returns the bounding box of all occupied bricks, for cells of edge `h` \[m\]; inverted if there are none.
pub(super) fn occupied(bricks: &Bricks, h: f32) -> [[f32; 3]; 2] {
    let edge = BRICK as f32 * h;
    let mut bounds = [[f32::MAX; 3], [f32::MIN; 3]];
    for (n, _) in bricks.max.iter().enumerate().filter(|(_, max)| !empty(max)) {
        let at = bricks.dims.place(n);
        for a in 0..3 {
            bounds[0][a] = bounds[0][a].min(at[a] as f32 * edge);
            bounds[1][a] = bounds[1][a].max((at[a] + 1) as f32 * edge);
        }
    }
    bounds
}
