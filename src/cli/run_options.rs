//! Options of a run that its checkpoint stores: frames, fields, formats and others.
//!
//! `--resume` takes them from the checkpoint. New values are allowed for `--frames`, so that a run can be
//! extended, and for `--checkpoint-every` and `--steady`. Another value of any other option would make files
//! that do not belong together, and is refused.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use clap::ValueEnum;

use super::CliError;
use super::checkpoint::{Checkpoint, Head};
use super::frames::Frames;
use super::simulate_args::{Format, Precision, SimulateArgs};
use crate::field::Field;
use crate::foreign::acts_on_terminal;
use crate::volume::Up;

/// Output of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunOptions {
    pub frames: Frames,
    pub format: Vec<Format>,
    pub fields: Vec<Field>,
    pub up: Up,
    pub precision: Precision,
    /// Start of the means of the fields \[s\].
    pub mean_from: Option<f64>,
    /// Frames between checkpoints.
    pub checkpoint_every: Option<u32>,
    /// Relative change of the kinetic energy below which the run ends \[1/s\].
    pub steady: Option<f64>,
    /// Whether the resumed run has become steady and is over.
    pub has_ended: bool,
}

impl Default for RunOptions {
    /// Returns the options of `updraft simulate` without arguments.
    fn default() -> Self {
        Self {
            frames: Frames { first: 1, last: 120, step: 1 },
            format: vec![],
            fields: Field::STORED.to_vec(),
            up: Up::Y,
            precision: Precision::Half,
            mean_from: None,
            checkpoint_every: None,
            steady: None,
            has_ended: false,
        }
    }
}

impl RunOptions {
    /// Takes each option from `args`, else from the resumed run, else from `usual`.
    ///
    /// # Errors
    /// If an option differs from that of the resumed run, or if the run is beyond the last frame.
    pub fn of(args: &SimulateArgs, saved: Option<&Checkpoint>, usual: &Self) -> Result<Self, CliError> {
        let saved_options = Saved { head: saved.map(|saved| &saved.head), out: &args.out };
        let frames =
            saved_options.option("frames", args.frames.map(|frames| frames.to_string()), |_, _| true)?;
        let damaged = || {
            saved_options
                .refusal("is damaged: it has options that this program does not know; begin the run anew")
        };
        let format =
            values(saved_options.list("format", &args.format)?, &usual.format).ok_or_else(damaged)?;
        refuse_fields(args, &format)?;
        let fields = saved_options.list("fields", &args.fields)?;
        let up = saved_options.option("up", args.up.map(name), |a, b| a == b)?;
        let precision = saved_options.option("precision", args.precision.map(name), |a, b| a == b)?;
        let from =
            saved_options
                .option("mean-from", args.mean_from.map(|from| format!("{from:?}")), |a, b| a == b)?;
        // These two do not change files that are written already.
        let every = saved_options.option(
            "checkpoint-every",
            args.checkpoint_every.map(|n| n.to_string()),
            |_, _| true,
        )?;
        let steady =
            saved_options.option("steady", args.steady.map(|share| format!("{share:?}")), |_, _| true)?;
        let frames = frames.map(|text| text.parse()).transpose().map_err(|_| damaged())?;
        let options = Self {
            frames: frames.unwrap_or(usual.frames),
            format,
            fields: values(fields, &usual.fields).ok_or_else(damaged)?,
            up: values(up, &[usual.up]).and_then(|list| list.first().copied()).ok_or_else(damaged)?,
            precision: values(precision, &[usual.precision])
                .and_then(|list| list.first().copied())
                .ok_or_else(damaged)?,
            mean_from: from.map(|from| from.parse()).transpose().map_err(|_| damaged())?,
            checkpoint_every: every.map(|every| every.parse()).transpose().map_err(|_| damaged())?,
            steady: steady.map(|share| share.parse()).transpose().map_err(|_| damaged())?,
            has_ended: false,
        };
        saved_options.check_end(options.frames)?;
        Ok(Self { has_ended: saved_options.has_ended(&options), ..options })
    }

    /// Fails if there are options of volumes but no volumes, or a step between frames but no frames. `up` is
    /// the name of the option of the axis.
    pub fn refuse_idle(&self, args: &SimulateArgs, up: &str) -> Result<(), CliError> {
        if let (Some(Frames { step: step @ 2.., .. }), []) = (args.frames, self.format.as_slice()) {
            return Err(CliError::Request(format!(
                "--frames: the step of {step} has no effect here: it chooses frames whose fields are written, and none are; add --format, or leave the step out"
            )));
        }
        let given = [(up, args.up.is_some()), ("--precision", args.precision.is_some())];
        match given.into_iter().find(|(_, is_given)| *is_given && !self.format.contains(&Format::Vdb)) {
            None => Ok(()),
            Some((option, _)) => Err(CliError::Request(format!(
                "{option} has no effect here: it is for vdb files, and none is written; add vdb to --format, or leave it out"
            ))),
        }
    }

    /// Returns the options for a checkpoint; `has_ended` if the run became steady.
    pub fn texts(&self, has_ended: bool) -> BTreeMap<String, String> {
        let mut texts = vec![
            ("frames", self.frames.to_string()),
            ("format", names(&self.format)),
            ("fields", names(&self.fields)),
            ("up", name(self.up)),
            ("precision", name(self.precision)),
        ];
        texts.extend(self.mean_from.map(|from| ("mean-from", format!("{from:?}"))));
        texts.extend(self.checkpoint_every.map(|every| ("checkpoint-every", every.to_string())));
        texts.extend(self.steady.map(|share| ("steady", format!("{share:?}"))));
        texts.extend(has_ended.then(|| (ENDED, "true".to_owned())));
        texts.into_iter().map(|(option, text)| (option.to_owned(), text)).collect()
    }
}

