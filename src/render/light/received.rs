//! Light that surfaces receive and reflect, apart from direct light: from mean radiance and net flux, read a cube off them.

use super::LightVolume;
use super::ordinates::Moments;
use crate::grid::Dims;
use crate::render::trilinear::{spline, trilinear};

/// Distance from a surface at which its diffuse light is read \[cubes\].
pub(in crate::render) const OFF: f32 = 1.2;

impl LightVolume {
    /// Radiance that a white surface with a normal sends by all light but the sun's own, read a cube off the surface: within
    /// a solid it is dark. With `splines`, a B-spline between the cubes. Where hardly any arrives, it may be below 0 by the error
    /// of the ordinates, so that the light of several sources is the sum of that of each.
    pub(in crate::render) fn diffuse(&self, p: [f32; 3], normal: [f32; 3], splines: bool) -> [f32; 3] {
        let all = moments_before(self.surface_moments(), self.surface_cubes(), p, normal, splines);
        let sent = all.map(|moments| around(moments, normal.map(|x| 2.0 * x)));
        if !self.within.shines {
            return sent;
        }
        let smoke = moments_before(self.surface_moments_of_smoke(), self.surface_cubes(), p, normal, splines);
        std::array::from_fn(|c| sent[c] + of_small(smoke[c], normal))
    }

    /// Radiance that arrives at a surface around a direction, with a mean cosine to it; otherwise as [`LightVolume::diffuse`].
    pub(in crate::render) fn mirrored(
        &self,
        p: [f32; 3],
        normal: [f32; 3],
        from: [f32; 3],
        focus: f32,
        splines: bool,
    ) -> [f32; 3] {
        let of = |light: [&Moments; 3]| {
            let moments = moments_before(light, self.surface_cubes(), p, normal, splines);
            moments.map(|moments| around(moments, from.map(|x| 3.0 * focus * x)).max(0.0))
        };
        let mirrored = of(self.surface_moments());
        if !self.within.shines {
            return mirrored;
        }
        let smoke = of(self.surface_moments_of_smoke());
        std::array::from_fn(|c| mirrored[c] + smoke[c])
    }

    /// φ and J in the cubes that surfaces read.
    pub(super) fn surface_moments(&self) -> [&Moments; 3] {
        let halved = self.mixture.per_surface_cube() > 1;
        std::array::from_fn(|c| if halved { &self.halved.1[c] } else { &self.light[c] })
    }

    /// The same of what smoke sends of light from within.
    pub(super) fn surface_moments_of_smoke(&self) -> [&Moments; 3] {
        let halved = self.mixture.per_surface_cube() > 1;
        std::array::from_fn(|c| if halved { &self.halved.2[c] } else { &self.within.of_smoke[c] })
    }
}

/// φ and J of the three colours, a cube off a surface, in cubes with an edge \[m\].
fn moments_before(
    light: [&Moments; 3],
    (dims, h): (Dims, f32),
    p: [f32; 3],
    normal: [f32; 3],
    splines: bool,
) -> [[f32; 4]; 3] {
    let light = light.map(Moments::all);
    let at = std::array::from_fn(|a| p[a] / h - 0.5 + OFF * normal[a]);
    let of = |n: usize| -> [f32; 12] { std::array::from_fn(|of| light[of / 4][of % 4][n]) };
    let all = if splines { spline(dims, at, of) } else { trilinear(dims, at, of) };
    std::array::from_fn(|c| std::array::from_fn(|moment| all[4 * c + moment]))
}

/// φ − J·along.
fn around([mean, flux @ ..]: [f32; 4], along: [f32; 3]) -> f32 {
    let away: f32 = (0..3).map(|a| along[a] * flux[a]).sum();
    mean - away
}

/// Irradiance / π of something small and bright. Light that comes evenly from half of all directions has a mean cosine of ½ and is exact by
/// φ and J; with more it is taken for a share of parallel light, which leaves half of the surface dark.
fn of_small([mean, flux @ ..]: [f32; 4], normal: [f32; 3]) -> f32 {
    let along = flux.iter().map(|x| x * x).sum::<f32>().sqrt();
    let arrives = -(0..3).map(|a| normal[a] * flux[a]).sum::<f32>();
    if along <= 0.5 * mean {
        return mean + 2.0 * arrives;
    }
    let (cosine, parallel) = (arrives / along, (2.0 * along / mean.max(1e-20) - 1.0).min(1.0));
    mean * ((1.0 - parallel) * (1.0 + cosine) + parallel * 4.0 * cosine.max(0.0))
}
