//! The Python module `updraft`: scenes, solvers, fields as NumPy arrays without a copy, pictures.
//!
//! `scene.rs` and `solver.rs` wrap the types of the crate. `array.rs` lends memory through Python's buffer
//! protocol. `settings.rs` turns keyword arguments into overrides of the scene's keys, so that Python has the
//! names, units, ranges and messages of `docs/scene.md`.

mod array;
mod scene;
mod settings;
mod solver;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The error of Python for one of a scene: files are `OSError`, everything else is `ValueError`.
fn scene_error(error: updraft::SceneError) -> PyErr {
    match error {
        updraft::SceneError::Missing { .. } | updraft::SceneError::Read { .. } => {
            PyOSError::new_err(error.to_string())
        }
        other => PyValueError::new_err(other.to_string()),
    }
}

/// The error of Python for one of a solver.
fn solver_error(error: updraft::SolverError) -> PyErr {
    let message = error.to_string();
    match error {
        updraft::SolverError::Invalid(_) => PyValueError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// Smoke in three dimensions.
#[pymodule]
fn _updraft(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scene::Scene>()?;
    module.add_class::<solver::Solver>()?;
    module.add_class::<array::Array>()?;
    module.add_function(wrap_pyfunction!(scene::scenes, module)?)
}
