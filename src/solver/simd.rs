//! One kernel, several instruction sets, chosen at run time.
//!
//! Kernels are plain loops, written once and generic over whether a multiply-add is fused. The compiler
//! vectorises them for each set. Results have the same bits on every machine with fused multiply-add (AVX2,
//! AVX-512, NEON); without it they differ in the last place.

use std::sync::OnceLock;

use thiserror::Error;

/// Instruction set that kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Level {
    /// The compile target's instructions only.
    Baseline,
    /// [`AVX2`].
    Avx2,
    /// [`AVX512`].
    Avx512,
}

/// An invalid value of `UPDRAFT_SIMD`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LevelError {
    /// There is no level of this name.
    #[error(
        "UPDRAFT_SIMD={0} is not a level; write baseline, avx2 or avx512, or unset it for the best of the machine"
    )]
    Unknown(String),
    /// The machine lacks the instructions.
    #[error("UPDRAFT_SIMD={0} is more than this machine has; its best level is {1}")]
    Missing(String, &'static str),
}

/// Returns the level that kernels run at: the best of this machine, or the one that `UPDRAFT_SIMD` names
/// (`baseline`, `avx2`, `avx512`), for comparison and tests.
///
/// # Panics
/// If [`check`] fails.
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| chosen().unwrap_or_else(|error| panic!("{error}")))
}

/// Checks that the machine has the level that `UPDRAFT_SIMD` names.
///
/// # Errors
/// If the machine lacks it, or if there is no such level.
pub fn check() -> Result<(), LevelError> {
    chosen().map(|_| ())
}

fn chosen() -> Result<Level, LevelError> {
    match std::env::var_os("UPDRAFT_SIMD") {
        Some(name) => of_name(&name.to_string_lossy(), detect()),
        None => Ok(detect()),
    }
}

/// Levels with their names.
const NAMES: [(&str, Level); 3] =
    [("baseline", Level::Baseline), ("avx2", Level::Avx2), ("avx512", Level::Avx512)];

/// Name of the level that kernels run at.
///
/// # Errors
/// As [`check`].
#[cfg(feature = "cli")]
pub fn level_name() -> Result<&'static str, LevelError> {
    chosen().map(|level| NAMES[level as usize].0)
}

/// Instruction sets that kernels look for, with whether this machine has them.
#[cfg(feature = "cli")]
pub fn instruction_sets() -> Vec<(&'static str, bool)> {
    #[cfg(target_arch = "x86_64")]
    {
        present_avx2().into_iter().chain(present_avx512().into_iter().take(4)).collect()
    }
    #[cfg(target_arch = "aarch64")]
    {
        vec![("neon", cfg!(target_feature = "neon"))]
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        vec![]
    }
}

/// Returns the level called `name` if it is at most `best`.
fn of_name(name: &str, best: Level) -> Result<Level, LevelError> {
    let (_, level) = NAMES
        .into_iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| LevelError::Unknown(name.to_owned()))?;
    if level > best {
        return Err(LevelError::Missing(name.to_owned(), NAMES[best as usize].0));
    }
    Ok(level)
}

/// Instruction sets of a level, and whether the machine has them all. Kernels may enable no others: a test
/// reads the sources.
macro_rules! instruction_sets {
    ($(#[$meta:meta])* $sets:ident, $all_there:ident, $present:ident: $($set:tt),+) => {
        $(#[$meta])*
        #[cfg_attr(not(test), allow(dead_code))]
        pub const $sets: &[&str] = &[$($set),+];

        #[cfg(target_arch = "x86_64")]
        fn $all_there() -> bool {
            $(is_x86_feature_detected!($set))&&+
        }

        #[cfg(all(target_arch = "x86_64", feature = "cli"))]
        fn $present() -> Vec<(&'static str, bool)> {
            vec![$(($set, is_x86_feature_detected!($set))),+]
        }
    };
}

instruction_sets! {
    /// Instruction sets of [`Level::Avx2`].
    AVX2, has_avx2, present_avx2: "avx2", "fma", "bmi2", "f16c"
}
instruction_sets! {
    /// Instruction sets of [`Level::Avx512`].
    AVX512, has_avx512, present_avx512: "avx512f", "avx512vl", "avx512dq", "avx512bw", "avx2", "fma", "bmi2", "f16c"
}

/// Returns all levels of this machine, the best first. Tests run each.
#[cfg(test)]
pub fn levels() -> Vec<Level> {
    let all = [Level::Avx512, Level::Avx2, Level::Baseline];
    all.into_iter().skip_while(|level| *level != detect()).collect()
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    match (has_avx2(), has_avx512()) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Baseline,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

/// a·b + c, fused if the kernel is compiled for it.
#[inline(always)]
pub fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA || cfg!(target_arch = "aarch64") { a.mul_add(b, c) } else { a * b + c }
}

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

/// `each_level!(fn name(args) = kernel;)` defines `name`, which runs `kernel(simd, args)`, compiled for the
/// machine's best instruction set, with its token. The kernel must be `#[inline(always)]`, and so must all
/// functions that it passes the token to.
macro_rules! each_level {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $kernel:ident;) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi2")]
                fn avx512($($arg: $ty),*) {
                    // SAFETY: called only where the machine has the instructions.
                    $kernel(unsafe { $crate::solver::simd_lanes::Avx512::new() }, $($arg),*)
                }
                #[target_feature(enable = "avx2,fma,bmi2")]
                fn avx2($($arg: $ty),*) {
                    // SAFETY: as above.
                    $kernel(unsafe { $crate::solver::simd_lanes::Avx2::new() }, $($arg),*)
                }
                match $crate::solver::simd::level() {
                    // SAFETY: `level` has found these instruction sets on this machine.
                    $crate::solver::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::solver::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::solver::simd::Level::Baseline => {}
                }
            }
            $kernel($crate::solver::simd_lanes::Plain, $($arg),*)
        }
    };
}
pub(crate) use each_level;

/// Cells of which the first begins a cache line.
#[cfg(test)]
#[derive(Clone)]
#[repr(align(64))]
pub struct Aligned<const N: usize>(pub [[f32; 4]; N]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_level_is_refused_and_so_is_one_the_machine_lacks() {
        assert_eq!(of_name("avx2", Level::Avx512), Ok(Level::Avx2));
        assert_eq!(of_name("baseline", Level::Baseline), Ok(Level::Baseline));
        let unknown = of_name("AVX", Level::Avx512).unwrap_err();
        assert_eq!(unknown, LevelError::Unknown("AVX".into()));
        assert!(unknown.to_string().contains("baseline, avx2 or avx512"), "{unknown}");
        let missing = of_name("avx512", Level::Avx2).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "UPDRAFT_SIMD=avx512 is more than this machine has; its best level is avx2"
        );
    }

    /// Finds the instruction sets that functions under `folder` enable.
    fn enabled(folder: &std::path::Path, found: &mut Vec<(std::path::PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                enabled(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                // Split, so that this line does not match itself.
                let parts = text.split(concat!("target_feature(", "enable = \"")).skip(1);
                found.extend(parts.map(|part| (path.clone(), part[..part.find('"').unwrap()].to_owned())));
            }
        }
    }

    #[test]
    fn kernels_enable_only_detected_instructions() {
        let mut found = vec![];
        enabled(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert!(found.len() > 10, "only {} kernels", found.len());
        for (path, sets) in found {
            let detected = if sets.contains("avx512") { AVX512 } else { AVX2 };
            let stranger = sets.split(',').find(|set| !detected.contains(set));
            assert_eq!(stranger, None, "{} enables {sets}", path.display());
        }
    }
}
