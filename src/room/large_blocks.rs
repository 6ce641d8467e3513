//! Large blocks of memory go back to the system at once.
//!
//! The allocator of the GNU C library maps a large block by itself, but once such a block was freed it takes later ones of that size from
//! its heap, up to 32 MiB, and keeps what is freed there. A box that follows its smoke frees fields at each move, none of which fits
//! the next box: the peak of a run was 695 MB instead of 518. A block that is mapped by itself also takes no memory until it is written,
//! so the new fields of a moved box do not lie beside the old ones.

/// Least size of a block that is mapped by itself \[bytes\].
pub const LARGE: usize = 8 << 20;

/// Lets blocks of at least [`LARGE`] bytes be mapped by themselves from now on, in the whole process; other C libraries do so.
pub fn return_at_once() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::ffi::c_int;

        #[allow(unsafe_code)]
        unsafe extern "C" {
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        /// `M_MMAP_THRESHOLD` of malloc.h.
        const THRESHOLD: c_int = -3;
        // SAFETY: the call sets a number of the allocator, under its own lock, and reads no memory.
        #[allow(unsafe_code)]
        unsafe {
            mallopt(THRESHOLD, LARGE as c_int);
        }
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use std::hint::black_box;

    use super::*;

    /// Memory of this process that is in use \[bytes\].
    fn resident() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    #[test]
    fn a_freed_block_leaves_the_process_whatever_was_freed_before() {
        return_at_once();
        let block = || black_box(vec![1u8; 3 * LARGE]);
        drop(block());
        let before = resident();
        // Without the call the second block lies in the heap, below what is allocated after it.
        let (second, pin) = (block(), black_box(vec![1u8; 4096]));
        let with = resident();
        drop(second);
        let after = resident();
        drop(pin);
        assert!(with > before + 2 * LARGE && after + 2 * LARGE < with, "{before}, {with}, {after} bytes");
    }
}
