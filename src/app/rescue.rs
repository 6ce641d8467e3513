//! Unsaved changes outlive the window: they are written beside its remembered state every few seconds, a file for
//! each scene, and removed when it is closed. A window that finds those of one that ended otherwise says so.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::output::whole;

/// Interval of the copies.
const INTERVAL: Duration = Duration::from_secs(5);
/// Windows at the same time that keep copies.
const WINDOWS: usize = 16;

/// Copies of one window: of its scene, and of scenes with unsaved changes behind it.
const COPIES: usize = 32;

/// The copies of one window.
#[derive(Debug, Default)]
pub(super) struct Rescue {
    /// Folder of the copies, and the number of this window; none if there is no folder for them.
    place: Option<(PathBuf, usize)>,
    /// Locked as long as this window lives, however it ends.
    _lock: Option<File>,
    /// Texts of the copies.
    texts: Vec<String>,
    next: Option<Instant>,
}

impl Rescue {
    /// Takes a place in `folder` that no living window has. Also returns the copies of a window that ended without
    /// closing, under their new names.
    pub fn new(folder: Option<&Path>) -> (Self, Vec<PathBuf>) {
        let Some(folder) = folder.filter(|folder| fs::create_dir_all(folder).is_ok()) else {
            return Default::default();
        };
        for window in 1..=WINDOWS {
            let lock = folder.join(format!("unsaved-{window}.lock"));
            let options = File::options().create(true).write(true).truncate(false).open(lock);
            let Some(lock) = options.ok().filter(|lock| lock.try_lock().is_ok()) else { continue };
            let paths = (0..COPIES).map(|copy| path(folder, window, copy));
            let found =
                paths.filter(|path| path.exists()).filter_map(|path| set_aside(&path, folder)).collect();
            let place = Some((folder.to_owned(), window));
            return (Self { place, _lock: Some(lock), ..Self::default() }, found);
        }
        Default::default()
    }

    /// Writes the copies if `unsaved`, which gets their folder, returns other texts than before; removes those
    /// beyond them. It asks every few seconds. A failure is logged.
    pub fn follow(&mut self, now: Instant, unsaved: impl FnOnce(&Path) -> Vec<String>) {
        let is_due = self.next.is_none_or(|next| now >= next);
        let Some((folder, window)) = self.place.as_ref().filter(|_| is_due) else { return };
        self.next = Some(now + INTERVAL);
        let mut texts = unsaved(folder);
        texts.truncate(COPIES);
        for (copy, text) in texts.iter().enumerate() {
            if self.texts.get(copy) != Some(text)
                && let Err(error) =
                    whole::write(&path(folder, *window, copy), |file| file.write_all(text.as_bytes()))
            {
                tracing::warn!("unsaved changes are not copied: {error}");
            }
        }
        // A text may have moved to an earlier file, so the rest goes last.
        (texts.len()..self.texts.len()).for_each(|copy| drop(fs::remove_file(path(folder, *window, copy))));
        self.texts = texts;
    }

    /// Removes the copies: the window was closed, and asked before.
    pub fn close(&mut self) {
        if let Some((folder, window)) = self.place.take() {
            (0..self.texts.len()).for_each(|copy| drop(fs::remove_file(path(&folder, window, copy))));
        }
    }
}

/// Path of a copy of a window.
fn path(folder: &Path, window: usize, copy: usize) -> PathBuf {
    let rest = if copy == 0 { String::new() } else { format!("-{}", copy + 1) };
    folder.join(format!("unsaved-{window}{rest}.toml"))
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
        assert!(found.is_empty());
        killed.follow(now, |_| vec!["a".into()]);
        killed.follow(now + INTERVAL / 2, |_| panic!("too early"));
        killed.follow(now + INTERVAL, |_| vec!["b".into()]);
        // A second window does not take those of one that lives.
        let (mut second, found) = Rescue::new(Some(folder.path()));
        assert!(found.is_empty());
        second.follow(now, |_| vec!["c".into()]);
        // Killed: nothing is called, and the lock ends.
        drop(killed);
        let (third, found) = Rescue::new(Some(folder.path()));
        assert_eq!(found, [folder.path().join("recovered.toml")], "the changes of the first");
        assert_eq!(fs::read_to_string(&found[0]).unwrap(), "b");
        drop((second, third));
        let (_fourth, found) = Rescue::new(Some(folder.path()));
        assert!(found.is_empty(), "the place of the third is empty");
    }

    #[test]
    fn a_closed_window_leaves_no_copy() {
        let folder = tempfile::tempdir().unwrap();
        let (mut rescue, _) = Rescue::new(Some(folder.path()));
        let now = Instant::now();
        rescue.follow(now, |_| vec!["a".into()]);
        rescue.close();
        let (mut rescue, found) = Rescue::new(Some(folder.path()));
        assert!(found.is_empty());
        rescue.follow(now, |_| vec!["a".into()]);
        rescue.follow(now + INTERVAL, |_| Vec::new());
        drop(rescue);
        assert!(Rescue::new(Some(folder.path())).1.is_empty(), "they were saved or undone");
        assert!(Rescue::new(None).1.is_empty());
    }

    #[test]
    fn each_unsaved_scene_has_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let (mut killed, _) = Rescue::new(Some(folder.path()));
        let now = Instant::now();
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        killed.follow(now, |_| texts(&["a", "b", "c"]));
        killed.follow(now + INTERVAL, |_| texts(&["b", "c"]));
        drop(killed);
        let (mut next, found) = Rescue::new(Some(folder.path()));
        let read = found.iter().map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>();
        assert_eq!(read, ["b", "c"]);
        next.follow(now, |_| texts(&["a", "b"]));
        next.close();
        assert!(Rescue::new(Some(folder.path())).1.is_empty());
    }
}
