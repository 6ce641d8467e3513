//! The source term: radiance of the medium towards the eye per unit of extinction. `shaders/medium.glsl` has
//! the same formulas.
//!
//! ```text
//! J = ω [ E T p(cos θ) + M ] + glow
//! ```
//!
//! with the albedo ω, the sun's light E from all directions and its transmittance T = e^(−τ), the phase
//! function p, and M, the in-scattered radiance of all other light for an albedo of 1, from the light volume
//! ([`super::light`]).

use super::camera::unit;
use super::exp::exp;
use super::lamp::Lamp;
use super::lines::smoothstep;
use super::surround::Surround;
use crate::look::{Look, Scattering};

/// h c / (λ k) \[K\] at the wavelengths of red, green and blue.
pub(super) const WIEN: [f32; 3] = [23_587.0, 26_160.0, 30_942.0];
/// Radiance of a black body of 2000 K at these wavelengths, scaled to luminance 1.
pub(super) const AT_2000_K: [f32; 3] = [1.815, 0.840, 0.178];
/// Limit of radiance, just below that of half floats.
pub(super) const MOST: f32 = 60_000.0;

/// A phase function without its forward peak.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    /// Share of the peak: light that counts as not scattered.
    pub forward: f32,
    /// Mean cosine of the rest of the phase function.
    pub g: f32,
}

/// The constants of a look for a march.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Extinction per unit of density \[1/m\].
    pub extinction: f32,
    /// Width over which smoke fades out towards the sides \[m\].
    pub fade: f32,
    /// Albedo of the three colours.
    pub colors: [[f32; 3]; 3],
    /// Mean cosines of the two lobes of the phase function.
    pub lobes: [f32; 2],
    /// Share of the second lobe.
    pub second_share: f32,
    /// Whether light is scattered more than once.
    pub scattering: bool,
    /// Unit vector towards the sun.
    pub sun_direction: [f32; 3],
    /// Integral of the sun's radiance over its directions: its irradiance over their mean cosine.
    pub sun: [f32; 3],
    /// Radiance of the sky straight up.
    pub sky: [f32; 3],
    /// Radiance straight down.
    pub ground: [f32; 3],
    /// Environment in place of sky and ground.
    pub around: Option<Surround>,
    /// Luminance of opaque smoke at 2000 K, and the temperature excess of 2000 K \[K\].
    pub glow: [f32; 2],
}

impl Medium {
    /// Returns the medium of `look` in a box of `extent` \[m\].
    pub fn of(look: &Look, extent: [f32; 3]) -> Self {
        let shortest = extent.into_iter().fold(f32::INFINITY, f32::min);
        Self {
            fade: look.fade.clamp(0.0, 0.5) * shortest,
            extinction: look.extinction.max(0.0),
            colors: look.colors,
            lobes: [look.anisotropy, look.second_lobe[0]].map(|g| g.clamp(-0.95, 0.95)),
            second_share: look.second_lobe[1].clamp(0.0, 1.0),
            scattering: look.scattering != Scattering::Single,
            sun_direction: unit(look.sun_direction),
            sun: Lamp::sun(look).over_all_directions(),
            sky: look.sky,
            ground: look.ground,
            around: Surround::of(&look.environment, look.floor.is_some()),
            glow: [look.glow.max(0.0), look.glow_heat.max(1e-3)],
        }
    }

    /// Returns the visible share of the smoke at a point: it fades out towards the sides of the box.
    pub fn shown(&self, p: [f32; 3], extent: [f32; 3]) -> f32 {
        let along = |a: usize| self.shown_along(a, p[a], extent[a]);
        along(0) * along(1) * along(2)
    }

    /// Returns the visible share by the sides across one axis, except the floor, at `x` of `extent` \[m\].
    pub(super) fn shown_along(&self, axis: usize, x: f32, extent: f32) -> f32 {
        let inside = if axis == 1 { extent - x } else { x.min(extent - x) };
        smoothstep(0.0, 1.0, inside / self.fade.max(1e-6))
    }

