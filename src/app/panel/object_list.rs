//! The objects of the scene: list, adding, copying, deleting, and all keys of the selected one.

use egui::{Button, RichText, Ui, vec2};

use super::control::{capitalised, control, label};
use super::section::{Head, section};
use super::{Out, keyframes, light_and_tone, theme, typed_number};
use crate::app::action::Action;
use crate::app::model::{Model, Readout};
use crate::app::objects::{self, Selected};
use crate::app::orbit::Optics;
use crate::look::CameraProjection;
use crate::parameter::{self, Effect, ForceKind, Kind, LightKind, Parameter, Worded};
use crate::scene::Scene;
use crate::scene::edits::{Change, Entry, List};

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

/// Drops the notices of typed numbers when another object is selected.
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

/// Shows the position, target and field of view of the camera.
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
        new.projection = CameraProjection::from_word(&word).unwrap_or(new.projection);
    }
    let apart = (0..3).any(|a| (new.position[a] - new.target[a]).abs() > 1e-4);
    if new != readout.camera && apart {
        model.settings.optics = Optics::of(&new);
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

/// Shows all keys of an object.
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

/// Shows a menu of the keys that the object does not have yet.
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

/// Returns whether a key is compatible with the others: an object has the keys of one shape, kind of force or
/// kind of light.
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

/// Returns the initial value of a key.
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
