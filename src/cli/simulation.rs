//! A scene on its way through its frames, for the commands that keep no window.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::checkpoint::{self, Checkpoint, Head};
use super::means::Mean;
use super::{CliError, tell};
use crate::output::OutputError;
use crate::scene::{Scene, SceneError};
use crate::solver::{Solver, SolverError};

/// A solver and how it gets from frame to frame.
pub struct Run {
    solver: Solver,
    steps: u32,
    dt: f32,
    frame: u32,
    /// Steps done of the next frame.
    step: u32,
    timing: Timing,
    missing: Missing,
    cancel: &'static AtomicBool,
    /// The CFL number at which the next warning is due.
    alarm: f32,
}

/// Time spent in steps so far.
#[derive(Clone, Copy, Default)]
struct Timing {
    spent: Duration,
    steps: u32,
}

/// Steps that could not be cut as the CFL number asks.
#[derive(Clone, Copy, Default)]
struct Missing {
    steps: u32,
    /// Most cells that anything was advected in one substep of theirs.
    cfl: f32,
}

impl Run {
    /// The start of `scene`; a step ends early when `cancel` is set.
    pub fn new(scene: &Scene, cancel: &'static AtomicBool) -> Result<Self, CliError> {
        let (steps, dt) = scene.time.steps_per_frame();
        let solver = scene.solver().map_err(|error| match error {
            SceneError::Solver(error @ SolverError::NoRoom(_)) => CliError::Solver(error),
            other => CliError::Request(other.to_string()),
        })?;
        Ok(Self {
            solver,
            steps,
            dt,
            frame: 0,
            step: 0,
            timing: Timing::default(),
            missing: Missing::default(),
            cancel,
            alarm: 0.0,
        })
    }

    /// Advances to `frame`, showing `each` the solver after every step; stopped by Ctrl-C between two stages of a step.
    pub fn advance(
        &mut self,
        frame: u32,
        mut each: impl FnMut(&Solver) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        while self.frame < frame {
            for _ in 0..self.steps {
                let began = Instant::now();
                self.solver.step_cancellable(self.dt, self.cancel).map_err(stopped)?;
                self.count(began);
                each(&self.solver)?;
            }
            self.frame += 1;
        }
        Ok(())
    }

    /// Counts a step that began at `began`, and one that was too long. Says that the flow has blown up, again when it is ten
    /// times worse.
    fn count(&mut self, began: Instant) {
        self.timing.spent += began.elapsed();
        self.timing.steps += 1;
        let stats = self.solver.stats();
        // Steps of a fixed length are never cut.
        if stats.substeps_missing > 0 && self.solver.config().time.max_substeps > 1 {
            self.missing.steps += 1;
            self.missing.cfl = self.missing.cfl.max(stats.cfl);
        }
        if let (true, Some(warning)) = (stats.cfl >= self.alarm, stats.warning()) {
            tracing::warn!("step {}: {warning}", stats.step);
            self.alarm = 10.0 * stats.cfl;
        }
    }

    /// Says on stderr where time.max_substeps was less than time.cfl asks for.
    pub fn warn(&self, quiet: bool) {
        let Missing { steps, cfl } = self.missing;
        if steps > 0 && !quiet {
            let most = self.solver.config().time.max_substeps;
            tell(&format!(
                "updraft: in {steps} steps the air was too fast for {most} substeps: it crossed up to {cfl:.1} cells in \
                 one, where time.cfl is {}; raise time.max_substeps or the voxel",
                self.solver.config().time.cfl
            ));
        }
    }

    /// Goes on from a checkpoint of `scene`.
    pub fn resume(
        scene: &Scene,
        checkpoint: &mut Checkpoint,
        cancel: &'static AtomicBool,
    ) -> Result<Self, CliError> {
        let (steps, dt) = scene.time.steps_per_frame();
        let mut solver = scene.empty_solver().map_err(|error| CliError::Request(error.to_string()))?;
        checkpoint.restore(&mut solver)?;
        let Head { frame, step, .. } = checkpoint.head;
        Ok(Self {
            solver,
            steps,
            dt,
            frame,
            step,
            timing: Timing::default(),
            missing: Missing::default(),
            cancel,
            alarm: 0.0,
        })
    }

    /// One step, to its end whatever is asked meanwhile. True if a frame is finished with it.
    pub fn step(&mut self) -> Result<bool, CliError> {
        let began = Instant::now();
        self.solver.step(self.dt).map_err(stopped)?;
        self.count(began);
        self.step += 1;
        let finished = self.step == self.steps;
        if finished {
            (self.step, self.frame) = (0, self.frame + 1);
        }
        Ok(finished)
    }

    /// Writes a checkpoint of a run of `scene` to `path`, with the lengths of its tables and its means over time.
    pub fn save(
        &mut self,
        path: &Path,
        scene: &Scene,
        tables: BTreeMap<String, u64>,
        means: &mut [&mut Mean],
    ) -> Result<(), OutputError> {
        checkpoint::write(path, &Head::new(scene, self.frame, self.step, tables), &mut self.solver, means)
    }

    /// Keeps the pressure of each step, to be written with other fields.
    pub fn keep_pressure(&mut self) {
        self.solver.keep_pressure();
    }

    /// The frame that it stands at.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    /// The solver as the last step left it.
    pub fn solver(&self) -> &Solver {
        &self.solver
    }

    /// Mean wall time of a step \[ms\].
    pub fn ms_per_step(&self) -> f64 {
        self.timing.spent.as_secs_f64() * 1e3 / f64::from(self.timing.steps.max(1))
    }
}

/// Signals alone cancel a step here.
pub fn stopped(error: SolverError) -> CliError {
    match error {
        SolverError::Cancelled => CliError::Stopped(super::interrupt::by().into()),
        other => CliError::Solver(other),
    }
}
