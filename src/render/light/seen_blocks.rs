//! Light that glowing smoke, and smoke around it, scatters towards the floor.
//!
//! Dense smoke is seen by its outermost layer alone, which may be far darker than a block is in the mean. So each cell has an intensity in
//! each direction that leads down or level, without what all smoke on the way out of the box hides: the way to the floor goes on through
//! nothing else. Intensities of blocks are sums of these, read in blocks whose edges grow with the distance (Barnes and Hut 1986).
//!
//! The radiance that the cubes of the light volume send is interpolated to the cells, which may be finer.

use rayon::prelude::*;

use super::extinction::Extinction;
use super::gathered::SolidCubes;
use super::intensities::{
    DIRECTIONS, ITSELF, SLOTS, Slots, UNITS, axes_of, fade, in_direction, leaving, step_of, unit_of,
};
use super::ordinates::{MediumCubes, Sent};
use crate::grid::Dims;
use crate::render::exp::exp;

/// Largest edge of a block, in distances from its middle.
const OPENING: f32 = 0.6;
/// Most cells of the grid.
pub(super) const MOST_CELLS: usize = 64 * 64 * 64;
/// No block.
const NONE: u32 = u32::MAX;

/// Cells of smoke, and their light in blocks.
#[derive(Debug, Default)]
pub(super) struct SeenBlocks {
    /// Edge of a cell \[m\].
    edge: f32,
    cells: Vec<SmokeCell>,
    /// Optical depth of the smoke around each cell on the way out of the box, in each direction.
    depths: Vec<Slots>,
    /// Blocks of two cells along an edge first, and the numbers of the cells in each of these.
    levels: Vec<Level>,
    parts: Vec<Vec<u32>>,
}

#[derive(Debug)]
struct SmokeCell {
    at: [usize; 3],
    /// Mean of all colours \[1/m\], and that of each colour over it.
    extinction: f32,
    tint: [f32; 3],
}

#[derive(Debug)]
struct Level {
    dims: Dims,
    /// The block of each place, or [`NONE`].
    numbers: Vec<u32>,
    blocks: Vec<Block>,
    /// For each block that of the next level.
    wholes: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Block {
    /// Intensity in each direction \[W/sr\].
    towards: [Slots; 3],
    /// Sum of all intensities, and the middle of what sends them \[m\], times this sum while it grows.
    seen: f32,
    place: [f32; 3],
}

impl SeenBlocks {
    /// Takes over the smoke of a grid, without the forward peak, mean of all colours. Each cell has the tint of the cube around it.
    pub fn fill(&mut self, medium: &MediumCubes, smoke: &Extinction<1>) {
        let mean = |n: usize| (0..3).map(|c| medium.unpeaked(c, n)).sum::<f32>() / 3.0;
        self.edge = smoke.edge;
        let size = medium.dims.array();
        let cube = |at: [usize; 3]| {
            let cube = |a: usize| (((at[a] as f32 + 0.5) * smoke.edge / medium.h) as usize).min(size[a] - 1);
            medium.dims.index(cube(0), cube(1), cube(2))
        };
        let in_plane = |k: usize| {
            let mut cells = Vec::new();
            for (j, i) in (0..smoke.dims.ny).flat_map(|j| (0..smoke.dims.nx).map(move |i| (j, i))) {
                let [extinction] = smoke.at([i, j, k]);
                if extinction > 0.0 {
                    let n = cube([i, j, k]);
                    let tint = std::array::from_fn(|c| medium.unpeaked(c, n) / mean(n));
                    cells.push(SmokeCell { at: [i, j, k], extinction, tint });
                }
            }
            cells
        };
        self.cells = (0..smoke.dims.nz).into_par_iter().flat_map_iter(in_plane).collect();
        self.find_depths();
        self.divide(smoke.dims);
    }

