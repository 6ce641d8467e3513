//! Writes tables as CSV line by line. A run that ends early leaves every finished line.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::OutputError;
use super::whole::{self, Existing};

/// Bytes of lines that are written together.
const BUFFER: usize = 8192;

/// A table being written.
#[derive(Debug)]
pub struct Csv {
    path: PathBuf,
    file: File,
    /// Lines that are not in the file yet.
    lines: Vec<u8>,
    /// Bytes already in the file.
    written: u64,
}

impl Csv {
    /// Creates `path` with the names of the columns. An existing file is replaced or is an error; a link is
    /// never written through.
    pub fn create(path: &Path, existing: Existing, columns: &[impl AsRef<str>]) -> Result<Self, OutputError> {
        // An empty file claims the name in one step. Lines then go directly to the file.
        whole::write_over(path, existing, |_| Ok(()))?;
        let file =
            Self::open_new(path).map_err(|source| OutputError::Write { path: path.to_owned(), source })?;
        let mut csv = Self { path: path.to_owned(), file, lines: Vec::with_capacity(BUFFER), written: 0 };
        csv.row(columns.iter().map(|column| column.as_ref().to_owned()))?;
        Ok(csv)
    }

    /// Opens a file just created. A mode that forbids writing comes from the file it replaced.
    fn open_new(path: &Path) -> io::Result<File> {
        let open = || File::options().write(true).open(path);
        match open() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let kept = std::fs::metadata(path)?.permissions();
                let mut writable = kept.clone();
                #[allow(clippy::permissions_set_readonly_false)]
                writable.set_readonly(false);
                std::fs::set_permissions(path, writable)?;
                let file = open();
                std::fs::set_permissions(path, kept)?;
                file
            }
            other => other,
        }
    }

    /// Opens `path` to continue after its first `length` bytes; the rest is cut off.
    pub fn resume(path: &Path, length: u64) -> Result<Self, OutputError> {
        Self::open(path, length).map_err(|source| OutputError::Write { path: path.to_owned(), source })
    }

    fn open(path: &Path, length: u64) -> io::Result<Self> {
        let mut file = File::options().write(true).open(path)?;
        let there = file.metadata()?.len();
        if there < length {
            return Err(io::Error::other(format!(
                "it has {there} bytes and had {length} when the run was saved"
            )));
        }
        file.set_len(length)?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(length))?;
        Ok(Self { path: path.to_owned(), file, lines: Vec::with_capacity(BUFFER), written: length })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until all lines are on the disk. Returns their size in bytes.
    pub fn sync(&mut self) -> Result<u64, OutputError> {
        self.flush()?;
        self.file.sync_all().map_err(|source| OutputError::Write { path: self.path.clone(), source })?;
        Ok(self.written)
    }

    /// Appends a line. Format numbers with `{:?}`: the shortest digits that read back as the same number.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) -> Result<(), OutputError> {
        let line = cells.into_iter().collect::<Vec<_>>().join(",");
        self.lines.extend(line.as_bytes());
        self.lines.push(b'\n');
        if self.lines.len() < BUFFER { Ok(()) } else { self.flush() }
    }

    /// Passes all lines to the system. If that fails, for example on a full disk, the table still ends with a
    /// whole line.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        let result = self.file.write_all(&self.lines);
        // A removed file would take all lines without an error.
        let result = result.and_then(|()| std::fs::symlink_metadata(&self.path).map(drop));
        if result.is_ok() {
            self.written += self.lines.len() as u64;
        } else {
            // The first failure is the one to report.
            let _ = self.cut();
        }
        self.lines.clear();
        result.map_err(|source| OutputError::Write { path: self.path.clone(), source })
    }

    /// Cuts the beginning of a line off the end of the file.
    fn cut(&mut self) -> io::Result<()> {
        let there = self.file.metadata()?.len().saturating_sub(self.written) as usize;
        self.written += whole_lines(&self.lines, there) as u64;
        self.file.set_len(self.written)
    }
}

impl Drop for Csv {
    fn drop(&mut self) {
        // Best effort; call `flush` to see errors.
        let _ = self.flush();
    }
}

/// Returns the number of bytes of the whole lines among the first `count` of `lines`.
fn whole_lines(lines: &[u8], count: usize) -> usize {
    let part = &lines[..count.min(lines.len())];
    part.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_was_removed_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/a.csv");
        std::fs::create_dir(dir.path().join("run")).unwrap();
        let mut csv = Csv::create(&path, Existing::Keep, &["n"]).unwrap();
        csv.flush().unwrap();
        std::fs::remove_dir_all(dir.path().join("run")).unwrap();
        csv.row(["1".to_owned()]).unwrap();
        let message = csv.flush().unwrap_err().to_string();
        assert!(message.contains("run/a.csv"), "{message}");
    }

    #[test]
    fn lines_come_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        let mut csv = Csv::create(&path, Existing::Keep, &["n", "square"]).unwrap();
        for n in 0..2000 {
            csv.row([n.to_string(), (n * n).to_string()]).unwrap();
        }
        drop(csv);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("n,square\n0,0\n1,1\n") && text.ends_with("\n1999,3996001\n"));
        assert_eq!(text.lines().count(), 2001);
    }

    #[test]
    fn a_table_that_is_cut_ends_with_a_whole_line() {
        assert_eq!(
            [0, 1, 3, 4, 7, 8, 9].map(|count| whole_lines(b"abc\ndef\n", count)),
            [0, 0, 0, 4, 4, 8, 8]
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        let mut csv = Csv::create(&path, Existing::Keep, &["n"]).unwrap();
        csv.flush().unwrap();
        // As after a full disk.
        csv.lines.extend(b"1\n22\n");
        csv.file.write_all(b"1\n2").unwrap();
        csv.cut().unwrap();
        csv.lines.clear();
        drop(csv);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "n\n1\n");
    }
}
