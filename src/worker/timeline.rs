//! The recorded frames of a run, and the data to continue from any of them.
//!
//! A frame is a step. Each is stored as half floats without its empty runs. Every few frames the whole state
//! of the simulation is stored too, and with each frame the edits made after it. So any frame can be
//! recomputed bit for bit: from the state before it, with the same edits and steps. The oldest frames are
//! dropped when the memory is full.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::grid::Dims;
use crate::packed::Packed;
use crate::snapshot::{Bricks, Snapshot, SolidPose};
use crate::solver::{Dab, Force, Params, Solid, Source, State, StepStats};

/// Memory for frames \[bytes\].
pub const LIMIT: usize = 1 << 30;

/// Memory for the flow of the newest frames, beside that \[bytes\].
pub const FLOW_LIMIT: usize = 256 << 20;

/// Most frames between two states.
const STRIDE: usize = 24;
/// Fewest frames between two states, however slow steps are.
const LEAST_STRIDE: usize = 4;
/// Longest recomputation of a frame, if the stride allows.
const PATIENCE: Duration = Duration::from_secs(2);

/// A recorded frame: the smoke of a snapshot.
#[derive(Debug)]
pub struct Frame {
    /// Steps since the start of the run.
    pub number: u64,
    /// Simulated time \[s\].
    pub time: f64,
    dims: Dims,
    h: f32,
    origin: [i32; 3],
    start: [[f32; 3]; 2],
    load: u64,
    smoke: Packed,
    /// Velocity and vorticity, of the newest frames.
    flow: Mutex<Option<Packed>>,
    solids: Vec<SolidPose>,
    stats: StepStats,
    /// The frame of the simulation beside, during a comparison.
    beside: Option<Box<Frame>>,
}

