//! Values that no picture can have, each with its place and its range.

use nalgebra::Vector3;
use thiserror::Error;

use super::{Camera, Emitter, Environment, Lens, Light, Look};

/// Formats a number in decimal digits, or in powers of ten if it has many zeros.
fn plain(x: f32) -> String {
    if x == 0.0 || (1e-4..1e7).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

/// An invalid value of a look, of a camera or of something else that a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InvalidLook {
    /// A value outside the renderers' range; NaN is outside.
    #[error("a {of}'s {what} of {value} is out of range; it must lie between {} and {}", plain(*.low), plain(*.high))]
    OutOfRange {
        /// `look`, `camera`, `light` …
        of: &'static str,
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f32,
        /// Least valid value.
        low: f32,
        /// Greatest valid value.
        high: f32,
    },
    /// A vector of which only the direction counts, with length 0, infinite or NaN.
    #[error("a {of}'s {what} of {value:?} has no direction; it must be a finite vector that is not 0")]
    NoDirection {
        /// `look`, `camera` or `light`.
        of: &'static str,
        /// Name of the vector.
        what: &'static str,
        /// The vector.
        value: [f32; 3],
    },
    /// More lights than [`Light::MOST`].
    #[error("a look's lights are {0}; there must be at most {most}", most = Light::MOST)]
    TooManyLights(usize),
}

type Problem = Option<InvalidLook>;

/// Positions \[m\]: fourth powers of distances are finite in single precision.
const PLACE: [f32; 2] = [-1e9, 1e9];
/// Radiance, irradiance and factors on them: above them half floats end.
const LIGHT: [f32; 2] = [0.0, 1e6];
/// Sizes \[m\].
const SIZE: [f32; 2] = [0.0, 1e6];
/// Shares and albedos.
const SHARE: [f32; 2] = [0.0, 1.0];
/// Mean cosines of a phase function: nearer to ±1 its peak is that of no scattering.
const COSINE: [f32; 2] = [-0.95, 0.95];

impl InvalidLook {
    /// Returns an error unless each of `values` lies in `low..=high`; NaN does not.
    pub(crate) fn unless_within(
        of: &'static str,
        what: &'static str,
        values: &[f32],
        [low, high]: [f32; 2],
    ) -> Problem {
        let outside = values.iter().find(|value| !(low..=high).contains(*value));
        outside.map(|&value| Self::OutOfRange { of, what, value, low, high })
    }

    /// Returns an error unless `position` is one that a picture can resolve.
    pub(crate) fn unless_position(of: &'static str, what: &'static str, position: &[f32; 3]) -> Problem {
        Self::unless_within(of, what, position, PLACE)
    }

    /// Returns an error unless `size` \[m\] is one from 0 on.
    pub(crate) fn unless_size(of: &'static str, what: &'static str, size: &[f32]) -> Problem {
        Self::unless_within(of, what, size, SIZE)
    }

    /// Returns an error unless `color` is a radiance, an irradiance or a factor on one.
    pub(crate) fn unless_light(of: &'static str, what: &'static str, color: &[f32]) -> Problem {
        Self::unless_within(of, what, color, LIGHT)
    }

    fn unless_direction(of: &'static str, what: &'static str, value: [f32; 3]) -> Problem {
        let length = Vector3::from(value).norm();
        let fine = length.is_finite() && length > 1e-6;
        (!fine).then_some(Self::NoDirection { of, what, value })
    }
}

impl Camera {
    /// Returns the first invalid value, if any. An `up` along the view and a target at the eye are none: both
    /// are replaced.
    pub fn problem(&self) -> Option<InvalidLook> {
        let Self { position, target, up, fov, projection: _, lens } = self;
        let Lens { aperture, focus, shutter } = *lens;
        let within = |what, value: f32, range| InvalidLook::unless_within("camera", what, &[value], range);
        InvalidLook::unless_position("camera", "position", position)
            .or_else(|| InvalidLook::unless_position("camera", "target", target))
            .or_else(|| InvalidLook::unless_direction("camera", "up", *up))
            .or_else(|| within("field of view", *fov, [0.1, 170.0]))
            .or_else(|| within("aperture", aperture, SIZE))
            .or_else(|| within("focus", focus, SIZE))
            .or_else(|| within("shutter", shutter, SHARE))
    }
}

