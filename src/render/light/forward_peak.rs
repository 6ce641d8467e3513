//! Radiance towards an eye of sunlight, or light of a lamp, that smoke has scattered forward.
//!
//! The share f of scattered light goes on with its source (delta-Eddington), after N = ω f τ scatterings on average at a depth τ. It keeps
//! its way, but its directions spread: after n scatterings by a lobe with the mean cosine g, and one more towards the eye, the l-th moment
//! is gˡ⁽ⁿ⁺¹⁾. The other 1 − f has no moments above the first, so this light has all higher ones:
//!
//! ```text
//! Pₙ(μ) = { [H(gⁿ⁺¹, μ) − 1 − 3 gⁿ⁺¹ μ] / g²ⁿ + 1 + 3 g μ } / 4π
//! ```
//!
//! with the phase function H / 4π of Henyey and Greenstein, whose moments are powers of g. n has a Poisson distribution. One power x of g
//! with the mean third moment, x = (e^(g N) − 1) / (e^N − 1), stands for all n ≥ 1. With n = 1 at all depths a ball of 25 1/m before the sun
//! was 1.14 times as bright as traced at g = 0.8.

use super::light_chunk::{CHUNK, Lane};
use crate::render::exp::exp;
use crate::render::medium::Medium;
use crate::simd::{Simd, each_level, greatest, least};

/// Points side by side along x.
pub(super) struct Strip {
    /// Radiance towards the eye. [`Strip::add_peak`] adds that of light scattered forward.
    pub sent: [Lane; 3],
    /// Phase function of light that was scattered forward once, and then towards the eye \[1/sr\].
    pub peak: Lane,
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
        Self { sent: zeros, scale: zeros, peak: zero, rest: zero, depth: zero, cosine: zero }
    }
}

/// Light at one place that was scattered forward on its way there.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    /// Its share of what would arrive without smoke.
    arrives: f32,
    /// The power x of g.
    power: f32,
    /// Mean number of its scatterings less one.
    more: f32,
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

    /// Light scattered forward at an optical depth from its source, of which the share `scale` attenuates it. `clear` is exp(−depth).
    #[inline(always)]
    pub fn ahead(&self, [depth, clear, scale]: [f32; 3]) -> Ahead {
        let passed = exp(-scale * depth);
        let arrives = greatest(passed - clear, 1e-30);
        let third = exp(-(1.0 - (1.0 - scale) * self.g) * depth) - clear;
        let power = greatest(least(third / arrives, self.g), LEAST_POWER * self.g);
        let more = greatest((1.0 - scale) * depth * passed / arrives - 1.0, 0.0);
        Ahead { arrives, power, more }
    }

    /// Radiance for an irradiance of 1 without smoke. `peak`, `rest` and `cosine` are those of [`Strip`].
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
            let radiance = spread.radiance(&ahead, [strip.peak[i], strip.rest[i], strip.cosine[i]]);
            strip.sent[c][i] = greatest(strip.sent[c][i] + sun[c] * radiance, 0.0);
        }
    }
}
