//! Reads fields of a solver by name, as arrays over the box and at points.

use std::{fmt, io};

use bytemuck::Pod;
use rayon::prelude::*;
use thiserror::Error;

use crate::grid::{Dims, Layout};
use crate::solver::{BoundaryCondition, Config, Solver};

/// An array of values on a box, x fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Counts along x, y, z.
    pub shape: [usize; 3],
    /// The values.
    pub values: Vec<f32>,
}

/// Error of a read of [`Field::Pressure`] from a solver that does not keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the solver has no pressure to read; call Solver::keep_pressure before the step whose pressure is wanted"
)]
pub struct NoPressure;

impl From<NoPressure> for io::Error {
    fn from(error: NoPressure) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

/// Declares the fields: name in files and scenes, meaning, unit and place.
macro_rules! fields {
    ($($field:ident = $name:literal: $what:literal, $unit:literal, $place:literal;)*) => {
        /// A scalar field, stored or derived.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
        #[non_exhaustive]
        pub enum Field {$(
            #[doc = concat!($what, " \\[", $unit, "\\], ", $place, ".")]
            #[cfg_attr(feature = "cli", value(name = $name, help = concat!($what, " [", $unit, "], ", $place)))]
            $field,
        )*}

        impl Field {
            /// All fields.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$field),*];

            /// All names.
            pub(crate) const NAMES: &'static [&'static str] = &[$($name),*];

            /// All names with their meanings.
            pub(crate) const MEANINGS: &'static [(&'static str, &'static str)] =
                &[$(($name, concat!($what, " [", $unit, "], ", $place))),*];

            /// Returns the name in files and scenes.
            pub fn name(self) -> &'static str {
                match self { $(Self::$field => $name),* }
            }

            /// Returns the unit of the values.
            pub fn unit(self) -> &'static str {
                match self { $(Self::$field => $unit),* }
            }
        }
    };
}

fields! {
    U = "u": "Velocity along x", "m/s", "on x faces";
    V = "v": "Velocity along y", "m/s", "on y faces";
    W = "w": "Velocity along z", "m/s", "on z faces";
    Temperature = "temperature": "Temperature excess", "K", "at centres";
    Red = "red": "Red smoke", "1", "at centres";
    Green = "green": "Green smoke", "1", "at centres";
    Blue = "blue": "Blue smoke", "1", "at centres";
    Speed = "speed": "|u|", "m/s", "at centres, from the means of opposite faces";
    Vorticity = "vorticity": "|∇ × u|", "1/s", "at centres, by central differences of those means";
    Pressure = "pressure": "Pressure over the density of air p/ρ", "m²/s²", "at centres, as it acted in the last step";
}

impl Field {
    /// The fields of an initial state. The others follow from them, or from the last step.
    pub const STORED: [Self; 7] =
        [Self::U, Self::V, Self::W, Self::Temperature, Self::Red, Self::Green, Self::Blue];

    /// Returns the axis on whose faces the field is stored, or `None` at centres.
    pub fn face_axis(self) -> Option<usize> {
        [Self::U, Self::V, Self::W].iter().position(|face| *face == self)
    }

    /// Returns whether the field lies on the cells of smoke and heat, which may be finer than those of the
    /// velocity.
    pub fn is_of_smoke(self) -> bool {
        matches!(self, Self::Temperature | Self::Red | Self::Green | Self::Blue)
    }

    /// Returns the shape of the field's grid and the edge \[m\] of its cells.
    pub fn grid(self, config: &Config) -> (Dims, f32) {
        if self.is_of_smoke() { (config.smoke_dims(), config.smoke_h()) } else { (config.dims, config.h) }
    }

    /// Returns the memory layout of the field's values.
    pub fn layout(self, solver: &Solver) -> Layout {
        if self.is_of_smoke() { solver.smoke_layout() } else { solver.layout() }
    }

    /// Calls `take` on the first rank with the values of plane `k` of this field that its owner has made.
    pub(crate) fn take_plane<T: Pod, R>(
        self,
        solver: &Solver,
        k: usize,
        values: &mut [T],
        make: impl FnOnce(&mut [T]),
        take: impl FnOnce(&[T]) -> R,
    ) -> Option<R> {
        let ranks = if self.is_of_smoke() { solver.smoke_ranks() } else { solver.ranks() };
        ranks.take_plane(k as isize, values, make, take)
    }

