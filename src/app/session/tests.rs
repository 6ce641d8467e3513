use std::path::Path;

use super::*;
use crate::app::gesture::{Button, Held};
use crate::app::model::{Dialog, Losses};
use crate::app::settings::Ink;

pub(super) fn session() -> Session {
    let scene = Scene::parse("small", "[domain]\ncells = [12, 16, 12]\nvoxel = 0.1").unwrap();
    let mut session = Session::new(scene, || ()).unwrap();
    session.set_view(800.0, 600.0);
    session
}

pub(super) fn until(session: &mut Session, mut holds: impl FnMut(&mut Session) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds(session) {
        assert!(Instant::now() < deadline, "never happened");
        std::thread::sleep(Duration::from_millis(2));
        session.absorb(Instant::now());
    }
}

fn sum(session: &Session, c: usize) -> f32 {
    session.shown().smoke.iter().map(|cell| cell[c].to_f32()).sum()
}

#[test]
fn painting_while_paused_adds_the_chosen_smoke_and_no_time() {
    let mut s = session();
    s.act(Action::Pick(Ink::Blue));
    let now = Instant::now();
    s.press(Button::Left, Held::default(), Vector2::new(400.0, 300.0), now);
    s.hover(Vector2::new(430.0, 300.0), now + Duration::from_millis(16));
    s.release(Button::Left, now + Duration::from_millis(30));
    until(&mut s, |s| sum(s, 2) > 0.0);
    assert_eq!((sum(&s, 0), sum(&s, 1)), (0.0, 0.0));
    assert_eq!(s.readout.shown, 0.0);
}

/// The notice once ended before the first picture of a slow start.
#[test]
fn the_notice_of_recovered_work_stays_until_something_is_pressed() {
    let mut s = session();
    let now = Instant::now();
    let path = Path::new("/state/recovered.toml").to_path_buf();
    s.offer_recovered(std::slice::from_ref(&path));
    let tells = |s: &Session| s.readout.notice.as_ref().is_some_and(|text| text.contains("recovered.toml"));
    s.absorb(now + 100 * NOTICE);
    assert!(tells(&s) && s.model.recent == [path]);
    s.tell("Another".into(), now);
    assert!(!tells(&s));
    s.absorb(now + 2 * NOTICE);
    assert!(tells(&s), "it returns after another notice");
    s.acknowledge(now);
    s.absorb(now + NOTICE / 2);
    assert!(tells(&s), "it can still be read");
    s.absorb(now + 2 * NOTICE);
    assert_eq!(s.readout.notice, None);
}

#[test]
fn an_orbit_does_not_paint() {
    let mut s = session();
    s.act(Action::Pick(Ink::Blue));
    let (now, before) = (Instant::now(), s.orbit);
    s.press(Button::Right, Held::default(), Vector2::new(400.0, 300.0), now);
    s.hover(Vector2::new(460.0, 320.0), now);
    s.release(Button::Right, now);
    s.hover(Vector2::new(300.0, 320.0), now);
    assert_ne!(s.orbit, before);
    s.act(Action::Step);
    until(&mut s, |s| s.readout.stats.step == 1);
    assert_eq!(sum(&s, 2), 0.0, "blue is on the brush, and the scene's own source is red");
}

#[test]
fn space_runs_and_pauses() {
    let mut s = session();
    s.act(Action::RunPause);
    until(&mut s, |s| s.readout.status.state == RunState::Running);
    s.act(Action::RunPause);
    until(&mut s, |s| s.readout.status.state == RunState::Paused);
}

#[test]
fn undo_gives_the_worker_the_old_parameters() {
    let mut s = session();
    let before = s.model.settings.params.clone();
    s.model.settings.params.vorticity = 1.5;
    s.model.history.note(&s.model.settings.clone(), true, Settings::change);
    s.sync();
    s.act(Action::Undo);
    assert_eq!(s.readout.notice.as_deref(), Some("Undo: vorticity"));
    s.sync();
    assert_eq!(s.model.settings.params, before);
    assert_eq!(s.sent.settings.params, before);
}

