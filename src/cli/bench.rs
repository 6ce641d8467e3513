//! `updraft bench`: the cost of a step by stage, with the remaining divergence beside it.
//!
//! The box of the scene becomes a cube of each size in turn, as wide as the scene's smallest extent, and runs
//! until the smoke has spread. Then each step is as long as the CFL limit allows for one substep, so the work
//! per cell is the same for every size.
//!
//! On several ranks (`bench/rank_times.rs`) each box is full of smoke, and one, two, four and so on up to all
//! ranks share it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

mod cost_model;
mod picture_times;
mod rank_times;

use super::frames::Size;
use super::progress::Progress;
use super::{CliError, Common, interrupt, machine, say, say_json, simulation, traffic};
use crate::foreign;
use crate::output::whole::{self, Existing};
use crate::parameter::Subject;
use crate::scene::{Scene, SceneError, Share};
use crate::solver::{Config, Dab, Solver, Stage, StepStats};

/// Steps before timing: the smoke has spread and the caches are warm.
const WARM_UP: u32 = 12;

/// Time the solver, stage by stage.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// The scene whose smoke is simulated [default: a plume in still air]
    #[arg(long, value_name = "SCENE")]
    scene: Option<String>,
    /// Cells along each edge of the box
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "64,128")]
    #[arg(value_parser = clap::value_parser!(u32).range(8..=4096))]
    cells: Vec<u32>,
    /// Steps to time
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,
    /// Fill the whole box with smoke first
    #[arg(long, conflicts_with = "render")]
    full: bool,
    /// Time pictures of a still plume instead of steps, with the look that --set gives; the best of --steps pictures counts
    #[arg(long, conflicts_with_all = ["scene", "compare"])]
    render: bool,
    /// Size of the timed pictures, width and height [px]
    #[arg(long, value_name = "WxH", default_value = "640x480", requires = "render")]
    size: Size,
    /// Write the results as JSON; `-` prints them instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Show each time as a multiple of that in FILE, written by an earlier --json
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &BenchArgs, common: &Common) -> Result<(), CliError> {
    let is_first = common.comm.as_ref().is_none_or(|comm| comm.rank() == 0);
    if let Some(path) = args.json.as_ref().filter(|_| !args.prints_json() && is_first) {
        whole::prepare([path.as_path()], common.force).map_err(CliError::Target)?;
    }
    if let Some(comm) = common.comm.as_ref().filter(|comm| comm.size() > 1) {
        return rank_times::run(args, common, comm);
    }
    if args.prints_json() && args.compare.is_some() {
        return Err(CliError::Request(
            "--compare has no effect here: it is a column of the table, which `--json -` replaces; write the JSON to a file".into(),
        ));
    }
    if args.render {
        return picture_times::run(args, common);
    }
    refuse_idle(common)?;
    let baseline = args.compare.as_deref().map(Baseline::read).transpose()?;
    let cases = cases(args, common)?;
    let mut results = Vec::new();
    args.say(&header(baseline.is_some()))?;
    let mut progress = Progress::new(cases.len() as u32, common.quiet);
    for case in &cases {
        progress.update(results.len() as u32, &format!("{}^3 on {} threads", case.cells, case.threads));
        let result = case.measure(args, interrupt::catch())?;
        args.say(&result.row(baseline.as_ref()))?;
        results.push(result);
    }
    drop(progress);
    if let Some(last) = results.last() {
        args.say(&last.floor())?;
    }
    warn_of_noise(&results);
    match &args.json {
        Some(path) => write_json(path, Existing::forced(common.force), args, &results),
        None => Ok(()),
    }
}

