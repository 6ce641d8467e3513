//! Unsaved changes: of the present scene, and of scenes that another one has replaced.

use std::path::Path;
use std::sync::Arc;

use super::Session;
use crate::app::file::SceneFile;
use crate::app::settings::Settings;
use crate::look::Camera;
use crate::scene::Scene;

/// A file that this window has written, with the settings that it holds.
pub(super) struct Written {
    scene_file: SceneFile,
    settings: Settings,
}

/// A scene with unsaved changes that another one has replaced. Undo returns to it.
pub(super) struct Replaced {
    /// Name of its file, or of the scene.
    name: String,
    opened: Arc<Scene>,
    /// Settings of its unsaved sides.
    sides: Vec<Settings>,
    camera: Camera,
}

impl Session {
    /// Returns the last file that this window wrote for `scene`.
    pub(super) fn written(&self, scene: &Arc<Scene>) -> Option<&SceneFile> {
        self.written
            .iter()
            .rev()
            .map(|written| &written.scene_file)
            .find(|scene_file| scene_file.is_of(scene))
    }

    /// Notes that a file now holds `settings`, in place of those written to it before.
    pub(super) fn note_written(&mut self, scene_file: SceneFile, settings: Settings) {
        self.written.retain(|written| !written.scene_file.is_same_file(&scene_file));
        self.written.push(Written { scene_file, settings });
    }

    /// Notes that the present scene was read from a file. If this window wrote that file before, it now holds
    /// the scene's settings.
    pub(super) fn note_read(&mut self) {
        let settings = self.model.defaults.clone();
        if let Some(scene_file) = SceneFile::of(&settings.opened)
            && self.written.iter().any(|written| written.scene_file.is_same_file(&scene_file))
        {
            self.note_written(scene_file, settings);
        }
    }

    /// Returns whether there are settings that the scene's file does not hold; during a comparison, settings
    /// that no file holds.
    pub fn is_unsaved(&self) -> bool {
        let settings = &self.model.settings;
        settings.sides().iter().any(|side| !self.is_held(&settings.alone(*side)))
    }

    /// Returns whether a file holds the settings of a side alone: the scene's file, or any for one of two
    /// compared sides.
    pub(super) fn is_held(&self, settings: &Settings) -> bool {
        if self.is_comparing() {
            let is_held = self.written.iter().any(|written| settings.saves_as(&written.settings));
            return is_held || self.holds_defaults() && settings.saves_as(&self.model.defaults);
        }
        let own = self.written.iter().rev().find(|written| written.scene_file.is_of(&settings.opened));
        match own {
            Some(own) => settings.saves_as(&own.settings),
            None => self.holds_defaults() && settings.saves_as(&self.model.defaults),
        }
    }

    /// Returns whether the file from which the scene was read still holds it. That of a built-in scene always
    /// does.
    fn holds_defaults(&self) -> bool {
        let Some(scene_file) = SceneFile::of(&self.model.defaults.opened) else { return true };
        self.written
            .iter()
            .filter(|written| written.scene_file.is_same_file(&scene_file))
            .all(|written| written.scene_file.holds_text_of(&scene_file))
    }

    /// Returns the camera that a file of the scene gets.
    pub(super) fn camera_to_save(&self) -> Camera {
        if self.stands_as_opened() { self.model.settings.scene.camera } else { self.orbit.camera() }
    }

    /// Returns the present scene with its unsaved changes.
    fn unsaved(&self) -> Replaced {
        let settings = &self.model.settings;
        let sides = settings.sides().iter().map(|side| settings.alone(*side));
        Replaced {
            name: self.title(),
            opened: settings.opened.clone(),
            sides: sides.filter(|side| !self.is_held(side)).collect(),
            camera: self.camera_to_save(),
        }
    }

    /// Returns the texts of scene files in `folder` with the unsaved changes: of the present scene, then of
    /// replaced ones, the newest first. Scenes that cannot be saved are left out.
    pub fn unsaved_texts(&self, folder: &Path) -> Vec<String> {
        let present = self.unsaved();
        let all = std::iter::once(&present).chain(self.replaced.iter().rev());
        let files = all.flat_map(|scene| scene.sides.iter().map(|side| side.as_file(scene.camera)));
        files.filter_map(|file| file.write(folder).ok()).collect()
    }

    /// Keeps the unsaved changes of the present scene when `next` is another one. An undo keeps nothing: it
    /// has reverted the changes before it returns to the scene before.
    pub(super) fn note_replaced(&mut self, next: &Settings, undone: bool) {
        self.replaced.retain(|replaced| !Arc::ptr_eq(&replaced.opened, &next.opened));
        if undone || Arc::ptr_eq(&self.model.settings.opened, &next.opened) {
            return;
        }
        let present = self.unsaved();
        if !present.sides.is_empty() {
            self.replaced.push(present);
        }
    }

    /// Names of the scenes with unsaved changes that another one has replaced.
    pub(super) fn replaced_names(&self) -> Vec<String> {
        self.replaced.iter().map(|replaced| replaced.name.clone()).collect()
    }
}
