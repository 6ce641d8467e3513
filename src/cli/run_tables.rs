//! The tables of a run: `stats.csv`, and one for each probe.

use std::collections::BTreeMap;
use std::path::Path;

use super::folder::RunFolder;
use super::means::{FieldMeans, Mean};
use super::simulation::Run;
use crate::field;
use crate::grid::GHOST;
use crate::output::OutputError;
use crate::output::csv::Csv;
use crate::output::whole::Existing;
use crate::probe::{Probe, ProbePlace};
use crate::scene::Scene;
use crate::solver::{Solver, Stage, StepStats};
use crate::spread::{Spread, spread};

/// Returns the cells of the velocity along each axis and the first cell, by name, for a box that follows its
/// smoke.
pub fn moved_box(solver: &Solver) -> impl Iterator<Item = (&'static str, f64)> {
    let (config, n) = (solver.config(), solver.config().dims.array().map(|n| n as f64));
    let first = config.origin.map(f64::from);
    let values = [n, first].concat();
    BOX.into_iter().zip(values).filter(|_| config.follow.on)
}

/// Names of the numbers of [`Solver::swirl_speeds`].
const SWIRLS: [&str; 2] = ["swirl_speed", "swirl_speed_uncapped"];

/// Names of the numbers of [`moved_box`].
const BOX: [&str; 6] = ["cells_x", "cells_y", "cells_z", "first_x", "first_y", "first_z"];

/// The tables of a run, with a line for each step and lines of probes when they are due, and the means over
/// time.
pub struct Tables {
    /// None on a rank that writes no files.
    stats: Option<Csv>,
    probes: Vec<Series>,
    pub means: Option<FieldMeans>,
}

/// Table of a probe's readings.
struct Series {
    probe: Probe,
    csv: Option<Csv>,
    /// Mean over time, if the probe measures one.
    mean: Option<Mean>,
}

impl Series {
    fn new(probe: &Probe, csv: Option<Csv>) -> Self {
        let points = if let ProbePlace::Line { points, .. } = probe.place { points as usize } else { 1 };
        let count = points * (probe.columns().len() - if probe.is_line() { 4 } else { 1 });
        let name = format!("that of probe {}", probe.name);
        let mean = probe.mean_from.map(|from| Mean::new(name, from.into(), count, csv.is_some()));
        Self { probe: probe.clone(), csv, mean }
    }

    /// Measures after a step; `is_frame` if the step completes a frame.
    fn step(&mut self, run: &mut Run, is_frame: bool) -> Result<(), OutputError> {
        let Self { probe, csv, mean } = self;
        let due = probe.is_due(run.solver(), is_frame);
        if due || mean.is_some() {
            bring(run, probe);
        }
        let (Some(csv), solver) = (csv, run.solver()) else { return Ok(()) };
        if let Some(mean) = mean.as_mut().filter(|_| solver.stats().step > 0) {
            mean.add(solver, || probe.readings(solver).into_iter().flat_map(|reading| reading.values));
        }
        if !due {
            return Ok(());
        }
        let mut readings = probe.readings(solver);
        if let Some(mean) = mean {
            let Some(values) = mean.values() else { return Ok(()) };
            readings
                .iter_mut()
                .flat_map(|reading| &mut reading.values)
                .zip(values)
                .for_each(|(to, mean)| *to = mean);
        }
        let time = format!("{:?}", solver.stats().time);
        readings.into_iter().try_for_each(|reading| {
            let numbers = reading.at.into_iter().flatten().chain(reading.values);
            csv.row(std::iter::once(time.clone()).chain(numbers.map(|x| format!("{x:?}"))))
        })
    }
}

/// Brings the planes that `probe` reads to the first rank.
fn bring(run: &mut Run, probe: &Probe) {
    let (solver, all) = (run.solver(), GHOST as isize);
    let (h, nz) = (solver.config().h, solver.layout().dims.nz as isize);
    let corner = solver.config().corner()[2];
    // Derived fields and interpolation read beyond the extent of the probe.
    const MARGIN: f32 = 4.0;
    let planes = probe.depth(solver).map_or([-all, nz + all], |[low, high]| {
        let [low, high] = [low, high].map(|z| (z - corner) / h);
        [(low - MARGIN).floor() as isize, (high + MARGIN).ceil() as isize].map(|k| k.clamp(-all, nz + all))
    });
    run.solver_mut().bring(planes);
}

