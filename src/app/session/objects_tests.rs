//! Objects, the box and the file, edited by the mouse without a window.

use super::tests::{session, smoke, step, until, until_loaded};
use super::*;
use crate::app::gesture::{Button, Held};
use crate::app::objects::{self, Selected};
use crate::scene::edits::{Change, Entry, List};
use crate::solver::{Form, Shape};

/// A ball in the middle of the box.
const BALL: &str = "shape = { sphere = { radius = 0.2 } }\nposition = [0.6, 0.8, 0.6]\n";

/// Returns the position of a handle in the view.
fn handle_position(s: &Session, list: List, n: usize) -> Vector2<f32> {
    let (.., p) = s.handles().into_iter().find(|h| (h.0, h.1) == (list, n)).unwrap();
    s.orbit.seen(p, s.view).unwrap().0
}

/// Returns a brush that covers several cells.
fn with_large_brush() -> Session {
    let mut s = session();
    s.model.settings.brush.radius = 0.25;
    s.sync();
    s
}

fn note(s: &mut Session) {
    let settings = s.model.settings.clone();
    s.model.history.note(&settings, true, Settings::change);
}

#[test]
fn a_change_in_the_panel_reaches_the_solver() {
    let mut s = session();
    s.model.edits.push(Change::Set("source.0.emit.red".into(), Some(Entry::Number(0.0))));
    s.model.edits.push(Change::Set("source.0.emit.green".into(), Some(Entry::Number(9.0))));
    s.sync();
    s.act(Action::Step);
    until(&mut s, |s| s.readout.stats.step == 1);
    let sum = |s: &Session, c: usize| s.shown().smoke.iter().map(|cell| cell[c].to_f32()).sum::<f32>();
    assert!(sum(&s, 1) > 0.0 && sum(&s, 0) == 0.0);
    assert!(s.is_unsaved());
}

#[test]
fn a_solid_is_added_dragged_by_its_handle_and_undone_and_the_air_makes_way() {
    let mut s = session();
    s.edit(&[Change::Add(List::Solid, BALL.into())]);
    note(&mut s);
    s.sync();
    until(&mut s, |s| s.shown().solids.len() == 1);
    assert_eq!(s.model.selected, Some(Selected::Object(List::Solid, 0)));
    s.run();
    until(&mut s, |s| s.readout.stats.step > 1);
    let (now, at) = (Instant::now(), handle_position(&s, List::Solid, 0));
    s.press(Button::Left, Held::default(), at, now);
    assert_eq!(s.gesture(), Some(crate::app::gesture::Gesture::Move));
    let mut fastest: f32 = 0.0;
    for n in 1..=20 {
        s.hover(at + Vector2::new(4.0 * n as f32, 0.0), now);
        s.sync();
        let step = s.readout.stats.step;
        until(&mut s, |s| s.readout.stats.step > step);
        fastest = fastest.max(s.shown().solids[0].velocity.iter().fold(0.0, |a, v| a.max(v.abs())));
    }
    s.release(Button::Left, now);
    s.sync();
    assert!(fastest > 0.1, "it moves, not jumps: {fastest} m/s");
    let dragged = s.model.settings.scene.solids[0].position;
    assert!(dragged[0] > 0.65, "{dragged:?}");
    assert!(s.model.settings.scene.origin.text.contains("position = ["), "it is in the text");
    until(&mut s, |s| (s.shown().solids[0].position[0] - dragged[0]).abs() < 1e-3);
    note(&mut s);
    assert_eq!(s.model.history.undoes(), Some("solid 1"));
    s.act(Action::Undo);
    s.sync();
    until(&mut s, |s| (s.shown().solids[0].position[0] - 0.6).abs() < 1e-3);
    s.act(Action::Undo);
    s.sync();
    until(&mut s, |s| s.shown().solids.is_empty());
}

