//! Solids and viscosity: no slip at surfaces between grid points, forces, and no diffusion through solids.

mod common;

use std::f32::consts::PI;

use common::{advance, all, bits, cell, config, inert};
use updraft::scene::Scene;
use updraft::solver::{
    Advection, BoundaryCondition, BoundaryConditions, Config, Force, ForceField, Integrator, Params, Shape,
    Slip, Smoke, Solid, Solver,
};

const AROUND: [BoundaryCondition; 2] = [BoundaryCondition::Periodic; 2];

/// Makes a no-slip box.
fn sticky(size: [f32; 3], at: [f32; 3]) -> Solid {
    Solid { slip: Slip::None, ..Solid::new(Shape::Box { size }, at) }
}

/// Runs air of viscosity `nu`, driven by `force` along y through the solids of a thin slab, from rest to
/// `time`.
fn driven(n: usize, nu: f32, force: f32, solids: Vec<Solid>, [dt, time]: [f32; 2]) -> Solver {
    let sides: BoundaryConditions = [AROUND, AROUND, [BoundaryCondition::Closed; 2]];
    // The force is the buoyancy of air one kelvin warmer than outside.
    let params = Params { viscosity: nu, heat_buoyancy: force, ..inert() };
    let config = config([n, n, 1], 1.0 / n as f32, sides, Advection::Cubic);
    let mut solver = Solver::new(config, params, vec![]).unwrap();
    solver.set_solids(solids).unwrap();
    solver.fill(|_, _| 0.0, |_| [0.0, 0.0, 0.0, 1.0]);
    advance(&mut solver, dt, (time / dt) as usize);
    solver
}

/// Returns the largest error of Poiseuille flow between two plates, over its largest speed.
fn poiseuille(n: usize, low: f32, high: f32) -> f32 {
    let plate = |from: f32, to: f32| sticky([to - from, 9.0, 9.0], [0.5 * (from + to), 0.5, 0.0]);
    let solids = vec![plate(-0.2, low), plate(high, high + 0.2)];
    let dt = 2e-4;
    let solver = driven(n, 1.0, 1e-3, solids, [dt, 0.3]);
    off_parabola(&solver, n, [low, high])
}

/// Returns the largest difference of v from the parabola between plates at `low` and `high`, over its largest
/// value.
fn off_parabola(solver: &Solver, n: usize, [low, high]: [f32; 2]) -> f32 {
    let exact = |x: f32| 0.5e-3 * ((x - low) * (high - x)).max(0.0);
    let v = |i: isize| solver.velocity()[1][solver.layout().at(i, n as isize / 2, 0)];
    let inside =
        (0..n).map(|i| (i as isize, (i as f32 + 0.5) / n as f32)).filter(|(_, x)| (low..high).contains(x));
    let error = inside.map(|(i, x)| (v(i) - exact(x)).abs()).fold(0.0, f32::max);
    error / (0.125e-3 * (high - low).powi(2))
}

#[test]
fn poiseuille_flow_between_plates_at_any_place_is_a_parabola() {
    // Differences with the true distances are exact for parabolas: the remaining error is that of the time
    // step.
    for shift in [0.0, 0.0101, 0.0249, 0.0417] {
        let errors = [12, 24].map(|n| poiseuille(n, 0.2 + shift, 0.8 - 0.4 * shift));
        println!("{shift}: {errors:?}");
        assert!(errors.iter().all(|error| *error < 2.5e-3), "{shift}: {errors:?}");
    }
}

/// Returns the largest error of the flow between two plates driven by a force of the scene, over its largest
/// speed, with steps of `number` h²/ν.
fn pushed(number: f32) -> f32 {
    let (n, low, high) = (24, 0.25, 0.75);
    let plates = [[0.0, low], [high, 1.0]];
    let solids = plates.map(|[from, to]| sticky([to - from, 9.0, 9.0], [0.5 * (from + to), 0.5, 0.0]));
    let sides: BoundaryConditions = [AROUND, AROUND, [BoundaryCondition::Closed; 2]];
    let h = 1.0 / n as f32;
    let params = Params { viscosity: 1.0, ..inert() };
    let config =
        Config { integrator: Integrator::Trapezoid, ..config([n, n, 1], h, sides, Advection::Cubic) };
    let mut solver = Solver::new(config, params, vec![]).unwrap();
    solver.set_solids(solids.to_vec()).unwrap();
    solver.set_forces(vec![Force::new(ForceField::Wind([0.0, 1e-3, 0.0]))]).unwrap();
    let dt = number * h * h;
    advance(&mut solver, dt, (0.3 / dt) as usize);
    off_parabola(&solver, n, [low, high])
}

