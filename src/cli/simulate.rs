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

/// Simulate a scene and write what the flow is like.
#[derive(Debug, clap::Args)]
pub struct SimulateArgs {
    /// A built-in scene or a scene file
    #[arg(value_name = "SCENE", default_value = "plume")]
    scene: String,
    /// Frames whose fields are written: a range, or one; the run ends with the last. Frame 0 is the start
    #[arg(long, value_name = "A-B", default_value = "1-120", allow_hyphen_values = true)]
    frames: Frames,
    /// Folder to write stats.csv, probes and fields to
    #[arg(long, value_name = "DIR", default_value = "updraft-run")]
    out: PathBuf,
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
    for frame in 0..=args.frames.last {
        let advanced = run.advance(frame, |solver| Ok(tables.step(solver)?));
        tables.frame(run.solver())?;
        advanced.map_err(|error| explain(error, frame, &args.out))?;
        if frame >= args.frames.first && args.format.contains(&Format::Npz) {
            write_fields(&folder, frame, existing, &args.fields, run.solver())?;
        }
        progress.update(frame, &format!("{:.0} ms/step", run.ms_per_step()));
    }
    drop(progress);
    say(&format!("{}\n", args.out.display()))
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
        self.stats.row(row(solver.stats(), field::enstrophy(solver)))?;
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
                 iterations residual mass_red mass_green mass_blue heat kinetic_energy enstrophy";
    let stages = Stage::ALL.map(|stage| format!("ms_{}", stage.name().replace(' ', "_")));
    fixed.split_whitespace().map(str::to_owned).chain(stages).collect()
}

fn row(stats: &StepStats, enstrophy: f64) -> Vec<String> {
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
    row.extend(stats.stages.map(|stage| format!("{:.4}", stage.as_secs_f64() * 1e3)));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(row(&StepStats::default(), 0.0).len(), columns().len());
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
            stages: std::array::from_fn(|n| std::time::Duration::from_millis(17 + n as u64)),
        };
        let row = row(&stats, 16.0);
        let at = |name: &str| row[columns().iter().position(|column| column == name).unwrap()].as_str();
        for (n, name) in ["step", "time", "dt", "substeps", "cfl", "max_speed"].into_iter().enumerate() {
            assert_eq!(at(name).parse::<f64>().unwrap(), 1.0 + n as f64, "{name}");
        }
        assert_eq!([at("divergence_before"), at("divergence_after")], ["7.0", "8.0"]);
        assert_eq!([at("iterations"), at("residual")], ["9", "10.0"]);
        assert_eq!([at("mass_red"), at("mass_green"), at("mass_blue")], ["11.0", "12.0", "13.0"]);
        assert_eq!([at("heat"), at("kinetic_energy"), at("enstrophy")], ["14.0", "15.0", "16.0"]);
        assert_eq!(
            [at("ms_sources"), at("ms_advect_scalars"), at("ms_measure")],
            ["17.0000", "19.0000", "23.0000"]
        );
    }
}
