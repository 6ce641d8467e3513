//! Sixteen values at a time, in the registers of each instruction set.
//!
//! Kernels use this vocabulary where the compiler would split plain loops over sixteen values. A kernel is
//! written once; [`each_level`](super::simd::each_level) makes a version for each instruction set. All levels
//! round the same, except that the baseline has no fused multiply-add.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::simd::{LANES, fma};

/// Sixteen values in memory.
pub type Lane = [f32; LANES];

/// A token: proof that the machine has an instruction set, with its arithmetic on sixteen values.
pub trait Simd: Copy {
    /// Sixteen values in registers.
    type Values: Copy;
    /// Loads from memory.
    fn load(self, lane: &Lane) -> Self::Values;
    /// Stores to memory.
    fn store(self, values: Self::Values, lane: &mut Lane);
    /// Returns sixteen copies of `x`.
    fn splat(self, x: f32) -> Self::Values;
    /// a + b.
    fn add(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// a − b.
    fn sub(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// a·b.
    fn mul(self, a: Self::Values, b: Self::Values) -> Self::Values;
    /// a·b + c, fused where the machine can.
    fn mul_add(self, a: Self::Values, b: Self::Values, c: Self::Values) -> Self::Values;
    /// a·b − c, fused where the machine can.
    fn mul_sub(self, a: Self::Values, b: Self::Values, c: Self::Values) -> Self::Values;
}

/// Plain arrays, for every machine.
#[derive(Clone, Copy)]
pub struct Plain;

macro_rules! each {
    ($l:ident => $value:expr) => {{
        let mut out = [0.0f32; LANES];
        for $l in 0..LANES {
            out[$l] = $value;
        }
        out
    }};
}

impl Simd for Plain {
    type Values = Lane;
    #[inline(always)]
    fn load(self, lane: &Lane) -> Lane {
        *lane
    }
    #[inline(always)]
    fn store(self, values: Lane, lane: &mut Lane) {
        *lane = values;
    }
    #[inline(always)]
    fn splat(self, x: f32) -> Lane {
        [x; LANES]
    }
    #[inline(always)]
    fn add(self, a: Lane, b: Lane) -> Lane {
        each!(l => a[l] + b[l])
    }
    #[inline(always)]
    fn sub(self, a: Lane, b: Lane) -> Lane {
        each!(l => a[l] - b[l])
    }
    #[inline(always)]
    fn mul(self, a: Lane, b: Lane) -> Lane {
        each!(l => a[l] * b[l])
    }
    #[inline(always)]
    fn mul_add(self, a: Lane, b: Lane, c: Lane) -> Lane {
        each!(l => fma::<false>(a[l], b[l], c[l]))
    }
    #[inline(always)]
    fn mul_sub(self, a: Lane, b: Lane, c: Lane) -> Lane {
        each!(l => fma::<false>(a[l], b[l], -c[l]))
    }
}

/// AVX2 with fused multiply-add.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// # Safety
    /// The machine must have AVX2 and FMA.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self(())
    }
}

/// Applies an intrinsic to both halves of sixteen values.
#[cfg(target_arch = "x86_64")]
macro_rules! halves {
    ($f:ident($($x:expr),+)) => {
        // SAFETY: the token exists only where the machine has the instructions.
        unsafe { [$f($($x[0]),+), $f($($x[1]),+)] }
    };
}

#[cfg(target_arch = "x86_64")]
impl Simd for Avx2 {
    type Values = [__m256; 2];
    #[inline(always)]
    fn load(self, lane: &Lane) -> Self::Values {
        // SAFETY: `lane` holds sixteen values; the token exists only where the machine has the instructions.
        unsafe { [_mm256_loadu_ps(lane.as_ptr()), _mm256_loadu_ps(lane.as_ptr().add(LANES / 2))] }
    }
    #[inline(always)]
    fn store(self, [low, high]: Self::Values, lane: &mut Lane) {
        // SAFETY: as above.
        unsafe {
            _mm256_storeu_ps(lane.as_mut_ptr(), low);
            _mm256_storeu_ps(lane.as_mut_ptr().add(LANES / 2), high);
        }
    }
    #[inline(always)]
    fn splat(self, x: f32) -> Self::Values {
        // SAFETY: as above.
        unsafe { [_mm256_set1_ps(x); 2] }
    }
    #[inline(always)]
    fn add(self, a: Self::Values, b: Self::Values) -> Self::Values {
        halves!(_mm256_add_ps(a, b))
    }
    #[inline(always)]
    fn sub(self, a: Self::Values, b: Self::Values) -> Self::Values {
        halves!(_mm256_sub_ps(a, b))
    }
    #[inline(always)]
    fn mul(self, a: Self::Values, b: Self::Values) -> Self::Values {
        halves!(_mm256_mul_ps(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: Self::Values, b: Self::Values, c: Self::Values) -> Self::Values {
        halves!(_mm256_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn mul_sub(self, a: Self::Values, b: Self::Values, c: Self::Values) -> Self::Values {
        halves!(_mm256_fmsub_ps(a, b, c))
    }
}

/// AVX-512.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx512(());

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// # Safety
    /// The machine must have AVX-512 F.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self(())
    }
}

#[cfg(target_arch = "x86_64")]
impl Simd for Avx512 {
    type Values = __m512;
    #[inline(always)]
    fn load(self, lane: &Lane) -> __m512 {
        // SAFETY: `lane` holds sixteen values; the token exists only where the machine has the instructions.
        unsafe { _mm512_loadu_ps(lane.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, values: __m512, lane: &mut Lane) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_ps(lane.as_mut_ptr(), values) }
    }
    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn mul_sub(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_fmsub_ps(a, b, c) }
    }
}
