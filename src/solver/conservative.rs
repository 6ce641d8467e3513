//! Advection that keeps what there is (Lentine, Grétarsson & Fedkiw 2011; West 2007 calls it accounting).
//!
//! Each cell asks the eight cells around the foot of its back-trace for their trilinear shares. A cell that is asked for
//! more than it has gives each that part of it; what nobody asked for, it pushes along its forward trace. Every share is
//! given once and received once, so that sums over a closed box change by rounding only, at any CFL number.
//!
//! Sums into cells are made by the owner of the cells: a task has some planes, and goes through all the traces that may end
//! there, in order. No result depends on the number of threads.

use rayon::prelude::*;

use super::sides::{Reach, Walls};
use super::simd::dispatch;
use super::trace::{Feet, RUN, locate};
use super::{advect, sweep};
use crate::grid::{GHOST, Layout};

/// Planes that one task sums into.
const SLAB: usize = 8;

/// One step of the scheme.
pub struct Pass<'a> {
    pub layout: Layout,
    pub walls: &'a Walls,
    pub owners: &'a Owners,
    /// Back-traces of the cells.
    pub back: &'a [[f32; 4]],
    /// Forward traces of the cells, with the sign of a back-trace.
    pub forward: &'a [[f32; 4]],
    /// Most cells that a trace crosses.
    pub most: f32,
}

impl Pass<'_> {
    /// Rows inside, as half-open ranges of j and k.
    pub fn inside(&self) -> [[isize; 2]; 2] {
        [[0, self.layout.dims.ny as isize], [0, self.layout.dims.nz as isize]]
    }

    /// Sums what each cell is asked for into `asked`.
    pub fn demand(&self, asked: &mut [f32]) {
        let reach = self.walls.reach(None);
        asked.fill(0.0);
        self.scatter(asked, |planes, j, k| {
            self.feet(&reach, self.back, j, k, |_, base, weights| {
                self.owners.each(base, weights, |at, weight| planes.add(at, |sum| *sum += weight));
            });
        });
    }

    /// What each cell gives for a whole share: all it has, or less where more than that is asked for.
    pub fn offer(&self, asked: &[f32], field: &[[f32; 4]], given: &mut [[f32; 4]]) {
        sweep::rows(self.layout, given, self.inside(), |j, k, row| {
            let (at, n) = (self.layout.at(0, j, k), self.layout.dims.nx);
            offer_row(&asked[at..][..n], &field[at..][..n], &mut row[GHOST..GHOST + n]);
        });
    }

    /// Collects the shares that each cell asked for from `given`, ghosts filled.
    pub fn collect(&self, given: &[[f32; 4]], out: &mut [[f32; 4]]) {
        let reach = self.walls.reach(None);
        let n = self.layout.dims.nx;
        sweep::rows(self.layout, out, self.inside(), |j, k, row| {
            let traces = advect::Row {
                origin: [0.0, j as f32, k as f32],
                back: &self.back[self.layout.at(0, j, k)..][..n],
            };
            let out = &mut row[GHOST..GHOST + n];
            advect::scalars(advect::Interpolation::Linear, traces, &reach, given, out);
        });
    }

    /// Adds to `out` what nobody asked for, where it goes.
    ///
    /// Places beyond an open side do not ask. What is missing for that has left: it is the part of a cell that goes there,
    /// and only more than that is pushed to where the rest goes. Pushed with it, smoke would pile up before the side.
    pub fn push(&self, asked: &[f32], field: &[[f32; 4]], out: &mut [[f32; 4]]) {
        let reach = self.walls.reach(None);
        self.scatter(out, |planes, j, k| {
            let from = self.layout.start(j, k);
            self.feet(&reach, self.forward, j, k, |i, base, weights| {
                let mut left = (1.0 - asked[from + i]).max(0.0);
                if left > 0.0 {
                    left = self.owners.stays(base, weights, left);
                    let moved = field[from + i].map(|x| left * x);
                    self.owners.each(base, weights, |at, weight| {
                        planes.add(at, |sum| (0..4).for_each(|c| sum[c] += weight * moved[c]));
                    });
                }
            });
        });
    }

    /// Calls `f(planes, j, k)` for each row whose traces may end in the planes of a task, task by task.
    fn scatter<T: Send>(&self, field: &mut [T], f: impl Fn(&mut Planes<T>, usize, usize) + Sync) {
        let Layout { dims, plane, .. } = self.layout;
        let inside = GHOST * plane..(GHOST + dims.nz) * plane;
        field[inside].par_chunks_mut(SLAB * plane).enumerate().for_each(|(task, values)| {
            let first = task * SLAB;
            let sources = self.sources(first, values.len() / plane);
            let mut planes = Planes { first: (first + GHOST) * plane, values };
            for k in sources {
                (0..dims.ny).for_each(|j| f(&mut planes, j, k));
            }
        });
    }

    /// Planes that traces can join to `count` planes from `first` on.
    fn sources(&self, first: usize, count: usize) -> impl Iterator<Item = usize> {
        let nz = self.layout.dims.nz as isize;
        // The nearest two cells of a foot, and what rounding adds to a trace.
        let far = self.most.ceil().min(nz as f32) as isize + 2;
        let (low, high) = (first as isize - far, (first + count) as isize + far);
        let periodic = self.walls.periodic()[2];
        let range = match periodic {
            true if high - low < nz => low..high,
            true => 0..nz,
            false => low.max(0)..high.min(nz),
        };
        range.map(move |k| k.rem_euclid(nz) as usize)
    }

    /// Calls `f(i, position below the foot, fractions)` for each cell of row (j, k).
    fn feet(
        &self,
        reach: &Reach,
        traces: &[[f32; 4]],
        j: usize,
        k: usize,
        mut f: impl FnMut(usize, usize, [f32; 3]),
    ) {
        let (mut feet, n) = (Feet::default(), self.layout.dims.nx);
        let row = &traces[self.layout.start(j, k)..][..n];
        for (run, traces) in row.chunks(RUN).enumerate() {
            locate::<false>(reach, [(run * RUN) as f32, j as f32, k as f32], traces, &mut feet);
            for t in 0..traces.len() {
                f(run * RUN + t, feet.at[t] as usize, [0, 1, 2].map(|a| feet.fraction[a][t]));
            }
        }
    }
}

