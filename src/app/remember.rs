//! State of the window that persists between runs: its size, the panel, the text scale and the recent scenes.
//! It is stored in `$XDG_STATE_HOME/updraft/window.json`, by default in `~/.local/state`, on Windows in
//! `%LOCALAPPDATA%`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::foreign;
use crate::output::whole;

/// Most recent scene files.
pub const RECENT: usize = 8;

/// Persistent state. Absent keys have the values of a first run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    /// Width and height of the window \[points of a screen without scaling\].
    pub size: Option<[f64; 2]>,
    /// Scale of text and controls relative to the desktop's.
    pub scale: Option<f32>,
    /// Whether the panel is hidden.
    pub hidden: bool,
    /// Folded sections, once the panel was shown.
    pub closed: Option<BTreeSet<String>>,
    /// Scene files, the newest first.
    pub recent: Vec<PathBuf>,
}

impl Remembered {
    /// Reads `path`. A file that is missing or cannot be read counts as a first run; the latter is logged.
    pub fn read(path: &Path) -> Self {
        let text = match foreign::text(path, foreign::TEXT) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Self::default(),
            Err(error) => {
                tracing::warn!("cannot read {}: {error}", path.display());
                return Self::default();
            }
        };
        serde_json::from_str(&text).map(Self::sound).unwrap_or_else(|error| {
            tracing::warn!("{} is damaged and ignored: {error}", path.display());
            Self::default()
        })
    }

    /// Writes `path`, whole. A failure is logged: it must not prevent closing the window.
    pub fn write(&self, path: &Path) {
        let text = serde_json::to_string_pretty(self).expect("plain numbers and names");
        let folder = path.parent().unwrap_or(Path::new(""));
        if let Err(error) = std::fs::create_dir_all(folder) {
            return tracing::warn!("cannot make {}: {error}", folder.display());
        }
        if let Err(error) = whole::write(path, |file| file.write_all(text.as_bytes())) {
            tracing::warn!("{error}");
        }
    }

    /// Drops impossible sizes.
    fn sound(self) -> Self {
        let size = self.size.filter(|size| size.iter().all(|n| (100.0..20_000.0).contains(n)));
        let scale = self.scale.filter(|scale| (0.25..=4.0).contains(scale));
        Self { size, scale, ..self }
    }
}

/// Moves `path` to the head of `recent`.
pub fn note(recent: &mut Vec<PathBuf>, path: &Path) {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    recent.retain(|other| *other != path);
    recent.insert(0, path);
    recent.truncate(RECENT);
}

/// Returns the path of the file, if the system names a folder for it.
pub fn place() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let local = std::env::var_os("LOCALAPPDATA").filter(|_| cfg!(windows)).map(PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".local/state"));
    let folder = state.or(local).or_else(home)?;
    Some(folder.join("updraft").join("window.json"))
}

/// Returns the folder for disposable files: `updraft` in `$XDG_CACHE_HOME`, by default in `~/.cache`; on
/// Windows in `%LOCALAPPDATA%`.
pub fn cache_folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let local = std::env::var_os("LOCALAPPDATA").filter(|_| cfg!(windows)).map(PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".cache"));
    cache.or(local).or_else(home).unwrap_or_else(std::env::temp_dir).join("updraft")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_remembered_and_a_damaged_file_counts_as_a_first_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/window.json");
        assert_eq!(Remembered::read(&path), Remembered::default());
        let mut kept = Remembered { size: Some([900.0, 700.0]), hidden: true, ..Remembered::default() };
        note(&mut kept.recent, Path::new("/a.toml"));
        note(&mut kept.recent, Path::new("/b.toml"));
        note(&mut kept.recent, Path::new("/a.toml"));
        kept.write(&path);
        assert_eq!(Remembered::read(&path), kept);
        assert_eq!(kept.recent, [Path::new("/a.toml"), Path::new("/b.toml")]);
        std::fs::write(&path, r#"{ "size": [1e9, -3], "scale": 1e9 }"#).unwrap();
        assert_eq!(Remembered::read(&path), Remembered::default());
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Remembered::read(&path), Remembered::default());
    }
}
