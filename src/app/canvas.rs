//! A smaller view, stretched over the window, for machines that render without a GPU.

use glium::framebuffer::SimpleFrameBuffer;
use glium::texture::{MipmapsOption, Texture2d, UncompressedFloatFormat};
use glium::uniforms::MagnifySamplerFilter;
use glium::{BlitTarget, Display, Frame, Rect, Surface};
use glutin::surface::WindowSurface;

use crate::render::{RenderError, Renderer, View};

/// Texture of the smaller view, reused between pictures.
#[derive(Default)]
pub(super) struct Canvas {
    texture: Option<Texture2d>,
}

impl Canvas {
    /// Renders the view at its size divided by `shrink` and stretches it over `viewport`: left, bottom, width
    /// and height in pixels.
    pub(super) fn draw(
        &mut self,
        display: &Display<WindowSurface>,
        renderer: &mut Renderer,
        frame: &mut Frame,
        [left, bottom, width, height]: [u32; 4],
        shrink: u32,
        view: &View,
    ) -> Result<(), RenderError> {
        let small = [width, height].map(|n| n.div_ceil(shrink));
        let texture = self.fit(display, small)?;
        let mut surface = SimpleFrameBuffer::new(display, texture)
            .map_err(|e| RenderError::Gl("the small view", e.to_string()))?;
        renderer.draw(&mut surface, [0, 0, small[0], small[1]], view)?;
        let whole = Rect { left: 0, bottom: 0, width: small[0], height: small[1] };
        let target = BlitTarget { left, bottom, width: width as i32, height: height as i32 };
        frame.blit_from_simple_framebuffer(&surface, &whole, &target, MagnifySamplerFilter::Linear);
        Ok(())
    }

    /// The texture, of the right size.
    fn fit(
        &mut self,
        display: &Display<WindowSurface>,
        [width, height]: [u32; 2],
    ) -> Result<&Texture2d, RenderError> {
        let fits = |t: &Texture2d| t.dimensions() == (width, height);
        let texture = match self.texture.take().filter(fits) {
            Some(texture) => texture,
            None => {
                let (format, mipmaps) = (UncompressedFloatFormat::U8U8U8U8, MipmapsOption::NoMipmap);
                Texture2d::empty_with_format(display, format, mipmaps, width, height)
                    .map_err(|e| RenderError::Gl("a texture for the small view", e.to_string()))?
            }
        };
        Ok(self.texture.insert(texture))
    }
}
