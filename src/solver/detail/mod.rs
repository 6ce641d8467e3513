//! Smoke and heat on cells finer than those of the velocity.
//!
//! The velocity costs most of a step, and the eye reads the smoke. With [`Config::detail`] = N each cell holds N³ finer cells of
//! smoke and heat. Each substep
//!
//! 1. takes the advecting velocity to the faces of the finer cells ([`prolong`]), where smoke may arrive, and past solids ([`cut`]),
//! 2. advects, diffuses and emits the scalars there, with the code of the coarse grid,
//! 3. returns the means over the air of each cell to the forces ([`restrict`]).
//!
//! With [`Params::turbulence`](super::Params::turbulence) the finer cells also get swirls that the velocity's cells are too coarse for
//! ([`swirls`], [`potential`]).
//!
//! With N = 1 there is no `Detail`, and the scalars share the grid, the velocity and the scratch memory of the air.

mod cut;
mod potential;
mod prolong;
mod restrict;
#[cfg(any(test, feature = "cli"))]
pub mod stored_motion;
pub mod swirls;
#[cfg(test)]
mod tests;
mod wavelet_noise;

use half::f16;
use rayon::prelude::*;

use self::cut::{CutCells, TwoGrids};
use self::potential::Curl;
use self::prolong::{Prolong, Scratch, Weights};
use self::swirls::{Air, GENERATIONS, Swirls};
use super::advect::Correction;
use super::advect::conservative;
use super::sides::GhostRules;
use super::solids::{CutFaces, Obstacles, Standing};
use super::storage::active_bricks::Bricks;
use super::storage::archive::{Archive, Saved, StateError};
use super::storage::cells::Cells;
use super::storage::halt::Halt;
use super::storage::ranks::Ranks;
use super::storage::row_passes::PerThread;
use super::{Advection, BoundaryCondition, Config, Solid, Turbulence};
use crate::grid::{Faces, Layout};
use crate::room::huge_pages;

/// The finer grid, without its scalars.
pub struct Detail {
    /// Finer cells along each edge of a cell.
    pub finer: usize,
    pub layout: Layout,
    pub walls: GhostRules,
    /// The advecting velocity on the faces of finer cells that smoke may reach \[m/s\]; written before it is read.
    pub velocity: Faces,
    pub obstacles: Option<Obstacles>,
    /// Back-traces of the finer cells; empty until a scheme or a moving solid needs them.
    pub back: Cells,
    /// Scalars during advection by interpolation.
    pub scalars_next: Cells,
    /// Only for schemes that look forward.
    pub forth: Option<Box<Correction>>,
    /// Bricks of the velocity's cells. It stays unknown which are occupied, so passes over restricted scalars
    /// skip none.
    pub coarse_bricks: Bricks,
    /// Turbulence, while its strength is not 0.
    pub swirls: Option<Box<Swirls>>,
    /// Scratch of the curl of the turbulence; made on first use.
    curl: Option<potential::Memory>,
    /// Sums of the finer scalars in each plane of cells of the velocity.
    sums: Vec<[f64; 4]>,
    threads: usize,
    config: Config,
    weights: Weights,
    scratch: PerThread<Scratch>,
    cut: CutCells,
}

impl Detail {
    /// Makes the finer grid of `config`, shared by the `ranks` of the velocity; `None` if it is that of the velocity.
    pub fn new(config: &Config, coarse: Layout, threads: usize, ranks: &Ranks) -> Option<Box<Self>> {
        if config.detail == 1 {
            return None;
        }
        let config = Self::fine(config);
        let ranks = ranks.finer(config.detail);
        let layout = ranks.restrict(Layout::new(config.dims));
        let field = || huge_pages::favoured(vec![0.0f32; layout.size()]);
        let interpolates = config.advection != Advection::Conservative;
        let four = |is_needed: bool| Cells::new(if is_needed { layout.size() } else { 0 });
        let correction =
            || Box::new(Correction { forward: four(true), component: vec![], scalars: four(true) });
        Some(Box::new(Self {
            finer: config.detail,
            layout,
            walls: GhostRules::new(layout, config.sides, config.held).on(ranks),
            velocity: [field(), field(), field()],
            obstacles: None,
            back: four(interpolates),
            scalars_next: four(interpolates),
            forth: config.advection.looks_forward().then(correction),
            coarse_bricks: Bricks::new(coarse),
            weights: Weights::new(config.detail),
            scratch: PerThread::new(threads, || Scratch::new(coarse.dims.nx)),
            cut: CutCells::default(),
            swirls: None,
            curl: None,
            sums: Vec::new(),
            threads,
            config,
        }))
    }

