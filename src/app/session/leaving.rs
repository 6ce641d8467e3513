//! Esc, which cancels the innermost thing, and leaving, which asks before anything is lost.

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::Session;
use crate::app::export::Progress;
use crate::app::model::{Dialog, Losses};
use crate::worker::Frame;

/// Painted strokes in the present smoke and in the stored states.
#[derive(Default)]
pub(super) struct Painted {
    /// Whether the present smoke has strokes that no export holds.
    pub(super) now: bool,
    /// Numbers of the stored states, and whether their smoke has such strokes.
    stored: Vec<(u64, bool)>,
    /// Numbers of the stored states with such strokes that another scene has replaced.
    replaced: Vec<u64>,
    /// Whether the running export holds all strokes.
    exporting: bool,
}

impl Painted {
    /// Notes the present smoke for the state stored under `number`; those before `first` are gone.
    pub(super) fn store(&mut self, number: u64, first: u64) {
        self.stored.retain(|(stored, _)| *stored >= first);
        self.replaced.retain(|stored| *stored >= first);
        self.stored.push((number, self.now));
    }

    /// Takes over the note of a restored state.
    pub(super) fn restore(&mut self, number: u64) {
        if let Some(at) = self.stored.iter().position(|(stored, _)| *stored == number) {
            self.now = self.stored.remove(at).1;
        }
        self.replaced.retain(|stored| *stored != number);
    }

    /// Notes that another scene replaces the smoke stored under `number`. Its strokes still count as unsaved;
    /// those of a clear do not, because that was asked for.
    pub(super) fn note_replaced(&mut self, number: u64) {
        if self.stored.contains(&(number, true)) {
            self.replaced.push(number);
        }
    }

    /// Returns whether there are strokes that no export holds, in the present smoke or in that of a replaced
    /// scene. States before `first` are gone.
    pub(super) fn is_lost(&self, first: u64) -> bool {
        self.now || self.replaced.iter().any(|stored| *stored >= first)
    }

    /// Notes that a stroke begins.
    pub(super) fn stroke(&mut self) {
        (self.now, self.exporting) = (true, false);
    }

    /// Notes that an export begins. Only an export of all recorded frames holds all strokes.
    pub(super) fn export(&mut self, all_frames: bool) {
        self.exporting = all_frames;
    }

    /// Notes that an export has ended: its files hold the strokes if it was one of all frames.
    pub(super) fn exported(&mut self) {
        self.now &= !self.exporting;
    }
}

/// Recorded frames that an export holds: all up to the one that was the newest.
#[derive(Default)]
pub(super) struct Exported {
    newest: Weak<Frame>,
    /// Newest frame of the running export.
    exporting: Weak<Frame>,
}

impl Exported {
    /// Notes that an export begins. `newest` is its last frame if it holds all recorded frames, otherwise none.
    pub(super) fn export(&mut self, newest: Option<&Arc<Frame>>) {
        self.exporting = newest.map(Arc::downgrade).unwrap_or_default();
    }

    /// Notes that an export has ended with all its files.
    pub(super) fn exported(&mut self) {
        if self.exporting.strong_count() > 0 {
            self.newest = std::mem::take(&mut self.exporting);
        }
    }

    fn holds(&self, frame: &Arc<Frame>) -> bool {
        self.newest.upgrade().is_some_and(|newest| Arc::ptr_eq(&newest, frame))
    }
}

impl Session {
    /// Handles Esc: cancels the innermost thing, and leaves if there is none. Lists and number fields of the
    /// panel handle it themselves.
    pub(super) fn cancel(&mut self) {
        if self.model.dialog.take().is_some()
            || std::mem::take(&mut self.model.help)
            || self.cancel_drag()
            || std::mem::take(&mut self.model.playback.playing)
            || self.model.playback.at.take().is_some()
        {
            return;
        }
        if let Some(export) = self.export.as_ref().filter(|export| !export.is_cancelled()) {
            let Progress { done, total, .. } = export.progress();
            if self.cancels_export.is_some_and(|until| Instant::now() < until) {
                export.cancel();
                return self.say("The export is being cancelled".into());
            }
            let until =
                self.tell(format!("Esc again drops the export: {done} of {total} frames"), Instant::now());
            self.cancels_export = Some(until);
            return;
        }
        if self.model.draft.take().is_some() {
            return self.say("The edits of \u{201c}Box and solver\u{201d} were dropped".into());
        }
        if !std::mem::take(&mut self.model.search).is_empty() || self.model.selected.take().is_some() {
            return;
        }
        self.leave_window();
    }

    /// Closes the window, or asks before something is lost.
    pub(super) fn leave_window(&mut self) {
        self.let_go();
        let losses = self.losses();
        if losses == Losses::default() {
            self.leaving = true;
        } else {
            self.open_dialog(Dialog::Leave(losses));
        }
    }

    /// Opens a dialog. It takes the mouse: a drag ends where it is.
    pub(super) fn open_dialog(&mut self, dialog: Dialog) {
        self.let_go();
        self.model.dialog = Some(dialog);
    }

    /// Returns the losses if the window closed now.
    pub(super) fn losses(&self) -> Losses {
        Losses {
            settings: self.is_unsaved(),
            replaced: self.replaced_names(),
            strokes: self.painted.is_lost(self.readout.status.first_stored),
            frames: self.lost_frames(),
            export: self.export.as_ref().is_some_and(|export| !export.is_cancelled()),
            draft: self.model.draft.is_some(),
        }
    }

    /// Returns the number of recorded frames after the first that no export holds.
    fn lost_frames(&self) -> u64 {
        let timeline = self.worker.timeline();
        let Some([first, last]) = timeline.range() else { return 0 };
        let is_held = timeline.frame(last).is_some_and(|newest| self.exported.holds(&newest));
        if is_held { 0 } else { last - first }
    }
}
