//! Light from outside on the floor, below the cubes and around the box.

use rayon::prelude::*;

use super::LightVolume;
use super::floor_rays::FloorRays;
use super::ordinates::{OnFloor, Outside, Sent};
use crate::render::medium::Medium;

/// Width of the part around the box where the smoke dims the sky, in units of the longer horizontal side of
/// the box.
pub(in crate::render) const AROUND: f32 = 0.6;
/// Passes of a blur over the light of columns of cubes on the floor.
const BLUR: usize = 8;
/// Cosine between the vertical and suns below which moving pictures have the light of the smoke on the floor along rays, which takes time.
const LOW: f32 = 0.35;

/// Radiance that a white floor sends of light from outside, at the middles of columns of cubes.
#[derive(Clone, Debug)]
pub(in crate::render) struct FloorColumns {
    /// Numbers along x and z, place of the first and distance between them \[m\].
    pub size: [usize; 2],
    pub first: f32,
    pub apart: f32,
    /// Whether the radiance is only the change by smoke and solids. If so, columns beside the box are there too.
    pub is_change: bool,
    /// Passes of a blur by ¼, ½, ¼ that takes off patterns: a deviation of two columns of cubes.
    pub blur: usize,
    pub radiance: Vec<[f32; 3]>,
}

impl Default for FloorColumns {
    fn default() -> Self {
        Self { size: [1; 2], first: 0.0, apart: 1.0, is_change: false, blur: 0, radiance: vec![[0.0; 3]] }
    }
}

impl LightVolume {
    /// Computes the light: along rays in files, and in moving pictures where that shows.
    pub(super) fn on_floor(&mut self, medium: &Medium, outside: &Outside, single: bool) -> FloorColumns {
        if outside.floor.is_some() && !single && (self.fine || self.suns_are_low()) {
            self.traced_on_floor(medium, outside)
        } else {
            self.diffuse_on_floor()
        }
    }

    /// Radiance that a white floor sends, from the ordinates that lead down onto each column of cubes that surfaces read.
    fn diffuse_on_floor(&self) -> FloorColumns {
        let (fine, (dims, _)) = (self.mixture.dims, self.surface_cubes());
        let edge = self.mixture.per_surface_cube();
        let both = |n: usize, count: usize| (n * edge..(n + 1) * edge).map(move |n| n.min(count - 1));
        let (share, floor) = (1.0 / (edge * edge) as f32, OnFloor::new());
        let column = |n: usize| -> [f32; 3] {
            let (i, k) = (n % dims.nx, n / dims.nx);
            std::array::from_fn(|c| {
                let mut sum = 0.0;
                for k in both(k, fine.nz) {
                    let radiance = self.solver.radiance(c, k * fine.ny);
                    sum += both(i, fine.nx).map(|i| floor.irradiance(|n| radiance[n][i])).sum::<f32>();
                }
                share * sum
            })
        };
        let radiance = (0..dims.nx * dims.nz).into_par_iter().with_min_len(dims.nx).map(column).collect();
        let (size, (_, apart)) = ([dims.nx, dims.nz], self.surface_cubes());
        FloorColumns { size, first: 0.5 * apart, apart, is_change: false, blur: BLUR, radiance }
    }

    /// The same along rays.
    fn traced_on_floor(&mut self, medium: &Medium, outside: &Outside) -> FloorColumns {
        let (dims, edge) = self.surface_cubes();
        // Moving pictures have half as many places along each axis, and half as many rays from each.
        let (step, count) = if self.fine { (1, 64) } else { (2, 32) };
        let mut sent: [Sent; 3] = Default::default();
        sent.iter_mut().for_each(|sent| sent.reset(self.mixture.dims.cells()));
        self.solver.add_sent(&mut sent);
        let from_sun = medium.sun_direction.map(|x| -x);
        let rays = FloorRays::new(&self.cubes, &self.sources, &sent, (outside, from_sun));
        let apart = step as f32 * edge;
        let beside = (AROUND * dims.nx.max(dims.nz) as f32 / step as f32).ceil();
        let size = [dims.nx, dims.nz].map(|n| n.div_ceil(step) + 2 * beside as usize);
        let first = (0.5 - beside) * apart;
        let place = |at: [usize; 2]| at.map(|n| n as f32 * apart + first);
        let radiance =
            rays.map_or_else(|| vec![[0.0; 3]; size[0] * size[1]], |rays| rays.changes(size, place, count));
        FloorColumns { size, first, apart, is_change: true, blur: BLUR / (step * step), radiance }
    }

    /// Whether the suns light the floor at a low angle, so that smoke may light it more.
    fn suns_are_low(&self) -> bool {
        let suns = self.lamps.iter().map(|lit| &lit.lamp).filter(|lamp| lamp.is_far());
        let (mut all, mut on_floor) = (0.0, 0.0);
        for sun in suns.chain([&self.sun]) {
            let strength = sun.color.iter().sum::<f32>();
            all += strength;
            on_floor += strength * sun.mean_cosine([0.0; 3], [0.0, 1.0, 0.0]);
        }
        on_floor < LOW * all
    }

    /// The light of the ordinates where nothing takes any.
    pub(in crate::render) fn open_floor(medium: &Medium) -> [f32; 3] {
        let Medium { sky, ground, ref around, .. } = *medium;
        let outside = Outside { sky, ground, around: around.clone(), ..Outside::default() };
        std::array::from_fn(|c| {
            let inflow = outside.inflow(c);
            OnFloor::new().irradiance(|n| inflow[n])
        })
    }

    /// Light from outside on the floor.
    pub(in crate::render) fn floor_columns(&self) -> &FloorColumns {
        &self.floor_columns
    }
}
