//! Configuration of a solver: what is fixed when it is built, and the parameters that may change.

use super::invalid_value::InvalidValue;
use crate::grid::Dims;

/// Boundary condition of the flow on one of the six sides of the box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum BoundaryCondition {
    /// A free-slip wall: no air crosses it, and it does not drag.
    #[default]
    Closed,
    /// A no-slip wall that moves at this velocity \[m/s\]. The air at the wall has the same velocity: the
    /// component along the wall drags the flow (a lid), the component across it must be 0.
    NoSlip([f32; 3]),
    /// An open side with p = 0: smoke leaves, clean ambient air enters.
    Open,
    /// A periodic side: air that leaves enters at the opposite side, which must be periodic too.
    Periodic,
    /// An inflow: air enters with given velocity and contents, whatever the pressure.
    Inflow(Inflow),
}

impl BoundaryCondition {
    /// Whether air neither enters nor leaves, so that the side can hold a temperature.
    pub(crate) fn is_wall(&self) -> bool {
        matches!(self, Self::Closed | Self::NoSlip(_))
    }
}

/// Air that enters through an inflow side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inflow {
    /// Velocity \[m/s\].
    pub velocity: [f32; 3],
    /// Red, green, blue \[-\] and temperature excess \[K\].
    pub scalars: [f32; 4],
}

/// Boundary conditions of the box: `[axis][0]` at the low side, `[axis][1]` at the high side.
pub type BoundaryConditions = [[BoundaryCondition; 2]; 3];

/// Advection scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advection {
    /// Trilinear interpolation at the back-traced point (Stam 1999): first order, unconditionally stable.
    SemiLagrangian,
    /// Monotone Hermite interpolation along each axis at the departure point (Fedkiw, Stam & Jensen 2001,
    /// appendix B): the slopes are central differences, or zero where they would overshoot.
    Monotone,
    /// A forward and a backward trace whose error is subtracted, clamped to the values around the departure
    /// point (Selle et al. 2008): second order.
    MacCormack,
    /// Catmull–Rom interpolation along each axis at the departure point, clamped in the same way. As sharp as
    /// MacCormack with one pass instead of two, and without the fine streaks that MacCormack leaves in smoke
    /// that slows down. It feeds energy to vortices that are drawn out.
    Cubic,
    /// The cubic through four values (Lagrange) along each axis, clamped in the same way, at the same cost.
    /// It is exact to third order, so edges and layers a few cells thick are a quarter better (Zalesak's
    /// disc) than with [`Cubic`](Self::Cubic), and it feeds a tenth of the energy. Swirls of two cells fade
    /// sooner. The velocity beside finer smoke ([`Config::detail`]) passes through six values in place of four.
    Lagrange,
    /// Flux-form sweeps for smoke and heat along one axis after another. Fluxes through faces come from
    /// piecewise parabolas (Colella & Woodward 1984; Leonard, Lock & MacVean 1996): sums change by rounding
    /// only, and edges stay sharper than with any other scheme. The velocity is advected as with
    /// [`Lagrange`](Self::Lagrange).
    #[default]
    Conservative,
}

impl Advection {
    /// All schemes.
    pub const ALL: [Self; 6] = [
        Self::SemiLagrangian,
        Self::Monotone,
        Self::MacCormack,
        Self::Cubic,
        Self::Lagrange,
        Self::Conservative,
    ];

    /// Whether the scheme needs forward traces besides backward ones.
    pub(super) fn looks_forward(self) -> bool {
        self == Self::MacCormack
    }
}

/// Time integrator of the velocity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Integrator {
    /// Advection, forces, projection (Stam 1999): first order in time.
    Projection,
    /// Two half steps with a reflection of the velocity about the divergence-free one between them, which
    /// restores the energy that a projection removes (Zehnder, Narain & Thomaszewski 2018). The first half
    /// step advects with uⁿ, the second with the extrapolated uⁿ⁺¹, which makes it second order in time.
    /// Costs about twice as much, and memory for one more velocity. The smoke is advected once, by the
    /// velocity in the middle.
    Reflection,
    /// One step with the trapezoidal rule for the pressure: half of its gradient acts before the advection, half after, and the
    /// advecting velocity is extrapolated to the middle of the step. Second order in time, and keeps the energy that
    /// [`Projection`](Self::Projection) loses, with one advection and one projection (`step/trapezoid.rs`). Memory for one more
    /// velocity and the pressure.
    #[default]
    Trapezoid,
}

