//! A running scene: worker, settings, camera, cursor, and the effects of mouse and keys. Independent of
//! window and OpenGL.

pub mod compare;
mod exporting;
mod handles;
mod leaving;
mod optics;
mod playback;
mod pointer;
mod rereading;
mod saving;
mod sun_handle;
mod unsaved;

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nalgebra::Vector2;

use super::action::Action;
use super::brush_cursor::Cursor;
use super::export::Export;
use super::model::{Model, PathForm, Purpose, Readout};
use super::orbit::Orbit;
use super::priority::at_low_priority;
use super::remember;
use super::settings::{self, Settings, Side};
use crate::grid::Dims;
use crate::render::Mode;
use crate::scene::{Scene, SceneError};
use crate::snapshot::Snapshot;
use crate::worker::{Command, Recording, RunState, Status, Worker};

use leaving::{Exported, Painted};
use pointer::Pointer;
use unsaved::{Replaced, Written};

/// Duration of a notice.
const NOTICE: Duration = Duration::from_secs(4);

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
    /// Camera of the scene, fitted to the view.
    opened: Orbit,
    /// Camera that frames the box in the view.
    framed: Option<Orbit>,
    /// The last view of each scene that another one has replaced.
    views: Vec<(Weak<Scene>, Orbit)>,
    /// A chosen camera, and the same moved back for a narrower view.
    fitted: Option<[Orbit; 2]>,
    /// Cursor.
    pub cursor: Cursor,
    worker: Worker,
    sent: Sent,
    pointer: Pointer,
    /// Size of the view \[pt\].
    view: Vector2<f32>,
    notice_until: Option<Instant>,
    /// Files with the changes of earlier windows, until a key or button is pressed.
    recovered: Vec<PathBuf>,
    /// Files that this window has written, the newest last.
    written: Vec<Written>,
    /// Scenes with unsaved changes that another one has replaced.
    replaced: Vec<Replaced>,
    /// Whether another program may have changed the scene's file since it was read.
    file_may_be_newer: bool,
    /// Number of the last stored state of the worker.
    stored: u64,
    /// Number of requested loads.
    loads: u64,
    pending: Option<Pending>,
    /// The shown recorded frame, and its number.
    past: (Arc<Snapshot>, Option<u64>),
    /// Time at which playback reached the shown frame.
    turned: Instant,
    /// The running export.
    export: Option<Export>,
    /// End of the time in which a second Esc cancels the export.
    cancels_export: Option<Instant>,
    /// Called from other threads for each new snapshot or status.
    wake: Arc<dyn Fn() + Send + Sync>,
    /// The dragged sun.
    turning: Option<sun_handle::Turn>,
    /// The dragged object.
    moving: Option<handles::Move>,
    /// Edits of box and solver in the pending simulation.
    applied: Option<super::objects::Draft>,
    /// Whether another scene is shown since the last [`sync`](Self::sync).
    switched: bool,
    /// Painted strokes that no export holds.
    painted: Painted,
    /// Recorded frames that an export holds.
    exported: Exported,
    /// Whether the window must close.
    leaving: bool,
}

/// A simulation being built, with the settings that become active once it is shown.
struct Pending {
    load: u64,
    settings: Settings,
    cause: LoadCause,
    /// Whether it starts at time 0; otherwise it goes on from the present.
    anew: bool,
}

/// Origin of a pending scene.
enum LoadCause {
    /// Opened or edited; the state before it is stored under this number, and undo has this name.
    Opened(u64, String),
    /// By undo.
    Undone,
    /// By redo.
    Redone,
    /// By a restart of the scene.
    Restarted,
}

/// Last values sent to the worker.
struct Sent {
    settings: Settings,
    velocity: bool,
}

impl Session {
    /// Builds a session as [`recording`](Self::recording) does, with recorded frames in memory alone.
    #[cfg(test)]
    pub fn new(scene: Scene, wake: impl Fn() + Send + Sync + 'static) -> Result<Self, SceneError> {
        Self::recording(scene, Recording::default(), wake)
    }

