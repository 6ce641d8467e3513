//! The time step: incompressible flow with heat and three colours of smoke on a MAC grid.

mod config;
mod solver;
mod stats;

pub use config::{Advection, Config, Dab, Params, Side, Sides, Smoke, Source, TimeControl};
pub use solver::{Solver, SolverError};
pub use stats::{Stage, StepStats};
