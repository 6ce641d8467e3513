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
//! - **Fast flow.** Lines where a cell would give more than it holds are swept in parts. Where the flow diverges along one axis
//!   so much that a cell would run empty between two sweeps, or crosses more than [`FURTHEST`] cells, the whole step is cut.
//! - **Solids.** A cut face lets through its open part, a closed one nothing; a cell beside a solid counts as whole, as it does for
//!   the pressure. Parabolas see no value across a closed face.
//! - **Sides.** Through walls nothing passes; air that enters through an open side is clean, that of an inflow brings its
//!   contents. What crosses the sides is counted.
//!
//! Lines lie side by side in scratch memory of each thread, [`ACROSS`] cells of them, so that one kernel serves all axes.

use rayon::prelude::*;

use self::parabola::{BEYOND, Lines, add_volume, spread};
use super::Side;
use super::advect::scale_row;
use super::bricks::Bricks;
use super::config::SCALAR_LIMIT;
use super::sides::Walls;
use super::simd::{dispatch, greatest};
use super::solids::CLOSED;
use super::sweep::{self, PerThread, Shared};
use crate::grid::{Faces, GHOST, Layout};

mod parabola;

/// Cells across lines that are done together: a brick.
const ACROSS: usize = 8;

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
    strain: Vec<[f32; 3]>,
    /// What has left through the sides, for each plane of the sweeps along x and y, and each row of those along z.
    left: [Vec<[f64; 4]>; 2],
    /// Whether the next round ends with x.
    pub backwards: bool,
}

/// What a step of the scheme reads.
pub struct Flow<'a> {
    pub layout: Layout,
    pub walls: &'a Walls,
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
        let room = 2 * BEYOND + 2;
        let size = (4 * (nx + room)).max(4 * ACROSS.min(nx) * (ny.max(nz) + room));
        Self {
            threads: PerThread::new(threads, || Lines::new(size)),
            strain: vec![[0.0; 3]; nz],
            left: [vec![[0.0; 4]; nz], vec![[0.0; 4]; ny]],
            backwards: false,
        }
    }

    /// Begins with x again.
    pub fn restart(&mut self) {
        self.backwards = false;
    }

    /// Moves `scalars` along the flow and multiplies them by `keep`; gives what has left through the sides, less what has come
    /// in, in cells.
    pub fn advance(
        &mut self,
        flow: &Flow,
        keep: &[f32; 4],
        scalars: &mut [[f32; 4]],
        bricks: &mut Bricks,
    ) -> [f64; 4] {
        let [strain, speed, share] = self.strain(flow);
        let rounds = (strain / EMPTIEST).max(speed / FURTHEST).ceil().clamp(1.0, MOST_ROUNDS);
        // A part of a sweep takes what is there by one cell.
        let parts = if rounds > 1.0 { speed / (rounds - strain) } else { share }.ceil().max(1.0);
        bricks.reach(flow.walls, rounds * parts);
        self.left.iter_mut().flatten().for_each(|left| *left = [0.0; 4]);
        for round in 1..=rounds as u32 {
            let keep = if round == rounds as u32 { *keep } else { [1.0; 4] };
            self.round(flow, flow.steps / rounds, &keep, scalars, bricks);
        }
        self.left.iter().flatten().fold([0.0; 4], |sum, left| [0, 1, 2, 3].map(|c| sum[c] + left[c]))
    }

    /// The greatest change of a cell's volume between sweeps, in cells; how many cells the flow crosses; and the greatest part of
    /// what it holds that a cell gives through one face, all in a single round.
    fn strain(&mut self, flow: &Flow) -> [f32; 3] {
        let Layout { dims, row, plane } = flow.layout;
        let [u, v, w] = flow.velocity;
        let n = dims.nx;
        sweep::reduce(flow.layout, &mut self.strain, |most, j, k| {
            let at = flow.layout.start(j, k);
            let [v, w] = [[&v[at..][..n], &v[at + row..][..n]], [&w[at..][..n], &w[at + plane..][..n]]];
            strain_row(flow.steps, &u[at..][..n + 1], v, w, most);
        });
        self.strain.iter().fold([0.0; 3], |a, b| [0, 1, 2].map(|i| a[i].max(b[i])))
    }

    /// One sweep along each axis over `steps` = Δt/h.
    fn round(&mut self, flow: &Flow, steps: f32, keep: &[f32; 4], scalars: &mut [[f32; 4]], bricks: &Bricks) {
        let is_still = |axis: usize| flow.layout.dims.array()[axis] == 1 && flow.walls.is_shut(axis);
        let last = if self.backwards { [0, 1, 2] } else { [2, 1, 0] }.into_iter().find(|&a| !is_still(a));
        let pass = Pass { flow, steps, keep, last, bricks, backwards: self.backwards };
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
            sweep::rows(flow.layout, scalars, pass.rows(), |_, _, row| {
                scale_row(keep, SCALAR_LIMIT, &mut row[GHOST..GHOST + flow.layout.dims.nx]);
            });
        }
    }
}

