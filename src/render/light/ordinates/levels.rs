//! Grids of cubes from fine to coarse, and the medium and the light of one colour on them.

mod acceleration;

use std::collections::BTreeMap;

use super::{DIRECTIONS, MediumCubes, Moments, Outside, Sources};
use crate::grid::Dims;
use crate::render::camera;
use crate::render::exp::exp;
use crate::render::medium::Phase;
use crate::simd::vectors::EIGHT;
use crate::simd::{Simd, each_level, greatest};

/// Directions of a half that end in corners.
pub(super) const CORNERS: usize = 4;
/// Directions whose radiance a half keeps.
pub(super) const KEPT: usize = CORNERS + 4;
/// A grid is coarsened while it is longer than this \[cubes\].
const SHORT: usize = 8;
/// Distance before a surface at which the light that arrives is read \[cubes\].
const BEFORE_WALL: f32 = 1.2;
/// Optical depth of a cube from which on sources are linear within it. Along an axis of a thinner one the change of a source shifts the mean
/// radiance by less than a twelfth of that change.
pub(in crate::render::light) const THICK: f32 = 1.0;
/// Cubes around the medium whose light is read: by interpolation, and by surfaces beside it.
const AROUND: usize = 3;

/// The cubes of a level, for all colours. Rows are padded to whole strips of eight cubes; those behind are empty.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub dims: Dims,
    h: f32,
    /// Cubes along x that are not padding.
    nx: usize,
    extinction: Vec<f32>,
    /// Whether strips of cubes hold any medium, whether any of their cubes is deeper than [`THICK`], and whether their light is read.
    pub filled: Vec<bool>,
    pub thick: Vec<bool>,
    pub wanted: Vec<bool>,
    walls: Vec<GridWall>,
}

/// One colour on one grid.
#[derive(Clone, Debug, Default)]
pub(super) struct Color {
    /// Red, green or blue.
    channel: usize,
    /// Albedo, the sun's irradiance and emission of the medium.
    medium: [Vec<f32>; 3],
    /// Light of further lights that is scattered: its even part, and its flux for a mean cosine of 1. Empty without such lights.
    lamps: [Vec<f32>; 4],
    /// Whether sources are linear within cubes.
    pub linear: bool,
    /// Transmittance to a face and to a corner: of half a step, or of a whole one with linear sources.
    pub passes: [Vec<f32>; 2],
    /// Means over such steps of the share that is left of radiance; empty without linear sources, as those that follow.
    pub means: [Vec<f32>; 2],
    /// Change of `even` and of `sun` over a cube, along each axis.
    pub changes: [Vec<f32>; 3],
    pub sun_changes: [Vec<f32>; 3],
    /// Moments at the beginning of the last two steps of [`Color::accelerate`].
    begun: [Moments; 2],
    /// ω′, the sun's source for an even phase function, and emission; 0 where there is no medium.
    albedo: Vec<f32>,
    pub sun: Vec<f32>,
    emission: Vec<f32>,
    g: f32,
    /// Whether solids reflect light.
    reflects: bool,
    /// Factor by which a sweep multiplies the slowest errors.
    slowest: f32,
    /// Radiance that comes in, and the share of the sun scattered into each direction over an even one.
    pub inflow: [f32; DIRECTIONS],
    pub sun_phase: [f32; DIRECTIONS],
    /// Radiance of the floor below each row along x, with a cube more at either end; empty without a floor.
    pub floor: Vec<f32>,
    /// Light scattered by a sweep: the part that is the same in all directions, and what is added along each axis.
    pub even: Vec<f32>,
    pub along: [Vec<f32>; 3],
    /// Directions up along z and down.
    pub halves: [Half; 2],
}

/// The surfaces of solids in a cube.
#[derive(Clone, Copy, Debug, Default)]
struct GridWall {
    cube: usize,
    /// The cube before it, whose light arrives.
    before: usize,
    normal: [f32; 3],
    /// Albedo times the share of the cube's extinction.
    albedo: [f32; 3],
}

