//! The prolonged velocity beside solids.
//!
//! Solids close and narrow the faces of finer cells by their own shape. The flux through a cell's face is divided among its finer
//! faces in proportion to what of them is open. Fluxes inside the cell follow a potential between the finer cells that are not solid,
//! so that each has the same divergence. Where a thin solid keeps parts of a cell apart, the flow passes the part with the widest
//! openings, as the cell as a whole lies on one side of the solid; the other parts rest.

use rayon::prelude::*;

use crate::grid::{Faces, Layout};
use crate::solver::project::cell_of;
use crate::solver::solids::{CLOSED, SOLID, Voxels};
use crate::solver::storage::row_passes::{leave_room, refill};

/// Marks a finer cell inside a solid.
const NONE: u8 = u8::MAX;

/// Most finer cells of a cell.
const MOST: usize = 64;

/// Weight of openings into parts of a cell that its flow does not pass: they count only where there are no others.
const ELSEWHERE: f32 = 1e-6;

/// Share of the largest imbalance that may remain.
const TOLERANCE: f64 = 1e-7;

/// The grids.
#[derive(Clone, Copy)]
pub struct Place {
    pub finer: usize,
    pub coarse: Layout,
    pub fine: Layout,
}

/// Cells and faces beside solids.
#[derive(Default)]
pub struct CutCells {
    known: bool,
    /// Positions of the faces that are divided by what is open, for each component, ascending.
    faces: [Vec<u32>; 3],
    /// Open fractions of the N² parts of each, times N² over their sum.
    shares: [Vec<f32>; 3],
    /// Positions of the cells beside these faces or with closed faces inside, ascending.
    cells: Vec<u32>,
    /// For each cell, the connected part that each of its N³ finer cells belongs to, or [`NONE`].
    parts: Vec<u8>,
    /// For each cell, the part with the most open area towards the cells around it.
    main: Vec<u8>,
    /// For each cell, the open fractions of its inner faces, and their velocities \[m/s\].
    open: Vec<f32>,
    inner: Vec<f32>,
}

impl Place {
    fn fine_at(&self, at: [usize; 3]) -> usize {
        self.fine.at(at[0] as isize, at[1] as isize, at[2] as isize)
    }

    /// Positions of the finer faces of the face of `component` below the cell at `at`.
    fn parts(self, component: usize, at: u32) -> impl Iterator<Item = usize> {
        let (first, n) = (cell_of(self.coarse, at).map(|x| x * self.finer), self.finer);
        let (b, c) = ((component + 1) % 3, (component + 2) % 3);
        (0..n * n).map(move |part| {
            let mut place = first;
            (place[b], place[c]) = (place[b] + part % n, place[c] + part / n);
            self.fine_at(place)
        })
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
}

impl CutCells {
    /// Forgets the cells: solids have moved.
    pub fn forget(&mut self) {
        self.known = false;
    }

    /// Replaces the velocity on the finer faces of cut cells in `out`, from the `velocity` of their faces.
    pub fn pass(&mut self, place: Place, velocity: &Faces, [coarse, fine]: [&Voxels; 2], out: &mut Faces) {
        if !self.known {
            self.find(place, coarse, fine);
            self.known = true;
        }
        for component in 0..3 {
            let shares = self.shares[component].chunks_exact(place.finer * place.finer);
            for (&at, shares) in self.faces[component].iter().zip(shares) {
                let mean = coarse.cuts.stopped(component, at, velocity[component][at as usize]);
                for (to, share) in place.parts(component, at).zip(shares) {
                    out[component][to] = mean * share;
                }
            }
        }
        self.balance(place, out);
    }

