//! Glow within thick smoke, on a nested grid of finer cubes.
//!
//! A thick cube of the light volume has one φ for a hot core and the dark smoke around it: wrong by a few times if the glow falls steeply.
//! So thick smoke that glows, and smoke close by, gets cubes of a few cells. There the glow of the region is solved for by the method of
//! the whole box: first flight, ordinates, last flight. Eyes read it in place of the light on the cubes of the box; all other smoke,
//! solids and the floor get the light of the latter. Light from beside the region is missing in it, so it serves only if the region
//! has most of all glow and no lamp is close by.
//!
//! Sources are even within nested cubes, and light is that in their middles, which eyes interpolate: with linear sources and means a hot core
//! of 140 1/m and an albedo of 0.9 was 0.85 of traced in files, and not 1.06.

use rayon::prelude::*;

use super::extinction::Extinction;
use super::last_flight::LastFlight;
use super::ordinates::{MediumCubes, Moments, Outside, Sent, Solver, Sources, Sweeps};
use crate::grid::Dims;
use crate::render::medium::Medium;
use crate::render::trilinear::trilinear;

/// Optical depths of a cube from which on the finer ones count, and from which on nothing else does.
const THICK: [f32; 2] = [0.3, 1.0];
/// Least power of a thick cube over that of the brightest one, for a region to begin there.
const BRIGHT: f32 = 1e-3;
/// Cubes around these that belong to the region, too.
const AROUND: usize = 2;
/// Shares of all power of the box from which on the region counts, and from which on it counts whole.
const POWER: [f32; 2] = [0.7, 0.9];
/// Largest factor on the light of the cubes of the box: where these have next to none, the quotient would be infinite.
const MOST_FACTOR: f32 = 1e4;
/// Sweeps without acceleration on the nested cubes of moving pictures, on cubes of twice the edge, and so on.
const PLAIN_SWEEPS: [usize; 3] = [4, 12, 40];
/// Most cubes of a nested grid; with fine light.
const MOST: usize = 24 * 24 * 24;
const MOST_FINE: usize = 48 * 48 * 48;

/// The grid, its memory, and its light.
#[derive(Debug, Default)]
pub(super) struct NestedGlow {
    grid: Option<NestedGrid>,
    medium: MediumCubes,
    /// φ and J of the glow of the region.
    light: [Moments; 3],
    /// Share of the nested grid in what a march reads, for each cube of the box.
    weights: Vec<f32>,
    /// Factors on the light that is interpolated between the cubes of the box, in each nested cube.
    factors: Vec<[f32; 3]>,
    /// Radiance that the nested cubes send: first their glow, then the light that they scatter.
    sent: [Sent; 3],
    collided: Sources,
    solver: Solver,
    flight: LastFlight,
    scratch: [Moments; 3],
}

/// Place and size of a nested grid.
#[derive(Clone, Copy, Debug)]
struct NestedGrid {
    /// First cell, cells along an axis of a nested cube, and edge of a cell \[m\].
    corner: [usize; 3],
    per_edge: usize,
    cell: f32,
    /// Nested cubes along each axis.
    dims: Dims,
}

/// A cell that glows: its place, density and [`Medium::emission`].
pub(super) type Glowing = ([usize; 3], [f32; 2]);

/// Radiance of opaque smoke times extinction, of smoke with a density and [`Medium::emission`] \[W/sr per m³\].
pub(super) fn emitted(medium: &Medium, [density, emission]: [f32; 2]) -> [f32; 3] {
    let radiance = medium.glowing_emission(emission / density.max(1e-20));
    radiance.map(|radiance| radiance * density * medium.extinction)
}

impl NestedGlow {
    /// Solves for the glow of a region of thick smoke, if there is one. `smoke` is the extinction of cells without the forward peak, mean of
    /// all colours.
    pub fn solve(
        &mut self,
        cubes: &MediumCubes,
        smoke: &Extinction<1>,
        glowing: &[Glowing],
        look: &Medium,
        sweeps: Sweeps,
        fine: bool,
    ) {
        let most = if fine { MOST_FINE } else { MOST };
        self.grid = self.choose(cubes, smoke, glowing, most);
        let Some(grid) = self.grid else { return };
        self.load(&grid, cubes, smoke);
        let dims = grid.dims;
        let share = 1.0 / (grid.per_edge as f32).powi(3);
        self.sent.iter_mut().for_each(|sent| sent.reset(dims.cells()));
        for &(at, cell) in glowing {
            let Some(n) = grid.cube_of(at) else { continue };
            for (c, emitted) in emitted(look, cell).into_iter().enumerate() {
                let extinction = self.medium.extinction[n] * self.medium.unpeaked(c, n);
                self.sent[c].even[n] += share * emitted / extinction.max(1e-20);
            }
        }
        let Self { medium, sent, collided, solver, flight, light, scratch, .. } = self;
        let sweeps = if fine { sweeps } else { &PLAIN_SWEEPS };
        flight.arrive(medium, sent, &[], false, light);
        light.iter().enumerate().for_each(|(c, light)| collided.collide(c, light));
        solver.solve(medium, collided, &Outside::default(), sweeps, false, scratch);
        sent.iter_mut().for_each(|sent| sent.reset(dims.cells()));
        solver.add_sent(sent);
        flight.arrive(medium, sent, &[], false, scratch);
        light.iter_mut().zip(&*scratch).for_each(|(all, scattered)| all.add(scattered));
    }

