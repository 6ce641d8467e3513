//! State of the window as a file, for tests that drive it from outside and wait for events instead of
//! sleeping. Written only on request.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use super::model::{Dialog, PathForm, Purpose};
use super::session::Session;
use super::settings::Side;
use crate::output::whole;
use crate::parameter::{self, Holder, Parameter, Value};
use crate::render::Mode;
use crate::snapshot::{BRICK, Snapshot};

/// Writes the state whenever it has changed.
pub(super) struct StateFile {
    path: PathBuf,
    last: String,
    /// Masses and heights of the last snapshot, because their sums over a large box take longer than a picture.
    masses: Option<(Instant, Masses)>,
}

/// Serial and simulated time of a snapshot.
type Instant = (u64, f64);

/// Mass of each density [m³] and the height of its centre of mass [m].
type Masses = ([f64; 3], [f64; 3]);

#[derive(Serialize)]
struct State<'a> {
    frame: u64,
    serial: u64,
    time: f64,
    step: u64,
    state: &'a str,
    pausing: bool,
    view: &'a str,
    notice: Option<&'a str>,
    scene: &'a str,
    loading: Option<&'a str>,
    dialog: Option<&'a str>,
    dialog_error: Option<&'a str>,
    undoes: Option<&'a str>,
    /// Numbers of the first and the last recorded frame.
    frames: [u64; 2],
    /// The shown recorded frame.
    past: Option<u64>,
    /// Memory of the recorded frames and of the states for undo [bytes].
    bytes: [usize; 2],
    unsaved: bool,
    panel: bool,
    help: bool,
    ink: &'a str,
    erases: bool,
    parallel: bool,
    /// Number of objects.
    sources: usize,
    solids: usize,
    /// Positions of the solids [m].
    solid_positions: Vec<[f32; 3]>,
    /// Positions of the objects' handles in the view [pt]: sources, solids, forces.
    handles: Vec<[f32; 2]>,
    /// Frames written, and frames to write.
    exporting: Option<[u32; 2]>,
    params: BTreeMap<&'static str, f32>,
    /// The two compared sides.
    compared: Option<[Compared; 2]>,
    /// The edited side.
    side: &'a str,
    camera: Camera,
    cursor: Cursor,
    /// Integral of each density [m³].
    mass: [f64; 3],
    /// Height of the centre of mass of each density [m]; zero without smoke.
    height: [f64; 3],
    /// Rectangles of the controls: left, top, right, bottom [px].
    places: BTreeMap<&'static str, [f32; 4]>,
    /// Left, bottom, width, height [px].
    viewport: [u32; 4],
    fps: f32,
    draw_ms: f32,
    step_ms: f32,
    lag: f64,
    divide: u32,
}

#[derive(Serialize)]
struct Camera {
    position: [f32; 3],
    target: [f32; 3],
}

/// One of two compared sides.
#[derive(Serialize)]
struct Compared {
    step: u64,
    time: f64,
    params: BTreeMap<&'static str, f32>,
    /// Integral of each density [m³].
    mass: [f64; 3],
    /// Left, bottom, width, height [px].
    viewport: [u32; 4],
}

#[derive(Serialize)]
struct Cursor {
    center: [f32; 3],
    radius: f32,
    shown: bool,
}

/// State of the window outside the session.
pub(super) struct Seen {
    pub(super) frame: u64,
    pub(super) viewport: [u32; 4],
    /// The parts of the view with a picture each.
    pub(super) parts: Vec<[u32; 4]>,
    pub(super) divide: u32,
    pub(super) places: BTreeMap<&'static str, [f32; 4]>,
}

impl StateFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, last: String::new(), masses: None }
    }

    /// Writes the state if it differs from the file. The file is always whole.
    pub(super) fn write(&mut self, session: &Session, seen: Seen) {
        let snapshot = session.shown();
        let instant = (snapshot.serial, snapshot.time);
        let masses = match self.masses {
            Some((of, masses)) if of == instant => masses,
            _ => self.masses.insert((instant, masses(snapshot))).1,
        };
        let state = state(session, seen, masses);
        let text = serde_json::to_string(&state).expect("plain numbers and names");
        if text == self.last {
            return;
        }
        match whole::write(&self.path, |file| file.write_all(text.as_bytes())) {
            Ok(()) => self.last = text,
            Err(error) => tracing::warn!("{error}"),
        }
    }
}

