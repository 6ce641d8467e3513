//! Initial fields: from an npz or OpenVDB file, and from formulas.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use toml::Spanned;

use super::document::{self, Expression};
use super::formula::{self, Definitions, Fault, Formula, Scratch, WIDTH, Wide};
use super::scene_error::{InitialError, Problem, closest};
use super::scene_text::Text;
use crate::field::Field;
use crate::foreign;
use crate::grid::Dims;
use crate::npz::{Array, Reader};
use crate::solver::{Config, Solver};
use crate::volume::Volume;

type Result<T> = std::result::Result<T, Box<Problem>>;

/// Initial fields of a scene. Fields that are not listed start at zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Initial {
    /// A file with some of the fields.
    file: Option<PathBuf>,
    /// Formulas of fields; they override the file.
    formulas: Vec<(Field, Formula)>,
}

impl Initial {
    /// Returns whether all fields start at zero.
    pub fn is_empty(&self) -> bool {
        self.file.is_none() && self.formulas.is_empty()
    }
}

/// Samples along each axis of a cell; their mean is the initial value of a scalar.
const SAMPLES: usize = 4;

/// Points along each axis at which formulas are tried when the scene is read.
const TRIALS: usize = 32;

/// Greatest number of instructions of all trials of a formula, each for [`WIDTH`] points: long formulas are
/// tried at fewer points.
const MOST_TRIED: usize = 1 << 20;

/// Resolves `read`: checks names and shapes in the file, without reading values, and tries the formulas. Also
/// returns the names of `let` that no formula uses.
pub fn resolve(
    read: &document::Initial,
    text: &Text,
    folder: &Path,
    config: &Config,
) -> Result<(Initial, Vec<String>)> {
    let file = check(read, text, folder, config)?;
    let definitions = definitions(read, text)?;
    let (formulas, used) = formulas(read, &definitions, text, config)?;
    let unused = definitions.keys().filter(|name| !used.contains(name.as_str())).cloned().collect();
    Ok((Initial { file, formulas }, unused))
}

fn check(read: &document::Initial, text: &Text, folder: &Path, config: &Config) -> Result<Option<PathBuf>> {
    let Some(file) = &read.fields else { return Ok(None) };
    let path = match text.is_override(&file.span()) {
        true => PathBuf::from(file.get_ref()),
        false => folder.join(file.get_ref()),
    };
    check_file(&path, config)
        .map_err(|message| text.problem(file.span(), format!("initial.fields: {message}")))?;
    Ok(Some(path))
}

fn check_file(path: &Path, config: &Config) -> std::result::Result<(), String> {
    if is_vdb(path) {
        let bytes = foreign::read(path, foreign::VOLUME)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        return Volume::read(&bytes)
            .map(drop)
            .map_err(|what| format!("cannot read {}: {what}", path.display()));
    }
    let mut npz = Reader::open(path).map_err(|error| error.to_string())?;
    let names = npz.names();
    if let Some(stranger) = names.iter().find(|name| !is_known(name)) {
        let known = Field::STORED.map(Field::name);
        let hint = closest(stranger, known).map(|meant| format!("; did you mean `{meant}`?"));
        let hint = hint.unwrap_or_else(|| format!("; fields are {}", known.join(", ")));
        return Err(format!("{} has an array `{stranger}`, which is not a field{hint}", path.display()));
    }
    let held: Vec<Field> =
        Field::STORED.into_iter().filter(|field| names.iter().any(|name| name == field.name())).collect();
    if held.is_empty() {
        return Err(format!(
            "{} holds none of {}",
            path.display(),
            Field::STORED.map(Field::name).join(", ")
        ));
    }
    held.iter().try_for_each(|field| {
        npz.check(field.name(), field.shape(field.grid(config).0)).map_err(|error| error.to_string())
    })
}

/// Returns whether a file of fields is an OpenVDB file, by its extension.
fn is_vdb(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("vdb"))
}

