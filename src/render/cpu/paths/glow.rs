//! Glowing smoke as a light: a place of it is sampled in proportion to what its cells emit.
//!
//! A path finds the same light by meeting it. The balance heuristic (Veach and Guibas 1995) weights both by their densities
//! over the volume: that of a sampled cell, p, and that of a path in direction Ω with density q(Ω) which collides at a
//! distance r, q σ / r². Transmittance is left out of the second, so that both sides know it. What a sample adds is at most the
//! glow times the extinction over that of its cell: near the glow there are no fireflies.

use nalgebra::Vector3;

use super::{Hit, Random, Tracer, Walk};
use crate::grid::Dims;
use crate::render::camera::Ray;
use crate::render::cpu::reference::Smoke;

/// Cells that glow, with their shares of all that is emitted.
pub(super) struct GlowingCells {
    dims: Dims,
    /// Edge of a cell \[m\].
    h: f32,
    /// Numbers of the cells, ascending, and the sum of the power of all up to each.
    cells: Vec<u32>,
    sums: Vec<f64>,
}

impl GlowingCells {
    /// The cells of the smoke that glow; `None` if none does.
    pub fn of(smoke: &Smoke) -> Option<Self> {
        if smoke.medium.glow[0] <= 0.0 {
            return None;
        }
        let (dims, h) = (smoke.snapshot.dims, smoke.snapshot.h);
        let mut all = Self { dims, h, cells: Vec::new(), sums: Vec::new() };
        let mut sum = 0.0;
        for n in 0..dims.cells() {
            let middle = all.corner(n).map(|x| x + 0.5 * h);
            if smoke.snapshot.smoke[n][3].to_f32() <= 0.0 {
                continue;
            }
            let [r, g, b, emission] = smoke.sample(middle);
            let density = r + g + b;
            let power = density * smoke.glow(emission / density.max(1e-8)).into_iter().sum::<f32>();
            if power > 0.0 {
                sum += f64::from(power);
                all.cells.push(n as u32);
                all.sums.push(sum);
            }
        }
        (sum > 0.0).then_some(all)
    }

    /// The lower corner of a cell \[m\].
    fn corner(&self, n: usize) -> [f32; 3] {
        let Dims { nx, ny, .. } = self.dims;
        [n % nx, n / nx % ny, n / (nx * ny)].map(|i| i as f32 * self.h)
    }

    /// A place in a cell chosen by its power.
    fn sample(&self, random: &mut Random) -> [f32; 3] {
        let all = self.sums.last().expect("at least one cell glows");
        // 24 bits would leave out cells of large grids.
        let at = (f64::from(random.next()) + f64::from(random.next()) / f64::from(1 << 24)) * all;
        let n = self.sums.partition_point(|&sum| sum <= at).min(self.cells.len() - 1);
        self.corner(self.cells[n] as usize).map(|x| x + random.next() * self.h)
    }

    /// Probability density of [`GlowingCells::sample`] at a place \[1/m³\].
    fn density(&self, p: [f32; 3]) -> f32 {
        let at: [usize; 3] =
            std::array::from_fn(|a| ((p[a] / self.h) as usize).min(self.dims.array()[a] - 1));
        let Ok(n) = self.cells.binary_search(&(self.dims.index(at[0], at[1], at[2]) as u32)) else {
            return 0.0;
        };
        let power = self.sums[n] - if n > 0 { self.sums[n - 1] } else { 0.0 };
        (power / self.sums[self.sums.len() - 1]) as f32 / self.h.powi(3)
    }
}

impl Tracer<'_> {
    /// Share of the glow of a collision that the path itself stands for; samples stand for the rest.
    pub(super) fn share_of_met_glow(&self, hit: &Hit, walk: &Walk) -> f32 {
        let (Some(glowing), Some(density)) = (&self.glowing, walk.density) else { return 1.0 };
        let square = (Vector3::from(hit.place) - Vector3::from(walk.place)).norm_squared();
        let met = density * hit.extinction / square.max(1e-12);
        met / (met + glowing.density(hit.place)).max(1e-30)
    }

    /// Light of a sampled place of glowing smoke that arrives at `place`, times the density of directions there: the part
    /// that samples stand for.
    pub(super) fn sampled_glow(
        &self,
        place: [f32; 3],
        density: impl Fn(Vector3<f32>) -> f32,
        random: &mut Random,
    ) -> [f32; 3] {
        let Some(glowing) = &self.glowing else { return [0.0; 3] };
        let from = glowing.sample(random);
        let way = Vector3::from(from) - Vector3::from(place);
        let square = way.norm_squared().max(1e-12);
        let direction = way / square.sqrt();
        let (share, (extinction, _, emission)) = (density(direction), self.medium_at(from));
        let met = share * extinction / square;
        if met <= 0.0 {
            return [0.0; 3];
        }
        let ray = Ray { origin: place.into(), direction };
        let arrives = met / (met + glowing.density(from)) * self.transmittance(&ray, square.sqrt(), random);
        self.smoke.glow(emission).map(|glow| glow * arrives)
    }
}
