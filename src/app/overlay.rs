//! Lines and text over the smoke: the depth of the ball, the handles of objects, the axes, and the title of
//! the shown field. egui draws them, so they are sharp even over a coarse picture.

use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};
use nalgebra::{Vector2, Vector3};

use super::objects::{self, Selected};
use super::panel::theme;
use super::session::Session;
use super::settings::Side;
use crate::render::{Mode, Quantity, colormap};
use crate::scene::edits::List;

/// Colours of the axes x, y and z, by convention.
pub(super) const AXES: [Color32; 3] = [
    Color32::from_rgb(0xe0, 0x62, 0x5a),
    Color32::from_rgb(0x86, 0xbf, 0x5c),
    Color32::from_rgb(0x5c, 0x93, 0xe6),
];

/// Length of an axis of the cross in the corner \[pt\].
const CROSS: f32 = 22.0;

/// Points of a circle.
const RING: usize = 48;

/// Draws the overlay of a side into the view at `rect`; the edges of the box only over a `stretched` picture.
/// `range` returns the range of a quantity in the shown snapshot.
pub(super) fn show(
    painter: &Painter,
    rect: Rect,
    (session, side): (&Session, Side),
    stretched: bool,
    range: impl Fn(Quantity) -> [f32; 2],
) {
    let view = View { session, rect, size: Vector2::new(rect.width(), rect.height()) };
    let outline = session.model.settings.look.outline;
    let at_a_side = session.ball().is_some() && session.ball_depth() < session.cursor.radius;
    if (stretched && outline) || (at_a_side && !outline) {
        edges(painter, &view);
    }
    if session.ball().is_some() {
        depth(painter, &view);
    }
    let edited = side == session.side();
    if edited && session.shows_handles() {
        handles(painter, &view);
    }
    if edited && session.model.selected == Some(Selected::Sun) && session.shows_handles() {
        sunbeam(painter, &view);
    }
    cross(painter, &view);
    if edited {
        compass(painter, &view);
    }
    title(painter, rect, session.mode(), range);
    if session.mode() != session.model.view && session.model.playback.at.is_some() {
        let at = rect.right_top() + vec2(-14.0, 14.0);
        let text = "No velocity was recorded with this frame";
        label(painter, at, Align2::RIGHT_TOP, text, theme::ALARM);
    }
}

/// The view and its projection.
struct View<'a> {
    session: &'a Session,
    rect: Rect,
    size: Vector2<f32>,
}

impl View<'_> {
    fn at(&self, p: Vector3<f32>) -> Option<Pos2> {
        let (at, _) = self.session.orbit.seen(p, self.size)?;
        Some(self.rect.min + vec2(at.x, at.y))
    }

    fn line(&self, painter: &Painter, ends: [Vector3<f32>; 2], stroke: Stroke) {
        if let [Some(a), Some(b)] = ends.map(|p| self.at(p)) {
            painter.line_segment([a, b], stroke);
        }
    }
}

/// Edges of the box; those behind the smoke are fainter.
fn edges(painter: &Painter, view: &View) {
    let [low, high] = view.session.box_shown();
    let eye = view.session.orbit.eye();
    for axis in 0..3 {
        for n in (0..8).filter(|n| n >> axis & 1 == 0) {
            let corner = |n: usize| Vector3::from_fn(|a, _| if n >> a & 1 == 1 { high[a] } else { low[a] });
            let before = (0..3)
                .filter(|&a| a != axis)
                .any(|a| if n >> a & 1 == 1 { eye[a] > high[a] } else { eye[a] < low[a] });
            let alpha = if before { 90 } else { 35 };
            let stroke = Stroke::new(1.0, Color32::from_rgba_unmultiplied(191, 204, 224, alpha));
            view.line(painter, [corner(n), corner(n | 1 << axis)], stroke);
        }
    }
}

/// Draws depth cues of the ball: its shadow on the floor, vertically below it, and circles on the walls
/// behind it, connected by lines.
fn depth(painter: &Painter, view: &View) {
    let (ball, [low, high]) = (view.session.cursor, view.session.box_shown());
    let inside = (0..3).all(|a| (low[a] - ball.radius..=high[a] + ball.radius).contains(&ball.center[a]));
    if !inside {
        return;
    }
    let eye = view.session.orbit.eye();
    let faint = Stroke::new(1.0, Color32::from_white_alpha(60));
    let floor = Vector3::new(ball.center.x, low[1], ball.center.z);
    if let Some(disc) = ring(view, floor, 1, ball.radius) {
        painter.add(Shape::convex_polygon(disc, Color32::from_black_alpha(90), Stroke::NONE));
    }
    view.line(painter, [ball.center, floor], faint);
    for axis in [0, 2] {
        let mut foot = ball.center;
        foot[axis] = if eye[axis] > 0.5 * (low[axis] + high[axis]) { low[axis] } else { high[axis] };
        if let Some(points) = ring(view, foot, axis, ball.radius) {
            painter.add(Shape::closed_line(points, Stroke::new(1.0, Color32::from_white_alpha(50))));
        }
        view.line(painter, [ball.center, foot], Stroke::new(1.0, Color32::from_white_alpha(22)));
    }
}

