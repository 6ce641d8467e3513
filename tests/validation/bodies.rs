//! Measures flows around moving bodies and hot bodies.

use std::f64::consts::PI;

use updraft::field::Field;

use crate::case::{Case, grid};

/// Fits the drag and inertia coefficients of Morison's formula to the force on an oscillating cylinder in its
/// second period.
fn morison(frames: u32) -> [f64; 2] {
    let mut case = Case::new("oscillating-cylinder", &[], vec![]);
    let voxel = f64::from(case.scene.config.h);
    // The normal equations: sums of the products of drag, inertia and force.
    let mut sums = [[0.0; 3]; 2];
    case.watch(frames, |case| {
        // The force is the mean over the step before.
        let (dt, t) = (case.solver.stats().dt, case.time());
        let phase = 2.0 * PI / 5.0 * (t - 0.5 * f64::from(dt));
        if t > 5.0 + 0.5 * f64::from(dt) {
            let (speed, growth) = (-phase.cos(), 2.0 * PI / 5.0 * phase.sin());
            let terms =
                [-0.5 * speed.abs() * speed, -0.25 * PI * growth, case.solver.solid_forces()[0][0] / voxel];
            (0..2).for_each(|i| (0..3).for_each(|j| sums[i][j] += terms[i] * terms[j]));
        }
    });
    let [[a, b, p], [_, c, q]] = sums;
    [p * c - q * b, a * q - b * p].map(|x| x / (a * c - b * b))
}

#[test]
#[ignore = "slow: 1 minute"]
fn a_swinging_cylinder_feels_the_force_of_duetsch() {
    let [drag, inertia] = morison(200);
    println!("cd {drag:.3}, published 2.09; cm {inertia:.3}, published 1.45");
    assert!((drag / 2.09 - 1.0).abs() < 0.085 && (inertia / 1.45 - 1.0).abs() < 0.05, "{drag}, {inertia}");
}

/// Returns the heat flux of the hot cylinder over 2 κ ΔT, on n² cells. `n` is a multiple of four.
fn heat(n: usize, rayleigh: f64, seconds: u32, integrator: &str) -> f64 {
    let kappa = 1.0 / (0.7 * rayleigh).sqrt();
    let set = [
        format!("fluid.conduction={kappa}"),
        format!("fluid.viscosity={}", 0.7 * kappa),
        format!("time.step={}", 1.28 / n as f64),
        "time.frame_rate=0.78125".to_owned(),
        format!("solver.integrator={integrator}"),
    ];
    let grid = grid([n, n, 1], 1.0 / n as f64);
    let case = Case::new("hot-cylinder", &set.each_ref().map(String::as_str), grid).run(seconds);
    let (u, v, t) = (case.field(Field::U), case.field(Field::V), case.field(Field::Temperature));
    // The flux out of the square through its four sides. A face has cells at `below` and `above`.
    let flux = |speed: f64, below: usize, above: usize| {
        speed * 0.5 * (t[below] + t[above]) / n as f64 - kappa * (t[above] - t[below])
    };
    let across = |i: usize, j: usize| flux(u[i + (n + 1) * j], i - 1 + n * j, i + n * j);
    let up = |i: usize, j: usize| flux(v[i + n * j], i + n * (j - 1), i + n * j);
    let (low, high) = (n / 4, 3 * n / 4);
    let out: f64 = (low..high).map(|m| across(high, m) - across(low, m) + up(m, high) - up(m, low)).sum();
    out / (2.0 * kappa)
}

#[test]
fn a_hot_cylinder_gives_off_the_heat_of_shu_and_zhu() {
    for (rayleigh, published) in [(1e4, 3.24), (1e5, 4.86)] {
        let heat = heat(32, rayleigh, 40, "reflection");
        println!("Ra {rayleigh:e}: {heat:.3}, published {published}");
        assert!((heat / published - 1.0).abs() < 0.025, "{rayleigh:e}: {heat}");
    }
}

/// The thermal boundary layer is 4.6 cells thick. With the temperature interpolated by Lagrange's cubic the
/// heat was 2.1 % too large.
#[test]
#[ignore = "slow: half a minute"]
fn a_very_hot_cylinder_gives_off_the_heat_of_shu_and_zhu() {
    for integrator in ["reflection", "trapezoid"] {
        let heat = heat(64, 1e6, 63, integrator);
        println!("{integrator}: {heat:.3}, published 8.90");
        assert!((heat / 8.90 - 1.0).abs() < 0.01, "{integrator}: {heat}");
    }
}
