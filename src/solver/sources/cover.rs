//! Share of each cell that a region covers, computed once and stored as one run of weights for each row.
//!
//! Cells at the surface are divided into smaller cubes. The share of a cube follows from the distance of its
//! centre from the surface, or, for forms with flat sides, from its overlap with the form. If a plate lies
//! along planes of cubes, their centres miss a part of it or count it twice. So the shares of partly covered
//! cells are scaled: the sum over all cells is then the volume of a form within the box, in any position and
//! rotation.
//!
//! The weight of a face is the share of the cube around it. The face on a wall is not free, so what a region
//! thinner than a cell covers there would be lost. Therefore the cell beside a wall is divided between the
//! wall and the first free face in proportion to the distance, as an impulse is divided between a wall and
//! the air before it. The moment about the wall is then that of the region. The face has this weight or its
//! cube's, whichever is more.

use std::ops::Range;

use rayon::prelude::*;

use super::card::{Mask, overlap};
use super::region::{Form, Region};
use crate::grid::Layout;
use crate::solver::{BoundaryCondition, Config, Shape, SolidPose};

/// Cubes along each edge of a cell at the surface.
const CUBES: usize = 4;
/// Cubes along each edge of a cell, for meshes, whose distance is expensive.
const CUBES_OF_MESH: usize = 2;

/// Weights that differ by less are the same.
const ROUNDING: f32 = 1e-5;

/// Images of a region on either side of the middle one along a periodic axis.
const MOST_IMAGES: i32 = 4;

/// Grid whose cells are covered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Positions of values in memory.
    pub layout: Layout,
    /// First cell, counted from the origin of the coordinates.
    pub origin: [i32; 3],
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Periodic axes: a region that leaves the box on one side appears on the other.
    pub periodic: [bool; 3],
    /// Sides, low and high along each axis, whose faces are not free: walls and inflows.
    pub walls: [[bool; 2]; 3],
}

impl Grid {
    /// Returns the grid of `config`.
    pub fn new(config: &Config) -> Self {
        let periodic = config.sides.map(|[low, _]| low == BoundaryCondition::Periodic);
        let is_free = |side| matches!(side, BoundaryCondition::Periodic | BoundaryCondition::Open);
        let walls = config.sides.map(|ends| ends.map(|side| !is_free(side)));
        Self { layout: Layout::new(config.dims), origin: config.origin, h: config.h, periodic, walls }
    }

    /// Returns the grid of smoke and heat of `config`.
    pub fn of_smoke(config: &Config) -> Self {
        let origin = config.origin.map(|cells| cells * config.detail as i32);
        Self { layout: Layout::new(config.smoke_dims()), origin, h: config.smoke_h(), ..Self::new(config) }
    }

    /// Position of its lower corner \[m\].
    pub fn corner(&self) -> [f32; 3] {
        self.origin.map(|cells| cells as f32 * self.h)
    }

    fn lengths(&self) -> [f32; 3] {
        self.layout.dims.array().map(|n| n as f32 * self.h)
    }
}

/// The weights of a region on the cells, or on the faces of one component.
#[derive(Clone, Debug, Default)]
pub struct Cover {
    /// Rows with weights: from the first j to the one after the last.
    pub js: [isize; 2],
    /// As `js`, for k.
    pub ks: [isize; 2],
    /// First index and first weight of each row, j fastest.
    rows: Vec<[u32; 2]>,
    weights: Vec<f32>,
    /// Shares of red, green and blue, if they differ from the weights.
    colors: Vec<[f32; 3]>,
}

/// The weights of one row.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Index along x of the first cell.
    pub first: usize,
    /// Covered share of each cell.
    pub weights: &'a [f32],
    colors: &'a [[f32; 3]],
}

impl Run<'_> {
    /// Shares of red, green, blue and heat in the `n`th cell of the run.
    #[inline(always)]
    pub fn shares(&self, n: usize) -> [f32; 4] {
        let weight = self.weights[n];
        match self.colors.get(n) {
            Some(&[r, g, b]) => [r, g, b, weight],
            None => [weight; 4],
        }
    }
}

