//! The light that arrives at the floor, as a map seen from above. The floor fills much of many pictures, and
//! its light does not depend on the eye. The map has no shadows of solids: they are traced for each pixel.

use rayon::prelude::*;

use super::camera::FAR;
use super::exp::exp;
use super::floor_grid::FloorGrid;
use super::floor_nodes::{FloorNodes, Row, blur, open_sky};
use super::lamp::Arriving;
use super::light::{AROUND, EVENLY, LightVolume, Lit};
use super::medium::Medium;
use super::scene::FLOOR_ENDS;
use super::trilinear::trilinear;
use crate::grid::Dims;
use crate::simd::{Simd, each_level};

/// Light on a regular grid over the part of the floor where smoke or solids change it. Beyond, the light is
/// that of the edge.
#[derive(Clone, Debug)]
pub(super) struct FloorLight {
    /// Position of the first node, x and z \[m\].
    pub lo: [f32; 2],
    /// Distance between nodes \[m\].
    pub spacing: [f32; 2],
    /// Nodes along x and z.
    pub size: [usize; 2],
    /// Values at each node, x fastest: the arriving share of the sun, and the radiance of a white floor in
    /// all other light.
    pub texels: Vec<[f32; 4]>,
    /// Transmittance of the smoke for each further light at each node; empty for a light that no smoke
    /// attenuates.
    pub lamps: Vec<Vec<f32>>,
}

/// Greatest number of nodes along an axis.
const MOST: usize = 320;
/// Greatest number of nodes along an axis with light from within the box, which reaches farther.
const MOST_LIT: usize = 512;
/// Width, as a share of the way from the smoke times the tangent of the angle of the forward peak, over which its light arrives on the floor:
/// a ball of 15 1/m and g = 0.85 has its shadow's darkest part at 1.48 of traced without, 1.35 at 0.3, 1.08 at 0.5 and 0.85 at 0.7.
const SPREAD: f32 = 0.5;
/// Width of the part around the box that is lit from within, in the same units. Farther away hardly any of
/// this light arrives.
const LIT: f32 = 1.5;
/// Passes of a blur by ¼, ½, ¼ over the shadow of smoke under a wide light.
const SMOOTH: usize = 2;
/// Columns or rows of the map that are blurred together.
const STRIP: usize = 24;

impl Default for FloorLight {
    fn default() -> Self {
        Self {
            lo: [0.0; 2],
            spacing: [1.0; 2],
            size: [1; 2],
            texels: vec![[1.0, 0.0, 0.0, 0.0]],
            lamps: Vec::new(),
        }
    }
}

impl FloorLight {
    /// Returns the light of a floor under an unhidden sun and sky.
    pub fn open(medium: &Medium) -> Self {
        let [r, g, b] = open_sky(medium);
        Self { texels: vec![[1.0, r, g, b]], ..Self::default() }
    }

