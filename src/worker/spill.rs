//! Recorded frames beyond the memory, in files without names.
//!
//! The files belong to this process alone and vanish with it, however it ends. They are written one after
//! the other and read at any place. The oldest is given back once all of its frames are dropped.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a file. The disk gets them back together.
const SEGMENT: u64 = 64 << 20;

/// Makes an empty file that vanishes when it is closed.
pub type NewFile = Box<dyn FnMut() -> io::Result<File> + Send>;

/// Room on a disk.
pub struct Spill {
    new_file: NewFile,
    limit: u64,
    /// Bytes of all files.
    used: Arc<AtomicU64>,
    newest: Option<Arc<Segment>>,
}

impl std::fmt::Debug for Spill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spill")
            .field("limit", &self.limit)
            .field("used", &self.used())
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Segment {
    file: Mutex<File>,
    length: AtomicU64,
    used: Arc<AtomicU64>,
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.used.fetch_sub(*self.length.get_mut(), Ordering::Relaxed);
    }
}

/// Bytes in a file.
#[derive(Clone, Debug)]
pub(super) struct Span {
    segment: Arc<Segment>,
    at: u64,
    length: usize,
}

impl Spill {
    /// At most `limit` bytes in files that `new_file` makes.
    pub fn new(limit: u64, new_file: NewFile) -> Self {
        Self { new_file, limit, used: Arc::default(), newest: None }
    }

    /// Most bytes on the disk.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes on the disk.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Writes bytes; `None` if they exceed the limit.
    ///
    /// # Errors
    /// Those of the disk. What was written of the bytes counts until its file goes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<Option<Span>> {
        if self.used() + bytes.len() as u64 > self.limit {
            return Ok(None);
        }
        let has_room = |segment: &&mut Arc<Segment>| segment.length.load(Ordering::Relaxed) < SEGMENT;
        let segment = match self.newest.as_mut().filter(has_room) {
            Some(segment) => segment.clone(),
            None => {
                let file = Mutex::new((self.new_file)()?);
                let segment = Segment { file, length: AtomicU64::new(0), used: self.used.clone() };
                self.newest.insert(Arc::new(segment)).clone()
            }
        };
        let at = segment.length.load(Ordering::Relaxed);
        {
            let mut file = segment.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)?;
        }
        segment.length.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.used.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(Some(Span { segment, at, length: bytes.len() }))
    }
}

impl Span {
    /// Reads the bytes.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.length];
        let mut file = self.segment.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_files_are_given_back_with_their_last_span() {
        let mut spill = Spill::new(3 * SEGMENT, Box::new(tempfile::tempfile));
        let bytes = |n: u8| vec![n; SEGMENT as usize / 2];
        let mut spans: Vec<_> = (0..6).map(|n| spill.write(&bytes(n)).unwrap().unwrap()).collect();
        assert!(spill.write(&[0]).unwrap().is_none(), "the limit is reached");
        assert!(spans.iter().zip(0..).all(|(span, n)| span.read().unwrap() == bytes(n)));
        spans.remove(0);
        assert_eq!(spill.used(), 3 * SEGMENT, "the other half of the file is still used");
        spans.remove(0);
        assert_eq!(spill.used(), 2 * SEGMENT);
        assert_eq!(spill.write(&[7; 9]).unwrap().unwrap().read().unwrap(), [7; 9]);
    }
}
