//! Boundary conditions of velocity and scalars on the six sides: ghosts, and the faces that lie on a side.

pub mod backflow;
pub mod entering;
pub mod profile;

use rayon::prelude::*;

use super::diffuse;
use super::project::{AxisBoundary, PressureBoundary};
use super::storage::active_bricks::Surroundings;
use super::storage::ranks::Ranks;
use super::{BoundaryCondition, BoundaryConditions};
use crate::grid::{Dims, Faces, GHOST, Layout};
use crate::simd::fetch_ahead;
use profile::{Profile, Table};

/// One ghost (or side face) along an axis: `sign · field[from] + add`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::solver) struct Ghost {
    pub(in crate::solver) at: isize,
    from: isize,
    pub(in crate::solver) sign: f32,
    add: f32,
}

impl Ghost {
    fn copy(at: isize, from: isize) -> Self {
        Self { at, from, sign: 1.0, add: 0.0 }
    }

    /// Makes the rule for which the mean of both values is `wall`.
    fn odd(at: isize, from: isize, wall: f32) -> Self {
        Self { at, from, sign: -1.0, add: 2.0 * wall }
    }

    fn fixed(at: isize, add: f32) -> Self {
        Self { at, from: at, sign: 0.0, add }
    }
}

/// Rules that fill the ghosts of velocity and scalars from the values inside.
#[derive(Clone, Debug)]
pub struct GhostRules {
    layout: Layout,
    sides: BoundaryConditions,
    held: [[Option<f32>; 2]; 3],
    /// For each component, the ghosts along each axis.
    faces: [[Vec<Ghost>; 3]; 3],
    /// Values that vary over the sides.
    tables: Vec<Table>,
    /// The ranks that share the box.
    ranks: Ranks,
}

impl GhostRules {
    /// Makes the rules of `sides` for fields of `layout`.
    pub fn new(layout: Layout, sides: BoundaryConditions, held: [[Option<f32>; 2]; 3]) -> Self {
        let n = layout.dims.array().map(|n| n as isize);
        let along = |component: usize, axis: usize| {
            let rule = if component == axis { normal } else { tangential };
            [false, true]
                .into_iter()
                .flat_map(|high| rule(sides[axis][usize::from(high)], component, n[axis], high))
                .collect()
        };
        let periodic = |side: BoundaryCondition| side == BoundaryCondition::Periodic;
        debug_assert!(sides.iter().all(|[a, b]| periodic(*a) == periodic(*b)), "half a periodic axis");
        let faces = [0, 1, 2].map(|component| [0, 1, 2].map(|axis| along(component, axis)));
        Self { layout, sides, held, faces, tables: vec![], ranks: Ranks::default() }
    }

    /// The same rules on the slab of one of several ranks.
    pub fn on(self, ranks: Ranks) -> Self {
        Self { layout: ranks.restrict(self.layout), ranks, ..self }
    }

    /// The ranks that share the box.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Brings the planes at one end of a periodic z axis to the other, before ghosts are made of them.
    fn exchange_ends<T: bytemuck::Pod>(&self, field: &mut [T]) {
        if self.periodic()[2] {
            self.ranks.exchange(self.layout, [field], [GHOST; 2]);
        }
    }

    /// Lets sides vary as `profiles` say, in a box with cells of this edge and its lower corner at this place
    /// \[m\].
    pub fn set_profiles(&mut self, place: (f32, [f32; 3]), profiles: &[Profile]) {
        self.tables = Table::all(self.layout, place, self.sides, profiles);
    }

    /// Brings what varies to the instant `time` \[s\].
    pub fn set_time(&mut self, time: f64) {
        self.tables.iter_mut().for_each(|table| table.set_time(time));
    }

    /// Values that vary over the sides.
    pub(in crate::solver) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The ghosts of `component` along each axis.
    pub(in crate::solver) fn rules(&self, component: usize) -> &[Vec<Ghost>; 3] {
        &self.faces[component]
    }

