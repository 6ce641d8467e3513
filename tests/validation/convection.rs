//! Measures flows driven by heat: cavity, convection rolls, hot cylinder and layered air.

use updraft::field::Field;

use crate::case::{Case, crest, grid, slope, table};

/// Returns Nu and the greatest u and v on the centre lines of n² cells, n even, each over its published
/// value, minus 1.
fn heated(n: usize, rayleigh: &str, seconds: u32, step: f64, changes: &[&str]) -> [f64; 3] {
    let ra: f64 = rayleigh.parse().unwrap();
    let kappa = 1.0 / (0.71 * ra).sqrt();
    let set = [
        format!("fluid.conduction={kappa}"),
        format!("fluid.viscosity={}", 0.71 * kappa),
        format!("time.step={step}"),
    ];
    let set: Vec<&str> = set.iter().map(String::as_str).chain(changes.iter().copied()).collect();
    let case = Case::new("heated-cavity", &set, grid([n, n, 1], 1.0 / n as f64)).run(seconds);
    // ∫ (u T − κ ∂T/∂x) dV over κ ΔT, the second part being 1.
    let (u, v, t) = (case.field(Field::U), case.field(Field::V), case.field(Field::Temperature));
    let across = |i: usize, j: usize| u[i + (n + 1) * j] * 0.5 * (t[i - 1 + n * j] + t[i + n * j]);
    let carried: f64 = (0..n).flat_map(|j| (1..n).map(move |i| (i, j))).map(|(i, j)| across(i, j)).sum();
    let nusselt = 1.0 + carried / (n * n) as f64 / kappa;
    // The faces in the middle of an even number of cells lie on the centre lines. The published values are
    // those of smooth profiles, not of grid points.
    let up: Vec<f64> = (0..n).map(|j| u[n / 2 + (n + 1) * j]).collect();
    let measured = [nusselt, crest(&up) / kappa, crest(&v[n * (n / 2)..][..n]) / kappa];
    let rows = table("heated-cavity");
    let row = rows.iter().find(|row| row[0] == rayleigh).expect("a published row");
    let published = [1, 2, 4].map(|column: usize| row[column].parse::<f64>().unwrap());
    println!("Ra {rayleigh}, {n}²: Nu, u, v = {measured:.4?}; published {published:?}");
    std::array::from_fn(|part| measured[part] / published[part] - 1.0)
}

#[test]
fn heated_cavity_at_ra_1e4() {
    let errors = heated(32, "1e4", 25, 0.05, &[]);
    assert!(errors.iter().all(|e| e.abs() < 0.015), "{errors:.4?}");
}

#[test]
#[ignore = "slow: 3 minutes"]
fn heated_cavity_at_64() {
    for (rayleigh, seconds, speed) in [("1e3", 30, 0.005), ("1e4", 40, 0.005), ("1e6", 200, 0.01)] {
        let [nusselt, u, v] = heated(64, rayleigh, seconds, 0.02, &[]);
        assert!(nusselt.abs() < 0.01, "Ra {rayleigh}: Nu {nusselt:.4}");
        assert!(u.abs() < speed && v.abs() < speed, "Ra {rayleigh}: {u:.4}, {v:.4}");
    }
}

/// With all of the buoyancy after viscosity Nu was 2.2 % too large with these steps, and 3.1 % with steps twice as long.
#[test]
#[ignore = "slow: 1 minute"]
fn heated_cavity_at_64_with_the_default_schemes() {
    let default = ["solver.advection=conservative", "solver.integrator=trapezoid"];
    for step in [0.02, 0.04] {
        let errors = heated(64, "1e6", 200, step, &default);
        assert!(errors.iter().all(|e| e.abs() < 0.02), "steps of {step} s: {errors:.4?}");
    }
}

/// Returns the growth rate of a small roll in κ/d².
fn roll(cells: [usize; 2], rayleigh: f64, step: f64) -> f64 {
    let kappa = 1.0 / rayleigh.sqrt();
    let set = [
        format!("fluid.conduction={kappa}"),
        format!("fluid.viscosity={kappa}"),
        format!("time.step={step}"),
        format!(
            "initial.temperature=0.5 - y + 1e-3 * cos(2 * pi * x * {} / {}) * sin(pi * y)",
            cells[1], cells[0]
        ),
    ];
    let grid = grid([cells[0], cells[1], 1], 1.0 / cells[1] as f64);
    let mut case = Case::new("rayleigh-benard", &set.each_ref().map(String::as_str), grid);
    let mut history = vec![];
    case.watch(60, |case| history.push((case.time() * kappa, 0.5 * case.energy().ln())));
    slope(&history[30..])
}

