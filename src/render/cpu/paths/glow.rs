//! Glowing smoke as a light: paths turn towards it, through places of bricks chosen by what they emit.
//!
//! Half of the directions are drawn from the phase function or the surface, with density f, half towards the glow, with the
//! density g of all places along the ray: the integral of their density p over the volume, ∫ p r² dr. A path weighs
//! f / ½ (f + g), at most 2 (one-sample balance heuristic, Veach and Guibas 1995). Dense smoke sends
//! most of its glow only after scattering, so sampling its emission alone would miss it.

use nalgebra::Vector3;

use super::{Random, Tracer};
use crate::grid::Dims;
use crate::render::camera::{Ray, box_span};
use crate::render::cpu::reference::Smoke;
use crate::snapshot::BRICK;

/// Bricks that glow.
pub(super) struct GlowingBricks {
    /// Cells along each axis, and their edge \[m\].
    cells: [usize; 3],
    h: f32,
    bricks: Dims,
    /// Sum of the power of all bricks up to each.
    sums: Vec<f64>,
    /// Probability density of a sampled place in each brick \[1/m³\].
    density: Vec<f32>,
}

impl GlowingBricks {
    /// The bricks of the smoke; `None` if none glows.
    pub fn of(smoke: &Smoke) -> Option<Self> {
        if smoke.medium.glow[0] <= 0.0 {
            return None;
        }
        let (snapshot, bricks) = (smoke.snapshot, smoke.snapshot.bricks.dims);
        let (dims, h) = (snapshot.dims, snapshot.h);
        let mut power = vec![0.0_f64; bricks.cells()];
        for n in (0..dims.cells()).filter(|&n| snapshot.smoke[n][3].to_f32() > 0.0) {
            let at = [n % dims.nx, n / dims.nx % dims.ny, n / (dims.nx * dims.ny)];
            let [r, g, b, emission] = smoke.sample_linear(at.map(|i| (i as f32 + 0.5) * h));
            let density = r + g + b;
            let sent = density * smoke.glow(emission / density.max(1e-8)).into_iter().sum::<f32>();
            let [i, j, k] = at.map(|i| i / BRICK);
            power[bricks.index(i, j, k)] += f64::from(sent);
        }
        let mut all = Self { cells: dims.array(), h, bricks, sums: Vec::new(), density: Vec::new() };
        let mut sum = 0.0;
        for &power in &power {
            sum += power;
            all.sums.push(sum);
        }
        let density = |n: usize| (power[n] / sum) as f32 / all.span(n).1.into_iter().product::<f32>();
        let densities = (0..bricks.cells()).map(density).collect();
        all.density = densities;
        (sum > 0.0).then_some(all)
    }

    /// Lower corner and size of a brick within the box \[m\].
    fn span(&self, n: usize) -> ([f32; 3], [f32; 3]) {
        let Dims { nx, ny, .. } = self.bricks;
        let first = [n % nx, n / nx % ny, n / (nx * ny)].map(|i| i * BRICK);
        let count: [usize; 3] = std::array::from_fn(|a| BRICK.min(self.cells[a] - first[a]));
        (first.map(|i| i as f32 * self.h), count.map(|n| n as f32 * self.h))
    }

    /// A place in a brick chosen by its power.
    fn sample(&self, random: &mut Random) -> [f32; 3] {
        let all = self.sums[self.sums.len() - 1];
        let at = f64::from(random.next()) * all;
        let n = self.sums.partition_point(|&sum| sum <= at).min(self.sums.len() - 1);
        let (low, size) = self.span(n);
        std::array::from_fn(|a| low[a] + size[a] * random.next())
    }
}

impl Tracer<'_> {
    /// Turns a path that goes on in a direction with a `density` towards the glow, half of the time. Returns its direction and
    /// the factor on its weight.
    pub(super) fn turned_to_glow(
        &self,
        place: [f32; 3],
        onward: Vector3<f32>,
        density: impl Fn(Vector3<f32>) -> f32,
        random: &mut Random,
    ) -> (Vector3<f32>, f32) {
        let Some(glowing) = &self.glowing else { return (onward, 1.0) };
        let direction = if random.next() < 0.5 {
            let way = Vector3::from(glowing.sample(random)) - Vector3::from(place);
            way.try_normalize(1e-9).unwrap_or(onward)
        } else {
            onward
        };
        let own = density(direction);
        let towards = self.density_towards_glow(&Ray { origin: place.into(), direction });
        (direction, own / (0.5 * (own + towards)).max(1e-30))
    }

    /// Probability density of the direction of a ray among those to sampled places \[1/sr\].
    pub(super) fn density_towards_glow(&self, ray: &Ray) -> f32 {
        let Some(glowing) = &self.glowing else { return 0.0 };
        let [enter, leave] = box_span(ray, [0.0; 3], self.extent);
        let edge = BRICK as f32 * self.smoke.snapshot.h;
        let (mut t, mut sum) = (enter.max(0.0), 0.0);
        while t < leave {
            let ahead = t + 1e-4 * edge;
            let (brick, next) = self.brick(ray, ahead, edge);
            let next = next.max(ahead).min(leave);
            sum += glowing.density[brick] * (next.powi(3) - t.powi(3)) / 3.0;
            t = next;
        }
        sum
    }
}
