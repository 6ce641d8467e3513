//! The panel at the right of the window, the help, and the notices over the view. It depends on egui and the
//! [`Model`], but not on window, OpenGL or solver, so tests drive it without a display.

mod air;
mod brush;
mod dialog;
mod head;
mod help;
mod light_and_tone;
mod notice;
mod row;
mod section;
mod shown_field;
mod smokes;
mod stats;
pub mod theme;
mod timeline_strip;

use std::collections::BTreeMap;

use egui::{Context, Frame, Margin, Rect, ScrollArea, SidePanel, Stroke, TopBottomPanel};

use super::action::Action;
use super::model::{Model, Readout};
use super::settings::Settings;

/// Result of showing the panel once.
#[derive(Clone, Debug, Default)]
pub struct Out {
    /// Requested actions.
    pub actions: Vec<Action>,
    /// Rectangles of the controls \[pt\], for tests that drive the mouse.
    pub places: BTreeMap<&'static str, Rect>,
}

/// Shows everything over and beside the view.
pub fn show(ctx: &Context, model: &mut Model, readout: &Readout) -> Out {
    let mut out = Out::default();
    if model.panel {
        let frame = Frame::new().fill(theme::GROUND);
        SidePanel::right("panel").exact_width(theme::WIDTH).resizable(false).frame(frame).show(ctx, |ui| {
            contents(ui, model, readout, &mut out);
        });
    }
    if model.panel {
        timeline_strip::show(ctx, &mut model.playback, &mut out);
    }
    notice::show(ctx, model, readout);
    help::show(ctx, &mut model.help);
    dialog::show(ctx, model, &mut out);
    note_history(ctx, model);
    out
}

fn contents(ui: &mut egui::Ui, model: &mut Model, readout: &Readout, out: &mut Out) {
    let padding = Frame::new().inner_margin(Margin::symmetric(theme::MARGIN as i8, 8)).fill(theme::GROUND);
    TopBottomPanel::top("transport").frame(padding).show_separator_line(false).show_inside(ui, |ui| {
        head::show(ui, model, readout, out);
    });
    let line = ui.available_rect_before_wrap();
    ui.painter().hline(line.x_range(), line.top(), Stroke::new(1.0, theme::LINE));
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        Frame::new().inner_margin(Margin::symmetric(theme::MARGIN as i8, 6)).show(ui, |ui| {
            if model.loading.is_some() {
                ui.disable();
            }
            brush::show(ui, model, out);
            smokes::show(ui, model, out);
            air::show(ui, model, out);
            shown_field::show(ui, model, out);
            light_and_tone::show(ui, model, out);
            stats::show(ui, readout);
        });
    });
}

/// Records a change once the mouse is released and typing has ended.
fn note_history(ctx: &Context, model: &mut Model) {
    let settled = !ctx.input(|i| i.pointer.any_down()) && !ctx.wants_keyboard_input();
    model.history.note(&model.settings, settled && model.loading.is_none(), Settings::change);
}

#[cfg(test)]
mod tests;
