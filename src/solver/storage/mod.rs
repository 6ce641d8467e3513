//! The layout of values in memory: interleaved scalars, passes over rows, bricks without smoke, and the list of what a state keeps.

pub mod active_bricks;
pub mod archive;
pub mod cells;
pub mod row_passes;