    /// Builds the solver and starts its thread, paused. `wake` is called for each new snapshot or status;
    /// `recording` is the storage of recorded frames.
    pub fn recording(
        scene: Scene,
        recording: Recording,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, SceneError> {
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(wake);
        let woken = wake.clone();
        let model = Model::new(Arc::new(scene));
        let dt = 1.0 / model.settings.rate;
        let worker = at_low_priority(|| {
            let solver = model.settings.scene.solver()?;
            Ok::<_, SceneError>(Worker::recording(solver, dt, recording, move || woken()))
        })?;
        let scene = &model.settings.scene;
        Ok(Self {
            readout: Readout::new(scene.config.dims, scene.config.h),
            orbit: Orbit::of(&scene.camera),
            opened: Orbit::of(&scene.camera),
            framed: None,
            views: Vec::new(),
            fitted: None,
            cursor: Cursor::in_middle_of(scene.extent()),
            worker,
            sent: Sent { settings: model.settings.clone(), velocity: false },
            written: Vec::new(),
            replaced: Vec::new(),
            file_may_be_newer: true,
            model,
            pointer: Pointer::default(),
            view: Vector2::new(1.0, 1.0),
            notice_until: None,
            recovered: Vec::new(),
            stored: 0,
            loads: 0,
            pending: None,
            past: (Arc::new(Snapshot::empty(NOTHING, 1.0)), None),
            turned: Instant::now(),
            export: None,
            cancels_export: None,
            wake,
            turning: None,
            moving: None,
            applied: None,
            switched: false,
            painted: Painted::default(),
            exported: Exported::default(),
            leaving: false,
        })
    }

    /// Returns the size of the box \[m\].
    pub fn extent(&self) -> [f32; 3] {
        self.model.settings.scene.extent()
    }

    /// Returns the lower and upper corner of the box \[m\]: the scene's, or the present ones of a box that
    /// follows its smoke.
    pub fn box_shown(&self) -> [[f32; 3]; 2] {
        if !self.model.settings.scene.config.follow.on {
            return [[0.0; 3], self.extent()];
        }
        let (corner, size) = (self.shown().corner(), self.shown().extent());
        [corner, [0, 1, 2].map(|a| corner[a] + size[a])]
    }

    /// Sets the size of the view \[pt\]. If the whole box was in view, the camera moves back to keep it
    /// there, and nearer again in a wider view.
    pub fn set_view(&mut self, width: f32, height: f32) {
        let view = Vector2::new(width.max(1.0), height.max(1.0));
        let before = std::mem::replace(&mut self.view, view);
        if view == before {
            return;
        }
        if self.orbit == self.opened {
            return self.stand_as_opened();
        }
        if self.framed == Some(self.orbit) {
            return self.frame_box();
        }
        let moved = self.fitted.take().filter(|[_, fitted]| *fitted == self.orbit);
        if moved.is_some() || self.orbit.shows_all(self.box_shown(), before) {
            let chosen = moved.map_or(self.orbit, |[chosen, _]| chosen);
            self.orbit = chosen;
            self.orbit.back_away(self.box_shown(), view);
            self.fitted = (self.orbit != chosen).then_some([chosen, self.orbit]);
        }
    }

    /// Places the camera of the scene. In a narrower view than that of the scene's own pictures it stands
    /// further back: far enough for the whole box if those pictures show it, otherwise for their width.
    fn stand_as_opened(&mut self) {
        let scene = self.model.settings.opened.clone();
        let [width, height] = scene.size.map(|n| n as f32);
        self.orbit = Orbit::of(&scene.camera);
        if self.view.x > 1.0 {
            let bounds = [[0.0; 3], scene.extent()];
            if self.orbit.shows_all(bounds, Vector2::new(width, height)) {
                self.orbit.back_away(bounds, self.view);
            } else {
                let narrower = width / height * self.view.y / self.view.x;
                self.orbit.distance *= narrower.max(1.0);
            }
        }
        self.opened = self.orbit;
    }

    /// Notes the view of `scene`, which another scene replaces.
    fn note_view(&mut self, scene: &Arc<Scene>) {
        let is_other = |of: &Weak<Scene>| of.upgrade().is_some_and(|of| !Arc::ptr_eq(&of, scene));
        self.views.retain(|(of, _)| is_other(of));
        self.views.push((Arc::downgrade(scene), self.orbit));
    }

    /// Restores the last view of the present scene.
    fn return_to_view(&mut self) {
        let scene = &self.model.settings.opened;
        let is_same = |of: &Weak<Scene>| of.upgrade().is_some_and(|of| Arc::ptr_eq(&of, scene));
        if let Some((_, view)) = self.views.iter().find(|(of, _)| is_same(of)) {
            self.orbit = *view;
        }
    }

    /// Executes the action of a key or a button, except those of the window.
    pub fn act(&mut self, action: Action) {
        if self.end_drag_before(action) {
            return;
        }
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
            Action::Pick(ink) if !self.is_loading() => {
                self.model.settings.brush.ink = ink;
                self.model.settings.brush.erases = false;
            }
            Action::Erase if !self.is_loading() => self.model.settings.brush.erases ^= true,
            Action::ShowExport => self.model.reveal("Export"),
            Action::Export => self.export(),
            Action::HoldExport => self.export.iter().for_each(Export::pause),
            Action::CancelExport => self.export.iter().for_each(Export::cancel),
            Action::Delete => self.delete_selected(),
            Action::Duplicate => self.duplicate_selected(),
            Action::AddOfFile(kind) => self.ask(PathForm::new(Purpose::Add(kind), String::new())),
            Action::Frame => self.frame(),
            Action::Stand(at) => {
                self.orbit.stand(at);
                self.frame_box();
            }
            Action::Parallel => self.orbit.parallel ^= true,
            Action::Compare => self.compare_or_end(),
            Action::OtherSide => self.edit_side(self.side().other()),
            Action::EditSide(side) => self.edit_side(side),
            Action::CopySide(from) => self.copy_side(from),
            Action::KeepSide(side) => self.end_comparison(side),
            Action::Undo => self.go_back(true),
            Action::Redo => self.go_back(false),
            Action::TogglePanel => self.model.panel ^= true,
            Action::ToggleHelp => self.model.help ^= true,
            Action::Restart => self.restart(),
            Action::Open(name) => self.open(name),
            Action::Recent(at) => self.open_recent(at),
            Action::OpenFile => self.ask(PathForm::new(Purpose::Open, String::new())),
            Action::Save => self.save_or_ask(false),
            Action::SaveAs => self.ask_where_to_save(false, None),
            Action::Accept => self.accept(),
            Action::Exit => self.cancel(),
            Action::Leave => self.leave_window(),
            Action::Discard => self.leaving = true,
            Action::Pick(_) | Action::Erase | Action::Picture | Action::Browse => {}
        }
    }

