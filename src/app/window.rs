//! The event loop: connects session, panel and renderer in a window. Renders on demand and sleeps otherwise.

mod mouse_events;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use egui_glium::EguiGlium;
use glium::{Display, Surface};
use glutin::surface::WindowSurface;
use nalgebra::Vector2;
use winit::application::ApplicationHandler;
use winit::event::{ElementState, KeyEvent, StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::window::{Window, WindowId};

use super::action::{self, Action};
use super::bare_window::{bare_window, scale_for, title};
use super::export::beside_each_other;
use super::file_chooser::{self, Answer};
use super::gesture::{Gesture, Held};
use super::input_names::name;
use super::lost_display::Sending;
use super::model::{Dialog, Purpose};
use super::pace::{Level, Pace};
use super::panel::{self, theme};
use super::remember::Remembered;
use super::rescue::Rescue;
use super::screenshot::{self, PictureError};
use super::session::Session;
use super::session::compare::of_side;
use super::settings::Side;
use super::state::{Seen, StateFile};
use super::view_pictures::{Drawn, Pictures, Subject};
use super::watch::Watch;
use super::{AppError, Options, overlay};
use crate::render::{CpuRenderer, Image, Quality, RenderError, View};
use crate::scene::Scene;

/// Interval of the dabs of a still ball.
const AIRBRUSH: Duration = Duration::from_millis(16);
/// Time without motion of the mouse after which the picture is refined.
const CALM_HAND: Duration = Duration::from_millis(250);

/// Notice where no file can be chosen.
const NO_CHOOSER: &str = "This desktop has no file chooser (xdg-desktop-portal or zenity): type the path.";

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
}

/// Opens the window and runs until it is closed.
pub(super) fn run(scene: Scene, options: Options) -> Result<(), AppError> {
    let events = quietly(|| EventLoop::<Message>::with_user_event().build().map_err(|e| e.to_string()))
        .map_err(AppError::NoDisplay)?;
    let mut app = App {
        proxy: events.create_proxy(),
        stage: Stage::Waiting(Box::new(scene)),
        options,
        wake_at: None,
        held: Held::default(),
    };
    let ran = events.run_app(&mut app).map_err(|e| AppError::Lost(e.to_string()));
    match app.stage {
        Stage::Over(Some(error)) => Err(error),
        _ => ran,
    }
}

