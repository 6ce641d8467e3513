//! `updraft bench` on several ranks: computing and waiting time of a step by stage, strong and weak scaling,
//! and an extrapolation to more ranks.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytemuck::{cast_slice, cast_slice_mut};
use serde_json::{Value, json};

use super::cost_model::{Costs, Messages, Sample};
use super::{BenchArgs, Case, Spread, WARM_UP, fill, machine, write_report};
use crate::cli::check::slabs;
use crate::cli::progress::Progress;
use crate::cli::{CliError, Common, interrupt};
use crate::comm::{Comm, Metered, ThreadRanks, Transfers};
use crate::grid::Dims;
use crate::output::whole::Existing;
use crate::scene::{Scene, Share};
use crate::solver::{Stage, StepStats};

/// Least number of planes of a slab.
const FEWEST_PLANES: usize = 4;
/// Numbers of ranks of the extrapolation.
const PROJECTED: [usize; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
/// Boxes of the extrapolation: whether the box grows with the ranks, and its cells. Those along z are then
/// for each rank.
const BOXES: [(bool, [usize; 3]); 3] =
    [(false, [1024; 3]), (false, [256, 256, 1 << 15]), (true, [256, 256, 8])];

/// Cost of a step on one rank: median times \[s\] and mean traffic.
#[derive(Clone, Copy, Debug, Default)]
struct RankCost {
    /// Time of the whole step.
    wall: f64,
    /// Time of computing and of waiting of each stage.
    work: [f64; Stage::ALL.len()],
    wait: [f64; Stage::ALL.len()],
    bytes: f64,
    messages: f64,
}

/// A step, with the transfers of each stage.
type Timed = (StepStats, Vec<Transfers>);

/// Number of values of a [`RankCost`] in a message.
const VALUES: usize = 3 + 2 * Stage::ALL.len();

/// Costs of a box on a number of ranks.
struct RankRun {
    growing: bool,
    dims: Dims,
    ranks: Vec<RankCost>,
}

/// Runs the command on all ranks; the first reports.
pub fn run(args: &BenchArgs, common: &Common, comm: &Arc<dyn Comm>) -> Result<(), CliError> {
    let refused = if args.render { Some("--render") } else { args.compare.as_ref().map(|_| "--compare") };
    if let Some(what) = refused {
        return Err(CliError::Request(format!(
            "bench {what} works on one rank only; run this without mpirun"
        )));
    }
    super::refuse_idle(common)?;
    let threads = match common.threads.as_slice() {
        [] => common.threads_of_rank.unwrap_or(1),
        [threads @ (1..=u16::MAX)] => usize::from(*threads),
        _ => return Err(CliError::Request("--threads takes one number above 0 on several ranks".into())),
    };
    let cases = cases(args, common, threads, comm.size())?;
    let mut progress = Progress::new(cases.len() as u32, common.quiet || comm.rank() > 0);
    let mut found = Vec::new();
    for (n, (growing, size, case)) in cases.iter().enumerate() {
        let dims = case.scene.config.dims;
        progress.update(n as u32, &format!("{} on {size} ranks", size_text(dims)));
        if let Some(ranks) = measure(case, *size, args.steps, comm, interrupt::catch())? {
            found.push(RankRun { growing: *growing, dims, ranks });
        }
    }
    drop(progress);
    if comm.rank() > 0 {
        return Ok(());
    }
    let messages = count_messages(&cases[0].2.scene)?;
    let costs = Costs::fit(&found.iter().map(RankRun::sample).collect::<Vec<_>>());
    let scene = &cases[0].2.scene;
    args.say(&table(&found, threads))?;
    if let Some(shared) = found.iter().rfind(|shared| !shared.growing && shared.ranks.len() > 1) {
        args.say(&shared.stages())?;
    }
    if let Some(costs) = &costs {
        args.say(&projection(scene, costs, &messages, &found))?;
    }
    let Some(path) = &args.json else { return Ok(()) };
    let report = json!({
        "build": machine::build(),
        "machine": machine::machine(),
        "scene": super::scene_name(args),
        "ranks": comm.size(),
        "threads_of_rank": threads,
        "runs": found.iter().map(RankRun::json).collect::<Vec<_>>(),
        "messages_per_step": messages.json(),
        "model": costs.map(|costs| costs.json()),
        "projection": costs.map(|costs| {
            let rows = projected(scene, &costs, &messages);
            rows.iter().map(Projected::json).collect::<Vec<_>>()
        }),
    });
    write_report(path, Existing::forced(common.force), &report)
}

/// Lists every size of the box on one, two, four and so on up to all ranks: a cube, and a box that grows
/// along z with the ranks.
fn cases(
    args: &BenchArgs,
    common: &Common,
    threads: usize,
    ranks: usize,
) -> Result<Vec<(bool, usize, Case)>, CliError> {
    let mut sizes: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n < ranks).collect();
    sizes.push(ranks);
    let base = super::scene(args, &common.set, common.share)?;
    let width = base.extent().into_iter().fold(f32::INFINITY, f32::min);
    let mut cases = Vec::new();
    for &cells in &args.cells {
        for growing in [false, true] {
            for &size in &sizes {
                let nz = if growing { cells as usize * size } else { cells as usize };
                // On one rank both boxes are the same.
                if nz / size < FEWEST_PLANES || growing && size == 1 {
                    continue;
                }
                let mut overrides = common.set.clone();
                overrides.push(format!("domain.cells=[{cells}, {cells}, {nz}]"));
                overrides.push(format!("domain.voxel={}", width / cells as f32));
                let here = common.share.here.map(|here| here.min(size));
                let share = Share { ranks: size, here, ..common.share };
                let mut scene = super::scene(args, &overrides, share)?;
                scene.config.time.max_substeps = 1;
                scene.config.threads = threads;
                scene.refuse_on_ranks(size).map_err(|error| CliError::Request(error.to_string()))?;
                cases.push((growing, size, Case { cells, threads, scene }));
            }
        }
    }
    match cases.is_empty() {
        true => Err(CliError::Request(format!("--cells: a slab has at least {FEWEST_PLANES} planes"))),
        false => Ok(cases),
    }
}

