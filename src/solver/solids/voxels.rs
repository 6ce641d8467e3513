//! Solids on the grid: which faces they cut, and which cells they fill.
//!
//! [`faces`](super::faces) computes the open fractions.

use std::sync::{Mutex, PoisonError};

use super::faces::{Found, LastSearch, Scene, Scratch};
pub use super::frame::Frame;
use super::{Slip, SolidPose};
use crate::grid::{Faces, GHOST, Layout};
use crate::solver::project::{Cuts, cell_of};
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes::{PerThread, leave_room, refill};

/// Layers of faces inside a free-slip solid that repeat the flow outside, for interpolation along its
/// surface.
const LAYERS: usize = 3;

/// Flag of a cell: its low face across axis a (`CLOSED << a`) is closed.
pub const CLOSED: u8 = 1;
/// Flag of a cell: all its faces are closed.
pub const SOLID: u8 = 8;

/// A face inside a solid, and the neighbours whose mean it takes: bit 2a + side stands for the neighbour
/// below or above along axis a.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    at: u32,
    from: u8,
}

/// Faces that are not wholly open, for each component in the order of their positions.
pub type CutFaces = [Vec<Found>; 3];

/// Effect of solids on the grid.
pub struct Voxels {
    /// Faces that are not wholly open.
    pub cuts: Cuts,
    /// [`CLOSED`] and [`SOLID`] of each cell, walls of the box included.
    pub flags: Vec<u8>,
    /// Positions of the cells inside solids.
    pub inside: Vec<u32>,
    /// Solid at each face of `cuts`.
    pub owners: [Vec<u16>; 3],
    /// Faces inside free-slip solids, in layers from the surface, for each component.
    repeats: [Vec<Repeat>; 3],
    /// Faces inside bodies of revolution that spin, with the velocity of no-slip air there \[m/s\].
    surface_velocities: [Vec<(u32, f32)>; 3],
    work: Work,
}

/// Memory for the search.
struct Work {
    last: LastSearch,
    /// The cut faces of each component that the last search found, in the order of their positions.
    found: [Mutex<Vec<Found>>; 3],
    scratch: PerThread<Scratch>,
    glide: Glide,
}

/// Positions of the faces of one component, ascending: closed faces, faces not yet extended, and extended
/// ones.
#[derive(Default)]
struct Glide {
    closed: Vec<u32>,
    unknown: Vec<u32>,
    known: Vec<u32>,
}

impl Voxels {
    /// Finds the voxels of `poses`, with their cut faces if those are known.
    pub fn new(frame: Frame, poses: &[SolidPose], known: Option<&CutFaces>) -> Self {
        let scratch = PerThread::new(rayon::current_num_threads(), || Scratch::new(poses.len()));
        let mut voxels = Self {
            cuts: Cuts::default(),
            flags: vec![0; frame.layout.size()],
            inside: vec![],
            owners: Default::default(),
            repeats: Default::default(),
            surface_velocities: Default::default(),
            work: Work {
                last: LastSearch::default(),
                found: Default::default(),
                scratch,
                glide: Glide::default(),
            },
        };
        voxels.update(frame, poses, known);
        voxels
    }

    /// Finds the voxels of the same number of `poses` again, in the memory already allocated.
    pub fn update(&mut self, frame: Frame, poses: &[SolidPose], known: Option<&CutFaces>) {
        let scene = Scene { frame, poses };
        match known {
            Some(known) => self.take_cuts(known),
            None => self.find_cuts(&scene),
        }
        self.find_surface_velocities(&scene);
        self.set_flags(&frame);
        for component in 0..3 {
            self.find_glides(&frame, poses, component);
        }
    }

