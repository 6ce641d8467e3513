//! Camera motion: a turntable about the target, with y always up in the picture. Plain maths, no window.
//! Right-handed, metres; yaw about +y, pitch above the horizon.

use nalgebra::{Vector2, Vector3};

use crate::look::{Camera, CameraProjection, Lens, corners, tight_distance};
use crate::render::camera;

/// Greatest pitch, so that "up" stays defined \[rad\].
const STEEPEST: f32 = 89.9 * std::f32::consts::PI / 180.0;

/// Rotation per point of a drag \[rad\]: half a turn in about 400 points.
const TURN_PER_POINT: f32 = 0.008;

/// Factor on the distance for one notch of the wheel.
const ZOOM_PER_NOTCH: f32 = 0.88;

/// A camera as an artist uses it: target, distance and angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orbit {
    /// The point that stays in the middle \[m\].
    pub target: Vector3<f32>,
    /// Distance of the eye from it \[m\].
    pub distance: f32,
    /// Angle about +y, 0 looking along −z \[rad\].
    pub yaw: f32,
    /// Angle of the eye above the horizon \[rad\].
    pub pitch: f32,
    /// Vertical field of view \[degrees\].
    pub fov: f32,
    /// Whether lines of sight are parallel; the picture is then as high as at the target.
    pub parallel: bool,
    /// Blur by the lens and the shutter.
    pub lens: Lens,
}

/// The axes of the picture in the world, each of length one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axes {
    /// To the right in the picture.
    pub right: Vector3<f32>,
    /// Up in the picture.
    pub up: Vector3<f32>,
    /// Into the picture.
    pub forward: Vector3<f32>,
}

/// The fixed views, along an axis of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standpoint {
    /// From +z.
    Front,
    /// From +x.
    Right,
    /// From +y.
    Top,
}

/// Field of view, projection and lens of a camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optics {
    /// Vertical field of view \[degrees\].
    pub fov: f32,
    /// Whether its rays are parallel.
    pub parallel: bool,
    /// Its lens and shutter.
    pub lens: Lens,
}

impl Optics {
    /// Returns those of a camera.
    pub fn of(camera: &Camera) -> Self {
        Orbit::of(camera).optics()
    }

    /// Takes over the values that differ between two others from the second.
    pub fn take_changes(&mut self, from: Self, to: Self) {
        let take = |own: &mut f32, from: f32, to: f32| *own = if from == to { *own } else { to };
        take(&mut self.fov, from.fov, to.fov);
        take(&mut self.lens.aperture, from.lens.aperture, to.lens.aperture);
        take(&mut self.lens.focus, from.lens.focus, to.lens.focus);
        take(&mut self.lens.shutter, from.lens.shutter, to.lens.shutter);
        if from.parallel != to.parallel {
            self.parallel = to.parallel;
        }
    }
}

impl Orbit {
    /// Returns field of view, projection and lens.
    pub fn optics(&self) -> Optics {
        let Self { fov, parallel, lens, .. } = *self;
        Optics { fov, parallel, lens }
    }

    /// Sets field of view, projection and lens.
    pub fn set_optics(&mut self, Optics { fov, parallel, lens }: Optics) {
        (self.fov, self.parallel, self.lens) = (fov, parallel, lens);
    }

    /// Returns the orbit of `camera`, without its roll.
    pub fn of(camera: &Camera) -> Self {
        let target = Vector3::from(camera.target);
        let out = Vector3::from(camera.position) - target;
        let distance = out.norm().max(1e-4);
        let pitch = (out.y / distance).clamp(-1.0, 1.0).asin().clamp(-STEEPEST, STEEPEST);
        Self {
            target,
            distance,
            yaw: out.x.atan2(out.z),
            pitch,
            fov: camera.fov,
            parallel: camera.projection == CameraProjection::Orthographic,
            lens: camera.lens,
        }
    }

    /// Returns the camera of this orbit.
    pub fn camera(&self) -> Camera {
        let eye = self.target - self.axes().forward * self.distance;
        let projection =
            if self.parallel { CameraProjection::Orthographic } else { CameraProjection::Perspective };
        Camera { projection, lens: self.lens, ..Camera::at(eye.into(), self.target.into(), self.fov) }
    }

    /// Returns the eye \[m\]. In a parallel view it is so far behind the target that the whole box is in
    /// front of it.
    pub fn eye(&self) -> Vector3<f32> {
        camera::Axes::of(&self.camera(), 1.0).eye.coords
    }

    /// Returns the axes of the picture.
    pub fn axes(&self) -> Axes {
        let (sin_yaw, cos_yaw) = self.yaw.sin_cos();
        let (sin_pitch, cos_pitch) = self.pitch.sin_cos();
        let out = Vector3::new(sin_yaw * cos_pitch, sin_pitch, cos_yaw * cos_pitch);
        let right = Vector3::new(cos_yaw, 0.0, -sin_yaw);
        Axes { right, up: out.cross(&right), forward: -out }
    }

