//! A line at the foot of the view: the last event, or a hint.

use egui::{Align2, Area, Color32, Context, Frame, Id, Margin, RichText};

use super::theme;
use crate::app::model::{Model, Readout};
use crate::app::settings::Ink;
use crate::worker::RunState;

/// Width beyond which lines are wrapped \[pt\].
const WIDTH: f32 = 560.0;
/// Width and height of the corner of the view that holds the axes and the compass of the sun \[pt\].
const CORNER: [f32; 2] = [152.0, 92.0];
/// Width of a view below which the line stands above that corner, not beside it \[pt\].
const NARROW: f32 = 480.0;

pub(super) fn show(ctx: &Context, model: &Model, readout: &Readout) {
    let Some((text, color)) = line(model, readout) else {
        return;
    };
    // Above the timeline.
    let below = ctx.content_rect().bottom() - ctx.available_rect().bottom();
    let view = ctx.available_rect().size();
    let [right, up] = match view {
        // Too small for the axes.
        _ if view.x < 200.0 || view.y < 160.0 => [14.0, 14.0],
        _ if view.x < NARROW => [14.0, CORNER[1]],
        _ => [CORNER[0], 14.0],
    };
    let anchor = egui::vec2(right, -up - below);
    Area::new(Id::new("notice")).anchor(Align2::LEFT_BOTTOM, anchor).interactable(false).show(ctx, |ui| {
        let frame = Frame::new().fill(Color32::from_black_alpha(150)).inner_margin(Margin::symmetric(10, 5));
        frame.corner_radius(5).show(ui, |ui| {
            ui.set_max_width(WIDTH.min(view.x - right - 46.0));
            ui.label(RichText::new(text).color(color));
        });
    });
}

fn line(model: &Model, readout: &Readout) -> Option<(String, Color32)> {
    if let Some(notice) = &readout.notice {
        return Some((notice.clone(), theme::TEXT));
    }
    match &readout.status.state {
        RunState::Failed(why) if !model.panel => {
            Some((format!("The solver broke down: {why}"), theme::ALARM))
        }
        RunState::Running if readout.stats.warning().is_some() => {
            readout.stats.warning().map(|warning| (warning, theme::ALARM))
        }
        RunState::Running if grows(model).is_some() => grows(model).map(|text| (text, theme::ALARM)),
        _ if model.hint => {
            let text = "Drag paints    right drag orbits    Space runs and pauses    F1 shows all keys";
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
