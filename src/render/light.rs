//! The light volume: how much medium lies between a point and the sun, the sky and the ground.
//!
//! It does not depend on the camera: one bake serves every picture of a snapshot, and every
//! renderer reads the same numbers. It is a grid of **nodes**, the first and last on the sides of the
//! box, so that depths are right up to the boundary: interpolated linearly, a uniform box has the
//! exact depth everywhere.
//!
//! Depths grow node by node away from the light, each from the layer of nodes before it:
//!
//! ```text
//! τ(x) = τ(x + s l) + l (σ(x) + σ(x + s l)) / 2        l = distance to that layer along s
//! ```
//!
//! with bilinear interpolation in the layer, which blurs shadows a little with distance, as a sun
//! of finite size does. The sky takes twelve directions, the edges of a cube, at half the
//! resolution; what arrives of the sky and of the ground is stored as a depth, −ln of the share that
//! arrives, so the octaves of multiple scattering can scale it.
//!
//! Cost: one pass over the smoke, one sweep of the nodes and twelve of an eighth of them.

mod sweep;
mod tents;

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use crate::grid::Dims;
use crate::look::Look;
use crate::snapshot::Snapshot;

use super::bricks;
use super::distance::Fields;
use super::exp::exp;
use super::solid::Solid;
use super::trilinear::trilinear;
use crate::solver::simd::dispatch;
use sweep::sweep;
use tents::{coarsen, gather_density};

/// Depth beyond which everything is equally dark.
const OPAQUE: f32 = 1000.0;

/// Optical depths at the nodes, for one snapshot under one look.
#[derive(Debug)]
pub struct LightVolume {
    /// Nodes along each axis.
    pub nodes: Dims,
    /// Distance between nodes \[m\].
    pub spacing: [f32; 3],
    /// At each node, x fastest: optical depth towards the sun, effective depth towards the sky and
    /// towards the ground, and 0.
    pub texels: Vec<[f16; 4]>,
    scale: f32,
    solids: Vec<Solid>,
    fields: Fields,
    /// Bounding box of the occupied bricks \[m\]; inverted if all are empty.
    smoke: [[f32; 3]; 2],
    /// Nodes at which the light of the sky is gathered.
    half: Dims,
    scratch: Scratch,
}

/// Scratch memory, reused from bake to bake.
#[derive(Clone, Debug, Default)]
struct Scratch {
    planes: Vec<f32>,
    density: Vec<f32>,
    dense: Vec<f32>,
    sun: Vec<f32>,
    discs: Vec<Vec<f32>>,
    pass: [Vec<f32>; 2],
    coarse: Vec<f32>,
    beams: Vec<Vec<f32>>,
    ambient: Vec<[f32; 2]>,
}

/// A scalar field on nodes.
#[derive(Clone, Copy)]
struct Nodes<'a> {
    dims: Dims,
    spacing: [f32; 3],
    values: &'a [f32],
}

impl Default for LightVolume {
    fn default() -> Self {
        Self {
            nodes: Dims { nx: 1, ny: 1, nz: 1 },
            spacing: [1.0; 3],
            texels: vec![[f16::ZERO; 4]],
            scale: Look::default().light_scale,
            solids: Vec::new(),
            fields: Fields::default(),
            smoke: [[f32::MAX; 3], [f32::MIN; 3]],
            half: Dims { nx: 1, ny: 1, nz: 1 },
            scratch: Scratch::default(),
        }
    }
}

impl LightVolume {
    /// Recomputes all depths on the rayon pool of the caller. The bits are the same for any number of
    /// threads.
    pub fn bake(&mut self, snapshot: &Snapshot, look: &Look) {
        self.scale = look.light_scale;
        self.gather(snapshot);
        self.cast(look);
    }

    /// First half of [`LightVolume::bake`]: the densities of a snapshot at the nodes, at the resolution of
    /// the last look.
    pub fn gather(&mut self, snapshot: &Snapshot) {
        let extent = snapshot.extent();
        let scale = self.scale.clamp(1.0 / 16.0, 1.0);
        let cells = snapshot.dims.array().map(|n| ((n as f32 * scale).round() as usize).clamp(1, n));
        self.nodes = node_dims(cells);
        self.spacing = std::array::from_fn(|a| extent[a] / cells[a] as f32);
        self.solids = Solid::all(&snapshot.solids, &mut self.fields);
        self.smoke = bricks::occupied(&snapshot.bricks, snapshot.h);
        gather_density(snapshot, self.nodes, &mut self.scratch.planes, &mut self.scratch.density);
    }