/// Times the steps of a box full of smoke on the first `size` ranks. The first rank gets the costs of all.
fn measure(
    case: &Case,
    size: usize,
    steps: u32,
    comm: &Arc<dyn Comm>,
    cancel: &AtomicBool,
) -> Result<Option<Vec<RankCost>>, CliError> {
    if comm.rank() >= size {
        return Ok(None);
    }
    let ranks = Arc::new(Metered::new(comm.clone(), size));
    let steps = timed_steps(case, &ranks, WARM_UP, steps, cancel)?;
    let mut all = vec![[0.0; VALUES]; size];
    all[comm.rank()] = RankCost::of(&steps).values();
    if comm.rank() > 0 {
        comm.transfer(&[(0, cast_slice(&all[comm.rank()]))], &mut []);
        return Ok(None);
    }
    let mut receives: Vec<_> = all
        .iter_mut()
        .enumerate()
        .skip(1)
        .map(|(rank, values)| (rank, cast_slice_mut(&mut values[..])))
        .collect();
    comm.transfer(&[], &mut receives);
    drop(receives);
    Ok(Some(all.iter().map(RankCost::from_values).collect()))
}

/// Takes `before` steps and then `steps` more. Returns statistics and transfers of the latter.
fn timed_steps(
    case: &Case,
    ranks: &Arc<Metered>,
    before: u32,
    steps: u32,
    cancel: &AtomicBool,
) -> Result<Vec<Timed>, CliError> {
    let solver = case.scene.solver_on(Some(ranks.clone() as Arc<dyn Comm>));
    let mut solver = solver.map_err(|error| CliError::Request(error.to_string()))?;
    fill(&mut solver, case.scene.extent())?;
    let mut found = Vec::new();
    for n in 0..before + steps {
        ranks.take();
        let stats = case.step(&mut solver, cancel)?;
        if n >= before {
            found.push((stats, ranks.take()));
        }
    }
    Ok(found)
}

