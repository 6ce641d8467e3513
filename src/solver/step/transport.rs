//! Advection of all fields: the order of the passes of each scheme, and the fields each reads.

use rayon::prelude::*;

use super::balance::{balance, restore_around};
use super::fields::{Fields, SmokeFields};
use super::measure;
use crate::grid::{Faces, GHOST, Layout};
use crate::solver::advect::{self, Correction, Curve, Interpolation, Row, Staggered, conservative, trace};
use crate::solver::config::SCALAR_LIMIT;
use crate::solver::detail::swirls::Air;
use crate::solver::sides::entering::StepDecay;
use crate::solver::sides::{GhostRules, SampleBounds};
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::row_passes;
use crate::solver::{Advection, TraceOrder};

/// The velocity that a trace follows.
#[derive(Clone, Copy)]
pub enum AdvectingVelocity {
    /// The present one.
    Present,
    /// The one [extrapolated](Fields::extrapolate_reflected) for reflection.
    Reflected,
    /// The one [extrapolated](Fields::extrapolate) for the trapezoidal rule.
    Extrapolated,
}

/// Advection of one row of faces of each component, as [`advect::velocity`].
type RowKernel = fn(&Staggered, usize, [isize; 2], &[SampleBounds; 3], [&mut [f32]; 3]);

/// Interpolation of the velocity to cell centres.
type ToCenters = fn(Layout, &Faces, &mut [[f32; 4]]);

impl Fields {
    /// Back-traces over `steps` = Δt/h, and forward traces if the scheme needs them.
    pub fn trace(&mut self, advecting: AdvectingVelocity, steps: f32, order: TraceOrder, halt: &Halt) {
        let Self { layout, walls, velocity, expected, advected, back, forth, detail, .. } = self;
        let centers = &mut self.scalars_next;
        self.means_until = None;
        let velocity = match advecting {
            AdvectingVelocity::Present => velocity,
            AdvectingVelocity::Reflected => expected.as_mut().expect("reflection keeps it"),
            AdvectingVelocity::Extrapolated => advected,
        };
        let to_centers: ToCenters =
            if detail.is_some() { trace::fourth_order_centers } else { trace::centers };
        self.planes_crossed =
            interpolate_centers(*layout, walls, velocity, (centers, to_centers), steps, order);
        let bounds = walls.sample_bounds(None);
        trace::displacements(*layout, centers, &bounds, steps, order, back, halt);
        walls.extend(back);
        // A face takes the mean displacement of the two cells beside it.
        walls.ranks().exchange(*layout, [back], [1, 0]);
        if let Some(forth) = forth {
            trace::displacements(*layout, centers, &bounds, -steps, order, &mut forth.forward, halt);
            walls.extend(&mut forth.forward);
            walls.ranks().exchange(*layout, [&mut forth.forward], [1, 0]);
        }
    }

    /// Advects each component of the velocity: from `velocity` to `advected`, ghosts filled. `steps` is Δt/h.
    pub fn advect_velocity(&mut self, scheme: Advection, steps: f32, halt: &Halt) {
        if halt.is_raised() {
            return;
        }
        let halo = self.stencil_halo();
        self.walls.slow_backflow(&mut self.velocity, steps, &mut self.across_openings);
        let [u, v, w] = &mut self.velocity;
        self.walls.ranks().exchange(self.layout, [u, v, w], halo);
        match scheme {
            Advection::MacCormack => self.advect_components(Interpolation::Linear, true, halt),
            Advection::SemiLagrangian => self.advect_components(Interpolation::Linear, false, halt),
            Advection::Monotone => self.advect_components(Interpolation::Monotone, false, halt),
            Advection::Cubic => self.advect_together(Curve::CATMULL_ROM, halt),
            Advection::Lagrange | Advection::Conservative if self.detail.is_some() => {
                self.advect_faces(Curve::LAGRANGE, advect::six_point_row, halt);
            }
            Advection::Lagrange | Advection::Conservative => self.advect_together(Curve::LAGRANGE, halt),
        }
        if let Some(obstacles) = &self.obstacles {
            obstacles.rest(&mut self.advected);
        }
        self.walls.restore_backflow(&self.across_openings, &mut self.velocity);
        self.walls.fill_velocity(&mut self.advected);
    }

