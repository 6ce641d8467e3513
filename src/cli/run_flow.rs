//! The velocity of a finished run between its frames.

use std::path::{Path, PathBuf};

use super::CliError;
use super::folder::{FlowFrames, RunFolder};
use super::stored_frame::{RunNumbers, StoredFrame};
use crate::field::{Array, Field};
use crate::grid::{Dims, Faces, Layout};
use crate::scene::{InitialError, Scene};
use crate::solver::Solver;

/// The fields that are read from a frame.
const VELOCITY: [Field; 3] = [Field::U, Field::V, Field::W];

/// Velocities in the frames of a folder, read when they are needed. Each of several ranks keeps the planes of
/// its slab.
pub struct RunFlow {
    folder: RunFolder,
    frames: FlowFrames,
    /// Edge of a cell of the run \[m\].
    h: f32,
    /// Frames per second of the run.
    rate: f32,
    /// The loaded frames, those around the last instant.
    loaded: Vec<(u32, Faces)>,
}

impl RunFlow {
    /// Opens the flow of the run in `folder`, up to frame `last`, for finer smoke in `scene`.
    ///
    /// # Errors
    /// If the run has no frame near the start, or none as late as `last`, or if one of its frames has no velocity of this box, or is of
    /// another run.
    pub fn new(folder: RunFolder, frames: FlowFrames, last: u32, scene: &Scene) -> Result<Self, CliError> {
        let range = frames.range()?;
        let wrong = |what: String| Err(CliError::Request(what));
        if range.first > range.step {
            return wrong(format!(
                "the frames of the run begin with {}; smoke must be followed from the start, so simulate with --frames 0-{}",
                range.first, range.last
            ));
        }
        if last > range.last {
            return wrong(format!(
                "--frames: frame {last} is after the last frame of the run, {}",
                range.last
            ));
        }
        let (h, rate) = (scene.config.h, scene.time.frame_rate);
        let flow = Self { folder, frames, h, rate, loaded: vec![] };
        // All frames up to the first one at or after the last instant are checked now: a run may take hours
        // until it reads them.
        let needed = flow.frames.list.partition_point(|&frame| frame < last) + 1;
        let mut least = 1.0_f64;
        for &frame in flow.frames.list.iter().take(needed) {
            let (_, mut stored) = flow.open(frame)?;
            VELOCITY.into_iter().try_for_each(|field| stored.check(field, &scene.config))?;
            least = stored.filled(Field::U, &scene.config).map_or(least, |filled| least.min(filled));
        }
        if least < 1.0 {
            tracing::warn!(
                "the frames have the velocity only where there was smoke or heat, in one of them {} of the box; other air counts as at \
                 rest, and moves the smoke too little. Simulate with --format npz, or for volumes with --fields u,v,w",
                if least < 0.01 { "less than 1 %".into() } else { format!("{:.0} %", 100.0 * least) }
            );
        }
        Ok(flow)
    }

    /// Sets the velocity at the start to that of `solver`, if the run has not written it.
    pub fn begin(&mut self, solver: &Solver) {
        if self.frames.list.first() != Some(&0) {
            self.loaded = vec![(0, own_planes(solver.layout(), solver.velocity()))];
        }
    }

    /// Returns whether the velocity after `frame` depends on that at the start, and the run has not written it.
    pub fn needs_start(&self, frame: u32) -> bool {
        self.frames.list.first().is_some_and(|&first| frame < first)
    }

    /// Interpolates the velocity at an instant, in frames, for a step of `solver`.
    ///
    /// # Errors
    /// If a frame cannot be read or is of another box.
    pub fn at(&mut self, instant: f64, solver: &Solver) -> Result<Faces, CliError> {
        let list = &self.frames.list;
        let above = list.partition_point(|&frame| f64::from(frame) <= instant);
        // The frame before the first one in the folder is the start.
        let below = above.checked_sub(1).map_or(0, |n| list[n]);
        let above = list.get(above).copied().unwrap_or(below);
        self.loaded.retain(|(frame, _)| [below, above].contains(frame));
        for frame in [below, above] {
            if !self.loaded.iter().any(|(known, _)| *known == frame) {
                let faces = self.read(frame, solver)?;
                self.loaded.push((frame, faces));
            }
        }
        let of = |frame: u32| self.loaded.iter().find(|(known, _)| *known == frame).map(|(_, faces)| faces);
        let (Some(low), Some(high)) = (of(below), of(above)) else { unreachable!("both are read above") };
        let mut between = own_planes(solver.layout(), low);
        if above > below {
            let share = ((instant - f64::from(below)) / f64::from(above - below)) as f32;
            let own = solver.layout().own();
            for (low, high) in between.iter_mut().zip(high) {
                let faces = low[own.clone()].iter_mut().zip(&high[own.clone()]);
                faces.for_each(|(low, high)| *low += share * (high - *low));
            }
        }
        Ok(between)
    }

