//! `updraft render`: a scene to pictures, without a window.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::folder::RunFolder;
use super::frames::{Frames, Size, value_of};
use super::painter::Painter;
use super::render_job::{Feed, Job, Report, Supply};
use super::sink::Target;
use super::{CliError, Common, interrupt, say_line};
use crate::look::Scattering;
use crate::output::Pattern;
use crate::room;
use crate::scene::{Scene, memory};
use crate::snapshot::Snapshot;

/// Render a scene to pictures.
#[derive(Debug, clap::Args)]
pub struct RenderArgs {
    /// A built-in scene or a scene file [default: plume]
    #[arg(value_name = "SCENE", conflicts_with = "from")]
    scene: Option<String>,
    /// Frames to write: a range, every STEPth of a range, or one. Frame n is the state at n / frame_rate
    /// seconds [default: 1-120, or all that --from has]
    #[arg(long, value_name = "A-B[:STEP]", allow_hyphen_values = true)]
    frames: Option<Frames>,
    /// Width and height [px] [default: those of the scene]
    #[arg(long, value_name = "WxH", allow_hyphen_values = true)]
    size: Option<Size>,
    /// Files to write: .png or .exr (linear, with alpha and depth) with #### or %04d for the frame; or one .apng,
    /// .mp4, .webm or .gif, which shows `time.frame_rate` of the written frames a second: with A-B:STEP it runs STEP times as fast
    /// [default: updraft-frames/SCENE.####.png]
    #[arg(long, value_name = "PATTERN")]
    out: Option<Pattern>,
    /// Render the fields that `updraft simulate --format npz` or `vdb` wrote to DIR, instead of simulating
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Render on the CPU even if OpenGL is available
    #[arg(long)]
    cpu: bool,
    /// Trace so many light paths for each pixel
    #[arg(long, value_name = "PATHS", value_parser = clap::value_parser!(u32).range(1..=1_000_000), allow_negative_numbers = true)]
    samples: Option<u32>,
    /// Trace light paths until the standard error of a pixel is this share of its radiance, such as 0.02 [default limit of
    /// the paths: 1024]
    #[arg(long, value_name = "SHARE", value_parser = |text: &str| value_of("render.medium.noise", text), allow_negative_numbers = true)]
    noise: Option<f32>,
    /// Smooth the noise that traced light paths leave
    #[arg(long)]
    denoise: bool,
    /// Write further layers to an .exr: sun, sky, emission and each further light alone, transmittance, motion of the smoke [px a frame]
    #[arg(long)]
    layers: bool,
    /// Do not render pictures that exist already
    #[arg(long)]
    skip_existing: bool,
}

/// Default frames.
const FRAMES: Frames = Frames { first: 1, last: 120, step: 1 };

/// Runs the command.
pub fn run(args: &RenderArgs, common: &Common) -> Result<(), CliError> {
    args.refuse_conflicts(common)?;
    let size = args.size.map(|Size([width, height])| format!("render.size=[{width}, {height}]"));
    let mut changes: Vec<String> = size.into_iter().collect();
    if args.samples.is_some() || args.noise.is_some() {
        changes.push("render.medium.scattering=\"traced\"".into());
        // With --noise alone an override may limit the paths.
        if args.samples.is_some() || !common.sets("render.medium.paths") {
            changes.push(format!("render.medium.paths={}", args.samples.unwrap_or(1024)));
        }
        changes.extend(args.noise.map(|noise| format!("render.medium.noise={noise}")));
    }
    if args.denoise {
        changes.push("render.medium.denoise=true".into());
    }
    let Some(path) = &args.from else {
        let scene = common.scene(args.scene.as_deref().unwrap_or(common.default_scene()), &changes)?;
        args.refuse_idle(&scene)?;
        let frames = args.frames.unwrap_or(FRAMES);
        return Job {
            frames,
            out: args.out(&scene)?,
            supply: Supply::Live,
            cpu: args.cpu,
            skip: args.skip_existing,
            layers: args.layers,
        }
        .run(&scene, common);
    };
    let (folder, scene) = RunFolder::for_pictures(path, common, &changes)?;
    let frames = args.frames.map_or_else(|| folder.frames(), Ok)?;
    args.refuse_idle(&scene)?;
    let (out, supply) = (args.out(&scene)?, Supply::Stored(folder));
    let (cpu, skip, layers) = (args.cpu, args.skip_existing, args.layers);
    Job { frames, out, supply, cpu, skip, layers }.run(&scene, common)
}

