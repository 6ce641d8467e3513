//! Tests the worker thread with simulations that are slow, that count, or that fail.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use half::f16;
use updraft::grid::Dims;
use updraft::snapshot::Snapshot;
use updraft::solver::{
    Config, Dab, Force, ForceField, Params, Region, Shape, Solid, Solver, SolverError, Source, State,
};
use updraft::worker::{Command, Recording, RunState, Simulation, Spill, Worker};

const DT: f32 = 0.01;
const PATIENCE: Duration = Duration::from_secs(20);

/// A simulation that counts; its snapshot is one cell with the number of dabs and of steps.
#[derive(Default)]
struct Counter {
    params: Params,
    dabs: u32,
    steps: u32,
    /// Wall time of a step, which reads `cancel` every millisecond.
    slow: Duration,
    panics_at_step: Option<u32>,
    begun: Arc<AtomicUsize>,
    sources: usize,
}

impl Simulation for Counter {
    fn params(&self) -> &Params {
        &self.params
    }

    fn set_params(&mut self, params: Params) -> Result<(), SolverError> {
        self.params = params;
        Ok(())
    }

    fn set_sources(&mut self, sources: Vec<Source>) -> Result<(), SolverError> {
        self.sources = sources.len();
        Ok(())
    }

    fn set_forces(&mut self, forces: Vec<Force>) -> Result<(), SolverError> {
        self.sources += 100 * forces.len();
        Ok(())
    }

    fn dab(&mut self, _: &Dab) -> Result<(), SolverError> {
        self.dabs += 1;
        Ok(())
    }

    fn clear(&mut self) {
        (self.dabs, self.steps) = (0, 0);
    }

    fn step(&mut self, _: f32, cancel: &AtomicBool) -> Result<(), SolverError> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        assert_ne!(Some(self.steps), self.panics_at_step, "the flow broke on purpose");
        let end = Instant::now() + self.slow;
        while Instant::now() < end {
            if cancel.load(Ordering::Relaxed) {
                return Err(SolverError::Cancelled);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.steps += 1;
        Ok(())
    }

    fn capture(&self, into: &mut Snapshot, with_velocity: bool) {
        into.dims = Dims::new([1, 1, 1]).unwrap();
        into.time = f64::from(self.steps) * f64::from(DT);
        into.stats.step = self.steps.into();
        let numbers = [self.dabs as f32, self.steps as f32, self.params.vorticity, self.sources as f32];
        into.smoke = vec![numbers.map(f16::from_f32)];
        into.velocity = if with_velocity { vec![[f16::ONE; 4]] } else { Vec::new() };
    }
}

/// A worker and the receiver of its wake callback.
struct Rig {
    worker: Worker,
    woken: mpsc::Receiver<()>,
}

impl Rig {
    fn new(simulation: Counter) -> Self {
        let (wake, woken) = mpsc::channel();
        let wake = move || wake.send(()).unwrap_or_default();
        let worker = Worker::spawn(simulation, DT, wake);
        Self { worker, woken }
    }

    fn send(&self, commands: impl IntoIterator<Item = Command>) {
        commands.into_iter().for_each(|c| self.worker.send(c));
    }

    /// Waits for wakes until `holds` is true.
    fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Worker) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.worker.latest();
            if holds(&mut self.worker) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(self.woken.recv_timeout(left).is_ok(), "never happened: {what}");
        }
    }

    fn dabs(&self) -> f32 {
        cell(&self.worker)[0]
    }

    fn steps(&self) -> f32 {
        cell(&self.worker)[1]
    }
}

fn cell(worker: &Worker) -> [f32; 4] {
    worker.shown().smoke[0].map(f16::to_f32)
}

fn dab() -> Command {
    Command::Dab(Dab { center: [0.5; 3], radius: 0.1, add: [1.0, 0.0, 0.0, 0.0], push: [0.0; 3], erase: 0.0 })
}

#[test]
fn sources_and_forces_reach_the_simulation() {
    let mut rig = Rig::new(Counter::default());
    let source = Source::new(Region::sphere([0.5; 3], 0.1), [1.0; 4]);
    let force = Force::new(ForceField::Wind([1.0, 0.0, 0.0]));
    rig.send([Command::SetSources(vec![source]), Command::SetForces(vec![force; 2]), Command::Step]);
    rig.until("a source and two forces", |w| cell(w)[3] == 201.0);
}

