//! Writes flipbook sheets: the frames of a sequence side by side in one texture, first frame at the upper left.

use std::io;
use std::path::Path;

use half::f16;

use super::OutputError;
use super::whole::{self, Aside};
use crate::room::{self, NoRoom};

/// Arrangement of the frames on a sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Frames across and down.
    pub cells: [u32; 2],
    /// Width and height of a frame \[px\].
    pub cell: [u32; 2],
}

impl Grid {
    /// Returns the number of frames on the sheet.
    pub fn count(self) -> u32 {
        self.cells[0] * self.cells[1]
    }

    /// Returns the width and height of the sheet \[px\].
    pub fn size(self) -> [u32; 2] {
        [0, 1].map(|a| self.cells[a] * self.cell[a])
    }
}

/// A sheet whose values are scaled to the range of bytes at the end, when the largest is known.
pub struct Sheet {
    grid: Grid,
    pixels: Vec<[f16; 4]>,
}

impl Sheet {
    /// Makes a sheet of zeros.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(grid: Grid) -> Result<Self, NoRoom> {
        let count = grid.size().iter().map(|&n| n as usize).product();
        let mut pixels = room::vec(count, "a sheet of this size")?;
        pixels.resize(count, [f16::ZERO; 4]);
        Ok(Self { grid, pixels })
    }

    /// Puts the pixels of frame `n`, counted from 0, rows from the top.
    pub fn put(&mut self, n: u32, pixels: impl IntoIterator<Item = [f32; 4]>) {
        let Grid { cells, cell } = self.grid;
        let width = self.grid.size()[0];
        let corner = n / cells[0] * cell[1] * width + n % cells[0] * cell[0];
        for (at, pixel) in (0..).zip(pixels) {
            let to = corner + at / cell[0] * width + at % cell[0];
            self.pixels[to as usize] = pixel.map(f16::from_f32);
        }
    }

    /// Returns the largest magnitude of a channel.
    pub fn greatest(&self, channel: usize) -> f32 {
        self.pixels.iter().map(|pixel| pixel[channel].to_f32().abs()).fold(0.0, f32::max)
    }

    /// Writes the sheet as a PNG of RGBA bytes, under a temporary name until it is kept. `encode` turns a pixel into
    /// numbers from 0 to 1. `srgb` tells that these are colours, not data.
    pub fn write(
        &self,
        path: &Path,
        srgb: bool,
        encode: impl Fn([f32; 4]) -> [f32; 4],
    ) -> Result<Aside, OutputError> {
        let [width, height] = self.grid.size();
        let bytes = |pixel: &[f16; 4]| {
            encode(pixel.map(f16::to_f32)).map(|x| (x.clamp(0.0, 1.0) * 255.0).round() as u8)
        };
        whole::fill_aside(path, |file| {
            let mut encoder = png::Encoder::new(file, width, height);
            encoder.set_color(png::ColorType::Rgba);
            encoder.set_depth(png::BitDepth::Eight);
            if srgb {
                encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
            }
            let mut writer = encoder.write_header()?;
            let mut stream = writer.stream_writer()?;
            for row in self.pixels.chunks(width as usize) {
                let row: Vec<u8> = row.iter().flat_map(bytes).collect();
                io::Write::write_all(&mut stream, &row)?;
            }
            stream.finish()?;
            Ok(writer.finish()?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::whole::Existing;

    #[test]
    fn frames_lie_in_rows_from_the_upper_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.png");
        let mut sheet = Sheet::new(Grid { cells: [2, 2], cell: [3, 2] }).unwrap();
        for n in 0..4 {
            sheet.put(n, (0..6).map(|at| [n as f32, at as f32, 0.0, 1.0]));
        }
        assert_eq!((sheet.greatest(0), sheet.greatest(1)), (3.0, 5.0));
        let written = sheet.write(&path, false, |[n, at, z, a]| [n / 3.0, at / 5.0, z, a]).unwrap();
        written.keep(Existing::Replace).unwrap();
        let file = io::BufReader::new(std::fs::File::open(&path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut data).unwrap();
        assert_eq!((reader.info().width, reader.info().height, reader.info().srgb), (6, 4, None));
        let at = |x: usize, y: usize| [data[4 * (6 * y + x)], data[4 * (6 * y + x) + 1]];
        assert_eq!([at(0, 0), at(3, 0), at(0, 2), at(5, 3)], [[0, 0], [85, 0], [170, 0], [255, 255]]);
        assert_eq!(at(1, 1), [0, 204], "the second row of the first frame");
    }
}
