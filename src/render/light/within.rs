//! Light from within the box: of glowing smoke, and of lamps close by that smoke and solids scatter.
//!
//! Along fourteen ordinates the light of something small and bright would arrive as beams. So it is scattered by ordinates of its own, and
//! what all cubes then send is summed up once more for each place that reads it, along straight rays: the last-collided flux
//! (Lathrop 1968 names the beams ray effects; the remedy is that of first and last collisions, Alcouffe, O'Dell and Brinkley 1990).
//! Cubes far away are summed in blocks, whose edges grow with the distance (Barnes and Hut 1986).

use rayon::prelude::*;

use super::gathered::{Gathered, STEPS, SolidCubes, leaving};
use super::glow_blocks::GlowBlocks;
use super::ordinates::{MediumCubes, Moments, Outside, Sent, Solver, Sources, Sweeps};
use crate::grid::Dims;
use crate::render::exp::exp;

/// Largest edge of a block, in distances from its middle.
const OPENING: f32 = 0.6;
/// Distance before a wall at which the light that arrives is read \[cubes\].
const OUTSIDE: f32 = 0.6;
const UP: [f32; 3] = [0.0, 1.0, 0.0];
/// No block.
const NONE: u32 = u32::MAX;

/// Sources within the box, and their light.
#[derive(Debug, Default)]
pub(super) struct Within {
    pub sources: Sources,
    pub glow: GlowBlocks,
    solver: Solver,
    scratch: [Moments; 3],
    /// Their light after the first scattering or reflection.
    collided: Sources,
    /// Radiance that the cubes send.
    sent: [Sent; 3],
    /// Whether any of them sends light.
    pub shines: bool,
    blocks: Blocks,
    solids: SolidCubes,
    /// φ and J in the cubes that are read, of light that comes from smoke and from walls; 0 elsewhere.
    pub of_smoke: [Moments; 3],
    pub of_walls: [Moments; 3],
}

/// Power of the cubes, one by one, in blocks of eight, and so on.
#[derive(Debug, Default)]
struct Blocks {
    /// Edge of a cube \[m\].
    h: f32,
    /// The finest level first.
    levels: Vec<Level>,
    /// Extinction of each cube for the three colours \[1/m\], without the forward peak.
    extinction: Vec<[f32; 3]>,
}

#[derive(Debug)]
struct Level {
    dims: Dims,
    /// The block of each place, or [`NONE`].
    numbers: Vec<u32>,
    blocks: Vec<Block>,
}

/// Power of a block, for the three colours.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// Integral of extinction × radiance over the volume \[W/sr\], and what the direction adds to it along each axis.
    power: [f32; 3],
    along: [[f32; 3]; 3],
    /// Integral of the smoke's extinction over the volume.
    extinction: [f32; 3],
    /// Of walls: mean intensity over all directions, and the sum of each times twice its normal.
    walls: [f32; 3],
    normals: [[f32; 3]; 3],
    /// Of the floor: mean intensity over all directions.
    floor: [f32; 3],
    /// Middle of all power \[m\], times the weight.
    place: [f32; 3],
    weight: f32,
}

/// The floor below each column of cubes.
struct LitFloor {
    albedo: [f32; 3],
    /// Middle \[m\], and the glow that arrives there.
    columns: Vec<([f32; 3], Gathered)>,
}

impl Within {
    /// Sets `shines` by the sources and the glow.
    pub fn note_sources(&mut self) {
        let Sources { emission, lamps, .. } = &self.sources;
        let lit = lamps.iter().flatten().chain(emission).flatten().any(|&sent| sent != 0.0);
        self.shines = lit || self.glow.shines();
    }

