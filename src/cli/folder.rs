//! The folder of a simulated run: file names, and reading frames back.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use half::f16;

use super::frames::Frames;
use super::run_scene;
use super::simulate_args::Format;
use super::stored_frame::{RunNumbers, StoredFrame};
use super::{CliError, Common};
use crate::field::Field;
use crate::foreign;
use crate::grid::Dims;
use crate::parameter::{Parameter, Subject};
use crate::scene::Scene;
use crate::snapshot::{Bricks, Motion, Snapshot, SnapshotSlab, SolidPose, above_ground};
use crate::solver::{Config, Solid, StoredMotion, refuse_on_ranks};

/// A folder with `scene.toml`, `stats.csv`, a `probe-NAME.csv` for each probe, for each frame `fields.NNNN.npz`, `.vdb` or
/// `.vti`, `mean.npz`, and `checkpoint`.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Numbers that its frames must have, if they are checked.
    run: Option<RunNumbers>,
}

/// Returns the name of the folder at `path`, also if that is `.` or `..`.
pub fn name_of(path: &Path) -> Option<OsString> {
    let named = path.file_name().map(OsString::from);
    named.or_else(|| path.canonicalize().ok()?.file_name().map(OsString::from))
}

impl RunFolder {
    /// Makes a run folder at `path`, which need not exist.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), run: None }
    }

    /// Opens the run at `path` for pictures. Returns also its scene, with the overrides of the command line
    /// and `changes`, under the name of the folder.
    ///
    /// # Errors
    /// If it is no folder of a run, or if an override has no effect on pictures of it.
    pub fn for_pictures(path: &Path, common: &Common, changes: &[String]) -> Result<(Self, Scene), CliError> {
        let mut folder = Self::at(path);
        folder.check()?;
        folder.refuse_idle(common)?;
        let name = folder.scene().display().to_string();
        // The initial fields no longer matter.
        let changes = [&["initial={}".to_owned()], changes].concat();
        let mut scene = common.with_sets_of_config(acts_on_pictures).scene(&name, &changes)?;
        scene.name = name_of(path).map_or(scene.name, |name| name.to_string_lossy().into_owned());
        // An override may change the frame rate of a film, but not of the frames. Lists cost time and are not
        // needed here.
        let lists = ["source", "force", "solid", "light", "probe"].map(|list| format!("{list}=[]"));
        let stored = Scene::load_shared(&name, &[&changes[..1], &lists].concat(), common.share)?;
        folder.run = Some(RunNumbers {
            h: stored.config.h,
            smoke: Some((stored.config.smoke_dims(), stored.config.smoke_h())),
            rate: stored.time.frame_rate,
        });
        Ok((folder, scene))
    }

    /// Returns the path of the scene file, which includes the overrides of the run.
    pub fn scene(&self) -> PathBuf {
        self.path.join("scene.toml")
    }

    /// Returns whether its smoke moved through the flow of another run.
    pub fn has_given_flow(&self) -> bool {
        run_scene::has_given_flow(&self.scene())
    }

    /// Fails if the folder cannot be read or has no scene.
    pub fn check(&self) -> Result<(), CliError> {
        if let Err(error) = std::fs::read_dir(&self.path) {
            return Err(self.wrong(&format!("cannot be read: {error}")));
        }
        if self.scene().exists() {
            return Ok(());
        }
        Err(CliError::Request(format!(
            "{} has no scene.toml; name a folder that `updraft simulate` wrote",
            self.path.display()
        )))
    }

    /// Fails if an override has no effect on pictures of this run: its smoke is simulated already.
    fn refuse_idle(&self, common: &Common) -> Result<(), CliError> {
        common.refuse_idle(|parameter| {
            let dir = self.path.display();
            (!acts_on_pictures(parameter)).then(|| {
                format!(
                    "the smoke in {dir} is simulated already; leave it out, or simulate the run anew with it"
                )
            })
        })
    }

    /// Returns the path of the statistics of each step.
    pub fn stats(&self) -> PathBuf {
        self.path.join("stats.csv")
    }

    /// Returns the path of the table of the probe `name`.
    pub fn probe(&self, name: &str) -> PathBuf {
        self.path.join(format!("probe-{name}.csv"))
    }

    /// Returns the path of the fields of `frame` in a format.
    pub(super) fn fields(&self, format: Format, frame: u32) -> PathBuf {
        self.path.join(format!("fields.{frame:04}.{}", format.ending()))
    }

    /// Returns the path of the means of the fields over time.
    pub fn means(&self) -> PathBuf {
        self.path.join("mean.npz")
    }

    /// Returns the path of the list of the VTK images.
    pub fn series(&self) -> PathBuf {
        self.path.join("fields.pvd")
    }

    /// Returns the path of the lock of a running simulation.
    pub fn lock(&self) -> PathBuf {
        self.path.join(".updraft.lock")
    }

    /// Returns the path of the checkpoint.
    pub fn checkpoint(&self) -> PathBuf {
        self.path.join("checkpoint")
    }

    /// Returns whether a run in the folder has ended, complete or by an error: it took steps, and released
    /// its lock.
    pub fn has_ended(&self) -> bool {
        // Lines of the header, of the start, and of the first step.
        let has_steps = || csv_lines(&self.stats()).is_some_and(|lines| lines > 2);
        !self.lock().exists() && has_steps()
    }

    /// Lists all files of a run in the folder except its statistics, whose file the next run writes over and
    /// so keeps its permissions. The list is empty if the folder has no scene: such files are not those of a
    /// run.
    pub(super) fn results(&self) -> Vec<PathBuf> {
        let scene = self.scene();
        if !scene.exists() {
            return Vec::new();
        }
        let mut paths = vec![self.means(), self.series()];
        paths.extend(run_scene::probes(&scene).iter().map(|name| self.probe(name)));
        for &format in Format::value_variants() {
            let numbers = self.numbers(format).unwrap_or_default();
            paths.extend(numbers.into_iter().map(|number| self.fields(format, number)));
        }
        paths.retain(|path| path.symlink_metadata().is_ok_and(|found| !found.is_dir()));
        paths
    }

    /// Returns the frames in the folder, from the first to the last.
    pub fn frames(&self) -> Result<Frames, CliError> {
        let frames = self.frames_of_flow()?.list;
        // The step is the least distance of two frames; a missing frame is reported when it is read.
        let step = frames.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(1);
        match (frames.first(), frames.last()) {
            (Some(&first), Some(&last)) => Ok(Frames { first, last, step }),
            _ => Err(self.wrong("holds no frames")),
        }
    }

    /// Returns the numbers of the frames in a format, ascending.
    fn numbers(&self, format: Format) -> Result<Vec<u32>, CliError> {
        let entries =
            std::fs::read_dir(&self.path).map_err(|error| self.wrong(&format!("cannot be read: {error}")))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut numbers: Vec<u32> = names.filter_map(|name| frame_of(&name, format)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Returns the formats of the frames in the folder.
    pub fn formats(&self) -> Result<Vec<Format>, CliError> {
        let mut formats = Vec::new();
        for &format in Format::value_variants() {
            if !self.numbers(format)?.is_empty() {
                formats.push(format);
            }
        }
        Ok(formats)
    }

    fn wrong(&self, what: &str) -> CliError {
        CliError::Request(format!("{}: {what}", self.path.display()))
    }

    /// Returns the file with the fields of `frame` and its format: npz, or vdb if there is no such npz.
    pub fn stored(&self, frame: u32) -> (PathBuf, Format) {
        let [npz, vdb] = [Format::Npz, Format::Vdb].map(|format| self.fields(format, frame));
        if !npz.exists() && vdb.exists() { (vdb, Format::Vdb) } else { (npz, Format::Npz) }
    }

    /// Checks the npz among `frames` before the first picture, because hours of pictures may come before a
    /// faulty one. Volumes are read whole, so they are checked only when they are needed.
    ///
    /// # Errors
    /// If one cannot be read, or is of another run.
    pub fn check_frames(&self, mut frames: impl Iterator<Item = u32>) -> Result<(), CliError> {
        frames.try_for_each(|frame| match self.stored(frame) {
            (_, Format::Vdb) => Ok(()),
            _ => self.open(frame).map(drop),
        })
    }

    fn open(&self, frame: u32) -> Result<StoredFrame, CliError> {
        let (path, format) = self.stored(frame);
        let mut stored = StoredFrame::open(&path, format)?;
        self.run.map_or(Ok(()), |run| stored.check_run(frame, run))?;
        Ok(stored)
    }

    /// Returns the frames in the folder that can be read: npz, or vdb if there are none.
    pub fn frames_of_flow(&self) -> Result<FlowFrames, CliError> {
        for format in [Format::Npz, Format::Vdb] {
            let list = self.numbers(format)?;
            if !list.is_empty() {
                return Ok(FlowFrames { format, list });
            }
        }
        Err(self.wrong("holds no fields.NNNN.npz or .vdb; simulate with --format npz"))
    }

    /// Loads the fields of `frame` of `scene` into `snapshot`.
    pub fn load(&self, frame: u32, scene: &Scene, snapshot: &mut Snapshot) -> Result<(), CliError> {
        let (mut stored, config) = self.place_frame(frame, scene, snapshot)?;
        snapshot.smoke.resize(snapshot.dims.cells(), [f16::ZERO; 4]);
        read_smoke(&mut stored, &config, [0, snapshot.dims.nz], &mut snapshot.smoke)?;
        snapshot.stand_on_ground();
        snapshot.bricks = Bricks::of(snapshot.dims, &snapshot.smoke);
        Ok(())
    }

    /// Loads this rank's planes of `frame`, and those of the `halo` below and above, with their velocity if
    /// that is wanted. Each rank reads one field of the whole box at a time.
    pub fn load_slab(
        &self,
        frame: u32,
        scene: &Scene,
        slab: &mut SnapshotSlab,
        velocity: bool,
        halo: impl FnOnce(&Snapshot, Option<&Motion>) -> [usize; 2],
    ) -> Result<(), CliError> {
        let mut whole = slab.whole().clone();
        whole.smoke = Vec::new();
        let (mut stored, config) = self.place_frame(frame, scene, &mut whole)?;
        let refusal = refuse_on_ranks(&config, slab.comm().size());
        refusal.map_err(|error| CliError::Request(error.to_string()))?;
        let below = whole.stand_on_ground();
        let (dims, own) = (whole.dims, SnapshotSlab::share(slab.comm(), whole.dims.nz));
        let mut result = Ok(());
        let motion = velocity.then(|| {
            Motion::new(slab.comm(), dims, own, |planes, cells| {
                above_ground(dims, below, cells, |cells| {
                    result = read_velocity(&mut stored, &config, planes, cells);
                });
            })
        });
        result?;
        slab.set_motion(motion);
        let halo = halo(&whole, slab.motion());
        let mut result = Ok(());
        slab.load(whole, own, halo, |own, smoke| {
            above_ground(dims, below, smoke, |smoke| {
                result = read_smoke(&mut stored, &config, own, smoke);
            });
        });
        result
    }

    /// Opens the file of `frame` and sets all of `snapshot` but its smoke.
    fn place_frame(
        &self,
        frame: u32,
        scene: &Scene,
        snapshot: &mut Snapshot,
    ) -> Result<(StoredFrame, Config), CliError> {
        let mut stored = self.open(frame)?;
        let held = stored.fields(&SMOKE);
        if held.is_empty() {
            return Err(CliError::Request(format!(
                "{} has neither smoke nor temperature; simulate with --fields red,green,blue,temperature",
                self.stored(frame).0.display()
            )));
        }
        let time = f64::from(frame) / f64::from(scene.time.frame_rate);
        snapshot.time = stored.number("time").unwrap_or(time);
        snapshot.serial += 1;
        let config = place(&mut stored, scene)?;
        snapshot.place(&config, (scene.config.origin, scene.config.dims));
        snapshot.velocity.clear();
        // A shape is checked before memory is allocated for it.
        for field in stored.fields(&Field::STORED) {
            stored.check(field, &config)?;
        }
        let corner = snapshot.corner();
        let placed =
            |pose: SolidPose| SolidPose { position: [0, 1, 2].map(|a| pose.position[a] - corner[a]), ..pose };
        // A simulation gives each the mean velocity around the end of its last step; at the start none has one.
        let dt = if snapshot.time > 0.0 { scene.time.steps_per_frame().1 } else { 0.0 };
        let posed = |solid: &Solid| placed(solid.pose_around(snapshot.time, [dt; 2]));
        snapshot.solids = scene.solids.iter().map(posed).collect();
        Ok((stored, config))
    }
}

/// Returns whether a parameter acts on pictures of stored smoke.
fn acts_on_pictures(parameter: &Parameter) -> bool {
    parameter.acts_on(&[Subject::Picture, Subject::Machine])
}

/// The fields of a picture, in their order in a cell.
const SMOKE: [Field; 4] = [Field::Red, Field::Green, Field::Blue, Field::Temperature];

/// Reads the smoke and heat of the planes `from..to`; a field that the frame lacks is 0.
fn read_smoke(
    stored: &mut StoredFrame,
    config: &Config,
    [from, to]: [usize; 2],
    smoke: &mut [[f16; 4]],
) -> Result<(), CliError> {
    let held = stored.fields(&SMOKE);
    let plane = config.smoke_dims().nx * config.smoke_dims().ny;
    for (c, field) in SMOKE.into_iter().enumerate() {
        if !held.contains(&field) {
            smoke.iter_mut().for_each(|cell| cell[c] = f16::ZERO);
            continue;
        }
        let array = stored.array(field, config)?;
        for (cell, value) in smoke.iter_mut().zip(&array.values[from * plane..to * plane]) {
            cell[c] = f16::from_f32(*value);
        }
    }
    Ok(())
}

impl RunFolder {
    /// Loads the velocity of `frame`, at the centres, into a snapshot that holds its smoke.
    pub fn load_velocity(&self, frame: u32, scene: &Scene, snapshot: &mut Snapshot) -> Result<(), CliError> {
        let mut stored = self.open(frame)?;
        let config = place(&mut stored, scene)?;
        // The snapshot may have empty cells below the box.
        let below = snapshot.dims.ny.saturating_sub(config.smoke_dims().ny);
        snapshot.velocity.clear();
        snapshot.velocity.resize(snapshot.dims.cells(), [f16::ZERO; 4]);
        let mut result = Ok(());
        above_ground(snapshot.dims, below, &mut snapshot.velocity, |cells| {
            result = read_velocity(&mut stored, &config, [0, config.smoke_dims().nz], cells);
        });
        result
    }
}

/// Reads the velocity at the centres of the cells of smoke in the planes `from..to`.
fn read_velocity(
    stored: &mut StoredFrame,
    config: &Config,
    [from, to]: [usize; 2],
    velocity: &mut [[f16; 4]],
) -> Result<(), CliError> {
    let dims = config.smoke_dims();
    let mut finer = (config.detail > 1).then(|| StoredMotion::new(config));
    for (axis, field) in [Field::U, Field::V, Field::W].into_iter().enumerate() {
        let shape = field.shape(config.dims);
        let faces = stored.array(field, config)?.values;
        if let Some(finer) = &mut finer {
            finer.set(axis, &faces);
            continue;
        }
        let ahead = shape[..axis].iter().product::<usize>();
        let rows = velocity.chunks_exact_mut(dims.nx).take(dims.ny * (to - from));
        for (row, cells) in rows.enumerate() {
            let first = shape[0] * (row % dims.ny + shape[1] * (from + row / dims.ny));
            for (i, cell) in cells.iter_mut().enumerate() {
                cell[axis] = f16::from_f32(0.5 * (faces[first + i] + faces[first + i + ahead]));
            }
        }
    }
    if let Some(finer) = finer {
        finer.write([from, to], &mut velocity[..dims.nx * dims.ny * (to - from)]);
    }
    Ok(())
}

/// Returns the configuration of a frame: that of the scene, with the cells and the place of a box that
/// follows its smoke.
///
/// # Errors
/// If a volume is of such a box: only npz files hold its place.
fn place(stored: &mut StoredFrame, scene: &Scene) -> Result<Config, CliError> {
    let mut config = scene.config.clone();
    if let (true, StoredFrame::Vdb(path, _)) = (config.follow.on, &*stored) {
        return Err(CliError::Request(format!(
            "{}: the box followed its smoke (domain.follow), and only npz files say where it was; simulate with --format npz",
            path.display()
        )));
    }
    let mut numbers = |names: [&str; 3]| -> Option<[f64; 3]> {
        let [x, y, z] = names.map(|name| stored.number(name).filter(|x| x.abs() < 1e6));
        Some([x?, y?, z?])
    };
    let cells = numbers(["cells_x", "cells_y", "cells_z"]).map(|n| n.map(|n| n as usize));
    let first = numbers(["first_x", "first_y", "first_z"]).map(|n| n.map(|n| n as i32));
    if let (true, Some(dims), Some(first)) = (config.follow.on, cells.and_then(|n| Dims::new(n).ok()), first)
    {
        (config.dims, config.origin) = (dims, first);
    }
    Ok(config)
}

/// Counts the lines at the beginning of the table at `path`.
fn csv_lines(path: &Path) -> Option<usize> {
    let mut begin = Vec::new();
    foreign::open(path).ok()?.take(MOST_OF_TABLE).read_to_end(&mut begin).ok()?;
    Some(begin.iter().filter(|&&byte| byte == b'\n').count())
}

/// Bytes of a table that hold its first lines.
const MOST_OF_TABLE: u64 = 1 << 16;

/// Returns the frame number of a file name: 12 of `fields.0012.npz`.
fn frame_of(name: &str, format: Format) -> Option<u32> {
    name.strip_prefix("fields.")?.strip_suffix(format.ending())?.strip_suffix('.')?.parse().ok()
}

/// The frames of a run that hold its velocity.
pub struct FlowFrames {
    /// Format: npz or vdb.
    pub format: Format,
    /// Numbers of the frames, ascending, at least one.
    pub list: Vec<u32>,
}

impl FlowFrames {
    /// Returns the range from the first to the last frame, with the step between the first two. The last may
    /// come sooner, where a run became steady.
    ///
    /// # Errors
    /// If the list is empty, or if frames are missing.
    pub fn range(&self) -> Result<Frames, CliError> {
        let step = self.list.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(1);
        let is_gap = |pair: &&[u32]| pair[1] - pair[0] > step;
        if let Some(pair) = self.list.windows(2).find(is_gap) {
            let missing = pair[0] + step;
            return Err(CliError::Request(format!(
                "the run has no frame {missing} between {} and {}; simulate it anew with all frames",
                pair[0], pair[1]
            )));
        }
        match (self.list.first(), self.list.last()) {
            (Some(&first), Some(&last)) => Ok(Frames { first, last: last - (last - first) % step, step }),
            _ => Err(CliError::Request("the run has no frames".into())),
        }
    }
}
