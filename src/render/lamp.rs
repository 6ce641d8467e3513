//! Lights for rendering: their light at a point, and its direction. `shaders/lamp.glsl` has the same
//! formulas. The sun of a look is one of them for shadows of solids.
//!
//! A surface that faces a ball of radius R and irradiance E at 1 m gets E / r² at a distance r > R; within
//! the ball no smoke and no solid attenuates it. From each part of a rectangle it gets E cos θ / r², from a
//! sun its irradiance. Suns and balls fill a [`Cone`] of uniform radiance. Lights themselves are invisible.

mod spherical_rectangle;

use nalgebra::Vector3;

use super::camera::{self, FAR, Ray};
use super::glossy::Facet;
use super::irradiance::{Cone, across, of_polygon};
use super::lines::smoothstep;
use super::solid::Solid;
use crate::look::{Emitter, Light, Look};
use spherical_rectangle::SphericalRectangle;

/// Number of sample points of a wide light for shadows of solids.
pub(super) const SHADOWS: usize = 16;
/// Tangent of the angular radius up to which a sun counts as a point.
pub(super) const POINT_SUN: f32 = 0.008_72;
/// Radius up to which a ball counts as a point \[m\].
pub(super) const POINT_BALL: f32 = 1e-3;
/// Area of a rectangle, over its squared distance, below which it counts as a point.
pub(super) const POINT_AREA: f32 = 1e-4;
/// Area of a rectangle, over its squared distance, from which on its solid angle is divided in place of its area.
const CLOSE_AREA: f32 = 0.1;
/// The three Gauss points of an interval, as shares of its length, and their weights.
const GAUSS: [(f32, f32); 3] = [(0.112_701_67, 5.0 / 18.0), (0.5, 4.0 / 9.0), (0.887_298_35, 5.0 / 18.0)];
/// Fractional part of the golden ratio, whose multiples are spread evenly over 0..1.
const GOLDEN: f32 = 0.618_034;

/// A light.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lamp {
    /// Colour times strength.
    pub color: [f32; 3],
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// Direction to a sun, and the tangent of its angular radius.
    Sun { direction: Vector3<f32>, slope: f32 },
    /// A ball with a cone around an axis: the cosines of its edge and of its full light.
    Ball { middle: Vector3<f32>, radius: f32, axis: Vector3<f32>, cosines: [f32; 2] },
    /// A rectangle with its normal and half of its edges.
    Area { middle: Vector3<f32>, normal: Vector3<f32>, edges: [Vector3<f32>; 2] },
}

/// Light on its way to a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arriving {
    /// Unit vector towards the light.
    pub direction: [f32; 3],
    /// Distance of the light \[m\].
    pub distance: f32,
    /// Integral of the radiance over the directions, for a colour of 1. Times `parallel` it is the irradiance
    /// on a surface that faces the light.
    pub share: f32,
    /// Mean cosine between the direction and those to all points of the light: less than 1 close to a ball and under a wide sun.
    pub parallel: f32,
}

impl Lamp {
    /// Returns the lights of a look.
    pub fn all(look: &Look) -> Vec<Self> {
        look.lights.iter().take(Light::MOST).map(Self::of).collect()
    }

    /// Returns the sun of a look.
    pub fn sun(look: &Look) -> Self {
        let emitter = Emitter::Sun { direction: look.sun_direction, size: look.sun_size };
        Self::of(&Light { emitter, color: look.sun, strength: 1.0 })
    }

