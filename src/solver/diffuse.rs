//! Viscosity and diffusion, stable for any coefficient and any step.
//!
//! ∂q/∂t = κ ∇²q one axis after the other (locally one-dimensional splitting: the axes' operators commute in a box, so
//! the splitting costs no accuracy there), each by the two-stage, second-order, L-stable SDIRK method with
//! γ = 1 − 1/√2 (Alexander 1977): stiff modes die at once instead of ringing. A stage is one tridiagonal system for each
//! line, solved by Thomas' algorithm on 64 lines at once.

use rayon::prelude::*;

use super::simd::dispatch;
use super::sweep::{PerThread, Shared};
use crate::grid::Layout;

/// Lines solved together.
const WIDTH: usize = 64;

type Wide = [f32; WIDTH];

/// Largest κ Δt/h² taken at its word: beyond it a box of any size that fits in memory is all but uniform after a few
/// steps, and the 1 of 1 + 2a would drown in rounding.
const LARGEST: f32 = 1e4;

/// γ of the method.
const GAMMA: f32 = 1.0 - std::f32::consts::FRAC_1_SQRT_2;

/// The value beyond an end of a line: `sign` times the last one inside, plus `add`; for each of N values.
#[derive(Clone, Copy, Debug)]
pub struct End<const N: usize> {
    /// Factor of the value inside.
    pub sign: [f32; N],
    /// What is added.
    pub add: [f32; N],
}

/// The two ends of the lines along an axis.
#[derive(Clone, Copy, Debug)]
pub enum Ends<const N: usize> {
    /// Each end by its own rule.
    Line([End<N>; 2]),
    /// The line closes on itself.
    Ring,
}

/// Working memory of one thread, for lines up to a length.
pub struct Scratch {
    start: Vec<Wide>,
    values: Vec<Wide>,
    pivots: Vec<Wide>,
    corner: Vec<Wide>,
}

impl Scratch {
    /// For lines of at most `n` values.
    pub fn new(n: usize) -> Self {
        let wide = || vec![[0.0; WIDTH]; n];
        Self { start: wide(), values: wide(), pivots: wide(), corner: wide() }
    }
}

/// Diffuses `field` along `axis` within `range` (half-open, along x, y, z). `number` is κ Δt/h² of each value.
pub fn along<const N: usize>(
    layout: Layout,
    field: &mut [[f32; N]],
    axis: usize,
    range: [[isize; 2]; 3],
    number: [f32; N],
    ends: &Ends<N>,
    scratch: &PerThread<Scratch>,
) {
    let lines = Lines::new(layout, axis, range, N);
    let field = Shared::new(field.as_flattened_mut());
    let system = System::new(number, ends);
    (0..lines.groups()).into_par_iter().for_each(|group| {
        let mut mine = scratch.mine();
        lines.read(group, &field, &mut mine.start);
        system.solve(lines.length, &mut mine);
        lines.write(group, &field, &mine.values);
    });
}

/// The lines of a field along one axis, in groups of [`WIDTH`] floats that lie side by side.
struct Lines {
    layout: Layout,
    axis: usize,
    /// First index and count along x, y, z.
    first: [isize; 3],
    count: [usize; 3],
    /// Values of the line.
    length: usize,
    /// Values at each point.
    values: usize,
}

impl Lines {
    fn new(layout: Layout, axis: usize, range: [[isize; 2]; 3], values: usize) -> Self {
        let count = range.map(|[lo, hi]| (hi - lo).max(0) as usize);
        Self { layout, axis, first: range.map(|r| r[0]), count, length: count[axis], values }
    }

    /// The axis across which a group extends: x, or y for lines along x; and the one left over.
    fn across(&self) -> [usize; 2] {
        match self.axis {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        }
    }

    fn per_group(&self) -> usize {
        WIDTH / self.values
    }

    fn groups(&self) -> usize {
        let [wide, other] = self.across();
        if self.length == 0 { 0 } else { self.count[wide].div_ceil(self.per_group()) * self.count[other] }
    }

