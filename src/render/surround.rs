//! The light of an environment map: suns and spherical harmonics of the rest for smoke and floor, the map
//! itself for paths and the background.
//!
//! Means of L, of L Ω and of L Ω Ωᵀ over the sphere determine the spherical harmonics up to degree 2. The
//! radiance without finer detail is
//!
//! ```text
//! L₂(Ω) = M₀ + 3 M₁·Ω + ½ (15 Ω·M₂Ω − 5 M₀)
//! ```
//!
//! and the radiance of a white Lambertian surface with the normal n is M₀ + 2 M₁·n + ⅛ (15 n·M₂n − 5 M₀)
//! (Ramamoorthi and Hanrahan 2001).

use std::sync::Arc;

use super::stage::is_below_floor;
use crate::look::{Emitter, Environment, Light, Moments, Sphere};

/// An environment map with its rotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Surround {
    sphere: Arc<Sphere>,
    strength: f32,
    /// Sine and cosine of the rotation.
    turn: [f32; 2],
    moments: [Moments; 3],
    /// Whether a floor hides its lower half.
    has_floor: bool,
}

impl Surround {
    /// Makes the light of an environment, if there is one. A floor hides the lower half of it: the harmonics are then those of the
    /// upper half and its mirror image.
    pub fn of(environment: &Environment, has_floor: bool) -> Option<Self> {
        let sphere = environment.sphere.clone()?;
        let (sin, cos) = environment.rotation.to_radians().sin_cos();
        let strength = environment.strength.max(0.0);
        let moments = if has_floor { *sphere.moments_above() } else { *sphere.moments() };
        let mut own = Self { strength, turn: [sin, cos], moments, has_floor, sphere };
        own.moments = own.moments.map(|moments| own.turned(&moments));
        Some(own)
    }

