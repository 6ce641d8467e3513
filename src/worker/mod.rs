//! The thread that owns a running solver. Commands go in, the newest snapshot comes out, and the renderer
//! never waits for a step:
//!
//! - [`Command`]s go through a channel and merge on arrival: the newest parameters win, dabs of the cursor
//!   accumulate without loss, a clear drops earlier dabs.
//! - [`Snapshot`]s and the [`Status`] come back through triple buffers, so neither side blocks. The three
//!   snapshots are reused, unless others still read them: a step allocates nothing.
//! - `wake` is called after each of them, from the worker's thread.
//!
//! Three clocks: *wall*, *simulated* (`Snapshot::time` of the solver) and *shown* (`Snapshot::time` on the
//! screen). While it runs, the worker paces the simulated clock to the wall clock, see [`Clock`]. It does not
//! depend on OpenGL or windows, and gets the files that it writes from outside ([`NewFile`]).

mod before_step;
mod clock;
mod command;
mod comparison;
pub mod limits;
mod packed_cells;
mod recorded_frame;
mod replay;
mod simulation_trait;
mod solid_drag;
mod spare_snapshots;
mod spill;
mod state_store;
mod status;
mod thread;
pub mod timeline;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use triple_buffer::Output;

use crate::grid::Dims;
use crate::snapshot::Snapshot;

pub use clock::Clock;
pub use command::{Batch, Builder, Command};
pub use recorded_frame::Frame;
pub use simulation_trait::Simulation;
pub use spill::{NewFile, Spill};
pub use status::{RunState, Status};
pub use timeline::{Recording, Timeline};

/// Handle of the thread that owns a running simulation.
///
/// Dropping it cancels the present step and waits for the thread.
pub struct Worker {
    commands: command::Sender,
    snapshots: Output<Arc<Snapshot>>,
    status: Output<Status>,
    timeline: Arc<Mutex<Timeline>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a thread that owns `simulation`, paused at its present instant.
    ///
    /// `dt` is the length of a step \[s\], and also its wall time while running. It is clamped to its [limits](limits::step), 1e-5 to
    /// 1000 s; NaN means 1/24 s. `wake` is called from the
    /// worker's thread whenever a newer snapshot or status can be read.
    pub fn spawn(simulation: impl Simulation + 'static, dt: f32, wake: impl Fn() + Send + 'static) -> Self {
        Self::recording(simulation, dt, Recording::default(), wake)
    }

    /// As [`spawn`](Self::spawn), with a place for the recorded frames.
    pub fn recording(
        simulation: impl Simulation + 'static,
        dt: f32,
        recording: Recording,
        wake: impl Fn() + Send + 'static,
    ) -> Self {
        let (sender, inbox) = command::channel();
        let (snapshot_in, snapshots) =
            triple_buffer::triple_buffer(&Arc::new(Snapshot::empty(EMPTY_BOX, 1.0)));
        let (status_in, status) = triple_buffer::triple_buffer(&Status::default());
        let timeline = Arc::new(Mutex::new(Timeline::within(recording.memory)));
        let outputs = thread::Outputs {
            timeline: timeline.clone(),
            snapshots: snapshot_in,
            status: status_in,
            wake: Box::new(wake),
        };
        let engine = thread::Engine::new(Box::new(simulation), dt, inbox, outputs, recording.disk);
        let thread = std::thread::Builder::new()
            .name("solver".into())
            .spawn(move || engine.run())
            .expect("the system has no thread left for the solver");
        Self { commands: sender, snapshots, status, timeline, thread: Some(thread) }
    }

    /// Sends a command without waiting. Commands that make the present step pointless (cancel, clear, load,
    /// quit) also cancel it.
    pub fn send(&self, command: Command) {
        self.commands.send(command);
    }

    /// Keeps commands back until [`release`](Self::release), for those that belong together: nothing is shown of
    /// the instants between them.
    pub fn hold(&self) {
        self.commands.hold();
    }

    /// Sends the commands that were kept back; they are executed together.
    pub fn release(&self) {
        self.commands.release();
    }

    /// The newest snapshot, if it is newer than at the last call.
    pub fn latest(&mut self) -> Option<&Arc<Snapshot>> {
        self.snapshots.update().then_some(self.snapshots.output_buffer())
    }

    /// The snapshot that [`Self::latest`] returned last; an empty box of one cell before the first.
    pub fn shown(&self) -> &Arc<Snapshot> {
        self.snapshots.output_buffer()
    }

    /// The frames recorded so far. The thread waits to record another one while they are held.
    pub fn timeline(&self) -> MutexGuard<'_, Timeline> {
        self.timeline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Present status of the thread.
    pub fn status(&mut self) -> &Status {
        self.status.read()
    }
}

/// Box of the snapshots before the first capture.
const EMPTY_BOX: Dims = Dims { nx: 1, ny: 1, nz: 1 };

impl Drop for Worker {
    fn drop(&mut self) {
        self.send(Command::Quit);
        self.release();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the solver thread ended in a panic outside the solver");
        }
    }
}
