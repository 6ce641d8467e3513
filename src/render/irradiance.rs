//! Irradiance of wide lights on surfaces whose horizon may hide a part of them. `shaders/irradiance.glsl` has the same formulas.

use std::f32::consts::{FRAC_1_PI, FRAC_PI_2, TAU};

use nalgebra::Vector3;

/// A cone up to this one is a flat disc: shaders lack the digits for the exact formula.
pub(super) const NARROW: f32 = 1e-3;

/// A cone of directions with the same radiance in each, by 1 − cos σ of its half angle σ: up to 1 it lies within a hemisphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cone(f32);

impl Cone {
    /// A single direction.
    pub const POINT: Self = Self(0.0);

    /// The cone of a sun, from the tangent of its angular radius. 1 − cos σ itself would lose the digits of a small sun.
    pub fn of_sun(slope: f32) -> Self {
        let secant = (1.0 + slope * slope).sqrt();
        Self(slope * slope / (secant * secant + secant))
    }

    /// The cone that a ball fills at a distance of `away`. Within the ball it opens, to all directions in the middle.
    pub fn of_ball(away: f32, radius: f32) -> Self {
        if away <= radius {
            return Self(2.0 - away / radius.max(1e-9));
        }
        let square = (radius / away).powi(2);
        Self(square / (1.0 + (1.0 - square).sqrt()))
    }

    /// Mean cosine to the axis.
    pub fn mean_cosine(self) -> f32 {
        1.0 - 0.5 * self.0
    }

    /// A direction of the cone around an axis, by two numbers in 0..1: uniform ones spread evenly over the cone, 0 gives the axis.
    pub fn direction(self, axis: &Vector3<f32>, u: [f32; 2]) -> Vector3<f32> {
        let less = u[0] * self.0;
        let (sin, cos) = (u[1] * TAU).sin_cos();
        let [a, b] = across(axis);
        axis * (1.0 - less) + (a * cos + b * sin) * (less * (2.0 - less)).max(0.0).sqrt()
    }

    /// Mean over the cone of the cosine to a normal, with 0 below its horizon. `cosine` is that between normal and axis.
    pub fn mean_cosine_above(self, cosine: f32) -> f32 {
        let Self(less) = self;
        if less > 1.0 {
            // All directions but those of the opposite cone.
            return (1.0 - form_factor(2.0 - less, -cosine)) / (2.0 * less);
        }
        let square = less * (2.0 - less);
        if cosine * cosine >= square {
            return cosine.max(0.0) * self.mean_cosine();
        }
        if less < NARROW {
            let (radius, t) = (square.sqrt(), cosine / square.sqrt());
            let root = (1.0 - t * t).sqrt();
            let sum = t * (FRAC_PI_2 + t.asin() + t * root) + 2.0 / 3.0 * root * root * root;
            return radius * FRAC_1_PI * sum;
        }
        (form_factor(less, cosine) / (2.0 * less)).max(0.0)
    }
}

/// Irradiance over that of a whole hemisphere, of a cone with 1 − cos σ = `less` up to 1 (Snyder, Area light sources for real-time
/// graphics, 1996).
fn form_factor(less: f32, cosine: f32) -> f32 {
    let square = less * (2.0 - less);
    if cosine * cosine >= square {
        return square * cosine.max(0.0);
    }
    let (sine, inverse_slope) = ((1.0 - cosine * cosine).sqrt(), (1.0 - less) / square.sqrt());
    let y = (-inverse_slope * cosine / sine).clamp(-1.0, 1.0);
    let root = sine * (1.0 - y * y).sqrt();
    ((cosine * y.acos() - inverse_slope * root) * square + root.atan2(inverse_slope)) * FRAC_1_PI
}

