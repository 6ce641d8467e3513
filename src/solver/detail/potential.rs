//! The curl of the potential of [`Swirls`], on the faces of finer cells.
//!
//! Potentials lie on the edges of finer cells. The flux through a face is the sum of the potentials around
//! it. Each edge borders two faces of every cell that it touches, so every finer cell has a divergence of
//! exactly 0 before rounding. An edge takes the potential at its lower end. This shifts the components by
//! half a cell against each other, which does not matter because they are independent.
//!
//! On walls and inflows the potential is 0, so nothing crosses them. Both sides of a periodic axis have the same bits.

use fearless_simd::f32x4;
use fearless_simd::prelude::*;
use rayon::prelude::*;

use super::prolong::Prolong;
use super::swirls::{GENERATIONS, Packed, Swirls};
use super::wavelet_noise::Tile;
use crate::grid::{Faces, GHOST, Layout};
use crate::simd::{Simd, each_level, greatest};
use crate::solver::BoundaryCondition;
use crate::solver::config::MOST_DETAIL;
use crate::solver::sides::GhostRules;
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::row_passes::PerThread;

/// Planes of the velocity's cells in one unit of work.
const SLAB: usize = 4;

/// Faces handled together in search of the greatest.
const LANES: usize = 8;

/// Potentials at the corners of a plane of finer cells, by component.
type Plane = [Vec<f32>; 3];

/// Scratch of one thread.
struct Scratch {
    /// The corners below a plane of faces, and above it.
    planes: [Plane; 2],
    /// Places and weights of each generation between rows of cells.
    rows: [Vec<Packed>; GENERATIONS],
}

/// Memory of [`Curl`].
pub struct Memory {
    threads: PerThread<Scratch>,
    /// The cells whose faces are filled, for each row.
    ranges: Vec<[usize; 2]>,
    /// Greatest velocity in each unit of work \[m/s\].
    speeds: Vec<f32>,
}

impl Memory {
    /// For a grid of `fine` cells and one of `coarse` ones.
    pub fn new(coarse: Layout, fine: Layout, threads: usize) -> Self {
        let plane = || vec![0.0; (fine.dims.nx + 1) * (fine.dims.ny + 1)];
        let planes = || [plane(), plane(), plane()];
        let row = || vec![[0.0; 4]; coarse.dims.nx + 2];
        let [_, ny, nz] = coarse.dims.array();
        Self {
            threads: PerThread::new(threads, || Scratch {
                planes: [planes(), planes()],
                rows: [row(), row()],
            }),
            ranges: vec![[0; 2]; (ny + 1) * (nz + 1)],
            speeds: vec![0.0; nz / SLAB + 1],
        }
    }
}

/// The curl of the potential of swirls.
pub struct Curl<'a> {
    pub swirls: &'a Swirls,
    pub prolong: Prolong<'a>,
    /// Rules of the finer grid.
    pub walls: &'a GhostRules,
}

/// The cells whose faces are filled, for each row.
#[derive(Clone, Copy)]
struct Ranges<'a> {
    of_rows: &'a [[usize; 2]],
    /// Rows in a plane.
    rows: usize,
}

impl Ranges<'_> {
    fn of(&self, j: usize, k: usize) -> [usize; 2] {
        self.of_rows[j + self.rows * k]
    }

    /// The range of cells around a row of corners: the cells of row (j, k), and those of the rows before it
    /// if the corners lie on the border between them.
    fn around(&self, [j, k]: [usize; 2], is_border: [bool; 2]) -> [usize; 2] {
        let before = |index: usize, is_border: bool| if is_border { index.saturating_sub(1) } else { index };
        let (js, ks) = (before(j, is_border[0])..=j, before(k, is_border[1])..=k);
        let all = ks.flat_map(|k| js.clone().map(move |j| (j, k))).map(|(j, k)| self.of(j, k));
        all.filter(|[from, to]| from < to)
            .fold([usize::MAX, 0], |sum, range| [sum[0].min(range[0]), sum[1].max(range[1])])
    }
}

