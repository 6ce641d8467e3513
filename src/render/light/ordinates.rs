//! Light scattered any number of times, by discrete ordinates (Chandrasekhar 1950; Lathrop and Carlson 1965).
//!
//! The radiance L of the equation of transfer
//!
//! ```text
//! Ω·∇L = σ (S − L)        S = ω (∫ p(Ω·Ω′) L(Ω′) dΩ′ + E T p(Ω·Ω_sun)) + emission
//! ```
//!
//! is solved in fourteen directions, to the six faces and the eight corners of a cell, with weights 1/15 and 3/40, which
//! integrate polynomials up to the fifth degree exactly. A step along any of them ends in the middle of a cell, so nothing
//! is interpolated. S is taken from the mean radiance φ and the net flux J, both over 4π, and is updated from sweep to
//! sweep. Light scattered forward within a few degrees counts as not scattered (delta-Eddington: Joseph,
//! Wiscombe and Weinman 1976): a share f, its second moment, is taken off the extinction.
//!
//! Smooth errors fade slowly from sweep to sweep, so a solution begins on coarse grids.

use rayon::prelude::*;

use crate::grid::Dims;
use crate::render::exp::exp;
use crate::simd::{dispatch, fma, greatest};

/// Directions: to the faces, then to the corners.
const DIRECTIONS: usize = 14;

/// A phase function with its forward peak taken off.
#[derive(Clone, Copy, Debug)]
pub(in crate::render) struct Phase {
    /// Share of scattered light that counts as not scattered.
    pub forward: f32,
    /// Mean cosine of the rest.
    pub g: f32,
}

/// Cubes of medium.
#[derive(Clone, Debug)]
pub(super) struct Medium {
    pub dims: Dims,
    /// Edge of a cube \[m\].
    pub h: f32,
    /// Extinction \[1/m\].
    pub extinction: Vec<f32>,
    /// Single-scattering albedo in red, green and blue.
    pub albedo: [Vec<f32>; 3],
    /// The sun's irradiance that arrives, not scattered or only forward.
    pub sun: [Vec<f32>; 3],
    /// Radiance of opaque medium by itself.
    pub emission: [Vec<f32>; 3],
}

impl Default for Medium {
    fn default() -> Self {
        Self {
            dims: Dims { nx: 1, ny: 1, nz: 1 },
            h: 1.0,
            extinction: Vec::new(),
            albedo: Default::default(),
            sun: Default::default(),
            emission: Default::default(),
        }
    }
}

/// Light from outside.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    /// Unit vector towards the sun.
    pub sun: [f32; 3],
    /// Radiance of the sky straight up and of the ground straight down, linear in the sine of elevation between.
    pub sky: [f32; 3],
    pub ground: [f32; 3],
    /// The floor below the box, if there is one.
    pub floor: Option<FloorBelow>,
}

/// Radiance of a floor, the same in all directions.
#[derive(Clone, Debug)]
pub(super) struct FloorBelow {
    /// Beside the box.
    pub open: [f32; 3],
    /// Below each column of cubes, x fastest.
    pub columns: Vec<[f32; 3]>,
}

/// Moments of the radiance of one colour.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    /// φ, the mean over all directions.
    pub mean: Vec<f32>,
    /// J, the mean of radiance times direction.
    pub flux: [Vec<f32>; 3],
}

/// Sweeps on each level of grids, the finest first; further levels take as many as the last.
pub(super) type Sweeps<'a> = &'a [usize];

