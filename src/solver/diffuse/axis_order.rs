//! Independence of the order of axes.
//!
//! The axes' operators commute in a box, but not what fixed values at sides add. Lines along axis a take a field q to E_a q + p_a, where
//! p_a comes from the values at the ends. One axis after the other gives E_z E_y p_x + E_z p_y + p_z, which favours the last axis in
//! edges between sides of different values. The mean over the six orders has instead
//!
//! ```text
//!     w(E_y, E_z) p_x + w(E_x, E_z) p_y + w(E_x, E_y) p_z,     w(S, T) = ⅓ (1 + ½ (S + T) + S T).
//! ```
//!
//! Without solids all lines along an axis have the same matrix. So p_a is the sum over both ends of a response of one index along the
//! lines times the end's values across them, and w acts on these values alone: on a plane of numbers for each end. Where the values change
//! during the step, each stage lags behind the end of it by a share of the change: the changes have a response and a plane of their own.

use rayon::prelude::*;

use super::{Diffusion, LineBoundary, Scratch, Varying, WIDTH, Wide, fade};
use crate::grid::{GHOST, Layout, other_axes};

/// Addition of one end of the lines along an axis to a field, beyond that of the order x, y, z.
#[derive(Default)]
pub(super) struct Share {
    /// Whether it adds anything.
    acts: bool,
    /// Result of a line of zeros with 1 added beyond this end, by index along the lines.
    response: Vec<f32>,
    /// Additions across the lines, and the results of lines along one of the two other axes or along both: the lower axis first.
    values: Vec<f32>,
    along: [Vec<f32>; 3],
}

/// Number of floats of [`Share`] for lines of `count` along each axis, with N values each.
pub(super) fn across<const N: usize>(axis: usize, count: [usize; 3]) -> usize {
    other_axes(axis).map(|other| count[other]).iter().product::<usize>() * N
}

impl Diffusion {
    /// Adds what the mean over all orders of the axes has more than the order x, y, z, after [`along`](Self::along) all three axes with
    /// these arguments. For lines that solids do not cut. `varying(axis, end, of, out)` adds to `out` the part that varies of what
    /// lies beyond this end, or its change: N values for each line, those of the lower of the other two axes beside each other.
    pub fn average_orders<const N: usize>(
        &mut self,
        layout: Layout,
        field: &mut [[f32; N]],
        range: [[isize; 2]; 3],
        number: [f32; N],
        ends: &[LineBoundary<N>; 3],
        varying: impl Fn(usize, usize, Varying, &mut [[f32; N]]),
    ) {
        let count = range.map(|[first, end]| (end - first).max(0) as usize);
        if count.contains(&0) {
            return;
        }
        for (axis, ends_of_axis) in ends.iter().enumerate() {
            let LineBoundary::Line(both) = ends_of_axis else {
                self.shares[axis].as_flattened_mut().iter_mut().for_each(|share| share.acts = false);
                continue;
            };
            for (end, beyond) in both.iter().enumerate() {
                let parts = [(Varying::Value, beyond.add), (Varying::Change, [0.0; N])];
                for (part, (of, steady)) in parts.into_iter().enumerate() {
                    let Share { acts, values, .. } = &mut self.shares[axis][end][part];
                    values.resize(across::<N>(axis, count), 0.0);
                    values.as_chunks_mut::<N>().0.fill(steady);
                    varying(axis, end, of, values.as_chunks_mut().0);
                    *acts = values.iter().any(|value| *value != 0.0);
                    if *acts {
                        self.average_share::<N>([axis, end, part], count, number, ends);
                    }
                }
            }
        }
        if self.shares.as_flattened().as_flattened().iter().any(|share| share.acts) {
            add_shares::<N>(&self.shares, layout, field, range);
        }
    }

