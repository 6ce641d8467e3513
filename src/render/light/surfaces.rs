//! Floor and solids among the cubes: they hide light, and reflect it as Lambertian surfaces.

use rayon::prelude::*;

use super::LightVolume;
use super::ordinates::{FloorBelow, Moments, Outside, Wall};
use crate::grid::Dims;
use crate::look::Look;
use crate::render::camera::unit;
use crate::render::floor_nodes::open_sky;
use crate::render::medium::Medium;
use crate::render::solid::Solid;

/// Optical depth of a cube full of a solid.
const DEPTH: f32 = 12.0;
/// Layers of cubes, of those that surfaces read, by which light is extended inwards: as far as interpolation reads.
const LAYERS: usize = 2;

impl LightVolume {
    /// Makes cubes opaque as far as solids fill them. Their surfaces send what they reflect of direct light: of the sun and lamps far
    /// away from outside, of lamps close by from within.
    pub(super) fn stand(&mut self, medium: &Medium, look: &Look) {
        let (dims, h) = (self.mixture.dims, self.mixture.h);
        self.filled.clear();
        self.cubes.walls.clear();
        self.cubes.solid.clear();
        if self.solids.is_empty() {
            return;
        }
        self.filled.resize(dims.cells(), 0.0);
        self.cubes.solid.resize(dims.cells(), 0.0);
        let mut arrives = Vec::new();
        for (number, solid) in self.solids.iter().enumerate() {
            let albedo = look.solid(number);
            for n in 0..dims.cells() {
                let middle = dims.place(n).map(|i| (i as f32 + 0.5) * h);
                let away = (0..3).map(|a| (middle[a] - solid.center[a]).powi(2)).sum::<f32>().sqrt();
                if away > solid.bounding_radius() + h {
                    continue;
                }
                let distance = solid.distance(middle);
                let filled = (0.5 - distance / h).clamp(0.0, 1.0);
                if filled == 0.0 {
                    continue;
                }
                self.filled[n] = self.filled[n].max(filled);
                let more = DEPTH / h * filled;
                self.cubes.extinction[n] += more;
                self.cubes.solid[n] += more;
                // Deep inside nothing arrives.
                if distance < -1.5 * h {
                    continue;
                }
                let normal = self.normal(solid, middle);
                let place: [f32; 3] = std::array::from_fn(|a| middle[a] / h - normal[a] * distance / h);
                let cuts = distance > -0.5 * h;
                self.cubes.walls.push(Wall { cube: n, share: more, cuts, place, normal, albedo });
                let outside = std::array::from_fn(|a| place[a] * h + 0.1 * h * normal[a]);
                let direct = self.direct_on(outside, normal, medium);
                arrives.push(direct.map(|light| light.map(|x| x / std::f32::consts::PI)));
            }
        }
        let Self { cubes, sources, within, .. } = self;
        for (solid, extinction) in
            cubes.solid.iter_mut().zip(&cubes.extinction).filter(|(solid, _)| **solid > 0.0)
        {
            *solid /= extinction;
        }
        for c in 0..3 {
            for sources in [&mut *sources, &mut within.sources] {
                sources.emission[c].resize(dims.cells(), 0.0);
                sources.emission[c]
                    .iter_mut()
                    .zip(&cubes.solid)
                    .for_each(|(sent, solid)| *sent *= 1.0 - solid);
            }
        }
        for wall in &mut cubes.walls {
            wall.share /= cubes.extinction[wall.cube];
        }
        for (n, sources) in [sources, &mut within.sources].into_iter().enumerate() {
            let mut arrives = arrives.iter();
            sources.reflect(cubes, |_| arrives.next().map_or([0.0; 3], |light| light[n]));
        }
    }

    /// The normal of a solid next to a place \[m\].
    fn normal(&self, solid: &Solid, place: [f32; 3]) -> [f32; 3] {
        let step = 0.1 * self.mixture.h;
        unit(std::array::from_fn(|a| {
            let at =
                |by: f32| solid.distance(std::array::from_fn(|b| place[b] + if a == b { by } else { 0.0 }));
            at(step) - at(-step)
        }))
    }

    /// Irradiance on a surface: of the sun and lamps far away, and of lamps close by.
    fn direct_on(&self, place: [f32; 3], normal: [f32; 3], medium: &Medium) -> [[f32; 3]; 2] {
        let [far, near] = [true, false].map(|far| self.lamps_on(place, normal, far));
        let cosine = self.sun.mean_cosine(place, normal);
        if cosine <= 0.0 {
            return [far, near];
        }
        let seen = self.sun.seen(place, normal, &self.solids, 0.0);
        let through = if seen > 0.0 { self.sun_through(place) } else { [0.0; 3] };
        [std::array::from_fn(|c| medium.sun[c] * seen * cosine * through[c] + far[c]), near]
    }

