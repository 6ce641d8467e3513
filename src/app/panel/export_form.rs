//! Export from the window: format, size, frames, path and progress.

use egui::{Button, DragValue, ProgressBar, RichText, TextEdit, Ui, vec2};

use super::section::{Head, section};
use super::typed_number::{self, Field};
use super::{Out, theme};
use crate::app::action::Action;
use crate::app::export::Format;
use crate::app::model::Model;

/// Selectable sizes \[px\].
const SIZES: [(&str, [u32; 2]); 4] =
    [("VGA", [640, 480]), ("720p", [1280, 720]), ("1080p", [1920, 1080]), ("4K", [3840, 2160])];

/// Name of the number fields.
const NAME: &str = "export";

pub(super) fn show(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let head = Head { title: "Export", effect: None, changed: false };
    section(ui, head, out, |ui, out| {
        if !out.finds_words("export video film frames volumes vdb picture png apng mp4") {
            return;
        }
        match model.exporting.clone() {
            Some(progress) => {
                let share = progress.done as f32 / progress.total.max(1) as f32;
                let text = format!("{} of {} frames", progress.done, progress.total);
                ui.add(ProgressBar::new(share).text(text));
                ui.horizontal(|ui| {
                    let hold = if progress.paused { "Go on" } else { "Pause" };
                    button(ui, hold, Action::HoldExport, out);
                    button(ui, "Cancel", Action::CancelExport, out);
                });
            }
            None => form(ui, model, out),
        }
    });
}

fn form(ui: &mut Ui, model: &mut Model, out: &mut Out) {
    let [first, last] = model.playback.range;
    let form = &mut model.export;
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        for format in Format::ALL {
            let label = ui.selectable_label(form.format == format, format.name());
            out.places.insert(
                ["export.picture", "export.frames", "export.video", "export.apng", "export.volumes"]
                    [format as usize],
                label.rect,
            );
            if label.clicked() && form.format != format {
                (form.format, form.path) = (format, None);
            }
        }
    });
    if form.format != Format::Volumes {
        size(ui, &mut form.size);
    }
    if form.format != Format::Picture {
        range(ui, &mut form.range, [first, last]);
    }
    typed_number::notice(ui, NAME);
    let mut path = form.place(&model.settings.scene.name);
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.label(RichText::new("To").color(theme::QUIET));
        let field = ui.add(TextEdit::singleline(&mut path).desired_width(f32::INFINITY));
        out.places.insert("export.path", field.rect);
        if field.changed() {
            form.path = Some(path);
        }
    });
    let note = match form.format {
        Format::Picture => "What is shown now, rendered finely.",
        Format::Volumes => "OpenVDB: densities and temperature of the recorded frames.",
        Format::Frames => "The recorded frames, seen as now.",
        Format::Video => "The recorded frames, seen as now; ffmpeg writes mp4, webm or gif.",
        Format::Animation => "The recorded frames, seen as now; browsers play it, and it needs no ffmpeg.",
    };
    ui.label(RichText::new(note).size(11.5).color(theme::QUIET));
    button(ui, "Export", Action::Export, out);
}

fn size(ui: &mut Ui, size: &mut [u32; 2]) {
    typed_number::row(ui, |ui| {
        ui.add_space(10.0);
        ui.label(RichText::new("Size").color(theme::QUIET));
        let field = || Field { name: NAME, unit: "px", range: 16.0..=16384.0, whole: true, width: 52.0 };
        field().show(ui, DragValue::new(&mut size[0]));
        ui.label("×");
        field().show(ui, DragValue::new(&mut size[1]).suffix(" px"));
        ui.menu_button("⏷", |ui| {
            for (name, wanted) in SIZES {
                if ui.button(format!("{name}  {} × {}", wanted[0], wanted[1])).clicked() {
                    *size = wanted;
                    ui.close();
                }
            }
        });
    });
}

fn range(ui: &mut Ui, range: &mut Option<[u64; 2]>, [first, last]: [u64; 2]) {
    let [mut from, mut to] = range.unwrap_or([first, last]).map(|n| n.clamp(first, last));
    typed_number::row(ui, |ui| {
        ui.add_space(10.0);
        ui.label(RichText::new("Frames").color(theme::QUIET));
        let field = |from: u64, to: u64| {
            let range = from as f64..=to as f64;
            Field { name: NAME, unit: "", range, whole: true, width: 52.0 }
        };
        let a = field(first, to).show(ui, DragValue::new(&mut from));
        ui.label("to");
        let b = field(from, last).show(ui, DragValue::new(&mut to));
        if a.changed() || b.changed() {
            *range = Some([from, to]);
        }
        if range.is_some() && ui.button("all").clicked() {
            *range = None;
        }
    });
}

fn button(ui: &mut Ui, text: &str, action: Action, out: &mut Out) {
    let response = ui.add(Button::new(text).min_size(vec2(80.0, 24.0)));
    out.places.insert(action.name(), response.rect);
    if response.clicked() {
        out.actions.push(action);
    }
}
