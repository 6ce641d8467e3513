//! Statistics of a step.

use std::time::Duration;

use crate::solver::storage::archive::{Archive, Saved, StateError};

/// The stages of a step, in the order they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[non_exhaustive]
pub enum Stage {
    /// Sources, and the speed that decides the number of substeps.
    Sources,
    /// Back-traces and their interpolation: velocity.
    AdvectVelocity,
    /// Back-traces and their interpolation: temperature and the three colours, with their decay.
    AdvectScalars,
    /// Viscosity, and diffusion of the scalars.
    Diffuse,
    /// Buoyancy, confinement, friction.
    Forces,
    /// Pressure and its gradient.
    Project,
    /// Statistics of a step: speed, divergence, energy, mass.
    Measure,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 7] = [
        Self::Sources,
        Self::AdvectVelocity,
        Self::AdvectScalars,
        Self::Diffuse,
        Self::Forces,
        Self::Project,
        Self::Measure,
    ];

    /// Short name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sources => "sources",
            Self::AdvectVelocity => "advect velocity",
            Self::AdvectScalars => "advect scalars",
            Self::Diffuse => "diffuse",
            Self::Forces => "forces",
            Self::Project => "project",
            Self::Measure => "measure",
        }
    }
}

/// Statistics of one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepStats {
    /// Number of steps since the start.
    pub step: u64,
    /// Simulated time at the end of the step \[s\].
    pub time: f64,
    /// Length of the step \[s\].
    pub dt: f32,
    /// Number of substeps.
    pub substeps: u32,
    /// Largest CFL number of a substep: cells crossed by the air, solids or forces.
    pub cfl: f32,
    /// Substeps that the CFL number required beyond the allowed maximum. If it is not 0, [`cfl`](Self::cfl)
    /// exceeds its limit.
    pub substeps_missing: u32,
    /// Largest velocity component \[m/s\].
    pub max_speed: f32,
    /// max |∇·u| h / max |u| before the last projection \[-\].
    pub divergence_before: f32,
    /// The same after the projection, relative to the greater max |u| of before and after it. Rounding in
    /// still air is then not exaggerated.
    pub divergence_after: f32,
    /// Iterations of the last projection; 0 for a direct one.
    pub iterations: u32,
    /// Residual of the last projection, |r| / |b| in the 2-norm \[-\]; 0 for a direct one.
    pub residual: f32,
    /// Integral over the box of red, green and blue \[m³\].
    pub mass: [f64; 3],
    /// Integral over the box of the temperature excess \[K m³\].
    pub heat: f64,
    /// Red, green and blue \[m³\] and heat \[K m³\] that sources have emitted since the start.
    pub emitted: [f64; 4],
    /// Net outflow through the sides since the start. Only [`Conservative`](crate::solver::Advection) advection
    /// measures it.
    pub left: Option<[f64; 4]>,
    /// Loss by dissipation and cooling since the start. Only [`Conservative`](crate::solver::Advection)
    /// advection measures it.
    pub faded: Option<[f64; 4]>,
    /// Net flow through the inflows of a box without an open side, as a share of the sum of all \[-\]. Only 0 can be satisfied.
    pub imbalance: f32,
    /// ½ ∫ |u|² dV \[m⁵/s²\].
    pub kinetic_energy: f64,
    /// Wall time of each stage, indexed by [`Stage`].
    pub stages: [Duration; Stage::ALL.len()],
}

/// Imbalance above which inflows count as impossible to satisfy, and not as rounded \[-\].
const UNBALANCED: f32 = 1e-2;

/// Cells crossed in a substep above which a flow counts as blown up.
pub const BLOW_UP: f32 = 100.0;

impl StepStats {
    /// Returns a warning if the flow has outrun its time step: the fastest air crosses more than `BLOW_UP`
    /// cells in a substep, and cell-sized features are no longer meaningful. Otherwise one if inflows that vary bring air into a box that
    /// it cannot leave.
    pub fn warning(&self) -> Option<String> {
        let unbalanced = || {
            (self.imbalance > UNBALANCED).then(|| {
                let percent = 100.0 * self.imbalance;
                format!(
                    "no side is open, and the inflows do not balance: {percent:.0} % of their air has no way; \
                     open a side, or let as much leave as enters"
                )
            })
        };
        let outrun = (self.cfl > BLOW_UP).then(|| {
            format!(
                "the flow has outrun its time step: {:.0} m/s cross {:.0} cells in a substep (CFL); \
                 weaken the forces, shorten the step or allow more substeps",
                self.max_speed, self.cfl
            )
        });
        outrun.or_else(unbalanced)
    }

    /// Wall time of the whole step.
    pub fn wall(&self) -> Duration {
        self.stages.iter().sum()
    }
}

impl Saved for StepStats {
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        // Stage times are not part of the flow.
        let Self {
            step,
            time,
            dt,
            substeps,
            cfl,
            max_speed,
            divergence_before,
            divergence_after,
            iterations,
            residual,
            mass,
            heat,
            emitted,
            left,
            faded,
            kinetic_energy,
            imbalance,
            substeps_missing,
            stages: _,
        } = self;
        archive.value("step", step)?;
        archive.value("substeps_missing", substeps_missing)?;
        archive.value("time", time)?;
        archive.value("dt", dt)?;
        archive.value("substeps", substeps)?;
        archive.value("cfl", cfl)?;
        archive.value("max_speed", max_speed)?;
        archive.value("divergence_before", divergence_before)?;
        archive.value("divergence_after", divergence_after)?;
        archive.value("iterations", iterations)?;
        archive.value("residual", residual)?;
        archive.value("mass", mass)?;
        archive.value("heat", heat)?;
        archive.value("emitted", emitted)?;
        archive.option("left", left)?;
        archive.option("faded", faded)?;
        archive.value("imbalance", imbalance)?;
        archive.value("kinetic_energy", kinetic_energy)
    }
}
