//! Direct pressure solve in an empty box.
//!
//! With φ = p Δt/(ρ h) the projection finds φ with −∇²φ = −D on the unit grid, then subtracts differences of
//! φ from the faces. D is the undivided divergence u_(i+1) − u_i + v_(j+1) − v_j + w_(k+1) − w_k. Transforms
//! along x and y turn the equation into one tridiagonal system along z for each pair of wavenumbers (Hockney
//! 1965; Swarztrauber 1977). Thomas' algorithm solves it exactly: the residual is f32 rounding.
//!
//! Planes of the spectrum are stored as `[y block][k_x][32 lanes]`, where lanes are 32 values of k_y. The x
//! transform writes that order and its inverse reads it, so no transposition lies between them.

use rayon::prelude::*;

use super::boundary::PressureBoundary::{Dirichlet, Neumann, Periodic};
use super::boundary::{AxisBoundary, has_null_space, is_periodic};
use super::fft::Lane;
use super::transform::{PAIR, Transform, Work, eigenvalues};
use super::tridiagonal::{self, Columns};
use crate::grid::{Dims, Faces, GHOST, Layout};
use crate::simd::transpose::{lanes_of_rows, rows_of_lanes};
use crate::simd::{LANES, Simd, each_level, greatest, rest, sixteen};
use crate::solver::project::pressure::{Blend, blend_plane};
use crate::solver::storage::halt::Halt;
use crate::solver::storage::ranks::{Ranks, Stack};
use crate::solver::storage::row_passes::{PerThread, planes_per_task};

/// Most planes whose gradient one task subtracts. Each task recomputes one plane of pressure, so more is cheaper;
/// fewer keep more threads busy.
const SLAB: usize = 16;

/// The solver for one box.
pub struct Spectral {
    layout: Layout,
    x: Transform,
    y: Transform,
    ends: [AxisBoundary; 3],
    /// λ_x + λ_y of each value of a plane of the spectrum; 1 in padding lanes.
    lambda: Vec<f32>,
    /// Distance between planes of the spectrum.
    plane: usize,
    /// Before the projection, for each plane: largest divergence, largest component of the velocity.
    before: Vec<[f32; 2]>,
    scratch: PerThread<Scratch>,
    ranks: Ranks,
}

struct Scratch {
    /// A plane of values, rows `pitch` apart, both lengths rounded up to whole blocks.
    values: Vec<f32>,
    /// The plane of pressure below it.
    below: Vec<f32>,
    /// Interleaved rows of a group.
    lines: Vec<f32>,
    work: Work,
    columns: tridiagonal::Scratch,
}

/// Rounds up to whole pairs of lane groups.
pub(super) fn padded(n: usize) -> usize {
    n.next_multiple_of(PAIR)
}

/// Distance between planes of the spectrum of a box. Never a multiple of 64 KiB: planes would compete for the
/// same cache sets in the sweep along z.
fn plane_size(dims: Dims) -> usize {
    dims.nx * padded(dims.ny) + 64
}

impl Spectral {
    /// Makes a solver for fields of `layout` between the given ends of each axis, for a pool of `threads`.
    pub fn new(layout: Layout, ends: [AxisBoundary; 3], threads: usize) -> Self {
        let Dims { nx, ny, nz } = layout.dims;
        let (x, y) = (Transform::new(ends[0], nx), Transform::new(ends[1], ny));
        let plane = plane_size(layout.dims);
        let longest = x.block_len().max(y.block_len());
        let scratch = || Scratch {
            values: vec![0.0; padded(nx) * padded(ny)],
            below: vec![0.0; padded(nx) * padded(ny)],
            lines: vec![0.0; nx * PAIR],
            work: Work::new(longest),
            columns: tridiagonal::Scratch::new(nz),
        };
        let mut lambda = vec![1.0; nx * padded(ny)];
        let (lx, ly) = (eigenvalues(ends[0], nx), eigenvalues(ends[1], ny));
        for (at, value) in lambda.iter_mut().enumerate() {
            let (block, kx, lane) = (at / (PAIR * nx), at / PAIR % nx, at % PAIR);
            if let Some(ly) = ly.get(block * PAIR + lane) {
                *value = lx[kx] + ly;
            }
        }
        let (before, scratch) = (vec![[0.0; 2]; nz], PerThread::new(threads, scratch));
        Self { layout, x, y, ends, lambda, plane, before, scratch, ranks: Ranks::default() }
    }

