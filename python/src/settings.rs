//! Keyword arguments as overrides of a scene's keys.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

/// Overrides `key=value` of nested dictionaries: `{"fluid": {"vorticity": 1}}` is `fluid.vorticity=1`. A list is
/// one value: `{"source": [..]}` replaces all sources.
pub fn overrides(settings: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    let mut found = Vec::new();
    flatten("", settings, &mut found)?;
    Ok(found)
}

fn flatten(prefix: &str, settings: &Bound<'_, PyDict>, found: &mut Vec<String>) -> PyResult<()> {
    for (key, value) in settings {
        let key = format!("{prefix}{}", bare_key(&key)?);
        match value.cast::<PyDict>() {
            Ok(inner) if !inner.is_empty() => flatten(&format!("{key}."), inner, found)?,
            _ => found.push(format!("{key}={}", toml(&value)?)),
        }
    }
    Ok(())
}

/// A key, quoted if it needs to be.
fn bare_key(key: &Bound<'_, PyAny>) -> PyResult<String> {
    let key: String = key.extract()?;
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    Ok(if !key.is_empty() && key.chars().all(is_bare) { key } else { quoted(&key) })
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A value in TOML. Arrays of NumPy and other sequences are lists.
fn toml(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(quoted(text.to_str()?));
    }
    // Booleans are integers in Python.
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(value.str()?.to_string());
    }
    if value.is_instance_of::<PyFloat>() {
        return float(value.extract()?);
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entries: PyResult<Vec<String>> =
            table.iter().map(|(key, value)| Ok(format!("{} = {}", bare_key(&key)?, toml(&value)?))).collect();
        return Ok(format!("{{ {} }}", entries?.join(", ")));
    }
    if let Ok(values) = value.try_iter() {
        let values: PyResult<Vec<String>> = values.map(|value| toml(&value?)).collect();
        return Ok(format!("[{}]", values?.join(", ")));
    }
    // Numbers of NumPy.
    if let Ok(number) = value.extract::<f64>() {
        return float(number);
    }
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("a setting is text, a number, a list or a dictionary, not {name}")))
}

fn float(number: f64) -> PyResult<String> {
    match number.is_finite() {
        true => Ok(format!("{number:?}")),
        false => Err(PyValueError::new_err(format!("a setting is {number}; it must be finite"))),
    }
}
