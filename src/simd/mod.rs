//! One kernel, several instruction sets, chosen at run time.
//!
//! A kernel takes a token, the proof that the machine has an instruction set, and [`each_level`] compiles it for each set. Most
//! kernels are plain loops, which the compiler vectorises; where it would do so badly, they work on [vectors].
//! Results have the same bits on every machine with fused multiply-add (AVX2, AVX-512, NEON); without it they differ in the last place.

#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod halves;
mod level;
pub mod transpose;
pub mod vectors;

#[cfg(any(target_arch = "x86_64", test))]
pub use level::Level;
#[cfg(test)]
pub use level::levels;
pub use level::{Baseline, LevelError, Token, check, level, token};
#[cfg(feature = "cli")]
pub use level::{instruction_sets, level_name};
pub use vectors::Simd;

/// The lesser of two; `bound` if `x` is NaN. One instruction, where `f32::min` takes three.
#[inline(always)]
pub fn least(x: f32, bound: f32) -> f32 {
    if x < bound { x } else { bound }
}

/// The greater of two; `bound` if `x` is NaN.
#[inline(always)]
pub fn greatest(x: f32, bound: f32) -> f32 {
    if x > bound { x } else { bound }
}

/// Makes streaming stores of this thread visible to others. Call it at the end of a unit of work.
#[inline(always)]
#[allow(unsafe_code)]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence only orders writes.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Distance of prefetching in cells of four values, for passes with little arithmetic: half a page.
pub const AHEAD: usize = 128;

/// Prefetches the value `ahead` places after the first of `values`, which may lie beyond the slice: rows
/// continue, and hardware prefetching stops at the end of each page.
#[inline(always)]
pub fn fetch_ahead<T>(values: &[T], ahead: usize) {
    prefetch(values.as_ptr().wrapping_add(ahead));
}

/// Prefetches the cache line at an address, which may be invalid.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which may point anywhere.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Values handled together. The number is fixed, so results do not depend on the vector width of the machine,
/// and loops over them vectorise for rows of any length.
pub const LANES: usize = 16;

/// The sixteen values of a row from `from` on.
#[inline(always)]
pub fn sixteen(row: &[f32], from: usize) -> &[f32; LANES] {
    row[from..].first_chunk().expect("as many values as lanes")
}

/// The remaining values at the end of a row, padded with 0.
#[inline(always)]
pub fn rest(row: &[f32]) -> [f32; LANES] {
    let (mut padded, rest) = ([0.0; LANES], row.chunks_exact(LANES).remainder());
    padded[..rest.len()].copy_from_slice(rest);
    padded
}

/// `each_level!(fn name(args) = kernel;)` defines `name`, which runs `kernel(token, args)`, compiled for the
/// machine's best instruction set; `= kernel, 2;` runs `kernel::<_, 2>`. The kernel must be `#[inline(always)]`, and so must
/// all functions that it passes the token to. An `unsafe fn` passes its contract on to an unsafe kernel.
///
/// Each set has a function of its own rather than a closure: exclusive references among its arguments are then known not to
/// overlap, which the compiler needs to vectorise plain loops.
macro_rules! each_level {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $kernel:ident;) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        $vis unsafe fn $name($($arg: $ty),*) {
            // SAFETY: the contract of the kernel is that of this function.
            $crate::simd::vectorize!(@each $crate::simd::token(), token => unsafe { $kernel(token, $($arg),*) })
        }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $kernel:ident $(, $n:literal)?;) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            fearless_simd::kernel! {
                fn avx512(token: Avx512 $(, $arg: $ty)*) {
                    $kernel$(::<_, $n>)?(token $(, $arg)*);
                }
            }
            #[cfg(target_arch = "x86_64")]
            fearless_simd::kernel! {
                fn avx2(token: Avx2 $(, $arg: $ty)*) {
                    $kernel$(::<_, $n>)?(token $(, $arg)*);
                }
            }
            match $crate::simd::token() {
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Token::Avx512(token) => avx512(token $(, $arg)*),
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Token::Avx2(token) => avx2(token $(, $arg)*),
                $crate::simd::Token::Baseline(token) => $kernel$(::<_, $n>)?(token $(, $arg)*),
            }
        }
    };
}
pub(crate) use each_level;

/// `vectorize!(token, kernel(args))` runs `kernel(token, args)` compiled for the instruction set of a
/// [`Token`]. The kernel is as for [`each_level`].
macro_rules! vectorize {
    (@each $of:expr, $token:ident => $run:expr) => {{
        use fearless_simd::Simd as _;
        match $of {
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Token::Avx512($token) => $token.vectorize(#[inline(always)] || $run),
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Token::Avx2($token) => $token.vectorize(#[inline(always)] || $run),
            $crate::simd::Token::Baseline($token) => $token.vectorize(#[inline(always)] || $run),
        }
    }};
    ($token:expr, $kernel:ident($($arg:expr),* $(,)?)) => {
        $crate::simd::vectorize!(@each $token, token => $kernel(token, $($arg),*))
    };
}
pub(crate) use vectorize;

/// Cells of which the first begins a cache line.
#[cfg(test)]
#[derive(Clone)]
#[repr(align(64))]
pub struct Aligned<const N: usize>(pub [[f32; 4]; N]);
