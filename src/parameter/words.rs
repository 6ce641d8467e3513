//! The words of a scene, each declared once with its meaning and its value.
//!
//! [`Worded`] connects a type with its words. Scenes and `--set` are read with it, errors list its words,
//! saving writes them, and panel and reference show them. Some words stand alone (`slip = "free"`), others
//! name a table (`shape = { sphere = { … } }`). For these [`tables!`] makes an enum, and the scene declares
//! the contents.

use crate::field::Field;
use crate::look::{CameraProjection, Emitter, Scattering, ToneMap};
use crate::solver::{
    ActsOn, Advection, BoundaryCondition, ForceField, Integrator, Motion, Projection, Shape, Slip,
};

/// Words and their meanings.
pub type Words = &'static [(&'static str, &'static str)];

/// A type whose values are words of a scene.
pub trait Worded: Copy + 'static {
    /// The words with their meanings.
    const WORDS: Words;
    /// The words alone.
    const NAMES: &'static [&'static str];

    /// Returns the word of a value.
    fn word(self) -> &'static str;

    /// Returns the value of a word, if it is one of these.
    fn from_word(word: &str) -> Option<Self>;
}

/// The word for the mean temperature of the box, in place of a number.
pub const MEAN: &str = "mean";

/// Sweeps of the Gauss–Seidel projection, the number that Stam uses.
const SWEEPS: u32 = 20;

/// Whether the velocity is frozen.
#[derive(Clone, Copy)]
pub(super) struct Frozen(pub bool);

/// Declares the words of a type; `match` ensures that no value is forgotten.
macro_rules! words {
    ($($type:ty { $($pattern:pat = $value:expr => $word:literal: $meaning:literal,)* })*) => {$(
        impl Worded for $type {
            const WORDS: Words = &[$(($word, $meaning)),*];
            const NAMES: &'static [&'static str] = &[$($word),*];

            fn word(self) -> &'static str {
                match self { $($pattern => $word),* }
            }

            fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some($value),)*
                    _ => None,
                }
            }
        }
    )*};
}

words! {
    // `solver.advection`.
    Advection {
        Self::Conservative = Self::Conservative => "conservative":
            "flux-form sweeps of parabolas: smoke and heat are neither lost nor gained, and sharper than with all others; the velocity by \"lagrange\", through six points along each axis beside finer smoke",
        Self::Cubic = Self::Cubic => "cubic": "limited Catmull–Rom interpolation, sharp; smoke and the energy of swirls may grow or shrink by themselves",
        Self::Lagrange = Self::Lagrange => "lagrange":
            "limited Lagrange interpolation, better at thin layers and steady edges; the smallest swirls fade sooner",
        Self::MacCormack = Self::MacCormack => "maccormack": "second order by a forward and a backward trace, limited",
        Self::Monotone = Self::Monotone => "monotone": "Hermite curve without overshoots",
        Self::SemiLagrangian = Self::SemiLagrangian => "semi-lagrangian": "first order, the smoothest",
    }
    // `solver.integrator`.
    Integrator {
        Self::Projection = Self::Projection => "projection": "advect, add forces, project: first order in time",
        Self::Reflection = Self::Reflection => "reflection":
            "two half steps with a reflection: second order in time, swirls live longer, twice the cost; the choice \
             at high viscosity",
        Self::Trapezoid = Self::Trapezoid => "trapezoid":
            "half of the pressure before the advection, half after: second order in time, swirls live longer, for little more work",
    }
    // `solver.projection`.
    Projection {
        Self::Auto = Self::Auto => "auto": "direct in an empty box, multigrid around solids",
        Self::Direct = Self::Direct => "direct": "transforms and tridiagonal systems, exact, without solids only",
        Self::Multigrid = Self::Multigrid => "multigrid": "conjugate gradients preconditioned by multigrid",
        Self::GaussSeidel { .. } = Self::GaussSeidel { sweeps: SWEEPS } => "gauss-seidel": "20 sweeps, for comparison",
    }
    // `solver.flow`.
    Frozen {
        Self(false) = Self(false) => "solved": "the velocity follows the equations",
        Self(true) = Self(true) => "frozen":
            "the initial velocity remains and advects smoke and heat; no force, pressure or wall acts on it",
    }
    // `render.tone_map`.
    ToneMap {
        Self::AgX = Self::AgX => "agx": "bright colours turn pale, as on film",
        Self::Aces = Self::Aces => "aces": "the film curve of ACES: more contrast",
        Self::Plain = Self::Plain => "plain": "none: radiance above 1 is cut off",
    }
    // `render.medium.scattering`.
    Scattering {
        Self::Multiple = Self::Multiple => "multiple": "light scattered any number of times",
        Self::Single = Self::Single => "single": "light scattered once",
        Self::Traced = Self::Traced => "traced": "path tracing, slow, on the CPU",
    }
    // `render.camera.projection`.
    CameraProjection {
        Self::Perspective = Self::Perspective => "perspective": "what is farther is smaller",
        Self::Orthographic = Self::Orthographic => "orthographic":
            "what is farther has the same size, and parallel edges stay parallel; as high as a perspective picture of the \
             same field of view at the target",
    }
    // `force.#.acts_on`.
    ActsOn {
        Self::Air = Self::Air => "air": "all air alike, the default of wind and vortex",
        Self::Smoke = Self::Smoke => "smoke":
            "proportional to the sum of the densities, for a velocity fully from 1 on; the default of a point",
    }
    // `solid.#.slip`.
    Slip {
        Self::Free = Self::Free => "free": "the air glides along it, without viscous stress",
        Self::None = Self::None => "none": "the air sticks to it; viscosity acts at the surface between the cells",
    }
    // `solid.#.motion`.
    Motion {
        Self::Linear = Self::Linear => "linear": "straight on, with a speed that jumps at the keyframes",
        Self::Smooth = Self::Smooth => "smooth":
            "along a monotone cubic, starting and ending at rest, which never swings beyond the keyframes",
    }
}

