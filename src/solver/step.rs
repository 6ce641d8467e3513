//! The solver: its fields, and the step that advances them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;
use thiserror::Error;

use super::advect::{self, Interpolation, Row};
use super::external::{External, Force};
use super::forces::{self, Forces};
use super::measure::{self, Flow};
use super::project::{Cuts, Projector};
use super::sides::Walls;
use super::solids::Obstacles;
use super::sources::{self, Fill, Grid, Source, Sources};
use super::sweep::{self, PerThread};
use super::{
    Advection, Ambient, Config, Dab, Params, Projection, Side, Solid, SolidPose, Stage, StepStats, diffuse,
    trace,
};
use crate::grid::{Dims, Faces, GHOST, Layout};

/// No density or temperature may pass this, so that a negative dissipation cannot overflow a half float.
pub const SCALAR_LIMIT: f32 = 6.0e4;

/// No air may be faster than this many cells a second, so that no setting can overflow.
pub const SPEED_LIMIT: f32 = 1.0e6;

/// Why a solver could not be built or a step not finished.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SolverError {
    /// A value no flow can be computed with; the text says which and what to change.
    #[error("{0}")]
    Invalid(String),
    /// The step was told to stop. The fields are finite but between two instants: clear or replace the solver, or
    /// go on from there.
    #[error("the step was cancelled")]
    Cancelled,
}

/// A box of air with heat and three colours of smoke.
///
/// Owns its threads. Every buffer is allocated when it is built, none by a step.
pub struct Solver {
    config: Config,
    params: Params,
    sources: Sources,
    external: External,
    pool: Arc<rayon::ThreadPool>,
    fields: Fields,
    stats: StepStats,
}

/// What the box holds, and the memory a step works in.
struct Fields {
    layout: Layout,
    walls: Walls,
    /// Velocity on the faces \[m/s\], ghosts filled, free of divergence between steps.
    velocity: Faces,
    /// The velocity while it is carried.
    carried: Faces,
    /// Red, green, blue \[-\] and temperature excess \[K\] at cell centres, ghosts filled.
    scalars: Vec<[f32; 4]>,
    /// The scalars while they are carried.
    scalars_next: Vec<[f32; 4]>,
    /// Velocity at cell centres.
    centers: Vec<[f32; 4]>,
    /// Distance each cell's air has come, in cells, by component.
    back: [Vec<f32>; 3],
    /// Distance it is about to go, and the first pass's results: only for MacCormack.
    forth: Option<Box<Correction>>,
    projector: Projector,
    /// Solids, if there are any.
    obstacles: Option<Obstacles>,
    forces: PerThread<forces::Scratch>,
    diffusion: PerThread<diffuse::Scratch>,
    flow: Vec<Flow>,
    sums: Vec<[f64; 4]>,
    /// The velocity was changed from outside and must be projected before it carries anything.
    disturbed: bool,
}

struct Correction {
    forward: [Vec<f32>; 3],
    component: Vec<f32>,
    scalars: Vec<[f32; 4]>,
}

