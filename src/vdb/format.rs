//! Numbers of the format.

/// First bytes of a file: " BDV" and four zeros.
pub const MAGIC: u64 = 0x5644_4220;
/// Version of written files.
pub const VERSION: u32 = 224;
/// Version of the library that writes this format.
pub const LIBRARY: [u32; 2] = [10, 0];

/// Compression flags of a grid.
pub mod flag {
    pub const ZIP: u32 = 1;
    pub const ACTIVE_MASK: u32 = 2;
    pub const BLOSC: u32 = 4;
}

/// Voxels in a leaf.
pub const LEAF: usize = 512;
/// Children of a lower node, which is 128 voxels wide.
pub const LOWER: usize = 4096;
/// Children of an upper node, which is 4096 voxels wide.
pub const UPPER: usize = 32768;
