//! Conjugate gradients, preconditioned by a multigrid cycle.
//!
//! The residual is the divergence left in each cell, so its largest value decides when to stop. Sums are
//! taken plane by plane in double precision and added in order: same bits for any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::enclosed_regions::EnclosedRegions;
use super::level::{Level, dot_row, fold};
use super::multigrid::Multigrid;
use super::red_black::{Board, Halves};
use crate::simd::{Simd, each_level};
use crate::solver::storage::halt::Halt;

/// Size of a residual.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residual {
    /// Largest magnitude.
    pub max: f32,
    /// Root of the sum of squares.
    pub norm: f64,
}

/// Result of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Solve {
    /// Iterations done.
    pub iterations: u32,
    /// Size of the right-hand side.
    pub rhs: Residual,
    /// Size of the final residual.
    pub residual: Residual,
}

impl Solve {
    /// |r| / |b| in the 2-norm; 0 if b = 0.
    pub fn relative(&self) -> f64 {
        if self.rhs.norm > 0.0 { self.residual.norm / self.rhs.norm } else { 0.0 }
    }
}

/// The linear system, its preconditioner, and the memory of a solve.
pub struct System {
    pub grids: Multigrid,
    enclosed_regions: EnclosedRegions,
    /// The last pressure, the initial guess of the next solve.
    pub phi: Halves,
    /// The right-hand side; during a solve the residual. Its ghosts are 0.
    pub rhs: Halves,
    direction: Halves,
    /// First the preconditioned residual, then A times the direction.
    other: Halves,
    partials: Vec<f64>,
    /// Of each plane: the largest magnitude, and the sum of squares.
    residuals: Vec<[f64; 2]>,
}

impl System {
    /// Makes the system without solids.
    pub fn new(grids: Multigrid) -> Self {
        let board = grids.finest().board;
        let planes = board.n[2];
        let mut enclosed_regions = EnclosedRegions::default();
        enclosed_regions.find(grids.finest());
        Self {
            enclosed_regions,
            phi: board.field(),
            rhs: board.field(),
            direction: board.field(),
            other: board.field(),
            partials: vec![0.0; planes],
            residuals: vec![[0.0; 2]; planes],
            grids,
        }
    }

    /// Takes over the weights that `change` sets on the finest grid; all others are open.
    pub fn rebuild(&mut self, change: impl FnOnce(&mut Level)) {
        self.grids.rebuild(change);
        self.enclosed_regions.find(self.grids.finest());
    }

    /// Solves A φ = rhs until `done` accepts the residual, for at most `most` iterations. The mean divergence
    /// of a closed region is subtracted first, because no pressure can remove it. The mean of φ there is
    /// zero.
    pub fn solve(&mut self, most: u32, done: impl Fn(Residual) -> bool, halt: &Halt) -> Solve {
        let mut solve = self.start();
        let mut last = f64::INFINITY;
        while !done(solve.residual) && solve.iterations < most {
            let rz = self.precondition(halt);
            if halt.is_raised() {
                return solve;
            }
            let Some(shrink) = self.descend(rz, last) else { break };
            self.enclosed_regions.remove_means(self.grids.finest(), &mut self.rhs);
            solve.residual = shrink;
            solve.iterations += 1;
            last = rz;
        }
        self.enclosed_regions.remove_means(self.grids.finest(), &mut self.phi);
        solve
    }

    /// Shape of the finest grid.
    pub fn board(&self) -> Board {
        self.grids.finest().board
    }

    /// Zeros cells that are not unknowns, and subtracts from the right-hand side the means of closed regions:
    /// no pressure can remove them. Returns the size of the result.
    pub fn prepare(&mut self) -> Residual {
        self.clear_unknowns();
        self.enclosed_regions.remove_means(self.grids.finest(), &mut self.rhs);
        let span = self.span();
        self.direction.iter_mut().for_each(|half| half[span.clone()].fill(0.0));
        self.advance(0.0, 0.0)
    }

