//! The time step: incompressible flow with heat and three colours of smoke on a MAC grid.
//!
//! Stam, "Stable Fluids" (1999) with the forces of Fedkiw, Stam & Jensen, "Visual Simulation of Smoke" (2001). One
//! file for each term of the equation; `substep.rs` puts them in order.

mod advect;
mod archive;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod backflow;
mod bricks;
mod cells;
mod config;
mod conservative;
mod diffuse;
mod edit;
mod eights;
mod error;
mod external;
mod fields;
mod forces;
mod lanes;
mod measure;
mod project;
mod sides;
pub(crate) mod simd;
mod solids;
mod sound;
mod sources;
mod state;
mod stats;
mod step;
mod substep;
mod sweep;
mod trace;
mod transport;
mod transpose;
mod trapezoid;

pub use archive::StateError;
pub use config::{
    Advection, Ambient, BoundaryCondition, BoundaryConditions, Config, Dab, Inflow, Integrator, Params,
    Projection, SCALAR_LIMIT, SPEED_LIMIT, Smoke, TOLERANCE, TimeControl, TraceOrder,
};
pub use error::{InvalidValue, SolverError};
pub use external::{ActsOn, CustomField, Drive, Force, ForceField};
pub use simd::LevelError;
#[cfg(feature = "cli")]
pub(crate) use simd::check as check_level;
pub use solids::{Mesh, MeshError, Shape, Slip, Solid, SolidPose};
pub use sources::{Card, CardError, Fill, Form, Noise, Region, Source};
pub use state::State;
pub use stats::{Stage, StepStats};
pub use step::Solver;
