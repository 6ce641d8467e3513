//! Tests the terms of the equation one by one.

mod common;

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

/// Runs a closed box with a hot, coloured ball in the middle for a short while.
fn ball(params: Params) -> Solver {
    let mut solver = Solver::new(
        config([24, 32, 24], 0.05, all(BoundaryCondition::Closed), Advection::MacCormack),
        params,
        vec![],
    )
    .unwrap();
    let inside = |[x, y, z]: [f32; 3]| (x - 0.6).powi(2) + (y - 0.8).powi(2) + (z - 0.6).powi(2) < 0.09;
    solver.fill(|_, _| 0.0, |at| if inside(at) { [1.0, 1.0, 1.0, 100.0] } else { [0.0; 4] });
    advance(&mut solver, 0.05, 6);
    solver
}

fn height(solver: &Solver, colour: usize) -> f32 {
    let (mut mass, mut moment) = (0.0, 0.0);
    for k in 0..24 {
        for j in 0..32 {
            for i in 0..24 {
                let s = cell(solver, [i, j, k])[colour];
                mass += s;
                moment += s * (j as f32 + 0.5) * 0.05;
            }
        }
    }
    moment / mass
}

#[test]
fn each_colour_and_heat_follow_their_buoyancy() {
    let still = height(&ball(inert()), 0);
    assert!((still - 0.8).abs() < 1e-3);
    let hot = ball(Params { heat_buoyancy: 0.02, ..inert() });
    assert!(height(&hot, 3) > 0.82, "heat at {}", height(&hot, 3));
    for colour in 0..3 {
        let with = |buoyancy: f32| {
            let mut params = inert();
            params.smoke[colour].buoyancy = buoyancy;
            height(&ball(params), colour)
        };
        assert!(with(1.5) > 0.81 && with(-1.5) < 0.79, "colour {colour}: {} {}", with(1.5), with(-1.5));
    }
}

#[test]
fn heat_lifts_relative_to_the_chosen_ambient() {
    // A chimney is warm on one side. Relative to the mean of both sides, one rises as the other sinks.
    let sides =
        [[BoundaryCondition::Closed; 2], [BoundaryCondition::Open; 2], [BoundaryCondition::Closed; 2]];
    let speed = |ambient: Ambient| {
        let params = Params { heat_buoyancy: 0.1, ambient, ..inert() };
        let mut solver = Solver::new(config([8; 3], 0.1, sides, Advection::Cubic), params, vec![]).unwrap();
        solver.fill(|_, _| 0.0, |[x, ..]| [0.0, 0.0, 0.0, if x < 0.4 { 30.0 } else { 20.0 }]);
        advance(&mut solver, 0.01, 1);
        [1, 6].map(|i| solver.velocity()[1][solver.layout().at(i, 4, 4)])
    };
    let [mean, warm, none] = [Ambient::Mean, Ambient::Fixed(25.0), Ambient::Fixed(0.0)].map(speed);
    assert!(mean[0] > 1e-4 && (mean[0] + mean[1]).abs() < 1e-2 * mean[0], "{mean:?}");
    assert!((mean[0] - warm[0]).abs() < 1e-3 * mean[0], "{mean:?} and {warm:?}");
    assert!(none[0] + none[1] > 2.0 * mean[0], "all of it rises: {none:?}");
}

/// Heat lifts the air against gravity, for any direction of gravity.
#[test]
fn heat_lifts_along_any_direction() {
    let up = [0.6, 0.0, -0.8];
    let sides = all(BoundaryCondition::Closed);
    let config = config([20; 3], 0.05, sides, Advection::Cubic);
    let mut solver = Solver::new(config, Params { heat_buoyancy: 0.02, up, ..inert() }, vec![]).unwrap();
    let middle = |p: [f32; 3]| p.iter().map(|x| (x - 0.5).powi(2)).sum::<f32>();
    solver.fill(|_, _| 0.0, |p| [0.0, 0.0, 0.0, 40.0 * (-middle(p) / 0.02).exp()]);
    advance(&mut solver, 0.05, 3);
    // The middle of the box is a corner of four faces.
    let mean = |c: usize| {
        let at = |a: isize, b: isize| {
            let mut index = [10; 3];
            (index[(c + 1) % 3], index[(c + 2) % 3]) = (a, b);
            solver.velocity()[c][solver.layout().at(index[0], index[1], index[2])]
        };
        0.25 * (at(9, 9) + at(9, 10) + at(10, 9) + at(10, 10))
    };
    assert!(mean(0) > 0.02, "{}", mean(0));
    assert!(
        (mean(2) / mean(0) + 0.8 / 0.6).abs() < 0.01 && mean(1).abs() < 1e-3 * mean(0),
        "{:?}",
        [0, 1, 2].map(mean)
    );
}