    /// Planes beside a slab that an interpolation at departure points reads. The stencil of a cubic extends two planes beyond such a
    /// point, six points extend three, and rounding may add one.
    fn stencil_halo(&self) -> [usize; 2] {
        let beyond = if self.detail.is_some() { 3 } else { 2 };
        [planes(self.planes_crossed, self.layout) + beyond + 1; 2]
    }

    /// As [`stencil_halo`](Self::stencil_halo), of the cells of smoke.
    fn smoke_halo(&self) -> [usize; 2] {
        [planes(self.finer() as f32 * self.planes_crossed, self.smoke_layout()) + 3; 2]
    }

    /// Advects one component after the other.
    fn advect_components(&mut self, kind: Interpolation, correct: bool, halt: &Halt) {
        let halo = self.stencil_halo();
        let Self { layout, walls, velocity, advected, back, forth, .. } = self;
        for component in 0..3 {
            let bounds = walls.sample_bounds(Some(component));
            let range = walls.face_ranges(component);
            let from = &velocity[component];
            for_faces(*layout, component, range, back, &mut advected[component], halt, |row, _, out| {
                advect::component(kind, row, &bounds, from, out);
            });
            let Some(Correction { forward, component: once, .. }) = forth.as_deref_mut().filter(|_| correct)
            else {
                continue;
            };
            walls.fill_component(component, &mut advected[component]);
            std::mem::swap(once, &mut advected[component]);
            walls.ranks().exchange(*layout, [once], halo);
            for_faces(*layout, component, range, back, &mut advected[component], halt, |row, at, out| {
                let forth = trace::mean_of_cells(forward, at, layout.strides()[component], out.len());
                advect::correct_component(row, &forth[..out.len()], &bounds, [from, once], at, out);
            });
        }
    }

    /// Advects all components at once, by limited cubic interpolation. `scalars_next` holds the interleaved
    /// velocity.
    fn advect_together(&mut self, curve: Curve, halt: &Halt) {
        if advect::reads_interleaved() {
            let halo = self.stencil_halo();
            self.means_until = None;
            let Self { layout, walls, velocity, scalars_next: interleaved, .. } = self;
            walls
                .ranks()
                .with_neighbours(*layout, halo, |layout| advect::interleave(layout, velocity, interleaved));
        }
        self.advect_interleaved(curve, halt);
    }

    /// As [`advect_together`](Self::advect_together), where the kernels read interleaved values from the interleaved velocity alone.
    pub(super) fn advect_interleaved(&mut self, curve: Curve, halt: &Halt) {
        self.advect_faces(curve, advect::velocity, halt);
    }

    /// Advects all rows of faces by a kernel.
    fn advect_faces(&mut self, curve: Curve, kernel: RowKernel, halt: &Halt) {
        let Self { layout, walls, velocity, advected, back, scalars_next: interleaved, .. } = self;
        let bounds = [0, 1, 2].map(|component| walls.sample_bounds(Some(component)));
        let field = Staggered { interleaved, faces: velocity, back, curve };
        // Only as far as the flow decides; the sides mostly set the faces at the far ends.
        let [nx, ny, nz] = [0, 1, 2].map(|axis| walls.free_faces(axis)[1]);
        let n = nx as usize;
        row_passes::rows3(
            *layout,
            advected.each_mut().map(Vec::as_mut_slice),
            [[0, ny], [0, nz]],
            |j, k, rows| {
                if halt.is_raised() {
                    return;
                }
                let rows = rows.map(|row| &mut row[GHOST..GHOST + n]);
                kernel(&field, layout.at(0, j, k), [j, k], &bounds, rows);
            },
        );
    }

    /// Advects the four scalars with one back-trace for all, and lets them decay.
    ///
    /// `steps` is Δt/h, `cfl` the CFL number of the air.
    pub fn advect_scalars(&mut self, scheme: Advection, decay: &[f32; 4], steps: f32, cfl: f32, halt: &Halt) {
        let cfl = self.refine_flow(scheme, steps, cfl, halt);
        if halt.is_raised() {
            return;
        }
        let (finer, halo) = (self.finer() as f32, self.smoke_halo());
        let mut smoke = self.smoke();
        // Ghosts beyond sides that vary still hold the values of the last step. Those in the middle of this one stand for all that enters.
        if !smoke.walls.tables().is_empty() {
            smoke.walls.fill_scalars_before(0.5, smoke.scalars, smoke.velocity);
        }
        if scheme != Advection::Conservative {
            scale_entering(smoke.walls, decay, finer * steps, smoke.scalars, smoke.velocity);
            smoke.walls.ranks().exchange(smoke.layout, [smoke.scalars], halo);
        }
        smoke.advect(scheme, decay, finer * steps, cfl, (halo, halt));
    }

