//! Boundary conditions of velocity and scalars on the six sides: ghosts, and the faces that lie on a side.

pub mod backflow;
pub mod entering;
pub mod profile;
mod scalar_ghosts;

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
}

/// Whether passes on `layout` compute plane k, ghosts included.
fn owns(layout: Layout, k: isize) -> bool {
    let [from, to] = layout.planes();
    (from..to).contains(&k)
}

/// Every ghost of one axis with every ghost of another.
fn pairs<'a>(a: &'a [Ghost], b: &'a [Ghost]) -> impl Iterator<Item = (&'a Ghost, &'a Ghost)> {
    a.iter().flat_map(move |p| b.iter().map(move |q| (p, q)))
}

/// Whether the rules of two axes give the same result in either order.
fn commute(p: &Ghost, q: &Ghost) -> bool {
    q.sign * p.add + q.add == p.sign * q.add + p.add
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