/// The trapezoidal rule splits forces of the scene as it splits the pressure. If all of them acted after
/// viscosity, the air would slip along the plates by half of the velocity that a step adds: 3, 7 and 16 % of
/// the largest speed here.
#[test]
fn a_force_of_the_scene_makes_no_slip_of_first_order() {
    let errors = [1.0, 2.0, 4.0].map(pushed);
    println!("{errors:.5?}");
    assert!(errors[0] < 0.008 && errors[1] < errors[2] / 2.5, "{errors:?}");
}

/// Runs air driven along y past `solids` of that direction, in a slab one cell thick. Returns v at the
/// centres of the x–z plane, over force/ν.
fn along(n: usize, sides: [BoundaryCondition; 2], solids: Vec<Solid>, time: f32) -> Vec<([f32; 2], f32)> {
    let sides: BoundaryConditions = [sides, AROUND, sides];
    let (h, force) = (1.0 / n as f32, 1e-3);
    let dt = 0.1 * h * h;
    let params = Params { viscosity: 1.0, heat_buoyancy: force, ..inert() };
    let mut solver = Solver::new(config([n, 1, n], h, sides, Advection::Cubic), params, vec![]).unwrap();
    solver.set_solids(solids).unwrap();
    solver.fill(|_, _| 0.0, |_| [0.0, 0.0, 0.0, 1.0]);
    advance(&mut solver, dt, (time / dt) as usize);
    let v = |i: usize, k: usize| solver.velocity()[1][solver.layout().at(i as isize, 0, k as isize)];
    let middle = |i: usize| (i as f32 + 0.5) * h;
    let cells = (0..n * n).map(|c| (c % n, c / n));
    cells.map(|(i, k)| ([middle(i), middle(k)], v(i, k) / force)).collect()
}

/// Returns the velocity over force/ν in a duct of half-widths `a` and `b` at (x, z) from its axis (White,
/// "Viscous Fluid Flow", §3-3.3).
fn duct(a: f64, b: f64, x: f64, z: f64) -> f64 {
    let pi = std::f64::consts::PI;
    let term = |m: u32| {
        let k = f64::from(2 * m + 1) * 0.5 * pi;
        let sign = if m.is_multiple_of(2) { 1.0 } else { -1.0 };
        // cosh of large numbers, as a quotient.
        let fall = (k * (z.abs() - b) / a).exp() * (1.0 + (-2.0 * k * z.abs() / a).exp())
            / (1.0 + (-2.0 * k * b / a).exp());
        sign * (1.0 - fall) * (k * x / a).cos() / k.powi(3)
    };
    2.0 * a * a * (0..60).map(term).sum::<f64>()
}

/// Returns the largest error in a duct rotated by `degrees` around its axis, over its greatest speed.
fn turned_duct(n: usize, degrees: f32) -> f64 {
    let (a, b, center) = (0.31f32, 0.23f32, [0.507f32, 0.494f32]);
    let (sin, cos) = degrees.to_radians().sin_cos();
    let wall = |size: [f32; 3], [x, z]: [f32; 2]| Solid {
        rotation: Solid::turn([0.0, degrees, 0.0]),
        ..sticky(size, [center[0] + cos * x + sin * z, 0.0, center[1] - sin * x + cos * z])
    };
    let walls = vec![
        wall([1.0, 9.0, 3.0], [a + 0.5, 0.0]),
        wall([1.0, 9.0, 3.0], [-a - 0.5, 0.0]),
        wall([3.0, 9.0, 1.0], [0.0, b + 0.5]),
        wall([3.0, 9.0, 1.0], [0.0, -b - 0.5]),
    ];
    let cells = along(n, [BoundaryCondition::Closed; 2], walls, 0.12);
    let error = cells.iter().map(|&([x, z], v)| {
        let [x, z] = [x - center[0], z - center[1]];
        let [x, z] = [cos * x - sin * z, sin * x + cos * z].map(f64::from);
        let inside = x.abs() < a.into() && z.abs() < b.into();
        if inside { (f64::from(v) - duct(a.into(), b.into(), x, z)).abs() } else { 0.0 }
    });
    error.fold(0.0, f64::max) / duct(a.into(), b.into(), 0.0, 0.0)
}

