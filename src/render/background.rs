//! The background of a picture, and its conversion to bytes.

use super::camera::Axes;
use super::scene::{background, shows_environment};
use super::surround::Surround;
use super::{View, noise, tone};
use crate::look::{Camera, Look};

/// Background and tone map of a view.
pub(super) struct Background<'a> {
    look: &'a Look,
    /// The environment map, if it is shown.
    surround: Option<Surround>,
    /// Axes of the frames whose mean is the picture.
    axes: Vec<Axes>,
    size: [u32; 2],
}

impl<'a> Background<'a> {
    /// Makes the background of a picture of `size`, which is the mean of frames with these numbers: a lens blurs an environment.
    pub fn new(view: &View<'a>, size: [u32; 2], frames: impl Iterator<Item = u32>) -> Self {
        Self::of_frames(view, size, frames.map(|number| (*view.camera, number)))
    }

    /// Makes the background of a picture of `size`, which is the mean of frames by cameras, each with its number.
    pub fn of_frames(view: &View<'a>, size: [u32; 2], frames: impl Iterator<Item = (Camera, u32)>) -> Self {
        let look = view.look;
        let surround = if shows_environment(look) { Surround::of(&look.environment, false) } else { None };
        let aspect = size[0] as f32 / size[1] as f32;
        let axes = |(camera, number): (Camera, u32)| Axes::of(&camera, aspect).through_lens(&camera, number);
        let mut axes: Vec<Axes> = if surround.is_some() { frames.map(axes).collect() } else { Vec::new() };
        axes.dedup();
        Self { look, surround, axes, size }
    }

    /// Converts row `y` from the bottom to bytes. Pixels hold radiance and the visible share of the background.
    pub fn row(&self, y: usize, pixels: &[[f32; 4]], bytes: &mut [[u8; 4]]) {
        let mut background = background(self.look, (y as f32 + 0.5) / self.size[1] as f32);
        let mut behind = Vec::new();
        let pixels = match &self.surround {
            Some(surround) => {
                background = [0.0; 3];
                behind.extend(pixels.iter().enumerate().map(|(x, &[r, g, b, clear])| {
                    if clear <= 0.0 {
                        return [r, g, b, 0.0];
                    }
                    let share = clear / self.axes.len() as f32;
                    self.axes.iter().fold([r, g, b, 0.0], |[r, g, b, _], axes| {
                        let ray = axes.ray_through_pixel(self.size, [x as u32, y as u32]);
                        let [p, q, s] = surround.radiance(ray.direction.into());
                        [r + share * p, g + share * q, b + share * s, 0.0]
                    })
                }));
                &behind
            }
            None => pixels,
        };
        let (map, exposure) = (self.look.tone, self.look.exposure.exp2());
        tone::row(&tone::Tone { map, background, exposure, noise: noise::row(y) }, pixels, bytes);
    }
}
