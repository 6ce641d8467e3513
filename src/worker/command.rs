//! Commands to the worker, and merging a burst of them into one batch.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender as ChannelSender};

use super::{Simulation, limits};
use crate::solver::{Dab, Force, InvalidValue, Params, Solid, Source};

/// Builds a simulation on the worker's thread; a large one takes time.
pub type Builder = Box<dyn FnOnce() -> Result<Box<dyn Simulation>, BuildError> + Send>;

/// Reason why a [`Builder`] failed; the status shows its text.
pub type BuildError = Box<dyn Error + Send + Sync>;

/// A command to the worker.
#[non_exhaustive]
pub enum Command {
    /// Run at the pace of the wall clock.
    Run,
    /// Stop after the present step. Edits still change the fields, and no time passes.
    Pause,
    /// Pause, and take one step.
    Step,
    /// Pause, and cancel the present step: the fields return to the instant before it.
    Cancel,
    /// Reset to air at rest at time zero; earlier dabs are dropped.
    Clear,
    /// Set the parameters of the model, clamped to their [`limits`].
    SetParams(Params),
    /// Replace the sources. Rates and velocities are clamped to their [`limits`]. If another value is invalid the old sources stay, and
    /// the status has the reason.
    SetSources(Vec<Source>),
    /// Replace the external forces. If one is invalid the old ones stay, and the status has the reason.
    SetForces(Vec<Force>),
    /// Replace the solids. In a running simulation a still solid moves to its new position and pushes the air. If one is invalid the old
    /// ones stay, and the status has the reason.
    SetSolids(Vec<Solid>),
    /// Add smoke, heat or motion now, clamped to its [`limits`]. Without a valid place and radius nothing is added, and the status has
    /// the reason.
    Dab(Dab),
    /// Whether snapshots contain the velocity.
    Velocity(bool),
    /// Set the length of a step \[s\], clamped to its [limits](limits::step); NaN keeps the old length.
    SetStep(f32),
    /// Store the present state under this number, for [`Restore`](Self::Restore). Numbers must grow. If a later command cancels the
    /// present step, it is the state before that step.
    Store(u64),
    /// Exchange the present state for the one stored under this number. Cancels the present step.
    Restore(u64),
    /// Continue from a recorded frame, with the present parameters; later frames are dropped. Pauses.
    Live(u64),
    /// Act on the simulation beside instead: for parameters, sources, forces and solids.
    Beside(Box<Command>),
    /// Set the simulation beside the present one, for comparison; none ends the comparison. It continues from
    /// the present instant, and both take the same steps and dabs from then on. Without a simulation of the
    /// same box and solver at its start, nothing changes, and the status has the reason.
    Compare(Option<Builder>),
    /// Exchange the simulation and the one beside it.
    Swap,
    /// Replace the simulation, with the length of its steps \[s\]. If it cannot be built the old one stays,
    /// and the status has the reason.
    Load(Builder, f32),
    /// End the thread.
    Quit,
}

impl Command {
    /// Whether it makes the present step pointless.
    fn interrupts(&self) -> bool {
        matches!(
            self,
            Self::Cancel | Self::Clear | Self::Restore(_) | Self::Live(_) | Self::Load(..) | Self::Quit
        )
    }
}

/// The merged commands of a burst, in the order of execution: store, load, swap, compare, restore, clear, set, dab, run. A
/// burst with a store or restore in between becomes several batches.
#[derive(Default)]
pub struct Batch {
    /// Number under which to store the state, before all else.
    pub store: Option<u64>,
    /// Recorded frame to continue from.
    pub live: Option<u64>,
    /// Exchange the two simulations.
    pub swap: bool,
    /// The simulation beside, or none to end the comparison.
    pub compare: Option<Option<Builder>>,
    /// Edits of the simulation beside.
    pub beside: Option<Box<Batch>>,
    /// Number of the state to restore.
    pub restore: Option<u64>,
    /// End the thread.
    pub quit: bool,
    /// Replacement of the simulation.
    pub load: Option<(Builder, f32)>,
    /// Whether to clear the fields before anything is added.
    pub clear: bool,
    /// The newest parameters.
    pub params: Option<Params>,
    /// The newest sources.
    pub sources: Option<Vec<Source>>,
    /// The newest external forces.
    pub forces: Option<Vec<Force>>,
    /// The newest solids.
    pub solids: Option<Vec<Solid>>,
    /// All dabs since the last clear.
    pub dabs: Vec<Dab>,
    /// Why a dab was dropped.
    pub dropped: Option<InvalidValue>,
    /// Whether snapshots contain the velocity.
    pub velocity: Option<bool>,
    /// Length of a step \[s\].
    pub step: Option<f32>,
    /// Run or pause.
    pub run: Option<bool>,
    /// Single steps to take.
    pub steps: u32,
    /// Whether single steps of earlier batches are dropped.
    pub drops_steps: bool,
}

