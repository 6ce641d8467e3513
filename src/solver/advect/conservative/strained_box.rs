//! A box around the strained cells, in which a step takes several rounds while the rest of the air takes one.
//!
//! A weight Φ is 1 in the box and falls to 0 over a ramp around it. With c rounds in the box, each of the
//! first c − 1 rounds moves the air by Φ/c of the step. The last round covers the whole grid and moves it by
//! the remainder:
//!
//! ```text
//!     F_r = F Φ/c  (r < c),   F_c = F (1 − (c − 1)/c Φ),   Σ F_r = F
//! ```
//!
//! F is free of divergence, so V is 1 again after all rounds, but in the ramp not after each single one. Let
//! d Φ F be the part of the fluxes that earlier rounds have moved. A round then begins with V = 1 − d ΔΦF,
//! and every sweep of it changes V as usual.
//!
//! The ramp is as short as it can be while each cell keeps a volume of at least 1 − [`EMPTIEST`]: `kept_air.rs` computes the volumes for ramps
//! of several lengths. The bound that the greatest speed in the box gives would be three times as long.

use fearless_simd::prelude::*;

use super::parabola::ACROSS;
use super::strain::{CALM, EMPTIEST, Extent, FURTHEST, Strain};
use crate::grid::Dims;
use crate::simd::vectors::{Eight, f32x8};
use crate::simd::{Simd, each_level};
use crate::solver::storage::active_bricks::Bricks;

/// Cells of the ramps that are tried.
const RAMPS: [f32; 4] = [8.0, 12.0, 16.0, 24.0];

/// Limit of |V − 1| after all sweeps. The longest ramp allows for no more.
const MOST_DIVERGENCE: f32 = 0.01;

/// Cells around the support of Φ that a sweep loads: it moves nothing there, but parabolas read them.
const AROUND: usize = 4;

/// Limit of the share of occupied bricks in the box.
const LARGEST: f32 = 0.5;

/// The box and its weights.
pub struct StrainedBox {
    /// Number of rounds in the box, or 0 if the step has none.
    pub rounds: u32,
    /// Cells with Φ above 0 on a face.
    pub support: [[usize; 2]; 3],
    /// Factors of Φ at the middles of cells and at faces, along each axis.
    pub cells: [Vec<f32>; 3],
    pub faces: [Vec<f32>; 3],
}

/// One round: the part of the step that it moves across a face is `base` + `slope` Φ.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    around: &'a StrainedBox,
    pub base: f32,
    pub slope: f32,
    /// The part of Φ F that earlier rounds have moved.
    pub moved: f32,
}

/// Weights of the faces of interleaved lines: `base` + `lanes` · `along`.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    pub base: f32,
    pub lanes: Eight,
    pub along: &'a [f32],
}

impl Weights<'_> {
    /// The weight of face `at` of a line.
    pub fn at(&self, lane: usize, at: usize) -> f32 {
        self.base + self.lanes.0[lane] * self.along[at]
    }

    /// Whether all are 0 in all lines.
    pub fn are_none(&self) -> bool {
        self.base == 0.0 && self.lanes.0 == [0.0; ACROSS]
    }
}

impl StrainedBox {
    /// Makes a box without cells.
    pub fn new(dims: Dims) -> Self {
        let [cells, faces] = [0, 1].map(|more| dims.array().map(|n| vec![0.0; n + more]));
        Self { rounds: 0, support: [[0; 2]; 3], cells, faces }
    }

