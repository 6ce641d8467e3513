//! What the worker says of itself.

use std::time::Duration;

/// What the thread does.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum State {
    /// Waits for commands; edits go into the fields.
    #[default]
    Paused,
    /// Steps at the pace of the wall clock.
    Running,
    /// The simulation broke down, and why. Only a new one can be loaded.
    Failed(String),
}

/// The worker's own report, beside the snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// What the thread does.
    pub state: State,
    /// Whether a step is under way.
    pub stepping: bool,
    /// Wall time of the last step, from its start to its end.
    pub step: Duration,
    /// Wall time it took to make the last snapshot.
    pub capture: Duration,
    /// Simulated time \[s\].
    pub simulated: f64,
    /// By how much simulated time is behind wall time, pauses left out \[s\].
    pub lag: f64,
    /// Simulated seconds per wall second over the last steps; 0 before it is known.
    pub speed: f64,
    /// Which load failed last, counted from 1.
    pub failed_load: Option<u64>,
    /// States kept under smaller numbers than this are gone: there was no memory for them.
    pub first_kept: u64,
    /// The last thing that went wrong without stopping anything, such as a simulation that could not be
    /// built.
    pub trouble: Option<String>,
}