impl Solver {
    /// A box of air at rest.
    ///
    /// # Errors
    /// If the edge of a cell is not a positive number, or the threads cannot be started.
    pub fn new(config: Config, params: Params, sources: Vec<Source>) -> Result<Self, SolverError> {
        if !(config.h.is_finite() && config.h > 0.0) {
            return Err(SolverError::Invalid(format!(
                "a cell of {} m cannot be; it must be positive",
                config.h
            )));
        }
        for (axis, [low, high]) in ["x", "y", "z"].into_iter().zip(config.sides) {
            if (low == Side::Periodic) != (high == Side::Periodic) {
                return Err(SolverError::Invalid(format!("only one {axis} side is periodic; make both so")));
            }
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(config.threads)
            .thread_name(|i| format!("solver {i}"))
            .build()
            .map_err(|e| SolverError::Invalid(format!("cannot start the solver's threads: {e}")))?;
        let fields = Fields::new(&config, pool.current_num_threads());
        let grid = Grid::new(&config);
        let sources = pool.install(|| Sources::new(grid, sources));
        let (pool, stats) = (Arc::new(pool), StepStats::default());
        Ok(Self { config, params, sources, external: External::new(grid), pool, fields, stats })
    }

    /// Bytes a solver of `config` takes while it runs, with or without solids; scratch of the threads apart.
    pub fn memory(config: &Config, solids: bool) -> u64 {
        let layout = Layout::new(config.dims);
        let correction = if config.advection == Advection::MacCormack { 3 + 1 + 4 } else { 0 };
        let floats = 3 + 3 + 4 + 4 + 4 + 3 + correction;
        (layout.size() * floats * size_of::<f32>() + Projector::memory(config.projection, solids, config.dims)
            // Flags of the cells, at both ends of a step.
            + if solids { 2 * layout.size() } else { 0 }) as u64
    }

    /// What it was built from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Threads it runs on.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// The constants of the model.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Changes the constants of the model from the next step on.
    pub fn set_params(&mut self, params: Params) {
        self.params = params;
    }

    /// The sources.
    pub fn sources(&self) -> &[Source] {
        self.sources.list()
    }

    /// Changes the sources from the next step on.
    pub fn set_sources(&mut self, sources: Vec<Source>) {
        let Self { sources: old, pool, .. } = self;
        pool.install(|| old.set(sources));
    }

    /// The external forces.
    pub fn forces(&self) -> &[Force] {
        self.external.list()
    }

    /// Changes the external forces from the next step on.
    pub fn set_forces(&mut self, forces: Vec<Force>) {
        let Self { external, pool, .. } = self;
        pool.install(|| external.set(forces));
    }

    /// Numbers of the last step.
    pub fn stats(&self) -> &StepStats {
        &self.stats
    }

    /// Where values lie in [`velocity`](Self::velocity) and [`scalars`](Self::scalars).
    pub fn layout(&self) -> Layout {
        self.fields.layout
    }

    /// u, v, w on the faces \[m/s\], in the layout of [`layout`](Self::layout).
    pub fn velocity(&self) -> &Faces {
        &self.fields.velocity
    }

    /// Red, green, blue \[-\] and temperature excess \[K\] at cell centres, in the layout of [`layout`](Self::layout).
    pub fn scalars(&self) -> &[[f32; 4]] {
        &self.fields.scalars
    }

    /// Sets all fields: `velocity(component, [x, y, z])` at each face \[m/s\], `scalars([x, y, z])` at each centre,
    /// positions in metres. The divergence of the velocity is removed.
    pub fn fill(
        &mut self,
        velocity: impl Fn(usize, [f32; 3]) -> f32 + Send + Sync,
        scalars: impl Fn([f32; 3]) -> [f32; 4] + Send + Sync,
    ) {
        let (fields, h, pool) = (&mut self.fields, self.config.h, self.pool.clone());
        pool.install(|| {
            fields.fill(h, velocity, scalars);
        });
        self.settle();
        self.measure();
    }

    /// Fills regions with smoke, heat and motion, now; no time passes. Later ones go over earlier ones.
    pub fn fill_regions(&mut self, fills: &[Fill]) {
        let (fields, pool, grid) = (&mut self.fields, self.pool.clone(), Grid::new(&self.config));
        pool.install(|| {
            for fill in fills {
                sources::fill(&grid, fill, SCALAR_LIMIT, &mut fields.scalars, &mut fields.velocity);
            }
            fields.empty_solids();
            fields.walls.fill_scalars(&mut fields.scalars, &fields.velocity);
        });
        if fills.iter().any(|fill| fill.velocity.is_some()) {
            self.settle();
        }
        self.measure();
    }

    /// The solids.
    pub fn solids(&self) -> &[Solid] {
        self.fields.obstacles.as_ref().map_or(&[], |obstacles| obstacles.solids())
    }

    /// How the solids stand now.
    pub fn poses(&self) -> &[SolidPose] {
        self.fields.obstacles.as_ref().map_or(&[], |obstacles| &obstacles.poses)
    }

    /// Puts other solids into the box, now. Smoke where they stand is pushed to the nearest air.
    ///
    /// # Errors
    /// If a solid is impossible, or the projection is [`Projection::Direct`], which knows none.
    pub fn set_solids(&mut self, solids: Vec<Solid>) -> Result<(), SolverError> {
        if let Some(problem) = solids.iter().find_map(Solid::problem) {
            return Err(SolverError::Invalid(problem));
        }
        if !solids.is_empty() && self.config.projection == Projection::Direct {
            let text = "the direct projection knows no solids; set projection to auto or multigrid";
            return Err(SolverError::Invalid(text.into()));
        }
        let Self { config, fields, pool, stats, .. } = self;
        let (pool, time, dt) = (pool.clone(), stats.time, stats.dt);
        pool.install(|| fields.set_solids(config, solids, time, dt, pool.current_num_threads()));
        Ok(())
    }

    /// Adds one dab of the cursor now; no time passes.
    pub fn dab(&mut self, dab: &Dab) {
        let (fields, h, pool) = (&mut self.fields, self.config.h, self.pool.clone());
        pool.install(|| {
            let limits = [SCALAR_LIMIT, SPEED_LIMIT * h];
            sources::dab(fields.layout, h, dab, limits, &mut fields.scalars, &mut fields.velocity);
            fields.disturbed |= dab.push != [0.0; 3];
            fields.empty_solids();
            fields.walls.fill_scalars(&mut fields.scalars, &fields.velocity);
        });
    }

    /// Back to air at rest without smoke, at time zero.
    pub fn clear(&mut self) {
        let fields = &mut self.fields;
        fields.velocity.iter_mut().for_each(|f| f.fill(0.0));
        fields.scalars.fill([0.0; 4]);
        fields.disturbed = false;
        self.stats = StepStats::default();
        let pool = self.pool.clone();
        pool.install(|| self.fields.move_solids(0.0, 0.0));
    }

    /// Removes the divergence of a velocity that was changed from outside.
    fn settle(&mut self) {
        let Self { config, fields, stats, pool, .. } = self;
        pool.clone().install(|| {
            let speed = fields.measure().speed;
            fields.settle([config.tolerance, speed], stats);
            stats.max_speed = fields.measure().speed;
        });
    }

    /// Advances by `dt` seconds, in as many substeps as the flow needs. `cancel` is looked at between stages.
    ///
    /// # Errors
    /// [`SolverError::Cancelled`] if told to stop; [`SolverError::Invalid`] if `dt` is not a positive number.
    pub fn step(&mut self, dt: f32, cancel: &AtomicBool) -> Result<&StepStats, SolverError> {
        if !(dt.is_finite() && dt > 0.0) {
            return Err(SolverError::Invalid(format!("a step of {dt} s cannot be; it must be positive")));
        }
        let pool = self.pool.clone();
        self.stats.stages = Default::default();
        self.stats.substeps = 0;
        self.stats.cfl = 0.0;
        pool.install(|| self.substeps(dt, cancel))?;
        self.stats.step += 1;
        self.stats.dt = dt;
        Ok(&self.stats)
    }

    fn substeps(&mut self, dt: f32, cancel: &AtomicBool) -> Result<(), SolverError> {
        if self.fields.disturbed {
            self.fields.move_solids(self.stats.time, dt);
            self.settle();
        }
        let mut left = dt;
        while left > 0.0 {
            let driven = self
                .sources
                .speed()
                .max(self.external.speed(self.stats.time, left))
                .max(self.fields.obstacles.as_ref().map_or(0.0, |o| o.speed(self.stats.time, left)));
            let crossed = left * self.stats.max_speed.max(driven) / self.config.h;
            let most = self.config.time.max_substeps.saturating_sub(self.stats.substeps).max(1);
            let parts = ((crossed / self.config.time.cfl).ceil() as u32).clamp(1, most);
            let part = left / parts as f32;
            self.substep(part, cancel)?;
            self.stats.cfl = self.stats.cfl.max(part * self.stats.max_speed.max(driven) / self.config.h);
            left = if parts == 1 { 0.0 } else { left - part };
        }
        Ok(())
    }

    /// One substep, in the order of the equation: advection, decay and sources, forces, projection.
    fn substep(&mut self, dt: f32, cancel: &AtomicBool) -> Result<(), SolverError> {
        let Self { config, params, sources, external, fields, stats, .. } = self;
        let (h, time) = (config.h, stats.time);
        let mut clock = Clock { stats, cancel, began: Instant::now() };

        let crossed = dt / h * clock.stats.max_speed;
        fields.trace(dt / h);
        fields.move_solids(time + f64::from(dt), dt);
        fields.advect_velocity(config.advection);
        clock.lap(Stage::AdvectVelocity)?;

        fields.advect_scalars(config.advection, &decay(params, dt), crossed);
        clock.lap(Stage::AdvectScalars)?;

        fields.diffuse_scalars(params, dt / (h * h));
        fields.diffuse_velocity(params.viscosity * dt / (h * h));
        clock.lap(Stage::Diffuse)?;

        sources.emit(time, dt, SCALAR_LIMIT, &mut fields.scalars);
        fields.empty_solids();
        fields.walls.fill_scalars(&mut fields.scalars, &fields.velocity);
        clock.lap(Stage::Sources)?;

        let ambient = fields.ambient(params);
        fields.add_forces(&body_forces(params, ambient, dt, h));
        external.apply(time, dt, SPEED_LIMIT * h, &fields.scalars, &mut fields.velocity);
        sources.drive(time, &mut fields.velocity);
        clock.lap(Stage::Forces)?;

        let before = fields.measure();
        fields.settle([config.tolerance, before.speed], clock.stats);
        clock.lap(Stage::Project)?;

        self.stats.divergence_before = before.relative_divergence();
        self.stats.time += f64::from(dt);
        self.stats.substeps += 1;
        self.measure();
        Ok(())
    }

    fn measure(&mut self) {
        let Self { config, fields, stats, .. } = self;
        let flow = fields.measure();
        let held = measure::contents(fields.layout, &fields.scalars, &mut fields.sums);
        let volume = f64::from(config.h).powi(3);
        stats.max_speed = flow.speed;
        stats.divergence_after = flow.relative_divergence();
        stats.kinetic_energy = flow.energy * volume;
        stats.mass = [held[0] * volume, held[1] * volume, held[2] * volume];
        stats.heat = held[3] * volume;
    }

    /// Red, green, blue and temperature at cell centres as half floats, dense, x fastest.
    pub fn write_smoke(&self, out: &mut Vec<[f16; 4]>) {
        let Fields { layout, scalars, .. } = &self.fields;
        out.resize(layout.dims.cells(), [f16::ZERO; 4]);
        self.pool.install(|| {
            out.par_chunks_mut(layout.dims.nx).enumerate().for_each(|(row, out)| {
                let at = layout.start(row % layout.dims.ny, row / layout.dims.ny);
                let cells = scalars[at..][..layout.dims.nx].as_flattened();
                out.as_flattened_mut().convert_from_f32_slice(cells);
            });
        });
    }

    /// u, v, w \[m/s\] and |ω| \[1/s\] at cell centres as half floats, dense, x fastest.
    pub fn write_velocity(&self, out: &mut Vec<[f16; 4]>) {
        let layout = self.fields.layout;
        let Dims { nx, ny, .. } = layout.dims;
        out.resize(layout.dims.cells(), [f16::ZERO; 4]);
        self.pool.install(|| {
            out.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
                let at = layout.start(row % ny, row / ny);
                for (i, out) in out.iter_mut().enumerate() {
                    *out = self.velocity_at(at + i).map(f16::from_f32);
                }
            });
        });
    }

    /// u, v, w and |ω| at the cell at position `at`.
    fn velocity_at(&self, at: usize) -> [f32; 4] {
        let strides = self.fields.layout.strides();
        let center = |c: usize, at: usize| {
            let f = &self.fields.velocity[c];
            0.5 * (f[at] + f[at + strides[c]])
        };
        // ∂u_c/∂x_a by central differences.
        let slope = |c: usize, a: usize| {
            (center(c, at + strides[a]) - center(c, at - strides[a])) / (2.0 * self.config.h)
        };
        let curl = [slope(2, 1) - slope(1, 2), slope(0, 2) - slope(2, 0), slope(1, 0) - slope(0, 1)];
        let size = curl.iter().map(|x| x * x).sum::<f32>().sqrt();
        [center(0, at), center(1, at), center(2, at), size]
    }
}

