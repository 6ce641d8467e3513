//! Compares the lid-driven cavity with the converged profiles of tests/data.

use crate::case::{Case, at, grid, table};

/// Returns the greatest difference on the two centre lines in the steady flow, after `seconds`.
fn error(n: usize, re: u32, seconds: u32, scheme: &str) -> f64 {
    let h = 1.0 / n as f64;
    let set = [format!("time.step={h}"), format!("fluid.viscosity={}", 1.0 / f64::from(re))];
    let scheme = format!("solver.advection={scheme}");
    let case = Case::new("cavity", &[&set[0], &set[1], &scheme], grid([n, n, 1], h)).run(seconds);
    let (vertical, horizontal) = (case.line("vertical", 1), case.line("horizontal", 0));
    let rows = table(&format!("cavity-re{re}"));
    let difference = |row: &Vec<String>| {
        let [position, want] = [1, 3].map(|column| row[column].parse::<f64>().unwrap());
        let line = if row[0] == "u" { &vertical } else { &horizontal };
        // The corners, at which lid and wall meet, are skipped.
        if position > 0.0 && position < 1.0 { (at(line, position) - want).abs() } else { 0.0 }
    };
    rows.iter().map(difference).fold(0.0, f64::max)
}

#[test]
fn lid_driven_cavity_at_re_100() {
    for scheme in ["maccormack", "cubic"] {
        let error = error(64, 100, 12, scheme);
        println!("{scheme}: {error}");
        assert!(error < 0.004, "{scheme}: {error}");
    }
}

#[test]
#[ignore = "slow: 1 minute"]
fn lid_driven_cavity_at_re_100_and_128() {
    let error = error(128, 100, 16, "cubic");
    println!("{error}");
    assert!(error < 0.003, "{error}");
}

#[test]
#[ignore = "slow: 3 minutes"]
fn lid_driven_cavity_at_re_1000_and_128() {
    let error = error(128, 1000, 50, "cubic");
    println!("{error}");
    assert!(error < 0.015, "{error}");
}