/// φ and J of the light in `medium` that is not the sun's own.
pub(super) fn solve(medium: &Medium, phase: Phase, outside: &Outside, sweeps: Sweeps) -> [Moments; 3] {
    let mut levels = vec![];
    let mut level = padded(medium);
    while level.dims.array().into_iter().max() > Some(8) {
        let next = coarsened(&level);
        levels.push(std::mem::replace(&mut level, next));
    }
    levels.push(level);
    let solved: Vec<Moments> = (0..3)
        .into_par_iter()
        .map(|channel| {
            let mut before: Option<(Dims, Moments)> = None;
            for (n, level) in levels.iter().enumerate().rev() {
                let mut solver = Level::new(level, channel, phase, outside);
                if let Some(floor) = &outside.floor {
                    solver.floor = floor.rows(medium.dims, level.dims, n, channel);
                }
                let start = match before.take() {
                    Some((dims, coarse)) => refined(&coarse, dims, level.dims),
                    None => solver.open(outside, channel),
                };
                let count = sweeps[n.min(sweeps.len() - 1)];
                before = Some((level.dims, solver.iterate(start, count)));
            }
            let (dims, moments) = before.expect("at least one level");
            unpadded(&moments, dims, medium.dims)
        })
        .collect();
    solved.try_into().expect("three colours")
}

/// A medium with rows of whole strips: the cells behind its own are empty. So are those of coarser levels.
fn padded(medium: &Medium) -> Medium {
    let Dims { nx, ny, nz } = medium.dims;
    let dims = Dims { nx: nx.next_multiple_of(2 * LANES), ny, nz };
    let pad = |values: &Vec<f32>| resized_rows(values, nx, dims.nx);
    let three = |values: &[Vec<f32>; 3]| values.each_ref().map(pad);
    Medium {
        dims,
        h: medium.h,
        extinction: pad(&medium.extinction),
        albedo: three(&medium.albedo),
        sun: three(&medium.sun),
        emission: three(&medium.emission),
    }
}

/// Moments without the cells behind their own.
fn unpadded(moments: &Moments, from: Dims, to: Dims) -> Moments {
    let cut = |values: &Vec<f32>| resized_rows(values, from.nx, to.nx);
    Moments { mean: cut(&moments.mean), flux: moments.flux.each_ref().map(cut) }
}

/// Values in rows of another length, with zeros at the end.
fn resized_rows(values: &[f32], from: usize, to: usize) -> Vec<f32> {
    let mut out = vec![0.0; values.len() / from * to];
    for (row, out) in values.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
        let count = from.min(to);
        out[..count].copy_from_slice(&row[..count]);
    }
    out
}

/// The same medium in cubes of twice the edge.
fn coarsened(fine: &Medium) -> Medium {
    let size = fine.dims.array().map(|n| n.div_ceil(2));
    let dims = Dims { nx: size[0].next_multiple_of(LANES), ny: size[1], nz: size[2] };
    let zeros = || vec![0.0_f32; dims.cells()];
    let three = || [zeros(), zeros(), zeros()];
    let mut coarse = Medium {
        dims,
        h: 2.0 * fine.h,
        extinction: zeros(),
        albedo: three(),
        sun: three(),
        emission: three(),
    };
    let [nx, ny, _] = fine.dims.array();
    for n in 0..fine.dims.cells() {
        let to = dims.index(n % nx / 2, n / nx % ny / 2, n / (nx * ny) / 2);
        let extinction = fine.extinction[n];
        if extinction == 0.0 {
            continue;
        }
        coarse.extinction[to] += 0.125 * extinction;
        for c in 0..3 {
            coarse.albedo[c][to] += 0.125 * extinction * fine.albedo[c][n];
            coarse.sun[c][to] += 0.125 * extinction * fine.sun[c][n];
            coarse.emission[c][to] += 0.125 * extinction * fine.emission[c][n];
        }
    }
    for n in 0..dims.cells() {
        let scale = 1.0 / coarse.extinction[n].max(1e-12);
        for c in 0..3 {
            coarse.albedo[c][n] *= scale;
            coarse.sun[c][n] *= scale;
            coarse.emission[c][n] *= scale;
        }
    }
    coarse
}

