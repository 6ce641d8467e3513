//! Limited cubic interpolation of four interleaved values, two neighbouring cells in one register.
//!
//! Departure points of neighbours are mostly neighbours too: one load at each node of the stencil then serves
//! both cells. Where shear separates the two points, both stencils are evaluated for the pair, and each cell
//! takes its half of the results. Terms are added in the order of [`cubic`](super::cubic), so the result has
//! the same bits.

use fearless_simd::prelude::*;
use fearless_simd::{f32x4, u32x8};

use super::cubic::{neighbours, weights_of_lanes};
use super::stencil_lines::StencilLines;
use super::{Curve, Row, cubic};
use crate::simd::vectors::{EIGHT, f32x8};
use crate::simd::{Simd, each_level};
use crate::solver::advect::trace::locate_eight;
use crate::solver::sides::SampleBounds;

/// Pairs of cells in a run of eight.
const PAIRS: usize = EIGHT / 2;

/// Cells of a line that the stencils of two neighbours read.
const LINE: usize = 5;

type Lines<'a> = StencilLines<'a, [f32; 4], 4, LINE>;

each_level! {
    /// See [`super::interleaved_cubic::cubic_row`].
    pub fn scalar_row(curve: Curve, row: Row, bounds: &SampleBounds, field: &[[f32; 4]], out: &mut [[f32; 4]]) = row_kernel;
}

/// Weights of the four nodes along one axis, each for both cells of a pair and all four values.
type Weights<S> = [f32x8<S>; 4];

#[inline(always)]
fn row_kernel<S: Simd>(
    s: S,
    curve: Curve,
    row: Row,
    bounds: &SampleBounds,
    field: &[[f32; 4]],
    out: &mut [[f32; 4]],
) {
    for (run, out) in out.chunks_mut(EIGHT).enumerate() {
        let from = run * EIGHT;
        let origin = [row.origin[0] + from as f32, row.origin[1], row.origin[2]];
        let back = &row.back[from..][..out.len()];
        let (base, fractions) = match back.first_chunk() {
            Some(back) => departures(s, back, bounds, origin),
            None => {
                let mut filled = [[0.0; 4]; EIGHT];
                filled[..out.len()].copy_from_slice(back);
                departures(s, &filled, bounds, origin)
            }
        };
        let [x, y, z] = fractions;
        let weights = [
            spread(s, weights_of_lanes(s, curve, x)),
            spread(s, weights_of_lanes(s, curve, y)),
            spread(s, weights_of_lanes(s, curve, z)),
        ];
        let starts = base.to_array();
        for (pair, out) in out.chunks_mut(2).enumerate() {
            let weights = [weights[0][pair], weights[1][pair], weights[2][pair]];
            let [first, second] = [starts[pair] as usize, starts[pair + PAIRS] as usize];
            let (first_lines, second_lines) =
                (Lines::around(field, first, bounds), Lines::around(field, second - 1, bounds));
            let both = match (first_lines, second_lines) {
                (Some(lines), _) if second == first + 1 => neighbours(s, lines, &weights).limited::<S>(),
                (Some(lines), Some(others)) => {
                    let (low, _) = neighbours(s, lines, &weights).limited::<S>().split();
                    let (_, high) = neighbours(s, others, &weights).limited::<S>().split();
                    low.combine(high)
                }
                _ => {
                    let [a, b] = [pair, pair + PAIRS];
                    let low = cubic(s, curve, field, first, bounds, [x[a], y[a], z[a]]);
                    let high = cubic(s, curve, field, second, bounds, [x[b], y[b], z[b]]);
                    f32x4::load_array(s, low).combine(f32x4::load_array(s, high))
                }
            };
            match out.as_flattened_mut().first_chunk_mut() {
                Some(out) => both.store_array(out),
                None => out.as_flattened_mut().copy_from_slice(&both.to_array()[..4]),
            }
        }
    }
}

/// Positions below the departure points of eight cells, and the fractions above them: first those of the even cells, then of the odd.
#[inline(always)]
fn departures<S: Simd>(
    s: S,
    back: &[[f32; 4]; EIGHT],
    bounds: &SampleBounds,
    origin: [f32; 3],
) -> (u32x8<S>, [f32x8<S>; 3]) {
    let values = back.as_flattened();
    let two = |pair: usize| f32x8::from_slice(s, &values[8 * pair..][..8]);
    let [x, y, z, _] = s.transpose_blocks([two(0), two(1), two(2), two(3)]);
    let along = f32x8::load_array(s, [0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]);
    let (from_y, from_z) = (s.splat_f32x8(origin[1]), s.splat_f32x8(origin[2]));
    locate_eight(s, bounds, [(along + origin[0]) - x, from_y - y, from_z - z])
}

/// Weights of each pair along one axis, from those of eight cells in the order of [`departures`].
#[inline(always)]
fn spread<S: Simd>(s: S, [a, b, c, d]: Weights<S>) -> [Weights<S>; PAIRS] {
    let [a, b, c, d] = [
        s.transpose_blocks([a, a, a, a]),
        s.transpose_blocks([b, b, b, b]),
        s.transpose_blocks([c, c, c, c]),
        s.transpose_blocks([d, d, d, d]),
    ];
    [[a[0], b[0], c[0], d[0]], [a[1], b[1], c[1], d[1]], [a[2], b[2], c[2], d[2]], [a[3], b[3], c[3], d[3]]]
}
