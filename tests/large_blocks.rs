//! Large blocks of memory. The test has its own process, because others leave free blocks, which the
//! allocator uses first.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[path = "common/resident.rs"]
mod resident;

use std::hint::black_box;

use resident::resident;
use updraft::program::large_blocks::{LARGE, return_at_once};

#[test]
fn a_freed_block_leaves_the_process_whatever_was_freed_before() {
    return_at_once();
    let block = || black_box(vec![1u8; 3 * LARGE]);
    drop(block());
    let before = resident();
    // Without the call the second block lies in the heap, below later allocations.
    let (second, pin) = (block(), black_box(vec![1u8; 4096]));
    let with = resident();
    drop(second);
    let after = resident();
    drop(pin);
    assert!(with > before + 2 * LARGE && after + 2 * LARGE < with, "{before}, {with}, {after} bytes");
}
