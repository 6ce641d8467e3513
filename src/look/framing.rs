//! Positions of a camera from which a box fills its picture.

use nalgebra::Vector3;

use super::Camera;

/// Margin around the default framing of a scene, and around a box that the window frames.
const MARGINS: [f32; 2] = [1.02, 1.08];

impl Camera {
    /// Returns unit vectors to the right in the picture, up in it, and into it. A camera at its own target
    /// looks along −z; an `up` along the view is replaced.
    pub(crate) fn directions(&self) -> [Vector3<f32>; 3] {
        let ahead = Vector3::from(self.target) - Vector3::from(self.position);
        let forward = ahead.try_normalize(1e-9).unwrap_or_else(|| -Vector3::z());
        let side = [self.up.into(), Vector3::y(), Vector3::z()]
            .into_iter()
            .find_map(|up| forward.cross(&up).try_normalize(1e-6))
            .unwrap_or_else(Vector3::x);
        [side, side.cross(&forward), forward]
    }

    /// Returns half the height of the picture at distance 1 of a perspective camera.
    pub(crate) fn slope(&self) -> f32 {
        (self.fov.clamp(0.1, 170.0).to_radians() * 0.5).tan()
    }

    /// Frames a box of `extent` metres from slightly above and to the side.
    pub fn framing(extent: [f32; 3]) -> Self {
        let mut camera = Self::at([0.42, 0.20, 1.0], [0.0; 3], 34.0);
        camera.frame(extent);
        camera
    }

    /// As [`Camera::framing`], for a field of view \[degrees\] and a picture of the given width over height.
    #[cfg(feature = "scene")]
    pub(crate) fn framing_in(extent: [f32; 3], fov: f32, aspect: f32) -> Self {
        let mut camera = Self { fov, ..Self::framing(extent) };
        camera.frame(extent);
        // `frame` fits a square; an upright picture needs more distance.
        let back = (1.0 / aspect).max(1.0);
        camera.position =
            std::array::from_fn(|a| camera.target[a] + back * (camera.position[a] - camera.target[a]));
        camera
    }

    /// Moves along the present direction of view until the box of `extent` metres fills a square picture. The nearest point of
    /// the box is taken for the widest one, so that the picture is a little looser than `tight_distance`.
    pub fn frame(&mut self, extent: [f32; 3]) {
        let half = Vector3::from(extent) * 0.5;
        let [side, up, forward] = self.directions();
        let half_along = |direction: Vector3<f32>| half.dot(&direction.abs());
        let distance = half_along(up).max(half_along(side)) / self.slope() * MARGINS[0] + half_along(forward);
        self.target = half.into();
        self.position = (half - forward * distance).into();
    }
}

/// Returns the distance from the middle of a box of `extent` metres at which its widest corner is just inside
/// the picture. `axes` are unit vectors to the right, up and into the picture, `slopes` half the width and
/// height of the picture at distance 1. Of parallel rays it is the distance at which a perspective picture is
/// as high.
#[cfg(feature = "viewer")]
pub(crate) fn tight_distance(
    extent: [f32; 3],
    axes: [Vector3<f32>; 3],
    slopes: [f32; 2],
    parallel: bool,
) -> f32 {
    let needed = corners([[0.0; 3], extent]).map(|corner| {
        let [x, y, z] = axes.map(|axis| (corner - Vector3::from(extent) * 0.5).dot(&axis));
        (x.abs() / slopes[0]).max(y.abs() / slopes[1]) - if parallel { 0.0 } else { z }
    });
    MARGINS[1] * needed.into_iter().fold(0.0, f32::max)
}

/// Returns the eight corners of the box between its lower and its upper corner.
#[cfg(any(test, feature = "viewer"))]
pub(crate) fn corners(bounds: [[f32; 3]; 2]) -> [Vector3<f32>; 8] {
    std::array::from_fn(|i| {
        let coordinate = |axis: usize| bounds[i >> axis & 1][axis];
        Vector3::new(coordinate(0), coordinate(1), coordinate(2))
    })
}
