//! Optical depths along straight rays through cubes.

use rayon::prelude::*;

use crate::grid::Dims;

/// Most steps along a ray.
const MOST_STEPS: f32 = 64.0;

/// Extinction in cubes \[1/m\], of `N` kinds side by side. There is none outside.
#[derive(Debug)]
pub(super) struct Extinction<const N: usize> {
    pub dims: Dims,
    /// Edge of a cube \[m\].
    pub edge: f32,
    /// With an empty cube more at either end of each axis: a step outside reads one of these, without a branch.
    values: Vec<[f32; N]>,
}

impl<const N: usize> Default for Extinction<N> {
    fn default() -> Self {
        Self { dims: Dims { nx: 1, ny: 1, nz: 1 }, edge: 1.0, values: Vec::new() }
    }
}

impl<const N: usize> Extinction<N> {
    /// Cubes with the extinction that `of` gives for the number of each.
    pub fn new(dims: Dims, edge: f32, of: impl Fn(usize) -> [f32; N] + Sync) -> Self {
        Self::by_rows(dims, edge, |[j, k], row| {
            let first = dims.index(0, j, k);
            row.iter_mut().enumerate().for_each(|(i, value)| *value = of(first + i));
        })
    }

    /// Cubes whose rows `fill` fills, of which it gets the numbers along y and z.
    pub fn by_rows(dims: Dims, edge: f32, fill: impl Fn([usize; 2], &mut [[f32; N]]) + Sync) -> Self {
        let Dims { nx, ny, nz } = dims;
        let (width, plane) = (nx + 2, (nx + 2) * (ny + 2));
        let mut values = vec![[0.0; N]; plane * (nz + 2)];
        values[plane..].par_chunks_mut(plane).take(nz).enumerate().for_each(|(k, plane)| {
            for (j, row) in plane[width..].chunks_mut(width).take(ny).enumerate() {
                fill([j, k], &mut row[1..=nx]);
            }
        });
        Self { dims, edge, values }
    }

    /// The value of a cube, 0 outside.
    pub fn at(&self, [i, j, k]: [usize; 3]) -> [f32; N] {
        let Dims { nx, ny, nz } = self.dims;
        if i < nx && j < ny && k < nz { self.values[self.padded(i + 1, j + 1, k + 1)] } else { [0.0; N] }
    }

    #[inline(always)]
    fn padded(&self, i: usize, j: usize, k: usize) -> usize {
        i + (self.dims.nx + 2) * (j + (self.dims.ny + 2) * k)
    }

    /// Optical depth along a direction between two distances from a place \[m\], in `fineness` steps for each edge of a cube.
    #[inline(always)]
    pub fn depth(&self, place: [f32; 3], unit: [f32; 3], [from, to]: [f32; 2], fineness: f32) -> [f32; N] {
        let mut sum = [0.0; N];
        if to <= from || self.values.is_empty() {
            return sum;
        }
        let scale = 1.0 / self.edge;
        let steps = ((fineness * (to - from) * scale) as i32 + 1).min(MOST_STEPS as i32);
        let step = (to - from) / steps as f32;
        let (mut start, mut by, mut most) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        let size = self.dims.array();
        for a in 0..3 {
            by[a] = step * unit[a] * scale;
            start[a] = (place[a] + from * unit[a]) * scale + 0.5 * by[a] + 1.0;
            most[a] = (size[a] + 1) as f32;
        }
        for n in 0..steps {
            let (t, mut at) = (n as f32, [0; 3]);
            for a in 0..3 {
                at[a] = (start[a] + t * by[a]).max(0.0).min(most[a]) as i32 as usize;
            }
            let here = self.values[self.padded(at[0], at[1], at[2])];
            for c in 0..N {
                sum[c] += here[c];
            }
        }
        for sum in &mut sum {
            *sum *= step;
        }
        sum
    }
}

impl Extinction<1> {
    /// The values of a cube and its 26 neighbours, x fastest.
    #[inline]
    pub fn around(&self, [i, j, k]: [usize; 3]) -> [f32; 27] {
        let mut around = [0.0; 27];
        for n in 0..9 {
            let first = self.padded(i, j + n % 3, k + n / 3);
            let row = &self.values[first..][..3];
            for m in 0..3 {
                around[3 * n + m] = row[m][0];
            }
        }
        around
    }

    /// The values two cubes away from one along an axis, down and up.
    #[inline]
    pub fn second_along(&self, at: [usize; 3], axis: usize) -> [f32; 2] {
        let (mut down, mut up) = (at, at);
        down[axis] = at[axis].wrapping_sub(2);
        up[axis] += 2;
        [self.at(down)[0], self.at(up)[0]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ray through even cubes counts the part of it that lies within them.
    #[test]
    fn a_ray_counts_what_it_crosses_within_the_box() {
        let even = Extinction::new(Dims { nx: 8, ny: 6, nz: 5 }, 0.5, |_| [2.0, 3.0]);
        for (place, unit, ends, way) in [
            ([-3.0, 1.3, 1.1], [1.0, 0.0, 0.0], [0.0, 10.0], 4.0),
            ([2.0, 1.5, 1.25], [0.0, -1.0, 0.0], [0.5, 3.0], 1.0),
            ([2.0, 1.5, 1.25], [0.6, 0.0, 0.8], [0.0, 1.0], 1.0),
            ([2.0, 9.0, 1.25], [1.0, 0.0, 0.0], [0.0, 5.0], 0.0),
        ] {
            let [thin, dense] = even.depth(place, unit, ends, 4.0);
            // Half a step at either end.
            assert!((thin - 2.0 * way).abs() < 0.13, "{place:?}: {thin}, not {}", 2.0 * way);
            assert!((dense - 1.5 * thin).abs() < 1e-5, "{place:?}: {dense}");
        }
        assert!(even.at([7, 5, 4]) == [2.0, 3.0] && even.at([8, 0, 0]) == [0.0; 2]);
    }
}
