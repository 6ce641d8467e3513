//! Priority of the threads that compute: the window and the driver go first, so that a key is answered while all
//! processors are busy with a step.

/// Niceness added to computing threads. With the weights of Linux (335 to 1024) such a thread gets a third of
/// the window's time where both compete for a processor.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Runs `work` on a thread of lower priority and returns its result. Threads that `work` starts inherit the priority on
/// Linux; on other systems all threads keep theirs.
pub(super) fn at_low_priority<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let result = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                lower_priority();
                work()
            })
            .join()
    });
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn lower_priority() {
    // SAFETY: it takes a number and touches no memory. On Linux it acts on the calling thread alone. A refusal
    // changes nothing.
    unsafe { libc::nice(NICENESS) };
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Returns the niceness of the calling thread: the 19th field of its line, the 17th after its name.
    fn niceness() -> i32 {
        let line = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, fields) = line.rsplit_once(')').unwrap();
        fields.split_whitespace().nth(16).unwrap().parse().unwrap()
    }

    #[test]
    fn only_threads_started_within_have_low_priority() {
        let before = niceness();
        let within = at_low_priority(|| std::thread::spawn(niceness).join().unwrap());
        assert_eq!(within, (before + NICENESS).min(19));
        assert_eq!(niceness(), before);
    }
}
