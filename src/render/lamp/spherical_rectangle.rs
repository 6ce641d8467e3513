//! Directions to a rectangle, uniform in its solid angle (Ureña, Fajardo and King, An area-preserving parametrization for spherical
//! rectangles, 2013).

use std::f32::consts::TAU;

use nalgebra::Vector3;

use super::Arriving;

/// A rectangle as seen from the origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct SphericalRectangle {
    /// Unit vectors along the edges and away from the rectangle.
    axes: [Vector3<f32>; 3],
    /// Ends along both edges, and the negative distance of the plane \[m\].
    x: [f32; 2],
    y: [f32; 2],
    z: f32,
    /// Heights of the normals of the planes through the lower and the upper edge, and an angle between planes \[rad\].
    b: [f32; 2],
    k: f32,
    solid_angle: f32,
    area: f32,
}

impl SphericalRectangle {
    /// Makes one from the middle, halves of the edges and the normal that points to the origin's side. Returns `None` where the
    /// solid angle vanishes.
    pub fn new(middle: &Vector3<f32>, edges: &[Vector3<f32>; 2], normal: &Vector3<f32>) -> Option<Self> {
        let halves = edges.each_ref().map(|edge| edge.norm());
        let axes = [edges[0] / halves[0], edges[1] / halves[1], *normal];
        let [x, y] = [0, 1].map(|a| {
            let at = middle.dot(&axes[a]);
            [at - halves[a], at + halves[a]]
        });
        let z = middle.dot(normal);
        // Components along z of the normals of the planes through the origin and an edge; the other one is −z or z.
        let across = |side: f32| side / side.hypot(z);
        let n = [-across(y[0]), across(x[1]), across(y[1]), -across(x[0])];
        let angle = |i: usize| (-n[i] * n[(i + 1) % 4]).clamp(-1.0, 1.0).acos();
        let k = TAU - angle(2) - angle(3);
        let solid_angle = angle(0) + angle(1) - k;
        let area = 4.0 * halves[0] * halves[1];
        (solid_angle > 1e-4).then_some(Self { axes, x, y, z, b: [n[0], n[2]], k, solid_angle, area })
    }

    /// Samples the light by two numbers in 0..1, as [`super::Lamp::drawn`] does.
    pub fn drawn(&self, [u, v]: [f32; 2]) -> Arriving {
        let Self { axes, x, y, z, b, k, .. } = self;
        let (sin, cos) = (u * self.solid_angle + k).sin_cos();
        let f = (cos * b[0] - b[1]) / sin;
        let c = (1.0 / f.hypot(b[0])).copysign(f).clamp(-1.0, 1.0);
        let at_x = (-c * z / (1.0 - c * c).max(1e-12).sqrt()).clamp(x[0], x[1]);
        let d = at_x.hypot(*z);
        let [low, high] = y.map(|y| y / y.hypot(d));
        let h = low + v * (high - low);
        let at_y = (h * d / (1.0 - h * h).max(1e-12).sqrt()).clamp(y[0], y[1]);
        let to = axes[0] * at_x + axes[1] * at_y + axes[2] * *z;
        let distance = to.norm().max(1e-6);
        let direction = to / distance;
        Arriving { direction: direction.into(), distance, share: self.solid_angle / self.area, parallel: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::irradiance::of_polygon;

    const EDGES: [[f32; 3]; 2] = [[0.6, 0.0, 0.0], [0.0, 0.0, 0.3]];
    const NORMAL: [f32; 3] = [0.0, -1.0, 0.0];

    /// Surfaces that see all of the rectangle get the irradiance of the exact formula, from samples uniform in its solid angle.
    #[test]
    fn samples_are_uniform_in_the_solid_angle() {
        let edges = EDGES.map(Vector3::from);
        for middle in [[0.0, 0.5, 0.0], [0.1, 0.02, -0.1], [0.5, 0.3, 0.2], [-0.9, 0.4, 0.5], [2.0, 1.0, 0.3]]
        {
            let middle = Vector3::from(middle);
            let seen = SphericalRectangle::new(&middle, &edges, &NORMAL.into()).unwrap();
            let [a, b] = edges;
            let corners = [middle - a - b, middle + a - b, middle + a + b, middle - a + b];
            let exact = of_polygon(corners, &Vector3::y());
            let side = 64;
            let mut sum = 0.0;
            for n in 0..side * side {
                let Arriving { direction, distance, share, .. } =
                    seen.drawn([n % side, n / side].map(|n| (n as f32 + 0.5) / side as f32));
                let at = Vector3::from(direction) * distance - middle;
                assert!(at.x.abs() < 0.601 && at.y.abs() < 1e-3 && at.z.abs() < 0.301, "{middle}: {at}");
                sum += share * direction[1];
            }
            let got = sum / (side * side) as f32 * seen.area;
            assert!((got / exact - 1.0).abs() < 2e-3, "{middle}: {got}, not {exact}");
        }
    }

    #[test]
    fn nothing_is_seen_edge_on() {
        assert!(
            SphericalRectangle::new(&Vector3::new(3.0, 1e-6, 0.0), &EDGES.map(Vector3::from), &NORMAL.into())
                .is_none()
        );
    }
}
