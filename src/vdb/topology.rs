//! Topology: the set of active voxels.

use super::format::LEAF;

/// The active voxels of a volume, in leaves. Several grids may share it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Leaves with active voxels, in the order of the file.
    leaves: Vec<Leaf>,
}

/// A leaf of 8³ voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaf {
    /// First voxel; each coordinate is a multiple of 8.
    pub origin: [i32; 3],
    /// A bit for each voxel, z fastest.
    pub mask: [u64; 8],
}

impl Leaf {
    /// Returns the number of active voxels.
    pub fn count(&self) -> usize {
        self.mask.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Yields the indices of the active voxels in order.
    pub fn active(&self) -> impl Iterator<Item = usize> {
        let mask = self.mask;
        (0..LEAF).filter(move |n| mask[n >> 6] >> (n & 63) & 1 == 1)
    }

    /// Returns the coordinates of the voxel with index `n`.
    pub fn voxel(&self, n: usize) -> [i32; 3] {
        let [x, y, z] = self.origin;
        [x + (n >> 6) as i32, y + (n >> 3 & 7) as i32, z + (n & 7) as i32]
    }

    /// Returns the first voxel of the upper node, the index of the lower node in it, and the index of the
    /// leaf in the lower node.
    pub(super) fn place(&self) -> ([i32; 3], usize, usize) {
        let upper = self.origin.map(|x| x & !4095);
        let within = |shift: u32, bits: u32| {
            self.origin.iter().fold(0, |place, x| place << bits | (x >> shift & ((1 << bits) - 1)) as usize)
        };
        (upper, within(7, 5), within(3, 4))
    }
}

impl Topology {
    /// Collects the `active` voxels of a box; `active` gets the index in the box. `origin` is the first
    /// voxel, `size` the number of voxels along each axis.
    pub fn of_box(origin: [i32; 3], size: [usize; 3], active: impl Fn([usize; 3]) -> bool) -> Self {
        Self::of_part(origin, size, |_| true, active)
    }

    /// Collects voxels as [`of_box`](Self::of_box) does, in the leaves whose first voxel `wanted` accepts.
    pub fn of_part(
        origin: [i32; 3],
        size: [usize; 3],
        wanted: impl Fn([i32; 3]) -> bool,
        active: impl Fn([usize; 3]) -> bool,
    ) -> Self {
        let mut leaves = Vec::new();
        let end = [0, 1, 2].map(|a| origin[a] + size[a] as i32);
        let starts = |a: usize| ((origin[a] & !7)..end[a]).step_by(8);
        for x in starts(0) {
            for y in starts(1) {
                for z in starts(2) {
                    if !wanted([x, y, z]) {
                        continue;
                    }
                    let mut leaf = Leaf { origin: [x, y, z], mask: [0; 8] };
                    let low = [0, 1, 2].map(|a| leaf.origin[a].max(origin[a]));
                    let high = [0, 1, 2].map(|a| (leaf.origin[a] + 8).min(end[a]));
                    for i in low[0]..high[0] {
                        for j in low[1]..high[1] {
                            for k in low[2]..high[2] {
                                let at = [i - origin[0], j - origin[1], k - origin[2]].map(|n| n as usize);
                                let bit = u64::from(active(at)) << ((j & 7) << 3 | (k & 7));
                                leaf.mask[(i & 7) as usize] |= bit;
                            }
                        }
                    }
                    if leaf.mask != [0; 8] {
                        leaves.push(leaf);
                    }
                }
            }
        }
        Self::of_leaves(leaves)
    }

    /// Makes a topology of `leaves` in any order, no two of which have the same first voxel.
    pub fn of_leaves(mut leaves: Vec<Leaf>) -> Self {
        leaves.sort_by_key(Leaf::place);
        Self { leaves }
    }

    /// Yields the leaves of one lower node after another, in the order of the file.
    pub fn nodes(&self) -> impl Iterator<Item = &[Leaf]> {
        let node = |leaf: &Leaf| (leaf.place().0, leaf.place().1);
        self.leaves.chunk_by(move |a, b| node(a) == node(b))
    }

    /// Returns the leaves in the order of the file.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Returns the number of active voxels.
    pub fn count(&self) -> usize {
        self.leaves.iter().map(Leaf::count).sum()
    }

    /// Returns the first and last coordinates of the active voxels; none if all are inactive.
    pub fn bounds(&self) -> Option<[[i32; 3]; 2]> {
        let voxels = self.leaves.iter().flat_map(|leaf| leaf.active().map(|n| leaf.voxel(n)));
        voxels.fold(None, |bounds, at| {
            let [low, high] = bounds.unwrap_or([at; 2]);
            Some([[0, 1, 2].map(|a| low[a].min(at[a])), [0, 1, 2].map(|a| high[a].max(at[a]))])
        })
    }
}
