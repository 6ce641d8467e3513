//! The 3D cursor: a ball in the volume that the mouse moves in the plane through it that faces the camera.
//! Dragging it makes a stroke of dabs. Plain maths, no window.

use nalgebra::{Vector2, Vector3};

use super::orbit::Orbit;
use crate::look::corners;
use crate::render::camera::{Ray, box_span};
use crate::solver::Dab;

/// Distance between the dabs of a stroke, in radii: their falloffs blend into an even tube.
const SPACING: f32 = 0.4;

/// Time in which a still ball adds as much as one dab of a stroke \[s\].
const DAB_TIME: f32 = 0.1;

/// Most dabs for one movement of the mouse; a longer leap gets a larger spacing.
const MOST_DABS: usize = 64;

/// Depth of one notch of the wheel, as a share of the domain's depth.
const DEPTH_PER_NOTCH: f32 = 1.0 / 24.0;

/// Amounts of one dab of the cursor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paint {
    /// Red, green, blue \[-\] and temperature \[K\] of one dab.
    pub add: [f32; 4],
    /// Velocity given to the air for each metre the cursor moves through it \[1/s\].
    pub force: f32,
    /// Share of smoke and heat that one dab takes away \[-\].
    pub erase: f32,
}

impl Paint {
    /// Returns whether a stroke would change nothing.
    pub fn is_nothing(&self) -> bool {
        self.add == [0.0; 4] && self.force == 0.0 && self.erase == 0.0
    }
}

/// The ball of the brush.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cursor {
    /// Centre \[m\].
    pub center: Vector3<f32>,
    /// Radius \[m\].
    pub radius: f32,
    /// A point in the plane of motion \[m\]. The ball leaves this plane only where the box does not reach it.
    pub plane: Vector3<f32>,
}

impl Cursor {
    /// Places a ball in the middle of a box.
    pub fn in_middle_of(extent: [f32; 3]) -> Self {
        let least = extent.into_iter().fold(f32::INFINITY, f32::min);
        let middle = Vector3::from(extent) * 0.5;
        Self { center: middle, radius: 0.08 * least.max(1e-6), plane: middle }
    }

    /// Moves under the mouse, in its plane. Where the line of sight meets the box only before or behind that
    /// plane, as near corners, the ball moves along it into the box. `mouse` is in points from the top left
    /// of a view of size `view`.
    pub fn point_at(
        &mut self,
        mouse: Vector2<f32>,
        view: Vector2<f32>,
        orbit: &Orbit,
        bounds: [[f32; 3]; 2],
    ) {
        let depth = depth_of(self.plane, orbit).clamp_to(depths(orbit, bounds));
        let [start, ray] = orbit.sight(mouse, view);
        self.plane = start + ray * depth;
        let seen = crossing(start, ray, bounds);
        self.center = start + ray * seen.map_or(depth, |range| depth.clamp_to(range));
    }

    /// Moves away from the camera by this many notches of the wheel, along the ray under the mouse.
    pub fn push_away(&mut self, notches: f32, orbit: &Orbit, bounds: [[f32; 3]; 2]) {
        let (near, far) = depths(orbit, bounds);
        let old = depth_of(self.center, orbit);
        let [start, ray] = orbit.sight_of(self.center);
        let seen = crossing(start, ray, bounds).unwrap_or((near, far));
        let new = (old + notches * DEPTH_PER_NOTCH * (far - near)).clamp_to(seen);
        self.center = start + ray * new;
        self.plane = self.center;
    }

    /// Dabs of a movement from `start` to the present position, which took `dt` seconds.
    ///
    /// A stroke has the same density at any speed and in any number of pieces. A still ball keeps adding, as
    /// an airbrush does.
    pub fn stroke(&self, start: Vector3<f32>, dt: f32, paint: &Paint) -> Vec<Dab> {
        let path = self.center - start;
        let spacing = SPACING * self.radius;
        let count = ((path.norm() / spacing).ceil() as usize).clamp(1, MOST_DABS);
        let amount = (path.norm() / spacing).max(dt / DAB_TIME) / count as f32;
        let dab = |n: usize| Dab {
            center: (start + path * ((n + 1) as f32 / count as f32)).into(),
            radius: self.radius,
            add: paint.add.map(|a| a * amount),
            push: (path * (paint.force / count as f32)).into(),
            // Dabs upon each other erase as much as one of their summed amount.
            erase: 1.0 - (1.0 - paint.erase).powf(amount),
        };
        (0..count).map(dab).collect()
    }
}