#[test]
fn convection_sets_in_between_ra_1600_and_1850() {
    // 63 × 31 cells give a wavelength of 2.032 plate distances.
    let rates = [1600.0, 1850.0].map(|ra| roll([63, 31], ra, 0.05));
    let critical = 1600.0 + 250.0 * rates[0] / (rates[0] - rates[1]);
    println!("growth {rates:.4?} κ/d², none at Ra {critical:.0}");
    assert!(rates[0] < 0.0 && rates[1] > 0.0, "{rates:?}");
    assert!((critical / 1707.762 - 1.0).abs() < 0.02, "{critical}");
}

/// The heat flux of steady rolls is in units of pure conduction (Clever & Busse 1974, J. Fluid Mech. 65: air,
/// wavenumber 3.117).
#[test]
fn rolls_transport_the_heat_of_clever_and_busse() {
    let cells = [64, 32];
    let kappa = 1.0 / (0.71 * 1e4_f64).sqrt();
    let set = [
        format!("fluid.conduction={kappa}"),
        format!("fluid.viscosity={}", 0.71 * kappa),
        "initial.temperature=0.5 - y + 0.05 * cos(pi * x) * sin(pi * y)".to_owned(),
    ];
    let grid = grid([cells[0], cells[1], 1], 1.0 / cells[1] as f64);
    let case = Case::new("rayleigh-benard", &set.each_ref().map(String::as_str), grid).run(50);
    let (v, t) = (case.field(Field::V), case.field(Field::Temperature));
    let row = cells[0];
    let carried: f64 = (row..v.len() - row).map(|at| v[at] * 0.5 * (t[at - row] + t[at])).sum();
    let nusselt = 1.0 + carried / t.len() as f64 / kappa;
    println!("Ra 1e4: Nu {nusselt:.4}, published 2.661");
    assert!((nusselt / 2.661 - 1.0).abs() < 0.01, "{nusselt}");
}

/// Returns the heat flux from a hot cylinder to the air of a cold box over 2 κ ΔT, by its probe (Shu & Zhu
/// 2002).
fn cylinder(rayleigh: f64, n: usize, step: f64, seconds: u32, changes: &[&str]) -> f64 {
    let kappa = 1.0 / (0.7 * rayleigh).sqrt();
    let set = [
        format!("fluid.conduction={kappa}"),
        format!("fluid.viscosity={}", 0.7 * kappa),
        format!("time.step={step}"),
    ];
    let set: Vec<&str> = set.iter().map(String::as_str).chain(changes.iter().copied()).collect();
    let case = Case::new("hot-cylinder", &set, grid([n, n, 1], 1.0 / n as f64)).run(seconds);
    let heat = f64::from(case.scene.probes[0].measure(&case.solver).unwrap()[0].values[0]);
    heat * n as f64 / (2.0 * kappa)
}

#[test]
fn a_hot_cylinder_gives_the_heat_of_shu_and_zhu() {
    let heat = cylinder(1e4, 32, 0.05, 30, &[]);
    println!("Ra 1e4, 32²: {heat:.3}, published 3.24");
    assert!((heat / 3.24 - 1.0).abs() < 0.02, "{heat}");
}

#[test]
#[ignore = "slow: 1 minute"]
fn a_hot_cylinder_at_64_gives_the_heat_of_shu_and_zhu() {
    for changes in [&[][..], &["solver.integrator=trapezoid"]] {
        let heat = cylinder(1e6, 64, 0.02, 80, changes);
        println!("Ra 1e6, 64², {changes:?}: {heat:.3}, published 8.90");
        assert!((heat / 8.90 - 1.0).abs() < 0.01, "{heat}");
    }
}

#[test]
fn a_wave_in_layered_air_swings_at_its_frequency() {
    let mut case = Case::new("internal-wave", &[], vec![]);
    let mut passes = vec![0.0];
    let mut last = (0.0, 0.0);
    case.watch(180, |case| {
        let now = (case.time(), case.line("middle", 0).1[0]);
        if now.1 * last.1 < 0.0 {
            passes.push(last.0 + (now.0 - last.0) * last.1 / (last.1 - now.1));
        }
        last = now;
    });
    let frequency = std::f64::consts::PI * (passes.len() - 1) as f64 / passes[passes.len() - 1];
    println!("{} half periods, {frequency:.5} /s, exact 0.70711", passes.len() - 1);
    assert!(passes.len() == 5 && (frequency * 2.0_f64.sqrt() - 1.0).abs() < 0.003, "{frequency}");
}
