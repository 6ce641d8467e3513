//! Swirls that the velocity's cells are too coarse for: wavelet turbulence (Kim, Thürey, James & Gross, "Wavelet Turbulence for Fluid
//! Simulation", SIGGRAPH 2008) on the cells of finer smoke.
//!
//! The added velocity is the curl of a potential ([`potential`](super::potential)),
//!
//! ```text
//!     u' = ∇ × Σ_g w_g W(R_g X_g),      w_g = strength · a · |sin π(φ + g/2)| · fade(s_g)
//! ```
//!
//! - **W** is a tile of wavelet noise ([`wavelet_noise`](super::wavelet_noise)).
//! - **a** \[m/s\] is the speed that the velocity's cells hold at their smallest scales: the velocity at centres minus its mean
//!   over 3³ cells with binomial weights, as a root mean square over the same neighbourhood.
//! - **X** are texture coordinates. The flow advects them, so the swirls move with the smoke and do not swim
//!   through it.
//! - **g** counts two generations of coordinates. The squares of their weights add up to 1. Each begins anew, as X = x with another
//!   rotation R of the tile, when its weight is 0: nothing pops, and the tile is not seen to repeat. The phase φ advances by the
//!   root mean square of the velocity's gradient, weighted by a², over [`Turbulence::stretch`], so a life is as long as typical
//!   coordinates take to stretch that far.
//! - **s** is the stretch of the coordinates, (‖∇X‖² − 2)^½: 1 without stretch, and the greatest singular value
//!   of a simple shear. Where it nears the bound before the life ends, `fade` removes the generation.
//!
//! Weights are 0 in the cells around solids, and odd across walls, so the potential is 0 on both. They are
//! capped where swirls would turn too far in one substep ([`STRAINED`]): the sweeps would need several
//! rounds, and the eye could not follow. Weights are computed only where smoke may arrive; the coordinates
//! are advected everywhere.

mod small_scales;
mod tile_points;

use rayon::prelude::*;

use self::small_scales::{add_up, mark, measure, smooth};
pub use self::tile_points::Packed;
use self::tile_points::{TileMap, WeightRule, fill_ghosts, pack_row, widened};
use super::wavelet_noise::{Recipe, Tile, split_mix};
use crate::grid::{Faces, GHOST, Layout};
use crate::simd::{Simd, each_level};
use crate::solver::Turbulence;
use crate::solver::advect;
use crate::solver::advect::trace;
use crate::solver::sides::GhostRules;
use crate::solver::solids::Obstacles;
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::archive::{Archive, Saved, StateError};
use crate::solver::storage::cells::Cells;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::row_passes;

/// Generations of coordinates.
pub const GENERATIONS: usize = 2;

/// Cells of the tile along an axis whose sides are not periodic.
const TILE: usize = 64;

/// Speed of the swirls of two to four cells, as a share of a, that continues the spectrum of the velocity
/// (`a_strength_of_one_continues_the_spectrum`).
const GAIN: f32 = 2.7;

/// Greatest share of a life that may pass in one substep.
const LONGEST: f64 = 0.125;

/// Cells that the fastest air crosses before the coordinates begin anew at the latest. Larger displacements
/// would lose precision.
const FARTHEST: f32 = 1024.0;

/// Share of the fastest air's speed below which `a` counts as 0: rounding and the errors of the projection are no turbulence.
const LEAST: f32 = 1e-3;

/// Greatest strain of the swirls alone in one substep: the change of velocity from face to face, times Δt/h.
/// The weights are capped to keep it.
const STRAINED: f32 = 0.8;

