//! `updraft simulate`: simulates a scene and writes numbers.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;

use super::checkpoint::Checkpoint;
use super::folder::RunFolder;
use super::frames::Frames;
use super::means::FieldMeans;
use super::progress::Progress;
use super::run_flow::RunFlow;
use super::run_options::{self, RunOptions};
use super::run_scene;
use super::run_start;
use super::run_tables::{Tables, moved_box};
use super::simulate_args::{Format, Precision, SimulateArgs};
use super::simulation::Run;
use super::steady::Steady;
use super::{CliError, Common, interrupt, say_line, tell};
use crate::comm::Comm;
use crate::field::{self, Field};
use crate::npz;
use crate::output::lock::{Lock, Share};
use crate::output::whole::{self, Existing};
use crate::output::{OutputError, vti};
use crate::scene::Scene;
use crate::solver::Solver;
use crate::volume::{self, Frame, VdbOptions};

/// Runs the command.
pub fn run(args: &SimulateArgs, common: &Common) -> Result<(), CliError> {
    let folder = RunFolder::at(&args.out);
    let saved =
        if args.resume { Checkpoint::open(&folder.checkpoint(), common.comm.as_deref())? } else { None };
    if is_kept_flow_given(args, &folder, saved.as_ref()) == Some(true) {
        return Err(CliError::Request(format!(
            "{}: its smoke moves through the flow of another run; continue with `updraft detail RUN --resume`",
            args.out.display()
        )));
    }
    let options = RunOptions::of(args, saved.as_ref(), &RunOptions::default())?;
    options.refuse_idle(args, "--up")?;
    let scene = run_start::scene(args, common, &folder, saved.as_ref())?;
    let input = args.scene.as_ref().map_or_else(|| folder.scene(), PathBuf::from);
    let restarts = saved.is_none() && run_start::restarts(args, common, &scene, Some(&input), &folder)?;
    let replaces = common.force || args.skip_existing || saved.is_some() || restarts;
    let existing = Existing::forced(replaces);
    let again = ["updraft", "simulate", "--resume", "--out"].map(str::to_owned).to_vec();
    let again = again_with(again, args);
    let comm = common.comm.clone();
    let clears = is_clearing(args, common, saved.as_ref());
    let job = Job { args, options, scene: &scene, folder: &folder, existing, restarts, clears, again, comm };
    job.check()?;
    job.run(saved, common, None)
}

/// If `args` continue the run in `folder` or keep its frames, returns whether that run moved through the flow
/// of another, from its checkpoint or its scene.
fn is_kept_flow_given(args: &SimulateArgs, folder: &RunFolder, saved: Option<&Checkpoint>) -> Option<bool> {
    let keeps = (args.resume || args.skip_existing) && folder.scene().exists();
    let by_scene = || keeps.then(|| folder.has_given_flow());
    saved.map(|saved| saved.head.has_given_flow).or_else(by_scene)
}

/// Completes `words` to the command that continues a run in the folder of `args`.
fn again_with(mut words: Vec<String>, args: &SimulateArgs) -> String {
    words.push(args.out.display().to_string());
    words.extend(args.skip_existing.then(|| "--skip-existing".to_owned()));
    run_options::command(words)
}

/// A run of smoke alone, through the flow of another run.
pub(super) struct Detail<'a> {
    /// The scene with finer smoke.
    pub scene: &'a Scene,
    /// The file of the scene of the flow.
    pub input: PathBuf,
    /// Default options.
    pub usual: RunOptions,
    /// The command that continues the run, up to `--out`.
    pub again: Vec<String>,
}

