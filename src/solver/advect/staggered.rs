//! Input of the advection of the velocity.

use super::Curve;
use crate::grid::Faces;

/// The velocity on the faces in two layouts, and the displacement of the air.
pub struct Staggered<'a> {
    /// u, v, w and 0 interleaved, from [`interleave`](super::interleave). Filled and read
    /// where [`reads_interleaved`](super::reads_interleaved).
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub interleaved: &'a [[f32; 4]],
    /// The same velocity, one component after the other. Read where the interleaved one is not.
    pub faces: &'a Faces,
    /// Back-trace from the cell centres \[cells\], one ghost layer filled.
    pub back: &'a [[f32; 4]],
    /// Interpolating curve.
    pub curve: Curve,
}
