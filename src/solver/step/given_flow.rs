//! Steps of smoke and heat alone, through a flow that is given: the frames of a finished run.

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use crate::grid::Faces;
use crate::solver::{Solver, SolverError, StepStats};

impl Solver {
    /// Advances smoke and heat by `dt` seconds through a flow that turns linearly from `ends[0]` to `ends[1]`, in as many substeps
    /// as it needs. Velocities \[m/s\] have the layout of [`layout`](Self::layout). A projection
    /// removes what divergence they have beside the solids of the moment, unless the flow is frozen; no force acts. At the end
    /// [`velocity`](Self::velocity) is `ends[1]`.
    ///
    /// # Errors
    /// Those of [`step_cancellable`](Self::step_cancellable).
    ///
    /// # Panics
    /// If a velocity has another size than the layout.
    pub fn step_along(
        &mut self,
        dt: f32,
        ends: [&Faces; 2],
        cancel: &AtomicBool,
    ) -> Result<&StepStats, SolverError> {
        self.step_by(dt, |solver| solver.substeps_along(dt, ends, cancel))
    }

    fn substeps_along(&mut self, dt: f32, ends: [&Faces; 2], cancel: &AtomicBool) -> Result<(), SolverError> {
        if let Some(obstacles) = &mut self.fields.obstacles {
            obstacles.clear_momentum();
        }
        let speed = ends.iter().copied().flatten().map(|field| greatest(field)).fold(0.0, f32::max);
        let time = self.config.time;
        let solids = self.fields.obstacles.as_ref().map_or(0.0, |o| o.speed(self.stats.time, dt));
        let wanted = (dt * speed.max(solids) / self.config.h / time.cfl - 1e-4).ceil() as u32;
        let parts = wanted.clamp(1, time.max_substeps.max(1));
        self.stats.substeps_missing = wanted.saturating_sub(parts);
        for part in 0..parts {
            self.set_flow(ends, (part as f32 + 0.5) / parts as f32);
            self.substep(dt / parts as f32, true, cancel)?;
        }
        self.set_flow(ends, 1.0);
        Ok(())
    }

    /// Replaces the velocity by that between two others.
    fn set_flow(&mut self, [from, to]: [&Faces; 2], share: f32) {
        let fields = &mut self.fields;
        for (field, (from, to)) in fields.velocity.iter_mut().zip(from.iter().zip(to)) {
            assert!(field.len() == from.len() && field.len() == to.len(), "velocities of another box");
            let values = field.par_iter_mut().zip(from).zip(to);
            values.for_each(|((value, from), to)| *value = from + share * (to - from));
        }
        fields.walls.fill_velocity(&mut fields.velocity);
        self.project();
    }
}

/// The greatest absolute value.
fn greatest(field: &[f32]) -> f32 {
    field.par_iter().map(|x| x.abs()).reduce(|| 0.0, f32::max)
}
