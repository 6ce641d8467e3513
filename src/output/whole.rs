//! Writes files whole: under a temporary name in the same folder, then renamed.
//!
//! An existing file of that name is checked at the rename, not only at the beginning of the run: see
//! [`Existing`]. A file that replaces another takes over its mode. A symbolic link is replaced, never written
//! through. Folders, devices and pipes, and links to them, are never replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::OutputError;

/// Treatment of an existing file of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Keep it and report an error.
    Keep,
    /// Replace it.
    Replace,
}

impl Existing {
    /// Returns the treatment that `--force` selects.
    pub fn forced(force: bool) -> Self {
        if force { Self::Replace } else { Self::Keep }
    }
}

/// A file under a temporary name. It gets its name by [`keep`](Aside::keep), and is removed otherwise.
#[derive(Debug)]
pub struct Aside {
    path: PathBuf,
    aside: PathBuf,
    kept: bool,
}

impl Aside {
    /// Chooses the temporary name for `path`. No file is created yet.
    pub fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), aside: temporary_path(path, std::process::id()), kept: false }
    }

    /// Chooses a name as [`of`](Self::of) does, with the `number` of a file that several processes write.
    pub fn numbered(path: &Path, number: u64) -> Self {
        Self {
            path: path.to_owned(),
            aside: temporary_path(&with_number(path, number), std::process::id()),
            kept: false,
        }
    }

    /// Returns the temporary path.
    pub fn meanwhile(&self) -> &Path {
        &self.aside
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// [`OutputError::Exists`] if a file of that name exists by now and must be kept, [`OutputError::NoFile`] if anything but a
    /// file has the name.
    pub fn keep(mut self, existing: Existing) -> Result<(), OutputError> {
        check_kind(&self.path)?;
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

    /// Renames the file if the name is free, in one step.
    fn claim(&self) -> io::Result<()> {
        match fs::hard_link(&self.aside, &self.path) {
            Ok(()) => fs::remove_file(&self.aside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // On a file system without hard links an empty file reserves the name until it is replaced.
            Err(_) => {
                File::create_new(&self.path)?;
                fs::rename(&self.aside, &self.path)
            }
        }
    }

    /// Renames as [`keep`](Self::keep) does with [`Existing::Replace`]. Returns when the name would survive a
    /// loss of power.
    ///
    /// # Errors
    /// Those of [`keep`](Self::keep), and of the folder.
    pub fn keep_durably(self) -> Result<(), OutputError> {
        let path = self.path.clone();
        self.keep(Existing::Replace)?;
        sync_folder(&path)
    }

    /// Wraps `source` as an error about the final file.
    pub fn error(&self, source: io::Error) -> OutputError {
        OutputError::Write { path: self.path.clone(), source }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if !self.kept {
            // Best effort: an earlier error is the one to report.
            let _ = fs::remove_file(&self.aside);
        }
    }
}

/// Returns the temporary name of `path` while `process` writes it, hidden and unique to the process. The
/// extension is kept, because some writers depend on it.
fn temporary_path(path: &Path, process: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{process}.part.{name}"))
}

/// Returns `path` with a number before its name. [`clean_up`] removes leftovers of numbered files by this name.
pub fn with_number(path: &Path, number: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{number}.{name}"))
}

/// Returns the temporary path of [`Aside::numbered`] in another process.
pub fn numbered_of(path: &Path, process: u32, number: u64) -> PathBuf {
    temporary_path(&with_number(path, number), process)
}

/// Creates or replaces `path` with the output of `fill`. On any error `path` is unchanged.
pub fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    write_over(path, Existing::Replace, fill)
}

/// Writes as [`write()`] does, with a choice for an existing file.
pub fn write_over(
    path: &Path,
    existing: Existing,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    fill_aside(path, fill)?.keep(existing)
}

/// Replaces `path` as [`write()`] does, after its contents are on the disk. Some systems report a full disk only then.
pub fn write_durably(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    let aside = fill_aside(path, fill)?;
    sync(aside.meanwhile()).map_err(|source| aside.error(source))?;
    aside.keep(Existing::Replace)
}

/// Writes the output of `fill` under the temporary name of `path`. Files that belong together get their names when all are
/// written.
pub fn fill_aside(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<Aside, OutputError> {
    let aside = Aside::of(path);
    fill_file(aside.meanwhile(), fill).map_err(|source| aside.error(source))?;
    Ok(aside)
}

/// Waits until the file at `path` is on the disk. It is opened for writing: Windows flushes no other files.
pub fn sync(path: &Path) -> io::Result<()> {
    File::options().write(true).open(path)?.sync_all()
}

/// Waits until the name of `path` is on the disk.
fn sync_folder(path: &Path) -> Result<(), OutputError> {
    let folder = folder(path);
    // Systems other than Unix cannot open folders. There a rename is as durable as the system makes it.
    match cfg!(unix) {
        true => {
            let synced = File::open(&folder).and_then(|folder| folder.sync_all());
            synced.map_err(|source| OutputError::Write { path: folder, source })
        }
        false => Ok(()),
    }
}

fn fill_file(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    fill(&mut file)?;
    file.flush()
}

/// Returns whether a file, a folder, or even a dangling link has this name.
fn is_taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Checks that `path` may become a file: that nothing but a file, or a link to one, has the name.
fn check_kind(path: &Path) -> Result<(), OutputError> {
    // A dangling link is free.
    let Ok(found) = fs::metadata(path) else { return Ok(()) };
    let what = match found.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind => special(kind),
    };
    Err(OutputError::NoFile { path: path.to_owned(), what })
}

/// Returns the kind of an entry that is neither file nor folder.
#[cfg(unix)]
fn special(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

#[cfg(not(unix))]
fn special(_: fs::FileType) -> &'static str {
    "a device"
}

/// Most bytes of a file name: file systems take 255, and the temporary name has a prefix.
const LONGEST_NAME: usize = 230;

/// Checks the length of the names of `paths`.
///
/// # Errors
/// The first name that is too long.
pub fn check_names<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), OutputError> {
    let length = |path: &Path| path.file_name().map_or(0, |name| name.len());
    match paths.into_iter().find(|path| length(path) > LONGEST_NAME) {
        None => Ok(()),
        Some(path) => {
            let name = path.to_string_lossy();
            Err(OutputError::Write {
                path: PathBuf::from(crate::foreign::shortened(&name, 100)),
                source: io::Error::new(
                    io::ErrorKind::InvalidFilename,
                    format!("its name has {} bytes; at most {LONGEST_NAME} are possible", length(path)),
                ),
            })
        }
    }
}

