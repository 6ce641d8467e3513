//! The declared words of a scene: each is read, saved, documented, and listed where another stands.

use super::tests::{error, load_error, reference, with};
use super::*;
use crate::solver::BoundaryCondition;

/// Returns a scene around the key at `path`, which may need an object or a side with the property that it is
/// about.
fn around(path: &str, word: &str) -> String {
    let probe =
        |at: &str, fields: &str| format!("probe = [{{ name = 'a', fields = [{fields}], at = {at} }}]\n");
    let list = path.split('.').next().unwrap_or("");
    match (path, list) {
        ("probe.#.fields", _) => match word {
            "flow" => probe("{ plane = { y = 0.5 } }", ""),
            "heat_flux" => {
                "domain.walls.y_min = { closed = { temperature = 9 } }\n".to_owned()
                    + &probe("{ side = 'y_min' }", "")
            }
            "shear" => "domain.walls.y_min = 'no-slip'\n".to_owned() + &probe("{ side = 'y_min' }", ""),
            "heat_flow" => {
                "fluid.conduction = 1\nsolid = [{ temperature = 9, shape = { sphere = { radius = 0.1 } } }]\n"
                    .to_owned()
                    + &probe("{ solid = 0 }", "")
            }
            "force" => {
                "solid = [{ shape = { sphere = { radius = 0.1 } } }]\n".to_owned()
                    + &probe("{ solid = 0 }", "")
            }
            _ => probe("{ point = [0.4, 0.4, 0.4] }", ""),
        },
        ("probe.#.at", _) if word == "solid" => {
            "solid = [{ shape = { sphere = { radius = 0.1 } } }]\n".to_owned() + &probe("{}", "'force'")
        }
        ("probe.#.at" | "probe.#.at.side", _) => probe("{}", "'u'"),
        (_, "probe") => probe("{ point = [0.4, 0.4, 0.4] }", "'u'"),
        (_, "source") => "source = [{}]\n".into(),
        (_, "force") => "force = [{ wind = { acceleration = [1, 0, 0] } }]\n".into(),
        (_, "solid") => "solid = [{ shape = { sphere = { radius = 0.1 } } }]\n".into(),
        (_, "initial") => "initial.smoke = [{ red = 1 }]\n".into(),
        _ => String::new(),
    }
}

/// Contents of the table that `word` names at `path`, as TOML; a shape of a file has one that does not exist.
fn contents(path: &str, word: &str) -> &'static str {
    let is_solid = path.starts_with("solid");
    match word {
        "sphere" if is_solid => "{ radius = 0.1 }",
        "sphere" | "disc" => "{ center = [0.4, 0.4, 0.4], radius = 0.1 }",
        "box" if is_solid => "{ size = [0.1, 0.1, 0.1] }",
        "box" => "{ center = [0.4, 0.4, 0.4], size = [0.1, 0.1, 0.1] }",
        "cylinder" => "{ radius = 0.1, height = 0.1 }",
        "mesh" if is_solid => "'knot'",
        "mesh" => "{ file = 'none.obj', position = [0, 0, 0] }",
        "text" => "{ string = 'a', center = [0.4, 0.4, 0.4], height = 0.1, depth = 0.1 }",
        "image" => "{ file = 'none', center = [0, 0, 0], width = 0.1, depth = 0.1 }",
        "volume" => "{ file = 'none' }",
        "point" => "[0.4, 0.4, 0.4]",
        "line" => "{ from = [0.4, 0.4, 0.4], to = [0.4, 0.5, 0.4], points = 3 }",
        "plane" => "{ x = 0.5 }",
        "side" => "'y_min'",
        "solid" => "0",
        "steps" | "seconds" => "2",
        other => panic!("{path}: what does the table of `{other}` hold?"),
    }
}

/// Returns the values that give a key this word.
fn values(kind: crate::parameter::Kind, path: &str, word: &str) -> Vec<String> {
    use crate::parameter::Kind;
    match kind {
        Kind::Table(_) => vec![format!("{{ {word} = {} }}", contents(path, word))],
        Kind::WordOrTable(_) if word == "inflow" => vec!["{ x = { inflow = {} } }".into()],
        Kind::WordOrTable(_) => vec![format!("\"{word}\""), format!("{{ x = {{ {word} = {{}} }} }}")],
        Kind::Words(_) => vec![format!("[\"{word}\"]")],
        _ => vec![format!("\"{word}\"")],
    }
}

