//! Probes: fields and their products at a point, along a line, or averaged over a plane, a box or a side, what flows through
//! a plane, what a wall gives to the air, and the force on a solid and its heat, while a run goes on.

use thiserror::Error;

use crate::field::Field;
use crate::solver::Solver;

/// Quantities, place and times of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Name of its file.
    pub name: String,
    /// Quantities to measure.
    pub quantities: Vec<ProbeQuantity>,
    /// Where.
    pub place: ProbePlace,
    /// When.
    pub every: Every,
    /// The instant \[s\] from which on means over time are measured; none: the values of each instant.
    pub mean_from: Option<f32>,
}

/// Quantity of a probe.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ProbeQuantity {
    /// A field, or the product of several.
    Product(Vec<Field>),
    /// Flux through a plane \[m³/s\], along its axis.
    Flow,
    /// Heat that a side gives to the air, −κ ∂T/∂n with n into the box \[K m/s\]; see [`Solver::side_heat`].
    HeatFlux,
    /// Heat that a solid gives to the air \[K m³/s\]; see [`Solver::solid_heat`].
    HeatFlow,
    /// Stress of the air on a side over the air's density, ν ∂u/∂n with n into the box \[m²/s²\], along x, y and z; see
    /// [`Solver::side_shear`].
    Shear,
    /// The force on a solid \[m⁴/s²\], the part of the pressure in it, and the torque \[m⁵/s²\]; see
    /// [`Solver::solid_forces`] and [`Solver::solid_torques`].
    Force,
}

/// Place at which a probe measures.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ProbePlace {
    /// At one point \[m\].
    Point([f32; 3]),
    /// Evenly spaced points from one end to the other, both included.
    Line {
        /// One end \[m\].
        from: [f32; 3],
        /// The other end \[m\].
        to: [f32; 3],
        /// Number of points.
        points: u32,
    },
    /// The mean over the plane across `axis` at coordinate `at` \[m\].
    Plane {
        /// 0, 1, 2 for x, y, z.
        axis: usize,
        /// Coordinate of the plane on the axis \[m\].
        at: f32,
    },
    /// The mean over the cells whose centres lie in a box.
    Box {
        /// Its lower corner \[m\].
        low: [f32; 3],
        /// Its upper corner \[m\].
        high: [f32; 3],
    },
    /// The mean over a side of the domain.
    Side {
        /// 0, 1, 2 for x, y, z.
        axis: usize,
        /// 0 where the coordinate is least, 1 where it is greatest.
        end: usize,
    },
    /// A solid of this number.
    Solid(usize),
}

impl ProbePlace {
    /// Coordinates that it is given by \[m\].
    fn coordinates(self) -> Vec<f32> {
        match self {
            Self::Point(p) => p.to_vec(),
            Self::Line { from, to, .. } | Self::Box { low: from, high: to } => [from, to].concat(),
            Self::Plane { at, .. } => vec![at],
            Self::Side { .. } | Self::Solid(_) => vec![],
        }
    }
}

/// Why a probe cannot measure.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// A quantity that there is not at the place of the probe.
    #[error("{place:?} has no {quantity:?}; {cure}")]
    NoQuantity {
        /// The quantity.
        quantity: ProbeQuantity,
        /// The place.
        place: ProbePlace,
        /// Where it is measured, or what is measured there.
        cure: &'static str,
    },
    /// An axis other than 0, 1, 2, or an end other than 0 and 1.
    #[error("{0:?} is no place; an axis is 0, 1 or 2 for x, y or z, an end is 0 or 1")]
    NoAxis(ProbePlace),
    /// A solid that the solver does not have.
    #[error("there is no solid {solid}; the solver has {solids}, counted from 0")]
    NoSolid {
        /// Its number.
        solid: usize,
        /// Number of solids.
        solids: usize,
    },
    /// A line of fewer than two points.
    #[error("a line of {0} points has no ends; take 2 points or more")]
    FewPoints(u32),
    /// A place with a coordinate that is NaN or infinite.
    #[error("{0:?} is nowhere; its coordinates must be finite")]
    NotFinite(ProbePlace),
}

/// Instants at which a probe measures, beside the start.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Every {
    /// After each frame.
    Frame,
    /// After every so many steps.
    Steps(u32),
    /// After the step in which another span of this length is full \[s\].
    Seconds(f32),
}

