//! Light of glowing smoke that nothing has scattered yet.
//!
//! Smoke is mostly densest where it glows, and hides most of its light within a few cells: far less than a cube of the light volume. So
//! what leaves it is found on cells, and summed up in blocks whose edges grow with the distance (Barnes and Hut 1986):
//!
//! - A cell has an intensity in each of 26 directions. It counts the smoke as far as the next cell.
//! - A block of twice the edge has the sum of its eight parts. It counts the smoke twice as far.
//! - A place reads blocks that are small beside their distance. Smoke on the rest of the way hides a part of them.
//!
//! Directions are interpolated between the corner, the edge and the face of a cube that are next to them.

use rayon::prelude::*;

use super::gathered::{Gathered, STEPS, SolidCubes, leaving};
use super::ordinates::MediumCubes;
use crate::grid::Dims;
use crate::render::exp::exp;
use crate::render::medium::Medium;
use crate::render::preshaded::Cells;
use crate::snapshot::Part;

/// Most cells of the finest level; a finer snapshot has means over blocks of its cells instead.
const MOST_CELLS: usize = 1 << 23;
/// Largest edge of a block, in distances from its middle; and for surfaces, on which a jump between blocks would show.
const OPENING: f32 = 0.6;
const OPENING_ON_SURFACE: f32 = 0.4;
/// Distance from a block's middle within which smoke counts in its intensities \[edges\].
const REACH: f32 = 1.0;
/// Cells below this share of the mean power are dark. Together they have less than this share of all power.
const NEGLIGIBLE: f32 = 0.01;
/// Directions to the neighbours of a cell, one of them to the cell itself.
const DIRECTIONS: usize = 27;
/// No block.
const NONE: u32 = u32::MAX;

/// Glowing smoke in blocks of two cells along an edge, of four, and so on.
#[derive(Debug, Default)]
pub(super) struct GlowBlocks {
    cells: CellMeans,
    /// Extinction in cells, in blocks of eight, and so on.
    smoke: Vec<Extinction>,
    /// Blocks of two cells along an edge first.
    levels: Vec<Level>,
    /// Index of the level with blocks as large as the cubes of the light volume, and of the smoke that is as fine.
    of_cubes: usize,
    like_cubes: usize,
}

/// Density and [`Medium::emission`] in the cells of a snapshot, or in blocks of them if these are too many.
#[derive(Debug, Default)]
struct CellMeans {
    /// Cells in a plane, and planes.
    in_plane: usize,
    layers: usize,
    /// Edge of a cell of the snapshot \[m\], and how many of these make one here.
    cell_edge: f32,
    per_edge: usize,
    /// Sums over squares of cells, blurred along x and y, in the planes of the snapshot.
    planes: Vec<[f32; 2]>,
}

/// Mean extinction without the forward peak, of all colours \[1/m\].
#[derive(Debug)]
struct Extinction {
    dims: Dims,
    edge: f32,
    values: Vec<f32>,
}

#[derive(Debug)]
struct Level {
    dims: Dims,
    /// The block of each place, or [`NONE`].
    numbers: Vec<u32>,
    blocks: Vec<Block>,
}

/// Light of a block, for the three colours.
#[derive(Clone, Debug, Default)]
struct Block {
    /// Intensity in each direction \[W/sr\].
    towards: [[f32; 3]; DIRECTIONS],
    /// Middle of what is seen of it from all around \[m\].
    place: [f32; 3],
    /// Mean φ of its light over its own smoke.
    own: [f32; 3],
    /// Extinction of its smoke for each colour, over the mean of them.
    tint: [f32; 3],
}

