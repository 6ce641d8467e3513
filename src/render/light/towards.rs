//! The light volume as a march towards an eye reads it.

use std::cell::Cell;

use fearless_simd::prelude::*;
use half::f16;
use rayon::prelude::*;

use super::forward_peak::{Spread, Strip};
use super::light_chunk::{CHUNK, Lane};
use super::ordinates::DIRECTIONS;
use super::ordinates::phase::{OnOrdinates, cut_phase, ordinates};
use super::sharpened::{Across, Sharpened};
use super::{LightVolume, Mixture, root};
use crate::grid::Dims;
use crate::render::medium::{MOST, Medium};
use crate::render::trilinear::trilinear;
use crate::simd::halves::narrow;
use crate::simd::vectors::{f32x8, transposed};
use crate::simd::{Simd, each_level, greatest, least};

/// Number of values interpolated from cubes to points: radiance of three colours, the share of the sun's depth that counts for light
/// which goes on with it, the values of [`Strip::rest`], and the cosine between the sun's light and the way to the eye.
const VALUES: usize = 8;
type Values = [f32; VALUES];
/// Radiance beyond a side that light comes in through, from that of the cube beside it (0) to that outside (1), read linearly and by splines. Cubes
/// hold means, and light falls off as e^−τ: fitted to even smoke of 1 to 8 optical depths a cube.
const BEYOND: f32 = 1.2;
const BEYOND_BY_SPLINES: f32 = 1.4;
/// The same in directions along a side. Half of the light around them comes in, and falls off soon.
const ALONG_SIDE: f32 = 0.2;

impl LightVolume {
    /// Computes the light that a march reads, at each point, for an eye at a position \[m\]: radiance scattered towards the eye for
    /// an albedo of 1, without the sun's first scattering, and the [`root`] of the optical depth towards the sun, to be read by `splines` or
    /// linearly. Only points near smoke are filled.
    pub(in crate::render) fn towards(
        &self,
        eye: [f32; 3],
        medium: &Medium,
        splines: bool,
        out: &mut Vec<[f16; 4]>,
    ) {
        let points = self.points;
        out.resize(points.cells(), [f16::ZERO; 4]);
        let once = self.outside_rays.as_ref().map(|rays| self.once_from_outside(rays, eye, medium, splines));
        let (mut cubes, roots) = (self.values_at_cubes(eye, medium, splines), self.roots(medium, splines));
        let entering = self.entering(medium);
        let dims = with_border(self.mixture.dims);
        // Interpolated between cubes, means would be blurred as the densities of cells are. The nested grid has factors on them as they are.
        if splines && self.cubes.linear && !self.within.is_refined() {
            for c in 0..3 {
                let sharpened = Sharpened::new(dims, cubes.iter().map(|values| values[c]).collect()).whole();
                cubes.iter_mut().zip(sharpened).for_each(|(values, sharpened)| values[c] = sharpened);
            }
        }
        let near = |a: usize, n: usize| {
            let at = (n as f32 - 0.5) * self.spacing / self.mixture.h + 0.5;
            let at = at.clamp(0.0, (dims.array()[a] - 1) as f32);
            let low = at as usize;
            (low, (low + 1).min(dims.array()[a] - 1), at - low as f32)
        };
        let spread = medium.scattering.then(|| Spread::of(medium)).filter(Spread::spreads);
        let xs: Vec<_> = (0..points.nx).map(|i| near(0, i)).collect();
        let planes = out.par_chunks_mut(points.nx * points.ny).enumerate();
        let scratch = || (Vec::<Values>::new(), Across::default(), Vec::new());
        planes.for_each_init(scratch, |(row, across, sharpened), (k, out)| {
            let (k0, k1, fz) = near(2, k);
            for (j, out) in out.chunks_exact_mut(points.nx).enumerate() {
                let span = self.spans[j + k * points.ny].clone();
                out[..span.start].fill([f16::ZERO; 4]);
                out[span.end..].fill([f16::ZERO; 4]);
                if span.is_empty() {
                    continue;
                }
                let (j0, j1, fy) = near(1, j);
                let of = |j: usize, k: usize| &cubes[dims.index(0, j, k)..][..dims.nx];
                let (a, b, c, d) = (of(j0, k0), of(j1, k0), of(j0, k1), of(j1, k1));
                row.resize(dims.nx, [0.0; VALUES]);
                mix_rows([a, b, c, d], [fy, fz], row);
                roots.row([span.start, span.end], [j, k], across, sharpened);
                let depths = &self.depth[points.index(span.start, j, k)..][..span.len()];
                let chunks = depths.chunks(CHUNK).zip(out[span.clone()].chunks_mut(CHUNK));
                for (n, (depths, out)) in chunks.enumerate() {
                    let mut strip = Strip::default();
                    strip.depth[..depths.len()].copy_from_slice(depths);
                    let first = points.index(span.start, j, k) + n * CHUNK;
                    if let Some(shade) = self.shade.get(first..first + depths.len()) {
                        strip.depth.iter_mut().zip(shade).for_each(|(depth, shade)| *depth += shade);
                    }
                    along_row(row, &xs[span.start + n * CHUNK..][..depths.len()], &mut strip);
                    for (sent, once) in strip.sent.iter_mut().zip(once.iter().flatten()) {
                        sent.iter_mut()
                            .zip(&once[first..][..depths.len()])
                            .for_each(|(sent, once)| *sent += once);
                    }
                    if self.within.is_refined() {
                        let at = [span.start + n * CHUNK, j, k];
                        self.refine_within(at, eye, medium, &mut strip.sent, depths.len());
                    }
                    if let Some(spread) = spread {
                        strip.add_peak(medium.sun, spread);
                    }
                    if !self.lamps.is_empty() {
                        let at = [span.start + n * CHUNK, j, k];
                        self.add_lamps(
                            at,
                            eye,
                            (medium, spread),
                            &strip.scale,
                            &mut strip.sent,
                            depths.len(),
                        );
                    }
                    let mut wide = [[0.0_f32; 4]; CHUNK];
                    as_read(&mut strip, &mut wide);
                    for (wide, root) in wide.iter_mut().zip(sharpened.iter().skip(n * CHUNK)) {
                        wide[3] = least(*root, MOST);
                    }
                    if sharpened.is_empty() {
                        for (i, wide) in wide[..depths.len()].iter_mut().enumerate() {
                            if is_beyond(points, [span.start + n * CHUNK + i, j, k]) {
                                let depth =
                                    |n: usize| self.depth[n] + self.shade.get(n).copied().unwrap_or(0.0);
                                wide[3] = least(entering.root_beyond(first + i, depth, false), MOST);
                            }
                        }
                    }
                    narrow(wide[..depths.len()].as_flattened(), out.as_flattened_mut());
                }
            }
        });
        CUBES.set(cubes);
    }

