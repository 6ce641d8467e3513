//! Conservation: the sweeps neither lose nor create smoke or heat.

mod common;

use common::{advance, all, bits, cell, config, inert, noise};
use updraft::solver::{
    Advection, BoundaryCondition, Config, Dab, Inflow, Integrator, Params, Region, SCALAR_LIMIT, Shape,
    Smoke, Solid, Solver, Source, TimeControl,
};

/// Makes a noisy flow of some cells a step in a closed or periodic box, with smoke everywhere.
fn stirred(sides: [[BoundaryCondition; 2]; 3], scheme: Advection, threads: usize) -> Solver {
    let config = Config { threads, ..config([21, 18, 23], 0.05, sides, scheme) };
    let mut solver = Solver::new(config, inert(), vec![]).unwrap();
    solver.fill(|c, at| 2.0 * noise(c, at), |at| [0, 1, 2, 3].map(|c| noise(c, at).abs().powi(3)));
    solver
}

#[test]
fn conservative_advection_keeps_sums() {
    let around =
        [[BoundaryCondition::Periodic; 2], [BoundaryCondition::Closed; 2], [BoundaryCondition::Periodic; 2]];
    for sides in [
        all(BoundaryCondition::Closed),
        all(BoundaryCondition::NoSlip([0.0; 3])),
        all(BoundaryCondition::Periodic),
        around,
    ] {
        // The air crosses from a fraction of a cell to several cells a step.
        for dt in [0.01, 0.1, 0.3] {
            let mut solver = stirred(sides, Advection::Conservative, 2);
            let before = (solver.stats().mass, solver.stats().heat);
            advance(&mut solver, dt, 8);
            let after = (solver.stats().mass, solver.stats().heat);
            for c in 0..3 {
                let change = after.0[c] / before.0[c] - 1.0;
                assert!(change.abs() < 3e-6, "{sides:?} {dt}: colour {c} changed by {change:e}");
            }
            assert!((after.1 / before.1 - 1.0).abs() < 3e-6, "{sides:?} {dt}: heat");
            let least = solver.scalars().iter().flatten().fold(f32::INFINITY, |a, &b| a.min(b));
            assert!(least > -1e-6, "{sides:?} {dt}: {least}");
        }
    }
}

/// The air crosses from a fraction of a cell to eight cells a step.
#[test]
fn a_uniform_field_stays_uniform_in_any_flow() {
    let around =
        [[BoundaryCondition::Periodic; 2], [BoundaryCondition::Closed; 2], [BoundaryCondition::Periodic; 2]];
    for sides in [all(BoundaryCondition::Closed), all(BoundaryCondition::Periodic), around] {
        for dt in [0.01, 0.1, 0.3] {
            let config = config([21, 18, 23], 0.05, sides, Advection::Conservative);
            let mut solver = Solver::new(config, inert(), vec![]).unwrap();
            solver.fill(|c, at| 2.0 * noise(c, at), |_| [1.0, 0.5, 0.0, -20.0]);
            advance(&mut solver, dt, 8);
            for at in (0..21 * 18 * 23).map(|c| [c % 21, c / 21 % 18, c / (21 * 18)]) {
                let off = [1.0, 0.5, 0.0, -20.0].iter().zip(cell(&solver, at)).map(|(a, b)| (a - b).abs());
                let worst = off.fold(0.0, f32::max);
                assert!(worst < 5e-4, "{sides:?} {dt} {at:?}: off by {worst}");
            }
        }
    }
}

/// Returns the sums of the colours over the cells of smoke \[m³\].
fn summed(solver: &Solver) -> [f64; 3] {
    let layout = solver.smoke_layout();
    let [nx, ny, nz] = layout.dims.array().map(|n| n as isize);
    let volume = f64::from(solver.config().smoke_h()).powi(3);
    let mut sums = [0.0; 3];
    for (k, j) in (0..nz).flat_map(|k| (0..ny).map(move |j| (k, j))) {
        for cell in &solver.scalars()[layout.at(0, j, k)..layout.at(nx, j, k)] {
            (0..3).for_each(|c| sums[c] += volume * f64::from(cell[c]));
        }
    }
    sums
}