/// An arrow along the line of sight covers the handle, so the drag is free, not along the axis.
#[test]
fn a_drag_is_free_although_an_axis_points_at_the_viewer() {
    let text = "[domain]\ncells = [12, 12, 12]\nvoxel = 0.1\n[render]\n\
                camera = { position = [0.7, 0.6, 4], target = [0.6, 0.6, 0.6] }\n";
    let mut s = Session::new(Scene::parse("ahead", text).unwrap(), || ()).unwrap();
    s.set_view(800.0, 600.0);
    s.edit(&[Change::Add(List::Solid, BALL.into())]);
    s.sync();
    let (now, at) = (Instant::now(), handle_position(&s, List::Solid, 0));
    s.press(Button::Left, Held::default(), at, now);
    s.hover(at + Vector2::new(60.0, 0.0), now);
    s.release(Button::Left, now);
    let [x, _, z] = s.model.settings.scene.solids[0].position;
    assert!(x > 0.7 && (z - 0.6).abs() < 0.05, "{x} {z}");
}

#[test]
fn an_object_stays_in_the_box_and_one_that_cannot_be_is_refused_with_a_reason() {
    let mut s = session();
    s.model.selected = None;
    let (now, at) = (Instant::now(), handle_position(&s, List::Source, 0));
    s.press(Button::Left, Held::default(), at, now);
    s.hover(at + Vector2::new(4000.0, -50.0), now);
    s.release(Button::Left, now);
    let position = s.model.settings.scene.sources[0].region.position;
    assert!((0..3).all(|a| (0.0..=s.extent()[a] + 1e-3).contains(&position[a])), "{position:?}");
    let before = s.model.settings.clone();
    s.edit(&[Change::Set("source.0.shape.sphere.radius".into(), Some(Entry::Number(-1.0)))]);
    assert_eq!(s.model.settings, before);
    assert!(s.readout.notice.as_deref().unwrap().starts_with("Not changed: "), "{:?}", s.readout.notice);
}

#[test]
fn copies_stand_aside_and_are_deleted_again() {
    let mut s = session();
    s.model.selected = Some(Selected::Object(List::Source, 0));
    s.act(Action::Duplicate);
    assert_eq!(s.model.selected, Some(Selected::Object(List::Source, 1)));
    let [a, b] = [0, 1].map(|n| s.model.settings.scene.sources[n].region.position[0]);
    assert!((a - b).abs() > 0.05, "{a} {b}");
    s.act(Action::Delete);
    assert_eq!((s.model.settings.scene.sources.len(), s.model.selected), (1, None));
}

#[test]
fn a_finer_grid_starts_over_in_a_box_of_the_same_size_and_undo_brings_the_smoke_back() {
    let mut s = session();
    s.act(Action::Step);
    until(&mut s, |s| s.readout.stats.step == 1);
    let (extent, smoke) = (s.extent(), s.shown().smoke.clone());
    let draft = objects::Draft { resolution: Some(24), ..Default::default() };
    s.model.edits = draft.changes(&s.model.settings.scene);
    s.sync();
    until_loaded(&mut s);
    assert_eq!(s.shown().dims.array(), [18, 24, 18]);
    assert!((0..3).all(|a| (s.extent()[a] - extent[a]).abs() < 1e-4), "{:?} {extent:?}", s.extent());
    assert_eq!(s.model.history.undoes(), Some("box and solver"));
    s.act(Action::Undo);
    until_loaded(&mut s);
    until(&mut s, |s| s.shown().smoke == smoke);
}

#[test]
fn walls_and_advection_are_set_together() {
    let mut s = session();
    let mut draft = objects::Draft::default();
    draft.set("domain.walls.x_min", Entry::Word("open".into()));
    draft.set("solver.advection", Entry::Word("monotone".into()));
    s.model.edits = draft.changes(&s.model.settings.scene);
    s.sync();
    until_loaded(&mut s);
    let config = &s.model.settings.scene.config;
    assert_eq!(config.sides[0][0], crate::solver::BoundaryCondition::Open);
    assert_eq!(config.advection, crate::solver::Advection::Monotone);
}

