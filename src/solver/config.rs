//! What a solver is built from, and what may change while it runs.

/// What one of the six sides of the box does to the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BoundaryCondition {
    /// A free-slip wall: nothing crosses it, and it does not drag.
    #[default]
    Closed,
    /// A wall that holds the air next to it: the air there moves at this velocity \[m/s\]. Along the wall it drags the
    /// flow (a lid); across the wall it should be zero.
    NoSlip([f32; 3]),
    /// The air goes on outside at rest pressure: smoke leaves, clean ambient air enters.
    Open,
    /// What leaves here enters at the opposite side, which must be periodic too.
    Periodic,
    /// Air comes in at a given velocity with given contents, whatever the pressure.
    Inflow(Inflow),
}

/// The air that an inflow side lets in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inflow {
    /// Its velocity \[m/s\].
    pub velocity: [f32; 3],
    /// Red, green, blue \[-\] and temperature excess \[K\].
    pub scalars: [f32; 4],
}

/// The sides of the box: `[axis][0]` where the coordinate is least, `[axis][1]` where it is greatest.
pub type BoundaryConditions = [[BoundaryCondition; 2]; 3];

/// How values are advected by the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Advection {
    /// Trilinear interpolation at the back-traced point (Stam 1999): first order, unconditionally stable.
    SemiLagrangian,
    /// Monotone Hermite interpolation along each axis at the back-traced point (Fedkiw, Stam & Jensen 2001, appendix B): the
    /// slopes are central differences, or zero where they would overshoot.
    Monotone,
    /// A forward and a backward trace whose error is subtracted, limited to the values around the departure point
    /// (Selle et al. 2008): second order.
    MacCormack,
    /// Catmull–Rom interpolation along each axis at the back-traced point, limited likewise. As sharp as MacCormack, one
    /// pass instead of two, and without the fine streaks that MacCormack leaves in smoke that slows down.
    #[default]
    Cubic,
    /// The cubic through four values (Lagrange) along each axis, limited likewise, at the same cost. Exact to third order, so
    /// that edges and layers a few cells thick come out a quarter better (Zalesak's disc), but the smallest swirls fade
    /// sooner than with [`Cubic`](Self::Cubic).
    Lagrange,
    /// Smoke and heat by sweeps along one axis after another that move what crosses each face, taken from piecewise parabolas
    /// (Colella & Woodward 1984; Leonard, Lock & MacVean 1996): sums change by rounding only, and edges stay sharper than with
    /// any other. The velocity is advected as by [`Cubic`](Self::Cubic).
    Conservative,
}

impl Advection {
    /// Whether it needs forward traces beside the backward ones.
    pub(super) fn looks_forward(self) -> bool {
        self == Self::MacCormack
    }
}

/// How the velocity is advanced over a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrator {
    /// Advection, forces, projection (Stam 1999): first order in time.
    #[default]
    Projection,
    /// Two half steps with a reflection of the velocity at the divergence-free one between them (Zehnder, Narain &
    /// Thomaszewski 2018): the energy that a projection takes away comes back. What advects is the velocity at the beginning of
    /// the step in the first half and the one expected at its end in the other, which makes it second order in time. Costs
    /// about twice as much, and memory for one more velocity; the smoke is advected once, by the velocity in the middle.
    Reflection,
    /// One step with the trapezoidal rule for the pressure: half of its gradient acts before the advection, half after, and the
    /// advecting velocity is extrapolated to the middle of the step. Second order in time, and keeps the energy that
    /// [`Projection`](Self::Projection) loses, with one advection and one projection (`trapezoid.rs`). Memory for two more
    /// velocities.
    Trapezoid,
}

/// How a back-trace is integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceOrder {
    /// The midpoint rule.
    #[default]
    Second,
    /// Ralston's rule with three samples.
    Third,
}

/// How the divergence is removed from the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Projection {
    /// Directly in an empty box, by multigrid where solids stand in it.
    #[default]
    Auto,
    /// Transforms and tridiagonal systems: exact, but only without solids.
    Direct,
    /// Conjugate gradients preconditioned by multigrid (McAdams, Sifakis & Teran 2010).
    Multigrid,
    /// Red-black Gauss–Seidel sweeps (Stam 2003 takes 20); leaves long waves of divergence in.
    GaussSeidel {
        /// Sweeps over all cells.
        sweeps: u32,
    },
}

/// How one of the three smoke colours behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoke {
    /// Acceleration along [`Params::up`] per unit of density \[m/s²\]; negative sinks.
    pub buoyancy: f32,
    /// Rate at which it fades \[1/s\]; negative grows.
    pub dissipation: f32,
    /// Diffusion coefficient κ \[m²/s\].
    pub diffusion: f32,
}