/// Runs `work`, in which libraries may panic instead of returning errors: a missing library of the window
/// system then becomes an error of one line, and nothing else is printed.
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
    pictures: Pictures,
    /// Pictures of the right half during a comparison.
    beside: Option<Pictures>,
    display: Display<WindowSurface>,
    window: Window,
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

    fn user_event(&mut self, _: &ActiveEventLoop, message: Message) {
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
    /// The stronger of two: closing over rendering, and rendering earlier over later.
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

    fn end(&mut self, event_loop: &ActiveEventLoop, error: Option<AppError>) {
        self.stage = Stage::Over(error);
        event_loop.exit();
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
        let (window, display, egui) =
            quietly(|| bare_window(event_loop, &scene.name, &remembered)).map_err(AppError::NoDisplay)?;
        theme::apply(egui.egui_ctx());
        egui.egui_ctx().set_zoom_factor(remembered.scale.unwrap_or_else(|| scale_for(&window)));
        repaint_through(egui.egui_ctx(), proxy.clone());
        let pictures = Pictures::new(&display, news(proxy))?;
        let mut session = Session::recording(scene, options.recording(), news(proxy))?;
        if options.run {
            session.run();
        }
        session.model.recall(&remembered);
        let (rescue, found) = Rescue::new(options.remembered.as_deref().and_then(Path::parent));
        if let Some(found) = found {
            session.offer_recovered(&found, Instant::now());
        }
        let changed = proxy.clone();
        let watch = Watch::new(move || drop(changed.send_event(Message::FileChanged)));
        window.request_redraw();
        Ok(Self {
            session,
            egui,
            pictures,
            beside: None,
            display,
            window,
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

    fn input(&mut self, event: &WindowEvent, held: Held) -> Outcome {
        let now = Instant::now();
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

    /// Action of a key, unless a text field or a list, which have their own keys, is active.
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
        // Nobody searches for a space.
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

    /// The parts of the view with a picture each.
    fn halves(&self) -> Vec<egui::Rect> {
        panel::comparison_view::halves(self.view, self.session.is_comparing())
    }

    /// Hands what is shown to the pictures of each side; `news`: something else is shown.
    fn upload(&mut self, news: bool) -> Result<(), RenderError> {
        let mode = self.session.mode();
        self.pictures.upload(self.session.shown_of(Side::A), mode, news)?;
        if !self.session.is_comparing() {
            self.beside = None;
            return Ok(());
        }
        let is_new = self.beside.is_none();
        let beside = match self.beside.take() {
            Some(beside) => beside,
            None => Pictures::new(&self.display, self::news(&self.proxy))?,
        };
        self.beside.insert(beside).upload(self.session.shown_of(Side::B), mode, news || is_new)
    }

    fn redraw(&mut self) -> Result<Outcome, AppError> {
        let begin = Instant::now();
        self.session.paint(begin);
        let news = self.session.absorb(begin).is_some() | self.session.turn_pages(begin);
        self.upload(news)?;
        self.session.follow_export(begin);
        let asked = self.pass(begin);
        if self.session.gesture().is_some() || self.egui.egui_ctx().is_using_pointer() {
            self.pace.moves(begin);
        }
        if self.session.sync() {
            self.window.set_title(&title(&self.session.model.settings.scene.name));
        }
        self.watch.follow(self.session.file());
        self.rescue.follow(begin, |folder| self.session.unsaved_text(folder));
        if self.session.model.recent != self.remembered.recent {
            self.remember();
        }
        self.draw(begin)?;
        self.note(begin);
        Ok(asked.or(self.next(begin)))
    }

    /// Lays out the panel; the view gets the rest.
    fn show_panel(&mut self) -> Vec<Action> {
        let mut out = panel::Out::default();
        let stretched = self.pictures.level().unwrap_or(self.level).shrink > 1;
        let (session, view, pictures) = (&mut self.session, &mut self.view, &self.pictures);
        let beside = self.beside.as_ref();
        self.egui.run(&self.window, |ctx| {
            out = panel::show(ctx, &mut session.model, &session.readout);
            *view = ctx.available_rect();
            let halves = panel::comparison_view::halves(*view, session.is_comparing());
            session.set_view(halves[0].width(), halves[0].height());
            let layer = egui::LayerId::new(egui::Order::Background, egui::Id::new("over the smoke"));
            for (side, half) in Side::BOTH.into_iter().zip(halves) {
                let painter = ctx.layer_painter(layer).with_clip_rect(half);
                let pictures = beside.filter(|_| side == Side::B).unwrap_or(pictures);
                overlay::show(&painter, half, (&*session, side), stretched, |quantity| {
                    pictures.range(quantity)
                });
            }
        });
        self.places = out.places;
        out.actions
    }

    fn draw(&mut self, now: Instant) -> Result<(), AppError> {
        let interval = self.session.interval();
        self.level = self.pace.level(now, interval);
        let refine = interval.is_none() && !self.hovers_at(now);
        let mut frame = self.display.draw();
        let [r, g, b, _] = egui::Rgba::from(theme::GROUND).to_array();
        frame.clear_color_srgb(r, g, b, 1.0);
        let drawn = self.draw_smoke(&mut frame, refine);
        self.egui.paint(&self.display, &mut frame);
        let shown = self.sending.while_sending(|| frame.finish()).map_err(|e| AppError::Lost(e.to_string()));
        self.drawn = drawn?;
        shown
    }

    /// Puts the pictures into the frame. Returns the one of the left side, if it is new.
    fn draw_smoke(&mut self, frame: &mut glium::Frame, refine: bool) -> Result<Option<Drawn>, RenderError> {
        let parts = self.halves().into_iter().map(|half| self.pixels(half)).collect::<Vec<_>>();
        let session = &self.session;
        let mut first = None;
        let pictures = [&mut self.pictures].into_iter().chain(&mut self.beside);
        for ((side, viewport), pictures) in Side::BOTH.into_iter().zip(parts).zip(pictures) {
            if viewport[2] == 0 || viewport[3] == 0 {
                continue;
            }
            let subject = Subject {
                snapshot: session.shown(),
                side,
                look: &session.model.settings.of_side(side).look,
                camera: session.orbit.camera(),
                cursor: session.ball(),
                mode: session.mode(),
                level: self.level,
                refine,
            };
            let drawn = pictures.draw(&self.display, frame, viewport, &subject)?;
            first = first.or(drawn.filter(|_| side == Side::A));
        }
        Ok(first)
    }

    /// Whether the ball moves: following it then has priority over refining the picture.
    fn hovers_at(&self, now: Instant) -> bool {
        now < self.hovered + CALM_HAND
    }

    /// The view in pixels: left, bottom, width, height.
    fn viewport(&self) -> [u32; 4] {
        self.pixels(self.view)
    }

    /// A part of the window in pixels: left, bottom, width, height.
    fn pixels(&self, part: egui::Rect) -> [u32; 4] {
        let scale = self.egui.egui_ctx().pixels_per_point();
        let (width, height) = self.display.get_framebuffer_dimensions();
        let px = |pt: f32, most: u32| (pt.max(0.0) * scale).round().min(most as f32) as u32;
        let (left, right) = (px(part.min.x, width), px(part.max.x, width));
        let (top, bottom) = (px(part.min.y, height), px(part.max.y, height));
        [left, height - bottom, right.saturating_sub(left), bottom.saturating_sub(top)]
    }

    /// Records the time of the picture and writes the state.
    fn note(&mut self, begin: Instant) {
        let end = Instant::now();
        self.frame += 1;
        if let Some(Drawn { level, ms }) = self.drawn.take() {
            let ms = ms.unwrap_or((end - begin).as_secs_f32() * 1e3);
            self.pace.drew(level, ms, end);
            self.session.readout.add_picture(ms);
        }
        self.session.readout.fps = self.pace.fps();
        let seen = Seen {
            frame: self.frame,
            viewport: self.viewport(),
            parts: self.halves().into_iter().map(|half| self.pixels(half)).collect(),
            divide: self.level.shrink * self.level.divide,
            places: self.places_in_pixels(),
        };
        if let Some(file) = &mut self.state_file {
            file.write(&self.session, seen);
        }
    }

    fn places_in_pixels(&self) -> BTreeMap<&'static str, [f32; 4]> {
        let scale = self.egui.egui_ctx().pixels_per_point();
        let px = |r: &egui::Rect| [r.min.x, r.min.y, r.max.x, r.max.y].map(|x| (x * scale).round());
        self.places.iter().map(|(name, rect)| (*name, px(rect))).collect()
    }

    /// Time of the next picture without an event.
    fn next(&mut self, now: Instant) -> Outcome {
        let gone = self.session.notice_until().map_or(Outcome::Nothing, Outcome::DrawAgainBy);
        let page = self.session.page_time().map_or(Outcome::Nothing, |time| Outcome::DrawAgainBy(now + time));
        gone.or(page).or(self.next_picture(now))
    }

    fn next_picture(&mut self, now: Instant) -> Outcome {
        if self.session.gesture() == Some(Gesture::Paint) {
            return Outcome::DrawAgainBy(now + AIRBRUSH);
        }
        if let Some(calm) = self.pace.calm_at() {
            return Outcome::DrawAgainBy(calm);
        }
        let settled = self.pictures.is_settled() && self.beside.as_ref().is_none_or(Pictures::is_settled);
        if settled || self.session.interval().is_some() {
            return Outcome::Nothing;
        }
        if self.hovers_at(now) {
            return Outcome::DrawAgainBy(self.hovered + CALM_HAND);
        }
        self.window.request_redraw();
        Outcome::Nothing
    }

    /// Opens the desktop's chooser for the open dialog, one at a time.
    fn browse(&mut self) {
        let Some(Dialog::Path(form)) = &self.session.model.dialog else {
            return;
        };
        if std::mem::replace(&mut self.asking, true) {
            return;
        }
        let (purpose, suggestion) = (form.purpose, PathBuf::from(form.text.clone()));
        let proxy = self.proxy.clone();
        // The loop ends only after the window.
        let then = move |answer| drop(proxy.send_event(Message::Answered(purpose, answer)));
        file_chooser::ask(purpose, &self.window, &suggestion, then);
    }

    /// Passes the chosen file to the dialog that requested it.
    fn answered(&mut self, purpose: Purpose, answer: Answer) {
        self.asking = false;
        self.window.request_redraw();
        let Some(Dialog::Path(form)) = &mut self.session.model.dialog else {
            return;
        };
        match answer {
            Answer::Chosen(path) if form.purpose == purpose => {
                (form.text, form.error) = (path.display().to_string(), None);
            }
            Answer::Chosen(_) | Answer::Nothing => {}
            Answer::NoChooser => form.error = Some(NO_CHOOSER.into()),
        }
    }

    /// Saves a picture of the view, rendered again finely and without the panel.
    fn take_picture(&mut self, now: Instant) -> Outcome {
        let (camera, mode) = (self.session.orbit.camera(), self.session.mode());
        let settings = &self.session.model.settings;
        let name = settings.scene.name.clone();
        let parts = self.halves().into_iter().map(|half| self.pixels(half)).zip(Side::BOTH);
        let parts = parts.map(|([_, _, width, height], side)| (side, [width, height])).collect::<Vec<_>>();
        if self.pictures.driver().is_none() {
            let snapshot = self.session.shown().clone();
            let sides =
                parts.into_iter().map(|(side, size)| (side, size, settings.of_side(side).look.clone()));
            let sides = sides.collect::<Vec<_>>();
            let proxy = self.proxy.clone();
            // The loop ends only after the window.
            std::thread::spawn(move || {
                let images = sides.iter().map(|(side, size, look)| {
                    let mut renderer = CpuRenderer::new();
                    renderer.set_quality(Quality::of_file(&camera));
                    let view = View { look, camera: &camera, cursor: None, mode };
                    Ok(renderer.render(of_side(&snapshot, *side), &view, *size, &|_| ()))
                });
                drop(proxy.send_event(Message::Pictured(save_picture(&name, images))));
            });
            return Outcome::Nothing;
        }
        let renderers = [&mut self.pictures].into_iter().chain(&mut self.beside).filter_map(Pictures::driver);
        let images = parts.into_iter().zip(renderers).map(|((side, size), renderer)| {
            let view = View { look: &settings.of_side(side).look, camera: &camera, cursor: None, mode };
            renderer.set_quality(Quality::of_file(&camera));
            renderer.set_refine(true);
            screenshot::take(renderer, &self.display, size, &view)
        });
        let told = save_picture(&name, images);
        Outcome::DrawAgainBy(self.session.tell(told, now))
    }
}

/// Saves the pictures of all sides beside each other. Returns the notice.
fn save_picture(scene: &str, images: impl Iterator<Item = Result<Image, PictureError>>) -> String {
    let saved = images.collect::<Result<Vec<_>, _>>().and_then(|images| {
        let image = images.into_iter().reduce(|a, b| beside_each_other(&a, &b));
        let image = image.ok_or(RenderError::Gl("a picture", "nothing is shown".into()))?;
        screenshot::save(Path::new("."), scene, &image)
    });
    match saved {
        Ok(path) => format!("Saved {}", std::path::absolute(&path).unwrap_or(path).display()),
        Err(error) => format!("No picture: {error}"),
    }
}

/// Tells the event loop from another thread that there is something new to show.
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
