//! The pressure over the density of air, p/ρ \[m²/s²\], as a field at cell centres.
//!
//! A projection solves for φ = (p/ρ) Δt/h and subtracts its differences from the velocity. Several of them may act in one step: the
//! reflection applies the first φ twice, the trapezoidal rule half of the pressure of the step before. Each projection therefore adds
//! its share to the field,
//!
//! ```text
//! p ← keep · p + add · φ
//! ```
//!
//! plane by plane as it computes φ. One layer of ghosts makes differences at the sides the same code as inside: equal to the
//! cell before a wall, opposite before an open side, so that p = 0 on it.

use super::boundary::{AxisBoundary, PressureBoundary};
use super::cuts::cell_of;
use crate::grid::{GHOST, Layout};
use crate::simd::{Simd, each_level};
use crate::solver::storage::ranks::Ranks;

/// The pressure field that a projection updates with its φ: p ← `keep` · p + `add` · φ.
pub struct Blend<'a> {
    /// p/ρ \[m²/s²\] in the layout of all fields.
    pub field: &'a mut [f32],
    /// Factor of the present field.
    pub keep: f32,
    /// h/Δt \[m/s\] times the share of φ.
    pub add: f32,
}

/// Adds one plane of `potential` φ, rows `pitch` apart, to the same plane of the pressure, which begins at `plane[0]`.
pub fn blend_plane(
    layout: Layout,
    potential: &[f32],
    pitch: usize,
    [keep, add]: [f32; 2],
    plane: &mut [f32],
) {
    for (j, row) in potential.chunks_exact(pitch).take(layout.dims.ny).enumerate() {
        let at = (j + GHOST) * layout.row + GHOST;
        blend_row(keep, add, &row[..layout.dims.nx], &mut plane[at..][..layout.dims.nx]);
    }
}

each_level! { fn blend_row(keep: f32, add: f32, potential: &[f32], pressure: &mut [f32]) = blend_row_kernel; }

#[inline(always)]
fn blend_row_kernel<S: Simd>(_: S, keep: f32, add: f32, potential: &[f32], pressure: &mut [f32]) {
    for (pressure, potential) in pressure.iter_mut().zip(potential) {
        *pressure = keep * *pressure + add * potential;
    }
}

