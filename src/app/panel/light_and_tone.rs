//! Light, medium and tone: settings that change the picture, not the flow.

use egui::Ui;

use super::Out;
use super::row::{Row, switch};
use super::section::{Head, section};
use crate::app::model::Model;
use crate::look::{Look, Scattering};
use crate::parameter::{self, Effect, Kind};

/// Albedo of a floor switched on in a scene without one.
const FLOOR: [f32; 3] = [0.35, 0.34, 0.33];

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let (look, default) = (&mut model.settings.look, &model.defaults.look);
    let colors = look.colors;
    // Lights and the surfaces of solids belong to the objects.
    let of_objects = Look {
        lights: look.lights.clone(),
        solids: look.solids.clone(),
        roughness: look.roughness.clone(),
        ..default.clone()
    };
    let changed = Look { colors: default.colors, ..look.clone() } != of_objects;
    let head = Head { title: "Look", effect: Some(Effect::LookOnly), changed };
    let reset = section(ui, head, out, |ui, out| {
        numbers(ui, "render", look, default, out);
        numbers(ui, "render.medium", look, default, out);
        direction(ui, look, default, out);
        numbers(ui, "render.light", look, default, out);
        brightness(ui, &mut look.sun, default.sun, out);
        switches(ui, look, default, out);
    });
    if reset {
        *look = Look { colors, ..of_objects };
    }
}

/// The sun alone: where it stands, its size and its strength.
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

/// Direction of the sun, as two angles.
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

/// Irradiance of the sun, with unchanged hue.
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

/// Azimuth about +y, 0 towards +z, and height above the horizon, in whole tenths of degrees.
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
