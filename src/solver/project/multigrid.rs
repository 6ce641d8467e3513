//! Geometric multigrid: one V-cycle as the preconditioner of conjugate gradients (McAdams, Sifakis & Teran,
//! "A parallel multigrid Poisson solver for fluids simulation on large grids", 2010).
//!
//! Each grid takes two red-black Gauss–Seidel sweeps down (red, black) and two up (black, red), so the cycle
//! is a symmetric operator. Transfer between grids is piecewise constant, R = Pᵀ: weights near solids then
//! never have to be guessed. Coarse weights, half of those of R A P, make up for its lower accuracy.
//!
//! Dropped: trilinear transfer not renormalised at walls and solids took 17–37 iterations where this one
//! takes 5.

use super::boundary::AxisBoundary;
use super::level::Level;
use super::red_black::Halves;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::ranks::Ranks;

/// Red-black sweeps before and after the coarse correction. 1: nearly twice the iterations, 1.6× slower in
/// all.
const SWEEPS: usize = 2;

/// Grids from the finest to one of a single cell.
pub struct Multigrid {
    levels: Vec<Level>,
    /// Right-hand side and solution of all grids but the finest.
    coarse: Vec<[Halves; 2]>,
}

impl Multigrid {
    /// Makes the grids for a box of `n` cells without solids, for a pool of `threads` on each of the `ranks`.
    pub fn new(n: [usize; 3], beyond: [AxisBoundary; 3], threads: usize, ranks: &Ranks) -> Self {
        let mut levels = vec![Level::finest(n, beyond, threads, ranks)];
        while let Some(last) = levels.last().filter(|level| level.board.n != [1; 3]) {
            let coarser = last.coarser();
            levels.push(coarser);
        }
        let coarse = levels[1..].iter().map(|level| [level.board.field(), level.board.field()]).collect();
        let mut grids = Self { levels, coarse };
        grids.coarsen();
        grids
    }

    /// The finest grid.
    pub fn finest(&self) -> &Level {
        &self.levels[0]
    }

    /// Opens all weights of the finest grid, lets `change` set some, and updates the coarser grids.
    pub fn rebuild(&mut self, change: impl FnOnce(&mut Level)) {
        self.levels[0].open();
        change(&mut self.levels[0]);
        self.levels[0].share_weights();
        self.levels[0].finish();
        self.coarsen();
    }

    fn coarsen(&mut self) {
        for at in 1..self.levels.len() {
            let (fine, coarse) = self.levels.split_at_mut(at);
            fine[at - 1].find_isolated_cells(&coarse[0]);
            coarse[0].coarsen(&fine[at - 1]);
            coarse[0].finish();
        }
        self.levels.iter_mut().for_each(Level::forget_changes);
    }

    /// Computes `phi` ≈ A⁻¹ `rhs` by one V-cycle from zero. The ghosts of `rhs` must be 0; planes beside the slab are brought.
    pub fn cycle(&mut self, rhs: &mut Halves, phi: &mut Halves, halt: &Halt) {
        descend(&self.levels, &mut self.coarse, rhs, phi, halt);
    }
}

fn descend(levels: &[Level], coarse: &mut [[Halves; 2]], rhs: &mut Halves, phi: &mut Halves, halt: &Halt) {
    if halt.is_raised() {
        return;
    }
    let level = &levels[0];
    level.share_right_hand_side(rhs);
    let rhs = &*rhs;
    relax_from_zero(level, rhs, phi, halt);
    if halt.is_raised() {
        return;
    }
    if let Some(([coarse_rhs, coarse_phi], deeper)) = coarse.split_first_mut() {
        level.restrict_red(rhs, phi, &levels[1], coarse_rhs);
        descend(&levels[1..], deeper, coarse_rhs, coarse_phi, halt);
        level.prolong_to_red(&levels[1], coarse_phi, phi);
    }
    for _ in 0..SWEEPS {
        for color in [1, 0] {
            if halt.is_raised() {
                return;
            }
            level.relax_periodic_seams(color, true, rhs, phi);
            level.relax(color, rhs, phi);
        }
    }
}

/// Sweeps from φ = 0.
fn relax_from_zero(level: &Level, rhs: &Halves, phi: &mut Halves, halt: &Halt) {
    if level.meets_itself() {
        phi[1][level.board.span(level.own())].fill(0.0);
    }
    level.relax_red_from_zero(rhs, phi);
    level.relax_periodic_seams(0, false, rhs, phi);
    for half in (1..2 * SWEEPS).take_while(|_| !halt.is_raised()) {
        let color = half % 2;
        level.relax(color, rhs, phi);
        level.relax_periodic_seams(color, false, rhs, phi);
    }
}