#[test]
fn the_first_snapshot_comes_without_being_asked_for() {
    let mut rig = Rig::new(Counter::default());
    rig.until("a first snapshot", |w| w.shown().serial == 1);
    assert_eq!(rig.worker.status().state, RunState::Paused);
    assert!(rig.worker.latest().is_none(), "the same snapshot is news only once");
}

#[test]
fn edits_while_paused_are_seen_at_once_and_no_time_passes() {
    let mut rig = Rig::new(Counter::default());
    rig.send((0..50).map(|_| dab()));
    rig.until("50 dabs", |w| cell(w)[0] == 50.0);
    assert_eq!(rig.steps(), 0.0);
    assert_eq!(rig.worker.shown().time, 0.0);
}

#[test]
fn serials_grow_over_the_three_slots() {
    let mut rig = Rig::new(Counter::default());
    let mut last = 0;
    for n in 1..=10 {
        rig.send([dab()]);
        rig.until("one more dab", |w| cell(w)[0] == n as f32);
        let serial = rig.worker.shown().serial;
        assert!(serial > last, "serial {serial} after {last}");
        last = serial;
    }
}

/// A solid pushes smoke aside. In a pause only its last place counts, also for a run that goes on from a
/// recorded frame.
#[test]
fn a_solid_that_comes_and_goes_in_a_pause_leaves_the_smoke_as_it_was() {
    let config = Config { threads: 1, ..Config::new(Dims::new([16; 3]).unwrap(), 1.0 / 16.0) };
    let mut solver = Solver::new(config, Params::default(), vec![]).unwrap();
    solver.fill(|_, _| 0.0, |[x, y, _]| [(9.0 * x).sin().abs(), y, 0.0, 0.0]);
    let (wake, woken) = mpsc::channel();
    let mut rig = Rig { worker: Worker::spawn(solver, DT, move || wake.send(()).unwrap_or_default()), woken };
    rig.until("the smoke", |worker| worker.shown().smoke.iter().any(|cell| cell[0] > f16::ZERO));
    let before = rig.worker.shown().smoke.clone();
    let ball = |x: f32| vec![Solid::new(Shape::Sphere { radius: 0.2 }, [x, 0.5, 0.5])];
    for solids in [ball(0.3), ball(0.5), ball(0.7)] {
        let serial = rig.worker.shown().serial;
        rig.send([Command::SetSolids(solids)]);
        rig.until("the ball", |worker| worker.shown().serial > serial);
        assert_ne!(rig.worker.shown().smoke, before);
    }
    let serial = rig.worker.shown().serial;
    rig.send([Command::SetSolids(vec![])]);
    rig.until("no ball", |worker| worker.shown().serial > serial);
    assert_eq!(rig.worker.shown().smoke, before);

    rig.send([Command::SetSolids(ball(0.4))]);
    rig.send([Command::Step]);
    rig.until("a step", |worker| worker.timeline().range() == Some([0, 1]));
    rig.until("its picture", |worker| worker.shown().stats.step == 1);
    let after = rig.worker.shown().smoke.clone();
    rig.send([Command::Live(0)]);
    rig.send([Command::Step]);
    rig.until("the step again", |worker| {
        worker.shown().stats.step == 1 && worker.shown().serial > serial + 2
    });
    assert_eq!(rig.worker.shown().smoke, after);
}

#[test]
fn a_step_is_one_step() {
    let mut rig = Rig::new(Counter::default());
    rig.send([Command::Step]);
    rig.until("a step", |w| cell(w)[1] == 1.0);
    rig.send([Command::Run, Command::Step, Command::Step]);
    rig.until("two more", |w| cell(w)[1] == 3.0);
    std::thread::sleep(Duration::from_millis(50));
    rig.worker.latest();
    assert_eq!(rig.steps(), 3.0, "a step pauses a running simulation");
}