    /// Brings the flow to the finer grid of the scalars, if they have one. `cfl` is the CFL number of the
    /// velocity's cells; returns that of the scalars' cells.
    fn refine_flow(&mut self, scheme: Advection, steps: f32, mut cfl: f32, halt: &Halt) -> f32 {
        let Self { layout, walls, velocity, back, forth, obstacles, bricks, .. } = self;
        let Self { detail, scalars, scalars_next, sums, .. } = self;
        let Some(detail) = detail else { return cfl };
        if detail.swirls.is_some() && !bricks.are_known() {
            // Swirls live as long as the air in these bricks lets them, whoever has looked for smoke before: a resumed run too.
            measure::contents_and_bricks(detail.layout, detail.walls.ranks(), scalars, sums, bricks);
        }
        walls.close_corners(velocity);
        let [u, v, w] = &mut *velocity;
        walls.ranks().exchange(*layout, [u, v, w], [GHOST; 2]);
        let fine = detail.finer as f32 * cfl;
        let conserves = scheme == Advection::Conservative;
        if conserves {
            let obstacles = obstacles.as_ref();
            let air = Air { layout: *layout, velocity, obstacles, back, spare: scalars_next, steps, cfl };
            cfl = detail.follow(air, bricks, fine, halt);
        } else {
            detail.set_crossed_sides(*layout, walls, velocity);
            cfl = fine;
        }
        let stir_air = obstacles.as_ref().is_some_and(|obstacles| obstacles.stir_air());
        if !conserves || stir_air {
            let forward = forth.as_mut().map(|forth| &mut forth.forward[..]);
            detail.trace(*layout, walls.ranks(), back, forward, halt);
        }
        cfl
    }
}

