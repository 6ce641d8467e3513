//! Tables as CSV, a line at a time: a run that ends early leaves every line it wrote.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::OutputError;

/// A table that is being written.
#[derive(Debug)]
pub struct Csv {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Csv {
    /// Creates or replaces `path`, beginning with the names of the columns.
    pub fn create(path: &Path, columns: &[impl AsRef<str>]) -> Result<Self, OutputError> {
        let file =
            File::create(path).map_err(|source| OutputError::Write { path: path.to_owned(), source })?;
        let mut csv = Self { path: path.to_owned(), file: BufWriter::new(file) };
        csv.row(columns.iter().map(|column| column.as_ref().to_owned()))?;
        Ok(csv)
    }

    /// Adds a line. Numbers are best written with `{:?}`: the shortest digits that read back as the same number.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) -> Result<(), OutputError> {
        let mut line = cells.into_iter().collect::<Vec<_>>().join(",");
        line.push('\n');
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|source| OutputError::Write { path: self.path.clone(), source })
    }

    /// Hands what was written to the system.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        self.file.flush().map_err(|source| OutputError::Write { path: self.path.clone(), source })
    }
}
