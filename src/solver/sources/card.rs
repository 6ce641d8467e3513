//! Cards: pictures that stand in space as smoke.
//!
//! A card is a grid of pixels in the plane z = 0, x to the right, y up, its centre at the origin, extruded by
//! half its depth to both sides. A pixel holds the shares of red, green and blue smoke, and of heat.

use thiserror::Error;

#[cfg(feature = "files")]
use crate::foreign;
use crate::room;

/// Most pixels of a card.
pub(super) const MOST: usize = 1 << 26;

/// Most characters of a text.
pub(super) const LONGEST: usize = 10_000;

/// Memory that the picture decoder may use besides the pixels \[bytes\].
#[cfg(feature = "files")]
const SCRATCH: usize = 64 << 20;

/// Reason why a card could not be made.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CardError {
    /// The file could not be read.
    #[error("cannot read {0}: {1}")]
    Unreadable(String, String),
    /// The file is not a font.
    #[error("the font cannot be used: {0}")]
    Font(String),
    /// The font lacks a character.
    #[error("the font has no glyph for `{0}` (U+{code:04X}); leave it out, or name another `font`", code = u32::from(*.0))]
    Glyph(char),
    /// The card would be empty.
    #[error("it is empty: no pixel is set")]
    Empty,
    /// The card would have too many pixels.
    #[error("it is too large for the cells of this scene; make it smaller")]
    TooLarge,
    /// The picture has too many pixels.
    #[error("it has {0} x {1} pixels, over the limit of {MOST} in all; make it smaller")]
    Pixels(u32, u32),
    /// The text has too many characters.
    #[error("it has {0} characters, over the limit of {LONGEST}; shorten it")]
    Long(usize),
    /// There is not enough memory.
    #[error(transparent)]
    NoRoom(#[from] room::NoRoom),
}

/// A picture, extruded.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// Pixels across and down.
    pixels: [usize; 2],
    /// Edge of a pixel \[m\].
    pixel: f32,
    depth: f32,
    values: Values,
    colored: bool,
}

/// Pixels in 1/255, rows from the top.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// One share for red, green, blue and heat alike: a quarter of the memory.
    Grey(Vec<u8>),
    /// Red, green, blue and heat.
    Colors(Vec<[u8; 4]>),
}

