//! Sides whose velocity, smoke or heat varies in space and time.
//!
//! The rules of the sides make every ghost `sign · inside + add` (`sides/mod.rs`), with the constant part of `add`. The values of a
//! profile are added to the ghosts afterwards. They come from a table for each quantity and side, which is updated once a substep for
//! the instant at its end. It keeps the change since the beginning, since advection and diffusion need instants between. At edges of the
//! box the values count as constants do: as the mean over the orders of the rules.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use rayon::prelude::*;

use super::GhostRules;
use super::diffuse::Varying;
use crate::grid::{GHOST, Layout, next_axes, other_axes};
use crate::solver::config::SIDES;
use crate::solver::{BoundaryCondition, BoundaryConditions, Config, InvalidValue, SolverError};

/// Number of quantities that a side can give: u, v, w \[m/s\], red, green, blue \[-\] and temperature excess \[K\], as 0 to 6.
pub const QUANTITIES: usize = 7;

/// The first of the scalars among them.
pub const FIRST_SCALAR: usize = 3;

/// Points that one thread evaluates at once.
const CHUNK: usize = 1024;

/// A function of place and time for one side of the box.
pub trait SideValues: Send + Sync + fmt::Debug {
    /// Whether it gives this quantity, one of `QUANTITIES`. Others are those of the side's [`BoundaryCondition`].
    fn gives(&self, quantity: usize) -> bool;

    /// Puts the quantity at the instant `time` \[s\] and each point of `at` \[m\] into `out`.
    fn fill(&self, quantity: usize, time: f64, at: &[[f32; 3]], out: &mut [f32]);

    /// Values that the quantity may have. Any other is an error of the step that meets it: [`SolverError::Side`].
    fn range(&self, _quantity: usize) -> RangeInclusive<f32> {
        f32::MIN..=f32::MAX
    }
}

/// Names of the quantities.
const NAMES: [&str; QUANTITIES] =
    ["velocity along x", "velocity along y", "velocity along z", "red", "green", "blue", "temperature"];

/// A side with values that vary: velocities of a no-slip wall or an inflow, the temperature of a wall that holds one, smoke and
/// temperature of an inflow. The side's constants of these quantities must be 0.
#[derive(Clone, Debug)]
pub struct Profile {
    /// 0, 1, 2 for x, y, z.
    pub axis: usize,
    /// 0 where the coordinate is least, 1 where it is greatest.
    pub end: usize,
    /// Its values.
    pub values: Arc<dyn SideValues>,
}

impl Profile {
    /// Why it cannot vary a side of the box of `config`, if so.
    pub fn problem(&self, config: &Config) -> Option<InvalidValue> {
        let (axis, end) = (self.axis, self.end);
        if axis > 2 || end > 1 {
            return Some(InvalidValue::NoSide { axis, end });
        }
        let is_held = config.held[axis][end].is_some();
        let takes = |quantity: usize| match config.sides[axis][end] {
            BoundaryCondition::Inflow(_) => true,
            // The one across the wall must be 0; `imbalance` finds another.
            BoundaryCondition::NoSlip(_) if quantity < FIRST_SCALAR => true,
            BoundaryCondition::NoSlip(_) | BoundaryCondition::Closed => quantity == QUANTITIES - 1 && is_held,
            _ => false,
        };
        let given = (0..QUANTITIES).filter(|&quantity| self.values.gives(quantity));
        let mut lost = given.filter(|&quantity| !takes(quantity));
        lost.next()
            .map(|quantity| InvalidValue::NoProfile { side: SIDES[axis][end], quantity: NAMES[quantity] })
    }
}

/// One quantity on one side.
#[derive(Clone, Debug)]
pub struct Table {
    profile: Profile,
    quantity: usize,
    /// Counts along the two other axes, ghosts included.
    shape: [usize; 2],
    points: Vec<[f32; 3]>,
    values: Vec<f32>,
    /// Change of the values since the instant before.
    changes: Vec<f32>,
    /// The instant \[s\], and the first value that is out of range then.
    time: f64,
    wrong: Option<usize>,
}

