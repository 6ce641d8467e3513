//! Flows whose numbers are published or exact. Quick rungs only; the gates are those of the literature named at each.

mod common;

use std::f32::consts::PI;

use common::{advance, config, inert};
use updraft::solver::{Advection, Config, Integrator, Params, Side, Solver};

const AROUND: [Side; 2] = [Side::Periodic; 2];

/// Mean kinetic energy per unit mass of a 2D Taylor–Green vortex at t = 1, over its exact value ¼ e^(−4νt).
fn taylor_green_2d(n: usize, scheme: Advection, integrator: Integrator) -> f64 {
    let nu = 0.05;
    let h = 2.0 * PI / n as f32;
    let params = Params { viscosity: nu, ..inert() };
    let sides = [AROUND, AROUND, [Side::Closed; 2]];
    let config = Config { integrator, ..config([n, n, 1], h, sides, scheme) };
    let mut solver = Solver::new(config, params, vec![]).unwrap();
    solver.fill(
        |c, [x, y, _]| match c {
            0 => x.sin() * y.cos(),
            1 => -x.cos() * y.sin(),
            _ => 0.0,
        },
        |_| [0.0; 4],
    );
    let steps = (1.0 / (0.5 * h)).round() as usize;
    advance(&mut solver, 1.0 / steps as f32, steps);
    let volume = f64::from(2.0 * PI) * f64::from(2.0 * PI) * f64::from(h);
    solver.stats().kinetic_energy / volume / (0.25 * (-4.0 * f64::from(nu)).exp())
}

#[test]
fn taylor_green_in_two_dimensions_decays_at_the_exact_rate() {
    let (split, reflected) = (Integrator::Projection, Integrator::Reflection);
    for (scheme, integrator, bound, order) in [
        (Advection::MacCormack, split, 0.013, 1.0),
        (Advection::Cubic, split, 0.013, 1.0),
        (Advection::MacCormack, reflected, 0.001, 2.0),
        (Advection::Cubic, reflected, 0.001, 2.0),
    ] {
        let errors = [32, 64, 128].map(|n| (taylor_green_2d(n, scheme, integrator) - 1.0).abs());
        println!("{scheme:?} {integrator:?}: {errors:?}");
        let measured = (errors[1] / errors[2]).log2();
        assert!(errors[2] < bound, "{scheme:?}: {errors:?}");
        assert!(measured > order * 0.8, "{scheme:?}: order {measured:.2} from {errors:?}");
    }
}

/// Profiles of the lid-driven cavity: (is it v(x), position, value).
fn cavity_profile(re: u32) -> Vec<(bool, f32, f32)> {
    let path = format!("{}/tests/data/cavity-re{re}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0] == "v", fields[1].parse().unwrap(), fields[3].parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

/// Greatest difference from the converged profiles on the two centre lines, after a time long enough to be steady.
fn cavity_error(n: usize, re: u32, time: f32, scheme: Advection) -> f32 {
    let h = 1.0 / n as f32;
    let still = Side::NoSlip([0.0; 3]);
    let sides = [[still; 2], [still, Side::NoSlip([1.0, 0.0, 0.0])], [Side::Closed; 2]];
    let params = Params { viscosity: 1.0 / re as f32, ..inert() };
    let mut solver = Solver::new(config([n, n, 1], h, sides, scheme), params, vec![]).unwrap();
    let dt = 1.0 * h;
    advance(&mut solver, dt, (time / dt) as usize);
    let layout = solver.layout();
    let faces = |c: usize, i: isize, j: isize| solver.velocity()[c][layout.at(i, j, 0)];
    // u lies on the centre line x = ½ itself; between rows it is interpolated. v likewise.
    let sample = |is_v: bool, s: f32| {
        let at = s * n as f32 - 0.5;
        let (i, f) = (at.floor() as isize, at - at.floor());
        let mid = n as isize / 2;
        let get = |i: isize| if is_v { faces(1, i, mid) } else { faces(0, mid, i) };
        get(i) * (1.0 - f) + get(i + 1) * f
    };
    let error = |(is_v, s, want): (bool, f32, f32)| (sample(is_v, s) - want).abs();
    cavity_profile(re).into_iter().filter(|p| p.1 > 0.0 && p.1 < 1.0).map(error).fold(0.0, f32::max)
}

#[test]
fn lid_driven_cavity_at_re_100() {
    for scheme in [Advection::MacCormack, Advection::Cubic] {
        let error = cavity_error(64, 100, 12.0, scheme);
        println!("{scheme:?}: {error}");
        assert!(error < 0.012, "{scheme:?}: {error}");
    }
}
