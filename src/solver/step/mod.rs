//! The solver: its fields, and the step that advances them.

mod access;
mod balance;
pub mod captured_state;
mod corrected_velocity;
mod diffused_fields;
pub mod distribution;
mod edit;
mod fields;
mod finite;
mod follow;
mod given_flow;
mod half_floats;
mod kept_fields;
mod measure;
mod move_box;
mod placed_solids;
mod side_gains;
mod substep;
mod transport;
mod trapezoid;
mod trapezoid_past;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::advect::Correction;
use super::advect::conservative::Sweeps;
use super::detail::Detail;
use super::detail::swirls::Swirls;
use super::forces::external::External;
use super::project::Projector;
use super::sides::profile::Profile;
use super::sources::{self, Grid, Source, Sources};
use super::storage::halt::Halt;
use super::storage::ranks::Ranks;
use super::{
    BoundaryCondition, Config, Dab, Integrator, InvalidValue, MOST_DETAIL, MOST_THREADS, Params,
    SCALAR_LIMIT, SPEED_LIMIT, Solid, SolverError, Stage, StepStats, Turbulence,
};
use crate::comm::Comm;
use crate::grid::{Dims, Layout};
use crate::room;
use crate::simd;
use fields::{Budget, Fields, SmokeFields};
use follow::Following;
use substep::Substep;
use trapezoid_past::{Past, needs_third_velocity};

/// A box of air with heat and three colours of smoke.
///
/// It has its own threads or uses given ones. All buffers are allocated at construction or first use. Later
/// steps allocate nothing, unless a moving solid cuts half as many faces again as at first.
pub struct Solver {
    pub(in crate::solver) config: Config,
    params: Params,
    sources: Sources,
    external: External,
    /// Solids and varying sides as they were given, in the coordinates of the scene.
    solids: Vec<Solid>,
    profiles: Vec<Profile>,
    following: Following,
    pub(in crate::solver) pool: Arc<rayon::ThreadPool>,
    pub(in crate::solver) fields: Fields,
    pub(in crate::solver) stats: StepStats,
    /// The first value that is not finite, once there is one.
    pub(in crate::solver) not_finite: Option<SolverError>,
}

/// Refuses more threads than a solver may have, by number or, for 0, by the variable that rayon reads.
fn check_threads(threads: usize) -> Result<(), SolverError> {
    const NAME: &str = "RAYON_NUM_THREADS";
    let range = [0.0, MOST_THREADS as f32];
    if let Some(problem) =
        InvalidValue::unless_within("configuration", "number of threads", threads as f32, range)
    {
        return Err(problem.into());
    }
    // As rayon does: text that is no number counts as none.
    match std::env::var(NAME).ok().and_then(|text| text.parse::<usize>().ok()) {
        Some(asked) if threads == 0 && asked > MOST_THREADS => Err(SolverError::Threads(format!(
            "{NAME} is {asked}; at most {MOST_THREADS} threads are possible"
        ))),
        _ => Ok(()),
    }
}

impl Solver {
    /// Makes a box of air at rest with its own threads; [`Config::threads`] is their number.
    ///
    /// # Errors
    /// If a value of the configuration, of the parameters or of a source is invalid, if one side of an axis is periodic and
    /// the other is not, if there is not enough memory, or if the threads cannot be started.
    pub fn new(config: Config, params: Params, sources: Vec<Source>) -> Result<Self, SolverError> {
        Self::on_ranks(config, params, sources, None)
    }

    /// Makes a box of air at rest that runs on the threads of `pool`, which other work may share;
    /// [`Config::threads`] is not read. The result has the same bits on any pool.
    ///
    /// # Errors
    /// As of [`new`](Self::new), apart from the threads.
    pub fn with_pool(
        config: Config,
        params: Params,
        sources: Vec<Source>,
        pool: Arc<rayon::ThreadPool>,
    ) -> Result<Self, SolverError> {
        Self::build(config, params, sources, pool, None)
    }