#[test]
fn the_eraser_takes_smoke_away_and_undo_brings_it_back() {
    let mut s = with_large_brush();
    let (now, at) = (Instant::now(), Vector2::new(400.0, 300.0));
    let sum = |s: &Session| s.shown().smoke.iter().map(|cell| cell[0].to_f32()).sum::<f32>();
    let stroke = |s: &mut Session| {
        s.press(Button::Left, Held::default(), at, now);
        s.release(Button::Left, now + Duration::from_millis(200));
    };
    stroke(&mut s);
    until(&mut s, |s| sum(s) > 0.0);
    let painted = sum(&s);
    s.act(Action::Erase);
    stroke(&mut s);
    until(&mut s, |s| sum(s) < 0.8 * painted);
    assert!(s.shown().smoke.iter().all(|cell| cell[0].to_f32() >= 0.0));
    s.act(Action::Undo);
    until(&mut s, |s| sum(s) == painted);
}

#[test]
fn frame_shows_the_smoke_first_and_then_the_box_and_views_refit() {
    let mut s = with_large_brush();
    s.act(Action::Frame);
    let whole = s.orbit;
    s.press(Button::Left, Held::default(), Vector2::new(400.0, 300.0), Instant::now());
    s.release(Button::Left, Instant::now() + Duration::from_millis(100));
    until(&mut s, |s| s.shown().smoke.iter().any(|cell| cell[0].to_f32() > 0.1));
    s.act(Action::Frame);
    assert!(s.orbit.distance < whole.distance, "{} {}", s.orbit.distance, whole.distance);
    s.act(Action::Frame);
    assert_eq!(s.orbit, whole);
    s.orbit.distance *= 5.0;
    s.act(Action::Stand(crate::app::orbit::Standpoint::Front));
    assert!(s.orbit.distance < 1.5 * whole.distance);
    let target = s.orbit.target;
    s.act(Action::Parallel);
    assert!(s.is_parallel() && s.orbit.target == target);
    let corners =
        [0.0, s.extent()[2]].map(|z| s.orbit.seen(nalgebra::Vector3::new(0.0, 0.0, z), s.view).unwrap().0);
    assert!((corners[0] - corners[1]).norm() < 0.01, "near and far edges fall together: {corners:?}");
    // Edges along one axis stay parallel from any side, and framing shows the whole box.
    s.orbit.turn(Vector2::new(70.0, 55.0));
    s.frame_box();
    let corners = crate::look::corners(s.box_shown()).map(|corner| s.orbit.seen(corner, s.view).unwrap().0);
    let edge = corners[1] - corners[0];
    for n in [2, 4, 6] {
        assert!((corners[n + 1] - corners[n] - edge).norm() < 0.05, "{corners:?}");
    }
    assert!(s.orbit.shows_all(s.box_shown(), s.view));
    s.act(Action::Parallel);
    assert!(!s.is_parallel());
}

#[test]
fn refused_edits_of_the_box_stay_to_be_changed() {
    let mut s = session();
    let mut draft = objects::Draft { resolution: Some(24), ..Default::default() };
    draft.set("time.cfl", Entry::Number(-3.0));
    s.model.edits = draft.changes(&s.model.settings.scene);
    s.model.draft = Some(draft.clone());
    s.sync();
    assert!(!s.is_loading() && s.readout.notice.as_deref().unwrap().starts_with("Not changed: "));
    assert_eq!(s.model.draft.as_ref(), Some(&draft));
    draft.set("time.cfl", Entry::Number(3.0));
    s.model.edits = draft.changes(&s.model.settings.scene);
    s.model.draft = Some(draft);
    s.sync();
    until_loaded(&mut s);
    assert_eq!((s.shown().dims.array(), s.model.draft.as_ref()), ([18, 24, 18], None));
}

