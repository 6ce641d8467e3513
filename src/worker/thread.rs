//! The loop of the worker's thread.

mod instants;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use triple_buffer::Input;

use super::before_step::BeforeStep;
use super::command::{Batch, Builder, Inbox, Patience};
use super::comparison::{self, Comparison};
use super::recorded_frame::Frame;
use super::replay::{Which, apply};
use super::solid_drag::Drag;
use super::spare_snapshots::SpareSnapshots;
use super::spill::Spill;
use super::state_store::StateStore;
use super::timeline::kept_runs::KeptRuns;
use super::timeline::{Edit, Start, Timeline};
use super::{Clock, RunState, Simulation, Status, limits};
use crate::snapshot::Snapshot;
use crate::solver::{self, Force, InvalidValue, Params, Solid, SolverError, Source};

/// Edits made while running are shown with the next step, unless it is further away than this.
const SOON: Duration = Duration::from_millis(60);

/// Grids up to this many cells record their flow with every frame: it takes a few milliseconds. Larger ones do while a
/// view of the flow is open.
const SMALL: usize = 1 << 19;

/// Receivers of the results.
pub(super) struct Outputs {
    pub(super) snapshots: Input<Arc<Snapshot>>,
    pub(super) status: Input<Status>,
    pub(super) timeline: Arc<Mutex<Timeline>>,
    pub(super) wake: Box<dyn Fn() + Send>,
}

/// Events since the last snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// None, or edits only.
    Nothing,
    /// One step.
    Step,
    /// A jump to another instant or another simulation.
    Jump,
}

/// Edits of one simulation in a batch.
type Edits = (Option<Params>, Option<Vec<Source>>, Option<Vec<Force>>, Option<Vec<Solid>>);

/// State of the thread.
pub(super) struct Engine {
    /// `None` after it failed.
    simulation: Option<Box<dyn Simulation>>,
    /// The simulation beside, and the end of a step that was cancelled.
    comparison: Comparison,
    inbox: Inbox,
    outputs: Outputs,
    clock: Clock,
    status: Status,
    running: bool,
    steps: u32,
    with_velocity: bool,
    serial: u64,
    /// Number of loads, failed ones included.
    loads: u64,
    /// Load that the simulation came from; 0 for the first one.
    load: u64,
    /// Load that the newest snapshot came from.
    shown: u64,
    states: StateStore,
    /// Frames for the states.
    kept: KeptRuns,
    spares: SpareSnapshots,
    /// For the frames that do not fit into memory.
    disk: Option<Spill>,
    /// Targets of the solids, of the simulation and of the one beside.
    drags: [Option<Drag>; 2],
    /// Their states before solids were set in this pause. A solid pushes smoke aside: restoring the state
    /// brings the smoke back before the solid is set elsewhere.
    unmoved: [Option<solver::State>; 2],
    /// Whether the present step was cancelled, and the fields are at no instant.
    is_cut: bool,
    before: BeforeStep,
    /// Whether the fields differ from the last snapshot.
    dirty: bool,
    /// Events since the last snapshot, for the timeline.
    since: Since,
    /// Why an edit was refused, until edits are accepted again.
    refused: Option<String>,
    /// State and error as last reported.
    told: (RunState, Option<String>),
}

impl Engine {
    pub(super) fn new(
        simulation: Box<dyn Simulation>,
        dt: f32,
        inbox: Inbox,
        outputs: Outputs,
        disk: Option<Spill>,
    ) -> Self {
        let dt = limits::step(dt, 1.0 / 24.0);
        let timeline = {
            let mut timeline = lock(&outputs.timeline);
            timeline.set_disk(disk.as_ref().map(|disk| [disk.used(), disk.limit()]));
            timeline.limit()
        };
        Self {
            simulation: Some(simulation),
            comparison: Comparison::default(),
            inbox,
            outputs,
            clock: Clock::new(dt, Instant::now()),
            status: Status::default(),
            running: false,
            steps: 0,
            with_velocity: false,
            serial: 0,
            loads: 0,
            load: 0,
            shown: 0,
            states: StateStore::beside(timeline),
            kept: KeptRuns::default(),
            spares: SpareSnapshots::default(),
            disk,
            drags: [None, None],
            unmoved: [None, None],
            is_cut: false,
            before: BeforeStep::default(),
            dirty: true,
            since: Since::Jump,
            refused: None,
            told: (RunState::Paused, None),
        }
    }

