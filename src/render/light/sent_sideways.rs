//! Light that leaves the box through its upright sides where smoke reaches them, for the floor beside it.

use super::LightVolume;
use super::ordinates::phase::{Ordinate, ordinates};
use crate::grid::Dims;
use crate::render::exp::exp;

/// Patches along each edge of a side, at most.
const PATCHES: usize = 8;
/// Sharpness with which light is taken from the ordinates closest to a direction.
const CLOSEST: i32 = 4;
/// Thickness of the smoke that counts as that of a side, as a share of the longer horizontal side of the box.
const THICKNESS: f32 = 0.4;
/// Share of the length of the box within which a point is on a side.
const ON_SIDE: f32 = 1e-4;

/// A part of an upright side of the box.
#[derive(Clone, Debug)]
struct Patch {
    middle: [f32; 3],
    area: f32,
    /// Radiance that leaves on each of the ordinates that lead out level or down, less that of clear air; red, green and blue.
    sent: [[f32; 3]; 3],
}

/// An upright side of the box.
#[derive(Clone, Debug)]
struct Side {
    /// The axis that it stands across, and whether its end is the far one.
    axis: usize,
    is_far: bool,
    ordinates: [Ordinate; 3],
    patches: Vec<Patch>,
    /// For each column of patches, the cubes that take a greater share of light than all below them: their height \[m\] and this share.
    takes: Vec<Vec<[f32; 2]>>,
    /// Edge of a patch \[m\].
    edge: f32,
}

/// The upright sides of the box that smoke reaches.
#[derive(Clone, Debug)]
pub(in crate::render) struct SmokySides {
    sides: Vec<Side>,
    extent: [f32; 3],
}

impl LightVolume {
    /// Returns the sides of the box that smoke reaches; `None` if it reaches none.
    pub(in crate::render) fn smoky_sides(&self) -> Option<SmokySides> {
        let sides: Vec<Side> = [(0, false), (0, true), (2, false), (2, true)]
            .into_iter()
            .map(|(axis, is_far)| self.side(axis, is_far))
            .filter(|side| !side.patches.is_empty())
            .collect();
        (!sides.is_empty()).then_some(SmokySides { sides, extent: self.extent })
    }

    fn side(&self, axis: usize, is_far: bool) -> Side {
        let (dims, h) = (self.mixture.dims, self.mixture.h);
        let count = dims.array();
        let other = 2 - axis;
        let step = count[other].max(count[1]).div_ceil(PATCHES);
        let leads_out = |ordinate: &(usize, Ordinate)| {
            let direction = ordinate.1.direction;
            (direction[axis] > 0.0) == is_far && direction[axis].abs() > 0.1 && direction[1] < 0.1
        };
        let mut numbered = ordinates().into_iter().enumerate().filter(leads_out);
        let out: [(usize, Ordinate); 3] = std::array::from_fn(|_| numbered.next().expect("three lead out"));
        let place_on_axis = if is_far { count[axis] - 1 } else { 0 };
        let (mut patches, mut takes) = (Vec::new(), Vec::new());
        for first in (0..count[other]).step_by(step) {
            let last = (first + step).min(count[other]);
            let (mut greatest, mut most): (Vec<[f32; 2]>, f32) = (Vec::new(), 0.0);
            for first_y in (0..count[1]).step_by(step) {
                let last_y = (first_y + step).min(count[1]);
                let (mut sent, mut all, mut height) = ([[0.0; 3]; 3], 0.0, 0.0);
                for j in first_y..last_y {
                    let mut taken = 0.0;
                    for t in first..last {
                        let mut place = [0, j, 0];
                        (place[axis], place[other]) = (place_on_axis, t);
                        self.add_leaving(dims, place, &out, &mut sent, &mut taken);
                    }
                    (all, height) = (all + taken, height + taken * (j as f32 + 0.5) * h);
                    let share = taken / (last - first) as f32;
                    if share > most {
                        greatest.push([j as f32 * h, share]);
                        most = share;
                    }
                }
                if all > 0.0 {
                    let cubes = ((last - first) * (last_y - first_y)) as f32;
                    let mut middle = [0.0; 3];
                    middle[axis] = if is_far { self.extent[axis] } else { 0.0 };
                    middle[1] = height / all;
                    middle[other] = 0.5 * (first + last) as f32 * h;
                    let sent = sent.map(|colors| colors.map(|x: f32| x / cubes));
                    patches.push(Patch { middle, area: cubes * h * h, sent });
                }
            }
            takes.push(greatest);
        }
        let ordinates = out.map(|(_, ordinate)| ordinate);
        Side { axis, is_far, ordinates, patches, takes, edge: step as f32 * h }
    }

