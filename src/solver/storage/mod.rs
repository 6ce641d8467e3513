//! Memory layout of values, and passes over them: interleaved scalars, passes over rows, bricks without
//! smoke, slabs of several ranks, the request to end a step, and the list of the values that a state keeps.

pub mod active_bricks;
pub mod archive;
pub mod cells;
pub mod halt;
pub mod ranks;
pub mod row_passes;
