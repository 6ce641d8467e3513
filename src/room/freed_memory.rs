//! Freed memory goes back to the system, also where blocks in use lie beside it.
//!
//! The allocator of the GNU C library keeps what was freed between blocks that are in use. A window frees and takes fields of a
//! few megabytes at each stroke, undo, comparison and other scene, and frames of all sizes, so after half an hour it
//! kept more memory than it used. Returning it takes a few milliseconds, and memory that is taken again is cleared by the system.

use std::io;
use std::time::Duration;

/// Returns freed memory to the system every `interval`, from a thread of its own, as long as the process lives. Other C libraries
/// than that of GNU do so by themselves, and there it does nothing.
///
/// # Errors
/// If the thread cannot be started.
pub fn return_every(interval: Duration) -> io::Result<()> {
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        std::thread::Builder::new().name("memory".into()).spawn(move || {
            loop {
                std::thread::sleep(interval);
                return_now();
            }
        })?;
    }
    Ok(())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn return_now() {
    use std::ffi::c_int;

    #[allow(unsafe_code)]
    unsafe extern "C" {
        fn malloc_trim(pad: usize) -> c_int;
    }
    // SAFETY: the call takes the allocator's own locks, and gives back pages that hold no block in use.
    #[allow(unsafe_code)]
    unsafe {
        malloc_trim(0);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn return_now() {}