    /// Rotates about the target; `drag` in points, right and down positive. The scene follows the mouse.
    pub fn turn(&mut self, drag: Vector2<f32>) {
        self.yaw = wrapped(self.yaw - drag.x * TURN_PER_POINT);
        self.pitch = (self.pitch + drag.y * TURN_PER_POINT).clamp(-STEEPEST, STEEPEST);
    }

    /// Moves across the picture: points at the target's depth follow the mouse. `drag` is in points, in a
    /// view `height` points high.
    pub fn pan(&mut self, drag: Vector2<f32>, height: f32) {
        let per_point = self.height_at_target() / height.max(1.0);
        let axes = self.axes();
        self.target += (axes.up * drag.y - axes.right * drag.x) * per_point;
    }

    /// Approaches by this many notches of the wheel; negative recedes.
    pub fn zoom(&mut self, notches: f32, extent: [f32; 3]) {
        let size = Vector3::from(extent).norm();
        // A small field of view needs a larger distance for the same picture.
        let lens = (0.3 / (self.fov.to_radians() * 0.5).tan()).max(1.0);
        let wanted = self.distance * ZOOM_PER_NOTCH.powf(notches.clamp(-50.0, 50.0));
        self.distance = wanted.clamp(0.01 * size * lens, 20.0 * size * lens);
    }

    /// Looks along an axis of the world.
    pub fn stand(&mut self, at: Standpoint) {
        use std::f32::consts::FRAC_PI_2;
        (self.yaw, self.pitch) = match at {
            Standpoint::Front => (0.0, 0.0),
            Standpoint::Right => (FRAC_PI_2, 0.0),
            Standpoint::Top => (0.0, STEEPEST),
        };
    }

    /// Moves so that the whole box between two corners fills a view of the given width over height.
    pub fn frame_bounds(&mut self, [low, high]: [Vector3<f32>; 2], aspect: f32) {
        let extent: [f32; 3] = (high - low).into();
        self.target = (low + high) * 0.5;
        let (Axes { right, up, forward }, slope) = (self.axes(), (self.fov.to_radians() * 0.5).tan());
        let slopes = [slope * aspect.max(0.01), slope];
        self.distance = tight_distance(extent, [right, up, forward], slopes, self.parallel);
    }

    /// Returns whether every corner of a box is in a view of the given size.
    pub fn shows_all(&self, bounds: [[f32; 3]; 2], view: Vector2<f32>) -> bool {
        let is_in = |p| {
            self.seen(p, view)
                .is_some_and(|(at, _)| at.x >= 0.0 && at.y >= 0.0 && at.x <= view.x && at.y <= view.y)
        };
        corners(bounds).into_iter().all(is_in)
    }

    /// Moves back until every corner of a box is in a view of the given size.
    pub fn back_away(&mut self, bounds: [[f32; 3]; 2], view: Vector2<f32>) {
        // 1.02²⁵⁶ = 159.
        for _ in 0..256 {
            if self.shows_all(bounds, view) {
                return;
            }
            self.distance *= 1.02;
        }
    }

    /// Projects a point to a view of the given size. Returns its position from the top left \[pt\] and its
    /// depth \[m\]; none behind the eye.
    pub fn seen(&self, p: Vector3<f32>, view: Vector2<f32>) -> Option<(Vector2<f32>, f32)> {
        let axes = self.axes();
        let from_eye = p - self.eye();
        let ahead = from_eye.dot(&axes.forward);
        if ahead <= 1e-4 * self.distance {
            return None;
        }
        let scale = view.y / self.height_at(p);
        let at = Vector2::new(from_eye.dot(&axes.right), -from_eye.dot(&axes.up)) * scale;
        Some((view * 0.5 + at, ahead))
    }

    /// Returns the line of sight through a point of a view of the given size, from the top left: its start
    /// \[m\], and a vector along it whose component along the view's axis is 1.
    pub fn sight(&self, at: Vector2<f32>, view: Vector2<f32>) -> [Vector3<f32>; 2] {
        let axes = self.axes();
        let share = Vector2::new(2.0 * at.x - view.x, view.y - 2.0 * at.y) / view.y.max(1.0);
        let aside = axes.right * share.x + axes.up * share.y;
        match self.parallel {
            true => [self.eye() + aside * (0.5 * self.height_at_target()), axes.forward],
            false => [self.eye(), axes.forward + aside * (self.fov.to_radians() * 0.5).tan()],
        }
    }

    /// Returns the line of sight through a point in front of the eye, as [`sight`](Self::sight) does.
    pub fn sight_of(&self, p: Vector3<f32>) -> [Vector3<f32>; 2] {
        let (eye, forward) = (self.eye(), self.axes().forward);
        let depth = (p - eye).dot(&forward);
        match self.parallel {
            true => [p - forward * depth, forward],
            false => [eye, (p - eye) / depth.max(1e-3 * self.distance)],
        }
    }

    /// Returns the height of the picture in the plane through a point \[m\]; none behind the eye.
    pub fn height_at(&self, p: Vector3<f32>) -> f32 {
        if self.parallel {
            return self.height_at_target();
        }
        let depth = (p - self.eye()).dot(&self.axes().forward);
        2.0 * depth.max(1e-6) * (self.fov.to_radians() * 0.5).tan()
    }

