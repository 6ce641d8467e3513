//! The scene's file: its origin or last save, and saving.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::foreign;
use crate::output::whole;
use crate::scene::Scene;

/// The file of a scene.
#[derive(Clone, Debug)]
pub(super) struct SceneFile {
    /// The running scene.
    scene: Arc<Scene>,
    /// Path of the file.
    pub path: PathBuf,
    /// Contents of the file when it was last read or written.
    text: String,
}

impl SceneFile {
    /// Returns the file of `scene`, if it came from one.
    pub fn of(scene: &Arc<Scene>) -> Option<Self> {
        let (path, text) = scene.origin.file.clone()?;
        Some(Self { scene: scene.clone(), path, text })
    }

    /// Returns whether it belongs to `scene`.
    pub fn is_of(&self, scene: &Arc<Scene>) -> bool {
        Arc::ptr_eq(&self.scene, scene)
    }

    /// Returns whether both are the same file.
    pub fn is_same_file(&self, other: &Self) -> bool {
        let whole = |scene_file: &Self| {
            let path = linked(&scene_file.path);
            std::path::absolute(&path).unwrap_or(path)
        };
        whole(self) == whole(other)
    }

    /// Returns whether both had the same contents when they were last read or written.
    pub fn holds_text_of(&self, other: &Self) -> bool {
        self.text == other.text
    }

    /// Returns whether the file has not changed since it was last read or written. A deleted one counts as
    /// unchanged: it can be written again.
    pub fn is_untouched(&self) -> bool {
        foreign::text(&self.path, foreign::TEXT).map_or(true, |now| now == self.text)
    }
}

/// Resolves a typed path relative to the present folder; `~/` is the home folder.
///
/// # Errors
/// If the text does not end in the name of a file.
pub(super) fn named(text: &str) -> Result<PathBuf, String> {
    let text = text.trim();
    let home = std::env::home_dir().filter(|_| text.starts_with("~/"));
    let path = match home {
        Some(home) => home.join(&text[2..]),
        None => PathBuf::from(text),
    };
    if path.file_name().is_none() {
        return Err("Name a file, such as plume.toml.".into());
    }
    Ok(path)
}

/// Returns the file that a typed name is saved to. A name without an ending gets `.toml`.
///
/// # Errors
/// If the text does not end in the name of a file.
pub(super) fn to_save(text: &str) -> Result<PathBuf, String> {
    let path = named(text)?;
    Ok(if path.extension().is_none() { path.with_extension("toml") } else { path })
}

/// Returns the message for a file that exists already.
pub(super) fn taken(path: &Path) -> String {
    format!("{} exists already. Save again to replace it, or name another file.", path.display())
}

/// Greatest length of a chain of symbolic links.
const LINKS: usize = 40;

/// Returns the file that a chain of symbolic links names, whether it exists or not.
fn linked(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..LINKS {
        let Ok(next) = std::fs::read_link(&at) else { return at };
        at = at.parent().unwrap_or(Path::new("")).join(next);
    }
    path.to_owned()
}

