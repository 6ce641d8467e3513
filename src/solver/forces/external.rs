//! External forces of the scene: wind, points that attract or repel, vortices.
//!
//! They act on the faces, after the body forces of the model and before the projection. A point's force is
//! the difference of its potential between the two cells of a face, so it is free of curl on the grid too. In
//! a closed box it alone moves nothing: the pressure balances it exactly.
//!
//! Forces that approach a velocity act together with friction and all accelerations: with rates rᵢ, weights wᵢ and targets Uᵢ
//!
//! ```text
//!     du/dt = a − d u + Σ rᵢ wᵢ (Uᵢ − u)
//! ```
//!
//! is solved exactly for an acceleration a that is steady within the step ([`External::relax`]). One after another they were of first
//! order: at 24 steps a second the terminal speed of air that a wind of rate 3/s holds back was 3 % too small or too large.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::grid::{Faces, GHOST};
use crate::solver::invalid_value::InvalidValue;
use crate::solver::sources::{Cover, Grid, Region, decayed_time, working};
use crate::solver::storage::row_passes;

/// Vectors of a force as a function of the position \[m\] and the time \[s\], computed by a program.
///
/// Several threads call it at once, for each face and each step. Two are equal if they are clones of each
/// other.
#[derive(Clone)]
pub struct CustomField(Arc<VectorField>);

type VectorField = dyn Fn([f32; 3], f64) -> [f32; 3] + Send + Sync;

impl CustomField {
    /// The field `vectors(position, time)`. A component that is not finite counts as 0.
    pub fn new(vectors: impl Fn([f32; 3], f64) -> [f32; 3] + Send + Sync + 'static) -> Self {
        Self(Arc::new(vectors))
    }
}

impl fmt::Debug for CustomField {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("CustomField")
    }
}

impl PartialEq for CustomField {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Vectors of a force: accelerations \[m/s²\] or velocities \[m/s\], according to [`Drive`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ForceField {
    /// The same everywhere.
    Wind([f32; 3]),
    /// Vectors that a program computes.
    Custom(CustomField),
    /// Towards a point, s (1 − r/R)ⁿ within its radius R; away from it where s is negative.
    Point {
        /// The point \[m\].
        center: [f32; 3],
        /// Radius R of the force \[m\].
        radius: f32,
        /// Exponent n of the falloff: 0 constant, 1 linear.
        falloff: u32,
        /// Size s at the point.
        strength: f32,
    },
    /// Around an axis, counter-clockwise when seen against it: Kaufmann's vortex (1962), 2 s (r/R) / (1 +
    /// (r/R)²).
    Vortex {
        /// A point of the axis \[m\].
        center: [f32; 3],
        /// Unit vector along the axis.
        axis: [f32; 3],
        /// Distance R of the maximum from the axis \[m\].
        radius: f32,
        /// Size s of the maximum.
        strength: f32,
    },
}

/// Effect of a force's vectors on the air.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Drive {
    /// Acceleration of the air \[m/s²\].
    Accelerate,
    /// Target velocity of the air \[m/s\]; the difference decays as exp(−rate · t), in cells that the force covers in part at that part of
    /// the rate. A vortex changes only the motion around its axis.
    Approach {
        /// Rate of approach \[1/s\].
        rate: f32,
    },
}

/// Target of a force: air or smoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActsOn {
    /// All air equally.
    Air,
    /// The smoke: an acceleration is per unit of the three densities together; a target velocity acts fully
    /// from a density of 1 on.
    Smoke,
}

/// An external force.
#[derive(Clone, Debug, PartialEq)]
pub struct Force {
    /// Its vectors.
    pub field: ForceField,
    /// Effect of the vectors.
    pub drive: Drive,
    /// Air or smoke.
    pub acts_on: ActsOn,
    /// Region in which it acts; everywhere if absent.
    pub within: Option<Region>,
    /// First instant at which it acts \[s\].
    pub start: f32,
    /// Last instant at which it acts \[s\]; infinite: for ever.
    pub stop: f32,
}

