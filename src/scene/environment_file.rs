//! Environment maps in files: Radiance HDR (RGBE) and OpenEXR.

use std::io::Cursor;
use std::path::Path;

use exr::compression::Compression;
use exr::meta::header::Header;

use crate::look::Sphere;
use crate::{foreign, room};

/// Greatest number of texels of a picture: 8192 × 4096.
const MOST: usize = 1 << 25;
/// Greatest number of texels along a side.
const LONGEST: usize = 1 << 15;
/// Greatest number of bytes of a texel in an OpenEXR file, over all channels.
const DEEPEST: usize = 64;

/// Reads the picture at `path`.
///
/// # Errors
/// The reason in words: the file cannot be read, is too large, or is neither of the two.
pub fn read(path: &Path) -> Result<Sphere, String> {
    let bytes = foreign::read(path, foreign::PICTURE).map_err(|error| error.to_string())?;
    let (width, height, texels) = if bytes.starts_with(b"#?") {
        radiance(&bytes)?
    } else if bytes.starts_with(&[0x76, 0x2f, 0x31, 0x01]) {
        exr(&bytes)?
    } else {
        return Err("it is neither a Radiance HDR nor an OpenEXR picture".into());
    };
    Sphere::new(width, height, texels).ok_or_else(|| "it has no pixels".into())
}

type Picture = (usize, usize, Vec<[f32; 3]>);

fn check_size(width: usize, height: usize) -> Result<(), String> {
    match width.checked_mul(height) {
        Some(0) => Err("it has no pixels".into()),
        Some(count) if count <= MOST && width.max(height) <= LONGEST => Ok(()),
        _ => Err(format!(
            "it has {width} x {height} pixels; at most {MOST} are read, and {LONGEST} along a side"
        )),
    }
}

/// Decodes the format of Walter Bruce and Ward (Graphics Gems II, 1991): lines of text, then rows with shared
/// exponents, run-length coded.
fn radiance(bytes: &[u8]) -> Result<Picture, String> {
    let mut at = 0;
    let mut line = || -> Result<&str, String> {
        let end = bytes[at..].iter().take(4096).position(|&b| b == b'\n').ok_or("its head does not end")?;
        let text = std::str::from_utf8(&bytes[at..at + end]).map_err(|_| "its head is no text")?;
        at += end + 1;
        Ok(text.trim_end_matches('\r'))
    };
    for _ in 0..256 {
        match line()? {
            "" => break,
            text if text.starts_with("FORMAT=") && text != "FORMAT=32-bit_rle_rgbe" => {
                return Err(format!("`{}` is not read, only 32-bit_rle_rgbe", foreign::shortened(text, 40)));
            }
            _ => {}
        }
    }
    let size = line()?;
    let words: Vec<&str> = size.split_whitespace().collect();
    let number = |text: &str| text.parse::<usize>().map_err(|_| "its size is no number".to_owned());
    let ["-Y", height, "+X", width] = words.as_slice() else {
        return Err(format!("its size `{}` is not as `-Y 512 +X 1024`", foreign::shortened(size, 40)));
    };
    let (width, height) = (number(width)?, number(height)?);
    check_size(width, height)?;
    // A pixel takes four bytes, or a share of a run of at most 127.
    if bytes.len() - at < width.div_ceil(127) * height {
        return Err("it ends early".into());
    }
    let mut rest = &bytes[at..];
    let mut texels = room::vec(width * height, "the picture").map_err(|error| error.to_string())?;
    let mut row = vec![[0_u8; 4]; width];
    for _ in 0..height {
        read_row(&mut rest, &mut row)?;
        texels.extend(row.iter().map(|&[r, g, b, e]| {
            let scale = if e == 0 { 0.0 } else { (f32::from(e) - 136.0).exp2() };
            [r, g, b].map(|x| scale * f32::from(x))
        }));
    }
    Ok((width, height, texels))
}

/// Takes `count` bytes off the front.
fn taken<'b>(rest: &mut &'b [u8], count: usize) -> Result<&'b [u8], String> {
    let (front, back) = rest.split_at_checked(count).ok_or("it ends early")?;
    *rest = back;
    Ok(front)
}

