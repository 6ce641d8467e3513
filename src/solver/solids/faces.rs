//! Open fractions of the grid's faces.
//!
//! The open fraction of a face follows from the signed distances at its four corners. Corners alone would
//! miss a plate thinner than a cell, so three more rules close faces:
//!
//! - A thin solid pierces a cell whose centre is inside it while its corners outside lie on both sides: all
//!   its faces close.
//! - A face closes if the straight line from the centre of a neighbouring cell to its open part meets a
//!   solid: the plate lies between.
//! - Fractions below [`LEAST`] close: they would make the pressure stiff for a negligible flow.
//!
//! Together they let no air through a plate of any thickness, at any angle.

use rayon::prelude::*;

use super::SolidPose;
use super::frame::Frame;
use crate::solver::project::{Cut, cell_of};

/// Open fractions below this count as closed.
const LEAST: f32 = 0.05;

/// Distance at which a walk has met a surface \[cells\].
const NEAR: f32 = 2e-3;

/// Points nearer to a surface than this count as inside \[cells\]. Where a solid lies along the grid or
/// stands on a wall, rounding must not decide which of its faces close.
const ON_SURFACE: f32 = 1e-4;

/// Two solids whose distances differ by less are equally near \[cells\]; the first in the list counts,
/// regardless of rounding.
const TIE: f32 = 1e-4;

/// Cells of a block along each axis. Far from all surfaces one distance decides for the whole block.
pub const BLOCK: usize = 8;

/// Samples of a cluster along each axis. Far from all surfaces one distance decides for all of them.
const CLUSTER: usize = 4;

/// Distance beyond which a surface has no effect on a face or a link \[cells\]: both look one cell far.
pub const FAR: f32 = 3.0;

/// A cut face and the solid that cuts it.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The face.
    pub cut: Cut,
    /// The solid.
    pub owner: u16,
}

/// Solids in a grid.
pub struct Scene<'a> {
    /// The grid.
    pub frame: Frame,
    /// The solids.
    pub poses: &'a [SolidPose],
}

/// Memory of one thread for the search through a block.
pub struct Scratch {
    /// The solids near it.
    near: Vec<u16>,
    samples: Samples,
    /// Its cut faces, for each component.
    pub found: [Vec<Found>; 3],
}

impl Scratch {
    /// Makes memory for this many solids.
    pub fn new(solids: usize) -> Self {
        let faces = || Vec::with_capacity((BLOCK + 1) * BLOCK * BLOCK);
        let samples = Samples { nodes: Distances::new(solids), centers: Distances::new(solids) };
        Self { near: Vec::with_capacity(solids), samples, found: [faces(), faces(), faces()] }
    }
}

/// Signed distances near one block, at nodes and cell centres from one cell below it to one above.
struct Samples {
    nodes: Distances,
    centers: Distances,
}

impl Samples {
    fn node(&self, at: [isize; 3]) -> f32 {
        self.nodes.at(at)
    }

    fn center(&self, at: [isize; 3]) -> f32 {
        self.centers.at(at)
    }
}

/// Signed distances at the points of a lattice near one block.
pub struct Distances {
    low: [isize; 3],
    size: [usize; 3],
    values: Vec<f32>,
    /// The solids near a cluster of points.
    near: Vec<u16>,
}

impl Distances {
    /// Makes memory for this many solids.
    pub fn new(solids: usize) -> Self {
        let values = Vec::with_capacity((BLOCK + 3).pow(3));
        Self { low: [0; 3], size: [0; 3], values, near: Vec::with_capacity(solids) }
    }

    fn index(&self, at: [isize; 3]) -> usize {
        let i = [0, 1, 2].map(|a| (at[a] - self.low[a]) as usize);
        i[0] + self.size[0] * (i[1] + self.size[1] * i[2])
    }

    /// Signed distance at a point \[m\]; farther than [`FAR`] from all surfaces a bound with its sign.
    pub fn at(&self, at: [isize; 3]) -> f32 {
        self.values[self.index(at)]
    }
}

/// The solids for which surfaces were found last. Blocks far from all that has changed since keep their
/// results.
#[derive(Default)]
pub struct LastSearch {
    frame: Option<Frame>,
    poses: Vec<SolidPose>,
    /// Whether each block is to be searched again.
    stale: Vec<bool>,
}

