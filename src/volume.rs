//! Fields of a solver as volumes for other programs: writing and reading OpenVDB files, and writing VTK images.

mod leaves;

use std::io::{self, Seek, Write};

use rayon::prelude::*;

use crate::field::Field;
use crate::grid::Dims;
use crate::look::Look;
use crate::npz::Array;
use crate::output::vti;
use crate::snapshot::Snapshot;
use crate::solver::Solver;
use crate::vdb::{self, Meta, Reader, Topology, Values};
use leaves::Lattice;

/// A voxel with a density above this is active \[-\].
const THINNEST: f32 = 1e-4;
/// A voxel with a temperature excess beyond this, either way, is active \[K\].
const COOLEST: f32 = 1e-2;

/// Greatest number of voxels of a file per cell, in the part that the box covers.
const FINEST: usize = 64;

/// Voxels along an edge of a leaf.
const LEAF: i32 = 8;

/// Frame of a volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Frame number.
    pub number: u32,
    /// Frames per second.
    pub rate: f32,
}

/// The up axis of a file; in updraft it is y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Up {
    /// y, as in Houdini, Maya and Unity.
    #[default]
    Y,
    /// z, as in Blender and Unreal: (x, y, z) becomes (x, −z, y).
    Z,
}

impl Up {
    /// Returns its name in metadata.
    fn name(self) -> &'static str {
        match self {
            Self::Y => "y",
            Self::Z => "z",
        }
    }

    /// Rotates a vector from updraft's axes to those of the file.
    fn turn<T: Copy + std::ops::Neg<Output = T>>(self, [x, y, z]: [T; 3]) -> [T; 3] {
        match self {
            Self::Y => [x, y, z],
            Self::Z => [x, -z, y],
        }
    }

    /// Rotates a vector from the file's axes to those of updraft.
    fn turn_back<T: Copy + std::ops::Neg<Output = T>>(self, [x, y, z]: [T; 3]) -> [T; 3] {
        match self {
            Self::Y => [x, y, z],
            Self::Z => [x, z, -y],
        }
    }

    /// Returns the first voxel of a box of `dims` whose first cell is `origin`, and the number of voxels
    /// along each axis.
    fn region(self, dims: Dims, [x, y, z]: [i32; 3]) -> ([i32; 3], [usize; 3]) {
        let [nx, ny, nz] = dims.array();
        match self {
            Self::Y => ([x, y, z], [nx, ny, nz]),
            Self::Z => ([x, -(z + nz as i32), y], [nx, nz, ny]),
        }
    }

    /// Returns the cell of a voxel, counted from the cell `origin`.
    fn cell(self, [x, y, z]: [i32; 3], origin: [i32; 3]) -> [isize; 3] {
        let cell = match self {
            Self::Y => [x, y, z],
            Self::Z => [x, z, -1 - y],
        };
        [0, 1, 2].map(|a| (cell[a] - origin[a]) as isize)
    }

    /// Returns the lowest of updraft's planes along z in the leaf with this first voxel.
    fn lowest_plane(self, [_, y, z]: [i32; 3]) -> i32 {
        match self {
            Self::Y => z,
            Self::Z => -1 - (y + LEAF - 1),
        }
    }
}

/// Options of an OpenVDB file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VdbOptions {
    /// Up axis.
    pub up: Up,
    /// Whether to write half floats instead of single ones.
    pub half: bool,
    /// Temperature excess at which smoke radiates like a black body of 2000 K \[K\], if it glows: then there is a grid
    /// `flame`, which is 1 there.
    pub flame: Option<f32>,
}

impl VdbOptions {
    /// Returns the options for smoke of this `look`.
    pub fn of(look: &Look, up: Up, half: bool) -> Self {
        Self { up, half, flame: (look.glow > 0.0).then_some(look.glow_heat) }
    }
}