    /// Boundary conditions of the pressure along each axis.
    pub fn pressure_boundaries(&self) -> [AxisBoundary; 3] {
        self.sides.map(|sides| {
            sides.map(|side| match side {
                BoundaryCondition::Periodic => PressureBoundary::Periodic,
                BoundaryCondition::Open => PressureBoundary::Dirichlet,
                _ => PressureBoundary::Neumann,
            })
        })
    }

    /// Periodic axes.
    pub fn periodic(&self) -> [bool; 3] {
        self.sides.map(|[low, _]| low == BoundaryCondition::Periodic)
    }

    /// Whether no air crosses the sides of the box.
    pub fn are_sealed(&self) -> bool {
        (0..3).all(|axis| self.is_shut(axis))
    }

    /// Boundary conditions of the sides.
    pub fn sides(&self) -> BoundaryConditions {
        self.sides
    }

    /// Whether the net flow through the sides of an axis is zero: both are walls, or the axis is periodic.
    pub fn is_shut(&self, axis: usize) -> bool {
        self.sides[axis]
            .iter()
            .all(|side| !matches!(side, BoundaryCondition::Open | BoundaryCondition::Inflow(_)))
    }

    /// Sides through which the pressure lets air enter and leave.
    pub fn open_sides(&self) -> [[bool; 2]; 3] {
        self.sides.map(|ends| ends.map(|side| side == BoundaryCondition::Open))
    }

    /// Sides that give smoke or heat to the neighbouring air.
    pub fn feeding(&self) -> [[bool; 2]; 3] {
        let feeds = |side: BoundaryCondition, held: Option<f32>| match side {
            BoundaryCondition::Inflow(air) => air.scalars != [0.0; 4],
            _ => held.is_some_and(|at_wall| at_wall != 0.0),
        };
        [0, 1, 2].map(|axis| {
            let varies = self.varies(None, axis);
            [0, 1].map(|end| varies[end] || feeds(self.sides[axis][end], self.held[axis][end]))
        })
    }

    /// The sides through which smoke comes in.
    pub fn surroundings(&self) -> Surroundings {
        Surroundings { feeding: self.feeding(), periodic: self.periodic() }
    }

    /// Sides that are walls.
    pub fn solid_sides(&self) -> [[bool; 2]; 3] {
        self.sides.map(|ends| {
            ends.map(|side| matches!(side, BoundaryCondition::Closed | BoundaryCondition::NoSlip(_)))
        })
    }

    /// The faces of `component` along its own axis that the flow decides, as a half-open range: without those
    /// on a wall.
    pub fn free_faces(&self, component: usize) -> [isize; 2] {
        let n = self.layout.dims.array()[component] as isize;
        let [low, high] = self.sides[component];
        [
            isize::from(!matches!(low, BoundaryCondition::Open | BoundaryCondition::Periodic)),
            n + isize::from(high == BoundaryCondition::Open),
        ]
    }

    /// The first and the last faces of `component` along each axis of which half belongs to the box: those on open sides.
    pub fn halved_faces(&self, component: usize) -> [[bool; 2]; 3] {
        let mut halves = [[false; 2]; 3];
        halves[component] = self.open_sides()[component];
        halves
    }

    /// The layout of the fields.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Fills the ghosts of the velocity and sets its faces on walls.
    pub fn fill_velocity(&self, velocity: &mut Faces) {
        for (component, field) in velocity.iter_mut().enumerate() {
            self.fill_component(component, field);
        }
        self.let_in(velocity);
    }