    /// The values of each cube, and of those in a [border](with_border), towards an eye. The radiance is ∑ w p(Ω·Ω′) L(Ω′) over the ordinates.
    ///
    /// In dense smoke at a side of the box incoming light falls off within a fraction of a cube. So a cube of the border has the light of sky
    /// and floor in directions that lead into the box, and that of the cube beside it in those that lead out.
    fn values_at_cubes(&self, eye: [f32; 3], medium: &Medium, splines: bool) -> Vec<Values> {
        let (dims, padded) = (self.mixture.dims, with_border(self.mixture.dims));
        let sun_phase = cut_phase(medium, medium.sun_direction.map(|x| -x));
        let near_sides = self.sides_near_smoke();
        let beyond_side = if splines { BEYOND_BY_SPLINES } else { BEYOND };
        let mut all = CUBES.take();
        all.clear();
        all.resize(padded.cells(), [0.0; VALUES]);
        let rows = all.par_chunks_mut(padded.nx).enumerate().with_min_len(64);
        let scratch = || (Cubes::default(), Box::new([[[0.0; CHUNK]; DIRECTIONS]; 3]));
        rows.for_each_init(scratch, |(cubes, in_border), (padded_row, values)| {
            let places = [padded_row % padded.ny, padded_row / padded.ny];
            let [side_y, side_z] = [beyond(places[0], dims.ny), beyond(places[1], dims.nz)];
            let [j, k] = [inside(places[0], dims.ny), inside(places[1], dims.nz)];
            if !(near_sides.counts(1, side_y) && near_sides.counts(2, side_z)) {
                return;
            }
            let row = j + k * dims.ny;
            let mut fill = |first: usize, side_x: i32, values: &mut [Values]| {
                let place = [first, j, k];
                let sides = [side_x, side_y, side_z];
                if !(first..first + values.len()).any(|i| self.solver.wanted(i, row)) {
                    return;
                }
                let mut radiance = [0, 1, 2].map(|channel| {
                    self.solver.radiance(channel, row).map(|radiance| &radiance[first..][..values.len()])
                });
                if sides != [0; 3] {
                    self.fill_border((place, sides), &radiance, beyond_side, in_border);
                    radiance =
                        in_border.each_ref().map(|all| all.each_ref().map(|lane| &lane[..values.len()]));
                }
                self.fill_values((place, sides), (eye, medium, &sun_phase), &radiance, cubes, values);
            };
            let (first, rest) = values.split_at_mut(1);
            let (within, last) = rest.split_at_mut(dims.nx);
            for (n, values) in within.chunks_mut(CHUNK).enumerate() {
                fill(n * CHUNK, 0, values);
            }
            for (i, side, values) in [(0, -1, first), (dims.nx - 1, 1, last)] {
                if near_sides.counts(0, side) {
                    fill(i, side, values);
                }
            }
        });
        all
    }

