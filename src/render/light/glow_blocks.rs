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

use super::extinction::Extinction;
use super::gathered::{Facing, Gathered, SolidCubes};
use super::intensities::{
    DIRECTIONS, ITSELF, SLOTS, Slots, UNITS, axes_of, fade, in_direction, leaving, unit_of,
};
use super::nested_glow::{Glowing, emitted};
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
/// Steps for each edge of a cell or block: with one, a ray from the middle of a cell would pass between two.
const FINENESS: f32 = 1.5;
/// Least square of the distance from a block to a surface \[square edges\]. It gives the irradiance of a cube that touches the surface.
const CLOSEST: f32 = 0.43;
/// Mean square optical depth of a block above which moving pictures narrow its sending or reading [places](Places) towards the middle: light
/// interpolated linearly between thick cubes is already too bright at their sides.
const THICK_SENDERS: f32 = 0.67;
const THICK_READERS: f32 = 0.125;
/// No block.
const NONE: u32 = u32::MAX;

/// Glowing smoke in blocks of two cells along an edge, of four, and so on.
#[derive(Debug, Default)]
pub(super) struct GlowBlocks {
    cells: CellMeans,
    /// Extinction without the forward peak in cells, mean of all colours, then in blocks of eight, and so on.
    smoke: Vec<Extinction<1>>,
    /// Blocks of two cells along an edge first.
    levels: Vec<Level>,
    /// Index of the level with blocks as large as the cubes of the light volume, and of the smoke that is as fine.
    of_cubes: usize,
    like_cubes: usize,
    /// Mean square along each axis of the places in a block of level `of_cubes` for which light is read \[m²\]; 0 where each cell is read
    /// by itself, as in files.
    reading: f32,
}

/// Density and [`Medium::emission`] in the cells of a snapshot, or in blocks of them if these are too many.
#[derive(Debug, Default)]
struct CellMeans {
    /// Cells in a row, in a plane, and planes.
    nx: usize,
    in_plane: usize,
    layers: usize,
    /// Edge of a cell of the snapshot \[m\], and how many of these make one here.
    cell_edge: f32,
    per_edge: usize,
    /// Sums over squares of cells, blurred along x and y, in the planes of the snapshot.
    planes: Vec<[f32; 2]>,
}

#[derive(Debug)]
struct Level {
    dims: Dims,
    /// The block of each place, or [`NONE`].
    numbers: Vec<u32>,
    blocks: Vec<Block>,
}

/// A cell that glows: the power that it sends for each colour \[W/sr\], and [`Block::tint`].
struct GlowingCell {
    at: [usize; 3],
    power: [f32; 3],
    tint: [f32; 3],
}

/// Light of a block, for the three colours.
#[derive(Clone, Debug, Default)]
struct Block {
    /// Intensity in each direction \[W/sr\].
    towards: [Slots; 3],
    /// Middle of what is seen of it from all around \[m\].
    place: [f32; 3],
    /// Mean φ of its light over its own smoke, and in each of the cells of a block of two along an edge.
    own: [f32; 3],
    own_of_cells: [[f32; 3]; 8],
    /// Extinction of its smoke for each colour, over the mean of them.
    tint: [f32; 3],
}

