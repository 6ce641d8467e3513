//! Radiance towards an eye of sunlight, or light of a lamp, that smoke has scattered forward.
//!
//! The share f of scattered light goes on with its source (delta-Eddington), after N = ω f τ scatterings on average at a depth τ. It keeps
//! its way, but its directions spread: after n scatterings by a lobe with the mean cosine g, and one more towards the eye, the l-th moment
//! is gˡ⁽ⁿ⁺¹⁾. The other 1 − f has no moments above the first, so this light has all higher ones:
//!
//! ```text
//! 4π Pₙ(μ) = 1 + 3 g μ + [H(g x, μ) − 1 − 3 g x μ] / x² − n̄ (1 − f) / f R(μ)        x = gⁿ
//! ```
//!
//! with the phase function H / 4π of Henyey and Greenstein, whose moments are powers of g. R are the higher moments that the fourteen
//! directions add to the other share all the same. n has a Poisson distribution. One power x of g with the mean third moment,
//! x = (e^(g N) − 1) / (e^N − 1), stands for all n ≥ 1, and its mean n̄ for R. With n = 1 at all depths a ball of 25 1/m before the sun
//! was 1.14 times as bright as traced at g = 0.8.
//!
//! Of several lobes, the sum over their shares takes the place of H. f is their second moment, so the second and third moments after two
//! scatterings are exact.

use super::light_chunk::{CHUNK, Lane};
use crate::render::exp::exp;
use crate::render::medium::Medium;
use crate::simd::{Simd, each_level, greatest, least};

/// Points side by side along x.
pub(super) struct Strip {
    /// Radiance towards the eye. [`Strip::add_peak`] adds that of light scattered forward.
    pub sent: [Lane; 3],
    /// Moments above the first, times 4π, of light that was scattered once by the other share 1 − f, and then towards the eye.
    pub rest: Lane,
    /// Share of the depth that attenuates light which goes on with the sun.
    pub scale: [Lane; 3],
    /// Depth towards the sun.
    pub depth: Lane,
    /// Cosine of the angle between the directions of sunlight and of the light to the eye.
    pub cosine: Lane,
}

impl Default for Strip {
    fn default() -> Self {
        let zeros = [[0.0; CHUNK]; 3];
        let zero = [0.0; CHUNK];
        Self { sent: zeros, scale: zeros, rest: zero, depth: zero, cosine: zero }
    }
}

/// Light at one place that was scattered forward on its way there.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    /// Its share of what would arrive without smoke.
    arrives: f32,
    /// The power x of g.
    power: f32,
    /// Mean number of its scatterings, at least 1.
    scatterings: f32,
}

/// Least power of g. H − 1 − 3 x μ falls as x², and rounding would leave no digits of it.
const LEAST_POWER: f32 = 0.05;

/// Spread of light that was scattered forward.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    /// Mean cosine of the forward lobes.
    g: f32,
    lobes: [f32; 2],
    shares: [f32; 2],
    /// Mean cosine of all lobes.
    mean_cosine: f32,
    /// (1 − f) / f.
    rest: f32,
}

impl Spread {
    pub fn of(medium: &Medium) -> Self {
        let shares = [1.0 - medium.second_share, medium.second_share];
        let [second, third] = [2, 3].map(|power| {
            let of = |n: usize| shares[n] * medium.lobes[n].max(0.0).powi(power);
            of(0) + of(1)
        });
        let rest = (1.0 - second) / second.max(1e-12);
        Self {
            g: third / second.max(1e-12),
            lobes: medium.lobes,
            shares,
            mean_cosine: medium.mean_cosine(),
            rest,
        }
    }

    /// Whether any light is scattered forward.
    pub fn spreads(&self) -> bool {
        self.g > 0.0
    }

    /// Light scattered forward at an optical depth from its source, of which the share `scale` attenuates it. `clear` is exp(−depth).
    #[inline(always)]
    pub fn ahead(&self, [depth, clear, scale]: [f32; 3]) -> Ahead {
        let passed = exp(-scale * depth);
        let arrives = greatest(passed - clear, 1e-30);
        let third = exp(-(1.0 - (1.0 - scale) * self.g) * depth) - clear;
        let power = greatest(least(third / arrives, self.g), LEAST_POWER * self.g);
        let scatterings = greatest((1.0 - scale) * depth * passed / arrives, 1.0);
        Ahead { arrives, power, scatterings }
    }

