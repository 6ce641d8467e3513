//! The panel at the right of the window, the help, and the notices over the view. It depends on egui and the
//! [`Model`], but not on window, OpenGL or solver, so tests drive it without a display.

mod air;
mod box_and_solver;
mod brush;
pub mod comparison_view;
mod control;
mod dialog;
mod export_form;
mod head;
mod help;
mod keyframes;
mod light_and_tone;
mod notice;
mod object_list;
mod row;
pub(super) mod search;
mod section;
mod shown_field;
mod shown_number;
mod smokes;
mod stats;
pub mod theme;
mod thumbnails;
mod timeline_strip;
mod typed_number;

#[cfg(test)]
pub(in crate::app) use box_and_solver::inflow_text;

use std::collections::{BTreeMap, BTreeSet};

use egui::{Context, Frame, Margin, Rect, ScrollArea, SidePanel, Stroke, TopBottomPanel};

use super::action::Action;
use super::model::{Model, Readout};
use super::settings::Settings;
use crate::parameter::Parameter;

/// Result of showing the panel once.
#[derive(Clone, Debug, Default)]
pub struct Out {
    /// Requested actions.
    pub actions: Vec<Action>,
    /// Rectangles of the controls \[pt\], for tests that drive the mouse.
    pub places: BTreeMap<&'static str, Rect>,
    /// Search text in lower case; empty without a search.
    search: String,
    /// Whether a row matches the search.
    found: bool,
    /// The folded sections.
    closed: BTreeSet<String>,
    /// Section to scroll to, until it is open.
    revealed: Option<&'static str>,
}

impl Out {
    fn is_searching(&self) -> bool {
        !self.search.is_empty()
    }

    /// Returns whether the row of a parameter is shown: without a search all are.
    fn finds(&mut self, parameter: &Parameter) -> bool {
        self.finds_words(&format!("{} {} {}", parameter.label, parameter.path, parameter.description))
    }

    /// Returns whether a control with these words is shown.
    fn finds_words(&mut self, words: &str) -> bool {
        let fits = words.to_lowercase().contains(&self.search);
        self.found |= fits;
        fits
    }
}

/// Shows everything over and beside the view.
pub fn show(ctx: &Context, model: &mut Model, readout: &Readout) -> Out {
    release_focus(ctx, model);
    shown_field::scale_by_keys(ctx);
    let search = model.search.trim().to_lowercase();
    let (closed, revealed) = (model.closed.clone(), model.revealed);
    let mut out = Out { search, closed, revealed, ..Out::default() };
    if model.panel {
        let frame = Frame::new().fill(theme::GROUND);
        SidePanel::right("panel").exact_width(theme::WIDTH).resizable(false).frame(frame).show(ctx, |ui| {
            contents(ui, model, readout, &mut out);
        });
    }
    if model.panel {
        timeline_strip::show(ctx, &mut model.playback, &mut out);
    }
    comparison_view::chips(ctx, model, &mut out);
    notice::show(ctx, model, readout);
    help::show(ctx, &mut model.help, &mut out);
    dialog::show(ctx, model, &mut out);
    note_history(ctx, model);
    model.closed.clone_from(&out.closed);
    model.revealed = out.revealed;
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
            search::show(ui, &mut model.search, out);
            comparison_view::show(ui, model, out);
            brush::show(ui, model, out);
            object_list::show(ui, model, readout, out);
            smokes::show(ui, model, out);
            air::show(ui, model, out);
            shown_field::show(ui, model, out);
            light_and_tone::show(ui, model, out);
            box_and_solver::show(ui, model, readout, out);
            export_form::show(ui, model, out);
            stats::show(ui, model, readout, out);
            search::nothing(ui, out);
        });
    });
}

/// Takes the keyboard from a text field when the mouse is pressed elsewhere, or moves into the view, so that
/// keys act on the smoke again.
fn release_focus(ctx: &Context, model: &Model) {
    let moved =
        ctx.input(|input| (input.pointer.delta() != egui::Vec2::ZERO).then(|| input.pointer.latest_pos()));
    let edge = ctx.content_rect().right() - theme::WIDTH;
    let in_view = moved.flatten().is_some_and(|at| at.x < edge);
    if in_view && model.dialog.is_none() && !egui::Popup::is_any_open(ctx) {
        ctx.memory_mut(|memory| memory.stop_text_input());
    }
    let pressed =
        ctx.input(|input| input.pointer.any_pressed().then(|| input.pointer.interact_pos()).flatten());
    let (Some(at), Some(id)) = (pressed, ctx.memory(|memory| memory.focused())) else {
        return;
    };
    if !ctx.read_response(id).is_some_and(|response| response.rect.contains(at)) {
        ctx.memory_mut(|memory| memory.surrender_focus(id));
    }
}

/// Records a change once the mouse is released and typing has ended.
fn note_history(ctx: &Context, model: &mut Model) {
    let committed = !ctx.input(|i| i.pointer.any_down()) && !ctx.wants_keyboard_input();
    model.history.note(&model.settings, committed && model.loading.is_none(), Settings::change);
}

#[cfg(test)]
mod tests;