    /// Makes a lamp of a light.
    pub fn of(light: &Light) -> Self {
        let color = light.color.map(|x| x * light.strength);
        let kind = match light.emitter {
            Emitter::Sun { direction, size } => Kind::Sun {
                direction: unit(direction),
                slope: (0.5 * size.clamp(0.0, 90.0)).to_radians().tan(),
            },
            Emitter::Point { position, radius } => {
                Kind::Ball { middle: position.into(), radius, axis: Vector3::y(), cosines: [-3.0, -2.0] }
            }
            Emitter::Spot { position, target, angle, softness, radius } => {
                let half = (0.5 * angle).clamp(0.05, 179.0).to_radians();
                let inner = half * (1.0 - softness.clamp(0.0, 1.0));
                let [outer, inner] = [half, inner].map(f32::cos);
                let axis = unit(std::array::from_fn(|a| target[a] - position[a]));
                Kind::Ball {
                    middle: position.into(),
                    radius,
                    axis,
                    cosines: [outer, inner.max(outer + 1e-5)],
                }
            }
            Emitter::Area { position, target, size } => {
                let normal = unit(std::array::from_fn(|a| target[a] - position[a]));
                let up = if normal.y.abs() < 0.999 { Vector3::y() } else { Vector3::z() };
                let across = up.cross(&normal).normalize();
                let edges = [across * (0.5 * size[0]), normal.cross(&across) * (0.5 * size[1])];
                Kind::Area { middle: position.into(), normal, edges }
            }
        };
        Self { color, kind }
    }

    /// Returns the light at a point in parts: for a rectangle from Gauss points, otherwise all from the middle.
    /// Gauss points of a rectangle close by are those of its solid angle.
    pub fn arriving(&self, p: [f32; 3]) -> impl Iterator<Item = Arriving> {
        let close = self.spherical(p);
        self.gauss(move |u| close.map_or_else(|| self.drawn(p, u), |close| close.drawn(u)))
    }

    /// Returns the light for the reflection of a coat in parts, as `lamp_glossy` of `lamp.glsl` has it: of a rectangle always from the Gauss
    /// points of its area, which are at least as far away as from each other.
    fn for_coat(&self, p: [f32; 3]) -> impl Iterator<Item = Arriving> {
        let near = match &self.kind {
            Kind::Area { edges, .. } => 0.25 * edges[0].norm() * edges[1].norm(),
            _ => 0.0,
        };
        self.gauss(move |u| {
            let all = self.drawn(p, u);
            let square = all.distance * all.distance;
            let kept = if near > 0.0 { square / square.max(near).max(1e-12) } else { 1.0 };
            Arriving { share: kept * all.share, ..all }
        })
    }

    /// Returns the parts of a light from the Gauss points of a rectangle, otherwise all from the middle.
    fn gauss(&self, drawn: impl Fn([f32; 2]) -> Arriving) -> impl Iterator<Item = Arriving> {
        let side = if matches!(self.kind, Kind::Area { .. }) { GAUSS.len() } else { 1 };
        (0..side * side).map(move |part| {
            if side == 1 {
                return drawn([0.0; 2]);
            }
            let ((u, by), (v, across)) = (GAUSS[part % side], GAUSS[part / side]);
            let all = drawn([u, v]);
            Arriving { share: by * across * all.share, ..all }
        })
    }

    /// Samples a point of the lamp as [`Lamp::drawn`] does, but a rectangle close by uniformly in its solid angle.
    pub fn drawn_by_angle(&self, p: [f32; 3], u: [f32; 2]) -> Arriving {
        self.spherical(p).map_or_else(|| self.drawn(p, u), |wide| wide.drawn(u))
    }

    /// Returns a rectangle as seen from a point close to its front.
    fn spherical(&self, p: [f32; 3]) -> Option<SphericalRectangle> {
        let Kind::Area { middle, normal, edges } = &self.kind else { return None };
        let to = middle - Vector3::from(p);
        let [half, along] = edges.each_ref().map(|edge| edge.norm());
        let is_close = 4.0 * half * along > CLOSE_AREA * to.norm_squared();
        (is_close && to.dot(normal) < 0.0).then(|| SphericalRectangle::new(&to, edges, normal))?
    }