/// Arrays beside the fields in an npz of a run.
const BESIDE: [&str; 14] = [
    "time",
    "voxel",
    "smoke_voxel",
    "frame",
    "frame_rate",
    "mean_from",
    "mean_over",
    "about",
    "cells_x",
    "cells_y",
    "cells_z",
    "first_x",
    "first_y",
    "first_z",
];

/// Returns whether a run writes an array of this name.
fn is_known(name: &str) -> bool {
    BESIDE.contains(&name) || Field::ALL.iter().any(|field| field.name() == name)
}

/// Formulas of fields, with the names that they use.
type Formulas<'d> = (Vec<(Field, Formula)>, BTreeSet<&'d str>);

/// Reads the formulas of `read`, each tried at a few points.
fn formulas<'d>(
    read: &document::Initial,
    definitions: &'d Definitions,
    text: &Text,
    config: &Config,
) -> Result<Formulas<'d>> {
    let written = [&read.u, &read.v, &read.w, &read.temperature, &read.red, &read.green, &read.blue];
    let (mut formulas, mut used) = (Vec::new(), BTreeSet::new());
    for (field, written) in Field::STORED.into_iter().zip(written) {
        let Some(written) = written else { continue };
        let wrong = |span, message: String| text.problem(span, message);
        let parsed = formula::parse(&written.get_ref().0, definitions);
        let (formula, names) = parsed.map_err(|fault| {
            let (key, span) = place(&fault, field, written, read, text);
            wrong(span, format!("initial.{key}: {}", fault.message))
        })?;
        used.extend(names);
        attempt(&formula, field, field.grid(config))
            .map_err(|error| wrong(written.span(), error.to_string()))?;
        formulas.push((field, formula));
    }
    Ok((formulas, used))
}

fn definitions(read: &document::Initial, text: &Text) -> Result<Definitions> {
    for name in read.definitions.keys() {
        formula::check_name(name.get_ref())
            .map_err(|message| text.problem(name.span(), format!("initial.let: {message}")))?;
    }
    let texts = read.definitions.iter();
    Ok(texts.map(|(name, text)| (name.get_ref().clone(), text.get_ref().0.clone())).collect())
}

/// Returns the key and the bytes of a fault.
fn place(
    fault: &Fault,
    field: Field,
    written: &Spanned<Expression>,
    read: &document::Initial,
    text: &Text,
) -> (String, Range<usize>) {
    let defined = |wanted: &str| read.definitions.iter().find(|(name, _)| name.get_ref() == wanted);
    match fault.definition.as_deref().and_then(defined) {
        Some((name, value)) => (format!("let.{}", name.get_ref()), within(value, &fault.at, text)),
        None => (field.name().to_owned(), within(written, &fault.at, text)),
    }
}

/// Returns the place in the scene of the bytes `at` of a formula; that of the whole formula if it contains
/// escapes.
pub(super) fn within(written: &Spanned<Expression>, at: &Range<usize>, text: &Text) -> Range<usize> {
    let span = written.span();
    let raw = text.source(&span);
    let quotes =
        ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| raw.starts_with(*quotes)).unwrap_or("");
    match raw[quotes.len()..].strip_suffix(quotes) {
        Some(inner) if inner == written.get_ref().0 => {
            let start = span.start + quotes.len();
            start + at.start..start + at.end
        }
        _ => span,
    }
}

/// Checks the range of a formula's values at a few points of the box.
fn attempt(formula: &Formula, field: Field, (dims, h): (Dims, f32)) -> std::result::Result<(), InitialError> {
    let shape = field.shape(dims);
    let trials = (MOST_TRIED / formula.length().max(1)).isqrt().clamp(2, TRIALS);
    let points: [Vec<f64>; 3] = std::array::from_fn(|axis| {
        let count = shape[axis].min(trials);
        (0..count).map(|n| coordinate(field, axis, (2 * n + 1) * shape[axis] / (2 * count), h)).collect()
    });
    let mut scratch = Scratch::default();
    let mut wrong = Ok(());
    each_row(&points[1], &points[2], |y, z| {
        let values = row(formula, &points[0], [y, z], &mut scratch);
        let bad = values.iter().position(|value| !is_possible(field, *value));
        if let (Some(at), true) = (bad, wrong.is_ok()) {
            wrong = Err(impossible(field, values[at], [points[0][at], y, z]));
        }
    });
    wrong
}

