//! Back-traces through the velocity, one for each cell: where the air came from.
//!
//! The midpoint rule finds a departure point: x_departure = x − Δt u(x − ½ Δt u(x)). Ralston's third-order
//! rule is the alternative. The velocity lies at cell centres, its three components interleaved, so one
//! trilinear sample gives all. Faces use the mean displacement of the two cells they separate.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod eight_traces;

use fearless_simd::prelude::*;

use crate::grid::{Faces, GHOST, Layout};
#[cfg(target_arch = "x86_64")]
use crate::simd::Level;
use crate::simd::vectors::{EIGHT, f32x8};
use crate::simd::{Simd, each_level, greatest, least, level};
use crate::solver::TraceOrder;
use crate::solver::sides::SampleBounds;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::row_passes;
#[cfg(target_arch = "x86_64")]
pub use avx512::locate as locate_sixteen;
pub use eight_traces::{locate as locate_eight, locate_indices as indices_of_eight};

/// Cells handled together: first all offsets, then all samples, so that the first part vectorises.
pub const RUN: usize = 64;

/// Departure points of a run of cells.
pub struct Departures {
    /// Position of the value below the departure point on each axis.
    pub at: [u32; RUN],
    /// Fraction of a cell above it, 0..1, along x, y, z.
    pub fraction: [[f32; RUN]; 3],
}

impl Default for Departures {
    fn default() -> Self {
        Self { at: [0; RUN], fraction: [[0.0; RUN]; 3] }
    }
}

/// Computes the velocity at cell centres, one ghost layer included, from faces with filled ghosts. The fourth
/// value is unused.
pub fn centers(layout: Layout, [u, v, w]: &Faces, out: &mut [[f32; 4]]) {
    let [ny, nz] = [layout.dims.ny as isize, layout.dims.nz as isize];
    let n = layout.dims.nx + 2;
    row_passes::rows(layout, out, [[-1, ny + 1], [-1, nz + 1]], |j, k, row| {
        let at = layout.at(-1, j, k);
        let faces = FacesOfRow {
            u: &u[at..][..n + 1],
            v: [&v[at..][..n], &v[at + layout.row..][..n]],
            w: [&w[at..][..n], &w[at + layout.plane..][..n]],
        };
        center_row(faces, &mut row[GHOST - 1..][..n]);
    });
}

/// The faces on both sides of a row of cells; u has one more than the others.
#[derive(Clone, Copy)]
struct FacesOfRow<'a> {
    u: &'a [f32],
    v: [&'a [f32]; 2],
    w: [&'a [f32]; 2],
}

impl FacesOfRow<'_> {
    /// Velocity at the centre of cell i.
    #[inline(always)]
    fn center(&self, i: usize) -> [f32; 4] {
        let Self { u, v, w } = self;
        [0.5 * (u[i] + u[i + 1]), 0.5 * (v[0][i] + v[1][i]), 0.5 * (w[0][i] + w[1][i]), 0.0]
    }
}

/// As [`centers`], by the mean of the four faces around where they lie inside the box: (9 (f₁ + f₂) − f₀ − f₃)/16, exact for cubics.
/// Two faces take 5 % off a wave of ten cells, and four 0.3 %.
pub fn fourth_order_centers(layout: Layout, [u, v, w]: &Faces, out: &mut [[f32; 4]]) {
    let [nx, ny, nz] = [layout.dims.nx, layout.dims.ny, layout.dims.nz].map(|n| n as isize);
    row_passes::rows(layout, out, [[-1, ny + 1], [-1, nz + 1]], |j, k, row| {
        let at = layout.at(-1, j, k);
        let across = [(v, layout.row, MeanOfFour::new(j, ny)), (w, layout.plane, MeanOfFour::new(k, nz))];
        let cells = &mut row[GHOST - 1..][..nx as usize + 2];
        let rows = across.map(|(faces, far, mean)| {
            // Where the outer faces have no weight, they may lie outside of the field.
            let beyond = if mean.beyond == 0.0 { 0 } else { far };
            let [a, d] = [at - beyond, at + far + beyond];
            (mean, [a, at, at + far, d].map(|at| &faces[at..][..cells.len()]))
        });
        fourth_order_row(&u[at - 1..][..cells.len() + 2], rows, cells);
    });
}

/// Weights of the two faces of a cell, and of the two beyond them.
#[derive(Clone, Copy)]
struct MeanOfFour {
    near: f32,
    beyond: f32,
}

impl MeanOfFour {
    const INSIDE: Self = Self { near: 9.0 / 16.0, beyond: -1.0 / 16.0 };

