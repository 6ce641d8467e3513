//! Pressure projection: the part of the velocity that is free of divergence.

mod fft;
mod spectral;
mod transform;
mod tridiagonal;

pub use spectral::Spectral;
pub use transform::Ends;
