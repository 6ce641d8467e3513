//! A row of the panel: label, slider and number, in columns aligned through all sections.

use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;

use egui::{
    Align, Align2, Color32, DragValue, FontId, Id, Label, Layout, Rect, Response, RichText, Sense, Slider,
    SliderClamping, Stroke, StrokeKind, Ui, UiBuilder, pos2, vec2,
};

use super::shown_number::{short, suffix};
use super::typed_number::typed;
use super::{Out, theme};
use crate::parameter::{Holder, Parameter, Scale, Value};

const LABEL: f32 = 118.0;
/// Width of a number and its unit.
const NUMBER: f32 = 86.0;
const HEIGHT: f32 = 20.0;
/// Radius of the handle of a slider.
const HANDLE: f32 = 6.0;
/// Filled part of a slider without a specific colour.
const FILL: Color32 = Color32::from_rgb(0x8a, 0x92, 0xa0);

/// Row of a parameter. The slider covers the soft range. A number typed or dragged beyond it is clamped to
/// the hard one, and a line below the row says so.
pub struct Row {
    parameter: &'static Parameter,
    soft: RangeInclusive<f32>,
    color: Color32,
    /// Colour of its smoke, shown beside its name.
    swatch: Option<Color32>,
    /// A name instead of the parameter's own.
    name: Option<String>,
}

impl Row {
    /// Makes the row of `parameter`, whose path is its name in tests.
    pub fn of(parameter: &'static Parameter) -> Self {
        Self { parameter, soft: parameter.soft.clone(), color: FILL, swatch: None, name: None }
    }

    /// Sets another range of the slider, for example for a length that depends on the box.
    pub fn soft(self, soft: RangeInclusive<f32>) -> Self {
        Self { soft, ..self }
    }

    /// Sets the colour of the row's smoke: beside its name and, lightened to be visible, in the filled part.
    pub fn swatch(self, color: Color32) -> Self {
        Self { color: visible(color), swatch: Some(color), ..self }
    }

    /// Sets a name instead of the parameter's own.
    pub fn named(self, name: String) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Shows the row for a number of `holder`; a double-click on the label restores that of `default`.
    pub fn show_in<H: Holder>(self, ui: &mut Ui, holder: &mut H, default: &H, out: &mut Out) {
        let Some(field) = self.parameter.field() else { return };
        if let (Some(Value::Number(mut value)), Some(Value::Number(default))) =
            (holder.value(field), default.value(field))
        {
            let before = value;
            self.show(ui, &mut value, default, out);
            if value != before {
                holder.set_value(field, Value::Number(value));
            }
        }
    }

    /// Shows the row; a double-click on the label restores `default`.
    pub fn show(self, ui: &mut Ui, value: &mut f32, default: f32, out: &mut Out) {
        if !out.finds(self.parameter) {
            return;
        }
        ui.horizontal(|ui| {
            let label = self.label(ui, *value != default);
            if label.double_clicked() {
                *value = default;
            }
            out.places.insert(&self.parameter.path, self.slider(ui, value).rect);
            self.number(ui, value);
        });
        self.limit_notice(ui, *value);
    }

    /// Returns the id of the notice of a limit or a fault. It holds the value and the text.
    fn notice_id(&self) -> Id {
        Id::new(("limit", &self.parameter.path))
    }

    /// Says that a typed number was clamped or could not be read, until the value changes.
    fn limit_notice(&self, ui: &mut Ui, value: f32) {
        let id = self.notice_id();
        match ui.data(|data| data.get_temp::<(f32, String)>(id)) {
            Some((limit, text)) if limit == value => {
                ui.horizontal(|ui| {
                    ui.add_space(10.0);
                    ui.label(RichText::new(text).size(11.0).color(theme::ALARM));
                });
            }
            Some(_) => ui.data_mut(|data| data.remove::<(f32, String)>(id)),
            None => {}
        }
    }

    fn label(&self, ui: &mut Ui, changed: bool) -> Response {
        let (rect, response) = ui.allocate_exact_size(vec2(LABEL, HEIGHT), Sense::click());
        let hot = response.hovered();
        let color = if hot || changed { theme::TEXT } else { theme::QUIET };
        let label = match self.swatch {
            Some(swatch) => {
                let square = Rect::from_center_size(rect.left_center() + vec2(16.0, 0.0), vec2(10.0, 10.0));
                ui.painter().rect(square, 2.0, swatch, Stroke::new(1.0, theme::LINE), StrokeKind::Outside);
                rect.with_min_x(rect.left() + 16.0)
            }
            None => rect,
        };
        text(ui, label, self.name.as_deref().unwrap_or(self.parameter.label), color);
        if changed {
            let at = rect.left_center() + vec2(3.0, 0.0);
            ui.painter().circle_filled(at, 2.5, theme::ACCENT);
        }
        let reset = if changed { "\nDouble-click: back to the default." } else { "" };
        response.on_hover_text(format!("{}{reset}", self.parameter.tooltip()))
    }

