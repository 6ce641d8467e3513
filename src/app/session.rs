//! A running scene: worker, settings, camera, cursor, and the effects of mouse and keys. Independent of
//! window and OpenGL.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nalgebra::{Vector2, Vector3};

use super::action::Action;
use super::brush_cursor::Cursor;
use super::file::{self, Home};
use super::gesture::{Button, Gesture, Held};
use super::model::{Dialog, Model, PathForm, Playback, Purpose, Readout};
use super::orbit::Orbit;
use super::settings::Settings;
use crate::grid::Dims;
use crate::render::{self, Mode};
use crate::scene::{Scene, SceneError};
use crate::snapshot::Snapshot;
use crate::worker::{Command, Simulation, State, Status, Worker};

/// Duration of a notice.
const NOTICE: Duration = Duration::from_secs(4);

/// Longest pause in a stroke that counts as painting \[s\].
const LONGEST_STROKE: f32 = 0.25;

/// Notches of the wheel per point of a zooming drag.
const NOTCHES_PER_POINT: f32 = 0.04;

/// Box of the recorded frame before the first one is shown.
const NOTHING: Dims = Dims { nx: 1, ny: 1, nz: 1 };

/// A running scene.
pub struct Session {
    /// State of the panel.
    pub model: Model,
    /// Present values of the simulation.
    pub readout: Readout,
    /// Camera.
    pub orbit: Orbit,
    /// Cursor.
    pub cursor: Cursor,
    worker: Worker,
    sent: Sent,
    pointer: Pointer,
    /// Size of the view \[pt\].
    view: Vector2<f32>,
    notice_until: Option<Instant>,
    home: Option<Home>,
    /// Settings at the last save.
    saved: Settings,
    /// Number of the last stored state of the worker.
    kept: u64,
    /// Number of requested loads.
    loads: u64,
    pending: Option<Pending>,
    /// The shown recorded frame, and its number.
    past: (Snapshot, Option<u64>),
    /// Time at which playback reached the shown frame.
    turned: Instant,
    /// Whether another scene is shown since the last [`sync`](Self::sync).
    switched: bool,
    /// Whether the window must close.
    leaving: bool,
}

/// A simulation being built, with the settings that become active once it is shown.
struct Pending {
    load: u64,
    settings: Settings,
    came: Came,
}

/// Origin of a pending scene.
enum Came {
    /// Opened; the state before it is stored under this number.
    Opened(u64),
    /// By undo.
    Undone,
    /// By redo.
    Redone,
    /// The same scene from the start.
    Restarted,
}

/// Last values sent to the worker.
struct Sent {
    settings: Settings,
    view: Mode,
}

/// The mouse over the view.
#[derive(Default)]
struct Pointer {
    /// Position from the top left of the view \[pt\]; `None` while elsewhere.
    at: Option<Vector2<f32>>,
    drag: Option<Drag>,
}

struct Drag {
    gesture: Gesture,
    button: Button,
    last: Vector2<f32>,
    /// End of the stroke so far, and its time.
    stroke: (Vector3<f32>, Instant),
}

impl Session {
    /// Builds the solver and starts its thread, paused. `wake` is called for each new snapshot or status.
    pub fn new(scene: Scene, wake: impl Fn() + Send + 'static) -> Result<Self, SceneError> {
        let solver = scene.solver()?;
        let model = Model::new(Arc::new(scene));
        let scene = &model.settings.scene;
        Ok(Self {
            readout: Readout::new(scene.config.dims, scene.config.h),
            orbit: Orbit::of(&scene.camera),
            cursor: Cursor::in_middle_of(scene.extent()),
            worker: Worker::spawn(solver, 1.0 / model.settings.rate, wake),
            sent: Sent { settings: model.settings.clone(), view: Mode::Smoke },
            saved: model.settings.clone(),
            model,
            pointer: Pointer::default(),
            view: Vector2::new(1.0, 1.0),
            notice_until: None,
            home: None,
            kept: 0,
            loads: 0,
            pending: None,
            past: (Snapshot::empty(NOTHING, 1.0), None),
            turned: Instant::now(),
            switched: false,
            leaving: false,
        })
    }

    /// Size of the box \[m\].
    pub fn extent(&self) -> [f32; 3] {
        self.model.settings.scene.extent()
    }

