//! Measures viscous flows: from rest beside moving walls and bodies, and Stokes flow through an array of
//! balls.

use std::f64::consts::PI;

use crate::case::{Case, grid};

/// Returns the greatest errors of u across Couette flow from rest after ½, 1 and 2 s.
fn couette(n: usize) -> [f64; 3] {
    let set = [format!("time.step={}", 0.8 / n as f64)];
    let mut case = Case::new("couette", &[&set[0]], grid([16, n, 1], 1.0 / n as f64));
    let mut errors = vec![];
    case.watch(4, |case| {
        let term = |k: f64, y: f64| {
            2.0 / (k * PI)
                * (k * PI).cos()
                * (-0.1 * (k * PI).powi(2) * case.time()).exp()
                * (k * PI * y).sin()
        };
        let exact = |y: f64| y + (1..50).map(|k| term(f64::from(k), y)).sum::<f64>();
        let (y, u) = case.line("across", 1);
        errors.push(y.iter().zip(&u).map(|(y, u)| (u - exact(*y)).abs()).fold(0.0, f64::max));
    });
    [errors[0], errors[1], errors[3]]
}

#[test]
fn a_wall_that_starts_to_move_drags_the_air_along() {
    let [coarse, fine] = [16, 32].map(couette);
    println!("16 and 32 cells: {coarse:.5?}, {fine:.5?}");
    for (coarse, fine) in coarse.into_iter().zip(fine) {
        assert!(fine < 0.001 && coarse / fine > 3.4, "{coarse} then {fine}");
    }
}

/// Returns erfc by Simpson's rule on its integral.
fn erfc(x: f64) -> f64 {
    const PARTS: u32 = 400;
    let h = (6.0 - x) / f64::from(PARTS);
    let weight = |i: u32| if i == 0 || i == PARTS { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
    let term = |i: u32| weight(i) * (-(x + h * f64::from(i)).powi(2)).exp();
    2.0 / PI.sqrt() * h / 3.0 * (0..=PARTS).map(term).sum::<f64>()
}

#[test]
fn a_plate_that_starts_to_move_drags_the_air_along() {
    const NU: f64 = 0.0066667;
    let mut case = Case::new("plate", &[], vec![]);
    let area = 8.0 * f64::from(case.scene.config.h).powi(2);
    case.watch(10, |case| {
        let t = case.time();
        let exact = |y: &f64| erfc((y - 0.355) / (4.0 * NU * t).sqrt());
        let (y, u) = case.line("above", 1);
        let error = y.iter().zip(&u).map(|(y, u)| (u - exact(y)).abs()).fold(0.0, f64::max);
        let drag = -case.solver.solid_forces()[0][0] / area / (NU / (PI * t)).sqrt();
        println!("{t:.1} s: greatest error of u {error:.4}, drag {drag:.4} of the exact one");
        assert!(t < 0.25 || (error < 0.003 && (drag - 1.0).abs() < 0.015), "{t}: {error}, {drag}");
    });
}

#[test]
fn air_between_a_cylinder_that_turns_and_a_tube_goes_round_as_taylor_says() {
    let case = Case::new("taylor-couette", &[], vec![]).run(3);
    let (x, v) = case.line("across", 0);
    let error = |(x, v): (&f64, &f64)| {
        let r = x - 1.12;
        (v - (1.0 / r - r) / 3.0).abs()
    };
    // Within a cell of a surface the interpolation includes values inside the solids.
    let error = x.iter().zip(&v).filter(|(x, _)| (1.67..2.07).contains(*x)).map(error).fold(0.0, f64::max);
    println!("greatest error {:.4} of the speed of the cylinder", error / 0.5);
    assert!(error / 0.5 < 0.01, "{error}");
}

/// Returns K, the drag of a ball of radius `a` in the array over Stokes' drag, after `frames`.
fn array(a: f64, frames: u32) -> f64 {
    let radius = format!("solid.0.shape.sphere.radius={a}");
    let case = Case::new("spheres", &[&radius], vec![]).run(frames);
    let through = &case.scene.probes[0].measure(&case.solver).unwrap()[0].values[0];
    0.1 / (6.0 * PI * a * f64::from(*through))
}

#[test]
fn balls_in_an_array_feel_the_drag_of_zick_and_homsy() {
    let drag = array(0.434219, 10);
    println!("share 0.343: {drag:.3} times Stokes, published 15.4");
    assert!((drag / 15.4 - 1.0).abs() < 0.03, "{drag}");
}
