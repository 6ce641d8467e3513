//! The panel driven by a mouse without a display: egui lays it out and takes events.

mod panel_layout;
mod typed_fields;

use std::sync::Arc;

use egui::{Event, Modifiers, PointerButton, Pos2, RawInput, Rect, Shape, pos2, vec2};

use super::*;
use crate::app::settings::Ink;
use crate::grid::Dims;
use crate::look::Scattering;
use crate::parameter;
use crate::render::Mode;
use crate::scene::Scene;
use crate::worker::RunState;

/// A panel and its environment.
struct Rig {
    ctx: Context,
    model: Model,
    readout: Readout,
    time: f64,
    size: egui::Vec2,
    texts: Vec<(String, Rect)>,
    /// Bounds of the painted lines.
    lines: Vec<Rect>,
}

impl Rig {
    fn new() -> Self {
        let scene = Scene::parse("plume", "domain.detail = 2\n").unwrap();
        let ctx = Context::default();
        theme::apply(&ctx);
        let mut rig = Self {
            ctx,
            model: Model::new(Arc::new(scene)),
            readout: Readout::new(Dims::new([8, 8, 8]).unwrap(), 0.1),
            time: 0.0,
            size: vec2(1200.0, 3200.0),
            texts: Vec::new(),
            lines: Vec::new(),
        };
        // The first pass measures, the second one lays out.
        rig.model.closed.clear();
        (0..3).for_each(|_| drop(rig.show([])));
        rig
    }

    fn show(&mut self, events: impl IntoIterator<Item = Event>) -> Out {
        self.time += 0.1;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size)),
            time: Some(self.time),
            events: events.into_iter().collect(),
            ..RawInput::default()
        };
        let mut out = Out::default();
        let full = self.ctx.run(input, |ctx| out = show(ctx, &mut self.model, &self.readout));
        self.texts.clear();
        self.lines.clear();
        full.shapes.iter().for_each(|s| check_glyphs(&self.ctx, &s.shape));
        full.shapes.iter().for_each(|s| gather(&s.shape, &mut self.texts, &mut self.lines));
        out
    }

    fn place(&mut self, name: &str) -> Rect {
        *self.show([]).places.get(name).unwrap_or_else(|| panic!("no control is called {name}"))
    }

    /// Returns the rectangle of a text, after the heading `after`.
    fn text(&self, text: &str, after: &str) -> Rect {
        let from = self.texts.iter().position(|(t, _)| t == after).expect("the heading is there");
        let found = self.texts[from..].iter().find(|(t, _)| t == text);
        found.unwrap_or_else(|| panic!("no text {text:?}")).1
    }

    fn says(&self, part: &str) -> bool {
        self.texts.iter().any(|(t, _)| t.contains(part))
    }

    fn click(&mut self, at: Pos2) -> Vec<Action> {
        let mut actions = self.show([Event::PointerMoved(at), button(at, true)]).actions;
        actions.extend(self.show([button(at, false)]).actions);
        actions
    }

    /// Types a number into the field of a slider.
    fn enter(&mut self, name: &str, typed: &str) {
        let field = self.place(name).right_center() + vec2(40.0, 0.0);
        self.type_at(field, typed);
    }

    /// Types into a field without a slider.
    fn type_into(&mut self, name: &str, typed: &str) {
        let field = self.place(name).center();
        self.type_at(field, typed);
    }

    /// Replaces the text of the field at a place, and leaves the field.
    fn type_at(&mut self, field: Pos2, typed: &str) {
        self.click(field);
        self.show([key(egui::Key::A), Event::Text(typed.into())]);
        self.click(pos2(20.0, 20.0));
        self.show([]);
    }

    /// Searches for a text, which leaves only the matching rows.
    fn search(&mut self, text: &str) -> Out {
        self.model.search = text.into();
        self.show([]);
        self.show([])
    }

    fn drag(&mut self, from: Pos2, to: Pos2) {
        self.show([Event::PointerMoved(from), button(from, true)]);
        self.show([Event::PointerMoved(from.lerp(to, 0.5))]);
        self.show([Event::PointerMoved(to)]);
        self.show([button(to, false)]);
        self.show([]);
    }
}

fn button(pos: Pos2, pressed: bool) -> Event {
    Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::default() }
}

/// Returns a key with Ctrl.
fn key(key: egui::Key) -> Event {
    Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::COMMAND }
}

