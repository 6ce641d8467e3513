//! The air: heat, swirl, drag and pace.

use egui::Ui;

use super::Out;
use super::row::{Row, switch};
use super::section::{Cost, section};
use crate::app::model::Model;
use crate::solver::Ambient;
use crate::worker::limits;

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    section(ui, "Air", Cost::ActsNow, |ui| {
        heat(ui, model, out);
        motion(ui, model, out);
        let default = model.defaults.rate;
        Row::new("rate", "Steps", 5.0..=120.0)
            .help("1/s", "Steps for each second of smoke. Fewer are cheaper, more follow fast air better.")
            .typed(1.0..=1000.0)
            .logarithmic()
            .decimals(1)
            .show(ui, &mut model.settings.rate, default, out);
    });
}

fn heat(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let (params, default) = (&mut model.settings.params, &model.defaults.params);
    Row::new("heat_buoyancy", "Heat buoyancy", -0.2..=0.2)
        .help("m/(s² K)", "Upward acceleration per kelvin above the air around.")
        .typed(limits::HEAT_BUOYANCY)
        .decimals(3)
        .show(ui, &mut params.heat_buoyancy, default.heat_buoyancy, out);
    Row::new("cooling", "Cooling", 0.0..=5.0)
        .help("1/s", "How fast heat is lost: after 1/k seconds 37 % is left.")
        .typed(limits::DECAY)
        .logarithmic()
        .show(ui, &mut params.cooling, default.cooling, out);
    Row::new("conduction", "Heat diffusion", 0.0..=0.1)
        .help("m²/s", "How fast heat spreads by itself.")
        .typed(limits::DIFFUSION)
        .logarithmic()
        .decimals(4)
        .show(ui, &mut params.conduction, default.conduction, out);
    ambient(ui, model, out);
}

/// Heat that lifts against the mean over the box, or against the air outside.
fn ambient(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let mut mean = model.settings.params.ambient == Ambient::Mean;
    let before = mean;
    let help = "Only air warmer than the mean of the box rises, as in a closed room that heats up.";
    switch(ui, "ambient", "Rise against the mean temperature", help, &mut mean, out);
    if mean != before {
        let fixed = match model.defaults.params.ambient {
            Ambient::Mean => Ambient::default(),
            fixed => fixed,
        };
        model.settings.params.ambient = if mean { Ambient::Mean } else { fixed };
    }
}

fn motion(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let (params, default) = (&mut model.settings.params, &model.defaults.params);
    Row::new("vorticity", "Vorticity", 0.0..=2.0)
        .help("1/s", "Vorticity confinement: feeds small swirls that the grid would wear down.")
        .typed(limits::VORTICITY)
        .show(ui, &mut params.vorticity, default.vorticity, out);
    Row::new("viscosity", "Viscosity", 0.0..=0.1)
        .help("m²/s", "How thick the air is: neighbours drag each other along. Still air has 0.000015.")
        .typed(limits::DIFFUSION)
        .logarithmic()
        .decimals(4)
        .show(ui, &mut params.viscosity, default.viscosity, out);
    Row::new("friction", "Friction", 0.0..=10.0)
        .help("1/s", "How fast all motion dies down: after 1/d seconds 37 % is left.")
        .typed(limits::FRICTION)
        .logarithmic()
        .show(ui, &mut params.friction, default.friction, out);
}
