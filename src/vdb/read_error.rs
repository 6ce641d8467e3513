//! The error of reading.

use std::fmt;

/// Reason why a file or a grid could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(String);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}

pub(super) type Result<T> = std::result::Result<T, ReadError>;

impl ReadError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

pub(super) fn wrong<T>(what: impl Into<String>) -> Result<T> {
    Err(ReadError::new(what))
}
