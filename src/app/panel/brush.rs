//! The cursor: which smoke it carries, how that looks, and what else it adds.

use egui::{Align2, Color32, FontId, Rect, Rgba, RichText, Sense, Stroke, StrokeKind, Ui, vec2};

use super::row::Row;
use super::section::{Cost, section};
use super::{Out, theme};
use crate::app::action::Action;
use crate::app::model::Model;
use crate::app::settings::{Amount, Ink};
use crate::worker::limits;

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    section(ui, "Cursor", Cost::ActsNow, |ui| {
        swatches(ui, model, out);
        editor(ui, model, out);
        adds(ui, model, out);
    });
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
            if response.on_hover_text(format!("{} smoke", ink.name())).clicked() {
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

/// A linear colour as the screen shows it.
fn screen([r, g, b]: [f32; 3]) -> Color32 {
    Rgba::from_rgb(r, g, b).into()
}

/// How the chosen smoke looks; for white, what it is made of.
fn editor(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let ink = model.settings.brush.ink;
    if ink != Ink::White {
        return color(ui, model, ink as usize, out);
    }
    for (c, (name, label)) in
        [("white.red", "Share of red"), ("white.green", "Share of green"), ("white.blue", "Share of blue")]
            .into_iter()
            .enumerate()
    {
        let value = &mut model.settings.brush.white[c];
        Row::new(name, label, 0.0..=1.0)
            .help("-", "How much of this smoke is in one dab of white.")
            .color(theme::SMOKES[c])
            .show(ui, value, model.defaults.brush.white[c], out);
    }
}

fn color(ui: &mut Ui, model: &mut Model, c: usize, out: &mut Out) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let ink = Ink::ALL[c].name().to_lowercase();
        ui.label(RichText::new(format!("Colour of the {ink} smoke")).color(theme::QUIET));
        // The editor rounds what it is given to what a screen can show, whether it is touched or not.
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
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.label(RichText::new("Adds").color(theme::QUIET));
        ui.checkbox(&mut brush.smoke.on, "smoke");
        ui.checkbox(&mut brush.heat.on, "heat");
        ui.checkbox(&mut brush.force.on, "force");
    });
    Row::new("brush.radius", "Radius", 0.2 * default.radius..=6.0 * default.radius)
        .help("m", "Radius of the ball that paints.")
        .typed(1e-4..=1e4)
        .logarithmic()
        .decimals(3)
        .show(ui, &mut brush.radius, default.radius, out);
    amount(ui, &mut brush.smoke, |ui, v| {
        Row::new("brush.smoke", "Density", 0.01..=5.0)
            .help("-", "Density in the middle of one dab.")
            .typed(limits::DENSITY)
            .logarithmic()
            .show(ui, v, default.smoke.value, out);
    });
    amount(ui, &mut brush.heat, |ui, v| {
        Row::new("brush.heat", "Heat", -100.0..=200.0)
            .help("K", "Temperature in the middle of one dab, above the air around; below zero it cools.")
            .typed(limits::HEAT)
            .decimals(1)
            .show(ui, v, default.heat.value, out);
    });
    amount(ui, &mut brush.force, |ui, v| {
        Row::new("brush.force", "Force", 0.0..=40.0)
            .help("1/s", "Velocity given to the air for each metre the ball is dragged.")
            .typed(-1000.0..=1000.0)
            .decimals(1)
            .show(ui, v, default.force.value, out);
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
