//! Extent of the smoke: the centroid and the top of each colour.

use rayon::prelude::*;

use crate::solver::Solver;

/// A cell counts as smoke from this share of the greatest density on.
const EDGE: f32 = 0.01;

/// Extent of one colour of smoke. All numbers are NaN if there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean position, weighted by density \[m\].
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
    // For each plane and colour the greatest density, and sums of x, y, z and 1 weighted by density.
    let mut planes = vec![[[0.0f64; 5]; 3]; nz];
    planes[from..to].par_iter_mut().zip(from..to).for_each(|(sums, k)| {
        for j in 0..ny {
            for (i, cell) in row(j, k).iter().enumerate() {
                for (c, [most, sum @ ..]) in sums.iter_mut().enumerate() {
                    let density = f64::from(cell[c].max(0.0));
                    *most = most.max(f64::from(cell[c]));
                    let weights = [i as f64 + 0.5, j as f64 + 0.5, k as f64 + 0.5, 1.0];
                    sum.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += density * weight);
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
        let centroid = [0, 1, 2].map(|n| corner[n] + h * sum(n) / sum(3));
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
}
