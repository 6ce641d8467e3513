//! The command as tests run it, and what it said.
#![allow(dead_code)]

use std::path::Path;
use std::process::{Command, Output};

/// The command in a folder, without a display and without the settings of whoever runs the tests.
pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
    command.current_dir(folder).args(args).env("XDG_CONFIG_HOME", folder);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "UPDRAFT_CONFIG", "UPDRAFT_LOG", "RUST_LOG", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// Runs the command.
pub fn updraft(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("the command starts")
}

/// The arguments of a command line, which stand between blanks.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Asserts a refusal: exit code 2, `wanted` in the first line, and no result.
#[track_caller]
pub fn refused(output: &Output, wanted: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.lines().next().is_some_and(|line| line.contains(wanted)), "{wanted:?} is not in {text}");
    assert!(output.stdout.is_empty(), "{}", stdout(output));
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
