//! The phase function on the ordinates.
//!
//! The sum of a narrow phase function over fourteen directions is not 1: with a mean cosine of 0.8 it is 45 straight ahead and 0.6 in
//! the next direction. Here it has its own values up to a cosine of 1/2 and is constant from there. A lobe around the direction
//! of the light makes the sum 1. This renormalises the phase function as Wiscombe (1976) does, but only its peak:
//! light scattered to the side and back is exact.
//!
//! - The **whole** phase function scatters radiance towards an eye, as DISORT takes radiance between its ordinates from the source
//!   function (Stamnes et al. 1988). φ + 3 g J·Ω has neither the peak nor the back of a narrow phase function.
//! - The **truncated** one, without its share f = g², scatters the sun into the ordinates. A lobe with the mean cosine of the rest is 1.4 times
//!   too bright to the side and 1.5 times to the back.

use super::{DIRECTIONS, directions, unit};
use crate::render::light::light_chunk::{CHUNK, Lane};
use crate::render::medium::Medium;
use crate::simd::{Simd, each_level};

/// Cosine above which the phase function is constant, but for the lobe.
const AHEAD: f32 = 0.5;

/// An ordinate: its unit vector and its weight.
#[derive(Clone, Copy, Debug)]
pub(in crate::render::light) struct Ordinate {
    pub direction: [f32; 3],
    pub weight: f32,
}

/// All ordinates.
pub(in crate::render::light) fn ordinates() -> [Ordinate; DIRECTIONS] {
    directions().map(|(step, weight)| Ordinate { direction: unit(step), weight })
}

/// The phase function between directions and the ordinates, times 4π.
pub(in crate::render::light) struct OnOrdinates {
    pub values: [Lane; DIRECTIONS],
    cosines: [Lane; DIRECTIONS],
}

impl Default for OnOrdinates {
    fn default() -> Self {
        Self { values: [[0.0; CHUNK]; DIRECTIONS], cosines: [[0.0; CHUNK]; DIRECTIONS] }
    }
}

impl OnOrdinates {
    /// Fills in the whole phase function towards unit vectors. With a lobe of cos⁵ its mean cosine is within 0.17 of g.
    #[inline(always)]
    pub fn fill_whole(&mut self, medium: &Medium, along: &[Lane; 3]) {
        self.fill(medium, along, false);
    }

    #[inline(always)]
    fn fill(&mut self, medium: &Medium, along: &[Lane; 3], cut: bool) {
        let ordinates = ordinates();
        for (cosines, Ordinate { direction: [x, y, z], .. }) in self.cosines.iter_mut().zip(&ordinates) {
            for i in 0..CHUNK {
                cosines[i] = x * along[0][i] + y * along[1][i] + z * along[2][i];
            }
        }
        self.values = [[0.0; CHUNK]; DIRECTIONS];
        let [first, second] = medium.lobes;
        self.add_lobe(&ordinates, first, 1.0 - medium.second_share, cut);
        if medium.second_share > 0.0 {
            self.add_lobe(&ordinates, second, medium.second_share, cut);
        }
    }

    /// Adds a share of the phase function of Henyey and Greenstein, whole or truncated by g².
    #[inline(always)]
    fn add_lobe(&mut self, ordinates: &[Ordinate; DIRECTIONS], g: f32, share: f32, cut: bool) {
        let (sign, g) = (1.0_f32.copysign(g), g.abs());
        // A backward lobe has no forward peak to lose.
        let cut = cut && sign > 0.0;
        let mut lobe = [[0.0; CHUNK]; DIRECTIONS];
        let mut shape = [[0.0; CHUNK]; DIRECTIONS];
        let (mut tail, mut ahead) = ([0.0; CHUNK], [0.0; CHUNK]);
        for n in 0..DIRECTIONS {
            let weight = ordinates[n].weight;
            for i in 0..CHUNK {
                let cosine = sign * self.cosines[n][i];
                let d = 1.0 + g * g - 2.0 * g * if cosine < AHEAD { cosine } else { AHEAD };
                let up = if cosine > 0.0 { cosine } else { 0.0 };
                lobe[n][i] = (1.0 - g * g) / (d * d.sqrt());
                shape[n][i] = if cut { up } else { up * up * up * up * up };
                tail[i] += weight * lobe[n][i];
                ahead[i] += weight * shape[n][i];
            }
        }
        let whole = if cut { 1.0 - g * g } else { 1.0 };
        for i in 0..CHUNK {
            ahead[i] = (whole - tail[i]) / ahead[i];
        }
        for n in 0..DIRECTIONS {
            for i in 0..CHUNK {
                let value = lobe[n][i] + ahead[i] * shape[n][i];
                self.values[n][i] += share * if value > 0.0 { value } else { 0.0 };
            }
        }
    }
}

