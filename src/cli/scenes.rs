//! `updraft scenes`: lists the built-in scenes, or prints the text of one.

use super::{CliError, say};
use crate::scene::{builtin, closest};

/// List the built-in scenes, or print one.
#[derive(Debug, clap::Args)]
pub struct ScenesArgs {
    /// The scene to print
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Runs the command.
pub fn run(args: &ScenesArgs) -> Result<(), CliError> {
    match &args.name {
        Some(name) => say(builtin::text(name).ok_or_else(|| unknown(name))?),
        None => say(&list()),
    }
}

fn list() -> String {
    let width = builtin::NAMES.iter().map(|name| name.len()).max().unwrap_or(0);
    let line = |name: &&str| format!("{name:width$}  {}\n", builtin::summary(name).unwrap_or_default());
    builtin::NAMES.iter().map(line).collect()
}

fn unknown(name: &str) -> CliError {
    let hint = closest(name, builtin::NAMES.iter().copied());
    let hint = hint.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    CliError::Request(format!("no built-in scene `{name}`; there are {}{hint}", builtin::NAMES.join(", ")))
}
