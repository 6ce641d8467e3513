//! Body forces on the faces: buoyancy, vorticity confinement and friction, in one pass.
//!
//! Vorticity ω = ∇×u at cell centres comes from the faces around them. Confinement f = ε h (N × ω), N = ∇|ω|
//! / |∇|ω|| (Fedkiw, Stam & Jensen 2001, eq. 9–11), and buoyancy are means over the two cells of a face.
//!
//! A task walks upwards through a slab of planes. It keeps the last three planes of vorticity and two of
//! force in a ring, so that they stay in the processor's cache.

mod buoyancy;
mod confinement;
pub mod external;

use rayon::prelude::*;

use super::sides::GhostRules;
use super::storage::active_bricks::Bricks;
use super::storage::halt::Halt;
use super::storage::row_passes::{PerThread, planes_per_task};
use crate::grid::{Dims, Faces, GHOST, Layout};
use crate::simd::{Simd, each_level, greatest, least};
use buoyancy::add_row_of_cells;
pub use buoyancy::{Buoyancy, add_buoyancy};
use confinement::confinement_row;

/// Most planes of one task. Three more planes of vorticity are computed at its ends.
const SLAB: usize = 32;

/// Forces of one substep.
#[derive(Clone, Copy, Debug)]
pub struct Forces {
    /// Acceleration along `up` per unit of red, green, blue and temperature.
    pub buoyancy: [f32; 4],
    /// Direction of buoyancy.
    pub up: [f32; 3],
    /// Temperature excess without buoyancy \[K\].
    pub ambient: f32,
    /// Confinement ε \[1/s\].
    pub vorticity: f32,
    /// Length of the substep \[s\].
    pub dt: f32,
    /// Decay factor of friction, exp(−d Δt).
    pub decay: f32,
    /// Limit of velocity components \[m/s\].
    pub limit: f32,
    /// Edge of a cell \[m\].
    pub h: f32,
}

/// Rings of one thread: planes of cells with one ghost layer, or of any field.
pub struct Scratch {
    /// ω_x, ω_y, ω_z and |ω| of three planes.
    pub vorticity: [[Vec<f32>; 4]; 3],
    /// Acceleration at the cells of two planes.
    pub force: [[Vec<f32>; 3]; 2],
}

impl Scratch {
    /// Makes the rings for planes of `dims`.
    pub fn new(dims: Dims) -> Self {
        let plane = || vec![0.0; (dims.nx + 2 * GHOST) * (dims.ny + 2 * GHOST)];
        Self {
            vorticity: std::array::from_fn(|_| std::array::from_fn(|_| plane())),
            force: std::array::from_fn(|_| std::array::from_fn(|_| plane())),
        }
    }
}

/// Planes below and above a slab whose velocity decides the confinement in it.
pub const CONFINEMENT_HALO: [usize; 2] = [3, 2];

