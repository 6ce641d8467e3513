//! Ray packets with the instructions of the compile target: eight rays.

use fearless_simd::prelude::*;
use fearless_simd::{f32x8, i32x8, u16x8, u32x8};
use half::f16;

#[cfg(target_arch = "x86_64")]
use super::packets::ROUND;
use super::packets::{Eights, Packets, sample_eight, store_eight};
use super::spline_taps::sample_spline_eight;
use super::texels::Texels;
use crate::simd::Baseline;

impl Packets for Baseline {
    type Rays = f32x8<Self>;

    #[inline(always)]
    fn store(self, values: [f32x8<Self>; 4], to: &mut [[f32; 4]]) {
        store_eight(self, values, to);
    }

    #[inline(always)]
    fn look_up(self, table: &[f32], at: f32x8<Self>) -> f32x8<Self> {
        let at = at.max(0.0).min((table.len() - 1) as f32).to_int::<i32x8<Self>>();
        f32x8::from_fn(self, |n| table[at[n] as usize])
    }

    #[inline(always)]
    fn sample(self, volume: &Texels, at: [f32x8<Self>; 3]) -> [f32x8<Self>; 4] {
        sample_eight(self, volume, at)
    }

    #[inline(always)]
    fn sample_spline(self, volume: &Texels, at: [f32x8<Self>; 3], first: f32) -> [f32x8<Self>; 4] {
        sample_spline_eight(self, volume, at, first)
    }

    /// Returns the greatest whole number at most `x`, which is whole or less than 2²². SSE2 has no
    /// instruction for it, and the common vectors call a function for each lane.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn floor(self, x: f32x8<Self>) -> f32x8<Self> {
        let near = (x + ROUND) - ROUND;
        let below = near.simd_gt(x).select(near - 1.0, near);
        x.abs().simd_lt(4_194_304.0).select(below, x)
    }
}

impl Eights for Baseline {
    /// Widens exactly for finite numbers.
    #[inline(always)]
    fn widen(self, texels: &[[f16; 4]; 2]) -> f32x8<Self> {
        // 2¹¹² corrects the exponent for the difference of the biases, for subnormal numbers too.
        const BIAS: f32 = f32::from_bits((112 + 127) << 23);
        let halves: u16x8<Self> = u16x8::load_array_ref(self, bytemuck::cast_ref(texels));
        let (low, high) = halves.widen();
        let bits: u32x8<Self> = low.combine(high);
        let magnitude: f32x8<Self> = ((bits & 0x7FFF) << 13).bitcast();
        let magnitude: u32x8<Self> = (magnitude * BIAS).bitcast();
        (magnitude | (bits & 0x8000) << 16).bitcast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Token;

    fn baseline() -> Baseline {
        let Token::Baseline(token) = crate::simd::Level::Baseline.token() else { panic!("not the baseline") };
        token
    }

    #[test]
    fn finite_halves_widen_exactly() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            let texels = [[x, f16::ONE, x, f16::ONE]; 2];
            let got = baseline().widen(&texels);
            let right = |n: usize| got[n].to_bits() == texels.as_flattened()[n].to_f32().to_bits();
            assert!(!x.is_finite() || (0..8).all(right), "{bits:#x}");
        }
    }

    #[test]
    fn floors_are_exact() {
        let s = baseline();
        let odd = [0.0, -0.5, 4.0e6, -4.0e6, 4_194_303.5, 1e20, -1e20, f32::MAX];
        for x in (-4000..4000).map(|n| n as f32 * 0.37).chain(odd) {
            assert_eq!(s.floor(s.splat(x))[3], x.floor(), "{x}");
        }
    }

    #[test]
    fn tables_are_clamped_to_their_ends() {
        let (s, table) = (baseline(), [1.0, 2.0, 4.0]);
        let at = f32x8::simd_from(s, [-1.0, 0.0, 1.0, 2.0, 3.0, 1e9, -1e9, 1.0]);
        assert_eq!(s.look_up(&table, at).to_array(), [1.0, 1.0, 2.0, 4.0, 4.0, 4.0, 1.0, 2.0]);
    }
}