    /// Makes a box that the ranks of `comm` share, each with a slab of planes along z and its own threads. Every rank calls the same
    /// functions in the same order. The result has the same bits with any number of ranks; statistics are those of the
    /// whole box on every rank. Fields have the layout of the whole box, but only the planes of the slab
    /// ([`Layout::cell_planes`]) and, of the velocity, two planes beside it hold values. [`bring`](Self::bring) brings others to
    /// the first rank.
    ///
    /// # Errors
    /// As of [`new`](Self::new), and [`SolverError::Ranks`] if the box is too thin for so many ranks.
    pub fn on_ranks(
        config: Config,
        params: Params,
        sources: Vec<Source>,
        comm: Option<Arc<dyn Comm>>,
    ) -> Result<Self, SolverError> {
        check_threads(config.threads)?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(config.threads)
            .thread_name(|i| format!("solver {i}"))
            .build()
            .map_err(|e| SolverError::Threads(e.to_string()))?;
        Self::build(config, params, sources, Arc::new(pool), comm)
    }

    fn build(
        config: Config,
        params: Params,
        sources: Vec<Source>,
        pool: Arc<rayon::ThreadPool>,
        comm: Option<Arc<dyn Comm>>,
    ) -> Result<Self, SolverError> {
        simd::check()?;
        if !(config.h.is_finite() && config.h > 0.0) {
            return Err(SolverError::CellSize(config.h));
        }
        if !(1..=MOST_DETAIL).contains(&config.detail) {
            return Err(SolverError::Detail(config.detail));
        }
        Dims::new(config.dims.array().map(|n| n.saturating_mul(config.detail)))?;
        for (axis, [low, high]) in config.sides.into_iter().enumerate() {
            if (low == BoundaryCondition::Periodic) != (high == BoundaryCondition::Periodic) {
                return Err(SolverError::HalfPeriodic { axis });
            }
        }
        follow::check(&config)?;
        access::refuse(config.problem())?;
        access::refuse(params.problem())?;
        access::refuse(sources.iter().find_map(Source::problem))?;
        let ranks = comm.map_or(Ok(Ranks::default()), |comm| distribution::ranks(&config, comm))?;
        room::probe(Self::memory_on(&config, false, ranks.size()) / ranks.size() as u64, "the solver")?;
        let fields = Fields::new(&config, pool.current_num_threads(), &ranks);
        let grids = Self::grids(&config, &ranks);
        let sources = pool.install(|| Sources::new(grids, sources));
        let stats = StepStats::default();
        Ok(Self {
            following: Following::new(&config),
            config,
            params,
            sources,
            external: External::new(grids[1]),
            solids: vec![],
            profiles: vec![],
            pool,
            fields,
            stats,
            not_finite: None,
        })
    }

    /// Memory of a running solver of `config`, with or without solids, without the scratch of its threads
    /// \[bytes\].
    pub fn memory(config: &Config, solids: bool) -> u64 {
        Self::memory_on(config, solids, 1)
    }

    /// As [`memory`](Self::memory), of all `ranks` that share the box together.
    pub fn memory_on(config: &Config, solids: bool, ranks: usize) -> u64 {
        let layout = Layout::new(config.dims);
        let correction = if config.advection.looks_forward() { Correction::FLOATS } else { 0 };
        let third = match config.integrator {
            _ if config.frozen => 0,
            Integrator::Projection => 0,
            Integrator::Reflection => 3,
            Integrator::Trapezoid if needs_third_velocity(config, solids, ranks == 1) => 3,
            Integrator::Trapezoid => 0,
        };
        let pressure = usize::from(Past::is_kept(config));
        let floats = 3 + 3 + 4 + 4 + 4 + correction + third + pressure;
        let smoke = Layout::new(config.smoke_dims());
        let of_detail = if config.detail == 1 {
            0
        } else {
            smoke.size() * (4 * size_of::<f32>() + Detail::memory(config, solids))
        };
        let floats = if config.detail == 1 { floats } else { floats - 4 };
        (layout.size() * floats * size_of::<f32>() + of_detail + Projector::memory(config.projection, solids, config.dims)
            // Cell flags at both ends of a step, the nearest solid of each cell, and by how much the smoke there may change.
            + if solids { 4 * layout.size() + if config.detail == 1 { 4 * layout.size() } else { 0 } } else { 0 })
            as u64
    }

