//! The shown field, and the position of a slice.

use egui::{ComboBox, RichText, Ui};

use super::row::Row;
use super::section::section;
use super::{Out, theme};
use crate::app::model::Model;
use crate::parameter::{self, Effect};
use crate::render::{Mode, Quantity, Slice};

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    section(ui, "View", Some(Effect::LookOnly), |ui| {
        modes(ui, model, out);
        if let Mode::Slice(slice) = &mut model.view {
            quantity(ui, slice, out);
            plane(ui, slice, out);
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
    Row::of(parameter::of("slice.position")).show(ui, &mut slice.position, Slice::default().position, out);
}
