//! Pictures by the processor's threads on a GL surface, where the driver has no graphics processor.

use std::rc::Rc;

use glium::backend::Context;
use glium::framebuffer::SimpleFrameBuffer;
use glium::texture::{ClientFormat, RawImage2d, Texture2d, UncompressedFloatFormat};
use glium::uniforms::MagnifySamplerFilter;
use glium::{BlitTarget, Rect, Surface};

use super::accumulation::Frame;
use super::{Renderer, refused, targets};
use crate::render::packets::{self, Lit, Packets, Take};
use crate::render::{Mode, RenderError, Shading, View, noise};

/// What draws them, and the texture that brings them to the driver.
#[derive(Default)]
pub(super) struct Threads {
    pub packets: Packets,
    texture: Option<Texture2d>,
}

impl Threads {
    /// `None` where the driver has a graphics processor, or the processor lacks the instructions.
    pub fn new(on_processor: bool) -> Option<Self> {
        (on_processor && packets::able()).then(Self::default)
    }

    /// A texture for a picture.
    fn fit(&mut self, gl: &Rc<Context>, size: [u32; 2]) -> Result<&Texture2d, RenderError> {
        let texture = match self.texture.take().filter(|texture| texture.dimensions() == (size[0], size[1])) {
            Some(texture) => texture,
            None => targets::new_texture(gl, UncompressedFloatFormat::U8U8U8U8, size)?,
        };
        Ok(self.texture.insert(texture))
    }
}

impl Renderer {
    /// Whether the processor's threads draw pictures in `mode`.
    pub(super) fn by_threads(&self, mode: Mode) -> bool {
        let wanted = self.quality.shading == Shading::Fastest && self.threads.is_some();
        wanted && packets::draws(mode, self.quality, self.grid.dims)
    }

    /// Draws the next picture of an average, if it needs one.
    pub(super) fn draw_by_threads(&mut self, size: [u32; 2], view: &View) -> Result<(), RenderError> {
        targets::check(&self.gl, size)?;
        self.bake(view.look)?;
        let Some(Frame { number, weight }) = self.passes.next(self.subject(size, view), self.refine) else {
            return Ok(());
        };
        let shift = if number == 0 || self.solids.is_empty() { [0.0; 2] } else { noise::spread(number) };
        self.take_by_threads(size, view, Take { number, weight, shift });
        Ok(())
    }

    /// Draws the mean of as many pictures as the quality says.
    pub(super) fn draw_mean_by_threads(&mut self, size: [u32; 2], view: &View) -> Result<(), RenderError> {
        targets::check(&self.gl, size)?;
        self.bake(view.look)?;
        let passes = self.quality.passes.max(1);
        let edges = self.quality.edges && !self.solids.is_empty();
        for number in 0..passes {
            let shift = if edges { noise::sub_pixel(number, passes) } else { [0.0; 2] };
            self.take_by_threads(size, view, Take { number, weight: 1.0 / (number + 1) as f32, shift });
        }
        self.passes.of = None;
        Ok(())
    }

    fn take_by_threads(&mut self, size: [u32; 2], view: &View, take: Take) {
        let Some(threads) = &mut self.threads else { return };
        let lit = Lit { cells: self.smoke.cells(), light: &self.baked.light, floor: self.floor.light() };
        threads.packets.draw(lit, view, self.quality, size, take);
        self.timers.add(threads.packets.times());
    }

    /// Brings the mean to a part of `target`.
    pub(super) fn present_by_threads(
        &mut self,
        target: &mut impl Surface,
        [left, bottom, width, height]: [u32; 4],
        view: &View,
    ) -> Result<(), RenderError> {
        let Some(threads) = &mut self.threads else { return Ok(()) };
        threads.fit(&self.gl, [width, height])?;
        let bytes = threads.packets.present(view, self.quality).as_flattened();
        let texture = threads.texture.as_ref().expect("made by fit");
        let image = RawImage2d { data: bytes.into(), width, height, format: ClientFormat::U8U8U8U8 };
        texture.write(Rect { left: 0, bottom: 0, width, height }, image);
        let surface = SimpleFrameBuffer::new(&self.gl, texture).map_err(|e| refused("the picture", e))?;
        let whole = Rect { left: 0, bottom: 0, width, height };
        let place = BlitTarget { left, bottom, width: width as i32, height: height as i32 };
        target.blit_from_simple_framebuffer(&surface, &whole, &place, MagnifySamplerFilter::Nearest);
        self.timers.add(threads.packets.times());
        Ok(())
    }
}