/// Half of the directions: their moments, and the radiance on its directions.
#[derive(Clone, Debug, Default)]
pub(super) struct Half {
    pub moments: Moments,
    /// Radiance that leaves the cubes of a plane towards corners, and of the plane before it, with a border of a cube.
    pub after: [Vec<f32>; CORNERS],
    pub before: [Vec<f32>; CORNERS],
    /// Radiance that leaves the cubes of a plane along z, and of a row along y.
    pub along_z: Vec<f32>,
    pub along_y: Vec<f32>,
    /// Radiance in the middle of cubes, of the last sweep where it is wanted: towards corners, along y, along z, and along x up and
    /// down, those in the planes whose rows the half takes. Empty but on the finest level.
    pub radiance: [Vec<f32>; KEPT],
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

/// Makes the grids of a medium, and returns how many.
pub(super) fn resize(grids: &mut Vec<Grid>, medium: &MediumCubes, everywhere: bool) -> usize {
    let mut count = 0;
    loop {
        if grids.len() == count {
            grids.push(Grid::empty());
        }
        let (finer, grid) = grids.split_at_mut(count);
        match finer.last() {
            Some(fine) => grid[0].coarsen(fine),
            None => grid[0].load(medium),
        }
        grid[0].mark(everywhere, medium.above_floor);
        grids[count].build_walls(medium, count);
        count += 1;
        let Grid { nx, dims: Dims { ny, nz, .. }, .. } = grids[count - 1];
        if nx.max(ny).max(nz) <= SHORT {
            return count;
        }
    }
}

impl Grid {
    fn empty() -> Self {
        Self {
            dims: Dims { nx: EIGHT, ny: 1, nz: 1 },
            h: 1.0,
            nx: 1,
            extinction: Vec::new(),
            filled: Vec::new(),
            thick: Vec::new(),
            wanted: Vec::new(),
            walls: Vec::new(),
        }
    }

    /// Whether the light of a cube is read, the i-th of a row.
    pub fn wants(&self, i: usize, row: usize) -> bool {
        self.wanted[(row * self.dims.nx + i) / EIGHT]
    }

    /// Adds values to those of rows without padding.
    pub fn add_unpadded(&self, from: &[f32], to: &mut Vec<f32>) {
        to.resize(self.nx * self.dims.ny * self.dims.nz, 0.0);
        for (to, from) in to.chunks_exact_mut(self.nx).zip(from.chunks_exact(self.dims.nx)) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }

    fn load(&mut self, medium: &MediumCubes) {
        let Dims { nx, ny, nz } = medium.dims;
        // A coarser grid has half as many, in whole strips too.
        (self.dims, self.nx, self.h) = (Dims { nx: nx.next_multiple_of(2 * EIGHT), ny, nz }, nx, medium.h);
        pad(&medium.extinction, nx, self.dims, &mut self.extinction);
    }

    fn coarsen(&mut self, fine: &Self) {
        let [nx, ny, nz] = [fine.nx, fine.dims.ny, fine.dims.nz].map(|n| n.div_ceil(2));
        (self.nx, self.h) = (nx, 2.0 * fine.h);
        self.dims = Dims { nx: (fine.dims.nx / 2).next_multiple_of(EIGHT), ny, nz };
        zeros(&mut self.extinction, self.dims);
        for strip in (0..fine.filled.len()).filter(|&strip| fine.filled[strip]) {
            let to = self.below(fine, strip);
            for i in 0..EIGHT {
                self.extinction[to + i / 2] += 0.125 * fine.extinction[strip * EIGHT + i];
            }
        }
    }

