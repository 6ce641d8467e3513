//! The fields of a box, and the scratch memory of a step.

use rayon::prelude::*;

use super::kept_fields::{self, Kept};
use super::measure::{self, Flow};
use super::side_gains::SideGains;
use super::trapezoid_past::{Past, needs_third_velocity};
use crate::grid::{Faces, GHOST, Layout};
use crate::room::huge_pages;
use crate::simd::{Simd, each_level};
use crate::solver::advect::Correction;
use crate::solver::advect::conservative::{Prolonged, Sweeps};
use crate::solver::config::SCALAR_LIMIT;
use crate::solver::detail::Detail;
use crate::solver::diffuse;
use crate::solver::forces::external::{Accelerated, External};
use crate::solver::forces::{self, Forces};
use crate::solver::project::free_sides::FreeSides;
use crate::solver::project::pressure::{self, Blend};
use crate::solver::project::{Cuts, Projector};
use crate::solver::sides::GhostRules;
use crate::solver::sides::profile::Profile;
use crate::solver::solids::Obstacles;
use crate::solver::sources::{Emission, Half, Sources, Span};
use crate::solver::storage::active_bricks::Bricks;
use crate::solver::storage::archive::{Archive, Saved, StateError};
use crate::solver::storage::cells::Cells;
use crate::solver::storage::halt::Halt;
use crate::solver::storage::ranks::Ranks;
use crate::solver::storage::row_passes::{self, PerThread};
use crate::solver::{
    Advection, Ambient, BoundaryCondition, Config, Integrator, Params, SolverError, StepStats, Turbulence,
};

/// The fields of a solver. `transport.rs` advects them.
pub struct Fields {
    pub layout: Layout,
    pub walls: GhostRules,
    /// Velocity on the faces \[m/s\], ghosts filled, free of divergence between steps.
    pub velocity: Faces,
    /// Velocity after advection, before projection. With the trapezoidal rule it is at first the velocity at the beginning of the last
    /// step, free of divergence, then the advecting velocity.
    pub advected: Faces,
    /// Velocity that the trapezoidal rule advects, if it has memory of its own; see `corrected_velocity.rs`.
    pub corrected: Option<Faces>,
    /// Velocity at the beginning of a step, then extrapolated to its end: for reflection only.
    pub expected: Option<Faces>,
    /// State of the trapezoidal rule.
    pub past: Option<Past>,
    /// p/ρ at cell centres in the last step \[m²/s²\], one layer of ghosts filled; only if someone asks for it or the
    /// integrator needs it.
    pub pressure: Option<Vec<f32>>,
    /// Red, green, blue \[-\] and temperature excess \[K\] at the centres of the cells of smoke, ghosts filled.
    pub scalars: Cells,
    /// Scalars during advection. Before that, the interleaved velocity: at cell centres for the traces, then
    /// on the faces. On a finer grid of smoke, the means of the scalars for the forces.
    pub scalars_next: Cells,
    /// The [changes](Bricks::changes) of the finer scalars up to which `scalars_next` holds their means; `None` if it does not.
    pub means_until: Option<u64>,
    /// Back-trace of each cell along x, y, z \[cells\]; the fourth value is 0. After the last advection of a
    /// step it is scratch of the projection.
    pub back: Cells,
    /// Forward trace and the first pass's results: only for schemes that look forward.
    pub forth: Option<Box<Correction>>,
    /// Scratch of the conservative scheme.
    pub sweeps: Option<Sweeps>,
    pub projector: Projector,
    /// Open sides in endless air, if the box has them.
    pub free_sides: Option<Box<FreeSides>>,
    /// Solids, if there are any.
    pub obstacles: Option<Obstacles>,
    pub forces: PerThread<forces::Scratch>,
    pub diffusion: diffuse::Diffusion,
    pub flow: Vec<Flow>,
    pub sums: Vec<[f64; 4]>,
    /// Bricks of cells of smoke with smoke or heat.
    pub bricks: Bricks,
    /// The finer grid of smoke and heat, if it differs from that of the velocity.
    pub detail: Option<Box<Detail>>,
    /// Smoke and heat gained and lost.
    pub budget: Budget,
    /// Heat and momentum that sides have given to the air in the step.
    pub side_gains: SideGains,
    /// Largest component of the velocity before the last projection \[m/s\].
    pub projected: f32,
    /// Whether the velocity was changed from outside and must be projected before it advects anything.
    pub disturbed: bool,
    /// With several ranks, an upper bound of the number of planes that the last back-traces cross.
    pub planes_crossed: f32,
    /// Velocities across open sides while the air that enters is slowed; see `sides/backflow.rs`.
    pub across_openings: Vec<f32>,
}

