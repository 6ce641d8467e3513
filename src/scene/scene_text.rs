//! The text of a scene with its overrides, parsed into one table. Every error has a place in the text.
//!
//! An override is parsed after as much white space as there is text before it. Its spans then lie past the
//! end of the file and of the overrides before it, so a span alone identifies the text that it belongs to.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Deserializer, Error};

use super::file_names::{FILES, absolute};
use super::origin::Origin;
use super::scene_error::{Problem, unknown};
use super::share::Share;
use crate::parameter;

/// A scene file and the overrides that apply to it.
pub struct Text {
    /// `(name, text)`: the file first, then each override.
    parts: Vec<(String, String)>,
    overrides: Vec<String>,
    /// The ranks that share the run.
    pub share: Share,
}

type Result<T> = std::result::Result<T, Box<Problem>>;

/// Keys of the table `time` that divide a step. They exclude a fixed `step`.
pub(super) const DIVISION: [&str; 2] = ["cfl", "max_substeps"];

impl Text {
    /// Makes the text of a scene, called `name` in errors, with `key=value` overrides.
    pub fn new(name: &str, text: &str, overrides: &[String]) -> Self {
        let mut parts = vec![(name.to_owned(), text.to_owned())];
        parts.extend(overrides.iter().map(|o| (format!("--set {o}"), in_toml(o))));
        Self { parts, overrides: overrides.to_vec(), share: Share::default() }
    }

    /// Returns the text for a run that several ranks share.
    pub fn shared(self, share: Share) -> Self {
        Self { share, ..self }
    }

    /// Returns the origin of a scene with this text; files are relative to `folder`.
    pub fn origin(&self, folder: &Path) -> Origin {
        let text = self.parts[0].1.clone();
        let (overrides, folder) = (self.overrides.clone(), folder.to_owned());
        Origin { text, overrides, folder, unused_names: vec![], file: None }
    }

    /// Makes an error at `span`, which may lie in the file or in an override.
    pub fn problem(&self, span: Range<usize>, message: impl Into<String>) -> Box<Problem> {
        let part = (0..self.parts.len()).rev().find(|&p| self.base(p) <= span.start).unwrap_or(0);
        let (name, text) = &self.parts[part];
        let base = self.base(part);
        Box::new(Problem::new(name, text, span.start - base..span.end.saturating_sub(base), message.into()))
    }

    /// Returns the text at `span`, as written.
    pub fn source(&self, span: &Range<usize>) -> &str {
        let part = (0..self.parts.len()).rev().find(|&p| self.base(p) <= span.start).unwrap_or(0);
        let base = self.base(part);
        self.parts[part].1.get(span.start - base..span.end - base).unwrap_or("")
    }

    /// Returns whether `span` lies in an override.
    pub fn is_override(&self, span: &Range<usize>) -> bool {
        self.parts.len() > 1 && span.start >= self.base(1)
    }

    /// Returns the path of a file that the scene names: relative to `folder`, in an override to the working
    /// directory.
    pub fn file(&self, name: &Spanned<String>, folder: &Path) -> PathBuf {
        match self.is_override(&name.span()) {
            true => PathBuf::from(name.get_ref()),
            false => folder.join(name.get_ref()),
        }
    }

    /// Returns the whole scene as one text: the file unchanged, or rewritten with the overrides.
    pub fn merged(&self) -> Result<String> {
        let padded = self.padded_parts();
        let [(_, file)] = self.parts.as_slice() else {
            let mut root = self.root(&padded)?;
            self.place_files(root.get_mut());
            let written = toml::Table::deserialize(Deserializer::from(root)).map(|table| table.to_string());
            return written.map_err(|error| self.problem(0..0, error.message()));
        };
        Ok(file.clone())
    }

    /// Makes file names in overrides absolute: they are relative to the working directory.
    fn place_files(&self, table: &mut DeTable) {
        for (key, value) in table.iter_mut() {
            let may_name = FILES.contains(&key.get_ref().as_ref()) && self.is_override(&value.span());
            match value.get_mut() {
                DeValue::String(name) if may_name => {
                    if let Some(path) = absolute(Path::new(""), name) {
                        *name = path.to_string_lossy().into_owned().into();
                    }
                }
                DeValue::Table(inner) => self.place_files(inner),
                DeValue::Array(items) => items.iter_mut().for_each(|item| {
                    if let DeValue::Table(inner) = item.get_mut() {
                        self.place_files(inner);
                    }
                }),
                _ => {}
            }
        }
    }