    /// Adds the [change of radiance](Patch::sent) by the smoke of a cube at a side, and the share of light that it takes.
    fn add_leaving(
        &self,
        dims: Dims,
        [i, j, k]: [usize; 3],
        out: &[(usize, Ordinate); 3],
        sent: &mut [[f32; 3]; 3],
        taken: &mut f32,
    ) {
        let (cube, row) = (dims.index(i, j, k), j + k * dims.ny);
        let extinction = self.cubes.extinction[cube];
        if extinction == 0.0 || !self.solver.wanted(i, row) {
            return;
        }
        let longest = self.extent[0].max(self.extent[2]);
        let takes = 1.0 - exp(-THICKNESS * longest * extinction);
        *taken += takes;
        for c in 0..3 {
            let (radiance, inflow) = (self.solver.radiance(c, row), self.solver.inflow(c));
            for (sent, &(n, _)) in sent.iter_mut().zip(out) {
                sent[c] += takes * (radiance[n][i] - inflow[n]);
            }
        }
    }
}

impl SmokySides {
    /// Whether a point of the floor lies below the box, and not at one of its sides.
    pub fn contain(&self, x: f32, z: f32) -> bool {
        [(x, self.extent[0]), (z, self.extent[2])]
            .iter()
            .all(|&(at, end)| at > ON_SIDE * end && at < (1.0 - ON_SIDE) * end)
    }

    /// Returns the share of light that smoke takes at the side next to a point of the floor beside the box, interpolated between columns of
    /// patches. Smoke high above the floor counts less next to the side, where the floor sees it from below.
    pub fn takes(&self, x: f32, z: f32) -> f32 {
        let of_side = |side: &Side, out: f32| {
            let along = if side.axis == 0 { z } else { x };
            let most = |column: usize| {
                let seen = |&[height, takes]: &[f32; 2]| {
                    if height == 0.0 { takes } else { takes * out / (out + height) }
                };
                side.takes[column].iter().map(seen).fold(0.0, f32::max)
            };
            let last = side.takes.len() - 1;
            let at = (along / side.edge - 0.5).clamp(0.0, last as f32);
            let [low, high] = [at as usize, (at as usize + 1).min(last)];
            let [one, other] = [low, high].map(most);
            one + (at - low as f32) * (other - one)
        };
        self.sides_facing([x, 0.0, z]).map(|(side, out)| of_side(side, out.max(0.0))).fold(0.0, f32::max)
    }

    /// Returns the change of the radiance of a white floor by the smoke at the sides; below the box, that at the closest side.
    pub fn on_floor(&self, mut p: [f32; 3]) -> [f32; 3] {
        if self.contain(p[0], p[2]) {
            let ends = [0, 2].into_iter().flat_map(|a| [(a, 0.0), (a, self.extent[a])]);
            let away = |&(a, end): &(usize, f32)| (p[a] - end).abs();
            if let Some((a, end)) = ends.min_by(|one, other| away(one).total_cmp(&away(other))) {
                p[a] = end;
            }
        }
        let mut sum = [0.0; 3];
        for (side, out) in self.sides_facing(p) {
            // A point at a side sees all of it, half of the hemisphere.
            let out = out.max(0.25 * side.edge);
            for patch in &side.patches {
                let mut way: [f32; 3] = std::array::from_fn(|a| p[a] - patch.middle[a]);
                way[side.axis] = if side.is_far { out } else { -out };
                let square: f32 = way.iter().map(|x| x * x).sum();
                let away = square.sqrt();
                let factor =
                    patch.area * out * -way[1] / (square * (std::f32::consts::PI * square + patch.area));
                let weights = side.ordinates.map(|ordinate| {
                    let cosine: f32 = (0..3).map(|a| ordinate.direction[a] * way[a]).sum::<f32>() / away;
                    cosine.max(0.0).powi(CLOSEST)
                });
                let share = factor / weights.iter().sum::<f32>().max(1e-6);
                for (weight, sent) in weights.into_iter().zip(&patch.sent) {
                    (0..3).for_each(|c| sum[c] += share * weight * sent[c]);
                }
            }
        }
        sum
    }

    /// The sides that a point is beyond or on, and its distance from each \[m\].
    fn sides_facing(&self, p: [f32; 3]) -> impl Iterator<Item = (&Side, f32)> {
        self.sides.iter().filter_map(move |side| {
            let end = self.extent[side.axis];
            let out = if side.is_far { p[side.axis] - end } else { -p[side.axis] };
            (out >= -ON_SIDE * end).then_some((side, out))
        })
    }
}
