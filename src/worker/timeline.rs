//! The recorded frames of a run, and the data to continue from any of them.
//!
//! A frame is a step. Each is stored as half floats, packed without loss. Every few frames the whole state of
//! the simulation is stored too, and with each frame the edits made after it. So any frame can be recomputed
//! bit for bit: from the state before it, with the same edits and steps. When the memory is full, states go
//! first, because they only save time; then the oldest frames move to the disk, if they may, or are dropped.

pub(super) mod kept_runs;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::recorded_frame::Frame;
use super::spill::Spill;
use crate::room;
use crate::solver::{Dab, Force, Params, Solid, Source, State};

/// Memory for the flow of the newest frames, beside that of the frames \[bytes\].
pub const FLOW_LIMIT: usize = 256 << 20;

/// States may keep one part in so many of the memory when it is full.
const STATES: usize = 4;

/// Most frames between two states, before any is given up.
const STRIDE: usize = 24;
/// Fewest frames between two states, however slow steps are.
const LEAST_STRIDE: usize = 4;
/// Longest recomputation of a frame, if the stride allows.
const PATIENCE: Duration = Duration::from_secs(2);

/// Room for recorded frames: in memory, and on a disk.
#[derive(Debug)]
pub struct Recording {
    /// Memory for frames and states \[bytes\].
    pub memory: usize,
    /// Room on a disk for the frames that do not fit into the memory.
    pub disk: Option<Spill>,
}

impl Default for Recording {
    /// An eighth of the memory that this process may use, within 256 MiB and 8 GiB, and no disk.
    fn default() -> Self {
        let memory = (room::limit().unwrap_or(8 << 30) / 8).clamp(256 << 20, 8 << 30);
        Self { memory: memory as usize, disk: None }
    }
}

/// An edit made between two steps.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    Dab(Dab),
    Params(Box<Params>),
    Sources(Vec<Source>),
    Forces(Vec<Force>),
    Solids(Vec<Solid>),
    /// An edit of the simulation beside.
    Beside(Box<Edit>),
}

/// All that a recomputation starts from: state and parameters, during a comparison of both simulations.
#[derive(Debug)]
pub(super) struct Start {
    pub state: State,
    pub params: Params,
    pub beside: Option<(State, Params)>,
}

impl Start {
    fn bytes(&self) -> usize {
        self.state.bytes() + self.beside.as_ref().map_or(0, |(state, _)| state.bytes())
    }
}

/// A frame and the events after it.
#[derive(Clone, Debug)]
struct Entry {
    number: u64,
    /// None if it was dropped, but its steps are needed to recompute later frames.
    frame: Option<Arc<Frame>>,
    /// State and parameters before `edits`.
    state: Option<Arc<Start>>,
    edits: Vec<Edit>,
    /// Length of the step to the next frame \[s\], and the wall time it took.
    step: (f32, Duration),
}

impl Entry {
    fn bytes(&self) -> usize {
        let edits = self.edits.len() * (size_of::<Edit>() + size_of::<Params>());
        let frame = self.frame.as_ref().map_or(0, |frame| frame.bytes());
        frame + edits + self.state_bytes()
    }

    fn state_bytes(&self) -> usize {
        self.state.as_ref().map_or(0, |start| start.bytes())
    }
}

/// Steps that recompute a frame.
pub(super) struct Replay {
    pub state: Arc<Start>,
    /// Edits, then a step of this length \[s\].
    pub steps: Vec<(Vec<Edit>, f32)>,
    /// Edits of the frame itself.
    pub edits: Vec<Edit>,
}

/// The recorded frames, consecutive, the oldest first.
#[derive(Debug)]
pub struct Timeline {
    limit: usize,
    bytes: usize,
    entries: VecDeque<Entry>,
    /// Number of the first entries, whose frames were dropped.
    hidden: usize,
    /// Frames before this number are on the disk.
    in_memory: u64,
    /// Bytes on the disk and their limit, if frames may go there.
    disk: Option<[u64; 2]>,
    /// The load that the present run began with. Later ones continue it, as a comparison does.
    run: u64,
}

