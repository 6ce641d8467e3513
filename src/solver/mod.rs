//! Incompressible flow with heat and three colours of smoke on a MAC grid.
//!
//! Stam, "Stable Fluids" (1999), with the forces of Fedkiw, Stam & Jensen, "Visual Simulation of Smoke" (2001).
//! Each term of the equation has a folder:
//!
//! ```text
//! ∂u/∂t = −(u·∇)u + ν∇²u + f − ∇p/ρ      advect, diffuse, forces, project
//! ∂s/∂t = −∇·(u s) + κ∇²s − k s + S      advect (detail: on finer cells), diffuse, forces, sources
//! ∇·u   = 0                              project
//! ```
//!
//! `sides` and `solids` are the boundary conditions. `step` holds the fields of a [`Solver`] and applies the
//! terms in order. It uses all other folders; `storage` uses none of them.

mod advect;
mod config;
mod detail;
mod diffuse;
mod forces;
mod invalid_value;
mod project;
mod sides;
mod solids;
mod solver_error;
mod sources;
mod step;
mod step_stats;
mod storage;

pub use config::{
    Advection, Ambient, BoundaryCondition, BoundaryConditions, Config, Dab, Follow, Inflow, Integrator,
    MOST_DETAIL, MOST_THREADS, Params, Projection, SCALAR_LIMIT, SPEED_LIMIT, Smoke, TOLERANCE, TimeControl,
    TraceOrder, Turbulence,
};
#[cfg(feature = "cli")]
pub(crate) use detail::stored_motion::StoredMotion;
pub use forces::external::{ActsOn, CustomField, Drive, Force, ForceField};
pub use invalid_value::InvalidValue;
pub use sides::profile::{Profile, SideValues};
pub use solids::{Mesh, MeshError, Motion, Shape, Slip, Solid, SolidPose};
pub use solver_error::SolverError;
pub use sources::{Card, CardError, Cloud, Fill, Form, Noise, Region, Source};
pub use step::Solver;
pub use step::captured_state::State;
pub use step::distribution::refuse_on_ranks;
pub use step_stats::{Stage, StepStats};
pub use storage::archive::StateError;
