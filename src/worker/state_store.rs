//! States stored for undo, within a limit of memory.

use std::collections::VecDeque;

use crate::room;
use crate::solver::State;

/// Memory for the states of undo at most \[bytes\].
const LIMIT: usize = 1 << 30;

/// States of a simulation and, during a comparison, of the one beside it.
pub(super) type States = (State, Option<State>);

/// The two newest states may take one part in so many of the memory of this process, even beyond the limit.
const SHARE_OF_TWO: u64 = 4;

/// States by number. Numbers grow; the oldest states are dropped first.
#[derive(Debug)]
pub(super) struct StateStore {
    limit: usize,
    /// Limit of the two newest states together.
    limit_of_two: usize,
    states: VecDeque<(u64, States)>,
    /// States that are about to be restored.
    aside: Vec<(u64, States)>,
    /// All states before this number were dropped.
    first: u64,
}

impl StateStore {
    /// Makes an empty store beside a timeline of so many bytes: half of them, within 1 GiB, or as much as two states of a
    /// large box need.
    pub fn beside(timeline: usize) -> Self {
        let limit = (timeline / 2).min(LIMIT);
        let of_two = room::limit().map_or(0, |bytes| (bytes / SHARE_OF_TWO) as usize);
        Self { limit_of_two: limit.max(of_two), ..Self::within(limit) }
    }

    /// Makes an empty store of at most `limit` bytes.
    pub fn within(limit: usize) -> Self {
        Self { limit, limit_of_two: limit, states: VecDeque::new(), aside: Vec::new(), first: 0 }
    }

    /// Stores a state, and drops the oldest until all fit. The newest always stays: the last change of a box of any size can
    /// be undone.
    pub fn store(&mut self, number: u64, state: States) {
        self.states.push_back((number, state));
        while self.states.len() > 1
            && self.bytes() > if self.states.len() == 2 { self.limit_of_two } else { self.limit }
            && let Some((oldest, _)) = self.states.pop_front()
        {
            self.first = oldest + 1;
        }
    }

    /// Sets aside a state that is about to be restored, so that storing the present one first does not drop
    /// it.
    pub fn set_aside(&mut self, number: u64) {
        if let Some(state) = self.take(number) {
            self.aside.push((number, state));
        }
    }

    /// Drops the states set aside.
    pub fn drop_aside(&mut self) {
        self.aside.clear();
    }

    /// Removes and returns a state, if it is still there.
    pub fn take(&mut self, number: u64) -> Option<States> {
        let is_it = |(stored, _): &(u64, States)| *stored == number;
        if let Some(at) = self.aside.iter().position(is_it) {
            return Some(self.aside.swap_remove(at).1);
        }
        let at = self.states.iter().position(is_it)?;
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
    fn the_newest_state_stays_whatever_its_size_and_two_if_memory_allows() {
        let mut stored = StateStore::within(100);
        stored.store(7, (state(1.0), None));
        stored.store(8, (state(1.0), None));
        assert!(stored.take(7).is_none() && stored.take(8).is_some());
        let mut stored = StateStore { limit_of_two: 3 * state(1.0).bytes(), ..StateStore::within(100) };
        (0..5).for_each(|n| stored.store(n, (state(1.0), None)));
        assert_eq!(stored.first(), 3);
        assert!(stored.take(3).is_some() && stored.take(4).is_some());
    }

    #[test]
    fn a_state_that_is_about_to_be_restored_is_not_dropped_for_the_present_one() {
        let mut stored = StateStore::within(100);
        stored.store(1, (state(1.0), None));
        stored.set_aside(1);
        stored.store(2, (state(1.0), None));
        assert!(stored.take(1).is_some() && stored.take(2).is_some());
        stored.store(3, (state(1.0), None));
        stored.set_aside(3);
        stored.drop_aside();
        assert!(stored.take(3).is_none());
    }
}