    /// Returns whether the window must close.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Returns whether another simulation is being built. Edits wait for it.
    pub fn is_loading(&self) -> bool {
        self.pending.is_some()
    }

    /// Stores the present state in the worker. Returns its number.
    fn store(&mut self) -> u64 {
        self.stored += 1;
        self.worker.send(Command::Store(self.stored));
        self.painted.store(self.stored, self.readout.status.first_stored);
        self.stored
    }

    /// Records the state before a change to the smoke, for undo.
    fn before(&mut self, what: &str) {
        let state = self.store();
        self.model.history.act(&self.model.settings, what, state);
    }

    fn is_broken(&self) -> bool {
        matches!(self.readout.status.state, RunState::Failed(_))
    }

    fn clear(&mut self) {
        if !self.is_loading() && !self.is_broken() {
            self.go_on_from_here();
            self.before("clear");
            self.painted.now = false;
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
        let step = if undo { history.undo(self.stored + 1) } else { history.redo(self.stored + 1) };
        let Some(step) = step else {
            self.say(format!("Nothing to {}", word.to_lowercase()));
            return;
        };
        let mut message = format!("{word}: {}", step.what);
        let value = step.value.edited_on(self.side());
        let other = settings::need_load(&self.model.settings, &value);
        let cause = if undo { LoadCause::Undone } else { LoadCause::Redone };
        let is_kept = |number: &u64| *number >= self.readout.status.first_stored;
        if step.restore.is_some_and(|number| !is_kept(&number)) {
            message += " (the smoke is no longer kept: too much memory)";
        }
        let restore = step.restore.filter(is_kept);
        // The smoke of the other instant is not shown with the wrong sides or scene in between.
        self.worker.hold();
        if step.restore.is_some() {
            self.store();
        }
        if other {
            if self.only_compares(&value) {
                self.exchange(value, cause, false);
            } else {
                self.begin_load(value, cause);
            }
        } else {
            self.note_replaced(&value, undo);
            let before = self.model.settings.clone();
            self.model.settings = value;
            let now = &self.model.settings;
            if !Arc::ptr_eq(&before.opened, &now.opened) {
                let (scene, is_seen_alike) = (now.opened.clone(), now.scene.camera == before.scene.camera);
                self.note_view(&before.opened);
                if !is_seen_alike {
                    self.opened = Orbit::of(&scene.camera);
                    self.orbit = self.opened;
                    self.return_to_view();
                }
                self.model.defaults = Settings::of(scene);
            }
        }
        if let Some(number) = restore {
            self.worker.send(Command::Restore(number));
            self.painted.restore(number);
        }
        self.worker.release();
        self.say(message);
    }

    /// Starts the simulation.
    pub fn run(&mut self) {
        self.readout.pausing = false;
        self.worker.send(Command::Run);
    }

    /// Runs or pauses. A second pause cancels a long step.
    fn run_or_pause(&mut self) {
        self.go_on_from_here();
        let running = self.worker.status().state == RunState::Running;
        match (running, self.readout.pausing) {
            (true, false) => self.worker.send(Command::Pause),
            (true, true) => self.worker.send(Command::Cancel),
            (false, _) => self.worker.send(Command::Run),
        }
        self.readout.cancelling = running && self.readout.pausing;
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
        self.begin_load(self.model.settings.clone(), LoadCause::Restarted);
    }

    /// Opens a scene file or a built-in scene, shown once it is ready; undo returns. The brush keeps its ink.
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
        if let Some((path, _)) = &settings.scene.origin.file {
            remember::note(&mut self.model.recent, path);
        }
        let state = self.store();
        let what = format!("scene {}", settings.scene.name);
        self.begin_load(settings, LoadCause::Opened(state, what));
        Ok(())
    }

