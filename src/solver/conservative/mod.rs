//! Advection that keeps what there is: flux-form sweeps along one axis after another.
//!
//! A sweep moves, through each face, what is in the air that crosses it, taken from piecewise parabolas (`parabola.rs`; Colella
//! & Woodward 1984). The volume of air V in each cell goes along: it is 1 before the first sweep and, since the flow has no
//! divergence, 1 again after the last; between two sweeps a cell may hold more air or less (Leonard, Lock & MacVean 1996; Lin
//! & Rood 1996). With m = V q, face volumes F and contents f of the air that crosses,
//!
//! ```text
//!     V' = V − ΔF,   m' = m − Δ(F f),   q' = m'/V'
//! ```
//!
//! so that a uniform q stays as it is. After the last sweep q = m: sums change by rounding only, whatever divergence the
//! projection has left.
//!
//! - **Order.** x, y, z and z, y, x take turns.
//! - **Fast flow.** What crosses a face comes from as many cells upstream as it takes; while the volumes stay above 0, what
//!   crosses two faces never comes from the same air. Where the flow diverges along one axis so much that a cell would run nearly
//!   empty between two sweeps, or crosses more than [`FURTHEST`] cells, the whole step is cut.
//! - **Solids.** A cut face lets through its open part, a closed one nothing; a cell beside a solid counts as whole, as it does for
//!   the pressure. Parabolas see no value across a closed face.
//! - **Sides.** Through walls nothing passes; air that enters through an open side is clean, that of an inflow brings its
//!   contents. What crosses the sides is counted.
//!
//! Lines lie side by side in scratch memory of each thread, [`ACROSS`] of them, so that one kernel serves all axes. Lines where
//! nothing is are left as they are, and so are scalars that are 0 all along them.

use rayon::prelude::*;

use self::interleave::{Found, Place};
use self::parabola::{ACROSS, BEYOND, HALO, Lines, add_volume, scale};
use super::BoundaryCondition;
use super::active_bricks::Bricks;
use super::advect::scale_row;
use super::config::SCALAR_LIMIT;
use super::row_passes::{self, PerThread, Shared};
use super::sides::GhostRules;
use super::simd::{dispatch, greatest};
use super::solids::CLOSED;
use crate::grid::{Faces, GHOST, Layout};

mod interleave;
mod parabola;

/// Most cells that the flow may cross in one round.
const FURTHEST: f32 = 3.0;

/// Most by which the volume of a cell may differ from 1 between two sweeps.
const EMPTIEST: f32 = 0.7;

/// Most rounds of a step.
const MOST_ROUNDS: f32 = 1e3;

/// Memory of the scheme.
pub struct Sweeps {
    threads: PerThread<Lines>,
    /// For each plane: see [`strain`](Self::strain).
    strain: Vec<[f32; 2]>,
    /// What has left through the sides, for each plane of the sweeps along x and y, and each row of those along z.
    left: [Vec<[f64; 4]>; 2],
    /// Whether the next round ends with x.
    pub backwards: bool,
}

/// What a step of the scheme reads.
pub struct Flow<'a> {
    pub layout: Layout,
    pub walls: &'a GhostRules,
    /// Mean velocity across each face, 0 where it is closed.
    pub velocity: &'a Faces,
    /// Closed faces of solids, where there are any.
    pub flags: Option<&'a [u8]>,
    /// Δt/h.
    pub steps: f32,
}

impl Sweeps {
    /// For fields of `layout`.
    pub fn new(layout: Layout, threads: usize) -> Self {
        let [nx, ny, nz] = layout.dims.array();
        Self {
            threads: PerThread::new(threads, || Lines::new(nx.max(ny).max(nz))),
            strain: vec![[0.0; 2]; nz],
            left: [vec![[0.0; 4]; nz], vec![[0.0; 4]; ny]],
            backwards: false,
        }
    }

    /// Begins with x again.
    pub fn restart(&mut self) {
        self.backwards = false;
    }

    /// Moves `scalars` along the flow and multiplies them by `decay`; gives what has left through the sides, less what has come
    /// in, in cells.
    pub fn advance(
        &mut self,
        flow: &Flow,
        decay: &[f32; 4],
        scalars: &mut [[f32; 4]],
        bricks: &mut Bricks,
    ) -> [f64; 4] {
        let [strain, speed] = self.strain(flow);
        let rounds = (strain / EMPTIEST).max(speed / FURTHEST).ceil().clamp(1.0, MOST_ROUNDS);
        // Cells that hold less are crossed faster.
        let cells = speed / (1.0 - (strain / rounds).min(EMPTIEST));
        bricks.dilate(flow.walls, cells);
        self.left.iter_mut().flatten().for_each(|left| *left = [0.0; 4]);
        for round in 1..=rounds as u32 {
            let decay = if round == rounds as u32 { *decay } else { [1.0; 4] };
            self.round(flow, [flow.steps / rounds, cells / rounds], &decay, scalars, bricks);
        }
        self.left.iter().flatten().fold([0.0; 4], |sum, left| [0, 1, 2, 3].map(|c| sum[c] + left[c]))
    }

