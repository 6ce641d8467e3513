//! Arguments of every command as tables for `docs/command.md`, generated from the declarations that parse them.

use std::fmt::Write as _;

use clap::{Arg, CommandFactory};

use super::Args;

/// Heading of the generated part of the page, which is the last one.
const HEADING: &str = "## Arguments\n";

/// Returns the generated part of the page.
fn page() -> String {
    let mut command = Args::command();
    command.build();
    let mut text =
        format!("{HEADING}\n`UPDATE_DOCS=1 cargo test --release --lib arguments_page` writes this part.\n");
    let everywhere = command.get_arguments().filter(|argument| argument.is_global_set());
    let rows: String = everywhere.filter_map(row).collect();
    write!(text, "\n### Everywhere\n\n{HEAD}{rows}").expect("text");
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        write!(text, "\n### `updraft {}`\n\n{about}.\n", sub.get_name()).expect("text");
        let own = sub.get_arguments().filter(|argument| !argument.is_global_set());
        let rows: String = own.filter_map(row).collect();
        if !rows.is_empty() {
            write!(text, "\n{HEAD}{rows}").expect("text");
        }
    }
    text
}

const HEAD: &str = "| argument | is | default |\n|---|---|---|\n";

/// Returns a row of the table; none for `--help` and `--version`.
fn row(argument: &Arg) -> Option<String> {
    if ["help", "version"].contains(&argument.get_id().as_str()) {
        return None;
    }
    let value = argument.get_value_names().filter(|_| argument.get_action().takes_values());
    let value = value.map(|names| names.iter().map(|name| format!("<{name}>")).collect::<String>());
    let names: Vec<String> = argument
        .get_short()
        .map(|short| format!("-{short}"))
        .into_iter()
        .chain(argument.get_long().map(|long| format!("--{long}")))
        .collect();
    let name = [names.join(", "), value.unwrap_or_default()].join(" ");
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let values = argument.get_possible_values();
    let values: Vec<&str> = match argument.get_action().takes_values() {
        true => values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect(),
        false => vec![],
    };
    let values = if values.is_empty() { String::new() } else { format!(": `{}`", values.join("`, `")) };
    let default = argument.get_default_values().iter().map(|value| value.to_string_lossy());
    let mut default = default.collect::<Vec<_>>().join(",");
    let mut help = help.as_str();
    // Defaults that depend on other arguments are part of the text.
    if let Some((text, rest)) = help.split_once(" [default: ") {
        (help, default) = (text, rest.trim_end_matches(']').to_owned());
    } else if !default.is_empty() && argument.get_action().takes_values() {
        default = format!("`{default}`");
    } else {
        default.clear();
    }
    let cell = |text: &str| text.replace('\n', " ").replace('|', "\\|").replace("  ", " ");
    Some(format!("| `{}` | {}{values} | {default} |\n", name.trim(), cell(help).replace('<', "&lt;")))
}

#[test]
fn the_page_of_the_command_has_every_argument() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/command.md");
    let old = std::fs::read_to_string(path).expect("a page");
    let by_hand = old.split(HEADING).next().expect("text");
    let right = format!("{by_hand}{}", page());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &right).expect("a page");
    } else {
        assert!(old == right, "docs/command.md is old; run with UPDATE_DOCS=1");
    }
    for part in ["### `updraft flipbook`", "| `--json` | Print the report as JSON", "`--grid <COLUMNSxROWS>`"]
    {
        assert!(right.contains(part), "{part}");
    }
}