/// Writes `fields` as grids: `density` (the sum of the colours), `density_r`, `density_g`, `density_b`,
/// `temperature` \[K\], `flame` if the smoke glows, `vel` \[m/s\] at the centres, `speed`, `vorticity` and
/// `pressure`. All have the same active voxels: those with smoke or heat in one of `fields`, or all voxels if
/// none of them is of smoke or heat. If the smoke is finer than the velocity, grids of the air have the
/// larger voxels of the velocity, each active if one of the finer ones in it is.
///
/// With several ranks all call it, after [`Solver::exchange_leaves`]. The first writes the file; those of the
/// others stay unusable. The first holds at most 25 MB of values of other ranks at a time, and the masks of
/// their leaves.
///
/// # Errors
/// Those of `file`, and [`InvalidInput`](io::ErrorKind::InvalidInput) for a pressure that the solver does not keep.
pub fn write_vdb(
    file: impl Write + Seek,
    solver: &Solver,
    fields: &[Field],
    frame: Frame,
    options: VdbOptions,
) -> io::Result<()> {
    fields.iter().try_for_each(|field| field.check(solver))?;
    let (scalars, up, finer) = (solver.scalars(), options.up, solver.config().detail as isize);
    let (layout, air) = (solver.smoke_layout(), solver.layout());
    let first_of_air = solver.config().origin;
    let first = first_of_air.map(|cell| cell * finer as i32);
    let at = |voxel: [i32; 3]| {
        let [i, j, k] = up.cell(voxel, first);
        layout.at(i, j, k)
    };
    let at_air = |voxel: [i32; 3]| {
        let [i, j, k] = up.cell(voxel, first_of_air);
        air.at(i, j, k)
    };
    let scalar = |c: usize| move |voxel: [i32; 3]| scalars[at(voxel)][c];
    let channels: Vec<usize> = fields.iter().filter_map(|field| channel(*field)).collect();
    let holds = |at: usize| {
        let seen = |&c: &usize| scalars[at][c].abs() > if c == 3 { COOLEST } else { THINNEST };
        channels.is_empty() || channels.iter().any(seen)
    };
    let smoke = Lattice::new(solver, true, up, |[i, j, k]| holds(layout.at(i, j, k)));
    let has_active = |cell: [isize; 3]| {
        let [i, j, k] = cell.map(|x| finer * x);
        let part = |n: isize| layout.at(i + n % finer, j + n / finer % finer, k + n / (finer * finer));
        (0..finer.pow(3)).any(|n| holds(part(n)))
    };
    let of_air = (finer > 1).then(|| Lattice::new(solver, false, up, has_active));
    let air = of_air.as_ref().unwrap_or(&smoke);
    let density = |voxel: [i32; 3]| scalars[at(voxel)][..3].iter().sum();
    let [red, green, blue, temperature] = [scalar(0), scalar(1), scalar(2), scalar(3)];
    let velocity = |voxel: [i32; 3]| up.turn([0, 1, 2].map(|c| solver.velocity_at_center(c, at_air(voxel))));
    let speed = |voxel: [i32; 3]| Field::Speed.at(solver, at_air(voxel));
    let vorticity = |voxel: [i32; 3]| Field::Vorticity.at(solver, at_air(voxel));
    let pressure = |voxel: [i32; 3]| Field::Pressure.at(solver, at_air(voxel));
    let flame = |voxel: [i32; 3]| flame(temperature(voxel), options);
    let mut grids: Vec<(vdb::Grid, &Lattice)> = Vec::new();
    let has = |wanted: &[Field]| fields.iter().any(|field| wanted.contains(field));
    let mut add = |wanted: &[Field], name, values| {
        if has(wanted) {
            let lattice = if wanted[0].is_of_smoke() { &smoke } else { air };
            let grid = vdb::Grid::new(name, in_decimals(lattice.h), lattice.topology(), values);
            grids.push((vdb::Grid { half: options.half, ..grid }, lattice));
        }
    };
    add(&[Field::Red, Field::Green, Field::Blue], "density", Values::Scalar(&density));
    add(&[Field::Red], "density_r", Values::Scalar(&red));
    add(&[Field::Green], "density_g", Values::Scalar(&green));
    add(&[Field::Blue], "density_b", Values::Scalar(&blue));
    add(&[Field::Temperature], "temperature", Values::Scalar(&temperature));
    if options.flame.is_some() {
        add(&[Field::Temperature], "flame", Values::Scalar(&flame));
    }
    add(&[Field::U, Field::V, Field::W], "vel", Values::Vector(&velocity));
    add(&[Field::Speed], "speed", Values::Scalar(&speed));
    add(&[Field::Vorticity], "vorticity", Values::Scalar(&vorticity));
    add(&[Field::Pressure], "pressure", Values::Scalar(&pressure));
    leaves::write(file, &about(frame, solver.stats().time, options), &grids)
}

