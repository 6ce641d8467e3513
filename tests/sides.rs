//! Tests boundary conditions: moving walls, inflows, periodic sides.

mod common;

use std::sync::Arc;

use common::{SCHEMES, advance, all, cell, config, inert};
use updraft::solver::{
    Advection, BoundaryCondition, Config, Drive, Force, ForceField, Inflow, Integrator, Params, Profile,
    Shape, SideValues, Slip, Solid, Solver, TimeControl,
};

/// In Couette flow, between a plate at rest and a moving one, the velocity grows linearly.
#[test]
fn a_moving_wall_drags_the_air_at_its_own_speed() {
    let n = 16;
    for axis in [0, 1, 2] {
        let (along, h) = ((axis + 1) % 3, 1.0 / n as f32);
        let plate = |speed: f32| {
            let mut velocity = [0.0; 3];
            velocity[along] = speed;
            BoundaryCondition::NoSlip(velocity)
        };
        let mut sides = all(BoundaryCondition::Periodic);
        sides[axis] = [plate(-0.5), plate(1.0)];
        let mut cells = [4; 3];
        cells[axis] = n;
        let params = Params { viscosity: 1.0, ..inert() };
        let mut solver = Solver::new(config(cells, h, sides, Advection::Cubic), params, vec![]).unwrap();
        advance(&mut solver, 0.1, 40);
        for i in 0..n {
            let mut at = [1isize; 3];
            at[axis] = i as isize;
            let got = solver.velocity()[along][solver.layout().at(at[0], at[1], at[2])];
            let want = -0.5 + 1.5 * (i as f32 + 0.5) * h;
            assert!((got - want).abs() < 2e-3, "axis {axis}, cell {i}: {got} m/s for {want}");
        }
    }
}

#[test]
fn an_inflow_brings_its_smoke_and_its_heat() {
    let contents = [0.25, 0.5, 0.75, 30.0];
    for scheme in SCHEMES {
        let inflow = BoundaryCondition::Inflow(Inflow { velocity: [1.0, 0.0, 0.0], scalars: contents });
        let sides = [
            [inflow, BoundaryCondition::Open],
            [BoundaryCondition::Closed; 2],
            [BoundaryCondition::Closed; 2],
        ];
        let mut solver = Solver::new(config([20, 4, 4], 0.1, sides, scheme), inert(), vec![]).unwrap();
        solver.fill(|c, _| if c == 0 { 1.0 } else { 0.0 }, |_| [0.0; 4]);
        advance(&mut solver, 0.1, 10);
        // The front is half way.
        for c in 0..4 {
            let (near, far) = (cell(&solver, [3, 2, 2])[c], cell(&solver, [17, 2, 2])[c]);
            assert!((near / contents[c] - 1.0).abs() < 0.01, "{scheme:?} {c}: {near} for {}", contents[c]);
            assert!(far.abs() < 0.01 * contents[c], "{scheme:?} {c}: {far} is there too early");
        }
    }
}

/// Wind that flows out draws air in along a wall, at 1.7 m/s in short steps.
#[test]
fn air_enters_through_open_sides_as_fast_in_long_steps() {
    let open = [BoundaryCondition::Open; 2];
    let sides = [open, open, [BoundaryCondition::Closed; 2]];
    let wind =
        Force { drive: Drive::Approach { rate: 3.0 }, ..Force::new(ForceField::Wind([-0.8, 0.0, -0.81])) };
    let fastest = |integrator, cfl| {
        let time = TimeControl { cfl, max_substeps: 100 };
        let config = Config { time, integrator, ..config([16, 24, 24], 0.03, sides, Advection::default()) };
        let mut solver = Solver::new(config, inert(), vec![]).unwrap();
        solver.set_forces(vec![wind.clone()]).unwrap();
        (0..30).fold(0.0, |most: f32, _| most.max(solver.step(0.1).unwrap().max_speed))
    };
    for integrator in [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid] {
        let speeds = [0.5, 2.0, 4.0].map(|cfl| fastest(integrator, cfl));
        println!("{integrator:?}: {speeds:?} m/s");
        assert!(speeds[0] < 1.8 && speeds[1] < 2.0 && speeds[2] < 2.6, "{integrator:?}: {speeds:?} m/s");
    }
}

