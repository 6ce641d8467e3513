//! Carrying smoke near solids.
//!
//! The fast kernels interpolate straight through a plate. Cells that a trace could take across a solid are therefore
//! done once more, with care: the way back is walked from cell to cell and does not pass a closed face (it slides
//! along it), and the value at its end is the mean over those of the eight cells around it that can be reached without
//! passing one. The weights of the others go to these. First order; monotone.
//!
//! A moving solid takes its surroundings along: the walk is made relative to it, among the faces as they are at the end of
//! the step, and its end is looked up among the faces as they were at the beginning.

use rayon::prelude::*;

use super::voxels::{CLOSED, Frame, SOLID, Voxels};
use crate::grid::{GHOST, Layout};
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
    /// How far each solid has moved, in cells.
    pub drift: &'a [[f32; 3]],
    /// How far each cell's air has come, in cells.
    pub back: &'a [[f32; 4]],
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
                *value = carried(layout, way, field, at as usize, way.drift[owner as usize]);
            }
        });
    }

    /// Puts the values, each times `keep`, where they belong.
    pub fn put(&self, keep: &[f32; 4], field: &mut [[f32; 4]]) {
        for (&(at, _), value) in self.cells.iter().zip(&self.values) {
            field[at as usize] = std::array::from_fn(|c| value[c] * keep[c]);
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

/// The value that comes to a cell.
fn carried(layout: Layout, way: &Way, field: &[[f32; 4]], at: usize, drift: [f32; 3]) -> [f32; 4] {
    let start = index_of(layout, at);
    let foot = [0, 1, 2].map(|a| start[a] as f32 - (way.back[at][a] - drift[a]));
    let end = walk(layout, way.reach, way.after, start, foot);
    let end = [0, 1, 2].map(|a| end[a] - drift[a]);
    sample(layout, way.reach, way.before, field, end)
        .unwrap_or_else(|| surroundings(layout, way.before, field, at))
}

/// Where a straight way from the middle of a cell ends that cannot pass closed faces.
fn walk(layout: Layout, reach: &Reach, flags: &[u8], start: [isize; 3], foot: [f32; 3]) -> [f32; 3] {
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
    to
}

/// The mean, weighted as for trilinear interpolation, over the cells around a point that can be reached from the nearest
/// one; none if that is inside a solid and all others too.
fn sample(layout: Layout, reach: &Reach, flags: &[u8], field: &[[f32; 4]], p: [f32; 3]) -> Option<[f32; 4]> {
    let strides = layout.strides();
    let (mut base, mut fraction) = ([0isize; 3], [0.0; 3]);
    for a in 0..3 {
        let x = p[a] - reach.period[a] * ((p[a] - reach.low[a]) * reach.per_period[a]).floor();
        let x = x.clamp(reach.low[a], reach.high[a]);
        let low = x.floor().min(reach.last[a]);
        (base[a], fraction[a]) = (low as isize, x - low);
    }
    let first = layout.at(base[0], base[1], base[2]);
    let place = |c: usize| first + (0..3).map(|a| (c >> a & 1) * strides[a]).sum::<usize>();
    let weight = |c: usize| {
        (0..3).map(|a| if c >> a & 1 == 1 { fraction[a] } else { 1.0 - fraction[a] }).product::<f32>()
    };
    let free = |c: &usize| flags[place(*c)] & SOLID == 0;
    let nearest = (0..8).filter(free).reduce(|a, b| if weight(b) > weight(a) { b } else { a })?;
    let mut reached = 1u8 << nearest;
    for _ in 0..3 {
        for (c, a) in (0..8usize).flat_map(|c| (0..3).map(move |a| (c, a))) {
            let upper = place(c | 1 << a);
            if reached >> c & 1 == 1 && flags[upper] & CLOSED << a == 0 {
                reached |= 1 << (c ^ 1 << a);
            }
        }
    }
    let (mut sum, mut total) = ([0.0f32; 4], 0.0);
    for c in (0..8).filter(|c| reached >> c & 1 == 1) {
        let (w, value) = (weight(c), field[place(c)]);
        total += w;
        (0..4).for_each(|i| sum[i] += w * value[i]);
    }
    if total > 1e-6 { Some(sum.map(|x| x / total)) } else { Some(field[place(nearest)]) }
}

/// The mean over the cells around one that a solid has just left.
fn surroundings(layout: Layout, flags: &[u8], field: &[[f32; 4]], at: usize) -> [f32; 4] {
    let (mut sum, mut count) = ([0.0; 4], 0.0f32);
    for stride in layout.strides() {
        for next in [at - stride, at + stride].into_iter().filter(|&next| flags[next] & SOLID == 0) {
            (0..4).for_each(|c| sum[c] += field[next][c]);
            count += 1.0;
        }
    }
    sum.map(|x| x / count.max(1.0))
}