    /// Samples a point of the lamp by two numbers in 0..1. Returns the whole light as if it came from there.
    /// Uniform numbers give uniform directions in the cone of a sun or a ball, or uniform points of a
    /// rectangle; 0 gives the middle of a cone.
    pub fn drawn(&self, p: [f32; 3], u: [f32; 2]) -> Arriving {
        let p = Vector3::from(p);
        let parallel = |cone: Cone| if u[0] > 0.0 { 1.0 } else { cone.mean_cosine() };
        match &self.kind {
            Kind::Sun { direction, slope } => {
                let cone = Cone::of_sun(*slope);
                Arriving {
                    direction: cone.direction(direction, u).into(),
                    distance: FAR,
                    share: 1.0 / cone.mean_cosine(),
                    parallel: parallel(cone),
                }
            }
            Kind::Ball { middle, radius, axis, cosines: [outer, inner] } => {
                let way = middle - p;
                let away = way.norm();
                let towards = if away > 1e-9 { way / away } else { Vector3::y() };
                let spot = smoothstep(0.0, 1.0, (-towards.dot(axis) - outer) / (inner - outer));
                let cone = Cone::of_ball(away, *radius);
                let direction = cone.direction(&towards, u);
                // Within the ball its light is not attenuated.
                let along = way.dot(&direction);
                let aside = (away * away - along * along).max(0.0);
                let distance = (along - (radius * radius - aside).max(0.0).sqrt()).max(0.0);
                let facing = spot / (away * away).max(radius * radius).max(1e-12);
                // Within the ball its light is constant.
                let share = facing / cone.mean_cosine().max(0.5);
                Arriving { direction: direction.into(), distance, share, parallel: parallel(cone) }
            }
            Kind::Area { middle, normal, edges } => {
                let to = middle + edges[0] * (2.0 * u[0] - 1.0) + edges[1] * (2.0 * u[1] - 1.0) - p;
                let distance = to.norm().max(1e-6);
                let direction = to / distance;
                let cosine = (-direction.dot(normal)).max(0.0);
                let share = cosine / (distance * distance);
                Arriving { direction: direction.into(), distance, share, parallel: 1.0 }
            }
        }
    }

    /// Returns the data for the shader, as described in `lamp.glsl`.
    #[cfg(feature = "viewer")]
    pub fn packed(&self) -> [[f32; 4]; 6] {
        let four = |v: &Vector3<f32>, w: f32| [v.x, v.y, v.z, w];
        let [r, g, b] = self.color;
        let (middle, axis, cosines, edges) = match &self.kind {
            Kind::Sun { direction, slope } => (four(direction, 0.0), [0.0, 0.0, 0.0, *slope], [0.0; 2], None),
            Kind::Ball { middle, radius, axis, cosines } => {
                (four(middle, 1.0), four(axis, *radius), *cosines, None)
            }
            Kind::Area { middle, normal, edges } => {
                (four(middle, 2.0), four(normal, 1.0), [0.0; 2], Some(edges))
            }
        };
        let [across, along] =
            edges.map_or([[0.0; 4]; 2], |edges| edges.each_ref().map(|edge| four(edge, 0.0)));
        [middle, axis, [cosines[0], cosines[1], 0.0, 0.0], across, along, [r, g, b, 0.0]]
    }

    /// Returns whether it is a sun.
    pub fn is_far(&self) -> bool {
        matches!(self.kind, Kind::Sun { .. })
    }

    /// Returns whether its shadows have penumbrae.
    pub fn is_wide(&self) -> bool {
        match &self.kind {
            Kind::Sun { slope, .. } => *slope > POINT_SUN,
            Kind::Ball { radius, .. } => *radius > POINT_BALL,
            Kind::Area { .. } => true,
        }
    }

    /// Returns the `n`th of `count` points of the light, as numbers for [`Lamp::drawn`]. `turn` in 0..1 moves all of them around the
    /// middle of a cone, or along an edge of a rectangle.
    pub fn spread(n: usize, count: usize, turn: f32) -> [f32; 2] {
        Self::shifted(n, count, [0.5, turn])
    }

    /// Returns the same, moved within their parts of the light: by as much of a part outwards, or along the other edge.
    pub fn shifted(n: usize, count: usize, [out, turn]: [f32; 2]) -> [f32; 2] {
        if count == 1 {
            return [0.0; 2];
        }
        [(n as f32 + out) / count as f32, (n as f32 * GOLDEN + turn).fract()]
    }

    /// Returns half of its extent \[m\], from a distance of `away`.
    pub fn half_extent(&self, away: f32) -> f32 {
        match &self.kind {
            Kind::Sun { slope, .. } => slope * away,
            Kind::Ball { radius, .. } => *radius,
            Kind::Area { edges, .. } => edges[0].norm().hypot(edges[1].norm()),
        }
    }

