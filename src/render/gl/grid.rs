//! Contents of the textures: the snapshot, and its light volume.

use crate::grid::Dims;
use crate::look::Look;
use crate::render::Ranges;
use crate::render::light::LightVolume;
use crate::render::preshaded::Cells;
use crate::render::stage::Stage;
use crate::snapshot::Snapshot;

/// The uploaded snapshot.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub dims: Dims,
    pub h: f32,
    pub stage: Stage,
    pub serial: u64,
    pub has_velocity: bool,
    pub ranges: Ranges,
}

/// The light volume, and the look it was made for.
#[derive(Default)]
pub(super) struct Bake {
    pub light: LightVolume,
    /// Parts of the look that it depends on; `None` if the smoke has changed since.
    pub for_look: Option<Look>,
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

impl Bake {
    pub fn gather(&mut self, snapshot: &Snapshot) {
        self.light.gather(snapshot);
        self.for_look = None;
    }

    /// Updates the light. Returns whether anything changed.
    pub fn bring_up_to_date(&mut self, look: &Look, cells: &Cells) -> bool {
        let key = lighting(look);
        if self.for_look.as_ref() == Some(&key) {
            return false;
        }
        self.light.cast(look, cells);
        self.for_look = Some(key);
        true
    }
}

/// A look without all that its light does not depend on.
fn lighting(look: &Look) -> Look {
    let plain = Look::default();
    Look {
        fade: plain.fade,
        paths: plain.paths,
        noise: plain.noise,
        exposure: plain.exposure,
        tone: plain.tone,
        background: plain.background,
        outline: plain.outline,
        samples: plain.samples,
        light_scale: plain.light_scale,
        ..look.clone()
    }
}