impl Timeline {
    /// Makes an empty timeline of at most `limit` bytes.
    pub(super) fn within(limit: usize) -> Self {
        Self { limit, bytes: 0, entries: VecDeque::new(), hidden: 0, in_memory: 0, disk: None, run: 0 }
    }

    /// Numbers of the first and the last frame.
    pub fn range(&self) -> Option<[u64; 2]> {
        Some([self.entries.get(self.hidden)?.number, self.entries.back()?.number])
    }

    /// Size of all frames and states \[bytes\].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Most bytes in memory.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes of frames on the disk and the most of them, if frames may go there.
    pub fn disk(&self) -> Option<[u64; 2]> {
        self.disk
    }

    /// The frames, the newest first.
    fn newest_first(&self) -> impl Iterator<Item = &Arc<Frame>> {
        self.entries.iter().rev().map_while(|entry| entry.frame.as_ref())
    }

    /// Number of the first frame with its flow; all after it have theirs, or none has.
    pub fn first_flow(&self) -> Option<u64> {
        self.newest_first().take_while(|frame| frame.has_flow()).last().map(|frame| frame.number)
    }

    /// Drops the flow of the oldest frames until the rest fits into its memory.
    fn drop_old_flows(&mut self) {
        let mut left = FLOW_LIMIT;
        for frame in self.newest_first().take_while(|frame| frame.has_flow()) {
            match left.checked_sub(frame.flow_bytes()) {
                Some(rest) => left = rest,
                None => {
                    frame.drop_flow();
                    left = 0;
                }
            }
        }
    }

    /// Returns a frame by its number.
    pub fn frame(&self, number: u64) -> Option<Arc<Frame>> {
        self.entries[self.place(number)?].frame.clone()
    }

    fn place(&self, number: u64) -> Option<usize> {
        let at = number.checked_sub(self.entries.front()?.number)? as usize;
        (self.hidden..self.entries.len()).contains(&at).then_some(at)
    }

    /// Whether the next frame must come with its state.
    pub(super) fn wants_state(&self) -> bool {
        let since = self.entries.iter().rev().take_while(|entry| entry.state.is_none()).count();
        let wall: Duration = self.entries.iter().rev().take(since + 1).map(|entry| entry.step.1).sum();
        since == self.entries.len() || since + 1 >= STRIDE || since + 1 >= LEAST_STRIDE && wall > PATIENCE
    }

    /// Whether the state of the last frame is stored.
    pub(super) fn has_last_state(&self) -> bool {
        self.entries.back().is_some_and(|last| last.state.is_some())
    }

    /// Records an edit after the last frame.
    pub(super) fn edit(&mut self, edit: Edit) {
        if let Some(last) = self.entries.back_mut() {
            self.bytes -= last.bytes();
            last.edits.push(edit);
            self.bytes += last.bytes();
        }
    }

    /// Forgets the edits after the last frame for which `is_undone` holds. Edits up to the last dab after
    /// that frame stay.
    pub(super) fn forget(&mut self, is_undone: impl Fn(&Edit) -> bool) {
        if let Some(last) = self.entries.back_mut() {
            self.bytes -= last.bytes();
            let dab = last.edits.iter().rposition(|edit| matches!(edit, Edit::Dab(_)));
            let kept = dab.map_or(0, |at| at + 1);
            let mut at = 0;
            last.edits.retain(|edit| {
                at += 1;
                at <= kept || !is_undone(edit)
            });
            self.bytes += last.bytes();
        }
    }

    /// Records a step of `dt`, which took `wall`. The next [`record`](Self::record) is the frame after it.
    pub(super) fn stepped(&mut self, dt: f32, wall: Duration) {
        if let Some(last) = self.entries.back_mut() {
            last.step = (dt, wall);
        }
    }