    /// That of cell `n` of `count`: the mean of two where not all four lie inside the box.
    #[inline(always)]
    fn new(n: isize, count: isize) -> Self {
        if (1..count - 1).contains(&n) { Self::INSIDE } else { Self { near: 0.5, beyond: 0.0 } }
    }

    #[inline(always)]
    fn of<S: Simd>(self, s: S, [a, b, c, d]: [f32; 4]) -> f32 {
        s.fma(self.beyond, a + d, self.near * (b + c))
    }

    #[inline(always)]
    fn of_eight<S: Simd>(self, [a, b, c, d]: [f32x8<S>; 4]) -> f32x8<S> {
        (a + d).mul_add(self.beyond, (b + c) * self.near)
    }
}

/// Rows of the four faces around each cell of a row, and their weights.
type FourRows<'a> = (MeanOfFour, [&'a [f32]; 4]);

each_level! {
    /// Centres of a row that begins and ends with a ghost. `u` begins with the face before that of the first cell, and ends with the
    /// last cell's far face; `across` are v and w.
    fn fourth_order_row(u: &[f32], across: [FourRows; 2], out: &mut [[f32; 4]]) = fourth_order_kernel;
}

#[inline(always)]
fn fourth_order_kernel<S: Simd>(s: S, u: &[f32], across: [FourRows; 2], out: &mut [[f32; 4]]) {
    let (n, mut done) = (out.len(), 0);
    // Far faces are missing at the end.
    while done + EIGHT + 3 <= u.len() {
        let faces = &u[done..][..EIGHT + 3];
        let x = MeanOfFour::INSIDE.of_eight([
            f32x8::from_slice(s, &faces[..EIGHT]),
            f32x8::from_slice(s, &faces[1..][..EIGHT]),
            f32x8::from_slice(s, &faces[2..][..EIGHT]),
            f32x8::from_slice(s, &faces[3..][..EIGHT]),
        ]);
        let [y, z] = [eight_means(s, across[0], done), eight_means(s, across[1], done)];
        let cells: &mut [[f32; 4]; EIGHT] = out[done..].first_chunk_mut().expect("eight cells");
        s.interleave([x, y, z, s.splat_f32x8(0.0)], cells.each_mut());
        done += EIGHT;
    }
    for i in (0..2).chain(done.min(n - 2)..n) {
        let along = MeanOfFour::new(i as isize - 1, n as isize - 2);
        let beyond = usize::from(along.beyond != 0.0);
        let x = along.of(s, [u[i + 1 - beyond], u[i + 1], u[i + 2], u[i + 2 + beyond]]);
        let [y, z] = across.map(|(mean, [a, b, c, d])| mean.of(s, [a[i], b[i], c[i], d[i]]));
        out[i] = [x, y, z, 0.0];
    }
}

#[inline(always)]
fn eight_means<S: Simd>(s: S, (mean, rows): FourRows, i: usize) -> f32x8<S> {
    let [a, b, c, d] = rows;
    mean.of_eight([
        f32x8::from_slice(s, &a[i..][..EIGHT]),
        f32x8::from_slice(s, &b[i..][..EIGHT]),
        f32x8::from_slice(s, &c[i..][..EIGHT]),
        f32x8::from_slice(s, &d[i..][..EIGHT]),
    ])
}

#[allow(unsafe_code)]
fn center_row(faces: FacesOfRow, out: &mut [[f32; 4]]) {
    match level() {
        // SAFETY: `level` has found these instructions on this machine.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::center_row(faces, out) },
        _ => center_cells(faces, out),
    }
}

each_level! { fn center_cells(faces: FacesOfRow, out: &mut [[f32; 4]]) = center_cells_kernel; }

#[inline(always)]
fn center_cells_kernel<S: Simd>(_: S, FacesOfRow { u, v, w }: FacesOfRow, out: &mut [[f32; 4]]) {
    let n = out.len();
    let faces = FacesOfRow { u: &u[..n + 1], v: v.map(|v| &v[..n]), w: w.map(|w| &w[..n]) };
    for (i, out) in out.iter_mut().enumerate() {
        *out = faces.center(i);
    }
}

