//! Cancelled steps: the time until they end, and the state after them.

mod common;

use std::io::Cursor;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::all;
use updraft::grid::Dims;
use updraft::solver::{
    Advection, BoundaryCondition, Config, Integrator, Params, Projection, Region, Shape, Solid, Solver,
    SolverError, Source, Stage,
};

const DT: f32 = 1.0 / 24.0;

/// Makes a plume in a box of 2.56 m with `n` cells along each edge, on two threads.
fn plume(n: usize, change: impl Fn(&mut Config, &mut Params), solids: Vec<Solid>) -> Solver {
    let mut config = Config::new(Dims::new([n; 3]).unwrap(), 2.56 / n as f32);
    (config.sides, config.threads) = (all(BoundaryCondition::Open), 2);
    let mut params = Params::default();
    change(&mut config, &mut params);
    let source = Source::new(Region::sphere([1.28, 0.4, 1.28], 0.3), [4.0, 1.0, 0.0, 300.0]);
    let mut solver = Solver::new(config, params, vec![source]).unwrap();
    solver.set_solids(solids).unwrap();
    solver.fill(
        |c, [x, y, z]| if c == 1 { 2.0 } else { (3.0 * x).sin() * (2.0 * y).cos() * (4.0 * z).sin() },
        |[x, y, z]| [(1.28 - (x - 1.28).hypot(z - 1.28)).max(0.0), 0.0, 0.0, 40.0 * y],
    );
    solver
}

fn ball() -> Vec<Solid> {
    vec![Solid::new(Shape::Sphere { radius: 0.3 }, [1.28, 1.5, 1.28])]
}

/// Takes a step that is cancelled after `wait`. Returns the time from the cancellation to its end, unless it
/// ended before.
fn cancelled_after(solver: &mut Solver, wait: Duration) -> Option<Duration> {
    let cancel = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let raised = scope.spawn(|| {
            std::thread::sleep(wait);
            cancel.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let result = solver.step_cancellable(DT, &cancel).map(|_| ());
        let end = Instant::now();
        let raised = raised.join().unwrap();
        (result == Err(SolverError::Cancelled)).then(|| end.saturating_duration_since(raised))
    })
}

/// Returns the state of a solver as bytes.
fn bytes(solver: &mut Solver) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    solver.save(&mut file).unwrap();
    file.into_inner()
}

/// Restoring the state before a step that was cancelled at any point takes back all its changes.
#[test]
fn a_cancelled_step_leaves_nothing_behind_once_its_state_is_restored() {
    let moved = || {
        let keyframes = vec![(0.0, [1.28, 1.3, 1.28]), (1.0, [1.9, 1.5, 1.28])];
        vec![Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 0.4 }, [0.0; 3]) }]
    };
    let viscous = |_: &mut Config, params: &mut Params| (params.viscosity, params.conduction) = (1e-2, 1e-2);
    let mut cases = vec![plume(32, viscous, vec![]), plume(32, viscous, moved())];
    for integrator in [Integrator::Reflection, Integrator::Trapezoid] {
        cases.push(plume(28, |config, _| config.integrator = integrator, moved()));
    }
    for advection in [Advection::MacCormack, Advection::Monotone] {
        cases.push(plume(28, |config, _| config.advection = advection, vec![]));
    }
    let finer = |config: &mut Config, params: &mut Params| {
        (config.detail, params.turbulence.strength) = (2, 1.0);
    };
    cases.push(plume(24, finer, vec![]));
    cases.push(plume(24, |config, _| config.projection = Projection::GaussSeidel { sweeps: 20 }, moved()));
    for (case, mut solver) in cases.into_iter().enumerate() {
        solver.step(DT).unwrap();
        let state = solver.capture();
        let begin = Instant::now();
        solver.step(DT).unwrap();
        let whole = begin.elapsed();
        solver.step(DT).unwrap();
        let wanted = bytes(&mut solver);
        solver.restore(&state).unwrap();
        let mut cut = 0;
        for n in 0..24 {
            cut += u32::from(cancelled_after(&mut solver, whole.mul_f32(n as f32 / 24.0)).is_some());
            solver.restore(&state).unwrap();
        }
        assert!(cut > 4, "case {case}: {cut} steps were cancelled");
        solver.step(DT).unwrap();
        solver.step(DT).unwrap();
        assert!(bytes(&mut solver) == wanted, "case {case}");
    }
}