/// Integration rule of a back-trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceOrder {
    /// The midpoint rule.
    #[default]
    Second,
    /// Ralston's rule with three samples.
    Third,
}

/// Method of the pressure projection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Projection {
    /// Direct in an empty box, multigrid where solids stand in it.
    #[default]
    Auto,
    /// Transforms and tridiagonal systems: exact, but without solids only.
    Direct,
    /// Conjugate gradients preconditioned by multigrid (McAdams, Sifakis & Teran 2010).
    Multigrid,
    /// Red-black Gauss–Seidel sweeps (Stam 2003 takes 20); long waves of divergence remain.
    GaussSeidel {
        /// Sweeps over all cells.
        sweeps: u32,
    },
}

/// Properties of one of the three smoke colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoke {
    /// Acceleration along [`Params::up`] per unit of density \[m/s²\]; negative: it sinks.
    pub buoyancy: f32,
    /// Dissipation rate \[1/s\]; negative: it grows.
    pub dissipation: f32,
    /// Diffusion coefficient κ \[m²/s\].
    pub diffusion: f32,
}

/// Turbulence that the velocity's cells are too coarse for (Kim et al. 2008). It moves finer smoke and heat, not the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turbulence {
    /// Speed relative to what the spectrum predicts from the smallest scales of the velocity; 0: none, at no cost.
    pub strength: f32,
    /// Wavelength of the largest swirls \[cells of the velocity\].
    pub size: f32,
    /// Number of bands, each of half the wavelength; those too fine for the cells are left out.
    pub octaves: u32,
    /// Exponent p of the energy spectrum E(k) ∝ k^−p.
    pub spectrum: f32,
    /// Stretch of texture coordinates at which they begin anew \[-\].
    pub stretch: f32,
    /// Seed of the noise.
    pub seed: u32,
}

impl Default for Turbulence {
    fn default() -> Self {
        Self { strength: 0.0, size: 6.0, octaves: 3, spectrum: 1.67, stretch: 3.0, seed: 0 }
    }
}

/// Reference of the temperature excess for buoyancy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ambient {
    /// A fixed excess \[K\]; 0 is the outside temperature.
    Fixed(f32),
    /// The mean over the air of the box (Kenwright): heat that fills a closed box evenly does not lift it.
    Mean,
}

impl Default for Ambient {
    fn default() -> Self {
        Self::Fixed(0.0)
    }
}

/// Parameters of the model that may change between steps. They act at once on the smoke already there.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Direction of buoyancy, against gravity; its length scales all buoyancy.
    pub up: [f32; 3],
    /// Acceleration along `up` per kelvin of temperature excess, β \[m/(s² K)\].
    pub heat_buoyancy: f32,
    /// Rate at which heat is lost, k_T \[1/s\]; negative: it grows.
    pub cooling: f32,
    /// Vorticity confinement ε \[1/s\], a rate: the acceleration is ε h (N × ω), h the edge of a cell (Fedkiw
    /// 2001, eq. 11).
    pub vorticity: f32,
    /// West's friction d \[1/s\]: the flow decays as exp(−d t); negative: it grows.
    pub friction: f32,
    /// Kinematic viscosity ν \[m²/s\].
    pub viscosity: f32,
    /// Diffusion coefficient of heat κ_T \[m²/s\].
    pub conduction: f32,
    /// Reference temperature of buoyancy.
    pub ambient: Ambient,
    /// The three colours: red, green, blue.
    pub smoke: [Smoke; 3],
    /// Swirls on the cells of finer smoke; without [`Config::detail`] above 1 and the conservative scheme there are none.
    pub turbulence: Turbulence,
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
            turbulence: Turbulence::default(),
        }
    }
}

impl Params {
    /// The first invalid value, if any: one that is not finite, or a coefficient of diffusion below 0.
    pub fn problem(&self) -> Option<InvalidValue> {
        let finite = |what, value: &[f32]| InvalidValue::unless_finite("fluid", what, value);
        let from_zero = |what, value| InvalidValue::unless_zero_or_more("fluid", what, value, " m²/s");
        let ambient = if let Ambient::Fixed(excess) = self.ambient { excess } else { 0.0 };
        finite("up", &self.up)
            .or_else(|| finite("heat_buoyancy", &[self.heat_buoyancy]))
            .or_else(|| finite("cooling", &[self.cooling]))
            .or_else(|| finite("vorticity", &[self.vorticity]))
            .or_else(|| finite("friction", &[self.friction]))
            .or_else(|| from_zero("viscosity", self.viscosity))
            .or_else(|| from_zero("conduction", self.conduction))
            .or_else(|| finite("ambient", &[ambient]))
            .or_else(|| self.smoke.iter().find_map(Smoke::problem))
            .or_else(|| self.turbulence.problem())
    }
}