    /// Fills in the values of cubes side by side along x, the first at `place`; with `sides`, those of the border beyond these cubes.
    fn fill_values(
        &self,
        (place, sides): ([usize; 3], [i32; 3]),
        (eye, medium, sun_phase): ([f32; 3], &Medium, &[f32; DIRECTIONS]),
        radiance: &[[&[f32]; DIRECTIONS]; 3],
        cubes: &mut Cubes,
        values: &mut [Values],
    ) {
        let Mixture { dims, h, .. } = self.mixture;
        let forward = if medium.scattering { medium.scaled_phase().forward } else { 0.0 };
        let [first, j, k] = place;
        let row = j + k * dims.ny;
        let wanted = |i: usize| self.solver.wanted(i, row);
        let [x, y, z] = std::array::from_fn(|a| (place[a] as f32 + 0.5 + sides[a] as f32) * h);
        let way = Way { first: eye[0] - x, step: -h, y: eye[1] - y, z: eye[2] - z };
        look_at(cubes, radiance, sun_phase, medium, &way);
        let cube = row * dims.nx + first;
        let [red, green, blue] = self.cubes.albedo.each_ref().map(|albedo| &albedo[cube..][..values.len()]);
        if self.outside_rays.is_some() {
            cubes.sent = [[0.0; CHUNK]; 3];
        }
        for (n, values) in values.iter_mut().enumerate().filter(|(n, _)| wanted(first + n)) {
            let [r, g, b] = [0, 1, 2].map(|c| cubes.sent[c][n]);
            let [of_r, of_g, of_b] = [red[n], green[n], blue[n]].map(|albedo| 1.0 - albedo * forward);
            *values = [r, g, b, of_r, of_g, of_b, cubes.rest[n], cubes.cosine[n]];
        }
        if self.within.shines {
            for (n, values) in values.iter_mut().enumerate().filter(|(n, _)| wanted(first + n)) {
                let own = self.within_towards(cube + n, way.from(n), medium);
                (0..3).for_each(|c| values[c] += own[c]);
            }
        }
    }

    /// Fills in the radiance of the border beyond `sides` of some cubes, from theirs.
    fn fill_border(
        &self,
        ([first, _, k], sides): ([usize; 3], [i32; 3]),
        radiance: &[[&[f32]; DIRECTIONS]; 3],
        beyond_side: f32,
        out: &mut [[Lane; DIRECTIONS]; 3],
    ) {
        let ordinates = ordinates();
        for (c, out) in out.iter_mut().enumerate() {
            let inflow = self.solver.inflow(c);
            let floor = self.solver.floor_below(c, k).filter(|_| sides == [0, -1, 0]);
            for (n, lane) in out.iter_mut().enumerate() {
                let from = radiance[c][n];
                let crossed = (0..3).filter(|&a| sides[a] != 0);
                let outwards = crossed.map(|a| sides[a] as f32 * ordinates[n].direction[a]);
                let across = outwards.fold(f32::MAX, f32::min);
                let share = match across {
                    ..-1e-3 => beyond_side,
                    -1e-3..1e-3 => ALONG_SIDE,
                    _ => 0.0,
                };
                let inflow = |i: usize| floor.map_or(inflow[n], |floor| floor[first + i]);
                for (i, (to, &from)) in lane.iter_mut().zip(from).enumerate() {
                    *to = greatest(from + share * (inflow(i) - from), 0.0);
                }
            }
        }
    }

    /// Finds the sides whose border is read: those within a cube and three points of smoke.
    fn sides_near_smoke(&self) -> NearSides {
        let reach = self.mixture.h + 3.0 * self.spacing;
        let [low, high] = self.smoke;
        NearSides(std::array::from_fn(|a| {
            [low[a] < reach, high[a] > self.mixture.dims.array()[a] as f32 * self.mixture.h - reach]
        }))
    }