impl ProbeQuantity {
    /// Where it is measured instead, or what is measured there instead, unless it is measured at `place`.
    fn cure(&self, place: ProbePlace) -> Option<&'static str> {
        let (cure, is_measured) = match (self, place) {
            (Self::Product(_), ProbePlace::Solid(_)) => ("of a solid there are Force and HeatFlow", false),
            (Self::Product(_), _) => ("", true),
            (Self::Flow, place) => {
                ("it goes through a ProbePlace::Plane", matches!(place, ProbePlace::Plane { .. }))
            }
            (Self::HeatFlux | Self::Shear, place) => {
                ("it is that of a ProbePlace::Side", matches!(place, ProbePlace::Side { .. }))
            }
            (Self::HeatFlow | Self::Force, place) => {
                ("it is that of a ProbePlace::Solid", matches!(place, ProbePlace::Solid(_)))
            }
        };
        (!is_measured).then_some(cure)
    }

    /// The names of its columns.
    fn columns(&self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Product(fields) => {
                return vec![fields.iter().map(|f| f.name()).collect::<Vec<_>>().join("*")];
            }
            Self::Flow => &["flow"],
            Self::HeatFlux => &["heat_flux"],
            Self::HeatFlow => &["heat_flow"],
            Self::Shear => &["shear_x", "shear_y", "shear_z"],
            Self::Force => &["fx", "fy", "fz", "px", "py", "pz", "tx", "ty", "tz"],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }
}

impl Probe {
    /// A probe of `fields` that measures as often as its place suggests: lines after each frame, others after each step.
    pub fn new(name: &str, fields: &[Field], place: ProbePlace) -> Self {
        let quantities = match place {
            ProbePlace::Solid(_) => vec![ProbeQuantity::Force],
            _ => fields.iter().map(|field| ProbeQuantity::Product(vec![*field])).collect(),
        };
        Self { name: name.into(), quantities, place, every: Every::usual(place), mean_from: None }
    }

    /// The names of the columns of its table.
    pub fn columns(&self) -> Vec<String> {
        let place: &[&str] = if self.is_line() { &["time", "x", "y", "z"] } else { &["time"] };
        let place = place.iter().map(|name| (*name).to_owned());
        place.chain(self.quantities.iter().flat_map(ProbeQuantity::columns)).collect()
    }

    /// Whether it reads `field`.
    pub fn reads(&self, field: Field) -> bool {
        let reads =
            |quantity: &ProbeQuantity| matches!(quantity, ProbeQuantity::Product(of) if of.contains(&field));
        self.quantities.iter().any(reads)
    }

    /// Whether it measures at more than one point at a time.
    pub fn is_line(&self) -> bool {
        matches!(self.place, ProbePlace::Line { .. })
    }

    /// Whether it measures now: at the start, and after a step as [`every`](Self::every) says; `is_frame` says whether a frame
    /// has come to its end.
    pub fn is_due(&self, solver: &Solver, is_frame: bool) -> bool {
        let stats = solver.stats();
        match self.every {
            _ if stats.step == 0 => true,
            Every::Frame => is_frame,
            Every::Steps(count) => stats.step.is_multiple_of(u64::from(count.max(1))),
            Every::Seconds(span) => {
                // Rounding must not put off what is due now.
                let spans = |time: f64| (time / f64::from(span) + 1e-6).floor();
                spans(stats.time) > spans(stats.time - f64::from(stats.dt))
            }
        }
    }

    /// The span along z in which it reads fields \[m\]; `None` where it reads none or all of the box.
    pub fn depth(&self, solver: &Solver) -> Option<[f32; 2]> {
        let low = solver.config().corner()[2];
        let high = low + solver.config().dims.nz as f32 * solver.config().h;
        match self.place {
            ProbePlace::Point([_, _, z]) | ProbePlace::Plane { axis: 2, at: z } => Some([z, z]),
            ProbePlace::Line { from, to, .. } => Some([from[2].min(to[2]), from[2].max(to[2])]),
            ProbePlace::Box { low, high } => Some([low[2], high[2]]),
            ProbePlace::Side { axis: 2, end } => Some([[low, high][end]; 2]),
            _ => None,
        }
    }

    /// Fails if it cannot measure in `solver`.
    ///
    /// # Errors
    /// The reason.
    pub fn check(&self, solver: &Solver) -> Result<(), ProbeError> {
        let (place, solids) = (self.place, solver.solids().len());
        match place {
            ProbePlace::Plane { axis: 3.., .. }
            | ProbePlace::Side { axis: 3.., .. }
            | ProbePlace::Side { end: 2.., .. } => return Err(ProbeError::NoAxis(place)),
            ProbePlace::Solid(solid) if solid >= solids => return Err(ProbeError::NoSolid { solid, solids }),
            ProbePlace::Line { points: points @ ..2, .. } => return Err(ProbeError::FewPoints(points)),
            _ if place.coordinates().iter().any(|x| !x.is_finite()) => {
                return Err(ProbeError::NotFinite(place));
            }
            _ => {}
        }
        let refused = |quantity: &ProbeQuantity| {
            let cure = quantity.cure(place)?;
            Some(ProbeError::NoQuantity { quantity: quantity.clone(), place, cure })
        };
        self.quantities.iter().find_map(refused).map_or(Ok(()), Err)
    }

