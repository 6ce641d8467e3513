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
use crate::render::light::LightVolume;
use crate::render::medium::Medium;

/// The light on the floor, RGBA32F.
pub(super) struct Floor {
    gl: Rc<Context>,
    light: FloorLight,
    texture: Texture2d,
    /// Nothing takes any light.
    open_light: FloorLight,
    open: Texture2d,
}

impl Floor {
    /// Makes a fully lit floor.
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let texture = new_texture(gl, UncompressedFloatFormat::F32F32F32F32, [1, 1])?;
        let open = new_texture(gl, UncompressedFloatFormat::F32F32F32F32, [1, 1])?;
        let (light, open_light) = (FloorLight::default(), FloorLight::default());
        let floor = Self { gl: gl.clone(), light, texture, open_light, open };
        write(&floor.open, &floor.open_light);
        write(&floor.texture, &floor.light);
        Ok(floor)
    }

    /// Follows a light volume.
    pub fn cast(&mut self, light: &LightVolume, medium: &Medium) {
        self.light.cast(light, medium);
        self.open_light = FloorLight::open(medium);
    }

    /// The light.
    pub fn light(&self) -> &FloorLight {
        &self.light
    }

    /// Uploads the light.
    pub fn upload(&mut self) -> Result<(), RenderError> {
        let [width, height] = self.light.size.map(|n| n as u32);
        if (self.texture.width(), self.texture.height()) != (width, height) {
            self.texture = new_texture(&self.gl, UncompressedFloatFormat::F32F32F32F32, [width, height])?;
        }
        write(&self.texture, &self.light);
        write(&self.open, &self.open_light);
        Ok(())
    }

    /// Adds the inputs of the scene pass; smoke that is not rendered casts no shadow.
    pub fn inputs<'t>(&'t self, inputs: Inputs<'t>, shaded: bool) -> Inputs<'t> {
        inputs
            .smooth_picture("floor_light", if shaded { &self.texture } else { &self.open })
            .vec2("floor_lo", self.light.lo)
            .vec2("floor_spacing", self.light.spacing)
    }
}

fn write(texture: &Texture2d, light: &FloorLight) {
    let [width, height] = light.size.map(|n| n as u32);
    let data = Cow::Borrowed(light.texels.as_flattened());
    let image = RawImage2d { data, width, height, format: ClientFormat::F32F32F32F32 };
    texture.write(Rect { left: 0, bottom: 0, width, height }, image);
}
