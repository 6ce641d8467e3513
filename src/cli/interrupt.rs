//! Ctrl-C and other signals. The first asks the run to end after its present work, the second ends it at once.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
#[cfg(feature = "viewer")]
use std::sync::{Mutex, PoisonError};

use crate::comm::{Comm, of_all};

static STOP: AtomicBool = AtomicBool::new(false);

/// Number of the received signal; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Closure that is called at the first signal, from another thread.
#[cfg(feature = "viewer")]
static ON_FIRST: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// Offset of the exit code of a process ended by a signal from the signal's number, as shells define it.
const KILLED: i32 = 128;

/// Numbers of signals, the same on all systems that have them (POSIX.1-2017, kill).
const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;

/// Number of SIGXFSZ on Linux and macOS; POSIX does not define it.
#[cfg(unix)]
const FILE_TOO_LARGE: i32 = 25;

/// Returns the received signal in words, such as "by Ctrl-C".
pub fn by() -> &'static str {
    name(SIGNAL.load(Ordering::Relaxed))
}

/// Returns the signal that any rank has received, in words, and the rank unless all have it. All ranks call
/// it together and get the same answer.
pub fn by_any(comm: Option<&dyn Comm>) -> Option<String> {
    let mine = SIGNAL.load(Ordering::Relaxed);
    describe(&comm.map_or_else(|| vec![mine], |comm| of_all(comm, mine)))
}

/// Describes the first signal among those of all ranks; 0 is none.
fn describe(signals: &[i32]) -> Option<String> {
    let rank = signals.iter().position(|&signal| signal != 0)?;
    let name = name(signals[rank]);
    let is_everywhere = signals.iter().all(|&signal| signal == signals[rank]);
    Some(if is_everywhere { name.to_owned() } else { format!("{name} to rank {rank}") })
}

fn name(signal: i32) -> &'static str {
    match signal {
        HANGUP => "by SIGHUP",
        TERMINATE => "by SIGTERM",
        _ => "by Ctrl-C",
    }
}

fn on_signal(signal: i32) {
    SIGNAL.store(signal, Ordering::Relaxed);
    if STOP.swap(true, Ordering::Relaxed) {
        std::process::exit(KILLED + signal);
    }
    #[cfg(feature = "viewer")]
    if let Some(then) = &*ON_FIRST.lock().unwrap_or_else(PoisonError::into_inner) {
        then();
    }
}

/// Catches signals as [`catch`] does, and sets the closure that the first one calls; `None` removes it.
#[cfg(feature = "viewer")]
pub fn call_at_first(then: Option<Box<dyn Fn() + Send>>) {
    *ON_FIRST.lock().unwrap_or_else(PoisonError::into_inner) = then;
    catch();
}

/// Returns the flag that the first signal sets. It catches no signals: see [`catch`].
pub fn flag() -> &'static AtomicBool {
    &STOP
}

/// Catches Ctrl-C, SIGTERM and SIGHUP from now on. Steps read the returned flag to end early.
pub fn catch() -> &'static AtomicBool {
    if let Err(error) = listen() {
        // Already caught, or a system without signals: Ctrl-C then ends the process as usual.
        tracing::debug!("Ctrl-C is not caught: {error}");
    }
    &STOP
}

/// Lets a write beyond the limit of file sizes (`ulimit -f`) fail, where the system would end the process.
#[cfg(unix)]
pub fn survive_file_limits() {
    let unread = std::sync::Arc::new(AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(FILE_TOO_LARGE, unread) {
        tracing::debug!("SIGXFSZ is not caught: {error}");
    }
}

/// Does nothing, since other systems have no such signal.
#[cfg(not(unix))]
pub fn survive_file_limits() {}

#[cfg(unix)]
fn listen() -> std::io::Result<()> {
    static LISTENS: AtomicBool = AtomicBool::new(false);
    if LISTENS.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let mut signals = signal_hook::iterator::Signals::new([HANGUP, INTERRUPT, TERMINATE])?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || signals.forever().for_each(on_signal))?;
    Ok(())
}

#[cfg(not(unix))]
fn listen() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| on_signal(INTERRUPT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_to_one_rank_is_told_with_the_rank() {
        assert_eq!(describe(&[0]), None);
        assert_eq!(describe(&[INTERRUPT]).unwrap(), "by Ctrl-C");
        assert_eq!(describe(&[0, 0, TERMINATE, 0]).unwrap(), "by SIGTERM to rank 2");
        assert_eq!(describe(&[HANGUP, 0]).unwrap(), "by SIGHUP to rank 0");
        assert_eq!(describe(&[TERMINATE; 3]).unwrap(), "by SIGTERM");
        assert_eq!(describe(&[0, 0]), None);
    }
}