/// Simulates smoke alone, through `flow`.
pub(super) fn through(
    args: &SimulateArgs,
    common: &Common,
    detail: Detail,
    flow: RunFlow,
) -> Result<(), CliError> {
    let Detail { scene, input, usual, again } = detail;
    let folder = RunFolder::at(&args.out);
    if run_start::is_same(&input, &folder.scene()) {
        let text = "is the folder of the flow; choose another --out";
        return Err(CliError::Request(format!("{} {text}", args.out.display())));
    }
    let saved =
        if args.resume { Checkpoint::open(&folder.checkpoint(), common.comm.as_deref())? } else { None };
    if is_kept_flow_given(args, &folder, saved.as_ref()) == Some(false) {
        let text = "its run computed its own flow; continue with `updraft simulate --resume`";
        return Err(CliError::Request(format!("{}: {text}", args.out.display())));
    }
    if let Some(saved) = &saved {
        saved.check(
            scene,
            true,
            "give --up, --strength and --set as the run began, or choose another --out",
        )?;
    }
    let options = RunOptions::of(args, saved.as_ref(), &usual)?;
    options.refuse_idle(args, "--up-axis")?;
    let restarts = saved.is_none() && run_start::restarts(args, common, scene, None, &folder)?;
    let existing = Existing::forced(common.force || args.skip_existing || saved.is_some() || restarts);
    if options.fields.contains(&Field::Pressure) {
        return Err(CliError::Request(
            "--fields pressure: the flow of another run has none; leave pressure out".into(),
        ));
    }
    let (again, comm) = (again_with(again, args), common.comm.clone());
    let clears = is_clearing(args, common, saved.as_ref());
    let job = Job { args, options, scene, folder: &folder, existing, restarts, clears, again, comm };
    job.run(saved, common, Some(flow))
}

/// Returns whether a run removes all files of an earlier run in the folder.
fn is_clearing(args: &SimulateArgs, common: &Common, saved: Option<&Checkpoint>) -> bool {
    common.force && !args.skip_existing && saved.is_none()
}

