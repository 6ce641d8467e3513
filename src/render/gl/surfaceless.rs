//! An OpenGL context without a display server or a window, through EGL devices.
//!
//! Apple's systems have no EGL: there pictures without a window are rendered on CPU threads.

use std::ffi::CString;
use std::os::raw::c_void;
use std::rc::Rc;

use glium::SwapBuffersError;
use glium::backend::{Backend, Context};
use glutin::api::egl;
use glutin::config::{ConfigSurfaceTypes, ConfigTemplateBuilder};
use glutin::context::{ContextApi, ContextAttributesBuilder, GlProfile, Version};
use glutin::prelude::*;

use crate::render::RenderError;

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

/// Tries each EGL device in turn. The error is that of the last device.
pub(super) fn surfaceless_context() -> Result<Rc<Context>, RenderError> {
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