    /// Returns the share of the light at a point that a solid does not hide, as the mean over a disc of
    /// diameter `edge` \[m\] that faces the light: edges of shadows are as wide as their penumbra and the
    /// disc together.
    pub fn clear_of(&self, solid: &Solid, p: [f32; 3], edge: f32) -> f32 {
        let Arriving { direction, distance, .. } = self.drawn(p, self.middle());
        let axis = Vector3::from(direction);
        let along = (Vector3::from(solid.center) - Vector3::from(p)).dot(&axis) + solid.bounding_radius();
        let along = along.clamp(0.0, distance);
        let spread = match &self.kind {
            Kind::Sun { slope, .. } => slope * along,
            _ => self.half_extent(distance) * along / distance.max(1e-6),
        };
        let clearance = solid.clearance(p, direction, distance) / (0.5 * edge + spread);
        // The surface of a thin solid is near everywhere in its shadow, so the distance is of no use there.
        if clearance.abs() >= 1.0 || solid.distance(p) <= 0.0 {
            return (0.5 + 0.5 * clearance).clamp(0.0, 1.0);
        }
        let [a, b] = across(&axis);
        let open = |n: &usize| {
            let [square, turn] = Self::spread(*n, SHADOWS, 0.0);
            let (sin, cos) = (turn * std::f32::consts::TAU).sin_cos();
            let origin = Vector3::from(p) + (a * cos + b * sin) * (0.5 * edge * square.sqrt());
            let to = if self.is_wide() { [square, turn] } else { self.middle() };
            let Arriving { direction, distance, .. } = self.drawn(origin.into(), to);
            let ray = Ray { origin: origin.into(), direction: direction.into() };
            solid.meet(&ray, 0).is_none_or(|meeting| meeting.t >= distance)
        };
        (0..SHADOWS).filter(open).count() as f32 / SHADOWS as f32
    }

    /// Returns the numbers for [`Lamp::drawn`] that give points of its edge: the corners of a rectangle.
    pub fn edge(&self) -> [[f32; 2]; 4] {
        let is_area = matches!(self.kind, Kind::Area { .. });
        std::array::from_fn(
            |n| {
                if is_area { [n & 1, n >> 1].map(|n| n as f32) } else { [1.0, 0.25 * n as f32] }
            },
        )
    }

    /// Returns the numbers for [`Lamp::drawn`] that give its middle.
    pub fn middle(&self) -> [f32; 2] {
        if matches!(self.kind, Kind::Area { .. }) { [0.5; 2] } else { [0.0; 2] }
    }

    /// Returns the light of a sun for each colour, in the measure of [`Arriving::share`].
    pub fn over_all_directions(&self) -> [f32; 3] {
        let Arriving { share, .. } = self.drawn([0.0; 3], self.middle());
        self.color.map(|x| share * x)
    }

    /// Returns the mean cosine between a normal and the directions of a sun or a ball, with 0 below the
    /// horizon.
    pub fn mean_cosine(&self, p: [f32; 3], normal: [f32; 3]) -> f32 {
        let Arriving { direction, .. } = self.drawn(p, self.middle());
        let cone = match &self.kind {
            Kind::Sun { slope, .. } => Cone::of_sun(*slope),
            Kind::Ball { middle, radius, .. } => Cone::of_ball((middle - Vector3::from(p)).norm(), *radius),
            Kind::Area { .. } => Cone::POINT,
        };
        cone.mean_cosine_above(Vector3::from(direction).dot(&Vector3::from(normal)))
    }

    /// Returns the irradiance on a surface with a normal, for a colour of 1, without solids and smoke.
    pub fn unhidden(&self, p: [f32; 3], normal: [f32; 3]) -> f32 {
        if let Kind::Area { middle, normal: ahead, edges: [a, b] } = &self.kind {
            let to = middle - Vector3::from(p);
            let area = 4.0 * a.norm() * b.norm();
            if area > POINT_AREA * to.norm_squared() {
                let corners = [to - a - b, to + a - b, to + a + b, to - a + b];
                return if to.dot(ahead) < 0.0 { of_polygon(corners, &normal.into()) / area } else { 0.0 };
            }
        }
        self.drawn(p, self.middle()).share * self.mean_cosine(p, normal)
    }

