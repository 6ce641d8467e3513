//! Writer.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress};
use half::f16;

use super::Meta;
use super::format::{LIBRARY, LOWER, MAGIC, UPPER, VERSION, flag};
use super::topology::{Leaf, Topology};

/// Values of a grid, requested for each active voxel.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// One number for each voxel.
    Scalar(&'a (dyn Fn([i32; 3]) -> f32 + Sync)),
    /// A vector for each voxel.
    Vector(&'a (dyn Fn([i32; 3]) -> [f32; 3] + Sync)),
}

/// A grid to be written. Default: half floats and ZIP.
#[derive(Clone)]
pub struct Grid<'a> {
    /// Name.
    pub name: String,
    /// Whether to write half floats instead of single ones. Their values are clamped to ±65504.
    pub half: bool,
    /// Whether to compress each leaf by zlib.
    pub zip: bool,
    /// Edge of a voxel in world units.
    pub voxel: f64,
    /// Centre of voxel (0, 0, 0) in world units.
    pub translation: [f64; 3],
    /// Additional metadata.
    pub metadata: Vec<(&'static str, Meta)>,
    /// Active voxels.
    pub topology: &'a Topology,
    /// Values of the active voxels.
    pub values: Values<'a>,
}

/// Encoded values of some leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// Bytes of one leaf after another.
    pub bytes: Vec<u8>,
    /// Number of bytes of each leaf.
    pub lengths: Vec<u32>,
}

/// An encoded grid.
pub struct Encoded {
    name: String,
    kind: String,
    bytes: Vec<u8>,
    /// Index in `bytes` of the first leaf's values.
    values: usize,
}

/// Writes a file of `grids` with this metadata. Equal content gives equal bytes: the UUID is a hash of it.
///
/// # Errors
/// Those of `file`.
pub fn write(mut file: impl Write, metadata: &[(&str, Meta)], grids: &[Encoded]) -> io::Result<()> {
    let mut hash = ContentHash::of(metadata);
    grids.iter().for_each(|grid| hash.add_grid(&grid.bytes));
    let head = head(&hash.uuid(), metadata, grids.len());
    file.write_all(&head)?;
    let mut at = head.len();
    for grid in grids {
        let mut descriptor = descriptor(&grid.name, &grid.kind);
        let begin = at + descriptor.len() + 3 * size_of::<i64>();
        at = begin + grid.bytes.len();
        [begin, begin + grid.values, at].iter().for_each(|n| descriptor.extend((*n as i64).to_le_bytes()));
        file.write_all(&descriptor)?;
        file.write_all(&grid.bytes)?;
    }
    Ok(())
}

/// Returns the head of a file with this number of grids.
pub(super) fn head(uuid: &str, metadata: &[(&str, Meta)], grids: usize) -> Vec<u8> {
    let mut head = Vec::new();
    head.extend(MAGIC.to_le_bytes());
    head.extend(VERSION.to_le_bytes());
    LIBRARY.iter().for_each(|n| head.extend(n.to_le_bytes()));
    head.push(1);
    debug_assert_eq!(head.len(), UUID_AT);
    head.extend(uuid.as_bytes());
    put_metadata(&mut head, metadata);
    head.extend((grids as u32).to_le_bytes());
    head
}

/// Position of the UUID in a file.
pub(super) const UUID_AT: usize = 21;

/// Returns name, type and parent of a grid. Three offsets follow in the file.
pub(super) fn descriptor(name: &str, kind: &str) -> Vec<u8> {
    let mut descriptor = Vec::new();
    put_string(&mut descriptor, name);
    put_string(&mut descriptor, kind);
    // The parent grid, which only an instance has.
    put_string(&mut descriptor, "");
    descriptor
}

impl<'a> Grid<'a> {
    /// Makes the grid `name` with voxels of this width. The centre of voxel (0, 0, 0) is half a voxel from
    /// the world's origin, so a box of voxels from there on begins at the origin.
    pub fn new(name: &str, voxel: f64, topology: &'a Topology, values: Values<'a>) -> Self {
        let translation = [0.5 * voxel; 3];
        let (name, metadata) = (name.to_owned(), vec![]);
        Self { name, half: true, zip: true, voxel, translation, metadata, topology, values }
    }