    /// Begins another run with the given load.
    pub(super) fn begin_run(&mut self, load: u64) {
        self.run = load;
    }

    /// Adds the frame after a step. A frame that does not follow the last one restarts the recording.
    pub(super) fn record(&mut self, frame: Frame, state: Option<Start>) {
        let follows = self.range().is_some_and(|[_, last]| last + 1 == frame.number);
        if !follows {
            self.clear();
        }
        let (number, frame, state) = (frame.number, Some(Arc::new(frame)), state.map(Arc::new));
        let entry = Entry { number, frame, state, edits: vec![], step: (0.0, Duration::ZERO) };
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        self.make_room();
        self.drop_old_flows();
    }

    /// Records a jump to another instant: drops the frames from there on, or all if it is of another run.
    pub(super) fn jump(&mut self, frame: Frame, state: Option<Start>) {
        let number = frame.number;
        let same = self
            .frame(number)
            .is_some_and(|old| old.time == frame.time && old.load.min(frame.load) >= self.run);
        self.cut(if same { number } else { 0 });
        self.record(frame, state);
    }

    /// Replaces the last frame, because edits changed it.
    pub(super) fn retouch(&mut self, frame: Frame) {
        if let Some(last) = self.entries.back_mut() {
            self.bytes -= last.bytes();
            last.frame = Some(Arc::new(frame));
            self.bytes += last.bytes();
        }
    }

    /// Drops the frames from `number` on.
    pub(super) fn cut(&mut self, number: u64) {
        self.cut_entries(number);
        if self.entries.len() <= self.hidden {
            self.clear();
        }
    }

    fn cut_entries(&mut self, number: u64) {
        while self.entries.back().is_some_and(|last| last.number >= number) {
            self.bytes -= self.entries.pop_back().map_or(0, |entry| entry.bytes());
        }
        self.in_memory = self.in_memory.min(number);
    }

    fn clear(&mut self) {
        self.entries.clear();
        (self.bytes, self.hidden, self.in_memory) = (0, 0, 0);
    }

    /// Returns the steps that recompute a frame, if a state before it is stored.
    pub(super) fn replay(&self, number: u64) -> Option<Replay> {
        let at = self.place(number)?;
        let from = (0..=at).rev().find(|&n| self.entries[n].state.is_some())?;
        let steps = (from..at).map(|n| (self.entries[n].edits.clone(), self.entries[n].step.0)).collect();
        Some(Replay {
            state: self.entries[from].state.clone()?,
            steps,
            edits: self.entries[at].edits.clone(),
        })
    }

    /// Gives up states and then frames until the rest fits into the memory; never the last frame. Frames that
    /// may go to the disk stay until they are there.
    fn make_room(&mut self) {
        while self.bytes > self.limit && (self.thin_states() || self.disk.is_none() && self.drop_oldest()) {}
    }

    /// Drops the state that saves the least time, if states take more than their share. The first state
    /// stays, because nothing can be recomputed without it. The last one stays, because the next one is due a
    /// fixed number of frames after it.
    fn thin_states(&mut self) -> bool {
        let with: Vec<usize> = (0..self.entries.len()).filter(|n| self.entries[*n].state.is_some()).collect();
        let bytes: usize = with.iter().map(|n| self.entries[*n].state_bytes()).sum();
        if bytes <= self.limit / STATES {
            return false;
        }
        let wall = |[from, to]: [usize; 2]| -> Duration {
            self.entries.range(from..to).map(|entry| entry.step.1.max(Duration::from_nanos(1))).sum()
        };
        let least = with.array_windows().min_by_key(|[before, _, after]| wall([*before, *after]));
        let Some([_, least, _]) = least else { return false };
        let entry = &mut self.entries[*least];
        self.bytes -= entry.state_bytes();
        entry.state = None;
        true
    }

