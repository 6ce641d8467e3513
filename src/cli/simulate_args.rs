//! Arguments of `updraft simulate`, which its parts share.

use std::path::PathBuf;

use clap::ValueEnum;

use super::frames::{self, Frames};
use crate::field::Field;
use crate::volume::Up;

/// Simulate a scene and write statistics, probes and fields.
#[derive(Debug, clap::Args)]
pub struct SimulateArgs {
    /// A built-in scene or a scene file [default: plume, or with --resume that of the run]
    #[arg(value_name = "SCENE")]
    pub(super) scene: Option<String>,
    /// Frames whose fields are written: a range, every STEPth of a range, or one; the run ends with the last.
    /// Frame 0 is the start [default: 1-120, or with --resume those of the run]
    #[arg(long, value_name = "A-B[:STEP]", allow_hyphen_values = true)]
    pub(super) frames: Option<Frames>,
    /// Folder for stats.csv, probes and fields
    #[arg(long, value_name = "DIR", default_value = "updraft-run")]
    pub(super) out: PathBuf,
    /// End when the kinetic energy has changed by less than this share per second for a whole second, with
    /// the fields of that frame. --resume starts the second anew [default: never, or with --resume as the run]
    #[arg(long, value_name = "SHARE", value_parser = frames::share, allow_negative_numbers = true)]
    pub(super) steady: Option<f64>,
    /// Formats of the fields; none: statistics and probes only [default: none, or with --resume those of the run]
    #[arg(long, value_name = "FORMAT", value_delimiter = ',')]
    pub(super) format: Vec<Format>,
    /// Fields to write [default: those that a run can start from, or with --resume those of the run]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) fields: Vec<Field>,
    /// Write DIR/mean.npz at the end: the means of these fields over time, from this instant on
    #[arg(long, value_name = "SECONDS", value_parser = frames::instant, allow_negative_numbers = true)]
    pub(super) mean_from: Option<f64>,
    /// The axis that points up in vdb files [default: y, or with --resume that of the run]
    #[arg(long, value_name = "AXIS")]
    pub(super) up: Option<Up>,
    /// Precision of the values in vdb files [default: half, or with --resume that of the run]
    #[arg(long, value_name = "PRECISION")]
    pub(super) precision: Option<Precision>,
    /// Write DIR/checkpoint at the start, after every N frames and at the end; --resume continues from it [default: none,
    /// or with --resume as the run, and one at the end]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) checkpoint_every: Option<u32>,
    /// Continue from DIR/checkpoint, which Ctrl-C writes too; without one, begin the run, over what a killed run of the same
    /// scene left. A run that has ended without one is refused; --force begins it anew
    #[arg(long)]
    pub(super) resume: bool,
    /// Keep existing files of frames of the same scene; tables are written anew
    #[arg(long)]
    pub(super) skip_existing: bool,
}

/// A format for fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// NumPy arrays
    Npz,
    /// OpenVDB for Blender, Houdini and others
    Vdb,
    /// VTK images for ParaView, with a list of them in fields.pvd
    Vti,
}

impl Format {
    /// Returns the ending of the files.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Npz => "npz",
            Self::Vdb => "vdb",
            Self::Vti => "vti",
        }
    }
}

/// Precision of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Precision {
    /// 16
    Half,
    /// 32
    Full,
}
