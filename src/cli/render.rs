//! `updraft render`: a scene to pictures, without a window.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::frames::{Frames, Size};
use super::picture::Painter;
use super::progress::Progress;
use super::simulation::Run;
use super::{CliError, Common, interrupt, say};
use crate::output::{Pattern, png, whole};
use crate::scene::Scene;
use crate::snapshot::Snapshot;

/// Render a scene to pictures.
#[derive(Debug, clap::Args)]
pub struct RenderArgs {
    /// A built-in scene or a scene file
    #[arg(value_name = "SCENE", default_value = "plume")]
    scene: String,
    /// Frames to write: a range, or one. Frame n is the state at n / frame_rate seconds
    #[arg(long, value_name = "A-B", default_value = "1-120")]
    frames: Frames,
    /// Width and height [px]; by default what the scene says
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// Files to write, with #### or %04d for the frame [default: updraft-frames/SCENE.####.png]
    #[arg(long, value_name = "PATTERN")]
    out: Option<Pattern>,
}

/// Does what `args` ask for.
pub fn run(args: &RenderArgs, common: &Common) -> Result<(), CliError> {
    let size = args.size.map(|Size([width, height])| format!("render.size=[{width}, {height}]"));
    let scene = common.scene(&args.scene, size.as_slice())?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => in_folder("updraft-frames", &scene.name)?,
    };
    render(&scene, args.frames, &out, common)
}

/// The pictures of `scene` in `folder`.
pub fn in_folder(folder: &str, scene: &str) -> Result<Pattern, CliError> {
    format!("{folder}/{scene}.####.png").parse().map_err(|e| CliError::Request(format!("{e}")))
}

/// Renders `frames` of `scene` to the files `out`.
pub fn render(scene: &Scene, frames: Frames, out: &Pattern, common: &Common) -> Result<(), CliError> {
    check_format(out, frames)?;
    let paths: Vec<PathBuf> = frames.iter().map(|frame| out.path(frame)).collect();
    let mut painter = Painter::new(scene)?;
    whole::prepare(paths.iter().map(PathBuf::as_path), common.force).map_err(CliError::Target)?;
    let mut run = Run::new(scene, interrupt::catch())?;
    let mut job = Job::new(scene, frames, common.quiet);
    for (frame, path) in frames.iter().zip(&paths) {
        job.simulate(&mut run, frame)?;
        let began = Instant::now();
        job.snapshot.capture(run.solver(), false);
        let image = painter.paint(&job.snapshot, scene)?;
        png::write(path, &image)?;
        job.finished(began.elapsed());
    }
    drop(job);
    say(&format!("{}\n", summary(&paths)))
}

fn check_format(out: &Pattern, frames: Frames) -> Result<(), CliError> {
    if out.extension() != "png" {
        let message = format!("{}: pictures are written as .png", out.path(frames.first).display());
        return Err(CliError::Request(message));
    }
    if !out.is_numbered() && frames.count() > 1 {
        let stem = out.path(0).with_extension("");
        let message = format!(
            "{} frames need a place for their number; write --out '{}.####.png'",
            frames.count(),
            stem.display()
        );
        return Err(CliError::Request(message));
    }
    Ok(())
}

/// `120 pictures: a.0001.png to a.0120.png`, or the one.
fn summary(paths: &[PathBuf]) -> String {
    match paths {
        [one] => one.display().to_string(),
        [first, .., last] => format!("{} pictures: {} to {}", paths.len(), first.display(), last.display()),
        [] => String::new(),
    }
}

/// What a rendering carries from frame to frame.
struct Job {
    snapshot: Snapshot,
    frames: Frames,
    progress: Progress,
    pictures: u32,
    spent: Duration,
}

impl Job {
    fn new(scene: &Scene, frames: Frames, quiet: bool) -> Self {
        let snapshot = Snapshot::empty(scene.config.dims, scene.config.h);
        let progress = Progress::new(frames.last, quiet);
        Self { snapshot, frames, progress, pictures: 0, spent: Duration::ZERO }
    }

    /// Advances to `frame`; frames before the first wanted one are simulated and not drawn.
    fn simulate(&mut self, run: &mut Run, frame: u32) -> Result<(), CliError> {
        let from = if frame == self.frames.first { 1.min(frame) } else { frame };
        for frame in from..=frame {
            run.advance(frame, |_| Ok(())).map_err(|error| self.stopped(error))?;
            let detail = self.detail(run);
            self.progress.update(frame, &detail);
        }
        Ok(())
    }

    fn finished(&mut self, picture: Duration) {
        self.pictures += 1;
        self.spent += picture;
    }

    fn detail(&self, run: &Run) -> String {
        let step = run.ms_per_step();
        match self.pictures {
            0 => format!("{step:.0} ms/step"),
            n => {
                format!("{step:.0} ms/step  {:.0} ms/picture", self.spent.as_secs_f64() * 1e3 / f64::from(n))
            }
        }
    }

    fn stopped(&self, error: CliError) -> CliError {
        match error {
            CliError::Stopped(by) => CliError::Stopped(format!(
                "{by}, {} of {} pictures are whole",
                self.pictures,
                self.frames.count()
            )),
            other => other,
        }
    }
}
