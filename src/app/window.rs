//! The event loop: connects session, panel and renderer in a window. Renders on demand and sleeps otherwise.

mod mouse_events;
mod window_frame;
mod window_requests;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use egui_glium::EguiGlium;
use glium::Display;
use glutin::config::Config;
use glutin::surface::WindowSurface;
use nalgebra::Vector2;
use winit::application::ApplicationHandler;
use winit::event::{ElementState, KeyEvent, StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::window::{Window, WindowId};

use super::action::{self, Action};
use super::bare_window::{bare_window, graphics, scale_for};
use super::file_chooser::Answer;
use super::gesture::Held;
use super::input_names::name;
use super::lost_display::Sending;
use super::model::Purpose;
use super::pace::{Level, Pace};
use super::panel;
use super::remember::Remembered;
use super::rescue::Rescue;
use super::session::Session;
use super::settings::Side;
use super::state::StateFile;
use super::view_pictures::{Drawn, Pictures};
use super::watch::Watch;
use super::{AppError, Options};
use crate::scene::Scene;

/// Interval of the dabs of a still ball.
const AIRBRUSH: Duration = Duration::from_millis(16);
/// Time without motion of the mouse after which the picture is refined.
const CALM_HAND: Duration = Duration::from_millis(250);

/// Least time between two replaced contexts: a driver that loses two so soon loses all, and the window ends.
const SECOND_LOSS: Duration = Duration::from_secs(5);

/// Messages to the event loop from other threads and egui.
enum Message {
    /// The worker has a new snapshot or status.
    News,
    /// egui requests a repaint after this time.
    Repaint(Duration),
    /// Result of the file chooser.
    Answered(Purpose, Answer),
    /// Another program changed the scene's file.
    FileChanged,
    /// Notice of a saved picture.
    Pictured(String),
    /// A signal ends the program.
    Stopped,
}

/// Opens the window and runs until it is closed.
pub(super) fn run(scene: Scene, options: Options) -> Result<(), AppError> {
    let events = quietly(|| EventLoop::<Message>::with_user_event().build().map_err(|e| e.to_string()))
        .map_err(AppError::NoDisplay)?;
    if let Some(listen) = options.on_signal {
        let proxy = events.create_proxy();
        // The loop ends only after the window.
        listen(Box::new(move || drop(proxy.send_event(Message::Stopped))));
    }
    let mut app = App {
        proxy: events.create_proxy(),
        stage: Stage::Waiting(Box::new(scene)),
        options,
        wake_at: None,
        held: Held::default(),
    };
    let ran = events.run_app(&mut app).map_err(|e| AppError::Lost(e.to_string()));
    app.keep_changes();
    match std::mem::replace(&mut app.stage, Stage::Over(None)) {
        Stage::Over(Some(error)) => Err(error),
        _ => ran,
    }
}

/// Runs `work` and turns a panic into an error of one line: libraries panic where one of the window system is
/// missing. Nothing else is printed.
fn quietly<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    result.unwrap_or_else(|panic| Err(words(panic.as_ref())))
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.and_then(|t| t.lines().next().map(str::to_owned)).unwrap_or_else(|| "a library is missing".into())
}

/// The application, before, while and after the window is open.
struct App {
    proxy: EventLoopProxy<Message>,
    stage: Stage,
    options: Options,
    /// Time of the next picture without an event.
    wake_at: Option<Instant>,
    held: Held,
}

/// Copies unsaved changes even in a panic: window systems may panic when their display disappears.
impl Drop for App {
    fn drop(&mut self) {
        self.keep_changes();
    }
}

enum Stage {
    Waiting(Box<Scene>),
    Open(Box<Screen>),
    Over(Option<AppError>),
}