    /// The same solver on the slab of one of several ranks.
    pub fn on(self, ranks: Ranks) -> Self {
        Self { layout: ranks.restrict(self.layout), ranks, ..self }
    }

    /// Number of values of the spectrum, which the caller lends.
    pub fn spectrum_size(dims: Dims) -> usize {
        plane_size(dims) * dims.nz
    }

    /// Removes the divergence of `velocity`. Faces on closed sides must hold the side's velocity and are not
    /// changed. On periodic axes face 0 is corrected and face n is not.
    ///
    /// `spectrum` is memory to work in, [`spectrum_size`](Self::spectrum_size) values or more. Returns the largest undivided
    /// divergence and the largest component of the velocity before the projection.
    pub fn project(
        &mut self,
        velocity: &mut Faces,
        spectrum: &mut [f32],
        blend: Option<Blend>,
        halt: &Halt,
    ) -> [f32; 2] {
        let spectrum = &mut spectrum[..Self::spectrum_size(self.layout.dims)];
        self.ranks.exchange(self.layout, [&mut velocity[2]], [0, 1]);
        self.analyse(velocity, spectrum, halt);
        // Each rank solves its share of the columns in all planes.
        let stack =
            Stack { plane: self.plane, width: self.lambda.len(), unit: tridiagonal::WIDTH, ghosts: 0 };
        self.ranks.to_columns(spectrum, stack);
        self.solve(spectrum, halt);
        self.ranks.to_planes(spectrum, stack, true);
        self.subtract_gradient(velocity, spectrum, blend, halt);
        self.before.iter().fold([0.0; 2], |most, plane| [0, 1].map(|c| greatest(plane[c], most[c])))
    }

    /// Computes the divergence and transforms it along y and x, plane by plane.
    fn analyse(&mut self, velocity: &Faces, spectrum: &mut [f32], halt: &Halt) {
        let Self { layout, x, y, plane, scratch, before, .. } = self;
        let scale = (x.scale() * y.scale()) as f32;
        let [from, to] = layout.cell_planes();
        let planes = spectrum[from * *plane..to * *plane].par_chunks_mut(*plane);
        planes.zip(before[from..to].par_iter_mut()).enumerate().for_each(|(k, (out, before))| {
            if halt.is_raised() {
                return;
            }
            let k = from + k;
            let mut mine = scratch.mine();
            let Scratch { values, lines, work, .. } = &mut *mine;
            *before = divergence(*layout, velocity, k, -scale, values);
            for x0 in (0..layout.dims.nx).step_by(PAIR) {
                let (columns, pitch) = (&mut values[x0..], padded(layout.dims.nx));
                y.read_values(columns, pitch, work);
                y.transform(work);
                y.write_coefficients(work, columns, pitch);
            }
            transform_x(*layout, x, values, out, (lines, work));
        });
        self.ranks.gather(before, 1);
    }

    /// Solves the tridiagonal systems along z.
    fn solve(&self, spectrum: &mut [f32], halt: &Halt) {
        let Self { layout, ends, lambda, plane, scratch, ranks, .. } = self;
        let width = lambda.len();
        let columns = Columns::new(spectrum, *plane, layout.dims.nz);
        let has_null = ends.iter().copied().all(has_null_space);
        ranks.columns(width.div_ceil(tridiagonal::WIDTH)).into_par_iter().for_each(|chunk| {
            if halt.is_raised() {
                return;
            }
            let at = chunk * tridiagonal::WIDTH;
            let lambda = &lambda[at..width.min(at + tridiagonal::WIDTH)];
            let mut mine = scratch.mine();
            // SAFETY: each chunk comes once, and chunks have disjoint columns.
            #[allow(unsafe_code)]
            unsafe {
                columns.solve(at, lambda, ends[2], has_null && at == 0, &mut mine.columns);
            }
        });
    }

