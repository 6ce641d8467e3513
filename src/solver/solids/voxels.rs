//! From signed distances to the grid: which faces are open, and how far.
//!
//! The open fraction of a face follows from the signed distances at its four corners. Corners alone would miss a plate
//! thinner than a cell, so three more rules close what must be closed:
//!
//! - a cell whose centre is inside, with two opposite corners outside, is pierced by something thin: all its faces close;
//! - a face whose open part cannot be seen from the centre of a cell beside it (the straight line meets a solid) closes:
//!   the plate lies between;
//! - fractions below [`LEAST`] close, since they would make the pressure stiff for a flow that does not matter.
//!
//! Together they let no air through a plate of any thickness, at any angle.

use rayon::prelude::*;

use super::{Slip, SolidPose};
use crate::grid::{Faces, GHOST, Layout};
use crate::solver::project::{Cut, Cuts};

/// Open fractions below this count as closed.
const LEAST: f32 = 0.05;

/// Cells of a block along each axis: far from all surfaces one distance answers for the whole block.
const BLOCK: usize = 8;

/// Layers of faces inside a solid that repeat the flow outside, for interpolation along a surface that lets it glide.
const LAYERS: usize = 3;

/// Flag of a cell: its low face across axis a (`CLOSED << a`) lets nothing through.
pub const CLOSED: u8 = 1;
/// Flag of a cell: no face of it is open.
pub const SOLID: u8 = 8;

/// A face inside a solid and the neighbours it repeats: bit 2a + side for the one below or above along axis a.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    at: u32,
    from: u8,
}

/// What solids leave of the grid.
#[derive(Default)]
pub struct Voxels {
    /// Faces that are not wholly open.
    pub cuts: Cuts,
    /// [`CLOSED`] and [`SOLID`] of each cell, walls of the box included.
    pub flags: Vec<u8>,
    /// Positions of the cells inside solids.
    pub inside: Vec<u32>,
    /// The solid at each face of `cuts`.
    pub owners: [Vec<u16>; 3],
    /// Faces inside solids along which the air glides, by layers from the surface, for each component.
    repeats: [Vec<Repeat>; 3],
}

/// What the voxels depend on besides the solids.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Where values lie.
    pub layout: Layout,
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Axes that close on themselves.
    pub periodic: [bool; 3],
    /// Sides of the box that are walls.
    pub walls: [[bool; 2]; 3],
}

impl Frame {
    /// Whether a position is that of a cell in the box.
    pub fn holds(&self, at: usize) -> bool {
        let layout = self.layout;
        let index = [at % layout.row, at % layout.plane / layout.row, at / layout.plane];
        (0..3).all(|a| (GHOST..GHOST + layout.dims.array()[a]).contains(&index[a]))
    }
}

impl Voxels {
    /// The voxels of `poses`.
    pub fn new(frame: Frame, poses: &[SolidPose]) -> Self {
        let scene = Scene { frame, poses };
        let blocks = frame.layout.dims.array().map(|n| n.div_ceil(BLOCK));
        let found: Vec<[Vec<Found>; 3]> = (0..blocks.iter().product())
            .into_par_iter()
            .map(|b| scene.block([b % blocks[0], b / blocks[0] % blocks[1], b / (blocks[0] * blocks[1])]))
            .collect();
        let mut lists: [Vec<Found>; 3] = Default::default();
        for block in found {
            lists.iter_mut().zip(block).for_each(|(list, mut more)| list.append(&mut more));
        }
        lists.iter_mut().for_each(|list| list.sort_unstable_by_key(|found| found.cut.at));
        let owners = lists.each_ref().map(|list| list.iter().map(|found| found.owner).collect());
        let cuts = Cuts::new(lists.each_ref().map(|list| list.iter().map(|found| found.cut).collect()));
        let (flags, inside) = flags(&frame, &cuts);
        let mut voxels = Self { cuts, flags, inside, owners, repeats: Default::default() };
        voxels.repeats = [0, 1, 2].map(|component| voxels.glides(&frame, poses, component));
        voxels
    }