impl Smoke {
    fn problem(&self) -> Option<InvalidValue> {
        let finite = |what, value| InvalidValue::unless_finite("smoke", what, &[value]);
        finite("buoyancy", self.buoyancy)
            .or_else(|| finite("dissipation", self.dissipation))
            .or_else(|| InvalidValue::unless_zero_or_more("smoke", "diffusion", self.diffusion, " m²/s"))
    }
}

impl Turbulence {
    fn problem(&self) -> Option<InvalidValue> {
        let positive = |what, value, unit| InvalidValue::unless_positive("turbulence", what, value, unit);
        InvalidValue::unless_zero_or_more("turbulence", "strength", self.strength, "")
            .or_else(|| positive("size", self.size, " cells"))
            .or_else(|| positive("stretch", self.stretch, ""))
            .or_else(|| InvalidValue::unless_within("turbulence", "spectrum", self.spectrum, [-100.0, 100.0]))
    }
}

/// One dab of the 3D cursor: added at once, at the solver's present time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dab {
    /// Centre of the ball \[m\].
    pub center: [f32; 3],
    /// Radius of the ball \[m\]; the dab falls smoothly to zero there.
    pub radius: f32,
    /// Red, green, blue \[-\] and temperature \[K\] added at the centre. Negative densities take smoke away, down to 0.
    pub add: [f32; 4],
    /// Velocity added at the centre \[m/s\].
    pub push: [f32; 3],
    /// Share of the present smoke and heat removed at the centre, before anything is added \[-\].
    pub erase: f32,
}

impl Dab {
    /// The first invalid value, if any.
    pub fn problem(&self) -> Option<InvalidValue> {
        let finite = |what, value: &[f32]| InvalidValue::unless_finite("dab", what, value);
        finite("center", &self.center)
            .or_else(|| InvalidValue::unless_positive("dab", "radius", self.radius, " m"))
            .or_else(|| finite("add", &self.add))
            .or_else(|| finite("push", &self.push))
            .or_else(|| InvalidValue::unless_within("dab", "erase", self.erase, [0.0, 1.0]))
    }
}

/// Division of time into substeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeControl {
    /// Cells that the air may cross in a substep, at its speed at the beginning of the substep. The limit
    /// also holds for solids, driven sources and forces with a target velocity.
    pub cfl: f32,
    /// Most substeps of a step, even when the flow is faster than `cfl` allows.
    pub max_substeps: u32,
}

impl Default for TimeControl {
    fn default() -> Self {
        Self { cfl: 2.0, max_substeps: 8 }
    }
}

/// Limit of densities and temperatures: a negative dissipation cannot overflow a half float.
pub const SCALAR_LIMIT: f32 = 6.0e4;

/// Limit of the speed in cells per second: no setting can overflow.
pub const SPEED_LIMIT: f32 = 1.0e6;

/// Default tolerance of an iterative projection.
pub const TOLERANCE: f32 = 1e-4;

/// Greatest distance of a box from the origin of the coordinates along an axis \[cells\]: cells of the finest smoke there can be numbered.
const MOST_ORIGIN: i32 = 1 << 28;

/// Names of the sides, as `[axis][end]`.
pub(super) const SIDES: [[&str; 2]; 3] = [["x_min", "x_max"], ["y_min", "y_max"], ["z_min", "z_max"]];

/// Net flow through the sides, as a share of the sum of all, that counts as rounding \[-\].
const BALANCE: f64 = 1e-4;

/// Greatest [`Config::threads`]: the system takes long to start more, and no machine has so many processors.
pub const MOST_THREADS: usize = 1024;

/// Greatest [`Config::detail`].
pub const MOST_DETAIL: usize = 4;

/// Rule by which the box follows its contents; see [`Config::follow`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Follow {
    /// Whether the open sides move with the smoke and the heat.
    pub on: bool,
    /// Least distance of smoke, heat and working sources from a side that moves \[cells\].
    pub margin: usize,
    /// Whether open sides hold the pressure that endless air around the box would have, instead of 0. It has no effect beside solids, and
    /// needs an open side on each axis.
    pub free: bool,
    /// Share of the greatest density in the box below which smoke counts as none \[-\]. It is lost where a side passes it.
    pub threshold: f32,
    /// Memory of the solver beyond which the box grows no more \[MiB\].
    pub limit: f32,
}

