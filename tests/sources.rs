//! Tests sources of every shape, fills and external forces, in a running solver.

mod common;

use std::f64::consts::PI;
use std::sync::Arc;

use common::{advance, all, cell, config, inert, noise};
use updraft::solver::{
    ActsOn, Advection, BoundaryCondition, BoundaryConditions, Card, Config, Drive, Fill, Force, ForceField,
    Form, Integrator, Noise, Params, Region, SCALAR_LIMIT, SPEED_LIMIT, Shape, Smoke, Solid, Solver, Source,
    TimeControl,
};

const H: f32 = 0.05;
const CELLS: [usize; 3] = [24, 20, 28];

fn still(sides: BoundaryConditions, forces: Vec<Force>) -> Solver {
    let mut solver = Solver::new(config(CELLS, H, sides, Advection::Cubic), inert(), vec![]).unwrap();
    solver.set_forces(forces).unwrap();
    solver
}

fn wind(acceleration: [f32; 3]) -> Force {
    Force::new(ForceField::Wind(acceleration))
}

/// Returns a velocity component at the lower face of cell (i, j, k).
fn face(solver: &Solver, component: usize, [i, j, k]: [usize; 3]) -> f32 {
    solver.velocity()[component][solver.layout().at(i as isize, j as isize, k as isize)]
}

/// Returns every face of a component.
fn faces(solver: &Solver, component: usize) -> impl Iterator<Item = ([usize; 3], f32)> + '_ {
    let dims = solver.layout().dims;
    (0..dims.cells()).map(move |n| (dims.place(n), face(solver, component, dims.place(n))))
}

#[test]
fn wind_accelerates_air_at_its_rate_while_it_blows() {
    for steps in [1, 8] {
        let breeze = Force { start: 0.25, stop: 0.75, ..wind([0.5, 0.0, -0.2]) };
        let mut solver = still(all(BoundaryCondition::Periodic), vec![breeze, wind([0.0, 0.0, 0.1])]);
        advance(&mut solver, 1.0 / steps as f32, steps);
        for (component, expected) in [0.25, 0.0, 0.0].into_iter().enumerate() {
            for (at, got) in faces(&solver, component) {
                assert!((got - expected).abs() < 1e-5, "{steps} steps, {component} {at:?}: {got}");
            }
        }
    }
}

#[test]
fn air_comes_near_the_velocity_of_a_wind() {
    for steps in [1, 10] {
        let mut gale = wind([2.0, 0.0, 1.0]);
        gale.drive = Drive::Approach { rate: 1.5 };
        let mut solver = still(all(BoundaryCondition::Periodic), vec![gale]);
        advance(&mut solver, 1.0 / steps as f32, steps);
        let reached = 2.0 * (1.0 - (-1.5f32).exp());
        for (_, got) in faces(&solver, 0) {
            assert!((got - reached).abs() < 1e-4, "{steps} steps: {got} for {reached}");
        }
    }
}