    /// Inverse transforms, the pressure's differences taken from the faces, and the pressure added to where it is kept.
    fn subtract_gradient(&self, velocity: &mut Faces, spectrum: &[f32], blend: Option<Blend>, halt: &Halt) {
        let Self { layout, x, y, ends, plane, scratch, .. } = self;
        let (layout, nz) = (*layout, layout.dims.nz);
        let [low, high] = layout.within([0, nz as isize + 1]);
        let [u, v, w] = velocity;
        let inside = layout.span([low, high]);
        let in_task = planes_per_task(inside.len() / layout.plane, SLAB);
        let chunk = in_task * layout.plane;
        let (u, v, w) = (&mut u[inside.clone()], &mut v[inside.clone()], &mut w[inside.clone()]);
        let tasks = u.par_chunks_mut(chunk).zip(v.par_chunks_mut(chunk)).zip(w.par_chunks_mut(chunk));
        type Planes<'a> = ((&'a mut [f32], &'a mut [f32]), &'a mut [f32]);
        let shares = blend.as_ref().map_or([0.0; 2], |blend| [blend.keep, blend.add]);
        let slab = |task: usize, ((u, v), w): Planes, mut kept: Option<&mut [f32]>| {
            let mut mine = scratch.mine();
            let Scratch { values, below, lines, work, .. } = &mut *mine;
            let mut pressure = |k: usize, out: &mut Vec<f32>| {
                let spectrum = &spectrum[k * *plane..][..*plane];
                inverse_x(layout, x, spectrum, out, (lines, work));
                for x0 in (0..layout.dims.nx).step_by(PAIR) {
                    let (columns, pitch) = (&mut out[x0..], padded(layout.dims.nx));
                    y.read_coefficients(columns, pitch, work);
                    y.transform(work);
                    y.write_values(work, columns, pitch);
                }
            };
            let k0 = low as usize + task * in_task;
            let planes =
                u.chunks_mut(layout.plane).zip(v.chunks_mut(layout.plane)).zip(w.chunks_mut(layout.plane));
            if k0 > 0 {
                pressure(k0 - 1, below);
            } else if is_periodic(ends[2]) {
                pressure(nz - 1, below);
            }
            for (k, ((u, v), w)) in (k0..).zip(planes).take_while(|_| !halt.is_raised()) {
                if k < nz {
                    pressure(k, values);
                    gradient_xy(layout, values, ends, u, v);
                    if let Some(kept) = kept.as_deref_mut() {
                        let kept = &mut kept[(k - k0) * layout.plane..][..layout.plane];
                        blend_plane(layout, values, padded(layout.dims.nx), shares, kept);
                    }
                }
                gradient_z(layout, values, below, k, ends[2], w);
                std::mem::swap(values, below);
            }
        };
        match blend {
            Some(Blend { field, .. }) => {
                let tasks = tasks.zip(field[inside].par_chunks_mut(chunk)).enumerate();
                tasks.for_each(|(task, (planes, kept))| slab(task, planes, Some(kept)));
            }
            None => tasks.enumerate().for_each(|(task, planes)| slab(task, planes, None)),
        }
    }
}

/// Writes the undivided divergence of plane `k` times `scale`, rows `padded(nx)` apart. Returns the largest
/// unscaled divergence and the largest component of the velocity.
pub(super) fn divergence(
    layout: Layout,
    [u, v, w]: &Faces,
    k: usize,
    scale: f32,
    out: &mut [f32],
) -> [f32; 2] {
    let Dims { nx, ny, .. } = layout.dims;
    let mut most = [0.0; 2];
    for (j, row) in out.chunks_exact_mut(padded(nx)).enumerate() {
        row[nx..].fill(0.0);
        if j >= ny {
            row.fill(0.0);
            continue;
        }
        let at = layout.start(j, k);
        let v = [&v[at..][..nx], &v[at + layout.row..][..nx]];
        let w = [&w[at..][..nx], &w[at + layout.plane..][..nx]];
        divergence_row(scale, &u[at..][..nx + 1], v, w, &mut row[..nx], &mut most);
    }
    most
}