    /// Memory that turbulence takes besides [`memory`](Self::memory) \[bytes\].
    pub fn turbulence_memory(config: &Config, turbulence: &Turbulence) -> u64 {
        let acts = config.detail > 1 && turbulence.strength > 0.0;
        if acts { Swirls::memory(Layout::new(config.dims)) as u64 } else { 0 }
    }

    /// Memory of this solver with turbulence, if it had the box of `config` \[bytes\].
    pub(super) fn memory_of(&self, config: &Config) -> u64 {
        Self::memory_on(config, !self.solids.is_empty(), self.ranks().size())
            + Self::turbulence_memory(config, &self.params.turbulence)
    }

    /// The grids of smoke and of air, on the slab of this rank.
    pub(super) fn grids(config: &Config, ranks: &Ranks) -> [Grid; 2] {
        let on = |grid: Grid, finer: usize| Grid { layout: ranks.finer(finer).restrict(grid.layout), ..grid };
        [on(Grid::of_smoke(config), config.detail), on(Grid::new(config), 1)]
    }

    pub(in crate::solver) fn pool(&self) -> &Arc<rayon::ThreadPool> {
        &self.pool
    }

    pub(in crate::solver) fn fields(&self) -> &Fields {
        &self.fields
    }

    pub(in crate::solver) fn fields_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }

    pub(in crate::solver) fn set_stats(&mut self, stats: StepStats) {
        self.stats = stats;
    }

    /// Adds one dab of the cursor; no time passes. A frozen flow gets no velocity from it.
    ///
    /// # Errors
    /// [`SolverError::Invalid`] if the dab is [invalid](Dab::problem); nothing is added.
    pub fn dab(&mut self, dab: &Dab) -> Result<(), SolverError> {
        access::refuse(dab.problem())?;
        let push = if self.config.frozen { [0.0; 3] } else { dab.push };
        let dab = &Dab { push, center: offset_by(dab.center, self.config.corner(), -1.0), ..*dab };
        let (fields, h, pool) = (&mut self.fields, self.config.h, self.pool.clone());
        let smoke_h = self.config.smoke_h();
        pool.install(|| {
            let limits = [SCALAR_LIMIT, SPEED_LIMIT * h];
            let grids = [(fields.smoke_layout(), smoke_h), (fields.layout, h)];
            sources::dab(grids, dab, limits, &mut fields.scalars, &mut fields.velocity);
            fields.bricks.forget();
            fields.disturbed |= dab.push != [0.0; 3];
            fields.empty_solids();
            fields.fill_scalars();
        });
        Ok(())
    }

    /// Resets to air at rest without smoke, at time zero.
    pub fn clear(&mut self) {
        self.return_to_start();
        let fields = &mut self.fields;
        let own = fields.layout.own();
        fields.velocity.iter_mut().for_each(|f| f[own.clone()].fill(0.0));
        let own = fields.smoke_layout().own();
        fields.scalars[own].fill([0.0; 4]);
        fields.bricks.forget();
        fields.disturbed = false;
        fields.budget = Budget::default();
        fields.sweeps.as_mut().into_iter().for_each(Sweeps::restart);
        fields.forget_swirls();
        fields.forget_past();
        fields.forget_pressure();
        self.stats = StepStats::default();
        self.mend();
        let pool = self.pool.clone();
        pool.install(|| {
            self.fields.set_time(0.0);
            self.fields.move_solids(0.0, [0.0; 2]);
        });
        self.settle();
    }

    /// Gives velocity, smoke and heat their values at sides and solids, removes the divergence, and measures all fields; no time passes.
    /// The first step after a change does the same.
    pub fn settle(&mut self) {
        self.project(&Halt::never());
        let (fields, pool) = (&mut self.fields, self.pool.clone());
        pool.install(|| fields.fill_scalars());
        self.measure();
    }

    /// Upper bounds of the speed that turbulence added in the last substep, and of what it would add in shorter ones \[m/s\]; 0 without
    /// turbulence.
    pub fn swirl_speeds(&self) -> [f32; 2] {
        let swirls = self.fields.detail.as_ref().and_then(|detail| detail.swirls.as_ref());
        swirls.map_or([0.0; 2], |swirls| [swirls.speed(), swirls.wanted_speed()])
    }

    /// Removes the divergence of a velocity that was changed from outside.
    pub(in crate::solver) fn project(&mut self, halt: &Halt) {
        let Self { config, fields, stats, pool, .. } = self;
        fields.forget_past();
        pool.clone().install(|| {
            if !config.frozen {
                fields.project(config.tolerance, None, stats, halt);
            }
            stats.max_speed = fields.measure().speed;
        });
    }

    /// Advances by `dt` seconds, in as many substeps as the flow needs. Returns the statistics of the step.
    ///
    /// # Errors
    /// [`SolverError::StepLength`] if `dt` is not a number from 1e-30 on: shorter ones have no finite inverse. [`SolverError::NotFinite`] if a field
    /// contains a value that is not finite, [`SolverError::Side`] if a side has one out of its range; the former is returned until [`clear`](Self::clear), [`fill`](Self::fill)
    /// or [`restore`](Self::restore) replaces all fields.
    pub fn step(&mut self, dt: f32) -> Result<&StepStats, SolverError> {
        self.step_cancellable(dt, &AtomicBool::new(false))
    }

    /// A [`step`](Self::step) that another thread can end early by raising `cancel`. It is read for each row or plane of the long
    /// passes, and with several ranks, which must agree, between stages.
    ///
    /// A cancelled step leaves its fields at no instant: some have been advanced, some half, and
    /// [`stats`](Self::stats) has the time of the last whole substep. All values are finite. [`restore`](Self::restore) a state that was
    /// captured before the step, or [`clear`](Self::clear) the solver. A step that is taken nevertheless projects first.
    ///
    /// # Errors
    /// [`SolverError::Cancelled`] if `cancel` was raised; otherwise as for [`step`](Self::step).
    pub fn step_cancellable(&mut self, dt: f32, cancel: &AtomicBool) -> Result<&StepStats, SolverError> {
        self.step_by(dt, cancel, |solver, halt| {
            solver.follow(dt)?;
            solver.substeps(dt, halt)
        })
    }

    /// Checks and records a step of `dt`, which `run` carries out.
    fn step_by(
        &mut self,
        dt: f32,
        cancel: &AtomicBool,
        run: impl FnOnce(&mut Self, &Halt) -> Result<(), SolverError> + Send,
    ) -> Result<&StepStats, SolverError> {
        if !(dt.is_finite() && dt >= SHORTEST) {
            return Err(SolverError::StepLength(dt));
        }
        if let Some(not_finite) = &self.not_finite {
            return Err(not_finite.clone());
        }
        let pool = self.pool.clone();
        self.stats.stages = Default::default();
        self.stats.substeps = 0;
        self.stats.cfl = 0.0;
        self.stats.substeps_missing = 0;
        let halt = Halt::on(cancel, self.ranks());
        pool.install(|| run(self, &halt)).inspect_err(|error| match error {
            SolverError::Cancelled => self.fields.mark_between_instants(),
            _ => self.fields.forget_past(),
        })?;
        self.stats.step += 1;
        self.stats.imbalance = if self.config.frozen { 0.0 } else { self.fields.walls.imbalance() };
        self.stats.dt = dt;
        Ok(&self.stats)
    }

    fn substeps(&mut self, dt: f32, halt: &Halt) -> Result<(), SolverError> {
        if self.fields.disturbed {
            // At the beginning solids are at rest: the first step sets the air around them in motion, and counts its force.
            let ahead = if self.stats.step == 0 { 0.0 } else { dt };
            self.fields.move_solids(self.stats.time, [0.0, ahead]);
            self.project(halt);
            self.fields.fill_scalars();
        }
        self.fields.clear_gains();
        let mut left = dt;
        while left > 0.0 {
            let driven = self
                .sources
                .speed()
                .max(self.external.speed(self.stats.time, left))
                .max(self.fields.obstacles.as_ref().map_or(0.0, |o| o.speed(self.stats.time, left)));
            let cfl = left * self.stats.max_speed.max(driven) / self.config.h;
            let most = self.config.time.max_substeps.saturating_sub(self.stats.substeps).max(1);
            let wanted = self.config.wanted_substeps(cfl);
            let parts = wanted.clamp(1, most);
            self.stats.substeps_missing = self.stats.substeps_missing.max(wanted.saturating_sub(most));
            let part = left / parts as f32;
            self.substep(part, false, halt)?;
            left = if parts == 1 { 0.0 } else { left - part };
        }
        Ok(())
    }

    fn substep(&mut self, dt: f32, is_given: bool, halt: &Halt) -> Result<(), SolverError> {
        let Self { config, params, sources, external, fields, stats, .. } = self;
        let substep = Substep { config, params, sources, external, time: stats.time, dt, is_given };
        substep.run(fields, stats, halt)?;
        let began = Instant::now();
        self.measure();
        self.stats.stages[Stage::Measure as usize] += began.elapsed();
        self.ranks().end_stage(Stage::Measure as usize);
        self.check()
    }

    /// Forgets a value that was not finite, and the pressure, from which the next solve would start.
    fn mend(&mut self) {
        if self.not_finite.take().is_some() {
            self.fields.projector.pressure_mut().into_iter().flatten().for_each(|half| half.fill(0.0));
            self.fields.forget_pressure();
        }
    }

    /// Searches for a value that is not finite if a sum is not.
    fn check(&mut self) -> Result<(), SolverError> {
        if finite::is_finite(&self.stats) {
            return Ok(());
        }
        self.not_finite = finite::find(&self.fields, self.stats.step + 1);
        self.not_finite.clone().map_or(Ok(()), Err)
    }

    /// After its state was replaced: recomputes derived values.
    pub(in crate::solver) fn restored(&mut self) {
        let pool = self.pool.clone();
        pool.install(|| {
            let (stats, budget) = (self.stats.clone(), self.fields.budget);
            self.fields.set_time(stats.time);
            self.fields.restored();
            self.fields.side_gains.forget();
            // For the bricks only; the statistics remain those of the last step.
            self.measure();
            (self.stats, self.fields.budget) = (stats, budget);
        });
    }

    pub(in crate::solver) fn measure(&mut self) {
        let Self { config, fields, stats, .. } = self;
        let flow = fields.measure();
        stats.max_speed = flow.speed;
        stats.divergence_after = flow.divergence_beside(fields.projected);
        stats.kinetic_energy = flow.energy * f64::from(config.h).powi(3);
        let SmokeFields { layout, walls, scalars, sums, bricks, budget, sweeps, .. } = fields.smoke();
        let held = measure::contents_and_bricks(layout, walls.ranks(), scalars, sums, bricks);
        budget.held = Some(held);
        let volume = f64::from(config.smoke_h()).powi(3);
        stats.mass = [held[0] * volume, held[1] * volume, held[2] * volume];
        stats.heat = held[3] * volume;
        stats.emitted = budget.emitted.map(|x| x * volume);
        stats.left = sweeps.as_ref().map(|_| budget.left.map(|x| x * volume));
        stats.faded = sweeps.as_ref().map(|_| budget.faded.map(|x| x * volume));
    }
}

