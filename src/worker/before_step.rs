//! The state before a long step, which a cancelled step goes back to.
//!
//! Short steps need none: the timeline stores the whole state often enough to recompute the last frame within seconds. A long one would
//! have to be waited for after all.

use std::time::{Duration, Instant};

use super::Simulation;
use super::comparison::Comparison;
use super::state_store::States;
use crate::room;

/// Wall time of a long step.
const LONG: Duration = Duration::from_secs(1);

/// A step takes at least this many times as long as the copy of the state before it. At 256³ it takes 10 to 60 times as long.
const LEAST_RATIO: u32 = 8;

/// The state may take one part in so many of the memory of this process.
const SHARE: u64 = 8;

/// The state before the present step, if it is kept.
#[derive(Default)]
pub(super) struct BeforeStep {
    states: Option<States>,
    /// Whether `states` belong to the present step. Otherwise only their memory is used again.
    is_current: bool,
    /// Least time of a copy into memory that was in use before.
    took: Option<Duration>,
    is_too_large: bool,
}

impl BeforeStep {
    /// Keeps the state before a step, if the last step was long.
    pub fn keep(&mut self, simulation: &dyn Simulation, comparison: &Comparison, last: Duration) {
        self.forget();
        let is_cheap = self.took.is_none_or(|took| LEAST_RATIO * took <= last);
        if last < LONG || self.is_too_large || !is_cheap {
            self.states = None;
            return;
        }
        let begin = Instant::now();
        let (old, old_beside) = self.states.take().unzip();
        let is_fresh = old.is_none();
        let Some(state) = simulation.state_over(old) else { return };
        let beside = comparison.state_over(old_beside.flatten());
        let bytes = (state.bytes() + beside.as_ref().map_or(0, |beside| beside.bytes())) as u64;
        self.is_too_large = room::limit().is_some_and(|limit| bytes > limit / SHARE);
        if self.is_too_large {
            return;
        }
        if !is_fresh {
            self.took = Some(self.took.map_or(begin.elapsed(), |took| took.min(begin.elapsed())));
        }
        (self.states, self.is_current) = (Some((state, beside)), true);
    }

    /// The states before the present step, if they are kept.
    pub fn states(&self) -> Option<&States> {
        self.states.as_ref().filter(|_| self.is_current)
    }

    /// The step is whole, or its fields were replaced.
    pub fn forget(&mut self) {
        self.is_current = false;
    }
}
