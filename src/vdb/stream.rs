//! Writer of files whose values arrive in pieces, so that no whole grid is in memory.

use std::io::{self, Seek, SeekFrom, Write};

use super::Meta;
use super::write::{ContentHash, Grid, UUID_AT, descriptor, head};

/// A file being written, with the same bytes as by [`write`](super::write()). UUID and offsets are filled in
/// when they are known.
pub struct Stream<W> {
    file: W,
    /// Position of the file's first byte.
    first: u64,
    hash: ContentHash,
}

impl<W: Write + Seek> Stream<W> {
    /// Begins a file with this number of grids.
    ///
    /// # Errors
    /// Those of `file`.
    pub fn begin(mut file: W, metadata: &[(&str, Meta)], grids: usize) -> io::Result<Self> {
        let (first, hash) = (file.stream_position()?, ContentHash::of(metadata));
        file.write_all(&head(&hash.uuid(), metadata, grids))?;
        Ok(Self { file, first, hash })
    }

    /// Writes a grid. `fill` passes on the [blocks](Grid::blocks) of all leaves in the order of the topology,
    /// in pieces of any length.
    ///
    /// # Errors
    /// Those of the file and of `fill`.
    pub fn grid(
        &mut self,
        grid: &Grid,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { file, first, hash } = self;
        file.write_all(&descriptor(&grid.name, &grid.kind()))?;
        let offsets = file.stream_position()?;
        file.write_all(&[0; 3 * size_of::<i64>()])?;
        let begin = offsets + 3 * size_of::<i64>() as u64;
        let bytes = grid.without_values();
        hash.add(&bytes);
        file.write_all(&bytes)?;
        let values = begin + bytes.len() as u64;
        drop(bytes);
        let mut end = values;
        fill(&mut |bytes| {
            hash.add(bytes);
            end += bytes.len() as u64;
            file.write_all(bytes)
        })?;
        hash.add_grid(&[]);
        file.seek(SeekFrom::Start(offsets))?;
        for position in [begin, values, end] {
            file.write_all(&((position - *first) as i64).to_le_bytes())?;
        }
        file.seek(SeekFrom::Start(end)).map(drop)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the file.
    pub fn end(mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.first + UUID_AT as u64))?;
        self.file.write_all(self.hash.uuid().as_bytes())?;
        self.file.seek(SeekFrom::End(0)).map(drop)
    }
}
