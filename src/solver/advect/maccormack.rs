//! MacCormack advection (Selle, Fedkiw, Kim, Liu & Rossignac 2008, eq. 3–5): the second pass, which takes half the error of
//! a trace forth and back off the semi-Lagrangian value.

use super::trace::{Departures, RUN, linear, locate};
use super::{Row, for_departures};
use crate::simd::{Simd, each_level, greatest, least};
use crate::solver::sides::SampleBounds;
use crate::solver::storage::cells::Cells;

/// Extra fields of schemes that look forward.
pub struct Correction {
    pub forward: Cells,
    pub component: Vec<f32>,
    pub scalars: Cells,
}

impl Correction {
    /// Floats for each value of the layout.
    pub const FLOATS: usize = 4 + 1 + 4;
}

/// MacCormack's second pass over one row of scalars. `advected` is `field` after the first, linear pass.
/// `forward` is the displacement of each value in the coming step. `out` gets the corrected row.
pub fn correct_scalars(
    row: Row,
    forward: &[[f32; 4]],
    bounds: &SampleBounds,
    fields: [&[[f32; 4]]; 2],
    at: usize,
    out: &mut [[f32; 4]],
) {
    correct_four(row, forward, bounds, fields, at, out);
}

/// MacCormack's second pass over one row of a velocity component.
pub fn correct_component(
    row: Row,
    forward: &[[f32; 4]],
    bounds: &SampleBounds,
    fields: [&[f32]; 2],
    at: usize,
    out: &mut [f32],
) {
    let fields = fields.map(bytemuck::cast_slice);
    correct_one(row, forward, bounds, fields, at, bytemuck::cast_slice_mut(out));
}

each_level! {
    fn correct_one(
        row: Row, forward: &[[f32; 4]], bounds: &SampleBounds, fields: [&[[f32; 1]]; 2], at: usize, out: &mut [[f32; 1]],
    ) = correct_kernel, 1;
}
each_level! {
    fn correct_four(
        row: Row, forward: &[[f32; 4]], bounds: &SampleBounds, fields: [&[[f32; 4]]; 2], at: usize, out: &mut [[f32; 4]],
    ) = correct_kernel, 4;
}

#[inline(always)]
fn correct_kernel<S: Simd, const N: usize>(
    s: S,
    row: Row,
    forward: &[[f32; 4]],
    bounds: &SampleBounds,
    [field, advected]: [&[[f32; N]]; 2],
    at: usize,
    out: &mut [[f32; N]],
) {
    let count = out.len();
    // The error of a trace forth and back, for each value.
    for_departures!(row.origin, forward, count, bounds, |t, departure, fraction| {
        out[t] = linear(s, advected, departure, bounds, fraction);
    });
    let (before, advected) = (&field[at..][..count], &advected[at..][..count]);
    for_departures!(row.origin, row.back, count, bounds, |t, departure, _| {
        let (low, high) = min_max::<N>(field, departure, bounds);
        for c in 0..N {
            let corrected = advected[t][c] + 0.5 * (before[t][c] - out[t][c]);
            out[t][c] = least(greatest(corrected, low[c]), high[c]);
        }
    });
}

/// Least and greatest of the eight values around a departure point.
#[inline(always)]
fn min_max<const N: usize>(field: &[[f32; N]], at: usize, bounds: &SampleBounds) -> ([f32; N], [f32; N]) {
    let (mut low, mut high) = (field[at], field[at]);
    for z in [0, bounds.plane] {
        for y in [0, bounds.row] {
            for value in &field[at + y + z..][..2] {
                for c in 0..N {
                    low[c] = least(value[c], low[c]);
                    high[c] = greatest(value[c], high[c]);
                }
            }
        }
    }
    (low, high)
}
