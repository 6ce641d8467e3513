//! The whole state of a solver at one instant, in full precision, for undo, the timeline and checkpoints.
//!
//! A step is a function of this state and of the inputs: parameters, sources, forces and the step length. A
//! solver of the same [`Config`] that restores a state and gets the same inputs computes the same bits as the
//! solver it was captured from; the tests below check every scheme. Scratch memory is not part of the state.
//! The pressure is, if the projection iterates, because the next solve starts from it.

use std::io::{Read, Seek, SeekFrom, Write};

use super::distribution::{PartLoader, PartSaver, refuse_thin_box};
use super::fields::{Budget, Fields};
use super::{finite, follow};
use crate::grid::Dims;
use crate::packed::Packed;
use crate::room;
use crate::solver::detail::swirls::GENERATIONS;
use crate::solver::project::Halves;
use crate::solver::solids::Standing;
use crate::solver::storage::archive::{Archive, Loader, Saved, Saver, StateError};
use crate::solver::{Config, Solid, Solver, SolverError, StepStats};

/// State that a [`Solver`] carries from one step to the next, apart from its inputs.
#[derive(Clone, Debug)]
pub struct State {
    config: Config,
    /// The box at the start, and whether it was full, if it follows its smoke.
    start: ([i32; 3], Dims),
    full: bool,
    stats: StepStats,
    /// Whether the velocity was changed from outside and is projected before the next step.
    disturbed: bool,
    /// u, v, w \[m/s\], ghosts included.
    velocity: [Packed; 3],
    /// Red, green, blue \[-\] and temperature excess \[K\], ghosts included.
    scalars: Packed,
    /// The last pressure, times Δt/h, of an iterative projection; its two colours.
    pressure: Option<[Packed; 2]>,
    solids: Vec<Solid>,
    standing: Option<Standing>,
    /// As `standing`, for the finer grid of the smoke.
    fine_standing: Option<Standing>,
    /// State of the trapezoidal rule: the last velocity, the pressure, and the length of the last step.
    past: Option<([Packed; 4], f32)>,
    /// Largest component of the velocity before the last projection \[m/s\].
    projected: f32,
    /// Smoke and heat gained and lost so far.
    budget: Budget,
    /// Whether the next conservative sweeps end with x.
    backwards: bool,
    /// Phase and coordinates of the turbulence.
    swirls: Option<(f64, [Packed; GENERATIONS])>,
    /// A value that is not finite.
    not_finite: Option<SolverError>,
}

impl State {
    /// Simulated time \[s\].
    pub fn time(&self) -> f64 {
        self.stats.time
    }

    /// Numbers of the last step before it.
    pub fn stats(&self) -> &StepStats {
        &self.stats
    }

    /// Its packed fields, in the reverse of the order in which they are captured.
    fn into_fields(self) -> Vec<Packed> {
        let Self { velocity, scalars, pressure, past, swirls, .. } = self;
        let fields = velocity.into_iter().chain([scalars]).chain(pressure.into_iter().flatten());
        let fields = fields.chain(past.into_iter().flat_map(|(fields, _)| fields));
        fields.chain(swirls.into_iter().flat_map(|(_, moved)| moved)).rev().collect()
    }

    /// Approximate size \[bytes\].
    pub fn bytes(&self) -> usize {
        let fields = self.velocity.iter().chain([&self.scalars]).chain(self.pressure.iter().flatten());
        let past = self.past.iter().flat_map(|(fields, _)| fields);
        let past = past.chain(self.swirls.iter().flat_map(|(_, moved)| moved));
        size_of::<Self>() + fields.chain(past).map(Packed::bytes).sum::<usize>()
    }
}

impl Solver {
    /// Writes the state that the next steps depend on. Each of several ranks writes its own parts of it, from the same place of the same
    /// file on; together they have the bytes of one process. All leave the file at the end of the state. Call it only
    /// between steps: a cancelled step leaves no state to continue from.
    ///
    /// # Errors
    /// Those of `file`. No rank waits for another.
    pub fn save(&mut self, mut file: impl Write + Seek) -> Result<(), StateError> {
        let Fields { layout, walls, .. } = &self.fields;
        if walls.ranks().is_alone() {
            return self.state(&mut Saver(file));
        }
        let (ranks, nz) = (walls.ranks().clone(), layout.dims.nz);
        let at = file.stream_position()?;
        let mut parts = PartSaver { saver: Saver(&mut file), at, ranks: &ranks, nz };
        self.state(&mut parts)?;
        let end = parts.at;
        file.seek(SeekFrom::Start(end))?;
        Ok(())
    }

