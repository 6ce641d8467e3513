//! Errors of the solver, with the values that caused them.

use thiserror::Error;

use super::invalid_value::InvalidValue;
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
    /// The grid of the smoke, [`Config::detail`](super::Config::detail) times as fine as the box, is empty or too large.
    #[error("the smoke has no such grid: {0}")]
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
    /// The length of a step \[s\] is not a positive number, or so short that rates per step overflow.
    #[error("a step of {0} s is impossible; it must be positive, and at least 1e-30 s")]
    StepLength(f32),
    /// `UPDRAFT_SIMD` names instructions that the machine lacks.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// The configuration, a parameter, a source, a force, a solid, a fill or a dab has an invalid value.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// There is not enough memory for the fields.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// A field holds a value that is not finite. Clear, fill or restore the solver, edit all such values, or build another.
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
    /// A side that varies has a value out of its range. The fields are those of the last whole substep.
    #[error(
        "{side}: {quantity} is {value} at {:?} m and {} s; it must be {} to {}: bound its formula, with min, max or if",
        .at.map(|x| (f64::from(x) * 1e6).round() / 1e6), (.time * 1e6).round() / 1e6, .range[0], .range[1]
    )]
    Side {
        /// `x_min` and so on.
        side: &'static str,
        /// The quantity.
        quantity: &'static str,
        /// Its value.
        value: f32,
        /// Place \[m\].
        at: [f32; 3],
        /// Instant \[s\].
        time: f64,
        /// Least and greatest valid value.
        range: [f32; 2],
    },
    /// NaN or infinite values were left in the fields. They are 0 now.
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
    /// The last [load](super::Solver::load) failed and left the fields a mixture of two states.
    #[error(
        "the last load failed and the fields are incomplete; load or restore a state, or clear or fill the solver"
    )]
    Incomplete,
    /// A box that does not fit on so many ranks.
    #[error("{0}")]
    Ranks(String),
    /// The step was cancelled. The fields are finite but at no instant: restore an earlier state, or clear or replace the solver; see
    /// [`Solver::step_cancellable`](super::Solver::step_cancellable).
    #[error("the step was cancelled")]
    Cancelled,
}
