//! A sweep: the radiance of all cubes along half of the directions, summed to their moments.
//!
//! Both halves run side by side. One moves plane after plane along z and row after row along y, the other back. The four
//! directions to corners, one to a face and one along y of a strip of eight cubes are worked on together: they share the
//! medium, and their sums stay in registers. Directions along x take blocks of eight rows, transposed.

use fearless_simd::prelude::*;

use super::levels::{CORNERS, Color, Grid, Half};
use super::{CORNER, FACE, Moments};
use crate::grid::Dims;
use crate::simd::each_level;
use crate::simd::vectors::{EIGHT, Simd, f32x8, strips, strips_mut, transposed};

/// Share of a step to a corner along each axis.
const DIAGONAL: f32 = 0.577_350_26;

each_level! {
    /// Replaces the moments of one half of the directions, those that move up along z or down: where there is medium, and
    /// in the last sweep where they are wanted.
    pub(super) fn sweep_half(color: &Color, grid: &Grid, half: &mut Half, up: bool, last: bool) = sweep_kernel, false;
}

each_level! {
    /// As [`sweep_half`], with sources that are linear within a cube, and mean radiance in place of that in the middle.
    pub(super) fn sweep_half_linear(color: &Color, grid: &Grid, half: &mut Half, up: bool, last: bool) = sweep_kernel, true;
}

#[inline(always)]
fn sweep_kernel<S: Simd, const LINEAR: bool>(
    s: S,
    color: &Color,
    grid: &Grid,
    half: &mut Half,
    up: bool,
    last: bool,
) {
    let Dims { nx, ny, nz } = grid.dims;
    let width = nx + 2;
    let directions = Directions::new(s, color, up);
    for n in 0..CORNERS {
        half.before[n].fill(directions.inflow_corner[n]);
        half.after[n].fill(directions.inflow_corner[n]);
    }
    half.along_z.fill(directions.inflow_z);
    for step in 0..nz {
        let k = if up { step } else { nz - 1 - step };
        half.along_y.fill(directions.inflow_y);
        if let Some(floor) = color.floor.get(k * width..(k + 1) * width) {
            // The first two corners lie up along y.
            half.before[0][..width].copy_from_slice(floor);
            half.before[1][..width].copy_from_slice(floor);
            if up {
                half.along_y.copy_from_slice(&floor[1..=nx]);
            }
        }
        for step in 0..ny {
            let j = if up { step } else { ny - 1 - step };
            row::<S, LINEAR>(s, color, grid, &directions, half, [j, k], last);
        }
        std::mem::swap(&mut half.before, &mut half.after);
        // Either half takes the rows of half the planes.
        if up == (2 * k < nz) {
            along_x::<S, LINEAR>(s, color, grid, half, k, last);
        }
    }
}

/// Coefficients of the directions of a half, the same for all cubes.
#[derive(Clone, Copy)]
struct Directions<S: Simd> {
    /// Radiance that comes in.
    inflow_corner: [f32; CORNERS],
    inflow_y: f32,
    inflow_z: f32,
    /// Share of the sun scattered into each.
    sun_corner: [f32x8<S>; CORNERS],
    sun_y: f32x8<S>,
    sun_z: f32x8<S>,
    /// 1 if they move up, −1 if down.
    sign: f32x8<S>,
}

impl<S: Simd> Directions<S> {
    #[inline(always)]
    fn new(s: S, color: &Color, up: bool) -> Self {
        let (y, z, corner, sign) = if up { (2, 4, 6, 1.0) } else { (3, 5, 10, -1.0) };
        let (inflow, sun) = (&color.inflow, &color.sun_phase);
        Self {
            inflow_corner: [inflow[corner], inflow[corner + 1], inflow[corner + 2], inflow[corner + 3]],
            inflow_y: inflow[y],
            inflow_z: inflow[z],
            sun_corner: [
                s.splat_f32x8(sun[corner]),
                s.splat_f32x8(sun[corner + 1]),
                s.splat_f32x8(sun[corner + 2]),
                s.splat_f32x8(sun[corner + 3]),
            ],
            sun_y: s.splat_f32x8(sun[y]),
            sun_z: s.splat_f32x8(sun[z]),
            sign: s.splat_f32x8(sign),
        }
    }
}

#[inline(always)]
fn load<S: Simd>(s: S, values: &[f32], at: usize) -> f32x8<S> {
    f32x8::load_array_ref(s, values[at..].first_chunk().expect("rows of whole strips"))
}

#[inline(always)]
fn store<S: Simd>(x: f32x8<S>, values: &mut [f32], at: usize) {
    x.store_array(values[at..].first_chunk_mut().expect("rows of whole strips"));
}

/// Adds to a strip.
#[inline(always)]
fn add<S: Simd>(s: S, x: f32x8<S>, values: &mut [f32], at: usize) {
    store(load(s, values, at) + x, values, at);
}

