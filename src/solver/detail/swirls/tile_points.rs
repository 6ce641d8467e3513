//! The points of the cells in the tile of noise, with their weights.

use fearless_simd::f32x4;
use fearless_simd::prelude::*;

use super::small_scales::load;
use crate::grid::Layout;
use crate::simd::{Simd, each_level};
use crate::solver::BoundaryCondition;
use crate::solver::sides::GhostRules;

/// Share of the bound of the stretch from which a generation fades.
const FADES_FROM: f32 = 0.6;

/// A generation at a cell: the place in the tile of its centre, and the weight \[m/s\].
pub type Packed = [f32; 4];

/// From cells of the velocity to those of the tile.
#[derive(Clone, Copy)]
pub struct TileMap {
    pub columns: [[f32; 4]; 3],
    pub origin: [f32; 4],
    /// Index of the first cell.
    pub first: [usize; 3],
}

/// The factors of a weight.
#[derive(Clone, Copy)]
pub struct WeightRule {
    pub strength: f32,
    /// Greatest weight \[m/s\].
    pub cap: f32,
    /// Speed that counts as 0 \[m/s\].
    pub least: f32,
    /// Bound of the stretch.
    pub stretch: f32,
}

pub fn widened([x, y, z]: [f32; 3]) -> [f32; 4] {
    [x, y, z, 0.0]
}

each_level! {
    pub fn pack_row(
        layout: Layout, fields: [&[[f32; 4]]; 2], at: usize, place: TileMap, weigh: WeightRule, out: &mut [[f32; 4]],
    ) = pack_kernel;
}

#[inline(always)]
fn pack_kernel<S: Simd>(
    s: S,
    layout: Layout,
    [moved, means]: [&[[f32; 4]]; 2],
    at: usize,
    TileMap { columns, origin, first }: TileMap,
    WeightRule { strength, cap, least, stretch }: WeightRule,
    out: &mut [[f32; 4]],
) {
    let n = out.len();
    let [row, plane] = [layout.row, layout.plane];
    let (here, means) = (&moved[at..][..n], &means[at..][..n]);
    let beside = [1, row, plane].map(
        #[inline(always)]
        |stride| [&moved[at - stride..][..n], &moved[at + stride..][..n]],
    );
    const UNIT: [[f32; 4]; 3] = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    let bound = stretch * stretch;
    let per_fade = 1.0 / (bound * (1.0 - FADES_FROM * FADES_FROM));
    let (half, origin) = (f32x4::splat(s, 0.5), load(s, &origin));
    for i in 0..n {
        let mut squares = f32x4::splat(s, 0.0);
        for (unit, [low, high]) in UNIT.iter().zip(&beside) {
            let slope = half.mul_add(load(s, &high[i]) - load(s, &low[i]), load(s, unit));
            squares = slope.mul_add(slope, squares);
        }
        let squares: [f32; 4] = squares.into();
        let size = squares[0] + squares[1] + squares[2];
        let fade = ((bound - (size - 2.0)) * per_fade).clamp(0.0, 1.0);
        let speed = means[i][0].max(0.0).sqrt() - least;
        let weight = fade * (strength * speed.max(0.0)).min(cap);
        let mut place = origin;
        for (a, column) in columns.iter().enumerate() {
            let x = (first[a] + if a == 0 { i } else { 0 }) as f32 + 0.5 + here[i][a];
            place = load(s, column).mul_add(f32x4::splat(s, x), place);
        }
        let [x, y, z, _]: [f32; 4] = place.into();
        out[i] = [x, y, z, if means[i][2] == 0.0 { weight } else { 0.0 }];
    }
}

/// Fills one layer of ghosts. Points in the tile continue as inside; weights are odd across walls and
/// inflows.
pub fn fill_ghosts(layout: Layout, walls: &GhostRules, columns: [[f32; 3]; 3], cells: &mut [Packed]) {
    let n = layout.dims.array().map(|n| n as isize);
    let strides = layout.strides();
    let own = layout.planes();
    for axis in 0..3 {
        if axis == 2 && walls.periodic()[2] {
            walls.ranks().exchange(layout, [&mut *cells], [1; 2]);
        }
        let is_flat = columns[axis] == [0.0; 3];
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        for (to, side) in [(-1, 0), (n[axis], 1)] {
            let (from, sign) = match walls.sides()[axis][side] {
                BoundaryCondition::Periodic => ((to + n[axis]) % n[axis], 1.0),
                BoundaryCondition::Open => (to.clamp(0, n[axis] - 1), 1.0),
                _ => (to.clamp(0, n[axis] - 1), if is_flat { 1.0 } else { -1.0 }),
            };
            let by = columns[axis].map(|x| x * (to - from) as f32);
            // Later axes fill the edges, with the ghosts of earlier ones.
            let range = |other: usize| if other < axis { -1..n[other] + 1 } else { 0..n[other] };
            for r in range(c) {
                for q in range(b) {
                    let mut place = [0; 3];
                    (place[axis], place[b], place[c]) = (to, q, r);
                    if !(own[0]..own[1]).contains(&place[2]) {
                        continue;
                    }
                    let at = layout.at(place[0], place[1], place[2]);
                    let cell = cells[at.wrapping_add_signed((from - to) * strides[axis] as isize)];
                    cells[at] = [cell[0] + by[0], cell[1] + by[1], cell[2] + by[2], sign * cell[3]];
                }
            }
        }
    }
    walls.ranks().exchange(layout, [cells], [1; 2]);
}
