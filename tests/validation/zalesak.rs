//! Turns Zalesak's disc by every advection scheme.

use updraft::field::Field;

use crate::case::{Case, grid, table};

/// The name of each scheme in a scene, and its row in tests/data/zalesak.csv.
const ROWS: [(&str, &str); 3] =
    [("semi-lagrangian", "SL linear"), ("maccormack", "MacCormack clamp"), ("cubic", "SL Catmull–Rom clamp")];

/// Returns the sum of |change| over the sum of the initial values, after one turn.
fn disc(n: usize, scheme: &str) -> f64 {
    let set = [format!("time.step={}", 1.0 / n as f64), format!("solver.advection={scheme}")];
    let case = Case::new("zalesak", &[&set[0], &set[1]], grid([n, n, 1], 1.0 / n as f64));
    let before = case.field(Field::Red);
    let after = case.run(1).field(Field::Red);
    let change: f64 = before.iter().zip(&after).map(|(a, b)| (a - b).abs()).sum();
    change / before.iter().sum::<f64>()
}

fn check(n: usize, column: usize) {
    let rows = table("zalesak");
    for (scheme, name) in ROWS {
        let row = rows.iter().find(|row| row[0] == name).expect("a row of the table");
        let published: f64 = row[column].parse().unwrap();
        let ours = disc(n, scheme);
        println!("{scheme}, {n}²: {ours:.4}, published {published}");
        assert!((ours / published - 1.0).abs() < 0.05, "{scheme}: {ours}, published {published}");
    }
}

#[test]
fn zalesaks_disc_at_50() {
    check(50, 1);
}

#[test]
fn zalesaks_disc_at_100() {
    check(100, 2);
}

#[test]
#[ignore = "slow: 1 minute"]
fn zalesaks_disc_at_200() {
    check(200, 3);
}

#[test]
fn the_conservative_scheme_keeps_more_of_the_disc_than_any_other() {
    let off = disc(100, "conservative");
    println!("conservative, 100²: {off:.4}");
    assert!(off < 0.25, "{off:.4}");
}

#[test]
fn lagranges_cubic_keeps_more_of_the_disc_than_catmull_and_roms() {
    // 0.590 and 0.726.
    let [lagrange, cubic] = ["lagrange", "cubic"].map(|scheme| disc(50, scheme));
    assert!(lagrange < 0.85 * cubic, "{lagrange:.4}, {cubic:.4}");
}