/// Returns a circle across an axis, clipped to the box; none if a part of it is behind the eye.
fn ring(view: &View, center: Vector3<f32>, axis: usize, radius: f32) -> Option<Vec<Pos2>> {
    let [low, high] = view.session.box_shown();
    let point = |n: usize| {
        let (sin, cos) = (std::f32::consts::TAU * n as f32 / RING as f32).sin_cos();
        let mut p = center;
        p[(axis + 1) % 3] += radius * cos;
        p[(axis + 2) % 3] += radius * sin;
        view.at(Vector3::from_fn(|a, _| p[a].clamp(low[a], high[a])))
    };
    (0..RING).map(point).collect()
}

/// Draws a circle at each object, and arrows at the selected one.
fn handles(painter: &Painter, view: &View) {
    let session = view.session;
    let hot = session.hovered_handle();
    for (list, n, p) in session.handles() {
        let Some(at) = view.at(p) else { continue };
        let chosen = session.model.selected == Some(Selected::Object(list, n));
        let over = hot.is_some_and(|(l, m, axis)| (l, m, axis) == (list, n, None));
        let color =
            if chosen { theme::ACCENT } else { Color32::from_white_alpha(if over { 255 } else { 150 }) };
        if list == List::Solid {
            follower(painter, view, n, p);
        }
        if chosen {
            arrows(painter, view, p, hot.filter(|h| (h.0, h.1) == (list, n)).and_then(|h| h.2));
        }
        painter.circle_stroke(at, 7.5, Stroke::new(3.0, Color32::from_black_alpha(120)));
        painter.circle_stroke(at, 7.5, Stroke::new(1.5, color));
        painter.circle_filled(at, 2.0, color);
        if over || chosen {
            let scene = &session.model.settings.scene;
            let name = format!("{} {} ({})", list.key(), n + 1, objects::kind(scene, list, n));
            label(painter, at + vec2(13.0, -12.0), Align2::LEFT_CENTER, &name, color);
        }
    }
}

/// Draws the outline of a dragged solid at its handle, and a line to it from the solid in the picture. The
/// solid lags behind the mouse: it moves through the smoke no faster than the solver allows.
fn follower(painter: &Painter, view: &View, n: usize, p: Vector3<f32>) {
    let session = view.session;
    let (Some(pose), Some(solid)) =
        (session.shown_of(session.side()).solids.get(n), session.model.settings.scene.solids.get(n))
    else {
        return;
    };
    let present = Vector3::from(pose.position) + Vector3::from(session.shown_of(session.side()).corner());
    let (Some(at), Some(from)) = (view.at(p), view.at(present)) else { return };
    if (present - p).norm() < session.shown().h {
        return;
    }
    let radius = session.points_per_metre(p) * solid.shape.bounding_radius();
    let stroke = Stroke::new(1.5, theme::ACCENT.gamma_multiply(0.7));
    painter.line_segment([from, at], Stroke::new(1.0, theme::ACCENT.gamma_multiply(0.5)));
    painter.circle_stroke(at, radius, stroke);
}

/// Draws the direction of the sunlight: a line to the middle of the box.
fn sunbeam(painter: &Painter, view: &View) {
    let [low, high] = view.session.box_shown().map(Vector3::from);
    let [x, y, z] = view.session.model.settings.look.sun_direction;
    let towards = Vector3::new(x, y, z).normalize();
    let middle = (low + high) * 0.5;
    let sun = middle + towards * (0.62 * (high - low).norm());
    view.line(painter, [middle, sun], Stroke::new(1.5, theme::ACCENT));
    if let Some(at) = view.at(sun) {
        painter.circle_filled(at, 8.0, theme::ACCENT);
        label(painter, at + vec2(14.0, 0.0), Align2::LEFT_CENTER, "sun", theme::ACCENT);
    }
}

/// Draws the compass of the sun: a sphere as the camera sees it, with the sun on it; hollow at its back.
fn compass(painter: &Painter, view: &View) {
    let session = view.session;
    let Some((middle, radius)) = session.compass() else { return };
    let (sun, near) = session.sun_on_compass();
    let middle = view.rect.min + vec2(middle.x, middle.y);
    let at = middle + vec2(sun.x, sun.y) * radius;
    painter.circle_filled(middle, radius, Color32::from_black_alpha(90));
    painter.circle_stroke(middle, radius, Stroke::new(1.0, Color32::from_white_alpha(90)));
    painter.line_segment([middle, at], Stroke::new(1.0, theme::ACCENT.gamma_multiply(0.6)));
    if near {
        painter.circle_filled(at, 5.5, theme::ACCENT);
    } else {
        painter.circle_stroke(at, 5.0, Stroke::new(1.5, theme::ACCENT));
    }
    label(painter, middle + vec2(0.0, radius + 9.0), Align2::CENTER_CENTER, "sun", theme::TEXT);
}