    fn find(&mut self, place: Place, coarse: &Voxels, fine: &Voxels) {
        let Place { finer, coarse: layout, fine: fine_layout } = place;
        let (strides, n) = (layout.strides(), layout.dims.array());
        let Self { faces, shares, cells, parts, main, open, inner, .. } = self;
        let position = |at: [usize; 3]| layout.at(at[0] as isize, at[1] as isize, at[2] as isize) as u32;
        cells.clear();
        for (component, faces) in faces.iter_mut().enumerate() {
            faces.clear();
            faces.extend(coarse.cuts.faces[component].iter().map(|cut| cut.at));
            for cut in &fine.cuts.faces[component] {
                let at = cell_of(fine_layout, cut.at);
                let cell = at.map(|x| x / finer);
                match at[component] % finer {
                    0 => faces.push(position(cell)),
                    _ => cells.push(position(cell)),
                }
            }
            leave_room(faces);
            faces.sort_unstable();
            faces.dedup();
            for &at in &*faces {
                let cell = cell_of(layout, at);
                let has = [cell[component] > 0, cell[component] < n[component]];
                cells.extend(has[0].then(|| at - strides[component] as u32));
                cells.extend(has[1].then_some(at));
            }
        }
        leave_room(cells);
        cells.sort_unstable();
        cells.dedup();
        let fraction = |component: usize, at: usize| fine.cuts.open(component, at);
        let count = finer.pow(3);
        let first = |cell: u32| cell_of(layout, cell).map(|x| x * finer);
        let at = |first: [usize; 3], by: [usize; 3]| place.fine_at([0, 1, 2].map(|a| first[a] + by[a]));
        let inner_faces = cells.iter().flat_map(|&cell| place.inner().map(move |face| (cell, face)));
        refill(open, inner_faces.map(|(cell, (axis, by))| fraction(axis, at(first(cell), by))));
        refill(inner, open.iter().map(|_| 0.0));
        refill(parts, (0..count * cells.len()).map(|_| NONE));
        let of_cell = open.len() / cells.len().max(1);
        for ((&cell, parts), open) in
            cells.iter().zip(parts.chunks_exact_mut(count)).zip(open.chunks_exact_mut(of_cell.max(1)))
        {
            let is_solid = |index: usize| {
                let by = [index % finer, index / finer % finer, index / (finer * finer)];
                fine.flags[at(first(cell), by)] & SOLID != 0
            };
            for (index, part) in parts.iter_mut().enumerate() {
                *part = if is_solid(index) { NONE } else { index as u8 };
            }
            for ((axis, by), open) in place.inner().zip(open.iter_mut()) {
                let mut below = by;
                below[axis] -= 1;
                let ends = [parts[place.index(below)], parts[place.index(by)]];
                if ends.contains(&NONE) {
                    *open = 0.0;
                }
                if *open > 0.0 && ends[0] != ends[1] {
                    parts.iter_mut().filter(|part| **part == ends[1]).for_each(|part| *part = ends[0]);
                }
            }
        }
        refill(
            main,
            cells.iter().zip(parts.chunks_exact(count)).map(|(&cell, parts)| {
                let mut open = [0.0f32; MOST];
                for (axis, side) in (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]) {
                    if coarse.flags[cell as usize + side * strides[axis]] & CLOSED << axis != 0 {
                        continue;
                    }
                    let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                    for part in 0..finer * finer {
                        let mut by = [0; 3];
                        (by[axis], by[b], by[c]) = (side * (finer - 1), part % finer, part / finer);
                        let of = parts[place.index(by)];
                        if of != NONE {
                            let face = at(first(cell), by) + side * fine_layout.strides()[axis];
                            open[usize::from(of)] += fraction(axis, face);
                        }
                    }
                }
                (0..MOST).fold(0, |best, part| if open[part] > open[best] { part } else { best }) as u8
            }),
        );
        // Whether the flow of a cell goes through one of its finer cells.
        let carries = |at: usize| {
            let fine_cell = cell_of(fine_layout, at as u32);
            let own = cells.binary_search(&position(fine_cell.map(|x| x / finer)));
            let index = place.index(fine_cell.map(|x| x % finer));
            own.map_or(true, |cell| parts[cell * count + index] == main[cell])
        };
        for component in 0..3 {
            let (faces, shares) = (&faces[component], &mut shares[component]);
            let stride = fine_layout.strides()[component];
            let share = |at: usize, [below, above]: [bool; 2]| {
                let joins = (!above || carries(at)) && (!below || carries(at - stride));
                fraction(component, at) * if joins { 1.0 } else { ELSEWHERE }
            };
            let beside = |at: u32| {
                let index = cell_of(layout, at)[component];
                [index > 0, index < n[component]]
            };
            let of_face = |&at: &u32| place.parts(component, at).map(move |part| (part, beside(at)));
            refill(shares, faces.iter().flat_map(of_face).map(|(at, beside)| share(at, beside)));
            for shares in shares.chunks_exact_mut(finer * finer) {
                let sum: f32 = shares.iter().sum();
                let scale = if sum > 0.0 { (finer * finer) as f32 / sum } else { 0.0 };
                shares.iter_mut().for_each(|share| *share *= scale);
            }
        }
    }

