//! The keys that an override sets, for commands that cannot use all of them.

use toml::de::{DeTable, DeValue};

use super::scene_text::in_toml;
use crate::parameter::{self, Parameter};

/// A key that an override sets, with its parameters.
#[derive(Debug)]
pub struct OverrideKey {
    /// The dotted key.
    pub key: String,
    /// The parameter of the key. For a key of a table, all parameters below it. Empty if the key is unknown.
    pub parameters: Vec<&'static Parameter>,
}

/// Returns the keys that the override `key=value` sets, including each key in a table or list. Returns none
/// if the text is not an override: the scene refuses it.
pub fn override_keys(text: &str) -> Vec<OverrideKey> {
    let text = in_toml(text);
    let mut keys = Vec::new();
    if let Ok(table) = DeTable::parse(&text) {
        gather(table.get_ref(), &mut Vec::new(), &mut keys);
    }
    keys
}

/// Adds the keys of `table` at `path`.
fn gather(table: &DeTable, path: &mut Vec<String>, keys: &mut Vec<OverrideKey>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) if !inner.is_empty() => gather(inner, path, keys),
            DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
                for (index, item) in items.iter().enumerate() {
                    let DeValue::Table(inner) = item.get_ref() else { continue };
                    path.push(index.to_string());
                    gather(inner, path, keys);
                    path.pop();
                }
            }
            _ => keys.push(OverrideKey { key: path.join("."), parameters: meant(path) }),
        }
        path.pop();
    }
}

/// Returns the parameters of a key.
fn meant(path: &[String]) -> Vec<&'static Parameter> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let declared = |parts: &[&str]| parameter::find(&parameter::declared_path(parts));
    if let Some(parameter) = declared(&parts) {
        return vec![parameter];
    }
    let head = parameter::declared_path(&parts) + ".";
    let below: Vec<_> = parameter::all().filter(|parameter| parameter.path.starts_with(&head)).collect();
    if !below.is_empty() {
        return below;
    }
    // The key is in a table with names of the user, such as initial.let.
    (1..parts.len()).rev().find_map(|count| declared(&parts[..count])).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Subject;

    /// Returns the keys, with the declared paths of up to two parameters.
    fn keys(text: &str) -> Vec<(String, String)> {
        let paths = |key: &OverrideKey| {
            key.parameters
                .iter()
                .take(2)
                .map(|parameter| parameter.path.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        };
        override_keys(text).iter().map(|key| (key.key.clone(), paths(key))).collect()
    }

    #[test]
    fn an_override_means_the_parameters_of_its_keys() {
        for (text, wanted) in [
            ("fluid.vorticity=2", &[("fluid.vorticity", "fluid.vorticity")][..]),
            (
                "fluid={vorticity=2, cooling=1}",
                &[("fluid.cooling", "fluid.cooling"), ("fluid.vorticity", "fluid.vorticity")],
            ),
            ("render.floor=#ff8800", &[("render.floor", "render.floor")]),
            ("source=[{velocity=[0, 1, 0]}]", &[("source.0.velocity", "source.#.velocity")]),
            ("force=[]", &[("force", "force.#.wind.acceleration force.#.wind.velocity")]),
            ("domain.walls.x=open", &[("domain.walls.x", "side.closed.temperature side.no-slip.velocity")]),
            ("initial.let.a=1", &[("initial.let.a", "initial.let")]),
            ("fluid.vorticty=2", &[("fluid.vorticty", "")]),
            ("no override", &[]),
        ] {
            let mut found = keys(text);
            found.sort();
            let wanted: Vec<_> =
                wanted.iter().map(|(key, path)| ((*key).to_owned(), (*path).to_owned())).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }

    /// A key of pictures acts on pictures alone.
    #[test]
    fn parameters_act_upon_what_their_effect_says() {
        for (text, subjects) in [
            ("render.floor=false", &[Subject::Picture][..]),
            ("smoke.red.color=#fff", &[Subject::Picture]),
            ("smoke.red.buoyancy=1", &[Subject::Air]),
            ("smoke.red.dissipation=1", &[Subject::Air, Subject::Smoke]),
            ("force.0.wind.velocity=[1, 0, 0]", &[Subject::Air]),
            ("solver.threads=1", &[Subject::Machine]),
            ("solid.0.position=[1, 0, 0]", &[Subject::Air, Subject::Smoke, Subject::Picture]),
        ] {
            let keys = override_keys(text);
            assert!(keys.iter().all(|key| key.parameters[0].subjects() == subjects), "{text}");
        }
    }
}
