//! Unsaved changes outlive the window: they are written beside its remembered state every few seconds, and
//! removed when it is closed. A window that finds those of one that ended otherwise says so.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::output::whole;

/// Interval of the copies.
const INTERVAL: Duration = Duration::from_secs(5);
/// Windows at the same time that keep copies.
const WINDOWS: usize = 16;

/// The copy of one window.
#[derive(Debug, Default)]
pub(super) struct Rescue {
    /// Path of the copy; none if there is no folder for it.
    path: Option<PathBuf>,
    /// Locked as long as this window lives, however it ends.
    _lock: Option<File>,
    /// The text of the copy.
    text: Option<String>,
    next: Option<Instant>,
}

impl Rescue {
    /// Takes a place in `folder` that no living window has. Also returns the copy of a window that ended without
    /// closing, under its new name.
    pub fn new(folder: Option<&Path>) -> (Self, Option<PathBuf>) {
        let Some(folder) = folder.filter(|folder| fs::create_dir_all(folder).is_ok()) else {
            return Default::default();
        };
        for n in 1..=WINDOWS {
            let name = |ending: &str| folder.join(format!("unsaved-{n}.{ending}"));
            let options = File::options().create(true).write(true).truncate(false).open(name("lock"));
            let Some(lock) = options.ok().filter(|lock| lock.try_lock().is_ok()) else { continue };
            let path = name("toml");
            let found = path.exists().then(|| set_aside(&path, folder)).flatten();
            return (Self { path: Some(path), _lock: Some(lock), ..Self::default() }, found);
        }
        Default::default()
    }

    /// Writes the copy if `unsaved`, which gets its folder, returns another text than before; removes it on
    /// `None`. It asks every few seconds. A failure is logged.
    pub fn follow(&mut self, now: Instant, unsaved: impl FnOnce(&Path) -> Option<String>) {
        let Some(path) = self.path.as_deref().filter(|_| self.next.is_none_or(|next| now >= next)) else {
            return;
        };
        self.next = Some(now + INTERVAL);
        let text = unsaved(path.parent().unwrap_or(Path::new("")));
        if text == self.text {
            return;
        }
        match &text {
            Some(text) => {
                if let Err(error) = whole::write(path, |file| file.write_all(text.as_bytes())) {
                    tracing::warn!("unsaved changes are not copied: {error}");
                }
            }
            None => drop(fs::remove_file(path)),
        }
        self.text = text;
    }

    /// Removes the copy: the window was closed, and asked before.
    pub fn close(&mut self) {
        if let Some(path) = self.path.take().filter(|_| self.text.is_some()) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Gives a copy the first free name of `recovered.toml`, `recovered-2.toml` and so on.
fn set_aside(path: &Path, folder: &Path) -> Option<PathBuf> {
    let names =
        (1..1000).map(|n| if n == 1 { "recovered.toml".into() } else { format!("recovered-{n}.toml") });
    let free = names.map(|name| folder.join(name)).find(|path| !path.exists())?;
    fs::rename(path, &free).ok().map(|()| free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_window_that_was_killed_are_found_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let (mut killed, found) = Rescue::new(Some(folder.path()));
        assert_eq!(found, None);
        killed.follow(now, |_| Some("a".into()));
        killed.follow(now + INTERVAL / 2, |_| panic!("too early"));
        killed.follow(now + INTERVAL, |_| Some("b".into()));
        // A second window does not take those of one that lives.
        let (mut second, found) = Rescue::new(Some(folder.path()));
        assert_eq!(found, None);
        second.follow(now, |_| Some("c".into()));
        // Killed: nothing is called, and the lock ends.
        drop(killed);
        let (third, found) = Rescue::new(Some(folder.path()));
        let found = found.expect("the changes of the first");
        assert_eq!(found.file_name().unwrap(), "recovered.toml");
        assert_eq!(fs::read_to_string(found).unwrap(), "b");
        drop((second, third));
        let (_fourth, found) = Rescue::new(Some(folder.path()));
        assert_eq!(found, None, "the place of the third is empty");
    }

    #[test]
    fn a_closed_window_leaves_no_copy() {
        let folder = tempfile::tempdir().unwrap();
        let (mut rescue, _) = Rescue::new(Some(folder.path()));
        let now = Instant::now();
        rescue.follow(now, |_| Some("a".into()));
        rescue.close();
        let (mut rescue, found) = Rescue::new(Some(folder.path()));
        assert_eq!(found, None);
        rescue.follow(now, |_| Some("a".into()));
        rescue.follow(now + INTERVAL, |_| None);
        drop(rescue);
        assert_eq!(Rescue::new(Some(folder.path())).1, None, "they were saved or undone");
        assert_eq!(Rescue::new(None).1, None);
    }
}
