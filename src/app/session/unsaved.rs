//! Files that the window has written, and settings that none of them holds.

use std::path::Path;
use std::sync::Arc;

use super::Session;
use crate::app::file::Home;
use crate::app::settings::Settings;
use crate::look::Camera;
use crate::scene::Scene;

/// A file that this window has written, with the settings that it holds.
pub(super) struct Written {
    home: Home,
    settings: Settings,
}

impl Session {
    /// The last file that this window wrote for `scene`.
    pub(super) fn written(&self, scene: &Arc<Scene>) -> Option<&Home> {
        self.written.iter().rev().map(|written| &written.home).find(|home| home.is_of(scene))
    }

    /// Notes that a file holds `settings` now, and no longer what was written to it before.
    pub(super) fn note_written(&mut self, home: Home, settings: Settings) {
        self.written.retain(|written| !written.home.is_same_file(&home));
        self.written.push(Written { home, settings });
    }

    /// Notes that the present scene was read from a file. One that this window wrote holds that now.
    pub(super) fn note_read(&mut self) {
        let settings = self.model.defaults.clone();
        if let Some(home) = Home::of(&settings.opened)
            && self.written.iter().any(|written| written.home.is_same_file(&home))
        {
            self.note_written(home, settings);
        }
    }

    /// Whether there are settings that the scene's file does not hold; during a comparison, that no file holds.
    pub fn is_unsaved(&self) -> bool {
        let settings = &self.model.settings;
        settings.sides().iter().any(|side| !self.is_held(&settings.alone(*side)))
    }

    /// Whether a file holds the settings of a side alone: the scene's file, or any for one of two compared sides.
    pub(super) fn is_held(&self, settings: &Settings) -> bool {
        if self.is_comparing() {
            let is_held = self.written.iter().any(|written| settings.saves_as(&written.settings));
            return is_held || self.holds_defaults() && settings.saves_as(&self.model.defaults);
        }
        let own = self.written.iter().rev().find(|written| written.home.is_of(&settings.opened));
        match own {
            Some(own) => settings.saves_as(&own.settings),
            None => self.holds_defaults() && settings.saves_as(&self.model.defaults),
        }
    }

    /// Whether the file from which the scene was read was not written over. A built-in scene always is there.
    fn holds_defaults(&self) -> bool {
        let Some(home) = Home::of(&self.model.defaults.opened) else { return true };
        self.written
            .iter()
            .filter(|written| written.home.is_same_file(&home))
            .all(|written| written.home.holds_text_of(&home))
    }

    /// The camera that a file of the scene gets.
    pub(super) fn camera_to_save(&self) -> Camera {
        if self.stands_as_opened() { self.model.settings.scene.camera } else { self.orbit.camera() }
    }

    /// The text of a scene file in `folder` with the unsaved changes; none if there are none, or they cannot be saved.
    pub fn unsaved_text(&self, folder: &Path) -> Option<String> {
        let settings = &self.model.settings;
        self.is_unsaved().then(|| settings.as_file(self.camera_to_save()).write(folder).ok()).flatten()
    }
}
