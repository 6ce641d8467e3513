//! Ray packets in AVX-512: sixteen rays. Half floats, gathers and shuffles of whole registers, which the
//! common vectors lack, use intrinsics.

use std::arch::x86_64::*;

use fearless_simd::prelude::*;
use fearless_simd::x86::Avx512;
use fearless_simd::{f32x16, i32x16, u16x8, u16x16, u32x16};
use half::f16;

use super::packets::{Packets, store_sixteen};
use super::spline_taps::Taps;
use super::texels::{Corners, Texels};
use crate::simd::avx512::{quarters, squares};

impl Packets for Avx512 {
    type Rays = f32x16<Self>;

    #[inline(always)]
    fn store(self, values: [f32x16<Self>; 4], to: &mut [[f32; 4]]) {
        store_sixteen(self, values, to);
    }

    #[inline(always)]
    fn look_up(self, table: &[f32], at: f32x16<Self>) -> f32x16<Self> {
        gather(self, table, at.to_int::<i32x16<Self>>().into()).simd_into(self)
    }

    #[inline(always)]
    fn sample(self, volume: &Texels, at: [f32x16<Self>; 3]) -> [f32x16<Self>; 4] {
        let (mut first, mut f) = (u32x16::splat(self, 0), at);
        for a in 0..3 {
            let last = volume.last(a);
            let x = at[a].min(last + 1.0).max(0.0);
            let low = x.floor().min(last);
            let whole: u32x16<Self> = low.to_int::<i32x16<Self>>().bitcast();
            first += whole * volume.strides()[a] as u32;
            f[a] = x - low;
        }
        let points = Points { s: self, corners: Corners::new(*volume, first), f };
        let [a, b, c, d] = spread(self, f[0].into());
        let values =
            transpose(self, [points.four(0, a), points.four(1, b), points.four(2, c), points.four(3, d)]);
        let [a, b, c, d] = values;
        [a.simd_into(self), b.simd_into(self), c.simd_into(self), d.simd_into(self)]
    }

    #[inline(always)]
    fn sample_spline(self, volume: &Texels, at: [f32x16<Self>; 3], first: f32) -> [f32x16<Self>; 4] {
        let taps = Taps::new(self, *volume, at, first);
        let [a, b, c, d] = taps.along;
        let along =
            [spread(self, a.into()), spread(self, b.into()), spread(self, c.into()), spread(self, d.into())];
        let mut values = [self.splat(0.0).into(); 4];
        for (n, value) in values.iter_mut().enumerate() {
            let rays =
                [taps.one(self, n), taps.one(self, n + 4), taps.one(self, n + 8), taps.one(self, n + 12)];
            let texels = quarters_of(self, rays);
            let weights = [along[0][n], along[1][n], along[2][n], along[3][n]];
            *value = four_weighted(self, texels, weights);
        }
        let [a, b, c, d] = transpose(self, values);
        [a.simd_into(self), b.simd_into(self), c.simd_into(self), d.simd_into(self)]
    }
}

impl Taps<'_, Avx512> {
    /// Adds the weighted rows of the stencil of a ray.
    #[inline(always)]
    fn one(&self, s: Avx512, n: usize) -> __m512 {
        let mut sum = f32x16::splat(s, 0.0);
        for (row, weights) in self.across.iter().enumerate() {
            let halves = u16x16::load_array_ref(s, bytemuck::cast_ref(self.rows.row(n, row)));
            let texels: f32x16<Avx512> = widen_row(s, halves.into()).simd_into(s);
            sum = texels.mul_add(weights[n], sum);
        }
        sum.into()
    }
}

/// Sample points of sixteen rays.
struct Points<'a> {
    s: Avx512,
    corners: Corners<'a, u32x16<Avx512>>,
    /// Fractions from the first texel around each point.
    f: [f32x16<Avx512>; 3],
}

impl Points<'_> {
    /// Interpolates between the texels of points n, n + 4, n + 8 and n + 12, at `x`.
    #[inline(always)]
    fn four(&self, n: usize, x: __m512) -> __m512 {
        let [low, high] = of_four(self.s, self.two(n), self.two(n + 8));
        lerp(self.s, x, low, high)
    }

    /// Interpolates along y and z: the two ends along x of points n and n + 4.
    #[inline(always)]
    fn two(&self, n: usize) -> __m512 {
        let [near, far] = of_two(self.s, self.one(n), self.one(n + 4));
        lerp(self.s, over_two(self.s, self.f[1].into(), n as i32), near, far)
    }

    /// Interpolates along z: the four ends along x and y of a point.
    #[inline(always)]
    fn one(&self, n: usize) -> __m512 {
        let z = f32x16::splat(self.s, self.f[2][n]);
        lerp(self.s, z.into(), self.rows(n, false), self.rows(n, true))
    }

    /// Converts two texels of a row and of the next row.
    #[inline(always)]
    fn rows(&self, n: usize, far_plane: bool) -> __m512 {
        let [near, far] = [false, true].map(
            #[inline(always)]
            |far_row| self.halves(self.corners.pair(n, far_row, far_plane)),
        );
        widen(self.s, near, far)
    }

    #[inline(always)]
    fn halves(&self, texels: &[[f16; 4]; 2]) -> __m128i {
        u16x8::load_array_ref(self.s, bytemuck::cast_ref(texels)).into()
    }
}