impl Light {
    /// Returns the first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidLook> {
        let within = |what, value: f32, range| InvalidLook::unless_within("light", what, &[value], range);
        let place = |what, at: &[f32; 3]| InvalidLook::unless_position("light", what, at);
        let emitter = match &self.emitter {
            Emitter::Sun { direction, size } => {
                InvalidLook::unless_direction("light", "direction", *direction)
                    .or_else(|| within("size", *size, [0.0, 90.0]))
            }
            Emitter::Point { position, radius } => {
                place("position", position).or_else(|| within("radius", *radius, SIZE))
            }
            Emitter::Spot { position, target, angle, softness, radius } => place("position", position)
                .or_else(|| place("target", target))
                .or_else(|| within("angle", *angle, [0.1, 179.0]))
                .or_else(|| within("softness", *softness, SHARE))
                .or_else(|| within("radius", *radius, SIZE)),
            Emitter::Area { position, target, size } => place("position", position)
                .or_else(|| place("target", target))
                .or_else(|| InvalidLook::unless_size("light", "size", size)),
        };
        emitter
            .or_else(|| InvalidLook::unless_light("light", "colour", &self.color))
            .or_else(|| within("strength", self.strength, LIGHT))
    }
}

impl Look {
    /// Returns the first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidLook> {
        self.problem_of_medium().or_else(|| self.problem_of_light()).or_else(|| {
            let within = |what, value: f32, range| InvalidLook::unless_within("look", what, &[value], range);
            let [top, bottom] = &self.background;
            within("exposure", self.exposure, [-20.0, 20.0])
                .or_else(|| InvalidLook::unless_light("look", "background", top))
                .or_else(|| InvalidLook::unless_light("look", "background", bottom))
                .or_else(|| {
                    InvalidLook::unless_within("look", "floor", self.floor.as_slice().as_flattened(), SHARE)
                })
                .or_else(|| within("samples", self.samples, [0.05, 16.0]))
        })
    }

    fn problem_of_medium(&self) -> Option<InvalidLook> {
        let within = |what, value: f32, range| InvalidLook::unless_within("look", what, &[value], range);
        let shares = |what, values: &[f32]| InvalidLook::unless_within("look", what, values, SHARE);
        let [cosine, share] = self.second_lobe;
        shares("colours", self.colors.as_flattened())
            .or_else(|| shares("colours of solids", self.solids.as_flattened()))
            .or_else(|| shares("roughness of solids", &self.roughness))
            .or_else(|| within("extinction", self.extinction, [0.0, 1e6]))
            .or_else(|| within("fade", self.fade, [0.0, 0.5]))
            .or_else(|| within("anisotropy", self.anisotropy, COSINE))
            .or_else(|| within("anisotropy of the second lobe", cosine, COSINE))
            .or_else(|| within("share of the second lobe", share, SHARE))
            .or_else(|| within("paths", self.paths as f32, [1.0, 1e6]))
            .or_else(|| within("noise", self.noise, SHARE))
            .or_else(|| within("glow", self.glow, [0.0, 1e4]))
            .or_else(|| within("glow_heat", self.glow_heat, [1e-3, 1e6]))
    }

    fn problem_of_light(&self) -> Option<InvalidLook> {
        let Environment { sphere: _, rotation, strength, shown: _ } = self.environment;
        let within = |what, value: f32, range| InvalidLook::unless_within("look", what, &[value], range);
        let light = |what, color: &[f32]| InvalidLook::unless_light("look", what, color);
        let lights = self.lights.len();
        InvalidLook::unless_direction("look", "sun direction", self.sun_direction)
            .or_else(|| within("sun size", self.sun_size, [0.0, 90.0]))
            .or_else(|| light("sun", &self.sun))
            .or_else(|| light("sky", &self.sky))
            .or_else(|| light("ground", &self.ground))
            .or_else(|| within("rotation of the environment", rotation, [-360.0, 360.0]))
            .or_else(|| light("strength of the environment", &[strength]))
            .or_else(|| within("light scale", self.light_scale, SHARE))
            .or_else(|| (lights > Light::MOST).then_some(InvalidLook::TooManyLights(lights)))
            .or_else(|| self.lights.iter().find_map(Light::problem))
    }
}
