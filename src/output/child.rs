//! Guards a child process: drains and bounds its stderr, and kills it when it makes no progress.
//!
//! Nothing here waits for the process without a limit. One thread reads its stderr and keeps the last
//! `KEPT` bytes; another feeds its stdin. Feeding and waiting last until the process has made no progress
//! for a [`Patience`]; then it is killed.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded};

/// Bytes of stderr that are kept.
const KEPT: usize = 4096;

/// Interval at which an ending process is polled.
const LOOK: Duration = Duration::from_millis(20);

/// Most pictures queued for the process.
const WAITING: usize = 2;

/// Longest time without progress.
#[derive(Clone, Copy, Debug)]
pub struct Patience(pub Duration);

impl Patience {
    /// Returns two minutes, or the number of seconds in `UPDRAFT_PATIENCE`.
    pub fn usual() -> Self {
        Self(Duration::from_secs(Self::from_environment().ok().flatten().unwrap_or(120)))
    }

    /// Fails if `UPDRAFT_PATIENCE` is not a number of seconds.
    pub fn check() -> Result<(), String> {
        Self::from_environment().map(drop)
    }

    /// Returns the number of seconds in `UPDRAFT_PATIENCE`, or none if it is unset or empty.
    fn from_environment() -> Result<Option<u64>, String> {
        let Some(text) = std::env::var_os("UPDRAFT_PATIENCE").filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let seconds = text.to_str().and_then(|text| text.parse().ok());
        seconds.map(Some).ok_or_else(|| {
            format!(
                "UPDRAFT_PATIENCE={} is not a number of seconds; write one such as 120, or unset it",
                text.to_string_lossy()
            )
        })
    }
}

/// Runs `command` and returns the first `KEPT` bytes of its stdout. `None` if it is not found or fails.
///
/// # Errors
/// If it does not end in time.
pub fn answer(mut command: Command, patience: Patience) -> io::Result<Option<String>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut process) = command.spawn() else { return Ok(None) };
    let (sender, words) = bounded(1);
    if let Some(mut from) = process.stdout.take() {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // The remaining output is read too, since a process that cannot write would not end.
            let _ = from.by_ref().take(KEPT as u64).read_to_end(&mut bytes);
            let _ = sender.send(bytes);
            io::copy(&mut from, &mut io::sink())
        });
    }
    match ended(&mut process, patience, || 0) {
        Some(Ok(status)) if status.success() => {
            // A grandchild may hold the pipe open: wait no longer.
            let bytes = words.recv_timeout(Duration::from_millis(500)).unwrap_or_default();
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Some(_) => Ok(None),
        None => {
            end(&mut process);
            Err(still("it did not answer", patience))
        }
    }
}

/// Runs `command`, ignores its output, and returns whether it succeeds in time.
///
/// # Errors
/// If it cannot be started or does not end.
pub fn succeeds(mut command: Command, patience: Patience) -> io::Result<bool> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn()?;
    match ended(&mut process, patience, || 0) {
        Some(status) => Ok(status?.success()),
        None => {
            end(&mut process);
            Err(still("it did not answer", patience))
        }
    }
}

fn still(what: &str, Patience(time): Patience) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{what} for {} s and was ended", time.as_secs_f32()))
}

/// Waits for the end of `process` while `progress` keeps changing.
fn ended(
    process: &mut Child,
    Patience(time): Patience,
    progress: impl Fn() -> u64,
) -> Option<io::Result<ExitStatus>> {
    let (mut last, mut since) = (progress(), Instant::now());
    loop {
        match process.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return Some(Ok(status)),
            Err(error) => return Some(Err(error)),
        }
        let now = progress();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if since.elapsed() > time {
            return None;
        }
        thread::sleep(LOOK);
    }
}

fn end(process: &mut Child) {
    // The process may have ended already.
    let _ = process.kill();
    let _ = process.wait();
}

/// A process that is fed through its stdin.
pub struct Guarded {
    process: Child,
    food: Option<Sender<Vec<u8>>>,
    words: Arc<Mutex<VecDeque<u8>>>,
    /// Closes when stderr ends.
    silent: Receiver<()>,
    patience: Patience,
}