    /// The walls of a level, 2ⁿ times as coarse as the finest, and the light before them.
    fn build_walls(&mut self, medium: &MediumCubes, n: usize) {
        /// Sums over the walls in a cube.
        #[derive(Default)]
        struct Sum {
            weight: f32,
            albedo: [f32; 3],
            place: [f32; 3],
            normal: [f32; 3],
        }
        let from = medium.dims;
        let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
        for wall in &medium.walls {
            let [i, j, k] = from.place(wall.cube).map(|i| i >> n);
            let share = medium.extinction[wall.cube] * wall.share;
            let sum = sums.entry(self.dims.index(i, j, k)).or_default();
            sum.weight += share;
            for a in 0..3 {
                sum.albedo[a] += share * wall.albedo[a];
                sum.place[a] += share * wall.place[a];
                sum.normal[a] += share * wall.normal[a];
            }
        }
        let (most, scale) = ([self.nx, self.dims.ny, self.dims.nz], (1 << n) as f32);
        self.walls.clear();
        for (cube, Sum { weight, albedo, place, normal }) in
            sums.into_iter().filter(|(_, sum)| sum.weight > 0.0)
        {
            let normal = camera::unit(normal);
            let [i, j, k] = std::array::from_fn(|a| {
                let at = place[a] / (weight * scale) + BEFORE_WALL * normal[a];
                at.clamp(0.0, most[a] as f32 - 0.5) as usize
            });
            let before = self.dims.index(i, j, k);
            let all = scale * scale * scale * self.extinction[cube];
            self.walls.push(GridWall { cube, before, normal, albedo: albedo.map(|albedo| albedo / all) });
            self.filled[before / EIGHT] = true;
        }
    }

    /// First of the four cubes that a strip of a finer grid is part of.
    fn below(&self, fine: &Self, strip: usize) -> usize {
        let n = strip * EIGHT;
        let [nx, ny, _] = fine.dims.array();
        self.dims.index(n % nx / 2, n / nx % ny / 2, n / (nx * ny) / 2)
    }

    /// Marks the strips that hold medium, and those whose light is read.
    fn mark(&mut self, everywhere: bool, above_floor: usize) {
        let Dims { nx, ny, nz } = self.dims;
        self.filled.clear();
        self.filled.extend(self.extinction.chunks_exact(EIGHT).map(|strip| strip.iter().any(|&x| x > 0.0)));
        let least = THICK / self.h;
        self.thick.clear();
        self.thick.extend(self.extinction.chunks_exact(EIGHT).map(|strip| strip.iter().any(|&x| x > least)));
        self.wanted.clear();
        self.wanted.resize(self.filled.len(), everywhere);
        if everywhere {
            return;
        }
        // First and last cube of the medium in each row, and in those around it.
        let nonempty = |row: &[f32]| {
            let first = row.iter().position(|&x| x > 0.0)?;
            Some([first, row.iter().rposition(|&x| x > 0.0)?])
        };
        let rows: Vec<Option<[usize; 2]>> = self.extinction.chunks_exact(nx).map(nonempty).collect();
        let around = |n: usize, count: usize| n.saturating_sub(AROUND)..(n + AROUND + 1).min(count);
        let both = |a: [usize; 2], b: [usize; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        let beside: Vec<Option<[usize; 2]>> = (0..rows.len())
            .map(|row| around(row % ny, ny).filter_map(|j| rows[row / ny * ny + j]).reduce(both))
            .collect();
        let strips = nx / EIGHT;
        for row in 0..rows.len() {
            let wanted = &mut self.wanted[row * strips..][..strips];
            if row % ny < above_floor {
                wanted.fill(true);
            } else if let Some([first, last]) =
                around(row / ny, nz).filter_map(|k| beside[k * ny + row % ny]).reduce(both)
            {
                let range = first.saturating_sub(AROUND) / EIGHT..=(last + AROUND).min(nx - 1) / EIGHT;
                wanted[range].fill(true);
            }
        }
    }
}

impl Color {
    /// Takes over a channel of the medium and of its sources.
    pub fn load(&mut self, medium: &MediumCubes, sources: &Sources, channel: usize, grid: &Grid) {
        self.channel = channel;
        let Sources { sun, emission, lamps } = sources;
        let all = [&medium.albedo[channel], &sun[channel], &emission[channel]];
        for (from, to) in all.into_iter().zip(&mut self.medium) {
            pad(from, medium.dims.nx, grid.dims, to);
        }
        for (row, solid) in medium.solid.chunks_exact(medium.dims.nx).enumerate() {
            let albedo = &mut self.medium[0][row * grid.dims.nx..];
            albedo.iter_mut().zip(solid).for_each(|(albedo, solid)| *albedo *= 1.0 - solid);
        }
        for (from, to) in lamps[channel].iter().zip(&mut self.lamps) {
            to.clear();
            if !from.is_empty() {
                pad(from, medium.dims.nx, grid.dims, to);
            }
        }
    }