    fn find_cuts(&mut self, scene: &Scene) {
        let Work { last, found, scratch, .. } = &mut self.work;
        last.begin(scene);
        for list in &mut *found {
            let list = list.get_mut().unwrap_or_else(PoisonError::into_inner);
            list.retain(|found| !last.is_stale(scene, cell_of(scene.frame.layout, found.cut.at)));
        }
        last.each_stale(scene, |block| {
            let mut mine = scratch.mine();
            scene.block(block, &mut mine);
            for (list, more) in found.iter().zip(&mine.found).filter(|(_, more)| !more.is_empty()) {
                list.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(more);
            }
        });
        for (component, list) in found.iter_mut().enumerate() {
            let list = list.get_mut().unwrap_or_else(PoisonError::into_inner);
            leave_room(list);
            list.sort_unstable_by_key(|found| found.cut.at);
            refill(&mut self.owners[component], list.iter().map(|found| found.owner));
            self.cuts.refill(component, list.iter().map(|found| found.cut));
        }
    }

    fn take_cuts(&mut self, known: &CutFaces) {
        for (component, list) in known.iter().enumerate() {
            refill(&mut self.owners[component], list.iter().map(|found| found.owner));
            self.cuts.refill(component, list.iter().map(|found| found.cut));
        }
    }

    fn find_surface_velocities(&mut self, scene: &Scene) {
        let Self { cuts, owners, surface_velocities, .. } = self;
        for (component, surface_velocity) in surface_velocities.iter_mut().enumerate() {
            let faces = cuts.faces[component].iter().zip(&owners[component]);
            let turning = faces.filter(|(cut, owner)| {
                let pose = &scene.poses[usize::from(**owner)];
                cut.open == 0.0 && pose.slip == Slip::None && pose.surface_velocity != [0.0; 3]
            });
            let velocity = |at: u32, owner: u16| {
                scene.surface_velocity(owner, scene.middle_of_face(component, at))[component]
            };
            refill(surface_velocity, turning.map(|(cut, owner)| (cut.at, velocity(cut.at, *owner))));
        }
    }

    /// Sets the flags of all cells, ghosts included, and finds the cells inside solids.
    fn set_flags(&mut self, frame: &Frame) {
        let Self { cuts, flags, inside, .. } = self;
        frame.planes().for_each(|planes| flags[frame.layout.span(planes)].fill(0));
        close_walls(frame, flags);
        for (axis, faces) in cuts.faces.iter().enumerate() {
            for cut in faces.iter().filter(|cut| cut.open == 0.0) {
                flags[cut.at as usize] |= CLOSED << axis;
            }
        }
        let strides = frame.layout.strides();
        let is_shut = |flags: &[u8], at: usize| {
            (0..3).all(|a| flags[at] & CLOSED << a != 0 && flags[at + strides[a]] & CLOSED << a != 0)
        };
        inside.clear();
        for (axis, faces) in cuts.faces.iter().enumerate() {
            for cut in faces.iter().filter(|cut| cut.open == 0.0) {
                for at in [cut.at as usize, cut.at as usize - strides[axis]] {
                    if frame.holds(at) && flags[at] & SOLID == 0 && is_shut(flags, at) {
                        flags[at] |= SOLID;
                        inside.push(at as u32);
                    }
                }
            }
        }
        leave_room(inside);
        inside.sort_unstable();
        fill_ghosts(frame, flags);
    }

    /// The open fraction of a face.
    pub fn open(&self, layout: Layout, component: usize, at: [isize; 3]) -> f32 {
        let faces = &self.cuts.faces[component];
        let at = layout.at(at[0], at[1], at[2]) as u32;
        faces.binary_search_by_key(&at, |cut| cut.at).map_or(1.0, |found| faces[found].open)
    }

    /// Updates the velocities of cut faces of solids that have not moved.
    pub fn set_velocities(&mut self, poses: &[SolidPose]) {
        for (component, (faces, owners)) in self.cuts.faces.iter_mut().zip(&self.owners).enumerate() {
            for (cut, owner) in faces.iter_mut().zip(owners) {
                cut.velocity = poses[*owner as usize].velocity[component];
            }
        }
    }

