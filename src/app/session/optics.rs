//! Field of view, projection and lens: settings that can be undone, and parts of the camera.

use super::Session;
use crate::app::settings::Settings;

impl Session {
    /// Gives the camera the optics of settings that were typed, undone or redone. Changes by a key or along keyframes go the other way, into
    /// all entries of the history: an undo leaves them.
    pub(super) fn match_optics(&mut self) {
        let (before, own) = (self.sent.settings.optics, self.orbit.optics());
        let settings = &mut self.model.settings;
        if settings.optics != before {
            self.orbit.set_optics(settings.optics);
        } else if own != before {
            let adopt = |settings: &mut Settings| settings.optics.take_changes(before, own);
            adopt(settings);
            self.model.history.adjust(adopt);
        }
        self.sent.settings.optics = self.model.settings.optics;
    }
}
