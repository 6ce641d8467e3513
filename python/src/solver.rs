//! `Solver`: steps, fields, changes and pictures.

use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use updraft::field::Field;
use updraft::render::{CpuRenderer, Mode, Quality, View};
use updraft::solver::{Dab, Stage};
use updraft::{Snapshot, StepStats};

use crate::array::Array;
use crate::scene::Scene;
use crate::{scene_error, solver_error};

/// A running simulation.
///
/// Solver(scene, threads=0). `step()` advances it by a frame. Its fields (`red`, `green`, `blue`, `temperature`, `u`, `v`,
/// `w`) are read-only NumPy arrays, indexed [x, y, z], without a copy. An array keeps its instant: while one is in use, the
/// next step works on a copy of the solver.
#[pyclass(module = "updraft")]
pub struct Solver {
    scene: Scene,
    threads: Option<usize>,
    inner: Arc<updraft::Solver>,
    renderer: Option<CpuRenderer>,
}

impl Solver {
    pub fn start(scene: Scene, threads: Option<usize>) -> PyResult<Self> {
        let mut checked = scene.checked.clone();
        checked.config.threads = threads.unwrap_or(checked.config.threads);
        let inner = Arc::new(checked.solver().map_err(scene_error)?);
        Ok(Self { scene, threads, inner, renderer: None })
    }

    /// The solver, to change it. If arrays of its fields are in use, they keep the present one, and this one
    /// becomes a copy of it.
    fn exclusive(&mut self) -> PyResult<&mut updraft::Solver> {
        if Arc::get_mut(&mut self.inner).is_none() {
            self.inner = Arc::new(self.duplicate()?);
        }
        Ok(Arc::get_mut(&mut self.inner).expect("made just now, and known to nobody else"))
    }

    /// A solver with the same state and inputs.
    fn duplicate(&self) -> PyResult<updraft::Solver> {
        let mut scene = self.scene.checked.clone();
        scene.config = self.inner.config().clone();
        scene.params = self.inner.params().clone();
        scene.sources = self.inner.sources().to_vec();
        scene.forces = self.inner.forces().to_vec();
        scene.solids = self.inner.solids().to_vec();
        let mut copy = scene.empty_solver().map_err(solver_error)?;
        copy.restore(&self.inner.capture()).map_err(solver_error)?;
        Ok(copy)
    }

    fn array<'py>(&self, py: Python<'py>, field: Field) -> PyResult<Bound<'py, PyAny>> {
        let array = Array::of_field(&self.inner, field)
            .ok_or_else(|| PyKeyError::new_err(format!("`{field}` is not stored by a solver")))?;
        array.into_numpy(py)
    }
}

#[pymethods]
impl Solver {
    #[new]
    #[pyo3(signature = (scene, threads=None))]
    fn new(scene: &Bound<'_, Scene>, threads: Option<usize>) -> PyResult<Self> {
        Self::start(scene.get().clone(), threads)
    }

    /// The scene that it runs.
    #[getter]
    fn scene(&self) -> Scene {
        self.scene.clone()
    }

    /// Simulated time [s].
    #[getter]
    fn time(&self) -> f64 {
        self.inner.stats().time
    }

    /// Number of threads.
    #[getter]
    fn threads(&self) -> usize {
        self.inner.threads()
    }

