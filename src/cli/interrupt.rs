//! Ctrl-C: the first asks the run to end after what it is doing, the second ends it at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Exit code of a process that SIGINT ended, by the convention of shells.
const KILLED: i32 = 130;

/// Catches Ctrl-C and SIGTERM from now on; the flag is what a step looks at to end early.
pub fn catch() -> &'static AtomicBool {
    let handler = || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(KILLED);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        // Already caught, or a system without signals: then Ctrl-C ends the process as it always does.
        tracing::debug!("Ctrl-C is not caught: {error}");
    }
    &STOP
}
