//! `updraft simulate`: a scene to numbers.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::folder::RunFolder;
use super::frames::Frames;
use super::progress::Progress;
use super::simulation::Run;
use super::{CliError, Common, interrupt, say};
use crate::field::{self, Field};
use crate::npz;
use crate::output::OutputError;
use crate::output::csv::Csv;
use crate::output::whole::{self, Existing};
use crate::probe::Probe;
use crate::scene::Scene;
use crate::solver::{Solver, Stage, StepStats};
use crate::spread::{Spread, spread};

/// Simulate a scene and write what the flow is like.
#[derive(Debug, clap::Args)]
pub struct SimulateArgs {
    /// A built-in scene or a scene file
    #[arg(value_name = "SCENE", default_value = "plume")]
    scene: String,
    /// Frames whose fields are written: a range, every STEPth of it, or one; the run ends with the last. Frame 0 is the start
    #[arg(long, value_name = "A-B[:STEP]", default_value = "1-120", allow_hyphen_values = true)]
    frames: Frames,
    /// Folder to write stats.csv, probes and fields to
    #[arg(long, value_name = "DIR", default_value = "updraft-run")]
    out: PathBuf,
    /// End as soon as the kinetic energy has changed by less than this share a second for a whole second, with the fields of
    /// that frame
    #[arg(long, value_name = "SHARE")]
    steady: Option<f64>,
    /// How to write fields: npz. Without it there are numbers and no fields
    #[arg(long, value_name = "FORMAT", value_delimiter = ',')]
    format: Vec<Format>,
    /// Fields to write; by default those that a run can be started from
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "format")]
    #[arg(default_values_t = Field::STORED, hide_default_value = true)]
    fields: Vec<Field>,
}

/// A format for fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// NumPy arrays
    Npz,
}

/// Does what `args` ask for.
pub fn run(args: &SimulateArgs, common: &Common) -> Result<(), CliError> {
    let scene = common.scene(&args.scene, &[])?;
    let folder = RunFolder::at(&args.out);
    let paths = paths(args, &scene, &folder);
    let mut run = Run::new(&scene, interrupt::catch())?;
    whole::prepare(paths.iter().map(PathBuf::as_path), common.force).map_err(CliError::Target)?;
    let existing = Existing::forced(common.force);
    write_scene(&scene, &folder, existing)?;
    let mut tables = Tables::create(&scene, &folder, existing)?;
    let mut progress = Progress::new(args.frames.last, common.quiet);
    tables.step(run.solver())?;
    let mut steady = args.steady.map(Steady::new);
    for frame in 0..=args.frames.last {
        let advanced = run.advance(frame, |solver| Ok(tables.step(solver)?));
        tables.frame(run.solver())?;
        advanced.map_err(|error| explain(error, frame, &args.out))?;
        let ends = steady.as_mut().is_some_and(|steady| steady.reached(run.solver().stats()));
        if (args.frames.contains(frame) || ends) && args.format.contains(&Format::Npz) {
            write_fields(&folder, frame, existing, &args.fields, run.solver())?;
        }
        progress.update(frame, &format!("{:.0} ms/step", run.ms_per_step()));
        if ends {
            break;
        }
    }
    drop(progress);
    run.warn(common.quiet);
    say(&format!("{}\n", args.out.display()))
}

/// Tells when the flow has become steady.
struct Steady {
    /// Change of the kinetic energy that counts as none, as a share of it \[1/s\].
    share: f64,
    /// Time \[s\] and energy of the frame before.
    last: Option<(f64, f64)>,
    /// Time since which it has not changed \[s\].
    since: Option<f64>,
}

impl Steady {
    fn new(share: f64) -> Self {
        Self { share, last: None, since: None }
    }

    /// Whether the energy has hardly changed for a second. Air at rest is not steady: nothing has happened yet.
    fn reached(&mut self, stats: &StepStats) -> bool {
        let (time, energy) = (stats.time, stats.kinetic_energy);
        let Some((before, was)) = self.last.replace((time, energy)) else { return false };
        if energy > 0.0 && (energy - was).abs() < self.share * energy * (time - before) {
            time - *self.since.get_or_insert(before) >= 1.0
        } else {
            self.since = None;
            false
        }
    }
}