#[test]
fn a_file_that_another_program_writes_is_read_again_unless_that_loses_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let text = "[domain]\ncells = [12, 16, 12]\nvoxel = 0.1\n[fluid]\ncooling = 0.3\n";
    std::fs::write(&path, text).unwrap();
    let scene = Scene::load(&path.to_string_lossy(), &[]).unwrap();
    let mut s = Session::new(scene, || ()).unwrap();
    s.act(Action::Step);
    until(&mut s, |s| s.readout.stats.step == 1);
    s.file_changed(Instant::now());
    assert_eq!(s.readout.notice, None, "it has not changed");
    std::fs::write(&path, text.replace("0.3", "0.9")).unwrap();
    s.file_changed(Instant::now());
    s.sync();
    assert_eq!((s.model.settings.params.cooling, s.readout.stats.step), (0.9, 1), "without a restart");
    assert!(!s.is_unsaved());
    std::fs::write(&path, "nonsense").unwrap();
    s.file_changed(Instant::now());
    assert!(s.readout.notice.as_deref().unwrap().contains("cannot be read"));
    s.model.settings.params.cooling = 0.5;
    std::fs::write(&path, text).unwrap();
    s.file_changed(Instant::now());
    assert!(s.readout.notice.as_deref().unwrap().contains("without your changes"));
    assert_eq!(s.model.settings.params.cooling, 0.5);
    s.model.settings.params.cooling = s.model.defaults.params.cooling;
    std::fs::write(&path, text.replace("12, 16, 12", "10, 10, 10")).unwrap();
    s.file_changed(Instant::now());
    until_loaded(&mut s);
    assert_eq!(s.shown().dims.array(), [10, 10, 10]);
}

#[test]
fn the_sun_is_turned_on_its_compass_and_that_is_undone() {
    let mut s = session();
    let (middle, radius) = s.compass().unwrap();
    let before = s.model.settings.look.sun_direction;
    let now = Instant::now();
    s.press(Button::Left, Held::default(), middle, now);
    let axes = s.orbit.axes();
    let sun = |s: &Session| nalgebra::Vector3::from(s.model.settings.look.sun_direction);
    assert!(sun(&s).dot(&axes.forward).abs() > 0.99, "in the middle it is before or behind the viewer");
    s.hover(middle + Vector2::new(0.0, -0.99 * radius), now);
    assert!(sun(&s).dot(&axes.up) > 0.95, "at the top it is above");
    s.hover(middle + Vector2::new(1.5 * radius, 0.0), now);
    assert!(sun(&s).dot(&axes.right) > 0.4, "beyond the rim it goes on at the back");
    s.release(Button::Left, now);
    note(&mut s);
    assert_eq!(s.model.history.undoes(), Some("sun direction"));
    s.act(Action::Undo);
    assert_eq!(s.model.settings.look.sun_direction, before);
    assert!(s.shown().smoke.iter().all(|cell| cell[0].to_f32() == 0.0), "nothing was painted");
}

#[test]
fn an_inflow_of_the_panel_is_read_back() {
    let text = "domain.walls.x_min";
    let s = session();
    let word = crate::app::panel::inflow_text([0.5, 0.0, 0.0, 2.0, 0.0, 0.0, 30.0]);
    let scene = s.model.settings.scene.edited(&[Change::Set(text.into(), Some(Entry::Other(word)))]).unwrap();
    let crate::solver::BoundaryCondition::Inflow(air) = scene.config.sides[0][0] else { panic!("no inflow") };
    assert_eq!((air.velocity, air.scalars), ([0.5, 0.0, 0.0], [2.0, 0.0, 0.0, 30.0]));
}

#[test]
fn a_narrow_view_shows_as_much_across_as_the_pictures_of_the_scene() {
    let text = "[domain]\ncells = [8, 8, 8]\nvoxel = 0.1\n[render]\nsize = [640, 480]\n\
                camera = { position = [0.4, 0.4, 1.2], target = [0.4, 0.4, 0.4] }\n";
    let mut s = Session::new(Scene::parse("close", text).unwrap(), || ()).unwrap();
    let across = |s: &Session| s.orbit.height_at(s.orbit.target) * s.view.x / s.view.y;
    s.set_view(640.0, 480.0);
    let own = across(&s);
    s.set_view(300.0, 480.0);
    assert!((across(&s) / own - 1.0).abs() < 1e-3, "{} {own}", across(&s));
    s.set_view(900.0, 480.0);
    assert!(across(&s) > 1.2 * own, "a wide one keeps the height");
}

