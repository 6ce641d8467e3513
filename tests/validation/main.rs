//! Flows with published or exact numbers. Each test runs the scene of its name in `validation/` on several
//! grids, and takes the same measurements as `validation/plot.py`.
//!
//! Quick rungs always run; slow ones with `cargo test --release --test validation -- --ignored`.
//! VALIDATION.md has the table.

mod bodies;
mod carried;
mod case;
mod cavity;
mod convection;
mod currents;
mod periodic;
mod plume;
mod rings;
mod scenes;
mod shear;
mod viscous;
mod vortices;