    /// Means of a finer level, weighted with the extinction.
    pub fn coarsen(&mut self, fine: &Self, from: &Grid, grid: &Grid) {
        let all = fine.medium.iter().zip(&mut self.medium).chain(fine.lamps.iter().zip(&mut self.lamps));
        for (fine, coarse) in all {
            if fine.is_empty() {
                coarse.clear();
                continue;
            }
            zeros(coarse, grid.dims);
            for strip in (0..from.filled.len()).filter(|&strip| from.filled[strip]) {
                let to = grid.below(from, strip);
                for i in 0..EIGHT {
                    let n = strip * EIGHT + i;
                    coarse[to + i / 2] += 0.125 * from.extinction[n] * fine[n];
                }
            }
            let sums = coarse.iter_mut().zip(&grid.extinction).filter(|(_, extinction)| **extinction > 0.0);
            sums.for_each(|(sum, extinction)| *sum /= extinction.max(1e-12));
        }
    }

    /// Makes ready to sweep.
    pub fn prepare(&mut self, grid: &Grid, phase: Phase, outside: &Outside, channel: usize) {
        let cells = grid.dims.cells();
        let own = [&mut self.albedo, &mut self.sun, &mut self.emission, &mut self.even];
        own.into_iter().chain(&mut self.passes).chain(&mut self.along).for_each(|values| {
            values.resize(cells, 0.0);
        });
        self.halves.iter_mut().for_each(|half| half.fit(grid.dims));
        let of_linear = if self.linear { cells } else { 0 };
        let begun = self.begun.iter_mut().flat_map(Moments::all_mut);
        let own = self.means.iter_mut().chain(&mut self.changes).chain(&mut self.sun_changes).chain(begun);
        own.for_each(|values| values.resize(of_linear, 0.0));
        self.g = phase.g;
        self.reflects = !grid.walls.is_empty();
        prepare_strips(self, grid, phase.forward);
        if self.linear {
            changes_over_cubes(&self.sun, grid, &mut self.sun_changes);
            self.measure_slowest(grid);
        }
        self.sun_phase = outside.sun_phase;
        self.inflow = outside.inflow(channel);
    }

    /// Turns the light of lamps on the finest level into what is scattered of it.
    pub fn scatter_lamps(&mut self) {
        let Self { lamps, albedo, .. } = self;
        for values in lamps {
            let scattered = values.iter_mut().zip(albedo.iter());
            scattered.for_each(|(value, albedo)| *value *= 0.25 * std::f32::consts::FRAC_1_PI * albedo);
        }
    }

    /// Computes what the light so far sends in the next sweep.
    pub fn scatter(&mut self, grid: &Grid) {
        scatter(self, grid);
        let [up, down] = &self.halves;
        let (up, down) = (up.moments.all(), down.moments.all());
        for wall in &grid.walls {
            let at = |n: usize| up[n][wall.before] + down[n][wall.before];
            let away: f32 = (0..3).map(|a| wall.normal[a] * at(a + 1)).sum();
            self.even[wall.cube] += wall.albedo[self.channel] * greatest(at(0) - 2.0 * away, 0.0);
        }
        if self.linear {
            changes_over_cubes(&self.even, grid, &mut self.changes);
        }
    }

