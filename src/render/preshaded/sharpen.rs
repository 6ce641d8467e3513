//! Sharpened densities, the coefficients of a B-spline that hardly blurs them.
//!
//! A quadratic B-spline with the densities f as its coefficients has the values B f at the centres of cells,
//! with B = \[1 6 1\] / 8 along each axis. With the coefficients 2 f − B f, the first two terms of B⁻¹ f, it
//! is closer to f. Each coefficient is clamped to the least and the greatest density of the 27 cells around
//! it: edges of dense smoke get no rims, smoke is not negative, and empty cells stay empty.

use half::f16;
use rayon::prelude::*;

use super::{Cells, Layer};
use crate::grid::Dims;
use crate::snapshot::BRICK;

/// A plane of densities with one more cell at either end of its rows, equal to its neighbour.
struct Plane {
    cells: Vec<[f32; 3]>,
    width: usize,
}

/// Sums and bounds over the nine cells around each cell of a row, across it.
#[derive(Clone, Copy)]
struct Across {
    blurred: [f32; 3],
    least: [f32; 3],
    most: [f32; 3],
}

impl Cells {
    /// Takes over other cells with sharpened densities. The first and the last available plane are continued
    /// with constant density. Runs on the rayon pool of the caller, with the same bits for any number of
    /// threads.
    pub fn sharpen(&mut self, from: &Self) {
        (self.dims, self.first, self.of_box, self.h) = (from.dims, from.first, from.of_box, from.h);
        self.layers.resize_with(from.layers.len(), Layer::default);
        self.layers.par_iter_mut().enumerate().for_each(|(k, layer)| {
            layer.runs.clone_from(&from.layers[k].runs);
            layer.cells.clone_from(&from.layers[k].cells);
            if !layer.runs.is_empty() {
                sharpen_layer(from, k, layer);
            }
        });
    }

    /// Returns an available plane, with densities clamped to 0 from below.
    fn plane(&self, k: usize) -> Plane {
        let Dims { nx, ny, .. } = self.dims;
        let width = nx + 2;
        let mut cells = vec![[0.0; 3]; width * ny];
        self.rows(self.first + k, |x, j, row| {
            let to = &mut cells[j * width + 1 + x..][..row.len()];
            to.iter_mut().zip(row).for_each(|(to, cell)| {
                *to = [0, 1, 2].map(|c| cell[c].to_f32().max(0.0));
            });
        });
        for row in cells.chunks_exact_mut(width) {
            (row[0], row[width - 1]) = (row[1], row[nx]);
        }
        Plane { cells, width }
    }
}

fn sharpen_layer(from: &Cells, layer: usize, out: &mut Layer) {
    let Dims { nx, ny, nz } = from.dims;
    let planes = layer * BRICK..((layer + 1) * BRICK).min(nz);
    let below = planes.start.saturating_sub(1);
    let dense: Vec<Plane> = (below..(planes.end + 1).min(nz)).map(|k| from.plane(k)).collect();
    let plane = |k: usize| &dense[k.min(nz - 1) - below];
    let mut across = Vec::with_capacity(nx + 2);
    let Layer { runs, cells } = out;
    for run in runs {
        let count = run.x.len();
        let mut rows = cells[run.start..].chunks_exact_mut(count);
        for k in planes.clone() {
            let near = [plane(k.saturating_sub(1)), plane(k), plane(k + 1)];
            for j in run.y.clone() {
                let row = rows.next().expect("a row of each plane");
                let beside = [j.saturating_sub(1), j, (j + 1).min(ny - 1)];
                across.clear();
                across.extend((run.x.start..run.x.end + 2).map(|x| Across::of(near, beside, x)));
                let middle = &plane(k).cells[j * (nx + 2) + 1 + run.x.start..][..count];
                for ((cell, middle), around) in row.iter_mut().zip(middle).zip(across.windows(3)) {
                    let sharp = sharpened(middle, [&around[0], &around[1], &around[2]]);
                    (0..3).for_each(|c| cell[c] = f16::from_f32(sharp[c]));
                }
            }
        }
    }
}

