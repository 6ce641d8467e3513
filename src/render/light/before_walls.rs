//! Light before the surfaces of solids, as these read it.
//!
//! Surfaces read φ − 2 J·n, the irradiance over π of light that is linear in direction. Before a surface light is not linear: it has a step at
//! the horizon, and four of the fourteen ordinates lie in the plane of a flat wall and carry none of its light. So a wall took a ninth of
//! its own light off again. The sides of a box were 0.91 of traced, since its top reflected more (albedo 0.5).
//!
//! Here light that ordinates carry away from a surface no longer counts if it comes from a solid. The moments around the surface change by the
//! least amount that removes it, so surfaces, coats and shaders still read four values. The change is linear in the radiance: light of several
//! sources is the sum of that of each, but for light from within.
//!
//! Light from within that walls reflect has no ordinates. If its irradiance is below 0, that is taken for the same error.

use rayon::prelude::*;

use super::LightVolume;
use super::ordinates::phase::{Ordinate, ordinates};
use super::ordinates::{DIRECTIONS, Moments, Wall};
use super::received::OFF;
use crate::render::trilinear::spline_cells;

/// Rounds over all surfaces in which the moments change.
const ROUNDS: usize = 8;
/// Change of J for one of φ that changes the irradiance as much: in the light φ + 3 J·Ω the mean square of a change of J is three times that of φ.
const FLUX: f32 = 1.0 / 3.0;
/// Cubes, of those that surfaces read, within which light before a surface comes from its own solid.
const CLOSE: usize = 4;

/// A place of a surface, and the light that it reads.
struct Reading {
    /// Cubes and their weights. Only one entry of a cube has weight.
    cubes: [(usize, f32); 27],
    normal: [f32; 3],
    /// Irradiance / π that the moments lack.
    lacks: [f32; 3],
}

impl Reading {
    /// Irradiance / π by the moments.
    fn received(&self, moments: &Moments) -> f32 {
        self.cubes.iter().map(|&(cube, weight)| weight * irradiance(moments, self.normal, cube)).sum()
    }

    /// Changes moments by as little as gives them some more irradiance / π.
    fn give(&self, more: f32, moments: &mut Moments) {
        let squares: f32 = self.cubes.iter().map(|(_, weight)| weight * weight).sum();
        let by = more / (squares * (1.0 + 4.0 * FLUX));
        let Moments { mean, flux } = moments;
        for &(cube, weight) in &self.cubes {
            mean[cube] += by * weight;
            (0..3).for_each(|a| flux[a][cube] -= by * weight * 2.0 * FLUX * self.normal[a]);
        }
    }
}

impl LightVolume {
    /// Takes what solids send away from themselves off the irradiance by the moments that surfaces read.
    pub(super) fn correct_before_walls(&mut self) {
        let walls: Vec<Wall> = self.cubes.walls.iter().filter(|wall| wall.cuts).copied().collect();
        if walls.is_empty() {
            return;
        }
        let dims = self.surface_cubes().0;
        let ordinates = ordinates();
        let readings: Vec<Reading> =
            walls.par_iter().with_min_len(64).map(|wall| self.reading(wall, &ordinates)).collect();
        let moments = if self.mixture.per_surface_cube() > 1 { &mut self.halved.1 } else { &mut self.light };
        moments.par_iter_mut().enumerate().for_each(|(c, moments)| {
            let mut change = Moments::default();
            change.all_mut().into_iter().for_each(|values| values.resize(dims.cells(), 0.0));
            for _ in 0..ROUNDS {
                for reading in &readings {
                    reading.give(reading.lacks[c] - reading.received(&change), &mut change);
                }
            }
            moments.add(&change);
        });
    }

    fn reading(&self, wall: &Wall, ordinates: &[Ordinate; DIRECTIONS]) -> Reading {
        let (dims, edge) = (self.surface_cubes().0, self.mixture.per_surface_cube());
        let (fine, normal) = (self.mixture.dims, wall.normal);
        let at = std::array::from_fn(|a| wall.place[a] / edge as f32 - 0.5 + OFF * normal[a]);
        let mut cubes = spline_cells(dims, at);
        merge(&mut cubes);
        // What the moments make of the radiance of each ordinate that leads off the surface.
        let shares = ordinates.map(|ordinate| {
            let away: f32 = (0..3).map(|a| normal[a] * ordinate.direction[a]).sum();
            if away > 0.0 { ordinate.weight * (1.0 - 2.0 * away) } else { 0.0 }
        });
        let [mut lacks, mut of_walls] = [[0.0_f32; 3]; 2];
        for &(cube, weight) in &cubes {
            let (place, part) = (dims.place(cube), weight / (edge * edge * edge) as f32);
            for m in 0..edge * edge * edge {
                let within = [m % edge, m / edge % edge, m / (edge * edge)];
                let [i, j, k] =
                    std::array::from_fn(|a| (place[a] * edge + within[a]).min(fine.array()[a] - 1));
                let own: [f32; DIRECTIONS] = std::array::from_fn(|n| {
                    if shares[n] != 0.0 && self.comes_from_solid([i, j, k], ordinates[n].direction) {
                        shares[n]
                    } else {
                        0.0
                    }
                });
                for c in 0..3 {
                    let radiance = self.solver.radiance(c, j + k * fine.ny);
                    lacks[c] -= part * (0..DIRECTIONS).map(|n| own[n] * radiance[n][i]).sum::<f32>();
                    if self.within.shines {
                        of_walls[c] +=
                            part * irradiance(&self.within.of_walls[c], normal, fine.index(i, j, k));
                    }
                }
            }
        }
        lacks.iter_mut().zip(of_walls).for_each(|(lacks, walls)| *lacks += (-walls).max(0.0));
        Reading { cubes, normal, lacks }
    }

    /// Whether the light of an ordinate in a cube comes from a solid close by.
    fn comes_from_solid(&self, cube: [usize; 3], direction: [f32; 3]) -> bool {
        let dims = self.mixture.dims;
        let step = direction.map(|x| if x.abs() < 0.1 { 0 } else { x.signum() as isize });
        (0..(CLOSE * self.mixture.per_surface_cube()) as isize).any(|n| {
            let at: [Option<usize>; 3] = std::array::from_fn(|a| {
                cube[a].checked_add_signed(-n * step[a]).filter(|&at| at < dims.array()[a])
            });
            matches!(at, [Some(i), Some(j), Some(k)] if self.filled[dims.index(i, j, k)] >= 0.5)
        })
    }
}

/// Gives all weight of a cube that occurs several times, as those at a side of the box do, to its first entry.
fn merge(cubes: &mut [(usize, f32)]) {
    for n in 1..cubes.len() {
        let (earlier, later) = cubes.split_at_mut(n);
        let (cube, weight) = &mut later[0];
        if let Some((_, sum)) = earlier.iter_mut().find(|(earlier, _)| earlier == cube) {
            *sum += std::mem::take(weight);
        }
    }
}

/// Irradiance / π that φ and J of a cube give.
fn irradiance(moments: &Moments, normal: [f32; 3], cube: usize) -> f32 {
    let [mean, x, y, z] = moments.all();
    mean[cube] - 2.0 * (normal[0] * x[cube] + normal[1] * y[cube] + normal[2] * z[cube])
}