fn arrows(painter: &Painter, view: &View, p: Vector3<f32>, hot: Option<usize>) {
    for axis in 0..3 {
        let Some(arrow) = view.session.arrow(p, axis) else { continue };
        let tip = p + arrow;
        let [Some(from), Some(to)] = [p, tip].map(|p| view.at(p)) else { continue };
        let color = if hot == Some(axis) { Color32::WHITE } else { AXES[axis] };
        painter.line_segment([from, to], Stroke::new(2.0, color));
        painter.circle_filled(to, 4.5, color);
    }
}

/// Axes of the world in the lower left corner, the nearest drawn last.
fn cross(painter: &Painter, view: &View) {
    let axes = view.session.orbit.axes();
    let middle = view.rect.left_bottom() + vec2(CROSS + 16.0, -CROSS - 16.0);
    if view.rect.width() < 200.0 || view.rect.height() < 160.0 {
        return;
    }
    let mut order = [0, 1, 2];
    let ahead = |axis: usize| axes.forward[axis];
    order.sort_by(|&a, &b| ahead(b).total_cmp(&ahead(a)));
    for axis in order {
        let to = Vec2::new(axes.right[axis], -axes.up[axis]) * CROSS;
        let color = AXES[axis].gamma_multiply(if ahead(axis) > 0.3 { 0.55 } else { 1.0 });
        painter.line_segment([middle, middle + to], Stroke::new(1.8, color));
        let at = middle + to + to.normalized() * 8.0;
        if to.length() > 6.0 {
            painter.text(at, Align2::CENTER_CENTER, ["x", "y", "z"][axis], FontId::proportional(12.0), color);
        }
    }
    if view.session.is_parallel() {
        let at = middle + vec2(-28.0, 27.0);
        label(painter, at, Align2::LEFT_CENTER, "orthographic", theme::QUIET);
    }
}

/// Draws the name and unit of the shown field, and its colour scale if the picture has none.
fn title(painter: &Painter, rect: Rect, mode: Mode, range: impl Fn(Quantity) -> [f32; 2]) {
    let (quantity, what) = match mode {
        Mode::Smoke => return,
        Mode::Velocity => (Quantity::Speed, "Velocity"),
        Mode::Streamlines => (Quantity::Speed, "Streamlines"),
        Mode::Speed => (Quantity::Speed, "Speed"),
        Mode::Vorticity => (Quantity::Vorticity, "Vorticity"),
        Mode::Slice(slice) => (slice.quantity, slice.quantity.name()),
    };
    let unit = match quantity.unit() {
        "" => String::new(),
        unit => format!(" [{unit}]"),
    };
    let head = what.chars().next().into_iter().flat_map(char::to_uppercase);
    let text: String = head.chain(what.chars().skip(1)).chain(unit.chars()).collect();
    let at = rect.right_top() + vec2(-14.0, 14.0);
    label(painter, at, Align2::RIGHT_TOP, &text, theme::TEXT);
    if matches!(mode, Mode::Velocity | Mode::Streamlines) {
        bar(painter, rect, range(quantity));
    }
}

/// Draws the colour scale of arrows and streamlines, with the values at its ends.
fn bar(painter: &Painter, rect: Rect, [least, most]: [f32; 2]) {
    const PARTS: usize = 32;
    let size = vec2(12.0, (0.5 * rect.height()).min(220.0));
    let place = Rect::from_min_size(pos2(rect.right() - 70.0, rect.center().y - 0.5 * size.y), size);
    for n in 0..PARTS {
        let share = (n as f32 + 0.5) / PARTS as f32;
        // As the renderer colours lines: the darkest quarter would be invisible.
        let [r, g, b] = colormap::display(0.25 + 0.75 * share).map(|c| (c * 255.0) as u8);
        let y = place.bottom() - size.y * (n as f32 + 1.0) / PARTS as f32;
        let part = Rect::from_min_size(pos2(place.left(), y), vec2(size.x, size.y / PARTS as f32 + 0.5));
        painter.rect_filled(part, 0.0, Color32::from_rgb(r, g, b));
    }
    for (share, value) in [(0.0, least), (0.5, 0.5 * (least + most)), (1.0, most)] {
        let at = pos2(place.right() + 6.0, place.bottom() - size.y * share);
        label(painter, at, Align2::LEFT_CENTER, &format!("{value:.2}"), theme::TEXT);
    }
}

/// Draws text that is readable on any background.
fn label(painter: &Painter, at: Pos2, anchor: Align2, text: &str, color: Color32) {
    let font = FontId::proportional(12.5);
    for by in [vec2(1.0, 1.0), vec2(-1.0, 0.0), vec2(0.0, -1.0)] {
        painter.text(at + by, anchor, text, font.clone(), Color32::from_black_alpha(150));
    }
    painter.text(at, anchor, text, font, color);
}
