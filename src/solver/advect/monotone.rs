//! Monotone cubic interpolation (Fedkiw, Stam & Jensen 2001, appendix B): a Hermite curve between the two
//! values around the departure point, along x, then y, then z.

use crate::simd::Simd;
use crate::solver::sides::SampleBounds;

/// Returns the values at `fraction` above the position `at`, N interleaved values.
#[inline(always)]
pub fn monotone<S: Simd, const N: usize>(
    s: S,
    field: &[[f32; N]],
    at: usize,
    bounds: &SampleBounds,
    [x, y, z]: [f32; 3],
) -> [f32; N] {
    let stencil = &field[at - 1 - bounds.row - bounds.plane..];
    let mut along_z = [[0.0; N]; 4];
    for k in 0..4 {
        let mut along_y = [[0.0; N]; 4];
        for j in 0..4 {
            let line: &[[f32; N]; 4] =
                stencil[k * bounds.plane + j * bounds.row..].first_chunk().expect("four values");
            along_y[j] = hermite(s, line, x);
        }
        along_z[k] = hermite(s, &along_y, y);
    }
    hermite(s, &along_z, z)
}

/// Returns the curve between the middle two of four values at 0 ≤ t ≤ 1. Its slopes are central differences,
/// or 0 if their sign differs from that of the rise between the two. They are at most three times that rise:
/// a steeper curve can still leave the two values (Fritsch & Carlson 1980).
#[inline(always)]
fn hermite<S: Simd, const N: usize>(s: S, f: &[[f32; N]; 4], t: f32) -> [f32; N] {
    let mut out = [0.0; N];
    for c in 0..N {
        let rise = f[2][c] - f[1][c];
        let (d0, d1) = (slope(0.5 * (f[2][c] - f[0][c]), rise), slope(0.5 * (f[3][c] - f[1][c]), rise));
        let cubic = d0 + d1 - 2.0 * rise;
        let square = 3.0 * rise - 2.0 * d0 - d1;
        out[c] = s.fma(s.fma(s.fma(cubic, t, square), t, d0), t, f[1][c]);
    }
    out
}

#[inline(always)]
fn slope(d: f32, rise: f32) -> f32 {
    let steepest = 3.0 * rise;
    let limited = if d.abs() > steepest.abs() { steepest } else { d };
    if d * rise > 0.0 { limited } else { 0.0 }
}
