//! A run through the frames of a scene, for the commands without a window.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::checkpoint::{self, Checkpoint, Head};
use super::means::Mean;
use super::run_flow::RunFlow;
use super::{CliError, tell};
use crate::comm::Comm;
use crate::output::OutputError;
use crate::scene::{Scene, SceneError};
use crate::solver::{Solver, SolverError};

/// A solver and its progress through the frames.
pub struct Run {
    solver: Solver,
    steps: u32,
    dt: f32,
    frame: u32,
    /// Finished steps of the next frame.
    step: u32,
    timing: Timing,
    missing: Missing,
    cancel: &'static AtomicBool,
    /// CFL number of the next warning.
    alarm: f32,
    /// The flow of another run that the smoke follows, if any.
    flow: Option<RunFlow>,
    /// Whether the warning of a box at its memory limit was given.
    was_full: bool,
}

/// Time spent in steps.
#[derive(Clone, Copy, Default)]
struct Timing {
    spent: Duration,
    steps: u32,
}

/// Steps with fewer substeps than the CFL number requires.
#[derive(Clone, Copy, Default)]
struct Missing {
    steps: u32,
    /// Largest CFL number of their substeps.
    cfl: f32,
}

impl Run {
    /// Starts a run of `scene`. A step ends early when `cancel` is set.
    pub fn new(
        scene: &Scene,
        comm: Option<Arc<dyn Comm>>,
        cancel: &'static AtomicBool,
    ) -> Result<Self, CliError> {
        let solver = scene.solver_on(comm).map_err(|error| match error {
            SceneError::Solver(error @ SolverError::NoRoom(_)) => CliError::Solver(error),
            other => CliError::Request(other.to_string()),
        })?;
        Ok(Self::at(scene, solver, [0; 2], cancel))
    }

    /// Makes a run of `scene` whose `solver` has finished `frame` frames, and `step` steps of the next one.
    fn at(scene: &Scene, solver: Solver, [frame, step]: [u32; 2], cancel: &'static AtomicBool) -> Self {
        let (steps, dt) = scene.time.steps_per_frame();
        Self {
            solver,
            steps,
            dt,
            frame,
            step,
            timing: Timing::default(),
            missing: Missing::default(),
            cancel,
            alarm: 0.0,
            flow: None,
            was_full: false,
        }
    }

    /// Advances by a frame. Ctrl-C stops it between two stages of a step.
    pub fn advance(&mut self) -> Result<(), CliError> {
        for _ in 0..self.steps {
            let began = Instant::now();
            self.solver.step_cancellable(self.dt, self.cancel).map_err(stopped)?;
            self.count(began);
        }
        self.frame += 1;
        Ok(())
    }

    /// Records the time and the substeps of a step that began at `began`. Warns if the flow has blown up, and
    /// again when it is ten times worse.
    fn count(&mut self, began: Instant) {
        self.timing.spent += began.elapsed();
        self.timing.steps += 1;
        let stats = self.solver.stats();
        if stats.substeps_missing > 0 {
            self.missing.steps += 1;
            self.missing.cfl = self.missing.cfl.max(stats.cfl);
        }
        if let (true, Some(warning)) = (stats.cfl >= self.alarm, stats.warning()) {
            tracing::warn!("step {}: {warning}", stats.step);
            self.alarm = 10.0 * stats.cfl;
        }
        if self.solver.is_full() && !std::mem::replace(&mut self.was_full, true) {
            tracing::warn!(
                "step {}: the box of {:?} cells has no memory to follow the smoke further; smoke leaves through its open sides; \
                 raise domain.follow_limit",
                stats.step,
                self.solver.config().dims.array()
            );
        }
    }

    /// Warns on stderr if time.max_substeps was less than time.cfl requires.
    pub fn warn(&self, quiet: bool) {
        let Missing { steps, cfl } = self.missing;
        if steps > 0 && !quiet {
            let most = self.solver.config().time.max_substeps;
            tell(&format!(
                "updraft: in {steps} steps the air was too fast for a time.max_substeps of {most}: it crossed up to {cfl:.1} cells in \
                 a substep, where time.cfl is {}; raise time.max_substeps or the voxel",
                self.solver.config().time.cfl
            ));
        }
    }

