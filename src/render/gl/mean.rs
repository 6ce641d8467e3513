//! Means of several frames, for finer grain and smooth edges.

use glium::DrawParameters;
use glium::texture::{Texture2d, UncompressedFloatFormat};

use super::accumulation::Frame;
use super::inputs::Inputs;
use super::pass::averaging;
use super::{Renderer, targets};
use crate::render::{RenderError, View, noise};

impl Renderer {
    /// Renders one more frame of an average that continues while nothing changes, and leaves the average in
    /// the target of the scene. Frames are shifted within the pixel.
    pub(super) fn draw_linear(&mut self, size: [u32; 2], view: &View) -> Result<(), RenderError> {
        self.fit(size)?;
        let frame = self.passes.next(self.subject(size, view), self.refine);
        if let Some(Frame { number, weight }) = frame {
            let shift = if number == 0 { [0.0; 2] } else { noise::spread(number) };
            self.draw_shifted(size, view, number, shift, weight)?;
        }
        self.take_mean()?;
        self.draw_cursor(size, view)
    }

    /// Renders the number of frames of the quality and leaves their mean in the target of the scene.
    pub(super) fn draw_mean(&mut self, size: [u32; 2], view: &View) -> Result<(), RenderError> {
        self.fit(size)?;
        let quality = self.quality;
        let edges = quality.edges;
        for (n, number) in quality.frames().enumerate() {
            let weight = 1.0 / (n + 1) as f32;
            if edges {
                self.draw_shifted(size, view, number, quality.shift(number), weight)?;
            } else {
                self.draw_picture(size, view, Some(Frame { number, weight }))?;
            }
        }
        self.passes.of = None;
        if edges {
            self.take_mean()?;
        }
        self.draw_cursor(size, view)
    }

    /// Renders a frame shifted within the pixel, and adds it to the mean with a weight.
    fn draw_shifted(
        &mut self,
        size: [u32; 2],
        view: &View,
        number: u32,
        shift: [f32; 2],
        weight: f32,
    ) -> Result<(), RenderError> {
        self.shift = shift;
        let drawn = self.draw_picture(size, view, Some(Frame { number, weight: 1.0 }));
        self.shift = [0.0; 2];
        drawn?;
        let targets = self.targets.as_ref().expect("something was drawn");
        if targets.mean.get().is_none() {
            let format = UncompressedFloatFormat::F32F32F32F32;
            drop(targets.mean.set(targets::new_texture(&self.gl, format, targets.size)?));
        }
        self.copy(&targets.scene, targets.mean.get().expect("made above"), weight)
    }

    /// Replaces the last frame by the mean.
    fn take_mean(&self) -> Result<(), RenderError> {
        let Some(targets) = &self.targets else { return Ok(()) };
        targets.mean.get().map_or(Ok(()), |mean| self.copy(mean, &targets.scene, 1.0))
    }

    /// Adds `from` to `to` with a weight.
    fn copy(&self, from: &Texture2d, to: &Texture2d, weight: f32) -> Result<(), RenderError> {
        let parameters = DrawParameters { blend: averaging(weight), ..DrawParameters::default() };
        let inputs = Inputs::default().picture("marched", from);
        let mut surface = self.surface(to)?;
        self.timers.screen_pass(&mut surface, &self.programs.overlay, &inputs, &parameters, "mean")
    }
}
