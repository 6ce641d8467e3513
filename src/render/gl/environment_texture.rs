//! The environment map on the graphics card, for the background.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use glium::Rect;
use glium::backend::Context;
use glium::texture::{ClientFormat, RawImage2d, Texture2d, UncompressedFloatFormat};

use super::inputs::Inputs;
use super::targets::new_texture;
use crate::look::{Look, Sphere};
use crate::render::camera::Axes;
use crate::render::scene::shows_environment;
use crate::render::surround::Surround;
use crate::render::{RenderError, View};

/// The map that was uploaded last.
pub(super) struct EnvironmentTexture {
    gl: Rc<Context>,
    of: Option<Arc<Sphere>>,
    texture: Texture2d,
}

impl EnvironmentTexture {
    /// Makes an empty texture.
    pub fn new(gl: &Rc<Context>) -> Result<Self, RenderError> {
        let texture = new_texture(gl, UncompressedFloatFormat::F32F32F32, [1, 1])?;
        Ok(Self { gl: gl.clone(), of: None, texture })
    }

    /// Uploads the environment map of a look that shows it, unless it is uploaded already.
    pub fn upload(&mut self, look: &Look) -> Result<(), RenderError> {
        let wanted = look.environment.sphere.as_ref().filter(|_| shows_environment(look));
        let Some(sphere) = wanted.filter(|sphere| self.of.as_ref() != Some(sphere)) else { return Ok(()) };
        let size = sphere.size().map(|n| n as u32);
        self.texture = new_texture(&self.gl, UncompressedFloatFormat::F32F32F32, size)?;
        let data = Cow::Borrowed(sphere.texels().as_flattened());
        let [width, height] = size;
        let image = RawImage2d { data, width, height, format: ClientFormat::F32F32F32 };
        self.texture.write(Rect { left: 0, bottom: 0, width, height }, image);
        self.of = Some(sphere.clone());
        Ok(())
    }

    /// Adds the inputs of the last pass.
    pub fn inputs<'t>(&'t self, inputs: Inputs<'t>, view: &View, size: [u32; 2]) -> Inputs<'t> {
        let axes = Axes::of(view.camera, size[0] as f32 / size[1] as f32);
        // Parallel rays have one direction.
        let aside = if axes.parallel { 0.0 } else { 1.0 };
        let shown =
            if shows_environment(view.look) { Surround::of(&view.look.environment, false) } else { None };
        let turn = shown.map_or([0.0; 3], |surround| {
            let [sin, cos] = surround.turn();
            [sin, cos, surround.strength()]
        });
        inputs
            .picture("environment", &self.texture)
            .vec3("environment_turn", turn)
            .vec3("forward", axes.forward.into())
            .vec3("right", (axes.right * aside).into())
            .vec3("up", (axes.up * aside).into())
    }
}
