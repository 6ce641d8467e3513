//! Wraps a writer so that it fails once: after its first error it silently drops everything.
//!
//! A `ZipWriter` that is dropped early tries to finish its archive, and prints to stderr if it cannot. Through
//! this writer it can, and the returned error is the only one.

use std::io::{self, Seek, SeekFrom, Write};

/// The writer around `inner`.
pub struct Once<W> {
    inner: W,
    failed: bool,
}

impl<W> Once<W> {
    /// Wraps a writer.
    pub fn new(inner: W) -> Self {
        Self { inner, failed: false }
    }

    fn watched<T>(&mut self, dropped: T, work: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.failed {
            return Ok(dropped);
        }
        let result = work(&mut self.inner);
        self.failed = result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        result
    }
}

impl<W: Write> Write for Once<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.watched(bytes.len(), |inner| inner.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.watched((), Write::flush)
    }
}

impl<W: Seek> Seek for Once<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.watched(0, |inner| inner.seek(to))
    }
}
