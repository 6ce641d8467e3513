//! Locks output files, so that two processes never write the same ones.
//!
//! The lock is one of the operating system on a file beside the output. It ends with the process that holds
//! it, even if that is killed. The file left by a killed process locks nothing, and the next run takes it
//! over. On network file systems the lock works as far as the file system's own locks do.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::OutputError;

/// Whether others may hold the lock too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// No other process may hold the lock.
    Alone,
    /// Other processes may share the lock.
    WithOthers,
}

/// Longest wait for a process that holds the lock alone while it starts or ends.
const MOMENT: Duration = Duration::from_secs(3);

/// A held lock.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// The locked file, or none where the file system has no locks.
    file: Option<File>,
    share: Share,
}

impl Lock {
    /// Locks the file at `path`, and creates it and its folder. `clean` is called while nobody else holds the lock; if
    /// others share it already, it is not called.
    ///
    /// # Errors
    /// [`OutputError::Busy`] if another process holds the lock.
    pub fn take(path: &Path, share: Share, clean: impl FnOnce()) -> Result<Self, OutputError> {
        let wrong = |path: &Path| {
            let path = path.to_owned();
            move |source| OutputError::Write { path, source }
        };
        let folder = super::whole::folder(path);
        fs::create_dir_all(&folder).map_err(wrong(&folder))?;
        let until = Instant::now() + MOMENT;
        let mut clean = Some(clean);
        loop {
            let mut options = File::options();
            let opened = options.read(true).write(true).create(true).truncate(false).open(path);
            let mut file = opened.map_err(wrong(&folder))?;
            let mut locked = file.try_lock();
            let is_alone = locked.is_ok() && is_at(&file, path);
            if is_alone {
                // The number is only for the message to other processes.
                let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                if let Some(clean) = clean.take() {
                    clean();
                }
            }
            if share == Share::WithOthers && !matches!(locked, Err(TryLockError::Error(_))) {
                // Only Unix converts one lock into the other.
                locked = file.unlock().map_err(TryLockError::Error).and_then(|()| file.try_lock_shared());
            }
            match locked {
                Ok(()) if is_at(&file, path) => {
                    return Ok(Self { path: path.to_owned(), file: Some(file), share });
                }
                // The last holder has removed the file meanwhile.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if share == Share::Alone || Instant::now() > until => {
                    return Err(OutputError::Busy { what: path.to_owned(), holder: holder(&mut file) });
                }
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(20)),
                Err(TryLockError::Error(error)) => {
                    tracing::warn!(
                        "{} cannot be locked ({error}); do not run twice into one folder",
                        folder.display()
                    );
                    return Ok(Self { path: path.to_owned(), file: None, share });
                }
            }
        }
    }
}

impl Drop for Lock {
    /// Removes the file if nobody shares the lock. Best effort: a file that stays locks nothing.
    fn drop(&mut self) {
        let is_last = match (&self.file, self.share) {
            (Some(file), Share::WithOthers) => {
                file.unlock().is_ok() && file.try_lock().is_ok() && is_at(file, &self.path)
            }
            _ => true,
        };
        if is_last {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the number of the process in `file`, if there is one.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.take(20).read_to_string(&mut text)).ok()?;
    text.trim().parse().ok()
}

/// Returns whether `path` still names `file`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |about: std::io::Result<fs::Metadata>| about.ok().map(|about| (about.dev(), about.ino()));
    let own = number(file.metadata());
    own.is_some() && own == number(fs::metadata(path))
}

/// Returns whether `path` still names a file. On systems other than Unix an open file keeps its name.
#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    fs::metadata(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(path: &Path, share: Share) -> Result<Lock, OutputError> {
        Lock::take(path, share, || ())
    }

    #[test]
    fn a_second_run_is_refused_and_told_who_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/.lock");
        let first = take(&path, Share::Alone).unwrap();
        for share in [Share::Alone, Share::WithOthers] {
            let message = take(&path, share).unwrap_err().to_string();
            assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
        }
        drop(first);
        assert!(!path.exists(), "the lock leaves no file");
        take(&path, Share::Alone).unwrap();
    }

    #[test]
    fn those_who_share_hold_it_together_and_keep_others_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let mut cleaned = 0;
        let first = Lock::take(&path, Share::WithOthers, || cleaned += 1).unwrap();
        let second = Lock::take(&path, Share::WithOthers, || cleaned += 1).unwrap();
        assert_eq!(cleaned, 1, "only the first may clean up: the second would remove the first one's parts");
        assert!(take(&path, Share::Alone).is_err());
        drop(first);
        assert!(path.exists() && take(&path, Share::Alone).is_err());
        drop(second);
        assert!(!path.exists());
        take(&path, Share::Alone).unwrap();
    }

    #[test]
    fn the_file_of_a_killed_run_locks_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        fs::write(&path, "4294967295\n").unwrap();
        take(&path, Share::Alone).unwrap();
    }

    #[test]
    fn many_threads_never_hold_it_alone_together() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let (inside, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let Ok(_lock) = take(&path, Share::Alone) else { continue };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        taken.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
