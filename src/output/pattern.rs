//! Makes file names with the frame number: `plume.####.png`, `plume.%04d.png`.

use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

/// A file name with a placeholder for the frame number, or a plain one for a single frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    before: String,
    /// Least number of digits, if there is a placeholder.
    digits: Option<usize>,
    after: String,
}

/// An invalid file name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatternError {
    /// More than one placeholder for the frame number.
    #[error("`{0}` has more than one place for the frame number; write #### or %04d once")]
    Twice(String),
    /// The placeholder is in a folder, or there is no file name.
    #[error("`{0}` needs the frame number in its file name, as in plume.####.png")]
    NotInName(String),
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let name_at = text.rfind('/').map_or(0, |slash| slash + 1);
        let Some((start, end, digits)) = placeholder(text) else {
            let named = name_at < text.len();
            let plain = Self { before: text.to_owned(), digits: None, after: String::new() };
            return if named { Ok(plain) } else { Err(PatternError::NotInName(text.to_owned())) };
        };
        if start < name_at {
            return Err(PatternError::NotInName(text.to_owned()));
        }
        if placeholder(&text[end..]).is_some() {
            return Err(PatternError::Twice(text.to_owned()));
        }
        Ok(Self { before: text[..start].to_owned(), digits: Some(digits), after: text[end..].to_owned() })
    }
}

impl Pattern {
    /// Returns the path of frame `frame`.
    pub fn path(&self, frame: u32) -> PathBuf {
        let Self { before, digits, after } = self;
        match digits {
            Some(digits) => PathBuf::from(format!("{before}{frame:0digits$}{after}")),
            None => PathBuf::from(before),
        }
    }

    /// Returns whether different frames have different files.
    pub fn is_numbered(&self) -> bool {
        self.digits.is_some()
    }

    /// Returns the extension in lower case, or an empty string.
    pub fn extension(&self) -> String {
        let path = self.path(0);
        path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default()
    }
}

/// Returns the start, the end and the number of digits of the first placeholder in `text`.
fn placeholder(text: &str) -> Option<(usize, usize, usize)> {
    let hashes = text.find('#').map(|start| {
        let count = text[start..].chars().take_while(|&c| c == '#').count();
        (start, start + count, count)
    });
    let percent = text.match_indices('%').find_map(|(start, _)| {
        let tail = &text[start + 1..];
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let width = if digits == 0 { 1 } else { tail[..digits].parse().ok().filter(|&w| w < 20)? };
        tail[digits..].starts_with('d').then_some((start, start + digits + 2, width))
    });
    [hashes, percent].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(pattern: &str, frame: u32) -> String {
        pattern.parse::<Pattern>().unwrap().path(frame).display().to_string()
    }

    #[test]
    fn both_notations_number_the_frames() {
        assert_eq!(path("out/plume.####.png", 7), "out/plume.0007.png");
        assert_eq!(path("plume.%04d.png", 12345), "plume.12345.png");
        assert_eq!(path("p%d.png", 3), "p3.png");
        assert_eq!(path("one.png", 3), "one.png");
        assert_eq!(path("50%.png", 3), "50%.png");
        assert_eq!("a.##.PNG".parse::<Pattern>().unwrap().extension(), "png");
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for bad in ["a.##.##.png", "a.##.%02d.png", "##/a.png", "out/", ""] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad}");
        }
    }
}
