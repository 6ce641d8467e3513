//! Light of the sun that smoke scattered forward before, towards an eye.
//!
//! The share f of scattered light goes on with the sun (delta-Eddington), for f N = ω f τ scatterings on average at a depth τ. It goes on
//! straight, but its directions spread: of n scatterings by a lobe with the mean cosine g, and one more towards the eye, the l-th moment is
//! gˡ⁽ⁿ⁺¹⁾. The other 1 − f has no moments above the first, so the second and further ones of all orders belong to this light:
//!
//! ```text
//! Pₙ(μ) = { [H(gⁿ⁺¹, μ) − 1 − 3 gⁿ⁺¹ μ] / g²ⁿ + 1 + 3 g μ } / 4π
//! ```
//!
//! with the phase function H / 4π of Henyey and Greenstein, whose moments are powers of g. n is distributed as Poisson's; in place of the mean
//! over n stands a power x of g that has its third moment, x = (e^(g N) − 1) / (e^N − 1) with N = ω f τ. Phase functions for n = 1 at all depths
//! made a ball of 25 1/m before the sun 1.14 times as bright as traced at g = 0.8.

use super::light_chunk::{CHUNK, Lane};
use crate::render::exp::exp;
use crate::render::medium::Medium;
use crate::simd::{Simd, each_level, greatest, least};

/// Points side by side along x.
pub(super) struct Strip {
    /// Radiance towards the eye, without that of forward scattered light before [`Strip::add_peak`].
    pub sent: [Lane; 3],
    /// The phase function of light that was scattered forward once before \[1/sr\].
    pub peak: Lane,
    /// Moments above the first, times 4π, of light that was scattered in the rest, once, and then towards the eye.
    pub rest: Lane,
    /// Share of the depth that counts for light that goes on with the sun.
    pub scale: [Lane; 3],
    /// Depth towards the sun.
    pub depth: Lane,
    /// Cosine between the ways of the sun's light and of that to the eye.
    pub cosine: Lane,
}

impl Default for Strip {
    fn default() -> Self {
        let zeros = [[0.0; CHUNK]; 3];
        let zero = [0.0; CHUNK];
        Self { sent: zeros, scale: zeros, peak: zero, rest: zero, depth: zero, cosine: zero }
    }
}

/// Light that was scattered forward before, at one place.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    /// Its share of what would arrive without smoke.
    arrives: f32,
    /// The power x of g.
    power: f32,
    /// Mean number of its scatterings less one.
    more: f32,
}

/// Least power of g: of 1 − H(x) − 3 x μ, which falls as x², some digits must be left.
const LEAST_POWER: f32 = 0.05;

/// Spread of light that was scattered forward.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    /// Mean cosine of the forward lobes.
    g: f32,
    lobes: [f32; 2],
    shares: [f32; 2],
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
        Self { g: third / second.max(1e-12), lobes: medium.lobes, shares, rest }
    }

    /// Whether any light is scattered forward.
    pub fn spreads(&self) -> bool {
        self.g > 0.0
    }

    /// Light that was scattered forward before, at a depth towards its source of which the share `scale` counts for it. `clear` is
    /// exp(−depth).
    #[inline(always)]
    pub fn ahead(&self, [depth, clear, scale]: [f32; 3]) -> Ahead {
        let passed = exp(-scale * depth);
        let arrives = greatest(passed - clear, 1e-30);
        let third = exp(-(1.0 - (1.0 - scale) * self.g) * depth) - clear;
        let power = greatest(least(third / arrives, self.g), LEAST_POWER * self.g);
        let more = greatest((1.0 - scale) * depth * passed / arrives - 1.0, 0.0);
        Ahead { arrives, power, more }
    }

    /// Radiance for each unit of irradiance without smoke, of which `peak` is the phase function after one scattering forward \[1/sr\], and
    /// `rest` as in [`Strip`].
    #[inline(always)]
    pub fn radiance(&self, ahead: &Ahead, [peak, rest, cosine]: [f32; 3]) -> f32 {
        let more = self.beyond_once(ahead.power, cosine) - ahead.more * self.rest * rest;
        (peak + 0.25 * std::f32::consts::FRAC_1_PI * more) * ahead.arrives
    }

    /// The difference of Pₙ from P₁, times 4π, for gⁿ = `x`.
    #[inline(always)]
    fn beyond_once(&self, x: f32, cosine: f32) -> f32 {
        let mut all = 0.0;
        for n in 0..2 {
            if self.shares[n] > 0.0 {
                let [here, once] = [higher(self.lobes[n], x, cosine), higher(self.lobes[n], self.g, cosine)];
                all += self.shares[n] * (here - once);
            }
        }
        all
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
    /// Adds the sun's light that was scattered forward before.
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
            let radiance = spread.radiance(&ahead, [strip.peak[i], strip.rest[i], strip.cosine[i]]);
            strip.sent[c][i] = greatest(strip.sent[c][i] + sun[c] * radiance, 0.0);
        }
    }
}