    fn open_recent(&mut self, at: usize) {
        if let Some(path) = self.model.recent.get(at).cloned() {
            self.open(&path.to_string_lossy());
        }
    }

    /// Starts a load of `settings` in the worker. Until it is complete the present scene is shown.
    fn begin_load(&mut self, settings: Settings, cause: LoadCause) {
        self.model.loading = Some(settings.scene.name.clone());
        self.model.playback.at = None;
        self.loads += 1;
        self.worker.send(Command::Load(compare::builder(&settings, Side::A), 1.0 / settings.rate));
        if settings.is_compared() {
            self.loads += 1;
            self.worker.send(Command::Compare(Some(compare::builder(&settings, Side::B))));
        }
        if self.readout.status.state != RunState::Paused {
            self.run();
        }
        self.pending = Some(Pending { load: self.loads, settings, cause, anew: true });
    }

    /// Makes the pending simulation current, with its settings, camera and name.
    fn end_load(&mut self) {
        let Some(Pending { settings, cause, anew, .. }) = self.pending.take() else {
            return;
        };
        self.model.loading = None;
        match &cause {
            LoadCause::Opened(state, _) if anew => self.painted.note_replaced(*state),
            LoadCause::Undone | LoadCause::Redone if anew => self.painted.note_replaced(self.stored),
            _ => {}
        }
        let returns = matches!(cause, LoadCause::Undone | LoadCause::Redone);
        self.painted.now &= !anew || returns;
        self.note_replaced(&settings, matches!(cause, LoadCause::Undone));
        if let LoadCause::Opened(state, what) = cause {
            self.model.history.act(&settings, &what, state);
        }
        let before = self.model.settings.opened.clone();
        let other = !Arc::ptr_eq(&settings.opened, &before);
        self.sent.settings = settings.clone();
        self.model.settings = settings;
        self.model.selected = None;
        self.applied = None;
        self.readout.forget_steps();
        if other {
            let scene = self.model.settings.opened.clone();
            self.note_view(&before);
            self.stand_as_opened();
            if returns {
                self.return_to_view();
            }
            self.cursor = Cursor::in_middle_of(self.extent());
            self.model.defaults = Settings::of(scene);
            self.switched = true;
            if !returns {
                self.note_read();
                // The watch followed another file until now.
                self.file_may_be_newer = true;
            }
        }
        if self.file_may_be_newer {
            self.file_changed(Instant::now());
        }
    }

