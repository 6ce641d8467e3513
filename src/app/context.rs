//! A window and the OpenGL context in it.

use std::num::NonZeroU32;

use glium::Display;
use glutin::config::{Config, ConfigTemplateBuilder, GlConfig};
use glutin::context::{
    ContextApi, ContextAttributesBuilder, GlProfile, NotCurrentContext, Robustness, Version,
};
use glutin::display::GetGlDisplay;
use glutin::prelude::{GlDisplay, NotCurrentGlContext};
use glutin::surface::{SurfaceAttributesBuilder, WindowSurface};
use glutin_winit::{ApiPreference, DisplayBuilder};
use raw_window_handle::HasWindowHandle;
use winit::event_loop::ActiveEventLoop;
use winit::window::{Window, WindowAttributes};

/// Requested versions of OpenGL, the best first.
const VERSIONS: [Version; 2] = [Version::new(4, 5), Version::new(3, 3)];
/// Requested ways to treat a driver that resets its device, the best first: a context that is then lost, and says so.
const ROBUSTNESS: [Robustness; 2] = [Robustness::RobustLoseContextOnReset, Robustness::NotRobust];

/// Opens a window, and finds a configuration for contexts in it. The error names the missing part.
pub(super) fn open(
    event_loop: &ActiveEventLoop,
    attributes: WindowAttributes,
) -> Result<(Window, Config), String> {
    let template = ConfigTemplateBuilder::new().with_depth_size(0).with_stencil_size(0);
    let builder = DisplayBuilder::new()
        .with_preference(ApiPreference::PreferEgl)
        .with_window_attributes(Some(attributes));
    let (window, config) =
        builder.build(event_loop, template, best).map_err(|e| format!("no OpenGL for rendering: {e}"))?;
    Ok((window.ok_or("the display gave no window")?, config))
}

/// Makes a context and a surface for a window.
pub(super) fn display(window: &Window, config: &Config) -> Result<Display<WindowSurface>, String> {
    let context = context(window, config)?;
    let surface = surface(window, config)?;
    let context = context.make_current(&surface).map_err(|e| e.to_string())?;
    Display::new(context, surface).map_err(|e| e.to_string())
}

/// Chooses the configuration with the fewest samples: pictures are rendered to textures, and the window only
/// shows them.
fn best(configs: Box<dyn Iterator<Item = Config> + '_>) -> Config {
    // The caller turns a panic here, of a display without any configuration, into its error.
    configs.min_by_key(Config::num_samples).expect("the display has no configuration for OpenGL")
}

fn context(window: &Window, config: &Config) -> Result<NotCurrentContext, String> {
    let handle = window.window_handle().map_err(|e| e.to_string())?.as_raw();
    let mut why = String::new();
    for (version, robustness) in VERSIONS.into_iter().flat_map(|v| ROBUSTNESS.map(|r| (v, r))) {
        let attributes = ContextAttributesBuilder::new()
            .with_profile(GlProfile::Core)
            .with_robustness(robustness)
            .with_context_api(ContextApi::OpenGl(Some(version)))
            .build(Some(handle));
        // SAFETY: the handle is that of a window that outlives the context, see `Screen`.
        #[allow(unsafe_code)]
        match unsafe { config.display().create_context(config, &attributes) } {
            Ok(context) => return Ok(context),
            Err(error) => why = error.to_string(),
        }
    }
    Err(format!("no OpenGL 3.3: {why}"))
}

fn surface(window: &Window, config: &Config) -> Result<glutin::surface::Surface<WindowSurface>, String> {
    let handle = window.window_handle().map_err(|e| e.to_string())?.as_raw();
    let size = window.inner_size();
    let [width, height] = [size.width, size.height].map(|n| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN));
    let attributes = SurfaceAttributesBuilder::<WindowSurface>::new().build(handle, width, height);
    // SAFETY: the handle is that of a window that outlives the surface, see `Screen`.
    #[allow(unsafe_code)]
    let surface = unsafe { config.display().create_window_surface(config, &attributes) };
    surface.map_err(|e| e.to_string())
}
