//! A window that fits its screen, with text large enough to read.

use egui_glium::EguiGlium;
use egui_glium::egui_winit::egui::ViewportId;
use glium::Display;
use glutin::config::Config;
use glutin::surface::WindowSurface;
use winit::dpi::LogicalSize;
use winit::event_loop::ActiveEventLoop;
use winit::monitor::MonitorHandle;
use winit::window::Window;

use super::context;
use super::panel::theme;
use super::remember::Remembered;

/// Returns the title of the window.
pub(super) fn title(scene: &str) -> String {
    format!("updraft — {scene}")
}

/// Opens a window, empty at first, and finds a configuration for [`graphics`] in it.
pub(super) fn bare_window(
    event_loop: &ActiveEventLoop,
    scene: &str,
    remembered: &Remembered,
) -> Result<(Window, Config), String> {
    let [width, height] = remembered.size.unwrap_or_else(|| {
        // Larger text needs a larger window.
        let scale = primary(event_loop).map_or(1.0, |screen| f64::from(scale_on(&screen)));
        [1180.0 * scale, 760.0 * scale]
    });
    let attributes = Window::default_attributes()
        .with_title(title(scene))
        .with_inner_size(fitting(event_loop, LogicalSize::new(width, height)))
        .with_min_inner_size(LogicalSize::new(480.0, 320.0));
    context::open(event_loop, attributes)
}

/// Makes an OpenGL context and egui, in the theme, for a window that has none.
pub(super) fn graphics(
    event_loop: &ActiveEventLoop,
    window: &Window,
    config: &Config,
    scale: f32,
) -> Result<(Display<WindowSurface>, EguiGlium), String> {
    let display = context::display(window, config)?;
    let egui = EguiGlium::new(ViewportId::ROOT, &display, window, event_loop);
    theme::apply(egui.egui_ctx());
    egui.egui_ctx().set_zoom_factor(scale);
    Ok((display, egui))
}

/// Returns the scale of text on the window's screen: above 1 where the desktop scales a large screen too
/// little to read.
pub(super) fn scale_for(window: &Window) -> f32 {
    window.current_monitor().map_or(1.0, |screen| scale_on(&screen))
}

fn scale_on(screen: &MonitorHandle) -> f32 {
    let height = f64::from(screen.size().height) / screen.scale_factor();
    ((height / 1080.0 * 4.0).floor() / 4.0).clamp(1.0, 2.0) as f32
}

/// Returns `size`, reduced to fit the screen.
fn fitting(event_loop: &ActiveEventLoop, size: LogicalSize<f64>) -> LogicalSize<f64> {
    let Some(screen) = primary(event_loop) else { return size };
    let room: LogicalSize<f64> = screen.size().to_logical(screen.scale_factor());
    LogicalSize::new(size.width.min(0.98 * room.width), size.height.min(0.96 * room.height))
}

/// Returns the screen on which windows open, if its size is known.
fn primary(event_loop: &ActiveEventLoop) -> Option<MonitorHandle> {
    let screen = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
    screen.filter(|screen| screen.size().width > 0)
}