impl SmokeFields<'_> {
    /// Advects the scalars on their grid; see [`Fields::advect_scalars`]. An interpolation reads `halo` planes beside the slab.
    fn advect(
        &mut self,
        scheme: Advection,
        decay: &[f32; 4],
        steps: f32,
        cfl: f32,
        (halo, halt): ([usize; 2], &Halt),
    ) {
        if scheme == Advection::Conservative {
            return self.sweep_scalars(decay, steps, cfl, halt);
        }
        if let Some(obstacles) = &mut self.obstacles {
            obstacles.advect(self.walls, self.back, cfl, self.scalars, None);
        }
        self.interpolate_scalars(scheme, decay, cfl, (halo, halt));
        if cfl > 1.0 && self.walls.smoke_decays_at_inflows(StepDecay::new(decay)) {
            self.walls.scale_entered(StepDecay::new(decay), self.back, self.scalars_next);
        }
        self.correct_near_solids(decay);
        std::mem::swap(self.scalars, self.scalars_next);
    }

    /// The conservative scheme. Around solids that have moved, back-traces that do not pass through them
    /// correct it, and scalars there are scaled to keep their sums.
    fn sweep_scalars(&mut self, decay: &[f32; 4], steps: f32, cfl: f32, halt: &Halt) {
        let Self {
            layout,
            walls,
            velocity,
            scalars,
            back,
            obstacles,
            bricks,
            sweeps,
            sums,
            budget,
            prolonged,
            is_finer,
            ..
        } = self;
        let prolonged = *prolonged;
        let sweeps = sweeps.as_mut().expect("the conservative scheme has its memory");
        let stir_air = obstacles.as_ref().is_some_and(|obstacles| obstacles.stir_air());
        let held =
            budget.held.take().unwrap_or_else(|| measure::contents(*layout, walls.ranks(), scalars, sums));
        if let Some(obstacles) = obstacles.as_mut().filter(|_| stir_air) {
            obstacles.advect(walls, back, cfl, scalars, None);
        }
        if let (Some(obstacles), false) = (&mut *obstacles, *is_finer) {
            obstacles.voxels.cuts.stop(velocity);
        }
        let halo = [conservative::halo(cfl) + 1; 2];
        walls.ranks().exchange(*layout, [&mut velocity[2]], halo);
        obstacles.iter_mut().for_each(|obstacles| obstacles.exchange_flags(halo));
        let flags = obstacles.as_ref().map(|obstacles| &*obstacles.voxels.flags);
        let flow = conservative::Flow { layout: *layout, walls, velocity, flags, prolonged, steps };
        let reads_all = sweeps.plan(&flow, bricks, cfl);
        if reads_all {
            let [u, v, _] = &mut *velocity;
            walls.ranks().exchange(*layout, [u, v], halo);
        }
        let flow = conservative::Flow { layout: *layout, walls, velocity, flags, prolonged, steps };
        let [moved, left] = sweeps.advance(&flow, decay, scalars, bricks, (cfl, halt));
        // What grows may have met its limit.
        let grows = decay.iter().any(|&factor| factor > 1.0);
        let decayed = [0, 1, 2, 3].map(|c| (held[c] - moved[c]) * f64::from(decay[c]));
        let after = if grows { measure::contents(*layout, walls.ranks(), scalars, sums) } else { decayed };
        for c in 0..4 {
            budget.left[c] += left[c];
            budget.faded[c] += held[c] - left[c] - after[c];
        }
        if let (Some(obstacles), false) = (&mut *obstacles, *is_finer) {
            obstacles.voxels.cuts.restore(velocity);
        }
        if let Some(obstacles) = obstacles.as_mut().filter(|_| stir_air) {
            obstacles.count_losses(decay, scalars);
            obstacles.put(decay, scalars);
            bricks.forget();
            let mut rooms = std::mem::take(&mut obstacles.rooms);
            let scene = (&obstacles.scene(), &obstacles.voxels.flags[..]);
            restore_around(walls.ranks(), scene, obstacles.losses(), scalars, (&mut rooms, sums));
            obstacles.rooms = rooms;
            let kept = measure::contents(*layout, walls.ranks(), scalars, sums);
            balance(*layout, walls.ranks(), after, kept, scalars, sums);
        }
    }

    /// Interpolates the scalars, except in bricks that are empty and stay empty.
    fn interpolate_scalars(
        &mut self,
        scheme: Advection,
        decay: &[f32; 4],
        cfl: f32,
        (halo, halt): ([usize; 2], &Halt),
    ) {
        let Self { layout, walls, velocity, scalars, scalars_next, back, forth, obstacles, bricks, .. } =
            self;
        bricks.dilate(walls.surroundings(), cfl);
        let kind = interpolation(scheme);
        let bounds = walls.sample_bounds(None);
        let correct = scheme == Advection::MacCormack;
        for_reached(*layout, bricks, scalars_next, halt, |origin, at, out| {
            let row = Row { origin, back: &back[at..][..out.len()] };
            advect::scalars(kind, row, &bounds, scalars, out);
            if !correct {
                advect::scale_row(decay, SCALAR_LIMIT, out);
            }
        });
        let Some(Correction { forward, scalars: once, .. }) = forth.as_deref_mut().filter(|_| correct) else {
            return;
        };
        if let Some(obstacles) = obstacles {
            obstacles.put(&[1.0; 4], scalars_next);
        }
        walls.fill_scalars(scalars_next, velocity);
        std::mem::swap(once, scalars_next);
        walls.ranks().exchange(*layout, [once], halo);
        for_reached(*layout, bricks, scalars_next, halt, |origin, at, out| {
            let row = Row { origin, back: &back[at..][..out.len()] };
            let forward = &forward[at..][..out.len()];
            advect::correct_scalars(row, forward, &bounds, [scalars, once], at, out);
            advect::scale_row(decay, SCALAR_LIMIT, out);
        });
    }

    /// Overwrites the cells whose trace could cross a solid with their careful advection. If a solid has
    /// moved in a sealed box, restores the sums.
    fn correct_near_solids(&mut self, decay: &[f32; 4]) {
        let Self { layout, walls, scalars, scalars_next, obstacles, sums, bricks, .. } = self;
        let Some(obstacles) = obstacles else { return };
        obstacles.put(decay, scalars_next);
        bricks.forget();
        if obstacles.have_moved() && walls.are_sealed() {
            let held = measure::contents(*layout, walls.ranks(), scalars, sums);
            let kept = measure::contents(*layout, walls.ranks(), scalars_next, sums);
            let should = [0, 1, 2, 3].map(|c| held[c] * f64::from(decay[c]));
            balance(*layout, walls.ranks(), should, kept, scalars_next, sums);
        }
    }
}

/// Prepares the ghosts beyond inflows for an interpolation over `steps` = Δt/h, if their smoke decays in it.
fn scale_entering(
    walls: &GhostRules,
    decay: &[f32; 4],
    steps: f32,
    scalars: &mut [[f32; 4]],
    velocity: &Faces,
) {
    let decay = StepDecay::new(decay);
    if walls.smoke_decays_at_inflows(decay) {
        walls.scale_entering(decay, steps, scalars, velocity);
    }
}

