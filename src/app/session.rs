//! A running scene as a person holds it: the worker, what is set, the camera, the cursor, and what the mouse
//! and the keys do to them. Knows no window and no OpenGL.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nalgebra::{Vector2, Vector3};

use super::action::Action;
use super::cursor::Cursor;
use super::file::{self, Home};
use super::gesture::{Button, Gesture, Held};
use super::model::{Model, Readout};
use super::orbit::Orbit;
use super::settings::Settings;
use crate::render::{self, Mode};
use crate::scene::{Scene, SceneError};
use crate::snapshot::Snapshot;
use crate::worker::{Command, Simulation, State, Status, Worker};

/// How long a notice stays.
const NOTICE: Duration = Duration::from_secs(4);

/// A pause in a stroke longer than this is no time spent painting \[s\].
const LONGEST_STROKE: f32 = 0.25;

/// Notches of the wheel for one point of a zooming drag.
const NOTCHES_PER_POINT: f32 = 0.04;

/// A running scene.
pub struct Session {
    /// What the panel shows and changes.
    pub model: Model,
    /// What is known of the simulation.
    pub readout: Readout,
    /// Where the camera is.
    pub orbit: Orbit,
    /// Where the cursor is.
    pub cursor: Cursor,
    worker: Worker,
    sent: Sent,
    pointer: Pointer,
    /// Size of the view \[pt\].
    view: Vector2<f32>,
    notice_until: Option<Instant>,
    home: Option<Home>,
}

/// What the worker has been told last.
struct Sent {
    settings: Settings,
    view: Mode,
}

/// The mouse over the view.
#[derive(Default)]
struct Pointer {
    /// From the top left of the view \[pt\]; `None` while it is elsewhere.
    at: Option<Vector2<f32>>,
    drag: Option<Drag>,
}

struct Drag {
    gesture: Gesture,
    button: Button,
    last: Vector2<f32>,
    /// Where the stroke has got to, and when.
    stroke: (Vector3<f32>, Instant),
}