    /// Numbers of the last step, as a dictionary.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        numbers(py, self.inner.stats())
    }

    /// step(dt=None): advances by dt seconds, or by one frame of the scene, in as many substeps as the flow needs. Other
    /// threads of Python run meanwhile. Returns `stats`.
    #[pyo3(signature = (dt=None))]
    fn step<'py>(&mut self, py: Python<'py>, dt: Option<f32>) -> PyResult<Bound<'py, PyDict>> {
        let (count, dt) = match dt {
            Some(dt) => (1, dt),
            None => self.scene.checked.time.steps_per_frame(),
        };
        let solver = self.exclusive()?;
        py.detach(|| (0..count).try_for_each(|_| solver.step(dt).map(|_| ()))).map_err(solver_error)?;
        self.stats(py)
    }

    /// Density of the first smoke [-].
    #[getter]
    fn red<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Field::Red)
    }

    /// Density of the second smoke [-].
    #[getter]
    fn green<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Field::Green)
    }

    /// Density of the third smoke [-].
    #[getter]
    fn blue<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Field::Blue)
    }

    /// Temperature above that of the air outside [K].
    #[getter]
    fn temperature<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Field::Temperature)
    }

    /// Velocity along x on faces across x [m/s].
    #[getter]
    fn u<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Field::U)
    }

    /// Velocity along y on faces across y [m/s].
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Field::V)
    }

    /// Velocity along z on faces across z [m/s].
    #[getter]
    fn w<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, Field::W)
    }

    /// set(**fields): sets whole fields: red, green, blue, temperature, u, v, w. The velocity is projected then.
    #[pyo3(signature = (**fields))]
    fn set(&mut self, py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        self.edit(py, fields, |value, new| *value = new)
    }

    /// add(**fields): adds to whole fields. For u, v and w these are velocities: a force is dt times an acceleration.
    #[pyo3(signature = (**fields))]
    fn add(&mut self, py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        self.edit(py, fields, |value, new| *value += new)
    }

    /// dab(center, radius, red=0, green=0, blue=0, temperature=0, push=(0, 0, 0), erase=0): one dab of the window's brush,
    /// a ball that fades to its edge [m]; `push` is a velocity [m/s], `erase` the share removed first.
    #[pyo3(signature = (center, radius, *, red=0.0, green=0.0, blue=0.0, temperature=0.0, push=[0.0; 3], erase=0.0))]
    #[pyo3(
        text_signature = "(self, center, radius, *, red=0, green=0, blue=0, temperature=0, push=(0, 0, 0), erase=0)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn dab(
        &mut self,
        center: [f32; 3],
        radius: f32,
        red: f32,
        green: f32,
        blue: f32,
        temperature: f32,
        push: [f32; 3],
        erase: f32,
    ) -> PyResult<()> {
        let add = [red, green, blue, temperature];
        self.exclusive()?.dab(&Dab { center, radius, add, push, erase }).map_err(solver_error)
    }

    /// change(**settings): changes keys of the scene that act at once: fluid, smoke, source, force, render.
    #[pyo3(signature = (**settings))]
    fn change(&mut self, settings: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let scene = self.scene.with(settings)?;
        let (old, new) = (&self.scene.checked, &scene.checked);
        if old.config != new.config || old.solids != new.solids || old.side_formulas != new.side_formulas {
            return Err(PyValueError::new_err(
                "domain, solver, time.cfl, walls and solids are fixed while it runs; start another solver for them",
            ));
        }
        let (params, sources, forces) = (new.params.clone(), new.sources.clone(), new.forces.clone());
        let solver = self.exclusive()?;
        solver.set_params(params).map_err(solver_error)?;
        solver.set_sources(sources).map_err(solver_error)?;
        solver.set_forces(forces).map_err(solver_error)?;
        self.scene = scene;
        Ok(())
    }

    /// render(**settings): a picture of the present instant as uint8, indexed [row, column, channel], made on CPU threads.
    /// Settings are those of the scene's `render` table: render(size=[640, 480]).
    #[pyo3(signature = (**settings))]
    fn render<'py>(
        &mut self,
        py: Python<'py>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scene = match settings {
            None => self.scene.clone(),
            Some(settings) => {
                let nested = PyDict::new(py);
                nested.set_item("render", settings)?;
                self.scene.with(Some(&nested))?
            }
        };
        let renderer = self.renderer.get_or_insert_with(CpuRenderer::new);
        let (solver, scene) = (&self.inner, &scene.checked);
        let picture = py.detach(|| {
            let mut snapshot = Snapshot::empty(scene.config.smoke_dims(), scene.config.smoke_h());
            snapshot.capture(solver, false);
            let quality = if snapshot.solids.is_empty() { Quality::FINAL } else { Quality::SMOOTH };
            renderer.set_quality(quality);
            let view = View { look: &scene.look, camera: &scene.camera, cursor: None, mode: Mode::Smoke };
            renderer.render(&snapshot, &view, scene.size, &|_| ())
        });
        let picture = picture.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Array::of_picture(picture).into_numpy(py)
    }

    /// copy(): a solver with the same state that goes on by itself.
    fn copy(&self) -> PyResult<Self> {
        let inner = Arc::new(self.duplicate()?);
        Ok(Self { scene: self.scene.clone(), threads: self.threads, inner, renderer: None })
    }

    fn __repr__(&self) -> String {
        let [nx, ny, nz] = self.inner.config().dims.array();
        format!("<Solver of {}: {nx} x {ny} x {nz} cells at {:.3} s>", self.scene.checked.name, self.time())
    }
}