impl GlowBlocks {
    /// Takes over the cells of a snapshot, or of the part that this rank has, whose smoke is in `cubes`.
    /// `solve` gets the extinction of cells, without the forward peak and mean of all colours, and those that glow.
    pub fn build(
        &mut self,
        medium: &Medium,
        cells: &Cells,
        cubes: &MediumCubes,
        part: Option<&Part>,
        solve: impl FnOnce(&Extinction<1>, &[Glowing]),
    ) {
        if medium.glow[0] <= 0.0 {
            *self = Self::default();
            return;
        }
        let dims = self.cells.gather(medium, cells, part);
        let (means, h) = (&self.cells, self.cells.edge());
        let (size, most) = (dims.array(), cubes.dims.array());
        let [cube_x, cube_y, cube_z]: [Vec<usize>; 3] = std::array::from_fn(|a| {
            let cube = |i: usize| (((i as f32 + 0.5) * h / cubes.h) as usize).min(most[a] - 1);
            (0..size[a]).map(cube).collect()
        });
        let unpeaked = |cube: usize| -> [f32; 3] { std::array::from_fn(|c| cubes.unpeaked(c, cube)) };
        let in_cubes: Vec<f32> = (0..cubes.dims.cells())
            .map(|cube| medium.extinction * unpeaked(cube).iter().sum::<f32>() / 3.0)
            .collect();
        self.smoke.clear();
        self.smoke.push(Extinction::by_rows(dims, h, |[j, k], row| {
            let in_cubes = &in_cubes[cubes.dims.index(0, cube_y[j], cube_z[k])..];
            means.for_row([j, k], |i, density, _| row[i] = [density * in_cubes[cube_x[i]]]);
        }));
        let in_plane = |k: usize| {
            let mut glowing = Vec::new();
            for j in 0..dims.ny {
                means.for_row([j, k], |i, density, emission| {
                    if emission > 0.0 {
                        glowing.push(([i, j, k], [density, emission]));
                    }
                });
            }
            glowing
        };
        let glowing: Vec<_> = (0..dims.nz).into_par_iter().flat_map_iter(in_plane).collect();
        let all: f32 = glowing.iter().map(|(_, [_, emission])| emission).sum();
        let least = NEGLIGIBLE * all / glowing.len().max(1) as f32;
        solve(&self.smoke[0], &glowing);
        let cell = |&(at, cell): &Glowing| {
            let unpeaked = unpeaked(cubes.dims.index(cube_x[at[0]], cube_y[at[1]], cube_z[at[2]]));
            let tint = unpeaked.map(|one| 3.0 * one / unpeaked.iter().sum::<f32>());
            GlowingCell { at, power: emitted(medium, cell).map(|emitted| emitted * h * h * h), tint }
        };
        let glowing = glowing.par_iter().filter(|(_, [_, emission])| *emission > least);
        let glowing: Vec<GlowingCell> = glowing.map(cell).collect();
        let smoke = &self.smoke[0];
        let at = glowing.iter().map(|cell| dims.index(cell.at[0], cell.at[1], cell.at[2]));
        let first = merge(dims, at, |parts| of_cells(smoke, parts, &glowing));
        self.levels.clear();
        self.levels.push(first);
        while let Some(level) = self.levels.last().filter(|level| level.dims.cells() > 1) {
            let coarse = coarsen(&self.smoke[self.smoke.len() - 1]);
            self.smoke.push(coarse);
            let smoke = &self.smoke[self.smoke.len() - 1];
            let at: Vec<usize> = (0..level.dims.cells()).filter(|&n| level.numbers[n] != NONE).collect();
            let next = merge(level.dims, at.iter().copied(), |parts| {
                let part = |n: u32| &level.blocks[level.numbers[at[n as usize]] as usize];
                let first = parts.iter().find(|&&n| n != NONE).map_or(0, |&n| at[n as usize]);
                let corner = level.dims.place(first).map(|i| i / 2 * 2);
                whole(smoke, corner, &parts.map(|n| (n != NONE).then(|| part(n))))
            });
            self.levels.push(next);
        }
        self.of_cubes = (0..self.levels.len()).find(|&n| self.edge(n) > 0.75 * cubes.h).unwrap_or(0);
        let (edge, cell) = (self.edge(self.of_cubes), self.cells.edge());
        self.reading = if edge > 1.5 * cubes.h { 0.0 } else { (edge * edge - cell * cell) / 12.0 };
        self.like_cubes = self.smoke.iter().rposition(|smoke| smoke.edge < 1.1 * cubes.h).unwrap_or(0);
    }

