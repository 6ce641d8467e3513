//! State of the panel: plain data, no window and no solver.

use std::collections::VecDeque;
use std::sync::Arc;

use super::settings::Settings;
use super::undo::History;
use crate::grid::Dims;
use crate::render::{Mode, Slice};
use crate::scene::Scene;
use crate::solver::StepStats;
use crate::worker::Status;

/// State that a person decides.
#[derive(Clone, Debug)]
pub struct Model {
    /// All settings that can be undone.
    pub settings: Settings,
    /// Settings of the scene file, restored by a double-click.
    pub defaults: Settings,
    /// Undo and redo of the settings.
    pub history: History<Settings>,
    /// Field to show.
    pub view: Mode,
    /// The present or last slice.
    pub slice: Slice,
    /// Show the panel.
    pub panel: bool,
    /// Show the help.
    pub help: bool,
    /// Recorded frames, and the shown one.
    pub playback: Playback,
    /// Open dialog.
    pub dialog: Option<Dialog>,
    /// Scene being loaded. Until it is ready the old one is shown, and nothing can be changed.
    pub loading: Option<String>,
}

/// Playback of the recorded frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Playback {
    /// Numbers of the first and the last frame.
    pub range: [u64; 2],
    /// Simulated time between frames \[s\].
    pub dt: f32,
    /// Memory of the frames \[bytes\].
    pub bytes: usize,
    /// The shown frame, if the running simulation is not shown.
    pub at: Option<u64>,
    /// Whether frames advance by themselves.
    pub playing: bool,
    /// Speed of playback over simulated time \[-\].
    pub speed: f32,
    /// Whether the first frame follows the last.
    pub looped: bool,
}

impl Default for Playback {
    fn default() -> Self {
        Self { range: [0; 2], dt: 0.04, bytes: 0, at: None, playing: false, speed: 1.0, looped: true }
    }
}

/// A dialog over everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// Whether to leave with unsaved changes.
    Leave,
    /// Choice of a file.
    Path(PathForm),
}

/// A form for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathForm {
    /// The purpose of the file.
    pub purpose: Purpose,
    /// The typed path.
    pub text: String,
    /// Error of the typed path.
    pub error: Option<String>,
    /// Text for which replacing a file was warned of: accepting it again replaces the file.
    pub replaces: Option<String>,
    /// Whether to leave after saving.
    pub leave: bool,
}

/// The purpose of a named file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Reading.
    Open,
    /// Writing.
    Save,
}

impl PathForm {
    /// Makes a form with a suggestion.
    pub fn new(purpose: Purpose, text: String) -> Self {
        Self { purpose, text, error: None, replaces: None, leave: false }
    }
}

impl Model {
    /// Makes the model of a scene without changes.
    pub fn new(scene: Arc<Scene>) -> Self {
        let settings = Settings::of(scene);
        Self {
            defaults: settings.clone(),
            history: History::new(settings.clone()),
            settings,
            view: Mode::Smoke,
            slice: Slice::default(),
            panel: true,
            help: false,
            playback: Playback::default(),
            dialog: None,
            loading: None,
        }
    }
}

/// Present values of the simulation and the pictures.
#[derive(Clone, Debug)]
pub struct Readout {
    /// Status of the worker.
    pub status: Status,
    /// Statistics of the last shown step.
    pub stats: StepStats,
    /// Shape of the box.
    pub dims: Dims,
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Simulated time of the smoke on the screen \[s\].
    pub shown: f64,
    /// Recent pictures per second; 0 while nothing moves.
    pub fps: f32,
    /// Wall time of the last picture \[ms\].
    pub draw_ms: f32,
    /// Wall time of the last steps, the newest last \[ms\].
    pub step_ms: VecDeque<f32>,
    /// Whether a pause waits for the present step to end.
    pub pausing: bool,
    /// A short notice, such as the path of a saved picture.
    pub notice: Option<String>,
}

impl Readout {
    /// Number of steps in the plot of wall times.
    pub const STEPS_KEPT: usize = 120;

    /// Makes a readout before the first step.
    pub fn new(dims: Dims, h: f32) -> Self {
        Self {
            status: Status::default(),
            stats: StepStats::default(),
            dims,
            h,
            shown: 0.0,
            fps: 0.0,
            draw_ms: 0.0,
            step_ms: VecDeque::with_capacity(Self::STEPS_KEPT),
            pausing: false,
            notice: None,
        }
    }

    /// Adds the time of a step.
    pub fn add_step(&mut self, ms: f32) {
        if self.step_ms.len() == Self::STEPS_KEPT {
            self.step_ms.pop_front();
        }
        self.step_ms.push_back(ms);
    }
}
