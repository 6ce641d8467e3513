//! Decay of the scalars of air that crosses the sides of the box within a step.
//!
//! A step first advects the scalars, then multiplies them by exp(−k Δt). Air that enters through an inflow
//! after the fraction τ of the step is inside only for the fraction 1 − τ. So its scalars are those of the
//! inflow times exp(k τ Δt) until the decay is applied. If air crosses C cells of a line in a step, the air
//! that was s cells outside the side enters at τ = s/C. Without this the smoke of an inflow decayed half a
//! step too long, a first-order error: 10 % of it was missing at a rate of 5/s and 24 steps a second.
//!
//! Air that leaves has decayed until then, which matters to the budget alone.

use super::{GhostRules, owns};
use crate::grid::{Faces, GHOST, Layout};
use crate::solver::storage::row_passes;
use crate::solver::{BoundaryCondition, SCALAR_LIMIT};

/// Decay of red, green, blue and temperature in a step: k Δt.
#[derive(Clone, Copy, Debug)]
pub struct StepDecay([f64; 4]);

/// Greatest k Δt. Smoke that decays by more in a step is too thin to show in a picture, and scalars that have
/// grown by its exponential still have finite squares.
const MOST: f64 = 30.0;

/// Greatest growth −k Δt.
const MOST_GROWTH: f64 = 70.0;

/// Distance of the first ghost from the side, beyond which no sample lies \[cells\].
const FIRST_GHOST: f32 = 0.5;

impl StepDecay {
    /// From the decay factors of a step.
    pub fn new(factors: &[f32; 4]) -> Self {
        Self(factors.map(|factor| (-f64::from(factor).ln()).clamp(-MOST_GROWTH, MOST)))
    }

    /// Whether scalar `c` decays or grows.
    pub fn acts_on(self, c: usize) -> bool {
        self.0[c] != 0.0
    }

    /// Mean of exp(k τ Δt) between two parts τ of the step.
    pub fn of_entering(self, c: usize, [from, to]: [f64; 2]) -> f64 {
        let x = self.0[c];
        (x * from).exp() * mean_of_exp(x * (to - from))
    }

    /// Mean of exp(−k τ Δt) between two parts τ of the step.
    pub fn of_leaving(self, c: usize, [from, to]: [f64; 2]) -> f64 {
        let x = self.0[c];
        (-x * from).exp() * mean_of_exp(-x * (to - from))
    }
}

/// Mean of exp(y) between 0 and `x`.
fn mean_of_exp(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.exp_m1() / x }
}

/// The fraction of a step after which air enters that was `distance` cells outside a side, where `courant`
/// cells of air enter in the step. If less than a cell enters, a ghost gets the instant of the middle of it.
fn entry(distance: f32, courant: f32) -> f64 {
    f64::from((distance / courant.max(1.0)).min(1.0))
}

impl GhostRules {
    /// Whether an inflow has smoke or heat that decays.
    pub fn smoke_decays_at_inflows(&self, decay: StepDecay) -> bool {
        let decays = (0..4).any(|c| decay.acts_on(c));
        let sides = self.sides.as_flattened();
        decays && sides.iter().any(|side| matches!(side, BoundaryCondition::Inflow(_)))
    }

    /// Scales the ghosts beyond inflows, which must be filled, for an interpolation over `steps` = Δt/h that
    /// the decay of the scalars follows.
    pub fn scale_entering(&self, decay: StepDecay, steps: f32, scalars: &mut [[f32; 4]], velocity: &Faces) {
        let n = self.layout.dims.array().map(|n| n as isize);
        let is_inflow =
            |axis: usize, end: usize| matches!(self.sides[axis][end], BoundaryCondition::Inflow(_));
        for (axis, end) in (0..6).map(|side| (side / 2, side % 2)).filter(|&(axis, end)| is_inflow(axis, end))
        {
            let (face, beyond, inwards) =
                if end == 0 { (0, [-1, -2], steps) } else { (n[axis], [n[axis], n[axis] + 1], -steps) };
            // Edges between two inflows are the mean of both, and are scaled once.
            let range = |other: usize| {
                let is_done = [0, 1].map(|end| other < axis && is_inflow(other, end));
                let ghosts = is_done.map(|done| if done { 0 } else { GHOST as isize });
                [-ghosts[0], n[other] + ghosts[1]]
            };
            for (depth, at) in beyond.into_iter().enumerate() {
                let of = |other: usize| if other == axis { [at, at + 1] } else { range(other) };
                let [[i0, i1], js, ks] = [0, 1, 2].map(of);
                if axis == 2 && !owns(self.layout, at) {
                    continue;
                }
                let stride = self.layout.strides()[axis] as isize;
                row_passes::rows(self.layout, scalars, [js, ks], |j, k, row| {
                    for i in i0..i1 {
                        let side = self.layout.at(i, j, k) as isize + (face - at) * stride;
                        let courant = inwards * velocity[axis][side as usize];
                        if courant > 0.0 {
                            let when = entry(depth as f32 + FIRST_GHOST, courant);
                            let cell = &mut row[(i + GHOST as isize) as usize];
                            for c in (0..4).filter(|&c| decay.acts_on(c)) {
                                cell[c] *= decay.of_entering(c, [when; 2]) as f32;
                            }
                        }
                    }
                });
            }
        }
    }