/// What a run that was stopped leaves.
fn explain(error: CliError, frame: u32, out: &Path) -> CliError {
    match error {
        CliError::Stopped(by) => {
            let done = frame.saturating_sub(1);
            CliError::Stopped(format!("{by}; {} holds the run up to frame {done}", out.display()))
        }
        other => other,
    }
}

/// Every file that will be there in the end.
fn paths(args: &SimulateArgs, scene: &Scene, folder: &RunFolder) -> Vec<PathBuf> {
    let mut paths = vec![folder.scene(), folder.stats()];
    paths.extend(scene.probes.iter().map(|probe| folder.probe(&probe.name)));
    if args.format.contains(&Format::Npz) {
        paths.extend(args.frames.iter().map(|frame| folder.fields(frame)));
    }
    paths
}

fn write_scene(scene: &Scene, folder: &RunFolder, existing: Existing) -> Result<(), CliError> {
    let text = scene.text()?;
    Ok(whole::write_over(&folder.scene(), existing, |file| std::io::Write::write_all(file, text.as_bytes()))?)
}

fn write_fields(
    folder: &RunFolder,
    frame: u32,
    existing: Existing,
    fields: &[Field],
    solver: &Solver,
) -> Result<(), OutputError> {
    let numbers = [("time", solver.stats().time), ("voxel", solver.config().h.into())];
    let arrays = fields.iter().map(|field| (field.name(), field.array(solver)));
    whole::write_over(&folder.fields(frame), existing, |file| npz::write(file, &numbers, arrays))
}

/// The tables of a run: a line a step, and for probes along lines, lines a frame.
struct Tables {
    stats: Csv,
    probes: Vec<(Probe, Csv)>,
}

impl Tables {
    fn create(scene: &Scene, folder: &RunFolder, existing: Existing) -> Result<Self, OutputError> {
        let probe = |probe: &Probe| {
            let csv = Csv::create(&folder.probe(&probe.name), existing, &probe.columns())?;
            Ok((probe.clone(), csv))
        };
        let probes = scene.probes.iter().map(probe).collect::<Result<_, OutputError>>()?;
        Ok(Self { stats: Csv::create(&folder.stats(), existing, &columns())?, probes })
    }

    /// The numbers of a step.
    fn step(&mut self, solver: &Solver) -> Result<(), OutputError> {
        self.stats.row(row(solver.stats(), field::enstrophy(solver), &spread(solver)))?;
        let of_steps = self.probes.iter_mut().filter(|(probe, _)| !probe.is_line());
        of_steps.into_iter().try_for_each(|(probe, csv)| measure(probe, csv, solver))
    }

    /// The numbers of a frame; what was written until now can be read.
    fn frame(&mut self, solver: &Solver) -> Result<(), OutputError> {
        for (probe, csv) in &mut self.probes {
            if probe.is_line() {
                measure(probe, csv, solver)?;
            }
            csv.flush()?;
        }
        self.stats.flush()
    }
}

fn measure(probe: &Probe, csv: &mut Csv, solver: &Solver) -> Result<(), OutputError> {
    let time = format!("{:?}", solver.stats().time);
    probe.measure(solver).into_iter().try_for_each(|reading| {
        let numbers = reading.at.into_iter().flatten().chain(reading.values);
        csv.row(std::iter::once(time.clone()).chain(numbers.map(|x| format!("{x:?}"))))
    })
}

fn columns() -> Vec<String> {
    let fixed = "step time dt substeps cfl max_speed divergence_before divergence_after \
                 iterations residual mass_red mass_green mass_blue heat kinetic_energy enstrophy substeps_missing";
    let places =
        ["red", "green", "blue"].map(|colour| ["x", "y", "z", "top"].map(|at| format!("{colour}_{at}")));
    let stages = Stage::ALL.map(|stage| format!("ms_{}", stage.name().replace(' ', "_")));
    let budget = ["emitted", "left", "faded"]
        .into_iter()
        .flat_map(|what| ["red", "green", "blue", "heat"].map(|of| format!("{what}_{of}")));
    let fixed = fixed.split_whitespace().map(str::to_owned);
    fixed.chain(places.into_iter().flatten()).chain(stages).chain(budget).collect()
}

