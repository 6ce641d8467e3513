//! States stored for undo, within a limit of memory.

use std::collections::VecDeque;

use crate::solver::State;

/// Memory for the states of undo at most \[bytes\].
const LIMIT: usize = 1 << 30;

/// States of a simulation and, during a comparison, of the one beside it.
pub(super) type States = (State, Option<State>);

/// States by number. Numbers grow; the oldest states are dropped first.
#[derive(Debug)]
pub(super) struct StateStore {
    limit: usize,
    states: VecDeque<(u64, States)>,
    /// All states before this number were dropped.
    first: u64,
}

impl StateStore {
    /// Makes an empty store beside a timeline of so many bytes: half of them, within 1 GiB.
    pub fn beside(timeline: usize) -> Self {
        Self::within((timeline / 2).min(LIMIT))
    }

    /// Makes an empty store of at most `limit` bytes.
    pub fn within(limit: usize) -> Self {
        Self { limit, states: VecDeque::new(), first: 0 }
    }

    /// Stores a state, and drops the oldest until all fit. A state that does not fit alone is dropped too.
    pub fn store(&mut self, number: u64, state: States) {
        self.states.push_back((number, state));
        while self.bytes() > self.limit
            && let Some((oldest, _)) = self.states.pop_front()
        {
            self.first = oldest + 1;
        }
    }

    /// Removes and returns a state, if it is still there.
    pub fn take(&mut self, number: u64) -> Option<States> {
        let at = self.states.iter().position(|(stored, _)| *stored == number)?;
        self.states.remove(at).map(|(_, state)| state)
    }

    /// Number before which all states were dropped.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Memory of all states \[bytes\].
    pub fn bytes(&self) -> usize {
        let bytes = |(one, beside): &States| one.bytes() + beside.as_ref().map_or(0, State::bytes);
        self.states.iter().map(|(_, states)| bytes(states)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::solver::{Config, Params, Solver};

    fn state(heat: f32) -> State {
        let config = Config { threads: 1, ..Config::new(Dims::new([16; 3]).unwrap(), 0.1) };
        let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
        solver.fill(|_, _| 0.0, |_| [0.0, 0.0, 0.0, heat]);
        solver.capture()
    }

    #[test]
    fn the_oldest_states_are_dropped_and_the_store_says_so() {
        let mut stored = StateStore::within(state(1.0).bytes() * 5 / 2);
        (0..2).for_each(|n| stored.store(n, (state(1.0), None)));
        assert_eq!(stored.first(), 0);
        (2..5).for_each(|n| stored.store(n, (state(1.0), None)));
        assert_eq!(stored.first(), 3);
        assert!(stored.take(2).is_none() && stored.take(4).is_some() && stored.take(4).is_none());
        assert!(stored.take(3).is_some());
    }

    #[test]
    fn a_state_larger_than_the_limit_is_not_stored() {
        let mut stored = StateStore::within(100);
        stored.store(7, (state(1.0), None));
        assert!(stored.take(7).is_none());
        assert_eq!(stored.first(), 8);
    }
}
