//! Optical depth at points beyond the sides of the box, as eyes read it.
//!
//! Roots of the depth towards the sun are interpolated between points (`light/sun.rs`). That is exact below an edge of smoke that begins softly.
//! Smoke that touches a side begins at once: its depth grows in proportion to the way, and the root rises steeply. With the right depth on
//! the side, 0, light in the first half of a spacing was up to a third too bright. So points beyond a side hold the root that makes the
//! mean of the depth right there.
//!
//! Light from other directions is interpolated itself (`light/outside_rays.rs`). With e^−τ of 1 beyond the side it was up to a third too dark
//! in the first half of a spacing, so there points beyond hold more.

use super::wide_sun::{beyond, within};
use super::{LightVolume, Points, root, squared};
use crate::render::exp::exp;
use crate::render::medium::Medium;
use crate::simd::{greatest, least};

/// Cosine below which light does not come in through a side.
const LEAST_SLOPE: f32 = 1e-6;

/// Depth on a side from which on too little of the sun enters through it to count as one direction.
const PARTLY: f32 = 0.3;

/// Smoke that light enters.
#[derive(Clone, Copy)]
pub(super) struct Entering<'a> {
    pub density: Points<'a>,
    pub extinction: f32,
    /// Direction that the light comes from, a unit vector.
    pub toward: [f32; 3],
    /// Tangent of half the angle that it fills.
    pub spread: f32,
}

impl LightVolume {
    /// The smoke that the sun enters.
    pub(super) fn entering(&self, medium: &Medium) -> Entering<'_> {
        Entering {
            density: self.on_points(&self.density),
            extinction: medium.extinction,
            toward: medium.sun_direction,
            spread: self.sun.half_extent(1.0),
        }
    }
}

impl Entering<'_> {
    /// Replaces the roots of points beyond the sides by those that eyes read by splines or linearly.
    pub fn replace_beyond(&self, roots: &mut [f32], splines: bool) {
        for n in beyond(self.density.dims) {
            // Besides this root, those of points within are read, which stay.
            roots[n] = self.root_beyond(n, |n| squared(roots[n]), splines);
        }
    }

    /// The [`root`] that eyes read at a point beyond a side by splines or linearly, from depths at points.
    pub fn root_beyond(&self, n: usize, depth: impl Fn(usize) -> f32, splines: bool) -> f32 {
        let Points { dims, spacing, values } = self.density;
        let (place, size) = (dims.place(n), dims.array());
        let first = within(dims, place);
        let [beyond, to_first] = [n, first].map(|n| root(depth(n)));
        if beyond >= 0.0 || to_first <= 0.0 {
            return beyond;
        }
        let second: [usize; 3] = std::array::from_fn(|a| match place[a] {
            0 => 2.min(size[a] - 2),
            n if n == size[a] - 1 => (size[a] - 3).max(1),
            n => n,
        });
        let second = depth(dims.index(second[0], second[1], second[2]));
        let on_side = greatest(0.5 * (beyond + to_first), 0.0);
        let (outer, first_depth) = (squared(on_side), squared(to_first));
        let grows = first_depth - outer;
        // Depths a x + b x² below the side. Smoke that fades has only b.
        let share = least(greatest(1.5 - (second - outer) / (6.0 * grows), 0.0), 1.0);
        // Light that lies flat on the side soon has come through another.
        let slope = self.slope(place);
        let through = 0.25 * (1.0 + share) * self.extinction * spacing * values[first] / slope;
        let until = least(grows / greatest(through, 1e-6), 1.0);
        let mean = outer + grows * if until < 1.0 { 1.0 - 0.5 * until } else { (2.0 + share) / 6.0 };
        // Root on the side, with the mean of a linear root's square.
        let read = 0.5 * (greatest(12.0 * mean - 3.0 * first_depth, 0.0).sqrt() - to_first);
        // Light falls off as e^−τ, also on its way to the eye: fitted to even smoke of 0.3 to 32 optical depths a spacing.
        let thick =
            if splines { 0.83 / (1.0 + 0.165 * first_depth) } else { 0.95 / first_depth.sqrt().sqrt() };
        // A side that a part of a wide sun enters through keeps its depth: light of several slopes falls off more slowly than the mean depth says.
        let whole = 1.0 - least(outer / PARTLY, 1.0);
        let factor = whole * (1.0 + (thick - 1.0) * until);
        2.0 * (on_side + factor * greatest(read - on_side, 0.0)) - to_first
    }

    /// Replaces depths beyond the sides that light comes in through by those whose e^−τ is what eyes read by splines or linearly.
    pub fn replace_depths_beyond(&self, depths: &mut [f32], splines: bool) {
        let Points { dims, spacing, values } = self.density;
        for n in beyond(dims) {
            let place = dims.place(n);
            let slope = self.slope(place);
            let first = within(dims, place);
            if slope <= LEAST_SLOPE || values[first] <= 0.0 {
                continue;
            }
            // Depth of a spacing below the side.
            let depth = self.extinction * spacing * values[first] / slope;
            let square = depth * depth;
            let more = if splines {
                0.5 * depth / (1.0 + 0.1 * square + 0.015 * square * depth)
            } else {
                0.2 * depth / (1.0 + 0.06 * square)
            };
            let [even, own] = [exp(-0.5 * depth), exp(-depths[first])];
            let share = (1.0 + more - even) / (1.0 - even).max(1e-6);
            depths[n] = -(own + share * (1.0 - own)).max(1e-6).ln();
        }
    }

    /// Greatest cosine between the light's direction and the normal of a side that a place lies beyond. Light that fills an angle comes in at half of
    /// it more.
    fn slope(&self, place: [usize; 3]) -> f32 {
        let size = self.density.dims.array();
        let out = |a: usize| match place[a] {
            0 => 0.5 * self.spread - self.toward[a],
            n if n == size[a] - 1 => 0.5 * self.spread + self.toward[a],
            _ => 0.0,
        };
        (0..3).map(out).fold(LEAST_SLOPE, f32::max)
    }
}
