//! Measures Taylor–Green vortices.

use std::f64::consts::PI;

use updraft::field;

use crate::case::{Case, grid};

/// Returns the relative error of the mean energy at t = 1, and the greatest error of u on a line.
fn vortex_2d(n: usize, scheme: &str, integrator: &str) -> [f64; 2] {
    let step = format!("time.step={}", PI / n as f64);
    let set = [step, format!("solver.advection={scheme}"), format!("solver.integrator={integrator}")];
    let grid = grid([n, n, 1], 2.0 * PI / n as f64);
    let case = Case::new("taylor-green-2d", &set.each_ref().map(String::as_str), grid).run(1);
    let decay = (-2.0 * 0.05 * case.time()).exp();
    let (y, u) = case.line("u", 1);
    let worst = y.iter().zip(&u).map(|(y, u)| (u - y.cos() * decay).abs()).fold(0.0, f64::max);
    [(case.energy() / (0.25 * decay * decay) - 1.0).abs(), worst]
}

/// Reflection is second order in time, and so are the schemes in space; a plain projection is first order.
#[test]
fn taylor_green_in_two_dimensions_decays_at_the_exact_rate() {
    for (scheme, integrator, bound, order) in [
        ("maccormack", "projection", 0.013, 1.0),
        ("cubic", "projection", 0.013, 1.0),
        ("maccormack", "reflection", 0.0005, 2.0),
        ("cubic", "reflection", 0.0005, 2.0),
    ] {
        let errors = [32, 64, 128].map(|n| vortex_2d(n, scheme, integrator));
        println!("{scheme}, {integrator}: energy and velocity at 32, 64, 128: {errors:?}");
        assert!(errors[2][0] < bound && errors[2][1] < bound, "{scheme}, {integrator}: {errors:?}");
        for part in 0..2 {
            let measured = (errors[1][part] / errors[2][part]).log2();
            let rate = order * 0.9;
            assert!(measured > rate, "{scheme}, {integrator}: order {measured:.2} from {errors:?}");
        }
    }
}

/// Returns the greatest error of u on a line after vortices have been advected for 2 s.
fn moving_vortex(n: usize) -> f64 {
    let step = format!("time.step={}", 6.4 / n as f64);
    let case = Case::new("taylor-green-moving", &[&step], grid([n, n, 1], 2.0 * PI / n as f64)).run(2);
    let t = case.time();
    let (x, u) = case.line("u", 0);
    let exact = |x: f64| 1.0 + (x - t).sin() * (1.0 - 0.5 * t).cos() * (-2.0 * 0.01 * t).exp();
    x.iter().zip(&u).map(|(x, u)| (u - exact(*x)).abs()).fold(0.0, f64::max)
}

/// The advecting velocity must be that of the middle of a step, also in an unsteady flow.
#[test]
fn vortices_in_a_wind_are_second_order() {
    let errors = [32, 64, 128].map(moving_vortex);
    println!("greatest error of u at 32, 64, 128: {errors:?}");
    assert!(errors[1] < 0.005 && (errors[0] / errors[2]).log2() > 2.0 * 1.8, "{errors:?}");
}

/// Returns the maximum of the dissipation and its time, by the enstrophy and by the loss of energy.
fn vortex_3d(n: usize, set: &[&str]) -> [(f64, f64); 2] {
    let mut case = Case::new("taylor-green-3d", set, grid([n; 3], 2.0 * PI / n as f64));
    let volume = (2.0 * PI).powi(3);
    let mut history = vec![(0.0, case.energy(), 2.0 * 0.01 * field::enstrophy(&case.solver) / volume)];
    case.watch(80, |case| {
        history.push((case.time(), case.energy(), 2.0 * 0.01 * field::enstrophy(&case.solver) / volume));
    });
    let enstrophy = (history.iter().map(|h| h.0).collect(), history.iter().map(|h| h.2).collect());
    let middles = history.windows(2).map(|p| 0.5 * (p[0].0 + p[1].0)).collect();
    let losses = history.windows(2).map(|p| (p[0].1 - p[1].1) / (p[1].0 - p[0].0)).collect();
    [crate::case::peak(&enstrophy), crate::case::peak(&(middles, losses))]
}

#[test]
fn taylor_green_in_three_dimensions_breaks_up() {
    let [enstrophy, loss] = vortex_3d(32, &["time.step=0.1"]);
    println!("32³: dissipation (time, peak) from enstrophy {enstrophy:?}, from energy {loss:?}");
    assert!((loss.1 / 0.012975 - 1.0).abs() < 0.12 && (loss.0 - 4.887).abs() < 0.6, "{loss:?}");
}

#[test]
#[ignore = "slow: 2 minutes"]
fn taylor_green_in_three_dimensions_at_64() {
    let [enstrophy, loss] = vortex_3d(64, &[]);
    println!("64³: dissipation (time, peak) from enstrophy {enstrophy:?}, from energy {loss:?}");
    assert!((loss.1 / 0.012975 - 1.0).abs() < 0.02 && (loss.0 - 4.887).abs() < 0.15, "{loss:?}");
}