    /// Sets the ghosts of faces on walls to 0. Beyond a lid they continue its motion, into the wall that it moves along: what is
    /// interpolated on the faces between would pass through that wall.
    pub fn close_corners(&self, velocity: &mut Faces) {
        let n = self.layout.dims.array().map(|n| n as isize);
        let ghosts = GHOST as isize;
        for (axis, field) in velocity.iter_mut().enumerate() {
            let walls = self.solid_sides()[axis];
            for wall in [0, n[axis]].into_iter().zip(walls).filter_map(|(at, is_wall)| is_wall.then_some(at))
            {
                let range = |a: usize| if a == axis { [wall, wall + 1] } else { [-ghosts, n[a] + ghosts] };
                let is_ghost = |a: usize, at: isize| a != axis && !(0..n[a]).contains(&at);
                let ([i0, i1], [j0, j1], [k0, k1]) = (range(0), range(1), self.layout.within(range(2)));
                for (k, j) in (k0..k1).flat_map(|k| (j0..j1).map(move |j| (k, j))) {
                    let outside = is_ghost(1, j) || is_ghost(2, k);
                    for i in (i0..i1).filter(|&i| outside || is_ghost(0, i)) {
                        field[self.layout.at(i, j, k)] = 0.0;
                    }
                }
            }
        }
    }

    /// Sets the faces on walls and inflows, and on periodic axes the last face to the first. Ghosts are not
    /// filled.
    pub fn set_sides(&self, velocity: &mut Faces) {
        let Layout { dims, row, plane, .. } = self.layout;
        let n = dims.array().map(|n| n as isize);
        self.exchange_ends(&mut velocity[2]);
        for (axis, field) in velocity.iter_mut().enumerate() {
            for g in self.faces[axis][axis].iter().filter(|g| (0..=n[axis]).contains(&g.at)) {
                let own = self.layout.own();
                match axis {
                    0 => field[own]
                        .par_chunks_exact_mut(plane)
                        .for_each(|plane| plane.chunks_exact_mut(row).for_each(|row| layer(row, 1, g))),
                    1 => field[own].par_chunks_exact_mut(plane).for_each(|plane| layer(plane, row, g)),
                    _ if owns(self.layout, g.at) => layer(field, plane, g),
                    _ => {}
                }
            }
            self.add_profiles(axis, field, true);
        }
    }

    /// As [`fill_velocity`](Self::fill_velocity), for one component.
    pub fn fill_component(&self, component: usize, field: &mut [f32]) {
        self.fill(field, &self.faces[component]);
        self.add_profiles(component, field, false);
    }

    /// The faces of `component` that the flow decides, as half-open ranges along x, y, z.
    pub fn face_ranges(&self, component: usize) -> [[isize; 2]; 3] {
        let n = self.layout.dims.array().map(|n| n as isize);
        [0, 1, 2].map(|axis| if axis == component { self.free_faces(axis) } else { [0, n[axis]] })
    }

    /// Repeats cell values one layer outwards, for means at faces on a side.
    pub fn extend(&self, cells: &mut [[f32; 4]]) {
        self.extend_on(self.layout, cells);
    }

    /// As [`extend`](Self::extend), on another grid of the same box.
    pub fn extend_on(&self, layout: Layout, cells: &mut [[f32; 4]]) {
        let Layout { dims, row, plane, .. } = layout;
        let [nx, ny, nz] = dims.array().map(|n| n as isize);
        let edges = |axis: usize, n: isize| match self.sides[axis][0] {
            BoundaryCondition::Periodic => [(-1, n - 1), (n, 0)],
            _ => [(-1, 0), (n, n - 1)],
        };
        let inner = layout.span(layout.within([0, nz]));
        cells[inner].par_chunks_mut(plane).for_each(|plane| {
            for line in plane.chunks_exact_mut(row) {
                fetch_ends(line);
                edges(0, nx).iter().for_each(|&(to, from)| line[shift(to)] = line[shift(from)]);
            }
            for (to, from) in edges(1, ny) {
                plane.copy_within(shift(from) * row..(shift(from) + 1) * row, shift(to) * row);
            }
        });
        self.exchange_ends(cells);
        for (to, from) in edges(2, nz).into_iter().filter(|&(to, _)| owns(layout, to)) {
            cells.copy_within(shift(from) * plane..(shift(from) + 1) * plane, shift(to) * plane);
        }
    }

