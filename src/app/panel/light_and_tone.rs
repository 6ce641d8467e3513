//! Light, medium and tone: settings that change the picture, not the flow.

use std::sync::Arc;

use egui::{Id, Ui};

use super::control::{text_control, words_control};
use super::row::{Row, switch};
use super::section::{Head, section};
use super::{Out, row};
use crate::app::model::Model;
use crate::look::{Environment, Look, Scattering};
use crate::parameter::{self, Effect, Holder, Kind, Parameter, Value};
use crate::scene::Scene;
use crate::scene::edits::{Change, Entry};

/// Colours of background and sky.
const COLORS: [(&str, &str); 4] = [
    ("render.background.top", "Background, top"),
    ("render.background.bottom", "Background, low"),
    ("render.light.sky", "Sky"),
    ("render.light.ground", "Ground"),
];

/// Albedo of a floor switched on in a scene without one.
const FLOOR: [f32; 3] = [0.35, 0.34, 0.33];

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let scene = model.settings.scene.clone();
    let (look, default) = (&mut model.settings.look, &model.defaults.look);
    let colors = look.colors;
    // Lights and the surfaces of solids belong to the objects.
    let of_objects = Look {
        lights: look.lights.clone(),
        solids: look.solids.clone(),
        roughness: look.roughness.clone(),
        // A picture of the surroundings belongs to the file.
        environment: Environment { sphere: look.environment.sphere.clone(), ..default.environment.clone() },
        ..default.clone()
    };
    let changed = Look { colors: default.colors, ..look.clone() } != of_objects;
    let head = Head { title: "Look", effect: Some(Effect::LookOnly), changed };
    let reset = section(ui, head, out, |ui, out| {
        numbers(ui, "render", look, default, out);
        tone(ui, look, out);
        numbers(ui, "render.medium", look, default, out);
        direction(ui, look, default, out);
        numbers(ui, "render.light", look, default, out);
        brightness(ui, &mut look.sun, default.sun, out);
        for (path, name) in COLORS {
            color(ui, parameter::of(path), name, look, out);
        }
        switches(ui, look, default, out);
        environment(ui, &scene, look, default, &mut model.edits, out);
    });
    if reset {
        *look = Look { colors, ..of_objects };
    }
}

/// Shows direction, size and strength of the sun.
pub(super) fn sun(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let (look, default) = (&mut model.settings.look, &model.defaults.look);
    ui.push_id("sun", |ui| {
        direction(ui, look, default, out);
        numbers(ui, "render.light", look, default, out);
        brightness(ui, &mut look.sun, default.sun, out);
    });
}

/// Rows of the numbers of `table` and of its direct subtables, if they apply now.
fn numbers(ui: &mut Ui, table: &str, look: &mut Look, default: &Look, out: &mut Out) {
    let lobe = "render.medium.second_lobe";
    let here = |at: &str| at == table || (table == "render.medium" && at == lobe);
    for parameter in
        parameter::all().filter(|p| here(p.table()) && p.kind == Kind::Number && !p.label.is_empty())
    {
        let idle = match parameter.path.as_str() {
            "render.medium.second_lobe.anisotropy" => look.second_lobe[1] == 0.0,
            "render.medium.glow_heat" => look.glow == 0.0,
            _ => false,
        };
        if !idle {
            Row::of(parameter).show_in(ui, look, default, out);
        }
    }
}

/// Shows a row with a name and another control than a slider.
fn line(
    ui: &mut Ui,
    parameter: &'static Parameter,
    name: &str,
    out: &mut Out,
    contents: impl FnOnce(&mut Ui, &mut Out),
) {
    if !out.finds_words(&format!("{name} {} {}", parameter.path, parameter.description)) {
        return;
    }
    ui.horizontal(|ui| {
        row::name(ui, name, parameter.description);
        contents(ui, out);
    });
}

fn tone(ui: &mut Ui, look: &mut Look, out: &mut Out) {
    let parameter = parameter::of("render.tone_map");
    let (Kind::Word(words), Some(Value::Word(now)), Some(field)) =
        (parameter.kind, look.value_of(parameter), parameter.field())
    else {
        return;
    };
    line(ui, parameter, "Tone map", out, |ui, _| {
        let chosen = words_control(ui, &parameter.path, words, now);
        if let Some((word, _)) = chosen.and_then(|chosen| words.iter().find(|(word, _)| *word == chosen)) {
            look.set_value(field, Value::Word(word));
        }
    });
}

/// Shows a colour of any brightness. The button shows it scaled to the brightness of the screen.
fn color(ui: &mut Ui, parameter: &'static Parameter, name: &str, look: &mut Look, out: &mut Out) {
    let (Some(Value::Triple(now)), Some(field)) = (look.value_of(parameter), parameter.field()) else {
        return;
    };
    line(ui, parameter, name, out, |ui, out| {
        let scale = now.into_iter().fold(1.0, f32::max);
        let mut shown = now.map(|x| x / scale);
        let response = ui.color_edit_button_rgb(&mut shown);
        out.places.insert(&parameter.path, response.rect);
        if response.changed() {
            look.set_value(field, Value::Triple(shown.map(|x| x * scale)));
        }
    });
}