    /// Returns the number of values along x, y, z on a grid of `dims`: one more than cells across the faces
    /// of a velocity.
    pub fn shape(self, dims: Dims) -> [usize; 3] {
        let mut shape = dims.array();
        if let Some(axis) = self.face_axis() {
            shape[axis] += 1;
        }
        shape
    }

    /// Fails if `solver` does not have this field.
    ///
    /// # Errors
    /// For the pressure, unless the solver [keeps](Solver::keep_pressure) it; the trapezoidal rule always does.
    pub fn check(self, solver: &Solver) -> Result<(), NoPressure> {
        if self == Self::Pressure && solver.pressure().is_none() { Err(NoPressure) } else { Ok(()) }
    }

    /// Computes all values of this field.
    ///
    /// # Errors
    /// As of [`check`](Self::check).
    pub fn array(self, solver: &Solver) -> Result<Array, NoPressure> {
        self.check(solver)?;
        let shape = self.shape(self.layout(solver).dims);
        let mut values = vec![0.0; shape.iter().product()];
        for (k, plane) in values.chunks_exact_mut(shape[0] * shape[1]).enumerate() {
            self.fill_plane(solver, k, plane);
        }
        Ok(Array { shape, values })
    }

    /// Computes the values of plane `k`, x fastest.
    fn fill_plane(self, solver: &Solver, k: usize, out: &mut [f32]) {
        let layout = self.layout(solver);
        let [nx, ..] = self.shape(layout.dims);
        for (j, row) in out.chunks_exact_mut(nx).enumerate() {
            let start = layout.start(j, k);
            row.iter_mut().zip(start..).for_each(|(out, at)| *out = self.at(solver, at));
        }
    }

    /// Calls `take` with the values of one plane after another, x fastest. With several ranks each computes its own, and the first takes
    /// those of all.
    ///
    /// # Errors
    /// As of [`check`](Self::check), or the first error of `take`; later planes are not taken.
    pub fn planes<E: From<NoPressure>>(
        self,
        solver: &Solver,
        take: impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check(solver)?;
        self.made_planes(solver, |k, plane| self.fill_plane(solver, k, plane), take)
    }

    /// Works as [`planes`](Self::planes), with planes of the shape of this field that their owners `make`.
    pub(crate) fn made_planes<E>(
        self,
        solver: &Solver,
        make: impl Fn(usize, &mut [f32]),
        mut take: impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let [nx, ny, nz] = self.shape(self.layout(solver).dims);
        let mut plane = vec![0.0; nx * ny];
        let mut result = Ok(());
        for k in 0..nz {
            let make = |plane: &mut [f32]| make(k, plane);
            // After an error of `take`, other ranks still send their planes: only the first rank knows of it.
            let taken = self.take_plane(solver, k, &mut plane, make, |plane| match &result {
                Ok(()) => take(plane),
                Err(_) => Ok(()),
            });
            if let Some(Err(error)) = taken {
                result = Err(error);
            }
        }
        result
    }

    /// Returns the value at the point `p` \[m\], linearly interpolated; beyond the box the value at its side.
    /// The speed is that of the interpolated velocity.
    ///
    /// # Errors
    /// As of [`check`](Self::check).
    pub fn sample(self, solver: &Solver, p: [f32; 3]) -> Result<f32, NoPressure> {
        self.check(solver).map(|()| self.interpolated(solver, p))
    }

    /// Samples as [`sample`](Self::sample) does, for a field that has been checked.
    pub(crate) fn interpolated(self, solver: &Solver, p: [f32; 3]) -> f32 {
        if self == Self::Speed {
            return length([Self::U, Self::V, Self::W].map(|component| component.interpolated(solver, p)));
        }
        let corner = solver.config().corner();
        let (layout, (_, h)) = (self.layout(solver), self.grid(solver.config()));
        // The point in cells from value (0, 0, 0) of this field.
        let q: [f32; 3] = std::array::from_fn(|axis| {
            let offset = if self.face_axis() == Some(axis) { 0.0 } else { 0.5 };
            let across = layout.dims.array()[axis] as f32;
            let q = ((p[axis] - corner[axis]) / h).clamp(0.0, across) - offset;
            // Vorticity takes differences over neighbours, which the ghosts lack.
            if self == Self::Vorticity { q.clamp(0.0, across - 1.0) } else { q }
        });
        self.between(solver, layout, q)
    }