    /// Second half: the depths under a look, from the densities gathered last.
    pub fn cast(&mut self, look: &Look) {
        let (dims, spacing) = (self.nodes, self.spacing);
        let Scratch { density, dense, .. } = &mut self.scratch;
        stand(&self.solids, dims, spacing, look.extinction, density, dense);
        let Scratch { dense, sun, discs, pass, coarse, beams, ambient, .. } = &mut self.scratch;
        let fine = Nodes { dims, spacing, values: dense };
        let half = node_dims(dims.array().map(|n| (n - 1).div_ceil(2)));
        let cast_sun = || gather_sun(fine, look, discs, sun);
        let cast_ambient = || {
            coarsen(fine, half, pass, coarse);
            let ratio = |a: usize| (dims.array()[a] - 1) as f32 / (half.array()[a] - 1) as f32;
            let spacing = std::array::from_fn(|a| spacing[a] * ratio(a));
            gather_ambient(Nodes { dims: half, spacing, values: coarse }, look.extinction, beams, ambient);
        };
        rayon::join(cast_sun, cast_ambient);
        self.half = half;
        write_texels(dims, &self.scratch.sun, half, &self.scratch.ambient, &mut self.texels);
    }

    /// Size of the box \[m\].
    pub(super) fn extent(&self) -> [f32; 3] {
        std::array::from_fn(|a| (self.nodes.array()[a] - 1).max(1) as f32 * self.spacing[a])
    }

    /// Optical depth from a point to the sun.
    pub(super) fn depth_to_sun(&self, p: [f32; 3]) -> f32 {
        let at = std::array::from_fn(|a| p[a] / self.spacing[a]);
        let [depth] = trilinear(self.nodes, at, |n| [self.scratch.sun[n]]);
        depth
    }

    /// Effective optical depth from a point to the sky.
    pub(super) fn depth_to_sky(&self, p: [f32; 3]) -> f32 {
        let extent = self.extent();
        let at = std::array::from_fn(|a| p[a] / extent[a] * (self.half.array()[a] - 1) as f32);
        let [depth] = trilinear(self.half, at, |n| [self.scratch.ambient[n][0]]);
        depth
    }

    /// Bounding box of everything that may cast a shadow \[m\]; `None` if empty.
    pub(super) fn occupied(&self) -> Option<[[f32; 3]; 2]> {
        if !self.solids.is_empty() {
            return Some([[0.0; 3], self.extent()]);
        }
        (self.smoke[0][0] < self.smoke[1][0]).then_some(self.smoke)
    }

    /// Solids of the last gathered snapshot.
    pub(super) fn solids(&self) -> &[Solid] {
        &self.solids
    }

    /// Sets the nodes per cell and axis, from the next [`LightVolume::gather`] on.
    pub fn set_scale(&mut self, scale: f32) {
        self.scale = scale;
    }

    /// Interpolated texel at a point in the box \[m\]; outside, that of the nearest point.
    pub fn sample(&self, p: [f32; 3]) -> [f32; 4] {
        trilinear(self.nodes, std::array::from_fn(|a| p[a] / self.spacing[a]), |n| {
            self.texels[n].map(f32::from)
        })
    }
}

fn node_dims(cells: [usize; 3]) -> Dims {
    Dims { nx: cells[0] + 1, ny: cells[1] + 1, nz: cells[2] + 1 }
}

pub(super) fn unit(v: [f32; 3]) -> [f32; 3] {
    let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 1e-6 { v.map(|x| x / norm) } else { [0.0, 1.0, 0.0] }
}

/// Depth towards the sun; for a large one, the effective depth over seven points of its disc.
fn gather_sun(field: Nodes, look: &Look, depths: &mut Vec<Vec<f32>>, out: &mut Vec<f32>) {
    let middle = unit(look.sun_direction);
    if look.sun_size < 1.0 {
        return sweep(field, look.extinction, middle, out);
    }
    let points = on_disc(middle, 0.5 * look.sun_size.min(90.0).to_radians());
    depths.resize(points.len(), Vec::new());
    depths.par_iter_mut().zip(&points).for_each(|(depth, &s)| sweep(field, look.extinction, s, depth));
    out.clear();
    let clear = |node: usize| depths.iter().map(|depth| exp(-depth[node])).sum::<f32>() / points.len() as f32;
    out.par_extend((0..field.dims.cells()).into_par_iter().map(|node| -clear(node).max(1e-30).ln()));
}

/// The middle of a disc and six points around it, each for a seventh of its area.
fn on_disc(middle: [f32; 3], half_angle: f32) -> [[f32; 3]; 7] {
    let m = nalgebra::Vector3::from(middle);
    let aside = if m.x.abs() < 0.7 { nalgebra::Vector3::x() } else { nalgebra::Vector3::y() };
    let u = m.cross(&aside).normalize();
    let v = m.cross(&u);
    std::array::from_fn(|n| {
        let (sin, cos) = (n as f32 * std::f32::consts::TAU / 6.0).sin_cos();
        // Mean radius of the disc without its inner seventh.
        let radius = if n == 0 { 0.0 } else { 0.756 * half_angle.tan() };
        (m + (u * cos + v * sin) * radius).normalize().into()
    })
}

