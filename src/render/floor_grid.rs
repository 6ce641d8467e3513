//! Light on a part of the floor, sampled coarsely where it is uniform.

use rayon::prelude::*;

use super::trilinear::spline;
use crate::grid::Dims;

/// Spacing of the first samples in nodes, before squares between them are refined.
const STRIDE: usize = 4;
/// Largest difference of a node in a square from the interpolated value that counts as uniform: as a share of
/// that value, and of the brightest node.
const EVEN: f32 = 0.01;
const EVEN_IN_DARK: f32 = 1e-5;

/// Values on a regular part of the floor.
pub(super) struct FloorGrid {
    lo: [f32; 2],
    spacing: [f32; 2],
    dims: Dims,
    values: Vec<[f32; 3]>,
}

impl FloorGrid {
    /// Samples the light at nodes. Squares in which it is uniform are interpolated.
    pub fn cast(
        arriving: &(impl Fn([f32; 3]) -> [f32; 3] + Sync),
        lo: [f32; 2],
        hi: [f32; 2],
        spacing: [f32; 2],
    ) -> Self {
        let [nx, ny] = [0, 1].map(|a| {
            let squares = ((hi[a] - lo[a]) / (spacing[a] * STRIDE as f32) - 0.01).ceil().max(1.0);
            squares as usize * STRIDE + 1
        });
        let dims = Dims { nx, ny, nz: 1 };
        let mut grid = Self { lo, spacing, dims, values: vec![[0.0; 3]; dims.cells()] };
        let coarse = |n: usize| (0..n).step_by(STRIDE);
        let nodes: Vec<usize> = coarse(ny).flat_map(|j| coarse(nx).map(move |i| i + nx * j)).collect();
        grid.read(arriving, &nodes);
        let brightest = nodes.iter().flat_map(|&n| grid.values[n]).fold(0.0, f32::max);
        let mut squares: Vec<usize> =
            coarse(ny - 1).flat_map(|j| coarse(nx - 1).map(move |i| i + nx * j)).collect();
        let mut known = vec![false; dims.cells()];
        let mut stride = STRIDE;
        while stride > 1 {
            let half = stride / 2;
            // Blocks of glow just above the floor make a pattern as wide as two nodes, which the middles
            // alone would miss.
            let probes = |n: usize| [n + half + nx * half, n + 1 + nx];
            let mut nodes: Vec<usize> = squares.iter().flat_map(|&n| probes(n)).collect();
            nodes.dedup();
            grid.read(arriving, &nodes);
            let corners = |n: usize| [n, n + stride, n + nx * stride, n + stride + nx * stride];
            let is_even = |n: usize| {
                let corners = corners(n).map(|n| grid.values[n]);
                probes(n).into_iter().zip([half, 1]).all(|(probe, at)| {
                    let along = at as f32 / stride as f32;
                    (0..3).all(|c| {
                        let mean = between(corners, [along; 2], c);
                        (grid.values[probe][c] - mean).abs() <= EVEN * mean + EVEN_IN_DARK * brightest
                    })
                })
            };
            let (even, uneven): (Vec<usize>, Vec<usize>) = squares.iter().partition(|&&n| is_even(n));
            uneven.iter().flat_map(|&n| probes(n)).for_each(|n| known[n] = true);
            let sides = |n: usize| [n + half, n + nx * half, n + stride + nx * half, n + half + nx * stride];
            let mut nodes: Vec<usize> = uneven.iter().flat_map(|&n| sides(n)).collect();
            nodes.sort_unstable();
            nodes.dedup();
            grid.read(arriving, &nodes);
            nodes.iter().for_each(|&n| known[n] = true);
            for n in even {
                grid.interpolate(n, stride, &known);
            }
            squares =
                uneven.iter().flat_map(|&n| [n, n + half, n + nx * half, n + half + nx * half]).collect();
            stride = half;
        }
        grid
    }