/// Adds forces to `to` in place, or computes `to` = `from` + forces. The ghosts of `scalars` must be filled; those of `to` are not.
///
/// Confinement acts on the swirls of `flow`, a velocity without divergence and with filled ghosts. A velocity
/// that still lacks a pressure gradient jumps at the surface of a solid, where closed faces feel none, and
/// confinement would amplify the jump.
pub fn apply(
    layout: Layout,
    walls: &GhostRules,
    forces: &Forces,
    (from, flow): (Option<&Faces>, &Faces),
    (scalars, bricks): (&[[f32; 4]], &Bricks),
    to: &mut Faces,
    (scratch, halt): (&PerThread<Scratch>, &Halt),
) {
    let around = walls.periodic();
    let pass = Pass { layout, walls, forces, from, flow, scalars, bricks, around };
    let nz = layout.dims.nz as isize;
    let [low, high] = layout.within([0, nz + 1]);
    let inside = layout.span([low, high]);
    let [u, v, w] = to;
    let in_task = planes_per_task(inside.len() / layout.plane, SLAB);
    let chunk = in_task * layout.plane;
    let tasks = u[inside.clone()]
        .par_chunks_mut(chunk)
        .zip(v[inside.clone()].par_chunks_mut(chunk))
        .zip(w[inside].par_chunks_mut(chunk));
    tasks.enumerate().for_each(|(task, ((u, v), w))| {
        if halt.is_raised() {
            return;
        }
        let mut mine = scratch.mine();
        let Scratch { vorticity, force } = &mut *mine;
        let k0 = low + (task * in_task) as isize;
        let planes =
            u.chunks_mut(layout.plane).zip(v.chunks_mut(layout.plane)).zip(w.chunks_mut(layout.plane));
        let something_below = k0 > 0 || pass.around[2];
        if something_below {
            pass.vorticity_plane(k0 - 2, vorticity);
        }
        pass.vorticity_plane(k0 - 1, vorticity);
        pass.vorticity_plane(k0, vorticity);
        if something_below {
            pass.force_plane(k0 - 1, vorticity, force);
        }
        for (k, ((u, v), w)) in (k0..).zip(planes).take_while(|_| !halt.is_raised()) {
            if k < nz {
                pass.vorticity_plane(k + 1, vorticity);
                pass.force_plane(k, vorticity, force);
                pass.add_xy(k, &force[ring(k, 2)], u, v);
            }
            // Beyond the box the force is that of the nearest cell.
            let lowest = if pass.around[2] { -1 } else { 0 };
            let [below, here] = [(k - 1).max(lowest), k.min(nz - 1)].map(|k| &force[ring(k, 2)]);
            pass.add_z(k, below, here, w);
        }
    });
}

fn ring(k: isize, slots: isize) -> usize {
    k.rem_euclid(slots) as usize
}

struct Pass<'a> {
    layout: Layout,
    walls: &'a GhostRules,
    forces: &'a Forces,
    /// The velocity before the forces, unless they act in place.
    from: Option<&'a Faces>,
    /// Velocity whose vorticity is confined.
    flow: &'a Faces,
    scalars: &'a [[f32; 4]],
    /// Bricks with scalars other than 0.
    bricks: &'a Bricks,
    /// Periodic axes.
    around: [bool; 3],
}