/// Returns the distance of a point from the eye along the view \[m\].
fn depth_of(p: Vector3<f32>, orbit: &Orbit) -> f32 {
    (p - orbit.eye()).dot(&orbit.axes().forward).max(1e-3 * orbit.distance)
}

/// Returns the range of t ≥ 0 in which `start + t · direction` is in the box; none if the line misses it.
fn crossing(start: Vector3<f32>, direction: Vector3<f32>, [low, high]: [[f32; 3]; 2]) -> Option<(f32, f32)> {
    let [enters, leaves] = box_span(&Ray { origin: start.into(), direction }, low, high);
    let enters = enters.max(0.0);
    (enters < leaves).then_some((enters, leaves))
}

/// Returns the least and the greatest distance of the box from the eye along the view, in front of the eye
/// \[m\].
fn depths(orbit: &Orbit, bounds: [[f32; 3]; 2]) -> (f32, f32) {
    let forward = orbit.axes().forward;
    let all = corners(bounds).map(|corner| (corner - orbit.eye()).dot(&forward));
    let near = all.into_iter().fold(f32::INFINITY, f32::min).max(1e-3 * orbit.distance);
    (near, all.into_iter().fold(near, f32::max))
}

trait ClampTo {
    fn clamp_to(self, range: (f32, f32)) -> f32;
}

