//! Pictures by CPU threads on a GL surface, for drivers without a graphics processor.

use std::rc::Rc;

use glium::backend::Context;
use glium::framebuffer::SimpleFrameBuffer;
use glium::texture::{ClientFormat, RawImage2d, Texture2d, UncompressedFloatFormat};
use glium::uniforms::MagnifySamplerFilter;
use glium::{BlitTarget, Rect, Surface};

use super::{Renderer, accumulation, refused, targets};
use crate::render::cpu::{Contents, Frame, Integrator, Picture};
use crate::render::{RenderError, Shading, View, noise};
use crate::simd::token;

/// The picture, and the texture that uploads it.
pub(super) struct Threads {
    pub picture: Picture,
    /// Whether threads are faster than the driver.
    fastest: bool,
    texture: Option<Texture2d>,
}

impl Threads {
    /// Makes it; `fastest` says that the driver has no graphics processor.
    pub fn new(fastest: bool) -> Self {
        Self { picture: Picture::new(token()), fastest, texture: None }
    }

    /// Returns a texture of the size of the picture.
    fn fit(&mut self, gl: &Rc<Context>, size: [u32; 2]) -> Result<&Texture2d, RenderError> {
        let texture = match self.texture.take().filter(|texture| texture.dimensions() == (size[0], size[1])) {
            Some(texture) => texture,
            None => targets::new_texture(gl, UncompressedFloatFormat::U8U8U8U8, size)?,
        };
        Ok(self.texture.insert(texture))
    }
}

impl Renderer {
    /// Whether CPU threads render pictures of the present quality.
    pub(super) fn by_threads(&self) -> bool {
        match self.quality.shading {
            Shading::Fastest => self.threads.fastest,
            Shading::Cells => true,
            Shading::Rays => false,
        }
    }

    /// Calls `run` with the picture and its contents.
    fn with_picture<T>(&mut self, run: impl FnOnce(&mut Picture, &Contents) -> T) -> T {
        if self.quality.splines {
            self.smoke.sharpen();
        }
        let contents = Contents {
            stage: self.grid.stage,
            dims: self.grid.dims,
            planes: [0, self.grid.dims.nz],
            h: self.grid.h,
            bricks: self.smoke.maxima(),
            cells: self.smoke.shown(self.quality),
            smoke: self.smoke.values(),
            velocity: &self.velocity_values,
            ranges: self.grid.ranges,
            light: &self.baked.light,
            floor: self.floor.light(),
        };
        let done = run(&mut self.threads.picture, &contents);
        self.timers.add(self.threads.picture.times());
        done
    }

    /// Renders the next frame of an average, if it needs one.
    pub(super) fn draw_by_threads(&mut self, size: [u32; 2], view: &View) -> Result<(), RenderError> {
        targets::check(&self.gl, size)?;
        self.bake(view.look);
        let next = self.passes.next(self.subject(size, view), self.refine);
        let Some(accumulation::Frame { number, weight }) = next else { return Ok(()) };
        let shift = if number == 0 { [0.0; 2] } else { noise::spread(number) };
        let (quality, frame) = (self.quality, Frame { number, weight, shift });
        self.with_picture(|picture, contents| {
            picture.render_frame(contents, view, quality, size, frame, Integrator::Packets);
        });
        Ok(())
    }

    /// Renders the mean of as many frames as the quality says.
    pub(super) fn draw_mean_by_threads(&mut self, size: [u32; 2], view: &View) -> Result<(), RenderError> {
        targets::check(&self.gl, size)?;
        self.bake(view.look);
        let quality = self.quality;
        self.with_picture(|picture, contents| {
            picture.render(contents, view, quality, size, Integrator::Packets);
        });
        self.passes.of = None;
        Ok(())
    }

    /// Radiance, alpha and ray length of each pixel, rows from the top.
    pub(super) fn linear_by_threads(&mut self, view: &View) -> (Vec<[f32; 4]>, Vec<f32>) {
        let quality = self.quality;
        self.with_picture(|picture, contents| picture.linear(contents, view, quality))
    }

    /// Copies the mean to a part of `target`.
    pub(super) fn present_by_threads(
        &mut self,
        target: &mut impl Surface,
        [left, bottom, width, height]: [u32; 4],
        view: &View,
    ) -> Result<(), RenderError> {
        let (gl, quality, whole) =
            (self.gl.clone(), self.quality, Rect { left: 0, bottom: 0, width, height });
        self.threads.fit(&gl, [width, height])?;
        self.with_picture(|picture, contents| picture.present(contents, view, quality));
        let texture = self.threads.texture.as_ref().expect("made by fit");
        let data = self.threads.picture.bytes().as_flattened().into();
        texture.write(whole, RawImage2d { data, width, height, format: ClientFormat::U8U8U8U8 });
        let surface = SimpleFrameBuffer::new(&gl, texture).map_err(|e| refused("the picture", e))?;
        let place = BlitTarget { left, bottom, width: width as i32, height: height as i32 };
        target.blit_from_simple_framebuffer(&surface, &whole, &place, MagnifySamplerFilter::Nearest);
        Ok(())
    }
}
