//! Which bricks of a snapshot have anything in them.

use half::f16;

use crate::snapshot::{BRICK, Bricks};

/// Whether there is no smoke in a brick.
pub(super) fn empty(max: &[f16; 4]) -> bool {
    max[..3].iter().all(|&x| x <= f16::ZERO)
}

/// The box around all bricks of cells of edge `h` in which something is \[m\]; upside down if there is none.
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

/// Each brick with the maxima of those around it: for interpolation that reaches further than one cell.
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