fn gather(shape: &Shape, texts: &mut Vec<(String, Rect)>, lines: &mut Vec<Rect>) {
    match shape {
        Shape::Text(text) => {
            texts.push((text.galley.text().to_owned(), text.galley.rect.translate(text.pos.to_vec2())));
        }
        Shape::Vec(shapes) => shapes.iter().for_each(|s| gather(s, texts, lines)),
        Shape::Path(path) => lines.push(Rect::from_points(&path.points)),
        _ => {}
    }
}

/// Fails on a character that no font has: it would be shown as an empty box.
fn check_glyphs(ctx: &Context, shape: &Shape) {
    match shape {
        Shape::Text(text) => {
            for section in &text.galley.job.sections {
                let part = &text.galley.job.text[section.byte_range.clone()];
                let visible: String = part.chars().filter(|c| !c.is_whitespace()).collect();
                let all = ctx.fonts_mut(|fonts| fonts.has_glyphs(&section.format.font_id, &visible));
                assert!(all, "a character of {part:?} is in no font");
            }
        }
        Shape::Vec(shapes) => shapes.iter().for_each(|shape| check_glyphs(ctx, shape)),
        _ => {}
    }
}

#[test]
fn a_character_of_no_font_is_found() {
    let rig = Rig::new();
    let shows = |text: &str| rig.ctx.fonts_mut(|fonts| fonts.has_glyphs(&egui::FontId::default(), text));
    assert!(shows("⬅➡▶") && !shows("←"));
}

#[test]
fn buttons_send_their_action() {
    let mut rig = Rig::new();
    for (name, action) in [
        ("run", Action::RunPause),
        ("step", Action::Step),
        ("clear", Action::Clear),
        ("view", Action::SwitchView),
        ("frame", Action::Frame),
        ("picture", Action::Picture),
        ("help", Action::ToggleHelp),
        ("open", Action::OpenFile),
        ("save", Action::Save),
        ("restart", Action::Restart),
        ("ink.white", Action::Pick(Ink::White)),
    ] {
        let at = rig.place(name).center();
        assert_eq!(rig.click(at), [action], "{name}");
    }
}

#[test]
fn every_slider_changes_its_own_value_only() {
    let mut rig = Rig::new();
    let sliders: Vec<&'static str> = rig.show([]).places.keys().copied().filter(|n| is_slider(n)).collect();
    assert!(sliders.len() >= 20, "{sliders:?}");
    let mut before = rig.model.settings.clone();
    for name in sliders {
        let rail = rig.place(name);
        rig.drag(rail.left_center() + vec2(8.0, 0.0), rail.right_center() - vec2(11.0, 0.0));
        let after = rig.model.settings.clone();
        assert_ne!(after, before, "{name} does nothing");
        rig.click(pos2(20.0, 20.0));
        let undone = rig.model.history.undo(0).map(|step| step.value);
        assert_eq!(undone, Some(before.clone()), "{name} is one entry to undo");
        rig.model.settings = before.clone();
        before = rig.model.settings.clone();
    }
}

fn is_slider(name: &str) -> bool {
    let switches = ["fluid.ambient", "render.medium.scattering", "render.floor", "render.outline"];
    !switches.contains(&name) && parameter::find(name).is_some_and(|parameter| !parameter.label.is_empty())
}

#[test]
fn a_buoyancy_can_be_dragged_below_zero() {
    let mut rig = Rig::new();
    let rail = rig.place("smoke.green.buoyancy");
    rig.drag(rail.center(), rail.left_center() + vec2(6.0, 0.0));
    let buoyancy = rig.model.settings.params.smoke[1].buoyancy;
    assert!(buoyancy < -4.0, "{buoyancy} {rail:?}");
    assert_eq!(rig.model.settings.params.smoke[0], rig.model.defaults.params.smoke[0]);
    assert_eq!(rig.model.settings.params.smoke[2], rig.model.defaults.params.smoke[2]);
}

#[test]
fn a_double_click_on_the_label_goes_back_to_the_default() {
    let mut rig = Rig::new();
    rig.model.settings.params.vorticity = 1.7;
    rig.show([]);
    let label = rig.text("Vorticity", "Air").center();
    rig.show([Event::PointerMoved(label), button(label, true)]);
    rig.time -= 0.05;
    rig.show([button(label, false)]);
    rig.time -= 0.05;
    rig.show([button(label, true)]);
    rig.time -= 0.05;
    rig.show([button(label, false)]);
    assert_eq!(rig.model.settings.params.vorticity, rig.model.defaults.params.vorticity);
}

/// The text of a notice that a number was brought to its limit.
const LIMITED: &str = "is the most";