/// Adds solids to the density: opaque within a node or two, clear outside their surface.
fn stand(
    solids: &[Solid],
    dims: Dims,
    spacing: [f32; 3],
    extinction: f32,
    density: &[f32],
    out: &mut Vec<f32>,
) {
    /// Optical depth of a solid from one node to the next.
    const DEPTH: f32 = 12.0;
    out.clear();
    out.extend_from_slice(density);
    let edge = spacing.iter().sum::<f32>() / 3.0;
    let full = DEPTH / (edge * extinction.max(1e-6));
    for solid in solids {
        let [xs, ys, zs] = std::array::from_fn(|a| {
            let at = |x: f32| (x / spacing[a]).clamp(0.0, dims.array()[a] as f32) as usize;
            at(solid.center[a] - solid.reach())..at(solid.center[a] + solid.reach() + spacing[a])
        });
        out.par_chunks_mut(dims.nx).enumerate().with_min_len(64).for_each(|(row, out)| {
            let (j, k) = (row % dims.ny, row / dims.ny);
            if !ys.contains(&j) || !zs.contains(&k) {
                return;
            }
            let (y, z) = (j as f32 * spacing[1], k as f32 * spacing[2]);
            for (i, out) in out.iter_mut().enumerate().take(xs.end).skip(xs.start) {
                let inside = -solid.distance([i as f32 * spacing[0], y, z]) / edge;
                *out += full * inside.clamp(0.0, 1.0);
            }
        });
    }
}

/// Directions in which the sky is sampled: the edges of a cube.
fn beams() -> [[f32; 3]; 12] {
    let r = std::f32::consts::FRAC_1_SQRT_2;
    std::array::from_fn(|n| {
        let (pair, signs) = (n / 4, n % 4);
        let mut d = [0.0; 3];
        d[pair] = if signs & 1 == 0 { r } else { -r };
        d[(pair + 1) % 3] = if signs & 2 == 0 { r } else { -r };
        d
    })
}

/// Effective depth towards the sky and the ground. The sky's radiance is assumed linear in the sine of
/// elevation, from the ground's straight down to the sky's straight up. The share of each in a beam is its
/// weight.
fn gather_ambient(field: Nodes, extinction: f32, depths: &mut Vec<Vec<f32>>, out: &mut Vec<[f32; 2]>) {
    let beams = beams();
    depths.resize(beams.len(), Vec::new());
    depths.par_iter_mut().zip(&beams).for_each(|(depth, &s)| sweep(field, extinction, s, depth));
    out.clear();
    out.resize(field.dims.cells(), [0.0; 2]);
    out.par_chunks_mut(STRIP).enumerate().for_each(|(n, out)| {
        let (mut up, mut down) = ([0.0; STRIP], [0.0; STRIP]);
        for (depth, s) in depths.iter().zip(&beams) {
            let share = [1.0 + s[1], 1.0 - s[1]].map(|w| w / beams.len() as f32);
            add_beam(&depth[n * STRIP..][..out.len()], share, &mut up, &mut down);
        }
        for (i, out) in out.iter_mut().enumerate() {
            *out = [up[i], down[i]].map(|share| -share.max(1e-20).ln());
        }
    });
}

/// Nodes computed at a time.
const STRIP: usize = 256;

dispatch! {
    /// Adds the contribution of one beam to the light of the sky and of the ground.
    fn add_beam(depth: &[f32], share: [f32; 2], up: &mut [f32; STRIP], down: &mut [f32; STRIP]) = add_beam_kernel;
}

#[inline(always)]
fn add_beam_kernel<const FMA: bool>(
    depth: &[f32],
    share: [f32; 2],
    up: &mut [f32; STRIP],
    down: &mut [f32; STRIP],
) {
    for i in 0..depth.len().min(STRIP) {
        let clear = exp(-depth[i]);
        up[i] += share[0] * clear;
        down[i] += share[1] * clear;
    }
}

