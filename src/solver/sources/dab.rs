//! Dabs of the cursor: balls that fade towards their rim, added at once.

use crate::grid::{Faces, GHOST, Layout};
use crate::solver::Dab;
use crate::solver::storage::row_passes;

/// A ball in index coordinates of cell centres.
struct Ball {
    center: [f32; 3],
    radius: f32,
}

impl Ball {
    fn new(center: [f32; 3], radius: f32, h: f32) -> Self {
        Self { center: center.map(|x| x / h - 0.5), radius: radius / h }
    }

    /// Indices along an axis that the ball may touch, within 0..n.
    fn range(&self, axis: usize, n: usize) -> [isize; 2] {
        let clamp = |x: f32| x.max(0.0).min(n as f32) as isize;
        let radius = self.radius + 1.0;
        [clamp((self.center[axis] - radius).floor()), clamp((self.center[axis] + radius).ceil() + 1.0)]
    }

    /// Distance of an index position from the centre \[cells\].
    fn distance(&self, at: [f32; 3]) -> f32 {
        let d = [0, 1, 2].map(|a| at[a] - self.center[a]);
        (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
    }

    /// 1 at the centre, falling smoothly to 0 at the rim. A ball between eight cells reaches them all: their
    /// centres are 0.87 cells away.
    fn dome(&self, at: [f32; 3]) -> f32 {
        let r = self.distance(at) / self.radius.max(1.0);
        (1.0 - r * r).max(0.0).powi(2)
    }
}

/// Removes `erase` times the dome from each cell's values, then adds `amount` times it.
fn add_scalars(
    layout: Layout,
    ball: &Ball,
    (erase, amount): (f32, [f32; 4]),
    limit: f32,
    scalars: &mut [[f32; 4]],
) {
    let [xs, ys, zs] = [0, 1, 2].map(|axis| ball.range(axis, layout.dims.array()[axis]));
    row_passes::rows(layout, scalars, [ys, zs], |j, k, row| {
        for i in xs[0]..xs[1] {
            let w = ball.dome([i as f32, j as f32, k as f32]);
            let cell = &mut row[i as usize + GHOST];
            for c in 0..4 {
                let rest = cell[c] * (1.0 - w * erase);
                // As a negative source: no density falls below 0, and heat does.
                let least = if c < 3 { rest.min(0.0) } else { -limit };
                cell[c] = (rest + w * amount[c]).clamp(least.max(-limit), limit);
            }
        }
    });
}

/// Changes each face near the ball: `change(component, weight, value)`.
fn change_faces(
    layout: Layout,
    ball: &Ball,
    change: impl Fn(usize, f32, f32) -> f32 + Sync,
    velocity: &mut Faces,
) {
    let n = layout.dims.array();
    for (component, field) in velocity.iter_mut().enumerate() {
        let range = |axis: usize| ball.range(axis, n[axis] + usize::from(axis == component));
        let [xs, ys, zs] = [range(0), range(1), range(2)];
        let half = |axis: usize| if axis == component { 0.5 } else { 0.0 };
        let offset = [half(0), half(1), half(2)];
        row_passes::rows(layout, field, [ys, zs], |j, k, row| {
            for i in xs[0]..xs[1] {
                let at = [i as f32 - offset[0], j as f32 - offset[1], k as f32 - offset[2]];
                let value = &mut row[i as usize + GHOST];
                *value = change(component, ball.dome(at), *value);
            }
        });
    }
}

/// Adds a dab of the cursor to the scalars and the velocity. Their grids are layouts with edges of cells \[m\].
pub fn dab(
    [smoke, air]: [(Layout, f32); 2],
    dab: &Dab,
    limits: [f32; 2],
    scalars: &mut [[f32; 4]],
    velocity: &mut Faces,
) {
    let ball = |h: f32| Ball::new(dab.center, dab.radius, h);
    add_scalars(smoke.0, &ball(smoke.1), (dab.erase, dab.add), limits[0], scalars);
    if dab.push != [0.0; 3] {
        let push = |c: usize, w: f32, old: f32| (old + w * dab.push[c]).clamp(-limits[1], limits[1]);
        change_faces(air.0, &ball(air.1), push, velocity);
    }
}