/// An open window. Its fields are dropped in this order: pictures before the context, the context before the
/// window.
struct Screen {
    session: Session,
    egui: EguiGlium,
    /// Name in the title of the window.
    titled: String,
    pictures: Pictures,
    /// Pictures of the right half during a comparison.
    beside: Option<Pictures>,
    display: Display<WindowSurface>,
    window: Window,
    /// For contexts in the window.
    config: Config,
    /// Time of the last replacement of a lost context.
    replaced: Option<Instant>,
    pace: Pace,
    sending: Sending,
    /// Copies of unsaved changes.
    rescue: Rescue,
    state_file: Option<StateFile>,
    places: BTreeMap<&'static str, egui::Rect>,
    /// The part of the window with the smoke \[pt\].
    view: egui::Rect,
    /// Position of the mouse \[pt\].
    mouse: Vector2<f32>,
    /// Time of the last motion of the mouse over the view.
    hovered: Instant,
    /// The half of the view under the mouse.
    half: Side,
    frame: u64,
    level: Level,
    /// The picture that was finished for this frame.
    drawn: Option<Drawn>,
    proxy: EventLoopProxy<Message>,
    /// Whether a file chooser is open.
    asking: bool,
    watch: Watch,
    /// File of the persistent state, and its last contents.
    place: Option<PathBuf>,
    remembered: Remembered,
}

impl ApplicationHandler<Message> for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let Stage::Waiting(scene) = std::mem::replace(&mut self.stage, Stage::Over(None)) else {
            return;
        };
        match Screen::open(event_loop, *scene, &self.options, &self.proxy) {
            Ok(screen) => self.stage = Stage::Open(Box::new(screen)),
            Err(error) => self.end(event_loop, Some(error)),
        }
    }

    fn user_event(&mut self, event_loop: &ActiveEventLoop, message: Message) {
        let Stage::Open(screen) = &mut self.stage else {
            return;
        };
        match message {
            Message::News => screen.window.request_redraw(),
            Message::Answered(purpose, answer) => screen.answered(purpose, answer),
            Message::Pictured(notice) => {
                let until = screen.session.tell(notice, Instant::now());
                screen.window.request_redraw();
                self.wake_by(until);
            }
            Message::Stopped => self.end(event_loop, None),
            Message::FileChanged => {
                screen.session.file_changed(Instant::now());
                screen.window.request_redraw();
            }
            Message::Repaint(delay) if delay.is_zero() => screen.window.request_redraw(),
            Message::Repaint(delay) => {
                if let Some(at) = Instant::now().checked_add(delay) {
                    self.wake_by(at);
                }
            }
        }
    }

    fn new_events(&mut self, _: &ActiveEventLoop, cause: StartCause) {
        if let (StartCause::ResumeTimeReached { .. }, Stage::Open(screen)) = (cause, &self.stage) {
            self.wake_at = None;
            screen.window.request_redraw();
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Stage::Open(screen) = &mut self.stage else {
            return;
        };
        if let WindowEvent::ModifiersChanged(modifiers) = &event {
            let keys = modifiers.state();
            self.held = Held { shift: keys.shift_key(), ctrl: keys.control_key(), alt: keys.alt_key() };
        }
        let outcome = match event {
            WindowEvent::CloseRequested => Ok(screen.act(Action::Leave, Instant::now())),
            WindowEvent::RedrawRequested => screen.redraw(),
            event => Ok(screen.input(&event, self.held)),
        };
        match outcome {
            Ok(Outcome::Nothing) => {}
            Ok(Outcome::DrawAgainBy(at)) => self.wake_by(at),
            Ok(Outcome::Close) => {
                screen.rescue.close();
                self.end(event_loop, None);
            }
            Err(_) if screen.has_lost_context() => self.replace_context(event_loop),
            Err(error) => self.end(event_loop, Some(error)),
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        event_loop.set_control_flow(self.wake_at.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }
}

/// Result of an event.
enum Outcome {
    Nothing,
    DrawAgainBy(Instant),
    Close,
}

impl Outcome {
    /// Returns the stronger of two: closing over rendering, and rendering earlier over later.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Close, _) | (_, Self::Close) => Self::Close,
            (Self::DrawAgainBy(a), Self::DrawAgainBy(b)) => Self::DrawAgainBy(a.min(b)),
            (Self::Nothing, other) | (other, Self::Nothing) => other,
        }
    }
}

impl App {
    fn wake_by(&mut self, at: Instant) {
        self.wake_at = Some(self.wake_at.map_or(at, |earlier| earlier.min(at)));
    }

