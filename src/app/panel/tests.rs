//! The panel driven by a mouse without a display: egui lays it out and takes events.

use std::sync::Arc;

use egui::{Event, Modifiers, PointerButton, Pos2, RawInput, Rect, Shape, pos2, vec2};

use super::*;
use crate::app::settings::Ink;
use crate::grid::Dims;
use crate::look::Scattering;
use crate::parameter;
use crate::render::Mode;
use crate::scene::Scene;
use crate::worker::State;

/// A panel and its environment.
struct Rig {
    ctx: Context,
    model: Model,
    readout: Readout,
    time: f64,
    texts: Vec<(String, Rect)>,
}

impl Rig {
    fn new() -> Self {
        let scene = Scene::parse("plume", "").unwrap();
        let ctx = Context::default();
        theme::apply(&ctx);
        let mut rig = Self {
            ctx,
            model: Model::new(Arc::new(scene)),
            readout: Readout::new(Dims::new([8, 8, 8]).unwrap(), 0.1),
            time: 0.0,
            texts: Vec::new(),
        };
        // The first pass measures, the second one lays out.
        (0..2).for_each(|_| drop(rig.show([])));
        rig
    }

    fn show(&mut self, events: impl IntoIterator<Item = Event>) -> Out {
        self.time += 0.1;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(1200.0, 2000.0))),
            time: Some(self.time),
            events: events.into_iter().collect(),
            ..RawInput::default()
        };
        let mut out = Out::default();
        let full = self.ctx.run(input, |ctx| out = show(ctx, &mut self.model, &self.readout));
        self.texts.clear();
        full.shapes.iter().for_each(|s| gather(&s.shape, &mut self.texts));
        out
    }

    fn place(&mut self, name: &str) -> Rect {
        *self.show([]).places.get(name).unwrap_or_else(|| panic!("no control is called {name}"))
    }

    /// Rectangle of a text, after the heading `after`.
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
        self.click(field);
        let all = Event::Key {
            key: egui::Key::A,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: Modifiers::COMMAND,
        };
        self.show([all, Event::Text(typed.into())]);
        self.click(pos2(20.0, 20.0));
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

fn gather(shape: &Shape, texts: &mut Vec<(String, Rect)>) {
    match shape {
        Shape::Text(text) => {
            texts.push((text.galley.text().to_owned(), text.galley.rect.translate(text.pos.to_vec2())));
        }
        Shape::Vec(shapes) => shapes.iter().for_each(|s| gather(s, texts)),
        _ => {}
    }
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
    let switches = ["fluid.ambient", "render.medium.scattering", "render.floor", "render.outline", "color"];
    let buttons = [
        "run", "step", "clear", "view", "frame", "picture", "undo", "redo", "help", "open", "save",
        "save-as", "restart", "scenes",
    ];
    !switches.contains(&name)
        && !buttons.contains(&name)
        && !["ink.", "view.", "slice."].iter().any(|group| name.starts_with(group))
}

#[test]
fn a_buoyancy_can_be_dragged_below_zero() {
    let mut rig = Rig::new();
    let rail = rig.place("smoke.green.buoyancy");
    rig.drag(rail.center(), rail.left_center() + vec2(6.0, 0.0));
    assert!(rig.model.settings.params.smoke[1].buoyancy < -4.0);
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
const LIMITED: &str = "is out of range";

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
    assert!(rig.says("9999 is out of range: 0 to 100 [1/s]; set to 100"), "{:?}", rig.texts);
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
    rig.readout.status.state = State::Failed("index out of bounds".into());
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
    assert_eq!((tags("acts now"), tags("look only")), (3, 2));
}
