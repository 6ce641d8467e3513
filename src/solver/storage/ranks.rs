//! One box on several ranks: each computes a slab of planes along z.
//!
//! Every rank has the fields of the whole box and the indices of the whole box. It computes the planes of its slab alone
//! ([`Layout::slab`]), with the ghosts of the box below the first slab and above the last. Other planes are never touched, and memory
//! that is never touched costs nothing, except the planes that a pass reads beside the slab: [`Ranks::exchange`] brings them from their
//! owners before the pass.
//!
//! Results have the bytes of one process: a plane is computed in the same way wherever it lies, and sums are added in the order of
//! planes, after [`Ranks::gather`] has brought the partial sums of all planes to all ranks.
//!
//! With one rank nothing here does anything.

mod handover;

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use crate::comm::{Comm, of_all};
use crate::grid::{GHOST, Layout};

/// Fewest planes of a slab: ghosts of the box are then made from planes of the same slab.
pub const FEWEST_PLANES: usize = 4;

/// The ranks of a box, seen from one of them.
#[derive(Clone, Debug, Default)]
pub struct Ranks(Option<Arc<Team>>);

#[derive(Debug)]
struct Team {
    comm: Arc<dyn Comm>,
    /// First plane of each slab, and the end of the last.
    bounds: Vec<usize>,
    /// Whether the last plane is the first one's neighbour.
    periodic: bool,
}

impl Team {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.bounds.len() - 1
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let me = self.rank();
        (0..self.size()).filter(move |&rank| rank != me)
    }

    fn nz(&self) -> isize {
        self.bounds[self.size()] as isize
    }

    /// Planes of cells of a slab.
    fn slab(&self, rank: usize) -> [isize; 2] {
        [self.bounds[rank] as isize, self.bounds[rank + 1] as isize]
    }

    /// Planes of a slab with the `ghosts` planes beyond each end of the box.
    fn planes(&self, rank: usize, ghosts: usize) -> [isize; 2] {
        let (g, [low, high]) = (ghosts as isize, self.slab(rank));
        [if rank == 0 { -g } else { low }, if rank + 1 == self.size() { high + g } else { high }]
    }

    /// The planes, ascending, that a pass on `rank` reads if it needs `below` and `above` planes beside its
    /// slab; its own planes are among them. On a periodic axis these are all images within the box and its
    /// ghosts.
    fn planes_read(&self, rank: usize, [below, above]: [usize; 2], ghosts: usize) -> Vec<[isize; 2]> {
        let ([low, high], g, nz) = (self.slab(rank), ghosts as isize, self.nz());
        let [low, high] = [low - below as isize, high + above as isize];
        let images = if self.periodic { -1..=1 } else { 0..=0 };
        let mut parts: Vec<[isize; 2]> = Vec::new();
        for image in images {
            let [from, to] = [(low + image * nz).max(-g), (high + image * nz).min(nz + g)];
            match parts.last_mut() {
                Some(last) if from <= last[1] => last[1] = last[1].max(to),
                _ if from < to => parts.push([from, to]),
                _ => {}
            }
        }
        parts
    }

    /// The share of a rank when `count` things are divided.
    fn share(&self, rank: usize, count: usize) -> Range<usize> {
        count * rank / self.size()..count * (rank + 1) / self.size()
    }

    /// The columns of a rank.
    fn columns(&self, rank: usize, stack: Stack) -> Range<usize> {
        let share = self.share(rank, stack.width.div_ceil(stack.unit));
        (share.start * stack.unit).min(stack.width)..(share.end * stack.unit).min(stack.width)
    }

    /// The planes of a rank, counted from the first of a stack with this many ghost planes at each end.
    fn stacked(&self, rank: usize, ghosts: usize) -> Range<usize> {
        let low = if rank == 0 { 0 } else { self.bounds[rank] + ghosts };
        let high = self.bounds[rank + 1] + ghosts;
        low..if rank + 1 == self.size() { high + ghosts } else { high }
    }

    /// The planes that `to` reads of those that `from` computes.
    fn planes_sent(&self, from: usize, to: usize, halo: [usize; 2], ghosts: usize) -> Vec<[isize; 2]> {
        let parts = self.planes_read(to, halo, ghosts).into_iter();
        parts.filter_map(|part| intersection(part, self.planes(from, ghosts))).collect()
    }
}

