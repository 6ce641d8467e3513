//! Pressure projection: keeps the divergence-free part of the velocity.
//!
//! [`Projector::choose`] alone picks the method. Empty boxes get the direct solve: it is exact and costs a
//! tenth. Boxes with solids get multigrid-preconditioned conjugate gradients. Relaxation runs only when asked
//! for.

pub mod free_sides;
pub mod pressure;

use super::storage::archive::{Archive, Saved, StateError};
use super::storage::halt::Halt;
use super::storage::ranks::Ranks;
use super::{Projection, StepStats};
use crate::grid::{Faces, Layout};
use pressure::Blend;

pub mod boundary;
mod cuts;
mod enclosed_regions;
mod fft;
mod iterative;
mod level;
mod multigrid;
mod pcg;
mod red_black;
mod relaxation;
mod spectral;
mod transform;
mod tridiagonal;

pub use boundary::{AxisBoundary, PressureBoundary};
pub use cuts::{Cut, Cuts, cell_of};
use iterative::Iterative;
use pcg::Solve;
pub use red_black::Halves;
use spectral::Spectral;

/// Most iterations of conjugate gradients. The solids tests take at most 10; a solve that needs more is
/// reported instead of waited for.
const MOST: u32 = 40;

/// Velocity below which the flow is at rest \[m/s\]: its divergence is not worth removing.
const REST: f32 = 1e-12;

/// Method of projection for one box.
pub enum Projector {
    /// Transforms along x and y, tridiagonal systems along z.
    Direct(Box<Spectral>),
    /// Conjugate gradients preconditioned by multigrid.
    Multigrid(Box<Iterative>),
    /// Gauss–Seidel sweeps.
    Relaxation(Box<Iterative>, u32),
}

impl Projector {
    /// Chooses the projection for fields of `layout` between `ends`, for a pool of `threads` on each of the `ranks`.
    pub fn choose(
        method: Projection,
        solids: bool,
        layout: Layout,
        ends: [AxisBoundary; 3],
        threads: usize,
        ranks: &Ranks,
    ) -> Self {
        let iterative = || Box::new(Iterative::new(layout, ends, threads, ranks));
        let direct = || Box::new(Spectral::new(layout, ends, threads).on(ranks.clone()));
        match method {
            Projection::Auto if !solids => Self::Direct(direct()),
            Projection::Direct => Self::Direct(direct()),
            Projection::Auto | Projection::Multigrid => Self::Multigrid(iterative()),
            Projection::GaussSeidel { sweeps } => Self::Relaxation(iterative(), sweeps),
        }
    }

    /// Number of values that the caller lends to [`project`](Self::project).
    pub fn scratch_len(dims: crate::grid::Dims) -> usize {
        Spectral::spectrum_size(dims)
    }

    /// Memory of the projection of a box, without the scratch memory \[bytes\].
    pub fn memory(method: Projection, solids: bool, dims: crate::grid::Dims) -> usize {
        match method {
            Projection::Direct => 0,
            Projection::Auto if !solids => 0,
            _ => Iterative::memory(dims),
        }
    }

    /// Takes over the faces that solids cut.
    pub fn set_cuts(&mut self, cuts: &Cuts) {
        match self {
            Self::Direct(_) => assert!(cuts.is_empty(), "the direct solve supports no solids"),
            Self::Multigrid(iterative) | Self::Relaxation(iterative, _) => iterative.set_cuts(cuts),
        }
    }

    /// Drop of the last pressure, times Δt/h, across a face \[m/s\]. Only with solids.
    pub fn drop_across(&self, component: usize, face: u32) -> f32 {
        match self {
            Self::Direct(_) => 0.0,
            Self::Multigrid(iterative) | Self::Relaxation(iterative, _) => {
                iterative.drop_across(component, face)
            }
        }
    }

    /// The last pressure, the initial guess of an iterative solve.
    pub fn pressure(&self) -> Option<&Halves> {
        match self {
            Self::Direct(_) => None,
            Self::Multigrid(iterative) | Self::Relaxation(iterative, _) => Some(iterative.last()),
        }
    }

    /// The last pressure, to be replaced.
    pub fn pressure_mut(&mut self) -> Option<&mut Halves> {
        match self {
            Self::Direct(_) => None,
            Self::Multigrid(iterative) | Self::Relaxation(iterative, _) => Some(iterative.last_mut()),
        }
    }

    /// Whether the method is iterative. The caller then measures the velocity before the projection.
    pub fn is_iterative(&self) -> bool {
        !matches!(self, Self::Direct(_))
    }

    /// Removes the divergence of `velocity`. `tolerance` is the limit of max |∇·u| h / max |u|, followed by
    /// max |u| \[m/s\] before the projection; Gauss–Seidel sweeps do not depend on it. Closed faces get their
    /// solid's velocity. Faces on walls must hold the wall's velocity and do not change. On periodic axes
    /// face 0 is corrected and face n is not. `scratch` is memory to work in; `blend` receives the pressure.
    /// Writes the numbers of the solve to `stats`, and returns the largest component of the velocity before
    /// the projection.
    pub fn project(
        &mut self,
        velocity: &mut Faces,
        cuts: &mut Cuts,
        tolerance: [f32; 2],
        scratch: &mut [f32],
        blend: Option<Blend>,
        (stats, halt): (&mut StepStats, &Halt),
    ) -> f32 {
        let [tolerance, mut speed] = tolerance;
        // Half, because the projected flow may be slower than the incoming one.
        let enough = 0.5 * tolerance * speed + REST;
        let solve = match self {
            Self::Direct(spectral) => {
                let divergence;
                [divergence, speed] = spectral.project(velocity, scratch, blend, halt);
                stats.divergence_before = if speed > 0.0 { divergence / speed } else { 0.0 };
                Solve::default()
            }
            Self::Multigrid(iterative) => {
                iterative.project(velocity, cuts, blend, MOST, |left| left.max <= enough, halt)
            }
            Self::Relaxation(iterative, sweeps) => iterative.relax(velocity, cuts, blend, *sweeps, halt),
        };
        stats.iterations = solve.iterations;
        stats.residual = solve.relative() as f32;
        speed
    }
}

impl Saved for Projector {
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        match self {
            Self::Direct(_) => Ok(()),
            Self::Multigrid(iterative) | Self::Relaxation(iterative, _) => iterative.state(archive),
        }
    }
}

#[cfg(test)]
mod tests;
