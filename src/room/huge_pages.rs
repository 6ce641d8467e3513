//! Large blocks of memory lie on huge pages, where the system has them for those who ask.
//!
//! The rows that one task of a pass reads lie on many pages. The processor keeps the addresses of some thousand pages, and looks others up
//! in memory. With the setting `madvise`, Linux gives pages of 2 MiB instead of 4 KiB only to blocks for which a process asks.

/// Bytes of a huge page of most machines, and a multiple of the pages of all.
#[cfg(target_os = "linux")]
const PAGE: usize = 2 << 20;

/// Least size of a block that asks for huge pages \[bytes\].
#[cfg(target_os = "linux")]
const LEAST: usize = 4 * PAGE;

/// Asks for huge pages for a block that was not written yet, and returns it. Small blocks, and those on other systems, stay as they are.
pub fn favoured<T>(block: Vec<T>) -> Vec<T> {
    #[cfg(target_os = "linux")]
    if block.capacity() * size_of::<T>() >= LEAST {
        use std::ffi::{c_int, c_void};

        #[allow(unsafe_code)]
        unsafe extern "C" {
            fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        /// `MADV_HUGEPAGE` of sys/mman.h.
        const HUGE: c_int = 14;
        let (address, bytes) = (block.as_ptr().cast::<u8>(), block.capacity() * size_of::<T>());
        let skip = address.align_offset(PAGE);
        let length = bytes.saturating_sub(skip) / PAGE * PAGE;
        // SAFETY: the pages lie inside the block, and the call changes none of their values. Its failure leaves them as they are.
        #[allow(unsafe_code)]
        unsafe {
            madvise(address.wrapping_add(skip).cast_mut().cast(), length, HUGE);
        }
    }
    block
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Whether a huge page was asked for at `address`; `None` if the system does not tell.
    fn is_asked_for(address: usize) -> Option<bool> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mut is_inside = false;
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let first = words.next()?;
            if let Some((from, to)) = first.split_once('-') {
                let [from, to] = [from, to].map(|text| usize::from_str_radix(text, 16));
                is_inside = (from.ok()?..to.ok()?).contains(&address);
            } else if is_inside && first == "VmFlags:" {
                return Some(words.any(|flag| flag == "hg"));
            }
        }
        None
    }

    #[test]
    fn a_large_block_asks_for_huge_pages_and_keeps_its_values() {
        let mut block = favoured(vec![0u8; 8 * PAGE]);
        assert!(block.iter().all(|&byte| byte == 0));
        block.fill(1);
        assert!(block.iter().all(|&byte| byte == 1));
        if std::fs::exists("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or(false) {
            let asked = is_asked_for(block[4 * PAGE..].as_ptr() as usize);
            assert!(asked != Some(false), "no huge pages were asked for");
        }
        assert_eq!(favoured(vec![3.0f32; 5]), [3.0; 5]);
    }
}
