//! Files that appear whole: written under another name in the same folder, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::OutputError;

/// Creates or replaces `path` with what `fill` writes. If anything fails, `path` is as it was before.
pub fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    let aside = aside(path);
    let result = fill_and_rename(path, &aside, fill);
    if result.is_err() {
        // Best effort: the first error is the one worth telling.
        let _ = fs::remove_file(&aside);
    }
    result.map_err(|source| OutputError::Write { path: path.to_owned(), source })
}

fn fill_and_rename(
    path: &Path,
    aside: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(aside)?);
    fill(&mut file)?;
    file.flush()?;
    drop(file);
    fs::rename(aside, path)
}

/// A hidden name beside `path` that no other process uses.
fn aside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

/// Makes sure, before any work is done, that `paths` can be written: their folders exist (they are
/// made) and take files, and none of the paths is taken unless `force`.
pub fn prepare<'a>(paths: impl IntoIterator<Item = &'a Path>, force: bool) -> Result<(), OutputError> {
    let paths: Vec<&Path> = paths.into_iter().collect();
    if let Some(taken) = paths.iter().find(|path| !force && path.exists()) {
        return Err(OutputError::Exists(taken.to_path_buf()));
    }
    let mut folders: Vec<PathBuf> = paths.iter().map(|path| folder(path)).collect();
    folders.dedup();
    folders.iter().try_for_each(|folder| {
        try_folder(folder).map_err(|source| OutputError::Write { path: folder.clone(), source })
    })
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn try_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let probe = aside(&folder.join("probe"));
    File::create(&probe)?;
    fs::remove_file(probe)
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
    fn nothing_is_taken_without_force() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/a.txt");
        prepare([path.as_path()], false).unwrap();
        write(&path, |f| f.write_all(b"one")).unwrap();
        assert!(matches!(prepare([path.as_path()], false), Err(OutputError::Exists(_))));
        prepare([path.as_path()], true).unwrap();
        assert!(prepare([path.join("below a file").as_path()], true).is_err());
    }
}
