//! Denoiser of traced pictures. The picture of the light volume has all detail and no noise, and its
//! difference from the traced picture varies slowly. So only this difference is smoothed, as with a control
//! variate (Rousselle et al. 2016).
//!
//! First, bright specks (fireflies, of rare paths that met a light) are spread over their neighbours. Where
//! the traced picture is darker, the noiseless one is scaled by the ratio of both, because a difference would
//! leave false colours at rims.
//!
//! The filter is the edge-avoiding à-trous wavelet (Dammertz et al. 2010). Its weights depend on the variance
//! of the difference (Schied et al. 2017), on opacity and brightness of the noiseless picture, and on depth.
//! The result has the opacity of the noiseless picture.

use rayon::prelude::*;

/// Passes of the filter; each doubles the distance between the pixels it reads.
const PASSES: u32 = 5;
/// Weights along an axis: the cubic B-spline.
const KERNEL: [f32; 3] = [3.0 / 8.0, 1.0 / 4.0, 1.0 / 16.0];
/// Differences at which a weight is 1/e: in standard deviations, in opacity, in brightness as a share, and in
/// depth as a share, beyond that of a plane.
const DEVIATIONS: f32 = 4.0;
const OPACITY: f32 = 0.3;
const BRIGHTNESS: f32 = 0.6;
const DEPTH: f32 = 0.03;
/// Radiance added to the brightness in relative differences, so that dark pixels do not stop the filter.
const DARK: f32 = 0.02;

/// A traced picture and the guides of its filter, as rows of pixels.
pub(super) struct Traced<'a> {
    pub size: [usize; 2],
    /// Radiance and the share of the background.
    pub mean: &'a [[f32; 4]],
    /// Variance of the [`brightness`] of the mean.
    pub variance: &'a [f32],
    /// A picture without noise, from the light volume.
    pub guide: &'a [[f32; 4]],
    /// Length of each pixel's ray \[m\].
    pub depth: &'a [f32],
}

/// Returns the brightness of a pixel.
pub(super) fn brightness([r, g, b, _]: [f32; 4]) -> f32 {
    0.25 * r + 0.5 * g + 0.25 * b
}

/// Least brightness of a speck, over that of the third brightest pixel around it.
const SPECK: f32 = 1.5;

/// A pixel of the difference: its colours, its variance, and the colours of the noiseless picture under the same weights.
type Pixel = [f32; 7];

