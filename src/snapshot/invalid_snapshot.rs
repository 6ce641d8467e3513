//! Snapshots that no renderer can read.

use half::f16;
use rayon::prelude::*;
use thiserror::Error;

use super::{BRICK, Bricks, Snapshot, SolidPose};
use crate::grid::Dims;

/// Greatest distance of a box from the origin \[cells\]: sums of such numbers do not overflow.
const MOST_CELLS: i32 = 1 << 30;

/// Density \[-\] and temperature excess \[K\] that no picture shows: bricks may ignore less.
const FAINTEST: f32 = 1e-3;

/// Reason why a snapshot cannot be rendered.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InvalidSnapshot {
    /// A box without cells.
    #[error("a snapshot's box of {0:?} cells is empty; each count must be at least 1")]
    Empty([usize; 3]),
    /// An edge of a cell or another length that is not a positive number.
    #[error("a snapshot's {what} of {value} is out of range; it must be positive and finite")]
    NotPositive {
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f32,
    },
    /// An array that does not fill the box.
    #[error("a snapshot's {what} has {is} values; its box must have {wanted}")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Its length.
        is: usize,
        /// The length that follows from the box.
        wanted: usize,
    },
    /// A box too far from the origin for its cells to be numbered.
    #[error("a snapshot's origin of {0:?} cells is too far away; it must lie within ±{MOST_CELLS}")]
    Origin([i32; 3]),
    /// Smoke that renderers would skip.
    #[error("a snapshot's bricks do not bound its smoke; call `bricks.update` after writing it")]
    Bricks,
    /// A value that is infinite or NaN.
    #[error("a snapshot's {0} must be finite")]
    NotFinite(&'static str),
}

impl Snapshot {
    /// Returns the first reason why it cannot be rendered, if any. Reads all values once.
    pub fn problem(&self) -> Option<InvalidSnapshot> {
        let is_velocity_nan = || any(&self.velocity, |half| half.is_nan());
        self.problem_of_shape()
            .or_else(|| {
                any(&self.smoke, |half| !half.is_finite()).then_some(InvalidSnapshot::NotFinite("smoke"))
            })
            .or_else(|| (!self.is_bounded()).then_some(InvalidSnapshot::Bricks))
            // Half floats end at 65,504: a vorticity may be infinite.
            .or_else(|| is_velocity_nan().then_some(InvalidSnapshot::NotFinite("velocity")))
    }

    /// Returns whether no brick hides smoke or heat that a picture could show.
    fn is_bounded(&self) -> bool {
        let (dims, bricks, least) = (self.dims, self.bricks.dims, order(f16::from_f32(FAINTEST)));
        (0..dims.nz).into_par_iter().all(|k| {
            (0..dims.ny).all(|j| {
                let row = &self.smoke[dims.index(0, j, k)..][..dims.nx];
                row.chunks(BRICK).enumerate().all(|(i, cells)| {
                    let max =
                        self.bricks.max[bricks.index(i, j / BRICK, k / BRICK)].map(|x| order(x).max(least));
                    // Without branches within a run the compiler takes many values at once.
                    let hides =
                        |cell: &[f16; 4]| (0..4).fold(false, |hides, c| hides | (order(cell[c]) > max[c]));
                    !cells.iter().fold(false, |found, cell| found | hides(cell))
                })
            })
        })
    }

    /// As [`Snapshot::problem`], without a look at the smoke and the velocity of each cell.
    pub fn problem_of_shape(&self) -> Option<InvalidSnapshot> {
        let bricks = Bricks::brick_dims(self.dims);
        let count = |dims: Dims| dims.array().into_iter().fold(1, usize::saturating_mul);
        let length = |what, is: usize, wanted: usize| {
            (is != wanted).then_some(InvalidSnapshot::Length { what, is, wanted })
        };
        let positive = |what, value: f32| {
            let fine = value.is_finite() && value > 0.0;
            (!fine).then_some(InvalidSnapshot::NotPositive { what, value })
        };
        let finite = |what, values: &[f32]| {
            (!values.iter().all(|x| x.is_finite())).then_some(InvalidSnapshot::NotFinite(what))
        };
        let pose = |pose: &SolidPose| {
            finite("position of a solid", &pose.position)
                .or_else(|| finite("rotation of a solid", &pose.rotation))
                .or_else(|| positive("scale of a solid", pose.scale))
        };
        let has_velocity = !self.velocity.is_empty();
        let cells = count(self.dims);
        let is_near = self.origin.iter().all(|first| (-MOST_CELLS..=MOST_CELLS).contains(first));
        self.dims
            .array()
            .contains(&0)
            .then_some(InvalidSnapshot::Empty(self.dims.array()))
            .or_else(|| positive("edge of a cell", self.h))
            .or_else(|| positive("greatest extent", self.extent().into_iter().fold(0.0, f32::max)))
            .or_else(|| length("smoke", self.smoke.len(), cells))
            .or_else(|| length("velocity", if has_velocity { self.velocity.len() } else { cells }, cells))
            .or_else(|| (!is_near).then_some(InvalidSnapshot::Origin(self.origin)))
            .or_else(|| length("bricks", count(self.bricks.dims), count(bricks)))
            .or_else(|| length("maxima of bricks", self.bricks.max.len(), count(bricks)))
            .or_else(|| finite("box at the start", self.start.as_flattened()))
            .or_else(|| self.solids.iter().find_map(pose))
    }
}

/// Returns an integer with the order of the half floats that are numbers.
fn order(half: f16) -> i16 {
    let bits = half.to_bits() as i16;
    bits ^ ((bits >> 15) & i16::MAX)
}

/// Returns whether `is` is true of a value of some cell.
fn any(cells: &[[f16; 4]], is: impl Fn(f16) -> bool + Sync) -> bool {
    // Without branches within a run the compiler takes many values at once.
    let in_run = |run: &[[f16; 4]]| run.as_flattened().iter().fold(false, |found, &half| found | is(half));
    cells.par_chunks(4096).any(in_run)
}