/// Winds with a target, friction, buoyancy and an acceleration give du/dt = a − d u + Σ r (U − u), uniform in
/// a periodic box. Applied one after another they once gave 3 % less or 3 % more, by their order.
#[test]
fn winds_with_a_target_act_together_with_all_other_forces() {
    let towards = |velocity: [f32; 3], rate: f32| Force { drive: Drive::Approach { rate }, ..wind(velocity) };
    for integrator in [Integrator::Projection, Integrator::Reflection, Integrator::Trapezoid] {
        for (lifts, blows, crosses, friction) in [
            (true, false, false, 0.0),
            (false, true, false, 0.0),
            (false, false, true, 0.0),
            (true, true, true, 2.0),
        ] {
            // The acceleration along y, the direction of buoyancy, and the sums of rates and of rates times
            // targets.
            let (mut a, mut rates, mut pull) = (0.0f32, 3.0 + friction, 3.0 * 0.4);
            let mut forces = vec![towards([1.0, 0.4, 0.0], 3.0)];
            if blows {
                forces.insert(0, wind([0.0, 0.7, 0.0]));
                forces.push(wind([0.0, 1.3, 0.0]));
                a += 2.0;
            }
            if crosses {
                forces.push(towards([0.0, -2.0, 1.0], 1.5));
                (rates, pull) = (rates + 1.5, pull - 3.0);
            }
            let params = Params { heat_buoyancy: 0.02, friction, ..inert() };
            let config = Config {
                integrator,
                ..config([8; 3], H, all(BoundaryCondition::Periodic), Advection::Conservative)
            };
            let mut solver = Solver::new(config, params, vec![]).unwrap();
            solver.set_forces(forces).unwrap();
            if lifts {
                solver.fill(|_, _| 0.0, |_| [0.0, 0.0, 0.0, 50.0]);
                a += 1.0;
            }
            let (end, scale) = ((a + pull) / rates, (a + pull.abs()) / rates);
            let mut worst = [0.0f32; 2];
            for step in 1..=96 {
                advance(&mut solver, 1.0 / 24.0, 1);
                let exact = end * (1.0 - (-rates * step as f32 / 24.0).exp());
                let off = (face(&solver, 1, [3, 4, 5]) - exact).abs() / scale;
                let part = usize::from(step > 72);
                worst[part] = worst[part].max(off);
            }
            let case = format!("{integrator:?} {lifts} {blows} {crosses} {friction}");
            println!("{case}: off by {:.2e} on the way, {:.2e} at the end", worst[0], worst[1]);
            // The trapezoidal rule is not exact for linear terms, and its first step is one of plain
            // projection.
            let most = if integrator == Integrator::Trapezoid { [1e-2, 5e-3] } else { [2e-4, 2e-4] };
            assert!(worst[0] < most[0] && worst[1] < most[1], "{case}: {worst:?}");
        }
    }
}

/// Returns a layer that fills the box along x and z. Driven along x, it gets exactly that velocity.
fn layer() -> Region {
    let form = Form::Body(Shape::Box { size: [9.0, 0.3, 9.0] });
    Region::new(form, [0.5, 0.5, 0.5])
}

#[test]
fn a_force_stays_within_its_shape() {
    let mut solver = still(
        all(BoundaryCondition::Periodic),
        vec![Force { within: Some(layer()), ..wind([1.0, 0.0, 0.0]) }],
    );
    advance(&mut solver, 0.1, 5);
    for ([i, j, k], got) in faces(&solver, 0) {
        let inside = (0.35..0.65).contains(&((j as f32 + 0.5) * H));
        assert!((got - if inside { 0.5 } else { 0.0 }).abs() < 1e-4, "{i} {j} {k}: {got}");
    }
}

#[test]
fn a_force_on_smoke_is_as_strong_as_the_smoke_is_dense() {
    let run = |drive: Drive| {
        let on_smoke = Force { acts_on: ActsOn::Smoke, drive, ..wind([1.0, 0.0, 0.0]) };
        let mut solver = still(all(BoundaryCondition::Periodic), vec![on_smoke]);
        let scalars = [Some(0.25), None, Some(0.25), Some(30.0)];
        solver.fill_regions(&[Fill { region: layer(), scalars, velocity: None, noise: None }]).unwrap();
        advance(&mut solver, 0.1, 5);
        [face(&solver, 0, [3, 9, 3]), face(&solver, 0, [3, 3, 3])]
    };
    let [smoke, air] = run(Drive::Accelerate);
    assert!((smoke - 0.25).abs() < 1e-4 && air.abs() < 1e-5, "{smoke} {air}");
    let [smoke, air] = run(Drive::Approach { rate: 0.2 });
    let reached = 1.0 - (-0.5 * 0.2 * 0.5f32).exp();
    assert!((smoke - reached).abs() < 1e-4 && air.abs() < 1e-5, "{smoke} {air}");
}

