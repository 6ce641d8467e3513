//! Tests the terms of the equation one by one.

mod common;
#[path = "physics/fluid_terms.rs"]
mod fluid_terms;

use std::sync::atomic::AtomicBool;

use common::{SCHEMES, advance, all, bits, cell, config, inert, noise};
use updraft::grid::Dims;
use updraft::solver::{
    Advection, Ambient, BoundaryCondition, BoundaryConditions, Config, Dab, Force, ForceField, Inflow,
    Integrator, Params, Region, SCALAR_LIMIT, Shape, Smoke, Solid, Solver, SolverError, Source, TimeControl,
};

const OPEN_ALONG_X: BoundaryConditions =
    [[BoundaryCondition::Open; 2], [BoundaryCondition::Closed; 2], [BoundaryCondition::Closed; 2]];

/// Returns a box open along x with a wind of 1 m/s and the given smoke.
fn wind(
    cells: [usize; 3],
    h: f32,
    scheme: Advection,
    smoke: impl Fn([f32; 3]) -> [f32; 4] + Send + Sync,
) -> Solver {
    let mut solver = Solver::new(config(cells, h, OPEN_ALONG_X, scheme), inert(), vec![]).unwrap();
    solver.fill(|component, _| if component == 0 { 1.0 } else { 0.0 }, smoke);
    solver
}

#[test]
fn linear_fields_are_advected_exactly() {
    for scheme in SCHEMES {
        let line = |[x, y, z]: [f32; 3]| [x, 2.0 * x - y + 3.0, z + 0.5 * x, 1.0 - x];
        let mut solver = wind([48, 8, 8], 1.0, scheme, line);
        advance(&mut solver, 0.7, 3);
        for k in 2..6 {
            for j in 2..6 {
                for i in 14..36 {
                    let at = [i as f32 + 0.5 - 2.1, j as f32 + 0.5, k as f32 + 0.5];
                    let (got, want) = (cell(&solver, [i, j, k]), line(at));
                    for c in 0..4 {
                        assert!(
                            (got[c] - want[c]).abs() < 2e-4,
                            "{scheme:?} {i} {j} {k} {c}: {got:?} for {want:?}"
                        );
                    }
                }
            }
        }
    }
}

/// Returns the L1 error of a smooth bump advected by a quarter of the box, 0.4 cells a step.
fn translation_error(n: usize, scheme: Advection) -> f64 {
    let h = 1.0 / n as f32;
    let bump = |x: f32| (-(x / 0.1).powi(2)).exp();
    let mut solver = wind([n, 1, 1], h, scheme, |[x, ..]| [bump(x - 0.35), 0.0, 0.0, 0.0]);
    let steps = (0.25 / (0.4 * h)).round() as usize;
    let dt = 0.25 / steps as f32;
    advance(&mut solver, dt, steps);
    (0..n)
        .map(|i| f64::from((cell(&solver, [i, 0, 0])[0] - bump((i as f32 + 0.5) * h - 0.6)).abs()) / n as f64)
        .sum()
}

#[test]
fn advection_has_its_designed_order() {
    for (scheme, order) in [
        (Advection::SemiLagrangian, 0.8),
        (Advection::Conservative, 1.8),
        (Advection::Monotone, 1.8),
        (Advection::MacCormack, 1.8),
        (Advection::Cubic, 2.1),
        (Advection::Lagrange, 2.1),
    ] {
        let (coarse, fine) = (translation_error(80, scheme), translation_error(160, scheme));
        let measured = (coarse / fine).log2();
        assert!(measured > order, "{scheme:?}: order {measured:.2} from {coarse:.2e} to {fine:.2e}");
    }
}

#[test]
fn no_new_extremes_appear() {
    for scheme in SCHEMES {
        let sides = all(BoundaryCondition::Closed);
        let mut solver = Solver::new(config([20, 20, 20], 0.05, sides, scheme), inert(), vec![]).unwrap();
        solver.fill(
            |c, at| 2.0 * noise(c, at),
            |[x, ..]| if x < 0.5 { [1.0, 0.25, 0.0, -3.0] } else { [0.0; 4] },
        );
        advance(&mut solver, 0.03, 10);
        for k in 0..20 {
            for j in 0..20 {
                for i in 0..20 {
                    let s = cell(&solver, [i, j, k]);
                    assert!((-1e-6..=1.0 + 1e-5).contains(&s[0]), "{scheme:?}: red {}", s[0]);
                    assert!((-3.0 - 3e-5..=1e-5).contains(&s[3]), "{scheme:?}: temperature {}", s[3]);
                }
            }
        }
    }
}

