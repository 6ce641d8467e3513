//! The time step: incompressible flow with heat and three colours of smoke on a MAC grid.
//!
//! Stam, "Stable Fluids" (1999), with the forces of Fedkiw, Stam & Jensen, "Visual Simulation of Smoke"
//! (2001). Each term of the equation has a file or folder; `substep.rs` orders them.

mod active_bricks;
mod advect;
mod archive;
mod backflow;
mod captured_state;
mod cells;
mod config;
mod conservative;
mod detail;
mod diffuse;
mod edit;

mod external;
mod fields;
mod finite;
mod forces;
mod measure;
mod pressure;
mod profile;
mod project;
mod row_passes;
mod sides;
mod solids;
mod solver_error;
mod sources;
mod step;
mod step_stats;
mod substep;
mod trace;
mod transport;
mod trapezoid;

pub use archive::StateError;
pub use captured_state::State;
pub use config::{
    Advection, Ambient, BoundaryCondition, BoundaryConditions, Config, Dab, Inflow, Integrator, MOST_DETAIL,
    Params, Projection, SCALAR_LIMIT, SPEED_LIMIT, Smoke, TOLERANCE, TimeControl, TraceOrder,
};
pub use external::{ActsOn, CustomField, Drive, Force, ForceField};
pub use profile::{Profile, SideValues};
pub use solids::{Mesh, MeshError, Motion, Shape, Slip, Solid, SolidPose};
pub use solver_error::{InvalidValue, SolverError};
pub use sources::{Card, CardError, Cloud, Fill, Form, Noise, Region, Source};
pub use step::Solver;
pub use step_stats::{Stage, StepStats};
