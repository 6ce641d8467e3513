//! Memory: limits, fallible allocation, and a clean end when none is left.
//!
//! There are three lines of defence. A scene is refused if its estimate exceeds [`limit`]. Allocations that
//! scale with input use [`vec`], or test the whole amount by [`probe`], and return [`NoRoom`]. Any other
//! failed allocation ends the command in [`Allocator`] with one line and exit code 1; the standard library
//! would abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use thiserror::Error;

pub mod freed_memory;
pub mod huge_pages;
pub mod large_blocks;
// Without scenes nobody asks how much memory is available.
#[cfg_attr(not(feature = "scene"), allow(dead_code))]
mod machine_memory;

#[cfg(feature = "scene")]
pub use machine_memory::available;
pub use machine_memory::total as machine;

/// A failed request for memory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("out of memory: {what} needs {}, which is not available", human(*.bytes))]
pub struct NoRoom {
    /// Purpose of the memory.
    pub what: String,
    /// Requested size \[bytes\].
    pub bytes: u64,
}

thread_local! {
    /// Whether this thread handles failed allocations.
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// Allocates an empty vector with room for `count` values, for `what`.
///
/// # Errors
/// If that much memory is not available, or exceeds the machine's.
pub fn vec<T>(count: usize, what: &str) -> Result<Vec<T>, NoRoom> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    let none = || NoRoom { what: what.to_owned(), bytes };
    if bytes > SMALL && limit().is_some_and(|limit| bytes > limit) {
        return Err(none());
    }
    let mut values = Vec::new();
    let before = FALLIBLE.replace(true);
    let result = values.try_reserve_exact(count);
    FALLIBLE.set(before);
    result.map(|()| values).map_err(|_| none())
}

/// Requests below this size skip the check of the system's limits \[bytes\].
const SMALL: u64 = 16 << 20;

/// Tests whether `bytes` are available for `what`, and frees them again.
///
/// # Errors
/// If they are not.
pub fn probe(bytes: u64, what: &str) -> Result<(), NoRoom> {
    let count = usize::try_from(bytes).unwrap_or(usize::MAX);
    vec::<u8>(count, what).map(drop)
}

/// Returns the memory that this process may use \[bytes\], if the system tells: the least of the machine's,
/// its control group's and its address space's.
pub fn limit() -> Option<u64> {
    [machine(), control_group(), address_space()].into_iter().flatten().min()
}

/// Returns the limit of the address space (`ulimit -v`) \[bytes\], if there is one.
pub fn address_space() -> Option<u64> {
    soft_limit(&std::fs::read_to_string("/proc/self/limits").ok()?)
}

fn soft_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Address space in use \[bytes\], if the system tells.
#[cfg(feature = "scene")]
pub fn mapped() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(pages * 4096)
}

/// Returns the least limit of the control groups of this process \[bytes\].
fn control_group() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let files = text.lines().flat_map(limit_files);
    files.filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

/// Files that may hold the limits of a group, named by a line of `/proc/self/cgroup`: its own and its
/// parents'.
fn limit_files(line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, file) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max"),
        names if names.split(',').any(|name| name == "memory") => {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let group = Path::new(group.trim_start_matches('/'));
    group.ancestors().map(|group| Path::new(root).join(group).join(file)).collect()
}

/// Formats a size: `123 MiB`, `1.5 GiB`.
pub fn human(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    match mib {
        _ if bytes < 1 << 10 => format!("{bytes} bytes"),
        _ if bytes < 1 << 20 => format!("{} KiB", bytes >> 10),
        x if x < 10.0 => format!("{x:.1} MiB"),
        x if x < 1024.0 => format!("{x:.0} MiB"),
        x => format!("{:.1} GiB", x / 1024.0),
    }
}

/// The allocator of the command. A failed allocation that nobody handles ends the process with one line and
/// exit code 1.
pub struct Allocator;

// SAFETY: every request goes to the system's allocator unchanged, and so does its answer.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of `System`.
        found(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        found(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        found(unsafe { System.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

/// Set by the thread that reports that memory has run out.
static REPORTED: AtomicBool = AtomicBool::new(false);

#[inline]
fn found(memory: *mut u8, size: usize) -> *mut u8 {
    // A thread that is being destroyed has no flag any more, and cannot handle an error.
    if memory.is_null() && !FALLIBLE.try_with(Cell::get).unwrap_or(false) {
        give_up(size);
    }
    memory
}

#[cold]
fn give_up(size: usize) {
    // Several threads may run out of memory at once. The first reports it and ends the process; others wait for that. The wait is bounded,
    // because the report itself could fail to allocate.
    if REPORTED.swap(true, Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(1));
        end();
    }
    let mut line = [0u8; 160];
    let length = {
        let mut rest = &mut line[..];
        // The line fits into the buffer.
        let _ = writeln!(
            rest,
            "updraft: out of memory: {size} bytes more are not available; use fewer cells, fewer threads or a smaller picture"
        );
        160 - rest.len()
    };
    // Errors of stderr cannot be reported.
    let _ = std::io::stderr().write_all(&line[..length]);
    end();
}

/// Ends the process without its exit handlers: those of other crates allocate, and abort where they cannot.
#[cfg(unix)]
fn end() -> ! {
    #[allow(unsafe_code)]
    unsafe extern "C" {
        fn _exit(code: std::ffi::c_int) -> !;
    }
    // SAFETY: it takes a number, and does not return.
    #[allow(unsafe_code)]
    unsafe {
        _exit(1)
    }
}

#[cfg(not(unix))]
fn end() -> ! {
    std::process::exit(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_allocations_are_errors() {
        // A 32-bit machine cannot ask for as much.
        if let Some(many) = 1_usize.checked_shl(50) {
            let error = vec::<[f32; 4]>(many, "a picture").unwrap_err();
            assert_eq!(
                error.to_string(),
                "out of memory: a picture needs 16777216.0 GiB, which is not available"
            );
        }
        assert!(vec::<u64>(usize::MAX, "it").is_err());
        assert!(probe(u64::MAX, "it").is_err());
        assert!(vec::<u8>(100, "it").unwrap().capacity() >= 100);
    }

    #[test]
    fn limits_are_read_as_the_system_writes_them() {
        let limits = |bound: &str| {
            format!("Limit  Soft Limit\nMax address space         {bound}   unlimited  bytes\n")
        };
        assert_eq!(soft_limit(&limits("1048576000")), Some(1_048_576_000));
        assert_eq!(soft_limit(&limits("unlimited")), None);
        let files = limit_files("0::/user/run");
        assert_eq!(files[0], Path::new("/sys/fs/cgroup/user/run/memory.max"));
        assert_eq!(files.last().unwrap(), Path::new("/sys/fs/cgroup/memory.max"));
        assert_eq!(
            limit_files("4:cpu,memory:/a")[0],
            Path::new("/sys/fs/cgroup/memory/a/memory.limit_in_bytes")
        );
        assert!(limit_files("5:cpu:/a").is_empty() && limit_files("").is_empty());
    }

    #[test]
    fn sizes_are_formatted_in_round_units() {
        let told = [999, 2048, 5 << 20, 500 << 20, 3 << 30].map(human);
        assert_eq!(told, ["999 bytes", "2 KiB", "5.0 MiB", "500 MiB", "3.0 GiB"]);
    }
}
