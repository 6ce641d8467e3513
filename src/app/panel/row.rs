//! One row of the panel: a label, a slider and a number, in columns that line up through all sections.

use std::ops::RangeInclusive;

use egui::{
    Align2, Color32, DragValue, FontId, Rect, Response, Sense, Slider, SliderClamping, Stroke, Ui, pos2, vec2,
};

use super::{Out, theme};

const LABEL: f32 = 100.0;
const NUMBER: f32 = 62.0;
const HEIGHT: f32 = 20.0;
/// Radius of the handle of a slider.
const HANDLE: f32 = 6.0;

/// A number that can be set.
pub struct Row {
    name: &'static str,
    label: &'static str,
    help: &'static str,
    unit: &'static str,
    soft: RangeInclusive<f32>,
    hard: RangeInclusive<f32>,
    logarithmic: bool,
    color: Color32,
    decimals: usize,
}

impl Row {
    /// A row; `name` is what tests call it, `help` what the tooltip says. The slider covers `soft`;
    /// numbers typed or dragged beyond it are kept within `hard`.
    pub fn new(name: &'static str, label: &'static str, soft: RangeInclusive<f32>) -> Self {
        let hard = soft.clone();
        let color = Color32::from_rgb(0x8a, 0x92, 0xa0);
        Self { name, label, help: "", unit: "", soft, hard, logarithmic: false, color, decimals: 2 }
    }

    /// What it means and in which unit.
    pub fn help(self, unit: &'static str, help: &'static str) -> Self {
        Self { unit, help, ..self }
    }

    /// What may be typed.
    pub fn typed(self, hard: RangeInclusive<f32>) -> Self {
        Self { hard, ..self }
    }

    /// Small values get as much room as large ones.
    pub fn logarithmic(self) -> Self {
        Self { logarithmic: true, ..self }
    }

    /// The colour of the filled part.
    pub fn color(self, color: Color32) -> Self {
        Self { color, ..self }
    }

    /// Digits after the point.
    pub fn decimals(self, decimals: usize) -> Self {
        Self { decimals, ..self }
    }

    /// Shows it; `default` is what a double-click on the label goes back to.
    pub fn show(self, ui: &mut Ui, value: &mut f32, default: f32, out: &mut Out) {
        ui.horizontal(|ui| {
            let label = self.label(ui, *value != default);
            if label.double_clicked() {
                *value = default;
            }
            out.places.insert(self.name, self.slider(ui, value).rect);
            self.number(ui, value);
        });
    }

    fn label(&self, ui: &mut Ui, changed: bool) -> Response {
        let (rect, response) = ui.allocate_exact_size(vec2(LABEL, HEIGHT), Sense::click());
        let hot = response.hovered();
        let color = if hot || changed { theme::TEXT } else { theme::QUIET };
        text(ui, rect, self.label, color);
        if changed {
            let at = rect.left_center() + vec2(3.0, 0.0);
            ui.painter().circle_filled(at, 2.5, theme::ACCENT);
        }
        let reset = if changed { "\nDouble-click: back to the default." } else { "" };
        response.on_hover_text(format!("{} [{}]{reset}", self.help, self.unit))
    }

    fn slider(&self, ui: &mut Ui, value: &mut f32) -> Response {
        let free = ui.available_width() - NUMBER - ui.spacing().item_spacing.x;
        ui.spacing_mut().slider_width = free.max(40.0);
        ui.spacing_mut().interact_size.y = HANDLE * 2.5;
        ui.visuals_mut().selection.bg_fill = self.color;
        let slider = Slider::new(value, self.soft.clone())
            .show_value(false)
            .clamping(SliderClamping::Never)
            .logarithmic(self.logarithmic)
            .smallest_positive(1e-4 * f64::from(*self.soft.end()))
            .trailing_fill(!self.has_two_sides());
        let response = ui.add(slider);
        if self.has_two_sides() {
            self.fill_from_zero(ui, response.rect, *value);
        }
        response.on_hover_text(format!("{} [{}]", self.help, self.unit))
    }

    /// Whether zero is a value in the middle rather than the end.
    fn has_two_sides(&self) -> bool {
        !self.logarithmic && *self.soft.start() < 0.0 && *self.soft.end() > 0.0
    }

    /// The filled part of a slider with two sides: from zero to the handle, and a tick at zero.
    fn fill_from_zero(&self, ui: &Ui, rect: Rect, value: f32) {
        let range = rect.x_range().shrink(HANDLE);
        let x = |v: f32| egui::remap_clamp(v, self.soft.clone(), range.min..=range.max);
        let (zero, at, y) = (x(0.0), x(value), rect.center().y);
        let tick = Stroke::new(1.0, theme::QUIET);
        if (at - zero).abs() > HANDLE {
            let end = at - HANDLE * (at - zero).signum();
            let half = 0.5 * ui.spacing().slider_rail_height;
            let fill = Rect::from_two_pos(pos2(zero, y - half), pos2(end, y + half));
            ui.painter().rect_filled(fill, 1.0, self.color);
            ui.painter().vline(zero, y - 4.0..=y + 4.0, tick);
        }
    }

    fn number(&self, ui: &mut Ui, value: &mut f32) {
        let span = self.soft.end() - self.soft.start();
        let number = DragValue::new(value)
            .range(self.hard.clone())
            // Esc leaves the value as it was.
            .update_while_editing(false)
            .speed(span * 0.002)
            .max_decimals(self.decimals.max(4))
            .custom_formatter(|v, _| short(v, self.decimals))
            .custom_parser(typed);
        ui.add_sized([NUMBER, HEIGHT], number).on_hover_text("Drag, or click and type.");
    }
}

/// A number with so many digits after the point, with more where it is too small to be seen with them.
fn short(value: f64, decimals: usize) -> String {
    let shown = format!("{value:.decimals$}");
    let lost = value != 0.0 && value.abs() < 0.5 * 10f64.powi(1 - decimals as i32);
    if lost { format!("{value:.*}", decimals + 2) } else { shown }
}

/// What was typed, if it is a number one can compute with.
fn typed(text: &str) -> Option<f64> {
    text.trim().replace('−', "-").parse().ok().filter(|v: &f64| v.is_finite())
}

/// Text at the left of a row, past the mark of a changed value.
fn text(ui: &Ui, rect: Rect, text: &str, color: Color32) {
    let at = rect.left_center() + vec2(10.0, 0.0);
    ui.painter().text(at, Align2::LEFT_CENTER, text, FontId::proportional(13.0), color);
}

/// A switch with a label, in the columns of the rows.
pub fn switch(ui: &mut Ui, name: &'static str, label: &str, help: &str, on: &mut bool, out: &mut Out) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let response = ui.checkbox(on, label).on_hover_text(help);
        out.places.insert(name, response.rect);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_do_not_read_as_zero() {
        assert_eq!(short(0.0, 2), "0.00");
        assert_eq!(short(0.02, 2), "0.0200");
        assert_eq!(short(-0.3, 2), "-0.30");
        assert_eq!(short(1234.5, 1), "1234.5");
    }
}
