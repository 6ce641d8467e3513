//! Cost of steps and pictures, and health of the flow.

use std::collections::VecDeque;

use egui::{Align, Align2, Color32, FontId, Layout, Rect, Response, RichText, Sense, Stroke, Ui, pos2, vec2};

use super::section::{Head, section};
use super::shown_number::fine;
use super::{Out, brush, row, theme};
use crate::app::model::{Model, Readout};
use crate::grid::Dims;
use crate::scene::memory;
use crate::solver::{Config, Stage, StepStats};
use crate::worker::{RunState, Status};

/// Colours of the stages in the bar.
const STAGES: [Color32; Stage::ALL.len()] = [
    Color32::from_rgb(0x7d, 0x86, 0x94),
    Color32::from_rgb(0x6d, 0x96, 0xdb),
    Color32::from_rgb(0x6f, 0xb5, 0xb0),
    Color32::from_rgb(0x8f, 0xb5, 0x6f),
    Color32::from_rgb(0xc7, 0xa0, 0x5f),
    Color32::from_rgb(0xb5, 0x7f, 0xb8),
    Color32::from_rgb(0x9a, 0x8f, 0x86),
];

pub(super) fn show(ui: &mut Ui, model: &Model, readout: &Readout, out: &mut Out) {
    let head = Head { title: "Statistics", effect: None, changed: false };
    section(ui, head, out, |ui, out| {
        if !out.finds_words("statistics fps frame step divergence cfl mass memory cells") {
            return;
        }
        ui.spacing_mut().item_spacing.y = 2.0;
        pace(ui, readout);
        curve(ui, &readout.picture_ms);
        stages(ui, readout);
        flow(ui, &readout.stats);
        mass(ui, model, readout);
        under(ui, model, readout);
        size(ui, model, readout);
    });
}

fn pace(ui: &mut Ui, readout: &Readout) {
    line(ui, "Pictures", &format!("{:.0} fps   {:.0} ms", readout.fps, readout.draw_ms), "Drawn per second.");
    line(ui, "Behind real time", &behind(&readout.status), "Lag of simulated behind wall time.");
    let step = readout.status.step.as_secs_f32() * 1e3;
    line(ui, "Step", &format!("{step:.1} ms"), "Wall time of the last step.");
}

fn behind(status: &Status) -> String {
    match status.state {
        RunState::Running if status.lag < 0.15 => "on time".into(),
        _ if status.speed == 0.0 => "-".into(),
        _ => format!("{:.1} s   {:.2}×", status.lag, status.speed),
    }
}

fn flow(ui: &mut Ui, stats: &StepStats) {
    let divergence = format!("{:.1e} of {:.1e}", stats.divergence_after, stats.divergence_before);
    line(ui, "Divergence left", &divergence, "max |∇·u| h / max |u| after the projection, and before it.");
    let missing = match stats.substeps_missing {
        0 => String::new(),
        more => format!(" of {}", stats.substeps.saturating_add(more)),
    };
    let cfl = format!("{:.2} in {}{missing}", stats.cfl, count(stats.substeps, "substep"));
    line(ui, "CFL", &cfl, "Largest CFL number of a substep; after \"of\", the substeps it would take.");
    line(ui, "Fastest air", &format!("{:.2} m/s", stats.max_speed), "Largest velocity component.");
}

fn count(n: u32, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Shows the integral of each density, and plots it over the last steps.
fn mass(ui: &mut Ui, model: &Model, readout: &Readout) {
    let colors = model.settings.look.colors.map(|color| row::visible(brush::screen(color)));
    ui.horizontal(|ui| {
        name(ui, "Mass [m³]").on_hover_text("Integral of each density over the box.");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            for c in (0..3).rev() {
                let text = fine(readout.stats.mass[c]);
                ui.label(RichText::new(text).monospace().color(colors[c]));
            }
        });
    });
    let most = readout.masses.iter().flatten().copied().fold(1e-12, f32::max) * 1.1;
    let (rect, response) = plot(ui, 28.0, "Mass of each smoke", &format!("{} m³", fine(most.into())));
    for c in 0..3 {
        line_plot(ui, rect, readout.masses.iter().map(|mass| mass[c] / most), colors[c]);
    }
    response.on_hover_text("Mass over the last steps, and the value at the top.");
}

/// Shows the values in the cell under the ball.
fn under(ui: &mut Ui, model: &Model, readout: &Readout) {
    let Some(under) = readout.under else {
        return line(ui, "Under the ball", "-", "Values in the cell in the middle of the ball.");
    };
    let colors = model.settings.look.colors.map(|color| row::visible(brush::screen(color)));
    ui.horizontal(|ui| {
        name(ui, "Under the ball")
            .on_hover_text("Densities and temperature in the cell in the middle of the ball.");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(RichText::new(format!("{:.1} K", under.smoke[3])).monospace().color(theme::TEXT));
            for c in (0..3).rev() {
                ui.label(RichText::new(format!("{:.2}", under.smoke[c])).monospace().color(colors[c]));
            }
        });
    });
    if let Some([u, v, w, vorticity]) = under.flow {
        let text = format!("{u:.2} {v:.2} {w:.2} m/s   {vorticity:.1} 1/s");
        line(ui, "", &text, "Velocity and vorticity there.");
    }
}