#[test]
fn decay_is_exponential_and_does_not_depend_on_the_step() {
    let params = |k: f32| Params {
        cooling: 2.0,
        smoke: [0.5, 1.0, k].map(|dissipation| Smoke { buoyancy: 0.0, dissipation, diffusion: 0.0 }),
        ..inert()
    };
    let run = |scheme: Advection, steps: usize| {
        let sides = all(BoundaryCondition::Closed);
        let mut solver = Solver::new(config([8, 8, 8], 0.1, sides, scheme), params(-1.0), vec![]).unwrap();
        solver.fill(|_, _| 0.0, |_| [1.0; 4]);
        advance(&mut solver, 1.0 / steps as f32, steps);
        cell(&solver, [3, 3, 3])
    };
    for (scheme, steps) in [Advection::MacCormack, Advection::default()]
        .into_iter()
        .flat_map(|scheme| [1, 7, 50].map(|n| (scheme, n)))
    {
        let got = run(scheme, steps);
        for (got, rate) in got.into_iter().zip([0.5f32, 1.0, -1.0, 2.0]) {
            let off = got / (-rate).exp() - 1.0;
            assert!(off.abs() < 1e-5, "{scheme:?}, {steps} steps: {got} for rate {rate}");
        }
    }
}

/// Smoke and heat that rise from an inflow at 1 m/s decay as exp(−k y), in a column of air with a constant
/// profile. They once decayed by a whole step in the step in which they enter, which left 81 % of them at 12
/// steps a second.
#[test]
fn smoke_of_an_inflow_decays_while_it_is_inside() {
    const CELLS: usize = 16;
    const H: f32 = 0.05;
    let air = |scalars| BoundaryCondition::Inflow(Inflow { velocity: [0.0, 1.0, 0.0], scalars });
    let exact = |rate: f32, j: usize| {
        let half = 0.5 * rate * H;
        let mean = if half == 0.0 { 1.0 } else { half.sinh() / half };
        mean * (-rate * (j as f32 + 0.5) * H).exp()
    };
    let integrators = [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid];
    let mut cases: Vec<_> = SCHEMES.map(|scheme| (scheme, Integrator::Trapezoid, false, 1)).to_vec();
    cases.extend(integrators.map(|integrator| (Advection::Conservative, integrator, false, 1)));
    cases.extend([(Advection::Conservative, Integrator::Trapezoid, true, 1)]);
    cases.extend(
        [Advection::Conservative, Advection::Lagrange]
            .map(|scheme| (scheme, Integrator::Trapezoid, false, 2)),
    );
    for (scheme, integrator, falls, detail) in cases {
        let rates = [5.0, -2.0, 0.0, 3.0];
        let [still, enters] = [air([0.0; 4]), air([1.0, 1.0, 0.5, 40.0])];
        let mut sides = all(BoundaryCondition::Periodic);
        sides[1] = [enters, still];
        if falls {
            let down = |side| {
                let BoundaryCondition::Inflow(air) = side else { unreachable!() };
                BoundaryCondition::Inflow(Inflow { velocity: air.velocity.map(|v| -v), ..air })
            };
            sides[1] = [down(still), down(enters)];
        }
        let smoke = |dissipation| Smoke { buoyancy: 0.0, dissipation, diffusion: 0.0 };
        let params = Params {
            cooling: rates[3],
            smoke: [smoke(rates[0]), smoke(rates[1]), smoke(rates[2])],
            ..inert()
        };
        // Courant numbers below one, above one, and above the limit of a sweep.
        for dt in [1.0 / 24.0, 1.0 / 12.0, 0.3] {
            if dt > 0.1 && scheme != Advection::Conservative {
                continue;
            }
            let config = Config { integrator, detail, ..config([4, CELLS, 3], H, sides, scheme) };
            let mut solver = Solver::new(config, params.clone(), vec![]).unwrap();
            solver.fill(|c, _| if c == 1 { if falls { -1.0 } else { 1.0 } } else { 0.0 }, |_| [0.0; 4]);
            advance(&mut solver, dt, (1.2 / dt) as usize);
            let at = |j: usize| {
                let j = if falls { CELLS - 1 - j } else { j };
                let parts = (0..detail).map(|part| {
                    let place = [detail, detail * j + part, detail].map(|i| i as isize);
                    solver.scalars()[solver.smoke_layout().at(place[0], place[1], place[2])]
                });
                parts.fold([0.0; 4], |sum, cell| [0, 1, 2, 3].map(|c| sum[c] + cell[c] / detail as f32))
            };
            let mut worst = [0.0f32; 4];
            for j in 2..CELLS - 4 {
                for (c, enters) in [1.0, 1.0, 0.5, 40.0].into_iter().enumerate() {
                    worst[c] = worst[c].max((at(j)[c] / (enters * exact(rates[c], j)) - 1.0).abs());
                }
            }
            let case = format!("{scheme:?} {integrator:?} falls {falls} detail {detail} dt {dt:.3}");
            println!("{case}: off by {:.2e}", worst.into_iter().fold(0.0, f32::max));
            // Linear interpolation smears the profile, which raises it.
            let smears = [Advection::SemiLagrangian, Advection::MacCormack].contains(&scheme);
            let most = if smears { 0.05 } else { 0.03 };
            assert!(worst.iter().all(|off| *off < most), "{case}: {worst:?}");
        }
    }
}

