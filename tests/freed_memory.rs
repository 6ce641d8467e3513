//! Memory that was freed between blocks in use. The test has its own process, because others would allocate
//! at the same time.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[path = "common/resident.rs"]
mod resident;

use std::hint::black_box;
use std::time::{Duration, Instant};

use resident::resident;
use updraft::program::freed_memory::return_every;

/// Size of each block \[bytes\], below that of blocks that the allocator maps separately.
const BLOCK: usize = 64 << 10;
const BLOCKS: usize = 4096;

#[test]
fn memory_freed_between_blocks_in_use_leaves_the_process() {
    let (blocks, pins): (Vec<_>, Vec<_>) =
        (0..BLOCKS).map(|_| (black_box(vec![1u8; BLOCK]), black_box(vec![1u8; 64]))).unzip();
    let full = resident();
    drop(blocks);
    let kept = resident();
    // Premise: without help the pins keep the memory in the process.
    assert!(kept + BLOCKS * BLOCK / 8 > full, "{full} → {kept} bytes");
    return_every(Duration::from_millis(50)).unwrap();
    let start = Instant::now();
    while resident() + BLOCKS * BLOCK * 3 / 4 > full {
        assert!(start.elapsed() < Duration::from_secs(20), "{full} → {kept} → {} bytes", resident());
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(pins);
}
