//! Eight values at a time, for kernels that need more than the arithmetic of [`lanes`](super::simd_lanes).
//!
//! Kernels are generic over the token of an instruction set, which [`each_level`](super::simd::each_level) provides. AVX-512 uses the same
//! registers of eight values as AVX2, because a streaming kernel needs about fifteen of them at once.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::simd::{fma, greatest, least};
use super::simd_lanes::Plain;
#[cfg(target_arch = "x86_64")]
use super::simd_lanes::{Avx2, Avx512};

/// Number of values in one register.
pub const EIGHT: usize = 8;

/// Eight values in memory, aligned for one register.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub struct Eight(pub [f32; EIGHT]);

/// Arithmetic on eight values, the methods of an instruction set's token.
pub trait Eights: Copy {
    /// Eight values in a register.
    type Values: Copy;
    /// Loads from memory.
    fn load(self, from: &[f32; EIGHT]) -> Self::Values;
    /// Stores to memory.
    fn store(self, values: Self::Values, to: &mut [f32; EIGHT]);
    /// Eight copies of x.
    fn splat(self, x: f32) -> Self::Values;
    /// a + b.
    fn add(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// a − b.
    fn sub(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// a·b.
    fn mul(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// a / b.
    fn div(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// a·b + c, fused where the machine can.
    fn mul_add(self, a: Self::Values, b: Self::Values, c: Self::Values) -> Self::Values;
    /// c − a·b, fused where the machine can.
    fn mul_sub_from(self, a: Self::Values, b: Self::Values, c: Self::Values) -> Self::Values;
    /// The lesser of each pair; `b` where one is NaN.
    fn least(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// The greater of each pair; `b` where one is NaN.
    fn greatest(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// |a|.
    fn abs(self, a: Self::Values) -> Self::Values;
    /// `a`, negated where the sign bit of `by` is set.
    fn flip(self, a: Self::Values, by: Self::Values) -> Self::Values;
    /// `negative` where the sign bit of `by` is set, otherwise `positive`.
    fn by_sign(self, by: Self::Values, positive: Self::Values, negative: Self::Values) -> Self::Values;
    /// `yes` where a < b, otherwise `no`.
    fn if_less(self, ab: [Self::Values; 2], yes: Self::Values, no: Self::Values) -> Self::Values;
    /// Bitwise or.
    fn bits(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// Returns true if any bit other than a sign bit is set: if any value is not ±0.
    fn holds(self, a: Self::Values) -> bool;
    /// De-interleaves eight cells of four values into one register for each scalar.
    fn apart(self, cells: [&[f32; 4]; EIGHT]) -> [Self::Values; 4];
    /// The inverse of [`apart`](Self::apart).
    fn together(self, values: [Self::Values; 4], cells: [&mut [f32; 4]; EIGHT]);
    /// Transposes eight rows.
    fn transpose(self, rows: [Self::Values; EIGHT]) -> [Self::Values; EIGHT];
}

macro_rules! each {
    ($l:ident => $value:expr) => {{
        let mut out = [0.0f32; EIGHT];
        for $l in 0..EIGHT {
            out[$l] = $value;
        }
        out
    }};
}

impl Eights for Plain {
    type Values = [f32; EIGHT];
    #[inline(always)]
    fn load(self, from: &[f32; EIGHT]) -> [f32; EIGHT] {
        *from
    }
    #[inline(always)]
    fn store(self, values: [f32; EIGHT], to: &mut [f32; EIGHT]) {
        *to = values;
    }
    #[inline(always)]
    fn splat(self, x: f32) -> [f32; EIGHT] {
        [x; EIGHT]
    }
    #[inline(always)]
    fn add(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => a[l] + b[l])
    }
    #[inline(always)]
    fn sub(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => a[l] - b[l])
    }
    #[inline(always)]
    fn mul(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => a[l] * b[l])
    }
    #[inline(always)]
    fn div(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => a[l] / b[l])
    }
    #[inline(always)]
    fn mul_add(self, a: [f32; EIGHT], b: [f32; EIGHT], c: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => fma::<false>(a[l], b[l], c[l]))
    }
    #[inline(always)]
    fn mul_sub_from(self, a: [f32; EIGHT], b: [f32; EIGHT], c: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => fma::<false>(-a[l], b[l], c[l]))
    }
    #[inline(always)]
    fn least(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => least(a[l], b[l]))
    }
    #[inline(always)]
    fn greatest(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => greatest(a[l], b[l]))
    }
    #[inline(always)]
    fn abs(self, a: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => a[l].abs())
    }
    #[inline(always)]
    fn flip(self, a: [f32; EIGHT], by: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => f32::from_bits(a[l].to_bits() ^ by[l].to_bits() & 0x8000_0000))
    }
    #[inline(always)]
    fn by_sign(self, by: [f32; EIGHT], positive: [f32; EIGHT], negative: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => if by[l].is_sign_negative() { negative[l] } else { positive[l] })
    }
    #[inline(always)]
    fn if_less(self, [a, b]: [[f32; EIGHT]; 2], yes: [f32; EIGHT], no: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => if a[l] < b[l] { yes[l] } else { no[l] })
    }
    #[inline(always)]
    fn bits(self, a: [f32; EIGHT], b: [f32; EIGHT]) -> [f32; EIGHT] {
        each!(l => f32::from_bits(a[l].to_bits() | b[l].to_bits()))
    }
    #[inline(always)]
    fn holds(self, a: [f32; EIGHT]) -> bool {
        a.into_iter().fold(0, |any, x| any | x.to_bits() << 1) != 0
    }
    #[inline(always)]
    fn apart(self, cells: [&[f32; 4]; EIGHT]) -> [[f32; EIGHT]; 4] {
        [0, 1, 2, 3].map(|c| cells.map(|cell| cell[c]))
    }
    #[inline(always)]
    fn together(self, values: [[f32; EIGHT]; 4], cells: [&mut [f32; 4]; EIGHT]) {
        for (l, cell) in cells.into_iter().enumerate() {
            *cell = values.map(|values| values[l]);
        }
    }
    #[inline(always)]
    fn transpose(self, rows: [[f32; EIGHT]; EIGHT]) -> [[f32; EIGHT]; EIGHT] {
        std::array::from_fn(|i| rows.map(|row| row[i]))
    }
}

