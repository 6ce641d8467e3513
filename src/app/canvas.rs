//! Textures of pictures. They are copied to the window, and stretched if they are smaller.

use glium::framebuffer::SimpleFrameBuffer;
use glium::texture::{MipmapsOption, Texture2d, UncompressedFloatFormat};
use glium::uniforms::MagnifySamplerFilter;
use glium::{BlitTarget, Display, Frame, Rect, Surface};
use glutin::surface::WindowSurface;

use crate::render::RenderError;

/// Returns a texture of this size: the one in `kept` if it has that size, otherwise a new one. `what` names
/// it in an error.
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

/// Copies `surface`, of `size` pixels, to a part of the window: left, bottom, width and height in pixels. A
/// picture that was made for a view of another shape keeps its aspect ratio.
pub(super) fn blit(surface: &SimpleFrameBuffer, size: [u32; 2], frame: &mut Frame, view: [u32; 4]) {
    let [[left, bottom, width, height], to] = placed(size, view);
    let from = Rect { left, bottom, width, height };
    let [left, bottom, width, height] = to;
    let target = BlitTarget { left, bottom, width: width as i32, height: height as i32 };
    let filter = match [from.width, from.height] == [width, height] {
        true => MagnifySamplerFilter::Nearest,
        false => MagnifySamplerFilter::Linear,
    };
    frame.blit_from_simple_framebuffer(surface, &from, &target, filter);
}

/// Returns the part of a picture that a view shows, and its place in the window. The field of view is that of
/// the height: a picture that is too wide is cut, and one that is too narrow leaves margins.
fn placed(size: [u32; 2], [left, bottom, width, height]: [u32; 4]) -> [[u32; 4]; 2] {
    let scale = height as f32 / size[1] as f32;
    let wide = size[0] as f32 * scale;
    // Sizes of small pictures are rounded.
    if (wide - width as f32).abs() <= 2.0 * scale.max(1.0) {
        return [[0, 0, size[0], size[1]], [left, bottom, width, height]];
    }
    let [cut, filled] = [(width as f32 / scale) as u32, wide as u32].map(|n| n.max(1));
    if filled > width {
        return [[(size[0] - cut) / 2, 0, cut, size[1]], [left, bottom, width, height]];
    }
    [[0, 0, size[0], size[1]], [left + (width - filled) / 2, bottom, filled, height]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_keep_their_shape_in_a_view_of_another() {
        let view = [300, 0, 800, 600];
        assert_eq!(placed([800, 600], view), [[0, 0, 800, 600], view]);
        // Rounded up at a third of the size.
        assert_eq!(placed([267, 200], view), [[0, 0, 267, 200], view]);
        assert_eq!(placed([1100, 600], view), [[150, 0, 800, 600], view]);
        assert_eq!(placed([250, 300], view), [[0, 0, 250, 300], [450, 0, 500, 600]]);
    }
}