/// Turbulence of finer smoke.
pub struct Swirls {
    /// Lives of the first generation so far; the second is half a life ahead.
    pub phase: f64,
    /// X − x of each generation at the centres of the velocity's cells \[cells\].
    pub moved: [Cells; GENERATIONS],
    /// One layer of ghosts filled.
    packed: [Cells; GENERATIONS],
    tile: Tile,
    params: Turbulence,
    finer: usize,
    walls: GhostRules,
    /// Cells of the tile in a finer cell along each axis; 0 along an axis of one cell, where nothing may vary.
    scale: [f32; 3],
    /// Of each plane: the sums of a² and of a² times the squared gradient, and the greatest a².
    sums: Vec<[f64; 3]>,
    /// For each row, the cells that smoke may reach, and those around them in any direction.
    reached: Vec<[usize; 2]>,
    around: Vec<[usize; 2]>,
    /// Greatest weight \[m/s\] with the cap, and without it, as in shorter substeps.
    strongest: f32,
    wanted: f32,
}

/// The air that drives the swirls in a substep.
pub struct Air<'a> {
    pub layout: Layout,
    pub velocity: &'a Faces,
    pub obstacles: Option<&'a Obstacles>,
    /// Back-traces of the cells.
    pub back: &'a [[f32; 4]],
    /// Scratch, as large as `back`.
    pub spare: &'a mut Cells,
    /// Δt/h.
    pub steps: f32,
    /// CFL number of the air.
    pub cfl: f32,
}

impl Swirls {
    /// For velocities of `layout` with cells of smoke `finer` times as fine. Coordinates begin where they are.
    pub fn new(params: Turbulence, layout: Layout, walls: &GhostRules, finer: usize) -> Self {
        let moved = [0; GENERATIONS].map(|_| Cells::new(layout.size()));
        Self::with_coordinates(params, layout, walls, finer, moved)
    }

    /// As [`new`](Self::new), with these displacements [`moved`](Self::moved) of the coordinates.
    pub fn with_coordinates(
        params: Turbulence,
        layout: Layout,
        walls: &GhostRules,
        finer: usize,
        moved: [Cells; GENERATIONS],
    ) -> Self {
        let n = layout.dims.array();
        let is_flat = [0, 1, 2].map(|a| n[a] == 1 && walls.is_shut(a));
        let (mut scale, mut tile) = ([1.0; 3], [TILE; 3]);
        for axis in 0..3 {
            if is_flat[axis] {
                (scale[axis], tile[axis]) = (0.0, TILE / 4);
            } else if walls.periodic()[axis] {
                // A whole number of tiles fits into the box.
                let cells = n[axis] * finer;
                tile[axis] = match cells {
                    ..24 => TILE / 4,
                    24..48 => TILE / 2,
                    _ => TILE,
                };
                let count = (cells as f32 / tile[axis] as f32).round().max(1.0);
                scale[axis] = count * tile[axis] as f32 / cells as f32;
            }
        }
        Self {
            phase: 0.5,
            moved,
            packed: [0; GENERATIONS].map(|_| Cells::new(layout.size())),
            tile: Tile::new(recipe(&params, tile, is_flat, finer)),
            params,
            finer,
            walls: walls.clone(),
            scale,
            sums: vec![[0.0; 3]; n[2]],
            reached: vec![[0; 2]; n[1] * n[2]],
            around: vec![[0; 2]; n[1] * n[2]],
            strongest: 0.0,
            wanted: 0.0,
        }
    }

    /// Memory for velocities of `layout`, without the scratch of threads \[bytes\].
    pub fn memory(layout: Layout) -> usize {
        (2 * GENERATIONS * layout.size() + (TILE + 1).pow(3)) * size_of::<[f32; 4]>()
    }

    /// Changes the parameters.
    pub fn set(&mut self, params: Turbulence) {
        self.params = params;
        let is_flat = self.scale.map(|scale| scale == 0.0);
        let recipe = recipe(&params, self.tile.recipe.cells, is_flat, self.finer);
        if recipe != self.tile.recipe {
            self.tile = Tile::new(recipe);
        }
    }

    /// The tile of the potential.
    pub fn tile(&self) -> &Tile {
        &self.tile
    }

    /// Whether the box has one cell along an axis, along which nothing may vary.
    pub fn is_flat(&self, axis: usize) -> bool {
        self.scale[axis] == 0.0
    }

    /// Places and weights of the generations, one layer of ghosts filled.
    pub fn packed(&self) -> [&[Packed]; GENERATIONS] {
        self.packed.each_ref().map(|cells| &**cells)
    }

