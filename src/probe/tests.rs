use super::*;
use crate::grid::Dims;
use crate::solver::{
    BoundaryCondition, Config, Force, ForceField, Inflow, Integrator, Params, Profile, Shape, SideValues,
    Solid,
};
use std::sync::Arc;

const H: f32 = 0.1;

fn solver(sides: [[BoundaryCondition; 2]; 3], held: [[Option<f32>; 2]; 3]) -> Solver {
    let config = Config { sides, held, threads: 1, ..Config::new(Dims::new([6, 7, 8]).unwrap(), H) };
    let params = Params { viscosity: 0.3, conduction: 0.2, ..Params::default() };
    Solver::new(config, params, vec![]).unwrap()
}

fn read(solver: &Solver, quantity: ProbeQuantity, place: ProbePlace) -> Vec<f32> {
    let probe = Probe { quantities: vec![quantity], ..Probe::new("p", &[], place) };
    let mut readings = probe.measure(solver).unwrap();
    assert_eq!(probe.columns().len(), 1 + readings[0].values.len());
    readings.remove(0).values
}

fn assert_close(got: f32, want: f32, what: &str) {
    assert!((got - want).abs() < 1e-4, "{what}: {got}, not {want}");
}

#[test]
fn products_are_averaged_and_a_plane_says_what_flows_through() {
    let mut solver = solver([[BoundaryCondition::Open; 2]; 3], Default::default());
    // The fields are u = z, red = x and temperature = 2 + y.
    solver.fill(|c, p| if c == 0 { p[2] } else { 0.0 }, |p| [p[0], 0.0, 0.0, 2.0 + p[1]]);
    let mean = |fields: &[Field], place| read(&solver, ProbeQuantity::Product(fields.to_vec()), place)[0];
    let plane = ProbePlace::Plane { axis: 0, at: 0.25 };
    assert_close(mean(&[Field::U, Field::Temperature], plane), 0.4 * 2.35, "u T over a plane");
    assert_close(mean(&[Field::U, Field::U], plane), 0.16 + 0.0525, "u u over a plane");
    let inside = ProbePlace::Box { low: [0.1, 0.2, 0.0], high: [0.4, 0.5, 0.8] };
    assert_close(mean(&[Field::Red, Field::Temperature], inside), 0.25 * 2.35, "red T over a box");
    let one = ProbePlace::Box { low: [0.31, 0.31, 0.31], high: [0.32, 0.32, 0.32] };
    assert_close(mean(&[Field::Red], one), 0.35, "the one cell that a small box lies in");
    let point = ProbePlace::Point([0.3, 0.2, 0.5]);
    assert_close(mean(&[Field::Red, Field::Temperature], point), 0.3 * 2.2, "at a point");
    assert_close(read(&solver, ProbeQuantity::Flow, plane)[0], 0.4 * 0.7 * 0.8, "flow");
}

#[test]
fn the_speed_at_a_wall_is_that_of_the_wall() {
    let walls = [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::NoSlip([2.0, 0.0, 0.5])];
    let around = [BoundaryCondition::Periodic; 2];
    let mut solver = solver([around, walls, around], Default::default());
    solver.fill(|c, p| [2.0, 0.0, 0.5][c] * p[1] / 0.7, |_| [0.0; 4]);
    for (end, speed) in [0.0, 4.25_f32.sqrt()].into_iter().enumerate() {
        let side = ProbePlace::Side { axis: 1, end };
        assert_close(read(&solver, ProbeQuantity::Product(vec![Field::Speed]), side)[0], speed, "speed");
    }
}

#[test]
fn probes_outside_a_moved_box_read_nan() {
    let sides = [[BoundaryCondition::Open; 2]; 3];
    let mut config = Config { sides, threads: 1, ..Config::new(Dims::new([64, 16, 16]).unwrap(), H) };
    (config.follow.on, config.follow.margin) = (true, 4);
    let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
    solver.fill(|_, _| 0.0, |p| [f32::from(u8::from(p[0] > 5.0)), 0.0, 0.0, 0.0]);
    solver.step(0.01).unwrap();
    let low = solver.config().corner()[0];
    assert!(low > 1.0, "{low}");
    let red = |place| read(&solver, ProbeQuantity::Product(vec![Field::Red]), place)[0];
    for place in [
        ProbePlace::Point([low - 0.5, 0.8, 0.8]),
        ProbePlace::Plane { axis: 0, at: low - 0.5 },
        ProbePlace::Box { low: [0.0; 3], high: [low - 0.5, 1.0, 1.0] },
    ] {
        assert!(red(place).is_nan(), "{place:?}");
    }
    assert!(red(ProbePlace::Point([6.0, 0.8, 0.8])) > 0.9);
    assert!(red(ProbePlace::Box { low: [0.0; 3], high: [6.4, 1.6, 1.6] }) > 0.1);
}

