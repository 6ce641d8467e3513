//! A section of the panel: a header that folds it, names the effect of a change, and reverts its changes.

use egui::collapsing_header::CollapsingState;
use egui::{Align, Align2, FontId, Layout, Rect, RichText, Sense, Ui, pos2, vec2};

use super::{Out, theme};
use crate::parameter::Effect;

/// Height of a header \[pt\].
const HEIGHT: f32 = 24.0;

/// Header of a section.
pub struct Head {
    /// Name of the section, which also identifies it in the persistent state.
    pub title: &'static str,
    /// Effect of a change in it; none without settings.
    pub effect: Option<Effect>,
    /// Whether it differs from the opened scene: then a button reverts it.
    pub changed: bool,
}

/// Shows a section that can be folded; during a search only the matching rows, without a header. Returns
/// whether its changes are to be reverted.
pub fn section(ui: &mut Ui, head: Head, out: &mut Out, contents: impl FnOnce(&mut Ui, &mut Out)) -> bool {
    if out.is_searching() {
        contents(ui, out);
        return false;
    }
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::click());
    ui.painter().rect_filled(rect, 4.0, theme::RAISED);
    let closed = out.closed.contains(head.title);
    let id = ui.make_persistent_id(head.title);
    let mut state = CollapsingState::load_with_default_open(ui.ctx(), id, !closed);
    state.set_open(!closed);
    if response.clicked() {
        state.toggle(ui);
        match closed {
            true => drop(out.closed.remove(head.title)),
            false => drop(out.closed.insert(head.title.to_owned())),
        }
    }
    out.places.insert(head.title, rect);
    if out.revealed == Some(head.title) {
        ui.scroll_to_rect(rect, Some(Align::TOP));
        // The section grows while it opens, so the panel scrolls until then.
        out.revealed = out.revealed.filter(|_| state.openness(ui.ctx()) < 1.0);
        ui.ctx().request_repaint();
    }
    arrow(ui, rect, state.openness(ui.ctx()));
    let at = rect.left_center() + vec2(22.0, 0.0);
    let color = if response.hovered() { egui::Color32::WHITE } else { theme::TEXT };
    ui.painter().text(at, Align2::LEFT_CENTER, head.title, FontId::proportional(13.5), color);
    let reset = head.changed && reset(ui, head.title, rect);
    if let Some(effect) = head.effect {
        let room = if head.changed { 26.0 } else { 0.0 };
        tag(ui, rect.with_max_x(rect.right() - room), effect);
    }
    state.show_body_unindented(ui, |ui| {
        ui.add_space(2.0);
        contents(ui, out);
        ui.add_space(6.0);
    });
    reset
}

/// Draws the triangle that points down when the section is open.
fn arrow(ui: &Ui, rect: Rect, openness: f32) {
    let middle = rect.left_center() + vec2(12.0, 0.0);
    let turn = egui::emath::Rot2::from_angle(openness * std::f32::consts::FRAC_PI_2);
    let corner = |x: f32, y: f32| middle + turn * vec2(x, y);
    let points = vec![corner(-3.0, -4.0), corner(4.0, 0.0), corner(-3.0, 4.0)];
    ui.painter().add(egui::Shape::convex_polygon(points, theme::QUIET, egui::Stroke::NONE));
}

/// Returns true if the button at the right of a header was clicked. It has a fixed id: a widget that appears
/// with the first changed value would shift the automatic ids of those after it, and egui would drop the
/// slider being dragged.
fn reset(ui: &Ui, title: &str, rect: Rect) -> bool {
    let middle = pos2(rect.right() - 14.0, rect.center().y);
    let place = Rect::from_center_size(middle, vec2(22.0, HEIGHT - 4.0));
    let response = ui
        .interact(place, ui.id().with(("reset", title)), Sense::click())
        .on_hover_text("Take all changes in this section back. Undo makes them again.");
    let color = if response.hovered() { egui::Color32::WHITE } else { theme::ACCENT };
    ui.painter().text(middle, Align2::CENTER_CENTER, "↺", FontId::proportional(15.0), color);
    response.clicked()
}

fn tag(ui: &Ui, band: Rect, effect: Effect) {
    let at = band.right_center() - vec2(8.0, 0.0);
    let drawn =
        ui.painter().text(at, Align2::RIGHT_CENTER, effect.name(), FontId::proportional(11.0), theme::QUIET);
    ui.interact(drawn, ui.id().with(("cost", band.min.y as i32)), Sense::hover())
        .on_hover_text(effect.help());
}

/// Shows a small heading inside a section, with its unit at the right.
pub fn heading(ui: &mut Ui, text: &str, unit: &str) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.label(RichText::new(text).size(12.0).color(theme::TEXT));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(RichText::new(unit).size(11.0).color(theme::QUIET));
        });
    });
}
