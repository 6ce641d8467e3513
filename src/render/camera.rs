//! Rays from pixels, and screen positions from points.
//!
//! A pixel's ray is `forward + x · right + y · up` with x and y in −1..1 over the picture; `right` and `up`
//! are scaled by the field of view. In an orthographic picture `x · right + y · up` moves the origin of the ray instead.
//! The shaders get the same vectors, so both renderers use the same rays.

use nalgebra::{Matrix4, Point3, Vector3};

use crate::look::{Camera, CameraProjection, Lens};
use crate::render::noise;

/// Distance used where nothing is hit \[m\].
pub(super) const FAR: f32 = 1e6;

/// A half line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Origin \[m\].
    pub origin: Point3<f32>,
    /// Unit vector along it.
    pub direction: Vector3<f32>,
}

impl Ray {
    /// Returns the point at distance `t` \[m\].
    pub fn at(&self, t: f32) -> Point3<f32> {
        self.origin + self.direction * t
    }
}

/// Returns the unit vector along `v`; up if it has no length.
pub(super) fn unit(v: [f32; 3]) -> [f32; 3] {
    let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 1e-6 { v.map(|x| x / norm) } else { [0.0, 1.0, 0.0] }
}

/// Distance of the start of parallel rays behind the camera, in heights of the picture. However near the
/// camera is, no part of the scene lies behind the start, and f32 still resolves a hundredth of a cell there.
const BACK: f32 = 100.0;

/// The camera's axes in the world. `right` and `up` extend from the middle of the picture to its edge, at
/// distance 1 along `forward` or, if the rays are parallel, at any distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axes {
    /// The eye \[m\]. With parallel rays it is the start of the middle one, far behind the camera.
    pub eye: Point3<f32>,
    /// Vector into the picture: of length 1, unless the axes are shifted or seen through a point of the lens.
    pub forward: Vector3<f32>,
    /// Vector to the right edge.
    pub right: Vector3<f32>,
    /// Vector to the upper edge.
    pub up: Vector3<f32>,
    /// Whether the rays are parallel.
    pub parallel: bool,
    /// Distance of the eye behind the camera's position \[m\]: 0, unless the rays are parallel.
    pub back: f32,
}

/// A point in a picture.
pub struct Seen {
    /// Number of its pixel, rows from the bottom.
    pub pixel: usize,
    /// Unit vector towards the eye.
    pub to_eye: Vector3<f32>,
    /// Distance of the eye \[m\].
    pub distance: f32,
    /// Mean radiance of the pixel for each unit of radiant intensity towards the eye \[1/m²\].
    pub weight: f32,
}

impl Axes {
    /// Returns the axes of `camera` for a picture of the given width over height. A camera at its own target
    /// looks along −z; an `up` along the view is replaced.
    pub fn of(camera: &Camera, aspect: f32) -> Self {
        let eye = Point3::from(camera.position);
        let ([side, up, forward], half_height) = (camera.directions(), camera.slope());
        let parallel = camera.projection == CameraProjection::Orthographic;
        let distance = (Point3::from(camera.target) - eye).norm().max(1e-6);
        let half_height = if parallel { half_height * distance } else { half_height };
        let back = if parallel { 2.0 * BACK * half_height } else { 0.0 };
        Self {
            eye: eye - forward * back,
            forward,
            right: side * (half_height * aspect),
            up: up * half_height,
            parallel,
            back,
        }
    }

    /// Returns the axes shifted right and up by `shift` pixels of a picture of `size`. `forward` is then not
    /// quite a unit vector.
    pub fn shifted(&self, shift: [f32; 2], size: [u32; 2]) -> Self {
        let by = |a: usize| 2.0 * shift[a] / size[a] as f32;
        let aside = self.right * by(0) + self.up * by(1);
        match self.parallel {
            true => Self { eye: self.eye + aside, ..*self },
            false => Self { forward: self.forward + aside, ..*self },
        }
    }

    /// Returns the axes of the `number`th of several frames whose mean is the picture of a thin lens. Each is
    /// seen from another point of the lens, the first from its middle, and the plane of focus keeps its
    /// place. `forward` is then not perpendicular to the picture.
    pub fn through_lens(&self, camera: &Camera, number: u32) -> Self {
        let Lens { aperture, focus, .. } = camera.lens;
        if aperture <= 0.0 || number == 0 {
            return *self;
        }
        let [x, y] = noise::in_disc(number).map(|x| 0.5 * aperture * x);
        let aside = self.right.normalize() * x + self.up.normalize() * y;
        let target = (Point3::from(camera.target) - Point3::from(camera.position)).norm();
        let focus = if focus > 0.0 { focus } else { target }.max(1e-6);
        let forward = self.forward - aside / focus;
        // Parallel rays start behind the camera, and meet at the focus from there.
        let eye = self.eye + aside * ((self.back + focus) / focus);
        let forward = if self.parallel { forward.normalize() } else { forward };
        Self { eye, forward, ..*self }
    }