    /// Extends the flow to faces inside solids. Free-slip faces take the mean of the flow outside; faces of
    /// spinning no-slip bodies of revolution take the velocity of the surface.
    pub fn extend(&self, layout: Layout, ranks: &Ranks, velocity: &mut Faces) {
        let [u, v, w] = &mut *velocity;
        // A face of the last layer repeats others up to as many planes away.
        ranks.exchange(layout, [u, v, w], [LAYERS; 2]);
        let strides = layout.strides();
        for (surface_velocity, field) in self.surface_velocities.iter().zip(velocity.iter_mut()) {
            surface_velocity.iter().for_each(|&(at, turning)| field[at as usize] = turning);
        }
        for (repeats, field) in self.repeats.iter().zip(velocity) {
            for repeat in repeats {
                let at = repeat.at as usize;
                let (mut sum, mut count) = (0.0, 0.0);
                for side in (0..6).filter(|side| repeat.from >> side & 1 == 1) {
                    sum += field[beside(strides, at, side)];
                    count += 1.0;
                }
                field[at] = sum / count;
            }
        }
    }

    /// Finds the faces of a component that lie wholly inside a free-slip solid, up to [`LAYERS`] deep.
    fn find_glides(&mut self, frame: &Frame, poses: &[SolidPose], component: usize) {
        let Self { cuts, flags, owners, repeats, work, .. } = self;
        let Glide { closed, unknown, known } = &mut work.glide;
        let strides = frame.layout.strides();
        let shut = cuts.faces[component].iter().zip(&owners[component]).filter(|(cut, _)| cut.open == 0.0);
        // Faces with a known value are neither listed here nor walls of a solid.
        let is_unknown = |at: usize, owner: u16| {
            let deep = flags[at] & flags[at - strides[component]] & SOLID != 0;
            deep && poses[usize::from(owner)].slip == Slip::Free
        };
        let deep = shut.clone().filter(|(cut, owner)| is_unknown(cut.at as usize, **owner));
        refill(unknown, deep.map(|(cut, _)| cut.at));
        refill(closed, shut.map(|(cut, _)| cut.at));
        known.clear();
        let repeats = &mut repeats[component];
        repeats.clear();
        for _ in 0..LAYERS {
            let first = repeats.len();
            let is_known = |at: usize| {
                let has = |list: &[u32]| list.binary_search(&(at as u32)).is_ok();
                is_face(frame.layout, component, at) && (!has(closed) || has(known))
            };
            let from =
                |at: usize| (0..6).filter(|&side| is_known(beside(strides, at, side))).map(|s| 1 << s).sum();
            let layer = unknown.iter().map(|&at| Repeat { at, from: from(at as usize) });
            repeats.extend(layer.filter(|repeat| repeat.from != 0));
            let layer = &repeats[first..];
            unknown.retain(|at| layer.binary_search_by_key(at, |repeat| repeat.at).is_err());
            known.extend(layer.iter().map(|repeat| repeat.at));
            known.sort_unstable();
        }
        leave_room(known);
        leave_room(repeats);
    }
}

/// Returns the neighbour on a side: 2a for the one below along axis a, 2a + 1 for that above.
fn beside(strides: [usize; 3], at: usize, side: usize) -> usize {
    let stride = strides[side / 2];
    if side.is_multiple_of(2) { at - stride } else { at + stride }
}

/// Whether a position is that of a face in the box or on its side.
fn is_face(layout: Layout, component: usize, at: usize) -> bool {
    let index = [at % layout.row, at % layout.plane / layout.row, at / layout.plane];
    let n = layout.dims.array();
    (0..3).all(|a| index[a] >= GHOST && index[a] < GHOST + n[a] + usize::from(a == component))
}

fn close_walls(frame: &Frame, flags: &mut [u8]) {
    let n = frame.layout.dims.array().map(|n| n as isize);
    for axis in 0..3 {
        for (high, wall) in frame.walls[axis].into_iter().enumerate() {
            let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
            for (x, y) in (0..n[b]).flat_map(|x| (0..n[c]).map(move |y| (x, y))).filter(|_| wall) {
                let mut at = [0; 3];
                (at[axis], at[b], at[c]) = (if high == 1 { n[axis] } else { 0 }, x, y);
                let cell = at[2].min(n[2] - 1) as usize;
                if !frame.reaches([cell, cell + 1]) {
                    continue;
                }
                flags[frame.layout.at(at[0], at[1], at[2])] |= CLOSED << axis;
            }
        }
    }
}

