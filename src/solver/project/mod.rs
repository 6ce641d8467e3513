//! Pressure projection: the part of the velocity that is free of divergence.

mod checker;
mod cuts;
mod fft;
mod iterative;
mod level;
mod multigrid;
mod pcg;
mod pockets;
mod relaxation;
mod spectral;
mod transform;
mod tridiagonal;

pub use spectral::Spectral;
pub use transform::Ends;
pub use cuts::{Cut, Cuts, cell_of};
pub use iterative::Iterative;
pub use pcg::{Residual, Solve};

#[cfg(test)]
mod tests;
