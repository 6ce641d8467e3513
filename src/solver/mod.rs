//! The time step: incompressible flow with heat and three colours of smoke on a MAC grid.
//!
//! Stam, "Stable Fluids" (1999) with the forces of Fedkiw, Stam & Jensen, "Visual Simulation of Smoke" (2001). One
//! file for each term of the equation; `substep.rs` puts them in order.

mod advect;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod breath;
mod bricks;
mod cells;
mod config;
mod conservative;
mod diffuse;
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
mod stats;
mod step;
mod substep;
mod sweep;
mod trace;
mod transport;
mod transpose;

pub use config::{
    Advection, Ambient, Config, Dab, Inflow, Integrator, Params, Projection, Side, Sides, Smoke, TOLERANCE,
    TimeControl, TraceOrder,
};
pub use external::{ActsOn, Drive, Force, ForceField};
pub use solids::{Mesh, MeshError, Shape, Slip, Solid, SolidPose};
pub use sources::{Card, CardError, Fill, Form, Noise, Region, Source};
pub use stats::{Stage, StepStats};
pub use step::{SCALAR_LIMIT, SPEED_LIMIT, Solver, SolverError};
