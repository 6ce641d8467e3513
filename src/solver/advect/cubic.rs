//! Limited cubic interpolation along each axis, clamped to the eight values around the departure point.

use fearless_simd::prelude::*;

use super::stencil_lines::StencilLines;
use crate::simd::{Simd, greatest, least};
use crate::solver::sides::SampleBounds;

/// A cubic through the middle two of four values, exact for parabolas. With s = 1 − t the outer two have the
/// weights t s (`level` + `slope` s) and t s (`level` + `slope` t).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Constant part of the outer weights.
    pub level: f32,
    /// Part of the outer weights that grows with the distance from the other end.
    pub slope: f32,
}

impl Curve {
    /// Catmull & Rom 1974: slopes at the middle two by central differences. Keeps small swirls longest.
    pub const CATMULL_ROM: Self = Self { level: 0.0, slope: -0.5 };
    /// Lagrange: through all four values. Exact for cubics, so slow features do not disperse.
    pub const LAGRANGE: Self = Self { level: -1.0 / 6.0, slope: -1.0 / 6.0 };

    /// Returns the weights of the four values around a fraction t. The linear weights s and t absorb what the
    /// outer two add, so the sum is 1. Symmetric in s and t.
    #[inline(always)]
    pub fn weights<S: Simd>(self, simd: S, t: f32) -> [f32; 4] {
        let s = 1.0 - t;
        let product = t * s;
        let first = product * simd.fma(self.slope, s, self.level);
        let last = product * simd.fma(self.slope, t, self.level);
        [first, simd.fma(-2.0, first, s) + last, simd.fma(-2.0, last, t) + first, last]
    }
}

/// Returns the limited values at `fraction` above the position `at`, N interleaved values: first along y,
/// then along z, last along x, in the order in which the wide kernels add.
#[inline(always)]
pub fn cubic<S: Simd, const N: usize>(
    s: S,
    curve: Curve,
    field: &[[f32; N]],
    at: usize,
    bounds: &SampleBounds,
    fraction: [f32; 3],
) -> [f32; N] {
    let [wx, wy, wz] = fraction.map(|t| curve.weights(s, t));
    let stencil = &field[at - 1 - bounds.row - bounds.plane..];
    let mut lines = [[0.0; N]; 4];
    let (mut low, mut high) = ([f32::INFINITY; N], [f32::NEG_INFINITY; N]);
    for z in 0..4 {
        let mut slice = [[0.0; N]; 4];
        for y in 0..4 {
            let line: &[[f32; N]; 4] =
                stencil[z * bounds.plane + y * bounds.row..].first_chunk().expect("four values");
            for x in 0..4 {
                for c in 0..N {
                    slice[x][c] = s.fma(wy[y], line[x][c], slice[x][c]);
                }
            }
            if (1..3).contains(&z) && (1..3).contains(&y) {
                for c in 0..N {
                    low[c] = least(line[2][c], least(line[1][c], low[c]));
                    high[c] = greatest(line[2][c], greatest(line[1][c], high[c]));
                }
            }
        }
        for x in 0..4 {
            for c in 0..N {
                lines[x][c] = s.fma(wz[z], slice[x][c], lines[x][c]);
            }
        }
    }
    let mut out = [0.0; N];
    for c in 0..N {
        let value = (wx[0] * lines[0][c] + wx[2] * lines[2][c]) + (wx[1] * lines[1][c] + wx[3] * lines[3][c]);
        out[c] = least(greatest(value, low[c]), high[c]);
    }
    out
}

/// [`Curve::weights`] of each lane.
#[inline(always)]
pub fn weights_of_lanes<S: Simd, V: SimdFloat<S, Element = f32>>(s: S, curve: Curve, t: V) -> [V; 4] {
    let rest = V::splat(s, 1.0) - t;
    let product = t * rest;
    let (level, slope) = (V::splat(s, curve.level), V::splat(s, curve.slope));
    let first = product * slope.mul_add(rest, level);
    let last = product * slope.mul_add(t, level);
    let twice = V::splat(s, -2.0);
    [first, twice.mul_add(first, rest) + last, twice.mul_add(last, t) + first, last]
}