/// Sums over the cells of red, green, blue and temperature, gained and lost since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Contents of the box at the last measurement, if nothing has changed since.
    pub held: Option<[f64; 4]>,
    /// Added by sources.
    pub emitted: [f64; 4],
    /// Net outflow through the sides.
    pub left: [f64; 4],
    /// Lost by decay.
    pub faded: [f64; 4],
}

/// The scalars and all that their advection needs, on their grid.
pub struct SmokeFields<'a> {
    pub layout: Layout,
    pub walls: &'a GhostRules,
    /// The advecting velocity; on a finer grid already the mean over each face, 0 where it is closed.
    pub velocity: &'a mut Faces,
    /// The velocity of which that is the prolongation, if it is no more than that.
    pub prolonged: Option<Prolonged<'a>>,
    pub scalars: &'a mut Cells,
    pub scalars_next: &'a mut Cells,
    pub back: &'a mut Cells,
    pub forth: &'a mut Option<Box<Correction>>,
    pub sweeps: &'a mut Option<Sweeps>,
    pub obstacles: &'a mut Option<Obstacles>,
    pub diffusion: &'a mut diffuse::Diffusion,
    pub sums: &'a mut Vec<[f64; 4]>,
    pub bricks: &'a mut Bricks,
    pub budget: &'a mut Budget,
    /// Whether it is a finer grid than that of the velocity.
    pub is_finer: bool,
}

impl Fields {
    pub fn new(config: &Config, threads: usize, ranks: &Ranks) -> Self {
        Self::with(config, threads, ranks, Kept::new(config, ranks))
    }

    /// As [`new`](Self::new), with these fields.
    pub fn with(config: &Config, threads: usize, ranks: &Ranks, kept: Kept) -> Self {
        let [layout, smoke] = kept_fields::layouts(config, ranks);
        let walls = GhostRules::new(layout, config.sides, config.held).on(ranks.clone());
        let longest = smoke.dims.array().into_iter().max().unwrap_or(1);
        let field = || huge_pages::favoured(vec![0.0f32; layout.size()]);
        let faces = || [field(), field(), field()];
        let four = || Cells::new(layout.size());
        let correction = || Box::new(Correction { forward: four(), component: field(), scalars: four() });
        Self {
            layout,
            velocity: kept.velocity,
            advected: kept.before.unwrap_or_else(faces),
            pressure: kept.pressure,
            past: Past::new(config),
            corrected: needs_third_velocity(config, false, ranks.is_alone()).then(faces),
            expected: (config.integrator == Integrator::Reflection && !config.frozen).then(faces),
            scalars: kept.scalars,
            scalars_next: four(),
            means_until: None,
            back: Cells::new(layout.size().max(Projector::scratch_len(layout.dims).div_ceil(4))),
            forth: config.advection.looks_forward().then(correction),
            sweeps: (config.advection == Advection::Conservative)
                .then(|| Sweeps::new(smoke, config.detail, threads)),
            projector: Projector::choose(
                config.projection,
                false,
                layout,
                walls.pressure_boundaries(),
                threads,
                ranks,
            ),
            free_sides: FreeSides::new(config, layout, ranks),
            obstacles: None,
            forces: PerThread::new(threads, || forces::Scratch::new(layout.dims)),
            diffusion: diffuse::Diffusion::new(threads, longest + 1),
            flow: vec![Flow::default(); layout.dims.nz],
            sums: vec![[0.0; 4]; smoke.dims.nz],
            bricks: Bricks::new(smoke),
            detail: Detail::new(config, layout, threads, ranks),
            budget: Budget::default(),
            side_gains: SideGains::default(),
            projected: 0.0,
            disturbed: config
                .sides
                .as_flattened()
                .iter()
                .any(|side| matches!(side, BoundaryCondition::Inflow(_))),
            planes_crossed: 0.0,
            across_openings: Vec::new(),
            walls,
        }
    }