impl Guarded {
    /// Starts `command`.
    pub fn start(mut command: Command, patience: Patience) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let words = Arc::new(Mutex::new(VecDeque::new()));
        let (silent_sender, silent) = bounded::<()>(0);
        if let Some(mut from) = process.stderr.take() {
            let words = words.clone();
            thread::spawn(move || {
                drain(&mut from, &words);
                drop(silent_sender);
            });
        }
        let (food, meals) = bounded::<Vec<u8>>(WAITING);
        if let Some(mut pipe) = process.stdin.take() {
            // Ends when the process reads no more, or when there is no more to send.
            thread::spawn(move || meals.into_iter().try_for_each(|meal| pipe.write_all(&meal)));
        }
        Ok(Self { process, food: Some(food), words, silent, patience })
    }

    /// Sends `bytes`.
    ///
    /// # Errors
    /// If the process has ended or makes no progress; it is killed then.
    pub fn feed(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        let Some(food) = &self.food else { return Err(io::Error::other("it has been closed")) };
        match food.send_timeout(bytes, self.patience.0) {
            Ok(()) => Ok(()),
            Err(SendTimeoutError::Timeout(_)) => {
                self.food = None;
                end(&mut self.process);
                Err(still("it took no pictures", self.patience))
            }
            Err(SendTimeoutError::Disconnected(_)) => {
                self.food = None;
                let status = ended(&mut self.process, self.patience, || 0).and_then(Result::ok);
                end(&mut self.process);
                Err(self.failed(status))
            }
        }
    }

    /// Closes stdin and waits for the end. A change of `progress` shows that the process works.
    ///
    /// # Errors
    /// If it fails or makes no progress.
    pub fn finish(mut self, progress: impl Fn() -> u64) -> io::Result<()> {
        self.food = None;
        match ended(&mut self.process, self.patience, progress) {
            Some(Ok(status)) if status.success() => Ok(()),
            Some(status) => Err(self.failed(status.ok())),
            None => {
                end(&mut self.process);
                Err(still("it stood still", self.patience))
            }
        }
    }

    /// Returns an error with the last line of stderr, or with the exit status.
    fn failed(&self, status: Option<ExitStatus>) -> io::Error {
        // A grandchild may hold the pipe open: wait no longer.
        let _ = self.silent.recv_timeout(Duration::from_millis(500));
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = words.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        io::Error::other(match (last, status) {
            (Some(last), _) => crate::foreign::shortened(last, 300),
            (None, Some(status)) => format!("it ended early ({status})"),
            (None, None) => "it ended early".to_owned(),
        })
    }
}

impl Drop for Guarded {
    /// Kills the process when the run stops.
    fn drop(&mut self) {
        self.food = None;
        end(&mut self.process);
    }
}

/// Reads all of `from` and keeps the end.
fn drain(from: &mut impl Read, words: &Mutex<VecDeque<u8>>) {
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
                words.extend(&buffer[..count]);
                let excess = words.len().saturating_sub(KEPT);
                words.drain(..excess);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const SHORT: Patience = Patience(Duration::from_millis(300));
    const LONG: Patience = Patience(Duration::from_secs(20));

    fn fed(script: &str, patience: Patience) -> io::Result<()> {
        let mut child = Guarded::start(shell(script), patience)?;
        for _ in 0..20 {
            child.feed(vec![7; 1 << 16])?;
        }
        child.finish(|| 0)
    }

    #[test]
    fn a_program_that_floods_stderr_is_drained() {
        fed("head -c 3000000 /dev/zero >&2; cat >/dev/null", LONG).unwrap();
        let error = fed("head -c 3000000 /dev/zero >&2; echo last words >&2; exit 3", LONG).unwrap_err();
        assert!(error.to_string().contains("last words"), "{error}");
        assert!(error.to_string().len() < 1000);
    }

    #[test]
    fn a_program_that_stops_reading_is_ended() {
        let began = Instant::now();
        let error = fed("sleep 60", SHORT).unwrap_err();
        assert!(error.to_string().contains("took no pictures for 0.3 s"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_program_that_never_ends_is_ended() {
        let error = fed("cat >/dev/null; sleep 60", Patience(Duration::from_secs(3))).unwrap_err();
        assert!(error.to_string().contains("stood still"), "{error}");
        assert!(succeeds(shell("sleep 60"), SHORT).is_err());
    }

    #[test]
    fn a_program_that_dies_says_why() {
        let error = fed("exit 3", LONG).unwrap_err();
        assert!(error.to_string().contains("ended early"), "{error}");
        assert!(succeeds(shell("exit 0"), LONG).unwrap() && !succeeds(shell("exit 1"), LONG).unwrap());
        assert!(Guarded::start(Command::new("/nonexistent"), LONG).is_err());
    }
}