    /// Returns the offset of a part in the padded text.
    fn base(&self, part: usize) -> usize {
        self.parts[..part].iter().map(|(_, text)| text.len() + 1).sum()
    }

    /// Returns the file and the overrides, each after as much white space as there is text before it.
    pub(super) fn padded_parts(&self) -> Vec<String> {
        (0..self.parts.len()).map(|part| " ".repeat(self.base(part)) + &self.parts[part].1).collect()
    }

    /// Parses the file and applies the overrides. `padded` are the [`padded_parts`](Self::padded_parts).
    pub(super) fn root<'t>(&self, padded: &'t [String]) -> Result<Spanned<DeTable<'t>>> {
        let mut root = self.parse(&padded[0])?;
        for (part, text) in padded.iter().enumerate().skip(1) {
            self.apply(&mut root, part, text)?;
        }
        self.drop_replaced(root.get_mut());
        Ok(root)
    }

    /// Drops the fixed step of the file if an override divides steps, and the division of the file if an
    /// override fixes the step: a scene has only one of the two, and no override can remove a key. Two
    /// overrides that contradict each other stay, and are refused later.
    fn drop_replaced(&self, root: &mut DeTable) {
        let Some(DeValue::Table(time)) = root.get_mut("time").map(Spanned::get_mut) else { return };
        let is_set =
            |time: &DeTable, key: &str| time.get(key).is_some_and(|value| self.is_override(&value.span()));
        let (is_fixed, is_divided) = (is_set(time, "step"), DIVISION.iter().any(|key| is_set(time, key)));
        let dropped: &[&str] = match (is_fixed, is_divided) {
            (true, false) => &DIVISION,
            (false, true) => &["step"],
            _ => &[],
        };
        dropped.iter().for_each(|key| drop(time.remove(*key)));
    }

    fn parse<'t>(&self, text: &'t str) -> Result<Spanned<DeTable<'t>>> {
        let table = DeTable::parse(text).map_err(|e| self.problem(e.span().unwrap_or(0..0), e.message()))?;
        match table.get_ref().iter().find_map(|(_, value)| too_long(value)) {
            Some(span) => Err(self.problem(
                span,
                format!("whole numbers are at most {}; write a larger one as 1e20", i64::MAX),
            )),
            None => Ok(table),
        }
    }

    /// Sets the one value of an override in `root`.
    fn apply<'t>(&self, root: &mut Spanned<DeTable<'t>>, part: usize, text: &'t str) -> Result<()> {
        let all = self.base(part)..text.len();
        let malformed = || self.problem(all.clone(), "an override is written key=value");
        let depth = key_depth(&self.parts[part].1).ok_or_else(malformed)?;
        let mut path = Vec::with_capacity(depth);
        let mut value = Spanned::new(all.clone(), DeValue::Table(self.parse(text)?.into_inner()));
        while path.len() < depth {
            let (name, inner) = only_entry(value.into_inner()).ok_or_else(malformed)?;
            path.push(name);
            value = inner;
        }
        self.set(root.get_mut(), &path, value)
    }

    /// Sets `value` at `path` below `table`, and creates missing tables.
    fn set<'t>(
        &self,
        table: &mut DeTable<'t>,
        path: &[Spanned<DeString<'t>>],
        value: Spanned<DeValue<'t>>,
    ) -> Result<()> {
        let (key, rest) = path.split_first().expect("a key has at least one part");
        if rest.is_empty() {
            // The key is removed first: a replaced value would keep the old key and its span.
            table.remove(key.get_ref().as_ref());
            table.insert(key.clone(), value);
            return Ok(());
        }
        // Index 0 of a missing list creates the list.
        let begins_list = rest[0].get_ref() == "0";
        let fresh = || match begins_list {
            true => Spanned::new(key.span(), DeValue::Array(toml::de::DeArray::new())),
            false => Spanned::new(key.span(), DeValue::Table(DeTable::new())),
        };
        let inner = table.entry(key.clone()).or_insert_with(fresh);
        if key.get_ref() == "walls" {
            spell_out(inner);
        }
        match inner.get_mut() {
            DeValue::Table(inner) => self.set(inner, rest, value),
            DeValue::Array(items) => self.set_item(items, key.get_ref(), rest, value),
            _ => Err(self.problem(key.span(), format!("`{}` is a value, not a table", key.get_ref()))),
        }
    }

    /// Sets `value` in the list element that `path` begins with. One past the end appends.
    fn set_item<'t>(
        &self,
        items: &mut toml::de::DeArray<'t>,
        list: &str,
        path: &[Spanned<DeString<'t>>],
        value: Spanned<DeValue<'t>>,
    ) -> Result<()> {
        let (index, rest) = (&path[0], &path[1..]);
        let at = index.get_ref().parse::<usize>().ok().filter(|&at| at <= items.len());
        let Some(at) = at else {
            let count = items.len();
            let message = format!(
                "`{list}` is a list of {count}: `{}` is not an index from 0 to {count}, of which the last appends",
                index.get_ref()
            );
            return Err(self.problem(index.span(), message));
        };
        if at == items.len() {
            items.push(Spanned::new(index.span(), DeValue::Table(DeTable::new())));
        }
        let item = items.get_mut(at).expect("an index in range");
        match (rest.is_empty(), item.get_mut()) {
            (true, _) => *item = value,
            (false, DeValue::Table(table)) => return self.set(table, rest, value),
            (false, _) => return Err(self.problem(index.span(), format!("`{list}` holds plain values"))),
        }
        Ok(())
    }

    /// Rewords the parser's error, with its key. `kinds` returns the keys of which the table at a key must
    /// have one.
    pub(super) fn explain(
        &self,
        error: &Error,
        root: &DeTable,
        kinds: impl Fn(&str) -> Vec<&'static str>,
    ) -> Box<Problem> {
        let span = error.span().unwrap_or(0..0);
        if let Some(message) = key_at(root, &span).and_then(|key| of_table(&key, error.message(), &kinds)) {
            return self.problem(self.added(root, &span).unwrap_or(span), message);
        }
        let table = table_of(root, &span).unwrap_or_default();
        let message = unknown_word(error.message(), &table).unwrap_or_else(|| error.message().to_owned());
        match path_to(root, &span) {
            Some(path) => self.problem(span, format!("{path}: {message}")),
            None => self.problem(span, message),
        }
    }
}

