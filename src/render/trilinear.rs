//! Interpolation on a regular grid: trilinear, and by the cubic B-spline, which is smoother.

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

/// The cubic B-spline with the values as its coefficients, clamped as [`trilinear`]. It blurs by about a spacing.
pub fn spline<const N: usize>(dims: Dims, at: [f32; 3], value: impl Fn(usize) -> [f32; N]) -> [f32; N] {
    let size = dims.array();
    let weights = at.map(|x| spline_weights(x - x.floor()));
    let near = |a: usize, n: usize| {
        (at[a].floor() as isize + n as isize - 1).clamp(0, size[a] as isize - 1) as usize
    };
    let mut sum = [0.0; N];
    for n in 0..64 {
        let [i, j, k] = [n % 4, n / 4 % 4, n / 16];
        let weight = weights[0][i] * weights[1][j] * weights[2][k];
        let value = value(dims.index(near(0, i), near(1, j), near(2, k)));
        (0..N).for_each(|c| sum[c] += weight * value[c]);
    }
    sum
}

/// Weights of the four values around a sample at `f` between the middle two.
fn spline_weights(f: f32) -> [f32; 4] {
    let g = 1.0 - f;
    let (first, last) = (g * g * g / 6.0, f * f * f / 6.0);
    let second = 2.0 / 3.0 - 0.5 * f * f * (2.0 - f);
    [first, second, 1.0 - first - second - last, last]
}

fn lerp<const N: usize>(a: [f32; N], b: [f32; N], t: f32) -> [f32; N] {
    std::array::from_fn(|n| a[n] + (b[n] - a[n]) * t)
}