#[test]
fn the_flow_in_a_duct_is_of_second_order_up_to_its_walls() {
    for degrees in [0.0, 27.0] {
        let errors = [12, 24].map(|n| turned_duct(n, degrees));
        println!("duct at {degrees}°: {errors:.5?}");
        assert!(errors[0] < 0.02 && errors[1] < errors[0] / 3.0, "{degrees}: {errors:.5?}");
    }
}

#[test]
fn the_flow_along_an_array_of_cylinders_is_as_published() {
    // Drummond & Tahir, Int. J. Multiphase Flow 10 (1984): the mean of v over force/ν, times 4π.
    let c = 0.3f32;
    let published = -c.ln() - 1.476_336 + 2.0 * c - 0.5 * c * c - 0.050_971_4 * c.powi(4);
    let rod = Shape::Cylinder { radius: (c / PI).sqrt(), height: 9.0 };
    let rod = Solid { slip: Slip::None, ..Solid::new(rod, [0.513, 0.0, 0.492]) };
    let errors = [12, 24].map(|n| {
        let cells = along(n, AROUND, vec![rod.clone()], 0.2);
        4.0 * PI * cells.iter().map(|(_, v)| v).sum::<f32>() / (n * n) as f32 / published - 1.0
    });
    println!("along an array: {errors:.5?}");
    assert!(errors[0].abs() < 0.03 && errors[1].abs() < 0.008, "{errors:.5?}");
}

/// The lower plate rests; the upper one moves and drags the air along.
#[test]
fn couette_flow_is_a_straight_line_and_pulls_both_plates_alike() {
    let n = 24;
    let sides: BoundaryConditions = [AROUND, [BoundaryCondition::Closed; 2], [BoundaryCondition::Closed; 2]];
    let params = Params { viscosity: 0.5, ..inert() };
    let config = config([n, n, 1], 1.0 / n as f32, sides, Advection::Cubic);
    let mut solver = Solver::new(config, params, vec![]).unwrap();
    let (low, high) = (0.213, 0.771);
    let below = sticky([9.0, 0.2, 9.0], [0.5, low - 0.1, 0.0]);
    let keyframes = vec![(0.0, [0.0, high + 0.1, 0.0]), (100.0, [10.0, high + 0.1, 0.0])];
    let above = Solid { keyframes, ..sticky([90.0, 0.2, 9.0], [0.0; 3]) };
    solver.set_solids(vec![below, above]).unwrap();
    advance(&mut solver, 0.01, 150);
    for j in 0..n {
        let y = (j as f32 + 0.5) / n as f32;
        let u = solver.velocity()[0][solver.layout().at(3, j as isize, 0)];
        let exact = 0.1 * ((y - low) / (high - low)).clamp(0.0, 1.0);
        assert!((u - exact).abs() < 2e-4, "{y}: {u} for {exact}");
    }
    // ν U / d on each square metre; the slab is one cell deep.
    let pull = 0.5 * 0.1 / f64::from(high - low) / n as f64;
    let forces = solver.solid_forces();
    assert!((forces[0][0] / pull - 1.0).abs() < 0.01, "{forces:?} for {pull}");
    assert!((forces[1][0] / pull + 1.0).abs() < 0.01, "{forces:?} for {pull}");
    assert!(
        solver.solid_pressures().iter().all(|push| push[0].abs() < 1e-3 * pull),
        "pressure pulls nothing along"
    );
}

/// Returns the drag on a cylinder of a square array that fills a share `c` of the plane, at a Reynolds number
/// near 0: F/(μU), and the measured force over the driving force.
fn array(n: usize, c: f32) -> [f32; 2] {
    let radius = (c / PI).sqrt();
    let rod = Solid {
        slip: Slip::None,
        ..Solid::new(Shape::Cylinder { radius, height: 9.0 }, [0.513, 0.492, 0.0])
    };
    let rod = Solid { rotation: Solid::turn([90.0, 0.0, 0.0]), ..rod };
    let solver = driven(n, 1.0, 1e-3, vec![rod], [0.25 / (n * n) as f32, 0.3]);
    let layout = solver.layout();
    let mut sum = 0.0;
    for j in 0..n as isize {
        for i in 0..n as isize {
            sum += solver.velocity()[1][layout.at(i, j, 0)];
        }
    }
    let mean = sum / (n * n) as f32;
    let force = solver.solid_forces()[0][1] as f32 * n as f32;
    [1e-3 / mean, force / (1e-3 * (1.0 - c))]
}