impl Text {
    /// Returns the place of the last key that an override has written into the table at `span`.
    fn added(&self, table: &DeTable, span: &Range<usize>) -> Option<Range<usize>> {
        let tables = |value: &Spanned<DeValue>| match value.get_ref() {
            DeValue::Table(inner) if value.span() == *span => {
                let keys = inner.keys().map(Spanned::span);
                keys.filter(|key| self.is_override(key)).max_by_key(|key| key.start)
            }
            DeValue::Table(inner) => self.added(inner, span),
            DeValue::Array(items) => items.iter().find_map(|item| match item.get_ref() {
                DeValue::Table(inner) => self.added(inner, span),
                _ => None,
            }),
            _ => None,
        };
        table.iter().find_map(|(_, value)| tables(value))
    }
}

/// Returns the place of a whole number beyond 64 bits, which TOML cannot represent.
fn too_long(value: &Spanned<DeValue>) -> Option<Range<usize>> {
    match value.get_ref() {
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).is_err().then(|| value.span()),
        DeValue::Array(items) => items.iter().find_map(too_long),
        DeValue::Table(table) => table.iter().find_map(|(_, value)| too_long(value)),
        _ => None,
    }
}

/// Rewords a message of serde about the table at `key`: a table in place of a list, or a table that must have
/// one of some keys.
fn of_table(key: &str, message: &str, kinds: impl Fn(&str) -> Vec<&'static str>) -> Option<String> {
    if message.starts_with("invalid type: map, expected a sequence") {
        return Some(format!(
            "{key}: there may be several, so write [[{key}]]; `--set` counts them from {key}.0"
        ));
    }
    let found = match message.strip_prefix("wanted exactly 1 element, ")? {
        "more than 1 element" => "several",
        _ => "none",
    };
    Some(match kinds(key).as_slice() {
        [] => format!("{key}: exactly one key is needed, and {found} are there"),
        kinds => format!("{key}: it is exactly one of {}, and {found} are there", kinds.join(", ")),
    })
}

