//! A snapshot on several ranks: each has the smoke of its slab along z, and the planes beside it that a picture reads.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use half::f16;

use super::{BRICK, Bricks, Snapshot, SolidPose, fastest};
use crate::comm::{Comm, of_all};
use crate::grid::Dims;
use crate::solver::Solver;

/// The slab of one rank.
#[derive(Debug)]
pub struct SnapshotSlab {
    comm: Arc<dyn Comm>,
    /// The box with its solids and the maxima of all its bricks, without its smoke.
    whole: Snapshot,
    /// Whole layers of bricks around the slab. Planes that no picture reads may be outdated.
    part: Snapshot,
    /// First plane of `part`.
    first: usize,
    /// First plane of each rank's slab, and the end of the last.
    bounds: Vec<usize>,
    motion: Option<Motion>,
}

/// The velocity of a slab.
#[derive(Clone, Debug)]
pub struct Motion {
    /// The slab and a plane beside each of its ends, within the box.
    planes: [usize; 2],
    /// u, v, w \[m/s\] at the centres of the cells of these planes.
    velocity: Vec<[f16; 4]>,
    /// The fastest of the box \[m/s\].
    fastest: f32,
}

impl Motion {
    /// Reads, by `write`, the velocity of the planes that this rank of `comm` needs. Its slab has the planes
    /// `own` of a box of `dims`. All ranks must call it.
    pub fn new(
        comm: &dyn Comm,
        dims: Dims,
        [from, to]: [usize; 2],
        write: impl FnOnce([usize; 2], &mut [[f16; 4]]),
    ) -> Self {
        let planes = [from.saturating_sub(1), (to + 1).min(dims.nz)];
        let plane = dims.nx * dims.ny;
        let mut velocity = vec![[f16::ZERO; 4]; plane * (planes[1] - planes[0])];
        write(planes, &mut velocity);
        let mut motion = Self { planes, velocity, fastest: 0.0 };
        let mine = fastest(&motion.velocity[(from - planes[0]) * plane..(to - planes[0]) * plane]);
        motion.fastest = of_all(comm, mine).into_iter().fold(0.0, f32::max);
        motion
    }

    /// Returns the greatest speed in the box \[m/s\].
    pub fn fastest(&self) -> f32 {
        self.fastest
    }

    /// Returns the planes whose velocity is here, and the velocity.
    pub fn cells(&self) -> ([usize; 2], &[[f16; 4]]) {
        (self.planes, &self.velocity)
    }
}

/// The smoke that a process has: a whole snapshot, or a slab of one.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The box; only that of a whole snapshot has its smoke.
    pub whole: &'a Snapshot,
    /// The planes at hand, with their own bricks.
    pub planes: &'a Snapshot,
    /// First of these planes.
    pub first: usize,
    slab: Option<&'a SnapshotSlab>,
}

impl SnapshotSlab {
    /// Makes an empty slab of an empty box.
    pub fn new(comm: Arc<dyn Comm>) -> Self {
        let empty = || Snapshot::empty(Dims { nx: 1, ny: 1, nz: 1 }, 1.0);
        Self { comm, whole: empty(), part: empty(), first: 0, bounds: Vec::new(), motion: None }
    }

    /// Returns the messages between the ranks, to make another slab.
    pub fn shared_comm(&self) -> Arc<dyn Comm> {
        self.comm.clone()
    }

    /// Returns the planes of this rank of a box that comes from elsewhere: slabs have equal numbers of
    /// planes, or one more.
    pub fn share(comm: &dyn Comm, nz: usize) -> [usize; 2] {
        [0, 1].map(|end| nz * (comm.rank() + end) / comm.size())
    }

    /// Sets the velocity, which stays until it is set again.
    pub fn set_motion(&mut self, motion: Option<Motion>) {
        self.motion = motion;
    }

    /// Returns the velocity, if it was set.
    pub fn motion(&self) -> Option<&Motion> {
        self.motion.as_ref()
    }