impl Force {
    /// Makes a force that accelerates all air for ever.
    pub fn new(field: ForceField) -> Self {
        Self {
            field,
            drive: Drive::Accelerate,
            acts_on: ActsOn::Air,
            within: None,
            start: 0.0,
            stop: f32::INFINITY,
        }
    }

    /// Makes a force that accelerates all air by `vectors(position, time)` \[m/s²\], see
    /// [`CustomField::new`].
    pub fn custom(vectors: impl Fn([f32; 3], f64) -> [f32; 3] + Send + Sync + 'static) -> Self {
        Self::new(ForceField::Custom(CustomField::new(vectors)))
    }

    /// The first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidValue> {
        let numbers = match &self.field {
            ForceField::Wind(vector) => vector.to_vec(),
            ForceField::Custom(_) => vec![],
            ForceField::Point { center, radius, strength, .. } => {
                [&center[..], &[*radius, *strength]].concat()
            }
            ForceField::Vortex { center, axis, radius, strength } => {
                [&center[..], &axis[..], &[*radius, *strength]].concat()
            }
        };
        let rate = if let Drive::Approach { rate } = self.drive { rate } else { 0.0 };
        let within = |x: &f32| InvalidValue::unless_within("force", "number", *x, [-1e6, 1e6]);
        let radius = match self.field {
            ForceField::Wind(_) | ForceField::Custom(_) => 1.0,
            ForceField::Point { radius, .. } | ForceField::Vortex { radius, .. } => radius,
        };
        let falloff = if let ForceField::Point { falloff, .. } = self.field { falloff as f32 } else { 0.0 };
        let axis = if let ForceField::Vortex { axis, .. } = self.field { Some(axis) } else { None };
        numbers
            .iter()
            .find_map(within)
            .or_else(|| InvalidValue::unless_positive("force", "radius", radius, " m"))
            .or_else(|| InvalidValue::unless_within("force", "falloff", falloff, [0.0, MOST_FALLOFF]))
            .or_else(|| axis.and_then(|axis| InvalidValue::unless_unit_axis("force", axis)))
            .or_else(|| InvalidValue::unless_within("force", "rate", rate, [0.0, 1e6]))
            .or_else(|| InvalidValue::unless_interval("force", self.start, self.stop))
            .or_else(|| self.within.as_ref().and_then(Region::problem))
    }

    /// Greatest target velocity of the force \[m/s\], 0 if unknown.
    fn speed(&self) -> f32 {
        match (&self.field, self.drive) {
            (_, Drive::Accelerate) | (ForceField::Custom(_), _) => 0.0,
            (ForceField::Wind(v), _) => v.iter().fold(0.0, |a: f32, b| a.max(b.abs())),
            (ForceField::Point { strength, .. } | ForceField::Vortex { strength, .. }, _) => strength.abs(),
        }
    }
}

/// Greatest exponent of the falloff of a point.
const MOST_FALLOFF: f32 = 1e6;

/// Faces of one batch.
const RUN: usize = 256;

/// The external forces of a box.
pub struct External {
    grid: Grid,
    list: Vec<Force>,
    placed: Vec<Placed>,
}

impl External {
    /// Makes an empty list for the box of `grid`.
    pub fn new(grid: Grid) -> Self {
        Self { grid, list: vec![], placed: vec![] }
    }

    /// The forces.
    pub fn list(&self) -> &[Force] {
        &self.list
    }

    /// Replaces the forces.
    pub fn set(&mut self, list: Vec<Force>) {
        self.placed = list.iter().map(|force| Placed::new(&self.grid, force)).collect();
        self.list = list;
    }

    /// Greatest target velocity of the forces between `time` and `time + dt` \[m/s\].
    pub fn speed(&self, time: f64, dt: f32) -> f32 {
        let acts = |force: &&Force| working(force.start, force.stop, time, dt).1 > 0.0;
        self.list.iter().filter(acts).map(Force::speed).fold(0.0, f32::max)
    }

    /// Whether a force accelerates the air.
    pub fn accelerates(&self) -> bool {
        self.list.iter().any(|force| is_acceleration(force.drive))
    }

