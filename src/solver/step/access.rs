//! Access of programs to a solver between steps.

use super::{Solver, finite, offset_by};
use crate::grid::{Faces, Layout};
use crate::room::huge_pages;
use crate::solver::forces::external::Force;
use crate::solver::invalid_value::InvalidValue;
use crate::solver::sides::profile::Profile;
use crate::solver::solids::Obstacles;
use crate::solver::sources::{self, Fill, Source};
use crate::solver::storage::halt::Halt;
use crate::solver::{
    BoundaryCondition, Config, Params, Projection, SCALAR_LIMIT, SPEED_LIMIT, Solid, SolidPose, SolverError,
    StepStats,
};

impl Solver {
    /// Configuration it was built from. In a box that follows its smoke `dims` and `origin` are those of the present box.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Parameters of the model.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Changes the parameters from the next step on.
    ///
    /// # Errors
    /// [`SolverError::Invalid`] if a parameter is [invalid](Params::problem); the present ones stay.
    pub fn set_params(&mut self, params: Params) -> Result<(), SolverError> {
        refuse(params.problem())?;
        self.params = params;
        Ok(())
    }

    /// The sources.
    pub fn sources(&self) -> &[Source] {
        self.sources.list()
    }

    /// Changes the sources from the next step on.
    ///
    /// # Errors
    /// [`SolverError::Invalid`] if a source is [invalid](Source::problem); the present ones stay.
    pub fn set_sources(&mut self, sources: Vec<Source>) -> Result<(), SolverError> {
        refuse(sources.iter().find_map(Source::problem))?;
        let Self { sources: old, pool, .. } = self;
        pool.install(|| old.set(sources));
        Ok(())
    }

    /// Lets sides vary in place and time from now on. Their constants must be 0 where a profile gives a value.
    ///
    /// In a box without an open side the inflows must balance at each instant. If they do not, no flow satisfies them, and
    /// [`StepStats::warning`] says so.
    ///
    /// # Errors
    /// [`SolverError::Invalid`] for a side that the box does not have or that does [not take](Profile::problem) a quantity; the present
    /// profiles stay.
    pub fn set_profiles(&mut self, profiles: Vec<Profile>) -> Result<(), SolverError> {
        refuse(profiles.iter().find_map(|profile| profile.problem(&self.config)))?;
        if profiles.is_empty() && self.profiles.is_empty() {
            return Ok(());
        }
        let (fields, time, pool) = (&mut self.fields, self.stats.time, self.pool.clone());
        pool.install(|| {
            fields.set_profiles(&self.config, &profiles);
            fields.set_time(time);
            fields.walls.fill_velocity(&mut fields.velocity);
            fields.fill_scalars();
        });
        fields.disturbed = true;
        self.profiles = profiles;
        Ok(())
    }

    /// The external forces.
    pub fn forces(&self) -> &[Force] {
        self.external.list()
    }

    /// Changes the external forces from the next step on.
    ///
    /// # Errors
    /// [`SolverError::Invalid`] if a force is [invalid](Force::problem); the present ones stay.
    pub fn set_forces(&mut self, forces: Vec<Force>) -> Result<(), SolverError> {
        refuse(forces.iter().find_map(Force::problem))?;
        let Self { external, pool, .. } = self;
        pool.install(|| external.set(forces));
        Ok(())
    }

    /// Statistics of the last step.
    pub fn stats(&self) -> &StepStats {
        &self.stats
    }

    /// Memory layout of [`velocity`](Self::velocity) and [`pressure`](Self::pressure).
    pub fn layout(&self) -> Layout {
        self.fields.layout
    }

    /// Memory layout of [`scalars`](Self::scalars): that of [`layout`](Self::layout), with [`Config::detail`] times as many cells along
    /// each axis.
    pub fn smoke_layout(&self) -> Layout {
        self.fields.smoke_layout()
    }

    /// u, v, w on the faces \[m/s\], in the layout of [`layout`](Self::layout).
    pub fn velocity(&self) -> &Faces {
        &self.fields.velocity
    }

