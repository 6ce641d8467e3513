//! OpenVDB files: sparse volumes for Blender, Houdini and other programs.
//!
//! Writes and reads `Tree_float_5_4_3` and `Tree_vec3s_5_4_3` grids, as single or half floats, with or without ZIP, in
//! version 224 of the format (OpenVDB 10; later releases read it). Blosc is read, not written. The module needs `flate2`,
//! `lz4_flex` and `half` and is independent of the rest of this crate.
//!
//! ```
//! use updraft::vdb::{Grid, Reader, Topology, Values, write};
//!
//! let ball = |at: [i32; 3]| at.iter().map(|x| x * x).sum::<i32>() < 25;
//! let topology = Topology::of_box([-5; 3], [10; 3], |n| ball(n.map(|x| x as i32 - 5)));
//! let grid = Grid::new("density", 0.1, &topology, Values::Scalar(&|_| 1.5));
//! let mut file = Vec::new();
//! write(&mut file, &[("creator", "me".into())], &[grid.encode()])?;
//!
//! let read = Reader::new(&file).unwrap();
//! let density = read.grid("density").unwrap();
//! assert_eq!(density.dense([-5; 3], [10; 3]).unwrap()[0][555], 1.5);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # The tree
//! A voxel (i, j, k) lies in a leaf of 8³ voxels, the leaf in a lower node of 16³ leaves, that in an upper node of 32³
//! lower nodes. Upper nodes are 4096³ voxels in size and children of a root. z varies fastest in every node. A voxel is
//! active or inactive; inactive ones have the background value, here 0.
//!
//! # The file
//! Little-endian; a string is its length (u32) and its bytes. Magic (i64), version (u32), version of the library
//! (2 × u32), whether there are offsets (u8), a UUID (36 bytes), metadata, number of grids (u32). Then for each grid its
//! name, type, parent and three offsets (i64). At the first offset: compression flags (u32), metadata, transform and
//! topology (masks of all nodes). At the second: the values of the leaves. Two traps: an empty block of half floats writes
//! no bytes, one of single floats under ZIP writes a length of 0; and the background has four bytes even in a grid of half
//! floats.

mod blosc;
mod format;
mod metadata;
mod read;
mod read_error;
mod stream;
#[cfg(test)]
mod tests;
mod topology;
mod write;

pub use metadata::Meta;
pub use read::{ReadGrid, Reader};
pub use read_error::ReadError;
pub use stream::Stream;
pub use topology::{Leaf, Topology};
pub use write::{Blocks, Encoded, Grid, Values, write};