    /// Moves the coordinates by a substep, and finds the weights where smoke may arrive.
    pub fn advance(&mut self, air: Air, bricks: &Bricks, halt: &Halt) {
        let Air { layout, velocity, obstacles, back, spare, steps, cfl } = air;
        self.find_ranges(layout, bricks);
        let Self { moved, packed, walls, sums, reached, around, params, .. } = self;
        let bounds = walls.sample_bounds(None);
        let inside = [[0, layout.dims.ny as isize], [0, layout.dims.nz as isize]];
        let (nx, ranks) = (layout.dims.nx, walls.ranks());
        // A back-trace ends between two planes, and rounding may add one.
        let far = (cfl.ceil().min(layout.dims.nz as f32) as usize) + 2;
        moved.iter_mut().for_each(|moved| ranks.exchange(layout, [&mut moved[..]], [far; 2]));
        // `packed` serves as scratch: the points and weights of the last substep are no longer needed.
        let [one, other] = packed.each_mut().map(|cells| &mut cells[..]);
        row_passes::rows2(layout, [one, other], inside, |j, k, rows| {
            if halt.is_raised() {
                return;
            }
            let back = &back[layout.at(0, j, k)..][..nx];
            let [one, other] = rows.map(|row| &mut row[GHOST..GHOST + nx]);
            let row = advect::Row { origin: [0.0, j as f32, k as f32], back };
            advect::linear_pair(
                row,
                &bounds,
                moved.each_ref().map(|cells| &cells[..]),
                [&mut *one, &mut *other],
            );
            subtract(back, one);
            subtract(back, other);
        });
        if halt.is_raised() {
            return;
        }
        for (moved, packed) in moved.iter_mut().zip(&mut *packed) {
            std::mem::swap(moved, packed);
            walls.extend(moved);
        }
        // The energy and the gradient of each cell in `packed[0]`, their means in `spare`.
        ranks.with_neighbours(layout, [1; 2], |layout| trace::centers(layout, velocity, spare));
        let raw = &mut packed[0];
        let range =
            |ranges: &[[usize; 2]], j: isize, k: isize| ranges[k as usize * layout.dims.ny + j as usize];
        row_passes::rows(layout, raw, inside, |j, k, row| {
            if halt.is_raised() {
                return;
            }
            let [from, to] = range(around, j, k);
            if from < to {
                measure(layout, spare, layout.at(from as isize, j, k), &mut row[GHOST + from..GHOST + to]);
            }
        });
        if let Some(obstacles) = obstacles {
            mark(layout, obstacles, raw);
        }
        walls.extend(raw);
        ranks.exchange(layout, [&mut raw[..]], [1; 2]);
        row_passes::rows(layout, spare, inside, |j, k, row| {
            if halt.is_raised() {
                return;
            }
            let [from, to] = range(reached, j, k);
            let row = &mut row[GHOST..GHOST + nx];
            if from >= to {
                return row.fill([0.0; 4]);
            }
            row[..from].fill([0.0; 4]);
            row[to..].fill([0.0; 4]);
            smooth(layout, raw, layout.at(from as isize, j, k), &mut row[from..to]);
        });
        row_passes::reduce(layout, sums, |sum, j, k| {
            let [from, to] = range(reached, j as isize, k as isize);
            if from < to {
                add_up(&spare[layout.start(j, k) + from..][..to - from], sum);
            }
        });
        ranks.gather(sums, 1);
        let [energy, strained, most] =
            self.sums.iter().fold([0.0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2].max(b[2])]);
        let gradient = if energy > 0.0 { (strained / energy).sqrt() } else { 0.0 };
        let life = f64::from(steps) * gradient / f64::from(params.stretch);
        let strain = self.finer as f32 * steps * self.tile.strain;
        let cap = if strain > 0.0 { STRAINED / strain } else { f32::INFINITY };
        self.wanted = params.strength * (most as f32).sqrt();
        self.strongest = self.wanted.min(cap);
        self.age(life + f64::from(cfl / FARTHEST));
        for moved in &mut self.moved {
            self.walls.ranks().exchange(layout, [&mut moved[..]], [1; 2]);
        }
        let least = if steps > 0.0 { LEAST * cfl / steps } else { 0.0 };
        for generation in (0..GENERATIONS).take_while(|_| !halt.is_raised()) {
            self.pack(layout, spare, generation, [least, cap]);
        }
    }

    /// Finds the cells of each row that `bricks` reach, and those around them.
    fn find_ranges(&mut self, layout: Layout, bricks: &Bricks) {
        let Self { reached, around, finer, walls, .. } = self;
        let [nx, ny, nz] = layout.dims.array();
        let (finer, periodic) = (*finer, walls.periodic());
        reached.par_chunks_exact_mut(ny).enumerate().for_each(|(k, reached)| {
            for (j, reached) in reached.iter_mut().enumerate() {
                // Finer rows of one cell lie in two bricks at most along each axis.
                let at = |index: usize, part: usize| finer * index + part * (finer - 1);
                let spans = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(y, z)| bricks.span(at(j, y), at(k, z)));
                *reached = hull(spans.into_iter().map(|span| [span.start / finer, span.end.div_ceil(finer)]));
            }
        });
        let reached = &*reached;
        around.par_chunks_exact_mut(ny).enumerate().for_each(|(k, around)| {
            for (j, around) in around.iter_mut().enumerate() {
                let beside = |axis: usize, index: usize, n: usize| {
                    let wrapped = if periodic[axis] { [n - 1, 0] } else { [0, n - 1] };
                    [
                        index.checked_sub(1).unwrap_or(wrapped[0]),
                        index,
                        [index + 1, wrapped[1]][usize::from(index + 1 == n)],
                    ]
                };
                let rows = beside(2, k, nz).into_iter();
                let rows = rows.flat_map(|k| beside(1, j, ny).map(|j| reached[k * ny + j]));
                *around = match hull(rows) {
                    [from, to] if from >= to => [0; 2],
                    // The cells at the other side are beside these.
                    [from, to] if periodic[0] && (from == 0 || to == nx) => [0, nx],
                    [from, to] => [from.saturating_sub(1), (to + 1).min(nx)],
                };
            }
        });
    }

    /// Greatest weight times the peak of the tile \[m/s\]: hardly any finer face gets more than half of it.
    pub fn speed(&self) -> f32 {
        self.strongest * self.tile.peak
    }

    /// As [`speed`](Self::speed), if the substep were so short that nothing is capped.
    pub fn wanted_speed(&self) -> f32 {
        self.wanted * self.tile.peak
    }

    /// Advances the phase by `lives`. A generation whose life ends begins anew.
    fn age(&mut self, lives: f64) {
        let before = self.phase;
        self.phase += if lives.is_finite() { lives.min(LONGEST) } else { LONGEST };
        let own = self.walls.layout().own();
        for (generation, moved) in self.moved.iter_mut().enumerate() {
            if births(self.phase, generation) != births(before, generation) {
                moved[own.clone()].fill([0.0; 4]);
            }
        }
    }

    /// Rotation and scale from cells of the velocity to those of the tile, by columns, and the origin in the
    /// tile.
    fn frame(&self, generation: usize) -> ([[f32; 3]; 3], [f32; 3]) {
        let births = births(self.phase, generation) as u64;
        let mut state = u64::from(self.params.seed) << 32 ^ (2 * births + generation as u64);
        let mut random = || (split_mix(&mut state) >> 40) as f32 / (1 << 24) as f32;
        let origin = self.tile.recipe.cells.map(|n| n as f32 * random());
        let mut rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        if !self.walls.periodic().contains(&true) && !self.scale.contains(&0.0) {
            let q = loop {
                let q: [f32; 4] = std::array::from_fn(|_| 2.0 * random() - 1.0);
                let size = q.iter().map(|x| x * x).sum::<f32>().sqrt();
                if (0.1..1.0).contains(&size) {
                    break q.map(|x| x / size);
                }
            };
            rotation = rotation_matrix(q);
        }
        let finer = self.finer as f32;
        let columns = [0, 1, 2].map(|a| rotation[a].map(|x| x * self.scale[a] * finer));
        (columns, origin)
    }

    /// Finds the points in the tile and the weights of a generation. `means` holds a², the mean squared
    /// gradient, and whether a solid is near.
    fn pack(&mut self, layout: Layout, means: &[[f32; 4]], generation: usize, limits: [f32; 2]) {
        let (columns, origin) = self.frame(generation);
        let age = (self.phase + 0.5 * generation as f64).fract();
        let strength = self.params.strength * (std::f64::consts::PI * age).sin() as f32;
        let Self { moved, packed, params, walls, around, .. } = self;
        let (moved, packed) = (&*moved[generation], &mut packed[generation]);
        let inside = [[0, layout.dims.ny as isize], [0, layout.dims.nz as isize]];
        let nx = layout.dims.nx;
        row_passes::rows(layout, packed, inside, |j, k, row| {
            let [from, to] = around[k as usize * layout.dims.ny + j as usize];
            let row = &mut row[GHOST..GHOST + nx];
            row[..from].fill([0.0; 4]);
            row[to..].fill([0.0; 4]);
            let at = layout.at(from as isize, j, k);
            let place = TileMap {
                columns: columns.map(widened),
                origin: widened(origin),
                first: [from, j as usize, k as usize],
            };
            let weigh = WeightRule {
                strength,
                cap: strength / params.strength * limits[1],
                least: limits[0],
                stretch: params.stretch,
            };
            pack_row(layout, [moved, means], at, place, weigh, &mut row[from..to]);
        });
        fill_ghosts(layout, walls, columns, packed);
    }
}

