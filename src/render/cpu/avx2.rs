//! Ray packets in AVX2: eight rays. Half floats and gathers, which the common vectors lack, use intrinsics.

use std::arch::x86_64::*;

use fearless_simd::prelude::*;
use fearless_simd::x86::Avx2;
use fearless_simd::{f32x8, i32x8, u16x8};
use half::f16;

use super::packets::{Eights, Packets, sample_eight, store_eight};
use super::spline_taps::sample_spline_eight;
use super::texels::Texels;

impl Packets for Avx2 {
    type Rays = f32x8<Self>;

    #[inline(always)]
    fn store(self, values: [f32x8<Self>; 4], to: &mut [[f32; 4]]) {
        store_eight(self, values, to);
    }

    #[inline(always)]
    fn look_up(self, table: &[f32], at: f32x8<Self>) -> f32x8<Self> {
        gather(self, table, at.to_int::<i32x8<Self>>().into()).simd_into(self)
    }

    #[inline(always)]
    fn sample(self, volume: &Texels, at: [f32x8<Self>; 3]) -> [f32x8<Self>; 4] {
        sample_eight(self, volume, at)
    }

    #[inline(always)]
    fn sample_spline(self, volume: &Texels, at: [f32x8<Self>; 3], first: f32) -> [f32x8<Self>; 4] {
        sample_spline_eight(self, volume, at, first)
    }
}

impl Eights for Avx2 {
    #[inline(always)]
    fn widen(self, texels: &[[f16; 4]; 2]) -> f32x8<Self> {
        let halves: u16x8<Self> = u16x8::load_array_ref(self, bytemuck::cast_ref(texels));
        widen(self, halves.into()).simd_into(self)
    }
}

fearless_simd::kernel!(
    #[inline(always)]
    fn widen(_token: Avx2, halves: __m128i) -> __m256 {
        _mm256_cvtph_ps(halves)
    }
);

fearless_simd::kernel!(
    /// Gathers entries of a table, clamped to its ends.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn gather(_token: Avx2, table: &[f32], at: __m256i) -> __m256 {
        let last = i32::try_from(table.len()).expect("a table of that size") - 1;
        assert!(last >= 0, "an empty table");
        let at = _mm256_min_epi32(_mm256_max_epi32(at, _mm256_setzero_si256()), _mm256_set1_epi32(last));
        // SAFETY: all indices are from 0 to the last.
        unsafe { _mm256_i32gather_ps::<4>(table.as_ptr(), at) }
    }
);
