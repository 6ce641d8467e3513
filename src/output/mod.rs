//! Writes output files whole or not at all, and never over another file unless asked.

use std::path::PathBuf;

use thiserror::Error;

pub mod child;
pub mod csv;
pub mod exr;
mod film;
pub mod lock;
pub mod part_file;
mod pattern;
pub mod png;
pub mod sheet;
pub mod video;
pub mod vti;
pub mod whole;

pub use pattern::{Pattern, PatternError};

/// Reason why a file could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The system reported an error.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Another process is writing there.
    #[error(
        "{} is being written by another updraft{}; wait for it, or write elsewhere",
        std::path::absolute(whole::folder(what)).unwrap_or_else(|_| whole::folder(what)).display(),
        holder.map(|process| format!(" (process {process})")).unwrap_or_default()
    )]
    Busy {
        /// The file that is locked.
        what: PathBuf,
        /// Number of the process.
        holder: Option<u32>,
    },
    /// Something other than a file has the name: a folder, a device, a pipe.
    #[error("{} is {what} and no file: it is not replaced; write elsewhere", path.display())]
    NoFile {
        /// The name.
        path: PathBuf,
        /// Kind of what has it.
        what: &'static str,
    },
    /// An array that does not fill its picture, or a picture without pixels.
    #[error("cannot write {}: {what} has {is} values and needs {wanted}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// The array.
        what: String,
        /// Number of values of the array.
        is: usize,
        /// The number that follows from the picture, 1 at least.
        wanted: usize,
    },
    /// The file exists already.
    #[error("{} exists already; remove it, choose another name, or let it be replaced", .0.display())]
    Exists(PathBuf),
}
