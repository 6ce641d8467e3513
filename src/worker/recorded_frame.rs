//! A frame of the timeline, in memory or on the disk.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::packed_cells::PackedCells;
use super::spill::{Span, Spill};
use crate::grid::Dims;
use crate::snapshot::{Bricks, Snapshot, SolidPose};
use crate::solver::StepStats;

/// A recorded frame: the smoke of a snapshot.
#[derive(Debug)]
pub struct Frame {
    /// Steps since the start of the run.
    pub number: u64,
    /// Simulated time \[s\].
    pub time: f64,
    pub(super) load: u64,
    dims: Dims,
    h: f32,
    origin: [i32; 3],
    start: [[f32; 3]; 2],
    smoke: Mutex<Smoke>,
    /// Velocity and vorticity, of the newest frames.
    flow: Mutex<Option<PackedCells>>,
    solids: Vec<SolidPose>,
    stats: StepStats,
    /// The frame of the simulation beside, during a comparison.
    beside: Option<Box<Frame>>,
}

#[derive(Clone, Debug)]
enum Smoke {
    InMemory(Arc<PackedCells>),
    OnDisk(Span),
}

impl Frame {
    /// Packs a snapshot. A large one takes a while: do it before the timeline is locked.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self {
            number: snapshot.stats.step,
            time: snapshot.time,
            load: snapshot.load,
            dims: snapshot.dims,
            h: snapshot.h,
            origin: snapshot.origin,
            start: snapshot.start,
            smoke: Mutex::new(Smoke::InMemory(Arc::new(PackedCells::of(&snapshot.smoke)))),
            flow: Mutex::new((!snapshot.velocity.is_empty()).then(|| PackedCells::of(&snapshot.velocity))),
            solids: snapshot.solids.clone(),
            stats: snapshot.stats.clone(),
            beside: snapshot.beside.as_deref().map(|beside| Box::new(Self::of(beside))),
        }
    }

    /// Writes the frame into a snapshot, whose memory is reused and whose serial grows.
    ///
    /// # Errors
    /// The frame lies on the disk and cannot be read. The snapshot does not change then.
    pub fn show(&self, into: &mut Snapshot) -> io::Result<()> {
        let smoke = self.smoke().clone();
        let smoke = match smoke {
            Smoke::InMemory(cells) => cells,
            Smoke::OnDisk(span) => Arc::new(PackedCells::read(&span.read()?, self.dims.cells())?),
        };
        match &self.beside {
            Some(frame) => {
                let empty = || Box::new(Snapshot::empty(self.dims, self.h));
                frame.show(into.beside.get_or_insert_with(empty))?;
            }
            None => into.beside = None,
        }
        if into.dims != self.dims {
            into.bricks = Bricks::empty(self.dims);
        }
        (into.dims, into.h, into.time, into.load) = (self.dims, self.h, self.time, self.load);
        (into.origin, into.start) = (self.origin, self.start);
        into.serial += 1;
        into.smoke.resize(self.dims.cells(), Default::default());
        smoke.unpack(&mut into.smoke);
        into.velocity.clear();
        if let Some(flow) = &*self.flow() {
            into.velocity.resize(self.dims.cells(), Default::default());
            flow.unpack(&mut into.velocity);
        }
        into.bricks.update(self.dims, &into.smoke);
        into.solids.clone_from(&self.solids);
        into.stats.clone_from(&self.stats);
        Ok(())
    }

    /// Moves the smoke from memory to the disk. `false` if the disk has no room for it within its limit.
    ///
    /// # Errors
    /// Those of the disk; the smoke stays in memory.
    pub(super) fn spill(&self, disk: &mut Spill) -> io::Result<bool> {
        if let Some(beside) = &self.beside
            && !beside.spill(disk)?
        {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        if let Smoke::InMemory(cells) = &*self.smoke() {
            cells.write(&mut bytes);
        }
        // Not locked while the disk is written: the frame can be shown meanwhile.
        if !bytes.is_empty() {
            let Some(span) = disk.write(&bytes)? else { return Ok(false) };
            *self.smoke() = Smoke::OnDisk(span);
        }
        Ok(true)
    }

    fn smoke(&self) -> MutexGuard<'_, Smoke> {
        self.smoke.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flow(&self) -> MutexGuard<'_, Option<PackedCells>> {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it holds the velocity too.
    pub fn has_flow(&self) -> bool {
        self.flow().is_some()
    }

    /// Memory of the flow \[bytes\].
    pub(super) fn flow_bytes(&self) -> usize {
        let own = self.flow().as_ref().map_or(0, PackedCells::bytes);
        own + self.beside.as_ref().map_or(0, |frame| frame.flow_bytes())
    }

    pub(super) fn drop_flow(&self) {
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

    /// Memory without the flow \[bytes\].
    pub(super) fn bytes(&self) -> usize {
        let beside = self.beside.as_ref().map_or(0, |frame| frame.bytes());
        let smoke = match &*self.smoke() {
            Smoke::InMemory(cells) => cells.bytes(),
            Smoke::OnDisk(_) => 0,
        };
        size_of::<Self>() + smoke + self.solids.len() * size_of::<SolidPose>() + beside
    }
}
