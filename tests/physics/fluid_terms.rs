//! Buoyancy, decay, friction and vorticity confinement.

use super::*;

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
