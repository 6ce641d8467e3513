//! Limited cubic interpolation of the velocity, one component after the other, for runs of eight faces.
//!
//! Departure points of a run are mostly neighbours, as their faces are: one load at each node of the stencil
//! then serves all eight. Shear splits a run into groups of neighbours. Each group has its own stencil,
//! masked to its faces. Terms are added in the order of [`cubic`](super::cubic), so the result has the bits
//! of [`component`](super::component).

use fearless_simd::prelude::*;
use fearless_simd::{f32x4, u32x8};

use super::cubic::{neighbours, weights_of_eight};
use super::staggered::Staggered;
use super::stencil_lines::StencilLines;
use super::{Interpolation, Row, component};
use crate::simd::vectors::{EIGHT, Eight, f32x8};
use crate::simd::{Simd, each_level};
use crate::solver::advect::trace::{locate_eight, mean_of_cells};
use crate::solver::sides::SampleBounds;

/// Values of a line that the stencils of eight neighbours read.
const LINE: usize = EIGHT + 3;

type Lines<'a> = StencilLines<'a, [f32; 1], 4, LINE>;

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
        let weights = [
            weights_of_eight(s, field.curve, x),
            weights_of_eight(s, field.curve, y),
            weights_of_eight(s, field.curve, z),
        ];
        let first_of_run = base - u32x8::load_array(s, [0, 1, 2, 3, 4, 5, 6, 7]);
        let starts = first_of_run.to_array();
        let (mut remaining, mut result) = ((1u64 << count) - 1, s.splat_f32x8(0.0));
        while remaining != 0 {
            let start = starts[remaining.trailing_zeros() as usize];
            let group = first_of_run.simd_eq(start);
            match Lines::around(bytemuck::cast_slice(values), start as usize, bounds) {
                Some(lines) => result = group.select(neighbours(s, lines, &weights), result),
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
            remaining &= !group.to_bitmask();
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

/// Sums of the back-traces below and above the faces l and l + 4.
#[inline(always)]
fn sum<S: Simd>(s: S, below: &[[f32; 4]; EIGHT], above: &[[f32; 4]; EIGHT], l: usize) -> f32x8<S> {
    let low = f32x4::load_array_ref(s, &below[l]) + f32x4::load_array_ref(s, &above[l]);
    low.combine(f32x4::load_array_ref(s, &below[l + 4]) + f32x4::load_array_ref(s, &above[l + 4]))
}
