//! What the six sides do to values outside the box: the ghosts, and the faces that lie on a side.

use rayon::prelude::*;

use super::project::Ends;
use super::{Side, Sides};
use crate::grid::{Dims, Faces, GHOST, Layout};

/// One ghost (or side face) along an axis: `sign · field[from] + add`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ghost {
    at: isize,
    from: isize,
    sign: f32,
    add: f32,
}

impl Ghost {
    fn copy(at: isize, from: isize) -> Self {
        Self { at, from, sign: 1.0, add: 0.0 }
    }

    fn negate(at: isize, from: isize) -> Self {
        Self { at, from, sign: -1.0, add: 0.0 }
    }

    fn fixed(at: isize, add: f32) -> Self {
        Self { at, from: at, sign: 0.0, add }
    }
}

/// How the ghosts of the velocity and of the scalars follow from what is inside.
#[derive(Clone, Debug)]
pub struct Walls {
    layout: Layout,
    sides: Sides,
    /// For each component, the ghosts along each axis.
    faces: [[Vec<Ghost>; 3]; 3],
}

impl Walls {
    /// The rules of `sides` for fields of `layout`.
    pub fn new(layout: Layout, sides: Sides) -> Self {
        let n = layout.dims.array().map(|n| n as isize);
        let along = |component: usize, axis: usize| {
            let rule = if component == axis { normal } else { tangential };
            [false, true]
                .into_iter()
                .flat_map(|high| rule(sides[axis][usize::from(high)], n[axis], high))
                .collect()
        };
        let faces = [0, 1, 2].map(|component| [0, 1, 2].map(|axis| along(component, axis)));
        Self { layout, sides, faces }
    }

    /// What each axis does to the pressure.
    pub fn ends(&self) -> [Ends; 3] {
        self.sides.map(|[low, high]| match (low, high) {
            (Side::Open, Side::Open) => Ends::Open,
            (Side::Open, _) => Ends::OpenClosed,
            (_, Side::Open) => Ends::ClosedOpen,
            _ => Ends::Closed,
        })
    }

    /// The faces of `component` along its own axis that the flow decides, as a half-open range: without those on a
    /// wall.
    pub fn free_faces(&self, component: usize) -> [isize; 2] {
        let n = self.layout.dims.array()[component] as isize;
        let [low, high] = self.sides[component].map(|side| side == Side::Open);
        [isize::from(!low), n + isize::from(high)]
    }

    /// Fills the ghosts of the velocity and sets its faces on walls.
    pub fn fill_velocity(&self, velocity: &mut Faces) {
        for (field, rules) in velocity.iter_mut().zip(&self.faces) {
            self.fill(field, rules);
        }
    }

    /// As [`fill_velocity`](Self::fill_velocity), for one component.
    pub fn fill_component(&self, component: usize, field: &mut [f32]) {
        self.fill(field, &self.faces[component]);
    }

    /// The faces of `component` that the flow decides, as half-open ranges along x, y, z.
    pub fn face_ranges(&self, component: usize) -> [[isize; 2]; 3] {
        let n = self.layout.dims.array().map(|n| n as isize);
        [0, 1, 2].map(|axis| if axis == component { self.free_faces(axis) } else { [0, n[axis]] })
    }

    /// Repeats cell values one layer outwards, for means at faces on a side.
    pub fn extend(&self, cells: &mut Faces) {
        let Layout { dims, row, plane } = self.layout;
        let [nx, ny, nz] = dims.array().map(|n| n as isize);
        let edges = |n: isize| [Ghost::copy(-1, 0), Ghost::copy(n, n - 1)];
        for field in cells {
            let inner = GHOST * plane..(dims.nz + GHOST) * plane;
            field[inner].par_chunks_mut(plane).for_each(|plane| {
                for line in plane.chunks_exact_mut(row) {
                    edges(nx).iter().for_each(|g| layer(line, 1, g));
                }
                edges(ny).iter().for_each(|g| layer(plane, row, g));
            });
            edges(nz).iter().for_each(|g| layer(field, plane, g));
        }
    }

    fn fill(&self, field: &mut [f32], rules: &[Vec<Ghost>; 3]) {
        let Layout { dims, row, plane } = self.layout;
        let inner = GHOST * plane..(dims.nz + GHOST + 1) * plane;
        field[inner].par_chunks_mut(plane).for_each(|plane| {
            for line in plane.chunks_exact_mut(row) {
                for g in &rules[0] {
                    line[shift(g.at)] = g.sign * line[shift(g.from)] + g.add;
                }
            }
            for g in &rules[1] {
                layer(plane, row, g);
            }
        });
        for g in &rules[2] {
            layer(field, plane, g);
        }
    }

