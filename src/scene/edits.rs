//! Edits of a scene in the window: objects are added, copied, moved and deleted, and keys are set. Each edit
//! changes the text that the scene was read from, which keeps comments, and the text is read again. So every
//! edited scene can be saved in a file, and errors are those of a file.

use std::sync::Arc;

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::checked_scene::Scene;
use super::origin::Origin;
use super::save::{merge, number, restore, set};
use super::scene_error::SceneError;
use super::{resolve, scene_text};
use crate::solver::Form;
use crate::solver::Shape;

/// A list of objects in a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// `[[source]]`.
    Source,
    /// `[[solid]]`.
    Solid,
    /// `[[force]]`.
    Force,
    /// `[[light]]`.
    Light,
}

impl List {
    /// All lists in the order of the panel.
    pub const ALL: [Self; 4] = [Self::Source, Self::Solid, Self::Force, Self::Light];

    /// Returns its key, which is also the name of one object.
    pub fn key(self) -> &'static str {
        ["source", "solid", "force", "light"][self as usize]
    }
}

/// A change of a scene's text.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Sets the value at a dotted key, or removes it.
    Set(String, Option<Entry>),
    /// Adds an object at the end of a list; its keys as TOML, one per line.
    Add(List, String),
    /// Adds a copy of an object at the end of its list.
    Duplicate(List, usize),
    /// Deletes an object.
    Delete(List, usize),
}

/// A value in a scene's text.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(i64),
    /// A list of numbers.
    Numbers(Vec<f64>),
    /// A list of whole numbers.
    Wholes(Vec<i64>),
    /// A string.
    Word(String),
    /// A boolean.
    Flag(bool),
    /// Any other value, as TOML.
    Other(String),
}

impl Entry {
    /// Makes the shortest number that reads back as `x`.
    pub fn of(x: f32) -> Self {
        Self::Number(number(x))
    }

    /// Makes the shortest numbers that read back as `values`.
    pub fn of_all(values: [f32; 3]) -> Self {
        Self::Numbers(values.map(number).to_vec())
    }

    fn read(value: &Value) -> Self {
        let numbers = |list: &Array| list.iter().map(as_number).collect::<Option<Vec<f64>>>();
        match value {
            Value::Float(x) => Self::Number(*x.value()),
            Value::Integer(n) => Self::Whole(*n.value()),
            Value::String(text) => Self::Word(text.value().clone()),
            Value::Boolean(on) => Self::Flag(*on.value()),
            Value::Array(list) if !list.is_empty() => {
                numbers(list).map_or_else(|| Self::Other(list.to_string()), Self::Numbers)
            }
            other => Self::Other(other.to_string()),
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Number(x) => (*x).into(),
            Self::Whole(n) => (*n).into(),
            Self::Numbers(list) => list.iter().copied().collect::<Array>().into(),
            Self::Wholes(list) => list.iter().copied().collect::<Array>().into(),
            Self::Word(text) => text.as_str().into(),
            Self::Flag(on) => (*on).into(),
            Self::Other(text) => text.parse().unwrap_or_else(|_| text.as_str().into()),
        }
    }

    /// Returns the number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(x) => Some(*x),
            Self::Whole(n) => Some(*n as f64),
            _ => None,
        }
    }

    /// Returns three numbers, if it holds these.
    pub fn triple(&self) -> Option<[f32; 3]> {
        match self {
            Self::Numbers(list) => Some(<[f64; 3]>::try_from(list.as_slice()).ok()?.map(|x| x as f32)),
            _ => None,
        }
    }
}

fn as_number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

impl Scene {
    /// Returns the scene with some changes, read again from its changed text. `self` is unchanged.
    ///
    /// # Errors
    /// Any error of the changed scene.
    pub fn edited(&self, changes: &[Change]) -> Result<Self, SceneError> {
        let (mut document, mut overrides) = self.document(changes)?;
        for change in changes {
            if let Change::Set(key, _) = change {
                overrides.retain(|set| !covers(key, key_of(set)) && !covers(key_of(set), key));
            }
            make(&mut document, change).ok_or_else(|| SceneError::Unwritable {
                name: self.name.clone(),
                why: format!("there is no place for {change:?} in the file"),
            })?;
        }
        let old = &self.origin;
        let written = restore(&old.text, &document.to_string());
        let text = scene_text::Text::new(&self.name, &written, &overrides);
        let mut scene = resolve::scene(self.name.clone(), &text, &old.folder)?;
        Arc::make_mut(&mut scene.origin).file.clone_from(&old.file);
        Ok(scene)
    }

