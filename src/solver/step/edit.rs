//! Fields that a program changes in place.
//!
//! Kernels rely on invariants of the fields between two steps: finite values within limits, filled ghosts, no
//! smoke in solids, no divergence. A program gets the memory only inside a closure, and the solver restores
//! the invariants when the closure ends, even by a panic. So nothing needs to be called afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rayon::prelude::*;

use super::{Solver, finite};
use crate::solver::config::{SCALAR_LIMIT, SPEED_LIMIT};
use crate::solver::solver_error::SolverError;
use crate::solver::storage::halt::Halt;

impl Solver {
    /// Changes red, green, blue \[-\] and temperature excess \[K\] in place; cell (i, j, k) of the smoke is at
    /// [`smoke_layout().at(i, j, k)`](Self::smoke_layout). No time passes. With [`Config::detail`](crate::solver::Config::detail) above 1
    /// the smoke has finer cells than the velocity, and [`layout`](Self::layout) points to other cells, or to ghosts.
    ///
    /// Afterwards values are clamped to ±[`SCALAR_LIMIT`](crate::solver::SCALAR_LIMIT), solids are emptied and ghosts
    /// filled. Values written to ghosts are lost.
    ///
    /// # Errors
    /// [`SolverError::EditNotFinite`] if NaN or infinite values are left. They are set to 0, and the solver can continue: also one whose
    /// last step failed with [`SolverError::NotFinite`], if the velocity is finite.
    pub fn edit_scalars<T>(&mut self, change: impl FnOnce(&mut [[f32; 4]]) -> T) -> Result<T, SolverError> {
        let fields = &mut self.fields;
        let done = catch_unwind(AssertUnwindSafe(|| change(&mut fields.scalars)));
        let repaired = self.pool.clone().install(|| {
            let own = fields.smoke_layout().own();
            let repaired = hold_within(SCALAR_LIMIT, fields.scalars[own].as_flattened_mut());
            let repaired = fields.walls.ranks().sum(repaired);
            fields.bricks.forget();
            fields.empty_solids();
            fields.fill_scalars();
            repaired
        });
        self.heal();
        self.measure();
        finished(done, repaired)
    }

    /// Changes u, v, w \[m/s\] in place; face (i, j, k), below cell (i, j, k) along the axis of the
    /// component, is at [`layout().at(i, j, k)`](crate::grid::Layout::at). No time passes.
    ///
    /// Afterwards values are clamped to ±[`SPEED_LIMIT`](crate::solver::SPEED_LIMIT) cells per second and ghosts
    /// filled. Unless the flow is frozen the velocity is projected: it is then free of divergence, and right
    /// at sides and solids. Values written to ghosts are lost.
    ///
    /// # Errors
    /// [`SolverError::EditNotFinite`] if NaN or infinite values are left. They are set to 0, and the solver can continue: also one whose
    /// last step failed with [`SolverError::NotFinite`], if smoke and heat are finite.
    pub fn edit_velocity<T>(&mut self, change: impl FnOnce([&mut [f32]; 3]) -> T) -> Result<T, SolverError> {
        let fields = &mut self.fields;
        let [u, v, w] = &mut fields.velocity;
        let done = catch_unwind(AssertUnwindSafe(|| change([u, v, w])));
        let limit = SPEED_LIMIT * self.config.h;
        let repaired = self.pool.clone().install(|| {
            let own = fields.layout.own();
            let repaired =
                fields.velocity.iter_mut().map(|field| hold_within(limit, &mut field[own.clone()])).sum();
            let repaired = fields.walls.ranks().sum(repaired);
            fields.walls.fill_velocity(&mut fields.velocity);
            fields.fill_scalars();
            repaired
        });
        self.heal();
        self.project(&Halt::never());
        self.measure();
        finished(done, repaired)
    }

    /// Lets a solver continue whose fields are finite again.
    fn heal(&mut self) {
        let broke = matches!(self.not_finite, Some(SolverError::NotFinite { .. }));
        if broke && finite::find_initial(&self.fields).is_none() {
            self.mend();
            self.fields.forget_past();
        }
    }
}