    /// Returns the irradiance on a surface with a normal, for a colour of 1, with the shadows of solids.
    /// `turn` in 0..1 rotates the points of a wide light, so that shadows end in grain, not in steps.
    pub fn at_surface(&self, p: [f32; 3], normal: [f32; 3], solids: &[Solid], turn: f32) -> f32 {
        self.at_facet(p, &Facet::matte(normal), solids, turn)[0]
    }

    /// Returns the irradiance as [`Lamp::at_surface`] does, and the radiance that the coat of the surface
    /// reflects to the eye.
    pub fn at_facet(&self, p: [f32; 3], facet: &Facet, solids: &[Solid], turn: f32) -> [f32; 2] {
        let normal = facet.normal.into();
        let all = self.unhidden(p, normal);
        if all <= 0.0 {
            return [0.0; 2];
        }
        let mut glossy = 0.0;
        if facet.coat.is_some() {
            for Arriving { direction, distance, share, .. } in self.for_coat(p) {
                glossy += share * facet.glossy(direction.into(), self.angular_radius(distance));
            }
        }
        let seen = if solids.is_empty() { 1.0 } else { self.seen(p, normal, solids, turn) };
        [seen * all, seen * glossy]
    }

    /// Returns the angular radius of one of the parts of [`Lamp::arriving`] from a distance \[rad\].
    pub fn angular_radius(&self, distance: f32) -> f32 {
        match &self.kind {
            Kind::Sun { slope, .. } => slope.atan(),
            Kind::Ball { radius, .. } => radius / (distance + radius).max(1e-6),
            Kind::Area { edges, .. } => 0.3 * edges[0].norm().max(edges[1].norm()) / distance,
        }
    }

    /// Returns the visible share of the light above the horizon of a surface. `turn` as for
    /// [`Lamp::at_surface`].
    pub fn seen(&self, p: [f32; 3], normal: [f32; 3], solids: &[Solid], turn: f32) -> f32 {
        let Arriving { direction, distance, .. } = self.drawn(p, self.middle());
        let axis = Vector3::from(direction);
        let near = |solid: &&Solid| {
            let to = Vector3::from(solid.center) - Vector3::from(p);
            let along = to.dot(&axis).clamp(0.0, distance);
            (to - axis * along).norm() < solid.bounding_radius() + self.half_extent(to.norm())
        };
        if !solids.iter().any(|solid| near(&solid)) {
            return 1.0;
        }
        let count = if self.is_wide() { SHADOWS } else { 1 };
        let (mut open, mut all) = (0.0, 0.0);
        for n in 0..count {
            let Arriving { direction, distance, share, .. } = self.drawn(p, Self::spread(n, count, turn));
            let cosine = Vector3::from(direction).dot(&Vector3::from(normal));
            // Points below the horizon do not contribute to the irradiance without solids.
            let weight = if count > 1 { share * cosine.max(0.0) } else { 1.0 };
            let ray = Ray { origin: p.into(), direction: direction.into() };
            let hides = |solid: &Solid| solid.meet(&ray, 0).is_some_and(|meeting| meeting.t < distance);
            if weight > 0.0 && !solids.iter().filter(near).any(hides) {
                open += weight;
            }
            all += weight;
        }
        if all > 0.0 { open / all } else { 0.0 }
    }
}