    /// Interpolates trilinearly. The ghosts around the box follow from the boundary conditions.
    fn between(self, solver: &Solver, layout: Layout, q: [f32; 3]) -> f32 {
        let base = q.map(f32::floor);
        let part: [f32; 3] = std::array::from_fn(|axis| q[axis] - base[axis]);
        let [i, j, k] = base.map(|x| x as isize);
        let mut sum = 0.0;
        for corner in 0..8_usize {
            let side: [usize; 3] = std::array::from_fn(|axis| corner >> axis & 1);
            let weights = (0..3).map(|a| if side[a] == 1 { part[a] } else { 1.0 - part[a] });
            let weight: f32 = weights.product();
            // A corner with weight 0 may lie beyond the ghosts.
            if weight > 0.0 {
                let at = layout.at(i + side[0] as isize, j + side[1] as isize, k + side[2] as isize);
                sum += weight * self.at(solver, at);
            }
        }
        sum
    }

    /// Returns the value at position `at` of the field's [`layout`](Self::layout), of a field that has been
    /// checked.
    pub(crate) fn at(self, solver: &Solver, at: usize) -> f32 {
        match self {
            Self::U => solver.velocity()[0][at],
            Self::V => solver.velocity()[1][at],
            Self::W => solver.velocity()[2][at],
            Self::Red => solver.scalars()[at][0],
            Self::Green => solver.scalars()[at][1],
            Self::Blue => solver.scalars()[at][2],
            Self::Temperature => solver.scalars()[at][3],
            Self::Speed => length([0, 1, 2].map(|c| solver.velocity_at_center(c, at))),
            Self::Vorticity => length(curl(solver, at)),
            Self::Pressure => solver.pressure().map_or(f32::NAN, |pressure| pressure[at]),
        }
    }
}

