//! Measures the Kelvin–Helmholtz instability: the growth of a wave on the layer U = tanh y.

use crate::case::{Case, first_mode, grid, growth};

fn rate(cells: [usize; 2], step: f64) -> f64 {
    let h = 14.13248 / cells[0] as f64;
    let step = format!("time.step={step}");
    let middle = format!("initial.let.middle={}", 0.5 * cells[1] as f64 * h);
    let mut case = Case::new("kelvin-helmholtz", &[&step, &middle], grid([cells[0], cells[1], 1], h));
    let mut history = vec![(0.0, first_mode(&case.line("middle", 0).1))];
    case.watch(50, |case| history.push((case.time(), first_mode(&case.line("middle", 0).1))));
    growth(&history, 3.0, 30.0).expect("a wave that grows thirtyfold")
}

#[test]
fn a_shear_layer_rolls_up() {
    let rate = rate([64, 96], 0.1);
    println!("growth {rate:.4}, published 0.1897");
    assert!((rate / 0.1897 - 1.0).abs() < 0.05, "{rate}");
}

#[test]
#[ignore = "slow: 1 minute"]
fn a_shear_layer_rolls_up_at_michalkes_rate() {
    let rate = rate([128, 192], 0.05);
    println!("growth {rate:.4}, published 0.1897");
    assert!((rate / 0.1897 - 1.0).abs() < 0.05, "{rate}");
}