    /// Computes the light from a light volume that is up to date. Runs on the rayon pool of the caller, with
    /// the same bits for any number of threads.
    pub fn cast(&mut self, light: &LightVolume, medium: &Medium) {
        let extent = light.extent();
        let mut rect = shaded(light, medium, extent);
        light.lamps().iter().for_each(|lit| widen(&mut rect, light, lit, extent));
        if light.shines_within() {
            let (side, [lo, hi]) = (extent[0].max(extent[2]), &mut rect);
            for a in 0..2 {
                lo[a] = lo[a].min(-LIT * side);
                hi[a] = hi[a].max(extent[2 * a] + LIT * side);
            }
        }
        for a in 0..2 {
            let [lo, hi] = [rect[0][a], rect[1][a]];
            let fine = light.spacing;
            let most = if light.shines_within() { MOST_LIT } else { MOST };
            // Nodes lie at multiples of the spacing for any part, so that the shadows of one light do not
            // depend on other lights.
            self.spacing[a] = fine * ((hi - lo) / (fine * (most - 2) as f32)).ceil().max(1.0);
            let [first, last] = [(lo / self.spacing[a]).floor(), (hi / self.spacing[a]).ceil()];
            self.lo[a] = first * self.spacing[a];
            self.size[a] = (last - first) as usize + 1;
        }
        let lo = self.lo;
        let hi = [0, 1].map(|a| lo[a] + (self.size[a] - 1) as f32 * self.spacing[a]);
        self.texels.resize(self.size[0] * self.size[1], [1.0; 4]);
        let spacing = self.spacing;
        let (within, nodes) = (Within::cast(light, lo, hi), FloorNodes::new(light, medium));
        self.texels.par_chunks_mut(self.size[0]).enumerate().for_each(|(k, row)| {
            let z = lo[1] + k as f32 * spacing[1];
            nodes.fill(Row { first: lo[0], spacing: spacing[0], z }, row);
            let Some(within) = &within else { return };
            for (i, texel) in row.iter_mut().enumerate() {
                let own = within.sample(lo[0] + i as f32 * spacing[0], z);
                (0..3).for_each(|c| texel[c + 1] += own[c]);
            }
        });
        self.add_scattered_ahead(light, medium);
        let width = self.size[0];
        let through = |lit: &Lit| -> Vec<f32> {
            let count = light.lamp_points(&lit.lamp, true);
            let node = |n: usize| {
                let p =
                    [lo[0] + (n % width) as f32 * spacing[0], 0.0, lo[1] + (n / width) as f32 * spacing[1]];
                // Neighbours see other points of a wide light, so that its shadow has grain and not edges.
                let shift = EVENLY.map(|by| (n as f32 * by).fract());
                exp(-light.depth_between_lamp(p, &lit.lamp, (count, shift), medium))
            };
            let mut values: Vec<f32> =
                (0..width * self.size[1]).into_par_iter().with_min_len(width).map(node).collect();
            if count > 1 {
                blur(self.size, values.as_chunks_mut::<1>().0, SMOOTH);
            }
            values
        };
        self.lamps = light.lamps().iter().map(through).collect();
    }

    /// Adds the sunlight that smoke scatters in its forward peak, blurred over the floor by the angle of that
    /// peak and the distance of the smoke.
    fn add_scattered_ahead(&mut self, light: &LightVolume, medium: &Medium) {
        let Some([lo, hi]) = light.smoke() else { return };
        let (forward, up) = (medium.scaled_phase().forward, medium.sun_direction[1]);
        if !medium.scattering || forward <= 0.0 || up <= 0.02 {
            return;
        }
        let way = 0.5 * (lo[1] + hi[1]) / up;
        let away = SPREAD * way * (1.0 / forward - 1.0).sqrt();
        let radius = self.spacing.map(|spacing| (away / spacing).round() as usize);
        let [width, height] = self.size;
        const NORMAL: [f32; 3] = [0.0, 1.0, 0.0];
        let direct = light.sun().mean_cosine([0.0; 3], NORMAL) / std::f32::consts::PI;
        let node = |n: usize| {
            let clear = self.texels[n][0];
            if clear == 1.0 {
                return [0.0; 3];
            }
            let ahead = light.sun_scattered_ahead(clear);
            let p = [(n % width) as f32 * self.spacing[0], 0.0, (n / width) as f32 * self.spacing[1]];
            let p = [p[0] + self.lo[0], 0.0, p[2] + self.lo[1]];
            let seen = light.sun().seen(p, NORMAL, light.solids(), 0.0);
            std::array::from_fn(|c| medium.sun[c] * direct * seen * ahead[c])
        };
        // Blurred along z in strips of columns, then along x in strips of rows.
        let columns = |first: usize| {
            let in_strip = STRIP.min(width - first);
            let nodes = (0..height).flat_map(|k| (first..first + in_strip).map(move |i| i + k * width));
            let mut strip: Vec<[f32; 3]> = nodes.map(node).collect();
            // Most of the floor lies beside the shadow.
            if strip.iter().all(|ahead| *ahead == [0.0; 3]) {
                return Vec::new();
            }
            blur_columns(&mut strip, in_strip, radius[1]);
            strip
        };
        let strips: Vec<_> = (0..width).into_par_iter().step_by(STRIP).map(columns).collect();
        self.texels.par_chunks_mut(STRIP * width).enumerate().for_each(|(number, texels)| {
            let rows = texels.len() / width;
            let mut exchanged = vec![[0.0; 3]; texels.len()];
            for (n, strip) in strips.iter().enumerate().filter(|(_, strip)| !strip.is_empty()) {
                let (first, in_strip) = (n * STRIP, STRIP.min(width - n * STRIP));
                let of_rows = &strip[number * STRIP * in_strip..][..rows * in_strip];
                for (k, values) in of_rows.chunks_exact(in_strip).enumerate() {
                    values.iter().enumerate().for_each(|(i, x)| exchanged[(first + i) * rows + k] = *x);
                }
            }
            if exchanged.iter().all(|ahead| *ahead == [0.0; 3]) {
                return;
            }
            blur_columns(&mut exchanged, rows, radius[0]);
            for (n, texel) in texels.iter_mut().enumerate() {
                let ahead = exchanged[n % width * rows + n / width];
                (0..3).for_each(|c| texel[c + 1] += ahead[c]);
            }
        });
    }