fn row(stats: &StepStats, enstrophy: f64, spreads: &[Spread; 3]) -> Vec<String> {
    let single = |x: f32| format!("{x:?}");
    let double = |x: f64| format!("{x:?}");
    let mut row = vec![
        stats.step.to_string(),
        double(stats.time),
        single(stats.dt),
        stats.substeps.to_string(),
        single(stats.cfl),
        single(stats.max_speed),
        single(stats.divergence_before),
        single(stats.divergence_after),
        stats.iterations.to_string(),
        single(stats.residual),
    ];
    row.extend(stats.mass.map(double));
    row.extend([stats.heat, stats.kinetic_energy, enstrophy].map(double));
    row.push(stats.substeps_missing.to_string());
    row.extend(
        spreads.iter().flat_map(|of| [of.centroid[0], of.centroid[1], of.centroid[2], of.top]).map(double),
    );
    row.extend(stats.stages.map(|stage| format!("{:.4}", stage.as_secs_f64() * 1e3)));
    row.extend(stats.emitted.map(double));
    for budget in [stats.left, stats.faded] {
        row.extend((0..4).map(|c| budget.map_or(String::new(), |budget| double(budget[c]))));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: Spread = Spread { centroid: [0.0; 3], top: 0.0 };

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(row(&StepStats::default(), 0.0, &[NOWHERE; 3]).len(), columns().len());
    }

    #[test]
    fn a_flow_is_steady_after_a_second_without_change() {
        let mut steady = Steady::new(0.01);
        let ends: Vec<bool> = (0..40)
            .map(|frame| {
                let time = 0.125 * f64::from(frame);
                // Grows until 1.5 s.
                let kinetic_energy = time.min(1.5);
                steady.reached(&StepStats { time, kinetic_energy, ..StepStats::default() })
            })
            .collect();
        assert_eq!(ends.iter().position(|&end| end), Some(20), "{ends:?}");
        let mut still = Steady::new(0.01);
        assert!((0..40).all(|n| !still.reached(&StepStats { time: f64::from(n), ..StepStats::default() })));
    }

    #[test]
    fn each_number_stands_in_its_column() {
        let stats = StepStats {
            step: 1,
            time: 2.0,
            dt: 3.0,
            substeps: 4,
            cfl: 5.0,
            max_speed: 6.0,
            divergence_before: 7.0,
            divergence_after: 8.0,
            iterations: 9,
            residual: 10.0,
            mass: [11.0, 12.0, 13.0],
            heat: 14.0,
            kinetic_energy: 15.0,
            emitted: [24.0, 25.0, 26.0, 27.0],
            left: Some([28.0, 29.0, 30.0, 31.0]),
            faded: None,
            substeps_missing: 17,
            stages: std::array::from_fn(|n| std::time::Duration::from_millis(18 + n as u64)),
        };
        let place = |from: f64| Spread { centroid: [from, from + 1.0, from + 2.0], top: from + 3.0 };
        let row = row(&stats, 16.0, &[place(30.0), place(40.0), place(50.0)]);
        let at = |name: &str| row[columns().iter().position(|column| column == name).unwrap()].as_str();
        for (n, name) in ["step", "time", "dt", "substeps", "cfl", "max_speed"].into_iter().enumerate() {
            assert_eq!(at(name).parse::<f64>().unwrap(), 1.0 + n as f64, "{name}");
        }
        assert_eq!([at("divergence_before"), at("divergence_after")], ["7.0", "8.0"]);
        assert_eq!([at("iterations"), at("residual")], ["9", "10.0"]);
        assert_eq!([at("mass_red"), at("mass_green"), at("mass_blue")], ["11.0", "12.0", "13.0"]);
        assert_eq!([at("heat"), at("kinetic_energy"), at("enstrophy")], ["14.0", "15.0", "16.0"]);
        assert_eq!([at("emitted_red"), at("emitted_heat"), at("left_red")], ["24.0", "27.0", "28.0"]);
        assert_eq!([at("left_heat"), at("faded_red"), at("faded_heat")], ["31.0", "", ""]);
        assert_eq!(
            [at("substeps_missing"), at("red_x"), at("green_z"), at("blue_top")],
            ["17", "30.0", "42.0", "53.0"]
        );
        assert_eq!(
            [at("ms_sources"), at("ms_advect_scalars"), at("ms_measure")],
            ["18.0000", "20.0000", "24.0000"]
        );
    }
}