/// The force of a point has no curl, on the grid either, so the pressure balances it and nothing moves.
#[test]
fn a_point_moves_no_air_that_is_closed_in_but_smoke() {
    for (sides, falloff) in [
        (all(BoundaryCondition::Closed), 0),
        (all(BoundaryCondition::Closed), 2),
        (all(BoundaryCondition::Periodic), 1),
    ] {
        let center = [0.61, 0.47, 0.7];
        let field = ForceField::Point { center, radius: 0.45, falloff, strength: 10.0 };
        let mut solver = still(sides, vec![Force::new(field.clone())]);
        advance(&mut solver, 0.1, 1);
        assert!(solver.stats().divergence_before > 0.1, "the force did nothing");
        assert!(solver.stats().max_speed < 1e-4, "{falloff}: {} m/s", solver.stats().max_speed);

        let mut solver = still(sides, vec![Force { acts_on: ActsOn::Smoke, ..Force::new(field) }]);
        let aside = Region::sphere([0.85, 0.47, 0.7], 0.12);
        let scalars = [Some(1.0), None, None, None];
        solver.fill_regions(&[Fill { region: aside, scalars, velocity: None, noise: None }]).unwrap();
        advance(&mut solver, 0.05, 2);
        let towards = face(&solver, 0, [17, 9, 14]);
        assert!(towards < -0.1, "smoke beside the point moves at {towards} m/s");
    }
}

/// Around an axis along y the air at the +x side moves along −z, with the given speed at the vortex's maximum.
#[test]
fn a_vortex_turns_the_air_to_the_right_side_at_its_speed() {
    let cells = [48, 4, 48];
    let center = [1.2, 0.1, 1.2];
    let field = ForceField::Vortex { center, axis: [0.0, 1.0, 0.0], radius: 0.3, strength: 2.0 };
    let run = |drive: Drive, dt: f32, steps: usize| {
        let sides = [
            [BoundaryCondition::Closed; 2],
            [BoundaryCondition::Periodic; 2],
            [BoundaryCondition::Closed; 2],
        ];
        let mut solver = Solver::new(config(cells, H, sides, Advection::Cubic), inert(), vec![]).unwrap();
        solver.set_forces(vec![Force { drive, ..Force::new(field.clone()) }]).unwrap();
        advance(&mut solver, dt, steps);
        // Faces of w at x = 1.2 ± 0.325 and 1.2 + 0.625 m, of u likewise.
        let at = |component: usize, index: [usize; 3]| {
            solver.velocity()[component][solver.layout().at(index[0] as isize, 1, index[2] as isize)]
        };
        [at(2, [30, 1, 24]), at(2, [17, 1, 24]), at(2, [36, 1, 24]), at(0, [24, 1, 30]), at(1, [30, 1, 24])]
    };
    let kaufmann = |r: f32| 2.0 * 2.0 * (r / 0.3) / (1.0 + (r / 0.3).powi(2));
    for (drive, dt, steps, share) in
        [(Drive::Accelerate, 0.01, 2, 0.02), (Drive::Approach { rate: 50.0 }, 0.02, 10, 1.0)]
    {
        let [east, west, far, south, up] = run(drive, dt, steps);
        let (near, out) = (share * kaufmann(0.325), share * kaufmann(0.625));
        assert!((east / -near - 1.0).abs() < 0.06, "{drive:?}: {east} for {}", -near);
        assert!((west / near - 1.0).abs() < 0.06, "{drive:?}: {west} for {near}");
        assert!((south / near - 1.0).abs() < 0.06, "{drive:?}: {south} for {near}");
        assert!((far / -out - 1.0).abs() < 0.12, "{drive:?}: {far} for {}", -out);
        assert!(up.abs() < 1e-4 * near, "{up}");
    }
}

/// A vortex does not change motion along its axis.
#[test]
fn a_vortex_lets_air_pass_along_its_axis() {
    let field =
        ForceField::Vortex { center: [0.6, 0.5, 0.7], axis: [0.0, 1.0, 0.0], radius: 0.2, strength: 0.0 };
    let drive = Drive::Approach { rate: 100.0 };
    let mut solver = still(all(BoundaryCondition::Periodic), vec![Force { drive, ..Force::new(field) }]);
    solver.fill(|c, _| [0.0, 0.3, 0.0][c], |_| [0.0; 4]);
    advance(&mut solver, 0.05, 4);
    assert!(faces(&solver, 1).all(|(_, v)| (v - 0.3).abs() < 1e-4));
}

