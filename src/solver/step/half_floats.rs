//! The fields of a solver as half floats, for snapshots.

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use crate::grid::{Dims, GHOST};
use crate::solver::Solver;
use crate::solver::storage::row_passes;

impl Solver {
    /// For each brick of 8³ cells of smoke, x fastest, whether it holds smoke or heat; `None` while that is unknown.
    pub(crate) fn occupied_bricks(&self) -> Option<Vec<u8>> {
        self.fields.bricks.occupied()
    }

    /// Red, green, blue and temperature at cell centres as half floats, dense over the cells of smoke, x fastest.
    pub fn write_smoke(&self, out: &mut Vec<[f16; 4]>) {
        let dims = self.smoke_layout().dims;
        out.resize(dims.cells(), [f16::ZERO; 4]);
        self.write_smoke_planes([0, dims.nz], out);
    }

    /// As [`write_smoke`](Self::write_smoke), of the planes from..to, which `out` has room for.
    pub(crate) fn write_smoke_planes(&self, [from, to]: [usize; 2], out: &mut [[f16; 4]]) {
        let (layout, scalars) = (self.smoke_layout(), self.scalars());
        assert_eq!(out.len(), layout.dims.nx * layout.dims.ny * (to - from), "no room for these planes");
        self.pool.install(|| {
            out.par_chunks_mut(layout.dims.nx).enumerate().for_each(|(row, out)| {
                let [j, k] = [row % layout.dims.ny, from + row / layout.dims.ny];
                // Outside of it all cells are empty.
                let span = self.fields.bricks.span(j, k);
                let cells = scalars[layout.start(j, k)..][span.clone()].as_flattened();
                out[..span.start].fill([f16::ZERO; 4]);
                out[span.end..].fill([f16::ZERO; 4]);
                out[span].as_flattened_mut().convert_from_f32_slice(cells);
            });
        });
    }

    /// u, v, w \[m/s\] and |ω| \[1/s\] at the centres of the cells of smoke as half floats, dense, x fastest; linear between the
    /// centres of the velocity's cells.
    pub fn write_velocity(&self, out: &mut Vec<[f16; 4]>) {
        let layout = self.fields.layout;
        if let Some(detail) = &self.fields.detail {
            let mut cells = vec![[0.0; 4]; layout.size()];
            self.pool.install(|| {
                let inside = [[0, layout.dims.ny as isize], [0, layout.dims.nz as isize]];
                row_passes::rows(layout, &mut cells, inside, |j, k, row| {
                    for i in 0..layout.dims.nx {
                        row[i + GHOST] = self.velocity_at(layout.at(i as isize, j, k));
                    }
                });
                out.resize(detail.layout.dims.cells(), [f16::ZERO; 4]);
                detail.write_cells((layout, &self.fields.walls), cells, [0, detail.layout.dims.nz], out);
            });
            return;
        }
        let Dims { nx, ny, .. } = layout.dims;
        out.resize(layout.dims.cells(), [f16::ZERO; 4]);
        self.pool.install(|| {
            out.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
                let at = layout.start(row % ny, row / ny);
                for (i, out) in out.iter_mut().enumerate() {
                    *out = self.velocity_at(at + i).map(f16::from_f32);
                }
            });
        });
    }

    /// As [`write_velocity`](Self::write_velocity), for the planes from..to, which `out` has room for, with 0
    /// for |ω|. They may be those of the slab of this rank and one plane beside it: steps and edits leave two
    /// planes of velocity beside the slab, which have the faces of that plane.
    pub(crate) fn write_motion_planes(&self, [from, to]: [usize; 2], out: &mut [[f16; 4]]) {
        let layout = self.fields.layout;
        let motion = |at: usize| {
            let [u, v, w] = [0, 1, 2].map(|c| self.component_at(c, at));
            [u, v, w, 0.0]
        };
        self.pool.install(|| {
            let Some(detail) = &self.fields.detail else {
                let Dims { nx, ny, .. } = layout.dims;
                return out.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
                    let at = layout.start(row % ny, from + row / ny);
                    let cells = out.iter_mut().enumerate();
                    cells.for_each(|(i, out)| *out = motion(at + i).map(f16::from_f32));
                });
            };
            // Values of the next plane are read on either side.
            let finer = self.fields.finer();
            let planes = [(from / finer) as isize - 1, to.div_ceil(finer) as isize + 1];
            let planes = planes.map(|k| k.clamp(-1, layout.dims.nz as isize + 1));
            let (near, mut cells) = (layout.on_planes(planes), vec![[0.0; 4]; layout.size()]);
            let inside = [[0, layout.dims.ny as isize], [0, layout.dims.nz as isize]];
            row_passes::rows(near, &mut cells, inside, |j, k, row| {
                for i in 0..layout.dims.nx {
                    row[i + GHOST] = motion(layout.at(i as isize, j, k));
                }
            });
            detail.write_cells((near, &self.fields.walls), cells, [from, to], out);
        });
    }

    /// Component `c` of the velocity in the middle of the cell at position `at`.
    fn component_at(&self, c: usize, at: usize) -> f32 {
        let f = &self.fields.velocity[c];
        0.5 * (f[at] + f[at + self.fields.layout.strides()[c]])
    }

    /// u, v, w and |ω| at the cell at position `at`.
    fn velocity_at(&self, at: usize) -> [f32; 4] {
        let strides = self.fields.layout.strides();
        let center = |c: usize, at: usize| self.component_at(c, at);
        // ∂u_c/∂x_a by central differences.
        let slope = |c: usize, a: usize| {
            (center(c, at + strides[a]) - center(c, at - strides[a])) / (2.0 * self.config.h)
        };
        let curl = [slope(2, 1) - slope(1, 2), slope(0, 2) - slope(2, 0), slope(1, 0) - slope(0, 1)];
        let size = curl.iter().map(|x| x * x).sum::<f32>().sqrt();
        [center(0, at), center(1, at), center(2, at), size]
    }
}
