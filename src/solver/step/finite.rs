//! Detection of values that are not finite, with field, cell and stage.
//!
//! Each substep sums over the box anyway; if a sum is not finite, the fields are searched. At that time the
//! results of the stages still exist, so the first faulty stage is known: advected velocity, scalars, or the
//! velocity after the projection, which spreads a NaN over the whole box.

use super::fields::Fields;
use crate::grid::Layout;
use crate::solver::{SolverError, StepStats};

/// Names of the velocity components.
const VELOCITY: [&str; 3] = ["u", "v", "w"];
const SCALARS: [&str; 4] = ["red", "green", "blue", "temperature"];

/// Whether the sums of a step are finite.
pub fn is_finite(stats: &StepStats) -> bool {
    (stats.kinetic_energy + stats.heat + stats.mass.iter().sum::<f64>()).is_finite()
}

/// Finds the first value that is not finite in fields set from outside.
pub fn find_initial(fields: &Fields) -> Option<SolverError> {
    let found =
        velocity(fields.layout, &fields.velocity).or_else(|| scalars(fields.smoke_layout(), &fields.scalars));
    found.map(|(field, cell)| SolverError::NotFinite { field, cell, stage: "the start", step: 0 })
}

/// Finds the first value that is not finite after a substep, by the order of the stages in step `step`.
pub fn find(fields: &Fields, step: u64) -> Option<SolverError> {
    let layout = fields.layout;
    let stages = [
        ("velocity advection", velocity(layout, &fields.advected)),
        ("advection, diffusion or sources of scalars", scalars(fields.smoke_layout(), &fields.scalars)),
        ("forces or projection", velocity(layout, &fields.velocity)),
    ];
    let (stage, found) = stages.into_iter().find(|(_, found)| found.is_some())?;
    found.map(|(field, cell)| SolverError::NotFinite { field, cell, stage, step })
}

type Place = (&'static str, [usize; 3]);

fn velocity(layout: Layout, faces: &[Vec<f32>; 3]) -> Option<Place> {
    let components = VELOCITY.into_iter().zip(faces).enumerate();
    components.into_iter().find_map(|(axis, (name, field))| {
        let mut shape = layout.dims.array();
        shape[axis] += 1;
        first(layout, shape, |at| !field[at].is_finite()).map(|cell| (name, cell))
    })
}

fn scalars(layout: Layout, values: &[[f32; 4]]) -> Option<Place> {
    let shape = layout.dims.array();
    let cell = first(layout, shape, |at| values[at].iter().any(|x| !x.is_finite()))?;
    let at = layout.start(cell[1], cell[2]) + cell[0];
    let c = values[at].iter().position(|x| !x.is_finite())?;
    Some((SCALARS[c], cell))
}

/// The first cell of `shape` for which `is_bad` holds.
fn first(layout: Layout, [nx, ny, nz]: [usize; 3], is_bad: impl Fn(usize) -> bool) -> Option<[usize; 3]> {
    let rows = (0..nz).flat_map(|k| (0..ny).map(move |j| (j, k)));
    rows.into_iter().find_map(|(j, k)| {
        let start = layout.start(j, k);
        (0..nx).find(|i| is_bad(start + i)).map(|i| [i, j, k])
    })
}
