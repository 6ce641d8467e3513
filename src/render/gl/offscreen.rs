//! Pictures without a display: a surfaceless EGL context and a texture as target.

use std::rc::Rc;

use glium::CapabilitiesSource;
use glium::Surface;
use glium::backend::Context;
use glium::texture::{RawImage2d, Texture2d, UncompressedFloatFormat};

use super::surfaceless::surfaceless_context;
use super::{Renderer, smoke_texture, targets};
use crate::render::stage::Stage;
use crate::render::{Image, LinearImage, Quality, RenderError, View};
use crate::snapshot::Snapshot;

/// Renders to images without a display. It stays on the thread that made it. A driver that
/// [renders on the processor](Self::draws_on_processor) takes longer than [`CpuRenderer`](crate::render::CpuRenderer).
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

    /// Returns the vendor of the driver.
    pub fn vendor(&self) -> &str {
        self.gl.get_opengl_vendor_string()
    }

    /// Returns whether the driver renders on the processor, without a graphics processor.
    pub fn draws_on_processor(&self) -> bool {
        smoke_texture::draws_on_processor(self.gl.get_opengl_renderer_string())
    }

    /// Returns the name of the driver.
    pub fn driver(&self) -> String {
        format!("{}, OpenGL {}", self.gl.get_opengl_renderer_string(), self.gl.get_opengl_version_string())
    }

    /// Renders a picture of `snapshot`.
    pub fn render(&mut self, snapshot: &Snapshot, view: &View) -> Result<Image, RenderError> {
        self.upload(snapshot, view)?;
        let [width, height] = self.size;
        self.renderer.draw_finished(&mut self.target.as_surface(), [0, 0, width, height], view)?;
        Ok(self.read())
    }

    /// Renders a picture of `snapshot` before background and tone map.
    pub fn render_linear(&mut self, snapshot: &Snapshot, view: &View) -> Result<LinearImage, RenderError> {
        self.upload(snapshot, view)?;
        let [width, height] = self.size;
        Stage::of(snapshot).localize(view, |view| {
            self.renderer.draw_mean(self.size, view)?;
            let (rgba, depth) = self.renderer.read_linear(view);
            Ok(LinearImage { width, height, rgba, depth })
        })
    }

    /// Uploads a snapshot for `view`, if both are valid.
    fn upload(&mut self, snapshot: &Snapshot, view: &View) -> Result<(), RenderError> {
        snapshot.problem().map_or(Ok(()), |problem| Err(RenderError::from(problem)))?;
        view.problem().map_or(Ok(()), |problem| Err(RenderError::from(problem)))?;
        self.renderer.set_light_scale(view.look.light_scale);
        self.renderer.upload(snapshot, view.mode)
    }

    /// Renders the last upload, for timing; [`Offscreen::read`] waits for it.
    pub fn draw(&mut self, view: &View) -> Result<(), RenderError> {
        let [width, height] = self.size;
        let mut surface = self.target.as_surface();
        self.renderer.draw(&mut surface, [0, 0, width, height], view)
    }

    /// Returns the renderer, for uploads.
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
