//! Steps of smoke and heat alone, through a flow that is given: the frames of a finished run.

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use crate::grid::Faces;
use crate::solver::storage::halt::Halt;
use crate::solver::{Solver, SolverError, StepStats};

impl Solver {
    /// Advances smoke and heat by `dt` seconds through a flow that turns linearly from `ends[0]` to `ends[1]`, in as many substeps
    /// as it needs. Velocities \[m/s\] have the layout of [`layout`](Self::layout). A projection
    /// removes what divergence they have beside the solids of the moment, unless the flow is frozen; no force acts. At the end
    /// [`velocity`](Self::velocity) is `ends[1]`. With several ranks only the planes of this rank's slab are read
    /// ([`Layout::own`](crate::grid::Layout::own)).
    ///
    /// # Errors
    /// Those of [`step_cancellable`](Self::step_cancellable).
    ///
    /// # Panics
    /// If a velocity has another size than the layout.
    pub fn step_along(
        &mut self,
        dt: f32,
        ends: [&Faces; 2],
        cancel: &AtomicBool,
    ) -> Result<&StepStats, SolverError> {
        self.step_by(dt, cancel, |solver, halt| solver.substeps_along(dt, ends, halt))
    }

    fn substeps_along(&mut self, dt: f32, ends: [&Faces; 2], halt: &Halt) -> Result<(), SolverError> {
        self.fields.clear_gains();
        let own = self.fields.layout.own();
        let speeds = ends.iter().copied().flatten().map(|field| greatest(&field[own.clone()]));
        let speed = self.ranks().most(speeds.fold(0.0, f32::max));
        let solids = self.fields.obstacles.as_ref().map_or(0.0, |o| o.speed(self.stats.time, dt));
        let wanted = self.config.wanted_substeps(dt * speed.max(solids) / self.config.h);
        let parts = wanted.clamp(1, self.config.time.max_substeps.max(1));
        self.stats.substeps_missing = wanted.saturating_sub(parts);
        for part in 0..parts {
            self.set_flow(ends, (part as f32 + 0.5) / parts as f32, halt);
            self.substep(dt / parts as f32, true, halt)?;
        }
        self.set_flow(ends, 1.0, halt);
        // The substeps measured the flow at their middle, beside solids at their end.
        self.measure();
        Ok(())
    }

    /// Sets the velocity to the linear interpolation between two given ones, and projects it.
    fn set_flow(&mut self, [from, to]: [&Faces; 2], share: f32, halt: &Halt) {
        let fields = &mut self.fields;
        let own = fields.layout.own();
        for (field, (from, to)) in fields.velocity.iter_mut().zip(from.iter().zip(to)) {
            assert!(field.len() == from.len() && field.len() == to.len(), "velocities of another box");
            let [from, to] = [from, to].map(|values| &values[own.clone()]);
            let values = field[own.clone()].par_iter_mut().zip(from).zip(to);
            values.for_each(|((value, from), to)| *value = from + share * (to - from));
        }
        fields.walls.fill_velocity(&mut fields.velocity);
        self.project(halt);
    }
}