#[test]
fn the_wildest_forces_stay_finite() {
    let fields = [
        ForceField::Wind([1e6, -1e6, 1e6]),
        ForceField::Point { center: [0.6; 3], radius: 1e-6, falloff: 16, strength: 1e6 },
        ForceField::Point { center: [0.6; 3], radius: 1e6, falloff: 0, strength: -1e6 },
        ForceField::Vortex { center: [0.6; 3], axis: [1.0, 0.0, 0.0], radius: 1e-6, strength: 1e6 },
        ForceField::Vortex { center: [0.6; 3], axis: [0.0, 0.0, 1.0], radius: 1e6, strength: -1e6 },
    ];
    let drives = [Drive::Accelerate, Drive::Approach { rate: 1e6 }];
    let forces = fields.iter().flat_map(|field| drives.map(|drive| (field.clone(), drive)));
    let forces = forces.flat_map(|(field, drive)| {
        [ActsOn::Air, ActsOn::Smoke].map(|acts_on| Force { drive, acts_on, ..Force::new(field.clone()) })
    });
    for force in forces {
        let time = TimeControl { cfl: 2.0, max_substeps: 3 };
        let config =
            Config { time, ..config([12, 10, 8], 0.1, all(BoundaryCondition::Open), Advection::MacCormack) };
        let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
        solver.set_forces(vec![force.clone()]).unwrap();
        solver.fill(noise, |at| [0, 1, 2, 3].map(|c| noise(c, at)));
        advance(&mut solver, 0.1, 6);
        assert!(solver.velocity().iter().flatten().all(|x| x.is_finite()), "{force:?}");
        assert!(solver.scalars().as_flattened().iter().all(|x| x.abs() <= 1.001 * SCALAR_LIMIT), "{force:?}");
    }
}

/// The limit of speed is in cells per second, so in fine grids it is below the velocity that a scene may ask
/// for.
#[test]
fn no_source_drives_air_beyond_the_limit_of_speed() {
    let config = config([8; 3], 1e-3, all(BoundaryCondition::Periodic), Advection::Cubic);
    let everywhere = Region::new(Form::Body(Shape::Box { size: [1.0; 3] }), [0.0; 3]);
    let mut source = Source::new(everywhere, [0.0; 4]);
    source.velocity = Some([1e4, 0.0, -10.0]);
    let mut solver = Solver::new(config, inert(), vec![source]).unwrap();
    advance(&mut solver, 1e-6, 2);
    let limit = SPEED_LIMIT * 1e-3;
    let fastest =
        |component: usize| solver.velocity()[component].iter().fold(0.0f32, |most, u| most.max(u.abs()));
    assert!((fastest(0) / limit - 1.0).abs() < 1e-3, "{}", fastest(0));
    assert!((fastest(2) / 10.0 - 1.0).abs() < 1e-3, "{}", fastest(2));
}

/// Returns the flow \[m³/s\] through a circle above a disc 2 cm thick, its middle at a height \[m\] over the ground, on cells of `h`, after
/// each of some steps, in each of which a face takes on the covered share of the velocity.
fn flow_above(h: f32, height: f32, heat: f32, steps: usize) -> Vec<f32> {
    let n = (0.64 / h).round() as usize;
    let open = [BoundaryCondition::Open; 2];
    let sides = [open, [BoundaryCondition::Closed, BoundaryCondition::Open], open];
    let disc = Region::disc([0.32, height, 0.32], 0.11, [0.0, 1.0, 0.0], 0.02);
    let source = Source { velocity: Some([0.0, 0.75, 0.0]), ..Source::new(disc, [1.0, 0.0, 0.0, heat]) };
    let params = Params { heat_buoyancy: 0.04, ..inert() };
    let mut solver =
        Solver::new(config([n; 3], h, sides, Advection::Conservative), params, vec![source]).unwrap();
    let through = |solver: &Solver| {
        let mut sum = 0.0;
        for (i, k) in (0..n * n).map(|at| (at % n, at / n)) {
            let from_axis = [i, k].map(|i| (i as f32 + 0.5) * h - 0.32);
            if from_axis[0].hypot(from_axis[1]) < 0.2 {
                sum += h * h * solver.mean_over_face(1, [i, (0.16 / h).round() as usize, k]);
            }
        }
        sum
    };
    let mut flows = vec![];
    for _ in 0..steps {
        advance(&mut solver, 1.0 / 24.0, 1);
        flows.push(through(&solver));
    }
    flows
}