impl LastSearch {
    /// Finds the blocks of `scene` whose results may differ from those of the last scene.
    pub fn begin(&mut self, scene: &Scene) {
        let Self { frame, poses, stale } = self;
        let all = *frame != Some(scene.frame) || poses.len() != scene.poses.len();
        stale.clear();
        stale.resize(scene.blocks().iter().product(), all);
        if !all {
            let changed = |n: &usize| !poses[*n].is_same(&scene.poses[*n]);
            for n in (0..poses.len()).filter(changed) {
                stale.par_iter_mut().enumerate().filter(|(_, stale)| !**stale).for_each(|(at, stale)| {
                    let block = scene.block_at(at);
                    *stale = [&poses[n], &scene.poses[n]].iter().any(|pose| scene.has_effect(pose, block));
                });
            }
        }
        *frame = Some(scene.frame);
        poses.clear();
        poses.extend_from_slice(scene.poses);
    }

    /// Whether the block of a cell is to be searched again. Faces beyond the last cell belong to the last
    /// block.
    pub fn is_stale(&self, scene: &Scene, cell: [usize; 3]) -> bool {
        let n = scene.blocks();
        let block = [0, 1, 2].map(|a| (cell[a] / BLOCK).min(n[a] - 1));
        self.stale[block[0] + n[0] * (block[1] + n[1] * block[2])]
    }

    /// Calls `f` for each block to be searched, in parallel.
    pub fn each_stale(&self, scene: &Scene, f: impl Fn([usize; 3]) + Sync) {
        scene.each_block(|block| {
            if self.is_stale(scene, block.map(|b| b * BLOCK)) {
                f(block);
            }
        });
    }
}