    /// The smoke on the finest grid of at most so many cells, without the forward peak, mean of all colours.
    pub fn smoke(&self, most: usize) -> Option<&Extinction<1>> {
        self.smoke.iter().find(|smoke| smoke.dims.cells() <= most)
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
        let filled =
            thinned.extinction.par_iter_mut().enumerate().filter(|(_, extinction)| **extinction > 0.0);
        filled.for_each(|(n, extinction)| {
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
                        depth += smoke.at(at)[0] * smoke.edge;
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

    /// The smoke in blocks of a level.
    fn smoke_of(&self, level: usize) -> &Extinction<1> {
        &self.smoke[(level + 1).min(self.smoke.len() - 1)]
    }

    /// Light at a place \[m\], on a surface if one is given.
    pub fn gather_at(&self, place: [f32; 3], surface: Option<Facing>, solids: &SolidCubes) -> Gathered {
        let mut all = Gathered::default();
        if !self.shines() {
            return all;
        }
        let (opening, finest) = match surface {
            Some(_) => (OPENING_ON_SURFACE, self.of_cubes.saturating_sub(1)),
            None => (OPENING, self.of_cubes),
        };
        let smoke = self.smoke_of(self.of_cubes);
        let [extinction] = smoke.at(place.map(|x| (x / smoke.edge).max(0.0) as usize));
        let reads = Places { square: self.reading, extinction }.narrowed_above(THICK_READERS);
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
            if surface.is_none() && inside {
                let own = if level == 0 && self.reading == 0.0 {
                    let cell = |a: usize| usize::from(place[a] / edge - at[a] as f32 >= 0.5) << a;
                    &block.own_of_cells[cell(0) + cell(1) + cell(2)]
                } else {
                    &block.own
                };
                (0..3).for_each(|c| all.moments[c][0] += own[c]);
                continue;
            }
            let cosine =
                surface.map_or(1.0, |surface| -(0..3).map(|a| surface.normal[a] * unit[a]).sum::<f32>());
            if cosine <= 0.0 {
                continue;
            }
            let ends = [REACH * edge, square.sqrt()];
            let [depth] = self.smoke[self.like_cubes].depth(block.place, unit, ends, FINENESS);
            let clear = surface.map_or(0.0, |surface| surface.clear);
            let hidden = solids.depth(block.place, unit, [0.0, ends[1] - clear]);
            let sent = in_direction(&block.towards, unit);
            let [extinction] = self.smoke_of(level).at(at);
            let [of_mean, of_flux] = match surface {
                Some(_) => [square * closeness(square, edge, edge * extinction); 2],
                None => {
                    let sends = Places::of_cube(edge, extinction);
                    spread(
                        edge,
                        if reads.square > 0.0 { sends.narrowed_above(THICK_SENDERS) } else { sends },
                        reads,
                        square,
                    )
                }
            };
            let area = 4.0 * std::f32::consts::PI * square.max(1e-18);
            for c in 0..3 {
                let arrives = sent[c] * exp(-depth * block.tint[c] - hidden) / area;
                all.add(c, [arrives * of_mean, arrives * of_flux], unit, cosine);
            }
        }
        all
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
        (self.nx, self.in_plane, self.layers) = (nx, in_plane, dims.nz);
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

    /// Calls `take` for the cells of a row that hold smoke, with its number, density and emission.
    fn for_row(&self, [j, k]: [usize; 2], mut take: impl FnMut(usize, f32, f32)) {
        let (edge, count, nx) = (self.per_edge, self.planes.len() / self.in_plane, self.nx);
        let share = 1.0 / (edge * edge * edge) as f32;
        let of_layer = |layer: usize| layer * edge..((layer + 1) * edge).min(count);
        let near = [k.saturating_sub(1), k, (k + 1).min(self.layers - 1)].map(of_layer);
        let row = |plane: usize| &self.planes[plane * self.in_plane + j * nx..][..nx];
        if edge == 1 {
            let [low, middle, high] = near.map(|layer| row(layer.start));
            for i in 0..nx {
                let [density, emission] = blurred([low[i], middle[i], high[i]]);
                if density > 0.0 {
                    take(i, density, emission);
                }
            }
            return;
        }
        for i in 0..nx {
            let mean = |layer: &std::ops::Range<usize>| {
                let mut sum = [0.0; 2];
                for plane in layer.clone() {
                    let [density, emission] = row(plane)[i];
                    sum = [sum[0] + share * density, sum[1] + share * emission];
                }
                sum
            };
            let [density, emission] = blurred(near.each_ref().map(mean));
            if density > 0.0 {
                take(i, density, emission);
            }
        }
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

/// Blocks of twice the edge in a grid of `dims`, of parts at the places `parts` in it. `whole` gets the numbers of the parts of each.
fn merge(
    dims: Dims,
    parts: impl Iterator<Item = usize>,
    whole: impl Fn(&[u32; 8]) -> Block + Sync + Send,
) -> Level {
    let [nx, ny, nz] = dims.array().map(|n| n.div_ceil(2));
    let coarse = Dims { nx, ny, nz };
    let mut numbers = vec![NONE; coarse.cells()];
    let mut groups: Vec<[u32; 8]> = Vec::new();
    for (n, at) in parts.enumerate() {
        let at = dims.place(at);
        let [i, j, k] = at.map(|i| i / 2);
        let number = &mut numbers[coarse.index(i, j, k)];
        if *number == NONE {
            *number = groups.len() as u32;
            groups.push([NONE; 8]);
        }
        groups[*number as usize][at[0] % 2 + 2 * (at[1] % 2) + 4 * (at[2] % 2)] = n as u32;
    }
    Level { dims: coarse, numbers, blocks: groups.par_iter().map(whole).collect() }
}

/// Light of a cell.
#[derive(Default)]
struct SentByCell {
    /// As [`Block::towards`] and [`Block::own`].
    towards: [Slots; 3],
    own: [f32; 3],
    /// Optical depth of smoke from there on, to twice the distance.
    further: Slots,
}

fn sent_by_cell(smoke: &Extinction<1>, cell: &GlowingCell) -> SentByCell {
    let (h, mut sent) = (smoke.edge, SentByCell::default());
    let [extinction] = smoke.at(cell.at);
    let around = smoke.around(cell.at);
    let mut next = [0.0; SLOTS];
    for direction in (0..DIRECTIONS).filter(|&direction| direction != ITSELF) {
        let unit = UNITS[axes_of(direction) - 1];
        next[direction] = around[direction] * (REACH * h - 0.5 * h / unit);
        sent.further[direction] = around[direction] * REACH * h;
    }
    // Along an axis the second half of the way leads through the cell after the next.
    for (axis, stride) in [1, 3, 9].into_iter().enumerate() {
        let both = [ITSELF - stride, ITSELF + stride];
        for (direction, after) in both.into_iter().zip(smoke.second_along(cell.at, axis)) {
            sent.further[direction] = 0.5 * REACH * h * (around[direction] + after);
        }
    }
    for c in 0..3 {
        let leaves = UNITS.map(|unit| cell.power[c] * leaving(extinction * cell.tint[c] * h / unit));
        for direction in (0..DIRECTIONS).filter(|&direction| direction != ITSELF) {
            sent.towards[c][direction] = leaves[axes_of(direction) - 1];
        }
        // In its middle as in that of a ball whose radius makes uniform smoke as bright as what it sends.
        let depth = 0.6 * extinction * cell.tint[c] * h;
        sent.own[c] = cell.power[c] * (0.6 / (h * h)) * leaving(depth);
    }
    fade(&mut sent.towards, &next, &cell.tint);
    sent
}

/// A block of eight cells, some of which are dark; `parts` are their numbers in `glowing`.
fn of_cells(smoke: &Extinction<1>, parts: &[u32; 8], glowing: &[GlowingCell]) -> Block {
    let h = smoke.edge;
    let mut all = Block::default();
    let mut weight = 0.0;
    let mut sent: [SentByCell; 8] = Default::default();
    let mut corner = [0; 3];
    for (n, &part) in parts.iter().enumerate().filter(|(_, part)| **part != NONE) {
        let cell = &glowing[part as usize];
        corner = cell.at.map(|i| i / 2 * 2);
        sent[n] = sent_by_cell(smoke, cell);
        let mut leaves = sent[n].towards;
        fade(&mut leaves, &sent[n].further, &cell.tint);
        weight += all.add(&leaves, cell.at.map(|i| (i as f32 + 0.5) * h), cell.tint);
    }
    all.end_sums(weight);
    let mut weight = 0.0;
    for (n, own) in sent.iter().map(|sent| sent.own).enumerate() {
        let offset = |n: usize, a: usize| n >> a & 1;
        let [extinction] = smoke.at(std::array::from_fn(|a| corner[a] + offset(n, a)));
        let mut arrives = own;
        for (m, sent) in sent.iter().enumerate().filter(|(m, _)| *m != n && parts[*m] != NONE) {
            let (mut direction, mut axes) = (ITSELF, 0);
            for (a, stride) in [1, 3, 9].into_iter().enumerate() {
                direction = direction + stride * offset(n, a) - stride * offset(m, a);
                axes += offset(n, a) ^ offset(m, a);
            }
            let square = axes as f32 * h * h;
            let [more, _] = spread(h, Places::of_cube(h, extinction), Places::MIDDLE, square);
            let area = 4.0 * std::f32::consts::PI * square;
            (0..3).for_each(|c| arrives[c] += more * sent.towards[c][direction] / area);
        }
        all.own_of_cells[n] = arrives;
        weight += extinction;
        (0..3).for_each(|c| all.own[c] += extinction * arrives[c]);
    }
    all.own = all.own.map(|x| x / weight.max(1e-30));
    all
}

/// The block of eight parts, some of which are dark; `smoke` is that on the grid of the parts, where the first is at `corner`.
fn whole(smoke: &Extinction<1>, corner: [usize; 3], parts: &[Option<&Block>; 8]) -> Block {
    let edge = smoke.edge;
    let mut all = Block::default();
    let mut weight = 0.0;
    for part in parts.iter().flatten() {
        let mut depth = [0.0; SLOTS];
        for (direction, depth) in depth.iter_mut().enumerate().take(DIRECTIONS) {
            if direction != ITSELF {
                let unit = unit_of(direction);
                [*depth] = smoke.depth(part.place, unit, [REACH * edge, 2.0 * REACH * edge], FINENESS);
            }
        }
        let mut leaves = part.towards;
        fade(&mut leaves, &depth, &part.tint);
        weight += all.add(&leaves, part.place, part.tint);
    }
    all.end_sums(weight);
    let mut weight = 0.0;
    for (n, own) in parts.iter().enumerate() {
        let at: [usize; 3] = std::array::from_fn(|a| corner[a] + (n >> a & 1));
        let [extinction] = smoke.at(at);
        if extinction <= 0.0 {
            continue;
        }
        weight += extinction;
        let middle = at.map(|i| (i as f32 + 0.5) * edge);
        let mut arrives = own.map_or([0.0; 3], |part| part.own);
        for (_, other) in parts.iter().enumerate().filter(|(m, _)| *m != n) {
            let Some(other) = other else { continue };
            let (unit, square) = way(other.place, middle);
            let both = Places::of_cube(edge, extinction).narrowed_above(THICK_SENDERS);
            let [more, _] = spread(edge, both, both, square);
            let area = 4.0 * std::f32::consts::PI * square.max(1e-18);
            let sent = in_direction(&other.towards, unit);
            (0..3).for_each(|c| arrives[c] += more * sent[c] / area);
        }
        (0..3).for_each(|c| all.own[c] += extinction * arrives[c]);
    }
    all.own = all.own.map(|x| x / weight.max(1e-30));
    all
}

/// Cubes of twice the edge.
fn coarsen(fine: &Extinction<1>) -> Extinction<1> {
    let [nx, ny, nz] = fine.dims.array().map(|n| n.div_ceil(2));
    let dims = Dims { nx, ny, nz };
    Extinction::new(dims, 2.0 * fine.edge, |n| {
        let at = dims.place(n);
        let parts = (0..8).map(|n| fine.at(std::array::from_fn(|a| 2 * at[a] + (n >> a & 1)))[0]);
        [0.125 * parts.sum::<f32>()]
    })
}

impl Block {
    /// Adds the light that leaves a part, and returns its weight. Place and tint are sums until [`Block::end_sums`].
    fn add(&mut self, leaves: &[Slots; 3], place: [f32; 3], tint: [f32; 3]) -> f32 {
        let mut seen = 1e-30;
        for (all, leaves) in self.towards.iter_mut().zip(leaves) {
            for n in 0..SLOTS {
                all[n] += leaves[n];
            }
            seen += leaves.iter().sum::<f32>();
        }
        (0..3).for_each(|a| self.place[a] += seen * place[a]);
        (0..3).for_each(|c| self.tint[c] += seen * tint[c]);
        seen
    }

    fn end_sums(&mut self, weight: f32) {
        [self.place, self.tint] = [self.place, self.tint].map(|of| of.map(|x| x / weight.max(1e-30)));
    }
}

/// Places in a block of smoke that send or read light.
#[derive(Clone, Copy, Debug)]
struct Places {
    /// Mean square of their distance from the middle along each axis \[m²\].
    square: f32,
    /// \[1/m\]
    extinction: f32,
}

impl Places {
    const MIDDLE: Self = Self { square: 0.0, extinction: 0.0 };

    /// Places all over a cube with an edge \[m\].
    fn of_cube(edge: f32, extinction: f32) -> Self {
        Self { square: edge * edge / 12.0, extinction }
    }

    /// Mean square of the optical depth between the places along an axis.
    fn square_depth(self) -> f32 {
        self.square * self.extinction * self.extinction
    }

    /// The same, closer to the middle where the square of the depth is above a limit.
    fn narrowed_above(self, limit: f32) -> Self {
        Self { square: self.square / (1.0 + (self.square_depth() / limit).powi(2)), ..self }
    }
}

/// 1 / r² for a surface that sees a cube of even smoke with an edge \[m\] and an optical depth. `square` is the square of the distance from its
/// middle. Thick smoke shines from its near side, so r ends at half the way from the middle to the mean place that the light leaves.
fn closeness(square: f32, edge: f32, depth: f32) -> f32 {
    // The mean way within the smoke of light that leaves it at a flat side.
    let deep =
        if depth < 0.1 { 0.5 - depth / 12.0 } else { 1.0 / depth - 1.0 / (exp(depth.min(60.0)) - 1.0) };
    let distance = square.sqrt() - 0.5 * edge * (0.5 - deep);
    1.0 / (distance.max(0.0) * distance).max(CLOSEST * edge * edge)
}

/// Factors on φ and J of light from the middle of a cube with an edge \[m\], as means over the places that send and that read. `square` is the
/// square of the distance. With a mean square v along each axis, the mean of e^(−σr) / r² is 1 + v σ² / 2 + v (σ / r + 1 / r²) times that
/// between the middles, the flux 1 + v σ² / 2 + v σ / r. The light that leaves a block counts v σ² / 2 of its senders already.
fn spread(edge: f32, sends: Places, reads: Places, square: f32) -> [f32; 2] {
    let square = square.max(0.5 * edge * edge);
    let counted = 1.0 + 0.5 * sends.square_depth();
    let along = (sends.square * sends.extinction + reads.square * reads.extinction) / square.sqrt();
    let flux = 1.0 + along / counted + (0.5 * reads.square_depth()).min(0.3);
    [flux + (sends.square + reads.square) / (square * counted), flux]
}

/// The direction from one place to another, and the square of the distance.
fn way(from: [f32; 3], to: [f32; 3]) -> ([f32; 3], f32) {
    let way: [f32; 3] = std::array::from_fn(|a| to[a] - from[a]);
    let square = way.iter().map(|x| x * x).sum::<f32>();
    let length = square.sqrt().max(1e-9);
    (way.map(|x| x / length), square)
}
