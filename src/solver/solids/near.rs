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

use std::ops::Range;

use nalgebra::{UnitQuaternion, Vector3};
use rayon::prelude::*;

use super::SolidPose;
use super::faces::Scene;
use super::voxels::{CLOSED, Frame, SOLID, Voxels};
use crate::grid::{GHOST, Layout};
use crate::solver::SCALAR_LIMIT;
use crate::solver::sides::SampleBounds;
use crate::solver::sweep::{leave_room, refill};

/// Cells done together.
const RUN: usize = 256;

/// What a cell that is near no solid is near to.
const NOBODY: u16 = u16::MAX;

/// Set in the owner of a cell that has been found in the layer that is looked for now.
const THIS_LAYER: u16 = 1 << 15;

/// Cells around a departure point whose weights differ by no more are equally near to it.
const TIE: f32 = 1e-4;

/// Weight of wider surroundings where nothing else counts.
const SPARE: f32 = 0.01;

/// Surfaces that face ways with this cosine between them or more face the same way: a right angle, on either side of an edge
/// or of a round body, must not depend on rounding.
const SAME_WAY: f32 = -0.05;

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
    pub bounds: &'a SampleBounds,
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
    fn of(&self, place: [f32; 3], bounds: &SampleBounds) -> [f32; 3] {
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
    pub fn find(&mut self, scene: &Scene, voxels: &Voxels, depth: u32) {
        self.find_surface(scene, voxels);
        let mut first = 0;
        for _ in 1..depth {
            let layer = first..self.found.len();
            first = self.found.len();
            self.find_beside(scene, voxels, layer);
        }
        let Self { cells, values, found, owner, .. } = self;
        found.sort_unstable();
        leave_room(found);
        refill(cells, found.iter().map(|&at| (at, owner[at as usize])));
        refill(values, std::iter::repeat_n([0.0; 4], found.len()));
        found.iter().for_each(|&at| owner[at as usize] = NOBODY);
        self.depth = depth;
    }

    /// Looks for the cells beside closed faces.
    fn find_surface(&mut self, scene: &Scene, voxels: &Voxels) {
        let frame = &scene.frame;
        let strides = frame.layout.strides();
        self.found.clear();
        for (axis, (faces, owners)) in voxels.cuts.faces.iter().zip(&voxels.owners).enumerate() {
            for (cut, by) in faces.iter().zip(owners).filter(|(cut, _)| cut.open == 0.0) {
                for at in [cut.at as usize, cut.at as usize - strides[axis]] {
                    if frame.holds(at) && voxels.flags[at] & SOLID == 0 {
                        self.visit(scene, at, *by);
                    }
                }
            }
        }
        self.end_layer(0);
    }

    /// Looks for the cells around those of a layer, given by their places in `found`.
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

    /// Notes that a cell is near a solid, unless an earlier layer has found it. If it is as many layers away from another, the
    /// nearer counts, whichever was found first.
    fn visit(&mut self, scene: &Scene, at: usize, by: u16) {
        let owner = &mut self.owner[at];
        if *owner == NOBODY {
            *owner = by | THIS_LAYER;
            self.found.push(at as u32);
        } else if *owner & THIS_LAYER != 0 && *owner != by | THIS_LAYER {
            let other = *owner & !THIS_LAYER;
            let middle = index_of(scene.frame.layout, at).map(|x| (x as f32 + 0.5) * scene.frame.h);
            *owner = scene.nearest(&[by.min(other), by.max(other)], middle).1 | THIS_LAYER;
        }
    }

    /// Ends the layer whose cells begin at this place of `found`.
    fn end_layer(&mut self, first: usize) {
        self.found[first..].iter().for_each(|&at| self.owner[at as usize] &= !THIS_LAYER);
    }

    /// How many cells deep the surroundings are.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Works out the values these cells get from `field`.
    pub fn advect(&mut self, layout: Layout, way: &Way, field: &[[f32; 4]]) {
        let Self { cells, values, .. } = self;
        values.par_chunks_mut(RUN).zip(cells.par_chunks(RUN)).for_each(|(values, cells)| {
            for (value, &(at, owner)) in values.iter_mut().zip(cells) {
                *value = advected(layout, way, field, at as usize, usize::from(owner));
            }
        });
    }

    /// Puts the values, each times `decay`, where they belong.
    pub fn put(&self, decay: &[f32; 4], field: &mut [[f32; 4]]) {
        for (&(at, _), value) in self.cells.iter().zip(&self.values) {
            field[at as usize] =
                std::array::from_fn(|c| (value[c] * decay[c]).clamp(-SCALAR_LIMIT, SCALAR_LIMIT));
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

fn index_of(layout: Layout, at: usize) -> [isize; 3] {
    let g = GHOST as isize;
    [at % layout.row, at % layout.plane / layout.row, at / layout.plane].map(|x| x as isize - g)
}

/// The value that comes to a cell near the solid `owner`.
fn advected(layout: Layout, way: &Way, field: &[[f32; 4]], at: usize, owner: usize) -> [f32; 4] {
    let (start, shift) = (index_of(layout, at), &way.shifts[owner]);
    let drift = shift.of(start.map(|x| x as f32), way.bounds);
    let departure = [0, 1, 2].map(|a| start[a] as f32 - (way.back[at][a] - drift[a]));
    let (end, cell) = walk(layout, way.bounds, way.after, start, departure);
    let drift = shift.of(end, way.bounds);
    let end = [0, 1, 2].map(|a| end[a] - drift[a]);
    let side = shift.is_some().then(|| BoundaryCondition {
        pose: &way.poses[owner],
        shift,
        way,
        cell: cell.map(|x| x as f32),
    });
    sample(layout, way, field, (end, cell), side.as_ref())
        .unwrap_or_else(|| surroundings(layout, way, field, at))
}

/// The side of a moving solid on which a cell lies at the end of the step.
struct BoundaryCondition<'a> {
    pose: &'a SolidPose,
    shift: &'a Shift,
    way: &'a Way<'a>,
    cell: [f32; 3],
}

impl BoundaryCondition<'_> {
    /// Whether a cell of the beginning was on it: whether the nearest surface faces the same way.
    fn had(&self, cell: [f32; 3]) -> bool {
        let drift = self.shift.of(cell, self.way.bounds);
        let then = [0, 1, 2].map(|a| cell[a] + drift[a]);
        let (here, there) = (self.normal(self.cell), self.normal(then));
        let dot = |a: [f32; 3], b: [f32; 3]| (0..3).map(|i| a[i] * b[i]).sum::<f32>();
        dot(here, there) >= SAME_WAY * (dot(here, here) * dot(there, there)).sqrt()
    }

    /// Where the distance from the solid rises at a place given in cells, near the periodic image that is nearest to
    /// the cell.
    fn normal(&self, place: [f32; 3]) -> [f32; 3] {
        let (h, period) = (self.way.h, self.way.bounds.period);
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
    bounds: &SampleBounds,
    flags: &[u8],
    start: [isize; 3],
    departure: [f32; 3],
) -> ([f32; 3], [isize; 3]) {
    let n = layout.dims.array().map(|n| n as isize);
    let strides = layout.strides();
    let from = start.map(|x| x as f32);
    // Around a periodic box twice at most: air that outran its step by more would walk for minutes.
    let mut to = [0, 1, 2].map(|a| {
        let far = 2.0 * bounds.period[a];
        let [low, high] =
            if far > 0.0 { [from[a] - far, from[a] + far] } else { [bounds.low[a], bounds.high[a]] };
        departure[a].clamp(low, high)
    });
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

/// The mean, weighted as for trilinear interpolation, over the cells around the end of a walk that can be reached from the one
/// it has ended in, or from the nearest one on the `side` of a moving solid; none if all are inside a solid or on other sides.
/// Cells that are equally near count alike. Where those that count weigh little, since the end lies deep among cells that
/// do not, [`wider`] surroundings join them: what weighs nothing on either side of a row of cells would else decide.
fn sample(
    layout: Layout,
    way: &Way,
    field: &[[f32; 4]],
    (p, cell): ([f32; 3], [isize; 3]),
    side: Option<&BoundaryCondition>,
) -> Option<[f32; 4]> {
    let (strides, bounds, flags) = (layout.strides(), way.bounds, way.before);
    let (x, images) = inside(bounds, p);
    let base = [0, 1, 2].map(|a| x[a].floor().min(bounds.last[a]));
    let corner = [0, 1, 2].map(|a| base[a] + images[a]);
    let first = layout.at(base[0] as isize, base[1] as isize, base[2] as isize);
    let place = |c: usize| first + (0..3).map(|a| (c >> a & 1) * strides[a]).sum::<usize>();
    let weight: [f32; 8] = std::array::from_fn(|c| {
        (0..3).map(|a| if c >> a & 1 == 1 { x[a] - base[a] } else { 1.0 - (x[a] - base[a]) }).product::<f32>()
    });
    let set = |has: &dyn Fn(usize) -> bool| (0..8).filter(|&c| has(c)).fold(0u8, |set, c| set | 1 << c);
    let closed = |c: usize, a: usize| flags[place(c | 1 << a)] & CLOSED << a != 0;
    let index = |c: usize| [0, 1, 2].map(|a| corner[a] + (c >> a & 1) as f32);
    let free = set(&|c| flags[place(c)] & SOLID == 0 && is_own(bounds, index(c)));
    let ended = free & set(&|c| index(c) == cell.map(|x| x as f32));
    let is_there = |c: usize| side.is_none_or(|side| side.had(index(c)));
    let mut left = if side.is_none() && ended != 0 { ended } else { free };
    let mut chosen = 0;
    while left != 0 && chosen == 0 {
        let most = (0..8).filter(|c| left >> c & 1 == 1).map(|c| weight[c]).fold(0.0, f32::max);
        let nearest = left & set(&|c| weight[c] >= most - TIE);
        let all = reached(nearest, closed);
        let there = if all == u8::MAX { all } else { nearest & set(&is_there) };
        (chosen, left) = (reached(there, closed), left & !all);
    }
    let (mut sum, mut total) = ([0.0f32; 4], 0.0);
    for c in (0..8).filter(|c| chosen >> c & 1 == 1) {
        add(&mut sum, weight[c], field[place(c)]);
        total += weight[c];
    }
    let spare = SPARE * (1.0 - 8.0 * total).max(0.0);
    if spare > 0.0 {
        let (more, extra) = wider(layout, way, field, (x, images), side);
        add(&mut sum, spare, more);
        total += spare * extra;
    }
    (total > 0.0).then(|| sum.map(|value| value / total))
}

/// The values of the free cells less than one and a half cells along each axis from a place, as far as they are on the `side` of a
/// moving solid and joined to the nearest of them, each times its weight; the sum of these.
fn wider(
    layout: Layout,
    way: &Way,
    field: &[[f32; 4]],
    (x, images): ([f32; 3], [f32; 3]),
    side: Option<&BoundaryCondition>,
) -> ([f32; 4], f32) {
    let strides = layout.strides();
    let low = x.map(|x| x.round() - 1.0);
    let first = layout.at(low[0] as isize, low[1] as isize, low[2] as isize);
    let index = |c: usize| [c % 3, c / 3 % 3, c / 9];
    let place = |c: usize| first + (0..3).map(|a| index(c)[a] * strides[a]).sum::<usize>();
    let weight: [f32; 27] = std::array::from_fn(|c| {
        (0..3).map(|a| (1.5 - (x[a] - low[a] - index(c)[a] as f32).abs()).max(0.0)).product::<f32>()
    });
    let counts = |c: &usize| {
        let cell = [0, 1, 2].map(|a| low[a] + index(*c)[a] as f32 + images[a]);
        is_own(way.bounds, cell)
            && way.before[place(*c)] & SOLID == 0
            && side.is_none_or(|side| side.had(cell))
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
            if leads && way.before[place(next)] & CLOSED << a == 0 {
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

/// Whether a cell has a value of its own. A ghost behind a wall repeats a cell that may lie on another side of a solid than the
/// ghost seems to.
fn is_own(bounds: &SampleBounds, cell: [f32; 3]) -> bool {
    (0..3).all(|a| bounds.period[a] > 0.0 || (bounds.low[a]..=bounds.high[a]).contains(&cell[a]))
}

/// A place in the box, and what must be added to it to come back: whole periods.
fn inside(bounds: &SampleBounds, p: [f32; 3]) -> ([f32; 3], [f32; 3]) {
    let images =
        [0, 1, 2].map(|a| ((p[a] - bounds.low[a]) * bounds.per_period[a]).floor() * bounds.period[a]);
    ([0, 1, 2].map(|a| (p[a] - images[a]).clamp(bounds.low[a], bounds.high[a])), images)
}

fn add(sum: &mut [f32; 4], weight: f32, value: [f32; 4]) {
    (0..4).for_each(|c| sum[c] += weight * value[c]);
}

/// The corners of a cube, as a set of bits, to which edges lead from some of them; `closed(c, a)` tells which edges along
/// axis a are shut.
fn reached(from: u8, closed: impl Fn(usize, usize) -> bool) -> u8 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;

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