    /// Loads a state that [`save`](Self::save) wrote. The following steps have the same bits as those of an
    /// unbroken run. The solver must have been built from the same configuration, with the same constants,
    /// sources, forces and solids; the numbers of threads and ranks may differ. Each rank reads the planes of its slab.
    ///
    /// # Errors
    /// Those of `file`; [`StateError::OtherConfig`] and [`StateError::Other`] for a state of another box or kind of solver, and
    /// [`StateError::NotFinite`] for a damaged one. If fields were read by then, [`step`](Self::step) returns
    /// [`SolverError::Incomplete`] until they are cleared, filled, loaded or restored.
    pub fn load(&mut self, file: impl Read + Seek) -> Result<(), StateError> {
        let mut loader = Loader(file);
        let own = fingerprint(self);
        let mut found = own;
        (&mut loader as &mut dyn Archive).value(CONFIGURATION, &mut found)?;
        if found != own {
            return Err(StateError::OtherConfig);
        }
        let (stats, budget) = (self.stats.clone(), self.fields.budget);
        self.read(loader).inspect_err(|_| {
            (self.stats, self.fields.budget) = (stats, budget);
            self.not_finite = Some(SolverError::Incomplete);
        })
    }

    /// Reads a state after its configuration.
    fn read(&mut self, mut loader: Loader<impl Read + Seek>) -> Result<(), StateError> {
        // The slabs are those of the box that is loaded.
        self.box_state(&mut loader)?;
        if self.ranks().is_alone() {
            self.rest_of_state(&mut loader)?;
        } else {
            let (ranks, nz) = (self.ranks().clone(), self.fields.layout.dims.nz);
            self.rest_of_state(&mut PartLoader { loader, ranks: &ranks, nz })?;
        }
        match finite::find_initial(&self.fields) {
            Some(SolverError::NotFinite { field, cell, .. }) => {
                return Err(StateError::NotFinite { field, cell });
            }
            Some(_) => return Err(StateError::NumberNotFinite),
            None if !finite::is_finite(&self.stats) => return Err(StateError::NumberNotFinite),
            None => {}
        }
        self.restored();
        self.not_finite = None;
        Ok(())
    }