/// Writes a snapshot as grids, as [`write_vdb`] does: `density`, one for each colour, `temperature` \[K\]
/// and, if the snapshot has the velocity, `vel` \[m/s\].
///
/// # Errors
/// Those of `file`, and [`InvalidInput`](io::ErrorKind::InvalidInput) if an array of the snapshot does not
/// fill its box, or if indices of its cells exceed the range of `i32`.
pub fn write_vdb_snapshot(
    file: impl Write,
    snapshot: &Snapshot,
    frame: Frame,
    options: VdbOptions,
) -> io::Result<()> {
    if let Some(problem) = snapshot.problem_of_shape() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let (dims, up) = (snapshot.dims, options.up);
    let at = |voxel: [i32; 3]| {
        let [i, j, k] = up.cell(voxel, snapshot.origin).map(|n| n as usize);
        dims.index(i, j, k)
    };
    let (origin, size) = up.region(dims, snapshot.origin);
    let active = |n: [usize; 3]| {
        let cell = snapshot.smoke[at([0, 1, 2].map(|a| origin[a] + n[a] as i32))].map(|x| x.to_f32());
        cell[..3].iter().any(|rho| rho.abs() > THINNEST) || cell[3].abs() > COOLEST
    };
    let topology = Topology::of_box(origin, size, active);
    let scalar = |c: usize| move |voxel: [i32; 3]| snapshot.smoke[at(voxel)][c].to_f32();
    let density = |voxel: [i32; 3]| snapshot.smoke[at(voxel)][..3].iter().map(|x| x.to_f32()).sum();
    let [red, green, blue, temperature] = [scalar(0), scalar(1), scalar(2), scalar(3)];
    let velocity = |voxel: [i32; 3]| up.turn([0, 1, 2].map(|c| snapshot.velocity[at(voxel)][c].to_f32()));
    let flame = |voxel: [i32; 3]| flame(temperature(voxel), options);
    let voxels = Voxels { topology: &topology, h: snapshot.h };
    let mut grids: Vec<(&str, Values, Voxels)> = vec![
        ("density", Values::Scalar(&density), voxels),
        ("density_r", Values::Scalar(&red), voxels),
        ("density_g", Values::Scalar(&green), voxels),
        ("density_b", Values::Scalar(&blue), voxels),
        ("temperature", Values::Scalar(&temperature), voxels),
    ];
    if options.flame.is_some() {
        grids.push(("flame", Values::Scalar(&flame), voxels));
    }
    if !snapshot.velocity.is_empty() {
        grids.push(("vel", Values::Vector(&velocity), voxels));
    }
    write_grids(file, &grids, (frame, snapshot.time), options)
}

/// Returns the value of `flame` for a temperature excess \[K\].
fn flame(excess: f32, options: VdbOptions) -> f32 {
    options.flame.map_or(0.0, |full| (excess / full.max(1e-3)).max(0.0))
}

/// Active voxels, and their edge \[m\].
#[derive(Clone, Copy)]
struct Voxels<'a> {
    topology: &'a Topology,
    h: f32,
}

/// Returns the double with the decimals of `h`: 0.03 for a scene with 0.03, not the single float 0.0299999993.
fn in_decimals(h: f32) -> f64 {
    h.to_string().parse().expect("a number reads as one")
}

/// Encodes grids and writes them with the metadata of the frame.
fn write_grids(
    file: impl Write,
    grids: &[(&str, Values, Voxels)],
    (frame, time): (Frame, f64),
    options: VdbOptions,
) -> io::Result<()> {
    let encode = |(name, values, Voxels { topology, h }): &(&str, Values, Voxels)| {
        vdb::Grid { half: options.half, ..vdb::Grid::new(name, in_decimals(*h), topology, *values) }.encode()
    };
    let encoded: Vec<_> = grids.par_iter().map(encode).collect();
    vdb::write(file, &about(frame, time, options), &encoded)
}

/// Returns the metadata of the file of a frame.
fn about(frame: Frame, time: f64, options: VdbOptions) -> [(&'static str, Meta); 6] {
    [
        ("creator", concat!("updraft ", env!("CARGO_PKG_VERSION")).into()),
        ("frame", Meta::Int(frame.number as i32)),
        ("fps", Meta::Float(frame.rate)),
        ("time", Meta::Double(time)),
        ("unit", "m".into()),
        ("up_axis", options.up.name().into()),
    ]
}

/// Returns the index of `field` among the scalars of a cell.
fn channel(field: Field) -> Option<usize> {
    [Field::Red, Field::Green, Field::Blue, Field::Temperature].iter().position(|scalar| *scalar == field)
}

/// Returns the names of the grids that `field` is read from, the best first.
fn grids(field: Field) -> &'static [&'static str] {
    match field {
        Field::Red => &["density_r", "density"],
        Field::Green => &["density_g"],
        Field::Blue => &["density_b"],
        Field::Temperature => &["temperature"],
        Field::U | Field::V | Field::W => &["vel", "velocity", "v"],
        Field::Speed | Field::Vorticity | Field::Pressure => &[],
    }
}

