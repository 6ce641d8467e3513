//! Reads foreign files and text within limits.
//!
//! All foreign files go through [`read`], [`text`] or [`open`]. Their size is compared with a limit before
//! memory is allocated. Named pipes and devices are refused: opening one may wait for ever. Standard input and
//! the pipes of a shell (`<(command)`) have no size; they are read up to the limit. Text that is shown again
//! goes through [`shortened`] and [`visible`], names in messages through [`on_one_line`].

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::room;

/// Largest text: scenes and reports \[bytes\].
#[cfg(feature = "scene")]
pub const TEXT: u64 = 16 << 20;
/// Largest font \[bytes\].
#[cfg(feature = "scene")]
pub const FONT: u64 = 64 << 20;
/// Largest picture file \[bytes\].
pub const PICTURE: u64 = 256 << 20;
/// Largest mesh \[bytes\].
pub const MESH: u64 = 1 << 30;
/// Largest OpenVDB file \[bytes\].
#[cfg(feature = "scene")]
pub const VOLUME: u64 = 16 << 30;

/// Reads all bytes of the file at `path`, if there are at most `most`.
///
/// # Errors
/// If it cannot be read, is larger, or does not fit into memory.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let about = file.metadata()?;
    if about.len() > most {
        return Err(too_large(about.len(), most));
    }
    let mut bytes = room::vec(about.len() as usize, "the file").map_err(io::Error::other)?;
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64, most));
    }
    Ok(bytes)
}

/// Opens the file at `path`.
///
/// # Errors
/// If it cannot be opened, or is a folder, a device, or a pipe with a name.
pub fn open(path: &Path) -> io::Result<File> {
    let about = path.metadata()?;
    if about.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    if !about.is_file() && !is_given(path) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a device or a named pipe, which may never end; pass its contents to /dev/stdin",
        ));
    }
    File::open(path)
}

/// Returns whether `path` is open already, as standard input or a pipe of a shell, or empty by convention.
fn is_given(path: &Path) -> bool {
    let known = ["/dev/stdin", "/dev/null"].map(Path::new);
    known.contains(&path) || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd")
}

/// Reads a file as text.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

fn too_large(found: u64, most: u64) -> io::Error {
    let (found, most) = (room::human(found), room::human(most));
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has {found} or more; at most {most} are read"))
}

/// Shortens `text` to about `most` characters by leaving out its middle.
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head} … {tail}")
}

/// Returns whether a character acts on a terminal: a control character, or one that changes the direction of
/// writing.
#[cfg(any(feature = "scene", test))]
pub fn acts_on_terminal(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes characters that [act on a terminal](acts_on_terminal) as `\u{1b}`. Line ends are kept, and a tab becomes a blank.
#[cfg(any(feature = "scene", test))]
pub fn visible(text: &str) -> String {
    use std::fmt::Write as _;

    let acts = |c: char| c != '\n' && acts_on_terminal(c);
    if !text.contains(acts) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push(' '),
            c if acts(c) => {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Escapes as [`visible`] does, and line ends too, for names within a line.
#[cfg(any(feature = "scene", test))]
pub fn on_one_line(name: &str) -> String {
    visible(name).replace('\n', "\\u{a}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_over_the_limit_is_refused_with_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, [7; 2000]).unwrap();
        assert_eq!(read(&path, 2000).unwrap().len(), 2000);
        let message = read(&path, 1 << 10).unwrap_err().to_string();
        assert!(message.contains("at most 1 KiB are read"), "{message}");
        assert!(read(dir.path(), 10).unwrap_err().to_string().contains("folder"));
    }

    /// A device without an end has the size 0.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_an_end_is_refused() {
        use std::os::fd::AsRawFd;
        let message = read(Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string();
        assert!(message.contains("device or a named pipe"), "{message}");
        // A shell may have opened the device already.
        let zero = File::open("/dev/zero").unwrap();
        let given = format!("/dev/fd/{}", zero.as_raw_fd());
        let message = read(Path::new(&given), 1 << 20).unwrap_err().to_string();
        assert!(message.contains("at most 1.0 MiB are read"), "{message}");
    }

    #[test]
    fn text_must_be_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "v 1 2 3 é").unwrap();
        assert_eq!(text(&path, MESH).unwrap(), "v 1 2 3 é");
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(text(&path, MESH).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn words_are_cut_and_signs_for_terminals_shown() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefgh", 4), "ab … gh");
        assert_eq!(visible("a\u{1b}[31m\u{7}\n\u{202e}é\tb"), "a\\u{1b}[31m\\u{7}\n\\u{202e}é b");
    }
}
