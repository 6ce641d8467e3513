//! Back-traces of eight cells at a time, with the bits of the plain rule.
//!
//! Lane l of a vector of coordinates belongs to cell 2l, lane 4 + l to cell 2l + 1: a transposition of 4×4 blocks turns the velocities of
//! eight cells, two in each register, into coordinates.

use fearless_simd::prelude::*;
use fearless_simd::{f32x4, u32x8};

use super::Row;
use crate::grid::GHOST;
use crate::simd::vectors::{EIGHT, f32x8};
use crate::simd::{Simd, each_level};
use crate::solver::advect::stencil_lines::StencilLines;
use crate::solver::sides::SampleBounds;

each_level! {
    /// Back-traces of second order.
    pub fn midpoint_row(row: Row, bounds: &SampleBounds, out: &mut [[f32; 4]]) = midpoint_kernel;
}
each_level! {
    /// Back-traces of third order.
    pub fn ralston_row(row: Row, bounds: &SampleBounds, out: &mut [[f32; 4]]) = ralston_kernel;
}

#[inline(always)]
fn midpoint_kernel<S: Simd>(s: S, row: Row, bounds: &SampleBounds, out: &mut [[f32; 4]]) {
    trace::<S, 2>(s, row, bounds, out);
}

#[inline(always)]
fn ralston_kernel<S: Simd>(s: S, row: Row, bounds: &SampleBounds, out: &mut [[f32; 4]]) {
    trace::<S, 3>(s, row, bounds, out);
}

/// k₁ = u(x), k₂ = u(x − ½ Δt k₁), k₃ = u(x − ¾ Δt k₂). The departure point of the second order is x − Δt k₂, that of the third
/// x − Δt (2 k₁ + 3 k₂ + 4 k₃)/9.
#[inline(always)]
fn trace<S: Simd, const ORDER: usize>(
    s: S,
    Row { centers, at, jk, steps }: Row,
    bounds: &SampleBounds,
    out: &mut [[f32; 4]],
) {
    for from in (0..out.len()).step_by(EIGHT) {
        let origin = [from as f32, jk[0], jk[1]];
        let here = centers[at + from..][..EIGHT].as_flattened();
        let first = [two(s, here, 0), two(s, here, 2), two(s, here, 4), two(s, here, 6)];
        let mut velocity = sample(s, centers, bounds, origin, first, 0.5 * steps);
        if ORDER == 3 {
            let third = sample(s, centers, bounds, origin, velocity, 0.75 * steps);
            for n in 0..4 {
                let sum = first[n] * 2.0 + velocity[n] * 3.0 + third[n] * 4.0;
                velocity[n] = sum * (1.0 / 9.0);
            }
        }
        for (two, velocity) in out[from..].chunks_mut(2).zip(velocity) {
            let displacement = (velocity * steps).to_array();
            let two = two.as_flattened_mut();
            two.copy_from_slice(&displacement[..two.len()]);
        }
    }
}

/// Cells `n` and `n` + 1.
#[inline(always)]
fn two<S: Simd>(s: S, values: &[f32], n: usize) -> f32x8<S> {
    f32x8::from_slice(s, &values[4 * n..4 * n + 8])
}

/// Samples `values` at x − `steps` · `velocity` for each x of eight cells from index coordinates `origin` on.
#[inline(always)]
fn sample<S: Simd>(
    s: S,
    values: &[[f32; 4]],
    bounds: &SampleBounds,
    origin: [f32; 3],
    velocity: [f32x8<S>; 4],
    steps: f32,
) -> [f32x8<S>; 4] {
    let [a, b, c, d] = velocity;
    let [x, y, z, _] = s.transpose_blocks([a * steps, b * steps, c * steps, d * steps]);
    let along = f32x8::load_array(s, [0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]);
    let points = [(along + origin[0]) - x, s.splat_f32x8(origin[1]) - y, s.splat_f32x8(origin[2]) - z];
    let (at, [x, y, z]) = locate(s, bounds, points);
    let at = at.to_array();
    let (x, y, z) = (
        s.transpose_blocks([x, x, x, x]),
        s.transpose_blocks([y, y, y, y]),
        s.transpose_blocks([z, z, z, z]),
    );
    let mut out = velocity;
    for n in 0..4 {
        let cells = [at[n] as usize, at[n + 4] as usize];
        out[n] = linear(corners(s, values, cells, bounds), [x[n], y[n], z[n]]);
    }
    out
}