/// Key in a checkpoint of a run that became steady.
const ENDED: &str = "ended";

/// Fails if there are options of fields but no `format`.
fn refuse_fields(args: &SimulateArgs, format: &[Format]) -> Result<(), CliError> {
    let given = [("--fields", !args.fields.is_empty()), ("--mean-from", args.mean_from.is_some())];
    match given.into_iter().find(|(_, is_given)| *is_given && format.is_empty()) {
        None => Ok(()),
        Some((option, _)) => Err(CliError::Request(format!(
            "{option} has no effect here: no fields are written; add --format, or leave it out"
        ))),
    }
}

/// Options of the resumed run, if there is one.
struct Saved<'a> {
    head: Option<&'a Head>,
    out: &'a Path,
}

impl Saved<'_> {
    fn refusal(&self, what: &str) -> CliError {
        CliError::Request(format!("{}/checkpoint {what}", self.out.display()))
    }

    /// Returns the text of an option: the given one, else that of the run.
    ///
    /// # Errors
    /// If the run has another one; `same` compares the two.
    fn option(
        &self,
        option: &str,
        given: Option<String>,
        same: impl Fn(&str, &str) -> bool,
    ) -> Result<Option<String>, CliError> {
        // A checkpoint of an older program has no options.
        let Some(head) = self.head.filter(|head| !head.options.is_empty()) else { return Ok(given) };
        let kept = head.options.get(option);
        let Some(given) = given else { return Ok(kept.cloned()) };
        if kept.map_or_else(|| same("", &given), |kept| same(kept, &given)) {
            return Ok(Some(given));
        }
        let option = if option == "up" && head.has_given_flow { "up-axis" } else { option };
        let said = |text: &str| match text {
            "" => format!("no --{option}"),
            text => format!("--{option} {text}"),
        };
        Err(self.refusal(&format!(
            "is of a run with {}, not with {}; omit --{option} to continue it, or choose another --out",
            said(kept.map_or("", String::as_str)),
            said(&given)
        )))
    }

    /// Returns the text of a list as [`option`](Self::option) does. Lists are compared without regard to
    /// order; that of the run is kept.
    fn list<T: ValueEnum + PartialEq>(&self, option: &str, given: &[T]) -> Result<Option<String>, CliError> {
        let given = (!given.is_empty()).then(|| names(given));
        let sorted = |text: &str| {
            let mut names: Vec<String> = text.split(',').map(str::to_owned).collect();
            names.sort_unstable();
            names
        };
        let text = self.option(option, given, |a, b| sorted(a) == sorted(b))?;
        Ok(self.head.and_then(|head| head.options.get(option).cloned()).or(text))
    }

    /// Returns whether the run has become steady, and `options` do not extend it.
    fn has_ended(&self, options: &RunOptions) -> bool {
        let Some(head) = self.head else { return false };
        let asked = options.texts(true);
        [ENDED, "frames", "steady"].into_iter().all(|option| head.options.get(option) == asked.get(option))
    }

    /// Fails if the frames end before the run.
    fn check_end(&self, frames: Frames) -> Result<(), CliError> {
        match self.head {
            Some(head) if frames.last < head.frame => Err(self.refusal(&format!(
                "is at frame {}, and --frames {frames} end before it; a later last frame extends the run",
                head.frame
            ))),
            _ => Ok(()),
        }
    }
}

/// Returns the name of a value on the command line.
fn name<T: ValueEnum>(value: T) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Names of `values`, each once.
fn names<T: ValueEnum + PartialEq>(values: &[T]) -> String {
    let once = values.iter().enumerate().filter(|(n, value)| !values[..*n].contains(value));
    once.map(|(_, value)| name(value.clone())).collect::<Vec<_>>().join(",")
}

/// Returns the values that a text names, or the `usual` ones without a text; `None` if a name is wrong.
fn values<T: ValueEnum>(text: Option<String>, usual: &[T]) -> Option<Vec<T>> {
    let Some(text) = text else { return Some(usual.to_vec()) };
    text.split(',').filter(|name| !name.is_empty()).map(|name| T::from_str(name, false).ok()).collect()
}

/// Joins `words` to a command on one line, quoted for a shell where necessary. Characters that act on a terminal are
/// written as `$'\n'`, which bash, zsh and ksh read.
pub(super) fn command<T: Display>(words: impl IntoIterator<Item = T>) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:#@+".contains(c);
    let quoted = |word: String| match () {
        () if !word.is_empty() && word.chars().all(plain) => word,
        () if word.contains(acts_on_terminal) => {
            format!("$'{}'", word.chars().map(in_dollar_quotes).collect::<String>())
        }
        () => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.into_iter().map(|word| quoted(word.to_string())).collect::<Vec<_>>().join(" ")
}

/// Returns a character as it stands within `$'…'`.
fn in_dollar_quotes(c: char) -> String {
    match c {
        '\n' => r"\n".into(),
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_ascii_control() => format!(r"\x{:02x}", u32::from(c)),
        c if acts_on_terminal(c) => format!(r"\u{:04x}", u32::from(c)),
        c => c.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_quoted_for_a_shell() {
        let cases = [
            ("run/a-1", "run/a-1"),
            ("my run", "'my run'"),
            ("it's", r"'it'\''s'"),
            ("a\nb", r"$'a\nb'"),
            ("it's\u{1b}[31m", r"$'it\'s\x1b[31m'"),
            ("\u{202e}x\\", r"$'\u202ex\\'"),
            ("", "''"),
        ];
        for (word, quoted) in cases {
            assert_eq!(command(["updraft", word]), format!("updraft {quoted}"));
        }
    }
}