/// Interpolates the velocity to cell centres by `to_centers`, as far beside the slab as back-traces over `steps` = Δt/h read it. With several ranks it
/// returns an upper bound of the number of planes that such a trace crosses, otherwise 0.
fn interpolate_centers(
    layout: Layout,
    walls: &GhostRules,
    velocity: &mut Faces,
    (out, to_centers): (&mut [[f32; 4]], ToCenters),
    steps: f32,
    order: TraceOrder,
) -> f32 {
    let ranks = walls.ranks();
    let crossed =
        if ranks.is_alone() { 0.0 } else { steps.abs() * ranks.most(fastest(layout, &velocity[2])) };
    // The midpoint rule samples half a step away, Ralston's rule three quarters. A sample lies between two planes, and rounding may
    // add one.
    let share = if order == TraceOrder::Third { 0.75 } else { 0.5 };
    let far = planes(share * crossed, layout) + 1;
    let [u, v, w] = &mut *velocity;
    // Four faces around a cell extend one plane beyond its own two.
    ranks.exchange(layout, [u, v, w], [far + 1, far + 2]);
    ranks.with_neighbours(layout, [far; 2], |layout| to_centers(layout, velocity, out));
    crossed
}

/// Whole planes within a distance of so many cells, at most those of the box.
fn planes(cells: f32, layout: Layout) -> usize {
    (cells.ceil() as usize).min(layout.dims.nz)
}

/// The largest absolute value in the planes of a slab, ghosts included.
fn fastest(layout: Layout, field: &[f32]) -> f32 {
    let planes = field[layout.own()].par_chunks(layout.plane);
    planes.map(|plane| plane.iter().fold(0.0, |most: f32, x| most.max(x.abs()))).reduce(|| 0.0, f32::max)
}

fn interpolation(scheme: Advection) -> Interpolation {
    match scheme {
        Advection::SemiLagrangian | Advection::MacCormack | Advection::Conservative => Interpolation::Linear,
        Advection::Monotone => Interpolation::Monotone,
        Advection::Cubic => Interpolation::Cubic(Curve::CATMULL_ROM),
        Advection::Lagrange => Interpolation::Cubic(Curve::LAGRANGE),
    }
}

/// Calls `f(origin, at, out)` for the runs of cells in bricks that may become occupied, with index
/// coordinates and position of the first. Other cells are set to 0.
fn for_reached(
    layout: Layout,
    bricks: &Bricks,
    out: &mut [[f32; 4]],
    halt: &Halt,
    f: impl Fn([f32; 3], usize, &mut [[f32; 4]]) + Sync,
) {
    let inside = [layout.dims.ny as isize, layout.dims.nz as isize].map(|n| [0, n]);
    row_passes::rows(layout, out, inside, |j, k, row| {
        if halt.is_raised() {
            return;
        }
        let row = &mut row[GHOST..GHOST + layout.dims.nx];
        bricks.runs(j as usize, k as usize, |range, reached| {
            let from = range.start as isize;
            let out = &mut row[range];
            if reached {
                f([from as f32, j as f32, k as f32], layout.at(from, j, k), out);
            } else {
                out.fill([0.0; 4]);
            }
        });
    });
}

/// Calls `f(row, at, out)` for each row of faces in `range` = [xs, ys, zs], with the displacement of the
/// faces: the mean over the two cells beside each.
fn for_faces(
    layout: Layout,
    component: usize,
    [xs, ys, zs]: [[isize; 2]; 3],
    cells: &[[f32; 4]],
    out: &mut [f32],
    halt: &Halt,
    f: impl Fn(Row, usize, &mut [f32]) + Sync,
) {
    let stride = layout.strides()[component];
    row_passes::rows(layout, out, [ys, zs], |j, k, row| {
        if halt.is_raised() {
            return;
        }
        for from in (xs[0]..xs[1]).step_by(trace::RUN) {
            let count = (xs[1] - from).min(trace::RUN as isize) as usize;
            let at = layout.at(from, j, k);
            let back = trace::mean_of_cells(cells, at, stride, count);
            let faces = Row { origin: [from as f32, j as f32, k as f32], back: &back[..count] };
            let start = from as usize + GHOST;
            f(faces, at, &mut row[start..start + count]);
        }
    });
}
