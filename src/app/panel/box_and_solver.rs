//! The box and the solver: settings that need a restart. Changes are collected with their estimated cost, and
//! applied together.

use std::ops::RangeInclusive;

use egui::{Button, DragValue, Response, RichText, Ui, vec2};

use super::control::words_control;
use super::section::{Head, section};
use super::shown_number::{fine, suffix};
use super::typed_number::{self, Field};
use super::{Out, row, theme};
use crate::app::model::{Model, Readout};
use crate::app::objects::Draft;
use crate::grid::Dims;
use crate::parameter::{self, Effect, Holder, Kind, SideKind, SideName, Value, Worded};
use crate::scene::Scene;
use crate::scene::edits::Entry;
use crate::scene::memory;
use crate::solver::{BoundaryCondition, Config, Inflow};

/// Solver settings of the section.
const KEYS: [&str; 13] = [
    "domain.detail",
    "domain.follow",
    "domain.follow_margin",
    "domain.follow_free",
    "domain.follow_threshold",
    "domain.follow_limit",
    "solver.advection",
    "solver.integrator",
    "solver.projection",
    "solver.trace_order",
    "time.cfl",
    "time.max_substeps",
    "solver.tolerance",
];

/// Name of a side in the panel.
const NAMES: [[&str; 2]; 3] = [["Left side", "Right side"], ["Floor", "Top"], ["Back", "Front"]];

/// Names of fields for their notices.
const RESOLUTION: &str = "solver.resolution";
const INFLOW: &str = "inflow";
const CELLS: &str = "domain.cells";

pub(super) fn show(ui: &mut Ui, model: &mut Model, readout: &Readout, out: &mut Out) {
    let head = Head { title: "Box and solver", effect: Some(Effect::Restarts), changed: false };
    section(ui, head, out, |ui, out| {
        if !out.finds_words(
            "box solver resolution cells voxel detail follow margin limit walls sides advection integrator projection cfl",
        ) {
            return;
        }
        let scene = model.settings.scene.clone();
        let mut draft = model.draft.take().unwrap_or_default();
        resolution(ui, &scene, &mut draft, out);
        sides(ui, &scene, &mut draft, out);
        KEYS.into_iter().for_each(|key| setting(ui, &scene, &mut draft, key, out));
        let changes = draft.changes(&scene);
        let fits = estimate(ui, &scene, &draft, readout);
        // The session drops the draft once the restart has succeeded.
        if apply(ui, !changes.is_empty(), fits, &mut draft, out) {
            model.edits.extend(changes);
        }
        model.draft = (draft != Draft::default()).then_some(draft);
    });
}

fn line(ui: &mut Ui, name: &str, help: &str, contents: impl FnOnce(&mut Ui)) {
    typed_number::row(ui, |ui| {
        row::name(ui, name, help);
        contents(ui);
    });
}

/// Shows one number for the resolution, which keeps the size of the box, and the grid itself.
fn resolution(ui: &mut Ui, scene: &Scene, draft: &mut Draft, out: &mut Out) {
    let longest = |cells: [usize; 3]| cells.into_iter().max().unwrap_or(1) as u32;
    let now = longest(scene.config.dims.array());
    let mut most = longest(draft.cells(scene).0);
    let before = most;
    let help =
        "Cells along the longest side. The box stays as large as it is, and everything in it where it is.";
    line(ui, "Resolution", help, |ui| {
        let number = DragValue::new(&mut most).speed(0.5).suffix(" cells");
        let field = Field { name: RESOLUTION, unit: "cells", range: hard(CELLS), whole: true, width: 90.0 };
        out.places.insert(RESOLUTION, field.show(ui, number).rect);
        for (text, factor) in [("½", 0.5), ("2×", 2.0)] {
            if ui.button(text).clicked() {
                let range = hard(CELLS);
                most = (f64::from(now) * factor).clamp(*range.start(), *range.end()) as u32;
            }
        }
    });
    typed_number::notice(ui, RESOLUTION);
    if most != before {
        (draft.grid, draft.resolution) = (None, (most != now).then_some(most));
    }
    grid(ui, scene, draft, out);
    let ([x, y, z], h) = draft.cells(scene);
    let [lx, ly, lz] = [x, y, z].map(|n| fine(n as f64 * f64::from(h)));
    let text = format!("{x} × {y} × {z} cells of {} m in {lx} × {ly} × {lz} m", fine(h.into()));
    ui.label(RichText::new(text).size(11.5).color(theme::QUIET));
}

