//! Lines without solids: one coefficient for all points.
//!
//! A wall with a fixed value lies half a cell beyond the last point. The mirrored value behind it gives only
//! ¾ of the second derivative of a parabola through the wall and the last two points. So the row of that
//! point weighs its value by ¾: right curvature at the wall, slope to second order, and a symmetric matrix.
//! Without this the flow slips along the wall by ⅛ h² ∂²u/∂n².

use bytemuck::{cast_slice, cast_slice_mut};

use super::{Adds, End, GAMMA, LARGEST, LineBoundary, STAGES, WIDTH, Wide};
use fearless_simd::prelude::*;

use crate::simd::vectors::{Lane, load, store};
use crate::simd::{LANES, Simd, each_level};

/// Registers in a [`Wide`].
const BLOCKS: usize = WIDTH / LANES;
type Blocks = [Lane; BLOCKS];

/// (1 + 2a) δ_i − a (δ_(i−1) + δ_(i+1)) = a (q_(i−1) − 2 q_i + q_(i+1)) for the changes δ of the values q, with
/// a = γ κ Δt/h². All lines have the same matrix, which is factored once.
pub struct System {
    /// a of each lane.
    pub a: Lane,
    /// Both ends, or none for a ring.
    pub ends: Option<[Edge; 2]>,
    /// a over the pivots: all that Thomas' algorithm needs of them.
    ratios: Vec<Lane>,
    ring: Ring,
}

/// Closes a ring by the Sherman–Morrison formula (Press et al., "Numerical Recipes", §2.7.2).
struct Ring {
    /// The corner vector, solved without the corners.
    corner: Vec<Lane>,
    /// Weights of the first and last value of a line in the correction.
    weights: [Lane; 2],
}

/// Boundary condition at an end of the lines, for each lane.
#[derive(Clone, Copy)]
pub struct Edge {
    /// The value beyond is `sign` times the last one inside, plus `add`.
    pub sign: Lane,
    /// See `sign`.
    pub add: Lane,
    /// Deficit of the last value's weight against 1.
    pub deficit: Lane,
}

fn lane<const N: usize>(x: [f32; N]) -> Lane {
    std::array::from_fn(|l| x[l % N])
}

impl Edge {
    fn new<const N: usize>(number: [f32; N], end: &End<N>) -> Self {
        let is_held = |c: usize| end.sign[c] < 0.0 && number[c] > 0.0;
        let deficit: [f32; N] = std::array::from_fn(|c| if is_held(c) { 0.25 } else { 0.0 });
        Self { sign: lane(end.sign), add: lane(end.add), deficit: lane(deficit) }
    }

    /// The values beyond the `last` ones, where `add` is added.
    fn beyond(&self, add: &Wide, last: &Wide) -> Wide {
        std::array::from_fn(|l| self.sign[l % LANES] * last[l] + add[l])
    }

    /// Gains of lines through this end in a stage that changes their `last` values by `change`. They count as if the piece of the
    /// line at the end were as wide as a cell, so that the gains through both ends are the change of the whole line.
    fn gain(&self, a: &Lane, add: &Wide, last: &Wide, change: &Wide) -> Wide {
        let after: Wide = std::array::from_fn(|l| last[l] + change[l]);
        let beyond = self.beyond(add, &after);
        std::array::from_fn(|l| a[l % LANES] * (beyond[l] - after[l]) + self.deficit[l % LANES] * change[l])
    }
}

impl System {
    /// Makes memory for lines of at most `n` values.
    pub fn new(n: usize) -> Self {
        let zero = [0.0; LANES];
        let ring = Ring { corner: vec![zero; n], weights: [zero; 2] };
        Self { a: zero, ends: None, ratios: vec![zero; n], ring }
    }

    /// Takes over κ Δt/h² = `number` for lines of `n` values between `ends`.
    pub fn set<const N: usize>(&mut self, number: [f32; N], ends: &LineBoundary<N>, n: usize) {
        self.a = lane(number.map(|x| x.clamp(0.0, LARGEST) * GAMMA));
        self.ends = match ends {
            LineBoundary::Line(ends) => Some(ends.each_ref().map(|end| Edge::new(number, end))),
            LineBoundary::Ring => None,
        };
        match &self.ends {
            Some([low, high]) => {
                let less = |end: &Edge| std::array::from_fn(|l| self.a[l] * end.sign[l] + end.deficit[l]);
                factor(&self.a, &less(low), &less(high), &mut self.ratios[..n]);
            }
            None => self.ring.close(&self.a, &mut self.ratios[..n]),
        }
    }

