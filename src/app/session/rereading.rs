//! Rereading the scene's file after another program has written it.

use std::sync::Arc;
use std::time::Instant;

use super::{LoadCause, Session};
use crate::app::orbit::Orbit;
use crate::app::settings::{self, Settings};
use crate::scene::Scene;

impl Session {
    /// Reads the scene's file again if another program changed it, unless that would lose changes.
    pub fn file_changed(&mut self, now: Instant) {
        self.file_may_be_newer = false;
        let Some(scene_file) = self.scene_file().filter(|scene_file| !scene_file.is_untouched()) else {
            return;
        };
        let name = scene_file.path.display().to_string();
        self.file_may_be_newer = self.is_loading() || self.is_unsaved() || self.is_comparing();
        if self.is_loading() {
            return;
        }
        if self.file_may_be_newer {
            let text =
                format!("{name} was changed by another program. Ctrl+O opens it anew, without your changes.");
            self.tell(text, now);
            return;
        }
        match Scene::load(&scene_file.path.to_string_lossy(), &[]) {
            Ok(scene) => self.reload(Arc::new(scene)),
            Err(error) => {
                let error = error.to_string();
                let line = error.lines().next().unwrap_or_default();
                self.tell(format!("{name} was changed and cannot be read: {line}"), now);
            }
        }
    }

    /// Reads a newer file of the scene as soon as that loses no changes. The watch reports each change only
    /// once.
    pub(super) fn read_newer_file(&mut self) {
        if self.file_may_be_newer && !self.is_loading() && !self.is_unsaved() && !self.is_comparing() {
            self.file_changed(Instant::now());
        }
    }

    /// Takes over the changes of the scene's file; restarts only if necessary.
    fn reload(&mut self, scene: Arc<Scene>) {
        let brush = self.model.settings.brush.clone();
        let name = scene.name.clone();
        let settings = Settings { brush, ..Settings::of(scene) };
        if settings::needs_load(&self.model.settings.scene, &settings.scene) {
            let state = self.store();
            self.begin_load(settings, LoadCause::Opened(state, format!("{name} read again")));
        } else {
            let before = self.model.settings.opened.clone();
            self.note_view(&before);
            if settings.scene.camera != self.model.settings.scene.camera {
                self.orbit = Orbit::of(&settings.scene.camera);
                self.opened = self.orbit;
            }
            let what = format!("{name} read again");
            let state = self.store();
            self.model.defaults = Settings { brush: self.model.defaults.brush.clone(), ..settings.clone() };
            self.model.history.act(&settings, &what, state);
            self.model.settings = settings;
            self.model.selected = None;
            self.note_read();
        }
        self.say(format!("{name} was read again: its file has changed"));
    }
}