#[test]
fn still_air_keeps_its_smoke_to_the_bit() {
    for scheme in SCHEMES {
        let sides = all(BoundaryCondition::Closed);
        let mut solver = Solver::new(config([9, 12, 7], 0.1, sides, scheme), inert(), vec![]).unwrap();
        solver.fill(|_, _| 0.0, |at| [0, 1, 2, 3].map(|c| noise(c, at).abs()));
        let before = solver.scalars().to_vec();
        let mass = solver.stats().mass;
        advance(&mut solver, 0.1, 5);
        let layout = solver.layout();
        for k in 0..7 {
            for j in 0..12 {
                let at = layout.at(0, j, k);
                assert_eq!(solver.scalars()[at..at + 9], before[at..at + 9], "{scheme:?}");
            }
        }
        assert_eq!(solver.stats().mass, mass, "{scheme:?}");
    }
}

#[test]
#[ignore = "slow: a minute"]
fn air_that_enters_through_open_sides_gains_no_energy() {
    let mut sides = all(BoundaryCondition::Open);
    sides[1][0] = BoundaryCondition::Closed;
    let source = Source::new(Region::sphere([0.49, 0.09, 0.51], 0.055), [4.0, 0.0, 0.0, 150.0]);
    let params = Params { heat_buoyancy: 0.03, vorticity: 0.0, ..inert() };
    let config = Config {
        integrator: Integrator::Reflection,
        ..config([48, 72, 48], 1.0 / 48.0, sides, Advection::Cubic)
    };
    let mut solver = Solver::new(config, params, vec![source]).unwrap();
    advance(&mut solver, 0.006, 1500);
    let fastest = solver.stats().max_speed;
    println!("{fastest} m/s after 9 s");
    assert!(fastest < 3.5, "{fastest} m/s");
}

#[test]
fn skipping_empty_bricks_changes_no_bit() {
    let inflow =
        BoundaryCondition::Inflow(Inflow { velocity: [0.8, 0.0, 0.0], scalars: [0.5, 0.0, 0.0, 9.0] });
    let boxes = [
        [
            [BoundaryCondition::Closed; 2],
            [BoundaryCondition::Closed, BoundaryCondition::Open],
            [BoundaryCondition::Periodic; 2],
        ],
        [[inflow, BoundaryCondition::Open], [BoundaryCondition::Closed; 2], [BoundaryCondition::Closed; 2]],
    ];
    for (sides, scheme) in boxes.into_iter().flat_map(|b| SCHEMES.map(|scheme| (b, scheme))) {
        let run = |dense: bool| {
            // The run starts in a box that is known to be empty.
            let source = Source {
                velocity: None,
                start: 0.12,
                stop: f32::INFINITY,
                ..Source::new(Region::sphere([0.6, 0.2, 0.3], 0.12), [3.0, 0.0, 1.0, 100.0])
            };
            let params = Params { heat_buoyancy: 0.2, ..Params::default() };
            let mut solver =
                Solver::new(config([50, 40, 33], 0.03, sides, scheme), params, vec![source]).unwrap();
            for _ in 0..12 {
                if dense {
                    // After a dab, even an empty one, the solver must search all bricks again.
                    solver
                        .dab(&Dab {
                            center: [0.0; 3],
                            radius: 0.1,
                            add: [0.0; 4],
                            push: [0.0; 3],
                            erase: 0.0,
                        })
                        .unwrap();
                }
                advance(&mut solver, 0.05, 1);
            }
            assert!(solver.stats().max_speed > 0.05, "{scheme:?}: nothing moves");
            let n = [50, 40, 33];
            let cells = (0..n[0] * n[1] * n[2]).map(|at| [at % n[0], at / n[0] % n[1], at / (n[0] * n[1])]);
            let bits = cells.map(|at| cell(&solver, at).map(f32::to_bits)).collect::<Vec<_>>();
            (bits, solver.stats().mass.map(f64::to_bits), solver.stats().kinetic_energy.to_bits())
        };
        assert!(run(false) == run(true), "{sides:?} {scheme:?}");
    }
}

