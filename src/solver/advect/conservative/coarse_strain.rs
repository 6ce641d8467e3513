//! Strain of finer cells, from the velocity that was prolonged to them (`detail/prolong.rs`).
//!
//! With two finer cells along each edge, their velocity is linear in that of the cells around them. X, Y and Z are the volumes that leave
//! a cell along each axis, and D_x is the difference between the neighbours above and below along x. The finer cell in the corner
//! (a, b, c) of its cell, each −1 or 1, loses
//!
//! ```text
//!     x     = ½ X       + (b D_y X + c D_z X − a D_x (Y + Z)) / 16
//!     x + y = ½ (X + Y) + (c D_z (X + Y) − a D_x Z − b D_y Z) / 16
//! ```
//!
//! and so on along z. The greatest loss of the eight cells is the sum of the absolute values. It takes an eighth of the velocities that
//! the finer cells themselves would take, which do not stay in the processor's cache between their prolongation and the sweeps.

use fearless_simd::prelude::*;

use crate::grid::{Faces, Layout};
use crate::simd::vectors::{f32x16, load, store};
use crate::simd::{LANES, Simd, each_level, greatest, rest, sixteen};

/// A velocity that was prolonged to two finer cells along each edge of its cells, and nothing added.
#[derive(Clone, Copy)]
pub struct Prolonged<'a> {
    pub layout: Layout,
    pub velocity: &'a Faces,
}

/// Lower and upper faces of a row of cells across an axis, and those of its neighbours below and above along the two other axes.
type Rows<'a> = [[&'a [f32]; 2]; 5];

impl Prolonged<'_> {
    /// Returns the values of a [`Strain`](super::strain::Strain) \[m/s\] of all finer cells of `n` cells from cell `first` of row (j, k)
    /// on, but for rounding. For each of two limits it also returns the first cell with a finer one that may lose more, and the end of the
    /// last.
    pub fn strain(
        &self,
        [first, n]: [usize; 2],
        [j, k]: [usize; 2],
        limits: [f32; 2],
    ) -> ([f32; 7], [[usize; 2]; 2]) {
        let (at, strides) = (self.layout.start(j, k) + first, self.layout.strides());
        let rows = [0, 1, 2].map(|axis| {
            let (field, along) = (&self.velocity[axis], strides[axis]);
            let [b, c] = [[1, 2], [0, 2], [0, 1]][axis].map(|other: usize| strides[other]);
            [at, at - b, at + b, at - c, at + c].map(|at| [&field[at..][..n], &field[at + along..][..n]])
        });
        let (mut most, mut beyond) = ([0.0; 7], [[n, 0]; 2]);
        raise_strain(rows, n, limits, &mut most, &mut beyond);
        (most, beyond.map(|cells| cells.map(|cell| first + cell)))
    }
}

each_level! {
    fn raise_strain(rows: [Rows; 3], n: usize, limits: [f32; 2], most: &mut [f32; 7], beyond: &mut [[usize; 2]; 2]) = raise_kernel;
}

#[inline(always)]
fn raise_kernel<S: Simd>(
    s: S,
    rows: [Rows; 3],
    n: usize,
    limits: [f32; 2],
    most: &mut [f32; 7],
    beyond: &mut [[usize; 2]; 2],
) {
    let mut found = [s.splat_f32x16(0.0); 7];
    let full = n - n % LANES;
    for from in (0..full).step_by(LANES) {
        raise_sixteen::<S, false>(s, &rows, from, (limits, beyond), &mut found);
    }
    if full < n {
        raise_sixteen::<S, true>(s, &rows, full, (limits, beyond), &mut found);
        beyond.iter_mut().for_each(|[_, end]| *end = n.min(*end));
    }
    for (most, found) in most.iter_mut().zip(found) {
        let mut lanes = [0.0; LANES];
        store(found, &mut lanes);
        *most = lanes.into_iter().fold(*most, greatest);
    }
}

