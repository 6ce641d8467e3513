//! Files that come out: whole or not at all, and never in the place of another unless asked.

use std::path::PathBuf;

use thiserror::Error;

mod child;
pub mod csv;
pub mod exr;
mod film;
mod pattern;
pub mod png;
pub mod video;
pub mod vti;
pub mod whole;

pub use pattern::{Pattern, PatternError};

/// Why a file could not be written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The system refused.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is a file already.
    #[error("{} is there already; pass --force to overwrite it", .0.display())]
    Exists(PathBuf),
}
