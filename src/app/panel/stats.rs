//! Cost of steps and pictures, and health of the flow.

use egui::{Align, Color32, Layout, Rect, RichText, Sense, Stroke, Ui, pos2, vec2};

use super::section::section;
use super::theme;
use crate::app::model::Readout;
use crate::solver::{Stage, StepStats};
use crate::worker::{State, Status};

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

pub(super) fn show(ui: &mut Ui, readout: &Readout) {
    section(ui, "Statistics", None, |ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        pace(ui, readout);
        plot(ui, readout);
        stages(ui, &readout.stats);
        flow(ui, &readout.stats);
        mass(ui, &readout.stats);
        size(ui, readout);
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
        State::Running if status.lag < 0.15 => "on time".into(),
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

fn mass(ui: &mut Ui, stats: &StepStats) {
    ui.horizontal(|ui| {
        name(ui, "Mass").on_hover_text("Integral of each density over the box [m³].");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            for c in (0..3).rev() {
                let text = format!("{:.2e}", stats.mass[c]);
                ui.label(RichText::new(text).monospace().color(theme::SMOKES[c]));
            }
        });
    });
}

fn size(ui: &mut Ui, readout: &Readout) {
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

fn name(ui: &mut Ui, text: &str) -> egui::Response {
    ui.add_space(10.0);
    ui.label(RichText::new(text).color(theme::QUIET))
}

/// Plot of the wall times of the last steps, against the available time.
fn plot(ui: &mut Ui, readout: &Readout) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 36.0), Sense::hover());
    let rect = under_names(rect);
    ui.painter().rect_filled(rect, 3.0, ui.visuals().extreme_bg_color);
    let most = readout.step_ms.iter().copied().fold(1.0, f32::max) * 1.15;
    let x = |n: usize| rect.left() + rect.width() * (n as f32 + 0.5) / Readout::STEPS_KEPT as f32;
    let y = |ms: f32| rect.bottom() - rect.height() * ms / most;
    let points = readout.step_ms.iter().enumerate().map(|(n, &ms)| pos2(x(n), y(ms))).collect();
    ui.painter().line(points, Stroke::new(1.2, theme::ACCENT));
    let middle = median(readout.step_ms.iter().copied().collect());
    response.on_hover_text(format!("The last steps: median {middle:.1} ms, slowest {:.1} ms.", most / 1.15));
}

/// Rectangle for painting below the names of the lines above.
fn under_names(row: Rect) -> Rect {
    Rect::from_min_max(row.min + vec2(10.0, 2.0), row.max - vec2(0.0, 2.0))
}

fn median(mut values: Vec<f32>) -> f32 {
    values.sort_by(f32::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Times of the stages of a step, as parts of one bar.
fn stages(ui: &mut Ui, stats: &StepStats) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 12.0), Sense::hover());
    let rect = under_names(rect);
    ui.painter().rect_filled(rect, 2.0, ui.visuals().extreme_bg_color);
    let all = stats.wall().as_secs_f32().max(1e-9);
    let mut left = rect.left();
    for stage in Stage::ALL {
        let width = rect.width() * stats.stages[stage as usize].as_secs_f32() / all;
        let part = Rect::from_min_size(pos2(left, rect.top()), vec2(width, rect.height()));
        ui.painter().rect_filled(part, 0.0, STAGES[stage as usize]);
        left += width;
    }
    response.on_hover_ui(|ui| {
        ui.label("Times of the stages of the last step:");
        for stage in Stage::ALL {
            let ms = stats.stages[stage as usize].as_secs_f32() * 1e3;
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
        let running = Status { state: State::Running, speed: 1.0, ..Status::default() };
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
