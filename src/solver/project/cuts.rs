//! Faces that solids close or narrow.

use crate::grid::{Dims, Faces, GHOST, Layout};
use crate::solver::storage::row_passes::refill;

/// One face that is not wholly open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Its position in the [`Layout`].
    pub at: u32,
    /// The part of its area that is open, 0..1.
    pub open: f32,
    /// The solid's velocity across it \[m/s\].
    pub velocity: f32,
}

impl Cut {
    /// Returns the mean velocity over the whole face when air moves with velocity `u` through its open part.
    fn mean(&self, u: f32) -> f32 {
        self.open * u + (1.0 - self.open) * self.velocity
    }

    /// As [`mean`](Self::mean), 0 where the face is closed.
    pub fn stopped(&self, u: f32) -> f32 {
        if self.open == 0.0 { 0.0 } else { self.mean(u) }
    }
}

/// The faces of each component that are not wholly open, in the order of their positions.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    /// Across x, y, z.
    pub faces: [Vec<Cut>; 3],
    /// Face velocities that [`exchange`](Self::exchange) has replaced.
    kept: [Vec<f32>; 3],
}

impl Cuts {
    /// Makes cuts from the three lists.
    #[cfg(test)]
    pub fn new(faces: [Vec<Cut>; 3]) -> Self {
        let kept = faces.each_ref().map(|list| vec![0.0; list.len()]);
        Self { faces, kept }
    }

    /// Replaces the cuts of a component, in the memory already allocated.
    pub fn refill(&mut self, component: usize, cuts: impl Iterator<Item = Cut>) {
        refill(&mut self.faces[component], cuts);
        let count = self.faces[component].len();
        refill(&mut self.kept[component], std::iter::repeat_n(0.0, count));
    }

    /// Whether every face is open.
    pub fn is_empty(&self) -> bool {
        self.faces.iter().all(Vec::is_empty)
    }

    /// The cut at a position, if the face there is not wholly open.
    pub fn find(&self, component: usize, at: usize) -> Option<Cut> {
        let faces = &self.faces[component];
        faces.binary_search_by_key(&at, |cut| cut.at as usize).ok().map(|index| faces[index])
    }

    /// The open fraction of the face at a position.
    pub fn open(&self, component: usize, at: usize) -> f32 {
        self.find(component, at).map_or(1.0, |cut| cut.open)
    }

    /// Returns the mean velocity over the whole face at a position when air moves with velocity `u` through
    /// its open part.
    pub fn mean(&self, component: usize, at: usize, u: f32) -> f32 {
        self.find(component, at).map_or(u, |cut| cut.mean(u))
    }

    /// Replaces the velocity on cut faces by the mean over their whole area, open · u + (1 − open) · u_solid
    /// (Batty, Bertails & Bridson 2007). The pressure must remove the divergence of that mean. Remembers the
    /// replaced values.
    pub fn exchange(&mut self, velocity: &mut Faces) {
        for ((faces, kept), field) in self.faces.iter().zip(&mut self.kept).zip(velocity) {
            for (cut, kept) in faces.iter().zip(kept) {
                let value = &mut field[cut.at as usize];
                *kept = *value;
                *value = cut.mean(*value);
            }
        }
    }

    /// As [`exchange`](Self::exchange), but with u_solid = 0: nothing crosses closed faces.
    pub fn stop(&mut self, velocity: &mut Faces) {
        self.exchange(velocity);
        for (faces, field) in self.faces.iter().zip(velocity) {
            faces.iter().filter(|cut| cut.open == 0.0).for_each(|cut| field[cut.at as usize] = 0.0);
        }
    }

    /// Restores the values that [`exchange`](Self::exchange) has replaced.
    pub fn restore(&self, velocity: &mut Faces) {
        for ((faces, kept), field) in self.faces.iter().zip(&self.kept).zip(velocity) {
            faces.iter().zip(kept).for_each(|(cut, kept)| field[cut.at as usize] = *kept);
        }
    }

    /// Gives closed faces the velocity of their solid.
    pub fn close(&self, velocity: &mut Faces) {
        for (faces, field) in self.faces.iter().zip(velocity) {
            for cut in faces.iter().filter(|cut| cut.open == 0.0) {
                field[cut.at as usize] = cut.velocity;
            }
        }
    }
}

/// Returns the cell above the face at a position, 0..=n along each axis.
pub fn cell_of(layout: Layout, at: u32) -> [usize; 3] {
    let at = at as usize;
    let [i, j, k] = [at % layout.row, at % layout.plane / layout.row, at / layout.plane];
    [i - GHOST, j - GHOST, k - GHOST]
}

/// Whether a face of `component` lies in the box or on one of its sides.
pub fn is_inside(dims: Dims, component: usize, at: [usize; 3]) -> bool {
    (0..3).all(|axis| at[axis] < dims.array()[axis] + usize::from(axis == component))
}