/// Shows the cells along each axis, and their edge. The box grows and shrinks at its upper corner.
fn grid(ui: &mut Ui, scene: &Scene, draft: &mut Draft, out: &mut Out) {
    let (mut cells, mut h) = draft.cells(scene);
    let before = (cells, h);
    line(ui, "Cells x, y, z", "Cells along each axis. Objects stay where they are.", |ui| {
        for n in &mut cells {
            let field = Field { name: CELLS, unit: "cells", range: hard(CELLS), whole: true, width: 52.0 };
            let response = field.show(ui, DragValue::new(n).speed(0.5));
            out.places.entry(CELLS).or_insert(response.rect);
        }
    });
    typed_number::notice(ui, CELLS);
    let voxel = parameter::of("domain.voxel");
    line(ui, "Edge of a cell", voxel.description, |ui| {
        let speed = 0.01 * h;
        let number = DragValue::new(&mut h).speed(speed).custom_formatter(|x, _| fine(x));
        let response = field("domain.voxel", false).show(ui, number.suffix(suffix(voxel)));
        out.places.insert("domain.voxel", response.rect);
    });
    typed_number::notice(ui, "domain.voxel");
    if cells != before.0 || !is_number(h.into(), before.1) {
        let own = (scene.config.dims.array(), scene.config.h);
        let is_own = cells == own.0 && is_number(h.into(), own.1);
        draft.grid = (!is_own).then_some((cells, h));
        draft.resolution = None;
    }
}

fn sides(ui: &mut Ui, scene: &Scene, draft: &mut Draft, out: &mut Out) {
    for axis in 0..3 {
        for end in 0..2 {
            let key = side_key(axis, end);
            let shown = shown_side(draft, scene, axis, end);
            line(ui, NAMES[axis][end], parameter::of("domain.walls").description, |ui| {
                let chosen = words_control(ui, &key, SideKind::WORDS, shown.word());
                if let Some(chosen) = chosen.and_then(|word| SideKind::from_word(&word)) {
                    set_side(draft, scene, axis, end, chosen);
                }
            });
            let varies = scene.side_formulas.iter().any(|side| side.is_of(axis, end));
            if varies && draft.get(&key).is_none() {
                line(ui, "", "Edit the file to change them.", |ui| {
                    ui.label(RichText::new("with the formulas of the file").color(theme::QUIET));
                });
            } else if shown == SideKind::Inflow {
                inflow(ui, scene, draft, [axis, end], out);
            }
        }
    }
}

/// Shows velocity, smoke and temperature of the air that enters through a side.
fn inflow(ui: &mut Ui, scene: &Scene, draft: &mut Draft, [axis, end]: [usize; 2], out: &mut Out) {
    let key = side_key(axis, end);
    let id = ui.id().with(("inflow", &key));
    let set = matches!(draft.get(&key), Some(Entry::Other(_)));
    let kept = ui.data(|data| data.get_temp::<[f32; 7]>(id)).filter(|_| set);
    let own = match scene.config.sides[axis][end] {
        BoundaryCondition::Inflow(Inflow { velocity: [u, v, w], scalars: [r, g, b, heat] }) => {
            Some([u, v, w, r, g, b, heat])
        }
        _ => None,
    };
    let mut values = kept.or(own).unwrap_or([0.0; 7]);
    let before = values;
    line(ui, "Air [m/s]", parameter::of("side.inflow.velocity").description, |ui| {
        for x in &mut values[..3] {
            let response = air(ui, "side.inflow.velocity", 56.0, x, 0.01);
            out.places.entry(INFLOW).or_insert(response.rect);
        }
    });
    line(ui, "R, G, B, heat", "Smoke of the three colours in it, and its temperature excess [K].", |ui| {
        let keys = ["red", "green", "blue", "temperature"].map(|key| format!("side.inflow.{key}"));
        for (key, x) in keys.iter().zip(&mut values[3..]) {
            air(ui, key, 40.0, x, 0.02);
        }
    });
    typed_number::notice(ui, INFLOW);
    if Some(values) == own {
        draft.unset(&key);
    } else if values != before {
        ui.data_mut(|data| data.insert_temp(id, values));
        draft.set(&key, Entry::Other(inflow_text(values)));
    }
}

/// Shows a number of an inflow, of the parameter `key`. A field that is left without a change keeps the
/// hidden digits.
fn air(ui: &mut Ui, key: &str, width: f32, x: &mut f32, speed: f64) -> Response {
    let before = *x;
    let unit = parameter::of(key).short_unit();
    let field = Field { name: INFLOW, unit, range: hard(key), whole: false, width };
    let response = field.show(ui, DragValue::new(x).speed(speed).custom_formatter(|x, _| fine(x)));
    if is_number((*x).into(), before) {
        *x = before;
    }
    response
}

/// Returns an inflow as TOML.
pub(in crate::app) fn inflow_text(values: [f32; 7]) -> String {
    let [u, v, w, r, g, b, heat] = values;
    format!(
        "{{ inflow = {{ velocity = [{u:?}, {v:?}, {w:?}], red = {r:?}, green = {g:?}, blue = {b:?}, temperature = {heat:?} }} }}"
    )
}