    /// Solves for the light of the sources, and sums it up in the cubes that `reads` chooses.
    /// `floor` is the albedo of a floor below the box.
    pub fn solve(
        &mut self,
        medium: &MediumCubes,
        floor: Option<[f32; 3]>,
        sweeps: Sweeps,
        reads: impl Fn(usize) -> bool + Sync,
    ) {
        let dark = Outside::default();
        self.solids.update(medium);
        let floor = floor.map(|albedo| LitFloor::new(albedo, medium, &self.glow, &self.solids));
        self.solver.send(medium, &self.sources, &dark, &mut self.sent);
        self.build(medium, floor.as_ref());
        let Self { glow, solver, blocks, solids, collided, sent, .. } = self;
        let of = [&mut self.of_smoke, &mut self.of_walls];
        let is_medium = |n: usize| medium.extinction[n] > 0.0;
        gather_in_cubes(medium, of, is_medium, |place, all| blocks.gather(place, None, all));
        let mut glowing = <[[Moments; 3]; 2]>::default();
        let [of_glow, none] = &mut glowing;
        let wanted = |n: usize| is_medium(n) || reads(n);
        gather_in_cubes(medium, [of_glow, none], wanted, |place, all| {
            glow.gather_at(place, None, solids, all)
        });
        add(of_glow, &mut self.of_smoke);
        // Its first collisions scatter like the light of lamps.
        for c in 0..3 {
            let [smoke, walls] = [self.of_smoke[c].all(), self.of_walls[c].all()];
            for (moment, arrives) in collided.lamps[c].iter_mut().enumerate() {
                let both = smoke[moment].iter().zip(walls[moment]);
                arrives.clear();
                arrives.extend(both.map(|(smoke, walls)| 4.0 * std::f32::consts::PI * (smoke + walls)));
            }
            collided.emission[c].clear();
        }
        collided.reflect(medium, |wall| {
            let outside = std::array::from_fn(|a| (wall.place[a] + OUTSIDE * wall.normal[a]) * medium.h);
            let mut all = Gathered::default();
            blocks.gather(outside, Some(wall.normal), &mut all);
            glow.gather_at(outside, Some(wall.normal), solids, &mut all);
            all.on_surface
        });
        solver.solve(medium, collided, &dark, sweeps, false, &mut self.scratch);
        solver.add_sent(sent);
        self.build(medium, floor.as_ref());
        let blocks = &self.blocks;
        let of = [&mut self.of_smoke, &mut self.of_walls];
        gather_in_cubes(medium, of, reads, |place, all| blocks.gather(place, None, all));
        add(of_glow, &mut self.of_smoke);
    }

    /// Makes blocks of what the cubes send, and of what a floor reflects of it and of glow.
    fn build(&mut self, medium: &MediumCubes, floor: Option<&LitFloor>) {
        self.blocks.build(medium, &self.sent, &[]);
        let Some(floor) = floor else { return };
        let columns = floor.sent(|place, all| self.blocks.gather(place, Some(UP), all));
        self.blocks.build(medium, &self.sent, &columns);
    }

    /// Radiance that a white surface sends of this light, as far as nothing but smoke hides it.
    pub fn on_surface(&self, place: [f32; 3], normal: [f32; 3]) -> [f32; 3] {
        let mut all = Gathered::default();
        self.blocks.gather(place, Some(normal), &mut all);
        self.glow.gather_at(place, Some(normal), &self.solids, &mut all);
        all.on_surface
    }
}

impl LitFloor {
    fn new(albedo: [f32; 3], medium: &MediumCubes, glow: &GlowBlocks, solids: &SolidCubes) -> Self {
        let (Dims { nx, nz, .. }, h) = (medium.dims, medium.h);
        let column = |n: usize| {
            let place = [(n % nx) as f32 + 0.5, 0.0, (n / nx) as f32 + 0.5].map(|x| x * h);
            let mut all = Gathered::default();
            glow.gather_at(place, Some(UP), solids, &mut all);
            (place, all)
        };
        Self { albedo, columns: (0..nx * nz).into_par_iter().map(column).collect() }
    }

    /// Radiance of each column, with the light that `gather` adds.
    fn sent(&self, gather: impl Fn([f32; 3], &mut Gathered) + Sync) -> Vec<[f32; 3]> {
        let column = |&(place, mut all): &([f32; 3], Gathered)| {
            gather(place, &mut all);
            std::array::from_fn(|c| self.albedo[c] * all.on_surface[c])
        };
        self.columns.par_iter().map(column).collect()
    }
}