    /// The box of `config` with finer cells.
    fn fine(config: &Config) -> Config {
        Config { dims: config.smoke_dims(), h: config.smoke_h(), ..config.clone() }
    }

    /// Bytes for each finer cell besides the scalars, with or without solids.
    pub fn memory(config: &Config, solids: bool) -> usize {
        let interpolated = if config.advection == Advection::Conservative { 0 } else { 4 + 4 };
        let correction = if config.advection.looks_forward() { 4 + 4 } else { 0 };
        (3 + interpolated + correction) * size_of::<f32>() + if solids { 8 } else { 0 }
    }

    /// Replaces the solids.
    pub fn set_solids(&mut self, solids: Vec<Solid>, time: [f64; 2]) {
        let Self { walls, config, obstacles, .. } = self;
        *obstacles =
            (!solids.is_empty()).then(|| Obstacles::new(walls, config, solids, time, (None, config.detail)));
        self.cut.forget();
    }

    /// Moves the solids as [`Obstacles::advance`] does.
    pub fn move_solids(&mut self, time: f64, around: [f32; 2]) {
        if let Some(obstacles) = &mut self.obstacles
            && obstacles.advance(time, around, None)
        {
            self.cut.forget();
        }
    }

    /// Restores the same solids to these poses.
    pub fn stand(&mut self, standing: &Standing) {
        if let Some(obstacles) = &mut self.obstacles {
            obstacles.stand(standing, None);
            self.cut.forget();
        }
    }

    /// Recomputes the values that follow from the poses of the solids, after the state was replaced.
    pub fn restored(&mut self) {
        self.obstacles.iter_mut().for_each(|obstacles| obstacles.restored(None));
        self.cut.forget();
    }

    /// Writes or reads the state of the finer grid, besides the scalars.
    pub fn state(
        &mut self,
        archive: &mut dyn Archive,
        coarse: Layout,
        walls: &GhostRules,
    ) -> Result<(), StateError> {
        if let Some(obstacles) = &mut self.obstacles {
            obstacles.state(archive)?;
        }
        let mut has_swirls = self.swirls.is_some();
        archive.flag("turbulence", &mut has_swirls)?;
        self.keep_swirls(has_swirls, coarse, walls);
        self.swirls.iter_mut().try_for_each(|swirls| swirls.state(archive))
    }

    /// Creates the turbulence, or removes it unless `are_kept`. The next step sets its parameters.
    pub fn keep_swirls(&mut self, are_kept: bool, coarse: Layout, walls: &GhostRules) {
        if are_kept && self.swirls.is_none() {
            let default = Turbulence::default();
            self.swirls = Some(Box::new(Swirls::new(default, coarse, walls, self.finer)));
        } else if !are_kept {
            self.swirls = None;
        }
    }

    /// Replaces the turbulence by one that continues with this phase and these texture coordinates.
    pub fn continue_swirls(
        &mut self,
        turbulence: Turbulence,
        (phase, moved): (f64, [Cells; GENERATIONS]),
        coarse: Layout,
        walls: &GhostRules,
    ) {
        let mut swirls = Swirls::with_coordinates(turbulence, coarse, walls, self.finer, moved);
        swirls.phase = phase;
        self.swirls = Some(Box::new(swirls));
    }

    /// The faces of the cells of the `coarse` grid that solids close or narrow; `None` without solids.
    pub fn cut_faces(&mut self, coarse: Layout) -> Option<&CutFaces> {
        let grids = self.two_grids(coarse);
        Some(self.cut.faces(grids, self.obstacles.as_ref()?))
    }

    fn two_grids(&self, coarse: Layout) -> TwoGrids {
        let (periodic, walls) = (self.walls.periodic(), self.walls.solid_sides());
        TwoGrids { finer: self.finer, coarse, fine: self.layout, periodic, walls }
    }

