//! Energy of the integrators, and their order in time.

mod common;

use common::{advance, all, config, inert};
use updraft::scene::{Scene, builtin};
use updraft::solver::{
    Advection, Ambient, BoundaryCondition, BoundaryConditions, Config, Integrator, Params, Shape, Solid,
    Solver, TimeControl,
};

const ALL: [Integrator; 3] = [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid];
const PI: f32 = std::f32::consts::PI;

/// Makes a flow without forces in a box of this length along x.
fn flow(
    cells: [usize; 3],
    length: f32,
    sides: BoundaryConditions,
    integrator: Integrator,
    velocity: impl Fn(usize, [f32; 3]) -> f32 + Send + Sync,
) -> Solver {
    let config =
        Config { integrator, ..config(cells, length / cells[0] as f32, sides, Advection::default()) };
    let mut solver = Solver::new(config, inert(), vec![]).unwrap();
    solver.fill(velocity, |_| [0.0; 4]);
    solver
}

/// Returns five standing waves of vortices in a box of 1 m with free-slip walls, at most 0.75 m/s.
fn vortices(component: usize, [x, y, _]: [f32; 3]) -> f32 {
    let modes = [(1.0, 1.0, 0.05), (2.0, 1.0, 0.06), (1.0, 3.0, -0.04), (3.0, 2.0, 0.03), (4.0, 3.0, 0.02)];
    let of = |(k, l, a): (f32, f32, f32)| match component {
        0 => a * l * PI * (k * PI * x).sin() * (l * PI * y).cos(),
        1 => -a * k * PI * (k * PI * x).cos() * (l * PI * y).sin(),
        _ => 0.0,
    };
    modes.into_iter().map(of).sum()
}

/// Interpolated advection does not conserve energy: it feeds some to smooth inviscid vortices that are drawn
/// out (docs/decisions.md). The test bounds this gain as a share of the initial energy. The cubic of Catmull
/// and Rom feeds most, the default, Lagrange's cubic, hardly any, and neither do its six points beside finer smoke.
#[test]
fn advection_feeds_little_energy_to_vortices_that_are_drawn_out() {
    let n = 32;
    let most = |integrator, (advection, detail)| {
        let sides = all(BoundaryCondition::Periodic);
        let config = Config { integrator, detail, ..config([n; 3], 2.0 * PI / n as f32, sides, advection) };
        let mut solver = Solver::new(config, inert(), vec![]).unwrap();
        let taylor_green = |c: usize, [x, y, z]: [f32; 3]| match c {
            0 => x.sin() * y.cos() * z.cos(),
            1 => -x.cos() * y.sin() * z.cos(),
            _ => 0.0,
        };
        solver.fill(taylor_green, |_| [0.0; 4]);
        let before = solver.stats().kinetic_energy;
        let mut most = 0.0f64;
        for _ in 0..80 {
            advance(&mut solver, 0.05, 1);
            most = most.max(solver.stats().kinetic_energy / before - 1.0);
        }
        most
    };
    for (integrator, cubic, default, finer) in
        [(Integrator::Trapezoid, 0.045, 0.0035, 0.006), (Integrator::Reflection, 0.055, 0.0055, 0.01)]
    {
        let schemes = [(Advection::Cubic, 1), (Advection::default(), 1), (Advection::default(), 2)];
        let fed = schemes.map(|scheme| most(integrator, scheme));
        println!(
            "{integrator:?}: {:.2} % by Catmull and Rom's cubic, {:.2} % by default, {:.2} % beside finer smoke",
            100.0 * fed[0],
            100.0 * fed[1],
            100.0 * fed[2]
        );
        assert!(fed[0] < cubic && fed[1] < default && fed[2] < finer, "{integrator:?}: {fed:?}");
    }
}

/// Steady swirls of five cells lose energy to the scheme alone, less of it beside finer smoke: the velocity passes through six points, not
/// four.
#[test]
fn small_swirls_keep_more_of_their_energy_beside_finer_smoke() {
    let left = |detail| {
        let swirls = |component: usize, [x, y, _]: [f32; 3]| match component {
            0 => 0.5 * (5.0 * PI * x).sin() * (5.0 * PI * y).cos(),
            1 => -0.5 * (5.0 * PI * x).cos() * (5.0 * PI * y).sin(),
            _ => 0.0,
        };
        let sides = all(BoundaryCondition::Closed);
        let config = Config { detail, ..config([25, 25, 12], 0.04, sides, Advection::default()) };
        let mut solver = Solver::new(config, inert(), vec![]).unwrap();
        solver.fill(swirls, |_| [0.0; 4]);
        let before = solver.stats().kinetic_energy;
        advance(&mut solver, 1.0 / 24.0, 24);
        solver.stats().kinetic_energy / before
    };
    let [coarse, finer] = [1, 2].map(left);
    println!("energy left: {coarse:.3} with four points, {finer:.3} beside finer smoke");
    assert!(coarse < 0.72 && (0.74..1.0).contains(&finer), "{coarse} {finer}");
}

