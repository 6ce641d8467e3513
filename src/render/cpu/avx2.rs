//! Eight rays in AVX2.
#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Sub};

use super::lanes::{Lanes, Texels};

/// Eight floats.
#[derive(Clone, Copy)]
pub(super) struct Eight(__m256);

macro_rules! operator {
    ($trait:ident, $name:ident, $of:ident) => {
        impl $trait for Eight {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                // SAFETY: a vector exists only where the machine has the instructions.
                Self(unsafe { $of(self.0, other.0) })
            }
        }
    };
}
operator!(Add, add, _mm256_add_ps);
operator!(Sub, sub, _mm256_sub_ps);
operator!(Mul, mul, _mm256_mul_ps);
operator!(Div, div, _mm256_div_ps);

impl Lanes for Eight {
    const COUNT: usize = 8;
    type Mask = __m256;

    #[inline(always)]
    unsafe fn all(x: f32) -> Self {
        Self(_mm256_set1_ps(x))
    }

    #[inline(always)]
    unsafe fn load(from: &[f32]) -> Self {
        let from: &[f32; 8] = from.first_chunk().expect("a number for each ray");
        Self(_mm256_loadu_ps(from.as_ptr()))
    }

    #[inline(always)]
    unsafe fn store(values: [Self; 4], to: &mut [[f32; 4]]) {
        let to: &mut [[f32; 4]; 8] = to.first_chunk_mut().expect("a place for each ray");
        let [a, b, c, d] = transposed(values.map(|x| x.0));
        // Transposes four by four within each half: half j of the nth holds ray 4 j + n.
        let rows = [
            _mm256_permute2f128_ps::<0x20>(a, b),
            _mm256_permute2f128_ps::<0x20>(c, d),
            _mm256_permute2f128_ps::<0x31>(a, b),
            _mm256_permute2f128_ps::<0x31>(c, d),
        ];
        for (to, row) in to.as_chunks_mut::<2>().0.iter_mut().zip(rows) {
            _mm256_storeu_ps(to.as_mut_ptr().cast(), row);
        }
    }

    #[inline(always)]
    unsafe fn times(self, b: Self, c: Self) -> Self {
        Self(_mm256_fmadd_ps(self.0, b.0, c.0))
    }

    #[inline(always)]
    unsafe fn least(self, other: Self) -> Self {
        Self(_mm256_min_ps(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn greatest(self, other: Self) -> Self {
        Self(_mm256_max_ps(self.0, other.0))
    }

    #[inline(always)]
    unsafe fn root(self) -> Self {
        Self(_mm256_sqrt_ps(self.0))
    }

    #[inline(always)]
    unsafe fn floor(self) -> Self {
        Self(_mm256_floor_ps(self.0))
    }

    #[inline(always)]
    unsafe fn power(self) -> Self {
        let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), _mm256_set1_epi32(127));
        Self(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
    }

    #[inline(always)]
    unsafe fn less(self, than: Self) -> __m256 {
        _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, than.0)
    }

    #[inline(always)]
    unsafe fn both(a: __m256, b: __m256) -> __m256 {
        _mm256_and_ps(a, b)
    }

    #[inline(always)]
    unsafe fn any(mask: __m256) -> bool {
        _mm256_movemask_ps(mask) != 0
    }

    #[inline(always)]
    unsafe fn select(mask: __m256, yes: Self, no: Self) -> Self {
        Self(_mm256_blendv_ps(no.0, yes.0, mask))
    }

    #[inline(always)]
    unsafe fn look_up(table: &[f32], at: Self) -> Self {
        let last = i32::try_from(table.len()).expect("a table of that size") - 1;
        let at = _mm256_max_epi32(_mm256_cvttps_epi32(at.0), _mm256_setzero_si256());
        let at = _mm256_min_epi32(at, _mm256_set1_epi32(last));
        Self(_mm256_i32gather_ps::<4>(table.as_ptr(), at))
    }

    #[inline(always)]
    unsafe fn read(volume: &Texels, at: [Self; 3]) -> [Self; 4] {
        let strides = volume.strides();
        let (mut first, mut f) = (_mm256_setzero_si256(), at.map(|x| x.0));
        for a in 0..3 {
            let last = volume.last(a);
            let x = _mm256_max_ps(_mm256_min_ps(f[a], _mm256_set1_ps(last + 1.0)), _mm256_setzero_ps());
            let low = _mm256_min_ps(_mm256_floor_ps(x), _mm256_set1_ps(last));
            let steps = _mm256_mullo_epi32(_mm256_cvttps_epi32(low), _mm256_set1_epi32(strides[a] as i32));
            (first, f[a]) = (_mm256_add_epi32(first, steps), _mm256_sub_ps(x, low));
        }
        let (mut places, mut y, mut z) = ([0_u32; 8], [0.0_f32; 8], [0.0_f32; 8]);
        _mm256_storeu_si256(places.as_mut_ptr().cast(), first);
        _mm256_storeu_ps(y.as_mut_ptr(), f[1]);
        _mm256_storeu_ps(z.as_mut_ptr(), f[2]);
        let rays = Rays { volume, places: &places, x: f[0], y: &y, z: &z };
        transposed([rays.two::<0x00>(0), rays.two::<0x55>(1), rays.two::<0xAA>(2), rays.two::<0xFF>(3)])
            .map(Self)
    }
}

/// Sample points of eight rays.
struct Rays<'a> {
    volume: &'a Texels<'a>,
    /// The first of the eight texels around each.
    places: &'a [u32; 8],
    /// Fractions from that texel.
    x: __m256,
    y: &'a [f32; 8],
    z: &'a [f32; 8],
}

impl Rays<'_> {
    /// Loads the texels of rays n and n + 4; `SAME` spreads the nth of each half over it.
    #[inline(always)]
    unsafe fn two<const SAME: i32>(&self, n: usize) -> __m256 {
        let (a, b) = (self.one(n), self.one(n + 4));
        let low = _mm256_permute2f128_ps::<0x20>(a, b);
        let high = _mm256_permute2f128_ps::<0x31>(a, b);
        lerp(_mm256_permute_ps::<SAME>(self.x), low, high)
    }

    /// Loads the two ends along x for a ray.
    #[inline(always)]
    unsafe fn one(&self, n: usize) -> __m256 {
        let [_, row, plane] = self.volume.strides();
        // With at least two texels along each axis, the first is never the last: `Lanes::read` has clamped
        // it.
        let first = self.volume.values().as_ptr().add(self.places[n] as usize);
        let z = _mm256_set1_ps(self.z[n]);
        let near = lerp(z, pair(first), pair(first.add(plane)));
        let far = lerp(z, pair(first.add(row)), pair(first.add(row + plane)));
        lerp(_mm256_set1_ps(self.y[n]), near, far)
    }
}

/// Loads two texels of a row as floats.
#[inline(always)]
unsafe fn pair(first: *const [half::f16; 4]) -> __m256 {
    _mm256_cvtph_ps(_mm_loadu_si128(first.cast()))
}

#[inline(always)]
unsafe fn lerp(t: __m256, low: __m256, high: __m256) -> __m256 {
    _mm256_fmadd_ps(t, _mm256_sub_ps(high, low), low)
}

/// Transposes each four by four of the halves.
#[inline(always)]
unsafe fn transposed([a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
    let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
    [
        _mm256_shuffle_ps::<0x44>(ab, cd),
        _mm256_shuffle_ps::<0xEE>(ab, cd),
        _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
        _mm256_shuffle_ps::<0xEE>(ab_high, cd_high),
    ]
}
