//! Shapes and storage of fields on the staggered (MAC) grid. Knows nothing of time.

mod dims;
mod layout;

pub use dims::{Dims, GridError};
pub use layout::{Faces, GHOST, Layout};
