//! The text that a scene was read from.

use std::path::PathBuf;

/// The text that a scene was read from. Any two compare equal, so that scenes are compared without their
/// origins.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The text of the file or of the built-in scene.
    pub text: String,
    /// Overrides of the command line, `key=value`. They hold for this run and are never saved.
    pub overrides: Vec<String>,
    /// Folder that file names in the scene are relative to.
    pub folder: PathBuf,
    /// Names of `initial.let` that no formula uses.
    pub unused_names: Vec<String>,
    /// Path and original contents of the scene file; none for a built-in scene.
    pub file: Option<(PathBuf, String)>,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