fn unit(v: [f32; 3]) -> Vector3<f32> {
    camera::unit(v).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::solid::Shape;

    const UP: [f32; 3] = [0.0, 1.0, 0.0];

    fn lamp(emitter: Emitter) -> Lamp {
        Lamp::of(&Light { emitter, color: [1.0; 3], strength: 1.0 })
    }

    /// Returns the mean light at `p` of many points of a lamp.
    fn mean(lamp: &Lamp, p: [f32; 3], normal: [f32; 3]) -> f32 {
        let side = 200;
        let one = |n: usize| {
            let u = [n % side, n / side].map(|n| (n as f32 + 0.5) / side as f32);
            let Arriving { direction, share, .. } = lamp.drawn(p, u);
            share * (0..3).map(|a| direction[a] * normal[a]).sum::<f32>().max(0.0)
        };
        (0..side * side).map(one).sum::<f32>() / (side * side) as f32
    }

    #[test]
    fn the_strength_is_the_irradiance_at_a_metre_straight_ahead() {
        let (position, target) = ([0.3, 2.0, 0.1], [0.3, 1.0, 0.1]);
        for emitter in [
            Emitter::Sun { direction: [0.0, 1.0, 0.0], size: 0.0 },
            Emitter::Point { position, radius: 0.01 },
            Emitter::Spot { position, target, angle: 40.0, softness: 0.3, radius: 0.01 },
            Emitter::Area { position, target, size: [0.02, 0.02] },
        ] {
            let got = lamp(emitter).at_surface(target, [0.0, 1.0, 0.0], &[], 0.0);
            assert!((got - 1.0).abs() < 1e-3, "{emitter:?}: {got}");
        }
    }

    /// Tries surfaces that face a wide light, and others whose horizon hides its middle.
    #[test]
    fn a_wide_light_shines_as_all_of_its_points() {
        let position = [0.0, 1.0, 0.0];
        for emitter in [
            Emitter::Sun { direction: UP, size: 30.0 },
            Emitter::Sun { direction: UP, size: 90.0 },
            Emitter::Point { position, radius: 0.5 },
            Emitter::Area { position, target: [0.0; 3], size: [0.8, 0.4] },
        ] {
            let light = lamp(emitter);
            for p in [[0.0, 0.0, 0.0], [0.5, 0.6, 0.2], [0.9, 0.2, -0.4]] {
                for normal in [UP, [0.6, 0.8, 0.0], [1.0, 0.0, 0.0], [0.0, -0.28, 0.96]] {
                    let (got, want) = (light.at_surface(p, normal, &[], 0.0), mean(&light, p, normal));
                    let off = (got - want).abs();
                    assert!(off < 2e-3 * (1.0 + want), "{emitter:?}, {p:?}, {normal:?}: {got}, not {want}");
                }
            }
        }
    }

    /// For the sides of a box below a light, their horizon and the box itself hide the same part.
    #[test]
    fn a_solid_hides_from_its_own_side_what_its_horizon_hides() {
        let position = [0.0, 0.9, 0.0];
        let block =
            Solid { rotation: [0.0, 0.0, 0.0, 1.0], shape: Shape::Box { half: [0.1; 3] }, center: [0.0; 3] };
        for emitter in [
            Emitter::Sun { direction: UP, size: 90.0 },
            Emitter::Point { position, radius: 0.5 },
            Emitter::Area { position, target: [0.0; 3], size: [1.0; 2] },
        ] {
            let (light, p, normal) = (lamp(emitter), [0.1001, 0.02, 0.03], [1.0, 0.0, 0.0]);
            let got = light.at_surface(p, normal, std::slice::from_ref(&block), 0.3);
            let want = mean(&light, p, normal);
            assert!((got / want - 1.0).abs() < 0.01, "{emitter:?}: {got}, not {want}");
        }
    }

    /// The strength is the irradiance on a surface that faces the light, of any width.
    #[test]
    fn points_of_a_wide_light_sum_up_to_its_strength() {
        for size in [0.5, 20.0, 60.0, 90.0] {
            let got = mean(&sun(size, UP), [0.0; 3], UP);
            assert!((got - 1.0).abs() < 1e-3, "sun of {size}°: {got}");
        }
        for radius in [0.01, 0.5, 1.0] {
            let ball = lamp(Emitter::Point { position: [0.0, 1.5, 0.0], radius });
            let got = mean(&ball, [0.0; 3], UP) * 2.25;
            assert!((got - 1.0).abs() < 1e-3, "ball of {radius} m: {got}");
        }
    }

    #[test]
    fn a_spot_is_dark_beside_its_cone_and_soft_at_its_edge() {
        let (position, target) = ([0.0, 1.0, 0.0], [0.0; 3]);
        let spot = lamp(Emitter::Spot { position, target, angle: 90.0, softness: 0.5, radius: 0.0 });
        let at = |x: f32| spot.at_surface([x, 0.0, 0.0], [0.0, 1.0, 0.0], &[], 0.0) * (1.0 + x * x).powf(1.5);
        assert!((at(0.3) - 1.0).abs() < 1e-3 && at(1.01) == 0.0);
        assert!((0.1..0.9).contains(&at(0.7)), "{}", at(0.7));
    }

    fn sun(size: f32, direction: [f32; 3]) -> Lamp {
        lamp(Emitter::Sun { direction, size })
    }

    /// A plate thinner than the spacing of points, two boxes that touch, and a blade on its edge hide a
    /// covered sun entirely.
    #[test]
    fn thin_and_touching_solids_let_no_sun_through() {
        let block = |half: [f32; 3], center: [f32; 3]| Solid {
            rotation: [0.0, 0.0, 0.0, 1.0],
            shape: Shape::Box { half },
            center,
        };
        let plate = [block([0.5, 0.006, 0.5], [0.0, 1.2, 0.0])];
        let seam = [block([0.5, 0.2, 0.5], [-0.5, 1.2, 0.0]), block([0.5, 0.2, 0.5], [0.5, 1.2, 0.0])];
        let blade = block([0.006, 0.4, 0.4], [0.0, 1.2, 0.0]);
        for size in [0.0, 1.0, 2.0, 4.0, 8.0] {
            let above = sun(size, [0.0, 1.0, 0.0]);
            for solids in [&plate[..], &seam] {
                for x in [-0.2, 0.0, 0.2] {
                    assert_eq!(above.seen([x, 0.0, 0.1], UP, solids, 0.3), 0.0, "{size} {x}");
                }
            }
            let clear = above.clear_of(&plate[0], [0.1, 0.0, 0.1], 0.02);
            assert_eq!(clear, 0.0, "plate at {size}");
            assert!((above.clear_of(&plate[0], [0.5, 0.0, 0.0], 0.02) - 0.5).abs() < 0.1);
            assert_eq!(above.clear_of(&plate[0], [0.7, 0.0, 0.0], 0.02), 1.0);
            let beside = sun(size, [1.0, 0.0, 0.0]).clear_of(&blade, [-1.0, 1.2, 0.0], 0.02);
            assert_eq!(beside, 0.0, "blade at {size}");
        }
    }

    #[test]
    fn penumbrae_are_those_of_many_rays() {
        let disc = sun(8.0, [0.48, 0.8, 0.36]);
        let at = |shape| Solid { rotation: [0.2, 0.5, -0.3, 0.8], shape, center: [0.3, 0.9, -0.1] };
        for shape in [
            Shape::Sphere { radius: 0.3 },
            Shape::Box { half: [0.3, 0.02, 0.25] },
            Shape::Cylinder { radius: 0.2, half_height: 0.3 },
        ] {
            let solid = [at(shape)];
            let mut soft = 0;
            for n in 0..40 * 40 {
                let p = [(n % 40) as f32 * 0.045 - 1.2, 0.0, (n / 40) as f32 * 0.045 - 1.3];
                let open = (0..400).filter(|&n| {
                    let ray = disc.drawn(p, Lamp::spread(n, 400, 0.0)).direction;
                    solid[0].meet(&Ray { origin: p.into(), direction: ray.into() }, 0).is_none()
                });
                let want = open.count() as f32 / 400.0;
                soft += i32::from(want > 0.0 && want < 1.0);
                for turn in [0.0, 0.4] {
                    let got = disc.seen(p, UP, &solid, turn);
                    assert!((got - want).abs() < 0.13, "{p:?}: {got}, not {want}");
                }
            }
            assert!(soft > 100, "{soft} points lie in the penumbra");
        }
    }

    #[test]
    fn a_solid_hides_half_of_a_lamp_that_it_covers_by_half() {
        let block = |x: f32| Solid {
            rotation: [0.0, 0.0, 0.0, 1.0],
            shape: Shape::Box { half: [1.0, 0.1, 1.0] },
            center: [x, 0.5, 0.0],
        };
        let ball = lamp(Emitter::Point { position: [0.0, 1.0, 0.0], radius: 0.1 });
        let at = |x: f32| ball.at_surface([0.0; 3], [0.0, 1.0, 0.0], &[block(x)], 0.0);
        assert_eq!([at(0.5), at(-1.2)], [0.0, 1.0]);
        assert!((at(-1.0) - 0.5).abs() < 0.13, "{}", at(-1.0));
    }
}
