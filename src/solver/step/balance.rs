//! Sums of the scalars after a step in which solids have moved. Back-traces around them, and cells that they cover, lose some or gain some.

use rayon::prelude::*;

use crate::grid::{GHOST, Layout};
use crate::solver::advect;
use crate::solver::config::SCALAR_LIMIT;
use crate::solver::solids::Scene;
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes;

/// Distances from the ball around a solid between which the share of smoke that is scaled falls from 1 to 0 \[cells\].
const REACH: [f32; 2] = [2.0, 8.0];
/// Smoke denser than this share of the densest around a solid is not scaled: uniform smoke stays uniform.
const DENSE: f32 = 0.98;
/// The most by which smoke around a solid is scaled in one step.
const MOST_AROUND: f64 = 0.9;

/// Restores the sums `lost` around each solid, solid by solid, by scaling the smoke there. No value exceeds the greatest there.
pub(super) fn restore_around(
    ranks: &Ranks,
    scene: &Scene,
    lost: &[[f64; 4]],
    scalars: &mut [[f32; 4]],
    partials: &mut [[f64; 4]],
) {
    let layout = scene.frame.layout;
    for (solid, lost) in lost.iter().enumerate().filter(|(_, lost)| lost.iter().any(|&x| x != 0.0)) {
        let around = Around::new(scene, solid);
        row_passes::reduce(layout, partials, |most, j, k| {
            around.each([j, k], |i, _| {
                let cell = scalars[layout.start(j, k) + i];
                (0..4).for_each(|c| most[c] = most[c].max(f64::from(cell[c].abs())));
            });
        });
        ranks.gather(partials, 1);
        let most = partials.iter().fold([0.0_f64; 4], |a, b| [0, 1, 2, 3].map(|c| a[c].max(b[c])));
        let per_most = most.map(|most| if most > 0.0 { (1.0 / most) as f32 } else { 0.0 });
        let capacity = |x: f32, c: usize| x.abs() * (DENSE - x.abs() * per_most[c]).max(0.0);
        row_passes::reduce(layout, partials, |sum, j, k| {
            around.each([j, k], |i, share| {
                let cell = scalars[layout.start(j, k) + i];
                (0..4).for_each(|c| sum[c] += f64::from(share * capacity(cell[c], c)));
            });
        });
        ranks.gather(partials, 1);
        let all = partials.iter().fold([0.0_f64; 4], |a, b| [0, 1, 2, 3].map(|c| a[c] + b[c]));
        let by = [0, 1, 2, 3].map(|c| match all[c] > 0.0 {
            true => (lost[c] / all[c]).clamp(-MOST_AROUND, MOST_AROUND) as f32,
            false => 0.0,
        });
        let inside = [layout.dims.ny as isize, layout.dims.nz as isize].map(|n| [0, n]);
        row_passes::rows(layout, scalars, inside, |j, k, row| {
            around.each([j as usize, k as usize], |i, share| {
                let cell = &mut row[i + GHOST];
                (0..4).for_each(|c| cell[c] += by[c] * share * capacity(cell[c], c));
            });
        });
    }
}

/// The cells around a solid.
struct Around {
    layout: Layout,
    /// Its position, in indices of cells.
    middle: [f32; 3],
    /// Radius of the ball around it \[cells\].
    radius: f32,
    periodic: [bool; 3],
}

impl Around {
    fn new(scene: &Scene, solid: usize) -> Self {
        let (frame, pose) = (&scene.frame, &scene.poses[solid]);
        let middle = pose.position.map(|x| x / frame.h - 0.5);
        let radius = pose.bounding_radius() / frame.h;
        Self { layout: frame.layout, middle, radius, periodic: frame.periodic }
    }

    /// Calls `f` with the index along x of each of these cells in a row, and the share of it that counts.
    fn each(&self, [j, k]: [usize; 2], mut f: impl FnMut(usize, f32)) {
        let n = self.layout.dims.array();
        let apart = |index: usize, axis: usize| {
            let (apart, length) = (index as f32 - self.middle[axis], n[axis] as f32);
            if self.periodic[axis] { apart - length * (apart / length).round() } else { apart }
        };
        let far = self.radius + REACH[1];
        let aside = apart(j, 1).powi(2) + apart(k, 2).powi(2);
        if aside >= far * far {
            return;
        }
        for i in 0..n[0] {
            let distance = (apart(i, 0).powi(2) + aside).sqrt();
            if distance < far {
                let share = ((far - distance) / (REACH[1] - REACH[0])).min(1.0);
                f(i, share);
            }
        }
    }
}

/// The most by which [`balance`] scales a scalar in one step. A solid that fills the width of the smoke and
/// lies along the grid covers a whole layer of it at once.
const MOST: f64 = 2.0;
/// Limit of one factor for temperatures of both signs: a sum that cancels says little about them.
const MOST_OF_BOTH_SIGNS: f64 = 1.05;
/// Limit of the relative change of temperatures of each sign, where one factor would exceed
/// [`MOST_OF_BOTH_SIGNS`].
const MOST_OF_EACH_SIGN: f64 = 0.5;

/// Scales the scalars to their required sums: the rest that smoke around the solids cannot take is spread over the box (the accounting of
/// West 2007, for the whole box at once).
pub(super) fn balance(
    layout: Layout,
    ranks: &Ranks,
    should: [f64; 4],
    holds: [f64; 4],
    scalars: &mut [[f32; 4]],
    partials: &mut [[f64; 4]],
) {
    let ratio = [0, 1, 2, 3].map(|c| should[c] / holds[c]);
    let within = |ratio: f64, most: f64| (1.0 / most..=most).contains(&ratio);
    let mut factor = ratio.map(|ratio| if ratio > 0.0 { ratio.clamp(1.0 / MOST, MOST) as f32 } else { 1.0 });
    if !within(ratio[3], MOST_OF_BOTH_SIGNS) {
        let [hot, cold] = hot_and_cold(layout, ranks, scalars, partials);
        if hot.min(cold) > 0.01 * hot.max(cold) {
            factor[3] = 1.0;
            // Hot air becomes hotter and cold air warmer, or both colder.
            let by =
                ((should[3] - holds[3]) / (hot + cold)).clamp(-MOST_OF_EACH_SIGN, MOST_OF_EACH_SIGN) as f32;
            scalars[layout.own()].par_iter_mut().for_each(|cell| cell[3] += by * cell[3].abs());
        }
    }
    if factor != [1.0; 4] {
        scalars[layout.own()]
            .par_chunks_mut(layout.plane)
            .for_each(|plane| advect::scale_row(&factor, SCALAR_LIMIT, plane));
    }
}

/// Sums of the temperatures above 0, and of those below it without their sign.
fn hot_and_cold(layout: Layout, ranks: &Ranks, scalars: &[[f32; 4]], partials: &mut [[f64; 4]]) -> [f64; 2] {
    row_passes::reduce(layout, partials, |sum, j, k| {
        for cell in &scalars[layout.start(j, k)..][..layout.dims.nx] {
            sum[0] += f64::from(cell[3].max(0.0));
            sum[1] += f64::from(cell[3].min(0.0).abs());
        }
    });
    ranks.gather(partials, 1);
    [0, 1].map(|sign| partials.iter().map(|plane| plane[sign]).sum())
}
