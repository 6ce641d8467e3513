//! Relaxation and the product with A, row by row.

use rayon::prelude::*;

use super::{Level, SERIAL};
use crate::simd::{Simd, each_level};
use crate::solver::project::red_black::{Board, Halves};

impl Level {
    /// Zeros the cells of a colour that are no unknowns.
    pub fn mask(&self, color: usize, half: &mut [f32]) {
        let inverse = &self.inverse[color];
        self.planes(half, |k, out| {
            let at = (k + 1) * self.board.plane;
            mask_plane(&inverse[at..][..out.len()], out);
        });
    }

    /// The slots of a row whose weights are not the usual ones.
    #[inline(always)]
    pub(super) fn span(&self, [j, k]: [usize; 2]) -> [usize; 2] {
        self.spans[j + self.board.n[1] * k].map(|slot| slot as usize)
    }

    /// Whether a pass is worth splitting over threads.
    pub(super) fn in_parallel(&self) -> bool {
        self.board.n.iter().product::<usize>() > SERIAL
    }

    /// Calls `f(k, plane)` for each plane of cells of one colour that this rank relaxes.
    pub(super) fn planes(&self, half: &mut [f32], f: impl Fn(usize, &mut [f32]) + Sync) {
        let (plane, [low, high]) = (self.board.plane, self.own());
        let inside = &mut half[(low + 1) * plane..(high + 1) * plane];
        if self.in_parallel() {
            inside.par_chunks_mut(plane).enumerate().for_each(|(k, plane)| f(low + k, plane));
        } else {
            inside.chunks_mut(plane).enumerate().for_each(|(k, plane)| f(low + k, plane));
        }
    }

    /// Brings one colour from the planes beside the slab, and fills its ghosts beyond periodic ends.
    pub(super) fn surround(&self, color: usize, field: &mut Halves, halo: [usize; 2]) {
        self.exchange(&mut field[color], halo);
        if self.meets_itself() {
            self.exchange(&mut field[1 - color], halo);
        }
        // The planes brought here come without the ghosts across x and y.
        for ks in self.relax_ranks.known(self.board.n[2], halo) {
            self.board.wrap(self.periodic(), color, field, ks);
        }
    }

    /// Relaxes one colour: φ = (rhs + Σ w φ_neighbour) / Σ w.
    pub fn relax(&self, color: usize, rhs: &Halves, phi: &mut Halves) {
        self.surround(1 - color, phi, [1; 2]);
        let [red, black] = phi;
        let (own, other) = if color == 0 { (red, &*black) } else { (black, &*red) };
        self.planes(own, |k, out| relax_plane(self, color, k, &rhs[color], other, out));
    }

    /// Relaxes the red cells as [`relax`](Self::relax) does when all φ are 0.
    pub fn relax_red_from_zero(&self, rhs: &Halves, phi: &mut Halves) {
        let red = &rhs[0];
        self.planes(&mut phi[0], |k, out| {
            let at = (k + 1) * self.board.plane;
            scale_plane(&red[at..][..out.len()], &self.inverse[0][at..][..out.len()], out);
        });
    }

    /// Computes `out` = A φ. Returns Σ φ A φ. The ghosts of `out` are not written.
    pub fn apply(&self, phi: &mut Halves, out: &mut Halves, partials: &mut [f64]) -> f64 {
        for color in [0, 1] {
            self.surround(color, phi, [1; 2]);
        }
        let [red, black] = phi.each_ref().map(|half| half.as_slice());
        let (plane, [low, high]) = (self.board.plane, self.own());
        let inside = (low + 1) * plane..(high + 1) * plane;
        let [out_red, out_black] = out;
        let planes = out_red[inside.clone()]
            .par_chunks_mut(plane)
            .zip(out_black[inside].par_chunks_mut(plane))
            .zip(partials[low..high].par_iter_mut());
        planes.enumerate().for_each(|(k, ((out_red, out_black), partial))| {
            *partial = 0.0;
            apply_plane(self, 0, low + k, red, black, out_red, partial);
            apply_plane(self, 1, low + k, black, red, out_black, partial);
        });
        self.relax_ranks.gather(partials, 1);
        partials.iter().sum()
    }
}

/// An operation on N rows, read at the same slot, `L` slots at a time.
trait RowOp<const N: usize> {
    fn eval<const L: usize>(&self, x: [&[f32; L]; N]) -> [f32; L];
}