impl RenderArgs {
    /// Fails if an override sets a key that an option sets too.
    fn refuse_conflicts(&self, common: &Common) -> Result<(), CliError> {
        let traced = ["render.medium.scattering", "render.medium.paths"];
        let options: [(&str, bool, &[&str]); 4] = [
            ("--size", self.size.is_some(), &["render.size"]),
            ("--samples", self.samples.is_some(), &traced),
            ("--noise", self.noise.is_some(), &["render.medium.scattering", "render.medium.noise"]),
            ("--denoise", self.denoise, &["render.medium.denoise"]),
        ];
        let mut given = options.into_iter().filter(|(_, is_given, _)| *is_given);
        given.try_for_each(|(option, _, paths)| common.refuse_conflicts(option, paths))
    }

    /// Fails if pictures that have no noise should be denoised.
    fn refuse_idle(&self, scene: &Scene) -> Result<(), CliError> {
        match self.denoise && scene.look.scattering != Scattering::Traced {
            true => Err(CliError::Request(
                "--denoise has no effect here: only traced pictures have noise; add --samples or --noise, or leave it out".into(),
            )),
            false => Ok(()),
        }
    }

    fn out(&self, scene: &Scene) -> Result<Pattern, CliError> {
        match &self.out {
            Some(out) => Ok(out.clone()),
            None => in_folder("updraft-frames", &scene.name),
        }
    }
}

/// Returns the pattern for the pictures of `scene` in `folder`.
pub fn in_folder(folder: &str, scene: &str) -> Result<Pattern, CliError> {
    format!("{folder}/{scene}.####.png").parse().map_err(|e| CliError::Request(format!("{e}")))
}

impl Job {
    /// Renders `scene`. Errors that do not depend on the frames are reported before anything is written.
    pub fn run(self, scene: &Scene, common: &Common) -> Result<(), CliError> {
        if let Some(comm) = common.comm.as_ref().filter(|comm| comm.size() > 1) {
            return super::render_ranks::run(self, scene, common, comm);
        }
        let Self { frames, out, supply, cpu, skip, layers } = self;
        let target = Target::new(&out, frames, true)?.with_layers(layers)?;
        let wanted: Vec<u32> = frames.iter().filter(|&frame| !(skip && target.has(frame))).collect();
        if wanted.is_empty() {
            return say_line(&target.summary(frames.count()));
        }
        // Until a simulation has begun, a signal ends the program at once: initial formulas may take minutes.
        let mut feed = Feed::new(scene, supply, frames, None, interrupt::flag())?;
        let stop = interrupt::catch();
        room::probe(memory::picture(scene.size), "a picture of this size")?;
        let mut painter = Painter::new(scene, cpu || common.cpu, common.quiet)?;
        let _lock = target.lock(skip)?;
        let mut sink = target.open(scene.size, scene.time.frame_rate, common.force || skip)?;
        let mut report = Report::new(feed.total(frames), frames.count(), common.quiet);
        let mut snapshot = Snapshot::empty(scene.config.smoke_dims(), scene.config.smoke_h());
        let mut shown = scene.clone();
        let mut kept = frames.count() - wanted.len() as u32;
        for frame in wanted {
            // Another process may have written the picture since.
            if skip && target.has(frame) {
                kept += 1;
                continue;
            }
            let velocity = layers || scene.camera.lens.shutter > 0.0;
            feed.load(frame, scene, &mut snapshot, velocity, &mut report)?;
            if stop.load(Ordering::Relaxed) {
                return Err(report.stopped());
            }
            let began = Instant::now();
            shown.camera = scene.camera_at(frame as f32 / scene.time.frame_rate);
            let written = sink.write(frame, &snapshot, &shown, &mut painter);
            written.map_err(|error| report.explain(error))?;
            report.finished(began.elapsed());
        }
        sink.finish()?;
        drop(report);
        say_line(&target.summary(kept))
    }
}