impl Default for Follow {
    fn default() -> Self {
        Self { on: false, margin: 16, free: true, threshold: 1e-3, limit: 4096.0 }
    }
}

/// Everything that is fixed when a solver is built, except that a box that [follows](Self::follow) its smoke changes `dims` and
/// `origin` itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Cells along x, y, z.
    pub dims: Dims,
    /// First cell of the box along each axis, counted from the origin of the coordinates. All positions of sources, forces, solids and
    /// profiles are in these coordinates. 0 on a periodic axis.
    pub origin: [i32; 3],
    /// Whether and how open sides move with the smoke. Other sides stay where they are. `dims` and `origin`
    /// describe the box at the start.
    pub follow: Follow,
    /// Edge of a cell \[m\].
    pub h: f32,
    /// Cells of smoke and heat along each edge of a cell, 1 to [`MOST_DETAIL`]. The velocity stays on the cells of `dims`.
    pub detail: usize,
    /// Boundary conditions of the six sides.
    pub sides: BoundaryConditions,
    /// Fixed temperature excess \[K\] at each side, arranged as `sides`; `None` is insulated. Walls only.
    pub held: [[Option<f32>; 2]; 3],
    /// Advection scheme.
    pub advection: Advection,
    /// Time integrator of the velocity.
    pub integrator: Integrator,
    /// Integration rule of back-traces.
    pub trace: TraceOrder,
    /// Method of the pressure projection.
    pub projection: Projection,
    /// Divergence that an iterative projection may leave: max |∇·u| h / max |u| \[-\].
    pub tolerance: f32,
    /// Division of a step into substeps.
    pub time: TimeControl,
    /// Whether a step is always one substep, however fast the air is. `time` is then ignored.
    pub is_step_fixed: bool,
    /// Keeps the initial velocity: it advects the scalars, but no force and no pressure acts on it, and its
    /// divergence remains.
    pub frozen: bool,
    /// Number of threads, at most [`MOST_THREADS`]; 0: one for each processor.
    pub threads: usize,
}

impl Config {
    /// Makes a closed box of `dims` cells with edge `h` \[m\]; all else by default.
    pub fn new(dims: Dims, h: f32) -> Self {
        Self {
            dims,
            origin: [0; 3],
            follow: Follow::default(),
            h,
            detail: 1,
            sides: BoundaryConditions::default(),
            held: Default::default(),
            advection: Advection::default(),
            integrator: Integrator::default(),
            trace: TraceOrder::default(),
            projection: Projection::default(),
            tolerance: TOLERANCE,
            time: TimeControl::default(),
            is_step_fixed: false,
            frozen: false,
            threads: 0,
        }
    }

    /// Whether the side at `end` of an axis moves with the smoke: an open one of a box that follows it. An axis of one cell keeps it.
    pub(crate) fn moves(&self, axis: usize, end: usize) -> bool {
        self.follow.on && self.dims.array()[axis] > 1 && self.sides[axis][end] == BoundaryCondition::Open
    }

    /// Lowest and highest coordinates along each axis that the box may come to \[m\]: those of its sides, or infinite where one moves. None
    /// sinks below y = 0.
    pub fn reach(&self) -> [[f32; 2]; 3] {
        let (corner, n) = (self.corner(), self.dims.array());
        [0, 1, 2].map(|a| {
            let low = if self.moves(a, 0) && a != 1 { f32::NEG_INFINITY } else { corner[a] };
            let high = if self.moves(a, 1) { f32::INFINITY } else { corner[a] + n[a] as f32 * self.h };
            [low, high]
        })
    }

    /// The first wall that moves across itself, or the net flow into a box that no air can leave. An inflow without a velocity across its
    /// side may get one from a [`Profile`](super::Profile): with such a side the net flow is not known.
    fn impossible_sides(&self) -> Option<InvalidValue> {
        let ends = || (0..3).flat_map(|axis| [(axis, 0), (axis, 1)]);
        for (axis, end) in ends() {
            if let BoundaryCondition::NoSlip(velocity) = self.sides[axis][end]
                && velocity[axis] != 0.0
            {
                return Some(InvalidValue::WallAcross { side: SIDES[axis][end] });
            }
        }
        let has_exit = self.sides.as_flattened().contains(&BoundaryCondition::Open);
        if has_exit || self.frozen {
            return None;
        }
        let cells = self.dims.array();
        let (mut net, mut all) = (0.0, 0.0);
        for (axis, end) in ends() {
            let BoundaryCondition::Inflow(Inflow { velocity, .. }) = self.sides[axis][end] else { continue };
            if velocity[axis] == 0.0 {
                return None;
            }
            let area =
                cells[(axis + 1) % 3] as f64 * cells[(axis + 2) % 3] as f64 * f64::from(self.h).powi(2);
            let inwards = area * f64::from(velocity[axis]) * [1.0, -1.0][end];
            (net, all) = (net + inwards, all + inwards.abs());
        }
        (net.abs() > BALANCE * all).then_some(InvalidValue::NoExit { net: net as f32 })
    }

