//! Semi-Lagrangian advection (Stam 1999): the trilinear value at the departure point.

use super::trace::{Departures, RUN, linear, locate};
use super::{Row, for_departures};
use crate::simd::dispatch;
use crate::solver::sides::SampleBounds;

dispatch! { pub fn linear_one(row: Row, bounds: &SampleBounds, field: &[[f32; 1]], out: &mut [[f32; 1]]) = linear_kernel, 1; }
dispatch! { pub fn linear_four(row: Row, bounds: &SampleBounds, field: &[[f32; 4]], out: &mut [[f32; 4]]) = linear_kernel, 4; }
dispatch! {
    /// As [`Interpolation::Linear`](super::Interpolation::Linear) of [`scalars`](super::scalars), for two fields with the same departure points.
    pub fn linear_pair(
        row: Row, bounds: &SampleBounds, fields: [&[[f32; 4]]; 2], out: [&mut [[f32; 4]]; 2],
    ) = pair_kernel;
}

#[inline(always)]
fn linear_kernel<const FMA: bool, const N: usize>(
    row: Row,
    bounds: &SampleBounds,
    field: &[[f32; N]],
    out: &mut [[f32; N]],
) {
    for_departures!(FMA, row.origin, row.back, out.len(), bounds, |t, at, fraction| {
        out[t] = linear::<FMA, N>(field, at, bounds, fraction);
    });
}

#[inline(always)]
fn pair_kernel<const FMA: bool>(
    row: Row,
    bounds: &SampleBounds,
    [one, other]: [&[[f32; 4]]; 2],
    [to_one, to_other]: [&mut [[f32; 4]]; 2],
) {
    for_departures!(FMA, row.origin, row.back, to_one.len(), bounds, |t, at, fraction| {
        to_one[t] = linear::<FMA, 4>(one, at, bounds, fraction);
        to_other[t] = linear::<FMA, 4>(other, at, bounds, fraction);
    });
}
