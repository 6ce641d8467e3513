//! Carrying smoke near solids.
//!
//! The fast kernels interpolate straight through a plate. Cells that a trace could take across a solid are therefore
//! done once more, with care: the way back is walked from cell to cell and does not pass a closed face (it slides
//! along it), and the value at its end is the mean over those of the eight cells around it that can be reached without
//! passing one. The weights of the others go to these. First order; monotone.
//!
//! A moving solid takes its surroundings along: the walk is made relative to it, among the faces as they are at the end of
//! the step, and its end is looked up among the faces as they were at the beginning. Which of them are closed then differs:
//! a plate closes the faces between the middles of cells that lie on its two sides. So where closed faces part the eight
//! cells, those count whose middles lie on the side of the cell in which the walk has ended.

use nalgebra::{UnitQuaternion, Vector3};
use rayon::prelude::*;

use super::SolidPose;
use super::voxels::{CLOSED, Frame, SOLID, Voxels};
use crate::grid::{GHOST, Layout};
use crate::solver::SCALAR_LIMIT;
use crate::solver::sides::Reach;
use crate::solver::sweep::{leave_room, refill};

/// Cells done together.
const RUN: usize = 256;

/// What a cell that is near no solid is near to.
const NOBODY: u16 = u16::MAX;

/// The cells near solids.
pub struct Near {
    /// Positions, rising, with the solid each is near to.
    cells: Vec<(u32, u16)>,
    /// How many cells deep the surroundings are.
    depth: u32,
    values: Vec<[f32; 4]>,
    /// While they are looked for: the positions found, and of each place of the layout the solid it is near to.
    found: Vec<u32>,
    owner: Vec<u16>,
}

/// What a walk needs to know.
pub struct Way<'a> {
    /// Where values may be sampled.
    pub reach: &'a Reach,
    /// Closed faces at the beginning of the step.
    pub before: &'a [u8],
    /// Closed faces at its end.
    pub after: &'a [u8],
    /// The solids as they stand at its end.
    pub poses: &'a [SolidPose],
    /// How each has moved.
    pub shifts: &'a [Shift],
    /// Edge of a cell \[m\].
    pub h: f32,
    /// How far each cell's air has come, in cells.
    pub back: &'a [[f32; 4]],
}

/// How a solid has moved in a step.
#[derive(Clone, Copy, Default)]
pub struct Shift {
    /// How far its position has come, in cells.
    along: [f32; 3],
    /// The turn back to how it stood, and where its position is now in cells, the middle of the first being 0.
    back: Option<(UnitQuaternion<f32>, [f32; 3])>,
}

impl Shift {
    /// From how a solid stood to how it stands `now`, in cells of `h` metres.
    pub fn between(before: &SolidPose, now: &SolidPose, h: f32) -> Self {
        let along = [0, 1, 2].map(|a| (now.position[a] - before.position[a]) / h);
        let center = now.position.map(|x| x / h - 0.5);
        Self { along, back: now.turned_since(before.rotation).map(|turn| (turn, center)) }
    }

    /// Whether it has moved.
    pub fn is_some(&self) -> bool {
        self.along != [0.0; 3] || self.back.is_some()
    }

    /// How far a place has come with it, in cells; of a periodic box the image that is nearest to it moves.
    fn of(&self, place: [f32; 3], reach: &Reach) -> [f32; 3] {
        let Some((turn, center)) = &self.back else { return self.along };
        let from = [0, 1, 2].map(|a| {
            let from = place[a] - center[a];
            from - (from * reach.per_period[a]).round() * reach.period[a]
        });
        let from = Vector3::from(from);
        (Vector3::from(self.along) + from - turn * from).into()
    }
}

impl Near {
    /// None, in fields of `layout`.
    pub fn new(layout: Layout) -> Self {
        let owner = vec![NOBODY; layout.size()];
        Self { cells: vec![], depth: 0, values: vec![], found: vec![], owner }
    }

    /// Takes none as known.
    pub fn forget(&mut self) {
        self.depth = 0;
    }

