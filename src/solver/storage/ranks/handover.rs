//! Messages between ranks besides the planes beside their slabs: planes of a box that moves, partial sums, pieces of a file.

use std::ops::Range;

use bytemuck::{Pod, cast_slice, cast_slice_mut};

use super::{Planes, Ranks, intersection, split_out};

impl Ranks {
    /// The same ranks for a box of `nz` planes.
    pub fn resized(&self, nz: usize) -> Self {
        let team = self.0.as_ref();
        team.map_or(Self(None), |team| Self::new(team.comm.clone(), nz, team.periodic))
    }

    /// The planes of cells of a rank, of `nz` in all.
    pub fn slab_of(&self, rank: usize, nz: usize) -> [usize; 2] {
        self.0.as_ref().map_or([0, nz], |team| team.slab(rank).map(|k| k as usize))
    }

    /// Brings to each rank the planes `wanted(rank)` of cells and ghosts of a field.
    pub fn hand_over<T: Pod>(
        &self,
        planes: impl Into<Planes>,
        field: &mut [T],
        wanted: impl Fn(usize) -> [isize; 2],
    ) {
        let Some(team) = &self.0 else { return };
        let (me, stack) = (team.rank(), planes.into());
        let of = |rank: usize| team.planes(rank, stack.ghosts);
        let part = |from: usize, to: usize| intersection(wanted(to), of(from)).map(|ks| stack.span(ks));
        let own = stack.span(of(me));
        let (below, rest) = field.split_at_mut(own.start);
        let (mine, above) = rest.split_at_mut(own.len());
        let mine = &*mine;
        let sends: Vec<(usize, &[u8])> = (team.others())
            .filter_map(|to| Some((to, part(me, to)?)))
            .map(|(to, part)| (to, cast_slice(&mine[part.start - own.start..part.end - own.start])))
            .collect();
        let arriving = |ranks: Range<usize>, shift: usize| -> Vec<(usize, Range<usize>)> {
            let parts = ranks.filter_map(|from| Some((from, part(from, me)?)));
            parts.map(|(from, part)| (from, part.start - shift..part.end - shift)).collect()
        };
        let [low, high] = [arriving(0..me, 0), arriving(me + 1..team.size(), own.end)];
        let mut receives: Vec<(usize, &mut [u8])> = Vec::new();
        for (field, parts) in [(below, low), (above, high)] {
            let pieces = split_out(field, parts.iter().map(|(_, part)| part.clone()));
            receives
                .extend(parts.iter().zip(pieces).map(|((from, _), piece)| (*from, cast_slice_mut(piece))));
        }
        team.comm.transfer(&sends, &mut receives);
    }

    /// Adds up layers of `thick` planes, which may begin in one slab and end in the next. `add` adds the
    /// planes of this rank to the values of the layers with these numbers; all ranks get the values of all
    /// layers. `values` holds equally many for each layer, all 0 at first. The planes of a layer are added in
    /// their order, so the sums have the bits of one process.
    pub fn add_layers<T: Pod>(
        &self,
        values: &mut [T],
        [nz, thick]: [usize; 2],
        add: impl Fn(Range<usize>, &mut [T]),
    ) {
        let each = values.len() / nz.div_ceil(thick);
        let Some(team) = &self.0 else { return add(0..nz.div_ceil(thick), values) };
        let (me, [low, high]) = (team.rank(), team.slab(team.rank()).map(|k| k as usize));
        let (first, end) = (low / thick, high.div_ceil(thick));
        let of = |layers: Range<usize>| each * layers.start..each * layers.end;
        let (from_below, to_above) = (low % thick != 0, high % thick != 0 && me + 1 < team.size());
        let pass_on = |values: &[T]| {
            if to_above {
                team.comm.transfer(&[(me + 1, cast_slice(&values[of(end - 1..end)]))], &mut []);
            }
        };
        // A layer that the rank below has begun comes last: that rank sends it only after its other layers.
        let begun = first..first + usize::from(from_below);
        let is_one_layer = from_below && end == first + 1;
        if !is_one_layer {
            add(begun.end..end, &mut values[of(begun.end..end)]);
            pass_on(values);
        }
        if from_below {
            let layer = &mut values[of(begun.clone())];
            team.comm.transfer(&[], &mut [(me - 1, cast_slice_mut(layer))]);
            add(begun, layer);
        }
        if is_one_layer {
            pass_on(values);
        }
        // Each rank has the sums of the layers whose last plane is in its slab.
        self.gather_from(values, |plane| each * (plane / thick));
    }