impl Batch {
    /// Adds one more command, after all earlier ones.
    pub fn push(&mut self, command: Command) {
        match command {
            Command::Run => (self.run, self.drops_steps) = (Some(true), true),
            Command::Pause => self.pause(),
            Command::Step => {
                self.run = Some(false);
                self.steps += 1;
            }
            Command::Cancel => self.pause(),
            Command::Clear => self.forget_field_edits(true),
            Command::SetParams(params) => self.params = Some(params),
            Command::SetSources(sources) => self.sources = Some(sources),
            Command::SetForces(forces) => self.forces = Some(forces),
            Command::SetSolids(solids) => self.solids = Some(solids),
            Command::Dab(dab) => match limits::dab(dab) {
                Some(dab) => self.dabs.push(dab),
                None => self.dropped = dab.problem(),
            },
            Command::Velocity(on) => self.velocity = Some(on),
            Command::SetStep(dt) => self.step = Some(dt),
            Command::Load(builder, dt) => self.replace(builder, dt),
            Command::Store(number) => self.store = Some(number),
            Command::Restore(number) => {
                self.forget_field_edits(false);
                (self.live, self.restore) = (None, Some(number));
            }
            Command::Live(number) => {
                self.forget_field_edits(false);
                self.pause();
                (self.live, self.restore) = (Some(number), None);
            }
            Command::Beside(command) => self.beside.get_or_insert_default().push(*command),
            Command::Compare(builder) => {
                self.beside = None;
                self.compare = Some(builder);
            }
            Command::Swap => self.swap ^= true,
            Command::Quit => self.quit = true,
        }
    }

    /// Whether it changes settings or fields of the simulation.
    pub(super) fn edits(&self) -> bool {
        let is_set =
            self.params.is_some() || self.sources.is_some() || self.forces.is_some() || self.solids.is_some();
        let adds = !self.dabs.is_empty() || self.dropped.is_some();
        is_set
            || adds
            || self.clear
            || self.restore.is_some()
            || self.beside.as_ref().is_some_and(|beside| beside.edits())
    }

    /// Pauses; earlier requests for single steps are dropped.
    fn pause(&mut self) {
        (self.run, self.steps, self.drops_steps) = (Some(false), 0, true);
    }

    fn forget_field_edits(&mut self, clear: bool) {
        self.clear = clear;
        self.dabs.clear();
        self.steps = 0;
    }

    /// Drops the commands for the old simulation.
    fn replace(&mut self, builder: Builder, dt: f32) {
        self.forget_field_edits(false);
        self.params = None;
        self.sources = None;
        self.forces = None;
        self.solids = None;
        self.step = None;
        (self.swap, self.compare, self.beside) = (false, None, None);
        (self.live, self.restore) = (None, None);
        self.load = Some((builder, dt));
    }
}

/// Makes a channel for commands. Pushing a command and raising the cancel flag are one act, and so are
/// fetching commands and lowering it. Otherwise the flag of an executed command could cut a later step.
pub(super) fn channel() -> (Sender, Inbox) {
    let (sender, receiver) = crossbeam_channel::unbounded();
    let cancel = Arc::new(Cancel::default());
    (
        Sender { channel: sender, cancel: cancel.clone(), held: Mutex::default() },
        Inbox { channel: receiver, cancel },
    )
}

#[derive(Default)]
struct Cancel {
    flag: AtomicBool,
    gate: Mutex<()>,
}

impl Cancel {
    fn while_gated<T>(&self, act: impl FnOnce(&AtomicBool) -> T) -> T {
        let _gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        act(&self.flag)
    }
}