/// Radiance sent into a direction: `scattered`, not below 0, and a share of the sun.
#[inline(always)]
fn sent<S: Simd>(s: S, scattered: f32x8<S>, share: f32x8<S>, sun: f32x8<S>) -> f32x8<S> {
    share.mul_add(sun, scattered.max(s.splat_f32x8(0.0)))
}

/// A step through a cube, or half of one: towards the source by what the medium takes.
#[inline(always)]
fn half_step<S: Simd>(radiance: f32x8<S>, passes: f32x8<S>, source: f32x8<S>) -> f32x8<S> {
    passes.mul_add(radiance - source, source)
}

/// A source that is linear along a step through a cube: its mean and its change over the step.
///
/// ```text
/// S(s) = S̄ + S′ (s/τ − ½)      a = e^−τ      m = (1 − a) / τ      c = (1 + a) / 2 − m
///
/// leaves   S̄ + a (L − S̄) + c S′
/// mean     S̄ + m (L − S̄) − c/τ S′
/// ```
///
/// for a radiance L that enters. Both together keep the energy: L − leaves = τ (mean − S̄).
#[derive(Clone, Copy)]
pub(in crate::render::light) struct LinearStep<S: Simd> {
    a: f32x8<S>,
    m: f32x8<S>,
    c: f32x8<S>,
    c_over_depth: f32x8<S>,
}

impl<S: Simd> LinearStep<S> {
    #[inline(always)]
    pub fn new(s: S, a: f32x8<S>, m: f32x8<S>) -> Self {
        let (one, half) = (s.splat_f32x8(1.0), s.splat_f32x8(0.5));
        let c = (half.mul_add(a, half) - m).max(s.splat_f32x8(0.0));
        let c_over_depth = c * m / (one - a).max(s.splat_f32x8(1e-3));
        Self { a, m, c, c_over_depth }
    }

    /// The parts of the radiance that leaves and of its mean that do not depend on what enters. The source is nowhere below 0.
    #[inline(always)]
    pub fn sent(&self, s: S, source: f32x8<S>, change: f32x8<S>) -> [f32x8<S>; 2] {
        let one = s.splat_f32x8(1.0);
        let most = source + source;
        let change = change.min(most).max(s.splat_f32x8(0.0) - most);
        let leaves = (one - self.a).mul_add(source, self.c * change);
        [leaves, (one - self.m).mul_add(source, s.splat_f32x8(0.0) - self.c_over_depth * change)]
    }

    /// The radiance that leaves, and its mean, where `radiance` enters.
    #[inline(always)]
    pub fn through(&self, radiance: f32x8<S>, [leaves, mean]: [f32x8<S>; 2]) -> [f32x8<S>; 2] {
        [self.a.mul_add(radiance, leaves), self.m.mul_add(radiance, mean)]
    }
}

