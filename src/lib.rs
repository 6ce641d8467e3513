//! Smoke in three dimensions: a solver on CPU threads and a volume renderer, live in a window or frame by frame.
//!
//! A box of air is divided into cubic cells. Each cell holds three densities of smoke (red, green, blue) and a
//! temperature excess; each face between two cells holds the velocity across it (a staggered or MAC grid). A step
//! advects all of them, adds sources and forces, and projects the velocity so that no air is gained or lost.
//!
//! ```
//! use updraft::{BoundaryCondition, Config, Dims, Params, Region, Solver, Source};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // 32 × 48 × 32 cells of 2 cm, open at the top.
//! let mut config = Config::new(Dims::new([32, 48, 32])?, 0.02);
//! config.sides[1][1] = BoundaryCondition::Open;
//! // A ball of hot smoke near the floor: red 8 per second, 200 kelvin per second.
//! let source = Source::new(Region::sphere([0.32, 0.12, 0.32], 0.08), [8.0, 0.0, 0.0, 200.0]);
//! let mut solver = Solver::new(config, Params { heat_buoyancy: 0.1, ..Params::default() }, vec![source])?;
//! for _ in 0..12 {
//!     let stats = solver.step(1.0 / 24.0)?;
//!     println!("{:.2} s: {:.2} m/s, {:.1e} m³ of red", stats.time, stats.max_speed, stats.mass[0]);
//! }
//! // Smoke has its own layout: `config.detail` would make its cells finer than those of the velocity.
//! let [red, _, _, kelvin] = solver.scalars()[solver.smoke_layout().at(16, 10, 16)];
//! assert!(red > 0.1 && kelvin > 2.0 && solver.stats().max_speed > 0.1);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to start
//!
//! - **Set up**: [`Config`] is fixed when a [`Solver`] is built; [`Params`], [`Source`]s and [`Force`]s may change between
//!   steps, and [`Solid`]s may stand or move in the box. [`Force::custom`](solver::Force::custom) takes a closure.
//! - **Fields**: [`Solver::scalars`] and [`Solver::velocity`] lend them, [`Solver::edit_scalars`] and
//!   [`Solver::edit_velocity`] change them in place, [`Solver::fill`] sets them by position. [`grid`] describes the memory layout.
//! - **Threads**: a solver has its own, or those of a pool that it is given ([`Solver::with_pool`]). The result has the same
//!   bits for any number of them. [`Worker`] runs a solver on its own thread; other threads steer it.
//! - **Pictures**: [`Snapshot`] is one instant as half floats; a renderer takes it with a [`Camera`] and a [`Look`].
//! - **Scenes**: `Scene` reads all this from TOML (`docs/scene.md` lists the keys).
//!
//! Lengths are metres, times seconds, temperatures kelvin above the air outside; y points up. Values that no flow can have
//! are refused where they are given. Errors are typed and carry the values that caused them. Structs of settings may gain
//! fields: end them with `..Config::new(…)` or `..default()`.
//!
//! The folder `examples` has five short programs: a solver in a foreign loop (`embed`), smoke and forces from code
//! (`custom`), a picture of a volume of your own (`volume`), a scene to files (`frames`), a solver steered from another
//! thread (`steer`).
//!
//! # Modules
//!
//! Each module uses only those above it.
//!
//! | module | holds | feature |
//! |---|---|---|
//! | [`grid`] | the shape of the box, and the memory layout that all fields share | |
//! | [`solver`] | the time step: a file or folder for each term of the equation | |
//! | [`field`], [`probe`] | fields by name, as arrays; values at points, along lines, over planes | |
//! | [`snapshot`], [`look`] | one instant; camera, light, medium and tone as plain data | |
//! | [`worker`] | the thread that owns a running solver | |
//! | [`render`] | from snapshot to picture, by threads, and with `viewer` in OpenGL | |
//! | [`parameter`] | every key of a scene, declared once: unit, default, range, description | |
//! | `npz`, `vdb`, `volume`, `output` | fields in and out; pictures, videos and tables | `files` |
//! | `scene` | TOML in, checked scene and solver out; every error has its line | `scene` |
//!
//! # Features
//!
//! `viewer` and `cli` are on by default: the OpenGL renderer with the window, and the command. Each brings `scene`, which
//! brings `files` (npz, PNG, EXR, meshes) and `text` (letters made of smoke). A program that only simulates needs none:
//! `default-features = false`.

// Lines that cannot be written must not end a run: `cli::tell` and `cli::say` write them.
#![cfg_attr(not(test), warn(clippy::print_stderr, clippy::print_stdout))]

#[cfg(feature = "viewer")]
mod app;
#[cfg(feature = "cli")]
mod cli;
pub mod comm;
pub mod field;
#[cfg(feature = "files")]
mod foreign;
pub mod grid;
pub mod look;
#[cfg(feature = "files")]
pub mod npz;
#[cfg(feature = "files")]
pub mod output;
mod packed;
pub mod parameter;
pub mod probe;
#[doc(hidden)]
pub mod program;
pub mod render;
mod room;
#[cfg(feature = "scene")]
pub mod scene;
mod simd;
pub mod snapshot;
pub mod solver;
#[cfg(any(feature = "cli", test))]
mod spread;
#[cfg(feature = "files")]
pub mod vdb;
#[cfg(feature = "files")]
pub mod volume;
pub mod worker;

pub use grid::Dims;
pub use look::{Camera, Look};
#[cfg(feature = "scene")]
pub use scene::{Scene, SceneError};
pub use snapshot::Snapshot;
pub use solver::{
    BoundaryCondition, Config, Force, Params, Region, Shape, Solid, Solver, SolverError, Source, StepStats,
};
pub use worker::{Command, Worker};

/// The version of `half` whose `f16` a [`Snapshot`] contains.
pub use half;
/// The version of `rayon` whose thread pool [`Solver::with_pool`] takes.
pub use rayon;

/// The example of the README, compiled.
#[cfg(all(doctest, feature = "scene"))]
#[doc = include_str!("../README.md")]
struct Readme;