    /// Returns the transmittance of the smoke for a further light at a position on the floor in nodes.
    pub fn of_lamp(&self, lamp: usize, x: f32, z: f32) -> f32 {
        let Some(values) = self.lamps.get(lamp) else { return 1.0 };
        let dims = Dims { nx: self.size[0], ny: self.size[1], nz: 1 };
        let [share] = trilinear(dims, [x, z, 0.0], |n| [values[n]]);
        share
    }

    /// Returns the light at a point of the floor \[m\].
    #[cfg(test)]
    pub fn sample(&self, x: f32, z: f32) -> [f32; 4] {
        let near = |a: usize, at: f32| {
            let at = at.clamp(0.0, (self.size[a] - 1) as f32);
            let low = at as usize;
            (low, (low + 1).min(self.size[a] - 1), at - low as f32)
        };
        let (i, i2, fx) = near(0, (x - self.lo[0]) / self.spacing[0]);
        let (k, k2, fz) = near(1, (z - self.lo[1]) / self.spacing[1]);
        let texel = |i: usize, k: usize| self.texels[i + k * self.size[0]];
        std::array::from_fn(|c| {
            let row = |k: usize| texel(i, k)[c] + (texel(i2, k)[c] - texel(i, k)[c]) * fx;
            row(k) + (row(k2) - row(k)) * fz
        })
    }
}

/// Blurs a map with rows of `width` values along its columns, by three passes of means over `radius` values to either side, mirrored at
/// the ends. All columns are worked on together.
fn blur_columns(values: &mut Vec<[f32; 3]>, width: usize, radius: usize) {
    let count = values.len() / width;
    let radius = radius.min(count - 1) as isize;
    let row = |n: isize| {
        let n = if n < 0 { -1 - n } else { n } as usize;
        let n = if n < count { n } else { 2 * count - 1 - n };
        n * width..(n + 1) * width
    };
    let share = 1.0 / (2 * radius + 1) as f64;
    let (mut sums, mut means) = (vec![0.0_f64; 3 * width], vec![[0.0; 3]; values.len()]);
    for _ in 0..3 {
        sums.fill(0.0);
        for n in -radius..=radius {
            for (sum, value) in sums.iter_mut().zip(values[row(n)].as_flattened()) {
                *sum += f64::from(*value);
            }
        }
        for n in 0..count as isize {
            let [enters, leaves] = [n + radius + 1, n - radius].map(|n| values[row(n)].as_flattened());
            slide_mean(&mut sums, share, [enters, leaves], means[row(n)].as_flattened_mut());
        }
        std::mem::swap(values, &mut means);
    }
}

each_level! {
    /// Computes means from sums, then moves the sums on by the values that enter and leave.
    fn slide_mean(sums: &mut [f64], share: f64, ends: [&[f32]; 2], means: &mut [f32]) = slide_mean_kernel;
}