/// A step counts finer smoke while it takes its means; a dab after it changes what it has counted.
#[test]
fn the_masses_of_a_step_are_those_of_its_smoke_at_any_detail() {
    for detail in [1, 2, 3] {
        let sides = all(BoundaryCondition::Closed);
        let config = Config { detail, ..config([24, 20, 22], 0.05, sides, Advection::Conservative) };
        let source = Source::new(Region::sphere([0.6, 0.4, 0.5], 0.2), [2.0, 0.0, 1.0, 30.0]);
        let mut solver = Solver::new(config, Params::default(), vec![source]).unwrap();
        let check = |solver: &Solver, when: &str| {
            for (c, (stated, is)) in solver.stats().mass.into_iter().zip(summed(solver)).enumerate() {
                assert!(
                    (stated - is).abs() <= 1e-6 * is,
                    "{detail}, {when}, {c}: {stated:e}, {is:e} are there"
                );
            }
        };
        for n in 0..4 {
            solver.step(1.0 / 24.0).unwrap();
            check(&solver, "step");
            let center = [0.2 + 0.1 * n as f32, 0.8, 0.3];
            let add = [0.5, 0.25, 0.0, 5.0];
            solver.dab(&Dab { center, radius: 0.15, add, push: [0.0; 3], erase: 0.0 }).unwrap();
            solver.settle();
            check(&solver, "dab");
        }
        assert!(solver.stats().mass[1] > 1e-3, "{detail}: {:?}", solver.stats());
    }
}

/// Contents of the box, plus outflow and decay, less emission, are the initial contents.
#[test]
fn the_budget_of_an_open_box_closes() {
    let inflow =
        BoundaryCondition::Inflow(Inflow { velocity: [0.4, 0.0, 0.0], scalars: [0.5, 0.0, 0.2, 9.0] });
    let boxes = [
        [
            [BoundaryCondition::Open; 2],
            [BoundaryCondition::Closed, BoundaryCondition::Open],
            [BoundaryCondition::Open; 2],
        ],
        [[inflow, BoundaryCondition::Open], [BoundaryCondition::Closed; 2], [BoundaryCondition::Periodic; 2]],
    ];
    let integrators = [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid];
    let cases = boxes.into_iter().flat_map(|b| integrators.map(|i| (b, i)));
    // Diffusion through an inflow, or through a wall or solid of fixed temperature, counts as outflow or
    // inflow too.
    for ((sides, integrator), diffusion) in cases.flat_map(|case| [0.0, 2e-3].map(|d| (case, d))) {
        let diffuses = diffusion > 0.0;
        let source = Source {
            stop: 0.6,
            ..Source::new(Region::sphere([0.5, 0.2, 0.4], 0.12), [3.0, 0.0, 1.0, 300.0])
        };
        let smoke = Smoke { buoyancy: 0.0, dissipation: 0.3, diffusion };
        let params = Params {
            heat_buoyancy: 0.1,
            cooling: 0.5,
            conduction: diffusion,
            smoke: [smoke; 3],
            ..Params::default()
        };
        let time = TimeControl::default();
        let mut config =
            Config { time, integrator, ..config([40, 32, 33], 0.025, sides, Advection::Conservative) };
        if diffuses {
            config.held[1][0] = Some(30.0);
        }
        let mut solver = Solver::new(config, params, vec![source]).unwrap();
        if diffuses {
            let warm = Solid {
                temperature: Some(60.0),
                ..Solid::new(Shape::Sphere { radius: 0.1 }, [0.7, 0.3, 0.4])
            };
            // The heat that the wall would give to cells of the block reaches no air.
            let on_warm_wall = Solid::new(Shape::Box { size: [0.15, 0.2, 0.25] }, [0.4, 0.08, 0.4]);
            solver.set_solids(vec![warm, on_warm_wall]).unwrap();
        }
        solver.fill(|_, _| 0.0, |[x, ..]| [if x < 0.4 { 0.3 } else { 0.0 }, 0.0, 0.0, 0.0]);
        let case = format!("{sides:?} {integrator:?}, diffusion {diffusion}");
        assert_budget_closes(&mut solver, 2e-5, &case);
    }
}

