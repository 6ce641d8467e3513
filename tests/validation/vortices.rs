//! Measures single vortices: Lamb–Oseen's, Hill's, a ring, and a dipole at a wall.

use std::f64::consts::PI;

use updraft::field;

use crate::case::{Case, grid, peak, slope};

/// Returns the greatest error of the velocity around a Lamb–Oseen vortex within a quarter metre, over its
/// greatest velocity.
fn spreading(n: usize, step: f64) -> f64 {
    let step = format!("time.step={step}");
    let case = Case::new("lamb-oseen", &[&step], grid([n, n, 1], 1.0 / n as f64)).run(15);
    let radius2 = 0.05_f64.powi(2) + 4.0 * 0.001 * case.time();
    let exact = |r: f64| if r > 0.0 { (1.0 - (-r * r / radius2).exp()) / (2.0 * PI * r) } else { 0.0 };
    let (x, v) = case.line("across", 0);
    let near = || x.iter().zip(&v).map(|(x, v)| (x - 0.5, *v)).filter(|(r, _)| *r < 0.25);
    let greatest = near().map(|(r, _)| exact(r)).fold(0.0, f64::max);
    near().map(|(r, v)| (v - exact(r)).abs()).fold(0.0, f64::max) / greatest
}

#[test]
fn a_vortex_spreads_as_lamb_and_oseen_say() {
    let error = spreading(64, 0.0025);
    println!("64²: {error:.4}");
    assert!(error < 0.07, "{error}");
}

/// Returns the speed \[m/s\] at which the velocity profile on the axis of a scene moves.
fn speed(mut case: Case, frames: [u32; 2]) -> f64 {
    let mut places = vec![(0.0, peak(&case.line("axis", 0)).0)];
    case.watch(frames[1], |case| places.push((case.time(), peak(&case.line("axis", 0)).0)));
    slope(&places[frames[0] as usize..])
}

#[test]
fn hills_vortex_moves_as_it_should() {
    let case = Case::new("hill", &["time.step=0.05"], grid([48, 32, 32], 0.2));
    let speed = speed(case, [5, 30]);
    println!("48 x 32 x 32: {speed:.4} m/s, published 1");
    assert!((speed - 1.0).abs() < 0.15, "{speed}");
}

#[test]
#[ignore = "slow: 2 minutes"]
fn hills_vortex_at_96() {
    let speed = speed(Case::new("hill", &[], vec![]), [5, 30]);
    println!("96 x 64 x 64: {speed:.4} m/s, published 1");
    assert!((speed - 1.0).abs() < 0.07, "{speed}");
}

#[test]
#[ignore = "slow: 2 minutes"]
fn a_vortex_ring_moves_at_kelvins_speed() {
    // The walls, three radii away, reduce Kelvin's speed by 4.5 % (their images are dipoles, see
    // validation/plot.py).
    let published = 0.955 * ((8.0_f64 / 0.25).ln() - 0.25) / (4.0 * PI);
    let speed = speed(Case::new("ring", &[], vec![]), [2, 12]);
    println!("{speed:.4} m/s, published {published:.4}");
    assert!((speed / published - 1.0).abs() < 0.08, "{speed}");
}

/// Returns the energy and enstrophy of the dipole after some quarters of a second over the published values,
/// minus 1.
fn against_a_wall(n: usize, quarters: usize) -> Vec<[f64; 2]> {
    const PUBLISHED: [[f64; 2]; 3] = [[1.502, 472.7], [1.013, 380.6], [0.767, 255.2]];
    let h = 2.0 / n as f64;
    let step = format!("time.step={}", 0.16 / n as f64);
    let mut case = Case::new("dipole", &[&step], grid([n, n, 1], h));
    let mut quarter = |published: &[f64; 2]| {
        case.watch(5, |_| {});
        let measured = [case.solver.stats().kinetic_energy / h, field::enstrophy(&case.solver) / h];
        println!("{n}²: energy and enstrophy {measured:.4?}, published {published:?}");
        [0, 1].map(|part| measured[part] / published[part] - 1.0)
    };
    PUBLISHED[..quarters].iter().map(&mut quarter).collect()
}

#[test]
fn a_dipole_meets_a_wall() {
    let errors = against_a_wall(192, 1)[0];
    assert!(errors[0].abs() < 0.035 && errors[1].abs() < 0.08, "{errors:.4?}");
}

#[test]
#[ignore = "slow: 1 minute"]
fn a_dipole_bounces_off_a_wall_as_clercx_and_bruneau_say() {
    for errors in against_a_wall(256, 3) {
        assert!(errors[0].abs() < 0.035 && errors[1].abs() < 0.07, "{errors:.4?}");
    }
}