#[test]
fn a_narrow_view_moves_the_camera_back_and_a_wide_one_brings_it_near_again() {
    let mut s = session();
    let narrow_and_wide = |s: &mut Session| {
        let before = s.orbit;
        for view in [[200.0, 700.0], [150.0, 700.0], [300.0, 200.0]] {
            s.set_view(view[0], view[1]);
            assert!(s.orbit.shows_all(s.box_shown(), s.view), "{view:?}");
        }
        s.set_view(200.0, 700.0);
        assert!(s.orbit.distance > 1.1 * before.distance);
        s.set_view(800.0, 600.0);
        assert_eq!(s.orbit, before);
    };
    s.act(Action::Stand(crate::app::orbit::Standpoint::Front));
    narrow_and_wide(&mut s);
    s.orbit.turn(Vector2::new(40.0, 10.0));
    s.orbit.distance *= 1.2;
    narrow_and_wide(&mut s);
    s.set_view(200.0, 700.0);
    s.act(Action::Stand(crate::app::orbit::Standpoint::Front));
    let narrow = s.orbit.distance;
    s.set_view(800.0, 600.0);
    assert!(s.orbit.distance < 0.9 * narrow, "the box fills the wider view too");
}

#[test]
fn recorded_frames_follow_the_keyframes_of_the_camera_unless_told_not_to() {
    let text = "[domain]\ncells = [8, 8, 8]\nvoxel = 0.1\n[render.camera]\nkeyframes = [\
                { time = 0, position = [0.4, 0.4, 2] }, { time = 0.1, position = [2, 0.4, 0.4] }]\n";
    let mut s = Session::new(Scene::parse("moving", text).unwrap(), || ()).unwrap();
    (0..3).for_each(|_| s.act(Action::Step));
    until(&mut s, |s| s.readout.stats.step == 3);
    let eye = |s: &Session| s.orbit.camera().position;
    let own = eye(&s);
    assert!((own[0] - 0.4).abs() > 0.01, "the running simulation keeps the view: {own:?}");
    let show = |s: &mut Session, at| {
        s.model.playback.at = at;
        s.advance_playback(Instant::now());
    };
    // Lens and projection, which no keyframe sets, stay as they are.
    s.model.settings.optics.lens.aperture = 0.3;
    note(&mut s);
    s.sync();
    s.act(Action::Parallel);
    s.sync();
    show(&mut s, Some(0));
    assert!((eye(&s)[0] - 0.4).abs() < 1e-3 && (eye(&s)[2] - 2.0).abs() < 1e-3, "{:?}", eye(&s));
    show(&mut s, Some(3));
    assert!(s.orbit.lens.aperture == 0.3 && s.orbit.parallel);
    s.sync();
    s.act(Action::Undo);
    s.sync();
    assert!(s.orbit.lens.aperture == 0.0 && s.orbit.parallel, "a key for another view is no change to undo");
    s.act(Action::Redo);
    s.sync();
    assert!(s.orbit.lens.aperture == 0.3 && s.orbit.parallel);
    assert!((eye(&s)[0] - 2.0).abs() < 1e-3, "{:?}", eye(&s));
    s.model.playback.follows = false;
    show(&mut s, Some(0));
    assert!((eye(&s)[0] - 2.0).abs() < 1e-3, "{:?}", eye(&s));
}

