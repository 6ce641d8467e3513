//! Volumes in memory for the samples of ray packets.

use fearless_simd::prelude::*;
use half::f16;

use crate::simd::vectors::Simd;

/// A volume of half floats, x fastest, with at least two texels along each axis, four for splines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Texels<'a> {
    size: [usize; 3],
    values: &'a [[f16; 4]],
}

impl<'a> Texels<'a> {
    pub fn new(size: [usize; 3], values: &'a [[f16; 4]]) -> Self {
        assert!(size.iter().all(|&n| n >= 2) && size.iter().product::<usize>() == values.len(), "{size:?}");
        assert!(u32::try_from(values.len()).is_ok(), "{size:?}");
        Self { size, values }
    }

    /// Returns the largest index of the first of two neighbours along an axis.
    #[inline(always)]
    pub fn last(&self, axis: usize) -> f32 {
        (self.size[axis] - 2) as f32
    }

    /// Returns the strides between neighbouring texels along each axis.
    #[inline(always)]
    pub fn strides(&self) -> [usize; 3] {
        [1, self.size[0], self.size[0] * self.size[1]]
    }
}

/// Stencils of 4×3×3 texels, one for each sample point of a packet.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, V> {
    texels: Texels<'a>,
    /// Index of the first texel of each stencil. All of them are in the volume.
    first: V,
}

impl<'a, V> Rows<'a, V> {
    /// Takes the index of the first texel of each stencil.
    ///
    /// # Panics
    /// If a stencil is not whole.
    #[inline(always)]
    pub fn new<S: Simd>(texels: Texels<'a>, first: V) -> Self
    where
        V: SimdInt<S, Element = u32>,
    {
        let [x, row, plane] = texels.strides();
        let last = 3 * x + 2 * row + 2 * plane;
        assert!(texels.values.len() > last, "a volume smaller than a stencil");
        let outside = first.simd_gt((texels.values.len() - 1 - last) as u32);
        assert!(!outside.any_true(), "a sample outside its volume");
        Self { texels, first }
    }

    /// Returns the texels of a row of the `n`th stencil, in two pairs; rows count along y, then z.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn row<S: Simd>(&self, n: usize, row: usize) -> &'a [[[f16; 4]; 2]; 2]
    where
        V: SimdInt<S, Element = u32>,
    {
        assert!(row < 9, "a stencil has nine rows");
        let [_, rows, planes] = self.texels.strides();
        let at = self.first[n] as usize + row % 3 * rows + row / 3 * planes;
        // SAFETY: `new` has found the whole stencil in the volume.
        unsafe { &*self.texels.values.as_ptr().add(at).cast() }
    }
}

/// The eight texels around each sample point of a packet.
#[derive(Clone, Copy)]
pub(super) struct Corners<'a, V> {
    texels: Texels<'a>,
    /// Index of the first texel around each point. All eight are in the volume.
    first: V,
}

impl<'a, V> Corners<'a, V> {
    /// Takes the index of the first texel around each point.
    ///
    /// # Panics
    /// If any of the eight is outside.
    #[inline(always)]
    pub fn new<S: Simd>(texels: Texels<'a>, first: V) -> Self
    where
        V: SimdInt<S, Element = u32>,
    {
        let last: usize = texels.strides().iter().sum();
        let outside = first.simd_gt((texels.values.len() - 1 - last) as u32);
        assert!(!outside.any_true(), "a sample outside its volume");
        Self { texels, first }
    }

    /// Returns two texels along x around the `n`th point: of the near or far row, of the near or far plane.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn pair<S: Simd>(&self, n: usize, far_row: bool, far_plane: bool) -> &'a [[f16; 4]; 2]
    where
        V: SimdInt<S, Element = u32>,
    {
        let [_, row, plane] = self.texels.strides();
        let at = self.first[n] as usize + if far_row { row } else { 0 } + if far_plane { plane } else { 0 };
        // SAFETY: `new` has found all texels around the point in the volume.
        unsafe { &*self.texels.values.as_ptr().add(at).cast() }
    }
}