    /// Makes room for the radiance of the last sweep.
    pub fn keep_radiance(&mut self, grid: &Grid) {
        for half in &mut self.halves {
            half.radiance.iter_mut().for_each(|values| values.resize(grid.dims.cells(), 0.0));
        }
    }

    /// Begins with light from outside that nothing takes.
    pub fn open(&mut self, outside: &Outside, channel: usize) {
        let (mean, flux) = clear(outside, channel);
        let [up, down] = &mut self.halves;
        down.clear();
        up.moments.mean.fill(mean);
        up.moments.flux.iter_mut().zip(flux).for_each(|(values, x)| values.fill(x));
    }

    /// Adds the second half of the directions to the first.
    pub fn gather_halves(&mut self) {
        let [up, down] = &mut self.halves;
        for (up, down) in up.moments.all_mut().into_iter().zip(down.moments.all_mut()) {
            up.iter_mut().zip(down.iter()).for_each(|(up, down)| *up += down);
        }
    }

    /// Begins with a solution on cubes of twice the edge, interpolated.
    pub fn refine(&mut self, coarse: &Self, from: &Grid, to: &Grid) {
        let [up, down] = &mut self.halves;
        down.clear();
        let coarse = &coarse.halves[0].moments;
        refined(&coarse.mean, from.dims, &mut up.moments.mean, to);
        for (coarse, fine) in coarse.flux.iter().zip(&mut up.moments.flux) {
            refined(coarse, from.dims, fine, to);
        }
    }

