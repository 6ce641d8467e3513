//! Typed numbers: with a decimal point or comma, and with their unit or a simple multiple of it. A line below
//! the field tells of text that cannot be read, and of numbers beyond the range.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use egui::{Align, DragValue, Id, Layout, Response, RichText, TextStyle, Ui, vec2};

use super::shown_number::fine;
use super::theme;

/// Units that are converted: the unit of the field, the typed one, and its size.
const MULTIPLES: [(&str, &str, f64); 14] = [
    ("m", "mm", 1e-3),
    ("m", "cm", 1e-2),
    ("m", "km", 1e3),
    ("m/s", "mm/s", 1e-3),
    ("m/s", "cm/s", 1e-2),
    ("m/s", "km/h", 1.0 / 3.6),
    ("s", "ms", 1e-3),
    ("s", "min", 60.0),
    ("°", "degrees", 1.0),
    ("°", "deg", 1.0),
    ("°", "rad", 180.0 / std::f64::consts::PI),
    ("cells", "cell", 1.0),
    ("K", "°C", 1.0),
    ("", "%", 1e-2),
];

/// Reads typed text as a finite number in `unit`. A number too large for `f64` becomes the largest.
///
/// # Errors
/// One line with the fault.
pub(super) fn typed(text: &str, unit: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    // A unit such as 1/s begins with a digit, which belongs to the number unless a space separates them.
    let is_separate = |text: &&str| text.ends_with(char::is_whitespace);
    let bare = trimmed.strip_suffix(unit).filter(is_separate).unwrap_or(trimmed);
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let (dense, unit) = (plain(bare).replace('−', "-"), plain(unit));
    // The number is the longest prefix that parses. A comma is the decimal point if it is the only one and
    // there is no point.
    let number = |text: &str| {
        let decimal = text.contains('.') || text.matches(',').count() > 1;
        let text = if decimal { text.to_owned() } else { text.replace(',', ".") };
        text.parse::<f64>().ok().filter(|_| text.ends_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let ends = dense.char_indices().map(|(at, _)| at).chain([dense.len()]);
    let found = ends.filter_map(|end| Some((number(&dense[..end])?, &dense[end..]))).next_back();
    let Some((x, suffix)) = found else {
        return Err(format!("\u{201c}{trimmed}\u{201d} is no number; the old value stays"));
    };
    let bounded = |x: f64| x.clamp(f64::MIN, f64::MAX);
    if suffix.is_empty() || is_same_unit(suffix, &unit) {
        return Ok(bounded(x));
    }
    match MULTIPLES.iter().find(|(of, name, _)| *of == unit && *name == suffix) {
        Some((.., size)) => Ok(bounded(x * size)),
        None if suffix.starts_with(|c: char| c.is_alphabetic()) && !unit.is_empty() => {
            Err(format!("\u{201c}{trimmed}\u{201d} is not in {unit}; the old value stays"))
        }
        None => Err(format!("\u{201c}{trimmed}\u{201d} is no number; the old value stays")),
    }
}

/// Returns whether `text` is `unit` as typed on a keyboard: with plain or raised digits, with brackets or
/// none, and `/s` for `1/s`.
fn is_same_unit(text: &str, unit: &str) -> bool {
    let plain = |unit: &str| {
        let text: String = unit.chars().filter(|c| !"()^·*".contains(*c)).collect();
        let text = text.replace('²', "2").replace('³', "3");
        text.strip_prefix("1/").map_or(text.clone(), |below| format!("/{below}"))
    };
    let unit = plain(unit);
    !unit.is_empty() && plain(text) == unit
}

/// A number field outside of the rows.
pub(super) struct Field<'a> {
    /// Name of the [`notice`] of a fault.
    pub name: &'static str,
    pub unit: &'a str,
    pub range: RangeInclusive<f64>,
    pub whole: bool,
    pub width: f32,
}

impl Field<'_> {
    /// Shows the field. Typed text takes effect when it is left.
    pub fn show(self, ui: &mut Ui, number: DragValue) -> Response {
        let Self { name, unit, range, whole, width } = self;
        let (least, most) = (*range.start(), *range.end());
        let fault = RefCell::new(None);
        let read = |text: &str| {
            let read = typed(text, unit).and_then(|x| match x {
                x if whole && x.fract() != 0.0 => {
                    Err(format!("\u{201c}{}\u{201d} is no whole number; the old value stays", text.trim()))
                }
                x => Ok(x),
            });
            let limit = |x: f64, word: &str| format!("{} is the {word}; {} was typed", fine(x), text.trim());
            *fault.borrow_mut() = Some(match &read {
                Err(why) => Some(why.clone()),
                Ok(x) if *x < least => Some(limit(least, "least")),
                Ok(x) if *x > most => Some(limit(most, "most")),
                Ok(_) => None,
            });
            read.ok()
        };
        // A value of the file beyond the range stays until it is edited.
        let number = number.range(range).clamp_existing_to_range(false);
        let number = number.update_while_editing(false).custom_parser(read);
        let size = vec2(width, height(ui));
        let response = ui.add_sized(size, number);
        let id = id(name);
        match fault.take() {
            Some(Some(fault)) => ui.data_mut(|data| data.insert_temp(id, fault)),
            Some(None) => ui.data_mut(|data| data.remove::<String>(id)),
            None if response.dragged() => ui.data_mut(|data| data.remove::<String>(id)),
            None => {}
        }
        response
    }
}