impl Values {
    fn at(&self, n: usize) -> [u8; 4] {
        match self {
            Self::Grey(values) => [values[n]; 4],
            Self::Colors(values) => values[n],
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Grey(values) => values.len(),
            Self::Colors(values) => values.len(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = [u8; 4]> + '_ {
        (0..self.len()).map(|n| self.at(n))
    }
}

impl Card {
    /// Makes a card of `pixels` across and down with edges of `pixel` \[m\], `depth` \[m\] thick. `values`
    /// are red, green, blue and heat in 1/255, rows from the top.
    ///
    /// # Errors
    /// If all values are 0.
    ///
    /// # Panics
    /// If there is not one value for each pixel.
    pub fn new(pixels: [usize; 2], pixel: f32, depth: f32, values: Vec<[u8; 4]>) -> Result<Self, CardError> {
        Self::of(pixels, pixel, depth, Values::Colors(values))
    }

    /// As [`new`](Self::new), with one share for red, green, blue and heat alike.
    ///
    /// # Errors
    /// If all values are 0.
    ///
    /// # Panics
    /// If there is not one value for each pixel.
    pub fn grey(pixels: [usize; 2], pixel: f32, depth: f32, values: Vec<u8>) -> Result<Self, CardError> {
        Self::of(pixels, pixel, depth, Values::Grey(values))
    }

    fn of(pixels: [usize; 2], pixel: f32, depth: f32, values: Values) -> Result<Self, CardError> {
        assert_eq!(values.len(), pixels[0] * pixels[1], "one value for each pixel");
        if values.iter().all(|value| value == [0; 4]) {
            return Err(CardError::Empty);
        }
        let colored = values.iter().any(|[r, g, b, _]| r != g || g != b);
        Ok(Self { pixels, pixel, depth, values, colored })
    }

    /// Makes a card of the PNG at `path`, `width` \[m\] wide. A pixel's stored red, green and blue, times its
    /// alpha, are its shares of the three smokes; their mean is that of heat.
    ///
    /// # Errors
    /// If it cannot be read, or is black or transparent everywhere.
    #[cfg(feature = "files")]
    pub fn image(path: &std::path::Path, width: f32, depth: f32) -> Result<Self, CardError> {
        let fail = |e: String| CardError::Unreadable(path.display().to_string(), e);
        let bytes = foreign::read(path, foreign::PICTURE).map_err(|e| fail(e.to_string()))?;
        Self::from_png(&path.display().to_string(), &bytes, width, depth)
    }

    /// Makes a card of the `bytes` of a PNG; errors call it `name`.
    ///
    /// # Errors
    /// As for [`image`](Self::image).
    #[cfg(feature = "files")]
    pub fn from_png(name: &str, bytes: &[u8], width: f32, depth: f32) -> Result<Self, CardError> {
        let fail = |error| CardError::Unreadable(name.to_owned(), words(&error).to_owned());
        let limits = png::Limits { bytes: SCRATCH };
        let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(bytes), limits);
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        // The size is known before anything is allocated for it.
        let header = decoder.read_header_info().map_err(fail)?;
        let [across, down] = [header.width, header.height];
        if u64::from(across) * u64::from(down) > MOST as u64 {
            return Err(CardError::Pixels(across, down));
        }
        let mut reader = decoder.read_info().map_err(fail)?;
        let size = reader.output_buffer_size().ok_or(CardError::Pixels(across, down))?;
        let mut stored = room::vec(size, "the picture")?;
        stored.resize(size, 0);
        let frame = reader.next_frame(&mut stored).map_err(fail)?;
        let pixels = [frame.width as usize, frame.height as usize];
        let count = pixels[0] * pixels[1];
        let samples = frame.color_type.samples();
        let stored = stored[..frame.buffer_size()].chunks_exact(samples).map(shares);
        let values = if samples < 3 {
            let mut values = room::vec(count, "the picture")?;
            values.extend(stored.map(|share| share[0]));
            Values::Grey(values)
        } else {
            let mut values = room::vec(count, "the picture")?;
            values.extend(stored);
            Values::Colors(values)
        };
        if values.len() != count {
            return Err(CardError::Unreadable(name.to_owned(), "it has fewer pixels than it says".into()));
        }
        Self::of(pixels, width / pixels[0] as f32, depth, values)
    }

    /// Memory of its pixels \[bytes\].
    pub(super) fn memory(&self) -> u64 {
        match &self.values {
            Values::Grey(values) => values.len() as u64,
            Values::Colors(values) => 4 * values.len() as u64,
        }
    }

    /// Width, height and depth \[m\].
    pub fn size(&self) -> [f32; 3] {
        [self.pixels[0] as f32 * self.pixel, self.pixels[1] as f32 * self.pixel, self.depth]
    }

    /// Whether red, green and blue differ anywhere.
    pub fn is_colored(&self) -> bool {
        self.colored
    }

    /// Integral of red, green, blue and heat over the card \[m³\].
    pub fn volume(&self) -> [f64; 4] {
        let unit = f64::from(self.pixel).powi(2) * f64::from(self.depth) / 255.0;
        [0, 1, 2, 3].map(|c| self.values.iter().map(|value| f64::from(value[c])).sum::<f64>() * unit)
    }
}

/// The fault of a PNG file, in our words.
#[cfg(feature = "files")]
fn words(error: &png::DecodingError) -> &'static str {
    match error {
        png::DecodingError::LimitsExceeded => "it needs more than 64 MiB besides its pixels",
        png::DecodingError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "it is cut short"
        }
        _ => "it is no PNG, or damaged, or cut short",
    }
}

/// Shares of a pixel of one to four samples: grey, grey and alpha, colours, colours and alpha.
#[cfg(any(test, feature = "files"))]
fn shares(stored: &[u8]) -> [u8; 4] {
    let (color, alpha) = match *stored {
        [grey] => ([grey; 3], 255),
        [grey, alpha] => ([grey; 3], alpha),
        [r, g, b] => ([r, g, b], 255),
        [r, g, b, alpha] => ([r, g, b], alpha),
        _ => unreachable!("a PNG has one to four samples a pixel"),
    };
    let [r, g, b] = color.map(|x| ((u32::from(x) * u32::from(alpha) + 127) / 255) as u8);
    [r, g, b, ((u32::from(r) + u32::from(g) + u32::from(b) + 1) / 3) as u8]
}

/// A card whose pixels are about as large as the samples taken of it.
pub struct Mask<'c> {
    pixels: [usize; 2],
    pixel: f32,
    /// Upper left corner \[m\].
    corner: [f32; 2],
    shares: Shares<'c>,
}

/// Shares of the pixels of a mask.
enum Shares<'c> {
    /// Those of the card: a copy in floats would take up to sixteen times its memory.
    Stored(&'c Values),
    /// Means over blocks, at least four pixels each.
    Means(Vec<[f32; 4]>),
}

impl<'c> Mask<'c> {
    /// Averages whole blocks of pixels of `card`, so that pixels are about `edge` \[m\] wide if they were
    /// smaller.
    pub fn new(card: &'c Card, edge: f32) -> Self {
        let by = ((edge / card.pixel).round() as usize).max(1);
        let [width, height] = card.pixels;
        let pixels = card.pixels.map(|n| n.div_ceil(by));
        let shares = if by == 1 { Shares::Stored(&card.values) } else { Shares::Means(means(card, by)) };
        let corner = [-0.5 * width as f32 * card.pixel, 0.5 * height as f32 * card.pixel];
        Self { pixels, pixel: card.pixel * by as f32, corner, shares }
    }

