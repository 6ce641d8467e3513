//! Recorded frames come back with the smoke.

use super::tests::{session, smoke, step, until, until_loaded};
use super::*;

/// Returns a session with six frames, the last of which is shown.
fn recorded() -> Session {
    let mut s = session();
    (0..5).for_each(|_| step(&mut s));
    assert_eq!(range(&mut s), [0, 5]);
    s
}

fn range(s: &mut Session) -> [u64; 2] {
    s.advance_playback(Instant::now());
    s.model.playback.range
}

/// Takes the last change back, waits for `before`, and shows an earlier frame of it.
fn comes_back(s: &mut Session, what: &str, before: &(Vec<[half::f16; 4]>, f64)) {
    assert_eq!(s.model.history.undoes(), Some(what));
    s.act(Action::Undo);
    until(s, |s| !s.is_loading() && smoke(s) == *before);
    s.sync();
    assert_eq!(range(s), [0, 5], "undo of {what}");
    s.model.playback.at = Some(2);
    s.advance_playback(Instant::now());
    assert_eq!(s.shown().stats.step, 2);
    s.act(Action::Present);
    s.advance_playback(Instant::now());
}

#[test]
fn undo_of_clear_restart_and_another_scene_gives_the_frames_back() {
    let mut s = recorded();
    let before = smoke(&s);
    s.act(Action::Clear);
    until(&mut s, |s| s.readout.stats.step == 0);
    step(&mut s);
    assert_eq!(range(&mut s), [0, 1]);
    comes_back(&mut s, "clear", &before);
    s.act(Action::Redo);
    until(&mut s, |s| s.readout.stats.step == 1);
    assert_eq!(range(&mut s), [0, 1], "redo gives the frames after the clear");
    comes_back(&mut s, "clear", &before);
    s.act(Action::Restart);
    until_loaded(&mut s);
    assert_eq!(range(&mut s), [0, 0]);
    comes_back(&mut s, "restart", &before);
    s.act(Action::Open("colors"));
    until_loaded(&mut s);
    assert_eq!(range(&mut s), [0, 0]);
    comes_back(&mut s, "scene colors", &before);
    s.model.playback.at = Some(3);
    s.advance_playback(Instant::now());
    s.act(Action::Step);
    s.advance_playback(Instant::now());
    until(&mut s, |s| s.readout.stats.step == 4);
    assert_eq!(range(&mut s), [0, 4]);
    comes_back(&mut s, "going back to frame 3", &before);
    // The frames that are back can be gone on from.
    s.model.playback.at = Some(4);
    s.advance_playback(Instant::now());
    s.act(Action::Step);
    s.advance_playback(Instant::now());
    until(&mut s, |s| s.readout.stats.step == 5 && smoke(s) == before);
}