#[test]
fn velocity_is_shown_once_it_is_there() {
    let mut s = session();
    s.act(Action::SwitchView);
    s.sync();
    until(&mut s, |s| s.mode() == Mode::Velocity);
    s.act(Action::SwitchView);
    s.sync();
    assert_eq!(s.mode(), Mode::Smoke);
}

#[test]
fn the_ball_hides_when_the_mouse_leaves_and_while_orbiting() {
    let mut s = session();
    let (now, at) = (Instant::now(), Vector2::new(100.0, 100.0));
    assert!(s.ball().is_none());
    s.hover(at, now);
    assert!(s.ball().is_some());
    s.press(Button::Middle, Held::default(), at, now);
    assert!(s.ball().is_none());
    s.release(Button::Middle, now);
    s.leave();
    assert!(s.ball().is_none());
}

/// Reads the worker until the pending scene is on the screen, or has failed.
pub(super) fn until_loaded(s: &mut Session) {
    until(s, |s| !s.is_loading());
    s.sync();
}

/// Returns the shown smoke and its time.
pub(super) fn smoke(s: &Session) -> (Vec<[half::f16; 4]>, f64) {
    (s.shown().smoke.clone(), s.shown().time)
}

/// Presses and releases the left button in the middle of the view.
pub(super) fn stroke(s: &mut Session) {
    let now = Instant::now();
    s.press(Button::Left, Held::default(), Vector2::new(400.0, 300.0), now);
    s.release(Button::Left, now + Duration::from_millis(30));
}

pub(super) fn step(s: &mut Session) {
    let next = s.readout.stats.step + 1;
    s.act(Action::Step);
    until(s, |s| s.readout.stats.step == next);
}

#[test]
fn undo_of_a_clear_brings_the_smoke_and_the_time_back() {
    let mut s = session();
    (0..3).for_each(|_| step(&mut s));
    let before = smoke(&s);
    assert!(sum(&s, 0) > 0.0);
    s.act(Action::Clear);
    until(&mut s, |s| sum(s, 0) == 0.0);
    s.act(Action::Undo);
    until(&mut s, |s| sum(s, 0) > 0.0);
    assert!(smoke(&s) == before);
    assert_eq!(s.readout.notice.as_deref(), Some("Undo: clear"));
    s.act(Action::Redo);
    until(&mut s, |s| sum(s, 0) == 0.0);
    s.act(Action::Undo);
    until(&mut s, |s| sum(s, 0) > 0.0);
    assert!(smoke(&s) == before, "after redo and undo again");
}

#[test]
fn a_box_that_follows_its_smoke_is_shown_where_it_is_and_comes_back_by_undo() {
    let text = "[domain]\ncells = [16, 24, 16]\nvoxel = 0.1\nfollow = true\nwalls = 'open'";
    let mut s = Session::new(Scene::parse("open", text).unwrap(), || ()).unwrap();
    s.set_view(800.0, 600.0);
    let (start, camera) = ([[0.0; 3], s.extent()], s.orbit);
    until(&mut s, |s| s.box_shown() == start);
    (0..3).for_each(|_| step(&mut s));
    let (before, moved) = (smoke(&s), s.box_shown());
    assert!(moved[0][0] < start[0][0] && moved[1][0] > start[1][0], "{moved:?}");
    assert_eq!((moved[0][1], s.orbit), (0.0, camera), "the floor and the camera stay");
    s.hover(s.view * 0.5, Instant::now());
    s.wheel(1e6, Held { ctrl: true, ..Held::default() }, Instant::now());
    assert!(s.ball_depth().abs() < 1e-3, "the ball stops at the far side: {:?}", s.cursor.center);
    s.act(Action::Clear);
    until(&mut s, |s| s.box_shown() == start);
    s.act(Action::Undo);
    until(&mut s, |s| s.box_shown() == moved);
    assert!(smoke(&s) == before);
    // The timeline has frames of both sizes.
    s.act(Action::Clear);
    until(&mut s, |s| s.box_shown() == start);
    (0..3).for_each(|_| step(&mut s));
    assert!(smoke(&s) == before && s.box_shown() == moved);
}