    /// Sums up the depths on the way out.
    fn find_depths(&mut self) {
        let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
        for cell in &self.cells {
            for a in 0..3 {
                low[a] = low[a].min(cell.at[a]);
                high[a] = high[a].max(cell.at[a] + 1);
            }
        }
        self.depths.clear();
        self.depths.resize(self.cells.len(), [0.0; SLOTS]);
        if self.cells.is_empty() {
            return;
        }
        // With an empty cell around.
        let size: [usize; 3] = std::array::from_fn(|a| high[a] - low[a] + 2);
        let strides = [1, size[0], size[0] * size[1]];
        let index = |at: [usize; 3]| (0..3).map(|a| (at[a] + 1 - low[a]) * strides[a]).sum::<usize>();
        let mut extinction = vec![0.0_f32; size.iter().product()];
        self.cells.iter().for_each(|cell| extinction[index(cell.at)] = cell.extinction);
        let directions: Vec<usize> = (0..DIRECTIONS).filter(|&n| leads_down(n)).collect();
        let sums = directions.par_iter().map(|&direction| {
            let (step, way) = (step_of(direction), self.edge / UNITS[axes_of(direction) - 1]);
            let ahead: isize = (0..3).map(|a| step[a] * strides[a] as isize).sum();
            let mut sums = vec![0.0_f32; extinction.len()];
            let ordered = |a: usize, n: usize| if step[a] > 0 { size[a] - 1 - n } else { n };
            for k in (1..size[2] - 1).map(|k| ordered(2, k)) {
                for j in (1..size[1] - 1).map(|j| ordered(1, j)) {
                    let first = j * strides[1] + k * strides[2];
                    for i in (1..size[0] - 1).map(|i| ordered(0, i)) {
                        let next = (first + i).wrapping_add_signed(ahead);
                        sums[first + i] = sums[next] + way * extinction[next];
                    }
                }
            }
            self.cells.iter().map(|cell| sums[index(cell.at)]).collect()
        });
        let sums: Vec<Vec<f32>> = sums.collect();
        self.depths.par_iter_mut().enumerate().for_each(|(n, depths)| {
            directions.iter().zip(&sums).for_each(|(&direction, sums)| depths[direction] = sums[n]);
        });
    }

    /// Divides the cells of a grid into blocks.
    fn divide(&mut self, dims: Dims) {
        self.levels.clear();
        self.parts.clear();
        let mut first = Level::over(dims);
        for (n, cell) in self.cells.iter().enumerate() {
            let number = first.number(cell.at.map(|i| i / 2)) as usize;
            if number == self.parts.len() {
                self.parts.push(Vec::new());
            }
            self.parts[number].push(n as u32);
        }
        self.levels.push(first);
        while let Some(level) = self.levels.last_mut().filter(|level| level.dims.cells() > 1) {
            let mut next = Level::over(level.dims);
            level.wholes = vec![NONE; level.blocks.len()];
            for n in (0..level.dims.cells()).filter(|&n| level.numbers[n] != NONE) {
                level.wholes[level.numbers[n] as usize] = next.number(level.dims.place(n).map(|i| i / 2));
            }
            self.levels.push(next);
        }
    }

    /// Takes over the radiance that the cubes send.
    pub fn load(&mut self, medium: &MediumCubes, sent: &[Sent; 3]) {
        let Self { edge, cells, depths, levels, parts } = self;
        let sends =
            |n: usize| medium.extinction[n] > 0.0 && medium.solid.get(n).is_none_or(|&solid| solid <= 0.5);
        let (edge, volume) = (*edge, *edge * *edge * *edge);
        let of_cell = |number: u32, block: &mut Block| {
            let cell = &cells[number as usize];
            let place = cell.at.map(|i| (i as f32 + 0.5) * edge);
            let radiance = interpolated(medium, sent, sends, place);
            let mut towards = [[0.0; SLOTS]; 3];
            for (c, [even, x, y, z]) in radiance.into_iter().enumerate() {
                let extinction = cell.extinction * cell.tint[c];
                let leaves = UNITS.map(|unit| extinction * volume * leaving(extinction * edge / unit));
                for direction in (0..DIRECTIONS).filter(|&n| leads_down(n)) {
                    let unit = unit_of(direction);
                    let radiance = even + x * unit[0] + y * unit[1] + z * unit[2];
                    towards[c][direction] = radiance.max(0.0) * leaves[axes_of(direction) - 1];
                }
            }
            fade(&mut towards, &depths[number as usize], &cell.tint);
            let seen = 1e-30 + towards.as_flattened().iter().sum::<f32>();
            let own = Block { towards, seen, place: place.map(|x| x * seen) };
            block.add(&own);
        };
        let Some(first) = levels.first_mut() else { return };
        first.blocks.par_iter_mut().zip(parts).for_each(|(block, parts)| {
            *block = Block::default();
            parts.iter().for_each(|&part| of_cell(part, block));
        });
        for n in 1..levels.len() {
            let (fine, coarse) = levels.split_at_mut(n);
            let (fine, coarse) = (&fine[n - 1], &mut coarse[0]);
            coarse.blocks.fill(Block::default());
            fine.wholes.iter().zip(&fine.blocks).for_each(|(&n, part)| coarse.blocks[n as usize].add(part));
        }
    }