    /// Drops the oldest frame, and all that only served to recompute it. Returns whether there was one; the
    /// last frame is never dropped.
    pub(super) fn drop_oldest(&mut self) -> bool {
        if self.hidden + 1 >= self.entries.len() {
            return false;
        }
        let oldest = &mut self.entries[self.hidden];
        self.bytes -= oldest.frame.take().map_or(0, |frame| frame.bytes());
        self.hidden += 1;
        let states = (0..=self.hidden).rev().find(|n| self.entries[*n].state.is_some());
        for _ in 0..states.unwrap_or(self.hidden) {
            self.bytes -= self.entries.pop_front().map_or(0, |entry| entry.bytes());
            self.hidden -= 1;
        }
        true
    }

    /// The oldest frame in memory, if it should go to the disk; never the last one.
    pub(super) fn to_spill(&self) -> Option<Arc<Frame>> {
        let [first, last] = self.range()?;
        let number = self.in_memory.max(first);
        (self.disk.is_some() && self.bytes > self.limit && number < last).then(|| self.frame(number))?
    }

    /// Notes that a frame went to the disk, with the bytes it had in memory before.
    pub(super) fn spilled(&mut self, frame: &Arc<Frame>, bytes: usize) {
        // It may have been dropped meanwhile.
        if self.frame(frame.number).is_some_and(|own| Arc::ptr_eq(&own, frame)) {
            self.bytes -= bytes - frame.bytes();
            self.in_memory = frame.number + 1;
        }
    }

