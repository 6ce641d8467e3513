//! near
pub struct Near;
