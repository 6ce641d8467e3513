//! A section of the panel: a header that folds it and names the effect of a change.

use egui::{Align, Align2, CollapsingHeader, FontId, Layout, Rect, RichText, Sense, Ui, vec2};

use super::theme;
use crate::parameter::Effect;

/// Shows a section that can be folded.
///
/// `effect` is that of a change in it; none without settings.
pub fn section(ui: &mut Ui, title: &str, effect: Option<Effect>, contents: impl FnOnce(&mut Ui)) {
    let top = ui.cursor().min;
    let band = Rect::from_min_size(top, vec2(ui.available_width(), 24.0));
    ui.painter().rect_filled(band, 4.0, theme::RAISED);
    if let Some(effect) = effect {
        tag(ui, band, effect);
    }
    ui.spacing_mut().interact_size.y = 24.0;
    let header = CollapsingHeader::new(RichText::new(title).color(theme::TEXT).strong()).default_open(true);
    header.show_unindented(ui, |ui| {
        ui.spacing_mut().interact_size.y = 20.0;
        ui.add_space(2.0);
        contents(ui);
        ui.add_space(6.0);
    });
}

fn tag(ui: &Ui, band: Rect, effect: Effect) {
    let at = band.right_center() - vec2(8.0, 0.0);
    let drawn =
        ui.painter().text(at, Align2::RIGHT_CENTER, effect.name(), FontId::proportional(11.0), theme::QUIET);
    ui.interact(drawn, ui.id().with(("cost", band.min.y as i32)), Sense::hover())
        .on_hover_text(effect.help());
}

/// A small heading inside a section, with its unit at the right.
pub fn heading(ui: &mut Ui, text: &str, unit: &str) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.label(RichText::new(text).size(12.0).color(theme::TEXT));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(RichText::new(unit).size(11.0).color(theme::QUIET));
        });
    });
}