    pub fn fill(
        &mut self,
        h: f32,
        velocity: impl Fn(usize, [f32; 3]) -> f32 + Send + Sync,
        scalars: impl Fn([f32; 3]) -> [f32; 4] + Send + Sync,
    ) {
        let layout = self.layout;
        let [nx, ny, nz] = layout.dims.array().map(|n| n as isize);
        for (component, field) in self.velocity.iter_mut().enumerate() {
            let offset = |axis: usize| if axis == component { 0.0 } else { 0.5 };
            let offset = [offset(0), offset(1), offset(2)];
            row_passes::rows(layout, field, [[0, ny + 1], [0, nz + 1]], |j, k, row| {
                for i in 0..=nx {
                    let at = [i as f32 + offset[0], j as f32 + offset[1], k as f32 + offset[2]];
                    row[i as usize + GHOST] = velocity(component, at.map(|x| x * h));
                }
            });
        }
        let (layout, h) = (self.smoke_layout(), h / self.finer() as f32);
        let [nx, ny, nz] = layout.dims.array().map(|n| n as isize);
        row_passes::rows(layout, &mut self.scalars, [[0, ny], [0, nz]], |j, k, row| {
            for i in 0..nx {
                let at = [i as f32 + 0.5, j as f32 + 0.5, k as f32 + 0.5];
                row[i as usize + GHOST] = scalars(at.map(|x| x * h));
            }
        });
        self.empty_solids();
        self.bricks.forget();
        self.walls.fill_velocity(&mut self.velocity);
        self.fill_scalars();
    }

    /// Before a step: resets what solids and sides gain and give in it.
    pub fn clear_gains(&mut self) {
        self.side_gains.forget();
        let finer = self.detail.as_mut().and_then(|detail| detail.obstacles.as_mut());
        self.obstacles.iter_mut().chain(finer).for_each(Obstacles::clear_momentum);
    }

    /// Layout of the scalars.
    pub fn smoke_layout(&self) -> Layout {
        self.detail.as_ref().map_or(self.layout, |detail| detail.layout)
    }

    /// Cells of smoke along each edge of a cell of the velocity.
    pub fn finer(&self) -> usize {
        self.detail.as_ref().map_or(1, |detail| detail.finer)
    }