/// Planes of a field on top of each other.
#[derive(Clone, Copy, Debug)]
pub struct Planes {
    /// Distance between planes.
    pub plane: usize,
    /// Planes below and above those of the cells.
    pub ghosts: usize,
}

impl Planes {
    /// Positions of all values in the planes `ks` of cells and ghosts.
    pub fn span(self, ks: [isize; 2]) -> Range<usize> {
        let [from, to] = ks.map(|k| (k + self.ghosts as isize) as usize * self.plane);
        from..to
    }
}

impl From<Layout> for Planes {
    fn from(layout: Layout) -> Self {
        Self { plane: layout.plane, ghosts: GHOST }
    }
}

/// Planes on top of each other, and how their columns are divided.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Distance between planes.
    pub plane: usize,
    /// Columns in a plane.
    pub width: usize,
    /// Columns that stay together.
    pub unit: usize,
    /// Planes below and above those of the cells.
    pub ghosts: usize,
}

/// The common part of two half-open ranges.
fn intersection(a: [isize; 2], b: [isize; 2]) -> Option<[isize; 2]> {
    let both = [a[0].max(b[0]), a[1].min(b[1])];
    (both[0] < both[1]).then_some(both)
}

/// Cuts disjoint ascending parts out of `values`.
fn split_out<T>(mut values: &mut [T], parts: impl Iterator<Item = Range<usize>>) -> Vec<&mut [T]> {
    let (mut at, mut found) = (0, Vec::new());
    for part in parts {
        let (_, rest) = values.split_at_mut(part.start - at);
        let (piece, rest) = rest.split_at_mut(part.len());
        found.push(piece);
        (values, at) = (rest, part.end);
    }
    found
}

impl Ranks {
    /// Divides `nz` planes among the ranks of `comm` into slabs of equal thickness, as far as that goes. Each must have at least
    /// [`FEWEST_PLANES`].
    pub fn new(comm: Arc<dyn Comm>, nz: usize, periodic: bool) -> Self {
        let size = comm.size();
        if size == 1 {
            return Self(None);
        }
        let bounds = (0..=size).map(|rank| nz * rank / size).collect();
        assert!(nz / size >= FEWEST_PLANES, "{nz} planes for {size} ranks");
        Self(Some(Arc::new(Team { comm, bounds, periodic })))
    }

    /// Whether there is one rank only.
    pub fn is_alone(&self) -> bool {
        self.0.is_none()
    }

    /// Whether this rank is the first, or the only one.
    pub fn is_first(&self) -> bool {
        self.0.as_ref().is_none_or(|team| team.rank() == 0)
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.0.as_ref().map_or(1, |team| team.size())
    }

    /// The same ranks of a grid `finer` times as fine along z.
    pub fn finer(&self, finer: usize) -> Self {
        self.with_bounds(|plane| plane * finer)
    }

    /// The same ranks of a grid half as fine. The owner of a plane of cells has the coarse plane that begins with it; thin slabs may
    /// have none.
    pub fn coarser(&self) -> Self {
        self.with_bounds(|plane| plane.div_ceil(2))
    }

    fn with_bounds(&self, bound: impl Fn(usize) -> usize) -> Self {
        Self(self.0.as_ref().map(|team| {
            let bounds = team.bounds.iter().map(|&plane| bound(plane)).collect();
            Arc::new(Team { comm: team.comm.clone(), bounds, periodic: team.periodic })
        }))
    }