/// Adds the time since the last lap to its stage, and looks whether to stop.
struct Clock<'a> {
    stats: &'a mut StepStats,
    cancel: &'a AtomicBool,
    began: Instant,
}

impl Clock<'_> {
    fn lap(&mut self, stage: Stage) -> Result<(), SolverError> {
        let now = Instant::now();
        self.stats.stages[stage as usize] += now - self.began;
        self.began = now;
        if self.cancel.load(Ordering::Relaxed) { Err(SolverError::Cancelled) } else { Ok(()) }
    }
}

/// What is left of red, green, blue and temperature after `dt`: exp(−k Δt), so that the look depends neither on the
/// step nor on its parts.
fn decay(params: &Params, dt: f32) -> [f32; 4] {
    let [r, g, b] = params.smoke.map(|s| s.dissipation);
    [r, g, b, params.cooling].map(|rate| (-rate * dt).exp())
}

fn body_forces(params: &Params, ambient: f32, dt: f32, h: f32) -> Forces {
    let [r, g, b] = params.smoke.map(|s| s.buoyancy);
    Forces {
        buoyancy: [r, g, b, params.heat_buoyancy],
        ambient,
        vorticity: params.vorticity,
        dt,
        keep: (-params.friction * dt).exp(),
        limit: SPEED_LIMIT * h,
        h,
    }
}

