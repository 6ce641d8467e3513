//! The vector of a ray packet: one float for each ray, on the tokens of [`crate::simd`].

#[cfg(target_arch = "x86_64")]
use fearless_simd::f32x16;
use fearless_simd::prelude::*;
use fearless_simd::{f32x4, f32x8, i32x8, u32x8};
use half::f16;

use super::texels::{Corners, Texels};
use crate::simd::Simd;
use crate::simd::vectors::EIGHT;

/// A token of an instruction set, with the vector of its ray packets.
pub(super) trait Packets: Simd {
    /// One float for each ray.
    type Rays: SimdFloat<Self, Element = f32>;
    /// Rays of a packet.
    const COUNT: usize = <Self::Rays as SimdBase<Self>>::LEN;

    /// Stores four interleaved numbers for each ray.
    fn store(self, values: [Self::Rays; 4], to: &mut [[f32; 4]]);
    /// Looks up entries of a non-empty table at whole numbers, clamped to its ends.
    fn look_up(self, table: &[f32], at: Self::Rays) -> Self::Rays;
    /// Samples a volume trilinearly; `at` is in texels along each axis, from the centre of the first.
    fn sample(self, volume: &Texels, at: [Self::Rays; 3]) -> [Self::Rays; 4];
    /// Samples the quadratic B-spline with the texels as its coefficients, four or more along each axis.
    /// Along z `at` counts from a plane `first` planes before the first texels, so that rounding does not
    /// depend on the slab.
    fn sample_spline(self, volume: &Texels, at: [Self::Rays; 3], first: f32) -> [Self::Rays; 4];

    /// Returns the greatest whole number at most `x`.
    #[inline(always)]
    fn floor(self, x: Self::Rays) -> Self::Rays {
        x.floor()
    }

    /// Returns the least whole number at least `x`.
    #[inline(always)]
    fn ceil(self, x: Self::Rays) -> Self::Rays {
        -self.floor(-x)
    }

    /// Returns the same number for all rays.
    #[inline(always)]
    fn splat(self, x: f32) -> Self::Rays {
        Self::Rays::splat(self, x)
    }

    /// Loads the first numbers of a slice.
    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::Rays {
        Self::Rays::from_slice(self, &from[..Self::COUNT])
    }

    /// Returns e^x for x ≤ 0, as `exp` of the scalar code does.
    #[inline(always)]
    fn exp(self, x: Self::Rays) -> Self::Rays {
        let t = (x * std::f32::consts::LOG2_E).max(-126.0);
        let whole = self.floor(t + 0.5);
        let f = t - whole;
        let p = f.mul_add(1.540_353e-4, 1.333_355_8e-3);
        let p = p.mul_add(f, 9.618_129e-3).mul_add(f, 5.550_411e-2);
        let p = p.mul_add(f, 0.240_226_5).mul_add(f, std::f32::consts::LN_2);
        p.mul_add(f, 1.0) * self.power(whole)
    }

    /// Returns 2 to the power of a whole number from −126 to 127.
    #[inline(always)]
    fn power(self, whole: Self::Rays) -> Self::Rays {
        // The sum leaves the exponent's bits, 127 more than the whole number, in the last bits.
        let bits: <Self::Rays as SimdFloat<Self>>::Bits = (whole + (ROUND + 127.0)).bitcast();
        (bits << 23).bitcast()
    }
}

/// Adding it leaves the nearest whole number in the last bits.
pub(super) const ROUND: f32 = 12_582_912.0;

/// A token whose packets have eight rays.
pub(super) trait Eights: Packets<Rays = f32x8<Self>> {
    /// Converts two texels.
    fn widen(self, texels: &[[f16; 4]; 2]) -> f32x8<Self>;
}

/// Implements [`Packets::store`] for eight rays.
#[inline(always)]
pub(super) fn store_eight<S: Simd>(s: S, values: [f32x8<S>; 4], to: &mut [[f32; 4]]) {
    let to: &mut [[f32; 4]; EIGHT] = to.first_chunk_mut().expect("room for each ray");
    s.interleave(values, to.each_mut());
}

/// Implements [`Packets::store`] for sixteen rays.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn store_sixteen<S: Simd>(s: S, values: [f32x16<S>; 4], to: &mut [[f32; 4]]) {
    let [a, b, c, d] = values.map(|x| x.split());
    let (low, high) = to.split_at_mut(EIGHT);
    store_eight(s, [a.0, b.0, c.0, d.0], low);
    store_eight(s, [a.1, b.1, c.1, d.1], high);
}

/// Implements [`Packets::sample`] for eight rays.
#[inline(always)]
pub(super) fn sample_eight<S: Eights>(s: S, volume: &Texels, at: [f32x8<S>; 3]) -> [f32x8<S>; 4] {
    let (mut first, mut f) = (u32x8::splat(s, 0), at);
    for a in 0..3 {
        let last = volume.last(a);
        let x = at[a].min(last + 1.0).max(0.0);
        let low = s.floor(x).min(last);
        let whole: u32x8<S> = low.to_int::<i32x8<S>>().bitcast();
        first += whole * volume.strides()[a] as u32;
        f[a] = x - low;
    }
    let points = Points { s, corners: Corners::new(*volume, first), f };
    s.transpose_blocks([points.two(0), points.two(1), points.two(2), points.two(3)])
}

/// Sample points of eight rays.
struct Points<'a, S: Simd> {
    s: S,
    corners: Corners<'a, u32x8<S>>,
    /// Fractions from the first texel around each point.
    f: [f32x8<S>; 3],
}

impl<S: Eights> Points<'_, S> {
    /// Interpolates between the texels of points n and n + 4.
    #[inline(always)]
    fn two(&self, n: usize) -> f32x8<S> {
        let (a, b) = (self.ends(n), self.ends(n + 4));
        let ((a_low, a_high), (b_low, b_high)) = (a.split(), b.split());
        let of = |n: usize| f32x4::splat(self.s, self.f[0][n]);
        lerp(of(n).combine(of(n + 4)), a_low.combine(b_low), a_high.combine(b_high))
    }

    /// Interpolates along y and z: the two ends along x of a point.
    #[inline(always)]
    fn ends(&self, n: usize) -> f32x8<S> {
        let z = f32x8::splat(self.s, self.f[2][n]);
        let near = lerp(z, self.pair(n, false, false), self.pair(n, false, true));
        let far = lerp(z, self.pair(n, true, false), self.pair(n, true, true));
        lerp(f32x8::splat(self.s, self.f[1][n]), near, far)
    }

    #[inline(always)]
    fn pair(&self, n: usize, far_row: bool, far_plane: bool) -> f32x8<S> {
        self.s.widen(self.corners.pair(n, far_row, far_plane))
    }
}

#[inline(always)]
fn lerp<S: Simd>(t: f32x8<S>, low: f32x8<S>, high: f32x8<S>) -> f32x8<S> {
    t.mul_add(high - low, low)
}