    /// Returns the unit normal of the picture, and the components of `forward` along `right` and `up` at
    /// distance 1 along that normal: 0, unless `forward` is not perpendicular to the picture.
    fn upright(&self) -> (Vector3<f32>, [f32; 2]) {
        let inwards = self.up.cross(&self.right).normalize();
        let depth = self.forward.dot(&inwards);
        (inwards, [self.right, self.up].map(|axis| self.forward.dot(&axis) / (axis.norm_squared() * depth)))
    }

    /// Returns the ray through `uv`, 0..1 across and 0..1 **up** the picture.
    pub fn ray(&self, uv: [f32; 2]) -> Ray {
        let aside = self.right * (2.0 * uv[0] - 1.0) + self.up * (2.0 * uv[1] - 1.0);
        match self.parallel {
            true => Ray { origin: self.eye + aside, direction: self.forward },
            false => Ray { origin: self.eye, direction: (self.forward + aside).normalize() },
        }
    }

    /// Returns half the height of the picture at a point \[m\].
    pub fn half_height_at(&self, p: Point3<f32>) -> f32 {
        self.up.norm() * if self.parallel { 1.0 } else { (p - self.eye).norm() }
    }

    /// Returns the ray through the middle of a pixel of a picture of `size`, counted from the lower left.
    pub fn ray_through_pixel(&self, size: [u32; 2], pixel: [u32; 2]) -> Ray {
        self.ray([0, 1].map(|a| (pixel[a] as f32 + 0.5) / size[a] as f32))
    }

    /// Returns the length of the ray to `uv` for each metre into the picture.
    pub fn slant(&self, uv: [f32; 2]) -> f32 {
        if self.parallel {
            return 1.0;
        }
        let [x, y] = uv.map(|c| 2.0 * c - 1.0);
        (self.forward + self.right * x + self.up * y).norm()
    }

    /// Returns the part of the picture that a box covers, as lower left and upper right in 0..1: the whole
    /// picture if the box extends behind the eye, `None` if it is out of sight.
    pub fn window(&self, lo: [f32; 3], hi: [f32; 3]) -> Option<[[f32; 2]; 2]> {
        let (width, height) = (self.right.norm_squared(), self.up.norm_squared());
        let (inwards, askew) = self.upright();
        let mut window = [[f32::MAX; 2], [f32::MIN; 2]];
        for n in 0..8 {
            let corner = std::array::from_fn(|a| if n >> a & 1 == 1 { hi[a] } else { lo[a] });
            let to = Point3::<f32>::from(corner) - self.eye;
            let into = to.dot(&inwards);
            let depth = if self.parallel { 1.0 } else { into };
            if depth < 1e-3 {
                return Some([[0.0; 2], [1.0; 2]]);
            }
            let [x, y] = [to.dot(&self.right) / width, to.dot(&self.up) / height];
            let at = [(x - into * askew[0]) / depth, (y - into * askew[1]) / depth];
            for a in 0..2 {
                window[0][a] = window[0][a].min(at[a] * 0.5 + 0.5);
                window[1][a] = window[1][a].max(at[a] * 0.5 + 0.5);
            }
        }
        let seen = (0..2).all(|a| window[0][a] < 1.0 && window[1][a] > 0.0);
        seen.then(|| window.map(|corner| corner.map(|x| x.clamp(0.0, 1.0))))
    }

    /// Returns a point in a picture of `size`; `None` out of sight.
    pub fn seen(&self, p: Point3<f32>, size: [u32; 2]) -> Option<Seen> {
        let (inwards, askew) = self.upright();
        let to = p - self.eye;
        let (into, distance) = (to.dot(&inwards), to.norm());
        let depth = if self.parallel { 1.0 } else { into };
        if into <= 0.0 || distance <= 0.0 {
            return None;
        }
        let at = |axis: Vector3<f32>, askew: f32| {
            0.5 + 0.5 * (to.dot(&axis) / axis.norm_squared() - into * askew) / depth
        };
        let [x, y] = [(at(self.right, askew[0]), size[0]), (at(self.up, askew[1]), size[1])]
            .map(|(share, count)| (share * count as f32).floor());
        if !(0.0..size[0] as f32).contains(&x) || !(0.0..size[1] as f32).contains(&y) {
            return None;
        }
        // Area of a pixel in the plane at distance 1, and its solid angle from the eye.
        let area = 4.0 * self.right.norm() * self.up.norm() / (size[0] as f32 * size[1] as f32);
        let slope = self.forward.dot(&inwards);
        let (to_eye, weight) = match self.parallel {
            true => (-self.forward, 1.0 / (area * slope)),
            false => (-to / distance, distance * slope * slope / (area * into.powi(3))),
        };
        let pixel = y as usize * size[0] as usize + x as usize;
        Some(Seen { pixel, to_eye, distance, weight })
    }

