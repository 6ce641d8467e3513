//! The scene's file, and saving to it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{NOTICE, Session};
use crate::app::file::{self, SceneFile};
use crate::app::model::{Dialog, PathForm, Purpose};
use crate::app::remember;
use crate::app::settings::Side;

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
            Ok(message) => {
                self.say(message);
                self.model.dialog = None;
                if leave {
                    self.leave_saved();
                }
            }
            Err(error) => self.ask_where_to_save(leave, Some(error)),
        }
    }

    /// Leaves after a save. During a comparison asks first where to save the other side, if it is unsaved.
    fn leave_saved(&mut self) {
        let is_unsaved = |side: &Side| !self.is_held(&self.model.settings.alone(*side));
        match self.model.settings.sides().iter().copied().find(is_unsaved) {
            Some(side) if self.is_comparing() => {
                self.edit_side(side);
                self.ask_where_to_save(true, None);
            }
            _ => self.leaving = true,
        }
    }

    pub(super) fn ask_where_to_save(&mut self, leave: bool, error: Option<String>) {
        let name = format!("{}.toml", self.model.settings.scene.name);
        let mut path = self.file().unwrap_or_else(|| PathBuf::from(name));
        if leave && self.is_comparing() {
            // The scene's file may hold the other side.
            path.set_file_name(format!("{}-{}.toml", self.title(), self.side().letter().to_lowercase()));
        }
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
                    Ok(()) if form.leave => self.leave_saved(),
                    Ok(()) => {}
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
        let message = self.try_save(&path)?;
        self.say(message);
        Ok(())
    }

    /// Returns the file of the scene, if there is one.
    pub fn file(&self) -> Option<PathBuf> {
        self.scene_file().map(|scene_file| scene_file.path)
    }

    /// Returns the name of the file that a save writes; of the scene, if it has no file.
    pub fn title(&self) -> String {
        let file = self.file();
        let stem = file.as_ref().and_then(|path| path.file_stem());
        stem.map_or_else(
            || self.model.settings.scene.name.clone(),
            |stem| stem.to_string_lossy().into_owned(),
        )
    }

    pub(super) fn scene_file(&self) -> Option<SceneFile> {
        let scene = &self.model.settings.opened;
        self.written(scene).cloned().or_else(|| SceneFile::of(scene))
    }

    /// Saves the scene with its settings and camera to `path`, which becomes its file. Returns the end of the
    /// notice.
    #[cfg(test)]
    pub fn save(&mut self, path: &Path, now: Instant) -> Instant {
        let text = self.try_save(path).unwrap_or_else(|error| format!("Not saved: {error}"));
        self.tell(text, now)
    }

    /// Shows a notice that the unsaved changes of earlier windows are in the files `paths`, until a key or
    /// button is pressed.
    pub fn offer_recovered(&mut self, paths: &[PathBuf]) {
        if paths.is_empty() {
            return;
        }
        paths.iter().rev().for_each(|path| remember::note(&mut self.model.recent, path));
        self.recovered.extend_from_slice(paths);
        self.readout.notice = self.recovered_notice();
        self.notice_until = None;
    }

    /// Returns the notice of recovered changes, if there are any. It is shown again after other notices.
    pub(super) fn recovered_notice(&self) -> Option<String> {
        let names = self.recovered.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let names = names.join(" and ");
        (!names.is_empty())
            .then(|| format!("An earlier window ended with unsaved changes. They are in {names}, see Open."))
    }

    /// Ends the notice of recovered changes soon, after a key or button was pressed.
    pub fn acknowledge(&mut self, now: Instant) {
        if !std::mem::take(&mut self.recovered).is_empty() && self.notice_until.is_none() {
            self.notice_until = Some(now + NOTICE);
        }
    }

    pub(super) fn try_save(&mut self, path: &Path) -> Result<String, String> {
        let settings = self.model.settings.alone(self.side());
        let scene = settings.as_file(self.camera_to_save());
        let scene_file = file::save(&scene, &settings.opened, path, self.scene_file().as_ref())?;
        self.note_written(scene_file, settings);
        remember::note(&mut self.model.recent, path);
        let side = if self.is_comparing() { format!("{} as ", self.side().letter()) } else { String::new() };
        let draft = match self.model.draft {
            Some(_) => ", without the edits of \u{201c}Box and solver\u{201d} that wait for a restart",
            None => "",
        };
        Ok(format!("Saved {side}{}{draft}", path.display()))
    }
}
