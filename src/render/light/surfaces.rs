//! Floor and solids among the cubes: they hide light, and reflect it as Lambertian surfaces.

use super::LightVolume;
use super::ordinates::{FloorBelow, Moments};
use crate::grid::Dims;
use crate::look::Look;
use crate::render::camera::unit;
use crate::render::exp::exp;
use crate::render::floor::open_sky;
use crate::render::medium::{Medium, Phase};
use crate::render::solid::Solid;

/// Optical depth of a cube full of a solid.
const DEPTH: f32 = 12.0;
/// Layers of cubes, of those that surfaces read, by which light is extended inwards: as far as interpolation reads.
const LAYERS: usize = 2;

impl LightVolume {
    /// Makes cubes opaque as far as solids fill them. They scatter other light with the albedo of the solid, and send what it
    /// reflects of the sun.
    pub(super) fn stand(&mut self, medium: &Medium, phase: Phase, look: &Look) {
        let (dims, h) = (self.mixture.dims, self.mixture.h);
        self.filled.clear();
        if !self.solids.is_empty() {
            self.filled.resize(dims.cells(), 0.0);
        }
        for (number, solid) in self.solids.iter().enumerate() {
            let albedo = look.solid(number);
            for n in 0..dims.cells() {
                let middle = place(dims, n).map(|i| (i as f32 + 0.5) * h);
                let away = (0..3).map(|a| (middle[a] - solid.center[a]).powi(2)).sum::<f32>().sqrt();
                if away > solid.bounding_radius() + h {
                    continue;
                }
                let distance = solid.distance(middle);
                let filled = (0.5 - distance / h).clamp(0.0, 1.0);
                if filled == 0.0 {
                    continue;
                }
                let direct = self.direct_on(solid, middle, distance, medium);
                self.filled[n] = self.filled[n].max(filled);
                let (cubes, more) = (&mut self.cubes, DEPTH / h * filled);
                let share = more / (cubes.extinction[n] + more);
                cubes.extinction[n] += more;
                for c in 0..3 {
                    let (old, new) = (&mut cubes.albedo[c][n], albedo[c]);
                    *old += share * (new - *old);
                    let left = 1.0 - *old * phase.forward;
                    let sent = left * new * direct[c] / std::f32::consts::PI;
                    let emission = &mut cubes.emission[c][n];
                    *emission += share * (sent - *emission);
                }
            }
        }
    }

    /// Irradiance of the sun and further lights at the surface of a solid next to the middle of a cube.
    fn direct_on(&self, solid: &Solid, middle: [f32; 3], distance: f32, medium: &Medium) -> [f32; 3] {
        let (h, sun) = (self.mixture.h, medium.sun_direction);
        // Deep inside nothing arrives.
        if distance < -1.5 * h {
            return [0.0; 3];
        }
        let step = 0.1 * h;
        let slope: [f32; 3] = std::array::from_fn(|a| {
            let at =
                |by: f32| solid.distance(std::array::from_fn(|b| middle[b] + if a == b { by } else { 0.0 }));
            at(step) - at(-step)
        });
        let normal = unit(slope);
        let cosine = (0..3).map(|a| normal[a] * sun[a]).sum::<f32>();
        let outside: [f32; 3] = std::array::from_fn(|a| middle[a] + normal[a] * (0.1 * h - distance));
        let lamps = self.lamps_on(outside, normal, 0.0);
        if cosine <= 0.0 {
            return lamps;
        }
        let seen = self.sun.seen(outside, &self.solids, 0.0);
        let sunny = if seen > 0.0 { seen * cosine * exp(-self.depth_to_sun(outside)) } else { 0.0 };
        std::array::from_fn(|c| medium.sun[c] * sunny + lamps[c])
    }

