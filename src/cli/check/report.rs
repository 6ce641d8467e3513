//! The report of `updraft check --json`. Keys are stable: new ones may be added, but none is removed or
//! changes its meaning.

use serde_json::{Map, Value, json};

use super::disk::{Disk, Memory};
use super::rounded;
use crate::cli::frames::Frames;
use crate::cli::machine;
use crate::foreign::{shortened, visible};
use crate::parameter::{
    self, ForceKind, Holder, PlaceKind, RegionKind, SideKind, SideName, SolidKind, Worded,
};
use crate::probe::ProbePlace;
use crate::scene::{Scene, SceneError};
use crate::solver::{BoundaryCondition, Force, ForceField, Form, Region, Shape, SideValues, Solid, Source};

/// Describes a valid scene.
pub fn valid(scene: &Scene, frames: Frames, about: Map<String, Value>) -> Value {
    let disk = Disk::of(scene);
    let memory = Memory::of(scene);
    let (steps, dt) = scene.time.steps_per_frame();
    json!({
        "scene": scene.name,
        "valid": true,
        "box": {
            "cells": scene.config.dims.array(),
            "voxel": scene.config.h,
            "detail": scene.config.detail,
            "extent": scene.extent().map(rounded),
            "follow": scene.config.follow.on,
        },
        "sides": sides(scene),
        "time": {
            "frame_rate": scene.time.frame_rate,
            "steps_per_frame": steps,
            "step": dt,
            "is_fixed": scene.time.step.is_some(),
            "cfl": scene.config.time.cfl,
            "max_substeps": scene.config.time.max_substeps,
        },
        "sources": scene.sources.iter().map(source).collect::<Vec<_>>(),
        "fills": scene.fills.iter().map(|fill| region(&fill.region)).collect::<Vec<_>>(),
        "solids": scene.solids.iter().map(solid).collect::<Vec<_>>(),
        "forces": scene.forces.iter().map(force).collect::<Vec<_>>(),
        "probes": scene.probes.iter().map(probe).collect::<Vec<_>>(),
        "parameters": parameters(scene),
        "picture": { "size": scene.size },
        "frames": { "first": frames.first, "last": frames.last, "step": frames.step, "count": frames.count() },
        "memory_bytes": {
            "simulation": memory.simulation,
            "picture": memory.picture,
            "volume": memory.volume,
            "available": memory.available,
        },
        "disk_bytes": {
            "per_frame": table(disk.per_frame),
            "all_frames": table(disk.of_frames(frames)),
            "vdb_per_frame_when_full": disk.vdb_full,
            "checkpoint": disk.checkpoint,
        },
        "threads": match scene.config.threads {
            0 => machine::processors(),
            n => n,
        },
        "said": about,
    })
}

/// Describes an error of a scene, with its place if it has one.
pub fn invalid(name: &str, error: &SceneError) -> Value {
    let words = |text: &str| visible(&shortened(text, 1000));
    let place = match error {
        SceneError::At(problem) => json!({
            "in": words(problem.name()),
            "line": problem.line,
            "column": problem.column,
            "message": words(&problem.message),
        }),
        other => json!({ "in": null, "line": null, "column": null, "message": words(&other.to_string()) }),
    };
    json!({ "scene": words(name), "valid": false, "error": place })
}

