//! Ghosts of the scalars: clean air or that of an inflow where air enters, the inner values where it leaves, and walls.

use rayon::prelude::*;

use super::{GhostRules, fetch_ends, owns, shift};
use crate::grid::{Faces, GHOST, Layout};
use crate::solver::BoundaryCondition;

impl GhostRules {
    /// Fills the ghosts of the scalars. Air that enters through an open side is clean and at ambient
    /// temperature. Where air leaves, the inner values continue outside.
    pub fn fill_scalars(&self, scalars: &mut [[f32; 4]], velocity: &Faces) {
        self.fill_scalars_before(0.0, scalars, velocity);
    }

    /// As [`fill_scalars`](Self::fill_scalars), with values that vary at the share `lag` of a step before its end.
    pub fn fill_scalars_before(&self, lag: f32, scalars: &mut [[f32; 4]], velocity: &Faces) {
        let Layout { dims, row, plane, .. } = self.layout;
        let [nx, ny, nz] = dims.array().map(|n| n as isize);
        let mixed = self.differ();
        let inner = self.layout.span(self.layout.within([0, nz]));
        let first = inner.start / plane;
        scalars[inner].par_chunks_mut(plane).enumerate().for_each(|(k, cells)| {
            let base = (first + k) * plane;
            for j in 0..dims.ny {
                let at = shift(j as isize) * row;
                fetch_ends(&cells[at..at + row]);
                self.ends_of_line(&mut cells[at..at + row], 1, nx, 0, |face| {
                    velocity[0][base + at + shift(face)]
                });
            }
            for i in 0..row {
                self.ends_of_line(&mut cells[i..], row, ny, 1, |face| {
                    velocity[1][base + i + shift(face) * row]
                });
            }
            if let [true, true, _] = mixed {
                for j in [-2, -1, ny, ny + 1] {
                    let at = shift(j) * row;
                    let line = &mut cells[at..at + row];
                    let speed = |face| velocity[0][base + at + shift(face)];
                    for (i, value) in self.ghosts_of_line(0, nx, |i| line[shift(i)], speed) {
                        line[shift(i)] = mean([line[shift(i)], value]);
                    }
                }
            }
        });
        self.exchange_ends(scalars);
        if owns(self.layout, -1) || owns(self.layout, nz) {
            self.fill_scalars_along_z(scalars, velocity);
        }
        if mixed[2] && (mixed[0] || mixed[1]) {
            self.blend_edges_along_z(scalars, velocity);
        }
        self.add_scalar_profiles(scalars, lag);
    }

    /// Fills the ghost planes of the scalars below and above the box. With several ranks those of the other end come out wrong; nothing
    /// reads them.
    fn fill_scalars_along_z(&self, scalars: &mut [[f32; 4]], velocity: &Faces) {
        let Layout { dims, row, plane, .. } = self.layout;
        let nz = dims.nz as isize;
        // Each thread takes some rows of all planes.
        let (below, rest) = scalars.split_at_mut(GHOST * plane);
        let (inside, above) = rest.split_at_mut(dims.nz * plane);
        let (second_below, first_below) = below[(GHOST - 2) * plane..].split_at_mut(plane);
        let (first_above, second_above) = above.split_at_mut(plane);
        let beyond = [first_below, second_below, first_above, &mut second_above[..plane]];
        let [a, b, c, d] = beyond.map(|ghosts| ghosts.par_chunks_mut(row));
        a.zip(b).zip(c.zip(d)).enumerate().for_each(|(j, ((a, b), (c, d)))| {
            for i in 0..row {
                let at = j * row + i;
                let ends = self.ghosts_of_line(
                    2,
                    nz,
                    |k| inside[k as usize * plane + at],
                    |face| velocity[2][shift(face) * plane + at],
                );
                for (ghost, (_, value)) in [&mut a[i], &mut b[i], &mut c[i], &mut d[i]].into_iter().zip(ends)
                {
                    *ghost = value;
                }
            }
        });
    }

    /// Axes whose ghosts of scalars differ from the cells beside them. An edge between two of these depends
    /// on the order.
    fn differ(&self) -> [bool; 3] {
        [0, 1, 2].map(|axis| {
            let held = self.held[axis].iter().any(Option::is_some);
            held || self.sides[axis]
                .iter()
                .any(|side| matches!(side, BoundaryCondition::Open | BoundaryCondition::Inflow(_)))
        })
    }

