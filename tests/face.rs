//! The interface for embedding programs: their own threads, forces from closures.

mod common;

use std::sync::Arc;

use common::{advance, all, config, inert, noise};
use updraft::solver::{ActsOn, CustomField, Drive, ForceField};
use updraft::{
    BoundaryCondition, Config, Force, Region, Solver, SolverError, Source, rayon, solver::Advection,
};

fn box_of_air() -> Config {
    config([20, 16, 12], 0.1, all(BoundaryCondition::Closed), Advection::Cubic)
}

fn stirred(mut solver: Solver) -> Solver {
    solver.fill(noise, |p| [noise(3, p).abs(), 0.0, 0.0, 10.0 * noise(4, p)]);
    solver
}

#[test]
fn solvers_in_a_shared_pool_have_the_same_bits_as_one_with_its_own_threads() {
    let source = || vec![Source::new(Region::sphere([1.0, 0.4, 0.6], 0.3), [2.0, 0.0, 1.0, 100.0])];
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap());
    let [mut first, mut second] =
        [0, 1].map(|_| stirred(Solver::with_pool(box_of_air(), inert(), source(), pool.clone()).unwrap()));
    let mut own = stirred(Solver::new(box_of_air(), inert(), source()).unwrap());
    assert_eq!((first.threads(), own.threads()), (3, 2));
    for _ in 0..5 {
        // One step runs on a thread of the pool itself, beside the other.
        let (a, b) = pool.join(|| first.step(0.02).map(|_| ()), || second.step(0.02).map(|_| ()));
        a.and(b).unwrap();
    }
    advance(&mut own, 0.02, 5);
    for solver in [&first, &second] {
        assert_eq!(solver.velocity(), own.velocity());
        assert_eq!(solver.scalars(), own.scalars());
    }
}

#[test]
fn a_closure_that_returns_wind_acts_as_wind() {
    let after = |force: Force| {
        let mut solver = stirred(Solver::new(box_of_air(), inert(), vec![]).unwrap());
        solver.set_forces(vec![force]).unwrap();
        advance(&mut solver, 0.02, 3);
        solver
    };
    let wind = [0.3, -0.2, 0.1];
    let [by_name, by_closure] =
        [Force::new(ForceField::Wind(wind)), Force::custom(move |_, _| wind)].map(after);
    assert_eq!(by_name.velocity(), by_closure.velocity());
    assert_ne!(by_name.velocity(), after(Force::custom(|_, _| [0.0; 3])).velocity());
    let towards =
        |field| Force { drive: Drive::Approach { rate: 4.0 }, acts_on: ActsOn::Smoke, ..Force::new(field) };
    let custom = ForceField::Custom(CustomField::new(move |_, _| wind));
    assert_eq!(after(towards(ForceField::Wind(wind))).velocity(), after(towards(custom)).velocity());
}

#[test]
fn a_closure_is_asked_at_faces_and_in_the_middle_of_the_step() {
    let config = Config {
        sides: [[BoundaryCondition::Open; 2], [BoundaryCondition::Closed; 2], [BoundaryCondition::Closed; 2]],
        ..box_of_air()
    };
    let mut solver = Solver::new(config, inert(), vec![]).unwrap();
    let asked = Arc::new(std::sync::Mutex::new(vec![]));
    let heard = asked.clone();
    solver
        .set_forces(vec![Force::custom(move |p, time| {
            heard.lock().unwrap().push((p, time));
            [1.0, 0.0, 0.0]
        })])
        .unwrap();
    solver.step(0.5).unwrap();
    let asked = asked.lock().unwrap();
    assert!(asked.iter().all(|(_, time)| (time - 0.25).abs() < 1e-6));
    let near = |p: [f32; 3]| asked.iter().any(|(q, _)| (0..3).all(|a| (p[a] - q[a]).abs() < 1e-5));
    assert!(near([0.0, 0.05, 0.05]) && near([2.0, 1.55, 1.15]), "faces across x");
    assert!(near([0.05, 0.0, 0.05]) && near([0.05, 0.05, 0.0]), "faces across y and z");
    let u = solver.velocity()[0][solver.layout().at(10, 8, 6)];
    assert!((u - 0.5).abs() < 1e-3, "half a second of 1 m/s² gives {u} m/s");
}

#[test]
fn a_closure_that_gives_nan_leaves_the_air_alone() {
    let mut solver = Solver::new(box_of_air(), inert(), vec![]).unwrap();
    solver.set_forces(vec![Force::custom(|_, _| [f32::NAN, f32::INFINITY, 0.0])]).unwrap();
    advance(&mut solver, 0.02, 2);
    assert_eq!(solver.stats().max_speed, 0.0);
}

#[test]
fn one_periodic_side_names_its_axis() {
    let mut config = box_of_air();
    config.sides[2][0] = BoundaryCondition::Periodic;
    let error = Solver::new(config, inert(), vec![]).err().unwrap();
    assert_eq!(error, SolverError::HalfPeriodic { axis: 2 });
    assert_eq!(error.to_string(), "only one z side is periodic; make both so");
}
