//! The window: the smoke under the hand, with a panel of everything that can be set.
//!
//! [`Session`](session::Session) is the running scene and knows no window; [`panel`] shows and changes its
//! [`Model`](model::Model); `window` brings both together with winit, egui and the renderer. Camera
//! ([`orbit`]), cursor ([`cursor`]), undo ([`undo`]), the meaning of drags ([`gesture`]) and of keys
//! ([`action`]) are plain maths and data. Nothing here touches a field: edits go to the worker as commands.

pub mod action;
mod canvas;
mod context;
pub mod cursor;
mod dialog;
pub mod export;
mod file;
pub mod gesture;
pub mod hue;
pub mod model;
pub mod objects;
pub mod orbit;
mod overlay;
pub mod pace;
pub mod panel;
mod picture;
pub mod remember;
pub mod session;
pub mod settings;
mod state;
pub mod undo;
mod watch;
mod window;

use std::path::PathBuf;

use thiserror::Error;

use crate::render::RenderError;
use crate::scene::{Scene, SceneError};

/// How the window behaves, apart from the scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Run from the start; else it waits for the first press of Space.
    pub run: bool,
    /// Where to write what the window is doing each time that changes, as JSON; for tests.
    pub state_file: Option<PathBuf>,
    /// The file that remembers size and panel from one run to the next, if one is to.
    pub remembered: Option<PathBuf>,
}

impl Default for Options {
    /// Runs at once; `UPDRAFT_STATE_FILE` in the environment names the file for tests.
    fn default() -> Self {
        let state_file = std::env::var_os("UPDRAFT_STATE_FILE").map(PathBuf::from);
        Self { run: true, state_file, remembered: remember::place() }
    }
}

/// Why there is no window, or why it closed by itself.
#[derive(Debug, Error)]
pub enum AppError {
    /// This machine shows no window, and why: no display, or a library that windows need is missing.
    #[error("no window can be opened: {0}")]
    NoDisplay(String),
    /// The scene cannot be simulated.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The picture cannot be drawn.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The window system broke the connection or refused to draw.
    #[error("the window was lost: {0}")]
    Lost(String),
}

/// Opens a window on `scene` and comes back when it is closed. To be called once, from the main thread.
///
/// # Errors
/// [`AppError::NoDisplay`] before anything was shown or simulated, so that the caller can do without a window.
pub fn run(scene: Scene, options: Options) -> Result<(), AppError> {
    window::run(scene, options)
}