impl Scene<'_> {
    /// Moves a point by whole periods to be nearest to a solid.
    fn seen_from(&self, pose: &SolidPose, p: [f32; 3]) -> [f32; 3] {
        let Frame { layout, h, periodic, .. } = self.frame;
        let n = layout.dims.array();
        [0, 1, 2].map(|a| {
            let length = n[a] as f32 * h;
            if periodic[a] { p[a] - length * ((p[a] - pose.position[a]) / length).round() } else { p[a] }
        })
    }

    fn distance(&self, near: &[u16], p: [f32; 3]) -> f32 {
        self.nearest(near, p).0
    }

    /// Signed distance \[m\] to the nearest of some solids, and which it is.
    pub fn nearest(&self, near: &[u16], p: [f32; 3]) -> (f32, u16) {
        let tie = TIE * self.frame.h;
        let mut least = f32::INFINITY;
        let (_, owner) = near.iter().fold((f32::INFINITY, 0), |best, &of| {
            let pose = &self.poses[of as usize];
            let d = pose.distance(self.seen_from(pose, p));
            least = least.min(d);
            if d < best.0 - tie { (d, of) } else { best }
        });
        (least, owner)
    }

    /// As [`nearest`](Self::nearest), where a point on a surface is inside.
    pub fn inside_or_out(&self, near: &[u16], p: [f32; 3]) -> (f32, u16) {
        let (distance, owner) = self.nearest(near, p);
        let on_surface = distance.abs() < ON_SURFACE * self.frame.h;
        (if on_surface { -f32::EPSILON * self.frame.h } else { distance }, owner)
    }

    /// Whether the bounding ball of a solid comes within `radius` of a point.
    fn is_near(&self, pose: &SolidPose, p: [f32; 3], radius: f32) -> bool {
        let q = self.seen_from(pose, p);
        let apart: f32 = (0..3).map(|a| (q[a] - pose.position[a]).powi(2)).sum();
        apart.sqrt() < pose.bounding_radius() + radius
    }

    /// Whether a solid has no effect within `radius` of a point. Always false if an image of the solid across
    /// a periodic axis may be nearer.
    fn is_far(&self, pose: &SolidPose, p: [f32; 3], radius: f32) -> bool {
        let Frame { layout, h, periodic, .. } = self.frame;
        let (n, most) = (layout.dims.array(), radius + FAR * h);
        let is_wide = |a: usize| 2.0 * (pose.bounding_radius() + most) > n[a] as f32 * h;
        pose.distance(self.seen_from(pose, p)) > most && !(0..3).any(|a| periodic[a] && is_wide(a))
    }

    /// Collects into `near` the solids that have an effect on a block, and on the cells beside it.
    fn candidates(&self, block: [usize; 3], near: &mut Vec<u16>) {
        let (middle, radius) = (self.middle(block), self.block_radius());
        near.clear();
        near.extend((0..self.poses.len() as u16).filter(|&of| {
            let pose = &self.poses[of as usize];
            self.is_near(pose, middle, radius) && !self.is_far(pose, middle, radius)
        }));
    }

    /// Whether a solid in this pose has an effect on a block, or on the cells up to two beside it.
    fn has_effect(&self, pose: &SolidPose, block: [usize; 3]) -> bool {
        let (middle, radius) = (self.middle(block), self.block_radius() + 2.0 * self.frame.h);
        self.is_near(pose, middle, radius + FAR * self.frame.h) && !self.is_far(pose, middle, radius)
    }

    /// Number of blocks along each axis.
    fn blocks(&self) -> [usize; 3] {
        self.frame.layout.dims.array().map(|n| n.div_ceil(BLOCK))
    }

    fn block_at(&self, at: usize) -> [usize; 3] {
        let n = self.blocks();
        [at % n[0], at / n[0] % n[1], at / (n[0] * n[1])]
    }

    /// Calls `f` for each block of the grid in which solids are looked for, in parallel.
    fn each_block(&self, f: impl Fn([usize; 3]) + Sync) {
        let is_near = |k: usize| self.frame.reaches([k * BLOCK, (k + 1) * BLOCK]);
        let blocks = (0..self.blocks().iter().product()).into_par_iter().map(|at| self.block_at(at));
        blocks.filter(|block| is_near(block[2])).for_each(&f);
    }

    /// Returns the part of `range` that lies in a block. Indices beyond the last cell belong to the last
    /// block.
    pub fn range(&self, block: [usize; 3], range: [[isize; 2]; 3]) -> [[isize; 3]; 2] {
        let n = self.frame.layout.dims.array();
        let low = [0, 1, 2].map(|a| ((block[a] * BLOCK) as isize).max(range[a][0]));
        let high = [0, 1, 2].map(|a| {
            let end = (block[a] + 1) * BLOCK;
            if end >= n[a] { range[a][1] } else { (end as isize).min(range[a][1]) }
        });
        [low, high]
    }

    /// Centre of a block \[m\].
    fn middle(&self, block: [usize; 3]) -> [f32; 3] {
        let n = self.frame.layout.dims.array();
        [0, 1, 2].map(|a| {
            let ends = block[a] * BLOCK + ((block[a] + 1) * BLOCK).min(n[a]);
            0.5 * ends as f32 * self.frame.h
        })
    }

    /// Largest distance of a point of a block, or of a cell beside it, from its centre \[m\].
    fn block_radius(&self) -> f32 {
        (0.5 * BLOCK as f32 + 1.5) * 3.0f32.sqrt() * self.frame.h
    }

    /// Whether a surface may be near a block. Collects the candidates into `near`.
    pub fn near_surface(&self, block: [usize; 3], near: &mut Vec<u16>) -> bool {
        let (middle, radius) = (self.middle(block), self.block_radius());
        self.candidates(block, near);
        !near.is_empty() && self.distance(near, middle).abs() <= radius
    }

    /// Finds the cut faces of one block and writes them to `scratch`: the low faces of its cells, and the
    /// high sides of the box that it touches.
    pub fn block(&self, block: [usize; 3], scratch: &mut Scratch) {
        let n = self.frame.layout.dims.array();
        let low = block.map(|b| (b * BLOCK) as isize);
        let high = [0, 1, 2].map(|a| ((block[a] + 1) * BLOCK).min(n[a]) as isize);
        let (middle, radius) = (self.middle(block), self.block_radius());
        let Scratch { near, samples, found } = scratch;
        found.iter_mut().for_each(Vec::clear);
        self.candidates(block, near);
        let distance = self.distance(near, middle);
        if distance > radius {
            return;
        }
        let is_cut = distance >= -radius;
        if is_cut {
            let range = [low.map(|x| x - 1), high.map(|x| x + 2)];
            self.sample(near, range, [0.0; 3], &mut samples.nodes);
            self.sample(near, range, [0.5; 3], &mut samples.centers);
        }
        for component in 0..3 {
            let end = |a: usize| high[a] + isize::from(a == component && high[a] == n[a] as isize);
            for k in low[2]..end(2) {
                for j in low[1]..end(1) {
                    for i in low[0]..end(0) {
                        let at = [i, j, k];
                        if self.is_wall(component, at) {
                            continue;
                        }
                        let open = if is_cut { self.open(near, samples, component, at) } else { 0.0 };
                        if open < 1.0 {
                            found[component].push(self.found(near, component, at, open));
                        }
                    }
                }
            }
        }
    }

    /// Whether a face lies on a wall of the box, which no solid can close further.
    fn is_wall(&self, component: usize, at: [isize; 3]) -> bool {
        let n = self.frame.layout.dims.array()[component] as isize;
        let [low, high] = self.frame.walls[component];
        at[component] == 0 && low || at[component] == n && high
    }

    fn found(&self, near: &[u16], component: usize, at: [isize; 3], open: f32) -> Found {
        let h = self.frame.h;
        let middle = [0, 1, 2].map(|a| (at[a] as f32 + if a == component { 0.0 } else { 0.5 }) * h);
        let owner = if near.len() == 1 { near[0] } else { self.nearest(near, middle).1 };
        let velocity = self.velocity_across(owner, component, middle, open);
        let at = self.frame.layout.at(at[0], at[1], at[2]) as u32;
        Found { cut: Cut { at, open, velocity }, owner }
    }

    /// The velocity of a solid at a point \[m/s\], or of its image that is nearest.
    pub fn velocity(&self, owner: u16, p: [f32; 3]) -> [f32; 3] {
        let pose = &self.poses[usize::from(owner)];
        pose.velocity_at(self.seen_from(pose, p))
    }

    /// As [`velocity`](Self::velocity), for the surface: that of no-slip air.
    pub fn surface_velocity(&self, owner: u16, p: [f32; 3]) -> [f32; 3] {
        let pose = &self.poses[usize::from(owner)];
        pose.surface_velocity_at(self.seen_from(pose, p))
    }

    /// The middle of the face stored at `at` \[m\].
    pub fn middle_of_face(&self, component: usize, at: u32) -> [f32; 3] {
        let at = cell_of(self.frame.layout, at);
        [0, 1, 2].map(|a| (at[a] as f32 + if a == component { 0.0 } else { 0.5 }) * self.frame.h)
    }

    /// Mean velocity of a solid across the part of a face that it closes \[m/s\]. Without the mean a spinning
    /// solid would push air out of itself wherever its surface cuts a face.
    fn velocity_across(&self, owner: u16, component: usize, middle: [f32; 3], open: f32) -> f32 {
        const ACROSS: i16 = 4;
        let pose = &self.poses[usize::from(owner)];
        if pose.spin == [0.0; 3] || open == 0.0 {
            return self.velocity(owner, middle)[component];
        }
        let (b, c) = ((component + 1) % 3, (component + 2) % 3);
        let place = |n: i16| (f32::from(n) + 0.5) / f32::from(ACROSS) - 0.5;
        let (mut sum, mut count) = (0.0, 0.0);
        for (x, y) in (0..ACROSS).flat_map(|x| (0..ACROSS).map(move |y| (place(x), place(y)))) {
            let mut p = middle;
            (p[b], p[c]) = (p[b] + x * self.frame.h, p[c] + y * self.frame.h);
            if self.distance(&[owner], p) < 0.0 {
                sum += self.velocity(owner, p)[component];
                count += 1.0;
            }
        }
        if count > 0.0 { sum / count } else { self.velocity(owner, middle)[component] }
    }

    /// Samples the distance at the points low..high, each moved by `offset` \[cells\]. Clusters far from all
    /// surfaces take a bound from their middle.
    pub fn sample(&self, near: &[u16], [low, high]: [[isize; 3]; 2], offset: [f32; 3], out: &mut Distances) {
        let h = self.frame.h;
        out.low = low;
        out.size = [0, 1, 2].map(|a| (high[a] - low[a]).max(0) as usize);
        out.values.clear();
        out.values.resize(out.size.iter().product(), 0.0);
        let of = |x: f32, a: usize| (low[a] as f32 + x + offset[a]) * h;
        let count = out.size.map(|n| n.div_ceil(CLUSTER));
        for cluster in 0..count.iter().product() {
            let first = [cluster % count[0], cluster / count[0] % count[1], cluster / (count[0] * count[1])]
                .map(|x| x * CLUSTER);
            let end = [0, 1, 2].map(|a| (first[a] + CLUSTER).min(out.size[a]));
            let middle = [0, 1, 2].map(|a| of(0.5 * (first[a] + end[a] - 1) as f32, a));
            let radius = 0.5 * length([0, 1, 2].map(|a| (end[a] - 1 - first[a]) as f32 * h));
            out.near.clear();
            out.near
                .extend(near.iter().filter(|&&of| !self.is_far(&self.poses[of as usize], middle, radius)));
            for k in first[2]..end[2] {
                for j in first[1]..end[1] {
                    for i in first[0]..end[0] {
                        let p = [of(i as f32, 0), of(j as f32, 1), of(k as f32, 2)];
                        let at = i + out.size[0] * (j + out.size[1] * k);
                        out.values[at] =
                            if out.near.is_empty() { FAR * h } else { self.inside_or_out(&out.near, p).0 };
                    }
                }
            }
        }
    }

    /// The open fraction of a face.
    fn open(&self, near: &[u16], samples: &Samples, component: usize, at: [isize; 3]) -> f32 {
        let (b, c) = ((component + 1) % 3, (component + 2) % 3);
        let corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[x, y]| {
            let mut node = at;
            (node[b], node[c]) = (node[b] + x, node[c] + y);
            (node, samples.node(node))
        });
        let open = area(corners.map(|corner| corner.1));
        let mut below = at;
        below[component] -= 1;
        if open == 1.0 && [below, at].iter().all(|&cell| samples.center(cell) >= self.frame.h) {
            return 1.0;
        }
        if open < LEAST || [below, at].iter().any(|&cell| self.is_pierced(near, samples, cell)) {
            return 0.0;
        }
        let seen = self.middle_of_open(&corners);
        let hidden = |cell: [isize; 3]| {
            let distance = samples.center(cell);
            let center = cell.map(|x| (x as f32 + 0.5) * self.frame.h);
            distance > 0.0 && distance < self.frame.h && self.is_hidden(near, center, seen)
        };
        if hidden(below) || hidden(at) {
            return 0.0;
        }
        if open > 1.0 - 1e-3 { 1.0 } else { open }
    }

    /// Whether a thin solid pierces a cell: its centre is inside, and its outer corners are not all connected
    /// by edges outside. At the edge of a block they are connected.
    fn is_pierced(&self, near: &[u16], samples: &Samples, cell: [isize; 3]) -> bool {
        if samples.center(cell) >= 0.0 {
            return false;
        }
        let node = |c: usize| [0, 1, 2].map(|a| cell[a] + (c >> a & 1) as isize);
        let outside: u32 = (0..8).filter(|&c| samples.node(node(c)) > 0.0).map(|c| 1 << c).sum();
        let mut joined = outside & outside.wrapping_neg();
        for _ in 0..7 {
            for (c, a) in (0..8).flat_map(|c| (0..3).map(move |a| (c, a))) {
                let other = c ^ 1 << a;
                let reaches = joined >> c & 1 == 1 && outside & !joined & 1 << other != 0;
                if reaches && self.is_clear(near, samples, node(c), node(other)) {
                    joined |= 1 << other;
                }
            }
        }
        joined != outside
    }

    /// Whether no solid lies between two neighbouring outer nodes.
    fn is_clear(&self, near: &[u16], samples: &Samples, from: [isize; 3], to: [isize; 3]) -> bool {
        let h = self.frame.h;
        let covered = samples.node(from) + samples.node(to) >= h;
        covered || !self.is_hidden(near, from.map(|x| x as f32 * h), to.map(|x| x as f32 * h))
    }

    /// Mean position of the outer corners \[m\].
    fn middle_of_open(&self, corners: &[([isize; 3], f32); 4]) -> [f32; 3] {
        let outside = corners.iter().filter(|corner| corner.1 > 0.0);
        let count = outside.clone().count() as f32;
        [0, 1, 2].map(|a| outside.clone().map(|(node, _)| node[a] as f32).sum::<f32>() / count * self.frame.h)
    }

    /// Whether a solid lies between two outer points.
    ///
    /// The walk starts at the end nearer to a surface, and first leaves that surface: a point that almost touches
    /// a surface has it behind.
    fn is_hidden(&self, near: &[u16], from: [f32; 3], to: [f32; 3]) -> bool {
        let [here, there] = [from, to].map(|p| self.distance(near, p));
        let (from, to, distance) = if here <= there { (from, to, here) } else { (to, from, there) };
        let by = [0, 1, 2].map(|a| to[a] - from[a]);
        self.leave(near, from, by, distance).is_none_or(|gone| self.walk(near, from, by, gone).is_some())
    }

    /// Length of the segment `by` \[m\], from a point at this `distance`, after which the adjacent surface is
    /// left behind. `None` if the segment leads into the solid or along it.
    fn leave(&self, near: &[u16], from: [f32; 3], by: [f32; 3], mut distance: f32) -> Option<f32> {
        let (length, least) = (length(by), NEAR * self.frame.h);
        let mut gone = 0.0;
        while distance < least && gone < length {
            let step = distance.max(0.25 * least);
            gone += step;
            let p = [0, 1, 2].map(|a| from[a] + by[a] * (gone / length));
            let next = self.distance(near, p);
            if distance <= 0.0 || next - distance < 0.05 * step {
                return None;
            }
            distance = next;
        }
        Some(gone)
    }

    /// Sphere tracing from a point outside along the segment `by`: returns the fraction 0..1 at which it
    /// meets the first solid, and that solid.
    pub fn meet(&self, near: &[u16], from: [f32; 3], by: [f32; 3]) -> Option<(f32, u16)> {
        self.walk(near, from, by, 0.0)
    }

    /// As [`meet`](Self::meet), when the first part of the segment, this long \[m\], is known to be free.
    fn walk(&self, near: &[u16], from: [f32; 3], by: [f32; 3], mut gone: f32) -> Option<(f32, u16)> {
        let (length, least) = (length(by), NEAR * self.frame.h);
        while gone < length {
            let p = [0, 1, 2].map(|a| from[a] + by[a] * (gone / length));
            let (distance, owner) = self.nearest(near, p);
            if distance < least {
                return Some((gone / length, owner));
            }
            gone += distance;
        }
        None
    }
}

