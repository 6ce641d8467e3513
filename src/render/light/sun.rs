//! Optical depth towards a light so far away that its rays are parallel.
//!
//! Depths grow along **columns** that follow the light through all layers, so that a column's depth is the integral along
//! one straight ray. Density is interpolated onto the columns of a layer and depth back from them, each bilinearly within
//! the layer and once. Depths that are interpolated from layer to layer instead spread a shadow at each of them: a ball of
//! 25 1/m lit from behind came out at 0.54 of its radiance.
//!
//! Between columns the [`root`] of the depth is interpolated.
//!
//! A column counts smoke from its entry into the box on. Points repeat their densities beyond the sides, and light that lies flat on a side
//! crosses many of them: with these counted, a full slab of 128 × 8 × 128 cells sent 0.12 of its light under a sun at 35°, and none at
//! 6°. Points beyond a side that light enters through hold the negative of the depth beside them: on the side itself the depth is 0.
//! Light that nearly follows a side passes many layers within a spacing of it. Depths before the side are bounded by those that the mirrored
//! way has within the box: without a bound, a full slab of 150 1/m was 29,000 times as bright as traced.

use std::cell::Cell;

use fearless_simd::prelude::*;
use rayon::prelude::*;

use super::Points;
use crate::grid::Dims;
use crate::simd::vectors::{EIGHT, Simd, f32x8, transposed};
use crate::simd::{each_level, greatest, least};

/// The root of an optical depth, with its sign: extrapolation past the box makes negative depths. Below an edge of smoke the depth grows
/// with the square of the distance, so its root is linear and is interpolated exactly. Interpolated itself, the depth is too large
/// there: a ball of 100 1/m sent 0.79 of the light that it scatters once.
#[inline(always)]
pub(in crate::render) fn root(depth: f32) -> f32 {
    depth.abs().sqrt().copysign(depth)
}

/// The depth of a [`root`].
#[inline(always)]
pub(in crate::render) fn squared(root: f32) -> f32 {
    root * root.abs()
}

/// Optical depth from every point towards `s`, a unit vector.
pub(super) fn sweep(field: Points, extinction: f32, s: [f32; 3], out: &mut Vec<f32>) {
    out.clear();
    out.resize(field.dims.cells(), 0.0);
    let columns = Columns::new(field, extinction, s);
    if columns.axis != 0 {
        return columns.all(out);
    }
    // Rows of a layer across x lie apart in memory, so the sweep runs on fields with x and y exchanged.
    let Dims { nx, ny, nz } = field.dims;
    let [mut values, mut depths] = EXCHANGED.take();
    for field_values in [&mut values, &mut depths] {
        field_values.resize(field.dims.cells(), 0.0);
    }
    exchange(field.values, [nx, ny], &mut values);
    let dims = Dims { nx: ny, ny: nx, nz };
    Columns::new(Points { dims, values: &values, ..field }, extinction, [s[1], s[0], s[2]]).all(&mut depths);
    exchange(&depths, [ny, nx], out);
    EXCHANGED.set([values, depths]);
}

thread_local! {
    /// Memory of densities and depths with x and y exchanged, kept from sweep to sweep.
    static EXCHANGED: Cell<[Vec<f32>; 2]> = const { Cell::new([Vec::new(), Vec::new()]) };
}

/// Exchanges x and y of planes of `nx` × `ny` values.
fn exchange(from: &[f32], [nx, ny]: [usize; 2], to: &mut [f32]) {
    let planes = to.par_chunks_mut(nx * ny).zip(from.par_chunks(nx * ny)).with_min_len(8);
    planes.for_each(|(to, from)| exchange_plane(from, [nx, ny], to));
}

each_level! {
    fn exchange_plane(from: &[f32], size: [usize; 2], to: &mut [f32]) = exchange_kernel;
}