impl Cover {
    /// Computes the share of each cell of `grid` that `region` covers.
    pub fn cells(grid: &Grid, region: &Region) -> Self {
        let mut cover = Self::new(grid, region, None);
        if let Some(volume) = region.volume_within(grid) {
            cover.scale_to(volume / f64::from(grid.h).powi(3));
        }
        cover
    }

    /// Scales the shares of the partly covered cells, to 1 at most, so that the sum over all cells is
    /// `cells`.
    fn scale_to(&mut self, cells: f64) {
        let of_whole = self.weights.iter().filter(|weight| **weight == 1.0).count() as f64;
        let of_parts: f64 = self.weights.iter().filter(|weight| **weight < 1.0).map(|w| f64::from(*w)).sum();
        let scale = (cells - of_whole) / of_parts;
        if scale.is_finite() && scale > 0.0 {
            self.weights
                .iter_mut()
                .filter(|weight| **weight < 1.0)
                .for_each(|weight| *weight = (*weight * scale as f32).min(1.0));
        }
    }

    /// Computes the weights of the faces of each component: the shares of the cubes around them. The first
    /// free face before a wall also counts what covers the cell beside the wall.
    pub fn faces(grid: &Grid, region: &Region) -> [Self; 3] {
        [0, 1, 2].map(|component| Self::new(grid, region, Some(component)))
    }

    fn new(grid: &Grid, region: &Region, component: Option<usize>) -> Self {
        let stencil = Stencil::new(grid, region, component);
        let [xs, js, ks] = stencil.ranges();
        let nj = (js[1] - js[0]) as usize;
        let count = if xs[1] > xs[0] { nj * (ks[1] - ks[0]) as usize } else { 0 };
        let is_colored = region.is_colored();
        let found: Vec<Row> = (0..count)
            .into_par_iter()
            .map(|row| stencil.row(xs, js[0] + (row % nj) as isize, ks[0] + (row / nj) as isize))
            .map(|(first, shares)| Row {
                first,
                weights: shares.iter().map(|share| share[3]).collect(),
                colors: match is_colored {
                    true => shares.iter().map(|&[r, g, b, _]| [r, g, b]).collect(),
                    false => Vec::new(),
                },
            })
            .collect();
        if found.iter().all(|row| row.weights.is_empty()) {
            return Self::default();
        }
        let mut cover = Self { js, ks, rows: Vec::with_capacity(count + 1), ..Self::default() };
        cover.weights.reserve_exact(found.iter().map(|row| row.weights.len()).sum());
        cover.colors.reserve_exact(found.iter().map(|row| row.colors.len()).sum());
        for Row { first, weights, colors } in found {
            cover.rows.push([first as u32, cover.weights.len() as u32]);
            cover.weights.extend(weights);
            cover.colors.extend(colors);
        }
        cover.rows.push([0, cover.weights.len() as u32]);
        cover
    }

    /// The weights of row (j, k), which must be within `js` and `ks`.
    pub fn row(&self, j: isize, k: isize) -> Run<'_> {
        let row = (j - self.js[0]) + (self.js[1] - self.js[0]) * (k - self.ks[0]);
        let [[first, from], [_, to]] = [self.rows[row as usize], self.rows[row as usize + 1]];
        let range = from as usize..to as usize;
        let colors = if self.colors.is_empty() { &[] } else { &self.colors[range.clone()] };
        Run { first: first as usize, weights: &self.weights[range], colors }
    }

    /// Calls `f(xs, j, k)` for each row, with the cells of it that are covered.
    pub fn each_row(&self, mut f: impl FnMut(Range<usize>, usize, usize)) {
        for k in self.ks[0]..self.ks[1] {
            for j in self.js[0]..self.js[1] {
                let run = self.row(j, k);
                f(run.first..run.first + run.weights.len(), j as usize, k as usize);
            }
        }
    }

    /// Number of cells covered, shares added up.
    #[cfg(test)]
    pub fn total(&self) -> f64 {
        self.weights.iter().map(|&weight| f64::from(weight)).sum()
    }
}