#[test]
fn a_number_typed_beyond_the_hard_range_is_brought_to_it_and_the_panel_says_so() {
    let mut rig = Rig::new();
    let most = *parameter::of("fluid.vorticity").hard.end();
    rig.enter("fluid.vorticity", "3.5");
    assert_eq!(rig.model.settings.params.vorticity, 3.5, "beyond the slider");
    assert!(!rig.says(LIMITED));
    rig.enter("fluid.vorticity", "9999");
    assert_eq!(rig.model.settings.params.vorticity, most);
    rig.show([]);
    assert!(rig.says("100 1/s is the most; 9999 was typed"), "{:?}", rig.texts);
    rig.enter("fluid.vorticity", "1e400");
    assert_eq!(rig.model.settings.params.vorticity, most);
    rig.show([]);
    assert!(rig.says("100 1/s is the most; 1.798e308 was typed"), "{:?}", rig.texts);
    rig.enter("fluid.vorticity", "2");
    rig.show([]);
    assert!(!rig.says(LIMITED), "the value is another one");
}

#[test]
fn every_parameter_with_a_label_has_a_control() {
    let mut rig = Rig::new();
    rig.model.settings.brush.ink = Ink::White;
    rig.model.settings.look.glow = 1.0;
    rig.model.settings.look.second_lobe[1] = 0.5;
    rig.model.view = Mode::Slice(crate::render::Slice::default());
    rig.show([]);
    let places = rig.show([]).places;
    for parameter in parameter::all().filter(|p| !p.label.is_empty()) {
        assert!(places.contains_key(parameter.path.as_str()), "{}", parameter.path);
    }
}

#[test]
fn nan_input_is_rejected() {
    let mut rig = Rig::new();
    let before = rig.model.settings.look.exposure;
    for typed in ["nan", "three", "-nan"] {
        rig.enter("render.exposure", typed);
        assert_eq!(rig.model.settings.look.exposure, before, "typed {typed}");
    }
}

#[test]
fn white_shows_its_proportions_in_place_of_a_colour() {
    let mut rig = Rig::new();
    assert!(rig.show([]).places.contains_key("color"));
    rig.model.settings.brush.ink = Ink::White;
    let places = rig.show([]).places;
    assert!(places.contains_key("brush.white.green") && !places.contains_key("color"));
}

#[test]
fn the_title_is_a_menu_of_scenes() {
    let mut rig = Rig::new();
    let title = rig.place("scenes").center();
    rig.click(title);
    rig.show([]);
    let colors = rig.place("colors").center();
    assert_eq!(rig.click(colors), [Action::Open("colors")]);
}

#[test]
fn every_view_can_be_chosen() {
    use crate::render::Slice;
    let mut rig = Rig::new();
    let views = [
        ("view.arrows", Mode::Velocity),
        ("view.streamlines", Mode::Streamlines),
        ("view.speed", Mode::Speed),
        ("view.vorticity", Mode::Vorticity),
        ("view.slice", Mode::Slice(Slice::default())),
        ("view.smoke", Mode::Smoke),
    ];
    for (name, mode) in views {
        let at = rig.place(name).center();
        rig.click(at);
        assert_eq!(rig.model.view, mode, "{name}");
    }
}

#[test]
fn a_slice_can_be_moved_and_is_kept_while_another_view_is_shown() {
    use crate::render::{Quantity, Slice};
    let mut rig = Rig::new();
    assert!(!rig.show([]).places.contains_key("slice.position"), "no slice is shown");
    for name in ["view.slice", "slice.x"] {
        let at = rig.place(name).center();
        rig.click(at);
    }
    let menu = rig.place("slice.field").center();
    rig.click(menu);
    rig.show([]);
    let speed = rig.text("speed", "density").center();
    rig.click(speed);
    rig.enter("slice.position", "0.25");
    let slice = Slice { axis: 0, position: 0.25, quantity: Quantity::Speed, range: None };
    assert_eq!(rig.model.view, Mode::Slice(slice));
    for name in ["view.smoke", "view.slice"] {
        let at = rig.place(name).center();
        rig.click(at);
    }
    assert_eq!(rig.model.view, Mode::Slice(slice));
}

#[test]
fn showing_the_panel_changes_no_setting() {
    let mut rig = Rig::new();
    rig.model.settings.look.scattering = Scattering::Traced;
    for ink in Ink::ALL {
        rig.model.settings.brush.ink = ink;
        let before = rig.model.settings.clone();
        (0..3).for_each(|_| drop(rig.show([])));
        assert_eq!(rig.model.settings, before, "{}", ink.name());
    }
}

