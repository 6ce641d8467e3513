//! A section of the panel: a head that folds it away and says what a change in it costs.

use egui::{Align, Align2, CollapsingHeader, FontId, Layout, RichText, Sense, Ui, vec2};

use super::theme;

/// What a change costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// It acts at once on the smoke already there.
    ActsNow,
    /// Only the picture changes, not the flow.
    LookOnly,
    /// There is nothing to change.
    None,
}

impl Cost {
    fn tag(self) -> (&'static str, &'static str) {
        match self {
            Self::ActsNow => ("acts now", "Changes act at once on the smoke already there."),
            Self::LookOnly => ("look only", "Changes the picture, not the flow."),
            Self::None => ("", ""),
        }
    }
}

/// Shows a section that can be folded.
pub fn section(ui: &mut Ui, title: &str, cost: Cost, contents: impl FnOnce(&mut Ui)) {
    let top = ui.cursor().min;
    let band = egui::Rect::from_min_size(top, vec2(ui.available_width(), 24.0));
    ui.painter().rect_filled(band, 4.0, theme::RAISED);
    tag(ui, band, cost);
    ui.spacing_mut().interact_size.y = 24.0;
    let header = CollapsingHeader::new(RichText::new(title).color(theme::TEXT).strong()).default_open(true);
    header.show_unindented(ui, |ui| {
        ui.spacing_mut().interact_size.y = 20.0;
        ui.add_space(2.0);
        contents(ui);
        ui.add_space(6.0);
    });
}

fn tag(ui: &Ui, band: egui::Rect, cost: Cost) {
    let (text, help) = cost.tag();
    if text.is_empty() {
        return;
    }
    let at = band.right_center() - vec2(8.0, 0.0);
    let drawn = ui.painter().text(at, Align2::RIGHT_CENTER, text, FontId::proportional(11.0), theme::QUIET);
    ui.interact(drawn, ui.id().with(("cost", band.min.y as i32)), Sense::hover()).on_hover_text(help);
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
