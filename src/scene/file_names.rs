//! Keys of a scene that name files.

use std::path::{Path, PathBuf};

/// Keys that may name a file.
pub const FILES: [&str; 4] = ["fields", "file", "font", "mesh"];

/// Returns the absolute path of a file named relative to `folder`, if it exists. (`knot`, for example, is a
/// built-in mesh.)
pub fn absolute(folder: &Path, name: &str) -> Option<PathBuf> {
    folder.join(name).canonicalize().ok().filter(|path| path.is_file())
}
