//! Semi-Lagrangian advection (Stam 1999): the trilinear value at the departure point.

use super::trace::{Departures, RUN, linear, locate};
use super::{Row, for_departures};
use crate::simd::{Simd, each_level};
use crate::solver::sides::SampleBounds;

each_level! { pub fn linear_one(row: Row, bounds: &SampleBounds, field: &[[f32; 1]], out: &mut [[f32; 1]]) = linear_kernel, 1; }
each_level! { pub fn linear_four(row: Row, bounds: &SampleBounds, field: &[[f32; 4]], out: &mut [[f32; 4]]) = linear_kernel, 4; }
each_level! {
    /// As [`Interpolation::Linear`](super::Interpolation::Linear) of [`scalars`](super::scalars), for two fields with the same departure points.
    pub fn linear_pair(
        row: Row, bounds: &SampleBounds, fields: [&[[f32; 4]]; 2], out: [&mut [[f32; 4]]; 2],
    ) = pair_kernel;
}

#[inline(always)]
fn linear_kernel<S: Simd, const N: usize>(
    s: S,
    row: Row,
    bounds: &SampleBounds,
    field: &[[f32; N]],
    out: &mut [[f32; N]],
) {
    for_departures!(row.origin, row.back, out.len(), bounds, |t, at, fraction| {
        out[t] = linear(s, field, at, bounds, fraction);
    });
}

#[inline(always)]
fn pair_kernel<S: Simd>(
    s: S,
    row: Row,
    bounds: &SampleBounds,
    [one, other]: [&[[f32; 4]]; 2],
    [to_one, to_other]: [&mut [[f32; 4]]; 2],
) {
    for_departures!(row.origin, row.back, to_one.len(), bounds, |t, at, fraction| {
        to_one[t] = linear(s, one, at, bounds, fraction);
        to_other[t] = linear(s, other, at, bounds, fraction);
    });
}
