//! The march of a picture whose smoke lies on several ranks, in slabs along z.
//!
//! A ray passes the slabs upwards or downwards, depending on its direction. Each rank marches it through its
//! own slab and hands its state to the next: radiance, transmittance and the next step. So every ray takes
//! the same steps in the same order as in one process, and the picture has the same bytes. Only smoke next to
//! the slabs is sent.
//!
//! Rays towards greater z pass from rank to rank upwards, the others downwards. For an eye beyond an end of
//! the box all rays pass in one direction. Bands of rows follow each other, so that all ranks of a chain work
//! at the same time.

use bytemuck::{cast_slice, cast_slice_mut};
use rayon::prelude::*;

use super::march::{INITIAL_STATES, PACKET, RayStates, Row, SlabSegment, Volume, march_segment};
use crate::render::camera::Axes;
use crate::render::noise;
use crate::simd::Token;
use crate::snapshot::SnapshotSlab;

/// Rows of rays that are handed on together.
const BAND: usize = 8;
/// Packets of one task.
const TASK: usize = 4;

/// A march shared by several ranks.
pub(super) struct Relay<'a> {
    pub slab: &'a SnapshotSlab,
    pub axes: &'a Axes,
    /// Rays across and up the picture.
    pub rays: [u32; 2],
    /// Rays that may meet smoke: their lower left, at a whole packet, and their upper right.
    pub window: [[usize; 2]; 2],
    /// Shift of the frame's noise.
    pub shift: f32,
    pub token: Token,
}

impl Relay<'_> {
    /// Marches all rays. The first rank gets their radiance and transmittance, in rows of `stride`; `free`
    /// are their lengths up to a surface, in the same rows.
    pub fn march(&self, volume: &Volume, free: &[f32], stride: usize, out: &mut [[f32; 4]]) {
        let comm = self.slab.comm();
        let [lo, hi] = self.window;
        let packets = (hi[0] - lo[0]).div_ceil(PACKET);
        if hi[1] <= lo[1] || packets == 0 {
            return;
        }
        let count = packets * (hi[1] - lo[1]);
        for upwards in [true, false] {
            let Some(chain) = self.chain(volume, upwards) else { continue };
            let last = *chain.last().expect("at least the rank at the eye");
            let mine = chain.iter().position(|&rank| rank == comm.rank());
            let mut rays = Vec::new();
            if let Some(place) = mine {
                let [before, after] = [place.checked_sub(1), Some(place + 1)]
                    .map(|place| place.and_then(|place| chain.get(place)).copied());
                rays.resize(count, INITIAL_STATES);
                let segment = SlabSegment { upwards, planes: self.planes() };
                for (band, rays) in rays.chunks_mut(packets * BAND).enumerate() {
                    if let Some(before) = before {
                        comm.transfer(&[], &mut [(before, cast_slice_mut(rays))]);
                    }
                    self.march_band(volume, &segment, lo[1] + band * BAND, packets, (free, stride), rays);
                    if let Some(after) = after {
                        comm.transfer(&[(after, cast_slice(rays))], &mut []);
                    }
                }
            }
            match (comm.rank(), last) {
                (0, 0) => {}
                (0, last) => {
                    rays.resize(count, INITIAL_STATES);
                    comm.transfer(&[], &mut [(last, cast_slice_mut(&mut rays))]);
                }
                (me, last) if me == last => comm.transfer(&[(0, cast_slice(&rays))], &mut []),
                _ => {}
            }
            if comm.rank() == 0 {
                self.add(&rays, packets, stride, out);
            }
        }
    }

    /// Returns the ranks whose slabs rays pass, in order; `None` if no ray passes the box in this direction.
    fn chain(&self, volume: &Volume, upwards: bool) -> Option<Vec<usize>> {
        let Axes { eye, forward, parallel, .. } = *self.axes;
        let bounds = self.slab.bounds();
        let ranks = 0..bounds.len() - 1;
        // A margin allows for the rounding of positions along rays.
        let room = 1e-3 * volume.extent[2];
        let goes = match (parallel, upwards) {
            (true, true) => forward[2] > -1e-5,
            (true, false) => forward[2] < 1e-5,
            (false, true) => eye[2] < volume.extent[2] + room,
            (false, false) => eye[2] > -room,
        };
        if !goes {
            return None;
        }
        // Slabs behind the eye are left out.
        let place = |plane: usize| plane as f32 * volume.h;
        let ahead = |rank: &usize| match upwards {
            _ if parallel => true,
            true => place(bounds[*rank + 1]) > eye[2] - room,
            false => place(bounds[*rank]) < eye[2] + room,
        };
        Some(if upwards { ranks.filter(ahead).collect() } else { ranks.rev().filter(ahead).collect() })
    }

    /// Returns the planes that this rank marches. The first and the last slab extend to infinity, because
    /// samples beyond a side of the box are those at the side.
    fn planes(&self) -> [f32; 2] {
        let ([low, high], nz) = (self.slab.own(), self.slab.whole().dims.nz);
        [if low == 0 { f32::MIN } else { low as f32 }, if high == nz { f32::MAX } else { high as f32 }]
    }

    /// Marches the rows from `first` on.
    fn march_band(
        &self,
        volume: &Volume,
        segment: &SlabSegment,
        first: usize,
        packets: usize,
        (free, stride): (&[f32], usize),
        rays: &mut [RayStates],
    ) {
        let [lo, hi] = self.window;
        rays.par_chunks_mut(packets).enumerate().for_each(|(row, rays)| {
            let y = first + row;
            rays.par_chunks_mut(TASK).enumerate().for_each(|(task, rays)| {
                let start = lo[0] + task * TASK * PACKET;
                let row = Row {
                    axes: self.axes,
                    size: self.rays,
                    y: y as u32,
                    x: start as u32..hi[0].min(start + TASK * PACKET) as u32,
                    noise: noise::row(y),
                    shift: self.shift,
                    t_max: &free[y * stride + start..(y + 1) * stride],
                };
                march_segment(self.token, volume, &row, segment, rays);
            });
        });
    }

    /// Adds finished rays. Rays of the other direction have their initial state, which adds nothing.
    fn add(&self, rays: &[RayStates], packets: usize, stride: usize, out: &mut [[f32; 4]]) {
        let [lo, _] = self.window;
        for (row, rays) in rays.chunks(packets).enumerate() {
            let out = &mut out[(lo[1] + row) * stride + lo[0]..];
            for (ray, out) in out.iter_mut().enumerate().take(packets * PACKET) {
                let [red, green, blue, clear, _] = rays[ray / PACKET].map(|values| values[ray % PACKET]);
                let [r, g, b, c] = *out;
                *out = [r + red, g + green, b + blue, c * clear];
            }
        }
    }
}