    /// Whether a force lets the air approach a velocity.
    pub fn relaxes(&self) -> bool {
        self.list.iter().any(|force| is_approach(force.drive))
    }

    /// Applies the accelerations to `velocity` between `time` and `time + dt`. Each contributes the share
    /// `left` of its impulse; friction takes the rest. No component exceeds `limit` \[m/s\].
    pub fn accelerate(
        &self,
        time: f64,
        dt: f32,
        [left, limit]: [f32; 2],
        scalars: &[[f32; 4]],
        velocity: &mut Faces,
    ) {
        for (component, field) in velocity.iter_mut().enumerate() {
            let field: &mut [[f32; 1]] = bytemuck::cast_slice_mut(field);
            self.accelerate_component(component, (time, dt), [left, limit], scalars, (field, 0));
        }
    }

    /// As [`accelerate`](Self::accelerate), for one component of the velocity, which is value `c` of the N at each position of a field.
    pub fn accelerate_component<const N: usize>(
        &self,
        component: usize,
        (time, dt): (f64, f32),
        [left, limit]: [f32; 2],
        scalars: &[[f32; 4]],
        (field, c): (&mut [[f32; N]], usize),
    ) {
        for pass in self.passes(is_acceleration, component, (time, dt)) {
            let dt = left * pass.dt;
            row_passes::rows(self.grid.layout, field, pass.ranges(), |j, k, row| {
                let all = pass.faces([j, k]);
                for from in all.clone().step_by(RUN) {
                    let faces = &mut row[GHOST..][from..(from + RUN).min(all.end)];
                    let batch = pass.batch([from, j as usize, k as usize], scalars, faces.len());
                    for (n, u) in faces.iter_mut().enumerate() {
                        u[c] = (u[c] + dt * batch.weight[n] * batch.vector[n]).clamp(-limit, limit);
                    }
                }
            });
        }
    }

    /// Lets `velocity` approach the targets of the forces that have one, between `time` and `time + dt`.
    /// `before` is the velocity before friction and accelerations, which `by` describes.
    pub fn relax(
        &self,
        (time, dt): (f64, f32),
        by: &Accelerated,
        scalars: &[[f32; 4]],
        before: [&[f32]; 3],
        velocity: &mut Faces,
    ) {
        for (component, (field, before)) in velocity.iter_mut().zip(before).enumerate() {
            let ranges = self.passes(is_approach, component, (time, dt)).map(|pass| pass.ranges());
            let join = |a: [isize; 2], b: [isize; 2]| [a[0].min(b[0]), a[1].max(b[1])];
            let Some(ranges) = ranges.reduce(|a, b| [0, 1].map(|i| join(a[i], b[i]))) else { return };
            let (layout, count) = (self.grid.layout, self.grid.layout.dims.nx + usize::from(component == 0));
            row_passes::rows(layout, field, ranges, |j, k, row| {
                let before = &before[layout.at(0, j, k)..][..count];
                for from in (0..count).step_by(RUN) {
                    let range = from..(from + RUN).min(count);
                    let mut pull = Pull { rate: [0.0; RUN], target: [0.0; RUN] };
                    for pass in self.passes(is_approach, component, (time, dt)) {
                        pass.pull([j, k], range.clone(), scalars, &mut pull);
                    }
                    by.relax(&pull, &before[range.clone()], &mut row[GHOST..][range]);
                }
            });
        }
    }

    /// Passes of the forces of some kind that act on a component within a time.
    fn passes(
        &self,
        is_kind: fn(Drive) -> bool,
        component: usize,
        (time, dt): (f64, f32),
    ) -> impl Iterator<Item = Pass<'_>> {
        let forces = self.list.iter().zip(&self.placed).filter(move |(force, _)| is_kind(force.drive));
        forces.filter_map(move |(force, placed)| {
            let (from, acts) = working(force.start, force.stop, time, dt);
            let time = from + 0.5 * f64::from(acts);
            (acts > 0.0).then_some(Pass { grid: &self.grid, force, placed, component, time, dt: acts })
        })
    }
}

