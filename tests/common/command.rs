//! Running the command in tests, and its output.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Makes the command in a folder.
pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = program(env!("CARGO_BIN_EXE_updraft"), folder);
    command.args(args);
    command
}

/// Makes a program in a folder, without a display and without the user's settings.
pub fn program(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(folder).env("XDG_CONFIG_HOME", folder);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "UPDRAFT_CONFIG", "UPDRAFT_LOG", "RUST_LOG", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// Runs the command.
pub fn updraft(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("the command starts")
}

/// Runs the command and asserts that it succeeds.
#[track_caller]
pub fn done(folder: &Path, args: &[&str]) -> Output {
    let output = updraft(folder, args);
    assert!(output.status.success(), "updraft {}: {}", args.join(" "), stderr(&output));
    output
}

/// Starts the command with its standard error captured.
pub fn start(folder: &Path, args: &[&str]) -> Child {
    let mut command = command(folder, args);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// Sends a signal, such as INT.
#[track_caller]
pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status();
    assert!(sent.expect("a shell").success(), "{name} was not sent");
}

/// Waits up to two minutes until `is_there` holds.
#[track_caller]
pub fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what} never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Splits a command line into its arguments at blanks.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Asserts success.
#[track_caller]
pub fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", stderr(output));
}

/// Asserts a refusal: exit code 2, `wanted` in the first line, few and printable characters, and no result.
#[track_caller]
pub fn refused(output: &Output, wanted: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.lines().next().is_some_and(|line| line.contains(wanted)), "{wanted:?} is not in {text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.len() < 4000, "{} bytes are said", text.len());
    assert!(output.stdout.is_empty(), "{}", stdout(output));
}

pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Returns the names in a folder, also hidden ones, in order.
pub fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the files of a folder, also hidden ones; `stats.csv` without wall times.
pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| {
        let mut bytes = std::fs::read(folder.join(&name)).expect("a file");
        if name == "stats.csv" {
            bytes = without_times(&String::from_utf8(bytes).expect("text")).into_bytes();
        }
        (name, bytes)
    };
    files(folder).into_iter().map(read).collect()
}

/// Returns a table without the wall times of the stages.
fn without_times(table: &str) -> String {
    let names: Vec<&str> = table.lines().next().unwrap_or("").split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').zip(&names).filter(|(_, name)| !name.starts_with("ms_"));
        cells.map(|(cell, _)| cell).collect::<Vec<_>>().join(",")
    };
    table.lines().map(row).collect::<Vec<_>>().join("\n")
}