/// Weights of \[1 6 1\] / 8.
pub(in crate::render) const SIDE: f32 = 0.125;
pub(in crate::render) const MIDDLE: f32 = 0.75;

impl Across {
    #[inline(always)]
    fn of(planes: [&Plane; 3], rows: [usize; 3], x: usize) -> Self {
        let mut all = Self { blurred: [0.0; 3], least: [f32::MAX; 3], most: [0.0; 3] };
        for (plane, of_plane) in planes.into_iter().zip([SIDE, MIDDLE, SIDE]) {
            for (row, of_row) in rows.into_iter().zip([SIDE, MIDDLE, SIDE]) {
                let cell = &plane.cells[row * plane.width + x];
                for c in 0..3 {
                    all.blurred[c] += of_plane * of_row * cell[c];
                    all.least[c] = all.least[c].min(cell[c]);
                    all.most[c] = all.most[c].max(cell[c]);
                }
            }
        }
        all
    }
}

#[inline(always)]
fn sharpened(middle: &[f32; 3], [before, at, after]: [&Across; 3]) -> [f32; 3] {
    std::array::from_fn(|c| {
        let blurred = SIDE * (before.blurred[c] + after.blurred[c]) + MIDDLE * at.blurred[c];
        let least = before.least[c].min(at.least[c]).min(after.least[c]);
        let most = before.most[c].max(at.most[c]).max(after.most[c]);
        (2.0 * middle[c] - blurred).clamp(least, most)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::trilinear::spline;
    use crate::snapshot::Snapshot;

    const DIMS: Dims = Dims { nx: 21, ny: 18, nz: 19 };

    /// Returns sharpened densities of red, and the original ones.
    fn sharp(density: impl Fn([f32; 3]) -> f32 + Sync) -> [Vec<[f32; 1]>; 2] {
        let snapshot = Snapshot::from_fn(DIMS, 1.0, |p| [density(p), 0.0, 0.0, 5.0]);
        let (mut cells, mut sharp) = (Cells::default(), Cells::default());
        cells.gather(&snapshot);
        sharp.sharpen(&cells);
        [sharp, cells].map(|cells| {
            let mut dense = vec![[0.0]; DIMS.cells()];
            for k in 0..DIMS.nz {
                cells.rows(k, |x, j, row| {
                    for (i, cell) in row.iter().enumerate() {
                        dense[DIMS.index(x + i, j, k)] = [cell[0].to_f32()];
                        assert_eq!(cell[3].to_f32(), 5.0, "heat stays");
                    }
                });
            }
            dense
        })
    }

    #[test]
    fn splines_of_sharpened_smoke_come_closer_to_it() {
        let [sharp, plain] =
            sharp(|[x, y, z]| 1.0 + 0.3 * (0.9 * x).sin() + 0.3 * (0.8 * y).cos() * (0.7 * z).sin());
        // Clamps act where waves have their crests, and beside the sides.
        let error = |of: &[[f32; 1]]| {
            let cells = (0..DIMS.cells()).map(|n| {
                let at = [n % DIMS.nx, n / DIMS.nx % DIMS.ny, n / (DIMS.nx * DIMS.ny)].map(|i| i as f32);
                let [got] = spline(DIMS, at, |n| of[n]);
                (got - plain[n][0]).powi(2)
            });
            cells.sum::<f32>().sqrt()
        };
        let errors = [error(&sharp), error(&plain)];
        assert!(errors[0] < 0.5 * errors[1], "{errors:?}");
    }

    #[test]
    fn edges_get_no_rims_and_even_smoke_stays() {
        let dense = |[x, y, z]: [f32; 3]| {
            if (x - 9.0).powi(2) + (y - 8.0).powi(2) + (z - 12.0).powi(2) < 30.0 { 2.0 } else { 0.0 }
        };
        let [sharp, plain] = sharp(dense);
        assert!(sharp == plain, "a step is as sharp as can be");
        let [sharp, plain] = self::sharp(|_| 0.75);
        assert!(sharp == plain, "up to the sides of the box");
    }
}