impl Tables {
    /// Makes the tables of a rank that writes none.
    pub fn none(scene: &Scene) -> Self {
        let probes = scene.probes.iter().map(|probe| Series::new(probe, None)).collect();
        Self { stats: None, probes, means: None }
    }

    pub fn create(scene: &Scene, folder: &RunFolder, existing: Existing) -> Result<Self, OutputError> {
        Self::open(scene, folder, |path, columns| Csv::create(path, existing, columns))
    }

    /// Resumes the tables of a saved run, whose lengths were `lengths`; later lines are cut off.
    pub fn resume(
        scene: &Scene,
        folder: &RunFolder,
        lengths: &BTreeMap<String, u64>,
    ) -> Result<Self, OutputError> {
        Self::open(scene, folder, |path, _| Csv::resume(path, lengths.get(&name(path)).copied().unwrap_or(0)))
    }

    fn open(
        scene: &Scene,
        folder: &RunFolder,
        open: impl Fn(&Path, &[String]) -> Result<Csv, OutputError>,
    ) -> Result<Self, OutputError> {
        let probe =
            |probe: &Probe| Ok(Series::new(probe, Some(open(&folder.probe(&probe.name), &probe.columns())?)));
        let mut names = columns();
        if scene.config.follow.on {
            names.extend(BOX.into_iter().chain(["box_full"]).map(str::to_owned));
        }
        if scene.params.turbulence.strength > 0.0 {
            names.extend(SWIRLS.map(str::to_owned));
        }
        let stats = Some(open(&folder.stats(), &names)?);
        let probes = scene.probes.iter().map(probe).collect::<Result<_, OutputError>>()?;
        Ok(Self { stats, probes, means: None })
    }

    /// Waits until all lines are on the disk. Returns the length of each table.
    pub fn sync(&mut self) -> Result<BTreeMap<String, u64>, OutputError> {
        let tables =
            self.stats.iter_mut().chain(self.probes.iter_mut().filter_map(|series| series.csv.as_mut()));
        tables.map(|csv| Ok((name(csv.path()), csv.sync()?))).collect()
    }

    /// Returns the means over time, for a checkpoint.
    pub fn means(&mut self) -> Vec<&mut Mean> {
        let of_probes = self.probes.iter_mut().filter_map(|series| series.mean.as_mut());
        of_probes.chain(self.means.as_mut().map(FieldMeans::mean)).collect()
    }

    /// Adds the line of a step, and those of probes; `is_frame` if the step completes a frame.
    pub fn step(&mut self, run: &mut Run, is_frame: bool) -> Result<(), OutputError> {
        self.probes.iter_mut().try_for_each(|series| series.step(run, is_frame))?;
        let solver = run.solver();
        if let Some(means) = self.means.as_mut().filter(|_| solver.stats().step > 0) {
            means.add(solver);
        }
        let mut cells = row(solver.stats(), field::enstrophy(solver), &spread(solver));
        cells.extend(moved_box(solver).map(|(_, x)| x.to_string()));
        if solver.config().follow.on {
            cells.push(u8::from(solver.is_full()).to_string());
        }
        if solver.params().turbulence.strength > 0.0 {
            cells.extend(solver.swirl_speeds().map(|speed| format!("{speed:?}")));
        }
        self.stats.as_mut().map_or(Ok(()), |stats| stats.row(cells))
    }

    /// Flushes the table so that it can be read.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        let csvs = self.probes.iter_mut().filter_map(|series| series.csv.as_mut());
        csvs.chain(&mut self.stats).try_for_each(Csv::flush)
    }
}

/// Returns the file name without its folder.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
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
            imbalance: 0.0,
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