    /// Sets the bytes on the disk and the most of them; none if frames may not go there any more.
    pub(super) fn set_disk(&mut self, disk: Option<[u64; 2]>) {
        self.disk = disk;
        if disk.is_none() {
            self.make_room();
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::grid::Dims;
    use crate::snapshot::{Bricks, Snapshot};
    use crate::solver::{Config, Solver};

    const LIMIT: usize = 1 << 30;

    fn snapshot(step: u64, cells: usize) -> Snapshot {
        let mut snapshot = Snapshot::empty(Dims::new([32; 3]).unwrap(), 0.1);
        snapshot.smoke[..cells].fill([f16::ONE; 4]);
        snapshot.stats.step = step;
        snapshot.time = step as f64 * 0.04;
        snapshot
    }

    #[test]
    fn a_frame_comes_back_as_it_was_shown() {
        let mut timeline = Timeline::within(LIMIT);
        timeline.record(Frame::of(&snapshot(7, 777)), None);
        let mut back = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
        timeline.frame(7).unwrap().show(&mut back).unwrap();
        let shown = snapshot(7, 777);
        assert!(back.smoke == shown.smoke && back.time == shown.time && back.dims == shown.dims);
        assert_eq!(back.bricks.max, Bricks::of(shown.dims, &shown.smoke).max);
    }

    #[test]
    fn the_newest_frames_keep_their_flow_within_its_memory() {
        let flowing = |step: u64| Snapshot { velocity: noisy(step).smoke, ..snapshot(step, 5) };
        let mut timeline = Timeline::within(LIMIT);
        let fit = (FLOW_LIMIT / Frame::of(&flowing(0)).flow_bytes()) as u64;
        (0..fit + 20).for_each(|n| timeline.record(Frame::of(&flowing(n)), None));
        let first = timeline.first_flow().unwrap();
        assert!((19..30).contains(&first), "{first} of {fit}");
        let mut back = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
        timeline.frame(first).unwrap().show(&mut back).unwrap();
        assert_eq!(back.velocity, flowing(first).velocity);
        timeline.frame(first - 1).unwrap().show(&mut back).unwrap();
        assert!(back.velocity.is_empty());
    }

    #[test]
    fn empty_space_costs_hardly_any_memory_and_the_oldest_frames_are_dropped() {
        let mut timeline = Timeline::within(LIMIT);
        timeline.record(Frame::of(&snapshot(0, 0)), None);
        assert!(timeline.bytes() < 4000, "{} for 32³ empty cells", timeline.bytes());
        let full = Frame::of(&snapshot(0, 32 * 32 * 32)).bytes();
        let mut timeline = Timeline::within(5 * full / 2);
        (3..9).for_each(|n| timeline.record(Frame::of(&snapshot(n, 32 * 32 * 32)), None));
        assert!(timeline.bytes() <= 5 * full / 2);
        assert_eq!(timeline.range().unwrap()[1], 8);
        assert!(timeline.frame(3).is_none() && timeline.frame(8).is_some());
    }

    #[test]
    fn a_jump_back_drops_later_frames_and_another_run_drops_all() {
        let mut timeline = Timeline::within(LIMIT);
        (0..6).for_each(|n| timeline.record(Frame::of(&snapshot(n, 5)), None));
        timeline.jump(Frame::of(&snapshot(3, 5)), None);
        assert_eq!(timeline.range(), Some([0, 3]));
        timeline.jump(Frame::of(&Snapshot { load: 1, ..snapshot(2, 5) }), None);
        assert_eq!(timeline.range(), Some([0, 2]), "a comparison continues the run");
        timeline.begin_run(2);
        timeline.jump(Frame::of(&Snapshot { load: 2, ..snapshot(1, 5) }), None);
        assert_eq!(timeline.range(), Some([1, 1]));
    }

    #[test]
    fn states_are_wanted_at_first_and_then_at_the_stride() {
        let config = Config { threads: 1, ..Config::new(Dims::new([8; 3]).unwrap(), 0.1) };
        let state = Solver::new(config, Params::default(), vec![]).unwrap().capture();
        let mut timeline = Timeline::within(LIMIT);
        let mut wanted = vec![];
        for n in 0..60 {
            let wants = timeline.wants_state();
            timeline.record(
                Frame::of(&snapshot(n, 5)),
                wants.then(|| Start { state: state.clone(), params: Params::default(), beside: None }),
            );
            wanted.extend(wants.then_some(n));
        }
        assert_eq!(wanted, [0, 24, 48]);
        timeline.edit(Edit::Params(Box::default()));
        let replay = timeline.replay(59).unwrap();
        assert_eq!((replay.steps.len(), replay.edits.len()), (11, 1));
    }

    fn start() -> Start {
        let config = Config { threads: 1, ..Config::new(Dims::new([16; 3]).unwrap(), 0.1) };
        let state = Solver::new(config, Params::default(), vec![]).unwrap().capture();
        Start { state, params: Params::default(), beside: None }
    }

    /// Frames that are hard to pack.
    fn noisy(step: u64) -> Snapshot {
        let mut snapshot = snapshot(step, 0);
        let mut random = step as u32 + 1;
        for cell in &mut snapshot.smoke {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *cell = [f16::from_bits((random >> 18) as u16); 4];
        }
        snapshot
    }

    #[test]
    fn states_are_given_up_before_frames_and_every_frame_can_still_be_recomputed() {
        // Three quarters hold all frames.
        let limit = 41 * Frame::of(&noisy(0)).bytes() * 4 / 3;
        let mut timeline = Timeline::within(limit);
        for n in 0..40 {
            timeline.record(Frame::of(&noisy(n)), Some(start()));
            timeline.stepped(0.04, Duration::from_millis(50));
        }
        assert!(timeline.bytes() <= limit);
        assert_eq!(timeline.range(), Some([0, 39]), "only states were in the way");
        let steps: Vec<_> = (0..40).map(|n| timeline.replay(n).unwrap().steps.len()).collect();
        assert_eq!((steps[0], steps[39]), (0, 0), "the first and the last state stay");
        assert!(steps.iter().all(|steps| *steps < 20), "states are spread over the time: {steps:?}");
    }

    #[test]
    fn frames_are_dropped_one_by_one_and_the_first_one_left_can_be_recomputed() {
        let frame = Frame::of(&noisy(0)).bytes();
        let mut timeline = Timeline::within(LIMIT);
        for n in 0..30 {
            timeline.record(Frame::of(&noisy(n)), (n % 12 == 0).then(start));
            timeline.stepped(0.04, Duration::from_millis(50));
        }
        timeline.limit = timeline.bytes() - 9 * frame / 2;
        timeline.make_room();
        assert_eq!(timeline.range(), Some([5, 29]));
        assert!(timeline.frame(4).is_none() && timeline.replay(4).is_none());
        assert_eq!(timeline.replay(5).unwrap().steps.len(), 5, "from the state of frame 0");
        (0..8).for_each(|_| assert!(timeline.drop_oldest()));
        assert_eq!(timeline.range(), Some([13, 29]));
        assert_eq!(timeline.entries.front().unwrap().number, 12, "what came before serves nothing");
        while timeline.drop_oldest() {}
        assert_eq!((timeline.range(), timeline.replay(29).unwrap().steps.len()), (Some([29, 29]), 5));
        timeline.cut(29);
        assert_eq!((timeline.range(), timeline.bytes()), (None, 0));
    }

    /// Moves frames to the disk as the worker does.
    fn spill(timeline: &mut Timeline, disk: &mut Spill) {
        while let Some(frame) = timeline.to_spill() {
            let bytes = frame.bytes();
            match frame.spill(disk).unwrap() {
                true => timeline.spilled(&frame, bytes),
                false => assert!(timeline.drop_oldest()),
            }
        }
        timeline.set_disk(Some([disk.used(), disk.limit()]));
    }

    #[test]
    fn the_oldest_frames_go_to_the_disk_and_come_back_as_they_were() {
        let frame = Frame::of(&noisy(0)).bytes();
        let mut disk = Spill::new(1 << 30, Box::new(tempfile::tempfile));
        let mut timeline = Timeline::within(5 * frame);
        timeline.set_disk(Some([0, disk.limit()]));
        for n in 0..30 {
            timeline.record(Frame::of(&noisy(n)), None);
            spill(&mut timeline, &mut disk);
        }
        assert!(timeline.bytes() <= 5 * frame, "{} of {}", timeline.bytes(), 5 * frame);
        assert_eq!(timeline.range(), Some([0, 29]));
        assert!(disk.used() > 20 * frame as u64 * 9 / 10);
        let mut back = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
        for n in 0..30 {
            timeline.frame(n).unwrap().show(&mut back).unwrap();
            assert!(back.smoke == noisy(n).smoke && back.stats.step == n);
        }
        timeline.cut(3);
        assert_eq!(timeline.range(), Some([0, 2]));
        timeline.record(Frame::of(&noisy(3)), None);
        assert_eq!(timeline.to_spill().map(|frame| frame.number), None, "there is room again");
        timeline.set_disk(None);
        assert_eq!(timeline.range(), Some([0, 3]), "frames on the disk stay there");
    }

    #[test]
    fn frames_beyond_the_room_of_the_disk_are_dropped() {
        let frame = Frame::of(&noisy(0)).bytes();
        let mut disk = Spill::new(300 << 20, Box::new(tempfile::tempfile));
        let mut timeline = Timeline::within(5 * frame);
        timeline.set_disk(Some([0, disk.limit()]));
        let last = (400 << 20) / frame as u64;
        for n in 0..=last {
            timeline.record(Frame::of(&noisy(n)), None);
            spill(&mut timeline, &mut disk);
            assert!(disk.used() <= disk.limit() && timeline.bytes() <= 5 * frame);
        }
        let [first, end] = timeline.range().unwrap();
        let on_disk = disk.limit() as f64 / (frame as f64 * (last - first + 1) as f64);
        assert!(end == last && (0.9..1.4).contains(&on_disk), "frames {first} to {end}, {on_disk}");
        let mut back = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
        timeline.frame(first).unwrap().show(&mut back).unwrap();
        assert!(back.smoke == noisy(first).smoke);
    }
}
