//! Solids of a scene: from the tables of the file to the solver's solids.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;

use super::builtin;
use super::document::{self, Document, SolidShape};
use super::field_values::FieldValues;
use super::scene_error::{Problem, six_digits};
use super::scene_text::Text;
use super::value::{Number, Pair, Vector, Word};
use crate::solver::{Config, Mesh, MeshError, Motion, Params, Projection, Shape, Slip, Solid};

type Result<T> = std::result::Result<T, Box<Problem>>;

/// Resolves the solids of `doc` in the box of `config`; meshes are files relative to `folder`.
pub fn resolve(
    doc: &Document,
    values: &FieldValues,
    text: &Text,
    folder: &Path,
    config: &Config,
    params: &Params,
) -> Result<Vec<Solid>> {
    let solids: Vec<Solid> =
        doc.solid.iter().map(|read| solid(read, text, folder, config)).collect::<Result<_>>()?;
    if solids.is_empty() {
        return Ok(solids);
    }
    let problem = |key: &str, message: &str| text.problem(values.span(key).unwrap_or_default(), message);
    if config.frozen {
        let message = "solver.flow: a frozen flow ignores solids; remove them, or write \"solved\"";
        return Err(problem("solver.flow", message));
    }
    check_heat(doc, params, text)?;
    if config.projection == Projection::Direct {
        let message = "solver.projection: `direct` supports no solids; write \"auto\" or \"multigrid\"";
        return Err(problem("solver.projection", message));
    }
    Ok(solids)
}

fn solid(read: &document::Solid, text: &Text, folder: &Path, config: &Config) -> Result<Solid> {
    let extent = config.dims.array().map(|n| n as f32 * config.h);
    let position = read.position.map_or(extent.map(|x| 0.5 * x), Vector::get);
    let mut solid = Solid::new(shape(&read.shape, text, folder)?, position);
    if let Some(degrees) = read.rotation {
        solid.rotation = Solid::turn(degrees.get());
    }
    solid.scale = read.scale.map_or(1.0, Number::get);
    solid.slip = read.slip.map_or(Slip::default(), |Word(slip)| slip);
    solid.temperature = read.temperature.as_ref().map(|held| held.get_ref().get());
    if let Some(keyframes) = &read.keyframes {
        solid.keyframes = keyframes.get_ref().iter().map(|Pair(t, at)| (t.get(), at.get())).collect();
        check_times(keyframes, text)?;
    }
    solid.motion = read.motion.map_or(Motion::default(), |Word(motion)| motion);
    if let Some(degrees) = read.spin {
        solid.spin = degrees.get().map(f32::to_radians);
    }
    check_place(&solid, read, text, (extent, config.reach()))?;
    Ok(solid)
}

fn shape(read: &Spanned<SolidShape>, text: &Text, folder: &Path) -> Result<Shape> {
    Ok(match read.get_ref() {
        SolidShape::Sphere(ball) => Shape::Sphere { radius: ball.radius.get() },
        SolidShape::Box(block) => Shape::Box { size: block.size.get() },
        SolidShape::Cylinder(drum) => {
            Shape::Cylinder { radius: drum.radius.get(), height: drum.height.get() }
        }
        SolidShape::Mesh(file) => Shape::Mesh(Arc::new(mesh(file, text, folder)?)),
    })
}

fn mesh(file: &Spanned<String>, text: &Text, folder: &Path) -> Result<Mesh> {
    let fail = |error: MeshError| text.problem(file.span(), format!("solid.shape.mesh: {error}"));
    let name = file.get_ref();
    if let Some(obj) = builtin::mesh(name) {
        return Mesh::from_obj(name, obj).map_err(fail);
    }
    if Path::new(name).extension().is_none() {
        let known = builtin::MESHES.join(", ");
        let message = format!(
            "solid.shape.mesh: no mesh `{name}` comes with updraft ({known} does); or write the name of an .obj or .stl file"
        );
        return Err(text.problem(file.span(), message));
    }
    let path = match text.is_override(&file.span()) {
        true => PathBuf::from(file.get_ref()),
        false => folder.join(file.get_ref()),
    };
    Mesh::load(&path).map_err(fail)
}

fn check_times(keyframes: &Spanned<Vec<document::Keyframe>>, text: &Text) -> Result<()> {
    let times = keyframes.get_ref().iter().map(|key| key.0.get());
    let falls = times.clone().zip(times.skip(1)).find(|(a, b)| b <= a);
    match falls {
        Some((a, b)) => {
            let message = format!("solid.keyframes: {b} s comes after {a} s; times must rise");
            Err(text.problem(keyframes.span(), message))
        }
        None => Ok(()),
    }
}

/// Fails if a solid has a temperature but there is no conduction into the air: that is a mistake.
fn check_heat(doc: &Document, params: &Params, text: &Text) -> Result<()> {
    let conducts = params.conduction > 0.0;
    match doc.solid.iter().find_map(|solid| solid.temperature.as_ref()) {
        Some(held) if !conducts => {
            let message =
                "solid.temperature: reaches the air by conduction alone; set fluid.conduction above 0";
            Err(text.problem(held.span(), message))
        }
        _ => Ok(()),
    }
}

/// Fails if a solid never touches the box, of this `extent`, nor the air within `reach` to which it may come: that is a mistake.
fn check_place(
    solid: &Solid,
    read: &document::Solid,
    text: &Text,
    (extent, reach): ([f32; 3], [[f32; 2]; 3]),
) -> Result<()> {
    let [low, high] = solid.extent();
    let below = |p: [f32; 3], a: usize| p[a] + high[a] <= reach[a][0];
    let above = |p: [f32; 3], a: usize| p[a] + low[a] >= reach[a][1];
    // A solid may enter the box between two keyframes: it certainly stays outside only if all lie beyond one
    // side.
    let places: Vec<[f32; 3]> = match solid.keyframes.as_slice() {
        [] => vec![solid.position],
        keys => keys.iter().map(|key| key.1).collect(),
    };
    let stays_out =
        (0..3).any(|a| places.iter().all(|p| below(*p, a)) || places.iter().all(|p| above(*p, a)));
    // Near an edge or a corner of the box this may report a contact where there is none.
    let touches = |p: [f32; 3]| {
        let apart: f32 = (0..3).map(|a| (p[a] - p[a].clamp(reach[a][0], reach[a][1])).powi(2)).sum();
        apart.sqrt() < solid.scale * solid.shape.bounding_radius()
    };
    if !stays_out && (places.len() > 1 || touches(places[0])) {
        return Ok(());
    }
    let message = format!(
        "solid: it stays outside the box, which spans {:?} m; move it into the box",
        extent.map(six_digits)
    );
    Err(text.problem(read.shape.span(), message))
}
