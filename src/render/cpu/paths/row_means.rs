//! Means over the paths of the pixels in a row, up to a noise limit.
//!
//! The first paths of a pixel may all miss a light that few paths find: they agree, and their mean is far too dark. So a mean is done only
//! if the paths of the pixels around it agree too.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::render::denoise::brightness;

/// Number of paths after which a mean may be done, and radiance below which noise is invisible.
const FEWEST: u32 = 16;
pub(super) const FAINT: f32 = 0.02;
/// Pixels to either side whose paths must agree; at the ends of a row as many in all.
const AROUND: usize = 32;

/// Sums over the paths of a pixel.
#[derive(Clone, Copy, Default)]
struct Tally {
    light: [f32; 4],
    /// Brightness of the paths, and its squares.
    sums: [f64; 2],
    count: u32,
    is_done: bool,
}

/// Limits of a mean.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Standard error at which a mean is done, as a share of the mean; 0 for none.
    pub noise: f32,
    /// Flag that ends all means early; they are then 0.
    pub cancel: Option<&'a AtomicBool>,
}

/// Means of `path` over the paths with these numbers, for each pixel of a row that is `shown`; 0 for others.
pub fn row_means(
    limits: Limits,
    paths: Range<u32>,
    width: usize,
    shown: impl Fn(usize) -> bool,
    path: impl Fn(usize, u32) -> [f32; 4] + Sync,
) -> Vec<[f32; 4]> {
    let is_cancelled = || limits.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
    let mut tallies: Vec<Tally> =
        (0..width).map(|x| Tally { is_done: !shown(x), ..Tally::default() }).collect();
    let mut next = paths.start;
    while next < paths.end && !tallies.iter().all(|tally| tally.is_done) {
        let end = if limits.noise > 0.0 { paths.end.min(next + FEWEST) } else { paths.end };
        tallies.par_iter_mut().enumerate().with_min_len(16).for_each(|(x, tally)| {
            let paths = if tally.is_done { 0..0 } else { next..end };
            for n in paths {
                if is_cancelled() {
                    return;
                }
                tally.add(path(x, n));
            }
        });
        if is_cancelled() {
            return vec![[0.0; 4]; width];
        }
        if limits.noise > 0.0 {
            end_means(&mut tallies, f64::from(limits.noise));
        }
        next = end;
    }
    tallies.iter().map(|tally| tally.light.map(|sum| sum / tally.count.max(1) as f32)).collect()
}

/// Ends the means whose noise, and that of the pixels around them, is below the limit.
fn end_means(tallies: &mut [Tally], noise: f64) {
    let spreads: Vec<Option<[f64; 2]>> = tallies.iter().map(Tally::spread).collect();
    let is_below = |[mean, variance]: [f64; 2], count: u32| {
        variance <= (noise * (mean + f64::from(FAINT))).powi(2) * f64::from(count)
    };
    for (x, tally) in tallies.iter_mut().enumerate().filter(|(_, tally)| !tally.is_done) {
        let first = x.saturating_sub(AROUND).min(spreads.len().saturating_sub(2 * AROUND + 1));
        let around = &spreads[first..spreads.len().min(first + 2 * AROUND + 1)];
        let many = around.iter().flatten().count() as f64;
        let mean = [0, 1].map(|n| around.iter().flatten().map(|spread| spread[n]).sum::<f64>() / many);
        tally.is_done =
            spreads[x].is_some_and(|own| is_below(own, tally.count)) && is_below(mean, tally.count);
    }
}

impl Tally {
    fn add(&mut self, path: [f32; 4]) {
        (0..4).for_each(|c| self.light[c] += path[c]);
        self.count += 1;
        // The view behind thin smoke has noise too.
        let light = f64::from(brightness(path) + 0.1 * path[3]);
        (self.sums[0], self.sums[1]) = (self.sums[0] + light, self.sums[1] + light * light);
    }

    /// Mean and variance of the brightness of its paths; `None` without any.
    fn spread(&self) -> Option<[f64; 2]> {
        let many = f64::from(self.count);
        let [mean, square] = self.sums.map(|sum| sum / many);
        (self.count > 0).then_some([mean, (square - mean * mean).max(0.0)])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    const WIDTH: usize = 200;

    fn means(noise: f32, path: impl Fn(usize, u32) -> f32 + Sync) -> (f32, u32) {
        let count = AtomicU32::new(0);
        let limits = Limits { noise, cancel: None };
        let means = row_means(
            limits,
            0..20_000,
            WIDTH,
            |x| x != 5,
            |x, n| {
                count.fetch_add(1, Ordering::Relaxed);
                let light = path(x, n);
                [light, light, light, 0.0]
            },
        );
        assert_eq!(means[5], [0.0; 4], "it is not shown");
        (
            means.iter().map(|mean| mean[0]).sum::<f32>() / (WIDTH - 1) as f32,
            count.into_inner() / (WIDTH as u32 - 1),
        )
    }

    /// One path in a hundred finds the light. With limits for each pixel alone the mean was 0.2 of what it is.
    #[test]
    fn means_do_not_end_before_a_light_is_found_that_few_paths_find() {
        let rare = |x: usize, n: u32| {
            let hash = (x as u32 * 7919 + n).wrapping_mul(2_654_435_761) >> 8;
            f32::from(u8::from(hash.is_multiple_of(100))) * 100.0
        };
        let (all, _) = means(0.0, rare);
        let (limited, count) = means(0.05, rare);
        assert!((limited - all).abs() < 0.03 * all, "{limited}, not {all}, after {count} paths");
        assert!((10_000..=20_000).contains(&count), "{count} paths");
    }

    #[test]
    fn means_of_even_light_end_soon() {
        assert_eq!(means(0.02, |_, _| 1.0), (1.0, 16));
        let (mean, count) = means(0.02, |_, n| 1.0 + 0.1 * (n % 2) as f32);
        assert!((mean - 1.05).abs() < 1e-5 && count == 16, "{mean} after {count} paths");
    }
}
