//! A whole step of a rising plume in a closed box, by advection scheme and size. It is warmed up until the
//! smoke has spread; only the step is timed. `updraft bench` has the stages.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use updraft::grid::Dims;
use updraft::solver::{Advection, Config, Params, Region, Solver, Source, Stage, TimeControl};

/// Returns a unit box of n³ cells with a hot source, some steps after the start.
fn plume(n: usize, advection: Advection) -> (Solver, f32) {
    let h = 1.0 / n as f32;
    let time = TimeControl { cfl: f32::MAX, max_substeps: 1 };
    let config = Config { advection, time, ..Config::new(Dims::new([n; 3]).unwrap(), h) };
    let source = Source::new(Region::sphere([0.5, 0.12, 0.5], 0.1), [6.0, 3.0, 1.0, 200.0]);
    let mut solver =
        Solver::new(config, Params { heat_buoyancy: 0.1, ..Params::default() }, vec![source]).unwrap();
    let dt = 1.28 * h;
    for _ in 0..20 {
        solver.step(dt).unwrap();
    }
    (solver, dt)
}

fn steps(c: &mut Criterion) {
    let mut group = c.benchmark_group("step");
    group.sample_size(10);
    for n in [1usize, 32, 64, 128] {
        group.throughput(Throughput::Elements((n * n * n) as u64));
        for advection in
            [Advection::SemiLagrangian, Advection::MacCormack, Advection::Cubic, Advection::Lagrange]
        {
            let (mut solver, dt) = plume(n, advection);
            group.bench_function(BenchmarkId::new(format!("{advection:?}"), n), |b| {
                b.iter(|| black_box(solver.step(dt).unwrap().divergence_after));
            });
        }
    }
    group.finish();
}

/// Measures the kernels one by one: the cost of each stage of the step.
fn stages(c: &mut Criterion) {
    let mut group = c.benchmark_group("stage");
    group.sample_size(10);
    for n in [64usize, 128] {
        group.throughput(Throughput::Elements((n * n * n) as u64));
        for stage in
            [Stage::AdvectVelocity, Stage::AdvectScalars, Stage::Forces, Stage::Project, Stage::Measure]
        {
            let (mut solver, dt) = plume(n, Advection::default());
            group.bench_function(BenchmarkId::new(stage.name(), n), |b| {
                b.iter_custom(|times| {
                    (0..times).map(|_| solver.step(dt).unwrap().stages[stage as usize]).sum()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, steps, stages);
criterion_main!(benches);
