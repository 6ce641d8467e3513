//! What the worker can be told, and how a burst of it becomes one piece of work.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender as ChannelSender};

use super::{Simulation, limits};
use crate::solver::{Dab, Force, Params, Solid, Source};

/// Builds a simulation; runs on the worker's thread, for a large one takes its time.
pub type Builder = Box<dyn FnOnce() -> Result<Box<dyn Simulation>, BuildError> + Send>;

/// Why a [`Builder`] built nothing; the status shows its text.
pub type BuildError = Box<dyn Error + Send + Sync>;

/// An order to the worker.
pub enum Command {
    /// Run at the pace of the wall clock.
    Run,
    /// Stop after the step under way. Edits still go into the fields, and no time passes.
    Pause,
    /// Pause, and take one step.
    Step,
    /// Pause, and cut the step under way short.
    Cancel,
    /// Back to air at rest at time zero; dabs sent before are dropped.
    Clear,
    /// New constants of the model, brought within [`limits`].
    SetParams(Params),
    /// New sources.
    SetSources(Vec<Source>),
    /// New external forces.
    SetForces(Vec<Force>),
    /// New solids. While it runs, a still solid that stands elsewhere moves there, and the air makes way.
    SetSolids(Vec<Solid>),
    /// Add smoke, heat or motion now.
    Dab(Dab),
    /// Whether snapshots carry the velocity.
    Velocity(bool),
    /// Length of a step \[s\].
    SetStep(f32),
    /// Keep the present state under this number, for [`Restore`](Self::Restore). Numbers must grow. A clear or load sent
    /// after it waits for the step under way, so that what is kept is a whole instant.
    Keep(u64),
    /// Put the state that was kept under this number in place of the present one. Cuts the step under way short.
    Restore(u64),
    /// Go on from a recorded frame, with the parameters as they are set now; later frames are dropped. Pauses.
    Live(u64),
    /// Another simulation in place of this one, with the length of its steps \[s\]. If it cannot be built
    /// the old one stays, and the status says why.
    Load(Builder, f32),
    /// End the thread.
    Quit,
}

impl Command {
    /// Whether it must act however whole the instant is.
    fn is_urgent(&self) -> bool {
        matches!(self, Self::Cancel | Self::Quit)
    }

    /// Whether it makes the step under way pointless.
    fn interrupts(&self) -> bool {
        matches!(
            self,
            Self::Cancel | Self::Clear | Self::Restore(_) | Self::Live(_) | Self::Load(..) | Self::Quit
        )
    }
}

/// Everything a burst of commands asks for, in the order it is carried out: keep, load, restore, clear, set, dab, run. A burst
/// that keeps or restores in between is several of these.
#[derive(Default)]
pub struct Batch {
    /// Keep the state before all else.
    pub keep: Option<u64>,
    /// Go on from a recorded frame.
    pub live: Option<u64>,
    /// Put a kept state in place of the present one.
    pub restore: Option<u64>,
    /// End the thread.
    pub quit: bool,
    /// Replace the simulation.
    pub load: Option<(Builder, f32)>,
    /// Empty the fields before anything is added.
    pub clear: bool,
    /// The newest constants.
    pub params: Option<Params>,
    /// The newest sources.
    pub sources: Option<Vec<Source>>,
    /// The newest external forces.
    pub forces: Option<Vec<Force>>,
    /// The newest solids.
    pub solids: Option<Vec<Solid>>,
    /// All dabs since the last clear.
    pub dabs: Vec<Dab>,
    /// Whether snapshots carry the velocity.
    pub velocity: Option<bool>,
    /// Length of a step \[s\].
    pub step: Option<f32>,
    /// Run or pause.
    pub run: Option<bool>,
    /// Single steps to take.
    pub steps: u32,
}

impl Batch {
    /// Adds one more command, which comes after all those already here.
    pub fn push(&mut self, command: Command) {
        match command {
            Command::Run => self.run = Some(true),
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
            Command::Dab(dab) => self.dabs.extend(limits::dab(dab)),
            Command::Velocity(on) => self.velocity = Some(on),
            Command::SetStep(dt) => self.step = Some(dt),
            Command::Load(builder, dt) => self.replace(builder, dt),
            Command::Keep(number) => self.keep = Some(number),
            Command::Restore(number) => {
                self.forget_field_edits(false);
                (self.live, self.restore) = (None, Some(number));
            }
            Command::Live(number) => {
                self.forget_field_edits(false);
                self.pause();
                (self.live, self.restore) = (Some(number), None);
            }
            Command::Quit => self.quit = true,
        }
    }

    /// Stops; single steps asked for before are no longer wanted.
    fn pause(&mut self) {
        self.run = Some(false);
        self.steps = 0;
    }

    fn forget_field_edits(&mut self, clear: bool) {
        self.clear = clear;
        self.dabs.clear();
        self.steps = 0;
    }

    /// What was meant for the old simulation is not for the new one.
    fn replace(&mut self, builder: Builder, dt: f32) {
        self.forget_field_edits(false);
        self.params = None;
        self.sources = None;
        self.forces = None;
        self.solids = None;
        self.step = None;
        (self.live, self.restore) = (None, None);
        self.load = Some((builder, dt));
    }
}

