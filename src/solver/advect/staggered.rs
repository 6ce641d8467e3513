//! What the velocity is advected from.

use super::Curve;
use crate::grid::Faces;

/// The velocity on the faces, both ways, and how far the air has come.
pub struct Staggered<'a> {
    /// u, v, w and 0 side by side, from [`interleave`](super::weave).
    pub interleaved: &'a [[f32; 4]],
    /// The same, one component after the other.
    pub faces: &'a Faces,
    /// Displacement of the air at the cell centres, one layer of ghosts filled.
    pub back: &'a [[f32; 4]],
    /// What is put through the values.
    pub curve: Curve,
}
