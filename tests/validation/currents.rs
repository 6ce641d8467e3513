//! Measures the gravity current of a heavy gas under a light one.

use updraft::field::Field;

use crate::case::{Case, grid, slope};

/// Returns the mean speed \[m/s\] of the front between 3 and 6 s, in a box `n` cells high.
fn front(n: usize) -> f64 {
    let mut case = Case::new("lock-exchange", &[], grid([8 * n, n, 1], 1.0 / n as f64));
    let mut places = vec![];
    case.watch(24, |case| {
        let red = case.field(Field::Red);
        let is_heavy = |i: usize| (0..n / 8).any(|j| red[i + 8 * n * j] > 0.5);
        let last = (0..8 * n).rposition(is_heavy).expect("heavy gas");
        places.push((case.time(), (last as f64 + 0.5) / n as f64));
    });
    slope(&places[11..])
}

#[test]
fn a_heavy_gas_runs_out_at_benjamins_speed() {
    let speed = front(32);
    println!("front {speed:.4} m/s, published 0.5");
    assert!((speed / 0.5 - 1.0).abs() < 0.05, "{speed}");
}
