//! A source and a force from code: smoke is written into the cells along a spiral that winds up in time, and
//! a closure returns the acceleration of the air at each face.
//!
//!     cargo run --release --no-default-features --example custom

use updraft::{Config, Dims, Force, Params, Solver};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (cells, h) = ([48, 48, 48], 1.0 / 48.0);
    let mut solver = Solver::new(Config::new(Dims::new(cells)?, h), Params::default(), vec![])?;

    // Air turns around the middle of the box, alternating its direction \[m/s²\].
    solver.set_forces(vec![Force::custom(|[x, _, z], time| {
        let strength = 4.0 * (std::f64::consts::TAU * 0.5 * time).cos() as f32;
        [strength * (z - 0.5), 0.0, strength * (0.5 - x)]
    })])?;

    // `layout` is that of the velocity. With `detail` above 1 the smoke has finer cells, in `smoke_layout`.
    let (layout, h) = (solver.smoke_layout(), solver.config().smoke_h());
    for step in 0..48 {
        // Afterwards the solver restores its invariants: limits, solids, ghosts.
        solver.edit_scalars(|scalars| {
            let turn = 0.3 * step as f32;
            let at = [0.5 + 0.3 * turn.cos(), 0.1 + 0.015 * step as f32, 0.5 + 0.3 * turn.sin()];
            let [i, j, k] = at.map(|x| (x / h) as isize);
            for (n, cell) in (-2..=2).flat_map(|x| (-2..=2).map(move |z| (x, z))).enumerate() {
                scalars[layout.at(i + cell.0, j, k + cell.1)][n % 3] = 1.0;
            }
        })?;
        let stats = solver.step(1.0 / 24.0)?;
        if step % 12 == 11 {
            println!("{:.2} s: {:.2} m/s, {:.1e} m³ of red", stats.time, stats.max_speed, stats.mass[0]);
        }
    }
    Ok(())
}