#[inline(always)]
fn exchange_kernel<S: Simd>(s: S, from: &[f32], [nx, ny]: [usize; 2], to: &mut [f32]) {
    let whole = [nx, ny].map(|n| n / EIGHT * EIGHT);
    for j in (0..whole[1]).step_by(EIGHT) {
        for i in (0..whole[0]).step_by(EIGHT) {
            let mut rows = [s.splat_f32x8(0.0); EIGHT];
            for n in 0..EIGHT {
                rows[n] = f32x8::load_array_ref(s, from[(j + n) * nx + i..].first_chunk().expect("a block"));
            }
            for (n, column) in transposed(s, rows).into_iter().enumerate() {
                column.store_array(to[(i + n) * ny + j..].first_chunk_mut().expect("a block"));
            }
        }
    }
    for j in 0..ny {
        for i in if j < whole[1] { whole[0] } else { 0 }..nx {
            to[i * ny + j] = from[j * nx + i];
        }
    }
}

/// Offset \[points\] of columns between layers below which they run along a side and do not cross it.
const ALONG: f32 = 1e-4;
/// Fewest points of a layer that is swept in parallel, and fewest points of one task.
const LARGE: usize = 1 << 12;
const FEWEST: usize = 1 << 10;

/// Scratch memory of a task: the sweep of consecutive rows of one layer.
#[derive(Clone)]
struct Task {
    /// Optical depth of the columns in the row after the last. The next task updates that row at the same time.
    next_depth: Vec<f32>,
    /// Density at two rows of points, padded by one point at either end.
    density: [Vec<f32>; 2],
    /// Density at two rows of columns, then the [`root`] of their depth.
    at_columns: [Vec<f32>; 2],
    /// Root of the depth at one row of points.
    roots: Vec<f32>,
    /// Layers since each column of a row has come into the box across u, less than 0 before.
    since: Vec<f32>,
}

impl Task {
    fn new(width: usize) -> Self {
        let values = |more: usize| vec![0.0; width + more];
        Self {
            next_depth: values(1),
            density: [values(2), values(2)],
            at_columns: [values(1), values(1)],
            roots: values(0),
            since: values(1),
        }
    }
}

/// The columns of one direction. `axis` is the one along which `s` is longest; layers are stored with `u`, the other axis
/// that varies faster in memory, running fastest.
struct Columns<'a> {
    field: Points<'a>,
    axis: usize,
    /// Whether the light comes from the side where the coordinate is greatest.
    from_top: bool,
    /// Half the optical depth between layers for each unit of density.
    half: f32,
    /// Offset in points along u and v at which s meets the layer before.
    offset: [f32; 2],
    /// Points along u and v, and how far apart they are in memory.
    size: [usize; 2],
    stride: [usize; 2],
}

impl<'a> Columns<'a> {
    /// Computes the depths of all points.
    fn all(&self, out: &mut [f32]) {
        self.sweep(out);
        self.mirror_depths(out);
    }

    fn new(field: Points<'a>, extinction: f32, s: [f32; 3]) -> Self {
        // On a tie the later axis, whose layers lie closer together in memory.
        let along = |a: usize| s[a].abs() * (1.0 + 1e-5 * a as f32);
        let axis = (0..3).max_by(|&a, &b| along(a).total_cmp(&along(b))).expect("three axes");
        let across = [[1, 2], [0, 2], [0, 1]][axis];
        Self {
            field,
            axis,
            from_top: s[axis] > 0.0,
            half: 0.5 * field.spacing / s[axis].abs() * extinction,
            offset: across.map(|a| s[a] / s[axis].abs()),
            size: across.map(|a| field.dims.array()[a]),
            stride: across.map(|a| stride(field.dims, a)),
        }
    }