/// Walks all declared words: each is read from a file as from `--set`, is saved as it is written and reads back equal, and
/// stands in the reference; the error of a wrong word lists them.
#[test]
fn every_declared_word_is_read_saved_documented_and_listed() {
    use crate::parameter::{Kind, all};
    use crate::scene::edits::{Change, Entry};
    let page = reference();
    let mut walked = 0;
    for parameter in all() {
        let words: Vec<&str> = parameter.kind.words().map(|(word, _)| word).collect();
        let Some(first) = words.first() else { continue };
        let path = parameter.path.replace('#', "0");
        let is_row = |row: &&str| {
            let key = row.strip_prefix("| `").and_then(|row| row.split('`').next());
            key.is_some_and(|key| parameter.path.ends_with(key))
        };
        let quote = if matches!(parameter.kind, Kind::Table(_)) { "`" } else { "`\"" };
        let lists_all = |row: &str| words.iter().all(|word| row.contains(&format!("{quote}{word}")));
        assert!(page.lines().filter(is_row).any(lists_all), "{path} in the reference");

        for word in &words {
            let scene = around(&parameter.path, word);
            for value in values(parameter.kind, &parameter.path, word) {
                if value.contains("'none") {
                    let message = load_error(&scene, &[&format!("{path}={value}")]);
                    assert!(
                        message.contains(": cannot read ") && message.contains("none"),
                        "{path}: {message}"
                    );
                    continue;
                }
                let set = with(&scene, &[&format!("{path}={value}")]);
                // A probe that cannot be is completed by the key.
                let written = match Scene::parse("s.toml", &scene) {
                    Ok(scene) => {
                        let edited =
                            scene.edited(&[Change::Set(path.clone(), Some(Entry::Other(value.clone())))]);
                        edited.unwrap().write(Path::new("")).unwrap()
                    }
                    Err(_) => set.text().unwrap(),
                };
                assert!(written.contains(word), "{path} = {value} is saved as {written}");
                assert_eq!(Scene::parse("s.toml", &written).unwrap(), set, "{path} = {value}");
                walked += 1;
            }
        }

        let wrong = match parameter.kind {
            Kind::Table(_) => "{ qqq = {} }",
            Kind::Words(_) => "[\"qqq\"]",
            _ => "qqq",
        };
        let message = load_error(&around(&parameter.path, first), &[&format!("{path}={wrong}")]);
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
    assert!(walked > 80, "{walked}");
}

/// A choice made in the window is saved by its word.
#[test]
fn a_word_chosen_in_the_window_is_saved() {
    use crate::look::CameraProjection;
    use crate::parameter::{Holder, Kind, Value, Worded, all};
    let plain = with("", &[]);
    let saved = |scene: &Scene, key: &str, word: &str| {
        let written = scene.write(Path::new("")).unwrap();
        assert!(written.contains(&format!("{key} = \"{word}\"")), "{word} is saved as {written}");
        assert_eq!(Scene::parse("s.toml", &written).unwrap(), *scene, "{word}");
    };
    for parameter in all() {
        let (Kind::Word(words), Some(field)) = (parameter.kind, parameter.field()) else { continue };
        for (word, _) in words {
            let mut scene = plain.clone();
            scene.params.set_value(field, Value::Word(word));
            scene.look.set_value(field, Value::Word(word));
            scene.config.set_value(field, Value::Word(word));
            if scene != plain {
                saved(&scene, parameter.key(), word);
            }
        }
    }
    let mut flat = plain.clone();
    flat.camera.projection = CameraProjection::Orthographic;
    saved(&flat, "projection", CameraProjection::Orthographic.word());
}

/// The tables among which a force or a light chooses one are keys beside others: those of the struct are those declared.
#[test]
fn kinds_of_forces_and_lights_are_keys() {
    use crate::parameter::{ForceKind, LightKind, SideName, Worded};
    for (list, kinds) in [("force", ForceKind::NAMES), ("light", LightKind::NAMES)] {
        let message = error(&format!("{list} = [{{}}]"));
        let unknown = error(&format!("{list} = [{{ \"?\" = 1 }}]"));
        for kind in kinds {
            assert!(message.contains(&format!("{kind} = {{ … }}")), "{kind}: {message}");
            assert!(unknown.contains(kind), "{kind}: {unknown}");
        }
    }
    for (axis, ends) in SideName::ALL.into_iter().enumerate() {
        for (end, side) in ends.into_iter().enumerate() {
            let scene = with("domain.walls = 'closed'", &[&format!("domain.walls.{}=open", side.word())]);
            assert_eq!(side.axis_and_end(), [axis, end]);
            assert_eq!(scene.config.sides[axis][end], BoundaryCondition::Open);
        }
    }
}