fn is_acceleration(drive: Drive) -> bool {
    matches!(drive, Drive::Accelerate)
}

fn is_approach(drive: Drive) -> bool {
    !is_acceleration(drive)
}

/// Friction and accelerations of a step.
#[derive(Clone, Copy, Debug)]
pub struct Accelerated {
    /// Rate of friction times the length of the step.
    pub friction: f32,
    /// Its decay factor.
    pub decay: f32,
    /// Share of the impulse of the accelerations that friction has left.
    pub left: f32,
    /// Whether these are the second half of the accelerations. The first half acted before the advection; the
    /// second half acts undamped.
    pub is_second_half: bool,
    /// Limit of velocity components \[m/s\].
    pub limit: f32,
}

/// Approach of faces to the targets of all forces.
struct Pull {
    /// Sum of the rates times the times for which they act.
    rate: [f32; RUN],
    /// Sum of the same times the targets \[m/s\].
    target: [f32; RUN],
}

impl Accelerated {
    /// With x = Δt (d + Σ r) and the impulse b of the accelerations, u = e⁻ˣ u₀ + (1 − e⁻ˣ)/x (b + Δt Σ r U); the second half of b is not
    /// damped. In `f64`: differences of velocities at the limit are finite.
    fn relax(&self, pull: &Pull, before: &[f32], velocity: &mut [f32]) {
        let [decay, left, limit] = [self.decay, self.left, self.limit].map(f64::from);
        let (mut last, mut kept, mut mean) = (f32::NAN, 1.0, 1.0);
        for (n, (before, u)) in before.iter().zip(velocity).enumerate().filter(|(n, _)| pull.rate[*n] > 0.0) {
            if pull.rate[n] != last {
                last = pull.rate[n];
                let x = f64::from(self.friction + last).max(-LARGEST_GROWTH);
                (kept, mean) = ((-x).exp(), decayed_time(x, 1.0));
            }
            let (before, target) = (f64::from(*before), f64::from(pull.target[n]));
            let impulse = f64::from(*u) - decay * before;
            let accelerated = if self.is_second_half { impulse } else { mean * impulse / left };
            *u = (kept * before + mean * target + accelerated).clamp(-limit, limit) as f32;
        }
    }
}

/// Logarithm of the largest growth by negative friction in a step.
const LARGEST_GROWTH: f64 = 69.0;

/// A force with precomputed weights and distances.
struct Placed {
    within: Option<[Cover; 3]>,
    /// Distances from the centre along each axis \[m\]: of faces from the first on, and of cells from the one
    /// before the first on. Across periodic sides the shorter distance.
    faces: [Vec<f32>; 3],
    cells: [Vec<f32>; 3],
    /// Across periodic sides: axis × (place of another image of the centre of a vortex − the centre) \[m\].
    images: Vec<[f32; 3]>,
}

impl Placed {
    fn new(grid: &Grid, force: &Force) -> Self {
        let center = match force.field {
            ForceField::Wind(_) | ForceField::Custom(_) => [0.0; 3],
            ForceField::Point { center, .. } | ForceField::Vortex { center, .. } => center,
        };
        let (n, corner) = (grid.layout.dims.array(), grid.corner());
        let table = |a: usize, offset: f32, count: usize| -> Vec<f32> {
            let length = n[a] as f32 * grid.h;
            let apart = (0..count).map(|i| (i as f32 + offset) * grid.h - (center[a] - corner[a]));
            match grid.periodic[a] {
                true => apart.map(|d| d - length * (d / length).round()).collect(),
                false => apart.collect(),
            }
        };
        Self {
            within: force.within.as_ref().map(|region| Cover::faces(grid, region)),
            faces: [0, 1, 2].map(|a| table(a, 0.0, n[a] + 1)),
            cells: [0, 1, 2].map(|a| table(a, -0.5, n[a] + 2)),
            images: images(grid, &force.field),
        }
    }
}

