//! Reader. It checks each length in a file against the bytes that follow before it allocates memory. Values
//! are read into a box of the caller's size.

use flate2::{Decompress, FlushDecompress};
use half::f16;

use super::format::{LEAF, LOWER, MAGIC, UPPER, VERSION, flag};
use super::read_error::{ReadError, Result, wrong};
use super::topology::Leaf;
use super::{Meta, blosc};

/// Oldest version that is read: the first whose blocks omit inactive values.
const OLDEST: u32 = 222;
/// Newest version: 225 differs only in grids that are not read here.
const NEWEST: u32 = VERSION + 1;

/// A file being read.
#[derive(Debug)]
pub struct Reader<'a> {
    /// Metadata of the file, without those of unknown types.
    pub metadata: Vec<(String, Meta)>,
    bytes: &'a [u8],
    grids: Vec<Descriptor>,
}

/// Description of a grid in the file.
#[derive(Clone, Debug)]
struct Descriptor {
    name: String,
    kind: String,
    parent: String,
    start: usize,
}

impl<'a> Reader<'a> {
    /// Reads the metadata and the list of grids from the file `bytes`.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let mut input = Input { bytes, at: 0 };
        if input.u64().ok() != Some(MAGIC) {
            return wrong("it is no OpenVDB file");
        }
        let version = input.u32()?;
        if !(OLDEST..=NEWEST).contains(&version) {
            return wrong(format!(
                "it has version {version} of the format; versions {OLDEST} to {NEWEST} are read"
            ));
        }
        input.take(2 * size_of::<u32>())?;
        if input.u8()? == 0 {
            return wrong("it has no offsets of its grids");
        }
        input.take(36)?;
        let metadata = input.metadata()?;
        let count = input.u32()?;
        let mut grids = Vec::new();
        for _ in 0..count {
            // Grids of the same name have a number after this character.
            let name = input.string()?.split('\u{1e}').next().unwrap_or_default().to_owned();
            let (kind, parent) = (input.string()?, input.string()?);
            let [start, _, end] = [input.u64()?, input.u64()?, input.u64()?];
            let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else {
                return wrong(format!("the grid `{name}` lies beyond the end"));
            };
            if start != input.at || end < start || end > bytes.len() {
                return wrong(format!("the grid `{name}` is at a wrong position"));
            }
            grids.push(Descriptor { name, kind, parent, start });
            input.at = end;
        }
        Ok(Self { metadata, bytes, grids })
    }

    /// Returns the names of the grids.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.grids.iter().map(|grid| grid.name.as_str())
    }

    /// Returns the metadata `name` of the file.
    pub fn meta(&self, name: &str) -> Option<&Meta> {
        self.metadata.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Reads metadata and transform of the first grid called `name`.
    pub fn grid(&self, name: &str) -> Result<ReadGrid<'a>> {
        let Some(found) = self.grids.iter().find(|grid| grid.name == name) else {
            return wrong(format!("there is no grid `{name}`"));
        };
        found.open(self.bytes).map_err(|error| ReadError::new(format!("grid `{name}`: {error}")))
    }
}

impl Descriptor {
    fn open<'a>(&self, bytes: &'a [u8]) -> Result<ReadGrid<'a>> {
        let (kind, half) = match self.kind.strip_suffix("_HalfFloat") {
            Some(kind) => (kind, true),
            None => (self.kind.as_str(), false),
        };
        let components = match kind {
            "Tree_float_5_4_3" => 1,
            "Tree_vec3s_5_4_3" => 3,
            _ => {
                return wrong(format!(
                    "it is a {}; grids of floats and of vectors of floats are read",
                    self.kind
                ));
            }
        };
        if !self.parent.is_empty() {
            return wrong(format!(
                "it is an instance of the tree of `{}`; save it without instances",
                self.parent
            ));
        }
        let mut input = Input { bytes, at: self.start };
        let flags = input.u32()?;
        let metadata = input.metadata()?;
        let (scale, translation) = input.transform()?;
        let packing = match flags {
            _ if flags & flag::BLOSC != 0 => Packing::Blosc,
            _ if flags & flag::ZIP != 0 => Packing::Zip,
            _ => Packing::None,
        };
        let coding = Coding { components, half, packing, masked: flags & flag::ACTIVE_MASK != 0 };
        Ok(ReadGrid { metadata, scale, translation, coding, input })
    }
}

