//! The background of a picture, and its conversion to bytes.

use super::camera::Axes;
use super::scene::{background, shows_environment};
use super::surround::Surround;
use super::{View, noise, tone};
use crate::look::Look;

/// Background and tone map of a view.
pub(super) struct Background<'a> {
    look: &'a Look,
    /// The environment map, if it is shown.
    surround: Option<Surround>,
    axes: Axes,
    size: [u32; 2],
}

impl<'a> Background<'a> {
    /// Makes the background of a picture of `size`.
    pub fn new(view: &View<'a>, size: [u32; 2]) -> Self {
        let look = view.look;
        let surround = if shows_environment(look) { Surround::of(&look.environment, false) } else { None };
        Self { look, surround, axes: Axes::of(view.camera, size[0] as f32 / size[1] as f32), size }
    }

    /// Converts row `y` from the bottom to bytes. Pixels hold radiance and the visible share of the background.
    pub fn row(&self, y: usize, pixels: &[[f32; 4]], bytes: &mut [[u8; 4]]) {
        let mut background = background(self.look, (y as f32 + 0.5) / self.size[1] as f32);
        let mut behind = Vec::new();
        let pixels = match &self.surround {
            Some(surround) => {
                background = [0.0; 3];
                behind.extend(pixels.iter().enumerate().map(|(x, &[r, g, b, clear])| {
                    let ray = self.axes.ray_through_pixel(self.size, [x as u32, y as u32]);
                    let [p, q, s] = surround.radiance(ray.direction.into());
                    [r + clear * p, g + clear * q, b + clear * s, 0.0]
                }));
                &behind
            }
            None => pixels,
        };
        let (map, exposure) = (self.look.tone, self.look.exposure.exp2());
        tone::row(&tone::Tone { map, background, exposure, noise: noise::row(y) }, pixels, bytes);
    }
}