impl Table {
    fn new(
        layout: Layout,
        (h, corner): (f32, [f32; 3]),
        sides: BoundaryConditions,
        profile: &Profile,
        quantity: usize,
    ) -> Self {
        let (axis, n) = (profile.axis, layout.dims.array());
        let [b, c] = next_axes(axis);
        let shape = [b, c].map(|other| n[other] + 2 * GHOST);
        let coordinate = |other: usize, index: usize| {
            let length = n[other] as f32 * h;
            let offset = if quantity == other { 0.0 } else { 0.5 };
            let x = (index as f32 - GHOST as f32 + offset) * h;
            let periodic = sides[other][0] == BoundaryCondition::Periodic;
            if periodic { x.rem_euclid(length) } else { x.clamp(0.0, length) }
        };
        let places = (0..shape[1]).flat_map(|q| (0..shape[0]).map(move |p| [p, q]));
        let points: Vec<[f32; 3]> = places
            .map(|[p, q]| {
                let mut at = [profile.end as f32 * n[axis] as f32 * h; 3];
                (at[b], at[c]) = (coordinate(b, p), coordinate(c, q));
                [0, 1, 2].map(|a| at[a] + corner[a])
            })
            .collect();
        let (profile, zeros) = (profile.clone(), vec![0.0; points.len()]);
        let (values, changes) = (zeros.clone(), zeros);
        Self { profile, quantity, shape, values, changes, points, time: 0.0, wrong: None }
    }

    /// All that `profiles` give in a box of `sides`.
    pub fn all(
        layout: Layout,
        place: (f32, [f32; 3]),
        sides: BoundaryConditions,
        profiles: &[Profile],
    ) -> Vec<Self> {
        let given =
            |profile: &Profile| (0..QUANTITIES).filter(|&of| profile.values.gives(of)).collect::<Vec<_>>();
        let of_side =
            |profile| given(profile).into_iter().map(move |of| Self::new(layout, place, sides, profile, of));
        profiles.iter().flat_map(of_side).collect()
    }

    /// Whether it lies on this end of an axis.
    fn is_at(&self, axis: usize, end: usize) -> bool {
        (self.profile.axis, self.profile.end) == (axis, end)
    }

    /// Brings it up to the instant `time` \[s\].
    pub fn set_time(&mut self, time: f64) {
        let Self { profile, quantity, points, values, changes, .. } = self;
        let range = profile.values.range(*quantity);
        let chunks =
            values.par_chunks_mut(CHUNK).zip(changes.par_chunks_mut(CHUNK)).zip(points.par_chunks(CHUNK));
        let wrong = chunks.enumerate().filter_map(|(chunk, ((values, changes), at))| {
            changes.copy_from_slice(values);
            profile.values.fill(*quantity, time, at, values);
            changes.iter_mut().zip(&*values).for_each(|(change, value)| *change = *value - *change);
            Some(chunk * CHUNK + values.iter().position(|value| !range.contains(value))?)
        });
        (self.wrong, self.time) = (wrong.min(), time);
    }

    /// The error of the first value that is out of range.
    fn error(&self) -> Option<SolverError> {
        let Self { profile: Profile { axis, end, values }, quantity, points, time, .. } = self;
        let (wrong, range) = (self.wrong?, values.range(*quantity));
        Some(SolverError::Side {
            side: SIDES[*axis][*end],
            quantity: NAMES[*quantity],
            value: self.values[wrong],
            at: points[wrong],
            time: *time,
            range: [*range.start(), *range.end()],
        })
    }

    /// Calls `f(position in the layout, value)` for each place of the layer at `index` along the side's axis, with the values at the share
    /// `lag` of a step before its end. `sign(axis, index)`
    /// is the factor that another side's rule puts on what is inside; beyond such a side the value counts as the mean over the
    /// orders in which the rules can be applied.
    fn each(
        &self,
        layout: Layout,
        (index, lag): (isize, f32),
        sign: impl Fn(usize, isize) -> Option<f32>,
        mut f: impl FnMut(usize, f32),
    ) {
        let (axis, strides, [b, c]) = (self.profile.axis, layout.strides(), next_axes(self.profile.axis));
        let layer = (index + GHOST as isize) as usize * strides[axis];
        for q in 0..self.shape[1] {
            let across = sign(c, q as isize - GHOST as isize);
            for p in 0..self.shape[0] {
                let weight = match (sign(b, p as isize - GHOST as isize), across) {
                    (None, None) => 1.0,
                    (Some(s), None) | (None, Some(s)) => 0.5 * (1.0 + s),
                    // Before, between and after the other two, each in a third of the orders.
                    (Some(s), Some(t)) => (1.0 + 0.5 * (s + t) + s * t) / 3.0,
                };
                let value = weight * self.value(p + q * self.shape[0], lag);
                if value != 0.0 {
                    f(layer + p * strides[b] + q * strides[c], value);
                }
            }
        }
    }

