//! Sums of the scalars after a step in which solids have moved. Back-traces around them, and cells that they cover, lose some or gain some.

use rayon::prelude::*;

use crate::grid::{GHOST, Layout};
use crate::solver::advect;
use crate::solver::config::SCALAR_LIMIT;
use crate::solver::solids::{CLOSED, SOLID, Scene};
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes;

/// Distances from the ball around a solid between which the share of smoke that changes falls from 1 to 0 \[cells\].
const REACH: [f32; 2] = [2.0, 8.0];
/// The most by which a cell around a solid approaches the extreme of its neighbours in one step.
const MOST_AROUND: f64 = 0.9;

/// Restores the sums `lost` around each solid, solid by solid: smoke there approaches the greatest of its neighbours, or the least where
/// it must be taken. So uniform smoke stays uniform, and no new extremes arise. `flags` are those of the cells, `rooms` is scratch.
pub(super) fn restore_around(
    ranks: &Ranks,
    (scene, flags): (&Scene, &[u8]),
    lost: &[[f64; 4]],
    scalars: &mut [[f32; 4]],
    (rooms, partials): (&mut Vec<f32>, &mut [[f64; 4]]),
) {
    let layout = scene.frame.layout;
    // Allocated in the first step, also without smoke, so that later steps allocate nothing.
    let most = (0..lost.len()).map(|solid| Around::new(scene, solid).most()).max().unwrap_or(0);
    if rooms.len() < most {
        *rooms = vec![0.0; most];
    }
    for (solid, lost) in lost.iter().enumerate().filter(|(_, lost)| lost.iter().any(|&x| x != 0.0)) {
        let around = Around::new(scene, solid);
        ranks.exchange(layout, [scalars], [1; 2]);
        for c in (0..4).filter(|&c| lost[c] != 0.0) {
            around.find_rooms(flags, scalars, (c, lost[c] > 0.0), rooms);
            row_passes::reduce(layout, partials, |sum, j, k| {
                let Some((_, rooms)) = around.row([j, k], rooms) else { return };
                sum[0] += rooms.iter().map(|&room| f64::from(room)).sum::<f64>();
            });
            ranks.gather(partials, 1);
            let all: f64 = partials.iter().map(|plane| plane[0]).sum();
            if all == 0.0 {
                continue;
            }
            let by = (lost[c] / all).clamp(-MOST_AROUND, MOST_AROUND) as f32;
            let inside = [layout.dims.ny as isize, layout.dims.nz as isize].map(|n| [0, n]);
            row_passes::rows(layout, scalars, inside, |j, k, row| {
                let Some((is, rooms)) = around.row([j as usize, k as usize], rooms) else { return };
                is.zip(rooms).for_each(|(i, room)| row[i + GHOST][c] += by * room);
            });
        }
    }
}

/// The box of cells around a solid.
struct Around {
    layout: Layout,
    /// Its position, in indices of cells.
    middle: [f32; 3],
    /// Radius of the ball around it \[cells\].
    radius: f32,
    periodic: [bool; 3],
    /// First cell along each axis. Along a periodic axis it may lie outside, and cells beyond a side are those at the other one.
    first: [isize; 3],
    /// Cells along each axis.
    count: [usize; 3],
}

impl Around {
    fn new(scene: &Scene, solid: usize) -> Self {
        let (frame, pose) = (&scene.frame, &scene.poses[solid]);
        let middle = pose.position.map(|x| x / frame.h - 0.5);
        let radius = pose.bounding_radius() / frame.h;
        let n = frame.layout.dims.array();
        let mut around =
            Self { layout: frame.layout, middle, radius, periodic: frame.periodic, first: [0; 3], count: n };
        for axis in 0..3 {
            let from = (middle[axis] - radius - REACH[1]).floor().clamp(-1e9, 1e9);
            let (n, from) = (n[axis] as isize, from as isize);
            let to = from.saturating_add(around.longest() as isize);
            let [from, to] = if frame.periodic[axis] {
                [from, to.min(from.saturating_add(n))]
            } else {
                [from, to].map(|i| i.clamp(0, n))
            };
            (around.first[axis], around.count[axis]) = (from, (to - from) as usize);
        }
        around
    }

    /// Upper bound of the cells along an axis, wherever the solid is.
    fn longest(&self) -> usize {
        ((2.0 * (self.radius + REACH[1])).ceil() as usize).min(1 << 30) + 2
    }

    /// Upper bound of the cells, wherever the solid is.
    fn most(&self) -> usize {
        self.layout.dims.array().iter().map(|n| self.longest().min(*n)).product()
    }

    /// The number along an axis of the cell with this index.
    fn number(&self, axis: usize, index: usize) -> Option<usize> {
        let from_first = index as isize - self.first[axis];
        let number = if self.periodic[axis] {
            from_first.rem_euclid(self.layout.dims.array()[axis] as isize)
        } else {
            from_first
        };
        usize::try_from(number).ok().filter(|&number| number < self.count[axis])
    }

    /// The index along an axis of the cell with this number.
    fn index(&self, axis: usize, number: usize) -> usize {
        let index = self.first[axis] + number as isize;
        (if self.periodic[axis] { index.rem_euclid(self.layout.dims.array()[axis] as isize) } else { index })
            as usize
    }