impl Pass<'_> {
    /// Maps planes beyond the box to the last one inside, or to the other end.
    fn inside(&self, k: isize) -> isize {
        let nz = self.layout.dims.nz as isize;
        if self.around[2] { k.rem_euclid(nz) } else { k.clamp(0, nz - 1) }
    }

    /// Fills the values beside a row of n values, which lie at 1..=n.
    fn close_row(&self, row: &mut [f32]) {
        let n = row.len() - 2;
        (row[0], row[n + 1]) = if self.around[0] { (row[n], row[1]) } else { (row[1], row[n]) };
    }

    /// Fills the rows beside a ring plane.
    fn close_plane(&self, plane: &mut [f32]) {
        let (pitch, ny) = (self.pitch(), self.layout.dims.ny);
        let (first, last) = (pitch..2 * pitch, ny * pitch..(ny + 1) * pitch);
        let (low, high) = if self.around[1] { (last, first) } else { (first, last) };
        plane.copy_within(low, 0);
        plane.copy_within(high, (ny + 1) * pitch);
    }

    /// Values in a row of a ring plane.
    fn pitch(&self) -> usize {
        self.layout.dims.nx + 2
    }

    /// Computes the acceleration of the cells of plane `k` into its slot of the ring.
    fn force_plane(&self, k: isize, vorticity: &[[Vec<f32>; 4]; 3], rings: &mut [[Vec<f32>; 3]; 2]) {
        let Dims { nx, ny, .. } = self.layout.dims;
        let pitch = self.pitch();
        let out = &mut rings[ring(k, 2)];
        let [below, here, above] = [k - 1, k, k + 1].map(|k| &vorticity[ring(k, 3)]);
        for j in 0..ny {
            let to = (j + 1) * pitch + 1;
            let [x, y, z] = out.each_mut().map(|f| &mut f[to - 1..][..nx + 2]);
            if self.forces.vorticity == 0.0 {
                x.fill(0.0);
                y.fill(0.0);
                z.fill(0.0);
            } else {
                confinement_row(
                    self.forces.vorticity * self.forces.h,
                    [&here[0][to..][..nx], &here[1][to..][..nx], &here[2][to..][..nx]],
                    &here[3][to - 1..][..nx + 2],
                    [&here[3][to - pitch..][..nx], &here[3][to + pitch..][..nx]],
                    [&below[3][to..][..nx], &above[3][to..][..nx]],
                    [&mut x[1..=nx], &mut y[1..=nx], &mut z[1..=nx]],
                );
            }
            let Self { forces, layout, scalars, bricks, .. } = *self;
            let row = [j as isize, self.inside(k)];
            for (axis, f) in [&mut *x, &mut *y, &mut *z].into_iter().enumerate() {
                if forces.up[axis] != 0.0 {
                    add_row_of_cells(forces, layout, scalars, bricks, axis, row, &mut f[1..=nx]);
                }
            }
            for f in [x, y, z] {
                self.close_row(f);
            }
        }
        out.iter_mut().for_each(|f| self.close_plane(f));
    }

    /// Adds the force to the faces across x and y of plane `k`.
    fn add_xy(&self, k: isize, [fx, fy, _]: &[Vec<f32>; 3], u: &mut [f32], v: &mut [f32]) {
        let Dims { nx, ny, .. } = self.layout.dims;
        let pitch = self.pitch();
        let [free_u, free_v] = [0, 1].map(|axis| self.walls.free_faces(axis));
        for j in 0..=ny {
            let at = self.layout.at(0, j as isize, k);
            let to = (j + GHOST) * self.layout.row + GHOST;
            let ring = (j + 1) * pitch + 1;
            if j < ny {
                let row = &mut u[to..][..=nx];
                self.begin_row(0, at, row);
                let free = free_u[0] as usize..free_u[1] as usize;
                let force = [&fx[ring - 1..][..=nx], &fx[ring..][..=nx]].map(|f| &f[free.clone()]);
                self.add_row(force, &mut row[free]);
            }
            let row = &mut v[to..][..nx];
            self.begin_row(1, at, row);
            if (free_v[0]..free_v[1]).contains(&(j as isize)) {
                self.add_row([&fy[ring - pitch..][..nx], &fy[ring..][..nx]], row);
            }
        }
    }

    /// Adds the force to the faces across z of plane `k`.
    fn add_z(&self, k: isize, below: &[Vec<f32>; 3], here: &[Vec<f32>; 3], w: &mut [f32]) {
        let Dims { nx, ny, .. } = self.layout.dims;
        let free = self.walls.free_faces(2);
        for j in 0..ny {
            let at = self.layout.at(0, j as isize, k);
            let ring = (j + 1) * self.pitch() + 1;
            let row = &mut w[(j + GHOST) * self.layout.row + GHOST..][..nx];
            self.begin_row(2, at, row);
            if (free[0]..free[1]).contains(&k) {
                self.add_row([&below[2][ring..][..nx], &here[2][ring..][..nx]], row);
            }
        }
    }

    /// Copies the row at `at` before the forces, unless they act in place.
    fn begin_row(&self, component: usize, at: usize, row: &mut [f32]) {
        if let Some(from) = self.from {
            row.copy_from_slice(&from[component][at..][..row.len()]);
        }
    }

    fn add_row(&self, force: [&[f32]; 2], row: &mut [f32]) {
        let Forces { dt, decay, limit, .. } = *self.forces;
        add_force_row([0.5 * dt, decay, limit], force, row);
    }
}

each_level! { fn add_force_row(k: [f32; 3], force: [&[f32]; 2], row: &mut [f32]) = add_force_row_kernel; }

/// u = decay · u + ½Δt (a + b), within ± limit; k = [½Δt, decay, limit].
#[inline(always)]
fn add_force_row_kernel<S: Simd>(
    _: S,
    [half_dt, decay, limit]: [f32; 3],
    [a, b]: [&[f32]; 2],
    row: &mut [f32],
) {
    let n = row.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        row[i] = least(greatest(decay * row[i] + half_dt * (a[i] + b[i]), -limit), limit);
    }
}