    /// Exchanges the solids for others.
    pub fn swap_solids(&mut self, solids: &mut Vec<SolidPose>) {
        std::mem::swap(&mut self.whole.solids, solids);
    }

    /// Captures this instant of `solver`, with as many planes below and above the slab as `halo` returns for
    /// the box without its smoke. All ranks must call it at the same instant.
    pub fn capture(&mut self, solver: &Solver, halo: impl FnOnce(&Snapshot, Option<&Motion>) -> [usize; 2]) {
        let below = self.note(solver);
        let halo = halo(&self.whole, self.motion.as_ref());
        let held = solver.occupied_bricks().filter(|_| below.is_multiple_of(BRICK));
        let count = Bricks::empty(solver.smoke_layout().dims).dims;
        let holds = |[i, j, k]: [usize; 3]| {
            held.as_ref().is_none_or(|held| {
                j.checked_sub(below / BRICK).is_some_and(|j| held[count.index(i, j, k)] != 0)
            })
        };
        let (own, dims) = (solver.smoke_layout().cell_planes(), self.whole.dims);
        self.fill(own, halo, holds, |own, smoke| {
            above_ground(dims, below, smoke, |smoke| solver.write_smoke_planes(own, smoke));
        });
    }

    /// Captures the velocity of this instant of `solver`. All ranks call it.
    pub fn capture_motion(&mut self, solver: &Solver) {
        let (below, own) = (self.note(solver), solver.smoke_layout().cell_planes());
        let dims = self.whole.dims;
        self.motion = Some(Motion::new(&*self.comm, dims, own, |planes, velocity| {
            above_ground(dims, below, velocity, |cells| solver.write_motion_planes(planes, cells));
        }));
    }

    /// Copies all but the fields from `solver`, and adds empty cells down to the ground. Returns their number
    /// along y.
    fn note(&mut self, solver: &Solver) -> usize {
        let Snapshot { smoke, velocity, .. } = &mut self.whole;
        (*smoke, *velocity) = (Vec::new(), Vec::new());
        self.whole.note(solver);
        self.whole.stand_on_ground()
    }

    /// Takes an instant from elsewhere: `whole` without its smoke, which `write` gives for the planes `own` of this rank's slab. All ranks
    /// call it with the same instant.
    pub fn load(
        &mut self,
        whole: Snapshot,
        own: [usize; 2],
        halo: [usize; 2],
        write: impl FnOnce([usize; 2], &mut [[f16; 4]]),
    ) {
        self.whole = whole;
        self.fill(own, halo, |_| true, write);
    }

    /// Returns the slab between the planes `own` of a whole snapshot.
    #[cfg(test)]
    pub(crate) fn cut(comm: Arc<dyn Comm>, snapshot: &Snapshot, own: [usize; 2], halo: [usize; 2]) -> Self {
        let mut slab = Self::new(comm);
        slab.whole = Snapshot { smoke: Vec::new(), ..snapshot.clone() };
        let plane = snapshot.dims.nx * snapshot.dims.ny;
        slab.fill(
            own,
            halo,
            |_| true,
            |[from, to], smoke| {
                smoke.copy_from_slice(&snapshot.smoke[from * plane..to * plane]);
            },
        );
        if !snapshot.velocity.is_empty() {
            let cells = |[from, to]: [usize; 2]| &snapshot.velocity[from * plane..to * plane];
            let write = |planes, velocity: &mut [[f16; 4]]| velocity.copy_from_slice(cells(planes));
            let motion = Motion::new(&*slab.comm, snapshot.dims, own, write);
            (slab.motion, slab.whole.velocity) = (Some(motion), Vec::new());
        }
        slab
    }

