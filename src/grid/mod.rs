//! Shapes and storage of fields on the staggered (MAC) grid. Knows nothing of time.

mod dims;

pub use dims::{Dims, GridError};
