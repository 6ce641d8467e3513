//! `updraft completions` and `updraft man`: files that packages install, made from the arguments themselves.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap_complete::Shell;

use super::{CliError, Common, say, say_line};
use crate::output::whole;

/// Print the completions of a shell.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Print the manual page, or write those of all commands.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Folder to write `updraft.1` and a page for each command to
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl ManArgs {
    /// Returns whether the pages go to files.
    pub fn writes_files(&self) -> bool {
        self.folder.is_some()
    }
}

/// Prints the completions of `command`.
pub fn completions(args: &CompletionsArgs, mut command: clap::Command) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "updraft", &mut script);
    say(&String::from_utf8_lossy(&script))
}

/// Prints or writes the pages of `command`.
pub fn man(args: &ManArgs, common: &Common, command: clap::Command) -> Result<(), CliError> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.folder else {
        return say(&page(command)?);
    };
    std::fs::create_dir_all(folder)
        .map_err(|error| CliError::Request(format!("cannot make {}: {error}", folder.display())))?;
    let visible = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let commands: Vec<clap::Command> = std::iter::once(&command).chain(visible).cloned().collect();
    let pages: Vec<(PathBuf, clap::Command)> =
        commands.into_iter().map(|command| (file(folder, &command), command)).collect();
    whole::prepare(pages.iter().map(|(path, _)| path.as_path()), common.force).map_err(CliError::Target)?;
    for (path, command) in pages {
        let text = page(command)?;
        whole::write(&path, |file| file.write_all(text.as_bytes()))?;
        say_line(&path.display().to_string())?;
    }
    Ok(())
}

/// Returns the path of the page of a command, with its full name: `updraft-render.1`.
fn file(folder: &Path, command: &clap::Command) -> PathBuf {
    folder.join(format!("{}.1", command.get_display_name().unwrap_or(command.get_name())))
}

fn page(command: clap::Command) -> Result<String, CliError> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text).map_err(CliError::Stdout)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