/// A row of cubes, in all directions but those along x.
#[inline(always)]
fn row<S: Simd, const LINEAR: bool>(
    s: S,
    color: &Color,
    grid: &Grid,
    directions: &Directions<S>,
    half: &mut Half,
    [j, k]: [usize; 2],
    last: bool,
) {
    let Dims { nx, ny, .. } = grid.dims;
    let (width, count, first) = (nx + 2, nx / EIGHT, (k * ny + j) * nx);
    // All slices are taken ahead of the loop, which then checks no bounds.
    let [filled, thick, wanted] =
        [&grid.filled, &grid.thick, &grid.wanted].map(|strips| &strips[first / EIGHT..][..count]);
    let (sun, even) = (strips(&color.sun, first, count), strips(&color.even, first, count));
    let [near, far] = &color.passes;
    let (near, far) = (strips(near, first, count), strips(far, first, count));
    let [x, y, z] = &color.along;
    let along = [strips(x, first, count), strips(y, first, count), strips(z, first, count)];
    // Empty but for linear sources.
    let linear = if LINEAR { [first, count] } else { [0; 2] };
    let means = color.means.each_ref().map(|values| strips(values, linear[0], linear[1]));
    let changes = color.changes.each_ref().map(|values| strips(values, linear[0], linear[1]));
    let sun_changes = color.sun_changes.each_ref().map(|values| strips(values, linear[0], linear[1]));
    let Half { moments, before, after, along_y, along_z, radiance: kept } = half;
    // A corner's step along x and y, as an offset in a plane with a border.
    let back = [j * width, j * width + 2, (j + 2) * width, (j + 2) * width + 2];
    let here = (j + 1) * width + 1;
    let [p, q, r, t] = &*before;
    let before = [
        strips(p, back[0], count),
        strips(q, back[1], count),
        strips(r, back[2], count),
        strips(t, back[3], count),
    ];
    let [p, q, r, t] = after;
    let after = [
        strips_mut(p, here, count),
        strips_mut(q, here, count),
        strips_mut(r, here, count),
        strips_mut(t, here, count),
    ];
    let (along_y, along_z) = (strips_mut(along_y, 0, count), strips_mut(along_z, j * nx, count));
    let Moments { mean, flux: [x, y, z] } = moments;
    let mean = strips_mut(mean, first, count);
    let flux = [strips_mut(x, first, count), strips_mut(y, first, count), strips_mut(z, first, count)];
    let keeps = last && !kept[0].is_empty();
    let (corner, face, diagonal) = (s.splat_f32x8(CORNER), s.splat_f32x8(FACE), s.splat_f32x8(DIAGONAL));
    for i in 0..count {
        let mut corners = [s.splat_f32x8(0.0); CORNERS];
        for n in 0..CORNERS {
            corners[n] = f32x8::load_array_ref(s, &before[n][i]);
        }
        let mut to_z = f32x8::load_array_ref(s, &along_z[i]);
        let mut to_y = f32x8::load_array_ref(s, &along_y[i]);
        if filled[i] {
            let (sun, even) = (f32x8::load_array_ref(s, &sun[i]), f32x8::load_array_ref(s, &even[i]));
            let x = diagonal * f32x8::load_array_ref(s, &along[0][i]);
            let y = f32x8::load_array_ref(s, &along[1][i]);
            let y_signed = directions.sign * y;
            let z_signed = directions.sign * f32x8::load_array_ref(s, &along[2][i]);
            let middle = diagonal.mul_add(z_signed, even);
            let (front, behind) = (diagonal.mul_add(y, middle), middle - diagonal * y);
            let scattered = [front + x, front - x, behind + x, behind - x];
            let far = f32x8::load_array_ref(s, &far[i]);
            let near = f32x8::load_array_ref(s, &near[i]);
            if LINEAR && thick[i] {
                let load = |values: &[[f32; EIGHT]]| f32x8::load_array_ref(s, &values[i]);
                let [near_mean, far_mean] = means.map(load);
                let (near, far) = (LinearStep::new(s, near, near_mean), LinearStep::new(s, far, far_mean));
                let across = |[x, y, z]: [f32x8<S>; 3]| {
                    let z = directions.sign * z;
                    ([y + z + x, y + z - x, z - y + x, z - y - x], directions.sign * y, z)
                };
                let (changes, change_y, change_z) = across(changes.map(load));
                let (sun_changes, sun_change_y, sun_change_z) = across(sun_changes.map(load));
                for n in 0..CORNERS {
                    let share = directions.sun_corner[n];
                    let source = sent(s, scattered[n], share, sun);
                    let parts = far.sent(s, source, share.mul_add(sun_changes[n], changes[n]));
                    let [leaves, mean] = far.through(corners[n], parts);
                    corners[n] = mean;
                    leaves.store_array(&mut after[n][i]);
                }
                let source = sent(s, even + z_signed, directions.sun_z, sun);
                let parts = near.sent(s, source, directions.sun_z.mul_add(sun_change_z, change_z));
                let [leaves, mean] = near.through(to_z, parts);
                to_z = mean;
                leaves.store_array(&mut along_z[i]);
                let source = sent(s, even + y_signed, directions.sun_y, sun);
                let parts = near.sent(s, source, directions.sun_y.mul_add(sun_change_y, change_y));
                let [leaves, mean] = near.through(to_y, parts);
                to_y = mean;
                leaves.store_array(&mut along_y[i]);
            } else if LINEAR {
                let [near_mean, far_mean] = means.map(|values| f32x8::load_array_ref(s, &values[i]));
                for n in 0..CORNERS {
                    let source = sent(s, scattered[n], directions.sun_corner[n], sun);
                    half_step(corners[n], far, source).store_array(&mut after[n][i]);
                    corners[n] = half_step(corners[n], far_mean, source);
                }
                let source = sent(s, even + z_signed, directions.sun_z, sun);
                half_step(to_z, near, source).store_array(&mut along_z[i]);
                to_z = half_step(to_z, near_mean, source);
                let source = sent(s, even + y_signed, directions.sun_y, sun);
                half_step(to_y, near, source).store_array(&mut along_y[i]);
                to_y = half_step(to_y, near_mean, source);
            } else {
                for n in 0..CORNERS {
                    let source = sent(s, scattered[n], directions.sun_corner[n], sun);
                    corners[n] = half_step(corners[n], far, source);
                    half_step(corners[n], far, source).store_array(&mut after[n][i]);
                }
                let source = sent(s, even + z_signed, directions.sun_z, sun);
                to_z = half_step(to_z, near, source);
                half_step(to_z, near, source).store_array(&mut along_z[i]);
                let source = sent(s, even + y_signed, directions.sun_y, sun);
                to_y = half_step(to_y, near, source);
                half_step(to_y, near, source).store_array(&mut along_y[i]);
            }
        } else {
            for n in 0..CORNERS {
                corners[n].store_array(&mut after[n][i]);
            }
            if !(last && wanted[i]) {
                continue;
            }
        }
        if keeps {
            for (radiance, kept) in corners.into_iter().chain([to_y, to_z]).zip(&mut *kept) {
                store(radiance, kept, first + i * EIGHT);
            }
        }
        let (front, behind) = (corners[0] + corners[1], corners[2] + corners[3]);
        let (ahead, back) = (corners[0] + corners[2], corners[1] + corners[3]);
        let (all, aside) = (corner * (front + behind), corner * diagonal);
        face.mul_add(to_z + to_y, all).store_array(&mut mean[i]);
        (aside * (ahead - back)).store_array(&mut flux[0][i]);
        aside.mul_add(front - behind, directions.sign * face * to_y).store_array(&mut flux[1][i]);
        (directions.sign * diagonal.mul_add(all, face * to_z)).store_array(&mut flux[2][i]);
    }
}

