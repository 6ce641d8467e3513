//! Shapes and storage of fields on the staggered (MAC) grid, without any notion of time.

mod dims;
mod layout;

pub use dims::{Dims, GridError};
pub use layout::{Faces, GHOST, Layout};