impl Frame {
    /// Packs a snapshot. A large one takes a while: do it before the timeline is locked.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self {
            number: snapshot.stats.step,
            time: snapshot.time,
            dims: snapshot.dims,
            h: snapshot.h,
            origin: snapshot.origin,
            start: snapshot.start,
            load: snapshot.load,
            smoke: Packed::of(&snapshot.smoke),
            flow: Mutex::new((!snapshot.velocity.is_empty()).then(|| Packed::of(&snapshot.velocity))),
            solids: snapshot.solids.clone(),
            stats: snapshot.stats.clone(),
            beside: snapshot.beside.as_deref().map(|beside| Box::new(Self::of(beside))),
        }
    }

    /// Writes the frame into a snapshot, whose memory is reused and whose serial grows.
    pub fn show(&self, into: &mut Snapshot) {
        if into.dims != self.dims {
            into.bricks = Bricks::empty(self.dims);
        }
        (into.dims, into.h, into.time, into.load) = (self.dims, self.h, self.time, self.load);
        (into.origin, into.start) = (self.origin, self.start);
        into.serial += 1;
        into.smoke.resize(self.dims.cells(), Default::default());
        self.smoke.unpack(&mut into.smoke);
        into.velocity.clear();
        if let Some(flow) = &*self.flow() {
            into.velocity.resize(self.dims.cells(), Default::default());
            flow.unpack(&mut into.velocity);
        }
        into.bricks.update(self.dims, &into.smoke);
        into.solids.clone_from(&self.solids);
        into.stats.clone_from(&self.stats);
        match &self.beside {
            Some(frame) => {
                let empty = || Box::new(Snapshot::empty(self.dims, self.h));
                frame.show(into.beside.get_or_insert_with(empty));
            }
            None => into.beside = None,
        }
    }

    fn flow(&self) -> MutexGuard<'_, Option<Packed>> {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it holds the velocity too.
    pub fn has_flow(&self) -> bool {
        self.flow().is_some()
    }

    /// Memory of the flow \[bytes\].
    fn flow_bytes(&self) -> usize {
        let own = self.flow().as_ref().map_or(0, Packed::bytes);
        own + self.beside.as_ref().map_or(0, |frame| frame.flow_bytes())
    }

    fn drop_flow(&self) {
        *self.flow() = None;
        self.beside.iter().for_each(|frame| frame.drop_flow());
    }

    /// Cells along each axis.
    pub fn dims(&self) -> Dims {
        self.dims
    }

    /// Edge of a cell \[m\].
    pub fn voxel(&self) -> f32 {
        self.h
    }

    fn bytes(&self) -> usize {
        let beside = self.beside.as_ref().map_or(0, |frame| frame.bytes());
        size_of::<Self>() + self.smoke.bytes() + self.solids.len() * size_of::<SolidPose>() + beside
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
#[derive(Debug)]
struct Entry {
    frame: Arc<Frame>,
    /// State and parameters before `edits`.
    state: Option<Arc<Start>>,
    edits: Vec<Edit>,
    /// Length of the step to the next frame \[s\], and the wall time it took.
    step: (f32, Duration),
}

impl Entry {
    fn bytes(&self) -> usize {
        let edits = self.edits.len() * (size_of::<Edit>() + size_of::<Params>());
        self.frame.bytes() + edits + self.state.as_ref().map_or(0, |start| start.bytes())
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
    /// The load that the present run began with. Later ones continue it, as a comparison does.
    run: u64,
}

impl Timeline {
    /// Makes an empty timeline of at most `limit` bytes.
    pub(super) fn within(limit: usize) -> Self {
        Self { limit, bytes: 0, entries: VecDeque::new(), run: 0 }
    }

    /// Numbers of the first and the last frame.
    pub fn range(&self) -> Option<[u64; 2]> {
        Some([self.entries.front()?.frame.number, self.entries.back()?.frame.number])
    }

    /// Size of all frames and states \[bytes\].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of the first frame with its flow; all after it have theirs, or none has.
    pub fn first_flow(&self) -> Option<u64> {
        let with = self.entries.iter().rev().take_while(|entry| entry.frame.has_flow());
        with.last().map(|entry| entry.frame.number)
    }

    /// Drops the flow of the oldest frames until the rest fits into its memory.
    fn drop_old_flows(&mut self) {
        let mut left = FLOW_LIMIT;
        for entry in self.entries.iter().rev() {
            match left.checked_sub(entry.frame.flow_bytes()) {
                Some(rest) => left = rest,
                None => {
                    entry.frame.drop_flow();
                    left = 0;
                }
            }
        }
    }

    /// Returns a frame by its number.
    pub fn frame(&self, number: u64) -> Option<Arc<Frame>> {
        self.place(number).map(|at| self.entries[at].frame.clone())
    }

    fn place(&self, number: u64) -> Option<usize> {
        let at = number.checked_sub(self.range()?[0])? as usize;
        (at < self.entries.len()).then_some(at)
    }

    /// Whether the next frame must come with its state.
    pub(super) fn wants_state(&self) -> bool {
        let since = self.entries.iter().rev().take_while(|entry| entry.state.is_none()).count();
        let wall: Duration = self.entries.iter().rev().take(since + 1).map(|entry| entry.step.1).sum();
        since == self.entries.len() || since + 1 >= STRIDE || since + 1 >= LEAST_STRIDE && wall > PATIENCE
    }

    /// Records an edit after the last frame.
    pub(super) fn edit(&mut self, edit: Edit) {
        if let Some(last) = self.entries.back_mut() {
            self.bytes -= last.bytes();
            last.edits.push(edit);
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
            self.entries.clear();
            self.bytes = 0;
        }
        let (frame, state) = (Arc::new(frame), state.map(Arc::new));
        let entry = Entry { frame, state, edits: vec![], step: (0.0, Duration::ZERO) };
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        self.drop_oldest();
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
            last.frame = Arc::new(frame);
            self.bytes += last.bytes();
        }
    }

    /// Drops the frames from `number` on.
    pub(super) fn cut(&mut self, number: u64) {
        while self.entries.back().is_some_and(|last| last.frame.number >= number) {
            self.bytes -= self.entries.pop_back().map_or(0, |entry| entry.bytes());
        }
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

    /// Drops the oldest state with its frames, but never the last frame.
    fn drop_oldest(&mut self) {
        while self.bytes > self.limit && self.entries.len() > 1 {
            self.drop_first();
            while self.entries.len() > 1 && self.entries[0].state.is_none() {
                self.drop_first();
            }
        }
    }

    fn drop_first(&mut self) {
        self.bytes -= self.entries.pop_front().map_or(0, |entry| entry.bytes());
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::solver::{Config, Solver};

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
        timeline.frame(7).unwrap().show(&mut back);
        let shown = snapshot(7, 777);
        assert!(back.smoke == shown.smoke && back.time == shown.time && back.dims == shown.dims);
        assert_eq!(back.bricks.max, Bricks::of(shown.dims, &shown.smoke).max);
    }

    #[test]
    fn the_newest_frames_keep_their_flow_within_its_memory() {
        let cells = 32 * 32 * 32;
        let flowing = |step: u64| {
            let mut snapshot = snapshot(step, 5);
            snapshot.velocity = vec![[f16::from_f32(step as f32 + 1.0); 4]; cells];
            snapshot
        };
        let mut timeline = Timeline::within(LIMIT);
        let fit = (FLOW_LIMIT / (8 * cells)) as u64;
        (0..fit + 20).for_each(|n| timeline.record(Frame::of(&flowing(n)), None));
        let first = timeline.first_flow().unwrap();
        assert!((20..24).contains(&first), "{first} of {fit}");
        let mut back = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
        timeline.frame(first).unwrap().show(&mut back);
        assert_eq!(back.velocity, flowing(first).velocity);
        timeline.frame(first - 1).unwrap().show(&mut back);
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
}
