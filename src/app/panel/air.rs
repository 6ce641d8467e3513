//! The air: heat, swirl, drag, turbulence and pace.

use egui::{RichText, Ui};

use super::control::control;
use super::row::{Row, switch};
use super::section::{Head, section};
use super::{Out, theme};
use crate::app::model::Model;
use crate::parameter::{self, Effect, Kind, Parameter};
use crate::scene::edits::Entry;
use crate::solver::{Advection, Ambient, Config, Params};

/// Text in place of the settings of turbulence.
const NO_TURBULENCE: &str = "Turbulence needs a Detail of 2 or more and conservative advection.";

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let default = &model.defaults;
    let without_smoke = |params: &Params| Params { smoke: default.params.smoke, ..params.clone() };
    let changed =
        without_smoke(&model.settings.params) != default.params || model.settings.rate != default.rate;
    let head = Head { title: "Air", effect: Some(Effect::ActsNow), changed };
    let reset = section(ui, head, out, |ui, out| {
        up(ui, model, out);
        for parameter in parameter::all().filter(|p| p.table() == "fluid" && !p.label.is_empty()) {
            match parameter.kind {
                Kind::NumberOr(_) => ambient(ui, parameter, model, out),
                _ => {
                    let (params, default) = (&mut model.settings.params, &model.defaults.params);
                    Row::of(parameter).show_in(ui, params, default, out);
                }
            }
        }
        // Other smoke has no cells for it.
        let has_turbulence = is_turbulent(&model.settings.scene.config);
        let of_turbulence = |p: &&Parameter| p.table() == "turbulence" && !p.label.is_empty();
        let is_sought = |p: &Parameter, out: &mut Out| out.is_searching() && out.finds(p);
        if !has_turbulence && parameter::all().filter(of_turbulence).any(|p| is_sought(p, out)) {
            ui.label(RichText::new(NO_TURBULENCE).color(theme::QUIET));
        }
        for parameter in parameter::all().filter(of_turbulence).filter(|_| has_turbulence) {
            let (params, default) = (&mut model.settings.params, &model.defaults.params);
            Row::of(parameter).show_in(ui, params, default, out);
        }
        let default = model.defaults.rate;
        Row::of(parameter::of("time.frame_rate")).show(ui, &mut model.settings.rate, default, out);
    });
    if reset {
        let smoke = model.settings.params.smoke;
        model.settings.params = Params { smoke, ..model.defaults.params.clone() };
        model.settings.rate = model.defaults.rate;
    }
}

/// Shows the direction in which heat and smoke rise.
fn up(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let parameter = parameter::of("fluid.up");
    let up = Entry::of_all(model.settings.params.up);
    if !out.finds_words("up gravity direction fluid.up") {
        return;
    }
    if let Some(entry) = control(ui, parameter, "up", &up, out) {
        model.settings.params.up = entry.triple().unwrap_or(model.settings.params.up);
    }
}

/// Returns whether turbulence acts on the smoke of a box.
fn is_turbulent(config: &Config) -> bool {
    config.detail > 1 && config.advection == Advection::Conservative
}

/// Shows the buoyancy relative to the mean over the box, or to the air outside.
fn ambient(ui: &mut Ui, parameter: &'static Parameter, model: &mut Model, out: &mut Out) {
    let mut mean = model.settings.params.ambient == Ambient::Mean;
    let before = mean;
    switch(ui, parameter, &mut mean, out);
    if mean != before {
        let fixed = match model.defaults.params.ambient {
            Ambient::Mean => Ambient::default(),
            fixed => fixed,
        };
        model.settings.params.ambient = if mean { Ambient::Mean } else { fixed };
    }
}
