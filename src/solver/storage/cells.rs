//! Memory for fields of four interleaved values at each cell.

use std::ops::{Deref, DerefMut};

use crate::grid::GHOST;
use crate::room::huge_pages;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Four values at each cell, aligned so that the first cell inside a row begins a cache line if rows are a
/// whole number of lines long. Wide loads and stores then touch one line each.
pub struct Cells {
    values: Vec<[f32; 4]>,
    /// Number of unused values before the first cell, for its alignment.
    skip: usize,
    len: usize,
}

impl Cells {
    /// Makes `len` cells of zeros.
    pub fn new(len: usize) -> Self {
        let cell = size_of::<[f32; 4]>();
        let values = huge_pages::favoured(vec![[0.0; 4]; len + LINE / cell]);
        let bytes = values[GHOST..].as_ptr().cast::<u8>().align_offset(LINE);
        // A hint: if the memory begins between two cells, no cell begins a cache line.
        Self { values, skip: (bytes / cell).min(LINE / cell), len }
    }

    /// The memory as three fields of one value at each cell.
    pub fn thirds(&self) -> [&[f32]; 3] {
        let (values, len) = (self.as_flattened(), self.len);
        [&values[..len], &values[len..2 * len], &values[2 * len..3 * len]]
    }

    /// As [`thirds`](Self::thirds), to be written.
    pub fn thirds_mut(&mut self) -> [&mut [f32]; 3] {
        let len = self.len;
        let (first, rest) = self.as_flattened_mut().split_at_mut(len);
        let (second, third) = rest.split_at_mut(len);
        [first, second, &mut third[..len]]
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
