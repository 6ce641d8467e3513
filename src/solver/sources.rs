//! What is put into the box: sources while they work, dabs of the cursor, both as balls.

use super::sweep;
use super::{Dab, Source};
use crate::grid::{Faces, GHOST, Layout};

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
        let reach = self.radius + 1.0;
        [clamp((self.center[axis] - reach).floor()), clamp((self.center[axis] + reach).ceil() + 1.0)]
    }

    /// Distance of an index position from the middle, in cells.
    fn distance(&self, at: [f32; 3]) -> f32 {
        let d = [0, 1, 2].map(|a| at[a] - self.center[a]);
        (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
    }

    /// How much of a cell lies inside: 1 within, 0 outside, a ramp one cell wide at the rim.
    fn coverage(&self, at: [f32; 3]) -> f32 {
        (self.radius - self.distance(at) + 0.5).clamp(0.0, 1.0)
    }

    /// 1 in the middle, falling smoothly to 0 at the rim.
    fn dome(&self, at: [f32; 3]) -> f32 {
        let r = self.distance(at) / self.radius.max(0.5);
        (1.0 - r * r).max(0.0).powi(2)
    }
}

/// Adds `amount` times the weight of each cell.
fn add_scalars(
    layout: Layout,
    ball: &Ball,
    weight: impl Fn(&Ball, [f32; 3]) -> f32 + Sync,
    amount: [f32; 4],
    limit: f32,
    scalars: &mut [[f32; 4]],
) {
    let [xs, ys, zs] = [0, 1, 2].map(|axis| ball.range(axis, layout.dims.array()[axis]));
    sweep::rows(layout, scalars, [ys, zs], |j, k, row| {
        for i in xs[0]..xs[1] {
            let w = weight(ball, [i as f32, j as f32, k as f32]);
            let cell = &mut row[i as usize + GHOST];
            for c in 0..4 {
                cell[c] = (cell[c] + w * amount[c]).clamp(-limit, limit);
            }
        }
    });
}

/// Changes each face near the ball: `change(component, weight, value)`.
fn change_faces(
    layout: Layout,
    ball: &Ball,
    weight: impl Fn(&Ball, [f32; 3]) -> f32 + Sync,
    change: impl Fn(usize, f32, f32) -> f32 + Sync,
    velocity: &mut Faces,
) {
    let n = layout.dims.array();
    for (component, field) in velocity.iter_mut().enumerate() {
        let range = |axis: usize| ball.range(axis, n[axis] + usize::from(axis == component));
        let [xs, ys, zs] = [range(0), range(1), range(2)];
        let half = |axis: usize| if axis == component { 0.5 } else { 0.0 };
        let offset = [half(0), half(1), half(2)];
        sweep::rows(layout, field, [ys, zs], |j, k, row| {
            for i in xs[0]..xs[1] {
                let at = [i as f32 - offset[0], j as f32 - offset[1], k as f32 - offset[2]];
                let value = &mut row[i as usize + GHOST];
                *value = change(component, weight(ball, at), *value);
            }
        });
    }
}

/// What a source gives off in the time it works between `time` and `time + dt`.
pub fn emit(
    layout: Layout,
    h: f32,
    source: &Source,
    time: f64,
    dt: f32,
    limit: f32,
    scalars: &mut [[f32; 4]],
) {
    let from = f64::from(source.start).max(time);
    let to = f64::from(source.stop).min(time + f64::from(dt));
    let works = (to - from).max(0.0) as f32;
    if works > 0.0 {
        let ball = Ball::new(source.center, source.radius, h);
        add_scalars(layout, &ball, Ball::coverage, source.rate.map(|r| r * works), limit, scalars);
    }
}

/// Gives the air inside a working source its velocity.
pub fn drive(layout: Layout, h: f32, source: &Source, time: f64, velocity: &mut Faces) {
    let works = (f64::from(source.start)..f64::from(source.stop)).contains(&time);
    if let (Some(target), true) = (source.velocity, works) {
        let ball = Ball::new(source.center, source.radius, h);
        change_faces(layout, &ball, Ball::coverage, |c, w, old| old + w * (target[c] - old), velocity);
    }
}

/// Adds a dab of the cursor to the scalars and the velocity.
pub fn dab(
    layout: Layout,
    h: f32,
    dab: &Dab,
    limits: [f32; 2],
    scalars: &mut [[f32; 4]],
    velocity: &mut Faces,
) {
    let ball = Ball::new(dab.center, dab.radius, h);
    add_scalars(layout, &ball, Ball::dome, dab.add, limits[0], scalars);
    if dab.push != [0.0; 3] {
        let push = |c: usize, w: f32, old: f32| (old + w * dab.push[c]).clamp(-limits[1], limits[1]);
        change_faces(layout, &ball, Ball::dome, push, velocity);
    }
}
