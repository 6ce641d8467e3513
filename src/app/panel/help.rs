//! The help over the view: all keys and mouse actions, from the table of bindings.

use egui::{Align2, Context, Grid, RichText, ScrollArea, Ui, Window};

use super::{Out, theme};
use crate::app::action::{BINDINGS, MOUSE};

/// Margin of the help in a small window, with its own edges and title \[pt\].
const EDGE: egui::Vec2 = egui::vec2(48.0, 90.0);

/// Width below which the mouse follows below the keys \[pt\].
const TWO_COLUMNS: f32 = 720.0;

pub(super) fn show(ctx: &Context, open: &mut bool, out: &mut Out) {
    if !*open {
        return;
    }
    let room = ctx.content_rect().size() - EDGE;
    let window = Window::new("Keys and mouse")
        .fixed_size(room)
        .anchor(Align2::CENTER_CENTER, [0.0, 0.0])
        .collapsible(false)
        .resizable(false)
        .open(open)
        .show(ctx, |ui| {
            ScrollArea::both().max_width(room.x).max_height(room.y).show(ui, |ui| {
                let both = |ui: &mut Ui| {
                    ui.vertical(keys);
                    ui.add_space(28.0);
                    ui.vertical(mouse);
                };
                let text = if room.x < TWO_COLUMNS { ui.vertical(both) } else { ui.horizontal_top(both) };
                out.places.insert("help.text", text.response.rect);
            });
        });
    if let Some(window) = window {
        out.places.insert("help.window", window.response.rect);
    }
}

fn keys(ui: &mut Ui) {
    Grid::new("keys").num_columns(2).spacing([18.0, 5.0]).show(ui, |ui| {
        for binding in &BINDINGS {
            entry(ui, &binding.label(), binding.help);
        }
    });
}

fn mouse(ui: &mut Ui) {
    Grid::new("mouse").num_columns(2).spacing([18.0, 5.0]).show(ui, |ui| {
        for (what, does) in MOUSE {
            entry(ui, what, does);
        }
    });
    ui.add_space(12.0);
    ui.set_max_width(300.0);
    let text = "The ball moves in a plane that faces you. It adds smoke of the chosen colour, heat, and \
                the push of your hand. Paused, you see what you paint at once, and no time passes.";
    ui.label(RichText::new(text).color(theme::QUIET));
}

fn entry(ui: &mut Ui, what: &str, does: &str) {
    ui.label(RichText::new(what).color(theme::ACCENT));
    ui.label(does);
    ui.end_row();
}