    /// φ and J without padding; those of a clear sky where they are not wanted.
    pub fn store(&self, grid: &Grid, outside: &Outside, channel: usize, out: &mut Moments) {
        let (mean, flux) = clear(outside, channel);
        let [up, down] = self.halves.each_ref().map(|half| half.moments.all());
        let (strips, count) = (grid.dims.nx / EIGHT, grid.nx * grid.dims.ny * grid.dims.nz);
        for (n, (out, open)) in out.all_mut().into_iter().zip([mean, flux[0], flux[1], flux[2]]).enumerate() {
            out.resize(count, 0.0);
            for (row, out) in out.chunks_exact_mut(grid.nx).enumerate() {
                for (strip, out) in out.chunks_mut(EIGHT).enumerate() {
                    if !grid.wanted[row * strips + strip] {
                        out.fill(open);
                        continue;
                    }
                    let first = (row * strips + strip) * EIGHT;
                    let (up, down) = (&up[n][first..][..EIGHT], &down[n][first..][..EIGHT]);
                    if let Some(out) = out.first_chunk_mut::<EIGHT>() {
                        (0..EIGHT).for_each(|i| out[i] = up[i] + down[i]);
                        continue;
                    }
                    out.iter_mut().zip(up.iter().zip(down)).for_each(|(out, (up, down))| *out = up + down);
                }
            }
        }
    }
}

/// The half that keeps the radiance in a direction, in the cubes of a row, and its place there.
pub(super) fn kept(grid: &Grid, direction: usize, row: usize) -> (usize, usize) {
    let own = usize::from(2 * (row / grid.dims.ny) >= grid.dims.nz);
    match direction {
        0 | 1 => (own, CORNERS + 2 + direction),
        2 | 3 => (direction - 2, CORNERS),
        4 | 5 => (direction - 4, CORNERS + 1),
        6..10 => (0, direction - 6),
        _ => (1, direction - 10),
    }
}

/// φ and J of light from outside that nothing takes.
fn clear(outside: &Outside, channel: usize) -> (f32, [f32; 3]) {
    if let Some(around) = &outside.around {
        return around.moments(channel);
    }
    let (sky, ground) = (outside.sky[channel], outside.ground[channel]);
    (0.5 * (sky + ground), [0.0, (ground - sky) / 6.0, 0.0])
}

fn zeros(values: &mut Vec<f32>, dims: Dims) {
    values.clear();
    values.resize(dims.cells(), 0.0);
}

/// Copies rows of `nx` into longer ones, with zeros at their ends; without any rows, zeros.
fn pad(from: &[f32], nx: usize, dims: Dims, to: &mut Vec<f32>) {
    if nx == dims.nx && !from.is_empty() {
        to.clear();
        to.extend_from_slice(from);
        return;
    }
    zeros(to, dims);
    for (from, to) in from.chunks_exact(nx).zip(to.chunks_exact_mut(dims.nx)) {
        to[..nx].copy_from_slice(from);
    }
}

each_level! {
    /// Transmittance and sources of all strips.
    fn prepare_strips(color: &mut Color, grid: &Grid, forward: f32) = prepare_kernel;
}

/// Transmittance of half a step of optical depth `x`.
///
/// It is e^−x where a step is up to about five mean free paths long. Over longer steps light would diffuse too slowly. Take a source that
/// is 0 in one cube and grows with the square of the distance in steps: the radiance in that cube is k = t (1 + t²) / (1 − t²)², where the
/// equation of transfer gives 2/τ², with t the transmittance of half a step and τ = 2x. For τ above 5, t = 2 / (4 + τ²) keeps k within a tenth of 2/τ².
#[inline(always)]
fn passes_half(x: f32) -> f32 {
    greatest(exp(-x), 0.5 / (1.0 + x * x))
}

#[inline(always)]
fn prepare_kernel<S: Simd>(_: S, color: &mut Color, grid: &Grid, forward: f32) {
    let Color { medium, passes, means, albedo, sun, emission, linear, .. } = color;
    let linear = *linear;
    let ([near, far], [near_mean, far_mean]) = (passes, means);
    let fields = [near, far, albedo, sun, emission].map(|values| values.as_chunks_mut::<EIGHT>().0);
    let [near, far, albedo, sun, emission] = fields;
    let [omega, irradiance, sent] = medium.each_ref().map(|values| values.as_chunks::<EIGHT>().0);
    let extinction = grid.extinction.as_chunks::<EIGHT>().0;
    let (near_mean, far_mean) = (near_mean.as_chunks_mut::<EIGHT>().0, far_mean.as_chunks_mut::<EIGHT>().0);
    for strip in (0..grid.filled.len()).filter(|&strip| grid.filled[strip]) {
        let mut depths = [0.0; EIGHT];
        for i in 0..EIGHT {
            let omega = omega[strip][i].min(1.0);
            let left = 1.0 - omega * forward;
            depths[i] = grid.h * extinction[strip][i] * left;
            let (scaled, inverse) = (omega * (1.0 - forward) / left, 1.0 / left);
            let filled = depths[i] > 0.0;
            albedo[strip][i] = if filled { scaled } else { 0.0 };
            let even = scaled * irradiance[strip][i] * (0.25 * std::f32::consts::FRAC_1_PI);
            sun[strip][i] = if filled { even } else { 0.0 };
            emission[strip][i] = if filled { sent[strip][i] * inverse } else { 0.0 };
        }
        if !linear {
            for i in 0..EIGHT {
                let half = 0.5 * depths[i];
                near[strip][i] = if half > 0.0 { passes_half(half) } else { 1.0 };
                far[strip][i] = if half > 0.0 { passes_half(1.732_050_8 * half) } else { 1.0 };
            }
            continue;
        }
        for i in 0..EIGHT {
            [near[strip][i], near_mean[strip][i]] = through(depths[i]);
            [far[strip][i], far_mean[strip][i]] = through(1.732_050_8 * depths[i]);
        }
    }
}

/// Transmittance of a step of some optical depth, and its mean over the step.
#[inline(always)]
pub(in crate::render::light) fn through(depth: f32) -> [f32; 2] {
    let passes = exp(-depth);
    [passes, if depth < 1e-2 { 1.0 - 0.5 * depth } else { (1.0 - passes) / depth }]
}

each_level! {
    /// Change of values over each cube along the three axes, from those of its neighbours in the medium, in rows with thick strips.
    fn changes_over_cubes(values: &[f32], grid: &Grid, out: &mut [Vec<f32>; 3]) = changes_kernel;
}

#[inline(always)]
fn changes_kernel<S: Simd>(_: S, values: &[f32], grid: &Grid, out: &mut [Vec<f32>; 3]) {
    let Dims { nx, ny, nz } = grid.dims;
    let strips = nx / EIGHT;
    let [along_x, along_y, along_z] = out;
    let none = vec![0.0; nx];
    // Rows with an empty cube more at either end.
    let (mut padded, mut padded_medium) = (vec![0.0; nx + 2], vec![0.0; nx + 2]);
    for row in 0..ny * nz {
        if !grid.thick[row * strips..][..strips].iter().any(|&thick| thick) {
            continue;
        }
        let (j, k) = (row % ny, row / ny);
        let of = |row: usize| (&values[row * nx..][..nx], &grid.extinction[row * nx..][..nx]);
        let beside = |exists: bool, other: usize| if exists { of(other) } else { (&none[..], &none[..]) };
        let here = of(row);
        let y = [beside(j > 0, row.wrapping_sub(1)), beside(j + 1 < ny, row + 1)];
        let z = [beside(k > 0, row.wrapping_sub(ny)), beside(k + 1 < nz, row + ny)];
        padded[1..=nx].copy_from_slice(here.0);
        padded_medium[1..=nx].copy_from_slice(here.1);
        let x = [(&padded[..nx], &padded_medium[..nx]), (&padded[2..], &padded_medium[2..])];
        for (sides, out) in [(x, &mut *along_x), (y, &mut *along_y), (z, &mut *along_z)] {
            change_along(here.0, sides, &mut out[row * nx..][..nx]);
        }
    }
}

/// Mean of the differences to the neighbours on both sides that hold medium.
#[inline(always)]
fn change_along(here: &[f32], [below, above]: [(&[f32], &[f32]); 2], out: &mut [f32]) {
    let count = out.len();
    let (here, below, above) =
        (&here[..count], (&below.0[..count], &below.1[..count]), (&above.0[..count], &above.1[..count]));
    for i in 0..count {
        let one_below = if below.1[i] > 0.0 { 1.0 } else { 0.0 };
        let one_above = if above.1[i] > 0.0 { 1.0 } else { 0.0 };
        let sum = one_below * (here[i] - below.0[i]) + one_above * (above.0[i] - here[i]);
        let halved = 1.0 - 0.5 * one_below * one_above;
        out[i] = halved * sum;
    }
}

each_level! {
    /// The light that smoke scatters, and what it and solids send by themselves.
    fn scatter(color: &mut Color, grid: &Grid) = scatter_kernel;
}

#[inline(always)]
fn scatter_kernel<S: Simd>(_: S, color: &mut Color, grid: &Grid) {
    let three_g = 3.0 * color.g;
    let Color { albedo, emission, even, along, halves, lamps, .. } = color;
    let [up, down] = halves.each_ref().map(|half| half.moments.all().map(|x| x.as_chunks::<EIGHT>().0));
    let (albedo, emission) = (albedo.as_chunks::<EIGHT>().0, emission.as_chunks::<EIGHT>().0);
    let even = even.as_chunks_mut::<EIGHT>().0;
    let [x, y, z] = along.each_mut().map(|values| values.as_chunks_mut::<EIGHT>().0);
    for strip in (0..grid.filled.len()).filter(|&strip| grid.filled[strip]) {
        let sum = |moment: usize, i: usize| up[moment][strip][i] + down[moment][strip][i];
        for i in 0..EIGHT {
            let albedo = albedo[strip][i];
            even[strip][i] = albedo * sum(0, i) + emission[strip][i];
            x[strip][i] = three_g * albedo * sum(1, i);
            y[strip][i] = three_g * albedo * sum(2, i);
            z[strip][i] = three_g * albedo * sum(3, i);
        }
    }
    let lamps = lamps.each_ref().map(|values| values.as_chunks::<EIGHT>().0);
    for strip in (0..lamps[0].len()).filter(|&strip| grid.filled[strip]) {
        for i in 0..EIGHT {
            even[strip][i] += lamps[0][strip][i];
            x[strip][i] += three_g * lamps[1][strip][i];
            y[strip][i] += three_g * lamps[2][strip][i];
            z[strip][i] += three_g * lamps[3][strip][i];
        }
    }
}

/// Interpolates to cubes of half the edge, in strips with medium.
fn refined(coarse: &[f32], from: Dims, out: &mut [f32], grid: &Grid) {
    let to = grid.dims;
    let near = |n: usize, count: usize| {
        let other = if n.is_multiple_of(2) { (n / 2).saturating_sub(1) } else { (n / 2 + 1).min(count - 1) };
        [n / 2, other]
    };
    let strips = to.nx / EIGHT;
    // With the first and the last value once more.
    let mut blended = vec![0.0; from.nx + 2];
    for (row, out) in out.chunks_exact_mut(to.nx).enumerate() {
        if !grid.filled[row * strips..][..strips].iter().any(|&filled| filled) {
            continue;
        }
        let ([j, j2], [k, k2]) = (near(row % to.ny, from.ny), near(row / to.ny, from.nz));
        let of = |j: usize, k: usize| &coarse[from.index(0, j, k)..][..from.nx];
        refine_row([of(j, k), of(j2, k), of(j, k2), of(j2, k2)], &mut blended, out);
    }
}

each_level! {
    /// Interpolates between four rows, then along the row to half the distance.
    fn refine_row(rows: [&[f32]; 4], blended: &mut [f32], out: &mut [f32]) = refine_row_kernel;
}

#[inline(always)]
fn refine_row_kernel<S: Simd>(_: S, rows: [&[f32]; 4], blended: &mut [f32], out: &mut [f32]) {
    let count = blended.len() - 2;
    let [a, b, c, d] = rows.map(|row| &row[..count]);
    let within = &mut blended[1..=count];
    for i in 0..count {
        within[i] = 0.75 * (0.75 * a[i] + 0.25 * b[i]) + 0.25 * (0.75 * c[i] + 0.25 * d[i]);
    }
    (blended[0], blended[count + 1]) = (blended[1], blended[count]);
    let pairs = out.as_chunks_mut::<2>().0;
    let count = pairs.len().min(count);
    let (below, here, above) = (&blended[..count], &blended[1..=count], &blended[2..count + 2]);
    for i in 0..count {
        pairs[i] = [0.75 * here[i] + 0.25 * below[i], 0.75 * here[i] + 0.25 * above[i]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Diffusion over steps of many mean free paths is within a tenth, and the transmittance of short steps is exact.
    #[test]
    fn light_diffuses_over_long_steps() {
        for tau in [5.0_f32, 6.0, 8.0, 16.0, 40.0] {
            let t = passes_half(0.5 * tau);
            let excess = t * (1.0 + t * t) / (1.0 - t * t).powi(2);
            assert!((excess * tau * tau / 2.0 - 1.0).abs() < 0.1, "{tau}: {excess}");
        }
        for x in [0.01_f32, 0.5, 2.0] {
            assert!((passes_half(x) / (-x).exp() - 1.0).abs() < 1e-5, "{x}");
        }
    }
}