fn read_row(rest: &mut &[u8], row: &mut [[u8; 4]]) -> Result<(), String> {
    let width = row.len();
    let coded = (8..0x8000).contains(&width)
        && rest.first_chunk().is_some_and(|&[a, b, c, d]| {
            (a, b) == (2, 2) && c < 128 && usize::from(u16::from_be_bytes([c, d])) == width
        });
    if !coded {
        let plain = taken(rest, 4 * width)?;
        row.iter_mut().zip(plain.as_chunks::<4>().0).for_each(|(to, from)| *to = *from);
        return Ok(());
    }
    taken(rest, 4)?;
    for channel in 0..4 {
        let mut x = 0;
        while x < width {
            let code = usize::from(taken(rest, 1)?[0]);
            let (count, run) = if code > 128 { (code - 128, true) } else { (code, false) };
            if count == 0 || x + count > width {
                return Err("a row of it is longer than its width".into());
            }
            let values = taken(rest, if run { 1 } else { count })?;
            for n in 0..count {
                row[x + n][channel] = values[if run { 0 } else { n }];
            }
            x += count;
        }
    }
    Ok(())
}

fn exr(bytes: &[u8]) -> Result<Picture, String> {
    use exr::prelude::{MetaData, ReadChannels, ReadLayers, read};
    let meta = MetaData::read_from_buffered(Cursor::new(bytes), false).map_err(|error| words(&error))?;
    // The decoder allocates whole layers and blocks of the sizes in their headers, even of layers that are
    // not read.
    meta.headers.iter().try_for_each(check_header)?;
    if !meta.headers.iter().any(has_colors) {
        return Err("it has no channels R, G and B".into());
    }
    let most = meta.headers.iter().map(|header| header.layer_size.area()).max().unwrap_or(0);
    room::probe((most * size_of::<[f32; 3]>()) as u64, "the picture").map_err(|error| error.to_string())?;
    let image = read()
        .no_deep_data()
        .largest_resolution_level()
        .rgb_channels(
            |size, _| (size.width(), vec![[0.0_f32; 3]; size.area()]),
            |(width, texels), at, (r, g, b): (f32, f32, f32)| texels[at.y() * *width + at.x()] = [r, g, b],
        )
        .first_valid_layer()
        .all_attributes()
        .non_parallel()
        .from_buffered(Cursor::new(bytes))
        .map_err(|error| words(&error))?;
    let size = image.layer_data.size;
    Ok((size.width(), size.height(), image.layer_data.channel_data.pixels.1))
}

/// Fails if the header of a layer has sizes that the decoder does not bound.
fn check_header(header: &Header) -> Result<(), String> {
    let [width, height] = [header.layer_size.width(), header.layer_size.height()];
    check_size(width, height)?;
    let bytes = header.channels.bytes_per_pixel;
    if bytes > DEEPEST {
        return Err(format!("its channels take {bytes} bytes a pixel; at most {DEEPEST} are read"));
    }
    if header.deep {
        return Err("it has deep data; write it flat".into());
    }
    // The decoder allocates blocks of these compressions without a check of their sizes.
    if matches!(header.compression, Compression::DWAA(_) | Compression::DWAB(_)) {
        return Err("its compression, DWA, is not read; write it with ZIP or PIZ".into());
    }
    Ok(())
}

fn has_colors(header: &Header) -> bool {
    ["R", "G", "B"]
        .iter()
        .all(|wanted| header.channels.list.iter().any(|channel| channel.name.eq_case_insensitive(wanted)))
}

