//! Memory for fields of four interleaved values at each cell.

use std::ops::{Deref, DerefMut};

use crate::grid::GHOST;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Four values at each cell, aligned so that the first cell inside a row begins a cache line if rows are a
/// whole number of lines long. Wide loads and stores then touch one line each.
pub struct Cells {
    values: Vec<[f32; 4]>,
    /// Number of values before the first.
    skip: usize,
    len: usize,
}

impl Cells {
    /// Makes `len` cells of zeros.
    pub fn new(len: usize) -> Self {
        let cell = size_of::<[f32; 4]>();
        let values = vec![[0.0; 4]; len + LINE / cell];
        let bytes = values[GHOST..].as_ptr().cast::<u8>().align_offset(LINE);
        // A hint: if the memory begins between two cells, no cell begins a cache line.
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
