//! The fields at the start, from an npz such as a run writes.

use std::path::{Path, PathBuf};

use super::document;
use super::error::{Problem, closest};
use super::text::Text;
use crate::field::Field;
use crate::grid::Dims;
use crate::npz::{Array, NpzError, Reader};
use crate::solver::Solver;

/// The file that the scene names, after a look at what it holds: names and shapes, no values yet.
pub fn check(
    read: &document::Initial,
    text: &Text,
    folder: &Path,
    dims: Dims,
) -> Result<Option<PathBuf>, Box<Problem>> {
    let Some(file) = &read.fields else { return Ok(None) };
    let path = match text.is_override(&file.span()) {
        true => PathBuf::from(file.get_ref()),
        false => folder.join(file.get_ref()),
    };
    check_file(&path, dims)
        .map_err(|message| text.problem(file.span(), format!("initial.fields: {message}")))?;
    Ok(Some(path))
}

fn check_file(path: &Path, dims: Dims) -> Result<(), String> {
    let mut npz = Reader::open(path).map_err(|error| error.to_string())?;
    let names = npz.names();
    if let Some(stranger) = names.iter().find(|name| !is_known(name)) {
        let known = Field::STORED.map(Field::name);
        let hint = closest(stranger, known).map(|meant| format!("; did you mean `{meant}`?"));
        let hint = hint.unwrap_or_else(|| format!("; fields are {}", known.join(", ")));
        return Err(format!("{} holds `{stranger}`, which is no field{hint}", path.display()));
    }
    for field in Field::STORED.into_iter().filter(|field| names.iter().any(|name| name == field.name())) {
        npz.check(field.name(), field.shape(dims)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Whether a run writes something of this name.
fn is_known(name: &str) -> bool {
    ["time", "voxel"].contains(&name) || Field::ALL.iter().any(|field| field.name() == name)
}

/// Fills `solver` from the npz at `path`; a field that is not in it stays at zero.
pub fn fill(solver: &mut Solver, path: &Path) -> Result<(), NpzError> {
    let mut npz = Reader::open(path)?;
    let names = npz.names();
    let (dims, h) = (solver.config().dims, solver.config().h);
    let mut read = |field: Field| match names.iter().any(|name| name == field.name()) {
        true => npz.array(field.name(), field.shape(dims)).map(Some),
        false => Ok(None),
    };
    let [u, v, w, temperature, red, green, blue] = Field::STORED;
    let faces = [read(u)?, read(v)?, read(w)?];
    let scalars = [read(red)?, read(green)?, read(blue)?, read(temperature)?];
    solver.fill(
        |axis, p| value(&faces[axis], cell(p, h, Some(axis))),
        |p| [0, 1, 2, 3].map(|c| value(&scalars[c], cell(p, h, None))),
    );
    Ok(())
}

/// The indices of the value at `p`, which lies on a face across `axis` or at a centre.
fn cell(p: [f32; 3], h: f32, axis: Option<usize>) -> [usize; 3] {
    std::array::from_fn(|a| if axis == Some(a) { (p[a] / h).round() } else { (p[a] / h).floor() } as usize)
}

/// The value there. The solver also asks for faces just outside the box, which it then overwrites by the rules of
/// the sides: they get the value of their neighbour.
fn value(array: &Option<Array>, at: [usize; 3]) -> f32 {
    let Some(Array { shape, values }) = array else { return 0.0 };
    let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a].min(shape[a] - 1));
    values[i + shape[0] * (j + shape[1] * k)]
}
