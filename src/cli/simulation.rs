//! A scene on its way through its frames, for the commands that keep no window.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::CliError;
use crate::scene::Scene;
use crate::solver::{Solver, SolverError};

/// A solver and how it gets from frame to frame.
pub struct Run {
    solver: Solver,
    steps: u32,
    dt: f32,
    frame: u32,
    timing: Timing,
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

impl Run {
    /// The start of `scene`; a step ends early when `cancel` is set.
    pub fn new(scene: &Scene, cancel: &'static AtomicBool) -> Result<Self, CliError> {
        let (steps, dt) = scene.time.steps_per_frame();
        let solver = scene.solver().map_err(|error| match error {
            SolverError::NoRoom(_) => CliError::Solver(error),
            other => CliError::Request(other.to_string()),
        })?;
        Ok(Self { solver, steps, dt, frame: 0, timing: Timing::default(), cancel, alarm: 0.0 })
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
                self.solver.step(self.dt, self.cancel).map_err(stopped)?;
                self.timing.spent += began.elapsed();
                self.timing.steps += 1;
                self.warn();
                each(&self.solver)?;
            }
            self.frame += 1;
        }
        Ok(())
    }

    /// Says that the flow has blown up, and again when it is ten times worse.
    fn warn(&mut self) {
        let stats = self.solver.stats();
        if let (true, Some(warning)) = (stats.cfl >= self.alarm, stats.warning()) {
            tracing::warn!("step {}: {warning}", stats.step);
            self.alarm = 10.0 * stats.cfl;
        }
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