impl BenchArgs {
    /// Returns whether the JSON goes to standard output.
    fn prints_json(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// Returns whether the JSON goes to a file.
    pub fn writes_file(&self) -> bool {
        self.json.is_some() && !self.prints_json()
    }

    /// Prints a part of the table, unless JSON is printed in its place.
    fn say(&self, text: &str) -> Result<(), CliError> {
        if self.prints_json() { Ok(()) } else { say(text) }
    }
}

/// One size on one number of threads.
struct Case {
    cells: u32,
    threads: usize,
    scene: Scene,
}

/// Default scene. It never changes, unlike the built-in scenes, so that times of different versions can be
/// compared.
const STILL_AIR: &str = include_str!("bench/still_air.toml");

fn scene_name(args: &BenchArgs) -> &str {
    args.scene.as_deref().unwrap_or("still-air")
}

/// Reads the scene that is timed.
fn scene(args: &BenchArgs, overrides: &[String], share: Share) -> Result<Scene, SceneError> {
    match &args.scene {
        Some(named) => Scene::load_shared(named, overrides, share),
        None => Scene::parse_shared(scene_name(args), STILL_AIR, overrides, share),
    }
}

/// Refuses overrides without an effect on the time of a step.
fn refuse_idle(common: &Common) -> Result<(), CliError> {
    common.refuse_idle(|parameter| {
        let why = match parameter.path.as_str() {
            "domain.cells" => "--cells says how many; leave it out",
            "solver.threads" => "--threads says how many; leave it out",
            "time.max_substeps" => "a timed step is one substep; leave it out",
            _ if !parameter.acts_on(&[Subject::Air, Subject::Smoke, Subject::Machine]) => {
                "it changes pictures, and steps are timed; leave it out, or add --render"
            }
            _ => return None,
        };
        Some(why.into())
    })
}

/// Lists every size with every number of threads. All are checked before the first runs.
fn cases(args: &BenchArgs, common: &Common) -> Result<Vec<Case>, CliError> {
    let threads: Vec<usize> = match common.threads.as_slice() {
        [] if machine::processors() == 1 => vec![1],
        [] => vec![1, machine::processors()],
        list => list.iter().map(|&n| if n == 0 { machine::processors() } else { n.into() }).collect(),
    };
    let base = scene(args, &common.set, common.share)?;
    let width = base.extent().into_iter().fold(f32::INFINITY, f32::min);
    let mut cases = Vec::new();
    for &cells in &args.cells {
        let mut overrides = common.set.clone();
        overrides.push(format!("domain.cells=[{cells}, {cells}, {cells}]"));
        overrides.push(format!("domain.voxel={}", width / cells as f32));
        let mut scene = scene(args, &overrides, common.share)?;
        scene.config.time.max_substeps = 1;
        for &threads in &threads {
            scene.config.threads = threads;
            cases.push(Case { cells, threads, scene: scene.clone() });
        }
    }
    Ok(cases)
}

impl Case {
    fn measure(&self, args: &BenchArgs, cancel: &AtomicBool) -> Result<Measured, CliError> {
        let mut solver = self.scene.solver().map_err(|e| CliError::Request(e.to_string()))?;
        if args.full {
            fill(&mut solver, self.scene.extent())?;
        }
        for _ in 0..WARM_UP {
            self.step(&mut solver, cancel)?;
        }
        let mut steps = Vec::with_capacity(args.steps as usize);
        for _ in 0..args.steps {
            steps.push(self.step(&mut solver, cancel)?);
        }
        let bytes = Solver::memory(&self.scene.config, !self.scene.solids.is_empty());
        let bandwidth = traffic::copy_bandwidth(self.threads)?;
        Ok(Measured {
            cells: self.cells,
            config: self.scene.config.clone(),
            threads: self.threads,
            steps,
            bytes,
            bandwidth,
        })
    }

