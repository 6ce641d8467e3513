//! Trilinear interpolation on a regular grid.

use crate::grid::Dims;

/// The value at `at`, in units of the spacing from the first value, clamped at the border.
pub fn trilinear<const N: usize>(dims: Dims, at: [f32; 3], value: impl Fn(usize) -> [f32; N]) -> [f32; N] {
    let size = dims.array();
    let (mut lo, mut f, mut hi) = ([0; 3], [0.0; 3], [0; 3]);
    for a in 0..3 {
        let x = at[a].clamp(0.0, (size[a] - 1) as f32);
        lo[a] = x as usize;
        hi[a] = (lo[a] + 1).min(size[a] - 1);
        f[a] = x - lo[a] as f32;
    }
    let row = |j: usize, k: usize| {
        let (a, b) = (value(dims.index(lo[0], j, k)), value(dims.index(hi[0], j, k)));
        lerp(a, b, f[0])
    };
    let plane = |k: usize| lerp(row(lo[1], k), row(hi[1], k), f[1]);
    lerp(plane(lo[2]), plane(hi[2]), f[2])
}

fn lerp<const N: usize>(a: [f32; N], b: [f32; N], t: f32) -> [f32; N] {
    std::array::from_fn(|n| a[n] + (b[n] - a[n]) * t)
}