/// Checks before any work that `paths` can be written: that their names are short enough, that only files
/// have them and, unless `force`, that none of them exists. Creates their folders, and checks that these take
/// files.
pub fn prepare<'a>(paths: impl IntoIterator<Item = &'a Path>, force: bool) -> Result<(), OutputError> {
    let paths: Vec<&Path> = paths.into_iter().collect();
    check_names(paths.iter().copied())?;
    let perhaps_taken = perhaps_taken(&paths);
    perhaps_taken.iter().try_for_each(|path| check_kind(path))?;
    if let Some(taken) = perhaps_taken.iter().find(|path| !force && is_taken(path)) {
        return Err(OutputError::Exists(taken.to_path_buf()));
    }
    let mut folders: Vec<PathBuf> = paths.iter().map(|path| folder(path)).collect();
    folders.dedup();
    folders.iter().try_for_each(|folder| {
        try_folder(folder).map_err(|source| OutputError::Write { path: folder.clone(), source })
    })
}

/// Most names of a folder that are checked one by one. On a network file system each check is a round trip, and a run may have 100,000
/// frames; listing the folder takes a few round trips.
const MOST_SINGLE_CHECKS: usize = 16;

/// Filters `paths` for names that may exist: keeps all that do, and perhaps others.
fn perhaps_taken<'a>(paths: &[&'a Path]) -> Vec<&'a Path> {
    let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for path in paths {
        *counts.entry(folder(path)).or_default() += 1;
    }
    let listings: BTreeMap<PathBuf, BTreeSet<String>> = counts
        .into_iter()
        .filter(|&(_, count)| count > MOST_SINGLE_CHECKS)
        .filter_map(|(folder, _)| listing(&folder).map(|names| (folder, names)))
        .collect();
    let may_exist = |path: &Path| {
        let listing = listings.get(&folder(path));
        listing.is_none_or(|names| names.contains(&caseless(path.file_name().unwrap_or_default())))
    };
    paths.iter().copied().filter(|path| may_exist(path)).collect()
}