    /// The value of a `place` at the share `lag` of a step before its end.
    fn value(&self, place: usize, lag: f32) -> f32 {
        self.values[place] - lag * self.changes[place]
    }

    /// Calls `add(line, value)` for the lines across the side within `range`, those of the lower of its axes beside each other.
    fn add_to_lines<T>(
        &self,
        range: [[isize; 2]; 3],
        varying: Varying,
        lines: &mut [T],
        add: impl Fn(&mut T, f32),
    ) {
        let values = match varying {
            Varying::Value => &self.values,
            Varying::Change => &self.changes,
        };
        let axis = self.profile.axis;
        let ([low, high], first) = (other_axes(axis), next_axes(axis)[0]);
        let places = (range[high][0]..range[high][1])
            .flat_map(|q| (range[low][0]..range[low][1]).map(move |p| [p, q]));
        for (line, place) in lines.iter_mut().zip(places) {
            let [p, q] = place.map(|index| (index + GHOST as isize) as usize);
            let [p, q] = if first == low { [p, q] } else { [q, p] };
            add(line, values[p + q * self.shape[0]]);
        }
    }
}

impl GhostRules {
    /// Fails if a side has a value out of its range at the instant of the last [`set_time`](Self::set_time).
    pub fn check_values(&self) -> Result<(), SolverError> {
        self.tables().iter().find_map(Table::error).map_or(Ok(()), Err)
    }

    /// Adds what profiles give to the ghosts of `component` and its faces on sides, or to these faces alone.
    pub fn add_profiles(&self, component: usize, field: &mut [f32], faces_alone: bool) {
        let (layout, n) = (self.layout(), self.layout().dims.array().map(|n| n as isize));
        let rules = self.rules(component);
        let sign = |axis: usize, index: isize| {
            rules[axis].iter().find(|ghost| ghost.at == index).map(|ghost| ghost.sign)
        };
        for table in self.tables().iter().filter(|table| table.quantity == component) {
            let (axis, end) = (table.profile.axis, table.profile.end);
            let of_end = rules[axis].iter().filter(|ghost| usize::from(2 * ghost.at >= n[axis]) == end);
            let on_side = |index: isize| component == axis && (0..=n[axis]).contains(&index);
            for ghost in of_end.filter(|ghost| !faces_alone || on_side(ghost.at)) {
                // Mirrored at the wall, or the value itself.
                let factor = if ghost.sign < 0.0 { 2.0 } else { 1.0 };
                table.each(layout, (ghost.at, 0.0), sign, |at, value| {
                    if layout.own().contains(&at) {
                        field[at] += factor * value;
                    }
                });
            }
        }
    }

    /// The same for the ghosts of the scalars, at the share `lag` of a step before its end.
    pub fn add_scalar_profiles(&self, scalars: &mut [[f32; 4]], lag: f32) {
        let (layout, n) = (self.layout(), self.layout().dims.array().map(|n| n as isize));
        let sign = |axis: usize, index: isize| {
            let end = [index < 0, index >= n[axis]].into_iter().position(|beyond| beyond)?;
            let fixed =
                matches!(self.sides()[axis][end], BoundaryCondition::Open | BoundaryCondition::Inflow(_));
            Some(if fixed { 0.0 } else { 1.0 })
        };
        for table in self.tables().iter().filter(|table| table.quantity >= FIRST_SCALAR) {
            let (axis, end) = (table.profile.axis, table.profile.end);
            let is_inflow = matches!(self.sides()[axis][end], BoundaryCondition::Inflow(_));
            let factor = if is_inflow { 1.0 } else { 2.0 };
            for index in [[-1, -2], [n[axis], n[axis] + 1]][end] {
                let channel = table.quantity - FIRST_SCALAR;
                table.each(layout, (index, lag), sign, |at, value| {
                    if layout.own().contains(&at) {
                        scalars[at][channel] += factor * value;
                    }
                });
            }
        }
    }