    /// Samples the light at some nodes.
    fn read(&mut self, arriving: &(impl Fn([f32; 3]) -> [f32; 3] + Sync), nodes: &[usize]) {
        let at = |&n: &usize| {
            let [i, j, _] = self.dims.place(n).map(|n| n as f32);
            arriving([self.lo[0] + i * self.spacing[0], 0.0, self.lo[1] + j * self.spacing[1]])
        };
        let values: Vec<[f32; 3]> = nodes.par_iter().map(at).collect();
        nodes.iter().zip(values).for_each(|(&n, value)| self.values[n] = value);
    }

    /// Interpolates the unknown nodes of a square from its corners.
    fn interpolate(&mut self, first: usize, stride: usize, known: &[bool]) {
        let nx = self.dims.nx;
        let corners = [0, stride, nx * stride, stride + nx * stride].map(|by| self.values[first + by]);
        for j in 0..=stride {
            for i in 0..=stride {
                let n = first + i + nx * j;
                if known[n] || i % stride == 0 && j % stride == 0 {
                    continue;
                }
                let at = [i, j].map(|n| n as f32 / stride as f32);
                self.values[n] = std::array::from_fn(|c| between(corners, at, c));
            }
        }
    }

    /// Returns the distance of a point in the part from its edge \[m\]; below 0 outside.
    pub fn within_edge(&self, x: f32, z: f32) -> f32 {
        let [width, depth] = [self.dims.nx, self.dims.ny].map(|n| (n - 1) as f32);
        let [x, z] = [x - self.lo[0], z - self.lo[1]];
        x.min(width * self.spacing[0] - x).min(z).min(depth * self.spacing[1] - z)
    }

    /// Samples the light by splines, so that it has no creases between nodes.
    pub fn sample(&self, x: f32, z: f32) -> [f32; 3] {
        let at = [(x - self.lo[0]) / self.spacing[0], (z - self.lo[1]) / self.spacing[1], 0.0];
        spline(self.dims, at, |n| self.values[n])
    }
}

/// Interpolates one colour between the corners of a square.
fn between([a, b, c, d]: [[f32; 3]; 4], [x, y]: [f32; 2], channel: usize) -> f32 {
    let along = |from: [f32; 3], to: [f32; 3]| from[channel] + x * (to[channel] - from[channel]);
    let (low, high) = (along(a, b), along(c, d));
    low + y * (high - low)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A small spot on a wide glow is kept, and the glow is sampled at few nodes.
    #[test]
    fn an_uneven_part_is_read_finely() {
        let reads = AtomicUsize::new(0);
        let light = |[x, _, z]: [f32; 3]| {
            reads.fetch_add(1, Ordering::Relaxed);
            let wide = 1.0 / (1.0 + (x - 0.3) * (x - 0.3) + z * z);
            let spot = 3.0 * (-((x - 1.0).powi(2) + (z - 0.5).powi(2)) / 0.01).exp();
            [wide, 0.5 * wide + spot, 0.0]
        };
        let grid = FloorGrid::cast(&light, [-1.0, -1.5], [3.0, 1.5], [0.05; 2]);
        let all = grid.dims.cells();
        let read = reads.load(Ordering::Relaxed);
        assert!(all >= 81 * 61 && 2 * read < all, "{read} of {all}");
        for n in 0..all {
            let [i, j, _] = grid.dims.place(n).map(|n| n as f32);
            let wanted = light([-1.0 + 0.05 * i, 0.0, -1.5 + 0.05 * j]);
            for c in 0..3 {
                let off = (grid.values[n][c] - wanted[c]).abs();
                assert!(off <= 0.01 * wanted[c] + 0.005, "{i} {j}: {:?}, not {wanted:?}", grid.values[n]);
            }
        }
    }

    /// A pattern as wide as two nodes is not taken for uniform light.
    #[test]
    fn a_fine_pattern_is_read() {
        let light = |[x, _, z]: [f32; 3]| {
            let waves = (x * std::f32::consts::TAU).cos() + (z * std::f32::consts::TAU).cos();
            [1.0 + 0.1 * waves; 3]
        };
        let grid = FloorGrid::cast(&light, [0.0; 2], [8.0; 2], [0.5; 2]);
        let mean = grid.values.iter().map(|value| value[0]).sum::<f32>() / grid.dims.cells() as f32;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