/// The sending end of the channel.
pub(super) struct Sender {
    channel: ChannelSender<Command>,
    cancel: Arc<Cancel>,
    /// Commands that wait for those that belong to them.
    held: Mutex<Option<Vec<Command>>>,
}

impl Sender {
    pub(super) fn send(&self, command: Command) {
        match &mut *self.held() {
            Some(held) => held.push(command),
            None => self.send_together([command]),
        }
    }

    /// Keeps commands back until [`Self::release`].
    pub(super) fn hold(&self) {
        self.held().get_or_insert_default();
    }

    /// Sends the commands that were kept back.
    pub(super) fn release(&self) {
        let held = self.held().take();
        self.send_together(held.into_iter().flatten());
    }

    fn held(&self) -> MutexGuard<'_, Option<Vec<Command>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The receiving end fetches all of them at once.
    fn send_together(&self, commands: impl IntoIterator<Item = Command>) {
        self.cancel.while_gated(|flag| {
            for command in commands {
                let interrupts = command.interrupts();
                // The receiving end disappears only after a quit: the error does not matter.
                let _ = self.channel.send(command);
                flag.fetch_or(interrupts, Ordering::Relaxed);
            }
        });
    }
}

/// Longest sleep of the worker without commands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Patience {
    /// Not at all: it has work to do.
    None,
    /// Until this time, when it has work to do.
    Until(Instant),
    /// For ever: it has no work.
    Forever,
}

/// The receiving end of the channel.
pub(super) struct Inbox {
    channel: Receiver<Command>,
    cancel: Arc<Cancel>,
}

impl Inbox {
    /// Returns all commands since the last call, merged into at least one batch. Waits for the first of them
    /// as long as `patience` says. States are stored between batches.
    pub(super) fn collect(&self, patience: Patience) -> Vec<Batch> {
        let mut batches = vec![Batch::default()];
        self.wait(patience).into_iter().for_each(|first| append(&mut batches, first));
        self.cancel.while_gated(|flag| {
            self.channel.try_iter().for_each(|command| append(&mut batches, command));
            flag.store(false, Ordering::Relaxed);
        });
        batches
    }

    fn wait(&self, patience: Patience) -> Option<Command> {
        match patience {
            Patience::None => None,
            Patience::Until(due) => self.channel.recv_deadline(due).ok(),
            // A sender that was dropped counts as a quit.
            Patience::Forever => Some(self.channel.recv().unwrap_or(Command::Quit)),
        }
    }

    /// Raised while a command waits that makes the present step pointless.
    pub(super) fn cancelled(&self) -> &AtomicBool {
        &self.cancel.flag
    }
}

