//! Values in a scene of the parameters that have a field, and the check of all numbers against their hard
//! ranges.
//!
//! Both use the parsed table before a struct reads the rest, so every value has its place in the text.

use std::ops::Range;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::scene_error::unknown;
use super::value::{Color, Floor, List, Number, Whole};
use crate::parameter::{self, Kind, Parameter, Value, normalized};

/// Values in a scene of the parameters that have a field.
#[derive(Default)]
pub struct FieldValues {
    values: Vec<(&'static Parameter, Value, Range<usize>)>,
}

/// An error in the text: its place, and a message with the key.
pub type Complaint = (Range<usize>, String);

impl FieldValues {
    /// Moves the values out of `root`; structs read the rest.
    ///
    /// # Errors
    /// The first value whose type is not that of its key.
    pub fn take(root: &mut DeTable) -> Result<Self, Complaint> {
        let mut field_values = Self::default();
        for parameter in parameter::all().filter(|parameter| parameter.field().is_some()) {
            let parts: Vec<&str> = parameter.path.split('.').collect();
            let Some(value) = take(root, &parts) else { continue };
            let span = value.span();
            let value = read(parameter, value)
                .map_err(|message| (span.clone(), format!("{}: {message}", parameter.path)))?;
            field_values.values.push((parameter, value, span));
        }
        Ok(field_values)
    }

    /// Returns the place of the value at `path`, if there is one.
    pub fn span(&self, path: &str) -> Option<Range<usize>> {
        self.values.iter().find(|(parameter, ..)| parameter.path == path).map(|(.., span)| span.clone())
    }

    /// Yields the parameters with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, Value)> {
        self.values.iter().map(|(parameter, value, _)| (*parameter, *value))
    }
}

/// Removes the value at `path` from `table`. None if it does not exist, or if the path leads through a value
/// that is no table.
fn take<'t>(table: &mut DeTable<'t>, path: &[&str]) -> Option<Spanned<DeValue<'t>>> {
    match path {
        [] => None,
        [key] => table.remove(*key),
        [key, rest @ ..] => match table.get_mut(*key)?.get_mut() {
            DeValue::Table(inner) => take(inner, rest),
            _ => None,
        },
    }
}

/// Reads a value of the parameter's type.
fn read(parameter: &Parameter, value: Spanned<DeValue>) -> Result<Value, String> {
    let message = |error: Error| error.message().to_owned();
    match parameter.kind {
        Kind::Number => typed::<Number>(value).map(|x| Value::Number(x.get())).map_err(message),
        Kind::NumberOr(word) => match value.get_ref().as_str() {
            Some(text) if text == word => Ok(Value::Word(word)),
            Some(text) => Err(format!("\"{text}\" is neither a number nor \"{word}\"")),
            None => typed::<Number>(value).map(|x| Value::Number(x.get())).map_err(message),
        },
        Kind::Whole => typed::<Whole>(value).map(|n| Value::Whole(n.get() as u32)).map_err(message),
        Kind::Vector => typed::<List<Number, 3>>(value).map(|v| Value::Triple(v.get())).map_err(message),
        Kind::Direction => {
            let vector = typed::<List<Number, 3>>(value).map_err(message)?.get();
            normalized(vector).map(Value::Triple).ok_or_else(|| "[0, 0, 0] has no direction".to_owned())
        }
        Kind::Color => typed::<Color>(value).map(|color| Value::Triple(color.0)).map_err(message),
        Kind::ColorOrNone => typed::<Floor>(value)
            .map(|floor| floor.0.map_or(Value::Flag(false), Value::Triple))
            .map_err(message),
        Kind::Flag => typed::<bool>(value).map(Value::Flag).map_err(message),
        Kind::Word(words) => {
            let text = typed::<String>(value).map_err(message)?;
            let known = || words.iter().map(|(word, _)| *word);
            known()
                .find(|word| *word == text)
                .map(Value::Word)
                .ok_or_else(|| unknown("value", &text, known()))
        }
        Kind::Wholes(_)
        | Kind::Pair
        | Kind::Table(_)
        | Kind::WordOrTable(_)
        | Kind::Words(_)
        | Kind::Text
        | Kind::Formula
        | Kind::List => {
            unreachable!("no parameter with a field is a {:?}", parameter.kind)
        }
    }
}

fn typed<T: for<'de> Deserialize<'de>>(value: Spanned<DeValue>) -> Result<T, Error> {
    T::deserialize(value.into_deserializer())
}

/// Greatest number of tables of one kind.
const MOST_TABLES: usize = 1024;

/// Lists of tables whose resolution takes time: each may cover the whole box.
const LISTS: [&[&str]; 5] = [&["source"], &["force"], &["solid"], &["probe"], &["initial", "smoke"]];

/// Checks the number of tables in each list.
///
/// # Errors
/// The first table beyond [`MOST_TABLES`].
pub fn check_counts(root: &DeTable) -> Result<(), Complaint> {
    LISTS.into_iter().try_for_each(|path| {
        let [parents @ .., key] = path else { return Ok(()) };
        let table = parents.iter().try_fold(root, |table, parent| match table.get(*parent)?.get_ref() {
            DeValue::Table(inner) => Some(inner),
            _ => None,
        });
        let Some(DeValue::Array(list)) = table.and_then(|table| Some(table.get(*key)?.get_ref())) else {
            return Ok(());
        };
        match list.get(MOST_TABLES) {
            None => Ok(()),
            Some(extra) => {
                let (name, count) = (path.join("."), list.len());
                Err((extra.span(), format!("{name}: there are {count}, and {MOST_TABLES} is the most")))
            }
        }
    })
}

/// Checks every number below `table` against the hard range of its key.
///
/// # Errors
/// The first number outside.
pub fn check_ranges(table: &DeTable) -> Result<(), Complaint> {
    check_table(&mut Vec::new(), table)
}

fn check_table(path: &mut Vec<String>, table: &DeTable) -> Result<(), Complaint> {
    table.iter().try_for_each(|(key, value)| {
        path.push(key.get_ref().as_ref().to_owned());
        check(path, value)?;
        path.pop();
        Ok(())
    })
}

fn check(path: &mut Vec<String>, value: &Spanned<DeValue>) -> Result<(), Complaint> {
    match value.get_ref() {
        DeValue::Table(table) => check_table(path, table),
        DeValue::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            // The numbers of a list share its key; tables in a list have separate keys.
            let depth = path.len();
            path.extend(item.get_ref().is_table().then(|| index.to_string()));
            check(path, item)?;
            path.truncate(depth);
            Ok(())
        }),
        DeValue::Integer(_) | DeValue::Float(_) => check_number(path, value),
        _ => Ok(()),
    }
}

fn check_number(path: &[String], value: &Spanned<DeValue>) -> Result<(), Complaint> {
    let number = f64::deserialize(value.clone().into_deserializer());
    let number = number.map_err(|error| (value.span(), error.message().to_owned()))?;
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let declared = parameter::find(&parameter::declared_path(&parts));
    match declared.and_then(|parameter| parameter.complaint(number)) {
        Some(complaint) => Err((value.span(), format!("{}: {complaint}", path.join(".")))),
        None => Ok(()),
    }
}
