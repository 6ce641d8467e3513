//! Textures of pictures, which are copied to the window and stretched where they are smaller.

use glium::framebuffer::SimpleFrameBuffer;
use glium::texture::{MipmapsOption, Texture2d, UncompressedFloatFormat};
use glium::uniforms::MagnifySamplerFilter;
use glium::{BlitTarget, Display, Frame, Rect, Surface};
use glutin::surface::WindowSurface;

use crate::render::RenderError;

/// Returns a texture of this size, the one in `kept` if that fits; `what` names it in an error.
pub(super) fn fit<'t>(
    kept: &'t mut Option<Texture2d>,
    display: &Display<WindowSurface>,
    [width, height]: [u32; 2],
    what: &'static str,
) -> Result<&'t Texture2d, RenderError> {
    let texture = match kept.take().filter(|texture| texture.dimensions() == (width, height)) {
        Some(texture) => texture,
        None => {
            let (format, mipmaps) = (UncompressedFloatFormat::U8U8U8U8, MipmapsOption::NoMipmap);
            Texture2d::empty_with_format(display, format, mipmaps, width, height)
                .map_err(|e| RenderError::Gl(what, e.to_string()))?
        }
    };
    Ok(kept.insert(texture))
}

/// Copies `surface`, of so many pixels, to a part of the window: left, bottom, width and height in pixels.
pub(super) fn blit(
    surface: &SimpleFrameBuffer,
    size: [u32; 2],
    frame: &mut Frame,
    [left, bottom, width, height]: [u32; 4],
) {
    let whole = Rect { left: 0, bottom: 0, width: size[0], height: size[1] };
    let target = BlitTarget { left, bottom, width: width as i32, height: height as i32 };
    let filter = match size == [width, height] {
        true => MagnifySamplerFilter::Nearest,
        false => MagnifySamplerFilter::Linear,
    };
    frame.blit_from_simple_framebuffer(surface, &whole, &target, filter);
}