impl GlowBlocks {
    /// Takes over the cells of a snapshot, or of the part that this rank has, whose smoke is in `cubes`.
    pub fn build(&mut self, medium: &Medium, cells: &Cells, cubes: &MediumCubes, part: Option<&Part>) {
        if medium.glow[0] <= 0.0 {
            *self = Self::default();
            return;
        }
        let dims = self.cells.gather(medium, cells, part);
        let (means, h) = (&self.cells, self.cells.edge());
        let unpeaked = |n: usize| -> [f32; 3] {
            let (at, most) = (dims.place(n), cubes.dims.array());
            let [i, j, k] =
                [0, 1, 2].map(|a| (((at[a] as f32 + 0.5) * h / cubes.h) as usize).min(most[a] - 1));
            let cube = cubes.dims.index(i, j, k);
            std::array::from_fn(|c| cubes.unpeaked(c, cube))
        };
        let scaled = |n: usize| match means.at(n)[0] {
            0.0 => 0.0,
            density => medium.extinction * density * unpeaked(n).iter().sum::<f32>() / 3.0,
        };
        self.smoke.clear();
        let values = (0..dims.cells()).into_par_iter().map(scaled).collect();
        self.smoke.push(Extinction { dims, edge: h, values });
        let glows = |n: usize| Some((n, means.at(n)[1])).filter(|(_, emission)| *emission > 0.0);
        let glowing: Vec<(usize, f32)> = (0..dims.cells()).into_par_iter().filter_map(glows).collect();
        let all: f32 = glowing.iter().map(|(_, emission)| emission).sum();
        let least = NEGLIGIBLE * all / glowing.len().max(1) as f32;
        let glowing: Vec<usize> = glowing.iter().filter(|(_, sent)| *sent > least).map(|(n, _)| *n).collect();
        let cell = |n: usize| {
            let [density, emission] = means.at(glowing[n]);
            let radiance = medium.glowing_emission(emission / density.max(1e-20));
            let smoke = density * medium.extinction * h * h * h;
            let unpeaked = unpeaked(glowing[n]);
            let tint = unpeaked.map(|one| 3.0 * one / unpeaked.iter().sum::<f32>());
            self.cell(glowing[n], radiance.map(|radiance| radiance * smoke), tint)
        };
        let first = self.merge(dims, &glowing, cell);
        self.levels.clear();
        self.levels.push(first);
        while let Some(level) = self.levels.last().filter(|level| level.dims.cells() > 1) {
            let at: Vec<usize> = (0..level.dims.cells()).filter(|&n| level.numbers[n] != NONE).collect();
            let coarse = self.smoke[self.smoke.len() - 1].coarsen();
            self.smoke.push(coarse);
            let next = self.merge(level.dims, &at, |n| level.blocks[level.numbers[at[n]] as usize].clone());
            self.levels.push(next);
        }
        self.of_cubes = (0..self.levels.len()).find(|&n| self.edge(n) > 0.75 * cubes.h).unwrap_or(0);
        self.like_cubes = self.smoke.iter().rposition(|smoke| smoke.edge < 1.1 * cubes.h).unwrap_or(0);
    }

    /// Whether there is any light.
    pub fn shines(&self) -> bool {
        self.levels.first().is_some_and(|level| !level.blocks.is_empty())
    }

    /// Cubes of `edge` cells of the snapshot, with less extinction where smoke is uneven: as even smoke they let as much light through.
    /// `None` if nothing glows.
    pub fn thinned(&self, cubes: &MediumCubes, edge: usize) -> Option<MediumCubes> {
        if !self.shines() {
            return None;
        }
        let smoke = &self.smoke[0];
        let count = (edge as f32 / self.cells.per_edge as f32).round().max(1.0) as usize;
        let mut thinned = cubes.clone();
        thinned.extinction.par_iter_mut().enumerate().for_each(|(n, extinction)| {
            let corner = cubes.dims.place(n).map(|i| i * count);
            let (mut passes, mut sum) = (0.0, 0.0);
            for axis in 0..3 {
                for line in 0..count * count {
                    let mut at = corner;
                    at[(axis + 1) % 3] += line % count;
                    at[(axis + 2) % 3] += line / count;
                    let mut depth = 0.0;
                    for i in 0..count {
                        at[axis] = corner[axis] + i;
                        depth += smoke.at(at) * smoke.edge;
                    }
                    passes += exp(-depth);
                    sum += depth;
                }
            }
            let [passes, depth] = [passes, sum].map(|sum| sum / (3 * count * count) as f32);
            if depth > 0.0 {
                let share = (-passes.max(1e-20).ln() / depth).min(1.0);
                let of_solid = *extinction * cubes.solid.get(n).copied().unwrap_or(0.0);
                *extinction = share * (*extinction - of_solid) + of_solid;
            }
        });
        Some(thinned)
    }