    /// Returns the scalars and all that their advection needs.
    pub fn smoke(&mut self) -> SmokeFields<'_> {
        let Self { layout, walls, velocity, scalars_next, back, forth, obstacles, .. } = self;
        let Self { scalars, sweeps, diffusion, sums, bricks, budget, detail, .. } = self;
        let is_finer = detail.is_some();
        let mut prolonged = None;
        let (layout, walls, velocity, scalars_next, back, forth, obstacles) = match detail.as_deref_mut() {
            None => (*layout, &*walls, velocity, scalars_next, back, forth, obstacles),
            Some(detail) => {
                let adds_nothing = detail.obstacles.is_none() && detail.swirls.is_none();
                prolonged =
                    (detail.finer == 2 && adds_nothing).then_some(Prolonged { layout: *layout, velocity });
                let Detail { layout, walls, velocity, scalars_next, back, forth, obstacles, .. } = detail;
                (*layout, &*walls, velocity, scalars_next, back, forth, obstacles)
            }
        };
        SmokeFields {
            layout,
            walls,
            velocity,
            prolonged,
            scalars,
            scalars_next,
            back,
            forth,
            sweeps,
            obstacles,
            diffusion,
            sums,
            bricks,
            budget,
            is_finer,
        }
    }

    /// Sets the turbulence of finer smoke.
    pub fn set_turbulence(&mut self, turbulence: Turbulence) {
        if let Some(detail) = &mut self.detail {
            detail.set_turbulence(turbulence, self.layout, &self.walls);
        }
    }

    /// Lets the turbulence begin anew: the flow was replaced.
    pub fn forget_swirls(&mut self) {
        self.detail.iter_mut().for_each(|detail| detail.swirls = None);
    }

    /// Whether scalars are moved with the help of back-traces.
    pub fn needs_trace(&self, scheme: Advection) -> bool {
        let has_swirls = self.detail.as_ref().is_some_and(|detail| detail.swirls.is_some());
        scheme != Advection::Conservative || has_swirls
    }

    /// Lets the sides of the box of `config` vary as `profiles` say.
    pub fn set_profiles(&mut self, config: &Config, profiles: &[Profile]) {
        let corner = config.corner();
        self.walls.set_profiles((config.h, corner), profiles);
        if let Some(detail) = &mut self.detail {
            detail.walls.set_profiles((config.smoke_h(), corner), profiles);
        }
    }

    /// Brings the sides to the instant `time` \[s\].
    pub fn set_time(&mut self, time: f64) {
        self.walls.set_time(time);
        if let Some(detail) = &mut self.detail {
            detail.walls.set_time(time);
        }
    }

    /// Fails if a side has a value out of its range.
    pub fn check_sides(&self) -> Result<(), SolverError> {
        self.walls.check_values()?;
        self.detail.as_ref().map_or(Ok(()), |detail| detail.walls.check_values())
    }

    /// Scalars on the cells of the velocity, with their ghosts, for the forces.
    pub(super) fn scalars_of_air(&mut self) {
        self.restrict_scalars();
        let Self { walls, velocity, scalars_next, detail, .. } = self;
        if detail.is_some() {
            walls.fill_scalars(scalars_next, velocity);
        }
    }

    /// Means of finer scalars on the cells of the velocity, in `scalars_next`, without ghosts. Computes none that are still there: those
    /// of the last forces of a step hold until the next one begins.
    pub(super) fn restrict_scalars(&mut self) {
        let Self { layout, walls, scalars, scalars_next, means_until, bricks, detail, .. } = self;
        if let Some(detail) = detail
            && *means_until != Some(bricks.changes())
        {
            detail.restrict((*layout, walls), (scalars, bricks), scalars_next);
            *means_until = Some(bricks.changes());
        }
    }

    /// Projects the velocity to a relative tolerance, and sets it at walls, in solids and in the ghosts. With
    /// `share` = \[keep, add\] the pressure becomes keep · p + add · φ; add is h/Δt \[m/s\] times the share
    /// of φ.
    pub fn project(&mut self, tolerance: f32, share: Option<[f32; 2]>, stats: &mut StepStats, halt: &Halt) {
        let mut speed = 0.0;
        if halt.is_raised() {
            return;
        }
        if self.projector.is_iterative() {
            let before = self.measure();
            stats.divergence_before = before.relative_divergence();
            speed = before.speed;
        }
        let Self { layout, walls, velocity, projector, free_sides, obstacles, back, pressure, past, .. } =
            self;
        walls.set_sides(velocity);
        let mut free = free_sides.as_mut().filter(|_| obstacles.is_none());
        if let Some(free) = &mut free {
            free.apply_potential(velocity, pressure.as_deref());
        }
        let mut none = Cuts::default();
        let cuts = obstacles.as_mut().map_or(&mut none, |obstacles| &mut obstacles.voxels.cuts);
        let blend = pressure.as_mut().zip(share).map(|(field, [keep, add])| Blend { field, keep, add });
        let scratch = back.as_flattened_mut();
        self.projected = projector.project(velocity, cuts, [tolerance, speed], scratch, blend, (stats, halt));
        if halt.is_raised() {
            return;
        }
        walls.fill_velocity(velocity);
        if let (Some(pressure), Some(share)) = (&mut *pressure, share) {
            if let Some(obstacles) = obstacles {
                obstacles.voxels.inside.iter().for_each(|&at| pressure[at as usize] = 0.0);
            }
            pressure::fill_ghosts(*layout, walls.ranks(), walls.pressure_boundaries(), pressure);
            if let Some(free) = free {
                free.fill_ghosts(share, pressure);
            }
        }
        if let Some(obstacles) = obstacles {
            if let Some(pressure) = pressure {
                walls.ranks().exchange(*layout, [pressure], [1, 0]);
            }
            match (&*pressure, past, share) {
                // A part of the pressure of the step was known before the projection, so φ alone would give
                // too little force.
                (Some(pressure), Some(_), Some([_, add])) => {
                    let ends = walls.pressure_boundaries();
                    obstacles.add_pressure_forces(|component, face| {
                        pressure::drop_across(*layout, ends, pressure, component, face) / add
                    });
                }
                _ => obstacles.add_pressure_forces(|component, face| projector.drop_across(component, face)),
            }
            obstacles.count(velocity);
            obstacles.extend(velocity);
        }
        self.disturbed = false;
    }

    /// After a cancelled step: the fields belong to no instant, so measurements and the extrapolation no
    /// longer hold. The next step projects the velocity before it advects with it.
    pub fn mark_between_instants(&mut self) {
        self.forget_past();
        self.bricks.forget();
        self.budget.held = None;
        self.disturbed = true;
    }

    /// Sets the pressure to 0, if it is kept.
    pub fn forget_pressure(&mut self) {
        let own = self.layout.own();
        self.pressure.iter_mut().for_each(|pressure| pressure[own.clone()].fill(0.0));
    }

    /// Keeps the velocity at the beginning of a step, before forces turn `advected` into the next one.
    pub fn store_previous_velocity(&mut self) {
        let expected = self.expected.as_mut().expect("reflection keeps it");
        std::mem::swap(&mut self.velocity, expected);
    }

    /// Extrapolates to the end of a step: 2u − u₀, from the velocity u in its middle and the stored u₀ of its
    /// beginning.
    pub fn extrapolate_reflected(&mut self) {
        let expected = self.expected.as_mut().expect("reflection keeps it");
        mirror(self.layout, &self.velocity, expected);
    }

    /// Reflects the velocity, just projected: writes 2u − `advected` to `advected`.
    pub fn reflect(&mut self) {
        mirror(self.layout, &self.velocity, &mut self.advected);
        let Self { projector, obstacles, advected, velocity, .. } = self;
        if let Some(obstacles) = obstacles {
            // The reflected velocity has felt the pressure twice.
            obstacles.add_pressure_forces(|component, face| projector.drop_across(component, face));
            obstacles.rebound(velocity, advected);
            obstacles.voxels.cuts.close(advected);
            obstacles.extend(advected);
        }
    }

    /// Swaps the velocity with the advected one, and fills its ghosts.
    pub fn swap_velocity(&mut self) {
        std::mem::swap(&mut self.velocity, &mut self.advected);
        self.walls.fill_velocity(&mut self.velocity);
    }

    /// Fills the ghosts of the scalars.
    pub fn fill_scalars(&mut self) {
        if let Some(detail) = &mut self.detail {
            detail.set_crossed_sides(self.layout, &self.walls, &mut self.velocity);
        }
        let SmokeFields { walls, scalars, velocity, .. } = self.smoke();
        walls.fill_scalars(scalars, velocity);
    }

    /// Keeps the velocity as it is before a projection, in `advected`, for the reflection.
    pub fn store_advected(&mut self) {
        self.walls.fill_velocity(&mut self.velocity);
        let own = self.layout.own();
        for (advected, velocity) in self.advected.iter_mut().zip(&self.velocity) {
            advected[own.clone()].copy_from_slice(&velocity[own.clone()]);
        }
    }

    /// Measures the velocity; on faces that solids narrow, its mean over the whole face. Also brings
    /// [`GHOST`] planes of it from the neighbouring slabs.
    pub fn measure(&mut self) -> Flow {
        let Self { layout, walls, velocity, obstacles, flow, .. } = self;
        let [u, v, w] = &mut *velocity;
        walls.ranks().exchange(*layout, [u, v, w], [GHOST; 2]);
        let Some(Obstacles { voxels, .. }) = obstacles else {
            return measure::flow(*layout, walls.ranks(), velocity, flow);
        };
        voxels.cuts.exchange(velocity);
        let measured = measure::flow(*layout, walls.ranks(), velocity, flow);
        voxels.cuts.restore(velocity);
        measured
    }

    /// Adds a half of the emission of the sources in `span` outside solids, less its decay.
    pub fn emit(&mut self, sources: &Sources, span: &Span, half: Half) {
        let emits = sources.emit_in(span);
        if emits {
            let SmokeFields { walls, scalars, bricks, obstacles, sums, budget, .. } = self.smoke();
            let flags = obstacles.as_ref().map(|obstacles| &obstacles.voxels.flags[..]);
            let Emission { emitted, faded } =
                sources.emit((span, half), SCALAR_LIMIT, (scalars, flags), (bricks, walls.ranks(), sums));
            for c in 0..4 {
                budget.emitted[c] += emitted[c];
                budget.faded[c] += faded[c];
                if let Some(held) = &mut budget.held {
                    held[c] += emitted[c] - faded[c];
                }
            }
        }
        // The sweeps know the sides themselves; only traces around solids read the ghosts.
        let reads_ghosts = self.sweeps.is_none() || self.obstacles.is_some();
        match half {
            Half::First if emits && reads_ghosts => self.fill_scalars(),
            Half::First => {}
            Half::Second => {
                self.empty_solids();
                self.fill_scalars();
            }
        }
    }

    /// Temperature excess without buoyancy \[K\]. A mean is taken over the air: cells inside solids do not
    /// count, and cells that a solid cuts count as whole, as in the advection and for the pressure.
    pub fn ambient(&mut self, params: &Params) -> f32 {
        match params.ambient {
            Ambient::Fixed(excess) => excess,
            Ambient::Mean => {
                let SmokeFields { layout, walls, scalars, sums, obstacles, .. } = self.smoke();
                let heat = measure::contents(layout, walls.ranks(), scalars, sums)[3];
                let own = layout.span(layout.cell_planes().map(|k| k as isize));
                let inside = obstacles.as_ref().map_or(&[][..], |obstacles| &obstacles.voxels.inside);
                let [first, end] =
                    [own.start, own.end].map(|from| inside.partition_point(|&at| (at as usize) < from));
                let air = layout.dims.cells() - walls.ranks().sum(end - first);
                (heat / air.max(1) as f64) as f32
            }
        }
    }

    /// Brings from the neighbouring slabs what the forces read: the scalars, and the velocity whose vorticity is confined, which is
    /// `velocity` or `advected`.
    fn neighbours_of_forces(&mut self, forces: &Forces, of_velocity: bool) {
        self.exchange_lifting();
        let Self { layout, walls, advected, velocity, .. } = self;
        let ranks = walls.ranks();
        if forces.vorticity != 0.0 {
            let [u, v, w] = if of_velocity { velocity } else { advected };
            ranks.exchange(*layout, [u, v, w], forces::CONFINEMENT_HALO);
        }
    }

    /// Brings the plane below the slab of the scalars on the cells of the velocity, after [`restrict_scalars`](Self::restrict_scalars).
    pub(super) fn exchange_lifting(&mut self) {
        let Self { layout, walls, scalars, scalars_next, detail, .. } = self;
        let lifting = if detail.is_some() { scalars_next } else { scalars };
        walls.ranks().exchange(*layout, [lifting], [1, 0]);
    }

    /// Computes `velocity` = `advected` + forces, with the vorticity of `advected`.
    pub fn add_forces(&mut self, forces: &Forces, halt: &Halt) {
        if halt.is_raised() {
            return;
        }
        self.scalars_of_air();
        self.neighbours_of_forces(forces, false);
        let Self { layout, walls, advected, velocity, forces: scratch, .. } = self;
        let lifting = lifting(&self.detail, [&self.scalars, &self.scalars_next], &self.bricks);
        forces::apply(*layout, walls, forces, (Some(advected), advected), lifting, velocity, (scratch, halt));
    }

    /// Adds forces to `advected`, with the vorticity of `velocity`, which must be free of divergence, and swaps the two. `keeps_before`:
    /// keeps the velocity before the forces for [`relax`](Self::relax).
    pub fn add_forces_in_place(&mut self, forces: &Forces, keeps_before: bool, halt: &Halt) {
        if halt.is_raised() {
            return;
        }
        if keeps_before {
            self.store_before_forces();
        }
        self.scalars_of_air();
        self.neighbours_of_forces(forces, true);
        let Self { layout, walls, advected, velocity, forces: scratch, .. } = self;
        let lifting = lifting(&self.detail, [&self.scalars, &self.scalars_next], &self.bricks);
        forces::apply(*layout, walls, forces, (None, velocity), lifting, advected, (scratch, halt));
        std::mem::swap(velocity, advected);
    }

    /// Copies `advected` to memory that is free after the advection: a third velocity, or scratch that forces without finer smoke do not read.
    fn store_before_forces(&mut self) {
        let Self { layout, advected, corrected, expected, scalars_next, .. } = self;
        let to = match corrected.as_mut().or(expected.as_mut()) {
            Some(third) => third.each_mut().map(|field| &mut field[..]),
            None => scalars_next.thirds_mut(),
        };
        let own = layout.own();
        to.into_iter()
            .zip(advected)
            .for_each(|(to, from)| to[own.clone()].copy_from_slice(&from[own.clone()]));
    }

    /// Lets the velocity approach the targets of forces between `from` and `from + dt`. `in_place`: the body forces have acted in place.
    pub fn relax(&mut self, external: &External, time: (f64, f32), by: &Accelerated, in_place: bool) {
        if !external.relaxes() {
            return;
        }
        let Self { velocity, advected, corrected, expected, detail, scalars, scalars_next, bricks, .. } =
            self;
        let (lifting, _) = lifting(detail, [scalars, scalars_next], bricks);
        let third = if in_place { corrected.as_ref().or(expected.as_ref()) } else { Some(&*advected) };
        let before =
            third.map_or_else(|| scalars_next.thirds(), |faces| faces.each_ref().map(|field| &field[..]));
        external.relax(time, by, lifting, before, velocity);
    }
}

