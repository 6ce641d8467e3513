//! Interpolation on a regular grid: trilinear, and by the quadratic B-spline, which has no creases.

use crate::grid::Dims;

/// Interpolates trilinearly at `at`, in units of the spacing from the first value, clamped at the border.
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

/// Samples the quadratic B-spline with the values as its coefficients, clamped as [`trilinear`] is. It blurs
/// by less than a spacing.
pub fn spline<const N: usize>(dims: Dims, at: [f32; 3], value: impl Fn(usize) -> [f32; N]) -> [f32; N] {
    let mut sum = [0.0; N];
    for (n, weight) in spline_cells(dims, at) {
        let value = value(n);
        (0..N).for_each(|c| sum[c] += weight * value[c]);
    }
    sum
}

/// Returns the values that [`spline`] reads, and their weights.
pub fn spline_cells(dims: Dims, at: [f32; 3]) -> [(usize, f32); 27] {
    let size = dims.array();
    let middle = at.map(|x| (x + 0.5).floor());
    let weights: [_; 3] = std::array::from_fn(|a| spline_weights(at[a] - middle[a]));
    let near =
        |a: usize, n: usize| (middle[a] as isize + n as isize - 1).clamp(0, size[a] as isize - 1) as usize;
    std::array::from_fn(|n| {
        let [i, j, k] = [n % 3, n / 3 % 3, n / 9];
        let weight = weights[0][i] * weights[1][j] * weights[2][k];
        (dims.index(near(0, i), near(1, j), near(2, k)), weight)
    })
}

/// Returns the weights of the three values around a sample at `t` from the middle one, −½ to ½.
fn spline_weights(t: f32) -> [f32; 3] {
    let (low, high) = (0.5 * (0.5 - t) * (0.5 - t), 0.5 * (0.5 + t) * (0.5 + t));
    [low, 1.0 - low - high, high]
}

/// Interpolates from `a` to `b` by the share `t`.
pub fn lerp<const N: usize>(a: [f32; N], b: [f32; N], t: f32) -> [f32; N] {
    std::array::from_fn(|n| a[n] + (b[n] - a[n]) * t)
}
