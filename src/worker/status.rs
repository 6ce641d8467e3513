//! Status of the worker.

use std::time::Duration;

/// State of the thread.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum RunState {
    /// Waits for commands; edits still change the fields.
    #[default]
    Paused,
    /// Steps at the pace of the wall clock.
    Running,
    /// The simulation has failed, for this reason. Only a load helps.
    Failed(String),
}

/// Report of the worker, beside the snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// State of the thread.
    pub state: RunState,
    /// Whether a step is running.
    pub stepping: bool,
    /// The recorded frame that is being recomputed, so that the run can go on from it.
    pub returning: Option<u64>,
    /// Wall time of the last step.
    pub step: Duration,
    /// Wall time of the last capture of a snapshot.
    pub capture: Duration,
    /// Simulated time \[s\].
    pub simulated: f64,
    /// Lag of simulated behind wall time, without pauses \[s\].
    pub lag: f64,
    /// Simulated seconds per wall second over the last steps; 0 if unknown.
    pub speed: f64,
    /// Number of the last load that failed, from 1.
    pub failed_load: Option<u64>,
    /// States stored under smaller numbers were dropped for lack of memory.
    pub first_stored: u64,
    /// Memory of the states stored for undo \[bytes\].
    pub stored_bytes: usize,
    /// The last error that stopped nothing, such as an edit that was refused or a simulation that could not be built. That of an edit is
    /// gone after the next edits that are all accepted.
    pub trouble: Option<String>,
}