/// Returns the lowercase names of all entries of `folder`, because some file systems ignore case, or `None`
/// if it cannot be listed.
fn listing(folder: &Path) -> Option<BTreeSet<String>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Some(caseless(&entry.ok()?.file_name()))).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(BTreeSet::new()),
        Err(_) => None,
    }
}

fn caseless(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}

/// Removes temporary files that killed processes of this machine left: those of `paths`, and of other frames of
/// the same series. Errors are ignored, since leftovers do no harm.
pub fn clean_up<'a>(paths: impl IntoIterator<Item = &'a Path>) {
    let mut names: BTreeMap<PathBuf, BTreeSet<String>> = Default::default();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        names.entry(folder(path)).or_default().insert(numberless(&name));
    }
    for (folder, names) in names {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let file = entry.file_name().to_string_lossy().into_owned();
            let left = part_of(&file).is_some_and(|(process, name)| {
                !is_running(process) && (name == "probe" || names.contains(&numberless(name)))
            });
            if left {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Returns `name` with each of its numbers as `#`, which is the same for all frames of a series.
fn numberless(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(c),
        }
    }
    out
}

/// Splits a temporary name of [`Aside::of`] into the process and the name.
fn part_of(file: &str) -> Option<(u32, &str)> {
    let (process, name) = file.strip_prefix('.')?.split_once(".part.")?;
    Some((process.parse().ok()?, name))
}

