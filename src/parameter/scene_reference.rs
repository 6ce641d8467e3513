//! Generates the parts of `docs/scene.md` between `<!-- defaults -->` or `<!-- keys: PREFIX -->` and `<!--
//! end -->`. The text around them is written by hand. `UPDATE_DOCS=1 cargo test --lib reference` rewrites the
//! file.

use std::fmt::Write;

use super::{Kind, Parameter, all};

/// Returns `page` with its generated parts replaced.
fn generate(page: &str) -> String {
    let mut out = String::new();
    let mut skipping = false;
    for line in page.lines() {
        skipping &= line != "<!-- end -->";
        if !skipping {
            out.push_str(line);
            out.push('\n');
        }
        let part = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")).unwrap_or("");
        match part.strip_prefix("keys: ") {
            Some(prefix) => out.push_str(&table(prefix)),
            None if part == "defaults" => out.push_str(&defaults()),
            None => continue,
        }
        skipping = true;
    }
    out
}

/// Returns the table of the keys whose paths begin with `prefix`.
fn table(prefix: &str) -> String {
    let mut out = "\n| key | default | range | a change | |\n|---|---|---|---|---|\n".to_owned();
    for parameter in all().filter(|p| p.path.starts_with(prefix)) {
        let key = &parameter.path[prefix.len()..];
        let default = parameter.default_toml().map(|toml| format!("`{toml}`")).unwrap_or_default();
        let (range, effect) = (range(parameter), parameter.effect.name());
        let _ = writeln!(out, "| `{key}` | {default} | {range} | {effect} | {} |", description(parameter));
    }
    out.push('\n');
    out
}

/// Returns the accepted values in Markdown.
fn range(parameter: &Parameter) -> String {
    let numbers = format!("{} \\[{}\\]", parameter.range(), parameter.unit);
    match parameter.kind {
        Kind::Number | Kind::Formula => numbers,
        Kind::NumberOr(word) => format!("{numbers}, or `\"{word}\"`"),
        Kind::Whole => format!("{}, whole", parameter.range()),
        Kind::Wholes(count) => format!("{count} whole numbers, {numbers}"),
        Kind::Pair => format!("`[x, y]`, {numbers}"),
        Kind::Vector => format!("`[x, y, z]`, {numbers}"),
        Kind::Direction => "`[x, y, z]`, a direction".into(),
        Kind::Color => format!("colour, {numbers}"),
        Kind::ColorOrNone => format!("colour, {}, or `false`", parameter.range()),
        Kind::Flag => "`true` or `false`".into(),
        Kind::Word(_) => "a word".into(),
        Kind::Table(_) => "a table with one key".into(),
        Kind::WordOrTable(_) => "a word or a table".into(),
        Kind::Words(_) => "a list of words".into(),
        Kind::Text => "text".into(),
        Kind::List => "see there".into(),
    }
}

/// Returns the description, with the words that the key accepts.
fn description(parameter: &Parameter) -> String {
    let mut text = parameter.description.to_owned();
    let quote = if matches!(parameter.kind, Kind::Table(_)) { "" } else { "\"" };
    for (word, meaning) in parameter.kind.words() {
        // Units in brackets would be links.
        let meaning = meaning.replace('|', "\\|").replace('[', "\\[").replace(']', "\\]");
        let _ = write!(text, " `{quote}{word}{quote}`: {meaning}.");
    }
    text
}

/// Returns all keys outside lists that have a default, as a scene.
fn defaults() -> String {
    let mut out = "\n```toml\n".to_owned();
    let mut head = String::new();
    for parameter in all() {
        let in_scene = ["domain", "time", "fluid", "smoke", "turbulence", "solver", "render"];
        let top = parameter.path.split('.').next().unwrap_or("");
        let Some(value) = parameter.default_toml().filter(|_| in_scene.contains(&top)) else { continue };
        // A table within a table of two parts is written with dotted keys.
        let within = head.contains('.') && parameter.path.starts_with(&format!("{head}."));
        if parameter.table() != head && !within {
            head = parameter.table().to_owned();
            let gap = if out.ends_with("toml\n") { "" } else { "\n" };
            let _ = writeln!(out, "{gap}[{head}]");
        }
        let _ = writeln!(out, "{} = {value}", &parameter.path[head.len() + 1..]);
    }
    out + "```\n\n"
}

/// Returns the path of the reference and its text.
fn reference() -> (std::path::PathBuf, String) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scene.md");
    let page = std::fs::read_to_string(&path).unwrap();
    (path, page)
}

#[test]
fn the_reference_is_up_to_date() {
    let (path, page) = reference();
    let generated = generate(&page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        // Renamed into place, since the test below may read the page at the same time.
        let new = path.with_extension("new");
        std::fs::write(&new, &generated).unwrap();
        std::fs::rename(new, path).unwrap();
    } else {
        assert!(page == generated, "docs/scene.md is out of date: UPDATE_DOCS=1 cargo test --lib reference");
    }
}

#[test]
fn the_reference_has_every_key_of_a_scene() {
    let (_, page) = reference();
    let prefixes: Vec<&str> =
        page.lines().filter_map(|l| l.strip_prefix("<!-- keys: ")?.strip_suffix(" -->")).collect();
    // Keys of green and blue repeat those of red, and sliders of the window are not keys.
    let elsewhere = ["smoke.green.", "smoke.blue.", "brush.", "sun.", "slice."];
    for parameter in all() {
        let shown = prefixes.iter().chain(&elsewhere).any(|prefix| parameter.path.starts_with(prefix));
        assert!(shown, "{} is in no table", parameter.path);
    }
}
