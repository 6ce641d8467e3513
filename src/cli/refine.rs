//! `updraft detail`: finer smoke through the flow of a finished run.

use std::path::{Path, PathBuf};

use super::folder::{RunFolder, name_of};
use super::frames::{Frames, value_of};
use super::run_flow::RunFlow;
use super::run_options::RunOptions;
use super::simulate::{self, Detail};
use super::simulate_args::{Format, Precision, SimulateArgs};
use super::{CliError, Common};
use crate::field::Field;
use crate::parameter::{self, Subject, Worded};
use crate::scene::Scene;
use crate::solver::Advection;
use crate::volume::Up;

/// Strength of the turbulence where the run has none. It continues the spectrum of the velocity.
const USUAL: f32 = 1.0;

/// Move finer smoke through the flow of a finished run, with turbulence, and write its frames.
///
/// Reads DIR/scene.toml and the velocity in the frames of DIR, npz or vdb, and simulates the smoke alone: sources, solids,
/// decay and diffusion as the scene says, on finer cells. --set changes what does not change the air, such as turbulence.seed;
/// keys of the box, the frames, solids, forces and the air alone are refused.
#[derive(Debug, clap::Args)]
pub struct DetailArgs {
    /// Folder of a run of `simulate`, with the velocity in its frames
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Cells of smoke along each cell of the run
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u8).range(1..=4))]
    up: u8,
    /// Strength of the turbulence [default: that of the scene, or 1 if it has none]
    #[arg(long, value_name = "STRENGTH")]
    #[arg(value_parser = |text: &str| value_of("turbulence.strength", text), allow_negative_numbers = true)]
    strength: Option<f32>,
    /// Frames to write [default: those of the run in DIR, or with --resume those of the run in OUT]
    #[arg(long, value_name = "A-B[:STEP]", allow_hyphen_values = true)]
    frames: Option<Frames>,
    /// Folder for the finer frames [default: DIR-detail]
    #[arg(long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// Formats of the frames [default: those of the run in DIR, or with --resume those of the run in OUT]
    #[arg(long, value_name = "FORMAT", value_delimiter = ',')]
    format: Vec<Format>,
    /// Fields to write [default: temperature,red,green,blue, or with --resume those of the run in OUT]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    fields: Vec<Field>,
    /// The axis that points up in vdb files [default: y, or with --resume that of the run in OUT]
    #[arg(long, value_name = "AXIS")]
    up_axis: Option<Up>,
    /// Precision of the values in vdb files [default: half, or with --resume that of the run in OUT]
    #[arg(long, value_name = "PRECISION")]
    precision: Option<Precision>,
    /// Write OUT/checkpoint at the start, after every N frames and at the end; --resume continues from it [default: none,
    /// or with --resume as the run, and one at the end]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    checkpoint_every: Option<u32>,
    /// Continue from OUT/checkpoint, which Ctrl-C writes too; without one, begin the run, over what a killed run of the same
    /// scene left. A run that has ended without one is refused; --force begins it anew
    #[arg(long)]
    resume: bool,
    /// Keep existing files of frames; tables are written anew
    #[arg(long)]
    skip_existing: bool,
}

/// Runs the command.
pub fn run(args: &DetailArgs, common: &Common) -> Result<(), CliError> {
    let folder = RunFolder::at(&args.dir);
    let frames = folder.frames_of_flow()?;
    folder.check()?;
    refuse_air(args, common)?;
    let path = folder.scene().display().to_string();
    let stored = stored(common, &path)?;
    if stored.config.follow.on {
        return Err(CliError::Request(format!(
            "{}: its box followed the smoke (domain.follow), so its frames are of several boxes; simulate it in one box",
            args.dir.display()
        )));
    }
    let scene = finer(args, common, &stored, &path)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => beside(&args.dir),
    };
    let (range, input, format) = (frames.range()?, folder.scene(), folder.formats()?);
    let flow = RunFlow::new(folder, frames, args.frames.unwrap_or(range).last, &scene)?;
    let usual = RunOptions {
        frames: range,
        format,
        fields: vec![Field::Temperature, Field::Red, Field::Green, Field::Blue],
        ..RunOptions::default()
    };
    let simulate = SimulateArgs {
        scene: None,
        frames: args.frames,
        out,
        steady: None,
        format: args.format.clone(),
        fields: args.fields.clone(),
        mean_from: None,
        up: args.up_axis,
        precision: args.precision,
        checkpoint_every: args.checkpoint_every,
        resume: args.resume,
        skip_existing: args.skip_existing,
    };
    let detail = Detail { scene: &scene, input, usual, again: again(args, common) };
    simulate::through(&simulate, common, detail, flow)
}

/// Returns the default folder for the finer frames of the run in `dir`: beside `dir` by name, also if that is
/// a link.
fn beside(dir: &Path) -> PathBuf {
    let with_end = |name: &std::ffi::OsStr| {
        let mut name = name.to_owned();
        name.push("-detail");
        name
    };
    match dir.file_name() {
        Some(name) => dir.with_file_name(with_end(name)),
        None => dir.join("..").join(with_end(&name_of(dir).unwrap_or_else(|| "updraft-run".into()))),
    }
}

/// Returns the command that continues this one, up to `--out`.
fn again(args: &DetailArgs, common: &Common) -> Vec<String> {
    let dir = args.dir.display().to_string();
    let mut words =
        ["updraft", "detail", &dir, "--resume", "--up", &args.up.to_string()].map(str::to_owned).to_vec();
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    args.strength.into_iter().for_each(|strength| option("--strength", strength.to_string()));
    common.own_sets().iter().for_each(|set| option("--set", set.clone()));
    words.push("--out".into());
    words
}

