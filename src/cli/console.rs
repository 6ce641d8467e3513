//! Lines on stdout and stderr.
//!
//! Names of files and scenes may hold any character. [`tell`] and [`say_line`] print each text on one line and escape what
//! would act on a terminal; [`LogLines`] does the same for the log.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::CliError;
use crate::foreign::on_one_line;

/// Whether this process prints no lines, because another one prints for it.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Sets whether this process prints no lines.
pub fn silence(on: bool) {
    SILENT.store(on, Ordering::Relaxed);
}

/// Returns whether this process prints no lines.
pub fn is_silent() -> bool {
    SILENT.load(Ordering::Relaxed)
}

/// Prints an error on stderr, with the lines of the scene around it if there are any.
pub fn report(error: &CliError) {
    write_to_stderr(error.render(io::stderr().is_terminal(), is_coloured()).trim_end());
}

/// Writes `text` as one line to stderr.
pub fn tell(text: &str) {
    write_to_stderr(&on_one_line(text));
}

/// Writes `text` and a line end to stderr. Errors are ignored: a full disk or a closed pipe must not end a run.
fn write_to_stderr(text: &str) {
    if is_silent() {
        return;
    }
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// The log on stderr, with each event on one line.
pub struct LogLines;

impl Write for LogLines {
    /// Writes an event, which comes in one piece and ends with a line end.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let (inner, end) = match event.strip_suffix(b"\n") {
            Some(inner) => (inner, "\n"),
            None => (event, ""),
        };
        let line = String::from_utf8_lossy(inner).replace('\n', "\\u{a}") + end;
        io::stderr().write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Returns whether stderr takes colours: on a terminal, unless `NO_COLOR` (no-color.org) says otherwise.
pub fn is_coloured() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !forbidden && !is_dumb
}

/// Writes a result to stdout. A closed pipe (`| head`) is no error.
pub fn say(text: &str) -> Result<(), CliError> {
    if is_silent() {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Stdout(e)),
        _ => Ok(()),
    }
}

/// Writes a result to stdout as one line.
pub fn say_line(text: &str) -> Result<(), CliError> {
    say(&format!("{}\n", on_one_line(text)))
}

/// Writes a result to stdout as JSON.
pub fn say_json(value: &serde_json::Value) -> Result<(), CliError> {
    say(&json_text(value))
}

/// Formats JSON on several lines. Numbers in single precision get their own digits: 0.05, not
/// 0.05000000074505806.
pub fn json_text(value: &serde_json::Value) -> String {
    format!("{:#}\n", tidy(value.clone()))
}

fn tidy(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Array(list) => list.into_iter().map(tidy).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, tidy(value))).collect(),
        Value::Number(number) if number.is_f64() => {
            let exact = number.as_f64().unwrap_or(f64::NAN);
            let single = exact as f32;
            let is_single = f64::from(single) == exact;
            let short = if is_single { single.to_string().parse().unwrap_or(exact) } else { exact };
            serde_json::Number::from_f64(short).map_or(Value::Null, Value::Number)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_of_single_precision_are_short() {
        let value = json!({ "a": [0.05_f32, 24, 1e-4_f32], "b": 0.1_f64, "c": 1.0 / 3.0, "d": null });
        let text = json_text(&value);
        assert!(text.contains("0.05,") && text.contains("0.0001\n") && text.contains("0.1,"), "{text}");
        assert!(text.contains("0.3333333333333333,") && text.contains("24,"), "{text}");
    }
}
