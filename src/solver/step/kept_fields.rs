//! The fields that outlast a step. All others are scratch.

use super::trapezoid_past::Past;
use crate::grid::{Faces, Layout};
use crate::room::huge_pages;
use crate::solver::Config;
use crate::solver::storage::cells::Cells;
use crate::solver::storage::ranks::Ranks;

/// Fields that the next step starts from.
pub struct Kept {
    pub velocity: Faces,
    /// Velocity at the beginning of the last step, if the integrator remembers it.
    pub before: Option<Faces>,
    pub pressure: Option<Vec<f32>>,
    pub scalars: Cells,
}

impl Kept {
    /// Air at rest without smoke.
    pub fn new(config: &Config, ranks: &Ranks) -> Self {
        let [air, smoke] = layouts(config, ranks);
        let field = || huge_pages::favoured(vec![0.0f32; air.size()]);
        let faces = || [field(), field(), field()];
        let remembers = Past::is_kept(config);
        Self {
            velocity: faces(),
            before: remembers.then(faces),
            pressure: remembers.then(field),
            scalars: Cells::new(smoke.size()),
        }
    }
}

/// Layouts of the velocity and of the smoke on the slab of this rank.
pub fn layouts(config: &Config, ranks: &Ranks) -> [Layout; 2] {
    [
        ranks.restrict(Layout::new(config.dims)),
        ranks.finer(config.detail).restrict(Layout::new(config.smoke_dims())),
    ]
}
