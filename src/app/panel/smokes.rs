//! The three smokes: buoyancy, dissipation and diffusion of each.

use egui::Ui;

use super::row::Row;
use super::section::{heading, section};
use super::{Out, theme};
use crate::app::model::Model;
use crate::parameter::{self, Effect};

const TABLES: [&str; 3] = ["smoke.red", "smoke.green", "smoke.blue"];

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    section(ui, "Smoke", Some(Effect::ActsNow), |ui| {
        for first in parameter::all().filter(|p| p.table() == TABLES[0] && !p.label.is_empty()) {
            heading(ui, &capitalised(first.key()), first.unit);
            for (table, color) in TABLES.into_iter().zip(theme::SMOKES) {
                let parameter = parameter::of(&format!("{table}.{}", first.key()));
                let (params, default) = (&mut model.settings.params, &model.defaults.params);
                Row::of(parameter).color(color).show_in(ui, params, default, out);
            }
        }
    });
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