impl Curl<'_> {
    /// Adds to the faces that [`Prolong::reached`] has filled for the same `bricks`. Returns the greatest velocity on them \[m/s\].
    pub fn add(&self, bricks: &Bricks, out: &mut Faces, memory: &mut Memory, halt: &Halt) -> f32 {
        let Prolong { finer, coarse, fine, .. } = self.prolong;
        let Memory { threads, ranges, speeds } = memory;
        let rows = coarse.dims.ny + 1;
        ranges.par_chunks_exact_mut(rows).enumerate().for_each(|(k, ranges)| {
            ranges.iter_mut().enumerate().for_each(|(j, range)| *range = self.prolong.range(bricks, j, k));
        });
        let ranges = Ranges { of_rows: ranges, rows };
        let [u, v, w] = out;
        let (from, chunk) = (GHOST * fine.plane, SLAB * finer * fine.plane);
        let tasks = u[from..].par_chunks_mut(chunk).zip(v[from..].par_chunks_mut(chunk));
        let tasks = tasks.zip(w[from..].par_chunks_mut(chunk)).zip(&mut *speeds);
        tasks.enumerate().for_each(|(n, (((u, v), w), speed))| {
            *speed = self.slab(n * SLAB * finer, [u, v, w], ranges, &mut threads.mine(), halt);
        });
        self.walls.ranks().most(speeds.iter().copied().fold(0.0, f32::max))
    }

    /// Adds to the planes of faces of one unit of work, from plane `first` on.
    fn slab(
        &self,
        first: usize,
        [u, v, w]: [&mut [f32]; 3],
        ranges: Ranges,
        scratch: &mut Scratch,
        halt: &Halt,
    ) -> f32 {
        let Prolong { finer, fine, .. } = self.prolong;
        let [nx, ny, nz] = fine.dims.array();
        let wide = nx + 1;
        let mut most = [0.0f32; LANES];
        let Scratch { planes: [low, high], rows } = scratch;
        let [own, end] = fine.cell_planes();
        let end = if end == nz { nz + 1 } else { end };
        let planes = first.max(own)..(first + SLAB * finer).min(end);
        if planes.is_empty() {
            return 0.0;
        }
        self.corners(planes.start, ranges, low, rows);
        for k in planes.take_while(|_| !halt.is_raised()) {
            let is_inside = k < nz;
            if is_inside {
                self.corners(k + 1, ranges, high, rows);
            }
            let ([ax, ay, az], [bx, by, _]) = (&*low, &*high);
            for j in 0..=ny {
                let [from, to] = ranges.of(j / finer, k / finer);
                if from >= to {
                    continue;
                }
                let (i, n) = (from * finer, (to - from) * finer);
                let at = (k - first) * fine.plane + (j + GHOST) * fine.row + i + GHOST;
                let corner = j * wide + i;
                if j < ny && is_inside {
                    let along_y = [&az[corner..][..n + 1], &az[corner + wide..][..n + 1]];
                    let along_z = [&ay[corner..][..n + 1], &by[corner..][..n + 1]];
                    add_row(along_y, along_z, &mut u[at..][..n + 1], &mut most);
                }
                if is_inside {
                    let along_z = [&ax[corner..][..n], &bx[corner..][..n]];
                    let along_x = [&az[corner..][..n], &az[corner + 1..][..n]];
                    add_row(along_z, along_x, &mut v[at..][..n], &mut most);
                }
                if j < ny {
                    let along_x = [&ay[corner..][..n], &ay[corner + 1..][..n]];
                    let along_y = [&ax[corner..][..n], &ax[corner + wide..][..n]];
                    add_row(along_x, along_y, &mut w[at..][..n], &mut most);
                }
            }
            std::mem::swap(low, high);
        }
        most.into_iter().fold(0.0, f32::max)
    }

    /// Computes the potentials at the corners of plane `k`.
    fn corners(&self, k: usize, ranges: Ranges, out: &mut Plane, rows: &mut [Vec<Packed>; GENERATIONS]) {
        let Prolong { finer, fine, .. } = self.prolong;
        let [nx, ny, _] = fine.dims.array();
        for j in 0..=ny {
            let range = ranges.around([j / finer, k / finer], [j, k].map(|x| x.is_multiple_of(finer)));
            if range[0] < range[1] {
                let (at, n) = (j * (nx + 1) + range[0] * finer, (range[1] - range[0]) * finer + 1);
                let out = out.each_mut().map(|plane| &mut plane[at..][..n]);
                self.corner_row([j, k], range, out, rows);
            }
        }
    }

    /// Computes the potentials at the corners of the cells `first..end` of the velocity in row `at` = (j, k) of corners.
    fn corner_row(
        &self,
        at: [usize; 2],
        [first, end]: [usize; 2],
        mut out: [&mut [f32]; 3],
        rows: &mut [Vec<Packed>; GENERATIONS],
    ) {
        let n = self.prolong.fine.dims.array();
        if self.is_on_wall(1, at[0]) || self.is_on_wall(2, at[1]) {
            return out.iter_mut().for_each(|out| out.fill(0.0));
        }
        // The sides of a periodic axis are one.
        let wrapped = |axis: usize, index: usize| {
            if self.walls.periodic()[axis] && index == n[axis] { 0 } else { index }
        };
        let at = [wrapped(1, at[0]), wrapped(2, at[1])];
        let holds = self.blend(at, [first, end], rows);
        let rows = rows.each_ref().map(|row| &row[..end - first + 2]);
        if holds {
            let [x, y, z] = &mut out;
            sample(self.prolong.finer, self.swirls.tile(), rows, [x, y, z]);
        } else {
            out.iter_mut().for_each(|out| out.fill(0.0));
        }
        let last = out[0].len() - 1;
        if first == 0 && self.is_on_wall(0, 0) {
            out.iter_mut().for_each(|out| out[0] = 0.0);
        }
        if end == self.prolong.coarse.dims.nx && self.is_on_wall(0, n[0]) {
            out.iter_mut().for_each(|out| out[last] = 0.0);
        }
        if end == self.prolong.coarse.dims.nx && self.walls.periodic()[0] {
            self.first_corner(at, out.map(|out| &mut out[last]));
        }
    }

    /// Computes the potentials at the first corner of a row as [`corner_row`](Self::corner_row) does.
    fn first_corner(&self, at: [usize; 2], out: [&mut f32; 3]) {
        let mut rows = [[[0.0; 4]; 3]; GENERATIONS];
        let [a, b] = &mut rows;
        let mut corners = [[0.0; 5]; 3];
        let n = self.prolong.finer + 1;
        if self.blend(at, [0, 1], &mut [&mut a[..], &mut b[..]]) {
            let [x, y, z] = &mut corners;
            sample(
                self.prolong.finer,
                self.swirls.tile(),
                [&rows[0], &rows[1]],
                [&mut x[..n], &mut y[..n], &mut z[..n]],
            );
        }
        out.into_iter().zip(corners).for_each(|(out, corner)| *out = corner[0]);
    }

    /// Whether corners with this index along an axis lie on a side that nothing may cross.
    fn is_on_wall(&self, axis: usize, index: usize) -> bool {
        let n = self.prolong.fine.dims.array()[axis];
        let [low, high] = self.walls.sides()[axis]
            .map(|side| !matches!(side, BoundaryCondition::Open | BoundaryCondition::Periodic));
        !self.swirls.is_flat(axis) && (index == 0 && low || index == n && high)
    }

    /// Interpolates places and weights to a row of corners, at the centres before, in and after the cells `first..end`. Returns
    /// whether there is any weight.
    fn blend<R: AsMut<[Packed]>>(
        &self,
        at: [usize; 2],
        [first, end]: [usize; 2],
        rows: &mut [R; GENERATIONS],
    ) -> bool {
        let (layout, finer) = (self.prolong.coarse, self.prolong.finer);
        // The cell centre before a corner, and the weight of the next one.
        let place = |index: usize| {
            let twice = 2 * index as isize - finer as isize;
            let wide = 2 * finer as isize;
            (twice.div_euclid(wide), twice.rem_euclid(wide) as f32 / wide as f32)
        };
        let [(j, y), (k, z)] = at.map(place);
        let from = layout.at(first as isize - 1, j, k);
        let count = end - first + 2;
        let mut holds = 0.0;
        for (cells, row) in self.swirls.packed().into_iter().zip(rows) {
            let of = |offset: usize| &cells[from + offset..][..count];
            let beside = [of(0), of(layout.row), of(layout.plane), of(layout.plane + layout.row)];
            blend_row(beside, [y, z], &mut row.as_mut()[..count], &mut holds);
        }
        holds > 0.0
    }
}