#[test]
fn a_wall_reads_its_heat_flux_and_shear() {
    let plate = BoundaryCondition::NoSlip([1.0, 0.0, 0.0]);
    let around = [BoundaryCondition::Periodic; 2];
    let mut solver = solver([around, [plate; 2], around], [[None; 2], [Some(5.0), Some(1.0)], [None; 2]]);
    // Parabolas through the walls at 0 and 0.7 m, where u = 1.
    let u = |y: f32| 1.0 + y * (0.7 - y);
    let warmth = |y: f32| 5.0 - 4.0 * y / 0.7 + 3.0 * y * (0.7 - y);
    solver.fill(|c, p| if c == 0 { u(p[1]) } else { 0.0 }, |p| [0.0, 0.0, 0.0, warmth(p[1])]);
    let slope = -4.0 / 0.7;
    for (end, inwards) in [(0, 1.0), (1, -1.0)] {
        let at = |quantity| read(&solver, quantity, ProbePlace::Side { axis: 1, end });
        assert_close(at(ProbeQuantity::HeatFlux)[0], -0.2 * (inwards * slope + 2.1), "heat");
        let shear = at(ProbeQuantity::Shear);
        assert_close(shear[0], 0.3 * 0.7, "shear");
        assert_eq!(shear[1..], [0.0; 2]);
    }
}