impl Fields {
    fn new(config: &Config, threads: usize) -> Self {
        let layout = Layout::new(config.dims);
        let walls = Walls::new(layout, config.sides, config.held);
        let longest = config.dims.array().into_iter().max().unwrap_or(1);
        let field = || vec![0.0f32; layout.size()];
        let faces = || [field(), field(), field()];
        let four = || vec![[0.0f32; 4]; layout.size()];
        let correction = || Box::new(Correction { forward: faces(), component: field(), scalars: four() });
        Self {
            layout,
            velocity: faces(),
            carried: faces(),
            scalars: four(),
            scalars_next: four(),
            centers: four(),
            back: faces(),
            forth: (config.advection == Advection::MacCormack).then(correction),
            projector: Projector::choose(config.projection, false, layout, walls.ends(), threads),
            obstacles: None,
            forces: PerThread::new(threads, || forces::Scratch::new(layout.dims)),
            diffusion: PerThread::new(threads, || diffuse::Scratch::new(longest + 1)),
            flow: vec![Flow::default(); layout.dims.nz],
            sums: vec![[0.0; 4]; layout.dims.nz],
            disturbed: false,
            walls,
        }
    }

    fn fill(
        &mut self,
        h: f32,
        velocity: impl Fn(usize, [f32; 3]) -> f32 + Send + Sync,
        scalars: impl Fn([f32; 3]) -> [f32; 4] + Send + Sync,
    ) {
        let layout = self.layout;
        let [nx, ny, nz] = layout.dims.array().map(|n| n as isize);
        for (component, field) in self.velocity.iter_mut().enumerate() {
            let offset = |axis: usize| if axis == component { 0.0 } else { 0.5 };
            let offset = [offset(0), offset(1), offset(2)];
            sweep::rows(layout, field, [[0, ny + 1], [0, nz + 1]], |j, k, row| {
                for i in 0..=nx {
                    let at = [i as f32 + offset[0], j as f32 + offset[1], k as f32 + offset[2]];
                    row[i as usize + GHOST] = velocity(component, at.map(|x| x * h));
                }
            });
        }
        sweep::rows(layout, &mut self.scalars, [[0, ny], [0, nz]], |j, k, row| {
            for i in 0..nx {
                let at = [i as f32 + 0.5, j as f32 + 0.5, k as f32 + 0.5];
                row[i as usize + GHOST] = scalars(at.map(|x| x * h));
            }
        });
        self.empty_solids();
        self.walls.fill_velocity(&mut self.velocity);
        self.walls.fill_scalars(&mut self.scalars, &self.velocity);
    }

