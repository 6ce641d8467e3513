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

use fearless_simd::f32x4;
use fearless_simd::prelude::*;
use rayon::prelude::*;

use super::wavelet_noise::{Recipe, Tile, split_mix};
use crate::grid::{Faces, GHOST, Layout};
use crate::simd::{Simd, each_level, greatest};
use crate::solver::advect;
use crate::solver::advect::trace;
use crate::solver::sides::GhostRules;
use crate::solver::solids::{Obstacles, SOLID};
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::archive::{Archive, Saved, StateError};
use crate::solver::storage::cells::Cells;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::row_passes;
use crate::solver::{BoundaryCondition, Turbulence};

/// Generations of coordinates.
pub const GENERATIONS: usize = 2;

/// Cells of the tile along an axis whose sides are not periodic.
const TILE: usize = 64;

/// Speed of the swirls of two to four cells, as a share of a, that continues the spectrum of the velocity
/// (`a_strength_of_one_continues_the_spectrum`).
const GAIN: f32 = 2.7;

/// Share of the bound of the stretch from which a generation fades.
const FADES_FROM: f32 = 0.6;

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

/// Lanes of sums over a row.
const LANES: usize = 8;

/// A generation at a cell: the place in the tile of its centre, and the weight \[m/s\].
pub type Packed = [f32; 4];

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

each_level! { fn measure(layout: Layout, centers: &[[f32; 4]], at: usize, out: &mut [[f32; 4]]) = measure_kernel; }

/// For each cell of a row: the squared speed of the velocity minus its mean over 3³ cells, and the squared
/// gradient of the velocity, per cell. In a flow without divergence the mean of the latter is that of the
/// squared strain 2 S:S.
#[inline(always)]
fn measure_kernel<S: Simd>(s: S, layout: Layout, centers: &[[f32; 4]], at: usize, out: &mut [[f32; 4]]) {
    let rows = neighbors(layout, centers, at, out.len());
    let half = f32x4::splat(s, 0.5);
    let mut columns = [weighted_sum(s, &rows, 0), weighted_sum(s, &rows, 1)];
    for (i, out) in out.iter_mut().enumerate() {
        let [low, middle] = columns;
        let high = weighted_sum(s, &rows, i + 2);
        let removed = load(s, &rows[4][i + 1]) - binomial_mean(s, [low, middle, high]);
        columns = [middle, high];
        let ends = [
            [&rows[4][i], &rows[4][i + 2]],
            [&rows[3][i + 1], &rows[5][i + 1]],
            [&rows[1][i + 1], &rows[7][i + 1]],
        ];
        let mut slopes = f32x4::splat(s, 0.0);
        for [low, high] in ends {
            let slope = half * (load(s, high) - load(s, low));
            slopes = slope.mul_add(slope, slopes);
        }
        let (sharp, slopes): ([f32; 4], [f32; 4]) = ((removed * removed).into(), slopes.into());
        *out = [sharp[0] + sharp[1] + sharp[2], slopes[0] + slopes[1] + slopes[2], 0.0, 0.0];
    }
}

#[inline(always)]
fn load<S: Simd>(s: S, cell: &[f32; 4]) -> f32x4<S> {
    f32x4::load_array_ref(s, cell)
}

/// The nine rows around that at `at`, each with one cell more at both ends.
#[inline(always)]
fn neighbors(layout: Layout, cells: &[[f32; 4]], at: usize, n: usize) -> [&[[f32; 4]]; 9] {
    std::array::from_fn(
        #[inline(always)]
        |r| {
            let first = at + (r % 3) * layout.row + (r / 3) * layout.plane - layout.row - layout.plane - 1;
            &cells[first..][..n + 2]
        },
    )
}

/// Binomial mean over nine rows.
#[inline(always)]
fn weighted_sum<S: Simd>(s: S, rows: &[&[[f32; 4]]; 9], i: usize) -> f32x4<S> {
    const SHARES: [f32; 3] = [0.25, 0.5, 0.25];
    let mut sum = f32x4::splat(s, 0.0);
    for (r, row) in rows.iter().enumerate() {
        sum = f32x4::splat(s, SHARES[r % 3] * SHARES[r / 3]).mul_add(load(s, &row[i]), sum);
    }
    sum
}

