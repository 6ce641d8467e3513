//! Sweeps along lines of cells: the piecewise parabolic method (Colella & Woodward 1984) in flux form.
//!
//! [`ACROSS`] lines are interleaved, each scalar in its own array, so one kernel serves all axes. The kernel
//! streams along the lines with everything in registers. Six values give the edge at a face, and two edges
//! the parabola of a cell. Two parabolas give the flux through the face between them, and two fluxes the new
//! contents. Parabolas are stored only where air crosses more than one cell. Indices count from [`HALO`]
//! cells before the first of a line.

use fearless_simd::prelude::*;

use super::next_lines::NextLines;
use crate::simd::vectors::{EIGHT, Eight, Eights, Floats, any, by_sign, f32x8, f32x16, flip};
use crate::simd::{Simd, each_level, greatest};
use crate::solver::advect::NEGLIGIBLE;
use crate::solver::config::{MOST_DETAIL, SCALAR_LIMIT};

/// Number of interleaved lines: the edge of a brick.
pub const ACROSS: usize = EIGHT;

/// Cells beyond each end of a line that an edge reads.
pub const BEYOND: usize = 3;

/// Cells beyond those that the kernel reads at the upper end because it works ahead. They have no effect.
const AHEAD: usize = 2;

/// Ghost cells at each end of a line that a sweep may read, for each finer cell along a cell of the velocity.
/// The air crosses fewer in one sweep.
pub const MOST_UPSTREAM: usize = 16;

/// Ghost cells at each end of a line.
pub const HALO: usize = MOST_UPSTREAM * MOST_DETAIL;

/// Added to a divisor that may be 0.
const TINY: f32 = 1e-30;

/// Lower bound of volumes used as divisors \[cells\].
const LEAST_VOLUME: f32 = 1e-3;

/// Scratch memory for interleaved lines.
pub struct Lines {
    /// Scalars of the cells: contents m before [`divide`](Self::divide) and after the sweep, values q = m/V in between.
    pub values: [Vec<Eight>; 4],
    /// Volume of air in each cell before the sweep, in cells, unless `whole`.
    pub volume: Vec<Eight>,
    /// Whether all volumes are 1.
    pub whole: bool,
    /// True if almost all cells of the lines before were swept.
    pub dense: bool,
    ones: Vec<Eight>,
    /// Volume of air that crosses the face below each cell, in cells.
    pub courant: Vec<Eight>,
    /// 1 at open faces below cells, −1 at closed ones.
    pub open: Vec<Eight>,
    /// Volumes that cross two faces of each cell across another axis.
    pub beside: [Vec<Eight>; 2],
    /// Fluxes of each scalar through the first and the last face.
    pub ends: [[Eight; 2]; 4],
    /// The [`factors`] of each face.
    crossing: [Vec<Eight>; 3],
    /// 1/V before the sweep.
    inverse: Vec<Eight>,
    /// Deviations of each parabola from its mean, at the face below and the face above.
    sides: [Vec<Eight>; 2],
    flux: Vec<Eight>,
}

/// Conditions of a sweep.
#[derive(Clone, Copy)]
pub struct LineSweep {
    /// Range of cells, counted from the first ghost.
    pub cells: [usize; 2],
    /// True if some faces are closed.
    pub walled: bool,
    /// True if the lines are periodic and whole.
    pub wraps: bool,
    /// True if some air crosses more than one cell.
    pub deep: bool,
    /// Cells upstream from which air may come.
    pub upstream: usize,
    /// Decay factors in the last sweep of a step.
    pub decay: Option<[f32; 4]>,
}

impl Lines {
    /// For lines of up to `n` cells.
    pub fn new(n: usize) -> Self {
        let new = || vec![Eight([0.0; ACROSS]); n + 2 * HALO + 1];
        Self {
            values: [new(), new(), new(), new()],
            volume: new(),
            whole: false,
            dense: false,
            ones: vec![Eight([1.0; ACROSS]); n + 2 * HALO + 1],
            courant: new(),
            open: new(),
            beside: [new(), new()],
            ends: [[Eight([0.0; ACROSS]); 2]; 4],
            crossing: [new(), new(), new()],
            inverse: new(),
            sides: [new(), new()],
            flux: new(),
        }
    }