/// Runs for three seconds. Checks that contents, outflow and decay equal the initial contents and the
/// emission, to a share of them.
fn assert_budget_closes(solver: &mut Solver, share: f64, case: &str) {
    let start = solver.stats().mass[0];
    advance(solver, 1.0 / 24.0, 72);
    let stats = solver.stats();
    let (left, faded) = (stats.left.unwrap(), stats.faded.unwrap());
    let held = [stats.mass[0] - start, stats.mass[1], stats.mass[2], stats.heat];
    assert!(left[0].abs() > 0.1 * start, "{case}: {left:?}: nothing crosses the sides");
    for c in [0, 2, 3] {
        let open = held[c] + left[c] + faded[c] - stats.emitted[c];
        let whole = stats.emitted[c] + start;
        assert!(open.abs() < share * whole, "{case}, {c}: {open:e} of {whole:e} is missing");
    }
}

/// Between insulated sides all heat comes from the two balls or goes to them. The ball at 20 K takes heat.
#[test]
fn the_heat_that_solids_give_is_that_which_the_air_gains() {
    for (detail, integrator) in [
        (1, Integrator::Projection),
        (1, Integrator::Reflection),
        (1, Integrator::Trapezoid),
        (2, Integrator::Trapezoid),
    ] {
        let sides = all(BoundaryCondition::Closed);
        let config =
            Config { detail, integrator, ..config([24, 20, 22], 0.05, sides, Advection::Conservative) };
        let params = Params { heat_buoyancy: 0.1, conduction: 2e-3, cooling: 0.0, ..Params::default() };
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        let ball = |x: f32, held: f32| Solid {
            temperature: Some(held),
            ..Solid::new(Shape::Sphere { radius: 0.17 }, [x, 0.45, 0.57])
        };
        solver.set_solids(vec![ball(0.3, 90.0), ball(0.83, 20.0)]).unwrap();
        solver.fill(|_, _| 0.0, |_| [0.0, 0.0, 0.0, 40.0]);
        advance(&mut solver, 1.0 / 48.0, 1);
        let start = solver.stats().heat;
        let mut given = [0.0; 2];
        for _ in 0..24 {
            advance(&mut solver, 1.0 / 48.0, 1);
            let heat = solver.solid_heat();
            [0, 1].into_iter().for_each(|n| given[n] += heat[n] / 48.0);
        }
        let gained = solver.stats().heat - start;
        println!("detail {detail}, {integrator:?}: gained {gained:.6}, given {given:.6?}");
        assert!(given[0] > 0.0 && given[1] < 0.0, "{given:?}");
        let open = gained - given[0] - given[1];
        assert!(
            open.abs() < 2e-4 * (given[0] - given[1]),
            "{detail}, {integrator:?}: {gained} for {given:?}"
        );
    }
}

/// A ball that moves covers finer cells with smoke and uncovers others, while smoke leaves through open sides.
#[test]
fn the_budget_of_an_open_box_closes_around_a_ball_that_moves_in_finer_smoke() {
    let sides = [
        [BoundaryCondition::Open; 2],
        [BoundaryCondition::Closed, BoundaryCondition::Open],
        [BoundaryCondition::Open; 2],
    ];
    let source =
        Source { stop: 0.6, ..Source::new(Region::sphere([0.5, 0.2, 0.4], 0.12), [3.0, 0.0, 1.0, 300.0]) };
    let smoke = Smoke { buoyancy: 0.0, dissipation: 0.3, diffusion: 0.0 };
    let params = Params { heat_buoyancy: 0.1, cooling: 0.5, smoke: [smoke; 3], ..Params::default() };
    let base = config([20, 16, 17], 0.05, sides, Advection::Conservative);
    let config = Config { time: TimeControl::default(), detail: 2, ..base };
    let mut solver = Solver::new(config, params, vec![source]).unwrap();
    let keyframes = vec![(0.0, [0.3, 0.4, 0.4]), (3.0, [0.8, 0.5, 0.4])];
    let ball = Solid::new(Shape::Sphere { radius: 0.15 }, [0.3, 0.4, 0.4]);
    solver.set_solids(vec![Solid { keyframes, ..ball }]).unwrap();
    solver.fill(|_, _| 0.0, |[x, ..]| [if x < 0.4 { 0.3 } else { 0.0 }, 0.0, 0.0, 0.0]);
    assert_budget_closes(&mut solver, 2e-6, "a ball in finer smoke");
}