    /// Sets the turbulence of the next steps. `walls` are those of the velocity.
    pub fn set_turbulence(&mut self, turbulence: Turbulence, coarse: Layout, walls: &GhostRules) {
        let Self { swirls, config, finer, .. } = self;
        let acts = turbulence.strength > 0.0 && config.advection == Advection::Conservative;
        match swirls {
            Some(swirls) if acts => swirls.set(turbulence),
            None if acts => *swirls = Some(Box::new(Swirls::new(turbulence, coarse, walls, *finer))),
            _ => *swirls = None,
        }
    }

    /// Prolongs the advecting velocity to the finer cells that the flow may reach, and adds the turbulence.
    /// `cfl` is the CFL number on the finer cells without turbulence; the result is that with turbulence.
    pub fn follow(&mut self, air: Air, bricks: &mut Bricks, cfl: f32, halt: &Halt) -> f32 {
        let Air { layout: coarse, velocity, obstacles, .. } = air;
        let steps = air.steps * self.finer as f32;
        if let Some(swirls) = &mut self.swirls {
            bricks.dilate(self.walls.surroundings(), conservative::farthest(cfl));
            swirls.advance(air, bricks, halt);
        }
        let mut expected = cfl + self.swirls.as_ref().map_or(0.0, |swirls| 0.5 * steps * swirls.speed());
        loop {
            if halt.is_raised() {
                return cfl;
            }
            bricks.dilate(self.walls.surroundings(), conservative::farthest(expected));
            let prolong =
                Prolong { finer: self.finer, weights: &self.weights, coarse, fine: self.layout, velocity };
            prolong.reached(bricks, &mut self.velocity, &self.scratch, halt);
            if halt.is_raised() {
                return cfl;
            }
            let grids = self.two_grids(coarse);
            if let (Some(obstacles), Some(fine)) = (obstacles, &self.obstacles) {
                // Cut cells balance their flow through all their faces.
                self.walls.ranks().exchange(self.layout, [&mut self.velocity[2]], [0, 1]);
                self.cut.faces(grids, fine);
                self.cut.prolong(grids, velocity, &obstacles.voxels.cuts, &mut self.velocity);
            }
            let Some(swirls) = &self.swirls else { return cfl };
            let memory =
                self.curl.get_or_insert_with(|| potential::Memory::new(coarse, self.layout, self.threads));
            let curl = Curl { swirls, prolong, walls: &self.walls };
            let found = steps * curl.add(bricks, &mut self.velocity, memory, halt);
            // Faster air than expected may reach further bricks, whose faces lack their velocity.
            let [far, filled] = [found, expected].map(conservative::farthest);
            if found <= expected || bricks.reach_same_bricks(far, filled) {
                return found;
            }
            expected = 1.1 * found;
        }
    }

    /// Sets the velocity of finer faces on open sides, where its sign decides whether air enters, and on
    /// inflows, where it says how fast. Exchanges the planes of `velocity` beside the slab.
    pub fn set_crossed_sides(&mut self, coarse: Layout, walls: &GhostRules, velocity: &mut Faces) {
        let n = coarse.dims.array();
        let is_crossed = |side| matches!(side, BoundaryCondition::Open | BoundaryCondition::Inflow(_));
        if self.config.sides.as_flattened().iter().any(|side| is_crossed(*side)) {
            let [u, v, w] = &mut *velocity;
            walls.ranks().exchange(coarse, [u, v, w], [1; 2]);
        }
        for (axis, ends) in self.config.sides.into_iter().enumerate() {
            for (end, side) in ends.into_iter().enumerate() {
                if is_crossed(side) {
                    self.set_side(coarse, &velocity[axis], axis, end * n[axis]);
                }
            }
        }
    }

