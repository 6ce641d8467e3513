//! Interface of a simulation, as the worker uses it.

use std::sync::atomic::AtomicBool;

use crate::snapshot::Snapshot;
use crate::solver::{Dab, Force, Params, Solid, Solver, SolverError, Source, State};

/// A simulation that can be stepped, edited and captured. [`Solver`] implements it; tests use others, which
/// are slow or fail on purpose.
pub trait Simulation: Send {
    /// The parameters of the model.
    fn params(&self) -> &Params;
    /// Changes the parameters from the next step on.
    fn set_params(&mut self, params: Params) -> Result<(), SolverError>;
    /// Changes the sources from the next step on.
    fn set_sources(&mut self, sources: Vec<Source>) -> Result<(), SolverError>;
    /// Changes the external forces from the next step on.
    fn set_forces(&mut self, forces: Vec<Force>) -> Result<(), SolverError>;
    /// The solids that were set last.
    fn solids(&self) -> &[Solid] {
        &[]
    }
    /// Changes the solids; those that differ only in their motion are moved.
    fn set_solids(&mut self, _: Vec<Solid>) -> Result<(), SolverError> {
        Ok(())
    }
    /// Simulated time \[s\], and the edge of a cell \[m\], in which the motion of a dragged solid is divided
    /// into steps.
    fn scale(&self) -> (f64, f32) {
        (0.0, 1.0)
    }
    /// Adds one dab of the cursor now.
    fn dab(&mut self, dab: &Dab) -> Result<(), SolverError>;
    /// Resets to air at rest at time zero.
    fn clear(&mut self);
    /// Advances by `dt` seconds, or stops early with [`SolverError::Cancelled`] once `cancel` is raised. The worker then restores the
    /// state before the step; a simulation without states stays as it is then.
    fn step(&mut self, dt: f32, cancel: &AtomicBool) -> Result<(), SolverError>;
    /// The whole present state, if the simulation supports it.
    fn state(&self) -> Option<State> {
        None
    }
    /// As [`state`](Self::state), in the memory of an older one.
    fn state_over(&self, _: Option<State>) -> Option<State> {
        self.state()
    }
    /// Restores a state.
    fn restore(&mut self, _: &State) -> Result<(), SolverError> {
        Err(SolverError::NoState)
    }
    /// Captures the present instant into `into`, whose memory is reused; its serial is not changed.
    fn capture(&self, into: &mut Snapshot, with_velocity: bool);
}

impl Simulation for Solver {
    fn params(&self) -> &Params {
        Solver::params(self)
    }

    fn set_params(&mut self, params: Params) -> Result<(), SolverError> {
        Solver::set_params(self, params)
    }

    fn set_sources(&mut self, sources: Vec<Source>) -> Result<(), SolverError> {
        Solver::set_sources(self, sources)
    }

    fn set_forces(&mut self, forces: Vec<Force>) -> Result<(), SolverError> {
        Solver::set_forces(self, forces)
    }

    fn solids(&self) -> &[Solid] {
        Solver::solids(self)
    }

    fn set_solids(&mut self, solids: Vec<Solid>) -> Result<(), SolverError> {
        Solver::guide_solids(self, solids)
    }

    fn scale(&self) -> (f64, f32) {
        (self.stats().time, self.config().h)
    }

    fn dab(&mut self, dab: &Dab) -> Result<(), SolverError> {
        Solver::dab(self, dab)
    }

    fn clear(&mut self) {
        Solver::clear(self);
    }

    fn step(&mut self, dt: f32, cancel: &AtomicBool) -> Result<(), SolverError> {
        Solver::step_cancellable(self, dt, cancel).map(|_| ())
    }

    fn state(&self) -> Option<State> {
        Some(Solver::capture(self))
    }

    fn state_over(&self, old: Option<State>) -> Option<State> {
        Some(Solver::capture_over(self, old))
    }

    fn restore(&mut self, state: &State) -> Result<(), SolverError> {
        Solver::restore(self, state)
    }

    fn capture(&self, into: &mut Snapshot, with_velocity: bool) {
        let (serial, load) = (into.serial, into.load);
        into.capture(self, with_velocity);
        (into.serial, into.load) = (serial, load);
    }
}