#[test]
fn a_solid_dragged_on_a_recorded_frame_goes_on_from_there_and_one_undo_brings_all_back() {
    let mut s = session();
    s.edit(&[Change::Add(List::Solid, BALL.into())]);
    note(&mut s);
    s.sync();
    until(&mut s, |s| s.shown().solids.len() == 1);
    (0..5).for_each(|_| step(&mut s));
    s.advance_playback(Instant::now());
    let (before, smoke_before) = (s.model.settings.clone(), smoke(&s));
    let show = |s: &mut Session, at| {
        s.model.playback.at = Some(at);
        s.advance_playback(Instant::now());
    };
    show(&mut s, 2);
    let (now, at) = (Instant::now(), handle_position(&s, List::Solid, 0));
    s.press(Button::Left, Held::default(), at, now);
    assert_eq!(s.gesture(), Some(crate::app::gesture::Gesture::Move));
    s.release(Button::Left, now);
    s.advance_playback(now);
    assert_eq!((s.model.playback.at, s.model.playback.range), (Some(2), [0, 5]), "a click loses no frames");
    let drag = |s: &mut Session| {
        s.press(Button::Left, Held::default(), at, now);
        s.hover(at + Vector2::new(60.0, 0.0), now);
        s.sync();
    };
    let range = |s: &mut Session| {
        s.advance_playback(Instant::now());
        s.model.playback.range
    };
    drag(&mut s);
    s.release(Button::Left, now);
    s.sync();
    note(&mut s);
    until(&mut s, |s| range(s) == [0, 2]);
    assert!(s.model.settings.scene.solids[0].position[0] > 0.65 && s.model.playback.at.is_none());
    assert_eq!(s.model.history.undoes(), Some("solid 1 from frame 2"));
    s.act(Action::Undo);
    s.sync();
    until(&mut s, |s| range(s) == [0, 5] && smoke(s) == smoke_before);
    assert_eq!(s.model.settings, before);
    // Esc during the drag does the same.
    show(&mut s, 3);
    drag(&mut s);
    s.act(Action::Exit);
    s.sync();
    until(&mut s, |s| range(s) == [0, 5] && smoke(s) == smoke_before);
    assert_eq!(s.model.settings, before);
}

#[test]
fn the_ring_of_a_solid_is_where_the_recorded_frame_has_it() {
    let mut s = session();
    s.edit(&[Change::Add(List::Solid, BALL.into())]);
    s.sync();
    (0..2).for_each(|_| step(&mut s));
    s.edit(&[Change::Set("solid.0.position".into(), Some(Entry::of_all([0.7, 0.8, 0.6])))]);
    s.sync();
    (0..3).for_each(|_| step(&mut s));
    s.model.playback.at = Some(1);
    s.advance_playback(Instant::now());
    let (.., p) = s.handles().into_iter().find(|h| h.0 == List::Solid).unwrap();
    assert!((p.x - 0.6).abs() < 1e-3, "{p}");
    // A drag starts at the shown position.
    let (now, at) = (Instant::now(), handle_position(&s, List::Solid, 0));
    s.press(Button::Left, Held::default(), at, now);
    s.hover(at + Vector2::new(0.0, -40.0), now);
    s.release(Button::Left, now);
    let [x, y, _] = s.model.settings.scene.solids[0].position;
    assert!((x - 0.6).abs() < 0.06 && y > 0.84, "{x} {y}");
}

#[test]
fn a_ball_that_paints_nothing_is_dim() {
    let mut s = session();
    let brightness = |s: &mut Session, at: [f32; 2]| {
        s.hover(at.into(), Instant::now());
        s.ball().unwrap().color[0]
    };
    let inside = brightness(&mut s, [400.0, 300.0]);
    assert!(s.ball_depth() > 0.0);
    let outside = brightness(&mut s, [5.0, 5.0]);
    assert!(s.ball_depth() < 0.0 && outside < 0.5 * inside, "{inside} {outside}");
}

#[test]
fn another_box_keeps_its_objects_where_they_are() {
    let mut s = session();
    let source = objects::template(&s.model.settings.scene, "source.box");
    s.edit(&[Change::Add(List::Solid, BALL.into()), Change::Add(List::Source, source)]);
    s.sync();
    let of = |s: &Session| {
        let scene = &s.model.settings.scene;
        (scene.solids[0].position, scene.sources.last().unwrap().region.position)
    };
    let places = of(&s);
    let draft = objects::Draft { grid: Some(([20, 16, 14], 0.08)), ..Default::default() };
    s.model.edits = draft.changes(&s.model.settings.scene);
    s.model.draft = Some(draft);
    s.sync();
    until_loaded(&mut s);
    assert_eq!((s.shown().dims.array(), s.shown().h, s.model.draft.is_some()), ([20, 16, 14], 0.08, false));
    assert_eq!(of(&s), places);
}