/// Binomial mean over 3³ cells from three of nine rows each.
#[inline(always)]
fn binomial_mean<S: Simd>(s: S, [low, middle, high]: [f32x4<S>; 3]) -> f32x4<S> {
    f32x4::splat(s, 0.25) * (low + high) + f32x4::splat(s, 0.5) * middle
}

each_level! { fn smooth(layout: Layout, cells: &[[f32; 4]], at: usize, out: &mut [[f32; 4]]) = smooth_kernel; }

/// Writes the binomial mean over 3³ cells around each cell of a row. Sums of columns serve three cells each.
#[inline(always)]
fn smooth_kernel<S: Simd>(s: S, layout: Layout, cells: &[[f32; 4]], at: usize, out: &mut [[f32; 4]]) {
    let rows = neighbors(layout, cells, at, out.len());
    let mut columns = [weighted_sum(s, &rows, 0), weighted_sum(s, &rows, 1)];
    for (i, out) in out.iter_mut().enumerate() {
        let [low, middle] = columns;
        let high = weighted_sum(s, &rows, i + 2);
        binomial_mean(s, [low, middle, high]).store_array(out);
        columns = [middle, high];
    }
}

/// Marks the cells of solids, and those beside faces that are not wholly open.
fn mark(layout: Layout, obstacles: &Obstacles, cells: &mut [[f32; 4]]) {
    let voxels = &obstacles.voxels;
    let (own, flags) = (layout.own(), &voxels.flags);
    cells[own.clone()]
        .par_iter_mut()
        .zip(&flags[own])
        .filter(|(_, flags)| **flags & SOLID != 0)
        .for_each(|(cell, _)| cell[2] = 1.0);
    for (cuts, stride) in voxels.cuts.faces.iter().zip(layout.strides()) {
        for cut in cuts {
            let at = cut.at as usize;
            cells[at][2] = 1.0;
            cells[at - stride][2] = 1.0;
        }
    }
}

/// From cells of the velocity to those of the tile.
#[derive(Clone, Copy)]
struct TileMap {
    columns: [[f32; 4]; 3],
    origin: [f32; 4],
    /// Index of the first cell.
    first: [usize; 3],
}

/// The factors of a weight.
#[derive(Clone, Copy)]
struct WeightRule {
    strength: f32,
    /// Greatest weight \[m/s\].
    cap: f32,
    /// Speed that counts as 0 \[m/s\].
    least: f32,
    /// Bound of the stretch.
    stretch: f32,
}

fn widened([x, y, z]: [f32; 3]) -> [f32; 4] {
    [x, y, z, 0.0]
}

/// The smallest range that contains all non-empty `ranges`.
fn hull(ranges: impl Iterator<Item = [usize; 2]>) -> [usize; 2] {
    let full = ranges.filter(|[from, to]| from < to);
    let all = full.fold([usize::MAX, 0], |sum, range| [sum[0].min(range[0]), sum[1].max(range[1])]);
    if all[0] < all[1] { all } else { [0; 2] }
}

each_level! { fn add_up(cells: &[[f32; 4]], sum: &mut [f64; 3]) = add_up_kernel; }

/// Adds the energies of cells, and these times the squared gradients; keeps the greatest energy.
#[inline(always)]
fn add_up_kernel<S: Simd>(s: S, cells: &[[f32; 4]], sum: &mut [f64; 3]) {
    let (mut energy, mut strained, mut most) = ([0.0f32; LANES], [0.0f32; LANES], [0.0f32; LANES]);
    for chunk in cells.chunks(LANES) {
        for (l, cell) in chunk.iter().enumerate() {
            energy[l] += cell[0];
            strained[l] = s.fma(cell[0], cell[1], strained[l]);
            most[l] = greatest(cell[0], most[l]);
        }
    }
    let add = |lanes: [f32; LANES]| lanes.iter().map(|&x| f64::from(x)).sum::<f64>();
    let most = most.into_iter().fold(0.0, f32::max);
    *sum = [sum[0] + add(energy), sum[1] + add(strained), sum[2].max(most.into())];
}

