//! Writes a file by several ranks at the same time, each its own parts.
//!
//! A rank seeks to the place of each part and writes it there. Machines that share a file over a network may write whole pages, and so
//! overwrite what another has written beside a part. So the first rank alone writes blocks that parts do not fill: the others keep the
//! ends of their parts, less than two blocks of each, and [`PartFile::finish`] hands them out.
//!
//! The CRC-32 of the file is that of its parts, combined in their order ([`checksum`]).

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use crc32fast::Hasher;

/// Bytes of a block: the largest page of a system (64 KiB on POWER and ARM).
const BLOCK: u64 = 1 << 16;

/// A file and the parts that one rank writes to it.
pub struct PartFile {
    file: BufWriter<File>,
    is_first: bool,
    at: u64,
    parts: Vec<Part>,
    sum: Hasher,
    /// Bytes before `at` in a block that they do not fill, of a rank other than the first.
    begun: Vec<u8>,
    ends: Vec<End>,
}

/// Adjacent bytes that one rank has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Part {
    /// Place of the first byte.
    pub start: u64,
    /// Number of bytes.
    pub length: u64,
    /// CRC-32 of the bytes.
    pub sum: u64,
}

/// An end of a part, for the first rank to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Place of the first byte.
    pub start: u64,
    /// The bytes, fewer than a block.
    pub bytes: Vec<u8>,
}

