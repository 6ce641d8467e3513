//! Measurements of the whole box: largest speed, divergence, energy, and contents.

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use crate::grid::{Faces, Layout};
use crate::simd::{AHEAD, LANES, Simd, each_level, fetch_ahead, greatest, rest, sixteen};
use crate::solver::storage::active_bricks::{self, Bricks};
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes;

/// Measurements of the velocity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Flow {
    /// Largest component \[m/s\].
    pub speed: f32,
    /// Largest undivided divergence |u_(i+1) − u_i + …| \[m/s\].
    pub divergence: f32,
    /// Σ over cells of ½ (mean of the squares on both faces, over the three axes) \[m²/s²\].
    pub energy: f64,
}

impl Flow {
    /// max |∇·u| h / max |u|; 0 in air at rest.
    pub fn relative_divergence(&self) -> f32 {
        self.divergence_beside(0.0)
    }

    /// max |∇·u| h over the greater of max |u| and another `speed` \[m/s\].
    pub fn divergence_beside(&self, speed: f32) -> f32 {
        let speed = self.speed.max(speed);
        if speed > 0.0 { self.divergence / speed } else { 0.0 }
    }
}

/// Measures the velocity, which must be known in the plane above the slab too. `partials` holds one partial
/// result for each of the nz planes.
pub fn flow(layout: Layout, ranks: &Ranks, [u, v, w]: &Faces, partials: &mut [Flow]) -> Flow {
    let nx = layout.dims.nx;
    row_passes::reduce(layout, partials, |sum, j, k| {
        let at = layout.start(j, k);
        let mut row = [0.0; 3];
        flow_row(
            &u[at..][..nx + 1],
            [&v[at..][..nx], &v[at + layout.row..][..nx]],
            [&w[at..][..nx], &w[at + layout.plane..][..nx]],
            &mut row,
        );
        sum.speed = sum.speed.max(row[0]);
        sum.divergence = sum.divergence.max(row[1]);
        sum.energy += f64::from(row[2]);
    });
    ranks.gather(partials, 1);
    partials.iter().fold(Flow::default(), |a, b| Flow {
        speed: a.speed.max(b.speed),
        divergence: a.divergence.max(b.divergence),
        energy: a.energy + b.energy,
    })
}

each_level! { fn flow_row(u: &[f32], v: [&[f32]; 2], w: [&[f32]; 2], out: &mut [f32; 3]) = flow_row_kernel; }

#[inline(always)]
fn flow_row_kernel<S: Simd>(_: S, u: &[f32], v: [&[f32]; 2], w: [&[f32]; 2], out: &mut [f32; 3]) {
    let n = u.len() - 1;
    let rows = [&u[..n], &u[1..], &v[0][..n], &v[1][..n], &w[0][..n], &w[1][..n]];
    let mut lanes = FlowLanes::default();
    let full = n - n % LANES;
    for from in (0..full).step_by(LANES) {
        let [u0, u1, v0, v1, w0, w1] = rows;
        let (u, v) = ([sixteen(u0, from), sixteen(u1, from)], [sixteen(v0, from), sixteen(v1, from)]);
        lanes.add(u, v, [sixteen(w0, from), sixteen(w1, from)]);
    }
    if full < n {
        let [u0, u1, v0, v1, w0, w1] = rows;
        let (u, v, w) = ([rest(u0), rest(u1)], [rest(v0), rest(v1)], [rest(w0), rest(w1)]);
        lanes.add([&u[0], &u[1]], [&v[0], &v[1]], [&w[0], &w[1]]);
    }
    *out = [0.0; 3];
    for l in 0..LANES {
        let FlowLanes { speed, divergence, energy } = &lanes;
        *out = [greatest(speed[l], out[0]), greatest(divergence[l], out[1]), out[2] + energy[l]];
    }
}

/// Partial results of [`Flow`], over every sixteenth cell of a row.
#[derive(Default)]
struct FlowLanes {
    speed: [f32; LANES],
    divergence: [f32; LANES],
    energy: [f32; LANES],
}

