//! The strip under the view: scrubbing and playback of the recorded frames.

use egui::{
    Align, Button, Context, DragValue, Frame, Layout, Margin, RichText, Slider, TopBottomPanel, Ui, vec2,
};

use super::typed_number::{self, Field};
use super::{Out, theme};
use crate::app::action::Action;
use crate::app::model::Playback;
use crate::scene::memory;

/// Width of the numbers at the right of the slider \[pt\].
const NUMBERS: f32 = 96.0;

/// Width below which the slider has a line of its own \[pt\].
const ONE_LINE: f32 = 420.0;

/// Width below which there is no room for loop, speed and numbers \[pt\].
const NARROW: f32 = 250.0;

/// Name of the field of the playback speed.
const SPEED: &str = "timeline.speed";

pub(super) fn show(ctx: &Context, playback: &mut Playback, out: &mut Out) {
    let [first, last] = playback.range;
    if first == last && playback.at.is_none() {
        return;
    }
    let limits = Field { name: SPEED, unit: "×", range: 0.1..=8.0, whole: false, width: 44.0 };
    let frame = Frame::new().fill(theme::GROUND).inner_margin(Margin::symmetric(10, 5));
    TopBottomPanel::bottom("timeline").frame(frame).show_separator_line(false).show(ctx, |ui| {
        let width = ui.available_width();
        if width < ONE_LINE {
            ui.horizontal(|ui| scrub(ui, playback, out));
        }
        if width < NARROW {
            ui.spacing_mut().item_spacing.x = 3.0;
            ui.spacing_mut().button_padding.x = 4.0;
        }
        ui.horizontal(|ui| {
            let play = if playback.playing { "⏸" } else { "▶" };
            let help = "Play the recorded frames (P). The simulation pauses meanwhile.";
            button(ui, play, help, playback.playing, Action::Play, out);
            if width >= NARROW {
                ui.toggle_value(&mut playback.looped, "⟲").on_hover_text("Restart after the last frame.");
                let speed = DragValue::new(&mut playback.speed).speed(0.02).max_decimals(2).suffix("×");
                let speed = limits.show(ui, speed);
                out.places.insert(SPEED, speed.rect);
                speed.on_hover_text("Playback speed: 1 is that of the simulation.");
            }
            // The slider gets the width that the buttons at the right leave.
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let help = format!(
                    "Write the frames to a film, pictures or volumes ({}).",
                    Action::ShowExport.key()
                );
                button(ui, "Export", &help, false, Action::ShowExport, out);
                let present = playback.at.is_none();
                let help = "Show the present. Run continues from the shown frame.";
                button(ui, "Live", help, present, Action::Present, out);
                if width >= ONE_LINE {
                    ui.with_layout(Layout::left_to_right(Align::Center), |ui| scrub(ui, playback, out));
                }
            });
        });
        typed_number::notice(ui, SPEED);
    });
}

fn scrub(ui: &mut Ui, playback: &mut Playback, out: &mut Out) {
    let [first, last] = playback.range;
    let mut shown = playback.at.unwrap_or(last);
    let width = ui.available_width();
    let has_numbers = width >= NARROW;
    let numbers = if has_numbers { NUMBERS + ui.spacing().item_spacing.x } else { 0.0 };
    ui.spacing_mut().slider_width = (width - numbers).max(60.0);
    let slider = Slider::new(&mut shown, first..=last).show_value(false);
    let used = memory::human(playback.bytes as u64);
    let most = memory::human(playback.limit as u64);
    let place = match playback.disk {
        Some(room) => {
            let [on_disk, room] = room.map(memory::human);
            format!("{used} of {most} in memory, {on_disk} of {room} on the disk")
        }
        None => format!("{used} of {most}"),
    };
    let flow = match playback.first_flow {
        Some(n) => format!("Velocity is kept from frame {n} on: its newest 256 MiB."),
        None => "Velocity is recorded while a view of it is open.".into(),
    };
    let help = format!(
        "Frames {first} to {last}: {place}. Drag to look back; when it is full, the oldest go.\n{flow}"
    );
    let response = ui.add(slider).on_hover_text(help);
    out.places.insert("timeline", response.rect);
    if response.changed() {
        (playback.at, playback.playing) = (Some(shown), false);
    }
    if !has_numbers {
        return;
    }
    let color = if playback.at.is_some() { theme::ACCENT } else { theme::QUIET };
    let text = RichText::new(format!("{shown} / {last}")).monospace().color(color);
    ui.add_sized([NUMBERS, 20.0], egui::Label::new(text)).on_hover_text("Shown frame, and last frame.");
}

fn button(ui: &mut Ui, text: &str, help: &str, on: bool, action: Action, out: &mut Out) {
    let color = if on { theme::ACCENT } else { theme::TEXT };
    let response = ui.add(Button::new(RichText::new(text).color(color)).min_size(vec2(28.0, 22.0)));
    out.places.insert(action.name(), response.rect);
    if response.on_hover_text(help).clicked() {
        out.actions.push(action);
    }
}
