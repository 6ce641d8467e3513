//! Writes PNG pictures with eight bits per channel, tagged sRGB.

use std::io;
use std::path::Path;

use super::OutputError;
use super::whole::{self, Existing};
use crate::render::Image;

/// Writes `image` to `path`, with an alpha channel only if the picture is not opaque.
pub fn write(path: &Path, existing: Existing, image: &Image) -> Result<(), OutputError> {
    whole::write_over(path, existing, |file| encode(file, image))
}

fn encode(file: impl io::Write, image: &Image) -> io::Result<()> {
    let opaque = image.rgba.iter().skip(3).step_by(4).all(|&alpha| alpha == u8::MAX);
    let mut encoder = png::Encoder::new(file, image.width, image.height);
    encoder.set_color(if opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    let mut writer = encoder.write_header()?;
    match opaque {
        true => writer.write_image_data(&without_alpha(&image.rgba))?,
        false => writer.write_image_data(&image.rgba)?,
    }
    Ok(writer.finish()?)
}

/// Drops alpha from RGBA pixels.
pub(super) fn without_alpha(rgba: &[u8]) -> Vec<u8> {
    rgba.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(path: &Path) -> (png::ColorType, Vec<u8>) {
        let file = io::BufReader::new(std::fs::File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut data).unwrap();
        (reader.info().color_type, data)
    }

    #[test]
    fn pixels_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.png");
        let rgba: Vec<u8> = (0..24).map(|i| if i % 4 == 3 { 255 } else { i * 9 }).collect();
        let mut image = Image { width: 3, height: 2, rgba };
        write(&path, Existing::Replace, &image).unwrap();
        assert_eq!(decoded(&path), (png::ColorType::Rgb, without_alpha(&image.rgba)));
        image.rgba[7] = 100;
        write(&path, Existing::Replace, &image).unwrap();
        assert_eq!(decoded(&path), (png::ColorType::Rgba, image.rgba));
    }
}
