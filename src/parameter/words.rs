//! The words that a key accepts, each with its meaning and value.

use super::field_access::{Plain, Value};
use crate::look::{Scattering, ToneMap};
use crate::solver::{Advection, Integrator, Projection};

/// Words and their meanings.
pub type Words = &'static [(&'static str, &'static str)];

/// Declares the words of a type; `match` ensures that no value is forgotten.
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

/// Sweeps of the Gauss–Seidel projection, the number that Stam uses.
const SWEEPS: u32 = 20;

/// Whether the velocity is frozen.
#[derive(Clone, Copy)]
pub(super) struct Frozen(pub bool);

words! {
    /// `solver.advection`.
    ADVECTION: Advection {
        Self::Conservative = Self::Conservative => "conservative":
            "flux-form sweeps of parabolas: smoke and heat are neither lost nor gained, and sharper than with all others; the velocity by \"lagrange\"",
        Self::Cubic = Self::Cubic => "cubic": "limited Catmull–Rom interpolation, sharp; smoke and the energy of swirls may grow or shrink by themselves",
        Self::Lagrange = Self::Lagrange => "lagrange":
            "limited Lagrange interpolation, better at thin layers and steady edges; the smallest swirls fade sooner",
        Self::MacCormack = Self::MacCormack => "maccormack": "second order by a forward and a backward trace, limited",
        Self::Monotone = Self::Monotone => "monotone": "Hermite curve without overshoots",
        Self::SemiLagrangian = Self::SemiLagrangian => "semi-lagrangian": "first order, the smoothest",
    }
    /// `solver.integrator`.
    INTEGRATOR: Integrator {
        Self::Projection = Self::Projection => "projection": "advect, add forces, project: first order in time",
        Self::Reflection = Self::Reflection => "reflection":
            "two half steps with a reflection: second order in time, swirls live longer, twice the cost; the choice \
             at high viscosity",
        Self::Trapezoid = Self::Trapezoid => "trapezoid":
            "half of the pressure before the advection, half after: second order in time, swirls live longer, for little more work",
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
            "the initial velocity remains and advects smoke and heat; no force, pressure or wall acts on it",
    }
    /// `render.tone_map`.
    TONE_MAP: ToneMap {
        Self::AgX = Self::AgX => "agx": "bright colours turn pale, as on film",
        Self::Aces = Self::Aces => "aces": "the film curve of ACES: more contrast",
        Self::Plain = Self::Plain => "plain": "none: radiance above 1 is cut off",
    }
    /// `render.medium.scattering`.
    SCATTERING: Scattering {
        Self::Multiple = Self::Multiple => "multiple": "light scattered any number of times",
        Self::Single = Self::Single => "single": "light scattered once",
        Self::Traced = Self::Traced => "traced": "path tracing, slow, on the CPU",
    }
}

/// `render.camera.projection`.
pub(super) const CAMERA_PROJECTION: Words = &[
    ("perspective", "what is farther is smaller"),
    (
        "orthographic",
        "what is farther has the same size, and parallel edges stay parallel; as high as a perspective picture of the \
         same field of view at the target",
    ),
];

/// `force.#.acts_on`.
pub(super) const ACTS_ON: Words = &[
    ("air", "all air alike, the default of wind and vortex"),
    (
        "smoke",
        "proportional to the sum of the densities, for a velocity fully from 1 on; the default of a point",
    ),
];

/// `solid.#.slip`.
pub(super) const SLIP: Words = &[
    ("free", "the air glides along it, without viscous stress"),
    ("none", "the air sticks to it; viscosity acts at the surface between the cells"),
];

/// `solid.#.motion`.
pub(super) const MOTION: Words = &[
    ("linear", "straight on, with a speed that jumps at the keyframes"),
    (
        "smooth",
        "along a monotone cubic, starting and ending at rest, which never swings beyond the keyframes",
    ),
];

/// `probe.#.at.side`.
pub(super) const SIDE_NAMES: Words = &[
    ("x_min", "where x is least"),
    ("x_max", "where x is greatest"),
    ("y_min", "the bottom"),
    ("y_max", "the top"),
    ("z_min", "where z is least"),
    ("z_max", "where z is greatest"),
];

/// `domain.walls`.
pub(super) const SIDES: Words = &[
    ("closed", "a free-slip wall"),
    ("no-slip", "a no-slip wall"),
    ("open", "smoke leaves, clean ambient air enters"),
    ("periodic", "air that leaves enters at the opposite side; both sides of an axis"),
];
