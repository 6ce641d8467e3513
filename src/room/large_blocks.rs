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