    /// Takes over the velocities of solids that stand where they stood.
    pub fn set_velocities(&mut self, poses: &[SolidPose]) {
        for (component, (faces, owners)) in self.cuts.faces.iter_mut().zip(&self.owners).enumerate() {
            for (cut, owner) in faces.iter_mut().zip(owners) {
                cut.velocity = poses[*owner as usize].velocity[component];
            }
        }
    }

    /// Lets faces inside solids repeat the flow outside, where it may glide.
    pub fn extend(&self, layout: Layout, velocity: &mut Faces) {
        let strides = layout.strides();
        for (repeats, field) in self.repeats.iter().zip(velocity) {
            for repeat in repeats {
                let at = repeat.at as usize;
                let (mut sum, mut count) = (0.0, 0.0);
                for side in (0..6).filter(|side| repeat.from >> side & 1 == 1) {
                    let stride = strides[side / 2];
                    sum += field[if side % 2 == 0 { at - stride } else { at + stride }];
                    count += 1.0;
                }
                field[at] = sum / count;
            }
        }
    }

    /// The faces of a component that lie wholly inside a solid that lets air glide, up to [`LAYERS`] deep.
    fn glides(&self, frame: &Frame, poses: &[SolidPose], component: usize) -> Vec<Repeat> {
        let strides = frame.layout.strides();
        let stride = strides[component];
        // Faces whose value is known are neither listed here nor walls of a solid.
        let mut unknown = vec![];
        for (cut, owner) in self.cuts.faces[component].iter().zip(&self.owners[component]) {
            let at = cut.at as usize;
            let deep = self.flags[at] & self.flags[at - stride] & SOLID != 0;
            if cut.open == 0.0 && deep && poses[*owner as usize].slip == Slip::Free {
                unknown.push(cut.at);
            }
        }
        let closed: Vec<u32> =
            self.cuts.faces[component].iter().filter(|cut| cut.open == 0.0).map(|cut| cut.at).collect();
        let known = |at: usize, found: &[u32]| {
            let inside = is_face(frame.layout, component, at);
            inside
                && (closed.binary_search(&(at as u32)).is_err() || found.binary_search(&(at as u32)).is_ok())
        };
        let (mut repeats, mut found): (Vec<Repeat>, Vec<u32>) = (vec![], vec![]);
        for _ in 0..LAYERS {
            let layer: Vec<Repeat> = unknown
                .iter()
                .map(|&at| {
                    let neighbour = |side: usize| {
                        let stride = strides[side / 2];
                        if side.is_multiple_of(2) { at as usize - stride } else { at as usize + stride }
                    };
                    let from =
                        (0..6).filter(|&side| known(neighbour(side), &found)).map(|side| 1 << side).sum();
                    Repeat { at, from }
                })
                .filter(|repeat| repeat.from != 0)
                .collect();
            let done: Vec<u32> = layer.iter().map(|repeat| repeat.at).collect();
            unknown.retain(|at| done.binary_search(at).is_err());
            found.extend(done);
            found.sort_unstable();
            repeats.extend(layer);
        }
        repeats
    }
}

/// Whether a position is that of a face in the box or on its side.
fn is_face(layout: Layout, component: usize, at: usize) -> bool {
    let index = [at % layout.row, at % layout.plane / layout.row, at / layout.plane];
    let n = layout.dims.array();
    (0..3).all(|a| index[a] >= GHOST && index[a] < GHOST + n[a] + usize::from(a == component))
}

/// Flags of all cells, ghosts included, and the cells inside solids.
fn flags(frame: &Frame, cuts: &Cuts) -> (Vec<u8>, Vec<u32>) {
    let layout = frame.layout;
    let mut flags = vec![0u8; layout.size()];
    close_walls(frame, &mut flags);
    for (axis, faces) in cuts.faces.iter().enumerate() {
        for cut in faces.iter().filter(|cut| cut.open == 0.0) {
            flags[cut.at as usize] |= CLOSED << axis;
        }
    }
    let strides = layout.strides();
    let is_shut = |flags: &[u8], at: usize| {
        (0..3).all(|a| flags[at] & CLOSED << a != 0 && flags[at + strides[a]] & CLOSED << a != 0)
    };
    let mut inside = Vec::new();
    for (axis, faces) in cuts.faces.iter().enumerate() {
        for cut in faces.iter().filter(|cut| cut.open == 0.0) {
            for at in [cut.at as usize, cut.at as usize - strides[axis]] {
                if frame.holds(at) && flags[at] & SOLID == 0 && is_shut(&flags, at) {
                    flags[at] |= SOLID;
                    inside.push(at as u32);
                }
            }
        }
    }
    inside.sort_unstable();
    wrap(frame, &mut flags);
    (flags, inside)
}

