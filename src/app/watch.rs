//! Detects changes of the scene's file by other programs. A thread polls the file's time and length a few
//! times per second, which works for every file system at a negligible cost.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

/// Interval of polling.
const INTERVAL: Duration = Duration::from_millis(300);

/// Time and length of a file; none while it does not exist.
type Stamp = Option<(SystemTime, u64)>;

/// The watched file, and its stamp at the last poll.
#[derive(Default)]
struct Watched {
    path: Option<PathBuf>,
    stamp: Stamp,
}

/// Watches one file at a time, until it is dropped.
pub(super) struct Watch(Arc<Mutex<Watched>>);

impl Watch {
    /// Makes an idle watch; `notify` is called from another thread when the watched file has changed.
    pub(super) fn new(notify: impl Fn() + Send + 'static) -> Self {
        let watched = Arc::new(Mutex::new(Watched::default()));
        let weak = Arc::downgrade(&watched);
        std::thread::spawn(move || {
            while let Some(changed) = look(&weak) {
                if changed {
                    notify();
                }
                std::thread::sleep(INTERVAL);
            }
        });
        Self(watched)
    }

    /// Watches `path` from now on.
    pub(super) fn follow(&self, path: Option<PathBuf>) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.path != path {
            watched.stamp = path.as_deref().and_then(stamp);
            watched.path = path;
        }
    }
}

/// Returns whether the file has changed since the last poll; none after the watch was dropped.
fn look(watched: &Weak<Mutex<Watched>>) -> Option<bool> {
    let watched = watched.upgrade()?;
    let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(path) = &watched.path else { return Some(false) };
    let now = stamp(path);
    // An editor may remove the old file before it writes the new one.
    let changed = now.is_some() && now != watched.stamp;
    if now.is_some() {
        watched.stamp = now;
    }
    Some(changed)
}

fn stamp(path: &Path) -> Stamp {
    let data = path.metadata().ok()?;
    Some((data.modified().ok()?, data.len()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_file_that_is_written_is_noticed_and_one_that_is_not_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scene.toml");
        std::fs::write(&path, "a").unwrap();
        let (sender, receiver) = mpsc::channel();
        let watch = Watch::new(move || {
            // The receiver is gone after the test.
            let _ = sender.send(());
        });
        watch.follow(Some(path.clone()));
        assert!(receiver.recv_timeout(3 * INTERVAL).is_err(), "nothing was written");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "more").unwrap();
        receiver.recv_timeout(Duration::from_secs(10)).expect("the change is noticed");
        drop(watch);
        assert!(receiver.recv_timeout(Duration::from_secs(10)).is_err(), "the thread has ended");
    }
}