/// Slots handled at once.
const LANES: usize = 8;

/// Writes `out[m]` = op of `x[..][m]`. Whole chunks are loaded before one is stored, so no check for overlap
/// is needed.
#[inline(always)]
fn map_row<const N: usize>(op: &impl RowOp<N>, x: [&[f32]; N], out: &mut [f32]) {
    let x = x.map(|x| &x[..out.len()]);
    let (chunks, tail) = out.as_chunks_mut::<LANES>();
    let whole = x.map(|x| &x.as_chunks::<LANES>().0[..chunks.len()]);
    for (c, out) in chunks.iter_mut().enumerate() {
        *out = op.eval(whole.map(|x| &x[c]));
    }
    let rest = x.map(|x| &x[chunks.len() * LANES..][..tail.len()].as_chunks::<1>().0[..tail.len()]);
    for (t, out) in tail.iter_mut().enumerate() {
        [*out] = op.eval(rest.map(|x| &x[t]));
    }
}

/// One row of one colour.
pub struct Row<'a> {
    level: &'a Level,
    /// Position of slot 0.
    pub at: usize,
    /// The first i of the colour, 0 or 1.
    first: usize,
    color: usize,
    other: &'a [f32],
}

impl<'a> Row<'a> {
    #[inline(always)]
    pub fn new(level: &'a Level, color: usize, [j, k]: [usize; 2], other: &'a [f32]) -> Self {
        let (j, k) = (j as isize, k as isize);
        let (at, first) = (level.board.row(j, k), level.board.first(color, j, k));
        Self { level, at, first, color, other }
    }

    /// Neighbours at x low, x high, y low, y high, z low, z high.
    #[inline(always)]
    pub fn neighbours(&self, from: usize, count: usize) -> [&'a [f32]; 6] {
        let Board { pitch, plane, .. } = self.level.board;
        let at = self.at + from;
        let places = [at + self.first - 1, at + self.first, at - pitch, at + pitch, at - plane, at + plane];
        places.map(|at| &self.other[at..][..count])
    }

    /// Weights of the faces to them.
    #[inline(always)]
    pub fn weights(&self, from: usize, count: usize) -> [&'a [f32]; 6] {
        let Level { board: Board { pitch, plane, .. }, weights: [x, y, z], .. } = self.level;
        let (at, own, other) = (self.at + from, self.color, 1 - self.color);
        [
            &x[own][at..][..count],
            &x[other][at + self.first..][..count],
            &y[own][at..][..count],
            &y[other][at + pitch..][..count],
            &z[own][at..][..count],
            &z[other][at + plane..][..count],
        ]
    }

    /// The slots with usual weights, before and after the span.
    #[inline(always)]
    fn usual(&self, span: [usize; 2]) -> [[usize; 2]; 2] {
        [[0, span[0]], [span[1], self.level.board.slots]]
    }

    /// The slots of the row's ends outside `span`, with the excess that the sides add to the diagonal there.
    /// None for a slot beyond the box.
    #[inline(always)]
    fn ends(&self, span: [usize; 2]) -> [Option<(usize, Option<f32>)>; 2] {
        let (n, slots) = (self.level.board.n[0], self.level.board.slots);
        let excess = |high: usize| Some(self.level.side[0][high] - self.level.inner[0]);
        let last = slots - 1;
        let usual = |slot: usize| !(span[0]..span[1]).contains(&slot);
        let low = (self.first == 0 && usual(0)).then_some((0, excess(0)));
        let high = match 2 * last + self.first {
            i if i + 1 == n => Some((last, excess(1))),
            i if i == n => Some((last, None)),
            _ => None,
        };
        [low, high.filter(|_| usual(last))]
    }

    fn diagonal(&self) -> f32 {
        2.0 * self.level.inner.iter().sum::<f32>()
    }
}

/// A pass over a row. Per cell it reads the cell's own value, its six neighbours and the weights of its
/// faces.
trait Pass: RowOp<7> {
    /// Result in cells with unusual weights: own value, 1 / Σ w, weights, neighbours.
    fn weighted<const L: usize>(&self, x: [&[f32; L]; 14]) -> [f32; L];

    /// Corrects the result `out` in a cell beside a side, which adds `excess` to the diagonal.
    fn beside(&self, own: f32, out: f32, excess: f32) -> f32;
}

