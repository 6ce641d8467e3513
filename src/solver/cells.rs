//! Memory for fields of four values at each cell.

use std::ops::{Deref, DerefMut};

use crate::grid::GHOST;

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Four values at each cell, where the first cell inside a row begins a line of the cache if rows are whole lines long: wide
/// loads and stores then touch one line each.
pub struct Cells {
    values: Vec<[f32; 4]>,
    /// Values before the first.
    skip: usize,
    len: usize,
}

impl Cells {
    /// `len` cells of zeros.
    pub fn new(len: usize) -> Self {
        let cell = size_of::<[f32; 4]>();
        let values = vec![[0.0; 4]; len + LINE / cell];
        let bytes = values[GHOST..].as_ptr().cast::<u8>().align_offset(LINE);
        // A hint: if memory begins between two cells, none of them begins a line.
        Self { values, skip: (bytes / cell).min(LINE / cell), len }
    }
}

impl Deref for Cells {
    type Target = [[f32; 4]];

    fn deref(&self) -> &Self::Target {
        &self.values[self.skip..][..self.len]
    }
}

impl DerefMut for Cells {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.values[self.skip..][..self.len]
    }
}