    fn set_side(&mut self, coarse: Layout, field: &[f32], axis: usize, index: usize) {
        let (n, [b, c]) = (coarse.dims.array(), [(axis + 1) % 3, (axis + 2) % 3]);
        let (strides, finer, parts) = (coarse.strides(), self.finer, &self.weights.parts);
        let at = |layout: Layout, [p, q, r]: [usize; 3]| {
            let mut place = [0; 3];
            (place[axis], place[b], place[c]) = (p as isize, q as isize, r as isize);
            layout.at(place[0], place[1], place[2])
        };
        let (own, [low, high]) = (coarse.planes(), coarse.cell_planes());
        let range = |other: usize| if other == 2 { low..high } else { 0..n[other] };
        if axis == 2 && !(own[0]..own[1]).contains(&(index as isize)) {
            return;
        }
        for (q, r) in range(c).flat_map(|r| range(b).map(move |q| (q, r))) {
            let here = at(coarse, [index, q, r]);
            let change = |axis: usize| {
                [field[here - strides[axis]], field[here + strides[axis]]].map(|u| u - field[here])
            };
            let (along_b, along_c) = (change(b), change(c));
            for (x, y) in (0..finer).flat_map(|y| (0..finer).map(move |x| (x, y))) {
                let more = parts[x][0] * along_b[0] + parts[x][1] * along_b[1];
                let more = more + parts[y][0] * along_c[0] + parts[y][1] * along_c[1];
                let to = at(self.layout, [finer * index, finer * q + x, finer * r + y]);
                self.velocity[axis][to] = field[here] + more;
            }
        }
    }

    /// Interpolates the back-traces of cells, with one layer of ghosts, to the finer ones.
    pub fn trace(
        &mut self,
        coarse: Layout,
        ranks: &Ranks,
        back: &mut [[f32; 4]],
        forward: Option<&mut [[f32; 4]]>,
        halt: &Halt,
    ) {
        ranks.exchange(coarse, [&mut *back], [1; 2]);
        if halt.is_raised() {
            return;
        }
        if self.back.is_empty() {
            self.back = Cells::new(self.layout.size());
        }
        restrict::interpolate(coarse, self.layout, self.finer, back, &mut self.back, halt);
        self.walls.extend(&mut self.back);
        if let (Some(forth), Some(forward)) = (&mut self.forth, forward) {
            ranks.exchange(coarse, [&mut *forward], [1; 2]);
            restrict::interpolate(coarse, self.layout, self.finer, forward, &mut forth.forward, halt);
            self.walls.extend(&mut forth.forward);
        }
    }

    /// Interpolates values of cells to the finer ones in the planes from..to, dense, as half floats. `cells` has the `coarse` layout and the
    /// `walls` of the velocity.
    pub fn write_cells(
        &self,
        (coarse, walls): (Layout, &GhostRules),
        mut cells: Vec<[f32; 4]>,
        [from, to]: [usize; 2],
        out: &mut [[f16; 4]],
    ) {
        walls.extend_on(coarse, &mut cells);
        write_finer(coarse, self.finer, &cells, [from, to], out);
    }

    /// Writes the means of the finer `scalars` over the air of each cell. Means over whole cells would count
    /// their solid part as cold, and uniform warm air around a ball would start to move.
    pub fn restrict(
        &mut self,
        (coarse, walls): (Layout, &GhostRules),
        (scalars, bricks): (&[[f32; 4]], &mut Bricks),
        out: &mut [[f32; 4]],
    ) {
        if self.finer == 2 {
            let grids = [(coarse, walls), (self.layout, &self.walls)];
            restrict::means_and_contents(grids, (scalars, bricks), out, &mut self.sums);
        } else {
            restrict::means(coarse, self.layout, self.finer, (scalars, bricks), out);
        }
        let grids = self.two_grids(coarse);
        if let Some(solids) = &self.obstacles {
            self.cut.faces(grids, solids);
            self.cut.average_over_air(grids, out);
        }
    }
}

/// Interpolates values of cells, extended beyond the sides, to the cells `finer` times as fine in the planes from..to, dense, as half floats.
fn write_finer(
    coarse: Layout,
    finer: usize,
    cells: &[[f32; 4]],
    [from, to]: [usize; 2],
    out: &mut [[f16; 4]],
) {
    let [nx, ny, _] = coarse.dims.array().map(|n| n * finer);
    assert_eq!(out.len(), nx * ny * (to - from), "no room for these planes");
    out.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
        let at = [row % ny, from + row / ny];
        let put = |i: usize, value: [f32; 4]| out[i] = value.map(f16::from_f32);
        restrict::interpolate_row(coarse, finer, cells, at, put, nx);
    });
}