    /// Fills the slab of the planes `own` by `write`, and gets what lies beside it and the maxima of all bricks. Only bricks next to
    /// those for whose indices `holds` is true have smoke or heat.
    fn fill(
        &mut self,
        own: [usize; 2],
        halo: [usize; 2],
        holds: impl Fn([usize; 3]) -> bool + Sync,
        write: impl FnOnce([usize; 2], &mut [[f16; 4]]),
    ) {
        let Dims { nx, ny, nz } = self.whole.dims;
        let (plane, me, size) = (nx * ny, self.comm.rank(), self.comm.size());
        let mut starts = vec![0u64; size];
        starts[me] = own[0] as u64;
        all_gather(&*self.comm, &mut starts, |rank| rank);
        self.bounds = starts.iter().map(|&start| start as usize).chain([nz]).collect();
        assert_eq!([self.bounds[me], self.bounds[me + 1]], own, "slabs that do not share the box");

        let reads = |rank: usize| {
            self.bounds[rank].saturating_sub(halo[0])..(self.bounds[rank + 1] + halo[1]).min(nz)
        };
        let mine = reads(me);
        let first = mine.start / BRICK * BRICK;
        let dims = Dims { nx, ny, nz: mine.end.next_multiple_of(BRICK).min(nz) - first };
        (self.part.h, self.part.origin) = (self.whole.h, self.whole.origin);
        if (self.part.dims, self.first) != (dims, first) {
            (self.part.dims, self.first) = (dims, first);
            self.part.smoke.clear();
        }
        self.part.smoke.resize(dims.cells(), [f16::ZERO; 4]);

        let (below, rest) = self.part.smoke.split_at_mut((own[0] - first) * plane);
        let (smoke, above) = rest.split_at_mut((own[1] - own[0]) * plane);
        write(own, smoke);
        let smoke = &*smoke;
        let common = |a: Range<usize>, b: Range<usize>| a.start.max(b.start)..a.end.min(b.end);
        let slab = |rank: usize| self.bounds[rank]..self.bounds[rank + 1];
        let others = || (0..size).filter(|&rank| rank != me);
        let mut sends: Vec<(usize, &[u8])> = Vec::new();
        for to in others() {
            let planes = common(reads(to), slab(me));
            if !planes.is_empty() {
                let cells = &smoke[(planes.start - own[0]) * plane..(planes.end - own[0]) * plane];
                sends.push((to, cast_slice(cells)));
            }
        }
        let mut receives: Vec<(usize, &mut [u8])> = Vec::new();
        for (mut rest, mut at) in [(below, first), (above, own[1])] {
            for from in others() {
                let planes = common(mine.clone(), slab(from));
                if planes.is_empty() || planes.start < at || (planes.end - at) * plane > rest.len() {
                    continue;
                }
                let (_, tail) = rest.split_at_mut((planes.start - at) * plane);
                let (cells, tail) = tail.split_at_mut(planes.len() * plane);
                receives.push((from, cast_slice_mut(cells)));
                (rest, at) = (tail, planes.end);
            }
        }
        self.comm.transfer(&sends, &mut receives);
        drop(receives);
        self.gather_bricks(own, holds);
    }