    /// Drops the pending simulation; nothing else changes.
    fn give_up_load(&mut self) {
        let cause = self.pending.take().map(|pending| pending.cause);
        self.model.loading = None;
        self.model.draft = self.applied.take().or(self.model.draft.take());
        match cause {
            Some(LoadCause::Undone) => drop(self.model.history.redo(self.stored)),
            Some(LoadCause::Redone) => drop(self.model.history.undo(self.stored)),
            Some(LoadCause::Opened(..) | LoadCause::Restarted) | None => {}
        }
        if self.file_may_be_newer {
            self.file_changed(Instant::now());
        }
    }

    /// Sends changed values to the worker. Returns whether another scene is shown since the last call.
    pub fn sync(&mut self) -> bool {
        self.model.title = self.title();
        if self.is_loading() {
            self.model.edits.clear();
            return false;
        }
        if let Some(camera) = self.model.camera.take() {
            self.orbit = Orbit::of(&camera);
        }
        self.match_optics();
        self.make_edits();
        self.read_newer_file();
        if self.is_loading() {
            return false;
        }
        let (new, old) = (&self.model.settings, &self.sent.settings);
        for side in new.sides() {
            self.send_changes(*side, old.of_side(*side), new.of_side(*side));
        }
        if new.rate != old.rate {
            self.worker.send(Command::SetStep(1.0 / new.rate));
        }
        // Motion blur of recorded frames needs their velocity.
        let velocity = self.model.view.needs_velocity() || self.orbit.camera().lens.shutter > 0.0;
        if velocity != self.sent.velocity {
            self.worker.send(Command::Velocity(velocity));
        }
        self.cursor.radius = new.brush.radius;
        self.sent = Sent { settings: new.clone(), velocity };
        std::mem::take(&mut self.switched)
    }

    /// Takes over the status and the newest snapshot of the worker. Returns the snapshot if it is new.
    pub fn absorb(&mut self, now: Instant) -> Option<&Snapshot> {
        let status = self.worker.status().clone();
        self.follow(status, now);
        let loaded = self.worker.latest()?.load;
        if self.pending.as_ref().is_some_and(|pending| pending.load == loaded) {
            self.end_load();
        }
        let snapshot = compare::of_side(self.worker.shown(), self.model.settings.side);
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
        Some(self.worker.shown())
    }

    fn follow(&mut self, status: Status, now: Instant) {
        self.readout.under = self.under();
        self.readout.camera = self.orbit.camera();
        self.readout.pausing &= status.state == RunState::Running;
        self.readout.cancelling &= self.readout.pausing;
        self.readout.status = status;
        let failed = self.readout.status.failed_load.unwrap_or(0);
        if self.pending.as_ref().is_some_and(|pending| failed >= pending.load) {
            self.give_up_load();
        }
        if self.notice_until.is_some_and(|until| now >= until) {
            self.notice_until = None;
            self.readout.notice = self.recovered_notice();
        }
    }

    /// Shows a notice. Returns the time at which it ends.
    pub fn tell(&mut self, text: String, now: Instant) -> Instant {
        self.readout.notice = Some(text);
        self.notice_until = Some(now + NOTICE);
        now + NOTICE
    }

    /// Shows a notice.
    fn say(&mut self, text: String) {
        self.tell(text, Instant::now());
    }

    /// Returns the end of the shown notice; none if it stays until a key or button is pressed.
    pub fn notice_until(&self) -> Option<Instant> {
        self.notice_until
    }

    /// Returns the wall time between steps while the simulation runs.
    pub fn interval(&self) -> Option<Duration> {
        let status = &self.readout.status;
        let dt = 1.0 / f64::from(self.model.settings.rate);
        let wall = if status.speed > 0.0 { dt / status.speed } else { dt };
        (status.state == RunState::Running).then(|| Duration::from_secs_f64(wall.min(3600.0)))
    }

    /// Returns the mode of rendering: the requested field, or smoke while the snapshot lacks it.
    pub fn mode(&self) -> Mode {
        let missing = self.model.view.needs_velocity() && self.shown().velocity.is_empty();
        if missing { Mode::Smoke } else { self.model.view }
    }
}

#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod leaving_tests;
#[cfg(test)]
mod monkey;
#[cfg(test)]
mod objects_tests;
#[cfg(test)]
mod recording_tests;
#[cfg(test)]
mod rereading_tests;
#[cfg(test)]
mod tests;
