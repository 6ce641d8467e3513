//! Files that appear whole: written under another name in the same folder, then renamed.
//!
//! What has the name already is taken care of when the file gets it, not only when the run begins: see [`Existing`]. A file
//! that replaces another keeps its mode. A symbolic link is replaced, never written through.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::OutputError;

/// What becomes of a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the new one is an error.
    Keep,
    /// It is replaced.
    Replace,
}

impl Existing {
    /// What `--force` says.
    pub fn forced(force: bool) -> Self {
        if force { Self::Replace } else { Self::Keep }
    }
}

/// A file on its way: it gets its name when it is [kept](Aside::keep), and is removed if it never is.
#[derive(Debug)]
pub struct Aside {
    path: PathBuf,
    aside: PathBuf,
    kept: bool,
}

impl Aside {
    /// A place to write what will be `path`. Nothing is created yet.
    pub fn of(path: &Path) -> Self {
        // Hidden, and no other process uses it; the extension stays, since some writers go by it.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let aside = path.with_file_name(format!(".{}.part.{name}", std::process::id()));
        Self { path: path.to_owned(), aside, kept: false }
    }

    /// Where to write meanwhile.
    pub fn meanwhile(&self) -> &Path {
        &self.aside
    }

    /// Gives the file its name, in place of what has it or not.
    ///
    /// # Errors
    /// [`OutputError::Exists`] if there is something by now that is to be kept.
    pub fn keep(mut self, existing: Existing) -> Result<(), OutputError> {
        match existing {
            Existing::Replace => self.replace(),
            Existing::Keep => self.claim(),
        }
        .map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists if existing == Existing::Keep => {
                OutputError::Exists(self.path.clone())
            }
            _ => self.error(source),
        })?;
        self.kept = true;
        Ok(())
    }

    fn replace(&self) -> io::Result<()> {
        if let Ok(old) = fs::symlink_metadata(&self.path)
            && old.is_file()
        {
            fs::set_permissions(&self.aside, old.permissions())?;
        }
        fs::rename(&self.aside, &self.path)
    }

    /// Takes the name if nobody has it, in one step.
    fn claim(&self) -> io::Result<()> {
        match fs::hard_link(&self.aside, &self.path) {
            Ok(()) => fs::remove_file(&self.aside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // A file system without links: an empty file holds the name until it is replaced.
            Err(_) => {
                File::create_new(&self.path)?;
                fs::rename(&self.aside, &self.path)
            }
        }
    }

    /// `source` as an error about the file that is to be.
    pub fn error(&self, source: io::Error) -> OutputError {
        OutputError::Write { path: self.path.clone(), source }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if !self.kept {
            // Best effort: the error that led here is the one worth telling.
            let _ = fs::remove_file(&self.aside);
        }
    }
}

/// Creates or replaces `path` with what `fill` writes. If anything fails, `path` is as it was before.
pub fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    write_over(path, Existing::Replace, fill)
}

/// The same, where what has the name already may have to stay.
pub fn write_over(
    path: &Path,
    existing: Existing,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    let aside = Aside::of(path);
    fill_file(aside.meanwhile(), fill).map_err(|source| aside.error(source))?;
    aside.keep(existing)
}

/// As [`write()`], and back only when the file would survive the loss of power.
pub fn write_durably(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    let aside = Aside::of(path);
    fill_file(aside.meanwhile(), fill).and_then(|()| sync(aside.meanwhile())).map_err(|e| aside.error(e))?;
    aside.keep(Existing::Replace)?;
    sync_folder(path)
}

/// Waits until the file at `path` is on the disk.
pub fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Waits until the name of `path` is on the disk.
fn sync_folder(path: &Path) -> Result<(), OutputError> {
    let folder = folder(path);
    // Other systems than Unix do not open folders; there a rename is as durable as they make it.
    match cfg!(unix) {
        true => sync(&folder).map_err(|source| OutputError::Write { path: folder, source }),
        false => Ok(()),
    }
}

fn fill_file(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    fill(&mut file)?;
    file.flush()
}