/// Shows a row as high as number fields. In a row that grows with its fields, egui would place each one lower.
pub(super) fn row(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    let size = vec2(ui.available_width(), height(ui));
    ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), contents);
}

/// Returns the height of a number field \[pt\].
fn height(ui: &Ui) -> f32 {
    let padding = 2.0 * ui.spacing().button_padding.y;
    (ui.text_style_height(&TextStyle::Button) + padding).max(ui.spacing().interact_size.y).ceil()
}

fn id(name: &str) -> Id {
    Id::new(("typed number", name))
}

/// Drops the notice of these fields.
pub(super) fn forget(ui: &mut Ui, name: &str) {
    ui.data_mut(|data| data.remove::<String>(id(name)));
}

/// Shows the fault of the last number typed into the fields of this name.
pub(super) fn notice(ui: &mut Ui, name: &str) {
    if let Some(fault) = ui.data(|data| data.get_temp::<String>(id(name))) {
        ui.horizontal(|ui| {
            ui.add_space(10.0);
            ui.label(RichText::new(fault).size(11.0).color(theme::ALARM));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_commas_and_units() {
        for (text, unit, x) in [
            ("64", "cells", 64.0),
            ("128 cells", "cells", 128.0),
            ("0,07", "m", 0.07),
            ("0.1 m", "m", 0.1),
            ("50 mm", "m", 0.05),
            ("1e-3", "m", 1e-3),
            ("−2.5", "m/s", -2.5),
            ("36 km/h", "m/s", 10.0),
            ("9.8 m/s² K", "m/s²K", 9.8),
            ("1 234", "", 1234.0),
            (".5", "", 0.5),
            ("2 1/s", "1/s", 2.0),
            ("21", "1/s", 21.0),
            ("30 %", "", 0.3),
            ("90°", "°", 90.0),
            ("3 m2/s", "m²/s", 3.0),
            ("3 m^2/s", "m²/s", 3.0),
            ("3 m²/s", "m²/s", 3.0),
            ("-1,5 m/s2", "m/s²", -1.5),
            ("9.8 m/(s2 K)", "m/s²K", 9.8),
            ("5 /s", "1/s", 5.0),
            ("5 1/s", "1/s", 5.0),
            ("1e-5m2/s", "m²/s", 1e-5),
        ] {
            let read = typed(text, unit).unwrap();
            assert!((read - x).abs() < 1e-9 * x.abs(), "{text}: {read}");
        }
        // Beyond all numbers: the field clamps them as it does any other beyond its range.
        for (text, unit) in [("1e400", "m"), ("1e400 km", "m"), ("1e308 km", "m")] {
            assert_eq!(typed(text, unit), Ok(f64::MAX), "{text}");
        }
        assert_eq!(typed("-1e400", ""), Ok(f64::MIN));
        for (text, unit) in [
            ("2*50", ""),
            ("nan", "m"),
            ("inf", "m"),
            ("three", ""),
            ("", "m"),
            ("1,000,5", "m"),
            ("5 kg", "m"),
            ("5 m/s3", "m/s²"),
            ("5 m3/s", "m²/s"),
            ("5)", ""),
            ("5 /s", "m"),
        ] {
            assert!(typed(text, unit).is_err(), "{text}");
        }
        assert!(typed("5 kg", "m").unwrap_err().contains("not in m"));
    }
}