    /// Fewest planes of a slab, of `nz` in all.
    pub fn thinnest(&self, nz: usize) -> usize {
        let team = self.0.as_ref();
        team.map_or(nz, |team| team.bounds.windows(2).map(|slab| slab[1] - slab[0]).min().unwrap_or(0))
    }

    /// The planes of cells of this rank, of `nz` in all.
    pub fn slab(&self, nz: usize) -> [usize; 2] {
        self.0.as_ref().map_or([0, nz], |team| team.slab(team.rank()).map(|k| k as usize))
    }

    /// The planes of cells, of `nz` in all, that this rank knows after an [`exchange`](Self::exchange), ascending.
    pub fn known(&self, nz: usize, halo: [usize; 2]) -> impl Iterator<Item = [usize; 2]> {
        let alone = self.is_alone().then_some([0, nz]);
        let parts = self.0.as_ref().map_or(Vec::new(), |team| team.planes_read(team.rank(), halo, 0));
        alone.into_iter().chain(parts.into_iter().map(|part| part.map(|k| k as usize)))
    }

    /// Whether plane `k` of cells, of `nz` in all, is one of the [`known`](Self::known).
    pub fn knows(&self, k: usize, nz: usize, halo: [usize; 2]) -> bool {
        self.is_alone() || self.known(nz, halo).any(|[from, to]| (from..to).contains(&k))
    }

    /// Restricts a layout to the slab of this rank.
    pub fn restrict(&self, layout: Layout) -> Layout {
        self.0.as_ref().map_or(layout, |team| {
            let rank = team.rank();
            layout.slab([team.bounds[rank], team.bounds[rank + 1]])
        })
    }

    /// Brings the planes of `fields` that a pass reads from `halo[0]` planes below this slab to `halo[1]` planes above it. Planes
    /// beyond the box are its ghosts, or with a periodic axis their images too.
    pub fn exchange<T: Pod, const N: usize>(
        &self,
        planes: impl Into<Planes>,
        fields: [&mut [T]; N],
        halo: [usize; 2],
    ) {
        let Some(team) = &self.0 else { return };
        let (me, stack) = (team.rank(), planes.into());
        let (g, span) = (stack.ghosts, |ks| stack.span(ks));
        let own = span(team.planes(me, g));
        let reads: Vec<(usize, Range<usize>)> = (team.planes_read(me, halo, g).into_iter())
            .flat_map(|part| {
                let owners = team.others();
                owners
                    .filter_map(move |owner| Some((owner, span(intersection(part, team.planes(owner, g))?))))
            })
            .collect();
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for field in fields {
            let (below, rest) = field.split_at_mut(own.start);
            let (mine, above) = rest.split_at_mut(own.len());
            let mine = &*mine;
            for to in team.others() {
                sends.extend(team.planes_sent(me, to, halo, g).into_iter().map(|planes| {
                    let part = span(planes);
                    (to, cast_slice(&mine[part.start - own.start..part.end - own.start]))
                }));
            }
            let (low, high): (Vec<_>, Vec<_>) =
                reads.iter().cloned().partition(|(_, part)| part.end <= own.start);
            let low = low
                .iter()
                .map(|(from, _)| *from)
                .zip(split_out(below, low.iter().map(|(_, part)| part.clone())));
            receives.extend(low.map(|(from, piece)| (from, cast_slice_mut(piece))));
            let shifted = high.iter().map(|(_, part)| part.start - own.end..part.end - own.end);
            let high = high.iter().map(|(from, _)| *from).zip(split_out(above, shifted));
            receives.extend(high.map(|(from, piece)| (from, cast_slice_mut(piece))));
        }
        team.comm.transfer(&sends, &mut receives);
    }

