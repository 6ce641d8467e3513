//! Volumes of the cells in the box around strained cells and in its ramp.

use fearless_simd::prelude::*;
use rayon::prelude::*;

use super::Flow;
use super::parabola::ACROSS;
use super::strain::{EMPTIEST, LEAST_BEFORE, faces};
use super::strained_box::StrainedBox;
use crate::grid::Layout;
use crate::simd::vectors::{Eight, f32x8};
use crate::simd::{Simd, each_level, greatest};
use crate::solver::storage::active_bricks::Bricks;

/// Computes the volumes of the cells in the box around strained cells and in its ramp, before each sweep of each round in either order of
/// axes, over the bricks that scalars may reach. Returns true if no cell holds less than 1 − [`EMPTIEST`], and before the first sweep of a
/// round less than [`LEAST_BEFORE`]. `losses` is scratch for each plane.
pub fn keeps_its_air(around: &StrainedBox, losses: &mut [f32], flow: &Flow, bricks: &Bricks) -> bool {
    let [low, high] = flow.layout.cell_planes();
    let Layout { row, plane, .. } = flow.layout;
    let [u, v, w] = flow.velocity;
    let [x, y, z] = around.support;
    losses.fill(0.0);
    losses[low..high].par_iter_mut().enumerate().for_each(|(k, most)| {
        let k = low + k;
        for j in if (z[0]..z[1]).contains(&k) { y[0]..y[1] } else { 0..0 } {
            if *most > 1.0 {
                return;
            }
            bricks.runs(j, k, |run, reached| {
                let [first, end] = [run.start.max(x[0]), run.end.min(x[1])];
                if !reached || first >= end {
                    return;
                }
                let (at, n) = (flow.layout.start(j, k) + first, end - first);
                let pairs = [faces(u, at, n, 1), faces(v, at, n, row), faces(w, at, n, plane)];
                let along =
                    [&around.faces[0][first..], &around.faces[0][first + 1..], &around.cells[0][first..]];
                let [_, cy, cz] = around.cells.each_ref();
                let [_, fy, fz] = around.faces.each_ref();
                let weights = [
                    [cy[j] * cz[k]; 2],
                    [fy[j] * cz[k], fy[j + 1] * cz[k]],
                    [cy[j] * fz[k], cy[j] * fz[k + 1]],
                ];
                let along = along.map(|row| &row[..n]);
                raise_loss(pairs, along, weights, [flow.steps, around.rounds as f32], most);
            });
        }
    });
    flow.walls.ranks().gather(losses, 1);
    losses.iter().all(|&lost| lost <= 1.0)
}

each_level! {
    /// Raises `most` to the greatest part of its limit that a row of cells loses of its air. `along` are the factors of Φ along x: below
    /// the cells, above and in them; `weights` those along y and z, for the lower and the upper face across each axis.
    fn raise_loss(
        faces: [[&[f32]; 2]; 3],
        along: [&[f32]; 3],
        weights: [[f32; 2]; 3],
        steps_and_rounds: [f32; 2],
        most: &mut f32,
    ) = raise_loss_kernel;
}

#[inline(always)]
fn raise_loss_kernel<S: Simd>(
    s: S,
    [u, v, w]: [[&[f32]; 2]; 3],
    [below, above, cells]: [&[f32]; 3],
    weights: [[f32; 2]; 3],
    [steps, rounds]: [f32; 2],
    most: &mut f32,
) {
    let n = cells.len();
    let rows = [u[0], u[1], v[0], v[1], w[0], w[1], below, above, cells].map(|row| &row[..n]);
    let mut rest = [[0.0; ACROSS]; 9];
    let (one, before) = (s.splat_f32x8(1.0 / rounds), s.splat_f32x8((rounds - 1.0) / rounds));
    let (steps, zero) = (s.splat_f32x8(steps), s.splat_f32x8(0.0));
    let [[x_weight, _], y_weights, z_weights] = weights;
    let x_weight = s.splat_f32x8(x_weight);
    let ([y0, y1], [z0, z1]) = (y_weights, z_weights);
    let (y0, y1) = (s.splat_f32x8(y0), s.splat_f32x8(y1));
    let (z0, z1) = (s.splat_f32x8(z0), s.splat_f32x8(z1));
    let mut found = zero;
    for from in (0..n).step_by(ACROSS) {
        let mut eight = [zero; 9];
        for ((eight, rest), row) in eight.iter_mut().zip(&mut rest).zip(rows) {
            *eight = match row[from..].first_chunk() {
                Some(row) => f32x8::load_array_ref(s, row),
                None => {
                    rest[..n - from].copy_from_slice(&row[from..]);
                    f32x8::load_array_ref(s, rest)
                }
            };
        }
        let [u0, u1, v0, v1, w0, w1, f0, f1, cell] = eight;
        // Volumes that leave along each axis, and the parts of them that Φ weighs.
        let (x, y, z) = (steps * (u1 - u0), steps * (v1 - v0), steps * (w1 - w0));
        let a = steps * x_weight * (f1 * u1 - f0 * u0);
        let b = steps * cell * (y1 * v1 - y0 * v0);
        let c = steps * cell * (z1 * w1 - z0 * w0);
        let begun = before * (a + b + c);
        let most_begun = (begun - one * (a + b + c)).max(zero);
        let local = most_begun + one * a.max(a + b).max(c.max(c + b));
        let (x, y, z) = (x - before * a, y - before * b, z - before * c);
        let last = begun + x.max(x + y).max(z.max(z + y));
        let begun = begun.abs() * s.splat_f32x8(EMPTIEST / (1.0 - LEAST_BEFORE));
        found = local.max(last).max(begun).max(found);
    }
    let mut all = Eight([0.0; ACROSS]);
    all.store(found * s.splat_f32x8(1.0 / EMPTIEST));
    *most = all.0.into_iter().fold(*most, greatest);
}