#[test]
fn a_clear_during_a_slow_step_keeps_a_whole_instant() {
    let text = "[domain]\ncells = [64, 64, 64]\nvoxel = 0.02";
    let mut s = Session::new(Scene::parse("large", text).unwrap(), || ()).unwrap();
    (0..2).for_each(|_| step(&mut s));
    s.act(Action::Step);
    s.act(Action::Clear);
    until(&mut s, |s| s.readout.stats.step == 0);
    s.act(Action::Undo);
    until(&mut s, |s| s.readout.stats.step > 0);
    let once = smoke(&s);
    let mut other = Session::new(Scene::parse("large", text).unwrap(), || ()).unwrap();
    (0..s.readout.stats.step).for_each(|_| step(&mut other));
    assert!(once == smoke(&other), "the smoke of step {}", s.readout.stats.step);
}

#[test]
fn strokes_sliders_and_scenes_are_undone_in_order() {
    let mut s = session();
    s.act(Action::Pick(Ink::Blue));
    s.model.history.note(&s.model.settings.clone(), true, Settings::change);
    stroke(&mut s);
    until(&mut s, |s| sum(s, 2) > 0.0);
    let painted = smoke(&s);
    s.model.settings.params.cooling = 1.5;
    s.model.history.note(&s.model.settings.clone(), true, Settings::change);
    s.sync();
    s.act(Action::Open("colors"));
    until_loaded(&mut s);
    assert_eq!(s.model.history.undoes(), Some("scene colors"));
    s.act(Action::Undo);
    until_loaded(&mut s);
    until(&mut s, |s| sum(s, 2) > 0.0);
    assert!(smoke(&s) == painted, "the old scene comes back with its smoke");
    assert_eq!(s.model.settings.params.cooling, 1.5);
    for (what, cooling, blue) in
        [("cooling", 0.2, true), ("stroke", 0.2, false), ("brush colour", 0.2, false)]
    {
        assert_eq!(s.model.history.undoes(), Some(what));
        s.act(Action::Undo);
        s.sync();
        until(&mut s, |s| (sum(s, 2) > 0.0) == blue);
        assert_eq!(s.model.settings.params.cooling, cooling);
    }
    s.act(Action::Undo);
    assert_eq!(s.readout.notice.as_deref(), Some("Nothing to undo"));
}

#[test]
fn a_scene_is_shown_whole_or_not_at_all() {
    let mut s = session();
    s.act(Action::Pick(Ink::Green));
    let (camera, dims) = (s.orbit, s.shown().dims);
    s.act(Action::Open("colors"));
    assert!(s.is_loading() && s.model.loading.as_deref() == Some("colors"));
    assert_eq!((s.model.settings.scene.name.as_str(), s.orbit, s.shown().dims), ("small", camera, dims));
    stroke(&mut s);
    s.act(Action::Clear);
    assert_eq!(s.model.history.undoes(), None, "edits wait for the scene");
    until_loaded(&mut s);
    assert_eq!(s.model.settings.scene.name, "colors");
    assert_eq!(s.shown().dims, s.model.settings.scene.config.smoke_dims());
    assert_ne!(s.orbit, camera);
    assert_eq!(s.model.settings.brush.ink, Ink::Green);
    assert_eq!(s.model.defaults.params, s.model.settings.params);
}

#[test]
fn a_scene_that_cannot_be_built_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.toml");
    let fields = "[initial]\nfields = \"none.npz\"\n";
    std::fs::write(&path, fields).unwrap();
    let mut s = session();
    s.open(&path.to_string_lossy());
    until_loaded(&mut s);
    assert_eq!(s.model.settings.scene.name, "small");
    assert_eq!(s.model.history.undoes(), None);
}