#[test]
fn cylinders_in_a_square_array_drag_as_published() {
    // Sangani & Acrivos, Int. J. Multiphase Flow 8 (1982), table 1.
    for (c, published) in [(0.1, 24.83), (0.3, 102.90)] {
        let [drag, balance] = array(24, c);
        println!("{c}: {drag} for {published}, {balance} of the force");
        assert!((drag / published - 1.0).abs() < 0.04, "{c}: {drag} for {published}");
        assert!(
            (balance - 1.0).abs() < 0.01,
            "{c}: the force on the cylinder is {balance} of what drives the air"
        );
    }
}

#[test]
fn air_at_rest_lifts_a_ball_as_archimedes_says() {
    let (n, radius, lift) = (24, 0.27f32, 0.3);
    let params = Params { heat_buoyancy: lift, ..inert() };
    let config = config([n; 3], 1.0 / n as f32, all(BoundaryCondition::Closed), Advection::MacCormack);
    let mut solver = Solver::new(config, params, vec![]).unwrap();
    // The height is a whole number of cells, so that as many faces as cells lie inside.
    let block = sticky([0.25, 0.125, 1.0 / 6.0], [5.3 / 24.0, 20.9 / 24.0, 5.2 / 24.0]);
    solver.set_solids(vec![Solid::new(Shape::Sphere { radius }, [0.52, 0.47, 0.5]), block]).unwrap();
    solver.fill(|_, _| 0.0, |_| [0.0, 0.0, 0.0, 1.0]);
    advance(&mut solver, 0.02, 2);
    // The warm air has a negative weight: a body that displaces it is pushed down.
    let volumes = [4.0 / 3.0 * PI * radius.powi(3), 0.25 * 0.125 / 6.0].map(f64::from);
    for (force, volume) in solver.solid_forces().iter().zip(volumes) {
        let want = -f64::from(lift) * volume;
        assert!((force[1] / want - 1.0).abs() < 0.02, "{force:?} for {want}");
        assert!(force[0].abs() + force[2].abs() < 2e-3 * want.abs(), "{force:?}");
    }
    assert_eq!(solver.solid_pressures(), solver.solid_forces(), "at rest nothing but pressure acts");
}

#[test]
fn any_viscosity_is_stable_around_any_solid() {
    let solids = vec![
        Solid { slip: Slip::None, ..Solid::new(Shape::Sphere { radius: 0.31 }, [0.43, 0.52, 0.51]) },
        Solid::new(Shape::Sphere { radius: 0.17 }, [0.83, 0.21, 0.7]),
        Solid { rotation: Solid::turn([20.0, 30.0, 40.0]), ..sticky([0.9, 0.02, 0.3], [0.4, 0.9, 0.5]) },
    ];
    for sides in [all(BoundaryCondition::Closed), [AROUND, [BoundaryCondition::Open; 2], AROUND]] {
        for viscosity in [1e-6, 1.0, 1e4, 1e12, f32::MAX] {
            let smoke = [Smoke { diffusion: viscosity, buoyancy: 0.0, dissipation: 0.0 }; 3];
            let params = Params { viscosity, conduction: viscosity, smoke, ..inert() };
            let config = config([17, 12, 15], 1.0 / 14.0, sides, Advection::Cubic);
            let mut solver = Solver::new(config, params, vec![]).unwrap();
            solver.set_solids(solids.clone()).unwrap();
            solver
                .fill(|c, p| (p[0] * 9.0 + c as f32).sin() + (p[1] * 7.0).cos(), |p| [p[0], 1.0, p[1], 5.0]);
            let before = solver.stats().kinetic_energy;
            advance(&mut solver, 0.05, 6);
            let stats = solver.stats();
            assert!(
                stats.kinetic_energy <= before,
                "{viscosity}: {before} J becomes {}",
                stats.kinetic_energy
            );
            assert!(
                solver
                    .velocity()
                    .iter()
                    .flatten()
                    .chain(solver.scalars().as_flattened())
                    .all(|x| x.is_finite())
            );
            if viscosity >= 1e4 {
                assert!(
                    stats.kinetic_energy < 1e-3 * before,
                    "{viscosity}: {before} left {}",
                    stats.kinetic_energy
                );
            }
        }
    }
}