    /// Calls `pass` with the layout of this slab and, with several ranks, of the planes that [`exchange`](Self::exchange) brings.
    pub fn with_neighbours(&self, layout: Layout, halo: [usize; 2], mut pass: impl FnMut(Layout)) {
        let Some(team) = &self.0 else { return pass(layout) };
        let reads = team.planes_read(team.rank(), halo, GHOST);
        // The slab with its ghosts is among them, except for ghosts that nothing reads.
        let own = layout.planes();
        let mut parts: Vec<[isize; 2]> = Vec::new();
        for part in reads {
            match intersection(part, own) {
                Some(_) => parts.push([part[0].min(own[0]), part[1].max(own[1])]),
                None => parts.push(part),
            }
        }
        parts.into_iter().for_each(|planes| pass(layout.on_planes(planes)));
    }

    /// Brings to all ranks the `each` values of every plane of cells, which its owner has computed. Values
    /// after those of the last plane come from the last rank.
    pub fn gather<T: Pod>(&self, values: &mut [T], each: usize) {
        self.gather_from(values, |plane| each * plane);
    }

    /// As [`gather`](Self::gather), where the values of a plane begin at `first(plane)`.
    pub fn gather_from<T: Pod>(&self, values: &mut [T], first: impl Fn(usize) -> usize) {
        let Some(team) = &self.0 else { return };
        let end = values.len();
        let part = |rank: usize| {
            let last = rank + 1 == team.size();
            first(team.bounds[rank])..if last { end } else { first(team.bounds[rank + 1]) }
        };
        let mut mine: &[u8] = &[];
        let mut receives = Vec::new();
        for (rank, piece) in split_out(values, (0..team.size()).map(part)).into_iter().enumerate() {
            if rank == team.rank() {
                mine = cast_slice(piece);
            } else {
                receives.push((rank, cast_slice_mut(piece)));
            }
        }
        let sends: Vec<_> = team.others().map(|rank| (rank, mine)).collect();
        team.comm.transfer(&sends, &mut receives);
    }

    /// Makes the lists of all ranks one, in the order of the ranks.
    pub fn join_lists<T: Pod>(&self, list: &mut Vec<T>) {
        if !self.is_alone() {
            *list = self.all_to_all(|_| list);
        }
    }