    /// Edge of the blocks of a level \[m\].
    fn edge(&self, level: usize) -> f32 {
        self.cells.edge() * (2 << level) as f32
    }

    /// A cell as a block that sends `power`.
    fn cell(&self, n: usize, power: [f32; 3], tint: [f32; 3]) -> Block {
        let smoke = &self.smoke[0];
        let h = smoke.edge;
        let place = smoke.dims.place(n).map(|i| (i as f32 + 0.5) * h);
        let extinction = smoke.values[n];
        let mut towards = [[0.0; 3]; DIRECTIONS];
        for (direction, towards) in towards.iter_mut().enumerate() {
            let Some(unit) = unit_of(direction) else { continue };
            let across = h / unit.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            let beyond = smoke.depth(place, unit, [0.5 * across, REACH * h]);
            *towards = std::array::from_fn(|c| {
                let own = extinction * tint[c] * across;
                power[c] * leaving(own) * exp(-beyond * tint[c])
            });
        }
        // In its middle as in that of a ball whose radius makes uniform smoke as bright as what it sends.
        let own = std::array::from_fn(|c| {
            let depth = 0.65 * extinction * tint[c] * h;
            power[c] * (0.65 / (h * h)) * leaving(depth)
        });
        Block { towards, place, own, tint }
    }

    /// Blocks of twice the edge. `parts` are the places of the parts in a grid of `dims`, in order.
    fn merge(&self, dims: Dims, parts: &[usize], part: impl Fn(usize) -> Block + Sync) -> Level {
        let [nx, ny, nz] = dims.array().map(|n| n.div_ceil(2));
        let coarse = Dims { nx, ny, nz };
        let mut numbers = vec![NONE; coarse.cells()];
        let mut groups: Vec<[u32; 8]> = Vec::new();
        for (n, &at) in parts.iter().enumerate() {
            let at = dims.place(at);
            let [i, j, k] = at.map(|i| i / 2);
            let number = &mut numbers[coarse.index(i, j, k)];
            if *number == NONE {
                *number = groups.len() as u32;
                groups.push([NONE; 8]);
            }
            groups[*number as usize][at[0] % 2 + 2 * (at[1] % 2) + 4 * (at[2] % 2)] = n as u32;
        }
        let smoke = &self.smoke[self.smoke.len() - 1];
        let of_group = |group: &[u32; 8]| {
            let first = group.iter().find(|&&n| n != NONE).map_or(0, |&n| parts[n as usize]);
            let corner = dims.place(first).map(|i| i / 2 * 2);
            let of_group = group.map(|n| (n != NONE).then(|| part(n as usize)));
            Self::whole(smoke, corner, &of_group)
        };
        Level { dims: coarse, numbers, blocks: groups.par_iter().map(of_group).collect() }
    }

