//! Why a command ended early, and the exit code for it.

use std::process::ExitCode;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use thiserror::Error;

use crate::output::OutputError;
use crate::render::RenderError;
use crate::scene::{Problem, SceneError};
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
    /// Standard output is gone.
    #[error("cannot write to standard output: {0}")]
    Stdout(std::io::Error),
    /// Ctrl-C, and what was done until then.
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

    /// The text for stderr: one line, followed by the lines of the scene around the place.
    pub(super) fn render(&self, terminal: bool) -> String {
        let line = format!("updraft: {self}\n");
        let Self::Scene(SceneError::At(problem)) = self else { return line };
        let theme = if terminal { GraphicalTheme::unicode() } else { GraphicalTheme::none() };
        let mut shown = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
        match handler.render_report(&mut shown, &Place::of(problem)) {
            // The message is in our line already; what follows the header are the lines of the scene.
            Ok(()) => line + excerpt(&shown),
            Err(_) => line,
        }
    }
}

/// A problem with its place in the text.
#[derive(Debug, Error)]
#[error("{message}")]
struct Place {
    message: String,
    text: NamedSource<String>,
    label: LabeledSpan,
}

impl Place {
    fn of(problem: &Problem) -> Self {
        Self {
            message: problem.to_string(),
            text: NamedSource::new(problem.name(), problem.text().to_owned()),
            label: LabeledSpan::new_with_span(None, problem.span()),
        }
    }
}

impl Diagnostic for Place {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.text)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(self.label.clone())))
    }
}

/// The part of a rendered report that shows the source.
fn excerpt(report: &str) -> &str {
    let corner = ["╭", ",-"].iter().filter_map(|corner| report.find(corner)).min();
    corner.map_or("", |at| &report[report[..at].rfind('\n').map_or(0, |newline| newline + 1)..])
}