fn state(session: &Session, seen: Seen, (mass, height): Masses) -> State<'_> {
    let (model, readout, snapshot) = (&session.model, &session.readout, session.shown());
    let camera = session.orbit.camera();
    State {
        frame: seen.frame,
        serial: snapshot.serial,
        time: snapshot.time,
        step: snapshot.stats.step,
        state: match readout.status.state {
            crate::worker::RunState::Running => "running",
            crate::worker::RunState::Paused => "paused",
            crate::worker::RunState::Failed(_) => "failed",
        },
        pausing: readout.pausing,
        view: match session.mode() {
            Mode::Smoke => "smoke",
            Mode::Velocity => "velocity",
            Mode::Streamlines => "streamlines",
            Mode::Speed => "speed",
            Mode::Vorticity => "vorticity",
            Mode::Slice(_) => "slice",
        },
        notice: readout.notice.as_deref(),
        scene: &model.settings.scene.name,
        loading: model.loading.as_deref(),
        dialog: model.dialog.as_ref().map(|dialog| match dialog {
            Dialog::Leave(_) => "leave",
            Dialog::Path(PathForm { purpose: Purpose::Open, .. }) => "open",
            Dialog::Path(PathForm { purpose: Purpose::Save, .. }) => "save",
            Dialog::Path(PathForm { purpose: Purpose::Add(_), .. }) => "add",
        }),
        dialog_error: model.dialog.as_ref().and_then(|dialog| match dialog {
            Dialog::Leave(_) => None,
            Dialog::Path(form) => form.error.as_deref(),
        }),
        undoes: model.history.undoes(),
        frames: model.playback.range,
        past: model.playback.at,
        bytes: [model.playback.bytes, readout.status.stored_bytes],
        unsaved: session.is_unsaved(),
        panel: model.panel,
        help: model.help,
        ink: model.settings.brush.ink.name(),
        erases: model.settings.brush.erases,
        parallel: session.is_parallel(),
        sources: model.settings.scene.sources.len(),
        solids: model.settings.scene.solids.len(),
        solid_positions: snapshot.solids.iter().map(|solid| place(snapshot, solid.position)).collect(),
        handles: session.seen_handles(),
        exporting: model.exporting.as_ref().map(|progress| [progress.done, progress.total]),
        params: params(&model.settings.params),
        compared: session.is_comparing().then(|| {
            Side::BOTH.map(|side| {
                let snapshot = session.shown_of(side);
                Compared {
                    step: snapshot.stats.step,
                    time: snapshot.time,
                    params: params(&model.settings.of_side(side).params),
                    mass: masses(snapshot).0,
                    viewport: seen.parts.get(side as usize).copied().unwrap_or_default(),
                }
            })
        }),
        side: session.side().letter(),
        camera: Camera { position: camera.position, target: camera.target },
        cursor: Cursor {
            center: session.cursor.center.into(),
            radius: session.cursor.radius,
            shown: session.ball().is_some(),
        },
        mass,
        height,
        places: seen.places,
        viewport: seen.viewport,
        fps: readout.fps,
        draw_ms: readout.draw_ms,
        step_ms: readout.status.step.as_secs_f32() * 1e3,
        lag: readout.status.lag,
        divide: seen.divide,
    }
}

/// Returns the parameters of the model by their paths.
fn params(params: &crate::solver::Params) -> BTreeMap<&'static str, f32> {
    let number = |parameter: &'static Parameter| match params.value_of(parameter)? {
        Value::Number(x) => Some((parameter.path.as_str(), x)),
        _ => None,
    };
    parameter::all().filter_map(number).collect()
}

/// Converts a position from the corner of the box to coordinates of the scene \[m\].
fn place(snapshot: &Snapshot, p: [f32; 3]) -> [f32; 3] {
    let corner = snapshot.corner();
    [0, 1, 2].map(|a| p[a] + corner[a])
}

fn masses(snapshot: &Snapshot) -> Masses {
    let (dims, h, bricks) = (snapshot.dims, f64::from(snapshot.h), snapshot.bricks.dims);
    let (mut mass, mut moment) = ([0.0; 3], [0.0; 3]);
    for (row, cells) in snapshot.smoke.chunks(dims.nx).enumerate() {
        let (j, k) = (row % dims.ny, row / dims.ny);
        let y = (j as f64 + 0.5) * h;
        for (i, cells) in cells.chunks(BRICK).enumerate() {
            let max = snapshot.bricks.max[bricks.index(i, j / BRICK, k / BRICK)];
            for c in (0..3).filter(|&c| max[c].to_f32() != 0.0) {
                let m = cells.iter().map(|cell| f64::from(cell[c].to_f32())).sum::<f64>() * h.powi(3);
                mass[c] += m;
                moment[c] += m * y;
            }
        }
    }
    (mass, std::array::from_fn(|c| if mass[c] > 0.0 { moment[c] / mass[c] } else { 0.0 }))
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::grid::Dims;

    #[test]
    fn the_middle_of_one_full_cell_is_its_own() {
        let mut snapshot = Snapshot::empty(Dims::new([3, 4, 5]).unwrap(), 0.5);
        let at = snapshot.dims.index(1, 2, 3);
        snapshot.smoke[at][1] = f16::from_f32(2.0);
        snapshot.bricks.update(snapshot.dims, &snapshot.smoke);
        let (mass, height) = masses(&snapshot);
        assert_eq!(mass, [0.0, 0.25, 0.0]);
        assert_eq!(height, [0.0, 1.25, 0.0]);
    }
}