#[test]
fn smoke_does_not_diffuse_through_a_plate_and_none_is_lost() {
    let n = 16;
    let smoke = Smoke { diffusion: 0.05, buoyancy: 0.0, dissipation: 0.0 };
    let params = Params { smoke: [smoke; 3], conduction: 0.1, ..inert() };
    let h = 1.0 / n as f32;
    for (thickness, turn) in [(0.3 * h, 0.0), (2.0 * h, 0.0), (0.5 * h, 30.0)] {
        let config = config([n; 3], h, all(BoundaryCondition::Closed), Advection::Cubic);
        let mut solver = Solver::new(config, params.clone(), vec![]).unwrap();
        let plate = Solid::new(Shape::Box { size: [9.0, thickness, 9.0] }, [0.5; 3]);
        let plate = Solid { rotation: Solid::turn([turn, 0.0, 0.0]), ..plate };
        solver.set_solids(vec![plate.clone()]).unwrap();
        let below = |p: [f32; 3]| {
            plate.pose(0.0, 0.0).distance(p) > 0.7 * h && p[1] < 0.5 - (p[2] - 0.5) * turn.to_radians().tan()
        };
        solver.fill(|_, _| 0.0, |p| if below(p) && p[0] < 0.3 { [1.0, 0.0, 0.0, 10.0] } else { [0.0; 4] });
        let (mass, heat) = (solver.stats().mass[0], solver.stats().heat);
        advance(&mut solver, 0.2, 20);
        let stats = solver.stats();
        assert!(
            (stats.mass[0] / mass - 1.0).abs() < 1e-4 && (stats.heat / heat - 1.0).abs() < 1e-4,
            "{stats:?}"
        );
        let far = cell(&solver, [n - 1, 1, n - 2]);
        assert!(far[0] > 0.1, "it has spread: {far:?}");
        assert_eq!(cell(&solver, [2, n - 2, 2]), [0.0; 4], "{thickness} {turn}: behind the plate");
    }
}

/// Returns the steady temperature at points of a thin slab between walls at 0, around solids at rest, and the
/// heat that each solid gives to the slab.
fn conducted(n: usize, solids: Vec<Solid>) -> (impl Fn(f32, f32) -> f32, Vec<f64>) {
    let cold = [Some(0.0); 2];
    let config = updraft::solver::Config {
        held: [cold, cold, [None; 2]],
        ..config([n, n, 1], 1.0 / n as f32, all(BoundaryCondition::Closed), Advection::Cubic)
    };
    let mut solver = Solver::new(config, Params { conduction: 1.0, ..inert() }, vec![]).unwrap();
    solver.set_solids(solids).unwrap();
    advance(&mut solver, 0.25 / (n * n) as f32, n * n);
    let heat = solver.solid_heat();
    let temperature = move |x: f32, y: f32| {
        let [x, y] = [x, y].map(|x| x * n as f32 - 0.5);
        let at = |i: f32, j: f32| cell(&solver, [i as usize, j as usize, 0])[3];
        let ([i, j], [s, t]) = ([x.floor(), y.floor()], [x - x.floor(), y - y.floor()]);
        let row = |j: f32| (1.0 - s) * at(i, j) + s * at(i + 1.0, j);
        (1.0 - t) * row(j) + t * row(j + 1.0)
    };
    (temperature, heat)
}

#[test]
fn a_hot_cylinder_in_a_cold_box_has_a_logarithmic_profile() {
    let (n, radius, hot) = (32, 0.171, 50.0);
    for slip in [Slip::Free, Slip::None] {
        let rod = Solid::new(Shape::Cylinder { radius, height: 9.0 }, [0.5, 0.5, 0.0]);
        let rotation = Solid::turn([90.0, 0.0, 0.0]);
        let (temperature, heat) = conducted(n, vec![Solid { rotation, slip, temperature: Some(hot), ..rod }]);
        // The mean over a circle of a harmonic function is linear in ln r; it is 0 at the conformal radius of the box,
        // 1.0787 times half its side (Incropera et al., "Fundamentals of Heat and Mass Transfer", shape factors).
        let outer = 1.0787 * 0.5f32;
        for r in [0.25, 0.3, 0.35, 0.4] {
            let around = (0..64).map(|k| (k as f32 / 32.0 * PI).sin_cos());
            let mean = around.map(|(s, c)| temperature(0.5 + r * c, 0.5 + r * s)).sum::<f32>() / 64.0;
            let want = hot * (outer / r).ln() / (outer / radius).ln();
            println!("{slip:?} {r}: {mean} for {want}");
            assert!((mean - want).abs() < 0.005 * hot, "{slip:?} {r}: {mean} for {want}");
        }
        // The flow through each such circle, of the depth of a cell.
        let want = f64::from(2.0 * PI * hot / (outer / radius).ln() / n as f32);
        println!("{slip:?}: heat {heat:?} for {want}");
        assert!((heat[0] / want - 1.0).abs() < 0.01, "{slip:?}: {heat:?} for {want}");
    }
}