    /// Takes one step as long as the CFL limit allows, or one frame if the air hardly moves.
    fn step(&self, solver: &mut Solver, cancel: &AtomicBool) -> Result<StepStats, CliError> {
        let speed = solver.stats().max_speed.max(1e-6);
        let dt =
            (self.scene.config.time.cfl * self.scene.config.h / speed).min(1.0 / self.scene.time.frame_rate);
        solver.step_cancellable(dt, cancel).cloned().map_err(simulation::stopped)
    }
}

/// Fills every cell with smoke of every colour.
fn fill(solver: &mut Solver, extent: [f32; 3]) -> Result<(), CliError> {
    let size = extent.into_iter().fold(0.0, f32::max);
    let center = extent.map(|e| 0.5 * e);
    let dab = Dab { center, radius: 100.0 * size, add: [0.2, 0.2, 0.2, 0.0], push: [0.0; 3], erase: 0.0 };
    solver.dab(&dab).map_err(CliError::Solver)
}

/// Results of one case.
struct Measured {
    cells: u32,
    config: Config,
    threads: usize,
    steps: Vec<StepStats>,
    /// Memory of the solver \[bytes\].
    bytes: u64,
    /// Copy bandwidth of the same number of threads \[B/s\].
    bandwidth: f64,
}

/// Median and quartiles of a sample.
#[derive(Clone, Copy)]
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(mut sample: Vec<f64>) -> Self {
        sample.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = part * (sample.len() - 1) as f64;
            let (below, above) = (sample[place.floor() as usize], sample[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Self { low: at(0.25), median: at(0.5), high: at(0.75) }
    }

    /// Returns half the interquartile range over the median.
    fn relative(self) -> f64 {
        if self.median > 0.0 { 0.5 * (self.high - self.low) / self.median } else { 0.0 }
    }

    fn json(self) -> Value {
        json!({ "median": self.median, "lower_quartile": self.low, "upper_quartile": self.high })
    }
}

impl Measured {
    /// Returns the number of cells of smoke, which may be finer than those of the velocity.
    fn count(&self) -> f64 {
        (f64::from(self.cells) * self.config.detail as f64).powi(3)
    }

    /// Returns nanoseconds per cell of smoke; `time` selects a time of a step \[s\].
    fn ns(&self, time: impl Fn(&StepStats) -> f64) -> Spread {
        let cells = self.count();
        Spread::of(self.steps.iter().map(|step| time(step) * 1e9 / cells).collect())
    }

    fn total(&self) -> Spread {
        self.ns(|step| step.wall().as_secs_f64())
    }

    fn stage(&self, stage: Stage) -> Spread {
        self.ns(|step| step.stages[stage as usize].as_secs_f64())
    }

    fn bytes_per_cell(&self) -> f64 {
        self.bytes as f64 / self.count()
    }

    /// Returns the nanoseconds per cell that the memory traffic alone would take.
    fn floor_ns(&self, stage: Stage) -> Option<f64> {
        traffic::bytes(stage, &self.config).map(|bytes| bytes / self.bandwidth * 1e9)
    }

    /// Formats the traffic of each stage, and its time relative to the floor.
    fn floor(&self) -> String {
        let mut table = format!(
            "\n{}^3 on {} threads: {:.0} bytes a cell; memory copies at {:.1} GB/s\n{:<16}  {:>7}  {:>10}  {:>8}  {:>5}\n",
            self.cells,
            self.threads,
            self.bytes_per_cell(),
            self.bandwidth / 1e9,
            "stage",
            "ns/cell",
            "bytes/cell",
            "floor ns",
            "times"
        );
        for stage in Stage::ALL {
            let (Some(bytes), Some(floor)) = (traffic::bytes(stage, &self.config), self.floor_ns(stage))
            else {
                continue;
            };
            let ns = self.stage(stage).median;
            table += &format!(
                "{:<16}  {ns:>7.2}  {bytes:>10.0}  {floor:>8.2}  {:>5.1}\n",
                stage.name(),
                ns / floor
            );
        }
        table
    }

    /// Returns the largest max |∇·u| h / max |u| after the projection of any step.
    fn divergence_left(&self) -> f64 {
        self.steps.iter().map(|step| f64::from(step.divergence_after)).fold(0.0, f64::max)
    }

    fn ms_per_step(&self) -> f64 {
        self.total().median * self.count() / 1e6
    }

    fn row(&self, baseline: Option<&Baseline>) -> String {
        let total = self.total();
        let mut row = format!(
            "{:>6}  {:>7}  {:>8.1}  {:>7.1}  {:>5.1}%",
            format!("{}^3", self.cells),
            self.threads,
            self.ms_per_step(),
            total.median,
            100.0 * total.relative()
        );
        for stage in Stage::ALL {
            row += &format!("  {:>width$.2}", self.stage(stage).median, width = stage.name().len());
        }
        row += &format!("  {:>10.1e}", self.divergence_left());
        if let Some(before) = baseline {
            let ratio = before.ns(self.cells, self.threads).map(|ns| total.median / ns);
            row += &ratio.map_or_else(|| format!("  {:>8}", "-"), |ratio| format!("  {ratio:>7.2}x"));
        }
        row + "\n"
    }

    fn json(&self) -> Value {
        let stages: serde_json::Map<String, Value> =
            Stage::ALL.iter().map(|&stage| (stage.name().to_owned(), self.stage(stage).json())).collect();
        let last = self.steps.last();
        let floors: serde_json::Map<String, Value> =
            Stage::ALL.iter().map(|&stage| (stage.name().to_owned(), json!(self.floor_ns(stage)))).collect();
        let before = self.steps.iter().map(|step| f64::from(step.divergence_before)).fold(0.0, f64::max);
        json!({
            "cells": self.cells,
            "detail": self.config.detail,
            "threads": self.threads,
            "steps": self.steps.len(),
            "ms_per_step": self.ms_per_step(),
            "ns_per_cell_and_step": self.total().json(),
            "ns_per_cell_and_step_by_stage": stages,
            "ns_per_cell_at_copy_bandwidth_by_stage": floors,
            "copy_bandwidth_bytes_per_second": self.bandwidth,
            "bytes_per_cell": self.bytes_per_cell(),
            "peak_memory_bytes": traffic::peak_memory(),
            "divergence_before": before,
            "divergence_left": self.divergence_left(),
            "cfl": last.map(|step| step.cfl),
            "max_speed": last.map(|step| step.max_speed),
        })
    }
}

fn header(compared: bool) -> String {
    let mut header =
        format!("{:>6}  {:>7}  {:>8}  {:>7}  {:>6}", "cells", "threads", "ms/step", "ns/cell", "spread");
    for stage in Stage::ALL {
        header += &format!("  {}", stage.name());
    }
    let last = if compared { "  earlier" } else { "" };
    header + &format!("  {:>10}{last:>8}\n", "divergence")
}

/// Results of an earlier bench.
struct Baseline(Value);

impl Baseline {
    fn read(path: &Path) -> Result<Self, CliError> {
        let wrong =
            |what: String| CliError::Request(format!("cannot compare with {}: {what}", path.display()));
        let text = foreign::text(path, foreign::TEXT).map_err(|e| wrong(e.to_string()))?;
        let report: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        if !report["runs"].is_array() {
            return Err(wrong("it was not written by bench --json".into()));
        }
        if report["machine"] != machine::machine() {
            tracing::warn!("{} is from another machine", path.display());
        }
        Ok(Self(report))
    }

    /// Nanoseconds per cell and step of the same case.
    fn ns(&self, cells: u32, threads: usize) -> Option<f64> {
        let mut runs = self.0["runs"].as_array()?.iter();
        let same = runs.find(|run| run["cells"] == json!(cells) && run["threads"] == json!(threads))?;
        same["ns_per_cell_and_step"]["median"].as_f64().filter(|ns| *ns > 0.0)
    }
}

/// Warns if the timings scatter too much to be useful.
fn warn_of_noise(results: &[Measured]) {
    let noisy = results.iter().filter(|result| result.total().relative() > 0.1).count();
    if noisy > 0 {
        tracing::warn!(
            "{noisy} of {} timings scatter by more than 10 %: is the machine busy?",
            results.len()
        );
    }
}

fn write_json(
    path: &Path,
    existing: Existing,
    args: &BenchArgs,
    results: &[Measured],
) -> Result<(), CliError> {
    write_report(
        path,
        existing,
        &json!({
            "build": machine::build(),
            "machine": machine::machine(),
            "scene": scene_name(args),
            "full": args.full,
            "runs": results.iter().map(Measured::json).collect::<Vec<_>>(),
        }),
    )
}

/// Writes a report to the file at `path`, or to standard output if that is `-`.
fn write_report(path: &Path, existing: Existing, report: &Value) -> Result<(), CliError> {
    if path == Path::new("-") {
        return say_json(report);
    }
    let write = |file: &mut std::io::BufWriter<std::fs::File>| {
        serde_json::to_writer_pretty(&mut *file, report)?;
        std::io::Write::write_all(file, b"\n")
    };
    Ok(whole::write_over(path, existing, write)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_a_known_sample() {
        let spread = Spread::of(vec![5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!((spread.low, spread.median, spread.high), (2.0, 3.0, 4.0));
        assert_eq!(Spread::of(vec![2.0]).median, 2.0);
        assert_eq!(Spread::of(vec![1.0, 2.0]).median, 1.5);
    }
}
