//! Copies of unsaved changes, which outlive a crash of the window. They are written beside its remembered
//! state every 0.5 to 5 seconds, a file for each scene, and removed when the window is closed. The next
//! window reports copies that remain.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::output::whole;

/// Shortest and longest interval of the copies.
const INTERVALS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(5)];
/// Interval of the copies over the time that the last ones took: a scene of large files takes long to read
/// again.
const REST: u32 = 50;
/// Interval of the search for copies of windows that ended.
const SEARCH: Duration = Duration::from_secs(5);
/// Greatest number of windows that keep copies at the same time.
const WINDOWS: usize = 16;

/// Greatest number of copies of one window: of its scene, and of replaced scenes with unsaved changes.
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
    next_search: Option<Instant>,
}

impl Rescue {
    /// Takes the first number in `folder` that no living window has. Also returns the copies of all windows
    /// that ended without closing, under their new names.
    pub fn new(folder: Option<&Path>) -> (Self, Vec<PathBuf>) {
        let Some(folder) = folder.filter(|folder| fs::create_dir_all(folder).is_ok()) else {
            return Default::default();
        };
        let Some((window, lock)) = (1..=WINDOWS).find_map(|window| Some((window, lock(folder, window)?)))
        else {
            return Default::default();
        };
        let mut found = set_all_aside(folder, window);
        let mut rescue =
            Self { place: Some((folder.to_owned(), window)), _lock: Some(lock), ..Self::default() };
        found.extend(rescue.search(Instant::now()));
        (rescue, found)
    }

    /// Returns the copies of other windows that ended without closing, under their new names. The search is
    /// repeated every few seconds, because a killed window may hold its lock for a while.
    pub fn search(&mut self, now: Instant) -> Vec<PathBuf> {
        let is_due = self.next_search.is_none_or(|next| now >= next);
        let Some((folder, own)) = self.place.as_ref().filter(|_| is_due) else { return Vec::new() };
        self.next_search = Some(now + SEARCH);
        let others = (1..=WINDOWS).filter(|window| window != own && path(folder, *window, 0).exists());
        // Locked until they have other names: another window may search at the same time.
        let ended = others.filter_map(|window| Some((window, lock(folder, window)?)));
        ended.flat_map(|(window, _lock)| set_all_aside(folder, window)).collect()
    }

    /// Writes the copies by [`write`](Self::write) if they are due. Otherwise returns the time at which they
    /// are.
    pub fn follow(&mut self, now: Instant, unsaved: impl FnOnce(&Path) -> Vec<String>) -> Option<Instant> {
        let later = self.next.filter(|next| now < *next && self.place.is_some());
        if later.is_none() {
            let begin = Instant::now();
            self.write(unsaved);
            let [shortest, longest] = INTERVALS;
            self.next = Some(now + (REST * begin.elapsed()).clamp(shortest, longest));
        }
        later
    }

    /// Writes the texts that `unsaved` returns for the folder of the copies, if they changed, and removes
    /// surplus copies. A failure is logged.
    pub fn write(&mut self, unsaved: impl FnOnce(&Path) -> Vec<String>) {
        let Some((folder, window)) = &self.place else { return };
        let mut texts = unsaved(folder);
        texts.truncate(COPIES);
        for (copy, text) in texts.iter().enumerate() {
            if self.texts.get(copy) != Some(text)
                && let Err(error) =
                    whole::write(&path(folder, *window, copy), |file| file.write_all(text.as_bytes()))
            {
                tracing::warn!("cannot copy unsaved changes: {error}");
            }
        }
        // A text may have moved to an earlier file, so the rest goes last.
        (texts.len()..self.texts.len()).for_each(|copy| drop(fs::remove_file(path(folder, *window, copy))));
        self.texts = texts;
    }

    /// Removes the copies: the window is closing, and has asked about unsaved changes.
    pub fn close(&mut self) {
        if let Some((folder, window)) = self.place.take() {
            (0..self.texts.len()).for_each(|copy| drop(fs::remove_file(path(&folder, window, copy))));
        }
    }
}

