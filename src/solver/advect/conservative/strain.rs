//! Strain: the share of its air that each cell would lose between the sweeps if the step took one round. It
//! decides how many rounds a step takes.

use std::ops::Range;

use fearless_simd::prelude::*;
use rayon::prelude::*;

use super::coarse_strain::Prolonged;
use super::parabola::ACROSS;
use super::{Flow, Sweeps};
use crate::simd::vectors::{Eight, f32x8};
use crate::simd::{AHEAD, Simd, each_level, fetch_ahead, greatest};
use crate::solver::storage::active_bricks::Bricks;

/// Limit of the number of cells of the velocity that the flow crosses in one round. Errors of the order of the axes depend on how
/// far the flow moves compared with its own scale.
pub const FURTHEST: f32 = 4.0;

/// Limit of |V − 1| between two sweeps where a step takes several rounds.
pub const EMPTIEST: f32 = 0.75;

/// Limit of 1 − V between two sweeps where a step takes one round.
const EMPTIEST_ALONE: f32 = 0.85;

/// Limit of 1 − V between two sweeps of cells that are not strained.
pub const CALM: f32 = 0.5;

/// The same outside a box whose ramp is known to keep its air. Below [`EMPTIEST`], so that a ramp can begin there.
pub const NEARLY_EMPTY: f32 = 0.7;

/// Lower bound of V before the first sweep of a round in the box around strained cells. The longest ramp takes [`EMPTIEST`] − [`CALM`]
/// along two axes, so half as much again along three.
pub const LEAST_BEFORE: f32 = 1.0 - 1.5 * (EMPTIEST - CALM);

/// Limit of the number of rounds of a step. In a step that needs more, air crosses thousands of cells.
/// Scalars then move only a share of the way: a longer round would take more air from a cell than it holds,
/// and make negative smoke.
const MOST_ROUNDS: f32 = 1e3;

/// The greatest volumes that leave a cell if the step takes one round, and the greatest speeds, over the
/// bricks that scalars may reach \[cells\].
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Strain {
    /// 1 − V after the first sweep, and after the first two, in the order x, y, z.
    pub forwards: [f32; 2],
    /// The same in the order z, y, x.
    pub backwards: [f32; 2],
    /// |V − 1| after all sweeps.
    pub all: f32,
    pub speed: f32,
    /// Speed along y, the axis in the middle.
    pub middle: f32,
    /// Cells that lose more than [`CALM`], and those that lose more than [`NEARLY_EMPTY`].
    pub strained: [Extent; 2],
}

/// Extent of some cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Extent {
    /// Cells from the lower side of the box to the end of these cells, along each axis; 0 if there are none.
    pub from_low: [u32; 3],
    /// Cells from the first of them to the upper side.
    pub from_high: [u32; 3],
}

impl Extent {
    fn most(self, other: Self) -> Self {
        let three = |a: [u32; 3], b: [u32; 3]| [0, 1, 2].map(|i| a[i].max(b[i]));
        Self {
            from_low: three(self.from_low, other.from_low),
            from_high: three(self.from_high, other.from_high),
        }
    }
}

/// Number of rounds of a step, and the distances that scalars cross in all of them \[cells\].
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    pub count: f32,
    /// Share of the step that the scalars move: 1 unless the step needs more than [`MOST_ROUNDS`].
    pub share: f32,
    /// In the first and the last sweep of each round.
    pub ends: f32,
    /// In the sweep between them.
    pub middle: f32,
}

impl Strain {
    fn most(self, other: Self) -> Self {
        let pair = |a: [f32; 2], b: [f32; 2]| [0, 1].map(|i| a[i].max(b[i]));
        Self {
            forwards: pair(self.forwards, other.forwards),
            backwards: pair(self.backwards, other.backwards),
            all: self.all.max(other.all),
            speed: self.speed.max(other.speed),
            middle: self.middle.max(other.middle),
            strained: [0, 1].map(|i| self.strained[i].most(other.strained[i])),
        }
    }

    /// The greatest volume that leaves a cell before the last sweep, in either order of axes, or is missing after it.
    pub fn greatest(&self) -> f32 {
        self.forwards.into_iter().chain(self.backwards).fold(self.all, f32::max)
    }