    /// The greatest change of a cell's volume between sweeps, in cells, and how many cells the flow crosses, in a single round.
    fn strain(&mut self, flow: &Flow) -> [f32; 2] {
        let Layout { dims, row, plane } = flow.layout;
        let [u, v, w] = flow.velocity;
        let n = dims.nx;
        row_passes::reduce(flow.layout, &mut self.strain, |most, j, k| {
            let at = flow.layout.start(j, k);
            let [v, w] = [[&v[at..][..n], &v[at + row..][..n]], [&w[at..][..n], &w[at + plane..][..n]]];
            strain_row(flow.steps, &u[at..][..n + 1], v, w, most);
        });
        self.strain.iter().fold([0.0; 2], |a, b| [0, 1].map(|i| a[i].max(b[i])))
    }

    /// One sweep along each axis over `steps` = Δt/h, in which the air crosses up to `cells`.
    fn round(
        &mut self,
        flow: &Flow,
        [steps, cells]: [f32; 2],
        decay: &[f32; 4],
        scalars: &mut [[f32; 4]],
        bricks: &Bricks,
    ) {
        let is_still = |axis: usize| flow.layout.dims.array()[axis] == 1 && flow.walls.is_shut(axis);
        let last = if self.backwards { [0, 1, 2] } else { [2, 1, 0] }.into_iter().find(|&a| !is_still(a));
        let bounds = cells.ceil().min(1e9) as usize + 1;
        let pass = Pass { flow, steps, bounds, decay, last, bricks, backwards: self.backwards };
        let Self { threads, left: [of_planes, of_rows], .. } = self;
        if self.backwards {
            pass.along_z(threads, of_rows, scalars);
            pass.in_planes(threads, of_planes, scalars);
        } else {
            pass.in_planes(threads, of_planes, scalars);
            pass.along_z(threads, of_rows, scalars);
        }
        self.backwards = !self.backwards;
        if last.is_none() {
            row_passes::rows(flow.layout, scalars, pass.rows(), |_, _, row| {
                scale_row(decay, SCALAR_LIMIT, &mut row[GHOST..GHOST + flow.layout.dims.nx]);
            });
        }
    }
}

dispatch! { fn strain_row(steps: f32, u: &[f32], v: [&[f32]; 2], w: [&[f32]; 2], most: &mut [f32; 2]) = strain_kernel; }

#[inline(always)]
fn strain_kernel<const FMA: bool>(
    steps: f32,
    u: &[f32],
    v: [&[f32]; 2],
    w: [&[f32]; 2],
    most: &mut [f32; 2],
) {
    const LANES: usize = 8;
    let n = u.len() - 1;
    let (mut strain, mut speed) = ([0.0f32; LANES], [0.0f32; LANES]);
    let (u0, u1) = (&u[..n], &u[1..]);
    let ([v0, v1], [w0, w1]) = (v.map(|v| &v[..n]), w.map(|w| &w[..n]));
    let full = n - n % LANES;
    for from in (0..full).step_by(LANES) {
        for l in 0..LANES {
            let i = from + l;
            let found = strain_of(steps, [u0[i], u1[i]], [v0[i], v1[i]], [w0[i], w1[i]]);
            strain[l] = greatest(found[0], strain[l]);
            speed[l] = greatest(found[1], speed[l]);
        }
    }
    for i in full..n {
        let found = strain_of(steps, [u0[i], u1[i]], [v0[i], v1[i]], [w0[i], w1[i]]);
        strain[0] = greatest(found[0], strain[0]);
        speed[0] = greatest(found[1], speed[0]);
    }
    most[0] = strain.into_iter().fold(most[0], f32::max);
    most[1] = speed.into_iter().fold(most[1], f32::max);
}

/// What [`Sweeps::strain`] finds, of one cell, whichever axis comes first.
#[inline(always)]
fn strain_of(steps: f32, u: [f32; 2], v: [f32; 2], w: [f32; 2]) -> [f32; 2] {
    let (x, y, z) = (steps * (u[1] - u[0]), steps * (v[1] - v[0]), steps * (w[1] - w[0]));
    let two = greatest((x + y).abs(), (y + z).abs());
    let strain = greatest(greatest(x.abs(), z.abs()), greatest(two, (x + y + z).abs()));
    let (x, y) = (greatest(u[0].abs(), u[1].abs()), greatest(v[0].abs(), v[1].abs()));
    let speed = steps * greatest(greatest(x, y), greatest(w[0].abs(), w[1].abs()));
    [strain, speed]
}