#[test]
fn the_trapezoidal_rule_keeps_the_energy_of_vortices_between_free_walls() {
    let left = |integrator| {
        let mut solver = flow([64, 64, 1], 1.0, all(BoundaryCondition::Closed), integrator, vortices);
        let before = solver.stats().kinetic_energy;
        advance(&mut solver, 1.0 / 48.0, 1000);
        solver.stats().kinetic_energy / before
    };
    let [plain, reflection, trapezoid] = ALL.map(left);
    println!(
        "energy left: {plain} by the plain projection, {reflection} by reflection, {trapezoid} by the trapezoidal rule"
    );
    assert!((0.9..=1.0).contains(&trapezoid), "{trapezoid}");
    assert!(plain < 0.5, "{plain}");
}

/// Taylor–Green vortices in a wind: the advecting velocity changes everywhere.
#[test]
fn the_trapezoidal_rule_is_of_second_order_in_time() {
    let n = 96;
    let error = |integrator, steps: usize| {
        let (end, h) = (2.0, 2.0 * PI / n as f32);
        let exact = |t: f32| {
            move |c: usize, [x, y, _]: [f32; 3]| match c {
                0 => 1.0 + (x - t).sin() * (y - t).cos(),
                1 => 1.0 - (x - t).cos() * (y - t).sin(),
                _ => 0.0,
            }
        };
        let mut solver = flow([n, n, 1], 2.0 * PI, all(BoundaryCondition::Periodic), integrator, exact(0.0));
        advance(&mut solver, end / steps as f32, steps);
        let wrong = |at: usize| {
            let [i, j] = [at % n, at / n];
            let want = exact(end)(0, [i as f32 * h, (j as f32 + 0.5) * h, 0.0]);
            let got = solver.velocity()[0][solver.layout().at(i as isize, j as isize, 0)];
            f64::from(got - want).powi(2)
        };
        ((0..n * n).map(wrong).sum::<f64>() / (n * n) as f64).sqrt()
    };
    let [coarse, middle, fine] = [10, 20, 40].map(|steps| error(Integrator::Trapezoid, steps));
    println!("errors {coarse:.2e}, {middle:.2e}, {fine:.2e}");
    assert!(coarse / middle > 3.4 && middle / fine > 3.4, "{coarse}, {middle}, {fine}");
    let plain = error(Integrator::Projection, 40);
    assert!(fine < 0.2 * plain, "{fine} for {plain} of the plain projection");
}

/// Warm air with smoke at rest around a ball stays at rest. Confinement must not read a velocity before its
/// projection, and the mean over the finer cells of a cut cell must not count those inside the ball as cold.
#[test]
fn uniform_air_at_rest_around_a_ball_stays_at_rest() {
    for (integrator, detail) in ALL.into_iter().flat_map(|integrator| [1, 2, 3].map(|n| (integrator, n))) {
        for ambient in [Ambient::Fixed(0.0), Ambient::Mean] {
            let params = Params { vorticity: 1.0, ambient, ..buoyant() };
            let mut solver = around_a_ball(integrator, detail, params, 0.0);
            solver.fill(|_, _| 0.0, |_| UNIFORM);
            advance(&mut solver, 1.0 / 24.0, if detail == 1 { 240 } else { 48 });
            let speed = solver.stats().max_speed;
            println!("{integrator:?}, detail {detail}, {ambient:?}: {speed} m/s");
            assert!(speed < 2e-3, "{integrator:?}, detail {detail}, {ambient:?}: {speed} m/s");
        }
    }
}

/// Uniform buoyancy is a pressure gradient, so a ball moves the same air through smoke and heat as without them.
#[test]
fn uniform_buoyancy_changes_no_flow_around_a_moving_ball() {
    for detail in [1, 2, 3] {
        let flow = |params, scalars| {
            let mut solver = around_a_ball(Integrator::default(), detail, params, 0.4);
            solver.fill(|_, _| 0.0, |_| scalars);
            advance(&mut solver, 1.0 / 24.0, 12);
            solver
        };
        let [still, warm] = [(inert(), [0.0; 4]), (buoyant(), UNIFORM)].map(|(p, s)| flow(p, s));
        let pairs = still.velocity().iter().flatten().zip(warm.velocity().iter().flatten());
        let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
        println!("detail {detail}: {apart} m/s of {} m/s", still.stats().max_speed);
        assert!(still.stats().max_speed > 0.3, "the ball moves air");
        // The remaining difference comes from scalars that a moving solid leaves uniform only to about 1e-3.
        assert!(apart < 0.03, "detail {detail}: {apart} m/s");
    }
}

/// Smoke and heat with a buoyancy of 2 m/s².
const UNIFORM: [f32; 4] = [1.0, 0.0, 0.0, 50.0];

fn buoyant() -> Params {
    let mut params = inert();
    params.smoke[0].buoyancy = 1.0;
    Params { heat_buoyancy: 0.02, ..params }
}