/// The default source depends on the box. An edit of the box writes the source out in metres.
#[test]
fn another_box_keeps_the_default_source_where_it_is() {
    let mut s = session();
    let apply = |s: &mut Session, draft: objects::Draft| {
        s.model.edits = draft.changes(&s.model.settings.scene);
        s.sync();
        until_loaded(s);
    };
    let before = s.model.settings.scene.clone();
    let resolution = objects::Draft { resolution: Some(24), ..Default::default() };
    apply(&mut s, resolution);
    assert!(!s.model.settings.scene.origin.text.contains("source"), "the size of the box is the same");
    s.act(Action::Undo);
    until_loaded(&mut s);
    let grid = |cells| objects::Draft { grid: Some((cells, 0.1)), ..Default::default() };
    apply(&mut s, grid([24, 8, 9]));
    assert_eq!(s.model.settings.scene.sources, before.sources);
    s.act(Action::Undo);
    until_loaded(&mut s);
    assert_eq!(s.model.settings.scene.origin.text, before.origin.text, "undo takes both back");
    assert_eq!(s.model.settings.scene.sources, before.sources);
    // A source beyond the new side is moved in.
    apply(&mut s, grid([5, 8, 9]));
    let region = &s.model.settings.scene.sources[0].region;
    let [x, y, z] = before.sources[0].region.position;
    assert!(
        (region.position[0] - 0.38).abs() < 1e-6 && region.position[1..] == [y, z] && x > 0.5,
        "{region:?}"
    );
    assert_eq!(region.form, before.sources[0].region.form);
}

/// A box with an axis of one cell is a plane. Its default ball has the radius of a cell, and other cells would change it.
#[test]
fn a_flat_box_keeps_the_default_source_where_it_is() {
    let mut s = session();
    let apply = |s: &mut Session, draft: objects::Draft| {
        s.model.edits = draft.changes(&s.model.settings.scene);
        s.sync();
        until_loaded(s);
    };
    let ball = |s: &Session| {
        let region = &s.model.settings.scene.sources[0].region;
        let Form::Body(Shape::Sphere { radius }) = region.form else { panic!("{region:?}") };
        (region.position, radius)
    };
    let grid = |cells, h| objects::Draft { grid: Some((cells, h)), ..Default::default() };
    let ([x, y, _], radius) = ball(&s);
    let h = s.model.settings.scene.config.h;
    let [nx, ny, _] = s.model.settings.scene.config.dims.array();
    // To a plane, and from there to finer cells and coarser ones.
    apply(&mut s, grid([nx, ny, 1], h));
    assert_eq!(ball(&s), ([x, y, 0.5 * h], radius));
    s.act(Action::Undo);
    until_loaded(&mut s);
    let text = "[domain]\ncells = [24, 32, 1]\nvoxel = 0.05\n";
    let mut s = Session::new(Scene::parse("flat", text).unwrap(), || ()).unwrap();
    s.set_view(800.0, 600.0);
    let ([x, y, _], radius) = ball(&s);
    for (most, voxel) in [(64, 0.025), (16, 0.1)] {
        let before = s.model.settings.scene.clone();
        apply(&mut s, objects::Draft { resolution: Some(most), ..Default::default() });
        assert_eq!(s.model.settings.scene.config.h, voxel);
        assert_eq!(ball(&s), ([x, y.max(radius.max(voxel)), 0.5 * voxel], radius.max(voxel)));
        s.act(Action::Undo);
        until_loaded(&mut s);
        assert_eq!(s.model.settings.scene.origin.text, before.origin.text, "one undo takes both back");
        assert_eq!(ball(&s), ([x, y, 0.025], radius));
    }
}

#[test]
fn a_default_source_too_large_for_another_box_stays_the_default() {
    let text = "[domain]\ncells = [12, 16, 12]\nvoxel = 0.1\n[[source]]\nemit = { green = 2 }\n";
    let scene = Scene::parse("bare", text).unwrap();
    let changed = |cells| {
        let draft = objects::Draft { grid: Some((cells, 0.1)), ..Default::default() };
        scene.edited(&draft.changes(&scene)).unwrap()
    };
    assert_eq!(changed([12, 12, 20]).sources, scene.sources, "a source without a shape has the default one");
    assert!(changed([2, 12, 20]).sources[0].region.position[0] < 0.11);
}

