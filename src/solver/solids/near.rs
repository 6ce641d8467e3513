//! Advection of smoke near solids: first order, monotone, never through a solid.
//!
//! ```text
//!     ┌───────┰───────┐      x: the cell to fill. Its back-trace points up and left, across the plate ┃.
//!     │   A   ┃   B   │      The walk stops at the plate, slides along it and ends in B.
//!     │       ┃ ◂─┐   │      Interpolation at its end uses B and D. A and C count 0: no path from B
//!     ├───────╂───│───┤      leads to them without crossing a closed face.
//!     │   C   ┃   x D │
//!     └───────┸───────┘
//! ```
//!
//! The fast kernels interpolate straight through a plate. Cells whose trace could cross a solid are therefore advected
//! again in three steps:
//!
//! 1. Walk the back-trace from cell to cell. It does not pass a closed face but slides along it ([`walk`]).
//! 2. Average those of the eight cells around its end that can be reached without passing a closed face. They share the
//!    weights of the others ([`sample`]).
//! 3. Near a moving solid, walk relative to it, among the closed faces of the end of the step. The end is looked up among the
//!    faces of the beginning, and these may differ: a plate closes the faces between cells on its two sides, and it has
//!    moved. So where closed faces part the eight cells, those on the same side of the solid as the walk's last cell
//!    count ([`SolidSide`]).

use std::ops::Range;

use nalgebra::{UnitQuaternion, Vector3};
use rayon::prelude::*;

use super::SolidPose;
use super::faces::Scene;
use super::voxels::{CLOSED, Frame, SOLID, Voxels};
use crate::grid::{GHOST, Layout};
use crate::solver::SCALAR_LIMIT;
use crate::solver::sides::SampleBounds;
use crate::solver::storage::row_passes::{leave_room, refill};

/// Cells of one task.
const RUN: usize = 256;

/// Owner of a cell that no solid is near. Other cells have the number of their solid plus 1.
const NO_SOLID: u16 = 0;

/// Flag in the owner of a cell that belongs to the layer being searched.
const THIS_LAYER: u16 = 1 << 15;

/// Cells around a departure point whose weights differ by no more than this are equally near to it.
const TIE: f32 = 1e-4;

/// Weight of the [`wider`] surroundings if no other cell counts.
const WIDER_WEIGHT: f32 = 0.01;

/// Normals with at least this cosine between them face the same way. Slightly negative: at a right angle, on
/// either side of an edge or of a round body, rounding must not decide.
const SAME_WAY: f32 = -0.05;

/// The cells near solids.
pub struct Near {
    /// Positions, ascending, with the nearest solid of each.
    cells: Vec<(u32, u16)>,
    /// Depth of the surroundings \[cells\].
    depth: u32,
    values: Vec<[f32; 4]>,
    /// Scratch of the search: the positions found.
    found: Vec<u32>,
    owner: Vec<u16>,
}

/// Input of the walks.
pub struct WalkInput<'a> {
    /// Bounds within which values may be sampled.
    pub bounds: &'a SampleBounds,
    /// Flags of closed faces at the beginning of the step.
    pub before: &'a [u8],
    /// Flags of closed faces at the end of the step.
    pub after: &'a [u8],
    /// Poses of the solids at the end of the step.
    pub poses: &'a [SolidPose],
    /// Motion of each solid in the step.
    pub shifts: &'a [Shift],
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Displacement of each cell's back-trace \[cells\].
    pub back: &'a [[f32; 4]],
}

/// Motion of a solid in a step.
#[derive(Clone, Copy, Default)]
pub struct Shift {
    /// Displacement of its position \[cells\].
    along: [f32; 3],
    /// Rotation back to the start of the step, and the present position of the centre \[cells\], the middle
    /// of the first cell being 0.
    back: Option<(UnitQuaternion<f32>, [f32; 3])>,
}

impl Shift {
    /// Motion from the pose `before` to the pose `now`, in cells of `h` metres.
    pub fn between(before: &SolidPose, now: &SolidPose, h: f32) -> Self {
        let along = [0, 1, 2].map(|a| (now.position[a] - before.position[a]) / h);
        let center = now.position.map(|x| x / h - 0.5);
        Self { along, back: now.turned_since(before.rotation).map(|turn| (turn, center)) }
    }

