//! Which instruction set kernels use: the best of this machine, or the one that `UPDRAFT_SIMD` names.

use std::sync::OnceLock;

#[cfg(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64"))]
use fearless_simd::Level as Detected;
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

/// The token of an instruction set: proof that the machine has it, for [`each_level`](super::each_level).
#[derive(Clone, Copy, Debug)]
pub enum Token {
    /// Of the compile target.
    Baseline(Baseline),
    /// x86-64 with AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2(fearless_simd::x86::Avx2),
    /// x86-64 with the AVX-512 of Ice Lake.
    #[cfg(target_arch = "x86_64")]
    Avx512(fearless_simd::x86::Avx512),
}

/// Token of the compile target.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub type Baseline = fearless_simd::x86::Sse2;
/// Token of the compile target.
#[cfg(target_arch = "aarch64")]
pub type Baseline = fearless_simd::aarch64::Neon;
/// Token of the compile target.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
pub type Baseline = fearless_simd::Fallback;

/// Returns the token of [`level`].
pub fn token() -> Token {
    static TOKEN: OnceLock<Token> = OnceLock::new();
    *TOKEN.get_or_init(|| level().token())
}

impl Level {
    /// Returns the token of this level, or of the best below it that this machine has. AVX-512 before Ice Lake has none, and
    /// gets that of AVX2.
    pub fn token(self) -> Token {
        of_level(self)
    }
}

#[cfg(target_arch = "x86_64")]
fn of_level(level: Level) -> Token {
    let detected = Detected::new();
    let avx512 = detected.as_avx512().filter(|_| level >= Level::Avx512).map(Token::Avx512);
    let avx2 = detected.as_avx2().filter(|_| level >= Level::Avx2).map(Token::Avx2);
    let baseline = detected.as_sse2().map(Token::Baseline);
    avx512.or(avx2).or(baseline).expect("every x86-64 machine has SSE2")
}

#[cfg(target_arch = "aarch64")]
fn of_level(_: Level) -> Token {
    Token::Baseline(Detected::new().as_neon().expect("every 64-bit ARM machine has NEON"))
}

#[cfg(target_arch = "x86")]
fn of_level(_: Level) -> Token {
    Token::Baseline(Detected::new().as_sse2().expect("updraft needs a processor with SSE2"))
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
fn of_level(_: Level) -> Token {
    Token::Baseline(fearless_simd::Fallback::new())
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
        assert!(found.len() > 5, "only {} kernels", found.len());
        for (path, sets) in found {
            let detected = if sets.contains("avx512") { AVX512 } else { AVX2 };
            let stranger = sets.split(',').find(|set| !detected.contains(set));
            assert_eq!(stranger, None, "{} enables {sets}", path.display());
        }
    }
}