    fn replace_context(&mut self, event_loop: &ActiveEventLoop) {
        self.keep_changes();
        let Stage::Open(screen) = std::mem::replace(&mut self.stage, Stage::Over(None)) else {
            return;
        };
        match screen.with_new_context(event_loop) {
            Ok(screen) => self.stage = Stage::Open(Box::new(screen)),
            Err(error) => self.end(event_loop, Some(error)),
        }
    }

    fn end(&mut self, event_loop: &ActiveEventLoop, error: Option<AppError>) {
        self.keep_changes();
        self.stage = Stage::Over(error);
        event_loop.exit();
    }

    /// Copies the unsaved changes of an open window that was not closed.
    fn keep_changes(&mut self) {
        if let Stage::Open(screen) = &mut self.stage {
            screen.rescue.write(|folder| screen.session.unsaved_texts(folder));
        }
    }
}

impl Screen {
    fn open(
        event_loop: &ActiveEventLoop,
        scene: Scene,
        options: &Options,
        proxy: &EventLoopProxy<Message>,
    ) -> Result<Self, AppError> {
        let remembered = options.remembered.as_deref().map(Remembered::read).unwrap_or_default();
        let opened = quietly(|| {
            let (window, config) = bare_window(event_loop, &scene.name, &remembered)?;
            let scale = remembered.scale.unwrap_or_else(|| scale_for(&window));
            let (display, egui) = graphics(event_loop, &window, &config, scale)?;
            Ok((window, config, display, egui))
        });
        let (window, config, display, egui) = opened.map_err(AppError::NoDisplay)?;
        repaint_through(egui.egui_ctx(), proxy.clone());
        let pictures = Pictures::new(&display, news(proxy))?;
        let mut session = Session::recording(scene, options.recording(), news(proxy))?;
        if options.run {
            session.run();
        }
        session.model.recall(&remembered);
        let (rescue, found) = Rescue::new(options.remembered.as_deref().and_then(Path::parent));
        session.offer_recovered(&found);
        let changed = proxy.clone();
        let watch = Watch::new(move || drop(changed.send_event(Message::FileChanged)));
        window.request_redraw();
        Ok(Self {
            session,
            egui,
            titled: String::new(),
            pictures,
            beside: None,
            display,
            window,
            config,
            replaced: None,
            pace: Pace::default(),
            sending: Sending::watched(),
            rescue,
            state_file: options.state_file.clone().map(StateFile::new),
            places: BTreeMap::new(),
            view: egui::Rect::ZERO,
            mouse: Vector2::zeros(),
            hovered: Instant::now(),
            half: Side::A,
            frame: 0,
            level: Level::FINEST,
            drawn: None,
            proxy: proxy.clone(),
            asking: false,
            watch,
            place: options.remembered.clone(),
            remembered,
        })
    }

    /// Replaces a lost context and everything in it. The session goes on.
    fn with_new_context(mut self, event_loop: &ActiveEventLoop) -> Result<Self, AppError> {
        let scale = self.egui.egui_ctx().zoom_factor();
        // A window has one surface at a time, so everything that holds the old one is dropped first.
        self.beside = None;
        drop((self.pictures, self.egui, self.display));
        let (display, egui) =
            quietly(|| graphics(event_loop, &self.window, &self.config, scale)).map_err(AppError::Lost)?;
        repaint_through(egui.egui_ctx(), self.proxy.clone());
        let mut pictures = Pictures::new(&display, news(&self.proxy))?;
        pictures.upload(self.session.shown_of(Side::A), self.session.mode(), true)?;
        let now = Instant::now();
        self.session.tell("The driver lost the picture: it is drawn anew.".into(), now);
        self.window.request_redraw();
        Ok(Self { pictures, display, egui, drawn: None, replaced: Some(now), ..self })
    }

    /// Returns whether the driver lost the context, unless that replaced another one less than
    /// [`SECOND_LOSS`] ago.
    fn has_lost_context(&self) -> bool {
        self.display.is_context_lost() && self.replaced.is_none_or(|then| then.elapsed() > SECOND_LOSS)
    }

