//! Errors of the solver, with the values that caused them.

use thiserror::Error;

use super::simd::LevelError;
use crate::room::NoRoom;

/// Why a solver could not be built or a step not finished.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SolverError {
    /// The edge of a cell \[m\] is not a positive number.
    #[error("a cell of {0} m cannot be; it must be positive")]
    CellSize(f32),
    /// Only one of the two sides across an axis (0, 1, 2 for x, y, z) is periodic.
    #[error("only one {} side is periodic; make both so", ["x", "y", "z"][*.axis % 3])]
    HalfPeriodic {
        /// The axis.
        axis: usize,
    },
    /// The system gave no threads; the text is its reason.
    #[error("cannot start the solver's threads: {0}")]
    Threads(String),
    /// The length of a step \[s\] is not a positive number.
    #[error("a step of {0} s cannot be; it must be positive")]
    StepLength(f32),
    /// The environment asks for instructions that the machine lacks.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// A solid is impossible.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// There is not memory enough for the fields.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// A field holds a value that is not finite. Clear, fill or restore the solver, or build another.
    #[error(
        "{field} is not a finite number in cell {cell:?} after {stage} in step {step}; \
         start again with weaker forces or a shorter time step"
    )]
    NotFinite {
        /// The field.
        field: &'static str,
        /// The cell, or the face below it.
        cell: [usize; 3],
        /// The stage of the step after which it was found.
        stage: &'static str,
        /// The step, from 1; 0 is the start.
        step: u64,
    },
    /// A program left values in the fields that are NaN or infinite. They are 0 now.
    #[error("{values} values of the fields were not finite; they are 0 now")]
    EditNotFinite {
        /// How many.
        values: usize,
    },
    /// Solids in a flow that is not solved.
    #[error("a frozen flow goes around no solids; let it be solved")]
    FrozenAroundSolids,
    /// Solids with [`Projection::Direct`](super::Projection::Direct).
    #[error("the direct projection knows no solids; set projection to auto or multigrid")]
    DirectAroundSolids,
    /// A state to restore was captured from a solver of another [`Config`](super::Config).
    #[error("this state is that of a box with another configuration")]
    OtherConfig,
    /// A state to restore, where none is ever captured.
    #[error("this simulation keeps no states")]
    NoState,
    /// The step was told to stop. The fields are finite but between two instants: clear or replace the solver, or
    /// go on from there.
    #[error("the step was cancelled")]
    Cancelled,
}

/// A number of a solid, source, region or force that no flow can be computed with.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InvalidValue {
    /// A size, scale or the like that is not a positive number.
    #[error("a {of}'s {what} of {value}{unit} cannot be; it must be positive")]
    NotPositive {
        /// `solid`, `region`, `force` …
        of: &'static str,
        /// Which of its numbers.
        what: &'static str,
        /// The number.
        value: f32,
        /// Its unit after a space, or nothing.
        unit: &'static str,
    },
    /// A position, speed or the like that is infinite or NaN.
    #[error("a {of}'s {what} must be finite")]
    NotFinite {
        /// `solid`, `region`, `force` …
        of: &'static str,
        /// Which of its numbers.
        what: &'static str,
    },
    /// A number outside what the solver can bear.
    #[error("a {of}'s {what} of {value} cannot be; it must lie between {low:e} and {high:e}")]
    OutOfRange {
        /// `solid`, `region`, `force` …
        of: &'static str,
        /// Which of its numbers.
        what: &'static str,
        /// The number.
        value: f32,
        /// The least that it may be.
        low: f32,
        /// The most that it may be.
        high: f32,
    },
    /// A rotation whose four numbers have not length 1.
    #[error("a {of}'s rotation must be a unit quaternion")]
    NotUnit {
        /// `solid` or `region`.
        of: &'static str,
    },
    /// Keyframes that do not rise in time.
    #[error("a solid's keyframes must rise in time")]
    KeyframesNotRising,
}

impl InvalidValue {
    /// Nothing, if `value` is a positive number.
    pub(super) fn unless_positive(
        of: &'static str,
        what: &'static str,
        value: f32,
        unit: &'static str,
    ) -> Option<Self> {
        let fine = value.is_finite() && value > 0.0;
        (!fine).then_some(Self::NotPositive { of, what, value, unit })
    }

    /// Nothing, if all `values` are finite.
    pub(super) fn unless_finite(of: &'static str, what: &'static str, values: &[f32]) -> Option<Self> {
        let fine = values.iter().all(|x| x.is_finite());
        (!fine).then_some(Self::NotFinite { of, what })
    }

    /// Nothing, if `value` lies in `low..=high`; NaN does not.
    pub(super) fn unless_within(
        of: &'static str,
        what: &'static str,
        value: f32,
        [low, high]: [f32; 2],
    ) -> Option<Self> {
        let fine = (low..=high).contains(&value);
        (!fine).then_some(Self::OutOfRange { of, what, value, low, high })
    }

    /// Nothing, if the quaternion has length 1; one with NaN has not.
    pub(super) fn unless_unit(of: &'static str, rotation: [f32; 4]) -> Option<Self> {
        let squared: f32 = rotation.iter().map(|x| x * x).sum();
        let fine = (squared - 1.0).abs() <= 1e-3;
        (!fine).then_some(Self::NotUnit { of })
    }
}