/// The weights of one row while a cover is made.
struct Row {
    first: usize,
    weights: Vec<f32>,
    /// Empty unless the region is coloured.
    colors: Vec<[f32; 3]>,
}

/// A region, prepared for sampling on a grid.
struct Stencil<'a> {
    grid: &'a Grid,
    region: &'a Region,
    /// Position of the region from the corner of the grid \[m\].
    position: [f32; 3],
    component: Option<usize>,
    /// Axes of the region.
    axes: [[f32; 3]; 3],
    half: [f32; 3],
    mask: Option<Mask<'a>>,
    /// Displacements of its images across periodic sides \[m\].
    images: Vec<[f32; 3]>,
    cubes: usize,
}

impl<'a> Stencil<'a> {
    fn new(grid: &'a Grid, region: &'a Region, component: Option<usize>) -> Self {
        let is_mesh = matches!(region.form, Form::Body(Shape::Mesh(_)));
        let cubes = if is_mesh { CUBES_OF_MESH } else { CUBES };
        let mask = match &region.form {
            Form::Card(card) => Some(Mask::new(card, grid.h / (CUBES as f32 * region.scale))),
            Form::Body(_) | Form::Cloud(_) => None,
        };
        let (axes, half) = (region.axes(), region.half());
        let corner = grid.corner();
        let position = [0, 1, 2].map(|a| region.position[a] - corner[a]);
        Self { grid, region, position, component, axes, half, mask, images: images(grid, region), cubes }
    }

    /// Ranges of indices along each axis that may be covered.
    fn ranges(&self) -> [[isize; 2]; 3] {
        let Self { grid, region, position, .. } = self;
        let (h, n, half) = (grid.h, grid.layout.dims.array(), region.half_extent());
        [0, 1, 2].map(|a| {
            let n = (n[a] + usize::from(self.component == Some(a))) as f32;
            let bound = |x: f32| (x / h).max(0.0).min(n) as isize;
            let ends = self.images.iter().map(|image| position[a] + image[a]);
            let low = ends.clone().map(|x| bound(x - half[a] - 2.0 * h)).min().unwrap_or(0);
            let high = ends.map(|x| bound(x + half[a] + 3.0 * h)).max().unwrap_or(0);
            [low, high.max(low)]
        })
    }

    /// First covered cell of a row, and the shares from there to the last.
    fn row(&self, xs: [isize; 2], j: isize, k: isize) -> (usize, Vec<[f32; 4]>) {
        let mut shares = vec![[0.0f32; 4]; (xs[1] - xs[0]) as usize];
        let offset = |axis: usize| if self.component == Some(axis) { 0.0 } else { 0.5 };
        let at = |i: isize| [(i, 0), (j, 1), (k, 2)].map(|(x, a)| (x as f32 + offset(a)) * self.grid.h);
        for image in &self.images {
            let mut n = 0;
            while n < shares.len() {
                let p = at(xs[0] + n as isize);
                let p = [0, 1, 2].map(|a| p[a] - image[a] - self.position[a]);
                let (share, same) = self.cell(p);
                if share != [0.0; 4] {
                    let end = (n + same).min(shares.len());
                    shares[n..end]
                        .as_flattened_mut()
                        .iter_mut()
                        .zip(share.iter().cycle())
                        .for_each(|(sum, share)| *sum = (*sum + share).min(1.0));
                }
                n += same;
            }
        }
        self.add_at_walls(xs, [j, k], at, &mut shares);
        let is_covered = |share: &[f32; 4]| *share != [0.0; 4];
        let first = shares.iter().position(is_covered).unwrap_or(shares.len());
        let end = shares.iter().rposition(is_covered).map_or(first, |last| last + 1);
        (xs[0] as usize + first, shares[first..end].to_vec())
    }