/// Hot and cold air nearly cancel, so that no factor restores their sum.
#[test]
fn heat_of_both_signs_keeps_its_sum_around_a_solid_that_moves() {
    let config = config([24, 20, 22], 0.05, all(BoundaryCondition::Closed), Advection::Conservative);
    let mut solver = Solver::new(config, inert(), vec![]).unwrap();
    let ball = Solid::new(Shape::Sphere { radius: 0.16 }, [0.3, 0.5, 0.55]);
    let keyframes = vec![(0.0, [0.3, 0.5, 0.55]), (1.0, [0.9, 0.5, 0.55])];
    solver.set_solids(vec![Solid { keyframes, ..ball }]).unwrap();
    solver.fill(|_, _| 0.0, |[x, ..]| [1.0, 0.0, 0.0, 0.3 + 30.0 * (5.0 * x).sin()]);
    advance(&mut solver, 1.0 / 24.0, 1);
    let (start, volume) = (solver.stats().heat, f64::from(24.0 * 20.0 * 22.0 * 0.05f32.powi(3)));
    advance(&mut solver, 1.0 / 24.0, 20);
    let off = (solver.stats().heat - start).abs() / (volume * 19.0);
    assert!(off < 2e-5, "{start} K m³ became {}, {off:e} of the heat of each sign", solver.stats().heat);
}

/// The lid moves towards a wall: no finer face on that wall may let air through.
#[test]
fn finer_smoke_stays_bounded_in_the_corner_of_a_lid() {
    let wall = BoundaryCondition::NoSlip([0.0; 3]);
    let lid = BoundaryCondition::NoSlip([0.5, 0.0, 0.5]);
    let sides = [[wall; 2], [wall, lid], [wall; 2]];
    let config = Config { detail: 3, ..config([8, 16, 24], 0.01, sides, Advection::Conservative) };
    let params = Params { viscosity: 1e-4, ..inert() };
    let mut solver = Solver::new(config, params, vec![]).unwrap();
    solver.fill(
        |_, _| 0.0,
        |[x, y, z]| [if (x - 0.04).hypot(y - 0.1).hypot(z - 0.07) < 0.02 { 1.0 } else { 0.0 }; 4],
    );
    let start = solver.stats().mass[0];
    advance(&mut solver, 0.1, 20);
    let stats = solver.stats();
    assert!((stats.mass[0] / start - 1.0).abs() < 1e-4, "{start:e} became {:e}", stats.mass[0]);
    assert!(stats.cfl < 1.1 * 0.1 / 0.01 * 0.5, "CFL {}: faster than the lid", stats.cfl);
}

/// Cells and faces exchange x and z.
#[test]
fn a_turned_box_gives_turned_output_but_for_the_order_of_axes() {
    let run = |turned: bool| {
        let config = config([20, 24, 20], 0.05, all(BoundaryCondition::Closed), Advection::Conservative);
        let mut solver = Solver::new(config, inert(), vec![]).unwrap();
        let flip = move |[x, y, z]: [f32; 3]| if turned { [z, y, x] } else { [x, y, z] };
        let wave = |[x, y, z]: [f32; 3]| [(3.0 * y).sin() * z, (2.0 * x).cos(), (4.0 * x + y).sin()];
        solver.fill(
            |c, at| wave(flip(at))[if turned { 2 - c } else { c }],
            |at| [1.0 + wave(flip(at))[2], wave(flip(at))[0], 0.0, 0.0],
        );
        advance(&mut solver, 0.03, 20);
        solver
    };
    let (plain, turned) = (run(false), run(true));
    let (mut off, mut sum) = (0.0, 0.0);
    for at in (0..20 * 24 * 20).map(|c| [c % 20, c / 20 % 24, c / 480]) {
        let (a, b) = (cell(&plain, at)[0], cell(&turned, [at[2], at[1], at[0]])[0]);
        off += f64::from((a - b).abs());
        sum += f64::from(a.abs());
    }
    assert!(off < 5e-3 * sum, "off by {}", off / sum);
}

