//! Measures a running flow by probes: fields and their products at a point, along a line, or averaged over a
//! plane, a box or a side, the flux through a plane, the heat flux and shear of a wall, and the force and
//! heat flow of a solid.

use thiserror::Error;

use crate::field::{Field, NoPressure};
use crate::solver::Solver;

/// Quantities, place and times of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Name of its file.
    pub name: String,
    /// Quantities to measure.
    pub quantities: Vec<ProbeQuantity>,
    /// Place of the measurement.
    pub place: ProbePlace,
    /// Times of the measurement.
    pub every: Every,
    /// The instant \[s\] from which on means over time are measured, or none for the values of each instant.
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
    /// One point \[m\].
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
        /// Lower corner of the box \[m\].
        low: [f32; 3],
        /// Upper corner of the box \[m\].
        high: [f32; 3],
    },
    /// The mean over a side of the domain.
    Side {
        /// 0, 1, 2 for x, y, z.
        axis: usize,
        /// 0 where the coordinate is least, 1 where it is greatest.
        end: usize,
    },
    /// The solid of this number.
    Solid(usize),
}

impl ProbePlace {
    /// Returns the coordinates of the place \[m\].
    fn coordinates(self) -> Vec<f32> {
        match self {
            Self::Point(p) => p.to_vec(),
            Self::Line { from, to, .. } | Self::Box { low: from, high: to } => [from, to].concat(),
            Self::Plane { at, .. } => vec![at],
            Self::Side { .. } | Self::Solid(_) => vec![],
        }
    }
}

/// Reason why a probe cannot measure.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// A quantity that does not exist at the place of the probe.
    #[error("{place:?} has no {quantity:?}; {cure}")]
    NoQuantity {
        /// The quantity.
        quantity: ProbeQuantity,
        /// The place.
        place: ProbePlace,
        /// Places that have the quantity, or quantities that the place has.
        cure: &'static str,
    },
    /// An axis other than 0, 1, 2, or an end other than 0 and 1.
    #[error("{0:?} is no place; an axis is 0, 1 or 2 for x, y or z, an end is 0 or 1")]
    NoAxis(ProbePlace),
    /// A solid that the solver does not have.
    #[error("there is no solid {solid}; the solver has {solids}, counted from 0")]
    NoSolid {
        /// Number of the solid.
        solid: usize,
        /// Number of solids.
        solids: usize,
    },
    /// A line of fewer than two points.
    #[error("a line of {0} points has no ends; take 2 points or more")]
    FewPoints(u32),
    /// The pressure of a solver that does not keep it.
    #[error(transparent)]
    NoPressure(#[from] NoPressure),
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
    /// Returns the places that have the quantity, or the quantities that `place` has; `None` if it can be
    /// measured at `place`.
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

    /// Returns the names of the quantity's columns.
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
    /// Makes a probe of `fields` that measures lines after each frame, other places after each step.
    pub fn new(name: &str, fields: &[Field], place: ProbePlace) -> Self {
        let quantities = match place {
            ProbePlace::Solid(_) => vec![ProbeQuantity::Force],
            _ => fields.iter().map(|field| ProbeQuantity::Product(vec![*field])).collect(),
        };
        Self { name: name.into(), quantities, place, every: Every::usual(place), mean_from: None }
    }

    /// Returns the names of the columns of the probe's table.
    pub fn columns(&self) -> Vec<String> {
        let place: &[&str] = if self.is_line() { &["time", "x", "y", "z"] } else { &["time"] };
        let place = place.iter().map(|name| (*name).to_owned());
        place.chain(self.quantities.iter().flat_map(ProbeQuantity::columns)).collect()
    }

    /// Returns whether the probe reads `field`.
    pub fn reads(&self, field: Field) -> bool {
        let reads =
            |quantity: &ProbeQuantity| matches!(quantity, ProbeQuantity::Product(of) if of.contains(&field));
        self.quantities.iter().any(reads)
    }

    /// Returns whether the probe measures at more than one point at a time.
    pub fn is_line(&self) -> bool {
        matches!(self.place, ProbePlace::Line { .. })
    }

    /// Returns whether the probe measures now: at the start, and after a step by [`every`](Self::every).
    /// `is_frame` tells whether a frame has ended.
    pub fn is_due(&self, solver: &Solver, is_frame: bool) -> bool {
        let stats = solver.stats();
        match self.every {
            _ if stats.step == 0 => true,
            Every::Frame => is_frame,
            Every::Steps(count) => stats.step.is_multiple_of(u64::from(count.max(1))),
            Every::Seconds(span) => {
                // Rounding must not delay a measurement that is due now.
                let spans = |time: f64| (time / f64::from(span) + 1e-6).floor();
                spans(stats.time) > spans(stats.time - f64::from(stats.dt))
            }
        }
    }

    /// Returns the span along z in which the probe reads fields \[m\], or `None` where it reads none or the
    /// whole box.
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

    /// Fails if the probe cannot measure in `solver`.
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
        self.quantities.iter().find_map(refused).map_or(Ok(()), Err)?;
        if self.reads(Field::Pressure) { Ok(Field::Pressure.check(solver)?) } else { Ok(()) }
    }

    /// Measures now: one reading, or one for each point of a line.
    ///
    /// # Errors
    /// As of [`check`](Self::check): those of a checked scene never fail.
    pub fn measure(&self, solver: &Solver) -> Result<Vec<Reading>, ProbeError> {
        self.check(solver)?;
        Ok(self.readings(solver))
    }

    /// Measures as [`measure`](Self::measure) does, for a probe that has been checked.
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

    /// Returns whether the box has moved away from the point `at` of a line, or from the place of the probe.
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

    /// Returns the values of one quantity, at the point `at` of a line or at the place of the probe.
    fn read(&self, quantity: &ProbeQuantity, at: Option<[f32; 3]>, solver: &Solver) -> Vec<f32> {
        if self.is_beyond_box(at, solver) {
            return vec![f32::NAN];
        }
        let sample = |fields: &[Field], p| fields.iter().map(|field| field.interpolated(solver, p)).product();
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
    /// Returns the default times for a place.
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

/// Returns the numbers of cells and their edge \[m\] for means of `fields`: those of the smoke if one of them
/// is of smoke.
fn finest(solver: &Solver, fields: &[Field]) -> ([usize; 3], f32) {
    let field = fields.iter().find(|field| field.is_of_smoke()).or(fields.first());
    let (dims, h) = field.map_or((solver.config().dims, solver.config().h), |f| f.grid(solver.config()));
    (dims.array(), h)
}

/// Returns the mean of a product of `fields` over one point per cell of a plane, in a fixed order.
///
/// A velocity across the plane counts as the mean over whole faces, including the part that solids close.
/// Times the area it is the flow through the plane.
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
                false => field.interpolated(solver, p),
            };
            sum += f64::from(fields.iter().map(value).product::<f32>());
        }
    }
    (sum / (dims[a] * dims[b]) as f64) as f32
}

/// Returns the mean over the cells with centres in a box, or over the one cell with its middle where there is
/// none.
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

/// Returns the mean over a side of ∂q/∂n, n into the box, of a field on the faces along the side or at
/// centres. The slope is that of the parabola through the value at the wall and the next two, or of the line
/// through the next one where an axis has one cell.
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

/// Returns the mean velocity along `axis` through a column of cells at the coordinate `at` \[m\]. The index of
/// `column` along the axis is not used.
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
mod tests;