/// Images of the axis of a vortex; see [`Placed::images`]. None are needed for an axis along the grid: there
/// the nearest image of the centre also has the nearest image of the axis.
fn images(grid: &Grid, field: &ForceField) -> Vec<[f32; 3]> {
    let ForceField::Vortex { axis, .. } = *field else { return vec![] };
    if axis.iter().filter(|&&x| x != 0.0).count() < 2 {
        return vec![];
    }
    let n = grid.layout.dims.array();
    let length = [0, 1, 2].map(|a| if grid.periodic[a] { n[a] as f32 * grid.h } else { 0.0 });
    let place = |image: usize| [image % 3, image / 3 % 3, image / 9].map(|x| x as f32 - 1.0);
    let places = (0..27).map(place).map(|image| [0, 1, 2].map(|a| image[a] * length[a]));
    let mut found: Vec<[f32; 3]> = places.map(|place| cross(axis, place)).collect();
    found.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    found.dedup();
    found.retain(|image| *image != [0.0; 3]);
    found
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A batch of faces of a row.
struct Batch {
    /// Weight of the force on each face.
    weight: [f32; RUN],
    /// Component of the force.
    vector: [f32; RUN],
    /// Share of the component that the force changes.
    share: [f32; RUN],
}

/// One force on the faces of one component.
struct Pass<'a> {
    grid: &'a Grid,
    force: &'a Force,
    placed: &'a Placed,
    component: usize,
    /// Middle of the time in which it acts \[s\].
    time: f64,
    /// Duration for which it acts \[s\].
    dt: f32,
}

