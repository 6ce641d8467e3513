//! Diffusion in long steps, with decay and of thin layers.

mod common;

use common::{advance, cell, config, inert};
use updraft::solver::{
    Advection, BoundaryCondition, BoundaryConditions, Config, Integrator, Params, Shape, Slip, Smoke, Solid,
    Solver,
};

const CONDUCTION: f32 = 0.02;
const COOLING: f32 = 2.0;
const HELD: f32 = 18.0;
const H: f32 = 0.02;
const STEP: f32 = 1.0 / 24.0;

/// Closed below and above, periodic around.
const SIDES: BoundaryConditions =
    [[BoundaryCondition::Periodic; 2], [BoundaryCondition::Closed; 2], [BoundaryCondition::Periodic; 2]];

/// Heat from a wall decays in the air: its profile is exp(−y/L) with L² = κ/k, and the wall gives κ/L for
/// each kelvin and square metre. When a step once let all of the heat decay before it entered, the profile
/// was 3 % of the wall's value too warm.
#[test]
fn a_cooled_layer_beside_a_held_wall_has_its_profile_and_its_flux() {
    let length = (CONDUCTION / COOLING).sqrt();
    let plate = Solid {
        slip: Slip::None,
        temperature: Some(HELD),
        ..Solid::new(Shape::Box { size: [2.0, 1.0, 2.0] }, [0.0, -0.367, 0.0])
    };
    for (solids, surface) in [(vec![], 0.0), (vec![plate], 0.133)] {
        for integrator in [Integrator::Projection, Integrator::Trapezoid, Integrator::Reflection] {
            let case = format!("{integrator:?}, {} solids", solids.len());
            let held = if solids.is_empty() { Some(HELD) } else { None };
            let config = Config {
                held: [[None; 2], [held, None], [None; 2]],
                integrator,
                ..config([4, 64, 3], H, SIDES, Advection::Conservative)
            };
            let params = Params { conduction: CONDUCTION, cooling: COOLING, heat_buoyancy: 0.0, ..inert() };
            let mut solver = Solver::new(config, params, vec![]).unwrap();
            solver.set_solids(solids.clone()).unwrap();
            advance(&mut solver, STEP, 120);
            let first = (surface / H) as usize + 1;
            let off = (first..40).map(|j| {
                let y = (j as f32 + 0.5) * H - surface;
                (cell(&solver, [1, j, 1])[3] - HELD * (-y / length).exp()).abs() / HELD
            });
            let worst = off.fold(0.0, f32::max);
            println!("{case}: profile off by {worst:.4}");
            assert!(worst < 0.01, "{case}: the profile is off by {worst}");

            let sums = |solver: &Solver| {
                let stats = solver.stats();
                [stats.left.unwrap()[3], stats.faded.unwrap()[3], stats.heat]
            };
            let before = sums(&solver);
            advance(&mut solver, STEP, 1);
            let [left, faded, gained] = std::array::from_fn(|n| sums(&solver)[n] - before[n]);
            let area = f64::from(12.0 * H * H);
            let flux = f64::from(CONDUCTION / length * HELD) * area * f64::from(STEP);
            println!("{case}: {:.4} of the flux enter, {:.4} fade", -left / flux, faded / flux);
            if solids.is_empty() {
                for share in [-left / flux, faded / flux] {
                    assert!((share - 1.0).abs() < 0.02, "{case}: {share} of the flux");
                }
            }
            assert!((left + faded + gained).abs() < 1e-4 * flux, "{case}: {left} + {faded} + {gained}");
        }
    }
}

/// One pass of the method once left −15 to −50 % of the height of a layer as thin as a cell.
#[test]
fn thin_layers_leave_no_negative_values_in_long_steps() {
    for number in [0.5, 1.5, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0] {
        let diffusion = number * H * H / STEP;
        let smoke = Smoke { buoyancy: 0.0, dissipation: 0.0, diffusion };
        let params = Params {
            smoke: [smoke; 3],
            conduction: diffusion,
            viscosity: diffusion,
            heat_buoyancy: 0.0,
            ..inert()
        };
        let config = Config {
            held: [[None; 2], [Some(0.0), Some(1.0)], [None; 2]],
            ..config([6, 40, 4], H, SIDES, Advection::Conservative)
        };
        let mut solver = Solver::new(config, params, vec![]).unwrap();
        // A jet as thin as a cell, and a layer of smoke.
        solver.fill(
            |c, [_, y, _]| if c == 0 && (0.39..0.41).contains(&y) { 0.01 } else { 0.0 },
            |[_, y, _]| if (0.38..0.40).contains(&y) { [1.0, 0.0, 0.0, 0.0] } else { [0.0; 4] },
        );
        let mass = solver.stats().mass[0];
        advance(&mut solver, STEP, 1);
        let column: Vec<_> = (0..40).map(|j| cell(&solver, [2, j, 2])).collect();
        let of = |c: usize| column.iter().map(move |cell| cell[c]);
        let (least, most) = (of(0).fold(f32::MAX, f32::min), of(0).fold(0.0, f32::max));
        assert!(least > -1e-3 * most, "number {number}: smoke from {least} to {most}");
        let (least, most) = (of(3).fold(f32::MAX, f32::min), of(3).fold(0.0, f32::max));
        assert!(least > -1e-3 && most < 1.001, "number {number}: heat from {least} to {most}");
        let jet: Vec<_> = (0..40).map(|j| solver.velocity()[0][solver.layout().at(2, j, 2)]).collect();
        let (least, most) =
            (jet.iter().copied().fold(f32::MAX, f32::min), jet.iter().copied().fold(0.0, f32::max));
        assert!(least > -1e-3 * most, "number {number}: velocity from {least} to {most}");
        assert!(
            (solver.stats().mass[0] / mass - 1.0).abs() < 1e-4,
            "number {number}: mass {}",
            solver.stats().mass[0] / mass
        );
    }
}
