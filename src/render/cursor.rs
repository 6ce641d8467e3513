//! The 3D cursor over a picture: a transparent ball with a bright rim, and a thin ring on the floor below it.
//! `shaders/cursor.frag` has the same formulas.

use nalgebra::{Point3, Vector3};

use super::Cursor;
use super::camera::{Axes, Ray, away_from_zero};
use super::lines::smoothstep;
use super::scene::floor_shown;
use super::stage::Stage;

/// Alpha of the ball: everywhere, added at its rim, and added in its highlight.
pub(super) const BALL_ALPHA: [f32; 3] = [0.07, 0.75, 0.35];
/// Exponents that narrow the rim and the highlight.
pub(super) const BALL_POWERS: [i32; 2] = [6, 24];
/// Direction of the normal in the middle of the highlight.
pub(super) const BALL_GLINT: [f32; 3] = [-0.4, 0.8, 0.45];
/// Share of the ball that stays visible deep in smoke.
pub(super) const BALL_LEAST: f32 = 0.25;
/// Width of the ring in units of its distance.
pub(super) const RING_WIDTH: f32 = 0.003;
/// Width of the ring with parallel rays, in units of half the height of the view.
pub(super) const RING_PARALLEL: f32 = 0.01;
/// Alpha of the ring.
pub(super) const RING_ALPHA: f32 = 0.6;
/// Factor on the length of a ray up to a surface that keeps the ring in front of the floor despite rounding.
pub(super) const RING_BEHIND: f32 = 1.0 + 1e-4;

/// A part of the cursor over a pixel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tint {
    color: [f32; 3],
    alpha: f32,
    /// Share of the part that is visible through the thickest smoke.
    least: f32,
    /// Distance from the eye \[m\].
    pub distance: f32,
}

impl Tint {
    /// Returns colour and alpha behind smoke with the transmittance `clear`.
    pub fn through(&self, clear: f32) -> [f32; 4] {
        let [r, g, b] = self.color;
        [r, g, b, self.alpha * (self.least + (1.0 - self.least) * clear)]
    }
}

/// Returns the width of a pixel at the distance of the ball \[radii\].
pub(super) fn softness(cursor: &Cursor, axes: &Axes, size: [u32; 2]) -> f32 {
    2.0 * axes.half_height_at(cursor.center.into()) / (size[1] as f32 * cursor.radius)
}

/// Returns the ball along a ray up to `t_max`. Its edge is `soft` radii wide.
pub(super) fn ball(cursor: &Cursor, ray: &Ray, soft: f32, t_max: f32) -> Option<Tint> {
    let to = Point3::from(cursor.center) - ray.origin;
    let along = to.dot(&ray.direction);
    let miss = (to - ray.direction * along).norm() / cursor.radius;
    let distance = along - cursor.radius * (1.0 - miss * miss).max(0.0).sqrt();
    if miss > 1.0 + soft || along <= 0.0 || distance < 0.0 || distance > t_max {
        return None;
    }
    let inside = 1.0 - smoothstep(1.0 - soft, 1.0 + soft, miss);
    let rim = miss.min(1.0).powi(BALL_POWERS[0]);
    let normal = (ray.direction * distance - to).normalize();
    let glint = Vector3::from(BALL_GLINT).normalize();
    let sheen = normal.dot(&glint).max(0.0).powi(BALL_POWERS[1]);
    let color = cursor.color.map(|x| x + (1.0 - x) * sheen);
    let [all, at_rim, at_sheen] = BALL_ALPHA;
    Some(Tint { color, alpha: (all + at_rim * rim + at_sheen * sheen) * inside, least: BALL_LEAST, distance })
}

/// Returns the ring on the floor along a ray of a view up to `t_max`.
pub(super) fn ring(cursor: &Cursor, axes: &Axes, ray: &Ray, t_max: f32, stage: &Stage) -> Option<Tint> {
    let distance = -ray.origin.y / away_from_zero(ray.direction.y);
    if ray.origin.y <= 0.0 || distance <= 0.0 || distance > t_max * RING_BEHIND {
        return None;
    }
    let p = ray.at(distance);
    let width = if axes.parallel { RING_PARALLEL * axes.up.norm() } else { RING_WIDTH * distance };
    let off = ((p.x - cursor.center[0]).hypot(p.z - cursor.center[2]) - cursor.radius).abs();
    let alpha = RING_ALPHA * (1.0 - smoothstep(width * 0.5, width, off)) * floor_shown([p.x, p.z], stage);
    (alpha > 0.0).then_some(Tint { color: cursor.color, alpha, least: 0.0, distance })
}