    /// Gives each rank the list that is meant for it. Returns the lists for this rank as one, in the order of the ranks.
    pub fn all_to_all<'a, T: Pod>(&self, list_for: impl Fn(usize) -> &'a [T]) -> Vec<T> {
        let Some(team) = &self.0 else { return list_for(0).to_vec() };
        let me = team.rank();
        let counts: Vec<u64> = (0..team.size()).map(|rank| list_for(rank).len() as u64).collect();
        let mut arriving = counts.clone();
        let sends: Vec<_> = team.others().map(|rank| (rank, cast_slice(&counts[rank..rank + 1]))).collect();
        let mut receives: Vec<_> = (arriving.iter_mut().enumerate().filter(|(rank, _)| *rank != me))
            .map(|(rank, count)| (rank, cast_slice_mut(std::slice::from_mut(count))))
            .collect();
        team.comm.transfer(&sends, &mut receives);
        drop(receives);
        let mut all = vec![T::zeroed(); arriving.iter().sum::<u64>() as usize];
        let (mut receives, mut rest) = (Vec::new(), &mut all[..]);
        for (rank, count) in arriving.iter().enumerate() {
            let (piece, others) = rest.split_at_mut(*count as usize);
            rest = others;
            if rank == me {
                piece.copy_from_slice(list_for(me));
            } else {
                receives.push((rank, cast_slice_mut(piece)));
            }
        }
        let sends: Vec<_> = team.others().map(|rank| (rank, cast_slice(list_for(rank)))).collect();
        team.comm.transfer(&sends, &mut receives);
        drop(receives);
        all
    }

    /// Brings the planes `ks` of a field to the first rank.
    pub fn bring<T: Pod>(&self, layout: Layout, field: &mut [T], ks: [isize; 2]) {
        let Some(team) = &self.0 else { return };
        let part = |rank: usize| intersection(team.planes(rank, GHOST), ks).map(|planes| layout.span(planes));
        match team.rank() {
            0 => {
                let ranks: Vec<_> = team.others().filter_map(|rank| Some((rank, part(rank)?))).collect();
                let pieces = split_out(field, ranks.iter().map(|(_, part)| part.clone()));
                let mut receives: Vec<_> = (ranks.iter().zip(pieces))
                    .map(|((rank, _), piece)| (*rank, cast_slice_mut(piece)))
                    .collect();
                team.comm.transfer(&[], &mut receives);
            }
            me => {
                let sends: Vec<_> = part(me).map(|part| (0, cast_slice(&field[part]))).into_iter().collect();
                team.comm.transfer(&sends, &mut []);
            }
        }
    }

    /// Calls `take` on the first rank with the values that the owner of plane `k` has made.
    pub fn take_plane<T: Pod, R>(
        &self,
        k: isize,
        values: &mut [T],
        make: impl FnOnce(&mut [T]),
        take: impl FnOnce(&[T]) -> R,
    ) -> Option<R> {
        let Some(team) = &self.0 else {
            make(values);
            return Some(take(values));
        };
        let owner = (0..team.size())
            .find(|&rank| (team.planes(rank, GHOST)[0]..team.planes(rank, GHOST)[1]).contains(&k))?;
        if team.rank() == owner {
            make(values);
        }
        match (team.rank(), owner) {
            (0, 0) => {}
            (0, _) => team.comm.transfer(&[], &mut [(owner, cast_slice_mut(values))]),
            (me, _) if me == owner => team.comm.transfer(&[(0, cast_slice(values))], &mut []),
            _ => {}
        }
        (team.rank() == 0).then(|| take(values))
    }

    /// The planes of this rank in a field of `nz` planes of cells, counted from the first of `ghosts` planes beyond the lower end.
    pub fn stacked(&self, nz: usize, ghosts: usize) -> Range<usize> {
        self.0.as_ref().map_or(0..nz + 2 * ghosts, |team| team.stacked(team.rank(), ghosts))
    }

    /// Brings the values of the last rank to all.
    pub fn last_to_all<T: Pod>(&self, values: &mut [T]) {
        let Some(team) = &self.0 else { return };
        let last = team.size() - 1;
        if team.rank() == last {
            let sends: Vec<_> = team.others().map(|rank| (rank, cast_slice(values))).collect();
            team.comm.transfer(&sends, &mut []);
        } else {
            team.comm.transfer(&[], &mut [(last, cast_slice_mut(values))]);
        }
    }

    /// Brings the values of the first rank to the last. Both must have as many.
    pub fn first_to_last<T: Pod>(&self, values: &mut [T]) {
        let Some(team) = &self.0 else { return };
        let last = team.size() - 1;
        match team.rank() {
            0 => team.comm.transfer(&[(last, cast_slice(values))], &mut []),
            rank if rank == last => team.comm.transfer(&[], &mut [(0, cast_slice_mut(values))]),
            _ => {}
        }
    }

    /// Lets the ranks change `values` one after another, in ascending order. All ranks get the final values.
    pub fn each_in_turn<T: Pod>(&self, values: &mut [T], change: impl FnOnce(&mut [T])) {
        let Some(team) = &self.0 else { return change(values) };
        let (me, last) = (team.rank(), team.size() - 1);
        if me > 0 {
            team.comm.transfer(&[], &mut [(me - 1, cast_slice_mut(values))]);
        }
        change(values);
        if me < last {
            team.comm.transfer(&[(me + 1, cast_slice(values))], &mut []);
        }
        self.last_to_all(values);
    }

    /// A value of each rank.
    pub fn all<T: Pod>(&self, mine: T) -> Vec<T> {
        self.0.as_ref().map_or_else(|| vec![mine], |team| of_all(&*team.comm, mine))
    }

    /// The greatest value of all ranks.
    pub fn most(&self, mine: f32) -> f32 {
        if self.is_alone() { mine } else { self.all(mine).into_iter().fold(mine, f32::max) }
    }

    /// The sum of the counts of all ranks.
    pub fn sum(&self, mine: usize) -> usize {
        if self.is_alone() { mine } else { self.all(mine).into_iter().sum() }
    }

    /// Reports the end of a stage of a step, for communicators that count transfers.
    pub fn end_stage(&self, stage: usize) {
        if let Some(team) = &self.0 {
            team.comm.end_stage(stage);
        }
    }

    /// Whether `mine` is true on any rank.
    pub fn any(&self, mine: bool) -> bool {
        if self.is_alone() { mine } else { self.all(u8::from(mine)).contains(&1) }
    }

    /// The units of columns, of `count` in all, that this rank has between [`to_columns`](Self::to_columns) and
    /// [`to_planes`](Self::to_planes).
    pub fn columns(&self, count: usize) -> Range<usize> {
        self.0.as_ref().map_or(0..count, |team| team.share(team.rank(), count))
    }

    /// The rank that has a unit of columns, of `count` in all.
    pub fn owner_of_column(&self, unit: usize, count: usize) -> usize {
        let team = self.0.as_ref();
        team.map_or(0, |team| {
            (0..team.size()).find(|&rank| team.share(rank, count).contains(&unit)).unwrap_or(0)
        })
    }

    /// From planes to columns: each rank gets its share of the columns in all planes.
    pub fn to_columns(&self, values: &mut [f32], stack: Stack) {
        let Some(team) = &self.0 else { return };
        let me = team.rank();
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        let slabs = (0..team.size()).map(|rank| {
            let planes = team.stacked(rank, stack.ghosts);
            planes.start * stack.plane..planes.end * stack.plane
        });
        for (owner, slab) in split_out(values, slabs).into_iter().enumerate() {
            for values in slab.chunks_mut(stack.plane) {
                if owner == me {
                    let values = &*values;
                    let columns = |rank| &values[team.columns(rank, stack)];
                    sends.extend(team.others().map(|rank| (rank, cast_slice(columns(rank)))));
                } else {
                    receives.push((owner, cast_slice_mut(&mut values[team.columns(me, stack)])));
                }
            }
        }
        team.comm.transfer(&sends, &mut receives);
    }

    /// The inverse of [`to_columns`](Self::to_columns). With `and_below` each rank also gets the plane below
    /// its slab; on a periodic axis the plane below the first is the last one.
    pub fn to_planes(&self, values: &mut [f32], stack: Stack, and_below: bool) {
        let Some(team) = &self.0 else { return };
        let (me, size) = (team.rank(), team.size());
        let reads = |rank: usize, k: usize| {
            let own = team.stacked(rank, stack.ghosts);
            let around = team.periodic.then(|| team.stacked(size - 1, stack.ghosts).end - 1);
            let below = if own.start > 0 { Some(own.start - 1) } else { around };
            own.contains(&k) || and_below && below == Some(k)
        };
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        let count = team.stacked(size - 1, stack.ghosts).end;
        for (k, values) in values.chunks_mut(stack.plane).take(count).enumerate() {
            let shares = (0..size).map(|rank| team.columns(rank, stack));
            for (owner, piece) in split_out(values, shares).into_iter().enumerate() {
                if owner == me {
                    let piece = &*piece;
                    let readers = team.others().filter(|&rank| reads(rank, k));
                    sends.extend(readers.map(|rank| (rank, cast_slice(piece))));
                } else if reads(me, k) {
                    receives.push((owner, cast_slice_mut(piece)));
                }
            }
        }
        team.comm.transfer(&sends, &mut receives);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ThreadRanks;
    use crate::grid::Dims;

    /// Calls `test` on each of `size` ranks of a box of `nz` planes.
    pub(super) fn on_ranks(size: usize, nz: usize, periodic: bool, test: impl Fn(usize, Ranks) + Sync) {
        ThreadRanks::run(size, |comm| test(comm.rank(), Ranks::new(comm, nz, periodic)));
    }

    #[test]
    fn an_exchange_brings_the_planes_of_the_halo_and_no_others() {
        let layout = Layout::new(Dims::new([2, 1, 13]).unwrap());
        for (periodic, size, halo) in [
            (false, 3, [1, 2]),
            (false, 2, [9, 9]),
            (true, 3, [2, 2]),
            (true, 3, [7, 5]),
            (true, 2, [20, 20]),
        ] {
            on_ranks(size, 13, periodic, |rank, ranks| {
                let own = ranks.restrict(layout).planes();
                let mut field = vec![-100.0f32; layout.size()];
                for k in own[0]..own[1] {
                    field[layout.span([k, k + 1])].fill(k as f32);
                }
                ranks.exchange(layout, [&mut field], halo);
                let [low, high] = ranks.restrict(layout).cell_planes().map(|k| k as isize);
                for k in -2..15 {
                    let near = |k: isize| (low - halo[0] as isize..high + halo[1] as isize).contains(&k);
                    let images = if periodic { -1..=1 } else { 0..=0 };
                    let reads = (own[0]..own[1]).contains(&k) || images.into_iter().any(|n| near(k + 13 * n));
                    let want = if reads { k as f32 } else { -100.0 };
                    let found = &field[layout.span([k, k + 1])];
                    assert!(found.iter().all(|x| *x == want), "rank {rank} of {size}, plane {k}: {found:?}");
                }
            });
        }
    }

    #[test]
    fn to_planes_is_the_inverse_of_to_columns() {
        let (nz, plane, width) = (11, 50, 47);
        let stack = Stack { plane, width, unit: 10, ghosts: 0 };
        for (size, periodic) in [(2, true), (2, false)] {
            on_ranks(size, nz, periodic, |rank, ranks| {
                let layout = ranks.restrict(Layout::new(Dims::new([1, 1, nz]).unwrap()));
                let [low, high] = layout.cell_planes();
                let value = |k: usize, at: usize| (100 * k + at) as f32;
                let mut values = vec![-1.0; nz * plane];
                for k in low..high {
                    (0..width).for_each(|at| values[k * plane + at] = value(k, at));
                }
                ranks.to_columns(&mut values, stack);
                let share = ranks.columns(5);
                for (k, at) in (0..nz)
                    .flat_map(|k| (share.start * 10..(share.end * 10).min(width)).map(move |at| (k, at)))
                {
                    assert_eq!(values[k * plane + at], value(k, at), "rank {rank}, plane {k}");
                    values[k * plane + at] += 0.5;
                }
                ranks.to_planes(&mut values, stack, true);
                let below = if low > 0 { Some(low - 1) } else { periodic.then_some(nz - 1) };
                for k in below.into_iter().chain(low..high) {
                    (0..width)
                        .for_each(|at| assert_eq!(values[k * plane + at], value(k, at) + 0.5, "rank {rank}"));
                }
            });
        }
    }

    #[test]
    fn sums_are_added_in_the_order_of_the_ranks() {
        on_ranks(3, 12, false, |rank, ranks| {
            let mut sum = [1.0f64];
            ranks.each_in_turn(&mut sum, |sum| sum[0] = 10.0 * sum[0] + rank as f64);
            assert_eq!(sum, [1012.0]);
            let mut planes: Vec<u32> = vec![0; 13];
            let [low, high] = ranks.restrict(Layout::new(Dims::new([1, 1, 12]).unwrap())).cell_planes();
            (low..if high == 12 { 13 } else { high }).for_each(|k| planes[k] = k as u32);
            ranks.gather(&mut planes, 1);
            assert_eq!(planes, (0..13).collect::<Vec<_>>());
            assert_eq!(ranks.most(rank as f32), 2.0);
            assert!(ranks.any(rank == 1) && !ranks.any(false));
        });
    }
}
