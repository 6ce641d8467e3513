//! Shapes and storage of fields on the staggered (MAC) grid, without any notion of time.

mod dims;
mod layout;

pub use dims::{Dims, GridError};
pub use layout::{Faces, GHOST, Layout};
pub(crate) use layout::{next_axes, other_axes};