    /// Position of the first value of the group's first line, in floats, and its number of lines.
    fn locate(&self, group: usize) -> (usize, usize) {
        let [wide, other] = self.across();
        let across = self.count[wide].div_ceil(self.per_group());
        let from = (group % across) * self.per_group();
        let mut at = self.first;
        at[wide] += from as isize;
        at[other] += (group / across) as isize;
        (self.layout.at(at[0], at[1], at[2]) * self.values, self.per_group().min(self.count[wide] - from))
    }

    /// Calls `f(i, lane, floats)` for each contiguous piece of the group.
    #[allow(unsafe_code)]
    fn pieces(&self, group: usize, field: &Shared<f32>, mut f: impl FnMut(usize, usize, &mut [f32])) {
        let (at, lines) = self.locate(group);
        let n = self.values;
        let stride = self.layout.strides()[self.axis] * n;
        let (row, pieces, width) =
            if self.axis == 0 { (self.layout.row * n, lines, n) } else { (0, 1, lines * n) };
        for i in 0..self.length {
            for piece in 0..pieces {
                // SAFETY: groups share no line, and no two pieces are alive at once.
                f(i, piece * n, unsafe { field.part(at + i * stride + piece * row, width) });
            }
        }
    }

    fn read(&self, group: usize, field: &Shared<f32>, to: &mut [Wide]) {
        self.pieces(group, field, |i, lane, floats| to[i][lane..lane + floats.len()].copy_from_slice(floats));
    }

    fn write(&self, group: usize, field: &Shared<f32>, from: &[Wide]) {
        self.pieces(group, field, |i, lane, floats| {
            floats.copy_from_slice(&from[i][lane..lane + floats.len()])
        });
    }
}

/// (1 + 2a) q_i − a (q_(i−1) + q_(i+1)) = d_i with a = γ κ Δt/h², for each lane.
struct System {
    a: Wide,
    /// sign and add of both ends, or a ring.
    ends: Option<[[Wide; 2]; 2]>,
}

impl System {
    fn new<const N: usize>(number: [f32; N], ends: &Ends<N>) -> Self {
        let wide = |x: [f32; N]| std::array::from_fn(|l| x[l % N]);
        let ends = match ends {
            Ends::Line(ends) => Some(ends.map(|end| [wide(end.sign), wide(end.add)])),
            Ends::Ring => None,
        };
        Self { a: wide(number.map(|x| x.clamp(0.0, LARGEST) * GAMMA)), ends }
    }

    /// Both stages, from `start` to `values`.
    fn solve(&self, n: usize, scratch: &mut Scratch) {
        let Scratch { start, values, pivots, corner } = scratch;
        let (start, values) = (&start[..n], &mut values[..n]);
        values.copy_from_slice(start);
        self.stage(values, pivots, corner);
        combine((1.0 - GAMMA) / GAMMA, start, values);
        self.stage(values, pivots, corner);
    }

    fn stage(&self, values: &mut [Wide], pivots: &mut [Wide], corner: &mut [Wide]) {
        match &self.ends {
            Some([low, high]) => thomas(&self.a, low, high, pivots, values),
            None => ring(&self.a, pivots, corner, values),
        }
    }
}

dispatch! { fn combine(factor: f32, start: &[Wide], values: &mut [Wide]) = combine_kernel; }

/// start + factor (values − start): the right-hand side of the second stage.
#[inline(always)]
fn combine_kernel<const FMA: bool>(factor: f32, start: &[Wide], values: &mut [Wide]) {
    for (start, value) in start.iter().zip(values) {
        for l in 0..WIDTH {
            value[l] = start[l] + factor * (value[l] - start[l]);
        }
    }
}

dispatch! {
    fn thomas(a: &Wide, low: &[Wide; 2], high: &[Wide; 2], pivots: &mut [Wide], values: &mut [Wide]) = thomas_kernel;
}

