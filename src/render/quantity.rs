//! Quantities of slices and emissive volumes, and their ranges in a snapshot.

use crate::snapshot::{Snapshot, fastest, greatest};

/// Extinction of the greatest value times the longest side of the box.
pub(super) const THICKNESS: f32 = 24.0;

/// A quantity that a slice can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// Sum of the three colours \[-\].
    Density,
    /// Red smoke \[-\].
    Red,
    /// Green smoke \[-\].
    Green,
    /// Blue smoke \[-\].
    Blue,
    /// Temperature excess \[K\].
    Temperature,
    /// |u| \[m/s\].
    Speed,
    /// u \[m/s\].
    VelocityX,
    /// v \[m/s\].
    VelocityY,
    /// w \[m/s\].
    VelocityZ,
    /// |ω| \[1/s\].
    Vorticity,
}

impl Quantity {
    /// All quantities, in the order of the menu.
    pub const ALL: [Self; 10] = [
        Self::Density,
        Self::Red,
        Self::Green,
        Self::Blue,
        Self::Temperature,
        Self::Speed,
        Self::VelocityX,
        Self::VelocityY,
        Self::VelocityZ,
        Self::Vorticity,
    ];

    /// Returns the name for menus.
    pub fn name(self) -> &'static str {
        match self {
            Self::Density => "density",
            Self::Red => "red",
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Temperature => "temperature",
            Self::Speed => "speed",
            Self::VelocityX => "velocity x",
            Self::VelocityY => "velocity y",
            Self::VelocityZ => "velocity z",
            Self::Vorticity => "vorticity",
        }
    }

    /// Returns the unit, empty if dimensionless.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Density | Self::Red | Self::Green | Self::Blue => "",
            Self::Temperature => "K",
            Self::Speed | Self::VelocityX | Self::VelocityY | Self::VelocityZ => "m/s",
            Self::Vorticity => "1/s",
        }
    }

    /// Returns whether it needs a snapshot with velocity.
    pub fn needs_velocity(self) -> bool {
        self.of_flow() != [0.0; 4] || self == Self::Speed
    }

    /// Returns the factors of red, green, blue and temperature.
    pub(super) fn of_smoke(self) -> [f32; 4] {
        match self {
            Self::Density => [1.0, 1.0, 1.0, 0.0],
            Self::Red => [1.0, 0.0, 0.0, 0.0],
            Self::Green => [0.0, 1.0, 0.0, 0.0],
            Self::Blue => [0.0, 0.0, 1.0, 0.0],
            Self::Temperature => [0.0, 0.0, 0.0, 1.0],
            _ => [0.0; 4],
        }
    }

    /// Returns the factors of u, v, w and vorticity; the speed is not linear in them.
    pub(super) fn of_flow(self) -> [f32; 4] {
        match self {
            Self::VelocityX => [1.0, 0.0, 0.0, 0.0],
            Self::VelocityY => [0.0, 1.0, 0.0, 0.0],
            Self::VelocityZ => [0.0, 0.0, 1.0, 0.0],
            Self::Vorticity => [0.0, 0.0, 0.0, 1.0],
            _ => [0.0; 4],
        }
    }
}

/// Largest values of a snapshot, for the ends of the colour scale.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranges {
    smoke: [f32; 4],
    /// Lowest temperature excess, at most 0 K.
    coldest: f32,
    speed: f32,
    vorticity: f32,
}

impl Ranges {
    /// Returns the ranges of `snapshot`.
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut smoke = [0.0_f32; 4];
        for max in &snapshot.bricks.max {
            (0..4).for_each(|c| smoke[c] = smoke[c].max(max[c].to_f32()));
        }
        let speed = fastest(&snapshot.velocity);
        let vorticity = greatest(&snapshot.velocity, |[.., vorticity]| vorticity);
        Self { smoke, coldest: snapshot.bricks.coldest.to_f32(), speed, vorticity }
    }

    /// Returns the ends of the colour scale: 0 and the largest value; for the temperature the lowest one
    /// below 0 instead of 0; for velocity components minus and plus the largest speed.
    pub fn range(&self, quantity: Quantity) -> [f32; 2] {
        let factors = quantity.of_smoke();
        let smoke: f32 = (0..4).map(|c| factors[c] * self.smoke[c]).sum();
        let [lo, hi] = match quantity {
            Quantity::Speed => [0.0, self.speed],
            Quantity::Vorticity => [0.0, self.vorticity],
            Quantity::Temperature => [self.coldest, smoke],
            q if q.needs_velocity() => [-self.speed, self.speed],
            _ => [0.0, smoke],
        };
        [lo, hi.max(lo + 1e-6)]
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::grid::Dims;

    #[test]
    fn the_colours_span_what_is_there() {
        let mut snapshot = Snapshot::empty(Dims::new([9, 3, 2]).unwrap(), 1.0);
        snapshot.smoke[5] = [1.0, 2.0, 0.5, 30.0].map(f16::from_f32);
        snapshot.bricks.update(snapshot.dims, &snapshot.smoke);
        snapshot.velocity = vec![[3.0, 4.0, 0.0, 7.0].map(f16::from_f32); 54];
        let ranges = Ranges::of(&snapshot);
        assert_eq!(ranges.range(Quantity::Density), [0.0, 3.5]);
        assert_eq!(ranges.range(Quantity::Temperature), [0.0, 30.0]);
        assert_eq!(ranges.range(Quantity::Speed), [0.0, 5.0]);
        assert_eq!(ranges.range(Quantity::VelocityY), [-5.0, 5.0]);
        assert_eq!(ranges.range(Quantity::Vorticity), [0.0, 7.0]);
        snapshot.smoke[50][3] = f16::from_f32(-12.0);
        snapshot.bricks.update(snapshot.dims, &snapshot.smoke);
        assert_eq!(Ranges::of(&snapshot).range(Quantity::Temperature), [-12.0, 30.0], "cold air is seen too");
    }
}