    /// Looks for the cells up to `depth` from a closed face that is no wall of the box.
    pub fn find(&mut self, frame: &Frame, voxels: &Voxels, depth: u32) {
        self.find_surface(frame, voxels);
        let Self { cells, values, found, owner, .. } = self;
        let mut first = 0;
        for _ in 1..depth {
            let layer = first..found.len();
            first = found.len();
            for at in layer {
                let at = found[at] as usize;
                let by = owner[at];
                neighbours(frame, at, |near| {
                    if voxels.flags[near] & SOLID == 0 {
                        visit(near, by, owner, found);
                    }
                });
            }
        }
        found.sort_unstable();
        leave_room(found);
        refill(cells, found.iter().map(|&at| (at, owner[at as usize])));
        refill(values, std::iter::repeat_n([0.0; 4], found.len()));
        found.iter().for_each(|&at| owner[at as usize] = NOBODY);
        self.depth = depth;
    }

    /// Looks for the cells beside closed faces.
    fn find_surface(&mut self, frame: &Frame, voxels: &Voxels) {
        let strides = frame.layout.strides();
        self.found.clear();
        for (axis, (faces, owners)) in voxels.cuts.faces.iter().zip(&voxels.owners).enumerate() {
            for (cut, by) in faces.iter().zip(owners).filter(|(cut, _)| cut.open == 0.0) {
                for at in [cut.at as usize, cut.at as usize - strides[axis]] {
                    if frame.holds(at) && voxels.flags[at] & SOLID == 0 {
                        visit(at, *by, &mut self.owner, &mut self.found);
                    }
                }
            }
        }
    }

    /// How many cells deep the surroundings are.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Works out the values these cells get from `field`.
    pub fn carry(&mut self, layout: Layout, way: &Way, field: &[[f32; 4]]) {
        let Self { cells, values, .. } = self;
        values.par_chunks_mut(RUN).zip(cells.par_chunks(RUN)).for_each(|(values, cells)| {
            for (value, &(at, owner)) in values.iter_mut().zip(cells) {
                *value = carried(layout, way, field, at as usize, usize::from(owner));
            }
        });
    }

    /// Puts the values, each times `keep`, where they belong.
    pub fn put(&self, keep: &[f32; 4], field: &mut [[f32; 4]]) {
        for (&(at, _), value) in self.cells.iter().zip(&self.values) {
            field[at as usize] =
                std::array::from_fn(|c| (value[c] * keep[c]).clamp(-SCALAR_LIMIT, SCALAR_LIMIT));
        }
    }
}

/// Notes that a cell is near a solid, unless it is known to be near one.
fn visit(at: usize, by: u16, owner: &mut [u16], found: &mut Vec<u32>) {
    if owner[at] == NOBODY {
        owner[at] = by;
        found.push(at as u32);
    }
}

/// Calls `f` for a cell and its 26 neighbours in the box.
fn neighbours(frame: &Frame, at: usize, mut f: impl FnMut(usize)) {
    let layout = frame.layout;
    let index = index_of(layout, at);
    let n = layout.dims.array().map(|n| n as isize);
    for d in 0..27isize {
        let mut to = [index[0] + d % 3 - 1, index[1] + d / 3 % 3 - 1, index[2] + d / 9 - 1];
        for a in (0..3).filter(|&a| frame.periodic[a]) {
            to[a] = to[a].rem_euclid(n[a]);
        }
        if (0..3).all(|a| (0..n[a]).contains(&to[a])) {
            f(layout.at(to[0], to[1], to[2]));
        }
    }
}

fn index_of(layout: Layout, at: usize) -> [isize; 3] {
    let g = GHOST as isize;
    [at % layout.row, at % layout.plane / layout.row, at / layout.plane].map(|x| x as isize - g)
}

