//! A sweep: the radiance of all cubes along half of the directions, summed to their moments.
//!
//! Both halves run side by side. One moves plane after plane along z and row after row along y, the other back. The four
//! directions to corners, one to a face and one along y of a strip of eight cubes are worked on together: they share the
//! medium, and their sums stay in registers. Directions along x take blocks of eight rows, transposed.

use super::levels::{Color, Grid};
use super::{CORNER, FACE, Moments};
use crate::grid::Dims;
use crate::solver::simd::each_level;
use crate::solver::simd_eights::{EIGHT, Eights};

/// Directions of a half that end in corners.
const CORNERS: usize = 4;
/// Share of a step to a corner along each axis.
const DIAGONAL: f32 = 0.577_350_26;

/// Half of the directions: their moments, and the radiance on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Half {
    pub moments: Moments,
    /// Radiance that leaves the cubes of a plane towards corners, and of the plane before it, with a border of a cube.
    after: [Vec<f32>; CORNERS],
    before: [Vec<f32>; CORNERS],
    /// Radiance that leaves the cubes of a plane along z, and of a row along y.
    along_z: Vec<f32>,
    along_y: Vec<f32>,
}

impl Half {
    /// Makes room for a grid.
    pub fn fit(&mut self, dims: Dims) {
        self.moments.all_mut().into_iter().for_each(|values| values.resize(dims.cells(), 0.0));
        let plane = (dims.nx + 2) * (dims.ny + 2);
        self.after.iter_mut().chain(&mut self.before).for_each(|values| values.resize(plane, 0.0));
        self.along_z.resize(dims.nx * dims.ny, 0.0);
        self.along_y.resize(dims.nx, 0.0);
    }

    /// Takes all light out.
    pub fn clear(&mut self) {
        self.moments.all_mut().into_iter().for_each(|values| values.fill(0.0));
    }
}

each_level! {
    /// Replaces the moments of one half of the directions, those that move up along z or down: where there is medium, and
    /// in the last sweep where they are wanted.
    pub(super) fn sweep_half(color: &Color, grid: &Grid, half: &mut Half, up: bool, last: bool) = sweep_kernel;
}

#[inline(always)]
fn sweep_kernel<S: Eights>(simd: S, color: &Color, grid: &Grid, half: &mut Half, up: bool, last: bool) {
    let Dims { nx, ny, nz } = grid.dims;
    let width = nx + 2;
    let way = Way::new(simd, color, up);
    for n in 0..CORNERS {
        half.before[n].fill(way.inflow_corner[n]);
        half.after[n].fill(way.inflow_corner[n]);
    }
    half.along_z.fill(way.inflow_z);
    for step in 0..nz {
        let k = if up { step } else { nz - 1 - step };
        half.along_y.fill(way.inflow_y);
        if let Some(floor) = color.floor.get(k * width..(k + 1) * width) {
            // The first two corners lie up along y.
            half.before[..2].iter_mut().for_each(|before| before[..width].copy_from_slice(floor));
            if up {
                half.along_y.copy_from_slice(&floor[1..=nx]);
            }
        }
        for step in 0..ny {
            let j = if up { step } else { ny - 1 - step };
            row(simd, color, grid, &way, half, [j, k], last);
        }
        std::mem::swap(&mut half.before, &mut half.after);
        // Either half takes the rows of half the planes.
        if up == (2 * k < nz) {
            along_x(simd, color, grid, &mut half.moments, k, last);
        }
    }
}

/// What the directions of a half have for all cubes.
#[derive(Clone, Copy)]
struct Way<S: Eights> {
    /// Radiance that comes in.
    inflow_corner: [f32; CORNERS],
    inflow_y: f32,
    inflow_z: f32,
    /// Share of the sun scattered into each.
    sun_corner: [S::Values; CORNERS],
    sun_y: S::Values,
    sun_z: S::Values,
    /// 1 if they move up, −1 if down.
    sign: S::Values,
}

