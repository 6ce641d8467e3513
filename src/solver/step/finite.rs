//! Detection of values that are not finite, with field, cell and stage.
//!
//! Each substep sums over the box anyway; if a sum is not finite, the fields are searched. At that time the
//! results of the stages still exist, so the first faulty stage is known: advected velocity, scalars, or the
//! velocity after the projection, which spreads a NaN over the whole box. The trapezoidal rule keeps no advected velocity.

use super::fields::Fields;
use crate::grid::Layout;
use crate::solver::{SolverError, StepStats};

/// Names of the components of the velocity, then of the scalars.
const NAMES: [&str; 7] = ["u", "v", "w", "red", "green", "blue", "temperature"];
/// Position of the first scalar in [`NAMES`].
const SCALARS: usize = 3;

/// Whether the sums of a step are finite.
pub fn is_finite(stats: &StepStats) -> bool {
    (stats.time + stats.kinetic_energy + stats.heat + stats.mass.iter().sum::<f64>()).is_finite()
}

/// Finds the first value that is not finite in fields set from outside.
pub fn find_initial(fields: &Fields) -> Option<SolverError> {
    let found =
        velocity(fields.layout, &fields.velocity).or_else(|| scalars(fields.smoke_layout(), &fields.scalars));
    let ([field, _], cell) = first_of_ranks(fields, found.map(|(field, cell)| ([field, 0], cell)))?;
    Some(SolverError::NotFinite { field: NAMES[field], cell, stage: "the start", step: 0 })
}

/// Finds the first value that is not finite after a substep, by the order of the stages in step `step`.
pub fn find(fields: &Fields, step: u64) -> Option<SolverError> {
    let layout = fields.layout;
    // With the trapezoidal rule `advected` is the velocity at the beginning of the step.
    let first = if fields.past.is_some() { "the previous step" } else { "velocity advection" };
    let stages = [
        (first, velocity(layout, &fields.advected)),
        ("advection, diffusion or sources of scalars", scalars(fields.smoke_layout(), &fields.scalars)),
        ("forces or projection", velocity(layout, &fields.velocity)),
    ];
    let names = stages.map(|(name, _)| name);
    let found = stages.into_iter().enumerate().find_map(|(n, (_, found))| Some((n, found?)));
    let found = found.map(|(stage, (field, cell))| ([field, stage], cell));
    let ([field, stage], cell) = first_of_ranks(fields, found)?;
    Some(SolverError::NotFinite { field: NAMES[field], cell, stage: names[stage], step })
}

/// Position of a field in [`NAMES`], and a cell of it.
type ValuePlace = (usize, [usize; 3]);

/// The first invalid value that any rank has found, by stage, field and cell.
fn first_of_ranks(
    fields: &Fields,
    found: Option<([usize; 2], [usize; 3])>,
) -> Option<([usize; 2], [usize; 3])> {
    const NONE: u64 = u64::MAX;
    let key =
        found.map_or([NONE; 5], |([field, stage], [i, j, k])| [stage, field, k, j, i].map(|n| n as u64));
    let first = fields.walls.ranks().all(key).into_iter().min().filter(|first| first[0] != NONE)?;
    let [stage, field, k, j, i] = first.map(|n| n as usize);
    Some(([field, stage], [i, j, k]))
}

fn velocity(layout: Layout, faces: &[Vec<f32>; 3]) -> Option<ValuePlace> {
    faces.iter().enumerate().find_map(|(axis, field)| {
        let mut shape = layout.dims.array();
        shape[axis] += 1;
        first(layout, shape, |at| !field[at].is_finite()).map(|cell| (axis, cell))
    })
}

fn scalars(layout: Layout, values: &[[f32; 4]]) -> Option<ValuePlace> {
    let shape = layout.dims.array();
    let cell = first(layout, shape, |at| values[at].iter().any(|x| !x.is_finite()))?;
    let at = layout.start(cell[1], cell[2]) + cell[0];
    let c = values[at].iter().position(|x| !x.is_finite())?;
    Some((SCALARS + c, cell))
}

/// The first cell of `shape` for which `is_bad` holds.
fn first(layout: Layout, [nx, ny, nz]: [usize; 3], is_bad: impl Fn(usize) -> bool) -> Option<[usize; 3]> {
    let [from, to] = layout.within([0, nz as isize]).map(|k| k as usize);
    let rows = (from..to).flat_map(|k| (0..ny).map(move |j| (j, k)));
    rows.into_iter().find_map(|(j, k)| {
        let start = layout.start(j, k);
        (0..nx).find(|i| is_bad(start + i)).map(|i| [i, j, k])
    })
}
