//! Saving a scene: its own file, comments included, with the changes made in the window.
//!
//! Three scenes are compared: the file alone; the file with the overrides of the command line, as loaded; and
//! the present scene. Differences between the last two were made in the window and are set in the text of the
//! file. The rest of the text is kept byte for byte, and no override is saved. The result is read again
//! before it is returned, so no file is written that would read back as another scene.

use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::checked_scene::Scene;
use super::file_names::{FILES, absolute};
use super::origin::Origin;
use super::scene_error::SceneError;
use super::{resolve, scene_text};
use crate::look::{CameraProjection, Lens};
use crate::parameter::{self, FieldAccess, Holder, Worded};

impl Scene {
    /// Returns the text that the scene was read from, with overrides, and with absolute file names.
    ///
    /// # Errors
    /// [`SceneError::Unwritable`] if the text is invalid TOML.
    pub fn text(&self) -> Result<String, SceneError> {
        let Origin { text, overrides, folder, .. } = &*self.origin;
        let merged = scene_text::Text::new(&self.name, text, overrides).merged()?;
        let mut document: DocumentMut = merged.parse().map_err(|error: toml_edit::TomlError| {
            SceneError::Unwritable { name: self.name.clone(), why: error.to_string() }
        })?;
        move_files(document.as_table_mut(), folder);
        Ok(document.to_string())
    }

    /// Returns the scene as a file in `folder`: its original text, without overrides, with the changes since
    /// it was loaded. File names are adapted to `folder`.
    ///
    /// # Errors
    /// [`SceneError::Unwritable`] if the text would not read back as the file with these changes.
    pub fn write(&self, folder: &Path) -> Result<String, SceneError> {
        let Origin { text, overrides, folder: from, .. } = &*self.origin;
        let fail = |why: String| SceneError::Unwritable { name: self.name.clone(), why };
        let read = |text: &str, overrides: &[String], folder: &Path| {
            parse(&self.name, text, overrides, folder).map_err(|error| fail(error.to_string()))
        };
        let loaded = read(text, overrides, from)?;
        let changes = changes(&loaded, self);
        let mut document: DocumentMut =
            text.parse().map_err(|e: toml_edit::TomlError| fail(e.to_string()))?;
        if full(from) != full(folder) {
            move_files(document.as_table_mut(), from);
        }
        for (key, value) in &changes {
            let path: Vec<&str> = key.split('.').collect();
            set(document.as_table_mut(), false, &path, value.clone())
                .ok_or_else(|| fail(format!("there is no place for `{key}` in the file")))?;
        }
        let written = restore(text, &document.to_string());
        let keys: Vec<&str> = changes.iter().map(|(key, _)| key.as_str()).collect();
        if copy_values(&keys, self, loaded.clone()) != *self {
            return Err(fail("more has changed than a scene file holds".into()));
        }
        // Some files are valid only with their overrides, and cannot be read without them.
        let alone = if overrides.is_empty() { Ok(loaded.clone()) } else { read(text, &[], from) };
        let (base, with) = match alone {
            Ok(file) => (file, [].as_slice()),
            Err(_) => (loaded, overrides.as_slice()),
        };
        let kept: Vec<String> = with.iter().filter(|set| !keys.contains(&key_of(set))).cloned().collect();
        match read(&written, &kept, folder)? == copy_values(&keys, self, base) {
            true => Ok(written),
            false => Err(fail("the file would be read as another scene".into())),
        }
    }
}

/// Restores in `new` the byte order mark and line ends of `old`, which the TOML editor drops. New lines end
/// as the first line of `old` does.
pub(super) fn restore(old: &str, new: &str) -> String {
    let ending = |line: &str| if line.ends_with("\r\n") { "\r\n" } else { "\n" };
    let mut out = old
        .strip_prefix('\u{feff}')
        .filter(|_| !new.starts_with('\u{feff}'))
        .map_or("", |_| "\u{feff}")
        .to_owned();
    let is_ended = old.ends_with('\n');
    let old: Vec<&str> = old.trim_start_matches('\u{feff}').split_inclusive('\n').collect();
    let usual = old.first().map_or("\n", |line| ending(line));
    let mut at = 0;
    for line in new.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        let same = |old: &&str| old.trim_end_matches(['\r', '\n']) == content;
        let end = match old[at..].iter().position(same) {
            Some(ahead) => {
                at += ahead + 1;
                ending(old[at - 1])
            }
            None => usual,
        };
        out.push_str(content);
        out.push_str(if line.ends_with('\n') { end } else { "" });
    }
    if !is_ended {
        out.truncate(out.trim_end_matches(['\r', '\n']).len());
    }
    out
}

