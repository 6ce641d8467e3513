//! What can be wrong with a scene, with the place where it is wrong.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use thiserror::Error;

use crate::foreign::shortened;

/// Why a scene could not be loaded.
#[derive(Debug, Error, Diagnostic)]
pub enum SceneError {
    /// Neither a built-in scene nor a file.
    #[error("no scene `{name}`: there is no such file, and the built-in scenes are {known}{hint}")]
    Missing {
        /// What was asked for.
        name: String,
        /// The names that would have worked.
        known: String,
        /// `; did you mean …?`, or nothing.
        hint: String,
    },
    /// The file is there but cannot be read.
    #[error("cannot read the scene {}: {source}", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The scene cannot be written as a file that would be read as it is.
    #[error("cannot write the scene `{name}`: {why}")]
    Unwritable {
        /// Its name.
        name: String,
        /// What stands against it.
        why: String,
    },
    /// Something at a known place of the text.
    #[error(transparent)]
    #[diagnostic(transparent)]
    At(#[from] Box<Problem>),
}

/// Something wrong at a known place of a scene file or of an override.
///
/// Displays as one line, `file:line:column: what to change`; as a diagnostic it also shows the span.
#[derive(Debug)]
pub struct Problem {
    /// What is wrong and what to do about it.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    span: Range<usize>,
    source: NamedSource<String>,
}

impl Problem {
    /// A problem at the bytes `span` of `text`, which is called `name`.
    pub fn new(name: &str, text: &str, span: Range<usize>, message: String) -> Self {
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            message: shortened(&message, LONGEST),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span: start..span.end.clamp(start, text.len()),
            source: NamedSource::new(shortened(name, 120), text.to_owned()),
        }
    }
}

/// The most characters of a message: what is quoted in it may be as long as a scene.
const LONGEST: usize = 600;

impl Problem {
    /// What the text is called.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Characters of the place on its first line, 1 or more.
    pub fn width(&self) -> usize {
        let place = &self.source.inner()[self.span.clone()];
        place.lines().next().map_or(1, |line| line.chars().count()).max(1)
    }

    /// The numbers and the text of the line of the place and of those before and after it.
    pub fn around(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.source.inner().lines().enumerate().map(|(at, line)| (at + 1, line));
        let first = self.line.saturating_sub(1).max(1);
        lines.skip(first - 1).take_while(|(number, _)| *number <= self.line + 1)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.source.name(), self.line, self.column, self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(None, self.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// The candidate closest to `word`, if one is close enough to be meant.
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
