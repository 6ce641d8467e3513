//! Saves a picture of the view under a free name.

use std::path::{Path, PathBuf};

use glium::Display;
use glium::texture::{MipmapsOption, RawImage2d, Texture2d, UncompressedFloatFormat};
use glutin::surface::WindowSurface;
use thiserror::Error;

use crate::output::whole::Existing;
use crate::output::{OutputError, png};
use crate::render::{Image, RenderError, Renderer, View};

/// Reason why a picture was not saved.
#[derive(Debug, Error)]
pub(super) enum PictureError {
    #[error(transparent)]
    Render(#[from] RenderError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Renders the view again at the quality of `renderer`, without the panel.
pub(super) fn take(
    renderer: &mut Renderer,
    display: &Display<WindowSurface>,
    [width, height]: [u32; 2],
    view: &View,
) -> Result<Image, PictureError> {
    let (format, mipmaps) = (UncompressedFloatFormat::U8U8U8U8, MipmapsOption::NoMipmap);
    let texture = Texture2d::empty_with_format(display, format, mipmaps, width, height)
        .map_err(|e| RenderError::Gl("a texture for the picture", e.to_string()))?;
    renderer.draw_finished(&mut texture.as_surface(), [0, 0, width, height], view)?;
    let read: RawImage2d<u8> = texture.read();
    Ok(Image { width, height, rgba: top_first(&read.data, width) })
}

/// Flips rows from bottom-up to top-down, without transparency.
fn top_first(rgba: &[u8], width: u32) -> Vec<u8> {
    let rows = rgba.chunks_exact(4 * width as usize).rev();
    rows.flat_map(|row| row.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2], u8::MAX])).collect()
}

/// Saves under the first free number in `folder`. Returns the path.
pub(super) fn save(folder: &Path, scene: &str, image: &Image) -> Result<PathBuf, PictureError> {
    let path = free_name(folder, scene);
    png::write(&path, Existing::Keep, image)?;
    Ok(path)
}

fn free_name(folder: &Path, scene: &str) -> PathBuf {
    let named = |n: u32| folder.join(format!("updraft-{scene}-{n:04}.png"));
    (1..).map(named).find(|path| !path.exists()).expect("more pictures than a folder can hold")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_picture_takes_the_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let image = |value| Image { width: 1, height: 1, rgba: vec![value, value, value, 255] };
        let first = save(folder.path(), "plume", &image(10)).unwrap();
        let bytes = std::fs::read(&first).unwrap();
        let second = save(folder.path(), "plume", &image(200)).unwrap();
        assert_ne!(first, second);
        assert_eq!(std::fs::read(&first).unwrap(), bytes);
    }

    #[test]
    fn the_top_row_comes_first() {
        let bottom_first = [1, 1, 1, 0, 2, 2, 2, 0];
        assert_eq!(top_first(&bottom_first, 1), [2, 2, 2, 255, 1, 1, 1, 255]);
    }
}