impl Traced<'_> {
    /// Returns the denoised picture. It has the same bits for any number of threads.
    pub fn smooth(&self) -> Vec<[f32; 4]> {
        let mut difference = self.difference();
        for pass in 0..PASSES {
            difference = self.filtered(&difference, 1 << pass);
        }
        let sum = |(guide, all): (&[f32; 4], &Pixel)| {
            let [r, g, b] = [0, 1, 2].map(|c| {
                let (own, difference, around) = (guide[c], all[c], all[4 + c]);
                if difference > 0.0 {
                    own + difference
                } else {
                    own * (1.0 + difference / around.max(1e-20)).max(0.0)
                }
            });
            [r, g, b, guide[3]]
        };
        self.guide.par_iter().zip(&difference).map(sum).collect()
    }

    /// Returns the difference of the two pictures. The variance of a pixel is the mean over its neighbours,
    /// because few frames estimate it badly.
    fn difference(&self) -> Vec<Pixel> {
        let all: Vec<[f32; 3]> = self
            .mean
            .par_iter()
            .zip(self.guide)
            .map(|(mean, guide)| std::array::from_fn(|c| mean[c] - guide[c]))
            .collect();
        let all = self.without_specks(all);
        let pixel = |n: usize| {
            let ([r, g, b], guide) = (all[n], self.guide[n]);
            let (mut sum, mut count) = (0.0, 0.0);
            self.around(n, 1, |m, weight| {
                sum += weight * self.variance[m];
                count += weight;
            });
            [r, g, b, sum / count, guide[0], guide[1], guide[2]]
        };
        (0..self.mean.len()).into_par_iter().map(pixel).collect()
    }

    /// Spreads specks over the pixels around, down to the brightness of the third brightest of these.
    fn without_specks(&self, mut all: Vec<[f32; 3]>) -> Vec<[f32; 3]> {
        let bright = |[r, g, b]: [f32; 3]| brightness([r, g, b, 0.0]);
        let speck = |n: usize| {
            let own = bright(all[n]);
            let mut most = [0.0_f32; 3];
            self.around(n, 1, |m, _| {
                let mut other = if m == n { 0.0 } else { bright(all[m]) };
                for most in &mut most {
                    (*most, other) = (most.max(other), most.min(other));
                }
            });
            // A difference below a tenth of the noiseless brightness is not a speck.
            let most = SPECK * most[2] + 0.1 * brightness(self.guide[n]);
            (own > most).then(|| (n, most / own))
        };
        let specks: Vec<(usize, f32)> = (0..all.len()).into_par_iter().filter_map(speck).collect();
        for (n, left) in specks {
            let taken = all[n].map(|x| (1.0 - left) * x);
            let mut weights = 0.0;
            self.around(n, 1, |_, weight| weights += weight);
            all[n] = all[n].map(|x| left * x);
            self.around(n, 1, |m, weight| (0..3).for_each(|c| all[m][c] += weight / weights * taken[c]));
        }
        all
    }

    /// Returns the change of depth from a pixel to its neighbours along x and y, the smaller one of either
    /// side.
    fn slope(&self, n: usize) -> [f32; 2] {
        let [width, height] = self.size;
        let (x, y, depth) = (n % width, n / width, self.depth[n]);
        let towards =
            |inside: bool, m: usize| if inside { (self.depth[m] - depth).abs() } else { f32::INFINITY };
        let least =
            |before: f32, after: f32| Some(before.min(after)).filter(|x| x.is_finite()).unwrap_or(0.0);
        [
            least(towards(x > 0, n.wrapping_sub(1)), towards(x + 1 < width, n + 1)),
            least(towards(y > 0, n.wrapping_sub(width)), towards(y + 1 < height, n + width)),
        ]
    }

    /// Calls `visit` with the pixels around one at a distance of `spacing` pixels, and their weights.
    fn around(&self, n: usize, spacing: isize, mut visit: impl FnMut(usize, f32)) {
        let [width, height] = self.size.map(|n| n as isize);
        let (x, y) = (n as isize % width, n as isize / width);
        for j in -2..=2_isize {
            for i in -2..=2_isize {
                let (x, y) = (x + i * spacing, y + j * spacing);
                if (0..width).contains(&x) && (0..height).contains(&y) {
                    visit((x + y * width) as usize, KERNEL[i.unsigned_abs()] * KERNEL[j.unsigned_abs()]);
                }
            }
        }
    }

    fn filtered(&self, from: &[Pixel], spacing: isize) -> Vec<Pixel> {
        let changed = |[r, g, b, ..]: Pixel| brightness([r, g, b, 0.0]);
        let pixel = |n: usize| {
            let (here, guide, depth) = (from[n], self.guide[n], self.depth[n]);
            let (bright, slope, width) = (brightness(guide), self.slope(n), self.size[0]);
            let deviation = DEVIATIONS * here[3].max(0.0).sqrt() + 1e-4;
            let (mut sum, mut squares, mut weights) = ([0.0; 7], 0.0, 0.0);
            self.around(n, spacing, |m, weight| {
                let (there, other) = (from[m], self.guide[m]);
                let plane = slope[0] * (m % width).abs_diff(n % width) as f32
                    + slope[1] * (m / width).abs_diff(n / width) as f32;
                let away = (changed(here) - changed(there)).abs() / deviation
                    + (guide[3] - other[3]).abs() / OPACITY
                    + (bright - brightness(other)).abs() / (BRIGHTNESS * (bright + DARK))
                    + ((depth - self.depth[m]).abs() - 1.5 * plane).max(0.0) / (DEPTH * depth);
                let weight = weight * (-away).exp();
                weights += weight;
                (0..7).for_each(|c| sum[c] += weight * there[c]);
                squares += weight * weight * there[3];
            });
            let mut mean = sum.map(|sum| sum / weights);
            mean[3] = squares / (weights * weights);
            mean
        };
        (0..from.len()).into_par_iter().with_min_len(256).map(pixel).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A speck is spread out, and pixels darker than the guide keep the guide's colour.
    #[test]
    fn specks_go_and_colours_stay() {
        let size = [48, 48];
        let count = size[0] * size[1];
        // A blue surface beside a bright one, half as bright as the guide has it, of few paths.
        let guide: Vec<[f32; 4]> = (0..count)
            .map(|n| if n % size[0] < 24 { [0.1, 0.2, 0.8, 0.0] } else { [4.0, 4.0, 4.0, 0.0] })
            .collect();
        let mut mean: Vec<[f32; 4]> = guide
            .iter()
            .enumerate()
            .map(|(n, guide)| guide.map(|x| if n % 2 == n / size[0] % 2 { x } else { 0.0 }))
            .collect();
        let speck = 10 + 24 * size[0];
        mean[speck] = [60.0, 60.0, 60.0, 0.0];
        let (mut variance, depth) = (vec![0.5; count], vec![1.0; count]);
        variance[speck] = 900.0;
        let smooth = Traced { size, mean: &mean, variance: &variance, guide: &guide, depth: &depth }.smooth();
        // The light of the speck is kept, and colours those around it.
        for y in (0..size[1]).filter(|y| y.abs_diff(24) > 16) {
            for [r, _, b, _] in (0..24).map(|x| smooth[x + y * size[0]]) {
                assert!(r < 0.2 * b, "{y}: {r} of {b}");
            }
        }
        let [at, beside] = [speck, speck + 2 * size[0]].map(|n| smooth[n][1]);
        assert!(at < 2.0 * beside, "{at} beside {beside}");
    }

    /// A step and a slope that the guide has too, an error of the guide that varies slowly, and noise.
    #[test]
    fn noise_goes_and_edges_stay() {
        let size = [96, 64];
        let count = size[0] * size[1];
        let at = |n: usize| [n % size[0], n / size[0]].map(|x| x as f32);
        let truth = |n: usize| {
            let [x, y] = at(n);
            if x < 40.0 { 0.2 + 0.01 * y } else { 1.5 }
        };
        let guide: Vec<[f32; 4]> = (0..count)
            .map(|n| [truth(n) * (0.9 + 0.001 * at(n)[1]); 3])
            .map(|[r, g, b]| [r, g, b, 0.3])
            .collect();
        let noise = |n: usize| {
            let hash = (n as u32 + 1).wrapping_mul(0x9E37_79B9);
            let hash = (hash ^ hash >> 15).wrapping_mul(0x85EB_CA6B);
            (((hash ^ hash >> 13) >> 8) as f32 / (1 << 24) as f32 - 0.5) * 0.64
        };
        let mean: Vec<[f32; 4]> =
            (0..count).map(|n| [truth(n) + noise(n); 3]).map(|[r, g, b]| [r, g, b, 0.5]).collect();
        let (variance, depth) = (vec![0.034; count], vec![1.0; count]);
        let smooth = Traced { size, mean: &mean, variance: &variance, guide: &guide, depth: &depth }.smooth();
        let error = |of: &dyn Fn(usize) -> f32| {
            ((0..count).map(|n| (of(n) - truth(n)).powi(2)).sum::<f32>() / count as f32).sqrt()
        };
        let [noisy, left] = [error(&|n| mean[n][1]), error(&|n| smooth[n][1])];
        assert!(noisy > 0.15 && left < 0.15 * noisy, "{left} of {noisy}");
        let biased = error(&|n| guide[n][1]);
        assert!(left < 0.5 * biased, "{left}: the guide is off by {biased}");
        let edge = |x: usize| smooth[x + 30 * size[0]][1];
        assert!((edge(39) - 0.5).abs() < 0.06 && (edge(40) - 1.5).abs() < 0.06, "{} {}", edge(39), edge(40));
        assert!(smooth.iter().all(|pixel| pixel[3] == 0.3), "opacity is the guide's");
    }
}
