//! The velocity on the faces of finer cells, each as free of divergence as the cell around it (Balsara 2001; Tóth & Roe 2002).
//!
//! A face of a cell becomes N × N faces. Along each of its two axes the velocity is the parabola through the means of the face and
//! its two neighbours, so the flux through the whole face stays what it was:
//!
//! ```text
//!     u_p = u + a_p (u₋ − u) + b_p (u₊ − u),      Σ_p a_p = Σ_p b_p = 0
//! ```
//!
//! Between the two faces of a cell u is linear along its own axis. That alone would leave a divergence, which is a sum of three
//! functions of one coordinate each, because every face varies by a sum of such functions. The function of x is removed by a flux
//! G along x, which is 0 on both faces of the cell, and so on:
//!
//! ```text
//!     G_r = −1/N Σ_{p<r} [a_p (s₋ − s) + b_p (s₊ − s)],      s = δ_y v + δ_z w of the cell and its neighbours along x
//! ```
//!
//! Every finer cell then has 1/N of the undivided divergence of its cell. Where that is 0, u along its own axis is the cubic
//! (−1, 9, 9, −1)/16 for N = 2.

use rayon::prelude::*;

use crate::grid::{Faces, GHOST, Layout};
use crate::simd::{Simd, each_level};
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::row_passes::PerThread;

/// Weights of the neighbours below and above.
pub type Pair = [f32; 2];

/// Weights for N finer cells along each edge.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// \[a_p, b_p\] for each of the N parts of a face along an axis.
    pub parts: [Pair; 4],
    /// Weights of s₋ − s and s₊ − s in G_r; 0 for r = 0.
    inner: [Pair; 4],
}

impl Weights {
    /// Weights for `finer` cells.
    pub fn new(finer: usize) -> Self {
        let n = finer as f64;
        let (mut parts, mut inner) = ([[0.0; 2]; 4], [[0.0; 2]; 4]);
        let mut sum = [0.0; 2];
        for p in 0..finer {
            inner[p] = sum.map(|sum: f64| (-sum / n) as f32);
            let xi = (p as f64 + 0.5) / n - 0.5;
            let curvature = xi * xi + (1.0 / (n * n) - 1.0) / 12.0;
            let part = [0.5 * (curvature - xi), 0.5 * (curvature + xi)];
            parts[p] = part.map(|x| x as f32);
            sum = [sum[0] + part[0], sum[1] + part[1]];
        }
        Self { parts, inner }
    }
}

/// Scratch of one thread: rows of cells with one more at each end.
pub struct Scratch {
    /// The sums s: of this row for the fluxes along x; of the row before, this one and the next for those
    /// along y; and the same for those along z.
    sums: [Vec<f32>; 7],
    row: Vec<f32>,
    base: Vec<f32>,
}

impl Scratch {
    /// For rows of `n` cells.
    pub fn new(n: usize) -> Self {
        let row = || vec![0.0; n + 2];
        Self { sums: std::array::from_fn(|_| row()), row: row(), base: row() }
    }
}

/// The velocity of cells and that of their finer cells.
pub struct Prolong<'a> {
    pub finer: usize,
    pub weights: &'a Weights,
    pub coarse: Layout,
    pub fine: Layout,
    /// Velocity with its ghosts \[m/s\].
    pub velocity: &'a Faces,
}