    /// Returns an error for the first side that has a fixed temperature but is not a wall.
    fn temperature_without_wall(&self) -> Option<InvalidValue> {
        let names = SIDES.into_iter().flatten();
        let sides = self.sides.as_flattened().iter().zip(self.held.as_flattened()).zip(names);
        let mut misplaced = sides.filter(|((side, held), _)| held.is_some() && !side.is_wall());
        misplaced.next().map(|(_, side)| InvalidValue::HeldByNoWall { side })
    }

    /// Returns the first invalid value that has no [`SolverError`](super::SolverError) variant for itself.
    pub fn problem(&self) -> Option<InvalidValue> {
        let positive = |what, value| InvalidValue::unless_positive("configuration", what, value, "");
        let finite = |what, values: &[f32]| InvalidValue::unless_finite("configuration", what, values);
        let sweeps = if let Projection::GaussSeidel { sweeps } = self.projection { sweeps } else { 1 };
        let within = |what, values: &[f32], limit: f32| {
            finite(what, values).or_else(|| {
                let mut values = values.iter();
                values.find_map(|x| InvalidValue::unless_within("configuration", what, *x, [-limit, limit]))
            })
        };
        let speed = SPEED_LIMIT * self.h;
        let most = MOST_ORIGIN as f32;
        let mut far = self.origin.iter().filter(|first| !(-MOST_ORIGIN..=MOST_ORIGIN).contains(*first));
        let far = far.next().and_then(|&first| {
            InvalidValue::unless_within("configuration", "origin", first as f32, [-most, most])
        });
        let side = |side: &BoundaryCondition| match side {
            BoundaryCondition::NoSlip(velocity) => within("velocity of a wall", velocity, speed),
            BoundaryCondition::Inflow(Inflow { velocity, scalars }) => {
                within("velocity of an inflow", velocity, speed)
                    .or_else(|| within("contents of an inflow", scalars, SCALAR_LIMIT))
            }
            _ => None,
        };
        // A limit may be infinite.
        let limit = if self.follow.limit == f32::INFINITY { f32::MAX } else { self.follow.limit };
        positive("tolerance", self.tolerance)
            .or_else(|| positive("cfl", self.time.cfl))
            .or_else(|| positive("max_substeps", self.time.max_substeps as f32))
            .or_else(|| positive("number of sweeps", sweeps as f32))
            .or(far)
            .or_else(|| self.sides.as_flattened().iter().find_map(side))
            .or_else(|| self.impossible_sides())
            .or_else(|| self.temperature_without_wall())
            .or_else(|| {
                finite(
                    "held temperature",
                    &self.held.as_flattened().iter().filter_map(|held| *held).collect::<Vec<_>>(),
                )
            })
            .or_else(|| {
                InvalidValue::unless_zero_or_more("configuration", "threshold", self.follow.threshold, "")
            })
            .or_else(|| InvalidValue::unless_zero_or_more("configuration", "limit", limit, " MiB"))
    }

    /// Number of substeps that keep to [`TimeControl::cfl`], for a step, or the rest of one, with the CFL
    /// number `cfl` as a whole.
    pub fn wanted_substeps(&self, cfl: f32) -> u32 {
        // Rounding must not add a substep to a step that is exactly as long as allowed.
        if self.is_step_fixed { 1 } else { (cfl / self.time.cfl - 1e-4).ceil() as u32 }
    }

    /// Shape of the grid of smoke and heat.
    pub fn smoke_dims(&self) -> Dims {
        let [nx, ny, nz] = self.dims.array().map(|n| n * self.detail);
        Dims { nx, ny, nz }
    }

    /// Position of the lower corner of the box \[m\].
    pub fn corner(&self) -> [f32; 3] {
        self.origin.map(|cells| cells as f32 * self.h)
    }

    /// Edge of a cell of smoke and heat \[m\].
    pub fn smoke_h(&self) -> f32 {
        self.h / self.detail as f32
    }
}