    /// Red, green, blue \[-\] and temperature excess \[K\] at cell centres, in the layout of
    /// [`smoke_layout`](Self::smoke_layout).
    pub fn scalars(&self) -> &[[f32; 4]] {
        &self.fields.scalars
    }

    /// Keeps the pressure of each step from now on, for [`pressure`](Self::pressure); one more field.
    pub fn keep_pressure(&mut self) {
        let size = self.fields.layout.size();
        self.fields.pressure.get_or_insert_with(|| huge_pages::favoured(vec![0.0; size]));
    }

    /// The pressure over the air's density p/ρ at cell centres \[m²/s²\], in the layout of [`layout`](Self::layout): the mean
    /// over the last substep, 0 before the first step and inside solids. Without an open side only its differences count.
    /// `None` unless it is [kept](Self::keep_pressure).
    pub fn pressure(&self) -> Option<&[f32]> {
        self.fields.pressure.as_deref()
    }

    /// Component `c` of the velocity at the centre of the cell at position `at` \[m/s\]: the mean of its two faces.
    pub fn velocity_at_center(&self, c: usize, at: usize) -> f32 {
        let face = &self.fields.velocity[c];
        0.5 * (face[at] + face[at + self.fields.layout.strides()[c]])
    }

    /// Sets all fields: `velocity(component, [x, y, z])` at each face \[m/s\], `scalars([x, y, z])` at each
    /// centre, positions in metres. The divergence of the velocity is removed, unless the flow is frozen.
    ///
    /// Values are clamped to ±[`SCALAR_LIMIT`] and ±[`SPEED_LIMIT`] cells per second. Infinite values and NaN stay: the next step returns
    /// [`SolverError::NotFinite`] with the first of them.
    pub fn fill(
        &mut self,
        velocity: impl Fn(usize, [f32; 3]) -> f32 + Send + Sync,
        scalars: impl Fn([f32; 3]) -> [f32; 4] + Send + Sync,
    ) {
        let (fields, h, pool) = (&mut self.fields, self.config.h, self.pool.clone());
        let corner = self.config.corner();
        let at = move |p: [f32; 3]| [0, 1, 2].map(|a| p[a] + corner[a]);
        fields.forget_swirls();
        pool.install(|| {
            let speed = |component, p| within(velocity(component, at(p)), SPEED_LIMIT * h);
            fields.fill(h, speed, |p| scalars(at(p)).map(|x| within(x, SCALAR_LIMIT)));
        });
        self.mend();
        // Checked before the projection spreads it.
        self.not_finite = finite::find_initial(&self.fields);
        self.fields.side_gains.forget();
        self.project(&Halt::never());
        self.measure();
    }

    /// Fills regions with smoke, heat and motion; no time passes. Later fills overwrite earlier ones.
    ///
    /// # Errors
    /// [`SolverError::Invalid`] if a fill is [invalid](Fill::problem); nothing is filled.
    pub fn fill_regions(&mut self, fills: &[Fill]) -> Result<(), SolverError> {
        refuse(fills.iter().find_map(Fill::problem))?;
        let (fields, pool) = (&mut self.fields, self.pool.clone());
        let grids = Self::grids(&self.config, fields.walls.ranks());
        pool.install(|| {
            fields.bricks.forget();
            for fill in fills {
                sources::fill(&grids, fill, SCALAR_LIMIT, &mut fields.scalars, &mut fields.velocity);
            }
            fields.empty_solids();
            fields.fill_scalars();
        });
        if self.fields.disturbed || fills.iter().any(|fill| fill.velocity.is_some()) {
            self.project(&Halt::never());
        }
        self.measure();
        Ok(())
    }

    /// The solids.
    pub fn solids(&self) -> &[Solid] {
        &self.solids
    }

    /// Present poses of the solids.
    pub fn poses(&self) -> Vec<SolidPose> {
        let (poses, corner) = (self.fields.obstacles.iter().flat_map(|o| &o.poses), self.config.corner());
        let shown =
            |pose: &SolidPose| SolidPose { position: offset_by(pose.position, corner, 1.0), ..pose.clone() };
        poses.map(shown).collect()
    }