#[test]
fn a_broken_solver_is_shown_with_its_reason_and_a_way_out() {
    let mut rig = Rig::new();
    rig.readout.status.state = RunState::Failed("index out of bounds".into());
    rig.show([]);
    assert!(rig.says("broke down") && rig.says("index out of bounds"));
    let restart = rig.place("restart").center();
    assert_eq!(rig.click(restart), [Action::Restart]);
    let run = rig.place("run").center();
    assert_eq!(rig.click(run), [], "nothing to run");
}

#[test]
fn the_panel_hides_and_the_help_shows_all_keys() {
    let mut rig = Rig::new();
    rig.model.panel = false;
    rig.model.help = true;
    (0..3).for_each(|_| drop(rig.show([])));
    assert!(!rig.says("Buoyancy"));
    for binding in &crate::app::action::BINDINGS {
        assert!(rig.says(binding.help), "{}", binding.help);
    }
}

#[test]
fn sections_name_the_effect_of_a_change() {
    let mut rig = Rig::new();
    rig.show([]);
    let tags = |tag: &str| rig.texts.iter().filter(|(t, _)| t == tag).count();
    assert_eq!((tags("acts now"), tags("look only"), tags("restarts")), (4, 2, 1));
}

#[test]
fn the_search_finds_rows_by_name_key_and_description_and_says_when_there_are_none() {
    let mut rig = Rig::new();
    for text in ["vortic", "fluid.vorticity", "feeds the small SWIRLS"] {
        let sliders: Vec<&str> = rig.search(text).places.into_keys().filter(|n| is_slider(n)).collect();
        assert_eq!(sliders, ["fluid.vorticity"], "{text}");
    }
    rig.search("no such thing");
    assert!(rig.says("No setting is called"));
    assert!(rig.search("").places.contains_key("brush.radius"));
}

#[test]
fn letters_typed_one_by_one_all_reach_the_search() {
    let mut rig = Rig::new();
    let field = rig.place("search").center();
    rig.click(field);
    for letter in ["v", "o", "r", "t"] {
        rig.show([Event::Text(letter.into())]);
        rig.show([]);
    }
    assert_eq!(rig.model.search, "vort");
}

#[test]
fn a_folded_section_stays_folded_and_shows_what_is_searched_for() {
    let mut rig = Rig::new();
    let head = rig.place("Air").left_center() + vec2(40.0, 0.0);
    rig.click(head);
    (0..3).for_each(|_| drop(rig.show([])));
    assert!(rig.model.closed.contains("Air"));
    assert!(!rig.show([]).places.contains_key("fluid.vorticity"));
    assert!(rig.search("vorticity").places.contains_key("fluid.vorticity"));
}

#[test]
fn a_section_takes_its_changes_back_and_no_others() {
    let mut rig = Rig::new();
    rig.model.settings.params.vorticity = 1.7;
    rig.model.settings.params.smoke[1].buoyancy = 2.0;
    rig.model.settings.look.exposure = 2.0;
    rig.show([]);
    let reset = rig.place("Air").right_center() - vec2(14.0, 0.0);
    rig.click(reset);
    let (now, default) = (&rig.model.settings, &rig.model.defaults);
    assert_eq!(now.params.vorticity, default.params.vorticity);
    assert_eq!((now.params.smoke[1].buoyancy, now.look.exposure), (2.0, 2.0));
}

#[test]
fn a_selected_object_shows_its_keys_and_a_changed_one_is_asked_for() {
    use crate::app::objects::Selected;
    use crate::scene::edits::{Change, Entry, List};
    let mut rig = Rig::new();
    rig.model.selected = Some(Selected::Object(List::Source, 0));
    rig.show([]);
    assert!(rig.says("Emits red") && rig.says("Radius") && rig.says("Center"));
    rig.type_into("source.#.emit.red", "7");
    assert_eq!(
        rig.model.edits.last(),
        Some(&Change::Set("source.0.emit.red".into(), Some(Entry::Number(7.0))))
    );
    let add = rig.place("object.add").center();
    rig.click(add);
    rig.show([]);
    let ball = rig.place("solid.ball").center();
    rig.click(ball);
    assert!(matches!(rig.model.edits.last(), Some(Change::Add(List::Solid, _))));
}

#[test]
fn camera_and_sun_are_objects_too() {
    use crate::app::objects::Selected;
    let mut rig = Rig::new();
    let camera = rig.place("object.camera").center();
    rig.click(camera);
    assert_eq!(rig.model.selected, Some(Selected::Camera));
    let fov = rig.place("render.camera.fov");
    rig.drag(fov.center(), fov.center() + vec2(40.0, 0.0));
    assert!(rig.model.camera.is_some_and(|camera| camera.fov != rig.readout.camera.fov));
    let sun = rig.place("object.sun").center();
    rig.click(sun);
    rig.show([]);
    assert!(rig.says("Sun elevation"));
}