/// Clamps `values` to ±`limit` and sets those that are not finite to 0. Returns the number of the latter.
fn hold_within(limit: f32, values: &mut [f32]) -> usize {
    let chunks = values.par_chunks_mut(1 << 14);
    let repair = |values: &mut [f32]| {
        let mut repaired = 0;
        for value in values {
            repaired += usize::from(!value.is_finite());
            *value = if value.is_finite() { value.clamp(-limit, limit) } else { 0.0 };
        }
        repaired
    };
    chunks.map(repair).sum()
}

/// Returns the closure's result, continues its panic, or reports the number of repaired values.
fn finished<T>(done: std::thread::Result<T>, values: usize) -> Result<T, SolverError> {
    match done {
        Err(panic) => resume_unwind(panic),
        Ok(_) if values > 0 => Err(SolverError::EditNotFinite { values }),
        Ok(returned) => Ok(returned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dims;
    use crate::solver::{Config, Params, Shape, Solid};

    fn solver() -> Solver {
        let config = Config { threads: 2, ..Config::new(Dims::new([16, 12, 8]).unwrap(), 0.1) };
        Solver::new(config, Params::default(), vec![]).unwrap()
    }

    #[test]
    fn an_edited_velocity_comes_out_free_of_divergence() {
        let mut solver = solver();
        let layout = solver.layout();
        let at = layout.at(8, 6, 4);
        let returned = solver.edit_velocity(|[u, ..]| std::mem::replace(&mut u[at], 3.0));
        assert_eq!(returned, Ok(0.0));
        let stats = solver.stats();
        assert!(stats.max_speed > 0.5 && stats.max_speed < 3.0, "{}", stats.max_speed);
        assert!(stats.divergence_after < 1e-5, "{}", stats.divergence_after);
        assert_eq!(solver.velocity()[0][layout.at(0, 6, 4)], 0.0, "a wall lets nothing through");
    }

    #[test]
    fn edited_smoke_stays_out_of_solids_and_within_limits_and_rises() {
        let mut solver = solver();
        let layout = solver.layout();
        solver.set_solids(vec![Solid::new(Shape::Sphere { radius: 0.25 }, [0.4, 0.6, 0.4])]).unwrap();
        let (inside, outside) = (layout.at(4, 6, 4), layout.at(12, 6, 4));
        solver
            .edit_scalars(|scalars| (scalars[inside][0], scalars[outside]) = (1.0, [1.0, 0.0, 1e9, 50.0]))
            .unwrap();
        assert_eq!(solver.scalars()[inside][0], 0.0);
        assert_eq!(solver.scalars()[outside], [1.0, 0.0, SCALAR_LIMIT, 50.0]);
        assert!((solver.stats().mass[0] - 1e-3).abs() < 1e-9, "{:?}", solver.stats().mass);
        solver.step(0.05).unwrap();
        assert!(solver.stats().max_speed > 0.0, "heat that was edited in lifts the air");
    }

    #[test]
    fn nan_is_reported_and_never_stays() {
        let mut solver = solver();
        let at = solver.layout().at(3, 3, 3);
        let refused = solver.edit_scalars(|scalars| scalars[at] = [f32::NAN, 1.0, f32::INFINITY, 0.0]);
        assert_eq!(refused, Err(SolverError::EditNotFinite { values: 2 }));
        assert_eq!(solver.scalars()[at], [0.0, 1.0, 0.0, 0.0]);
        let refused = solver.edit_velocity(|[_, v, _]| v[at] = f32::NAN);
        assert_eq!(refused, Err(SolverError::EditNotFinite { values: 1 }));
        solver.step(0.05).unwrap();
        assert!(solver.stats().max_speed.is_finite());
    }

    #[test]
    fn a_panic_in_the_closure_leaves_a_valid_solver() {
        let mut solver = solver();
        let at = solver.layout().at(3, 3, 3);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            solver.edit_velocity(|[u, ..]| {
                u[at] = f32::NAN;
                panic!("on purpose");
            })
        }));
        assert!(panicked.is_err());
        solver.step(0.05).unwrap();
        assert!(solver.velocity()[0].iter().all(|u| u.is_finite()));
    }
}