/// One round.
struct Pass<'a> {
    flow: &'a Flow<'a>,
    /// Δt/h of the round.
    steps: f32,
    /// Cells that the air crosses at most.
    bounds: usize,
    decay: &'a [f32; 4],
    /// The axis that is swept last.
    last: Option<usize>,
    bricks: &'a Bricks,
    backwards: bool,
}

/// Lines side by side along an axis, and the cells of them where something may be or arrive.
#[derive(Clone, Copy)]
struct Bundle {
    axis: usize,
    place: Place,
    range: [usize; 2],
}

impl Pass<'_> {
    fn rows(&self) -> [[isize; 2]; 2] {
        let dims = self.flow.layout.dims;
        [[0, dims.ny as isize], [0, dims.nz as isize]]
    }

    /// The sweeps along x and y, in whichever order, plane by plane.
    fn in_planes(&self, threads: &PerThread<Lines>, left: &mut [[f64; 4]], scalars: &mut [[f32; 4]]) {
        let layout = self.flow.layout;
        let scalars = Shared::new(scalars.as_flattened_mut());
        left.par_iter_mut().enumerate().for_each(|(k, left)| {
            let lines = &mut *threads.mine();
            for axis in if self.backwards { [1, 0] } else { [0, 1] } {
                let (across, end) =
                    if axis == 0 { (layout.row, layout.dims.ny) } else { (1, layout.dims.nx) };
                for from in (0..end).step_by(ACROSS) {
                    let count = ACROSS.min(end - from);
                    let range = if axis == 0 {
                        self.bricks.span(from, k)
                    } else {
                        self.bricks.span_along(1, [from, from + count], k)
                    };
                    let at = layout.start(0, k) + from * across;
                    let place = Place { at, across, along: layout.strides()[axis], count };
                    self.sweep(
                        lines,
                        Bundle { axis, place, range: [range.start, range.end] },
                        &scalars,
                        left,
                    );
                }
            }
        });
    }

    fn along_z(&self, threads: &PerThread<Lines>, left: &mut [[f64; 4]], scalars: &mut [[f32; 4]]) {
        let layout = self.flow.layout;
        let scalars = Shared::new(scalars.as_flattened_mut());
        left.par_iter_mut().enumerate().for_each(|(j, left)| {
            let lines = &mut *threads.mine();
            for from in (0..layout.dims.nx).step_by(ACROSS) {
                let count = ACROSS.min(layout.dims.nx - from);
                let range = self.bricks.span_along(2, [from, from + count], j);
                let at = layout.start(j, 0) + from;
                let place = Place { at, across: 1, along: layout.plane, count };
                self.sweep(lines, Bundle { axis: 2, place, range: [range.start, range.end] }, &scalars, left);
            }
        });
    }

    /// Moves what is in some lines along them; no other thread may have them.
    fn sweep(&self, lines: &mut Lines, bundle: Bundle, scalars: &Shared<f32>, left: &mut [f64; 4]) {
        let Bundle { axis, place, range: [first, end] } = bundle;
        let (n, walls) = (self.flow.layout.dims.array()[axis], self.flow.walls);
        if first >= end || n == 1 && walls.is_shut(axis) {
            return;
        }
        let mut found = Found { range: [0; 2], holds: [false; 4] };
        let inside = |[first, end]: [usize; 2]| (first + HALO) * ACROSS..(end + HALO) * ACROSS;
        let loaded = inside([first, end]);
        let cells = lines.values.each_mut().map(|values| &mut values[loaded.clone()]);
        interleave::load(scalars, place, [first, end], cells, &mut found);
        let (range, holds) = self.moves(bundle, &found);
        if range[0] >= range[1] {
            return;
        }
        let bundle = Bundle { range, ..bundle };
        self.load_motion(lines, bundle);
        let walled = self.load_walls(lines, bundle);
        let all = [range[0] + HALO, range[1] + HALO];
        let deep = lines.weigh(all);
        let is_last = self.last == Some(axis);
        for c in (0..4).filter(|&c| holds[c]) {
            let beyond = if deep { HALO } else { BEYOND };
            self.load_ghosts(lines, c, bundle, beyond);
            lines.fit(c, all, walled);
            let wraps = walls.periodic()[axis] && range == [0, n];
            lines.fit_beyond(c, all, if deep { HALO } else { 1 }, wraps);
            lines.cross(c, all, deep);
            self.pass_sides(lines, bundle, &mut left[c]);
            lines.update(c, all, is_last);
            if is_last {
                let values = lines.values[c][inside(range)].as_chunks_mut::<4>().0;
                scale_row(&[self.decay[c]; 4], SCALAR_LIMIT, values);
            }
        }
        let from = lines.values.each_ref().map(|values| &values[inside(range)]);
        interleave::store(scalars, place, range, from);
    }

    /// The cells of lines where something is or arrives, and which scalars do.
    fn moves(&self, Bundle { axis, range, .. }: Bundle, found: &Found) -> ([usize; 2], [bool; 4]) {
        let walls = self.flow.walls;
        let (mut holds, mut feeds) = (found.holds, false);
        for side in walls.sides()[axis] {
            if let BoundaryCondition::Inflow(air) = side {
                feeds |= air.scalars != [0.0; 4];
                holds = [0, 1, 2, 3].map(|c| holds[c] || air.scalars[c] != 0.0);
            }
        }
        if feeds || walls.periodic()[axis] {
            let none = holds == [false; 4];
            return (if none { [0; 2] } else { range }, holds);
        }
        let [first, end] = found.range;
        if first >= end {
            return ([0; 2], holds);
        }
        ([first.saturating_sub(self.bounds).max(range[0]), (end + self.bounds).min(range[1])], holds)
    }

    /// Puts the volumes that cross the faces and those in the cells at the beginning into `lines`.
    fn load_motion(&self, lines: &mut Lines, Bundle { axis, place, range: [first, end] }: Bundle) {
        let (layout, velocity, walls) = (self.flow.layout, self.flow.velocity, self.flow.walls);
        let Place { at, across, along, count } = place;
        let n = layout.dims.array()[axis];
        let strides = layout.strides();
        let order = if self.backwards { [2, 1, 0] } else { [0, 1, 2] };
        let before = || order.into_iter().take_while(|&a| a != axis);
        let Lines { volume, courant, edges: rows, .. } = lines;
        volume[(first + HALO - 1) * ACROSS..(end + HALO + 1) * ACROSS].fill(1.0);
        let out = &mut volume[(first + HALO) * ACROSS..(end + HALO) * ACROSS];
        if axis == 0 {
            let pitch = end - first + 1;
            let rows = &mut rows[..ACROSS * pitch];
            if self.backwards {
                rows.fill(1.0);
                for (l, row) in rows.chunks_exact_mut(pitch).take(count).enumerate() {
                    let from = at + l * across + first;
                    for a in before() {
                        let [low, high] =
                            [from, from + strides[a]].map(|from| &velocity[a][from..][..pitch - 1]);
                        add_volume(self.steps, [low, high], &mut row[..pitch - 1]);
                    }
                }
                interleave::turn(rows, pitch, out);
            }
            rows.fill(0.0);
            for (l, row) in rows.chunks_exact_mut(pitch).take(count).enumerate() {
                scale(self.steps, &velocity[0][at + l * across + first..][..pitch], row);
            }
            interleave::turn(rows, pitch, &mut courant[(first + HALO) * ACROSS..][..pitch * ACROSS]);
        } else {
            for a in before() {
                let field = &velocity[a];
                for (i, out) in (first..end).zip(out.chunks_exact_mut(ACROSS)) {
                    let from = at + i * along;
                    let faces = [&field[from..][..count], &field[from + strides[a]..][..count]];
                    add_volume(self.steps, faces, &mut out[..count]);
                }
            }
            let out = courant[(first + HALO) * ACROSS..].chunks_exact_mut(ACROSS);
            for (i, out) in (first..end + 1).zip(out) {
                out.fill(0.0);
                scale(self.steps, &velocity[axis][at + i * along..][..count], &mut out[..count]);
            }
        }
        for (face, is_wall) in [0, n].into_iter().zip(walls.solid_sides()[axis]) {
            if is_wall && (first..=end).contains(&face) {
                courant[(face + HALO) * ACROSS..][..ACROSS].fill(0.0);
            }
        }
        let wraps = walls.periodic()[axis] && [first, end] == [0, n];
        for depth in 0..HALO {
            for (to, from) in [(first - 1 + HALO - depth, n - 1 - depth % n), (end + HALO + depth, depth % n)]
            {
                if wraps {
                    let from = (from + HALO) * ACROSS;
                    volume.copy_within(from..from + ACROSS, to * ACROSS);
                } else {
                    volume[to * ACROSS..][..ACROSS].fill(1.0);
                }
            }
        }
    }

    /// Puts what is open of each face inside into `lines`; true if any is closed.
    fn load_walls(&self, lines: &mut Lines, Bundle { axis, place, range: [first, end] }: Bundle) -> bool {
        let Some(flags) = self.flow.flags else { return false };
        let Place { at, across, along, count } = place;
        let n = self.flow.layout.dims.array()[axis];
        let is_closed = |i: usize, l: usize| flags[at + i * along + l * across] & CLOSED << axis != 0;
        let closed = (first.saturating_sub(BEYOND).max(1)..(end + BEYOND + 1).min(n))
            .any(|i| (0..count).any(|l| is_closed(i, l)));
        let solid = self.flow.walls.periodic()[axis] && (0..count).any(|l| is_closed(0, l));
        if closed || solid {
            lines.open[(first + HALO - BEYOND) * ACROSS..(end + HALO + BEYOND + 1) * ACROSS].fill(1.0);
            let [from, to] = if solid { [0, n + 1] } else { [1, n] };
            for i in from.max(first.saturating_sub(BEYOND))..to.min(end + BEYOND + 1) {
                let out = &mut lines.open[(i + HALO) * ACROSS..][..count];
                out.iter_mut().enumerate().for_each(|(l, out)| *out = f32::from(!is_closed(i % n, l)));
            }
        }
        closed || solid
    }

    /// Fills the cells beyond those of a bundle: nothing is there but beyond the sides.
    fn load_ghosts(&self, lines: &mut Lines, c: usize, Bundle { axis, range, .. }: Bundle, beyond: usize) {
        let [first, end] = range;
        let n = self.flow.layout.dims.array()[axis];
        let Lines { values, courant, .. } = lines;
        let values = &mut values[c];
        let cell = |i: usize| i * ACROSS..(i + 1) * ACROSS;
        let [low, high] = self.flow.walls.sides()[axis];
        for (side, is_high) in [(low, false), (high, true)] {
            let is_beyond = if is_high { end == n } else { first == 0 };
            for depth in 0..beyond {
                let to = if is_high { end + HALO + depth } else { first + HALO - 1 - depth };
                if !is_beyond {
                    values[cell(to)].fill(0.0);
                    continue;
                }
                match side {
                    BoundaryCondition::Closed | BoundaryCondition::NoSlip(_) => {
                        let fold = depth % (2 * n);
                        let fold = if fold < n { fold } else { 2 * n - 1 - fold };
                        let from = if is_high { n - 1 - fold } else { fold };
                        if (first..end).contains(&from) {
                            values.copy_within(cell(from + HALO), to * ACROSS);
                        } else {
                            values[cell(to)].fill(0.0);
                        }
                    }
                    BoundaryCondition::Periodic => {
                        let from = if is_high { depth % n } else { n - 1 - depth % n };
                        if (first..end).contains(&from) {
                            values.copy_within(cell(from + HALO), to * ACROSS);
                        } else {
                            values[cell(to)].fill(0.0);
                        }
                    }
                    BoundaryCondition::Open => {
                        let edge = if is_high { n - 1 } else { 0 } + HALO;
                        let face = if is_high { n } else { 0 } + HALO;
                        let sign = if is_high { 1.0 } else { -1.0 };
                        for l in 0..ACROSS {
                            let leaves = sign * courant[face * ACROSS + l] > 0.0;
                            values[to * ACROSS + l] = if leaves { values[edge * ACROSS + l] } else { 0.0 };
                        }
                    }
                    BoundaryCondition::Inflow(air) => values[cell(to)].fill(air.scalars[c]),
                }
            }
        }
    }

    /// Counts what crosses the sides.
    fn pass_sides(&self, lines: &mut Lines, Bundle { axis, range, .. }: Bundle, left: &mut f64) {
        let [first, end] = range;
        let n = self.flow.layout.dims.array()[axis];
        for (side, is_high) in self.flow.walls.sides()[axis].into_iter().zip([false, true]) {
            let is_beyond = if is_high { end == n } else { first == 0 };
            let face = if is_high { n } else { 0 } + HALO;
            let flux = &mut lines.flux;
            match side {
                BoundaryCondition::Periodic if is_high && range == [0, n] => {
                    flux.copy_within(HALO * ACROSS..(HALO + 1) * ACROSS, face * ACROSS);
                }
                BoundaryCondition::Open | BoundaryCondition::Inflow(_) if is_beyond => {
                    let sum: f64 = flux[face * ACROSS..][..ACROSS].iter().map(|&x| f64::from(x)).sum();
                    *left += if is_high { sum } else { -sum };
                }
                _ => {}
            }
        }
    }
}