impl Prolong<'_> {
    /// Fills `out` on all faces of the finer cells that may be occupied according to `bricks`. Other values
    /// do not change.
    pub fn reached(&self, bricks: &Bricks, out: &mut Faces, scratch: &PerThread<Scratch>, halt: &Halt) {
        let [u, v, w] = out;
        let [low, high] = self.coarse.cell_planes();
        // The last slab has the faces on the upper side too.
        let count = high - low + usize::from(high == self.coarse.dims.nz);
        let (from, chunk) = ((GHOST + low * self.finer) * self.fine.plane, self.finer * self.fine.plane);
        let tasks = u[from..].par_chunks_mut(chunk).zip(v[from..].par_chunks_mut(chunk));
        let tasks = tasks.zip(w[from..].par_chunks_mut(chunk)).take(count);
        tasks.enumerate().for_each(|(k, ((u, v), w))| {
            let k = low + k;
            let scratch = &mut *scratch.mine();
            for j in (0..=self.coarse.dims.ny).take_while(|_| !halt.is_raised()) {
                let cells = self.range(bricks, j, k);
                if cells[0] < cells[1] {
                    self.row([j, k], cells, [&mut *u, &mut *v, &mut *w], scratch);
                }
            }
        });
    }

    /// The cells of row (j, k) whose faces [`reached`](Self::reached) fills.
    pub fn range(&self, bricks: &Bricks, j: usize, k: usize) -> [usize; 2] {
        let mut range = [usize::MAX, 0];
        let [_, ny, nz] = self.coarse.dims.array();
        for (j, k) in [(Some(j), Some(k)), (j.checked_sub(1), Some(k)), (Some(j), k.checked_sub(1))] {
            let (Some(j), Some(k)) = (j, k) else { continue };
            if j >= ny || k >= nz {
                continue;
            }
            // Finer rows of one cell lie in two bricks at most along each axis.
            for (y, z) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let at = |index: usize, part: usize| self.finer * index + part * (self.finer - 1);
                let span = bricks.span(at(j, y), at(k, z));
                if !span.is_empty() {
                    range =
                        [range[0].min(span.start / self.finer), range[1].max(span.end.div_ceil(self.finer))];
                }
            }
        }
        range
    }

    /// Fills the finer faces of the cells from `first` to `end` of row (j, k), up to their upper ones along
    /// x.
    fn row(&self, [j, k]: [usize; 2], [first, end]: [usize; 2], out: [&mut [f32]; 3], scratch: &mut Scratch) {
        let Self { finer, coarse, fine, .. } = *self;
        let n = end - first;
        let ([_, ny, nz], strides) = (coarse.dims.array(), coarse.strides());
        let [_, row, plane] = strides;
        let at = coarse.at(first as isize, j as isize, k as isize);
        let inside = [j < ny, k < nz];
        if inside == [true; 2] {
            self.sum_up(at, n, scratch);
        }
        let [u, v, w] = out;
        let start = |py: usize, pz: usize| {
            pz * fine.plane + (finer * j + py + GHOST) * fine.row + finer * first + GHOST
        };
        for (pz, py) in (0..finer).flat_map(|pz| (0..finer).map(move |py| (pz, py))) {
            let to = start(py, pz);
            if inside == [true; 2] {
                let field = &self.velocity[0];
                let along = |offset: usize| &field[offset..][..n + 1];
                refine(
                    [self.weights.parts[py], self.weights.parts[pz]],
                    [along(at), along(at - row), along(at + row), along(at - plane), along(at + plane)],
                    &mut scratch.base[..n + 1],
                );
                let (base, sums) = (&scratch.base[..n + 1], &scratch.sums[0][..n + 2]);
                let out = &mut u[to..][..finer * n + 1];
                match finer {
                    2 => across_x_2(self.weights, base, sums, out),
                    3 => across_x_3(self.weights, base, sums, out),
                    _ => across_x_4(self.weights, base, sums, out),
                }
            }
            let [y, z] = inside;
            if z && (y || py == 0) {
                let place = Across { axis: 1, other: 2, at, n, r: py, part: pz };
                self.across(place, scratch, &mut v[to..][..finer * n]);
            }
            if y && (z || pz == 0) {
                let place = Across { axis: 2, other: 1, at, n, r: pz, part: py };
                self.across(place, scratch, &mut w[to..][..finer * n]);
            }
        }
    }

    /// Sums of differences of the row at `at` and of the rows beside it.
    fn sum_up(&self, at: usize, n: usize, scratch: &mut Scratch) {
        let [u, v, w] = self.velocity;
        let [_, row, plane] = self.coarse.strides();
        let [x, y0, y1, y2, z0, z1, z2] = &mut scratch.sums;
        add_differences(
            [&v[at + row - 1..][..n + 2], &v[at - 1..][..n + 2]],
            [&w[at + plane - 1..][..n + 2], &w[at - 1..][..n + 2]],
            &mut x[..n + 2],
        );
        for (out, at) in [(y0, at - row), (y1, at), (y2, at + row)] {
            add_differences(
                [&u[at + 1..][..n], &u[at..][..n]],
                [&w[at + plane..][..n], &w[at..][..n]],
                &mut out[..n],
            );
        }
        for (out, at) in [(z0, at - plane), (z1, at), (z2, at + plane)] {
            add_differences(
                [&u[at + 1..][..n], &u[at..][..n]],
                [&v[at + row..][..n], &v[at..][..n]],
                &mut out[..n],
            );
        }
    }

    /// Fills a row of faces across y or z.
    fn across(&self, place: Across, scratch: &mut Scratch, out: &mut [f32]) {
        let Across { axis, other, at, n, r, part } = place;
        let (field, strides) = (&self.velocity[axis], self.coarse.strides());
        let rows = |at: usize| {
            let beside = [at - strides[other], at + strides[other]].map(|at| &field[at..][..n]);
            (&field[at - 1..][..n + 2], beside)
        };
        let (low, high) = (rows(at), rows(at + strides[axis]));
        let share = r as f32 / self.finer as f32;
        let part = self.weights.parts[part];
        let Scratch { sums, row, base } = scratch;
        let (row, base) = (&mut row[..n + 2], &mut base[..n]);
        if r == 0 {
            row.copy_from_slice(low.0);
            on_face(part, low.0, low.1, base);
        } else {
            let sums = &sums[if axis == 1 { 1..4 } else { 4..7 }];
            let sums = [&sums[0][..n], &sums[1][..n], &sums[2][..n]];
            between(share, [low.0, high.0], row);
            inside(
                [share, part[0], part[1]],
                self.weights.inner[r],
                row,
                [low.0, high.0],
                [low.1, high.1],
                sums,
                base,
            );
        }
        match self.finer {
            2 => spread_2(self.weights, row, base, out),
            3 => spread_3(self.weights, row, base, out),
            _ => spread_4(self.weights, row, base, out),
        }
    }
}