#[test]
fn a_probe_that_cannot_measure_says_why() {
    let solver = solver(Default::default(), Default::default());
    let (point, side) = (ProbePlace::Point([0.1; 3]), ProbePlace::Side { axis: 0, end: 0 });
    let line = |points| ProbePlace::Line { from: [0.0; 3], to: [0.5; 3], points };
    let red = || ProbeQuantity::Product(vec![Field::Red]);
    let wrong = [
        (ProbeQuantity::Flow, point, "goes through a ProbePlace::Plane"),
        (ProbeQuantity::Shear, line(5), "that of a ProbePlace::Side"),
        (ProbeQuantity::Force, side, "that of a ProbePlace::Solid"),
        (ProbeQuantity::Force, ProbePlace::Solid(0), "there is no solid 0; the solver has 0"),
        (red(), ProbePlace::Plane { axis: 3, at: 0.1 }, "an axis is 0, 1 or 2"),
        (red(), ProbePlace::Side { axis: 0, end: 2 }, "an end is 0 or 1"),
        (red(), line(1), "a line of 1 points"),
        (red(), line(0), "a line of 0 points"),
        (red(), ProbePlace::Point([0.1, f32::NAN, 0.1]), "must be finite"),
    ];
    for (quantity, place, reason) in wrong {
        let probe = Probe { quantities: vec![quantity], ..Probe::new("p", &[], place) };
        let error = probe.measure(&solver).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn probes_are_due_at_their_intervals() {
    let mut solver = solver(Default::default(), Default::default());
    let place = ProbePlace::Point([0.1; 3]);
    let of = |every| Probe { every, ..Probe::new("p", &[Field::U], place) };
    let probes = [Every::Steps(1), Every::Steps(3), Every::Seconds(0.25), Every::Frame].map(of);
    let mut due = [0; 4].map(|_| vec![]);
    for step in 0..=10 {
        for (due, probe) in due.iter_mut().zip(&probes) {
            due.extend(probe.is_due(&solver, step % 5 == 0).then_some(step));
        }
        solver.step(0.1).unwrap();
    }
    assert_eq!(due[0], (0..=10).collect::<Vec<_>>());
    assert_eq!(due[1..], [vec![0, 3, 6, 9], vec![0, 3, 5, 8, 10], vec![0, 5, 10]]);
}

const INTEGRATORS: [Integrator; 3] = [Integrator::Projection, Integrator::Trapezoid, Integrator::Reflection];

/// Returns the parameters of air without buoyancy, cooling and confinement.
fn plain() -> Params {
    Params { vorticity: 0.0, heat_buoyancy: 0.0, cooling: 0.0, ..Params::default() }
}

fn wind(acceleration: [f32; 3]) -> Force {
    Force::new(ForceField::Wind(acceleration))
}

/// Between walls half the force on the air pulls at each. The shear was once wrong by a third with the
/// trapezoidal rule, by 30 % with reflection and by a factor of 2 with projection.
#[test]
fn the_shear_of_a_driven_flow_balances_the_force() {
    let around = [BoundaryCondition::Periodic; 2];
    let walls = [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::NoSlip([0.3, 0.0, -0.2])];
    for integrator in INTEGRATORS {
        for dt in [0.01, 0.04, 0.5] {
            let dims = Dims::new([4, 20, 1]).unwrap();
            let sides = [around, walls, around];
            let config = Config { sides, integrator, threads: 1, ..Config::new(dims, 0.02) };
            let params = Params { viscosity: 0.05, ..plain() };
            let mut solver = Solver::new(config, params, vec![]).unwrap();
            solver.set_forces(vec![wind([2.0, 0.0, 0.0])]).unwrap();
            while solver.stats().time < 8.0 {
                solver.step(dt).unwrap();
            }
            for (end, of_lid) in [1.0, -1.0].into_iter().enumerate() {
                let shear = read(&solver, ProbeQuantity::Shear, ProbePlace::Side { axis: 1, end });
                let want = [0.4 + of_lid * 0.05 * 0.3 / 0.4, 0.0, of_lid * 0.05 * -0.2 / 0.4];
                for (got, want) in shear.into_iter().zip(want) {
                    assert!(
                        (got - want).abs() < 1e-4,
                        "{integrator:?}, {dt} s, end {end}: {got}, not {want}"
                    );
                }
            }
        }
    }
}

/// With walls of 30 and 80 K around air that cools, the probes read −3.27 and 9.24.
#[test]
fn heat_from_walls_balances_cooling() {
    let around = [BoundaryCondition::Periodic; 2];
    for integrator in INTEGRATORS {
        let sides = [around, [BoundaryCondition::Closed; 2], around];
        let held = [[None; 2], [Some(30.0), Some(80.0)], [None; 2]];
        let dims = Dims::new([8, 20, 8]).unwrap();
        let config = Config { sides, held, integrator, threads: 2, ..Config::new(dims, 0.02) };
        let params = Params { conduction: 0.05, cooling: 0.5, ..plain() };
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        let mut faded = 0.0;
        for _ in 0..250 {
            let before = solver.stats().faded.unwrap_or_default()[3];
            solver.step(0.04).unwrap();
            faded = (solver.stats().faded.unwrap()[3] - before) / 0.04 / 0.16_f64.powi(2);
        }
        let [low, high] =
            [0, 1].map(|end| read(&solver, ProbeQuantity::HeatFlux, ProbePlace::Side { axis: 1, end })[0]);
        // T = A cosh(my) + B sinh(my) with m² = 0.5/0.05.
        let m = 10.0_f64.sqrt();
        let b = (80.0 - 30.0 * (0.4 * m).cosh()) / (0.4 * m).sinh();
        let slopes = [b, 30.0 * (0.4 * m).sinh() + b * (0.4 * m).cosh()].map(|slope| slope * m);
        for (got, want) in [(low, -0.05 * slopes[0]), (high, 0.05 * slopes[1])] {
            assert!((f64::from(got) / want - 1.0).abs() < 0.03, "{integrator:?}: {got}, not {want}");
        }
        assert!((f64::from(low + high) / faded - 1.0).abs() < 1e-4, "{low} + {high}, not {faded}");
    }
}

/// A side that varies along x and in time.
#[derive(Debug)]
struct Wave(usize);

impl SideValues for Wave {
    fn gives(&self, quantity: usize) -> bool {
        quantity == self.0
    }

    fn fill(&self, _: usize, time: f64, at: &[[f32; 3]], out: &mut [f32]) {
        out.iter_mut().zip(at).for_each(|(out, at)| *out = 20.0 * (3.0 * time as f32 + 5.0 * at[0]).sin());
    }
}

/// The heat fluxes are equal in each step of an unsteady flow: at walls of several temperatures that meet in
/// edges, one by a formula, on finer smoke and beside a solid.
#[test]
fn the_heat_of_all_walls_is_that_of_the_budget() {
    let held = [[Some(40.0), None], [Some(10.0), Some(0.0)], [None, Some(70.0)]];
    for (detail, with_solid) in [(1, false), (2, false), (1, true), (2, true)] {
        let dims = Dims::new([14, 12, 10]).unwrap();
        let config = Config {
            held,
            detail,
            threads: 2,
            sides: [[BoundaryCondition::Closed; 2]; 3],
            ..Config::new(dims, 0.05)
        };
        let params = Params { conduction: 0.02, cooling: 0.3, ..plain() };
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        solver.set_profiles(vec![Profile { axis: 1, end: 1, values: Arc::new(Wave(6)) }]).unwrap();
        if with_solid {
            let ball = Solid::new(Shape::Sphere { radius: 0.12 }, [0.3, 0.3, 0.25]);
            solver.set_solids(vec![ball]).unwrap();
        }
        for step in 0..6 {
            let before = solver.stats().left.unwrap_or_default()[3];
            solver.step(0.05).unwrap();
            let left = (solver.stats().left.unwrap()[3] - before) / 0.05;
            let mut gained = 0.0;
            for (axis, end) in (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]) {
                let area = 14.0 * 12.0 * 10.0 / dims.array()[axis] as f32 * 0.05 * 0.05;
                gained += area * read(&solver, ProbeQuantity::HeatFlux, ProbePlace::Side { axis, end })[0];
            }
            let difference = (f64::from(gained) + left).abs();
            let case = format!("detail {detail}, solid {with_solid}, step {step}");
            assert!(
                difference < 2e-4 * left.abs() + 1e-4,
                "{case}: {gained} through the walls, {} in the budget",
                -left
            );
        }
    }
}

/// In each step the momentum gained by air from rest equals the impulse of its walls and of the wind.
#[test]
fn the_shear_of_all_walls_is_what_the_air_gains() {
    let around = [BoundaryCondition::Periodic; 2];
    let plate = |u: f32| BoundaryCondition::NoSlip([u, 0.0, 0.0]);
    for integrator in INTEGRATORS {
        let dims = Dims::new([4, 12, 10]).unwrap();
        let sides = [around, [plate(1.0), plate(-0.5)], [plate(0.0), plate(2.0)]];
        let config = Config { sides, integrator, threads: 2, ..Config::new(dims, 0.1) };
        let mut solver = Solver::new(config, Params { viscosity: 0.05, ..plain() }, vec![]).unwrap();
        solver.set_forces(vec![wind([0.7, 0.0, 0.0])]).unwrap();
        let momentum = |solver: &Solver| {
            let cells = (0..120).map(|n| solver.layout().at(1, n % 12, n / 12));
            cells.map(|at| f64::from(solver.velocity()[0][at])).sum::<f64>() * 0.01
        };
        for step in 0..5 {
            let before = momentum(&solver);
            solver.step(0.1).unwrap();
            let gained = (momentum(&solver) - before) / 0.1;
            let shear = |axis: usize, end: usize| {
                f64::from(read(&solver, ProbeQuantity::Shear, ProbePlace::Side { axis, end })[0])
            };
            let walls = -(shear(1, 0) + shear(1, 1)) * 1.0 - (shear(2, 0) + shear(2, 1)) * 1.2;
            // The first step of the trapezoidal rule applies the whole force too.
            let want = walls + 0.7 * 1.2;
            assert!((gained - want).abs() < 1e-4, "{integrator:?}, step {step}: {gained}, not {want}");
        }
    }
}

/// The row of faces on the inflow counts too. In the first instant the other rows take 4/3 of its stress: the air beside the plate
/// counts as ¾ of a cell.
#[test]
fn the_shear_of_a_plate_begins_at_the_inflow() {
    let stream = Inflow { velocity: [1.0, 0.0, 0.0], scalars: [0.0; 4] };
    let plate = [BoundaryCondition::NoSlip([0.0; 3]), BoundaryCondition::Closed];
    let around = [BoundaryCondition::Periodic; 2];
    let sides = [[BoundaryCondition::Inflow(stream), BoundaryCondition::Open], plate, around];
    let config = Config { sides, threads: 1, ..Config::new(Dims::new([8, 6, 4]).unwrap(), 0.1) };
    let mut solver = Solver::new(config, Params { viscosity: 0.01, ..plain() }, vec![]).unwrap();
    solver.fill(|c, _| if c == 0 { 1.0 } else { 0.0 }, |_| [0.0; 4]);
    solver.step(1e-4).unwrap();
    let shear = read(&solver, ProbeQuantity::Shear, ProbePlace::Side { axis: 1, end: 0 })[0];
    let want = 0.2 * (7.5 * 4.0 / 3.0 + 0.5) / 8.0;
    assert!((shear / want - 1.0).abs() < 1e-3, "{shear}, not {want}");
}