    /// The least and the greatest of the ranges of all ranks, along each axis; `None` if none has any.
    pub fn around(&self, mine: Option<[[i32; 2]; 3]>) -> Option<[[i32; 2]; 3]> {
        const NOTHING: [[i32; 2]; 3] = [[i32::MAX, i32::MIN]; 3];
        let all = self.all(mine.unwrap_or(NOTHING));
        let both = |a: [[i32; 2]; 3], b: [[i32; 2]; 3]| {
            [0, 1, 2].map(|axis| [a[axis][0].min(b[axis][0]), a[axis][1].max(b[axis][1])])
        };
        all.into_iter().filter(|range| *range != NOTHING).reduce(both)
    }
}

/// Messages with which several ranks write one file.
#[cfg(feature = "files")]
impl Ranks {
    /// The rank whose slab has plane `k` of cells.
    pub fn owner(&self, k: usize) -> usize {
        let team = self.0.as_ref();
        team.map_or(0, |team| team.bounds[1..].partition_point(|&end| end <= k).min(team.size() - 1))
    }

    /// Sends bytes to the first rank, which [receives](Self::receive) them.
    pub fn send_to_first(&self, bytes: &[u8]) {
        if let Some(team) = &self.0 {
            team.comm.transfer(&[(0, bytes)], &mut []);
        }
    }

    /// Receives on the first rank as many bytes as `rank` sends.
    pub fn receive(&self, rank: usize, bytes: &mut [u8]) {
        if let Some(team) = &self.0 {
            team.comm.transfer(&[], &mut [(rank, bytes)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::on_ranks;
    use crate::grid::{Dims, Layout};

    #[test]
    fn planes_pass_to_their_new_owners() {
        let layout = Layout::new(Dims::new([2, 3, 23]).unwrap());
        for size in [2, 3, 5] {
            on_ranks(size, 23, false, |rank, ranks| {
                let own = ranks.restrict(layout).planes();
                let mut field = vec![-100.0f32; layout.size()];
                for k in own[0]..own[1] {
                    field[layout.span([k, k + 1])].fill(k as f32);
                }
                // Overlapping, with ghosts, and the other way round.
                let wanted = |rank: usize| {
                    let low = 23 - 23 * (rank + 1) / size;
                    [low as isize - 2, (low + 7).min(25) as isize]
                };
                ranks.hand_over(layout, &mut field, wanted);
                let [from, to] = wanted(rank);
                for k in -2..25 {
                    let has = (own[0]..own[1]).contains(&k) || (from..to).contains(&k);
                    let want = if has { k as f32 } else { -100.0 };
                    assert!(
                        field[layout.span([k, k + 1])].iter().all(|x| *x == want),
                        "rank {rank}, plane {k}"
                    );
                }
            });
        }
    }

    #[test]
    fn layers_between_slabs_are_added_in_the_order_of_their_planes() {
        // In each layer the sum depends on the order.
        let value = |k: usize| [1.0e8f32, 3.0, -1.0e8, 0.7, 11.0][k % 5];
        for (size, nz) in [(1, 23usize), (2, 23), (3, 24), (5, 23), (5, 20), (4, 35)] {
            let mut whole = vec![[0.0f32; 2]; nz.div_ceil(8)];
            (0..nz).for_each(|k| (0..2).for_each(|n| whole[k / 8][n] += value(k + n)));
            on_ranks(size, nz, false, |rank, ranks| {
                let [low, high] = ranks.slab(nz);
                let mut sums = vec![[0.0f32; 2]; nz.div_ceil(8)];
                ranks.add_layers(&mut sums, [nz, 8], |layers, sums| {
                    for (layer, sum) in layers.zip(sums) {
                        for k in (8 * layer).max(low)..(8 * layer + 8).min(high) {
                            (0..2).for_each(|n| sum[n] += value(k + n));
                        }
                    }
                });
                assert_eq!(sums, whole, "rank {rank} of {size}");
            });
        }
    }
}