    /// Computes the factors of the fluxes through the faces of cells `first..end`, for all scalars. Returns true if any air crosses more
    /// than one cell.
    pub fn weigh(&mut self, [first, end]: [usize; 2]) -> bool {
        let Self { volume, whole, ones, courant, crossing, .. } = self;
        let volume = if *whole { ones } else { volume };
        let faces = first..end + 1;
        let mut most = Eight([0.0; ACROSS]);
        find_factors(
            &courant[faces.clone()],
            &volume[first - 1..end + 1],
            crossing.each_mut().map(|factor| &mut factor[faces.clone()]),
            &mut most,
        );
        most.0.into_iter().fold(0.0, greatest) > 0.0
    }

    /// Computes 1/V of cells `first..end`.
    pub fn invert(&mut self, [first, end]: [usize; 2]) {
        invert(&self.volume[first..end], &mut self.inverse[first..end]);
    }

    /// Converts scalar `c` from contents to values.
    pub fn divide(&mut self, c: usize, [first, end]: [usize; 2]) {
        multiply(&self.inverse[first..end], &mut self.values[c][first..end]);
    }

    /// Advects `scalars`, one or two: values become contents.
    pub fn advance(&mut self, scalars: &[usize], sweep: LineSweep, next: NextLines) {
        if sweep.deep {
            for (n, &c) in scalars.iter().enumerate() {
                self.advance_far(c, sweep, if n == 0 { next } else { next.only([false; 3]) });
            }
            return;
        }
        let [first, end] = sweep.cells;
        let Self { values, volume, whole, ones, open, ends, crossing, .. } = self;
        let shared = SharedInputs {
            open: &open[first - BEYOND..end + 1 + BEYOND + AHEAD],
            crossing: crossing.each_ref().map(|factor| &factor[first..end + 1]),
            volume: &if *whole { ones } else { volume }[first..end],
            walled: sweep.walled,
            wraps: sweep.wraps,
            next,
        };
        let around = first - BEYOND..end + BEYOND + AHEAD;
        match *scalars {
            [c] => {
                let (values, ends) = ([&mut values[c][around]], [&mut ends[c][..]]);
                stream(Swept { values, ends, decay: sweep.decay.map(|decay| [decay[c]]) }, &shared);
            }
            [c, d] => {
                let [p, q] = values.get_disjoint_mut([c, d]).expect("two scalars");
                let [p_ends, q_ends] = ends.get_disjoint_mut([c, d]).expect("two scalars");
                let values = [&mut p[around.clone()], &mut q[around]];
                let decay = sweep.decay.map(|decay| [decay[c], decay[d]]);
                stream_two(Swept { values, ends: [p_ends, q_ends], decay }, &shared);
            }
            _ => unreachable!("one or two scalars"),
        }
    }

    /// Advects scalar `c` where some air crosses more than one cell.
    fn advance_far(&mut self, c: usize, sweep: LineSweep, next: NextLines) {
        let [first, end] = sweep.cells;
        let Self { values, volume, whole, ones, courant, open, ends, crossing, sides, flux, .. } = self;
        let volume = if *whole { ones } else { volume };
        let crossing = crossing.each_ref().map(|factor| &factor[first..end + 1]);
        let [low, high] = sides;
        fit(
            &values[c][first - BEYOND..end + BEYOND],
            &open[first - BEYOND..end + 1 + BEYOND],
            sweep.walled,
            [&mut low[first..end], &mut high[first..end]],
        );
        // Beyond both ends cells are uniform, or images of the other end.
        for depth in 0..sweep.upstream {
            let images = [end - 1 - depth % (end - first), first + depth % (end - first)];
            for (to, from) in [first - 1 - depth, end + depth].into_iter().zip(images) {
                for side in [&mut *low, &mut *high] {
                    side[to] = if sweep.wraps { side[from] } else { Eight([0.0; ACROSS]) };
                }
            }
        }
        let faces = [first, end + 1, sweep.upstream];
        cross([&values[c], low, high, volume], courant, crossing, faces, next, flux);
        if sweep.wraps {
            flux[end] = flux[first];
        }
        ends[c] = [flux[first], flux[end]];
        let decay = sweep.decay.map(|decay| decay[c]);
        update(&flux[first..end + 1], &volume[first..end], decay, &mut values[c][first..end]);
    }
}

