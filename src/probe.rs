//! Probes, which measure during a run: fields at a point, along a line, or averaged over a plane, and the
//! force on a solid.

use crate::field::Field;
use crate::solver::Solver;

/// Fields to measure, and the place.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Name of its file.
    pub name: String,
    /// Fields to measure. Empty for a solid: only its force is measured.
    pub fields: Vec<Field>,
    /// Place of the measurement.
    pub place: Place,
}

/// Place at which a probe measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
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
    /// Force on the solid with this number \[m⁴/s²\], and its pressure part; see [`Solver::solid_forces`].
    Solid(usize),
}

impl Probe {
    /// Column names of its table.
    pub fn columns(&self) -> Vec<&'static str> {
        let place: &[&'static str] = match self.place {
            Place::Line { .. } => &["time", "x", "y", "z"],
            Place::Point(_) | Place::Plane { .. } => &["time"],
            Place::Solid(_) => &["time", "fx", "fy", "fz", "px", "py", "pz"],
        };
        place.iter().copied().chain(self.fields.iter().map(|field| field.name())).collect()
    }

    /// Whether it measures at more than one point at a time.
    pub fn is_line(&self) -> bool {
        matches!(self.place, Place::Line { .. })
    }

    /// Measures now: one reading, or one for each point of a line.
    pub fn measure(&self, solver: &Solver) -> Vec<Reading> {
        let read = |at, value: &dyn Fn(Field) -> f32| {
            let values = self.fields.iter().map(|&field| value(field)).collect();
            Reading { at, values }
        };
        match self.place {
            Place::Point(p) => vec![read(None, &|field| field.sample(solver, p))],
            Place::Plane { axis, at } => vec![read(None, &|field| plane_mean(solver, field, axis, at))],
            Place::Solid(solid) => {
                let of = |forces: Vec<[f64; 3]>| forces.get(solid).copied().unwrap_or_default();
                let parts = [of(solver.solid_forces()), of(solver.solid_pressures())];
                vec![Reading { at: None, values: parts.as_flattened().iter().map(|f| *f as f32).collect() }]
            }
            Place::Line { from, to, points } => {
                let at = |n: u32| {
                    let part = n as f32 / (points - 1) as f32;
                    std::array::from_fn(|axis| from[axis] + part * (to[axis] - from[axis]))
                };
                let points = (0..points).map(at);
                points.map(|p: [f32; 3]| read(Some(p), &|field| field.sample(solver, p))).collect()
            }
        }
    }
}

/// A reading at one point, or over the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The point \[m\], if there are several.
    pub at: Option<[f32; 3]>,
    /// One value for each field of the probe.
    pub values: Vec<f32>,
}

/// Mean of `field` over a plane, summed in a fixed order.
///
/// A velocity across the plane is the mean over whole faces, including the parts that solids close, so mean
/// times area is the flux.
fn plane_mean(solver: &Solver, field: Field, axis: usize, at: f32) -> f32 {
    let (dims, h) = (solver.config().dims.array(), solver.config().h);
    let [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
    let mut sum = 0.0_f64;
    for n in 0..dims[a] {
        for m in 0..dims[b] {
            let mut p = [at; 3];
            p[a] = (n as f32 + 0.5) * h;
            p[b] = (m as f32 + 0.5) * h;
            let value = if field.face_axis() == Some(axis) {
                let mut cell = [0; 3];
                (cell[a], cell[b]) = (n, m);
                through(solver, axis, cell, at)
            } else {
                field.sample(solver, p)
            };
            sum += f64::from(value);
        }
    }
    (sum / (dims[a] * dims[b]) as f64) as f32
}

/// Mean velocity along `axis` through a column of cells at the coordinate `at` \[m\]. The column's index
/// along the axis is ignored.
fn through(solver: &Solver, axis: usize, column: [usize; 3], at: f32) -> f32 {
    let cells = solver.config().dims.array()[axis];
    let q = (at / solver.config().h).clamp(0.0, cells as f32);
    let below = (q as usize).min(cells - 1);
    let part = q - below as f32;
    let face = |index: usize| {
        let mut face = column;
        face[axis] = index;
        solver.mean_over_face(axis, face)
    };
    (1.0 - part) * face(below) + part * face(below + 1)
}
