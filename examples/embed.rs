//! A solver in the loop of another program: a fixed number of frames, each with a budget of wall time, on threads that
//! the program owns and shares with its other work.
//!
//!     cargo run --release --no-default-features --example embed

use std::sync::Arc;
use std::time::{Duration, Instant};

use updraft::rayon::ThreadPoolBuilder;
use updraft::{BoundaryCondition, Config, Dims, Params, Region, Solver, Source};

/// Wall time that a frame may take.
const BUDGET: Duration = Duration::from_millis(16);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(2).build()?);
    let mut config = Config::new(Dims::new([48, 64, 48])?, 0.02);
    config.sides[1][1] = BoundaryCondition::Open;
    let vent =
        Source::new(Region::disc([0.48, 0.04, 0.48], 0.12, [0.0, 1.0, 0.0], 0.04), [6.0, 0.0, 0.0, 150.0]);
    let params = Params { heat_buoyancy: 0.1, ..Params::default() };
    let mut solver = Solver::with_pool(config, params, vec![vent], pool.clone())?;

    let mut late = 0;
    for frame in 0..60 {
        let began = Instant::now();
        // The program's other work, on the same threads.
        let game: u64 = pool.install(|| (0..1000u64).map(|n| n * frame % 7).sum());
        solver.step(1.0 / 60.0)?;
        late += u32::from(began.elapsed() > BUDGET);
        if frame % 20 == 0 {
            let nose = solver.scalars()[solver.smoke_layout().at(24, 40, 24)];
            println!("frame {frame}: game {game}, smoke at the nose {:.3}, {:.1} K", nose[0], nose[3]);
        }
    }
    let stats = solver.stats();
    println!("{late} of 60 frames were late; fastest air {:.2} m/s at {:.1} s", stats.max_speed, stats.time);
    Ok(())
}