    /// Share of the cell around `p` \[m\], relative to the region's position, and a number of cells from this
    /// one on along x that have the same share.
    fn cell(&self, p: [f32; 3]) -> ([f32; 4], usize) {
        if let Form::Cloud(cloud) = &self.region.form {
            let q = self.local(p).map(|x| x / self.region.scale);
            return ([cloud.sample(q); 4], 1);
        }
        let h = self.grid.h;
        // Half the diagonal of a cell, and a little.
        let near = 0.87 * h;
        let distance = self.distance(p);
        let far = (((distance.abs() - near) / h) as usize).max(1);
        match distance {
            d if d > near => ([0.0; 4], far),
            d if d < -near => ([1.0; 4], far),
            _ => (self.mean(p, |_| 1.0), 1),
        }
    }

    /// Raises the shares of the first free faces before walls, among those `at` a row, to their
    /// [`share_at_wall`](Self::share_at_wall).
    fn add_at_walls(
        &self,
        xs: [isize; 2],
        row: [isize; 2],
        at: impl Fn(isize) -> [f32; 3],
        shares: &mut [[f32; 4]],
    ) {
        let Some(axis) = self.component else { return };
        let n = self.grid.layout.dims.array()[axis] as isize;
        let walls = self.grid.walls[axis];
        for (end, first) in [(0, 1), (1, n - 1)] {
            // The two faces of a single cell are both the wall's.
            let touched = match axis {
                _ if !walls[end] || n == 1 => continue,
                0 => first..first + 1,
                _ if row[axis - 1] == first => xs[0]..xs[1],
                _ => continue,
            };
            for i in touched.filter(|i| (xs[0]..xs[1]).contains(i)) {
                let least = self.share_at_wall(at(i), axis, end);
                for (share, least) in shares[(i - xs[0]) as usize].iter_mut().zip(least) {
                    *share = if least > *share + ROUNDING { least } else { *share };
                }
            }
        }
    }

    /// Share of the first free face before a wall, at `face` \[m\]. The half of its cube away from the wall
    /// counts fully. The cell between face and wall counts in proportion to the distance from the wall.
    fn share_at_wall(&self, face: [f32; 3], axis: usize, end: usize) -> [f32; 4] {
        let inwards = if end == 0 { 1.0 } else { -1.0 };
        let mut sum = [0.0; 4];
        for image in &self.images {
            let mut p = [0, 1, 2].map(|a| face[a] - image[a] - self.position[a]);
            let away = self.weighted_share(p, |by| if inwards * by[axis] > 0.0 { 1.0 } else { 0.0 });
            p[axis] -= 0.5 * inwards * self.grid.h;
            let before = self.weighted_share(p, |by| inwards * by[axis] / self.grid.h + 0.5);
            (0..4).for_each(|c| sum[c] = (sum[c] + away[c] + before[c]).min(1.0));
        }
        sum
    }

    /// Mean over the cell around `p` of its shares times `weight`, a function of the position relative to `p`
    /// whose mean is ½.
    fn weighted_share(&self, p: [f32; 3], weight: impl Fn([f32; 3]) -> f32) -> [f32; 4] {
        match self.distance(p) {
            d if d > 0.87 * self.grid.h => [0.0; 4],
            d if d < -0.87 * self.grid.h => [0.5; 4],
            _ => self.mean(p, weight),
        }
    }

    /// Mean over the cubes of the cell around `p` of their shares times `weight`, a function of the position
    /// of their middles relative to `p`.
    fn mean(&self, p: [f32; 3], weight: impl Fn([f32; 3]) -> f32) -> [f32; 4] {
        let count = self.cubes;
        let edge = self.grid.h / count as f32;
        let offset = |n: usize| (n as f32 + 0.5 - 0.5 * count as f32) * edge;
        let mut sum = [0.0; 4];
        for n in 0..count.pow(3) {
            let by = [n % count, n / count % count, n / (count * count)].map(offset);
            let weight = weight(by);
            let share = self.cube([0, 1, 2].map(|a| p[a] + by[a]), edge);
            (0..4).for_each(|c| sum[c] += weight * share[c]);
        }
        sum.map(|x| x / count.pow(3) as f32)
    }