#[test]
fn smoke_does_not_pile_up_before_an_open_side() {
    for (scheme, dt) in SCHEMES.into_iter().flat_map(|scheme| [0.05, 0.1, 0.27].map(|dt| (scheme, dt))) {
        let inflow = BoundaryCondition::Inflow(Inflow { velocity: [1.0, 0.0, 0.0], scalars: [1.0; 4] });
        let sides = [
            [inflow, BoundaryCondition::Open],
            [BoundaryCondition::Closed; 2],
            [BoundaryCondition::Closed; 2],
        ];
        let mut solver = Solver::new(config([10, 4, 4], 0.1, sides, scheme), inert(), vec![]).unwrap();
        solver.fill(|c, _| if c == 0 { 1.0 } else { 0.0 }, |_| [0.0; 4]);
        advance(&mut solver, dt, (4.0 / dt) as usize);
        for i in 0..10 {
            let got = cell(&solver, [i, 2, 2])[0];
            assert!((got - 1.0).abs() < 1e-3, "{scheme:?}, {dt} s, cell {i}: {got} where 1 flows through");
        }
    }
}

/// Advects smoke across the ends of a periodic axis, by `step` cells at a time, shifted by `shift` cells at
/// the start and back at the end. Returns red and heat of all cells.
fn around(scheme: Advection, axis: usize, [step, cells]: [f32; 2], shift: usize) -> Vec<f32> {
    let n = 12;
    let mut solver =
        Solver::new(config([n; 3], 1.0, all(BoundaryCondition::Periodic), scheme), inert(), vec![]).unwrap();
    let smoke = |p: [f32; 3]| {
        let x = (p[axis] + (n - shift) as f32) % n as f32;
        let value = 1.0 + x * x;
        [if p[(axis + 1) % 3] < 5.0 { value } else { 0.0 }, 0.0, 0.0, -value]
    };
    solver.fill(|c, _| if c == axis { 1.0 } else { 0.0 }, smoke);
    advance(&mut solver, step, (cells / step) as usize);
    let at = |c: usize| {
        let mut at = [c % n, c / n % n, c / (n * n)];
        at[axis] = (at[axis] + shift) % n;
        at
    };
    (0..n.pow(3)).map(at).flat_map(|at| [cell(&solver, at)[0], cell(&solver, at)[3]]).collect()
}

#[test]
fn smoke_returns_through_the_opposite_side_of_a_periodic_box() {
    let off = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    for (scheme, axis) in SCHEMES.into_iter().flat_map(|scheme| [0, 1, 2].map(|axis| (scheme, axis))) {
        let wrong = off(&around(scheme, axis, [1.0, 0.0], 0), &around(scheme, axis, [1.0, 12.0], 0));
        assert!(wrong < 1e-3, "{scheme:?} along {axis}: once around is off by {wrong}");
        // The position of the ends must not change the result, whichever ghosts are read.
        for step in [0.5, 1.75] {
            let steps = [step, 7.0];
            let wrong = off(&around(scheme, axis, steps, 0), &around(scheme, axis, steps, 5));
            assert!(wrong < 2e-3, "{scheme:?} along {axis} by {step} cells: the ends show by {wrong}");
        }
    }
}

/// Between free-slip walls a vortex turns without friction. Reflection keeps the energy that projection
/// loses.
#[test]
fn a_reflection_keeps_the_energy_of_a_vortex() {
    let n = 32;
    let kept = |integrator: Integrator| {
        let config = Config {
            integrator,
            ..config([n, n, 1], 1.0 / n as f32, all(BoundaryCondition::Closed), Advection::Cubic)
        };
        let mut solver = Solver::new(config, inert(), vec![]).unwrap();
        let pi = std::f32::consts::PI;
        let flow = |c: usize, [x, y, _]: [f32; 3]| match c {
            0 => (pi * x).sin() * (pi * y).cos(),
            1 => -(pi * x).cos() * (pi * y).sin(),
            _ => 0.0,
        };
        solver.fill(flow, |_| [0.0; 4]);
        let before = solver.stats().kinetic_energy;
        advance(&mut solver, 0.05, 40);
        solver.stats().kinetic_energy / before
    };
    let (projected, reflected) = (kept(Integrator::Projection), kept(Integrator::Reflection));
    println!("kept by projection {projected}, by reflection {reflected}");
    assert!(reflected > 0.99 && reflected < 1.005, "{reflected}");
    assert!(projected < reflected - 0.02, "{projected} and {reflected}");
}

/// Returns positions or components along x, y, z, with x and z exchanged if `swap`.
fn exchanged([x, y, z]: [f32; 3], swap: bool) -> [f32; 3] {
    if swap { [z, y, x] } else { [x, y, z] }
}

/// Cells along each edge of the boxes whose axes are exchanged.
const EXCHANGED: usize = 10;

/// Velocities of a lid, as functions of place and time, with x and z exchanged if `swap`.
#[derive(Debug)]
struct UnevenLid {
    swap: bool,
}

impl SideValues for UnevenLid {
    fn gives(&self, quantity: usize) -> bool {
        quantity < 3
    }

