//! The objects of the scene: list, adding, copying, deleting, and all keys of the selected one.

use egui::{Button, ComboBox, DragValue, RichText, TextEdit, Ui, vec2};

use super::row::{fine, suffix};
use super::section::{Head, section};
use super::typed_number::{self, Field};
use super::{Out, keyframes, light_and_tone, theme};
use crate::app::action::Action;
use crate::app::model::{Model, Readout};
use crate::app::objects::{self, Selected};
use crate::look::Projection;
use crate::parameter::{self, Effect, ForceKind, Kind, LightKind, Parameter, Worded, Words};
use crate::scene::Scene;
use crate::scene::edits::{Change, Entry, List};

const LABEL: f32 = 118.0;
/// Height of a row \[pt\].
const HEIGHT: f32 = 20.0;

pub(super) fn show(ui: &mut Ui, model: &mut Model, readout: &Readout, out: &mut Out) {
    let head = Head { title: "Objects", effect: Some(Effect::ActsNow), changed: false };
    section(ui, head, out, |ui, out| {
        if !out.finds_words(
            "objects source solid force light lamp spot area wind vortex ball box camera add delete copy",
        ) {
            return;
        }
        list(ui, model, out);
        add(ui, model, out);
        forget_notices(ui, model.selected);
        match model.selected {
            Some(Selected::Object(list, n)) if n < objects::count(&model.settings.scene, list) => {
                sheet(ui, model, list, n, out);
                if list == List::Solid {
                    keyframes::show(ui, model, n, readout, out);
                }
            }
            Some(Selected::Camera) => {
                camera(ui, model, readout, out);
                keyframes::show_camera(ui, model, readout, out);
            }
            Some(Selected::Sun) => light_and_tone::sun(ui, model, out),
            _ => hint(ui),
        }
    });
}

/// A notice belongs to the object whose number was typed.
fn forget_notices(ui: &mut Ui, selected: Option<Selected>) {
    let id = egui::Id::new("the object of the notices");
    let before = ui.data_mut(|data| std::mem::replace(data.get_temp_mut_or(id, selected), selected));
    if before != selected {
        parameter::all().for_each(|parameter| typed_number::forget(ui, &parameter.path));
    }
}

fn hint(ui: &mut Ui) {
    let text = "Click a name, or drag its ring in the view.";
    ui.label(RichText::new(text).size(11.5).color(theme::QUIET));
}

fn list(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let scene = model.settings.scene.clone();
    for list in List::ALL {
        for n in 0..objects::count(&scene, list) {
            let name = format!("{} {}", capitalised(list.key()), n + 1);
            let this = Some(Selected::Object(list, n));
            ui.horizontal(|ui| {
                let entry = ui.selectable_label(model.selected == this, name);
                if n == 0 {
                    out.places.insert(
                        ["object.source", "object.solid", "object.force", "object.light"][list as usize],
                        entry.rect,
                    );
                }
                ui.label(RichText::new(objects::kind(&scene, list, n)).color(theme::QUIET));
                if entry.clicked() {
                    model.selected = if model.selected == this { None } else { this };
                }
            });
        }
    }
    ui.horizontal(|ui| {
        let places = [(Selected::Camera, "Camera", "object.camera"), (Selected::Sun, "Sun", "object.sun")];
        for (this, name, place) in places {
            let entry = ui.selectable_label(model.selected == Some(this), name);
            out.places.insert(place, entry.rect);
            if entry.clicked() {
                model.selected = if model.selected == Some(this) { None } else { Some(this) };
            }
        }
    });
}

/// Position, target and field of view of the camera.
fn camera(ui: &mut Ui, model: &mut Model, readout: &Readout, out: &mut Out) {
    let mut new = readout.camera;
    for (key, values) in [("position", &mut new.position), ("target", &mut new.target)] {
        let parameter = parameter::of(&format!("render.camera.{key}"));
        if let Some(entry) = control(ui, parameter, key, &Entry::of_all(*values), out) {
            *values = entry.triple().unwrap_or(*values);
        }
    }
    let lens = parameter::of("render.camera.fov");
    if let Some(entry) = control(ui, lens, "field of view", &Entry::of(new.fov), out) {
        new.fov = entry.number().map_or(new.fov, |x| x as f32);
    }
    let lens = &mut new.lens;
    for (key, value) in
        [("aperture", &mut lens.aperture), ("focus", &mut lens.focus), ("shutter", &mut lens.shutter)]
    {
        let parameter = parameter::of(&format!("render.camera.{key}"));
        if let Some(entry) = control(ui, parameter, key, &Entry::of(*value), out) {
            *value = entry.number().map_or(*value, |x| x as f32);
        }
    }
    let projection = parameter::of("render.camera.projection");
    let word = Entry::Word(new.projection.word().into());
    if let Some(Entry::Word(word)) = control(ui, projection, "projection", &word, out) {
        new.projection = Projection::from_word(&word).unwrap_or(new.projection);
    }
    let apart = (0..3).any(|a| (new.position[a] - new.target[a]).abs() > 1e-4);
    if new != readout.camera && apart {
        model.camera = Some(new);
    }
}

