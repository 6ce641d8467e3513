//! Quadratic B-splines of ray packets. Each ray has a stencil of 4×3×3 texels, whose rows are read whole. The
//! spline has three texels along each axis; the fourth of a row has a weight only at a side of the volume.

use fearless_simd::prelude::*;
use fearless_simd::{f32x4, f32x8};

use super::packets::{Eights, Packets, ROUND};
use super::texels::{Rows, Texels};

/// Rows of texels around a sample point: three in each of three planes.
pub(super) const ROWS: usize = 9;

/// Whole numbers for the rays of a packet.
type Whole<S> = <<S as Packets>::Rays as SimdFloat<S>>::Bits;

/// Stencils around the sample points of a packet, and their weights.
pub(super) struct Taps<'a, S: Packets> {
    pub rows: Rows<'a, Whole<S>>,
    /// Weights of the texels of a row.
    pub along: [S::Rays; 4],
    /// Weights of the rows, y first.
    pub across: [S::Rays; ROWS],
}

impl<'a, S: Packets> Taps<'a, S> {
    /// Finds the stencils around positions in texels from the centre of the first, along z from `first`
    /// planes before it.
    #[inline(always)]
    pub fn new(s: S, volume: Texels<'a>, at: [S::Rays; 3], first: f32) -> Self {
        let [_, row, plane] = volume.strides();
        let (i, along) = weights::<S, 4>(s, at[0], 0.0, volume.last(0) - 2.0);
        let (j, in_y) = weights::<S, 3>(s, at[1], 0.0, volume.last(1) - 1.0);
        let (k, in_z) = weights::<S, 3>(s, at[2], first, first + volume.last(2) - 1.0);
        let at = whole::<S>(i) + whole::<S>(j) * row as u32 + whole::<S>(k - first) * plane as u32;
        let mut across = [s.splat(0.0); ROWS];
        for n in 0..ROWS {
            across[n] = in_y[n % 3] * in_z[n / 3];
        }
        Self { rows: Rows::new(volume, at), along, across }
    }
}

/// Returns the first of `N` texels around each position along an axis, from `least` to `most`, and their
/// weights. Beyond a side the last texel is repeated.
#[inline(always)]
fn weights<S: Packets, const N: usize>(s: S, at: S::Rays, least: f32, most: f32) -> (S::Rays, [S::Rays; N]) {
    let base = (s.floor(at + 0.5) - 1.0).min(most).max(least);
    let from_base = at - base;
    let mut weights = [from_base; N];
    let mut rest = s.splat(1.0);
    for (n, weight) in weights.iter_mut().enumerate() {
        let away = (from_base - n as f32).abs();
        let (wide, narrow) = ((s.splat(1.5) - away).max(0.0), (s.splat(0.5) - away).max(0.0));
        *weight = wide * wide * 0.5 - narrow * narrow * 1.5;
        rest -= *weight;
    }
    // The weights of texels beyond a side, or the rounding error within the volume.
    let below = from_base.simd_lt(1.0);
    weights[0] += below.select(rest, s.splat(0.0));
    weights[N - 1] += below.select(s.splat(0.0), rest);
    (base, weights)
}

/// Converts small whole numbers of at least 0 to integers.
#[inline(always)]
fn whole<S: Packets>(x: S::Rays) -> Whole<S> {
    let bits: Whole<S> = (x + ROUND).bitcast();
    bits - ROUND.to_bits()
}

/// Implements [`Packets::sample_spline`] for eight rays.
#[inline(always)]
pub(super) fn sample_spline_eight<S: Eights>(
    s: S,
    volume: &Texels,
    at: [f32x8<S>; 3],
    first: f32,
) -> [f32x8<S>; 4] {
    let taps = Taps::new(s, *volume, at, first);
    s.transpose_blocks([taps.two(s, 0), taps.two(s, 1), taps.two(s, 2), taps.two(s, 3)])
}

impl<S: Eights> Taps<'_, S> {
    /// Returns the splines of rays n and n + 4.
    #[inline(always)]
    fn two(&self, s: S, n: usize) -> f32x8<S> {
        self.one(s, n).combine(self.one(s, n + 4))
    }

    #[inline(always)]
    fn one(&self, s: S, n: usize) -> f32x4<S> {
        let mut sums = [f32x8::splat(s, 0.0); 2];
        for (row, weights) in self.across.iter().enumerate() {
            let (weight, [low, high]) = (f32x8::splat(s, weights[n]), self.rows.row(n, row));
            sums[0] = weight.mul_add(s.widen(low), sums[0]);
            sums[1] = weight.mul_add(s.widen(high), sums[1]);
        }
        let [a, b, c, d] = self.along;
        let [a, b, c, d] = [a[n], b[n], c[n], d[n]];
        let low = f32x4::splat(s, a).combine(f32x4::splat(s, b));
        let high = f32x4::splat(s, c).combine(f32x4::splat(s, d));
        let (even, odd) = sums[1].mul_add(high, sums[0] * low).split();
        even + odd
    }
}
