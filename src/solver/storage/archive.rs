//! State that a solver carries from one step to the next. A run restored from it continues with the same
//! bits.
//!
//! Each part lists its state in one place, [`Saved::state`], by destructuring itself: a new field is a
//! compile error until it is listed or declared derived. One list both writes and reads, because an
//! [`Archive`] either copies the values out or replaces them.

use std::io::{self, Read, Write};

use bytemuck::Pod;
use thiserror::Error;

use crate::grid::{GHOST, Layout};

/// Why a state could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StateError {
    /// Reading or writing failed, for example because the file ended or the disk is full.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The state belongs to another kind of solver.
    #[error("it has {found} where this solver expects {wanted}")]
    Other {
        /// Kind of value in the file.
        found: String,
        /// Expected kind of value.
        wanted: String,
    },
    /// The state was saved by a solver of another [`Config`](crate::solver::Config).
    #[error("this state belongs to a box with another configuration")]
    OtherConfig,
    /// The file is damaged: a field holds a value that is not finite.
    #[error("{field} is not a finite number in cell {cell:?} of the state; the file is damaged")]
    NotFinite {
        /// The field.
        field: &'static str,
        /// The cell, or the face below it.
        cell: [usize; 3],
    },
    /// The file is damaged: one of the numbers beside the fields is not finite.
    #[error("a number of the state is not finite; the file is damaged")]
    NumberNotFinite,
}

/// Writes values, or reads and replaces them.
pub trait Archive {
    /// Writes the `bytes` called `name`, or replaces them.
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError>;

    /// As [`bytes`](Self::bytes), for a field with `planes[0]` planes of cells along z and `planes[1]` planes
    /// of ghosts beyond each end. With several ranks, each has values only in its own planes.
    fn planes(&mut self, name: &'static str, bytes: &mut [u8], planes: [usize; 2]) -> Result<(), StateError> {
        let _ = planes;
        self.bytes(name, bytes)
    }
}

impl dyn Archive + '_ {
    /// Writes or replaces numbers.
    pub fn values<T: Pod>(&mut self, name: &'static str, values: &mut [T]) -> Result<(), StateError> {
        self.bytes(name, bytemuck::cast_slice_mut(values))
    }

    /// Writes or replaces a field of this layout.
    pub fn field<T: Pod>(
        &mut self,
        name: &'static str,
        values: &mut [T],
        layout: Layout,
    ) -> Result<(), StateError> {
        self.planes(name, bytemuck::cast_slice_mut(values), [layout.dims.nz, GHOST])
    }

    /// Writes or replaces one number.
    pub fn value<T: Pod>(&mut self, name: &'static str, value: &mut T) -> Result<(), StateError> {
        self.bytes(name, bytemuck::bytes_of_mut(value))
    }

    /// Writes or replaces an optional number.
    pub fn option<T: Pod>(&mut self, name: &'static str, value: &mut Option<T>) -> Result<(), StateError> {
        let mut known = value.is_some();
        let mut there = value.unwrap_or_else(T::zeroed);
        self.flag("known", &mut known)?;
        self.value(name, &mut there)?;
        *value = known.then_some(there);
        Ok(())
    }

    /// Writes or replaces a boolean.
    pub fn flag(&mut self, name: &'static str, value: &mut bool) -> Result<(), StateError> {
        let mut byte = [u8::from(*value)];
        self.bytes(name, &mut byte)?;
        *value = byte[0] != 0;
        Ok(())
    }
}

/// A part of the solver with state from one step to the next.
pub trait Saved {
    /// Passes all of its state to `archive`, always in the same order.
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError>;
}

/// Writes each value after a header with its name and its number of bytes.
pub struct Saver<W>(pub W);

impl<W: Write> Archive for Saver<W> {
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError> {
        self.header(name, bytes.len())?;
        self.raw(bytes)
    }
}

impl<W: Write> Saver<W> {
    /// Writes the header of a value of `count` bytes.
    pub fn header(&mut self, name: &'static str, count: usize) -> Result<(), StateError> {
        Ok(self.0.write_all(&header(name, count))?)
    }

    /// Writes some of the bytes after a header.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        Ok(self.0.write_all(bytes)?)
    }
}

/// Reads the values that [`Saver`] wrote, in the same order.
pub struct Loader<R>(pub R);

impl<R: Read> Archive for Loader<R> {
    fn bytes(&mut self, name: &'static str, bytes: &mut [u8]) -> Result<(), StateError> {
        self.header(name, bytes.len())?;
        self.raw(bytes)
    }
}

impl<R: Read> Loader<R> {
    /// Reads the header of a value of `wanted` bytes.
    pub fn header(&mut self, name: &'static str, wanted: usize) -> Result<(), StateError> {
        let mut length = [0];
        self.0.read_exact(&mut length)?;
        let mut rest = vec![0; usize::from(length[0]) + 8];
        self.0.read_exact(&mut rest)?;
        let (found, count) = rest.split_at(usize::from(length[0]));
        let count = u64::from_le_bytes(std::array::from_fn(|n| count[n]));
        let found = String::from_utf8_lossy(found);
        if found != name || count != wanted as u64 {
            // A file of another kind has any bytes here.
            let say = |name: &str, count: u64| {
                let name: String = name.chars().take(LONGEST_NAME).flat_map(char::escape_default).collect();
                format!("`{name}` of {count} bytes")
            };
            return Err(StateError::Other { found: say(&found, count), wanted: say(name, wanted as u64) });
        }
        Ok(())
    }

    /// Reads some of the bytes after a header.
    pub fn raw(&mut self, bytes: &mut [u8]) -> Result<(), StateError> {
        Ok(self.0.read_exact(bytes)?)
    }
}

/// Most characters of an unknown name that an error quotes.
const LONGEST_NAME: usize = 24;

/// Length of the header of a value of this name \[bytes\].
pub fn header_length(name: &str) -> u64 {
    header(name, 0).len() as u64
}

/// The header of a value: the length of the name, the name, the number of bytes.
fn header(name: &str, count: usize) -> Vec<u8> {
    let mut header = vec![name.len() as u8];
    header.extend(name.as_bytes());
    header.extend((count as u64).to_le_bytes());
    header
}