    /// The floor below each column of cubes: the sun as far as neither solids nor smoke hide it, and an open sky.
    pub(super) fn floor_below(&self, medium: &Medium, albedo: [f32; 3]) -> FloorBelow {
        let (Dims { nx, nz, .. }, h) = (self.mixture.dims, self.mixture.h);
        let (sky, sun) = (open_sky(medium), medium.sun_direction);
        let sent = |sunny: f32, lamps: [f32; 3]| -> [f32; 3] {
            let direct = sun[1].max(0.0) * sunny / std::f32::consts::PI;
            std::array::from_fn(|c| {
                albedo[c] * (medium.sun[c] * direct + lamps[c] / std::f32::consts::PI + sky[c])
            })
        };
        let column = |n: usize| {
            let p = [(n % nx) as f32 + 0.5, 0.0, (n / nx) as f32 + 0.5].map(|x| x * h);
            let seen = self.sun.seen(p, &self.solids, 0.0);
            let sunny = if seen > 0.0 { seen * exp(-self.depth_to_sun(p)) } else { 0.0 };
            sent(sunny, self.lamps_on(p, [0.0, 1.0, 0.0], 0.0))
        };
        FloorBelow { open: sent(1.0, self.suns_on_floor()), columns: (0..nx * nz).map(column).collect() }
    }

    /// Extends the light around solids into them, layer by layer: what is interpolated at a surface is the light before it, not
    /// that within, which would leave rings of cubes on it.
    pub(super) fn extend_into_solids(&mut self) {
        if self.filled.iter().all(|&filled| filled == 0.0) {
            return;
        }
        let dims = self.mixture.dims;
        let size = dims.array();
        let mut known: Vec<bool> = self.filled.iter().map(|&filled| filled == 0.0).collect();
        for _ in 0..LAYERS * self.mixture.per_surface_cube() {
            let before = known.clone();
            for n in (0..dims.cells()).filter(|&n| !before[n]) {
                let at = place(dims, n);
                let range = |a: usize| at[a].saturating_sub(1)..(at[a] + 2).min(size[a]);
                let near =
                    range(2).flat_map(|k| range(1).flat_map(move |j| range(0).map(move |i| [i, j, k])));
                let near: Vec<usize> =
                    near.map(|[i, j, k]| dims.index(i, j, k)).filter(|&m| before[m]).collect();
                if near.is_empty() {
                    continue;
                }
                known[n] = true;
                let share = 1.0 / near.len() as f32;
                for values in self.light.iter_mut().flat_map(Moments::all_mut) {
                    values[n] = share * near.iter().map(|&m| values[m]).sum::<f32>();
                }
                let in_row = |n: usize| [n % dims.nx, n / dims.nx];
                let near: Vec<[usize; 2]> = near.into_iter().map(in_row).collect();
                self.solver.take_mean(in_row(n), &near);
            }
        }
    }

    /// Takes means of φ and J over cubes of twice the edge.
    pub(super) fn halve(&mut self) {
        let Dims { nx, ny, nz } = self.mixture.dims;
        let dims = Dims { nx: nx.div_ceil(2), ny: ny.div_ceil(2), nz: nz.div_ceil(2) };
        let both = |n: usize, count: usize| [2 * n, (2 * n + 1).min(count - 1)];
        self.halved.0 = dims;
        for (light, halved) in self.light.iter().zip(&mut self.halved.1) {
            for (fine, out) in light.all().into_iter().zip(halved.all_mut()) {
                out.resize(dims.cells(), 0.0);
                for (n, out) in out.iter_mut().enumerate() {
                    let [i, j, k] = place(dims, n);
                    let mut sum = 0.0;
                    for (k, j) in both(k, nz).into_iter().flat_map(|k| both(j, ny).map(|j| (k, j))) {
                        let row = nx * (j + ny * k);
                        sum += both(i, nx).map(|i| fine[row + i]).iter().sum::<f32>();
                    }
                    *out = 0.125 * sum;
                }
            }
        }
    }
}

fn place(dims: Dims, n: usize) -> [usize; 3] {
    [n % dims.nx, n / dims.nx % dims.ny, n / (dims.nx * dims.ny)]
}