/// Air holds no more smoke than its inflow gives: in steps in which all smoke decays, in air that is much
/// faster inside than at the inflow, and in air that enters through two sides.
#[test]
fn air_holds_no_more_smoke_than_its_inflow_gives() {
    let air = |velocity| BoundaryCondition::Inflow(Inflow { velocity, scalars: [2.0, 1.0, 0.0, 30.0] });
    let sides = [
        [air([1.0, 0.2, 0.0]), BoundaryCondition::Open],
        [air([0.2, 1.0, 0.0]), BoundaryCondition::Open],
        [BoundaryCondition::Periodic; 2],
    ];
    for (scheme, detail) in SCHEMES.into_iter().flat_map(|scheme| [(scheme, 1), (scheme, 2)]) {
        let smoke = |dissipation| Smoke { buoyancy: 0.0, dissipation, diffusion: 0.0 };
        let params = Params { cooling: 12.0, smoke: [smoke(40.0), smoke(0.3), smoke(0.0)], ..inert() };
        let config = Config { detail, ..config([10, 10, 4], 0.1, sides, scheme) };
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        let storm = ForceField::Vortex {
            center: [0.5, 0.5, 0.2],
            axis: [0.0, 0.0, 1.0],
            radius: 0.4,
            strength: 300.0,
        };
        solver.set_forces(vec![Force::new(storm)]).unwrap();
        for _ in 0..12 {
            solver.step(1.0).unwrap();
            for (c, most) in [2.0f32, 1.0, 0.0, 30.0].into_iter().enumerate() {
                let held = solver.scalars().iter().map(|cell| cell[c].abs()).fold(0.0, f32::max);
                assert!(held <= 1.001 * most, "{scheme:?} detail {detail}: {held} of {most} in {c}");
            }
        }
    }
}

#[test]
fn friction_slows_the_flow_exponentially() {
    let params = Params { friction: 1.5, ..inert() };
    let mut solver =
        Solver::new(config([8, 8, 8], 0.1, OPEN_ALONG_X, Advection::MacCormack), params, vec![]).unwrap();
    solver.fill(|c, _| if c == 0 { 0.1 } else { 0.0 }, |_| [0.0; 4]);
    advance(&mut solver, 0.1, 10);
    assert!((solver.stats().max_speed / (0.1 * (-1.5f32).exp()) - 1.0).abs() < 1e-4);
}

#[test]
fn confinement_feeds_swirl_and_scales_with_the_cell() {
    let energy = |vorticity: f32, n: usize| {
        let params = Params { vorticity, ..inert() };
        let sides = all(BoundaryCondition::Closed);
        let mut solver =
            Solver::new(config([n, n, 4], 1.0 / n as f32, sides, Advection::Cubic), params, vec![]).unwrap();
        let flow = |c: usize, [x, y, _]: [f32; 3]| {
            let (x, y) = (x - 0.5, y - 0.5);
            let swirl = (-(x * x + y * y) / 0.02).exp();
            [-y * swirl, x * swirl, 0.0][c] * 10.0
        };
        solver.fill(flow, |_| [0.0; 4]);
        advance(&mut solver, 0.01, 10);
        let depth = f64::from(4.0 / n as f32);
        solver.stats().kinetic_energy / depth
    };
    let gain = |n| energy(0.5, n) - energy(0.0, n);
    assert!(gain(32) > 0.0, "confinement took energy: {}", gain(32));
    let ratio = gain(32) / gain(64);
    assert!((1.3..3.0).contains(&ratio), "ε h: half the cell should give about half the gain, not 1/{ratio}");
}