    fn sweep(&self, out: &mut [f32]) {
        let layers = self.field.dims.array()[self.axis];
        // Columns are counted from the leftmost that any layer meets.
        let first = [0, 1].map(|a| (((layers - 1) as f32 * self.offset[a]).floor() as isize).min(0));
        let count = [0, 1].map(|a| {
            let last = (((layers - 1) as f32 * self.offset[a]).floor() as isize).max(0);
            self.size[a] + 1 + (last - first[a]) as usize
        });
        let mut passed = vec![0.0_f32; count[0] * count[1]];
        let [width, height] = self.size;
        let threads = if width * height < LARGE { 1 } else { rayon::current_num_threads() };
        let in_task = height.div_ceil(threads).max(FEWEST.div_ceil(width)).min(height);
        let mut tasks = vec![Task::new(width); height.div_ceil(in_task)];
        for n in 0..layers {
            let shift = self.offset.map(|offset| n as f32 * offset);
            let base = [0, 1].map(|a| (shift[a].floor() as isize - first[a]) as usize);
            let between = [0, 1].map(|a| shift[a] - shift[a].floor());
            let row =
                |v: usize| (base[1] + v) * count[0] + base[0]..(base[1] + v) * count[0] + base[0] + width + 1;
            for (task, last) in tasks.iter_mut().zip(1..) {
                task.next_depth.copy_from_slice(&passed[row((last * in_task).min(height))]);
            }
            let columns =
                passed[base[1] * count[0]..][..height * count[0]].par_chunks_mut(in_task * count[0]);
            let points = out[self.start(n)..].par_chunks_mut(in_task * self.stride[1]);
            tasks.par_iter_mut().zip(columns.zip(points)).enumerate().for_each(
                |(i, (task, (columns, points)))| {
                    let columns =
                        columns.chunks_exact_mut(count[0]).map(|row| &mut row[base[0]..][..width + 1]);
                    self.sweep_rows([n, i * in_task], between, columns, task, points);
                },
            );
            if n == 0 {
                passed.fill(0.0);
            } else {
                passed[row(height)].copy_from_slice(&tasks[tasks.len() - 1].next_depth);
            }
        }
    }

    /// Sweeps the rows of layer `n` from row `first` on: writes the depth at `points` and adds the layer to the depth of `columns`.
    fn sweep_rows<'r>(
        &self,
        [n, first]: [usize; 2],
        between: [f32; 2],
        columns: impl Iterator<Item = &'r mut [f32]>,
        task: &'r mut Task,
        points: &mut [f32],
    ) {
        let Task { next_depth, density: [below, above], at_columns: [last, next], roots, since } = task;
        for (u, since) in since.iter_mut().enumerate() {
            *since = self.since(0, u as f32 - between[0]);
        }
        self.load(n, first.saturating_sub(1), above);
        let mut points = points.chunks_mut(self.stride[1]);
        for (v, passed) in (first..).zip(columns.chain([&mut next_depth[..]])) {
            std::mem::swap(below, above);
            std::mem::swap(last, next);
            self.load(n, v.min(self.size[1] - 1), above);
            // Column v lies the fractions `between` before point v.
            bilinear(next, [above, below], [1, 0], between);
            grow(passed, next, self.half, (&*since, self.since(1, v as f32 - between[1])), n as f32);
            if v > first {
                bilinear(roots, [last, next], [0, 1], between);
                let lit = match self.beside(1) == Some(v - 1) {
                    true => 0..roots.len(),
                    false => self.beside(0).map_or(0..0, |u| u..u + 1),
                };
                for u in lit {
                    roots[u] = root(self.depth_beside([u, v - 1], [&*last, &*next], between, n as f32));
                }
                let row = points.next().expect("one row of points between two rows of columns");
                match self.stride[0] {
                    1 => row.iter_mut().zip(&*roots).for_each(|(depth, root)| *depth = squared(*root)),
                    stride => {
                        let row = row.iter_mut().step_by(stride);
                        row.zip(&*roots).for_each(|(depth, root)| *depth = squared(*root));
                    }
                }
            }
        }
    }

    /// Depth at a point next to a side that the light enters through, from the roots of the depth at the two rows of columns around it. The
    /// [`way`] to the point is multiplied by the mean depth for each layer of the ways to these columns, without those before the side.
    fn depth_beside(&self, [u, v]: [usize; 2], rows: [&[f32]; 2], [f, g]: [f32; 2], n: f32) -> f32 {
        let way_to = |u: f32, v: f32| way([self.since(0, u), self.since(1, v)], n);
        let own = way_to(u as f32, v as f32);
        let (mut sum, mut weights) = (0.0, 0.0);
        for column in 0..4 {
            let [i, j] = [column % 2, column / 2];
            let of_column = way_to((u + i) as f32 - f, (v + j) as f32 - g);
            if of_column * own > 0.0 {
                let weight = [1.0 - g, g][j] * [1.0 - f, f][i];
                sum += weight * squared(rows[j][u + i]) / of_column;
                weights += weight;
            }
        }
        own * sum / weights.max(1e-6)
    }

    /// Layers since a column at a place along u or v \[points\] has come through the side across it, less than 0 before.
    fn since(&self, a: usize, at: f32) -> f32 {
        let offset = self.offset[a];
        let side = if offset > 0.0 { self.size[a] as f32 - 1.5 } else { 0.5 };
        if offset.abs() < ALONG { f32::MAX } else { (side - at) / offset }
    }

    /// Index along u or v of the points within the side that the light enters through, if there is one. Smoke that touches this side makes
    /// the depth grow in proportion to the way, so [`Columns::depth_beside`] interpolates the depth for each layer of it.
    fn beside(&self, a: usize) -> Option<usize> {
        let first = if self.offset[a] > 0.0 { self.size[a] - 2 } else { 1 };
        (self.offset[a].abs() >= ALONG).then_some(first)
    }

    /// Takes the depths beyond the sides across u and v that the light enters through from the points within.
    fn mirror_depths(&self, out: &mut [f32]) {
        for (a, beside) in [0, 1].into_iter().filter_map(|a| Some((a, self.beside(a)?))) {
            let (other, beyond) = (1 - a, if self.offset[a] > 0.0 { beside + 1 } else { 0 });
            for n in 0..self.field.dims.array()[self.axis] {
                for m in 0..self.size[other] {
                    let row = n * stride(self.field.dims, self.axis) + m * self.stride[other];
                    out[row + beyond * self.stride[a]] = -out[row + beside * self.stride[a]].abs();
                }
            }
        }
    }

    /// Index in memory of the `n`th layer from the light.
    fn start(&self, n: usize) -> usize {
        let last = self.field.dims.array()[self.axis] - 1;
        (if self.from_top { last - n } else { n }) * stride(self.field.dims, self.axis)
    }

    /// Loads row `v` of layer `n` and repeats its first and last value.
    fn load(&self, n: usize, v: usize, row: &mut [f32]) {
        let width = self.size[0];
        let from = &self.field.values[self.start(n) + v * self.stride[1]..];
        match self.stride[0] {
            1 => row[1..=width].copy_from_slice(&from[..width]),
            stride => {
                let from = from.iter().step_by(stride);
                row[1..=width].iter_mut().zip(from).for_each(|(to, x)| *to = *x);
            }
        }
        (row[0], row[width + 1]) = (row[1], row[width]);
    }
}

