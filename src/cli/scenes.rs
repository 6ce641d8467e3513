//! `updraft scenes`: lists the built-in scenes, or prints the text of one.

use serde_json::{Value, json};

use super::{CliError, say, say_json};
use crate::scene::{Scene, builtin, closest};

/// List the built-in scenes, or print one.
#[derive(Debug, clap::Args)]
pub struct ScenesArgs {
    /// The scene to print
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print JSON: for each scene its name, what it shows, its size and its text
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &ScenesArgs) -> Result<(), CliError> {
    match (&args.name, args.json) {
        (Some(name), false) => say(builtin::text(name).ok_or_else(|| unknown(name))?),
        (None, false) => say(&list()),
        (Some(name), true) => say_json(&about(name)?),
        (None, true) => {
            let scenes = builtin::NAMES.iter().map(|name| about(name)).collect::<Result<Vec<_>, _>>()?;
            say_json(&json!({ "scenes": scenes }))
        }
    }
}

/// Describes a built-in scene. Keys are stable: new ones may be added, but none is removed or changes its
/// meaning.
fn about(name: &str) -> Result<Value, CliError> {
    let text = builtin::text(name).ok_or_else(|| unknown(name))?;
    let scene = Scene::load(name, &[])?;
    Ok(json!({
        "name": name,
        "summary": builtin::summary(name),
        "cells": scene.config.dims.array(),
        "extent": scene.extent(),
        "picture_size": scene.size,
        "memory_bytes": scene.memory(),
        "text": text,
    }))
}

fn list() -> String {
    let width = builtin::NAMES.iter().map(|name| name.len()).max().unwrap_or(0);
    let line = |name: &&str| format!("{name:width$}  {}\n", builtin::summary(name).unwrap_or_default());
    builtin::NAMES.iter().map(line).collect()
}

fn unknown(name: &str) -> CliError {
    let hint = closest(name, builtin::NAMES.iter().copied());
    let hint = hint.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    CliError::Request(format!("no built-in scene `{name}`; there are {}{hint}", builtin::NAMES.join(", ")))
}
