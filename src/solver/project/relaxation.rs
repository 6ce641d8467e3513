//! Gauss–Seidel relaxation alone, as in Stam, "Real-Time Fluid Dynamics for Games" (2003), with 20 sweeps. It
//! is cheap, but long waves of divergence hardly fall; kept for comparison. The red-black order gives the
//! same bits for any number of threads.

use super::pcg::{Solve, System};
use crate::solver::storage::halt::Halt;

impl System {
    /// Runs `sweeps` over both colours from zero pressure.
    pub fn relax(&mut self, sweeps: u32, halt: &Halt) -> Solve {
        let rhs = self.prepare();
        self.clear_pressure();
        for _ in (0..sweeps).take_while(|_| !halt.is_raised()) {
            for color in [0, 1] {
                self.grids.finest().relax(color, &self.rhs, &mut self.phi);
            }
        }
        Solve { iterations: sweeps, rhs, residual: self.residual() }
    }
}
