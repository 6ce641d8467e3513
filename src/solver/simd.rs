//! One kernel, several instruction sets, chosen when the program runs.
//!
//! Kernels are plain loops written once, generic over whether a multiply-add is fused; the compiler
//! vectorises them for each set. Results are the same bits on every machine with fused multiply-add
//! (AVX2, AVX-512, NEON); without it they differ in the last place.

use std::sync::OnceLock;

/// What this machine can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The compile target alone.
    Baseline,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 (F, VL, DQ, BW).
    Avx512,
}

/// The best level of this machine. `UPDRAFT_SIMD=baseline` or `avx2` holds it down, for comparison.
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let best = detect();
        match std::env::var("UPDRAFT_SIMD").as_deref() {
            Ok("baseline") => Level::Baseline,
            Ok("avx2") if best == Level::Avx512 => Level::Avx2,
            _ => best,
        }
    })
}

/// All levels of this machine, the best first: for tests, which run each.
#[cfg(test)]
pub fn levels() -> Vec<Level> {
    let all = [Level::Avx512, Level::Avx2, Level::Baseline];
    all.into_iter().skip_while(|level| *level != detect()).collect()
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Baseline,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

/// a·b + c, fused where the kernel is compiled for it.
#[inline(always)]
pub fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA || cfg!(target_arch = "aarch64") { a.mul_add(b, c) } else { a * b + c }
}

/// The lesser of two; `bound` where `x` is not a number. One instruction, where `f32::min` is three.
#[inline(always)]
pub fn least(x: f32, bound: f32) -> f32 {
    if x < bound { x } else { bound }
}

/// The greater of two; `bound` where `x` is not a number.
#[inline(always)]
pub fn greatest(x: f32, bound: f32) -> f32 {
    if x > bound { x } else { bound }
}

/// Makes what this thread has written past the caches visible to others; at the end of a unit of work.
#[inline(always)]
#[allow(unsafe_code)]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it orders writes, and nothing else.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// How many cells of four values ahead to fetch where little is done with each: half a page.
pub const AHEAD: usize = 128;

/// Asks for what lies `ahead` values beyond the first of `values`, whether or not they reach that far: rows go on where they
/// end, and what fetches memory ahead by itself stops at the end of each page.
#[inline(always)]
#[allow(unsafe_code)]
pub fn fetch_ahead<T>(values: &[T], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which may point anywhere.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(ahead).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, ahead);
}

/// Values handled together. Fixed, so that results do not depend on the machine's vector width, and so that loops over
/// them vectorise whatever the length of the row.
pub const LANES: usize = 16;

/// The values of a row from `from` on.
#[inline(always)]
pub fn sixteen(row: &[f32], from: usize) -> &[f32; LANES] {
    row[from..].first_chunk().expect("as many values as lanes")
}

/// The values that are left at the end of a row, and 0 beyond.
#[inline(always)]
pub fn rest(row: &[f32]) -> [f32; LANES] {
    let (mut padded, rest) = ([0.0; LANES], row.chunks_exact(LANES).remainder());
    padded[..rest.len()].copy_from_slice(rest);
    padded
}

/// `dispatch!(fn name(args) = kernel);` defines `name`, which runs `kernel::<FMA>` compiled for the best
/// instruction set of the machine. The kernel must be `#[inline(always)]`.
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $kernel:ident $(, $n:literal)?;) => {
        $(#[$meta])*
        #[allow(unsafe_code, clippy::too_many_arguments)]
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
                fn avx512($($arg: $ty),*) {
                    $kernel::<true $(, $n)?>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma,bmi2")]
                fn avx2($($arg: $ty),*) {
                    $kernel::<true $(, $n)?>($($arg),*)
                }
                match $crate::solver::simd::level() {
                    // SAFETY: `level` has found these instruction sets on this machine.
                    $crate::solver::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::solver::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::solver::simd::Level::Baseline => {}
                }
            }
            $kernel::<false $(, $n)?>($($arg),*)
        }
    };
}
pub(crate) use dispatch;

/// `each_level!(fn name(args) = kernel;)` defines `name`, which runs `kernel(simd, args)` with the proof of the machine's best
/// instruction set, compiled for it. The kernel must be `#[inline(always)]`, and so must all that it hands the proof to.
macro_rules! each_level {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $kernel:ident;) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
                fn avx512($($arg: $ty),*) {
                    // SAFETY: this is only called where the instructions are.
                    $kernel(unsafe { $crate::solver::lanes::Avx512::new() }, $($arg),*)
                }
                #[target_feature(enable = "avx2,fma,bmi2")]
                fn avx2($($arg: $ty),*) {
                    // SAFETY: as above.
                    $kernel(unsafe { $crate::solver::lanes::Avx2::new() }, $($arg),*)
                }
                match $crate::solver::simd::level() {
                    // SAFETY: `level` has found these instruction sets on this machine.
                    $crate::solver::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::solver::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::solver::simd::Level::Baseline => {}
                }
            }
            $kernel($crate::solver::lanes::Plain, $($arg),*)
        }
    };
}
pub(crate) use each_level;

/// Cells of which the first begins a line of the cache.
#[cfg(test)]
#[derive(Clone)]
#[repr(align(64))]
pub struct Aligned<const N: usize>(pub [[f32; 4]; N]);