    /// Returns the albedo of a mixture of the three colours.
    pub fn albedo(&self, smoke: [f32; 3]) -> [f32; 3] {
        let scale = 1.0 / (smoke[0] + smoke[1] + smoke[2]).max(1e-8);
        let [r, g, b] = self.colors;
        std::array::from_fn(|c| (smoke[0] * r[c] + smoke[1] * g[c] + smoke[2] * b[c]) * scale)
    }

    /// Returns the phase function, with the mean cosines of both lobes scaled \[1/sr\].
    pub fn phase_function(&self, scale: f32, cosine: f32) -> f32 {
        let [first, second] = self.lobes.map(|g| henyey_greenstein(g * scale, cosine));
        first + (second - first) * self.second_share
    }

    /// Returns the mean cosine of the phase function.
    #[inline(always)]
    pub(super) fn mean_cosine(&self) -> f32 {
        let [first, second] = self.lobes;
        first + (second - first) * self.second_share
    }

    /// Returns the phase function without its forward peak, whose share is the second moment of its forward
    /// lobes (delta-Eddington). Backward lobes are left out: the mean cosine of the rest would fall below −1,
    /// and scattered light would grow without limit.
    #[inline(always)]
    pub(super) fn scaled_phase(&self) -> Phase {
        let [first, second] = self.lobes.map(|g| g.max(0.0) * g);
        let forward = first + (second - first) * self.second_share;
        Phase { forward, g: (self.mean_cosine() - forward) / (1.0 - forward) }
    }

    /// Returns the radiance of opaque smoke with a temperature excess \[K\]: Planck's law in Wien's
    /// approximation at 610, 550 and 465 nm, scaled by the look's luminance at 2000 K.
    pub fn glowing(&self, excess: f32) -> [f32; 3] {
        std::array::from_fn(|c| self.glowing_in(c, excess))
    }

    /// Returns [`Medium::glowing`] for one colour channel.
    #[inline(always)]
    pub(super) fn glowing_in(&self, c: usize, excess: f32) -> f32 {
        self.glow[0] * AT_2000_K[c] * self.incandescence(c, excess)
    }

    /// Returns the radiance of one colour channel relative to that at 2000 K. It rises so steeply with
    /// temperature that radiance must be interpolated between cells, not temperature: otherwise the midpoint
    /// between hot and cold would be dark, and flames would end in flakes.
    #[inline(always)]
    fn incandescence(&self, c: usize, excess: f32) -> f32 {
        let inverse = (self.glow[1] / excess.max(1e-3) - 1.0) / 2000.0;
        exp(-WIEN[c] * inverse)
    }

    /// Returns the emission per unit of volume, which a march interpolates instead of the temperature: the
    /// green radiance relative to that at 2000 K, weighted by density.
    pub(super) fn emission(&self, [r, g, b, excess]: [f32; 4]) -> f32 {
        let density = r.max(0.0) + g.max(0.0) + b.max(0.0);
        (density * self.incandescence(1, excess)).min(MOST)
    }

    /// Returns [`Medium::glowing`] from the emission per unit of density: in Wien's law one colour determines
    /// the others.
    pub(super) fn glowing_emission(&self, emission: f32) -> [f32; 3] {
        std::array::from_fn(|c| self.glow[0] * AT_2000_K[c] * emission.max(0.0).powf(WIEN[c] / WIEN[1]))
    }

    /// Returns the radiance per unit of extinction, J in [`crate::render`], from the albedo, the light volume
    /// towards the eye and [`Medium::phase_function`].
    pub fn scattered(&self, albedo: [f32; 3], [r, g, b, depth]: [f32; 4], phase: f32) -> [f32; 3] {
        let direct = phase * exp(-depth);
        let other = [r, g, b];
        std::array::from_fn(|c| albedo[c] * (self.sun[c] * direct + other[c]))
    }
}

/// Returns the phase function of Henyey and Greenstein (1941) \[1/sr\], for the cosine between the directions
/// before and after scattering.
#[inline(always)]
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
