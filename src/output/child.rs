//! Another program, guarded: its words are drained and bounded, and it is ended when it stands still.
//!
//! Nothing here waits on the other program without a limit. A thread reads what it says on stderr, of which the last
//! [`KEPT`] bytes count; another feeds it. Whoever hands over data or waits for the end does so until the program has made no
//! progress for a [`Patience`], and then kills it.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded};

/// Bytes of a program's last words that are kept.
const KEPT: usize = 4096;

/// Time between two looks at a program that is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Pictures that wait for the program at most.
const WAITING: usize = 2;

/// How long a program may stand still.
#[derive(Clone, Copy, Debug)]
pub struct Patience(pub Duration);

impl Patience {
    /// Two minutes, or as many seconds as `UPDRAFT_PATIENCE` says.
    pub fn usual() -> Self {
        let said = std::env::var("UPDRAFT_PATIENCE").ok().and_then(|text| text.parse().ok());
        Self(Duration::from_secs(said.unwrap_or(120)))
    }
}

/// Runs `command`, whose output does not matter, and tells whether it succeeds in time.
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

/// Waits for the end of `process`, as long as `progress` changes now and then.
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
    // It may have ended already.
    let _ = process.kill();
    let _ = process.wait();
}

/// A program that is fed.
pub struct Guarded {
    process: Child,
    food: Option<Sender<Vec<u8>>>,
    words: Arc<Mutex<VecDeque<u8>>>,
    /// Closed when there are no more words.
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
            // Ends when the program takes no more, or when there is no more to take.
            thread::spawn(move || meals.into_iter().try_for_each(|meal| pipe.write_all(&meal)));
        }
        Ok(Self { process, food: Some(food), words, silent, patience })
    }

    /// Hands `bytes` over.
    ///
    /// # Errors
    /// If the program has ended or stands still; it is ended then.
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

    /// Closes its input and waits for its end; a change of `progress` shows that it works.
    ///
    /// # Errors
    /// If it fails or stands still.
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

    /// Its last line, or how it ended.
    fn failed(&self, status: Option<ExitStatus>) -> io::Error {
        // A grandchild may hold the pipe open: its words are not waited for.
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
    /// A run that stops takes the program with it.
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