    /// Radiance for an irradiance of 1 without smoke. `rest` and `cosine` are those of [`Strip`].
    #[inline(always)]
    pub fn radiance(&self, ahead: &Ahead, [rest, cosine]: [f32; 2]) -> f32 {
        let mut moments = 1.0 + 3.0 * self.mean_cosine * cosine - ahead.scatterings * self.rest * rest;
        for n in 0..2 {
            if self.shares[n] > 0.0 {
                moments += self.shares[n] * higher(self.lobes[n], ahead.power, cosine);
            }
        }
        0.25 * std::f32::consts::FRAC_1_PI * moments * ahead.arrives
    }
}

/// The moments of a lobe above the first after gⁿ = `x`, times 4π.
#[inline(always)]
fn higher(lobe: f32, x: f32, cosine: f32) -> f32 {
    let g = lobe * x;
    let d = 1.0 + g * g - 2.0 * g * cosine;
    ((1.0 - g * g) / (d * d.sqrt()) - 1.0 - 3.0 * g * cosine) / (x * x)
}

impl Strip {
    /// Adds sunlight that was scattered forward and then towards the eye.
    pub fn add_peak(&mut self, sun: [f32; 3], spread: Spread) {
        add_peak(self, sun, spread);
    }
}

each_level! {
    fn add_peak(strip: &mut Strip, sun: [f32; 3], spread: Spread) = add_peak_kernel;
}

#[inline(always)]
fn add_peak_kernel<S: Simd>(_: S, strip: &mut Strip, sun: [f32; 3], spread: Spread) {
    let mut clear = [0.0; CHUNK];
    for i in 0..CHUNK {
        clear[i] = exp(-strip.depth[i]);
    }
    for c in 0..3 {
        for i in 0..CHUNK {
            let ahead = spread.ahead([strip.depth[i], clear[i], strip.scale[c][i]]);
            let radiance = spread.radiance(&ahead, [strip.rest[i], strip.cosine[i]]);
            strip.sent[c][i] = greatest(strip.sent[c][i] + sun[c] * radiance, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Look;

    /// The Legendre moments of light that was scattered forward once and then towards the eye, for one and for two lobes: with the other
    /// share, those of two scatterings. With the peak of each lobe by itself, the second moment of two lobes was 1.54 times as large.
    #[test]
    fn two_scatterings_have_the_moments_of_the_lobes() {
        for (anisotropy, second_lobe) in [(0.8, [0.0; 2]), (0.8, [0.2, 0.4])] {
            let medium = Medium::of(&Look { anisotropy, second_lobe, ..Look::default() }, [1.0; 3]);
            let spread = Spread::of(&medium);
            let ahead = Ahead { arrives: 1.0, power: spread.g, scatterings: 1.0 };
            let of_lobes = |n: i32| -> f64 {
                (0..2).map(|lobe| f64::from(spread.shares[lobe] * medium.lobes[lobe].powi(n))).sum()
            };
            let (mut moments, steps) = ([0.0; 4], 20_000);
            for n in 0..steps {
                let x = (f64::from(n) + 0.5) / f64::from(steps) * 2.0 - 1.0;
                let legendre = [1.0, x, 0.5 * (3.0 * x * x - 1.0), 0.5 * (5.0 * x * x - 3.0) * x];
                let solid_angle = 2.0 * std::f64::consts::TAU / f64::from(steps);
                let sent = f64::from(spread.radiance(&ahead, [0.0, x as f32])) * solid_angle;
                moments.iter_mut().zip(legendre).for_each(|(moment, legendre)| *moment += sent * legendre);
            }
            let forward = of_lobes(2);
            let want = [1.0, of_lobes(1), forward, of_lobes(3).powi(2) / forward];
            for (n, (got, want)) in moments.into_iter().zip(want).enumerate() {
                assert!((got - want).abs() < 1e-3, "moment {n} of {:?}: {got}, not {want}", medium.lobes);
            }
        }
    }
}
