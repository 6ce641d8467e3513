//! A Chebyshev iteration over the sweeps of one colour.

use super::{Color, Grid};
use crate::simd::vectors::EIGHT;
use crate::simd::{Simd, each_level, greatest, least};

/// Greatest factor of the slowest errors that [`Color::accelerate`] damps.
const SLOWEST: f32 = 0.99;
/// Greatest complex factor of a sweep: √(a c + 3 g b²) at a mean cosine of 1/2 for waves along a diagonal, with the moments a, b and c of
/// 1 / (1 + i k Ω).
const COMPLEX: f32 = 0.4;
/// Sweeps of a step of the acceleration where smoke does not scatter evenly, or solids reflect light by φ and J. With one, errors grew: a ball
/// of 25 1/m, g = 0.8, was four times as bright as traced, one with three solids around it and g = 0 thousands of times.
const STRIDE: usize = 3;

impl Color {
    /// Prepares the first of several sweeps for [`Color::accelerate`].
    pub fn begin(&mut self, grid: &Grid) {
        let [up, down] = &mut self.halves;
        let moments = up.moments.all_mut().into_iter().zip(down.moments.all_mut());
        for ((up, down), here) in moments.zip(self.begun[1].all_mut()) {
            begin_strips(grid, up, down, here);
        }
    }

    /// Number of sweeps in a step of [`Color::accelerate`].
    pub fn stride(&self) -> usize {
        if self.mixes_moments() { STRIDE } else { 1 }
    }

    /// Whether φ and J turn into one another from sweep to sweep.
    fn mixes_moments(&self) -> bool {
        self.g != 0.0 || self.reflects
    }

    /// Estimates the factor by which a sweep multiplies the slowest errors: the greatest albedo, as in an endless medium. Solids reflect besides.
    pub(super) fn measure_slowest(&mut self, grid: &Grid) {
        let strips =
            self.albedo.as_chunks::<EIGHT>().0.iter().zip(&grid.filled).filter(|(_, filled)| **filled);
        let most = strips.fold([0.0; EIGHT], |most: [f32; EIGHT], (strip, _)| {
            std::array::from_fn(|i| greatest(most[i], strip[i]))
        });
        let most = most.into_iter().fold(0.0, f32::max);
        self.slowest = if self.reflects { SLOWEST } else { least(most, SLOWEST) };
    }

    /// Turns the light after a step of some sweeps into that which the next one begins with, by the Chebyshev iteration.
    ///
    /// A sweep multiplies errors by factors between 0 and the albedo, the greatest for smooth ones. Where smoke scatters
    /// forward, φ and J turn into one another, and some factors are complex, of 0.4 at most; where it scatters backward, those of J are
    /// negative. [`STRIDE`] sweeps leave little of either. With x for the moments and G for the step
    ///
    /// ```text
    /// xₙ₊₁ = wₙ ((G xₙ − xₙ) / (1 − c) + xₙ − xₙ₋₁) + xₙ₋₁      σ² = (a² − e²) / (1 − c)²
    /// w₀ = 1      w₁ = 1 / (1 − σ²/2)      wₙ = 1 / (1 − σ² wₙ₋₁ / 4)
    /// ```
    ///
    /// is the polynomial of least greatest value on an ellipse around c with the half axes a and e (Manteuffel 1977).
    pub fn accelerate(&mut self, grid: &Grid, weight: f32) {
        let step = weight / (1.0 - self.factors()[0]);
        let [up, down] = &mut self.halves;
        let [before, here] = &mut self.begun;
        let moments = up.moments.all_mut().into_iter().zip(down.moments.all_mut());
        for ((up, down), (before, here)) in moments.zip(before.all_mut().into_iter().zip(here.all_mut())) {
            accelerate_strips(grid, [step, weight], up, down, before, here);
        }
    }

    /// The weight of the n-th step after `before`, the last.
    pub fn weight(&self, n: usize, before: f32) -> f32 {
        let [middle, real, imaginary] = self.factors();
        let square = (real * real - imaginary * imaginary) / (1.0 - middle).powi(2);
        match n {
            0 => 1.0,
            1 => 1.0 / (1.0 - 0.5 * square),
            _ => 1.0 / (1.0 - 0.25 * square * before),
        }
    }

    /// Middle and half axes of the factors by which a step multiplies errors.
    fn factors(&self) -> [f32; 3] {
        let of_step = |factor: f32| factor.powi(self.stride() as i32);
        let slowest = of_step(self.slowest);
        let of_flux = if self.mixes_moments() { of_step(COMPLEX) } else { 0.0 };
        let least = of_step(self.g.min(0.0)) - of_flux;
        [0.5 * (slowest + least), 0.5 * (slowest - least), of_flux]
    }
}

each_level! {
    fn begin_strips(grid: &Grid, up: &mut [f32], down: &mut [f32], here: &mut [f32]) = begin_kernel;
}

/// One moment in all strips with medium: both halves are in the first, and kept. The last step does not count in the first.
#[inline(always)]
fn begin_kernel<S: Simd>(_: S, grid: &Grid, up: &mut [f32], down: &mut [f32], here: &mut [f32]) {
    let [up, down, here] = [up, down, here].map(|values| values.as_chunks_mut::<EIGHT>().0);
    for strip in (0..grid.filled.len()).filter(|&strip| grid.filled[strip]) {
        for i in 0..EIGHT {
            let both = up[strip][i] + down[strip][i];
            (up[strip][i], down[strip][i], here[strip][i]) = (both, 0.0, both);
        }
    }
}

each_level! {
    fn accelerate_strips(
        grid: &Grid,
        factors: [f32; 2],
        up: &mut [f32],
        down: &mut [f32],
        before: &mut [f32],
        here: &mut [f32],
    ) = accelerate_kernel;
}

/// One moment in all strips with medium: the sum of both halves is what the sweep made of `here`. The next begins with the first half.
#[inline(always)]
fn accelerate_kernel<S: Simd>(
    _: S,
    grid: &Grid,
    [step, weight]: [f32; 2],
    up: &mut [f32],
    down: &mut [f32],
    before: &mut [f32],
    here: &mut [f32],
) {
    let [up, down, before, here] = [up, down, before, here].map(|values| values.as_chunks_mut::<EIGHT>().0);
    for strip in (0..grid.filled.len()).filter(|&strip| grid.filled[strip]) {
        for i in 0..EIGHT {
            let (from, last) = (here[strip][i], before[strip][i]);
            let swept = up[strip][i] + down[strip][i];
            let next = step * (swept - from) + weight * (from - last) + last;
            (up[strip][i], down[strip][i]) = (next, 0.0);
            (before[strip][i], here[strip][i]) = (from, next);
        }
    }
}