#[test]
fn nothing_is_clipped_at_the_smallest_size_and_at_4k() {
    for (size, scale) in [(vec2(800.0, 480.0), 1.0), (vec2(3840.0, 2160.0), 2.0)] {
        let mut rig = Rig::new();
        rig.size = size / scale;
        rig.model.help = true;
        (0..4).for_each(|_| drop(rig.show([])));
        let screen = Rect::from_min_size(Pos2::ZERO, rig.size);
        let out = rig.show([]);
        for (name, place) in &out.places {
            let across = place.left() >= screen.left() - 1.0 && place.right() <= screen.right() + 1.0;
            assert!(across, "{name} at {place:?} in {screen:?}");
        }
        for name in ["run", "undo", "save", "scenes", "help"] {
            assert!(screen.contains_rect(out.places[name]), "{name}: {:?}", out.places[name]);
        }
    }
}

#[test]
fn a_press_elsewhere_takes_the_keyboard_from_a_text_field() {
    let mut rig = Rig::new();
    let search = rig.place("search").center();
    for elsewhere in [pos2(20.0, 20.0), rig.place("fluid.vorticity").center()] {
        rig.click(search);
        rig.show([Event::Text("v".into())]);
        assert!(rig.ctx.wants_keyboard_input());
        rig.click(search);
        assert!(rig.ctx.wants_keyboard_input(), "a click into the field itself keeps it");
        rig.model.search.clear();
        rig.show([]);
        rig.drag(elsewhere, elsewhere + vec2(30.0, 5.0));
        assert!(!rig.ctx.wants_keyboard_input(), "at {elsewhere:?}");
    }
}

#[test]
fn the_first_lines_say_how_to_paint_also_while_it_runs() {
    let mut rig = Rig::new();
    rig.readout.status.state = RunState::Running;
    rig.readout.stats.step = 30;
    rig.show([]);
    assert!(rig.says("Drag paints"), "{:?}", rig.texts);
    rig.model.hint = false;
    rig.show([]);
    assert!(!rig.says("Drag paints"));
}

#[test]
fn plots_and_memory_have_names() {
    let mut rig = Rig::new();
    rig.size.y = 4000.0;
    (0..2).for_each(|_| drop(rig.show([])));
    for name in ["Time of a picture", "Time of a step, by stage", "Mass of each smoke", "Memory: undo"] {
        assert!(rig.says(name), "{name}");
    }
}

#[test]
fn the_fields_of_a_row_are_on_one_line() {
    use crate::app::objects::Selected;
    let mut rig = Rig::new();
    rig.model.selected = Some(Selected::Camera);
    rig.readout.camera.target = [1.234, 2.345, 3.456];
    (0..2).for_each(|_| drop(rig.show([])));
    let row: Vec<f32> =
        ["1.234", "2.345", "3.456"].into_iter().map(|text| rig.text(text, "Target").center().y).collect();
    assert!(row.iter().all(|y| (y - row[0]).abs() < 0.1), "{row:?}");
}

#[test]
fn a_revealed_section_is_opened_and_scrolled_to() {
    let mut rig = Rig::new();
    rig.size = vec2(1000.0, 500.0);
    rig.model.closed.insert("Export".into());
    rig.model.playback.range = [0, 9];
    let export = rig.place("timeline.export").center();
    assert_eq!(rig.click(export), [Action::ShowExport]);
    rig.model.reveal("Export");
    (0..30).for_each(|_| drop(rig.show([])));
    let places = rig.show([]).places;
    let shown = |name: &str| (0.0..500.0).contains(&places[name].center().y);
    assert!(shown("Export") && shown("export") && rig.model.revealed.is_none(), "{:?}", places["export"]);
}

#[test]
fn tone_background_sky_and_up_are_in_the_panel() {
    let mut rig = Rig::new();
    for name in ["Tone map", "Background, top", "Background, low", "Sky", "Ground", "Surroundings", "Up"] {
        assert!(rig.says(name), "{name}: {:?}", rig.texts);
    }
    let before = rig.model.settings.clone();
    let up = rig.place("fluid.up");
    rig.drag(up.center(), up.center() + vec2(40.0, 0.0));
    assert_ne!(rig.model.settings.params.up, before.params.up);
    assert_eq!(Settings::change(&before, &rig.model.settings), "up direction");
    rig.model.settings.look.tone = crate::look::ToneMap::Plain;
    rig.model.settings.params.up = before.params.up;
    assert_eq!(Settings::change(&before, &rig.model.settings), "tone map");
}