/// What the temperature excess is measured against when it drives the flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ambient {
    /// A fixed excess \[K\]; 0 is the temperature outside.
    Fixed(f32),
    /// The mean over the box (Kenwright): heat that fills a closed box no longer lifts it.
    Mean,
}

impl Default for Ambient {
    fn default() -> Self {
        Self::Fixed(0.0)
    }
}

/// Constants of the model that may change between steps; they act at once on the smoke already there.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Which way buoyancy lifts, against gravity; its length scales all buoyancy.
    pub up: [f32; 3],
    /// Acceleration along `up` per kelvin of temperature excess, β \[m/(s² K)\].
    pub heat_buoyancy: f32,
    /// Rate at which heat is lost, k_T \[1/s\].
    pub cooling: f32,
    /// Vorticity confinement ε \[1/s\], a rate: the acceleration is ε h (N × ω), h the edge of a cell (Fedkiw 2001, eq. 11).
    pub vorticity: f32,
    /// West's friction d \[1/s\]: the flow decays as exp(−d t).
    pub friction: f32,
    /// Kinematic viscosity ν \[m²/s\].
    pub viscosity: f32,
    /// Diffusion coefficient of heat κ_T \[m²/s\].
    pub conduction: f32,
    /// What the temperature is compared with.
    pub ambient: Ambient,
    /// The three colours: red, green, blue.
    pub smoke: [Smoke; 3],
}

impl Default for Params {
    fn default() -> Self {
        let smoke = Smoke { buoyancy: 0.0, dissipation: 0.05, diffusion: 0.0 };
        Self {
            up: [0.0, 1.0, 0.0],
            heat_buoyancy: 0.02,
            cooling: 0.2,
            vorticity: 0.3,
            friction: 0.0,
            viscosity: 0.0,
            conduction: 0.0,
            ambient: Ambient::default(),
            smoke: [smoke; 3],
        }
    }
}

/// One dab of the 3D cursor: added at once, at whatever time the solver stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dab {
    /// Middle of the ball \[m\].
    pub center: [f32; 3],
    /// Its radius \[m\]; the dab falls off smoothly to zero there.
    pub radius: f32,
    /// Red, green, blue \[-\] and temperature \[K\] added in the middle.
    pub add: [f32; 4],
    /// Velocity added in the middle \[m/s\].
    pub push: [f32; 3],
    /// Share of the smoke and heat there that is taken away in the middle, before anything is added \[-\].
    pub erase: f32,
}

/// How time is cut into steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeControl {
    /// Cells that the air, as fast as it is when a substep begins, may cross in it; so are a solid, a driven source and a force
    /// that sets a velocity.
    pub cfl: f32,
    /// Most substeps a step may be cut into; the last word when the flow is faster than `cfl` allows.
    pub max_substeps: u32,
}

impl Default for TimeControl {
    fn default() -> Self {
        Self { cfl: 2.0, max_substeps: 8 }
    }
}

/// No density or temperature may pass this, so that a negative dissipation cannot overflow a half float.
pub const SCALAR_LIMIT: f32 = 6.0e4;

/// No air may be faster than this many cells a second, so that no setting can overflow.
pub const SPEED_LIMIT: f32 = 1.0e6;

/// Divergence an iterative projection leaves where a configuration does not say.
pub const TOLERANCE: f32 = 1e-4;

/// Everything fixed when a solver is built.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Cells along x, y, z.
    pub dims: crate::grid::Dims,
    /// Edge of a cell \[m\].
    pub h: f32,
    /// What the sides do.
    pub sides: BoundaryConditions,
    /// Temperature excess \[K\] held at each side, arranged as `sides`; `None` is an insulated one. Only walls hold one.
    pub held: [[Option<f32>; 2]; 3],
    /// How values are advected.
    pub advection: Advection,
    /// How the velocity is advanced in time.
    pub integrator: Integrator,
    /// How a back-trace is integrated.
    pub trace: TraceOrder,
    /// How the divergence is removed.
    pub projection: Projection,
    /// Divergence that an iterative projection may leave: max |∇·u| h / max |u| \[-\].
    pub tolerance: f32,
    /// How a step is cut into substeps.
    pub time: TimeControl,
    /// The velocity stays as it was filled in: it advects the scalars, but no force and no pressure acts on it, and what
    /// divergence it has stays.
    pub frozen: bool,
    /// Threads to run on; 0 is one for each processor.
    pub threads: usize,
}

impl Config {
    /// A closed box of `dims` cells with edge `h` \[m\], everything else by default.
    pub fn new(dims: crate::grid::Dims, h: f32) -> Self {
        Self {
            dims,
            h,
            sides: BoundaryConditions::default(),
            held: Default::default(),
            advection: Advection::default(),
            integrator: Integrator::default(),
            trace: TraceOrder::default(),
            projection: Projection::default(),
            tolerance: TOLERANCE,
            time: TimeControl::default(),
            frozen: false,
            threads: 0,
        }
    }
}
