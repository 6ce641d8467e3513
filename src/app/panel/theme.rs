//! The look of the panel: dark and calm, so that the smoke is the brightest thing on the screen.

use egui::{Color32, CornerRadius, FontFamily, FontId, Margin, Stroke, Style, TextStyle, Visuals, vec2};

/// Width of the panel \[pt\].
pub const WIDTH: f32 = 340.0;
/// Margin at the left and right of the contents \[pt\]; the scroll bar fits into it.
pub const MARGIN: f32 = 12.0;
/// Background of the panel.
pub const GROUND: Color32 = Color32::from_rgb(0x17, 0x19, 0x1d);
/// Background of a section's header.
pub const RAISED: Color32 = Color32::from_rgb(0x20, 0x23, 0x29);
/// Background of a button or a number.
pub const FIELD: Color32 = Color32::from_rgb(0x2a, 0x2e, 0x36);
/// Background of a button or a number under the mouse.
pub const FIELD_HOT: Color32 = Color32::from_rgb(0x37, 0x3d, 0x48);
/// Lines.
pub const LINE: Color32 = Color32::from_rgb(0x33, 0x38, 0x41);
/// Text.
pub const TEXT: Color32 = Color32::from_rgb(0xd9, 0xdd, 0xe3);
/// Less important text.
pub const QUIET: Color32 = Color32::from_rgb(0x98, 0x9f, 0xab);
/// Selected, changed or running.
pub const ACCENT: Color32 = Color32::from_rgb(0xe8, 0xa8, 0x5c);
/// Errors.
pub const ALARM: Color32 = Color32::from_rgb(0xf0, 0x7b, 0x6e);
/// Applies this theme to a context.
pub fn apply(ctx: &egui::Context) {
    ctx.set_theme(egui::Theme::Dark);
    ctx.style_mut_of(egui::Theme::Dark, |style| {
        text(style);
        spacing(style);
        style.visuals = visuals();
    });
}

fn text(style: &mut Style) {
    let font = |size| FontId::new(size, FontFamily::Proportional);
    style.text_styles.insert(TextStyle::Body, font(13.0));
    style.text_styles.insert(TextStyle::Button, font(13.0));
    style.text_styles.insert(TextStyle::Small, font(11.0));
    style.text_styles.insert(TextStyle::Heading, font(17.0));
    style.text_styles.insert(TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace));
}

fn spacing(style: &mut Style) {
    let s = &mut style.spacing;
    s.item_spacing = vec2(6.0, 5.0);
    s.button_padding = vec2(8.0, 4.0);
    s.interact_size = vec2(32.0, 20.0);
    s.slider_rail_height = 4.0;
    s.menu_margin = Margin::same(8);
    s.window_margin = Margin::same(14);
    s.tooltip_width = 280.0;
    s.scroll =
        egui::style::ScrollStyle { bar_width: 6.0, floating: true, ..egui::style::ScrollStyle::thin() };
    style.interaction.tooltip_delay = 0.35;
    style.animation_time = 0.08;
}

fn visuals() -> Visuals {
    let mut v = Visuals::dark();
    v.panel_fill = GROUND;
    v.window_fill = GROUND;
    v.window_stroke = Stroke::new(1.0, LINE);
    v.window_corner_radius = CornerRadius::same(8);
    v.menu_corner_radius = CornerRadius::same(6);
    v.extreme_bg_color = Color32::from_rgb(0x10, 0x12, 0x15);
    v.selection.bg_fill = Color32::from_rgb(0x7c, 0x5f, 0x3c);
    v.selection.stroke = Stroke::new(1.0, ACCENT);
    v.clip_rect_margin = 0.0;
    v.slider_trailing_fill = true;
    v.handle_shape = egui::style::HandleShape::Circle;
    v.popup_shadow =
        egui::Shadow { offset: [0, 4], blur: 16, spread: 0, color: Color32::from_black_alpha(120) };
    v.window_shadow = v.popup_shadow;
    widget(&mut v.widgets.noninteractive, GROUND, LINE, TEXT);
    widget(&mut v.widgets.inactive, FIELD, FIELD, TEXT);
    widget(&mut v.widgets.hovered, FIELD_HOT, FIELD_HOT, Color32::WHITE);
    widget(&mut v.widgets.active, FIELD_HOT, ACCENT, Color32::WHITE);
    widget(&mut v.widgets.open, RAISED, FIELD_HOT, Color32::WHITE);
    v
}

fn widget(w: &mut egui::style::WidgetVisuals, fill: Color32, line: Color32, text: Color32) {
    w.bg_fill = fill;
    w.weak_bg_fill = fill;
    w.bg_stroke = Stroke::new(1.0, line);
    w.fg_stroke = Stroke::new(1.0, text);
    w.corner_radius = CornerRadius::same(4);
    w.expansion = 0.0;
}