impl Blocks {
    /// `floor` is the radiance of the floor below each column of cubes; empty without one.
    fn build(&mut self, medium: &MediumCubes, sent: &[Sent; 3], floor: &[[f32; 3]]) {
        let dims = medium.dims;
        self.h = medium.h;
        let volume = self.h * self.h * self.h;
        let scaled =
            |n: usize| -> [f32; 3] { std::array::from_fn(|c| medium.extinction[n] * medium.unpeaked(c, n)) };
        self.extinction.clear();
        self.extinction.extend((0..dims.cells()).map(scaled));
        let mut normals = vec![[0.0; 3]; if medium.walls.is_empty() { 0 } else { dims.cells() }];
        medium.walls.iter().filter(|wall| wall.cuts).for_each(|wall| normals[wall.cube] = wall.normal);
        self.levels.clear();
        let mut finest = Level { dims, numbers: vec![NONE; dims.cells()], blocks: Vec::new() };
        for n in 0..dims.cells() {
            let at = dims.place(n);
            let lit = floor.get(at[0] + dims.nx * at[2]).filter(|_| at[1] == 0);
            if medium.extinction[n] <= 0.0 && lit.is_none() {
                continue;
            }
            let mut block = Block::default();
            let is_wall = medium.solid.get(n).is_some_and(|&solid| solid > 0.5);
            for (c, Sent { even, along }) in sent.iter().enumerate() {
                if !is_wall {
                    let share = self.extinction[n][c] * volume;
                    block.extinction[c] = share;
                    block.power[c] = share * even[n];
                    block.along[c] = along.each_ref().map(|along| share * along[n]);
                } else if normals[n] != [0.0; 3] {
                    block.walls[c] = 0.25 * self.h * self.h * even[n];
                    block.normals[c] = normals[n].map(|x| x * 2.0 * block.walls[c]);
                }
            }
            block.weight = (0..3).map(|c| block.power[c] + block.walls[c]).sum();
            block.place = at.map(|i| (i as f32 + 0.5) * self.h * block.weight);
            if let Some(lit) = lit {
                block.floor = lit.map(|lit| 0.25 * self.h * self.h * lit);
                let weight: f32 = block.floor.iter().sum();
                block.weight += weight;
                for a in [0, 2] {
                    block.place[a] += weight * (at[a] as f32 + 0.5) * self.h;
                }
            }
            if block.weight > 0.0 {
                finest.numbers[n] = finest.blocks.len() as u32;
                finest.blocks.push(block);
            }
        }
        self.levels.push(finest);
        while let Some(fine) = self.levels.last().filter(|level| level.dims.cells() > 1) {
            let coarse = fine.coarsen();
            self.levels.push(coarse);
        }
    }

    /// Adds the light at a place \[m\], on a surface with a normal if one is given.
    fn gather(&self, place: [f32; 3], normal: Option<[f32; 3]>, all: &mut Gathered) {
        let top = self.levels.len() - 1;
        let mut open = vec![(top, [0_usize; 3])];
        while let Some((level, at)) = open.pop() {
            let Level { dims, numbers, blocks } = &self.levels[level];
            let number = numbers[dims.index(at[0], at[1], at[2])];
            if number == NONE {
                continue;
            }
            let edge = self.h * (1 << level) as f32;
            let block = &blocks[number as usize];
            let middle = block.place.map(|x| x / block.weight);
            let way: [f32; 3] = std::array::from_fn(|a| place[a] - middle[a]);
            let square = way.iter().map(|x| x * x).sum::<f32>();
            if level == 0 || edge * edge < OPENING * OPENING * square {
                self.add(block, edge, place, way, normal, all);
                continue;
            }
            let fine = self.levels[level - 1].dims.array();
            for n in 0..8 {
                let child: [usize; 3] = std::array::from_fn(|a| 2 * at[a] + (n >> a & 1));
                if (0..3).all(|a| child[a] < fine[a]) {
                    open.push((level - 1, child));
                }
            }
        }
    }

    /// Adds the light of a block, which hides a part of itself. `way` goes from its middle to the place.
    fn add(
        &self,
        block: &Block,
        edge: f32,
        place: [f32; 3],
        way: [f32; 3],
        normal: Option<[f32; 3]>,
        all: &mut Gathered,
    ) {
        let square = way.iter().map(|x| x * x).sum::<f32>();
        if normal.is_none() && square < 0.01 * edge * edge {
            // In its middle, as in that of a ball whose radius makes uniform smoke as bright as what it sends, within 0.5 %.
            for c in 0..3 {
                let across = block.extinction[c] / (edge * edge);
                let depth = (0.7 - 0.03 * across).max(0.6) * across;
                all.of_smoke[c][0] += block.power[c] / block.extinction[c].max(1e-20) * (1.0 - exp(-depth));
            }
            return;
        }
        // A wall may read its light in the very middle of a cube, which then has no direction.
        let distance = square.sqrt().max(1e-9);
        let unit = way.map(|x| x / distance);
        let cosine = normal.map_or(1.0, |n| -(0..3).map(|a| n[a] * unit[a]).sum::<f32>());
        if cosine <= 0.0 {
            return;
        }
        // Of the block itself light crosses as much again behind its middle as before it.
        let longest = way.iter().fold(1e-9_f32, |most, x| most.max(x.abs()));
        let [outside, inside] = self.depths(place, way.map(|x| -x), (1.0 - 0.5 * edge / longest).max(0.0));
        // A block is no point: close to it, it is seen as large as half the sky.
        let area = if normal.is_some() { square + 0.07 * edge * edge } else { square };
        let even = 0.25 * std::f32::consts::FRAC_1_PI / area;
        for c in 0..3 {
            let own = 2.0 * inside[c];
            let along: f32 = (0..3).map(|a| block.along[c][a] * unit[a]).sum();
            let floor = 4.0 * block.floor[c] * unit[1].max(0.0) * exp(-inside[c]);
            let smoke = leaving(own) * (block.power[c] + along).max(0.0) + floor;
            let facing: f32 = (0..3).map(|a| block.normals[c][a] * unit[a]).sum();
            let length = block.normals[c].iter().map(|x| x * x).sum::<f32>().sqrt();
            let walls = block.walls[c] - 0.5 * length + 2.0 * facing.max(0.0);
            let arrives = even * exp(-outside[c]);
            all.add(c, [arrives * smoke, arrives * walls], unit, cosine);
        }
    }

