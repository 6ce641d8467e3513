//! `Scene`: a checked scene and the text and settings that it came from.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{scene_error, settings, solver::Solver};

/// A scene: box, fluid, sources, solids, forces, light and camera.
///
/// Scene(name="plume", **settings): a built-in scene (see `scenes()`) or the path of a TOML file. Settings are its keys,
/// as dictionaries: Scene("plume", domain={"cells": [64, 96, 64]}, fluid={"vorticity": 0.5}).
#[pyclass(frozen, module = "updraft")]
#[derive(Clone)]
pub struct Scene {
    text: Text,
    overrides: Vec<String>,
    pub checked: updraft::Scene,
}

/// Where the text of a scene comes from.
#[derive(Clone)]
enum Text {
    Named(String),
    Given(String),
}

impl Scene {
    fn new(text: Text, overrides: Vec<String>) -> PyResult<Self> {
        let checked = match &text {
            Text::Named(name) => updraft::Scene::load(name, &overrides),
            Text::Given(text) => updraft::Scene::parse_with("text", text, &overrides),
        };
        Ok(Self { checked: checked.map_err(scene_error)?, text, overrides })
    }

    /// This scene with more settings.
    pub fn with(&self, more: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let Some(more) = more else { return Ok(self.clone()) };
        let more = settings::overrides(more)?;
        Self::new(self.text.clone(), self.overrides.iter().cloned().chain(more).collect())
    }
}

#[pymethods]
impl Scene {
    #[new]
    #[pyo3(signature = (name=PathBuf::from("plume"), **settings), text_signature = "(name='plume', **settings)")]
    fn load(name: PathBuf, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let overrides = settings.map(settings::overrides).transpose()?.unwrap_or_default();
        Self::new(Text::Named(name.to_string_lossy().into_owned()), overrides)
    }

    /// parse(text, **settings): a scene from TOML.
    #[staticmethod]
    #[pyo3(signature = (text, **settings))]
    fn parse(text: String, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let overrides = settings.map(settings::overrides).transpose()?.unwrap_or_default();
        Self::new(Text::Given(text), overrides)
    }

    /// replace(**settings): this scene with other settings.
    #[pyo3(name = "replace", signature = (**settings))]
    fn replace(&self, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        self.with(settings)
    }

    /// Name of the built-in scene, or of the file without its extension.
    #[getter]
    fn name(&self) -> &str {
        &self.checked.name
    }

    /// Cells along x, y, z.
    #[getter]
    fn cells(&self) -> (usize, usize, usize) {
        self.checked.config.dims.array().into()
    }

    /// Edge of a cell [m].
    #[getter]
    fn voxel(&self) -> f32 {
        self.checked.config.h
    }

    /// Size of the box [m].
    #[getter]
    fn extent(&self) -> (f32, f32, f32) {
        self.checked.extent().into()
    }

    /// Frames per simulated second.
    #[getter]
    fn frame_rate(&self) -> f32 {
        self.checked.time.frame_rate
    }

    /// Width and height of pictures [px].
    #[getter]
    fn size(&self) -> (u32, u32) {
        self.checked.size.into()
    }

    /// Estimated memory of a run [bytes].
    #[getter]
    fn memory(&self) -> u64 {
        self.checked.memory()
    }

    /// solver(threads=0): a solver at the start of this scene; 0 threads: one for each processor.
    #[pyo3(signature = (threads=None))]
    fn solver(&self, threads: Option<usize>) -> PyResult<Solver> {
        Solver::start(self.clone(), threads)
    }

    fn __repr__(&self) -> String {
        let [nx, ny, nz] = self.checked.config.dims.array();
        format!("<Scene {}: {nx} x {ny} x {nz} cells of {} m>", self.checked.name, self.checked.config.h)
    }
}

/// scenes(): names of the built-in scenes.
#[pyfunction]
pub fn scenes() -> Vec<&'static str> {
    updraft::scene::builtin::NAMES.to_vec()
}
