//! Ends the program if its display is gone and the driver does not notice.
//!
//! Mesa's software driver sends a picture to an X server row by row, and never returns if the connection breaks
//! meanwhile. A thread measures how long the present picture takes; after [`LONGEST`] it checks whether the
//! display still accepts connections.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time of a picture after which the display is checked.
const LONGEST: Duration = Duration::from_secs(5);

/// Tells the watching thread when a picture is being sent. Dropping it ends the thread.
pub(super) struct Sending {
    began: Instant,
    /// Milliseconds from `began` to the start of the present picture, plus 1; 0 while none is sent.
    since: Arc<AtomicU64>,
}

impl Sending {
    /// Starts the thread.
    pub fn watched() -> Self {
        let (began, since) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let watched = Arc::downgrade(&since);
        let watch = move || {
            while let Some(since) = watched.upgrade() {
                let late = since.load(Ordering::Relaxed);
                drop(since);
                if late > 0
                    && began.elapsed() > Duration::from_millis(late) + LONGEST
                    && is_gone(&addresses())
                {
                    let _ = writeln!(std::io::stderr(), "updraft: the window was lost: the display is gone");
                    std::process::exit(1);
                }
                std::thread::sleep(Duration::from_secs(1));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("display".into()).spawn(watch) {
            tracing::warn!("cannot watch for a lost display: {error}");
        }
        Self { began, since }
    }

    /// Runs `send`, which sends a picture to the display.
    pub fn while_sending<T>(&self, send: impl FnOnce() -> T) -> T {
        self.since.store(self.began.elapsed().as_millis() as u64 + 1, Ordering::Relaxed);
        let result = send();
        self.since.store(0, Ordering::Relaxed);
        result
    }
}

/// Returns the sockets of the displays that the environment names; a display on another machine has none.
fn addresses() -> Vec<std::path::PathBuf> {
    let text = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let wayland = text("WAYLAND_DISPLAY")
        .and_then(|name| Some(std::path::Path::new(&text("XDG_RUNTIME_DIR")?).join(name)));
    let x = text("DISPLAY").and_then(|name| {
        let number =
            name.strip_prefix("unix").unwrap_or(&name).strip_prefix(':')?.split('.').next()?.parse::<u32>();
        Some(format!("/tmp/.X11-unix/X{}", number.ok()?).into())
    });
    wayland.into_iter().chain(x).collect()
}

/// Returns whether there are displays, but none accepts a connection.
fn is_gone(addresses: &[std::path::PathBuf]) -> bool {
    #[cfg(unix)]
    return !addresses.is_empty()
        && addresses.iter().all(|path| std::os::unix::net::UnixStream::connect(path).is_err());
    #[cfg(not(unix))]
    {
        // Windows and their drivers end with the session.
        let _ = addresses;
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_display_is_gone_when_its_socket_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("X7");
        let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let other = folder.path().join("never");
        assert!(
            !is_gone(&[])
                && !is_gone(&[other.clone(), path.clone()])
                && is_gone(std::slice::from_ref(&other))
        );
        drop(server);
        assert!(is_gone(&[other, path]));
    }
}