    /// The grid for the smoke in `cubes`; sets the weights.
    fn choose(
        &mut self,
        cubes: &MediumCubes,
        smoke: &Extinction<1>,
        glowing: &[Glowing],
        most: usize,
    ) -> Option<NestedGrid> {
        let (cell, size) = (smoke.edge, cubes.dims.array());
        let thick = |n: usize| {
            let clear = 1.0 - cubes.solid.get(n).copied().unwrap_or(0.0);
            let unpeaked = (0..3).map(|c| cubes.unpeaked(c, n)).sum::<f32>() / 3.0;
            ((cubes.extinction[n] * clear * unpeaked * cubes.h - THICK[0]) / (THICK[1] - THICK[0]))
                .clamp(0.0, 1.0)
        };
        let mut power = vec![0.0; cubes.dims.cells()];
        for &(at, [_, emission]) in glowing {
            let [i, j, k] = cube_at(cubes, at.map(|i| (i as f32 + 0.5) * cell));
            power[cubes.dims.index(i, j, k)] += emission;
        }
        let brightest = power.iter().copied().fold(0.0, f32::max);
        let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
        for n in (0..power.len()).filter(|&n| power[n] > BRIGHT * brightest && thick(n) > 0.0) {
            for (a, i) in cubes.dims.place(n).into_iter().enumerate() {
                low[a] = low[a].min(i.saturating_sub(AROUND));
                high[a] = high[a].max((i + 1 + AROUND).min(size[a]));
            }
        }
        if high[0] == 0 {
            return None;
        }
        let whole = smoke.dims.array();
        let corner = low.map(|i| (i as f32 * cubes.h / cell + 1e-3) as usize);
        let count: [usize; 3] = std::array::from_fn(|a| {
            ((high[a] as f32 * cubes.h / cell - 1e-3).ceil() as usize).min(whole[a]) - corner[a]
        });
        let of_edge = |edge: usize| {
            let [nx, ny, nz] = count.map(|n| n.div_ceil(edge));
            Dims { nx, ny, nz }
        };
        let inside = |n: &usize| (0..3).all(|a| (low[a]..high[a]).contains(&cubes.dims.place(*n)[a]));
        let of_region: f32 = (0..power.len()).filter(inside).map(|n| power[n]).sum();
        let share = of_region / power.iter().sum::<f32>().max(1e-30);
        let counts = ((share - POWER[0]) / (POWER[1] - POWER[0])).clamp(0.0, 1.0);
        if counts <= 0.0 {
            return None;
        }
        let per_edge = (1..).find(|&edge| of_edge(edge).cells() <= most)?;
        if per_edge as f32 * cell > 0.75 * cubes.h {
            return None;
        }
        self.weights.clear();
        self.weights.extend((0..power.len()).map(|n| {
            let at = cubes.dims.place(n);
            let inside =
                |a: usize| (at[a] > low[a] || at[a] == 0) && (at[a] + 1 < high[a] || at[a] + 1 == size[a]);
            if (0..3).all(inside) { counts * thick(n) } else { 0.0 }
        }));
        Some(NestedGrid { corner, per_edge, cell, dims: of_edge(per_edge) })
    }