    /// Boundary conditions of lines of `component` along `axis`, for diffusion.
    pub fn component_ends(&self, component: usize, axis: usize) -> diffuse::LineBoundary<1> {
        let n = self.layout.dims.array()[axis] as isize;
        if self.sides[axis][0] == BoundaryCondition::Periodic {
            return diffuse::LineBoundary::Ring;
        }
        let [first, end] = self.face_ranges(component)[axis];
        let rules = &self.faces[component][axis];
        let end_at = |at: isize| {
            let rule = rules.iter().find(|g| g.at == at);
            // A rule that reads its own position, or none, is a fixed value.
            let (sign, add) = rule.map_or((1.0, 0.0), |g| (g.sign, g.add));
            diffuse::End { sign: [sign], add: [add] }
        };
        debug_assert!(first <= 1 && end >= n - 1);
        diffuse::LineBoundary::Line([end_at(first - 1), end_at(end)])
    }

    /// Boundary conditions of lines of scalars along `axis`, for diffusion.
    pub fn scalar_ends(&self, axis: usize) -> diffuse::LineBoundary<4> {
        let insulated = diffuse::End { sign: [1.0; 4], add: [0.0; 4] };
        let end = |high: usize| match (self.sides[axis][high], self.held[axis][high]) {
            (BoundaryCondition::Inflow(air), _) => diffuse::End { sign: [0.0; 4], add: air.scalars },
            (BoundaryCondition::Closed | BoundaryCondition::NoSlip(_), Some(held)) => {
                diffuse::End { sign: [1.0, 1.0, 1.0, -1.0], add: [0.0, 0.0, 0.0, 2.0 * held] }
            }
            _ => insulated,
        };
        match self.sides[axis][0] {
            BoundaryCondition::Periodic => diffuse::LineBoundary::Ring,
            _ => diffuse::LineBoundary::Line([end(0), end(1)]),
        }
    }

    /// Whether scalars diffuse through a side: one that holds a temperature, or through which air flows in.
    pub fn hold_scalars(&self) -> bool {
        let held = self.held.as_flattened().iter().any(Option::is_some);
        held || self.sides.as_flattened().iter().any(|side| matches!(side, BoundaryCondition::Inflow(_)))
    }

    fn fill(&self, field: &mut [f32], rules: &[Vec<Ghost>; 3]) {
        let Layout { dims, row, plane, .. } = self.layout;
        let inner = self.layout.span(self.layout.within([0, dims.nz as isize + 1]));
        field[inner].par_chunks_mut(plane).for_each(|plane| {
            for line in plane.chunks_exact_mut(row) {
                fetch_ends(line);
                for g in &rules[0] {
                    line[shift(g.at)] = g.sign * line[shift(g.from)] + g.add;
                }
            }
            for g in &rules[1] {
                layer(plane, row, g);
            }
        });
        self.exchange_ends(field);
        for g in rules[2].iter().filter(|g| owns(self.layout, g.at)) {
            layer(field, plane, g);
        }
        self.fill_edges(field, rules);
    }