fn table(rows: impl IntoIterator<Item = (&'static str, u64)>) -> Value {
    rows.into_iter().map(|(name, bytes)| (name.to_owned(), json!(bytes))).collect::<Map<_, _>>().into()
}

/// Lists every key with its value in the scene, whether the scene names it or not.
fn parameters(scene: &Scene) -> Value {
    let value = |parameter| {
        let value = scene.params.value_of(parameter).or_else(|| scene.look.value_of(parameter));
        let value = value.or_else(|| scene.config.value_of(parameter))?;
        Some((parameter.path.clone(), number(value)))
    };
    parameter::all().filter_map(value).collect::<Map<_, _>>().into()
}

fn number(value: parameter::Value) -> Value {
    match value {
        parameter::Value::Number(x) => json!(x),
        parameter::Value::Triple(v) => json!(v),
        parameter::Value::Whole(n) => json!(n),
        parameter::Value::Flag(flag) => json!(flag),
        parameter::Value::Word(word) => json!(word),
    }
}

/// Values of a side that may be formulas, in the order of the solver.
const VALUES: [&str; 7] = ["u", "v", "w", "red", "green", "blue", "temperature"];

fn sides(scene: &Scene) -> Value {
    let mut sides = Map::new();
    for (axis, ends) in SideName::ALL.iter().enumerate() {
        for (end, name) in ends.iter().enumerate() {
            let side = &scene.config.sides[axis][end];
            let velocity = match side {
                BoundaryCondition::NoSlip(velocity) => Some(*velocity),
                BoundaryCondition::Inflow(inflow) => Some(inflow.velocity),
                _ => None,
            };
            let (kind, held) = (SideKind::of(side).word(), scene.config.held[axis][end]);
            let given = scene.side_formulas.iter().find(|formulas| formulas.is_of(axis, end));
            let given = |quantity: &usize| given.is_some_and(|formulas| formulas.gives(*quantity));
            let formulas: Vec<&str> =
                (0..VALUES.len()).filter(given).map(|quantity| VALUES[quantity]).collect();
            let about =
                json!({ "kind": kind, "velocity": velocity, "temperature": held, "formulas": formulas });
            sides.insert(name.word().to_owned(), about);
        }
    }
    sides.into()
}

fn shape(shape: &Shape) -> Map<String, Value> {
    let mut about = match shape {
        // The size of a default shape is a share of the box.
        Shape::Sphere { radius } => json!({ "radius": rounded(*radius) }),
        Shape::Box { size } => json!({ "size": size }),
        Shape::Cylinder { radius, height } => json!({ "radius": radius, "height": height }),
        Shape::Mesh(mesh) => json!({ "triangles": mesh.triangles().len() }),
    };
    about["shape"] = json!(SolidKind::of(shape).word());
    about.as_object().cloned().unwrap_or_default()
}

fn region(region: &Region) -> Value {
    let mut about = match &region.form {
        Form::Body(body) => shape(body),
        Form::Card(card) => {
            Map::from_iter([("shape".to_owned(), json!("card")), ("size".to_owned(), json!(card.size()))])
        }
        Form::Cloud(cloud) => Map::from_iter([
            ("shape".to_owned(), json!(RegionKind::Volume.word())),
            ("size".to_owned(), json!(cloud.size())),
        ]),
    };
    about.insert("position".into(), json!(region.position.map(rounded)));
    about.insert("scale".into(), json!(region.scale));
    about.into()
}

fn source(source: &Source) -> Value {
    let mut about = region(&source.region);
    let [red, green, blue, heat] = source.rate;
    about["emit"] = json!({ "red": red, "green": green, "blue": blue, "heat": heat });
    about["velocity"] = json!(source.velocity);
    about["start"] = json!(source.start);
    about["stop"] = json!(source.stop.is_finite().then_some(source.stop));
    about
}

fn solid(solid: &Solid) -> Value {
    let mut about = shape(&solid.shape);
    about.insert("position".into(), json!(solid.position_at(0.0)));
    about.insert("scale".into(), json!(solid.scale));
    about.insert("keyframes".into(), json!(solid.keyframes.len()));
    about.insert("spin".into(), json!(solid.spin));
    about.insert("is_moving".into(), json!(super::is_moving(solid)));
    about.insert("temperature".into(), json!(solid.temperature));
    about.into()
}

fn force(force: &Force) -> Value {
    let mut about = match &force.field {
        ForceField::Wind(vector) => json!({ "vector": vector }),
        ForceField::Custom(_) => json!({}),
        ForceField::Point { center, radius, strength, .. } => {
            json!({ "center": center, "radius": radius, "strength": strength })
        }
        ForceField::Vortex { center, axis, radius, strength } => {
            json!({ "center": center, "axis": axis, "radius": radius, "strength": strength })
        }
    };
    about["kind"] = json!(ForceKind::of(&force.field).map_or("custom", ForceKind::word));
    about
}

fn probe(probe: &crate::probe::Probe) -> Value {
    let place = match probe.place {
        ProbePlace::Point(_) => PlaceKind::Point,
        ProbePlace::Line { .. } => PlaceKind::Line,
        ProbePlace::Plane { .. } => PlaceKind::Plane,
        ProbePlace::Box { .. } => PlaceKind::Box,
        ProbePlace::Side { .. } => PlaceKind::Side,
        ProbePlace::Solid(_) => PlaceKind::Solid,
    };
    json!({ "name": probe.name, "place": place.word(), "columns": probe.columns() })
}