#[inline(always)]
fn thomas_kernel<const FMA: bool>(
    a: &Wide,
    low: &[Wide; 2],
    high: &[Wide; 2],
    pivots: &mut [Wide],
    values: &mut [Wide],
) {
    let n = values.len();
    let (mut pivot, mut value) = ([0.0; WIDTH], [0.0; WIDTH]);
    for i in 0..n {
        for l in 0..WIDTH {
            let (mut diagonal, mut right) = (1.0 + 2.0 * a[l], values[i][l]);
            if i == 0 {
                diagonal -= a[l] * low[0][l];
                right += a[l] * low[1][l];
            }
            if i + 1 == n {
                diagonal -= a[l] * high[0][l];
                right += a[l] * high[1][l];
            }
            pivot[l] = 1.0 / (diagonal - a[l] * a[l] * pivot[l]);
            value[l] = (right + a[l] * value[l]) * pivot[l];
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
    let mut ends = [[[0.0; WIDTH]; 2]; 2];
    for l in 0..WIDTH {
        let b = 1.0 + 2.0 * a[l];
        let per_a = if a[l] > 0.0 { 1.0 / a[l] } else { 0.0 };
        ends[0][0][l] = -b * per_a;
        ends[1][0][l] = -a[l] / b;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;

    fn run(n: usize, number: f32, ends: Ends<1>, steps: usize, start: impl Fn(usize) -> f32) -> Vec<f32> {
        let layout = Layout::new(Dims::new([3, n, 2]).unwrap());
        let mut field = vec![[0.0f32; 1]; layout.size()];
        for k in 0..2 {
            for j in 0..n {
                for i in 0..3 {
                    field[layout.at(i, j as isize, k)] = [start(j)];
                }
            }
        }
        let scratch = PerThread::new(1, || Scratch::new(n));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| {
            for _ in 0..steps {
                along(layout, &mut field, 1, [[0, 3], [0, n as isize], [0, 2]], [number], &ends, &scratch);
            }
        });
        (0..n).map(|j| field[layout.at(1, j as isize, 1)][0]).collect()
    }

    fn end(sign: f32, add: f32) -> End<1> {
        End { sign: [sign], add: [add] }
    }

    #[test]
    fn modes_decay_at_their_rate_to_second_order() {
        use std::f32::consts::PI;
        let n = 32;
        type Case<'a> = (Ends<1>, &'a dyn Fn(usize) -> f32, f32);
        let cases: [Case; 3] = [
            (Ends::Line([end(1.0, 0.0); 2]), &|j| (PI * (j as f32 + 0.5) / 32.0).cos(), PI / 32.0),
            (Ends::Line([end(-1.0, 0.0); 2]), &|j| (PI * (j as f32 + 0.5) / 32.0).sin(), PI / 32.0),
            (Ends::Ring, &|j| (2.0 * PI * j as f32 / 32.0).sin(), 2.0 * PI / 32.0),
        ];
        for (case, (ends, mode, theta)) in cases.into_iter().enumerate() {
            let lambda = 2.0 - 2.0 * theta.cos();
            let error = |steps: usize| {
                let total = 60.0;
                let got = run(n, total / steps as f32, ends, steps, mode);
                let want = (-lambda * total).exp();
                (0..n).map(|j| (got[j] - want * mode(j)).abs()).fold(0.0, f32::max)
            };
            let (coarse, fine) = (error(4), error(8));
            assert!(coarse < 0.02 && coarse / fine > 3.0, "case {case}: {coarse} then {fine}");
        }
    }

    #[test]
    fn any_number_is_stable_and_reaches_the_steady_state() {
        let between =
            run(20, 1e6, Ends::Line([end(-1.0, 0.0), end(-1.0, 2.0)]), 3, |j| (j % 2) as f32 * 50.0);
        for (j, value) in between.iter().enumerate() {
            let want = (j as f32 + 0.5) / 20.0;
            assert!((value - want).abs() < 2e-3, "{j}: {value} for {want}");
        }
        let insulated = run(20, 1e5, Ends::Line([end(1.0, 0.0); 2]), 3, |j| j as f32);
        assert!(insulated.iter().all(|x| (x - 9.5).abs() < 0.05), "{insulated:?}");
        let ring = run(7, 1e4, Ends::Ring, 3, |j| j as f32);
        assert!(ring.iter().all(|x| (x - 3.0).abs() < 0.02), "{ring:?}");
    }
}