    /// Measures now: one reading, or one for each point of a line.
    ///
    /// # Errors
    /// As of [`check`](Self::check): those of a checked scene never fail.
    pub fn measure(&self, solver: &Solver) -> Result<Vec<Reading>, ProbeError> {
        self.check(solver)?;
        Ok(self.readings(solver))
    }

    /// As [`measure`](Self::measure), for a probe that has been checked.
    pub(crate) fn readings(&self, solver: &Solver) -> Vec<Reading> {
        let read = |at: Option<[f32; 3]>| {
            let values = self.quantities.iter().flat_map(|quantity| self.read(quantity, at, solver));
            Reading { at, values: values.collect() }
        };
        match self.place {
            ProbePlace::Line { from, to, points } => {
                let at = |n: u32| {
                    let part = n as f32 / (points - 1) as f32;
                    std::array::from_fn(|axis| from[axis] + part * (to[axis] - from[axis]))
                };
                (0..points).map(|n| read(Some(at(n)))).collect()
            }
            _ => vec![read(None)],
        }
    }

    /// Whether the box has moved away from where it reads: from the point `at` of a line, or from its place.
    fn is_beyond_box(&self, at: Option<[f32; 3]>, solver: &Solver) -> bool {
        let config = solver.config();
        let beyond = |axis: usize, from: f32, to: f32| {
            let low = config.corner()[axis];
            to < low || from > low + config.dims.array()[axis] as f32 * config.h
        };
        config.follow.on
            && match (self.place, at) {
                (_, Some(p)) | (ProbePlace::Point(p), _) => (0..3).any(|a| beyond(a, p[a], p[a])),
                (ProbePlace::Plane { axis, at }, _) => beyond(axis, at, at),
                (ProbePlace::Box { low, high }, _) => (0..3).any(|a| beyond(a, low[a], high[a])),
                _ => false,
            }
    }

    /// The values of one quantity, at the point `at` of a line or where the probe is.
    fn read(&self, quantity: &ProbeQuantity, at: Option<[f32; 3]>, solver: &Solver) -> Vec<f32> {
        if self.is_beyond_box(at, solver) {
            return vec![f32::NAN];
        }
        let sample = |fields: &[Field], p| fields.iter().map(|field| field.sample(solver, p)).product();
        match (quantity, self.place, at) {
            (ProbeQuantity::Product(fields), ProbePlace::Point(p), _)
            | (ProbeQuantity::Product(fields), _, Some(p)) => {
                vec![sample(fields, p)]
            }
            (ProbeQuantity::Product(fields), ProbePlace::Plane { axis, at }, _) => {
                vec![plane_mean(solver, fields, axis, at)]
            }
            (ProbeQuantity::Product(fields), ProbePlace::Box { low, high }, _) => {
                let corner = solver.config().corner();
                let local = |p: [f32; 3]| [0, 1, 2].map(|a| p[a] - corner[a]);
                let value = |p: [f32; 3]| sample(fields, [0, 1, 2].map(|a| p[a] + corner[a]));
                vec![box_mean(finest(solver, fields), [local(low), local(high)], value)]
            }
            (ProbeQuantity::Product(fields), ProbePlace::Side { axis, end }, _) => {
                let length = solver.config().dims.array()[axis] as f32 * solver.config().h;
                let at = solver.config().corner()[axis] + [0.0, length][end];
                vec![plane_mean(solver, fields, axis, at)]
            }
            (ProbeQuantity::Flow, ProbePlace::Plane { axis, at }, _) => {
                let (dims, h) = (solver.config().dims, solver.config().h);
                let across = (dims.cells() / dims.array()[axis]) as f32 * h * h;
                vec![across * plane_mean(solver, &[Field::STORED[axis]], axis, at)]
            }
            (ProbeQuantity::HeatFlux, ProbePlace::Side { axis, end }, _) => {
                // Before the first step only the slope is known.
                let slope = || slope_at_side(solver, Field::Temperature, axis, end);
                let kappa = solver.params().conduction;
                vec![solver.side_heat().map_or_else(|| -kappa * slope(), |heat| heat[axis][end] as f32)]
            }
            (ProbeQuantity::Shear, ProbePlace::Side { axis, end }, _) => {
                let (shear, nu) = (solver.side_shear(), solver.params().viscosity);
                let along = |c: usize| match shear {
                    _ if c == axis => 0.0,
                    Some(shear) => shear[axis][end][c] as f32,
                    None => nu * slope_at_side(solver, Field::STORED[c], axis, end),
                };
                vec![along(0), along(1), along(2)]
            }
            (ProbeQuantity::HeatFlow, ProbePlace::Solid(solid), _) => {
                vec![solver.solid_heat().get(solid).copied().unwrap_or_default() as f32]
            }
            (ProbeQuantity::Force, ProbePlace::Solid(solid), _) => {
                let of = |each: Vec<[f64; 3]>| each.get(solid).copied().unwrap_or_default();
                let parts = [solver.solid_forces(), solver.solid_pressures(), solver.solid_torques()].map(of);
                parts.as_flattened().iter().map(|x| *x as f32).collect()
            }
            _ => unreachable!("{quantity:?} at {:?} is refused before", self.place),
        }
    }
}

