//! Memory floor of a stage: the bytes that it must move, divided by the copy bandwidth of this machine.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::CliError;
use crate::room;
use crate::solver::{Advection, Config, SolverError, Stage};

/// Most floats copied by each thread: far more than its caches hold.
const COPIED: usize = 1 << 24;

/// Most floats copied by all threads.
const COPIED_BY_ALL: usize = 1 << 26;

/// Number of timed copies; the best counts.
const REPEATS: usize = 5;

/// Returns the floats that each of `threads` threads copies.
fn share(threads: usize) -> usize {
    COPIED.min(COPIED_BY_ALL / threads.max(1))
}

/// Measures the copy bandwidth of `threads` threads, reads and writes counted \[B/s\].
///
/// # Errors
/// If memory or threads are not available.
pub fn copy_bandwidth(threads: usize) -> Result<f64, CliError> {
    let times = (0..REPEATS).map(|_| copy(threads)).collect::<Result<Vec<f64>, CliError>>()?;
    let best = times.into_iter().fold(f64::INFINITY, f64::min);
    Ok((2 * share(threads) * threads * size_of::<f32>()) as f64 / best)
}

/// Measures the time of one copy on all threads, from the first start to the last end \[s\].
fn copy(threads: usize) -> Result<f64, CliError> {
    let count = share(threads);
    let (ready, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = |mut from: Vec<f32>, mut to: Vec<f32>| {
        // The system would provide pages of zeros only during the copy.
        from.resize(count, 1.0);
        to.resize(count, 2.0);
        ready.fetch_add(1, Ordering::SeqCst);
        while ready.load(Ordering::SeqCst) < threads && !failed.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let began = Instant::now();
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
        began.elapsed().as_secs_f64()
    };
    let array = || room::vec(count, "the measurement of memory copies");
    thread::scope(|scope| {
        let spawn = |_| {
            let (from, to) = (array()?, array()?);
            let started = thread::Builder::new().spawn_scoped(scope, || work(from, to));
            started.map_err(|error| CliError::Solver(SolverError::Threads(error.to_string())))
        };
        let running = (0..threads).map(spawn).collect::<Result<Vec<_>, CliError>>();
        failed.store(running.is_err(), Ordering::SeqCst);
        Ok(running?.into_iter().filter_map(|thread| thread.join().ok()).fold(0.0, f64::max))
    })
}

/// Returns the bytes that a stage must move for each cell of smoke, in a box without solids, full of smoke. Each field that it reads counts
/// once, and each that it writes twice, because a line is fetched before it is written. None where that depends on the scene.
pub fn bytes(stage: Stage, config: &Config) -> Option<f64> {
    let [scalar, vector, four] = [4.0, 12.0, 16.0];
    let is_finer = config.detail > 1;
    // Cells of the velocity for each of smoke.
    let share = 1.0 / config.detail.pow(3) as f64;
    match stage {
        // Centres, displacements, the interleaved velocity, and its new value.
        Stage::AdvectVelocity => {
            let centres = vector + 2.0 * four;
            Some(share * (centres + (four + 2.0 * four) + centres + (2.0 * four + 2.0 * vector)))
        }
        Stage::AdvectScalars => {
            let finer_velocity = if is_finer { 2.0 * vector } else { 0.0 };
            let scheme = match config.advection {
                // The strain of the flow, sweeps in planes, and sweeps across them; both change the scalars in place.
                Advection::Conservative => vector + (2.0 * four + 2.0 * scalar) + (2.0 * four + scalar),
                _ => 2.0 * four + 2.0 * four,
            };
            Some(finer_velocity + scheme)
        }
        Stage::Forces => {
            // Finer scalars are read for their means, before the advection of the velocity and after it.
            let means = if is_finer { 2.0 * (four + share * 2.0 * four) } else { 0.0 };
            Some(share * (vector + four + 2.0 * vector) + means)
        }
        // The divergence and its spectrum, the systems along z, the gradient.
        Stage::Project => Some(share * ((vector + 2.0 * scalar) + 2.0 * scalar + (scalar + 2.0 * vector))),
        // Scalars on cells half as large are counted with their means.
        Stage::Measure => Some(share * vector + if config.detail == 2 { 0.0 } else { four }),
        Stage::Sources | Stage::Diffuse => None,
    }
}

/// Returns the peak memory of this process \[bytes\], if the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_moves_bytes() {
        let speed = copy_bandwidth(1).unwrap();
        assert!(speed > 1e8 && speed < 1e13, "{speed}");
    }

    /// Once 1,024 threads took 128 GiB.
    #[test]
    fn all_threads_together_copy_a_bounded_amount() {
        for threads in [1, 2, 4, 100, 1024] {
            assert!(share(threads) * threads <= COPIED_BY_ALL, "{threads}");
        }
        assert_eq!([share(1), share(4), share(1024)], [COPIED, COPIED, 1 << 16]);
    }

    /// Finer cells make the velocity cheap, and conservative sweeps read the velocity with the scalars.
    #[test]
    fn traffic_follows_the_scheme_and_the_detail() {
        let at = |detail: usize, advection: Advection| Config {
            detail,
            advection,
            ..Config::new(crate::grid::Dims::new([8; 3]).unwrap(), 1.0)
        };
        let of =
            |stage: Stage, detail: usize, advection: Advection| bytes(stage, &at(detail, advection)).unwrap();
        let [scalars, velocity] = [Stage::AdvectScalars, Stage::AdvectVelocity];
        assert_eq!(of(scalars, 1, Advection::Cubic), 64.0);
        assert_eq!(of(scalars, 1, Advection::Conservative), 88.0);
        assert_eq!(of(scalars, 2, Advection::Conservative), 112.0);
        assert_eq!(of(velocity, 1, Advection::Cubic), 8.0 * of(velocity, 2, Advection::Cubic));
    }

    #[test]
    fn a_process_holds_memory() {
        if cfg!(target_os = "linux") {
            assert!(peak_memory().unwrap() > 1 << 20);
        }
    }
}