    /// Sets the velocities on the inner faces of the cells.
    fn balance(&mut self, place: Place, out: &mut Faces) {
        let Self { cells, parts, open, inner, .. } = self;
        if cells.is_empty() {
            return;
        }
        let (finer, of_cell) = (place.finer, open.len() / cells.len());
        let fields = &*out;
        let tasks = inner.par_chunks_exact_mut(of_cell).zip(open.par_chunks_exact(of_cell));
        let tasks = tasks.zip(parts.par_chunks_exact(finer.pow(3))).zip(&*cells);
        tasks.for_each(|(((inner, open), parts), &cell)| {
            let first = cell_of(place.coarse, cell).map(|x| x * finer);
            let mut gains = [0.0f64; MOST];
            for axis in 0..3 {
                let stride = place.fine.strides()[axis];
                let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                for side in 0..finer * finer {
                    let mut by = [0; 3];
                    (by[b], by[c]) = (side % finer, side / finer);
                    let at = place.fine_at([0, 1, 2].map(|a| first[a] + by[a]));
                    gains[place.index(by)] += f64::from(fields[axis][at]);
                    by[axis] = finer - 1;
                    gains[place.index(by)] -= f64::from(fields[axis][at + finer * stride]);
                }
            }
            balance_cell(place, parts, open, &mut gains, inner);
        });
        let strides = place.fine.strides();
        for (inner, &cell) in inner.chunks_exact(of_cell).zip(&*cells) {
            let first = place.fine_at(cell_of(place.coarse, cell).map(|x| x * finer));
            for ((axis, by), value) in place.inner().zip(inner) {
                out[axis][first + (0..3).map(|a| by[a] * strides[a]).sum::<usize>()] = *value;
            }
        }
    }
}

/// Finds velocities on the inner faces that spread what each finer cell `gains` over its part, by conjugate gradients.
fn balance_cell(place: Place, parts: &[u8], open: &[f32], gains: &mut [f64; MOST], inner: &mut [f32]) {
    let count = parts.len();
    for part in 0..count as u8 {
        let members = || (0..count).filter(|&cell| parts[cell] == part);
        let mean = members().map(|cell| gains[cell]).sum::<f64>() / members().count().max(1) as f64;
        members().for_each(|cell| gains[cell] -= mean);
    }
    (0..count).filter(|&cell| parts[cell] == NONE).for_each(|cell| gains[cell] = 0.0);
    let mut links = [(0usize, 0usize, 0.0f64); 3 * MOST];
    for (link, ((axis, by), open)) in links.iter_mut().zip(place.inner().zip(open)) {
        let mut below = by;
        below[axis] -= 1;
        *link = (place.index(below), place.index(by), f64::from(*open));
    }
    let links = &links[..open.len()];
    let dot = |a: &[f64; MOST], b: &[f64; MOST]| (0..count).map(|n| a[n] * b[n]).sum::<f64>();
    let (mut phi, mut rest) = ([0.0; MOST], *gains);
    let (mut way, mut size) = (rest, dot(&rest, &rest));
    let enough = TOLERANCE * TOLERANCE * size;
    for _ in 0..2 * count {
        if size <= enough || size < 1e-60 {
            break;
        }
        let mut applied = [0.0; MOST];
        for &(a, b, open) in links {
            let flux = open * (way[a] - way[b]);
            applied[a] += flux;
            applied[b] -= flux;
        }
        let step = size / dot(&way, &applied).max(1e-300);
        (0..count).for_each(|n| {
            phi[n] += step * way[n];
            rest[n] -= step * applied[n];
        });
        let next = dot(&rest, &rest);
        (0..count).for_each(|n| way[n] = rest[n] + next / size * way[n]);
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
    fn parts_of_a_cut_cell_are_balanced_each_by_itself() {
        let [coarse, fine] = [[1; 3], [2; 3]].map(|n| Layout::new(Dims::new(n).unwrap()));
        let place = Place { finer: 2, coarse, fine };
        // No way between the left half and the right one; what both gain together differs.
        let open: Vec<f32> = place.inner().map(|(axis, _)| if axis == 0 { 0.0 } else { 1.0 }).collect();
        let parts: Vec<u8> = (0..8).map(|n| n % 2).collect();
        let mut gains = [0.0; MOST];
        gains[..8].copy_from_slice(&[1.0, -3.0, 0.5, 1.0, 0.0, 0.0, 0.0, 4.0]);
        let before = gains;
        let mut inner = vec![0.0; open.len()];
        balance_cell(place, &parts, &open, &mut gains, &mut inner);
        let mut left = before;
        for ((axis, by), flux) in place.inner().zip(&inner) {
            let mut below = by;
            below[axis] -= 1;
            left[place.index(below)] -= f64::from(*flux);
            left[place.index(by)] += f64::from(*flux);
        }
        for n in 0..8 {
            assert!((left[n] - [0.375, 0.5][n % 2]).abs() < 1e-5, "{left:?}");
        }
    }
}
