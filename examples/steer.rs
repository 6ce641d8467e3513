//! A solver on its own thread, steered from this one. Commands go in, the newest snapshot comes out, and
//! neither side waits for a step.
//!
//!     cargo run --release --no-default-features --example steer

use std::sync::mpsc;
use std::time::Duration;

use updraft::solver::Dab;
use updraft::{Command, Config, Dims, Params, Solver, Worker};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let solver = Solver::new(Config::new(Dims::new([32, 48, 32])?, 0.02), Params::default(), vec![])?;
    // The worker calls this closure for each new snapshot.
    let (wake, news) = mpsc::channel();
    let mut worker = Worker::spawn(solver, 1.0 / 30.0, move || {
        let _ = wake.send(());
    });
    worker.send(Command::Run);
    let mut seen = 0;
    while seen < 30 {
        news.recv_timeout(Duration::from_secs(10))?;
        let Some(snapshot) = worker.latest() else { continue };
        let (time, stats) = (snapshot.time, snapshot.stats.clone());
        seen += 1;
        match seen {
            5 => worker.send(Command::Dab(Dab {
                center: [0.32, 0.2, 0.32],
                radius: 0.12,
                add: [2.0, 0.0, 0.0, 100.0],
                push: [0.0, 1.0, 0.0],
                erase: 0.0,
            })),
            15 => worker.send(Command::SetParams(Params {
                vorticity: 0.8,
                heat_buoyancy: 0.1,
                ..Params::default()
            })),
            _ => {}
        }
        if seen % 5 == 0 {
            println!("{time:.2} s: {:.2} m/s, {:.1e} m³ of red", stats.max_speed, stats.mass[0]);
        }
    }
    worker.send(Command::Pause);
    Ok(())
}