    /// Force on each solid \[m⁴/s²\], per unit of the air's density: the mean momentum per second that
    /// pressure and viscosity took from the air in the last step. Along an axis of one cell it is the force
    /// on the depth of one cell.
    pub fn solid_forces(&self) -> Vec<[f64; 3]> {
        self.per_second(|obstacles| &obstacles.momentum().linear)
    }

    /// The torque on each solid about its position \[m⁵/s²\], from all that makes up [`solid_forces`](Self::solid_forces).
    pub fn solid_torques(&self) -> Vec<[f64; 3]> {
        self.per_second(|obstacles| &obstacles.momentum().angular)
    }

    /// The pressure part of [`solid_forces`](Self::solid_forces) \[m⁴/s²\]; the rest is viscous.
    pub fn solid_pressures(&self) -> Vec<[f64; 3]> {
        self.per_second(Obstacles::pressure_forces)
    }

    /// Heat that each solid gives to the air \[K m³/s\], the mean over the last step: what crosses its surface where it holds a
    /// temperature. Along an axis of one cell it is that of the depth of one cell.
    pub fn solid_heat(&self) -> Vec<f64> {
        let obstacles = match &self.fields.detail {
            Some(detail) => &detail.obstacles,
            None => &self.fields.obstacles,
        };
        let (h, dt) = (f64::from(self.config.smoke_h()), f64::from(self.stats.dt));
        let per_second = if dt > 0.0 { h.powi(3) / dt } else { 0.0 };
        obstacles.iter().flat_map(|obstacles| obstacles.heat()).map(|heat| heat * per_second).collect()
    }

    /// Heat that each side gives to the air by conduction \[K m/s\], the mean over it and over the last step, as `[axis][end]`: what
    /// diffusion has brought through it. None if no step has diffused heat since the fields were set.
    pub fn side_heat(&self) -> Option<[[f64; 2]; 3]> {
        let per_second = self.per_second_and_cell(self.config.smoke_h());
        self.fields.side_gains.heat().map(|heat| heat.map(|ends| ends.map(|gain| gain * per_second)))
    }

    /// Stress of the air on each side over the air's density \[m²/s²\], the mean over it and over the last step, as
    /// `[axis][end][component]`: the momentum that viscosity has brought through it. None if no step has diffused the velocity since
    /// the fields were set.
    pub fn side_shear(&self) -> Option<[[[f64; 3]; 2]; 3]> {
        let per_second = self.per_second_and_cell(self.config.h);
        let stress = |gains: [f64; 3]| gains.map(|gain| -gain * per_second);
        self.fields.side_gains.momentum().map(|momentum| momentum.map(|ends| ends.map(stress)))
    }

    /// Factor from what a cell of edge `h` has gained in the last step to a flux through one of its faces \[m/s\].
    fn per_second_and_cell(&self, h: f32) -> f64 {
        let dt = f64::from(self.stats.dt);
        if dt > 0.0 { f64::from(h) / dt } else { 0.0 }
    }

    /// Velocity across a face of `component`, given by its indices, as the mean over the whole face \[m/s\].
    /// The part of the face inside a solid moves with the solid.
    pub fn mean_over_face(&self, component: usize, face: [usize; 3]) -> f32 {
        let mut face = face.map(|index| index as isize);
        // On a periodic axis the last face is the first.
        if self.config.sides[component][0] == BoundaryCondition::Periodic {
            face[component] %= self.config.dims.array()[component] as isize;
        }
        let [i, j, k] = face;
        let at = self.fields.layout.at(i, j, k);
        let value = self.fields.velocity[component][at];
        let mean = |obstacles: &Obstacles| obstacles.cuts_at(face[2]).mean(component, at, value);
        self.fields.obstacles.as_ref().map_or(value, mean)
    }