    /// Fills the ghosts beyond two or three sides. If their rules do not commute it takes the mean over all
    /// orders, so no axis has precedence.
    fn fill_edges(&self, field: &mut [f32], rules: &[Vec<Ghost>; 3]) {
        let (n, strides) = (self.layout.dims.array(), self.layout.strides());
        for [a, b, c] in [[0, 1, 2], [0, 2, 1], [1, 2, 0]] {
            for (p, q) in pairs(&rules[a], &rules[b]).filter(|(p, q)| !commute(p, q)) {
                let at = |p: isize, q: isize| shift(p) * strides[a] + shift(q) * strides[b];
                let (to, from) = (at(p.at, q.at), at(p.from, q.from));
                let add = 0.5 * ((1.0 + q.sign) * p.add + (1.0 + p.sign) * q.add);
                let last = n[c] as isize + 1;
                let [first, end] = match c {
                    2 => self.layout.within([0, last]),
                    _ if owns(self.layout, q.at) => [0, last],
                    _ => continue,
                };
                for i in first..end {
                    let i = shift(i) * strides[c];
                    field[to + i] = p.sign * q.sign * field[from + i] + add;
                }
            }
        }
        let at = |i: [isize; 3]| (0..3).map(|a| shift(i[a]) * strides[a]).sum::<usize>();
        for (p, q) in pairs(&rules[0], &rules[1]) {
            for r in rules[2].iter().filter(|r| owns(self.layout, r.at)) {
                if commute(p, q) && commute(q, r) && commute(p, r) {
                    continue;
                }
                // The third rule comes before, between or after the other two, each in a third of the orders.
                let share = |s: f32, t: f32| (1.0 + 0.5 * (s + t) + s * t) / 3.0;
                let add = share(q.sign, r.sign) * p.add
                    + share(p.sign, r.sign) * q.add
                    + share(p.sign, q.sign) * r.add;
                let inside = field[at([p.from, q.from, r.from])];
                field[at([p.at, q.at, r.at])] = p.sign * q.sign * r.sign * inside + add;
            }
        }
    }

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

/// Whether passes on `layout` compute plane k, ghosts included.
fn owns(layout: Layout, k: isize) -> bool {
    let [from, to] = layout.planes();
    (from..to).contains(&k)
}

/// Mean of some values. For equal values it has their bits.
fn mean<const N: usize>(values: [[f32; 4]; N]) -> [f32; 4] {
    [0, 1, 2, 3].map(|c| {
        let first = values[0][c];
        first + values[1..].iter().map(|value| value[c] - first).sum::<f32>() / N as f32
    })
}

/// Every ghost of one axis with every ghost of another.
fn pairs<'a>(a: &'a [Ghost], b: &'a [Ghost]) -> impl Iterator<Item = (&'a Ghost, &'a Ghost)> {
    a.iter().flat_map(move |p| b.iter().map(move |q| (p, q)))
}

/// Whether the rules of two axes give the same result in either order.
fn commute(p: &Ghost, q: &Ghost) -> bool {
    q.sign * p.add + q.add == p.sign * q.add + p.add
}

/// Ghost of a wall: the cell beside it, with the temperature mirrored about one held at the wall.
fn mirrored(cell: [f32; 4], held: Option<f32>) -> [f32; 4] {
    match held {
        Some(at_wall) => [cell[0], cell[1], cell[2], 2.0 * at_wall - cell[3]],
        None => cell,
    }
}

/// Converts an index along an axis to a position counted from the first ghost.
fn shift(i: isize) -> usize {
    (i + GHOST as isize) as usize
}

/// Prefetches the ends of a line some lines after this one, because passes over them do little else.
fn fetch_ends<T>(line: &[T]) {
    const LINES: usize = 16;
    fetch_ahead(line, LINES * line.len());
    fetch_ahead(line, (LINES + 1) * line.len() - 1);
}

fn layer(field: &mut [f32], stride: usize, g: &Ghost) {
    let (to, from) = (shift(g.at) * stride, shift(g.from) * stride);
    for i in 0..stride {
        field[to + i] = g.sign * field[from + i] + g.add;
    }
}

