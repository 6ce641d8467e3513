//! The window: the smoke, and a panel of all settings.
//!
//! [`Session`](session::Session) is the running scene, independent of any window. [`panel`] shows and changes
//! its [`Model`](model::Model). `window` connects both with winit, egui and the renderer. Camera ([`orbit`]),
//! cursor ([`brush_cursor`]), undo ([`undo`]), drags ([`gesture`]) and keys ([`action`]) are plain maths and data.
//! No code here touches a field: edits go to the worker as commands.

pub mod action;
mod bare_window;
pub mod brush_cursor;
mod canvas;
mod context;
pub mod export;
mod file;
mod file_chooser;
pub mod gesture;
pub mod hue;
mod input_names;
mod lost_display;
pub mod model;
pub mod objects;
pub mod orbit;
mod overlay;
pub mod pace;
pub mod panel;
mod priority;
pub mod remember;
mod rescue;
mod screenshot;
pub mod session;
pub mod settings;
mod state;
pub mod undo;
mod view_pictures;
mod watch;
mod window;

use std::path::PathBuf;

use thiserror::Error;

use crate::render::RenderError;
use crate::scene::{Scene, SceneError};
use crate::worker::{Recording, Spill};

/// Options of the window that are not part of the scene.
#[derive(Clone, Debug)]
pub struct Options {
    /// Run from the start; otherwise wait for the first press of Space.
    pub run: bool,
    /// File for the state of the window as JSON, written at each change; for tests.
    pub state_file: Option<PathBuf>,
    /// The file that remembers size and panel from one run to the next, if one is to.
    pub remembered: Option<PathBuf>,
    /// Memory for recorded frames \[bytes\]; if none is given, an eighth of the machine's.
    pub record_memory: Option<u64>,
    /// Room on the disk for the recorded frames that do not fit into memory \[bytes\].
    pub record_disk: Option<u64>,
    /// Catches the signals that end the program. The first signal calls the passed closure: unsaved changes
    /// are copied, and the window closes. Without it signals end the process as usual.
    pub on_signal: Option<fn(Leave)>,
}

/// Closes the window from another thread.
pub type Leave = Box<dyn Fn() + Send>;

impl Default for Options {
    /// Runs at once; `UPDRAFT_STATE_FILE` in the environment names the file for tests.
    fn default() -> Self {
        let state_file = std::env::var_os("UPDRAFT_STATE_FILE").map(PathBuf::from);
        Self {
            run: true,
            state_file,
            remembered: remember::place(),
            record_memory: None,
            record_disk: None,
            on_signal: None,
        }
    }
}

impl Options {
    /// Returns the memory and disk for recorded frames. On the disk they lie in nameless files in the cache
    /// folder, which vanish with the window.
    fn recording(&self) -> Recording {
        let new_file = || {
            let folder = remember::cache_folder();
            std::fs::create_dir_all(&folder)?;
            tempfile::tempfile_in(folder)
        };
        let memory = self.record_memory.map_or(Recording::default().memory, |bytes| bytes as usize);
        Recording { memory, disk: self.record_disk.map(|limit| Spill::new(limit, Box::new(new_file))) }
    }
}

/// Reason why there is no window, or why it closed by itself.
#[derive(Debug, Error)]
pub enum AppError {
    /// This machine cannot show a window: no display, or a missing library.
    #[error("no window can be opened: {0}")]
    NoDisplay(String),
    /// The scene cannot be simulated.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The picture cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The window system closed the connection or refused to render.
    #[error("the window was lost: {0}")]
    Lost(String),
}

/// Opens a window on `scene` and returns when it is closed. Call it once, from the main thread.
///
/// # Errors
/// [`AppError::NoDisplay`] before anything was shown or simulated, so that the caller can continue without a
/// window.
pub fn run(scene: Scene, options: Options) -> Result<(), AppError> {
    window::run(scene, options)
}