impl FlowLanes {
    /// Adds sixteen cells between the faces `u`, `v` and `w`.
    #[inline(always)]
    fn add(&mut self, [u0, u1]: Pair, [v0, v1]: Pair, [w0, w1]: Pair) {
        for l in 0..LANES {
            let x = greatest(u0[l].abs(), u1[l].abs());
            let y = greatest(v0[l].abs(), v1[l].abs());
            let z = greatest(w0[l].abs(), w1[l].abs());
            self.speed[l] = greatest(greatest(x, y), greatest(z, self.speed[l]));
            let sum = (u1[l] - u0[l]) + (v1[l] - v0[l]) + (w1[l] - w0[l]);
            self.divergence[l] = greatest(sum.abs(), self.divergence[l]);
            let squares = (u0[l] * u0[l] + u1[l] * u1[l]) + (v0[l] * v0[l] + v1[l] * v1[l]);
            self.energy[l] += 0.25 * (squares + (w0[l] * w0[l] + w1[l] * w1[l]));
        }
    }
}

/// Lower and upper faces of sixteen cells.
type Pair<'a> = [&'a [f32; LANES]; 2];

/// As [`contents`], and records which bricks are occupied. Counts nothing that the step has [counted](Bricks::count).
pub fn contents_and_bricks(
    layout: Layout,
    ranks: &Ranks,
    scalars: &[[f32; 4]],
    partials: &mut [[f64; 4]],
    bricks: &mut Bricks,
) -> [f64; 4] {
    if let Some(sums) = bricks.learn_counted() {
        return sums;
    }
    let (in_plane, in_row) = (bricks.in_plane(), bricks.in_row());
    let mut flags = std::mem::take(&mut bricks.planes);
    let [from, to] = layout.cell_planes();
    let planes = flags[from * in_plane..to * in_plane].par_chunks_exact_mut(in_plane);
    partials[from..to].par_iter_mut().zip(planes).enumerate().for_each(|(k, (sum, held))| {
        let k = from + k;
        *sum = [0.0; 4];
        held.fill(0);
        for j in 0..layout.dims.ny {
            // Begins at a whole brick, so that the sum has the bits of the whole row's.
            let span = bricks.span(j, k);
            let row = &scalars[layout.start(j, k) + span.start..][..span.len()];
            add_row(row, sum);
            let first = j / active_bricks::EDGE * in_row + span.start / active_bricks::EDGE;
            active_bricks::held_row(row, &mut held[first..][..span.len().div_ceil(active_bricks::EDGE)]);
        }
    });
    ranks.gather(partials, 1);
    ranks.gather(&mut flags, in_plane);
    bricks.planes = flags;
    bricks.learn();
    total(partials)
}

fn add_row(row: &[[f32; 4]], sum: &mut [f64; 4]) {
    let mut of_row = [0.0; 4];
    sum_row(row, &mut of_row);
    for c in 0..4 {
        sum[c] += f64::from(of_row[c]);
    }
}

fn total(partials: &[[f64; 4]]) -> [f64; 4] {
    partials.iter().fold([0.0; 4], |sum, plane| std::array::from_fn(|c| sum[c] + plane[c]))
}

/// Σ over cells of red, green, blue and temperature.
pub fn contents(layout: Layout, ranks: &Ranks, scalars: &[[f32; 4]], partials: &mut [[f64; 4]]) -> [f64; 4] {
    row_passes::reduce(layout, partials, |sum, j, k| {
        add_row(&scalars[layout.start(j, k)..][..layout.dims.nx], sum);
    });
    ranks.gather(partials, 1);
    total(partials)
}

each_level! { fn sum_row(row: &[[f32; 4]], out: &mut [f32; 4]) = sum_row_kernel; }

#[inline(always)]
fn sum_row_kernel<S: Simd>(_: S, row: &[[f32; 4]], out: &mut [f32; 4]) {
    // One sum for every fourth cell and each of four values, sixteen in all.
    let mut sums = [0.0f32; LANES];
    let (fours, others) = row.as_flattened().as_chunks::<LANES>();
    for four in fours {
        fetch_ahead(four, 4 * AHEAD);
        for l in 0..LANES {
            sums[l] += four[l];
        }
    }
    for (sum, value) in sums.iter_mut().zip(others) {
        *sum += value;
    }
    for c in 0..4 {
        out[c] = (sums[c] + sums[4 + c]) + (sums[8 + c] + sums[12 + c]);
    }
}