    /// Runs until a quit. A panic of the simulation ends the simulation, not the thread.
    pub(super) fn run(mut self) {
        self.guarded(Self::show);
        loop {
            let batches = self.inbox.collect(self.patience());
            if batches.iter().any(|batch| batch.quit) {
                return;
            }
            self.guarded(|engine| engine.cycle(batches));
        }
    }

    fn guarded(&mut self, work: impl FnOnce(&mut Self)) {
        // A panic may leave inconsistent data in the simulation, which is dropped, or in a snapshot that was
        // not published.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(self))) {
            self.break_down(message(panic.as_ref()));
        }
    }

    fn break_down(&mut self, why: String) {
        if self.shown != self.loads {
            self.status.failed_load = Some(self.loads);
        }
        let broken = (self.simulation.take(), std::mem::take(&mut self.comparison));
        if catch_unwind(AssertUnwindSafe(|| drop(broken))).is_err() {
            tracing::warn!("the simulation that broke down could not be taken apart");
        }
        (self.running, self.steps, self.dirty) = (false, 0, false);
        (self.is_cut, self.before) = (false, BeforeStep::default());
        self.status.state = RunState::Failed(why);
        self.report();
    }

    fn patience(&self) -> Patience {
        match (&self.simulation, self.steps, self.running) {
            (None, ..) => Patience::Forever,
            (_, 1.., _) => Patience::None,
            (_, 0, true) => Patience::Until(self.clock.due()),
            (_, 0, false) => Patience::Forever,
        }
    }

    /// One cycle: executes the commands, takes the step that is due, publishes changes.
    fn cycle(&mut self, batches: Vec<Batch>) {
        batches.iter().filter_map(|batch| batch.restore).for_each(|number| self.states.set_aside(number));
        batches.into_iter().for_each(|batch| self.carry_out(batch));
        self.states.drop_aside();
        // A jump is recorded before its instant is left.
        if self.since == Since::Jump && self.dirty {
            self.show();
        }
        let stepped = self.step_is_due();
        if stepped {
            self.step();
        }
        if self.dirty && !self.is_cut && (stepped || !self.step_is_near()) {
            self.show();
        } else {
            self.report();
        }
    }

    fn step_is_due(&self) -> bool {
        self.simulation.is_some() && (self.steps > 0 || (self.running && Instant::now() >= self.clock.due()))
    }

    /// Whether the next step will show the edits soon enough.
    fn step_is_near(&self) -> bool {
        self.running && self.clock.due().saturating_duration_since(Instant::now()) < SOON
    }

    /// Executes a batch. The trouble of an earlier edit is over once edits are accepted.
    fn carry_out(&mut self, batch: Batch) {
        let edits = batch.edits();
        let earlier = self.refused.take();
        self.execute(batch);
        if self.refused.is_none() && earlier.is_some() {
            if !edits {
                self.refused = earlier;
            } else if self.status.trouble == earlier {
                self.status.trouble = None;
            }
        }
    }

    /// Reports an edit that was refused.
    fn refuse(&mut self, why: String) {
        self.refused = Some(why.clone());
        self.status.trouble = Some(why);
        self.dirty = true;
    }

    fn execute(&mut self, batch: Batch) {
        self.set_velocity(batch.velocity);
        let is_replaced =
            batch.load.is_some() || batch.restore.is_some() || batch.live.is_some() || batch.clear;
        if !is_replaced || batch.store.is_some() || batch.swap || batch.compare.is_some() {
            self.take_back();
        }
        if let Some(number) = batch.store {
            self.store_state(number);
        }
        let loaded = batch.load.is_none_or(|(builder, dt)| self.load(builder, dt));
        if batch.swap {
            self.swap();
        }
        if let Some(builder) = batch.compare {
            self.compare(builder, loaded);
        }
        if let Some(number) = batch.restore {
            self.restore(number);
        }
        if let Some(number) = batch.live {
            self.live(number);
        }
        if !batch.clear {
            self.take_back();
        }
        let Some(simulation) = &mut self.simulation else {
            return;
        };
        if batch.clear {
            simulation.clear();
            self.comparison.clear();
            self.is_cut = false;
            self.unmoved = [None, None];
            let mut timeline = lock(&self.outputs.timeline);
            self.kept.keep(&timeline);
            timeline.cut(0);
            drop(timeline);
            (self.since, self.steps) = (Since::Jump, 0);
            self.clock.reset(Instant::now());
            self.status.lag = 0.0;
            self.dirty = true;
        }
        let mut dropped = batch.dropped.map(SolverError::from);
        for dab in &batch.dabs {
            match simulation.dab(dab).and_then(|()| self.comparison.dab(dab)) {
                Ok(()) => lock(&self.outputs.timeline).edit(Edit::Dab(*dab)),
                Err(error) => dropped = Some(error),
            }
        }
        if let Some(error) = dropped {
            self.refuse(format!("Nothing is added: {error}"));
        }
        if !batch.dabs.is_empty() {
            (self.dirty, self.unmoved) = (true, [None, None]);
        }
        self.set_pace(batch.step, batch.run, (batch.steps, batch.drops_steps));
        let edits = |batch: Batch| (batch.params, batch.sources, batch.forces, batch.solids);
        let (beside, edits) = (
            batch.beside.map(|beside| edits(*beside)),
            (batch.params, batch.sources, batch.forces, batch.solids),
        );
        self.make_edits(Which::Present, edits);
        if let Some(edits) = beside {
            self.make_edits(Which::Beside, edits);
        }
    }

    /// The simulation, or the one beside it.
    fn simulation(&mut self, which: Which) -> Option<&mut Box<dyn Simulation>> {
        match which {
            Which::Present => self.simulation.as_mut(),
            Which::Beside => self.comparison.beside.as_mut(),
        }
    }

    fn make_edits(&mut self, which: Which, (params, sources, forces, solids): Edits) {
        let Some(simulation) = self.simulation(which) else {
            return;
        };
        let mut edits = Vec::new();
        if let Some(params) = params {
            edits.push(Edit::Params(Box::new(limits::params(&params, simulation.params()))));
        }
        let mut refused = None;
        let mut valid = |edit: Result<Edit, InvalidValue>| {
            edit.map_err(|invalid| refused = Some(SolverError::from(invalid))).ok()
        };
        edits.extend(sources.and_then(|sources| valid(limits::sources(sources).map(Edit::Sources))));
        edits.extend(forces.and_then(|forces| valid(limits::forces(forces).map(Edit::Forces))));
        edits.retain(|edit| apply(&mut **simulation, edit).map_err(|error| refused = Some(error)).is_ok());
        let mut timeline = lock(&self.outputs.timeline);
        edits.into_iter().for_each(|edit| timeline.edit(which.of(edit)));
        drop(timeline);
        if let Some(error) = refused {
            self.refuse(format!("The old settings stay: {error}"));
        }
        match solids.map(limits::solids) {
            None => {}
            Some(Err(invalid)) => self.refuse(format!("The solids stay as they are: {invalid}")),
            Some(Ok(solids)) => {
                self.drags[which as usize] = Some(Drag::to(solids));
                if !self.running {
                    self.jump_solids(which);
                }
            }
        }
    }

    /// Moves the solids to their target at once.
    fn jump_solids(&mut self, which: Which) {
        let Some(Drag { solids }) = self.drags[which as usize].take() else { return };
        let unmoved = self.unmoved[which as usize].take();
        let Some(simulation) = self.simulation(which) else { return };
        let is_back = unmoved.as_ref().is_some_and(|state| simulation.restore(state).is_ok());
        let unmoved = if is_back { unmoved } else { simulation.state() };
        if is_back {
            lock(&self.outputs.timeline).forget(|edit| which.sets_solids(edit));
        }
        self.unmoved[which as usize] = unmoved;
        self.set_solids(which, solids);
    }

    /// Moves the solids towards their target in the next step.
    fn guide_solids(&mut self, which: Which) {
        let Some(drag) = self.drags[which as usize].take() else { return };
        let dt = self.clock.dt();
        let Some(simulation) = self.simulation(which) else { return };
        let (time, h) = simulation.scale();
        match drag.next(simulation.solids(), time, dt, h) {
            Some((solids, rests)) => {
                self.set_solids(which, solids);
                self.drags[which as usize] = Some(drag).filter(|_| !rests);
            }
            None => self.set_solids(which, drag.solids),
        }
    }

    fn set_solids(&mut self, which: Which, solids: Vec<Solid>) {
        let Some(simulation) = self.simulation(which) else {
            return;
        };
        match simulation.set_solids(solids.clone()) {
            Ok(()) => lock(&self.outputs.timeline).edit(which.of(Edit::Solids(solids))),
            Err(error) => self.refuse(format!("The solids stay as they are: {error}")),
        }
        self.dirty = true;
    }

    /// Replaces the simulation. Returns whether it could be built.
    fn load(&mut self, builder: Builder, dt: f32) -> bool {
        self.loads += 1;
        let built = builder();
        let is_built = built.is_ok();
        match built {
            Ok(simulation) => {
                self.load = self.loads;
                self.simulation = Some(simulation);
                self.comparison = Comparison::default();
                (self.is_cut, self.before) = (false, BeforeStep::default());
                let mut timeline = lock(&self.outputs.timeline);
                self.kept.keep(&timeline);
                timeline.begin_run(self.load);
                drop(timeline);
                self.clock = Clock::new(limits::step(dt, self.clock.dt()), Instant::now());
                (self.since, self.steps) = (Since::Jump, 0);
                (self.running, self.drags, self.unmoved) = (false, [None, None], [None, None]);
                (self.status.lag, self.status.trouble) = (0.0, None);
                self.dirty = true;
            }
            Err(error) => {
                self.status.failed_load = Some(self.loads);
                self.status.trouble = Some(format!("The scene could not be loaded: {error}"));
            }
        }
        is_built
    }

    /// Exchanges the simulation and the one beside.
    fn swap(&mut self) {
        if let (Some(simulation), Some(beside)) = (&mut self.simulation, &mut self.comparison.beside) {
            std::mem::swap(simulation, beside);
            self.drags.swap(0, 1);
            self.unmoved.swap(0, 1);
            (self.since, self.dirty) = (Since::Jump, true);
        }
    }

    /// Begins a comparison with a simulation at the present instant, or ends it. Counts as a load; it fails with the
    /// load that it came with.
    fn compare(&mut self, builder: Option<Builder>, loaded: bool) {
        self.loads += 1;
        let Some(simulation) = self.simulation.as_ref().filter(|_| loaded) else {
            self.status.failed_load = Some(self.loads);
            return;
        };
        match comparison::begin(&**simulation, builder) {
            Ok(comparison) => {
                self.load = self.loads;
                self.comparison = comparison;
                (self.drags[1], self.unmoved[1]) = (None, None);
                (self.since, self.dirty) = (Since::Jump, true);
            }
            Err(error) => {
                self.status.failed_load = Some(self.loads);
                self.status.trouble = Some(format!("Nothing to compare with: {error}"));
            }
        }
    }

    fn set_pace(&mut self, step: Option<f32>, run: Option<bool>, (steps, drops_steps): (u32, bool)) {
        if let Some(dt) = step {
            self.clock.set_dt(limits::step(dt, self.clock.dt()));
        }
        if let Some(run) = run {
            if run && !self.running {
                self.clock.resume(Instant::now());
            }
            self.running = run;
        }
        let earlier = if drops_steps { 0 } else { self.steps };
        self.steps = earlier + steps;
    }

    fn set_velocity(&mut self, wanted: Option<bool>) {
        let wanted = wanted.unwrap_or(self.with_velocity);
        self.dirty |= wanted && !self.with_velocity;
        self.with_velocity = wanted;
    }

    fn step(&mut self) {
        self.unmoved = [None, None];
        self.guide_solids(Which::Present);
        self.guide_solids(Which::Beside);
        let Some(simulation) = &mut self.simulation else {
            return;
        };
        // The timeline may have stored it.
        if lock(&self.outputs.timeline).has_last_state() {
            self.before.forget();
        } else {
            self.before.keep(&**simulation, &self.comparison, self.status.step);
        }
        self.status.stepping = true;
        self.outputs.status.write(self.status.clone());
        let begin = Instant::now();
        let result = self.comparison.step(&mut **simulation, self.clock.dt(), self.inbox.cancelled());
        self.status.stepping = false;
        match result {
            Ok(()) => self.finish_step(begin),
            // The command that cancelled decides whether to return to the instant before.
            Err(SolverError::Cancelled) => {
                self.is_cut = true;
                self.write_status();
                (self.outputs.wake)();
            }
            Err(error) => self.break_down(error.to_string()),
        }
    }

    fn finish_step(&mut self, begin: Instant) {
        let now = Instant::now();
        self.before.forget();
        self.status.step = now - begin;
        self.dirty = true;
        if self.since == Since::Nothing {
            self.since = Since::Step;
        }
        lock(&self.outputs.timeline).stepped(self.clock.dt(), self.status.step);
        if self.steps > 0 {
            self.steps -= 1;
        } else {
            self.clock.stepped(now);
        }
    }

    /// Captures a snapshot of the present instant and publishes it.
    fn show(&mut self) {
        let Some(simulation) = &self.simulation else {
            return self.report();
        };
        let begin = Instant::now();
        let slot = self.spares.writable(self.outputs.snapshots.input_buffer_mut());
        // The grid of the last snapshot in this slot; the first frames of a new one may differ.
        let keeps_flow = self.with_velocity || slot.dims.cells() <= SMALL;
        simulation.capture(slot, keeps_flow);
        self.serial += 1;
        slot.serial = self.serial;
        slot.load = self.load;
        self.comparison.capture(slot, keeps_flow);
        self.shown = self.load;
        self.status.simulated = slot.time;
        let start =
            |state| Start { state, params: simulation.params().clone(), beside: self.comparison.start() };
        let since = std::mem::replace(&mut self.since, Since::Nothing);
        // Packing takes long in a large box; whoever shows the timeline does not wait for it.
        let wants_state = match since {
            Since::Nothing => false,
            Since::Jump => true,
            Since::Step => lock(&self.outputs.timeline).wants_state(),
        };
        let state = wants_state.then(|| simulation.state().map(start)).flatten();
        let frame = Frame::of(slot);
        let mut timeline = lock(&self.outputs.timeline);
        match since {
            Since::Nothing => timeline.retouch(frame),
            Since::Jump => timeline.jump(frame, state),
            Since::Step => timeline.record(frame, state),
        }
        self.kept.make_room(&timeline, self.states.first());
        drop(timeline);
        if !self.with_velocity {
            // It was for the timeline only: the picture does not upload it.
            slot.velocity.clear();
            slot.beside.iter_mut().for_each(|beside| beside.velocity.clear());
        }
        self.outputs.snapshots.publish();
        self.status.capture = begin.elapsed();
        self.dirty = false;
        self.write_status();
        (self.outputs.wake)();
        self.spill();
    }

    /// Moves the oldest frames to the disk while the memory is full. Nobody who shows the timeline waits for the disk.
    fn spill(&mut self) {
        let Some(disk) = &mut self.disk else { return };
        loop {
            let Some(frame) = lock(&self.outputs.timeline).to_spill() else { break };
            let bytes = frame.bytes();
            match frame.spill(disk) {
                Ok(true) => lock(&self.outputs.timeline).spilled(&frame, bytes),
                Ok(false) if self.kept.drop_oldest() => {}
                Ok(false) => drop(lock(&self.outputs.timeline).drop_oldest()),
                Err(error) => {
                    self.status.trouble = Some(format!("Recorded frames no longer go to the disk: {error}"));
                    lock(&self.outputs.timeline).set_disk(None);
                    self.disk = None;
                    return self.report();
                }
            }
        }
        let room = [disk.used(), disk.limit()];
        lock(&self.outputs.timeline).set_disk(Some(room));
    }

    /// Publishes the status; wakes the receiver if it has changed.
    fn report(&mut self) {
        let told = self.told.clone();
        self.write_status();
        if self.told != told {
            (self.outputs.wake)();
        }
    }

    fn write_status(&mut self) {
        if self.simulation.is_some() {
            self.status.state = if self.running { RunState::Running } else { RunState::Paused };
        }
        if self.running {
            self.status.lag = self.clock.lag(Instant::now());
        }
        self.status.speed = self.clock.speed();
        self.told = (self.status.state.clone(), self.status.trouble.clone());
        self.outputs.status.write(self.status.clone());
    }
}

fn lock(timeline: &Mutex<Timeline>) -> MutexGuard<'_, Timeline> {
    timeline.lock().unwrap_or_else(PoisonError::into_inner)
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}
