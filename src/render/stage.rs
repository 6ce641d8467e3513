//! Pictures of a box that has moved since the start.
//!
//! A picture is rendered in coordinates from the lower corner of the snapshot's box. Camera, cursor and
//! lights have those of the scene and are converted here. Values relative to the size of a box refer to the
//! box at the start, so that they do not jump when the box moves: the end of the floor, the fade of smoke at
//! sides, the position of a slice.

use super::{Cursor, Mode, Slice, View};
use crate::look::{Camera, Emitter, Light, Look};
use crate::snapshot::Snapshot;

/// The box of a snapshot and that of the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stage {
    /// Lower corner of the box in the scene's coordinates \[m\].
    corner: [f32; 3],
    /// Size of the box \[m\].
    extent: [f32; 3],
    /// The box at the start, from the corner of the box \[m\].
    start: [[f32; 3]; 2],
}

impl Stage {
    /// Makes the stage of `snapshot`.
    pub fn of(snapshot: &Snapshot) -> Self {
        Self { corner: snapshot.corner(), extent: snapshot.extent(), start: snapshot.start }
    }

    /// Returns x and z of the middle of the floor \[m\].
    pub fn middle(&self) -> [f32; 2] {
        let [low, high] = self.start;
        [0.5 * (low[0] + high[0]), 0.5 * (low[2] + high[2])]
    }

    /// Returns the longer horizontal side of the box at the start \[m\].
    pub fn side(&self) -> f32 {
        let size = self.start_size();
        size[0].max(size[2])
    }

    fn start_size(&self) -> [f32; 3] {
        let [low, high] = self.start;
        [0, 1, 2].map(|a| high[a] - low[a])
    }

    /// Calls `render` with `view` in coordinates from the corner of the box.
    pub fn localize<T>(&self, view: &View, render: impl FnOnce(&View) -> T) -> T {
        let is_at_start = self.corner == [0.0; 3] && self.start == [[0.0; 3], self.extent];
        if is_at_start && !has_lights_below_floor(view.look) {
            return render(view);
        }
        let mut look = view.look.clone();
        put_out_below_floor(&mut look);
        if is_at_start {
            return render(&View { look: &look, ..*view });
        }
        let moved = |p: [f32; 3]| [0, 1, 2].map(|a| p[a] - self.corner[a]);
        let shortest = |size: [f32; 3]| size.into_iter().fold(f32::INFINITY, f32::min);
        look.fade =
            (look.fade.clamp(0.0, 0.5) * shortest(self.start_size()) / shortest(self.extent)).min(0.5);
        for light in &mut look.lights {
            match &mut light.emitter {
                Emitter::Sun { .. } => {}
                Emitter::Point { position, .. } => *position = moved(*position),
                Emitter::Spot { position, target, .. } | Emitter::Area { position, target, .. } => {
                    (*position, *target) = (moved(*position), moved(*target));
                }
            }
        }
        let camera = self.local_camera(view.camera);
        let cursor = view.cursor.map(|cursor| Cursor { center: moved(cursor.center), ..cursor });
        let mode = match view.mode {
            Mode::Slice(slice) => Mode::Slice(self.slice(slice)),
            mode => mode,
        };
        render(&View { look: &look, camera: &camera, cursor, mode })
    }

    /// Returns a camera in coordinates from the corner of the box.
    pub fn local_camera(&self, camera: &Camera) -> Camera {
        let moved = |p: [f32; 3]| [0, 1, 2].map(|a| p[a] - self.corner[a]);
        Camera { position: moved(camera.position), target: moved(camera.target), ..*camera }
    }

    /// Returns the slice at the same position in the scene.
    fn slice(&self, slice: Slice) -> Slice {
        let axis = slice.axis.min(2);
        let [low, high] = self.start.map(|corner| corner[axis]);
        let at = low + slice.position.clamp(0.0, 1.0) * (high - low);
        Slice { position: (at / self.extent[axis]).clamp(0.0, 1.0), ..slice }
    }
}

/// Whether all of a light lies below y = 0, or of a sun below the horizon. A floor hides it.
pub(super) fn is_below_floor(emitter: &Emitter) -> bool {
    match *emitter {
        Emitter::Sun { direction: [x, y, z], size } => y.atan2(x.hypot(z)) < (-0.5 * size).to_radians(),
        Emitter::Point { position, radius } | Emitter::Spot { position, radius, .. } => {
            position[1] + radius <= 0.0
        }
        Emitter::Area { position, size: [a, b], .. } => position[1] + 0.5 * a.hypot(b) <= 0.0,
    }
}

fn sun_is_below_floor(look: &Look) -> bool {
    is_below_floor(&Emitter::Sun { direction: look.sun_direction, size: look.sun_size })
}

fn has_lights_below_floor(look: &Look) -> bool {
    let is_below = |light: &Light| is_below_floor(&light.emitter);
    look.floor.is_some() && (sun_is_below_floor(look) || look.lights.iter().any(is_below))
}