    /// Replaces the right-hand side by the residual of the pressure. Returns its size.
    pub fn residual(&mut self) -> Residual {
        let (board, own) = (self.board(), self.grids.finest().own());
        board.clear_ghosts(&mut self.other, own);
        self.grids.finest().apply(&mut self.phi, &mut self.other, &mut self.partials);
        board.clear_ghosts(&mut self.phi, own);
        self.advance(0.0, 1.0)
    }

    /// Starts from the last pressure, unless its residual is larger than that of zero.
    fn start(&mut self) -> Solve {
        let rhs = self.prepare();
        let residual = self.residual();
        if residual.norm.is_finite() && residual.norm <= rhs.norm {
            return Solve { iterations: 0, rhs, residual };
        }
        // Undo the subtraction of `residual`.
        self.advance(0.0, -1.0);
        self.clear_pressure();
        Solve { iterations: 0, rhs, residual: rhs }
    }

    /// Starts from zero pressure.
    pub fn clear_pressure(&mut self) {
        let span = self.span();
        self.phi.iter_mut().for_each(|half| half[span.clone()].fill(0.0));
    }

    /// Positions of the planes of this rank, ghosts included.
    fn span(&self) -> Range<usize> {
        self.board().span(self.grids.finest().own())
    }

    /// Zeros cells without an open face: they are no unknowns, and their divergence stays.
    fn clear_unknowns(&mut self) {
        let level = self.grids.finest();
        for color in [0, 1] {
            level.mask(color, &mut self.rhs[color]);
            level.mask(color, &mut self.phi[color]);
        }
    }

    /// Computes z = M⁻¹ r into `other`. Returns r·z.
    fn precondition(&mut self, halt: &Halt) -> f64 {
        self.grids.cycle(&mut self.rhs, &mut self.other, halt);
        if halt.is_raised() {
            return 0.0;
        }
        let (board, own) = (self.board(), self.grids.finest().own());
        if self.grids.finest().is_periodic_at_all() {
            board.clear_ghosts(&mut self.other, own);
        }
        let Self { rhs, other, partials, grids, .. } = self;
        let [low, high] = own;
        partials[low..high].par_iter_mut().enumerate().for_each(|(k, partial)| {
            let k = low + k;
            *partial = 0.0;
            for color in [0, 1] {
                dot_plane(board, plane(board, k, &rhs[color]), plane(board, k, &other[color]), partial);
            }
        });
        grids.finest().ranks().gather(partials, 1);
        partials.iter().sum()
    }

    /// Takes one step along the new direction. Returns None when rounding stops the descent.
    fn descend(&mut self, rz: f64, last: f64) -> Option<Residual> {
        let beta = (rz / last) as f32;
        let (board, own, span) = (self.board(), self.grids.finest().own(), self.span());
        let Self { direction, other, .. } = self;
        for (p, z) in direction.iter_mut().zip(&*other) {
            let planes =
                p[span.clone()].par_chunks_mut(board.plane).zip(z[span.clone()].par_chunks(board.plane));
            planes.for_each(|(p, z)| follow_plane(beta, z, p));
        }
        let pap = self.grids.finest().apply(&mut self.direction, &mut self.other, &mut self.partials);
        let alpha = (rz / pap) as f32;
        if !(pap > 0.0 && rz > 0.0 && alpha.is_finite()) {
            return None;
        }
        if self.grids.finest().is_periodic_at_all() {
            board.clear_ghosts(&mut self.direction, own);
        }
        Some(self.advance(alpha, alpha))
    }