    /// Mean shares in a square with the given edge around x, y \[m\] from the centre: linear between pixels,
    /// constant beyond the outermost pixel centres, 0 outside the card.
    pub fn sample(&self, x: f32, y: f32, edge: f32) -> [f32; 4] {
        let place = [x - self.corner[0], self.corner[1] - y];
        let half = self.pixels.map(|n| 0.5 * n as f32 * self.pixel);
        let within = overlap(place[0] - half[0], half[0], edge) * overlap(place[1] - half[1], half[1], edge);
        let at = place.map(|x| x / self.pixel - 0.5);
        let low = at.map(f32::floor);
        let part = [at[0] - low[0], at[1] - low[1]];
        let mut sum = [0.0; 4];
        for (right, down) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let along = |part: f32, high: usize| if high == 1 { part } else { 1.0 - part };
            let weight = within * along(part[0], right) * along(part[1], down);
            let value = self.nearest(low[0] as isize + right as isize, low[1] as isize + down as isize);
            (0..4).for_each(|c| sum[c] += weight * value[c]);
        }
        sum
    }

    fn nearest(&self, column: isize, row: isize) -> [f32; 4] {
        let inside = |x: isize, n: usize| x.clamp(0, n as isize - 1) as usize;
        self.share(inside(column, self.pixels[0]) + self.pixels[0] * inside(row, self.pixels[1]))
    }

    fn share(&self, n: usize) -> [f32; 4] {
        match &self.shares {
            Shares::Stored(values) => values.at(n).map(|x| f32::from(x) * (1.0 / 255.0)),
            Shares::Means(means) => means[n],
        }
    }
}

/// Means over blocks of `by` × `by` pixels, the last ones filled up with zeros.
fn means(card: &Card, by: usize) -> Vec<[f32; 4]> {
    let [width, height] = card.pixels;
    let across = width.div_ceil(by);
    let mut means = vec![[0.0f32; 4]; across * height.div_ceil(by)];
    for (at, value) in card.values.iter().enumerate() {
        let into = &mut means[at % width / by + across * (at / width / by)];
        (0..4).for_each(|c| into[c] += f32::from(value[c]));
    }
    let share = 1.0 / (255.0 * (by * by) as f32);
    means.as_flattened_mut().iter_mut().for_each(|x| *x *= share);
    means
}

/// The share of an interval of length `edge` around `x` that lies between −half and half.
pub fn overlap(x: f32, half: f32, edge: f32) -> f32 {
    let (low, high) = ((x - 0.5 * edge).max(-half), (x + 0.5 * edge).min(half));
    (high - low).max(0.0) / edge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_scale_the_emission_by_color_and_alpha() {
        assert_eq!(shares(&[200]), [200; 4]);
        assert_eq!(shares(&[255, 51]), [51; 4]);
        assert_eq!(shares(&[255, 0, 0]), [255, 0, 0, 85]);
        assert_eq!(shares(&[255, 255, 255, 0]), [0; 4]);
    }

    #[test]
    fn grey_pixels_are_stored_once() {
        let grey = Card::grey([3, 1], 0.1, 1.0, vec![0, 7, 255]).unwrap();
        let colors = Card::new([3, 1], 0.1, 1.0, vec![[0; 4], [7; 4], [255; 4]]).unwrap();
        assert_eq!((grey.memory(), colors.memory()), (3, 12));
        assert_eq!((grey.volume(), grey.is_colored()), (colors.volume(), false));
        for edge in [0.1, 0.2] {
            let [a, b] = [&grey, &colors].map(|card| Mask::new(card, edge).sample(0.03, 0.0, 0.05));
            assert_eq!(a, b);
        }
    }

    #[test]
    fn coarser_masks_keep_the_volume() {
        let pixels = [37, 23];
        let values: Vec<[u8; 4]> = (0..37 * 23).map(|n| [(n * 7 % 256) as u8, 0, 9, 255]).collect();
        let card = Card::new(pixels, 0.1, 1.0, values).unwrap();
        for edge in [0.01, 0.1, 0.26, 0.9] {
            let mask = Mask::new(&card, edge);
            for c in 0..4 {
                let sum: f64 =
                    (0..mask.pixels[0] * mask.pixels[1]).map(|n| f64::from(mask.share(n)[c])).sum();
                let volume = sum * f64::from(mask.pixel).powi(2);
                assert!((volume - card.volume()[c]).abs() < 1e-4 * card.volume()[3], "{edge} {c}");
            }
        }
    }
}
