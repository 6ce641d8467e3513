//! What a solver keeps from one step to the next, so that a run can go on where another ended, with the same bits.
//!
//! Each part lists its own state in one place, [`Saved::state`], by taking itself apart: a field that is added is a compile
//! error until it is listed or said to follow from the others. One list serves both ways, since an [`Archive`] either takes
//! the values or replaces them.

use std::io::{self, Read, Write};

use bytemuck::Pod;
use thiserror::Error;

use super::Solver;

/// Why a state could not be written or read.
#[derive(Debug, Error)]
pub enum StateError {
    /// The file ended, or the disk is full.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The state is that of another kind of solver.
    #[error("it holds {found} where this solver keeps {wanted}")]
    Other {
        /// What the file holds.
        found: String,
        /// What should be there.
        wanted: String,
    },
}

/// Takes values, or gives them.
pub(super) trait Archive {
    /// Takes the `bytes` that are called `name`, or puts others in their place.
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError>;
}

impl dyn Archive + '_ {
    /// Takes or gives numbers.
    pub fn values<T: Pod>(&mut self, name: &'static str, values: &mut [T]) -> Result<(), StateError> {
        self.bytes(name, bytemuck::cast_slice_mut(values))
    }

    /// Takes or gives one number.
    pub fn value<T: Pod>(&mut self, name: &'static str, value: &mut T) -> Result<(), StateError> {
        self.bytes(name, bytemuck::bytes_of_mut(value))
    }

    /// Takes or gives a number that may be absent.
    pub fn option<T: Pod>(&mut self, name: &'static str, value: &mut Option<T>) -> Result<(), StateError> {
        let mut known = value.is_some();
        let mut there = value.unwrap_or_else(T::zeroed);
        self.flag("known", &mut known)?;
        self.value(name, &mut there)?;
        *value = known.then_some(there);
        Ok(())
    }

    /// Takes or gives a truth value.
    pub fn flag(&mut self, name: &'static str, value: &mut bool) -> Result<(), StateError> {
        let mut byte = [u8::from(*value)];
        self.bytes(name, &mut byte)?;
        *value = byte[0] != 0;
        Ok(())
    }
}

/// Something that keeps values from one step to the next.
pub(super) trait Saved {
    /// Shows all of them to `archive`, always in the same order.
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError>;
}

impl Solver {
    /// Writes what the next steps depend on. Only between steps: what a cancelled step leaves is no state to go on from.
    ///
    /// # Errors
    /// Those of `file`.
    pub fn save(&mut self, file: impl Write) -> Result<(), StateError> {
        self.state(&mut Saver(file))
    }

    /// Takes over what [`save`](Self::save) wrote: the following steps have the same bits as if there had been no break. The
    /// solver must have been built from the same configuration, with the same constants, sources, forces and solids; the number
    /// of threads may differ.
    ///
    /// # Errors
    /// Those of `file`, and if the state is that of another kind of solver. The fields are then worth nothing.
    pub fn load(&mut self, file: impl Read) -> Result<(), StateError> {
        self.state(&mut Loader(file))?;
        self.restored();
        self.broken = None;
        Ok(())
    }

    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        self.fields.state(archive)?;
        self.stats.state(archive)
    }
}

/// Writes each value behind its name and its number of bytes.
struct Saver<W>(W);

impl<W: Write> Archive for Saver<W> {
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError> {
        self.0.write_all(&header(name, bytes.len()))?;
        Ok(self.0.write_all(bytes)?)
    }
}

/// Reads them in the same order.
struct Loader<R>(R);

impl<R: Read> Archive for Loader<R> {
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError> {
        let mut length = [0];
        self.0.read_exact(&mut length)?;
        let mut rest = vec![0; usize::from(length[0]) + 8];
        self.0.read_exact(&mut rest)?;
        let (found, count) = rest.split_at(usize::from(length[0]));
        let count = u64::from_le_bytes(std::array::from_fn(|n| count[n]));
        let found = String::from_utf8_lossy(found);
        if found != name || count != bytes.len() as u64 {
            let say = |name: &str, count: u64| format!("`{name}` of {count} bytes");
            return Err(StateError::Other {
                found: say(&found, count),
                wanted: say(name, bytes.len() as u64),
            });
        }
        Ok(self.0.read_exact(bytes)?)
    }
}

/// The length of the name, the name, the number of bytes.
fn header(name: &str, count: usize) -> Vec<u8> {
    let mut header = vec![name.len() as u8];
    header.extend(name.as_bytes());
    header.extend((count as u64).to_le_bytes());
    header
}
