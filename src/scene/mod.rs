//! Scenes: from TOML to a checked [`Scene`], and from that to a solver.
//!
#![cfg_attr(doc, doc = include_str!("../../docs/scene.md"))]

use std::path::Path;
use std::sync::Arc;

use crate::comm::Comm;
use crate::field::Field;
use crate::foreign;
use crate::parameter::{SideName, Worded};
use crate::solver::{Config, Solid, SolidPose, Solver};

pub mod builtin;
mod camera_path;
mod checked_scene;
mod document;
pub mod edits;
mod environment_file;
mod field_values;
mod file_names;
mod force_tables;
mod formula;

mod initial;
mod light_tables;
pub mod memory;
mod origin;
mod override_keys;
mod probes;
mod read_document;
mod resolve;
mod save;
mod scene_error;
mod scene_text;

mod shapes;
pub mod share;
mod side_tables;
mod solid_tables;
mod source_tables;
mod value;

pub use camera_path::{CameraKey, CameraPath};
pub use checked_scene::{Scene, Time};
pub use initial::Initial;
pub use origin::Origin;
pub use override_keys::{OverrideKey, override_keys};
pub(crate) use scene_error::closest;
pub use scene_error::{InitialError, Problem, SceneError};
pub use share::Share;
pub use side_tables::SideFormulas;

impl Scene {
    /// Loads the built-in scene or scene file `path_or_builtin`, with `key=value` overrides.
    ///
    /// A built-in name wins over a file of the same name; write `./plume` for the file.
    pub fn load(path_or_builtin: &str, overrides: &[String]) -> Result<Self, SceneError> {
        Self::load_shared(path_or_builtin, overrides, Share::default())
    }

    /// Loads as [`load`](Self::load) does, for a run that several ranks share: one that is too large for one
    /// machine may fit on several.
    pub fn load_shared(
        path_or_builtin: &str,
        overrides: &[String],
        share: Share,
    ) -> Result<Self, SceneError> {
        let file = read(path_or_builtin)?;
        let text = scene_text::Text::new(path_or_builtin, &file, overrides).shared(share);
        let path = Path::new(path_or_builtin);
        let name =
            path.file_stem().map_or("scene".into(), |stem| foreign::on_one_line(&stem.to_string_lossy()));
        let mut scene = resolve::scene(name, &text, path.parent().unwrap_or(Path::new("")))?;
        if builtin::text(path_or_builtin).is_none() {
            Arc::make_mut(&mut scene.origin).file = Some((path.to_owned(), file));
        }
        Ok(scene)
    }

