//! Solids in the fields of a box: set, moved, and clear of smoke.

use super::fields::{Fields, SmokeFields};
use crate::solver::project::{Cuts, Projector};
use crate::solver::solids::Obstacles;
use crate::solver::{Config, Solid};

impl Fields {
    pub fn set_solids(&mut self, config: &Config, solids: Vec<Solid>, time: f64, dt: f32, threads: usize) {
        (self.budget.held, self.means_until) = (None, None);
        let Self { layout, walls, projector, obstacles, detail, .. } = self;
        if let Some(detail) = detail {
            detail.set_solids(solids.clone(), [time, dt.into()]);
        }
        if solids.is_empty() != obstacles.is_none() {
            *projector = Projector::choose(
                config.projection,
                !solids.is_empty(),
                *layout,
                walls.pressure_boundaries(),
                threads,
                walls.ranks(),
            );
        }
        let known = detail.as_mut().and_then(|detail| detail.cut_faces(*layout));
        let new = (!solids.is_empty())
            .then(|| Obstacles::new(walls, config, solids, [time, dt.into()], (known, 1)));
        projector.set_cuts(new.as_ref().map_or(&Cuts::default(), |obstacles| &obstacles.voxels.cuts));
        *obstacles = new;
        self.fit_corrected(config);
        self.move_contents_out();
        self.disturbed = true;
    }

    /// Pushes smoke out of the solids.
    fn move_contents_out(&mut self) {
        let SmokeFields { obstacles, scalars, bricks, .. } = self.smoke();
        if let Some(obstacles) = obstacles {
            obstacles.move_contents_out(scalars);
            bricks.forget();
            self.fill_scalars();
        }
    }

    /// Gives the same solids other motions from `time` on, beginning with their first poses.
    pub fn guide_solids(&mut self, solids: Vec<Solid>, time: f64, dt: f32) {
        let Some(obstacles) = &mut self.obstacles else { return };
        if let Some(fine) = self.detail.as_mut().and_then(|detail| detail.obstacles.as_mut()) {
            fine.guide(solids.clone(), time);
        }
        // Where no solid jumps, the next step moves them as any others, and the flow goes on.
        if !obstacles.guide(solids, time) {
            return;
        }
        self.budget.held = None;
        self.move_solids(time, [0.0, dt]);
        self.move_contents_out();
        self.disturbed = true;
    }

    /// Moves the solids to their poses at `time`, with their mean velocity from `around[0]` before to
    /// `around[1]` after it \[s\].
    pub fn move_solids(&mut self, time: f64, around: [f32; 2]) {
        // Means are taken over the air of cells that solids cut.
        self.means_until = None;
        let Self { layout, detail, obstacles, .. } = self;
        let known = detail.as_mut().and_then(|detail| {
            detail.move_solids(time, around);
            detail.cut_faces(*layout)
        });
        if let Some(obstacles) = obstacles
            && obstacles.advance(time, around, known)
        {
            self.projector.set_cuts(&obstacles.voxels.cuts);
            if let (Some(pressure), Some(_)) = (&mut self.pressure, &self.past) {
                obstacles.fill_uncovered(pressure);
            }
        }
    }

    /// After the state was replaced: recomputes derived values.
    pub fn restored(&mut self) {
        self.bricks.forget();
        if self.past.is_none() {
            self.forget_pressure();
        }
        let Self { layout, detail, obstacles, projector, .. } = self;
        let known = detail.as_mut().and_then(|detail| {
            detail.restored();
            detail.cut_faces(*layout)
        });
        if let Some(obstacles) = obstacles {
            obstacles.restored(known);
            projector.set_cuts(&obstacles.voxels.cuts);
        }
    }

    /// Clears the scalars inside solids.
    pub fn empty_solids(&mut self) {
        self.budget.held = None;
        let SmokeFields { obstacles, scalars, .. } = self.smoke();
        if let Some(obstacles) = obstacles {
            obstacles.empty(scalars);
        }
    }
}