/// Between two rows, a fraction of the way from the first to the second, and in them the same way from the value at one
/// offset to that at the other.
fn bilinear(out: &mut [f32], rows: [&[f32]; 2], [from, to]: [usize; 2], [f, g]: [f32; 2]) {
    let count = out.len();
    let taps = [
        &rows[0][from..][..count],
        &rows[0][to..][..count],
        &rows[1][from..][..count],
        &rows[1][to..][..count],
    ];
    blend(out, taps, [(1.0 - f) * (1.0 - g), f * (1.0 - g), (1.0 - f) * g, f * g]);
}

each_level! {
    /// The weighted sum of four rows.
    fn blend(out: &mut [f32], rows: [&[f32]; 4], weights: [f32; 4]) = blend_kernel;
}

#[inline(always)]
fn blend_kernel<S: Simd>(_: S, out: &mut [f32], rows: [&[f32]; 4], weights: [f32; 4]) {
    let count = out.len();
    let [a, b, c, d] = [&rows[0][..count], &rows[1][..count], &rows[2][..count], &rows[3][..count]];
    for i in 0..count {
        out[i] = weights[0] * a[i] + weights[1] * b[i] + weights[2] * c[i] + weights[3] * d[i];
    }
}

/// Least length of a [`way`] \[layers\].
const LEAST_WAY: f32 = 1e-3;

