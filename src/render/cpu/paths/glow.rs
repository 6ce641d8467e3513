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
    cells: Dims,
    h: f32,
    bricks: Dims,
    /// Sum of the emission of all bricks up to each, over the points around their cells.
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
        let (cells, h) = (smoke.snapshot.dims, smoke.snapshot.h);
        let bricks = smoke.snapshot.bricks.dims;
        let mut all = Self { cells, h, bricks, sums: Vec::new(), density: Vec::new() };
        let mut sum = 0.0;
        for n in 0..bricks.cells() {
            sum += all.cells_of(n).map(|at| all.emission(smoke, at)).sum::<f64>();
            all.sums.push(sum);
        }
        let density = |n: usize| (all.emission_of(n) / sum) as f32 / all.span(n).1.iter().product::<f32>();
        all.density = (0..bricks.cells()).map(density).collect();
        (sum > 0.0).then_some(all)
    }

    /// First cell and number of cells of a brick.
    fn range(&self, n: usize) -> ([usize; 3], [usize; 3]) {
        let Dims { nx, ny, .. } = self.bricks;
        let first = [n % nx, n / nx % ny, n / (nx * ny)].map(|i| i * BRICK);
        (first, std::array::from_fn(|a| BRICK.min(self.cells.array()[a] - first[a])))
    }

    /// Cells of a brick.
    fn cells_of(&self, n: usize) -> impl Iterator<Item = [usize; 3]> {
        let (first, [nx, ny, nz]) = self.range(n);
        (0..nx * ny * nz)
            .map(move |n| [n % nx, n / nx % ny, n / (nx * ny)])
            .map(move |at| std::array::from_fn(|a| first[a] + at[a]))
    }

    /// Number of points along an axis with the value of the `i`th cell: interpolation repeats those of the
    /// border beyond it.
    fn repeats(&self, axis: usize, i: usize) -> usize {
        1 + usize::from(i == 0) + usize::from(i + 1 == self.cells.array()[axis])
    }

    /// Emission of a cell over all points with its value.
    fn emission(&self, smoke: &Smoke, at: [usize; 3]) -> f64 {
        let points: usize = (0..3).map(|a| self.repeats(a, at[a])).product();
        points as f64 * f64::from(smoke.emission_of(self.cells.index(at[0], at[1], at[2])))
    }

    /// Emission of a brick.
    fn emission_of(&self, n: usize) -> f64 {
        self.sums[n] - if n > 0 { self.sums[n - 1] } else { 0.0 }
    }

    /// Integral of the emission, interpolated linearly \[m³\].
    pub fn whole(&self) -> f32 {
        (self.sums[self.sums.len() - 1] * f64::from(self.h).powi(3)) as f32
    }

    /// Lower corner and size of a brick within the box \[m\].
    fn span(&self, n: usize) -> ([f32; 3], [f32; 3]) {
        let (first, count) = self.range(n);
        (first.map(|i| i as f32 * self.h), count.map(|n| n as f32 * self.h))
    }

    /// Number of a brick chosen by its emission.
    fn brick(&self, random: &mut Random) -> usize {
        let all = self.sums[self.sums.len() - 1];
        let at = f64::from(random.next()) * all;
        self.sums.partition_point(|&sum| sum <= at).min(self.sums.len() - 1)
    }

    /// A place in a brick chosen by its emission.
    fn sample(&self, random: &mut Random) -> [f32; 3] {
        let (low, size) = self.span(self.brick(random));
        std::array::from_fn(|a| low[a] + size[a] * random.next())
    }

    /// A place \[m\] with the linearly interpolated emission as its density, at most half a cell outside the box:
    /// a cell chosen by its emission, and a place around it by the weight of its value. `None` outside.
    pub fn sample_linear(&self, smoke: &Smoke, random: &mut Random) -> Option<[f32; 3]> {
        let brick = self.brick(random);
        let mut left = f64::from(random.next()) * self.emission_of(brick);
        let chosen = self.cells_of(brick).find(|&at| {
            left -= self.emission(smoke, at);
            left < 0.0
        })?;
        let mut place = [0.0; 3];
        for (a, place) in place.iter_mut().enumerate() {
            let (i, repeats) = (chosen[a], self.repeats(a, chosen[a]));
            let copy = (random.next() * repeats as f32) as usize + usize::from(i > 0);
            let at = (i + copy) as f32 - 1.0 + random.next() + random.next() - 1.0;
            if at < -1.0 || at > self.cells.array()[a] as f32 {
                return None;
            }
            *place = (at + 0.5) * self.h;
        }
        Some(place)
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