    fn input(&mut self, event: &WindowEvent, held: Held) -> Outcome {
        let now = Instant::now();
        if self.frame > 0 && presses(event) {
            self.session.acknowledge(now);
        }
        if let WindowEvent::Resized(size) = event {
            self.display.resize((size.width.max(1), size.height.max(1)));
        }
        if let WindowEvent::DroppedFile(path) = event {
            self.window.request_redraw();
            self.session.open(&path.to_string_lossy());
            return Outcome::Nothing;
        }
        if let WindowEvent::KeyboardInput { event: key, .. } = event
            && let Some(action) = self.key(key, held)
        {
            self.window.request_redraw();
            return self.act(action, now);
        }
        let click = matches!(event, WindowEvent::MouseInput { .. });
        let before = if click { self.pass(now) } else { Outcome::Nothing };
        let response = self.egui.on_event(&self.window, event);
        if response.repaint {
            self.window.request_redraw();
        }
        self.mouse(event, held, now);
        before.or(if click { self.pass(now) } else { Outcome::Nothing })
    }

    /// Lets the panel handle events without rendering. Called around each press and release, so that a flick
    /// of the mouse between two pictures counts as a drag; it takes less than a millisecond.
    fn pass(&mut self, now: Instant) -> Outcome {
        let actions = self.show_panel();
        let outcomes = actions.into_iter().map(|action| self.act(action, now));
        outcomes.fold(Outcome::Nothing, Outcome::or)
    }

    /// Returns the action of a key; none while a text field or a list uses the key itself.
    fn key(&self, key: &KeyEvent, held: Held) -> Option<Action> {
        if key.state != ElementState::Pressed || held.alt {
            return None;
        }
        let ctx = self.egui.egui_ctx();
        let action = action::of_key(name(&key.logical_key)?, held.ctrl, held.shift)?;
        if self.session.model.dialog.is_some() {
            return (action == Action::Exit && !key.repeat).then_some(action);
        }
        // A function key types nothing.
        let mut types = !matches!(action, Action::ToggleHelp | Action::Picture);
        // A space in an empty search field is the key of run and pause, since no search starts with one.
        types &= !(action == Action::RunPause
            && self.session.model.search.is_empty()
            && panel::search::has_keyboard(ctx));
        if types && ctx.wants_keyboard_input() || action == Action::Exit && egui::Popup::is_any_open(ctx) {
            return None;
        }
        let repeats = matches!(action, Action::Step | Action::Undo | Action::Redo | Action::Turn(_));
        (repeats || !key.repeat).then_some(action)
    }

    fn act(&mut self, action: Action, now: Instant) -> Outcome {
        self.window.request_redraw();
        match action {
            Action::Picture => return self.take_picture(now),
            Action::Browse => self.browse(),
            _ => self.session.act(action),
        }
        if self.session.is_leaving() {
            self.remember();
            return Outcome::Close;
        }
        Outcome::Nothing
    }

    /// Writes the persistent state if it has changed.
    fn remember(&mut self) {
        let Some(place) = &self.place else { return };
        let size = self.window.inner_size().to_logical::<f64>(self.window.scale_factor());
        let model = &self.session.model;
        let now = Remembered {
            size: Some([size.width, size.height]),
            scale: Some(self.egui.egui_ctx().zoom_factor()),
            hidden: !model.panel,
            closed: Some(model.closed.clone()),
            recent: model.recent.clone(),
        };
        if now != self.remembered {
            now.write(place);
            self.remembered = now;
        }
    }
}

/// Returns whether a key or a button of the mouse is pressed.
fn presses(event: &WindowEvent) -> bool {
    match event {
        WindowEvent::KeyboardInput { event, .. } => event.state == ElementState::Pressed,
        WindowEvent::MouseInput { state, .. } => *state == ElementState::Pressed,
        _ => false,
    }
}

/// Returns a closure that wakes the event loop from another thread to show a new picture.
fn news(proxy: &EventLoopProxy<Message>) -> impl Fn() + Send + Sync + 'static {
    let proxy = proxy.clone();
    // The loop ends only after the window.
    move || drop(proxy.send_event(Message::News))
}

/// Passes egui's repaint requests to the sleeping loop.
fn repaint_through(ctx: &egui::Context, proxy: EventLoopProxy<Message>) {
    ctx.set_request_repaint_callback(move |info| {
        // The loop ends only after the window.
        let _ = proxy.send_event(Message::Repaint(info.delay));
    });
}
