//! How much memory a scene will take, told before any of it is allocated.

use half::f16;

use crate::room;
pub use crate::room::{human, machine};
use crate::solver::{Config, Solver};

/// Snapshots that are on their way to the picture at once.
const SNAPSHOTS: u64 = 3;

/// Bytes that a pixel takes on its way to a file: the target and the accumulation buffer of the renderer (16 each), linear
/// radiance and depth (20), the bytes that are read back, turned and encoded (11), rounded up.
const PIXEL: u64 = 64;

/// Bytes of address space that a thread reserves: its stack and its guard pages.
const STACK: u64 = (2 << 20) + (1 << 16);

/// Bytes that a thread touches, in the mean: its stack and its scratch.
const THREAD: u64 = 128 << 10;

/// Sets of threads: the solver's, and those that draw.
const SETS: u64 = 2;

/// Bytes that a run of `config` takes, with or without solids: the solver, and snapshots of four half floats a cell.
pub fn estimate(config: &Config, solids: bool) -> u64 {
    Solver::memory(config, solids)
        + SNAPSHOTS * 4 * size_of::<f16>() as u64 * config.dims.cells() as u64
        + config.threads as u64 * THREAD
}

/// Bytes that a picture of `size` takes.
pub fn picture(size: [u32; 2]) -> u64 {
    PIXEL * u64::from(size[0]) * u64::from(size[1])
}

/// The limit where a scene sets none: three quarters of what this process may use.
pub fn default_limit() -> u64 {
    room::limit().map_or(8 << 30, |bytes| bytes / 4 * 3)
}

/// Whether `threads` threads have room for their stacks, where the address space is bounded.
///
/// # Errors
/// What is needed and what there is.
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
    fn large_pictures_are_counted() {
        assert_eq!(picture([16384, 16384]), 16 << 30);
        assert!(picture([640, 480]) < 20 << 20);
    }
}
