//! The prolonged velocity beside solids.
//!
//! Solids are found on the finer cells, and the air sees them through these: the open fraction of a face
//! follows from its finer faces ([`CutCells::faces`]), and the projection uses it. The flux through the face
//! is divided among the finer faces in proportion to their open fractions. Inside the cell, fluxes follow a
//! potential on the finer cells that are not solid, so that each has the same divergence.
//!
//! A thin solid may split a cell into parts without a connection. The cell as a whole lies on one side of the
//! solid, so the flow uses the part with the widest openings. The air in the other parts is at rest: finer
//! faces towards them count as closed.

use rayon::prelude::*;

use crate::grid::{Faces, Layout};
use crate::solver::project::{Cut, Cuts, cell_of};
use crate::solver::solids::{CLOSED, CutFaces, Found, Obstacles, SOLID, Scene, Voxels};
use crate::solver::storage::row_passes::{leave_room, refill};

/// Marks a finer cell inside a solid.
const NONE: u8 = u8::MAX;

/// Most finer cells of a cell.
const MOST: usize = 64;

/// Faces less open than this count as closed: hardly any flow could be squeezed through them at any speed.
const LEAST: f32 = 0.02;

/// Relative margin by which the widest part of a cell must be wider than all others.
const TIE: f32 = 1e-3;

/// Share of the largest imbalance that may remain.
const TOLERANCE: f64 = 1e-7;

/// The coarse grid of the velocity and the finer one of the smoke.
#[derive(Clone, Copy)]
pub struct TwoGrids {
    pub finer: usize,
    pub coarse: Layout,
    pub fine: Layout,
    /// Axes whose two sides are one.
    pub periodic: [bool; 3],
    /// Sides that are walls, lower and upper of each axis.
    pub walls: [[bool; 2]; 3],
}

/// Cells and faces beside solids.
#[derive(Default)]
pub struct CutCells {
    known: bool,
    /// The faces of cells that are not wholly open.
    faces: CutFaces,
    /// Velocities on the N² finer faces of each, relative to its mean velocity.
    shares: [Vec<f32>; 3],
    /// Positions of the cells with or beside faces that are not wholly open, ascending, each with a solid there.
    cells: Vec<(u32, u16)>,
    /// For each cell, the connected part that each of its N³ finer cells belongs to, or [`NONE`] inside a solid.
    parts: Vec<u8>,
    /// For each cell, the part with the most open area towards the cells around it; [`NONE`] if no part is
    /// clearly the widest.
    main: Vec<u8>,
    /// For each cell, the open fractions of its inner faces, and their velocities \[m/s\].
    open: Vec<f32>,
    inner: Vec<f32>,
    /// Cells wholly inside solids, as `cells`.
    filled: Vec<(u32, u16)>,
    /// Faces of the cells and of the filled ones, each with a solid.
    candidates: Vec<(u32, u16)>,
}

impl TwoGrids {
    fn fine_at(&self, at: [usize; 3]) -> usize {
        self.fine.at(at[0] as isize, at[1] as isize, at[2] as isize)
    }

    fn coarse_at(&self, at: [usize; 3]) -> usize {
        self.coarse.at(at[0] as isize, at[1] as isize, at[2] as isize)
    }

    /// Positions of the finer faces of the face of `component` below the cell at `at`.
    fn finer_faces(self, component: usize, at: u32) -> impl Iterator<Item = usize> {
        let (first, n) = (cell_of(self.coarse, at).map(|x| x * self.finer), self.finer);
        let (b, c) = ((component + 1) % 3, (component + 2) % 3);
        (0..n * n).map(move |part| {
            let mut cell = first;
            (cell[b], cell[c]) = (cell[b] + part % n, cell[c] + part / n);
            self.fine_at(cell)
        })
    }

    /// The middle of the face of `component` below the cell at `at` \[m\].
    fn middle_of_face(self, scene: &Scene, component: usize, at: u32) -> [f32; 3] {
        let (cell, h) = (cell_of(self.coarse, at), self.finer as f32 * scene.frame.h);
        [0, 1, 2].map(|a| (cell[a] as f32 + if a == component { 0.0 } else { 0.5 }) * h)
    }

    /// Inner faces of a cell along each axis: for each the component and the finer cell above it, counted in the cell.
    fn inner(self) -> impl Iterator<Item = (usize, [usize; 3])> {
        let n = self.finer;
        (0..3 * n * n * n)
            .map(move |x| (x / (n * n * n), [x % n, x / n % n, x / (n * n) % n]))
            .filter(|(axis, at)| at[*axis] > 0)
    }

