//! How much memory a scene will take, told before any of it is allocated.

use half::f16;

use crate::solver::{Config, Solver};

/// Snapshots that are on their way to the picture at once.
const SNAPSHOTS: u64 = 3;

/// Bytes that a run of `config` takes, with or without solids: the solver, and snapshots of four half floats a cell.
pub fn estimate(config: &Config, solids: bool) -> u64 {
    Solver::memory(config, solids) + SNAPSHOTS * 4 * size_of::<f16>() as u64 * config.dims.cells() as u64
}

/// The limit where a scene sets none: three quarters of the machine's memory.
pub fn default_limit() -> u64 {
    machine().map_or(8 << 30, |bytes| bytes / 4 * 3)
}

/// Memory of this machine in bytes, where the system tells.
pub fn machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// A size for people: `123 MiB`, `1.5 GiB`.
pub fn human(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    match mib {
        x if x < 10.0 => format!("{x:.1} MiB"),
        x if x < 1024.0 => format!("{x:.0} MiB"),
        x => format!("{:.1} GiB", x / 1024.0),
    }
}