/// Half of the disc is in the half cell of the wall's face, on cells of 4 cm the whole disc. The air was once
/// not driven there.
#[test]
fn a_source_thinner_than_a_cell_drives_the_air_alike_on_any_grid() {
    let [coarse, middle, fine] = [0.04, 0.02, 0.01].map(|h| flow_above(h, 0.01, 0.0, 1)[0]);
    println!("first step, cells of 4, 2, 1 cm: {coarse:.6}, {middle:.6}, {fine:.6} m³/s");
    assert!((coarse / fine - 1.0).abs() < 0.15 && (middle / fine - 1.0).abs() < 0.15);
    // With heat the flow is a plume.
    let [coarse, middle, fine] = [0.04, 0.02, 0.01].map(|h| flow_above(h, 0.01, 330.0, 24)[23]);
    println!("plume after 1 s: {coarse:.5}, {middle:.5}, {fine:.5} m³/s");
    assert!((coarse / fine - 1.0).abs() < 0.5 && (middle / fine - 1.0).abs() < 0.15);
}

/// A thin source rises from the ground in steps of an eighth of a cell.
#[test]
fn a_thin_source_that_rises_from_the_ground_does_not_flicker() {
    const CELL: f32 = 0.04;
    let flow = |eighths: u16| flow_above(CELL, 0.01 + f32::from(eighths) * CELL / 8.0, 0.0, 1)[0];
    let flows: Vec<f32> = (0..=16).map(flow).collect();
    println!("{flows:.6?}");
    let most = flows[16];
    for pair in flows.windows(2) {
        let gain = (pair[1] - pair[0]) / most;
        assert!((-0.01..0.15).contains(&gain), "{flows:?}");
    }
    // An impulse beside a wall moves air far away in proportion to its distance.
    for (n, flow) in flows.iter().enumerate() {
        let of_height = flow / most * 0.09 / (0.01 + n as f32 * CELL / 8.0);
        assert!((0.7..1.5).contains(&of_height), "{n} eighths: {of_height}");
    }
}

fn letters() -> Region {
    let card = Card::text("uP", 0.5, 0.2, None, 0.25 * H).unwrap();
    let form = Form::Card(Arc::new(card));
    Region { rotation: Solid::turn([10.0, 40.0, 0.0]), ..Region::new(form, [0.6, 0.5, 0.7]) }
}

#[test]
fn every_shape_emits_its_rate_at_any_step() {
    let Form::Card(card) = &letters().form else { panic!() };
    let slab = Form::Body(Shape::Box { size: [0.5, 0.3, 0.7] });
    let block = Region { rotation: Solid::turn([0.0, 25.0, 40.0]), ..Region::new(slab, [0.6, 0.52, 0.7]) };
    let disc = Region::disc([0.63, 0.5, 0.7], 0.4, [1.0, 2.0, 0.5], 0.08);
    let cases = [
        (letters(), card.volume()[3]),
        (block, 0.5 * 0.3 * 0.7),
        (disc, PI * 0.16 * 0.08),
        (Region::sphere([0.6, 0.5, 0.7], 0.3), 4.0 / 3.0 * PI * 0.027),
    ];
    for (region, volume) in cases {
        for (steps, cfl) in [(1, 1e6), (9, 1e6), (3, 0.5)] {
            let source =
                Source { start: 0.2, stop: 0.7, ..Source::new(region.clone(), [2.0, 0.0, 1.0, 50.0]) };
            let time = TimeControl { cfl, max_substeps: 50 };
            // Linear interpolation advects all of it in a steady wind.
            let config = Config {
                time,
                ..config(CELLS, H, all(BoundaryCondition::Periodic), Advection::SemiLagrangian)
            };
            let mut solver = Solver::new(config, inert(), vec![source]).unwrap();
            solver.fill(|c, _| if c == 0 { 0.2 } else { 0.0 }, |_| [0.0; 4]);
            advance(&mut solver, 1.0 / steps as f32, steps);
            assert_eq!(solver.stats().substeps, if cfl < 1.0 { 3 } else { 1 });
            let [red, green, blue] = solver.stats().mass;
            for (got, rate) in [(red, 2.0), (green, 0.0), (blue, 1.0), (solver.stats().heat, 50.0)] {
                let given = 0.5 * rate * volume;
                assert!((got - given).abs() <= 0.03 * given, "{region:?}, {steps} steps: {got} for {given}");
            }
        }
    }
}