/// Shows the environment map, its rotation, its strength and its visibility.
fn environment(
    ui: &mut Ui,
    scene: &Arc<Scene>,
    look: &mut Look,
    default: &Look,
    edits: &mut Vec<Change>,
    out: &mut Out,
) {
    let file = parameter::of("render.environment.file");
    line(ui, file, "Surroundings", out, |ui, out| {
        let (now, response) = (named_file(ui, scene), ui.available_rect_before_wrap());
        if let Some(typed) = text_control(ui, &file.path, &now) {
            let entry = (!typed.trim().is_empty()).then(|| Entry::Word(typed.trim().to_owned()));
            edits.push(Change::Set(file.path.clone(), entry));
        }
        out.places.insert(&file.path, response.with_max_y(response.top() + 20.0));
    });
    if look.environment.sphere.is_none() {
        return;
    }
    let rows = [("rotation", "Turned", -180.0..=180.0), ("strength", "Brightness", 0.0..=4.0)];
    for (key, name, soft) in rows {
        let row = Row::of(parameter::of(&format!("render.environment.{key}")));
        row.named(name.into()).soft(soft).show_in(ui, look, default, out);
    }
    let shown = parameter::of("render.environment.shown");
    line(ui, shown, "Seen behind", out, |ui, _| drop(ui.checkbox(&mut look.environment.shown, "")));
}

/// Returns the file of the environment map that the scene's text names, read again only after a change of the
/// text.
fn named_file(ui: &Ui, scene: &Arc<Scene>) -> String {
    let (id, origin) = (Id::new("file of the surroundings"), Arc::as_ptr(&scene.origin) as usize);
    if let Some((of, name)) = ui.data(|data| data.get_temp::<(usize, String)>(id))
        && of == origin
    {
        return name;
    }
    let table = scene.origin.text.parse::<toml::Table>().unwrap_or_default();
    let file = table.get("render").and_then(|t| t.get("environment")?.get("file")?.as_str());
    let name = file.unwrap_or_default().to_owned();
    ui.data_mut(|data| data.insert_temp(id, (origin, name.clone())));
    name
}

/// Shows the direction of the sun, as two angles.
fn direction(ui: &mut Ui, look: &mut Look, default: &Look, out: &mut Out) {
    let mut angles = angles_of(look.sun_direction);
    let normal = angles_of(default.sun_direction);
    let before = angles;
    Row::of(parameter::of("sun.azimuth")).show(ui, &mut angles[0], normal[0], out);
    Row::of(parameter::of("sun.height")).show(ui, &mut angles[1], normal[1], out);
    if angles != before {
        look.sun_direction = if angles == normal { default.sun_direction } else { direction_of(angles) };
    }
}

/// Shows the irradiance of the sun, with unchanged hue.
fn brightness(ui: &mut Ui, sun: &mut [f32; 3], default: [f32; 3], out: &mut Out) {
    let largest = |color: [f32; 3]| color.into_iter().fold(0.0, f32::max);
    let before = largest(*sun);
    let mut strength = before;
    Row::of(parameter::of("render.light.sun")).show(ui, &mut strength, largest(default), out);
    if strength != before {
        let color = if before > 0.0 { sun.map(|x| x / before) } else { [1.0; 3] };
        *sun = if strength == largest(default) { default } else { color.map(|x| x * strength) };
    }
}

fn switches(ui: &mut Ui, look: &mut Look, default: &Look, out: &mut Out) {
    let before = look.scattering != Scattering::Single;
    let mut multiple = before;
    switch(ui, parameter::of("render.medium.scattering"), &mut multiple, out);
    if multiple != before {
        look.scattering = if multiple { Scattering::Multiple } else { Scattering::Single };
    }
    ui.horizontal(|ui| {
        let mut floor = look.floor.is_some();
        switch(ui, parameter::of("render.floor"), &mut floor, out);
        look.floor = floor.then(|| look.floor.or(default.floor).unwrap_or(FLOOR));
        switch(ui, parameter::of("render.outline"), &mut look.outline, out);
    });
}

/// Returns the azimuth about +y, 0 towards +z, and height above the horizon, in whole tenths of degrees.
fn angles_of([x, y, z]: [f32; 3]) -> [f32; 2] {
    let round = |radians: f32| (radians.to_degrees() * 10.0).round() / 10.0;
    [round(x.atan2(z)), round(y.atan2(x.hypot(z)))]
}

fn direction_of([azimuth, height]: [f32; 2]) -> [f32; 3] {
    let (sin_a, cos_a) = azimuth.to_radians().sin_cos();
    let (sin_h, cos_h) = height.to_radians().sin_cos();
    [sin_a * cos_h, sin_h, cos_a * cos_h]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_angles_of_the_sun_come_back() {
        for angles in [[0.0, 0.0], [135.0, 40.0], [-90.5, 80.0], [179.0, -5.0]] {
            assert_eq!(angles_of(direction_of(angles)), angles);
        }
    }
}
