//! Esc cancels the innermost thing; leaving asks before losses.

use std::path::Path;

use super::tests::{session, smoke, step, stroke, until, until_loaded};
use super::*;
use crate::app::gesture::{Button, Gesture, Held};
use crate::app::model::{Dialog, Losses};
use crate::app::objects::{Draft, Selected};
use crate::scene::edits::List;

/// Returns the position of the handle of the first source in the view.
fn handle(s: &Session) -> Vector2<f32> {
    let (.., p) = s.handles().into_iter().find(|h| (h.0, h.1) == (List::Source, 0)).unwrap();
    s.orbit.seen(p, s.view).unwrap().0
}

fn note(s: &mut Session) {
    let settings = s.model.settings.clone();
    s.model.history.note(&settings, true, Settings::change);
}

/// Drags the first source without releasing it.
fn drag(s: &mut Session) {
    s.model.selected = None;
    let (now, at) = (Instant::now(), handle(s));
    s.press(Button::Left, Held::default(), at, now);
    s.hover(at + Vector2::new(60.0, -20.0), now);
    s.sync();
    assert_eq!(s.gesture(), Some(Gesture::Move));
}

#[test]
fn esc_cancels_one_thing_at_a_time_from_the_inside() {
    let mut s = session();
    s.model.draft = Some(Draft { resolution: Some(24), ..Draft::default() });
    s.model.search = "vortic".into();
    s.model.selected = Some(Selected::Sun);
    s.model.playback.playing = true;
    s.act(Action::Exit);
    assert!(!s.model.playback.playing && s.model.draft.is_some());
    s.act(Action::Exit);
    assert!(s.model.draft.is_none() && !s.model.search.is_empty());
    s.act(Action::Exit);
    assert!(s.model.search.is_empty() && s.model.selected.is_some());
    s.act(Action::Exit);
    assert!(s.model.selected.is_none() && !s.is_leaving());
    s.act(Action::Exit);
    assert!(s.is_leaving() && s.model.dialog.is_none());
}

#[test]
fn esc_puts_a_dragged_object_the_sun_and_the_camera_back() {
    let mut s = session();
    let before = s.model.settings.clone();
    drag(&mut s);
    assert_ne!(s.model.settings, before);
    s.act(Action::Exit);
    assert!(s.gesture().is_none() && s.model.dialog.is_none() && !s.is_leaving());
    assert_eq!(s.model.settings, before);
    s.hover(Vector2::new(500.0, 300.0), Instant::now());
    s.release(Button::Left, Instant::now());
    note(&mut s);
    assert_eq!((&s.model.settings, s.model.history.undoes()), (&before, None), "the drag is over");
    let (middle, _) = s.compass().unwrap();
    s.press(Button::Left, Held::default(), middle + Vector2::new(9.0, 9.0), Instant::now());
    assert_ne!(s.model.settings, before);
    s.act(Action::Exit);
    assert_eq!(s.model.settings, before);
    let camera = s.orbit;
    s.press(Button::Right, Held::default(), Vector2::new(400.0, 300.0), Instant::now());
    s.hover(Vector2::new(500.0, 320.0), Instant::now());
    assert_ne!(s.orbit, camera);
    s.act(Action::Exit);
    assert_eq!(s.orbit, camera);
}

#[test]
fn esc_takes_a_stroke_back() {
    let mut s = session();
    until(&mut s, |s| s.shown().serial > 0);
    let before = smoke(&s);
    s.press(Button::Left, Held::default(), Vector2::new(400.0, 300.0), Instant::now());
    s.hover(Vector2::new(430.0, 300.0), Instant::now() + Duration::from_millis(100));
    until(&mut s, |s| smoke(s) != before);
    s.act(Action::Exit);
    until(&mut s, |s| smoke(s) == before);
    assert!(s.gesture().is_none() && s.model.history.undoes().is_none());
    assert_eq!(s.losses(), Losses::default());
}