    /// Turns the values of a share from what the end adds into what the mean over the orders has more of it.
    fn average_share<const N: usize>(
        &mut self,
        [axis, end, part]: [usize; 3],
        count: [usize; 3],
        number: [f32; N],
        ends: &[LineBoundary<N>; 3],
    ) {
        let Self { threads, system, shares, lags, fades, gains, .. } = self;
        let Share { acts, response, values, along } = &mut shares[axis][end][part];
        let scratch = &mut *threads.mine();
        let [low, high] = other_axes(axis);
        let shape = [count[low], count[high]];
        for (result, of_both) in along.iter_mut().zip([false, false, true]) {
            result.resize(values.len(), 0.0);
            if !of_both {
                result.copy_from_slice(values);
            }
        }
        let [by_low, by_high, by_both] = along;
        let mut solve = |plane: &mut [f32], direction: usize| {
            let across = [low, high][1 - direction];
            system.set(number, &ends[[low, high][direction]], shape[direction]);
            solve_lines::<N>(
                plane,
                shape,
                direction,
                |lines, change| system.solve((&[[[0.0; WIDTH]; 2]; 2], fades), lines, change),
                |line| gains.weight(across, line, count[across]),
                scratch,
            )
        };
        let through_low = solve(by_low, 0);
        let through_high = solve(by_high, 1);
        by_both.copy_from_slice(by_low);
        let high_after_low = solve(by_both, 1);
        // The order x, y, z gives E_y E_z to what x adds, E_z to what y adds.
        for (at, value) in values.iter_mut().enumerate() {
            let [one, by_low, by_high, by_both] = [*value, by_low[at], by_high[at], by_both[at]];
            let given = [by_both, by_high, one][axis];
            *value = ((one - given) + 0.5 * ((by_low - given) + (by_high - given)) + (by_both - given)) / 3.0;
        }
        *acts = values.iter().any(|value| *value != 0.0);
        if *acts {
            let n = count[axis];
            let (line, change) = (&mut scratch.values[..n], &mut scratch.change[..n]);
            system.set(number, &ends[axis], n);
            line.fill([0.0; WIDTH]);
            let mut adds = [[[0.0; WIDTH]; 2]; 2];
            for (adds, lag) in adds.iter_mut().zip(lags) {
                adds[end] = [[1.0, -*lag][part]; WIDTH];
            }
            fade(fades, &mut adds);
            system.solve((&adds, fades), line, change);
            response.resize(n * N, 0.0);
            response.chunks_exact_mut(N).zip(line).for_each(|(out, line)| out.copy_from_slice(&line[..N]));
            // The other two axes' ends give what the planes gain along these axes, along the whole response.
            let [less_low, less_high, less_after] = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0; 3]][axis];
            for c in 0..N {
                let points = response.chunks_exact(N).enumerate();
                let whole: f64 = points.map(|(i, of)| gains.weight(axis, i, n) * f64::from(of[c])).sum();
                for end in 0..2 {
                    let through =
                        [through_low, through_high, high_after_low].map(|sums| whole * sums[end][c]);
                    gains.total[low][end][c] += (0.5 - less_low) * through[0];
                    gains.total[high][end][c] +=
                        (1.0 / 6.0 - less_high) * through[1] + (1.0 / 3.0 - less_after) * through[2];
                }
            }
        }
    }
}

/// Solves the lines along one direction of a plane of `shape`, N values each: `solve(lines, change)` for [`WIDTH`] floats at once
/// returns what they gain through their ends. Returns the sums of that, with the `weight` of each line.
fn solve_lines<const N: usize>(
    plane: &mut [f32],
    shape: [usize; 2],
    direction: usize,
    mut solve: impl FnMut(&mut [Wide], &mut [Wide]) -> [Wide; 2],
    weight: impl Fn(usize) -> f64,
    scratch: &mut Scratch,
) -> [[f64; N]; 2] {
    let mut sums = [[0.0; N]; 2];
    let (n, lines) = (shape[direction], shape[1 - direction]);
    // Floats from point to point of a line, and from line to line.
    let [step, next] = [[1, shape[0]], [shape[0], 1]][direction].map(|points| points * N);
    let (values, change) = (&mut scratch.values[..n], &mut scratch.change[..n]);
    for first in (0..lines).step_by(WIDTH / N) {
        let some = (lines - first).min(WIDTH / N);
        let place = |i: usize, line: usize| (first + line) * next + i * step;
        for (i, wide) in values.iter_mut().enumerate() {
            for line in 0..some {
                wide[line * N..][..N].copy_from_slice(&plane[place(i, line)..][..N]);
            }
        }
        let gains = solve(values, change);
        for (sums, gains) in sums.iter_mut().zip(&gains) {
            for line in 0..some {
                (0..N).for_each(|c| sums[c] += weight(first + line) * f64::from(gains[line * N + c]));
            }
        }
        for (i, wide) in values.iter().enumerate() {
            for line in 0..some {
                plane[place(i, line)..][..N].copy_from_slice(&wide[line * N..][..N]);
            }
        }
    }
    sums
}

/// Adds all shares that act: the response along the lines times the values across them.
fn add_shares<const N: usize>(
    shares: &[[[Share; 2]; 2]; 3],
    layout: Layout,
    field: &mut [[f32; N]],
    range: [[isize; 2]; 3],
) {
    let count = range.map(|[first, end]| (end - first) as usize);
    let [low, high] = layout.within(range[2]);
    let start = (range[0][0] + GHOST as isize) as usize;
    let planes = field[layout.span([low, high])].par_chunks_mut(layout.plane);
    planes.zip(low..high).for_each(|(plane, k)| {
        let k = (k - range[2][0]) as usize;
        for j in 0..count[1] {
            let at = (j as isize + range[1][0] + GHOST as isize) as usize * layout.row + start;
            let row = plane[at..][..count[0]].as_flattened_mut();
            let all = shares.as_flattened().as_flattened().iter().enumerate();
            for (axis, share) in all.map(|(n, share)| (n / 4, share)) {
                if !share.acts {
                    continue;
                }
                let point = |from: &[f32], at: usize| -> [f32; N] {
                    *from[at * N..].first_chunk().expect("N values of each line")
                };
                match axis {
                    0 => {
                        let value = point(&share.values, j + count[1] * k);
                        add_products(row, &share.response, &value);
                    }
                    1 => add_products(row, &share.values[k * count[0] * N..], &point(&share.response, j)),
                    _ => add_products(row, &share.values[j * count[0] * N..], &point(&share.response, k)),
                }
            }
        }
    });
}

/// Adds products of N interleaved `varying` values and as many that are the same along the row.
fn add_products<const N: usize>(row: &mut [f32], varying: &[f32], same: &[f32; N]) {
    if same.iter().any(|x| *x != 0.0) {
        for (out, varying) in row.as_chunks_mut::<N>().0.iter_mut().zip(varying.as_chunks::<N>().0) {
            (0..N).for_each(|c| out[c] += varying[c] * same[c]);
        }
    }
}