/// Irradiance at the origin of a flat convex polygon with a radiance of 1, as far as it lies above the horizon of a normal (Lambert's
/// formula: half of the sum, over its edges, of their angles times the cosines of the normals of their planes).
pub(super) fn of_polygon<const N: usize>(corners: [Vector3<f32>; N], normal: &Vector3<f32>) -> f32 {
    let (mut sum, mut sets, mut rises) = (0.0, None, None);
    for n in 0..N {
        let (mut a, mut b) = (corners[n], corners[(n + 1) % N]);
        let [up, on] = [a.dot(normal), b.dot(normal)];
        if up <= 0.0 && on <= 0.0 {
            continue;
        }
        if up <= 0.0 || on <= 0.0 {
            let horizon = a + (b - a) * (up / (up - on));
            if up <= 0.0 {
                (a, rises) = (horizon, Some(horizon));
            } else {
                (b, sets) = (horizon, Some(horizon));
            }
        }
        sum += of_edge(&a, &b, normal);
    }
    if let (Some(sets), Some(rises)) = (sets, rises) {
        sum += of_edge(&sets, &rises, normal);
    }
    0.5 * sum.abs()
}

fn of_edge(a: &Vector3<f32>, b: &Vector3<f32>, normal: &Vector3<f32>) -> f32 {
    let across = a.cross(b);
    let length = across.norm();
    if length > 0.0 { across.dot(normal) / length * length.atan2(a.dot(b)) } else { 0.0 }
}

/// Two unit vectors at right angles to an axis and to each other.
pub(super) fn across(axis: &Vector3<f32>) -> [Vector3<f32>; 2] {
    let aside = if axis.x.abs() < 0.7 { Vector3::x() } else { Vector3::y() };
    let a = axis.cross(&aside).normalize();
    [a, axis.cross(&a)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean of the clamped cosine over many directions of a cone.
    fn sampled(cone: Cone, cosine: f32) -> f32 {
        let normal = Vector3::new((1.0 - cosine * cosine).sqrt(), 0.0, cosine);
        let side = 300;
        let one = |n: usize| {
            let u = [n % side, n / side].map(|n| (n as f32 + 0.5) / side as f32);
            f64::from(cone.direction(&Vector3::z(), u).dot(&normal).max(0.0))
        };
        ((0..side * side).map(one).sum::<f64>() / (side * side) as f64) as f32
    }

    #[test]
    fn the_mean_cosine_of_a_cone_stops_at_the_horizon() {
        let balls = [0.01, 0.5, 0.9, 1.1, 4.0].map(|away| Cone::of_ball(away, 0.5));
        let suns = [0.004_363, 0.1, 0.577, 1.0].map(Cone::of_sun);
        for cone in balls.into_iter().chain(suns) {
            for cosine in [1.0, 0.7, 0.3, 0.05, 0.0, -0.05, -0.3, -0.7, -1.0] {
                let (got, want) = (cone.mean_cosine_above(cosine), sampled(cone, cosine));
                assert!((got - want).abs() < 4e-4, "{cone:?}, {cosine}: {got}, not {want}");
            }
        }
    }

    #[test]
    fn a_polygon_is_cut_at_the_horizon() {
        let (middle, [a, b]) = (Vector3::new(0.2, -0.1, 0.6), [Vector3::x() * 0.7, Vector3::y() * 0.4]);
        let corners = [-a - b, a - b, a + b, b - a].map(|corner| middle + corner);
        for normal in [[0.0, 0.0, 1.0], [1.0, 0.0, 0.1], [0.3, 0.8, -0.2], [-0.9, 0.3, 0.1], [0.0, 0.0, -1.0]]
        {
            let normal = Vector3::from(normal).normalize();
            let side = 400;
            let one = |n: usize| {
                let [u, v] = [n % side, n / side].map(|n| (2 * n + 1) as f32 / side as f32 - 1.0);
                let to = middle + a * u + b * v;
                to.z * normal.dot(&to).max(0.0) / to.norm_squared().powi(2)
            };
            let want = (0..side * side).map(one).sum::<f32>() * 4.0 * 0.7 * 0.4 / (side * side) as f32;
            let got = of_polygon(corners, &normal);
            assert!((got - want).abs() < 1e-3, "{normal}: {got}, not {want}");
        }
    }
}
