//! The fields of a frame that a run has written: an npz, or an OpenVDB file.

use std::path::{Path, PathBuf};

use super::CliError;
use super::run_scene;
use super::simulate_args::Format;
use crate::field::{Array, Field};
use crate::foreign;
use crate::npz::Reader;
use crate::solver::Config;
use crate::volume::Volume;

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

    /// Those of `wanted` that it has.
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

    /// A number beside the fields, if it has it.
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