/// The words of `probe.#.fields`, which are also the names of fields in other files.
impl Worded for Field {
    const WORDS: Words = Self::MEANINGS;
    const NAMES: &'static [&'static str] = Self::NAMES;

    fn word(self) -> &'static str {
        self.name()
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == word)
    }
}

/// Declares enums with their words, for words that name a table or a number rather than a value.
macro_rules! tables {
    ($($(#[$about:meta])* $type:ident { $($variant:ident => $word:literal: $meaning:literal,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $type {
            $(#[doc = concat!("`", $word, "`: ", $meaning, ".")] $variant,)*
        }

        words! { $type { $(Self::$variant = Self::$variant => $word: $meaning,)* } }
    )*};
}

tables! {
    /// Boundary condition of a side of the box.
    SideKind {
        Closed => "closed": "a free-slip wall",
        NoSlip => "no-slip": "a no-slip wall",
        Open => "open": "smoke leaves, clean ambient air enters",
        Periodic => "periodic": "air that leaves enters at the opposite side; both sides of an axis",
        Inflow => "inflow": "air enters with the velocity of its table",
    }
    /// A side of the box.
    SideName {
        XMin => "x_min": "where x is least",
        XMax => "x_max": "where x is greatest",
        YMin => "y_min": "the bottom",
        YMax => "y_max": "the top",
        ZMin => "z_min": "where z is least",
        ZMax => "z_max": "where z is greatest",
    }
    /// Shape of a source, of a fill, or of the region of a force.
    RegionKind {
        Sphere => "sphere": "a ball",
        Box => "box": "a box, turned or not",
        Disc => "disc": "a round plate",
        Mesh => "mesh": "the inside of a closed mesh",
        Text => "text": "letters",
        Image => "image": "a picture as a card",
        Volume => "volume": "the density of an OpenVDB file",
    }
    /// Shape of a solid.
    SolidKind {
        Sphere => "sphere": "a ball",
        Box => "box": "a box",
        Cylinder => "cylinder": "a cylinder along y",
        Mesh => "mesh": "a closed mesh",
    }
    /// Kind of a force.
    ForceKind {
        Wind => "wind": "the same everywhere",
        Point => "point": "towards a point, or away from it",
        Vortex => "vortex": "around an axis",
    }
    /// Kind of a light.
    LightKind {
        Sun => "sun": "from afar",
        Point => "point": "a ball",
        Spot => "spot": "a cone",
        Area => "area": "a rectangle",
    }
    /// Place at which a probe measures.
    PlaceKind {
        Point => "point": "the values at a point",
        Line => "line": "the values at points along a line",
        Plane => "plane": "the mean over a plane",
        Box => "box": "the mean over the cells in a box",
        Side => "side": "the mean over a side of the domain",
        Solid => "solid": "the force on a solid, or its heat; it has no fields",
    }
    /// Interval at which a probe measures.
    IntervalKind {
        Steps => "steps": "a number of steps",
        Seconds => "seconds": "a span of time",
    }
    /// Quantity of a probe besides the fields.
    FluxKind {
        Flow => "flow": "what flows through a plane [m³/s]",
        HeatFlux => "heat_flux": "heat that a side gives to the air [K m/s]",
        HeatFlow => "heat_flow": "heat that a solid of a temperature gives to the air [K m³/s]",
        Shear => "shear": "stress of the air on a no-slip side [m²/s²]",
        Force => "force": "force and torque on a solid [m⁴/s², m⁵/s²]",
    }
}

impl SideKind {
    /// Returns the kind of a side.
    pub fn of(side: &BoundaryCondition) -> Self {
        match side {
            BoundaryCondition::Closed => Self::Closed,
            BoundaryCondition::NoSlip(_) => Self::NoSlip,
            BoundaryCondition::Open => Self::Open,
            BoundaryCondition::Periodic => Self::Periodic,
            BoundaryCondition::Inflow(_) => Self::Inflow,
        }
    }
}

impl SideName {
    /// All sides, `[axis][lower, upper]`.
    pub const ALL: [[Self; 2]; 3] =
        [[Self::XMin, Self::XMax], [Self::YMin, Self::YMax], [Self::ZMin, Self::ZMax]];

    /// Returns the axis across the side, and 0 for its lower or 1 for its upper end.
    pub fn axis_and_end(self) -> [usize; 2] {
        [self as usize / 2, self as usize % 2]
    }
}

impl SolidKind {
    /// Returns the kind of a shape.
    pub fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Sphere { .. } => Self::Sphere,
            Shape::Box { .. } => Self::Box,
            Shape::Cylinder { .. } => Self::Cylinder,
            Shape::Mesh(_) => Self::Mesh,
        }
    }
}

impl ForceKind {
    /// Returns the kind of a force; none for forces that are functions of the caller.
    pub fn of(field: &ForceField) -> Option<Self> {
        match field {
            ForceField::Wind(_) => Some(Self::Wind),
            ForceField::Point { .. } => Some(Self::Point),
            ForceField::Vortex { .. } => Some(Self::Vortex),
            ForceField::Custom(_) => None,
        }
    }
}

impl LightKind {
    /// Returns the kind of a light.
    pub fn of(emitter: &Emitter) -> Self {
        match emitter {
            Emitter::Sun { .. } => Self::Sun,
            Emitter::Point { .. } => Self::Point,
            Emitter::Spot { .. } => Self::Spot,
            Emitter::Area { .. } => Self::Area,
        }
    }
}