fn write_texels(nodes: Dims, sun: &[f32], coarse: Dims, ambient: &[[f32; 2]], out: &mut Vec<[f16; 4]>) {
    let [xs, ys, zs] = std::array::from_fn(|a| between(nodes.array()[a], coarse.array()[a]));
    out.resize(nodes.cells(), [f16::ZERO; 4]);
    let scratch = || (vec![[0.0_f32; 2]; coarse.nx], vec![[0.0_f32; 4]; nodes.nx]);
    let rows = out.par_chunks_mut(nodes.nx).zip(sun.par_chunks(nodes.nx)).enumerate().with_min_len(64);
    rows.for_each_init(scratch, |(narrow, wide), (row, (texels, sun))| {
        let ((y, fy), (z, fz)) = (ys[row % nodes.ny], zs[row / nodes.ny]);
        let coarse_row = |j: usize, k: usize| ambient[coarse.index(0, j, k)..][..coarse.nx].as_flattened();
        let rows = [coarse_row(y, z), coarse_row(y + 1, z), coarse_row(y, z + 1), coarse_row(y + 1, z + 1)];
        let weights = [(1.0 - fy) * (1.0 - fz), fy * (1.0 - fz), (1.0 - fy) * fz, fy * fz];
        blend(narrow.as_flattened_mut(), rows, weights);
        for ((&(x, f), &sun), wide) in xs.iter().zip(sun).zip(wide.iter_mut()) {
            let ([sky, ground], [next_sky, next_ground]) = (narrow[x], narrow[x + 1]);
            *wide = [sun, sky + f * (next_sky - sky), ground + f * (next_ground - ground), 0.0];
        }
        texels.as_flattened_mut().convert_from_f32_slice(wide.as_flattened());
    });
}

dispatch! {
    /// The weighted sum of four rows.
    fn blend(out: &mut [f32], rows: [&[f32]; 4], weights: [f32; 4]) = blend_kernel;
}

#[inline(always)]
fn blend_kernel<const FMA: bool>(out: &mut [f32], rows: [&[f32]; 4], weights: [f32; 4]) {
    let count = out.len();
    let [a, b, c, d] = [&rows[0][..count], &rows[1][..count], &rows[2][..count], &rows[3][..count]];
    for i in 0..count {
        out[i] = weights[0] * a[i] + weights[1] * b[i] + weights[2] * c[i] + weights[3] * d[i];
    }
}

/// For each of `fine` nodes the coarse node before it and the share of the one after.
fn between(fine: usize, coarse: usize) -> Vec<(usize, f32)> {
    let at = |n: usize| {
        let x = n as f32 * (coarse - 1) as f32 / (fine - 1) as f32;
        let lo = (x as usize).min(coarse - 2);
        (lo, x - lo as f32)
    };
    (0..fine).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::procedural;

    fn baked(dims: [usize; 3], sun_direction: [f32; 3]) -> LightVolume {
        let snapshot = procedural::uniform(Dims::new(dims).unwrap(), 0.05, [0.5, 0.25, 0.25, 0.0]);
        let look = Look { extinction: 3.0, sun_direction, ..Look::default() };
        let mut light = LightVolume::default();
        light.bake(&snapshot, &look);
        light
    }

    /// In a uniform box the depth is σ times the distance to the side, for a sun along each axis and side.
    #[test]
    fn depth_of_a_uniform_box() {
        for axis in 0..3 {
            for sign in [-1.0, 1.0] {
                let mut sun = [0.0; 3];
                sun[axis] = sign;
                let light = baked([16, 12, 20], sun);
                let extent = [0.8, 0.6, 1.0];
                for p in [[0.4, 0.3, 0.5], [0.0, 0.0, 0.0], [0.11, 0.57, 0.93], [0.8, 0.6, 1.0]] {
                    let way = if sign > 0.0 { extent[axis] - p[axis] } else { p[axis] };
                    let depth = light.sample(p)[0];
                    assert!(
                        (depth - 3.0 * way).abs() < 4e-3,
                        "sun {sun:?} at {p:?}: {depth}, not {}",
                        3.0 * way
                    );
                }
            }
        }
    }

    /// An oblique sun in the middle of a wide slab: the path is height over cosine.
    #[test]
    fn depth_under_an_oblique_sun() {
        let light = baked([64, 8, 64], [0.48, 0.64, 0.6]);
        let depth = light.sample([1.6, 0.1, 1.6])[0];
        let way = 0.3 / 0.64;
        assert!((depth - 3.0 * way).abs() < 0.01 * 3.0 * way, "{depth}");
    }

    #[test]
    fn clear_air_hides_nothing() {
        let snapshot = Snapshot::empty(Dims::new([5, 1, 9]).unwrap(), 0.1);
        let mut light = LightVolume::default();
        light.bake(&snapshot, &Look::default());
        assert!(light.texels.iter().flatten().all(|x| x.to_f32().abs() < 1e-3));
    }

    #[test]
    fn same_bits_on_any_number_of_threads() {
        let snapshot = procedural::plume(Dims::new([24, 32, 20]).unwrap(), 0.02, procedural::Tint::Even);
        let bake = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut light = LightVolume::default();
            pool.install(|| light.bake(&snapshot, &Look::default()));
            light.texels
        };
        assert!(bake(1) == bake(3));
    }
}
