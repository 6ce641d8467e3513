//! The smoke in the cubes of the light volume: sums over the cells of a snapshot, by all ranks that share it.

use rayon::prelude::*;

use crate::grid::Dims;
use crate::snapshot::{Part, Snapshot};

/// Most cubes along an axis; with fine light.
const CUBES: usize = 32;
const FINE_CUBES: usize = 64;

/// Means of the snapshot over cubes.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    pub dims: Dims,
    /// Edge of a cube \[cells\].
    pub edge: usize,
    /// Edge of a cube \[m\].
    pub h: f32,
    pub smoke: Vec<[f32; 3]>,
}

impl Mixture {
    /// Makes room for the cubes of a snapshot.
    pub fn fit(&mut self, snapshot: &Snapshot, fine: bool) {
        let size = snapshot.dims.array();
        let most = if fine { FINE_CUBES } else { CUBES };
        self.edge = size.into_iter().max().unwrap_or(1).div_ceil(most);
        let [nx, ny, nz] = size.map(|n| n.div_ceil(self.edge));
        self.dims = Dims { nx, ny, nz };
        self.h = self.edge as f32 * snapshot.h;
        self.smoke.clear();
        self.smoke.resize(self.dims.cells(), [0.0; 3]);
    }

    /// Edge of a cell \[m\].
    pub fn cell(&self) -> f32 {
        self.h / self.edge as f32
    }

    /// Sum over all cubes.
    pub fn all(&self) -> [f32; 3] {
        self.smoke.iter().fold([0.0; 3], |all, c| std::array::from_fn(|n| all[n] + c[n]))
    }

    /// Cubes along an edge of those that surfaces read, which are never more than [`CUBES`] along an axis.
    pub fn per_surface_cube(&self) -> usize {
        self.dims.array().into_iter().max().unwrap_or(1).div_ceil(CUBES)
    }

    /// Adds the sums over the cells of each plane, of all ranks, to the smoke of the cubes, plane after plane.
    pub fn add_planes(&mut self, part: &Part, sums: &mut [[f32; 3]]) {
        let in_plane = self.dims.nx * self.dims.ny;
        part.gather(sums, |k| k * in_plane);
        add_planes(self.edge, in_plane, sums, &mut self.smoke);
    }
}

/// Adds sums over planes of cells to those over cubes of some edge, in the order of planes, however they are shared.
fn add_planes(edge: usize, in_plane: usize, planes: &[[f32; 3]], cubes: &mut [[f32; 3]]) {
    let slabs = cubes.par_chunks_mut(in_plane).zip(planes.par_chunks(in_plane * edge));
    slabs.for_each(|(cubes, planes)| {
        for plane in planes.chunks_exact(in_plane) {
            for (cube, sum) in cubes.iter_mut().zip(plane) {
                (0..3).for_each(|c| cube[c] += sum[c]);
            }
        }
    });
}