    /// The floor below each column of cubes: the sun as far as neither solids nor smoke hide it, and an open sky.
    pub(super) fn floor_below(&self, medium: &Medium, albedo: [f32; 3]) -> FloorBelow {
        let (Dims { nx, nz, .. }, h) = (self.mixture.dims, self.mixture.h);
        const UP: [f32; 3] = [0.0, 1.0, 0.0];
        let (sky, cosine) = (open_sky(medium), self.sun.mean_cosine([0.0; 3], UP));
        let sent = |sunny: [f32; 3], lamps: [f32; 3]| -> [f32; 3] {
            let direct = cosine / std::f32::consts::PI;
            std::array::from_fn(|c| {
                albedo[c] * (medium.sun[c] * direct * sunny[c] + lamps[c] / std::f32::consts::PI + sky[c])
            })
        };
        let column = |n: usize| {
            let p = [(n % nx) as f32 + 0.5, 0.0, (n / nx) as f32 + 0.5].map(|x| x * h);
            let seen = self.sun.seen(p, UP, &self.solids, 0.0);
            let sunny = if seen > 0.0 { self.sun_through(p).map(|through| seen * through) } else { [0.0; 3] };
            let [far, near] = [true, false].map(|far| self.lamps_on(p, UP, far));
            sent(sunny, std::array::from_fn(|c| far[c] + near[c]))
        };
        let columns = (0..nx * nz).into_par_iter().with_min_len(nx).map(column).collect();
        FloorBelow { open: sent([1.0; 3], self.suns_on_floor()), columns }
    }

    /// Extends the light around solids into them, layer by layer: what is interpolated at a surface is the light before it, not
    /// that within, which would leave rings of cubes on it.
    ///
    /// Surfaces beyond the box read the cubes at its sides. Such cubes deep within a solid get the light from outside, for the parts of the
    /// solid that reach out of the box.
    pub(super) fn extend_into_solids(&mut self, outside: &Outside) {
        let (dims, layers) = (self.mixture.dims, LAYERS * self.mixture.per_surface_cube());
        let at_side = |n: usize| {
            let (at, size) = (dims.place(n), dims.array());
            (0..3).any(|a| at[a] < layers || at[a] + layers >= size[a])
        };
        let Self { filled, solver, light, within, .. } = self;
        let lit = extend(dims, filled, layers, |n, near| {
            take_mean(light, n, near);
            let in_row = |n: usize| [n % dims.nx, n / dims.nx];
            let near: Vec<[usize; 2]> = near.iter().map(|&n| in_row(n)).collect();
            solver.take_mean(in_row(n), &near);
        });
        for (c, light) in light.iter_mut().enumerate() {
            let open = outside.moments(c);
            for n in (0..lit.len()).filter(|&n| !lit[n] && at_side(n)) {
                light.all_mut().into_iter().zip(open).for_each(|(values, open)| values[n] = open);
            }
        }
        if within.shines {
            extend(dims, filled, layers, |n, near| {
                take_mean(&mut within.of_smoke, n, near);
                take_mean(&mut within.of_walls, n, near);
            });
        }
    }

    /// Takes means of φ and J over cubes of twice the edge.
    pub(super) fn halve(&mut self) {
        let Dims { nx, ny, nz } = self.mixture.dims;
        let dims = Dims { nx: nx.div_ceil(2), ny: ny.div_ceil(2), nz: nz.div_ceil(2) };
        let both = |n: usize, count: usize| [2 * n, (2 * n + 1).min(count - 1)];
        let halve = |fine: &Moments, halved: &mut Moments| {
            for (fine, out) in fine.all().into_iter().zip(halved.all_mut()) {
                out.resize(dims.cells(), 0.0);
                for (n, out) in out.iter_mut().enumerate() {
                    let [i, j, k] = dims.place(n);
                    let mut sum = 0.0;
                    for (k, j) in both(k, nz).into_iter().flat_map(|k| both(j, ny).map(|j| (k, j))) {
                        let row = nx * (j + ny * k);
                        sum += both(i, nx).map(|i| fine[row + i]).iter().sum::<f32>();
                    }
                    *out = 0.125 * sum;
                }
            }
        };
        self.halved.0 = dims;
        self.light.iter().zip(&mut self.halved.1).for_each(|(light, halved)| halve(light, halved));
        if self.within.shines {
            self.within
                .of_smoke
                .iter()
                .zip(&mut self.halved.2)
                .for_each(|(light, halved)| halve(light, halved));
        }
    }
}

/// Calls `take` for cubes with solids, layer by layer from outside, with the cubes around that hold light. Returns whether each cube holds
/// light then.
fn extend(dims: Dims, filled: &[f32], layers: usize, mut take: impl FnMut(usize, &[usize])) -> Vec<bool> {
    let size = dims.array();
    let mut known: Vec<bool> = filled.iter().map(|&filled| filled == 0.0).collect();
    if known.iter().all(|&known| known) {
        return known;
    }
    for _ in 0..layers {
        let before = known.clone();
        for n in (0..dims.cells()).filter(|&n| !before[n]) {
            let at = dims.place(n);
            let range = |a: usize| at[a].saturating_sub(1)..(at[a] + 2).min(size[a]);
            let near = range(2).flat_map(|k| range(1).flat_map(move |j| range(0).map(move |i| [i, j, k])));
            let near: Vec<usize> = near.map(|[i, j, k]| dims.index(i, j, k)).filter(|&m| before[m]).collect();
            if !near.is_empty() {
                known[n] = true;
                take(n, &near);
            }
        }
    }
    known
}

fn take_mean(light: &mut [Moments; 3], n: usize, near: &[usize]) {
    let share = 1.0 / near.len() as f32;
    for values in light.iter_mut().flat_map(Moments::all_mut) {
        values[n] = share * near.iter().map(|&m| values[m]).sum::<f32>();
    }
}
