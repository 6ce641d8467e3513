//! Computes the extent of the smoke: the centroid and the top of each colour.

use std::f64::consts::TAU;

use rayon::prelude::*;

use crate::solver::{BoundaryCondition, Solver};

/// Least density of a cell that counts as smoke, as a share of the greatest density.
const EDGE: f32 = 0.01;

/// Length of the mean of exp(2πi x/L) below which smoke counts as even along a periodic axis, since its angle
/// would be rounding alone.
const EVEN: f64 = 1e-6;

/// Extent of one colour of smoke. All numbers are NaN if there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean position, weighted by density \[m\]. Along a periodic axis of length L it is the circular mean: the position at the angle
    /// of Σ ρ exp(2πi x/L), which does not depend on where the box begins; NaN where that sum is 0, as of smoke that is even along it.
    pub centroid: [f64; 3],
    /// Upper edge (greatest y) of the highest cells with at least 1 % of the greatest density \[m\].
    pub top: f64,
}

/// Computes the spread of red, green and blue.
pub fn spread(solver: &Solver) -> [Spread; 3] {
    let (layout, h) = (solver.smoke_layout(), f64::from(solver.config().smoke_h()));
    let corner = solver.config().corner().map(f64::from);
    let [nx, ny, nz] = layout.dims.array();
    let row = |j: usize, k: usize| &solver.scalars()[layout.start(j, k)..][..nx];
    let [from, to] = layout.cell_planes();
    // A centroid needs the sums of weights of each cell along each axis: of the position, or of cosine and
    // sine of its angle.
    let periodic = solver.config().sides.map(|[low, _]| low == BoundaryCondition::Periodic);
    let weights = [0, 1, 2].map(|axis| {
        let n = layout.dims.array()[axis];
        let at = |i: usize| i as f64 + 0.5;
        let angle = |i: usize| TAU * at(i) / n as f64;
        let weigh = |i| if periodic[axis] { [angle(i).cos(), angle(i).sin()] } else { [at(i), 0.0] };
        (0..n).map(weigh).collect::<Vec<[f64; 2]>>()
    });
    // Each plane and colour has the greatest density, and the sums of density and of density times the weights.
    let mut planes = vec![[[0.0f64; 8]; 3]; nz];
    planes[from..to].par_iter_mut().zip(from..to).for_each(|(sums, k)| {
        for j in 0..ny {
            for (i, cell) in row(j, k).iter().enumerate() {
                let weights = [weights[0][i], weights[1][j], weights[2][k]];
                for (c, [most, mass, sum @ ..]) in sums.iter_mut().enumerate() {
                    let density = f64::from(cell[c].max(0.0));
                    *most = most.max(f64::from(cell[c]));
                    *mass += density;
                    sum.iter_mut()
                        .zip(weights.as_flattened())
                        .for_each(|(sum, weight)| *sum += density * weight);
                }
            }
        }
    });
    solver.smoke_ranks().gather(&mut planes, 1);
    [0, 1, 2].map(|c| {
        let most = planes.iter().map(|plane| plane[c][0]).fold(0.0, f64::max) as f32;
        if most <= 0.0 {
            return Spread { centroid: [f64::NAN; 3], top: f64::NAN };
        }
        let sum = |n: usize| planes.iter().map(|plane| plane[c][1 + n]).sum::<f64>();
        let holds = |j: &usize| (from..to).any(|k| row(*j, k).iter().any(|cell| cell[c] >= EDGE * most));
        let top = (0..ny).rev().find(holds).map_or(0, |j| j + 1);
        let top = solver.ranks().most(top as f32);
        let centroid = [0, 1, 2].map(|axis| {
            let [x, y] = [0, 1].map(|part| sum(1 + 2 * axis + part) / sum(0));
            let cells = match periodic[axis] {
                false => x,
                true if x.hypot(y) < EVEN => f64::NAN,
                true => y.atan2(x).rem_euclid(TAU) / TAU * layout.dims.array()[axis] as f64,
            };
            corner[axis] + h * cells
        });
        Spread { centroid, top: corner[1] + h * f64::from(top) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::solver::{Config, Params};

    #[test]
    fn a_block_of_smoke_is_found_where_it_is() {
        let config = Config::new(Dims::new([10, 20, 6]).unwrap(), 0.1);
        let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
        let inside = |[x, y, z]: [f32; 3]| (0.2..0.6).contains(&x) && (1.0..1.4).contains(&y) && z < 0.3;
        solver.fill(|_, _| 0.0, |p| [if inside(p) { 0.5 } else { 0.004 * p[1] }, 0.0, 0.0, 0.0]);
        let [red, green, _] = spread(&solver);
        assert!(green.top.is_nan() && green.centroid[0].is_nan());
        assert!((red.top - 2.0).abs() < 1e-6, "0.0078 at the top is more than 1 % of 0.5: {red:?}");
        solver.fill(|_, _| 0.0, |p| [if inside(p) { 0.5 } else { 0.0 }, 0.0, 0.0, 0.0]);
        let [red, ..] = spread(&solver);
        assert!((red.top - 1.4).abs() < 1e-6, "{red:?}");
        for (at, want) in red.centroid.into_iter().zip([0.4, 1.2, 0.15]) {
            assert!((at - want).abs() < 1e-6, "{red:?}");
        }
    }

    /// The mean is circular. The plain mean of a ball around x = 0.05 was once 0.3.
    #[test]
    fn smoke_across_a_periodic_side_has_its_centroid_there() {
        let mut config = Config::new(Dims::new([16, 8, 12]).unwrap(), 0.05);
        (config.sides[0], config.sides[2]) =
            ([BoundaryCondition::Periodic; 2], [BoundaryCondition::Periodic; 2]);
        let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
        let around = |x: f32, middle: f32, length: f32| {
            let apart = x - middle;
            (apart - length * (apart / length).round()).abs() < 0.12
        };
        let red = |[x, y, z]: [f32; 3]| around(x, 0.05, 0.8) && y < 0.1 && around(z, 0.6, 0.6);
        solver.fill(|_, _| 0.0, |p| [f32::from(u8::from(red(p))), f32::from(u8::from(p[1] < 0.2)), 0.0, 0.0]);
        let [red, green, _] = spread(&solver);
        assert!((red.centroid[0] - 0.05).abs() < 1e-6 && (red.centroid[1] - 0.05).abs() < 1e-6, "{red:?}");
        let from_side = red.centroid[2].min(0.6 - red.centroid[2]);
        assert!(from_side < 1e-6, "{red:?}");
        assert!(green.centroid[0].is_nan() && (green.centroid[1] - 0.1).abs() < 1e-6, "{green:?}");
    }
}