/// Computes displacements over `steps` = Δt/h \[cells\]: the air now at x was at x − displacement. A negative
/// `steps` looks forward. `centers` holds the velocity with one ghost layer. The fourth value of `out` is 0.
#[allow(clippy::too_many_arguments)]
pub fn displacements(
    layout: Layout,
    centers: &[[f32; 4]],
    bounds: &SampleBounds,
    steps: f32,
    order: TraceOrder,
    out: &mut [[f32; 4]],
    halt: &Halt,
) {
    let [ny, nz] = [layout.dims.ny as isize, layout.dims.nz as isize];
    row_passes::rows(layout, out, [[0, ny], [0, nz]], |j, k, row| {
        if halt.is_raised() {
            return;
        }
        let inner = &mut row[GHOST..GHOST + layout.dims.nx];
        let at = layout.at(0, j, k);
        trace_row(Row { centers, at, jk: [j as f32, k as f32], steps }, order, bounds, inner);
    });
}

/// One row of cells to trace back from.
#[derive(Clone, Copy)]
struct Row<'a> {
    /// Velocity at all cell centres.
    centers: &'a [[f32; 4]],
    /// Position of the row's first cell in `centers`.
    at: usize,
    /// Index of the row in the grid.
    jk: [f32; 2],
    /// Δt/h.
    steps: f32,
}

#[allow(unsafe_code)]
fn trace_row(row: Row, order: TraceOrder, bounds: &SampleBounds, out: &mut [[f32; 4]]) {
    match (level(), order) {
        // SAFETY: `level` has found these instructions on this machine.
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, TraceOrder::Second) => unsafe { avx512::trace_row::<2>(row, bounds, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, TraceOrder::Third) => unsafe { avx512::trace_row::<3>(row, bounds, out) },
        (_, TraceOrder::Second) => eight_traces::midpoint_row(row, bounds, out),
        (_, TraceOrder::Third) => eight_traces::ralston_row(row, bounds, out),
    }
}