    /// Returns the matrix from world to clip space, for lines. z is the distance into the picture \[m\], and
    /// so is w unless the rays are parallel.
    pub fn clip_from_world(&self) -> Matrix4<f32> {
        let (inwards, askew) = self.upright();
        let across = self.right / self.right.norm_squared() - inwards * askew[0];
        let upwards = self.up / self.up.norm_squared() - inwards * askew[1];
        let row = |axis: Vector3<f32>| [axis.x, axis.y, axis.z, -axis.dot(&self.eye.coords)];
        let w = if self.parallel { [0.0, 0.0, 0.0, 1.0] } else { row(inwards) };
        Matrix4::from_fn(|i, j| [row(across), row(upwards), row(inwards), w][i][j])
    }
}

/// Returns the ray through a point of a picture of `size` pixels. `pixel` counts from the upper left corner;
/// the middle of the first pixel is at (0.5, 0.5).
pub fn ray_through(camera: &Camera, size: [u32; 2], pixel: [f32; 2]) -> Ray {
    let [width, height] = size.map(|n| n.max(1) as f32);
    Axes::of(camera, width / height).ray([pixel[0] / width, 1.0 - pixel[1] / height])
}

/// Returns the distances at which `ray` enters and leaves the box from `lo` to `hi`. If it misses, the first
/// is greater. A ray that starts inside enters at a negative distance.
pub fn box_span(ray: &Ray, lo: [f32; 3], hi: [f32; 3]) -> [f32; 2] {
    let mut span = [f32::NEG_INFINITY, f32::INFINITY];
    for axis in 0..3 {
        let inv = 1.0 / away_from_zero(ray.direction[axis]);
        let (a, b) = ((lo[axis] - ray.origin[axis]) * inv, (hi[axis] - ray.origin[axis]) * inv);
        span = [span[0].max(a.min(b)), span[1].min(a.max(b))];
    }
    span
}