    /// Divides a step into rounds, the first in the order z, y, x if `backwards`. A single round must keep
    /// the sweep along y within `farthest` cells.
    ///
    /// A sweep along y draws air from cells that hold at least V₁ and hold at least V₂ after it. Of n cells upstream it takes at most
    /// their air less n V₂, and what comes in behind them is less than the speed: n < speed/V₂, and n < speed/V₁. The sweeps at the ends
    /// take no more cells than the air crosses, see [`halo`](super::halo).
    pub fn rounds(self, backwards: bool, finer: usize, farthest: f32) -> Rounds {
        let most_speed = FURTHEST * finer as f32;
        let [first, second] = if backwards { self.backwards } else { self.forwards };
        let middle = self.middle / (1.0 - first.min(second));
        let empties = first.max(second).max(self.all);
        if empties <= EMPTIEST_ALONE && self.speed <= most_speed && middle <= farthest {
            return Rounds { count: 1.0, share: 1.0, ends: self.speed, middle };
        }
        let empties = self.greatest();
        let needed = (empties / EMPTIEST).max(self.speed / most_speed).ceil().max(2.0);
        let count = needed.min(MOST_ROUNDS);
        let share = count / needed;
        let ends = share * self.speed;
        // Cells that hold less air are crossed faster.
        let middle = ends / (1.0 - (share * empties / count).min(EMPTIEST));
        Rounds { count, share, ends, middle }
    }
}

impl Sweeps {
    /// Returns the strain of a step of one round.
    pub fn strain(&mut self, flow: &Flow, bricks: &Bricks) -> Strain {
        let [low, high] = flow.layout.cell_planes();
        let planes = &mut self.strain[low..high];
        match flow.prolonged {
            None => planes.par_iter_mut().enumerate().for_each(|(k, most)| {
                *most = of_plane(flow, bricks, low + k);
            }),
            Some(coarse) => planes.par_chunks_mut(2).enumerate().for_each(|(k, most)| {
                most.fill(of_coarse_plane(flow, coarse, bricks, low + 2 * k));
            }),
        }
        flow.walls.ranks().gather(&mut self.strain, 1);
        self.strain.iter().copied().fold(Strain::default(), Strain::most)
    }
}

/// Strain of plane k.
fn of_plane(flow: &Flow, bricks: &Bricks, k: usize) -> Strain {
    let (mut plane, limits) = (PlaneStrain::default(), limits(flow));
    for j in 0..flow.layout.dims.ny {
        bricks.runs(j, k, |run, reached| {
            if reached {
                let mut here = [Eight([0.0; ACROSS]); 7];
                let [u, v, w] = faces_of(flow, &run, [j, k]);
                strain_row(u, v, w, &mut here);
                let here = here.map(|eight| eight.0.into_iter().fold(0.0, greatest));
                let lost = here[..4].iter().copied().fold(0.0, greatest);
                let exceeded = limits.into_iter().take_while(|&limit| lost > limit);
                exceeded.enumerate().for_each(|limit| plane.enclose(flow, run.clone(), [j, k], limit));
                plane.raise(here);
            }
        });
    }
    plane.strain(flow.steps)
}

/// Strain of planes k and k + 1, two finer cells of each cell of `coarse`.
fn of_coarse_plane(flow: &Flow, coarse: Prolonged, bricks: &Bricks, k: usize) -> Strain {
    let (mut plane, limits) = (PlaneStrain::default(), limits(flow));
    for j in (0..flow.layout.dims.ny).step_by(2) {
        bricks.runs(j, k, |run, reached| {
            if reached {
                // Losses of cells and those of their finer cells differ by rounding; the finer ones tell which are strained.
                let lower = limits.map(|limit| 0.999 * limit);
                let (here, beyond) = coarse.strain([run.start / 2, run.len() / 2], [j / 2, k / 2], lower);
                for (limit, [first, end]) in limits.into_iter().enumerate().zip(beyond) {
                    for row in [[j, k], [j + 1, k], [j, k + 1], [j + 1, k + 1]] {
                        plane.enclose(flow, 2 * first..2 * end, row, limit);
                    }
                }
                plane.raise(here);
            }
        });
    }
    plane.strain(flow.steps)
}

/// [`CALM`] and [`NEARLY_EMPTY`] \[m/s\].
fn limits(flow: &Flow) -> [f32; 2] {
    [CALM, NEARLY_EMPTY].map(|limit| limit / flow.steps)
}

