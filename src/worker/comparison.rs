//! Two simulations side by side: the one beside takes the steps and dabs of the present one, and its own edits.

use std::sync::atomic::AtomicBool;

use super::Simulation;
use super::command::{BuildError, Builder};
use super::replay::{Which, recompute};
use super::timeline::Replay;
use crate::grid::Dims;
use crate::snapshot::Snapshot;
use crate::solver::{Dab, Params, SolverError, State};

/// The simulation beside, if two are compared.
#[derive(Default)]
pub(super) struct Comparison {
    pub beside: Option<Box<dyn Simulation>>,
    /// Time at which a cancelled step ends \[s\]: both simulations go there before they go on, so that they
    /// stay in step.
    owed: Option<f64>,
}

/// Builds the simulation beside `present`, at the same instant; none ends the comparison.
///
/// # Errors
/// If it cannot be built, or cannot take over the state of a run that has begun.
pub(super) fn begin(present: &dyn Simulation, builder: Option<Builder>) -> Result<Comparison, BuildError> {
    let Some(builder) = builder else { return Ok(Comparison::default()) };
    let mut beside = builder()?;
    if let Some(state) = present.state() {
        match beside.restore(&state) {
            // A simulation with another box or solver cannot take over a state, so the comparison must begin
            // at the start of the run.
            Err(SolverError::OtherConfig) if state.stats().step == 0 => {}
            other => other?,
        }
    }
    Ok(Comparison { beside: Some(beside), owed: None })
}

impl Comparison {
    /// Takes one step with both simulations, or finishes a cancelled one.
    pub fn step(
        &mut self,
        present: &mut dyn Simulation,
        dt: f32,
        cancel: &AtomicBool,
    ) -> Result<(), SolverError> {
        let Some(beside) = &mut self.beside else { return present.step(dt, cancel) };
        let end = self.owed.take().unwrap_or(present.scale().0 + f64::from(dt));
        for simulation in [present, &mut **beside] {
            let rest = (end - simulation.scale().0) as f32;
            if rest > 1e-4 * dt {
                simulation.step(rest, cancel).inspect_err(|_| self.owed = Some(end))?;
            }
        }
        Ok(())
    }

    /// Captures the simulation beside.
    pub fn capture(&self, slot: &mut Snapshot, with_velocity: bool) {
        let Some(beside) = &self.beside else {
            slot.beside = None;
            return;
        };
        let (serial, load) = (slot.serial, slot.load);
        let one = Dims { nx: 1, ny: 1, nz: 1 };
        let into = slot.beside.get_or_insert_with(|| Box::new(Snapshot::empty(one, 1.0)));
        beside.capture(into, with_velocity);
        (into.serial, into.load) = (serial, load);
    }

    pub fn dab(&mut self, dab: &Dab) -> Result<(), SolverError> {
        self.beside.as_mut().map_or(Ok(()), |beside| beside.dab(dab))
    }

    pub fn clear(&mut self) {
        self.owed = None;
        self.beside.iter_mut().for_each(|beside| beside.clear());
    }

    pub fn state(&self) -> Option<State> {
        self.beside.as_ref()?.state()
    }

    /// As [`state`](Self::state), in the memory of an older one.
    pub fn state_over(&self, old: Option<State>) -> Option<State> {
        self.beside.as_ref()?.state_over(old)
    }

    /// State and parameters, for the timeline.
    pub fn start(&self) -> Option<(State, Params)> {
        Some((self.state()?, self.beside.as_ref()?.params().clone()))
    }

    pub fn restore(&mut self, state: &State) -> Result<(), SolverError> {
        self.owed = None;
        self.beside.as_mut().map_or(Ok(()), |beside| beside.restore(state))
    }

    /// Recomputes a recorded frame; the present parameters stay.
    pub fn recompute(&mut self, replay: &Replay, cancel: &AtomicBool) -> Result<(), SolverError> {
        self.owed = None;
        let Some(beside) = &mut self.beside else { return Ok(()) };
        let present = beside.params().clone();
        let done = recompute(&mut **beside, replay, Which::Beside, cancel);
        done.and(beside.set_params(present))
    }
}