/// Without a restored state the values stay finite, and the next step projects before it advects.
#[test]
fn a_step_after_a_cancelled_one_is_finite_and_free_of_divergence() {
    for solids in [vec![], ball()] {
        let mut solver = plume(32, |_, _| {}, solids);
        let begin = Instant::now();
        solver.step(DT).unwrap();
        let whole = begin.elapsed();
        for n in 0..16 {
            cancelled_after(&mut solver, whole.mul_f32(n as f32 / 16.0));
            let own = solver.layout().own();
            assert!(solver.velocity().iter().flat_map(|field| &field[own.clone()]).all(|x| x.is_finite()));
            assert!(solver.scalars().as_flattened().iter().all(|x| x.is_finite()));
            let stats = solver.step(DT).unwrap();
            assert!(stats.divergence_after < 1e-3 && stats.max_speed < 20.0, "{stats:?}");
        }
    }
}

/// Prints the time until a cancelled step at 256³ ends. Run it with `--ignored --nocapture` on an idle machine.
#[test]
#[ignore = "a measurement"]
fn prints_the_time_until_a_cancelled_step_ends() {
    type Change = fn(&mut Config, &mut Params);
    let cells = std::env::var("CELLS").ok().and_then(|n| n.parse().ok()).unwrap_or(256);
    let only = std::env::var("ONLY").unwrap_or_default();
    let moved = || {
        let keyframes = vec![(0.0, [1.28, 1.5, 1.28]), (1.0, [1.6, 1.5, 1.28])];
        vec![Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 0.3 }, [0.0; 3]) }]
    };
    let cases: [(&str, usize, Change, Vec<Solid>); 5] = [
        ("plume", cells, |_, _| {}, vec![]),
        ("ball", cells, |_, _| {}, ball()),
        ("moved", cells, |_, _| {}, moved()),
        ("viscous", cells, |_, params| (params.viscosity, params.conduction) = (1e-3, 1e-3), vec![]),
        (
            "detail 2",
            cells / 2,
            |config, params| (config.detail, params.turbulence.strength) = (2, 1.0),
            vec![],
        ),
    ];
    for (name, cells, change, solids) in cases {
        if !name.contains(&only) {
            continue;
        }
        let mut solver = plume(cells, change, solids);
        solver.step(DT).unwrap();
        let state = solver.capture();
        let begin = Instant::now();
        let stats = solver.step(DT).unwrap().clone();
        let whole = begin.elapsed();
        let stages: Vec<_> = Stage::ALL
            .iter()
            .zip(stats.stages)
            .map(|(s, t)| format!("{s:?} {:.2}", t.as_secs_f32()))
            .collect();
        println!(
            "{name}: {:.2} s, {} substeps, {} iterations; {}",
            whole.as_secs_f32(),
            stats.substeps,
            stats.iterations,
            stages.join(", ")
        );
        let begin = Instant::now();
        let mut other = solver.capture();
        let fresh = begin.elapsed();
        let mut again = Duration::MAX;
        for _ in 0..3 {
            let begin = Instant::now();
            other = solver.capture_over(Some(other));
            again = again.min(begin.elapsed());
        }
        let begin = Instant::now();
        solver.restore(&state).unwrap();
        let back = begin.elapsed();
        println!("  capture {fresh:.0?}, again {again:.0?}, {} MiB; restore {back:.0?}", other.bytes() >> 20);
        drop(other);
        let mut all = Vec::new();
        for n in 0..32 {
            let wait = whole.mul_f32((n as f32 + 0.5) / 32.0);
            if let Some(late) = cancelled_after(&mut solver, wait) {
                all.push((late, wait));
            }
            solver.restore(&state).unwrap();
        }
        all.sort();
        let ms: Vec<_> = all
            .iter()
            .map(|(late, at)| format!("{:.0}@{:.2}", late.as_secs_f64() * 1e3, at.as_secs_f32()))
            .collect();
        println!("  ms until the end: {}", ms.join(" "));
    }
}