    /// Value added at both ends, the same for all lines.
    pub fn adds(&self) -> [Wide; 2] {
        let wide = |edge: Edge| std::array::from_fn(|l| edge.add[l % LANES]);
        self.ends.map_or([[0.0; WIDTH]; 2], |ends| ends.map(wide))
    }

    /// Value added at one end if the values beyond the `last` ones are `beyond`.
    pub fn add_of(&self, end: usize, beyond: &Wide, last: &Wide) -> Wide {
        let sign = self.ends.map_or([0.0; LANES], |ends| ends[end].sign);
        std::array::from_fn(|l| beyond[l] - sign[l % LANES] * last[l])
    }

    /// Both stages, in place; `adds` of each is added at the ends, `change` working memory. Returns what the lines have gained through
    /// each end, without the decay from then on, by the factors `fades`.
    pub fn solve(
        &self,
        (adds, fades): (&Adds, &[Lane; 2]),
        values: &mut [Wide],
        change: &mut [Wide],
    ) -> [Wide; 2] {
        let n = values.len();
        let ratios = &self.ratios[..n];
        let mut gains = [[0.0; WIDTH]; 2];
        for ((part, adds), fades) in STAGES.into_iter().zip(adds).zip(fades) {
            let before = [values[0], values[n - 1]];
            let [first, last] = &before;
            let [below, above] = match &self.ends {
                Some([low, high]) => [low.beyond(&adds[0], first), high.beyond(&adds[1], last)],
                None => [*last, *first],
            };
            forward(ratios, cast_slice(&[below, above]), cast_slice(values), cast_slice_mut(change));
            match &self.ends {
                Some(ends) => {
                    backward(part, ratios, cast_slice_mut(change), cast_slice_mut(values));
                    for (end, at) in [0, n - 1].into_iter().enumerate() {
                        let gain = ends[end].gain(&self.a, &adds[end], &before[end], &change[at]);
                        (0..WIDTH).for_each(|l| gains[end][l] += part * gain[l] / fades[l % LANES]);
                    }
                }
                None => self.ring.backward(part, ratios, change, values),
            }
        }
        gains
    }
}

/// Computes `ratios` for the matrix with diagonal 1 + 2a, smaller by `less_below` and `less_above` at the
/// ends.
fn factor(a: &Lane, less_below: &Lane, less_above: &Lane, ratios: &mut [Lane]) {
    let (n, mut ratio) = (ratios.len(), [0.0; LANES]);
    for (i, out) in ratios.iter_mut().enumerate() {
        for l in 0..LANES {
            let mut diagonal = 1.0 + 2.0 * a[l];
            diagonal -= if i == 0 { less_below[l] } else { 0.0 };
            diagonal -= if i + 1 == n { less_above[l] } else { 0.0 };
            ratio[l] = a[l] / (diagonal - a[l] * ratio[l]);
        }
        *out = ratio;
    }
}

impl Ring {
    fn close(&mut self, a: &Lane, ratios: &mut [Lane]) {
        let n = ratios.len();
        let b = a.map(|a| 1.0 + 2.0 * a);
        // Removing −b leaves twice b at the first diagonal entry, and b + a²/b at the last.
        let more: Lane = std::array::from_fn(|l| -a[l] * a[l] / b[l]);
        factor(a, &b.map(|b| -b), &more, ratios);
        // All are divided by a, as the right-hand sides are.
        let corner = &mut self.corner[..n];
        corner.fill([0.0; LANES]);
        for l in 0..LANES {
            corner[0][l] = if a[l] > 0.0 { -b[l] / a[l] } else { 0.0 };
            corner[n - 1][l] -= 1.0;
        }
        thomas(ratios, corner);
        for l in 0..LANES {
            let share = a[l] / b[l];
            let weight = 1.0 / (1.0 + corner[0][l] + share * corner[n - 1][l]);
            [self.weights[0][l], self.weights[1][l]] = [weight, share * weight];
        }
    }

    fn backward(&self, part: f32, ratios: &[Lane], change: &mut [Wide], values: &mut [Wide]) {
        let n = values.len();
        if n == 1 {
            // A single point is its own neighbour: there is no diffusion.
            return;
        }
        substitute(ratios, cast_slice_mut(change));
        let [first, last] = &self.weights;
        let taken: [Wide; 1] =
            [std::array::from_fn(|l| first[l % LANES] * change[0][l] + last[l % LANES] * change[n - 1][l])];
        add_ring(part, &cast_slice(&taken)[0], &self.corner[..n], cast_slice(change), cast_slice_mut(values));
    }
}