    /// Adds to the radiance of `count` points from one on along x what the nested grid changes of light from within.
    fn refine_within(
        &self,
        at: [usize; 3],
        eye: [f32; 3],
        medium: &Medium,
        sent: &mut [Lane; 3],
        count: usize,
    ) {
        let Mixture { dims, h, .. } = self.mixture;
        for i in 0..count {
            let point = [at[0] + i, at[1], at[2]];
            let place: [f32; 3] = point.map(|n| (n as f32 - 0.5) * self.spacing);
            let factors = self.within.factor_at(place);
            if factors == [1.0; 3] {
                continue;
            }
            let of_cubes = trilinear(dims, place.map(|x| x / h - 0.5), |cube| {
                let middle = dims.place(cube).map(|i| (i as f32 + 0.5) * h);
                self.within_towards(cube, std::array::from_fn(|a| eye[a] - middle[a]), medium)
            });
            (0..3).for_each(|c| sent[c][i] += (factors[c] - 1.0) * of_cubes[c]);
        }
    }

    /// Radiance that a cube scatters along a way \[m\] of light from within, for an albedo of 1.
    fn within_towards(&self, cube: usize, way: [f32; 3], medium: &Medium) -> [f32; 3] {
        if !self.within.shines {
            return [0.0; 3];
        }
        let away = way.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
        std::array::from_fn(|c| {
            let [smoke, walls] = [self.within.of_smoke[c].all(), self.within.of_walls[c].all()];
            let [mean, flux @ ..]: [f32; 4] = std::array::from_fn(|n| smoke[n][cube] + walls[n][cube]);
            let along = flux.iter().map(|x| x * x).sum::<f32>().sqrt();
            if along == 0.0 {
                return mean;
            }
            let cosine = (0..3).map(|a| flux[a] * way[a]).sum::<f32>() / (along * away);
            let parallel = (along / mean).min(1.0);
            4.0 * std::f32::consts::PI * medium.phase_function(parallel, cosine) * mean
        })
    }
}

/// Whether a point lies beyond the sides of the box.
fn is_beyond(points: Dims, place: [usize; 3]) -> bool {
    (0..3).any(|a| !(1..points.array()[a] - 1).contains(&place[a]))
}

/// Cubes with a border of one around them.
fn with_border(dims: Dims) -> Dims {
    let [nx, ny, nz] = dims.array().map(|n| n + 2);
    Dims { nx, ny, nz }
}

/// The side of the box that a place along an axis, of cubes with a border, lies beyond: −1, 1, or 0 within.
fn beyond(place: usize, count: usize) -> i32 {
    i32::from(place > count) - i32::from(place == 0)
}

/// The cube at a place along an axis, of cubes with a border; in the border, the cube beside it.
fn inside(place: usize, count: usize) -> usize {
    place.clamp(1, count) - 1
}

/// Whether smoke is near the low and the high side along each axis.
struct NearSides([[bool; 2]; 3]);

impl NearSides {
    /// Whether the border beyond a side is read; `side` is 0 within the box.
    fn counts(&self, axis: usize, side: i32) -> bool {
        side == 0 || self.0[axis][usize::from(side > 0)]
    }
}

thread_local! {
    /// Memory of the values of cubes, kept from picture to picture.
    static CUBES: Cell<Vec<Values>> = const { Cell::new(Vec::new()) };
}

/// Cubes side by side along x.
#[derive(Default)]
struct Cubes {
    /// Radiance towards the eye.
    sent: [Lane; 3],
    /// The phase function from each ordinate towards the eye.
    phase: OnOrdinates,
    /// As [`Strip::rest`].
    rest: Lane,
    /// Cosine between the ways of the sun's light and of that to the eye.
    cosine: Lane,
}

/// The way from cubes to the eye \[m\].
struct Way {
    first: f32,
    step: f32,
    y: f32,
    z: f32,
}

impl Way {
    /// From the i-th cube.
    fn from(&self, i: usize) -> [f32; 3] {
        [self.first + i as f32 * self.step, self.y, self.z]
    }
}

each_level! {
    /// Turns the radiance in cubes into what they scatter towards an eye.
    fn look_at(
        cubes: &mut Cubes,
        radiance: &[[&[f32]; DIRECTIONS]; 3],
        sun_phase: &[f32; DIRECTIONS],
        medium: &Medium,
        way: &Way,
    ) = look_at_kernel;
}

