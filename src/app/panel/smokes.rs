//! The three smokes: buoyancy, dissipation and diffusion of each.

use egui::Ui;

use super::Out;
use super::row::Row;
use super::section::{Head, heading, section};
use crate::app::model::Model;
use crate::app::settings::Ink;
use crate::parameter::{self, Effect};

use super::control::capitalised;

const TABLES: [&str; 3] = ["smoke.red", "smoke.green", "smoke.blue"];

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let swatches = model.settings.look.colors.map(super::brush::screen);
    let names = [0, 1, 2].map(|c| Ink::ALL[c].called(&model.settings));
    let (params, default) = (&mut model.settings.params, &model.defaults.params);
    let changed = params.smoke != default.smoke;
    let head = Head { title: "Smoke", effect: Some(Effect::ActsNow), changed };
    let reset = section(ui, head, out, |ui, out| {
        for first in parameter::all().filter(|p| p.table() == TABLES[0] && !p.label.is_empty()) {
            let group = TABLES.map(|table| parameter::of(&format!("{table}.{}", first.key())));
            if !group.iter().any(|parameter| out.finds(parameter)) {
                continue;
            }
            heading(ui, &capitalised(first.key()), first.short_unit());
            for ((parameter, color), name) in group.into_iter().zip(swatches).zip(&names) {
                Row::of(parameter).swatch(color).named(name.clone()).show_in(ui, params, default, out);
            }
        }
    });
    if reset {
        params.smoke = default.smoke;
    }
}