    /// Corrects the scalars of cells whose back-trace ends farther outside an inflow than its first ghost:
    /// their air entered later than the ghost says. `back` is the displacement of each cell. If air passed
    /// two sides, the later entry counts.
    ///
    /// The ghost takes the instant from the flow across the side, the cell from its trace. In uneven flow these differ, so the result is
    /// clamped to the scalars of the inflow.
    pub fn scale_entered(&self, decay: StepDecay, back: &[[f32; 4]], scalars: &mut [[f32; 4]]) {
        let Layout { dims, .. } = self.layout;
        let n = dims.array();
        let given: Vec<_> = (0..6).map(|side| self.most_given([side / 2, side % 2])).collect();
        row_passes::rows(
            self.layout,
            scalars,
            [[0, dims.ny as isize], [0, dims.nz as isize]],
            |j, k, row| {
                let back = &back[self.layout.at(0, j, k)..][..dims.nx];
                for (i, (cell, back)) in row[GHOST..].iter_mut().zip(back).enumerate() {
                    let at = [i, j as usize, k as usize];
                    let (mut latest, mut most) = (0.0, [0.0; 4]);
                    for (side, given) in given.iter().enumerate() {
                        let (axis, end) = (side / 2, side % 2);
                        let Some(given) = given else { continue };
                        let (inside, crossed) = if end == 0 {
                            (at[axis], back[axis])
                        } else {
                            (n[axis] - 1 - at[axis], -back[axis])
                        };
                        let beyond = crossed - (inside as f32 + 0.5);
                        let later = if beyond > FIRST_GHOST { (beyond - FIRST_GHOST) / crossed } else { 0.0 };
                        if later > latest {
                            (latest, most) = (later, *given);
                        }
                    }
                    if latest > 0.0 {
                        for c in (0..4).filter(|&c| decay.acts_on(c)) {
                            let most = most[c].max(cell[c].abs());
                            let scaled = cell[c] * decay.of_entering(c, [f64::from(latest); 2]) as f32;
                            cell[c] = scaled.clamp(-most, most);
                        }
                    }
                }
            },
        );
    }

    /// The greatest magnitudes of the scalars of the inflow on a side; `None` if the side is no inflow.
    fn most_given(&self, side: [usize; 2]) -> Option<[f32; 4]> {
        let BoundaryCondition::Inflow(air) = &self.sides[side[0]][side[1]] else { return None };
        Some(
            [0, 1, 2, 3]
                .map(|c| if self.gives_scalar(side, c) { SCALAR_LIMIT } else { air.scalars[c].abs() }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn air_that_enters_evenly_has_decayed_by_the_mean() {
        for x in [-3.0f64, -1e-9, 1e-9, 0.2, 5.0] {
            let decay = StepDecay::new(&[(-x).exp() as f32, 1.0, 1.0, 1.0]);
            let x = decay.0[0];
            let left = decay.of_entering(0, [0.0, 1.0]) * (-x).exp();
            // Factors of single precision next to 1 are 1.
            let mean = if x == 0.0 { 1.0 } else { -(-x).exp_m1() / x };
            assert!((left - mean).abs() < 1e-12 * left, "{x}: {left}");
            let parts = [[0.0, 0.3], [0.3, 1.0]].map(|part| (part[1] - part[0]) * decay.of_entering(0, part));
            assert!((parts[0] + parts[1] - decay.of_entering(0, [0.0, 1.0])).abs() < 1e-12 / left, "{x}");
            assert!((decay.of_leaving(0, [0.2, 0.2]) * decay.of_entering(0, [0.2; 2]) - 1.0).abs() < 1e-12);
            assert!(!decay.acts_on(1));
        }
        // A factor that has underflown, and one at its limit.
        for factor in [0.0, 1e30] {
            let decay = StepDecay::new(&[factor; 4]);
            assert!(
                decay.of_entering(2, [0.0, 1.0]).is_finite() && decay.of_leaving(2, [0.0, 1.0]).is_finite()
            );
        }
    }
}