#[test]
fn restart_begins_at_time_zero_with_the_settings_and_can_be_undone() {
    let mut s = session();
    s.model.settings.params.vorticity = 1.25;
    s.model.history.note(&s.model.settings.clone(), true, Settings::change);
    s.sync();
    (0..3).for_each(|_| step(&mut s));
    let before = smoke(&s);
    s.act(Action::Restart);
    until_loaded(&mut s);
    assert_eq!((s.readout.shown, s.readout.stats.step), (0.0, 0));
    assert_eq!(s.model.settings.params.vorticity, 1.25);
    assert_eq!(s.readout.status.state, RunState::Paused);
    s.act(Action::Undo);
    until(&mut s, |s| s.readout.stats.step == 3);
    assert!(smoke(&s) == before);
}

#[test]
fn esc_cancels_the_innermost_thing_and_asks_before_changes_are_lost() {
    let mut s = session();
    s.act(Action::ToggleHelp);
    s.act(Action::Exit);
    assert!(!s.model.help && !s.is_leaving());
    s.act(Action::OpenFile);
    s.act(Action::Exit);
    assert!(s.model.dialog.is_none() && !s.is_leaving());
    s.model.settings.params.vorticity = 1.25;
    s.act(Action::Exit);
    let losses = Losses { settings: true, ..Losses::default() };
    assert_eq!(s.model.dialog, Some(Dialog::Leave(losses)));
    s.act(Action::Exit);
    assert!(s.model.dialog.is_none() && !s.is_leaving(), "stay");
    s.act(Action::Leave);
    s.act(Action::Discard);
    assert!(s.is_leaving());
    let mut unchanged = session();
    unchanged.act(Action::Pick(Ink::Blue));
    unchanged.act(Action::Exit);
    assert!(unchanged.is_leaving(), "the brush is not part of a scene");
}

#[test]
fn leaving_with_save_names_a_file_and_never_replaces_another_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "# another\n").unwrap();
    let mut s = session();
    s.model.settings.params.vorticity = 1.25;
    s.act(Action::Leave);
    s.act(Action::Accept);
    let form = |s: &Session| match &s.model.dialog {
        Some(Dialog::Path(form)) => form.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((form(&s).text.as_str(), form(&s).leave), ("small.toml", true));
    let type_in = |s: &mut Session, text: &Path| match &mut s.model.dialog {
        Some(Dialog::Path(form)) => form.text = text.display().to_string(),
        other => panic!("{other:?}"),
    };
    type_in(&mut s, &folder.path().join("no/such/folder.toml"));
    s.act(Action::Accept);
    assert!(form(&s).error.is_some() && !s.is_leaving());
    assert_eq!(form(&s).replaces, None, "nothing would be replaced");
    type_in(&mut s, &path.with_extension(""));
    s.act(Action::Accept);
    assert!(form(&s).error.unwrap().contains("already") && form(&s).replaces.is_some());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# another\n");
    s.act(Action::Accept);
    assert!(s.is_leaving() && !s.is_unsaved());
    s.sync();
    assert_eq!(s.model.title, "mine", "what the next save writes");
    assert_eq!(Scene::load(&path.to_string_lossy(), &[]).unwrap().params.vorticity, 1.25);
}

#[test]
fn a_recorded_frame_is_shown_and_goes_on_to_the_same_future() {
    let mut s = session();
    (0..4).for_each(|_| step(&mut s));
    stroke(&mut s);
    until(&mut s, |s| s.model.history.undoes() == Some("stroke"));
    (0..26).for_each(|_| step(&mut s));
    let last = smoke(&s);
    s.advance_playback(Instant::now());
    assert_eq!(s.model.playback.range, [0, 30]);
    s.model.playback.at = Some(3);
    assert!(s.advance_playback(Instant::now()));
    assert_eq!((s.shown().stats.step, s.readout.stats.step), (3, 3));
    s.act(Action::Present);
    assert!(s.advance_playback(Instant::now()));
    assert!(smoke(&s) == last, "the present again");
    for number in [29, 24, 20] {
        s.model.playback.at = Some(number);
        s.advance_playback(Instant::now());
        let shown = smoke(&s);
        // A step continues from the shown frame.
        s.act(Action::Step);
        s.advance_playback(Instant::now());
        assert_eq!(s.model.history.undoes(), Some(format!("going back to frame {number}").as_str()));
        until(&mut s, |s| s.readout.stats.step == number + 1);
        assert!(smoke(&s) != shown);
        while s.readout.stats.step < 30 {
            step(&mut s);
        }
        assert!(smoke(&s) == last, "from frame {number}");
    }
    s.act(Action::Undo);
    until(&mut s, |s| s.readout.notice.as_deref() == Some("Undo: going back to frame 20"));
}

