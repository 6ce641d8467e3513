use std::path::Path;

use super::tests::{session, until, until_loaded};
use super::*;
use crate::app::gesture::{Button, Held};
use crate::app::model::Dialog;
use crate::scene::edits::{Change, Entry};

/// Returns the smoke and time of a side.
fn smoke(s: &Session, side: Side) -> (Vec<[half::f16; 4]>, f64) {
    (s.shown_of(side).smoke.clone(), s.shown_of(side).time)
}

fn steps(s: &Session) -> [u64; 2] {
    Side::BOTH.map(|side| s.shown_of(side).stats.step)
}

fn step(s: &mut Session, count: u64) {
    let next = s.shown().stats.step + count;
    (0..count).for_each(|_| s.act(Action::Step));
    until(s, |s| s.shown().stats.step == next);
    s.advance_playback(Instant::now());
}

/// Changes a setting of the edited side as the panel does.
fn set(s: &mut Session, change: impl FnOnce(&mut Settings)) {
    change(&mut s.model.settings);
    let settings = s.model.settings.clone();
    s.model.history.note(&settings, true, Settings::change);
    s.sync();
}

/// Returns a comparison that began after three steps.
fn compared() -> Session {
    let mut s = session();
    step(&mut s, 3);
    s.act(Action::Compare);
    until_loaded(&mut s);
    s
}

#[test]
fn two_copies_stay_in_step_and_differ_only_by_what_differs() {
    let mut s = compared();
    assert_eq!(steps(&s), [3, 3]);
    step(&mut s, 2);
    assert!(smoke(&s, Side::A) == smoke(&s, Side::B), "equal settings, equal bits");
    s.act(Action::OtherSide);
    set(&mut s, |settings| settings.params.smoke[0].buoyancy = -9.0);
    assert_eq!(s.model.settings.differences(), [("Red (R) buoyancy".into(), "0".into(), "-9".into())]);
    assert_eq!(s.model.history.undoes(), Some("Red (R) buoyancy of B"));
    step(&mut s, 4);
    assert_eq!(steps(&s), [9, 9]);
    assert_eq!(smoke(&s, Side::A).1, smoke(&s, Side::B).1);
    assert!(smoke(&s, Side::A).0 != smoke(&s, Side::B).0);
    // A took the steps of an unbroken run.
    let mut alone = session();
    step(&mut alone, 9);
    assert!(smoke(&alone, Side::A) == smoke(&s, Side::A));
}

#[test]
fn strokes_and_clears_act_on_both_and_undo_brings_both_back() {
    let mut s = compared();
    s.act(Action::OtherSide);
    set(&mut s, |settings| settings.params.smoke[0].dissipation = 5.0);
    step(&mut s, 2);
    let before = Side::BOTH.map(|side| smoke(&s, side));
    s.act(Action::Pick(crate::app::settings::Ink::Blue));
    let now = Instant::now();
    s.press(Button::Left, Held::default(), Vector2::new(400.0, 300.0), now);
    s.release(Button::Left, now + Duration::from_millis(30));
    let blue =
        |s: &Session, side: Side| s.shown_of(side).smoke.iter().map(|cell| cell[2].to_f32()).sum::<f32>();
    until(&mut s, |s| blue(s, Side::A) > 0.0);
    assert_eq!(blue(&s, Side::A), blue(&s, Side::B));
    s.act(Action::Clear);
    until(&mut s, |s| blue(s, Side::A) == 0.0 && blue(s, Side::B) == 0.0);
    s.act(Action::Undo);
    s.act(Action::Undo);
    until(&mut s, |s| smoke(s, Side::A) == before[0] && smoke(s, Side::B) == before[1]);
}

#[test]
fn undo_and_redo_of_a_comparison_lose_neither_side_nor_the_frames() {
    let mut s = compared();
    s.act(Action::OtherSide);
    set(&mut s, |settings| settings.params.smoke[0].buoyancy = -9.0);
    step(&mut s, 3);
    let both = Side::BOTH.map(|side| smoke(&s, side));
    s.act(Action::KeepSide(Side::B));
    until_loaded(&mut s);
    assert!(!s.is_comparing() && smoke(&s, Side::A) == both[1]);
    assert_eq!(s.model.settings.params.smoke[0].buoyancy, -9.0);
    assert_eq!(s.worker.timeline().range(), Some([0, 6]), "the past is still there");
    s.act(Action::Undo);
    until_loaded(&mut s);
    until(&mut s, |s| smoke(s, Side::B) == both[1]);
    assert!(s.is_comparing() && smoke(&s, Side::A) == both[0]);
    assert_eq!(s.model.settings.of_side(Side::A).params.smoke[0].buoyancy, 0.0);
    // Each side goes on with its own parameters.
    step(&mut s, 2);
    let later = Side::BOTH.map(|side| smoke(&s, side));
    let mut unbroken = compared();
    unbroken.act(Action::OtherSide);
    set(&mut unbroken, |settings| settings.params.smoke[0].buoyancy = -9.0);
    step(&mut unbroken, 5);
    assert!(later == Side::BOTH.map(|side| smoke(&unbroken, side)));
    s.act(Action::Undo);
    s.act(Action::Undo);
    until_loaded(&mut s);
    assert!(!s.is_comparing());
    until(&mut s, |s| s.shown().stats.step == 3);
}