#[test]
fn heat_goes_down_straight_on_both_sides_of_a_hot_plate() {
    let n = 16;
    let h = 1.0 / n as f32;
    for (middle, thickness) in [(0.413, 0.3 * h), (0.4375, 0.3 * h), (0.52, 1.7 * h)] {
        let plate = sticky([9.0, thickness, 9.0], [0.5, middle, 0.0]);
        // Cold side walls would cool the air; between insulated ones the profile is a straight line.
        let config = updraft::solver::Config {
            held: [[None; 2], [Some(0.0); 2], [None; 2]],
            ..config([n, n, 1], h, all(BoundaryCondition::Closed), Advection::Cubic)
        };
        let mut solver = Solver::new(config, Params { conduction: 1.0, ..inert() }, vec![]).unwrap();
        solver.set_solids(vec![Solid { temperature: Some(10.0), ..plate }]).unwrap();
        advance(&mut solver, 1e-3, 500);
        for j in 0..n {
            let y = (j as f32 + 0.5) * h;
            let (low, high) = (middle - 0.5 * thickness, middle + 0.5 * thickness);
            let want = if y < low { 10.0 * y / low } else { 10.0 * (1.0 - y) / (1.0 - high) };
            let got = cell(&solver, [5, j, 0])[3];
            // A partly open cell whose middle lies inside has the plate's temperature.
            let partly = thickness > h && (y - 0.5 * h < low || y + 0.5 * h > high);
            let want = if (low..high).contains(&y) { 10.0 } else { want };
            let is_air = partly || !(low..high).contains(&y);
            assert!(!is_air || (got - want).abs() < 0.02, "{middle} {y}: {got} for {want}");
        }
    }
}

#[test]
fn threads_change_no_bit_of_a_viscous_flow() {
    let run = |threads: usize| {
        let sides: BoundaryConditions = [AROUND, [BoundaryCondition::Closed; 2], AROUND];
        let config =
            updraft::solver::Config { threads, ..config([21, 18, 70], 0.05, sides, Advection::Cubic) };
        let params = Params { viscosity: 0.01, conduction: 0.01, ..inert() };
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        let ball = Solid { slip: Slip::None, ..Solid::new(Shape::Sphere { radius: 0.3 }, [0.5, 0.4, 0.1]) };
        solver.set_solids(vec![Solid { temperature: Some(3.0), ..ball }]).unwrap();
        solver.fill(|c, p| (p[(c + 1) % 3] * 6.0).sin(), |p| [p[0], p[1], 0.0, 1.0]);
        advance(&mut solver, 0.03, 3);
        (bits(&solver), solver.solid_forces(), solver.solid_heat())
    };
    let one = run(1);
    assert!(one.1[0].iter().any(|x| x.abs() > 1e-6) && one.2[0].abs() > 1e-6, "{:?} {:?}", one.1, one.2);
    assert!(run(3) == one);
}

/// In Taylor–Couette flow the torque on the cylinder and that on the tube are 4π ν Ω R₁² R₂² / (R₂² − R₁²)
/// per metre of length, in opposite directions.
#[test]
fn the_torques_on_a_tube_and_a_spinning_cylinder_are_those_of_couette_flow() {
    let scene = Scene::load("validation/taylor-couette.toml", &[]).unwrap();
    let mut solver = scene.solver().unwrap();
    advance(&mut solver, 0.05, 80);
    let exact = 4.0 * std::f64::consts::PI * 0.1 * 0.25 / 0.75 * f64::from(scene.config.h);
    let torques = solver.solid_torques();
    assert!((torques[1][2] / exact - 1.0).abs() < 0.05, "on the tube: {torques:?} of {exact}");
    assert!((torques[0][2] / exact + 1.0).abs() < 0.06, "on the cylinder: {torques:?} of {exact}");
}
