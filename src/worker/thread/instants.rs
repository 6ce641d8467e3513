//! Jumps to other instants: stored states, recorded frames, and the instant before a cancelled step.

use std::time::Instant;

use super::{Engine, Since, lock};
use crate::solver::SolverError;
use crate::worker::replay::{Which, recompute};
use crate::worker::timeline::Replay;

impl Engine {
    pub fn store_state(&mut self, number: u64) {
        if let Some(state) = self.simulation.as_ref().and_then(|simulation| simulation.state()) {
            self.states.store(number, (state, self.comparison.state()));
            self.kept.stored(number);
        }
        (self.status.first_stored, self.status.stored_bytes) = (self.states.first(), self.states.bytes());
    }

    pub fn restore(&mut self, number: u64) {
        let Some(simulation) = &mut self.simulation else {
            return;
        };
        let restored = match self.states.take(number) {
            Some((state, beside)) => simulation
                .restore(&state)
                .and_then(|()| self.comparison.restore(beside.as_ref().unwrap_or(&state)))
                .map_err(|error| error.to_string()),
            None if number < self.states.first() => Err("it was dropped for lack of memory".into()),
            None => Err(format!("no state is stored under {number}")),
        };
        self.status.stored_bytes = self.states.bytes();
        match restored {
            Ok(()) => {
                self.is_cut = false;
                let mut timeline = lock(&self.outputs.timeline);
                self.kept.keep(&timeline);
                self.kept.put_back(number, &mut timeline);
            }
            Err(why) => {
                self.take_back();
                self.refuse(format!("The smoke could not be brought back: {why}."));
            }
        }
        self.jumped();
    }

    /// Records that the simulation has jumped to another instant.
    pub fn jumped(&mut self) {
        self.clock.reset(Instant::now());
        self.status.lag = 0.0;
        self.dirty = true;
        (self.since, self.steps) = (Since::Jump, 0);
        (self.drags, self.unmoved) = ([None, None], [None, None]);
    }

    /// Recomputes a recorded frame and drops those after it.
    pub fn live(&mut self, number: u64) {
        if self.simulation.is_none() {
            return;
        }
        let timeline = lock(&self.outputs.timeline);
        self.kept.keep(&timeline);
        let replay = timeline.replay(number);
        drop(timeline);
        self.say_returning(number);
        let done = match replay {
            None => Err("no state before it is stored".to_owned()),
            Some(replay) => match self.recompute(&replay) {
                // The next command decides; the frames after this one are there still.
                Err(SolverError::Cancelled) => {
                    self.is_cut = true;
                    self.status.returning = None;
                    return;
                }
                done => done.map_err(|error| error.to_string()),
            },
        };
        match done {
            Ok(()) => self.is_cut = false,
            Err(why) => {
                self.take_back();
                self.status.trouble = Some(format!("The run cannot continue from frame {number}: {why}."));
            }
        }
        self.status.returning = None;
        self.jumped();
    }

    /// Recomputes a recorded frame with both simulations; the present parameters stay.
    fn recompute(&mut self, replay: &Replay) -> Result<(), SolverError> {
        let Some(simulation) = &mut self.simulation else { return Ok(()) };
        let (cancel, present) = (self.inbox.cancelled(), simulation.params().clone());
        let done = recompute(&mut **simulation, replay, Which::Present, cancel)
            .and_then(|()| self.comparison.recompute(replay, cancel));
        done.and(simulation.set_params(present))
    }

    fn say_returning(&mut self, number: u64) {
        self.status.returning = Some(number);
        self.outputs.status.write(self.status.clone());
        (self.outputs.wake)();
    }

    /// Returns from a cancelled step to the instant before it, bit for bit: to the state kept before a long step, or to the last frame,
    /// which is recomputed from the last state of the timeline. Nothing of the cancelled step is ever shown, stored or continued.
    pub fn take_back(&mut self) {
        if !std::mem::take(&mut self.is_cut) {
            return;
        }
        let Some(simulation) = &mut self.simulation else { return };
        let done = match self.before.states() {
            Some((state, beside)) => simulation
                .restore(state)
                .and_then(|()| self.comparison.restore(beside.as_ref().unwrap_or(state))),
            None => self.return_to_last_frame(),
        };
        match done {
            Ok(()) => {}
            // Another command has cancelled the return, and may make it needless.
            Err(SolverError::Cancelled) => self.is_cut = true,
            // The fields stay between two instants, and everyone sees it.
            Err(error) => {
                self.status.trouble = Some(format!("The cancelled step could not be taken back: {error}."));
                (self.dirty, self.since) = (true, Since::Jump);
            }
        }
    }

    fn return_to_last_frame(&mut self) -> Result<(), SolverError> {
        let (number, replay) = {
            let timeline = lock(&self.outputs.timeline);
            let Some([_, last]) = timeline.range() else { return Err(SolverError::NoState) };
            (last, timeline.replay(last).ok_or(SolverError::NoState)?)
        };
        if !replay.steps.is_empty() {
            self.say_returning(number);
        }
        let done = self.recompute(&replay);
        self.status.returning = None;
        done
    }
}