    /// Opens the file of a frame.
    ///
    /// # Errors
    /// If it cannot be read, or says that it is a frame of another run.
    fn open(&self, frame: u32) -> Result<(PathBuf, StoredFrame), CliError> {
        let path = self.folder.fields(self.frames.format, frame);
        let mut stored = StoredFrame::open(&path, self.frames.format)?;
        // Smoke of the run may be coarser than that of this scene, so it is not checked.
        stored.check_run(frame, RunNumbers { h: self.h, smoke: None, rate: self.rate })?;
        Ok((path, stored))
    }

    /// Reads the velocity of a frame, one component after another.
    fn read(&self, frame: u32, solver: &Solver) -> Result<Faces, CliError> {
        let (layout, config) = (solver.layout(), solver.config());
        let [low, high] = layout.planes();
        let mut faces: Faces = [0, 1, 2].map(|_| vec![0.0; layout.size()]);
        let mut fill = |axis: usize, shape: [usize; 3], values: &[f32]| {
            for (row, values) in values.chunks_exact(shape[0]).enumerate() {
                let [j, k] = [row % shape[1], row / shape[1]];
                if (low..high).contains(&(k as isize)) {
                    let at = layout.start(j, k);
                    faces[axis][at..at + shape[0]].copy_from_slice(values);
                }
            }
        };
        let (path, mut stored) = self.open(frame)?;
        for (axis, field) in VELOCITY.into_iter().enumerate() {
            let array = stored.array(field, config)?;
            check_range(&path, field, &array)?;
            fill(axis, array.shape, &array.values);
        }
        Ok(faces)
    }
}

/// Fails if a velocity is beyond the limit of an initial field: a step would take hours, and its result would
/// not be finite.
fn check_range(path: &Path, field: Field, array: &Array) -> Result<(), CliError> {
    let (limit, [nx, ny, nz]) = (InitialError::limit(field), array.shape);
    let is_possible = |value: &f32| value.abs() <= limit;
    match array.values.iter().position(|value| !is_possible(value)) {
        None => Ok(()),
        Some(at) => Err(CliError::Request(format!(
            "{}: `{field}` is {:e} m/s in cell {:?}; it must lie within ±{limit:e} everywhere",
            path.display(),
            array.values[at],
            Dims { nx, ny, nz }.place(at)
        ))),
    }
}

/// Copies the planes of the slab of `layout`; memory of the rest of the box stays untouched.
fn own_planes(layout: Layout, faces: &Faces) -> Faces {
    let own = layout.own();
    faces.each_ref().map(|from| {
        let mut to = vec![0.0; from.len()];
        to[own.clone()].copy_from_slice(&from[own.clone()]);
        to
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_velocity_beyond_the_bound_of_a_scene_is_refused_with_its_place() {
        let mut array = Array { shape: [2, 3, 4], values: vec![-1e6; 24] };
        let path = Path::new("run/fields.0003.npz");
        check_range(path, Field::V, &array).unwrap();
        for (value, said) in [(1e30, "1e30"), (-1.5e6, "-1.5e6"), (f32::INFINITY, "inf")] {
            array.values[1 + 2 * (2 + 3 * 3)] = value;
            let message = check_range(path, Field::V, &array).unwrap_err().to_string();
            let wanted = format!("run/fields.0003.npz: `v` is {said} m/s in cell [1, 2, 3]; it must");
            assert!(message.starts_with(&wanted), "{message}");
        }
    }
}