impl Every {
    /// As often as a place is measured that says nothing else.
    pub fn usual(place: ProbePlace) -> Self {
        if matches!(place, ProbePlace::Line { .. }) { Self::Frame } else { Self::Steps(1) }
    }
}

/// A reading at one point, or over the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The point \[m\], if there are several.
    pub at: Option<[f32; 3]>,
    /// One value for each column of the probe.
    pub values: Vec<f32>,
}

/// Numbers of cells and their edge \[m\] for means of `fields`: those of the smoke if one of them is of smoke.
fn finest(solver: &Solver, fields: &[Field]) -> ([usize; 3], f32) {
    let field = fields.iter().find(|field| field.is_of_smoke()).or(fields.first());
    let (dims, h) = field.map_or((solver.config().dims, solver.config().h), |f| f.grid(solver.config()));
    (dims.array(), h)
}

/// The mean of a product of `fields` over the cells' worth of points of a plane, in an order that never changes.
///
/// A velocity across the plane counts as the mean over its faces, what solids take of them included, so that times the area it
/// is what flows through.
fn plane_mean(solver: &Solver, fields: &[Field], axis: usize, at: f32) -> f32 {
    let ((dims, h), corner) = (finest(solver, fields), solver.config().corner());
    let [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
    let mut sum = 0.0_f64;
    for n in 0..dims[a] {
        for m in 0..dims[b] {
            let mut p = [at; 3];
            p[a] = (n as f32 + 0.5) * h + corner[a];
            p[b] = (m as f32 + 0.5) * h + corner[b];
            let mut cell = [0; 3];
            let of_air = |n: usize| ((n as f32 + 0.5) * h / solver.config().h) as usize;
            (cell[a], cell[b]) = (of_air(n), of_air(m));
            let value = |field: &Field| match field.face_axis() == Some(axis) {
                true => through(solver, axis, cell, at),
                false => field.sample(solver, p),
            };
            sum += f64::from(fields.iter().map(value).product::<f32>());
        }
    }
    (sum / (dims[a] * dims[b]) as f64) as f32
}

/// The mean over the cells with centres in a box, or over the one cell that holds its middle where there is none.
fn box_mean(
    (dims, h): ([usize; 3], f32),
    [low, high]: [[f32; 3]; 2],
    value: impl Fn([f32; 3]) -> f32,
) -> f32 {
    let range = [0, 1, 2].map(|axis| {
        let index = |x: f32| ((x / h - 0.5).ceil().max(0.0) as usize).min(dims[axis]);
        let (from, to) = (index(low[axis]), index(high[axis]));
        let middle = (0.5 * (low[axis] + high[axis]) / h).max(0.0) as usize;
        if from < to { from..to } else { middle.min(dims[axis] - 1)..middle.min(dims[axis] - 1) + 1 }
    });
    let mut sum = 0.0_f64;
    for k in range[2].clone() {
        for j in range[1].clone() {
            for i in range[0].clone() {
                sum += f64::from(value([i, j, k].map(|n| (n as f32 + 0.5) * h)));
            }
        }
    }
    (sum / range.iter().map(|range| range.len()).product::<usize>() as f64) as f32
}

/// The mean over a side of ∂q/∂n, n into the box, of a field on the faces along the side or at centres, from the parabola
/// through the value at the wall and the two before it; through the one before it where an axis has one cell.
fn slope_at_side(solver: &Solver, field: Field, axis: usize, end: usize) -> f32 {
    let (layout, (_, h)) = (field.layout(solver), field.grid(solver.config()));
    let dims = layout.dims.array().map(|n| n as isize);
    let [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
    let value = |depth: isize, n: isize, m: isize| {
        let mut at = [0; 3];
        at[axis] = if end == 0 { depth } else { dims[axis] - 1 - depth };
        (at[a], at[b]) = (n, m);
        let at = layout.at(at[0], at[1], at[2]);
        // A velocity along the side is the mean over the faces of a cell.
        let next = field.face_axis().map_or(at, |along| at + layout.strides()[along]);
        0.5 * (f64::from(field.at(solver, at)) + f64::from(field.at(solver, next)))
    };
    let mut sum = 0.0;
    for n in 0..dims[a] {
        for m in 0..dims[b] {
            let first = value(0, n, m);
            let wall = 0.5 * (value(-1, n, m) + first);
            sum += match dims[axis] {
                1 => 2.0 * (first - wall),
                _ => (9.0 * first - 8.0 * wall - value(1, n, m)) / 3.0,
            };
        }
    }
    (sum / (dims[a] * dims[b]) as f64 / f64::from(h)) as f32
}

/// The mean velocity along `axis` through a column of cells at the coordinate `at` \[m\]; the column's index along the axis is
/// left out of account.
fn through(solver: &Solver, axis: usize, column: [usize; 3], at: f32) -> f32 {
    let cells = solver.config().dims.array()[axis];
    let q = ((at - solver.config().corner()[axis]) / solver.config().h).clamp(0.0, cells as f32);
    let below = (q as usize).min(cells - 1);
    let part = q - below as f32;
    let face = |index: usize| {
        let mut face = column;
        face[axis] = index;
        solver.mean_over_face(axis, face)
    };
    (1.0 - part) * face(below) + part * face(below + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::solver::{
        BoundaryCondition, Config, Force, ForceField, Inflow, Integrator, Params, Profile, Shape, SideValues,
        Solid,
    };
    use std::sync::Arc;

    const H: f32 = 0.1;

    fn solver(sides: [[BoundaryCondition; 2]; 3], held: [[Option<f32>; 2]; 3]) -> Solver {
        let config = Config { sides, held, threads: 1, ..Config::new(Dims::new([6, 7, 8]).unwrap(), H) };
        let params = Params { viscosity: 0.3, conduction: 0.2, ..Params::default() };
        Solver::new(config, params, vec![]).unwrap()
    }

    fn read(solver: &Solver, quantity: ProbeQuantity, place: ProbePlace) -> Vec<f32> {
        let probe = Probe { quantities: vec![quantity], ..Probe::new("p", &[], place) };
        let mut readings = probe.measure(solver).unwrap();
        assert_eq!(probe.columns().len(), 1 + readings[0].values.len());
        readings.remove(0).values
    }

    fn assert_close(got: f32, want: f32, what: &str) {
        assert!((got - want).abs() < 1e-4, "{what}: {got}, not {want}");
    }

    #[test]
    fn products_are_averaged_and_a_plane_says_what_flows_through() {
        let mut solver = solver([[BoundaryCondition::Open; 2]; 3], Default::default());
        // u = z, red = x, temperature = 2 + y.
        solver.fill(|c, p| if c == 0 { p[2] } else { 0.0 }, |p| [p[0], 0.0, 0.0, 2.0 + p[1]]);
        let mean = |fields: &[Field], place| read(&solver, ProbeQuantity::Product(fields.to_vec()), place)[0];
        let plane = ProbePlace::Plane { axis: 0, at: 0.25 };
        assert_close(mean(&[Field::U, Field::Temperature], plane), 0.4 * 2.35, "u T over a plane");
        assert_close(mean(&[Field::U, Field::U], plane), 0.16 + 0.0525, "u u over a plane");
        let inside = ProbePlace::Box { low: [0.1, 0.2, 0.0], high: [0.4, 0.5, 0.8] };
        assert_close(mean(&[Field::Red, Field::Temperature], inside), 0.25 * 2.35, "red T over a box");
        let one = ProbePlace::Box { low: [0.31, 0.31, 0.31], high: [0.32, 0.32, 0.32] };
        assert_close(mean(&[Field::Red], one), 0.35, "the one cell that a small box lies in");
        let point = ProbePlace::Point([0.3, 0.2, 0.5]);
        assert_close(mean(&[Field::Red, Field::Temperature], point), 0.3 * 2.2, "at a point");
        assert_close(read(&solver, ProbeQuantity::Flow, plane)[0], 0.4 * 0.7 * 0.8, "flow");
    }

    #[test]
    fn the_speed_at_a_wall_is_that_of_the_wall() {
        let walls = [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::NoSlip([2.0, 0.0, 0.5])];
        let around = [BoundaryCondition::Periodic; 2];
        let mut solver = solver([around, walls, around], Default::default());
        solver.fill(|c, p| [2.0, 0.0, 0.5][c] * p[1] / 0.7, |_| [0.0; 4]);
        for (end, speed) in [0.0, 4.25_f32.sqrt()].into_iter().enumerate() {
            let side = ProbePlace::Side { axis: 1, end };
            assert_close(read(&solver, ProbeQuantity::Product(vec![Field::Speed]), side)[0], speed, "speed");
        }
    }

    #[test]
    fn nothing_is_read_where_the_box_no_longer_is() {
        let sides = [[BoundaryCondition::Open; 2]; 3];
        let mut config = Config { sides, threads: 1, ..Config::new(Dims::new([64, 16, 16]).unwrap(), H) };
        (config.follow.on, config.follow.margin) = (true, 4);
        let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
        solver.fill(|_, _| 0.0, |p| [f32::from(u8::from(p[0] > 5.0)), 0.0, 0.0, 0.0]);
        solver.step(0.01).unwrap();
        let low = solver.config().corner()[0];
        assert!(low > 1.0, "{low}");
        let red = |place| read(&solver, ProbeQuantity::Product(vec![Field::Red]), place)[0];
        for place in [
            ProbePlace::Point([low - 0.5, 0.8, 0.8]),
            ProbePlace::Plane { axis: 0, at: low - 0.5 },
            ProbePlace::Box { low: [0.0; 3], high: [low - 0.5, 1.0, 1.0] },
        ] {
            assert!(red(place).is_nan(), "{place:?}");
        }
        assert!(red(ProbePlace::Point([6.0, 0.8, 0.8])) > 0.9);
        assert!(red(ProbePlace::Box { low: [0.0; 3], high: [6.4, 1.6, 1.6] }) > 0.1);
    }

    #[test]
    fn a_wall_says_what_heat_and_what_force_crosses_it() {
        let plate = BoundaryCondition::NoSlip([1.0, 0.0, 0.0]);
        let around = [BoundaryCondition::Periodic; 2];
        let mut solver = solver([around, [plate; 2], around], [[None; 2], [Some(5.0), Some(1.0)], [None; 2]]);
        // Parabolas through the walls at 0 and 0.7 m, where u = 1.
        let u = |y: f32| 1.0 + y * (0.7 - y);
        let warmth = |y: f32| 5.0 - 4.0 * y / 0.7 + 3.0 * y * (0.7 - y);
        solver.fill(|c, p| if c == 0 { u(p[1]) } else { 0.0 }, |p| [0.0, 0.0, 0.0, warmth(p[1])]);
        let slope = -4.0 / 0.7;
        for (end, inwards) in [(0, 1.0), (1, -1.0)] {
            let at = |quantity| read(&solver, quantity, ProbePlace::Side { axis: 1, end });
            assert_close(at(ProbeQuantity::HeatFlux)[0], -0.2 * (inwards * slope + 2.1), "heat");
            let shear = at(ProbeQuantity::Shear);
            assert_close(shear[0], 0.3 * 0.7, "shear");
            assert_eq!(shear[1..], [0.0; 2]);
        }
    }

    #[test]
    fn a_probe_that_cannot_measure_says_why() {
        let solver = solver(Default::default(), Default::default());
        let (point, side) = (ProbePlace::Point([0.1; 3]), ProbePlace::Side { axis: 0, end: 0 });
        let line = |points| ProbePlace::Line { from: [0.0; 3], to: [0.5; 3], points };
        let red = || ProbeQuantity::Product(vec![Field::Red]);
        let wrong = [
            (ProbeQuantity::Flow, point, "goes through a ProbePlace::Plane"),
            (ProbeQuantity::Shear, line(5), "that of a ProbePlace::Side"),
            (ProbeQuantity::Force, side, "that of a ProbePlace::Solid"),
            (ProbeQuantity::Force, ProbePlace::Solid(0), "there is no solid 0; the solver has 0"),
            (red(), ProbePlace::Plane { axis: 3, at: 0.1 }, "an axis is 0, 1 or 2"),
            (red(), ProbePlace::Side { axis: 0, end: 2 }, "an end is 0 or 1"),
            (red(), line(1), "a line of 1 points"),
            (red(), line(0), "a line of 0 points"),
            (red(), ProbePlace::Point([0.1, f32::NAN, 0.1]), "must be finite"),
        ];
        for (quantity, place, reason) in wrong {
            let probe = Probe { quantities: vec![quantity], ..Probe::new("p", &[], place) };
            let error = probe.measure(&solver).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn probes_are_due_at_their_intervals() {
        let mut solver = solver(Default::default(), Default::default());
        let place = ProbePlace::Point([0.1; 3]);
        let of = |every| Probe { every, ..Probe::new("p", &[Field::U], place) };
        let probes = [Every::Steps(1), Every::Steps(3), Every::Seconds(0.25), Every::Frame].map(of);
        let mut due = [0; 4].map(|_| vec![]);
        for step in 0..=10 {
            for (due, probe) in due.iter_mut().zip(&probes) {
                due.extend(probe.is_due(&solver, step % 5 == 0).then_some(step));
            }
            solver.step(0.1).unwrap();
        }
        assert_eq!(due[0], (0..=10).collect::<Vec<_>>());
        assert_eq!(due[1..], [vec![0, 3, 6, 9], vec![0, 3, 5, 8, 10], vec![0, 5, 10]]);
    }

    const INTEGRATORS: [Integrator; 3] =
        [Integrator::Projection, Integrator::Trapezoid, Integrator::Reflection];

    /// Air without buoyancy, cooling and confinement.
    fn plain() -> Params {
        Params { vorticity: 0.0, heat_buoyancy: 0.0, cooling: 0.0, ..Params::default() }
    }

    fn wind(acceleration: [f32; 3]) -> Force {
        Force::new(ForceField::Wind(acceleration))
    }

    /// Between walls half the force on the air pulls at each. The shear was off by a third with the trapezoidal rule, by 30 % with
    /// reflection and by a factor of 2 with projection.
    #[test]
    fn the_shear_of_a_driven_flow_balances_the_force() {
        let around = [BoundaryCondition::Periodic; 2];
        let walls = [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::NoSlip([0.3, 0.0, -0.2])];
        for integrator in INTEGRATORS {
            for dt in [0.01, 0.04, 0.5] {
                let dims = Dims::new([4, 20, 1]).unwrap();
                let sides = [around, walls, around];
                let config = Config { sides, integrator, threads: 1, ..Config::new(dims, 0.02) };
                let params = Params { viscosity: 0.05, ..plain() };
                let mut solver = Solver::new(config, params, vec![]).unwrap();
                solver.set_forces(vec![wind([2.0, 0.0, 0.0])]).unwrap();
                while solver.stats().time < 8.0 {
                    solver.step(dt).unwrap();
                }
                for (end, of_lid) in [1.0, -1.0].into_iter().enumerate() {
                    let shear = read(&solver, ProbeQuantity::Shear, ProbePlace::Side { axis: 1, end });
                    let want = [0.4 + of_lid * 0.05 * 0.3 / 0.4, 0.0, of_lid * 0.05 * -0.2 / 0.4];
                    for (got, want) in shear.into_iter().zip(want) {
                        assert!(
                            (got - want).abs() < 1e-4,
                            "{integrator:?}, {dt} s, end {end}: {got}, not {want}"
                        );
                    }
                }
            }
        }
    }

    /// Walls of 30 and 80 K around air that cools: the probes read −3.27 and 9.24.
    #[test]
    fn walls_give_the_heat_that_cools_away() {
        let around = [BoundaryCondition::Periodic; 2];
        for integrator in INTEGRATORS {
            let sides = [around, [BoundaryCondition::Closed; 2], around];
            let held = [[None; 2], [Some(30.0), Some(80.0)], [None; 2]];
            let dims = Dims::new([8, 20, 8]).unwrap();
            let config = Config { sides, held, integrator, threads: 2, ..Config::new(dims, 0.02) };
            let params = Params { conduction: 0.05, cooling: 0.5, ..plain() };
            let mut solver = Solver::new(config, params, vec![]).unwrap();
            let mut faded = 0.0;
            for _ in 0..250 {
                let before = solver.stats().faded.unwrap_or_default()[3];
                solver.step(0.04).unwrap();
                faded = (solver.stats().faded.unwrap()[3] - before) / 0.04 / 0.16_f64.powi(2);
            }
            let [low, high] = [0, 1]
                .map(|end| read(&solver, ProbeQuantity::HeatFlux, ProbePlace::Side { axis: 1, end })[0]);
            // T = A cosh(my) + B sinh(my) with m² = 0.5/0.05.
            let m = 10.0_f64.sqrt();
            let b = (80.0 - 30.0 * (0.4 * m).cosh()) / (0.4 * m).sinh();
            let slopes = [b, 30.0 * (0.4 * m).sinh() + b * (0.4 * m).cosh()].map(|slope| slope * m);
            for (got, want) in [(low, -0.05 * slopes[0]), (high, 0.05 * slopes[1])] {
                assert!((f64::from(got) / want - 1.0).abs() < 0.03, "{integrator:?}: {got}, not {want}");
            }
            assert!((f64::from(low + high) / faded - 1.0).abs() < 1e-4, "{low} + {high}, not {faded}");
        }
    }

    /// A side that varies along x and in time.
    #[derive(Debug)]
    struct Wave(usize);

    impl SideValues for Wave {
        fn gives(&self, quantity: usize) -> bool {
            quantity == self.0
        }

        fn fill(&self, _: usize, time: f64, at: &[[f32; 3]], out: &mut [f32]) {
            out.iter_mut()
                .zip(at)
                .for_each(|(out, at)| *out = 20.0 * (3.0 * time as f32 + 5.0 * at[0]).sin());
        }
    }

    /// In each step of an unsteady flow: at walls of several temperatures that meet in edges, one by a formula, on finer smoke and
    /// beside a solid.
    #[test]
    fn the_heat_of_all_walls_is_that_of_the_budget() {
        let held = [[Some(40.0), None], [Some(10.0), Some(0.0)], [None, Some(70.0)]];
        for (detail, with_solid) in [(1, false), (2, false), (1, true), (2, true)] {
            let dims = Dims::new([14, 12, 10]).unwrap();
            let config = Config {
                held,
                detail,
                threads: 2,
                sides: [[BoundaryCondition::Closed; 2]; 3],
                ..Config::new(dims, 0.05)
            };
            let params = Params { conduction: 0.02, cooling: 0.3, ..plain() };
            let mut solver = Solver::new(config, params, vec![]).unwrap();
            solver.set_profiles(vec![Profile { axis: 1, end: 1, values: Arc::new(Wave(6)) }]);
            if with_solid {
                let ball = Solid::new(Shape::Sphere { radius: 0.12 }, [0.3, 0.3, 0.25]);
                solver.set_solids(vec![ball]).unwrap();
            }
            for step in 0..6 {
                let before = solver.stats().left.unwrap_or_default()[3];
                solver.step(0.05).unwrap();
                let left = (solver.stats().left.unwrap()[3] - before) / 0.05;
                let mut given = 0.0;
                for (axis, end) in (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]) {
                    let area = 14.0 * 12.0 * 10.0 / dims.array()[axis] as f32 * 0.05 * 0.05;
                    given += area * read(&solver, ProbeQuantity::HeatFlux, ProbePlace::Side { axis, end })[0];
                }
                let apart = (f64::from(given) + left).abs();
                let case = format!("detail {detail}, solid {with_solid}, step {step}");
                assert!(apart < 2e-4 * left.abs() + 1e-4, "{case}: {given} given, {} came", -left);
            }
        }
    }

    /// The momentum of air that is set in motion from rest is what its walls and the wind gave to it, in each step.
    #[test]
    fn the_shear_of_all_walls_is_what_the_air_gains() {
        let around = [BoundaryCondition::Periodic; 2];
        let plate = |u: f32| BoundaryCondition::NoSlip([u, 0.0, 0.0]);
        for integrator in INTEGRATORS {
            let dims = Dims::new([4, 12, 10]).unwrap();
            let sides = [around, [plate(1.0), plate(-0.5)], [plate(0.0), plate(2.0)]];
            let config = Config { sides, integrator, threads: 2, ..Config::new(dims, 0.1) };
            let mut solver = Solver::new(config, Params { viscosity: 0.05, ..plain() }, vec![]).unwrap();
            solver.set_forces(vec![wind([0.7, 0.0, 0.0])]).unwrap();
            let momentum = |solver: &Solver| {
                let cells = (0..120).map(|n| solver.layout().at(1, n % 12, n / 12));
                cells.map(|at| f64::from(solver.velocity()[0][at])).sum::<f64>() * 0.01
            };
            for step in 0..5 {
                let before = momentum(&solver);
                solver.step(0.1).unwrap();
                let gained = (momentum(&solver) - before) / 0.1;
                let shear = |axis: usize, end: usize| {
                    f64::from(read(&solver, ProbeQuantity::Shear, ProbePlace::Side { axis, end })[0])
                };
                let walls = -(shear(1, 0) + shear(1, 1)) * 1.0 - (shear(2, 0) + shear(2, 1)) * 1.2;
                // The first step of the trapezoidal rule, too, applies the whole force.
                let want = walls + 0.7 * 1.2;
                assert!((gained - want).abs() < 1e-4, "{integrator:?}, step {step}: {gained}, not {want}");
            }
        }
    }

    /// The row of faces on the inflow counts too. In the first instant the other rows take 4/3 of its stress: the air beside the plate
    /// counts as ¾ of a cell.
    #[test]
    fn the_shear_of_a_plate_begins_at_the_inflow() {
        let stream = Inflow { velocity: [1.0, 0.0, 0.0], scalars: [0.0; 4] };
        let plate = [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::Closed];
        let around = [BoundaryCondition::Periodic; 2];
        let sides = [[BoundaryCondition::Inflow(stream), BoundaryCondition::Open], plate, around];
        let config = Config { sides, threads: 1, ..Config::new(Dims::new([8, 6, 4]).unwrap(), 0.1) };
        let mut solver = Solver::new(config, Params { viscosity: 0.01, ..plain() }, vec![]).unwrap();
        solver.fill(|c, _| if c == 0 { 1.0 } else { 0.0 }, |_| [0.0; 4]);
        solver.step(1e-4).unwrap();
        let shear = read(&solver, ProbeQuantity::Shear, ProbePlace::Side { axis: 1, end: 0 })[0];
        let want = 0.2 * (7.5 * 4.0 / 3.0 + 0.5) / 8.0;
        assert!((shear / want - 1.0).abs() < 1e-3, "{shear}, not {want}");
    }
}
