//! Light, medium and tone: what changes the picture and not the flow.

use egui::Ui;

use super::Out;
use super::row::{Row, switch};
use super::section::{Cost, section};
use crate::app::model::Model;
use crate::look::{Look, Scattering};

/// Albedo of a floor that is switched on where the scene has none.
const FLOOR: [f32; 3] = [0.35, 0.34, 0.33];

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    section(ui, "Look", Cost::LookOnly, |ui| {
        let (look, default) = (&mut model.settings.look, &model.defaults.look);
        tone(ui, look, default, out);
        lobes(ui, look, default, out);
        glow(ui, look, default, out);
        sun(ui, look, default, out);
        switches(ui, look, default, out);
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
    Row::new("fade", "Fade", 0.0..=0.5)
        .help("share of the box", "How soon smoke is shown thinning out towards the sides of the box.")
        .show(ui, &mut look.fade, default.fade, out);
}

fn lobes(ui: &mut Ui, look: &mut Look, default: &Look, out: &mut Out) {
    Row::new("anisotropy", "Anisotropy", -0.9..=0.9)
        .help("-", "Where light is scattered to: 1 straight on, 0 all around, -1 straight back.")
        .typed(-0.99..=0.99)
        .show(ui, &mut look.anisotropy, default.anisotropy, out);
    Row::new("lobe.share", "Second lobe", 0.0..=1.0)
        .help("-", "The share of light that is scattered in another way; 0 is none.")
        .show(ui, &mut look.second_lobe[1], default.second_lobe[1], out);
    if look.second_lobe[1] > 0.0 {
        Row::new("lobe.anisotropy", "Its anisotropy", -0.9..=0.9)
            .help("-", "Where that share is scattered to.")
            .typed(-0.99..=0.99)
            .show(ui, &mut look.second_lobe[0], default.second_lobe[0], out);
    }
}

fn glow(ui: &mut Ui, look: &mut Look, default: &Look, out: &mut Out) {
    Row::new("glow", "Glow", 0.0..=20.0)
        .help("-", "How brightly hot smoke glows.")
        .typed(0.0..=1000.0)
        .logarithmic()
        .show(ui, &mut look.glow, default.glow, out);
    if look.glow > 0.0 {
        Row::new("glow_heat", "Glow heat", 10.0..=1000.0)
            .help("K", "The temperature excess that glows orange-white, like 2000 K.")
            .typed(1e-3..=1e6)
            .logarithmic()
            .decimals(0)
            .show(ui, &mut look.glow_heat, default.glow_heat, out);
    }
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
    Row::new("sun.size", "Sun size", 0.0..=30.0)
        .help("degrees", "Angle across the sun: the larger, the softer its shadows.")
        .typed(0.0..=90.0)
        .decimals(1)
        .show(ui, &mut look.sun_size, default.sun_size, out);
    brightness(ui, &mut look.sun, default.sun, out);
    if angles != before {
        look.sun_direction = if angles == normal { default.sun_direction } else { direction_of(angles) };
    }
}

/// The sun's irradiance, in the colour that it has.
fn brightness(ui: &mut Ui, sun: &mut [f32; 3], default: [f32; 3], out: &mut Out) {
    let largest = |color: [f32; 3]| color.into_iter().fold(0.0, f32::max);
    let before = largest(*sun);
    let mut strength = before;
    Row::new("sun.strength", "Sun", 0.0..=40.0)
        .help("irradiance", "How bright the sun is.")
        .typed(0.0..=1e6)
        .decimals(1)
        .show(ui, &mut strength, largest(default), out);
    if strength != before {
        let color = if before > 0.0 { sun.map(|x| x / before) } else { [1.0; 3] };
        *sun = if strength == largest(default) { default } else { color.map(|x| x * strength) };
    }
}

fn switches(ui: &mut Ui, look: &mut Look, default: &Look, out: &mut Out) {
    let before = look.scattering != Scattering::Single;
    let mut octaves = before;
    let help = "Light scattered more than once: softer and brighter inside.";
    switch(ui, "octaves", "Multiple scattering", help, &mut octaves, out);
    if octaves != before {
        look.scattering = if octaves { Scattering::Octaves } else { Scattering::Single };
    }
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