/// Returns the key of a side.
fn side_key(axis: usize, end: usize) -> String {
    format!("domain.walls.{}", SideName::ALL[axis][end].word())
}

/// Returns the condition of a side in the draft, or that of the scene.
fn shown_side(draft: &Draft, scene: &Scene, axis: usize, end: usize) -> SideKind {
    let drawn = match draft.get(&side_key(axis, end)) {
        Some(Entry::Word(word)) => SideKind::from_word(word),
        Some(Entry::Other(_)) => Some(SideKind::Inflow),
        _ => None,
    };
    drawn.unwrap_or_else(|| SideKind::of(&scene.config.sides[axis][end]))
}

/// Sets a side; a periodic one also sets the opposite side.
fn set_side(draft: &mut Draft, scene: &Scene, axis: usize, end: usize, chosen: SideKind) {
    let other = shown_side(draft, scene, axis, 1 - end);
    // The side of the file keeps its velocity, temperature or formulas.
    let own = |end: usize| SideKind::of(&scene.config.sides[axis][end]);
    let mut set = |end: usize, kind: SideKind| match kind {
        _ if own(end) == kind => draft.unset(&side_key(axis, end)),
        // An inflow is a table; its numbers follow below.
        SideKind::Inflow => draft.set(&side_key(axis, end), Entry::Other(inflow_text([0.0; 7]))),
        kind => draft.set(&side_key(axis, end), Entry::Word(kind.word().to_owned())),
    };
    set(end, chosen);
    match (chosen == SideKind::Periodic, other == SideKind::Periodic) {
        (true, false) => set(1 - end, chosen),
        (false, true) if own(1 - end) == SideKind::Periodic => set(1 - end, chosen),
        (false, true) => set(1 - end, own(1 - end)),
        _ => {}
    }
}