#[test]
fn noise_moves_the_emission_but_keeps_its_sum() {
    let mass = |noise: Option<Noise>, steps: usize| {
        let form = Form::Body(Shape::Box { size: [1.0, 0.8, 1.2] });
        let source =
            Source { noise, ..Source::new(Region::new(form, [0.6, 0.5, 0.7]), [1.0, 0.0, 0.0, 0.0]) };
        let config = config(CELLS, H, all(BoundaryCondition::Closed), Advection::Cubic);
        let mut solver = Solver::new(config, inert(), vec![source]).unwrap();
        advance(&mut solver, 2.0 / steps as f32, steps);
        let values: Vec<f32> = (8..16).map(|i| cell(&solver, [i, 9, 13])[0]).collect();
        (solver.stats().mass[0], values)
    };
    let (even, flat) = mass(None, 1);
    assert!(flat.iter().all(|x| (x - 2.0).abs() < 1e-5), "{flat:?}");
    let noise = Noise { strength: 1.0, scale: 0.1, speed: 0.0, seed: 5 };
    let [(once, one), (often, many)] = [1, 12].map(|steps| mass(Some(noise), steps));
    assert!((once / even - 1.0).abs() < 0.05, "{once} for {even}");
    assert!((often / once - 1.0).abs() < 1e-5, "{often} for {once}");
    assert!(one.iter().zip(&many).all(|(a, b)| (a - b).abs() < 1e-4));
    let spread = one.iter().fold(0.0f32, |a, x| a.max((x - 2.0).abs()));
    assert!(spread > 0.5, "{one:?} is even");
    let moving = mass(Some(Noise { speed: 4.0, ..noise }), 12);
    assert!((moving.0 / even - 1.0).abs() < 0.05 && moving.1 != one);
}

#[test]
fn a_fill_sets_only_the_values_it_names() {
    let mut solver = still(all(BoundaryCondition::Closed), vec![]);
    solver.fill(|_, _| 0.0, |_| [5.0, 6.0, 7.0, 8.0]);
    let scalars = [Some(1.0), None, Some(0.0), Some(-3.0)];
    let fill = Fill { region: layer(), scalars, velocity: Some([0.0, 0.0, 0.4]), noise: None };
    solver.fill_regions(&[fill]).unwrap();
    assert_eq!(cell(&solver, [5, 10, 5]), [1.0, 6.0, 0.0, -3.0]);
    assert_eq!(cell(&solver, [5, 2, 5]), [5.0, 6.0, 7.0, 8.0]);
    assert_eq!(solver.stats().time, 0.0);
    assert!(solver.stats().divergence_after < 1e-5, "the motion is free of divergence");
    assert!(face(&solver, 2, [12, 10, 14]) > 0.1);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let run = |threads: usize| {
        let noise = Some(Noise { strength: 0.8, scale: 0.1, speed: 2.0, seed: 1 });
        let source = Source {
            noise,
            velocity: Some([0.5, 0.0, 0.0]),
            ..Source::new(letters(), [3.0, 1.0, 0.0, 90.0])
        };
        let config =
            Config { threads, ..config([37, 29, 41], H, all(BoundaryCondition::Periodic), Advection::Cubic) };
        let mut solver = Solver::new(config, Params::default(), vec![source]).unwrap();
        let center = [0.7, 0.7, 0.9];
        let pull = ForceField::Point { center, radius: 0.5, falloff: 1, strength: 2.0 };
        let swirl = ForceField::Vortex { center, axis: [0.0, 0.6, 0.8], radius: 0.3, strength: 1.0 };
        let drive = Drive::Approach { rate: 2.0 };
        solver
            .set_forces(vec![
                Force { acts_on: ActsOn::Smoke, ..Force::new(pull) },
                Force { drive, within: Some(Region::sphere(center, 0.5)), ..Force::new(swirl) },
            ])
            .unwrap();
        advance(&mut solver, 0.04, 8);
        assert!(solver.stats().kinetic_energy > 0.0 && solver.stats().mass[0] > 0.0);
        let bits = |x: &f32| x.to_bits();
        let smoke: Vec<u32> = solver.scalars().as_flattened().iter().map(bits).collect();
        (smoke, solver.velocity().iter().flatten().map(bits).collect::<Vec<_>>())
    };
    let one = run(1);
    assert!([2, 3].into_iter().all(|threads| run(threads) == one));
}