    /// Upper bound of the displacement of a point that moves with the solid, at most `far` cells from its position \[cells\].
    pub fn most(&self, far: f32) -> f32 {
        let turned = self.back.map_or(0.0, |(turn, _)| turn.angle() * far);
        self.along.iter().map(|along| along.abs()).fold(0.0, f32::max) + turned
    }

    /// Whether it has moved.
    pub fn is_some(&self) -> bool {
        self.along != [0.0; 3] || self.back.is_some()
    }

    /// Displacement of a point that moves with the solid \[cells\]. In a periodic box the nearest image of
    /// the solid moves it.
    fn displacement_at(&self, place: [f32; 3], bounds: &SampleBounds) -> [f32; 3] {
        let Some((turn, center)) = &self.back else { return self.along };
        let from = [0, 1, 2].map(|a| {
            let from = place[a] - center[a];
            from - (from * bounds.per_period[a]).round() * bounds.period[a]
        });
        let from = Vector3::from(from);
        (Vector3::from(self.along) + from - turn * from).into()
    }
}

impl Near {
    /// Makes an empty set for fields of `layout`.
    pub fn new(layout: Layout) -> Self {
        let owner = vec![NO_SOLID; layout.size()];
        Self { cells: vec![], depth: 0, values: vec![], found: vec![], owner }
    }

    /// Forgets all cells.
    pub fn forget(&mut self) {
        self.depth = 0;
    }

    /// Finds the cells up to `depth` from a closed face that is no wall of the box.
    pub fn find(&mut self, scene: &Scene, voxels: &Voxels, depth: u32) {
        self.find_surface(scene, voxels);
        let mut first = 0;
        for _ in 1..depth {
            let layer = first..self.found.len();
            // Traces of fast air may be longer than the box.
            if layer.is_empty() {
                break;
            }
            first = self.found.len();
            self.find_beside(scene, voxels, layer);
        }
        let Self { cells, values, found, owner, .. } = self;
        found.sort_unstable();
        leave_room(found);
        let own = found.iter().filter(|&&at| scene.frame.is_own(at));
        refill(cells, own.map(|&at| (at, owner[at as usize] - 1)));
        refill(values, std::iter::repeat_n([0.0; 4], cells.len()));
        found.iter().for_each(|&at| owner[at as usize] = NO_SOLID);
        self.depth = depth;
    }

    /// Finds the cells beside closed faces.
    fn find_surface(&mut self, scene: &Scene, voxels: &Voxels) {
        let frame = &scene.frame;
        let strides = frame.layout.strides();
        self.found.clear();
        for (axis, (faces, owners)) in voxels.cuts.faces.iter().zip(&voxels.owners).enumerate() {
            for (cut, by) in faces.iter().zip(owners).filter(|(cut, _)| cut.open == 0.0) {
                for at in [cut.at as usize, cut.at as usize - strides[axis]] {
                    if frame.holds(at) && voxels.flags[at] & SOLID == 0 {
                        self.visit(scene, at, *by + 1);
                    }
                }
            }
        }
        self.end_layer(0);
    }

    /// Finds the cells around those of a layer, given by its range in `found`.
    fn find_beside(&mut self, scene: &Scene, voxels: &Voxels, layer: Range<usize>) {
        let end = layer.end;
        for at in layer {
            let at = self.found[at] as usize;
            let by = self.owner[at];
            neighbours(&scene.frame, at, |near| {
                if voxels.flags[near] & SOLID == 0 {
                    self.visit(scene, near, by);
                }
            });
        }
        self.end_layer(end);
    }

