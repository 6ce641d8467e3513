//! Compares flows with published or exact numbers. The tests run scenes of `validation/` on several grids,
//! and take the same measurements as `validation/plot.py`.
//!
//! The coarse grids always run, the fine ones with `cargo test --release --test validation -- --ignored`.
//! VALIDATION.md has the table.

mod bodies;
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
mod zalesak;