    /// The block of eight parts, some of which are dark; `smoke` is that on the grid of the parts, where the first is at `corner`.
    fn whole(smoke: &Extinction, corner: [usize; 3], parts: &[Option<Block>; 8]) -> Block {
        let edge = smoke.edge;
        let mut all = Block::default();
        let mut weight = 0.0;
        for part in parts.iter().flatten() {
            let mut seen = 1e-30;
            for (direction, (all, part_sends)) in all.towards.iter_mut().zip(&part.towards).enumerate() {
                let Some(unit) = unit_of(direction) else { continue };
                let depth = smoke.depth(part.place, unit, [REACH * edge, 2.0 * REACH * edge]);
                for c in 0..3 {
                    let leaves = part_sends[c] * exp(-depth * part.tint[c]);
                    all[c] += leaves;
                    seen += leaves;
                }
            }
            weight += seen;
            (0..3).for_each(|a| all.place[a] += seen * part.place[a]);
            (0..3).for_each(|c| all.tint[c] += seen * part.tint[c]);
        }
        [all.place, all.tint] = [all.place, all.tint].map(|of| of.map(|x| x / weight.max(1e-30)));
        let mut weight = 0.0;
        for (n, own) in parts.iter().enumerate() {
            let at: [usize; 3] = std::array::from_fn(|a| corner[a] + (n >> a & 1));
            let extinction = smoke.at(at);
            if extinction <= 0.0 {
                continue;
            }
            weight += extinction;
            let middle = at.map(|i| (i as f32 + 0.5) * edge);
            let mut arrives = own.as_ref().map_or([0.0; 3], |part| part.own);
            for other in
                parts.iter().enumerate().filter(|(m, _)| *m != n).filter_map(|(_, part)| part.as_ref())
            {
                let (unit, square) = way(other.place, middle);
                let area = 4.0 * std::f32::consts::PI * (square + 0.07 * edge * edge);
                let sent = other.in_direction(unit);
                (0..3).for_each(|c| arrives[c] += sent[c] / area);
            }
            (0..3).for_each(|c| all.own[c] += extinction * arrives[c]);
        }
        all.own = all.own.map(|x| x / weight.max(1e-30));
        all
    }

    /// Light at a place \[m\], on a surface with a normal if one is given.
    pub fn gather_at(
        &self,
        place: [f32; 3],
        normal: Option<[f32; 3]>,
        solids: &SolidCubes,
        all: &mut Gathered,
    ) {
        if !self.shines() {
            return;
        }
        let (opening, finest) = match normal {
            Some(_) => (OPENING_ON_SURFACE, self.of_cubes.saturating_sub(1)),
            None => (OPENING, self.of_cubes),
        };
        let mut open = vec![(self.levels.len() - 1, [0_usize; 3])];
        while let Some((level, at)) = open.pop() {
            let Level { dims, numbers, blocks } = &self.levels[level];
            let number = numbers[dims.index(at[0], at[1], at[2])];
            if number == NONE {
                continue;
            }
            let (edge, block) = (self.edge(level), &blocks[number as usize]);
            let (unit, square) = way(block.place, place);
            if level > finest && edge * edge >= opening * opening * square {
                let fine = self.levels[level - 1].dims.array();
                for n in 0..8 {
                    let child: [usize; 3] = std::array::from_fn(|a| 2 * at[a] + (n >> a & 1));
                    if (0..3).all(|a| child[a] < fine[a]) {
                        open.push((level - 1, child));
                    }
                }
                continue;
            }
            let inside = (0..3).all(|a| (place[a] / edge) as usize == at[a]);
            if normal.is_none() && inside {
                (0..3).for_each(|c| all.of_smoke[c][0] += block.own[c]);
                continue;
            }
            let cosine = normal.map_or(1.0, |n| -(0..3).map(|a| n[a] * unit[a]).sum::<f32>());
            if cosine <= 0.0 {
                continue;
            }
            let depth = self.smoke[self.like_cubes].depth(block.place, unit, [REACH * edge, square.sqrt()]);
            let hidden = solids.depth(place, block.place);
            let sent = block.in_direction(unit);
            // A block that has no finer ones may be close by: it is seen as large as half the sky.
            let near = if level == finest { 0.07 * edge * edge } else { 0.0 };
            let area = 4.0 * std::f32::consts::PI * (square + near);
            for c in 0..3 {
                let arrives = sent[c] * exp(-depth * block.tint[c] - hidden) / area;
                all.add(c, [arrives, 0.0], unit, cosine);
            }
        }
    }
}