    /// Records that a cell is near the solid of owner `by`, unless an earlier layer has found it. If two solids are equally
    /// many layers away, the nearer one counts, whichever was found first.
    fn visit(&mut self, scene: &Scene, at: usize, by: u16) {
        let owner = &mut self.owner[at];
        if *owner == NO_SOLID {
            *owner = by | THIS_LAYER;
            self.found.push(at as u32);
        } else if *owner & THIS_LAYER != 0 && *owner != by | THIS_LAYER {
            let other = *owner & !THIS_LAYER;
            let middle = index_of(scene.frame.layout, at).map(|x| (x as f32 + 0.5) * scene.frame.h);
            let both = [by.min(other) - 1, by.max(other) - 1];
            *owner = (scene.nearest(&both, middle).1 + 1) | THIS_LAYER;
        }
    }

    /// Ends the layer whose cells begin at this index of `found`.
    fn end_layer(&mut self, first: usize) {
        self.found[first..].iter().for_each(|&at| self.owner[at as usize] &= !THIS_LAYER);
    }

    /// Depth of the surroundings \[cells\].
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Computes the advected values of these cells from `field`.
    pub fn advect(&mut self, layout: Layout, input: &WalkInput, field: &[[f32; 4]]) {
        let Self { cells, values, .. } = self;
        values.par_chunks_mut(RUN).zip(cells.par_chunks(RUN)).for_each(|(values, cells)| {
            for (value, &(at, owner)) in values.iter_mut().zip(cells) {
                *value = advected(layout, input, field, at as usize, usize::from(owner));
            }
        });
    }

    /// Writes the values, each times `decay`, into the field.
    pub fn put(&self, decay: &[f32; 4], field: &mut [[f32; 4]]) {
        self.each_put(decay, |at, _, value| field[at as usize] = value);
    }

    /// Calls `f` with each cell, the solid near it and its value times `decay`.
    pub fn each_put(&self, decay: &[f32; 4], mut f: impl FnMut(u32, u16, [f32; 4])) {
        for (&(at, solid), value) in self.cells.iter().zip(&self.values) {
            f(at, solid, std::array::from_fn(|c| (value[c] * decay[c]).clamp(-SCALAR_LIMIT, SCALAR_LIMIT)));
        }
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

pub(super) fn index_of(layout: Layout, at: usize) -> [isize; 3] {
    let g = GHOST as isize;
    [at % layout.row, at % layout.plane / layout.row, at / layout.plane].map(|x| x as isize - g)
}

/// Returns the advected value of a cell near the solid `owner`.
fn advected(layout: Layout, input: &WalkInput, field: &[[f32; 4]], at: usize, owner: usize) -> [f32; 4] {
    let (start, shift) = (index_of(layout, at), &input.shifts[owner]);
    let drift = shift.displacement_at(start.map(|x| x as f32), input.bounds);
    let departure = [0, 1, 2].map(|a| start[a] as f32 - (input.back[at][a] - drift[a]));
    let (end, cell) = walk(layout, input.bounds, input.after, start, departure);
    let drift = shift.displacement_at(end, input.bounds);
    let end = [0, 1, 2].map(|a| end[a] - drift[a]);
    let side = shift.is_some().then(|| SolidSide {
        pose: &input.poses[owner],
        shift,
        input,
        cell: cell.map(|x| x as f32),
    });
    sample(layout, input, field, (end, cell), side.as_ref())
        .unwrap_or_else(|| surroundings(layout, input, field, at))
}

/// Side of a moving solid on which a cell lies at the end of the step.
struct SolidSide<'a> {
    pose: &'a SolidPose,
    shift: &'a Shift,
    input: &'a WalkInput<'a>,
    cell: [f32; 3],
}

impl SolidSide<'_> {
    /// Whether a cell was on this side at the beginning of the step. It was if the normal of the nearest
    /// surface faces the same way.
    fn contained(&self, cell: [f32; 3]) -> bool {
        let drift = self.shift.displacement_at(cell, self.input.bounds);
        let then = [0, 1, 2].map(|a| cell[a] + drift[a]);
        let (here, there) = (self.normal(self.cell), self.normal(then));
        let dot = |a: [f32; 3], b: [f32; 3]| (0..3).map(|i| a[i] * b[i]).sum::<f32>();
        dot(here, there) >= SAME_WAY * (dot(here, here) * dot(there, there)).sqrt()
    }

