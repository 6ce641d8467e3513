//! Buoyancy: the acceleration along `up` by smoke and heat, at cells and on faces.

use std::ops::Range;

use rayon::prelude::*;

use super::{Forces, Scratch};
use crate::grid::{Dims, Faces, GHOST, Layout};
use crate::simd::{AHEAD, Simd, each_level, fetch_ahead, greatest, least};
use crate::solver::sides::GhostRules;
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::row_passes::PerThread;

/// Adds buoyancy over `forces.dt` to the velocity `to`, in place. Reads the cells of `scalars`, not their ghosts.
pub fn add_buoyancy(
    layout: Layout,
    walls: &GhostRules,
    forces: &Forces,
    (scalars, bricks): (&[[f32; 4]], &Bricks),
    to: &mut Faces,
    scratch: &PerThread<Scratch>,
) {
    let [low, high] = layout.within([0, layout.dims.nz as isize + 1]);
    for (axis, field) in to.iter_mut().enumerate().filter(|&(axis, _)| forces.up[axis] != 0.0) {
        let buoyancy = Buoyancy { layout, walls, forces, scalars, bricks, axis };
        let planes = field[layout.span([low, high])].par_chunks_mut(layout.plane);
        planes.zip(low..high).for_each(|(plane, k)| {
            let mut mine = scratch.mine();
            let [below, here, _] = &mut mine.force[0];
            buoyancy.add(k, [below, here], plane);
        });
    }
}

/// Buoyancy along one axis.
pub struct Buoyancy<'a> {
    pub layout: Layout,
    pub walls: &'a GhostRules,
    pub forces: &'a Forces,
    pub scalars: &'a [[f32; 4]],
    pub bricks: &'a Bricks,
    pub axis: usize,
}

impl Buoyancy<'_> {
    /// Adds the buoyancy of the faces of plane `k`: the mean over the two cells of each. The buffers hold rows of cells.
    pub fn add(&self, k: isize, [below, here]: [&mut Vec<f32>; 2], plane: &mut [f32]) {
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
        let mut occupied_below = 0..0;
        for j in ys[0]..ys[1] {
            // Faces of cells that may be occupied, and the buoyancy of the cells below them and above.
            let (faces, rows) = match self.axis {
                0 => {
                    let cells = &mut here[..nx + 2];
                    let occupied = self.row(j, k, &mut cells[1..=nx]);
                    (cells[0], cells[nx + 1]) =
                        if is_periodic { (cells[nx], cells[1]) } else { (cells[1], cells[nx]) };
                    let touches_side = occupied.start == 0 || occupied.end == nx;
                    let faces = match occupied {
                        occupied if occupied.is_empty() => 0..0,
                        _ if is_periodic && touches_side => 0..nx + 1,
                        occupied => occupied.start..occupied.end + 1,
                    };
                    let faces = faces.start.max(first_x as usize)..faces.end.min(end_x as usize);
                    let shifted = faces.start + 1..faces.end + 1;
                    (faces.clone(), [here.get(faces), here.get(shifted)])
                }
                axis => {
                    if axis == 2 {
                        occupied_below = self.row(j, cell(k - 1), &mut below[..nx]);
                    } else if j == ys[0] {
                        occupied_below = self.row(cell(j - 1), k, &mut below[..nx]);
                    } else {
                        std::mem::swap(below, here);
                    }
                    let [j, k] = if axis == 1 { [cell(j), k] } else { [j, cell(k)] };
                    let occupied = self.row(j, k, &mut here[..nx]);
                    let faces = joined(&occupied_below, &occupied);
                    occupied_below = occupied;
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
        add_row_of_cells(self.forces, self.layout, self.scalars, self.bricks, self.axis, [j, k], out)
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
pub fn add_row_of_cells(
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

each_level! { fn buoyancy_row(b: &[f32; 4], ambient: f32, scalars: &[[f32; 4]], out: &mut [f32]) = buoyancy_row_kernel; }

#[inline(always)]
fn buoyancy_row_kernel<S: Simd>(_: S, b: &[f32; 4], ambient: f32, scalars: &[[f32; 4]], out: &mut [f32]) {
    for cells in scalars.chunks(4) {
        fetch_ahead(cells, AHEAD);
    }
    for (out, s) in out.iter_mut().zip(scalars) {
        *out += (b[0] * s[0] + b[1] * s[1]) + (b[2] * s[2] + b[3] * (s[3] - ambient));
    }
}

each_level! { fn accelerate_row(k: [f32; 2], rows: [&[f32]; 2], out: &mut [f32]) = accelerate_row_kernel; }

/// Adds ½Δt (a + b), within ± limit; k = [½Δt, limit].
#[inline(always)]
fn accelerate_row_kernel<S: Simd>(_: S, [half_dt, limit]: [f32; 2], [a, b]: [&[f32]; 2], out: &mut [f32]) {
    let n = out.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        out[i] = least(greatest(out[i] + half_dt * (a[i] + b[i]), -limit), limit);
    }
}