/// Fields in an OpenVDB file.
pub struct Volume<'a> {
    reader: Reader<'a>,
    up: Up,
}

impl<'a> Volume<'a> {
    /// Reads the file `bytes`.
    ///
    /// # Errors
    /// One line, if it is not an OpenVDB file, or holds none of the grids that fields are read from.
    pub fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let reader = Reader::new(bytes).map_err(|error| error.to_string())?;
        let is_z = reader.meta("up_axis") == Some(&Meta::String("z".into()));
        let volume = Self { reader, up: if is_z { Up::Z } else { Up::Y } };
        if Field::STORED.into_iter().any(|field| volume.holds(field)) {
            return Ok(volume);
        }
        let names: Vec<&str> = volume.reader.names().collect();
        Err(format!(
            "it has no grid `density`, `density_r`, `density_g`, `density_b`, `temperature` or `vel`, only [{}]",
            names.join(", ")
        ))
    }

    /// Returns a number that updraft writes beside the grids: the `time` of the frame \[s\] or its
    /// `frame_rate` \[1/s\]; or the `voxel` of the velocity or the `smoke_voxel` \[m\], the edge of a cube of
    /// the same volume. None if the file does not have it.
    pub fn number(&self, name: &str) -> Option<f64> {
        match name {
            "time" => match self.reader.meta("time")? {
                Meta::Double(time) => Some(*time),
                _ => None,
            },
            "frame_rate" => match self.reader.meta("fps")? {
                Meta::Float(rate) => Some((*rate).into()),
                _ => None,
            },
            "voxel" => self.edge(&[Field::U]),
            "smoke_voxel" => self.edge(&[Field::Red, Field::Green, Field::Blue, Field::Temperature]),
            _ => None,
        }
    }

    /// Returns the edge of a cube with the volume of a voxel \[m\], in the grid of the first of `fields` that
    /// it has.
    fn edge(&self, fields: &[Field]) -> Option<f64> {
        let name = fields.iter().find_map(|field| self.grid(*field))?;
        let grid = self.reader.grid(name).ok()?;
        Some(grid.scale.iter().product::<f64>().cbrt())
    }

    /// Returns whether its smoke has active voxels outside a box of `dims` voxels, by its metadata.
    pub fn exceeds(&self, dims: Dims) -> bool {
        let fields = [Field::Red, Field::Green, Field::Blue, Field::Temperature];
        let name = fields.iter().find_map(|field| self.grid(*field));
        let Some(grid) = name.and_then(|name| self.reader.grid(name).ok()) else { return false };
        let corners = ["file_bbox_min", "file_bbox_max"].map(|corner| {
            let found = grid.metadata.iter().find(|(name, _)| name == corner);
            found.and_then(|(_, value)| if let Meta::Vec3i(voxel) = value { Some(*voxel) } else { None })
        });
        let is_within = |voxel: [i32; 3]| {
            let cells = self.up.cell(voxel, [0; 3]).into_iter().zip(dims.array());
            cells.into_iter().all(|(cell, n)| (0..n as isize).contains(&cell))
        };
        !corners.into_iter().flatten().all(is_within)
    }

    /// Returns the number of active voxels of the grid of `field`, by its metadata.
    pub fn active_voxels(&self, field: Field) -> Option<u64> {
        let grid = self.reader.grid(self.grid(field)?).ok()?;
        let (_, count) = grid.metadata.iter().find(|(name, _)| name == "file_voxel_count")?;
        if let Meta::Long(count) = count { u64::try_from(*count).ok() } else { None }
    }

    /// Returns whether `field` can be read from it.
    pub fn holds(&self, field: Field) -> bool {
        self.grid(field).is_some()
    }

    fn grid(&self, field: Field) -> Option<&'static str> {
        let names = grids(field);
        names.iter().copied().find(|name| self.reader.names().any(|held| held == *name))
    }

    /// Interpolates the sum of the colours to a box of `dims` cells of `h` \[m\]; see [`array`](Self::array).
    ///
    /// # Errors
    /// Those of [`array`](Self::array), and a file without a density.
    pub fn density(&self, dims: Dims, h: f32) -> Result<Vec<f32>, String> {
        if self.reader.names().any(|name| name == "density") {
            return self.interpolated("density", None, dims, h);
        }
        let mut sum: Option<Vec<f32>> = None;
        for field in [Field::Red, Field::Green, Field::Blue].into_iter().filter(|field| self.holds(*field)) {
            let values = self.array(field, dims, h)?.values;
            match &mut sum {
                Some(sum) => sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
                None => sum = Some(values),
            }
        }
        sum.ok_or_else(|| "it has no grid `density`".into())
    }

    /// Interpolates the values of `field` to a box of `dims` cells of `h` \[m\], linearly between voxels. The
    /// velocity on a face is the mean of the cells beside it. Outside the volume values are its background.
    ///
    /// # Errors
    /// One line, if the grid is damaged, of another kind, or far finer than the cells.
    pub fn array(&self, field: Field, dims: Dims, h: f32) -> Result<Array, String> {
        let Some(name) = self.grid(field) else { return Err(format!("it has no grid for `{field}`")) };
        let values = self.interpolated(name, field.face_axis(), dims, h)?;
        Ok(Array { shape: field.shape(dims), values })
    }

    /// Interpolates the grid `name` to the centres of a box, or to the faces across `axis`.
    fn interpolated(&self, name: &str, axis: Option<usize>, dims: Dims, h: f32) -> Result<Vec<f32>, String> {
        let failed = |error: vdb::ReadError| error.to_string();
        let grid = self.reader.grid(name).map_err(failed)?;
        if grid.components() != if axis.is_some() { 3 } else { 1 } {
            return Err(format!("grid `{name}` has {} numbers in a voxel", grid.components()));
        }
        // Index coordinates of the centre of a cell.
        let place = |cell: [usize; 3]| {
            let center = self.up.turn(cell.map(|n| (n as f64 + 0.5) * f64::from(h)));
            [0, 1, 2].map(|a| {
                let q = (center[a] - grid.translation[a]) / grid.scale[a];
                if (q - q.round()).abs() < 1e-3 { q.round() } else { q }
            })
        };
        let ends = [place([0; 3]), place(dims.array().map(|n| n - 1))];
        let low = [0, 1, 2].map(|a| ends[0][a].min(ends[1][a]).floor());
        let count = [0, 1, 2].map(|a| ends[0][a].max(ends[1][a]).floor() - low[a] + 2.0);
        let near = low.iter().chain(&count).all(|x| x.abs() < 1e9);
        if !near || count.iter().product::<f64>() > (FINEST * dims.cells()) as f64 + 1e6 {
            return Err(format!(
                "grid `{name}` has voxels of {:?}, far from cells of {h} m: set domain.voxel, or resample it",
                grid.scale.map(|x| x as f32)
            ));
        }
        let origin = low.map(|x| x as i32);
        let size = count.map(|n| n as usize);
        let values = grid.dense(origin, size).map_err(|error| format!("grid `{name}`: {error}"))?;
        let region = Region { low, size, values: &values };
        let center = |cell: [usize; 3]| match axis {
            None => region.sample(0, place(cell)),
            Some(axis) => {
                let p = place(cell);
                self.up.turn_back([0, 1, 2].map(|c| region.sample(c, p)))[axis]
            }
        };
        let mut shape = dims.array();
        axis.into_iter().for_each(|axis| shape[axis] += 1);
        let mut array = vec![0.0; shape.iter().product()];
        array.par_chunks_mut(shape[0]).enumerate().for_each(|(row, out)| {
            for (i, out) in out.iter_mut().enumerate() {
                let at = [i, row % shape[1], row / shape[1]];
                *out = match axis {
                    None => center(at),
                    Some(axis) => {
                        let last = dims.array()[axis] - 1;
                        let cell = |n: usize| center([0, 1, 2].map(|a| if a == axis { n } else { at[a] }));
                        0.5 * (cell(at[axis].saturating_sub(1)) + cell(at[axis].min(last)))
                    }
                };
            }
        });
        match array.iter().all(|x| x.is_finite()) {
            true => Ok(array),
            false => Err(format!("grid `{name}` has values that are not finite numbers")),
        }
    }
}

