//! Light from within the box: of glowing smoke, and of lamps close by that smoke and solids scatter.
//!
//! Along fourteen ordinates the light of something small and bright would arrive as beams (ray effects: Lathrop 1968). So it is scattered by
//! ordinates of its own, and its first and last flights are found with more directions (first and last collisions: Alcouffe, O'Dell and
//! Brinkley 1990). In the cubes a sweep in many directions finds them (`light/last_flight.rs`). For walls, and around lamps for the floor, also
//! beside the box, the cubes are summed up along straight rays, in blocks whose edges grow with the distance (Barnes and Hut 1986). Dense
//! smoke around glow is seen by the floor as `light/seen_blocks.rs` has it.

use rayon::prelude::*;

use super::extinction::Extinction;
use super::gathered::{Facing, SolidCubes};
use super::glow_blocks::GlowBlocks;
use super::last_flight::LastFlight;
use super::nested_glow::NestedGlow;
use super::ordinates::{MediumCubes, Moments, Outside, Sent, Solver, Sources, Sweeps, Wall};
use super::seen_blocks::{MOST_CELLS, SeenBlocks};
use crate::grid::Dims;
use crate::render::exp::exp;
use crate::render::medium::Medium;
use crate::render::preshaded::Cells;
use crate::snapshot::Part;

/// Largest edge of a block, in distances from its middle.
const OPENING: f32 = 0.6;
/// Distance before a wall at which the light that arrives is read \[cubes\].
const OUTSIDE: f32 = 0.1;
/// Distance from a wall within which solids cast no shadow on it \[cubes\].
const CLEAR: f32 = 2.0;
/// No block.
const NONE: u32 = u32::MAX;

/// Sources within the box, and their light.
#[derive(Debug, Default)]
pub(super) struct Within {
    pub sources: Sources,
    pub glow: GlowBlocks,
    nested: NestedGlow,
    solver: Solver,
    scratch: [Moments; 3],
    /// Their light after the first scattering or reflection.
    collided: Sources,
    /// Radiance that the cubes send.
    sent: [Sent; 3],
    /// Whether any of them sends light.
    pub shines: bool,
    flight: LastFlight,
    blocks: Blocks,
    seen: SeenBlocks,
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
    /// Without the forward peak, for the three colours; the fourth is 0.
    extinction: Extinction<4>,
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
    /// Of walls: mean intensity over all directions, and the sum of each times twice its normal.
    walls: [f32; 3],
    normals: [[f32; 3]; 3],
    /// Of the floor: mean intensity over all directions.
    floor: [f32; 3],
    /// Power by which parts count, and the middle of it \[m\].
    weight: f32,
    place: [f32; 3],
}

/// The floor below each column of cubes.
struct LitFloor {
    albedo: [f32; 3],
    /// Middle \[m\], and irradiance / π of the glow there.
    columns: Vec<([f32; 3], [f32; 3])>,
}

impl Within {
    /// Takes over the smoke that glows, in `cubes`, and solves for the light of thick smoke. `fine` is that of the light volume. The other
    /// sources must be there.
    pub fn take_glow(
        &mut self,
        medium: &Medium,
        cells: &Cells,
        cubes: &MediumCubes,
        part: Option<&Part>,
        (sweeps, fine): (Sweeps, bool),
    ) {
        let Sources { emission, lamps, .. } = &self.sources;
        let lit = lamps.iter().flatten().chain(emission).flatten().any(|&sent| sent != 0.0);
        let Self { glow, nested, .. } = self;
        nested.clear();
        glow.build(medium, cells, cubes, part, |smoke, glowing| {
            if !lit {
                nested.solve(cubes, smoke, glowing, medium, sweeps, fine);
            }
        });
        self.shines = lit || self.glow.shines();
    }

    /// Whether [`Within::factor_at`] is other than 1 anywhere.
    pub fn is_refined(&self) -> bool {
        self.nested.is_there()
    }