/// Adds a command to the last of `batches`, or begins a new one with it.
fn append(batches: &mut Vec<Batch>, command: Command) {
    if matches!(command, Command::Store(_)) {
        batches.push(Batch::default());
    }
    batches.last_mut().expect("never empty").push(command);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dab(x: f32) -> Command {
        Command::Dab(Dab { center: [x; 3], radius: 0.1, add: [1.0; 4], push: [0.0; 3], erase: 0.0 })
    }

    fn params(vorticity: f32) -> Command {
        Command::SetParams(Params { vorticity, ..Params::default() })
    }

    fn merged(commands: impl IntoIterator<Item = Command>) -> Batch {
        let mut batch = Batch::default();
        commands.into_iter().for_each(|c| batch.push(c));
        batch
    }

    fn nothing() -> Builder {
        Box::new(|| Err("nothing to build".into()))
    }

    #[test]
    fn the_newest_parameters_win_and_no_dab_is_lost() {
        let drag = (0..1000).flat_map(|i| [dab(i as f32), params(i as f32)]);
        let batch = merged(drag);
        assert_eq!(batch.params.unwrap().vorticity, 999.0);
        let seen: Vec<f32> = batch.dabs.iter().map(|d| d.center[0]).collect();
        assert_eq!(seen, (0..1000).map(|i| i as f32).collect::<Vec<_>>());
    }

    #[test]
    fn a_clear_drops_the_dabs_before_it_and_keeps_the_settings() {
        let batch = merged([dab(1.0), params(0.7), Command::Step, Command::Clear, dab(2.0)]);
        assert!(batch.clear);
        assert_eq!(batch.steps, 0);
        assert_eq!(batch.dabs.len(), 1);
        assert_eq!(batch.dabs[0].center[0], 2.0);
        assert_eq!(batch.params.unwrap().vorticity, 0.7);
    }

    #[test]
    fn a_load_drops_commands_for_the_old_simulation() {
        let old = [dab(1.0), params(0.7), Command::Clear, Command::SetStep(0.1)];
        let batch = merged(old.into_iter().chain([Command::Load(nothing(), 0.02), params(0.1)]));
        assert!(batch.load.is_some() && !batch.clear && batch.dabs.is_empty() && batch.step.is_none());
        assert_eq!(batch.params.unwrap().vorticity, 0.1, "sent after the load, meant for the new one");
    }

    #[test]
    fn edits_beside_are_merged_apart_and_end_with_their_simulation() {
        let beside = |command| Command::Beside(Box::new(command));
        let batch = merged([params(0.7), beside(params(0.1)), beside(params(0.2)), Command::Swap]);
        assert_eq!((batch.params.unwrap().vorticity, batch.swap), (0.7, true));
        assert_eq!(batch.beside.unwrap().params.unwrap().vorticity, 0.2);
        let batch = merged([beside(params(0.1)), Command::Compare(None)]);
        assert!(batch.beside.is_none() && matches!(batch.compare, Some(None)));
    }

    #[test]
    fn steps_add_up_until_a_pause_and_the_last_of_run_and_pause_holds() {
        assert_eq!(merged([Command::Step, Command::Step, Command::Step]).steps, 3);
        assert_eq!(merged([Command::Step, Command::Pause]).steps, 0);
        assert_eq!(merged([Command::Run, Command::Pause]).run, Some(false));
        assert_eq!(merged([Command::Pause, Command::Run]).run, Some(true));
    }

    #[test]
    fn invalid_dabs_are_refused() {
        let bad = Dab { center: [f32::NAN; 3], radius: 0.1, add: [1.0; 4], push: [0.0; 3], erase: 0.0 };
        assert!(merged([Command::Dab(bad)]).dabs.is_empty());
    }

    #[test]
    fn the_cancel_flag_is_up_exactly_while_an_interrupting_command_waits() {
        let (sender, inbox) = channel();
        let up = || inbox.cancelled().load(Ordering::Relaxed);
        sender.send(Command::Pause);
        assert!(!up());
        sender.send(Command::Clear);
        assert!(up());
        assert!(inbox.collect(Patience::Forever)[0].clear);
        assert!(!up());
    }

    #[test]
    fn a_state_to_be_stored_does_not_keep_a_step_from_being_cancelled() {
        let (sender, inbox) = channel();
        sender.send(Command::Store(1));
        sender.send(Command::Clear);
        assert!(inbox.cancelled().load(Ordering::Relaxed));
    }

    #[test]
    fn commands_that_are_held_arrive_together_and_in_order() {
        let (sender, inbox) = channel();
        sender.hold();
        sender.hold();
        [Command::Store(1), Command::Compare(None), Command::Restore(1)]
            .into_iter()
            .for_each(|c| sender.send(c));
        assert!(inbox.channel.is_empty() && !inbox.cancelled().load(Ordering::Relaxed));
        let receiver = std::thread::spawn(move || inbox.collect(Patience::Forever));
        sender.release();
        let batches = receiver.join().unwrap();
        let last = batches.last().unwrap();
        assert_eq!((last.store, last.compare.is_some(), last.restore), (Some(1), true, Some(1)));
        assert!(sender.held().is_none());
    }

    #[test]
    fn a_burst_stores_the_state_between_its_parts() {
        let (sender, inbox) = channel();
        for command in
            [dab(1.0), Command::Store(1), Command::Clear, dab(2.0), Command::Store(2), Command::Restore(1)]
        {
            sender.send(command);
        }
        let batches = inbox.collect(Patience::Forever);
        let parts: Vec<_> = batches.iter().map(|b| (b.store, b.restore, b.clear, b.dabs.len())).collect();
        assert_eq!(parts, [(None, None, false, 1), (Some(1), None, true, 1), (Some(2), Some(1), false, 0)]);
    }

    #[test]
    fn a_sender_that_is_gone_means_quit() {
        let (sender, inbox) = channel();
        drop(sender);
        assert!(inbox.collect(Patience::Forever)[0].quit);
    }
}
