//! Starting an export of the recorded frames, and following its progress.

use std::sync::Arc;
use std::time::Instant;

use super::Session;
use crate::app::export::{Export, Format, Job};
use crate::render::Mode;
use crate::scene::CameraPath;
use crate::worker::Frame;

impl Session {
    /// Starts the export of the panel's form.
    pub(super) fn export(&mut self) {
        if self.export.is_some() {
            return self.say("One export at a time: wait for the one under way, or cancel it".into());
        }
        let form = self.model.export.clone();
        let is_picture = form.format == Format::Picture;
        let timeline = self.worker.timeline();
        let [first, last] = timeline.range().unwrap_or_default();
        let [from, to] = form.range.unwrap_or([first, last]);
        let frames = match is_picture {
            true => Vec::new(),
            false => (from.max(first)..=to.min(last)).filter_map(|n| timeline.frame(n)).collect(),
        };
        drop(timeline);
        let settings = &self.model.settings;
        let job = Job {
            format: form.format,
            path: form.place(&settings.scene.name),
            size: form.size,
            rate: settings.rate,
            looks: settings.sides().iter().map(|side| settings.of_side(*side).look.clone()).collect(),
            side: settings.side,
            camera: self.orbit.camera(),
            camera_path: if is_picture { CameraPath::default() } else { self.followed_path() },
            mode: if is_picture { self.mode() } else { self.clip_mode(&frames) },
            now: is_picture.then(|| self.shown().clone()),
            frames,
        };
        let wake = self.wake.clone();
        let is_all = !is_picture && from <= first && to >= last;
        self.painted.export(is_all);
        self.exported.export(job.frames.last().filter(|_| is_all));
        self.cancels_export = None;
        self.export = Some(Export::start(job, move || wake()));
        self.model.exporting = self.export.as_ref().map(Export::progress);
    }

    /// Returns the mode for recorded frames: that of the view, or smoke if one of them lacks the velocity.
    fn clip_mode(&self, frames: &[Arc<Frame>]) -> Mode {
        let all = !self.model.view.needs_velocity() || frames.iter().all(|frame| frame.has_flow());
        if all { self.model.view } else { Mode::Smoke }
    }

    /// Updates the progress of the export, and reports its result once it has ended.
    pub fn follow_export(&mut self, now: Instant) {
        let Some(export) = &self.export else { return };
        self.model.exporting = Some(export.progress());
        let Some(result) = export.result() else { return };
        (self.export, self.model.exporting) = (None, None);
        let text = match result {
            Ok(path) => {
                self.painted.exported();
                self.exported.exported();
                format!("Written to {path}")
            }
            Err(why) => format!("Not exported: {why}"),
        };
        self.tell(text, now);
    }
}