/// Whether something has this name: a file, a folder, or a link that leads nowhere.
fn is_taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Makes sure, before any work is done, that `paths` can be written: their folders exist (they are
/// made) and take files, and none of the paths is taken unless `force`.
pub fn prepare<'a>(paths: impl IntoIterator<Item = &'a Path>, force: bool) -> Result<(), OutputError> {
    let paths: Vec<&Path> = paths.into_iter().collect();
    if let Some(taken) = paths.iter().find(|path| !force && is_taken(path)) {
        return Err(OutputError::Exists(taken.to_path_buf()));
    }
    let mut folders: Vec<PathBuf> = paths.iter().map(|path| folder(path)).collect();
    folders.dedup();
    folders.iter().try_for_each(|folder| {
        try_folder(folder).map_err(|source| OutputError::Write { path: folder.clone(), source })
    })
}

/// Removes parts of `paths` that processes of this machine left when they were killed. Best effort: what cannot be removed
/// does no harm but that it is there.
pub fn clean_up<'a>(paths: impl IntoIterator<Item = &'a Path>) {
    let mut names: std::collections::BTreeMap<PathBuf, Vec<String>> = Default::default();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        names.entry(folder(path)).or_default().push(name);
    }
    for (folder, names) in names {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let file = entry.file_name().to_string_lossy().into_owned();
            let left = part_of(&file).is_some_and(|(process, name)| {
                !is_running(process) && (name == "probe" || names.iter().any(|known| known == name))
            });
            if left {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The process and the name of a part, as [`Aside::of`] calls it.
fn part_of(file: &str) -> Option<(u32, &str)> {
    let (process, name) = file.strip_prefix('.')?.split_once(".part.")?;
    Some((process.parse().ok()?, name))
}

/// Whether there is a process of this number; without `/proc` every one might be.
fn is_running(process: u32) -> bool {
    process != std::process::id()
        && (!Path::new("/proc/self").exists() || Path::new(&format!("/proc/{process}")).exists())
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn try_folder(folder: &Path) -> io::Result<()> {
    if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder"));
    }
    fs::create_dir_all(folder)?;
    let probe = Aside::of(&folder.join("probe"));
    File::create(probe.meanwhile()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_failed_write_leaves_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        write(&path, |f| f.write_all(b"one")).unwrap();
        let failed = write(&path, |f| f.write_all(b"two").and(Err(io::Error::other("disk full"))));
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(names(dir.path()), ["a.txt"]);
    }

    #[test]
    fn parts_of_killed_processes_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let running = format!(".{}.part.a.npz", std::os::unix::process::parent_id());
        // No process has the greatest number there is.
        for name in [".4294967295.part.a.npz", ".4294967295.part.probe", ".4294967295.part.mine", &running] {
            fs::write(dir.path().join(name), "half of it").unwrap();
        }
        clean_up([dir.path().join("a.npz").as_path()]);
        let mut left = names(dir.path());
        left.sort();
        let mut expected = [running, ".4294967295.part.mine".to_owned()];
        expected.sort();
        assert_eq!(left, expected, "those of a running process and of other files stay");
    }

    #[test]
    fn nothing_is_taken_without_force() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/a.txt");
        prepare([path.as_path()], false).unwrap();
        assert!(names(&dir.path().join("new")).is_empty(), "trying the folder leaves nothing");
        write(&path, |f| f.write_all(b"one")).unwrap();
        assert!(matches!(prepare([path.as_path()], false), Err(OutputError::Exists(_))));
        prepare([path.as_path()], true).unwrap();
        assert!(prepare([path.join("below a file").as_path()], true).is_err());
    }

    /// Another program writes the name between the look at the start and the end of the work.
    #[test]
    fn what_appears_meanwhile_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        prepare([path.as_path()], false).unwrap();
        let taken = write_over(&path, Existing::Keep, |f| {
            fs::write(&path, "theirs")?;
            f.write_all(b"ours")
        });
        assert!(matches!(taken, Err(OutputError::Exists(_))), "{taken:?}");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(dir.path()), ["a.txt"], "nothing is left aside");
        write_over(&dir.path().join("b.txt"), Existing::Keep, |f| f.write_all(b"ours")).unwrap();
        assert_eq!(fs::read(dir.path().join("b.txt")).unwrap(), b"ours");
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_link_is_replaced() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("a.txt"), dir.path().join("link"));
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        write(&path, |f| f.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
        symlink("nowhere", &link).unwrap();
        assert!(matches!(prepare([link.as_path()], false), Err(OutputError::Exists(_))));
        fs::remove_file(&link).unwrap();
        symlink(&path, &link).unwrap();
        write(&link, |f| f.write_all(b"three")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        assert_eq!(fs::read(&path).unwrap(), b"two", "it was not written through the link");
    }
}