each_level! {
    fn find_factors(courant: &[Eight], volume: &[Eight], out: [&mut [Eight]; 3], further: &mut Eight) = factors_kernel;
}

/// For each face, the [`factors`] of the next cell upstream. `further` rises to the greatest volume that comes from beyond that cell.
#[inline(always)]
fn factors_kernel<S: Simd>(
    s: S,
    courant: &[Eight],
    volume: &[Eight],
    [takes, near, far]: [&mut [Eight]; 3],
    further: &mut Eight,
) {
    let n = courant.len();
    let (volume, takes, near, far) = (&volume[..n + 1], &mut takes[..n], &mut near[..n], &mut far[..n]);
    let (least_volume, mut most) = (s.splat_f32x8(LEAST_VOLUME), further.load(s));
    let mut below = volume[0].load(s);
    for i in 0..n {
        let (x, above) = (courant[i].load(s), volume[i + 1].load(s));
        let holds = by_sign(x, below, above).max(least_volume);
        let size = x.abs();
        let of_cell = factors(s, size.min(holds), holds, x);
        takes[i].store(of_cell[0]);
        near[i].store(of_cell[1]);
        far[i].store(of_cell[2]);
        most = (size - holds).max(most);
        below = above;
    }
    further.store(most);
}

each_level! { fn invert(volume: &[Eight], out: &mut [Eight]) = invert_kernel; }

#[inline(always)]
fn invert_kernel<S: Simd>(s: S, volume: &[Eight], out: &mut [Eight]) {
    let (one, least_volume) = (s.splat_f32x8(1.0), s.splat_f32x8(LEAST_VOLUME));
    for (volume, out) in volume.iter().zip(out) {
        out.store(one / volume.load(s).max(least_volume));
    }
}

each_level! { fn multiply(by: &[Eight], values: &mut [Eight]) = multiply_kernel; }

#[inline(always)]
fn multiply_kernel<S: Simd>(s: S, by: &[Eight], values: &mut [Eight]) {
    for (by, values) in by.iter().zip(values) {
        values.store(by.load(s) * values.load(s));
    }
}

/// The value at a face by the sixth-order polynomial through the means of six cells, clamped between its two neighbours.
#[inline(always)]
fn edge<S: Simd, V: Floats<S>>(s: S, [a, b, c, d, e, f]: [V; 6]) -> V {
    let (near, next, far) = (V::splat(s, 37.0 / 60.0), V::splat(s, -8.0 / 60.0), V::splat(s, 1.0 / 60.0));
    let at = near.mul_add(c + d, next.mul_add(b + e, far * (a + f)));
    at.max(c.min(d)).min(c.max(d))
}

/// As [`edge`], but the value before a closed face replaces the value beyond it. `open` begins with the face
/// between the first two cells.
#[inline(always)]
fn walled_edge<S: Simd, V: Eights<S, N>, const N: usize>(
    s: S,
    [a, b, c, d, e, f]: [V; 6],
    open: &[Eight],
) -> V {
    let (o0, o1): (V, V) = (load_repeated(s, &open[0]), load_repeated(s, &open[1]));
    let (o3, o4): (V, V) = (load_repeated(s, &open[3]), load_repeated(s, &open[4]));
    let b = by_sign(o1, b, c);
    let a = by_sign(o0.min(o1), a, b);
    let e = by_sign(o3, e, d);
    let f = by_sign(o3.min(o4), f, e);
    edge(s, [a, b, c, d, e, f])
}