/// [`Pass::weighted`] as an operation.
struct Weighted<'a, P>(&'a P);

impl<P: Pass> RowOp<14> for Weighted<'_, P> {
    #[inline(always)]
    fn eval<const L: usize>(&self, x: [&[f32; L]; 14]) -> [f32; L] {
        self.0.weighted(x)
    }
}

/// Runs a pass over one row. `own` holds the values of its slots.
#[inline(always)]
fn pass_row(pass: &impl Pass, row: &Row, span: [usize; 2], own: &[f32], out: &mut [f32]) {
    for [from, to] in row.usual(span) {
        if from < to {
            let [xl, xh, yl, yh, zl, zh] = row.neighbours(from, to - from);
            map_row(pass, [&own[from..to], xl, xh, yl, yh, zl, zh], &mut out[from..to]);
        }
    }
    for (slot, excess) in row.ends(span).into_iter().flatten() {
        out[slot] = match excess {
            Some(excess) => pass.beside(own[slot], out[slot], excess),
            None => 0.0,
        };
    }
    let [from, to] = span;
    if from < to {
        let inverse = &row.level.inverse[row.color][row.at + from..][..to - from];
        let [n0, n1, n2, n3, n4, n5] = row.neighbours(from, to - from);
        let [w0, w1, w2, w3, w4, w5] = row.weights(from, to - from);
        let x = [&own[from..to], inverse, w0, w1, w2, w3, w4, w5, n0, n1, n2, n3, n4, n5];
        map_row(&Weighted(pass), x, &mut out[from..to]);
    }
}

/// φ = (rhs + Σ w φ_neighbour) / Σ w
struct Relax<S> {
    simd: S,
    weights: [f32; 3],
    diagonal: f32,
}

impl<S: Simd> RowOp<7> for Relax<S> {
    #[inline(always)]
    fn eval<const L: usize>(&self, [rhs, xl, xh, yl, yh, zl, zh]: [&[f32; L]; 7]) -> [f32; L] {
        let ([wx, wy, wz], inverse) = (self.weights, 1.0 / self.diagonal);
        std::array::from_fn(|l| {
            let x = self.simd.fma(wx, xl[l] + xh[l], rhs[l]);
            let y = self.simd.fma(wy, yl[l] + yh[l], x);
            self.simd.fma(wz, zl[l] + zh[l], y) * inverse
        })
    }
}

impl<S: Simd> Pass for Relax<S> {
    #[inline(always)]
    fn weighted<const L: usize>(&self, x: [&[f32; L]; 14]) -> [f32; L] {
        let [rhs, inverse, w0, w1, w2, w3, w4, w5, n0, n1, n2, n3, n4, n5] = x;
        std::array::from_fn(|l| {
            let f = |w: &[f32; L], n: &[f32; L], sum: f32| self.simd.fma(w[l], n[l], sum);
            let sum = f(w1, n1, f(w0, n0, rhs[l]));
            f(w5, n5, f(w4, n4, f(w3, n3, f(w2, n2, sum)))) * inverse[l]
        })
    }

    #[inline(always)]
    fn beside(&self, _: f32, out: f32, excess: f32) -> f32 {
        out * (self.diagonal / (self.diagonal + excess))
    }
}

each_level! {
    fn relax_plane(level: &Level, color: usize, k: usize, rhs: &[f32], other: &[f32], out: &mut [f32]) =
        relax_plane_kernel;
}

#[inline(always)]
fn relax_plane_kernel<S: Simd>(
    s: S,
    level: &Level,
    color: usize,
    k: usize,
    rhs: &[f32],
    other: &[f32],
    out: &mut [f32],
) {
    let Board { n, slots, plane, .. } = level.board;
    for j in 0..n[1] {
        let row = Row::new(level, color, [j, k], other);
        let pass = Relax { simd: s, weights: level.inner, diagonal: row.diagonal() };
        let out = &mut out[row.at - (k + 1) * plane..][..slots];
        pass_row(&pass, &row, level.span([j, k]), &rhs[row.at..][..slots], out);
    }
}

/// A φ = Σ w (φ − φ_neighbour), 0 in cells that are no unknowns.
struct Apply<S> {
    simd: S,
    weights: [f32; 3],
    diagonal: f32,
}