/// Makes a closed box around a ball that moves along x at `speed`.
fn around_a_ball(integrator: Integrator, detail: usize, params: Params, speed: f32) -> Solver {
    let config = config([20, 24, 20], 0.05, all(BoundaryCondition::Closed), Advection::default());
    let advection = if detail == 1 { Advection::Cubic } else { Advection::default() };
    let mut solver = Solver::new(Config { integrator, detail, advection, ..config }, params, vec![]).unwrap();
    let at = |time: f32| [0.51 + speed * time, 0.6, 0.49];
    let keyframes = if speed == 0.0 { vec![] } else { vec![(0.0, at(0.0)), (1.0, at(1.0))] };
    let ball = Solid::new(Shape::Sphere { radius: 0.2 }, at(0.0));
    solver.set_solids(vec![Solid { keyframes, ..ball }]).unwrap();
    solver
}

/// Air at rest under its own weight: the remaining divergence is rounding, relative to the removed one.
#[test]
fn the_divergence_of_air_at_rest_is_rounding() {
    for integrator in ALL {
        let mut config = config([16, 20, 12], 0.05, all(BoundaryCondition::Closed), Advection::Cubic);
        config.integrator = integrator;
        let params = Params { heat_buoyancy: 0.02, ..inert() };
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        solver.fill(|_, _| 0.0, |_| [0.0, 0.0, 0.0, 50.0]);
        for step in 0..20 {
            advance(&mut solver, 1.0 / 24.0, 1);
            let left = solver.stats().divergence_after;
            assert!(left < 1e-4, "{integrator:?}: {left} after step {step}");
        }
    }
}

/// A jump of the pressure does not oscillate. From the second step on, half of the pressure before the
/// advection and half after it balance a load on air at rest, and the ball below it feels the same force in
/// every step.
#[test]
fn a_sudden_load_leaves_no_swing_in_the_force_on_a_ball() {
    let mut config = config([20, 24, 20], 0.05, all(BoundaryCondition::Closed), Advection::Cubic);
    (config.integrator, config.tolerance) = (Integrator::Trapezoid, 1e-6);
    config.time = TimeControl { cfl: 2.0, max_substeps: 1 };
    let params = Params { heat_buoyancy: 0.02, ..inert() };
    let mut solver = Solver::new(config, params, vec![]).unwrap();
    let radius = 0.2f64;
    solver.set_solids(vec![Solid::new(Shape::Sphere { radius: 0.2 }, [0.5, 0.6, 0.5])]).unwrap();
    solver.fill(|_, _| 0.0, |_| [0.0, 0.0, 0.0, 50.0]);
    let lift = -4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
    let mut forces = [0.0; 6];
    for force in &mut forces {
        advance(&mut solver, 1.0 / 24.0, 1);
        *force = solver.solid_forces()[0][1];
    }
    println!("{forces:?} of {lift}");
    // On the grid a ball of four cells radius is smaller by this much.
    assert!((forces[0] / lift - 1.0).abs() < 0.05, "{forces:?} of {lift}");
    assert!(forces.iter().all(|force| (force / forces[0] - 1.0).abs() < 0.01), "{forces:?}");
}

/// Built-in scenes with cells four times as large are stable with every integrator. The boxes are small: two
/// scenes on a thread each are faster than one on two threads.
#[test]
#[ignore = "slow: minutes"]
fn the_built_in_scenes_stay_calm_for_2000_steps() {
    /// Returns the greatest speed of the air in a scene.
    fn fastest(name: &str, integrator: &str) -> f32 {
        let plain = Scene::load(name, &[]).unwrap();
        let cells = plain.config.dims.array().map(|n| n.div_ceil(4));
        let changes = [
            format!("domain.cells={cells:?}"),
            format!("domain.voxel={}", 4.0 * plain.config.h),
            format!("solver.integrator={integrator}"),
            "solver.threads=1".to_string(),
        ];
        let scene = Scene::load(name, &changes).unwrap();
        let mut solver = scene.solver().unwrap();
        let (_, dt) = scene.time.steps_per_frame();
        let (mut most, mut mean) = (0.0f32, 0.0);
        for _ in 0..2000 {
            let stats = solver.step(dt).unwrap();
            most = most.max(stats.max_speed);
            mean += stats.kinetic_energy / 2000.0;
        }
        println!("{name}, {integrator}: at most {most} m/s, mean energy {mean:.3e}");
        assert!(most.is_finite() && mean.is_finite(), "{name}, {integrator}");
        most
    }
    for name in builtin::NAMES {
        let [projection, trapezoid] = std::thread::scope(|scope| {
            ["projection", "trapezoid"]
                .map(|integrator| scope.spawn(move || fastest(name, integrator)))
                .map(|thread| thread.join().unwrap())
        });
        assert!(trapezoid < 3.0 * projection + 0.1, "{name}: {trapezoid}, {projection}");
    }
}