/// A step that arrived while another was computed once dropped those that still waited.
#[test]
fn steps_wait_for_those_before_them() {
    let begun = Arc::new(AtomicUsize::new(0));
    let slow = Duration::from_millis(100);
    let mut rig = Rig::new(Counter { slow, begun: begun.clone(), ..Counter::default() });
    rig.worker.hold();
    rig.send([Command::Step, Command::Step]);
    rig.worker.release();
    while begun.load(Ordering::Relaxed) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    rig.send([Command::Step]);
    rig.until("three steps", |w| cell(w)[1] == 3.0);
    // A pause drops those that wait.
    rig.send([Command::Step, Command::Step, Command::Step, Command::Pause]);
    std::thread::sleep(5 * slow);
    rig.worker.latest();
    assert!(rig.steps() <= 4.0, "{} steps", rig.steps());
}

#[test]
fn running_keeps_to_the_wall_clock_and_pausing_stops_time() {
    let mut rig = Rig::new(Counter::default());
    let begin = Instant::now();
    rig.send([Command::Run]);
    rig.until("30 steps", |w| cell(w)[1] >= 30.0);
    let wall = begin.elapsed().as_secs_f32();
    assert!(wall > 0.8 * 29.0 * DT, "30 steps of {DT} s took only {wall} s");
    rig.send([Command::Pause]);
    rig.until("a pause", |w| w.status().state == RunState::Paused);
    let steps = rig.steps();
    std::thread::sleep(Duration::from_millis(60));
    rig.worker.latest();
    assert_eq!(rig.steps(), steps);
}

#[test]
fn a_slow_simulation_says_how_far_it_is_behind() {
    let slow = Duration::from_millis(40);
    let mut rig = Rig::new(Counter { slow, ..Counter::default() });
    rig.send([Command::Run]);
    rig.until("ten slow steps", |w| cell(w)[1] >= 10.0);
    let status = rig.worker.status().clone();
    assert!(status.lag > 0.2, "ten steps of 10 ms in at least 400 ms: behind by {} s", status.lag);
    assert!(status.speed < 0.3, "speed {}", status.speed);
    assert!(status.step >= slow);
    rig.send([Command::Clear]);
    rig.until("a clean start", |w| w.status().lag < 0.2);
}

#[test]
fn clear_cuts_the_step_under_way_short_and_the_run_goes_on() {
    let begun = Arc::new(AtomicUsize::new(0));
    let slow = Duration::from_secs(30);
    let mut rig = Rig::new(Counter { slow, begun: begun.clone(), dabs: 7, ..Counter::default() });
    rig.send([Command::Run]);
    wait_for(|| begun.load(Ordering::Relaxed) == 1);
    rig.send([dab(), Command::Clear, dab()]);
    wait_for(|| begun.load(Ordering::Relaxed) == 2);
    rig.send([Command::Cancel]);
    rig.until("the clear", |w| cell(w)[0] == 1.0 && w.status().state == RunState::Paused);
    assert_eq!(rig.steps(), 0.0, "no step of 30 s was finished");
}

/// A solver whose steps are cancelled in their middle, on request.
struct Halved {
    solver: Solver,
    /// Whether the next steps wait in their middle until they are cancelled.
    waits: Arc<AtomicBool>,
    /// Steps that wait or have waited.
    waited: Arc<AtomicUsize>,
    /// Least wall time of a step.
    slow: Duration,
}

impl Simulation for Halved {
    fn params(&self) -> &Params {
        self.solver.params()
    }
    fn set_params(&mut self, params: Params) -> Result<(), SolverError> {
        self.solver.set_params(params)
    }
    fn set_sources(&mut self, sources: Vec<Source>) -> Result<(), SolverError> {
        self.solver.set_sources(sources)
    }
    fn set_forces(&mut self, forces: Vec<Force>) -> Result<(), SolverError> {
        self.solver.set_forces(forces)
    }
    fn dab(&mut self, dab: &Dab) -> Result<(), SolverError> {
        self.solver.dab(dab)
    }
    fn clear(&mut self) {
        self.solver.clear();
    }
    fn step(&mut self, dt: f32, cancel: &AtomicBool) -> Result<(), SolverError> {
        std::thread::sleep(self.slow);
        if self.waits.load(Ordering::Relaxed) {
            self.solver.step(0.5 * dt)?;
            self.waited.fetch_add(1, Ordering::Relaxed);
            wait_for(|| cancel.load(Ordering::Relaxed));
            return Err(SolverError::Cancelled);
        }
        self.solver.step(dt).map(|_| ())
    }
    fn state(&self) -> Option<State> {
        Some(self.solver.capture())
    }
    fn restore(&mut self, state: &State) -> Result<(), SolverError> {
        self.solver.restore(state)
    }
    fn capture(&self, into: &mut Snapshot, with_velocity: bool) {
        Simulation::capture(&self.solver, into, with_velocity);
    }
}

