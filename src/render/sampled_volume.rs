//! A field of four numbers over the box, sampled as by a texture unit.

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use super::light::LightVolume;
use super::trilinear::{spline, trilinear};
use crate::grid::Dims;
use crate::snapshot::{Part, Snapshot};

/// Points on a regular grid, sampled trilinearly and clamped at the border.
#[derive(Clone, Debug)]
pub(super) struct Volume {
    dims: Dims,
    /// Points per metre.
    scale: [f32; 3],
    /// Distance of the first point from the side of the box, in points.
    first: f32,
    /// Plane of the first values: planes before it may lie on other ranks.
    plane: usize,
    values: Vec<[f32; 4]>,
}

impl Volume {
    /// Makes a volume of a field at the centres of a snapshot's cells.
    pub fn at_centres(snapshot: &Snapshot, values: &[[f16; 4]]) -> Self {
        Self::of_part(&Part::of(snapshot), values)
    }

    /// Makes a volume as [`Volume::at_centres`] does, of the planes of a part of a snapshot. Samples read
    /// only these.
    pub fn of_part(part: &Part, values: &[[f16; 4]]) -> Self {
        Self::of_planes(part.whole, part.first, values)
    }

    /// Makes a volume as [`Volume::at_centres`] does, of the planes from `plane` on.
    pub fn of_planes(whole: &Snapshot, plane: usize, values: &[[f16; 4]]) -> Self {
        let scale = [1.0 / whole.h; 3];
        Self { dims: whole.dims, scale, first: 0.5, plane, values: to_f32(values) }
    }

    /// Returns the plane of cells of a point at `z` \[m\].
    pub fn plane_at(&self, z: f32) -> usize {
        (z * self.scale[2]).clamp(0.0, (self.dims.nz - 1) as f32) as usize
    }

    /// Makes a volume of a light volume towards an eye.
    pub fn of_light(light: &LightVolume, texels: &[[f16; 4]]) -> Self {
        let scale = [1.0 / light.spacing; 3];
        Self { dims: light.points, scale, first: -0.5, plane: 0, values: to_f32(texels) }
    }

    /// Returns the distance between points \[m\].
    pub fn spacing(&self) -> f32 {
        1.0 / self.scale[0]
    }

    /// Returns the value of a point.
    pub fn value(&self, n: usize) -> [f32; 4] {
        self.values[n - self.dims.index(0, 0, self.plane)]
    }

    /// Samples trilinearly at a point in the box \[m\].
    pub fn sample(&self, p: [f32; 3]) -> [f32; 4] {
        trilinear(self.dims, self.place(p), |n| self.value(n))
    }

    /// Samples the quadratic B-spline, which has no creases and blurs slightly.
    pub fn sample_spline(&self, p: [f32; 3]) -> [f32; 4] {
        spline(self.dims, self.place(p), |n| self.values[n])
    }

    /// Converts a point \[m\] to units of the spacing from the first value.
    fn place(&self, p: [f32; 3]) -> [f32; 3] {
        std::array::from_fn(|a| p[a] * self.scale[a] - self.first)
    }
}

fn to_f32(halves: &[[f16; 4]]) -> Vec<[f32; 4]> {
    const CHUNK: usize = 1 << 14;
    let mut floats = vec![[0.0; 4]; halves.len()];
    floats.par_chunks_mut(CHUNK).zip(halves.par_chunks(CHUNK)).for_each(|(to, from)| {
        let from: &[f16] = bytemuck::cast_slice(from);
        from.convert_to_f32_slice(bytemuck::cast_slice_mut(to));
    });
    floats
}