impl<S: Eights> Way<S> {
    #[inline(always)]
    fn new(simd: S, color: &Color, up: bool) -> Self {
        let (y, z, corner, sign) = if up { (2, 4, 6, 1.0) } else { (3, 5, 10, -1.0) };
        let sun = &color.sun_phase;
        Self {
            inflow_corner: [0, 1, 2, 3].map(|n| color.inflow[corner + n]),
            inflow_y: color.inflow[y],
            inflow_z: color.inflow[z],
            sun_corner: [
                simd.splat(sun[corner]),
                simd.splat(sun[corner + 1]),
                simd.splat(sun[corner + 2]),
                simd.splat(sun[corner + 3]),
            ],
            sun_y: simd.splat(sun[y]),
            sun_z: simd.splat(sun[z]),
            sign: simd.splat(sign),
        }
    }
}

#[inline(always)]
fn load<S: Eights>(simd: S, values: &[f32], at: usize) -> S::Values {
    simd.load(values[at..].first_chunk().expect("rows of whole strips"))
}

#[inline(always)]
fn store<S: Eights>(simd: S, x: S::Values, values: &mut [f32], at: usize) {
    simd.store(x, values[at..].first_chunk_mut().expect("rows of whole strips"));
}

/// Adds to a strip.
#[inline(always)]
fn add<S: Eights>(simd: S, x: S::Values, values: &mut [f32], at: usize) {
    let strip = values[at..].first_chunk_mut().expect("rows of whole strips");
    simd.store(simd.add(simd.load(strip), x), strip);
}

/// Radiance sent into a direction: `scattered`, not below 0, and a share of the sun.
#[inline(always)]
fn sent<S: Eights>(simd: S, scattered: S::Values, share: S::Values, sun: S::Values) -> S::Values {
    simd.mul_add(share, sun, simd.greatest(scattered, simd.splat(0.0)))
}

/// Half a step through a cube: towards the source by what the medium takes.
#[inline(always)]
fn half_step<S: Eights>(simd: S, radiance: S::Values, passes: S::Values, source: S::Values) -> S::Values {
    simd.mul_add(passes, simd.sub(radiance, source), source)
}

/// A row of cubes, in all directions but those along x.
#[inline(always)]
fn row<S: Eights>(
    simd: S,
    color: &Color,
    grid: &Grid,
    way: &Way<S>,
    half: &mut Half,
    [j, k]: [usize; 2],
    last: bool,
) {
    let Dims { nx, ny, .. } = grid.dims;
    let width = nx + 2;
    // A corner's step along x and y, as an offset in a plane with a border.
    let back = [(j * width), (j * width + 2), (j + 2) * width, (j + 2) * width + 2];
    let here = (j + 1) * width + 1;
    let diagonal = simd.splat(DIAGONAL);
    let (corner, face) = (simd.splat(CORNER), simd.splat(FACE));
    for i in (0..nx).step_by(EIGHT) {
        let at = (k * ny + j) * nx + i;
        let strip = at / EIGHT;
        let mut corners = [simd.splat(0.0); CORNERS];
        for n in 0..CORNERS {
            corners[n] = load(simd, &half.before[n], back[n] + i);
        }
        let mut along_z = load(simd, &half.along_z, j * nx + i);
        let mut along_y = load(simd, &half.along_y, i);
        if grid.filled[strip] {
            let sun = load(simd, &color.sun, at);
            let even = load(simd, &color.even, at);
            let [x, y, z] = [
                load(simd, &color.along[0], at),
                load(simd, &color.along[1], at),
                load(simd, &color.along[2], at),
            ];
            let (y_signed, z_signed) = (simd.mul(way.sign, y), simd.mul(way.sign, z));
            let far = load(simd, &color.passes[1], at);
            let (x, y) = (simd.mul(diagonal, x), simd.mul(diagonal, y));
            let middle = simd.mul_add(diagonal, z_signed, even);
            let (front, behind) = (simd.add(middle, y), simd.sub(middle, y));
            let scattered =
                [simd.add(front, x), simd.sub(front, x), simd.add(behind, x), simd.sub(behind, x)];
            for n in 0..CORNERS {
                let source = sent(simd, scattered[n], way.sun_corner[n], sun);
                corners[n] = half_step(simd, corners[n], far, source);
                store(simd, half_step(simd, corners[n], far, source), &mut half.after[n], here + i);
            }
            let near = load(simd, &color.passes[0], at);
            let source = sent(simd, simd.add(even, z_signed), way.sun_z, sun);
            along_z = half_step(simd, along_z, near, source);
            store(simd, half_step(simd, along_z, near, source), &mut half.along_z, j * nx + i);
            let source = sent(simd, simd.add(even, y_signed), way.sun_y, sun);
            along_y = half_step(simd, along_y, near, source);
            store(simd, half_step(simd, along_y, near, source), &mut half.along_y, i);
        } else {
            for n in 0..CORNERS {
                store(simd, corners[n], &mut half.after[n], here + i);
            }
            if !(last && grid.wanted[strip]) {
                continue;
            }
        }
        let (front, behind) = (simd.add(corners[0], corners[1]), simd.add(corners[2], corners[3]));
        let (ahead, back) = (simd.add(corners[0], corners[2]), simd.add(corners[1], corners[3]));
        let all = simd.mul(corner, simd.add(front, behind));
        let aside = simd.mul(corner, diagonal);
        let Moments { mean, flux: [x, y, z] } = &mut half.moments;
        store(simd, simd.mul_add(face, simd.add(along_z, along_y), all), mean, at);
        store(simd, simd.mul(aside, simd.sub(ahead, back)), x, at);
        let y_signed = simd.mul(simd.mul(way.sign, face), along_y);
        store(simd, simd.mul_add(aside, simd.sub(front, behind), y_signed), y, at);
        let z_sum = simd.mul_add(diagonal, all, simd.mul(face, along_z));
        store(simd, simd.mul(way.sign, z_sum), z, at);
    }
}