/// Deviations p and r of the edges of a cell from its mean c, and the factor by which they are scaled if it is less than 1: the parabola
/// then stays within the range of c and its neighbours a and b.
///
/// The deviation of the extremum between the edges is −(p² + pr + r²)/(3(p + r)).
#[inline(always)]
fn limit<S: Simd, V: Floats<S>>(s: S, [a, c, b]: [V; 3], [low, high]: [V; 2]) -> [V; 3] {
    let (zero, three, tiny) = (V::splat(s, 0.0), V::splat(s, 3.0), V::splat(s, TINY));
    let (p, r) = (low - c, high - c);
    let sum = p + r;
    // The extremum lies on the opposite side of the mean from the edges.
    let room = flip(a - c, sum).min(flip(b - c, sum)).min(zero);
    let most = three * sum.abs();
    let square = (-p).mul_add(r, sum.mul_add(sum, tiny));
    let rises = (-room).mul_add(most, zero);
    [p, r, (r - p).abs().simd_lt(most).select(rises, square) / square]
}

/// The deviations of a parabola at both faces.
#[inline(always)]
fn scaled<S: Simd, V: Floats<S>>(s: S, [p, r, factor]: [V; 3]) -> [V; 2] {
    let factor = factor.min(V::splat(s, 1.0));
    [factor * p, factor * r]
}

/// Factors of the mean, of the deviation at the face and of that at the opposite face in the flux of the volume `takes` from a cell that
/// holds the volume `holds`. They have the sign of `x`.
///
/// The mean of a parabola over the share σ of its cell next to a face is m + (1 − σ)((1 − σ) near − σ far) (Colella & Woodward 1984,
/// eq. 1.12).
#[inline(always)]
fn factors<S: Simd>(s: S, takes: f32x8<S>, holds: f32x8<S>, x: f32x8<S>) -> [f32x8<S>; 3] {
    let (share, takes) = (takes / holds, flip(takes, x));
    let left = s.splat_f32x8(1.0) - share;
    let part = takes * left;
    [takes, part * left, part * share]
}

/// Flux through a face from the cell upstream, by its [`factors`]. A cell is [mean, deviation below, deviation above].
#[inline(always)]
fn through<S: Simd, V: Floats<S>>([takes, near, far]: [V; 3], below: [V; 3], above: [V; 3]) -> V {
    let mean = by_sign(takes, below[0], above[0]);
    let at = by_sign(takes, below[2], above[1]);
    let opposite = by_sign(takes, below[1], above[2]);
    (-far).mul_add(opposite, near.mul_add(at, takes * mean))
}

/// The contents of a cell of value q after the fluxes through its faces.
#[inline(always)]
fn moved<S: Simd, V: Eights<S, N>, const N: usize>(s: S, q: V, volume: &Eight, [below, above]: [V; 2]) -> V {
    q.mul_add(load_repeated::<S, V, N>(s, volume), below - above)
}

/// The value at the end of a step, clamped; negligible values become 0.
#[inline(always)]
fn decayed<S: Simd, V: Floats<S>>(s: S, m: V, decay: V) -> V {
    let limit = V::splat(s, SCALAR_LIMIT);
    let value = (m * decay).max(V::splat(s, -SCALAR_LIMIT)).min(limit);
    value.abs().simd_lt(V::splat(s, NEGLIGIBLE)).select(V::splat(s, 0.0), value)
}

/// Loads eight values into each group.
#[inline(always)]
fn load_repeated<S: Simd, V: Eights<S, N>, const N: usize>(s: S, value: &Eight) -> V {
    V::repeat(value.load(s))
}

/// The factors of face i.
#[inline(always)]
fn repeated<S: Simd, V: Eights<S, N>, const N: usize>(
    s: S,
    [takes, near, far]: [&[Eight]; 3],
    i: usize,
) -> [V; 3] {
    [load_repeated(s, &takes[i]), load_repeated(s, &near[i]), load_repeated(s, &far[i])]
}

