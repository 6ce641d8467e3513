//! One substep: the terms of the equation in their order.

use std::time::Instant;

use super::fields::{Fields, lifting};
use super::transport::AdvectingVelocity;
use crate::solver::config::{Config, Integrator, Params, SPEED_LIMIT};
use crate::solver::forces::Forces;
use crate::solver::forces::external::{Accelerated, External};
use crate::solver::solver_error::SolverError;
use crate::solver::sources::{Half, Sources, Span, decayed_time};
use crate::solver::step_stats::{Stage, StepStats};
use crate::solver::storage::halt::Halt;
use crate::solver::storage::ranks::Ranks;

/// Intervals of a substep, as fractions of it.
const WHOLE: [f32; 2] = [0.0, 1.0];
const HALVES: [[f32; 2]; 2] = [[0.0, 0.5], [0.5, 1.0]];

/// Inputs of a substep.
pub struct Substep<'a> {
    pub config: &'a Config,
    pub params: &'a Params,
    pub sources: &'a Sources,
    pub external: &'a External,
    /// Time at the beginning \[s\].
    pub time: f64,
    /// Length \[s\].
    pub dt: f32,
    /// Whether the flow is given, so that only smoke and heat move.
    pub is_given: bool,
}

impl Substep<'_> {
    /// Advances `fields`. Updates all `stats` except those measured afterwards.
    pub fn run(&self, fields: &mut Fields, stats: &mut StepStats, halt: &Halt) -> Result<(), SolverError> {
        let ranks = fields.walls.ranks().clone();
        let mut clock = Clock { stats, halt, began: Instant::now(), ranks };
        clock.check_cancelled()?;
        fields.check_sides()?;
        fields.set_time(self.time + f64::from(self.dt));
        if let Err(error) = fields.check_sides() {
            fields.set_time(self.time);
            return Err(error);
        }
        fields.set_turbulence(self.params.turbulence);
        match self.config.integrator {
            _ if self.config.frozen || self.is_given => self.advect_given(fields, &mut clock)?,
            Integrator::Projection => self.advance(fields, &mut clock)?,
            Integrator::Reflection => self.reflect(fields, &mut clock)?,
            Integrator::Trapezoid => self.trapezoid(fields, &mut clock)?,
        }
        stats.time += f64::from(self.dt);
        stats.substeps += 1;
        Ok(())
    }

    /// Half of the sources, advection, diffusion, the other half of the sources, forces, projection.
    fn advance(&self, fields: &mut Fields, clock: &mut Clock) -> Result<(), SolverError> {
        let Self { config, params, time, dt, .. } = *self;
        let (steps, area) = (dt / config.h, config.h * config.h);
        let cfl = clock.record_cfl(steps * clock.stats.max_speed);
        self.emit(Half::First, fields, clock)?;
        fields.trace(AdvectingVelocity::Present, steps, config.trace, clock.halt);
        clock.check_cancelled()?;
        fields.move_solids(time + f64::from(dt), [dt; 2]);
        fields.advect_velocity(config.advection, steps, clock.halt);
        clock.lap(Stage::AdvectVelocity)?;
        fields.advect_scalars(config.advection, &decay(params, dt), steps, cfl, clock.halt);
        clock.lap(Stage::AdvectScalars)?;
        fields.diffuse_scalars(params, dt / area, (WHOLE, decay(params, dt)), clock.halt);
        fields.diffuse_velocity(params.viscosity * dt / area, WHOLE, clock.halt);
        clock.lap(Stage::Diffuse)?;
        self.emit(Half::Second, fields, clock)?;
        self.force(fields, time, dt, 0.0, false, clock)?;
        self.project(fields, [0.0, config.h / dt], clock)
    }

    /// As [`advance`](Self::advance), with half of the pressure gradient before the advection and an
    /// advecting velocity in the middle of the step; see `trapezoid.rs`.
    fn trapezoid(&self, fields: &mut Fields, clock: &mut Clock) -> Result<(), SolverError> {
        let Self { config, params, time, dt, .. } = *self;
        let (steps, area) = (dt / config.h, config.h * config.h);
        let cfl = clock.record_cfl(steps * fields.extrapolate(dt));
        clock.check_cancelled()?;
        let correct = |fields: &mut Fields| {
            let ambient = fields.ambient(params);
            fields.correct(&body_forces(params, ambient, dt, config.h), self.external, time, config.h);
        };
        // The means of finer smoke that the forces of the last step have read lie in memory that the trace overwrites; a velocity that is
        // corrected without memory of its own is written there.
        let corrects_first = fields.corrected.is_some();
        if corrects_first {
            correct(fields);
            clock.check_cancelled()?;
        }
        fields.trace(AdvectingVelocity::Extrapolated, steps, config.trace, clock.halt);
        clock.check_cancelled()?;
        if !corrects_first {
            correct(fields);
        }
        let ahead = fields.ahead();
        clock.lap(Stage::AdvectVelocity)?;
        // The forces before the advection act on the smoke at the beginning.
        self.emit(Half::First, fields, clock)?;
        fields.move_solids(time + f64::from(dt), [dt; 2]);
        clock.lap(Stage::AdvectVelocity)?;
        // The conservative sweeps read the advecting velocity itself.
        fields.swap_advected();
        fields.advect_scalars(config.advection, &decay(params, dt), steps, cfl, clock.halt);
        fields.swap_advected();
        clock.lap(Stage::AdvectScalars)?;
        fields.advect_corrected(config.advection, steps, clock.halt);
        clock.lap(Stage::AdvectVelocity)?;
        fields.diffuse_scalars(params, dt / area, (WHOLE, decay(params, dt)), clock.halt);
        fields.diffuse_velocity(params.viscosity * dt / area, WHOLE, clock.halt);
        clock.lap(Stage::Diffuse)?;
        self.emit(Half::Second, fields, clock)?;
        self.force(fields, time, dt, ahead, true, clock)?;
        let share = fields.pressure_share(dt, config.h);
        self.project(fields, share, clock)?;
        // An extrapolation from a velocity beside solids that moved would push the air away from them again.
        if fields.obstacles.as_ref().is_some_and(|obstacles| obstacles.have_stopped()) {
            fields.forget_past();
        }
        Ok(())
    }

    /// Advances the scalars alone, in a frozen flow or one that is given.
    fn advect_given(&self, fields: &mut Fields, clock: &mut Clock) -> Result<(), SolverError> {
        let Self { config, params, time, dt, .. } = *self;
        let steps = dt / config.h;
        let cfl = clock.record_cfl(steps * clock.stats.max_speed);
        self.emit(Half::First, fields, clock)?;
        let has_solids = fields.obstacles.is_some();
        if has_solids || fields.needs_trace(config.advection) {
            fields.trace(AdvectingVelocity::Present, steps, config.trace, clock.halt);
        }
        if has_solids {
            fields.move_solids(time + f64::from(dt), [dt; 2]);
        }
        fields.advect_scalars(config.advection, &decay(params, dt), steps, cfl, clock.halt);
        clock.lap(Stage::AdvectScalars)?;
        fields.diffuse_scalars(params, dt / (config.h * config.h), (WHOLE, decay(params, dt)), clock.halt);
        clock.lap(Stage::Diffuse)?;
        self.emit(Half::Second, fields, clock)?;
        clock.stats.divergence_before = fields.measure().relative_divergence();
        Ok(())
    }

    /// Half a step; the reflection; the smoke, advected by the velocity in the middle; the other half in
    /// reverse order.
    ///
    /// The first half step advects with uⁿ, the second with the extrapolated uⁿ⁺¹. With the velocity in the
    /// middle instead (Zehnder et al. 2018) the advecting velocity would lag by a quarter of a step, which is
    /// first order in any unsteady flow (Narain, Zehnder & Thomaszewski, "A second-order advection-reflection
    /// solver", 2019).
    fn reflect(&self, fields: &mut Fields, clock: &mut Clock) -> Result<(), SolverError> {
        let Self { config, params, time, dt, .. } = *self;
        let (steps, half, area) = (dt / config.h, 0.5 * dt, config.h * config.h);
        fields.trace(AdvectingVelocity::Present, 0.5 * steps, config.trace, clock.halt);
        clock.check_cancelled()?;
        fields.move_solids(time + f64::from(dt), [dt; 2]);
        fields.advect_velocity(config.advection, 0.5 * steps, clock.halt);
        clock.lap(Stage::AdvectVelocity)?;
        fields.diffuse_velocity(params.viscosity * half / area, HALVES[0], clock.halt);
        clock.lap(Stage::Diffuse)?;
        fields.store_previous_velocity();
        self.force(fields, time, half, 0.0, false, clock)?;
        fields.store_advected();
        // The reflection applies this pressure once more.
        self.project(fields, [0.0, 2.0 * config.h / dt], clock)?;
        fields.reflect();
        clock.lap(Stage::Project)?;

        self.emit(Half::First, fields, clock)?;
        // Decay between two halves of the diffusion is of second order already.
        fields.diffuse_scalars(params, half / area, (HALVES[0], [1.0; 4]), clock.halt);
        clock.lap(Stage::Diffuse)?;
        let cfl = clock.record_cfl(steps * fields.measure().speed);
        let stir_air = fields.obstacles.as_ref().is_some_and(|obstacles| obstacles.stir_air());
        if stir_air || fields.needs_trace(config.advection) {
            fields.trace(AdvectingVelocity::Present, steps, config.trace, clock.halt);
        }
        fields.advect_scalars(config.advection, &decay(params, dt), steps, cfl, clock.halt);
        clock.lap(Stage::AdvectScalars)?;
        fields.diffuse_scalars(params, half / area, (HALVES[1], [1.0; 4]), clock.halt);
        clock.lap(Stage::Diffuse)?;
        self.emit(Half::Second, fields, clock)?;

        fields.extrapolate_reflected();
        fields.trace(AdvectingVelocity::Reflected, 0.5 * steps, config.trace, clock.halt);
        clock.lap(Stage::AdvectVelocity)?;
        // The reflected velocity is not free of divergence: the vorticity is that of the velocity in the
        // middle.
        self.force(fields, time + f64::from(half), half, 0.0, true, clock)?;
        fields.swap_velocity();
        fields.diffuse_velocity(params.viscosity * half / area, HALVES[1], clock.halt);
        clock.lap(Stage::Diffuse)?;
        fields.swap_velocity();
        fields.advect_velocity(config.advection, 0.5 * steps, clock.halt);
        fields.swap_velocity();
        clock.lap(Stage::AdvectVelocity)?;
        self.project(fields, [1.0, config.h / dt], clock)
    }

    fn emit(&self, half: Half, fields: &mut Fields, clock: &mut Clock) -> Result<(), SolverError> {
        let span = Span { time: self.time, dt: self.dt, rates: decay_rates(self.params) };
        fields.emit(self.sources, &span, half);
        clock.lap(Stage::Sources)
    }

    /// Applies all forces of `dt` from the instant `from` on: turns the advected velocity into the velocity
    /// before the projection.
    ///
    /// Buoyancy and external accelerations have already acted for the time `ahead` \[s\] before the
    /// advection, and act here for the rest of `dt`. Friction and forces with a target damp the impulse
    /// within the step. If a force acts in two halves, they damp only the first, which is of second order
    /// too. In that case a force with a target counts confinement among the second half, which remains of
    /// first order. `in_place`: confinement acts on the swirls of the velocity, not of the advected one.
    fn force(
        &self,
        fields: &mut Fields,
        from: f64,
        dt: f32,
        ahead: f32,
        in_place: bool,
        clock: &mut Clock,
    ) -> Result<(), SolverError> {
        let Self { config, params, .. } = *self;
        let ambient = fields.ambient(params);
        let forces = body_forces(params, ambient, dt, config.h);
        let left = impulse_left(params.friction, dt);
        let left_at_end = if ahead > 0.0 { 1.0 } else { left };
        let buoyancy = forces.buoyancy.map(|b| left_at_end * (1.0 - ahead / dt) * b);
        let body = Forces { buoyancy, vorticity: left * forces.vorticity, ..forces };
        if in_place {
            fields.add_forces_in_place(&body, self.external.relaxes(), clock.halt);
        } else {
            fields.add_forces(&body, clock.halt);
        }
        clock.check_cancelled()?;
        let Fields { detail, scalars, scalars_next, bricks, velocity, .. } = &mut *fields;
        let (scalars, _) = lifting(detail, [scalars, scalars_next], bricks);
        let limit = SPEED_LIMIT * config.h;
        self.external.accelerate(
            from + f64::from(ahead),
            dt - ahead,
            [left_at_end, limit],
            scalars,
            velocity,
        );
        let by = Accelerated {
            friction: params.friction * dt,
            decay: forces.decay,
            left: left_at_end,
            is_second_half: ahead > 0.0,
            limit,
        };
        fields.relax(self.external, (from, dt), &by, in_place);
        self.sources.drive(from, dt, limit, &mut fields.velocity);
        clock.lap(Stage::Forces)
    }

    /// Projects. The pressure becomes `share[0]` · p + `share[1]` · φ, with `share[1]` in m/s.
    fn project(&self, fields: &mut Fields, share: [f32; 2], clock: &mut Clock) -> Result<(), SolverError> {
        fields.project(self.config.tolerance, Some(share), clock.stats, clock.halt);
        clock.lap(Stage::Project)
    }
}

