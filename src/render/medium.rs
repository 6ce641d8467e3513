//! What a bit of medium sends to the eye for each unit of its extinction. `shaders/medium.glsl` is the same.

use crate::look::{Look, Scattering};

/// Most octaves of scattering.
pub const MOST_OCTAVES: usize = 4;

/// The constants of a look as a march needs them.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Extinction for each unit of density \[1/m\].
    pub extinction: f32,
    /// Albedo of the three colours.
    pub colors: [[f32; 3]; 3],
    /// Mean cosine of the phase function.
    pub anisotropy: f32,
    /// How many octaves are summed; 1 is single scattering.
    pub octaves: usize,
    /// Factors from one octave to the next on weight, optical depth and mean cosine.
    pub falloff: [f32; 3],
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
            octaves: if look.scattering == Scattering::Single { 1 } else { MOST_OCTAVES },
            falloff: [0.5, 0.5, 0.5],
            sun_direction: super::light::unit(look.sun_direction),
            sun: look.sun,
            sky: look.sky,
            ground: look.ground,
        }
    }

    /// Phase function of each octave for one cosine between the view ray and the way to the sun.
    pub fn phase(&self, cosine: f32) -> [f32; MOST_OCTAVES] {
        std::array::from_fn(|n| henyey_greenstein(self.anisotropy * self.falloff[2].powi(n as i32), cosine))
    }

    /// Radiance for each unit of extinction, J in [`crate::render`]: from the albedo, the depths of the light
    /// volume and [`Medium::phase`].
    pub fn scattered(&self, albedo: [f32; 3], depth: [f32; 3], phase: &[f32; MOST_OCTAVES]) -> [f32; 3] {
        let (mut sum, mut weight, mut scale) = ([0.0; 3], albedo, 1.0);
        for phase in &phase[..self.octaves] {
            let arrives = depth.map(|d| (-scale * d).exp());
            for c in 0..3 {
                let ambient = 0.5 * (self.sky[c] * arrives[1] + self.ground[c] * arrives[2]);
                sum[c] += weight[c] * (self.sun[c] * phase * arrives[0] + ambient);
                weight[c] *= albedo[c] * self.falloff[0];
            }
            scale *= self.falloff[1];
        }
        sum
    }
}

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