/// Counts the messages of the scheme of `scene`, on ranks within this process.
fn count_messages(scene: &Scene) -> Result<Messages, CliError> {
    let count = |ranks: usize, planes: usize| -> Result<(f64, f64, f64), CliError> {
        let mut scene = scene.clone();
        scene.config.dims = Dims { nx: 16, ny: 16, nz: ranks * planes };
        scene.config.threads = 1;
        let case = Case { cells: 16, threads: 1, scene };
        let cancel = AtomicBool::new(false);
        let mut messages = ThreadRanks::run(ranks, |comm| {
            let ranks = Arc::new(Metered::new(comm, ranks));
            timed_steps(&case, &ranks, 2, 1, &cancel).map(|steps| RankCost::of(&steps).messages)
        });
        // The second has neighbours on both sides.
        Ok((ranks as f64, planes as f64, messages.swap_remove(1)?))
    };
    Ok(Messages::of([count(3, 8)?, count(5, 8)?, count(3, 16)?]))
}

impl RankCost {
    /// Returns the median of the times, and the mean of the traffic.
    fn of(steps: &[Timed]) -> Self {
        let median = |time: &dyn Fn(&Timed) -> f64| Spread::of(steps.iter().map(time).collect()).median;
        let waits = |step: &Timed, stage: usize| {
            step.1.get(stage).map_or(0.0, |transfers| transfers.time.as_secs_f64())
        };
        let mean = |count: &dyn Fn(&Transfers) -> u64| {
            steps.iter().flat_map(|step| &step.1).map(count).sum::<u64>() as f64 / steps.len().max(1) as f64
        };
        Self {
            wall: median(&|step| step.0.wall().as_secs_f64()),
            work: std::array::from_fn(|n| median(&|step| step.0.stages[n].as_secs_f64() - waits(step, n))),
            wait: std::array::from_fn(|n| median(&|step| waits(step, n))),
            bytes: mean(&|transfers| transfers.bytes),
            messages: mean(&|transfers| transfers.messages),
        }
    }

    fn values(&self) -> [f64; VALUES] {
        let mut values = [0.0; VALUES];
        values[..3].copy_from_slice(&[self.wall, self.bytes, self.messages]);
        values[3..3 + self.work.len()].copy_from_slice(&self.work);
        values[3 + self.work.len()..].copy_from_slice(&self.wait);
        values
    }

    fn from_values(values: &[f64; VALUES]) -> Self {
        let stage = |n: usize| values[3 + n];
        Self {
            wall: values[0],
            bytes: values[1],
            messages: values[2],
            work: std::array::from_fn(stage),
            wait: std::array::from_fn(|n| stage(Stage::ALL.len() + n)),
        }
    }

    fn worked(&self) -> f64 {
        self.work.iter().sum()
    }

    fn waited(&self) -> f64 {
        self.wait.iter().sum()
    }
}

/// Returns mean and maximum of a number over the ranks.
fn mean_and_most(of: &[RankCost], value: impl Fn(&RankCost) -> f64) -> [f64; 2] {
    let sum: f64 = of.iter().map(&value).sum();
    [sum / of.len() as f64, of.iter().map(value).fold(0.0, f64::max)]
}

/// Returns a / b, or 1 if b is 0.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 1.0 }
}

fn size_text(dims: Dims) -> String {
    format!("{}x{}x{}", dims.nx, dims.ny, dims.nz)
}

impl RankRun {
    /// Returns the time of a step on the slowest rank \[s\].
    fn wall(&self) -> f64 {
        mean_and_most(&self.ranks, |of| of.wall)[1]
    }

    /// Returns the computing time of the slowest rank over the mean, and the share of waiting in the time of
    /// a step.
    fn imbalance(&self) -> [f64; 2] {
        let [mean, most] = mean_and_most(&self.ranks, RankCost::worked);
        let [waited, _] = mean_and_most(&self.ranks, RankCost::waited);
        [ratio(most, mean), waited / mean_and_most(&self.ranks, |of| of.wall)[0].max(1e-12)]
    }

