//! Sixteen rays in AVX-512.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Sub};

use super::lanes::{Lanes, Texels};
use crate::simd::avx512::{quarters, squares, store_cells};

/// Sixteen floats.
#[derive(Clone, Copy)]
pub(super) struct Sixteen(__m512);

macro_rules! operator {
    ($trait:ident, $name:ident, $of:ident) => {
        impl $trait for Sixteen {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                // SAFETY: a vector exists only where the machine has the instructions.
                Self(unsafe { $of(self.0, other.0) })
            }
        }
    };
}
operator!(Add, add, _mm512_add_ps);
operator!(Sub, sub, _mm512_sub_ps);
operator!(Mul, mul, _mm512_mul_ps);
operator!(Div, div, _mm512_div_ps);

impl Lanes for Sixteen {
    const COUNT: usize = 16;
    type Mask = __mmask16;

    #[inline(always)]
    unsafe fn all(x: f32) -> Self {
        Self(_mm512_set1_ps(x))
    }

    #[inline(always)]
    unsafe fn load(from: &[f32]) -> Self {
        let from: &[f32; 16] = from.first_chunk().expect("a number for each ray");
        Self(_mm512_loadu_ps(from.as_ptr()))
    }

    #[inline(always)]
    unsafe fn store(values: [Self; 4], to: &mut [[f32; 4]]) {
        let to: &mut [[f32; 4]; 16] = to.first_chunk_mut().expect("a place for each ray");
        store_cells(to, quarters(squares(values.map(|x| x.0))));
    }

    #[inline(always)]
    unsafe fn times(self, b: Self, c: Self) -> Self {
        Self(_mm512_fmadd_ps(self.0, b.0, c.0))
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        Self(_mm512_min_ps(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn greatest(self, other: Self) -> Self {
        Self(_mm512_max_ps(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn root(self) -> Self {
        Self(_mm512_sqrt_ps(self.0))
    }

    #[inline(always)]
    unsafe fn floor(self) -> Self {
        Self(_mm512_roundscale_ps::<0x09>(self.0))
    }

    #[inline(always)]
    unsafe fn power(self) -> Self {
        Self(_mm512_scalef_ps(_mm512_set1_ps(1.0), self.0))
    }

    #[inline(always)]
    unsafe fn less(self, than: Self) -> __mmask16 {
        _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, than.0)
    }

    #[inline(always)]
    unsafe fn both(a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }

    #[inline(always)]
    unsafe fn any(mask: __mmask16) -> bool {
        mask != 0
    }

    #[inline(always)]
    unsafe fn select(mask: __mmask16, yes: Self, no: Self) -> Self {
        Self(_mm512_mask_blend_ps(mask, no.0, yes.0))
    }

    #[inline(always)]
    unsafe fn look_up(table: &[f32], at: Self) -> Self {
        let last = i32::try_from(table.len()).expect("a table of that size") - 1;
        let at = _mm512_max_epi32(_mm512_cvttps_epi32(at.0), _mm512_setzero_si512());
        let at = _mm512_min_epi32(at, _mm512_set1_epi32(last));
        Self(_mm512_i32gather_ps::<4>(at, table.as_ptr()))
    }

    #[inline(always)]
    unsafe fn read(volume: &Texels, at: [Self; 3]) -> [Self; 4] {
        let strides = volume.strides();
        let (mut first, mut f) = (_mm512_setzero_si512(), at.map(|x| x.0));
        for a in 0..3 {
            let last = volume.last(a);
            let x = _mm512_max_ps(_mm512_min_ps(f[a], _mm512_set1_ps(last + 1.0)), _mm512_setzero_ps());
            let low = _mm512_min_ps(_mm512_roundscale_ps::<0x09>(x), _mm512_set1_ps(last));
            let steps = _mm512_mullo_epi32(_mm512_cvttps_epi32(low), _mm512_set1_epi32(strides[a] as i32));
            (first, f[a]) = (_mm512_add_epi32(first, steps), _mm512_sub_ps(x, low));
        }
        let (mut places, mut z) = ([0_u32; 16], [0.0_f32; 16]);
        _mm512_storeu_si512(places.as_mut_ptr().cast(), first);
        _mm512_storeu_ps(z.as_mut_ptr(), f[2]);
        let rays = Rays { volume, places: &places, f: &f, z: &z };
        squares([rays.four::<0x00>(0), rays.four::<0x55>(1), rays.four::<0xAA>(2), rays.four::<0xFF>(3)])
            .map(Self)
    }
}

/// Sample points of sixteen rays.
struct Rays<'a> {
    volume: &'a Texels<'a>,
    /// The first of the eight texels around each.
    places: &'a [u32; 16],
    /// Fractions from that texel.
    f: &'a [__m512; 3],
    z: &'a [f32; 16],
}

impl Rays<'_> {
    /// Loads the texels of rays n, n + 4, n + 8 and n + 12; `SAME` spreads the nth of each quarter over it.
    #[inline(always)]
    unsafe fn four<const SAME: i32>(&self, n: usize) -> __m512 {
        let near = self.two(n);
        let far = self.two(n + 8);
        let low = _mm512_shuffle_f32x4::<0b10_00_10_00>(near, far);
        let high = _mm512_shuffle_f32x4::<0b11_01_11_01>(near, far);
        lerp(_mm512_permute_ps::<SAME>(self.f[0]), low, high)
    }

    /// Loads the two ends along x for rays n and n + 4.
    #[inline(always)]
    unsafe fn two(&self, n: usize) -> __m512 {
        let (a, b) = (self.one(n), self.one(n + 4));
        let (m, n) = (n as i32, n as i32 + 4);
        let of_both = _mm512_setr_epi32(m, m, m, m, m, m, m, m, n, n, n, n, n, n, n, n);
        let y = _mm512_permutexvar_ps(of_both, self.f[1]);
        lerp(y, _mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xEE>(a, b))
    }

    /// Loads the four ends along x and y for a ray.
    #[inline(always)]
    unsafe fn one(&self, n: usize) -> __m512 {
        let [_, row, plane] = self.volume.strides();
        // With at least two texels along each axis, the first is never the last: `Lanes::read` has clamped
        // it.
        let first = self.volume.values().as_ptr().add(self.places[n] as usize);
        lerp(_mm512_set1_ps(self.z[n]), rows(first, row), rows(first.add(plane), row))
    }
}

/// Loads two texels of a row and of the next row as floats.
#[inline(always)]
unsafe fn rows(first: *const [half::f16; 4], row: usize) -> __m512 {
    let near = _mm256_castsi128_si256(_mm_loadu_si128(first.cast()));
    _mm512_cvtph_ps(_mm256_inserti128_si256::<1>(near, _mm_loadu_si128(first.add(row).cast())))
}

#[inline(always)]
unsafe fn lerp(t: __m512, low: __m512, high: __m512) -> __m512 {
    _mm512_fmadd_ps(t, _mm512_sub_ps(high, low), low)
}