    fn state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        let mut own = fingerprint(self);
        archive.value(CONFIGURATION, &mut own)?;
        self.box_state(archive)?;
        self.rest_of_state(archive)
    }

    fn rest_of_state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        self.fields.state(archive)?;
        self.stats.state(archive)
    }

    /// Passes the sides of a box that follows its smoke to `archive`, and makes the fields for them.
    fn box_state(&mut self, archive: &mut dyn Archive) -> Result<(), StateError> {
        if !self.config().follow.on {
            return Ok(());
        }
        let before = follow::sides(self.config());
        let (mut sides, mut full) = (before, self.is_full());
        archive.value("box", &mut sides)?;
        archive.flag("full", &mut full)?;
        if sides != before {
            let dims = Dims::new(follow::lengths(sides)).ok();
            let config = dims.map(|dims| Config { dims, ..self.config().clone() });
            let bytes = config.map_or(u64::MAX, |config| self.memory_of(&config));
            let ranks = self.ranks().size();
            let other = |error: SolverError| StateError::Io(std::io::Error::other(error));
            refuse_thin_box(follow::lengths(sides)[2], ranks).map_err(other)?;
            room::probe(bytes / ranks as u64, "the solver").map_err(|error| other(error.into()))?;
            self.remake(sides);
        }
        self.set_full(full);
        Ok(())
    }

    /// Captures the state at this instant.
    pub fn capture(&self) -> State {
        self.capture_over(None)
    }

    /// As [`capture`](Self::capture), in the memory of an older state, which takes a fraction of the time. Destructures the fields as
    /// `Saved::state` does: a forgotten one is a compile error.
    pub fn capture_over(&self, old: Option<State>) -> State {
        let Fields {
            layout: _,
            walls: _,
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
            budget,
            sweeps,
            past,
            pressure,
            projected,
            planes_crossed: _,
            across_openings: _,
            side_gains: _,
        } = self.fields();
        let mut old = old.map_or_else(Vec::new, State::into_fields);
        let mut pack = |field: &[f32]| old.pop().unwrap_or_default().over(field);
        self.pool().install(|| State {
            config: self.config().clone(),
            start: self.start(),
            full: self.is_full(),
            stats: self.stats().clone(),
            disturbed: *disturbed,
            velocity: velocity.each_ref().map(|field| pack(field)),
            scalars: pack(scalars.as_flattened()),
            pressure: projector.pressure().map(|halves| halves.each_ref().map(|half| pack(half))),
            solids: self.solids().to_vec(),
            standing: obstacles.as_ref().map(|obstacles| obstacles.standing()),
            fine_standing: detail.as_ref().and_then(|d| d.obstacles.as_ref()).map(|o| o.standing()),
            past: past.as_ref().zip(pressure.as_ref()).map(|(past, pressure)| {
                let [u, v, w] = advected;
                ([u, v, w, pressure].map(|field| pack(field)), past.dt)
            }),
            projected: *projected,
            budget: *budget,
            swirls: detail.as_ref().and_then(|detail| detail.swirls.as_ref()).map(|swirls| {
                (swirls.phase, swirls.moved.each_ref().map(|moved| pack(moved.as_flattened())))
            }),
            backwards: sweeps.as_ref().is_some_and(|sweeps| sweeps.backwards),
            not_finite: self.not_finite.clone(),
        })
    }

    /// Restores a captured state. Parameters, sources and forces are not changed.
    ///
    /// # Errors
    /// If the state belongs to another [`Config`]; threads do not matter. Nothing is changed then.
    pub fn restore(&mut self, state: &State) -> Result<(), SolverError> {
        let Config { threads, dims, origin, .. } = *self.config();
        let same = match state.config.follow.on {
            true => Config { threads, dims, origin, ..state.config.clone() },
            false => Config { threads, ..state.config.clone() },
        };
        if same != *self.config() || state.start != self.start() {
            return Err(SolverError::OtherConfig);
        }
        if (state.config.dims, state.config.origin) != (dims, origin) {
            room::probe(self.memory_of(&state.config), "the solver")?;
            self.remake(follow::sides(&state.config));
        }
        self.set_full(state.full);
        if self.solids() != state.solids {
            self.set_solids(state.solids.clone())?;
        }
        let pool = self.pool().clone();
        pool.install(|| {
            let fields = self.fields_mut();
            let Fields { layout, detail, obstacles, projector, .. } = fields;
            let known = detail.as_mut().zip(state.fine_standing.as_ref()).and_then(|(detail, standing)| {
                detail.stand(standing);
                detail.cut_faces(*layout)
            });
            if let (Some(obstacles), Some(standing)) = (obstacles, &state.standing) {
                obstacles.stand(standing, known);
                projector.set_cuts(&obstacles.voxels.cuts);
            }
            for (field, packed) in fields.velocity.iter_mut().zip(&state.velocity) {
                packed.unpack(field.as_mut_slice());
            }
            state.scalars.unpack(fields.scalars.as_flattened_mut());
            let halves: Option<&mut Halves> = fields.projector.pressure_mut();
            for (half, packed) in halves.into_iter().flatten().zip(state.pressure.iter().flatten()) {
                packed.unpack(half.as_mut_slice());
            }
            fields.bricks.forget();
            fields.set_time(state.stats.time);
            fields.disturbed = state.disturbed;
            fields.forget_pressure();
            if let (Some(past), Some(pressure), Some((packed, dt))) =
                (&mut fields.past, &mut fields.pressure, &state.past)
            {
                let kept = fields.advected.iter_mut().chain([pressure]);
                kept.zip(packed).for_each(|(field, packed)| packed.unpack(field));
                past.dt = *dt;
            }
            fields.projected = state.projected;
            fields.budget = state.budget;
            let Fields { layout, walls, detail, .. } = fields;
            if let Some(detail) = detail {
                detail.keep_swirls(state.swirls.is_some(), *layout, walls);
                if let (Some(swirls), Some((phase, moved))) = (&mut detail.swirls, &state.swirls) {
                    swirls.phase = *phase;
                    let fields = swirls.moved.iter_mut().zip(moved);
                    fields.for_each(|(field, packed)| packed.unpack(field.as_flattened_mut()));
                }
            }
            if let Some(sweeps) = &mut fields.sweeps {
                sweeps.backwards = state.backwards;
            }
        });
        self.set_stats(state.stats.clone());
        self.not_finite = state.not_finite.clone();
        Ok(())
    }
}

/// Name of the first value of a state.
const CONFIGURATION: &str = "configuration";