/// A grid whose values can be read.
#[derive(Debug)]
pub struct ReadGrid<'a> {
    /// Metadata of the grid, without those of unknown types.
    pub metadata: Vec<(String, Meta)>,
    /// Edges of a voxel along x, y, z in world units.
    pub scale: [f64; 3],
    /// Centre of voxel (0, 0, 0) in world units.
    pub translation: [f64; 3],
    coding: Coding,
    /// The input, positioned at the topology.
    input: Input<'a>,
}

impl ReadGrid<'_> {
    /// Returns the components of a voxel: 1, or 3 for a vector.
    pub fn components(&self) -> usize {
        self.coding.components
    }

    /// Reads the values in the box of `size` voxels from `origin` on, for each component, x fastest. Voxels
    /// outside of all leaves and tiles get the background value. Inactive voxels in leaves get their stored
    /// value, which is mostly the background.
    pub fn dense(&self, origin: [i32; 3], size: [usize; 3]) -> Result<Vec<Vec<f32>>> {
        let mut input = self.input;
        let topology = input.topology(self.coding)?;
        let count = size.iter().product();
        let mut region = Region {
            origin,
            size,
            values: topology.background[..self.components()].iter().map(|&x| vec![x; count]).collect(),
        };
        for tile in &topology.tiles {
            region.fill(tile);
        }
        let mut values = Vec::new();
        for leaf in &topology.leaves {
            let mask = input.mask::<8>()?;
            input.values(self.coding, LEAF, &mask, &topology.background, &mut values)?;
            region.copy(leaf, &values);
        }
        Ok(region.values)
    }

    /// Reads the active voxels of all leaves, without their values.
    pub fn leaves(&self) -> Result<Vec<Leaf>> {
        let mut input = self.input;
        Ok(input.topology(self.coding)?.leaves)
    }
}

/// Encoding of the values.
#[derive(Clone, Copy, Debug)]
struct Coding {
    components: usize,
    half: bool,
    packing: Packing,
    masked: bool,
}

/// Compression of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Packing {
    None,
    Zip,
    Blosc,
}

/// Positions of the leaves' values, and values of tiles.
struct Layout {
    background: [f32; 3],
    tiles: Vec<Tile>,
    leaves: Vec<Leaf>,
}

/// A cube with one value.
struct Tile {
    origin: [i32; 3],
    width: i64,
    value: [f32; 3],
}

/// The box that values are read into.
struct Region {
    origin: [i32; 3],
    size: [usize; 3],
    values: Vec<Vec<f32>>,
}

impl Region {
    /// Returns the part of the box that a cube covers.
    fn common(&self, origin: [i32; 3], width: i64) -> Option<[std::ops::Range<usize>; 3]> {
        let range = |a: usize| {
            let from = i64::from(origin[a]) - i64::from(self.origin[a]);
            let clamp = |x: i64| x.clamp(0, self.size[a] as i64) as usize;
            clamp(from)..clamp(from + width)
        };
        let ranges = [range(0), range(1), range(2)];
        ranges.iter().all(|range| !range.is_empty()).then_some(ranges)
    }

    fn at(&self, i: usize, j: usize, k: usize) -> usize {
        i + self.size[0] * (j + self.size[1] * k)
    }

    fn fill(&mut self, tile: &Tile) {
        let Some([xs, ys, zs]) = self.common(tile.origin, tile.width) else { return };
        for k in zs {
            for j in ys.clone() {
                let row = self.at(xs.start, j, k);
                for (values, value) in self.values.iter_mut().zip(tile.value) {
                    values[row..row + xs.len()].fill(value);
                }
            }
        }
    }

    fn copy(&mut self, leaf: &Leaf, from: &[f32]) {
        let Some([xs, ys, zs]) = self.common(leaf.origin, 8) else { return };
        let components = self.values.len();
        let within = |a: usize, n: usize| (self.origin[a] + n as i32 - leaf.origin[a]) as usize;
        for i in xs {
            for j in ys.clone() {
                for k in zs.clone() {
                    let n = within(0, i) << 6 | within(1, j) << 3 | within(2, k);
                    let at = self.at(i, j, k);
                    for (c, values) in self.values.iter_mut().enumerate() {
                        values[at] = from[components * n + c];
                    }
                }
            }
        }
    }
}

