//! Rays in plain arrays, for every processor: the loops vectorise for the target (SSE2 on x86-64, NEON on
//! aarch64).
#![allow(
    unsafe_code,
    reason = "the trait is unsafe to call for the sake of the instruction sets found at run time"
)]

use std::array::from_fn;
use std::ops::{Add, Div, Mul, Sub};

use half::f16;

use super::lanes::{Lanes, Texels};
use crate::simd::{fma, greatest, least};

/// N floats.
#[derive(Clone, Copy)]
pub(super) struct Portable<const N: usize>([f32; N]);

/// Adding it leaves the nearest whole number in the last bits.
const ROUND: f32 = 12_582_912.0;

macro_rules! operator {
    ($trait:ident, $name:ident, $of:tt) => {
        impl<const N: usize> $trait for Portable<N> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self(from_fn(|i| self.0[i] $of other.0[i]))
            }
        }
    };
}
operator!(Add, add, +);
operator!(Sub, sub, -);
operator!(Mul, mul, *);
operator!(Div, div, /);

impl<const N: usize> Portable<N> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl<const N: usize> Lanes for Portable<N> {
    const COUNT: usize = N;
    /// All bits or none.
    type Mask = [u32; N];

    #[inline(always)]
    unsafe fn all(x: f32) -> Self {
        Self([x; N])
    }

    #[inline(always)]
    unsafe fn load(from: &[f32]) -> Self {
        Self(*from.first_chunk().expect("a number for each ray"))
    }

    #[inline(always)]
    unsafe fn store(values: [Self; 4], to: &mut [[f32; 4]]) {
        let to: &mut [[f32; 4]; N] = to.first_chunk_mut().expect("room for each ray");
        for i in 0..N {
            to[i] = [values[0].0[i], values[1].0[i], values[2].0[i], values[3].0[i]];
        }
    }

    #[inline(always)]
    unsafe fn times(self, b: Self, c: Self) -> Self {
        Self(from_fn(|i| fma::<false>(self.0[i], b.0[i], c.0[i])))
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        self.zip(other, least)
    }

    #[inline(always)]
    unsafe fn greatest(self, other: Self) -> Self {
        self.zip(other, greatest)
    }

    #[inline(always)]
    unsafe fn root(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }

    #[inline(always)]
    unsafe fn floor(self) -> Self {
        Self(from_fn(|i| floor(self.0[i])))
    }

    #[inline(always)]
    unsafe fn power(self) -> Self {
        Self(from_fn(|i| {
            let whole = (self.0[i] + ROUND).to_bits().wrapping_sub(ROUND.to_bits());
            f32::from_bits(whole.wrapping_add(127) << 23)
        }))
    }

    #[inline(always)]
    unsafe fn less(self, than: Self) -> [u32; N] {
        from_fn(|i| if self.0[i] < than.0[i] { !0 } else { 0 })
    }

    #[inline(always)]
    unsafe fn both(a: [u32; N], b: [u32; N]) -> [u32; N] {
        from_fn(|i| a[i] & b[i])
    }

    #[inline(always)]
    unsafe fn any(mask: [u32; N]) -> bool {
        mask.into_iter().fold(0, |any, lane| any | lane) != 0
    }

    #[inline(always)]
    unsafe fn select(mask: [u32; N], yes: Self, no: Self) -> Self {
        Self(from_fn(|i| f32::from_bits(yes.0[i].to_bits() & mask[i] | no.0[i].to_bits() & !mask[i])))
    }

    #[inline(always)]
    unsafe fn look_up(table: &[f32], at: Self) -> Self {
        let last = (table.len() - 1) as f32;
        Self(from_fn(|i| table[whole(least(greatest(at.0[i], 0.0), last)) as usize]))
    }

    #[inline(always)]
    unsafe fn read(volume: &Texels, at: [Self; 3]) -> [Self; 4] {
        let strides = volume.strides();
        let (mut first, mut f) = ([0_u32; N], at);
        for a in 0..3 {
            let last = volume.last(a);
            for i in 0..N {
                let x = greatest(least(at[a].0[i], last + 1.0), 0.0);
                let low = least(floor(x), last);
                first[i] += whole(low) * strides[a] as u32;
                f[a].0[i] = x - low;
            }
        }
        let mut values = [[0.0; 4]; N];
        for i in 0..N {
            let start = first[i] as usize;
            let pair = |offset: usize| pair(&volume.values()[start + offset..]);
            let [_, row, plane] = strides;
            let (y, z) = (f[1].0[i], f[2].0[i]);
            let near = lerp(z, pair(0), pair(plane));
            let far = lerp(z, pair(row), pair(row + plane));
            let ends = lerp(y, near, far);
            for c in 0..4 {
                values[i][c] = fma::<false>(f[0].0[i], ends[4 + c] - ends[c], ends[c]);
            }
        }
        from_fn(|c| Self(from_fn(|i| values[i][c])))
    }
}

#[inline(always)]
fn lerp(t: f32, low: [f32; 8], high: [f32; 8]) -> [f32; 8] {
    from_fn(|n| fma::<false>(t, high[n] - low[n], low[n]))
}

/// Loads two texels of a row as floats.
#[inline(always)]
fn pair(texels: &[[f16; 4]]) -> [f32; 8] {
    let texels: &[[f16; 4]; 2] = texels.first_chunk().expect("two texels along x");
    from_fn(|n| widen(texels[n / 4][n % 4]))
}

/// Converts a finite half float to a float. The crate `half` would check for instructions at each call.
#[inline(always)]
fn widen(x: f16) -> f32 {
    // 2¹¹², the difference of the exponents' biases: correct for subnormal numbers too.
    const BIAS: f32 = f32::from_bits((112 + 127) << 23);
    let bits = u32::from(x.to_bits());
    let magnitude = f32::from_bits((bits & 0x7FFF) << 13) * BIAS;
    f32::from_bits(magnitude.to_bits() | (bits & 0x8000) << 16)
}

/// The greatest whole number at most `x`, which is whole or less than 2²². Without SSE4.1 the standard
/// library's is a function call.
#[inline(always)]
fn floor(x: f32) -> f32 {
    if cfg!(any(target_arch = "aarch64", target_feature = "sse4.1")) {
        return x.floor();
    }
    let near = (x + ROUND) - ROUND;
    let below = if near > x { near - 1.0 } else { near };
    if x.abs() < 4_194_304.0 { below } else { x }
}

/// A whole number from 0 to 2²² as an integer. A conversion would check for numbers out of range.
#[inline(always)]
fn whole(x: f32) -> u32 {
    (x + ROUND).to_bits().wrapping_sub(ROUND.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finite_halves_widen_exactly() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            assert!(!x.is_finite() || widen(x).to_bits() == x.to_f32().to_bits(), "{bits:#x}");
        }
    }

    #[test]
    fn floors_and_whole_numbers_are_exact() {
        for n in -4000..4000 {
            let x = n as f32 * 0.37;
            assert_eq!(floor(x), x.floor(), "{x}");
        }
        for x in [0.0, -0.5, 4.0e6, -4.0e6, 4_194_303.5, 1e20, -1e20, f32::MAX] {
            assert_eq!(floor(x), x.floor(), "{x}");
        }
        assert!((0..1000).map(|n| n * 4177).all(|n| whole(n as f32) == n));
    }
}
