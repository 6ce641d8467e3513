//! Flows whose numbers are published or exact: each test runs the scene of that name in `validation/`, on grids of its
//! own, and measures what `validation/plot.py` measures from the files of a run.
//!
//! Quick rungs always run; slow ones with `cargo test --release --test validation -- --ignored`. VALIDATION.md has the
//! table.

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