/// Such a source once went on below 0.
#[test]
fn a_source_that_takes_smoke_away_leaves_none_that_is_negative() {
    let region = Region::sphere([0.6, 0.5, 0.7], 0.2);
    let source = Source::new(region, [-3.0, 0.0, 0.0, -30.0]);
    let sides = all(BoundaryCondition::Closed);
    let params = Params { heat_buoyancy: 0.0, ..inert() };
    let mut solver =
        Solver::new(config(CELLS, H, sides, Advection::Conservative), params, vec![source]).unwrap();
    solver.fill(|_, _| 0.0, |_| [0.5, 0.0, 0.0, 0.0]);
    let before = solver.stats().mass[0];
    advance(&mut solver, 0.1, 10);
    let least = solver.scalars().iter().map(|cell| cell[0]).fold(f32::INFINITY, f32::min);
    assert_eq!(least, 0.0);
    let (taken, counted) = (solver.stats().mass[0] - before, solver.stats().emitted[0]);
    assert!(taken < 0.0 && (taken / counted - 1.0).abs() < 1e-5, "{taken} and {counted}");
    assert!(solver.stats().heat < -0.3, "heat goes on: {}", solver.stats().heat);
}

/// All smoke was emitted after the air had moved, late by half a step: half of a step halved the error.
#[test]
fn emission_into_wind_is_of_second_order_in_time() {
    const CELLS: [usize; 3] = [64, 20, 20];
    let h = 1.0 / 32.0;
    // It begins and ends within steps.
    let (start, stop) = (0.07, 0.83);
    let region = Region::sphere([0.4, 0.31, 0.31], 0.25);
    let source = Source { start, stop, ..Source::new(region, [1.0, 0.0, 0.0, 30.0]) };
    // Red and heat of each plane across x. The wind crosses whole cells in each step, so the advection adds no error.
    let run = |(integrator, detail): (Integrator, usize),
               source: &Source,
               [wind, rate]: [f32; 2],
               steps: usize| {
        let closed = [BoundaryCondition::Closed; 2];
        let sides = [[BoundaryCondition::Periodic; 2], closed, closed];
        let config = Config { integrator, detail, ..config(CELLS, h, sides, Advection::Conservative) };
        let smoke = Smoke { dissipation: rate, ..inert().smoke[0] };
        let params = Params { smoke: [smoke; 3], ..inert() };
        let mut solver = Solver::new(config, params, vec![source.clone()]).unwrap();
        solver.fill(|c, _| if c == 0 { wind } else { 0.0 }, |_| [0.0; 4]);
        advance(&mut solver, 1.0 / steps as f32, steps);
        let layout = solver.smoke_layout();
        let [nx, ny, nz] = CELLS.map(|n| (n * detail) as isize);
        let plane = |i: isize| {
            let cells = (0..ny).flat_map(|j| (0..nz).map(move |k| (j, k)));
            let cells = cells.map(|(j, k)| solver.scalars()[layout.at(i, j, k)]);
            cells.fold([0.0_f64; 2], |sum, cell| [sum[0] + f64::from(cell[0]), sum[1] + f64::from(cell[3])])
        };
        (0..nx).map(plane).collect::<Vec<_>>()
    };
    let schemes = [
        (Integrator::Trapezoid, 1),
        (Integrator::Trapezoid, 2),
        (Integrator::Projection, 1),
        (Integrator::Reflection, 1),
    ];
    for (scheme, rate) in schemes.into_iter().flat_map(|scheme| [0.0_f32, 2.0].map(|rate| (scheme, rate))) {
        // Each plane of a source of 1 s in still air; a part of a cell moves a part of it on.
        let still = run(scheme, &Source { start: 0.0, stop: 1.0, ..source.clone() }, [0.0; 2], 1);
        let cells = 32.0 * scheme.1 as f64;
        const INSTANTS: usize = 4000;
        let exact = |i: usize, c: usize| -> f64 {
            let each = f64::from(stop - start) / INSTANTS as f64;
            let instants = (0..INSTANTS).map(|n| {
                let age = 1.0 - f64::from(start) - (n as f64 + 0.5) * each;
                let from = (i as f64 - age * cells).rem_euclid(still.len() as f64);
                let (at, part) = (from as usize, from.fract());
                let here = (1.0 - part) * still[at][c] + part * still[(at + 1) % still.len()][c];
                each * here * if c == 0 { (-f64::from(rate) * age).exp() } else { 1.0 }
            });
            instants.sum()
        };
        let exact: Vec<_> = (0..still.len()).map(|i| [0, 1].map(|c| exact(i, c))).collect();
        for c in 0..2 {
            let [long, short] = [8, 16].map(|steps| {
                let line = run(scheme, &source, [1.0, rate], steps);
                let apart = line.iter().zip(&exact).map(|(a, b)| (a[c] - b[c]).abs()).sum::<f64>();
                apart / exact.iter().map(|plane| plane[c]).sum::<f64>()
            });
            let order = (long / short).log2();
            println!(
                "{scheme:?}, decay {rate}, scalar {c}: off by {long:.5} and {short:.5}, order {order:.2}"
            );
            assert!(order > 1.8 && short < 0.01, "{scheme:?}, decay {rate}, scalar {c}: {long} and {short}");
        }
    }
}

