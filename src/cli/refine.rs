//! `updraft detail`: finer smoke through the flow of a finished run.

use std::path::PathBuf;

use super::frames::Frames;
use super::simulate::{self, Format, Precision, SimulateArgs};
use super::{CliError, Common, folder::RunFolder, run_flow::RunFlow};
use crate::field::Field;
use crate::parameter;
use crate::scene::Scene;
use crate::volume::Up;

/// Strength of the turbulence where the run has none. It continues the spectrum of the velocity.
const USUAL: f32 = 1.0;

/// Move finer smoke through the flow of a finished run, with turbulence, and write its frames.
///
/// Reads DIR/scene.toml and the velocity in the frames of DIR, npz or vdb, and simulates the smoke alone: sources, solids,
/// decay and diffusion as the scene says, on finer cells. --set changes what does not change the air, such as turbulence.seed.
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
    strength: Option<f32>,
    /// Frames to write [default: those of the run]
    #[arg(long, value_name = "A-B[:STEP]", allow_hyphen_values = true)]
    frames: Option<Frames>,
    /// Folder for the finer frames [default: DIR-detail]
    #[arg(long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// Formats of the frames [default: that of the run]
    #[arg(long, value_name = "FORMAT", value_delimiter = ',')]
    format: Vec<Format>,
    /// Fields to write
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    #[arg(default_values_t = [Field::Temperature, Field::Red, Field::Green, Field::Blue])]
    fields: Vec<Field>,
    /// The axis that points up in vdb files
    #[arg(long, value_name = "AXIS", default_value = "y")]
    up_axis: Up,
    /// Precision of the values in vdb files
    #[arg(long, value_name = "PRECISION", default_value = "half")]
    precision: Precision,
    /// Write OUT/checkpoint at the start, after every N frames and at the end; --resume continues from it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    checkpoint_every: Option<u32>,
    /// Continue from OUT/checkpoint, which Ctrl-C writes too; without one, start anew
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
    let coarse = scene(args, common, &folder, &[])?;
    if coarse.config.follow.on {
        return Err(CliError::Request(format!(
            "{}: its box followed the smoke (domain.follow), so its frames are of several boxes; simulate it in one box",
            args.dir.display()
        )));
    }
    let scene = scene(args, common, &folder, &changes(args, &coarse)?)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => {
            let name = args.dir.canonicalize().ok().and_then(|dir| Some(dir.file_name()?.to_owned()));
            let mut name = name.unwrap_or_else(|| "updraft-run".into());
            name.push("-detail");
            args.dir.join("..").join(name)
        }
    };
    let wanted = args.frames.unwrap_or(frames.range()?);
    let flow = RunFlow::new(folder, frames, wanted.last)?;
    let format = if args.format.is_empty() { vec![flow.format()] } else { args.format.clone() };
    let simulate = SimulateArgs {
        scene: None,
        frames: wanted,
        out,
        steady: None,
        format,
        fields: args.fields.clone(),
        mean_from: None,
        up: args.up_axis,
        precision: args.precision,
        checkpoint_every: args.checkpoint_every,
        resume: args.resume,
        skip_existing: args.skip_existing,
    };
    simulate::through(&simulate, common, &scene, flow)
}

/// The scene of the run in `folder`, changed.
fn scene(
    args: &DetailArgs,
    common: &Common,
    folder: &RunFolder,
    changes: &[String],
) -> Result<Scene, CliError> {
    let path = folder.scene();
    if !path.exists() {
        let dir = args.dir.display();
        return Err(CliError::Request(format!(
            "{dir} has no scene.toml; it is no folder of `updraft simulate`"
        )));
    }
    common.scene(&path.display().to_string(), changes)
}

/// Changes of the scene for the finer run.
fn changes(args: &DetailArgs, coarse: &Scene) -> Result<Vec<String>, CliError> {
    let detail = coarse.config.detail * usize::from(args.up);
    let most = parameter::of("domain.detail").hard.end();
    if detail as f32 > *most {
        return Err(CliError::Request(format!(
            "--up {}: the run has a domain.detail of {}, and {detail} is over the limit of {most}; lower --up",
            args.up, coarse.config.detail
        )));
    }
    let mut changes = vec![format!("domain.detail={detail}")];
    let none = coarse.params.turbulence.strength == 0.0 && detail > 1;
    if let Some(strength) = args.strength.or(none.then_some(USUAL)) {
        changes.push(format!("turbulence.strength={strength:?}"));
    }
    Ok(changes)
}