    fn index(&self, at: [usize; 3]) -> usize {
        at[0] + self.finer * (at[1] + self.finer * at[2])
    }

    /// The first finer cell of a cell.
    fn first(&self, cell: u32) -> [usize; 3] {
        cell_of(self.coarse, cell).map(|x| x * self.finer)
    }

    /// The finer cell with this [`index`](Self::index) in the cell whose first finer cell is `first`.
    fn finer_cell(&self, first: [usize; 3], index: usize) -> [usize; 3] {
        let by = [index % self.finer, index / self.finer % self.finer, index / (self.finer * self.finer)];
        [0, 1, 2].map(|a| first[a] + by[a])
    }

    /// The cells below and above a face of `layout`, as far as they are in the box.
    fn beside(&self, layout: Layout, component: usize, face: [usize; 3]) -> [Option<[usize; 3]>; 2] {
        let (n, is_ring) = (layout.dims.array()[component], self.periodic[component]);
        let at_index = |index: Option<usize>| {
            index.map(|index| {
                let mut cell = face;
                cell[component] = index;
                cell
            })
        };
        let index = face[component];
        let below = index.checked_sub(1).or(is_ring.then_some(n - 1));
        let above = if index < n { Some(index) } else { is_ring.then_some(0) };
        [at_index(below), at_index(above)]
    }
}

impl CutCells {
    /// Forgets the cells: solids have moved.
    pub fn forget(&mut self) {
        self.known = false;
    }

    /// The faces of cells that are not wholly open, beside the `solids` of the fine grid.
    pub fn faces(&mut self, grids: TwoGrids, solids: &Obstacles) -> &CutFaces {
        if !self.known {
            let (fine, scene) = (&solids.voxels, &solids.scene());
            self.find_cells(grids, fine);
            self.find_parts(grids, fine);
            for component in 0..3 {
                self.find_faces(grids, fine, scene, component);
            }
            self.add_neighbors(grids);
            self.find_parts(grids, fine);
            self.known = true;
        }
        &self.faces
    }

    /// Turns means over all finer cells of a cell into means over its air. Finer cells inside solids must
    /// have counted as 0. Call [`faces`](Self::faces) first.
    pub fn average_over_air(&self, grids: TwoGrids, means: &mut [[f32; 4]]) {
        debug_assert!(self.known, "the cells beside solids are not known");
        let (own, count) = (grids.coarse.own(), grids.finer.pow(3));
        let cells = self.cells.iter().zip(self.parts.chunks_exact(count));
        for (&(cell, _), parts) in cells.filter(|((cell, _), _)| own.contains(&(*cell as usize))) {
            let air = parts.iter().filter(|part| **part != NONE).count();
            if (1..count).contains(&air) {
                let scale = count as f32 / air as f32;
                means[cell as usize].iter_mut().for_each(|value| *value *= scale);
            }
        }
    }

    /// Replaces the velocity on the finer faces of cut cells in `out`. It follows from the `velocity` on the
    /// faces of these cells, whose `cuts` are those of [`faces`](Self::faces).
    pub fn prolong(&mut self, grids: TwoGrids, velocity: &Faces, cuts: &Cuts, out: &mut Faces) {
        for component in 0..3 {
            let shares = self.shares[component].chunks_exact(grids.finer * grids.finer);
            for (cut, shares) in cuts.faces[component].iter().zip(shares) {
                let mean = cut.stopped(velocity[component][cut.at as usize]);
                for (to, share) in grids.finer_faces(component, cut.at).zip(shares) {
                    out[component][to] = mean * share;
                }
            }
        }
        self.balance(grids, out);
    }

    /// Finds the cells with cut faces, and those wholly inside solids.
    fn find_cells(&mut self, grids: TwoGrids, fine: &Voxels) {
        let Self { cells, filled, .. } = self;
        cells.clear();
        for component in 0..3 {
            let beside =
                fine.cuts.faces[component].iter().zip(&fine.owners[component]).flat_map(|(cut, &owner)| {
                    let at = cell_of(grids.fine, cut.at);
                    let [below, above] = grids.beside(grids.fine, component, at);
                    let cell =
                        move |at: [usize; 3]| (grids.coarse_at(at.map(|x| x / grids.finer)) as u32, owner);
                    let within = !at[component].is_multiple_of(grids.finer);
                    [below.filter(|_| !within), above].into_iter().flatten().map(cell)
                });
            cells.extend(beside);
            leave_room(cells);
            cells.sort_unstable();
            cells.dedup_by_key(|(at, _)| *at);
        }
        let is_filled = |(cell, _): &(u32, u16)| {
            let first = grids.first(*cell);
            (0..grids.finer.pow(3))
                .all(|index| fine.flags[grids.fine_at(grids.finer_cell(first, index))] & SOLID != 0)
        };
        refill(filled, cells.iter().filter(|cell| is_filled(cell)).copied());
        cells.retain(|cell| !is_filled(cell));
    }

