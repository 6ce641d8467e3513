//! Replaces values of a scene's text. Equal values keep their spelling, and lists keep comments and line ends.

use toml_edit::{Array, Decor, InlineTable, Item, TableLike, Value};

/// Puts `value` at `key`. An equal number or text keeps its spelling.
pub(super) fn put(table: &mut dyn TableLike, key: &str, value: Value) {
    match (table.get_mut(key), value) {
        (Some(Item::Value(old)), value) => merge(old, value),
        (Some(Item::Table(old)), Value::InlineTable(new)) => merge_tables(old, new),
        (_, value) => drop(table.insert(key, Item::Value(value))),
    }
}

fn merge(old: &mut Value, new: Value) {
    if is_same(old, &new) {
        return;
    }
    match (old, new) {
        (Value::Array(old), Value::Array(new)) => merge_lists(old, new),
        (Value::InlineTable(old), Value::InlineTable(new)) => merge_tables(old, new),
        (old, mut new) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
    }
}

fn merge_tables(old: &mut dyn TableLike, new: InlineTable) {
    let gone: Vec<String> =
        old.iter().map(|(key, _)| key.to_owned()).filter(|key| !new.contains_key(key)).collect();
    gone.iter().for_each(|key| drop(old.remove(key)));
    new.into_iter().for_each(|(key, value)| put(old, &key, value));
}

/// Keeps the elements before and after all changes. Between them, those of `new` replace the old ones in order.
fn merge_lists(old: &mut Array, new: Array) {
    let new: Vec<Value> = new.into_iter().collect();
    let least = old.len().min(new.len());
    let same = |a: usize, b: usize| old.get(a).is_some_and(|old| is_same(old, &new[b]));
    let ahead = (0..least).take_while(|&n| same(n, n)).count();
    let (last, end) = (old.len(), new.len());
    let behind = (1..=least - ahead).take_while(|&n| same(last - n, end - n)).count();
    let (pairs, rest) = (least - ahead - behind, last - behind);
    for (n, value) in new.into_iter().enumerate().skip(ahead).take(end - behind - ahead) {
        match old.get_mut(n).filter(|_| n < ahead + pairs) {
            Some(old) => merge(old, value),
            None => insert(old, n, value),
        }
    }
    (ahead + pairs..rest).rev().for_each(|n| remove(old, n));
}

/// Inserts an element, on a separate line if the others are on separate lines.
pub(in crate::scene) fn insert(list: &mut Array, at: usize, mut value: Value) {
    let next = blank_before(list, at);
    // The rest of the previous line, such as a comment, belongs to the element on it.
    let (line, rest) = next.split_at(next.find('\n').unwrap_or(0));
    let (line, rest) = (line.to_owned(), rest.to_owned());
    let usual = list.get(at.saturating_sub(1)).map_or(String::new(), |one| prefix(one.decor()));
    let indent = usual.rfind('\n').map(|from| usual[from..].to_owned());
    let indent = indent.unwrap_or_else(|| if at == 0 { String::new() } else { " ".into() });
    value.decor_mut().set_prefix(joined(&line, &indent));
    value.decor_mut().set_suffix("");
    set_blank_before(list, at, if rest.is_empty() && at < list.len() { " ".into() } else { rest });
    list.insert_formatted(at, value);
}

/// Removes an element with the comment on its line.
pub(in crate::scene) fn remove(list: &mut Array, at: usize) {
    let (own, next) = (blank_before(list, at), blank_before(list, at + 1));
    let (line, blank) = own.split_at(own.find('\n').unwrap_or(0));
    let rest = next.find('\n').map_or(if at + 1 < list.len() { blank } else { "" }, |from| &next[from..]);
    list.remove(at);
    list.set_trailing_comma(list.trailing_comma() && !list.is_empty());
    set_blank_before(list, at, joined(line, rest));
}

/// Joins the end of a line and the text after it, with a line end after a comment.
fn joined(line: &str, rest: &str) -> String {
    let between = if line.contains('#') && !rest.starts_with('\n') { "\n" } else { "" };
    [line, between, rest].concat()
}

/// Returns blanks and comments before an element, or before the end of the list.
fn blank_before(list: &Array, at: usize) -> String {
    match list.get(at) {
        Some(value) => prefix(value.decor()),
        None => list.trailing().as_str().unwrap_or_default().to_owned(),
    }
}

fn set_blank_before(list: &mut Array, at: usize, blank: String) {
    match list.get_mut(at) {
        Some(value) => value.decor_mut().set_prefix(blank),
        None => list.set_trailing(blank),
    }
}

fn prefix(decor: &Decor) -> String {
    decor.prefix().and_then(|blank| blank.as_str()).unwrap_or_default().to_owned()
}

/// Returns whether a scene reads the same from both values: its numbers have single precision.
fn is_same(old: &Value, new: &Value) -> bool {
    let number =
        |value: &Value| value.as_float().or_else(|| value.as_integer().map(|n| n as f64)).map(|x| x as f32);
    match (old, new) {
        (Value::Integer(a), Value::Integer(b)) => a.value() == b.value(),
        (Value::String(a), Value::String(b)) => a.value() == b.value(),
        (Value::Boolean(a), Value::Boolean(b)) => a.value() == b.value(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::InlineTable(a), Value::InlineTable(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        (a, b) => number(a).is_some() && number(a) == number(b),
    }
}