/// A channel for commands. Pushing a command and raising the cancel flag is one act, and so is fetching
/// commands and lowering it; else a flag raised for a command already carried out would cut a later step.
pub(super) fn channel() -> (Sender, Inbox) {
    let (sender, receiver) = crossbeam_channel::unbounded();
    let cancel = Arc::new(Cancel::default());
    (Sender { channel: sender, cancel: cancel.clone() }, Inbox { channel: receiver, cancel })
}

#[derive(Default)]
struct Cancel {
    flag: AtomicBool,
    /// Whether a state waits to be kept: no step may be cut short before it is.
    keeping: Mutex<bool>,
}

impl Cancel {
    fn while_gated<T>(&self, act: impl FnOnce(&AtomicBool, &mut bool) -> T) -> T {
        let mut keeping = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        act(&self.flag, &mut keeping)
    }
}

/// The near end of the channel.
pub(super) struct Sender {
    channel: ChannelSender<Command>,
    cancel: Arc<Cancel>,
}

impl Sender {
    pub(super) fn send(&self, command: Command) {
        self.cancel.while_gated(|flag, keeping| {
            *keeping |= matches!(command, Command::Keep(_));
            let interrupts = command.is_urgent() || command.interrupts() && !*keeping;
            // The far end is gone only after a quit, when nothing matters any more.
            let _ = self.channel.send(command);
            flag.fetch_or(interrupts, Ordering::Relaxed);
        });
    }
}

/// Until when the worker may sleep if no command comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Patience {
    /// It has work to do.
    None,
    /// It has work to do then.
    Until(Instant),
    /// It has nothing to do.
    Forever,
}

/// The far end of the channel.
pub(super) struct Inbox {
    channel: Receiver<Command>,
    cancel: Arc<Cancel>,
}

impl Inbox {
    /// All commands sent since the last call, merged, at least one batch; waits for the first of them as long as `patience`
    /// says. States are kept between batches.
    pub(super) fn collect(&self, patience: Patience) -> Vec<Batch> {
        let mut batches = vec![Batch::default()];
        self.wait(patience).into_iter().for_each(|first| append(&mut batches, first));
        self.cancel.while_gated(|flag, keeping| {
            self.channel.try_iter().for_each(|command| append(&mut batches, command));
            flag.store(false, Ordering::Relaxed);
            *keeping = false;
        });
        batches
    }

    fn wait(&self, patience: Patience) -> Option<Command> {
        match patience {
            Patience::None => None,
            Patience::Until(due) => self.channel.recv_deadline(due).ok(),
            // A sender that is gone has nothing more to say: the same as a quit.
            Patience::Forever => Some(self.channel.recv().unwrap_or(Command::Quit)),
        }
    }

    /// Raised while a command waits that makes the step under way pointless.
    pub(super) fn cancelled(&self) -> &AtomicBool {
        &self.cancel.flag
    }
}

/// Adds a command to the last of `batches`, or begins a new one with it.
fn append(batches: &mut Vec<Batch>, command: Command) {
    if matches!(command, Command::Keep(_)) {
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
    fn a_load_drops_what_was_meant_for_the_old_simulation() {
        let old = [dab(1.0), params(0.7), Command::Clear, Command::SetStep(0.1)];
        let batch = merged(old.into_iter().chain([Command::Load(nothing(), 0.02), params(0.1)]));
        assert!(batch.load.is_some() && !batch.clear && batch.dabs.is_empty() && batch.step.is_none());
        assert_eq!(batch.params.unwrap().vorticity, 0.1, "sent after the load, meant for the new one");
    }

    #[test]
    fn steps_add_up_until_a_pause_and_the_last_of_run_and_pause_holds() {
        assert_eq!(merged([Command::Step, Command::Step, Command::Step]).steps, 3);
        assert_eq!(merged([Command::Step, Command::Pause]).steps, 0);
        assert_eq!(merged([Command::Run, Command::Pause]).run, Some(false));
        assert_eq!(merged([Command::Pause, Command::Run]).run, Some(true));
    }

    #[test]
    fn dabs_no_solver_could_bear_stop_at_the_door() {
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
    fn a_step_is_not_cut_short_before_its_state_is_kept() {
        let (sender, inbox) = channel();
        let up = || inbox.cancelled().load(Ordering::Relaxed);
        sender.send(Command::Keep(1));
        sender.send(Command::Clear);
        assert!(!up());
        sender.send(Command::Cancel);
        assert!(up(), "a person who cancels does not wait");
        inbox.collect(Patience::Forever);
        sender.send(Command::Restore(1));
        assert!(up());
    }

    #[test]
    fn a_burst_keeps_the_state_between_its_parts() {
        let (sender, inbox) = channel();
        for command in
            [dab(1.0), Command::Keep(1), Command::Clear, dab(2.0), Command::Keep(2), Command::Restore(1)]
        {
            sender.send(command);
        }
        let batches = inbox.collect(Patience::Forever);
        let parts: Vec<_> = batches.iter().map(|b| (b.keep, b.restore, b.clear, b.dabs.len())).collect();
        assert_eq!(parts, [(None, None, false, 1), (Some(1), None, true, 1), (Some(2), Some(1), false, 0)]);
    }

    #[test]
    fn a_sender_that_is_gone_means_quit() {
        let (sender, inbox) = channel();
        drop(sender);
        assert!(inbox.collect(Patience::Forever)[0].quit);
    }
}