each_level! { #[cfg(test)] fn midpoint_row(row: Row, bounds: &SampleBounds, out: &mut [[f32; 4]]) = trace_kernel, 2; }
each_level! { #[cfg(test)] fn ralston_row(row: Row, bounds: &SampleBounds, out: &mut [[f32; 4]]) = trace_kernel, 3; }

/// The rule of [`eight_traces`] cell by cell, the reference of the wide kernels.
#[cfg(test)]
#[inline(always)]
fn trace_kernel<S: Simd, const ORDER: usize>(
    s: S,
    Row { centers, at, jk, steps }: Row,
    bounds: &SampleBounds,
    out: &mut [[f32; 4]],
) {
    let mut departures = Departures::default();
    let (mut second, mut third) = ([[0.0; 4]; RUN], [[0.0; 4]; RUN]);
    for from in (0..out.len()).step_by(RUN) {
        let count = RUN.min(out.len() - from);
        let origin = [from as f32, jk[0], jk[1]];
        let first = &centers[at + from..][..count];
        sample_back(s, centers, bounds, origin, first, 0.5 * steps, &mut departures, &mut second);
        if ORDER == 3 {
            sample_back(
                s,
                centers,
                bounds,
                origin,
                &second[..count],
                0.75 * steps,
                &mut departures,
                &mut third,
            );
        }
        for t in 0..count {
            for c in 0..4 {
                let velocity = if ORDER == 3 {
                    (2.0 * first[t][c] + 3.0 * second[t][c] + 4.0 * third[t][c]) * (1.0 / 9.0)
                } else {
                    second[t][c]
                };
                out[from + t][c] = steps * velocity;
            }
        }
    }
}

/// Samples the velocity at x − `steps` · `velocity` for each x of a run that begins at `origin`.
#[cfg(test)]
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn sample_back<S: Simd>(
    s: S,
    centers: &[[f32; 4]],
    bounds: &SampleBounds,
    origin: [f32; 3],
    velocity: &[[f32; 4]],
    steps: f32,
    departures: &mut Departures,
    out: &mut [[f32; 4]; RUN],
) {
    let mut displacement = [[0.0; 4]; RUN];
    let displacement = &mut displacement[..velocity.len()];
    for (displacement, velocity) in displacement.iter_mut().zip(velocity) {
        for c in 0..4 {
            displacement[c] = steps * velocity[c];
        }
    }
    locate(bounds, origin, displacement, departures);
    for t in 0..velocity.len() {
        let f = [departures.fraction[0][t], departures.fraction[1][t], departures.fraction[2][t]];
        out[t] = linear(s, centers, departures.at[t] as usize, bounds, f);
    }
}

/// Displacement of a run of up to [`RUN`] faces from position `at` on: the mean over the two cells beside
/// each, which lie `stride` apart.
#[inline(always)]
pub fn mean_of_cells(cells: &[[f32; 4]], at: usize, stride: usize, count: usize) -> [[f32; 4]; RUN] {
    let mut out = [[0.0; 4]; RUN];
    let (low, high) = (&cells[at - stride..][..count], &cells[at..][..count]);
    for ((out, low), high) in out.iter_mut().zip(low).zip(high) {
        for c in 0..4 {
            out[c] = 0.5 * (low[c] + high[c]);
        }
    }
    out
}

/// Finds the departure points of a run of values that begins at index coordinates `origin` and extends along
/// x.
#[inline(always)]
pub fn locate(
    bounds: &SampleBounds,
    origin: [f32; 3],
    displacement: &[[f32; 4]],
    departures: &mut Departures,
) {
    let count = displacement.len().min(RUN);
    let displacement = &displacement[..count];
    let Departures { at, fraction: [fx, fy, fz] } = departures;
    let strides = [bounds.row as u32, bounds.plane as u32];
    for t in 0..count {
        let (bx, x) = cell_below(bounds, 0, origin[0] + t as f32 - displacement[t][0]);
        let (by, y) = cell_below(bounds, 1, origin[1] - displacement[t][1]);
        let (bz, z) = cell_below(bounds, 2, origin[2] - displacement[t][2]);
        at[t] = bx + by * strides[0] + bz * strides[1];
        (fx[t], fy[t], fz[t]) = (x, y, z);
    }
}

/// The index below a coordinate, counted from the first ghost, and the fraction above it.
#[inline(always)]
fn cell_below(bounds: &SampleBounds, axis: usize, x: f32) -> (u32, f32) {
    let x = x - bounds.period[axis] * ((x - bounds.low[axis]) * bounds.per_period[axis]).floor();
    let x = least(greatest(x, bounds.low[axis]), bounds.high[axis]);
    let base = least(x.floor(), bounds.last[axis]);
    // A whole number added to 2²³ stands in the last bits of the sum: this conversion vectorises.
    const SHIFT: f32 = 8_388_608.0;
    ((base + (GHOST as f32 + SHIFT)).to_bits() - SHIFT.to_bits(), x - base)
}

/// Trilinear sample of N values at a time: first along z, then along y, last along x, in the order of the
/// wide kernel.
#[inline(always)]
pub fn linear<S: Simd, const N: usize>(
    s: S,
    field: &[[f32; N]],
    at: usize,
    bounds: &SampleBounds,
    [fx, fy, fz]: [f32; 3],
) -> [f32; N] {
    let (low, high) = (&field[at..], &field[at + bounds.plane..]);
    let [a, b, d, e] = [&low[..2], &low[bounds.row..][..2], &high[..2], &high[bounds.row..][..2]];
    let mut sides = [[0.0; N]; 2];
    for x in 0..2 {
        for c in 0..N {
            let near = s.fma(fz, d[x][c] - a[x][c], a[x][c]);
            let far = s.fma(fz, e[x][c] - b[x][c], b[x][c]);
            sides[x][c] = s.fma(fy, far - near, near);
        }
    }
    let mut out = [0.0; N];
    for c in 0..N {
        out[c] = s.fma(fx, sides[1][c] - sides[0][c], sides[0][c]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::simd::Aligned;
    use crate::solver::BoundaryCondition;
    use crate::solver::sides::GhostRules;

    #[test]
    fn centers_in_wide_registers_have_the_bits_of_the_plain_code() {
        let values: Vec<f32> = (0..500).map(|at| (at as f32 * 0.37).sin()).collect();
        let row = |at: usize| &values[at..][..75];
        let faces = FacesOfRow { u: row(0), v: [row(80), row(160)], w: [row(240), row(320)] };
        // For each offset of the row in a cache line.
        for from in 0..4 {
            let (mut wide, mut plain) = (Aligned([[0.0f32; 4]; 80]), Aligned([[0.0f32; 4]; 80]));
            center_row(faces, &mut wide.0[from..][..74]);
            center_cells(faces, &mut plain.0[from..][..74]);
            assert_eq!(wide.0.map(|v| v.map(f32::to_bits)), plain.0.map(|v| v.map(f32::to_bits)));
        }
    }

    #[test]
    fn wide_traces_have_the_bits_of_the_plain_code() {
        let layout = Layout::new(Dims::new([37, 5, 6]).unwrap());
        let sides = [
            [BoundaryCondition::Periodic; 2],
            [BoundaryCondition::Closed; 2],
            [BoundaryCondition::Open, BoundaryCondition::Closed],
        ];
        let centers: Vec<[f32; 4]> = (0..layout.size())
            .map(|at| [0, 1, 2].map(|c| 1.3 + ((3 * at + c) as f32 * 0.73).sin()))
            .map(|[x, y, z]| [x, y, z, 0.0])
            .collect();
        for sides in [sides, [[BoundaryCondition::Closed; 2]; 3]] {
            let bounds = GhostRules::new(layout, sides, Default::default()).sample_bounds(None);
            // The slow flow leaves departure points adjacent.
            for (order, steps) in
                [(TraceOrder::Second, 0.1), (TraceOrder::Second, 1.7), (TraceOrder::Third, -12.0)]
            {
                let row = Row { centers: &centers, at: layout.at(0, 4, 5), jk: [4.0, 5.0], steps };
                let (mut wide, mut plain) = ([[0.0f32; 4]; 37], [[0.0f32; 4]; 37]);
                trace_row(row, order, &bounds, &mut wide);
                match order {
                    TraceOrder::Second => midpoint_row(row, &bounds, &mut plain),
                    TraceOrder::Third => ralston_row(row, &bounds, &mut plain),
                }
                assert_eq!(wide.map(|v| v.map(f32::to_bits)), plain.map(|v| v.map(f32::to_bits)));
            }
        }
    }

    #[test]
    fn four_faces_around_a_cell_are_exact_for_cubics_and_two_are_taken_at_the_sides() {
        let layout = Layout::new(Dims::new([13, 5, 6]).unwrap());
        let at = |x: f32, y: f32, z: f32| [0.3 * x.powi(3) - x * y, 0.2 * y.powi(3) + z, 0.1 * z.powi(3) - x];
        let mut faces = [0, 1, 2].map(|_| vec![0.0; layout.size()]);
        for (k, j, i) in
            (-2..8).flat_map(|k| (-2..7).flat_map(move |j| (-2..15isize).map(move |i| (k, j, i))))
        {
            let [x, y, z] = [i, j, k].map(|n| n as f32);
            faces.each_mut().into_iter().zip(at(x, y, z)).for_each(|(face, u)| face[layout.at(i, j, k)] = u);
        }
        let [mut two, mut four] = [0, 1].map(|_| vec![[0.0; 4]; layout.size()]);
        centers(layout, &faces, &mut two);
        fourth_order_centers(layout, &faces, &mut four);
        for (k, j, i) in
            (-1..7).flat_map(|k| (-1..6).flat_map(move |j| (-1..14isize).map(move |i| (k, j, i))))
        {
            let cell = layout.at(i, j, k);
            let [x, y, z] = [i, j, k].map(|n| n as f32);
            let exact = [at(x + 0.5, y, z)[0], at(x, y + 0.5, z)[1], at(x, y, z + 0.5)[2]];
            for (axis, (n, count)) in [(i, 13), (j, 5), (k, 6)].into_iter().enumerate() {
                if (1..count - 1).contains(&n) {
                    assert!((four[cell][axis] - exact[axis]).abs() < 1e-4, "{i} {j} {k}: {axis}");
                    assert!((two[cell][axis] - exact[axis]).abs() > 0.02, "{i} {j} {k}: {axis}");
                } else {
                    assert!((four[cell][axis] - two[cell][axis]).abs() < 1e-5, "{i} {j} {k}: {axis}");
                }
            }
        }
    }

    #[test]
    fn traces_have_their_designed_order() {
        // Around the middle of a plane, where the exact back-trace is known.
        let layout = Layout::new(Dims::new([33, 33, 1]).unwrap());
        let mut centers = vec![[0.0; 4]; layout.size()];
        for (j, i) in (0..33isize).flat_map(|j| (0..33isize).map(move |i| (j, i))) {
            centers[layout.at(i, j, 0)] = [16.0 - j as f32, i as f32 - 16.0, 0.0, 0.0];
        }
        let bounds = GhostRules::new(layout, [[BoundaryCondition::Closed; 2]; 3], Default::default())
            .sample_bounds(None);
        let error = |order: TraceOrder, angle: f32| {
            let mut back = [[0.0f32; 4]; 33];
            let row = Row { centers: &centers, at: layout.at(0, 16, 0), jk: [16.0, 0.0], steps: angle };
            trace_row(row, order, &bounds, &mut back);
            let want = [6.0 - 6.0 * angle.cos(), 6.0 * angle.sin()];
            (back[22][0] - want[0]).hypot(back[22][1] - want[1])
        };
        for (order, least) in [(TraceOrder::Second, 7.0), (TraceOrder::Third, 14.0)] {
            let ratio = error(order, 0.4) / error(order, 0.2);
            assert!((least..1.3 * least).contains(&ratio), "{order:?}: half the step leaves 1/{ratio}");
        }
    }
}