#[test]
fn a_dialog_ends_the_drag_and_takes_the_mouse() {
    let mut s = session();
    drag(&mut s);
    let dragged = s.model.settings.scene.sources[0].region.position;
    s.act(Action::Leave);
    assert!(matches!(s.model.dialog, Some(Dialog::Leave(_))) && s.gesture().is_none());
    s.hover(Vector2::new(200.0, 100.0), Instant::now());
    s.press(Button::Left, Held::default(), Vector2::new(400.0, 300.0), Instant::now());
    assert!(s.gesture().is_none(), "the dialog has the mouse");
    let now = s.model.settings.scene.sources[0].region.position;
    assert!((0..3).all(|a| (now[a] - dragged[a]).abs() < 0.06), "{now:?} {dragged:?}");
}

#[test]
fn an_object_deleted_while_it_is_dragged_stays_deleted_and_comes_back_where_it_was() {
    let mut s = session();
    let before = s.model.settings.scene.sources[0].region.position;
    drag(&mut s);
    s.act(Action::Delete);
    s.hover(Vector2::new(200.0, 100.0), Instant::now());
    s.release(Button::Left, Instant::now());
    note(&mut s);
    assert_eq!((s.model.settings.scene.sources.len(), s.gesture()), (0, None));
    assert_eq!(s.model.history.undoes(), Some("delete source"));
    s.act(Action::Undo);
    assert_eq!(s.model.settings.scene.sources[0].region.position, before);
    assert_eq!(s.model.history.undoes(), None);
}

#[test]
fn leaving_asks_for_painted_smoke_and_pending_edits() {
    let mut s = session();
    stroke(&mut s);
    until(&mut s, |s| s.shown().smoke.iter().any(|cell| cell[0].to_f32() > 0.0));
    let strokes = Losses { strokes: true, ..Losses::default() };
    s.act(Action::Leave);
    assert_eq!(s.model.dialog, Some(Dialog::Leave(strokes.clone())));
    s.act(Action::Exit);
    s.act(Action::Clear);
    assert_eq!(s.losses(), Losses::default(), "the box is empty");
    s.act(Action::Undo);
    assert_eq!(s.losses(), strokes, "the smoke is back");
    s.act(Action::Undo);
    assert_eq!(s.losses(), Losses::default());
    s.model.draft = Some(Draft { resolution: Some(24), ..Draft::default() });
    s.act(Action::Leave);
    assert!(!s.is_leaving());
    assert_eq!(s.model.dialog, Some(Dialog::Leave(Losses { draft: true, ..Losses::default() })));
}

#[test]
fn leaving_asks_while_an_export_runs_and_not_after_it_has_kept_the_strokes() {
    let folder = tempfile::tempdir().unwrap();
    let mut s = session();
    stroke(&mut s);
    until(&mut s, |s| s.shown().serial > 1);
    s.advance_playback(Instant::now());
    s.model.export.format = crate::app::export::Format::Volumes;
    s.model.export.path = Some(folder.path().join("volumes").display().to_string());
    s.act(Action::Export);
    assert_eq!(s.losses(), Losses { strokes: true, export: true, ..Losses::default() });
    until(&mut s, |s| {
        s.follow_export(Instant::now());
        s.model.exporting.is_none()
    });
    assert_eq!(s.losses(), Losses::default(), "{:?}", s.readout.notice);
    s.model.export.path = Some(folder.path().join("again").display().to_string());
    s.act(Action::Export);
    s.act(Action::HoldExport);
    s.act(Action::Exit);
    assert!(!s.is_leaving() && s.model.dialog.is_none(), "Esc cancels the export");
}

