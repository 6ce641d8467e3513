//! Helpers of the physics tests.
#![allow(dead_code)]

use updraft::grid::Dims;
use updraft::solver::{
    Advection, BoundaryCondition, BoundaryConditions, Config, Params, Smoke, Solver, TimeControl,
};

/// All schemes.
pub const SCHEMES: [Advection; 6] = Advection::ALL;

/// Makes a box of `cells` with edge `h`, on two threads.
pub fn config(cells: [usize; 3], h: f32, sides: BoundaryConditions, advection: Advection) -> Config {
    let time = TimeControl { cfl: 1e6, max_substeps: 1 };
    Config { sides, advection, time, threads: 2, ..Config::new(Dims::new(cells).unwrap(), h) }
}

/// Returns parameters without forces and decay.
pub fn inert() -> Params {
    let smoke = Smoke { buoyancy: 0.0, dissipation: 0.0, diffusion: 0.0 };
    Params { heat_buoyancy: 0.0, cooling: 0.0, vorticity: 0.0, smoke: [smoke; 3], ..Params::default() }
}

/// Returns six equal sides.
pub fn all(side: BoundaryCondition) -> BoundaryConditions {
    [[side; 2]; 3]
}

/// Takes `count` steps of `dt`.
pub fn advance(solver: &mut Solver, dt: f32, count: usize) {
    for _ in 0..count {
        solver.step(dt).unwrap();
    }
}

/// Returns velocity and scalars as bits.
pub fn bits(solver: &Solver) -> Vec<u32> {
    let fields = solver.velocity().iter().flatten().chain(solver.scalars().as_flattened());
    fields.map(|x| x.to_bits()).collect()
}

/// Returns the four scalars in cell (i, j, k).
pub fn cell(solver: &Solver, [i, j, k]: [usize; 3]) -> [f32; 4] {
    solver.scalars()[solver.layout().at(i as isize, j as isize, k as isize)]
}

/// Returns a pseudo-random number in −1..1, the same for the same arguments.
pub fn noise(seed: usize, at: [f32; 3]) -> f32 {
    let bits = at.map(f32::to_bits);
    let mut x =
        (seed as u32).wrapping_mul(0x9E37_79B9) ^ bits[0] ^ bits[1].rotate_left(11) ^ bits[2].rotate_left(22);
    for _ in 0..3 {
        x ^= x >> 16;
        x = x.wrapping_mul(0x85EB_CA6B);
        x ^= x >> 13;
    }
    (x as f32 / u32::MAX as f32) * 2.0 - 1.0
}