/// Implements [`Eights`] with registers of 256 bits.
#[cfg(target_arch = "x86_64")]
macro_rules! in_registers {
    ($token:ident) => {
        // SAFETY, for all methods: a token exists only where the instructions do, and all memory is borrowed.
        impl Eights for $token {
            type Values = __m256;
            #[inline(always)]
            fn load(self, from: &[f32; EIGHT]) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_loadu_ps(from.as_ptr()) }
            }
            #[inline(always)]
            fn store(self, values: __m256, to: &mut [f32; EIGHT]) {
                // SAFETY: as above.
                unsafe { _mm256_storeu_ps(to.as_mut_ptr(), values) }
            }
            #[inline(always)]
            fn splat(self, x: f32) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_set1_ps(x) }
            }
            #[inline(always)]
            fn add(self, a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_add_ps(a, b) }
            }
            #[inline(always)]
            fn sub(self, a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_sub_ps(a, b) }
            }
            #[inline(always)]
            fn mul(self, a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_mul_ps(a, b) }
            }
            #[inline(always)]
            fn div(self, a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_div_ps(a, b) }
            }
            #[inline(always)]
            fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_fmadd_ps(a, b, c) }
            }
            #[inline(always)]
            fn mul_sub_from(self, a: __m256, b: __m256, c: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_fnmadd_ps(a, b, c) }
            }
            #[inline(always)]
            fn least(self, a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_min_ps(a, b) }
            }
            #[inline(always)]
            fn greatest(self, a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_max_ps(a, b) }
            }
            #[inline(always)]
            fn abs(self, a: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
            }
            #[inline(always)]
            fn flip(self, a: __m256, by: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_xor_ps(a, _mm256_and_ps(_mm256_set1_ps(-0.0), by)) }
            }
            #[inline(always)]
            fn by_sign(self, by: __m256, positive: __m256, negative: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_blendv_ps(positive, negative, by) }
            }
            #[inline(always)]
            fn if_less(self, [a, b]: [__m256; 2], yes: __m256, no: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) }
            }
            #[inline(always)]
            fn bits(self, a: __m256, b: __m256) -> __m256 {
                // SAFETY: as above.
                unsafe { _mm256_or_ps(a, b) }
            }
            #[inline(always)]
            fn holds(self, a: __m256) -> bool {
                // SAFETY: as above.
                unsafe {
                    let bits = _mm256_castps_si256(_mm256_andnot_ps(_mm256_set1_ps(-0.0), a));
                    _mm256_testz_si256(bits, bits) == 0
                }
            }
            #[inline(always)]
            fn apart(self, cells: [&[f32; 4]; EIGHT]) -> [__m256; 4] {
                // SAFETY: as above.
                unsafe {
                    squares([
                        _mm256_set_m128(_mm_loadu_ps(cells[4].as_ptr()), _mm_loadu_ps(cells[0].as_ptr())),
                        _mm256_set_m128(_mm_loadu_ps(cells[5].as_ptr()), _mm_loadu_ps(cells[1].as_ptr())),
                        _mm256_set_m128(_mm_loadu_ps(cells[6].as_ptr()), _mm_loadu_ps(cells[2].as_ptr())),
                        _mm256_set_m128(_mm_loadu_ps(cells[7].as_ptr()), _mm_loadu_ps(cells[3].as_ptr())),
                    ])
                }
            }
            #[inline(always)]
            fn together(self, values: [__m256; 4], cells: [&mut [f32; 4]; EIGHT]) {
                // SAFETY: as above.
                unsafe {
                    let turned = squares(values);
                    for l in 0..4 {
                        _mm_storeu_ps(cells[l].as_mut_ptr(), _mm256_castps256_ps128(turned[l]));
                        _mm_storeu_ps(cells[l + 4].as_mut_ptr(), _mm256_extractf128_ps::<1>(turned[l]));
                    }
                }
            }
            #[inline(always)]
            fn transpose(self, [a, b, c, d, e, f, g, h]: [__m256; EIGHT]) -> [__m256; EIGHT] {
                // SAFETY: as above.
                unsafe {
                    let [a, b, c, d] = squares([a, b, c, d]);
                    let [e, f, g, h] = squares([e, f, g, h]);
                    [
                        _mm256_permute2f128_ps::<0x20>(a, e),
                        _mm256_permute2f128_ps::<0x20>(b, f),
                        _mm256_permute2f128_ps::<0x20>(c, g),
                        _mm256_permute2f128_ps::<0x20>(d, h),
                        _mm256_permute2f128_ps::<0x31>(a, e),
                        _mm256_permute2f128_ps::<0x31>(b, f),
                        _mm256_permute2f128_ps::<0x31>(c, g),
                        _mm256_permute2f128_ps::<0x31>(d, h),
                    ]
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
in_registers!(Avx2);
#[cfg(target_arch = "x86_64")]
in_registers!(Avx512);

/// Transposes the 4×4 blocks in both halves.
///
/// # Safety
/// The machine must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn squares([a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
    // SAFETY: by the contract of this function.
    unsafe {
        // Each shuffle takes two values of either.
        let (p, q) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (r, t) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(p, r),
            _mm256_shuffle_ps::<0xEE>(p, r),
            _mm256_shuffle_ps::<0x44>(q, t),
            _mm256_shuffle_ps::<0xEE>(q, t),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::simd::{Level, levels};

    /// Some results of each operation, one after the other.
    #[inline(always)]
    fn all<S: Eights>(s: S, out: &mut Vec<f32>) {
        let a = [1.0, -2.0, 0.5, -0.0, 3.0, 0.125, -7.0, 1e-3];
        let b = [-1.0, 2.5, 0.25, 0.0, 3.0, 2.0, -8.0, -4.0];
        let c = [0.5, 4.0, -1.5, 2.0, -3.0, 1.0, 0.125, 6.0];
        let [p, q, r] = [a, b, c].map(|x| s.load(&x));
        let mut cells = [[0.0; 4]; EIGHT];
        let [c0, c1, c2, c3, c4, c5, c6, c7] = &mut cells;
        s.together([p, q, r, s.splat(9.0)], [c0, c1, c2, c3, c4, c5, c6, c7]);
        let apart = s.apart(cells.each_ref());
        let turned = s.transpose([p, q, r, p, r, q, q, r]);
        let results = [
            s.add(p, q),
            s.sub(p, q),
            s.mul(p, q),
            s.div(p, r),
            s.least(p, q),
            s.greatest(p, q),
            s.abs(p),
            s.flip(r, q),
            s.by_sign(q, p, r),
            s.if_less([p, q], q, r),
            s.bits(q, r),
        ];
        for values in results.into_iter().chain(apart).chain(turned) {
            let mut stored = [0.0; EIGHT];
            s.store(values, &mut stored);
            out.extend(stored);
        }
        out.extend(cells.as_flattened());
        out.extend([f32::from(s.holds(s.splat(-0.0))), f32::from(s.holds(s.splat(1e-40)))]);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi2")]
    fn with_avx2(out: &mut Vec<f32>) {
        // SAFETY: this function has the instructions.
        all(unsafe { Avx2::new() }, out);
    }

    #[test]
    fn registers_hold_what_plain_arrays_do() {
        let mut plain = vec![];
        all(Plain, &mut plain);
        assert!(plain.len() > 100 && plain.ends_with(&[0.0, 1.0]), "{plain:?}");
        #[cfg(target_arch = "x86_64")]
        if levels().contains(&Level::Avx2) {
            let mut wide = vec![];
            // SAFETY: the machine has this level.
            unsafe { with_avx2(&mut wide) };
            let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&plain), bits(&wide));
        }
    }
}