impl Session {
    /// Builds the solver and starts its thread, paused. `wake` is called whenever there is news.
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
            model,
            pointer: Pointer::default(),
            view: Vector2::new(1.0, 1.0),
            notice_until: None,
            home: None,
        })
    }

    /// Size of the box \[m\].
    pub fn extent(&self) -> [f32; 3] {
        self.model.settings.scene.extent()
    }

    /// The size the view has \[pt\].
    pub fn set_view(&mut self, width: f32, height: f32) {
        self.view = Vector2::new(width.max(1.0), height.max(1.0));
    }

    /// Does what a key or a button asks for; what concerns the window alone is left to it.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::RunPause => self.run_or_pause(),
            Action::Step => self.worker.send(Command::Step),
            Action::Clear => self.worker.send(Command::Clear),
            Action::SwitchView => self.switch_view(),
            Action::Pick(ink) => self.model.settings.brush.ink = ink,
            Action::Frame => self.orbit.frame(self.extent(), self.view.x / self.view.y),
            Action::Stand(at) => self.orbit.stand(at),
            Action::Undo => self.restore(|model| model.history.undo()),
            Action::Redo => self.restore(|model| model.history.redo()),
            Action::TogglePanel => self.model.panel ^= true,
            Action::ToggleHelp => self.model.help ^= true,
            Action::Restart => self.restart(),
            Action::Open(name) => self.open(name),
            Action::Picture | Action::Exit | Action::OpenFile | Action::Save | Action::SaveAs => {}
        }
    }

    /// Lets the simulation run.
    pub fn run(&mut self) {
        self.readout.pausing = false;
        self.worker.send(Command::Run);
    }

    /// Paused already, but the step under way takes long: a second pause cuts it short.
    fn run_or_pause(&mut self) {
        let running = self.worker.status().state == State::Running;
        match (running, self.readout.pausing) {
            (true, false) => self.worker.send(Command::Pause),
            (true, true) => self.worker.send(Command::Cancel),
            (false, _) => self.worker.send(Command::Run),
        }
        self.readout.pausing = running;
    }

    /// From the smoke to the velocity, and back to the smoke.
    fn switch_view(&mut self) {
        self.model.view = match self.model.view {
            Mode::Smoke => Mode::Velocity,
            _ => Mode::Smoke,
        };
    }

    fn restore(&mut self, from: impl FnOnce(&mut Model) -> Option<Settings>) {
        if let Some(settings) = from(&mut self.model) {
            self.model.settings = settings;
        }
    }

    /// The same scene from the start, with the settings as they are now.
    fn restart(&mut self) {
        self.load();
        self.run();
    }

    /// The file that the scene is kept in, if there is one.
    pub fn file(&self) -> Option<PathBuf> {
        self.home().map(|home| home.path)
    }

    fn home(&self) -> Option<Home> {
        let scene = &self.model.settings.scene;
        self.home.clone().filter(|home| home.is_of(scene)).or_else(|| Home::of(scene))
    }

    /// Saves the scene, with all that was set and as it is looked at, to `path`, and keeps it there from now on. Gives the
    /// instant at which the line that says so is to go.
    pub fn save(&mut self, path: &Path, now: Instant) -> Instant {
        let running = &self.model.settings.scene;
        let stays = self.orbit == Orbit::of(&running.camera);
        let camera = if stays { running.camera } else { self.orbit.camera() };
        let scene = self.model.settings.as_file(camera);
        let text = match file::save(&scene, running, path, self.home().as_ref()) {
            Ok(home) => {
                self.home = Some(home);
                format!("Saved {}", path.display())
            }
            Err(error) => format!("Not saved: {error}"),
        };
        self.tell(text, now)
    }

    /// A scene file, or a built-in scene, in place of this one; undo comes back. What is on the brush stays on it.
    pub fn open(&mut self, name: &str) {
        match Scene::load(name, &[]) {
            Ok(scene) => {
                let ink = self.model.settings.brush.ink;
                self.model.settings = Settings::of(Arc::new(scene));
                self.model.settings.brush.ink = ink;
            }
            Err(error) => drop(self.tell(error.to_string(), Instant::now())),
        }
    }

    /// Has the worker build what is set now.
    fn load(&mut self) {
        let scene = self.model.settings.as_scene();
        let build = move || Ok(Box::new(scene.solver()?) as Box<dyn Simulation>);
        self.worker.send(Command::Load(Box::new(build), 1.0 / self.model.settings.rate));
    }

    /// Tells the worker what has changed since the last time; whether it is another scene.
    pub fn sync(&mut self) -> bool {
        let changed = !Arc::ptr_eq(&self.model.settings.scene, &self.sent.settings.scene);
        if changed {
            self.change_scene();
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
        changed
    }

    /// The scene that is set is not the one that runs: loads it, and looks at it from where it wants.
    fn change_scene(&mut self) {
        self.load();
        let scene = self.model.settings.scene.clone();
        self.model.defaults = Settings::of(scene.clone());
        self.orbit = Orbit::of(&scene.camera);
        self.cursor = Cursor::in_middle_of(scene.extent());
        self.readout.step_ms.clear();
        if self.readout.status.state != State::Paused {
            self.run();
        }
    }

    /// The newest snapshot, if it is news; the readout follows it.
    pub fn absorb(&mut self, now: Instant) -> Option<&Snapshot> {
        let status = self.worker.status().clone();
        self.follow(status, now);
        let snapshot = self.worker.latest()?;
        let stepped = snapshot.stats.step != self.readout.stats.step;
        self.readout.stats.clone_from(&snapshot.stats);
        self.readout.shown = snapshot.time;
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
        if self.notice_until.is_some_and(|until| now >= until) {
            self.notice_until = None;
            self.readout.notice = None;
        }
    }

    /// The snapshot on the screen.
    pub fn shown(&self) -> &Snapshot {
        self.worker.shown()
    }

    /// Shows a line for a moment; gives the instant at which it is to go.
    pub fn tell(&mut self, text: String, now: Instant) -> Instant {
        self.readout.notice = Some(text);
        self.notice_until = Some(now + NOTICE);
        now + NOTICE
    }

    /// While it runs, the wall time from one step to the next.
    pub fn interval(&self) -> Option<Duration> {
        let status = &self.readout.status;
        let dt = 1.0 / f64::from(self.model.settings.rate);
        let wall = if status.speed > 0.0 { dt / status.speed } else { dt };
        (status.state == State::Running).then(|| Duration::from_secs_f64(wall.min(3600.0)))
    }

    /// What to draw: the field that was asked for, as soon as a snapshot carries it.
    pub fn mode(&self) -> Mode {
        let missing = self.model.view.needs_velocity() && self.shown().velocity.is_empty();
        if missing { Mode::Smoke } else { self.model.view }
    }

    /// The ball to draw, while the mouse is over the view.
    pub fn ball(&self) -> Option<render::Cursor> {
        let painting = self.gesture().is_none_or(|g| g == Gesture::Paint);
        let brush = &self.model.settings.brush;
        (self.pointer.at.is_some() && painting).then(|| render::Cursor {
            center: self.cursor.center.into(),
            radius: self.cursor.radius,
            color: brush.color(brush.ink, &self.model.settings.look),
        })
    }

    /// The drag under way.
    pub fn gesture(&self) -> Option<Gesture> {
        self.pointer.drag.as_ref().map(|d| d.gesture)
    }

    /// A button was pressed at a point of the view.
    pub fn press(&mut self, button: Button, held: Held, at: Vector2<f32>, now: Instant) {
        if self.pointer.drag.is_some() {
            return;
        }
        self.hover(at, now);
        let gesture = Gesture::of(button, held);
        self.pointer.drag = Some(Drag { gesture, button, last: at, stroke: (self.cursor.center, now) });
    }

    /// A button was let go, wherever.
    pub fn release(&mut self, button: Button, now: Instant) {
        if self.pointer.drag.as_ref().is_some_and(|d| d.button == button) {
            self.paint(now);
            self.pointer.drag = None;
        }
    }

    /// The mouse is at a point of the view, or was dragged beyond its edge.
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

    /// The mouse has left the view.
    pub fn leave(&mut self) {
        if self.pointer.drag.is_none() {
            self.pointer.at = None;
        }
    }

    /// The wheel was turned: away from the hand positive.
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

    /// Adds what the stroke has gathered since the last time.
    pub fn paint(&mut self, now: Instant) {
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
mod tests {
    use super::*;
    use crate::app::settings::Ink;
    use crate::grid::Dims;

    fn session() -> Session {
        let scene = Scene::parse("small", "[domain]\ncells = [12, 16, 12]\nvoxel = 0.1").unwrap();
        let mut session = Session::new(scene, || ()).unwrap();
        session.set_view(800.0, 600.0);
        session
    }

    fn until(session: &mut Session, mut holds: impl FnMut(&mut Session) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !holds(session) {
            assert!(Instant::now() < deadline, "never happened");
            std::thread::sleep(Duration::from_millis(2));
            session.absorb(Instant::now());
        }
    }

    fn sum(session: &Session, c: usize) -> f32 {
        session.shown().smoke.iter().map(|cell| cell[c].to_f32()).sum()
    }

    #[test]
    fn painting_while_paused_adds_the_chosen_smoke_and_no_time() {
        let mut s = session();
        s.act(Action::Pick(Ink::Blue));
        let now = Instant::now();
        s.press(Button::Left, Held::default(), Vector2::new(400.0, 300.0), now);
        s.hover(Vector2::new(430.0, 300.0), now + Duration::from_millis(16));
        s.release(Button::Left, now + Duration::from_millis(30));
        until(&mut s, |s| sum(s, 2) > 0.0);
        assert_eq!((sum(&s, 0), sum(&s, 1)), (0.0, 0.0));
        assert_eq!(s.readout.shown, 0.0);
    }

    #[test]
    fn an_orbit_does_not_paint() {
        let mut s = session();
        s.act(Action::Pick(Ink::Blue));
        let (now, before) = (Instant::now(), s.orbit);
        s.press(Button::Right, Held::default(), Vector2::new(400.0, 300.0), now);
        s.hover(Vector2::new(460.0, 320.0), now);
        s.release(Button::Right, now);
        s.hover(Vector2::new(300.0, 320.0), now);
        assert_ne!(s.orbit, before);
        s.act(Action::Step);
        until(&mut s, |s| s.readout.stats.step == 1);
        assert_eq!(sum(&s, 2), 0.0, "blue is on the brush, and the scene's own source is red");
    }

    #[test]
    fn space_runs_and_pauses() {
        let mut s = session();
        s.act(Action::RunPause);
        until(&mut s, |s| s.readout.status.state == State::Running);
        s.act(Action::RunPause);
        until(&mut s, |s| s.readout.status.state == State::Paused);
    }

    #[test]
    fn undo_gives_the_worker_the_old_parameters() {
        let mut s = session();
        let before = s.model.settings.params.clone();
        s.model.settings.params.vorticity = 1.5;
        s.model.history.note(&s.model.settings.clone(), true);
        s.sync();
        s.act(Action::Undo);
        s.sync();
        assert_eq!(s.model.settings.params, before);
        assert_eq!(s.sent.settings.params, before);
    }

    #[test]
    fn a_scene_can_be_changed_and_undo_comes_back() {
        let mut s = session();
        s.act(Action::Pick(Ink::Green));
        s.model.history.note(&s.model.settings.clone(), true);
        s.act(Action::Open("colors"));
        assert!(s.sync(), "another scene");
        s.model.history.note(&s.model.settings.clone(), true);
        until(&mut s, |s| s.shown().dims != Dims::new([12, 16, 12]).unwrap());
        assert_eq!(s.model.settings.brush.ink, Ink::Green);
        assert_eq!(s.model.defaults.params, s.model.settings.params);
        s.act(Action::Undo);
        assert!(s.sync());
        until(&mut s, |s| s.shown().dims == Dims::new([12, 16, 12]).unwrap());
        assert_eq!(s.model.settings.scene.name, "small");
    }

    #[test]
    fn velocity_is_shown_once_it_is_there() {
        let mut s = session();
        s.act(Action::SwitchView);
        s.sync();
        until(&mut s, |s| s.mode() == Mode::Velocity);
        s.act(Action::SwitchView);
        s.sync();
        assert_eq!(s.mode(), Mode::Smoke);
    }

    #[test]
    fn the_ball_hides_when_the_mouse_leaves_and_while_orbiting() {
        let mut s = session();
        let (now, at) = (Instant::now(), Vector2::new(100.0, 100.0));
        assert!(s.ball().is_none());
        s.hover(at, now);
        assert!(s.ball().is_some());
        s.press(Button::Middle, Held::default(), at, now);
        assert!(s.ball().is_none());
        s.release(Button::Middle, now);
        s.leave();
        assert!(s.ball().is_none());
    }
}
