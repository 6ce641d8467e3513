//! Errors of the solver, with the values that caused them.

use thiserror::Error;

use crate::grid::GridError;
use crate::room::NoRoom;
use crate::simd::LevelError;

/// Why a solver could not be built or a step not finished.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SolverError {
    /// The edge of a cell \[m\] is not a positive number.
    #[error("a cell of {0} m is impossible; its edge must be positive")]
    CellSize(f32),
    /// [`Config::detail`](super::Config::detail) is not within its range.
    #[error("a detail of {0} is impossible; it must be 1 to {most}", most = super::MOST_DETAIL)]
    Detail(usize),
    /// The grid of the smoke is too large.
    #[error("the smoke of this detail has too many cells: {0}")]
    Smoke(#[from] GridError),
    /// Only one of the two sides of an axis (0, 1, 2 for x, y, z) is periodic.
    #[error("only one {} side is periodic; make both so", ["x", "y", "z"][*.axis % 3])]
    HalfPeriodic {
        /// The axis.
        axis: usize,
    },
    /// No side of a box that [follows](super::Config::follow) its smoke is open.
    #[error("no side is open, so none can follow the smoke; open one, or set follow to false")]
    NoSideFollows,
    /// The system refused to start threads, for this reason.
    #[error("cannot start the solver's threads: {0}")]
    Threads(String),
    /// The length of a step \[s\] is not a positive number.
    #[error("a step of {0} s is impossible; it must be positive")]
    StepLength(f32),
    /// `UPDRAFT_SIMD` names instructions that the machine lacks.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// A solid has an invalid value.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// There is not enough memory for the fields.
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
        /// Stage of the step after which it was found.
        stage: &'static str,
        /// Number of the step, from 1; 0 is the start.
        step: u64,
    },
    /// A program left NaN or infinite values in the fields. They are 0 now.
    #[error("{values} values of the fields were not finite; they are 0 now")]
    EditNotFinite {
        /// Number of such values.
        values: usize,
    },
    /// Solids in a frozen flow.
    #[error("a frozen flow ignores solids; solve the flow, or remove them")]
    FrozenAroundSolids,
    /// Solids with [`Projection::Direct`](super::Projection::Direct).
    #[error("the direct projection supports no solids; set projection to auto or multigrid")]
    DirectAroundSolids,
    /// A state to restore was captured from a solver of another [`Config`](super::Config).
    #[error("this state belongs to a box with another configuration")]
    OtherConfig,
    /// A state to restore, in a simulation that never captures one.
    #[error("this simulation cannot capture its state")]
    NoState,
    /// A box that does not fit on so many ranks.
    #[error("{0}")]
    Ranks(String),
    /// The step was cancelled. The fields are finite but at no instant: restore an earlier state, or clear or replace the solver; see
    /// [`Solver::step_cancellable`](super::Solver::step_cancellable).
    #[error("the step was cancelled")]
    Cancelled,
}

/// An invalid value of a solid, source, region or force.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InvalidValue {
    /// A size, scale or similar value that is not a positive number.
    #[error("a {of}'s {what} of {value}{unit} is out of range; it must be positive")]
    NotPositive {
        /// `solid`, `region`, `force` …
        of: &'static str,
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f32,
        /// Unit after a space, or an empty string.
        unit: &'static str,
    },
    /// A position, speed or similar value that is infinite or NaN.
    #[error("a {of}'s {what} must be finite")]
    NotFinite {
        /// `solid`, `region`, `force` …
        of: &'static str,
        /// Name of the value.
        what: &'static str,
    },
    /// A value outside the solver's range.
    #[error("a {of}'s {what} of {value} is out of range; it must lie between {low:e} and {high:e}")]
    OutOfRange {
        /// `solid`, `region`, `force` …
        of: &'static str,
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f32,
        /// Least valid value.
        low: f32,
        /// Greatest valid value.
        high: f32,
    },
    /// A rotation that is not a unit quaternion.
    #[error("a {of}'s rotation must be a unit quaternion")]
    NotUnit {
        /// `solid` or `region`.
        of: &'static str,
    },
    /// Keyframes whose times do not ascend.
    #[error("a solid's keyframes must rise in time")]
    KeyframesNotRising,
}

impl InvalidValue {
    /// Returns an error unless `value` is a positive number.
    pub(super) fn unless_positive(
        of: &'static str,
        what: &'static str,
        value: f32,
        unit: &'static str,
    ) -> Option<Self> {
        let fine = value.is_finite() && value > 0.0;
        (!fine).then_some(Self::NotPositive { of, what, value, unit })
    }

    /// Returns an error unless all `values` are finite.
    pub(super) fn unless_finite(of: &'static str, what: &'static str, values: &[f32]) -> Option<Self> {
        let fine = values.iter().all(|x| x.is_finite());
        (!fine).then_some(Self::NotFinite { of, what })
    }

    /// Returns an error unless `value` lies in `low..=high`; NaN does not.
    pub(super) fn unless_within(
        of: &'static str,
        what: &'static str,
        value: f32,
        [low, high]: [f32; 2],
    ) -> Option<Self> {
        let fine = (low..=high).contains(&value);
        (!fine).then_some(Self::OutOfRange { of, what, value, low, high })
    }

    /// Returns an error unless the quaternion has length 1; NaN is an error too.
    pub(super) fn unless_unit(of: &'static str, rotation: [f32; 4]) -> Option<Self> {
        let squared: f32 = rotation.iter().map(|x| x * x).sum();
        let fine = (squared - 1.0).abs() <= 1e-3;
        (!fine).then_some(Self::NotUnit { of })
    }
}
