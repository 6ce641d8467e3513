//! Errors of the commands, with their exit codes.

use std::process::ExitCode;

use thiserror::Error;

use super::excerpt;
use crate::foreign::{on_one_line, shortened};
use crate::output::OutputError;
use crate::render::RenderError;
use crate::room::NoRoom;
use crate::scene::SceneError;
use crate::solver::SolverError;

/// Reason why a command ended early.
#[derive(Debug, Error)]
pub enum CliError {
    /// The scene is invalid.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// The command line is invalid.
    #[error("{0}")]
    Request(String),
    /// An output file exists already, or a folder is not writable. Checked before any work.
    #[error("{}", with_option(.0))]
    Target(OutputError),
    /// A file could not be written.
    #[error("{}", with_option(.0))]
    Output(#[from] OutputError),
    /// The solver failed.
    #[error(transparent)]
    Solver(SolverError),
    /// The renderer failed.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The window was lost.
    #[cfg(feature = "viewer")]
    #[error(transparent)]
    App(#[from] crate::app::AppError),
    /// There is not enough memory.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// The window or its display failed.
    #[cfg(feature = "viewer")]
    #[error("the window was lost: {0}")]
    Window(String),
    /// Standard output is closed.
    #[error("cannot write to standard output: {0}")]
    Stdout(std::io::Error),
    /// A signal stopped the run; the text tells its progress.
    #[error("stopped: {0}")]
    Stopped(String),
}

/// Returns the text of an error, with the option that lets the command overwrite.
fn with_option(error: &OutputError) -> String {
    match error {
        OutputError::Exists(path) => {
            format!("{} exists already; pass --force to overwrite it", path.display())
        }
        other => other.to_string(),
    }
}

impl CliError {
    /// Returns 2 if the request was wrong, 1 if the run failed.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// Returns the [`exit_code`](Self::exit_code) as a number.
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Scene(_) | Self::Request(_) | Self::Target(_) => 2,
            _ => 1,
        }
    }

    /// Formats the error for stderr: one line, followed by the lines of the scene around the place. Its only
    /// terminal codes are our colours, and no line is much longer than [`LONGEST`] characters.
    pub(super) fn render(&self, unicode: bool, coloured: bool) -> String {
        let line = format!("updraft: {}\n", on_one_line(&shortened(&self.to_string(), LONGEST)));
        match self {
            Self::Scene(SceneError::At(problem)) => line + &excerpt::of(problem, unicode, coloured),
            _ => line,
        }
    }
}

/// Most characters of an error that are shown.
const LONGEST: usize = 1000;