    /// Returns the height of the picture in the plane through the target \[m\].
    fn height_at_target(&self) -> f32 {
        2.0 * self.distance * (self.fov.to_radians() * 0.5).tan()
    }
}

/// Wraps an angle to ±π.
fn wrapped(angle: f32) -> f32 {
    use std::f32::consts::{PI, TAU};
    (angle + PI).rem_euclid(TAU) - PI
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENT: [f32; 3] = [0.96, 1.44, 0.96];

    fn orbit() -> Orbit {
        Orbit::of(&Camera::at([2.0, 1.5, 3.0], [0.5, 0.7, 0.5], 40.0))
    }

    fn close(a: Vector3<f32>, b: Vector3<f32>) -> bool {
        (a - b).norm() < 1e-4
    }

    /// Returns the position of `p` in the picture: −1..1 along the height.
    fn seen(orbit: &Orbit, p: Vector3<f32>) -> Vector2<f32> {
        let axes = orbit.axes();
        let from_eye = p - Vector3::from(orbit.camera().position);
        let slope = (orbit.fov.to_radians() * 0.5).tan();
        let depth = from_eye.dot(&axes.forward) * slope;
        Vector2::new(from_eye.dot(&axes.right), from_eye.dot(&axes.up)) / depth
    }

    #[test]
    fn a_camera_survives_the_way_there_and_back() {
        let camera = orbit().camera();
        assert!(close(camera.position.into(), Vector3::new(2.0, 1.5, 3.0)), "{camera:?}");
        assert_eq!(camera.target, [0.5, 0.7, 0.5]);
    }

    #[test]
    fn the_axes_are_right_handed_and_of_length_one() {
        let axes = orbit().axes();
        assert!(close(axes.right.cross(&axes.up), -axes.forward));
        for v in [axes.right, axes.up, axes.forward] {
            assert!((v.norm() - 1.0).abs() < 1e-5);
        }
        assert!(axes.up.y > 0.0);
    }

    #[test]
    fn turning_keeps_the_target_and_the_distance_and_follows_the_hand() {
        let mut o = orbit();
        let near_side = o.target - o.axes().forward * 0.3;
        o.turn(Vector2::new(20.0, 10.0));
        assert_eq!(o.target, orbit().target);
        let distance = (Vector3::from(o.camera().position) - o.target).norm();
        assert!((distance - o.distance).abs() < 1e-4);
        let moved = seen(&o, near_side);
        assert!(moved.x > 0.01, "dragged right, the near side moves right: {moved:?}");
        assert!(moved.y < -0.01, "dragged down, the near side moves down: {moved:?}");
    }

    #[test]
    fn it_never_tips_over() {
        let mut o = orbit();
        o.turn(Vector2::new(12345.0, 1e6));
        assert!(o.axes().up.y > 0.0 && o.yaw.abs() <= std::f32::consts::PI);
        o.turn(Vector2::new(0.0, -1e7));
        assert!(o.axes().up.y > 0.0);
    }

    #[test]
    fn panning_keeps_the_target_under_the_hand() {
        let mut o = orbit();
        let held = o.target;
        o.pan(Vector2::new(60.0, -40.0), 800.0);
        let now = seen(&o, held);
        assert!((now - Vector2::new(2.0 * 60.0 / 800.0, 2.0 * 40.0 / 800.0)).norm() < 1e-3, "{now:?}");
    }

    #[test]
    fn the_wheel_comes_nearer_within_bounds() {
        let mut o = orbit();
        o.zoom(1.0, EXTENT);
        assert!((o.distance / orbit().distance - ZOOM_PER_NOTCH).abs() < 1e-5);
        o.zoom(1e9, EXTENT);
        assert!(o.distance > 0.0);
        o.zoom(-1e9, EXTENT);
        assert!(o.distance < 100.0);
    }

    #[test]
    fn framing_shows_every_corner_and_wastes_little() {
        for aspect in [0.4, 1.0, 2.5] {
            let mut o = orbit();
            o.frame_bounds([Vector3::zeros(), Vector3::from(EXTENT)], aspect);
            let sideways =
                corners([[0.0; 3], EXTENT]).map(|c| seen(&o, c)).map(|p| (p.x / aspect).abs().max(p.y.abs()));
            let widest = sideways.into_iter().fold(0.0, f32::max);
            assert!(widest < 1.0 && widest > 0.8, "aspect {aspect}: the widest corner is at {widest}");
        }
    }

    #[test]
    fn standpoints_look_along_the_axes() {
        let mut o = orbit();
        o.stand(Standpoint::Front);
        assert!(close(o.axes().forward, -Vector3::z()) && close(o.axes().right, Vector3::x()));
        o.stand(Standpoint::Right);
        assert!(close(o.axes().forward, -Vector3::x()) && close(o.axes().right, -Vector3::z()));
        o.stand(Standpoint::Top);
        assert!((o.axes().forward + Vector3::y()).norm() < 0.01);
    }
}