#[test]
#[ignore = "slow: 2 minutes"]
fn smoke_in_a_closed_box_is_the_same_after_2000_steps() {
    for moving in [None, Some(false), Some(true)] {
        let config = Config {
            time: TimeControl::default(),
            ..config([32, 40, 32], 0.025, all(BoundaryCondition::Closed), Advection::Conservative)
        };
        let params = Params { heat_buoyancy: 0.02, vorticity: 0.3, ..inert() };
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        if let Some(moving) = moving {
            let ball = Solid::new(Shape::Sphere { radius: 0.12 }, [0.4, 0.7, 0.4]);
            let there = |n: u16| (f32::from(n), [0.4, if n.is_multiple_of(2) { 0.7 } else { 0.6 }, 0.4]);
            let keyframes = if moving { (0..100).map(there).collect() } else { vec![] };
            solver.set_solids(vec![Solid { keyframes, ..ball }]).unwrap();
        }
        let is_inside =
            |[x, y, z]: [f32; 3]| (x - 0.4).powi(2) + (y - 0.3).powi(2) + (z - 0.42).powi(2) < 0.02;
        solver.fill(|_, _| 0.0, |at| if is_inside(at) { [1.0, 0.0, 0.0, 30.0] } else { [0.0; 4] });
        let before = [solver.stats().mass[0], solver.stats().heat];
        advance(&mut solver, 1.0 / 24.0, 2000);
        let after = [solver.stats().mass[0], solver.stats().heat];
        for c in 0..2 {
            let change = after[c] / before[c] - 1.0;
            println!("solid that moves: {moving:?}: changed by {change:e}");
            assert!(change.abs() < 1e-4, "solid that moves: {moving:?}: changed by {change:e}");
        }
        let most = solver.scalars().iter().map(|cell| cell[0]).fold(0.0, f32::max);
        assert!(most < 1.01, "{moving:?}: a new extreme of {most}");
    }
}

#[test]
fn conservative_advection_keeps_sums_around_solids() {
    for turn in [[0.0; 3], [20.0, 10.0, 5.0]] {
        let mut solver = stirred(all(BoundaryCondition::Closed), Advection::Conservative, 2);
        let plate = Solid::new(Shape::Box { size: [0.6, 0.02, 0.6] }, [0.51, 0.47, 0.53]);
        let ball = Solid::new(Shape::Sphere { radius: 0.15 }, [0.6, 0.7, 0.5]);
        solver.set_solids(vec![Solid { rotation: Solid::turn(turn), ..plate }, ball]).unwrap();
        let before = (solver.stats().mass, solver.stats().heat);
        advance(&mut solver, 0.05, 8);
        let after = (solver.stats().mass, solver.stats().heat);
        for c in 0..3 {
            let change = after.0[c] / before.0[c] - 1.0;
            assert!(change.abs() < 1e-5, "{turn:?}: colour {c} changed by {change:e}");
        }
        assert!((after.1 / before.1 - 1.0).abs() < 1e-5, "{turn:?}: heat");
    }
}

#[test]
fn conservative_advection_is_the_same_on_any_number_of_threads() {
    let run = |threads| {
        let mut solver = stirred(all(BoundaryCondition::Closed), Advection::Conservative, threads);
        advance(&mut solver, 0.2, 4);
        bits(&solver)
    };
    assert_eq!(run(1), run(3));
}

