//! Recorded frames that a jump takes from the timeline, kept for its undo: those of a cleared box, of another scene, or
//! after the frame that the run goes on from.
//!
//! They get the memory that the timeline leaves, and give it up from the oldest frame on.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::recorded_frame::Frame;
use super::{Entry, Timeline};

/// Most runs, so that many small ones take no time.
const MOST: usize = 32;

/// Runs by the number of the state that was stored with them, the oldest first.
#[derive(Debug, Default)]
pub(in crate::worker) struct KeptRuns {
    runs: VecDeque<(u64, Timeline)>,
    /// The state stored since the last jump.
    stored: Option<u64>,
}

impl KeptRuns {
    /// Notes that a state was stored.
    pub fn stored(&mut self, number: u64) {
        self.stored = Some(number);
    }

    /// Keeps the frames of `timeline` for the state stored last. The frames are shared, not copied.
    pub fn keep(&mut self, timeline: &Timeline) {
        let Some(number) = self.stored.take() else { return };
        let Timeline { limit, bytes, entries, hidden, in_memory, disk: _, run } = timeline;
        let (limit, bytes, hidden, in_memory, run) = (*limit, *bytes, *hidden, *in_memory, *run);
        let entries = entries.clone();
        self.runs.push_back((number, Timeline { limit, bytes, entries, hidden, in_memory, disk: None, run }));
        if self.runs.len() > MOST {
            self.runs.pop_front();
        }
    }

    /// Puts the frames of a state back into `timeline`, if they are kept.
    pub fn put_back(&mut self, number: u64, timeline: &mut Timeline) {
        let at = self.runs.iter().position(|(stored, _)| *stored == number);
        let Some((_, mut kept)) = at.and_then(|at| self.runs.remove(at)) else { return };
        // Frames before the first kept one may be in the timeline still.
        let first = kept.range().map_or(0, |[first, _]| first);
        if is_in(kept.frame(first).as_ref(), timeline) {
            timeline.cut_entries(first);
            kept.entries.drain(..kept.hidden);
            timeline.entries.append(&mut kept.entries);
            timeline.in_memory = timeline.in_memory.min(kept.in_memory);
        } else {
            (timeline.entries, timeline.hidden) = (kept.entries, kept.hidden);
            timeline.in_memory = kept.in_memory;
        }
        timeline.run = kept.run;
        timeline.bytes = timeline.entries.iter().map(Entry::bytes).sum();
        timeline.make_room();
        timeline.drop_old_flows();
    }

    /// Gives up the runs of states before `first`, which are gone. Then gives up frames until the rest fits
    /// into memory beside those of `timeline`.
    pub fn make_room(&mut self, timeline: &Timeline, first: u64) {
        self.runs.retain(|(stored, _)| *stored >= first);
        let is_over = |kept: &Self| timeline.bytes + kept.bytes_beside(timeline) > timeline.limit;
        if is_over(self) {
            self.frames_beside(timeline).for_each(|(frame, _)| frame.drop_flow());
        }
        while is_over(self) && self.drop_oldest() {}
    }

    /// Drops the oldest frame of the oldest run. Returns whether there was one.
    pub fn drop_oldest(&mut self) -> bool {
        let Some((_, oldest)) = self.runs.front_mut() else { return false };
        if !oldest.drop_oldest() {
            self.runs.pop_front();
        }
        true
    }

    /// Frames that are not in `timeline`, and the bytes of their states.
    fn frames_beside<'a>(
        &'a self,
        timeline: &'a Timeline,
    ) -> impl Iterator<Item = (&'a Arc<Frame>, usize)> + 'a {
        let entries = self.runs.iter().flat_map(|(_, run)| &run.entries);
        let frames = entries.filter_map(|entry| Some((entry.frame.as_ref()?, entry.state_bytes())));
        frames.filter(|(frame, _)| !is_in(Some(frame), timeline))
    }

    /// Memory of the frames and states that are not in `timeline` \[bytes\].
    fn bytes_beside(&self, timeline: &Timeline) -> usize {
        self.frames_beside(timeline).map(|(frame, state)| frame.bytes() + frame.flow_bytes() + state).sum()
    }
}

/// Whether `timeline` has this very frame.
fn is_in(frame: Option<&Arc<Frame>>, timeline: &Timeline) -> bool {
    let same = |frame: &Arc<Frame>| timeline.frame(frame.number).is_some_and(|own| Arc::ptr_eq(&own, frame));
    frame.is_some_and(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::snapshot::Snapshot;

    fn frame(step: u64) -> Frame {
        let mut snapshot = Snapshot::empty(Dims::new([16; 3]).unwrap(), 0.1);
        snapshot.smoke.iter_mut().enumerate().for_each(|(n, cell)| {
            let bits = (n as u32 + step as u32).wrapping_mul(2_654_435_761);
            *cell = [half::f16::from_bits((bits >> 18) as u16); 4];
        });
        (snapshot.stats.step, snapshot.time) = (step, step as f64 * 0.04);
        Frame::of(&snapshot)
    }

    fn recorded(limit: usize, frames: u64) -> Timeline {
        let mut timeline = Timeline::within(limit);
        (0..frames).for_each(|n| timeline.record(frame(n), None));
        timeline
    }

    #[test]
    fn frames_after_the_one_gone_on_from_come_back() {
        let (mut kept, mut timeline) = (KeptRuns::default(), recorded(1 << 30, 10));
        let last = timeline.frame(9).unwrap();
        kept.stored(3);
        kept.keep(&timeline);
        timeline.jump(frame(4), None);
        timeline.record(frame(5), None);
        kept.make_room(&timeline, 0);
        assert_eq!(timeline.range(), Some([0, 5]));
        kept.put_back(3, &mut timeline);
        assert_eq!(timeline.range(), Some([0, 9]));
        assert!(Arc::ptr_eq(&timeline.frame(9).unwrap(), &last));
        let bytes: usize = (0..10).map(|n| timeline.frame(n).unwrap().bytes()).sum();
        assert_eq!(timeline.bytes(), bytes);
        kept.put_back(3, &mut timeline);
        assert_eq!(timeline.range(), Some([0, 9]), "once");
    }

    #[test]
    fn kept_frames_take_only_the_memory_that_the_timeline_leaves() {
        let size = frame(0).bytes();
        let (mut kept, mut timeline) = (KeptRuns::default(), recorded(10 * size + size / 2, 10));
        kept.stored(1);
        kept.keep(&timeline);
        kept.make_room(&timeline, 0);
        assert_eq!(kept.bytes_beside(&timeline), 0, "shared frames take no memory");
        timeline.cut(0);
        (0..4).for_each(|n| timeline.record(frame(n), None));
        kept.make_room(&timeline, 0);
        assert!(timeline.bytes() + kept.bytes_beside(&timeline) <= timeline.limit());
        kept.put_back(1, &mut timeline);
        let [first, last] = timeline.range().unwrap();
        assert!(last == 9 && (3..6).contains(&first), "{first} to {last}");
        kept.stored(2);
        kept.keep(&timeline);
        timeline.cut(0);
        kept.make_room(&timeline, 3);
        kept.put_back(2, &mut timeline);
        assert_eq!(timeline.range(), None, "its state is gone");
    }
}