fn parse(name: &str, text: &str, overrides: &[String], folder: &Path) -> Result<Scene, SceneError> {
    Ok(resolve::scene(name.to_owned(), &scene_text::Text::new(name, text, overrides), folder)?)
}

/// Returns the key of an override `key=value`.
fn key_of(set: &str) -> &str {
    set.split_once('=').map_or(set, |(key, _)| key.trim())
}

/// Returns the keys that turn one scene into another, with their values; `None` removes a key.
fn changes(old: &Scene, new: &Scene) -> Vec<(String, Option<Value>)> {
    let mut changes: Vec<(String, Option<Value>)> = parameter::all()
        .filter_map(|parameter| Some((parameter, parameter.field()?)))
        .filter(|(_, field)| value(old, field) != value(new, field))
        .map(|(parameter, field)| (parameter.path.clone(), Some(in_toml(value(new, field)))))
        .collect();
    let mut change = |key: String, value: Option<Value>| changes.push((key, value));
    if old.time.frame_rate != new.time.frame_rate {
        change("time.frame_rate".into(), Some(number(new.time.frame_rate).into()));
    }
    if old.time.step != new.time.step {
        change("time.step".into(), new.time.step.map(|step| number(step).into()));
    }
    if old.size != new.size {
        change("render.size".into(), Some(new.size.iter().map(|n| i64::from(*n)).collect::<Array>().into()));
    }
    for n in (0..new.solids.len()).filter(|&n| old.look.solid(n) != new.look.solid(n)) {
        change(format!("solid.{n}.color"), Some(list(&new.look.solid(n))));
    }
    for n in (0..new.solids.len()).filter(|&n| old.look.roughness(n) != new.look.roughness(n)) {
        change(format!("solid.{n}.roughness"), Some(number(new.look.roughness(n)).into()));
    }
    // The default position and target of a camera frame the box, so they depend on its angle and the aspect
    // of the picture.
    if old.camera != new.camera || old.size != new.size {
        let camera = &new.camera;
        change(format!("{CAMERA}position"), Some(list(&camera.position)));
        change(format!("{CAMERA}target"), Some(list(&camera.target)));
        change(format!("{CAMERA}up"), Some(list(&camera.up)));
        change(format!("{CAMERA}fov"), Some(number(camera.fov).into()));
        let usual = camera.projection == CameraProjection::default();
        if !usual || old.camera.projection != camera.projection {
            change(format!("{CAMERA}projection"), Some(camera.projection.word().into()));
        }
        let Lens { aperture, focus, shutter } = camera.lens;
        let was = old.camera.lens;
        let blur = [
            ("aperture", aperture, was.aperture),
            ("focus", focus, was.focus),
            ("shutter", shutter, was.shutter),
        ];
        for (key, value, _) in blur.into_iter().filter(|(_, value, was)| value != was) {
            change(format!("{CAMERA}{key}"), Some(number(value).into()));
        }
    }
    changes
}

const CAMERA: &str = "render.camera.";

