//! Composite of the marched smoke over the background. `shaders/composite.frag`, `smooth.frag` and
//! `overlay.frag` have the same formulas.

use crate::render::trilinear::lerp;

/// Sum of weights below which no ray of similar length is among them: such a ray weighs a thousand times its
/// share.
pub(in crate::render) const FEW_WEIGHTS: f32 = 1.0;

/// A marched picture, at full size or a fraction of it.
pub(super) struct Marched<'a> {
    /// Rays across and up.
    pub size: [usize; 2],
    /// Distance between rows: a number of whole packets.
    pub stride: usize,
    /// Radiance and transmittance.
    pub rays: &'a [[f32; 4]],
    /// Length of each ray up to a surface \[m\]; `None` if no surface lies in the box.
    pub t_max: Option<&'a [f32]>,
}

/// Positions of the pixels of one axis among the rays: index and fraction.
pub(super) struct Places(Vec<(usize, f32)>);

impl Places {
    pub fn new(pixels: usize, rays: usize) -> Self {
        let place = |n: usize| {
            let at = (n as f32 + 0.5) * rays as f32 / pixels as f32 - 0.5;
            let base = at.floor();
            // Counted from the ray −1, so that no index is negative.
            ((base + 1.0) as usize, at - base)
        };
        Self((0..pixels).map(place).collect())
    }
}

impl Marched<'_> {
    /// Composites the smoke over the pixels of row `y` from `x` on; `t_max` are the lengths of their rays up
    /// to a surface.
    pub fn over(&self, places: &[Places; 2], [x, y]: [usize; 2], pixels: &mut [[f32; 4]], t_max: &[f32]) {
        if places[0].0.len() == self.size[0] {
            let rays = &self.rays[y * self.stride + x..];
            pixels.iter_mut().zip(rays).for_each(|(pixel, ray)| put_over(pixel, ray));
            return;
        }
        let (base_y, f_y) = places[1].0[y];
        let rows = [base_y, base_y + 1].map(|n| n.saturating_sub(1).min(self.size[1] - 1) * self.stride);
        for (n, pixel) in pixels.iter_mut().enumerate() {
            let (base, f) = places[0].0[x + n];
            let columns = [base, base + 1].map(|n| n.saturating_sub(1).min(self.size[0] - 1));
            let corners =
                [rows[0] + columns[0], rows[0] + columns[1], rows[1] + columns[0], rows[1] + columns[1]];
            let ray = match self.t_max {
                Some(t_maxima) if corners.iter().any(|&at| differs(t_maxima[at], t_max[n])) => {
                    self.beside_an_edge([base, base_y], [f, f_y], t_maxima, t_max[n])
                }
                _ => {
                    let rays = corners.map(|at| self.rays[at]);
                    lerp(lerp(rays[0], rays[1], f), lerp(rays[2], rays[3], f), f_y)
                }
            };
            put_over(pixel, &ray);
        }
    }

    /// Returns the mean of the neighbouring rays of similar length.
    fn beside_an_edge(&self, base: [usize; 2], f: [f32; 2], t_maxima: &[f32], t_max: f32) -> [f32; 4] {
        let mut mean = Mean::default();
        let share = |n: usize, f: f32| if n == 0 { 1.0 - f } else { f };
        for n in 0..4 {
            let at = self.ray_at(base, [n % 2, n / 2]);
            mean.add(self.rays[at], share(n % 2, f[0]) * share(n / 2, f[1]), t_maxima[at], t_max);
        }
        // None of the four has a similar length, so their neighbours are used too.
        if mean.weights < FEW_WEIGHTS {
            for n in 0..16 {
                let (i, j) = (n % 4, n / 4);
                let near = |n: usize, f: f32| (2.0 - (n as f32 - 1.0 - f).abs()).max(0.0);
                let at = self.ray_at([base[0].max(1) - 1, base[1].max(1) - 1], [i, j]);
                mean.add(self.rays[at], near(i, f[0]) * near(j, f[1]), t_maxima[at], t_max);
            }
        }
        mean.sum.map(|x| x / mean.weights)
    }

    /// Returns the index of a ray relative to a base that counts from −1.
    fn ray_at(&self, base: [usize; 2], by: [usize; 2]) -> usize {
        let [x, y] = [0, 1].map(|a| (base[a] + by[a]).saturating_sub(1).min(self.size[a] - 1));
        y * self.stride + x
    }
}

#[derive(Default)]
struct Mean {
    sum: [f32; 4],
    weights: f32,
}

impl Mean {
    /// Adds a ray. Its weight decreases with the difference of the lengths.
    fn add(&mut self, ray: [f32; 4], share: f32, other: f32, t_max: f32) {
        let weight = share / (1e-3 + (other - t_max).abs() / other.min(t_max)) + 1e-6;
        self.weights += weight;
        (0..4).for_each(|c| self.sum[c] += weight * ray[c]);
    }
}

fn differs(a: f32, b: f32) -> bool {
    (a - b).abs() > 0.01 * a.min(b)
}

fn put_over(pixel: &mut [f32; 4], ray: &[f32; 4]) {
    let [r, g, b, clear] = *pixel;
    *pixel = [ray[0] + ray[3] * r, ray[1] + ray[3] * g, ray[2] + ray[3] * b, ray[3] * clear];
}
