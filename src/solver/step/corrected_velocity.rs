//! The velocity that the trapezoidal rule advects: u + g + b, with half of the pressure's gradient and of the buoyancy (`trapezoid.rs`).
//!
//! It is computed before the smoke moves, because its buoyancy is that of the smoke before the step. It is
//! advected only after the sweeps of the smoke, which read the advecting velocity, so it is a third velocity
//! in memory. The kernels for AVX-512 read it interleaved. If nothing else needs the scratch memory of
//! interleaved values in between, it is written there directly and takes no memory of its own.
//!
//! In that case `advected` is free after the sweeps. The layers beside the sides are copied there, get their
//! ghosts, and are copied back: the rules of sides need not know interleaved values.

use std::ops::Range;

use rayon::prelude::*;

use super::fields::{Fields, lifting};
use super::trapezoid_past::needs_third_velocity;
use crate::grid::{GHOST, Layout};
use crate::room::huge_pages;
use crate::simd::{Simd, each_level, fence, fetch_ahead};
use crate::solver::advect::{self, Curve};
use crate::solver::forces::external::External;
use crate::solver::forces::{self, Buoyancy, Forces, Scratch};
use crate::solver::storage::halt::Halt;
use crate::solver::storage::row_passes;
use crate::solver::{Advection, Config};

/// Layers of cells and faces beside a side from which its ghosts are made, with one to spare.
const BESIDE: usize = 4;

impl Fields {
    /// Gives the corrected velocity memory of its own or takes it away, after solids were set or removed.
    pub(super) fn fit_corrected(&mut self, config: &Config) {
        let is_separate =
            needs_third_velocity(config, self.obstacles.is_some(), self.walls.ranks().is_alone());
        if is_separate != self.corrected.is_some() {
            let size = self.layout.size();
            self.corrected = is_separate.then(|| [0, 1, 2].map(|_| huge_pages::favoured(vec![0.0; size])));
        }
    }

    /// Computes u + g + b for the time [`ahead`](Self::ahead), with `external` accelerations from the instant `time` on. `h` is the edge of
    /// a cell.
    pub fn correct(&mut self, forces: &Forces, external: &External, time: f64, h: f32) {
        let ahead = self.ahead();
        let lifts = ahead > 0.0 && forces.up.iter().any(|&up| up != 0.0) && forces.buoyancy != [0.0; 4];
        let pushes = ahead > 0.0 && external.accelerates();
        // External forces read ghosts of the scalars.
        if pushes {
            self.scalars_of_air();
        } else if lifts {
            self.restrict_scalars();
        }
        if pushes || lifts && forces.up[2] != 0.0 {
            self.exchange_lifting();
        }
        let pressure = self.pressure.as_mut().expect("the trapezoidal rule keeps it");
        self.walls.ranks().exchange(self.layout, [pressure], [1, 0]);
        let forces = Forces { dt: ahead, ..*forces };
        if self.corrected.is_some() {
            self.correct_separately(&forces, lifts, h);
        } else {
            self.correct_interleaved(&forces, lifts, h);
        }
        if pushes {
            self.accelerate_corrected(external, time, &forces);
        }
        if let (Some(obstacles), Some(corrected)) = (&mut self.obstacles, &mut self.corrected) {
            obstacles.voxels.cuts.close(corrected);
            // Advection gives partly open faces inside solids the solid's velocity, so their gain here goes
            // to the solids.
            obstacles.count_change(&self.velocity, corrected);
        }
    }

    fn correct_separately(&mut self, forces: &Forces, lifts: bool, h: f32) {
        let Self { layout, walls, velocity, corrected, pressure, forces: scratch, .. } = self;
        let (Some(corrected), Some(pressure)) = (corrected, pressure) else { return };
        let (own, plane) = (layout.own(), layout.plane);
        let first = own.start / plane;
        for ((corrected, now), stride) in corrected.iter_mut().zip(&*velocity).zip(layout.strides()) {
            let planes = corrected[own.clone()].par_chunks_mut(plane).zip(now[own.clone()].par_chunks(plane));
            planes.enumerate().for_each(|(k, (corrected, now))| {
                let drop = pressure_beside((first + k) * plane, stride, plane, pressure);
                correct_plane(forces.dt / h, now, drop, corrected);
            });
        }
        if lifts {
            let lifting = lifting(&self.detail, [&self.scalars, &self.scalars_next], &self.bricks);
            forces::add_buoyancy(*layout, walls, forces, lifting, corrected, scratch);
        }
    }

    /// Plane by plane, so that the components stay in the processor's cache until they are interleaved.
    fn correct_interleaved(&mut self, forces: &Forces, lifts: bool, h: f32) {
        let Self { layout, walls, velocity, scalars, scalars_next, bricks, pressure, .. } = self;
        let (layout, scratch) = (*layout, &self.forces);
        let Some(pressure) = pressure else { return };
        let Layout { row, plane, .. } = layout;
        scalars_next.par_chunks_mut(plane).enumerate().for_each(|(k, out)| {
            let mut mine = scratch.mine();
            let Scratch { vorticity, force } = &mut *mine;
            let [u, v, w, _] = &mut vorticity[0];
            for (axis, field) in [&mut *u, &mut *v, &mut *w].into_iter().enumerate() {
                let (at, field) = (k * plane, &mut field[..plane]);
                let drop = pressure_beside(at, layout.strides()[axis], plane, pressure);
                correct_plane(forces.dt / h, &velocity[axis][at..][..plane], drop, field);
                if lifts && forces.up[axis] != 0.0 {
                    let [below, here, _] = &mut force[0];
                    let buoyancy = Buoyancy { layout, walls, forces, scalars, bricks, axis };
                    buoyancy.add(k as isize - GHOST as isize, [below, here], field);
                }
            }
            for (from, out) in (0..plane).step_by(row).zip(out.chunks_exact_mut(row)) {
                advect::interleave_row([&u[from..][..row], &v[from..][..row], &w[from..][..row]], out);
            }
            fence();
        });
    }