/// A cancelled step is taken back bit for bit: from the state before it, kept before long steps, or from one
/// of the timeline.
#[test]
fn a_cancelled_step_is_taken_back_bit_for_bit() {
    for slow in [Duration::ZERO, Duration::from_millis(1050)] {
        let config = Config { threads: 2, ..Config::new(Dims::new([16, 24, 16]).unwrap(), 0.05) };
        let source = Source::new(Region::sphere([0.4, 0.3, 0.4], 0.15), [4.0, 0.0, 0.0, 300.0]);
        let solver = || Solver::new(config.clone(), Params::default(), vec![source.clone()]).unwrap();
        let (waits, waited) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let halved = Halved { solver: solver(), waits: waits.clone(), waited: waited.clone(), slow };
        let (wake, woken) = mpsc::channel();
        let mut rig =
            Rig { worker: Worker::spawn(halved, DT, move || wake.send(()).unwrap_or_default()), woken };
        rig.send([Command::Step]);
        rig.until("a step", |worker| worker.shown().stats.step == 1);
        rig.send([dab(), Command::Step]);
        rig.until("two steps", |worker| worker.shown().stats.step == 2);
        let (smoke, serial) = (rig.worker.shown().smoke.clone(), rig.worker.shown().serial);

        // A checkpoint during the step does not wait for its end, and stores the instant before it.
        let endings: [&dyn Fn() -> Vec<Command>; 2] =
            [&|| vec![Command::Cancel], &|| vec![Command::Store(7), Command::Clear]];
        for (n, ending) in endings.into_iter().enumerate() {
            waits.store(true, Ordering::Relaxed);
            rig.send([Command::Step]);
            wait_for(|| waited.load(Ordering::Relaxed) == n + 1);
            rig.send(ending());
            waits.store(false, Ordering::Relaxed);
            if n == 0 {
                rig.until("the end of the step", |worker| !worker.status().stepping);
                assert_eq!(rig.worker.timeline().range(), Some([0, 2]), "no frame was lost or added");
                assert_eq!(rig.worker.shown().serial, serial, "the half of a step is never shown");
                rig.send([Command::Velocity(true)]);
                rig.until("another snapshot", |worker| !worker.shown().velocity.is_empty());
                assert_eq!(rig.worker.shown().serial, serial + 1);
                assert!(rig.worker.shown().smoke == smoke, "the instant before");
                assert_eq!(rig.worker.status().trouble, None);
            }
        }
        rig.until("an empty box", |worker| worker.shown().stats.step == 0);
        rig.send([Command::Restore(7)]);
        rig.until("the smoke back", |worker| worker.shown().stats.step == 2);
        assert_eq!(rig.worker.shown().smoke, smoke);
        rig.send([Command::Step]);
        rig.until("a third step", |worker| worker.shown().stats.step == 3);

        let mut whole = solver();
        whole.step(DT).unwrap();
        let Command::Dab(dab) = dab() else { unreachable!() };
        whole.dab(&dab).unwrap();
        for _ in 0..2 {
            whole.step(DT).unwrap();
        }
        let mut wanted = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
        wanted.capture(&whole, false);
        assert!(rig.worker.shown().smoke == wanted.smoke && rig.worker.shown().time == wanted.time);
    }
}

#[test]
fn quitting_during_a_long_step_does_not_wait_for_its_end() {
    let begun = Arc::new(AtomicUsize::new(0));
    let rig = Rig::new(Counter { slow: Duration::from_secs(30), begun: begun.clone(), ..Counter::default() });
    rig.send([Command::Step]);
    wait_for(|| begun.load(Ordering::Relaxed) == 1);
    let begin = Instant::now();
    drop(rig);
    assert!(begin.elapsed() < Duration::from_secs(5), "took {:?}", begin.elapsed());
}