    /// Momentum that solids gained in the last step, per second.
    fn per_second(&self, momentum: impl Fn(&Obstacles) -> &[[f64; 3]]) -> Vec<[f64; 3]> {
        let (h, dt) = (f64::from(self.config.h), f64::from(self.stats.dt));
        let per_second = if dt > 0.0 { h.powi(3) / dt } else { 0.0 };
        let momentum = self.fields.obstacles.as_ref().map_or(&[][..], momentum);
        momentum.iter().map(|each| each.map(|velocity| velocity * per_second)).collect()
    }

    /// Replaces the solids. Smoke inside them is pushed to the nearest air. The next step begins with a projection, and is of first order
    /// in time, unless these solids are there already.
    ///
    /// # Errors
    /// If a solid is invalid, if the flow is frozen, or if the projection is [`Projection::Direct`]: the last
    /// two allow no solids.
    pub fn set_solids(&mut self, solids: Vec<Solid>) -> Result<(), SolverError> {
        refuse(solids.iter().find_map(|solid| solid.problem().or_else(|| self.outruns(solid))))?;
        match self.config {
            _ if solids.is_empty() => {}
            Config { frozen: true, .. } => return Err(SolverError::FrozenAroundSolids),
            Config { projection: Projection::Direct, .. } => return Err(SolverError::DirectAroundSolids),
            _ => {}
        }
        if solids != self.solids {
            self.solids = solids;
            self.place_solids();
        }
        Ok(())
    }

    /// The error of a solid whose spin moves its surface faster than [`SPEED_LIMIT`].
    fn outruns(&self, solid: &Solid) -> Option<InvalidValue> {
        let spin = solid.spin.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let speed = spin * f64::from(solid.scale) * f64::from(solid.shape.bounding_radius());
        let most = SPEED_LIMIT * self.config.h;
        InvalidValue::unless_within("solid", "surface speed by its spin", speed as f32, [0.0, most])
    }

    /// Changes the solids from now on. If they differ from the present ones only in positions, rotations and
    /// keyframes, they are moved there, which takes a fraction of the time of [`Self::set_solids`].
    ///
    /// A body that jumps to another place pushes no air: it has no velocity. To drive a body from step to step, give it keyframes that
    /// begin where it is and go on beyond the step, since a body moves with its mean velocity around the end of a step:
    ///
    /// ```
    /// # use updraft::solver::Solid;
    /// /// Moves `body` from `here` to `there` in the step of `dt` that begins at `time`.
    /// fn drive(body: &mut Solid, [here, there]: [[f32; 3]; 2], time: f32, dt: f32) {
    ///     let beyond = [0, 1, 2].map(|a| 2.0 * there[a] - here[a]);
    ///     body.keyframes = vec![(time, here), (time + dt, there), (time + 2.0 * dt, beyond)];
    /// }
    /// ```
    ///
    /// # Errors
    /// As of [`Self::set_solids`].
    pub fn guide_solids(&mut self, solids: Vec<Solid>) -> Result<(), SolverError> {
        let present = self.solids();
        let same_bodies =
            present.len() == solids.len() && present.iter().zip(&solids).all(|(a, b)| a.is_body_of(b));
        if !same_bodies
            || solids.is_empty()
            || solids.iter().any(|solid| solid.problem().or_else(|| self.outruns(solid)).is_some())
        {
            return self.set_solids(solids);
        }
        self.solids = solids;
        let placed = self.placed_solids();
        let Self { fields, pool, stats, .. } = self;
        let (pool, time, dt) = (pool.clone(), stats.time, stats.dt);
        pool.install(|| fields.guide_solids(placed, time, dt));
        Ok(())
    }
}

/// Clamps a finite value to ±`limit`. An infinite one stays, to be reported with its place.
fn within(x: f32, limit: f32) -> f32 {
    if x.is_finite() { x.clamp(-limit, limit) } else { x }
}

/// Fails with `problem` if there is one.
pub(super) fn refuse(problem: Option<InvalidValue>) -> Result<(), SolverError> {
    problem.map_or(Ok(()), |problem| Err(problem.into()))
}