    fn accelerate_corrected(&mut self, external: &External, time: f64, forces: &Forces) {
        let Self { corrected, detail, scalars, scalars_next, bricks, .. } = self;
        let by = [1.0, forces.limit];
        match corrected {
            Some(corrected) => {
                let (scalars, _) = lifting(detail, [scalars, scalars_next], bricks);
                external.accelerate(time, forces.dt, by, scalars, corrected);
            }
            None => (0..3).for_each(|c| {
                external.accelerate_component(c, (time, forces.dt), by, scalars, (&mut *scalars_next, c));
            }),
        }
    }

    /// Advects the corrected velocity to `advected`. `steps` is Δt/h.
    pub fn advect_corrected(&mut self, scheme: Advection, steps: f32, halt: &Halt) {
        if halt.is_raised() {
            return;
        }
        if self.corrected.is_none() {
            self.fill_interleaved(steps);
            self.advect_interleaved(Curve::LAGRANGE, halt);
            return self.walls.fill_velocity(&mut self.advected);
        }
        self.swap_corrected();
        self.walls.fill_velocity(&mut self.velocity);
        if let Some(obstacles) = &mut self.obstacles {
            obstacles.extend(&mut self.velocity);
        }
        self.advect_velocity(scheme, steps, halt);
        self.swap_corrected();
    }

    fn swap_corrected(&mut self) {
        self.corrected.iter_mut().for_each(|corrected| std::mem::swap(&mut self.velocity, corrected));
    }

    /// Fills the ghosts of the interleaved velocity, and slows its backflow.
    fn fill_interleaved(&mut self, steps: f32) {
        let Self { layout, walls, advected, scalars_next: interleaved, across_openings, .. } = self;
        let layout = *layout;
        let all = [layout.dims.ny, layout.dims.nz].map(|n| [-(GHOST as isize), (n + GHOST) as isize]);
        let rows = advected.each_mut().map(Vec::as_mut_slice);
        row_passes::rows3(layout, rows, all, |j, k, [u, v, w]| {
            let cells = &interleaved[layout.at(-(GHOST as isize), j, k)..][..layout.row];
            fetch_ends(cells);
            [&*u, v, w].into_iter().for_each(fetch_ends);
            for i in beside_sides(layout, j, k).into_iter().flatten() {
                [u[i], v[i], w[i], _] = cells[i];
            }
        });
        walls.fill_velocity(advected);
        walls.slow_backflow(advected, steps, across_openings);
        let [u, v, w] = &*advected;
        row_passes::rows(layout, interleaved, all, |j, k, row| {
            let at = layout.at(-(GHOST as isize), j, k);
            let faces = [u, v, w].map(|field| &field[at..][..layout.row]);
            fetch_ends(row);
            faces.into_iter().for_each(fetch_ends);
            for part in beside_sides(layout, j, k) {
                advect::interleave_row(faces.map(|field| &field[part.clone()]), &mut row[part]);
            }
        });
    }
}

/// The positions in row (j, k) of ghosts and of the layers beside sides.
fn beside_sides(layout: Layout, j: isize, k: isize) -> [Range<usize>; 2] {
    let (row, ends) = (layout.row, GHOST + BESIDE);
    let is_beside = |i: isize, n: usize| i < BESIDE as isize || i > n as isize - BESIDE as isize;
    if is_beside(j, layout.dims.ny) || is_beside(k, layout.dims.nz) || row < 2 * ends {
        [0..row, 0..0]
    } else {
        [0..ends, row - ends..row]
    }
}

/// Prefetches the ends of a row some rows after this one.
fn fetch_ends<T>(row: &[T]) {
    const ROWS: usize = 8;
    let (next, ends) = (ROWS * row.len(), GHOST + BESIDE);
    for at in [next, next + ends - 1, next + row.len() - ends, next + row.len() - 1] {
        fetch_ahead(row, at);
    }
}

/// The pressure below and above the `plane` faces from position `at` on; the two cells of a face are `stride`
/// apart.
fn pressure_beside(at: usize, stride: usize, plane: usize, pressure: &[f32]) -> [&[f32]; 2] {
    // The first plane consists of ghosts and has no plane below.
    let at = at.max(stride);
    [&pressure[at - stride..][..plane], &pressure[at..][..plane]]
}

each_level! { fn correct_plane(scale: f32, now: &[f32], drop: [&[f32]; 2], out: &mut [f32]) = correct_kernel; }

/// out = now + scale (p below − p above).
#[inline(always)]
fn correct_kernel<S: Simd>(_: S, scale: f32, now: &[f32], [below, above]: [&[f32]; 2], out: &mut [f32]) {
    let n = out.len();
    let (now, below, above) = (&now[..n], &below[..n], &above[..n]);
    for i in 0..n {
        out[i] = now[i] + scale * (below[i] - above[i]);
    }
}
