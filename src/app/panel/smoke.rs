//! The three smokes: how each rises or sinks, and how fast it fades.

use egui::Ui;

use super::row::Row;
use super::section::{Cost, heading, section};
use super::{Out, theme};
use crate::app::model::Model;
use crate::worker::limits;

const LABELS: [&str; 3] = ["Red", "Green", "Blue"];
const BUOYANCY: [&str; 3] = ["red.buoyancy", "green.buoyancy", "blue.buoyancy"];
const DISSIPATION: [&str; 3] = ["red.dissipation", "green.dissipation", "blue.dissipation"];
const DIFFUSION: [&str; 3] = ["red.diffusion", "green.diffusion", "blue.diffusion"];

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    section(ui, "Smoke", Cost::ActsNow, |ui| {
        heading(ui, "Buoyancy", "m/s² per unit of density");
        (0..3).for_each(|c| buoyancy(ui, model, c, out));
        heading(ui, "Dissipation", "1/s");
        (0..3).for_each(|c| dissipation(ui, model, c, out));
        heading(ui, "Diffusion", "m²/s");
        (0..3).for_each(|c| diffusion(ui, model, c, out));
    });
}

fn buoyancy(ui: &mut Ui, model: &mut Model, c: usize, out: &mut Out) {
    let value = &mut model.settings.params.smoke[c].buoyancy;
    Row::new(BUOYANCY[c], LABELS[c], -5.0..=5.0)
        .help("m/s²", "Upward acceleration per unit of density. Below zero this smoke sinks.")
        .typed(limits::BUOYANCY)
        .color(theme::SMOKES[c])
        .show(ui, value, model.defaults.params.smoke[c].buoyancy, out);
}

fn diffusion(ui: &mut Ui, model: &mut Model, c: usize, out: &mut Out) {
    let value = &mut model.settings.params.smoke[c].diffusion;
    Row::new(DIFFUSION[c], LABELS[c], 0.0..=0.1)
        .help("m²/s", "How fast this smoke spreads by itself.")
        .typed(limits::DIFFUSION)
        .logarithmic()
        .decimals(4)
        .color(theme::SMOKES[c])
        .show(ui, value, model.defaults.params.smoke[c].diffusion, out);
}

fn dissipation(ui: &mut Ui, model: &mut Model, c: usize, out: &mut Out) {
    let value = &mut model.settings.params.smoke[c].dissipation;
    Row::new(DISSIPATION[c], LABELS[c], 0.0..=5.0)
        .help("1/s", "How fast this smoke fades: after 1/k seconds 37 % is left. Below zero it grows.")
        .typed(limits::DECAY)
        .logarithmic()
        .color(theme::SMOKES[c])
        .show(ui, value, model.defaults.params.smoke[c].dissipation, out);
}
