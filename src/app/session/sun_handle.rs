//! The compass of the sun: a small sphere in the corner of the view, over which the sun is dragged.

use nalgebra::{Vector2, Vector3};

use super::Session;
use crate::app::objects::Selected;

/// Radius of the compass \[pt\].
const RADIUS: f32 = 26.0;

/// Middle of the compass, from the lower left corner of the view \[pt\].
const MIDDLE: Vector2<f32> = Vector2::new(112.0, 46.0);

/// Smallest view with a compass \[pt\].
const SMALLEST: Vector2<f32> = Vector2::new(240.0, 160.0);

/// The sun during a drag.
pub(super) struct Turn {
    /// Whether it was grabbed on the near side of the compass.
    near: bool,
    /// Direction of the sun before the drag.
    before: [f32; 3],
}

impl Session {
    /// Returns the middle and radius of the compass, from the top left of the view \[pt\]; none in a small
    /// view.
    pub fn compass(&self) -> Option<(Vector2<f32>, f32)> {
        let fits = self.view.x >= SMALLEST.x && self.view.y >= SMALLEST.y;
        let middle = Vector2::new(MIDDLE.x, self.view.y - MIDDLE.y);
        (fits && self.shows_handles()).then_some((middle, RADIUS))
    }

    /// Returns the position of the sun on the compass \[radii, right and down\], and whether it stands on the
    /// side of the viewer.
    pub fn sun_on_compass(&self) -> (Vector2<f32>, bool) {
        let axes = self.orbit.axes();
        let sun = Vector3::from(self.model.settings.look.sun_direction);
        let sun = sun.try_normalize(1e-6).unwrap_or_else(Vector3::y);
        (Vector2::new(sun.dot(&axes.right), -sun.dot(&axes.up)), sun.dot(&axes.forward) <= 0.0)
    }

    /// Returns whether a point of the view is on the compass.
    pub(super) fn is_on_compass(&self, at: Vector2<f32>) -> bool {
        let here = self.pointer.side == self.side();
        here && self.compass().is_some_and(|(middle, radius)| (at - middle).norm() < radius + 4.0)
    }

    /// Grabs the sun if a point of the view is on the compass.
    pub(super) fn grab_sun(&mut self, at: Vector2<f32>) -> bool {
        if self.is_loading() || !self.is_on_compass(at) {
            return false;
        }
        self.model.selected = Some(Selected::Sun);
        let before = self.model.settings.look.sun_direction;
        self.turning = Some(Turn { near: self.sun_on_compass().1, before });
        self.drag_sun(at);
        true
    }

    /// Cancels the drag of the sun: its direction returns to that before it.
    pub(super) fn put_sun_back(&mut self) {
        if let Some(Turn { before, .. }) = self.turning.take() {
            self.model.settings.look.sun_direction = before;
        }
    }

    /// Moves the grabbed sun to a point of the view. Beyond the rim it moves on the far side of the sphere.
    pub(super) fn drag_sun(&mut self, at: Vector2<f32>) {
        let (Some(Turn { near, .. }), Some((middle, radius))) = (&self.turning, self.compass()) else {
            return;
        };
        let mut p = (at - middle) / radius;
        let far = p.norm();
        let near = *near == (far <= 1.0);
        if far > 1.0 {
            p *= (2.0 - far).max(0.0) / far;
        }
        let ahead = (1.0 - p.norm_squared()).max(0.0).sqrt() * if near { -1.0 } else { 1.0 };
        let axes = self.orbit.axes();
        let sun = axes.right * p.x - axes.up * p.y + axes.forward * ahead;
        self.model.settings.look.sun_direction = sun.map(|x| (x * 1e3).round() * 1e-3).into();
    }
}
