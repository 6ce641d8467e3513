#![doc = include_str!("../../docs/scene.md")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::foreign;
use crate::look::{Camera, Look};
use crate::probe::Probe;
use crate::solver::{Config, Fill, Force, Params, Solid, Solver, Source};

pub mod builtin;
mod document;
pub mod edit;
mod error;
mod forces;
mod formula;
mod given;
mod initial;
pub mod memory;
mod probes;
mod resolve;
mod shapes;
mod solids;
mod sources;
mod text;
mod value;
mod write;

pub(crate) use error::closest;
pub use error::{InitialError, Problem, SceneError};
pub use initial::Initial;

/// A checked scene: all that a run and its pictures are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The name of the built-in scene, or of the file without its extension.
    pub name: String,
    /// What the solver is built from.
    pub config: Config,
    /// The constants of the model.
    pub params: Params,
    /// What gives off smoke and heat.
    pub sources: Vec<Source>,
    /// Wind and the like.
    pub forces: Vec<Force>,
    /// Bodies in the flow.
    pub solids: Vec<Solid>,
    /// How time is cut into frames.
    pub time: Time,
    /// Everything that decides the look.
    pub look: Look,
    /// Where the eye is.
    pub camera: Camera,
    /// Width and height of pictures \[px\].
    pub size: [u32; 2],
    /// The fields at the start, if the box does not start empty and at rest.
    pub initial: Initial,
    /// What is filled with smoke at the start, over the fields of `initial`.
    pub fills: Vec<Fill>,
    /// What is measured while the scene runs.
    pub probes: Vec<Probe>,
    /// What it was read from.
    pub origin: Arc<Origin>,
}

/// What a scene was read from. Scenes are the same wherever they come from, so that any two of these are equal.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The text of the file or of the built-in scene.
    pub text: String,
    /// The overrides of the command line, `key=value`. They act on this run and never get into the file.
    pub overrides: Vec<String>,
    /// Files that it names are relative to this folder.
    pub folder: PathBuf,
    /// The path of the scene file and what it held, unless the scene came with updraft.
    pub file: Option<(PathBuf, String)>,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// How time is cut into frames, and frames into steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// Frames per simulated second; frame n is the state at n / frame_rate.
    pub frame_rate: f32,
    /// Length of a step \[s\], if it is fixed; a frame then takes as few equal steps as are no longer than this. Else a
    /// frame is one step, cut into substeps as the flow needs.
    pub step: Option<f32>,
}

impl Default for Time {
    fn default() -> Self {
        Self { frame_rate: 24.0, step: None }
    }
}

impl Time {
    /// The steps that make up one frame: how many, and how long each is \[s\].
    pub fn steps_per_frame(&self) -> (u32, f32) {
        let frame = 1.0 / self.frame_rate;
        // Rounding must not cut a frame once more that takes a whole number of steps.
        let count = self.step.map_or(1, |step| (frame / step - 1e-3).ceil().max(1.0) as u32);
        (count, frame / count as f32)
    }
}

impl Scene {
    /// The built-in scene or scene file `path_or_builtin`, with `key=value` overrides.
    ///
    /// A built-in name wins over a file of the same name; write `./plume` for the file.
    pub fn load(path_or_builtin: &str, overrides: &[String]) -> Result<Self, SceneError> {
        let file = read(path_or_builtin)?;
        let text = text::Text::new(path_or_builtin, &file, overrides);
        let path = Path::new(path_or_builtin);
        let name = path.file_stem().map_or("scene".into(), |stem| stem.to_string_lossy().into_owned());
        let mut scene = resolve::scene(name, &text, path.parent().unwrap_or(Path::new("")))?;
        if builtin::text(path_or_builtin).is_none() {
            Arc::make_mut(&mut scene.origin).file = Some((path.to_owned(), file));
        }
        Ok(scene)
    }

    /// The scene that `text` describes, called `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, SceneError> {
        Self::parse_with(name, text, &[])
    }

    /// The same, with `key=value` overrides.
    pub fn parse_with(name: &str, text: &str, overrides: &[String]) -> Result<Self, SceneError> {
        Ok(resolve::scene(name.to_owned(), &text::Text::new(name, text, overrides), Path::new(""))?)
    }

    /// An estimate of the memory that a run takes, in bytes.
    pub fn memory(&self) -> u64 {
        memory::estimate(&self.config, !self.solids.is_empty()) + memory::picture(self.size)
    }

    /// Size of the box \[m\].
    pub fn extent(&self) -> [f32; 3] {
        self.config.dims.array().map(|n| n as f32 * self.config.h)
    }

    /// A solver at the start of this scene.
    ///
    /// # Errors
    /// [`SceneError::Solver`] if the solver refuses the scene, [`SceneError::Initial`] if its fields cannot be read or are
    /// out of range.
    pub fn solver(&self) -> Result<Solver, SceneError> {
        let mut solver = self.empty_solver()?;
        if !self.initial.is_empty() {
            initial::fill(&mut solver, &self.initial)?;
        }
        if !self.fills.is_empty() {
            solver.fill_regions(&self.fills);
        }
        Ok(solver)
    }

    /// A solver for this scene whose fields are to come from elsewhere: air at rest around the solids.
    pub fn empty_solver(&self) -> Result<Solver, crate::solver::SolverError> {
        let mut solver = Solver::new(self.config.clone(), self.params.clone(), self.sources.clone())?;
        if !self.solids.is_empty() {
            solver.set_solids(self.solids.clone())?;
        }
        solver.set_forces(self.forces.clone());
        Ok(solver)
    }
}

/// The text of a built-in scene or a file.
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
mod tests;