/// Hash (FNV-1a) of all that the fields of a state depend on: the configuration with the box at the start, without the threads.
fn fingerprint(solver: &Solver) -> u64 {
    let (origin, dims) = solver.start();
    let config = Config { threads: 0, origin, dims, ..solver.config().clone() };
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{config:?}").bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::{Advection, BoundaryCondition, Dab, Integrator, Params, Projection, Shape, Slip};

    fn config() -> Config {
        let mut config = Config::new(Dims::new([20, 24, 18]).unwrap(), 0.05);
        config.sides[1][1] = BoundaryCondition::Open;
        config.threads = 2;
        config
    }

    fn params() -> Params {
        Params { viscosity: 1e-3, conduction: 1e-3, vorticity: 0.5, ..Params::default() }
    }

    /// A moving ball and a spinning plank.
    fn solids() -> Vec<Solid> {
        let keyframes = vec![(0.0, [0.3, 0.5, 0.45]), (2.0, [0.7, 0.6, 0.45])];
        let ball = Solid { keyframes, ..Solid::new(Shape::Sphere { radius: 0.12 }, [0.0; 3]) };
        let plank = Solid {
            spin: [0.0, 2.0, 0.0],
            slip: Slip::None,
            ..Solid::new(Shape::Box { size: [0.3, 0.1, 0.1] }, [0.5, 0.9, 0.45])
        };
        vec![ball, plank]
    }

    fn painted(config: &Config, solids: &[Solid]) -> Solver {
        let mut solver = Solver::new(config.clone(), params(), vec![]).unwrap();
        solver.set_solids(solids.to_vec()).unwrap();
        paint(&mut solver, 0.3);
        solver
    }

    fn paint(solver: &mut Solver, y: f32) {
        let dab = Dab {
            center: [0.5, y, 0.45],
            radius: 0.2,
            add: [2.0, 1.0, 0.0, 80.0],
            push: [0.3, 1.0, 0.1],
            erase: 0.0,
        };
        solver.dab(&dab).unwrap();
    }

    fn advance(solver: &mut Solver, steps: usize) {
        for _ in 0..steps {
            solver.step(0.04).unwrap();
        }
    }

    /// All results of a step as bits, without wall times.
    fn bits(solver: &Solver) -> (Vec<u32>, StepStats, Vec<[f64; 3]>) {
        let fields = solver.velocity().iter().flatten().chain(solver.scalars().as_flattened());
        let stats = StepStats { stages: Default::default(), ..solver.stats().clone() };
        (fields.map(|x| x.to_bits()).collect(), stats, solver.solid_forces())
    }

    fn check_same_future(config: &Config, solids: &[Solid], what: &str) {
        let mut unbroken = painted(config, solids);
        advance(&mut unbroken, 3);
        let state = unbroken.capture();
        let then = bits(&unbroken);
        advance(&mut unbroken, 3);
        // Restored into the same solver, and into a new one.
        let future = bits(&unbroken);
        unbroken.restore(&state).unwrap();
        assert!(bits(&unbroken) == then, "{what}: not back where it was");
        let mut fresh = Solver::new(config.clone(), params(), vec![]).unwrap();
        fresh.restore(&state).unwrap();
        for (solver, which) in [(&mut unbroken, "the same solver"), (&mut fresh, "a new solver")] {
            advance(solver, 3);
            assert!(bits(solver) == future, "{what}: another future in {which}");
        }
    }

    #[test]
    fn a_restored_state_has_the_same_future_with_every_advection() {
        for advection in Advection::ALL {
            for solids in [vec![], solids()] {
                let config = Config { advection, ..config() };
                check_same_future(&config, &solids, &format!("{advection:?}, {} solids", solids.len()));
            }
        }
    }

    #[test]
    fn a_restored_state_has_the_same_future_with_every_projection() {
        for projection in [Projection::Multigrid, Projection::GaussSeidel { sweeps: 20 }] {
            check_same_future(&Config { projection, ..config() }, &[], &format!("{projection:?}"));
        }
        for integrator in [Integrator::Reflection, Integrator::Trapezoid] {
            for advection in [Advection::Cubic, Advection::Conservative] {
                let config = Config { integrator, advection, ..config() };
                let what = format!("{integrator:?}, {advection:?}");
                check_same_future(&config, &[], &what);
                check_same_future(&config, &solids(), &format!("{what} with solids"));
            }
        }
    }

    #[test]
    fn a_state_between_a_dab_and_a_step_keeps_the_push() {
        let mut unbroken = painted(&config(), &[]);
        advance(&mut unbroken, 1);
        paint(&mut unbroken, 0.6);
        let state = unbroken.capture();
        advance(&mut unbroken, 2);
        let mut other = painted(&config(), &solids());
        other.restore(&state).unwrap();
        assert!(other.solids().is_empty());
        advance(&mut other, 2);
        assert!(bits(&other) == bits(&unbroken));
    }

    #[test]
    fn a_restored_state_undoes_a_clear() {
        let mut solver = painted(&config(), &solids());
        advance(&mut solver, 2);
        let (state, before) = (solver.capture(), bits(&solver));
        solver.clear();
        assert_eq!(solver.stats().time, 0.0);
        solver.restore(&state).unwrap();
        assert!(bits(&solver) == before);
        assert_eq!(solver.stats().step, 2);
    }

    #[test]
    fn a_state_of_another_box_is_rejected() {
        let state = painted(&config(), &[]).capture();
        let mut other = config();
        other.sides[1][1] = BoundaryCondition::Closed;
        let mut other = Solver::new(other, params(), vec![]).unwrap();
        assert!(matches!(other.restore(&state), Err(SolverError::OtherConfig)));
        let threads = Config { threads: 1, ..config() };
        Solver::new(threads, params(), vec![]).unwrap().restore(&state).unwrap();
    }
}