/// Losses around a moving solid were once spread over all smoke of a colour: a blob ten cells away lost a
/// twentieth and gained an eighth, and the columns of the budget did not show it.
#[test]
fn a_moving_solid_leaves_smoke_far_away_alone() {
    for detail in [1, 2] {
        let config = Config {
            detail,
            time: TimeControl::default(),
            ..config([16, 40, 16], 0.05, all(BoundaryCondition::Closed), Advection::Conservative)
        };
        let mut solver = Solver::new(config, inert(), vec![]).unwrap();
        let solid = Solid::new(Shape::Sphere { radius: 0.15 }, [0.4, 1.8, 0.4]);
        let keyframes = vec![(0.0, [0.4, 1.8, 0.4]), (1.0, [0.4, 1.2, 0.4])];
        solver.set_solids(vec![Solid { keyframes, ..solid }]).unwrap();
        // Edges are a cell wide.
        let ball = |[x, y, z]: [f32; 3], at: f32, r: f32| {
            (0.5 + (r - (x - 0.4).hypot(y - at).hypot(z - 0.4)) / 0.05).clamp(0.0, 1.0)
        };
        // Equal red and green below, and red alone in the path of the ball.
        solver.fill(
            |_, _| 0.0,
            |at| {
                let below = ball(at, 0.4, 0.15);
                [below + ball(at, 1.5, 0.2), below, 0.0, 0.0]
            },
        );
        let before = solver.stats().mass;
        for _ in 0..24 {
            advance(&mut solver, 1.0 / 24.0, 1);
            let most = solver.scalars().iter().map(|cell| cell[0]).fold(0.0, f32::max);
            assert!(most < if detail == 1 { 1.01 } else { 1.03 }, "detail {detail}: a new extreme of {most}");
        }
        let mut far = [0.0_f64; 2];
        let layout = solver.smoke_layout();
        for k in 0..16 * detail as isize {
            for (i, j) in
                (0..16 * detail as isize).flat_map(|i| (0..14 * detail as isize).map(move |j| (i, j)))
            {
                let cell = solver.scalars()[layout.at(i, j, k)];
                (0..2).for_each(|c| far[c] += f64::from(cell[c]));
            }
        }
        assert!((far[0] / far[1] - 1.0).abs() < 2e-3, "detail {detail}: red {} and green {}", far[0], far[1]);
        for c in 0..2 {
            let change = solver.stats().mass[c] / before[c] - 1.0;
            assert!(change.abs() < 1e-5, "detail {detail}: colour {c} changed by {change:e}");
        }
    }
}

/// All smoke around a moving solid but the densest gave back its losses: smoke of 0.5 became 0.40 beside smoke of 1.
#[test]
fn thin_smoke_beside_denser_smoke_stays_uniform_around_a_moving_solid() {
    const N: usize = 32;
    for (detail, periodic) in [(1, false), (2, false), (1, true)] {
        let ends = if periodic { BoundaryCondition::Periodic } else { BoundaryCondition::Closed };
        let sides = [[ends; 2], [BoundaryCondition::Closed; 2], [ends; 2]];
        let base = config([N; 3], 1.0 / N as f32, sides, Advection::Conservative);
        let time = TimeControl::default();
        let mut solver = Solver::new(Config { detail, time, ..base }, inert(), vec![]).unwrap();
        let from = if periodic { [0.8, 0.45, 0.9] } else { [0.25, 0.45, 0.5] };
        let keyframes = vec![(0.0, from), (1.0, [from[0] + 0.4, from[1], from[2] + 0.1])];
        let ball = Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 0.12 }, from) };
        solver.set_solids(vec![ball]).unwrap();
        // The layer above lies five cells from the ball.
        let (thin, dense) = ([0.5, 1.0, 0.2, 10.0], [1.0, 0.5, 0.0, -20.0]);
        solver.fill(|_, _| 0.0, |[_, y, _]| if y < 0.73 { thin } else { dense });
        let (layout, h, size) = (solver.smoke_layout(), solver.config().smoke_h(), detail * N);
        let mut off = [0.0f32; 4];
        for _ in 0..24 {
            advance(&mut solver, 1.0 / 24.0, 1);
            let pose = &solver.poses()[0];
            for n in 0..size.pow(3) {
                let at = [n % size, n / size % size, n / (size * size)];
                let place = at.map(|index| (index as f32 + 0.5) * h);
                let images = [-1.0, 0.0, 1.0]
                    .map(|x| [-1.0, 0.0, 1.0].map(|z| [place[0] + x, place[1], place[2] + z]));
                if images.as_flattened().iter().all(|place| pose.distance(*place) > h) {
                    let cell = solver.scalars()[layout.at(at[0] as isize, at[1] as isize, at[2] as isize)];
                    for c in 0..4 {
                        let [least, most] = [thin[c].min(dense[c]), thin[c].max(dense[c])];
                        off[c] = off[c].max((least - cell[c]).max(cell[c] - most) / (most - least));
                    }
                }
            }
        }
        println!("detail {detail}, periodic {periodic}: off by {off:?}");
        assert!(off.iter().all(|&off| off < 0.01), "detail {detail}, periodic {periodic}: off by {off:?}");
    }
}