impl<S: Simd> RowOp<7> for Apply<S> {
    #[inline(always)]
    fn eval<const L: usize>(&self, [phi, xl, xh, yl, yh, zl, zh]: [&[f32; L]; 7]) -> [f32; L] {
        let [wx, wy, wz] = self.weights;
        std::array::from_fn(|l| {
            let x = self.simd.fma(-wx, xl[l] + xh[l], self.diagonal * phi[l]);
            let y = self.simd.fma(-wy, yl[l] + yh[l], x);
            self.simd.fma(-wz, zl[l] + zh[l], y)
        })
    }
}

impl<S: Simd> Pass for Apply<S> {
    #[inline(always)]
    fn weighted<const L: usize>(&self, x: [&[f32; L]; 14]) -> [f32; L] {
        let [phi, inverse, w0, w1, w2, w3, w4, w5, n0, n1, n2, n3, n4, n5] = x;
        std::array::from_fn(|l| {
            let f = |w: &[f32; L], n: &[f32; L], sum: f32| self.simd.fma(w[l], phi[l] - n[l], sum);
            let sum = f(w2, n2, f(w1, n1, f(w0, n0, 0.0)));
            let sum = f(w5, n5, f(w4, n4, f(w3, n3, sum)));
            if inverse[l] > 0.0 { sum } else { 0.0 }
        })
    }

    #[inline(always)]
    fn beside(&self, own: f32, out: f32, excess: f32) -> f32 {
        out + excess * own
    }
}

/// Computes A φ of one row into `out`.
#[inline(always)]
pub fn apply_row<S: Simd>(s: S, row: &Row, span: [usize; 2], own: &[f32], out: &mut [f32]) {
    let pass = Apply { simd: s, weights: row.level.inner, diagonal: row.diagonal() };
    pass_row(&pass, row, span, &own[row.at..][..row.level.board.slots], out);
}

each_level! {
    fn apply_plane(
        level: &Level, color: usize, k: usize, own: &[f32], other: &[f32], out: &mut [f32], dot: &mut f64,
    ) = apply_plane_kernel;
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn apply_plane_kernel<S: Simd>(
    s: S,
    level: &Level,
    color: usize,
    k: usize,
    own: &[f32],
    other: &[f32],
    out: &mut [f32],
    dot: &mut f64,
) {
    let Board { n, slots, plane, .. } = level.board;
    for j in 0..n[1] {
        let row = Row::new(level, color, [j, k], other);
        let out = &mut out[row.at - (k + 1) * plane..][..slots];
        apply_row(s, &row, level.span([j, k]), own, out);
        *dot += f64::from(dot_row(s, &own[row.at..][..slots], out));
    }
}

/// Σ a b over a row, in a fixed order.
#[inline(always)]
pub fn dot_row<S: Simd>(s: S, a: &[f32], b: &[f32]) -> f32 {
    const L: usize = 2 * LANES;
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<L>(), b.as_chunks::<L>());
    let mut sums = [0.0f32; L];
    for (a, b) in a.iter().zip(b) {
        for l in 0..L {
            sums[l] = s.fma(a[l], b[l], sums[l]);
        }
    }
    for (l, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
        sums[l] = s.fma(*a, *b, sums[l]);
    }
    fold(sums)
}

/// A sum of lanes in a fixed order.
#[inline(always)]
pub fn fold<const L: usize>(mut sums: [f32; L]) -> f32 {
    let mut width = L / 2;
    while width > 0 {
        for l in 0..width {
            sums[l] += sums[l + width];
        }
        width /= 2;
    }
    sums[0]
}

each_level! { fn mask_plane(inverse: &[f32], out: &mut [f32]) = mask_plane_kernel; }

#[inline(always)]
fn mask_plane_kernel<S: Simd>(_: S, inverse: &[f32], out: &mut [f32]) {
    for (out, inverse) in out.iter_mut().zip(inverse) {
        *out = if *inverse > 0.0 { *out } else { 0.0 };
    }
}

each_level! { fn scale_plane(rhs: &[f32], inverse: &[f32], out: &mut [f32]) = scale_plane_kernel; }

#[inline(always)]
fn scale_plane_kernel<S: Simd>(_: S, rhs: &[f32], inverse: &[f32], out: &mut [f32]) {
    for ((out, rhs), inverse) in out.iter_mut().zip(rhs).zip(inverse) {
        *out = rhs * inverse;
    }
}
