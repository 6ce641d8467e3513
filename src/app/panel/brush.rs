//! The brush: its ink, the ink's colour, and its other effects.

use egui::{Align2, Color32, FontId, Rect, Rgba, RichText, Sense, Stroke, StrokeKind, Ui, vec2};

use super::row::Row;
use super::section::{Head, section};
use super::{Out, theme};
use crate::app::action::Action;
use crate::app::model::Model;
use crate::app::settings::{Amount, Brush, Ink};
use crate::parameter::{self, Effect};

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let ink = model.settings.brush.ink;
    let changed = Brush { ink, ..model.defaults.brush.clone() } != model.settings.brush
        || model.settings.look.colors != model.defaults.look.colors;
    let head = Head { title: "Cursor", effect: Some(Effect::ActsNow), changed };
    let reset = section(ui, head, out, |ui, out| {
        if out.finds_words("colour color swatch red green blue white smoke ink brush") {
            swatches(ui, model, out);
            editor(ui, model, out);
        }
        adds(ui, model, out);
    });
    if reset {
        model.settings.brush = Brush { ink, ..model.defaults.brush.clone() };
        model.settings.look.colors = model.defaults.look.colors;
    }
}

fn swatches(ui: &mut Ui, model: &Model, out: &mut Out) {
    ui.horizontal(|ui| {
        let gap = 6.0;
        ui.spacing_mut().item_spacing.x = gap;
        let width = (ui.available_width() - 3.0 * gap) / 4.0;
        for ink in Ink::ALL {
            let (rect, response) = ui.allocate_exact_size(vec2(width, 34.0), Sense::click());
            swatch(ui, rect, model, ink, response.hovered());
            out.places.insert(ink.place(), rect);
            if response.on_hover_text(format!("{} smoke", ink.called(&model.settings))).clicked() {
                out.actions.push(Action::Pick(ink));
            }
        }
    });
}

fn swatch(ui: &Ui, rect: Rect, model: &Model, ink: Ink, hot: bool) {
    let color = screen(model.settings.brush.color(ink, &model.settings.look));
    let chosen = model.settings.brush.ink == ink;
    let inner = rect.shrink(3.0);
    ui.painter().rect_filled(inner, 4.0, color);
    if chosen || hot {
        let line = if chosen { Stroke::new(2.0, Color32::WHITE) } else { Stroke::new(1.0, theme::QUIET) };
        ui.painter().rect_stroke(rect.shrink(1.0), 6.0, line, StrokeKind::Inside);
    }
    let ink_color = if color.intensity() > 0.45 { Color32::from_black_alpha(200) } else { Color32::WHITE };
    let at = inner.right_bottom() - vec2(5.0, 3.0);
    let key = Action::Pick(ink).key();
    ui.painter().text(at, Align2::RIGHT_BOTTOM, key, FontId::proportional(12.0), ink_color);
}

/// Converts a linear colour to the screen's.
pub(super) fn screen([r, g, b]: [f32; 3]) -> Color32 {
    Rgba::from_rgb(r, g, b).into()
}

/// Shows the editor of the ink's colour; for white, of its proportions.
fn editor(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let ink = model.settings.brush.ink;
    if ink != Ink::White {
        return color(ui, model, ink as usize, out);
    }
    for (c, path) in ["brush.white.red", "brush.white.green", "brush.white.blue"].into_iter().enumerate() {
        let swatch = screen(model.settings.look.colors[c]);
        let name = Ink::ALL[c].called(&model.settings);
        let value = &mut model.settings.brush.white[c];
        let default = model.defaults.brush.white[c];
        Row::of(parameter::of(path)).swatch(swatch).named(name).show(ui, value, default, out);
    }
}

fn color(ui: &mut Ui, model: &mut Model, c: usize, out: &mut Out) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let called = Ink::ALL[c].called(&model.settings);
        ui.label(RichText::new(called).color(theme::QUIET));
        // The editor rounds its value to the screen's precision even when untouched.
        let mut edited = model.settings.look.colors[c];
        let button = ui.color_edit_button_rgb(&mut edited);
        out.places.insert("color", button.rect);
        if screen(edited) != screen(model.settings.look.colors[c]) {
            model.settings.look.colors[c] = edited;
        }
        let default = model.defaults.look.colors[c];
        if model.settings.look.colors[c] != default && ui.small_button("reset").clicked() {
            model.settings.look.colors[c] = default;
        }
    });
}

fn adds(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let (brush, default) = (&mut model.settings.brush, &model.defaults.brush);
    if out.finds_words("brush adds erases smoke heat push eraser") {
        kinds(ui, brush, out);
    }
    Row::of(parameter::of("brush.radius")).soft(0.2 * default.radius..=6.0 * default.radius).show(
        ui,
        &mut brush.radius,
        default.radius,
        out,
    );
    if brush.erases {
        return;
    }
    for (path, value, default) in [
        ("brush.density", &mut brush.smoke, default.smoke),
        ("brush.heat", &mut brush.heat, default.heat),
        ("brush.force", &mut brush.force, default.force),
    ] {
        amount(ui, value, |ui, value| Row::of(parameter::of(path)).show(ui, value, default.value, out));
    }
}

/// Shows the choice of smoke, heat or eraser.
fn kinds(ui: &mut Ui, brush: &mut Brush, out: &mut Out) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        for (erases, text) in [(false, "Adds"), (true, "Erases")] {
            let label = ui.selectable_label(brush.erases == erases, text);
            if erases {
                out.places.insert("erase", label.rect);
            }
            let help = "Takes smoke and heat away under the ball (E).";
            if label.on_hover_text(if erases { help } else { "Adds what is ticked beside." }).clicked() {
                brush.erases = erases;
            }
        }
        if !brush.erases {
            ui.checkbox(&mut brush.smoke.on, "smoke");
            ui.checkbox(&mut brush.heat.on, "heat");
            ui.checkbox(&mut brush.force.on, "push");
        }
    });
}

fn amount(ui: &mut Ui, amount: &mut Amount, row: impl FnOnce(&mut Ui, &mut f32)) {
    ui.add_enabled_ui(amount.on, |ui| row(ui, &mut amount.value));
}

impl Ink {
    fn place(self) -> &'static str {
        ["ink.red", "ink.green", "ink.blue", "ink.white"][self as usize]
    }
}