/// Inputs of a sweep that all scalars share.
#[derive(Clone, Copy)]
struct SharedInputs<'a> {
    open: &'a [Eight],
    /// The [`factors`] of each face.
    crossing: [&'a [Eight]; 3],
    volume: &'a [Eight],
    walled: bool,
    wraps: bool,
    next: NextLines,
}

/// N scalars that are swept together.
struct Swept<'a, const N: usize> {
    /// Values, with [`BEYOND`] cells more at each end.
    values: [&'a mut [Eight]; N],
    /// Fluxes through the first and the last face.
    ends: [&'a mut [Eight]; N],
    /// Decay factors in the last sweep of a step.
    decay: Option<[f32; N]>,
}

each_level! { fn stream(scalar: Swept<1>, shared: &SharedInputs) = stream_kernel; }

#[inline(always)]
fn stream_kernel<S: Simd>(s: S, scalar: Swept<1>, shared: &SharedInputs) {
    stream_any::<S, f32x8<S>, 1>(s, scalar, shared);
}

each_level! { fn stream_two(scalars: Swept<2>, shared: &SharedInputs) = two_kernel; }

/// Two scalars share registers of sixteen lanes, where there are any: half as many instructions.
#[inline(always)]
fn two_kernel<S: Simd>(s: S, scalars: Swept<2>, shared: &SharedInputs) {
    if <S::f32s as SimdBase<S>>::LEN >= 2 * ACROSS {
        stream_any::<S, f32x16<S>, 2>(s, scalars, shared);
        return;
    }
    let Swept { values, ends, decay } = scalars;
    // A closure would be compiled for the baseline instruction set.
    for (c, (values, ends)) in values.into_iter().zip(ends).enumerate() {
        let decay = decay.map(|decay| [decay[c]]);
        stream_kernel(s, Swept { values: [values], ends: [ends], decay }, shared);
    }
}

#[inline(always)]
fn stream_any<S: Simd, V: Eights<S, N>, const N: usize>(s: S, scalars: Swept<N>, shared: &SharedInputs) {
    match (shared.walled, scalars.decay.is_some()) {
        (false, false) => stream_along::<S, V, N, false, false>(s, scalars, shared),
        (false, true) => stream_along::<S, V, N, false, true>(s, scalars, shared),
        (true, false) => stream_along::<S, V, N, true, false>(s, scalars, shared),
        (true, true) => stream_along::<S, V, N, true, true>(s, scalars, shared),
    }
}

/// Advects cells where air crosses one cell at most.
#[inline(always)]
fn stream_along<S: Simd, V: Eights<S, N>, const N: usize, const WALLED: bool, const LAST: bool>(
    s: S,
    Swept { mut values, mut ends, decay }: Swept<N>,
    &SharedInputs { open, crossing: [takes, near, far], volume, wraps, next, .. }: &SharedInputs,
) {
    let n = volume.len();
    let crossing = [&takes[..n + 1], &near[..n + 1], &far[..n + 1]];
    let (zero, factor) = (V::splat(s, 0.0), V::each(s, decay.unwrap_or([1.0; N])));
    for values in &mut values {
        *values = &mut std::mem::take(values)[..n + 2 * BEYOND + AHEAD];
    }
    let mut before = [V::load(s, &values, BEYOND - 1), zero, zero];
    if wraps {
        let (last, next) = (six(s, &values, n - 1), six::<S, V, N>(s, &values, n));
        let edges =
            [face::<S, V, N, WALLED>(s, last, open, n - 1), face::<S, V, N, WALLED>(s, next, open, n)];
        let [p, r] = scaled(s, cell::<S, V, N, WALLED>(s, [next[1], next[2], next[3]], edges, open, n - 1));
        before = [next[2], p, r];
    }
    let mut w = six(s, &values, 0);
    let edge = face::<S, V, N, WALLED>(s, w, open, 0);
    let v = [w[1], w[2], w[3], w[4], w[5], V::load(s, &values, 2 * BEYOND)];
    let mut low = face::<S, V, N, WALLED>(s, v, open, 1);
    let mut limited = cell::<S, V, N, WALLED>(s, [w[2], w[3], w[4]], [edge, low], open, 0);
    w = [v[1], v[2], v[3], v[4], v[5], V::load(s, &values, 2 * BEYOND + 1)];
    let mut high = face::<S, V, N, WALLED>(s, w, open, 2);
    let (mut first, mut crossed) = (zero, zero);
    for i in 0..n {
        next.prefetch(i);
        // The next cell and edge are computed an iteration ahead: a division takes as long as the rest of an iteration.
        let ahead = cell::<S, V, N, WALLED>(s, [w[1], w[2], w[3]], [low, high], open, i + 1);
        low = high;
        let mean = w[1];
        w = [w[1], w[2], w[3], w[4], w[5], V::load(s, &values, i + 2 + 2 * BEYOND)];
        high = face::<S, V, N, WALLED>(s, w, open, i + 3);
        let [p, r] = scaled(s, limited);
        let here = [mean, p, r];
        let flux = through(repeated::<S, V, N>(s, crossing, i), before, here);
        if i == 0 {
            first = flux;
        } else {
            let m = moved::<S, V, N>(s, before[0], &volume[i - 1], [crossed, flux]);
            let m = if LAST { decayed(s, m, factor) } else { m };
            m.store(&mut values, i + BEYOND - 1);
        }
        (before, crossed, limited) = (here, flux, ahead);
    }
    let last = if wraps {
        first
    } else {
        through(repeated::<S, V, N>(s, crossing, n), before, [V::load(s, &values, n + BEYOND), zero, zero])
    };
    let m = moved::<S, V, N>(s, before[0], &volume[n - 1], [crossed, last]);
    let m = if LAST { decayed(s, m, factor) } else { m };
    m.store(&mut values, n + BEYOND - 1);
    first.store(&mut ends, 0);
    last.store(&mut ends, 1);
}

/// The values of six cells.
#[inline(always)]
fn six<S: Simd, V: Eights<S, N>, const N: usize>(s: S, values: &[&mut [Eight]; N], from: usize) -> [V; 6] {
    [
        V::load(s, values, from),
        V::load(s, values, from + 1),
        V::load(s, values, from + 2),
        V::load(s, values, from + 3),
        V::load(s, values, from + 4),
        V::load(s, values, from + 5),
    ]
}

/// As [`six`], from one scalar that is only read.
#[inline(always)]
fn six_of<S: Simd>(s: S, values: &[Eight], from: usize) -> [f32x8<S>; 6] {
    let values: &[Eight; 6] = values[from..].first_chunk().expect("cells beyond both ends");
    let [a, b, c, d, e, f] = values;
    [a.load(s), b.load(s), c.load(s), d.load(s), e.load(s), f.load(s)]
}

/// The edge at the face below cell i, from the values of cells i − 3 to i + 2.
#[inline(always)]
fn face<S: Simd, V: Eights<S, N>, const N: usize, const WALLED: bool>(
    s: S,
    w: [V; 6],
    open: &[Eight],
    i: usize,
) -> V {
    if WALLED { walled_edge(s, w, &open[i + 1..][..5]) } else { edge(s, w) }
}

/// The deviations of cell i of value c, between neighbours a and b, and their factor, as [`limit`] returns them.
#[inline(always)]
fn cell<S: Simd, V: Eights<S, N>, const N: usize, const WALLED: bool>(
    s: S,
    [mut a, c, mut b]: [V; 3],
    [mut low, mut high]: [V; 2],
    open: &[Eight],
    i: usize,
) -> [V; 3] {
    if WALLED {
        let (below, above): (V, V) =
            (load_repeated(s, &open[i + BEYOND]), load_repeated(s, &open[i + BEYOND + 1]));
        (a, low) = (by_sign(below, a, c), by_sign(below, low, c));
        (b, high) = (by_sign(above, b, c), by_sign(above, high, c));
    }
    limit(s, [a, c, b], [low, high])
}

each_level! { fn fit(values: &[Eight], open: &[Eight], walled: bool, out: [&mut [Eight]; 2]) = fit_kernel; }

/// Parabolas of cells; `values` and `open` begin and end [`BEYOND`] cells outside.
#[inline(always)]
fn fit_kernel<S: Simd>(s: S, values: &[Eight], open: &[Eight], walled: bool, [low, high]: [&mut [Eight]; 2]) {
    if walled {
        fit_along::<S, true>(s, values, open, [low, high]);
    } else {
        fit_along::<S, false>(s, values, open, [low, high]);
    }
}

#[inline(always)]
fn fit_along<S: Simd, const WALLED: bool>(
    s: S,
    values: &[Eight],
    open: &[Eight],
    [low, high]: [&mut [Eight]; 2],
) {
    let mut below = face::<S, f32x8<S>, 1, WALLED>(s, six_of(s, values, 0), open, 0);
    for (i, (low, high)) in low.iter_mut().zip(high).enumerate() {
        let w = six_of(s, values, i + 1);
        let above = face::<S, f32x8<S>, 1, WALLED>(s, w, open, i + 1);
        let limited = cell::<S, f32x8<S>, 1, WALLED>(s, [w[1], w[2], w[3]], [below, above], open, i);
        let [p, r] = scaled(s, limited);
        low.store(p);
        high.store(r);
        below = above;
    }
}

each_level! {
    fn cross(
        cells: [&[Eight]; 4],
        courant: &[Eight],
        crossing: [&[Eight]; 3],
        faces: [usize; 3],
        next: NextLines,
        flux: &mut [Eight],
    ) = cross_kernel;
}

/// Fluxes through the faces from `faces[0]` to `faces[1]`, from as many cells upstream as the air crosses, at
/// most `faces[2]`. `cells` = values, deviations below and above, volumes.
#[inline(always)]
fn cross_kernel<S: Simd>(
    s: S,
    [fields @ .., volume]: [&[Eight]; 4],
    courant: &[Eight],
    [takes, near, far]: [&[Eight]; 3],
    faces: [usize; 3],
    next: NextLines,
    flux: &mut [Eight],
) {
    let (zero, least_volume) = (s.splat_f32x8(0.0), s.splat_f32x8(LEAST_VOLUME));
    for face in faces[0]..faces[1] {
        let at = face - faces[0];
        next.prefetch(at);
        let crossing = [takes[at].load(s), near[at].load(s), far[at].load(s)];
        let mut sum = through(crossing, stored(s, fields, face - 1), stored(s, fields, face));
        let x = courant[face].load(s);
        let mut rest = x.abs() - crossing[0].abs();
        for depth in 1..faces[2] {
            if !any(rest) {
                break;
            }
            let (below, above) = (face - 1 - depth, face + depth);
            let holds = by_sign(x, volume[below].load(s), volume[above].load(s));
            let holds = holds.max(least_volume);
            let near = rest.min(holds);
            let part = factors(s, near, holds, x);
            sum += through(part, stored(s, fields, below), stored(s, fields, above));
            rest = (rest - near).max(zero);
        }
        flux[face].store(sum);
    }
}

/// Mean and deviations of cell i, as [`through`] expects them.
#[inline(always)]
fn stored<S: Simd>(s: S, [values, low, high]: [&[Eight]; 3], i: usize) -> [f32x8<S>; 3] {
    [values[i].load(s), low[i].load(s), high[i].load(s)]
}

each_level! { fn update(flux: &[Eight], volume: &[Eight], decay: Option<f32>, values: &mut [Eight]) = update_kernel; }

#[inline(always)]
fn update_kernel<S: Simd>(s: S, flux: &[Eight], volume: &[Eight], decay: Option<f32>, values: &mut [Eight]) {
    let factor = s.splat_f32x8(decay.unwrap_or(1.0));
    let mut below = flux[0].load(s);
    for ((above, volume), value) in flux[1..].iter().zip(volume).zip(values) {
        let above = above.load(s);
        let m = moved::<S, f32x8<S>, 1>(s, value.load(s), volume, [below, above]);
        let m = if decay.is_some() { decayed(s, m, factor) } else { m };
        value.store(m);
        below = above;
    }
}