/// Lower and upper faces of each axis of the cells `run` of row (j, k).
fn faces_of<'a>(flow: &Flow<'a>, run: &Range<usize>, [j, k]: [usize; 2]) -> [[&'a [f32]; 2]; 3] {
    let (at, strides) = (flow.layout.start(j, k) + run.start, flow.layout.strides());
    [0, 1, 2].map(|axis| faces(&flow.velocity[axis], at, run.len(), strides[axis]))
}

/// Strain of the planes of one task.
#[derive(Default)]
struct PlaneStrain {
    /// Greatest values of the first members of a [`Strain`] \[m/s\].
    most: [f32; 7],
    strained: [Extent; 2],
}

impl PlaneStrain {
    fn raise(&mut self, here: [f32; 7]) {
        self.most.iter_mut().zip(here).for_each(|(most, here)| *most = greatest(here, *most));
    }

    /// Extends extent `n` to the cells of a run of row (j, k) that lose more than `limit`.
    fn enclose(&mut self, flow: &Flow, run: Range<usize>, [j, k]: [usize; 2], (n, limit): (usize, f32)) {
        if run.is_empty() {
            return;
        }
        let ([u, v, w], dims) = (faces_of(flow, &run, [j, k]), flow.layout.dims);
        let is_strained = |&i: &usize| {
            let [x, y, z] = [u, v, w].map(|[low, high]| high[i] - low[i]);
            [x, x + y, -z, z, y + z, -x].into_iter().any(|lost| lost > limit)
        };
        let ends = [(0..run.len()).find(is_strained), (0..run.len()).rfind(is_strained)];
        if let [Some(first), Some(last)] = ends.map(|i| i.map(|i| run.start + i)) {
            let from_low = [last + 1, j + 1, k + 1].map(|n| n as u32);
            let from_high = [dims.nx - first, dims.ny - j, dims.nz - k].map(|n| n as u32);
            self.strained[n] = self.strained[n].most(Extent { from_low, from_high });
        }
    }

    fn strain(self, steps: f32) -> Strain {
        let [a, b, c, d, all, speed, middle] = self.most.map(|most| steps * most);
        Strain { forwards: [a, b], backwards: [c, d], all, speed, middle, strained: self.strained }
    }
}

/// The faces below n cells from `at` on, and those above them.
pub fn faces(field: &[f32], at: usize, n: usize, stride: usize) -> [&[f32]; 2] {
    [&field[at..][..n], &field[at + stride..][..n]]
}

each_level! {
    fn strain_row(u: [&[f32]; 2], v: [&[f32]; 2], w: [&[f32]; 2], most: &mut [Eight; 7]) = strain_kernel;
}

/// Raises `most` to the values of a [`Strain`] \[m/s\] of cells between pairs of faces.
#[inline(always)]
fn strain_kernel<S: Simd>(s: S, u: [&[f32]; 2], v: [&[f32]; 2], w: [&[f32]; 2], most: &mut [Eight; 7]) {
    let n = u[0].len();
    let zero = s.splat_f32x8(0.0);
    let mut found = [zero; 7];
    for (found, most) in found.iter_mut().zip(&*most) {
        *found = most.load(s);
    }
    let mut rest = [[0.0; ACROSS]; 6];
    for from in (0..n).step_by(ACROSS) {
        let mut eight = [zero; 6];
        for ((eight, rest), faces) in
            eight.iter_mut().zip(&mut rest).zip([u[0], u[1], v[0], v[1], w[0], w[1]])
        {
            *eight = match faces[from..].first_chunk() {
                Some(faces) => f32x8::load_array_ref(s, faces),
                None => {
                    rest[..n - from].copy_from_slice(&faces[from..n]);
                    f32x8::load_array_ref(s, rest)
                }
            };
        }
        for row in [u[0], v[1], w[1]] {
            fetch_ahead(&row[from..], 4 * AHEAD);
        }
        let [u0, u1, v0, v1, w0, w1] = eight;
        let (x, y, z) = (u1 - u0, v1 - v0, w1 - w0);
        let (xy, yz) = (x + y, y + z);
        let middle = v0.abs().max(v1.abs());
        let speed = u0.abs().max(u1.abs()).max(w0.abs().max(w1.abs())).max(middle);
        let here = [x, xy.max(-z), z, yz.max(-x), (xy + z).abs(), speed, middle];
        for (found, here) in found.iter_mut().zip(here) {
            *found = here.max(*found);
        }
    }
    for (most, found) in most.iter_mut().zip(found) {
        most.store(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_one_round_while_some_air_is_left_in_its_order_of_axes() {
        let strain = Strain {
            forwards: [0.8, 0.5],
            backwards: [0.2, 0.9],
            speed: 3.4,
            middle: 2.0,
            ..Strain::default()
        };
        let rounds = |strain: Strain, backwards| strain.rounds(backwards, 1, 11.0).count;
        assert_eq!(rounds(strain, false), 1.0);
        assert_eq!(rounds(strain, true), 2.0, "0.1 is left");
        assert_eq!(rounds(Strain { speed: 4.1, ..strain }, false), 2.0, "too fast");
        assert_eq!(rounds(Strain { all: 2.5, ..strain }, false), 4.0, "divergent");
        let drained = Strain { forwards: [0.84, 0.84], ..strain };
        assert_eq!(rounds(drained, false), 2.0, "smoke may cross 12.5 cells along y");
        assert_eq!(rounds(Strain { middle: 1.0, ..drained }, false), 1.0);
        let storm = Strain { speed: 8e6, ..strain }.rounds(false, 1, 1e7);
        assert_eq!((storm.count, storm.share), (1e3, 5e-4));
        assert!((storm.ends / 4e3 - 1.0).abs() < 1e-6, "no round crosses more than 4 cells: {storm:?}");
    }
}
