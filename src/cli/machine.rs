//! Description of this machine and this build, for comparing results.

use serde_json::{Value, json};

use crate::scene::memory;

/// Returns the number of processors available to threads.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Describes the machine.
pub fn machine() -> Value {
    json!({
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "cpu": cpu(),
        "processors": processors(),
        "memory_bytes": memory::machine(),
    })
}

/// Describes the build.
pub fn build() -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "debug_assertions": cfg!(debug_assertions),
        "viewer": cfg!(feature = "viewer"),
    })
}

/// Returns the name of the processor, if the system tells.
pub fn cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