#[test]
fn recorded_frames_play_at_a_speed_and_in_a_loop() {
    let mut s = session();
    (0..6).for_each(|_| step(&mut s));
    let mut now = Instant::now();
    s.advance_playback(now);
    s.model.playback.speed = 2.0;
    s.act(Action::Play);
    let page = s.frame_time().unwrap();
    assert!((page.as_secs_f32() - 0.5 / s.model.settings.rate).abs() < 1e-4);
    let mut seen = vec![];
    for _ in 0..8 {
        s.advance_playback(now);
        seen.push(s.shown().stats.step);
        now += page + Duration::from_millis(1);
    }
    assert!(seen.windows(2).any(|pair| pair[1] < pair[0]), "it begins again: {seen:?}");
    s.act(Action::Play);
    assert!(s.frame_time().is_none());
}

#[test]
fn the_box_is_seen_whole_in_a_view_of_any_shape_and_that_is_no_change_of_the_scene() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.toml");
    for view in [[460.0, 470.0], [940.0, 800.0], [200.0, 700.0], [1500.0, 300.0]] {
        let mut s = Session::new(Scene::parse("plain", "").unwrap(), || ()).unwrap();
        s.set_view(view[0], view[1]);
        assert!(s.orbit.shows_all(s.box_shown(), Vector2::new(view[0], view[1])), "{view:?}");
        let _ = std::fs::remove_file(&path);
        s.save(&path, Instant::now());
        assert!(!std::fs::read_to_string(&path).unwrap().contains("camera"), "{view:?}");
    }
}

#[test]
fn the_flow_is_seen_in_recorded_frames_too() {
    let mut s = session();
    (0..4).for_each(|_| step(&mut s));
    s.advance_playback(Instant::now());
    assert!(s.shown().velocity.is_empty(), "nobody looks at it");
    s.model.playback.at = Some(2);
    s.model.view = Mode::Velocity;
    s.sync();
    s.advance_playback(Instant::now());
    assert_eq!((s.mode(), s.shown().stats.step), (Mode::Velocity, 2));
    assert!(s.shown().velocity.iter().flatten().any(|v| v.to_f32() > 0.0));
}

#[test]
fn undo_of_a_scene_switch_brings_the_view_back_and_so_does_redo() {
    let mut s = session();
    s.orbit.yaw += 0.4;
    s.orbit.distance *= 0.7;
    let first = s.orbit;
    s.act(Action::Open("colors"));
    until_loaded(&mut s);
    assert!(s.orbit != first && s.stands_as_opened(), "as the scene says");
    s.orbit.yaw -= 0.3;
    let second = s.orbit;
    s.act(Action::Undo);
    until_loaded(&mut s);
    assert_eq!(s.orbit, first);
    s.act(Action::Redo);
    until_loaded(&mut s);
    assert_eq!(s.orbit, second);
    s.act(Action::Open("colors"));
    until_loaded(&mut s);
    assert!(s.stands_as_opened(), "opened anew");
}

#[test]
fn a_refused_edit_is_told_without_a_place_in_the_text() {
    use crate::scene::edits::{Change, Entry};
    let mut s = session();
    assert!(!s.edit(&[Change::Set("render.environment.file".into(), Some(Entry::Word("none.hdr".into())))]));
    let notice = s.readout.notice.clone().unwrap();
    assert!(notice.starts_with("Not changed: render.environment.file: cannot read none.hdr"), "{notice}");
    assert!(!notice.contains("os error"), "{notice}");
}