    /// Puts the box around the strained cells if that is cheaper than several rounds everywhere. `finer` is the number of cells along
    /// each edge of a cell of the velocity. Periodic axes it takes whole. The ramp is the first of [`RAMPS`] with which `keeps_its_air`
    /// returns true, or else one with which no flow of this speed can empty a cell.
    pub fn surround(
        &mut self,
        strain: &Strain,
        bricks: &Bricks,
        (finer, periodic): (usize, [bool; 3]),
        mut keeps_its_air: impl FnMut(&Self) -> bool,
    ) {
        self.rounds = 0;
        let [calm, nearly_empty] = strain.strained;
        let is_too_fast = strain.speed > FURTHEST * finer as f32;
        if is_too_fast || strain.all > MOST_DIVERGENCE || nearly_empty.from_low[0] == 0 {
            return;
        }
        let count = (strain.greatest() / EMPTIEST).ceil().max(2.0);
        self.rounds = count as u32;
        // Two sweeps remove up to CALM, and the change of Φ along two axes.
        let longest = 2.0 * strain.speed * (1.0 - 1.0 / count) / (EMPTIEST - CALM);
        let longest = longest.ceil().max(RAMPS[0]);
        let is_short = RAMPS.into_iter().take_while(|&ramp| ramp < longest).any(|ramp| {
            self.lay(nearly_empty, periodic, ramp);
            keeps_its_air(self)
        });
        if !is_short {
            self.lay(calm, periodic, longest);
        }
        if bricks.share_within(self.support) > LARGEST {
            self.rounds = 0;
        }
    }

    /// Computes the weights of a box around some cells.
    fn lay(&mut self, Extent { from_low, from_high }: Extent, periodic: [bool; 3], ramp: f32) {
        let n = self.cells.each_ref().map(Vec::len);
        for axis in 0..3 {
            let inner = if periodic[axis] {
                [0, n[axis]]
            } else {
                [n[axis] - from_high[axis] as usize, from_low[axis] as usize]
            };
            let weight = |x: f32| {
                let beyond = (inner[0] as f32 - x).max(x - inner[1] as f32);
                ((ramp - beyond) / ramp).clamp(0.0, 1.0)
            };
            (0..n[axis]).for_each(|i| self.cells[axis][i] = weight(i as f32 + 0.5));
            (0..=n[axis]).for_each(|i| self.faces[axis][i] = weight(i as f32));
            let far = ramp as usize;
            self.support[axis] = [inner[0].saturating_sub(far), (inner[1] + far).min(n[axis])];
        }
    }

    /// The given round, from 0 on.
    pub fn part(&self, round: u32) -> Part<'_> {
        let [count, round] = [self.rounds, round].map(|n| n as f32);
        let moved = round / count;
        if round + 1.0 < count {
            Part { around: self, base: 0.0, slope: 1.0 / count, moved }
        } else {
            Part { around: self, base: 1.0, slope: -moved, moved }
        }
    }
}

impl<'a> Part<'a> {
    /// Whether the round moves nothing outside the box.
    pub fn is_local(&self) -> bool {
        self.base == 0.0
    }

    /// The interval of the step, within 0..1, in which the round moves the air of a face that has the weight
    /// `weight`.
    pub fn span(&self, weight: f32) -> [f64; 2] {
        let [weight, moved, slope] = [weight, self.moved, self.slope].map(f64::from);
        // A local round moves Φ/c, after earlier rounds have moved `moved` Φ.
        if self.is_local() {
            [moved / slope * weight, (moved / slope + 1.0) * weight]
        } else {
            [1.0 - weight, 1.0]
        }
    }

    /// Whether Φ is above 0 on a face of some lines along `axis`: `count` neighbouring lines along `lanes`,
    /// the first of which begins at cell `origin`.
    pub fn meets(&self, axis: usize, lanes: usize, origin: [usize; 3], count: usize) -> bool {
        (0..3).filter(|&a| a != axis).all(|a| {
            let [first, end] = self.around.support[a];
            origin[a] < end && origin[a] + (if a == lanes { count } else { 1 }) > first
        })
    }

    /// The cells of lines along `axis` that a local round loads.
    pub fn window(&self, axis: usize) -> [usize; 2] {
        let [first, end] = self.around.support[axis];
        [first.saturating_sub(AROUND), (end + AROUND).min(self.around.cells[axis].len())]
    }