/// Raises `most` to the values of sixteen cells from `from` on, or, at the end of a row, of fewer.
#[inline(always)]
fn raise_sixteen<S: Simd, const END: bool>(
    s: S,
    [u, v, w]: &[Rows; 3],
    from: usize,
    (limits, beyond): ([f32; 2], &mut [[usize; 2]; 2]),
    most: &mut [f32x16<S>; 7],
) {
    let (half, sixteenth) = (s.splat_f32x16(0.5), s.splat_f32x16(1.0 / 16.0));
    let x = Component::load::<END>(s, u, from);
    let y = Component::load::<END>(s, v, from);
    let z = Component::load::<END>(s, w, from);
    let ([y_of_x, z_of_x], [x_of_y, z_of_y], [x_of_z, y_of_z]) = (x.varies, y.varies, z.varies);
    // The fluxes between the halves of a cell that balance how its faces vary.
    let (along_x, along_y, along_z) = (x_of_y + x_of_z, y_of_x + y_of_z, z_of_x + z_of_y);
    let more_x = sixteenth * (y_of_x.abs() + z_of_x.abs() + along_x.abs());
    let more_z = sixteenth * (x_of_z.abs() + y_of_z.abs() + along_z.abs());
    let (middle, others) = (y.speed(s, along_y), x.speed(s, along_x).max(z.speed(s, along_z)));
    let (x, y, z) = (half * x.leaves, half * y.leaves, half * z.leaves);
    let losses = [x + more_x, (x + y).max(-z) + more_z, z + more_z, (y + z).max(-x) + more_x];
    let [a, b, c, d] = losses;
    let lost = a.max(b).max(c.max(d));
    for (limit, beyond) in limits.into_iter().zip(beyond) {
        if !lost.simd_gt(s.splat_f32x16(limit)).any_true() {
            break;
        }
        *beyond = [from.min(beyond[0]), from + LANES];
    }
    let here = [a, b, c, d, (x + y + z).abs(), others.max(middle), middle];
    for (most, here) in most.iter_mut().zip(here) {
        *most = here.max(*most);
    }
}

/// One component of the velocity on the two faces of some cells across its axis.
struct Component<S: Simd> {
    ends: [f32x16<S>; 2],
    /// Differences of each end between the neighbours along the two other axes.
    slopes: [[f32x16<S>; 2]; 2],
    /// Volume that leaves the cell through both faces, and its differences along the two other axes.
    leaves: f32x16<S>,
    varies: [f32x16<S>; 2],
}

impl<S: Simd> Component<S> {
    #[inline(always)]
    fn load<const END: bool>(s: S, [here, a, b, c, d]: &Rows, from: usize) -> Self {
        let ends = faces::<S, END>(s, here, from);
        let (a, b) = (faces::<S, END>(s, a, from), faces::<S, END>(s, b, from));
        let (c, d) = (faces::<S, END>(s, c, from), faces::<S, END>(s, d, from));
        let slopes = [[b[0] - a[0], b[1] - a[1]], [d[0] - c[0], d[1] - c[1]]];
        let [first, second] = slopes;
        let varies = [first[1] - first[0], second[1] - second[0]];
        Self { ends, slopes, leaves: ends[1] - ends[0], varies }
    }

    /// The greatest speed on the finer faces, of which those between the two ends have a sixteenth of `between` more.
    #[inline(always)]
    fn speed(&self, s: S, between: f32x16<S>) -> f32x16<S> {
        let (eighth, sixteenth) = (s.splat_f32x16(1.0 / 8.0), s.splat_f32x16(1.0 / 16.0));
        let ([low, high], [[a, b], [c, d]]) = (self.ends, self.slopes);
        let mean = s.splat_f32x16(0.5) * (low + high);
        let below = eighth.mul_add(a.abs() + c.abs(), low.abs());
        let above = eighth.mul_add(b.abs() + d.abs(), high.abs());
        let varies = (a + b).abs() + (c + d).abs();
        let middle = sixteenth.mul_add(varies, sixteenth.mul_add(between, mean).abs());
        below.max(above).max(middle)
    }
}

#[inline(always)]
fn faces<S: Simd, const END: bool>(s: S, [low, high]: &[&[f32]; 2], from: usize) -> [f32x16<S>; 2] {
    if END {
        [load(s, &rest(low)), load(s, &rest(high))]
    } else {
        [load(s, sixteen(low, from)), load(s, sixteen(high, from))]
    }
}