fn length(way: [f32; 3]) -> f32 {
    way.iter().map(|x| x * x).sum::<f32>().sqrt()
}

/// Outer fraction of a square, from the distances at its corners in turn: four triangles around the middle,
/// linear in each.
fn area(corners: [f32; 4]) -> f32 {
    if corners.iter().all(|&d| d > 0.0) {
        return 1.0;
    }
    let middle = corners.iter().sum::<f32>() * 0.25;
    (0..4).map(|c| 0.25 * triangle([corners[c], corners[(c + 1) % 4], middle])).sum()
}

/// Outer fraction of a triangle.
fn triangle(mut d: [f32; 3]) -> f32 {
    d.sort_unstable_by(f32::total_cmp);
    let corner = |tip: f32, a: f32, b: f32| (tip / (tip - a)) * (tip / (tip - b));
    match d.iter().filter(|&&d| d > 0.0).count() {
        0 => 0.0,
        1 => corner(d[2], d[0], d[1]),
        2 => 1.0 - corner(d[0], d[1], d[2]),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Shape, Solid};
    use super::*;
    use crate::grid::{Dims, Layout};

    #[test]
    fn only_blocks_beside_a_moved_solid_are_searched_again() {
        let layout = Layout::new(Dims::new([128, 32, 32]).unwrap());
        let parts = [[0, 32], [0; 2], [0; 2]];
        let frame = Frame { layout, h: 0.1, periodic: [false; 3], walls: [[true; 2]; 3], parts };
        let ball = |x: f32| Solid::new(Shape::Sphere { radius: 0.3 }, [x, 1.6, 1.6]).pose(0.0, 0.0);
        let mut poses = vec![ball(1.6), ball(11.2)];
        let mut last = LastSearch::default();
        let mut stale = |poses: &[SolidPose]| {
            last.begin(&Scene { frame, poses });
            let n = [16, 4, 4];
            let blocks = (0..256).filter(|at| last.stale[*at]);
            blocks.map(|at| [at % n[0], at / n[0] % n[1], at / (n[0] * n[1])]).collect::<Vec<_>>()
        };
        assert_eq!(stale(&poses).len(), 256, "at first");
        assert!(stale(&poses).is_empty(), "nothing has moved");
        poses[0].position[0] += 0.1;
        let beside = stale(&poses);
        assert!(beside.contains(&[2, 1, 1]) && beside.iter().all(|block| block[0] < 6), "{beside:?}");
        poses[1].velocity[0] = 1.0;
        assert!(stale(&poses).iter().all(|block| block[0] > 9), "faces have the velocity of the solid");
    }

    #[test]
    fn a_half_plane_cuts_a_square_as_geometry_says() {
        assert!((area([1.0, 1.0, -1.0, -1.0]) - 0.5).abs() < 1e-6);
        assert!((area([3.0, 3.0, -1.0, -1.0]) - 0.75).abs() < 1e-6);
        assert!((area([1.0, 0.0, -1.0, 0.0]) - 0.5).abs() < 1e-6);
        assert_eq!(area([-1.0; 4]), 0.0);
    }
}