impl CellMeans {
    /// Edge of a cell \[m\].
    fn edge(&self) -> f32 {
        self.cell_edge * self.per_edge as f32
    }

    /// Takes over the cells of a snapshot, or of the part that this rank has. Returns their number along each axis.
    fn gather(&mut self, medium: &Medium, cells: &Cells, part: Option<&Part>) -> Dims {
        let size = cells.dims_of_box();
        let coarser = |edge: usize| {
            let [nx, ny, nz] = size.array().map(|n| n.div_ceil(edge));
            Dims { nx, ny, nz }
        };
        let edge = (1..).find(|&edge| coarser(edge).cells() <= MOST_CELLS).unwrap_or(1);
        let dims = coarser(edge);
        let (nx, in_plane) = (dims.nx, dims.nx * dims.ny);
        (self.in_plane, self.layers) = (in_plane, dims.nz);
        (self.cell_edge, self.per_edge) = (cells.edge(), edge);
        self.planes.clear();
        self.planes.resize(in_plane * size.nz, [0.0; 2]);
        self.planes.par_chunks_mut(in_plane).enumerate().for_each(|(k, plane)| {
            cells.rows(k, |start, j, row| {
                let out = &mut plane[j / edge * nx..][..nx];
                for (i, cell) in row.iter().enumerate() {
                    let cell = cell.map(f32::from);
                    let density = cell[0].max(0.0) + cell[1].max(0.0) + cell[2].max(0.0);
                    let sum = &mut out[(start + i) / edge];
                    sum[0] += density;
                    if cell[3] > 0.0 && density > 0.0 {
                        sum[1] += medium.emission(cell);
                    }
                }
            });
        });
        if let Some(part) = part {
            part.gather(&mut self.planes, |k| k * in_plane);
        }
        self.planes.par_chunks_mut(in_plane).for_each_init(Vec::new, |before, plane| {
            if plane.iter().any(|&[density, _]| density > 0.0) {
                blur_plane(plane, nx, before);
            }
        });
        dims
    }

    /// Density and emission of a cell.
    fn at(&self, n: usize) -> [f32; 2] {
        let (layer, at) = (n / self.in_plane, n % self.in_plane);
        let (edge, count) = (self.per_edge, self.planes.len() / self.in_plane);
        let share = 1.0 / (edge * edge * edge) as f32;
        let mean = |layer: usize| {
            let mut sum = [0.0; 2];
            for k in layer * edge..((layer + 1) * edge).min(count) {
                let [density, emission] = self.planes[k * self.in_plane + at];
                sum = [sum[0] + share * density, sum[1] + share * emission];
            }
            sum
        };
        blurred([layer.saturating_sub(1), layer, (layer + 1).min(self.layers - 1)].map(mean))
    }
}

/// Interpolated value of a cell between two others, by half of the blur that the mean over a cell has: splines read sharpened smoke.
fn blurred([a, b, c]: [[f32; 2]; 3]) -> [f32; 2] {
    std::array::from_fn(|n| 0.0625 * (a[n] + c[n]) + 0.875 * b[n])
}

/// Blurs a plane along both axes; beyond its edges it goes on evenly.
fn blur_plane(plane: &mut [[f32; 2]], nx: usize, before: &mut Vec<[f32; 2]>) {
    for row in plane.chunks_exact_mut(nx) {
        let mut last = row[0];
        for i in 0..nx {
            let next = row[(i + 1).min(nx - 1)];
            (last, row[i]) = (row[i], blurred([last, row[i], next]));
        }
    }
    before.clear();
    before.extend_from_slice(plane);
    let ny = plane.len() / nx;
    for (j, row) in plane.chunks_exact_mut(nx).enumerate() {
        let [low, middle, high] =
            [j.saturating_sub(1), j, (j + 1).min(ny - 1)].map(|j| &before[j * nx..][..nx]);
        for (i, value) in row.iter_mut().enumerate() {
            *value = blurred([low[i], middle[i], high[i]]);
        }
    }
}