each_level! { fn blend_row(rows: [&[Packed]; 4], shares: [f32; 2], out: &mut [Packed], most: &mut f32) = blend_kernel; }

#[inline(always)]
fn blend_kernel<S: Simd>(s: S, rows: [&[Packed]; 4], [y, z]: [f32; 2], out: &mut [Packed], most: &mut f32) {
    let n = out.len();
    let [a, b, c, d] = rows.map(|row| &row[..n]);
    for i in 0..n {
        for t in 0..4 {
            let low = s.fma(y, b[i][t] - a[i][t], a[i][t]);
            let high = s.fma(y, d[i][t] - c[i][t], c[i][t]);
            out[i][t] = s.fma(z, high - low, low);
        }
        *most = greatest(out[i][3].abs(), *most);
    }
}

each_level! {
    /// Samples a row of potentials, `finer` for each interval between the centres that `rows` begin and end with.
    fn sample(finer: usize, tile: &Tile, rows: [&[Packed]; GENERATIONS], out: [&mut [f32]; 3]) = sample_kernel;
}

#[inline(always)]
fn sample_kernel<S: Simd>(
    s: S,
    finer: usize,
    tile: &Tile,
    rows: [&[Packed]; GENERATIONS],
    [x, y, z]: [&mut [f32]; 3],
) {
    let n = rows[0].len() - 2;
    let rows = rows.map(
        #[inline(always)]
        |row| &row[..n + 2],
    );
    let count = finer * n + 1;
    let (x, y, z) = (&mut x[..count], &mut y[..count], &mut z[..count]);
    // The cell before each corner, counted from that of the interval, and the share of the next.
    let mut shares = [(0, 0.0); MOST_DETAIL];
    for (part, share) in shares[..finer].iter_mut().enumerate() {
        let twice = 2 * part + finer;
        *share = (twice / (2 * finer), (twice % (2 * finer)) as f32 / (2 * finer) as f32);
    }
    for cell in 0..=n {
        for (part, &(before, share)) in shares[..if cell == n { 1 } else { finer }].iter().enumerate() {
            let at = cell + before;
            let mut sum = f32x4::splat(s, 0.0);
            for row in rows {
                let (low, high) = (&row[at], &row[(at + 1).min(n + 1)]);
                if low[3] == 0.0 && high[3] == 0.0 {
                    continue;
                }
                let (low, high) = (f32x4::load_array_ref(s, low), f32x4::load_array_ref(s, high));
                let place = f32x4::splat(s, share).mul_add(high - low, low);
                let [.., weight]: [f32; 4] = place.into();
                sum = f32x4::splat(s, weight).mul_add(tile.sample(s, place), sum);
            }
            let to = finer * cell + part;
            [x[to], y[to], z[to], _] = sum.into();
        }
    }
}

each_level! { fn add_row(a: [&[f32]; 2], b: [&[f32]; 2], out: &mut [f32], most: &mut [f32; LANES]) = add_kernel; }

/// Adds the difference of one pair of rows, less that of the other.
#[inline(always)]
fn add_kernel<S: Simd>(
    _: S,
    [a0, a1]: [&[f32]; 2],
    [b0, b1]: [&[f32]; 2],
    out: &mut [f32],
    most: &mut [f32; LANES],
) {
    let n = out.len();
    let (a0, a1, b0, b1) = (&a0[..n], &a1[..n], &b0[..n], &b1[..n]);
    let full = n - n % LANES;
    for from in (0..full).step_by(LANES) {
        for l in 0..LANES {
            let i = from + l;
            out[i] += (a1[i] - a0[i]) - (b1[i] - b0[i]);
            most[l] = greatest(out[i].abs(), most[l]);
        }
    }
    for i in full..n {
        out[i] += (a1[i] - a0[i]) - (b1[i] - b0[i]);
        most[0] = greatest(out[i].abs(), most[0]);
    }
}