    /// Makes the velocity free of divergence to a tolerance (relative, and the speed it is relative to), and right at
    /// walls, in solids and in the ghosts.
    fn settle(&mut self, tolerance: [f32; 2], stats: &mut StepStats) {
        let Self { walls, velocity, projector, obstacles, .. } = self;
        walls.fill_velocity(velocity);
        let mut none = Cuts::default();
        let cuts = obstacles.as_mut().map_or(&mut none, |obstacles| &mut obstacles.voxels.cuts);
        projector.project(velocity, cuts, tolerance, stats);
        walls.fill_velocity(velocity);
        if let Some(obstacles) = obstacles {
            obstacles.extend(velocity);
        }
        self.disturbed = false;
    }

    /// Numbers of the velocity; at faces that solids narrow, of its mean over the whole face.
    fn measure(&mut self) -> Flow {
        let Self { layout, velocity, obstacles, flow, .. } = self;
        let Some(Obstacles { voxels, .. }) = obstacles else {
            return measure::flow(*layout, velocity, flow);
        };
        voxels.cuts.exchange(velocity);
        let measured = measure::flow(*layout, velocity, flow);
        voxels.cuts.restore(velocity);
        measured
    }

    fn set_solids(&mut self, config: &Config, solids: Vec<Solid>, time: f64, dt: f32, threads: usize) {
        let Self { layout, walls, projector, obstacles, scalars, velocity, .. } = self;
        if solids.is_empty() != obstacles.is_none() {
            *projector =
                Projector::choose(config.projection, !solids.is_empty(), *layout, walls.ends(), threads);
        }
        let new =
            (!solids.is_empty()).then(|| Obstacles::new(walls, *layout, config.h, solids, [time, dt.into()]));
        projector.set_cuts(new.as_ref().map_or(&Cuts::default(), |obstacles| &obstacles.voxels.cuts));
        if let Some(obstacles) = &new {
            obstacles.push_out(scalars);
            walls.fill_scalars(scalars, velocity);
        }
        *obstacles = new;
        self.disturbed = true;
    }