    fn fill(&self, quantity: usize, time: f64, at: &[[f32; 3]], out: &mut [f32]) {
        for (out, at) in out.iter_mut().zip(at) {
            let [x, y, z] = exchanged(*at, self.swap);
            let velocity = [0.0, 0.5 + 0.3 * (4.0 * z + time as f32).sin(), 1.0 - y * z + 0.2 * x];
            *out = exchanged(velocity, self.swap)[quantity];
        }
    }
}

/// Runs a box with six kinds of sides for a few steps, with x and z exchanged if `swap`. The lid below x is
/// uniform or uneven.
fn six_sides(swap: bool, nu: f32, is_uneven: bool, solids: Vec<Solid>) -> Solver {
    let swapped = |v| exchanged(v, swap);
    let lid = BoundaryCondition::NoSlip(if is_uneven { [0.0; 3] } else { swapped([0.0, 0.5, 1.0]) });
    let air = Inflow { velocity: swapped([0.3, 0.2, 1.0]), scalars: [1.0, 0.0, 0.0, 20.0] };
    let (x, z) =
        ([lid, BoundaryCondition::Closed], [BoundaryCondition::Inflow(air), BoundaryCondition::Open]);
    let y = [BoundaryCondition::Closed, BoundaryCondition::NoSlip(swapped([1.0, 0.0, -0.5]))];
    let (sides, held) = (if swap { [z, y, x] } else { [x, y, z] }, [Some(40.0), None]);
    let mut config = config([EXCHANGED; 3], 0.1, sides, Advection::Cubic);
    let axis = if swap { 2 } else { 0 };
    config.held[axis] = held;
    let params = Params { heat_buoyancy: 0.02, viscosity: nu, conduction: nu, ..inert() };
    let mut solver = Solver::new(config, params, vec![]).unwrap();
    if is_uneven {
        solver.set_profiles(vec![Profile { axis, end: 0, values: Arc::new(UnevenLid { swap }) }]).unwrap();
    }
    solver.set_solids(solids).unwrap();
    solver.fill(|_, _| 0.0, |_| [0.0; 4]);
    advance(&mut solver, 0.1, 5);
    solver
}

/// Returns the greatest difference of two boxes of which one has x and z exchanged: of smoke and heat as
/// shares of the inflow's, and of the velocity \[m/s\].
fn differences(here: &Solver, there: &Solver) -> [f32; 2] {
    let n = EXCHANGED;
    let mut off = [0.0f32; 2];
    for (k, j, i) in (0..n).flat_map(|k| (0..n).flat_map(move |j| (0..n).map(move |i| (k, j, i)))) {
        let (a, b) = (cell(here, [i, j, k]), cell(there, [k, j, i]));
        off[0] = off[0].max((a[0] - b[0]).abs()).max((a[3] - b[3]).abs() / 40.0);
        let at = |solver: &Solver, c: usize, [i, j, k]: [usize; 3]| {
            solver.velocity()[c][solver.layout().at(i as isize, j as isize, k as isize)]
        };
        for c in 0..3 {
            off[1] = off[1].max((at(here, c, [i, j, k]) - at(there, 2 - c, [k, j, i])).abs());
        }
    }
    off
}

/// At an edge between two kinds of sides no axis has precedence: with x and z exchanged the flow is exchanged
/// too, also with viscosity and conduction, which are split by axis, and beside a lid whose velocity varies.
#[test]
fn edges_between_two_kinds_of_sides_do_not_depend_on_the_order_of_axes() {
    for (nu, is_uneven) in [(0.0, false), (1e-3, false), (0.0, true), (1e-3, true), (0.1, true)] {
        let off =
            differences(&six_sides(false, nu, is_uneven, vec![]), &six_sides(true, nu, is_uneven, vec![]));
        println!(
            "viscosity {nu}, uneven {is_uneven}: smoke and heat are off by {}, the velocity by {} m/s",
            off[0], off[1]
        );
        assert!(off[0] < 1e-4 && off[1] < 1e-4, "viscosity {nu}, uneven {is_uneven}: {off:?}");
    }
}

/// A solid in an edge cuts the lines of the implicit solves, so that the axes no longer commute. The result
/// then has a splitting error of first order in the step.
#[test]
fn a_solid_in_an_edge_depends_little_on_the_order_of_axes() {
    for (nu, bound) in [(0.0, 1e-4), (1e-3, 4e-3)] {
        for is_uneven in [false, true] {
            let run = |swap: bool| {
                let shape = Shape::Box { size: exchanged([0.33, 0.27, 0.41], swap) };
                let place = exchanged([0.1, 0.95, 0.55], swap);
                let block = Solid { slip: Slip::None, ..Solid::new(shape, place) };
                six_sides(swap, nu, is_uneven, vec![block])
            };
            let off = differences(&run(false), &run(true));
            println!(
                "viscosity {nu}, uneven {is_uneven}: smoke and heat are off by {}, the velocity by {} m/s",
                off[0], off[1]
            );
            assert!(off[0] < bound && off[1] < bound, "viscosity {nu}, uneven {is_uneven}: {off:?}");
        }
    }
}