/// Removes the file at `path`, if it exists.
fn remove(path: &Path) -> Result<(), OutputError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(OutputError::Write { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Output of a run.
struct Job<'a> {
    args: &'a SimulateArgs,
    options: RunOptions,
    scene: &'a Scene,
    folder: &'a RunFolder,
    /// Treatment of existing files.
    existing: Existing,
    /// Whether the run replaces a run of the same scene that has no checkpoint.
    restarts: bool,
    /// Whether the run removes the files of an earlier one.
    clears: bool,
    /// The command that continues the run.
    again: String,
    /// The ranks that share the run. The first writes all files.
    comm: Option<Arc<dyn Comm>>,
}

impl Job<'_> {
    /// Returns whether this rank writes files.
    fn is_first(&self) -> bool {
        self.comm.as_ref().is_none_or(|comm| comm.rank() == 0)
    }

    /// Runs from the beginning or from a checkpoint to the last frame.
    fn run(&self, saved: Option<Checkpoint>, common: &Common, flow: Option<RunFlow>) -> Result<(), CliError> {
        let _lock = if self.is_first() { Some(self.lock()?) } else { None };
        let is_resumed = saved.is_some();
        let (run, tables) = match saved {
            Some(saved) => self.resume(saved, common, flow)?,
            None => {
                if self.restarts && !common.quiet {
                    let out = self.args.out.display();
                    tell(&format!(
                        "updraft: {out} has no checkpoint; its run begins anew, over its own files"
                    ));
                }
                self.begin(flow)?
            }
        };
        interrupt::catch();
        self.advance(run, tables, is_resumed, common)
    }

    /// Advances a run to its last frame. A run that `is_resumed` writes a checkpoint at its end, so that the
    /// same command finds it complete.
    fn advance(
        &self,
        mut run: Run,
        mut tables: Tables,
        is_resumed: bool,
        common: &Common,
    ) -> Result<(), CliError> {
        let mut progress = Progress::new(self.options.frames.last, common.quiet || !self.is_first());
        // Files that must be on the disk before the next checkpoint.
        let mut written = Vec::new();
        let mut steady = self.options.steady.map(Steady::new);
        let mut is_steady =
            |run: &Run| steady.as_mut().is_some_and(|steady| steady.reached(run.solver().stats()));
        let mut ends = self.options.has_ended || is_steady(&run);
        let last = self.options.frames.last;
        while run.frame() < last && !ends {
            let finished = run.step()?;
            tables.step(&mut run, finished)?;
            let frame = run.frame();
            if finished {
                ends = is_steady(&run);
                tables.flush()?;
                written.extend(self.write_frame(frame, ends, &mut run)?);
                progress.update(frame, &format!("{:.0} ms/step", run.ms_per_step()));
            }
            let signal = interrupt::by_any(self.comm.as_deref()).filter(|_| frame < last && !ends);
            let is_last = frame == last || ends;
            let is_due = |every: u32| frame.is_multiple_of(every) || is_last;
            let is_due = self.options.checkpoint_every.map_or(is_resumed && is_last, is_due);
            if signal.is_some() || finished && is_due {
                self.save(&mut run, &mut tables, &mut written, ends)?;
            }
            if let Some(by) = signal {
                return Err(CliError::Stopped(format!(
                    "{by}; {} has the run up to frame {frame}, continue with `{}`",
                    self.args.out.display(),
                    self.again
                )));
            }
        }
        // Also without a step left: a run that was killed after its last checkpoint lacks its means.
        self.write_means(&tables, run.solver())?;
        drop(progress);
        run.warn(common.quiet);
        say_line(&self.args.out.display().to_string())
    }

    /// Begins a run and its files.
    fn begin(&self, flow: Option<RunFlow>) -> Result<(Run, Tables), CliError> {
        let scene = self.scene;
        // Signals are caught only after this, and end the program at once until then: initial formulas may
        // take minutes, and nothing is written yet.
        let mut run = Run::new(scene, self.comm.clone(), interrupt::flag())?;
        interrupt::catch();
        let has_given_flow = flow.is_some();
        flow.into_iter().for_each(|flow| run.follow(flow));
        if let Some(comm) = self.comm.as_ref().filter(|comm| comm.size() > 1) {
            let [thin, thick] =
                [scene.config.dims.nz / comm.size(), scene.config.dims.nz.div_ceil(comm.size())];
            tracing::info!("{thin} to {thick} planes and {} threads on each rank", run.solver().threads());
        }
        self.keep_pressure(&mut run);
        let mut tables =
            if self.is_first() { self.begin_files(has_given_flow)? } else { Tables::none(scene) };
        tables.means = self.field_means(&run);
        tables.step(&mut run, true)?;
        tables.flush()?;
        let mut written = self.write_frame(0, false, &mut run)?;
        if self.options.checkpoint_every.is_some() {
            self.save(&mut run, &mut tables, &mut written, false)?;
        }
        Ok((run, tables))
    }

    /// Writes the first files of a run.
    fn begin_files(&self, has_given_flow: bool) -> Result<Tables, CliError> {
        let Self { scene, folder, existing, .. } = *self;
        let (tables, fields) = (self.tables(), self.fields());
        let replaces = existing == Existing::Replace;
        whole::prepare(tables.iter().map(PathBuf::as_path), replaces)
            .and_then(|()| whole::prepare(fields.iter().map(PathBuf::as_path), replaces))
            .map_err(CliError::Target)?;
        if self.clears {
            let text = scene.text()?;
            let is_read =
                |path: &PathBuf| path.file_name().is_some_and(|name| text.contains(&*name.to_string_lossy()));
            folder.results().iter().filter(|path| !is_read(path)).try_for_each(|path| remove(path))?;
        }
        remove(&folder.checkpoint())?;
        if !self.restarts {
            let text = run_scene::text(scene, has_given_flow)?;
            whole::write_over(&folder.scene(), existing, |file| {
                std::io::Write::write_all(file, text.as_bytes())
            })?;
        }
        Ok(Tables::create(scene, folder, existing)?)
    }

    /// Resumes a saved run. Files that it wrote after the checkpoint are written again.
    fn resume(
        &self,
        mut saved: Checkpoint,
        common: &Common,
        flow: Option<RunFlow>,
    ) -> Result<(Run, Tables), CliError> {
        let Self { scene, folder, .. } = self;
        let mut run = Run::resume(scene, self.comm.clone(), &mut saved, interrupt::flag())?;
        interrupt::catch();
        flow.map_or(Ok(()), |flow| run.follow_on(flow, scene, self.comm.clone()))?;
        self.keep_pressure(&mut run);
        let mut tables = Tables::none(scene);
        if self.is_first() {
            let mut paths = self.tables();
            paths.extend(self.fields());
            whole::prepare(paths.iter().map(PathBuf::as_path), true).map_err(CliError::Target)?;
            tables = Tables::resume(scene, folder, &saved.head.tables)?;
        }
        tables.means = self.field_means(&run);
        saved.restore_means(&mut tables.means())?;
        let before = saved.head.options.get("frames").and_then(|frames| frames.parse().ok());
        self.tell_missing(before.unwrap_or(self.options.frames), run.frame());
        if !common.quiet {
            let frame = run.frame();
            tell(&match frame == self.options.frames.last || self.options.has_ended {
                true => format!(
                    "updraft: {} is complete at frame {frame}; a later last frame in --frames extends it",
                    self.args.out.display()
                ),
                false => format!("updraft: continuing after frame {frame}"),
            });
        }
        Ok((run, tables))
    }

    /// Reports missing frames that are not written: wanted now, but not `before`, and not after the
    /// checkpoint at `frame`.
    fn tell_missing(&self, before: Frames, frame: u32) {
        let RunOptions { frames, format, .. } = &self.options;
        let is_missing = |&n: &u32| {
            !before.contains(n) && format.iter().any(|&format| !self.folder.fields(format, n).exists())
        };
        let missing: Vec<u32> = frames.iter().take_while(|&n| n <= frame).filter(is_missing).collect();
        if let (Some(first), true) = (missing.first(), self.is_first()) {
            let which = match missing.len() {
                1 => format!("frame {first} is"),
                n => format!("{n} frames from {first} on are"),
            };
            tell(&format!(
                "updraft: {which} missing in {} and not written: the run goes on after frame {frame}; begin it anew for them",
                self.args.out.display()
            ));
        }
    }

    fn field_means(&self, run: &Run) -> Option<FieldMeans> {
        let RunOptions { fields, mean_from, .. } = &self.options;
        mean_from.map(|from| FieldMeans::new(fields, from, run.solver()))
    }

    /// Fails if the scene cannot provide the wanted output.
    fn check(&self) -> Result<(), CliError> {
        let (config, options) = (&self.scene.config, &self.options);
        self.scene.check_sides_until(self.end()).map_err(CliError::Request)?;
        match () {
            () if config.frozen && options.fields.contains(&Field::Pressure) => {
                Err(CliError::Request("--fields pressure: a frozen flow has none; leave pressure out".into()))
            }
            () if config.follow.on && options.mean_from.is_some() => Err(CliError::Request(
                "--mean-from: the fields of a box that follows its smoke (domain.follow) have no mean over time".into(),
            )),
            // A run with a checkpoint may be extended.
            () if self.options.checkpoint_every.is_none() && !self.args.resume => self.check_mean(),
            () => Ok(()),
        }
    }

    /// Returns the instant of the last frame \[s\].
    fn end(&self) -> f64 {
        f64::from(self.options.frames.last) / f64::from(self.scene.time.frame_rate)
    }

    /// Fails if a mean begins at or after the end of the run: there would be none after hours of computing.
    fn check_mean(&self) -> Result<(), CliError> {
        let end = self.end();
        match self.options.mean_from {
            Some(from) if from >= end => Err(CliError::Request(format!(
                "--mean-from {from}: the run ends at {end} s, with frame {}; begin earlier, or give a later last frame",
                self.options.frames.last
            ))),
            _ => Ok(()),
        }
    }

    /// Locks the folder and removes what a killed run left in it.
    fn lock(&self) -> Result<Lock, CliError> {
        let mut paths: Vec<PathBuf> = self.tables().into_iter().chain(self.fields()).collect();
        whole::check_names(paths.iter().map(PathBuf::as_path)).map_err(CliError::Target)?;
        // The killed run may have written other files than this one will.
        paths.extend(Format::value_variants().iter().map(|&format| self.folder.fields(format, 1)));
        paths.extend([self.folder.series(), self.folder.means()]);
        paths.push(whole::with_number(&self.folder.checkpoint(), 0));
        let clean = || whole::clean_up(paths.iter().map(PathBuf::as_path));
        Lock::take(&self.folder.lock(), Share::Alone, clean).map_err(CliError::Target)
    }

    fn keep_pressure(&self, run: &mut Run) {
        if self.options.fields.contains(&Field::Pressure) {
            run.solver_mut().keep_pressure();
        }
    }

    /// Writes a checkpoint after all files that it relies on are on the disk; `has_ended` if the run became
    /// steady.
    fn save(
        &self,
        run: &mut Run,
        tables: &mut Tables,
        written: &mut Vec<PathBuf>,
        has_ended: bool,
    ) -> Result<(), CliError> {
        if !self.is_first() {
            let nothing = (BTreeMap::new(), BTreeMap::new());
            return Ok(run.save(&self.folder.checkpoint(), self.scene, nothing, &mut tables.means())?);
        }
        for path in written.drain(..) {
            whole::sync(&path).map_err(|source| OutputError::Write { path, source })?;
        }
        let kept = (tables.sync()?, self.options.texts(has_ended));
        Ok(run.save(&self.folder.checkpoint(), self.scene, kept, &mut tables.means())?)
    }

    /// Paths of the scene and the tables.
    fn tables(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.folder.scene(), self.folder.stats(), self.folder.checkpoint()];
        paths.extend(self.scene.probes.iter().map(|probe| self.folder.probe(&probe.name)));
        paths
    }

    /// Paths of the field files.
    fn fields(&self) -> Vec<PathBuf> {
        let RunOptions { frames, format: formats, mean_from, .. } = &self.options;
        let mut paths = Vec::new();
        for &format in formats {
            paths.extend(frames.iter().map(|frame| self.folder.fields(format, frame)));
        }
        if formats.contains(&Format::Vti) {
            paths.push(self.folder.series());
        }
        paths.extend(mean_from.map(|_| self.folder.means()));
        paths
    }

    /// Writes the means of the fields, if there are any.
    fn write_means(&self, tables: &Tables, solver: &Solver) -> Result<(), OutputError> {
        let Some(means) = &tables.means else { return Ok(()) };
        let Some([from, time]) = means.span() else {
            tell("updraft: the run has ended before --mean-from; there is no mean.npz");
            return Ok(());
        };
        let count = means.fields().len();
        if !self.is_first() {
            // This rank passes its planes to the first.
            let passed = (0..count).try_for_each(|n| means.planes(n, solver, |_| Ok(())));
            return passed.map_err(|source| OutputError::Write { path: self.folder.means(), source });
        }
        let mut numbers = vec![
            ("time", from + time),
            ("voxel", solver.config().h.into()),
            ("mean_from", from),
            ("mean_over", time),
        ];
        numbers.extend(smoke_voxel(solver));
        whole::write_over(&self.folder.means(), self.existing, |file| {
            let about = field::about(means.fields(), solver.config().corner());
            let mut next = 0..count;
            npz::write_pieces(file, &numbers, &about, &shapes(means.fields(), solver), |put| {
                next.next().map_or(Ok(()), |n| means.planes(n, solver, |plane| put(plane)))
            })
        })
    }

    /// Writes the fields of a frame if it is a wanted one, or the last of a run that `ends` early. Returns
    /// the written files.
    fn write_frame(&self, frame: u32, ends: bool, run: &mut Run) -> Result<Vec<PathBuf>, OutputError> {
        let Self { args, folder, options, .. } = self;
        if !(options.frames.contains(frame) || ends) {
            return Ok(vec![]);
        }
        let mut written = Vec::new();
        for &format in &options.format {
            let path = self.folder.fields(format, frame);
            // The first rank sees which files exist.
            let is_wanted = self.is_first() && !(args.skip_existing && path.exists());
            if !run.solver().any_rank(is_wanted) {
                continue;
            }
            if format == Format::Vdb {
                run.solver_mut().exchange_leaves();
            }
            if self.is_first() {
                whole::write_over(&path, self.existing, |file| {
                    self.write_fields(format, file, frame, run.solver())
                })?;
                written.push(path);
            } else {
                // This rank passes its planes to the first.
                let passed = self.write_fields(format, io::empty(), frame, run.solver());
                passed.map_err(|source| OutputError::Write { path, source })?;
            }
        }
        if options.format.contains(&Format::Vti) && self.is_first() {
            whole::write(&folder.series(), |file| {
                let rate = f64::from(self.scene.time.frame_rate);
                let path = |frame: u32| folder.fields(Format::Vti, frame);
                let name =
                    |frame: u32| path(frame).file_name().unwrap_or_default().to_string_lossy().into_owned();
                // A resumed run may have begun later than its frames, or in another format.
                let before = options.frames.iter().take_while(|&other| other < frame);
                let before = before.filter(|&other| path(other).exists());
                let frames = before.chain([frame]);
                vti::write_series(file, frames.map(|frame| (f64::from(frame) / rate, name(frame))))
            })?;
            written.push(folder.series());
        }
        Ok(written)
    }

    fn write_fields(
        &self,
        format: Format,
        file: impl io::Write + io::Seek,
        frame: u32,
        solver: &Solver,
    ) -> io::Result<()> {
        let RunOptions { fields, up, precision, .. } = &self.options;
        let frame = Frame { number: frame, rate: self.scene.time.frame_rate };
        match format {
            Format::Npz => {
                if !self.is_first() {
                    return fields.iter().try_for_each(|field| field.planes(solver, |_| Ok(())));
                }
                let mut numbers = vec![
                    ("time", solver.stats().time),
                    ("voxel", solver.config().h.into()),
                    ("frame", frame.number.into()),
                    ("frame_rate", frame.rate.into()),
                ];
                numbers.extend(smoke_voxel(solver));
                numbers.extend(moved_box(solver));
                let arrays = shapes(fields, solver);
                let mut next = fields.iter();
                let about = field::about(fields, solver.config().corner());
                npz::write_pieces(file, &numbers, &about, &arrays, |put| {
                    next.next().map_or(Ok(()), |field| field.planes(solver, |plane| put(plane)))
                })
            }
            Format::Vdb => {
                let options = VdbOptions::of(&self.scene.look, *up, *precision == Precision::Half);
                volume::write_vdb(file, solver, fields, frame, options)
            }
            Format::Vti => volume::write_vti(file, solver, fields),
        }
    }
}

/// Returns names and shapes of `fields`, for a file.
fn shapes(fields: &[Field], solver: &Solver) -> Vec<(&'static str, [usize; 3])> {
    fields.iter().map(|field| (field.name(), field.shape(field.layout(solver).dims))).collect()
}

/// Returns the edge of the cells of smoke \[m\], for a file, if they are finer than those of the velocity.
fn smoke_voxel(solver: &Solver) -> Option<(&'static str, f64)> {
    let config = solver.config();
    (config.detail > 1).then(|| ("smoke_voxel", config.smoke_h().into()))
}