    /// Moves the solids to where they stand at `time`, from where they go on for `dt`.
    fn move_solids(&mut self, time: f64, dt: f32) {
        if let Some(obstacles) = &mut self.obstacles
            && obstacles.advance(time, dt)
        {
            self.projector.set_cuts(&obstacles.voxels.cuts);
        }
    }

    /// Takes out what has been put into solids.
    fn empty_solids(&mut self) {
        if let Some(obstacles) = &self.obstacles {
            obstacles.empty(&mut self.scalars);
        }
    }

    /// Back-traces over `steps` = Δt/h, and forward ones where the scheme needs them.
    fn trace(&mut self, steps: f32) {
        let Self { layout, walls, velocity, centers, back, forth, .. } = self;
        trace::centers(*layout, velocity, centers);
        let reach = walls.reach(None);
        trace::displacements(*layout, centers, &reach, steps, back.each_mut().map(Vec::as_mut_slice));
        walls.extend(back);
        if let Some(forth) = forth {
            let forward = forth.forward.each_mut().map(Vec::as_mut_slice);
            trace::displacements(*layout, centers, &reach, -steps, forward);
            walls.extend(&mut forth.forward);
        }
    }

    /// Carries each component of the velocity to the faces it reaches: `velocity` to `carried`, ghosts filled.
    fn advect_velocity(&mut self, scheme: Advection) {
        let Self { layout, walls, velocity, carried, back, forth, .. } = self;
        let kind = interpolation(scheme);
        for component in 0..3 {
            let reach = walls.reach(Some(component));
            let range = walls.face_ranges(component);
            let from = &velocity[component];
            for_faces(*layout, component, range, back, &mut carried[component], |row, _, out| {
                advect::component(kind, row, &reach, from, out);
            });
            if let Some(Correction { forward, component: once, .. }) = forth.as_deref_mut() {
                walls.fill_component(component, &mut carried[component]);
                std::mem::swap(once, &mut carried[component]);
                for_faces(*layout, component, range, back, &mut carried[component], |row, at, out| {
                    let stride = layout.strides()[component];
                    let forth = mean_of_cells(forward, at, stride, out.len());
                    let forth = forth.each_ref().map(|f| &f[..out.len()]);
                    advect::correct_component(row, forth, &reach, [from, once], at, out);
                });
            }
        }
        walls.fill_velocity(carried);
    }