/// Fills the layer of ghosts around the box, edges and corners included.
pub fn fill_ghosts(layout: Layout, ranks: &Ranks, ends: [AxisBoundary; 3], field: &mut [f32]) {
    let (n, strides) = (layout.dims.array(), layout.strides());
    for axis in 0..3 {
        let [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
        if axis == 2 && ends[2][0] == PressureBoundary::Periodic {
            ranks.exchange(layout, [field], [1; 2]);
        }
        // Ghosts of the axes before this one lie in the layer too.
        let own = layout.planes().map(|k| (k + GHOST as isize) as usize);
        let range = |other: usize| {
            let ghosts = usize::from(other < axis);
            let [from, to] = [GHOST - ghosts, GHOST + n[other] + ghosts];
            if other == 2 { from.max(own[0])..to.min(own[1]) } else { from..to }
        };
        for (end, [ghost, edge, twin]) in
            [[GHOST - 1, GHOST, GHOST + n[axis] - 1], [GHOST + n[axis], GHOST + n[axis] - 1, GHOST]]
                .into_iter()
                .enumerate()
                .filter(|(_, [ghost, ..])| axis < 2 || (own[0]..own[1]).contains(ghost))
        {
            let (from, sign) = match ends[axis][end] {
                PressureBoundary::Neumann => (edge, 1.0),
                PressureBoundary::Dirichlet => (edge, -1.0),
                PressureBoundary::Periodic => (twin, 1.0),
            };
            for q in range(c) {
                for p in range(b) {
                    let line = p * strides[b] + q * strides[c];
                    field[ghost * strides[axis] + line] = sign * field[from * strides[axis] + line];
                }
            }
        }
    }
}

/// The drop of `field` across a face: the cell below minus the cell above. Outside the box the field is 0. The last face of a periodic
/// axis is the first one again and returns 0.
pub fn drop_across(
    layout: Layout,
    ends: [AxisBoundary; 3],
    field: &[f32],
    component: usize,
    face: u32,
) -> f32 {
    let above = cell_of(layout, face)[component];
    let n = layout.dims.array()[component];
    let is_periodic = ends[component][0] == PressureBoundary::Periodic;
    if is_periodic && above == n {
        return 0.0;
    }
    let at = face as usize;
    let below = if above > 0 || is_periodic { field[at - layout.strides()[component]] } else { 0.0 };
    let above = if above < n { field[at] } else { 0.0 };
    below - above
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::solver::{BoundaryCondition, Config, Integrator, Params, Shape, Solid, Solver};

    const ALL: [Integrator; 3] = [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid];

    #[test]
    fn ghosts_follow_the_boundary_conditions() {
        let layout = Layout::new(Dims::new([3, 2, 2]).unwrap());
        let mut field: Vec<f32> = (0..layout.size()).map(|n| n as f32).collect();
        let ends = [
            [PressureBoundary::Neumann, PressureBoundary::Dirichlet],
            [PressureBoundary::Periodic; 2],
            [PressureBoundary::Neumann; 2],
        ];
        fill_ghosts(layout, &Ranks::default(), ends, &mut field);
        let at = |i, j, k| field[layout.at(i, j, k)];
        assert_eq!(at(-1, 1, 1), at(0, 1, 1), "before a wall");
        assert_eq!(at(3, 1, 1), -at(2, 1, 1), "before an open side");
        assert_eq!((at(1, -1, 0), at(1, 2, 0)), (at(1, 1, 0), at(1, 0, 0)), "around a periodic axis");
        assert_eq!(at(3, 2, -1), -at(2, 0, 0), "in a corner");
    }

    /// Air at rest under a uniform lift a: p/ρ = a y and a constant, around a ball too.
    #[test]
    fn the_pressure_of_air_at_rest_is_its_weight() {
        for integrator in ALL {
            for solids in [vec![], vec![Solid::new(Shape::Sphere { radius: 0.25 }, [0.6, 0.7, 0.5])]] {
                let config = Config {
                    integrator,
                    tolerance: 1e-6,
                    threads: 2,
                    ..Config::new(Dims::new([12, 14, 10]).unwrap(), 0.1)
                };
                let params =
                    Params { heat_buoyancy: 0.02, cooling: 0.0, vorticity: 0.0, ..Params::default() };
                let mut solver = Solver::new(config, params, vec![]).unwrap();
                solver.keep_pressure();
                solver.set_solids(solids).unwrap();
                solver.fill(|_, _| 0.0, |_| [0.0, 0.0, 0.0, 50.0]);
                for dt in [0.05, 0.03].repeat(4) {
                    solver.step(dt).unwrap();
                }
                let (layout, pressure) = (solver.layout(), solver.pressure().unwrap());
                for [i, k] in [[1, 1], [10, 8], [3, 5]] {
                    let rise = pressure[layout.at(i, 13, k)] - pressure[layout.at(i, 0, k)];
                    assert!((rise / 1.3 - 1.0).abs() < 1e-3, "{integrator:?}: {rise} m²/s² over 1.3 m");
                }
            }
        }
    }

    /// Taylor–Green vortices: p/ρ = ¼ (cos 2x + cos 2y).
    #[test]
    fn the_pressure_of_vortices_is_the_exact_one() {
        let n = 48;
        let h = std::f32::consts::TAU / n as f32;
        for integrator in ALL {
            let config = Config {
                integrator,
                sides: [[BoundaryCondition::Periodic; 2]; 3],
                threads: 2,
                ..Config::new(Dims::new([n, n, 1]).unwrap(), h)
            };
            let params = Params { vorticity: 0.0, ..Params::default() };
            let mut solver = Solver::new(config, params, vec![]).unwrap();
            solver.keep_pressure();
            let vortices = |c: usize, [x, y, _]: [f32; 3]| match c {
                0 => x.sin() * y.cos(),
                1 => -x.cos() * y.sin(),
                _ => 0.0,
            };
            solver.fill(vortices, |_| [0.0; 4]);
            for _ in 0..6 {
                solver.step(0.05).unwrap();
            }
            let (layout, pressure) = (solver.layout(), solver.pressure().unwrap());
            let worst = (0..n * n).map(|at| {
                let [i, j] = [at % n, at / n];
                let [x, y] = [i, j].map(|i| (i as f32 + 0.5) * h);
                let exact = 0.25 * ((2.0 * x).cos() + (2.0 * y).cos());
                (pressure[layout.at(i as isize, j as isize, 0)] - exact).abs()
            });
            let worst = worst.fold(0.0, f32::max);
            assert!(worst < 0.03 * 0.5, "{integrator:?}: {worst} of 0.5 m²/s²");
        }
    }
}
