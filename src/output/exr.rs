//! Writes OpenEXR pictures: linear radiance with premultiplied alpha in half floats, and depth.

use std::io;
use std::path::Path;

use exr::prelude::{
    AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, LayerAttributes, SmallVec, WritableImage,
    f16,
};

use super::OutputError;
use super::whole::{self, Existing};
use crate::render::LinearImage;

/// An additional layer of a picture, whose channels are named `name.R` and so on.
pub struct Extra {
    /// Name of the layer.
    pub name: &'static str,
    /// Channels and their values, rows from the top.
    pub channels: Vec<(&'static str, Vec<f32>)>,
}

/// Writes `image` to `path`: channels R G B A as half floats, Z \[m\] as floats, and further layers as half floats. Exposure
/// and background are left to compositing.
///
/// # Errors
/// Those of the file, and [`OutputError::Length`] for an array that does not fill the picture; nothing is written then.
pub fn write(
    path: &Path,
    existing: Existing,
    image: &LinearImage,
    extra: &[Extra],
) -> Result<(), OutputError> {
    let pixels = image.width as usize * image.height as usize;
    let own = [("rgba".to_owned(), image.rgba.len()), ("depth".to_owned(), image.depth.len())];
    let further = extra.iter().flat_map(|Extra { name, channels }| {
        channels.iter().map(move |(channel, values)| (format!("{name}.{channel}"), values.len()))
    });
    for (what, is) in own.into_iter().chain(further) {
        if is != pixels || is == 0 {
            return Err(OutputError::Length { path: path.to_owned(), what, is, wanted: pixels.max(1) });
        }
    }
    whole::write_over(path, existing, |file| {
        let encoded = Image::from_layer(layer(image, extra));
        encoded.write().to_unbuffered(file).map_err(io::Error::other)
    })
}

/// Returns the nearest finite half float, since a sun in a mirror may be brighter than the largest.
fn finite(x: f32) -> f16 {
    f16::from_f32(x.clamp(f16::MIN.to_f32(), f16::MAX.to_f32()))
}

fn layer(image: &LinearImage, extra: &[Extra]) -> Layer<AnyChannels<FlatSamples>> {
    let half = |c: usize| FlatSamples::F16(image.rgba.iter().map(|pixel| finite(pixel[c])).collect());
    let mut channels: SmallVec<[AnyChannel<FlatSamples>; 4]> = ["R", "G", "B", "A"]
        .into_iter()
        .enumerate()
        .map(|(c, name)| AnyChannel::new(name, half(c)))
        .collect();
    channels.push(AnyChannel::new("Z", FlatSamples::F32(image.depth.clone())));
    for Extra { name, channels: own } in extra {
        for (channel, values) in own {
            let halves = FlatSamples::F16(values.iter().map(|&x| finite(x)).collect());
            channels.push(AnyChannel::new(format!("{name}.{channel}").as_str(), halves));
        }
    }
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
        assert_eq!([1e6, -1e6].map(|x| finite(x).to_f32()), [65504.0, -65504.0]);
        let depth: Vec<f32> = (0..6).map(|n| 1e6 - n as f32).collect();
        let image = LinearImage { width: 3, height: 2, rgba, depth };
        let motion = Extra { name: "motion", channels: vec![("X", vec![0.5; 6]), ("Y", vec![-2.0; 6])] };
        write(&path, Existing::Replace, &image, &[motion]).unwrap();
        let read = exr::prelude::read_first_flat_layer_from_file(&path).unwrap().layer_data;
        assert_eq!((read.size.x(), read.size.y()), (3, 2));
        for channel in &read.channel_data.list {
            let values: Vec<f32> = channel.sample_data.values_as_f32().collect();
            let name = channel.name.to_string();
            let expected: Vec<f32> = match ("RGBA".find(&name), name.as_str()) {
                (Some(c), _) => image.rgba.iter().map(|pixel| pixel[c]).collect(),
                (None, "motion.X") => vec![0.5; 6],
                (None, "motion.Y") => vec![-2.0; 6],
                _ => image.depth.clone(),
            };
            assert_eq!(values, expected, "{}", channel.name);
        }
        assert_eq!(read.channel_data.list.len(), 7);
    }
}