    /// Encodes the grid; several may be encoded in parallel.
    pub fn encode(&self) -> Encoded {
        let mut bytes = self.without_values();
        let values = bytes.len();
        bytes.extend(self.blocks(self.topology.leaves()).bytes);
        Encoded { name: self.name.clone(), kind: self.kind(), bytes, values }
    }

    /// Encodes the values of `leaves`.
    pub fn blocks(&self, leaves: &[Leaf]) -> Blocks {
        let mut blocks = Blocks::default();
        self.put_values(leaves, &mut blocks);
        blocks
    }

    /// Returns the type of the tree in the format.
    pub(super) fn kind(&self) -> String {
        let half = if self.half { "_HalfFloat" } else { "" };
        let value = if self.components() == 3 { "vec3s" } else { "float" };
        format!("Tree_{value}_5_4_3{half}")
    }

    /// Encodes the part of the grid before the values.
    pub(super) fn without_values(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let zip = if self.zip { flag::ZIP } else { 0 };
        bytes.extend((flag::ACTIVE_MASK | zip).to_le_bytes());
        put_metadata(&mut bytes, &self.all_metadata());
        self.put_transform(&mut bytes);
        self.put_topology(&mut bytes);
        bytes
    }

    fn components(&self) -> usize {
        match self.values {
            Values::Scalar(_) => 1,
            Values::Vector(_) => 3,
        }
    }

    fn all_metadata(&self) -> Vec<(&'static str, Meta)> {
        let mut all = match self.values {
            Values::Scalar(_) => vec![("class", "fog volume".into())],
            Values::Vector(_) => {
                vec![("class", "unknown".into()), ("vector_type", "contravariant relative".into())]
            }
        };
        all.push(("name", self.name.as_str().into()));
        all.push(("is_saved_as_half_float", Meta::Bool(self.half)));
        if let Some([low, high]) = self.topology.bounds() {
            all.push(("file_bbox_min", Meta::Vec3i(low)));
            all.push(("file_bbox_max", Meta::Vec3i(high)));
        }
        all.push(("file_voxel_count", Meta::Long(self.topology.count() as i64)));
        all.extend(self.metadata.iter().cloned());
        all
    }

    fn put_transform(&self, bytes: &mut Vec<u8>) {
        put_string(bytes, "UniformScaleTranslateMap");
        let s = self.voxel;
        let rows = [self.translation, [s; 3], [s; 3], [1.0 / s; 3], [1.0 / (s * s); 3], [0.5 / s; 3]];
        rows.as_flattened().iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    }

    fn put_topology(&self, bytes: &mut Vec<u8>) {
        let leaves = self.topology.leaves();
        // Number of buffers of values in each leaf, then the background and the number of tiles.
        bytes.extend(1u32.to_le_bytes());
        (0..self.components()).for_each(|_| bytes.extend(0f32.to_le_bytes()));
        bytes.extend(0u32.to_le_bytes());
        let uppers = || leaves.chunk_by(|a, b| a.place().0 == b.place().0);
        bytes.extend((uppers().count() as u32).to_le_bytes());
        for upper in uppers() {
            upper[0].place().0.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
            let lowers = || upper.chunk_by(|a, b| a.place().1 == b.place().1);
            self.put_node(bytes, UPPER, lowers().map(|lower| lower[0].place().1));
            for lower in lowers() {
                self.put_node(bytes, LOWER, lower.iter().map(|leaf| leaf.place().2));
                lower.iter().for_each(|leaf| put_mask(bytes, leaf));
            }
        }
    }

    /// Writes the masks of children and tiles; there are no tile values.
    fn put_node(&self, bytes: &mut Vec<u8>, slots: usize, children: impl Iterator<Item = usize>) {
        let start = bytes.len();
        bytes.resize(start + 2 * slots / 8, 0);
        for child in children {
            bytes[start + child / 8] |= 1 << (child % 8);
        }
        // All inactive voxels have the background value.
        bytes.push(0);
        if self.zip && !self.half {
            bytes.extend(0i64.to_le_bytes());
        }
    }