/// Emitted smoke decays during the emission, so contents, decay and emission do not depend on the step.
#[test]
fn emission_into_decaying_smoke_does_not_depend_on_the_step() {
    let rates = [2.0f32, 10.0, 0.0, -0.5];
    let mut params = Params { cooling: rates[3], heat_buoyancy: 0.0, ..inert() };
    for (smoke, rate) in params.smoke.iter_mut().zip(rates) {
        *smoke = Smoke { dissipation: rate, buoyancy: 0.0, ..*smoke };
    }
    let region = Region::sphere([0.3; 3], 0.12);
    let (start, stop, end) = (0.13f32, 0.81f32, 1.0f64);
    for dt in [0.1f32, 0.04, 0.01] {
        let source = Source { start, stop, ..Source::new(region.clone(), [1.0, 2.0, 1.0, 10.0]) };
        let config = config([12, 12, 12], 0.05, all(BoundaryCondition::Closed), Advection::Conservative);
        let mut solver = Solver::new(config, params.clone(), vec![source]).unwrap();
        advance(&mut solver, dt, (end / f64::from(dt)).round() as usize);
        let stats = solver.stats();
        let held = [stats.mass[0], stats.mass[1], stats.mass[2], stats.heat];
        let volume = stats.emitted[2] / f64::from(stop - start);
        for c in 0..4 {
            let (k, per_second) = (f64::from(rates[c]), volume * [1.0, 2.0, 1.0, 10.0][c]);
            let emitted = per_second * f64::from(stop - start);
            let since = |instant: f32| (-k * (end - f64::from(instant))).exp();
            let exact = if k == 0.0 { emitted } else { per_second * (since(stop) - since(start)) / k };
            assert!((held[c] / exact - 1.0).abs() < 2e-5, "step {dt}, quantity {c}: {} of {exact}", held[c]);
            assert!((stats.emitted[c] / emitted - 1.0).abs() < 2e-5, "step {dt}, quantity {c}: emission");
            let sum = held[c] + stats.faded.unwrap()[c] - stats.emitted[c];
            assert!(sum.abs() < 2e-5 * emitted, "step {dt}, quantity {c}: the budget is off by {sum}");
        }
    }
}

/// Air crosses a million cells in a step. Rounds that were too long once took more air from cells than they
/// held, and left negative smoke.
#[test]
fn a_step_of_any_length_leaves_no_negative_smoke_and_closes_its_budget() {
    for top in [BoundaryCondition::Open, BoundaryCondition::Closed] {
        for dt in [10.0, 1e3] {
            let closed = [BoundaryCondition::Closed; 2];
            let sides = [closed, [BoundaryCondition::Closed, top], closed];
            let config = Config {
                time: TimeControl { max_substeps: 2, ..TimeControl::default() },
                ..config([8, 12, 8], 0.05, sides, Advection::Conservative)
            };
            let ball = Region::sphere([0.2, 0.1, 0.2], 0.08);
            let params = Params { heat_buoyancy: 0.1, ..inert() };
            let source = Source::new(ball, [8.0, 0.0, 0.0, 200.0]);
            let mut solver = Solver::new(config, params, vec![source]).unwrap();
            for step in 1..=3 {
                let stats = solver.step(dt).unwrap().clone();
                let what = format!("{top:?}, steps of {dt} s, step {step}");
                let least = solver.scalars().iter().flatten().fold(f32::INFINITY, |a, &b| a.min(b));
                assert!(least >= -1e-3, "{what}: {least}");
                let held = [stats.mass[0], stats.heat];
                for (c, held) in [0, 3].into_iter().zip(held) {
                    let [left, faded] = [stats.left.unwrap()[c], stats.faded.unwrap()[c]];
                    let off = stats.emitted[c] - left - faded - held;
                    assert!(
                        off.abs() <= 1e-3 * stats.emitted[c],
                        "{what}: {c} is off by {off} of {}",
                        stats.emitted[c]
                    );
                    assert!(left.abs() <= 1.001 * stats.emitted[c], "{what}: {c}: {left} has left");
                }
            }
        }
    }
}