/// The value that comes to a cell near the solid `owner`.
fn carried(layout: Layout, way: &Way, field: &[[f32; 4]], at: usize, owner: usize) -> [f32; 4] {
    let (start, shift) = (index_of(layout, at), &way.shifts[owner]);
    let drift = shift.of(start.map(|x| x as f32), way.reach);
    let foot = [0, 1, 2].map(|a| start[a] as f32 - (way.back[at][a] - drift[a]));
    let (end, cell) = walk(layout, way.reach, way.after, start, foot);
    let drift = shift.of(end, way.reach);
    let end = [0, 1, 2].map(|a| end[a] - drift[a]);
    let cell = cell.map(|x| x as f32);
    let side = shift.is_some().then(|| Side { pose: &way.poses[owner], shift, way, cell });
    sample(layout, way, field, end, side.as_ref()).unwrap_or_else(|| surroundings(layout, way, field, at))
}

/// The side of a moving solid on which a cell lies at the end of the step.
struct Side<'a> {
    pose: &'a SolidPose,
    shift: &'a Shift,
    way: &'a Way<'a>,
    cell: [f32; 3],
}

impl Side<'_> {
    /// Whether a cell of the beginning was on it: whether the nearest surface faces the same way.
    fn had(&self, cell: [f32; 3]) -> bool {
        let drift = self.shift.of(cell, self.way.reach);
        let then = [0, 1, 2].map(|a| cell[a] + drift[a]);
        let (here, there) = (self.normal(self.cell), self.normal(then));
        (0..3).map(|a| here[a] * there[a]).sum::<f32>() >= 0.0
    }

    /// Where the distance from the solid rises at a place given in cells, near the periodic image that is nearest to
    /// the cell.
    fn normal(&self, place: [f32; 3]) -> [f32; 3] {
        let (h, period) = (self.way.h, self.way.reach.period);
        let p = [0, 1, 2].map(|a| {
            let from = self.cell[a] + 0.5 - self.pose.position[a] / h;
            let images = if period[a] > 0.0 { (from / period[a]).round() } else { 0.0 };
            (place[a] + 0.5 - images * period[a]) * h
        });
        // Finer than any plate that is told from none.
        let by = 0.01 * h;
        [0, 1, 2].map(|a| {
            let along =
                |by: f32| self.pose.distance(std::array::from_fn(|b| p[b] + if a == b { by } else { 0.0 }));
            along(by) - along(-by)
        })
    }
}

/// Where a straight way from the middle of a cell ends that cannot pass closed faces, and in which cell; neither is brought
/// back into the box across periodic sides.
fn walk(
    layout: Layout,
    reach: &Reach,
    flags: &[u8],
    start: [isize; 3],
    foot: [f32; 3],
) -> ([f32; 3], [isize; 3]) {
    let n = layout.dims.array().map(|n| n as isize);
    let strides = layout.strides();
    let from = start.map(|x| x as f32);
    let mut to = [0, 1, 2]
        .map(|a| if reach.period[a] > 0.0 { foot[a] } else { foot[a].clamp(reach.low[a], reach.high[a]) });
    let mut cell = start;
    // Each pass crosses a face or gives up an axis.
    let most = 3 + (0..3).map(|a| (to[a] - from[a]).abs() as usize + 1).sum::<usize>();
    for _ in 0..most {
        let crossing = |a: usize| {
            let up = to[a] > from[a];
            let border = cell[a] as f32 + if up { 0.5 } else { -0.5 };
            let crosses = if up { to[a] > border } else { to[a] < border };
            crosses.then(|| ((border - from[a]) / (to[a] - from[a]), a, up, border))
        };
        let Some((_, a, up, border)) =
            (0..3).filter_map(crossing).reduce(|x, y| if y.0 < x.0 { y } else { x })
        else {
            break;
        };
        let wrapped =
            [0, 1, 2].map(|a| if reach.period[a] > 0.0 { cell[a].rem_euclid(n[a]) } else { cell[a] });
        let at = layout.at(wrapped[0], wrapped[1], wrapped[2]);
        let face = if up { at + strides[a] } else { at };
        if flags[face] & CLOSED << a != 0 {
            to[a] = border + if up { -1e-3 } else { 1e-3 };
        } else {
            cell[a] += if up { 1 } else { -1 };
        }
    }
    (to, cell)
}