    /// Indices along x of the cells in a row, with their rooms. `None` if the row has none.
    fn row<'a>(
        &self,
        [j, k]: [usize; 2],
        rooms: &'a [f32],
    ) -> Option<(impl Iterator<Item = usize>, &'a [f32])> {
        let [y, z] = [self.number(1, j)?, self.number(2, k)?];
        let [nx, ny, _] = self.count;
        Some(((0..nx).map(|x| self.index(0, x)), &rooms[(z * ny + y) * nx..][..nx]))
    }

    /// The share of a cell that counts.
    fn share(&self, at: [usize; 3]) -> f32 {
        let apart = |axis: usize| {
            let (apart, length) =
                (at[axis] as f32 - self.middle[axis], self.layout.dims.array()[axis] as f32);
            if self.periodic[axis] { apart - length * (apart / length).round() } else { apart }
        };
        let distance = (apart(0).powi(2) + (apart(1).powi(2) + apart(2).powi(2))).sqrt();
        ((self.radius + REACH[1] - distance) / (REACH[1] - REACH[0])).clamp(0.0, 1.0)
    }

    /// Finds by how much scalar `c` of each cell in the slab may grow, or shrink.
    fn find_rooms(&self, flags: &[u8], scalars: &[[f32; 4]], (c, grows): (usize, bool), rooms: &mut [f32]) {
        let [nx, ny, nz] = self.count;
        let [low, high] = self.layout.cell_planes();
        rooms[..nx * ny * nz].par_chunks_mut((nx * ny).max(1)).enumerate().for_each(|(z, rooms)| {
            let k = self.index(2, z);
            if !(low..high).contains(&k) {
                return;
            }
            for (n, room) in rooms.iter_mut().enumerate() {
                let at = [self.index(0, n % nx), self.index(1, n / nx), k];
                let share = self.share(at);
                *room = if share > 0.0 { share * self.room(flags, scalars, (c, grows), at) } else { 0.0 };
            }
        });
    }

    /// The distance from the value of a cell to the greatest or least one of its neighbours in the air.
    fn room(&self, flags: &[u8], scalars: &[[f32; 4]], (c, grows): (usize, bool), at: [usize; 3]) -> f32 {
        let (n, strides) = (self.layout.dims.array(), self.layout.strides());
        let here = self.layout.at(at[0] as isize, at[1] as isize, at[2] as isize);
        if flags[here] & SOLID != 0 {
            return 0.0;
        }
        let own = scalars[here][c];
        let mut extreme = own;
        let mut see = |neighbour: usize, face: usize, axis: usize| {
            if flags[face] & CLOSED << axis == 0 && flags[neighbour] & SOLID == 0 {
                let value = scalars[neighbour][c];
                extreme = if grows { extreme.max(value) } else { extreme.min(value) };
            }
        };
        for axis in 0..3 {
            let across = (n[axis] - 1) * strides[axis];
            match at[axis] {
                0 if self.periodic[axis] => see(here + across, here, axis),
                0 => {}
                _ => see(here - strides[axis], here, axis),
            }
            match at[axis] + 1 {
                next if next < n[axis] => see(here + strides[axis], here + strides[axis], axis),
                _ if self.periodic[axis] => see(here - across, here - across, axis),
                _ => {}
            }
        }
        (extreme - own).abs()
    }
}

/// The most by which [`balance`] scales a scalar in one step. A solid that fills the width of the smoke and
/// lies along the grid covers a whole layer of it at once.
const MOST: f64 = 2.0;
/// Limit of one factor for temperatures of both signs: a sum that cancels says little about them.
const MOST_OF_BOTH_SIGNS: f64 = 1.05;
/// Limit of the relative change of temperatures of each sign, where one factor would exceed
/// [`MOST_OF_BOTH_SIGNS`].
const MOST_OF_EACH_SIGN: f64 = 0.5;

/// Scales the scalars to their required sums: the rest that smoke around the solids cannot take is spread over the box (the accounting of
/// West 2007, for the whole box at once).
pub(super) fn balance(
    layout: Layout,
    ranks: &Ranks,
    should: [f64; 4],
    holds: [f64; 4],
    scalars: &mut [[f32; 4]],
    partials: &mut [[f64; 4]],
) {
    let ratio = [0, 1, 2, 3].map(|c| should[c] / holds[c]);
    let within = |ratio: f64, most: f64| (1.0 / most..=most).contains(&ratio);
    let mut factor = ratio.map(|ratio| if ratio > 0.0 { ratio.clamp(1.0 / MOST, MOST) as f32 } else { 1.0 });
    if !within(ratio[3], MOST_OF_BOTH_SIGNS) {
        let [hot, cold] = hot_and_cold(layout, ranks, scalars, partials);
        if hot.min(cold) > 0.01 * hot.max(cold) {
            factor[3] = 1.0;
            // Hot air becomes hotter and cold air warmer, or both colder.
            let by =
                ((should[3] - holds[3]) / (hot + cold)).clamp(-MOST_OF_EACH_SIGN, MOST_OF_EACH_SIGN) as f32;
            scalars[layout.own()].par_iter_mut().for_each(|cell| cell[3] += by * cell[3].abs());
        }
    }
    if factor != [1.0; 4] {
        scalars[layout.own()]
            .par_chunks_mut(layout.plane)
            .for_each(|plane| advect::scale_row(&factor, SCALAR_LIMIT, plane));
    }
}

/// Sums of the temperatures above 0, and of those below it without their sign.
fn hot_and_cold(layout: Layout, ranks: &Ranks, scalars: &[[f32; 4]], partials: &mut [[f64; 4]]) -> [f64; 2] {
    row_passes::reduce(layout, partials, |sum, j, k| {
        for cell in &scalars[layout.start(j, k)..][..layout.dims.nx] {
            sum[0] += f64::from(cell[3].max(0.0));
            sum[1] += f64::from(cell[3].min(0.0).abs());
        }
    });
    ranks.gather(partials, 1);
    [0, 1].map(|sign| partials.iter().map(|plane| plane[sign]).sum())
}
