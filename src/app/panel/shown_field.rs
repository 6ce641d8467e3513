//! The shown field, and the position of a slice.

use egui::gui_zoom::kb_shortcuts;
use egui::{ComboBox, Context, RichText, Ui};

use super::row::Row;
use super::section::{Head, section};
use super::{Out, theme};
use crate::app::model::Model;
use crate::parameter::{self, Effect};
use crate::render::{Mode, Quantity, Slice};

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let head = Head { title: "View", effect: Some(Effect::LookOnly), changed: false };
    section(ui, head, out, |ui, out| {
        if out.finds_words("view smoke arrows streamlines speed vorticity slice velocity") {
            modes(ui, model, out);
        }
        if out.finds_words("text size scale zoom") {
            scale(ui, out);
        }
        if let Mode::Slice(slice) = &mut model.view {
            if out.finds_words("slice field plane across") {
                quantity(ui, slice, out);
                plane(ui, slice, out);
            }
            Row::of(parameter::of("slice.position")).show(
                ui,
                &mut slice.position,
                Slice::default().position,
                out,
            );
            model.slice = *slice;
        }
    });
}

fn modes(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let slice = Mode::Slice(model.slice);
    let modes = [
        (Mode::Smoke, "view.smoke", "smoke", "The smoke, lit."),
        (Mode::Velocity, "view.arrows", "arrows", "Arrows along the flow; their length is its speed."),
        (Mode::Streamlines, "view.streamlines", "streamlines", "Lines along the flow of this instant."),
        (Mode::Speed, "view.speed", "speed", "Speed of the air, as a luminous volume."),
        (Mode::Vorticity, "view.vorticity", "vorticity", "Vorticity of the air, as a luminous volume."),
        (slice, "view.slice", "slice", "One field in a plane, in colours with a legend."),
    ];
    for line in modes.chunks(3) {
        ui.horizontal(|ui| {
            ui.add_space(10.0);
            for &(mode, place, name, help) in line {
                let shown = ui.selectable_label(model.view == mode, name).on_hover_text(help);
                out.places.insert(place, shown.rect);
                if shown.clicked() {
                    model.view = mode;
                }
            }
        });
    }
}

/// Step of the size of text by keys.
const KEY_STEP: f32 = 0.1;

/// Steps of the size of text and controls.
const SCALES: [f32; 9] = [0.6, 0.75, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 3.0];

/// Changes the size of text by the keys of browsers, within the steps: text too small to read could not be
/// enlarged again.
pub(super) fn scale_by_keys(ctx: &Context) {
    let [reset, larger, equals, smaller] = [
        kb_shortcuts::ZOOM_RESET,
        kb_shortcuts::ZOOM_IN,
        kb_shortcuts::ZOOM_IN_SECONDARY,
        kb_shortcuts::ZOOM_OUT,
    ]
    .map(|keys| ctx.input_mut(|input| input.consume_shortcut(&keys)));
    let now = ctx.zoom_factor();
    let step = |on: bool| if on { KEY_STEP } else { 0.0 };
    let wanted = if reset { 1.0 } else { now + step(larger || equals) - step(smaller) };
    let wanted = wanted.clamp(SCALES[0], SCALES[SCALES.len() - 1]);
    if (wanted - now).abs() > 1e-3 {
        ctx.set_zoom_factor((wanted * 100.0).round() / 100.0);
    }
}

/// Shows the scale of text and controls, relative to the desktop's.
fn scale(ui: &mut Ui, out: &mut Out) {
    let now = ui.ctx().zoom_factor();
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.label(RichText::new("Text size").color(theme::QUIET));
        let smaller = ui.button("−").on_hover_text("Smaller text (Ctrl −).");
        ui.label(format!("{:.0} %", 100.0 * now));
        let larger = ui.button("+").on_hover_text("Larger text (Ctrl +).");
        out.places.insert("scale.larger", larger.rect);
        let wanted = if larger.clicked() {
            SCALES.into_iter().find(|scale| *scale > now + 0.01)
        } else if smaller.clicked() {
            SCALES.into_iter().rev().find(|scale| *scale < now - 0.01)
        } else {
            None
        };
        wanted.into_iter().for_each(|scale| ui.ctx().set_zoom_factor(scale));
    });
}

fn quantity(ui: &mut Ui, slice: &mut Slice, out: &mut Out) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.label(RichText::new("Field").color(theme::QUIET));
        let menu = ComboBox::from_id_salt("slice").selected_text(slice.quantity.name()).show_ui(ui, |ui| {
            for quantity in Quantity::ALL {
                ui.selectable_value(&mut slice.quantity, quantity, quantity.name());
            }
        });
        out.places.insert("slice.field", menu.response.rect);
    });
}

fn plane(ui: &mut Ui, slice: &mut Slice, out: &mut Out) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.label(RichText::new("Across").color(theme::QUIET));
        for (axis, name, place) in [(0, "x", "slice.x"), (1, "y", "slice.y"), (2, "z", "slice.z")] {
            let shown = ui.radio_value(&mut slice.axis, axis, name);
            out.places.insert(place, shown.rect);
        }
    });
}