    /// Net flow through the inflows of a box without an open side, as a share of the sum of all. The constants were checked when the box
    /// was made: without profiles it is 0.
    pub fn imbalance(&self) -> f32 {
        let has_exit = self.sides().as_flattened().contains(&BoundaryCondition::Open);
        if has_exit || self.tables().is_empty() {
            return 0.0;
        }
        let n = self.layout().dims.array();
        let (mut net, mut all) = (0.0, 0.0);
        for (axis, end) in (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]) {
            let constant = match self.sides()[axis][end] {
                BoundaryCondition::Inflow(air) => air.velocity[axis],
                BoundaryCondition::NoSlip(_) => 0.0,
                _ => continue,
            };
            let [b, c] = next_axes(axis);
            let across = self.tables().iter().find(|table| table.is_at(axis, end) && table.quantity == axis);
            for (p, q) in (0..n[c]).flat_map(|q| (0..n[b]).map(move |p| (p, q))) {
                let varying =
                    across.map_or(0.0, |table| table.values[p + GHOST + (q + GHOST) * table.shape[0]]);
                let speed = f64::from(constant + varying) * [1.0, -1.0][end];
                (net, all) = (net + speed, all + speed.abs());
            }
        }
        if all > 0.0 { (net / all).abs() as f32 } else { 0.0 }
    }

    /// Returns true if red, green, blue or temperature (0 to 3) varies on the side at this end of an axis.
    pub fn gives_scalar(&self, [axis, end]: [usize; 2], channel: usize) -> bool {
        self.tables().iter().any(|table| table.is_at(axis, end) && table.quantity == FIRST_SCALAR + channel)
    }

    /// The varying part of a scalar on a side, at the cell with this index of the layout and at the share `lag` of a step before its end;
    /// 0 without a profile.
    pub fn varying_scalar(&self, [axis, end]: [usize; 2], channel: usize, (cell, lag): (usize, f32)) -> f32 {
        let of = |table: &&Table| table.is_at(axis, end) && table.quantity == FIRST_SCALAR + channel;
        self.tables().iter().find(of).map_or(0.0, |table| {
            let Layout { row, plane, .. } = self.layout();
            let index = [cell % row, cell % plane / row, cell / plane];
            let [b, c] = next_axes(axis);
            table.value(index[b] + index[c] * table.shape[0], lag)
        })
    }

    /// Adds what profiles give to the values of `component` beyond an end of its lines: one for each line within `range`, those of the
    /// lower of the other two axes beside each other.
    pub fn add_varying(
        &self,
        component: usize,
        [axis, end]: [usize; 2],
        range: [[isize; 2]; 3],
        varying: Varying,
        out: &mut [[f32; 1]],
    ) {
        let beyond = [range[axis][0] - 1, range[axis][1]][end];
        let is_mirrored =
            self.rules(component)[axis].iter().any(|ghost| ghost.at == beyond && ghost.sign < 0.0);
        let factor = if is_mirrored { 2.0 } else { 1.0 };
        let tables =
            self.tables().iter().filter(|table| table.is_at(axis, end) && table.quantity == component);
        tables
            .for_each(|table| table.add_to_lines(range, varying, out, |[out], value| *out += factor * value));
    }

    /// The same for the scalars.
    pub fn add_varying_scalars(
        &self,
        [axis, end]: [usize; 2],
        range: [[isize; 2]; 3],
        varying: Varying,
        out: &mut [[f32; 4]],
    ) {
        let is_inflow = matches!(self.sides()[axis][end], BoundaryCondition::Inflow(_));
        let factor = if is_inflow { 1.0 } else { 2.0 };
        for table in
            self.tables().iter().filter(|table| table.is_at(axis, end) && table.quantity >= FIRST_SCALAR)
        {
            let channel = table.quantity - FIRST_SCALAR;
            table.add_to_lines(range, varying, out, |out, value| out[channel] += factor * value);
        }
    }

    /// Whether the ends of lines along `axis` vary from line to line: of a component of the velocity, or of the scalars.
    pub fn varies(&self, component: Option<usize>, axis: usize) -> [bool; 2] {
        let concerns = |table: &Table| match component {
            Some(component) => table.quantity == component,
            None => table.quantity >= FIRST_SCALAR,
        };
        [0, 1].map(|end| self.tables().iter().any(|table| table.is_at(axis, end) && concerns(table)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::solver::{Config, Inflow, Integrator, Params, Shape, Slip, Solid, Solver};

    /// A quantity as a function of time and place.
    struct Given<F>(usize, F);

    impl<F> fmt::Debug for Given<F> {
        fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
            write!(f, "{}", self.0)
        }
    }

    impl<F: Fn(f64, [f32; 3]) -> f32 + Send + Sync> SideValues for Given<F> {
        fn gives(&self, quantity: usize) -> bool {
            quantity == self.0
        }

        fn fill(&self, _: usize, time: f64, at: &[[f32; 3]], out: &mut [f32]) {
            out.iter_mut().zip(at).for_each(|(out, at)| *out = self.1(time, *at));
        }
    }

    fn profile(
        [axis, end]: [usize; 2],
        quantity: usize,
        f: impl Fn(f64, [f32; 3]) -> f32 + Send + Sync + 'static,
    ) -> Profile {
        Profile { axis, end, values: Arc::new(Given(quantity, f)) }
    }

    fn solver(
        n: [usize; 3],
        sides: BoundaryConditions,
        held: [[Option<f32>; 2]; 3],
        params: Params,
    ) -> Solver {
        let config = Config { sides, held, threads: 2, ..Config::new(Dims::new(n).unwrap(), 0.1) };
        Solver::new(config, Params { vorticity: 0.0, cooling: 0.0, ..params }, vec![]).unwrap()
    }

    /// Runs two solvers whose sides say the same, one by constants, one by profiles.
    fn assert_same(mut constant: Solver, mut varying: Solver, profiles: Vec<Profile>, solids: &[Solid]) {
        varying.set_profiles(profiles).unwrap();
        for solver in [&mut constant, &mut varying] {
            solver.set_solids(solids.to_vec()).unwrap();
            solver.fill(|c, p| 0.3 * (5.0 * p[(c + 1) % 3]).sin(), |p| [p[0], 0.0, p[1], 3.0 * p[2]]);
            for _ in 0..8 {
                solver.step(0.05).unwrap();
            }
        }
        let (layout, [nx, ny, nz]) = (constant.layout(), constant.layout().dims.array());
        let mut apart = 0.0f32;
        for (j, k) in (0..nz).flat_map(|k| (0..ny).map(move |j| (j, k))) {
            for at in layout.start(j, k)..layout.start(j, k) + nx {
                let of = |solver: &Solver, c: usize| match c {
                    0..3 => solver.velocity()[c][at],
                    _ => solver.scalars()[at][c - 3],
                };
                apart = (0..7).map(|c| (of(&constant, c) - of(&varying, c)).abs()).fold(apart, f32::max);
            }
        }
        println!("{} solids: {apart}", solids.len());
        assert!(apart < if solids.is_empty() { 2e-5 } else { 2e-4 }, "{apart}");
    }

    /// Where solids move, ghosts beyond the inflow held the smoke of the step before, and the missing inflow was taken from all smoke.
    #[test]
    fn smoke_comes_in_beside_a_moving_solid_as_beside_one_that_stands() {
        for heat in [false, true] {
            let came = |to: f32| {
                let air = Inflow { velocity: [0.0, -0.9, 0.0], scalars: [0.0; 4] };
                let closed = [BoundaryCondition::Closed; 2];
                let sides = [closed, [BoundaryCondition::Open, BoundaryCondition::Inflow(air)], closed];
                let still = Params { heat_buoyancy: 0.0, ..Params::default() };
                let mut solver = solver([8, 16, 8], sides, Default::default(), still);
                let late = |time: f64, _| if time > 0.2 { 1.0 } else { 0.0 };
                solver.set_profiles(vec![profile([1, 1], if heat { 6 } else { 3 }, late)]).unwrap();
                let plate = Solid::new(Shape::Box { size: [0.5, 0.2, 0.5] }, [0.4, 1.2, 0.4]);
                let keyframes = vec![(0.0, plate.position), (1.0, [0.4, 1.2, to])];
                solver.set_solids(vec![Solid { keyframes, ..plate }]).unwrap();
                solver.fill(|c, _| if c == 1 { -0.9 } else { 0.0 }, |_| [0.0; 4]);
                for _ in 0..8 {
                    solver.step(1.0 / 24.0).unwrap();
                }
                let (stats, of) = (solver.stats(), if heat { 3 } else { 0 });
                let held = if heat { stats.heat } else { stats.mass[0] };
                [held, held + stats.left.unwrap()[of] + stats.faded.unwrap()[of]]
            };
            let (still, moving) = (came(0.4), came(0.36));
            assert!(moving[1].abs() < 1e-5 * moving[0], "the budget of {moving:?}");
            assert!((moving[0] / still[0] - 1.0).abs() < 0.01, "{moving:?} and {still:?}");
        }
    }

    #[test]
    fn a_profile_that_is_the_same_everywhere_is_the_constant() {
        let (closed, still) = (BoundaryCondition::Closed, BoundaryCondition::NoSlip([0.0; 3]));
        let params = || Params { viscosity: 0.01, conduction: 0.02, ..Params::default() };
        let n = [10, 9, 8];
        // A lid that also holds a temperature.
        let sides = |lid: [f32; 3]| [[closed; 2], [still, BoundaryCondition::NoSlip(lid)], [still; 2]];
        let held = |lid: f32| [[None; 2], [None, Some(lid)], [None; 2]];
        let ball = Solid { slip: Slip::None, ..Solid::new(Shape::Sphere { radius: 0.2 }, [0.5, 0.5, 0.4]) };
        for solids in [vec![], vec![ball]] {
            assert_same(
                solver(n, sides([0.5, 0.0, 0.2]), held(6.0), params()),
                solver(n, sides([0.0; 3]), held(0.0), params()),
                vec![
                    profile([1, 1], 0, |_, _| 0.5),
                    profile([1, 1], 2, |_, _| 0.2),
                    profile([1, 1], 6, |_, _| 6.0),
                ],
                &solids,
            );
            let sides = |air: Inflow| {
                let out = [BoundaryCondition::Inflow(air), BoundaryCondition::Open];
                [out, [still; 2], [closed; 2]]
            };
            let air = Inflow { velocity: [0.7, 0.1, 0.0], scalars: [0.0, 2.0, 0.0, 4.0] };
            assert_same(
                solver(n, sides(air), Default::default(), params()),
                solver(n, sides(Inflow::default()), Default::default(), params()),
                vec![
                    profile([0, 0], 0, |_, _| 0.7),
                    profile([0, 0], 1, |_, _| 0.1),
                    profile([0, 0], 4, |_, _| 2.0),
                    profile([0, 0], 6, |_, _| 4.0),
                ],
                &solids,
            );
        }
    }

    /// Red between 0 and 10.
    #[derive(Debug)]
    struct Red(fn(f64, f32) -> f32);

    impl SideValues for Red {
        fn gives(&self, quantity: usize) -> bool {
            quantity == 3
        }

        fn fill(&self, _: usize, time: f64, at: &[[f32; 3]], out: &mut [f32]) {
            out.iter_mut().zip(at).for_each(|(out, at)| *out = self.0(time, at[1]));
        }

        fn range(&self, _: usize) -> RangeInclusive<f32> {
            0.0..=10.0
        }
    }

    /// A negative value became negative smoke, NaN an error of the air, and infinity one of the number of substeps.
    #[test]
    fn a_side_out_of_its_range_ends_the_step_before_it_acts() {
        type Case = (fn(f64, f32) -> f32, f32);
        let cases: [Case; 3] = [
            (|t, y| if t > 0.25 && y > 0.5 { -5.0 } else { 1.0 }, -5.0),
            (|t, y| if t > 0.25 && y > 0.5 { f32::NAN } else { 1.0 }, f32::NAN),
            (|t, y| if t > 0.25 && y > 0.5 { f32::INFINITY } else { 1.0 }, f32::INFINITY),
        ];
        for (detail, (red, value)) in [1, 2].into_iter().flat_map(|detail| cases.map(|case| (detail, case))) {
            let inflow = BoundaryCondition::Inflow(Inflow { velocity: [1.0, 0.0, 0.0], scalars: [0.0; 4] });
            let sides = [
                [inflow, BoundaryCondition::Open],
                [BoundaryCondition::Closed; 2],
                [BoundaryCondition::Closed; 2],
            ];
            let config =
                Config { sides, detail, threads: 2, ..Config::new(Dims::new([8, 8, 6]).unwrap(), 0.1) };
            let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
            let side = |red| Profile { axis: 0, end: 0, values: Arc::new(Red(red)) };
            solver.set_profiles(vec![side(red)]).unwrap();
            (0..2).for_each(|_| solver.step(0.1).map(drop).unwrap());
            let before = (solver.velocity().clone(), solver.scalars().to_vec(), solver.stats().time);
            for _ in 0..2 {
                let error = solver.step(0.1).map(drop).unwrap_err();
                let text = error.to_string();
                assert!(text.starts_with("x_min: red is ") && text.contains("0.3 s"), "{text}");
                let SolverError::Side { value: found, at, range, .. } = error else { panic!("{text}") };
                assert_eq!(found.to_bits(), value.to_bits(), "{text}");
                assert!(at[0] == 0.0 && (0.5..0.6).contains(&at[1]) && range == [0.0, 10.0], "{text}");
                let after = (solver.velocity().clone(), solver.scalars().to_vec(), solver.stats().time);
                assert!(after == before, "a step that fails changes nothing");
            }
            solver.set_profiles(vec![side(|_, _| 1.0)]).unwrap();
            solver.step(0.1).unwrap();
        }
    }

    /// Half the step leaves a quarter of the error, beside the wall too.
    #[test]
    fn a_swinging_wall_is_of_second_order_in_time() {
        let around = [BoundaryCondition::Periodic; 2];
        let sides = [around, [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::Closed], around];
        let held = [[None; 2], [Some(0.0), None], [None; 2]];
        let params = Params {
            viscosity: 0.02,
            conduction: 0.02,
            vorticity: 0.0,
            cooling: 0.0,
            heat_buoyancy: 0.0,
            ..Params::default()
        };
        for integrator in [Integrator::Projection, Integrator::Trapezoid, Integrator::Reflection] {
            let run = |steps: u32| {
                let dims = Dims::new([4, 24, 1]).unwrap();
                let config = Config { sides, held, integrator, threads: 1, ..Config::new(dims, 1.0 / 24.0) };
                let mut solver = Solver::new(config, params.clone(), vec![]).unwrap();
                let swings = |t: f64, _| (6.0 * t).sin() as f32;
                solver.set_profiles(vec![profile([1, 0], 0, swings), profile([1, 0], 6, swings)]).unwrap();
                (0..steps).for_each(|_| solver.step(1.0 / steps as f32).map(drop).unwrap());
                let at = |j| solver.layout().at(0, j, 0);
                [0, 1, 4].map(|j| [solver.velocity()[0][at(j)], solver.scalars()[at(j)][3]])
            };
            let exact = run(800);
            let error = |steps: u32| {
                let off = run(steps).into_iter().flatten().zip(exact.into_iter().flatten());
                off.map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max)
            };
            let [coarse, fine] = [20, 40].map(error);
            assert!(coarse < 0.01 && fine < 0.3 * coarse, "{integrator:?}: {coarse}, {fine}");
        }
    }

    /// Stokes' second problem: the air over a wall that swings in its own plane moves as e^(−y/δ) cos(ωt − y/δ).
    #[test]
    fn air_over_a_swinging_wall_moves_as_stokes_says() {
        let (nu, omega) = (0.1f32, 2.0f64);
        let around = [BoundaryCondition::Periodic; 2];
        let sides = [around, [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::Closed], around];
        let mut solver =
            solver([1, 24, 1], sides, Default::default(), Params { viscosity: nu, ..Params::default() });
        solver.set_profiles(vec![profile([1, 0], 0, move |t, _| (omega * t).cos() as f32)]).unwrap();
        let delta = (2.0 * nu / omega as f32).sqrt();
        let exact = |t: f64, y: f32| (-y / delta).exp() * ((omega * t) as f32 - y / delta).cos();
        solver.fill(|c, p| if c == 0 { exact(0.0, p[1]) } else { 0.0 }, |_| [0.0; 4]);
        for _ in 0..400 {
            solver.step(0.01).unwrap();
        }
        let time = solver.stats().time;
        for j in 0..24 {
            let (got, y) = (solver.velocity()[0][solver.layout().at(0, j, 0)], 0.1 * (j as f32 + 0.5));
            assert!((got - exact(time, y)).abs() < 0.02, "at {y} m: {got}, not {}", exact(time, y));
        }
    }
}
