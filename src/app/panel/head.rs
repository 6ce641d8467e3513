//! The head of the panel: the scene, its time, and buttons with their keys.

use egui::{Align, Button, Frame, Layout, Margin, RichText, Ui, vec2};

use super::{Out, theme, thumbnails};
use crate::app::action::Action;
use crate::app::model::{Model, Readout};
use crate::render::Mode;
use crate::scene::builtin;
use crate::worker::RunState;

pub(super) fn show(ui: &mut Ui, model: &Model, readout: &Readout, out: &mut Out) {
    title(ui, model, readout, out);
    if let RunState::Failed(why) = &readout.status.state {
        broken(ui, why, out);
    }
    if let Some(trouble) = &readout.status.trouble {
        ui.label(RichText::new(trouble).color(theme::ALARM));
    }
    buttons(ui, model, readout, out);
}

fn title(ui: &mut Ui, model: &Model, readout: &Readout, out: &mut Out) {
    ui.horizontal(|ui| {
        scenes(ui, model, out);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let time = format!("{:.2} s", readout.shown);
            ui.label(RichText::new(time).monospace().color(theme::TEXT))
                .on_hover_text("Simulated time shown.");
            let (text, color) = match &model.loading {
                Some(name) => (format!("loading {name}"), theme::ACCENT),
                None if let Some(frame) = readout.status.returning => {
                    (format!("computing frame {frame}"), theme::ACCENT)
                }
                None if readout.cancelling => ("cancelling the step".into(), theme::ACCENT),
                None if readout.pausing => ("pausing after this step".into(), theme::ACCENT),
                None => state(&readout.status.state),
            };
            ui.label(RichText::new(text).size(12.0).color(color));
        });
    });
}

/// Shows the name of the scene, which opens a menu of the built-in ones.
fn scenes(ui: &mut Ui, model: &Model, out: &mut Out) {
    let title = RichText::new(format!("{} ⏷", model.title)).heading().color(theme::TEXT);
    let menu = ui.menu_button(title, |ui| {
        for line in builtin::NAMES.chunks(3) {
            ui.horizontal(|ui| line.iter().for_each(|name| scene(ui, name, out)));
        }
        recent(ui, model, out);
    });
    out.places.insert("scenes", menu.response.rect);
    menu.response.on_hover_text("Switch to another scene. Undo returns to this one.");
}

/// Size of a scene's picture in the menu \[pt\].
const PICTURE: egui::Vec2 = vec2(88.0, 64.0);

/// Shows the picture and name of a built-in scene; a click opens it.
fn scene(ui: &mut Ui, name: &'static str, out: &mut Out) {
    let (rect, entry) = ui.allocate_exact_size(PICTURE + vec2(0.0, 18.0), egui::Sense::click());
    let color = if entry.hovered() { egui::Color32::WHITE } else { theme::TEXT };
    let place = egui::Rect::from_min_size(rect.min, PICTURE);
    if let Some(picture) = thumbnails::of(ui.ctx(), name) {
        let whole = egui::Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(1.0, 1.0));
        ui.painter().image(picture.id(), place, whole, egui::Color32::WHITE);
    }
    if entry.hovered() {
        let line = egui::Stroke::new(1.5, theme::ACCENT);
        ui.painter().rect_stroke(place, 2.0, line, egui::StrokeKind::Inside);
    }
    let font = egui::FontId::proportional(12.0);
    ui.painter().text(rect.center_bottom(), egui::Align2::CENTER_BOTTOM, name, font, color);
    out.places.insert(name, rect);
    if entry.on_hover_text(builtin::summary(name).unwrap_or_default()).clicked() {
        out.actions.push(Action::Open(name));
        ui.close();
    }
}

/// Shows the scene files opened or saved of late.
fn recent(ui: &mut Ui, model: &Model, out: &mut Out) {
    if model.recent.is_empty() {
        return;
    }
    ui.separator();
    for (at, path) in model.recent.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let action = Action::Recent(at);
        let entry = ui.button(name.as_ref()).on_hover_text(path.display().to_string());
        out.places.insert(action.name(), entry.rect);
        if entry.clicked() {
            out.actions.push(action);
            ui.close();
        }
    }
}

fn state(state: &RunState) -> (String, egui::Color32) {
    let (text, color) = match state {
        RunState::Running => ("running", theme::ACCENT),
        RunState::Paused => ("paused", theme::QUIET),
        RunState::Failed(_) => ("stopped", theme::ALARM),
    };
    (text.into(), color)
}

