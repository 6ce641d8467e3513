//! Pictures of a box that has moved since the start.
//!
//! A picture is rendered in coordinates from the lower corner of the snapshot's box. Camera, cursor and
//! lights have those of the scene and are converted here. Values relative to the size of a box refer to the
//! box at the start, so that they do not jump when the box moves: the end of the floor, the fade of smoke at
//! sides, the position of a slice.

use super::{Cursor, Mode, Slice, View};
use crate::look::{Camera, Emitter};
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
        if self.corner == [0.0; 3] && self.start == [[0.0; 3], self.extent] {
            return render(view);
        }
        let moved = |p: [f32; 3]| [0, 1, 2].map(|a| p[a] - self.corner[a]);
        let shortest = |size: [f32; 3]| size.into_iter().fold(f32::INFINITY, f32::min);
        let mut look = view.look.clone();
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
        let camera = Camera {
            position: moved(view.camera.position),
            target: moved(view.camera.target),
            ..*view.camera
        };
        let cursor = view.cursor.map(|cursor| Cursor { center: moved(cursor.center), ..cursor });
        let mode = match view.mode {
            Mode::Slice(slice) => Mode::Slice(self.slice(slice)),
            mode => mode,
        };
        render(&View { look: &look, camera: &camera, cursor, mode })
    }

    /// Returns the slice at the same position in the scene.
    fn slice(&self, slice: Slice) -> Slice {
        let axis = slice.axis.min(2);
        let [low, high] = self.start.map(|corner| corner[axis]);
        let at = low + slice.position.clamp(0.0, 1.0) * (high - low);
        Slice { position: (at / self.extent[axis]).clamp(0.0, 1.0), ..slice }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::look::{Light, Look};
    use crate::render::CpuRenderer;
    use crate::render::procedural::{Tint, plume};

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
        // The box has grown since the start, and its smoke has the same position in the scene.
        snapshot.origin = [16, 0, -8];
        let by = snapshot.corner();
        let moved = |p: [f32; 3]| [0, 1, 2].map(|a| p[a] + by[a]);
        (camera.position, camera.target) = (moved(camera.position), moved(camera.target));
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