/// The force was once taken from the nearest image of the vortex's centre, not of its axis, and jumped where
/// an oblique axis crosses a side.
#[test]
fn an_oblique_vortex_is_the_same_all_along_its_axis() {
    let n = 16;
    let config = config([n, n, 4], 0.1, all(BoundaryCondition::Periodic), Advection::Conservative);
    let mut solver = Solver::new(config, inert(), vec![]).unwrap();
    let diagonal = std::f32::consts::FRAC_1_SQRT_2;
    let axis = [diagonal, diagonal, 0.0];
    let field = ForceField::Vortex { center: [0.77, 0.8, 0.2], axis, radius: 0.2, strength: 1.0 };
    solver.set_forces(vec![Force::new(field)]).unwrap();
    advance(&mut solver, 0.01, 1);
    let speed =
        |i: usize, j: usize| solver.velocity()[2][solver.layout().at((i % n) as isize, (j % n) as isize, 1)];
    let places = (0..n).flat_map(|j| (0..n).map(move |i| (i, j)));
    let greatest = places.clone().map(|(i, j)| speed(i, j).abs()).fold(0.0, f32::max);
    for (i, j) in places {
        let jump = (speed(i + 1, j + 1) - speed(i, j)).abs();
        assert!(greatest > 1e-3 && jump < 0.01 * greatest, "{i}, {j}: {jump} of {greatest}");
    }
}

/// Red smoke, green smoke and heat that oscillate in time.
#[derive(Debug)]
struct Waves;

/// Returns the value of the air that enters at an instant.
fn wave(time: f64) -> f64 {
    1.0 + 0.5 * (std::f64::consts::TAU * time / 0.8).sin()
}

impl SideValues for Waves {
    fn gives(&self, quantity: usize) -> bool {
        [3, 4, 6].contains(&quantity)
    }

    fn fill(&self, _: usize, time: f64, _: &[[f32; 3]], out: &mut [f32]) {
        out.fill(wave(time) as f32);
    }
}

/// Waves of smoke from an inflow at 1 m/s move with the air that took them in. With the value at the end of
/// each step they were once half a step ahead, an error of 8 % of the mean at 24 steps a second and 16 % at
/// 12.
#[test]
fn smoke_that_waves_at_an_inflow_moves_with_the_air() {
    const N: usize = 24;
    const H: f32 = 0.05;
    let air = BoundaryCondition::Inflow(Inflow { velocity: [0.0, 1.0, 0.0], scalars: [0.0; 4] });
    let cases = [
        (Advection::Conservative, Integrator::Trapezoid, 1),
        (Advection::Conservative, Integrator::Reflection, 1),
        (Advection::Conservative, Integrator::Trapezoid, 2),
        (Advection::Lagrange, Integrator::Projection, 2),
    ];
    let mut wrong = vec![];
    for (scheme, integrator, detail) in cases {
        for (dt, most) in [(1.0 / 40.0, 0.03), (1.0 / 24.0, 0.03), (1.0 / 12.0, 0.07)] {
            let mut sides = all(BoundaryCondition::Periodic);
            sides[1] = [air; 2];
            let rates = [0.0, 2.0];
            let mut params = inert();
            (0..2).for_each(|c| params.smoke[c].dissipation = rates[c]);
            let config = Config { integrator, detail, ..config([4, N, 3], H, sides, scheme) };
            let mut solver = Solver::new(config, params, vec![]).unwrap();
            solver.set_profiles(vec![Profile { axis: 1, end: 0, values: Arc::new(Waves) }]).unwrap();
            solver.fill(|c, _| if c == 1 { 1.0 } else { 0.0 }, |_| [0.0; 4]);
            let steps = (1.5 / dt) as usize;
            advance(&mut solver, dt, steps);
            let time = f64::from(dt) * steps as f64;
            let mut worst = [0.0f64; 4];
            for j in 0..detail * (N - 4) {
                let at = solver.smoke_layout().at(1, j as isize, 1);
                let inside = (j as f64 + 0.5) * f64::from(H) / detail as f64;
                for (c, rate) in [(0, rates[0]), (1, rates[1]), (3, 0.0)] {
                    let exact = wave(time - inside) * (-f64::from(rate) * inside).exp();
                    worst[c] = worst[c].max((f64::from(solver.scalars()[at][c]) - exact).abs());
                }
            }
            let case = format!("{scheme:?} {integrator:?} detail {detail} dt {dt:.3}");
            println!("{case}: off by {worst:.4?}");
            if worst.iter().any(|worst| *worst > most) {
                wrong.push(case);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
