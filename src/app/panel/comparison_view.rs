//! Comparing two settings: which side is edited, how they differ, and copying one to the other.

use egui::{
    Align2, Area, Button, Color32, Context, Grid, Id, Order, Rect, RichText, TextWrapMode, Ui, pos2, vec2,
};

use super::section::{Head, section};
use super::{Out, theme};
use crate::app::action::Action;
use crate::app::model::Model;
use crate::app::settings::Side;

/// Gap between the two halves of the view \[pt\].
const GAP: f32 = 2.0;

/// Names of the chips in tests.
const CHIPS: [&str; 2] = ["side.a", "side.b"];

/// Returns the left and the right half of the view, for A and B; without a comparison, the view itself.
pub fn halves(view: Rect, comparing: bool) -> Vec<Rect> {
    if !comparing {
        return vec![view];
    }
    // Both have the same whole number of points, so that their pictures have the same size.
    let width = (0.5 * (view.width() - GAP)).floor().max(1.0);
    let size = vec2(width, view.height());
    let right = pos2(view.right() - width, view.top());
    vec![Rect::from_min_size(view.min, size), Rect::from_min_size(right, size)]
}

pub(super) fn show(ui: &mut Ui, model: &Model, out: &mut Out) {
    if !model.settings.is_compared() {
        if out.is_searching() && out.finds_words("compare two settings side by side") {
            button(ui, "Compare", Action::Compare, out);
        }
        return;
    }
    let head = Head { title: "Compare", effect: None, changed: false };
    section(ui, head, out, |ui, out| {
        if out.finds_words("compare two settings side by side difference copy") {
            edited(ui, model, out);
            differences(ui, model);
            ends(ui, out);
        }
    });
}

fn edited(ui: &mut Ui, model: &Model, out: &mut Out) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.label(RichText::new("This panel edits").color(theme::QUIET));
        for (side, place) in Side::BOTH.into_iter().zip(["edit.a", "edit.b"]) {
            let name = format!("{} ({})", side.letter(), ["left", "right"][side as usize]);
            let label = ui.selectable_label(model.settings.side == side, name);
            out.places.insert(place, label.rect);
            if label.on_hover_text("X changes between them. The smoke is painted on both.").clicked() {
                out.actions.push(Action::EditSide(side));
            }
        }
    });
}

/// Shows the settings that differ, with both values.
fn differences(ui: &mut Ui, model: &Model) {
    let all = model.settings.differences();
    if all.is_empty() {
        let text = "No difference yet: change a setting of A or of B.";
        ui.label(RichText::new(text).size(11.5).color(theme::QUIET));
        return;
    }
    Grid::new("differences").num_columns(3).spacing([10.0, 3.0]).show(ui, |ui| {
        for head in ["", "A", "B"] {
            ui.label(RichText::new(head).size(11.5).color(theme::QUIET));
        }
        ui.end_row();
        for (name, a, b) in all {
            ui.label(RichText::new(super::control::capitalised(&name)).color(theme::TEXT));
            ui.label(RichText::new(a).color(theme::ACCENT));
            ui.label(RichText::new(b).color(theme::ACCENT));
            ui.end_row();
        }
    });
}

fn ends(ui: &mut Ui, out: &mut Out) {
    ui.add_space(2.0);
    for line in [
        [("Copy A to B", Action::CopySide(Side::A)), ("Copy B to A", Action::CopySide(Side::B))],
        [("End, keep A", Action::KeepSide(Side::A)), ("End, keep B", Action::KeepSide(Side::B))],
    ] {
        ui.horizontal(|ui| line.into_iter().for_each(|(text, action)| button(ui, text, action, out)));
    }
}

fn button(ui: &mut Ui, text: &str, action: Action, out: &mut Out) {
    let width = (theme::WIDTH - 2.0 * theme::MARGIN - 6.0) / 2.0;
    let response = ui.add(Button::new(text).min_size(vec2(width, 24.0)));
    out.places.insert(action.name(), response.rect);
    if response.on_hover_text(action.help()).clicked() {
        out.actions.push(action);
    }
}

/// Shows a letter in the corner of each half; a click edits that side.
pub(super) fn chips(ctx: &Context, model: &Model, out: &mut Out) {
    if !model.settings.is_compared() {
        return;
    }
    for (side, half) in Side::BOTH.into_iter().zip(halves(ctx.available_rect(), true)) {
        let edited = model.settings.side == side;
        let text = if edited { format!("{}  edited", side.letter()) } else { side.letter().to_owned() };
        let color = if edited { theme::ACCENT } else { theme::TEXT };
        let chip = Area::new(Id::new(("side", side.letter())))
            .order(Order::Background)
            .fixed_pos(half.left_top() + vec2(10.0, 10.0))
            .pivot(Align2::LEFT_TOP)
            .show(ctx, |ui| {
                let fill = Color32::from_black_alpha(170);
                ui.add(
                    Button::new(RichText::new(text).size(14.0).color(color))
                        .fill(fill)
                        .wrap_mode(TextWrapMode::Extend),
                )
            })
            .inner;
        out.places.insert(CHIPS[side as usize], chip.rect);
        if chip.on_hover_text("Edit this side in the panel (X).").clicked() {
            out.actions.push(Action::EditSide(side));
        }
    }
}