each_level! {
    fn pack_row(
        layout: Layout, fields: [&[[f32; 4]]; 2], at: usize, place: TileMap, weigh: WeightRule, out: &mut [[f32; 4]],
    ) = pack_kernel;
}

#[inline(always)]
fn pack_kernel<S: Simd>(
    s: S,
    layout: Layout,
    [moved, means]: [&[[f32; 4]]; 2],
    at: usize,
    TileMap { columns, origin, first }: TileMap,
    WeightRule { strength, cap, least, stretch }: WeightRule,
    out: &mut [[f32; 4]],
) {
    let n = out.len();
    let [row, plane] = [layout.row, layout.plane];
    let (here, means) = (&moved[at..][..n], &means[at..][..n]);
    let beside = [1, row, plane].map(
        #[inline(always)]
        |stride| [&moved[at - stride..][..n], &moved[at + stride..][..n]],
    );
    const UNIT: [[f32; 4]; 3] = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    let bound = stretch * stretch;
    let per_fade = 1.0 / (bound * (1.0 - FADES_FROM * FADES_FROM));
    let (half, origin) = (f32x4::splat(s, 0.5), load(s, &origin));
    for i in 0..n {
        let mut squares = f32x4::splat(s, 0.0);
        for (unit, [low, high]) in UNIT.iter().zip(&beside) {
            let slope = half.mul_add(load(s, &high[i]) - load(s, &low[i]), load(s, unit));
            squares = slope.mul_add(slope, squares);
        }
        let squares: [f32; 4] = squares.into();
        let size = squares[0] + squares[1] + squares[2];
        let fade = ((bound - (size - 2.0)) * per_fade).clamp(0.0, 1.0);
        let speed = means[i][0].max(0.0).sqrt() - least;
        let weight = fade * (strength * speed.max(0.0)).min(cap);
        let mut place = origin;
        for (a, column) in columns.iter().enumerate() {
            let x = (first[a] + if a == 0 { i } else { 0 }) as f32 + 0.5 + here[i][a];
            place = load(s, column).mul_add(f32x4::splat(s, x), place);
        }
        let [x, y, z, _]: [f32; 4] = place.into();
        out[i] = [x, y, z, if means[i][2] == 0.0 { weight } else { 0.0 }];
    }
}

/// Fills one layer of ghosts. Points in the tile continue as inside; weights are odd across walls and
/// inflows.
fn fill_ghosts(layout: Layout, walls: &GhostRules, columns: [[f32; 3]; 3], cells: &mut [Packed]) {
    let n = layout.dims.array().map(|n| n as isize);
    let strides = layout.strides();
    let own = layout.planes();
    for axis in 0..3 {
        if axis == 2 && walls.periodic()[2] {
            walls.ranks().exchange(layout, [&mut *cells], [1; 2]);
        }
        let is_flat = columns[axis] == [0.0; 3];
        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
        for (to, side) in [(-1, 0), (n[axis], 1)] {
            let (from, sign) = match walls.sides()[axis][side] {
                BoundaryCondition::Periodic => ((to + n[axis]) % n[axis], 1.0),
                BoundaryCondition::Open => (to.clamp(0, n[axis] - 1), 1.0),
                _ => (to.clamp(0, n[axis] - 1), if is_flat { 1.0 } else { -1.0 }),
            };
            let by = columns[axis].map(|x| x * (to - from) as f32);
            // Later axes fill the edges, with the ghosts of earlier ones.
            let range = |other: usize| if other < axis { -1..n[other] + 1 } else { 0..n[other] };
            for r in range(c) {
                for q in range(b) {
                    let mut place = [0; 3];
                    (place[axis], place[b], place[c]) = (to, q, r);
                    if !(own[0]..own[1]).contains(&place[2]) {
                        continue;
                    }
                    let at = layout.at(place[0], place[1], place[2]);
                    let cell = cells[at.wrapping_add_signed((from - to) * strides[axis] as isize)];
                    cells[at] = [cell[0] + by[0], cell[1] + by[1], cell[2] + by[2], sign * cell[3]];
                }
            }
        }
    }
    walls.ranks().exchange(layout, [cells], [1; 2]);
}

#[cfg(test)]
mod tests;