/// Adds the wall time since the last lap to a stage, and fails if the step is cancelled.
struct Clock<'a> {
    stats: &'a mut StepStats,
    halt: &'a Halt<'a>,
    began: Instant,
    ranks: Ranks,
}

impl Clock<'_> {
    /// Records the CFL number of an advection.
    fn record_cfl(&mut self, cfl: f32) -> f32 {
        self.stats.cfl = self.stats.cfl.max(cfl);
        cfl
    }

    /// Fails within a stage if the step is cancelled.
    fn check_cancelled(&self) -> Result<(), SolverError> {
        if self.halt.is_raised() { Err(SolverError::Cancelled) } else { Ok(()) }
    }

    fn lap(&mut self, stage: Stage) -> Result<(), SolverError> {
        // All ranks stop, or none.
        let stops = self.halt.is_agreed(&self.ranks);
        let now = Instant::now();
        self.stats.stages[stage as usize] += now - self.began;
        self.began = now;
        self.ranks.end_stage(stage as usize);
        #[cfg(test)]
        tests::ASKS.with_borrow_mut(|asks| asks[stage as usize] += self.halt.take_asks());
        if stops { Err(SolverError::Cancelled) } else { Ok(()) }
    }
}

/// Decay factors of red, green, blue and temperature after `dt`: exp(−k Δt), so the look does not depend on
/// the division into steps.
fn decay(params: &Params, dt: f32) -> [f32; 4] {
    decay_rates(params).map(|rate| decay_factor(rate, dt))
}