fn add(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    ui.horizontal(|ui| {
        let menu = ui.menu_button("Add ⏷", |ui| {
            for (kind, list, name) in objects::KINDS {
                let entry = ui.button(name);
                out.places.insert(kind, entry.rect);
                if entry.clicked() {
                    model.edits.push(Change::Add(list, objects::template(&model.settings.scene, kind)));
                    ui.close();
                }
            }
            for (kind, _, name, endings) in objects::FILES {
                let entry =
                    ui.button(format!("{name}…")).on_hover_text(format!("A file: {}.", endings.join(", ")));
                out.places.insert(kind, entry.rect);
                if entry.clicked() {
                    out.actions.push(Action::AddOfFile(kind));
                    ui.close();
                }
            }
        });
        out.places.insert("object.add", menu.response.rect);
        let chosen = matches!(model.selected, Some(Selected::Object(..)));
        for (text, action) in [("Copy", Action::Duplicate), ("Delete", Action::Delete)] {
            let button = ui.add_enabled(chosen, Button::new(text).min_size(vec2(54.0, 22.0)));
            out.places.insert(action.name(), button.rect);
            if button.on_hover_text(format!("{} ({})", action.help(), action.key())).clicked() {
                out.actions.push(action);
            }
        }
    });
}

/// All keys of an object.
fn sheet(ui: &mut Ui, model: &mut Model, list: List, n: usize, out: &mut Out) {
    let scene = model.settings.scene.clone();
    let entries = cached_entries(ui, &scene, list, n);
    ui.add_space(4.0);
    let head = format!("{}.{n}.", list.key());
    for (key, entry) in &entries {
        // Keyframes have lines of their own below.
        let Some(parameter) = declared(list, key).filter(|p| p.key() != "keyframes") else { continue };
        if let Some(new) = control(ui, parameter, key, entry, out) {
            model.edits.push(Change::Set(format!("{head}{key}"), Some(new)));
        }
    }
    absent(ui, model, list, &head, &entries);
}

/// Menu of the keys that the object does not have yet.
fn absent(ui: &mut Ui, model: &mut Model, list: List, head: &str, entries: &[(String, Entry)]) {
    let has = |key: &str| entries.iter().any(|(k, _)| k == key || k.starts_with(&format!("{key}.")));
    let prefix = format!("{}.#.", list.key());
    let missing: Vec<(&'static Parameter, &str)> = parameter::all()
        .filter_map(|p| Some((p, p.path.strip_prefix(prefix.as_str())?)))
        .filter(|(p, key)| {
            let plain = matches!(p.kind, Kind::Number | Kind::Vector | Kind::Word(_) | Kind::Color);
            plain && !has(key) && belongs(list, key, entries)
        })
        .collect();
    if missing.is_empty() {
        return;
    }
    ui.menu_button(RichText::new("More ⏷").size(12.0), |ui| {
        for (parameter, key) in missing {
            if ui.button(label(key)).on_hover_text(parameter.description).clicked() {
                model.edits.push(Change::Set(format!("{head}{key}"), Some(first_value(parameter))));
                ui.close();
            }
        }
    });
}

/// Whether a key is compatible with the others: keys of a shape or of a kind of force exclude those of
/// others.
fn belongs(list: List, key: &str, entries: &[(String, Entry)]) -> bool {
    let kinds: &[&str] = match list {
        List::Force => ForceKind::NAMES,
        List::Light => LightKind::NAMES,
        _ => &["shape"],
    };
    !kinds.iter().any(|kind| key.split_once('.').is_some_and(|(head, _)| head == *kind))
        || entries.iter().any(|(k, _)| {
            let group = |key: &str| key.rsplit_once('.').map(|(head, _)| head.to_owned());
            match list {
                List::Force => group(k) == group(key) && key.ends_with(".rate") && k.ends_with("velocity"),
                _ => list == List::Light && group(k) == group(key),
            }
        })
}

/// Initial value of a key.
fn first_value(parameter: &Parameter) -> Entry {
    match parameter.kind {
        Kind::Vector => Entry::of_all([0.0; 3]),
        Kind::Color if parameter.path.starts_with("light.") => Entry::of_all([1.0; 3]),
        Kind::Color => Entry::of_all([0.46, 0.43, 0.4]),
        Kind::Word(words) => Entry::Word(words.first().map_or("", |word| word.0).to_owned()),
        _ if parameter.hard.contains(&1.0) => Entry::Number(1.0),
        _ => Entry::Number(0.0),
    }
}

/// Values of an object, read again only after a change of the text.
fn cached_entries(ui: &Ui, scene: &std::sync::Arc<Scene>, list: List, n: usize) -> Vec<(String, Entry)> {
    type Cached = (usize, List, usize, Vec<(String, Entry)>);
    let id = egui::Id::new("entries of the selected object");
    let origin = std::sync::Arc::as_ptr(&scene.origin) as usize;
    let old = ui.data(|data| data.get_temp::<Cached>(id));
    if let Some((of, list_of, at, entries)) = old
        && (of, list_of, at) == (origin, list, n)
    {
        return entries;
    }
    let entries = scene.entries(list, n);
    ui.data_mut(|data| data.insert_temp::<Cached>(id, (origin, list, n, entries.clone())));
    entries
}

fn declared(list: List, key: &str) -> Option<&'static Parameter> {
    let path = format!("{}.0.{key}", list.key());
    parameter::find(&parameter::declared_path(&path.split('.').collect::<Vec<_>>()))
}

/// Row for a value of any kind. Returns the changed value.
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
                // A text being typed is a change of the field, too.
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

/// Field for a number of a parameter.
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

/// A text that takes effect when the field is left.
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

/// Label of a key: its last part, with the part before it if needed.
fn label(key: &str) -> String {
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