#[test]
fn esc_on_a_recorded_frame_returns_to_the_present() {
    let mut s = session();
    (0..3).for_each(|_| step(&mut s));
    s.advance_playback(Instant::now());
    stroke(&mut s);
    s.model.draft = Some(Draft { resolution: Some(24), ..Draft::default() });
    (s.model.playback.at, s.model.playback.playing) = (Some(1), true);
    s.advance_playback(Instant::now());
    s.act(Action::Exit);
    assert!(!s.model.playback.playing && s.model.playback.at.is_some());
    s.act(Action::Exit);
    assert!(s.model.playback.at.is_none() && s.model.dialog.is_none() && s.model.draft.is_some());
}

/// Exports and waits for the end.
fn export(s: &mut Session, format: crate::app::export::Format, range: Option<[u64; 2]>, path: &Path) {
    s.model.export.format = format;
    (s.model.export.range, s.model.export.size) = (range, [32, 24]);
    s.model.export.path = Some(path.display().to_string());
    s.act(Action::Export);
    until(s, |s| {
        s.follow_export(Instant::now());
        s.model.exporting.is_none()
    });
    let notice = s.readout.notice.as_deref().unwrap();
    assert!(notice.starts_with("Written to "), "{notice}");
}

#[test]
fn only_an_export_of_all_frames_keeps_the_strokes() {
    use crate::app::export::Format;
    let folder = tempfile::tempdir().unwrap();
    let mut s = session();
    stroke(&mut s);
    until(&mut s, |s| s.shown().serial > 1);
    (0..3).for_each(|_| step(&mut s));
    s.advance_playback(Instant::now());
    let strokes = Losses { strokes: true, frames: 3, ..Losses::default() };
    export(&mut s, Format::Picture, None, &folder.path().join("one.png"));
    assert_eq!(s.losses(), strokes, "one picture is not the film");
    export(&mut s, Format::Volumes, Some([1, 2]), &folder.path().join("some/v.####.vdb"));
    assert_eq!(s.losses(), strokes, "some frames are not all");
    export(&mut s, Format::Volumes, Some([0, 3]), &folder.path().join("all/v.####.vdb"));
    assert_eq!(s.losses(), Losses::default());
}

#[test]
fn leaving_asks_for_recorded_frames_that_no_export_holds() {
    use crate::app::export::Format;
    let folder = tempfile::tempdir().unwrap();
    let mut s = session();
    (0..3).for_each(|_| step(&mut s));
    s.advance_playback(Instant::now());
    let frames = |frames| Losses { frames, ..Losses::default() };
    s.act(Action::Exit);
    assert_eq!((s.model.dialog.clone(), s.is_leaving()), (Some(Dialog::Leave(frames(3))), false));
    s.act(Action::Exit);
    export(&mut s, Format::Volumes, Some([1, 2]), &folder.path().join("some/v.####.vdb"));
    assert_eq!(s.losses(), frames(3), "some frames are not all");
    export(&mut s, Format::Volumes, None, &folder.path().join("all/v.####.vdb"));
    assert_eq!(s.losses(), Losses::default());
    step(&mut s);
    assert_eq!(s.losses(), frames(4), "a later one is in no file");
    s.model.settings.params.vorticity = 1.5;
    s.act(Action::Leave);
    assert_eq!(s.model.dialog, Some(Dialog::Leave(Losses { settings: true, ..frames(4) })));
}

#[test]
fn esc_asks_before_it_throws_rendered_frames_away() {
    let folder = tempfile::tempdir().unwrap();
    let mut s = session();
    (0..3).for_each(|_| step(&mut s));
    s.advance_playback(Instant::now());
    s.model.export.format = crate::app::export::Format::Volumes;
    s.model.export.path = Some(folder.path().join("v.####.vdb").display().to_string());
    s.act(Action::Export);
    s.act(Action::HoldExport);
    s.act(Action::Exit);
    assert!(s.export.as_ref().is_some_and(|export| !export.is_cancelled()));
    let notice = s.readout.notice.clone().unwrap();
    assert!(notice.contains("Esc again") && notice.contains("of 4 frames"), "{notice}");
    s.act(Action::Exit);
    assert!(s.export.as_ref().is_none_or(|export| export.is_cancelled()));
    assert!(s.model.dialog.is_none() && !s.is_leaving());
}