    /// Rotates a point relative to the region's position into its own coordinates.
    fn local(&self, p: [f32; 3]) -> [f32; 3] {
        self.axes.map(|axis| (0..3).map(|a| axis[a] * p[a]).sum())
    }

    /// Lower bound of the distance from the surface, negative inside \[m\].
    fn distance(&self, p: [f32; 3]) -> f32 {
        let (p, scale) = (self.local(p), self.region.scale);
        match &self.region.form {
            Form::Body(shape) => scale * shape.distance(p.map(|x| x / scale)),
            Form::Card(_) | Form::Cloud(_) => {
                // The last block of pixels may stick out by less than a cell.
                let beyond = [0, 1, 2].map(|a| (p[a].abs() - self.half[a] - self.grid.h).max(0.0));
                beyond.iter().map(|x| x * x).sum::<f32>().sqrt()
            }
        }
    }

    /// Share of a cube with the given edge around `p`.
    fn cube(&self, p: [f32; 3], edge: f32) -> [f32; 4] {
        let (q, half, scale) = (self.local(p), self.half, self.region.scale);
        let ramp = |distance: f32| (0.5 - distance / edge).clamp(0.0, 1.0);
        let share = match (&self.region.form, &self.mask) {
            (Form::Card(_), Some(mask)) => {
                let deep = overlap(q[2], half[2], edge);
                return mask.sample(q[0] / scale, q[1] / scale, edge / scale).map(|x| x * deep);
            }
            (Form::Cloud(cloud), _) => cloud.sample(q.map(|x| x / scale)),
            (Form::Body(Shape::Box { .. }), _) => (0..3).map(|a| overlap(q[a], half[a], edge)).product(),
            (Form::Body(Shape::Cylinder { .. }), _) => {
                ramp((q[0] * q[0] + q[2] * q[2]).sqrt() - half[0]) * overlap(q[1], half[1], edge)
            }
            _ => ramp(self.distance(p)),
        };
        [share; 4]
    }
}

/// Displacements by whole periods at which a region overlaps the box, or the half cell around it that belongs
/// to the faces on its sides.
fn images(grid: &Grid, region: &Region) -> Vec<[f32; 3]> {
    let (lengths, half) = (grid.lengths(), region.half_extent().map(|x| x + 0.5 * grid.h));
    let along = |a: usize| -> Vec<f32> {
        if !grid.periodic[a] {
            return vec![0.0];
        }
        let low = ((-half[a] - region.position[a]) / lengths[a]).ceil() as i32;
        let high = ((lengths[a] + half[a] - region.position[a]) / lengths[a]).floor() as i32;
        // A region many times as long as the box covers it, whichever images are left out.
        let middle = low.midpoint(high);
        (low.max(middle - MOST_IMAGES)..=high.min(middle + MOST_IMAGES))
            .map(|n| n as f32 * lengths[a])
            .collect()
    };
    let [xs, ys, zs] = [along(0), along(1), along(2)];
    let mut all = Vec::new();
    for &z in &zs {
        for &y in &ys {
            all.extend(xs.iter().map(|&x| [x, y, z]));
        }
    }
    all
}

/// The indices of a range, from its middle to its end, then from its middle to its beginning.
fn outwards([low, high]: [isize; 2]) -> impl Iterator<Item = isize> {
    let middle = low.midpoint(high);
    (middle..high).chain((low..middle).rev())
}