impl Extinction {
    fn coarsen(&self) -> Self {
        let fine = self.dims;
        let [nx, ny, nz] = fine.array().map(|n| n.div_ceil(2));
        let dims = Dims { nx, ny, nz };
        let mean = |n: usize| {
            let at = dims.place(n);
            let parts = (0..8).map(|n| self.at(std::array::from_fn(|a| 2 * at[a] + (n >> a & 1))));
            0.125 * parts.sum::<f32>()
        };
        Self { dims, edge: 2.0 * self.edge, values: (0..dims.cells()).into_par_iter().map(mean).collect() }
    }

    /// The value of a cell, 0 outside.
    fn at(&self, [i, j, k]: [usize; 3]) -> f32 {
        let Dims { nx, ny, nz } = self.dims;
        if i < nx && j < ny && k < nz { self.values[self.dims.index(i, j, k)] } else { 0.0 }
    }

    /// Optical depth along a direction between two distances from a place \[m\].
    fn depth(&self, place: [f32; 3], unit: [f32; 3], [from, to]: [f32; 2]) -> f32 {
        if to <= from {
            return 0.0;
        }
        // More than one in a cell: in the middle of a step of one edge a ray from the middle of a cell passes between two.
        let steps = (1.5 * (to - from) / self.edge).ceil().clamp(1.0, STEPS);
        let step = (to - from) / steps;
        let mut sum = 0.0;
        for n in 0..steps as usize {
            let t = from + (n as f32 + 0.5) * step;
            let at: [f32; 3] = std::array::from_fn(|a| (place[a] + t * unit[a]) / self.edge);
            if at.iter().all(|&x| x >= 0.0) {
                sum += self.at(at.map(|x| x as usize));
            }
        }
        sum * step
    }
}

impl Block {
    /// Intensity in a direction.
    fn in_direction(&self, unit: [f32; 3]) -> [f32; 3] {
        let mut axes = [0, 1, 2];
        axes.sort_by(|&a, &b| unit[b].abs().total_cmp(&unit[a].abs()));
        let [most, middle, least] = axes.map(|a| unit[a].abs());
        // The direction as a sum of a face's, an edge's and a corner's, each of length 1.
        let weights = [most - middle, (middle - least) * std::f32::consts::SQRT_2, least * 3.0_f32.sqrt()];
        let sum: f32 = weights.iter().sum();
        let (mut direction, mut sent) = (DIRECTIONS / 2, [0.0; 3]);
        for (a, weight) in axes.into_iter().zip(weights) {
            let stride = [1, 3, 9][a];
            direction = if unit[a] < 0.0 { direction - stride } else { direction + stride };
            (0..3).for_each(|c| sent[c] += weight / sum * self.towards[direction][c]);
        }
        sent
    }
}

/// The direction from one place to another, and the square of the distance.
fn way(from: [f32; 3], to: [f32; 3]) -> ([f32; 3], f32) {
    let way: [f32; 3] = std::array::from_fn(|a| to[a] - from[a]);
    let square = way.iter().map(|x| x * x).sum::<f32>();
    let length = square.sqrt().max(1e-9);
    (way.map(|x| x / length), square)
}

/// Unit vector of a direction; `None` for that to the cell itself.
fn unit_of(direction: usize) -> Option<[f32; 3]> {
    let step = [direction % 3, direction / 3 % 3, direction / 9].map(|n| n as f32 - 1.0);
    let length = step.iter().map(|x| x * x).sum::<f32>().sqrt();
    (length > 0.0).then(|| step.map(|x| x / length))
}
