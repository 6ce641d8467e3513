//! Textures between the passes.

use std::cell::OnceCell;
use std::rc::Rc;

use glium::CapabilitiesSource;
use glium::backend::Context;
use glium::texture::{MipmapsOption, Texture2d, UncompressedFloatFormat};

use crate::render::RenderError;

/// All textures that depend on the size of the picture.
pub(super) struct Targets {
    pub size: [u32; 2],
    pub divide: u32,
    /// Linear radiance of the picture, RGBA16F.
    pub scene: Texture2d,
    /// The mean of several frames, RGBA32F; made on first use.
    pub mean: OnceCell<Texture2d>,
    /// Free length of each ray \[m\], R32F.
    pub t_maxima: Texture2d,
    /// Radiance and transmittance of the smoke, at the divided size, RGBA16F.
    pub marched: Texture2d,
}

impl Targets {
    /// Texels of the march, width and height.
    pub fn marched_size(&self) -> [f32; 2] {
        [self.marched.width() as f32, self.marched.height() as f32]
    }

    pub fn new(gl: &Rc<Context>, size: [u32; 2], divide: u32) -> Result<Self, RenderError> {
        check(gl, size)?;
        let texture = |format, size| new_texture(gl, format, size);
        Ok(Self {
            size,
            divide,
            scene: texture(UncompressedFloatFormat::F16F16F16F16, size)?,
            mean: OnceCell::new(),
            t_maxima: texture(UncompressedFloatFormat::F32, size)?,
            marched: texture(UncompressedFloatFormat::F16F16F16F16, size.map(|n| n.div_ceil(divide)))?,
        })
    }
}

/// Checks that the driver supports textures of that size.
fn check(gl: &Rc<Context>, [width, height]: [u32; 2]) -> Result<(), RenderError> {
    let limit = gl.get_capabilities().max_texture_size as u32;
    let fits = width.min(height) > 0 && width.max(height) <= limit;
    if fits { Ok(()) } else { Err(RenderError::Size(width, height, limit)) }
}

pub(super) fn new_texture(
    gl: &Rc<Context>,
    format: UncompressedFloatFormat,
    [width, height]: [u32; 2],
) -> Result<Texture2d, RenderError> {
    Texture2d::empty_with_format(gl, format, MipmapsOption::NoMipmap, width, height)
        .map_err(|e| RenderError::Gl("a texture to draw into", e.to_string()))
}
