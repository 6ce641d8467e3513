//! A line at the foot of the view: the last event, or a hint. It makes room for tooltips.

use egui::{Align2, Area, Color32, Context, Frame, Id, Margin, Order, Rect, RichText, Vec2};

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
/// Gap between the line and a tooltip below it \[pt\].
const GAP: f32 = 6.0;

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
    let id = Id::new("notice");
    let up = up + below;
    let anchor = egui::vec2(right, -up - room_for_tooltips(ctx, id, [right, up]));
    Area::new(id).anchor(Align2::LEFT_BOTTOM, anchor).interactable(false).show(ctx, |ui| {
        let frame = Frame::new().fill(Color32::from_black_alpha(150)).inner_margin(Margin::symmetric(10, 5));
        frame.corner_radius(5).show(ui, |ui| {
            ui.set_max_width(WIDTH.min(view.x - right - 46.0));
            ui.label(RichText::new(text).color(color));
        });
    });
}

/// Returns how much higher the line has to stand so that no tooltip covers it \[pt\]; `[right, up]` is its corner
/// without tooltips, from the lower left of the window.
fn room_for_tooltips(ctx: &Context, id: Id, [right, up]: [f32; 2]) -> f32 {
    let tooltips = ctx.memory(|memory| {
        let layers = memory.areas().visible_layer_ids().into_iter();
        let layers = layers.filter(|layer| layer.order == Order::Tooltip);
        layers.filter_map(|layer| memory.area_rect(layer.id)).collect::<Vec<_>>()
    });
    // The size of the last frame: egui lays out an area and its anchor in one pass.
    let Some(last) = ctx.memory(|memory| memory.area_rect(id)) else { return 0.0 };
    let foot = ctx.content_rect().left_bottom() + egui::vec2(right, -up);
    let place = Rect::from_min_size(foot - egui::vec2(0.0, last.height()), last.size());
    let covering = tooltips.iter().filter(|tooltip| tooltip.intersects(place.expand(GAP)));
    let Some(top) = covering.map(|tooltip| tooltip.top()).reduce(f32::min) else { return 0.0 };
    // A tooltip counts for one frame after it is gone.
    if ctx.input(|input| input.pointer.delta() != Vec2::ZERO) {
        ctx.request_repaint();
    }
    let most = (place.top() - ctx.content_rect().top()).max(0.0);
    (foot.y - top + GAP).clamp(0.0, most)
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
