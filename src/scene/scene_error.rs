//! Errors of a scene, with their place in the text.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use thiserror::Error;

use crate::field::Field;
use crate::foreign::{on_one_line, shortened};
use crate::npz::NpzError;
use crate::parameter::Worded;
use crate::solver::{SCALAR_LIMIT, SolverError};

/// Reason why a scene could not be loaded or started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SceneError {
    /// Neither a built-in scene nor a file.
    #[error(
        "no scene `{}`: there is no such file, and the built-in scenes are {known}{hint}",
        on_one_line(name)
    )]
    Missing {
        /// Requested name.
        name: String,
        /// Known names.
        known: String,
        /// `; did you mean …?`, or an empty string.
        hint: String,
    },
    /// The file exists but cannot be read.
    #[error("cannot read the scene {}: {source}", on_one_line(&path.to_string_lossy()))]
    Read {
        /// Path of the scene.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The scene cannot be written as a file that reads back as the same scene.
    #[error("cannot write the scene `{name}`: {why}")]
    Unwritable {
        /// Name of the scene.
        name: String,
        /// The obstacle.
        why: String,
    },
    /// A solver cannot be built from the scene.
    #[error(transparent)]
    Solver(#[from] SolverError),
    /// The initial fields of the scene are not available.
    #[error(transparent)]
    Initial(#[from] InitialError),
    /// An error at a known place of the text.
    #[error(transparent)]
    At(#[from] Box<Problem>),
}

/// Reason why the initial fields of a scene are not available.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InitialError {
    /// The npz cannot be read.
    #[error(transparent)]
    File(#[from] NpzError),
    /// The OpenVDB file cannot be read, for this reason.
    #[error("initial.fields: {0}")]
    Volume(String),
    /// A formula gives a value out of range.
    #[error("initial.{field}: it is {value} at {at:?} m; it must lie within ±{:e} everywhere", Self::limit(*.field))]
    Formula {
        /// The field.
        field: Field,
        /// The value.
        value: f32,
        /// Position \[m\], to a micrometre.
        at: [f64; 3],
    },
    /// The npz holds a value out of range.
    #[error("initial.fields: `{field}` is {value} somewhere; it must lie within ±{:e} everywhere", Self::limit(*.field))]
    Stored {
        /// The field.
        field: Field,
        /// The value.
        value: f32,
    },
}

impl InitialError {
    /// Returns the greatest magnitude of an initial value of `field` \[m/s, - or K\]. A velocity has the
    /// bound of a scene's numbers.
    pub fn limit(field: Field) -> f32 {
        if field.face_axis().is_some() { 1e6 } else { SCALAR_LIMIT }
    }
}

/// An error at a known place of a scene file or of an override.
///
/// Displays as one line, `file:line:column: what to change`; [`text`](Self::text) and [`span`](Self::span)
/// show the place.
#[derive(Debug)]
pub struct Problem {
    /// The fault and its remedy, in words.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    span: Range<usize>,
    name: String,
    text: String,
}

impl Problem {
    /// Makes an error at the bytes `span` of `text`, which is called `name`.
    pub fn new(name: &str, text: &str, span: Range<usize>, message: String) -> Self {
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            message: shortened(&message, LONGEST),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span: start..span.end.clamp(start, text.len()),
            name: shortened(&on_one_line(name), 120),
            text: text.to_owned(),
        }
    }

    /// Returns the name of the text, usually that of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text that contains the place.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the faulty bytes of the text.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns the width of the place on its first line in characters, 1 or more.
    pub fn width(&self) -> usize {
        self.text[self.span()].lines().next().map_or(1, |line| line.chars().count()).max(1)
    }

    /// Numbers and texts of the line of the place and its neighbours.
    pub fn around(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(at, line)| (at + 1, line));
        let first = self.line.saturating_sub(1).max(1);
        lines.skip(first - 1).take_while(|(number, _)| *number <= self.line + 1)
    }
}

/// Greatest length of a message: a quoted text may be as long as a scene.
const LONGEST: usize = 600;

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.name, self.line, self.column, self.message)
    }
}

impl std::error::Error for Problem {}

/// Rounds to six digits for messages: 36 × 0.01 is 0.35999998 in single precision.
pub fn six_digits(x: f32) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(f64::from(x))
}

/// Returns the message for an unknown `word`, with the closest or all known ones.
pub fn unknown<'a>(what: &str, word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = match closest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known here: {}", known.join(", ")),
    };
    format!("unknown {what} `{word}`; {hint}")
}

/// Lists the tables that the words of `T` name: `one of sun = { … } and spot = { … }`.
pub fn one_of<T: Worded>() -> String {
    let tables: Vec<String> = T::NAMES.iter().map(|name| format!("{name} = {{ … }}")).collect();
    match tables.split_last() {
        Some((last, others)) => format!("one of {} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the candidate closest to `word`, if it is close enough.
pub(crate) fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_line_and_column_in_characters() {
        let text = "a = 1\né = \"ü\" x\n";
        let at = text.find('x').unwrap();
        let problem = Problem::new("s.toml", text, at..at + 1, "no".into());
        assert_eq!(problem.to_string(), "s.toml:2:9: no");
        let past = Problem::new("s.toml", text, 999..1000, "end".into());
        assert_eq!(past.line, 3);
    }

    #[test]
    fn suggestions_are_close_or_absent() {
        assert_eq!(closest("vorticty", ["viscosity", "vorticity", "cooling"]), Some("vorticity"));
        assert_eq!(closest("zzz", ["viscosity", "vorticity"]), None);
    }
}