    /// Factor on this light, as it is interpolated between cubes, at a place \[m\].
    pub fn factor_at(&self, place: [f32; 3]) -> [f32; 3] {
        self.nested.factor_at(place)
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
        // Lamps alone have even sources.
        self.flight.linear = medium.linear && self.glow.shines();
        self.blocks.levels.clear();
        self.blocks.fill(medium);
        match self.glow.smoke(MOST_CELLS).filter(|_| self.glow.shines()) {
            Some(smoke) => self.seen.fill(medium, smoke),
            None => self.seen = SeenBlocks::default(),
        }
        let floor = floor.map(|albedo| LitFloor::new(albedo, medium, &self.glow, &self.solids));
        self.solver.send(medium, &self.sources, &dark, &mut self.sent);
        let columns = self.build(medium, floor.as_ref());
        let Self { glow, solver, flight, blocks, solids, collided, sent, .. } = self;
        last_flight(flight, medium, sent, &columns, [&mut self.of_smoke, &mut self.of_walls]);
        let wanted = |n: usize| medium.extinction[n] > 0.0 || reads(n);
        let mut of_glow = <[Moments; 3]>::default();
        gather_in_cubes(medium, &mut of_glow, wanted, |place| glow.gather_at(place, None, solids).moments);
        self.of_smoke.iter_mut().zip(&of_glow).for_each(|(all, glow)| all.add(glow));
        for c in 0..3 {
            let mut arrives = self.of_smoke[c].clone();
            arrives.add(&self.of_walls[c]);
            collided.collide(c, &arrives);
            collided.emission[c].clear();
        }
        let arriving = |wall: &Wall| {
            let outside = std::array::from_fn(|a| (wall.place[a] + OUTSIDE * wall.normal[a]) * medium.h);
            let surface = Facing { normal: wall.normal, clear: CLEAR * medium.h };
            let glow = glow.gather_at(outside, Some(surface), solids).on_surface;
            sum(blocks.on_surface(outside, surface, solids), glow)
        };
        let arrives: Vec<[f32; 3]> = medium.walls.par_iter().map(arriving).collect();
        let mut arrives = arrives.into_iter();
        collided.reflect(medium, |_| arrives.next().unwrap_or_default());
        solver.solve(medium, collided, &dark, sweeps, false, &mut self.scratch);
        solver.add_sent(sent);
        let columns = self.build(medium, floor.as_ref());
        let of = [&mut self.of_smoke, &mut self.of_walls];
        last_flight(&mut self.flight, medium, &self.sent, &columns, of);
        self.of_smoke.iter_mut().zip(&of_glow).for_each(|(all, glow)| all.add(glow));
        self.nested.refine(medium, &self.of_smoke, &self.of_walls);
    }

    /// Makes blocks of what the cubes send, and of what a floor reflects of it and of glow: its radiance below each column.
    fn build(&mut self, medium: &MediumCubes, floor: Option<&LitFloor>) -> Vec<[f32; 3]> {
        self.seen.load(medium, &self.sent);
        let needs_blocks = !medium.walls.is_empty() || !self.glow.shines();
        if needs_blocks {
            self.blocks.build(medium, &self.sent, &[]);
        }
        let Some(floor) = floor else { return Vec::new() };
        let columns = floor.sent(|place| self.scattered_on_floor(place));
        if needs_blocks {
            self.blocks.build(medium, &self.sent, &columns);
        }
        columns
    }

    /// Radiance that a white floor sends of light that smoke scatters and solids reflect.
    pub fn scattered_on_floor(&self, place: [f32; 3]) -> [f32; 3] {
        if !self.glow.shines() {
            return self.blocks.on_surface(place, Facing::FLOOR, &self.solids);
        }
        let smoke = self.seen.on_floor(place, &self.solids);
        if self.blocks.levels.is_empty() {
            smoke
        } else {
            sum(smoke, self.blocks.of_walls(place, Facing::FLOOR, &self.solids))
        }
    }

    /// The same of glow that nothing has scattered.
    pub fn glow_on_floor(&self, place: [f32; 3]) -> [f32; 3] {
        self.glow.gather_at(place, Some(Facing::FLOOR), &self.solids).on_surface
    }
}

impl LitFloor {
    fn new(albedo: [f32; 3], medium: &MediumCubes, glow: &GlowBlocks, solids: &SolidCubes) -> Self {
        let (Dims { nx, nz, .. }, h) = (medium.dims, medium.h);
        let column = |n: usize| {
            let place = [(n % nx) as f32 + 0.5, 0.0, (n / nx) as f32 + 0.5].map(|x| x * h);
            (place, glow.gather_at(place, Some(Facing::FLOOR), solids).on_surface)
        };
        Self { albedo, columns: (0..nx * nz).into_par_iter().map(column).collect() }
    }