    /// Radiance that a white floor sends at a place \[m\].
    pub fn on_floor(&self, place: [f32; 3], solids: &SolidCubes) -> [f32; 3] {
        let mut all = [0.0; 3];
        if self.cells.is_empty() {
            return all;
        }
        let mut open = vec![(self.levels.len() - 1, [0_usize; 3])];
        while let Some((level, at)) = open.pop() {
            let Level { dims, numbers, blocks, .. } = &self.levels[level];
            let number = numbers[dims.index(at[0], at[1], at[2])];
            if number == NONE {
                continue;
            }
            let (block, edge) = (&blocks[number as usize], self.edge * (2 << level) as f32);
            let way: [f32; 3] = std::array::from_fn(|a| place[a] - block.place[a] / block.seen);
            let square = way.iter().map(|x| x * x).sum::<f32>();
            if level > 0 && edge * edge >= OPENING * OPENING * square {
                let fine = self.levels[level - 1].dims.array();
                for n in 0..8 {
                    let child: [usize; 3] = std::array::from_fn(|a| 2 * at[a] + (n >> a & 1));
                    if (0..3).all(|a| child[a] < fine[a]) {
                        open.push((level - 1, child));
                    }
                }
                continue;
            }
            let distance = square.sqrt().max(1e-9);
            let unit = way.map(|x| x / distance);
            // A block that has no finer ones may be close by: it is seen as large as half the sky.
            let near = if level == 0 { 0.07 * edge * edge } else { 0.0 };
            let hidden = solids.depth(place, unit.map(|x| -x), [0.0, distance]);
            let even = -unit[1] * std::f32::consts::FRAC_1_PI / (square + near) * exp(-hidden);
            let sent = in_direction(&block.towards, unit);
            (0..3).for_each(|c| all[c] += even * sent[c]);
        }
        all
    }
}

impl Level {
    /// Blocks of two parts along each edge in a grid of `dims`, none of them taken yet.
    fn over(dims: Dims) -> Self {
        let [nx, ny, nz] = dims.array().map(|n| n.div_ceil(2));
        let numbers = vec![NONE; nx * ny * nz];
        Self { dims: Dims { nx, ny, nz }, numbers, blocks: Vec::new(), wholes: Vec::new() }
    }

    /// The number of the block at a place, which is made if there is none.
    fn number(&mut self, [i, j, k]: [usize; 3]) -> u32 {
        let number = &mut self.numbers[self.dims.index(i, j, k)];
        if *number == NONE {
            *number = self.blocks.len() as u32;
            self.blocks.push(Block::default());
        }
        *number
    }
}

impl Block {
    fn add(&mut self, part: &Self) {
        let parts = part.towards.as_flattened();
        self.towards.as_flattened_mut().iter_mut().zip(parts).for_each(|(all, part)| *all += part);
        self.seen += part.seen;
        (0..3).for_each(|a| self.place[a] += part.place[a]);
    }
}

/// Whether a direction leads down or level: all between which light goes down.
const fn leads_down(direction: usize) -> bool {
    direction / 3 % 3 < 2 && direction != ITSELF
}

/// Radiance that cubes send around a place, evenly and what the direction adds along each axis, for three colours: the mean of those that
/// send any, by the weights of what is interpolated.
fn interpolated(
    medium: &MediumCubes,
    sent: &[Sent; 3],
    sends: impl Fn(usize) -> bool,
    place: [f32; 3],
) -> [[f32; 4]; 3] {
    let size = medium.dims.array();
    let (mut low, mut high, mut share) = ([0; 3], [0; 3], [0.0; 3]);
    for a in 0..3 {
        let at = (place[a] / medium.h - 0.5).clamp(0.0, (size[a] - 1) as f32);
        low[a] = at as usize;
        high[a] = (low[a] + 1).min(size[a] - 1);
        share[a] = at - low[a] as f32;
    }
    let (mut all, mut sum) = ([[0.0; 4]; 3], 0.0);
    for corner in 0..8 {
        let (mut at, mut weight) = ([0; 3], 1.0);
        for a in 0..3 {
            let upper = corner >> a & 1 == 1;
            at[a] = if upper { high[a] } else { low[a] };
            weight *= if upper { share[a] } else { 1.0 - share[a] };
        }
        let n = medium.dims.index(at[0], at[1], at[2]);
        if weight < 1e-4 || !sends(n) {
            continue;
        }
        sum += weight;
        for (all, Sent { even, along: [x, y, z] }) in all.iter_mut().zip(sent) {
            for (all, sent) in all.iter_mut().zip([even[n], x[n], y[n], z[n]]) {
                *all += weight * sent;
            }
        }
    }
    let scale = 1.0 / f32::max(sum, 1e-6);
    all.map(|of| of.map(|x| x * scale))
}