fn broken(ui: &mut Ui, why: &str, out: &mut Out) {
    let frame = Frame::new().fill(egui::Color32::from_rgb(0x3a, 0x1f, 0x1e)).inner_margin(Margin::same(8));
    frame.corner_radius(4).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.label(RichText::new("The solver broke down").strong().color(theme::ALARM));
        ui.label(why);
        let again = ui.button("Start the scene over");
        out.places.insert("restart", again.rect);
        if again.clicked() {
            out.actions.push(Action::Restart);
        }
    });
}

fn buttons(ui: &mut Ui, model: &Model, readout: &Readout, out: &mut Out) {
    let status = &readout.status;
    let running = status.state == RunState::Running;
    let alive = !matches!(status.state, RunState::Failed(_));
    let run = match (running, readout.pausing) {
        (true, true) => "Stop",
        (true, false) => "Pause",
        (false, _) => "Run",
    };
    let smoke = model.view == Mode::Smoke;
    let view = if smoke { "Velocity" } else { "Smoke" };
    let is_ready = model.loading.is_none();
    let here = alive && is_ready;
    let help = |action: Action, what: Option<&str>| match what {
        Some(what) => format!("{}: {what}", action.help()),
        None => format!("nothing to {}", action.help()),
    };
    let (undoes, redoes) = (model.history.undoes(), model.history.redoes());
    let (undo, redo) = (help(Action::Undo, undoes), help(Action::Redo, redoes));
    line(ui, |ui| {
        button(ui, run, Action::RunPause, alive, running, out);
        button(ui, "Step", Action::Step, here, false, out);
        button(ui, "Restart", Action::Restart, is_ready, false, out);
    });
    line(ui, |ui| {
        button(ui, "Clear", Action::Clear, here, false, out);
        button_with_help(ui, "Undo", Action::Undo, undo, is_ready && undoes.is_some(), false, out);
        button_with_help(ui, "Redo", Action::Redo, redo, is_ready && redoes.is_some(), false, out);
    });
    line(ui, |ui| {
        button(ui, view, Action::SwitchView, true, !smoke, out);
        button(ui, "Frame", Action::Frame, true, false, out);
        button(ui, "Compare", Action::Compare, here, model.settings.is_compared(), out);
    });
    line(ui, |ui| {
        ui.spacing_mut().button_padding.x = 5.0;
        for (text, action, on) in [
            ("Picture", Action::Picture, false),
            ("Open", Action::OpenFile, false),
            ("Save", Action::Save, false),
            ("Help", Action::ToggleHelp, model.help),
        ] {
            wide(ui, text, action, 4.0, on, out);
        }
    });
}

fn line(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        contents(ui);
    });
}

/// Longest key label that fits beside a button.
const LONGEST_KEY: usize = 8;

/// Shows a button with its key at its right end, of which `count` fill a line.
fn wide(ui: &mut Ui, text: &str, action: Action, count: f32, on: bool, out: &mut Out) {
    let help = action.help().to_owned();
    button_of_width(
        (theme::WIDTH - 2.0 * theme::MARGIN + 4.0) / count - 4.0,
        ui,
        text,
        action,
        help,
        true,
        on,
        out,
    );
}

/// Shows a button with its key at its right end; three of them fill a line.
fn button(ui: &mut Ui, text: &str, action: Action, enabled: bool, on: bool, out: &mut Out) {
    button_with_help(ui, text, action, action.help().to_owned(), enabled, on, out);
}

fn button_with_help(
    ui: &mut Ui,
    text: &str,
    action: Action,
    help: String,
    enabled: bool,
    on: bool,
    out: &mut Out,
) {
    let width = (theme::WIDTH - 2.0 * theme::MARGIN - 2.0 * 4.0) / 3.0;
    button_of_width(width, ui, text, action, help, enabled, on, out);
}

#[expect(clippy::too_many_arguments, reason = "the words of one button")]
fn button_of_width(
    width: f32,
    ui: &mut Ui,
    text: &str,
    action: Action,
    mut help: String,
    enabled: bool,
    on: bool,
    out: &mut Out,
) {
    let color = if on { theme::ACCENT } else { theme::TEXT };
    let key = action.key();
    let mut button = Button::new(RichText::new(text).color(color)).min_size(vec2(width, 26.0));
    if key.len() <= LONGEST_KEY {
        button = button.shortcut_text(RichText::new(key).size(10.5).color(theme::QUIET));
    } else {
        help = format!("{help} ({key})");
    }
    let response = ui.add_enabled(enabled, button).on_hover_text(&help).on_disabled_hover_text(&help);
    out.places.insert(action.name(), response.rect);
    if response.clicked() {
        out.actions.push(action);
    }
}