/// The truncated phase function from light along a unit vector to each ordinate, times 4π, scaled to a mean of 1. Its lobe is a cosine.
pub(in crate::render::light) fn cut_phase(medium: &Medium, along: [f32; 3]) -> [f32; DIRECTIONS] {
    let mut on = OnOrdinates::default();
    fill_cut(&mut on, medium, &along.map(|x| [x; CHUNK]));
    let values = on.values.map(|values| values[0]);
    let all: f32 = ordinates().iter().zip(values).map(|(ordinate, value)| ordinate.weight * value).sum();
    values.map(|value| value / all)
}

each_level! {
    fn fill_cut(on: &mut OnOrdinates, medium: &Medium, along: &[Lane; 3]) = fill_cut_kernel;
}

#[inline(always)]
fn fill_cut_kernel<S: Simd>(_: S, on: &mut OnOrdinates, medium: &Medium, along: &[Lane; 3]) {
    on.fill(medium, along, true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Look;
    use crate::render::camera;

    fn medium(anisotropy: f32, second_lobe: [f32; 2]) -> Medium {
        Medium::of(&Look { anisotropy, second_lobe, ..Look::default() }, [1.0; 3])
    }

    /// The whole and the truncated phase function keep all light in any direction, and are exact to the back.
    #[test]
    fn the_phase_function_on_ordinates_keeps_its_light_and_its_back() {
        for (g, second) in
            [(0.0, [0.0; 2]), (0.6, [0.0; 2]), (0.8, [0.0; 2]), (-0.5, [0.0; 2]), (0.8, [-0.3, 0.2])]
        {
            let medium = medium(g, second);
            for along in [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.9, 0.3, -0.3]] {
                let along = camera::unit(along);
                let mut on = OnOrdinates::default();
                on.fill_whole(&medium, &along.map(|x| [x; CHUNK]));
                let cut = cut_phase(&medium, along);
                let [mut whole, mut rest, mut mean] = [0.0; 3];
                for (n, Ordinate { direction, weight }) in ordinates().into_iter().enumerate() {
                    let cosine: f32 = (0..3).map(|a| direction[a] * along[a]).sum();
                    whole += weight * on.values[n][0];
                    rest += weight * cut[n];
                    mean += weight * cosine * on.values[n][0];
                    if cosine < 0.0 && g >= 0.0 && second[1] == 0.0 {
                        let exact = 4.0 * std::f32::consts::PI * medium.phase_function(1.0, cosine);
                        assert!((on.values[n][0] - exact).abs() < 1e-3 * exact, "{g} {along:?} {n}");
                        let exact = exact / (1.0 - medium.scaled_phase().forward);
                        assert!(
                            (cut[n] - exact).abs() < 1e-3 * exact,
                            "{g} {along:?} {n}: {} {exact}",
                            cut[n]
                        );
                    }
                }
                assert!(
                    (whole - 1.0).abs() < 1e-5 && (rest - 1.0).abs() < 1e-5,
                    "{g} {along:?}: {whole} {rest}"
                );
                assert!((mean - medium.mean_cosine()).abs() < 0.17, "{g} {along:?}: {mean}");
            }
        }
    }
}