/// A solution on cubes of half the edge, interpolated.
fn refined(coarse: &Moments, from: Dims, to: Dims) -> Moments {
    let near = |n: usize, count: usize| {
        let other = if n.is_multiple_of(2) { (n / 2).saturating_sub(1) } else { (n / 2 + 1).min(count - 1) };
        [n / 2, other]
    };
    let refine = |values: &Vec<f32>| {
        let mut out = vec![0.0; to.cells()];
        let mut blended = vec![0.0; from.nx];
        for (row, out) in out.chunks_exact_mut(to.nx).enumerate() {
            let ([j, j2], [k, k2]) = (near(row % to.ny, from.ny), near(row / to.ny, from.nz));
            let of = |j: usize, k: usize| &values[from.index(0, j, k)..][..from.nx];
            let (a, b, c, d) = (of(j, k), of(j2, k), of(j, k2), of(j2, k2));
            for (i, x) in blended.iter_mut().enumerate() {
                *x = 0.75 * (0.75 * a[i] + 0.25 * b[i]) + 0.25 * (0.75 * c[i] + 0.25 * d[i]);
            }
            for (i, pair) in out.chunks_exact_mut(2).enumerate() {
                let (below, above) = (blended[i.saturating_sub(1)], blended[(i + 1).min(from.nx - 1)]);
                pair[0] = 0.75 * blended[i] + 0.25 * below;
                pair[1] = 0.75 * blended[i] + 0.25 * above;
            }
        }
        out
    };
    Moments { mean: refine(&coarse.mean), flux: coarse.flux.each_ref().map(refine) }
}

/// Directions as steps from cell to cell, with their weights.
fn directions() -> [([i32; 3], f32); DIRECTIONS] {
    std::array::from_fn(|n| match n {
        0..6 => {
            let mut d = [0; 3];
            d[n / 2] = if n % 2 == 0 { 1 } else { -1 };
            (d, 1.0 / 15.0)
        }
        _ => (std::array::from_fn(|a| if (n - 6) >> a & 1 == 0 { 1 } else { -1 }), 0.075),
    })
}

/// The unit vector of a step.
fn unit(d: [i32; 3]) -> [f32; 3] {
    let length = (d.iter().map(|x| x * x).sum::<i32>() as f32).sqrt();
    d.map(|x| x as f32 / length)
}

/// One colour on one grid.
struct Level {
    dims: Dims,
    /// Transmittance of half a step to a face and to a corner.
    passes: [Vec<f32>; 2],
    /// Whether strips of cells hold anything.
    filled: Vec<bool>,
    /// ω′, the sun's source for an even phase function, and emission.
    albedo: Vec<f32>,
    sun: Vec<f32>,
    emission: Vec<f32>,
    g: f32,
    /// Radiance that comes in, and the share of the sun scattered into each direction over an even one.
    inflow: [f32; DIRECTIONS],
    sun_phase: [f32; DIRECTIONS],
    /// Radiance of the floor below each row along x, with a border as in [`Scratch`]; empty without a floor.
    floor: Vec<f32>,
}

impl FloorBelow {
    /// One colour below the cubes of level `n`, with a border.
    fn rows(&self, fine: Dims, level: Dims, n: usize, channel: usize) -> Vec<f32> {
        let near = |i: usize, count: usize| ((i << n) + (1 << n) / 2).min(count - 1);
        let width = level.nx + 2;
        let column = |at: usize| {
            let (x, z) = (near((at % width).saturating_sub(1), fine.nx), near(at / width, fine.nz));
            self.columns[x + z * fine.nx][channel]
        };
        (0..width * level.nz).map(column).collect()
    }
}

/// Light scattered by a sweep, for each cell.
struct Source {
    even: Vec<f32>,
    along: [Vec<f32>; 3],
}

