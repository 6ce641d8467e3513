//! Random events on the panel and the view, as many as desired: no panic, and no unlimited growth of memory.

use std::process::Command;

use egui::{Context, Event, Key, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2, vec2};

use super::*;
use crate::app::action::BINDINGS;
use crate::app::gesture::{Button, Held};
use crate::app::panel::{self, theme};

/// Pseudo-random numbers, the same each time (xorshift).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn share(&mut self) -> f32 {
        self.next() as u32 as f32 / u32::MAX as f32
    }
}

struct Monkey {
    dice: Dice,
    ctx: Context,
    session: Session,
    time: f64,
    size: egui::Vec2,
    view: Rect,
    folder: tempfile::TempDir,
}

impl Monkey {
    fn new(seed: u64) -> Self {
        let scene = Scene::parse("tiny", "[domain]\ncells = [8, 10, 8]\nvoxel = 0.1\n").unwrap();
        let ctx = Context::default();
        theme::apply(&ctx);
        Self {
            dice: Dice(seed),
            ctx,
            session: Session::new(scene, || ()).unwrap(),
            time: 0.0,
            size: vec2(900.0, 700.0),
            view: Rect::ZERO,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Shows the panel with some events and executes its requests, as the window does.
    fn pass(&mut self, events: Vec<Event>) {
        self.time += 0.05;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size)),
            time: Some(self.time),
            events,
            ..RawInput::default()
        };
        let mut out = panel::Out::default();
        let (session, view) = (&mut self.session, &mut self.view);
        let _ = self.ctx.run(input, |ctx| {
            out = panel::show(ctx, &mut session.model, &session.readout);
            *view = ctx.available_rect();
        });
        self.session.set_view(self.view.width(), self.view.height());
        out.actions.into_iter().for_each(|action| self.act(action));
        let now = Instant::now();
        self.session.paint(now);
        self.session.absorb(now);
        self.session.advance_playback(now);
        self.session.follow_export(now);
        self.session.sync();
    }

    /// Skips actions that write outside the folder or end the session.
    fn act(&mut self, action: Action) {
        match action {
            Action::Save | Action::SaveAs | Action::Accept | Action::Export | Action::Discard => {
                self.session.model.dialog = None;
            }
            Action::Restart if self.dice.below(4) > 0 => {}
            Action::Open(_) => {
                let scene = self.scene();
                self.session.open(&scene);
            }
            action => self.session.act(action),
        }
    }

    /// Writes a small scene to a file.
    fn scene(&mut self) -> String {
        let path = self.folder.path().join(format!("s{}.toml", self.dice.below(3)));
        let cells = 6 + self.dice.below(6);
        let text = format!("[domain]\ncells = [{cells}, 8, 7]\nvoxel = 0.1\nwalls = \"closed\"\n");
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }

    /// Plays one random event.
    fn play(&mut self) {
        let at = pos2(self.dice.share() * self.size.x, self.dice.share() * self.size.y);
        let press = |pressed: bool, pos: Pos2| Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::default(),
        };
        match self.dice.below(12) {
            0..=3 => {
                // Two of three positions are in the panel.
                let x = if self.dice.below(3) > 0 {
                    self.size.x - 170.0 + 150.0 * (self.dice.share() - 0.5) * 2.0
                } else {
                    at.x
                };
                let from = pos2(x, at.y);
                let to = from + vec2(120.0 * (self.dice.share() - 0.5), 30.0 * (self.dice.share() - 0.5));
                self.pass(vec![Event::PointerMoved(from), press(true, from)]);
                if self.dice.below(2) == 0 {
                    self.pass(vec![Event::PointerMoved(to)]);
                    self.pass(vec![press(false, to)]);
                } else {
                    self.pass(vec![press(false, from)]);
                }
            }
            4 => {
                let text = ["9999", "-5", "nan", "1e30", "0", "x", "0.3"][self.dice.below(7)];
                self.pass(vec![Event::Text(text.into())]);
                self.pass(vec![key(Key::Enter)]);
            }
            5 => {
                let lines = vec2(0.0, 40.0 * (self.dice.share() - 0.5));
                let unit = egui::MouseWheelUnit::Line;
                let wheel = Event::MouseWheel { unit, delta: lines, modifiers: Modifiers::default() };
                self.pass(vec![Event::PointerMoved(at), wheel]);
            }
            6 => {
                let pick = self.dice.below(BINDINGS.len());
                self.act(BINDINGS[pick].action);
                self.pass(vec![]);
            }
            7..=9 => self.drag(at),
            10 => {
                let held = Held { ctrl: self.dice.below(2) == 0, ..Held::default() };
                self.session.wheel(9.0 * (self.dice.share() - 0.5), held, Instant::now());
                self.pass(vec![]);
            }
            _ => {
                self.size = vec2(480.0 + 2000.0 * self.dice.share(), 320.0 + 1500.0 * self.dice.share());
                self.pass(vec![key(Key::Escape)]);
            }
        }
    }

    /// Drags in the view with any button.
    fn drag(&mut self, from: Pos2) {
        let button = [Button::Left, Button::Left, Button::Middle, Button::Right][self.dice.below(4)];
        let held = Held { shift: self.dice.below(4) == 0, alt: self.dice.below(4) == 0, ctrl: false };
        let now = Instant::now();
        let at = Vector2::new(from.x, from.y);
        self.session.press(button, held, at, now);
        for _ in 0..self.dice.below(4) {
            let by = Vector2::new(self.dice.share() - 0.5, self.dice.share() - 0.5) * 200.0;
            self.session.hover(at + by, now + Duration::from_millis(16));
            self.pass(vec![]);
        }
        self.session.release(button, now + Duration::from_millis(40));
        self.pass(vec![]);
    }
}

fn key(key: Key) -> Event {
    Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::default() }
}

/// Returns the memory of this process \[bytes\].
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn play(seed: u64, events: usize) {
    let mut monkey = Monkey::new(seed);
    (0..events / 2).for_each(|_| monkey.play());
    let before = resident();
    (0..events / 2).for_each(|_| monkey.play());
    let grown = resident().saturating_sub(before);
    assert!(grown < 256 << 20, "memory grew by {} MiB", grown >> 20);
    let broken = monkey.session.is_broken();
    assert!(!broken, "{:?}", monkey.session.readout.status.state);
    let finite = |s: &Session| s.shown().smoke.iter().flatten().all(|x| x.to_f32().is_finite());
    assert!(finite(&monkey.session));
}

/// Plays in a separate process: the check of resident memory would count the allocations of concurrent tests.
fn play_alone(test: &str, seed: u64, events: usize) {
    if std::env::args().any(|argument| argument == "--exact") {
        return play(seed, events);
    }
    let test = format!("{}::{test}", module_path!().split_once("::").expect("a module of a crate").1);
    let program = std::env::current_exe().expect("tests have a path");
    let run =
        Command::new(program).args(["--exact", &test, "--include-ignored", "--nocapture"]).output().unwrap();
    let told = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(run.status.success() && told[0].contains("1 passed"), "{}{}", told[0], told[1]);
}

#[test]
fn a_few_hundred_random_events_break_nothing() {
    play_alone("a_few_hundred_random_events_break_nothing", 0x9e37_79b9_7f4a_7c15, 400);
}

#[test]
#[ignore = "takes a minute"]
fn ten_thousand_random_events_break_nothing() {
    play_alone("ten_thousand_random_events_break_nothing", 0x2545_f491_4f6c_dd1d, 10_000);
}
