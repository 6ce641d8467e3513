//! Body forces on the faces: buoyancy, vorticity confinement and friction, in one pass.
//!
//! Vorticity ω = ∇×u at cell centres comes from the faces around them. Confinement f = ε h (N × ω), N = ∇|ω|
//! / |∇|ω|| (Fedkiw, Stam & Jensen 2001, eq. 9–11), and buoyancy are means over the two cells of a face.
//!
//! A task walks upwards through a slab of planes. It keeps the last three planes of vorticity and two of
//! force in a ring, so that they stay in the processor's cache.

pub mod external;

use std::ops::Range;

use rayon::prelude::*;

use super::sides::GhostRules;
use super::storage::active_bricks::Bricks;
use super::storage::row_passes::PerThread;
use crate::grid::{Dims, Faces, GHOST, Layout};
use crate::simd::{AHEAD, dispatch, fetch_ahead, greatest, least};

/// Planes of one task. Three more planes of vorticity are computed at its ends.
const SLAB: usize = 32;

/// Relative change of |ω| over two cells below which its gradient has no direction. Where the vorticity is
/// uniform the gradient is rounding, which confinement would amplify to full strength.
const FLAT: f32 = 1e-3;

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

/// Rings of one thread: planes of cells with one ghost layer.
pub struct Scratch {
    /// ω_x, ω_y, ω_z and |ω| of three planes.
    vorticity: [[Vec<f32>; 4]; 3],
    /// Acceleration at the cells of two planes.
    force: [[Vec<f32>; 3]; 2],
}

impl Scratch {
    /// Makes the rings for planes of `dims`.
    pub fn new(dims: Dims) -> Self {
        let plane = || vec![0.0; (dims.nx + 2) * (dims.ny + 2)];
        Self {
            vorticity: std::array::from_fn(|_| std::array::from_fn(|_| plane())),
            force: std::array::from_fn(|_| std::array::from_fn(|_| plane())),
        }
    }
}

/// Planes below and above a slab whose velocity decides the confinement in it.
pub const CONFINEMENT_HALO: [usize; 2] = [3, 2];