    /// Parses the scene that `text` describes, called `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, SceneError> {
        Self::parse_with(name, text, &[])
    }

    /// Parses a scene with `key=value` overrides.
    pub fn parse_with(name: &str, text: &str, overrides: &[String]) -> Result<Self, SceneError> {
        Self::parse_shared(name, text, overrides, Share::default())
    }

    /// Parses as [`parse_with`](Self::parse_with) does, for a run that several ranks share.
    pub fn parse_shared(
        name: &str,
        text: &str,
        overrides: &[String],
        share: Share,
    ) -> Result<Self, SceneError> {
        let text = scene_text::Text::new(name, text, overrides).shared(share);
        Ok(resolve::scene(name.to_owned(), &text, Path::new(""))?)
    }

    /// Estimates the memory of a run \[bytes\].
    pub fn memory(&self) -> u64 {
        self.memory_in(&self.config)
    }

    /// Estimates the same in the box of another configuration \[bytes\].
    pub fn memory_in(&self, config: &Config) -> u64 {
        Share::default().memory(config, !self.solids.is_empty(), &self.params)
            + memory::picture(self.size)
            + self.shapes_memory()
            + self.look.environment.sphere.as_ref().map_or(0, |sphere| sphere.memory())
    }

    /// Estimates the memory of the pixels and weights of all shapes \[bytes\].
    fn shapes_memory(&self) -> u64 {
        let sources = self.sources.iter().map(|source| (&source.region, source.velocity.is_some()));
        let fills = self.fills.iter().map(|fill| (&fill.region, fill.velocity.is_some()));
        let forces = self.forces.iter().filter_map(|force| Some((force.within.as_ref()?, true)));
        let all = sources.chain(fills).chain(forces);
        all.map(|(region, drives)| region.memory(&region.box_around(&self.config), drives)).sum()
    }

    /// Returns the sources, and the regions filled at the start, that lie inside solids at rest: they have no
    /// effect.
    pub fn buried_shapes(&self) -> Vec<String> {
        let still = self.solids.iter().filter(|solid| solid.is_still());
        let still: Vec<SolidPose> = still.map(|solid| solid.pose(0.0, 0.0)).collect();
        if still.is_empty() {
            return vec![];
        }
        let sources = self.sources.iter().map(|source| &source.region).enumerate();
        let fills = self.fills.iter().map(|fill| &fill.region).enumerate();
        let shapes = sources
            .map(|(n, region)| (format!("source.{n}"), region))
            .chain(fills.map(|(n, region)| (format!("initial.smoke.{n}"), region)));
        let buried = shapes.filter(|(_, region)| region.is_within(&region.box_around(&self.config), &still));
        buried.map(|(name, _)| name).collect()
    }

    /// Returns the solids that are thinner than a cell along two of their axes. A plate closes faces of the grid at any thickness;
    /// a rod or a grain may lie between all corners and centres of the cells, and the air flows through it.
    pub fn unresolved_solids(&self) -> Vec<String> {
        let is_thin = |solid: &Solid| {
            let [low, high] = solid.shape.bounds();
            let mut edges = [0, 1, 2].map(|a| solid.scale * (high[a] - low[a]));
            edges.sort_by(f32::total_cmp);
            edges[1] < self.config.smoke_h()
        };
        let thin = self.solids.iter().enumerate().filter(|(_, solid)| is_thin(solid));
        thin.map(|(n, _)| format!("solid.{n}")).collect()
    }

    /// Returns whether solids fill the whole box at the start: the centres of all cells lie in one.
    pub fn has_no_air(&self) -> bool {
        let (dims, h) = (self.config.dims.array(), self.config.h);
        let solids: Vec<SolidPose> = self.solids.iter().map(|solid| solid.pose(0.0, 0.0)).collect();
        let is_solid = |cell: [usize; 3]| {
            let center = cell.map(|n| (n as f32 + 0.5) * h);
            solids.iter().any(|solid| solid.distance(center) < 0.0)
        };
        let cells = |a: usize, step: usize| (0..dims[a]).step_by(step);
        let fill = |step: usize| {
            cells(2, step).all(|k| cells(1, step).all(|j| cells(0, step).all(|i| is_solid([i, j, k]))))
        };
        // A few cells are tried first: almost always one of them is air.
        fill(8) && fill(1)
    }

    /// Returns the walls with a temperature that does not reach the air, each with the reason.
    pub fn idle_walls(&self) -> Vec<String> {
        let sides = SideName::ALL.as_flattened().iter().zip(self.config.held.as_flattened());
        let held = sides.filter(|(_, held)| held.is_some() && self.params.conduction == 0.0);
        held.map(|(side, _)| {
            format!(
                "domain.walls.{}: fluid.conduction is 0, so its temperature stays in the wall",
                side.word()
            )
        })
        .collect()
    }

    /// Returns the forces without an effect, each with the reason.
    pub fn idle_forces(&self) -> Vec<String> {
        let Self { config, params, forces, .. } = self;
        let lifts = params.heat_buoyancy != 0.0 || params.smoke.iter().any(|smoke| smoke.buoyancy != 0.0);
        let reasons = [
            (config.frozen && !forces.is_empty(), "[[force]]: solver.flow is \"frozen\", so no force acts"),
            (
                !config.frozen && lifts && params.up == [0.0; 3],
                "fluid.up is 0, so heat and smoke do not rise, whatever their buoyancy",
            ),
        ];
        reasons.into_iter().filter(|(is_idle, _)| *is_idle).map(|(_, why)| why.to_owned()).collect()
    }

    /// Returns the size of the box \[m\].
    pub fn extent(&self) -> [f32; 3] {
        self.config.dims.array().map(|n| n as f32 * self.config.h)
    }

    /// Makes a solver at the start of this scene.
    ///
    /// # Errors
    /// [`SceneError::Solver`] if the solver refuses the scene, [`SceneError::Initial`] if its fields cannot
    /// be read or are out of range.
    pub fn solver(&self) -> Result<Solver, SceneError> {
        self.solver_on(None)
    }

    /// Makes a solver as [`solver`](Self::solver) does, shared by the ranks of `comm` if there are any.
    ///
    /// # Errors
    /// Those of [`solver`](Self::solver), and a box that is too thin for so many ranks.
    pub fn solver_on(&self, comm: Option<Arc<dyn Comm>>) -> Result<Solver, SceneError> {
        for shape in self.buried_shapes() {
            tracing::warn!("{shape} lies inside a solid, where nothing comes out; move one of the two");
        }
        for solid in self.unresolved_solids() {
            tracing::warn!(
                "{solid} is thinner than a cell along two axes, so the air may flow through it; make it thicker, or the cells smaller"
            );
        }
        if self.has_no_air() {
            tracing::warn!("solids fill the box and no air is left; make one smaller or move it");
        }
        for wall in self.idle_walls() {
            tracing::warn!("{wall}; raise it, or leave the temperature out");
        }
        self.idle_forces().iter().for_each(|why| tracing::warn!("{why}"));
        let mut solver = self.empty_solver_on(comm)?;
        if !self.initial.is_empty() {
            initial::fill(&mut solver, &self.initial)?;
        }
        if !self.fills.is_empty() {
            solver.fill_regions(&self.fills)?;
        }
        if self.initial.is_empty() && self.fills.is_empty() {
            solver.settle();
        }
        Ok(solver)
    }

    /// Fails if this scene cannot be run on so many ranks.
    ///
    /// # Errors
    /// The reason, as from [`solver_on`](Self::solver_on).
    pub fn refuse_on_ranks(&self, ranks: usize) -> Result<(), crate::solver::SolverError> {
        crate::solver::refuse_on_ranks(&self.config, ranks)
    }

    /// Reads and checks the initial fields that are in a file. [`solver`](Self::solver) would fail in the
    /// same way.
    ///
    /// # Errors
    /// A value that is not finite or out of range, and a file that cannot be read.
    pub fn check_stored_fields(&self) -> Result<(), InitialError> {
        initial::check_values(&self.initial, &self.config)
    }

    /// Tries the formulas of the sides at a few instants up to `end` \[s\], because a run fails at a value
    /// out of range.
    ///
    /// # Errors
    /// The first such value, in words.
    pub fn check_sides_until(&self, end: f64) -> Result<(), String> {
        let instants = [0.1, 1.0, 10.0].into_iter().filter(|&time| time < end).chain([end]);
        let wrong = |time| side_tables::wrong_value(&self.side_formulas, &self.config, time);
        instants.into_iter().find_map(wrong).map_or(Ok(()), |wrong| Err(wrong.message))
    }

    /// Makes a solver for this scene without its initial fields, with air at rest around the solids. Use it
    /// to load a state.
    pub fn empty_solver(&self) -> Result<Solver, crate::solver::SolverError> {
        self.empty_solver_on(None)
    }

    /// Makes a solver as [`empty_solver`](Self::empty_solver) does, shared by the ranks of `comm` if there
    /// are any.
    pub fn empty_solver_on(&self, comm: Option<Arc<dyn Comm>>) -> Result<Solver, crate::solver::SolverError> {
        let mut solver =
            Solver::on_ranks(self.config.clone(), self.params.clone(), self.sources.clone(), comm)?;
        if !self.side_formulas.is_empty() {
            solver.set_profiles(self.side_formulas.iter().map(SideFormulas::profile).collect())?;
        }
        if !self.solids.is_empty() {
            solver.set_solids(self.solids.clone())?;
        }
        solver.set_forces(self.forces.clone())?;
        if self.probes.iter().any(|probe| probe.reads(Field::Pressure)) {
            solver.keep_pressure();
        }
        Ok(solver)
    }
}

/// Reads the text of a built-in scene or a file.
fn read(path_or_builtin: &str) -> Result<String, SceneError> {
    if let Some(text) = builtin::text(path_or_builtin) {
        return Ok(text.to_owned());
    }
    foreign::text(Path::new(path_or_builtin), foreign::TEXT).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => missing(path_or_builtin),
        _ => SceneError::Read { path: path_or_builtin.into(), source },
    })
}

fn missing(name: &str) -> SceneError {
    let hint = closest(name, builtin::NAMES.iter().copied());
    SceneError::Missing {
        name: name.to_owned(),
        known: builtin::NAMES.join(", "),
        hint: hint.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default(),
    }
}

#[cfg(test)]
mod object_tests;
#[cfg(test)]
mod refusal_tests;
#[cfg(test)]
mod start_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod word_tests;