/// Opens the dialog for an object of a file, types its path, and accepts it.
fn type_in(s: &mut Session, kind: &'static str, path: &std::path::Path) {
    use crate::app::model::Dialog;
    s.act(Action::AddOfFile(kind));
    match &mut s.model.dialog {
        Some(Dialog::Path(form)) => form.text = path.display().to_string(),
        other => panic!("{other:?}"),
    }
    s.act(Action::Accept);
}

#[test]
fn meshes_of_any_unit_and_place_are_added_inside_the_box() {
    let folder = tempfile::tempdir().unwrap();
    for (size, scale) in [(400.0, 0.001), (0.4, 1.0), (0.02, 20.0), (9e5, 5e-7)] {
        let path = folder.path().join(format!("{size}.obj"));
        let [low, high] = [5.0 * size, 6.0 * size];
        let corners = [[low; 3], [high, low, low], [low, high, low], [low, low, high]];
        let lines = corners.map(|[x, y, z]| format!("v {x} {y} {z}\n")).concat();
        std::fs::write(&path, lines + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n").unwrap();
        let mut s = session();
        type_in(&mut s, "solid.mesh", &path);
        assert!(s.model.dialog.is_none(), "{:?}", s.model.dialog);
        let said = s.readout.notice.clone().unwrap_or_default();
        type_in(&mut s, "source.mesh", &path);
        let scene = &s.model.settings.scene;
        let (solid, region) = (&scene.solids[0], &scene.sources[1].region);
        let scale: f32 = f32::max(scale, 1e-6);
        assert_eq!((solid.scale, region.scale), (scale, scale), "{size}");
        assert_eq!(solid.position, region.position);
        for a in 0..3 {
            let [from, to] = [0, 1].map(|end| solid.position[a] + solid.extent()[end][a]);
            assert!(from > 0.0 && to < s.extent()[a], "{size}: {from} to {to} m");
        }
        assert!(said.contains(&format!("scale {scale}")), "{said}");
    }
}

#[test]
fn objects_of_files_are_added_and_a_missing_file_is_said_in_the_dialog() {
    use crate::app::model::Dialog;
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("a \"b\".png");
    let image = crate::render::Image { width: 4, height: 2, rgba: vec![255; 32] };
    crate::output::png::write(&picture, crate::output::whole::Existing::Keep, &image).unwrap();
    let mesh = folder.path().join("corner.obj");
    std::fs::write(&mesh, "v 0 0 0\nv 0.4 0 0\nv 0 0.4 0\nv 0 0 0.4\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        .unwrap();
    let mut s = session();
    type_in(&mut s, "source.image", &folder.path().join("none.png"));
    match &s.model.dialog {
        Some(Dialog::Path(form)) => assert!(form.error.as_deref().unwrap().contains("none.png"), "{form:?}"),
        other => panic!("{other:?}"),
    }
    s.act(Action::Exit);
    type_in(&mut s, "source.image", &picture);
    assert_eq!(objects::kind(&s.model.settings.scene, List::Source, 1), "card");
    type_in(&mut s, "solid.mesh", &mesh);
    assert_eq!(objects::kind(&s.model.settings.scene, List::Solid, 0), "mesh");
    assert!(s.model.dialog.is_none());
    assert_eq!(s.model.selected, Some(Selected::Object(List::Solid, 0)));
}

#[test]
fn a_picture_of_the_surroundings_is_set_and_undone_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sky.hdr");
    let mut bytes = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 4\n".to_vec();
    bytes.extend([128, 128, 128, 129].repeat(8));
    std::fs::write(&path, bytes).unwrap();
    let mut s = session();
    step(&mut s);
    let file = Entry::Word(path.display().to_string());
    s.edit(&[Change::Set("render.environment.file".into(), Some(file))]);
    assert!(!s.is_loading() && s.model.settings.look.environment.sphere.is_some(), "{:?}", s.readout.notice);
    note(&mut s);
    assert_eq!(s.model.history.undoes(), Some("surroundings"));
    s.act(Action::Undo);
    assert!(s.model.settings.look.environment.sphere.is_none());
}