/// The greatest absolute value.
fn greatest(field: &[f32]) -> f32 {
    field.par_iter().map(|x| x.abs()).reduce(|| 0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::comm::{Comm, ThreadRanks};
    use crate::grid::Dims;
    use crate::solver::step::distribution::tests::together;
    use crate::solver::{BoundaryCondition, Config, Params, Region, Shape, Smoke, Solid, Source};

    const STEP: f32 = 0.04;

    fn solver(detail: usize, uniform: bool) -> Solver {
        solver_on(detail, uniform, None)
    }

    fn solver_on(detail: usize, uniform: bool, comm: Option<Arc<dyn Comm>>) -> Solver {
        let mut config = Config::new(Dims::new([16, 24, 14]).unwrap(), 0.05);
        (config.detail, config.threads) = (detail, 2);
        config.sides[1][1] = BoundaryCondition::Open;
        let dissipation = if uniform { 0.0 } else { 0.05 };
        let smoke = Smoke { dissipation, ..Params::default().smoke[0] };
        let region = Region::sphere([0.4, 0.3, 0.35], 0.2);
        let source = Source::new(region, [if uniform { 0.0 } else { 4.0 }, 0.0, 0.0, 600.0]);
        let params = Params { smoke: [smoke; 3], ..Params::default() };
        let mut solver = Solver::on_ranks(config, params, vec![source], comm).unwrap();
        let keyframes = vec![(0.0, [0.3, 0.8, 0.35]), (1.0, [0.5, 0.8, 0.35])];
        let ball = Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 0.12 }, [0.0; 3]) };
        solver.set_solids(vec![ball]).unwrap();
        if uniform {
            solver.fill(|_, _| 0.0, |_| [1.0, 0.0, 0.0, 0.0]);
        }
        solver
    }

    /// The velocities of a run at the ends of its steps.
    fn run(solver: &mut Solver, steps: usize) -> Vec<Faces> {
        let mut all = vec![solver.velocity().clone()];
        for _ in 0..steps {
            solver.step(STEP).unwrap();
            all.push(solver.velocity().clone());
        }
        all
    }

    fn follow(solver: &mut Solver, flow: &[Faces]) {
        for ends in flow.windows(2) {
            solver.step_along(STEP, [&ends[0], &ends[1]], &AtomicBool::new(false)).unwrap();
        }
    }

    /// Height of the smoke's centroid in the box, as a share of it.
    fn height(solver: &Solver) -> f64 {
        let (layout, dims) = (solver.smoke_layout(), solver.smoke_layout().dims);
        let (mut sum, mut moment) = (0.0, 0.0);
        for (j, k) in (0..dims.nz).flat_map(|k| (0..dims.ny).map(move |j| (j, k))) {
            for cell in &solver.scalars()[layout.start(j, k)..][..dims.nx] {
                sum += f64::from(cell[0]);
                moment += f64::from(cell[0]) * (j as f64 + 0.5) / dims.ny as f64;
            }
        }
        moment / sum
    }

    #[test]
    fn smoke_in_a_given_flow_has_the_bytes_of_one_process_on_several_ranks() {
        let flow = run(&mut solver(1, false), 6);
        for detail in [1, 2] {
            let followed = |comm: Option<Arc<dyn Comm>>| {
                let mut given = solver_on(detail, false, comm);
                // Planes of other slabs are of no use.
                let own = given.layout().own();
                let mut flow = flow.clone();
                for field in flow.iter_mut().flatten() {
                    field[..own.start].fill(f32::NAN);
                    field[own.end..].fill(f32::NAN);
                }
                follow(&mut given, &flow);
                let mut state = std::io::Cursor::new(Vec::new());
                given.save(&mut state).unwrap();
                state.into_inner()
            };
            let whole = followed(None);
            for size in [2, 3] {
                let found = ThreadRanks::run(size, |comm| followed(Some(comm)));
                assert!(together(found.into_iter()) == whole, "detail {detail}, {size} ranks");
            }
        }
    }

    #[test]
    fn smoke_follows_a_given_flow_as_it_follows_its_own() {
        let mut own = solver(1, false);
        let flow = run(&mut own, 14);
        for detail in [1, 2] {
            let mut given = solver(detail, false);
            follow(&mut given, &flow);
            assert!(
                (height(&given) / height(&own) - 1.0).abs() < 0.02,
                "{} {}",
                height(&given),
                height(&own)
            );
            let [now, then] = [&given, &own].map(|solver| solver.stats().mass[0]);
            assert!((now / then - 1.0).abs() < 0.02, "detail {detail}: {now} {then}");
            let stats = given.stats();
            let budget = stats.emitted[0] - stats.left.unwrap()[0] - stats.faded.unwrap()[0];
            assert!((stats.mass[0] / budget - 1.0).abs() < 1e-5);
            assert!((stats.time - own.stats().time).abs() < 1e-6);
        }
    }

    /// The divergence was that of the flow in the middle of the step beside the solid at its end: 0.3, and the energy lagged behind.
    #[test]
    fn statistics_are_those_of_the_flow_at_the_end_of_a_step() {
        let mut own = solver(1, false);
        let flow = run(&mut own, 10);
        let mut given = solver(1, false);
        follow(&mut given, &flow);
        let [own, given] = [own.stats(), given.stats()];
        assert!(given.divergence_after < 1e-3, "{}", given.divergence_after);
        let ratio = given.kinetic_energy / own.kinetic_energy;
        assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    }

    #[test]
    fn uniform_smoke_stays_uniform_in_a_given_flow_around_a_moving_solid() {
        let flow = run(&mut solver(1, true), 10);
        let mut given = solver(2, true);
        follow(&mut given, &flow);
        assert!(given.stats().max_speed > 0.2, "it moves");
        let flags = &given.fields().detail.as_ref().unwrap().obstacles.as_ref().unwrap().voxels.flags;
        let (layout, dims) = (given.smoke_layout(), given.smoke_layout().dims);
        let mut uneven = 0;
        for (j, k) in (0..dims.ny * 3 / 4).flat_map(|j| (0..dims.nz).map(move |k| (j, k))) {
            let at = layout.start(j, k);
            let cells = given.scalars()[at..][..dims.nx].iter().zip(&flags[at..]);
            uneven += cells.filter(|(cell, flags)| **flags & 8 == 0 && (cell[0] - 1.0).abs() > 0.1).count();
        }
        // A moving solid pushes smoke out of the cells that it enters.
        assert!(uneven < dims.cells() / 200, "{uneven} of {}", dims.cells());
    }
}