/// The scalars on the cells of the velocity, with their bricks: `scalars` itself, or the means that [`Fields::restrict_scalars`] makes.
pub fn lifting<'a>(
    detail: &'a Option<Box<Detail>>,
    [scalars, means]: [&'a Cells; 2],
    bricks: &'a Bricks,
) -> (&'a [[f32; 4]], &'a Bricks) {
    match detail {
        None => (scalars, bricks),
        Some(detail) => (means, &detail.coarse_bricks),
    }
}

impl Saved for Fields {
    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        // Left out: values that each step writes before it reads them, or that are the same for every solver
        // of a configuration.
        let Self {
            layout,
            walls,
            velocity,
            advected,
            corrected: _,
            expected: _,
            scalars,
            scalars_next: _,
            means_until: _,
            back: _,
            forth: _,
            projector,
            free_sides: _,
            obstacles,
            detail,
            forces: _,
            diffusion: _,
            flow: _,
            sums: _,
            bricks: _,
            disturbed,
            planes_crossed: _,
            across_openings: _,
            budget,
            side_gains: _,
            sweeps,
            past,
            pressure,
            projected,
        } = self;
        for (name, field) in ["u", "v", "w"].into_iter().zip(velocity) {
            archive.field(name, field, *layout)?;
        }
        archive.field("scalars", scalars, detail.as_ref().map_or(*layout, |detail| detail.layout))?;
        archive.value("projected", projected)?;
        if let (Some(past), Some(pressure)) = (past, pressure) {
            for field in advected {
                archive.field("past", field, *layout)?;
            }
            past.state(archive)?;
            archive.field("pressure", pressure, *layout)?;
        }
        projector.state(archive)?;
        if let Some(obstacles) = obstacles {
            obstacles.state(archive)?;
        }
        if let Some(detail) = detail {
            detail.state(archive, *layout, walls)?;
        }
        if let Some(sweeps) = sweeps {
            archive.flag("backwards", &mut sweeps.backwards)?;
        }
        let Budget { held, emitted, left, faded } = budget;
        archive.option("held", held)?;
        for (name, sums) in [("emitted", emitted), ("left", left), ("faded", faded)] {
            archive.value(name, sums)?;
        }
        archive.flag("disturbed", disturbed)
    }
}

/// `field` = 2 `at` − `field`, plane by plane.
fn mirror(layout: Layout, at: &Faces, field: &mut Faces) {
    let (own, plane) = (layout.own(), layout.plane);
    for (field, at) in field.iter_mut().zip(at) {
        let planes = field[own.clone()].par_chunks_mut(plane).zip(at[own.clone()].par_chunks(plane));
        planes.for_each(|(field, at)| reflect_row(at, field));
    }
}

each_level! { fn reflect_row(velocity: &[f32], advected: &mut [f32]) = reflect_row_kernel; }

#[inline(always)]
fn reflect_row_kernel<S: Simd>(_: S, velocity: &[f32], advected: &mut [f32]) {
    for (advected, velocity) in advected.iter_mut().zip(velocity) {
        *advected = 2.0 * velocity - *advected;
    }
}
