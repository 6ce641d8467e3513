//! State of the panel: plain data, no window and no solver.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use super::export::{Form, Progress};
use super::objects::{Draft, Selected};
use super::remember::Remembered;
use super::settings::Settings;
use super::undo::History;
use crate::grid::Dims;
use crate::look::Camera;
use crate::render::{Mode, Slice};
use crate::scene::Scene;
use crate::scene::edits::Change;
use crate::solver::{Stage, StepStats};
use crate::worker::Status;

/// Sections of the panel that are folded by default: the least used ones.
const FOLDED: [&str; 2] = ["Box and solver", "Export"];

/// State that the user sets.
#[derive(Clone, Debug)]
pub struct Model {
    /// Name of the scene's file, or of the scene.
    pub title: String,
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
    /// Show how to paint, until the first stroke.
    pub hint: bool,
    /// Search text of the panel.
    pub search: String,
    /// The folded sections of the panel.
    pub closed: BTreeSet<String>,
    /// Section to bring into view.
    pub revealed: Option<&'static str>,
    /// Recent scene files, the newest first.
    pub recent: Vec<PathBuf>,
    /// The selected object.
    pub selected: Option<Selected>,
    /// Camera requested by the panel, until the session takes it.
    pub camera: Option<Camera>,
    /// Edits of the scene's text requested by the panel, until the session applies them.
    pub edits: Vec<Change>,
    /// Box and solver after the next restart.
    pub draft: Option<Draft>,
    /// Export settings.
    pub export: Form,
    /// Progress of the running export.
    pub exporting: Option<Progress>,
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
    /// Greatest memory of the frames \[bytes\].
    pub limit: usize,
    /// Bytes of frames on the disk and the most of them, if frames may go there.
    pub disk: Option<[u64; 2]>,
    /// First frame whose flow is recorded.
    pub first_flow: Option<u64>,
    /// The shown frame, if the running simulation is not shown.
    pub at: Option<u64>,
    /// Whether frames advance by themselves.
    pub playing: bool,
    /// Speed of playback over simulated time \[-\].
    pub speed: f32,
    /// Whether the first frame follows the last.
    pub looped: bool,
    /// Whether recorded frames are shown by the scene's moving camera.
    pub follows: bool,
}

impl Default for Playback {
    fn default() -> Self {
        Self {
            range: [0; 2],
            dt: 0.04,
            bytes: 0,
            limit: 0,
            disk: None,
            first_flow: None,
            at: None,
            playing: false,
            speed: 1.0,
            looped: true,
            follows: true,
        }
    }
}

/// A dialog over everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// Whether to leave although something would be lost.
    Leave(Losses),
    /// Choice of a file.
    Path(PathForm),
}

/// Losses if the window closed now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Settings that the scene's file does not hold.
    pub settings: bool,
    /// Names of the scenes with unsaved changes that another scene has replaced.
    pub replaced: Vec<String>,
    /// Painted smoke that no export holds.
    pub strokes: bool,
    /// Number of recorded frames after the first, unless an export holds them.
    pub frames: u64,
    /// The running export.
    pub export: bool,
    /// Edits of the box and the solver that wait for a restart.
    pub draft: bool,
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
    /// An object of this kind, made of the file.
    Add(&'static str),
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
            title: settings.scene.name.clone(),
            defaults: settings.clone(),
            history: History::new(settings.clone()),
            settings,
            view: Mode::Smoke,
            slice: Slice::default(),
            panel: true,
            help: false,
            hint: true,
            search: String::new(),
            closed: FOLDED.map(str::to_owned).into(),
            revealed: None,
            recent: Vec::new(),
            selected: None,
            camera: None,
            edits: Vec::new(),
            draft: None,
            export: Form::default(),
            exporting: None,
            playback: Playback::default(),
            dialog: None,
            loading: None,
        }
    }
}

impl Model {
    /// Opens a section of the panel and brings it into view.
    pub fn reveal(&mut self, section: &'static str) {
        self.panel = true;
        self.search.clear();
        self.closed.remove(section);
        self.revealed = Some(section);
    }

    /// Takes over the persistent state of the last run.
    pub fn recall(&mut self, remembered: &Remembered) {
        self.panel = !remembered.hidden;
        self.recent.clone_from(&remembered.recent);
        if let Some(closed) = &remembered.closed {
            self.closed.clone_from(closed);
        }
    }
}

/// Adds to a list of the last [`Readout::STEPS_KEPT`] values.
fn push<T>(list: &mut VecDeque<T>, value: T) {
    if list.len() == Readout::STEPS_KEPT {
        list.pop_front();
    }
    list.push_back(value);
}

/// Values in the cell under the ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Under {
    /// Red, green, blue \[-\] and temperature excess \[K\].
    pub smoke: [f32; 4],
    /// u, v, w \[m/s\] and vorticity \[1/s\], if the snapshot has them.
    pub flow: Option<[f32; 4]>,
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
    /// Wall time of the last steps by stage \[ms\].
    pub stage_ms: VecDeque<[f32; Stage::ALL.len()]>,
    /// Integral of each density after the last steps \[m³\].
    pub masses: VecDeque<[f32; 3]>,
    /// Wall time of the last pictures, the newest last \[ms\].
    pub picture_ms: VecDeque<f32>,
    /// Camera.
    pub camera: Camera,
    /// Values at the centre of the ball, while it is in the box.
    pub under: Option<Under>,
    /// Whether a pause waits for the present step to end.
    pub pausing: bool,
    /// Whether a second pause has asked to cancel the present step.
    pub cancelling: bool,
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
            stage_ms: VecDeque::with_capacity(Self::STEPS_KEPT),
            masses: VecDeque::with_capacity(Self::STEPS_KEPT),
            picture_ms: VecDeque::with_capacity(Self::STEPS_KEPT),
            camera: Camera::framing([1.0; 3]),
            under: None,
            pausing: false,
            cancelling: false,
            notice: None,
        }
    }

    /// Records a step; `stats` has its statistics already.
    pub fn add_step(&mut self, ms: f32) {
        push(&mut self.step_ms, ms);
        push(&mut self.stage_ms, self.stats.stages.map(|wall| wall.as_secs_f32() * 1e3));
        push(&mut self.masses, self.stats.mass.map(|mass| mass as f32));
    }

    /// Records a picture.
    pub fn add_picture(&mut self, ms: f32) {
        self.draw_ms = ms;
        push(&mut self.picture_ms, ms);
    }

    /// Forgets the steps of another run.
    pub fn forget_steps(&mut self) {
        self.step_ms.clear();
        self.stage_ms.clear();
        self.masses.clear();
    }
}