fn each_row(y: &[f64], z: &[f64], mut f: impl FnMut(f64, f64)) {
    z.iter().for_each(|z| y.iter().for_each(|y| f(*y, *z)));
}

fn is_possible(field: Field, value: f32) -> bool {
    value.abs() <= InitialError::limit(field)
}

fn impossible(field: Field, value: f32, at: [f64; 3]) -> InitialError {
    InitialError::Formula { field, value, at: at.map(|x| (x * 1e6).round() / 1e6) }
}

/// Returns the coordinate of value `n` of a field along an axis \[m\].
fn coordinate(field: Field, axis: usize, n: usize, h: f32) -> f64 {
    let offset = if field.face_axis() == Some(axis) { 0.0 } else { 0.5 };
    (n as f64 + offset) * f64::from(h)
}

/// Returns the values of a formula along x.
fn row(formula: &Formula, x: &[f64], [y, z]: [f64; 2], scratch: &mut Scratch) -> Vec<f32> {
    let mut out = Vec::with_capacity(x.len());
    for x in x.chunks(WIDTH) {
        let mut wide: Wide = [x[0]; WIDTH];
        wide[..x.len()].copy_from_slice(x);
        let values = formula.evaluate([&wide, &[y; WIDTH], &[z; WIDTH]], scratch);
        out.extend(values[..x.len()].iter().map(|value| *value as f32));
    }
    out
}

/// Computes all values of a field from a formula: point values at faces, means over the cell at centres.
fn array(
    formula: &Formula,
    field: Field,
    (dims, h): (Dims, f32),
) -> std::result::Result<Array, InitialError> {
    let shape = field.shape(dims);
    let parts = samples(formula, field, dims);
    let points: [Vec<f64>; 3] = std::array::from_fn(|axis| {
        let all = (0..shape[axis]).flat_map(|n| (0..parts[axis]).map(move |part| (n, part)));
        all.map(|(n, part)| {
            let within = (part as f64 + 0.5) / parts[axis] as f64 - 0.5;
            coordinate(field, axis, n, h) + within * f64::from(h)
        })
        .collect()
    });
    let mut values = vec![0.0; shape.iter().product()];
    let rows = values.par_chunks_mut(shape[0]).enumerate();
    rows.try_for_each_init(Scratch::default, |scratch, (n, out)| {
        let [y, z] = [n % shape[1], n / shape[1]];
        let [y, z] = [&points[1][y * parts[1]..][..parts[1]], &points[2][z * parts[2]..][..parts[2]]];
        mean_row(formula, &points[0], [y, z], scratch, out);
        match out.iter().position(|value| !is_possible(field, *value)) {
            Some(at) => Err(impossible(field, out[at], [points[0][at * parts[0]], y[0], z[0]])),
            None => Ok(()),
        }
    })?;
    Ok(Array { shape, values })
}

/// Returns the number of samples in a cell along each axis: several where a scalar may vary, otherwise one.
fn samples(formula: &Formula, field: Field, dims: Dims) -> [usize; 3] {
    let (uses, cells) = (formula.uses(), dims.array());
    let varies = |axis: usize| field.face_axis().is_none() && uses[axis] && cells[axis] > 1;
    [0, 1, 2].map(|axis| if varies(axis) { SAMPLES } else { 1 })
}

/// Computes a row of means over the samples at `x` in and around each cell, `y` and `z`.
fn mean_row(formula: &Formula, x: &[f64], [y, z]: [&[f64]; 2], scratch: &mut Scratch, out: &mut [f32]) {
    let parts = x.len() / out.len();
    let share = 1.0 / (parts * y.len() * z.len()) as f32;
    each_row(y, z, |y, z| {
        let fine = row(formula, x, [y, z], scratch);
        for (out, fine) in out.iter_mut().zip(fine.chunks(parts)) {
            *out += share * fine.iter().sum::<f32>();
        }
    });
}