#[cfg(feature = "cli")]
/// Describes `fields` of a box with its lower corner at `corner` \[m\] as JSON for their file: axes, units, and the position of each first value.
pub fn about(fields: &[Field], corner: [f32; 3]) -> String {
    let of_field = |field: &Field| {
        let place = match field.face_axis() {
            Some(axis) => format!("{} faces", ["x", "y", "z"][axis]),
            None => "centres".into(),
        };
        let offset = [0, 1, 2].map(|axis| if field.face_axis() == Some(axis) { 0.0 } else { 0.5 });
        let about = serde_json::json!({ "unit": field.unit(), "at": place, "first_value_in_voxels": offset });
        (field.name().to_owned(), about)
    };
    serde_json::json!({
        "program": concat!("updraft ", env!("CARGO_PKG_VERSION")),
        "format": 1,
        "axes": "array[x, y, z], y up",
        "origin": corner,
        "units": { "voxel": "m", "time": "s" },
        "fields": fields.iter().map(of_field).collect::<serde_json::Map<_, _>>(),
    })
    .to_string()
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the enstrophy ½ ∫ |∇ × u|² dV of the box \[m³/s²\], by the curl on the edges of the cells from
/// differences of faces one cell apart.
pub fn enstrophy(solver: &Solver) -> f64 {
    let last = solver.layout().dims.nz;
    // Summed by planes: the result does not depend on the number of threads.
    let plane = |k: usize| (0..3).map(|axis| swirl(solver, axis, k)).sum::<f64>();
    let mut planes = vec![0.0; last + 1];
    let [from, to] = solver.layout().within([0, last as isize + 1]).map(|k| k as usize);
    planes[from..to].par_iter_mut().zip(from..to).for_each(|(sum, k)| *sum = plane(k));
    solver.ranks().gather(&mut planes, 1);
    0.5 * planes.iter().sum::<f64>() * f64::from(solver.config().h)
}

/// Returns Σ (h ω)² over the edges along `axis` of one plane \[m²/s²\].
fn swirl(solver: &Solver, axis: usize, k: usize) -> f64 {
    let (layout, n) = (solver.layout(), solver.layout().dims.array());
    let [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
    let (low, high) = (&solver.velocity()[b], &solver.velocity()[c]);
    let strides = layout.strides();
    let count = |a: usize| n[a] + usize::from(a != axis);
    let share = |a: usize, at: usize| if a == axis { 1.0 } else { share(solver.config().sides[a], n[a], at) };
    let edge = |i: usize, at: usize| {
        let around = high[at] - high[at - strides[b]] - (low[at] - low[at - strides[c]]);
        share(0, i) * f64::from(around * around)
    };
    let row = |j: usize| {
        let start = layout.start(j, k);
        share(1, j) * (0..count(0)).map(|i| edge(i, start + i)).sum::<f64>()
    };
    if k < count(2) { share(2, k) * (0..count(1)).map(row).sum::<f64>() } else { 0.0 }
}

/// Returns the weight of an edge with index `at`, 0 to n along an axis, in cell widths. On a side it is half,
/// because half of its surroundings lie in the box. On an open side it is 0, because the outer air is not
/// part of the flow, and its neighbour counts for it.
fn share(sides: [BoundaryCondition; 2], n: usize, at: usize) -> f64 {
    let from_end = [at, n - at];
    let of_end = |end: usize| match (from_end[end], sides[end]) {
        (0, BoundaryCondition::Open) if n > 1 => -1.0,
        (0, _) => -0.5,
        (1, BoundaryCondition::Open) if n > 1 => 0.5,
        _ => 0.0,
    };
    1.0 + of_end(0) + of_end(1)
}

/// Returns ∇ × u at the centre of the cell at `at`.
fn curl(solver: &Solver, at: usize) -> [f32; 3] {
    let strides = solver.layout().strides();
    // The derivative ∂u_c/∂x_a.
    let slope = |c: usize, a: usize| {
        let [high, low] = [at + strides[a], at - strides[a]].map(|at| solver.velocity_at_center(c, at));
        (high - low) / (2.0 * solver.config().h)
    };
    [slope(2, 1) - slope(1, 2), slope(0, 2) - slope(2, 0), slope(1, 0) - slope(0, 1)]
}

fn length(v: [f32; 3]) -> f32 {
    v.iter().map(|x| x * x).sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Probe, ProbePlace};
    use crate::solver::{Integrator, Params};

    const DIMS: [usize; 3] = [6, 7, 8];
    const H: f32 = 0.1;

    /// Returns a linear flow without divergence, u = (y, z, x), in a box that is open on all sides.
    fn turning() -> Solver {
        let mut config = Config::new(Dims::new(DIMS).unwrap(), H);
        config.sides = [[BoundaryCondition::Open; 2]; 3];
        let mut solver = Solver::new(config, Params::default(), Vec::new()).unwrap();
        solver.fill(|c, p| p[(c + 1) % 3], |p| [p[0], p[1], p[2], 2.0 * p[0] + p[1]]);
        solver
    }

    fn close(a: f32, b: f32, what: &str) {
        assert!((a - b).abs() < 2e-5, "{what}: {a}, not {b}");
    }

    #[test]
    fn linear_fields_are_sampled_exactly() {
        let solver = turning();
        for p in [[0.31, 0.33, 0.41], [0.05, 0.35, 0.75], [0.22, 0.5, 0.1]] {
            close(Field::Red.sample(&solver, p).unwrap(), p[0], "red");
            close(Field::Temperature.sample(&solver, p).unwrap(), 2.0 * p[0] + p[1], "temperature");
            close(Field::U.sample(&solver, p).unwrap(), p[1], "u");
            close(Field::W.sample(&solver, p).unwrap(), p[0], "w");
        }
    }

    #[test]
    fn derived_fields_follow_from_the_flow() {
        let solver = turning();
        let p = [0.25, 0.35, 0.45];
        // ∇ × (y, z, x) = (−1, −1, −1).
        close(Field::Vorticity.sample(&solver, p).unwrap(), 3.0_f32.sqrt(), "vorticity");
        let speed = (0.35_f32.powi(2) + 0.45_f32.powi(2) + 0.25_f32.powi(2)).sqrt();
        close(Field::Speed.sample(&solver, p).unwrap(), speed, "speed");
    }

    #[test]
    fn enstrophy_is_that_of_a_flow_that_turns_as_a_whole() {
        let volume = f64::from(H).powi(3) * DIMS.iter().product::<usize>() as f64;
        let enstrophy = enstrophy(&turning());
        assert!((enstrophy / (1.5 * volume) - 1.0).abs() < 1e-4, "{enstrophy} for {}", 1.5 * volume);
    }

    /// The shortest wave is two cells long, so differences over two cells would miss it.
    #[test]
    fn enstrophy_holds_the_smallest_swirls() {
        let mut config = Config::new(Dims::new([8, 8, 1]).unwrap(), H);
        config.sides = [[BoundaryCondition::Periodic; 2]; 3];
        let mut solver = Solver::new(config, Params::default(), Vec::new()).unwrap();
        let wave = 0.5 * std::f32::consts::PI / H;
        solver.fill(|c, p| if c == 1 { (wave * p[0]).sin() } else { 0.0 }, |_| [0.0; 4]);
        // v is √½, √½, −√½, −√½ and so on; its differences are 0 and √2 in turn, so the mean of (hω)² is 1.
        let (want, got) = (0.5 * 64.0 * f64::from(H), enstrophy(&solver));
        assert!((got / want - 1.0).abs() < 1e-4, "{got} for {want}");
    }

    #[test]
    fn arrays_hold_every_value_and_corners_can_be_asked() {
        let mut solver = turning();
        solver.keep_pressure();
        for field in Field::ALL {
            let array = field.array(&solver).unwrap();
            assert_eq!(array.values.len(), array.shape.iter().product::<usize>(), "{field}");
            for corner in 0..8 {
                let p = std::array::from_fn(|a| if corner >> a & 1 == 1 { DIMS[a] as f32 * H } else { 0.0 });
                assert!(field.sample(&solver, p).unwrap().is_finite(), "{field} at {p:?}");
            }
        }
        assert_eq!(Field::V.array(&solver).unwrap().shape, [6, 8, 8]);
        let red = Field::Red.array(&solver).unwrap();
        close(red.values[3 + 6 * (2 + 7 * 5)], 0.35, "red of cell (3, 2, 5)");
    }

    #[test]
    fn probes_read_points_lines_and_means() {
        let solver = turning();
        let read = |place| Probe::new("p", &[Field::Green, Field::Red], place).measure(&solver).unwrap();
        let point = read(ProbePlace::Point([0.2, 0.3, 0.4]));
        close(point[0].values[0], 0.3, "green at a point");
        let line = read(ProbePlace::Line { from: [0.1, 0.2, 0.3], to: [0.5, 0.2, 0.3], points: 5 });
        assert_eq!(line.len(), 5);
        for (n, reading) in line.iter().enumerate() {
            close(reading.values[1], 0.1 + 0.1 * n as f32, "red along x");
            close(reading.at.unwrap()[0], 0.1 + 0.1 * n as f32, "x");
        }
        let plane = read(ProbePlace::Plane { axis: 1, at: 0.25 });
        close(plane[0].values[0], 0.25, "green on a plane");
        close(plane[0].values[1], 0.3, "mean of red on a plane");
    }

    #[test]
    fn a_pressure_that_is_not_kept_is_an_error() {
        // The trapezoidal rule always keeps the pressure.
        let integrator = Integrator::Projection;
        let config = Config { integrator, ..turning().config().clone() };
        let mut solver = Solver::new(config, Params::default(), Vec::new()).unwrap();
        solver.fill(|c, p| p[c] * p[c], |_| [0.0; 4]);
        solver.step(0.01).unwrap();
        let probe = Probe::new("p", &[Field::Red, Field::Pressure], ProbePlace::Point([0.2; 3]));
        let take = |_: &[f32]| Ok::<_, io::Error>(());
        assert_eq!(Field::Pressure.array(&solver), Err(NoPressure));
        assert_eq!(Field::Pressure.sample(&solver, [0.2; 3]), Err(NoPressure));
        let refused = Field::Pressure.planes(&solver, take).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(probe.measure(&solver), Err(NoPressure.into()));
        Field::ALL
            .into_iter()
            .filter(|field| *field != Field::Pressure)
            .for_each(|f| f.check(&solver).unwrap());
        solver.keep_pressure();
        solver.step(0.01).unwrap();
        assert!(Field::Pressure.array(&solver).unwrap().values.iter().any(|p| *p != 0.0));
        assert!(Field::Pressure.sample(&solver, [0.2; 3]).is_ok() && probe.measure(&solver).is_ok());
        Field::Pressure.planes(&solver, take).unwrap();
    }
}