    fn slider(&self, ui: &mut Ui, value: &mut f32) -> Response {
        let free = ui.available_width() - NUMBER - ui.spacing().item_spacing.x;
        ui.spacing_mut().slider_width = free.max(40.0);
        ui.spacing_mut().interact_size.y = HANDLE * 2.5;
        ui.visuals_mut().selection.bg_fill = self.color;
        let slider = Slider::new(value, self.soft.clone())
            .show_value(false)
            .clamping(SliderClamping::Never)
            .logarithmic(self.is_logarithmic())
            .smallest_positive(1e-4 * f64::from(*self.soft.end()))
            .trailing_fill(!self.has_two_sides());
        let response = ui.add(slider);
        if self.has_two_sides() {
            self.fill_from_zero(ui, response.rect, *value);
        }
        response.on_hover_text(self.parameter.tooltip())
    }

    fn is_logarithmic(&self) -> bool {
        self.parameter.scale == Scale::Logarithmic
    }

    /// Returns whether zero lies inside the range rather than at its end.
    fn has_two_sides(&self) -> bool {
        !self.is_logarithmic() && *self.soft.start() < 0.0 && *self.soft.end() > 0.0
    }

    /// Fills a slider with two sides from zero to the handle, and marks zero.
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
        let decimals = self.parameter.decimals();
        let (entered, fault) = (Cell::new(None), RefCell::new(None));
        let before = *value;
        let shown = short(before.into(), decimals);
        let number = DragValue::new(value)
            // Limits are reported below the row.
            .range(f32::MIN..=f32::MAX)
            // Esc keeps the old value.
            .update_while_editing(false)
            .speed(span * 0.002)
            .max_decimals(decimals.max(4))
            .suffix(suffix(self.parameter))
            .custom_formatter(|v, _| short(v, decimals))
            .custom_parser(|text| {
                // A field that is left without a change keeps its hidden digits.
                if text == shown {
                    entered.set(Some(before.into()));
                    return entered.get();
                }
                let read = typed(text, self.parameter.short_unit());
                let number = read.as_ref().ok().copied();
                entered.set(number.or(entered.get()));
                *fault.borrow_mut() = read.err();
                number
            });
        // A long number is cut at the edge of its field rather than widening the panel.
        let (_, field) = ui.allocate_space(vec2(NUMBER, HEIGHT));
        let mut cell = ui.new_child(UiBuilder::new().max_rect(field));
        cell.set_clip_rect(field.expand(1.0).intersect(ui.clip_rect()));
        let response = cell.add_sized(field.size(), number).on_hover_text("Drag, or click and type.");
        if let Some(fault) = fault.take().filter(|_| entered.get().is_none()) {
            ui.data_mut(|data| data.insert_temp(self.notice_id(), (*value, fault)));
        }
        let wanted = entered.get().unwrap_or(f64::from(*value));
        if entered.get().is_none() && !response.changed() {
            return;
        }
        *value = self.parameter.limit(wanted as f32, before);
        let id = self.notice_id();
        match self.parameter.limit_said(wanted) {
            Some(said) => {
                let text = match entered.get() {
                    // Display writes out all 300 digits.
                    Some(typed) if typed.abs() >= 1e15 => format!("{said}; {typed:.3e} was typed"),
                    Some(typed) => format!("{said}; {typed} was typed"),
                    None => said,
                };
                ui.data_mut(|data| data.insert_temp(id, (*value, text)));
            }
            None => ui.data_mut(|data| data.remove::<(f32, String)>(id)),
        }
    }
}

/// Returns `color`, lightened to be distinct from the rail of a slider.
pub(super) fn visible(color: Color32) -> Color32 {
    let lack = (0.42 - color.intensity()).max(0.0);
    let lift = |c: u8| (f32::from(c) + lack * 255.0).min(255.0) as u8;
    Color32::from_rgb(lift(color.r()), lift(color.g()), lift(color.b()))
}

/// Shows the name at the left of a row with another control than a slider.
pub(super) fn name(ui: &mut Ui, name: &str, help: &str) {
    const WIDTH: f32 = LABEL - 10.0;
    ui.add_space(10.0);
    let label = Label::new(RichText::new(name).color(theme::QUIET)).selectable(false);
    let layout = Layout::left_to_right(Align::Center);
    let text = ui.allocate_ui_with_layout(vec2(WIDTH, HEIGHT), layout, |ui| {
        ui.set_min_width(WIDTH);
        ui.add(label)
    });
    text.inner.on_hover_text(help);
}

/// Draws text at the left of a row, after the mark of a changed value.
fn text(ui: &Ui, rect: Rect, text: &str, color: Color32) {
    let at = rect.left_center() + vec2(10.0, 0.0);
    ui.painter().text(at, Align2::LEFT_CENTER, text, FontId::proportional(13.0), color);
}

/// Shows the switch of a parameter, in the columns of the rows.
pub fn switch(ui: &mut Ui, parameter: &'static Parameter, on: &mut bool, out: &mut Out) {
    if !out.finds(parameter) {
        return;
    }
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let help = format!("{}\n{}", parameter.description, parameter.effect.help());
        let response = ui.checkbox(on, parameter.label).on_hover_text(help);
        out.places.insert(&parameter.path, response.rect);
    });
}
