//! The words that a key may hold, each with what it means and the value it stands for.

use super::field::{Plain, Value};
use crate::look::Scattering;
use crate::solver::{Advection, Integrator, Projection};

/// Words and their meanings.
pub type Words = &'static [(&'static str, &'static str)];

/// The words of a type; `match` sees to it that no value is forgotten.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $type:ty {
        $($pattern:pat = $value:expr => $word:literal: $meaning:literal,)*
    })*) => {$(
        $(#[$doc])*
        pub(super) const $name: Words = &[$(($word, $meaning)),*];

        impl Plain for $type {
            fn wrap(self) -> Value {
                Value::Word(match self { $($pattern => $word),* })
            }

            fn unwrap(value: Value) -> Option<Self> {
                match value {
                    $(Value::Word($word) => Some($value),)*
                    _ => None,
                }
            }
        }
    )*};
}

/// Sweeps of the Gauss–Seidel projection, as many as Stam takes.
const SWEEPS: u32 = 20;

/// Whether the velocity is frozen.
#[derive(Clone, Copy)]
pub(super) struct Frozen(pub bool);

words! {
    /// `solver.advection`.
    ADVECTION: Advection {
        Self::Cubic = Self::Cubic => "cubic": "limited Catmull–Rom interpolation, sharp",
        Self::Lagrange = Self::Lagrange => "lagrange":
            "limited Lagrange interpolation, better at thin layers and steady edges; the smallest swirls fade sooner",
        Self::MacCormack = Self::MacCormack => "maccormack": "second order by a trace forth and back, limited",
        Self::Monotone = Self::Monotone => "monotone": "a Hermite curve that does not overshoot",
        Self::SemiLagrangian = Self::SemiLagrangian => "semi-lagrangian": "first order, the smoothest",
        Self::Conservative = Self::Conservative => "conservative":
            "smoke and heat by sweeps of parabolas that lose and make none, sharper than all others; the velocity by \"cubic\"",
    }
    /// `solver.integrator`.
    INTEGRATOR: Integrator {
        Self::Projection = Self::Projection => "projection": "advect, add forces, project: first order in time",
        Self::Reflection = Self::Reflection => "reflection":
            "two half steps with a reflection: second order in time, swirls live longer, twice the work; the choice \
             where viscosity rules",
        Self::Trapezoid = Self::Trapezoid => "trapezoid":
            "half of the pressure before the advection, half after: second order, swirls live longer, at little more work",
    }
    /// `solver.projection`.
    PROJECTION: Projection {
        Self::Auto = Self::Auto => "auto": "direct in an empty box, multigrid around solids",
        Self::Direct = Self::Direct => "direct": "transforms and tridiagonal systems, exact, without solids only",
        Self::Multigrid = Self::Multigrid => "multigrid": "conjugate gradients preconditioned by multigrid",
        Self::GaussSeidel { .. } = Self::GaussSeidel { sweeps: SWEEPS } => "gauss-seidel": "20 sweeps, for comparison",
    }
    /// `solver.flow`.
    FLOW: Frozen {
        Self(false) = Self(false) => "solved": "the velocity follows the equations",
        Self(true) = Self(true) => "frozen":
            "the velocity stays as it is at the start and advects smoke and heat; no force, pressure or wall acts on it",
    }
    /// `render.medium.scattering`.
    SCATTERING: Scattering {
        Self::Multiple = Self::Multiple => "multiple": "light scattered any number of times",
        Self::Single = Self::Single => "single": "light scattered once",
        Self::Traced = Self::Traced => "traced": "light paths followed to the end, slowly, on the CPU",
    }
}

/// `force.#.acts_on`.
pub(super) const ACTS_ON: Words = &[
    ("air", "all air alike, the default of wind and vortex"),
    (
        "smoke",
        "as strong as the densities together, for a velocity in full from 1 on; the default of a point",
    ),
];

/// `solid.#.slip`.
pub(super) const SLIP: Words = &[
    ("free", "the air glides along it, without viscous stress"),
    ("none", "the air sticks to it; viscosity feels the surface where it lies between the cells"),
];

/// `domain.walls`.
pub(super) const SIDES: Words = &[
    ("closed", "a free-slip wall"),
    ("no-slip", "a wall that drags"),
    ("open", "smoke leaves, clean ambient air enters"),
    ("periodic", "what leaves here enters at the opposite side; both sides of an axis"),
];
