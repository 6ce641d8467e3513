//! Grids of OpenVDB files from the slabs of several ranks.
//!
//! The rank that has the first plane of a leaf encodes it, and so may need seven planes of the next slab. The
//! first rank writes the file. It gets the masks of all leaves, and the values of one lower node (128³
//! voxels) after another: at most 12 bytes for each active voxel of a node. With one rank there are no
//! messages.

use std::io::{self, Write};

use rayon::prelude::*;

use super::Up;
use crate::solver::Solver;
use crate::vdb::{Grid, Leaf, Stream, Topology};

/// Leaves that a thread encodes at a time.
const RUN: usize = 64;

/// A [`Leaf`] as numbers: its first voxel and its mask.
type Packed = [u32; 19];

/// A lattice of voxels, and its leaves on this rank.
pub struct Lattice<'a> {
    solver: &'a Solver,
    /// Whether it is the lattice of the smoke.
    is_of_smoke: bool,
    up: Up,
    /// First cell of the box along z.
    first: i32,
    /// Active voxels: on the first rank those of all, on any other its own.
    topology: Topology,
    /// Edge of a voxel \[m\].
    pub h: f32,
}

impl<'a> Lattice<'a> {
    /// Makes the lattice of the smoke or of the air; `active` gets the cell of a voxel, counted from the
    /// first cell of the box.
    pub fn new(solver: &'a Solver, is_of_smoke: bool, up: Up, active: impl Fn([isize; 3]) -> bool) -> Self {
        let (config, finer) = (solver.config(), if is_of_smoke { solver.config().detail } else { 1 });
        let (dims, h) =
            if is_of_smoke { (config.smoke_dims(), config.smoke_h()) } else { (config.dims, config.h) };
        let first = config.origin.map(|cell| cell * finer as i32);
        let (origin, size) = up.region(dims, first);
        let mut lattice = Self { solver, is_of_smoke, up, first: first[2], topology: Topology::default(), h };
        let (me, active) = (lattice.rank(), |n: [usize; 3]| {
            active(up.cell([0, 1, 2].map(|a| origin[a] + n[a] as i32), first))
        });
        let own = Topology::of_part(origin, size, |leaf| lattice.owner(leaf) == me, active);
        lattice.topology = lattice.joined(own);
        lattice
    }

    /// Returns the active voxels: on the first rank those of all, on any other its own.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    fn rank(&self) -> usize {
        self.solver.rank()
    }

    /// Returns the rank that encodes the leaf with this first voxel.
    fn owner(&self, leaf: [i32; 3]) -> usize {
        let k = self.up.lowest_plane(leaf) - self.first;
        self.solver.owner_of_plane(self.is_of_smoke, k.max(0) as usize)
    }

    /// Returns the leaves of all ranks on the first, `own` on any other.
    fn joined(&self, own: Topology) -> Topology {
        if self.solver.is_alone() {
            return own;
        }
        let packed: Vec<Packed> = own.leaves().iter().map(pack).collect();
        let all = self.solver.lists_to_first(&packed);
        if self.solver.is_first_rank() { Topology::of_leaves(all.iter().map(unpack).collect()) } else { own }
    }

    /// Writes the values of `grid`, which has the topology of this lattice; `put` gets them on the first rank.
    pub fn write_values(&self, grid: &Grid, put: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        // Messages are exchanged even after an error of the file, because other ranks wait for them.
        let mut result = Ok(());
        for node in self.topology.nodes() {
            let owners: Vec<usize> = node.iter().map(|leaf| self.owner(leaf.origin)).collect();
            let mut parts: Vec<Part> = Vec::new();
            for (leaf, &owner) in node.iter().zip(&owners) {
                match parts.iter_mut().find(|part| part.owner == owner) {
                    Some(part) => part.leaves.push(*leaf),
                    None => parts.push(Part { owner, leaves: vec![*leaf], ..Part::default() }),
                }
            }
            for part in &mut parts {
                match part.owner == self.rank() {
                    true => part.encode(grid),
                    false => part.receive(self.solver),
                }
            }
            if !self.solver.is_first_rank() {
                parts.iter().for_each(|part| part.send(self.solver));
                continue;
            }
            for owner in owners {
                let part = parts.iter_mut().find(|part| part.owner == owner);
                let block = part.map_or(&[][..], Part::next);
                if result.is_ok() {
                    result = put(block);
                }
            }
        }
        result
    }
}

/// Writes `grids` with `metadata`; each has the topology of its lattice. The files of other ranks than the
/// first stay unusable.
pub fn write<W: Write + io::Seek>(
    file: W,
    metadata: &[(&str, crate::vdb::Meta)],
    grids: &[(Grid, &Lattice)],
) -> io::Result<()> {
    let Some((_, first)) = grids.first() else { return Stream::begin(file, metadata, 0)?.end() };
    if !first.solver.is_first_rank() {
        return grids.iter().try_for_each(|(grid, lattice)| lattice.write_values(grid, &mut |_| Ok(())));
    }
    let mut stream = Stream::begin(file, metadata, grids.len())?;
    for (grid, lattice) in grids {
        stream.grid(grid, |put| lattice.write_values(grid, put))?;
    }
    stream.end()
}

/// Leaves of a node that one rank encodes.
#[derive(Default)]
struct Part {
    owner: usize,
    leaves: Vec<Leaf>,
    bytes: Vec<u8>,
    /// Number of bytes of each leaf.
    lengths: Vec<u32>,
    /// Leaves and bytes that are written.
    written: [usize; 2],
}

impl Part {
    fn encode(&mut self, grid: &Grid) {
        let runs: Vec<_> = self.leaves.par_chunks(RUN).map(|leaves| grid.blocks(leaves)).collect();
        for run in runs {
            self.bytes.extend(run.bytes);
            self.lengths.extend(run.lengths);
        }
    }

    fn send(&self, solver: &Solver) {
        solver.send_to_first(bytemuck::cast_slice(&self.lengths));
        solver.send_to_first(&self.bytes);
    }

    fn receive(&mut self, solver: &Solver) {
        self.lengths = vec![0; self.leaves.len()];
        solver.receive(self.owner, bytemuck::cast_slice_mut(&mut self.lengths));
        self.bytes = vec![0; self.lengths.iter().map(|length| *length as usize).sum()];
        solver.receive(self.owner, &mut self.bytes);
    }

    /// Returns the bytes of the next leaf.
    fn next(&mut self) -> &[u8] {
        let [leaf, from] = self.written;
        let to = from + self.lengths[leaf] as usize;
        self.written = [leaf + 1, to];
        &self.bytes[from..to]
    }
}

fn pack(leaf: &Leaf) -> Packed {
    let mut packed = [0; 19];
    let [x, y, z] = leaf.origin.map(|n| n as u32);
    let halves = leaf.mask.iter().flat_map(|word| [*word as u32, (word >> 32) as u32]);
    packed.iter_mut().zip([x, y, z].into_iter().chain(halves)).for_each(|(to, from)| *to = from);
    packed
}

fn unpack(packed: &Packed) -> Leaf {
    let word = |n: usize| u64::from(packed[3 + 2 * n]) | u64::from(packed[4 + 2 * n]) << 32;
    Leaf { origin: [0, 1, 2].map(|a| packed[a] as i32), mask: std::array::from_fn(word) }
}
