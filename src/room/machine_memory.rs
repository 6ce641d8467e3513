//! Physical memory of this machine, as each system tells it.
//!
//! Linux and Android have `/proc/meminfo`. Windows and the systems descended from BSD have one call each,
//! which is declared here. Elsewhere the answer is `None`, and callers say so.

/// Returns the physical memory \[bytes\], if the system tells.
pub fn total() -> Option<u64> {
    system::total()
}

/// Returns the memory that is available without swapping \[bytes\], if the system tells: Linux and Windows do.
pub fn available() -> Option<u64> {
    system::available()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    pub fn total() -> Option<u64> {
        super::meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
    }

    pub fn available() -> Option<u64> {
        super::meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
    }
}

/// Returns the value of `key` in the text of `/proc/meminfo` \[bytes\].
#[cfg(any(target_os = "linux", target_os = "android"))]
fn meminfo(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(windows)]
mod system {
    /// `MEMORYSTATUSEX` of sysinfoapi.h.
    #[repr(C)]
    #[derive(Default)]
    struct MemoryStatus {
        length: u32,
        memory_load: u32,
        total_physical: u64,
        available_physical: u64,
        total_page_file: u64,
        available_page_file: u64,
        total_virtual: u64,
        available_virtual: u64,
        available_extended_virtual: u64,
    }

    #[allow(unsafe_code)]
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GlobalMemoryStatusEx(status: *mut MemoryStatus) -> i32;
    }

    fn status() -> Option<MemoryStatus> {
        let mut status = MemoryStatus { length: size_of::<MemoryStatus>() as u32, ..MemoryStatus::default() };
        // SAFETY: the structure is that of the system's header, and its first field holds its size.
        #[allow(unsafe_code)]
        let succeeded = unsafe { GlobalMemoryStatusEx(&raw mut status) } != 0;
        succeeded.then_some(status)
    }

    pub fn total() -> Option<u64> {
        status().map(|status| status.total_physical)
    }

    pub fn available() -> Option<u64> {
        status().map(|status| status.available_physical)
    }
}

#[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "dragonfly"))]
mod system {
    use std::ffi::{CStr, c_char, c_int, c_void};

    #[cfg(target_vendor = "apple")]
    const NAME: &CStr = c"hw.memsize";
    #[cfg(not(target_vendor = "apple"))]
    const NAME: &CStr = c"hw.physmem";

    #[allow(unsafe_code)]
    unsafe extern "C" {
        fn sysctlbyname(
            name: *const c_char,
            old: *mut c_void,
            old_length: *mut usize,
            new: *mut c_void,
            new_length: usize,
        ) -> c_int;
    }

    pub fn total() -> Option<u64> {
        let (mut bytes, mut length) = (0u64, size_of::<u64>());
        // SAFETY: `bytes` has the `length` bytes that the call may write, and nothing is set.
        #[allow(unsafe_code)]
        let result = unsafe {
            sysctlbyname(NAME.as_ptr(), (&raw mut bytes).cast(), &raw mut length, std::ptr::null_mut(), 0)
        };
        (result == 0 && length == size_of::<u64>()).then_some(bytes)
    }

    pub fn available() -> Option<u64> {
        None
    }
}

#[cfg(not(any(
    windows,
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "dragonfly"
)))]
mod system {
    pub fn total() -> Option<u64> {
        None
    }

    pub fn available() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn meminfo_is_read_in_bytes() {
        let text = "MemTotal:       24507164 kB\nMemFree:          123 kB\nMemAvailable:   22000000 kB\n";
        assert_eq!(meminfo(text, "MemTotal:"), Some(24_507_164 << 10));
        assert_eq!(meminfo(text, "MemAvailable:"), Some(22_000_000 << 10));
        assert_eq!(meminfo("MemTotal: many\n", "MemTotal:"), None);
    }

    /// Every system that this is tested on tells its memory, and a plausible one.
    #[test]
    fn this_machine_tells_its_memory() {
        let total = total().expect("a system that tells");
        assert!((64 << 20..1 << 50).contains(&total), "{total} bytes");
        assert!(available().is_none_or(|available| available <= total));
    }
}