each_level! {
    fn divergence_row(
        scale: f32, u: &[f32], v: [&[f32]; 2], w: [&[f32]; 2], out: &mut [f32], most: &mut [f32; 2],
    ) = divergence_row_kernel;
}

#[inline(always)]
fn divergence_row_kernel<S: Simd>(
    _: S,
    scale: f32,
    u: &[f32],
    v: [&[f32]; 2],
    w: [&[f32]; 2],
    out: &mut [f32],
    most: &mut [f32; 2],
) {
    let n = out.len();
    let (u0, u1, [v0, v1], [w0, w1]) = (&u[..n], &u[1..][..n], v.map(|v| &v[..n]), w.map(|w| &w[..n]));
    let mut lanes = DivergenceLanes::default();
    let full = n - n % LANES;
    for from in (0..full).step_by(LANES) {
        let (u, v) = ([sixteen(u0, from), sixteen(u1, from)], [sixteen(v0, from), sixteen(v1, from)]);
        let sum = lanes.add(u, v, [sixteen(w0, from), sixteen(w1, from)]);
        for l in 0..LANES {
            out[from + l] = scale * sum[l];
        }
    }
    if full < n {
        let (u, v, w) = ([rest(u0), rest(u1)], [rest(v0), rest(v1)], [rest(w0), rest(w1)]);
        let sum = lanes.add([&u[0], &u[1]], [&v[0], &v[1]], [&w[0], &w[1]]);
        for (out, sum) in out[full..].iter_mut().zip(sum) {
            *out = scale * sum;
        }
    }
    for l in 0..LANES {
        *most = [greatest(lanes.largest[l], most[0]), greatest(lanes.speed[l], most[1])];
    }
}

/// Largest divergence and velocity of every sixteenth cell of a row.
#[derive(Default)]
struct DivergenceLanes {
    largest: Lane,
    speed: Lane,
}

impl DivergenceLanes {
    /// Returns the divergence of sixteen cells between the faces `u`, `v` and `w`.
    #[inline(always)]
    fn add(&mut self, [u0, u1]: [&Lane; 2], [v0, v1]: [&Lane; 2], [w0, w1]: [&Lane; 2]) -> Lane {
        let mut sums = [0.0; LANES];
        for l in 0..LANES {
            sums[l] = (u1[l] - u0[l]) + (v1[l] - v0[l]) + (w1[l] - w0[l]);
            self.largest[l] = greatest(sums[l].abs(), self.largest[l]);
            let x = greatest(u0[l].abs(), u1[l].abs());
            let y = greatest(v0[l].abs(), v1[l].abs());
            let z = greatest(w0[l].abs(), w1[l].abs());
            self.speed[l] = greatest(greatest(x, y), greatest(z, self.speed[l]));
        }
        sums
    }
}

/// Transforms a plane along x into the order of the spectrum, 32 rows at a time.
fn transform_x(
    layout: Layout,
    x: &Transform,
    values: &[f32],
    out: &mut [f32],
    (lines, work): (&mut [f32], &mut Work),
) {
    let nx = layout.dims.nx;
    let pitch = padded(nx);
    for (rows, out) in values.chunks_exact(PAIR * pitch).zip(out.chunks_exact_mut(PAIR * nx)) {
        let (a, b) = rows.split_at(LANES * pitch);
        lanes_of_rows(a, pitch, nx, PAIR, lines);
        lanes_of_rows(b, pitch, nx, PAIR, &mut lines[LANES..]);
        x.read_values(lines, PAIR, work);
        x.transform(work);
        x.write_coefficients(work, out, PAIR);
    }
}