    /// Carries the four scalars, all along one trace, and lets them decay.
    ///
    /// `crossed`: cells that the fastest air crosses.
    fn advect_scalars(&mut self, scheme: Advection, keep: &[f32; 4], crossed: f32) {
        let Self { layout, walls, velocity, scalars, scalars_next, back, forth, obstacles, sums, .. } = self;
        let kind = interpolation(scheme);
        let reach = walls.reach(None);
        let n = layout.dims.nx;
        let inside = [layout.dims.ny as isize, layout.dims.nz as isize].map(|n| [0, n]);
        let row_of = |at: usize, j: isize, k: isize| Row {
            origin: [0.0, j as f32, k as f32],
            back: back.each_ref().map(|b| &b[at..][..n]),
        };
        sweep::rows(*layout, scalars_next, inside, |j, k, out| {
            let at = layout.at(0, j, k);
            let out = &mut out[GHOST..GHOST + n];
            advect::scalars(kind, row_of(at, j, k), &reach, scalars, out);
            if forth.is_none() {
                advect::scale_row(keep, SCALAR_LIMIT, out);
            }
        });
        if let Some(obstacles) = obstacles {
            obstacles.carry(&reach, back.each_ref().map(Vec::as_slice), crossed, scalars);
        }
        if let Some(Correction { forward, scalars: once, .. }) = forth.as_deref_mut() {
            if let Some(obstacles) = obstacles {
                obstacles.put(&[1.0; 4], scalars_next);
            }
            walls.fill_scalars(scalars_next, velocity);
            std::mem::swap(once, scalars_next);
            sweep::rows(*layout, scalars_next, inside, |j, k, out| {
                let at = layout.at(0, j, k);
                let out = &mut out[GHOST..GHOST + n];
                let forth = forward.each_ref().map(|f| &f[at..][..n]);
                advect::correct_scalars(row_of(at, j, k), forth, &reach, [scalars, once], at, out);
                advect::scale_row(keep, SCALAR_LIMIT, out);
            });
        }
        if let Some(obstacles) = obstacles {
            obstacles.put(keep, scalars_next);
            if obstacles.have_moved() && walls.are_sealed() {
                let held = measure::contents(*layout, scalars, sums);
                let kept = measure::contents(*layout, scalars_next, sums);
                balance(*layout, [0, 1, 2, 3].map(|c| held[c] * f64::from(keep[c])), kept, scalars_next);
            }
        }
        std::mem::swap(scalars, scalars_next);
    }

    fn diffuse_scalars(&mut self, params: &Params, per_area: f32) {
        let [r, g, b] = params.smoke.map(|s| s.diffusion);
        let number = [r, g, b, params.conduction].map(|kappa| kappa * per_area);
        if number == [0.0; 4] {
            return;
        }
        let Self { layout, walls, scalars, diffusion, .. } = self;
        let inside = layout.dims.array().map(|n| [0, n as isize]);
        for axis in 0..3 {
            diffuse::along(*layout, scalars, axis, inside, number, &walls.scalar_ends(axis), diffusion);
        }
    }

