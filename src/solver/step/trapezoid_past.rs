//! Memory of the trapezoidal rule from one step to the next.

use crate::grid::{Faces, Layout};
use crate::solver::storage::archive::{Archive, StateError};
use crate::solver::{Config, Integrator};

/// State from the last step, besides its pressure.
pub struct Past {
    /// Velocity at the beginning of the last step, free of divergence \[m/s\]. Within a step, scratch.
    pub velocity: Faces,
    /// Length of the last step \[s\]; 0 if there is none to go on from.
    pub dt: f32,
    /// Time for which the last step's pressure acts before the advection, half a step \[s\].
    pub ahead: f32,
}

impl Past {
    /// Floats for each value of the layout, with the pressure.
    pub const FLOATS: usize = 4;

    /// Whether the solver of `config` remembers anything.
    pub fn is_kept(config: &Config) -> bool {
        config.integrator == Integrator::Trapezoid && !config.frozen
    }

    /// Makes an empty state. `None` for integrators without one.
    pub fn new(config: &Config, layout: Layout) -> Option<Box<Self>> {
        let faces = || [0, 1, 2].map(|_| vec![0.0f32; layout.size()]);
        Self::is_kept(config).then(|| Box::new(Self { velocity: faces(), dt: 0.0, ahead: 0.0 }))
    }
}

impl Past {
    /// Passes its state to `archive`; see [`Saved`](crate::solver::storage::archive::Saved).
    pub fn state(&mut self, archive: &mut dyn Archive, layout: Layout) -> Result<(), StateError> {
        // The time ahead is set anew by each step.
        let Self { velocity, dt, ahead: _ } = self;
        for field in velocity {
            archive.field("past", field, layout)?;
        }
        archive.value("past_dt", dt)
    }
}
