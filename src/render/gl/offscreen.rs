//! Pictures without a display: a surfaceless EGL context and a texture as target.

use std::ffi::CString;
use std::os::raw::c_void;
use std::rc::Rc;

use glium::CapabilitiesSource;
use glium::backend::{Backend, Context};
use glium::texture::{RawImage2d, Texture2d, UncompressedFloatFormat};
use glium::{Surface, SwapBuffersError};
use glutin::api::egl;
use glutin::config::{ConfigSurfaceTypes, ConfigTemplateBuilder};
use glutin::context::{ContextApi, ContextAttributesBuilder, GlProfile, Version};
use glutin::prelude::*;

use super::{Renderer, targets};
use crate::render::{Image, LinearImage, Quality, RenderError, View};
use crate::snapshot::Snapshot;

/// Renders to images without a display. It stays on the thread that made it.
pub struct Offscreen {
    renderer: Renderer,
    target: Texture2d,
    gl: Rc<Context>,
    size: [u32; 2],
}

impl Offscreen {
    /// Makes a context on the first EGL device that provides one, for pictures of the given size.
    pub fn new(width: u32, height: u32) -> Result<Self, RenderError> {
        let gl = surfaceless_context()?;
        let renderer = Renderer::new(&gl)?;
        let target = new_target(&gl, [width, height])?;
        Ok(Self { renderer, target, gl, size: [width, height] })
    }

    /// Sets the quality of the pictures.
    pub fn set_quality(&mut self, quality: Quality) {
        self.renderer.set_quality(quality);
    }

    /// Changes the size of the pictures.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<(), RenderError> {
        if self.size != [width, height] {
            self.target = new_target(&self.gl, [width, height])?;
            self.size = [width, height];
        }
        Ok(())
    }

    /// Name of the driver.
    pub fn driver(&self) -> String {
        format!("{}, OpenGL {}", self.gl.get_opengl_renderer_string(), self.gl.get_opengl_version_string())
    }

    /// Renders a picture of `snapshot`.
    pub fn render(&mut self, snapshot: &Snapshot, view: &View) -> Result<Image, RenderError> {
        self.renderer.set_light_scale(view.look.light_scale);
        self.renderer.upload(snapshot, view.mode)?;
        let [width, height] = self.size;
        self.renderer.draw_finished(&mut self.target.as_surface(), [0, 0, width, height], view)?;
        Ok(self.read())
    }

    /// Renders a picture of `snapshot` before background and tone map.
    pub fn render_linear(&mut self, snapshot: &Snapshot, view: &View) -> Result<LinearImage, RenderError> {
        self.renderer.set_light_scale(view.look.light_scale);
        self.renderer.upload(snapshot, view.mode)?;
        self.renderer.draw_mean(self.size, view)?;
        let [width, height] = self.size;
        let (rgba, depth) = self.renderer.read_linear(view);
        Ok(LinearImage { width, height, rgba, depth })
    }

    /// Renders the last upload, for timing; [`Offscreen::read`] waits for it.
    pub fn draw(&mut self, view: &View) -> Result<(), RenderError> {
        let [width, height] = self.size;
        let mut surface = self.target.as_surface();
        self.renderer.draw(&mut surface, [0, 0, width, height], view)
    }

    /// The renderer, for uploads.
    pub fn renderer(&mut self) -> &mut Renderer {
        &mut self.renderer
    }

    /// Waits for all rendering to finish.
    pub fn finish(&self) {
        self.gl.finish();
    }

    /// Reads the present picture.
    pub fn read(&self) -> Image {
        let raw: RawImage2d<u8> = self.target.read();
        let [width, height] = self.size;
        let row = 4 * width as usize;
        // GL counts rows from the bottom.
        let rgba = raw.data.chunks_exact(row).rev().flatten().copied().collect();
        Image { width, height, rgba }
    }
}

fn new_target(gl: &Rc<Context>, size: [u32; 2]) -> Result<Texture2d, RenderError> {
    let limit = gl.get_capabilities().max_texture_size as u32;
    if size.contains(&0) || size.iter().any(|&n| n > limit) {
        return Err(RenderError::Size(size[0], size[1], limit));
    }
    let texture = targets::new_texture(gl, UncompressedFloatFormat::U8U8U8U8, size)?;
    texture.as_surface().clear_color_srgb(0.0, 0.0, 0.0, 1.0);
    Ok(texture)
}

/// An EGL context without a surface.
struct Surfaceless {
    context: egl::context::PossiblyCurrentContext,
    display: egl::display::Display,
}

// SAFETY: the context is current on this thread from `surfaceless_context` on. Function addresses come from
// its own display, and glium is told to make it current again whenever another context was used.
#[allow(unsafe_code)]
unsafe impl Backend for Surfaceless {
    fn swap_buffers(&self) -> Result<(), SwapBuffersError> {
        Ok(())
    }

    unsafe fn get_proc_address(&self, symbol: &str) -> *const c_void {
        CString::new(symbol).map_or(std::ptr::null(), |name| self.display.get_proc_address(&name))
    }

    fn get_framebuffer_dimensions(&self) -> (u32, u32) {
        (1, 1)
    }

    fn resize(&self, _: (u32, u32)) {}

    fn is_current(&self) -> bool {
        self.context.is_current()
    }

    unsafe fn make_current(&self) {
        // Without a surface this fails only if the driver is gone, and every later call reports that.
        let _ = self.context.make_current_surfaceless();
    }
}

/// Tries each EGL device in turn. The error is that of the last.
fn surfaceless_context() -> Result<Rc<Context>, RenderError> {
    let devices = egl::device::Device::query_devices().map_err(|e| RenderError::NoGl(e.to_string()))?;
    let mut why = "EGL lists no device".to_string();
    for device in devices {
        match context_on(&device) {
            Ok(gl) => return Ok(gl),
            Err(reason) => why = reason,
        }
    }
    Err(RenderError::NoGl(why))
}

fn context_on(device: &egl::device::Device) -> Result<Rc<Context>, String> {
    // SAFETY: no native display is handed over, so none can be dropped too early.
    #[allow(unsafe_code)]
    let display = unsafe { egl::display::Display::with_device(device, None) }.map_err(|e| e.to_string())?;
    let template = ConfigTemplateBuilder::new()
        .with_surface_type(ConfigSurfaceTypes::empty())
        .with_alpha_size(8)
        .with_depth_size(0)
        .with_stencil_size(0)
        .build();
    // SAFETY: the template names no native window.
    #[allow(unsafe_code)]
    let config = unsafe { display.find_configs(template) }.map_err(|e| e.to_string())?.next();
    let config = config.ok_or("the device has no configuration to draw with")?;
    let mut why = String::new();
    for version in [Version::new(4, 5), Version::new(3, 3)] {
        let attributes = ContextAttributesBuilder::new()
            .with_profile(GlProfile::Core)
            .with_context_api(ContextApi::OpenGl(Some(version)))
            .build(None);
        // SAFETY: the attributes name no native window.
        #[allow(unsafe_code)]
        let context = unsafe { display.create_context(&config, &attributes) };
        match context.and_then(|context| context.make_current_surfaceless()) {
            Ok(context) => return wrap(Surfaceless { context, display }),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

fn wrap(backend: Surfaceless) -> Result<Rc<Context>, String> {
    // SAFETY: the backend fulfils the conditions of `Backend` (above) and its context is current.
    #[allow(unsafe_code)]
    let context = unsafe { Context::new(backend, true, Default::default()) };
    context.map_err(|e| e.to_string())
}