fn field(key: &'static str, whole: bool) -> Field<'static> {
    Field { name: key, unit: parameter::of(key).short_unit(), range: hard(key), whole, width: 90.0 }
}

/// Returns the hard range of a parameter.
fn hard(key: &str) -> RangeInclusive<f64> {
    let hard = &parameter::of(key).hard;
    f64::from(*hard.start())..=f64::from(*hard.end())
}

fn setting(ui: &mut Ui, scene: &Scene, draft: &mut Draft, key: &'static str, out: &mut Out) {
    let parameter = parameter::of(key);
    let Some(now) = scene.config.value_of(parameter) else { return };
    let name = super::control::capitalised(parameter.key()).replace('_', " ");
    let name = if name == "Cfl" { "CFL".to_owned() } else { name };
    line(ui, &name, parameter.description, |ui| match (parameter.kind, now) {
        (Kind::Word(words), Value::Word(now)) => {
            let shown = match draft.get(key) {
                Some(Entry::Word(word)) => word.clone(),
                _ => now.to_owned(),
            };
            if let Some(chosen) = words_control(ui, key, words, &shown) {
                draft.set(key, Entry::Word(chosen));
            }
        }
        (_, Value::Number(now)) => {
            let mut x = draft.get(key).and_then(Entry::number).unwrap_or(f64::from(now));
            let speed = 0.02 * x.abs();
            let number = DragValue::new(&mut x).speed(speed).custom_formatter(|x, _| fine(x));
            let response = field(key, false).show(ui, number.suffix(suffix(parameter)));
            out.places.insert(key, response.rect);
            if response.changed() {
                draft.set(key, Entry::of(x as f32));
            }
        }
        (_, Value::Flag(now)) => {
            let mut on = match draft.get(key) {
                Some(Entry::Flag(on)) => *on,
                _ => now,
            };
            let response = ui.checkbox(&mut on, "");
            out.places.insert(key, response.rect);
            if response.changed() {
                draft.set(key, Entry::Flag(on));
            }
        }
        (_, Value::Whole(now)) => {
            let mut n = draft.get(key).and_then(Entry::number).map_or(now, |x| x as u32);
            let response = field(key, true).show(ui, DragValue::new(&mut n).speed(0.1));
            out.places.insert(key, response.rect);
            if response.changed() {
                draft.set(key, Entry::Whole(n.into()));
            }
        }
        _ => {}
    });
    // A response also changes while letters are typed.
    if draft.get(key).is_some_and(|entry| is_running(entry, now)) {
        draft.unset(key);
    }
    typed_number::notice(ui, key);
}

/// Returns whether an entry is the running value.
fn is_running(entry: &Entry, now: Value) -> bool {
    match (entry, now) {
        (Entry::Word(word), Value::Word(now)) => word == now,
        (Entry::Flag(on), Value::Flag(now)) => *on == now,
        (entry, Value::Number(now)) => entry.number().is_some_and(|x| is_number(x, now)),
        (entry, Value::Whole(now)) => entry.number() == Some(now.into()),
        _ => false,
    }
}

/// Returns whether `x` is `now`, exactly or rounded as its field shows it: a field that is left reads its own
/// text.
fn is_number(x: f64, now: f32) -> bool {
    let x = x as f32;
    x == now || fine(now.into()).parse::<f32>() == Ok(x)
}

/// Shows memory and time of a step after the changes, estimated from the present step. Returns whether the
/// memory is allowed.
fn estimate(ui: &mut Ui, scene: &Scene, draft: &Draft, readout: &Readout) -> bool {
    let (cells, h) = draft.cells(scene);
    let dims = match Dims::new(cells) {
        Ok(dims) => dims,
        Err(error) => {
            ui.add_space(2.0);
            ui.label(RichText::new(error.to_string()).size(11.5).color(theme::ALARM));
            return false;
        }
    };
    let mut config = Config { dims, h, ..scene.config.clone() };
    if let Some(detail) = draft.get("domain.detail").and_then(Entry::number) {
        config.detail = detail as usize;
    }
    let bytes = memory::estimate(&config, !scene.solids.is_empty());
    let limit = memory::default_limit();
    let now = readout.step_ms.iter().copied().collect::<Vec<_>>();
    let now = super::stats::median(now);
    // The velocity takes about three times as long as the smoke on as many cells.
    let work = |config: &Config| (3 * config.dims.cells() + config.smoke_dims().cells()) as f32;
    let ms = now * work(&config) / work(&scene.config);
    let time = if now > 0.0 { format!(", about {ms:.0} ms a step (now {now:.0})") } else { String::new() };
    let (text, color) = match bytes > limit {
        true => {
            let text = format!("Needs {} of {} allowed", memory::human(bytes), memory::human(limit));
            (text, theme::ALARM)
        }
        false => (format!("Takes {}{time}", memory::human(bytes)), theme::QUIET),
    };
    ui.add_space(2.0);
    ui.label(RichText::new(text).size(11.5).color(color));
    bytes <= limit
}

/// Buttons that apply or discard the changes. Returns true to apply.
fn apply(ui: &mut Ui, changed: bool, fits: bool, draft: &mut Draft, out: &mut Out) -> bool {
    let mut made = false;
    ui.horizontal(|ui| {
        let text = RichText::new("Restart with these").color(if changed && fits {
            theme::ACCENT
        } else {
            theme::TEXT
        });
        let button = ui.add_enabled(changed && fits, Button::new(text).min_size(vec2(150.0, 24.0)));
        out.places.insert("solver.apply", button.rect);
        let why = if fits { "Nothing is changed yet." } else { "The box is too large." };
        made = button
            .on_hover_text("Starts the scene over. Undo comes back to the smoke as it is now.")
            .on_disabled_hover_text(why)
            .clicked();
        if ui.add_enabled(changed, Button::new("Forget").min_size(vec2(70.0, 24.0))).clicked() {
            *draft = Draft::default();
        }
    });
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_is_chosen_again_keeps_what_the_file_says() {
        let text = "[domain]\nwalls = { y_max = { no-slip = { velocity = [1, 0, 0] } }, y_min = { closed = { temperature = 9 } } }\n";
        let scene = Scene::parse("lid", text).unwrap();
        let mut draft = Draft::default();
        for (end, kept) in [(1, SideKind::NoSlip), (0, SideKind::Closed)] {
            set_side(&mut draft, &scene, 1, end, SideKind::Open);
            assert!(!draft.values.is_empty());
            set_side(&mut draft, &scene, 1, end, kept);
            assert_eq!(draft, Draft::default());
        }
        set_side(&mut draft, &scene, 1, 1, SideKind::Periodic);
        assert_eq!(draft.values.len(), 2, "both ends");
        set_side(&mut draft, &scene, 1, 1, SideKind::NoSlip);
        assert_eq!(draft, Draft::default(), "both are as in the file");
    }

    /// Each condition of the list can be chosen; an inflow is a table, at rest until its numbers are set.
    #[test]
    fn every_declared_condition_of_a_side_can_be_chosen() {
        let scene = Scene::parse("box", "[domain]\nwalls = \"closed\"\n").unwrap();
        for (word, _) in SideKind::WORDS {
            let kind = SideKind::from_word(word).unwrap();
            let mut draft = Draft::default();
            set_side(&mut draft, &scene, 0, 0, kind);
            assert_eq!(shown_side(&draft, &scene, 0, 0), kind);
            let edited = scene.edited(&draft.changes(&scene)).unwrap();
            assert_eq!(SideKind::of(&edited.config.sides[0][0]), kind, "{word}");
        }
    }
}
