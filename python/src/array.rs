//! Memory lent to NumPy through the buffer protocol, read-only and without a copy.
//!
//! An [`Array`] keeps the owner of its memory alive, and nobody writes to that memory while it lives: a solver
//! whose fields are lent steps on a copy of itself (`solver.rs`).

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use updraft::field::Field;

/// Owner of lent memory.
enum Owner {
    Solver(Arc<updraft::Solver>),
    Bytes(Vec<u8>),
}

/// Lent memory; `numpy.asarray` makes an array of it.
#[pyclass(frozen, module = "updraft")]
pub struct Array {
    owner: Owner,
    /// Index of the first value: floats of a solver, bytes otherwise.
    start: usize,
    format: &'static std::ffi::CStr,
    item: ffi::Py_ssize_t,
    shape: Vec<ffi::Py_ssize_t>,
    /// Distances \[bytes\].
    strides: Vec<ffi::Py_ssize_t>,
    field: Option<Field>,
}

impl Array {
    /// `field` of `solver`, indexed `[x, y, z]`: a scalar at cell centres, or a component of the velocity on
    /// faces, which has one value more along its axis.
    pub fn of_field(solver: &Arc<updraft::Solver>, field: Field) -> Option<Self> {
        let layout = field.layout(solver);
        let (start, values) = match field {
            Field::Red => (0, 4),
            Field::Green => (1, 4),
            Field::Blue => (2, 4),
            Field::Temperature => (3, 4),
            other => (0, usize::from(other.face_axis().is_some())),
        };
        let item = size_of::<f32>();
        (values > 0).then(|| Self {
            owner: Owner::Solver(solver.clone()),
            start: layout.at(0, 0, 0) * values + start,
            format: c"f",
            item: item as _,
            shape: field.shape(layout.dims).map(|n| n as _).to_vec(),
            strides: layout.strides().map(|n| (n * values * item) as _).to_vec(),
            field: Some(field),
        })
    }

    /// Pixels of a picture, indexed `[row, column, channel]`.
    pub fn of_picture(picture: updraft::render::Image) -> Self {
        let [width, height] = [picture.width, picture.height].map(|n| n as ffi::Py_ssize_t);
        Self {
            owner: Owner::Bytes(picture.rgba),
            start: 0,
            format: c"B",
            item: 1,
            shape: vec![height, width, 4],
            strides: vec![4 * width, 4, 1],
            field: None,
        }
    }

    /// A NumPy array of this memory.
    pub fn into_numpy(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        py.import("numpy")?.call_method1("asarray", (Bound::new(py, self)?,))
    }

    /// Address of the first value.
    fn address(&self) -> *const c_void {
        match (&self.owner, self.field) {
            (Owner::Bytes(bytes), _) => bytes[self.start..].as_ptr().cast(),
            (Owner::Solver(solver), Some(field)) if field.face_axis().is_some() => {
                let axis = field.face_axis().expect("a face");
                solver.velocity()[axis][self.start..].as_ptr().cast()
            }
            (Owner::Solver(solver), _) => solver.scalars().as_flattened()[self.start..].as_ptr().cast(),
        }
    }
}

#[pymethods]
impl Array {
    #[allow(unsafe_code)]
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        let this = slf.get();
        let count: ffi::Py_ssize_t = this.shape.iter().product();
        let wants = |flag: c_int| flags & flag == flag;
        let refusal = if wants(ffi::PyBUF_WRITABLE) {
            Some("the memory belongs to a solver: it is read-only")
        } else if !wants(ffi::PyBUF_STRIDES) && this.field.is_some() {
            Some("the memory has gaps: only strided views are possible")
        } else {
            None
        };
        if let Some(why) = refusal {
            // SAFETY: the view is not null. Python wants `obj` to be null after an error.
            unsafe { (*view).obj = std::ptr::null_mut() };
            return Err(PyBufferError::new_err(why));
        }
        // SAFETY: the view is not null and is ours to fill. Shape, strides and the memory itself belong to
        // `this`, which lives as long as `obj` holds it and never changes. Strides stay within the memory:
        // a field and its ghosts are one allocation of the layout they come from.
        unsafe {
            (*view).buf = this.address().cast_mut();
            (*view).len = count * this.item;
            (*view).readonly = 1;
            (*view).itemsize = this.item;
            (*view).format =
                if wants(ffi::PyBUF_FORMAT) { this.format.as_ptr().cast_mut() } else { std::ptr::null_mut() };
            (*view).ndim = this.shape.len() as c_int;
            (*view).shape = this.shape.as_ptr().cast_mut();
            (*view).strides = this.strides.as_ptr().cast_mut();
            (*view).suboffsets = std::ptr::null_mut();
            (*view).internal = std::ptr::null_mut();
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }
}