/// The planes of a field that one task sums into.
struct Planes<'a, T> {
    first: usize,
    values: &'a mut [T],
}

impl<T> Planes<'_, T> {
    /// Changes the value at a position of the whole field, if it is one of these.
    fn add(&mut self, at: usize, change: impl FnOnce(&mut T)) {
        if let Some(value) = at.checked_sub(self.first).and_then(|at| self.values.get_mut(at)) {
            change(value);
        }
    }
}

/// Whose the places around the box are: on a wall a ghost shows the cell before it, on a periodic side the one at the other
/// end, and beyond other sides nobody's.
pub struct Owners {
    layout: Layout,
    along: [Vec<Option<usize>>; 3],
}

impl Owners {
    /// Of a box of `layout` between `walls`.
    pub fn new(layout: Layout, walls: &Walls) -> Self {
        let (periodic, solid, n) = (walls.periodic(), walls.solid_sides(), layout.dims.array());
        let strides = layout.strides();
        let owner = |axis: usize, at: usize| {
            let (i, n) = (at as isize - GHOST as isize, n[axis] as isize);
            let inside = match (periodic[axis], solid[axis]) {
                (true, _) => Some(i.rem_euclid(n)),
                (false, [low, high]) => match i {
                    i if i < 0 => low.then_some(0),
                    i if i >= n => high.then_some(n - 1),
                    i => Some(i),
                },
            };
            inside.map(|i| (i as usize + GHOST) * strides[axis])
        };
        let along = [0, 1, 2].map(|axis| (0..n[axis] + 2 * GHOST).map(|at| owner(axis, at)).collect());
        Self { layout, along }
    }

    /// Calls `f(owner, share)` for the eight places around a foot.
    fn each(&self, below: usize, fraction: [f32; 3], mut f: impl FnMut(usize, f32)) {
        let index = self.index(below);
        for corner in 0..8 {
            let up = [corner & 1, corner >> 1 & 1, corner >> 2];
            let part = [0, 1, 2].map(|a| if up[a] == 1 { fraction[a] } else { 1.0 - fraction[a] });
            let owner = [0, 1, 2].map(|a| self.along[a][index[a] + up[a]]);
            if let [Some(x), Some(y), Some(z)] = owner {
                f(x + y + z, part[0] * part[1] * part[2]);
            }
        }
    }

    /// Of a part `left` of what goes to a foot: how much, for each whole share of a place that is someone's, does not go to
    /// places that are nobody's.
    fn stays(&self, below: usize, fraction: [f32; 3], left: f32) -> f32 {
        let index = self.index(below);
        // What each axis keeps inside.
        let kept = [0, 1, 2].map(|a| {
            let [low, high] = [0, 1].map(|up| self.along[a][index[a] + up].is_some());
            match (low, high) {
                (true, true) => 1.0,
                (true, false) => 1.0 - fraction[a],
                (false, true) => fraction[a],
                (false, false) => 0.0,
            }
        });
        let inside = kept[0] * kept[1] * kept[2];
        if inside == 1.0 { left } else { (left - (1.0 - inside)).max(0.0) / inside.max(f32::MIN_POSITIVE) }
    }

    /// The indices of a position, from the first ghost on.
    fn index(&self, at: usize) -> [usize; 3] {
        let Layout { row, plane, .. } = self.layout;
        [at % row, at % plane / row, at / plane]
    }
}

dispatch! { fn offer_row(asked: &[f32], field: &[[f32; 4]], out: &mut [[f32; 4]]) = offer_row_kernel; }

#[inline(always)]
fn offer_row_kernel<const FMA: bool>(asked: &[f32], field: &[[f32; 4]], out: &mut [[f32; 4]]) {
    let n = out.len();
    let (asked, field) = (&asked[..n], &field[..n]);
    for i in 0..n {
        let part = if asked[i] > 1.0 { 1.0 / asked[i] } else { 1.0 };
        for c in 0..4 {
            out[i][c] = part * field[i][c];
        }
    }
}
