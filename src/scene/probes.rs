//! `[[probe]]`: checked regions and names.

use toml::Spanned;

use super::document::{self, Quantity};
use super::scene_error::Problem;
use super::scene_text::Text;
use super::value::{Number, Vector};
use crate::field::Field;
use crate::probe::{Place, Probe};

/// Resolves the probes of a scene in a box of `extent` metres with some `solids`.
pub fn resolve(
    list: &[document::Probe],
    text: &Text,
    extent: [f32; 3],
    solids: usize,
) -> Result<Vec<Probe>, Box<Problem>> {
    let mut probes: Vec<Probe> = Vec::with_capacity(list.len());
    for read in list {
        let wrong = |span, message: String| text.problem(span, format!("probe.{message}"));
        let taken = probes.iter().any(|probe| probe.name == *read.name.get_ref());
        check_name(read.name.get_ref(), taken).map_err(|message| wrong(read.name.span(), message))?;
        if read.fields.get_ref().is_empty() {
            return Err(wrong(read.fields.span(), "fields: name at least one field".into()));
        }
        let place = place(&read.at, extent, solids).map_err(|message| wrong(read.at.span(), message))?;
        let fields =
            fields(read.fields.get_ref(), place).map_err(|message| wrong(read.fields.span(), message))?;
        let name = read.name.get_ref().clone();
        probes.push(Probe { name, fields, place });
    }
    Ok(probes)
}

/// A name becomes part of a file name.
fn check_name(name: &str, taken: bool) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match name {
        _ if taken => Err(format!("name: another probe is called `{name}` already")),
        "" => Err("name: a probe needs a name".into()),
        name if name.chars().all(plain) => Ok(()),
        _ => Err(format!("name: `{name}` becomes part of a file name; use letters, digits, - and _")),
    }
}

/// Fields to measure. None for a solid, which has only a force.
fn fields(read: &[Quantity], place: Place) -> Result<Vec<Field>, String> {
    let field = |quantity: &Quantity| match (quantity, place) {
        (Quantity::Field(field), Place::Solid(_)) => {
            Err(format!("fields: a solid has no `{field}`; write [\"force\"]"))
        }
        (Quantity::Field(field), _) => Ok(Some(*field)),
        (Quantity::Force, Place::Solid(_)) => Ok(None),
        (Quantity::Force, _) => Err("fields: `force` acts on a solid; write at = { solid = 0 }".into()),
    };
    read.iter().filter_map(|quantity| field(quantity).transpose()).collect()
}

fn place(read: &Spanned<document::Place>, extent: [f32; 3], solids: usize) -> Result<Place, String> {
    match read.get_ref() {
        document::Place::Point(p) => inside(*p, extent).map(Place::Point),
        document::Place::Line(line) => Ok(Place::Line {
            from: inside(line.from, extent)?,
            to: inside(line.to, extent)?,
            points: line.points.get() as u32,
        }),
        document::Place::Plane(plane) => across(plane, extent),
        document::Place::Solid(solid) => {
            let solid = solid.get() as usize;
            let known = format!("at: there is no solid {solid}; the scene has {solids}, counted from 0");
            if solid < solids { Ok(Place::Solid(solid)) } else { Err(known) }
        }
    }
}

fn inside(p: Vector, extent: [f32; 3]) -> Result<[f32; 3], String> {
    let p = p.get();
    let holds = (0..3).all(|a| (0.0..=extent[a] * 1.0001).contains(&p[a]));
    holds.then_some(p).ok_or_else(|| format!("at: {p:?} is outside the box, [0, 0, 0] to {extent:?} metres"))
}

fn across(plane: &document::Plane, extent: [f32; 3]) -> Result<Place, String> {
    let given = [plane.x, plane.y, plane.z].map(|at| at.map(Number::get));
    let mut axes = (0..3).filter_map(|axis| given[axis].map(|at| (axis, at)));
    match (axes.next(), axes.next()) {
        (Some((axis, at)), None) if (0.0..=extent[axis] * 1.0001).contains(&at) => {
            Ok(Place::Plane { axis, at })
        }
        (Some((axis, at)), None) => Err(format!(
            "at: a plane at {at} m misses the box, which is {} m long along that axis",
            extent[axis]
        )),
        _ => Err("at: a plane is { x = … }, { y = … } or { z = … }, one of them".into()),
    }
}