impl Region {
    /// Number of cells of smoke in the box of `config` that it covers, those at its surface in part. The count
    /// ends where it reaches `enough`: most regions have that in their middle row.
    pub fn covered(&self, config: &Config, enough: f64) -> f64 {
        let grid = Grid::of_smoke(config);
        let stencil = Stencil::new(&grid, self, None);
        let [xs, js, ks] = stencil.ranges();
        let mut sum = 0.0;
        for k in outwards(ks) {
            for j in outwards(js) {
                sum += stencil.row(xs, j, k).1.iter().map(|share| f64::from(share[3])).sum::<f64>();
                if sum >= enough {
                    return sum;
                }
            }
        }
        sum
    }

    /// Its volume \[m³\], if it has a formula and all of it is within the box of `grid`.
    fn volume_within(&self, grid: &Grid) -> Option<f64> {
        let Form::Body(shape) = &self.form else { return None };
        let (corner, lengths, half) = (grid.corner(), grid.lengths(), self.half_extent());
        let is_within = |a: usize| {
            let [low, high] = [-half[a], half[a]].map(|by| self.position[a] - corner[a] + by);
            if grid.periodic[a] { high - low <= lengths[a] } else { low >= 0.0 && high <= lengths[a] }
        };
        (0..3).all(is_within).then_some(f64::from(self.scale).powi(3) * shape.volume()?)
    }

    /// Whether all cells of smoke in the box of `config` that it covers have their centres in one of `solids`.
    pub fn is_within(&self, config: &Config, solids: &[SolidPose]) -> bool {
        let grid = Grid::of_smoke(config);
        let stencil = Stencil::new(&grid, self, None);
        let [xs, js, ks] = stencil.ranges();
        let corner = grid.corner();
        let is_solid = |cell: [isize; 3]| {
            let center = [0, 1, 2].map(|a| corner[a] + (cell[a] as f32 + 0.5) * grid.h);
            solids.iter().any(|solid| solid.distance(center) < 0.0)
        };
        outwards(ks).flat_map(|k| outwards(js).map(move |j| (j, k))).all(|(j, k)| {
            let (first, shares) = stencil.row(xs, j, k);
            let mut covered = (first as isize..).zip(&shares).filter(|(_, share)| **share != [0.0; 4]);
            covered.all(|(i, _)| is_solid([i, j, k]))
        })
    }

    /// Estimated memory of it and of its weights in the box of `config`, with those of the faces if it `drives`
    /// the air \[bytes\].
    pub fn memory(&self, config: &Config, drives: bool) -> u64 {
        let weights = if self.is_colored() { 16.0 } else { 4.0 };
        let mut bytes = weights * self.most_cells(&Grid::of_smoke(config));
        if drives {
            bytes += 3.0 * 4.0 * self.most_cells(&Grid::new(config));
        }
        let own = match &self.form {
            Form::Body(_) => 0,
            Form::Card(card) => card.memory(),
            Form::Cloud(cloud) => cloud.memory(),
        };
        own + bytes as u64
    }

    /// Upper bound of the cells that it covers: those of its volume and of its bounding box within the box.
    fn most_cells(&self, grid: &Grid) -> f64 {
        let fills = match &self.form {
            Form::Body(Shape::Sphere { .. }) => std::f64::consts::FRAC_PI_6,
            Form::Body(Shape::Cylinder { .. }) => std::f64::consts::FRAC_PI_4,
            _ => 1.0,
        };
        // A cell more on each side holds a part of the surface.
        let edges = |half: [f32; 3]| half.map(|half| f64::from(2.0 * half / grid.h) + 2.0);
        let volume = fills * edges(self.half()).iter().product::<f64>();
        let (extent, corner, lengths) = (self.half_extent(), grid.corner(), grid.lengths());
        let within: f64 = (0..3)
            .map(|a| {
                let at = self.position[a] - corner[a];
                let (low, high) = match grid.periodic[a] {
                    true => (0.0, (2.0 * extent[a]).min(lengths[a])),
                    false => ((at - extent[a]).max(0.0), (at + extent[a]).min(lengths[a])),
                };
                f64::from((high - low).max(0.0) / grid.h) + 2.0
            })
            .product();
        volume.min(within)
    }
}
