//! A scene file that another program writes at a time when it cannot be read again.

use std::path::PathBuf;

use super::tests::{session, until_loaded};
use super::*;

const TEXT: &str = "[domain]\ncells = [12, 16, 12]\nvoxel = 0.1\n[fluid]\ncooling = 0.3\n";

/// Returns a file in `folder` with a session of it.
fn opened(folder: &tempfile::TempDir) -> (PathBuf, Session) {
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, TEXT).unwrap();
    let s = Session::new(Scene::load(&path.to_string_lossy(), &[]).unwrap(), || ()).unwrap();
    (path, s)
}

#[test]
fn a_file_changed_during_a_load_is_read_again_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut s) = opened(&folder);
    s.act(Action::Restart);
    std::fs::write(&path, TEXT.replace("0.3", "0.9")).unwrap();
    s.file_changed(Instant::now());
    assert!(s.is_loading());
    until_loaded(&mut s);
    assert_eq!(s.model.settings.params.cooling, 0.9, "{:?}", s.readout.notice);
    // Also if it is opened for the first time meanwhile.
    let mut other = session();
    other.open(&path.to_string_lossy());
    std::fs::write(&path, TEXT).unwrap();
    until_loaded(&mut other);
    assert_eq!(other.model.settings.params.cooling, 0.3);
}

#[test]
fn a_file_refused_because_of_edits_is_read_again_after_their_undo() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut s) = opened(&folder);
    s.model.settings.params.vorticity = 1.5;
    let settings = s.model.settings.clone();
    s.model.history.note(&settings, true, Settings::change);
    std::fs::write(&path, TEXT.replace("0.3", "0.9")).unwrap();
    s.file_changed(Instant::now());
    s.sync();
    assert_eq!(s.model.settings.params.cooling, 0.3, "that would lose the edit");
    s.act(Action::Undo);
    s.sync();
    assert_eq!(s.model.settings.params.cooling, 0.9);
    s.act(Action::Save);
    let notice = s.readout.notice.as_deref().unwrap();
    assert!(notice.starts_with("Saved "), "{notice}");
}