#[test]
fn smoke_that_crosses_the_box_keeps_its_mass_to_rounding() {
    // A block moved by whole cells is moved exactly, so the result is known.
    let block = |[x, ..]: [f32; 3]| [if (4.0..9.0).contains(&x) { 1.0 } else { 0.0 }, 0.0, 0.0, 0.0];
    for scheme in SCHEMES {
        let mut solver = wind([40, 6, 6], 1.0, scheme, block);
        let before = solver.stats().mass[0];
        advance(&mut solver, 2.0, 6);
        let after = solver.stats().mass[0];
        assert!((after / before - 1.0).abs() < 1e-5, "{scheme:?}: {before} became {after}");
        advance(&mut solver, 2.0, 20);
        assert!(solver.stats().mass[0].abs() < 1e-3, "{scheme:?}: smoke did not leave through the open side");
    }
}

/// Mirrors the cells, the faces and a full step by x → L − x.
#[test]
fn mirrored_input_gives_mirrored_output() {
    let n = 18;
    let params = Params { heat_buoyancy: 0.05, vorticity: 0.4, ..inert() };
    let run = |mirror: bool, scheme: Advection| {
        let h = 1.0 / n as f32;
        let sides = [
            [BoundaryCondition::Closed; 2],
            [BoundaryCondition::Closed, BoundaryCondition::Open],
            [BoundaryCondition::Closed; 2],
        ];
        let mut solver = Solver::new(config([n, 24, 12], h, sides, scheme), params.clone(), vec![]).unwrap();
        let flip = move |[x, y, z]: [f32; 3]| if mirror { [1.0 - x, y, z] } else { [x, y, z] };
        let smooth = |[x, y, z]: [f32; 3]| (7.0 * x + 3.0 * y).sin() * (5.0 * z + 2.0 * x).cos();
        solver.fill(
            |c, at| {
                let sign = if mirror && c == 0 { -1.0 } else { 1.0 };
                sign * smooth(flip(at).map(|x| x + c as f32))
            },
            |at| [0, 1, 2, 3].map(|c| 1.0 + smooth(flip(at).map(|x| x - c as f32))),
        );
        advance(&mut solver, 0.02, 5);
        solver
    };
    for scheme in SCHEMES {
        let (plain, mirrored) = (run(false, scheme), run(true, scheme));
        let mut worst = 0.0f32;
        for k in 0..12 {
            for j in 0..24 {
                for i in 0..n {
                    let (a, b) = (cell(&plain, [i, j, k]), cell(&mirrored, [n - 1 - i, j, k]));
                    (0..4).for_each(|c| worst = worst.max((a[c] - b[c]).abs()));
                }
            }
        }
        assert!(worst < 2e-4, "{scheme:?}: mirrored runs differ by {worst}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let run = |threads: usize, scheme: Advection, integrator: Integrator| {
        let sides = [
            [BoundaryCondition::Closed; 2],
            [BoundaryCondition::Closed, BoundaryCondition::Open],
            [BoundaryCondition::Open, BoundaryCondition::Closed],
        ];
        let config = Config {
            threads,
            integrator,
            time: TimeControl::default(),
            ..config([37, 50, 41], 0.02, sides, scheme)
        };
        let source = Source {
            velocity: Some([0.2, 1.0, 0.0]),
            start: 0.0,
            stop: f32::INFINITY,
            ..Source::new(Region::sphere([0.37, 0.2, 0.4], 0.12), [3.0, 2.0, 1.0, 300.0])
        };
        let mut solver = Solver::new(config, Params::default(), vec![source]).unwrap();
        advance(&mut solver, 1.0 / 24.0, 6);
        solver
            .dab(&Dab {
                center: [0.3, 0.5, 0.3],
                radius: 0.1,
                add: [1.0; 4],
                push: [1.0, 0.0, 2.0],
                erase: 0.0,
            })
            .unwrap();
        advance(&mut solver, 1.0 / 24.0, 4);
        (bits(&solver), solver.stats().mass, solver.stats().kinetic_energy.to_bits())
    };
    let plain = SCHEMES.map(|scheme| (scheme, Integrator::Projection));
    let others = [Integrator::Reflection, Integrator::Trapezoid].map(|other| (Advection::Cubic, other));
    for (scheme, integrator) in plain.into_iter().chain(others) {
        let one = run(1, scheme, integrator);
        assert!(one.1[0] > 0.0 && f64::from_bits(one.2) > 0.0, "nothing happened");
        for threads in [2, 3] {
            let same = run(threads, scheme, integrator) == one;
            assert!(same, "{scheme:?}, {integrator:?}: {threads} threads differ from one");
        }
    }
}

#[test]
fn sources_emit_their_rate_at_any_step() {
    let source = Source {
        velocity: None,
        start: 0.1,
        stop: 0.6,
        ..Source::new(Region::sphere([0.5, 0.5, 0.5], 0.2), [2.0, 0.0, 1.0, 50.0])
    };
    let mass = |scheme: Advection, steps: usize| {
        let sides = all(BoundaryCondition::Closed);
        let config = config([32, 32, 32], 1.0 / 32.0, sides, scheme);
        let mut solver = Solver::new(config, inert(), vec![source.clone()]).unwrap();
        advance(&mut solver, 1.0 / steps as f32, steps);
        (solver.stats().mass, solver.stats().heat)
    };
    let volume = 4.0 / 3.0 * std::f64::consts::PI * 0.2f64.powi(3);
    for (scheme, steps) in [Advection::MacCormack, Advection::default()]
        .into_iter()
        .flat_map(|scheme| [1, 7, 40].map(|n| (scheme, n)))
    {
        let (mass, heat) = mass(scheme, steps);
        // The emission lasts half a second. The ramp of the rim is a cell wide, so the volume is close to the
        // ball's.
        let off = [mass[0] / (volume * 2.0 * 0.5), heat / (volume * 50.0 * 0.5)].map(|share| share - 1.0);
        println!("{scheme:?}, {steps} steps: {off:?}");
        assert!(off.iter().all(|off| off.abs() < 0.005), "{scheme:?}, {steps} steps: {off:?}");
        assert_eq!(mass[1], 0.0);
    }
}

#[test]
fn a_driven_source_moves_the_air() {
    let source = Source {
        velocity: Some([0.0, 2.0, 0.0]),
        start: 0.0,
        stop: 10.0,
        ..Source::new(Region::sphere([0.5, 0.3, 0.5], 0.15), [0.0; 4])
    };
    let sides = all(BoundaryCondition::Open);
    let config = config([24, 24, 24], 1.0 / 24.0, sides, Advection::MacCormack);
    let mut solver = Solver::new(config, inert(), vec![source]).unwrap();
    advance(&mut solver, 0.02, 5);
    let layout = solver.layout();
    let at = layout.at(12, 7, 12);
    assert!(solver.velocity()[1][at] > 1.0, "air in the source at {} m/s", solver.velocity()[1][at]);
}

#[test]
fn wild_settings_stay_finite() {
    let smoke = Smoke { buoyancy: 1e9, dissipation: -1e6, diffusion: 1e9 };
    let params = Params {
        heat_buoyancy: -1e9,
        cooling: -1e6,
        vorticity: 1e9,
        friction: -1e6,
        viscosity: 1e9,
        conduction: 1e9,
        smoke: [smoke; 3],
        ..Params::default()
    };
    let config = Config {
        time: TimeControl::default(),
        ..config([12, 10, 8], 0.1, all(BoundaryCondition::Open), Advection::MacCormack)
    };
    let mut solver = Solver::new(config, params, vec![]).unwrap();
    solver.fill(noise, |at| [0, 1, 2, 3].map(|c| noise(c, at)));
    advance(&mut solver, 0.1, 20);
    assert!(solver.velocity().iter().flatten().all(|x| x.is_finite()));
    assert!(solver.scalars().as_flattened().iter().all(|x| x.abs() <= 1.001 * SCALAR_LIMIT));
}

#[test]
fn growing_smoke_is_bounded_and_empty_cells_stay_empty() {
    let solids = [vec![], vec![Solid::new(Shape::Sphere { radius: 0.2 }, [0.5; 3])]];
    for (rate, solids) in
        [-1e3, -1e6].into_iter().flat_map(|rate| solids.clone().map(|solids| (rate, solids)))
    {
        let smoke = Smoke { dissipation: rate, ..inert().smoke[0] };
        let params = Params { smoke: [smoke; 3], cooling: rate, ..inert() };
        let config = config([10; 3], 0.1, all(BoundaryCondition::Closed), Advection::Cubic);
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        solver.set_solids(solids).unwrap();
        solver.fill(|_, _| 0.0, |p| if p[0] < 0.5 { [1.0, 0.0, 0.0, 1.0] } else { [0.0; 4] });
        advance(&mut solver, 0.05, 6);
        let scalars: Vec<[f32; 4]> =
            (0..1000).map(|c| cell(&solver, [c % 10, c / 10 % 10, c / 100])).collect();
        assert!(
            scalars.as_flattened().iter().all(|x| x.abs() <= SCALAR_LIMIT),
            "{rate}: no number, or too many"
        );
        assert!(scalars.iter().all(|x| x[0] >= 0.0 && x[1] == 0.0 && x[3] >= 0.0), "{rate}: out of nothing");
        assert!(scalars.iter().any(|x| x[0] > 0.9 * SCALAR_LIMIT), "{rate}: it grows");
    }
}

#[test]
fn substeps_follow_the_flow() {
    let mut config = config([20, 4, 4], 0.1, OPEN_ALONG_X, Advection::MacCormack);
    config.time = TimeControl { cfl: 2.0, max_substeps: 4 };
    let mut solver = Solver::new(config, inert(), vec![]).unwrap();
    solver.fill(|c, _| if c == 0 { 1.0 } else { 0.0 }, |_| [0.0; 4]);
    assert_eq!(solver.step(0.1).unwrap().substeps, 1);
    let stats = solver.step(0.55).unwrap();
    assert_eq!(stats.substeps, 3);
    assert!((stats.cfl - 5.5 / 3.0).abs() < 0.01 && (stats.time - 0.65).abs() < 1e-6);
    assert_eq!(solver.step(5.0).unwrap().substeps, 4, "no more than max_substeps");
}

#[test]
fn a_step_can_be_cancelled_and_refuses_nonsense() {
    let config = config([8, 8, 8], 0.1, all(BoundaryCondition::Closed), Advection::MacCormack);
    let mut solver = Solver::new(config.clone(), inert(), vec![]).unwrap();
    assert_eq!(solver.step_cancellable(0.1, &AtomicBool::new(true)).unwrap_err(), SolverError::Cancelled);
    assert!(matches!(solver.step(f32::NAN), Err(SolverError::StepLength(dt)) if dt.is_nan()));
    assert_eq!(solver.step(-1.0).unwrap_err(), SolverError::StepLength(-1.0));
    let refused = Solver::new(Config { h: 0.0, ..config }, inert(), vec![]).err();
    assert_eq!(refused, Some(SolverError::CellSize(0.0)));
    assert!(Dims::new([0, 1, 1]).is_err());
}

/// A frozen flow keeps its divergence, and its speed despite viscosity, heat and cursor.
#[test]
fn a_frozen_flow_keeps_its_velocity_and_advects_smoke() {
    let frozen =
        Config { frozen: true, ..config([24, 8, 1], 0.1, all(BoundaryCondition::Open), Advection::Cubic) };
    let params = Params { viscosity: 0.1, heat_buoyancy: 1.0, friction: 1.0, ..inert() };
    let mut solver = Solver::new(frozen, params, vec![]).unwrap();
    let start = |c: usize, p: [f32; 3]| if c == 0 { 0.5 + 0.1 * p[0] } else { 0.0 };
    solver.fill(start, |p| [f32::from(p[0] < 0.5), 0.0, 0.0, 1.0]);
    let before = solver.velocity().clone();
    solver
        .dab(&Dab {
            center: [1.0, 0.4, 0.05],
            radius: 0.3,
            add: [0.0, 1.0, 0.0, 0.0],
            push: [9.0, 9.0, 0.0],
            erase: 0.0,
        })
        .unwrap();
    assert!(cell(&solver, [10, 4, 0])[1] > 0.5, "the cursor paints");
    advance(&mut solver, 0.05, 20);
    assert_eq!(solver.velocity(), &before);
    // With x' = 0.5 + 0.1 x the front at 0.5 moves to 5.5 e^(0.1) − 5 = 1.08 in a second, its edge blurred by a
    // cell or two, and clean air reaches 0.53.
    let dark: Vec<usize> = (0..24).filter(|i| cell(&solver, [*i, 4, 0])[0] > 0.5).collect();
    assert_eq!(dark, [5, 6, 7, 8, 9]);
    let ball = Solid::new(Shape::Sphere { radius: 0.2 }, [1.0, 0.4, 0.0]);
    assert_eq!(solver.set_solids(vec![ball]), Err(SolverError::FrozenAroundSolids));
}
