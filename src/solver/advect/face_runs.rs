//! Limited cubic interpolation of the velocity, one component after the other, for runs of eight faces.
//!
//! Departure points of a run are mostly neighbours, as their faces are: then one load at each node of the stencil serves all eight.
//! Shear splits a run into groups of neighbours. Each group has its own stencil, masked to its faces. The sums have the order of [`cubic`](super::cubic), so the result has the bits of [`component`](super::component).

use fearless_simd::prelude::*;
use fearless_simd::{f32x4, u32x8};

use super::staggered::Staggered;
use super::stencil_lines::StencilLines;
use super::{Curve, Interpolation, Row, component};
use crate::simd::vectors::{EIGHT, Eight, f32x8};
use crate::simd::{Simd, each_level};
use crate::solver::advect::trace::{locate_eight, mean_of_cells};
use crate::solver::sides::SampleBounds;

/// Values of a line that the stencils of eight neighbours read.
const LINE: usize = EIGHT + 3;

type Lines<'a> = StencilLines<'a, f32, 4, LINE>;

each_level! {
    /// See [`super::velocity`].
    pub fn velocity_row(field: &Staggered, at: usize, jk: [isize; 2], bounds: &[SampleBounds; 3], out: [&mut [f32]; 3]) =
        velocity_kernel;
}

#[inline(always)]
fn velocity_kernel<S: Simd>(
    s: S,
    field: &Staggered,
    at: usize,
    jk: [isize; 2],
    bounds: &[SampleBounds; 3],
    out: [&mut [f32]; 3],
) {
    for (c, (bounds, out)) in bounds.iter().zip(out).enumerate() {
        component_kernel(s, field, at, (jk, c), bounds, out);
    }
}

/// Interpolates faces of component `c`.
#[inline(always)]
fn component_kernel<S: Simd>(
    s: S,
    field: &Staggered,
    at: usize,
    (jk, c): ([isize; 2], usize),
    bounds: &SampleBounds,
    out: &mut [f32],
) {
    let values = &field.faces[c][..];
    let stride = [1, bounds.row, bounds.plane][c];
    for from in (0..out.len()).step_by(EIGHT) {
        let out = &mut out[from..];
        let count = out.len().min(EIGHT);
        let origin = [from as f32, jk[0] as f32, jk[1] as f32];
        let cells = [&field.back[at + from - stride..], &field.back[at + from..]];
        let (base, fractions) = departures(s, cells, bounds, origin);
        let [x, y, z] = fractions;
        let weights = [weights(s, field.curve, x), weights(s, field.curve, y), weights(s, field.curve, z)];
        let first_of_run = base - u32x8::load_array(s, [0, 1, 2, 3, 4, 5, 6, 7]);
        let starts = first_of_run.to_array();
        let (mut left, mut result) = ((1u64 << count) - 1, s.splat_f32x8(0.0));
        while left != 0 {
            let start = starts[left.trailing_zeros() as usize];
            let group = first_of_run.simd_eq(start);
            match Lines::around(values, start as usize, bounds) {
                Some(lines) => result = group.select(stencil(s, lines, &weights), result),
                None => {
                    let mut faces = Eight(result.to_array());
                    for l in (0..count).filter(|&l| starts[l] == start) {
                        let back = mean_of_cells(field.back, at + from + l, stride, 1);
                        let row =
                            Row { origin: [origin[0] + l as f32, origin[1], origin[2]], back: &back[..1] };
                        let kind = Interpolation::Cubic(field.curve);
                        component(kind, row, bounds, values, &mut faces.0[l..=l]);
                    }
                    result = faces.load(s);
                }
            }
            left &= !group.to_bitmask();
        }
        match out.first_chunk_mut() {
            Some(out) => result.store_array(out),
            None => out.copy_from_slice(&result.to_array()[..count]),
        }
    }
}

/// Positions below the departure points of eight faces, and the fractions above them. `cells` are the back-traces of the cells below
/// the faces and above.
#[inline(always)]
fn departures<S: Simd>(
    s: S,
    [below, above]: [&[[f32; 4]]; 2],
    bounds: &SampleBounds,
    origin: [f32; 3],
) -> (u32x8<S>, [f32x8<S>; 3]) {
    let (below, above): (&[[f32; 4]; EIGHT], &[[f32; 4]; EIGHT]) =
        (below.first_chunk().expect("cells beyond a row"), above.first_chunk().expect("cells beyond a row"));
    let [x, y, z, _] = s.transpose_blocks([
        sum(s, below, above, 0),
        sum(s, below, above, 1),
        sum(s, below, above, 2),
        sum(s, below, above, 3),
    ]);
    let half = s.splat_f32x8(0.5);
    let along = f32x8::load_array(s, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let (from_y, from_z) = (s.splat_f32x8(origin[1]), s.splat_f32x8(origin[2]));
    locate_eight(s, bounds, [(along + origin[0]) - half * x, from_y - half * y, from_z - half * z])
}

/// Cells l and l + 4, each the sum of two.
#[inline(always)]
fn sum<S: Simd>(s: S, below: &[[f32; 4]; EIGHT], above: &[[f32; 4]; EIGHT], l: usize) -> f32x8<S> {
    let low = f32x4::load_array_ref(s, &below[l]) + f32x4::load_array_ref(s, &above[l]);
    low.combine(f32x4::load_array_ref(s, &below[l + 4]) + f32x4::load_array_ref(s, &above[l + 4]))
}

/// [`Curve::weights`] of each lane.
#[inline(always)]
pub fn weights<S: Simd>(s: S, curve: Curve, t: f32x8<S>) -> [f32x8<S>; 4] {
    let rest = s.splat_f32x8(1.0) - t;
    let product = t * rest;
    let (level, slope) = (s.splat_f32x8(curve.level), s.splat_f32x8(curve.slope));
    let first = product * slope.mul_add(rest, level);
    let last = product * slope.mul_add(t, level);
    let twice = s.splat_f32x8(-2.0);
    [first, twice.mul_add(first, rest) + last, twice.mul_add(last, t) + first, last]
}

/// The limited values of eight neighbours. `lines` begin with the values of the first.
#[inline(always)]
fn stencil<S: Simd>(s: S, lines: Lines, [x, y, z]: &[[f32x8<S>; 4]; 3]) -> f32x8<S> {
    let zero = s.splat_f32x8(0.0);
    let mut sums = [zero; 4];
    let (mut low, mut high) = (s.splat_f32x8(f32::INFINITY), s.splat_f32x8(f32::NEG_INFINITY));
    for k in 0..4 {
        let mut slice = [zero; 4];
        for j in 0..4 {
            let line = lines.line(j, k);
            for i in 0..4 {
                let value = f32x8::from_slice(s, &line[i..i + EIGHT]);
                slice[i] = y[j].mul_add(value, slice[i]);
                if (1..3).contains(&k) && (1..3).contains(&j) && (1..3).contains(&i) {
                    low = value.min(low);
                    high = value.max(high);
                }
            }
        }
        for i in 0..4 {
            sums[i] = z[k].mul_add(slice[i], sums[i]);
        }
    }
    let value = (x[0] * sums[0] + x[2] * sums[2]) + (x[1] * sums[1] + x[3] * sums[3]);
    value.max(low).min(high)
}
