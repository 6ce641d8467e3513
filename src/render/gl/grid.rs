//! The box of the uploaded snapshot.

use crate::grid::Dims;
use crate::render::Ranges;
use crate::render::stage::Stage;
use crate::snapshot::Snapshot;

/// Box of the uploaded snapshot.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub dims: Dims,
    pub h: f32,
    pub stage: Stage,
    pub serial: u64,
    pub has_velocity: bool,
    pub ranges: Ranges,
}

impl Grid {
    pub fn empty() -> Self {
        Self::of(&Snapshot::empty(Dims { nx: 1, ny: 1, nz: 1 }, 1.0))
    }

    pub fn of(snapshot: &Snapshot) -> Self {
        Self {
            dims: snapshot.dims,
            h: snapshot.h,
            stage: Stage::of(snapshot),
            serial: snapshot.serial,
            has_velocity: !snapshot.velocity.is_empty(),
            ranges: Ranges::of(snapshot),
        }
    }

    pub fn extent(&self) -> [f32; 3] {
        self.dims.array().map(|n| n as f32 * self.h)
    }
}
