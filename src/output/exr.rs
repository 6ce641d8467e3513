//! OpenEXR pictures: linear radiance with premultiplied alpha in half floats, and depth.

use std::io;
use std::path::Path;

use exr::prelude::{
    AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, LayerAttributes, SmallVec, WritableImage,
    f16,
};

use super::OutputError;
use super::whole::{self, Existing};
use crate::render::LinearImage;

/// Writes `image` to `path`: channels R G B A as half floats, Z \[m\] as floats. Exposure and background are
/// left to compositing.
pub fn write(path: &Path, existing: Existing, image: &LinearImage) -> Result<(), OutputError> {
    whole::write_over(path, existing, |file| {
        let encoded = Image::from_layer(layer(image));
        encoded.write().to_unbuffered(file).map_err(io::Error::other)
    })
}

fn layer(image: &LinearImage) -> Layer<AnyChannels<FlatSamples>> {
    let half = |c: usize| FlatSamples::F16(image.rgba.iter().map(|pixel| f16::from_f32(pixel[c])).collect());
    let mut channels: SmallVec<[AnyChannel<FlatSamples>; 4]> = ["R", "G", "B", "A"]
        .into_iter()
        .enumerate()
        .map(|(c, name)| AnyChannel::new(name, half(c)))
        .collect();
    channels.push(AnyChannel::new("Z", FlatSamples::F32(image.depth.clone())));
    let attributes = LayerAttributes { software_name: Some("updraft".into()), ..LayerAttributes::default() };
    let size = (image.width as usize, image.height as usize);
    Layer::new(size, attributes, Encoding::SMALL_LOSSLESS, AnyChannels::sort(channels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        let rgba = (0..6).map(|n| [n as f32, 0.5 * n as f32, 20.0, n as f32 / 8.0]).collect();
        let depth: Vec<f32> = (0..6).map(|n| 1e6 - n as f32).collect();
        let image = LinearImage { width: 3, height: 2, rgba, depth };
        write(&path, Existing::Replace, &image).unwrap();
        let read = exr::prelude::read_first_flat_layer_from_file(&path).unwrap().layer_data;
        assert_eq!((read.size.x(), read.size.y()), (3, 2));
        for channel in &read.channel_data.list {
            let values: Vec<f32> = channel.sample_data.values_as_f32().collect();
            let expected: Vec<f32> = match "RGBA".find(&channel.name.to_string()) {
                Some(c) => image.rgba.iter().map(|pixel| pixel[c]).collect(),
                None => image.depth.clone(),
            };
            assert_eq!(values, expected, "{}", channel.name);
        }
        assert_eq!(read.channel_data.list.len(), 5);
    }
}