/// Bytes from a position on.
#[derive(Clone, Copy, Debug)]
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let Some(end) = end else { return wrong("the file ends too early") };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(std::array::from_fn(|n| bytes[n]))
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn string(&mut self) -> Result<String> {
        let count = self.u32()? as usize;
        Ok(String::from_utf8_lossy(self.take(count)?).into_owned())
    }

    fn metadata(&mut self) -> Result<Vec<(String, Meta)>> {
        let mut all = Vec::new();
        for _ in 0..self.u32()? {
            let (name, kind) = (self.string()?, self.string()?);
            let count = self.u32()? as usize;
            let value = Meta::parse(&kind, self.take(count)?);
            all.extend(value.map(|value| (name, value)));
        }
        Ok(all)
    }

    fn doubles<const N: usize>(&mut self) -> Result<[f64; N]> {
        let mut all = [0.0; N];
        for x in &mut all {
            *x = f64::from_le_bytes(self.array()?);
        }
        Ok(all)
    }

    /// Reads scale and translation.
    fn transform(&mut self) -> Result<([f64; 3], [f64; 3])> {
        let three = |all: &[f64]| [all[0], all[1], all[2]];
        let (scale, translation) = match self.string()?.as_str() {
            "UniformScaleTranslateMap" | "ScaleTranslateMap" => {
                let all = self.doubles::<18>()?;
                (three(&all[3..]), three(&all))
            }
            "UniformScaleMap" | "ScaleMap" => (three(&self.doubles::<15>()?), [0.0; 3]),
            "TranslationMap" => ([1.0; 3], self.doubles::<3>()?),
            "AffineMap" => {
                let all = self.doubles::<16>()?;
                let slanted = (0..12).any(|n| n % 5 != 0 && all[n].abs() > 1e-9 * all[n / 4 * 5].abs());
                if slanted {
                    return wrong("it is rotated or sheared; save it aligned with the axes");
                }
                ([all[0], all[5], all[10]], three(&all[12..]))
            }
            other => return wrong(format!("its transform is a `{other}`, which is not read")),
        };
        let fine =
            scale.iter().all(|s| s.is_finite() && *s > 0.0) && translation.iter().all(|t| t.is_finite());
        if fine {
            Ok((scale, translation))
        } else {
            wrong("its transform is not a positive scale and a translation")
        }
    }

    /// Reads the words of a mask.
    fn mask<const N: usize>(&mut self) -> Result<[u64; N]> {
        let mut all = [0; N];
        for word in &mut all {
            *word = self.u64()?;
        }
        Ok(all)
    }

    /// Reads one value in single precision, as stored outside blocks.
    fn value(&mut self, components: usize) -> Result<[f32; 3]> {
        let mut value = [0.0; 3];
        for x in &mut value[..components] {
            *x = f32::from_le_bytes(self.array()?);
        }
        Ok(value)
    }

    /// Reads the first voxel of an upper node. Upper nodes must be in order, so that no two are equal.
    fn next_corner(&mut self, last: &mut Option<[i32; 3]>) -> Result<[i32; 3]> {
        let corner = [self.u32()?, self.u32()?, self.u32()?].map(|x| x as i32);
        let fits = corner.iter().all(|x| x & 4095 == 0) && *last < Some(corner);
        *last = Some(corner);
        if fits { Ok(corner) } else { wrong("its nodes are not in order") }
    }

    fn topology(&mut self, coding: Coding) -> Result<Layout> {
        if self.u32()? != 1 {
            return wrong("it has more than one buffer of values");
        }
        let background = self.value(coding.components)?;
        let (tiles, uppers) = (self.u32()?, self.u32()?);
        let mut layout = Layout { background, tiles: vec![], leaves: vec![] };
        let mut last = None;
        for _ in 0..tiles {
            let origin = self.next_corner(&mut last)?;
            let value = self.value(coding.components)?;
            if self.u8()? != 0 {
                layout.tiles.push(Tile { origin, width: 4096, value });
            }
        }
        last = None;
        for _ in 0..uppers {
            let origin = self.next_corner(&mut last)?;
            let children = self.node::<{ UPPER / 64 }>(coding, origin, 7, &mut layout)?;
            for origin in children {
                let children = self.node::<{ LOWER / 64 }>(coding, origin, 3, &mut layout)?;
                for origin in children {
                    layout.leaves.push(Leaf { origin, mask: self.mask()? });
                }
            }
        }
        Ok(layout)
    }

    /// Reads a node of `64 WORDS` slots, each 1 << `shift` voxels wide. Its tiles go to `layout`. Returns the
    /// first voxels of its children.
    fn node<const WORDS: usize>(
        &mut self,
        coding: Coding,
        origin: [i32; 3],
        shift: u32,
        layout: &mut Layout,
    ) -> Result<Vec<[i32; 3]>> {
        let (children, active) = (self.mask::<WORDS>()?, self.mask::<WORDS>()?);
        let slots = 64 * WORDS;
        let bits = slots.trailing_zeros() / 3;
        let begin = |n: usize| {
            let along = |a: usize| (n >> (bits * (2 - a as u32)) & ((1 << bits) - 1)) as i32;
            [0, 1, 2].map(|a| origin[a] + (along(a) << shift))
        };
        let is = |mask: &[u64; WORDS], n: usize| mask[n >> 6] >> (n & 63) & 1 == 1;
        let mut values = Vec::new();
        self.values(coding, slots, &active, &layout.background, &mut values)?;
        for n in (0..slots).filter(|&n| is(&active, n) && !is(&children, n)) {
            let at = coding.components * n;
            let mut value = [0.0; 3];
            value[..coding.components].copy_from_slice(&values[at..at + coding.components]);
            layout.tiles.push(Tile { origin: begin(n), width: 1 << shift, value });
        }
        Ok((0..slots).filter(|&n| is(&children, n)).map(begin).collect())
    }

    /// Reads a block of `count` values, of which only those in `active` may be stored.
    fn values(
        &mut self,
        coding: Coding,
        count: usize,
        active: &[u64],
        background: &[f32; 3],
        out: &mut Vec<f32>,
    ) -> Result<()> {
        let components = coding.components;
        let kind = self.u8()?;
        // The two values of inactive voxels; a mask below selects one of them.
        let mut inactive = [*background; 2];
        match kind {
            0 | 6 => {}
            1 => inactive = [background.map(|x| -x); 2],
            2 => inactive = [self.value(components)?; 2],
            3 => inactive[0] = background.map(|x| -x),
            4 => inactive[0] = self.value(components)?,
            5 => inactive = [self.value(components)?, self.value(components)?],
            _ => return wrong("a block of values is of an unknown kind"),
        }
        // A set bit selects the second of the two.
        let selection = (3..=5).contains(&kind).then(|| self.take(count / 8)).transpose()?;
        let is_active = |n: usize| active[n >> 6] >> (n & 63) & 1 == 1;
        let all = kind == 6 || !coding.masked;
        let written = if all { count } else { active.iter().map(|word| word.count_ones() as usize).sum() };
        let raw = self.block(coding, written)?;
        let size = if coding.half { 2 } else { 4 };
        let number = |n: usize| match coding.half {
            true => f16::from_le_bytes([raw[2 * n], raw[2 * n + 1]]).to_f32(),
            false => f32::from_le_bytes(std::array::from_fn(|b| raw[size * n + b])),
        };
        out.clear();
        let mut next = 0;
        for n in 0..count {
            if all || is_active(n) {
                out.extend((0..components).map(|c| number(components * next + c)));
                next += 1;
            } else {
                let chosen = selection.map_or(0, |bits| usize::from(bits[n / 8] >> (n % 8) & 1));
                out.extend(&inactive[chosen][..components]);
            }
        }
        Ok(())
    }

    /// Reads and decompresses the bytes of `count` values.
    fn block(&mut self, coding: Coding, count: usize) -> Result<Vec<u8>> {
        let size = count * coding.components * if coding.half { 2 } else { 4 };
        if coding.half && count == 0 {
            return Ok(vec![]);
        }
        if coding.packing == Packing::None {
            return Ok(self.take(size)?.to_vec());
        }
        let packed = self.u64()? as i64;
        if packed <= 0 {
            let fits = packed.unsigned_abs() == size as u64;
            return if fits {
                Ok(self.take(size)?.to_vec())
            } else {
                wrong("a block of values has another size")
            };
        }
        let Ok(packed) = usize::try_from(packed) else { return wrong("the file ends too early") };
        let from = self.take(packed)?;
        if coding.packing == Packing::Blosc {
            return blosc::unpack(from, size);
        }
        let mut raw = Vec::with_capacity(size);
        let end = Decompress::new(true).decompress_vec(from, &mut raw, FlushDecompress::Finish);
        match end {
            Ok(flate2::Status::StreamEnd) if raw.len() == size => Ok(raw),
            _ => wrong("a block of values is damaged"),
        }
    }
}