/// Returns whether another process of this number runs. Without `/proc` every other process counts as running.
fn is_running(process: u32) -> bool {
    if process == std::process::id() || !Path::new("/proc/self").exists() {
        return process != std::process::id();
    }
    match fs::read(format!("/proc/{process}/stat")) {
        // The state follows the name in parentheses. A zombie (Z) has ended, but its parent has not waited
        // for it yet.
        Ok(stat) => {
            let name_ends = stat.iter().rposition(|&byte| byte == b')').unwrap_or(0);
            stat.get(name_ends + 2) != Some(&b'Z')
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Returns the folder of the file at `path`.
pub(super) fn folder(path: &Path) -> PathBuf {
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
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        write(&path, |f| f.write_all(b"one")).unwrap();
        let failed = write(&path, |f| f.write_all(b"two").and(Err(io::Error::other("disk full"))));
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(names(dir.path()), ["a.txt"]);
    }

    #[test]
    fn a_hundred_thousand_free_names_are_not_checked_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let all: Vec<PathBuf> = (0..100_000).map(|n| dir.path().join(format!("F.{n}.npz"))).collect();
        let all: Vec<&Path> = all.iter().map(PathBuf::as_path).collect();
        assert!(perhaps_taken(&all).is_empty());
        assert!(prepare(all.iter().copied(), false).is_ok());
        // Any kind of entry counts, in either case of letters, and also one by one where there are few names.
        fs::write(all[70_000], "").unwrap();
        fs::create_dir(all[900]).unwrap();
        fs::write(dir.path().join("f.3.npz"), "").unwrap();
        assert_eq!(perhaps_taken(&all), [all[3], all[900], all[70_000]]);
        assert_eq!(perhaps_taken(&all[..4]), all[..4]);
        assert!(matches!(prepare(all.iter().copied(), true), Err(OutputError::NoFile { .. })));
        fs::remove_dir(all[900]).unwrap();
        assert!(
            matches!(prepare(all.iter().copied(), false), Err(OutputError::Exists(path)) if path == all[70_000])
        );
        assert!(prepare(all.iter().copied(), true).is_ok());
        // These names are in a folder that does not exist yet.
        let later: Vec<PathBuf> = (0..99).map(|n| dir.path().join(format!("later/{n}"))).collect();
        assert!(prepare(later.iter().map(PathBuf::as_path), false).is_ok());
    }

    #[test]
    fn parts_of_killed_processes_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let running = format!(".{}.part.a.npz", std::os::unix::process::parent_id());
        // No process has the greatest possible number.
        // A run of frames 1 to 2 after one that was killed at frame 12,345 leaves nothing of it either.
        let left = ["a.npz", "a.0001.npz", "a.12345.npz", "probe", "mine"];
        for name in left.map(|name| format!(".4294967295.part.{name}")).iter().chain([&running]) {
            fs::write(dir.path().join(name), "half of it").unwrap();
        }
        let paths = ["a.npz", "a.0001.npz", "a.0002.npz"].map(|name| dir.path().join(name));
        clean_up(paths.iter().map(PathBuf::as_path));
        let mut left = names(dir.path());
        left.sort();
        let mut expected = [running, ".4294967295.part.mine".to_owned()];
        expected.sort();
        assert_eq!(left, expected, "those of a running process and of other files stay");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn parts_of_a_process_that_has_just_ended_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        // No parent waits for the process yet, so it stays a zombie.
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let part = dir.path().join(format!(".{}.part.a.npz", ended.id()));
        fs::write(&part, "half of it").unwrap();
        let stat = || fs::read_to_string(format!("/proc/{}/stat", ended.id())).unwrap();
        while !stat().contains(") Z ") {
            std::thread::yield_now();
        }
        clean_up([dir.path().join("a.npz").as_path()]);
        assert!(!part.exists());
        ended.wait().unwrap();
    }

    #[test]
    fn existing_names_are_refused_without_force() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/a.txt");
        prepare([path.as_path()], false).unwrap();
        assert!(names(&dir.path().join("new")).is_empty(), "trying the folder leaves nothing");
        write(&path, |f| f.write_all(b"one")).unwrap();
        assert!(matches!(prepare([path.as_path()], false), Err(OutputError::Exists(_))));
        prepare([path.as_path()], true).unwrap();
        assert!(prepare([path.join("below a file").as_path()], true).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn folders_pipes_and_devices_are_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/null", at("link")).unwrap();
        for (name, what) in [("folder", "a folder"), ("pipe", "a pipe"), ("link", "a device")] {
            for force in [false, true] {
                let message = prepare([at(name).as_path()], force).unwrap_err().to_string();
                assert!(message.contains(&format!("{name} is {what} and no file")), "{message}");
                assert!(!message.contains("--force"), "{message}");
            }
            let before = fs::symlink_metadata(at(name)).unwrap().file_type();
            assert!(
                matches!(write(&at(name), |f| f.write_all(b"x")), Err(OutputError::NoFile { .. })),
                "{name}"
            );
            assert_eq!(fs::symlink_metadata(at(name)).unwrap().file_type(), before);
        }
        assert_eq!(names(dir.path()).len(), 3, "nothing is left aside");
    }

    #[test]
    fn a_name_too_long_for_a_file_is_refused_before_any_work() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a".repeat(231) + "");
        let message = prepare([path.as_path()], false).unwrap_err().to_string();
        assert!(message.contains("231 bytes; at most 230") && message.len() < 250, "{message}");
        let path = dir.path().join("a".repeat(230));
        prepare([path.as_path()], false).unwrap();
        write(&path, |f| f.write_all(b"it fits, with its temporary name too")).unwrap();
    }

    /// Another program creates the file between the check at the start and the end of the work.
    #[test]
    fn files_created_meanwhile_are_kept() {
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