#[inline(always)]
fn slide_mean_kernel<S: Simd>(_: S, sums: &mut [f64], share: f64, ends: [&[f32]; 2], means: &mut [f32]) {
    let count = sums.len();
    let ([enters, leaves], means) = (ends.map(|values| &values[..count]), &mut means[..count]);
    for i in 0..count {
        means[i] = (sums[i] * share) as f32;
        sums[i] = sums[i] + f64::from(enters[i]) - f64::from(leaves[i]);
    }
}

/// Returns the part of the floor that may be in shadow, as its least and largest x and z \[m\].
fn shaded(light: &LightVolume, medium: &Medium, extent: [f32; 3]) -> [[f32; 2]; 2] {
    let s = medium.sun_direction;
    let side = extent[0].max(extent[2]);
    let mut rect = [[-AROUND * side; 2], [extent[0] + AROUND * side, extent[2] + AROUND * side]];
    let Some(bounds) = light.occupied().filter(|_| s[1] > 0.02) else { return rect };
    let radius = light.sun().angular_radius(FAR);
    let along = [0, 1].map(|a| slopes([s[2 * a], s[1]], radius));
    for (n, a) in (0..8).flat_map(|n| [(n, 0), (n, 1)]) {
        let corner: [f32; 3] = std::array::from_fn(|a| bounds[n >> a & 1][a]);
        // The light volume blurs shadows by a node or two.
        let (blur, middle) = (3.0 * light.spacing, 0.5 * extent[2 * a]);
        let [_, end] = FLOOR_ENDS;
        let kept = |x: f32| x.clamp(middle - end * side, middle + end * side);
        for slope in along[a] {
            let meets = corner[2 * a] - slope * corner[1];
            rect[0][a] = rect[0][a].min(kept(meets - blur));
            rect[1][a] = rect[1][a].max(kept(meets + blur));
        }
    }
    rect
}

/// Returns the least and the largest ratio of horizontal to vertical component over the directions to the
/// sun's disc, from its middle and angular radius.
fn slopes([aside, up]: [f32; 2], radius: f32) -> [f32; 2] {
    // Seen along the other axis, the cone opens by this angle.
    let (tilt, open) = (aside.atan2(up), (radius.sin() / aside.hypot(up)).min(1.0).asin());
    [tilt - open, tilt + open].map(|tilt| tilt.clamp(-1.55, 1.55).tan())
}

/// Widens a part of the floor by the part where smoke may hide a light.
fn widen(rect: &mut [[f32; 2]; 2], light: &LightVolume, lit: &Lit, extent: [f32; 3]) {
    let Some(smoke) = light.smoke() else { return };
    let side = extent[0].max(extent[2]);
    let corners = (0..8).map(|n| std::array::from_fn(|a| smoke[n >> a & 1][a]));
    let rays = corners.flat_map(|corner: [f32; 3]| {
        let middle = lit.lamp.drawn(corner, lit.lamp.middle());
        // A penumbra that reaches far is faint there.
        let edge = lit.lamp.edge().map(|u| lit.lamp.drawn(corner, u)).into_iter();
        let edge = edge.filter(|to| to.direction[1] > 0.3 && to.direction[1] * to.distance > 0.02 * side);
        std::iter::once(middle).chain(edge).map(move |to| (corner, to))
    });
    for ((corner, Arriving { direction, distance, .. }), a) in rays.flat_map(|ray| [(ray, 0), (ray, 1)]) {
        let (up, along) = (direction[1], direction[2 * a]);
        let middle = 0.5 * extent[2 * a];
        // A light below the corner casts its shadow to the end of the floor.
        let meets = if up * distance > 0.02 * side {
            corner[2 * a] - along * corner[1] / up
        } else {
            middle - along.signum() * FLOOR_ENDS[1] * side
        };
        let meets = meets.clamp(middle - FLOOR_ENDS[1] * side, middle + FLOOR_ENDS[1] * side);
        rect[0][a] = rect[0][a].min(meets);
        rect[1][a] = rect[1][a].max(meets);
    }
}