fearless_simd::kernel!(
    #[inline(always)]
    fn widen(_token: Avx512, near: __m128i, far: __m128i) -> __m512 {
        _mm512_cvtph_ps(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(near), far))
    }
);

fearless_simd::kernel!(
    #[inline(always)]
    fn widen_row(_token: Avx512, texels: __m256i) -> __m512 {
        _mm512_cvtph_ps(texels)
    }
);

fearless_simd::kernel!(
    /// Transposes the quarters of four registers.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn quarters_of(_token: Avx512, rays: [__m512; 4]) -> [__m512; 4] {
        // SAFETY: the token proves the instructions.
        unsafe { quarters(rays) }
    }
);

fearless_simd::kernel!(
    /// Returns the weighted sum of four registers, added in the order of packets of eight rays.
    #[inline(always)]
    fn four_weighted(_token: Avx512, x: [__m512; 4], weights: [__m512; 4]) -> __m512 {
        let even = _mm512_fmadd_ps(x[2], weights[2], _mm512_mul_ps(x[0], weights[0]));
        let odd = _mm512_fmadd_ps(x[3], weights[3], _mm512_mul_ps(x[1], weights[1]));
        _mm512_add_ps(even, odd)
    }
);

fearless_simd::kernel!(
    #[inline(always)]
    fn lerp(_token: Avx512, t: __m512, low: __m512, high: __m512) -> __m512 {
        _mm512_fmadd_ps(t, _mm512_sub_ps(high, low), low)
    }
);

fearless_simd::kernel!(
    /// Sorts the near and far rows of two points into the near rows and the far rows.
    #[inline(always)]
    fn of_two(_token: Avx512, a: __m512, b: __m512) -> [__m512; 2] {
        [_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xEE>(a, b)]
    }
);

fearless_simd::kernel!(
    /// Broadcasts the values of points n and n + 4, each to a half.
    #[inline(always)]
    fn over_two(_token: Avx512, values: __m512, n: i32) -> __m512 {
        let m = n + 4;
        _mm512_permutexvar_ps(_mm512_setr_epi32(n, n, n, n, n, n, n, n, m, m, m, m, m, m, m, m), values)
    }
);

fearless_simd::kernel!(
    /// Sorts the lower and upper texels of two pairs of points into the lower ones and the upper ones.
    #[inline(always)]
    fn of_four(_token: Avx512, near: __m512, far: __m512) -> [__m512; 2] {
        [_mm512_shuffle_f32x4::<0b10_00_10_00>(near, far), _mm512_shuffle_f32x4::<0b11_01_11_01>(near, far)]
    }
);

fearless_simd::kernel!(
    /// Broadcasts the nth value of each quarter to the quarter, for each n.
    #[inline(always)]
    fn spread(_token: Avx512, x: __m512) -> [__m512; 4] {
        [
            _mm512_permute_ps::<0x00>(x),
            _mm512_permute_ps::<0x55>(x),
            _mm512_permute_ps::<0xAA>(x),
            _mm512_permute_ps::<0xFF>(x),
        ]
    }
);

fearless_simd::kernel!(
    #[inline(always)]
    #[allow(unsafe_code)]
    fn transpose(_token: Avx512, rows: [__m512; 4]) -> [__m512; 4] {
        // SAFETY: the token proves the instructions.
        unsafe { squares(rows) }
    }
);

fearless_simd::kernel!(
    /// Gathers entries of a table, clamped to its ends.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn gather(_token: Avx512, table: &[f32], at: __m512i) -> __m512 {
        let last = i32::try_from(table.len()).expect("a table of that size") - 1;
        assert!(last >= 0, "an empty table");
        let at = _mm512_min_epi32(_mm512_max_epi32(at, _mm512_setzero_si512()), _mm512_set1_epi32(last));
        // SAFETY: all indices are from 0 to the last.
        unsafe { _mm512_i32gather_ps::<4>(at, table.as_ptr()) }
    }
);