/// Transforms a plane of the spectrum back to values along x.
fn inverse_x(
    layout: Layout,
    x: &Transform,
    spectrum: &[f32],
    values: &mut [f32],
    (lines, work): (&mut [f32], &mut Work),
) {
    let nx = layout.dims.nx;
    let pitch = padded(nx);
    for (rows, spectrum) in values.chunks_exact_mut(PAIR * pitch).zip(spectrum.chunks_exact(PAIR * nx)) {
        x.read_coefficients(spectrum, PAIR, work);
        x.transform(work);
        x.write_values(work, lines, PAIR);
        let (a, b) = rows.split_at_mut(LANES * pitch);
        rows_of_lanes(lines, PAIR, nx, pitch, a);
        rows_of_lanes(&lines[LANES..], PAIR, nx, pitch, b);
        // Columns of padding share a complex line with real ones. Without this they would grow from plane to
        // plane and swamp them.
        rows.chunks_exact_mut(pitch).for_each(|row| row[nx..].fill(0.0));
    }
}

/// Subtracts the differences of pressure along x and y from one plane of faces.
pub(super) fn gradient_xy(
    layout: Layout,
    pressure: &[f32],
    ends: &[AxisBoundary; 3],
    u: &mut [f32],
    v: &mut [f32],
) {
    let Dims { nx, ny, .. } = layout.dims;
    let pitch = padded(nx);
    let start = |j: usize| (j + GHOST) * layout.row + GHOST;
    for j in 0..ny {
        let p = &pressure[j * pitch..][..nx];
        let u = &mut u[start(j)..][..nx + 1];
        subtract(&mut u[1..nx], &p[1..], &p[..nx - 1]);
        u[0] -= match ends[0][0] {
            Neumann => 0.0,
            Dirichlet => 2.0 * p[0],
            Periodic => p[0] - p[nx - 1],
        };
        if let Dirichlet = ends[0][1] {
            u[nx] += 2.0 * p[nx - 1];
        }
    }
    for j in 1..ny {
        let (lo, hi) = (&pressure[(j - 1) * pitch..][..nx], &pressure[j * pitch..][..nx]);
        subtract(&mut v[start(j)..][..nx], hi, lo);
    }
    let (bottom, top) = (&pressure[..nx], &pressure[(ny - 1) * pitch..][..nx]);
    match ends[1][0] {
        Neumann => {}
        Dirichlet => add_twice(&mut v[start(0)..][..nx], bottom, -1.0),
        Periodic => subtract(&mut v[start(0)..][..nx], bottom, top),
    }
    if let Dirichlet = ends[1][1] {
        add_twice(&mut v[start(ny)..][..nx], top, 1.0);
    }
}

/// Subtracts the differences of pressure along z from plane `k` of faces, 0 ≤ k ≤ nz.
pub(super) fn gradient_z(
    layout: Layout,
    pressure: &[f32],
    below: &[f32],
    k: usize,
    ends: AxisBoundary,
    w: &mut [f32],
) {
    let Dims { nx, ny, nz } = layout.dims;
    let pitch = padded(nx);
    for j in 0..ny {
        let w = &mut w[(j + GHOST) * layout.row + GHOST..][..nx];
        let (lo, hi) = (&below[j * pitch..][..nx], &pressure[j * pitch..][..nx]);
        match k {
            0 => match ends[0] {
                Neumann => {}
                Dirichlet => add_twice(w, hi, -1.0),
                Periodic => subtract(w, hi, lo),
            },
            k if k < nz => subtract(w, hi, lo),
            _ => {
                if let Dirichlet = ends[1] {
                    add_twice(w, lo, 1.0);
                }
            }
        }
    }
}

each_level! { fn subtract(faces: &mut [f32], hi: &[f32], lo: &[f32]) = subtract_kernel; }

#[inline(always)]
fn subtract_kernel<S: Simd>(_: S, faces: &mut [f32], hi: &[f32], lo: &[f32]) {
    for ((face, hi), lo) in faces.iter_mut().zip(hi).zip(lo) {
        *face -= hi - lo;
    }
}

each_level! { fn add_twice(faces: &mut [f32], pressure: &[f32], sign: f32) = add_twice_kernel; }

#[inline(always)]
fn add_twice_kernel<S: Simd>(_: S, faces: &mut [f32], pressure: &[f32], sign: f32) {
    for (face, p) in faces.iter_mut().zip(pressure) {
        *face += 2.0 * sign * p;
    }
}
