//! Smoke that fades at the sides of the box ([`Look::fade`](crate::look::Look)), as its light sees it.
//!
//! The smoke of a snapshot is gathered once, for any look. What fades is put aside, so that another look finds it.

use rayon::prelude::*;

use super::LightVolume;
use crate::grid::Dims;
use crate::render::medium::Medium;

/// Smoke at points and in cubes before it faded; empty where none does.
#[derive(Debug, Default)]
pub(super) struct Unfaded {
    density: Vec<f32>,
    smoke: Vec<[f32; 3]>,
}

impl Unfaded {
    /// Forgets the smoke of an earlier snapshot.
    pub fn clear(&mut self) {
        self.density.clear();
        self.smoke.clear();
    }
}

impl LightVolume {
    /// Fades the smoke gathered last, at the sides that it reaches.
    pub(super) fn fade(&mut self, medium: &Medium) {
        let Unfaded { density, smoke } = &mut self.unfaded;
        if !density.is_empty() {
            self.density.clone_from(density);
            self.mixture.smoke.clone_from(smoke);
        }
        let [lo, hi] = self.smoke;
        let shown = |x: f32, a: usize| medium.shown_along(a, x.clamp(0.0, self.extent[a]), self.extent[a]);
        if (0..3).all(|a| hi[a] <= lo[a] || shown(lo[a], a).min(shown(hi[a], a)) == 1.0) {
            return;
        }
        if density.is_empty() {
            rayon::join(|| density.clone_from(&self.density), || smoke.clone_from(&self.mixture.smoke));
        }
        let (points, cubes) = (self.points, self.mixture.dims);
        // Fades narrower than the way between places have none in them.
        let along = |dims: Dims, before: f32, step: f32| -> [Vec<f32>; 3] {
            let of = |a: usize, n: usize| shown((n as f32 + before) * step, a);
            let skip = medium.fade < 0.5 * step;
            std::array::from_fn(|a| (0..dims.array()[a]).map(|n| if skip { 1.0 } else { of(a, n) }).collect())
        };
        let [x, y, z] = along(points, -0.5, self.spacing);
        self.density.par_chunks_mut(points.nx).enumerate().with_min_len(64).for_each(|(row, density)| {
            let of_row = y[row % points.ny] * z[row / points.ny];
            fade_row(density, &x, of_row, |density, x| *density *= of_row * x);
        });
        let [x, y, z] = along(cubes, 0.5, self.mixture.h);
        self.mixture.smoke.par_chunks_mut(cubes.nx).enumerate().with_min_len(64).for_each(|(row, smoke)| {
            let of_row = y[row % cubes.ny] * z[row / cubes.ny];
            fade_row(smoke, &x, of_row, |smoke, x| *smoke = smoke.map(|color| color * of_row * x));
        });
    }
}

/// Calls `fade` with the values of a row and the shares `x` along it, but where these and `of_row` are 1.
fn fade_row<T>(values: &mut [T], x: &[f32], of_row: f32, fade: impl Fn(&mut T, f32)) {
    let (mut first, mut last) = (values.len(), values.len());
    if of_row == 1.0 {
        let whole = |x: &f32| *x == 1.0;
        first = x.iter().position(whole).unwrap_or(x.len());
        last = x.iter().rposition(whole).map_or(x.len(), |n| n + 1);
    }
    for n in (0..first).chain(last..values.len()) {
        fade(&mut values[n], x[n]);
    }
}
