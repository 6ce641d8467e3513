//! Progress on stderr: a bar on a terminal, occasional lines elsewhere, no output with `--quiet`.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Least time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Progress of a run.
pub struct Progress {
    total: u32,
    began: Instant,
    shown: Shown,
}

enum Shown {
    Bar(ProgressBar),
    Lines { last: Option<Instant> },
    Nothing,
}

impl Progress {
    /// Starts the progress of `total` frames.
    pub fn new(total: u32, quiet: bool) -> Self {
        let shown = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Bar(bar(total)),
            (false, false) => Shown::Lines { last: None },
        };
        Self { total, began: Instant::now(), shown }
    }

    /// Shows `done` finished frames, with the speed in `detail`.
    pub fn update(&mut self, done: u32, detail: &str) {
        let eta = self.remaining(done).map(|time| format!("  ETA {}", clock(time))).unwrap_or_default();
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_position(u64::from(done));
                bar.set_message(format!("{detail}{eta}"));
            }
            Shown::Lines { last } => {
                let due = last.is_none_or(|at| at.elapsed() >= LINE_EVERY);
                if due || done == self.total {
                    super::tell(&format!("{done}/{}  {detail}{eta}", self.total));
                    *last = Some(Instant::now());
                }
            }
            Shown::Nothing => {}
        }
    }

    /// Returns the remaining time at the mean speed so far; none at the very beginning.
    fn remaining(&self, done: u32) -> Option<Duration> {
        let left = f64::from(self.total.saturating_sub(done));
        let elapsed = self.began.elapsed().as_secs_f64();
        (done > 0).then(|| Duration::from_secs_f64(elapsed / f64::from(done) * left))
    }
}

impl Drop for Progress {
    /// Clears the bar from the terminal; lines remain.
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u32) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(u64::from(total)), ProgressDrawTarget::stderr());
    let template = match super::is_coloured() {
        true => "{bar:30.cyan/blue} {pos}/{len}  {msg}",
        false => "{bar:30} {pos}/{len}  {msg}",
    };
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.expect("a valid template").progress_chars("━╸─"));
    bar
}

/// Minutes and seconds, or hours, minutes and seconds.
pub fn clock(time: Duration) -> String {
    let s = time.as_secs();
    match s / 3600 {
        0 => format!("{:02}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}
