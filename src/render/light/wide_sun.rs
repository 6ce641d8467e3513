//! Effective optical depth towards a wide sun: −ln of the mean of e^−τ over directions spread over its disc.
//!
//! Points beyond a side of the box hold the depth that gives the right one on the side when [roots](root) are interpolated. On the side the
//! mean counts directions that enter through it, with a depth of 0, and others with a greater one. The mean at the points themselves is no
//! use: e^−τ of the depths below 0 outweighs all others, and dense smoke at a side was a hundred times too bright.

use rayon::prelude::*;

use super::spline_rays::{SplineField, parallel_depths};
use super::{LightVolume, Points, root, squared};
use crate::grid::Dims;
use crate::render::exp::exp;
use crate::render::lamp::Lamp;

/// Least and greatest number of directions.
const FEWEST_DIRECTIONS: usize = 12;
const MOST_DIRECTIONS: usize = 48;
/// Directions whose depths are in memory together.
const AT_ONCE: usize = 8;

/// Memory of depths along directions.
pub(super) type Depths = [Vec<f32>; AT_ONCE];

impl LightVolume {
    /// Number of directions to the sun: the shadows that they throw across the box lie a point or two apart.
    pub(in crate::render) fn sun_directions(&self) -> usize {
        self.directions_to(&self.sun)
    }

    /// The same for a sun.
    pub(super) fn directions_to(&self, sun: &Lamp) -> usize {
        let longest = self.points.array().into_iter().max().unwrap_or(1);
        let apart = 2.0 * sun.half_extent(longest as f32);
        if sun.is_wide() { (apart.ceil() as usize).clamp(FEWEST_DIRECTIONS, MOST_DIRECTIONS) } else { 1 }
    }
}

/// Computes the depth towards a sun over `count` directions at all points.
pub(super) fn depth_to_sun(
    (field, spline): (Points, Option<&SplineField>),
    extinction: f32,
    (sun, count): (&Lamp, usize),
    depths: &mut Depths,
    out: &mut Vec<f32>,
) {
    let towards = |n: usize| sun.drawn([0.0; 3], Lamp::spread(n, count, 0.0)).direction;
    if count == 1 {
        return parallel_depths(field, spline, extinction, towards(0), out);
    }
    let dims = field.dims;
    out.clear();
    out.resize(dims.cells(), 0.0);
    for first in (0..count).step_by(AT_ONCE) {
        let depths = &mut depths[..AT_ONCE.min(count - first)];
        let sweep = |(n, depth): (usize, &mut Vec<f32>)| {
            parallel_depths(field, spline, extinction, towards(first + n), depth);
        };
        depths.par_iter_mut().enumerate().for_each(sweep);
        out.par_chunks_mut(dims.nx).enumerate().with_min_len(16).for_each(|(row, clear)| {
            for depth in &*depths {
                add_clear(depth, (dims, row), clear);
            }
        });
    }
    out.par_iter_mut().for_each(|clear| *clear = -(*clear / count as f32).max(1e-30).ln());
    extrapolate(dims, out);
}

/// Replaces the depths on the sides, which points beyond them hold, by those that interpolate to them.
pub(super) fn extrapolate(dims: Dims, depth: &mut [f32]) {
    for n in beyond(dims) {
        depth[n] = squared(2.0 * root(depth[n]) - root(depth[within(dims, dims.place(n))]));
    }
}

/// Adds e^−τ at a row of points. Points beyond the box count with the depth on its sides.
fn add_clear(depth: &[f32], (dims, row): (Dims, usize), clear: &mut [f32]) {
    let first = row * dims.nx;
    let on_side = |n: usize| (0.5 * (depth[n] + depth[within(dims, dims.place(n))])).max(0.0);
    if is_inner(row % dims.ny, dims.ny) && is_inner(row / dims.ny, dims.nz) {
        let last = dims.nx - 1;
        clear[1..last].iter_mut().zip(&depth[first + 1..]).for_each(|(clear, depth)| *clear += exp(-depth));
        [0, last].into_iter().for_each(|i| clear[i] += exp(-on_side(first + i)));
    } else {
        clear.iter_mut().enumerate().for_each(|(i, clear)| *clear += exp(-on_side(first + i)));
    }
}

fn is_inner(n: usize, count: usize) -> bool {
    (1..count - 1).contains(&n)
}

/// Returns the points beyond the box.
pub(super) fn beyond(dims: Dims) -> impl Iterator<Item = usize> {
    (0..dims.ny * dims.nz).flat_map(move |row| {
        let is_inner = is_inner(row % dims.ny, dims.ny) && is_inner(row / dims.ny, dims.nz);
        let step = if is_inner { dims.nx - 1 } else { 1 };
        (0..dims.nx).step_by(step).map(move |i| row * dims.nx + i)
    })
}

/// Returns the point in the box that is closest to one, by its place.
pub(super) fn within(dims: Dims, [i, j, k]: [usize; 3]) -> usize {
    let inner = |n: usize, count: usize| n.clamp(1, count - 2);
    dims.index(inner(i, dims.nx), inner(j, dims.ny), inner(k, dims.nz))
}
