//! The velocity of finer cells from that on the faces of cells, as files hold it.

use half::f16;

use super::write_finer;
use crate::grid::{GHOST, Layout};
use crate::solver::Config;
use crate::solver::sides::GhostRules;
use crate::solver::storage::cells::Cells;
use crate::solver::storage::row_passes;

/// The velocity of a box whose smoke has finer cells, as a running solver gives it to pictures: linear between the centres of cells.
pub(crate) struct StoredMotion {
    coarse: Layout,
    walls: GhostRules,
    finer: usize,
    /// At the centres of cells.
    velocity: Cells,
}

impl StoredMotion {
    pub fn new(config: &Config) -> Self {
        let coarse = Layout::new(config.dims);
        let walls = GhostRules::new(coarse, config.sides, config.held);
        Self { coarse, walls, finer: config.detail, velocity: Cells::new(coarse.size()) }
    }

    /// Sets component `axis` from its values on faces, dense, x fastest, as many as [`Field::shape`](crate::field::Field::shape) says.
    pub fn set(&mut self, axis: usize, faces: &[f32]) {
        let dims = self.coarse.dims;
        let shape: [usize; 3] = std::array::from_fn(|a| dims.array()[a] + usize::from(a == axis));
        let ahead = shape[..axis].iter().product::<usize>();
        let inside = [[0, dims.ny as isize], [0, dims.nz as isize]];
        row_passes::rows(self.coarse, &mut self.velocity, inside, |j, k, row| {
            let first = shape[0] * (j as usize + shape[1] * k as usize);
            for (i, cell) in row[GHOST..].iter_mut().take(dims.nx).enumerate() {
                cell[axis] = 0.5 * (faces[first + i] + faces[first + i + ahead]);
            }
        });
    }

    /// Writes the velocity \[m/s\] of the finer cells in the planes from..to, dense.
    pub fn write(mut self, planes: [usize; 2], out: &mut [[f16; 4]]) {
        self.walls.extend(&mut self.velocity);
        write_finer(self.coarse, self.finer, &self.velocity, planes, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::solver::{BoundaryCondition, Params, Solver};

    /// Pictures of a stored run have the velocity that those of the run itself have.
    #[test]
    fn stored_faces_give_the_velocity_of_the_solver() {
        for (detail, periodic) in [(2, false), (3, true)] {
            let dims = Dims { nx: 6, ny: 5, nz: 4 };
            let mut config = Config { detail, ..Config::new(dims, 0.1) };
            if periodic {
                config.sides[2] = [BoundaryCondition::Periodic; 2];
            }
            let mut solver = Solver::new(config.clone(), Params::default(), vec![]).unwrap();
            solver.fill(|c, [x, y, z]| (9.0 * x + 5.0 * y * z + c as f32).sin(), |_| [0.0; 4]);
            let fine = dims.array().map(|n| n * detail);
            let mut running = vec![[f16::ZERO; 4]; fine[0] * fine[1] * 3];
            let mut stored = running.clone();
            solver.write_motion_planes([2, 5], &mut running);
            let mut motion = StoredMotion::new(&config);
            for axis in 0..3 {
                let shape: [usize; 3] = std::array::from_fn(|a| dims.array()[a] + usize::from(a == axis));
                let (layout, faces) = (Layout::new(dims), &solver.velocity()[axis]);
                let dense: Vec<f32> = (0..shape.iter().product())
                    .map(|n| [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])])
                    .map(|[i, j, k]| faces[layout.at(i as isize, j as isize, k as isize)])
                    .collect();
                motion.set(axis, &dense);
            }
            motion.write([2, 5], &mut stored);
            assert!(running.iter().any(|cell| cell[1] != running[0][1]));
            assert_eq!(running, stored, "detail {detail}");
        }
    }
}
