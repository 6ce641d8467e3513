//! A scene written back as TOML: its own file, comments and all, with what has changed since in it.
//!
//! What the window changes are plain values: the constants of the model, the look, the camera, the pace. Each is an
//! [`Entry`] with the key it is written at. Those that differ from what the file says are set in it, the rest of the text stays
//! as it is. The result is read again before anybody sees it, so that no scene is written that would come back as another.

use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use super::{Origin, Scene, SceneError, resolve, text};
use crate::look::Scattering;
use crate::solver::Ambient;

/// A value as it is written.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Number(f32),
    List(Vec<f32>),
    Whole(u32),
    Pair([u32; 2]),
    Flag(bool),
    Word(&'static str),
    /// The key is left out.
    Absent,
}

impl Scene {
    /// The text that it was read from, overrides included, with the files it names found from wherever it is put.
    ///
    /// # Errors
    /// [`SceneError::Unwritable`] if that is no TOML.
    pub fn text(&self) -> Result<String, SceneError> {
        let Origin { text, folder, .. } = &*self.origin;
        let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            SceneError::Unwritable { name: self.name.clone(), why: error.to_string() }
        })?;
        move_files(document.as_table_mut(), folder);
        Ok(document.to_string())
    }

    /// The scene as a file in `folder`: what it was read from, with what has changed since in it. Files that it names are
    /// then found from there.
    ///
    /// # Errors
    /// [`SceneError::Unwritable`] if the text would not be read as this scene.
    pub fn write(&self, folder: &Path) -> Result<String, SceneError> {
        let Origin { text, folder: from, .. } = &*self.origin;
        let fail = |why: String| SceneError::Unwritable { name: self.name.clone(), why };
        let old = parse(&self.name, text, from).map_err(|error| fail(error.to_string()))?;
        let mut document: DocumentMut =
            text.parse().map_err(|e: toml_edit::TomlError| fail(e.to_string()))?;
        if full(from) != full(folder) {
            move_files(document.as_table_mut(), from);
        }
        for (key, entry) in changes(&old, self) {
            let path: Vec<&str> = key.split('.').collect();
            set(document.as_table_mut(), false, &path, entry.value())
                .ok_or_else(|| fail(format!("there is no place for `{key}`")))?;
        }
        let text = document.to_string();
        let read = parse(&self.name, &text, folder).map_err(|error| fail(error.to_string()))?;
        if read == *self { Ok(text) } else { Err(fail("more has changed than a scene file holds".into())) }
    }
}

fn parse(name: &str, text: &str, folder: &Path) -> Result<Scene, SceneError> {
    Ok(resolve::scene(name.to_owned(), &text::Text::new(name, text, &[]), folder)?)
}

/// What is to be written to turn one scene into another.
fn changes(old: &Scene, new: &Scene) -> Vec<(String, Entry)> {
    let differ = |(a, b): &((String, Entry), (String, Entry))| a != b;
    let plain = entries(old).into_iter().zip(entries(new)).filter(differ).map(|(_, new)| new);
    let mut changes: Vec<(String, Entry)> = plain.collect();
    // A camera of which a part is left out frames the box, by its angle and the shape of the picture.
    if old.camera != new.camera || old.size != new.size {
        changes.extend(camera(new));
    }
    changes
}

/// All that can be changed, but for the camera.
fn entries(scene: &Scene) -> Vec<(String, Entry)> {
    [time(scene), fluid(scene), smokes(scene), render(scene), medium(scene), light(scene), solids(scene)]
        .concat()
}

fn named<const N: usize>(table: &str, entries: [(&str, Entry); N]) -> Vec<(String, Entry)> {
    entries.into_iter().map(|(key, entry)| (format!("{table}.{key}"), entry)).collect()
}

fn list(values: &[f32]) -> Entry {
    Entry::List(values.to_vec())
}

fn time(scene: &Scene) -> Vec<(String, Entry)> {
    let step = scene.time.step.map_or(Entry::Absent, Entry::Number);
    named("time", [("frame_rate", Entry::Number(scene.time.frame_rate)), ("step", step)])
}

fn fluid(scene: &Scene) -> Vec<(String, Entry)> {
    let p = &scene.params;
    let ambient = match p.ambient {
        Ambient::Fixed(excess) => Entry::Number(excess),
        Ambient::Mean => Entry::Word("mean"),
    };
    let numbers = [
        ("heat_buoyancy", Entry::Number(p.heat_buoyancy)),
        ("cooling", Entry::Number(p.cooling)),
        ("vorticity", Entry::Number(p.vorticity)),
        ("friction", Entry::Number(p.friction)),
        ("viscosity", Entry::Number(p.viscosity)),
        ("conduction", Entry::Number(p.conduction)),
        ("ambient", ambient),
    ];
    named("fluid", numbers)
}

fn smokes(scene: &Scene) -> Vec<(String, Entry)> {
    let of = |(name, c): (&str, usize)| {
        let smoke = &scene.params.smoke[c];
        let entries = [
            ("buoyancy", Entry::Number(smoke.buoyancy)),
            ("dissipation", Entry::Number(smoke.dissipation)),
            ("diffusion", Entry::Number(smoke.diffusion)),
            ("color", list(&scene.look.colors[c])),
        ];
        named(&format!("smoke.{name}"), entries)
    };
    [("red", 0), ("green", 1), ("blue", 2)].into_iter().flat_map(of).collect()
}

