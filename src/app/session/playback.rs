//! The recorded frames: scrubbing, playback, and continuing from one of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{NOTHING, Session};
use crate::app::model::Playback;
use crate::app::orbit::Orbit;
use crate::scene::CameraPath;
use crate::snapshot::Snapshot;
use crate::worker::Command;

impl Session {
    /// Returns the snapshot on the screen: the present, or a recorded frame.
    pub fn shown(&self) -> &Arc<Snapshot> {
        if self.past.1.is_some() { &self.past.0 } else { self.worker.shown() }
    }

    /// Advances playback, and brings the requested recorded frame to the screen. Returns whether the picture
    /// has changed since the last call.
    pub fn advance_playback(&mut self, now: Instant) -> bool {
        self.advance_frame(now);
        let before = self.past.1;
        let playback = &mut self.model.playback;
        let timeline = self.worker.timeline();
        (playback.range, playback.bytes) = (timeline.range().unwrap_or_default(), timeline.bytes());
        (playback.limit, playback.disk) = (timeline.limit(), timeline.disk());
        playback.first_flow = timeline.first_flow();
        playback.dt = 1.0 / self.model.settings.rate;
        let frame = playback.at.and_then(|number| timeline.frame(number));
        drop(timeline);
        playback.at = frame.as_ref().map(|frame| frame.number);
        playback.playing &= playback.at.is_some();
        self.past.1 = playback.at;
        if let Some(frame) = frame.filter(|frame| before != Some(frame.number)) {
            if before.is_none() {
                self.worker.send(Command::Pause);
            }
            if let Err(error) = frame.show(unshared(&mut self.past.0)) {
                let number = frame.number;
                self.say(format!("Frame {number} cannot be read from the disk: {error}"));
            }
        }
        let changed = before != self.past.1;
        if changed {
            let shown = self.shown_of(self.side());
            (self.readout.shown, self.readout.stats) = (shown.time, shown.stats.clone());
            let path = self.followed_path();
            if self.past.1.is_some() && !path.is_empty() {
                // Lens and projection stay: no keyframe sets them.
                self.orbit = Orbit::of(&path.at(self.readout.shown as f32, &self.orbit.camera()));
            }
        }
        changed
    }

    /// Returns the path of the scene's camera, if recorded frames follow it; otherwise an empty one.
    pub(super) fn followed_path(&self) -> CameraPath {
        let path = &self.model.settings.scene.camera_path;
        if self.model.playback.follows { path.clone() } else { CameraPath::default() }
    }

    /// Returns the time between frames during playback.
    pub fn frame_time(&self) -> Option<Duration> {
        let Playback { playing, dt, speed, .. } = self.model.playback;
        playing.then(|| Duration::from_secs_f32((dt / speed.max(0.01)).clamp(1e-3, 10.0)))
    }

    pub(super) fn advance_frame(&mut self, now: Instant) {
        let (Some(time), Some(at)) = (self.frame_time(), self.model.playback.at) else {
            self.model.playback.playing = false;
            return;
        };
        let frames = now.saturating_duration_since(self.turned).as_secs_f64() / time.as_secs_f64();
        if frames < 1.0 {
            return;
        }
        // Frames are skipped if rendering is slower than playback.
        self.turned = now;
        let playback = &mut self.model.playback;
        let [first, last] = playback.range;
        let next = at + frames as u64;
        let end = if playback.looped { first } else { last };
        playback.at = Some(if next > last { end } else { next });
        playback.playing = playback.looped || next < last;
    }

    /// Plays the recorded frames from the shown one, or from the first if the last is shown; or stops.
    pub(super) fn play_or_stop(&mut self) {
        let playback = &mut self.model.playback;
        playback.playing ^= true;
        if playback.playing {
            let [first, last] = playback.range;
            playback.at = Some(playback.at.filter(|at| *at < last).unwrap_or(first));
            self.turned = Instant::now();
        }
    }

    pub(super) fn turn(&mut self, by: i8) {
        let playback = &mut self.model.playback;
        let [first, last] = playback.range;
        let at = playback.at.unwrap_or(last).saturating_add_signed(by.into()).clamp(first, last);
        (playback.at, playback.playing) = (Some(at), false);
    }

    /// If a recorded frame is shown, continues the simulation from there. Later frames are dropped; undo
    /// restores them.
    pub(super) fn go_on_from_here(&mut self) {
        self.model.playback.playing = false;
        let Some(number) = self.model.playback.at.take() else {
            return;
        };
        if number < self.model.playback.range[1] {
            self.before(&format!("going back to frame {number}"));
            self.worker.send(Command::Live(number));
        }
    }
}

/// Returns the snapshot for the next recorded frame: a new one if the last is still being rendered.
fn unshared(snapshot: &mut Arc<Snapshot>) -> &mut Snapshot {
    if Arc::get_mut(snapshot).is_none() {
        let serial = snapshot.serial;
        *snapshot = Arc::new(Snapshot { serial, ..Snapshot::empty(NOTHING, 1.0) });
    }
    Arc::get_mut(snapshot).expect("just made")
}
