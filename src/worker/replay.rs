//! Edits and steps of the past, made again on one of two compared simulations.

use std::sync::atomic::AtomicBool;

use super::Simulation;
use super::timeline::{Edit, Replay, Start};
use crate::solver::SolverError;

/// One of two compared simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The simulation itself.
    Present,
    /// The one beside.
    Beside,
}

impl Which {
    pub fn of(self, edit: Edit) -> Edit {
        match self {
            Self::Present => edit,
            Self::Beside => Edit::Beside(Box::new(edit)),
        }
    }

    pub fn sets_solids(self, edit: &Edit) -> bool {
        match (self, edit) {
            (Self::Present, Edit::Solids(_)) => true,
            (Self::Beside, Edit::Beside(edit)) => matches!(**edit, Edit::Solids(_)),
            _ => false,
        }
    }
}

/// Recomputes a frame of the simulation or of the one beside, whose past is that of the simulation before the comparison
/// began. Ends early with [`SolverError::Cancelled`] once `cancel` is raised.
pub(super) fn recompute(
    simulation: &mut dyn Simulation,
    replay: &Replay,
    which: Which,
    cancel: &AtomicBool,
) -> Result<(), SolverError> {
    let Start { state, params, beside } = &*replay.state;
    let shared = beside.is_none();
    let (state, params) = match (which, beside) {
        (Which::Beside, Some((state, params))) => (state, params),
        _ => (state, params),
    };
    simulation.restore(state)?;
    simulation.set_params(params.clone())?;
    let redo = |edits: &[Edit], simulation: &mut dyn Simulation| {
        edits.iter().try_for_each(|edit| match (which, edit) {
            (Which::Beside, Edit::Beside(edit)) => apply(simulation, edit),
            (Which::Present, Edit::Beside(_)) => Ok(()),
            (Which::Beside, edit) if !shared && !matches!(edit, Edit::Dab(_)) => Ok(()),
            (_, edit) => apply(simulation, edit),
        })
    };
    for (edits, dt) in &replay.steps {
        redo(edits, simulation)?;
        simulation.step(*dt, cancel)?;
    }
    redo(&replay.edits, simulation)
}

/// Makes one edit again.
pub(super) fn apply(simulation: &mut dyn Simulation, edit: &Edit) -> Result<(), SolverError> {
    match edit {
        Edit::Dab(dab) => simulation.dab(dab),
        Edit::Params(params) => simulation.set_params(params.as_ref().clone()),
        Edit::Sources(sources) => simulation.set_sources(sources.clone()),
        Edit::Forces(forces) => simulation.set_forces(forces.clone()),
        // They were set once, so setting them again succeeds.
        Edit::Solids(solids) => {
            drop(simulation.set_solids(solids.clone()));
            Ok(())
        }
        Edit::Beside(_) => Ok(()),
    }
}
