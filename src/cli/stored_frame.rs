//! Reading the fields of a stored frame from an npz or OpenVDB file.

use std::path::{Path, PathBuf};

use super::CliError;
use super::run_scene;
use super::simulate_args::Format;
use crate::field::{Array, Field};
use crate::foreign;
use crate::grid::Dims;
use crate::npz::Reader;
use crate::solver::Config;
use crate::volume::Volume;

/// Numbers that all frames of a run share.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunNumbers {
    /// Edge of a cell of the velocity \[m\].
    pub h: f32,
    /// Cells of smoke and their edge \[m\], if these are checked.
    pub smoke: Option<(Dims, f32)>,
    /// Frames per second.
    pub rate: f32,
}

/// An open file with the fields of a frame.
pub(super) enum StoredFrame {
    /// NumPy arrays.
    Npz(PathBuf, Reader),
    /// A volume, read whole.
    Vdb(PathBuf, Vec<u8>),
}

impl StoredFrame {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// One line with the file: it is missing, cut short or of another kind.
    pub fn open(path: &Path, format: Format) -> Result<Self, CliError> {
        if format != Format::Vdb {
            let npz = Reader::open(path).map_err(|error| CliError::Request(error.to_string()))?;
            return Ok(Self::Npz(path.to_owned(), npz));
        }
        let bytes =
            foreign::read(path, foreign::VOLUME).map_err(|error| unreadable(path, &error.to_string()))?;
        Volume::read(&bytes).map_err(|what| unreadable(path, &what))?;
        Ok(Self::Vdb(path.to_owned(), bytes))
    }

    /// Returns the fields of `wanted` that it has.
    pub fn fields(&self, wanted: &[Field]) -> Vec<Field> {
        let mut fields = wanted.to_vec();
        match self {
            Self::Npz(_, npz) => {
                let names = npz.names();
                fields.retain(|field| names.iter().any(|name| name == field.name()));
            }
            Self::Vdb(_, bytes) => {
                let volume = Volume::read(bytes);
                fields.retain(|&field| volume.as_ref().is_ok_and(|volume| volume.holds(field)));
            }
        }
        fields
    }

    /// Fails if it lacks a field.
    fn require(&self, field: Field) -> Result<(), CliError> {
        if !self.fields(&[field]).is_empty() {
            return Ok(());
        }
        let (Self::Npz(path, _) | Self::Vdb(path, _)) = self;
        let again = match run_scene::has_given_flow(&path.with_file_name("scene.toml")) {
            false => "simulate with --fields that has it",
            true => {
                "write it by `updraft detail RUN --fields temperature,red,green,blue,u,v,w`, where RUN is the folder of the flow"
            }
        };
        Err(CliError::Request(format!("{} has no `{field}`; {again}", path.display())))
    }

    /// Checks that it has a field, and its shape before memory is allocated for it. Volumes are interpolated to any shape.
    pub fn check(&mut self, field: Field, config: &Config) -> Result<(), CliError> {
        self.require(field)?;
        match self {
            Self::Npz(_, npz) => npz
                .check(field.name(), field.shape(field.grid(config).0))
                .map_err(|error| CliError::Request(error.to_string())),
            Self::Vdb(..) => Ok(()),
        }
    }

    /// Returns the share of the cells of a box of `config` in which it has a value of `field`, if known.
    pub fn filled(&self, field: Field, config: &Config) -> Option<f64> {
        let Self::Vdb(_, bytes) = self else { return Some(1.0) };
        let active = Volume::read(bytes).ok()?.active_voxels(field)?;
        Some(active as f64 / field.grid(config).0.cells() as f64)
    }

    /// Reads a field of a box of `config`.
    pub fn array(&mut self, field: Field, config: &Config) -> Result<Array, CliError> {
        self.require(field)?;
        let (dims, h) = field.grid(config);
        match self {
            Self::Npz(_, npz) => npz
                .array(field.name(), field.shape(dims))
                .map_err(|error| CliError::Request(error.to_string())),
            Self::Vdb(path, bytes) => Volume::read(bytes)
                .and_then(|volume| volume.array(field, dims, h))
                .map_err(|what| unreadable(path, &what)),
        }
    }

    /// Fails if its numbers differ from those of `frame` of `run`.
    pub fn check_run(&mut self, frame: u32, run: RunNumbers) -> Result<(), CliError> {
        let RunNumbers { h, smoke, rate } = run;
        let edges = [Some(("voxel", h)), smoke.map(|(_, h)| ("smoke_voxel", h))].into_iter().flatten();
        let edges = edges.map(|(name, h)| (name, f64::from(h), 1e-6 * f64::from(h)));
        let rate = f64::from(rate);
        let other_run = "it is a frame of another run, so simulate anew";
        let times = [
            ("frame_rate", rate, 1e-6 * rate),
            // The time of a run has accumulated rounding errors.
            ("time", f64::from(frame) / rate, (1e-2 + 1e-6 * f64::from(frame)) / rate),
        ];
        for (name, wanted, tolerance) in edges.chain(times) {
            let is_wanted = |found: f64| (found - wanted).abs() <= tolerance;
            if let Some(found) = self.number(name).filter(|found| !is_wanted(*found)) {
                let (Self::Npz(path, _) | Self::Vdb(path, _)) = self;
                return Err(CliError::Request(format!(
                    "{}: its `{name}` is {:?}, and by scene.toml it is {:?}; {other_run}",
                    path.display(),
                    found as f32,
                    wanted as f32
                )));
            }
        }
        // The arrays of an npz have a shape, which is checked where they are read.
        match (self, smoke) {
            (Self::Vdb(path, bytes), Some((dims, _)))
                if Volume::read(bytes).is_ok_and(|volume| volume.exceeds(dims)) =>
            {
                Err(CliError::Request(format!(
                    "{}: its smoke reaches beyond the box of scene.toml; {other_run}",
                    path.display()
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns a number stored beside the fields, if there is one of this name.
    pub fn number(&mut self, name: &str) -> Option<f64> {
        match self {
            Self::Npz(_, npz) => npz.number(name),
            Self::Vdb(_, bytes) => Volume::read(bytes).ok()?.number(name),
        }
    }
}

fn unreadable(path: &Path, what: &str) -> CliError {
    CliError::Request(format!("cannot read {}: {what}", path.display()))
}
