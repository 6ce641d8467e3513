//! Limited cubic interpolation of the velocity, one component after the other, for runs of eight faces.
//!
//! Departure points of a run are mostly neighbours, as their faces are: one load at each node of the stencil
//! then serves all eight, or two runs where a register holds as many. Shear splits a run into groups of neighbours. Each group has its
//! own stencil, masked to its faces. Terms are added in the order of [`cubic`](super::cubic), so the result has the bits
//! of [`component`](super::component). Beside finer smoke, [`six_points`] continues the cubic.

use fearless_simd::prelude::*;
use fearless_simd::{f32x4, mask32x8, u32x8};

use super::cubic::{neighbours, weights_of_lanes};
use super::staggered::Staggered;
use super::stencil_lines::StencilLines;
use super::{Curve, Interpolation, Row, component, six_points};
use crate::simd::vectors::{EIGHT, Eight, f32x8, f32x16};
use crate::simd::{Simd, each_level};
use crate::solver::advect::trace::{indices_of_eight, mean_of_cells};
use crate::solver::sides::SampleBounds;

/// Values of a line that the stencils of eight neighbours read.
const LINE: usize = EIGHT + 3;

type Lines<'a> = StencilLines<'a, [f32; 1], 4, LINE>;

each_level! {
    /// See [`super::velocity`].
    pub fn velocity_row(field: &Staggered, at: usize, jk: [isize; 2], bounds: &[SampleBounds; 3], out: [&mut [f32]; 3]) =
        velocity_kernel;
}
each_level! {
    /// As [`velocity_row`], through six points along each axis where they lie inside the box. `field` has Lagrange's curve.
    pub fn six_point_row(field: &Staggered, at: usize, jk: [isize; 2], bounds: &[SampleBounds; 3], out: [&mut [f32]; 3]) =
        six_point_kernel;
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
        component_kernel::<S, false>(s, field, at, (jk, c), bounds, out);
    }
}

#[inline(always)]
fn six_point_kernel<S: Simd>(
    s: S,
    field: &Staggered,
    at: usize,
    jk: [isize; 2],
    bounds: &[SampleBounds; 3],
    out: [&mut [f32]; 3],
) {
    for (c, (bounds, out)) in bounds.iter().zip(out).enumerate() {
        component_kernel::<S, true>(s, field, at, (jk, c), bounds, out);
    }
}

/// Faces of a component: their values, the bounds of departure points, and the interpolating curve.
#[derive(Clone, Copy)]
struct FacesOf<'a> {
    values: &'a [f32],
    bounds: &'a SampleBounds,
    component: usize,
    curve: Curve,
}

/// Departure points of eight faces: the position below that of the first, if all are neighbours of it, seen from each; the fractions
/// above; and those with six points inside the box.
#[derive(Clone, Copy)]
struct Departures<S: Simd> {
    firsts: u32x8<S>,
    fractions: [f32x8<S>; 3],
    six: Option<mask32x8<S>>,
}

/// Interpolates a row of a component, through six points or four.
#[inline(always)]
fn component_kernel<S: Simd, const SIX: bool>(
    s: S,
    field: &Staggered,
    at: usize,
    (jk, component): ([isize; 2], usize),
    bounds: &SampleBounds,
    out: &mut [f32],
) {
    let faces = FacesOf { values: &field.faces[component], bounds, component, curve: field.curve };
    let origin = |from: usize| [from as f32, jk[0] as f32, jk[1] as f32];
    let mut from = 0;
    while from < out.len() {
        let here = departures::<S, SIX>(s, field.back, at + from, faces, origin(from));
        // Sixteen neighbours have one stencil where a register holds as many.
        if S::f32s::LEN >= 2 * EIGHT && from + 2 * EIGHT <= out.len() {
            let next = from + EIGHT;
            let there = departures::<S, SIX>(s, field.back, at + next, faces, origin(next));
            match sixteen(s, faces, here, there) {
                Some(values) => values.store_slice(&mut out[from..][..2 * EIGHT]),
                None => {
                    for (from, departures) in [(from, here), (next, there)] {
                        let back = (field.back, at + from, origin(from));
                        eight(s, faces, departures, back, &mut out[from..][..EIGHT]);
                    }
                }
            }
            from += 2 * EIGHT;
        } else {
            let count = (out.len() - from).min(EIGHT);
            eight(s, faces, here, (field.back, at + from, origin(from)), &mut out[from..][..count]);
            from += EIGHT;
        }
    }
}