    /// Adds the cells without solids beside faces that are not wholly open: the flux through these faces is
    /// not divided evenly either.
    fn add_neighbors(&mut self, grids: TwoGrids) {
        let Self { faces, cells, filled, .. } = self;
        let known = cells.len();
        for (component, faces) in faces.iter().enumerate() {
            for Found { cut, owner } in faces {
                let beside = grids.beside(grids.coarse, component, cell_of(grids.coarse, cut.at));
                for cell in beside.into_iter().flatten().map(|at| grids.coarse_at(at) as u32) {
                    let is_known =
                        |list: &[(u32, u16)]| list.binary_search_by_key(&cell, |(at, _)| *at).is_ok();
                    if !is_known(&cells[..known]) && !is_known(filled) {
                        cells.push((cell, *owner));
                    }
                }
            }
        }
        leave_room(cells);
        cells.sort_unstable();
        cells.dedup_by_key(|(at, _)| *at);
    }

    /// Finds the connected parts of the cells, and the one that the flow uses.
    fn find_parts(&mut self, grids: TwoGrids, fine: &Voxels) {
        let Self { cells, parts, main, open, inner, .. } = self;
        let finer = grids.finer;
        let (count, of_cell) = (finer.pow(3), 3 * finer * finer * (finer - 1));
        refill(open, (0..of_cell * cells.len()).map(|_| 0.0));
        refill(inner, open.iter().map(|_| 0.0));
        refill(parts, (0..count * cells.len()).map(|_| NONE));
        refill(main, cells.iter().map(|_| NONE));
        let tasks = cells.par_iter().zip(parts.par_chunks_exact_mut(count)).zip(main.par_iter_mut());
        tasks.zip(open.par_chunks_exact_mut(of_cell)).for_each(|(((&(cell, _), parts), main), open)| {
            let first = grids.first(cell);
            let at = |by: [usize; 3]| grids.fine_at([0, 1, 2].map(|a| first[a] + by[a]));
            for (index, part) in parts.iter_mut().enumerate() {
                let is_solid = fine.flags[grids.fine_at(grids.finer_cell(first, index))] & SOLID != 0;
                *part = if is_solid { NONE } else { index as u8 };
            }
            for ((axis, by), open) in grids.inner().zip(open.iter_mut()) {
                let mut below = by;
                below[axis] -= 1;
                let ends = [parts[grids.index(below)], parts[grids.index(by)]];
                *open = if ends.contains(&NONE) { 0.0 } else { fine.cuts.open(axis, at(by)) };
                if *open > 0.0 && ends[0] != ends[1] {
                    parts.iter_mut().filter(|part| **part == ends[1]).for_each(|part| *part = ends[0]);
                }
            }
            let mut wide = [0.0f32; MOST];
            for (axis, side) in (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]) {
                let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                for n in 0..finer * finer {
                    let mut by = [0; 3];
                    (by[axis], by[b], by[c]) = (side * (finer - 1), n % finer, n / finer);
                    let face = at(by) + side * grids.fine.strides()[axis];
                    let part = parts[grids.index(by)];
                    if part != NONE && fine.flags[face] & CLOSED << axis == 0 {
                        wide[usize::from(part)] += fine.cuts.open(axis, face);
                    }
                }
            }
            let best = (0..MOST).fold(0, |best, part| if wide[part] > wide[best] { part } else { best });
            // If two parts are equally wide, as beside a body along the diagonal of the cell, the flow uses
            // neither: any choice would favour one side.
            let rivals = wide.iter().filter(|width| **width > (1.0 - TIE) * wide[best]).count();
            *main = if wide[best] > 0.0 && rivals == 1 { best as u8 } else { NONE };
        });
    }

    /// Finds how much of each face of a component is open, and how its flux is divided.
    fn find_faces(&mut self, grids: TwoGrids, fine: &Voxels, scene: &Scene, component: usize) {
        let Self { faces, shares, cells, filled, parts, main, candidates, .. } = self;
        let (finer, stride) = (grids.finer, grids.coarse.strides()[component]);
        let (count, of_face) = (finer.pow(3), finer * finer);
        candidates.clear();
        for &(cell, owner) in cells.iter().chain(&*filled) {
            let index = cell_of(grids.coarse, cell)[component];
            let last = grids.coarse.dims.array()[component];
            let mut add = |index: usize, at: usize| {
                let [low, high] = grids.walls[component];
                if !(index == 0 && low || index == last && high) {
                    candidates.push((at as u32, owner));
                }
            };
            add(index, cell as usize);
            add(index + 1, cell as usize + stride);
            // Both sides of a periodic box are one.
            if grids.periodic[component] && index == 0 {
                add(last, cell as usize + last * stride);
            }
            if grids.periodic[component] && index + 1 == last {
                add(0, cell as usize + stride - last * stride);
            }
        }
        leave_room(candidates);
        candidates.sort_unstable();
        candidates.dedup_by_key(|(at, _)| *at);
        // Whether the flow of the cell around a finer cell uses it.
        let is_used = |at: [usize; 3]| {
            let cell = grids.coarse_at(at.map(|x| x / finer)) as u32;
            let index = grids.index(at.map(|x| x % finer));
            fine.flags[grids.fine_at(at)] & SOLID == 0
                && cells
                    .binary_search_by_key(&cell, |(at, _)| *at)
                    .map_or(true, |own| main[own] != NONE && parts[own * count + index] == main[own])
        };
        let (list, shares) = (&mut faces[component], &mut shares[component]);
        let closed = |&(at, owner): &(u32, u16)| Found { cut: Cut { at, open: 0.0, velocity: 0.0 }, owner };
        refill(list, candidates.iter().map(closed));
        refill(shares, (0..of_face * list.len()).map(|_| 0.0));
        list.par_iter_mut().zip(shares.par_chunks_exact_mut(of_face)).for_each(|(found, shares)| {
            let (mut push, mut shut) = (0.0, 0.0);
            for (at, share) in grids.finer_faces(component, found.cut.at).zip(&mut *shares) {
                let [below, above] = grids.beside(grids.fine, component, cell_of(grids.fine, at as u32));
                let is_connected = [below, above].into_iter().flatten().all(is_used);
                let cut = fine.cuts.find(component, at);
                let open = if is_connected { cut.map_or(1.0, |cut| cut.open) } else { 0.0 };
                let velocity = cut.map_or_else(
                    || scene.velocity(found.owner, scene.middle_of_face(component, at as u32))[component],
                    |cut| cut.velocity,
                );
                *share = open;
                push += (1.0 - open) * velocity;
                shut += 1.0 - open;
            }
            let sum: f32 = shares.iter().sum();
            let cut = &mut found.cut;
            cut.open = if sum < LEAST * of_face as f32 { 0.0 } else { sum / of_face as f32 };
            // Closed faces get the solid's velocity at their middle, even if the solid covers only a part of
            // them. Otherwise a solid could push air out of itself.
            cut.velocity = match cut.open == 0.0 {
                true => {
                    scene.velocity(found.owner, grids.middle_of_face(scene, component, cut.at))[component]
                }
                false if shut > 0.0 => push / shut,
                false => 0.0,
            };
            let scale = if cut.open > 0.0 { 1.0 / cut.open } else { 0.0 };
            shares.iter_mut().for_each(|share| *share *= scale);
        });
        let mut kept = 0;
        for n in 0..list.len() {
            if list[n].cut.open < 1.0 {
                list[kept] = list[n];
                shares.copy_within(n * of_face..(n + 1) * of_face, kept * of_face);
                kept += 1;
            }
        }
        list.truncate(kept);
        shares.truncate(kept * of_face);
    }

    /// Sets the velocities on the inner faces of the cells.
    fn balance(&mut self, grids: TwoGrids, out: &mut Faces) {
        let Self { cells, parts, open, inner, .. } = self;
        if cells.is_empty() {
            return;
        }
        let (finer, of_cell) = (grids.finer, open.len() / cells.len());
        let fields = &*out;
        let tasks = inner.par_chunks_exact_mut(of_cell).zip(open.par_chunks_exact(of_cell));
        let tasks = tasks.zip(parts.par_chunks_exact(finer.pow(3))).zip(&*cells);
        // Cells beside the slab are balanced by their owners.
        let own = grids.coarse.own();
        let tasks = tasks.filter(|(_, (cell, _))| own.contains(&(*cell as usize)));
        tasks.for_each(|(((inner, open), parts), &(cell, _))| {
            let first = cell_of(grids.coarse, cell).map(|x| x * finer);
            let mut gains = [0.0f64; MOST];
            for axis in 0..3 {
                let stride = grids.fine.strides()[axis];
                let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                for side in 0..finer * finer {
                    let mut by = [0; 3];
                    (by[b], by[c]) = (side % finer, side / finer);
                    let at = grids.fine_at([0, 1, 2].map(|a| first[a] + by[a]));
                    gains[grids.index(by)] += f64::from(fields[axis][at]);
                    by[axis] = finer - 1;
                    gains[grids.index(by)] -= f64::from(fields[axis][at + finer * stride]);
                }
            }
            balance_cell(grids, parts, open, &mut gains, inner);
        });
        let strides = grids.fine.strides();
        let cells = inner.chunks_exact(of_cell).zip(&*cells);
        for (inner, &(cell, _)) in cells.filter(|(_, (cell, _))| own.contains(&(*cell as usize))) {
            let first = grids.fine_at(cell_of(grids.coarse, cell).map(|x| x * finer));
            for ((axis, by), value) in grids.inner().zip(inner) {
                out[axis][first + (0..3).map(|a| by[a] * strides[a]).sum::<usize>()] = *value;
            }
        }
    }
}

