//! The solver: fields and the step that advances them.

use std::sync::atomic::{AtomicBool, Ordering};

use half::f16;
use thiserror::Error;

use super::{Config, Dab, Params, Source, StepStats};

/// Why a solver could not be built or a step not finished.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SolverError {
    /// A value no flow can be computed with.
    #[error("{0}")]
    Invalid(String),
    /// The step was told to stop; the fields are as the last finished stage left them.
    #[error("the step was cancelled")]
    Cancelled,
}

/// A box of air with heat and three colours of smoke.
pub struct Solver {
    config: Config,
    params: Params,
    sources: Vec<Source>,
    smoke: Vec<[f32; 4]>,
    stats: StepStats,
}

impl Solver {
    /// A box of air at rest.
    pub fn new(config: Config, params: Params, sources: Vec<Source>) -> Result<Self, SolverError> {
        let smoke = vec![[0.0; 4]; config.dims.cells()];
        Ok(Self { config, params, sources, smoke, stats: StepStats::default() })
    }

    /// What it was built from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The constants of the model.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Changes the constants of the model from the next step on.
    pub fn set_params(&mut self, params: Params) {
        self.params = params;
    }

    /// The sources.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Changes the sources from the next step on.
    pub fn set_sources(&mut self, sources: Vec<Source>) {
        self.sources = sources;
    }

    /// Adds one dab of the cursor now.
    pub fn dab(&mut self, dab: &Dab) {
        let d = self.config.dims;
        let h = self.config.h;
        for k in 0..d.nz {
            for j in 0..d.ny {
                for i in 0..d.nx {
                    let p = [i, j, k].map(|c| (c as f32 + 0.5) * h);
                    let r2: f32 = (0..3).map(|a| (p[a] - dab.center[a]).powi(2)).sum();
                    let w = (1.0 - r2 / dab.radius.powi(2)).max(0.0).powi(2);
                    for c in 0..4 {
                        self.smoke[d.index(i, j, k)][c] += w * dab.add[c];
                    }
                }
            }
        }
    }

    /// Back to air at rest without smoke, at time zero.
    pub fn clear(&mut self) {
        self.smoke.fill([0.0; 4]);
        self.stats = StepStats::default();
    }

    /// Advances by `dt` seconds, in as many substeps as the flow needs.
    pub fn step(&mut self, dt: f32, cancel: &AtomicBool) -> Result<&StepStats, SolverError> {
        if cancel.load(Ordering::Relaxed) {
            return Err(SolverError::Cancelled);
        }
        for s in self.sources.clone() {
            self.dab(&Dab {
                center: s.center,
                radius: s.radius,
                add: s
                    .rate
                    .map(|r| [r * dt][0])
                    .map(|x| x)
                    .into_iter()
                    .collect::<Vec<_>>()
                    .try_into()
                    .unwrap(),
                push: [0.0; 3],
            });
        }
        let plane = self.config.dims.nx;
        self.smoke.rotate_right(plane);
        self.stats.step += 1;
        self.stats.time += f64::from(dt);
        self.stats.dt = dt;
        Ok(&self.stats)
    }

    /// Numbers of the last step.
    pub fn stats(&self) -> &StepStats {
        &self.stats
    }

    /// Red, green, blue and temperature at cell centres as half floats, dense, x fastest.
    pub fn write_smoke(&self, out: &mut Vec<[f16; 4]>) {
        out.clear();
        out.extend(self.smoke.iter().map(|c| c.map(f16::from_f32)));
    }

    /// u, v, w \[m/s\] and |ω| \[1/s\] at cell centres as half floats, dense, x fastest.
    pub fn write_velocity(&self, out: &mut Vec<[f16; 4]>) {
        out.clear();
        out.resize(self.config.dims.cells(), [f16::ZERO; 4]);
    }
}