    fn put_values(&self, leaves: &[Leaf], Blocks { bytes, lengths }: &mut Blocks) {
        let mut zlib = self.zip.then(|| Compress::new(Compression::new(LEVEL), true));
        let (mut raw, mut small) = (Vec::new(), Vec::new());
        for leaf in leaves {
            let before = bytes.len();
            put_mask(bytes, leaf);
            bytes.push(0);
            raw.clear();
            for n in leaf.active() {
                match self.values {
                    Values::Scalar(value) => self.put_number(&mut raw, value(leaf.voxel(n))),
                    Values::Vector(value) => {
                        value(leaf.voxel(n)).into_iter().for_each(|x| self.put_number(&mut raw, x));
                    }
                }
            }
            match &mut zlib {
                Some(zlib) => put_block(bytes, &raw, zlib, &mut small),
                None => bytes.extend(&raw),
            }
            lengths.push((bytes.len() - before) as u32);
        }
    }

    fn put_number(&self, raw: &mut Vec<u8>, x: f32) {
        if self.half {
            let most = f16::MAX.to_f32();
            raw.extend(f16::from_f32(x.clamp(-most, most)).to_le_bytes());
        } else {
            raw.extend(x.to_le_bytes());
        }
    }
}

/// Level of zlib: level 6 makes files of smoke a few percent smaller and takes several times as long.
const LEVEL: u32 = 1;

/// Writes `raw` compressed by `zlib`, or raw with a negative length if that is no smaller.
fn put_block(bytes: &mut Vec<u8>, raw: &[u8], zlib: &mut Compress, small: &mut Vec<u8>) {
    small.clear();
    // Larger output is of no use: then the raw bytes are written.
    small.reserve_exact(raw.len());
    zlib.reset();
    let end = zlib.compress_vec(raw, small, FlushCompress::Finish);
    if matches!(end, Ok(flate2::Status::StreamEnd)) && small.len() < raw.len() {
        bytes.extend((small.len() as i64).to_le_bytes());
        bytes.extend_from_slice(small);
    } else {
        bytes.extend((-(raw.len() as i64)).to_le_bytes());
        bytes.extend_from_slice(raw);
    }
}

fn put_mask(bytes: &mut Vec<u8>, leaf: &Leaf) {
    leaf.mask.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
}

fn put_string(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn put_metadata(bytes: &mut Vec<u8>, all: &[(&str, Meta)]) {
    bytes.extend((all.len() as u32).to_le_bytes());
    for (name, value) in all {
        put_string(bytes, name);
        put_string(bytes, value.kind());
        let value = value.bytes();
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend(value);
    }
}

/// Hash of the content of a file, for its UUID.
pub(super) struct ContentHash {
    hashes: [u64; 2],
    /// Bytes of the word that is not yet full.
    word: [u8; 8],
    count: usize,
}

impl ContentHash {
    /// Starts the hash of a file with this metadata and no grids.
    pub(super) fn of(metadata: &[(&str, Meta)]) -> Self {
        let hashes = [0xcbf2_9ce4_8422_2325, 0x8422_2325_cbf2_9ce4];
        let mut hash = Self { hashes, word: [0; 8], count: 0 };
        let mut text = Vec::new();
        put_metadata(&mut text, metadata);
        hash.add_grid(&text);
        hash
    }

    /// Adds a whole grid, or the last piece of one.
    pub(super) fn add_grid(&mut self, bytes: &[u8]) {
        self.add(bytes);
        if self.count > 0 {
            self.word[self.count..].fill(0);
            self.mix(u64::from_le_bytes(self.word));
            self.count = 0;
        }
    }

    /// Adds a piece of a grid.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let first = bytes.len().min((8 - self.count) % 8);
        self.word[self.count..self.count + first].copy_from_slice(&bytes[..first]);
        if self.count > 0 {
            self.count += first;
            if self.count < 8 {
                return;
            }
            self.mix(u64::from_le_bytes(self.word));
        }
        let (words, rest) = bytes[first..].as_chunks();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        self.word[..rest.len()].copy_from_slice(rest);
        self.count = rest.len();
    }

    /// Mixes in a word by FNV-1a with a rotation.
    fn mix(&mut self, word: u64) {
        for hash in &mut self.hashes {
            *hash = (*hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }

    /// Returns a UUID of version 8.
    pub(super) fn uuid(&self) -> String {
        let [a, b] = self.hashes;
        format!(
            "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
            a >> 32,
            a >> 16 & 0xffff,
            a & 0xfff,
            b >> 48 & 0x3fff | 0x8000,
            b & 0xffff_ffff_ffff
        )
    }
}