/// The mean, weighted as for trilinear interpolation, over the cells around a point that can be reached from the nearest
/// one on the `side` of a moving solid; none if all are inside a solid or on other sides.
fn sample(
    layout: Layout,
    way: &Way,
    field: &[[f32; 4]],
    p: [f32; 3],
    side: Option<&Side>,
) -> Option<[f32; 4]> {
    let (strides, reach, flags) = (layout.strides(), way.reach, way.before);
    let (mut base, mut fraction, mut corner) = ([0isize; 3], [0.0; 3], [0.0; 3]);
    for a in 0..3 {
        let images = ((p[a] - reach.low[a]) * reach.per_period[a]).floor() * reach.period[a];
        let x = (p[a] - images).clamp(reach.low[a], reach.high[a]);
        let low = x.floor().min(reach.last[a]);
        (base[a], fraction[a], corner[a]) = (low as isize, x - low, low + images);
    }
    let first = layout.at(base[0], base[1], base[2]);
    let place = |c: usize| first + (0..3).map(|a| (c >> a & 1) * strides[a]).sum::<usize>();
    let weight = |c: usize| {
        (0..3).map(|a| if c >> a & 1 == 1 { fraction[a] } else { 1.0 - fraction[a] }).product::<f32>()
    };
    let is_free = |c: &usize| flags[place(*c)] & SOLID == 0;
    let free: u8 = (0..8).filter(is_free).map(|c| 1 << c).sum();
    let nearest_of = |set: u8| {
        (0..8).filter(|c| set >> c & 1 == 1).reduce(|a, b| if weight(b) > weight(a) { b } else { a })
    };
    let closed = |c: usize, a: usize| flags[place(c | 1 << a)] & CLOSED << a != 0;
    let nearest = nearest_of(free)?;
    let mut chosen = (nearest, reached(nearest, closed));
    if let Some(side) = side.filter(|_| chosen.1 != u8::MAX) {
        let is_there = |c: usize| side.had([0, 1, 2].map(|a| corner[a] + (c >> a & 1) as f32));
        let mut left = free;
        while !is_there(chosen.0) {
            left &= !chosen.1;
            let next = nearest_of(left)?;
            chosen = (next, reached(next, closed));
        }
    }
    let (mut sum, mut total) = ([0.0f32; 4], 0.0);
    for c in (0..8).filter(|c| chosen.1 >> c & 1 == 1) {
        let (w, value) = (weight(c), field[place(c)]);
        total += w;
        (0..4).for_each(|i| sum[i] += w * value[i]);
    }
    if total > 1e-6 { Some(sum.map(|x| x / total)) } else { Some(field[place(chosen.0)]) }
}

/// The corners of a cube, as a set of bits, to which edges lead from one of them; `closed(c, a)` tells which edges along
/// axis a are shut.
fn reached(from: usize, closed: impl Fn(usize, usize) -> bool) -> u8 {
    let mut reached = 1u8 << from;
    for _ in 0..3 {
        for (c, a) in (0..8usize).flat_map(|c| (0..3).map(move |a| (c, a))) {
            if reached >> c & 1 == 1 && !closed(c, a) {
                reached |= 1 << (c ^ 1 << a);
            }
        }
    }
    reached
}

/// The mean over the cells around one that a solid has just left, but for those beyond a closed face.
fn surroundings(layout: Layout, way: &Way, field: &[[f32; 4]], at: usize) -> [f32; 4] {
    let (mut sum, mut count) = ([0.0; 4], 0.0f32);
    for (a, stride) in layout.strides().into_iter().enumerate() {
        for (next, face) in [(at - stride, at), (at + stride, at + stride)] {
            if way.before[next] & SOLID == 0 && way.after[face] & CLOSED << a == 0 {
                (0..4).for_each(|c| sum[c] += field[next][c]);
                count += 1.0;
            }
        }
    }
    sum.map(|x| x / count.max(1.0))
}