/// A row of faces across an axis.
struct Across {
    axis: usize,
    /// The axis other than x and `axis`.
    other: usize,
    at: usize,
    n: usize,
    /// Index of the finer face along `axis`, 0..N.
    r: usize,
    /// Index of the finer face along `other`, 0..N.
    part: usize,
}

each_level! { fn add_differences(a: [&[f32]; 2], b: [&[f32]; 2], out: &mut [f32]) = add_differences_kernel; }

#[inline(always)]
fn add_differences_kernel<S: Simd>(_: S, [a1, a0]: [&[f32]; 2], [b1, b0]: [&[f32]; 2], out: &mut [f32]) {
    let n = out.len();
    let (a0, a1, b0, b1) = (&a0[..n], &a1[..n], &b0[..n], &b1[..n]);
    for i in 0..n {
        out[i] = (a1[i] - a0[i]) + (b1[i] - b0[i]);
    }
}

each_level! { fn refine(parts: [Pair; 2], rows: [&[f32]; 5], out: &mut [f32]) = refine_kernel; }

/// One finer face of each of some faces. Its place along two axes has the weights p and q; `rows` are the
/// faces, and their neighbours below and above along each axis.
#[inline(always)]
fn refine_kernel<S: Simd>(_: S, [p, q]: [Pair; 2], rows: [&[f32]; 5], out: &mut [f32]) {
    let n = out.len();
    let [u, a, b, c, d] = rows.map(|row| &row[..n]);
    for i in 0..n {
        let first = p[0] * (a[i] - u[i]) + p[1] * (b[i] - u[i]);
        let second = q[0] * (c[i] - u[i]) + q[1] * (d[i] - u[i]);
        out[i] = u[i] + (first + second);
    }
}

each_level! { fn across_x_2(weights: &Weights, faces: &[f32], sums: &[f32], out: &mut [f32]) = across_x_kernel, 2; }
each_level! { fn across_x_3(weights: &Weights, faces: &[f32], sums: &[f32], out: &mut [f32]) = across_x_kernel, 3; }
each_level! { fn across_x_4(weights: &Weights, faces: &[f32], sums: &[f32], out: &mut [f32]) = across_x_kernel, 4; }