/// A face covered in part took on that part of the velocity in each step, however short: half of a step doubled the push.
#[test]
fn a_thin_source_drives_the_air_alike_at_any_step() {
    let closed = [BoundaryCondition::Closed; 2];
    // Three tenths of a cell across a channel that closes upon itself.
    let slab = Form::Body(Shape::Box { size: [0.3 / 24.0, 1.0, 1.0] });
    let region = Region::new(slab, [8.0 / 24.0, 0.125, 0.125]);
    for integrator in [Integrator::Trapezoid, Integrator::Projection, Integrator::Reflection] {
        let speed = |steps: usize| {
            let source = Source { velocity: Some([1.0, 0.0, 0.0]), ..Source::new(region.clone(), [0.0; 4]) };
            let sides = [[BoundaryCondition::Periodic; 2], closed, closed];
            let config = Config { integrator, ..config([24, 6, 6], 1.0 / 24.0, sides, Advection::default()) };
            let mut solver = Solver::new(config, inert(), vec![source]).unwrap();
            advance(&mut solver, 0.5 / steps as f32, steps);
            solver.velocity()[0][solver.layout().at(4, 3, 3)]
        };
        let speeds = [12, 24, 48, 96].map(speed);
        println!("{integrator:?}: {speeds:?}");
        // Each step acts at its end: of first order.
        let off = [0, 1, 2].map(|n| (speeds[n] / speeds[n + 1] - 1.0).abs());
        assert!(
            speeds[0] > 0.1 && off[0] < 0.1 && off[1] < 0.05 && off[2] < 0.025,
            "{integrator:?}: {speeds:?}"
        );
    }
}
