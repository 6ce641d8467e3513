//! The scene's file, and saving to it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Session;
use crate::app::file::{self, Home};
use crate::app::model::{Dialog, PathForm, Purpose};
use crate::app::remember;

impl Session {
    pub(super) fn ask(&mut self, form: PathForm) {
        self.open_dialog(Dialog::Path(form));
    }

    /// Saves the scene to its file; without one, or after an error, asks for a path.
    pub(super) fn save_or_ask(&mut self, leave: bool) {
        let Some(path) = self.file() else {
            return self.ask_where_to_save(leave, None);
        };
        match self.try_save(&path) {
            Ok(said) => {
                self.say(said);
                self.model.dialog = None;
                self.leaving |= leave;
            }
            Err(error) => self.ask_where_to_save(leave, Some(error)),
        }
    }

    pub(super) fn ask_where_to_save(&mut self, leave: bool, error: Option<String>) {
        let name = format!("{}.toml", self.model.settings.scene.name);
        let path = self.file().unwrap_or_else(|| PathBuf::from(name));
        let form = PathForm::new(Purpose::Save, path.display().to_string());
        self.ask(PathForm { leave, error, ..form });
    }

    /// Accepts the open dialog. Errors of its file are shown in the dialog.
    pub(super) fn accept(&mut self) {
        match self.model.dialog.take() {
            Some(Dialog::Leave(_)) => self.save_or_ask(true),
            Some(Dialog::Path(form)) => {
                let done = match form.purpose {
                    Purpose::Open => {
                        file::named(&form.text).and_then(|path| self.try_open(&path.to_string_lossy()))
                    }
                    Purpose::Save => self.save_as(&form),
                    Purpose::Add(kind) => self.add_of_file(kind, &form.text),
                };
                match done {
                    Ok(()) => self.leaving |= form.leave,
                    Err(error) => {
                        let is_taken =
                            file::to_save(&form.text).is_ok_and(|path| error == file::taken(&path));
                        let replaces = is_taken.then(|| form.text.clone());
                        self.ask(PathForm { error: Some(error), replaces, ..form });
                    }
                }
            }
            None => {}
        }
    }

    /// Saves to the chosen file; replaces another one only after a second confirmation.
    pub(super) fn save_as(&mut self, form: &PathForm) -> Result<(), String> {
        let path = file::to_save(&form.text)?;
        let own = self.file().is_some_and(|file| file == path);
        if path.exists() && !own && form.replaces.as_ref() != Some(&form.text) {
            return Err(file::taken(&path));
        }
        let said = self.try_save(&path)?;
        self.say(said);
        Ok(())
    }

    /// File of the scene, if there is one.
    pub fn file(&self) -> Option<PathBuf> {
        self.home().map(|home| home.path)
    }

    /// Name of the file that a save writes; of the scene, if it has no file.
    pub fn title(&self) -> String {
        let file = self.file();
        let stem = file.as_ref().and_then(|path| path.file_stem());
        stem.map_or_else(
            || self.model.settings.scene.name.clone(),
            |stem| stem.to_string_lossy().into_owned(),
        )
    }

    pub(super) fn home(&self) -> Option<Home> {
        let scene = &self.model.settings.opened;
        self.home.clone().filter(|home| home.is_of(scene)).or_else(|| Home::of(scene))
    }

    /// Saves the scene with its settings and camera to `path`, which becomes its file. Returns the end of the
    /// notice.
    pub fn save(&mut self, path: &Path, now: Instant) -> Instant {
        let text = self.try_save(path).unwrap_or_else(|error| format!("Not saved: {error}"));
        self.tell(text, now)
    }

    /// The text of a scene file in `folder` with the unsaved changes; none if there are none, or they cannot be saved.
    pub fn unsaved_text(&self, folder: &Path) -> Option<String> {
        let settings = &self.model.settings;
        let camera = if self.stands_as_opened() { settings.scene.camera } else { self.orbit.camera() };
        self.is_unsaved().then(|| settings.as_file(camera).write(folder).ok()).flatten()
    }

    /// Says that the unsaved changes of a window that ended are in the file `path`.
    pub fn offer_recovered(&mut self, path: &Path, now: Instant) {
        remember::note(&mut self.model.recent, path);
        self.tell(
            format!(
                "An earlier window ended with unsaved changes. They are in {}, see Open.",
                path.display()
            ),
            now,
        );
    }

    pub(super) fn try_save(&mut self, path: &Path) -> Result<String, String> {
        let (running, opened) = (&self.model.settings.scene, &self.model.settings.opened);
        let camera = if self.stands_as_opened() { running.camera } else { self.orbit.camera() };
        let scene = self.model.settings.as_file(camera);
        self.home = Some(file::save(&scene, opened, path, self.home().as_ref())?);
        self.saved = self.model.settings.clone();
        self.saved_sides.push(self.model.settings.alone(self.side()));
        remember::note(&mut self.model.recent, path);
        let side = if self.is_comparing() { format!("{} as ", self.side().letter()) } else { String::new() };
        Ok(format!("Saved {side}{}", path.display()))
    }
}