/// Copies the values of `keys` from `from` to `to`.
fn copy_values(keys: &[&str], from: &Scene, mut to: Scene) -> Scene {
    for key in keys {
        match *key {
            "time.frame_rate" => to.time.frame_rate = from.time.frame_rate,
            // A fixed step is never divided.
            "time.step" => {
                (to.time.step, to.config.time) = (from.time.step, from.config.time);
                to.config.is_step_fixed = from.config.is_step_fixed;
            }
            "render.size" => to.size = from.size,
            key if key.starts_with(CAMERA) => to.camera = from.camera,
            key if key.starts_with("solid.") => {
                to.look.solids.clone_from(&from.look.solids);
                to.look.roughness.clone_from(&from.look.roughness);
            }
            key => {
                let field = parameter::of(key).field().expect("a change is of a field or one of the above");
                let value = value(from, field);
                to.params.set_value(field, value);
                to.look.set_value(field, value);
                to.config.set_value(field, value);
            }
        }
    }
    to
}

/// Returns the value of a field in the part of the scene that has it.
fn value(scene: &Scene, field: &FieldAccess) -> parameter::Value {
    let parts = [scene.params.value(field), scene.look.value(field), scene.config.value(field)];
    parts.into_iter().flatten().next().expect("every field is in one of the three")
}

fn in_toml(value: parameter::Value) -> Value {
    match value {
        parameter::Value::Number(x) => number(x).into(),
        parameter::Value::Triple(values) => list(&values),
        parameter::Value::Whole(n) => i64::from(n).into(),
        parameter::Value::Flag(on) => on.into(),
        parameter::Value::Word(word) => word.into(),
    }
}

fn list(values: &[f32]) -> Value {
    values.iter().map(|x| number(*x)).collect::<Array>().into()
}

/// Returns the shortest number that reads back as `x`.
pub(super) fn number(x: f32) -> f64 {
    match x.to_string().parse::<f64>() {
        Ok(short) if short as f32 == x => short,
        _ => f64::from(x),
    }
}

/// Sets the value at `path` below `table`, or removes it. None if the path leads through a value that is no
/// table.
pub(super) fn set(
    table: &mut dyn TableLike,
    inline: bool,
    path: &[&str],
    value: Option<Value>,
) -> Option<()> {
    let (key, rest) = path.split_first()?;
    if rest.is_empty() {
        match value {
            Some(value) => merge::put(table, key, value),
            None => drop(table.remove(key)),
        }
        return Some(());
    }
    let inner = table.entry(key).or_insert_with(|| fresh(inline));
    if let Ok(index) = rest[0].parse::<usize>() {
        return set_element(inner, index, &rest[1..], value);
    }
    let inline = inner.is_inline_table();
    set(inner.as_table_like_mut()?, inline, rest, value)
}

/// Returns an empty table, without a header until it holds values.
fn fresh(inline: bool) -> Item {
    if inline {
        return Item::Value(Value::InlineTable(Default::default()));
    }
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Sets a value in element `index` of a list of tables, in either notation.
fn set_element(list: &mut Item, index: usize, path: &[&str], value: Option<Value>) -> Option<()> {
    if let Some(tables) = list.as_array_of_tables_mut() {
        return set(tables.get_mut(index)?, false, path, value);
    }
    set(list.as_array_mut()?.get_mut(index)?.as_inline_table_mut()?, true, path, value)
}

/// Returns the canonical path of a folder, if it exists.
fn full(folder: &Path) -> PathBuf {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Makes file names relative to `folder` absolute.
fn move_files(table: &mut dyn TableLike, folder: &Path) {
    for (key, item) in table.iter_mut() {
        let may_name = FILES.contains(&key.get());
        move_item(item, may_name, folder);
    }
}

fn move_item(item: &mut Item, may_name: bool, folder: &Path) {
    match item {
        Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|table| move_files(table, folder)),
        Item::Table(table) => move_files(table, folder),
        Item::Value(value) => move_value(value, may_name, folder),
        Item::None => {}
    }
}

fn move_value(value: &mut Value, may_name: bool, folder: &Path) {
    if let Some(path) = value.as_str().filter(|_| may_name).and_then(|name| absolute(folder, name)) {
        let decor = value.decor().clone();
        *value = path.to_string_lossy().into_owned().into();
        *value.decor_mut() = decor;
    }
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| move_value(value, false, folder)),
        Value::InlineTable(table) => move_files(table, folder),
        _ => {}
    }
}

pub(super) mod merge;
#[cfg(test)]
mod tests;