/// Values of neighbours before they are limited, and the least and greatest values around their departure points.
#[derive(Clone, Copy)]
pub struct Unlimited<V> {
    pub value: V,
    pub low: V,
    pub high: V,
}

impl<V> Unlimited<V> {
    /// The value, clamped.
    #[inline(always)]
    pub fn limited<S: Simd>(self) -> V
    where
        V: SimdFloat<S, Element = f32>,
    {
        self.value.max(self.low).min(self.high)
    }
}

/// Cubic interpolation for as many neighbours as there are lanes, N interleaved values each, with the terms in the order of
/// [`cubic`]. `lines` begin with the values of the first neighbour; `weights` are those of the nodes along x,
/// y and z.
#[inline(always)]
pub fn neighbours<S: Simd, V: SimdFloat<S, Element = f32>, const N: usize, const LINE: usize>(
    s: S,
    lines: StencilLines<[f32; N], 4, LINE>,
    [x, y, z]: &[[V; 4]; 3],
) -> Unlimited<V> {
    let zero = V::splat(s, 0.0);
    let mut sums = [zero; 4];
    let (mut low, mut high) = (V::splat(s, f32::INFINITY), V::splat(s, f32::NEG_INFINITY));
    for k in 0..4 {
        let mut slice = [zero; 4];
        for j in 0..4 {
            let line = lines.line(j, k).as_flattened();
            for i in 0..4 {
                let value = V::from_slice(s, &line[N * i..][..V::LEN]);
                slice[i] = y[j].mul_add(value, slice[i]);
                if (1..3).contains(&k) && (1..3).contains(&j) && (1..3).contains(&i) {
                    low = value.min(low);
                    high = value.max(high);
                }
            }
        }
        for i in 0..4 {
            sums[i] = z[k].mul_add(slice[i], sums[i]);
        }
    }
    Unlimited { value: (x[0] * sums[0] + x[2] * sums[2]) + (x[1] * sums[1] + x[3] * sums[3]), low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::each_level;

    each_level! { fn weights(curve: Curve, t: f32, out: &mut [f32; 4]) = weights_kernel; }

    #[inline(always)]
    fn weights_kernel<S: Simd>(s: S, curve: Curve, t: f32, out: &mut [f32; 4]) {
        *out = curve.weights(s, t);
    }

    /// Compares the weights at 65 fractions with formulas in double precision, and with the mirrored weights.
    fn check(curve: Curve, formulas: impl Fn(f64) -> [f64; 4]) {
        for n in 0..=64 {
            let t = n as f32 / 64.0;
            let [mut straight, mut mirrored] = [[0.0; 4]; 2];
            weights(curve, t, &mut straight);
            for (weight, want) in straight.iter().zip(formulas(f64::from(t))) {
                assert!((weight - want as f32).abs() < 1e-7, "{t}: {weight} for {want}");
            }
            weights(curve, 1.0 - t, &mut mirrored);
            mirrored.reverse();
            assert_eq!(straight, mirrored);
        }
    }

    #[test]
    fn weights_are_those_of_catmull_and_rom_from_both_sides() {
        check(Curve::CATMULL_ROM, |x| {
            [
                0.5 * x * ((2.0 - x) * x - 1.0),
                0.5 * (x * x * (3.0 * x - 5.0) + 2.0),
                0.5 * x * ((4.0 - 3.0 * x) * x + 1.0),
                0.5 * x * x * (x - 1.0),
            ]
        });
    }

    #[test]
    fn weights_are_those_of_lagrange_from_both_sides() {
        check(Curve::LAGRANGE, |x| {
            [
                -x * (x - 1.0) * (x - 2.0) / 6.0,
                (x + 1.0) * (x - 1.0) * (x - 2.0) / 2.0,
                -(x + 1.0) * x * (x - 2.0) / 2.0,
                (x + 1.0) * x * (x - 1.0) / 6.0,
            ]
        });
    }
}