    /// Sets the size of the view \[pt\].
    pub fn set_view(&mut self, width: f32, height: f32) {
        self.view = Vector2::new(width.max(1.0), height.max(1.0));
    }

    /// Executes the action of a key or a button, except those of the window.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::RunPause => self.run_or_pause(),
            Action::Step => {
                self.go_on_from_here();
                self.worker.send(Command::Step);
            }
            Action::Play => self.play_or_stop(),
            Action::Present => self.model.playback.at = None,
            Action::Turn(by) => self.turn(by),
            Action::Clear => self.clear(),
            Action::SwitchView => self.switch_view(),
            Action::Pick(ink) if !self.is_loading() => self.model.settings.brush.ink = ink,
            Action::Frame => self.orbit.frame(self.extent(), self.view.x / self.view.y),
            Action::Stand(at) => self.orbit.stand(at),
            Action::Undo => self.go_back(true),
            Action::Redo => self.go_back(false),
            Action::TogglePanel => self.model.panel ^= true,
            Action::ToggleHelp => self.model.help ^= true,
            Action::Restart => self.restart(),
            Action::Open(name) => self.open(name),
            Action::OpenFile => self.ask(PathForm::new(Purpose::Open, String::new())),
            Action::Save => self.save_or_ask(false),
            Action::SaveAs => self.ask_where_to_save(false, None),
            Action::Accept => self.accept(),
            Action::Exit => self.cancel(),
            Action::Leave => self.leave_window(),
            Action::Discard => self.leaving = true,
            Action::Pick(_) | Action::Picture | Action::Browse => {}
        }
    }

    /// Whether the window must close.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Whether another simulation is being built. Edits wait for it.
    pub fn is_loading(&self) -> bool {
        self.pending.is_some()
    }

    /// Stores the present state in the worker. Returns its number.
    fn keep(&mut self) -> u64 {
        self.kept += 1;
        self.worker.send(Command::Store(self.kept));
        self.kept
    }

    /// Records the state before a change to the smoke, for undo.
    fn before(&mut self, what: &str) {
        let state = self.keep();
        self.model.history.act(&self.model.settings, what, state);
    }

    fn is_broken(&self) -> bool {
        matches!(self.readout.status.state, State::Failed(_))
    }

    fn clear(&mut self) {
        if !self.is_loading() && !self.is_broken() {
            self.go_on_from_here();
            self.before("clear");
            self.worker.send(Command::Clear);
        }
    }

    /// Undoes or redoes the last change, and names it.
    fn go_back(&mut self, undo: bool) {
        let word = if undo { "Undo" } else { "Redo" };
        if self.is_loading() {
            return;
        }
        self.model.playback.at = None;
        let history = &mut self.model.history;
        let step = if undo { history.undo(self.kept + 1) } else { history.redo(self.kept + 1) };
        let Some(step) = step else {
            self.say(format!("Nothing to {}", word.to_lowercase()));
            return;
        };
        let mut said = format!("{word}: {}", step.what);
        let other = !Arc::ptr_eq(&step.value.scene, &self.model.settings.scene);
        let is_kept = |number: &u64| *number >= self.readout.status.first_stored;
        if step.restore.is_some_and(|number| !is_kept(&number)) {
            said += " (the smoke is no longer kept: too much memory)";
        }
        let restore = step.restore.filter(is_kept);
        if step.restore.is_some() {
            self.keep();
        }
        if other {
            self.begin_load(step.value, if undo { Came::Undone } else { Came::Redone });
        } else {
            self.model.settings = step.value;
        }
        if let Some(number) = restore {
            self.worker.send(Command::Restore(number));
        }
        self.say(said);
    }

    /// Esc: cancels the innermost thing. Lists and numbers of the panel cancel themselves.
    fn cancel(&mut self) {
        if self.model.dialog.take().is_some() {
            return;
        }
        if std::mem::take(&mut self.model.help) {
            return;
        }
        self.leave_window();
    }

    /// Closes the window, or asks before changes are lost.
    fn leave_window(&mut self) {
        if self.is_unsaved() {
            self.model.dialog = Some(Dialog::Leave);
        } else {
            self.leaving = true;
        }
    }

    /// Whether there are settings that the scene's file does not hold.
    pub fn is_unsaved(&self) -> bool {
        let Model { settings, defaults, .. } = &self.model;
        let saved = Arc::ptr_eq(&self.saved.scene, &settings.scene);
        !settings.saves_as(if saved { &self.saved } else { defaults })
    }

    fn ask(&mut self, form: PathForm) {
        self.model.dialog = Some(Dialog::Path(form));
    }

    /// Saves the scene to its file; without one, or after an error, asks for a path.
    fn save_or_ask(&mut self, leave: bool) {
        let Some(path) = self.file() else {
            return self.ask_where_to_save(leave, None);
        };
        match self.try_save(&path) {
            Ok(said) => {
                self.say(said);
                self.model.dialog = None;
                self.leaving |= leave;
            }
            Err(error) => self.ask_where_to_save(leave, Some(error)),
        }
    }

    fn ask_where_to_save(&mut self, leave: bool, error: Option<String>) {
        let name = format!("{}.toml", self.model.settings.scene.name);
        let path = self.file().unwrap_or_else(|| PathBuf::from(name));
        let form = PathForm::new(Purpose::Save, path.display().to_string());
        self.ask(PathForm { leave, error, ..form });
    }

    /// Accepts the open dialog. Errors of its file are shown in the dialog.
    fn accept(&mut self) {
        match self.model.dialog.take() {
            Some(Dialog::Leave) => self.save_or_ask(true),
            Some(Dialog::Path(form)) => {
                let done = match form.purpose {
                    Purpose::Open => {
                        file::named(&form.text).and_then(|path| self.try_open(&path.to_string_lossy()))
                    }
                    Purpose::Save => self.save_as(&form),
                };
                match done {
                    Ok(()) => self.leaving |= form.leave,
                    Err(error) => {
                        let replaces = Some(form.text.clone());
                        self.ask(PathForm { error: Some(error), replaces, ..form });
                    }
                }
            }
            None => {}
        }
    }

    /// Saves to the chosen file; replaces another one only after a second confirmation.
    fn save_as(&mut self, form: &PathForm) -> Result<(), String> {
        let path = file::named(&form.text)?;
        let path = if path.extension().is_none() { path.with_extension("toml") } else { path };
        let own = self.file().is_some_and(|file| file == path);
        if path.exists() && !own && form.replaces.as_ref() != Some(&form.text) {
            return Err(file::taken(&path));
        }
        let said = self.try_save(&path)?;
        self.say(said);
        Ok(())
    }

    /// Starts the simulation.
    pub fn run(&mut self) {
        self.readout.pausing = false;
        self.worker.send(Command::Run);
    }

    /// Runs or pauses. A second pause cancels a long step.
    fn run_or_pause(&mut self) {
        self.go_on_from_here();
        let running = self.worker.status().state == State::Running;
        match (running, self.readout.pausing) {
            (true, false) => self.worker.send(Command::Pause),
            (true, true) => self.worker.send(Command::Cancel),
            (false, _) => self.worker.send(Command::Run),
        }
        self.readout.pausing = running;
    }

    /// Switches between smoke and velocity.
    fn switch_view(&mut self) {
        self.model.view = match self.model.view {
            Mode::Smoke => Mode::Velocity,
            _ => Mode::Smoke,
        };
    }

    /// Restarts the scene with the present settings.
    fn restart(&mut self) {
        if self.is_loading() {
            return;
        }
        if !self.is_broken() {
            self.before("restart");
        }
        self.begin_load(self.model.settings.clone(), Came::Restarted);
    }

    /// File of the scene, if there is one.
    pub fn file(&self) -> Option<PathBuf> {
        self.home().map(|home| home.path)
    }

    fn home(&self) -> Option<Home> {
        let scene = &self.model.settings.scene;
        self.home.clone().filter(|home| home.is_of(scene)).or_else(|| Home::of(scene))
    }

    /// Saves the scene with its settings and camera to `path`, which becomes its file. Returns the end of the
    /// notice.
    pub fn save(&mut self, path: &Path, now: Instant) -> Instant {
        let text = self.try_save(path).unwrap_or_else(|error| format!("Not saved: {error}"));
        self.tell(text, now)
    }

    fn try_save(&mut self, path: &Path) -> Result<String, String> {
        let running = &self.model.settings.scene;
        let stays = self.orbit == Orbit::of(&running.camera);
        let camera = if stays { running.camera } else { self.orbit.camera() };
        let scene = self.model.settings.as_file(camera);
        self.home = Some(file::save(&scene, running, path, self.home().as_ref())?);
        self.saved = self.model.settings.clone();
        Ok(format!("Saved {}", path.display()))
    }

    /// Opens a scene file or a built-in scene, shown once it is ready; undo returns. The brush keeps its
    /// settings.
    pub fn open(&mut self, name: &str) {
        if let Err(error) = self.try_open(name) {
            self.say(error);
        }
    }

    fn try_open(&mut self, name: &str) -> Result<(), String> {
        if let Some(pending) = &self.pending {
            return Err(format!("{} is still being loaded", pending.settings.scene.name));
        }
        let scene = Scene::load(name, &[]).map_err(|error| error.to_string())?;
        let mut settings = Settings::of(Arc::new(scene));
        settings.brush.ink = self.model.settings.brush.ink;
        let state = self.keep();
        self.begin_load(settings, Came::Opened(state));
        Ok(())
    }

    /// Starts a load of `settings` in the worker; it is shown, whole, when it is ready.
    fn begin_load(&mut self, settings: Settings, came: Came) {
        let scene = settings.as_scene();
        self.model.loading = Some(scene.name.clone());
        self.model.playback.at = None;
        let build = move || Ok(Box::new(scene.solver()?) as Box<dyn Simulation>);
        self.loads += 1;
        self.worker.send(Command::Load(Box::new(build), 1.0 / settings.rate));
        if self.readout.status.state != State::Paused {
            self.run();
        }
        self.pending = Some(Pending { load: self.loads, settings, came });
    }

    /// Makes the pending simulation current, with its settings, camera and name.
    fn end_load(&mut self) {
        let Some(Pending { settings, came, .. }) = self.pending.take() else {
            return;
        };
        self.model.loading = None;
        if let Came::Opened(state) = came {
            self.model.history.act(&settings, &format!("scene {}", settings.scene.name), state);
        }
        let other = !Arc::ptr_eq(&settings.scene, &self.model.settings.scene);
        self.sent.settings = settings.clone();
        self.model.settings = settings;
        self.readout.step_ms.clear();
        if other {
            let scene = self.model.settings.scene.clone();
            self.orbit = Orbit::of(&scene.camera);
            self.cursor = Cursor::in_middle_of(scene.extent());
            self.model.defaults = Settings::of(scene);
            self.switched = true;
        }
    }

    /// Drops the pending simulation; nothing else changes.
    fn give_up_load(&mut self) {
        let came = self.pending.take().map(|pending| pending.came);
        self.model.loading = None;
        match came {
            Some(Came::Undone) => drop(self.model.history.redo(self.kept)),
            Some(Came::Redone) => drop(self.model.history.undo(self.kept)),
            Some(Came::Opened(_) | Came::Restarted) | None => {}
        }
    }

    /// Sends changed values to the worker. Returns whether another scene is shown since the last call.
    pub fn sync(&mut self) -> bool {
        if self.is_loading() {
            return false;
        }
        let (new, old) = (&self.model.settings, &self.sent.settings);
        if new.params != old.params {
            self.worker.send(Command::SetParams(new.params.clone()));
        }
        if new.rate != old.rate {
            self.worker.send(Command::SetStep(1.0 / new.rate));
        }
        if self.model.view != self.sent.view {
            self.worker.send(Command::Velocity(self.model.view.needs_velocity()));
        }
        self.cursor.radius = new.brush.radius;
        self.sent = Sent { settings: new.clone(), view: self.model.view };
        std::mem::take(&mut self.switched)
    }

    /// The newest snapshot, if it is new; updates the readout.
    pub fn absorb(&mut self, now: Instant) -> Option<&Snapshot> {
        let status = self.worker.status().clone();
        self.follow(status, now);
        let loaded = self.worker.latest()?.load;
        if self.pending.as_ref().is_some_and(|pending| pending.load == loaded) {
            self.end_load();
        }
        let snapshot = self.worker.shown();
        let stepped = snapshot.stats.step != self.readout.stats.step;
        if self.past.1.is_none() {
            self.readout.stats.clone_from(&snapshot.stats);
            self.readout.shown = snapshot.time;
        }
        (self.readout.dims, self.readout.h) = (snapshot.dims, snapshot.h);
        if stepped && snapshot.stats.step > 0 {
            let ms = self.readout.status.step.as_secs_f32() * 1e3;
            self.readout.add_step(ms);
        }
        Some(snapshot)
    }

    fn follow(&mut self, status: Status, now: Instant) {
        self.readout.pausing &= status.state == State::Running;
        self.readout.status = status;
        let failed = self.readout.status.failed_load.unwrap_or(0);
        if self.pending.as_ref().is_some_and(|pending| failed >= pending.load) {
            self.give_up_load();
        }
        if self.notice_until.is_some_and(|until| now >= until) {
            self.notice_until = None;
            self.readout.notice = None;
        }
    }

    /// The snapshot on the screen: the present, or a recorded frame.
    pub fn shown(&self) -> &Snapshot {
        if self.past.1.is_some() { &self.past.0 } else { self.worker.shown() }
    }

    /// Advances playback, and brings the requested recorded frame to the screen. Returns whether the picture
    /// has changed since the last call.
    pub fn turn_pages(&mut self, now: Instant) -> bool {
        self.go_on_playing(now);
        let before = self.past.1;
        let playback = &mut self.model.playback;
        let timeline = self.worker.timeline();
        (playback.range, playback.bytes) = (timeline.range().unwrap_or_default(), timeline.bytes());
        playback.dt = 1.0 / self.model.settings.rate;
        let frame = playback.at.and_then(|number| timeline.frame(number));
        drop(timeline);
        playback.at = frame.as_ref().map(|frame| frame.number);
        playback.playing &= playback.at.is_some();
        self.past.1 = playback.at;
        if let Some(frame) = frame.filter(|frame| before != Some(frame.number)) {
            if before.is_none() {
                self.worker.send(Command::Pause);
            }
            frame.show(&mut self.past.0);
        }
        let changed = before != self.past.1;
        if changed {
            let shown = self.shown();
            (self.readout.shown, self.readout.stats) = (shown.time, shown.stats.clone());
        }
        changed
    }

    /// Time between frames during playback.
    pub fn page_time(&self) -> Option<Duration> {
        let Playback { playing, dt, speed, .. } = self.model.playback;
        playing.then(|| Duration::from_secs_f32((dt / speed.max(0.01)).clamp(1e-3, 10.0)))
    }

    fn go_on_playing(&mut self, now: Instant) {
        let (Some(time), Some(at)) = (self.page_time(), self.model.playback.at) else {
            self.model.playback.playing = false;
            return;
        };
        let pages = now.saturating_duration_since(self.turned).as_secs_f64() / time.as_secs_f64();
        if pages < 1.0 {
            return;
        }
        // Frames are skipped if rendering is slower than playback.
        self.turned = now;
        let playback = &mut self.model.playback;
        let [first, last] = playback.range;
        let next = at + pages as u64;
        let end = if playback.looped { first } else { last };
        playback.at = Some(if next > last { end } else { next });
        playback.playing = playback.looped || next < last;
    }

    /// Plays the recorded frames from the shown one, after the last one from the first; or stops.
    fn play_or_stop(&mut self) {
        let playback = &mut self.model.playback;
        playback.playing ^= true;
        if playback.playing {
            let [first, last] = playback.range;
            playback.at = Some(playback.at.filter(|at| *at < last).unwrap_or(first));
            self.turned = Instant::now();
        }
    }

    fn turn(&mut self, by: i8) {
        let playback = &mut self.model.playback;
        let [first, last] = playback.range;
        let at = playback.at.unwrap_or(last).saturating_add_signed(by.into()).clamp(first, last);
        (playback.at, playback.playing) = (Some(at), false);
    }

    /// If a recorded frame is shown, continues the simulation from there. Later frames are dropped, and undo
    /// returns to the last instant.
    fn go_on_from_here(&mut self) {
        self.model.playback.playing = false;
        let Some(number) = self.model.playback.at.take() else {
            return;
        };
        if number < self.model.playback.range[1] {
            self.before(&format!("going back to frame {number}"));
            self.worker.send(Command::Live(number));
        }
    }

    /// Shows a notice. Returns its end.
    pub fn tell(&mut self, text: String, now: Instant) -> Instant {
        self.readout.notice = Some(text);
        self.notice_until = Some(now + NOTICE);
        now + NOTICE
    }

    /// Shows a notice.
    fn say(&mut self, text: String) {
        self.tell(text, Instant::now());
    }

    /// End of the shown notice.
    pub fn notice_until(&self) -> Option<Instant> {
        self.notice_until
    }

    /// While it runs, the wall time between steps.
    pub fn interval(&self) -> Option<Duration> {
        let status = &self.readout.status;
        let dt = 1.0 / f64::from(self.model.settings.rate);
        let wall = if status.speed > 0.0 { dt / status.speed } else { dt };
        (status.state == State::Running).then(|| Duration::from_secs_f64(wall.min(3600.0)))
    }

    /// Mode of rendering: the requested field, as soon as a snapshot contains it.
    pub fn mode(&self) -> Mode {
        let missing = self.model.view.needs_velocity() && self.shown().velocity.is_empty();
        if missing { Mode::Smoke } else { self.model.view }
    }

    /// The ball to render, while the mouse is over the view.
    pub fn ball(&self) -> Option<render::Cursor> {
        let painting = self.gesture().is_none_or(|g| g == Gesture::Paint);
        let brush = &self.model.settings.brush;
        (self.pointer.at.is_some() && painting).then(|| render::Cursor {
            center: self.cursor.center.into(),
            radius: self.cursor.radius,
            color: brush.color(brush.ink, &self.model.settings.look),
        })
    }

    /// The present drag.
    pub fn gesture(&self) -> Option<Gesture> {
        self.pointer.drag.as_ref().map(|d| d.gesture)
    }

    /// Handles a button pressed at a point of the view.
    pub fn press(&mut self, button: Button, held: Held, at: Vector2<f32>, now: Instant) {
        if self.pointer.drag.is_some() {
            return;
        }
        self.hover(at, now);
        let gesture = Gesture::of(button, held);
        if gesture == Gesture::Paint {
            let paint = self.model.settings.brush.paint();
            if self.is_loading() || self.is_broken() || paint.add == [0.0; 4] && paint.force == 0.0 {
                return;
            }
            self.go_on_from_here();
            self.before("stroke");
        }
        self.pointer.drag = Some(Drag { gesture, button, last: at, stroke: (self.cursor.center, now) });
    }

    /// Handles a button released anywhere.
    pub fn release(&mut self, button: Button, now: Instant) {
        if self.pointer.drag.as_ref().is_some_and(|d| d.button == button) {
            self.paint(now);
            self.pointer.drag = None;
        }
    }

    /// Handles the mouse at a point of the view, or dragged beyond its edge.
    pub fn hover(&mut self, at: Vector2<f32>, now: Instant) {
        self.pointer.at = Some(at);
        let moved = self.pointer.drag.as_mut().map(|d| at - std::mem::replace(&mut d.last, at));
        match (self.gesture(), moved) {
            (Some(Gesture::Orbit), Some(by)) => self.orbit.turn(by),
            (Some(Gesture::Pan), Some(by)) => self.orbit.pan(by, self.view.y),
            (Some(Gesture::Zoom), Some(by)) => {
                self.orbit.zoom((by.x - by.y) * NOTCHES_PER_POINT, self.extent());
            }
            _ => self.cursor.point_at(at, self.view, &self.orbit, self.extent()),
        }
        self.paint(now);
    }

    /// Handles the mouse leaving the view.
    pub fn leave(&mut self) {
        if self.pointer.drag.is_none() {
            self.pointer.at = None;
        }
    }

    /// Handles the wheel: away from the hand is positive.
    pub fn wheel(&mut self, notches: f32, held: Held, now: Instant) {
        if held.ctrl {
            self.cursor.push_away(notches, &self.orbit, self.extent());
        } else {
            self.orbit.zoom(notches, self.extent());
            if let Some(at) = self.pointer.at {
                self.cursor.point_at(at, self.view, &self.orbit, self.extent());
            }
        }
        self.paint(now);
    }

    /// Adds the dabs of the stroke since the last call.
    pub fn paint(&mut self, now: Instant) {
        if self.is_loading() {
            return;
        }
        let paint = self.model.settings.brush.paint();
        let Some(drag) = self.pointer.drag.as_mut().filter(|d| d.gesture == Gesture::Paint) else {
            return;
        };
        let (from, since) = std::mem::replace(&mut drag.stroke, (self.cursor.center, now));
        let dt = now.saturating_duration_since(since).as_secs_f32().min(LONGEST_STROKE);
        for dab in self.cursor.stroke(from, dt, &paint) {
            self.worker.send(Command::Dab(dab));
        }
    }
}

#[cfg(test)]
mod tests;