    /// Radiance of each column, with the light that `arrives` there.
    fn sent(&self, arrives: impl Fn([f32; 3]) -> [f32; 3] + Sync) -> Vec<[f32; 3]> {
        let column = |&(place, glow): &([f32; 3], [f32; 3])| {
            let all = sum(arrives(place), glow);
            std::array::from_fn(|c| self.albedo[c] * all[c])
        };
        self.columns.par_iter().map(column).collect()
    }
}

impl Blocks {
    /// Takes over the smoke that hides blocks.
    fn fill(&mut self, medium: &MediumCubes) {
        self.extinction = Extinction::new(medium.dims, medium.h, |n| match medium.extinction[n] {
            0.0 => [0.0; 4],
            _ => {
                let smoke = 1.0 - medium.solid.get(n).unwrap_or(&0.0);
                let of = |c: usize| smoke * unpeaked(medium, c, n);
                [of(0), of(1), of(2), 0.0]
            }
        });
    }

    /// Takes over what the cubes send. `floor` is the radiance of the floor below each column of them; empty without one.
    fn build(&mut self, medium: &MediumCubes, sent: &[Sent; 3], floor: &[[f32; 3]]) {
        let dims = medium.dims;
        self.h = medium.h;
        let volume = self.h * self.h * self.h;
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
                    let share = unpeaked(medium, c, n) * volume;
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
        for block in self.levels.iter_mut().flat_map(|level| &mut level.blocks) {
            block.place = block.place.map(|x| x / block.weight);
        }
    }

    /// Irradiance / π of a surface at a place \[m\].
    fn on_surface(&self, place: [f32; 3], surface: Facing, solids: &SolidCubes) -> [f32; 3] {
        self.sum_up::<true>(place, surface, solids)
    }

    /// Irradiance / π by what walls reflect alone.
    fn of_walls(&self, place: [f32; 3], surface: Facing, solids: &SolidCubes) -> [f32; 3] {
        self.sum_up::<false>(place, surface, solids)
    }