/// The budget counts all smoke through an inflow, also in a step in which most of it decays.
#[test]
fn the_budget_counts_all_that_an_inflow_brings() {
    let air = |scalars| BoundaryCondition::Inflow(Inflow { velocity: [1.0, 0.0, 0.0], scalars });
    for (rate, dt) in [(5.0f32, 0.1f32), (40.0, 0.1), (5.0, 0.4), (1e4, 0.1), (-3.0, 0.1)] {
        let sides = [
            [air([0.5, 0.0, 2.0, 0.0]), BoundaryCondition::Open],
            [BoundaryCondition::Periodic; 2],
            [BoundaryCondition::Closed; 2],
        ];
        let smoke = Smoke { buoyancy: 0.0, dissipation: rate, diffusion: 0.0 };
        let params = Params { smoke: [smoke, smoke, Smoke { dissipation: 0.0, ..smoke }], ..inert() };
        let config = config([20, 6, 5], 0.05, sides, Advection::Conservative);
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        solver.fill(|c, _| if c == 0 { 1.0 } else { 0.0 }, |_| [0.0; 4]);
        advance(&mut solver, dt, 2);
        let stats = solver.stats();
        let (left, faded) = (stats.left.unwrap(), stats.faded.unwrap());
        let came = 2.0 * f64::from(dt) * 0.3 * 0.25;
        for (c, density) in [(0, 0.5), (2, 2.0)] {
            assert!((left[c] / (-density * came) - 1.0).abs() < 1e-4, "{rate} {dt}: {left:?}");
            let open = stats.mass[c] + left[c] + faded[c];
            assert!(open.abs() < 1e-5 * stats.mass[c].max(density * came), "{rate} {dt}: {open:e}");
        }
        assert_eq!(faded[2], 0.0, "{rate} {dt}");
        // The mean age of the smoke is half of the time.
        let exact = density_of(0.5, f64::from(rate), 2.0 * f64::from(dt)) * 0.3 * 0.25;
        assert!(
            (stats.mass[0] / exact - 1.0).abs() < 1e-4 || rate > 300.0,
            "{rate} {dt}: {} for {exact}",
            stats.mass[0]
        );
    }
}

/// Returns ∫ q exp(−k t) dt from 0 to `time`.
fn density_of(q: f64, rate: f64, time: f64) -> f64 {
    q * -(-rate * time).exp_m1() / rate
}

/// Negative dissipation reaches the limit of densities. The budget once counted the growth without the limit:
/// −1e35.
#[test]
fn the_budget_of_smoke_that_grows_to_its_limit_closes() {
    for sides in [all(BoundaryCondition::Closed), all(BoundaryCondition::Open)] {
        let smoke = Smoke { buoyancy: 0.0, dissipation: -5.0, diffusion: 0.0 };
        let source = Source::new(Region::sphere([0.3; 3], 0.1), [3.0, 0.0, 0.0, 0.0]);
        let params = Params { smoke: [smoke; 3], ..inert() };
        let mut solver =
            Solver::new(config([12; 3], 0.05, sides, Advection::Conservative), params, vec![source]).unwrap();
        solver.fill(|c, at| 0.2 * noise(c, at), |at| [noise(0, at).abs(), 0.0, 0.0, 0.0]);
        let start = solver.stats().mass[0];
        for step in 0..96 {
            advance(&mut solver, 1.0 / 24.0, 1);
            let stats = solver.stats();
            let gained = stats.mass[0] - start + stats.left.unwrap()[0];
            let open = gained + stats.faded.unwrap()[0] - stats.emitted[0];
            assert!(
                open.abs() < 1e-4 * stats.mass[0].max(gained),
                "{sides:?}, step {step}: {open:e} of {gained:e}"
            );
        }
        assert!(solver.scalars().iter().any(|cell| cell[0] > 0.99 * SCALAR_LIMIT), "it meets the limit");
    }
}