impl Saved for Swirls {
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        let coarse = self.walls.layout();
        let Self {
            phase,
            moved,
            packed: _,
            tile: _,
            params: _,
            finer: _,
            walls: _,
            scale: _,
            sums: _,
            reached: _,
            around: _,
            strongest: _,
            wanted: _,
        } = self;
        archive.value("swirls", phase)?;
        moved.iter_mut().try_for_each(|moved| archive.field("moved", moved, coarse))
    }
}

/// Number of times that a generation has begun.
fn births(phase: f64, generation: usize) -> i64 {
    (phase + 0.5 * generation as f64).floor() as i64
}

fn recipe(params: &Turbulence, cells: [usize; 3], is_flat: [bool; 3], finer: usize) -> Recipe {
    let flat = is_flat.iter().filter(|flat| **flat).count();
    let components = [0, 1, 2].map(|c| flat == 0 || flat == 1 && is_flat[c]);
    let spacing = 0.25 * params.size;
    Recipe {
        cells,
        spacing: spacing * finer as f32,
        octaves: params.octaves,
        speed: GAIN * spacing.powf(0.5 * (params.spectrum - 1.0)),
        exponent: params.spectrum,
        seed: params.seed,
        components,
    }
}

/// The matrix of a unit quaternion.
fn rotation_matrix([w, x, y, z]: [f32; 4]) -> [[f32; 3]; 3] {
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
        [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

each_level! { fn subtract(back: &[[f32; 4]], out: &mut [[f32; 4]]) = subtract_kernel; }

#[inline(always)]
fn subtract_kernel<S: Simd>(_: S, back: &[[f32; 4]], out: &mut [[f32; 4]]) {
    for (back, out) in back.iter().zip(out) {
        for c in 0..4 {
            out[c] -= back[c];
        }
    }
}

/// The smallest range that contains all non-empty `ranges`.
fn hull(ranges: impl Iterator<Item = [usize; 2]>) -> [usize; 2] {
    let full = ranges.filter(|[from, to]| from < to);
    let all = full.fold([usize::MAX, 0], |sum, range| [sum[0].min(range[0]), sum[1].max(range[1])]);
    if all[0] < all[1] { all } else { [0; 2] }
}

#[cfg(test)]
mod tests;