/// Interpolates sixteen faces whose departure points are neighbours.
#[inline(always)]
fn sixteen<S: Simd>(
    s: S,
    FacesOf { values, bounds, curve, .. }: FacesOf,
    here: Departures<S>,
    there: Departures<S>,
) -> Option<f32x16<S>> {
    let start = here.firsts.to_array()[0];
    if !(here.firsts.simd_eq(start) & there.firsts.simd_eq(start + EIGHT as u32)).all_true() {
        return None;
    }
    let values = bytemuck::cast_slice(values);
    let lines = StencilLines::<[f32; 1], 4, { LINE + EIGHT }>::around(values, start as usize, bounds)?;
    let [x, y, z] = [0, 1, 2].map(|axis| here.fractions[axis].combine(there.fractions[axis]));
    let weights =
        [weights_of_lanes(s, curve, x), weights_of_lanes(s, curve, y), weights_of_lanes(s, curve, z)];
    let mut sum = neighbours(s, lines, &weights);
    if let (Some(here), Some(there)) = (here.six, there.six)
        && (here | there).any_true()
    {
        let rest = six_points::fourth_differences::<S, _, { LINE + EIGHT + 2 }>(
            s,
            values,
            start as usize,
            bounds,
            [x, y, z],
        );
        let ((low, high), (near, far)) = (sum.value.split(), (sum.value + rest).split());
        sum.value = here.select(near, low).combine(there.select(far, high));
    }
    Some(sum.limited::<S>())
}

/// Interpolates up to eight faces, each group of neighbours by a stencil of its own. `back` are all displacements, the position of the
/// first face and its coordinates.
#[inline(always)]
fn eight<S: Simd>(
    s: S,
    FacesOf { values, bounds, component: c, curve }: FacesOf,
    Departures { firsts, fractions, six }: Departures<S>,
    (back, at, origin): (&[[f32; 4]], usize, [f32; 3]),
    out: &mut [f32],
) {
    let (stride, count) = ([1, bounds.row, bounds.plane][c], out.len());
    let [x, y, z] = fractions;
    let weights =
        [weights_of_lanes(s, curve, x), weights_of_lanes(s, curve, y), weights_of_lanes(s, curve, z)];
    let starts = firsts.to_array();
    let (mut remaining, mut result) = ((1u64 << count) - 1, s.splat_f32x8(0.0));
    while remaining != 0 {
        let start = starts[remaining.trailing_zeros() as usize];
        let group = firsts.simd_eq(start);
        match Lines::around(bytemuck::cast_slice(values), start as usize, bounds) {
            Some(lines) => {
                let mut sum = neighbours(s, lines, &weights);
                if let Some(six) = six.map(|six| six & group).filter(|six| six.any_true()) {
                    let values = bytemuck::cast_slice(values);
                    let rest = six_points::fourth_differences::<S, _, { LINE + 2 }>(
                        s,
                        values,
                        start as usize,
                        bounds,
                        fractions,
                    );
                    sum.value = six.select(sum.value + rest, sum.value);
                }
                result = group.select(sum.limited::<S>(), result);
            }
            None => {
                let mut faces = Eight(result.to_array());
                for l in (0..count).filter(|&l| starts[l] == start) {
                    let back = mean_of_cells(back, at + l, stride, 1);
                    let row = Row { origin: [origin[0] + l as f32, origin[1], origin[2]], back: &back[..1] };
                    component(Interpolation::Cubic(curve), row, bounds, values, &mut faces.0[l..=l]);
                }
                result = faces.load(s);
            }
        }
        remaining &= !group.to_bitmask();
    }
    match out.first_chunk_mut() {
        Some(out) => result.store_array(out),
        None => out.copy_from_slice(&result.to_array()[..count]),
    }
}

/// Departure points of the eight faces from position `at` on, whose first has the coordinates `origin`.
#[inline(always)]
fn departures<S: Simd, const SIX: bool>(
    s: S,
    back: &[[f32; 4]],
    at: usize,
    FacesOf { bounds, component: c, .. }: FacesOf,
    origin: [f32; 3],
) -> Departures<S> {
    let stride = [1, bounds.row, bounds.plane][c];
    let [below, above] =
        [&back[at - stride..], &back[at..]].map(|cells| cells.first_chunk().expect("cells beyond a row"));
    let [x, y, z, _] = s.transpose_blocks([
        sum(s, below, above, 0),
        sum(s, below, above, 1),
        sum(s, below, above, 2),
        sum(s, below, above, 3),
    ]);
    let half = s.splat_f32x8(0.5);
    let along = f32x8::load_array(s, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let (from_y, from_z) = (s.splat_f32x8(origin[1]), s.splat_f32x8(origin[2]));
    let points = [(along + origin[0]) - half * x, from_y - half * y, from_z - half * z];
    let ([i, j, k], fractions) = indices_of_eight(s, bounds, points);
    let base = i + j * bounds.row as u32 + k * bounds.plane as u32;
    Departures {
        firsts: base - u32x8::load_array(s, [0, 1, 2, 3, 4, 5, 6, 7]),
        fractions,
        six: if SIX { Some(six_points::inside(s, bounds, c, [i, j, k])) } else { None },
    }
}

/// Sums of the back-traces below and above the faces l and l + 4.
#[inline(always)]
fn sum<S: Simd>(s: S, below: &[[f32; 4]; EIGHT], above: &[[f32; 4]; EIGHT], l: usize) -> f32x8<S> {
    let low = f32x4::load_array_ref(s, &below[l]) + f32x4::load_array_ref(s, &above[l]);
    low.combine(f32x4::load_array_ref(s, &below[l + 4]) + f32x4::load_array_ref(s, &above[l + 4]))
}