/// All rows of a plane along themselves, in both directions, added to the moments.
#[inline(always)]
fn along_x<S: Eights>(simd: S, color: &Color, grid: &Grid, moments: &mut Moments, k: usize, last: bool) {
    let Dims { nx, ny, .. } = grid.dims;
    for first in (0..ny).step_by(EIGHT) {
        let rows: [usize; EIGHT] = std::array::from_fn(|n| (k * ny + (first + n).min(ny - 1)) * nx);
        for (direction, sign) in [(0, 1.0), (1, -1.0)] {
            let mut radiance = simd.splat(color.inflow[direction]);
            let (share, sign) = (simd.splat(color.sun_phase[direction]), simd.splat(sign));
            for step in (0..nx).step_by(EIGHT) {
                let i = if direction == 0 { step } else { nx - EIGHT - step };
                let strip = |row: usize| (row + i) / EIGHT;
                let filled = rows.iter().any(|&row| grid.filled[strip(row)]);
                if !filled && !(last && rows.iter().any(|&row| grid.wanted[strip(row)])) {
                    continue;
                }
                let (mut passes, mut sources) = ([simd.splat(1.0); EIGHT], [simd.splat(0.0); EIGHT]);
                for n in 0..EIGHT {
                    let at = rows[n] + i;
                    if grid.filled[at / EIGHT] {
                        let flux = load(simd, &color.along[0], at);
                        let scattered = simd.mul_add(sign, flux, load(simd, &color.even, at));
                        sources[n] = sent(simd, scattered, share, load(simd, &color.sun, at));
                        passes[n] = load(simd, &color.passes[0], at);
                    }
                }
                let (passes, sources) = (simd.transpose(passes), simd.transpose(sources));
                let mut middles = [simd.splat(0.0); EIGHT];
                for step in 0..EIGHT {
                    let i = if direction == 0 { step } else { EIGHT - 1 - step };
                    middles[i] = half_step(simd, radiance, passes[i], sources[i]);
                    let both = simd.mul(passes[i], passes[i]);
                    radiance = simd.mul_add(both, radiance, simd.mul_sub_from(both, sources[i], sources[i]));
                }
                let middles = simd.transpose(middles);
                for n in 0..EIGHT.min(ny - first) {
                    let strip = strip(rows[n]);
                    if !grid.filled[strip] && !(last && grid.wanted[strip]) {
                        continue;
                    }
                    let weighted = simd.mul(simd.splat(FACE), middles[n]);
                    add(simd, weighted, &mut moments.mean, rows[n] + i);
                    add(simd, simd.mul(sign, weighted), &mut moments.flux[0], rows[n] + i);
                }
            }
        }
    }
}
