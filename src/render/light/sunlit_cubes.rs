//! The sun that arrives in the cubes of the light volume, from its depth at the points.

use rayon::prelude::*;

use super::LightVolume;
use super::first_collisions::{Around, collide};
use super::light_chunk::{CHUNK, Lane};
use super::root;
use crate::render::exp::exp;
use crate::render::medium::Medium;
use crate::simd::{Simd, each_level};

impl LightVolume {
    /// The sun in each cube: the mean over places in it, weighted with their density, of what arrives.
    pub(super) fn light_cubes(&mut self, medium: &Medium) {
        let (samples, dims) = (self.cube_samples(), self.mixture.dims);
        let mut sun = std::mem::take(&mut self.sources.sun);
        let points = samples.dims;
        let cube = |a: usize, n: usize| samples.cube(n, self.mixture.h, dims.array()[a]);
        let plane = dims.nx * dims.ny;
        let xs: Vec<usize> = (0..points.nx).map(|i| cube(0, i)).collect();
        // Half the way of the sun's light through the surroundings of a point.
        let half = 0.5 * medium.extinction * samples.spacing;
        let mut sums = std::mem::take(&mut self.scratch.sums);
        sums.clear();
        sums.resize(dims.cells(), [0.0; 4]);
        let depth = samples.depths(self.on_points(&self.depth), Some(&self.entering(medium)));
        let shade = samples.depths(self.on_points(&self.shade), None);
        let (density, spans) = (self.densities_in_cubes(&samples), samples.spans(&self.spans));
        // A wide sun lights cells from all of its directions. Depths interpolated linearly begin up to a point before the smoke does, so
        // that a small ball lost a sixth of its light.
        let by_faces = self.fine && !self.means_as_read.is_empty() && !self.sun.is_wide();
        // The depths of two faces may differ by more than what lies between them.
        let most = if by_faces { 1.0 } else { f32::MAX };
        let toward = medium.sun_direction;
        let around = |[start, j, k]: [usize; 3]| -> Around {
            let at = |n: usize| (start + n).saturating_sub(1).min(points.nx - 1);
            let row = |dk: usize, dj: usize| {
                let row = points.index(0, j + dj - 1, k + dk - 1);
                std::array::from_fn(|n| root(depth[row + at(n)]))
            };
            std::array::from_fn(|dk| std::array::from_fn(|dj| row(dk, dj)))
        };
        let (albedo, forward) = (&self.cubes.albedo, self.cubes.phase.forward);
        let [red, green, blue] = &mut sun;
        for sun in [&mut *red, &mut *green, &mut *blue] {
            sun.resize(dims.cells(), 0.0);
        }
        let suns = red.par_chunks_mut(plane).zip(green.par_chunks_mut(plane)).zip(blue.par_chunks_mut(plane));
        sums.par_chunks_mut(plane).zip(suns).enumerate().for_each(|(slab, (sums, ((red, green), blue)))| {
            let mut strip = Arriving::default();
            for k in (1..points.nz - 1).filter(|&k| cube(2, k) == slab) {
                for j in 1..points.ny - 1 {
                    let row = points.index(0, j, k);
                    let first = cube(1, j) * dims.nx;
                    let span = spans[j + k * points.ny].clone();
                    let (mut start, end) = (span.start.max(1), span.end.min(points.nx - 1));
                    while start < end {
                        let count = (end - start).min(CHUNK);
                        let at = row + start..row + start + count;
                        strip.density[..count].copy_from_slice(&density[at.clone()]);
                        strip.depth[..count].copy_from_slice(&depth[at.clone()]);
                        match shade.get(at) {
                            Some(shade) => strip.shade[..count].copy_from_slice(shade),
                            None => strip.shade = [0.0; CHUNK],
                        }
                        let to = xs[start..start + count].iter().map(|x| first + x);
                        for (n, at) in to.clone().enumerate() {
                            (0..3).for_each(|c| {
                                strip.scale[c][n] = 1.0 - albedo[c][slab * plane + at] * forward
                            });
                        }
                        if by_faces {
                            let roots = around([start, j, k]);
                            collide(&roots, toward, &strip.scale.clone(), &mut strip.collided);
                            collided(&mut strip, 0.5 / half);
                        } else {
                            arrive(&mut strip, half);
                        }
                        for (n, at) in to.enumerate() {
                            let sum = &mut sums[at];
                            (0..3).for_each(|c| sum[c] += strip.scale[c][n]);
                            sum[3] += strip.density[n];
                        }
                        start += count;
                    }
                }
            }
            for (c, sun) in [red, green, blue].into_iter().enumerate() {
                let lit = sums.iter().map(|sum| medium.sun[c] * (sum[c] / sum[3].max(1e-20)).min(most));
                sun.iter_mut().zip(lit).for_each(|(sun, lit)| *sun = lit);
            }
        });
        self.scratch.sums = sums;
        self.sources.sun = sun;
    }
}

/// Points side by side along x that the sun shines on.
struct Arriving {
    density: Lane,
    depth: Lane,
    shade: Lane,
    /// The share of the depth that counts in red, green and blue, and then the light that arrives.
    scale: [Lane; 3],
    /// As [`collide`] computes it.
    collided: [Lane; 3],
}

impl Default for Arriving {
    fn default() -> Self {
        let zeros = [0.0; CHUNK];
        Self { density: zeros, depth: zeros, shade: zeros, scale: [zeros; 3], collided: [zeros; 3] }
    }
}

each_level! {
    /// What arrives of the sun in the surroundings of points, times their density; `half` is half the depth of a density of 1.
    fn arrive(strip: &mut Arriving, half: f32) = arrive_kernel;
}

#[inline(always)]
fn arrive_kernel<S: Simd>(_: S, strip: &mut Arriving, half: f32) {
    let Arriving { density, depth, shade, scale, .. } = strip;
    for scale in scale {
        for i in 0..CHUNK {
            let arrives = exp(-scale[i] * depth[i] - shade[i]) * spread(half * scale[i] * density[i]);
            scale[i] = density[i] * arrives;
        }
    }
}

/// The same from what collides in cells, with the way through one for an extinction of 1.
fn collided(strip: &mut Arriving, way: f32) {
    let Arriving { shade, scale, collided, .. } = strip;
    for (scale, collided) in scale.iter_mut().zip(collided) {
        for i in 0..CHUNK {
            scale[i] = way * collided[i].max(0.0) * exp(-shade[i]) / scale[i].max(1e-6);
        }
    }
}

/// Mean of e^−x over −h to h: what arrives in a layer whose middle is lit by 1.
#[inline(always)]
pub(super) fn spread(h: f32) -> f32 {
    let x = h.min(3.0);
    if x < 1e-2 { 1.0 } else { 0.5 * (exp(x) - exp(-x)) / x }
}