    /// Brings the maxima of all bricks to all ranks. A brick between slabs has the greatest of theirs.
    fn gather_bricks(&mut self, own: [usize; 2], holds: impl Fn([usize; 3]) -> bool + Sync) {
        let (dims, me) = (self.whole.dims, self.comm.rank());
        let plane = dims.nx * dims.ny;
        let smoke = &self.part.smoke[(own[0] - self.first) * plane..(own[1] - self.first) * plane];
        let bricks = &mut self.whole.bricks;
        if bricks.dims != Bricks::empty(dims).dims {
            *bricks = Bricks::empty(dims);
        }
        bricks.update_planes(dims, own, smoke, holds);
        let per_layer = bricks.dims.nx * bricks.dims.ny;
        // Layers of bricks whose maxima read any plane of a slab.
        let layers = |rank: usize| {
            let [from, to] = [self.bounds[rank], self.bounds[rank + 1]];
            let first = from.saturating_sub(BRICK) / BRICK;
            first * per_layer..(to / BRICK + 1).min(bricks.dims.nz) * per_layer
        };
        let mut mine = bricks.max[layers(me)].to_vec();
        mine.push([bricks.coldest; 4]);
        let others = || (0..self.comm.size()).filter(|&rank| rank != me);
        let sends: Vec<_> = others().map(|rank| (rank, cast_slice(&mine))).collect();
        let mut theirs: Vec<_> =
            others().map(|rank| (rank, vec![[f16::ZERO; 4]; layers(rank).len() + 1])).collect();
        let mut receives: Vec<_> =
            theirs.iter_mut().map(|(rank, max)| (*rank, cast_slice_mut(max))).collect();
        self.comm.transfer(&sends, &mut receives);
        drop(receives);
        for (rank, max) in theirs {
            bricks.coldest = max.last().map_or(bricks.coldest, |theirs| theirs[0].min(bricks.coldest));
            for (all, max) in bricks.max[layers(rank)].iter_mut().zip(max) {
                *all = std::array::from_fn(|c| all[c].max(max[c]));
            }
        }
        let first = self.first / BRICK * per_layer;
        let count = Bricks::empty(self.part.dims).dims;
        let max = bricks.max[first..first + count.cells()].to_vec();
        self.part.bricks = Bricks { dims: count, max, coldest: bricks.coldest };
    }

    /// Returns the messages between the ranks.
    pub fn comm(&self) -> &dyn Comm {
        &*self.comm
    }

    /// Returns the first plane of each rank's slab, and the end of the last.
    pub fn bounds(&self) -> &[usize] {
        &self.bounds
    }

    /// Returns the planes of this rank's slab.
    pub fn own(&self) -> [usize; 2] {
        let me = self.comm.rank();
        [self.bounds[me], self.bounds[me + 1]]
    }

    /// Returns the box with its solids and the maxima of all its bricks, without its smoke.
    pub fn whole(&self) -> &Snapshot {
        &self.whole
    }

    /// Returns the smoke at hand.
    pub fn part(&self) -> Part<'_> {
        Part { whole: &self.whole, planes: &self.part, first: self.first, slab: Some(self) }
    }
}

impl<'a> Part<'a> {
    /// Returns a whole snapshot.
    pub fn of(snapshot: &'a Snapshot) -> Self {
        Self { whole: snapshot, planes: snapshot, first: 0, slab: None }
    }

    /// Returns the slab, if this is one.
    pub fn slab(&self) -> Option<&'a SnapshotSlab> {
        self.slab
    }

    /// Returns the planes of cells that no other rank has as its own.
    pub fn own(&self) -> [usize; 2] {
        self.slab.map_or([0, self.whole.dims.nz], SnapshotSlab::own)
    }

    /// Brings to all ranks the values that each has computed: those from `start(from)` to `start(to)` for a slab of the planes from..to.
    pub fn gather<T: Pod>(&self, values: &mut [T], start: impl Fn(usize) -> usize) {
        if let Some(slab) = self.slab {
            all_gather(&*slab.comm, values, |rank| start(slab.bounds[rank]));
        }
    }
}

/// Fills whole planes of cells of a box of `dims` that has `below` empty cells along y under those that `write` gives.
pub fn above_ground(dims: Dims, below: usize, cells: &mut [[f16; 4]], write: impl FnOnce(&mut [[f16; 4]])) {
    if below == 0 {
        return write(cells);
    }
    let (plane, empty) = (dims.nx * dims.ny, dims.nx * below);
    let mut written = vec![[f16::ZERO; 4]; cells.len() / plane * (plane - empty)];
    write(&mut written);
    for (to, from) in cells.chunks_exact_mut(plane).zip(written.chunks_exact(plane - empty)) {
        to[..empty].fill([f16::ZERO; 4]);
        to[empty..].copy_from_slice(from);
    }
}

