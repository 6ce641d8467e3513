//! The data of a snapshot for a picture.

use half::f16;

use crate::grid::Dims;
use crate::render::Quality;
use crate::render::floor::FloorLight;
use crate::render::light::LightVolume;
use crate::render::lit_smoke::LitSmoke;
use crate::render::preshaded::Cells;
use crate::render::quantity::Ranges;
use crate::render::stage::Stage;
use crate::snapshot::{Bricks, Part};

/// A snapshot and its light.
#[derive(Clone, Copy)]
pub(in crate::render) struct Contents<'a> {
    pub stage: Stage,
    pub dims: Dims,
    /// The available planes along z: the first, and their number.
    pub planes: [usize; 2],
    /// Edge of a cell \[m\].
    pub h: f32,
    pub bricks: &'a Bricks,
    pub cells: &'a Cells,
    /// Densities and temperature of each cell, for slices.
    pub smoke: &'a [[f16; 4]],
    /// u, v, w and |ω| of each cell; empty if the snapshot has no velocity.
    pub velocity: &'a [[f16; 4]],
    pub ranges: Ranges,
    pub light: &'a LightVolume,
    pub floor: &'a FloorLight,
}

impl<'a> Contents<'a> {
    /// Makes the contents of the smoke that `lit` has gathered from a part of a snapshot, for pictures of a
    /// quality.
    pub fn of(part: &Part<'a>, lit: &'a mut LitSmoke, quality: Quality, ranges: Ranges) -> Self {
        lit.sharpen(quality);
        let (lit, snapshot): (&'a LitSmoke, _) = (lit, part.whole);
        Self {
            stage: Stage::of(snapshot),
            dims: snapshot.dims,
            planes: [part.first, part.planes.dims.nz],
            h: snapshot.h,
            bricks: &snapshot.bricks,
            cells: lit.shown(quality),
            smoke: &snapshot.smoke,
            velocity: &snapshot.velocity,
            ranges,
            light: &lit.light,
            floor: &lit.floor,
        }
    }

    /// Returns the available cells.
    pub fn dims_at_hand(&self) -> Dims {
        Dims { nz: self.planes[1], ..self.dims }
    }

    /// Returns the size of the box \[m\].
    pub fn extent(&self) -> [f32; 3] {
        self.dims.array().map(|n| n as f32 * self.h)
    }
}