dispatch! { fn strain_row(steps: f32, u: &[f32], v: [&[f32]; 2], w: [&[f32]; 2], most: &mut [f32; 3]) = strain_kernel; }

#[inline(always)]
fn strain_kernel<const FMA: bool>(
    steps: f32,
    u: &[f32],
    v: [&[f32]; 2],
    w: [&[f32]; 2],
    most: &mut [f32; 3],
) {
    const LANES: usize = 8;
    let n = u.len() - 1;
    let (mut strain, mut speed, mut share) = ([0.0f32; LANES], [0.0f32; LANES], [0.0f32; LANES]);
    let (u0, u1) = (&u[..n], &u[1..]);
    let ([v0, v1], [w0, w1]) = (v.map(|v| &v[..n]), w.map(|w| &w[..n]));
    let full = n - n % LANES;
    for from in (0..full).step_by(LANES) {
        for l in 0..LANES {
            let i = from + l;
            let found = strain_of(steps, [u0[i], u1[i]], [v0[i], v1[i]], [w0[i], w1[i]]);
            strain[l] = greatest(found[0], strain[l]);
            speed[l] = greatest(found[1], speed[l]);
            share[l] = greatest(found[2], share[l]);
        }
    }
    for i in full..n {
        let found = strain_of(steps, [u0[i], u1[i]], [v0[i], v1[i]], [w0[i], w1[i]]);
        strain[0] = greatest(found[0], strain[0]);
        speed[0] = greatest(found[1], speed[0]);
        share[0] = greatest(found[2], share[0]);
    }
    most[0] = strain.into_iter().fold(most[0], f32::max);
    most[1] = speed.into_iter().fold(most[1], f32::max);
    most[2] = share.into_iter().fold(most[2], f32::max);
}

/// What [`Sweeps::strain`] finds, of one cell, whichever axis comes first.
#[inline(always)]
fn strain_of(steps: f32, u: [f32; 2], v: [f32; 2], w: [f32; 2]) -> [f32; 3] {
    let (x, y, z) = (steps * (u[1] - u[0]), steps * (v[1] - v[0]), steps * (w[1] - w[0]));
    let two = greatest((x + y).abs(), (y + z).abs());
    let strain = greatest(greatest(x.abs(), z.abs()), greatest(two, (x + y + z).abs()));
    let (x, y) = (greatest(u[0].abs(), u[1].abs()), greatest(v[0].abs(), v[1].abs()));
    let speed = steps * greatest(greatest(x, y), greatest(w[0].abs(), w[1].abs()));
    // The volume never falls further; where it could fall below this, there is more than one round.
    let holds = greatest(1.0 - strain, 1.0 - EMPTIEST - 0.01);
    [strain, speed, speed / holds]
}

/// One round.
struct Pass<'a> {
    flow: &'a Flow<'a>,
    /// Δt/h of the round.
    steps: f32,
    keep: &'a [f32; 4],
    /// The axis that is swept last.
    last: Option<usize>,
    bricks: &'a Bricks,
    backwards: bool,
}