/// Shortest step \[s\]: the inverse of each of its substeps is finite.
const SHORTEST: f32 = 1e-30;

/// `p` + `sign` · `corner`.
fn offset_by(p: [f32; 3], corner: [f32; 3], sign: f32) -> [f32; 3] {
    [0, 1, 2].map(|a| p[a] + sign * corner[a])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Projection;

    fn solver(projection: Projection) -> Solver {
        let mut config = Config::new(Dims::new([12, 10, 14]).unwrap(), 0.1);
        (config.projection, config.threads) = (projection, 2);
        let mut solver = Solver::new(config, Params::default(), Vec::new()).unwrap();
        solver.fill(|_, p| 0.1 * p[0].sin(), |p| [p[0], 0.0, 0.0, p[1]]);
        solver
    }

    /// A NaN that arises within a run, in each field and under both projections.
    #[test]
    fn a_nan_is_removed_or_reported_with_its_place() {
        for projection in [Projection::Direct, Projection::Multigrid] {
            for field in 0..4 {
                let mut solver = solver(projection);
                solver.step(0.01).unwrap();
                let sound = solver.capture();
                let at = solver.layout().start(5, 6) + 4;
                match field {
                    3 => solver.fields.scalars[at][3] = f32::NAN,
                    component => solver.fields.velocity[component][at] = f32::NAN,
                }
                let error = match solver.step(0.01).map(|_| ()) {
                    // A limiter has removed it, and no trace of it remains.
                    Ok(()) => {
                        assert!(solver.scalars().as_flattened().iter().all(|x| x.is_finite()));
                        assert!(solver.velocity().iter().flatten().all(|x| x.is_finite()));
                        continue;
                    }
                    Err(error) => error,
                };
                let SolverError::NotFinite { cell, stage, step, .. } = &error else { panic!("{error}") };
                let apart = (0..3).map(|a| cell[a].abs_diff([4, 5, 6][a])).max().unwrap();
                assert!(apart <= 3 || !stage.contains("advection"), "{error}, which was at [4, 5, 6]");
                assert_eq!(*step, 2, "{error}");
                assert_eq!(solver.step(0.01).map(|_| ()), Err(error), "it stays broken");
                let wrong = solver.capture();
                solver.restore(&sound).unwrap();
                solver.step(0.01).unwrap();
                solver.restore(&wrong).unwrap();
                assert!(solver.step(0.01).is_err(), "a state keeps what was wrong");
                solver.clear();
                solver.fill(|_, p| 0.1 * p[0].sin(), |p| [p[0], 0.0, 0.0, p[1]]);
                solver.step(0.01).unwrap();
            }
        }
    }

    #[test]
    fn a_nan_from_outside_is_reported_with_its_place() {
        let mut solver = solver(Projection::Auto);
        let inside =
            |p: [f32; 3]| p[0] > 0.3 && p[0] < 0.4 && p[1] > 0.5 && p[1] < 0.6 && p[2] > 0.6 && p[2] < 0.7;
        solver.fill(|_, _| 0.0, |p| if inside(p) { [0.0, f32::INFINITY, 0.0, 0.0] } else { [0.0; 4] });
        let error = solver.step(0.01).map(|_| ()).unwrap_err();
        let wanted = SolverError::NotFinite { field: "green", cell: [3, 5, 6], stage: "the start", step: 0 };
        assert_eq!(error, wanted);
    }

    #[test]
    fn a_solver_too_large_for_the_machine_is_an_error() {
        let config = Config::new(Dims::new([1290, 1290, 1290]).unwrap(), 0.1);
        if room::limit().is_none_or(|limit| limit > Solver::memory(&config, false)) {
            return;
        }
        let error = Solver::new(config, Params::default(), Vec::new()).map(|_| ()).unwrap_err();
        assert!(matches!(error, SolverError::NoRoom(_)), "{error}");
    }
}