/// Computes `to` = `from` + forces. The ghosts of `from` and `scalars` must be filled; those of `to` are not.
///
/// Confinement acts on the swirls of `flow`, a velocity without divergence and with filled ghosts. A velocity
/// that still lacks a pressure gradient jumps at the surface of a solid, where closed faces feel none, and
/// confinement would amplify the jump.
pub fn apply(
    layout: Layout,
    walls: &GhostRules,
    forces: &Forces,
    [from, flow]: [&Faces; 2],
    (scalars, bricks): (&[[f32; 4]], &Bricks),
    to: &mut Faces,
    scratch: &PerThread<Scratch>,
) {
    let around = walls.periodic();
    let pass = Pass { layout, walls, forces, from, flow, scalars, bricks, around };
    let nz = layout.dims.nz as isize;
    let [low, high] = layout.within([0, nz + 1]);
    let inside = layout.span([low, high]);
    let [u, v, w] = to;
    let chunk = SLAB * layout.plane;
    let tasks = u[inside.clone()]
        .par_chunks_mut(chunk)
        .zip(v[inside.clone()].par_chunks_mut(chunk))
        .zip(w[inside].par_chunks_mut(chunk));
    tasks.enumerate().for_each(|(task, ((u, v), w))| {
        let mut mine = scratch.mine();
        let Scratch { vorticity, force } = &mut *mine;
        let k0 = low + (task * SLAB) as isize;
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
        for (k, ((u, v), w)) in (k0..).zip(planes) {
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

/// Adds buoyancy over `forces.dt` to the velocity `to`, in place. Reads the cells of `scalars`, not their ghosts.
pub fn lift(
    layout: Layout,
    walls: &GhostRules,
    forces: &Forces,
    (scalars, bricks): (&[[f32; 4]], &Bricks),
    to: &mut Faces,
    scratch: &PerThread<Scratch>,
) {
    let [low, high] = layout.within([0, layout.dims.nz as isize + 1]);
    for (axis, field) in to.iter_mut().enumerate().filter(|&(axis, _)| forces.up[axis] != 0.0) {
        let lift = Lift { layout, walls, forces, scalars, bricks, axis };
        let planes = field[layout.span([low, high])].par_chunks_mut(layout.plane);
        planes.zip(low..high).for_each(|(plane, k)| {
            let mut mine = scratch.mine();
            let [below, here, _] = &mut mine.force[0];
            lift.add(k, [below, here], plane);
        });
    }
}

/// Buoyancy along one axis.
struct Lift<'a> {
    layout: Layout,
    walls: &'a GhostRules,
    forces: &'a Forces,
    scalars: &'a [[f32; 4]],
    bricks: &'a Bricks,
    axis: usize,
}

impl Lift<'_> {
    /// Adds the buoyancy of the faces of plane `k`: the mean over the two cells of each. The buffers hold rows of cells.
    fn add(&self, k: isize, [below, here]: [&mut Vec<f32>; 2], plane: &mut [f32]) {
        let Layout { dims: Dims { nx, ny, nz }, row, .. } = self.layout;
        let is_periodic = self.walls.periodic()[self.axis];
        let mut along = [[0, nx as isize], [0, ny as isize]];
        let free = self.walls.free_faces(self.axis);
        let ks = if self.axis == 2 { free } else { [0, nz as isize] };
        if !(ks[0]..ks[1]).contains(&k) {
            return;
        }
        if self.axis < 2 {
            along[self.axis] = free;
        }
        let n = self.layout.dims.array()[self.axis] as isize;
        let cell = |i: isize| if is_periodic { i.rem_euclid(n) } else { i.clamp(0, n - 1) };
        let [[first_x, end_x], ys] = along;
        let mut held_below = 0..0;
        for j in ys[0]..ys[1] {
            // Faces of cells that may be occupied, and the buoyancy of the cells below them and above.
            let (faces, rows) = match self.axis {
                0 => {
                    let cells = &mut here[..nx + 2];
                    let held = self.row(j, k, &mut cells[1..=nx]);
                    (cells[0], cells[nx + 1]) =
                        if is_periodic { (cells[nx], cells[1]) } else { (cells[1], cells[nx]) };
                    let touches_side = held.start == 0 || held.end == nx;
                    let faces = match held {
                        held if held.is_empty() => 0..0,
                        _ if is_periodic && touches_side => 0..nx + 1,
                        held => held.start..held.end + 1,
                    };
                    let faces = faces.start.max(first_x as usize)..faces.end.min(end_x as usize);
                    let shifted = faces.start + 1..faces.end + 1;
                    (faces.clone(), [here.get(faces), here.get(shifted)])
                }
                axis => {
                    if axis == 2 {
                        held_below = self.row(j, cell(k - 1), &mut below[..nx]);
                    } else if j == ys[0] {
                        held_below = self.row(cell(j - 1), k, &mut below[..nx]);
                    } else {
                        std::mem::swap(below, here);
                    }
                    let [j, k] = if axis == 1 { [cell(j), k] } else { [j, cell(k)] };
                    let held = self.row(j, k, &mut here[..nx]);
                    let faces = joined(&held_below, &held);
                    held_below = held;
                    (faces.clone(), [below.get(faces.clone()), here.get(faces)])
                }
            };
            if let ([Some(below), Some(above)], false) = (rows, faces.is_empty()) {
                let at = (j + GHOST as isize) as usize * row + GHOST + faces.start;
                let out = &mut plane[at..][..faces.len()];
                accelerate_row([0.5 * self.forces.dt, self.forces.limit], [below, above], out);
            }
        }
    }

    /// Computes the buoyancy of the cells of row (j, k). Returns those that may have some.
    fn row(&self, j: isize, k: isize, out: &mut [f32]) -> Range<usize> {
        out.fill(0.0);
        lift_row(self.forces, self.layout, self.scalars, self.bricks, self.axis, [j, k], out)
    }
}

/// The shortest range that holds two others.
fn joined(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// Adds the buoyancy along `axis` of row [j, k]. Returns the cells that may have some.
fn lift_row(
    forces: &Forces,
    layout: Layout,
    scalars: &[[f32; 4]],
    bricks: &Bricks,
    axis: usize,
    [j, k]: [isize; 2],
    out: &mut [f32],
) -> Range<usize> {
    let Forces { buoyancy, ambient, .. } = *forces;
    // Air without smoke or heat has buoyancy too if the reference is not 0.
    let span = if buoyancy[3] * ambient == 0.0 { bricks.span(j as usize, k as usize) } else { 0..out.len() };
    let scalars = &scalars[layout.at(0, j, k)..][span.clone()];
    buoyancy_row(&buoyancy.map(|b| forces.up[axis] * b), ambient, scalars, &mut out[span.clone()]);
    span
}

fn ring(k: isize, slots: isize) -> usize {
    k.rem_euclid(slots) as usize
}

struct Pass<'a> {
    layout: Layout,
    walls: &'a GhostRules,
    forces: &'a Forces,
    from: &'a Faces,
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

    /// Computes ω and |ω| of plane `k` into its slot of the ring. Does nothing without confinement.
    fn vorticity_plane(&self, k: isize, rings: &mut [[Vec<f32>; 4]; 3]) {
        if self.forces.vorticity == 0.0 {
            return;
        }
        let Layout { dims: Dims { nx, ny, .. }, row, plane, .. } = self.layout;
        let [x, y, z, size] = &mut rings[ring(k, 3)];
        let (pitch, [u, v, w]) = (self.pitch(), self.flow);
        for j in 0..ny {
            let at = self.layout.at(0, j as isize, self.inside(k));
            let to = (j + 1) * pitch + 1;
            let n = nx;
            curl_row(
                1.0 / (4.0 * self.forces.h),
                [
                    &w[at + row..][..n],
                    &w[at + row + plane..][..n],
                    &w[at - row..][..n],
                    &w[at - row + plane..][..n],
                ],
                [
                    &v[at + plane..][..n],
                    &v[at + plane + row..][..n],
                    &v[at - plane..][..n],
                    &v[at - plane + row..][..n],
                ],
                &mut x[to..][..n],
            );
            curl_row(
                1.0 / (4.0 * self.forces.h),
                [
                    &u[at + plane..][..n],
                    &u[at + plane + 1..][..n],
                    &u[at - plane..][..n],
                    &u[at - plane + 1..][..n],
                ],
                [&w[at + 1..][..n], &w[at + 1 + plane..][..n], &w[at - 1..][..n], &w[at - 1 + plane..][..n]],
                &mut y[to..][..n],
            );
            curl_row(
                1.0 / (4.0 * self.forces.h),
                [&v[at + 1..][..n], &v[at + 1 + row..][..n], &v[at - 1..][..n], &v[at - 1 + row..][..n]],
                [&u[at + row..][..n], &u[at + row + 1..][..n], &u[at - row..][..n], &u[at - row + 1..][..n]],
                &mut z[to..][..n],
            );
            let size = &mut size[to - 1..][..n + 2];
            magnitude_row([&x[to..][..n], &y[to..][..n], &z[to..][..n]], &mut size[1..=n]);
            self.close_row(size);
        }
        self.close_plane(size);
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
                    lift_row(forces, layout, scalars, bricks, axis, row, &mut f[1..=nx]);
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
                let (old, new) = (&self.from[0][at..][..=nx], &mut u[to..][..=nx]);
                self.add_row(&fx[ring - 1..][..=nx], &fx[ring..][..=nx], old, new);
                let [low, high] = free_u.map(|i| i as usize);
                new[..low].copy_from_slice(&old[..low]);
                new[high..].copy_from_slice(&old[high..]);
            }
            let (old, new) = (&self.from[1][at..][..nx], &mut v[to..][..nx]);
            if (free_v[0]..free_v[1]).contains(&(j as isize)) {
                self.add_row(&fy[ring - pitch..][..nx], &fy[ring..][..nx], old, new);
            } else {
                new.copy_from_slice(old);
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
            let new = &mut w[(j + GHOST) * self.layout.row + GHOST..][..nx];
            let old = &self.from[2][at..][..nx];
            if (free[0]..free[1]).contains(&k) {
                self.add_row(&below[2][ring..][..nx], &here[2][ring..][..nx], old, new);
            } else {
                new.copy_from_slice(old);
            }
        }
    }

    fn add_row(&self, a: &[f32], b: &[f32], old: &[f32], new: &mut [f32]) {
        let Forces { dt, decay, limit, .. } = *self.forces;
        add_force_row([0.5 * dt, decay, limit], a, b, old, new);
    }
}

dispatch! { fn curl_row(scale: f32, plus: [&[f32]; 4], minus: [&[f32]; 4], out: &mut [f32]) = curl_row_kernel; }

/// scale · ((p0 + p1) − (p2 + p3) − (m0 + m1) + (m2 + m3)): one component of the curl, each derivative a difference of
/// means of two faces.
#[inline(always)]
fn curl_row_kernel<const FMA: bool>(scale: f32, plus: [&[f32]; 4], minus: [&[f32]; 4], out: &mut [f32]) {
    let n = out.len();
    let ([a, b, c, d], [e, f, g, h]) = (plus.map(|x| &x[..n]), minus.map(|x| &x[..n]));
    for i in 0..n {
        out[i] = scale * (((a[i] + b[i]) - (c[i] + d[i])) - ((e[i] + f[i]) - (g[i] + h[i])));
    }
}

dispatch! { fn magnitude_row(xyz: [&[f32]; 3], out: &mut [f32]) = magnitude_row_kernel; }

#[inline(always)]
fn magnitude_row_kernel<const FMA: bool>(xyz: [&[f32]; 3], out: &mut [f32]) {
    let n = out.len();
    let [x, y, z] = xyz.map(|x| &x[..n]);
    for i in 0..n {
        out[i] = (x[i] * x[i] + y[i] * y[i] + z[i] * z[i]).sqrt();
    }
}

dispatch! {
    fn confinement_row(
        strength: f32, vorticity: [&[f32]; 3], along: &[f32], beside: [&[f32]; 2], around: [&[f32]; 2],
        out: [&mut [f32]; 3],
    ) = confinement_row_kernel;
}

/// strength · N × ω; `along`, `beside`, `around` are |ω| along x (with both neighbours), y and z.
#[inline(always)]
fn confinement_row_kernel<const FMA: bool>(
    strength: f32,
    vorticity: [&[f32]; 3],
    along: &[f32],
    beside: [&[f32]; 2],
    around: [&[f32]; 2],
    [fx, fy, fz]: [&mut [f32]; 3],
) {
    let n = fx.len();
    let ([ox, oy, oz], along) = (vorticity.map(|o| &o[..n]), &along[..n + 2]);
    let (beside, around) = (beside.map(|s| &s[..n]), around.map(|s| &s[..n]));
    let (fy, fz) = (&mut fy[..n], &mut fz[..n]);
    for i in 0..n {
        let g = [along[i + 2] - along[i], beside[1][i] - beside[0][i], around[1][i] - around[0][i]];
        // A vanishing gradient has no direction: no force.
        let floor = FLAT * along[i + 1];
        let length = (floor * floor + (g[0] * g[0] + g[1] * g[1] + g[2] * g[2])).sqrt() + 1e-12;
        let s = strength / length;
        fx[i] = s * (g[1] * oz[i] - g[2] * oy[i]);
        fy[i] = s * (g[2] * ox[i] - g[0] * oz[i]);
        fz[i] = s * (g[0] * oy[i] - g[1] * ox[i]);
    }
}

dispatch! { fn buoyancy_row(b: &[f32; 4], ambient: f32, scalars: &[[f32; 4]], out: &mut [f32]) = buoyancy_row_kernel; }

#[inline(always)]
fn buoyancy_row_kernel<const FMA: bool>(b: &[f32; 4], ambient: f32, scalars: &[[f32; 4]], out: &mut [f32]) {
    for cells in scalars.chunks(4) {
        fetch_ahead(cells, AHEAD);
    }
    for (out, s) in out.iter_mut().zip(scalars) {
        *out += (b[0] * s[0] + b[1] * s[1]) + (b[2] * s[2] + b[3] * (s[3] - ambient));
    }
}

dispatch! { fn add_force_row(k: [f32; 3], a: &[f32], b: &[f32], old: &[f32], new: &mut [f32]) = add_force_row_kernel; }

/// new = decay · old + ½Δt (a + b), within ± limit; k = [½Δt, decay, limit].
#[inline(always)]
fn add_force_row_kernel<const FMA: bool>(
    [half_dt, decay, limit]: [f32; 3],
    a: &[f32],
    b: &[f32],
    old: &[f32],
    new: &mut [f32],
) {
    let n = new.len();
    let (a, b, old) = (&a[..n], &b[..n], &old[..n]);
    for i in 0..n {
        new[i] = least(greatest(decay * old[i] + half_dt * (a[i] + b[i]), -limit), limit);
    }
}

dispatch! { fn accelerate_row(k: [f32; 2], rows: [&[f32]; 2], out: &mut [f32]) = accelerate_row_kernel; }

/// Adds ½Δt (a + b), within ± limit; k = [½Δt, limit].
#[inline(always)]
fn accelerate_row_kernel<const FMA: bool>([half_dt, limit]: [f32; 2], [a, b]: [&[f32]; 2], out: &mut [f32]) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        out[i] = least(greatest(out[i] + half_dt * (a[i] + b[i]), -limit), limit);
    }
}