/// Decay rates of red, green, blue and temperature \[1/s\].
fn decay_rates(params: &Params) -> [f32; 4] {
    let [r, g, b] = params.smoke.map(|s| s.dissipation);
    [r, g, b, params.cooling]
}

/// exp(−rate · Δt), capped for rates below zero: ∞ · 0 would be NaN.
fn decay_factor(rate: f32, dt: f32) -> f32 {
    (-rate * dt).exp().min(1e30)
}

/// Share of the impulse of a steady force that is left after `dt` if all motion decays meanwhile with `rate`: (1 − exp(−k Δt)) / (k Δt).
fn impulse_left(rate: f32, dt: f32) -> f32 {
    (decayed_time(rate.into(), dt.into()) / f64::from(dt)).min(1e30) as f32
}

fn body_forces(params: &Params, ambient: f32, dt: f32, h: f32) -> Forces {
    let [r, g, b] = params.smoke.map(|s| s.buoyancy);
    Forces {
        buoyancy: [r, g, b, params.heat_buoyancy],
        up: params.up,
        ambient,
        vorticity: params.vorticity,
        dt,
        decay: decay_factor(params.friction, dt),
        limit: SPEED_LIMIT * h,
        h,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::grid::Dims;
    use crate::solver::{Dab, Region, Shape, Solid, Solver, Source, TimeControl};

    thread_local! {
        /// Number of times that the passes of each stage asked whether to end, in a step of this thread.
        pub static ASKS: RefCell<[u32; Stage::ALL.len()]> = RefCell::default();
    }

    #[test]
    fn means_of_finer_smoke_hold_until_the_smoke_changes() {
        let mut config = Config::new(Dims::new([16, 12, 20]).unwrap(), 1.0 / 16.0);
        (config.threads, config.detail) = (2, 2);
        let source = Source::new(Region::sphere([0.5, 0.3, 0.5], 0.2), [4.0, 1.0, 0.0, 300.0]);
        let mut solvers =
            [0, 1].map(|_| Solver::new(config.clone(), Params::default(), vec![source.clone()]).unwrap());
        let ball = Solid::new(Shape::Sphere { radius: 0.2 }, [0.5, 0.5, 0.8]);
        let dab = Dab { center: [0.4; 3], radius: 0.2, add: [1.0; 4], push: [0.0; 3], erase: 0.0 };
        for step in 0..9 {
            for (solver, keeps) in solvers.iter_mut().zip([true, false]) {
                match step {
                    3 => solver.dab(&dab).unwrap(),
                    5 => solver.set_solids(vec![ball.clone()]).unwrap(),
                    7 => solver.set_solids(vec![]).unwrap(),
                    _ => {}
                }
                let Fields { means_until, bricks, .. } = &mut solver.fields;
                let hold = *means_until == Some(bricks.changes());
                assert_eq!(hold, ![0, 3, 5, 7].contains(&step), "before step {step}");
                if !keeps {
                    *means_until = None;
                }
                solver.step(0.02).unwrap();
            }
            let [kept, computed] = &solvers;
            assert!(kept.scalars() == computed.scalars() && kept.velocity() == computed.velocity(), "{step}");
        }
    }

    /// A step ends soon after it is cancelled if the passes of its long stages ask for each row or plane: the trace and the interpolation
    /// of velocity for rows, sweeps of scalars twice for planes, the projection on its three ways through the box.
    #[test]
    fn each_pass_asks_for_each_plane_whether_to_end() {
        const N: usize = 40;
        const LEAST: [usize; Stage::ALL.len()] = [0, 2 * N * N, 2 * N, 12 * N, N, 3 * N, 0];
        let ball = Solid::new(Shape::Sphere { radius: 0.2 }, [0.5, 0.7, 0.5]);
        let all = [Integrator::Projection, Integrator::Trapezoid, Integrator::Reflection];
        for (integrator, solids, detail) in
            all.into_iter().flat_map(|i| [(i, vec![], 1), (i, vec![ball.clone()], 1), (i, vec![], 2)])
        {
            let mut config = Config::new(Dims::new([N; 3]).unwrap(), 1.0 / N as f32);
            (config.threads, config.integrator, config.detail) = (2, integrator, detail);
            config.time = TimeControl { cfl: 1e6, max_substeps: 1 };
            let mut params = Params { viscosity: 1e-3, conduction: 1e-3, ..Params::default() };
            params.smoke.iter_mut().for_each(|smoke| smoke.diffusion = 1e-3);
            let source = Source::new(Region::sphere([0.5, 0.3, 0.5], 0.2), [4.0, 1.0, 0.0, 300.0]);
            let mut solver = Solver::new(config, params, vec![source]).unwrap();
            solver.set_solids(solids.clone()).unwrap();
            solver.fill(|c, [x, ..]| if c == 1 { x } else { 0.0 }, |[x, y, z]| [x, y, z, y]);
            let pool = solver.pool.clone();
            pool.install(|| {
                ASKS.take();
                solver.substeps(0.04, &Halt::never()).unwrap();
                let asks = ASKS.take();
                let is_enough = asks.iter().zip(LEAST).all(|(&asks, least)| asks as usize >= least);
                assert!(is_enough, "{integrator:?}, {} solids, detail {detail}: {asks:?}", solids.len());
            });
        }
    }
}