/// Fills `solver` with the initial fields.
pub fn fill(solver: &mut Solver, initial: &Initial) -> std::result::Result<(), InitialError> {
    let config = solver.config().clone();
    let (faces, scalars) = with_file(initial, &config, |stored| {
        let mut read = |field: Field| match initial.formulas.iter().find(|(of, _)| *of == field) {
            Some((_, formula)) => array(formula, field, field.grid(&config)).map(Some),
            None => stored(field),
        };
        let [u, v, w, temperature, red, green, blue] = Field::STORED;
        Ok(([read(u)?, read(v)?, read(w)?], [read(red)?, read(green)?, read(blue)?, read(temperature)?]))
    })?;
    solver.fill(
        |axis, p| value(&faces[axis], cell(p, config.h, Some(axis))),
        |p| [0, 1, 2, 3].map(|c| value(&scalars[c], cell(p, config.smoke_h(), None))),
    );
    Ok(())
}

/// Reads and checks the fields in the file of `initial` that no formula replaces, one after the other.
pub fn check_values(initial: &Initial, config: &Config) -> std::result::Result<(), InitialError> {
    let is_read = |field: &Field| initial.formulas.iter().all(|(of, _)| of != field);
    with_file(initial, config, |stored| {
        Field::STORED.into_iter().filter(is_read).try_for_each(|field| stored(field).map(drop))
    })
}

/// Reader of one field, if the file holds it.
type Stored<'a> = dyn FnMut(Field) -> std::result::Result<Option<Array>, InitialError> + 'a;

/// Opens the file of `initial`, if there is one, and calls `with` with a reader of its fields.
fn with_file<T>(
    initial: &Initial,
    config: &Config,
    with: impl FnOnce(&mut Stored) -> std::result::Result<T, InitialError>,
) -> std::result::Result<T, InitialError> {
    let Some(path) = &initial.file else { return with(&mut |_| Ok(None)) };
    if is_vdb(path) {
        let bytes = foreign::read(path, foreign::VOLUME);
        let bytes = bytes.map_err(|error| InitialError::Volume(error.to_string()))?;
        let volume = Volume::read(&bytes).map_err(InitialError::Volume)?;
        return with(&mut |field| match volume.holds(field) {
            true => {
                let (dims, h) = field.grid(config);
                let array = volume.array(field, dims, h).map_err(InitialError::Volume)?;
                within_limits(field, array).map(Some)
            }
            false => Ok(None),
        });
    }
    let mut npz = Reader::open(path)?;
    let names = npz.names();
    with(&mut |field| match names.iter().any(|name| name == field.name()) {
        true => within_limits(field, npz.array(field.name(), field.shape(field.grid(config).0))?).map(Some),
        false => Ok(None),
    })
}

/// Returns `array` if its values are in the range of the field.
fn within_limits(field: Field, array: Array) -> std::result::Result<Array, InitialError> {
    match array.values.iter().find(|value| !is_possible(field, **value)) {
        Some(&value) => Err(InitialError::Stored { field, value }),
        None => Ok(array),
    }
}

/// Returns the indices of the value at `p`, which lies on a face across `axis` or at a centre.
fn cell(p: [f32; 3], h: f32, axis: Option<usize>) -> [usize; 3] {
    std::array::from_fn(|a| if axis == Some(a) { (p[a] / h).round() } else { (p[a] / h).floor() } as usize)
}

/// Returns the value at these indices. The solver also asks for faces just outside the box, which get the
/// value of their neighbour: the boundary conditions overwrite them.
fn value(array: &Option<Array>, at: [usize; 3]) -> f32 {
    let Some(Array { shape, values }) = array else { return 0.0 };
    let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a].min(shape[a] - 1));
    values[i + shape[0] * (j + shape[1] * k)]
}
