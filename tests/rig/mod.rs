//! Drives a window on a virtual screen by mouse and keyboard. The window writes its state to a file.

pub mod losing_driver;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

pub const SCREEN: [usize; 2] = [1280, 800];
/// Size of the view on the screen.
pub const VIEW: [usize; 2] = [830, 720];
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A virtual screen with the program on it.
pub struct Rig {
    pub server: Child,
    pub program: Child,
    pub display: String,
    pub folder: tempfile::TempDir,
    pub size: [usize; 2],
}

impl Rig {
    /// Starts the rig. Returns `None` and prints the reason where this machine lacks a tool.
    pub fn start() -> Option<Self> {
        Self::on([1280, 800], &["--set", "domain.cells=[48,72,48]", "--set", "domain.voxel=0.02"])
    }

    /// Starts the rig on a screen of a size, with more arguments.
    pub fn on(screen: [usize; 2], arguments: &[&str]) -> Option<Self> {
        Self::within(screen, arguments, &[])
    }

    /// Starts the rig with more variables in the environment of the program.
    pub fn within(screen: [usize; 2], arguments: &[&str], environment: &[(&str, PathBuf)]) -> Option<Self> {
        for (tool, ask) in [("Xvfb", "-help"), ("xdotool", "version"), ("import", "-version")] {
            if let Err(error) =
                Command::new(tool).arg(ask).stdout(Stdio::null()).stderr(Stdio::null()).status()
            {
                eprintln!("SKIPPED: the window is not tested, as {tool} does not run here: {error}");
                return None;
            }
        }
        let (server, display) = server(screen);
        let folder = tempfile::tempdir().unwrap();
        let program = Self::program(&folder, &display, arguments, environment);
        Some(Self { server, program, display, folder, size: screen })
    }

    pub fn program(
        folder: &tempfile::TempDir,
        display: &str,
        arguments: &[&str],
        environment: &[(&str, PathBuf)],
    ) -> Child {
        let told = fs::File::create(folder.path().join("stderr")).unwrap();
        Command::new(env!("CARGO_BIN_EXE_updraft"))
            .args(["view", "plume"])
            .args(arguments)
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .env("DISPLAY", display)
            .env_remove("WAYLAND_DISPLAY")
            .env("UPDRAFT_STATE_FILE", folder.path().join("state.json"))
            // There is no file chooser: neither a portal nor zenity.
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
            .env("PATH", folder.path())
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir(folder.path())
            .stderr(told)
            .spawn()
            .unwrap()
    }

    /// Waits until the program has ended.
    pub fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.program.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the program goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the program's stderr.
    pub fn stderr(&self) -> String {
        fs::read_to_string(self.folder.path().join("stderr")).unwrap()
    }