impl ClampTo for f32 {
    fn clamp_to(self, (low, high): (f32, f32)) -> f32 {
        self.max(low).min(high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Lens;

    const EXTENT: [f32; 3] = [1.0, 1.5, 1.0];
    const BOUNDS: [[f32; 3]; 2] = [[0.0; 3], EXTENT];
    const VIEW: Vector2<f32> = Vector2::new(900.0, 600.0);
    #[test]
    fn the_ball_is_under_the_mouse_also_where_lines_of_sight_are_parallel() {
        // Nearer than the box is deep.
        let flat = Orbit { parallel: true, distance: 0.4, ..orbit() };
        for mouse in [Vector2::new(450.0, 300.0), Vector2::new(300.0, 350.0), Vector2::new(700.0, 111.0)] {
            let mut ball = Cursor::in_middle_of(EXTENT);
            ball.point_at(mouse, VIEW, &flat, BOUNDS);
            let at = |ball: &Cursor| flat.seen(ball.center, VIEW).unwrap().0;
            assert!((at(&ball) - mouse).norm() < 0.1, "{mouse:?} {:?}", at(&ball));
            let before = ball.center;
            ball.push_away(2.0, &flat, BOUNDS);
            assert!((at(&ball) - mouse).norm() < 0.1 && (ball.center - before).norm() > 0.01);
        }
    }

    const PAINT: Paint = Paint { add: [1.0, 0.0, 0.5, 40.0], force: 3.0, erase: 0.0 };

    fn orbit() -> Orbit {
        Orbit {
            target: Vector3::from(EXTENT) * 0.5,
            distance: 4.0,
            yaw: 0.4,
            pitch: 0.3,
            fov: 40.0,
            parallel: false,
            lens: Lens::default(),
        }
    }

    /// Returns the position of a point in the view, in points from the top left: the inverse of `ray`.
    fn view_position(p: Vector3<f32>) -> Vector2<f32> {
        let axes = orbit().axes();
        let from_eye = p - orbit().eye();
        let scale = 0.5 * VIEW.y / (20.0f32.to_radians().tan() * from_eye.dot(&axes.forward));
        VIEW * 0.5 + Vector2::new(from_eye.dot(&axes.right), -from_eye.dot(&axes.up)) * scale
    }

    #[test]
    fn the_ball_is_seen_under_the_mouse_and_keeps_its_depth() {
        let mut ball = Cursor::in_middle_of(EXTENT);
        let depth = depth_of(ball.center, &orbit());
        for mouse in [Vector2::new(450.0, 300.0), Vector2::new(10.0, 590.0), Vector2::new(700.0, 50.0)] {
            ball.point_at(mouse, VIEW, &orbit(), BOUNDS);
            assert!(
                (view_position(ball.center) - mouse).norm() < 0.05,
                "{mouse:?} {:?}",
                view_position(ball.center)
            );
            assert!((depth_of(ball.plane, &orbit()) - depth).abs() < 1e-4);
        }
    }

    #[test]
    fn the_wheel_moves_it_straight_away_and_stops_at_the_far_end() {
        let mut ball = Cursor::in_middle_of(EXTENT);
        ball.point_at(Vector2::new(500.0, 200.0), VIEW, &orbit(), BOUNDS);
        let depth = depth_of(ball.center, &orbit());
        ball.push_away(2.0, &orbit(), BOUNDS);
        assert!(depth_of(ball.center, &orbit()) > depth + 0.05);
        assert!((view_position(ball.center) - Vector2::new(500.0, 200.0)).norm() < 0.05);
        ball.push_away(1e6, &orbit(), BOUNDS);
        let [eye, ray] = orbit().sight(Vector2::new(500.0, 200.0), VIEW);
        let (_, far) = crossing(eye, ray, BOUNDS).unwrap();
        assert!((depth_of(ball.center, &orbit()) - far).abs() < 1e-3);
    }

    #[test]
    fn over_a_corner_of_the_box_the_ball_is_in_the_box_and_returns_to_its_plane() {
        let mut ball = Cursor::in_middle_of(EXTENT);
        let depth = depth_of(ball.center, &orbit());
        for corner in corners(BOUNDS) {
            let inside = corner + (Vector3::from(EXTENT) * 0.5 - corner) * 0.02;
            ball.point_at(view_position(inside), VIEW, &orbit(), BOUNDS);
            let within = (0..3).all(|a| (-1e-4..=EXTENT[a] + 1e-4).contains(&ball.center[a]));
            assert!(within, "at {corner:?} the ball is at {:?}", ball.center);
        }
        ball.point_at(VIEW * 0.5, VIEW, &orbit(), BOUNDS);
        assert!((depth_of(ball.center, &orbit()) - depth).abs() < 1e-4);
    }

    #[test]
    fn a_ball_left_behind_the_box_comes_back_to_it() {
        let away = Vector3::new(0.0, 0.0, -80.0);
        let mut ball = Cursor { center: away, radius: 0.1, plane: away };
        ball.point_at(VIEW * 0.5, VIEW, &orbit(), BOUNDS);
        let (near, far) = depths(&orbit(), BOUNDS);
        assert!((near..=far + 1e-3).contains(&depth_of(ball.center, &orbit())));
    }

    fn ball_at(center: Vector3<f32>, radius: f32) -> Cursor {
        Cursor { center, radius, plane: center }
    }

    fn total(dabs: &[Dab]) -> [f32; 4] {
        std::array::from_fn(|c| dabs.iter().map(|d| d.add[c]).sum())
    }

    #[test]
    fn a_stroke_adds_the_same_whole_or_in_pieces() {
        let start = Vector3::new(0.2, 0.3, 0.4);
        let ball = ball_at(Vector3::new(0.8, 0.5, 0.4), 0.1);
        let whole = total(&ball.stroke(start, 0.01, &PAINT));
        let mut pieces = [0.0; 4];
        let mut from = start;
        for n in 1..=7 {
            let to = start + (ball.center - start) * (n as f32 / 7.0);
            let part = total(&Cursor { center: to, ..ball }.stroke(from, 0.01 / 7.0, &PAINT));
            pieces = std::array::from_fn(|c| pieces[c] + part[c]);
            from = to;
        }
        for c in 0..4 {
            assert!((whole[c] - pieces[c]).abs() < 1e-3 * whole[c].max(1.0), "{whole:?} {pieces:?}");
        }
    }

    #[test]
    fn a_stroke_has_no_gaps_and_ends_at_the_ball() {
        let start = Vector3::new(0.1, 0.3, 0.4);
        let ball = ball_at(Vector3::new(0.9, 0.9, 0.4), 0.05);
        let dabs = ball.stroke(start, 0.016, &PAINT);
        let mut last = start;
        for dab in &dabs {
            let at = Vector3::from(dab.center);
            assert!((at - last).norm() <= SPACING * ball.radius + 1e-5);
            last = at;
        }
        assert!((last - ball.center).norm() < 1e-5);
    }

    #[test]
    fn held_still_it_goes_on_adding_smoke_but_does_not_push() {
        let ball = ball_at(Vector3::new(0.5, 0.5, 0.5), 0.1);
        let dabs = ball.stroke(ball.center, 0.05, &PAINT);
        assert_eq!(dabs.len(), 1);
        assert!((dabs[0].add[0] - 0.5).abs() < 1e-5, "half the time of a dab, half a dab");
        assert_eq!(dabs[0].push, [0.0; 3]);
    }

    #[test]
    fn the_push_is_the_way_moved_times_the_force() {
        let start = Vector3::new(0.2, 0.2, 0.2);
        let ball = ball_at(Vector3::new(0.5, 0.2, 0.2), 0.1);
        let push: f32 = ball.stroke(start, 0.016, &PAINT).iter().map(|d| d.push[0]).sum();
        assert!((push - 0.9).abs() < 1e-4);
    }
}