#[test]
fn parameters_are_clamped_before_they_reach_the_solver() {
    let mut rig = Rig::new(Counter::default());
    let of = |vorticity| Command::SetParams(Params { vorticity, ..Params::default() });
    rig.send([of(0.75), Command::Step]);
    rig.until("a sound value", |w| cell(w)[2] == 0.75);
    rig.send([of(f32::NAN), Command::Step]);
    rig.until("a second step", |w| cell(w)[1] == 2.0);
    assert_eq!(cell(&rig.worker)[2], 0.75);
}

#[test]
fn a_panic_is_reported_and_another_simulation_can_be_loaded() {
    let mut rig = Rig::new(Counter { panics_at_step: Some(2), ..Counter::default() });
    rig.send([Command::Run]);
    rig.until("the report of the panic", |w| matches!(w.status().state, RunState::Failed(_)));
    let RunState::Failed(why) = rig.worker.status().state.clone() else { unreachable!() };
    assert!(why.contains("broke on purpose"), "{why}");
    assert_eq!(rig.steps(), 2.0, "the last good snapshot is still there");

    rig.send([dab(), Command::Run]);
    let fresh = || Counter { slow: Duration::ZERO, dabs: 40, ..Counter::default() };
    rig.send([Command::Load(Box::new(move || Ok(Box::new(fresh()))), DT), dab(), Command::Run]);
    rig.until("the new one to run", |w| cell(w)[0] == 41.0 && cell(w)[1] >= 2.0);
    assert_eq!(rig.worker.status().state, RunState::Running);
}

#[test]
fn a_failed_load_leaves_the_old_simulation() {
    let mut rig = Rig::new(Counter { dabs: 3, ..Counter::default() });
    let invalid = || Err("too large".into());
    rig.send([Command::Load(Box::new(invalid), DT)]);
    rig.until("the report", |w| w.status().trouble.is_some());
    assert!(rig.worker.status().trouble.as_ref().unwrap().contains("too large"));
    rig.send([dab()]);
    rig.until("a dab on the old one", |w| cell(w)[0] == 4.0);
    assert_eq!(rig.dabs(), 4.0);
}

#[test]
fn velocity_comes_when_asked_for_even_while_paused() {
    let mut rig = Rig::new(Counter::default());
    rig.until("a first snapshot", |w| w.shown().serial == 1);
    assert!(rig.worker.shown().velocity.is_empty());
    rig.send([Command::Velocity(true)]);
    rig.until("the velocity", |w| !w.shown().velocity.is_empty());
}

fn wait_for(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never happened");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn recorded_frames_go_to_the_disk_and_a_disk_that_fails_ends_nothing() {
    let record = |limit: u64, fails_after: usize| {
        let mut files = 0;
        let new_file = Box::new(move || {
            files += 1;
            if files > fails_after {
                Err(std::io::Error::other("the disk is full"))
            } else {
                tempfile::tempfile()
            }
        });
        let recording = Recording { memory: 1, disk: Some(Spill::new(limit, new_file)) };
        let (wake, woken) = mpsc::channel();
        let wake = move || wake.send(()).unwrap_or_default();
        let mut rig = Rig { worker: Worker::recording(Counter::default(), DT, recording, wake), woken };
        for n in 1..=5 {
            rig.send([Command::Step]);
            rig.until("a step", |worker| cell(worker)[1] == n as f32);
        }
        rig
    };

    let mut rig = record(1 << 20, 1);
    rig.send([dab()]);
    rig.until("the last frame", |worker| worker.timeline().range() == Some([0, 5]));
    rig.until("frames on the disk", |worker| worker.timeline().disk().is_some_and(|[used, _]| used > 0));
    let oldest = rig.worker.timeline().frame(0).unwrap();
    let mut shown = Snapshot::empty(Dims::new([1; 3]).unwrap(), 1.0);
    oldest.show(&mut shown).unwrap();
    assert_eq!(shown.smoke[0].map(f16::to_f32)[1], 0.0);

    let mut rig = record(1 << 20, 0);
    let trouble = "Recorded frames no longer go to the disk: the disk is full";
    rig.send([dab()]);
    rig.until("the fault is told", |worker| worker.status().trouble.as_deref() == Some(trouble));
    assert_eq!(rig.worker.timeline().range(), Some([5, 5]), "the memory holds a single frame");
    assert_eq!(rig.worker.timeline().disk(), None);
    rig.send([Command::Step]);
    rig.until("another step", |worker| cell(worker)[1] == 6.0);
}