    /// Weights of the two faces of each cell across the axis `across`, for lines along `axis`: the part of
    /// the step that has crossed these faces. This includes the present round if its sweep across them
    /// `has_moved`. Lines are given as for [`meets`](Self::meets); `first` is the first cell of each.
    pub fn weights(
        &self,
        [axis, lanes, across]: [usize; 3],
        origin: [usize; 3],
        first: usize,
        has_moved: bool,
    ) -> [Weights<'a>; 2] {
        let (base, slope) = if has_moved { (self.base, self.moved + self.slope) } else { (0.0, self.moved) };
        [0, 1].map(|side| self.side([axis, lanes, across], origin, first, side, [base, slope]))
    }

    /// As [`weights`](Self::weights), but less the part of the step that crosses these faces in this round.
    pub fn remaining(&self, axes: [usize; 3], origin: [usize; 3], first: usize) -> [Weights<'a>; 2] {
        [0, 1].map(|side| self.side(axes, origin, first, side, [-self.base, -self.slope]))
    }

    /// Weights of the faces below cells from `first` on of lines along `axis`, in this round.
    pub fn of_round(&self, [axis, lanes]: [usize; 2], origin: [usize; 3], first: usize) -> Weights<'a> {
        self.side([axis, lanes, axis], origin, first, 0, [self.base, self.slope])
    }

    fn side(
        &self,
        [axis, lanes, across]: [usize; 3],
        origin: [usize; 3],
        first: usize,
        side: usize,
        [base, slope]: [f32; 2],
    ) -> Weights<'a> {
        let StrainedBox { cells, faces, .. } = self.around;
        let factors = |a: usize| if a == across { &faces[a][side..] } else { &cells[a][..] };
        let other = 3 - axis - lanes;
        let factor = slope * factors(other)[origin[other]];
        let mut eight = Eight([0.0; ACROSS]);
        eight.0.iter_mut().zip(&factors(lanes)[origin[lanes]..]).for_each(|(out, of)| *out = factor * of);
        Weights { base, lanes: eight, along: &factors(axis)[first..] }
    }
}

each_level! {
    /// Multiplies volumes that cross faces by weights.
    pub fn weigh_faces(weights: Weights, crossing: &mut [Eight]) = weigh_kernel;
}

#[inline(always)]
fn weigh_kernel<S: Simd>(s: S, Weights { base, lanes, along }: Weights, crossing: &mut [Eight]) {
    let (base, lanes) = (s.splat_f32x8(base), lanes.load(s));
    for (crossing, &along) in crossing.iter_mut().zip(along) {
        crossing.store(lanes.mul_add(s.splat_f32x8(along), base) * crossing.load(s));
    }
}

each_level! {
    /// Subtracts from the volumes of cells the volumes that leave through two opposite faces: weights times
    /// the volumes that cross.
    pub fn drain(weights: [Weights; 2], crossing: [&[Eight]; 2], volume: &mut [Eight]) = drain_kernel;
}

#[inline(always)]
fn drain_kernel<S: Simd>(
    s: S,
    [low, high]: [Weights; 2],
    [below, above]: [&[Eight]; 2],
    volume: &mut [Eight],
) {
    let n = volume.len();
    let (below, above) = (&below[..n], &above[..n]);
    let (low_along, high_along) = (&low.along[..n], &high.along[..n]);
    let base = s.splat_f32x8(low.base);
    let (low, high): (f32x8<S>, f32x8<S>) = (low.lanes.load(s), high.lanes.load(s));
    for i in 0..n {
        let low = low.mul_add(s.splat_f32x8(low_along[i]), base);
        let high = high.mul_add(s.splat_f32x8(high_along[i]), base);
        let gained = low.mul_add(below[i].load(s), -(high * above[i].load(s)));
        volume[i].store(volume[i].load(s) + gained);
    }
}

#[cfg(test)]
mod tests;
