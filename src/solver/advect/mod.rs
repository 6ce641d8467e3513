//! Advection of values along the back-traces of [`trace`].
//!
//! - Semi-Lagrangian (Stam 1999): the trilinear value at the departure point.
//! - MacCormack (Selle, Fedkiw, Kim, Liu & Rossignac 2008, eq. 3–5): that value plus half the error of a
//!   trace forth and back, clamped to the eight values around the departure point.
//! - Cubic, Lagrange: a cubic through four points along each axis (Catmull & Rom's or Lagrange's), clamped in
//!   the same way; beside finer smoke, Lagrange's polynomial through six points ([`six_points`]).
//! - Monotone: a Hermite interpolant along each axis that does not overshoot (Fedkiw, Stam & Jensen 2001,
//!   appendix B).
//!
//! A field holds N interleaved values at each point: one for a velocity component, four for the scalars.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod cell_pairs;
pub mod conservative;
mod cubic;
mod face_runs;
mod interleaved_cubic;
mod maccormack;
mod monotone;
mod semi_lagrangian;
mod six_points;
mod staggered;
mod stencil_lines;
pub mod trace;

pub use self::cubic::Curve;
use self::cubic::cubic;
pub use self::face_runs::six_point_row;
pub use self::interleaved_cubic::{interleave, interleave_row, reads_interleaved, velocity};
pub use self::maccormack::{Correction, correct_component, correct_scalars};
use self::monotone::monotone;
pub use self::semi_lagrangian::linear_pair;
use self::semi_lagrangian::{linear_four, linear_one};
pub use self::staggered::Staggered;
use self::trace::{Departures, RUN, locate};
use super::sides::SampleBounds;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Level, level};
use crate::simd::{Simd, each_level, greatest, least};

/// One row of values to be advected: its origin, and the displacement of each value.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    /// Index coordinates of its first value.
    pub origin: [f32; 3],
    /// Displacement of each value since the last step, in cells.
    pub back: &'a [[f32; 4]],
}

/// Interpolation at a departure point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interpolation {
    /// Trilinear.
    Linear,
    /// A cubic along each axis, clamped.
    Cubic(Curve),
    /// Hermite along each axis, with slopes that do not overshoot.
    Monotone,
}

/// Advects one row of scalars: `out` is the value of `field` at the departure point of each cell.
pub fn scalars(
    kind: Interpolation,
    row: Row,
    bounds: &SampleBounds,
    field: &[[f32; 4]],
    out: &mut [[f32; 4]],
) {
    match kind {
        Interpolation::Linear => linear_four(row, bounds, field, out),
        Interpolation::Cubic(curve) => interleaved_cubic::cubic_row(curve, row, bounds, field, out),
        Interpolation::Monotone => monotone_four(row, bounds, field, out),
    }
}

/// Advects one row of a velocity component.
pub fn component(kind: Interpolation, row: Row, bounds: &SampleBounds, field: &[f32], out: &mut [f32]) {
    let (field, out) = (bytemuck::cast_slice(field), bytemuck::cast_slice_mut(out));
    match kind {
        Interpolation::Linear => linear_one(row, bounds, field, out),
        Interpolation::Cubic(curve) => cubic_one(curve, row, bounds, field, out),
        Interpolation::Monotone => monotone_one(row, bounds, field, out),
    }
}

each_level! {
    fn cubic_one(curve: Curve, row: Row, bounds: &SampleBounds, field: &[[f32; 1]], out: &mut [[f32; 1]]) = cubic_kernel, 1;
}
#[cfg(test)]
each_level! {
    fn cubic_four(curve: Curve, row: Row, bounds: &SampleBounds, field: &[[f32; 4]], out: &mut [[f32; 4]]) = cubic_kernel, 4;
}
each_level! {
    fn monotone_one(row: Row, bounds: &SampleBounds, field: &[[f32; 1]], out: &mut [[f32; 1]]) = monotone_kernel, 1;
}
each_level! {
    fn monotone_four(row: Row, bounds: &SampleBounds, field: &[[f32; 4]], out: &mut [[f32; 4]]) = monotone_kernel, 4;
}

/// Runs `$body` for the departure point of every value of a row, with its number in the row, the position of
/// the value below the departure point, and the fractions above that. It is a macro because a closure that is
/// not inlined would be compiled for the baseline instruction set.
macro_rules! for_departures {
    ($origin:expr, $displacement:expr, $count:expr, $bounds:expr, |$t:ident, $at:ident, $fraction:pat_param| $body:block) => {
        let (mut departures, displacement, count) = (Departures::default(), $displacement, $count);
        for from in (0..count).step_by(RUN) {
            let run = RUN.min(count - from);
            let origin = [$origin[0] + from as f32, $origin[1], $origin[2]];
            locate($bounds, origin, &displacement[from..][..run], &mut departures);
            for in_run in 0..run {
                let $fraction = [
                    departures.fraction[0][in_run],
                    departures.fraction[1][in_run],
                    departures.fraction[2][in_run],
                ];
                let ($t, $at) = (from + in_run, departures.at[in_run] as usize);
                $body
            }
        }
    };
}
use for_departures;

#[inline(always)]
fn cubic_kernel<S: Simd, const N: usize>(
    s: S,
    curve: Curve,
    row: Row,
    bounds: &SampleBounds,
    field: &[[f32; N]],
    out: &mut [[f32; N]],
) {
    for_departures!(row.origin, row.back, out.len(), bounds, |t, at, fraction| {
        out[t] = cubic(s, curve, field, at, bounds, fraction);
    });
}

#[inline(always)]
fn monotone_kernel<S: Simd, const N: usize>(
    s: S,
    row: Row,
    bounds: &SampleBounds,
    field: &[[f32; N]],
    out: &mut [[f32; N]],
) {
    for_departures!(row.origin, row.back, out.len(), bounds, |t, at, fraction| {
        out[t] = monotone(s, field, at, bounds, fraction);
    });
}

/// Densities and temperatures below this are set to 0.
pub const NEGLIGIBLE: f32 = 1e-20;

/// Multiplies each value of a row by `decay` and clamps it to ± `limit`. Invisibly small values become 0, so
/// no denormals arise, which the processor handles one by one.
#[allow(unsafe_code)]
pub fn scale_row(decay: &[f32; 4], limit: f32, row: &mut [[f32; 4]]) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        let (fours, others) = row.as_chunks_mut::<4>();
        // SAFETY: `level` has found these instructions on this machine.
        unsafe { avx512::scale_row(decay, limit, fours) };
        return scale_cells(decay, limit, others);
    }
    scale_cells(decay, limit, row);
}

each_level! { fn scale_cells(decay: &[f32; 4], limit: f32, row: &mut [[f32; 4]]) = scale_cells_kernel; }

#[inline(always)]
fn scale_cells_kernel<S: Simd>(_: S, decay: &[f32; 4], limit: f32, row: &mut [[f32; 4]]) {
    for cell in row {
        for c in 0..4 {
            let value = least(greatest(cell[c] * decay[c], -limit), limit);
            cell[c] = if value.abs() < NEGLIGIBLE { 0.0 } else { value };
        }
    }
}
