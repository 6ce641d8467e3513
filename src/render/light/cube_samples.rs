//! Places in the cubes of the light volume: the light in a cube is the mean over those in it.
//!
//! Cubes that hold equally many points of the light volume use these. Others would have unequal numbers of points, or none, and be dark:
//! they get places of their own, as far apart as points at most, with values interpolated between points.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::lit_sides::Entering;
use super::{LightVolume, Points, root, squared};
use crate::grid::Dims;
use crate::render::trilinear::trilinear;

/// The places, with one more before and one after the box along each axis, as points have.
pub(super) struct CubeSamples {
    pub dims: Dims,
    /// Distance between them \[m\]; the second lies half of it within the box.
    pub spacing: f32,
    /// Places between points, in units of their spacing; `None` where the places are the points.
    between: Option<f32>,
}

impl LightVolume {
    pub(super) fn cube_samples(&self) -> CubeSamples {
        let (spacing, h) = (self.spacing, self.mixture.h);
        let in_cube = (h / spacing - 1e-3).ceil();
        let own = h / in_cube;
        if (own - spacing).abs() < 1e-3 * spacing {
            return CubeSamples { dims: self.points, spacing, between: None };
        }
        let [nx, ny, nz] = self.mixture.dims.array().map(|n| n * in_cube as usize + 2);
        CubeSamples { dims: Dims { nx, ny, nz }, spacing: own, between: Some(own / spacing) }
    }
}

impl LightVolume {
    /// Density at the places in cubes: as eyes read it, where cubes hold its means.
    pub(super) fn densities_in_cubes<'a>(&'a self, samples: &CubeSamples) -> Cow<'a, [f32]> {
        let density = if self.means_as_read.is_empty() { &self.density } else { &self.means_as_read };
        samples.densities(self.on_points(density))
    }
}

impl CubeSamples {
    /// Places along an edge of a cube of an edge `h` \[m\].
    pub fn in_cube(&self, h: f32) -> usize {
        (h / self.spacing).round() as usize
    }

    /// The cube along an axis, of so many, in which a sample lies; `h` is its edge \[m\].
    pub fn cube(&self, n: usize, h: f32, count: usize) -> usize {
        (((n as f32 - 0.5) * self.spacing / h) as usize).min(count - 1)
    }

    /// Samples of each row along x that may hold smoke.
    pub fn spans<'a>(&self, of_points: &'a [Range<usize>]) -> Cow<'a, [Range<usize>]> {
        match self.between {
            None => Cow::Borrowed(of_points),
            Some(_) => Cow::Owned(vec![0..self.dims.nx; self.dims.ny * self.dims.nz]),
        }
    }

    pub fn densities<'a>(&self, field: Points<'a>) -> Cow<'a, [f32]> {
        self.read(field, |x| x)
    }

    /// Optical depths, none if there are none at the points: as everywhere, what is interpolated is their [`root`].
    pub fn depths<'a>(&self, field: Points<'a>, entering: Option<&Entering>) -> Cow<'a, [f32]> {
        if field.values.is_empty() || self.between.is_none() {
            return Cow::Borrowed(field.values);
        }
        let mut roots: Vec<f32> = field.values.iter().map(|&depth| root(depth)).collect();
        if let Some(entering) = entering {
            entering.replace_beyond(&mut roots, false);
        }
        Cow::Owned(self.read(Points { values: &roots, ..field }, squared).into_owned())
    }

    fn read<'a>(&self, field: Points<'a>, back: impl Fn(f32) -> f32 + Sync) -> Cow<'a, [f32]> {
        let Some(between) = self.between else { return Cow::Borrowed(field.values) };
        let mut all = vec![0.0; self.dims.cells()];
        all.par_chunks_mut(self.dims.nx).enumerate().for_each(|(row, all)| {
            let place = |n: usize| (n as f32 - 0.5) * between + 0.5;
            let (y, z) = (place(row % self.dims.ny), place(row / self.dims.ny));
            for (i, value) in all.iter_mut().enumerate() {
                let [x] = trilinear(field.dims, [place(i), y, z], |n| [field.values[n]]);
                *value = back(x);
            }
        });
        Cow::Owned(all)
    }
}