/// Loads the scene at `path` as the run had it. Of the overrides only that of the memory limit applies.
fn stored(common: &Common, path: &str) -> Result<Scene, CliError> {
    let is_limit = |set: &&String| set.trim_start().starts_with("solver.memory_limit");
    let sets: Vec<String> = common.set.iter().filter(is_limit).cloned().collect();
    Ok(Scene::load_shared(path, &sets, common.share)?)
}

/// Loads the scene of the finer smoke: that at `path` with the overrides of the command line, on cells of
/// `--up`.
fn finer(args: &DetailArgs, common: &Common, stored: &Scene, path: &str) -> Result<Scene, CliError> {
    let detail = detail(args, stored)?;
    // This comes before the overrides of the command line: some need finer cells, and one of domain.detail
    // must win, so that it is refused.
    let mut common = common.clone();
    let first = common.sets_of_config;
    common.set.insert(first, format!("domain.detail={detail}"));
    let scene = common.scene(path, &[])?;
    check_air(args, stored, &scene, detail)?;
    match strength(args, &common, &scene)? {
        Some(strength) => common.scene(path, &[format!("turbulence.strength={strength:?}")]),
        None => Ok(scene),
    }
}

/// Returns the cells of the finer smoke along each cell of the velocity.
fn detail(args: &DetailArgs, stored: &Scene) -> Result<usize, CliError> {
    let detail = stored.config.detail * usize::from(args.up);
    let most = parameter::of("domain.detail").hard.end();
    if detail as f32 > *most {
        return Err(CliError::Request(format!(
            "--up {}: the run has a domain.detail of {}, and {detail} is over the limit of {most}; lower --up",
            args.up, stored.config.detail
        )));
    }
    Ok(detail)
}

/// Fails if an override acts on the velocity alone, which is read from the frames.
fn refuse_air(args: &DetailArgs, common: &Common) -> Result<(), CliError> {
    if args.strength.is_some() {
        common.refuse_conflicts("--strength", &["turbulence.strength"])?;
    }
    let dir = args.dir.display();
    common.refuse_idle(|parameter| {
        if parameter.path.starts_with("domain.follow_") {
            return Some(format!("the box is that of the frames of {dir}, which stays; leave it out"));
        }
        let acts = parameter.acts_on(&[Subject::Smoke, Subject::Picture, Subject::Machine]);
        (!acts).then(|| {
            format!("it acts on the air alone, which is in the frames of {dir}; leave it out, or simulate the run anew with it")
        })
    })
}

/// Fails if an override changes the air or the instants of its frames, which are those of the `stored` scene.
fn check_air(args: &DetailArgs, stored: &Scene, scene: &Scene, detail: usize) -> Result<(), CliError> {
    let (old, new) = (&stored.config, &scene.config);
    if new.detail != detail {
        return Err(CliError::Request(format!(
            "domain.detail: --up {} makes it {detail} here; leave it out, and change --up",
            args.up
        )));
    }
    let sides = (&old.sides, &old.held, &stored.side_formulas);
    let changes = [
        ("domain.cells", old.dims != new.dims),
        ("domain.voxel", old.h != new.h),
        ("domain.walls", sides != (&new.sides, &new.held, &scene.side_formulas)),
        ("domain.follow", old.follow.on != new.follow.on),
        ("time.frame_rate", stored.time.frame_rate != scene.time.frame_rate),
        ("solid", stored.solids != scene.solids),
        ("force", stored.forces != scene.forces),
    ];
    let changed: Vec<&str> = changes.into_iter().filter(|(_, is)| *is).map(|(key, _)| key).collect();
    match changed.as_slice() {
        [] => Ok(()),
        keys => Err(CliError::Request(format!(
            "{}: the air in the frames of {} has another; leave it out, or simulate the run anew with it",
            keys.join(", "),
            args.dir.display()
        ))),
    }
}

/// Returns the strength of the turbulence, if it is not that of `scene`.
///
/// # Errors
/// If the grid or the scheme of the smoke does not allow turbulence.
fn strength(args: &DetailArgs, common: &Common, scene: &Scene) -> Result<Option<f32>, CliError> {
    let none = scene.params.turbulence.strength == 0.0
        && scene.config.detail > 1
        && !common.sets("turbulence.strength");
    let Some(strength) = args.strength.or(none.then_some(USUAL)) else { return Ok(None) };
    let missing = match scene.config.advection {
        _ if strength == 0.0 => return Ok(Some(strength)),
        _ if scene.config.detail == 1 => {
            let (up, wanted) = (args.up, "turbulence needs smoke on finer cells than the velocity's");
            format!("--up {up} --strength {strength}: {wanted}; take `--up 2` or more")
        }
        Advection::Conservative => return Ok(Some(strength)),
        other => format!(
            "turbulence needs conservative advection, and solver.advection is \"{}\"; add `--strength 0` for finer smoke without it",
            other.word()
        ),
    };
    Err(CliError::Request(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_frames_lie_beside_their_run_as_it_is_named() {
        let cases = [
            ("run", "run-detail"),
            ("run/", "run-detail"),
            ("a/run/.", "a/run-detail"),
            ("/a/b", "/a/b-detail"),
        ];
        for (dir, out) in cases {
            assert_eq!(beside(Path::new(dir)), Path::new(out), "{dir}");
        }
        assert!(beside(Path::new(".")).starts_with("./.."));
    }
}