    /// φ += α p, r −= α' A p. Returns the size of r.
    fn advance(&mut self, alpha: f32, residual: f32) -> Residual {
        let Self { phi, rhs, direction, other, residuals, grids, .. } = self;
        let (board, [low, high]) = (grids.finest().board, grids.finest().own());
        let inside = board.inside([low, high]);
        residuals.fill([0.0; 2]);
        for color in [0, 1] {
            let planes = phi[color][inside.clone()]
                .par_chunks_mut(board.plane)
                .zip(rhs[color][inside.clone()].par_chunks_mut(board.plane))
                .zip(residuals[low..high].par_iter_mut());
            planes.enumerate().for_each(|(k, ((phi, rhs), sum))| {
                let k = low + k;
                let (p, ap) = (plane(board, k, &direction[color]), plane(board, k, &other[color]));
                advance_plane([alpha, residual], p, ap, phi, rhs, sum);
            });
        }
        grids.finest().ranks().gather(residuals, 1);
        total(residuals)
    }
}

fn total(residuals: &[[f64; 2]]) -> Residual {
    let [max, squares] = residuals.iter().fold([0.0f64; 2], |a, b| [a[0].max(b[0]), a[1] + b[1]]);
    Residual { max: max as f32, norm: squares.sqrt() }
}

/// Plane k of one colour, with the ghosts beside it.
fn plane(board: Board, k: usize, half: &[f32]) -> &[f32] {
    &half[(k + 1) * board.plane..][..board.plane]
}

each_level! { fn dot_plane(board: Board, a: &[f32], b: &[f32], sum: &mut f64) = dot_plane_kernel; }

#[inline(always)]
fn dot_plane_kernel<S: Simd>(s: S, board: Board, a: &[f32], b: &[f32], sum: &mut f64) {
    for (a, b) in a.chunks_exact(board.pitch).zip(b.chunks_exact(board.pitch)) {
        *sum += f64::from(dot_row(s, a, b));
    }
}

each_level! { fn follow_plane(beta: f32, z: &[f32], p: &mut [f32]) = follow_plane_kernel; }

/// p = z + β p
#[inline(always)]
fn follow_plane_kernel<S: Simd>(s: S, beta: f32, z: &[f32], p: &mut [f32]) {
    for (p, z) in p.iter_mut().zip(z) {
        *p = s.fma(beta, *p, *z);
    }
}

each_level! {
    fn advance_plane(
        step: [f32; 2], p: &[f32], ap: &[f32], phi: &mut [f32], rhs: &mut [f32], sum: &mut [f64; 2],
    ) = advance_plane_kernel;
}

/// Values whose squares are summed in single precision.
const RUN: usize = 256;

#[inline(always)]
fn advance_plane_kernel<S: Simd>(
    s: S,
    [alpha, residual]: [f32; 2],
    p: &[f32],
    ap: &[f32],
    phi: &mut [f32],
    rhs: &mut [f32],
    sum: &mut [f64; 2],
) {
    let runs = phi.chunks_mut(RUN).zip(rhs.chunks_mut(RUN)).zip(p.chunks(RUN).zip(ap.chunks(RUN)));
    for ((phi, rhs), (p, ap)) in runs {
        for (phi, p) in phi.iter_mut().zip(p) {
            *phi = s.fma(alpha, *p, *phi);
        }
        for (r, ap) in rhs.iter_mut().zip(ap) {
            *r = s.fma(-residual, *ap, *r);
        }
        let (max, squares) = size_of_run(s, rhs);
        sum[0] = sum[0].max(f64::from(max));
        sum[1] += f64::from(squares);
    }
}

/// Largest magnitude and sum of squares.
#[inline(always)]
fn size_of_run<S: Simd>(s: S, values: &[f32]) -> (f32, f32) {
    const L: usize = 16;
    let (chunks, rest) = values.as_chunks::<L>();
    let (mut max, mut squares) = ([0.0f32; L], [0.0f32; L]);
    let mut take = |l: usize, x: f32| {
        max[l] = max[l].max(x.abs());
        squares[l] = s.fma(x, x, squares[l]);
    };
    for chunk in chunks {
        for l in 0..L {
            take(l, chunk[l]);
        }
    }
    rest.iter().enumerate().for_each(|(l, &x)| take(l, x));
    (max.into_iter().fold(0.0, f32::max), fold(squares))
}
