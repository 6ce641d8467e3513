//! The light on the floor as a texture.

use std::borrow::Cow;
use std::rc::Rc;

use glium::Rect;
use glium::backend::Context;
use glium::texture::{ClientFormat, RawImage2d, Texture2d, UncompressedFloatFormat};

use super::inputs::Inputs;
use super::targets::new_texture;
use crate::render::RenderError;
use crate::render::floor::FloorLight;
use crate::render::medium::Medium;

/// The light on the floor, RGBA32F.
pub(super) struct Floor {
    gl: Rc<Context>,
    texture: Texture2d,
    /// A fully lit floor.
    open: Texture2d,
}

impl Floor {
    /// Makes a fully lit floor.
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let texture = new_texture(gl, UncompressedFloatFormat::F32F32F32F32, [1, 1])?;
        let open = new_texture(gl, UncompressedFloatFormat::F32F32F32F32, [1, 1])?;
        write(&texture, &FloorLight::default());
        write(&open, &FloorLight::default());
        Ok(Self { gl: gl.clone(), texture, open })
    }

    /// Uploads the light in a medium.
    pub fn upload(&mut self, light: &FloorLight, medium: &Medium) -> Result<(), RenderError> {
        let [width, height] = light.size.map(|n| n as u32);
        if (self.texture.width(), self.texture.height()) != (width, height) {
            self.texture = new_texture(&self.gl, UncompressedFloatFormat::F32F32F32F32, [width, height])?;
        }
        write(&self.texture, light);
        write(&self.open, &FloorLight::open(medium));
        Ok(())
    }

    /// Adds the inputs of the scene pass. Invisible smoke casts no shadow.
    pub fn inputs<'t>(&'t self, inputs: Inputs<'t>, light: &FloorLight, shaded: bool) -> Inputs<'t> {
        inputs
            .smooth_picture("floor_light", if shaded { &self.texture } else { &self.open })
            .vec2("floor_lo", light.lo)
            .vec2("floor_spacing", light.spacing)
    }
}

fn write(texture: &Texture2d, light: &FloorLight) {
    let [width, height] = light.size.map(|n| n as u32);
    let data = Cow::Borrowed(light.texels.as_flattened());
    let image = RawImage2d { data, width, height, format: ClientFormat::F32F32F32F32 };
    texture.write(Rect { left: 0, bottom: 0, width, height }, image);
}