    fn turned(&self, Moments { mean, first, second }: &Moments) -> Moments {
        let [xx, yy, zz, xy, xz, yz] = *second;
        // Columns, then rows.
        let columns = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]].map(|column| self.to_world(column));
        let row = |a: usize| self.to_world(columns.map(|column| column[a]));
        let [x, y, z] = [row(0), row(1), row(2)];
        let scaled = |x: f32| self.strength * x;
        Moments {
            mean: scaled(*mean),
            first: self.to_world(*first).map(scaled),
            second: [x[0], y[1], z[2], x[1], x[2], y[2]].map(scaled),
        }
    }

    fn to_world(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let [sin, cos] = self.turn;
        [cos * x + sin * z, y, cos * z - sin * x]
    }

    /// Converts a direction to the frame of the map.
    pub fn to_picture(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let [sin, cos] = self.turn;
        [cos * x - sin * z, y, cos * z + sin * x]
    }

    /// Returns the radiance from a direction.
    pub fn radiance(&self, from: [f32; 3]) -> [f32; 3] {
        self.sphere.radiance(self.to_picture(from)).map(|x| self.strength * x)
    }

    /// Returns the radiance from a direction for paths, see [`Sphere::texel_radiance`].
    pub fn texel_radiance(&self, from: [f32; 3]) -> [f32; 3] {
        self.sphere.texel_radiance(self.to_picture(from)).map(|x| self.strength * x)
    }

    /// Returns its small bright parts, as lights.
    pub fn suns(&self) -> impl Iterator<Item = Light> {
        let shown = |sun: &&Light| !self.has_floor || !is_below_floor(&sun.emitter);
        self.sphere.suns().iter().filter(shown).filter_map(|sun| match sun.emitter {
            Emitter::Sun { direction, size } => {
                let emitter = Emitter::Sun { direction: self.to_world(direction), size };
                Some(Light { emitter, color: sun.color, strength: self.strength })
            }
            _ => None,
        })
    }

    /// Returns the radiance from a direction without suns and without detail, in one colour.
    pub fn smooth(&self, c: usize, from: [f32; 3]) -> f32 {
        self.degrees(c, from, [1.0, 1.0]).max(0.0)
    }

    /// Returns the radiance of a white floor, without light of the suns.
    pub fn on_white_floor(&self) -> [f32; 3] {
        self.sphere.on_floor().map(|x| self.strength * x)
    }

    /// Returns the radiance of a white surface with a normal, without light of the suns.
    pub fn on_white(&self, normal: [f32; 3]) -> [f32; 3] {
        std::array::from_fn(|c| self.degrees(c, normal, [2.0 / 3.0, 0.25]).max(0.0))
    }

    /// Returns the sum of the harmonics, with factors on the first and second degree.
    fn degrees(&self, c: usize, d: [f32; 3], [once, twice]: [f32; 2]) -> f32 {
        let Moments { mean, first, second: [xx, yy, zz, xy, xz, yz] } = self.moments[c];
        let along: f32 = (0..3).map(|a| first[a] * d[a]).sum();
        let square = xx * d[0] * d[0]
            + yy * d[1] * d[1]
            + zz * d[2] * d[2]
            + 2.0 * (xy * d[0] * d[1] + xz * d[0] * d[2] + yz * d[1] * d[2]);
        mean + once * 3.0 * along + twice * (7.5 * square - 2.5 * mean)
    }

    /// Returns the mean radiance of one colour without the suns, and the mean of radiance times the direction
    /// of propagation.
    pub fn moments(&self, c: usize) -> (f32, [f32; 3]) {
        (self.moments[c].mean, self.moments[c].first.map(|x| -x))
    }

    /// Samples a direction to the environment by its radiance, by three uniform numbers.
    pub fn sample(&self, u: [f32; 3]) -> [f32; 3] {
        self.to_world(self.sphere.sample(u))
    }

    /// Returns the probability density of a direction from [`Surround::sample`] \[1/sr\].
    pub fn density(&self, from: [f32; 3]) -> f32 {
        self.sphere.density(self.to_picture(from))
    }

    /// Returns the factor on its radiance.
    #[cfg(feature = "viewer")]
    pub fn strength(&self) -> f32 {
        self.strength
    }

    /// Returns sine and cosine of its rotation.
    #[cfg(feature = "viewer")]
    pub fn turn(&self) -> [f32; 2] {
        self.turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surround(rotation: f32, of: impl Fn([f32; 3]) -> f32) -> Surround {
        let (width, height) = (64, 32);
        let plain = Sphere::new(width, height, vec![[0.0; 3]; width * height]).unwrap();
        let texels = (0..width * height).map(|n| [of(plain.direction(n % width, n / width)); 3]).collect();
        let sphere = Sphere::new(width, height, texels).map(Arc::new);
        Surround::of(&Environment { sphere, rotation, strength: 2.0, shown: false }, false).unwrap()
    }

    #[test]
    fn an_even_environment_is_even_in_all_respects() {
        let all = surround(40.0, |_| 0.5);
        for d in [[0.0, 1.0, 0.0], [0.6, -0.8, 0.0], [0.48, 0.6, 0.64]] {
            // Second moments over 32 rows of texels are a thousandth off.
            for even in [all.smooth(0, d), all.on_white(d)[1]] {
                assert!((even - 1.0).abs() < 3e-3, "{even}");
            }
            // Longitude and latitude are uniform within a texel, so that directions are denser at the poles.
            let even = all.density(d) * 4.0 * std::f32::consts::PI;
            assert!(d[1] == 1.0 || (even - 1.0).abs() < 0.1, "{even}");
        }
    }

    /// Under a sky of radiance 1 + y a white floor has the radiance 1 + 2/3.
    #[test]
    fn a_linear_sky_is_what_its_harmonics_say() {
        let sky = surround(0.0, |d| 0.5 + 0.5 * d[1]);
        assert!((sky.smooth(0, [0.0, 1.0, 0.0]) - 2.0).abs() < 0.01);
        assert!((sky.on_white([0.0, 1.0, 0.0])[0] - 5.0 / 3.0).abs() < 0.01);
        assert!((sky.moments(0).1[1] + 1.0 / 3.0).abs() < 0.01, "light goes down");
    }

    #[test]
    fn the_turn_moves_what_is_bright() {
        let bright = |d: [f32; 3]| if d[2] < -0.95 { 1.0 } else { 0.0 };
        // A quarter turn counter-clockwise, seen from above: from −z to −x.
        let turned = surround(90.0, bright);
        assert!(turned.radiance([-1.0, 0.0, 0.0])[0] > 1.9 && turned.radiance([0.0, 0.0, -1.0])[0] == 0.0);
        assert!(turned.moments(0).1[0] > 0.0, "light goes to +x");
        for n in 0..50 {
            let u = [0.37, 0.61, 0.83].map(|x| (x * (n + 1) as f32).fract());
            let d = turned.sample(u);
            assert!(turned.density(d) > 0.0 && d[0] < -0.9, "{d:?}");
        }
    }
    /// Radiance over density is bounded: at the edge of a sun a path was once a speck thousands of times as
    /// bright as others.
    #[test]
    fn paths_see_no_specks_beside_a_sun() {
        let bright = surround(0.0, |d| if d[1] > 0.99 { 5000.0 } else { 0.1 });
        let (mut least, mut most) = (f32::INFINITY, 0.0_f32);
        for n in 300..2000 {
            let (sin, cos) = (n as f32 * 2e-4).sin_cos();
            let d = [sin * 0.6, cos, sin * 0.8];
            let share = bright.texel_radiance(d)[0] / bright.density(d);
            (least, most) = (least.min(share), most.max(share));
        }
        assert!(most < 5.0 * least, "{least} to {most}");
    }
}