fn close_walls(frame: &Frame, flags: &mut [u8]) {
    let n = frame.layout.dims.array().map(|n| n as isize);
    for axis in 0..3 {
        for (high, wall) in frame.walls[axis].into_iter().enumerate() {
            let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
            for (x, y) in (0..n[b]).flat_map(|x| (0..n[c]).map(move |y| (x, y))).filter(|_| wall) {
                let mut at = [0; 3];
                (at[axis], at[b], at[c]) = (if high == 1 { n[axis] } else { 0 }, x, y);
                flags[frame.layout.at(at[0], at[1], at[2])] |= CLOSED << axis;
            }
        }
    }
}

/// Repeats the flags beyond the ends of periodic axes.
fn wrap(frame: &Frame, flags: &mut [u8]) {
    let Layout { dims, .. } = frame.layout;
    let strides = frame.layout.strides();
    for axis in (0..3).filter(|&axis| frame.periodic[axis]) {
        let n = dims.array()[axis] as isize;
        let width = strides[axis] * (dims.array()[axis] + 2 * GHOST);
        for line in flags.chunks_mut(width) {
            let place = |i: isize| (i + GHOST as isize) as usize * strides[axis];
            for ghost in [-2, -1, n, n + 1] {
                let from = place(ghost.rem_euclid(n));
                if from + strides[axis] <= line.len() && place(ghost) + strides[axis] <= line.len() {
                    line.copy_within(from..from + strides[axis], place(ghost));
                }
            }
        }
    }
}

/// A cut face and the solid that cuts it.
struct Found {
    cut: Cut,
    owner: u16,
}

struct Scene<'a> {
    frame: Frame,
    poses: &'a [SolidPose],
}

/// Signed distances near one block, at nodes and cell centres from one cell below it to one above.
struct Samples {
    low: [isize; 3],
    size: [usize; 3],
    nodes: Vec<f32>,
    centers: Vec<f32>,
}

impl Samples {
    fn index(&self, at: [isize; 3]) -> usize {
        let i = [0, 1, 2].map(|a| (at[a] - self.low[a]) as usize);
        i[0] + self.size[0] * (i[1] + self.size[1] * i[2])
    }

    fn node(&self, at: [isize; 3]) -> f32 {
        self.nodes[self.index(at)]
    }

    fn center(&self, at: [isize; 3]) -> f32 {
        self.centers[self.index(at)]
    }

    /// Whether something thin pierces a cell.
    fn is_pierced(&self, at: [isize; 3]) -> bool {
        let corner = |c: usize| self.node([0, 1, 2].map(|a| at[a] + (c >> a & 1) as isize));
        self.center(at) < 0.0 && (0..4).any(|c| corner(c) > 0.0 && corner(7 - c) > 0.0)
    }
}

