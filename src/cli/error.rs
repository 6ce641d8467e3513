//! Why a command ended early, and the exit code for it.

use std::process::ExitCode;

use thiserror::Error;

use super::excerpt;
use crate::foreign::{shortened, visible};
use crate::output::OutputError;
use crate::render::RenderError;
use crate::room::NoRoom;
use crate::scene::SceneError;
use crate::solver::SolverError;

/// Why a command ended early.
#[derive(Debug, Error)]
pub enum CliError {
    /// The scene is wrong.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The command line asks for something that cannot be.
    #[error("{0}")]
    Request(String),
    /// A file is in the way, or a folder takes none; found before any work was done.
    #[error(transparent)]
    Target(OutputError),
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The solver gave up.
    #[error(transparent)]
    Solver(SolverError),
    /// The renderer gave up.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The window was lost.
    #[cfg(feature = "viewer")]
    #[error(transparent)]
    App(#[from] crate::app::AppError),
    /// There is not memory enough.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// The window or the display below it broke down.
    #[error("the window was lost: {0}")]
    Window(String),
    /// Standard output is gone.
    #[error("cannot write to standard output: {0}")]
    Stdout(std::io::Error),
    /// Ctrl-C or a signal, and what was done until then.
    #[error("stopped: {0}")]
    Stopped(String),
}

impl CliError {
    /// 2 if the request was wrong, 1 if the run failed.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Scene(_) | Self::Request(_) | Self::Target(_) => ExitCode::from(2),
            _ => ExitCode::from(1),
        }
    }

    /// The text for stderr: one line, followed by the lines of the scene around the place. Nothing in it acts on a terminal
    /// but our own colours, and no line is much longer than [`LONGEST`] characters.
    pub(super) fn render(&self, unicode: bool, coloured: bool) -> String {
        let line = format!("updraft: {}\n", visible(&shortened(&self.to_string(), LONGEST)));
        match self {
            Self::Scene(SceneError::At(problem)) => line + &excerpt::of(problem, unicode, coloured),
            _ => line,
        }
    }
}

/// The most characters of an error that are shown.
const LONGEST: usize = 1000;