impl Pass<'_> {
    fn cover(&self) -> Option<&Cover> {
        self.placed.within.as_ref().map(|within| &within[self.component])
    }

    /// Rows and planes of the faces on which it acts.
    fn ranges(&self) -> [[isize; 2]; 2] {
        let n = self.grid.layout.dims.array();
        let end = |a: usize| (n[a] + usize::from(a == self.component)) as isize;
        self.cover().map_or([[0, end(1)], [0, end(2)]], |cover| [cover.js, cover.ks])
    }

    /// The faces of row [j, k] on which it acts.
    fn faces(&self, [j, k]: [isize; 2]) -> Range<usize> {
        let count = self.grid.layout.dims.nx + usize::from(self.component == 0);
        self.cover().map_or(0..count, |cover| {
            let run = cover.row(j, k);
            run.first..run.first + run.weights.len()
        })
    }

    /// Computes weights and vectors of `count` faces from `at` = (i, j, k) on.
    fn batch(&self, at: [usize; 3], scalars: &[[f32; 4]], count: usize) -> Batch {
        let mut batch = Batch { weight: [1.0; RUN], vector: [0.0; RUN], share: [1.0; RUN] };
        if let Some(cover) = self.cover() {
            let run = cover.row(at[1] as isize, at[2] as isize);
            batch.weight[..count].copy_from_slice(&run.weights[at[0] - run.first..][..count]);
        }
        if self.force.acts_on == ActsOn::Smoke {
            self.weigh(at, scalars, &mut batch.weight[..count]);
        }
        self.vectors(at, &mut batch, count);
        batch
    }

    /// Adds its pull on the faces `range` of row [j, k].
    fn pull(&self, [j, k]: [isize; 2], range: Range<usize>, scalars: &[[f32; 4]], pull: &mut Pull) {
        let (Drive::Approach { rate }, [js, ks]) = (self.force.drive, self.ranges()) else { return };
        if !(js[0]..js[1]).contains(&j) || !(ks[0]..ks[1]).contains(&k) {
            return;
        }
        let faces = self.faces([j, k]);
        let (first, end) = (faces.start.max(range.start), faces.end.min(range.end));
        if first < end {
            let batch = self.batch([first, j as usize, k as usize], scalars, end - first);
            for n in 0..end - first {
                let rate = rate * self.dt * batch.weight[n] * batch.share[n];
                let to = first - range.start + n;
                pull.rate[to] += rate;
                pull.target[to] += rate * batch.vector[n];
            }
        }
    }

    /// Multiplies the weights by the smoke density at the faces.
    fn weigh(&self, at: [usize; 3], scalars: &[[f32; 4]], weights: &mut [f32]) {
        let stride = self.grid.layout.strides()[self.component];
        let high = self.grid.layout.at(at[0] as isize, at[1] as isize, at[2] as isize);
        let most = if self.force.drive == Drive::Accelerate { f32::INFINITY } else { 1.0 };
        let density = |[r, g, b, _]: [f32; 4]| r + g + b;
        for (n, weight) in weights.iter_mut().enumerate() {
            let mean = 0.5 * (density(scalars[high + n]) + density(scalars[high + n - stride]));
            *weight *= mean.clamp(0.0, most);
        }
    }

    fn vectors(&self, at: [usize; 3], batch: &mut Batch, count: usize) {
        match self.force.field {
            ForceField::Wind(vector) => batch.vector.fill(vector[self.component]),
            ForceField::Custom(CustomField(ref vectors)) => {
                self.custom(at, &**vectors, &mut batch.vector[..count]);
            }
            ForceField::Point { radius, falloff, strength, .. } => {
                self.attract(at, radius, falloff as i32, strength, &mut batch.vector[..count]);
            }
            ForceField::Vortex { axis, radius, strength, .. } => {
                self.swirl(at, axis, [radius, strength], batch, count);
            }
        }
    }

    fn custom(&self, at: [usize; 3], vectors: &VectorField, out: &mut [f32]) {
        let offset = [0, 1, 2].map(|axis| if axis == self.component { 0.0 } else { 0.5 });
        let corner = self.grid.corner();
        for (n, out) in out.iter_mut().enumerate() {
            let face = [at[0] + n, at[1], at[2]];
            let position =
                [0, 1, 2].map(|axis| (face[axis] as f32 + offset[axis]) * self.grid.h + corner[axis]);
            let component = vectors(position, self.time)[self.component];
            *out = if component.is_finite() { component } else { 0.0 };
        }
    }

    /// Force of a point: the drop of its potential from the lower to the upper cell of each face.
    fn attract(&self, at: [usize; 3], radius: f32, falloff: i32, strength: f32, out: &mut [f32]) {
        let cells = &self.placed.cells;
        let depth = strength * radius / (falloff + 1) as f32;
        let potential = |index: [usize; 3]| {
            let squared: f32 = (0..3).map(|a| cells[a][index[a]].powi(2)).sum();
            let inside = 1.0 - squared.sqrt() / radius;
            if inside > 0.0 { -depth * inside.powi(falloff + 1) } else { 0.0 }
        };
        for (n, out) in out.iter_mut().enumerate() {
            // The list of cells begins one before the first.
            let upper = [at[0] + n + 1, at[1] + 1, at[2] + 1];
            let mut lower = upper;
            lower[self.component] -= 1;
            *out = (potential(lower) - potential(upper)) / self.grid.h;
        }
    }

    fn swirl(
        &self,
        at: [usize; 3],
        axis: [f32; 3],
        [radius, strength]: [f32; 2],
        batch: &mut Batch,
        count: usize,
    ) {
        let Placed { faces, cells, images, .. } = self.placed;
        let apart = |a: usize, i: usize| if a == self.component { faces[a][i] } else { cells[a][i + 1] };
        let squared =
            |around: [f32; 3]| around[0] * around[0] + around[1] * around[1] + around[2] * around[2];
        let (c, [y, z]) = (self.component, [apart(1, at[1]), apart(2, at[2])]);
        for n in 0..count {
            let d = [apart(0, at[0] + n), y, z];
            let direct = cross(axis, d);
            let around = images.iter().fold(direct, |nearest, image| {
                let shifted = [0, 1, 2].map(|a| direct[a] - image[a]);
                if squared(shifted) < squared(nearest) { shifted } else { nearest }
            });
            let squared = squared(around);
            batch.vector[n] = 2.0 * strength * radius * around[c] / (radius * radius + squared);
            batch.share[n] = if squared > 0.0 { around[c] * around[c] / squared } else { 0.0 };
        }
    }
}
