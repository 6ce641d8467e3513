//! Controls for a value of any kind, by its parameter: numbers, words, colours and texts.

use egui::{ComboBox, DragValue, RichText, TextEdit, Ui, vec2};

use super::shown_number::{fine, suffix};
use super::typed_number::{self, Field};
use super::{Out, theme};
use crate::app::objects;
use crate::parameter::{Kind, Parameter, Words};
use crate::scene::edits::Entry;

const LABEL: f32 = 118.0;
/// Height of a row \[pt\].
const HEIGHT: f32 = 20.0;

/// Shows a row for a value of any kind. Returns the changed value.
pub(super) fn control(
    ui: &mut Ui,
    parameter: &'static Parameter,
    key: &str,
    entry: &Entry,
    out: &mut Out,
) -> Option<Entry> {
    let mut new = None;
    typed_number::row(ui, |ui| {
        let (rect, response) = ui.allocate_exact_size(vec2(LABEL, HEIGHT), egui::Sense::hover());
        let at = rect.left_center() + vec2(10.0, 0.0);
        let font = egui::FontId::proportional(13.0);
        ui.painter().text(at, egui::Align2::LEFT_CENTER, label(key), font, theme::QUIET);
        response.on_hover_text(format!(
            "{} [{}]\n{}",
            parameter.description,
            parameter.unit,
            parameter.range()
        ));
        new = match (parameter.kind, entry) {
            (Kind::Word(words), Entry::Word(word)) => words_control(ui, key, words, word).map(Entry::Word),
            (_, Entry::Word(text)) => text_control(ui, key, text).map(Entry::Word),
            (Kind::Color, Entry::Numbers(_)) => entry.triple().and_then(|mut color| {
                let changed = ui.color_edit_button_rgb(&mut color).changed();
                changed.then(|| Entry::of_all(color))
            }),
            (_, Entry::Numbers(list)) => numbers_control(ui, parameter, list, out),
            (Kind::Whole, Entry::Whole(n)) => {
                let (mut n, before) = (*n, *n);
                let response = field(parameter, 90.0).show(ui, DragValue::new(&mut n).speed(0.1));
                out.places.insert(&parameter.path, response.rect);
                (n != before).then_some(Entry::Whole(n))
            }
            (_, Entry::Number(_) | Entry::Whole(_)) => {
                let mut x = entry.number().unwrap_or_default();
                let number = number(&mut x).suffix(suffix(parameter));
                let response = field(parameter, 90.0).show(ui, number);
                out.places.insert(&parameter.path, response.rect);
                // The field also reports a change while text is being typed.
                (Some(x) != entry.number()).then(|| Entry::of(x as f32))
            }
            (_, Entry::Flag(on)) => {
                let mut on = *on;
                ui.checkbox(&mut on, "").changed().then_some(Entry::Flag(on))
            }
            (_, Entry::Wholes(_) | Entry::Other(_)) => {
                ui.label(RichText::new("in the file").color(theme::QUIET));
                None
            }
        };
    });
    typed_number::notice(ui, &parameter.path);
    new
}

fn number(x: &mut f64) -> DragValue<'_> {
    let speed = 0.01 * x.abs().max(0.05);
    DragValue::new(x).speed(speed).custom_formatter(|x, _| fine(x))
}

/// Returns the field for a number of a parameter.
fn field(parameter: &'static Parameter, width: f32) -> Field<'static> {
    let range = f64::from(*parameter.hard.start())..=f64::from(*parameter.hard.end());
    let whole = parameter.kind == Kind::Whole;
    Field { name: &parameter.path, unit: parameter.short_unit(), range, whole, width }
}

fn numbers_control(ui: &mut Ui, parameter: &'static Parameter, list: &[f64], out: &mut Out) -> Option<Entry> {
    let old = list;
    let mut list = list.to_vec();
    ui.spacing_mut().item_spacing.x = 3.0;
    for (n, x) in list.iter_mut().enumerate() {
        let response = field(parameter, 56.0).show(ui, number(x).speed(0.005));
        if n == 0 {
            out.places.insert(&parameter.path, response.rect);
        }
    }
    let unit = RichText::new(parameter.short_unit()).size(11.0).color(theme::QUIET);
    ui.label(unit);
    let short = |x: f64| f64::from(objects::tidy(x as f32, 1e-4 * (x.abs() as f32).max(1e-2)));
    (list != old).then(|| Entry::Numbers(list.into_iter().map(short).collect()))
}

pub(super) fn words_control(ui: &mut Ui, key: &str, words: Words, word: &str) -> Option<String> {
    let mut chosen = word.to_owned();
    ComboBox::from_id_salt(("words", key)).width(140.0).selected_text(word).show_ui(ui, |ui| {
        for &(word, meaning) in words {
            ui.selectable_value(&mut chosen, word.to_owned(), word).on_hover_text(meaning);
        }
    });
    (chosen != word).then_some(chosen)
}

/// Shows a text that takes effect when the field is left.
pub(super) fn text_control(ui: &mut Ui, key: &str, text: &str) -> Option<String> {
    let id = ui.id().with(("text", key));
    let mut typed = ui.data(|data| data.get_temp::<String>(id)).unwrap_or_else(|| text.to_owned());
    let response = ui.add(TextEdit::singleline(&mut typed).desired_width(f32::INFINITY));
    if response.has_focus() {
        ui.data_mut(|data| data.insert_temp(id, typed));
        return None;
    }
    ui.data_mut(|data| data.remove::<String>(id));
    (response.lost_focus() && typed != text).then_some(typed)
}

/// Returns the label of a key: its last part, with the part before it if needed.
pub(super) fn label(key: &str) -> String {
    let parts: Vec<&str> = key.split('.').filter(|part| *part != "shape").collect();
    let last = parts.last().copied().unwrap_or(key);
    let name = match parts.as_slice() {
        ["emit", what] => format!("Emits {what}"),
        ["noise", what] => format!("Noise {what}"),
        ["within", .., what] => format!("Within {what}"),
        _ => capitalised(last),
    };
    name.replace('_', " ")
}

pub(super) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