    /// Returns the most bytes and the most messages that a rank sends.
    fn sent(&self) -> [f64; 2] {
        [mean_and_most(&self.ranks, |of| of.bytes)[1], mean_and_most(&self.ranks, |of| of.messages)[1]]
    }

    /// Returns a sample for the fit: the mean computing time of a rank, and the rest of the slowest rank's
    /// time.
    fn sample(&self) -> Sample {
        let [bytes, messages] = self.sent();
        let cells = self.dims.cells() as f64 / self.ranks.len() as f64;
        let [work, _] = mean_and_most(&self.ranks, RankCost::worked);
        Sample { cells, messages, bytes, work, wait: (self.wall() - work).max(0.0) }
    }

    /// Formats the time by stage.
    fn stages(&self) -> String {
        let mut text = format!(
            "\n{} on {} ranks\n{:<16}  {:>9}  {:>8}  {:>10}  {:>8}\n",
            size_text(self.dims),
            self.ranks.len(),
            "stage",
            "work [ms]",
            "max/mean",
            "waits [ms]",
            "max/mean"
        );
        for stage in Stage::ALL {
            let [work, most] = mean_and_most(&self.ranks, |of| of.work[stage as usize]);
            let [wait, longest] = mean_and_most(&self.ranks, |of| of.wait[stage as usize]);
            text += &format!(
                "{:<16}  {:>9.2}  {:>8.2}  {:>10.2}  {:>8.2}\n",
                stage.name(),
                1e3 * work,
                ratio(most, work),
                1e3 * wait,
                ratio(longest, wait)
            );
        }
        text
    }

    fn json(&self) -> Value {
        let [imbalance, waited] = self.imbalance();
        let [bytes, messages] = self.sent();
        let stages: serde_json::Map<String, Value> = Stage::ALL
            .iter()
            .map(|&stage| {
                let [work, most_work] = mean_and_most(&self.ranks, |of| of.work[stage as usize]);
                let [wait, most_wait] = mean_and_most(&self.ranks, |of| of.wait[stage as usize]);
                let times = json!({
                    "work_ms": { "mean": 1e3 * work, "most": 1e3 * most_work },
                    "wait_ms": { "mean": 1e3 * wait, "most": 1e3 * most_wait },
                });
                (stage.name().to_owned(), times)
            })
            .collect();
        json!({
            "ranks": self.ranks.len(),
            "cells": self.dims.array(),
            "scaling": if self.growing { "weak" } else { "strong" },
            "ms_per_step": 1e3 * self.wall(),
            "share_waited": waited,
            "work_most_over_mean": imbalance,
            "bytes_sent": bytes,
            "messages_sent": messages,
            "stages": stages,
        })
    }
}

/// Formats strong and weak scaling.
fn table(found: &[RankRun], threads: usize) -> String {
    let mut text = format!(
        "boxes full of smoke, threads of each rank: {threads}; traffic of the rank that sends most\n\
         {:<14}  {:>6}  {:>5}  {:>8}  {:>7}  {:>10}  {:>6}  {:>8}  {:>9}  {:>8}\n",
        "cells",
        "",
        "ranks",
        "ms/step",
        "speedup",
        "efficiency",
        "waits",
        "max/mean",
        "sent [MB]",
        "messages"
    );
    let mut alone = None;
    for shared in found {
        if shared.ranks.len() == 1 {
            alone = Some(shared.wall());
        }
        let (ranks, wall) = (shared.ranks.len() as f64, shared.wall());
        let efficiency = alone.map(|alone| if shared.growing { alone / wall } else { alone / wall / ranks });
        let speedup = efficiency.map_or_else(|| "-".into(), |share| format!("{:.2}", share * ranks));
        let [imbalance, waited] = shared.imbalance();
        let [bytes, messages] = shared.sent();
        text += &format!(
            "{:<14}  {:>6}  {:>5}  {:>8.1}  {speedup:>7}  {:>10}  {:>5.1}%  {imbalance:>8.2}  {:>9.2}  {messages:>8.0}\n",
            size_text(shared.dims),
            if shared.growing { "weak" } else { "strong" },
            shared.ranks.len(),
            1e3 * wall,
            efficiency.map_or_else(|| "-".into(), |share| format!("{:.0} %", 100.0 * share)),
            100.0 * waited,
            1e-6 * bytes,
        );
    }
    text
}