/// Returns the dotted path of the key at `span`, or of the key whose value is at `span`.
fn key_at(table: &DeTable, span: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let rest = match value.get_ref() {
            DeValue::Table(inner) => key_at(inner, span),
            DeValue::Array(items) => items.iter().enumerate().find_map(|(n, item)| match item.get_ref() {
                DeValue::Table(inner) => key_at(inner, span).map(|rest| format!("{n}.{rest}")),
                _ => None,
            }),
            _ => None,
        };
        let is_here = key.span() == *span || value.span() == *span;
        let rest = rest.map(|rest| format!(".{rest}")).or_else(|| is_here.then(String::new))?;
        Some(format!("{}{rest}", key.get_ref()))
    })
}

/// Expands the one word for all six sides to a table, so that one of them can be set.
fn spell_out(walls: &mut Spanned<DeValue>) {
    let span = walls.span();
    if let DeValue::String(word) = walls.get_ref() {
        let axis = |name: &'static str| {
            (
                Spanned::new(span.clone(), name.into()),
                Spanned::new(span.clone(), DeValue::String(word.clone())),
            )
        };
        let table = ["x", "y", "z"].into_iter().map(axis).collect();
        *walls.get_mut() = DeValue::Table(table);
    }
}

/// Returns the override as TOML. A value that is not valid TOML, such as a bare word or `#ff8800`, becomes a
/// string.
pub(super) fn in_toml(text: &str) -> String {
    if DeTable::parse(text).is_ok() {
        return text.to_owned();
    }
    let word = |value: &str| !value.is_empty() && !value.contains(['"', '\'', '[', '{', '\n', '\\']);
    match text.split_once('=') {
        Some((key, value)) if word(value.trim()) => format!("{key}=\"{}\"", value.trim()),
        _ => text.to_owned(),
    }
}

/// Returns the number of parts of the dotted key, if the text has the form `key=value`.
fn key_depth(text: &str) -> Option<usize> {
    let (key, _) = text.split_once('=')?;
    let zero = format!("{}=0", key.trim_end());
    let mut value = DeValue::Table(DeTable::parse(&zero).ok()?.into_inner());
    let mut depth = 0;
    while matches!(value, DeValue::Table(_)) {
        value = only_entry(value)?.1.into_inner();
        depth += 1;
    }
    Some(depth)
}

/// Returns the key and value of a table of one entry.
fn only_entry(value: DeValue) -> Option<(Spanned<DeString>, Spanned<DeValue>)> {
    let DeValue::Table(table) = value else { return None };
    (table.len() == 1).then(|| table.into_iter().next()).flatten()
}

/// Turns ``unknown field `a`, expected one of `b`, `c` `` into a suggestion for the table at `table`.
fn unknown_word(message: &str, table: &str) -> Option<String> {
    let kind = ["field", "variant"].into_iter().find(|k| message.starts_with(&format!("unknown {k} ")))?;
    let mut quoted = message.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    if kind == "variant" {
        return Some(unknown("value", word, quoted));
    }
    // Parameters that have a field are not keys of the struct, so they are added here.
    let fields = parameter::all().filter(|p| p.field().is_some() && p.table() == table).map(|p| p.key());
    Some(unknown("key", word, fields.chain(quoted)))
}

/// Returns the dotted path of the table whose key is at `span`.
fn table_of(table: &DeTable, span: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        if key.span() == *span {
            return Some(String::new());
        }
        let DeValue::Table(inner) = value.get_ref() else { return None };
        let rest = table_of(inner, span)?;
        Some(if rest.is_empty() { key.get_ref().to_string() } else { format!("{}.{rest}", key.get_ref()) })
    })
}

/// Returns the dotted key of the innermost value that contains `span`.
fn path_to(table: &DeTable, span: &Range<usize>) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        if key.span() == *span {
            return None; // An unknown key needs no path.
        }
        let inner = match value.get_ref() {
            DeValue::Table(table) => path_to(table, span),
            DeValue::Array(items) => items.iter().enumerate().find_map(|(i, item)| {
                let DeValue::Table(table) = item.get_ref() else { return None };
                path_to(table, span).map(|path| format!("{i}.{path}"))
            }),
            _ => None,
        };
        let here = || holds(value, span).then(String::new);
        let tail = inner.map(|path| format!(".{path}")).or_else(here)?;
        Some(format!("{}{tail}", key.get_ref()))
    })
}

fn holds(value: &Spanned<DeValue>, span: &Range<usize>) -> bool {
    let own = value.span();
    own.start <= span.start && span.end <= own.end && !matches!(value.get_ref(), DeValue::Table(_))
}
