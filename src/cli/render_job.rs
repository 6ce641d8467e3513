//! Jobs of `updraft render` and `updraft flipbook`, and their progress.

use std::time::Duration;

use super::folder::RunFolder;
use super::frames::Frames;
use super::progress::Progress;
use super::{CliError, interrupt};
use crate::output::Pattern;
use crate::render::RenderError;

/// Origin of the smoke.
pub enum Supply {
    /// A simulation.
    Live,
    /// The files of an earlier simulation.
    Stored(RunFolder),
}

/// A rendering job.
pub struct Job {
    /// Frames to render.
    pub frames: Frames,
    /// Files to write.
    pub out: Pattern,
    /// Origin of the smoke.
    pub supply: Supply,
    /// Whether to force the CPU renderer.
    pub cpu: bool,
    /// Whether to skip existing pictures.
    pub skip: bool,
    /// Whether pictures have layers.
    pub layers: bool,
}

/// Progress and speed of a rendering.
pub struct Report {
    progress: Progress,
    wanted: u32,
    /// Pictures that are finished.
    pub pictures: u32,
    spent: Duration,
}

impl Report {
    /// Starts the report of `wanted` pictures, which take `total` frames of work.
    pub fn new(total: u32, wanted: u32, quiet: bool) -> Self {
        Self { progress: Progress::new(total, quiet), wanted, pictures: 0, spent: Duration::ZERO }
    }

    /// Shows `done` frames of work, with the speed in `detail`.
    pub fn show(&mut self, done: u32, detail: &str) {
        let per_picture = self.spent.as_secs_f64() * 1e3 / f64::from(self.pictures.max(1));
        let picture = (self.pictures > 0).then(|| format!("{per_picture:.0} ms/picture"));
        let parts: Vec<&str> = [Some(detail), picture.as_deref()]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect();
        self.progress.update(done, &parts.join("  "));
    }

    /// Counts a picture.
    pub fn finished(&mut self, picture: Duration) {
        self.pictures += 1;
        self.spent += picture;
    }

    /// The error of a stopped rendering, if `error` says that it was stopped.
    pub fn explain(&self, error: CliError) -> CliError {
        match error {
            CliError::Stopped(_) | CliError::Render(RenderError::Cancelled) => self.stopped(),
            other => other,
        }
    }

    /// The error of a stopped rendering.
    pub fn stopped(&self) -> CliError {
        CliError::Stopped(format!("{}, after {} of {} pictures", interrupt::by(), self.pictures, self.wanted))
    }
}
