//! Small windows, long numbers, plots and columns.

use super::*;

/// Returns a rig in a window of this size.
fn sized(width: f32, height: f32) -> Rig {
    let mut rig = Rig::new();
    rig.size = vec2(width, height);
    rig
}

#[test]
fn the_timeline_keeps_its_buttons_in_a_small_window() {
    for (width, height) in [(480.0, 320.0), (640.0, 480.0), (800.0, 480.0), (1200.0, 600.0)] {
        let mut rig = sized(width, height);
        rig.model.playback.range = [0, 120];
        (0..3).for_each(|_| drop(rig.show([])));
        let out = rig.show([]);
        let strip = Rect::from_min_max(Pos2::ZERO, pos2(width - theme::WIDTH, height));
        let names = ["timeline.play", "timeline", "timeline.present", "timeline.export"];
        let places = names.map(|name| out.places[name]);
        for (n, place) in places.iter().enumerate() {
            assert!(strip.contains_rect(*place), "{}: {place:?} at {width}×{height}", names[n]);
            let is_apart = |other: &Rect| !place.shrink(0.5).intersects(*other);
            assert!(places[n + 1..].iter().all(is_apart), "{}: {places:?} at {width}×{height}", names[n]);
        }
        assert_eq!(rig.click(places[3].center()), [Action::ShowExport]);
    }
}

/// The last event stays in sight while the mouse rests on the timeline: its tooltip covered the line.
#[test]
fn the_tooltip_of_the_timeline_does_not_cover_the_notice() {
    for (width, height) in [(1200.0, 720.0), (760.0, 480.0)] {
        let mut rig = sized(width, height);
        rig.model.playback.range = [0, 120];
        rig.readout.notice = Some("Undo: stroke".into());
        (0..3).for_each(|_| drop(rig.show([])));
        let find = |rig: &Rig, part: &str| {
            let found = rig.texts.iter().find(|(text, _)| text.contains(part));
            found.unwrap_or_else(|| panic!("no text {part:?} at {width}×{height}")).1
        };
        let before = find(&rig, "Undo: stroke");
        let slider = rig.place("timeline");
        rig.show([Event::PointerMoved(slider.left_center() + vec2(20.0, 0.0))]);
        (0..20).for_each(|_| drop(rig.show([])));
        let (notice, tooltip) = (find(&rig, "Undo: stroke"), find(&rig, "Drag to look back"));
        // In a narrow view the line stands above the corner with the axes already.
        assert!(
            tooltip.intersects(before) || width < 800.0,
            "the tooltip is where the line was: {tooltip:?} {before:?}"
        );
        assert!(!tooltip.intersects(notice), "{tooltip:?} covers {notice:?} at {width}×{height}");
        assert!(notice.top() >= 0.0, "{notice:?} at {width}×{height}");
        rig.show([Event::PointerMoved(pos2(200.0, 40.0))]);
        (0..3).for_each(|_| drop(rig.show([])));
        assert_eq!(find(&rig, "Undo: stroke"), before, "it comes back");
    }
}

#[test]
fn the_help_is_not_cut_in_a_small_window() {
    for (width, height) in [(480.0, 320.0), (640.0, 480.0), (1200.0, 600.0)] {
        let mut rig = sized(width, height);
        rig.model.help = true;
        (0..4).for_each(|_| drop(rig.show([])));
        let out = rig.show([]);
        let (text, window) = (out.places["help.text"], out.places["help.window"]);
        assert!(text.right() <= window.right(), "{text:?} in {window:?} at {width}×{height}");
    }
}

#[test]
fn a_long_number_moves_no_other_row() {
    let mut rig = Rig::new();
    let rows = ["fluid.vorticity", "fluid.gravity", "fluid.viscosity", "fluid.cooling"];
    let before = rig.show([]).places;
    rig.model.settings.params.vorticity = -123_456.7;
    rig.model.settings.params.smoke[0].buoyancy = 1e6;
    rig.show([]);
    let after = rig.show([]).places;
    for name in rows.into_iter().filter(|name| before.contains_key(name)) {
        assert_eq!(before[name], after[name], "{name}");
    }
    assert!(rig.says("1e6") && rig.says("-1.23e5"));
}

#[test]
fn a_field_that_is_left_keeps_the_digits_that_it_does_not_show() {
    let mut rig = Rig::new();
    rig.model.settings.params.vorticity = 123_456.7;
    let field = rig.place("fluid.vorticity").right_center() + vec2(40.0, 0.0);
    rig.click(field);
    rig.click(pos2(20.0, 20.0));
    rig.show([]);
    assert_eq!(rig.model.settings.params.vorticity, 123_456.7);
}

#[test]
fn plots_lie_below_their_titles() {
    let mut rig = Rig::new();
    rig.size.y = 4000.0;
    for _ in 0..40 {
        rig.readout.masses.push_back([1.0, 0.5, 0.0]);
        rig.readout.picture_ms.push_back(30.0);
    }
    (0..3).for_each(|_| drop(rig.show([])));
    for name in ["Time of a picture", "Mass of each smoke"] {
        let title = rig.text(name, "Statistics");
        let across = |line: &&Rect| line.width() > 30.0 && (line.top() - title.top()).abs() < 40.0;
        let lines = rig.lines.iter().filter(across).collect::<Vec<_>>();
        assert!(!lines.is_empty(), "{name}");
        assert!(lines.iter().all(|line| !line.intersects(title)), "{name}: {lines:?} {title:?}");
    }
}

#[test]
fn names_of_box_and_solver_are_left_aligned() {
    let rig = Rig::new();
    let left = ["Resolution", "Left side", "Top"].map(|name| rig.text(name, "Box and solver").left());
    assert!(left.iter().all(|x| (x - left[0]).abs() < 0.6), "{left:?}");
}

#[test]
fn colours_of_the_background_are_in_one_column() {
    let mut rig = Rig::new();
    let left = ["render.background.top", "render.background.bottom"].map(|name| rig.place(name).left());
    assert!((left[0] - left[1]).abs() < 0.6, "{left:?}");
}

#[test]
fn undo_and_redo_wait_for_a_load() {
    let mut rig = Rig::new();
    rig.model.history.note(&rig.model.settings.clone(), true, |_, _| "nothing".into());
    rig.model.settings.params.vorticity = 1.5;
    rig.show([]);
    let undo = rig.place("undo").center();
    assert_eq!(rig.click(undo), [Action::Undo]);
    rig.model.loading = Some("cavity".into());
    assert!(rig.click(undo).is_empty());
}

#[test]
fn a_typed_name_of_a_built_in_scene_shows_no_path() {
    use crate::app::model::{Dialog, PathForm, Purpose};
    let mut rig = Rig::new();
    rig.model.dialog = Some(Dialog::Path(PathForm::new(Purpose::Open, "cavity".into())));
    (0..2).for_each(|_| drop(rig.show([])));
    assert!(rig.says("The built-in scene cavity") && !rig.says("/cavity"), "{:?}", rig.texts);
    rig.model.dialog = Some(Dialog::Path(PathForm::new(Purpose::Open, "cavity.toml".into())));
    (0..2).for_each(|_| drop(rig.show([])));
    assert!(rig.says("/cavity.toml"));
}