/// Locks the number of a window, if no living one has it.
fn lock(folder: &Path, window: usize) -> Option<File> {
    let path = folder.join(format!("unsaved-{window}.lock"));
    let file = File::options().create(true).write(true).truncate(false).open(path).ok()?;
    file.try_lock().is_ok().then_some(file)
}

/// Returns the path of a copy of a window.
fn path(folder: &Path, window: usize, copy: usize) -> PathBuf {
    let suffix = if copy == 0 { String::new() } else { format!("-{}", copy + 1) };
    folder.join(format!("unsaved-{window}{suffix}.toml"))
}

/// Renames all copies of a window. Returns the new paths.
fn set_all_aside(folder: &Path, window: usize) -> Vec<PathBuf> {
    let paths = (0..COPIES).map(|copy| path(folder, window, copy));
    paths.filter(|path| path.exists()).filter_map(|path| set_aside(&path, folder)).collect()
}

/// Renames a copy to the first free name of `recovered.toml`, `recovered-2.toml` and so on.
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
        killed.follow(now + INTERVALS[0] / 2, |_| panic!("too early"));
        killed.follow(now + INTERVALS[1], |_| vec!["b".into()]);
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
        assert_eq!(found, [folder.path().join("recovered-2.toml")], "the changes of the second");
        assert_eq!(fs::read_to_string(&found[0]).unwrap(), "c");
    }

    #[test]
    fn changes_of_all_windows_that_were_killed_are_found_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let killed = ["a", "b", "c"].map(|text| {
            let (mut window, _) = Rescue::new(Some(folder.path()));
            window.follow(now, |_| vec![text.into()]);
            window
        });
        let [first, living, third] = killed;
        drop((first, third));
        let (_next, found) = Rescue::new(Some(folder.path()));
        let read = found.iter().map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>();
        assert_eq!(read, ["a", "c"]);
        assert!(folder.path().join("unsaved-2.toml").exists(), "it belongs to a window that lives");
        drop(living);
    }

    /// A killed window holds its lock until it is gone, which may be after the next one was opened.
    #[test]
    fn changes_of_a_window_that_ends_later_are_found_later() {
        let folder = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let (mut killed, _) = Rescue::new(Some(folder.path()));
        killed.follow(now, |_| vec!["a".into()]);
        let (mut next, found) = Rescue::new(Some(folder.path()));
        assert!(found.is_empty() && next.search(now + 2 * SEARCH).is_empty());
        next.follow(now, |_| vec!["own".into()]);
        drop(killed);
        assert!(next.search(now + 2 * SEARCH).is_empty(), "it has just looked");
        assert_eq!(next.search(now + 4 * SEARCH), [folder.path().join("recovered.toml")]);
        assert!(next.search(now + 6 * SEARCH).is_empty());
        assert!(folder.path().join("unsaved-2.toml").exists(), "its own");
    }

    /// The last change before a pause was never copied, as no later picture asked for it.
    #[test]
    fn a_change_soon_after_a_copy_is_due_later() {
        let folder = tempfile::tempdir().unwrap();
        let (mut window, _) = Rescue::new(Some(folder.path()));
        let now = Instant::now();
        assert_eq!(window.follow(now, |_| vec!["a".into()]), None);
        let due = window.follow(now, |_| panic!("too early")).unwrap();
        assert!((now + INTERVALS[0]..=now + INTERVALS[1]).contains(&due));
        assert_eq!(window.follow(due, |_| vec!["b".into()]), None);
        window.write(|_| vec!["c".into()]);
        let copy = folder.path().join("unsaved-1.toml");
        assert_eq!(fs::read_to_string(&copy).unwrap(), "c", "at once");
        window.close();
        window.write(|_| vec!["d".into()]);
        assert!(!copy.exists(), "a closed window has none");
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
        rescue.follow(now + INTERVALS[1], |_| Vec::new());
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
        killed.follow(now + INTERVALS[1], |_| texts(&["b", "c"]));
        drop(killed);
        let (mut next, found) = Rescue::new(Some(folder.path()));
        let read = found.iter().map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>();
        assert_eq!(read, ["b", "c"]);
        next.follow(now, |_| texts(&["a", "b"]));
        next.close();
        assert!(Rescue::new(Some(folder.path())).1.is_empty());
    }
}
