//! What the panel shows and changes: plain data, no window and no solver.

use std::collections::VecDeque;
use std::sync::Arc;

use super::settings::Settings;
use super::undo::History;
use crate::grid::Dims;
use crate::render::{Mode, Slice};
use crate::scene::Scene;
use crate::solver::StepStats;
use crate::worker::Status;

/// What a person decides.
#[derive(Clone, Debug)]
pub struct Model {
    /// All that can be set and undone.
    pub settings: Settings,
    /// What the scene came with: where a double-click goes back to.
    pub defaults: Settings,
    /// Undo and redo of the settings.
    pub history: History<Settings>,
    /// Which field is shown.
    pub view: Mode,
    /// The slice that is shown, or that was shown last.
    pub slice: Slice,
    /// Show the panel.
    pub panel: bool,
    /// Show the help.
    pub help: bool,
    /// The recorded frames, and which of them is shown.
    pub playback: Playback,
    /// The question over everything, if one is asked.
    pub dialog: Option<Dialog>,
    /// The scene that is being loaded. Until it is there the old one is shown, and nothing can be changed.
    pub loading: Option<String>,
}

/// The recorded frames of the run, and what is shown of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Playback {
    /// Numbers of the first and the last frame.
    pub range: [u64; 2],
    /// Simulated time between frames \[s\].
    pub dt: f32,
    /// Bytes they take.
    pub bytes: usize,
    /// The frame that is shown in place of the running simulation.
    pub at: Option<u64>,
    /// Frames follow each other by themselves.
    pub playing: bool,
    /// Speed of playback over simulated time \[-\].
    pub speed: f32,
    /// After the last frame comes the first.
    pub looped: bool,
}

impl Default for Playback {
    fn default() -> Self {
        Self { range: [0; 2], dt: 0.04, bytes: 0, at: None, playing: false, speed: 1.0, looped: true }
    }
}

/// A question over everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// Leave although there are unsaved changes?
    Leave,
    /// Which file?
    Path(PathForm),
}

/// A file to be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathForm {
    /// The purpose of the file.
    pub purpose: Purpose,
    /// The typed path.
    pub text: String,
    /// Why that will not do.
    pub error: Option<String>,
    /// The text at which replacing a file was warned of: accepting it once more replaces the file.
    pub replaces: Option<String>,
    /// Leave once it is saved.
    pub leave: bool,
}

/// The purpose of a named file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To read it.
    Open,
    /// To write it.
    Save,
}

impl PathForm {
    /// A form with a suggestion in it.
    pub fn new(purpose: Purpose, text: String) -> Self {
        Self { purpose, text, error: None, replaces: None, leave: false }
    }
}

impl Model {
    /// A scene as it comes.
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

/// What is known of the simulation and the pictures just now.
#[derive(Clone, Debug)]
pub struct Readout {
    /// What the worker says of itself.
    pub status: Status,
    /// Numbers of the last step shown.
    pub stats: StepStats,
    /// Shape of the box.
    pub dims: Dims,
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Simulated time of the smoke on the screen \[s\].
    pub shown: f64,
    /// Pictures per second of late; 0 while nothing moves.
    pub fps: f32,
    /// Wall time to draw the last picture \[ms\].
    pub draw_ms: f32,
    /// Wall time of the last steps, the newest last \[ms\].
    pub step_ms: VecDeque<f32>,
    /// Told to pause, and waiting for the step under way to end.
    pub pausing: bool,
    /// Something to tell for a moment, such as where a picture was saved.
    pub notice: Option<String>,
}

impl Readout {
    /// Steps whose wall time is kept for the plot.
    pub const STEPS_KEPT: usize = 120;

    /// Before anything is known.
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

    /// Takes note of one more step.
    pub fn add_step(&mut self, ms: f32) {
        if self.step_ms.len() == Self::STEPS_KEPT {
            self.step_ms.pop_front();
        }
        self.step_ms.push_back(ms);
    }
}