/// Lines side by side: `count` cells from position `at` on, each the first of a line along `axis`.
#[derive(Clone, Copy)]
struct Bundle {
    axis: usize,
    at: usize,
    count: usize,
    /// The cells where something is or arrives.
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
                if axis == 0 {
                    for j in 0..layout.dims.ny {
                        let range = self.bricks.span(j, k);
                        let range = [range.start, range.end];
                        let bundle = Bundle { axis, at: layout.start(j, k), count: 1, range };
                        self.sweep(lines, bundle, &scalars, left);
                    }
                } else {
                    for from in (0..layout.dims.nx).step_by(ACROSS) {
                        let count = ACROSS.min(layout.dims.nx - from);
                        let range = self.bricks.span_along(1, [from, from + count], k);
                        let range = [range.start, range.end];
                        let bundle =
                            Bundle { axis, at: layout.at(from as isize, 0, k as isize), count, range };
                        self.sweep(lines, bundle, &scalars, left);
                    }
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
                let range = [range.start, range.end];
                let bundle = Bundle { axis: 2, at: layout.at(from as isize, j as isize, 0), count, range };
                self.sweep(lines, bundle, &scalars, left);
            }
        });
    }

    /// Moves what is in some lines along them; no other thread may have them.
    #[allow(unsafe_code)]
    fn sweep(&self, lines: &mut Lines, bundle: Bundle, scalars: &Shared<f32>, left: &mut [f64; 4]) {
        let Bundle { axis, range: [first, end], .. } = bundle;
        let (n, walls) = (self.flow.layout.dims.array()[axis], self.flow.walls);
        if first >= end || n == 1 && walls.is_shut(axis) {
            return;
        }
        let count = end - first;
        // Cells of a line along x lie side by side; those of others are a row apart, with as many lines beside them.
        let stride = 4 * bundle.count;
        let step = 4 * self.flow.layout.strides()[axis];
        self.load_motion(lines, bundle);
        let walled = self.load_walls(lines, bundle);
        let parts = lines.parts(n, stride);
        let part = 1.0 / parts as f32;
        let margin = if walls.periodic()[axis] {
            [0, n]
        } else {
            [first.saturating_sub(BEYOND), (end + BEYOND).min(n)]
        };
        // Along x all cells lie in one piece.
        let piece = |[first, end]: [usize; 2]| if axis == 0 { end - first } else { 1 };
        let pieces = |range: [usize; 2]| (range[0]..range[1]).step_by(piece(range).max(1));
        for i in pieces(margin) {
            let length = piece(margin) * stride;
            // SAFETY: a line belongs to one task of a pass, which holds one part of it at a time.
            let cells = unsafe { scalars.part(4 * bundle.at + i * step, length) };
            lines.values[(i + BEYOND) * stride..][..length].copy_from_slice(cells);
        }
        for _ in 0..parts {
            self.load_ghosts(lines, axis, n, stride, bundle.range);
            lines.cross(first, count, stride, part, walled);
            self.pass_sides(lines, axis, n, stride, part, bundle.range, left);
            lines.update(first, count, stride, part, parts == 1 && self.last == Some(axis));
        }
        let is_last = self.last == Some(axis);
        for i in pieces(bundle.range) {
            let length = piece(bundle.range) * stride;
            // SAFETY: as above.
            let cells = unsafe { scalars.part(4 * bundle.at + i * step, length) };
            cells.copy_from_slice(&lines.values[(i + BEYOND) * stride..][..length]);
            if is_last {
                if parts > 1 {
                    let volume = &lines.volume[(i + 1) * stride..][..length];
                    cells.iter_mut().zip(volume).for_each(|(cell, volume)| *cell *= volume);
                }
                scale_row(self.keep, SCALAR_LIMIT, cells.as_chunks_mut::<4>().0);
            }
        }
    }

    /// Puts the volumes that cross the faces and those in the cells at the beginning into `lines`.
    fn load_motion(&self, lines: &mut Lines, Bundle { axis, at, count, .. }: Bundle) {
        let (layout, velocity) = (self.flow.layout, self.flow.velocity);
        let n = layout.dims.array()[axis];
        let strides = layout.strides();
        let stride = 4 * count;
        let order = if self.backwards { [2, 1, 0] } else { [0, 1, 2] };
        let before = order.into_iter().take_while(|&a| a != axis);
        // A row of cells of a line along x, a row of lines along others.
        let (rows, length, step) = if axis == 0 { (1, n, 0) } else { (n, count, strides[axis]) };
        lines.volume[..(n + 2) * stride].fill(1.0);
        for a in before {
            let field = &velocity[a];
            for i in 0..rows {
                let from = at + i * step;
                let faces = [&field[from..][..length], &field[from + strides[a]..][..length]];
                add_volume(self.steps, faces, &mut lines.volume[stride * (i + 1)..][..4 * length]);
            }
        }
        let field = &velocity[axis];
        let (rows, length) = if axis == 0 { (1, n + 1) } else { (n + 1, count) };
        for i in 0..rows {
            let from = &field[at + i * step..][..length];
            spread(self.steps, from, &mut lines.courant[i * stride..][..4 * length]);
        }
        let walls = self.flow.walls.solid_sides()[axis];
        for (face, _) in [0, n].into_iter().zip(walls).filter(|(_, wall)| *wall) {
            lines.courant[face * stride..][..stride].fill(0.0);
        }
    }

    /// Puts what is open of each face inside into `lines`; true if any is closed.
    fn load_walls(&self, lines: &mut Lines, Bundle { axis, at, count, .. }: Bundle) -> bool {
        let Some(flags) = self.flow.flags else { return false };
        let n = self.flow.layout.dims.array()[axis];
        let step = self.flow.layout.strides()[axis];
        let is_closed = |flag: &u8| flag & CLOSED << axis != 0;
        let closed = (1..n).any(|i| flags[at + i * step..][..count].iter().any(is_closed));
        let solid = self.flow.walls.periodic()[axis] && flags[at..][..count].iter().any(is_closed);
        if closed || solid {
            let stride = 4 * count;
            lines.open[..(n + 1 + 2 * BEYOND) * stride].fill(1.0);
            for i in if solid { 0..n + 1 } else { 1..n } {
                let from = flags[at + i % n * step..][..count].iter();
                let (fours, _) = lines.open[(i + BEYOND) * stride..][..stride].as_chunks_mut::<4>();
                fours.iter_mut().zip(from).for_each(|(out, flag)| *out = [f32::from(!is_closed(flag)); 4]);
            }
        }
        closed || solid
    }

    /// Fills the cells beyond the sides.
    fn load_ghosts(&self, lines: &mut Lines, axis: usize, n: usize, stride: usize, [first, end]: [usize; 2]) {
        let Lines { values, courant, .. } = lines;
        let [low, high] = self.flow.walls.sides()[axis];
        for (side, is_high) in [(low, false), (high, true)] {
            if is_high && end + BEYOND <= n || !is_high && first >= BEYOND {
                continue;
            }
            let out = |depth: usize| if is_high { BEYOND + n + depth } else { BEYOND - 1 - depth };
            for depth in 0..BEYOND {
                let to = out(depth) * stride;
                match side {
                    Side::Closed | Side::NoSlip(_) => {
                        let fold = depth % (2 * n);
                        let fold = if fold < n { fold } else { 2 * n - 1 - fold };
                        let from = if is_high { n - 1 - fold } else { fold } + BEYOND;
                        values.copy_within(from * stride..(from + 1) * stride, to);
                    }
                    Side::Periodic => {
                        let from = if is_high { depth % n } else { n - 1 - depth % n } + BEYOND;
                        values.copy_within(from * stride..(from + 1) * stride, to);
                    }
                    Side::Open => {
                        let edge = (if is_high { n - 1 } else { 0 } + BEYOND) * stride;
                        let face = if is_high { n } else { 0 } * stride;
                        let sign = if is_high { 1.0 } else { -1.0 };
                        for l in 0..stride {
                            let leaves = sign * courant[face + l] > 0.0;
                            values[to + l] = if leaves { values[edge + l] } else { 0.0 };
                        }
                    }
                    Side::Inflow(air) => {
                        values[to..to + stride].as_chunks_mut::<4>().0.fill(air.scalars);
                    }
                }
            }
        }
    }

    /// Sets what comes in through the sides and counts what crosses them.
    #[allow(clippy::too_many_arguments)]
    fn pass_sides(
        &self,
        lines: &mut Lines,
        axis: usize,
        n: usize,
        stride: usize,
        part: f32,
        [first, end]: [usize; 2],
        left: &mut [f64; 4],
    ) {
        let Lines { flux, courant, .. } = lines;
        let [low, high] = self.flow.walls.sides()[axis];
        if low == Side::Periodic {
            if first == 0 && end == n {
                for l in 0..stride {
                    let [a, b] = [l, n * stride + l];
                    if courant[a] > 0.0 { flux[a] = flux[b] } else { flux[b] = flux[a] }
                }
            }
            return;
        }
        for (side, is_high) in [(low, false), (high, true)] {
            let brings = match side {
                Side::Open => [0.0; 4],
                Side::Inflow(air) => air.scalars,
                _ => continue,
            };
            if is_high && end < n || !is_high && first > 0 {
                continue;
            }
            let (face, outwards) = if is_high { (n * stride, 1.0) } else { (0, -1.0) };
            for l in 0..stride {
                let courant = courant[face + l];
                if outwards * courant < 0.0 {
                    flux[face + l] = part * courant * brings[l % 4];
                }
                left[l % 4] += f64::from(outwards * flux[face + l]);
            }
        }
    }
}