/// Returns `x`, or a tiny number of its sign where division by it would give ∞ · 0.
pub(super) fn away_from_zero(x: f32) -> f32 {
    if x.abs() < 1e-7 { 1e-7_f32.copysign(x) } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::corners;

    #[test]
    fn framing_shows_every_corner() {
        for extent in [[1.0, 1.0, 1.0], [0.96, 1.44, 0.96], [4.0, 0.5, 1.0], [0.1, 9.0, 0.1]] {
            let axes = Axes::of(&Camera::framing(extent), 4.0 / 3.0);
            for corner in corners([[0.0; 3], extent]) {
                let clip = axes.clip_from_world() * Point3::from(corner).to_homogeneous();
                let [x, y] = [clip.x / clip.w, clip.y / clip.w];
                assert!(clip.w > 0.0 && x.abs() < 1.0 && y.abs() < 1.0, "{extent:?}: {corner} at {x}, {y}");
            }
        }
    }

    /// Points of the plane of focus keep their place, and others move in proportion to their distance from
    /// it. Rays, matrix and the window of a box agree.
    #[test]
    fn a_lens_leaves_the_plane_of_focus_in_place() {
        for projection in [CameraProjection::Perspective, CameraProjection::Orthographic] {
            let mut camera = Camera { projection, ..Camera::framing([1.0; 3]) };
            let distance = (Point3::from(camera.target) - Point3::from(camera.position)).norm();
            camera.lens = Lens { aperture: 0.2, focus: distance - 0.3, shutter: 0.0 };
            let steady = Axes::of(&camera, 1.5);
            let seen = |axes: &Axes, p: Point3<f32>| {
                let clip = axes.clip_from_world() * p.to_homogeneous();
                [clip.x / clip.w, clip.y / clip.w]
            };
            let at = |depth: f32| {
                steady.eye + steady.forward * (steady.back + depth) + 0.3 * steady.right + 0.2 * steady.up
            };
            let is_off_the_middle = |n: &u32| noise::in_disc(*n).iter().map(|x| x * x).sum::<f32>() > 0.25;
            for number in (1..20).filter(is_off_the_middle) {
                let axes = steady.through_lens(&camera, number);
                let shift = |depth: f32| {
                    let [a, b] = [&axes, &steady].map(|axes| seen(axes, at(depth)));
                    (a[0] - b[0]).hypot(a[1] - b[1])
                };
                let sharp = shift(camera.lens.focus);
                assert!(sharp < 1e-3, "{projection:?}: focus moves by {sharp}");
                let [near, far] = [shift(distance - 0.6), shift(distance + 0.6)];
                assert!(near > 3e-3 && far > 3e-3, "{projection:?}, {number}: {near} {far}");
                let [x, y] = seen(&axes, at(2.0));
                let ray = axes.ray([0.5 * x + 0.5, 0.5 * y + 0.5]);
                let off = (at(2.0) - ray.origin).cross(&ray.direction).norm();
                assert!(off < 2e-3, "{projection:?}: the ray misses its point by {off}");
                let [lo, hi] = axes.window([0.0; 3], [1.0; 3]).unwrap();
                for corner in corners([[0.0; 3], [1.0; 3]]) {
                    let [x, y] = seen(&axes, corner.into()).map(|x| (0.5 * x + 0.5).clamp(0.0, 1.0));
                    assert!(x > lo[0] - 1e-3 && x < hi[0] + 1e-3 && y > lo[1] - 1e-3 && y < hi[1] + 1e-3);
                }
            }
        }
    }

    #[test]
    fn rays_and_matrix_agree() {
        let camera = Camera { up: [0.1, 1.0, 0.0], ..Camera::at([1.0, 2.0, 3.0], [0.2, 0.1, -0.5], 50.0) };
        let ray = ray_through(&camera, [200, 100], [150.0, 20.0]);
        let clip = Axes::of(&camera, 2.0).clip_from_world() * ray.at(2.5).to_homogeneous();
        assert!((clip.x / clip.w - 0.5).abs() < 1e-4, "{}", clip.x / clip.w);
        assert!((clip.y / clip.w - 0.6).abs() < 1e-4, "{}", clip.y / clip.w);
    }

    #[test]
    fn a_ray_enters_and_leaves_a_box() {
        let ray = Ray { origin: Point3::new(-1.0, 0.5, 0.5), direction: Vector3::x() };
        assert_eq!(box_span(&ray, [0.0; 3], [2.0, 1.0, 1.0]), [1.0, 3.0]);
        let past = box_span(&ray, [0.0, 2.0, 0.0], [2.0, 3.0, 1.0]);
        assert!(past[0] > past[1]);
    }

    #[test]
    fn degenerate_cameras_are_usable() {
        for target in [[0.0; 3], [0.0, -5.0, 0.0]] {
            let axes = Axes::of(&Camera { position: [0.0; 3], target, ..Camera::framing([1.0; 3]) }, 1.0);
            assert!(axes.right.norm() > 0.1 && axes.up.norm() > 0.1);
        }
    }

    #[test]
    fn orthographic_rays_are_parallel_and_as_high_as_the_perspective_at_the_target() {
        let near = Camera::framing([1.0, 2.0, 3.0]);
        let flat = Camera { projection: CameraProjection::Orthographic, ..near };
        let (size, target) = ([200, 100], Point3::from(near.target));
        let corners = [[0.0, 0.0], [200.0, 0.0], [200.0, 100.0], [77.0, 31.0]];
        let rays = corners.map(|pixel| ray_through(&flat, size, pixel));
        assert!(rays.iter().all(|ray| ray.direction == rays[0].direction));
        for (ray, pixel) in rays.iter().zip(corners) {
            let other = ray_through(&near, size, pixel);
            let meets = |ray: &Ray| {
                ray.at((target - ray.origin).dot(&rays[0].direction) / ray.direction.dot(&rays[0].direction))
            };
            assert!((meets(ray) - meets(&other)).norm() < 1e-3, "{pixel:?}");
        }
    }

    #[test]
    fn orthographic_rays_matrix_and_window_agree() {
        let flat = Camera { projection: CameraProjection::Orthographic, ..Camera::framing([1.0; 3]) };
        let axes = Axes::of(&flat, 2.0);
        let p = axes.ray([0.7, 0.2]).at(axes.back + 0.4);
        let clip = axes.clip_from_world() * p.to_homogeneous();
        assert!((clip.x - 0.4).abs() < 1e-3 && (clip.y + 0.6).abs() < 1e-3 && clip.w == 1.0, "{clip}");
        assert!((clip.z - axes.back - 0.4).abs() < 1e-3, "{clip}");
        let [lo, hi] = axes.window(p.coords.into(), p.coords.into()).unwrap();
        assert!((lo[0] - 0.7).abs() < 1e-3 && (hi[1] - 0.2).abs() < 1e-3, "{lo:?}");
    }
}