fn size(ui: &mut Ui, model: &Model, readout: &Readout) {
    // A box that follows its smoke has other cells than the scene.
    let scene = &model.settings.scene;
    let [nx, ny, nz] = readout.dims.array().map(|n| n.div_ceil(scene.config.detail.max(1)));
    let config = Config { dims: Dims { nx, ny, nz }, ..scene.config.clone() };
    let fields = memory::human(scene.memory_in(&config));
    let [recorded, undo, most] = [model.playback.bytes, readout.status.stored_bytes, model.playback.limit]
        .map(|n| memory::human(n as u64));
    line(ui, "Memory: simulation", &fields, "About, with its pictures.");
    line(ui, "Memory: recorded frames", &recorded, &format!("At most {most}; then the oldest go."));
    line(ui, "Memory: undo", &undo, "The states kept for it, at most 1 GiB.");
    let [x, y, z] = readout.dims.array();
    line(ui, "Cells", &format!("{x}×{y}×{z}"), "Cells along x, y (up) and z.");
    let [lx, ly, lz] = readout.dims.array().map(|n| n as f32 * readout.h);
    line(ui, "Box", &format!("{lx:.2}×{ly:.2}×{lz:.2} m"), "Size of the domain.");
}

fn line(ui: &mut Ui, label: &str, value: &str, help: &str) {
    ui.horizontal(|ui| {
        name(ui, label).on_hover_text(help);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(RichText::new(value).monospace().color(theme::TEXT));
        });
    });
}

fn name(ui: &mut Ui, text: &str) -> Response {
    ui.add_space(10.0);
    ui.label(RichText::new(text).color(theme::QUIET))
}

/// Plots the wall time of the last pictures.
fn curve(ui: &mut Ui, values: &VecDeque<f32>) {
    let slowest = values.iter().copied().fold(1.0, f32::max);
    let (rect, response) = plot(ui, 24.0, "Time of a picture", &format!("{:.0} ms", 1.15 * slowest));
    line_plot(ui, rect, values.iter().map(|ms| ms / (1.15 * slowest)), theme::QUIET);
    let middle = median(values.iter().copied().collect());
    response.on_hover_text(format!("The last pictures: median {middle:.1} ms, slowest {slowest:.1} ms."));
}

/// Height of the title of a plot \[pt\].
const TITLE: f32 = 14.0;

/// Allocates a plot of this height, below its title and the value at its top.
fn plot(ui: &mut Ui, height: f32, text: &str, top: &str) -> (Rect, Response) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height + TITLE), Sense::hover());
    let rect = under_names(rect);
    ui.painter().rect_filled(rect, 3.0, ui.visuals().extreme_bg_color);
    let font = FontId::proportional(10.0);
    let color = theme::TEXT.gamma_multiply(0.8);
    ui.painter().text(rect.left_top() + vec2(4.0, 1.0), Align2::LEFT_TOP, text, font.clone(), color);
    ui.painter().text(rect.right_top() + vec2(-4.0, 1.0), Align2::RIGHT_TOP, top, font, color);
    (rect.with_min_y(rect.top() + TITLE), response)
}

/// Draws a line through shares of the height of `rect`, a value for each of the last steps.
fn line_plot(ui: &Ui, rect: Rect, shares: impl Iterator<Item = f32>, color: Color32) {
    let x = |n: usize| rect.left() + rect.width() * (n as f32 + 0.5) / Readout::STEPS_KEPT as f32;
    let points =
        shares.enumerate().map(|(n, share)| pos2(x(n), rect.bottom() - rect.height() * share)).collect();
    ui.painter().line(points, Stroke::new(1.2, color));
}

/// Returns the row, indented as the names of the lines above.
fn under_names(row: Rect) -> Rect {
    Rect::from_min_max(row.min + vec2(10.0, 2.0), row.max - vec2(0.0, 2.0))
}

pub(super) fn median(mut values: Vec<f32>) -> f32 {
    values.sort_by(f32::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Plots the time of the last steps: a column for each, its stages stacked.
fn stages(ui: &mut Ui, readout: &Readout) {
    let slowest = readout.stage_ms.iter().map(|step| step.iter().sum()).fold(1.0, f32::max);
    let (rect, response) = plot(ui, 44.0, "Time of a step, by stage", &format!("{:.0} ms", 1.1 * slowest));
    let width = rect.width() / Readout::STEPS_KEPT as f32;
    for (n, step) in readout.stage_ms.iter().enumerate() {
        let mut foot = rect.bottom();
        for (stage, ms) in step.iter().enumerate() {
            let top = foot - rect.height() * ms / (1.1 * slowest);
            let left = rect.left() + width * n as f32;
            let part = Rect::from_min_max(pos2(left, top), pos2(left + width, foot));
            ui.painter().rect_filled(part, 0.0, STAGES[stage]);
            foot = top;
        }
    }
    response.on_hover_ui(|ui| {
        let middle = median(readout.step_ms.iter().copied().collect());
        ui.label(format!("The last steps: median {middle:.1} ms, slowest {slowest:.1} ms. The last one:"));
        for stage in Stage::ALL {
            let ms = readout.stats.stages[stage as usize].as_secs_f32() * 1e3;
            let text = format!("{:<16} {ms:7.2} ms", stage.name());
            ui.label(RichText::new(text).monospace().color(STAGES[stage as usize]));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_shown_in_words_and_numbers() {
        let running = Status { state: RunState::Running, speed: 1.0, ..Status::default() };
        assert_eq!(behind(&running), "on time");
        assert_eq!(behind(&Status { lag: 2.44, speed: 0.31, ..running }), "2.4 s   0.31×");
        assert_eq!(behind(&Status::default()), "-");
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![5.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(Vec::new()), 0.0);
    }
}