impl Level {
    fn new(medium: &Medium, channel: usize, phase: Phase, outside: &Outside) -> Self {
        let cells = medium.dims.cells();
        let (mut near, mut far) = (Vec::with_capacity(cells), Vec::with_capacity(cells));
        let (mut albedo, mut sun) = (Vec::with_capacity(cells), Vec::with_capacity(cells));
        let mut emission = Vec::with_capacity(cells);
        for n in 0..cells {
            let omega = medium.albedo[channel][n].min(1.0);
            let left = 1.0 - omega * phase.forward;
            let depth = 0.5 * medium.h * medium.extinction[n] * left;
            let filled = depth > 0.0;
            near.push(if filled { exp(-depth) } else { 1.0 });
            far.push(if filled { exp(-3.0_f32.sqrt() * depth) } else { 1.0 });
            let scaled = omega * (1.0 - phase.forward) / left;
            albedo.push(scaled);
            sun.push(scaled * medium.sun[channel][n] / (4.0 * std::f32::consts::PI));
            emission.push(medium.emission[channel][n] / left);
        }
        let directions = directions();
        let even = |n: usize| {
            let cosine: f32 = (0..3).map(|a| -outside.sun[a] * unit(directions[n].0)[a]).sum();
            let g = phase.g;
            (1.0 - g * g) / (1.0 + g * g - 2.0 * g * cosine).powf(1.5)
        };
        let total: f32 = (0..DIRECTIONS).map(|n| directions[n].1 * even(n)).sum();
        Self {
            dims: medium.dims,
            filled: near.chunks(LANES).map(|passes| passes.iter().any(|&x| x < 1.0)).collect(),
            passes: [near, far],
            albedo,
            sun,
            emission,
            g: phase.g,
            inflow: std::array::from_fn(|n| {
                // Light that goes down comes from above.
                let up = 0.5 - 0.5 * unit(directions[n].0)[1];
                if let Some(floor) = outside.floor.as_ref().filter(|_| directions[n].0[1] > 0) {
                    return floor.open[channel];
                }
                outside.ground[channel] + (outside.sky[channel] - outside.ground[channel]) * up
            }),
            sun_phase: std::array::from_fn(|n| even(n) / total),
            floor: Vec::new(),
        }
    }

    /// Light from outside that nothing takes.
    fn open(&self, outside: &Outside, channel: usize) -> Moments {
        let cells = self.dims.cells();
        let (sky, ground) = (outside.sky[channel], outside.ground[channel]);
        let down = (ground - sky) / 6.0;
        Moments {
            mean: vec![0.5 * (sky + ground); cells],
            flux: [vec![0.0; cells], vec![down; cells], vec![0.0; cells]],
        }
    }

    fn iterate(&mut self, mut moments: Moments, count: usize) -> Moments {
        let cells = self.dims.cells();
        let zeros = || vec![0.0_f32; cells];
        let mut source = Source { even: zeros(), along: [zeros(), zeros(), zeros()] };
        let mut scratch = Scratch::new(self.dims);
        let ways: Vec<Way> = directions()
            .into_iter()
            .enumerate()
            .map(|(n, (d, weight))| Way {
                d,
                weight,
                inflow: self.inflow[n],
                sun: self.sun_phase[n],
                corner: n >= 6,
                omega: unit(d),
            })
            .collect();
        for _ in 0..count {
            scatter(self, &moments, &mut source);
            moments.mean.fill(0.0);
            moments.flux.iter_mut().for_each(|flux| flux.fill(0.0));
            sweep(self, &ways, &source, &mut scratch, &mut moments);
        }
        moments
    }
}

dispatch! {
    /// The source of the next sweep.
    fn scatter(level: &Level, moments: &Moments, source: &mut Source) = scatter_kernel;
}

#[inline(always)]
fn scatter_kernel<const FMA: bool>(level: &Level, moments: &Moments, source: &mut Source) {
    let count = level.albedo.len();
    let (albedo, emission) = (&level.albedo[..count], &level.emission[..count]);
    let (mean, even) = (&moments.mean[..count], &mut source.even[..count]);
    for n in 0..count {
        even[n] = albedo[n] * mean[n] + emission[n];
    }
    for a in 0..3 {
        let (flux, along) = (&moments.flux[a][..count], &mut source.along[a][..count]);
        for n in 0..count {
            along[n] = 3.0 * level.g * albedo[n] * flux[n];
        }
    }
}

