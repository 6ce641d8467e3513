//! Jobs of `updraft render` and `updraft flipbook`, and their progress.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::folder::RunFolder;
use super::frames::Frames;
use super::progress::Progress;
use super::simulation::Run;
use super::{CliError, interrupt};
use crate::comm::Comm;
use crate::output::Pattern;
use crate::render::RenderError;
use crate::scene::Scene;
use crate::snapshot::Snapshot;

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

    /// Returns the error of a stopped rendering if `error` is a cancellation, otherwise `error`.
    pub fn explain(&self, error: CliError) -> CliError {
        match error {
            CliError::Stopped(_) | CliError::Render(RenderError::Cancelled) => self.stopped(),
            other => other,
        }
    }

    /// Returns the error of a stopped rendering.
    pub fn stopped(&self) -> CliError {
        self.stopped_by(interrupt::by())
    }

    /// Returns the error of a rendering that was stopped `by` a signal.
    pub fn stopped_by(&self, by: &str) -> CliError {
        CliError::Stopped(format!("{by}, after {} of {} pictures", self.pictures, self.wanted))
    }
}

/// Supplies one frame after the other.
pub enum Feed {
    Live(Box<Run>),
    Stored(RunFolder),
}

impl Feed {
    /// Begins the simulation, or checks that the files of all `frames` exist and are of its run.
    pub fn new(
        scene: &Scene,
        supply: Supply,
        frames: Frames,
        comm: Option<Arc<dyn Comm>>,
        stop: &'static AtomicBool,
    ) -> Result<Self, CliError> {
        match supply {
            Supply::Live => Ok(Self::Live(Box::new(Run::new(scene, comm, stop)?))),
            Supply::Stored(folder) => {
                let missing = frames.iter().map(|frame| folder.stored(frame).0).find(|path| !path.exists());
                match missing {
                    Some(path) => Err(CliError::Request(format!("{} is missing", path.display()))),
                    None => {
                        folder.check_frames(frames.iter())?;
                        Ok(Self::Stored(folder))
                    }
                }
            }
        }
    }

    /// Returns the number of frames of work. A simulation begins at frame 0.
    pub fn total(&self, frames: Frames) -> u32 {
        match self {
            Self::Live(_) => frames.last,
            Self::Stored(_) => frames.count(),
        }
    }

    /// Loads `frame` into `snapshot`, with its velocity if wanted.
    pub fn load(
        &mut self,
        frame: u32,
        scene: &Scene,
        snapshot: &mut Snapshot,
        velocity: bool,
        report: &mut Report,
    ) -> Result<(), CliError> {
        match self {
            Self::Live(run) => {
                while run.frame() < frame {
                    run.advance().map_err(|error| report.explain(error))?;
                    report.show(run.frame(), &format!("{:.0} ms/step", run.ms_per_step()));
                }
                snapshot.capture(run.solver(), velocity);
            }
            Self::Stored(folder) => {
                let loaded = folder.load(frame, scene, snapshot).and_then(|()| match velocity {
                    true => folder.load_velocity(frame, scene, snapshot),
                    false => Ok(()),
                });
                loaded?;
                report.show(report.pictures, "");
            }
        }
        Ok(())
    }
}