#[test]
fn strokes_behind_a_scene_switch_are_asked_for() {
    let mut s = session();
    stroke(&mut s);
    until(&mut s, |s| s.shown().serial > 1);
    let strokes = Losses { strokes: true, ..Losses::default() };
    s.act(Action::Open("colors"));
    until_loaded(&mut s);
    assert_eq!(s.losses(), strokes, "undo brings them back");
    s.act(Action::Undo);
    until_loaded(&mut s);
    assert_eq!(s.losses(), strokes, "they are back");
    s.act(Action::Undo);
    assert_eq!(s.losses(), Losses::default());
    s.act(Action::Open("colors"));
    until_loaded(&mut s);
    assert_eq!(s.losses(), Losses::default());
}

/// Returns a session of the file `mine.toml` in `folder`.
fn opened(folder: &Path) -> Session {
    let path = folder.join("mine.toml");
    std::fs::write(&path, "[domain]\ncells = [12, 16, 12]\nvoxel = 0.1\n").unwrap();
    let mut s = Session::new(Scene::load(&path.to_string_lossy(), &[]).unwrap(), || ()).unwrap();
    s.set_view(800.0, 600.0);
    s
}

#[test]
fn unsaved_settings_behind_a_scene_switch_are_asked_for_and_copied() {
    let folder = tempfile::tempdir().unwrap();
    let mut s = opened(folder.path());
    let other = folder.path().join("other.toml");
    std::fs::write(&other, "[domain]\ncells = [10, 12, 10]\nvoxel = 0.1\n").unwrap();
    let other = other.display().to_string();
    s.model.settings.params.vorticity = 1.5;
    note(&mut s);
    s.open(&other);
    until_loaded(&mut s);
    let replaced = Losses { replaced: vec!["mine".into()], ..Losses::default() };
    assert_eq!((s.losses(), s.is_unsaved()), (replaced.clone(), false));
    s.act(Action::Leave);
    assert!(s.model.dialog == Some(Dialog::Leave(replaced.clone())) && !s.is_leaving());
    s.act(Action::Exit);
    let texts = s.unsaved_texts(folder.path());
    assert!(texts.len() == 1 && texts[0].contains("vorticity = 1.5"), "{texts:?}");
    s.model.settings.look.exposure = 1.25;
    note(&mut s);
    let texts = s.unsaved_texts(folder.path());
    assert!(texts.len() == 2 && texts[0].contains("1.25") && texts[1].contains("1.5"), "{texts:?}");
    s.act(Action::Undo);
    s.act(Action::Undo);
    until_loaded(&mut s);
    assert_eq!(s.losses(), Losses { settings: true, ..Losses::default() }, "they are back");
    s.act(Action::Redo);
    until_loaded(&mut s);
    assert_eq!(s.losses(), replaced);
    s.act(Action::Undo);
    until_loaded(&mut s);
    s.act(Action::Save);
    assert_eq!(s.losses(), Losses::default(), "{:?}", s.readout.notice);
    s.open(&other);
    until_loaded(&mut s);
    assert_eq!(s.losses(), Losses::default());
    assert!(s.unsaved_texts(folder.path()).is_empty());
}

#[test]
fn a_save_says_which_edits_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let mut s = opened(folder.path());
    s.model.draft = Some(Draft { resolution: Some(24), ..Draft::default() });
    s.act(Action::Save);
    let notice = s.readout.notice.clone().unwrap();
    assert!(notice.starts_with("Saved ") && notice.contains("without the edits"), "{notice}");
    s.model.draft = None;
    s.act(Action::Save);
    assert!(s.readout.notice.as_deref().unwrap().ends_with("mine.toml"), "{:?}", s.readout.notice);
}