    /// Fills the ghosts of the scalars. Air that enters through an open side is clean and at ambient temperature;
    /// where it leaves, what is inside goes on outside.
    pub fn fill_scalars(&self, scalars: &mut [[f32; 4]], velocity: &Faces) {
        let Layout { dims, row, plane } = self.layout;
        let [nx, ny, nz] = dims.array().map(|n| n as isize);
        let inner = GHOST * plane..(dims.nz + GHOST) * plane;
        scalars[inner].par_chunks_mut(plane).enumerate().for_each(|(k, cells)| {
            let base = (k + GHOST) * plane;
            for j in 0..dims.ny {
                let at = shift(j as isize) * row;
                self.ends_of_line(&mut cells[at..at + row], 1, nx, 0, |face| {
                    velocity[0][base + at + shift(face)]
                });
            }
            for i in 0..row {
                self.ends_of_line(&mut cells[i..], row, ny, 1, |face| {
                    velocity[1][base + i + shift(face) * row]
                });
            }
        });
        // The last axis: whole planes, each thread some columns of them.
        let (low, high) = scalars.split_at_mut(GHOST * plane + plane * (dims.nz / 2));
        let split = GHOST + dims.nz / 2;
        let w = &velocity[2];
        for at in 0..plane {
            let mut get = |k: isize| {
                let k = shift(k);
                if k < split { low[k * plane + at] } else { high[(k - split) * plane + at] }
            };
            let ends = ghosts_of_line(self.sides[2], nz, &mut get, |face| w[shift(face) * plane + at]);
            for (k, value) in ends {
                let k = shift(k);
                if k < split {
                    low[k * plane + at] = value;
                } else {
                    high[(k - split) * plane + at] = value;
                }
            }
        }
    }

    fn ends_of_line(
        &self,
        line: &mut [[f32; 4]],
        stride: usize,
        n: isize,
        axis: usize,
        speed: impl Fn(isize) -> f32,
    ) {
        let ends = ghosts_of_line(self.sides[axis], n, |i| line[shift(i) * stride], speed);
        for (at, value) in ends {
            line[shift(at) * stride] = value;
        }
    }
}

/// The four ghosts of a line of scalars; `speed(face)` is the normal velocity.
fn ghosts_of_line(
    [low, high]: [Side; 2],
    n: isize,
    mut get: impl FnMut(isize) -> [f32; 4],
    speed: impl Fn(isize) -> f32,
) -> [(isize, [f32; 4]); 4] {
    let mut beyond = |side: Side, edge: isize, next: isize, leaves: bool| match side {
        Side::Closed => [get(edge), get(next)],
        Side::Open if leaves => [get(edge); 2],
        Side::Open => [[0.0; 4]; 2],
    };
    let [a, b] = beyond(low, 0, 1.min(n - 1), low == Side::Open && speed(0) < 0.0);
    let [c, d] = beyond(high, n - 1, (n - 2).max(0), high == Side::Open && speed(n) > 0.0);
    [(-1, a), (-2, b), (n, c), (n + 1, d)]
}

/// An index along an axis as a position counted from the first ghost.
fn shift(i: isize) -> usize {
    (i + GHOST as isize) as usize
}

/// Sets one layer of `field`, layers `stride` apart.
fn layer(field: &mut [f32], stride: usize, g: &Ghost) {
    let (to, from) = (shift(g.at) * stride, shift(g.from) * stride);
    for i in 0..stride {
        field[to + i] = g.sign * field[from + i] + g.add;
    }
}

/// Ghosts of a component along its own axis, faces 0..=n.
fn normal(side: Side, n: isize, high: bool) -> Vec<Ghost> {
    let (wall, out) = if high { (n, 1) } else { (0, -1) };
    let inside = |depth: isize| (wall - out * depth).clamp(0, n);
    match side {
        // A free-slip wall is a mirror: the component across it is odd.
        Side::Closed if high => vec![Ghost::fixed(wall, 0.0), Ghost::negate(n + 1, inside(1))],
        Side::Closed => {
            vec![Ghost::fixed(wall, 0.0), Ghost::negate(-1, inside(1)), Ghost::negate(-2, inside(2))]
        }
        Side::Open if high => vec![Ghost::copy(n + 1, n)],
        Side::Open => vec![Ghost::copy(-1, 0), Ghost::copy(-2, 0)],
    }
}

/// Ghosts of a component along another axis, cells 0..n.
fn tangential(side: Side, n: isize, high: bool) -> Vec<Ghost> {
    let (edge, out) = if high { (n - 1, 1) } else { (0, -1) };
    let next = (edge - out).clamp(0, n - 1);
    match side {
        Side::Closed => vec![Ghost::copy(edge + out, edge), Ghost::copy(edge + 2 * out, next)],
        Side::Open => vec![Ghost::copy(edge + out, edge), Ghost::copy(edge + 2 * out, edge)],
    }
}

/// Where values of a lattice may be sampled, in its own index coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Least and greatest coordinate along each axis; a foot beyond is moved there.
    pub low: [f32; 3],
    /// See `low`.
    pub high: [f32; 3],
    /// Greatest index a sample may start from.
    pub last: [f32; 3],
    /// Distances to the next row and plane.
    pub row: usize,
    /// See `row`.
    pub plane: usize,
}

impl Walls {
    /// The reach of the cell centres (`None`) or of the faces of a component.
    pub fn reach(&self, component: Option<usize>) -> Reach {
        let Dims { nx, ny, nz } = self.layout.dims;
        let n = [nx as f32, ny as f32, nz as f32];
        let range = |axis: usize| {
            if component == Some(axis) {
                return [0.0, n[axis]];
            }
            // Beyond a wall there is nothing; beyond an open side half a cell of outside air can be seen.
            let [low, high] = self.sides[axis].map(|side| if side == Side::Open { 1.0 } else { 0.5 });
            [-low, n[axis] - 1.0 + high]
        };
        let ranges = [range(0), range(1), range(2)];
        Reach {
            low: ranges.map(|r| r[0]),
            high: ranges.map(|r| r[1]),
            last: n.map(|n| n - 1.0),
            row: self.layout.row,
            plane: self.layout.plane,
        }
    }
}
