//! A scene after all checks, as plain data.

use std::sync::Arc;

use super::camera_path::CameraPath;
use super::initial::Initial;
use super::origin::Origin;
use super::side_tables::SideFormulas;
use crate::look::{Camera, Look};
use crate::probe::Probe;
use crate::solver::{Config, Fill, Force, Params, Solid, Source};

/// A checked scene: everything that a run and its pictures need.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Name of the built-in scene, or of the file without its extension.
    pub name: String,
    /// Configuration of the solver.
    pub config: Config,
    /// Parameters of the model.
    pub params: Params,
    /// Sources of smoke and heat.
    pub sources: Vec<Source>,
    /// External forces: wind, points, vortices.
    pub forces: Vec<Force>,
    /// Solids in the flow.
    pub solids: Vec<Solid>,
    /// Frame rate and step.
    pub time: Time,
    /// Medium, light, floor and tone of the pictures.
    pub look: Look,
    /// Camera.
    pub camera: Camera,
    /// Path of the camera over time, if it moves; see [`Scene::camera_at`].
    pub camera_path: CameraPath,
    /// Width and height of pictures \[px\].
    pub size: [u32; 2],
    /// Initial fields, if the box does not start empty and at rest.
    pub initial: Initial,
    /// Regions filled at the start, over the fields of `initial`.
    pub fills: Vec<Fill>,
    /// Probes.
    pub probes: Vec<Probe>,
    /// Values that vary over the sides, in place and time.
    pub side_formulas: Vec<SideFormulas>,
    /// The text that the scene was read from.
    pub origin: Arc<Origin>,
}

impl Scene {
    /// Returns the camera at an instant \[s\].
    pub fn camera_at(&self, t: f32) -> Camera {
        self.camera_path.at(t, &self.camera)
    }
}

/// Division of time into frames, and of frames into steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// Frames per simulated second; frame n is the state at n / frame_rate.
    pub frame_rate: f32,
    /// Longest fixed step \[s\]: a frame takes the least number of equal steps that are no longer. Without it
    /// a frame is one step, divided into as many substeps as the CFL number requires.
    pub step: Option<f32>,
}

impl Default for Time {
    fn default() -> Self {
        Self { frame_rate: 24.0, step: None }
    }
}

impl Time {
    /// Returns number and length \[s\] of the steps of a frame.
    pub fn steps_per_frame(&self) -> (u32, f32) {
        let frame = 1.0 / self.frame_rate;
        // Rounding must not add a step to a frame of a whole number of steps.
        let count = self.step.map_or(1, |step| (frame / step - 1e-3).ceil().max(1.0) as u32);
        (count, frame / count as f32)
    }
}