/// The values around two points, each pair in one register, by their side along x, y and z.
type Corners<S> = [[[f32x8<S>; 2]; 2]; 2];

/// The trilinear samples of two cells, in the order of [`linear`](super::linear).
#[inline(always)]
fn linear<S: Simd>(corners: Corners<S>, [x, y, z]: [f32x8<S>; 3]) -> f32x8<S> {
    let mut near = [x; 2];
    for side in 0..2 {
        let mut ends = [x; 2];
        for end in 0..2 {
            let [a, b] = corners[side][end];
            ends[end] = z.mul_add(b - a, a);
        }
        near[side] = y.mul_add(ends[1] - ends[0], ends[0]);
    }
    x.mul_add(near[1] - near[0], near[0])
}

/// Reads the values around two points; `a` and `b` are the positions below them. Mostly the points are
/// neighbours: the lines of the first then hold the values of both.
#[inline(always)]
fn corners<S: Simd>(s: S, values: &[[f32; 4]], [a, b]: [usize; 2], bounds: &SampleBounds) -> Corners<S> {
    let [first, second] = [lines(values, a, bounds), lines(values, b, bounds)];
    let mut corners = [[[s.splat_f32x8(0.0); 2]; 2]; 2];
    if b == a + 1 {
        for x in 0..2 {
            for y in 0..2 {
                for z in 0..2 {
                    corners[x][y][z] = f32x8::from_slice(s, first.line(y, z)[x..][..2].as_flattened());
                }
            }
        }
    } else {
        for x in 0..2 {
            for y in 0..2 {
                for z in 0..2 {
                    let low = f32x4::load_array_ref(s, &first.line(y, z)[x]);
                    corners[x][y][z] = low.combine(f32x4::load_array_ref(s, &second.line(y, z)[x]));
                }
            }
        }
    }
    corners
}

/// The lines from position `at` on. They are one cell longer than a sample needs, and end at most in the
/// second layer of ghosts.
#[inline(always)]
fn lines<'a>(values: &'a [[f32; 4]], at: usize, bounds: &SampleBounds) -> StencilLines<'a, [f32; 4], 2, 3> {
    StencilLines::from(values, at, bounds).expect("samples lie within the first layer of ghosts")
}

/// The positions below eight points and the fractions above them, as [`locate`](super::locate) finds them.
#[inline(always)]
pub fn locate<S: Simd>(s: S, bounds: &SampleBounds, points: [f32x8<S>; 3]) -> (u32x8<S>, [f32x8<S>; 3]) {
    let ([i, j, k], fractions) = locate_indices(s, bounds, points);
    (i + j * bounds.row as u32 + k * bounds.plane as u32, fractions)
}

/// As [`locate`], with the three indices of a position, counted from the first ghost, by themselves.
#[inline(always)]
pub fn locate_indices<S: Simd>(
    s: S,
    bounds: &SampleBounds,
    [x, y, z]: [f32x8<S>; 3],
) -> ([u32x8<S>; 3], [f32x8<S>; 3]) {
    let (i, x) = cells_below(s, bounds, 0, x);
    let (j, y) = cells_below(s, bounds, 1, y);
    let (k, z) = cells_below(s, bounds, 2, z);
    ([i, j, k], [x, y, z])
}

/// The index below a coordinate, counted from the first ghost, and the fraction above it.
#[inline(always)]
fn cells_below<S: Simd>(s: S, bounds: &SampleBounds, axis: usize, mut x: f32x8<S>) -> (u32x8<S>, f32x8<S>) {
    if bounds.period[axis] != 0.0 {
        let periods =
            ((x - s.splat_f32x8(bounds.low[axis])) * s.splat_f32x8(bounds.per_period[axis])).floor();
        x -= s.splat_f32x8(bounds.period[axis]) * periods;
    }
    let x = x.max(s.splat_f32x8(bounds.low[axis])).min(s.splat_f32x8(bounds.high[axis]));
    let base = x.floor().min(s.splat_f32x8(bounds.last[axis]));
    // A whole number added to 2²³ stands in the last bits of the sum.
    const SHIFT: f32 = 8_388_608.0;
    ((base + s.splat_f32x8(GHOST as f32 + SHIFT)).to_bits() - SHIFT.to_bits(), x - base)
}