    /// Gradient of the solid's distance at a point in cells, for the periodic image nearest to the cell.
    fn normal(&self, place: [f32; 3]) -> [f32; 3] {
        let (h, period) = (self.input.h, self.input.bounds.period);
        let p = [0, 1, 2].map(|a| {
            let from = self.cell[a] + 0.5 - self.pose.position[a] / h;
            let images = if period[a] > 0.0 { (from / period[a]).round() } else { 0.0 };
            (place[a] + 0.5 - images * period[a]) * h
        });
        // The step of the difference is smaller than the thinnest plate that the grid resolves.
        let by = 0.01 * h;
        [0, 1, 2].map(|a| {
            let along =
                |by: f32| self.pose.distance(std::array::from_fn(|b| p[b] + if a == b { by } else { 0.0 }));
            along(by) - along(-by)
        })
    }
}

/// Walks straight from the middle of a cell, never through a closed face. Returns the end and its cell;
/// neither is wrapped across periodic sides.
fn walk(
    layout: Layout,
    bounds: &SampleBounds,
    flags: &[u8],
    start: [isize; 3],
    departure: [f32; 3],
) -> ([f32; 3], [isize; 3]) {
    let n = layout.dims.array().map(|n| n as isize);
    let strides = layout.strides();
    let from = start.map(|x| x as f32);
    // At most two periods: air that outran its step by more would walk for minutes.
    let mut to = [0, 1, 2].map(|a| {
        let far = 2.0 * bounds.period[a];
        let [low, high] =
            if far > 0.0 { [from[a] - far, from[a] + far] } else { [bounds.low[a], bounds.high[a]] };
        departure[a].clamp(low, high)
    });
    let mut cell = start;
    // Each iteration crosses a face, or stops the walk along an axis.
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
            [0, 1, 2].map(|a| if bounds.period[a] > 0.0 { cell[a].rem_euclid(n[a]) } else { cell[a] });
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

/// Interpolates at the end of a walk: the trilinear mean over those of the eight cells around it that can be
/// reached from the walk's last cell, or, near a moving solid, from the nearest cell on its `side`. None if
/// all are inside a solid or on other sides.
///
/// Cells of weight 0 are no path between others either: without this rule an end in the middle between two
/// walls of cells would see those of one wall, and its mirror image those of the other. Cells that are
/// equally near are treated the same. If the reachable cells weigh little, because the end lies deep among
/// unreachable ones, [`wider`] surroundings join them. Otherwise a cell of negligible weight would decide.
fn sample(
    layout: Layout,
    input: &WalkInput,
    field: &[[f32; 4]],
    (p, cell): ([f32; 3], [isize; 3]),
    side: Option<&SolidSide>,
) -> Option<[f32; 4]> {
    let (strides, bounds, flags) = (layout.strides(), input.bounds, input.before);
    let (x, images) = inside(bounds, p);
    let base = [0, 1, 2].map(|a| x[a].floor().min(bounds.last[a]));
    let corner = [0, 1, 2].map(|a| base[a] + images[a]);
    let first = layout.at(base[0] as isize, base[1] as isize, base[2] as isize);
    let place = |c: usize| first + (0..3).map(|a| (c >> a & 1) * strides[a]).sum::<usize>();
    let along = |c: usize, a: usize| if c >> a & 1 == 1 { x[a] - base[a] } else { 1.0 - (x[a] - base[a]) };
    let weight: [f32; 8] = std::array::from_fn(|c| (0..3).map(|a| along(c, a)).product::<f32>());
    let set = |has: &dyn Fn(usize) -> bool| (0..8).filter(|&c| has(c)).fold(0u8, |set, c| set | 1 << c);
    let closed = |c: usize, a: usize| flags[place(c | 1 << a)] & CLOSED << a != 0;
    let index = |c: usize| [0, 1, 2].map(|a| corner[a] + (c >> a & 1) as f32);
    let near = set(&|c| (0..3).all(|a| along(c, a) > TIE));
    let closed = |c: usize, a: usize| closed(c, a) || near >> (c ^ 1 << a) & 1 == 0;
    let free = near & set(&|c| flags[place(c)] & SOLID == 0 && has_own_value(bounds, index(c)));
    let ended = free & set(&|c| index(c) == cell.map(|x| x as f32));
    let is_there = |c: usize| side.is_none_or(|side| side.contained(index(c)));
    let mut left = if side.is_none() && ended != 0 { ended } else { free };
    let mut chosen = 0;
    while left != 0 && chosen == 0 {
        let most = (0..8).filter(|c| left >> c & 1 == 1).map(|c| weight[c]).fold(0.0, f32::max);
        let nearest = left & set(&|c| weight[c] >= most - TIE);
        let all = connected(nearest, closed);
        let there = if all == near { all } else { nearest & set(&is_there) };
        (chosen, left) = (connected(there, closed), left & !all);
    }
    let (mut sum, mut total) = ([0.0f32; 4], 0.0);
    for c in (0..8).filter(|c| chosen >> c & 1 == 1) {
        add(&mut sum, weight[c], field[place(c)]);
        total += weight[c];
    }
    let spare = WIDER_WEIGHT * (1.0 - 8.0 * total).max(0.0);
    if spare > 0.0 {
        let (more, extra) = wider(layout, input, field, (x, images), side);
        add(&mut sum, spare, more);
        total += spare * extra;
    }
    (total > 0.0).then(|| sum.map(|value| value / total))
}

/// Returns the sum of the free cells' values, each times its weight, and the sum of the weights. Cells count
/// if they lie less than one and a half cells away along each axis, on the `side` of a moving solid, and are
/// connected to the nearest of them.
fn wider(
    layout: Layout,
    input: &WalkInput,
    field: &[[f32; 4]],
    (x, images): ([f32; 3], [f32; 3]),
    side: Option<&SolidSide>,
) -> ([f32; 4], f32) {
    let strides = layout.strides();
    let low = x.map(|x| x.round() - 1.0);
    let first = layout.at(low[0] as isize, low[1] as isize, low[2] as isize);
    let index = |c: usize| [c % 3, c / 3 % 3, c / 9];
    let place = |c: usize| first + (0..3).map(|a| index(c)[a] * strides[a]).sum::<usize>();
    let along = |c: usize, a: usize| (1.5 - (x[a] - low[a] - index(c)[a] as f32).abs()).max(0.0);
    let weight: [f32; 27] = std::array::from_fn(|c| (0..3).map(|a| along(c, a)).product::<f32>());
    let counts = |c: &usize| {
        let cell = [0, 1, 2].map(|a| low[a] + index(*c)[a] as f32 + images[a]);
        (0..3).all(|a| along(*c, a) > TIE)
            && has_own_value(input.bounds, cell)
            && input.before[place(*c)] & SOLID == 0
            && side.is_none_or(|side| side.contained(cell))
    };
    let free = (0..27).filter(counts).fold(0u32, |set, c| set | 1 << c);
    let has = |set: u32, c: usize| set >> c & 1 == 1;
    let most = (0..27).filter(|&c| has(free, c)).map(|c| weight[c]).fold(0.0, f32::max);
    let mut joined =
        (0..27).filter(|&c| has(free, c) && weight[c] >= most - TIE).fold(0, |set, c| set | 1 << c);
    let mut before = 0;
    while joined != before {
        before = joined;
        for (c, a) in (0..27).flat_map(|c| (0..3).map(move |a| (c, a))).filter(|&(c, a)| index(c)[a] < 2) {
            let next = c + [1, 3, 9][a];
            let both = 1 << c | 1 << next;
            let leads = joined & both != 0 && free & both == both;
            if leads && input.before[place(next)] & CLOSED << a == 0 {
                joined |= both;
            }
        }
    }
    let (mut sum, mut total) = ([0.0; 4], 0.0);
    for c in (0..27).filter(|&c| has(joined, c)) {
        add(&mut sum, weight[c], field[place(c)]);
        total += weight[c];
    }
    (sum, total)
}

/// Whether a cell has a value of its own, not a copy of another. A ghost behind a wall repeats an inner cell,
/// which may lie on another side of a solid than the ghost seems to.
fn has_own_value(bounds: &SampleBounds, cell: [f32; 3]) -> bool {
    (0..3).all(|a| bounds.period[a] > 0.0 || (bounds.low[a]..=bounds.high[a]).contains(&cell[a]))
}

/// Wraps a point into the box. Also returns the whole periods that must be added to get back.
fn inside(bounds: &SampleBounds, p: [f32; 3]) -> ([f32; 3], [f32; 3]) {
    let images =
        [0, 1, 2].map(|a| ((p[a] - bounds.low[a]) * bounds.per_period[a]).floor() * bounds.period[a]);
    ([0, 1, 2].map(|a| (p[a] - images[a]).clamp(bounds.low[a], bounds.high[a])), images)
}

fn add(sum: &mut [f32; 4], weight: f32, value: [f32; 4]) {
    (0..4).for_each(|c| sum[c] += weight * value[c]);
}

/// Corners of a cube, as a set of bits, connected by edges to those of `from`. `closed(c, a)` tells whether
/// the edge from corner c along axis a is shut.
fn connected(from: u8, closed: impl Fn(usize, usize) -> bool) -> u8 {
    let mut reached = from;
    loop {
        let before = reached;
        for (c, a) in (0..8usize).flat_map(|c| (0..3).map(move |a| (c, a))) {
            if reached >> c & 1 == 1 && !closed(c, a) {
                reached |= 1 << (c ^ 1 << a);
            }
        }
        if reached == before {
            return reached;
        }
    }
}

/// Mean over the neighbours of a cell that a solid has just left, without those beyond a closed face.
fn surroundings(layout: Layout, input: &WalkInput, field: &[[f32; 4]], at: usize) -> [f32; 4] {
    let (mut sum, mut count) = ([0.0; 4], 0.0f32);
    for (a, stride) in layout.strides().into_iter().enumerate() {
        for (next, face) in [(at - stride, at), (at + stride, at + stride)] {
            if input.before[next] & SOLID == 0 && input.after[face] & CLOSED << a == 0 {
                (0..4).for_each(|c| sum[c] += field[next][c]);
                count += 1.0;
            }
        }
    }
    sum.map(|x| x / count.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::solver::{Shape, Solid};

    #[test]
    fn surroundings_deeper_than_the_box_are_found_at_once() {
        let layout = Layout::new(Dims::new([8, 8, 8]).unwrap());
        let parts = [[0, 8], [0; 2], [0; 2]];
        let frame = Frame { layout, h: 0.125, periodic: [false; 3], walls: [[true; 2]; 3], parts };
        let plate = Solid::new(Shape::Box { size: [0.5, 0.01, 0.5] }, [0.5; 3]);
        let poses = [plate.pose(0.0, 0.04)];
        let voxels = Voxels::new(frame, &poses, None);
        let scene = Scene { frame, poses: &poses };
        let mut near = Near::new(layout);
        let began = std::time::Instant::now();
        near.find(&scene, &voxels, u32::MAX);
        assert!(began.elapsed().as_secs_f32() < 1.0, "{:?}", began.elapsed());
        let all = near.cells.clone();
        near.find(&scene, &voxels, 20);
        assert!(near.cells == all && all.len() > 400, "{} cells of {}", near.cells.len(), all.len());
    }

    #[test]
    fn a_walk_goes_around_a_periodic_box_twice_at_most() {
        let layout = Layout::new(Dims::new([8, 4, 4]).unwrap());
        let bounds = SampleBounds {
            low: [0.0; 3],
            high: [7.0, 3.0, 3.0],
            last: [7.0, 2.0, 2.0],
            period: [8.0, 0.0, 0.0],
            per_period: [0.125, 0.0, 0.0],
            row: layout.row,
            plane: layout.plane,
        };
        let flags = vec![0; layout.size()];
        let end = |departure| walk(layout, &bounds, &flags, [3, 1, 1], departure);
        assert_eq!(end([18.25, 1.0, 9.0]), ([18.25, 1.0, 3.0], [18, 1, 3]));
        assert_eq!(end([1e30, 1.0, 1.0]), ([19.0, 1.0, 1.0], [19, 1, 1]));
        assert_eq!(end([-1e30, 1.0, 1.0]), ([-13.0, 1.0, 1.0], [-13, 1, 1]));
    }
}
