//! Bricks of a snapshot with smoke in them.

use half::f16;

use crate::snapshot::{BRICK, Bricks};

/// Whether a brick has no smoke.
pub(super) fn empty(max: &[f16; 4]) -> bool {
    max[..3].iter().all(|&x| x <= f16::ZERO)
}

/// Bounding box of all occupied bricks, for cells of edge `h` \[m\]; inverted if there are none.
pub(super) fn occupied(bricks: &Bricks, h: f32) -> [[f32; 3]; 2] {
    let edge = BRICK as f32 * h;
    let mut bounds = [[f32::MAX; 3], [f32::MIN; 3]];
    for (n, _) in bricks.max.iter().enumerate().filter(|(_, max)| !empty(max)) {
        let [nx, ny, _] = bricks.dims.array();
        let at = [n % nx, n / nx % ny, n / (nx * ny)];
        for a in 0..3 {
            bounds[0][a] = bounds[0][a].min(at[a] as f32 * edge);
            bounds[1][a] = bounds[1][a].max((at[a] + 1) as f32 * edge);
        }
    }
    bounds
}

/// The maxima of each brick and its neighbours, for interpolation wider than one cell.
pub(super) fn widened(bricks: &Bricks) -> Bricks {
    let size = bricks.dims.array();
    let around = |at: usize, n: usize| at.saturating_sub(1)..(at + 2).min(n);
    let mut wide = bricks.clone();
    for (n, out) in wide.max.iter_mut().enumerate() {
        let at = [n % size[0], n / size[0] % size[1], n / (size[0] * size[1])];
        for k in around(at[2], size[2]) {
            for j in around(at[1], size[1]) {
                for i in around(at[0], size[0]) {
                    let other = bricks.max[bricks.dims.index(i, j, k)];
                    (0..4).for_each(|c| out[c] = out[c].max(other[c]));
                }
            }
        }
    }
    wide
}