fn render(scene: &Scene) -> Vec<(String, Entry)> {
    let look = &scene.look;
    let entries = [
        ("size", Entry::Pair(scene.size)),
        ("samples", Entry::Number(look.samples)),
        ("exposure", Entry::Number(look.exposure)),
        ("background.top", list(&look.background[0])),
        ("background.bottom", list(&look.background[1])),
        ("floor", look.floor.map_or(Entry::Flag(false), |color| list(&color))),
        ("outline", Entry::Flag(look.outline)),
    ];
    named("render", entries)
}

fn medium(scene: &Scene) -> Vec<(String, Entry)> {
    let look = &scene.look;
    let scattering = match look.scattering {
        Scattering::Single => "single",
        Scattering::Octaves => "octaves",
        Scattering::Traced => "traced",
    };
    let entries = [
        ("extinction", Entry::Number(look.extinction)),
        ("anisotropy", Entry::Number(look.anisotropy)),
        ("scattering", Entry::Word(scattering)),
        ("paths", Entry::Whole(look.paths)),
        ("glow", Entry::Number(look.glow)),
        ("glow_heat", Entry::Number(look.glow_heat)),
        ("fade", Entry::Number(look.fade)),
        ("second_lobe.anisotropy", Entry::Number(look.second_lobe[0])),
        ("second_lobe.share", Entry::Number(look.second_lobe[1])),
    ];
    named("render.medium", entries)
}

fn light(scene: &Scene) -> Vec<(String, Entry)> {
    let look = &scene.look;
    let entries = [
        ("direction", list(&look.sun_direction)),
        ("size", Entry::Number(look.sun_size)),
        ("sun", list(&look.sun)),
        ("sky", list(&look.sky)),
        ("ground", list(&look.ground)),
        ("resolution", Entry::Number(look.light_scale)),
    ];
    named("render.light", entries)
}

fn solids(scene: &Scene) -> Vec<(String, Entry)> {
    let color = |n: usize| (format!("solid.{n}.color"), list(&scene.look.solid(n)));
    (0..scene.solids.len()).map(color).collect()
}

fn camera(scene: &Scene) -> Vec<(String, Entry)> {
    let camera = &scene.camera;
    let entries = [
        ("position", list(&camera.position)),
        ("target", list(&camera.target)),
        ("up", list(&camera.up)),
        ("fov", Entry::Number(camera.fov)),
    ];
    named("render.camera", entries)
}

impl Entry {
    /// As TOML; none if the key is to be left out.
    fn value(&self) -> Option<Value> {
        Some(match self {
            Self::Number(x) => number(*x).into(),
            Self::List(values) => values.iter().map(|x| number(*x)).collect::<Array>().into(),
            Self::Whole(n) => i64::from(*n).into(),
            Self::Pair(sizes) => sizes.iter().map(|n| i64::from(*n)).collect::<Array>().into(),
            Self::Flag(on) => (*on).into(),
            Self::Word(word) => (*word).into(),
            Self::Absent => return None,
        })
    }
}

/// The number with the fewest digits that is read as `x`.
fn number(x: f32) -> f64 {
    match x.to_string().parse::<f64>() {
        Ok(short) if short as f32 == x => short,
        _ => f64::from(x),
    }
}

/// Sets the value at `path` below `table`, or takes it out. None if something else is in the way.
fn set(table: &mut dyn TableLike, inline: bool, path: &[&str], value: Option<Value>) -> Option<()> {
    let (key, rest) = path.split_first()?;
    if rest.is_empty() {
        match value {
            Some(value) => put(table, key, value),
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

/// An empty table, without a header of its own until it holds values.
fn fresh(inline: bool) -> Item {
    if inline {
        return Item::Value(Value::InlineTable(Default::default()));
    }
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// The same in element `index` of a list of tables, in either way of writing one.
fn set_element(list: &mut Item, index: usize, path: &[&str], value: Option<Value>) -> Option<()> {
    if let Some(tables) = list.as_array_of_tables_mut() {
        return set(tables.get_mut(index)?, false, path, value);
    }
    set(list.as_array_mut()?.get_mut(index)?.as_inline_table_mut()?, true, path, value)
}

/// A value in the place of another, with its comment.
fn put(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => drop(table.insert(key, Item::Value(value))),
    }
}

/// A folder as the system knows it.
fn full(folder: &Path) -> PathBuf {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Keys that may name a file.
pub(super) const FILES: [&str; 4] = ["fields", "file", "font", "mesh"];

/// Makes names of files that are found from `folder` hold wherever the scene is.
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

/// The path of a file named from `folder`, if there is one. (`knot`, say, is a mesh that needs none.)
pub(super) fn absolute(folder: &Path, name: &str) -> Option<PathBuf> {
    folder.join(name).canonicalize().ok().filter(|path| path.is_file())
}

#[cfg(test)]
mod tests;