/// Finds velocities on the inner faces that spread the net inflow `gains` of each finer cell evenly over its
/// connected part, by conjugate gradients.
fn balance_cell(grids: TwoGrids, parts: &[u8], open: &[f32], gains: &mut [f64; MOST], inner: &mut [f32]) {
    let count = parts.len();
    for part in 0..count as u8 {
        let members = || (0..count).filter(|&cell| parts[cell] == part);
        let mean = members().map(|cell| gains[cell]).sum::<f64>() / members().count().max(1) as f64;
        members().for_each(|cell| gains[cell] -= mean);
    }
    (0..count).filter(|&cell| parts[cell] == NONE).for_each(|cell| gains[cell] = 0.0);
    let mut links = [(0usize, 0usize, 0.0f64); 3 * MOST];
    for (link, ((axis, by), open)) in links.iter_mut().zip(grids.inner().zip(open)) {
        let mut below = by;
        below[axis] -= 1;
        *link = (grids.index(below), grids.index(by), f64::from(*open));
    }
    let links = &links[..open.len()];
    let dot = |a: &[f64; MOST], b: &[f64; MOST]| (0..count).map(|n| a[n] * b[n]).sum::<f64>();
    let (mut phi, mut residual) = ([0.0; MOST], *gains);
    let (mut direction, mut size) = (residual, dot(&residual, &residual));
    let enough = TOLERANCE * TOLERANCE * size;
    for _ in 0..2 * count {
        if size <= enough || size < 1e-60 {
            break;
        }
        let mut applied = [0.0; MOST];
        for &(a, b, open) in links {
            let flux = open * (direction[a] - direction[b]);
            applied[a] += flux;
            applied[b] -= flux;
        }
        let step = size / dot(&direction, &applied).max(1e-300);
        (0..count).for_each(|n| {
            phi[n] += step * direction[n];
            residual[n] -= step * applied[n];
        });
        let next = dot(&residual, &residual);
        (0..count).for_each(|n| direction[n] = residual[n] + next / size * direction[n]);
        size = next;
    }
    for (value, &(a, b, open)) in inner.iter_mut().zip(links) {
        *value = (open * (phi[a] - phi[b])) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;

    #[test]
    fn each_part_of_a_cut_cell_is_balanced_separately() {
        let [coarse, fine] = [[1; 3], [2; 3]].map(|n| Layout::new(Dims::new(n).unwrap()));
        let grids = TwoGrids { finer: 2, coarse, fine, periodic: [false; 3], walls: [[true; 2]; 3] };
        // Nothing connects the left half with the right one, and their total gains differ.
        let open: Vec<f32> = grids.inner().map(|(axis, _)| if axis == 0 { 0.0 } else { 1.0 }).collect();
        let parts: Vec<u8> = (0..8).map(|n| n % 2).collect();
        let mut gains = [0.0; MOST];
        gains[..8].copy_from_slice(&[1.0, -3.0, 0.5, 1.0, 0.0, 0.0, 0.0, 4.0]);
        let before = gains;
        let mut inner = vec![0.0; open.len()];
        balance_cell(grids, &parts, &open, &mut gains, &mut inner);
        let mut left = before;
        for ((axis, by), flux) in grids.inner().zip(&inner) {
            let mut below = by;
            below[axis] -= 1;
            left[grids.index(below)] -= f64::from(*flux);
            left[grids.index(by)] += f64::from(*flux);
        }
        for n in 0..8 {
            assert!((left[n] - [0.375, 0.5][n % 2]).abs() < 1e-5, "{left:?}");
        }
    }
}
