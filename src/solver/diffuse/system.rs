//! Lines that nothing stands in: one coefficient for all points.
//!
//! A wall that holds a value lies half a cell beyond the last point. The mirrored value behind it makes ¾ of the second
//! derivative of a parabola through the wall and the last two points, so the row of that point counts its value ¾ times:
//! the right curvature at the wall, and its slope to second order, with a matrix that stays symmetric. Without that the
//! flow slips along the wall by ⅛ h² ∂²u/∂n².

use super::{End, Ends, GAMMA, LARGEST, STAGES, Scratch, WIDTH, Wide};
use crate::solver::simd::dispatch;

/// (1 + 2a) δ_i − a (δ_(i−1) + δ_(i+1)) = a (q_(i−1) − 2 q_i + q_(i+1)) for the changes δ of the values q, with a = γ κ Δt/h², for each lane.
pub struct System {
    /// a of each lane.
    pub a: Wide,
    /// Both ends, or a ring.
    pub ends: Option<[Edge; 2]>,
}

/// An end of the lines, for each lane.
pub struct Edge {
    /// The value beyond is `sign` times the last one inside, plus `add`.
    pub sign: Wide,
    /// See `sign`.
    pub add: Wide,
    /// What is missing of the last value's weight.
    pub lacks: Wide,
}

impl Edge {
    fn new<const N: usize>(number: [f32; N], end: &End<N>) -> Self {
        let wide = |x: [f32; N]| std::array::from_fn(|l| x[l % N]);
        let is_held = |c: usize| end.sign[c] < 0.0 && number[c] > 0.0;
        let lacks = std::array::from_fn(|c| if is_held(c) { 0.25 } else { 0.0 });
        Self { sign: wide(end.sign), add: wide(end.add), lacks: wide(lacks) }
    }

    /// The values beyond the `last` ones.
    fn beyond(&self, last: &Wide) -> Wide {
        std::array::from_fn(|l| self.sign[l] * last[l] + self.add[l])
    }
}

impl System {
    /// The system for κ Δt/h² = `number` between `ends`.
    pub fn new<const N: usize>(number: [f32; N], ends: &Ends<N>) -> Self {
        let wide = |x: [f32; N]| std::array::from_fn(|l| x[l % N]);
        let ends = match ends {
            Ends::Line(ends) => Some(ends.each_ref().map(|end| Edge::new(number, end))),
            Ends::Ring => None,
        };
        Self { a: wide(number.map(|x| x.clamp(0.0, LARGEST) * GAMMA)), ends }
    }

    /// Both stages, in place.
    pub fn solve(&self, n: usize, scratch: &mut Scratch) {
        let Scratch { values, change, pivots, corner, .. } = scratch;
        let (values, change) = (&mut values[..n], &mut change[..n]);
        for factor in STAGES {
            self.stage(values, change, pivots, corner);
            add(factor, change, values);
        }
    }

    /// The `change` that takes `values` to the solution.
    fn stage(&self, values: &[Wide], change: &mut [Wide], pivots: &mut [Wide], corner: &mut [Wide]) {
        let (first, last) = (&values[0], &values[values.len() - 1]);
        match &self.ends {
            Some([low, high]) => {
                differences(&self.a, &low.beyond(first), &high.beyond(last), values, change);
                thomas(&self.a, low, high, pivots, change);
            }
            None => {
                differences(&self.a, last, first, values, change);
                ring(&self.a, pivots, corner, change);
            }
        }
    }
}

dispatch! {
    /// values + factor · change.
    pub fn add(factor: f32, change: &[Wide], values: &mut [Wide]) = add_kernel;
}

#[inline(always)]
fn add_kernel<const FMA: bool>(factor: f32, change: &[Wide], values: &mut [Wide]) {
    for (value, change) in values.iter_mut().zip(change) {
        for l in 0..WIDTH {
            value[l] += factor * change[l];
        }
    }
}

dispatch! {
    fn differences(a: &Wide, below: &Wide, above: &Wide, values: &[Wide], out: &mut [Wide]) = differences_kernel;
}

/// a (q_(i−1) − 2 q_i + q_(i+1)): the right-hand side for the changes. `below` and `above` are beyond the ends.
#[inline(always)]
fn differences_kernel<const FMA: bool>(
    a: &Wide,
    below: &Wide,
    above: &Wide,
    values: &[Wide],
    out: &mut [Wide],
) {
    let n = values.len();
    for i in 0..n {
        let before = if i == 0 { below } else { &values[i - 1] };
        let after = if i + 1 == n { above } else { &values[i + 1] };
        for l in 0..WIDTH {
            out[i][l] = a[l] * ((before[l] - values[i][l]) + (after[l] - values[i][l]));
        }
    }
}

dispatch! {
    fn thomas(a: &Wide, low: &Edge, high: &Edge, pivots: &mut [Wide], values: &mut [Wide]) = thomas_kernel;
}

#[inline(always)]
fn thomas_kernel<const FMA: bool>(
    a: &Wide,
    low: &Edge,
    high: &Edge,
    pivots: &mut [Wide],
    values: &mut [Wide],
) {
    let n = values.len();
    let (mut pivot, mut value) = ([0.0; WIDTH], [0.0; WIDTH]);
    for i in 0..n {
        for l in 0..WIDTH {
            let mut diagonal = 1.0 + 2.0 * a[l];
            if i == 0 {
                diagonal -= a[l] * low.sign[l] + low.lacks[l];
            }
            if i + 1 == n {
                diagonal -= a[l] * high.sign[l] + high.lacks[l];
            }
            pivot[l] = 1.0 / (diagonal - a[l] * a[l] * pivot[l]);
            value[l] = (values[i][l] + a[l] * value[l]) * pivot[l];
        }
        pivots[i] = pivot;
        values[i] = value;
    }
    for i in (0..n - 1).rev() {
        for l in 0..WIDTH {
            value[l] = values[i][l] + a[l] * pivots[i][l] * value[l];
        }
        values[i] = value;
    }
}

/// A ring by the Sherman–Morrison formula (Press et al., "Numerical Recipes", §2.7.2).
fn ring(a: &Wide, pivots: &mut [Wide], corner: &mut [Wide], values: &mut [Wide]) {
    let n = values.len();
    if n == 1 {
        // Its own neighbour on both sides: nothing to diffuse.
        return;
    }
    let corner = &mut corner[..n];
    corner.fill([0.0; WIDTH]);
    // Taking off γ = −(1 + 2a) at the first diagonal entry leaves twice that, and b + a²/b at the last.
    let edge = || Edge { sign: [0.0; WIDTH], add: [0.0; WIDTH], lacks: [0.0; WIDTH] };
    let mut ends = [edge(), edge()];
    for l in 0..WIDTH {
        let b = 1.0 + 2.0 * a[l];
        let per_a = if a[l] > 0.0 { 1.0 / a[l] } else { 0.0 };
        ends[0].sign[l] = -b * per_a;
        ends[1].sign[l] = -a[l] / b;
        corner[0][l] = -b;
        corner[n - 1][l] = -a[l];
    }
    thomas(a, &ends[0], &ends[1], pivots, values);
    thomas(a, &ends[0], &ends[1], pivots, corner);
    for l in 0..WIDTH {
        let b = 1.0 + 2.0 * a[l];
        let y = values[0][l] + a[l] / b * values[n - 1][l];
        let z = 1.0 + corner[0][l] + a[l] / b * corner[n - 1][l];
        let factor = if a[l] > 0.0 { y / z } else { 0.0 };
        for i in 0..n {
            values[i][l] -= factor * corner[i][l];
        }
    }
}