    fn diffuse_velocity(&mut self, number: f32) {
        if number == 0.0 {
            return;
        }
        let Self { layout, walls, carried, diffusion, .. } = self;
        for (component, field) in carried.iter_mut().enumerate() {
            let range = walls.face_ranges(component);
            let field = bytemuck::cast_slice_mut(field);
            for axis in 0..3 {
                diffuse::along(
                    *layout,
                    field,
                    axis,
                    range,
                    [number],
                    &walls.component_ends(component, axis),
                    diffusion,
                );
            }
        }
        walls.fill_velocity(carried);
    }

    /// The temperature that is not lifted.
    fn ambient(&mut self, params: &Params) -> f32 {
        match params.ambient {
            Ambient::Fixed(excess) => excess,
            Ambient::Mean => {
                let heat = measure::contents(self.layout, &self.scalars, &mut self.sums)[3];
                (heat / self.layout.dims.cells() as f64) as f32
            }
        }
    }

    fn add_forces(&mut self, forces: &Forces) {
        let Self { layout, walls, carried, scalars, velocity, forces: scratch, .. } = self;
        forces::apply(*layout, walls, forces, carried, scalars, velocity, scratch);
    }
}

/// The largest part of what a box holds that [`balance`] makes up for in one step.
const IMBALANCE: f64 = 0.05;

/// Scales the scalars so that the box holds what it should: what a moving solid and the traces around it have lost or
/// gained is made up for everywhere (the accounting of West 2007, for the whole box at once). Sums that cancel, as of hot
/// and cold air, are left alone.
fn balance(layout: Layout, should: [f64; 4], holds: [f64; 4], scalars: &mut [[f32; 4]]) {
    let factor = [0, 1, 2, 3].map(|c| match should[c] / holds[c] {
        f if (f - 1.0).abs() < IMBALANCE => f as f32,
        _ => 1.0,
    });
    if factor != [1.0; 4] {
        scalars
            .par_chunks_mut(layout.plane)
            .for_each(|plane| advect::scale_row(&factor, SCALAR_LIMIT, plane));
    }
}

fn interpolation(scheme: Advection) -> Interpolation {
    match scheme {
        Advection::SemiLagrangian | Advection::MacCormack => Interpolation::Linear,
        Advection::Cubic => Interpolation::Cubic,
    }
}

/// Calls `f(row, at, out)` for each row of faces in `range` = [xs, ys, zs], with the displacement of the faces: the
/// mean of the two cells they separate.
fn for_faces(
    layout: Layout,
    component: usize,
    [xs, ys, zs]: [[isize; 2]; 3],
    cells: &Faces,
    out: &mut [f32],
    f: impl Fn(Row, usize, &mut [f32]) + Sync,
) {
    let stride = layout.strides()[component];
    sweep::rows(layout, out, [ys, zs], |j, k, row| {
        for from in (xs[0]..xs[1]).step_by(trace::RUN) {
            let count = (xs[1] - from).min(trace::RUN as isize) as usize;
            let at = layout.at(from, j, k);
            let back = mean_of_cells(cells, at, stride, count);
            let faces =
                Row { origin: [from as f32, j as f32, k as f32], back: back.each_ref().map(|b| &b[..count]) };
            let start = from as usize + GHOST;
            f(faces, at, &mut row[start..start + count]);
        }
    });
}

/// The mean over the cells on both sides of each face of a run.
fn mean_of_cells(cells: &Faces, at: usize, stride: usize, count: usize) -> [[f32; trace::RUN]; 3] {
    let mut out = [[0.0; trace::RUN]; 3];
    for (out, cells) in out.iter_mut().zip(cells) {
        let (low, high) = (&cells[at - stride..][..count], &cells[at..][..count]);
        for ((out, low), high) in out.iter_mut().zip(low).zip(high) {
            *out = 0.5 * (low + high);
        }
    }
    out
}
