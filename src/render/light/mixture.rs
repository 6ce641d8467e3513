//! The smoke in the cubes of the light volume: sums over the cells of a snapshot, by all ranks that share it.

use rayon::prelude::*;

use crate::grid::Dims;
use crate::render::exp::exp;
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

    /// Radiance of each cube, such that as uniform smoke it sends what its cells do: dense smoke hides what glows deep within.
    pub fn glow(
        &self,
        medium: &Medium,
        cells: &Cells,
        out: &mut [Vec<f32>; 3],
        gather: impl Fn(&mut [[f32; 3]], usize),
    ) {
        let Dims { nx, ny, .. } = self.dims;
        let mut planes = vec![[0.0_f32; 3]; nx * ny * cells.planes_of_box()];
        planes.par_chunks_mut(nx * ny).enumerate().for_each_init(
            || GlowingPlane::new(self.dims, self.edge),
            |plane, (k, sums)| {
                plane.fill(medium, cells, k, self.h / self.edge as f32);
                plane.send(sums);
            },
        );
        gather(&mut planes, nx * ny);
        let mut sums = vec![[0.0_f32; 3]; self.dims.cells()];
        add_planes(self.edge, nx * ny, &planes, &mut sums);
        for (n, sum) in sums.iter().enumerate() {
            let depth = self.smoke[n].iter().sum::<f32>() * medium.extinction * self.h;
            let opaque = if depth < 1e-3 { depth } else { 1.0 - exp(-depth) };
            (0..3).for_each(|c| out[c][n] = sum[c] / opaque.max(1e-20));
        }
    }
}

/// A plane of cells that glow.
struct GlowingPlane {
    /// Cells along an edge of a cube, and cubes along x and y.
    edge: usize,
    cubes: [usize; 2],
    /// Radiance of each cell and its opacity; all 0 but in `rows`.
    cells: Vec<[f32; 4]>,
    rows: Vec<usize>,
    /// Whether each cube glows.
    glows: Vec<bool>,
}

impl GlowingPlane {
    fn new(cubes: Dims, edge: usize) -> Self {
        let cubes = [cubes.nx, cubes.ny];
        let count = cubes[0] * cubes[1];
        Self {
            edge,
            cubes,
            cells: vec![[0.0; 4]; count * edge * edge],
            rows: Vec::new(),
            glows: vec![false; count],
        }
    }

    /// Takes over the k-th plane of cells with an edge \[m\].
    fn fill(&mut self, medium: &Medium, cells: &Cells, k: usize, h: f32) {
        let (edge, width) = (self.edge, self.cubes[0] * self.edge);
        self.rows.drain(..).for_each(|j| self.cells[j * width..][..width].fill([0.0; 4]));
        self.glows.fill(false);
        cells.rows(k, |start, j, row| {
            self.rows.push(j);
            for (i, cell) in row.iter().enumerate() {
                let [r, g, b, heat] = cell.map(f32::from);
                let density = r.max(0.0) + g.max(0.0) + b.max(0.0);
                let opacity = 1.0 - exp(-density * medium.extinction * h);
                let sent = if heat > 0.0 && density > 0.0 { medium.glowing(heat) } else { [0.0; 3] };
                self.cells[j * width + start + i] = [sent[0], sent[1], sent[2], opacity];
                self.glows[j / edge * self.cubes[0] + (start + i) / edge] |= sent[0] > 0.0;
            }
        });
    }

    /// Adds to each cube the radiance that leaves it along x and y, up and down, the mean over all four sides, over the edge.
    fn send(&self, sums: &mut [[f32; 3]]) {
        let (edge, width) = (self.edge, self.cubes[0] * self.edge);
        let share = 0.25 / (edge * edge) as f32;
        for (n, sum) in sums.iter_mut().enumerate().filter(|(n, _)| self.glows[*n]) {
            let first = n / self.cubes[0] * edge * width + n % self.cubes[0] * edge;
            for line in 0..edge {
                for (start, step) in [(first + line * width, 1), (first + line, width)] {
                    let sides = [
                        self.leaving((0..edge).map(|i| start + i * step)),
                        self.leaving((0..edge).rev().map(|i| start + i * step)),
                    ];
                    (0..3).for_each(|c| sum[c] += share * (sides[0][c] + sides[1][c]));
                }
            }
        }
    }

    /// Radiance that leaves a line of cells before the first.
    fn leaving(&self, line: impl Iterator<Item = usize>) -> [f32; 3] {
        let (mut passes, mut all) = (1.0, [0.0; 3]);
        for n in line {
            let [r, g, b, opacity] = self.cells[n];
            let seen = passes * opacity;
            all = [all[0] + seen * r, all[1] + seen * g, all[2] + seen * b];
            passes -= seen;
        }
        all
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