impl Solver {
    /// Changes fields by arrays of their shapes.
    fn edit(
        &mut self,
        py: Python<'_>,
        fields: Option<&Bound<'_, PyDict>>,
        change: impl Fn(&mut f32, f32) + Sync,
    ) -> PyResult<()> {
        let Some(fields) = fields else { return Ok(()) };
        let (layout, smoke) = (self.inner.layout(), self.inner.smoke_layout());
        let mut arrays = Vec::new();
        for (name, values) in fields {
            let name: String = name.extract()?;
            let field = Field::STORED
                .into_iter()
                .find(|field| field.name() == name)
                .ok_or_else(|| PyTypeError::new_err(format!("no field `{name}`; there are {}", names())))?;
            arrays.push((field, dense(py, field, field.shape(field.layout(&self.inner).dims), &values)?));
        }
        let solver = self.exclusive()?;
        let (faces, scalars): (Vec<_>, Vec<_>) =
            arrays.into_iter().partition(|(field, _)| field.face_axis().is_some());
        py.detach(|| {
            if !scalars.is_empty() {
                solver.edit_scalars(|cells| {
                    for (field, values) in &scalars {
                        let part = match field {
                            Field::Red => 0,
                            Field::Green => 1,
                            Field::Blue => 2,
                            _ => 3,
                        };
                        each(field.shape(smoke.dims), |n, i, j, k| {
                            change(&mut cells[smoke.at(i, j, k)][part], values[n]);
                        });
                    }
                })?;
            }
            if !faces.is_empty() {
                solver.edit_velocity(|components| {
                    for (field, values) in &faces {
                        let axis = field.face_axis().expect("a component on faces");
                        each(field.shape(layout.dims), |n, i, j, k| {
                            change(&mut components[axis][layout.at(i, j, k)], values[n]);
                        });
                    }
                })?;
            }
            Ok(())
        })
        .map_err(solver_error)
    }
}

fn names() -> String {
    Field::STORED.map(Field::name).join(", ")
}

/// The values of `array`, z fastest as NumPy has them, if its shape is `shape`; a single number fills it.
fn dense(py: Python<'_>, field: Field, shape: [usize; 3], array: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    let numpy = py.import("numpy")?;
    let keywords = PyDict::new(py);
    keywords.set_item("dtype", "float32")?;
    let array = numpy.call_method("asarray", (array,), Some(&keywords))?;
    let found: Vec<usize> = array.getattr("shape")?.extract()?;
    if !found.is_empty() && found != shape {
        return Err(PyValueError::new_err(format!("`{field}` has the shape {shape:?}, the array {found:?}")));
    }
    let array = numpy.call_method1("broadcast_to", (array, shape))?;
    let array = numpy.call_method1("ascontiguousarray", (array,))?;
    PyBuffer::<f32>::get(&array)?.to_vec(py)
}

/// Calls `visit` with the position in a dense array, z fastest, and the indices of each value.
fn each([nx, ny, nz]: [usize; 3], mut visit: impl FnMut(usize, isize, isize, isize)) {
    let mut n = 0;
    for i in 0..nx {
        for j in 0..ny {
            for k in 0..nz {
                visit(n, i as isize, j as isize, k as isize);
                n += 1;
            }
        }
    }
}

fn numbers<'py>(py: Python<'py>, stats: &StepStats) -> PyResult<Bound<'py, PyDict>> {
    let numbers = PyDict::new(py);
    numbers.set_item("step", stats.step)?;
    numbers.set_item("time", stats.time)?;
    numbers.set_item("dt", stats.dt)?;
    numbers.set_item("substeps", stats.substeps)?;
    numbers.set_item("cfl", stats.cfl)?;
    numbers.set_item("max_speed", stats.max_speed)?;
    numbers.set_item("divergence_before", stats.divergence_before)?;
    numbers.set_item("divergence_after", stats.divergence_after)?;
    numbers.set_item("iterations", stats.iterations)?;
    numbers.set_item("mass", stats.mass.to_vec())?;
    numbers.set_item("heat", stats.heat)?;
    numbers.set_item("kinetic_energy", stats.kinetic_energy)?;
    let seconds: f64 = Stage::ALL.iter().map(|&stage| stats.stages[stage as usize].as_secs_f64()).sum();
    numbers.set_item("seconds", seconds)?;
    Ok(numbers)
}