/// Ghosts of a component along its own axis, faces 0..=n. A wall and an inflow fix the face on the side itself.
fn normal(side: BoundaryCondition, axis: usize, n: isize, high: bool) -> Vec<Ghost> {
    let (wall, out) = if high { (n, 1) } else { (0, -1) };
    let inside = |depth: isize| (wall - out * depth).clamp(0, n);
    let depths = if high { 1..=1 } else { 1..=2 };
    let beyond = |ghost: &dyn Fn(isize) -> Ghost| depths.clone().map(ghost).collect::<Vec<_>>();
    let fixed = |value: f32, ghosts: Vec<Ghost>| [vec![Ghost::fixed(wall, value)], ghosts].concat();
    match side {
        // A wall is a mirror: the normal velocity relative to the wall is odd.
        BoundaryCondition::Closed => fixed(0.0, beyond(&|d| Ghost::odd(wall + out * d, inside(d), 0.0))),
        BoundaryCondition::NoSlip(v) => {
            fixed(v[axis], beyond(&|d| Ghost::odd(wall + out * d, inside(d), v[axis])))
        }
        BoundaryCondition::Inflow(air) => {
            fixed(air.velocity[axis], beyond(&|d| Ghost::fixed(wall + out * d, air.velocity[axis])))
        }
        BoundaryCondition::Open => beyond(&|d| Ghost::copy(wall + out * d, wall)),
        BoundaryCondition::Periodic if high => vec![Ghost::copy(n, 0), Ghost::copy(n + 1, 1 % n)],
        BoundaryCondition::Periodic => beyond(&|d| Ghost::copy(-d, (-d).rem_euclid(n))),
    }
}

/// Ghosts of a component along another axis, cells 0..n.
fn tangential(side: BoundaryCondition, component: usize, n: isize, high: bool) -> Vec<Ghost> {
    let (edge, out) = if high { (n - 1, 1) } else { (0, -1) };
    let inside = |depth: isize| (edge - out * (depth - 1)).clamp(0, n - 1);
    let beyond = |ghost: &dyn Fn(isize) -> Ghost| (1..=2).map(ghost).collect::<Vec<_>>();
    match side {
        BoundaryCondition::Closed => beyond(&|d| Ghost::copy(edge + out * d, inside(d))),
        BoundaryCondition::NoSlip(v) => beyond(&|d| Ghost::odd(edge + out * d, inside(d), v[component])),
        BoundaryCondition::Inflow(air) => beyond(&|d| Ghost::fixed(edge + out * d, air.velocity[component])),
        BoundaryCondition::Open => beyond(&|d| Ghost::copy(edge + out * d, edge)),
        BoundaryCondition::Periodic => {
            beyond(&|d| Ghost::copy(edge + out * d, (edge + out * d).rem_euclid(n)))
        }
    }
}

/// Bounds within which values of a lattice may be sampled, in its own index coordinates.
#[derive(Clone, Copy, Debug)]
pub struct SampleBounds {
    /// Least coordinate along each axis. Departure points are clamped to `low..=high`.
    pub low: [f32; 3],
    /// See `low`.
    pub high: [f32; 3],
    /// Greatest index a sample may start from.
    pub last: [f32; 3],
    /// Length after which the values repeat; 0 where they do not.
    pub period: [f32; 3],
    /// 1/period, or 0.
    pub per_period: [f32; 3],
    /// Distances to the next row and plane.
    pub row: usize,
    /// See `row`.
    pub plane: usize,
}

impl GhostRules {
    /// Sample bounds of the cell centres (`None`) or of the faces of a component.
    pub fn sample_bounds(&self, component: Option<usize>) -> SampleBounds {
        let Dims { nx, ny, nz } = self.layout.dims;
        let n = [nx as f32, ny as f32, nz as f32];
        let range = |axis: usize| {
            if component == Some(axis) {
                return [0.0, n[axis]];
            }
            // Samples end at a wall. Beyond an open side they may extend half a cell into outside air.
            let [low, high] = self.sides[axis].map(|side| {
                if matches!(side, BoundaryCondition::Open | BoundaryCondition::Inflow(_)) { 1.0 } else { 0.5 }
            });
            [-low, n[axis] - 1.0 + high]
        };
        let ranges = [range(0), range(1), range(2)];
        let period = [0, 1, 2]
            .map(|axis| if self.sides[axis][0] == BoundaryCondition::Periodic { n[axis] } else { 0.0 });
        SampleBounds {
            period,
            per_period: period.map(|p| if p > 0.0 { 1.0 / p } else { 0.0 }),
            low: ranges.map(|r| r[0]),
            high: ranges.map(|r| r[1]),
            last: n.map(|n| n - 1.0),
            row: self.layout.row,
            plane: self.layout.plane,
        }
    }
}