    /// Takes over the smoke and solids of the region.
    fn load(&mut self, grid: &NestedGrid, cubes: &MediumCubes, smoke: &Extinction<1>) {
        let dims = grid.dims;
        let around: Vec<usize> = (0..dims.cells())
            .map(|n| {
                let [i, j, k] = cube_at(cubes, grid.place(n));
                cubes.dims.index(i, j, k)
            })
            .collect();
        let share = 1.0 / (grid.per_edge as f32).powi(3);
        let solid = |n: usize| cubes.solid.get(around[n]).copied().unwrap_or(0.0);
        let extinction = |n: usize| {
            let mut sum = 0.0;
            grid.cells_of(n, |at| sum += smoke.at(at)[0]);
            let unpeaked: f32 = (0..3).map(|c| cubes.unpeaked(c, around[n])).sum();
            share * sum * 3.0 / unpeaked
        };
        let medium = &mut self.medium;
        (medium.dims, medium.h, medium.above_floor, medium.phase) = (dims, grid.edge(), 0, cubes.phase);
        medium.extinction.clear();
        medium.extinction.par_extend((0..dims.cells()).into_par_iter().map(extinction));
        medium.solid.clear();
        if !cubes.solid.is_empty() {
            for n in 0..dims.cells() {
                let of_solid = cubes.extinction[around[n]] * solid(n);
                medium.extinction[n] += of_solid;
                medium.solid.push(if of_solid > 0.0 { of_solid / medium.extinction[n] } else { 0.0 });
            }
        }
        for (albedo, of_cubes) in medium.albedo.iter_mut().zip(&cubes.albedo) {
            albedo.clear();
            albedo.extend(around.iter().map(|&cube| of_cubes[cube]));
        }
    }

    /// Whether there is a region.
    pub fn is_there(&self) -> bool {
        self.grid.is_some()
    }

    /// Forgets the region.
    pub fn clear(&mut self) {
        self.grid = None;
    }

    /// Sets the factors for light from within that has been solved for in the cubes of the box.
    pub fn refine(&mut self, cubes: &MediumCubes, of_smoke: &[Moments; 3], of_walls: &[Moments; 3]) {
        let Some(grid) = self.grid else { return };
        let Self { light, weights, factors, .. } = self;
        let factor = |n: usize| {
            let at = grid.place(n).map(|x| x / cubes.h - 0.5);
            let [weight, of_box @ ..]: [f32; 4] = trilinear(cubes.dims, at, |n| {
                let all = |c: usize| of_smoke[c].mean[n] + of_walls[c].mean[n];
                [weights[n], all(0), all(1), all(2)]
            });
            std::array::from_fn(|c| match of_box[c] {
                all if all > 0.0 => 1.0 + weight * ((light[c].mean[n] / all).min(MOST_FACTOR) - 1.0),
                _ => 1.0,
            })
        };
        factors.clear();
        factors.par_extend((0..grid.dims.cells()).into_par_iter().map(factor));
    }

    /// The factor for light from within at a place \[m\].
    pub fn factor_at(&self, place: [f32; 3]) -> [f32; 3] {
        let Some(grid) = self.grid else { return [1.0; 3] };
        let size = grid.dims.array();
        let at: [f32; 3] =
            std::array::from_fn(|a| (place[a] - grid.corner[a] as f32 * grid.cell) / grid.edge() - 0.5);
        if (0..3).any(|a| at[a] < -0.5 || at[a] > size[a] as f32 - 0.5) {
            return [1.0; 3];
        }
        trilinear(grid.dims, at, |n| self.factors[n])
    }
}

impl NestedGrid {
    /// Edge of a nested cube \[m\].
    fn edge(&self) -> f32 {
        self.per_edge as f32 * self.cell
    }

    /// Middle of a nested cube \[m\].
    fn place(&self, n: usize) -> [f32; 3] {
        let at = self.dims.place(n);
        std::array::from_fn(|a| {
            (self.corner[a] as f32 + (at[a] as f32 + 0.5) * self.per_edge as f32) * self.cell
        })
    }

    /// The nested cube of a cell.
    fn cube_of(&self, cell: [usize; 3]) -> Option<usize> {
        let mut at = [0; 3];
        for (a, size) in self.dims.array().into_iter().enumerate() {
            at[a] = cell[a].checked_sub(self.corner[a])? / self.per_edge;
            if at[a] >= size {
                return None;
            }
        }
        Some(self.dims.index(at[0], at[1], at[2]))
    }

    /// Calls `visit` with all cells of a nested cube; some may lie beyond the box.
    fn cells_of(&self, n: usize, mut visit: impl FnMut([usize; 3])) {
        let at = self.dims.place(n);
        let first: [usize; 3] = std::array::from_fn(|a| self.corner[a] + at[a] * self.per_edge);
        for k in 0..self.per_edge {
            for j in 0..self.per_edge {
                (0..self.per_edge).for_each(|i| visit([first[0] + i, first[1] + j, first[2] + k]));
            }
        }
    }
}

/// The cube of the box around a place \[m\].
fn cube_at(cubes: &MediumCubes, place: [f32; 3]) -> [usize; 3] {
    let size = cubes.dims.array();
    std::array::from_fn(|a| ((place[a] / cubes.h) as usize).min(size[a] - 1))
}