/// Radiance of a white floor in light from within the box: on a fine grid below and near the box, on a coarse
/// one elsewhere.
struct Within {
    fine: FloorGrid,
    coarse: FloorGrid,
    /// Width over which the two are blended \[m\].
    margin: f32,
}

impl Within {
    /// Steps of the coarse grid along each axis.
    const STEPS: f32 = 48.0;
    /// Width of the margin, in units of the longer horizontal side of the box.
    const MARGIN: f32 = 0.25;

    fn cast(light: &LightVolume, lo: [f32; 2], hi: [f32; 2]) -> Option<Self> {
        if !light.shines_within() {
            return None;
        }
        let extent = light.extent();
        let margin = Self::MARGIN * extent[0].max(extent[2]);
        let [first, last] = [[-margin; 2], [0, 2].map(|a| extent[a] + margin)];
        let scattered =
            FloorGrid::cast(&|p| light.scattered_on_floor(p), first, last, [light.cube_edge(); 2]);
        let sum = |a: [f32; 3], b: [f32; 3]| std::array::from_fn(|c| a[c] + b[c]);
        let near = |p: [f32; 3]| sum(light.glow_on_floor(p), scattered.sample(p[0], p[2]));
        // Glow just above the floor lights a part of it half a cube wide.
        let fine = FloorGrid::cast(&near, first, last, [0.5 * light.cube_edge(); 2]);
        let far = |p: [f32; 3]| sum(light.glow_on_floor(p), light.scattered_on_floor(p));
        let coarse = FloorGrid::cast(&far, lo, hi, [0, 1].map(|a| (hi[a] - lo[a]) / Self::STEPS));
        Some(Self { fine, coarse, margin })
    }

    fn sample(&self, x: f32, z: f32) -> [f32; 3] {
        let away = self.fine.within_edge(x, z) / self.margin;
        if away >= 1.0 {
            return self.fine.sample(x, z);
        }
        let coarse = self.coarse.sample(x, z);
        if away <= 0.0 {
            return coarse;
        }
        let fine = self.fine.sample(x, z);
        std::array::from_fn(|c| coarse[c] + away * (fine[c] - coarse[c]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Look;
    use crate::render::procedural::{Tint, plume};

    /// The map holds the arriving light, at and between nodes, inside and outside.
    #[test]
    fn the_picture_from_above_holds_what_arrives() {
        let look = Look { sun_direction: [-0.5, 0.6, -0.4], light_scale: 1.0, ..Look::default() };
        let snapshot = plume(Dims::new([24, 36, 20]).unwrap(), 0.04, Tint::Even);
        let (mut light, mut floor) = (LightVolume::default(), FloorLight::default());
        light.bake(&snapshot, &look);
        let medium = Medium::of(&look, snapshot.extent());
        floor.cast(&light, &medium);
        let (mut darkest, mut worst, mut sum) = (1.0_f32, 0.0_f32, 0.0);
        // Through the whole box, including empty parts.
        let mut nodes = FloorNodes::new(&light, &medium);
        nodes.clouds = [[0.0; 3], snapshot.extent()];
        for n in 0..120 * 120 {
            let [x, z] = [n % 120, n / 120].map(|n| (n as f32 - 40.0) * 0.031);
            let (got, mut want) = (floor.sample(x, z), [[0.0; 4]]);
            nodes.fill(Row { first: x, spacing: 1.0, z }, &mut want);
            let [want] = want;
            let off = (got[0] - want[0]).abs().max((got[1] - want[1]).abs());
            (darkest, worst, sum) = (darkest.min(want[0]), worst.max(off), sum + off);
        }
        assert!(darkest < 0.3, "there is a shadow");
        // The side of the box, where a shadow may end, lies between nodes.
        assert!(worst < 0.3 && sum / 14_400.0 < 3e-3, "off by {worst}, {} in the mean", sum / 14_400.0);
    }
}