/// Words the fault of an OpenEXR file.
fn words(error: &exr::error::Error) -> String {
    use exr::error::Error;
    match error {
        Error::NotSupported(_) => {
            "it uses a part of OpenEXR that is not read; write it flat, with ZIP or PIZ compression".into()
        }
        Error::Invalid(_) | Error::Aborted | Error::Io(_) => {
            "it is no OpenEXR picture, or damaged, or cut short".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hdr(rows: &[u8], size: &str) -> Vec<u8> {
        [b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n".as_slice(), size.as_bytes(), b"\n", rows].concat()
    }

    /// Returns two rows of eight texels, coded as a run of one value and as plain bytes.
    fn coded() -> Vec<u8> {
        let run = |value: u8| [128 + 8, value];
        let row =
            |r: u8| [&[2, 2, 0, 8][..], &run(r), &run(64), &[8, 0, 1, 2, 3, 4, 5, 6, 7], &run(129)].concat();
        [row(128), row(255)].concat()
    }

    #[test]
    fn shared_exponents_are_read() {
        let (width, height, texels) = radiance(&hdr(&coded(), "-Y 2 +X 8")).unwrap();
        assert_eq!((width, height), (8, 2));
        assert_eq!(texels[3], [1.0, 0.5, 3.0 / 128.0]);
        assert_eq!(texels[8][0], 255.0 / 128.0);
        let plain = hdr(&[128, 64, 32, 129].repeat(6), "-Y 2 +X 3");
        assert_eq!(radiance(&plain).unwrap().2, vec![[1.0, 0.5, 0.25]; 6]);
    }

    #[test]
    fn bad_pictures_are_refused_in_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |bytes: &[u8]| {
            let path = dir.path().join("a.hdr");
            std::fs::write(&path, bytes).unwrap();
            let message = read(&path).unwrap_err();
            assert!(!message.contains('\n'), "{message}");
            message
        };
        assert!(refused(b"PNG").contains("neither a Radiance HDR nor an OpenEXR"));
        assert!(refused(b"#?RADIANCE\n").contains("head does not end"));
        assert!(refused(&hdr(&coded()[..20], "-Y 2 +X 8")).contains("ends early"));
        let many = "it has 99999999 x 99999999 pixels; at most 33554432 are read, and 32768 along a side";
        assert_eq!(refused(&hdr(b"", "-Y 99999999 +X 99999999")), many);
        assert!(refused(&hdr(b"", "-Y 1 +X 32769")).contains("32768 along a side"));
        assert!(refused(&hdr(b"", "-Y 4096 +X 8192")).contains("ends early"));
        assert!(refused(&hdr(b"", "+Y 2 +X 8")).contains("not as `-Y"));
        assert!(refused(&hdr(&[2, 2, 0, 8, 128 + 9, 1], "-Y 1 +X 8")).contains("longer than its width"));
        assert!(refused(&hdr(&[2, 2, 0, 8, 0, 1], "-Y 1 +X 8")).contains("longer than its width"));
        assert!(refused(&[0x76, 0x2f, 0x31, 0x01, 2, 0, 0, 0]).contains("no OpenEXR picture"));
    }

    /// `parts.exr` has two parts, the second of 100,000² pixels: decoding it once allocated 120 GB.
    /// `column.exr` claims a column of 2²⁷ pixels.
    #[test]
    fn every_part_of_an_open_exr_is_measured_before_any_is_decoded() {
        for (name, wanted) in [("parts", "100000 x 100000 pixels"), ("column", "1 x 134217728 pixels")] {
            let path = format!("{}/tests/seeds/environment/{name}.exr", env!("CARGO_MANIFEST_DIR"));
            let message = read(Path::new(&path)).unwrap_err();
            assert!(message.contains(wanted), "{message}");
        }
    }

    #[test]
    fn open_exr_without_colors_or_with_dwa_is_refused() {
        use exr::prelude::{Encoding, Image, SpecificChannels, WritableImage};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        let grey = SpecificChannels::build().with_channel("Y").with_pixel_fn(|_| (0.5_f32,));
        Image::from_channels((4, 2), grey).write().to_file(&path).unwrap();
        assert_eq!(read(&path).unwrap_err(), "it has no channels R, G and B");
        let colors = SpecificChannels::rgb(|_| (0.5_f32, 0.5_f32, 0.5_f32));
        let mut image = Image::from_channels((4, 2), colors);
        image.layer_data.encoding =
            Encoding { compression: Compression::DWAA(None), ..Encoding::FAST_LOSSLESS };
        image.write().to_file(&path).unwrap();
        assert!(read(&path).unwrap_err().contains("its compression, DWA, is not read"));
    }

    #[test]
    fn open_exr_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        exr::prelude::write_rgb_file(&path, 4, 2, |x, y| (x as f32, y as f32, 0.25)).unwrap();
        let sphere = read(&path).unwrap();
        assert_eq!((sphere.size(), sphere.texels()[6]), ([4, 2], [2.0, 1.0, 0.25]));
    }
}
