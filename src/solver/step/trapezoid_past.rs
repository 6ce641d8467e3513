//! Memory of the trapezoidal rule from one step to the next.

use crate::solver::advect;
use crate::solver::storage::archive::{Archive, StateError};
use crate::solver::{Advection, Config, Integrator};

/// Whether the velocity that the rule advects has memory of its own, a third one (`corrected_velocity.rs`). Other schemes and finer smoke
/// need the scratch memory themselves; solids and ranks read and write the velocity in many places.
pub fn needs_third_velocity(config: &Config, has_solids: bool, is_alone: bool) -> bool {
    let sweeps = config.detail == 1 && config.advection == Advection::Conservative;
    Past::is_kept(config) && !(sweeps && is_alone && !has_solids && advect::reads_interleaved())
}

/// State from the last step, besides its pressure and the velocity at its beginning.
pub struct Past {
    /// Length of the last step \[s\]; 0 if there is none to go on from.
    pub dt: f32,
    /// Time for which the last step's pressure acts before the advection, half a step \[s\].
    pub ahead: f32,
}

impl Past {
    /// Whether the solver of `config` remembers anything.
    pub fn is_kept(config: &Config) -> bool {
        config.integrator == Integrator::Trapezoid && !config.frozen
    }

    /// Makes an empty state. `None` for integrators without one.
    pub fn new(config: &Config) -> Option<Self> {
        Self::is_kept(config).then_some(Self { dt: 0.0, ahead: 0.0 })
    }

    /// Passes its state to `archive`; see [`Saved`](crate::solver::storage::archive::Saved).
    pub fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        // The time ahead is set anew by each step.
        let Self { dt, ahead: _ } = self;
        archive.value("past_dt", dt)
    }
}
