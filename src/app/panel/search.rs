//! The search field at the top of the panel, which finds rows by name, key or description.

use egui::{Align, Button, Layout, RichText, TextEdit, Ui, vec2};

use super::{Out, theme};

/// Identity of the field.
const FIELD: &str = "search of the panel";

/// Returns whether the search field has the keyboard.
pub(in crate::app) fn has_keyboard(ctx: &egui::Context) -> bool {
    ctx.memory(|memory| memory.has_focus(egui::Id::new(FIELD)))
}

pub(super) fn show(ui: &mut Ui, text: &mut String, out: &mut Out) {
    let size = vec2(ui.available_width(), 22.0);
    // A fixed id keeps the focus: the button that appears with the first letter shifts automatic ids.
    ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
        if !text.is_empty()
            && ui.add(Button::new("×").frame(false)).on_hover_text("Show all again.").clicked()
        {
            text.clear();
        }
        let field = TextEdit::singleline(text)
            .id(egui::Id::new(FIELD))
            .hint_text("Find a setting")
            .desired_width(f32::INFINITY);
        let response = ui.add(field);
        out.places.insert("search", response.rect);
        if (response.has_focus() || response.lost_focus())
            && ui.input(|input| input.key_pressed(egui::Key::Escape))
        {
            text.clear();
        }
    });
}

/// Says that no row matches.
pub(super) fn nothing(ui: &mut Ui, out: &Out) {
    if out.is_searching() && !out.found {
        ui.label(
            RichText::new(format!("No setting is called \u{201c}{}\u{201d}.", out.search))
                .color(theme::QUIET),
        );
    }
}