/// Returns the acceleration along y by confinement of the flow v = `profile`(x), over ε h, at x of the inner
/// cells.
fn confinement(profile: impl Fn(f32) -> f32 + Sync) -> Vec<(f32, f32)> {
    let (epsilon, h, dt) = (0.5, 1.0 / 32.0, 0.1);
    let sides =
        [[BoundaryCondition::Closed; 2], [BoundaryCondition::Periodic; 2], [BoundaryCondition::Closed; 2]];
    let config = config([32, 8, 4], h, sides, Advection::Cubic);
    let mut solver = Solver::new(config, Params { vorticity: epsilon, ..inert() }, vec![]).unwrap();
    solver.fill(|c, [x, ..]| if c == 1 { profile(x) } else { 0.0 }, |_| [0.0; 4]);
    advance(&mut solver, dt, 1);
    let at = |i: usize| {
        let x = (i as f32 + 0.5) * h;
        let gained = solver.velocity()[1][solver.layout().at(i as isize, 3, 2)] - profile(x);
        (x, gained / (epsilon * h * dt))
    };
    (4..28).map(at).collect()
}

/// Along v = x² the vorticity 2x points along z and grows along x: the acceleration is −2x ε h along y.
#[test]
fn confinement_is_as_strong_as_fedkiw_stam_and_jensen_say() {
    for (x, acceleration) in confinement(|x| x * x) {
        let share = acceleration / (-2.0 * x);
        assert!((share - 1.0).abs() < 0.02, "at {x}: {share} of the acceleration");
    }
}

/// ε is a rate: a flow twice as large that runs in half the time needs twice the ε and is otherwise the same.
#[test]
fn the_strength_of_confinement_is_a_rate() {
    let speed = |length: f32, time: f32, vorticity: f32| {
        let config = config([16; 3], length / 16.0, all(BoundaryCondition::Periodic), Advection::Cubic);
        let mut solver = Solver::new(config, Params { vorticity, ..inert() }, vec![]).unwrap();
        let turn = std::f32::consts::TAU / length;
        let flow = |c: usize, [x, y, z]: [f32; 3]| {
            let [x, y, z] = [x, y, z].map(|x| (turn * x).sin());
            length / time * [y + 0.4 * z, z - 0.3 * x, x * y][c]
        };
        solver.fill(flow, |_| [0.0; 4]);
        advance(&mut solver, 0.04 * time, 10);
        solver.stats().max_speed * time / length
    };
    let here = speed(1.0, 1.0, 2.0);
    assert!((speed(2.0, 0.5, 4.0) / here - 1.0).abs() < 1e-5, "{here} and {}", speed(2.0, 0.5, 4.0));
    assert!((speed(2.0, 0.5, 2.0) / here - 1.0).abs() > 1e-3, "{here} and {}", speed(2.0, 0.5, 2.0));
}

/// The gradient of a uniform vorticity is rounding alone, and its direction means nothing.
#[test]
fn confinement_does_not_act_where_the_vorticity_is_uniform() {
    for (x, acceleration) in confinement(|x| 0.3 + 1.7 * x) {
        let share = acceleration / 1.7;
        assert!(share.abs() < 0.01, "at {x}: {share} of the acceleration at an edge of the vorticity");
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

/// A steady force against friction gives u = F/d (1 − e^(−d t)), with second order in all integrators of
/// second order.
#[test]
fn friction_damps_what_a_force_gives_meanwhile() {
    let wind = Force::new(ForceField::Wind([1.0, 0.5, 0.0]));
    for integrator in [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid] {
        let config = Config {
            integrator,
            ..config([8, 8, 8], 0.1, all(BoundaryCondition::Periodic), Advection::Cubic)
        };
        let mut solver = Solver::new(config, Params { friction: 1.5, ..inert() }, vec![]).unwrap();
        solver.set_forces(vec![wind.clone()]).unwrap();
        advance(&mut solver, 0.1, 10);
        let exact = (1.0 - (-1.5f32).exp()) / 1.5;
        let got = solver.velocity_at_center(0, solver.layout().at(4, 4, 4));
        assert!((got / exact - 1.0).abs() < 3e-3, "{integrator:?}: {got}, not {exact}");
    }
}
