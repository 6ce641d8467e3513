//! Invalid values: the kind of object that has one, the name of the value, and its valid range.

use thiserror::Error;

/// An invalid value of a configuration, of parameters, or of a source, force, solid, region, fill or dab.
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
    /// A rate, coefficient or similar value below 0, or one that is infinite or NaN.
    #[error("a {of}'s {what} of {value}{unit} is out of range; it must be a number from 0 on")]
    Negative {
        /// `fluid`, `smoke` …
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
    #[error("a {of}'s {what} of {value} is out of range; it must lie between {} and {}", plain(*.low), plain(*.high))]
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
    /// An instant that is NaN. Infinite instants are valid: −∞ is before all time, +∞ is never.
    #[error("a {of}'s {what} must be an instant in seconds, which may be infinite, not NaN")]
    NoInstant {
        /// `source` or `force`.
        of: &'static str,
        /// Name of the value.
        what: &'static str,
    },
    /// An axis that is not a unit vector.
    #[error("a {of}'s axis must be a unit vector; divide it by its length")]
    NotUnitAxis {
        /// `force`.
        of: &'static str,
    },
    /// A rotation that is not a unit quaternion.
    #[error("a {of}'s rotation must be a unit quaternion")]
    NotUnit {
        /// `solid` or `region`.
        of: &'static str,
    },
    /// A fixed temperature at a side that is not a wall.
    #[error(
        "a configuration's temperature held at {side} has no effect; the side must be a wall, or the temperature absent"
    )]
    HeldByNoWall {
        /// `x_min`, `x_max` …
        side: &'static str,
    },
    /// A no-slip wall whose velocity points through it.
    #[error("a configuration's wall {side} cannot move across itself; set its velocity across the side to 0")]
    WallAcross {
        /// `x_min`, `x_max` …
        side: &'static str,
    },
    /// Inflows into a box that no air can leave, or out of one that none can enter.
    #[error(
        "a configuration's inflows bring {net} m³/s into a box without an open side; open one, or let the inflows balance"
    )]
    NoExit {
        /// Net flow into the box \[m³/s\].
        net: f32,
    },
    /// A profile of a side that no box has.
    #[error(
        "a profile's side with axis {axis} and end {end} is impossible; the axis must be 0 to 2 and the end 0 or 1"
    )]
    NoSide {
        /// Its axis.
        axis: usize,
        /// Its end.
        end: usize,
    },
    /// A profile of a quantity that its side does not take.
    #[error(
        "a profile's {quantity} has no effect at {side}: an inflow takes all quantities, a no-slip wall velocities, \
         and a wall that holds a temperature takes one; change the side or the profile"
    )]
    NoProfile {
        /// `x_min`, `x_max` …
        side: &'static str,
        /// The quantity.
        quantity: &'static str,
    },
    /// An axis or a rotation that is NaN, infinite or 0.
    #[error("a {of}'s axis or rotation has no direction; it must be finite and not 0")]
    NoDirection {
        /// `region`.
        of: &'static str,
    },
    /// Keyframes whose times do not ascend.
    #[error("a solid's keyframes must rise in time")]
    KeyframesNotRising,
}

/// A number as people write it, and in powers of ten only if that has many zeros.
fn plain(x: f32) -> String {
    if x == 0.0 || (1e-4..1e7).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
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

    /// Returns an error unless `value` is a number from 0 on.
    pub(super) fn unless_zero_or_more(
        of: &'static str,
        what: &'static str,
        value: f32,
        unit: &'static str,
    ) -> Option<Self> {
        let fine = value.is_finite() && value >= 0.0;
        (!fine).then_some(Self::Negative { of, what, value, unit })
    }

    /// Returns an error if `start` or `stop` is NaN.
    pub(super) fn unless_interval(of: &'static str, start: f32, stop: f32) -> Option<Self> {
        let named = [("start", start), ("stop", stop)];
        named.into_iter().find(|(_, time)| time.is_nan()).map(|(what, _)| Self::NoInstant { of, what })
    }

    /// Returns an error unless `axis` has length 1; NaN is an error too.
    pub(super) fn unless_unit_axis(of: &'static str, axis: [f32; 3]) -> Option<Self> {
        let squared: f32 = axis.iter().map(|x| x * x).sum();
        let fine = (squared - 1.0).abs() <= 1e-3;
        (!fine).then_some(Self::NotUnitAxis { of })
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
