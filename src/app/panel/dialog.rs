//! Dialogs over everything else: before leaving with losses, and for the choice of a file. All are in this
//! window, so no desktop is needed.

use egui::{Button, Context, Id, Key, Modal, RichText, TextEdit, Ui};

use super::{Out, theme};
use crate::app::action::Action;
use crate::app::file;
use crate::app::model::{Dialog, Losses, Model, PathForm, Purpose};
use crate::app::objects;
use crate::scene::builtin;

/// Width of a dialog, if the window is wide enough \[pt\].
const WIDTH: f32 = 440.0;

pub(super) fn show(ctx: &Context, model: &mut Model, out: &mut Out) {
    let name = model.title.clone();
    let Some(dialog) = &mut model.dialog else {
        return;
    };
    Modal::new(Id::new("dialog")).show(ctx, |ui| {
        ui.set_width(WIDTH.min(ctx.content_rect().width() - 60.0));
        match dialog {
            Dialog::Leave(losses) => leave(ui, &name, losses, out),
            Dialog::Path(form) => path(ui, form, out),
        }
    });
}

fn leave(ui: &mut Ui, name: &str, losses: &Losses, out: &mut Out) {
    if losses.settings {
        title(ui, &format!("Save the changes to {name}?"));
        ui.label("Its settings have changed since it was opened or saved.");
    } else {
        title(ui, &format!("Leave {name}?"));
    }
    let frames = match losses.frames {
        1 => "the recorded frame (an export keeps it)".to_owned(),
        n => format!("the {n} recorded frames (an export keeps them)"),
    };
    let replaced =
        format!("the unsaved changes of {} (undo returns to them)", losses.replaced.join(" and of "));
    let others = [
        (!losses.replaced.is_empty(), replaced.as_str()),
        (losses.strokes, "the painted smoke (an export keeps it)"),
        (losses.frames > 0, frames.as_str()),
        (losses.export, "the export under way"),
        (losses.draft, "the edits of \u{201c}Box and solver\u{201d} that wait for a restart"),
    ];
    let others = others.iter().filter(|(lost, _)| *lost).map(|(_, what)| *what).collect::<Vec<_>>();
    if !others.is_empty() {
        let head = if losses.settings { "Not saved with them" } else { "Leaving loses" };
        ui.label(format!("{head}: {}.", others.join("; ")));
    }
    ui.add_space(12.0);
    ui.horizontal(|ui| {
        if losses.settings {
            choice(ui, "Save", Action::Accept, true, out);
            choice(ui, "Leave without saving", Action::Discard, false, out);
        } else {
            choice(ui, "Leave", Action::Discard, false, out);
        }
        choice(ui, "Stay", Action::Exit, !losses.settings, out);
    });
}

fn path(ui: &mut Ui, form: &mut PathForm, out: &mut Out) {
    let (question, verb) = match (form.purpose, form.leave) {
        (Purpose::Open, _) => ("Open a scene", "Open"),
        (Purpose::Add(kind), _) => (of_file(kind).0, "Add"),
        (Purpose::Save, false) => ("Save the scene", "Save"),
        (Purpose::Save, true) => ("Save the scene and leave", "Save and leave"),
    };
    title(ui, question);
    let hint = match form.purpose {
        Purpose::Add(kind) => format!("a file: {}", of_file(kind).1.join(", ")),
        Purpose::Open | Purpose::Save => "a file such as plume.toml".into(),
    };
    let field = ui.add(TextEdit::singleline(&mut form.text).hint_text(hint).desired_width(f32::INFINITY));
    out.places.insert("dialog.path", field.rect);
    if !field.has_focus() && !field.lost_focus() && ui.memory(|memory| memory.focused().is_none()) {
        field.request_focus();
    }
    if field.changed() {
        form.error = None;
    }
    if field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) {
        out.actions.push(Action::Accept);
    }
    below(ui, form);
    ui.add_space(12.0);
    let replaces = form.error.is_some() && form.replaces.as_ref() == Some(&form.text);
    let verb = if replaces && form.purpose == Purpose::Save { "Save once more" } else { verb };
    ui.horizontal(|ui| {
        choice(ui, verb, Action::Accept, true, out);
        choice(ui, "Cancel", Action::Exit, false, out);
        choice(ui, "Browse", Action::Browse, false, out);
    });
}

/// Returns the name and endings of an object of a file.
fn of_file(kind: &str) -> (&'static str, &'static [&'static str]) {
    let found = objects::FILES.iter().find(|(of, ..)| *of == kind);
    found.map_or(("Source", &[]), |(_, _, name, endings)| (*name, *endings))
}

/// Shows the error of the typed path, otherwise its full path.
fn below(ui: &mut Ui, form: &PathForm) {
    let path = match form.purpose {
        Purpose::Open | Purpose::Add(_) => file::named(&form.text),
        Purpose::Save => file::to_save(&form.text),
    };
    let place = match builtin::summary(form.text.trim()) {
        Some(_) if form.purpose == Purpose::Open => Some(format!("The built-in scene {}", form.text.trim())),
        _ => {
            let place = path.ok().and_then(|path| std::path::absolute(path).ok());
            place.map(|path| path.display().to_string())
        }
    };
    let (text, color) = match (&form.error, place) {
        (Some(error), _) => (error.clone(), theme::ALARM),
        (None, Some(place)) => (place, theme::QUIET),
        (None, None) if matches!(form.purpose, Purpose::Add(_)) => (String::new(), theme::QUIET),
        (None, None) => ("A scene file can also be dropped onto the window.".into(), theme::QUIET),
    };
    ui.add_space(2.0);
    ui.label(RichText::new(text).color(color));
}

fn title(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).heading().color(theme::TEXT));
    ui.add_space(6.0);
}

fn choice(ui: &mut Ui, text: &str, action: Action, main: bool, out: &mut Out) {
    let color = if main { theme::ACCENT } else { theme::TEXT };
    let response = ui.add(Button::new(RichText::new(text).color(color)).min_size(egui::vec2(70.0, 26.0)));
    out.places.insert(action.name(), response.rect);
    if response.clicked() {
        out.actions.push(action);
    }
}