impl PartFile {
    /// Makes a writer of the parts in `file` of the first rank, or of another.
    pub fn new(file: File, is_first: bool) -> Self {
        Self {
            file: BufWriter::new(file),
            is_first,
            at: 0,
            parts: vec![Part::default()],
            sum: Hasher::new(),
            begun: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Ends the last part. Returns the file, all parts, and those ends that the first rank has to write.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(mut self) -> io::Result<(File, Vec<Part>, Vec<End>)> {
        self.end_part(self.at);
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.parts.pop();
        Ok((file, self.parts, self.ends))
    }

    /// Ends a part, and begins the next at `start`.
    fn end_part(&mut self, start: u64) {
        self.keep_end();
        let sum = std::mem::take(&mut self.sum).finalize();
        let part = self.parts.last_mut().expect("one that is being written");
        part.sum = sum.into();
        if part.length == 0 {
            self.parts.pop();
        }
        self.parts.push(Part { start, ..Part::default() });
    }

    fn keep_end(&mut self) {
        if !self.begun.is_empty() {
            let bytes = std::mem::take(&mut self.begun);
            self.ends.push(End { start: self.at - bytes.len() as u64, bytes });
        }
    }

    /// Writes the blocks that `bytes` fill, and keeps the others.
    fn write_blocks(&mut self, bytes: &[u8]) -> io::Result<()> {
        let begun = self.at % BLOCK;
        let missing = if begun > 0 { ((BLOCK - begun) as usize).min(bytes.len()) } else { 0 };
        let (now, rest) = bytes.split_at(missing);
        self.begun.extend_from_slice(now);
        self.at += now.len() as u64;
        if !now.is_empty() && self.at.is_multiple_of(BLOCK) {
            if self.begun.len() as u64 == BLOCK {
                self.file.seek(SeekFrom::Start(self.at - BLOCK))?;
                self.file.write_all(&self.begun)?;
                self.begun.clear();
            } else {
                self.keep_end();
            }
        }
        let (whole, rest) = rest.split_at(rest.len() - rest.len() % BLOCK as usize);
        if !whole.is_empty() {
            self.file.seek(SeekFrom::Start(self.at))?;
            self.file.write_all(whole)?;
        }
        self.begun.extend_from_slice(rest);
        self.at += (whole.len() + rest.len()) as u64;
        Ok(())
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = match self.is_first {
            true => {
                let count = self.file.write(bytes)?;
                self.at += count as u64;
                count
            }
            false => {
                self.write_blocks(bytes)?;
                bytes.len()
            }
        };
        self.sum.update(&bytes[..count]);
        self.parts.last_mut().expect("one that is being written").length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for PartFile {
    /// # Errors
    /// Those of the file, and [`SeekFrom::End`]: other ranks may not have written it yet.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(_) => None,
        };
        let to = to.ok_or(io::ErrorKind::InvalidInput)?;
        if to != self.at {
            self.end_part(to);
            self.at = to;
            if self.is_first {
                self.file.seek(SeekFrom::Start(to))?;
            }
        }
        Ok(to)
    }
}

/// Returns the length and CRC-32 of the file that `parts` fill, in any order.
///
/// # Errors
/// If they leave gaps or overlap.
pub fn checksum(mut parts: Vec<Part>) -> io::Result<(u64, u32)> {
    parts.sort_unstable_by_key(|part| part.start);
    let (mut end, mut sum) = (0, Hasher::new());
    for Part { start, length, sum: of_part } in parts {
        if start != end {
            return Err(io::Error::other(format!("parts end at byte {end} and go on at {start}")));
        }
        sum.combine(&Hasher::new_with_initial_len(of_part as u32, length));
        end = start + length;
    }
    Ok((end, sum.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `parts` of `bytes` as one rank.
    fn write(
        path: &std::path::Path,
        is_first: bool,
        bytes: &[u8],
        parts: &[[usize; 2]],
    ) -> (Vec<Part>, Vec<End>) {
        let file = File::options().write(true).create(true).truncate(false).open(path).unwrap();
        let mut file = PartFile::new(file, is_first);
        for &[start, end] in parts {
            file.seek(SeekFrom::Start(start as u64)).unwrap();
            // Fields and lists are written in pieces too.
            bytes[start..end].chunks(50_000).for_each(|piece| file.write_all(piece).unwrap());
        }
        let (_, parts, ends) = file.finish().unwrap();
        (parts, ends)
    }

    #[test]
    fn parts_of_several_ranks_make_one_file_with_one_checksum() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let bytes: Vec<u8> = (0..400_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let (mut parts, ends) = write(&path, true, &bytes, &[[0, 70_001], [270_000, 270_010]]);
        assert!(ends.is_empty(), "the first rank writes its own");
        for own in [&[[70_001, 90_000], [270_010, 400_000]][..], &[[90_000, 270_000]]] {
            let (theirs, ends) = write(&path, false, &bytes, own);
            assert!(ends.len() <= 2 * own.len() && ends.iter().all(|end| (end.bytes.len() as u64) < BLOCK));
            parts.extend(theirs);
            let mut first = PartFile::new(File::options().write(true).open(&path).unwrap(), true);
            for End { start, bytes } in ends {
                first.seek(SeekFrom::Start(start)).unwrap();
                first.write_all(&bytes).unwrap();
            }
            first.finish().unwrap();
        }
        assert!(std::fs::read(&path).unwrap() == bytes);
        assert_eq!(checksum(parts.clone()).unwrap(), (400_000, crc32fast::hash(&bytes)));
        parts.remove(2);
        assert!(checksum(parts).unwrap_err().to_string().contains("parts end at byte"));
    }

    /// If two machines write the same page, the data of one of them is lost.
    #[test]
    fn ranks_other_than_the_first_write_whole_blocks_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let bytes = vec![7; 300_000];
        std::fs::write(&path, vec![1; 300_000]).unwrap();
        let (_, ends) = write(&path, false, &bytes, &[[10, 200], [70_000, 290_000]]);
        let file = std::fs::read(&path).unwrap();
        let block = BLOCK as usize;
        assert!(file.iter().enumerate().all(|(n, &x)| (x == 7) == (2 * block..4 * block).contains(&n)));
        let places: Vec<_> = ends.iter().map(|end| (end.start as usize, end.bytes.len())).collect();
        assert_eq!(places, [(10, 190), (70_000, 2 * block - 70_000), (4 * block, 290_000 - 4 * block)]);
    }
}