    pub fn tool(&self, tool: &str, arguments: &[String]) -> Vec<u8> {
        let out = Command::new(tool).args(arguments).env("DISPLAY", &self.display).output().unwrap();
        assert!(out.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        out.stdout
    }

    pub fn xdo(&self, line: &str) -> String {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        String::from_utf8(self.tool("xdotool", &arguments)).unwrap()
    }

    pub fn key(&self, key: &str) {
        self.xdo(&format!("key {key}"));
    }

    /// Presses at one point, moves and releases at another. Takes several frames, as a hand does, also when
    /// frames are slow.
    pub fn drag(&self, button: u8, [x0, y0]: [f64; 2], [x1, y1]: [f64; 2]) {
        let (xm, ym) = (0.5 * (x0 + x1), 0.5 * (y0 + y1));
        for step in [
            format!("mousemove {x0:.0} {y0:.0}"),
            format!("mousedown {button}"),
            format!("mousemove {xm:.0} {ym:.0}"),
            format!("mousemove {x1:.0} {y1:.0}"),
            format!("mouseup {button}"),
        ] {
            self.xdo(&step);
            self.wait_for_a_frame();
        }
    }

    /// Waits until a whole frame was drawn after now, or for half a second: a window at rest draws none.
    pub fn wait_for_a_frame(&self) {
        let frame = || self.state().map_or(0.0, |state| number(&state, "/frame"));
        let (before, deadline) = (frame(), Instant::now() + Duration::from_millis(500));
        while frame() < before + 2.0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn state(&self) -> Option<Value> {
        let text = fs::read_to_string(self.folder.path().join("state.json")).ok()?;
        Some(serde_json::from_str(&text).expect("the state file is always whole"))
    }

    /// Waits until the reported state satisfies `holds`, and returns it.
    pub fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.until_within(PATIENCE, what, holds)
    }

    /// Waits as [`Rig::until`] does, for at most `patience`.
    pub fn until_within(&mut self, patience: Duration, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + patience;
        loop {
            let state = self.state();
            if let Some(state) = state.as_ref().filter(|s| holds(s)) {
                return state.clone();
            }
            assert!(self.program.try_wait().unwrap().is_none(), "the program ended before: {what}");
            assert!(Instant::now() < deadline, "never happened: {what}; last state: {state:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the reported state satisfies `holds` both before and after `look`.
    pub fn until_seen_whole<T>(
        &mut self,
        what: &str,
        holds: impl Fn(&Value) -> bool,
        look: impl Fn(&Self) -> (Value, T),
    ) -> (Value, T) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.until(what, &holds);
            // A drawn frame is on the screen two frames later.
            (0..2).for_each(|_| self.wait_for_a_frame());
            let (state, seen) = look(self);
            if holds(&state) {
                return (state, seen);
            }
            assert!(Instant::now() < deadline, "never stays: {what}");
        }
    }

    /// Captures the screen. Returns red, green, blue of each pixel, rows from the top.
    pub fn screen(&self) -> Vec<u8> {
        let arguments = ["-window", "root", "-depth", "8", "rgb:-"].map(str::to_owned);
        let pixels = self.tool("import", &arguments);
        assert_eq!(pixels.len(), 3 * self.size[0] * self.size[1]);
        pixels
    }

    /// Waits until some part of the view differs from `before`.
    pub fn until_seen(&self, what: &str, before: &[u8]) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if difference(before, &self.screen()) > 4.0 {
                return;
            }
            assert!(Instant::now() < deadline, "not seen on the screen: {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for child in [&mut self.program, &mut self.server] {
            // The process may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a virtual X server, which chooses its display number.
pub fn server(screen: [usize; 2]) -> (Child, String) {
    let size = format!("{}x{}x24", screen[0], screen[1]);
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", &size, "-nolisten", "tcp"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut number = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
    assert!(!number.trim().is_empty(), "the X server did not start");
    (server, format!(":{}", number.trim()))
}

/// Edge of the squares in which screens are compared.
pub const TILE: usize = 64;

/// Returns the mean difference of two screens over the square of the view in which they differ most.
pub fn difference(a: &[u8], b: &[u8]) -> f64 {
    let tiles = (0..VIEW[1] / TILE).flat_map(|j| (0..VIEW[0] / TILE).map(move |i| [i, j]));
    tiles.map(|tile| tile_difference(a, b, tile)).fold(0.0, f64::max)
}

pub fn tile_difference(a: &[u8], b: &[u8], [i, j]: [usize; 2]) -> f64 {
    let row = |screen: &[u8], y: usize| screen[3 * (SCREEN[0] * y + i * TILE)..][..3 * TILE].to_vec();
    let of_row = |y| row(a, y).iter().zip(&row(b, y)).map(|(&p, &q)| f64::from(p.abs_diff(q))).sum::<f64>();
    (j * TILE..(j + 1) * TILE).map(of_row).sum::<f64>() / (3 * TILE * TILE) as f64
}

pub fn number(state: &Value, path: &str) -> f64 {
    state.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number at {path}"))
}

pub fn is(state: &Value, path: &str, text: &str) -> bool {
    state.pointer(path).and_then(Value::as_str) == Some(text)
}

/// Returns the left, top, right and bottom of a control.
pub fn place(state: &Value, name: &str) -> [f64; 4] {
    let place = &state["places"][name];
    std::array::from_fn(|n| place[n].as_f64().unwrap_or_else(|| panic!("no control is called {name}")))
}

/// Returns the middle of a control \[px\].
pub fn middle(state: &Value, name: &str) -> (f64, f64) {
    let [left, top, right, bottom] = place(state, name);
    ((0.5 * (left + right)).round(), (0.5 * (top + bottom)).round())
}