/// Brings to all ranks the values from `start(rank)` to `start(rank + 1)` of each; the last has those up to the end.
fn all_gather<T: Pod>(comm: &dyn Comm, values: &mut [T], start: impl Fn(usize) -> usize) {
    let (me, size, count) = (comm.rank(), comm.size(), values.len());
    let end = |rank: usize| if rank + 1 == size { count } else { start(rank + 1) };
    let mine = values[start(me)..end(me)].to_vec();
    let (mut rest, mut at, mut receives) = (values, 0, Vec::new());
    for rank in 0..size {
        let (_, tail) = rest.split_at_mut(start(rank) - at);
        let (theirs, tail) = tail.split_at_mut(end(rank) - start(rank));
        (rest, at) = (tail, end(rank));
        if rank != me {
            receives.push((rank, cast_slice_mut(theirs)));
        }
    }
    let others = (0..size).filter(|&rank| rank != me);
    let sends: Vec<_> = others.map(|rank| (rank, cast_slice(&mine))).collect();
    comm.transfer(&sends, &mut receives);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ThreadRanks;

    /// Returns smoke in a few places, and heat below zero.
    fn snapshot(cells: [usize; 3]) -> Snapshot {
        Snapshot::from_fn(Dims::new(cells).unwrap(), 0.1, |[x, y, z]| {
            let ball = |c: [f32; 3]| {
                (0.3 - ((x - c[0]).powi(2) + (y - c[1]).powi(2) + (z - c[2]).powi(2)).sqrt()).max(0.0)
            };
            [ball([0.5, 0.6, 0.4]), ball([1.2, 0.3, 2.0]), 0.0, -40.0 * ball([0.4, 0.4, 1.3])]
        })
    }

    #[test]
    fn a_slab_has_the_planes_beside_it_and_all_bricks() {
        // Planes beside a slab come from more than one neighbour.
        for (cells, size, halo) in
            [([20, 9, 29], 3, [2, 3]), ([12, 12, 21], 5, [7, 6]), ([9, 9, 16], 2, [1, 40])]
        {
            let whole = snapshot(cells);
            let [nx, ny, nz] = cells;
            ThreadRanks::run(size, |comm| {
                let own = [nz * comm.rank() / size, nz * (comm.rank() + 1) / size];
                let slab = SnapshotSlab::cut(comm, &whole, own, halo);
                assert_eq!(slab.own(), own);
                assert!(slab.whole.smoke.is_empty() && slab.whole.bricks.max == whole.bricks.max);
                assert!(
                    slab.whole.bricks.coldest == whole.bricks.coldest && whole.bricks.coldest < f16::ZERO
                );
                let Part { planes, first, .. } = slab.part();
                for k in own[0].saturating_sub(halo[0])..(own[1] + halo[1]).min(nz) {
                    let at = (k - first) * nx * ny;
                    assert!(
                        planes.smoke[at..at + nx * ny] == whole.smoke[k * nx * ny..(k + 1) * nx * ny],
                        "plane {k}"
                    );
                }
                let layer = planes.bricks.dims.nx * planes.bricks.dims.ny;
                let bricks = &whole.bricks.max[first / BRICK * layer..][..planes.bricks.max.len()];
                assert!(planes.bricks.max == bricks);
            });
        }
    }

    #[test]
    fn values_of_all_slabs_are_gathered() {
        let whole = snapshot([8, 8, 13]);
        ThreadRanks::run(3, |comm| {
            let own = [13 * comm.rank() / 3, 13 * (comm.rank() + 1) / 3];
            let slab = SnapshotSlab::cut(comm, &whole, own, [1, 1]);
            let mut values: Vec<u32> =
                (0..26).map(|n| if (2 * own[0]..2 * own[1]).contains(&n) { n as u32 } else { 0 }).collect();
            slab.part().gather(&mut values, |plane| 2 * plane);
            assert!(values.iter().enumerate().all(|(n, &x)| x as usize == n), "{values:?}");
        });
    }
}