/// Finer faces across x: N for each of `faces` but the last. `sums` begins one cell before the first.
#[inline(always)]
fn across_x_kernel<S: Simd, const N: usize>(
    _: S,
    weights: &Weights,
    faces: &[f32],
    sums: &[f32],
    out: &mut [f32],
) {
    let n = faces.len() - 1;
    let (low, high, sums) = (&faces[..n], &faces[1..][..n], &sums[..n + 2]);
    let inner = &weights.inner;
    for (i, out) in out.as_chunks_mut::<N>().0[..n].iter_mut().enumerate() {
        let (s, below, above) = (sums[i + 1], sums[i], sums[i + 2]);
        out[0] = low[i];
        for r in 1..N {
            let linear = low[i] + r as f32 / N as f32 * (high[i] - low[i]);
            out[r] = linear + (inner[r][0] * (below - s) + inner[r][1] * (above - s));
        }
    }
    out[N * n] = faces[n];
}

each_level! { fn on_face(part: Pair, row: &[f32], beside: [&[f32]; 2], out: &mut [f32]) = on_face_kernel; }

/// One finer face of each of the faces in `row`, which has one face more at each end. Its place along one
/// axis has the weights `part`; `beside` are the neighbours along that axis.
#[inline(always)]
fn on_face_kernel<S: Simd>(_: S, part: Pair, row: &[f32], beside: [&[f32]; 2], out: &mut [f32]) {
    let n = out.len();
    let (row, [a, b]) = (&row[1..][..n], beside.map(|row| &row[..n]));
    for i in 0..n {
        out[i] = row[i] + (part[0] * (a[i] - row[i]) + part[1] * (b[i] - row[i]));
    }
}

each_level! { fn between(share: f32, ends: [&[f32]; 2], out: &mut [f32]) = between_kernel; }

#[inline(always)]
fn between_kernel<S: Simd>(_: S, share: f32, [low, high]: [&[f32]; 2], out: &mut [f32]) {
    let n = out.len();
    let (low, high) = (&low[..n], &high[..n]);
    for i in 0..n {
        out[i] = low[i] + share * (high[i] - low[i]);
    }
}

each_level! {
    fn inside(
        scales: [f32; 3], inner: Pair, row: &[f32], ends: [&[f32]; 2], beside: [[&[f32]; 2]; 2], sums: [&[f32]; 3], out: &mut [f32],
    ) = inside_kernel;
}

/// Finer faces between the two faces of each cell, without their variation along x. `row` is linear between
/// `ends`; all three have one face more at each end. `beside` are the neighbours of both ends along the other
/// axis.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn inside_kernel<S: Simd>(
    _: S,
    [share, p, q]: [f32; 3],
    inner: Pair,
    row: &[f32],
    ends: [&[f32]; 2],
    [below, above]: [[&[f32]; 2]; 2],
    sums: [&[f32]; 3],
    out: &mut [f32],
) {
    let n = out.len();
    let (row, [low, high]) = (&row[1..][..n], ends.map(|end| &end[1..][..n]));
    let ([a, b], [c, d]) = (below.map(|row| &row[..n]), above.map(|row| &row[..n]));
    let [s0, s, s1] = sums.map(|sum| &sum[..n]);
    for i in 0..n {
        let first = p * (a[i] - low[i]) + q * (b[i] - low[i]);
        let second = p * (c[i] - high[i]) + q * (d[i] - high[i]);
        let flux = inner[0] * (s0[i] - s[i]) + inner[1] * (s1[i] - s[i]);
        out[i] = row[i] + (first + share * (second - first)) + flux;
    }
}

each_level! { fn spread_2(weights: &Weights, row: &[f32], base: &[f32], out: &mut [f32]) = spread_kernel, 2; }
each_level! { fn spread_3(weights: &Weights, row: &[f32], base: &[f32], out: &mut [f32]) = spread_kernel, 3; }
each_level! { fn spread_4(weights: &Weights, row: &[f32], base: &[f32], out: &mut [f32]) = spread_kernel, 4; }

/// Finer faces along x of faces across another axis: `base` plus the variation of `row`, which has one face
/// more at each end.
#[inline(always)]
fn spread_kernel<S: Simd, const N: usize>(
    _: S,
    weights: &Weights,
    row: &[f32],
    base: &[f32],
    out: &mut [f32],
) {
    let n = base.len();
    let row = &row[..n + 2];
    let parts = &weights.parts;
    for (i, out) in out.as_chunks_mut::<N>().0[..n].iter_mut().enumerate() {
        let (below, above) = (row[i] - row[i + 1], row[i + 2] - row[i + 1]);
        for p in 0..N {
            out[p] = base[i] + (parts[p][0] * below + parts[p][1] * above);
        }
    }
}