/// One direction.
struct Way {
    d: [i32; 3],
    omega: [f32; 3],
    weight: f32,
    inflow: f32,
    sun: f32,
    corner: bool,
}

/// For each direction, radiance that leaves the cells of a plane and of the one before, with a border.
struct Scratch {
    before: [Vec<f32>; DIRECTIONS],
    after: [Vec<f32>; DIRECTIONS],
}

impl Scratch {
    fn new(dims: Dims) -> Self {
        let zeros = |_| vec![0.0; (dims.nx + 2) * (dims.ny + 2)];
        Self { before: std::array::from_fn(zeros), after: std::array::from_fn(zeros) }
    }
}

dispatch! {
    /// All cells along all directions, added to the moments.
    fn sweep(level: &Level, ways: &[Way], source: &Source, scratch: &mut Scratch, moments: &mut Moments) = sweep_kernel;
}

/// Plane after plane, first those that go up and those that stay in the plane, then those that go down: what they share of a
/// plane stays in the nearest cache.
#[inline(always)]
fn sweep_kernel<const FMA: bool>(
    level: &Level,
    ways: &[Way],
    source: &Source,
    scratch: &mut Scratch,
    moments: &mut Moments,
) {
    let nz = level.dims.nz;
    for (n, way) in ways.iter().enumerate() {
        scratch.before[n].fill(way.inflow);
        scratch.after[n].fill(way.inflow);
    }
    for down in [false, true] {
        for step in 0..nz {
            let k = if down { nz - 1 - step } else { step };
            for (n, way) in ways.iter().enumerate().filter(|(_, way)| (way.d[2] < 0) == down) {
                let (before, after) = (&mut scratch.before[n], &mut scratch.after[n]);
                let width = level.dims.nx + 2;
                let floor = level.floor.get(k * width..(k + 1) * width).filter(|_| way.d[1] > 0);
                if way.d[2] != 0 {
                    if let Some(floor) = floor {
                        before[..width].copy_from_slice(floor);
                    }
                    plane::<FMA>(level, way, source, k, before, after, moments);
                    std::mem::swap(before, after);
                } else if way.d[1] != 0 {
                    let rows = level.dims.ny;
                    before.fill(way.inflow);
                    if let Some(floor) = floor {
                        before[..width].copy_from_slice(floor);
                    }
                    for step in 0..rows {
                        let j = if way.d[1] < 0 { rows - 1 - step } else { step };
                        row::<FMA>(level, way, source, [j, k], &before[1..], &mut after[1..], moments);
                        std::mem::swap(before, after);
                    }
                } else {
                    along_rows(level, way, source, k, moments);
                }
            }
        }
    }
}

/// A plane from the plane before it.
#[inline(always)]
fn plane<const FMA: bool>(
    level: &Level,
    way: &Way,
    source: &Source,
    k: usize,
    before: &[f32],
    after: &mut [f32],
    moments: &mut Moments,
) {
    let width = level.dims.nx + 2;
    let [dx, dy, _] = way.d;
    for j in 0..level.dims.ny {
        let from = ((j + 1) as i32 - dy) * width as i32 + 1 - dx;
        let to = (j + 1) * width + 1;
        row::<FMA>(level, way, source, [j, k], &before[from as usize..], &mut after[to..], moments);
    }
}

/// Cells of a row that are worked on together.
const LANES: usize = 8;

#[inline(always)]
fn lanes(values: &[f32], at: usize) -> [f32; LANES] {
    *values[at..].first_chunk().expect("rows of whole lanes")
}