    fn sum_up<const SMOKE: bool>(&self, place: [f32; 3], surface: Facing, solids: &SolidCubes) -> [f32; 3] {
        let mut all = [0.0; 3];
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
            let way = [place[0] - block.place[0], place[1] - block.place[1], place[2] - block.place[2]];
            let square = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
            if !SMOKE && block.walls == [0.0; 3] {
                continue;
            }
            if level == 0 || edge * edge < OPENING * OPENING * square {
                self.add::<SMOKE>(block, edge, place, surface, solids, &mut all);
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
        all
    }

    /// Adds the light of a block, which hides a part of itself.
    #[inline(always)]
    fn add<const SMOKE: bool>(
        &self,
        block: &Block,
        edge: f32,
        place: [f32; 3],
        Facing { normal, clear }: Facing,
        solids: &SolidCubes,
        all: &mut [f32; 3],
    ) {
        let way = [place[0] - block.place[0], place[1] - block.place[1], place[2] - block.place[2]];
        let square = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
        // A wall may read its light in the very middle of a cube, which then has no direction.
        let distance = square.sqrt().max(1e-9);
        let unit = [way[0] / distance, way[1] / distance, way[2] / distance];
        let cosine = -(normal[0] * unit[0] + normal[1] * unit[1] + normal[2] * unit[2]);
        if cosine <= 0.0 {
            return;
        }
        // Of the block itself light crosses as much again behind its middle as before it.
        let longest = way[0].abs().max(way[1].abs()).max(way[2].abs()).max(1e-9);
        let before = distance * (1.0 - 0.5 * edge / longest).max(0.0);
        let back = [-unit[0], -unit[1], -unit[2]];
        let outside = self.extinction.depth(place, back, [0.0, before], 1.0);
        let inside = self.extinction.depth(place, back, [before, distance], 1.0);
        let hidden = solids.depth(place, back, [clear, before]);
        let (mut passes, mut half) = ([0.0; 4], [0.0; 4]);
        for c in 0..4 {
            passes[c] = exp(-outside[c]);
            half[c] = exp(-inside[c]);
        }
        // A block is no point: close to it, it is seen as large as half the sky.
        let even = cosine * std::f32::consts::FRAC_1_PI / (square + 0.07 * edge * edge) * exp(-hidden);
        for c in 0..3 {
            let leaves = if inside[c] < 5e-4 { 1.0 } else { 0.5 * (1.0 - half[c] * half[c]) / inside[c] };
            let [x, y, z] = block.along[c];
            let sent = block.power[c] + x * unit[0] + y * unit[1] + z * unit[2];
            let floor = 4.0 * block.floor[c] * unit[1].max(0.0) * half[c];
            let arrives = even * passes[c];
            let smoke = if SMOKE { arrives * (leaves * sent.max(0.0) + floor) } else { 0.0 };
            let mut walls = 0.0;
            if block.walls[c] > 0.0 {
                let [x, y, z] = block.normals[c];
                let facing = (x * unit[0] + y * unit[1] + z * unit[2]).max(0.0);
                walls = arrives * (block.walls[c] - 0.5 * (x * x + y * y + z * z).sqrt() + 2.0 * facing);
            }
            all[c] += smoke + walls;
        }
    }
}

/// Extinction of a cube without the forward peak \[1/m\].
fn unpeaked(medium: &MediumCubes, channel: usize, n: usize) -> f32 {
    medium.extinction[n] * medium.unpeaked(channel, n)
}

/// Light that cubes of smoke and walls send, and a floor below them of the radiance of `columns`, as it arrives in all cubes.
fn last_flight(
    flight: &mut LastFlight,
    medium: &MediumCubes,
    sent: &[Sent; 3],
    columns: &[[f32; 3]],
    [of_smoke, of_walls]: [&mut [Moments; 3]; 2],
) {
    let is_wall = |n: usize| medium.solid.get(n).is_some_and(|&solid| solid > 0.5);
    if medium.walls.is_empty() {
        flight.arrive(medium, sent, columns, false, of_smoke);
        for moments in of_walls.iter_mut().flat_map(Moments::all_mut) {
            moments.clear();
            moments.resize(medium.dims.cells(), 0.0);
        }
        return;
    }
    let mut smoke = sent.clone();
    for sent in &mut smoke {
        for n in (0..medium.solid.len()).filter(|&n| is_wall(n)) {
            sent.even[n] = 0.0;
            sent.along.iter_mut().for_each(|along| along[n] = 0.0);
        }
    }
    flight.arrive(medium, &smoke, &[], false, of_smoke);
    // Half of the radiance evenly, and half and more by the direction: all before a wall, none behind it.
    let mut walls = <[Sent; 3]>::default();
    for (c, walls) in walls.iter_mut().enumerate() {
        walls.reset(medium.dims.cells());
        for wall in medium.walls.iter().filter(|wall| wall.cuts && is_wall(wall.cube)) {
            walls.even[wall.cube] = 0.5 * sent[c].even[wall.cube];
            for (along, normal) in walls.along.iter_mut().zip(wall.normal) {
                along[wall.cube] = 1.5 * sent[c].even[wall.cube] * normal;
            }
        }
    }
    flight.arrive(medium, &walls, columns, true, of_walls);
}

/// Sums up φ and J in the cubes that `reads` chooses; all others are dark.
fn gather_in_cubes(
    medium: &MediumCubes,
    out: &mut [Moments; 3],
    reads: impl Fn(usize) -> bool + Sync,
    gather: impl Fn([f32; 3]) -> [[f32; 4]; 3] + Sync,
) {
    let dims = medium.dims;
    let read: Vec<usize> = (0..dims.cells()).filter(|&n| reads(n)).collect();
    let at = |&n: &usize| gather(dims.place(n).map(|i| (i as f32 + 0.5) * medium.h));
    let gathered: Vec<[[f32; 4]; 3]> = read.par_iter().map(at).collect();
    for (c, light) in out.iter_mut().enumerate() {
        for (moment, values) in light.all_mut().into_iter().enumerate() {
            values.clear();
            values.resize(dims.cells(), 0.0);
            read.iter().zip(&gathered).for_each(|(&n, light)| values[n] = light[c][moment]);
        }
    }
}

fn sum(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
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