#[inline(always)]
fn look_at_kernel<S: Simd>(
    _: S,
    cubes: &mut Cubes,
    radiance: &[[&[f32]; DIRECTIONS]; 3],
    sun_phase: &[f32; DIRECTIONS],
    medium: &Medium,
    way: &Way,
) {
    let Cubes { sent, phase, rest, cosine } = cubes;
    let sun = medium.sun_direction;
    let Way { first, step, y, z } = *way;
    let mut along = [[0.0; CHUNK]; 3];
    for i in 0..CHUNK {
        let x = first + i as f32 * step;
        let away = greatest((x * x + y * y + z * z).sqrt(), 1e-6);
        let unit = [x / away, y / away, z / away];
        (0..3).for_each(|a| along[a][i] = unit[a]);
    }
    phase.fill_whole(medium, &along);
    *sent = [[0.0; CHUNK]; 3];
    let linear = 3.0 * medium.mean_cosine() * medium.scaled_phase().g;
    // Sunlight scattered in the rest, and then towards the eye.
    *rest = [0.0; CHUNK];
    for (n, ordinate) in ordinates().into_iter().enumerate() {
        let values = &mut phase.values[n];
        for i in 0..CHUNK {
            values[i] *= ordinate.weight;
            rest[i] += values[i] * sun_phase[n];
        }
        for (sent, radiance) in sent.iter_mut().zip(radiance) {
            for (sent, (radiance, phase)) in sent.iter_mut().zip(radiance[n].iter().zip(&*values)) {
                *sent += phase * radiance;
            }
        }
    }
    for i in 0..CHUNK {
        cosine[i] = -(along[0][i] * sun[0] + along[1][i] * sun[1] + along[2][i] * sun[2]);
        rest[i] -= 1.0 + linear * cosine[i];
    }
}

each_level! {
    /// Interpolates between four rows of cubes, along y and then along z.
    fn mix_rows(cubes: [&[Values]; 4], f: [f32; 2], out: &mut [Values]) = mix_rows_kernel;
}

#[inline(always)]
fn mix_rows_kernel<S: Simd>(_: S, cubes: [&[Values]; 4], [fy, fz]: [f32; 2], out: &mut [Values]) {
    let out = out.as_flattened_mut();
    let [a, b, c, d] = cubes.map(|values| &values.as_flattened()[..out.len()]);
    for i in 0..out.len() {
        let (low, high) = (a[i] + fy * (b[i] - a[i]), c[i] + fy * (d[i] - c[i]));
        out[i] = low + fz * (high - low);
    }
}

each_level! {
    /// Interpolates along a row of cubes, to places between two of them each.
    fn along_row(row: &[Values], places: &[(usize, usize, f32)], strip: &mut Strip) = along_row_kernel;
}

#[inline(always)]
fn along_row_kernel<S: Simd>(s: S, row: &[Values], places: &[(usize, usize, f32)], strip: &mut Strip) {
    for (block, places) in places.chunks(VALUES).enumerate() {
        let mut values = [s.splat_f32x8(0.0); VALUES];
        for (value, &(low, high, f)) in values.iter_mut().zip(places) {
            let (low, high) = (f32x8::load_array_ref(s, &row[low]), f32x8::load_array_ref(s, &row[high]));
            *value = low + s.splat_f32x8(f) * (high - low);
        }
        let [red, green, blue, of_red, of_green, of_blue, rest, cosine] = transposed(s, values);
        let Strip { sent, scale, rest: to_rest, cosine: to_cosine, .. } = strip;
        let [to_red, to_green, to_blue] = sent;
        let [to_of_red, to_of_green, to_of_blue] = scale;
        for (from, to) in [
            (red, to_red),
            (green, to_green),
            (blue, to_blue),
            (of_red, to_of_red),
            (of_green, to_of_green),
            (of_blue, to_of_blue),
            (rest, to_rest),
            (cosine, to_cosine),
        ] {
            from.store_array(&mut to.as_chunks_mut().0[block]);
        }
    }
}

each_level! {
    /// Radiance and [`root`] of the depth at each point.
    fn as_read(strip: &mut Strip, out: &mut [[f32; 4]; CHUNK]) = as_read_kernel;
}

#[inline(always)]
fn as_read_kernel<S: Simd>(_: S, strip: &mut Strip, out: &mut [[f32; 4]; CHUNK]) {
    let Strip { sent: [red, green, blue], depth, .. } = strip;
    // Half floats end before the brightest skies do.
    for values in [&mut *red, &mut *green, &mut *blue] {
        values.iter_mut().for_each(|value| *value = least(*value, MOST));
    }
    depth.iter_mut().for_each(|value| *value = least(root(*value), MOST));
    for i in 0..CHUNK {
        out[i] = [red[i], green[i], blue[i], depth[i]];
    }
}
