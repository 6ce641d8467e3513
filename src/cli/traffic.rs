//! Memory floor of a stage: the bytes it must move, over the copy bandwidth of this machine.

use std::hint::black_box;
use std::time::Instant;

use crate::solver::Stage;

/// Floats copied by each thread: far more than its caches hold.
const COPIED: usize = 1 << 24;

/// Number of timed copies; the best counts.
const REPEATS: usize = 5;

/// Copy bandwidth of `threads` threads \[B/s\], reads and writes counted.
pub fn copy_bandwidth(threads: usize) -> f64 {
    let times: Vec<f64> = (0..REPEATS).map(|_| copy(threads)).collect();
    let best = times.into_iter().fold(f64::INFINITY, f64::min);
    (2 * COPIED * threads * size_of::<f32>()) as f64 / best
}

/// Duration of one copy on all threads \[s\], from the first start to the last end.
fn copy(threads: usize) -> f64 {
    let ready = std::sync::Barrier::new(threads);
    let work = || {
        // Not zeros: the system would provide those page by page during the copy.
        let (from, mut to) = (vec![1.0f32; COPIED], vec![2.0f32; COPIED]);
        ready.wait();
        let began = Instant::now();
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
        began.elapsed().as_secs_f64()
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).fold(0.0, f64::max)
    })
}

/// Bytes that a stage must move for each cell, with the default scheme in an empty box full of smoke: each
/// field it reads once and each it writes twice, because a line is fetched before it is written. None where
/// that depends on the scene.
pub fn bytes(stage: Stage) -> Option<f64> {
    let [scalar, vector, four] = [4.0, 12.0, 16.0];
    match stage {
        // Centres, displacements, the interleaved velocity, and its new value.
        Stage::AdvectVelocity => Some(
            (vector + 2.0 * four) + (four + 2.0 * four) + (vector + 2.0 * four) + (2.0 * four + 2.0 * vector),
        ),
        Stage::AdvectScalars => Some(2.0 * four + 2.0 * four),
        Stage::Forces => Some(vector + four + 2.0 * vector),
        // The divergence and its spectrum, the systems along z, the gradient.
        Stage::Project => Some((vector + 2.0 * scalar) + 2.0 * scalar + (scalar + 2.0 * vector)),
        Stage::Measure => Some(vector + four),
        Stage::Sources | Stage::Diffuse => None,
    }
}

/// Peak memory of this process \[bytes\], if the system tells.
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
        let speed = copy_bandwidth(1);
        assert!(speed > 1e8 && speed < 1e13, "{speed}");
    }

    #[test]
    fn a_process_holds_memory() {
        if cfg!(target_os = "linux") {
            assert!(peak_memory().unwrap() > 1 << 20);
        }
    }
}
