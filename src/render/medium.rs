//! What a bit of medium sends to the eye for each unit of its extinction. `shaders/medium.glsl` is the same.

use crate::look::{Look, Scattering};

/// Octaves of scattering. Each sees half the optical depth and half the mean cosine of the one before, so
/// their transmittances are squares of each other and cost one exponential.
pub const OCTAVES: usize = 3;

/// The constants of a look as a march needs them.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Extinction for each unit of density \[1/m\].
    pub extinction: f32,
    /// Albedo of the three colours.
    pub colors: [[f32; 3]; 3],
    /// Mean cosine of the phase function.
    pub anisotropy: f32,
    /// Weight of each octave; the first is 1, and the others are 0 for single scattering.
    pub octaves: [f32; OCTAVES],
    /// Unit vector towards the sun.
    pub sun_direction: [f32; 3],
    /// Irradiance of the sun.
    pub sun: [f32; 3],
    /// Radiance of the sky straight up.
    pub sky: [f32; 3],
    /// Radiance straight down.
    pub ground: [f32; 3],
}

impl Medium {
    /// The medium of `look`.
    pub fn of(look: &Look) -> Self {
        Self {
            extinction: look.extinction.max(0.0),
            colors: look.colors,
            anisotropy: look.anisotropy.clamp(-0.95, 0.95),
            octaves: if look.scattering == Scattering::Single { [1.0, 0.0, 0.0] } else { WEIGHTS },
            sun_direction: super::light::unit(look.sun_direction),
            sun: look.sun,
            sky: look.sky,
            ground: look.ground,
        }
    }

    /// Phase function of each octave for one cosine between the view ray and the way to the sun.
    pub fn phase(&self, cosine: f32) -> [f32; OCTAVES] {
        [1.0, 0.5, 0.25].map(|share| henyey_greenstein(self.anisotropy * share, cosine))
    }

    /// Radiance for each unit of extinction, J in [`crate::render`]: from the albedo, the depths of the light
    /// volume and [`Medium::phase`].
    pub fn scattered(&self, albedo: [f32; 3], depth: [f32; 3], phase: &[f32; OCTAVES]) -> [f32; 3] {
        let third = depth.map(|d| (-0.25 * d).exp());
        let second = third.map(|x| x * x);
        let first = second.map(|x| x * x);
        let (mut sum, mut weight) = ([0.0; 3], albedo);
        for (n, arrives) in [first, second, third].iter().enumerate() {
            for c in 0..3 {
                let ambient = 0.5 * (self.sky[c] * arrives[1] + self.ground[c] * arrives[2]);
                sum[c] += self.octaves[n] * weight[c] * (self.sun[c] * phase[n] * arrives[0] + ambient);
                weight[c] *= albedo[c];
            }
        }
        sum
    }
}

/// Weights of the octaves.
const WEIGHTS: [f32; OCTAVES] = [1.0, 0.5, 0.25];

/// The phase function of Henyey and Greenstein (1941) \[1/sr\], for the cosine between the ways before
/// and after scattering.
pub fn henyey_greenstein(g: f32, cosine: f32) -> f32 {
    let d = 1.0 + g * g - 2.0 * g * cosine;
    (1.0 - g * g) / (4.0 * std::f32::consts::PI * d * d.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_function_scatters_all_of_it_with_mean_cosine_g() {
        for g in [-0.6_f32, 0.0, 0.3, 0.8] {
            let n = 20_000;
            let (mut all, mut mean) = (0.0_f64, 0.0_f64);
            for step in 0..n {
                let cosine = (step as f32 + 0.5) / n as f32 * 2.0 - 1.0;
                let share =
                    f64::from(henyey_greenstein(g, cosine)) * std::f64::consts::TAU * 2.0 / f64::from(n);
                all += share;
                mean += share * f64::from(cosine);
            }
            assert!((all - 1.0).abs() < 1e-4 && (mean - f64::from(g)).abs() < 1e-4, "{g}: {all} {mean}");
        }
    }
}