impl Scene<'_> {
    /// A point moved by whole periods to be nearest to a solid.
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

    fn nearest(&self, near: &[u16], p: [f32; 3]) -> (f32, u16) {
        near.iter().fold((f32::INFINITY, 0), |best, &of| {
            let pose = &self.poses[of as usize];
            let d = pose.distance(self.seen_from(pose, p));
            if d < best.0 { (d, of) } else { best }
        })
    }

    /// Solids whose surrounding ball comes within `reach` of a point.
    fn near(&self, p: [f32; 3], reach: f32) -> Vec<u16> {
        let is_near = |pose: &SolidPose| {
            let q = self.seen_from(pose, p);
            let apart: f32 = (0..3).map(|a| (q[a] - pose.position[a]).powi(2)).sum();
            apart.sqrt() < pose.reach() + reach
        };
        (0..self.poses.len() as u16).filter(|&of| is_near(&self.poses[of as usize])).collect()
    }

    /// The cut faces of one block. It has the low faces of its cells, and the high sides of the box where it touches them.
    fn block(&self, block: [usize; 3]) -> [Vec<Found>; 3] {
        let Frame { layout, h, .. } = self.frame;
        let n = layout.dims.array();
        let low = block.map(|b| (b * BLOCK) as isize);
        let high = [0, 1, 2].map(|a| ((block[a] + 1) * BLOCK).min(n[a]) as isize);
        let middle = [0, 1, 2].map(|a| 0.5 * (low[a] + high[a]) as f32 * h);
        let reach = (0.5 * BLOCK as f32 + 1.5) * 3.0f32.sqrt() * h;
        let near = self.near(middle, reach);
        let mut found: [Vec<Found>; 3] = Default::default();
        if near.is_empty() {
            return found;
        }
        let distance = self.distance(&near, middle);
        if distance > reach {
            return found;
        }
        let samples = (distance >= -reach).then(|| self.sample(&near, low, high));
        for component in 0..3 {
            let end = |a: usize| high[a] + isize::from(a == component && high[a] == n[a] as isize);
            for k in low[2]..end(2) {
                for j in low[1]..end(1) {
                    for i in low[0]..end(0) {
                        let at = [i, j, k];
                        if self.is_wall(component, at) {
                            continue;
                        }
                        let open = samples.as_ref().map_or(0.0, |s| self.open(&near, s, component, at));
                        if open < 1.0 {
                            found[component].push(self.found(&near, component, at, open));
                        }
                    }
                }
            }
        }
        found
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
        let velocity = self.poses[owner as usize].velocity[component];
        let at = self.frame.layout.at(at[0], at[1], at[2]) as u32;
        Found { cut: Cut { at, open, velocity }, owner }
    }

    fn sample(&self, near: &[u16], low: [isize; 3], high: [isize; 3]) -> Samples {
        let h = self.frame.h;
        let low = low.map(|x| x - 1);
        let size = [0, 1, 2].map(|a| (high[a] + 2 - low[a]) as usize);
        let at = |offset: f32| {
            let mut values = Vec::with_capacity(size.iter().product());
            for k in 0..size[2] {
                for j in 0..size[1] {
                    for i in 0..size[0] {
                        let p = [i, j, k];
                        let p = [0, 1, 2].map(|a| (low[a] as f32 + p[a] as f32 + offset) * h);
                        values.push(self.distance(near, p));
                    }
                }
            }
            values
        };
        Samples { low, size, nodes: at(0.0), centers: at(0.5) }
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
        if open < LEAST || [below, at].iter().any(|&cell| samples.is_pierced(cell)) {
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

    /// Mean position \[m\] of the corners outside.
    fn middle_of_open(&self, corners: &[([isize; 3], f32); 4]) -> [f32; 3] {
        let outside = corners.iter().filter(|corner| corner.1 > 0.0);
        let count = outside.clone().count() as f32;
        [0, 1, 2].map(|a| outside.clone().map(|(node, _)| node[a] as f32).sum::<f32>() / count * self.frame.h)
    }

    /// Whether a solid lies between two points: steps as long as the distance allows find it.
    fn is_hidden(&self, near: &[u16], from: [f32; 3], to: [f32; 3]) -> bool {
        let by = [0, 1, 2].map(|a| to[a] - from[a]);
        let length = by.iter().map(|x| x * x).sum::<f32>().sqrt();
        let least = 2e-3 * self.frame.h;
        let mut gone = 0.0;
        while gone < length {
            let p = [0, 1, 2].map(|a| from[a] + by[a] * (gone / length));
            let distance = self.distance(near, p);
            if distance < least {
                return true;
            }
            gone += distance;
        }
        false
    }
}

/// The part of a square outside, from the distances at its corners in turn: four triangles around the middle, linear in
/// each.
fn area(corners: [f32; 4]) -> f32 {
    if corners.iter().all(|&d| d > 0.0) {
        return 1.0;
    }
    let middle = corners.iter().sum::<f32>() * 0.25;
    (0..4).map(|c| 0.25 * triangle([corners[c], corners[(c + 1) % 4], middle])).sum()
}

/// The part of a triangle outside.
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
    use crate::grid::Dims;

    fn frame(n: [usize; 3]) -> Frame {
        let layout = Layout::new(Dims::new(n).unwrap());
        Frame { layout, h: 0.1, periodic: [false; 3], walls: [[true; 2]; 3] }
    }

    #[test]
    fn a_half_plane_cuts_a_square_as_geometry_says() {
        assert!((area([1.0, 1.0, -1.0, -1.0]) - 0.5).abs() < 1e-6);
        assert!((area([3.0, 3.0, -1.0, -1.0]) - 0.75).abs() < 1e-6);
        assert!((area([1.0, 0.0, -1.0, 0.0]) - 0.5).abs() < 1e-6);
        assert_eq!(area([-1.0; 4]), 0.0);
    }

    #[test]
    fn a_ball_closes_its_cross_section() {
        let radius = 0.63;
        let poses = [Solid::new(Shape::Sphere { radius }, [1.03, 0.97, 1.01]).pose(0.0, 0.0)];
        let voxels = Voxels::new(frame([20, 20, 20]), &poses);
        for component in 0..3 {
            // The faces of the plane through the middle leave out a disc.
            let closed: f32 = voxels.cuts.faces[component]
                .iter()
                .filter(|cut| crate::solver::project::cell_of(frame([20; 3]).layout, cut.at)[component] == 10)
                .map(|cut| 1.0 - cut.open)
                .sum();
            let off = [0.03f32, -0.03, 0.01][component];
            let want = std::f32::consts::PI * (radius * radius - off * off) * 100.0;
            assert!((closed / want - 1.0).abs() < 0.02, "component {component}: {closed} for {want}");
        }
    }

    /// Cells that air can reach from the first cell.
    fn reached(frame: &Frame, voxels: &Voxels) -> Vec<bool> {
        let n = frame.layout.dims.array();
        let strides = frame.layout.strides();
        let mut seen = vec![false; frame.layout.size()];
        let mut stack = vec![frame.layout.at(0, 0, 0)];
        while let Some(at) = stack.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            for a in 0..3 {
                let index = [
                    at % frame.layout.row,
                    at % frame.layout.plane / frame.layout.row,
                    at / frame.layout.plane,
                ];
                if voxels.flags[at] & CLOSED << a == 0 {
                    stack.push(at - strides[a]);
                }
                if index[a] + 1 < n[a] + GHOST && voxels.flags[at + strides[a]] & CLOSED << a == 0 {
                    stack.push(at + strides[a]);
                }
            }
        }
        seen
    }

    #[test]
    fn a_plate_of_any_thickness_at_any_angle_keeps_air_apart() {
        let frame = frame([16, 16, 16]);
        for thickness in [0.002, 0.01, 0.05, 0.09, 0.13, 0.17, 0.25] {
            for (turn, shift) in [
                ([0.0, 0.0, 0.0], 0.0),
                ([0.0, 0.0, 0.0], 0.05),
                ([0.0, 0.0, 0.0], 0.03),
                ([45.0, 0.0, 0.0], 0.01),
                ([45.0, 35.26, 0.0], 0.0),
                ([20.0, 0.0, 33.0], 0.02),
                ([7.0, 0.0, -3.0], 0.04),
            ] {
                let plate = Shape::Box { size: [9.0, thickness, 9.0] };
                let solid =
                    Solid { rotation: Solid::turn(turn), ..Solid::new(plate, [0.8, 0.8 + shift, 0.8]) };
                let pose = solid.pose(0.0, 0.0);
                let voxels = Voxels::new(frame, std::slice::from_ref(&pose));
                let seen = reached(&frame, &voxels);
                let side = |at: [isize; 3]| {
                    let p = at.map(|x| (x as f32 + 0.5) * 0.1);
                    let local = pose.local(p);
                    (local[1].abs() > 0.5 * thickness + 0.15).then_some(local[1] > 0.0)
                };
                let first = side([0, 0, 0]);
                let mut far = 0;
                for c in 0..16isize.pow(3) {
                    let at = [c % 16, c / 16 % 16, c / 256];
                    if side(at).is_some() && side(at) != first {
                        far += 1;
                        assert!(
                            !seen[frame.layout.at(at[0], at[1], at[2])],
                            "{thickness} {turn:?} {shift}: leak at {at:?}"
                        );
                    }
                }
                assert!(first.is_some() && far > 100, "{turn:?}: the plate stands between");
            }
        }
    }
}
