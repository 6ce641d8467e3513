//! The smoke in the cubes of the light volume: sums over the cells of a snapshot, by all ranks that share it.

use half::f16;
use rayon::prelude::*;

use crate::grid::Dims;
use crate::render::medium::Medium;
use crate::render::preshaded::Cells;
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

    /// Radiance of opaque smoke in each cube, the mean over its cells weighted with their density.
    pub fn glow(
        &self,
        medium: &Medium,
        cells: &Cells,
        out: &mut [Vec<f32>; 3],
        gather: impl Fn(&mut [[f32; 3]], usize),
    ) {
        let share = 1.0 / (self.edge * self.edge * self.edge) as f32;
        let Dims { nx, ny, .. } = self.dims;
        let mut planes = vec![[0.0_f32; 3]; nx * ny * cells.planes_of_box()];
        planes.par_chunks_mut(nx * ny).enumerate().for_each(|(k, sums)| {
            cells.rows(k, |start, j, row| {
                for (i, cell) in row.iter().enumerate().filter(|(_, cell)| cell[3] > f16::ZERO) {
                    let [r, g, b, heat] = cell.map(f32::from);
                    let density = r.max(0.0) + g.max(0.0) + b.max(0.0);
                    let sent = medium.glowing(heat);
                    let sum = &mut sums[j / self.edge * nx + (start + i) / self.edge];
                    (0..3).for_each(|c| sum[c] += share * density * sent[c]);
                }
            });
        });
        gather(&mut planes, nx * ny);
        let mut sums = vec![[0.0_f32; 3]; self.dims.cells()];
        add_planes(self.edge, nx * ny, &planes, &mut sums);
        for (n, sum) in sums.iter().enumerate() {
            let all: f32 = self.smoke[n].iter().sum();
            (0..3).for_each(|c| out[c][n] = sum[c] / all.max(1e-20));
        }
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
