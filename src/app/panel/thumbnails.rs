//! Small pictures of the built-in scenes for their menu, bundled as PNGs of a few kB.

use egui::{ColorImage, Context, Id, TextureHandle, TextureOptions};

use crate::scene::builtin::for_each_scene;

macro_rules! pictures {
    ($($name:literal),*) => {
        /// Names and files.
        const PICTURES: &[(&str, &[u8])] = &[$(($name, include_bytes!(concat!("thumbnails/", $name, ".png")))),*];
    };
}

for_each_scene!(pictures);

/// Returns the picture of a built-in scene, decoded when it is first shown.
pub(super) fn of(ctx: &Context, name: &str) -> Option<TextureHandle> {
    let id = Id::new(("thumbnail", name));
    if let Some(texture) = ctx.data(|data| data.get_temp::<TextureHandle>(id)) {
        return Some(texture);
    }
    let (_, file) = PICTURES.iter().find(|(of, _)| *of == name)?;
    let texture = ctx.load_texture(name, decoded(file)?, TextureOptions::LINEAR);
    ctx.data_mut(|data| data.insert_temp(id, texture.clone()));
    Some(texture)
}

/// Decodes an opaque picture with a palette.
fn decoded(file: &[u8]) -> Option<ColorImage> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().ok()?;
    let mut rgb = vec![0; reader.output_buffer_size()?];
    let frame = reader.next_frame(&mut rgb).ok()?;
    let size = [frame.width as usize, frame.height as usize];
    (rgb.len() == 3 * size[0] * size[1]).then(|| ColorImage::from_rgb(size, &rgb))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::builtin;

    #[test]
    fn every_built_in_scene_has_a_small_picture() {
        for name in builtin::NAMES {
            let (_, file) = PICTURES.iter().find(|(of, _)| of == name).expect(name);
            assert!(file.len() < 8 << 10, "{name}: {} bytes", file.len());
            let picture = decoded(file).expect(name);
            assert_eq!(picture.size, [132, 96], "{name}");
            let greens = || picture.pixels.iter().map(|pixel| pixel.g());
            let (darkest, lightest) = (greens().min().unwrap(), greens().max().unwrap());
            assert!(lightest > darkest.saturating_add(40), "{name} shows nothing: {darkest} to {lightest}");
        }
    }
}
