//! Light, medium and tone: what changes the picture and not the flow.

use egui::{RichText, Ui};

use super::row::{Row, switch};
use super::section::{Cost, section};
use super::{Out, theme};
use crate::app::model::Model;
use crate::look::{Look, Scattering};
use crate::render::Mode;

/// Albedo of a floor that is switched on where the scene has none.
const FLOOR: [f32; 3] = [0.35, 0.34, 0.33];

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    section(ui, "Look", Cost::LookOnly, |ui| {
        view(ui, &mut model.view);
        let (look, default) = (&mut model.settings.look, &model.defaults.look);
        tone(ui, look, default, out);
        sun(ui, look, default, out);
        switches(ui, look, default, out);
    });
}

/// Which field is shown.
fn view(ui: &mut Ui, shown: &mut Mode) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.label(RichText::new("Shows").color(theme::QUIET));
        for (mode, name, help) in [
            (Mode::Smoke, "smoke", "The smoke, lit."),
            (Mode::Velocity, "velocity", "How fast the air moves, and where to."),
            (Mode::Vorticity, "vorticity", "How fast the air turns."),
        ] {
            ui.radio_value(shown, mode, name).on_hover_text(help);
        }
    });
}

fn tone(ui: &mut Ui, look: &mut Look, default: &Look, out: &mut Out) {
    Row::new("exposure", "Exposure", -4.0..=4.0)
        .help("stops", "Doubles the brightness for each stop.")
        .typed(-20.0..=20.0)
        .show(ui, &mut look.exposure, default.exposure, out);
    Row::new("extinction", "Extinction", 1.0..=400.0)
        .help("1/m", "How much light a unit of density takes out on each metre: how thick the smoke looks.")
        .typed(0.0..=1e5)
        .logarithmic()
        .decimals(1)
        .show(ui, &mut look.extinction, default.extinction, out);
    Row::new("anisotropy", "Anisotropy", -0.9..=0.9)
        .help("-", "Where light is scattered to: 1 straight on, 0 all around, -1 straight back.")
        .typed(-0.99..=0.99)
        .show(ui, &mut look.anisotropy, default.anisotropy, out);
    Row::new("glow", "Glow", 0.0..=4.0).help("-", "How brightly hot smoke glows.").typed(0.0..=1000.0).show(
        ui,
        &mut look.glow,
        default.glow,
        out,
    );
}

fn sun(ui: &mut Ui, look: &mut Look, default: &Look, out: &mut Out) {
    let mut angles = angles_of(look.sun_direction);
    let normal = angles_of(default.sun_direction);
    let before = angles;
    Row::new("sun.azimuth", "Sun around", -180.0..=180.0)
        .help("degrees", "Where the sun stands around the vertical; 0 is behind the front view.")
        .decimals(0)
        .show(ui, &mut angles[0], normal[0], out);
    Row::new("sun.height", "Sun height", -5.0..=90.0)
        .help("degrees", "How high the sun stands above the horizon.")
        .typed(-90.0..=90.0)
        .decimals(0)
        .show(ui, &mut angles[1], normal[1], out);
    if angles != before {
        look.sun_direction = if angles == normal { default.sun_direction } else { direction_of(angles) };
    }
}

fn switches(ui: &mut Ui, look: &mut Look, default: &Look, out: &mut Out) {
    let mut octaves = look.scattering == Scattering::Octaves;
    let help = "Light scattered more than once: softer and brighter inside.";
    switch(ui, "octaves", "Multiple scattering", help, &mut octaves, out);
    look.scattering = if octaves { Scattering::Octaves } else { Scattering::Single };
    ui.horizontal(|ui| {
        let mut floor = look.floor.is_some();
        switch(ui, "floor", "Floor", "The floor under the box, and the shadow on it.", &mut floor, out);
        look.floor = floor.then(|| look.floor.or(default.floor).unwrap_or(FLOOR));
        switch(ui, "outline", "Box edges", "The edges of the domain.", &mut look.outline, out);
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