    /// Resumes a run from a checkpoint of `scene`.
    pub fn resume(
        scene: &Scene,
        comm: Option<Arc<dyn Comm>>,
        checkpoint: &mut Checkpoint,
        cancel: &'static AtomicBool,
    ) -> Result<Self, CliError> {
        let mut solver = scene.empty_solver_on(comm).map_err(|error| CliError::Request(error.to_string()))?;
        checkpoint.restore(&mut solver)?;
        let Head { frame, step, .. } = checkpoint.head;
        Ok(Self::at(scene, solver, [frame, step], cancel))
    }

    /// Takes one whole step. Returns true if it finishes a frame.
    pub fn step(&mut self) -> Result<bool, CliError> {
        let began = Instant::now();
        self.step_solver()?;
        self.count(began);
        self.step += 1;
        let finished = self.step == self.steps;
        if finished {
            (self.step, self.frame) = (0, self.frame + 1);
        }
        Ok(finished)
    }

    fn step_solver(&mut self) -> Result<(), CliError> {
        let Self { solver, steps, dt, frame, step, flow, .. } = self;
        // A cancelled step could not be saved in a checkpoint.
        static NEVER: AtomicBool = AtomicBool::new(false);
        let Some(flow) = flow else { return solver.step(*dt).map(drop).map_err(stopped) };
        let instant = |step: u32| f64::from(*frame) + f64::from(step) / f64::from(*steps);
        let ends = [flow.at(instant(*step), solver)?, flow.at(instant(*step + 1), solver)?];
        solver.step_along(*dt, ends.each_ref(), &NEVER).map(drop).map_err(stopped)
    }

    /// Lets smoke and heat follow the flow of another run from the start.
    pub fn follow(&mut self, mut flow: RunFlow) {
        flow.begin(&self.solver);
        self.flow = Some(flow);
    }

    /// Lets smoke and heat of a resumed run of `scene` continue to follow `flow`.
    pub fn follow_on(
        &mut self,
        mut flow: RunFlow,
        scene: &Scene,
        comm: Option<Arc<dyn Comm>>,
    ) -> Result<(), CliError> {
        if flow.needs_start(self.frame) {
            flow.begin(&Self::new(scene, comm, self.cancel)?.solver);
        }
        self.flow = Some(flow);
        Ok(())
    }

    /// Writes a checkpoint of a run of `scene` to `path`, with the lengths of its tables, its options and its
    /// means over time. All ranks call it; only the first knows tables and options.
    pub fn save(
        &mut self,
        path: &Path,
        scene: &Scene,
        (tables, options): (BTreeMap<String, u64>, BTreeMap<String, String>),
        means: &mut [&mut Mean],
    ) -> Result<(), OutputError> {
        let head = Head::new(scene, self.frame, self.step, tables);
        let head = Head { has_given_flow: self.flow.is_some(), options, ..head };
        checkpoint::write(path, &head, &mut self.solver, means)
    }

    /// Returns the last finished frame.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    /// Returns the solver after the last step.
    pub fn solver(&self) -> &Solver {
        &self.solver
    }

    /// Returns the solver, to prepare its fields for a file.
    pub fn solver_mut(&mut self) -> &mut Solver {
        &mut self.solver
    }

    /// Returns the mean wall time of a step \[ms\].
    pub fn ms_per_step(&self) -> f64 {
        self.timing.spent.as_secs_f64() * 1e3 / f64::from(self.timing.steps.max(1))
    }
}

/// Converts the error of a step. Only signals cancel steps here.
pub fn stopped(error: SolverError) -> CliError {
    match error {
        SolverError::Cancelled => CliError::Stopped(super::interrupt::by().into()),
        other => CliError::Solver(other),
    }
}
