//! Smoke in three dimensions: a staggered-grid solver on CPU threads and a volume renderer.
//!
//! The layers, each knowing only those before it: [`grid`] (shapes and storage), [`solver`] (the time
//! step), [`snapshot`] and [`look`] (what a picture is made from), [`scene`] (TOML in, solver out),
//! [`worker`] (the thread that owns a solver), [`render`], [`output`], [`cli`], and with the feature
//! `viewer` the window, `app`. Below them all, [`foreign`] reads what others wrote and [`room`] asks for memory.

// Lines that cannot be written must not end a run: `cli::tell` and `cli::say` write them.
#![cfg_attr(not(test), warn(clippy::print_stderr, clippy::print_stdout))]

#[cfg(feature = "viewer")]
pub mod app;
pub mod cli;
pub mod field;
pub mod foreign;
pub mod grid;
pub mod look;
pub mod npz;
pub mod output;
pub mod probe;
pub mod render;
pub mod room;
pub mod scene;
pub mod snapshot;
pub mod solver;
pub mod worker;