/// The voxels of a grid around a box.
struct Region<'a> {
    low: [f64; 3],
    size: [usize; 3],
    values: &'a [Vec<f32>],
}

impl Region<'_> {
    /// Interpolates component `c` at index coordinates `q`.
    fn sample(&self, c: usize, q: [f64; 3]) -> f32 {
        let base = q.map(f64::floor);
        let part = [0, 1, 2].map(|a| (q[a] - base[a]) as f32);
        let first = [0, 1, 2].map(|a| (base[a] - self.low[a]) as usize);
        let mut sum = 0.0;
        for corner in 0..8 {
            let up = [corner & 1, corner >> 1 & 1, corner >> 2];
            let weight: f32 = (0..3).map(|a| if up[a] == 1 { part[a] } else { 1.0 - part[a] }).product();
            if weight > 0.0 {
                let [i, j, k] = [0, 1, 2].map(|a| first[a] + up[a]);
                sum += weight * self.values[c][i + self.size[0] * (j + self.size[1] * k)];
            }
        }
        sum
    }
}

/// Writes `fields` as a VTK image for ParaView: cell data, with `density` (the sum of the colours) first and
/// the velocity as one array of vectors at the centres.
///
/// With several ranks all call it. The first writes the file, and receives the planes of the others one after
/// another.
///
/// # Errors
/// Those of `file`, and [`InvalidInput`](io::ErrorKind::InvalidInput) for a pressure that the solver does not keep.
pub fn write_vti(file: impl Write, solver: &Solver, fields: &[Field]) -> io::Result<()> {
    fields.iter().try_for_each(|field| field.check(solver))?;
    let (layout, air, scalars) = (solver.smoke_layout(), solver.layout(), solver.scalars());
    let finer = solver.config().detail;
    let of_density = [Field::Red, Field::Green, Field::Blue];
    // An image has one lattice: finer cells repeat the values of the velocity's cell around them.
    let at_smoke = move |cell: [usize; 3]| layout.start(cell[1], cell[2]) + cell[0];
    let at_air = move |cell: [usize; 3]| {
        let [i, j, k] = cell.map(|n| n / finer);
        air.start(j, k) + i
    };
    let density = |cell| [scalars[at_smoke(cell)][..3].iter().sum(), 0.0, 0.0];
    let velocity = |cell| [0, 1, 2].map(|c| solver.velocity_at_center(c, at_air(cell)));
    type Value<'a> = Box<dyn Fn([usize; 3]) -> [f32; 3] + 'a>;
    let mut arrays: Vec<(&str, usize, Value)> = Vec::new();
    if fields.iter().any(|field| of_density.contains(field)) {
        arrays.push(("density", 1, Box::new(density)));
    }
    for &field in fields.iter().filter(|field| field.face_axis().is_none()) {
        let at = move |cell| if field.is_of_smoke() { at_smoke(cell) } else { at_air(cell) };
        arrays.push((field.name(), 1, Box::new(move |cell| [field.at(solver, at(cell)), 0.0, 0.0])));
    }
    if fields.iter().any(|field| field.face_axis().is_some()) {
        arrays.push(("velocity", 3, Box::new(velocity)));
    }
    let heads: Vec<_> =
        arrays.iter().map(|(name, components, _)| vti::Array { name, components: *components }).collect();
    let h = solver.config().smoke_h().into();
    let corner = solver.config().corner().map(f64::from);
    let [nx, ny, nz] = layout.dims.array();
    let planes = |array: usize, put: &mut dyn FnMut(&[f32]) -> io::Result<()>| {
        let (_, components, value) = &arrays[array];
        let mut plane = vec![0.0; nx * ny * components];
        // Messages are exchanged even after an error of the file, because other ranks wait for them.
        let mut result = Ok(());
        for k in 0..nz {
            let make = |plane: &mut [f32]| {
                for (cell, out) in plane.chunks_exact_mut(*components).enumerate() {
                    out.copy_from_slice(&value([cell % nx, cell / nx, k])[..*components]);
                }
            };
            Field::Red.take_plane(solver, k, &mut plane, make, |plane| {
                if result.is_ok() {
                    result = put(plane);
                }
            });
        }
        result
    };
    match solver.is_first_rank() {
        true => vti::write(file, ([nx, ny, nz], h, corner), solver.stats().time, &heads, planes),
        false => (0..arrays.len()).try_for_each(|array| planes(array, &mut |_| Ok(()))),
    }
}

#[cfg(test)]
mod rank_tests;