#[test]
fn a_copy_makes_both_sides_equal_and_they_stay_so() {
    for (from, wanted) in [(Side::A, 0.0), (Side::B, -9.0)] {
        let mut s = compared();
        s.act(Action::OtherSide);
        set(&mut s, |settings| settings.params.smoke[0].buoyancy = -9.0);
        step(&mut s, 3);
        let source = smoke(&s, from);
        s.act(Action::CopySide(from));
        until_loaded(&mut s);
        assert!(Side::BOTH.iter().all(|side| smoke(&s, *side) == source), "from {from:?}");
        assert!(s.model.settings.differences().is_empty());
        assert_eq!(s.model.settings.params.smoke[0].buoyancy, wanted);
        step(&mut s, 2);
        assert!(smoke(&s, Side::A) == smoke(&s, Side::B), "from {from:?}");
    }
}

#[test]
fn recorded_frames_show_both_sides_and_lead_to_the_same_future() {
    let mut s = compared();
    s.act(Action::OtherSide);
    set(&mut s, |settings| settings.params.smoke[0].buoyancy = -9.0);
    step(&mut s, 4);
    let last = Side::BOTH.map(|side| smoke(&s, side));
    for frame in [5, 1] {
        s.model.playback.at = Some(frame);
        s.advance_playback(Instant::now());
        assert_eq!(steps(&s), [frame, frame]);
    }
    assert!(smoke(&s, Side::A) == smoke(&s, Side::B), "a common past");
    s.model.playback.at = Some(5);
    s.advance_playback(Instant::now());
    s.act(Action::Step);
    until(&mut s, |s| s.worker.timeline().range().is_some_and(|[_, last]| last == 6));
    s.advance_playback(Instant::now());
    s.act(Action::Step);
    until(&mut s, |s| s.shown().stats.step == 7);
    assert!(Side::BOTH.map(|side| smoke(&s, side)) == last);
}

#[test]
fn another_solver_is_compared_from_the_start_and_a_restart_starts_both_over() {
    let mut s = compared();
    s.act(Action::OtherSide);
    s.edit(&[Change::Set("solver.advection".into(), Some(Entry::Word("semi-lagrangian".into())))]);
    until_loaded(&mut s);
    assert_eq!(steps(&s), [0, 0]);
    assert!(s.model.settings.differences().iter().any(|(what, ..)| what == "advection"));
    step(&mut s, 3);
    assert!(smoke(&s, Side::A).0 != smoke(&s, Side::B).0);
    s.act(Action::Restart);
    until_loaded(&mut s);
    assert_eq!(steps(&s), [0, 0]);
    s.act(Action::Undo);
    until_loaded(&mut s);
    until(&mut s, |s| steps(s) == [3, 3]);
}

#[test]
fn both_sides_count_as_unsaved() {
    let folder = tempfile::tempdir().unwrap();
    let mut s = compared();
    assert!(!s.is_unsaved());
    s.act(Action::OtherSide);
    set(&mut s, |settings| settings.params.smoke[0].buoyancy = -9.0);
    s.act(Action::OtherSide);
    assert!(s.is_unsaved(), "B was changed");
    s.act(Action::OtherSide);
    s.save(&folder.path().join("b.toml"), Instant::now());
    assert!(!s.is_unsaved());
}

#[test]
fn a_side_saved_over_the_file_of_the_other_leaves_that_one_unsaved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let mut s = compared();
    set(&mut s, |settings| settings.params.vorticity = 1.5);
    s.save(&path, Instant::now());
    s.act(Action::OtherSide);
    set(&mut s, |settings| settings.params.vorticity = 0.75);
    assert!(s.is_unsaved());
    s.act(Action::Save);
    let vorticity = |path: &Path| Scene::load(&path.to_string_lossy(), &[]).unwrap().params.vorticity;
    assert_eq!(vorticity(&path), 0.75);
    assert!(s.is_unsaved(), "no file holds A");
    // To save when asked keeps both.
    s.act(Action::Leave);
    s.act(Action::Accept);
    assert!(!s.is_leaving() && s.side() == Side::A);
    let Some(Dialog::Path(form)) = &s.model.dialog else { panic!("{:?}", s.model.dialog) };
    assert_eq!(Path::new(&form.text), folder.path().join("mine-a.toml"));
    s.act(Action::Accept);
    assert!(s.is_leaving());
    assert_eq!((vorticity(&folder.path().join("mine-a.toml")), vorticity(&path)), (1.5, 0.75));
}

#[test]
fn a_side_as_it_was_opened_is_unsaved_once_its_file_was_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "[domain]\ncells = [12, 16, 12]\nvoxel = 0.1\n").unwrap();
    let mut s = Session::new(Scene::load(&path.to_string_lossy(), &[]).unwrap(), || ()).unwrap();
    s.act(Action::Compare);
    until_loaded(&mut s);
    s.act(Action::OtherSide);
    set(&mut s, |settings| settings.params.vorticity = 0.75);
    s.act(Action::Save);
    assert!(s.is_unsaved(), "no file holds A");
    s.act(Action::OtherSide);
    s.save(&folder.path().join("a.toml"), Instant::now());
    assert!(!s.is_unsaved());
}