/// Makes black what a floor hides.
fn put_out_below_floor(look: &mut Look) {
    if look.floor.is_none() {
        return;
    }
    if sun_is_below_floor(look) {
        look.sun = [0.0; 3];
    }
    let hidden = look.lights.iter_mut().filter(|light| is_below_floor(&light.emitter));
    hidden.for_each(|light| light.strength = 0.0);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::grid::Dims;
    use crate::look::{Environment, Sphere};
    use crate::render::CpuRenderer;
    use crate::render::procedural::{Tint, plume};
    use crate::render::sprite;

    /// In all modes they once lit the smoke through the floor.
    #[test]
    fn a_floor_hides_lights_below_it() {
        let snapshot = plume(Dims::new([16, 16, 16]).unwrap(), 0.1, Tint::Even);
        let camera = Camera::framing(snapshot.extent());
        let dark = Look { sun: [0.0; 3], sky: [0.0; 3], ground: [0.0; 3], outline: false, ..Look::default() };
        let lamp = |y: f32| Light {
            emitter: Emitter::Point { position: [0.8, y, 0.8], radius: 0.05 },
            color: [9.0; 3],
            strength: 1.0,
        };
        let brightest = |look: Look| {
            let view = View { look: &look, camera: &camera, cursor: None, mode: Mode::Smoke };
            let picture = CpuRenderer::new().render_linear(&snapshot, &view, [16, 12], &|_| ()).unwrap();
            picture.rgba.iter().fold(0.0f32, |most, pixel| most.max(pixel[1]))
        };
        for floor in [None, Some([0.5; 3])] {
            for (is_above, y) in [(false, -0.5), (true, 0.5)] {
                let shines = is_above || floor.is_none();
                let look = Look { floor, lights: vec![lamp(y)], ..dark.clone() };
                assert_eq!(brightest(look) > 0.0, shines, "a lamp at {y} m, floor {floor:?}");
                let sun_direction = [0.6, y.signum() * 0.8, 0.0];
                let look = Look { floor, sun: [9.0; 3], sun_direction, ..dark.clone() };
                assert_eq!(brightest(look) > 0.0, shines, "a sun towards {sun_direction:?}, floor {floor:?}");
            }
        }
        // A sun of an environment, and a bright lower half.
        for (floor, sun_only) in
            [(None, true), (None, false), (Some([0.0; 3]), true), (Some([0.0; 3]), false)]
        {
            let (width, height) = (64, 32);
            let plain = Sphere::new(width, height, vec![[0.0; 3]; width * height]).unwrap();
            let texel = |n: usize| {
                let [x, y, _] = plain.direction(n % width, n / width);
                [if if sun_only { y < -0.5 && x > 0.7 } else { y < 0.0 } { 20.0 } else { 0.0 }; 3]
            };
            let sphere = Sphere::new(width, height, (0..width * height).map(texel).collect()).map(Arc::new);
            let environment = Environment { sphere, shown: false, ..Environment::default() };
            let found = brightest(Look { floor, environment, ..dark.clone() });
            assert!(if floor.is_some() { found < 1e-4 } else { found > 0.05 }, "{found}, floor {floor:?}");
        }
        let low = |y: f32| is_below_floor(&Emitter::Sun { direction: [1.0, y, 0.0], size: 2.0 });
        assert!(!low(-0.01) && low(-0.02), "half a degree of its disc rises above the horizon");
    }

    #[test]
    fn a_box_elsewhere_is_shown_as_at_the_origin() {
        let mut snapshot = plume(Dims::new([24, 32, 24]).unwrap(), 0.0625, Tint::Even);
        let (mut look, mut camera) = (Look::default(), Camera::framing(snapshot.extent()));
        let lamp = |position| Light {
            emitter: Emitter::Point { position, radius: 0.05 },
            color: [1.0, 0.5, 0.2],
            strength: 4.0,
        };
        look.lights = vec![lamp([1.8, 1.0, 0.3])];
        let cursor = Some(Cursor { center: [0.5, 0.5, 0.5], radius: 0.1, color: [1.0, 0.8, 0.2] });
        let render = |snapshot: &Snapshot, look: &Look, camera: &Camera, cursor, mode| {
            let view = View { look, camera, cursor, mode };
            CpuRenderer::new().render(snapshot, &view, [60, 50], &|_| ()).unwrap().rgba
        };
        let slice = Mode::Slice(Slice { position: 0.3, ..Slice::default() });
        let first = [Mode::Smoke, slice].map(|mode| render(&snapshot, &look, &camera, cursor, mode));
        snapshot.velocity = vec![[0.5, 0.25, 0.0, 0.0].map(half::f16::from_f32); snapshot.smoke.len()];
        let motion = |snapshot: &Snapshot, camera: &Camera| {
            sprite::motion(snapshot, &Look::default(), camera, [24, 20], 0.1)
        };
        let moves = motion(&snapshot, &camera);
        assert!(moves.iter().any(|by| by[0] > 0.01));
        // The box has grown since the start, and its smoke has the same position in the scene.
        snapshot.origin = [16, 0, -8];
        let by = snapshot.corner();
        let moved = |p: [f32; 3]| [0, 1, 2].map(|a| p[a] + by[a]);
        (camera.position, camera.target) = (moved(camera.position), moved(camera.target));
        let apart = moves.iter().zip(motion(&snapshot, &camera)).map(|(a, b)| (a[0] - b[0]).abs());
        assert!(apart.fold(0.0, f32::max) < 1e-4, "the motion of the smoke");
        look.lights = vec![lamp(moved([1.8, 1.0, 0.3]))];
        let cursor = cursor.map(|cursor| Cursor { center: moved(cursor.center), ..cursor });
        for (mode, first) in [Mode::Smoke, slice].into_iter().zip(first) {
            let then = render(&snapshot, &look, &camera, cursor, mode);
            let apart = then.iter().zip(&first).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            assert!(apart <= 2, "{mode:?}: {apart} levels apart");
        }
    }

    #[test]
    fn floor_and_slices_keep_to_the_box_at_the_start() {
        let stage =
            Stage { corner: [-1.0, 0.0, 2.0], extent: [4.0; 3], start: [[1.0, 0.0, -2.0], [3.0, 2.0, 1.0]] };
        assert_eq!((stage.middle(), stage.side()), ([2.0, -0.5], 3.0));
        let slice = stage.slice(Slice { axis: 0, position: 0.5, ..Slice::default() });
        assert!((slice.position - 0.5).abs() < 1e-6);
    }
}