/// Fills the flags of the ghosts. Beyond the ends of periodic axes they repeat the other end. Elsewhere a
/// solid that touches a side continues behind it. Otherwise backflow on one side of a plate would bring in
/// values from the other side of the plate.
fn fill_ghosts(frame: &Frame, flags: &mut [u8]) {
    let strides = frame.layout.strides();
    for (axis, n) in frame.layout.dims.array().into_iter().enumerate() {
        let (stride, width) = (strides[axis], strides[axis] * (n + 2 * GHOST));
        let n = n as isize;
        let place = |i: isize| (i + GHOST as isize) as usize * stride;
        let across = (SOLID | CLOSED | CLOSED << 1 | CLOSED << 2) & !(CLOSED << axis);
        let fill = |line: &mut [u8], ghosts: [bool; 2]| {
            let length = line.len();
            let all = [(-2, 0), (-1, 0), (n, 1), (n + 1, 1)].into_iter();
            for (ghost, _) in all.filter(|&(i, high)| ghosts[high] && place(i) + stride <= length) {
                let to = place(ghost);
                if frame.periodic[axis] {
                    let from = place(ghost.rem_euclid(n));
                    line.copy_within(from..from + stride, to);
                } else {
                    let from = place(ghost.clamp(0, n - 1));
                    (0..stride).for_each(|at| line[to + at] |= line[from + at] & across);
                }
            }
        };
        if axis == 2 {
            fill(flags, [frame.reaches([0, 1]), frame.reaches([n as usize - 1, n as usize])]);
        } else {
            for planes in frame.planes() {
                flags[frame.layout.span(planes)].chunks_mut(width).for_each(|line| fill(line, [true; 2]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Shape, Solid};
    use super::*;
    use crate::grid::Dims;

    fn frame(n: [usize; 3]) -> Frame {
        let layout = Layout::new(Dims::new(n).unwrap());
        let parts = [[0, n[2]], [0; 2], [0; 2]];
        Frame { layout, h: 0.1, periodic: [false; 3], walls: [[true; 2]; 3], parts }
    }

    #[test]
    fn a_ball_closes_its_cross_section() {
        let radius = 0.63;
        let poses = [Solid::new(Shape::Sphere { radius }, [1.03, 0.97, 1.01]).pose(0.0, 0.0)];
        let voxels = Voxels::new(frame([20, 20, 20]), &poses, None);
        for component in 0..3 {
            // A disc is missing from the faces of the plane through the middle.
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

    #[test]
    fn an_updated_search_equals_a_new_search() {
        let frame = frame([48, 24, 24]);
        let ball = Solid::new(Shape::Sphere { radius: 0.35 }, [0.8, 1.2, 1.21]).pose(0.0, 0.0);
        let plank = Solid {
            rotation: Solid::turn([0.0, 20.0, 33.0]),
            spin: [0.0, 0.0, 3.0],
            ..Solid::new(Shape::Box { size: [0.9, 0.03, 0.7] }, [3.1, 1.2, 1.2])
        };
        let mut poses = vec![ball, plank.pose(0.0, 0.0)];
        let mut again = Voxels::new(frame, &poses, None);
        for step in 1..12 {
            poses[0].position[0] += 0.17;
            poses[0].velocity = [1.7, 0.0, 0.1 * step as f32];
            if step > 6 {
                poses[1].rotation = plank.rotation_at(0.1 * f64::from(step));
            }
            again.update(frame, &poses, None);
            let first = Voxels::new(frame, &poses, None);
            assert_eq!(again.cuts.faces, first.cuts.faces, "step {step}");
            assert_eq!((&again.owners, &again.flags), (&first.owners, &first.flags), "step {step}");
        }
    }

    /// Cells connected to the first cell by open faces.
    fn connected(frame: &Frame, voxels: &Voxels) -> Vec<bool> {
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
    fn a_plate_of_any_thickness_at_any_angle_is_airtight() {
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
                let voxels = Voxels::new(frame, std::slice::from_ref(&pose), None);
                let seen = connected(&frame, &voxels);
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
