//! A line at the foot of the view: the last event, or a hint.

use egui::{Align2, Area, Color32, Context, Frame, Id, Margin, RichText};

use super::theme;
use crate::app::model::{Model, Readout};
use crate::app::settings::Ink;
use crate::worker::State;

/// Width beyond which lines are wrapped \[pt\].
const WIDTH: f32 = 560.0;

pub(super) fn show(ctx: &Context, model: &Model, readout: &Readout) {
    let Some((text, color)) = line(model, readout) else {
        return;
    };
    // Above the timeline.
    let below = ctx.content_rect().bottom() - ctx.available_rect().bottom();
    let anchor = egui::vec2(14.0, -14.0 - below);
    Area::new(Id::new("notice")).anchor(Align2::LEFT_BOTTOM, anchor).interactable(false).show(ctx, |ui| {
        let frame = Frame::new().fill(Color32::from_black_alpha(150)).inner_margin(Margin::symmetric(10, 5));
        frame.corner_radius(5).show(ui, |ui| {
            ui.set_max_width(WIDTH.min(ctx.available_rect().width() - 60.0));
            ui.label(RichText::new(text).color(color));
        });
    });
}

fn line(model: &Model, readout: &Readout) -> Option<(String, Color32)> {
    if let Some(notice) = &readout.notice {
        return Some((notice.clone(), theme::TEXT));
    }
    match &readout.status.state {
        State::Failed(why) if !model.panel => Some((format!("The solver broke down: {why}"), theme::ALARM)),
        State::Running if readout.stats.warning().is_some() => {
            readout.stats.warning().map(|warning| (warning, theme::ALARM))
        }
        State::Running if grows(model).is_some() => grows(model).map(|text| (text, theme::ALARM)),
        _ if readout.stats.step == 0 && readout.status.state == State::Paused => {
            let text = "Space runs    drag paints    right drag orbits    F1 shows all keys";
            Some((text.into(), theme::TEXT))
        }
        _ => None,
    }
}

/// Says that a smoke grows without end, if one does.
fn grows(model: &Model) -> Option<String> {
    let smoke = &model.settings.params.smoke;
    let ink = Ink::ALL.into_iter().zip(smoke).find(|(_, smoke)| smoke.dissipation < 0.0)?.0;
    Some(format!("{} smoke grows without end: its dissipation is below zero", ink.called(&model.settings)))
}