/// Thomas' algorithm for one lane. `values` holds the right-hand side over a.
fn thomas(ratios: &[Lane], values: &mut [Lane]) {
    let n = values.len();
    let mut value = [0.0; LANES];
    for i in 0..n {
        (0..LANES).for_each(|l| value[l] = ratios[i][l] * (values[i][l] + value[l]));
        values[i] = value;
    }
    for i in (0..n - 1).rev() {
        (0..LANES).for_each(|l| value[l] = values[i][l] + ratios[i][l] * value[l]);
        values[i] = value;
    }
}

each_level! {
    fn forward(ratios: &[Lane], beyond: &[Blocks], values: &[Blocks], change: &mut [Blocks]) = forward_kernel;
}

/// Computes the right-hand side a (q_(i−1) − 2 q_i + q_(i+1)), with `beyond` at both ends, and eliminates.
#[inline(always)]
fn forward_kernel<S: Simd>(
    simd: S,
    ratios: &[Lane],
    beyond: &[Blocks],
    values: &[Blocks],
    change: &mut [Blocks],
) {
    let n = values.len();
    let (ratios, change) = (&ratios[..n], &mut change[..n]);
    let mut solved = [simd.splat_f32x16(0.0); BLOCKS];
    for i in 0..n {
        let before = if i == 0 { &beyond[0] } else { &values[i - 1] };
        let after = if i + 1 == n { &beyond[1] } else { &values[i + 1] };
        let ratio = load(simd, &ratios[i]);
        for b in 0..BLOCKS {
            let here = load(simd, &values[i][b]);
            let (down, up) = (load(simd, &before[b]), load(simd, &after[b]));
            let right = (down - here) + (up - here);
            solved[b] = ratio.mul_add(solved[b], ratio * right);
            store(solved[b], &mut change[i][b]);
        }
    }
}

each_level! {
    fn backward(part: f32, ratios: &[Lane], change: &mut [Blocks], values: &mut [Blocks]) = backward_kernel;
}

/// Substitutes back, and adds `part` of the solution to `values`. At both ends `change` becomes the solution.
#[inline(always)]
fn backward_kernel<S: Simd>(
    simd: S,
    part: f32,
    ratios: &[Lane],
    change: &mut [Blocks],
    values: &mut [Blocks],
) {
    let n = values.len();
    let (ratios, change) = (&ratios[..n], &mut change[..n]);
    let (part, mut solved) = (simd.splat_f32x16(part), [simd.splat_f32x16(0.0); BLOCKS]);
    for i in (0..n).rev() {
        let ratio = load(simd, &ratios[i]);
        for b in 0..BLOCKS {
            solved[b] = ratio.mul_add(solved[b], load(simd, &change[i][b]));
            let value = part.mul_add(solved[b], load(simd, &values[i][b]));
            store(value, &mut values[i][b]);
        }
    }
    for b in 0..BLOCKS {
        store(solved[b], &mut change[0][b]);
    }
}

each_level! { fn substitute(ratios: &[Lane], change: &mut [Blocks]) = substitute_kernel; }

/// Substitutes back, in place.
#[inline(always)]
fn substitute_kernel<S: Simd>(simd: S, ratios: &[Lane], change: &mut [Blocks]) {
    let n = change.len();
    let ratios = &ratios[..n];
    let mut solved = [simd.splat_f32x16(0.0); BLOCKS];
    for i in (0..n).rev() {
        let ratio = load(simd, &ratios[i]);
        for b in 0..BLOCKS {
            solved[b] = ratio.mul_add(solved[b], load(simd, &change[i][b]));
            store(solved[b], &mut change[i][b]);
        }
    }
}

each_level! {
    fn add_ring(part: f32, taken: &Blocks, corner: &[Lane], change: &[Blocks], values: &mut [Blocks]) = add_ring_kernel;
}

/// Adds `part` of the solution to `values`: `change` less the correction for the corners.
#[inline(always)]
fn add_ring_kernel<S: Simd>(
    simd: S,
    part: f32,
    taken: &Blocks,
    corner: &[Lane],
    change: &[Blocks],
    values: &mut [Blocks],
) {
    let n = values.len();
    let (corner, change) = (&corner[..n], &change[..n]);
    let less = simd.splat_f32x16(-part);
    for i in 0..n {
        let corner = load(simd, &corner[i]);
        for b in 0..BLOCKS {
            let taken = load(simd, &taken[b]) * corner;
            let change = taken - load(simd, &change[i][b]);
            let value = less.mul_add(change, load(simd, &values[i][b]));
            store(value, &mut values[i][b]);
        }
    }
}