/// Layers between the entry of the light into the box and the `n`th layer, from the layers since it passed the sides across u and v. Before the
/// entry it is the negative of the way at the mirrored point within the box, which another side may end.
#[inline(always)]
fn way([across_u, across_v]: [f32; 2], n: f32) -> f32 {
    // The first layer lies half a spacing outside of the box.
    let along = n - 0.5;
    let length = greatest(least(least(across_u.abs(), across_v.abs()), along.abs()), LEAST_WAY);
    if least(least(across_u, across_v), along) < 0.0 { -length } else { length }
}

each_level! {
    /// Turns the density of columns into the root of their depth at the `n`th layer, and takes both halves of the layer into what they
    /// passed, as far as they lie in the box: `since` are the layers since it was entered across u, for each column, and across v. Depths
    /// before are less than 0, by what columns would pass on the [`way`].
    fn grow(passed: &mut [f32], density: &mut [f32], half: f32, since: (&[f32], f32), n: f32) = grow_kernel;
}

#[inline(always)]
fn grow_kernel<S: Simd>(
    _: S,
    passed: &mut [f32],
    density: &mut [f32],
    half: f32,
    since: (&[f32], f32),
    n: f32,
) {
    let count = passed.len();
    let (density, across_u) = (&mut density[..count], &since.0[..count]);
    for i in 0..count {
        // In halves of a layer.
        let before = least(2.0 * way([across_u[i], since.1], n), 1.0);
        let after = greatest(least(2.0 * least(across_u[i], since.1) + 1.0, 1.0), 0.0);
        let here = half * density[i];
        let depth = passed[i] + before * here;
        passed[i] = passed[i] + greatest(before, 0.0) * here + after * here;
        density[i] = root(depth);
    }
}

fn stride(dims: Dims, axis: usize) -> usize {
    [1, dims.nx, dims.nx * dims.ny][axis]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers each axis and both signs of direction, with layers large enough for a parallel sweep.
    #[test]
    fn same_bits_on_any_number_of_threads() {
        let dims = Dims { nx: 97, ny: 110, nz: 101 };
        let values: Vec<f32> = (0..dims.cells()).map(|n| (n % 13 * (n % 7)) as f32).collect();
        let field = Points { dims, spacing: 0.01, values: &values };
        for s in [[0.8, 0.36, 0.48], [-0.48, 0.8, 0.36], [0.36, -0.48, -0.8]] {
            let depths = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut out = Vec::new();
                pool.install(|| sweep(field, 0.7, s, &mut out));
                out
            };
            let alone = depths(1);
            assert!(alone.iter().any(|&x| x > 1.0) && [2, 5].iter().all(|&n| depths(n) == alone), "{s:?}");
        }
    }

    /// In a full box the depth is the way to the side that the light enters through, also for light that nearly follows another side.
    #[test]
    fn depths_of_even_smoke_are_ways_to_the_sides() {
        let dims = Dims { nx: 22, ny: 20, nz: 24 };
        let values = vec![1.0; dims.cells()];
        let field = Points { dims, spacing: 1.0, values: &values };
        let mut depths = Vec::new();
        for s in [
            [0.62, 0.78, -0.009],
            [0.0, 1.0, 0.003],
            [-0.5, 0.6, 0.62],
            [0.3, -0.01, -0.95],
            [1.0, 0.02, 0.3],
        ] {
            let length = s.iter().map(|x| x * x).sum::<f32>().sqrt();
            let s: [f32; 3] = s.map(|x| x / length);
            sweep(field, 1.0, s, &mut depths);
            for (n, &depth) in depths.iter().enumerate() {
                let (place, size) = (dims.place(n), dims.array());
                if (0..3).any(|a| !(1..size[a] - 1).contains(&place[a])) {
                    continue;
                }
                let to_side = |a: usize| {
                    let end = if s[a] > 0.0 { size[a] as f32 - 1.5 } else { 0.5 };
                    if s[a] == 0.0 { f32::MAX } else { (end - place[a] as f32) / s[a] }
                };
                let want = (0..3).map(to_side).fold(f32::MAX, f32::min);
                assert!((depth - want).abs() < 0.02 + 0.2 * want, "{s:?} {place:?}: {depth}, not {want}");
            }
        }
    }
}