    /// Returns the text, prepared for `changes` of its lists, and the remaining overrides. The default source
    /// and the overrides of changed lists are written out, because indices change when an object is deleted.
    fn document(&self, changes: &[Change]) -> Result<(DocumentMut, Vec<String>), SceneError> {
        let Origin { text, overrides, .. } = &*self.origin;
        let fail = |why: String| SceneError::Unwritable { name: self.name.clone(), why };
        let mut document: DocumentMut =
            text.parse().map_err(|e: toml_edit::TomlError| fail(e.to_string()))?;
        let touched = |list: &List| {
            changes.iter().any(|change| match change {
                Change::Set(key, _) => key.starts_with(&format!("{}.", list.key())),
                Change::Add(of, _) | Change::Duplicate(of, _) | Change::Delete(of, _) => of == list,
            })
        };
        let mut left = overrides.clone();
        for list in List::ALL.iter().filter(|list| touched(list)) {
            if *list == List::Source && !document.contains_key("source") {
                self.name_default_source(&mut document);
            }
            let (own, others) =
                left.into_iter().partition(|set| key_of(set).split('.').next() == Some(list.key()));
            left = others;
            for set in own {
                put_override(&mut document, &set)
                    .ok_or_else(|| fail(format!("`--set {set}` has no place")))?;
            }
        }
        Ok((document, left))
    }

    /// Writes out the default source of a scene without any.
    fn name_default_source(&self, document: &mut DocumentMut) {
        if let [source] = self.sources.as_slice()
            && let Form::Body(Shape::Sphere { radius }) = source.region.form
        {
            let center = source.region.position.map(number);
            let [red, _, _, heat] = source.rate.map(number);
            let text = format!(
                "shape = {{ sphere = {{ center = {center:?}, radius = {:?} }} }}\nemit = {{ red = {red:?}, heat = {heat:?} }}\n",
                number(radius)
            );
            add(document, List::Source, &text);
        }
    }

    /// Returns the sources without a shape in the text: they have the default shape, which depends on the box.
    pub fn sources_of_default_shape(&self) -> Vec<usize> {
        let Ok(written) = self.origin.text.parse::<DocumentMut>() else { return Vec::new() };
        let Ok(document) = self.document_of(List::Source) else { return Vec::new() };
        let has_shape =
            |n: &usize| object(&document, List::Source, *n).is_some_and(|table| table.contains_key("shape"));
        let is_default = |n: &usize| !written.contains_key("source") || !has_shape(n);
        (0..self.sources.len()).filter(is_default).collect()
    }

    /// Returns all values of an object, by their keys below it, in the order of the file.
    pub fn entries(&self, list: List, index: usize) -> Vec<(String, Entry)> {
        let mut entries = Vec::new();
        if let Ok(document) = self.document_of(list)
            && let Some(table) = object(&document, list, index)
        {
            flatten(table, "", &mut entries);
        }
        entries
    }

    /// Returns the text with the overrides of `list`.
    fn document_of(&self, list: List) -> Result<DocumentMut, SceneError> {
        let any = [Change::Set(format!("{}.", list.key()), None)];
        self.document(&any).map(|(document, _)| document)
    }
}

/// Returns the table of an object of a list.
fn object(document: &DocumentMut, list: List, index: usize) -> Option<&dyn TableLike> {
    let item = document.get(list.key())?;
    match item.as_array_of_tables() {
        Some(tables) => tables.get(index).map(|table| table as &dyn TableLike),
        None => item.as_array()?.get(index)?.as_inline_table().map(|table| table as &dyn TableLike),
    }
}

fn flatten(table: &dyn TableLike, head: &str, out: &mut Vec<(String, Entry)>) {
    for (key, item) in table.iter() {
        let path = if head.is_empty() { key.to_owned() } else { format!("{head}.{key}") };
        match (item.as_table_like(), item.as_value()) {
            (Some(inner), _) => flatten(inner, &path, out),
            (None, Some(value)) => out.push((path, Entry::read(value))),
            (None, None) => {}
        }
    }
}