    /// Fills the edges beside the ghost planes below and above the box: the mean over the orders in which the
    /// rules of the axes can be applied.
    fn blend_edges_along_z(&self, scalars: &mut [[f32; 4]], velocity: &Faces) {
        let Layout { dims, row, plane, .. } = self.layout;
        let [nx, ny, nz] = dims.array().map(|n| n as isize);
        for k in [-2, -1, nz, nz + 1].into_iter().filter(|&k| owns(self.layout, k)) {
            let base = shift(k) * plane;
            let cells = &mut scalars[base..base + plane];
            for j in 0..ny {
                let at = shift(j) * row;
                let speed = |face| velocity[0][base + at + shift(face)];
                for (i, value) in self.ghosts_of_line(0, nx, |i| cells[at + shift(i)], speed) {
                    cells[at + shift(i)] = mean([cells[at + shift(i)], value]);
                }
            }
            for i in 0..nx {
                let at = shift(i);
                let speed = |face| velocity[1][base + at + shift(face) * row];
                for (j, value) in self.ghosts_of_line(1, ny, |j| cells[at + shift(j) * row], speed) {
                    cells[at + shift(j) * row] = mean([cells[at + shift(j) * row], value]);
                }
            }
            // Beyond three sides: so far the rule of z is last; those of x or y may be last as well.
            let along_x = [-2, -1, ny, ny + 1].map(|j| {
                let at = shift(j) * row;
                let speed = |face| velocity[0][base + at + shift(face)];
                self.ghosts_of_line(0, nx, |i| cells[at + shift(i)], speed)
            });
            let along_y = [-2, -1, nx, nx + 1].map(|i| {
                let at = shift(i);
                let speed = |face| velocity[1][base + at + shift(face) * row];
                (i, self.ghosts_of_line(1, ny, |j| cells[at + shift(j) * row], speed))
            });
            for (i, column) in along_y {
                for (j, by_y) in column {
                    let line = [-2, -1, ny, ny + 1].iter().position(|&row| row == j);
                    let by_x = line.and_then(|line| along_x[line].iter().find(|ghost| ghost.0 == i));
                    if let Some((_, by_x)) = by_x {
                        let at = shift(j) * row + shift(i);
                        cells[at] = mean([cells[at], by_y, *by_x]);
                    }
                }
            }
        }
    }

    /// Computes the four ghosts of a line of scalars along `axis`. `speed(face)` is the normal velocity.
    fn ghosts_of_line(
        &self,
        axis: usize,
        n: isize,
        get: impl Fn(isize) -> [f32; 4],
        speed: impl Fn(isize) -> f32,
    ) -> [(isize, [f32; 4]); 4] {
        let [a, b] = self.beyond([axis, 0], n, &get, &speed);
        let [c, d] = self.beyond([axis, 1], n, &get, &speed);
        [(-1, a), (-2, b), (n, c), (n + 1, d)]
    }

    /// The two ghosts beyond one end of a line of n cells, the nearer first.
    #[inline(always)]
    fn beyond(
        &self,
        [axis, end]: [usize; 2],
        n: isize,
        get: &impl Fn(isize) -> [f32; 4],
        speed: &impl Fn(isize) -> f32,
    ) -> [[f32; 4]; 2] {
        let [edge, next, face] = if end == 0 { [0, 1.min(n - 1), 0] } else { [n - 1, (n - 2).max(0), n] };
        let outwards = if end == 0 { -1.0 } else { 1.0 };
        match self.sides[axis][end] {
            BoundaryCondition::Closed | BoundaryCondition::NoSlip(_) => {
                let held = self.held[axis][end];
                [mirrored(get(edge), held), mirrored(get(next), held)]
            }
            BoundaryCondition::Open if outwards * speed(face) > 0.0 => [get(edge); 2],
            BoundaryCondition::Open => [[0.0; 4]; 2],
            BoundaryCondition::Inflow(air) => [air.scalars; 2],
            BoundaryCondition::Periodic => [get(n - 1 - edge), get(n - 1 - next)],
        }
    }

    /// Fills the ghosts of a line along `axis`.
    #[inline(always)]
    fn ends_of_line(
        &self,
        line: &mut [[f32; 4]],
        stride: usize,
        n: isize,
        axis: usize,
        speed: impl Fn(isize) -> f32,
    ) {
        let below = self.beyond([axis, 0], n, &|i| line[shift(i) * stride], &speed);
        let above = self.beyond([axis, 1], n, &|i| line[shift(i) * stride], &speed);
        line[shift(-1) * stride] = below[0];
        line[shift(-2) * stride] = below[1];
        line[shift(n) * stride] = above[0];
        line[shift(n + 1) * stride] = above[1];
    }
}

/// Mean of some values. For equal values it has their bits.
fn mean<const N: usize>(values: [[f32; 4]; N]) -> [f32; 4] {
    [0, 1, 2, 3].map(|c| {
        let first = values[0][c];
        first + values[1..].iter().map(|value| value[c] - first).sum::<f32>() / N as f32
    })
}

/// Ghost of a wall: the cell beside it, with the temperature mirrored about one held at the wall.
fn mirrored(cell: [f32; 4], held: Option<f32>) -> [f32; 4] {
    match held {
        Some(at_wall) => [cell[0], cell[1], cell[2], 2.0 * at_wall - cell[3]],
        None => cell,
    }
}