/// Saves `scene`, which runs as `running`, to `path`, whole; `scene_file` is its present file. If that is a
/// symbolic link, the file that it names is written and the link stays. Any other link is replaced.
///
/// # Errors
/// One line with the reason. The file is then unchanged.
pub(super) fn save(
    scene: &Scene,
    running: &Arc<Scene>,
    path: &Path,
    scene_file: Option<&SceneFile>,
) -> Result<SceneFile, String> {
    if scene_file.is_some_and(|scene_file| scene_file.path == path && !scene_file.is_untouched()) {
        let name = path.display();
        return Err(format!("{name} was changed by another program; open it again, or save as another file"));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let text = scene.write(folder).map_err(|error| error.to_string())?;
    let file = if scene_file.is_some_and(|scene_file| scene_file.path == path) {
        linked(path)
    } else {
        path.to_owned()
    };
    whole::write_durably(&file, |file| file.write_all(text.as_bytes())).map_err(|error| error.to_string())?;
    Ok(SceneFile { scene: running.clone(), path: path.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use nalgebra::Vector2;

    use super::*;
    use crate::app::gesture::{Button, Held};
    use crate::app::session::Session;

    const TEXT: &str = "[domain]\ncells = [12, 16, 12]\nvoxel = 0.1\n[fluid]\ncooling = 0.3 # 1/s\n";

    fn session(scene: Scene) -> Session {
        let mut session = Session::new(scene, || ()).unwrap();
        session.set_view(800.0, 600.0);
        session
    }

    fn until_loaded(session: &mut Session) {
        let deadline = Instant::now() + std::time::Duration::from_secs(20);
        while session.is_loading() {
            assert!(Instant::now() < deadline, "never loaded");
            std::thread::sleep(std::time::Duration::from_millis(2));
            session.absorb(Instant::now());
        }
    }

    fn notice(session: &Session) -> &str {
        session.readout.notice.as_deref().unwrap_or("")
    }

    #[test]
    fn a_scene_is_saved_to_its_file_with_its_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        fs::write(&path, TEXT).unwrap();
        let mut s = session(Scene::load(&path.to_string_lossy(), &[]).unwrap());
        assert_eq!(s.file().as_deref(), Some(path.as_path()));
        s.save(&path, Instant::now());
        assert_eq!(fs::read_to_string(&path).unwrap(), TEXT, "nothing was changed");
        s.model.settings.params.cooling = 0.9;
        s.model.settings.rate = 50.0;
        s.save(&path, Instant::now());
        assert!(notice(&s).starts_with("Saved "), "{}", notice(&s));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("cooling = 0.9 # 1/s") && !text.contains("camera"), "{text}");
        let read = Scene::load(&path.to_string_lossy(), &[]).unwrap();
        assert_eq!((read.params.cooling, read.time.frame_rate), (0.9, 50.0));
    }

    #[test]
    fn an_override_runs_and_is_not_saved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        let text = "# Mine.\ndomain = { cells = [12, 16, 12], voxel = 0.1 }\n\n[fluid]\ncooling=0.3# 1/s\nvorticity = 0.3\n";
        fs::write(&path, text).unwrap();
        let overrides = ["fluid.vorticity=1".to_owned(), "domain.voxel=0.2".into()];
        let mut s = session(Scene::load(&path.to_string_lossy(), &overrides).unwrap());
        assert_eq!((s.model.settings.params.vorticity, s.extent()[0]), (1.0, 2.4));
        s.save(&path, Instant::now());
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "nothing was changed");
        s.model.settings.params.cooling = 0.9;
        s.save(&path, Instant::now());
        assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("0.3#", "0.9#"));
    }

    #[test]
    fn the_camera_is_saved_once_it_was_moved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        let mut s = session(Scene::parse("small", TEXT).unwrap());
        assert_eq!(s.file(), None, "it came from no file");
        let now = Instant::now();
        s.press(Button::Right, Held::default(), Vector2::new(400.0, 300.0), now);
        s.hover(Vector2::new(500.0, 320.0), now);
        s.release(Button::Right, now);
        s.save(&path, now);
        assert_eq!(s.file().as_deref(), Some(path.as_path()), "it is kept there from now on");
        let read = Scene::load(&path.to_string_lossy(), &[]).unwrap();
        assert_eq!(read.camera, s.orbit.camera());
        assert!(!s.sync(), "saving does not start the scene over");
    }

    #[test]
    fn changes_by_another_program_are_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        fs::write(&path, TEXT).unwrap();
        let mut s = session(Scene::load(&path.to_string_lossy(), &[]).unwrap());
        fs::write(&path, "# mine\n").unwrap();
        s.save(&path, Instant::now());
        assert!(notice(&s).contains("another program"), "{}", notice(&s));
        assert_eq!(fs::read_to_string(&path).unwrap(), "# mine\n");
        s.save(&folder.path().join("no/folder.toml"), Instant::now());
        assert!(notice(&s).starts_with("Not saved: "), "{}", notice(&s));
    }

    /// The link became a file of another mode, and the file that it named kept the old text.
    #[cfg(unix)]
    #[test]
    fn a_scene_is_saved_through_a_link() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("deep/real.toml"), folder.path().join("mine.toml"));
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(&real, TEXT).unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("deep/real.toml", &link).unwrap();
        let mut s = session(Scene::load(&link.to_string_lossy(), &[]).unwrap());
        s.model.settings.params.cooling = 0.9;
        s.save(&link, Instant::now());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("cooling = 0.9 # 1/s"));
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_file(&real).unwrap();
        s.save(&link, Instant::now());
        assert!(real.exists() && fs::symlink_metadata(&link).unwrap().is_symlink(), "a deleted file");
    }

    #[test]
    fn a_scene_file_is_opened_and_undone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        fs::write(&path, TEXT).unwrap();
        let mut s = session(Scene::parse("first", TEXT).unwrap());
        s.open(&path.to_string_lossy());
        until_loaded(&mut s);
        assert_eq!(s.model.settings.scene.name, "mine");
        assert_eq!(s.file().as_deref(), Some(path.as_path()));
        s.act(crate::app::action::Action::Undo);
        until_loaded(&mut s);
        assert_eq!((s.model.settings.scene.name.as_str(), s.file()), ("first", None));
        s.open("gone.toml");
        assert!(notice(&s).contains("gone.toml"), "{}", notice(&s));
    }
}