/// Adds a factor of one strip to another.
#[inline(always)]
fn add<const FMA: bool>(to: &mut [f32], at: usize, factor: f32, from: &[f32; LANES]) {
    let mut sum = lanes(to, at);
    for i in 0..LANES {
        sum[i] = fma::<FMA>(factor, from[i], sum[i]);
    }
    to[at..at + LANES].copy_from_slice(&sum);
}

/// A row from what enters each of its cells.
#[inline(always)]
fn row<const FMA: bool>(
    level: &Level,
    way: &Way,
    source: &Source,
    [j, k]: [usize; 2],
    from: &[f32],
    to: &mut [f32],
    moments: &mut Moments,
) {
    let Dims { nx, ny, .. } = level.dims;
    let start = (k * ny + j) * nx;
    let Moments { mean, flux: [fx, fy, fz] } = moments;
    let [wx, wy, wz] = way.omega.map(|x| way.weight * x);
    let [x, y, z] = way.omega;
    let passes = &level.passes[usize::from(way.corner)];
    for c in 0..nx / LANES {
        let at = start + c * LANES;
        let mut middle = lanes(from, c * LANES);
        if level.filled[at / LANES] {
            let (passes, sun) = (lanes(passes, at), lanes(&level.sun, at));
            let mut sent = lanes(&source.even, at);
            let along =
                [lanes(&source.along[0], at), lanes(&source.along[1], at), lanes(&source.along[2], at)];
            let mut leaves = [0.0; LANES];
            for i in 0..LANES {
                sent[i] = fma::<FMA>(x, along[0][i], sent[i]);
                sent[i] = fma::<FMA>(y, along[1][i], sent[i]);
                sent[i] = fma::<FMA>(z, along[2][i], sent[i]);
                sent[i] = fma::<FMA>(way.sun, sun[i], greatest(sent[i], 0.0));
                // Towards the source by what half a step takes.
                middle[i] = fma::<FMA>(passes[i], middle[i] - sent[i], sent[i]);
                leaves[i] = fma::<FMA>(passes[i], middle[i] - sent[i], sent[i]);
            }
            to[c * LANES..][..LANES].copy_from_slice(&leaves);
        } else {
            to[c * LANES..][..LANES].copy_from_slice(&middle);
        }
        add::<FMA>(mean, at, way.weight, &middle);
        if wx != 0.0 {
            add::<FMA>(fx, at, wx, &middle);
        }
        if wy != 0.0 {
            add::<FMA>(fy, at, wy, &middle);
        }
        if wz != 0.0 {
            add::<FMA>(fz, at, wz, &middle);
        }
    }
}

/// All rows of a plane along themselves, several side by side.
#[inline(always)]
fn along_rows(level: &Level, way: &Way, source: &Source, k: usize, moments: &mut Moments) {
    const ROWS: usize = 8;
    let Dims { nx, ny, .. } = level.dims;
    let plane = k * ny * nx..(k + 1) * ny * nx;
    let (passes, sun) = (&level.passes[0][plane.clone()], &level.sun[plane.clone()]);
    let (even, ax) = (&source.even[plane.clone()], &source.along[0][plane.clone()]);
    let mean = &mut moments.mean[plane.clone()];
    let flux = &mut moments.flux[0][plane];
    for first in (0..ny).step_by(ROWS) {
        let rows = ROWS.min(ny - first);
        let mut leaves = [way.inflow; ROWS];
        for step in 0..nx {
            let i = if way.d[0] < 0 { nx - 1 - step } else { step };
            for (j, leaves) in leaves.iter_mut().enumerate().take(rows) {
                let n = (first + j) * nx + i;
                let scattered = greatest(even[n] + way.omega[0] * ax[n], 0.0) + way.sun * sun[n];
                let own = (1.0 - passes[n]) * scattered;
                let middle = *leaves * passes[n] + own;
                *leaves = middle * passes[n] + own;
                mean[n] += way.weight * middle;
                flux[n] += way.weight * way.omega[0] * middle;
            }
        }
    }
}