/// All rows of a plane along themselves, in both directions, added to the moments.
#[inline(always)]
fn along_x<S: Simd, const LINEAR: bool>(
    s: S,
    color: &Color,
    grid: &Grid,
    half: &mut Half,
    k: usize,
    last: bool,
) {
    let Half { moments, radiance: kept, .. } = half;
    let keeps = last && !kept[0].is_empty();
    let Dims { nx, ny, .. } = grid.dims;
    let face = s.splat_f32x8(FACE);
    for first in (0..ny).step_by(EIGHT) {
        let mut rows = [0; EIGHT];
        for n in 0..EIGHT {
            rows[n] = (k * ny + (first + n).min(ny - 1)) * nx;
        }
        for (direction, sign) in [(0, 1.0), (1, -1.0)] {
            let mut radiance = s.splat_f32x8(color.inflow[direction]);
            let (share, sign) = (s.splat_f32x8(color.sun_phase[direction]), s.splat_f32x8(sign));
            for step in (0..nx).step_by(EIGHT) {
                let i = if direction == 0 { step } else { nx - EIGHT - step };
                let mut counts = [false; EIGHT];
                for n in 0..EIGHT {
                    let strip = (rows[n] + i) / EIGHT;
                    counts[n] = grid.filled[strip] || last && grid.wanted[strip];
                }
                if counts == [false; EIGHT] {
                    continue;
                }
                let (mut passes, mut sources) = ([s.splat_f32x8(1.0); EIGHT], [s.splat_f32x8(0.0); EIGHT]);
                let (mut means, mut of_means) = ([s.splat_f32x8(1.0); EIGHT], [s.splat_f32x8(0.0); EIGHT]);
                for n in 0..EIGHT {
                    let at = rows[n] + i;
                    if grid.filled[at / EIGHT] {
                        let scattered = sign.mul_add(load(s, &color.along[0], at), load(s, &color.even, at));
                        sources[n] = sent(s, scattered, share, load(s, &color.sun, at));
                        passes[n] = load(s, &color.passes[0], at);
                        if LINEAR {
                            means[n] = load(s, &color.means[0], at);
                            let through = LinearStep::new(s, passes[n], means[n]);
                            let change = if grid.thick[at / EIGHT] {
                                share.mul_add(
                                    load(s, &color.sun_changes[0], at),
                                    load(s, &color.changes[0], at),
                                )
                            } else {
                                s.splat_f32x8(0.0)
                            };
                            [sources[n], of_means[n]] = through.sent(s, sources[n], sign * change);
                        }
                    }
                }
                let (passes, sources) = (transposed(s, passes), transposed(s, sources));
                let mut middles = [s.splat_f32x8(0.0); EIGHT];
                if LINEAR {
                    (means, of_means) = (transposed(s, means), transposed(s, of_means));
                }
                for step in 0..EIGHT {
                    let i = if direction == 0 { step } else { EIGHT - 1 - step };
                    if LINEAR {
                        middles[i] = means[i].mul_add(radiance, of_means[i]);
                        radiance = passes[i].mul_add(radiance, sources[i]);
                        continue;
                    }
                    middles[i] = half_step(radiance, passes[i], sources[i]);
                    let both = passes[i] * passes[i];
                    radiance = both.mul_add(radiance, sources[i] - both * sources[i]);
                }
                let middles = transposed(s, middles);
                for n in (0..EIGHT.min(ny - first)).filter(|&n| counts[n]) {
                    let weighted = face * middles[n];
                    add(s, weighted, &mut moments.mean, rows[n] + i);
                    add(s, sign * weighted, &mut moments.flux[0], rows[n] + i);
                    if keeps {
                        store(middles[n], &mut kept[CORNERS + 2 + direction], rows[n] + i);
                    }
                }
            }
        }
    }
}