    /// Optical depths along a way from a place \[m\], up to a share of it and behind, in about as many steps as cubes it crosses.
    fn depths(&self, place: [f32; 3], way: [f32; 3], share: f32) -> [[f32; 3]; 2] {
        let length = way.iter().map(|x| x * x).sum::<f32>().sqrt();
        let dims = self.levels[0].dims;
        let size = dims.array();
        [[0.0, share], [share, 1.0]].map(|[from, to]| {
            let steps = (length * (to - from) / self.h).ceil().clamp(1.0, STEPS);
            let step = (to - from) / steps;
            let mut sum = [0.0; 3];
            for n in 0..steps as usize {
                let t = from + (n as f32 + 0.5) * step;
                let at: [f32; 3] = std::array::from_fn(|a| (place[a] + t * way[a]) / self.h);
                if (0..3).all(|a| at[a] >= 0.0 && at[a] < size[a] as f32) {
                    let [i, j, k] = at.map(|x| x as usize);
                    let here = self.extinction[dims.index(i, j, k)];
                    (0..3).for_each(|c| sum[c] += here[c]);
                }
            }
            sum.map(|x| x * length * step)
        })
    }
}

/// Sums up the light in the cubes that `reads` chooses; all others are dark.
fn gather_in_cubes(
    medium: &MediumCubes,
    of: [&mut [Moments; 3]; 2],
    reads: impl Fn(usize) -> bool + Sync,
    gather: impl Fn([f32; 3], &mut Gathered) + Sync,
) {
    let dims = medium.dims;
    let mut gathered = vec![[[[0.0; 4]; 3]; 2]; dims.cells()];
    gathered.par_chunks_mut(dims.nx).enumerate().for_each(|(row, values)| {
        for (i, value) in values.iter_mut().enumerate().filter(|(i, _)| reads(row * dims.nx + i)) {
            let place = [i, row % dims.ny, row / dims.ny].map(|n| (n as f32 + 0.5) * medium.h);
            let mut all = Gathered::default();
            gather(place, &mut all);
            *value = [all.of_smoke, all.of_walls];
        }
    });
    for (n, light) in of.into_iter().enumerate() {
        for (c, light) in light.iter_mut().enumerate() {
            for (moment, values) in light.all_mut().into_iter().enumerate() {
                values.clear();
                values.extend(gathered.iter().map(|value| value[n][c][moment]));
            }
        }
    }
}

fn add(from: &[Moments; 3], to: &mut [Moments; 3]) {
    for (from, to) in from.iter().flat_map(Moments::all).zip(to.iter_mut().flat_map(Moments::all_mut)) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
    }
}

impl Level {
    /// Blocks of twice the edge.
    fn coarsen(&self) -> Self {
        let dims = self.dims;
        let [nx, ny, nz] = dims.array().map(|n| n.div_ceil(2));
        let mut coarse =
            Self { dims: Dims { nx, ny, nz }, numbers: vec![NONE; nx * ny * nz], blocks: Vec::new() };
        for n in (0..dims.cells()).filter(|&n| self.numbers[n] != NONE) {
            let block = &self.blocks[self.numbers[n] as usize];
            let at = {
                let [i, j, k] = dims.place(n).map(|i| i / 2);
                coarse.dims.index(i, j, k)
            };
            let number = &mut coarse.numbers[at];
            if *number == NONE {
                *number = coarse.blocks.len() as u32;
                coarse.blocks.push(Block::default());
            }
            coarse.blocks[*number as usize].add(block);
        }
        coarse
    }
}

impl Block {
    fn add(&mut self, other: &Self) {
        for c in 0..3 {
            self.power[c] += other.power[c];
            self.extinction[c] += other.extinction[c];
            self.walls[c] += other.walls[c];
            self.floor[c] += other.floor[c];
            for a in 0..3 {
                self.along[c][a] += other.along[c][a];
                self.normals[c][a] += other.normals[c][a];
            }
        }
        (0..3).for_each(|a| self.place[a] += other.place[a]);
        self.weight += other.weight;
    }
}
