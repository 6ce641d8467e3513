//! Loading of a bundle of lines before a sweep: the flow, the volumes of air, walls, and what enters; and what leaves after it.

use super::interleave::{self, LineLayout};
use super::parabola::{ACROSS, BEYOND, HALO, Lines};
use super::strained_box::{Part, Weights, drain, weigh_faces};
use super::{Bundle, Outflow, Pass};
use crate::simd::vectors::Eight;
use crate::solver::BoundaryCondition;
use crate::solver::solids::CLOSED;

impl Pass<'_> {
    /// Computes the volumes that cross the faces and those of the cells before the sweep.
    pub(super) fn load_motion(&self, lines: &mut Lines, bundle: Bundle, part: Option<Part>) {
        let Bundle { axis, place, range: [first, end], .. } = bundle;
        let (layout, velocity, walls) = (self.flow.layout, self.flow.velocity, self.flow.walls);
        let LineLayout { at, across, along, count } = place;
        let n = layout.dims.array()[axis];
        let from = at + first * along;
        let is_first = axis == self.ends[0];
        let Lines { courant, whole, .. } = lines;
        *whole = is_first && part.is_none_or(|part| part.moved == 0.0);
        let crossing = &mut courant[first + HALO..end + HALO + 1];
        if axis == 0 {
            interleave::turn(&velocity[0], [from, across, count], self.steps, crossing);
        } else {
            interleave::gather(&velocity[axis], [from, along, count], self.steps, crossing);
        }
        for (face, is_wall) in [0, n].into_iter().zip(walls.solid_sides()[axis]) {
            if is_wall && (first..=end).contains(&face) {
                crossing[face - first] = Eight([0.0; ACROSS]);
            }
        }
        // Without divergence the last sweep makes V 1.
        let is_last = axis == self.ends[1] && !is_first && part.is_none_or(|part| !part.is_local());
        // The cells around strained ones; beside them the round moves all air or none.
        let within = part.map(|part| {
            let [low, high] = part.window(axis);
            (part, [first.max(low), end.min(high)])
        });
        let within = within.filter(|(_, [low, high])| low < high);
        if !*whole && !is_last {
            let is_uniform = part.is_some_and(|part| is_first || part.is_local());
            let out = &mut lines.volume[first + HALO..end + HALO];
            if is_uniform {
                out.fill(Eight([1.0; ACROSS]));
            } else {
                let before = self.ends[0];
                let fields = [&velocity[before][..], &velocity[before][layout.strides()[before]..]];
                interleave::gather_volumes(fields, [from, along, count], self.steps, out);
            }
            if let Some((part, range)) = within {
                self.load_volumes(lines, Bundle { range, ..bundle }, part);
            }
        }
        if let Some((part, [low, high])) = within {
            let weights = part.of_round([axis, bundle.lanes()], bundle.origin, low);
            weigh_faces(weights, &mut lines.courant[low + HALO..high + HALO + 1]);
        }
        let Lines { volume, courant, whole, .. } = lines;
        if *whole {
            return;
        }
        if is_last {
            let crossing = &courant[first + HALO..end + HALO + 1];
            interleave::volumes_before(crossing, &mut volume[first + HALO..end + HALO]);
        }
        let wraps = walls.periodic()[axis] && [first, end] == [0, n];
        for depth in 0..self.upstream(axis) {
            let images = [n - 1 - depth % n, depth % n];
            for (to, image) in [first + HALO - 1 - depth, end + HALO + depth].into_iter().zip(images) {
                volume[to] = if wraps { volume[image + HALO] } else { Eight([1.0; ACROSS]) };
            }
        }
    }

    /// Computes the volumes of a bundle in the box around strained cells, from the volumes that cross its faces in a step of one round.
    fn load_volumes(&self, lines: &mut Lines, bundle: Bundle, part: Part) {
        let (layout, velocity) = (self.flow.layout, self.flow.velocity);
        let Bundle { axis, place: LineLayout { at, across, along, count }, range: [first, end], origin } =
            bundle;
        let (from, lanes) = (at + first * along, bundle.lanes());
        let Lines { volume, courant, beside, .. } = lines;
        let out = &mut volume[first + HALO..end + HALO];
        out.fill(Eight([1.0; ACROSS]));
        let swept = |other: usize| other != axis && (other == self.ends[0] || axis == self.ends[1]);
        // All rounds together make V 1. After the first sweep of the last one fewer axes are left to move than have moved.
        let from_end = !part.is_local() && axis != self.ends[0];
        for other in 0..3 {
            let axes = [axis, lanes, other];
            let weights = if !from_end {
                part.weights(axes, origin, first, swept(other))
            } else if !swept(other) {
                part.remaining(axes, origin, first)
            } else {
                continue;
            };
            if weights.iter().all(Weights::are_none) {
                continue;
            }
            if other == axis {
                let [below, above] = [0, 1].map(|side| &courant[first + HALO + side..end + HALO + side]);
                drain(weights, [below, above], out);
                continue;
            }
            let faces = beside.each_mut().map(|faces| &mut faces[first + HALO..end + HALO]);
            for (from, out) in [from, from + layout.strides()[other]].into_iter().zip(faces) {
                if axis == 0 {
                    interleave::turn(&velocity[other], [from, across, count], self.steps, out);
                } else {
                    interleave::gather(&velocity[other], [from, along, count], self.steps, out);
                }
            }
            let [below, above] = beside.each_ref().map(|faces| &faces[first + HALO..end + HALO]);
            drain(weights, [below, above], out);
        }
    }

    /// Marks open and closed inner faces in `lines`. Returns true if any is closed.
    pub(super) fn load_walls(
        &self,
        lines: &mut Lines,
        Bundle { axis, place, range: [first, end], .. }: Bundle,
    ) -> bool {
        let Some(flags) = self.flow.flags else { return false };
        let LineLayout { at, across, along, count } = place;
        let n = self.flow.layout.dims.array()[axis];
        let is_closed = |i: usize, l: usize| flags[at + i * along + l * across] & CLOSED << axis != 0;
        let closed = (first.saturating_sub(BEYOND).max(1)..(end + BEYOND + 1).min(n))
            .any(|i| (0..count).any(|l| is_closed(i, l)));
        let solid = self.flow.walls.periodic()[axis] && (0..count).any(|l| is_closed(0, l));
        if closed || solid {
            lines.open[first + HALO - BEYOND..end + HALO + BEYOND + 1].fill(Eight([1.0; ACROSS]));
            let [from, to] = if solid { [0, n + 1] } else { [1, n] };
            for i in from.max(first.saturating_sub(BEYOND))..to.min(end + BEYOND + 1) {
                let out = lines.open[i + HALO].0[..count].iter_mut().enumerate();
                out.for_each(|(l, out)| *out = if is_closed(i % n, l) { -1.0 } else { 1.0 });
            }
        }
        closed || solid
    }

    /// Fills the ghost cells of a bundle: boundary values beyond the sides of the box, 0 elsewhere.
    pub(super) fn load_ghosts(
        &self,
        lines: &mut Lines,
        c: usize,
        (bundle, part): (Bundle, Option<Part>),
        beyond: usize,
    ) {
        const NONE: Eight = Eight([0.0; ACROSS]);
        let Bundle { axis, place, range, .. } = bundle;
        let [first, end] = range;
        let n = self.flow.layout.dims.array()[axis];
        let Lines { values, courant, .. } = lines;
        let values = &mut values[c];
        let [low, high] = self.flow.walls.sides()[axis];
        for (side, is_high) in [(low, false), (high, true)] {
            let is_beyond = if is_high { end == n } else { first == 0 };
            for depth in 0..beyond {
                let to = if is_high { end + HALO + depth } else { first + HALO - 1 - depth };
                if !is_beyond {
                    values[to] = NONE;
                    continue;
                }
                let image = match side {
                    BoundaryCondition::Closed | BoundaryCondition::NoSlip(_) => {
                        let fold = depth % (2 * n);
                        let fold = if fold < n { fold } else { 2 * n - 1 - fold };
                        if is_high { n - 1 - fold } else { fold }
                    }
                    BoundaryCondition::Periodic => {
                        if is_high {
                            depth % n
                        } else {
                            n - 1 - depth % n
                        }
                    }
                    BoundaryCondition::Open => {
                        let edge = values[if is_high { n - 1 } else { 0 } + HALO];
                        let crossing = courant[if is_high { n } else { 0 } + HALO];
                        let sign = if is_high { 1.0 } else { -1.0 };
                        for l in 0..ACROSS {
                            values[to].0[l] = if sign * crossing.0[l] > 0.0 { edge.0[l] } else { 0.0 };
                        }
                        continue;
                    }
                    BoundaryCondition::Inflow(air) => {
                        values[to] = Eight([air.scalars[c]; ACROSS]);
                        let crossing = courant[if is_high { n } else { 0 } + HALO];
                        for l in 0..place.count {
                            let cell = place.at + l * place.across;
                            let entering = if is_high { -crossing.0[l] } else { crossing.0[l] };
                            let parts = || {
                                let span = self.span((bundle, part), is_high, l);
                                self.decay.parts_of_entering(span, [depth as f32, entering])
                            };
                            if self.flow.walls.gives_scalar([axis, usize::from(is_high)], c) {
                                let place = (cell, lag(parts()));
                                values[to].0[l] +=
                                    self.flow.walls.varying_scalar([axis, usize::from(is_high)], c, place);
                            }
                            let holds = values[to].0[l] != 0.0 && self.decay.of_step.acts_on(c);
                            if holds && entering > 0.0 {
                                values[to].0[l] *= self.decay.of_entering(c, parts());
                            }
                        }
                        continue;
                    }
                };
                values[to] = if (first..end).contains(&image) { values[image + HALO] } else { NONE };
            }
        }
    }

    /// The parts of the step within which the air of this round crosses a side of line `l`; none outside a box around strained cells.
    fn span(&self, (bundle, part): (Bundle, Option<Part>), is_high: bool, l: usize) -> Option<[f64; 2]> {
        let Bundle { axis, range: [first, end], origin, .. } = bundle;
        let face = if is_high { end - first } else { 0 };
        part.map(|part| part.span(part.of_round([axis, bundle.lanes()], origin, first).at(l, face)))
    }

    /// Adds the outflow through the sides of the box to `left`.
    pub(super) fn count_sides(
        &self,
        lines: &Lines,
        c: usize,
        (bundle, part): (Bundle, Option<Part>),
        left: &mut Outflow,
    ) {
        let Bundle { axis, place, range, .. } = bundle;
        let n = self.flow.layout.dims.array()[axis];
        for (is_high, side) in self.flow.walls.sides()[axis].into_iter().enumerate() {
            // The rank beside a side across z counts it.
            let is_beyond = range[is_high] == [0, n][is_high]
                && (axis < 2 || self.flow.layout.cell_planes()[is_high] == range[is_high]);
            if is_beyond && matches!(side, BoundaryCondition::Open | BoundaryCondition::Inflow(_)) {
                let moved = lines.ends[c][is_high].0.map(f64::from);
                let sum: f64 = moved.iter().sum();
                left[0][c] += [-sum, sum][is_high];
                let leaving = |l: usize| self.decay.of_leaving(c, self.span((bundle, part), is_high == 1, l));
                let crossed = match (side, part) {
                    _ if !self.decay.of_step.acts_on(c) => sum,
                    (BoundaryCondition::Inflow(air), _) => {
                        let crossing = lines.courant[range[is_high] + HALO].0;
                        let of_line = |l: usize| {
                            if [crossing[l] < 0.0, crossing[l] > 0.0][is_high] {
                                return moved[l] * leaving(l);
                            }
                            let span = self.span((bundle, part), is_high == 1, l);
                            let place = (place.at + l * place.across, lag(span.unwrap_or(self.decay.span)));
                            let varying = self.flow.walls.varying_scalar([axis, is_high], c, place);
                            f64::from(crossing[l]) * f64::from(air.scalars[c] + varying)
                        };
                        (0..place.count).map(of_line).sum()
                    }
                    (_, Some(_)) => (0..place.count).map(|l| moved[l] * leaving(l)).sum(),
                    (_, None) => sum * self.decay.of_leaving(c, None),
                };
                left[1][c] += [-crossed, crossed][is_high];
            }
        }
    }
}

/// Share of the step from the middle between two parts of it to its end.
fn lag([from, to]: [f64; 2]) -> f32 {
    (1.0 - 0.5 * (from + to)) as f32
}