/// Returns whether `key` is `inner` or contains it.
fn covers(key: &str, inner: &str) -> bool {
    inner.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn key_of(set: &str) -> &str {
    set.split_once('=').map_or(set, |(key, _)| key.trim())
}

fn put_override(document: &mut DocumentMut, set: &str) -> Option<()> {
    let (key, value) = set.split_once('=')?;
    let value = value.trim().parse::<Value>().unwrap_or_else(|_| value.trim().into());
    put(document, key.trim(), Some(value))
}

fn put(document: &mut DocumentMut, key: &str, value: Option<Value>) -> Option<()> {
    let path: Vec<&str> = key.split('.').collect();
    set(document.as_table_mut(), false, &path, value)
}

fn make(document: &mut DocumentMut, change: &Change) -> Option<()> {
    match change {
        Change::Set(key, value) => {
            if key.starts_with("domain.walls.") {
                spell_walls_out(document);
            }
            put(document, key, value.as_ref().map(Entry::write))
        }
        Change::Add(list, text) => add(document, *list, text),
        Change::Duplicate(list, index) => match document.get_mut(list.key())? {
            Item::ArrayOfTables(tables) => {
                let mut copy = tables.get(*index)?.clone();
                unplace(&mut copy);
                tables.push(copy);
                Some(())
            }
            item => {
                let items = item.as_array_mut()?;
                let (copy, end) = (items.get(*index)?.clone(), items.len());
                merge::insert(items, end, copy);
                Some(())
            }
        },
        Change::Delete(list, index) => match document.get_mut(list.key())? {
            Item::ArrayOfTables(tables) if *index < tables.len() => {
                tables.remove(*index);
                if tables.is_empty() {
                    // An absent list of sources would mean the default one.
                    document.insert(list.key(), Item::Value(Array::new().into()));
                }
                Some(())
            }
            item => {
                let items = item.as_array_mut()?;
                (*index < items.len()).then(|| merge::remove(items, *index))
            }
        },
    }
}

/// Expands one word for all six sides to a table with a key for each side.
fn spell_walls_out(document: &mut DocumentMut) {
    let walls = document.get_mut("domain").and_then(Item::as_table_like_mut).and_then(|d| d.get_mut("walls"));
    let Some(Item::Value(value)) = walls else { return };
    if let Some(word) = value.as_str().map(str::to_owned) {
        let mut table: InlineTable = ["x", "y", "z"].into_iter().map(|axis| (axis, word.as_str())).collect();
        *table.decor_mut() = value.decor().clone();
        *value = table.into();
    }
}

/// Adds an object with these keys.
fn add(document: &mut DocumentMut, list: List, text: &str) -> Option<()> {
    let body: DocumentMut = text.parse().ok()?;
    let mut table = body.as_table().clone();
    unplace(&mut table);
    if document.get(list.key()).and_then(Item::as_array).is_some_and(Array::is_empty) {
        document.remove(list.key());
    }
    let item = document.entry(list.key()).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    match item {
        Item::ArrayOfTables(tables) => {
            tables.push(table);
        }
        item => {
            let items = item.as_array_mut()?;
            let end = items.len();
            merge::insert(items, end, table.into_inline_table().into());
        }
    }
    Some(())
}

/// Removes the position of a table, which places it after all others.
fn unplace(table: &mut Table) {
    table.set_position(None);
    table.decor_mut().set_prefix("\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Mine.\n[domain]\ncells = [16, 16, 16] # a cube\nvoxel = 0.1\n\n[[source]]\n\
        # the fire\nshape = { sphere = { center = [0.8, 0.3, 0.8], radius = 0.2 } }\nemit = { red = 2.0 }\n";

    fn set(key: &str, entry: Entry) -> Change {
        Change::Set(key.into(), Some(entry))
    }

    #[test]
    fn objects_are_added_copied_moved_and_taken_out_and_comments_stay() {
        let scene = Scene::parse("mine", TEXT).unwrap();
        let ball = "shape = { sphere = { radius = 0.2 } }\nposition = [0.8, 1.0, 0.8]\n";
        let more = scene.edited(&[Change::Add(List::Solid, ball.into()), Change::Duplicate(List::Source, 0)]);
        let more = more.unwrap();
        assert_eq!((more.sources.len(), more.solids.len()), (2, 1));
        let moved =
            more.edited(&[set("source.1.shape.sphere.center", Entry::of_all([0.4, 0.4, 0.4]))]).unwrap();
        assert_eq!(moved.sources[1].region.position, [0.4; 3]);
        assert_eq!(moved.sources[0], scene.sources[0]);
        let text = &moved.origin.text;
        assert!(text.starts_with("# Mine.\n[domain]\ncells = [16, 16, 16] # a cube\n"), "{text}");
        assert!(text.contains("center = [0.4, 0.4, 0.4], radius = 0.2 }"), "{text}");
        let less = moved.edited(&[Change::Delete(List::Source, 1), Change::Delete(List::Solid, 0)]).unwrap();
        assert_eq!((&less.sources, less.solids.len()), (&scene.sources, 0));
        assert!(less.edited(&[Change::Delete(List::Source, 7)]).is_err());
    }

    #[test]
    fn the_source_of_an_empty_file_can_be_edited_and_the_last_one_taken_out() {
        let scene = Scene::parse("empty", "").unwrap();
        let hotter = scene.edited(&[set("source.0.emit.heat", Entry::Number(90.0))]).unwrap();
        assert_eq!(hotter.sources[0].region, scene.sources[0].region);
        assert_eq!(hotter.sources[0].rate, [4.0, 0.0, 0.0, 90.0]);
        let none = hotter.edited(&[Change::Delete(List::Source, 0)]).unwrap();
        assert!(none.sources.is_empty(), "{}", none.origin.text);
        let ball = "shape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.1 } }\n";
        assert_eq!(none.edited(&[Change::Add(List::Source, ball.into())]).unwrap().sources.len(), 1);
    }

    #[test]
    fn a_scene_that_cannot_be_is_refused_with_the_error_of_its_file() {
        let scene = Scene::parse("mine", TEXT).unwrap();
        let far = set("source.0.shape.sphere.center", Entry::of_all([99.0; 3]));
        assert!(scene.edited(&[far]).unwrap_err().to_string().contains("outside the box"));
        let nan = set("source.0.emit.red", Entry::Number(1e9));
        assert!(scene.edited(&[nan]).unwrap_err().to_string().contains("out of range"));
    }

    #[test]
    fn an_edit_wins_over_an_override_of_its_key_and_leaves_the_others() {
        let sets =
            ["domain.voxel=0.2".to_owned(), "fluid.vorticity=1".into(), "source.0.emit.green=3".into()];
        let scene = Scene::parse_with("mine", TEXT, &sets).unwrap();
        let edited = scene.edited(&[set("domain.voxel", Entry::Number(0.15))]).unwrap();
        assert_eq!((edited.config.h, edited.params.vorticity), (0.15, 1.0));
        let edited = edited.edited(&[Change::Duplicate(List::Source, 0)]).unwrap();
        assert_eq!(edited.sources[1].rate, [2.0, 3.0, 0.0, 0.0]);
        assert_eq!(edited.origin.overrides, ["fluid.vorticity=1"]);
    }

    #[test]
    fn one_word_for_all_sides_becomes_a_table_when_one_of_them_is_set() {
        let scene = Scene::parse("box", "domain.walls = \"closed\"\n").unwrap();
        let open = scene.edited(&[set("domain.walls.y_max", Entry::Word("open".into()))]).unwrap();
        use crate::solver::BoundaryCondition::{Closed, Open};
        assert_eq!(open.config.sides, [[Closed; 2], [Closed, Open], [Closed; 2]]);
    }

    #[test]
    fn the_values_of_an_object_are_told_by_key() {
        let scene = Scene::parse("mine", TEXT).unwrap();
        let entries = scene.entries(List::Source, 0);
        let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["shape.sphere.center", "shape.sphere.radius", "emit.red"]);
        assert_eq!(entries[0].1.triple(), Some([0.8, 0.3, 0.8]));
        assert_eq!(Scene::parse("empty", "").unwrap().entries(List::Source, 0).len(), 4);
    }

    /// Lists with their comments, and a number with its own spelling.
    const LISTS: &str = "[domain]\ncells = [\n  16, # across\n  24, # up\n  16,\n] # all\nvoxel = 5e-2\nwalls = \"closed\" # a room\n\n\
        [[solid]]\nshape = { sphere = { radius = 0.1 } } # a ball\nkeyframes = [\n  # It waits.\n  [0.0, [0.2, 0.2, 0.2]], # a\n  \
        [1, [0.4, 0.2, 0.2]], # b\n  # It ends.\n]\n";

    /// Asserts that a change gives the same text as replacements by hand.
    #[track_caller]
    fn changed_as(changes: &[Change], replaced: &[(&str, &str)]) {
        let edited = Scene::parse("lists", LISTS).unwrap().edited(changes).unwrap();
        let by_hand = replaced.iter().fold(LISTS.to_owned(), |text, (old, new)| {
            assert_eq!(text.matches(old).count(), 1, "{old}");
            text.replace(old, new)
        });
        assert_eq!(edited.origin.text, by_hand);
    }

    #[test]
    fn comments_and_line_ends_within_a_list_stay_and_so_do_numbers_that_are_the_same() {
        let moved = "[[0.0, [0.25, 0.2, 0.2]], [1.0, [0.45, 0.2, 0.2]]]";
        changed_as(
            &[set("solid.0.keyframes", Entry::Other(moved.into()))],
            &[("[0.2, 0.2, 0.2]", "[0.25, 0.2, 0.2]"), ("[0.4, 0.2, 0.2]", "[0.45, 0.2, 0.2]")],
        );
        changed_as(
            &[set("domain.cells", Entry::Wholes(vec![16, 32, 16])), set("domain.voxel", Entry::of(0.05))],
            &[("24, # up", "32, # up")],
        );
        let walls = [set("domain.walls.y_max", Entry::Word("open".into()))];
        changed_as(
            &walls,
            &[("\"closed\" #", "{ x = \"closed\", y = \"closed\", z = \"closed\", y_max = \"open\" } #")],
        );
    }

    #[test]
    fn an_element_of_a_list_comes_and_goes_with_its_line_alone() {
        let [first, last, between] =
            ["[0.0, [0.2, 0.2, 0.2]]", "[1.0, [0.4, 0.2, 0.2]]", "[0.5, [0.3, 0.2, 0.2]]"];
        let keys = |list: &[&str]| [set("solid.0.keyframes", Entry::Other(format!("[{}]", list.join(", "))))];
        changed_as(&keys(&[first, between, last]), &[(" # a\n", &format!(" # a\n  {between},\n"))]);
        changed_as(&keys(&[last]), &[("  # It waits.\n  [0.0, [0.2, 0.2, 0.2]], # a\n", "")]);
        changed_as(&keys(&[first]), &[("  [1, [0.4, 0.2, 0.2]], # b\n", "")]);
        let later = "[2.0, [0.5, 0.2, 0.2]]";
        changed_as(&keys(&[first, last, later]), &[(" # b\n", &format!(" # b\n  {later},\n"))]);
    }

    /// Deleting the first of two objects once left its comment at the list, and dropped that of the list.
    #[test]
    fn an_object_of_an_inline_list_comes_and_goes_with_its_comment_alone() {
        let object = |x: &str| {
            format!(
                "{{ shape = {{ sphere = {{ center = [{x}, 0.3, 0.5], radius = 0.1 }} }}, emit = {{ red = 1 }} }}"
            )
        };
        let (a, b) = (object("0.3"), object("0.6"));
        let list = format!("source = [ # inline\n  {a}, # first\n  {b}, # second\n]\n");
        let edited = |changes: &[Change]| {
            Scene::parse("list", &list).unwrap().edited(changes).unwrap().origin.text.clone()
        };
        let delete = |index: usize| Change::Delete(List::Source, index);
        let (first, second) = (format!("  {a}, # first\n"), format!("  {b}, # second\n"));
        assert_eq!(edited(&[delete(0)]), list.replace(&first, ""));
        assert_eq!(edited(&[delete(1)]), list.replace(&second, ""));
        assert_eq!(edited(&[delete(0), delete(0)]), "source = [ # inline\n]\n");
        let on_one_line = format!("source = [ # inline\n  {a}, {b},\n]\n");
        let rest = Scene::parse("list", &on_one_line).unwrap().edited(&[delete(0)]).unwrap();
        assert_eq!(rest.origin.text, on_one_line.replace(&format!("{a}, "), ""));
        let copy = Change::Duplicate(List::Source, 0);
        assert_eq!(edited(&[copy]), list.replace(&second, &format!("{second}  {a},\n")));
        let none = Scene::parse("list", &list).unwrap().edited(&[Change::Delete(List::Source, 2)]);
        assert!(none.is_err());
    }
}
