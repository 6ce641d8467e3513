//! Estimate of a scene's memory, before anything is allocated.

use std::cell::Cell;

use half::f16;

use crate::room;
pub use crate::room::{available, human, machine};
use crate::solver::{Config, Solver};

/// Snapshots in flight between solver and renderer.
const SNAPSHOTS: u64 = 3;

/// Bytes of a pixel until it is in a file: the target and the accumulation buffer of the renderer (16 each),
/// linear radiance and depth (20), the bytes that are read back, turned and encoded (11), rounded up.
const PIXEL: u64 = 64;

/// Address space that a thread reserves for its stack and guard pages \[bytes\].
const STACK: u64 = (2 << 20) + (1 << 16);

/// Mean memory that a thread touches: stack and scratch \[bytes\].
const THREAD: u64 = 128 << 10;

/// Sets of threads: the solver's and the renderer's.
const SETS: u64 = 2;

/// Returns the memory of a run of `config`, with or without solids: the solver, and snapshots of four half
/// floats per cell \[bytes\].
pub fn estimate(config: &Config, solids: bool) -> u64 {
    estimate_on(config, solids, 1)
}

/// Estimates as [`estimate`] does, for all `ranks` together that share the box.
pub fn estimate_on(config: &Config, solids: bool, ranks: usize) -> u64 {
    Solver::memory_on(config, solids, ranks)
        + SNAPSHOTS * 4 * size_of::<f16>() as u64 * config.smoke_dims().cells() as u64
        + config.threads as u64 * THREAD
}

/// Returns the memory of a picture of `size` \[bytes\].
pub fn picture(size: [u32; 2]) -> u64 {
    PIXEL * u64::from(size[0]) * u64::from(size[1])
}

/// Memory limit of a scene and the used part, while its files and shapes are read.
pub struct Budget {
    limit: u64,
    used: Cell<u64>,
}

impl Budget {
    /// Starts with `used` of `limit` \[bytes\].
    pub fn new(limit: u64, used: u64) -> Self {
        Self { limit, used: Cell::new(used) }
    }

    /// Reserves `bytes` for `what`.
    ///
    /// # Errors
    /// The required memory and the limit, if the sum exceeds it.
    pub fn take(&self, bytes: u64, what: &str) -> Result<(), String> {
        let used = self.used.get().saturating_add(bytes);
        if used > self.limit {
            let [bytes, used, limit] = [bytes, used, self.limit].map(human);
            return Err(format!(
                "{what} needs about {bytes}, and the scene {used} up to here, over the limit of {limit}; \
                 make it smaller or raise solver.memory_limit"
            ));
        }
        self.used.set(used);
        Ok(())
    }
}

/// Default limit if the system does not tell its memory \[bytes\].
const UNKNOWN: u64 = 8 << 30;

/// Returns the default limit: three quarters of the memory that this process may use \[bytes\].
pub fn default_limit() -> u64 {
    room::limit().map_or_else(
        || {
            tracing::warn!("this system does not tell its memory; scenes are limited to {}", human(UNKNOWN));
            UNKNOWN
        },
        |bytes| bytes / 4 * 3,
    )
}

/// Checks that the stacks of `threads` threads fit into a bounded address space.
///
/// # Errors
/// The required and the available memory.
pub fn check_threads(threads: usize) -> Result<(), String> {
    let Some(limit) = room::address_space() else { return Ok(()) };
    let need = room::mapped().unwrap_or(0) + SETS * STACK * threads as u64;
    if need <= limit {
        return Ok(());
    }
    let (need, limit) = (human(need), human(limit));
    Err(format!(
        "{threads} threads need about {need} of address space, over the limit of {limit} (ulimit -v); use fewer"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_up_to_the_limit() {
        let budget = Budget::new(10 << 20, 2 << 20);
        budget.take(4 << 20, "a shape").unwrap();
        let message = budget.take(5 << 20, "a shape").unwrap_err();
        assert!(
            message.starts_with("a shape needs about 5.0 MiB, and the scene 11 MiB up to here, over"),
            "{message}"
        );
        budget.take(4 << 20, "a shape").unwrap();
        assert!(budget.take(u64::MAX, "a shape").is_err());
    }

    #[test]
    fn large_pictures_are_counted() {
        assert_eq!(picture([16384, 16384]), 16 << 30);
        assert!(picture([640, 480]) < 20 << 20);
    }
}