/// A step by the model.
struct Projected {
    growing: bool,
    ranks: usize,
    dims: Dims,
    /// Computing and transfers \[s\].
    times: [f64; 2],
    bytes: f64,
}

impl Projected {
    fn efficiency(&self) -> f64 {
        self.times[0] / (self.times[0] + self.times[1])
    }

    fn json(&self) -> Value {
        json!({
            "ranks": self.ranks,
            "cells": self.dims.array(),
            "scaling": if self.growing { "weak" } else { "strong" },
            "ms_per_step": 1e3 * (self.times[0] + self.times[1]),
            "share_waited": 1.0 - self.efficiency(),
            "bytes_sent": self.bytes,
        })
    }
}

/// Applies the model to many ranks, where slabs are thick enough and the box is possible.
fn projected(scene: &Scene, costs: &Costs, messages: &Messages) -> Vec<Projected> {
    let mut rows = Vec::new();
    for (growing, [nx, ny, nz]) in BOXES {
        for ranks in PROJECTED {
            let nz = if growing { nz * ranks } else { nz };
            let planes = nz / ranks;
            let Some(dims) = Dims::new([nx, ny, nz]).ok().filter(|_| planes >= FEWEST_PLANES) else {
                continue;
            };
            let bytes = slabs::sent(scene, dims, ranks).iter().sum::<u64>() as f64;
            let cells = (nx * ny * planes) as f64;
            let times = costs.step(cells, messages.count(ranks as f64, planes as f64), bytes);
            rows.push(Projected { growing, ranks, dims, times, bytes });
        }
    }
    rows
}

/// Formats the model and its extrapolation to many ranks.
fn projection(scene: &Scene, costs: &Costs, messages: &Messages, found: &[RankRun]) -> String {
    let error = |shared: &RankRun| {
        let Sample { cells, messages, bytes, .. } = shared.sample();
        let [work, wait] = costs.step(cells, messages, bytes);
        ((work + wait) / shared.wall() - 1.0).abs()
    };
    let worst = found.iter().map(error).fold(0.0, f64::max);
    let bandwidth =
        if costs.byte > 0.0 { format!("{:.2} GB/s", 1e-9 / costs.byte) } else { "no limit found".into() };
    let mut text = format!(
        "\nmodel: {:.1} ns a cell, {:.1} us a message, {bandwidth} from a rank; off by {:.0} % at most above\n\
         messages of a step: {:.0} to neighbours, {:.1} to each rank and {:.1} to each rank for each plane\n\
         \nPROJECTION of this model, not measured: latency and bandwidth are those of the ranks above, not of another network\n\
         {:<16}  {:>6}  {:>5}  {:>10}  {:>10}  {:>9}\n",
        1e9 * costs.cell,
        1e6 * costs.message,
        100.0 * worst,
        messages.beside,
        messages.each,
        messages.planes,
        "cells",
        "",
        "ranks",
        "ms/step",
        "computing",
        "sent [MB]",
    );
    for row in projected(scene, costs, messages) {
        text += &format!(
            "{:<16}  {:>6}  {:>5}  {:>10.0}  {:>9.0}%  {:>9.1}\n",
            size_text(row.dims),
            if row.growing { "weak" } else { "strong" },
            row.ranks,
            1e3 * (row.times[0] + row.times[1]),
            100.0 * row.efficiency(),
            1e-6 * row.bytes,
        );
    }
    text + &format!("a slab has at least {FEWEST_PLANES} planes, and a box at most 2^31 cells\n")
}
